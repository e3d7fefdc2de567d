// SPDX-License-Identifier: Apache-2.0
// Converts records of the contents of memory, of stores that changed nothing, of what most reads
// got, and of values that loads and stores moved, to rows. The program can overwrite records, so a
// record that contradicts itself is rejected.
#include <string.h>

#include "rows.h"

static uint32_t size_of(uint8_t type)
{
    static const uint8_t sizes[EVENT_TYPES] = {
        [EVENT_TYPE_RAW] = 4, [EVENT_TYPE_U8] = 1,  [EVENT_TYPE_S8] = 1,   [EVENT_TYPE_U16] = 2,
        [EVENT_TYPE_S16] = 2, [EVENT_TYPE_U32] = 4, [EVENT_TYPE_S32] = 4,  [EVENT_TYPE_U64] = 8,
        [EVENT_TYPE_S64] = 8, [EVENT_TYPE_F16] = 2, [EVENT_TYPE_BF16] = 2, [EVENT_TYPE_F32] = 4,
        [EVENT_TYPE_F64] = 8,
    };
    return sizes[type];
}

static bool is_contents_valid(const struct event_contents *event, size_t length)
{
    return event->call && event->object &&
           (event->kind == EVENT_CONTENTS_WRITTEN || event->kind == EVENT_CONTENTS_FOUND) &&
           !(event->flags & ~(uint32_t)EVENT_CONTENTS_CONCURRENT) &&
           event->pieces <= event->all_pieces && event->known_pieces <= event->all_pieces &&
           event->fresh_pieces <= event->pieces && event->moved_bytes <= event->bytes &&
           event->same_bytes <= event->moved_bytes && event->field_count <= EVENT_FIELDS &&
           length == event->field_count * sizeof(struct event_field);
}

// The lists of a field: counts fall, and all together are not more than the elements.
static bool are_lists_valid(const struct event_field *event)
{
    uint64_t left = event->elements;
    for (unsigned i = 0; i < EVENT_CANDIDATES; i++) {
        const uint64_t count = event->candidates[i].count;
        if (count > left || (i && count > event->candidates[i - 1].count))
            return false;
        left -= count;
    }
    for (unsigned i = 0; i < EVENT_ROUNDINGS; i++) {
        if (event->roundings[i].count > event->elements ||
            event->roundings[i].linear > event->elements)
            return false;
    }
    return true;
}

static bool is_field_valid(const struct event_contents *contents, const struct event_field *event)
{
    const uint64_t elements = event->elements;
    if (event->type >= EVENT_TYPES || event->offset > contents->stride ||
        contents->stride - event->offset < size_of(event->type))
        return false;
    // Every element has its first byte in the pieces.
    return elements <= contents->bytes && event->zeros <= elements && event->nans <= elements &&
           event->integral <= elements && event->narrow <= elements && event->brief <= elements &&
           event->linear <= elements && event->distinct <= EVENT_DISTINCT + 1 &&
           event->distinct <= elements && are_lists_valid(event);
}

static struct profile_candidate candidate_of(struct event_candidate event)
{
    return (struct profile_candidate){FACTS_CANDIDATE(RECORD_AS)};
}

static struct profile_rounding rounding_of(struct event_rounding event)
{
    return (struct profile_rounding){FACTS_ROUNDING(RECORD_AS)};
}

static struct profile_value_field field_of(struct event_field event)
{
    struct profile_value_field field = {FACTS_VALUE_FIELD(RECORD_AS)};
    for (unsigned i = 0; i < EVENT_CANDIDATES; i++)
        field.candidates[i] = candidate_of(event.candidates[i]);
    for (unsigned i = 0; i < EVENT_ROUNDINGS; i++)
        field.roundings[i] = rounding_of(event.roundings[i]);
    return field;
}

bool record_contents(struct record_session *session, struct record_piece *piece)
{
    struct event_contents event;
    if (!record_take(piece, &event, sizeof(event)) || !is_contents_valid(&event, piece->length))
        return false;
    struct profile_contents contents = {FACTS_CONTENTS(RECORD_AS)};
    contents.field_count = event.field_count;
    for (unsigned i = 0; i < event.field_count; i++) {
        struct event_field field;
        if (!record_take(piece, &field, sizeof(field)) || !is_field_valid(&event, &field))
            return false;
        contents.fields[i] = field_of(field);
    }
    profile_add_contents(session->writer, &contents, &session->error);
    return true;
}

bool record_stored(struct record_session *session, struct record_piece *piece)
{
    struct event_stored event;
    uint64_t bytes;
    if (!record_take(piece, &event, sizeof(event)) || event.call == 0 || event.kernel == 0 ||
        event.bytes == 0 || event.silent > event.stores ||
        (event.still > event.silent && event.still != EVENT_UNKNOWN) ||
        (event.site == 0 && (event.object == 0 || event.bytes != 1)) ||
        __builtin_mul_overflow(event.stores, (uint64_t)event.bytes, &bytes))
        return false;
    const struct profile_stored stored = {FACTS_STORED(RECORD_AS)};
    profile_add_stored(session->writer, &stored, &session->error);
    return true;
}

bool record_weighed(struct record_session *session, struct record_piece *piece)
{
    struct event_weighed event;
    if (!record_take(piece, &event, sizeof(event)) || event.call == 0 || event.object == 0 ||
        event.type >= EVENT_TYPES || event.count > event.accesses || event.accesses == 0 ||
        event.offset >= event.stride)
        return false;
    const struct profile_weighed weighed = {FACTS_WEIGHED(RECORD_AS)};
    profile_add_weighed(session->writer, &weighed, &session->error);
    return true;
}

bool record_accessed(struct record_session *session, struct record_piece *piece)
{
    struct event_accessed event;
    if (!record_take(piece, &event, sizeof(event)) || event.call == 0 || event.object == 0 ||
        (event.way != EVENT_ACCESSED_READ && event.way != EVENT_ACCESSED_WRITTEN) ||
        event.flags & ~(uint32_t)EVENT_ACCESSED_INCOMPLETE || event.type >= EVENT_TYPES ||
        event.offset > event.stride || event.stride - event.offset < size_of(event.type) ||
        event.all_bits & ~event.any_bits ||
        (size_of(event.type) < 8 && event.any_bits >> (8 * size_of(event.type))))
        return false;
    const struct profile_accessed accessed = {FACTS_ACCESSED(RECORD_AS)};
    profile_add_accessed(session->writer, &accessed, &session->error);
    return true;
}
