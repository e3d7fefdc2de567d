// SPDX-License-Identifier: Apache-2.0
// From records of what probes tell to rows. The program can spoil them: what contradicts itself is
// refused, so that sums over a profile can be believed as far as each row can.
#include <stdlib.h>
#include <string.h>

#include "rows.h"

// Values pass from records to rows as they are.
#define SAME(event, profile) _Static_assert((event) == (profile), "values are the same")
SAME((int)EVENT_PROBE_OBJECTS, (int)PROFILE_PROBE_OBJECTS);
SAME((int)EVENT_PROBE_ELEMENTS, (int)PROFILE_PROBE_ELEMENTS);
SAME((int)EVENT_PROBE_COUNTS, (int)PROFILE_PROBE_COUNTS);
SAME((int)EVENT_COUNT_BINS, (int)PROFILE_COUNT_BINS);
SAME((int)EVENT_HOT_RANGES, (int)PROFILE_HOT_RANGES);
SAME((int)EVENT_MAP_SHARED, (int)PROFILE_MAP_SHARED);
SAME(EVENT_UNKNOWN, PROFILE_UNKNOWN);
SAME((int)EVENT_DOUBT_POINTER, (int)PROFILE_DOUBT_POINTER);
SAME((int)EVENT_DOUBT_KINDS, (int)PROFILE_DOUBT_KINDS);

bool record_probe(struct session *session, struct record_piece *piece)
{
    enum { ALL = EVENT_PROBE_OBJECTS | EVENT_PROBE_ELEMENTS | EVENT_PROBE_COUNTS };
    struct event_probe event;
    if (!record_take(piece, &event, sizeof(event)) || event.kernel == 0 || event.facts & ~ALL)
        return false;
    const struct profile_probe probe = {event.kernel, event.facts, record_next_text(piece)};
    profile_add_probe(session->writer, &probe, &session->error);
    return true;
}

bool record_site(struct session *session, struct record_piece *piece)
{
    struct event_site event;
    if (!record_take(piece, &event, sizeof(event)) || event.kernel == 0 || event.number == 0 ||
        event.access > PROFILE_SITE_ATOMIC)
        return false;
    struct profile_kernel_site site = {.kernel = event.kernel,
                                       .number = event.number,
                                       .type_count = event.type_count,
                                       .bytes = event.bytes,
                                       .access = (enum profile_site_access)event.access,
                                       .generic = event.generic,
                                       .instruction = event.index,
                                       .ptx_line = event.ptx_line,
                                       .line = event.line,
                                       .column = event.column,
                                       .at_line = event.at_line,
                                       .at_column = event.at_column};
    const char *function = record_next_text(piece);
    site.opcode = record_next_text(piece);
    site.type = record_next_text(piece);
    site.file = record_next_text(piece);
    const char *inlined = record_next_text(piece);
    site.at_file = record_next_text(piece);
    char *name = function ? record_demangle(function) : NULL;
    char *inlined_name = inlined ? record_demangle(inlined) : NULL;
    site.function = name;
    site.inlined_function = inlined_name;
    profile_add_kernel_site(session->writer, &site, &session->error);
    free(name);
    free(inlined_name);
    return true;
}

// Whether the part is one of the whole, as far as both are known.
static bool is_part(uint64_t part, uint64_t whole)
{
    return part == EVENT_UNKNOWN || (whole != EVENT_UNKNOWN && part <= whole);
}

bool record_access(struct session *session, struct record_piece *piece)
{
    struct event_access event;
    if (!record_take(piece, &event, sizeof(event)) || event.call == 0 || event.object == 0)
        return false;
    const uint32_t flags = event.flags;
    if (flags == 0 || flags & ~(uint32_t)(EVENT_ACCESS_READ | EVENT_ACCESS_WRITTEN))
        return false;
    if (event.element_bytes == 0 && event.elements != EVENT_UNKNOWN)
        return false;
    if (!is_part(event.new_elements, event.elements) ||
        !is_part(event.shared_elements, event.elements))
        return false;
    const struct profile_access access = {.call = event.call,
                                          .object = event.object,
                                          .node = event.node,
                                          .read = flags & EVENT_ACCESS_READ,
                                          .written = flags & EVENT_ACCESS_WRITTEN,
                                          .bytes_read = event.read_bytes,
                                          .bytes_written = event.written_bytes,
                                          .elements = event.elements,
                                          .new_elements = event.new_elements,
                                          .shared_elements = event.shared_elements,
                                          .element_bytes = event.element_bytes,
                                          .named = event.named};
    profile_add_access(session->writer, &access, &session->error);
    return true;
}

bool record_told(struct session *session, struct record_piece *piece)
{
    struct event_told event;
    if (!record_take(piece, &event, sizeof(event)) || event.call == 0 ||
        event.doubts >> EVENT_DOUBT_KINDS || event.doubts & 1)
        return false;
    if (event.node == 0)
        base_map_remove(&session->untold, event.call);
    for (unsigned kind = EVENT_DOUBT_POINTER; kind < EVENT_DOUBT_KINDS; kind++) {
        const struct profile_doubt doubt = {event.call, event.node, (enum profile_doubt_kind)kind};
        if (event.doubts >> kind & 1)
            profile_add_doubt(session->writer, &doubt, &session->error);
    }
    return true;
}

void session_write_untold(struct session *session)
{
    for (size_t i = 0; i < session->untold.count && session->writer; i++) {
        const struct base_map_entry *entry = &session->untold.entries[i];
        const struct profile_doubt doubt = {entry->key, 0, PROFILE_DOUBT_UNTOLD};
        if (!entry->removed)
            profile_add_doubt(session->writer, &doubt, &session->error);
    }
}

bool record_counts(struct session *session, struct record_piece *piece)
{
    struct event_counts event;
    if (!record_take(piece, &event, sizeof(event)) || event.call == 0 || event.object == 0)
        return false;
    struct profile_counts counts = {.call = event.call,
                                    .object = event.object,
                                    .node = event.node,
                                    .most = event.most,
                                    .most_at = event.most_at,
                                    .sum = event.sum,
                                    .squares_low = event.squares_low,
                                    .squares_high = event.squares_high};
    uint64_t elements = 0;
    for (unsigned i = 0; i < EVENT_COUNT_BINS; i++) {
        if (__builtin_add_overflow(elements, event.bins[i], &elements))
            return false;
        counts.bins[i] = event.bins[i];
    }
    if (event.sum < elements) // each was touched
        return false;
    for (unsigned i = 0; i < EVENT_HOT_RANGES; i++)
        counts.hottest[i] = (struct profile_hot_range){
            event.hottest[i].first, event.hottest[i].count, event.hottest[i].sum};
    profile_add_counts(session->writer, &counts, &session->error);
    return true;
}

bool record_map(struct session *session, struct record_piece *piece)
{
    struct event_map event;
    struct base_error error = {0};
    if (!record_take(piece, &event, sizeof(event)) || piece->length == 0)
        return false;
    const struct profile_map map = {.object = event.object,
                                    .kind = (enum profile_map_kind)event.kind,
                                    .element_bytes = event.element_bytes,
                                    .elements = event.elements,
                                    .first = event.first,
                                    .bits = (const unsigned char *)piece->bytes,
                                    .bit_bytes = piece->length};
    enum base_code code = profile_add_map(session->writer, &map, &error);
    if (code != BASE_OK && code != BASE_INVALID)
        session->error = error;
    return code != BASE_INVALID;
}
