// SPDX-License-Identifier: Apache-2.0
// Elements: what is known of each object's elements (which were touched by some launch, which by
// more than one), and pads, in which launches mark what they touch until it is reduced.
//
// An element is as large as the smallest scalar that kernels move from and to the object, judging
// by the first that is watched, and at least 4 bytes. If there is not enough shadow memory for
// that, objects get larger elements, in steps of eight times. If even that does not fit, launches
// that need the object go unwatched.
#include "element.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "contents.h"
#include "map.h"
#include "memory.h"
#include "table.h"

enum {
    SMALLEST_SHIFT = 2,
    LARGEST_OF_ROOT = 4,
    COARSER = 3,
    LARGEST_SHIFT = 12,
    COARSE_NOTES = 16, // objects that notes name
};

static uint64_t round_up(uint64_t value, uint64_t unit)
{
    return (value + unit - 1) / unit * unit;
}

static void *at(const struct base_map *map, uint64_t number)
{
    const uint64_t *place = base_map_get(map, number);
    return place ? (void *)(uintptr_t)*place : NULL; // NOLINT(performance-no-int-to-ptr)
}

static bool enter(struct base_map *map, uint64_t number, void *value)
{
    uint64_t *place = base_map_put(map, number, NULL);
    if (place)
        *place = (uint64_t)(uintptr_t)value;
    else
        core_no_memory();
    return place;
}

// --- Marks ---------------------------------------------------------------------------------------

static uint64_t bits_bytes(const struct shadow_object *object)
{
    return object->words * sizeof(uint32_t);
}

// The sums follow the words. Probes may access them with operations that set no bits.
_Static_assert(sizeof(struct device_sums) >= INSTRUMENT_BEHIND * sizeof(uint32_t),
               "operations that set no bits stay inside");

static uint64_t counts_bytes(const struct shadow_object *object)
{
    return object->words * 32 * sizeof(uint32_t);
}

static bool take_cleared(struct shadow *shadow, uint64_t bytes, struct shadow_block *block)
{
    return shadow_take(shadow, &shadow->device, bytes, block) && shadow_own_clear(shadow, *block);
}

// Allocates those marks of the object that are missing.
static bool fill_marks(struct shadow *shadow, struct shadow_marks *marks,
                       const struct shadow_object *object, bool counts)
{
    if (!marks->bits.address &&
        !take_cleared(shadow, bits_bytes(object) + sizeof(struct device_sums), &marks->bits))
        return false;
    return !counts || marks->counts.address ||
           take_cleared(shadow,
                        counts_bytes(object) + sizeof(struct device_sums) +
                            sizeof(struct device_counts),
                        &marks->counts);
}

static void give_marks(struct shadow *shadow, struct shadow_marks *marks)
{
    shadow_give(&shadow->device, &marks->bits);
    shadow_give(&shadow->device, &marks->counts);
}

struct shadow_marks *shadow_marks_at(struct shadow *shadow, struct shadow_pad *pad,
                                     const struct shadow_object *object, bool counts)
{
    struct shadow_marks *marks = at(&pad->marks, object->number);
    if (marks)
        return fill_marks(shadow, marks, object, counts) ? marks : NULL;
    marks = calloc(1, sizeof(*marks));
    if (marks && fill_marks(shadow, marks, object, counts) &&
        enter(&pad->marks, object->number, marks))
        return marks;
    if (marks)
        give_marks(shadow, marks);
    free(marks);
    return NULL;
}

// --- Objects -------------------------------------------------------------------------------------

static void shape(struct shadow_object *object, uint32_t shift)
{
    const uint64_t unit = (uint64_t)128 << shift;
    object->base = object->start & ~(unit - 1);
    const uint64_t last = object->start + object->bytes - 1 - object->base;
    object->first = (uint32_t)((object->start - object->base) >> shift);
    object->words = round_up((last >> shift) + 1, 128) / 32;
    const uint64_t elements = (last >> shift) + 1 - object->first;
    object->grain = (struct shadow_grain){
        .shift = shift,
        .piece = (uint32_t)((elements + DEVICE_PIECES - 1) / DEVICE_PIECES),
        .elements = elements,
    };
}

static uint32_t shift_for(uint32_t element_bytes)
{
    uint32_t shift = SMALLEST_SHIFT;
    while (shift < LARGEST_OF_ROOT && ((uint32_t)2 << shift) <= element_bytes)
        shift++;
    return shift;
}

static void note_coarse(struct shadow *shadow, const struct shadow_object *object)
{
    char text[192];
    if (++shadow->coarse > COARSE_NOTES)
        return;
    snprintf(text, sizeof(text),
             "object %" PRIu64 ": its %" PRIu64 " bytes are watched in elements of %u bytes, "
             "because there is no shadow memory for smaller ones",
             object->number, object->bytes, 1u << object->grain.shift);
    core_note(EVENT_WARNING, text);
}

// Allocates memory for the object and its marks in the pad. With counts, an element index must fit
// into 32 bits.
static bool furnish(struct shadow *shadow, struct shadow_pad *pad, struct shadow_object *object,
                    bool counts)
{
    if (counts && object->grain.elements >= UINT32_MAX)
        return false;
    const uint64_t chunks = (object->words + DEVICE_CHUNK_WORDS - 1) / DEVICE_CHUNK_WORDS;
    if (!take_cleared(shadow, 2 * bits_bytes(object) + chunks, &object->known))
        return false;
    if (shadow_marks_at(shadow, pad, object, counts))
        return true;
    shadow_give(&shadow->device, &object->known);
    return false;
}

struct shadow_object *shadow_object_at(struct shadow *shadow, struct shadow_pad *pad,
                                       const struct core_object *about, uint32_t element_bytes,
                                       bool counts)
{
    struct shadow_object *object = at(&shadow->objects, about->number);
    if (object)
        return counts && object->grain.elements >= UINT32_MAX ? NULL : object;
    object = calloc(1, sizeof(*object));
    if (!object) {
        core_no_memory();
        return NULL;
    }
    object->number = about->number;
    object->start = about->start;
    object->bytes = about->bytes;
    const bool foreign = about->context && about->context != shadow->context->number;
    const uint32_t wanted = shift_for(element_bytes);
    uint32_t shift = wanted;
    for (bool good = false; !good; shift += COARSER) {
        shape(object, shift);
        object->grain.foreign = foreign;
        good = furnish(shadow, pad, object, counts);
        if (good)
            break;
        if (shift + COARSER > LARGEST_SHIFT || atomic_load(&shadow->failed)) {
            free(object);
            return NULL;
        }
    }
    if (!enter(&shadow->objects, object->number, object)) {
        shadow_give(&shadow->device, &object->known);
        free(object);
        return NULL;
    }
    if (shift != wanted)
        note_coarse(shadow, object);
    return object;
}

struct instrument_slot shadow_slot_of(const struct core_objects_piece *piece,
                                      const struct shadow_object *object,
                                      const struct shadow_marks *marks, bool counts)
{
    struct instrument_slot slot = shadow_slot(piece, object->grain.shift);
    const uint64_t skipped = (slot.base - object->base) >> slot.shift;
    slot.bits = marks->bits.address + skipped / 8;
    slot.counts = counts ? marks->counts.address + skipped * sizeof(uint32_t) : 0;
    slot.looks = !object->sparse;
    return slot;
}

void shadow_element_seen(struct shadow *shadow, uint64_t number, uint64_t bytes, uint64_t elements)
{
    util_mutex_lock(&shadow->lock, RANK_SHADOW);
    struct shadow_object *object = at(&shadow->objects, number);
    if (object)
        object->sparse = bytes >> object->grain.shift < 2 * elements;
    util_mutex_unlock(&shadow->lock, RANK_SHADOW);
}

void shadow_job_know(struct device_job *job, const struct shadow_object *object)
{
    job->any = object->known.address;
    job->multi = job->any + bits_bytes(object);
    job->full = job->multi + bits_bytes(object);
}

struct device_job shadow_job_of(const struct shadow_object *object,
                                const struct shadow_marks *marks, bool counts)
{
    struct device_job job = {
        .bits = marks->bits.address,
        .counts = counts ? marks->counts.address : 0,
        .sums = counts ? marks->counts.address + counts_bytes(object)
                       : marks->bits.address + bits_bytes(object),
        .words = object->words,
        .first = object->first,
        .piece = object->grain.piece,
    };
    shadow_job_know(&job, object);
    return job;
}

// --- Pads ----------------------------------------------------------------------------------------

// Lays out the small memory whose size depends on the kernel: done, strays, strayed, flags,
// tallies, accessed values, masks.
struct shadow_small shadow_small_of(const struct instrument_kernel *kernel)
{
    struct shadow_small small;
    small.strayed = SHADOW_STRAYS_AT + sizeof(struct instrument_strays);
    small.flags = round_up(small.strayed + 2 * sizeof(uint64_t) * kernel->root_count, 128);
    const uint64_t flag_bytes =
        kernel->flag_count ? (uint64_t)kernel->flag_row_bytes * INSTRUMENT_FLAG_ROWS : 0;
    const uint64_t tally_bytes =
        kernel->tally_count ? (uint64_t)kernel->tally_row_bytes * INSTRUMENT_TALLY_ROWS : 0;
    small.tallies = round_up(small.flags + flag_bytes, 128);
    small.accessed = round_up(small.tallies + tally_bytes, 128);
    small.masks = round_up(
        small.accessed + (uint64_t)kernel->accessed_row_bytes * INSTRUMENT_TALLY_ROWS, 128);
    small.bytes = small.masks +
                  (kernel->by_masks ? (1 + INSTRUMENT_MASKS) * sizeof(struct instrument_mask) : 0);
    return small;
}

// Allocates shadows and marks for all objects of the table.
static bool furnish_table(struct shadow *shadow, struct shadow_pad *pad, struct shadow_table *table,
                          bool counts)
{
    const bool new = !table->grains;
    if (new)
        table->grains = calloc(table->count + 1, sizeof(*table->grains));
    if (!table->grains) {
        core_no_memory();
        return false;
    }
    for (uint32_t i = 0; i < table->count; i++) {
        const struct core_object *about = &table->pieces[i].object;
        const struct shadow_object *object = shadow_object_at(shadow, pad, about, 0, counts);
        if (!object || !shadow_marks_at(shadow, pad, object, counts))
            return false;
        table->grains[i] = object->grain;
    }
    return true;
}

// Sets, for each entry, the first entry of the same object and how far its entries reach.
static void lead_to_owners(const struct shadow_table *table, struct device_entry *entries)
{
    struct base_map first = {0};
    for (uint32_t i = 0; i < table->count; i++) {
        entries[i].owner = i;
        entries[i].span = 1;
        if (!atomic_load_explicit(&core_state.objects.parts, memory_order_relaxed) && !first.count)
            continue;
        bool added = false;
        uint64_t *place = base_map_put(&first, table->pieces[i].object.number, &added);
        if (added)
            *place = i;
        else if (place) {
            entries[i].owner = (uint32_t)*place;
            entries[*place].span = i - (uint32_t)*place + 1;
        }
    }
    base_map_fini(&first);
}

// Writes slots and jobs of the table's objects into host memory.
static void fill_entries(const struct shadow *shadow, struct shadow_pad *pad,
                         const struct shadow_table *table, bool counts,
                         struct instrument_slot *slots, struct device_entry *entries)
{
    for (uint32_t i = 0; i < table->count; i++) {
        const struct shadow_object *object = at(&shadow->objects, table->pieces[i].object.number);
        const struct shadow_marks *marks = at(&pad->marks, object->number);
        slots[i] = shadow_slot_of(&table->pieces[i], object, marks, counts);
        entries[i].job = shadow_job_of(object, marks, counts);
        pad->table_words += object->words;
    }
    lead_to_owners(table, entries);
}

bool shadow_pad_table(struct shadow *shadow, struct shadow_pad *pad, struct shadow_table *table,
                      uint32_t facts, struct shadow_block old[2])
{
    const bool elements = facts & INSTRUMENT_ELEMENTS, counts = facts & INSTRUMENT_COUNTS;
    const bool values = facts & INSTRUMENT_VALUES;
    const uint64_t each = elements ? table->count : 0;
    const uint64_t slots_at = sizeof(struct instrument_table);
    const uint64_t entries_at = slots_at + each * sizeof(struct instrument_slot);
    const uint64_t pieces_at = entries_at + each * sizeof(struct device_entry);
    const uint64_t bytes =
        pieces_at + (values ? table->count * sizeof(struct instrument_pieces) : 0);
    const uint64_t touched_bytes = round_up(2 * (uint64_t)table->count + 1, 16);
    const uint64_t moved_bytes = 2 * sizeof(uint64_t) * each;
    const uint64_t stored_bytes = values ? 2 * sizeof(uint64_t) * table->count : 0;
    struct shadow_block staging = {0}, entries = {0}, touched = {0};
    if ((elements && !furnish_table(shadow, pad, table, counts)) ||
        !shadow_take(shadow, &shadow->device, bytes, &entries) ||
        !take_cleared(shadow, touched_bytes + moved_bytes + stored_bytes, &touched) ||
        !shadow_take(shadow, &shadow->pinned, bytes, &staging)) {
        shadow_give(&shadow->device, &entries);
        shadow_give(&shadow->device, &touched);
        return false;
    }
    unsigned char *to = shadow_host(staging);
    memset(to, 0, bytes);
    pad->table_words = 0;
    if (elements)
        fill_entries(shadow, pad, table, counts, (void *)(to + slots_at),
                     (void *)(to + entries_at));
    for (uint32_t i = 0; values && i < table->count; i++)
        ((struct instrument_pieces *)(void *)(to + pieces_at))[i] =
            shadow_contents_of_piece(shadow, &table->pieces[i]);
    pad->says = (struct instrument_table){
        .count = table->count,
        .entries = elements ? entries.address + slots_at : table->entries.address,
        .touched = touched.address,
        .moved = elements ? touched.address + touched_bytes : 0,
        .strayed = pad->small.address + SHADOW_STRAYS_AT + sizeof(struct instrument_strays),
        .strays = pad->small.address + SHADOW_STRAYS_AT,
        .pieces = values ? entries.address + pieces_at : 0,
        .stored = values ? touched.address + touched_bytes + moved_bytes : 0,
    };
    pad->jobs_at = elements ? entries.address + entries_at : 0;
    memcpy(to, &pad->says, sizeof(pad->says));
    old[0] = pad->entries;
    old[1] = pad->touched;
    pad->entries = entries;
    pad->touched = touched;
    pad->facts = facts;
    table->holders++;
    shadow_table_drop(shadow, pad->table);
    pad->table = table;
    return shadow_own_copy(shadow, entries.address, &staging, bytes);
}

void shadow_pad_fini(struct shadow *shadow, struct shadow_pad *pad)
{
    shadow_give(&shadow->device, &pad->small);
    shadow_give(&shadow->device, &pad->words);
    shadow_give(&shadow->device, &pad->reuse);
    shadow_give(&shadow->device, &pad->entries);
    shadow_give(&shadow->device, &pad->touched);
    shadow_table_drop(shadow, pad->table);
    for (size_t i = 0; i < pad->marks.count; i++) {
        const struct base_map_entry *entry = &pad->marks.entries[i];
        struct shadow_marks *marks = (struct shadow_marks *)(uintptr_t)entry->value; // NOLINT
        if (entry->removed)
            continue;
        give_marks(shadow, marks);
        free(marks);
    }
    base_map_fini(&pad->marks);
    *pad = (struct shadow_pad){0};
}

// --- Ends of objects -----------------------------------------------------------------------------

void shadow_element_begun(struct shadow *shadow, struct shadow_ticket *ticket)
{
    ticket->begun = ++shadow->begun;
    ticket->older = shadow->newest;
    if (shadow->newest)
        shadow->newest->newer = ticket;
    else
        shadow->oldest = ticket;
    shadow->newest = ticket;
}

void shadow_element_told(struct shadow *shadow, struct shadow_ticket *ticket)
{
    *(ticket->older ? &ticket->older->newer : &shadow->oldest) = ticket->newer;
    *(ticket->newer ? &ticket->newer->older : &shadow->newest) = ticket->older;
}

void shadow_element_ended(struct shadow *shadow, uint64_t number)
{
    struct shadow_object *object = at(&shadow->objects, number);
    if (!object)
        return;
    base_map_remove(&shadow->objects, number);
    object->ended = shadow->begun;
    object->next = shadow->ended;
    shadow->ended = object;
}

void shadow_element_free(struct shadow *shadow, struct shadow_object *object)
{
    for (struct shadow_lane *lane = atomic_load(&shadow->lanes); lane; lane = lane->next) {
        struct shadow_marks *marks = at(&lane->pad.marks, object->number);
        if (!marks)
            continue;
        base_map_remove(&lane->pad.marks, object->number);
        give_marks(shadow, marks);
        free(marks);
    }
    shadow_give(&shadow->device, &object->known);
    free(object);
}

void shadow_element_trim(struct shadow *shadow)
{
    for (struct shadow_object **place = &shadow->ended; *place;) {
        struct shadow_object *object = *place;
        if (shadow->oldest && shadow->oldest->begun <= object->ended) {
            place = &object->next;
            continue;
        }
        *place = object->next;
        if (!shadow->wants_maps || object->grain.foreign || !shadow_map_add(shadow, object, true))
            shadow_element_free(shadow, object);
    }
}

void shadow_element_forget(struct shadow *shadow)
{
    while (shadow->ended) {
        struct shadow_object *object = shadow->ended;
        shadow->ended = object->next;
        free(object);
    }
    for (size_t i = 0; i < shadow->objects.count; i++) {
        if (!shadow->objects.entries[i].removed)
            free((void *)(uintptr_t)shadow->objects.entries[i].value); // NOLINT
    }
    base_map_fini(&shadow->objects);
}
