// SPDX-License-Identifier: Apache-2.0
// Joins what probes report about accessed values by object, because several roots may point into
// one, and records it. A record is incomplete if the launch may have moved other values in the same
// direction: through accesses that are not observed, or whose addresses were looked up.
#include "accessed.h"

#include <string.h>

_Static_assert(sizeof(struct device_accessed) == sizeof(struct instrument_accessed_words),
               "the reduction joins what probes write");

static const void *part_of(const struct shadow_ticket *ticket, uint32_t at)
{
    return (const char *)ticket->result + at;
}

// --- Values --------------------------------------------------------------------------------------

static uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

// Returns a float without a sign, which has so many bits of mantissa below `infinity`, as a double.
static uint64_t widen(uint64_t magnitude, unsigned mantissa, uint64_t infinity)
{
    const uint64_t nan = UINT64_C(0x7ff8000000000000);
    const unsigned exponent = (unsigned)(magnitude >> mantissa);
    const int bias = (int)(infinity >> mantissa) / 2;
    double value = (double)(magnitude & ((UINT64_C(1) << mantissa) - 1));
    if (magnitude >= infinity)
        return magnitude == infinity ? UINT64_C(0x7ff0000000000000) : nan;
    value += exponent ? (double)(UINT64_C(1) << mantissa) : 0;
    for (int i = (exponent ? (int)exponent : 1) - bias - (int)mantissa; i; i += i < 0 ? 1 : -1)
        value *= i < 0 ? 0.5 : 2;
    return bits_of(value);
}

static uint64_t most_of(uint32_t type, uint64_t most)
{
    switch (type) {
    case INSTRUMENT_TYPE_F16: return widen(most, 10, 0x7c00);
    case INSTRUMENT_TYPE_BF16: return widen(most, 7, 0x7f80);
    case INSTRUMENT_TYPE_F32: return widen(most, 23, 0x7f800000);
    case INSTRUMENT_TYPE_F64:
        return most > UINT64_C(0x7ff0000000000000) ? UINT64_C(0x7ff8000000000000) : most;
    default: return most;
    }
}

static uint64_t all_of(uint32_t type)
{
    switch (type) {
    case INSTRUMENT_TYPE_U8:
    case INSTRUMENT_TYPE_S8: return UINT8_MAX;
    case INSTRUMENT_TYPE_U16:
    case INSTRUMENT_TYPE_S16:
    case INSTRUMENT_TYPE_F16:
    case INSTRUMENT_TYPE_BF16: return UINT16_MAX;
    case INSTRUMENT_TYPE_U64:
    case INSTRUMENT_TYPE_S64:
    case INSTRUMENT_TYPE_F64: return UINT64_MAX;
    default: return UINT32_MAX;
    }
}

// --- Records -------------------------------------------------------------------------------------

// Returns whether the root's values belong to its object, and their fields are where its layout
// says.
static bool is_placed(const struct shadow_ticket *ticket, const struct device_reduction *layout,
                      uint32_t root, uint32_t way)
{
    const uint64_t *strayed = part_of(ticket, layout->small.strayed_at);
    const uint32_t stride = ticket->kernel->roots[root].layout.stride;
    return stride && ticket->roots[root].offset % stride == 0 &&
           !(layout->small.strayed_count && strayed[2 * root + way]);
}

// Returns whether values that were not seen may have been read from the object, or written to it.
static bool is_incomplete(const struct shadow_ticket *ticket, const struct device_reduction *layout,
                          uint64_t object, uint32_t way)
{
    const struct device_touched *entries = part_of(ticket, layout->entries_at);
    for (uint32_t i = 0; i < ticket->root_count; i++) {
        if (ticket->roots[i].object == object &&
            (ticket->kernel->roots[i].unobserved[way] || !is_placed(ticket, layout, i, way)))
            return true;
    }
    for (uint32_t i = 0; ticket->table && i < ticket->result->entry_count; i++) {
        if (ticket->table->pieces[entries[i].index].object.number == object &&
            (way ? entries[i].written : entries[i].read))
            return true;
    }
    return ticket->kernel->outside;
}

static struct event_accessed record_of(const struct shadow_ticket *ticket,
                                       const struct instrument_accessed *about,
                                       const struct instrument_accessed_words *words)
{
    const struct instrument_layout *layout = &ticket->kernel->roots[about->root].layout;
    const uint32_t type = layout->fields[about->field].type;
    const uint64_t none = (uint64_t)words->none_high << 32 | words->none;
    return (struct event_accessed){
        .call = ticket->call,
        .object = ticket->roots[about->root].object,
        .any_bits = (uint64_t)words->any_high << 32 | words->any,
        .all_bits = all_of(type) & ~none,
        .most = most_of(type, words->most),
        .node = ticket->node,
        .stride = layout->stride,
        .offset = layout->fields[about->field].offset,
        .type = (uint8_t)type,
        .way = about->written ? EVENT_ACCESSED_WRITTEN : EVENT_ACCESSED_READ,
    };
}

static bool is_same_field(const struct event_accessed *one, const struct event_accessed *other)
{
    return one->object == other->object && one->way == other->way && one->stride == other->stride &&
           one->offset == other->offset && one->type == other->type;
}

// Adds the record to those of the same field, or to the list. Doubles without a sign are ordered
// like their bits.
static void join(struct event_accessed *list, uint32_t *count, const struct event_accessed *record)
{
    for (uint32_t i = 0; i < *count; i++) {
        if (!is_same_field(&list[i], record))
            continue;
        list[i].any_bits |= record->any_bits;
        list[i].all_bits &= record->all_bits;
        list[i].most = record->most > list[i].most ? record->most : list[i].most;
        return;
    }
    list[(*count)++] = *record;
}

void shadow_tell_accessed(const struct shadow_ticket *ticket, const struct device_reduction *layout)
{
    enum { MOST = 64 };
    const struct instrument_kernel *kernel = ticket->kernel;
    const struct instrument_accessed_words *words = part_of(ticket, layout->small.accessed_at);
    struct event_accessed list[MOST];
    uint32_t count = 0;
    for (uint32_t i = 0; i < kernel->accessed_count && i < MOST; i++) {
        const struct instrument_accessed *about = &kernel->accessed[i];
        const bool moved = words[i].any || words[i].none || words[i].any_high || words[i].none_high;
        if (!moved || about->root >= ticket->root_count || !ticket->roots[about->root].object ||
            !is_placed(ticket, layout, about->root, about->written))
            continue;
        const struct event_accessed record = record_of(ticket, about, &words[i]);
        join(list, &count, &record);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (is_incomplete(ticket, layout, list[i].object, list[i].way == EVENT_ACCESSED_WRITTEN))
            list[i].flags |= EVENT_ACCESSED_INCOMPLETE;
        core_put(EVENT_ACCESSED, &list[i], sizeof(list[i]), NULL, 0);
    }
}
