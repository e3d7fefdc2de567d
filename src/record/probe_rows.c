// SPDX-License-Identifier: Apache-2.0
// Converts records of what probes measured to rows. The program can overwrite records, so a record
// that contradicts itself is rejected.
#include <stdlib.h>
#include <string.h>

#include "caches.h"
#include "rows.h"
#include "sources.h"

bool record_probe(struct record_session *session, struct record_piece *piece)
{
    const uint32_t all = 0 FACTS_PROBE_FACTS(FACTS_OR, EVENT_PROBE_);
    struct event_probe event;
    if (!record_take(piece, &event, sizeof(event)) || event.kernel == 0 || event.facts & ~all)
        return false;
    const struct profile_probe probe = {.reason = record_next_text(piece), FACTS_PROBE(RECORD_AS)};
    profile_add_probe(session->writer, &probe, &session->error);
    return true;
}

bool record_site(struct record_session *session, struct record_piece *piece)
{
    struct event_site event;
    if (!record_take(piece, &event, sizeof(event)) || event.kernel == 0 || event.number == 0 ||
        event.access > EVENT_SITE_ATOMIC)
        return false;
    record_caches_site(session, &event);
    struct profile_kernel_site site = {FACTS_SITE(RECORD_AS)};
    const char *function = record_next_text(piece);
    site.opcode = record_next_text(piece);
    site.type = record_next_text(piece);
    site.file = record_next_text(piece);
    const char *inlined = record_next_text(piece);
    site.at_file = record_next_text(piece);
    const char *array = record_next_text(piece);
    char *name = function ? record_demangle(function) : NULL;
    char *inlined_name = inlined ? record_demangle(inlined) : NULL;
    site.function = name;
    site.inlined_function = inlined_name;
    profile_add_kernel_site(session->writer, &site, &session->error);
    record_sources_want(session, site.file, site.line);
    record_sources_want(session, site.at_file, site.at_line);
    free(name);
    free(inlined_name);
    if (array)
        record_site_array(session, site.kernel, site.number, array);
    return true;
}

// Returns true unless both numbers are known and the part is larger than the whole.
static bool is_part(uint64_t part, uint64_t whole)
{
    return part == EVENT_UNKNOWN || (whole != EVENT_UNKNOWN && part <= whole);
}

bool record_access(struct record_session *session, struct record_piece *piece)
{
    struct event_access event;
    if (!record_take(piece, &event, sizeof(event)) || event.object == 0)
        return false;
    const uint32_t flags = event.flags;
    const uint32_t touched = EVENT_ACCESS_READ | EVENT_ACCESS_WRITTEN;
    if (flags & ~(touched | EVENT_ACCESS_PASSED | EVENT_ACCESS_SAMPLED) ||
        (event.call == 0) != !(flags & touched) ||
        (flags & EVENT_ACCESS_SAMPLED && !(flags & EVENT_ACCESS_PASSED)))
        return false;
    if (event.element_bytes == 0 && event.elements != EVENT_UNKNOWN)
        return false;
    if (!is_part(event.new_elements, event.elements) ||
        !is_part(event.shared_elements, event.elements))
        return false;
    const struct profile_access access = {.read = flags & EVENT_ACCESS_READ,
                                          .written = flags & EVENT_ACCESS_WRITTEN,
                                          .passed = flags & EVENT_ACCESS_PASSED,
                                          .sampled = flags & EVENT_ACCESS_SAMPLED,
                                          FACTS_ACCESS(RECORD_AS)};
    profile_add_access(session->writer, &access, &session->error);
    return true;
}

bool record_told(struct record_session *session, struct record_piece *piece)
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

void record_session_write_untold(struct record_session *session)
{
    for (size_t i = 0; i < session->untold.count && session->writer; i++) {
        const struct base_map_entry *entry = &session->untold.entries[i];
        const struct profile_doubt doubt = {entry->key, 0, PROFILE_DOUBT_UNTOLD};
        if (!entry->removed)
            profile_add_doubt(session->writer, &doubt, &session->error);
    }
}

static struct profile_hot_range hot_range_of(struct event_range event)
{
    return (struct profile_hot_range){FACTS_HOT_RANGE(RECORD_AS)};
}

bool record_counts(struct record_session *session, struct record_piece *piece)
{
    struct event_counts event;
    if (!record_take(piece, &event, sizeof(event)) || event.call == 0 || event.object == 0)
        return false;
    struct profile_counts counts = {FACTS_COUNTS(RECORD_AS)};
    uint64_t elements = 0;
    for (unsigned i = 0; i < EVENT_COUNT_BINS; i++) {
        if (__builtin_add_overflow(elements, event.bins[i], &elements))
            return false;
        counts.bins[i] = event.bins[i];
    }
    if (event.sum < elements) // each element was touched at least once
        return false;
    for (unsigned i = 0; i < EVENT_HOT_RANGES; i++)
        counts.hottest[i] = hot_range_of(event.hottest[i]);
    profile_add_counts(session->writer, &counts, &session->error);
    return true;
}

bool record_map(struct record_session *session, struct record_piece *piece)
{
    struct event_map event;
    struct base_error error = {0};
    if (!record_take(piece, &event, sizeof(event)) || piece->length == 0)
        return false;
    const struct profile_map map = {.bits = (const unsigned char *)piece->bytes,
                                    .bit_bytes = piece->length,
                                    FACTS_MAP(RECORD_AS)};
    enum base_code code = profile_add_map(session->writer, &map, &error);
    if (code != BASE_OK && code != BASE_INVALID)
        session->error = error;
    return code != BASE_INVALID;
}

bool record_requests(struct record_session *session, struct record_piece *piece)
{
    struct event_requests event;
    if (!record_take(piece, &event, sizeof(event)) || event.call == 0 || event.kernel == 0 ||
        event.site == 0 || event.requests == 0 || event.taken < event.requests ||
        event.needed > event.taken || event.lines > event.taken || event.shared > 1 ||
        event.local > 1 || (event.shared && event.local) || event.has_stride > 1 ||
        (!event.has_stride && event.stride))
        return false;
    const struct profile_requests requests = {FACTS_REQUESTS(RECORD_AS)};
    profile_add_requests(session->writer, &requests, &session->error);
    return true;
}
