// SPDX-License-Identifier: Apache-2.0
// The map of objects: two interval maps and a hash map under one lock, whose values point to the
// objects. The lock is held for one search or change, never across anything else.
#include "objects.h"

#include <stdlib.h>
#include <string.h>

void core_objects_init(struct core_objects *objects)
{
    objects->lock = (struct util_lock){0};
    for (int layer = 0; layer < OBJECTS_LAYERS; layer++)
        base_intervals_init(&objects->layers[layer], 0);
    objects->arrays = (struct base_map){0};
    objects->spare = NULL;
    atomic_store(&objects->made, 0);
    atomic_store(&objects->parts, 0);
    atomic_store(&objects->changes, 0);
    atomic_store(&objects->host_changes, 0);
    atomic_store(&objects->low, UINT64_MAX);
    atomic_store(&objects->high, 0);
}

static struct core_object *pointer(uint64_t value)
{
    return (struct core_object *)(uintptr_t)value; // NOLINT(performance-no-int-to-ptr)
}

void core_objects_fini(struct core_objects *objects)
{
    for (int layer = 0; layer < OBJECTS_LAYERS; layer++) {
        struct base_intervals_walk walk;
        struct base_interval *it = base_intervals_first(&objects->layers[layer], &walk);
        for (; it; it = base_intervals_next(&walk))
            free(pointer(it->value));
        base_intervals_fini(&objects->layers[layer]);
    }
    for (size_t i = 0; i < objects->arrays.count; i++) {
        if (!objects->arrays.entries[i].removed)
            free(pointer(objects->arrays.entries[i].value));
    }
    base_map_fini(&objects->arrays);
    while (objects->spare) {
        struct core_object *spare = objects->spare;
        objects->spare = spare->next;
        free(spare);
    }
}

static struct core_object *copy_of(struct core_objects *objects, const struct core_object *object)
{
    struct core_object *copy = objects->spare;
    if (copy)
        objects->spare = copy->next;
    else
        copy = malloc(sizeof(*copy));
    if (copy)
        *copy = *object;
    return copy;
}

static void give(struct core_objects *objects, struct core_object *object)
{
    if (!object)
        return;
    object->next = objects->spare;
    objects->spare = object;
}

// Needs the lock, without which counters may only be read.
static uint64_t next_locked(struct core_objects *objects)
{
    const uint64_t number = atomic_load_explicit(&objects->made, memory_order_relaxed) + 1;
    atomic_store_explicit(&objects->made, number, memory_order_relaxed);
    return number;
}

uint64_t core_objects_number(struct core_objects *objects)
{
    util_lock_take(&objects->lock, RANK_OBJECTS);
    const uint64_t number = next_locked(objects);
    util_lock_give(&objects->lock, RANK_OBJECTS);
    return number;
}

static bool is_of_host(uint8_t kind)
{
    return kind == EVENT_OBJECT_PINNED || kind == EVENT_OBJECT_REGISTERED ||
           kind == EVENT_OBJECT_MANAGED || kind == EVENT_OBJECT_IMPORTED;
}

// Needs the lock, for the same reason.
static void changed_locked(struct core_objects *objects, uint8_t kind)
{
    const uint64_t changes = atomic_load_explicit(&objects->changes, memory_order_relaxed) + 1;
    atomic_store_explicit(&objects->changes, changes, memory_order_relaxed);
    if (is_of_host(kind))
        atomic_fetch_add_explicit(&objects->host_changes, 1, memory_order_relaxed);
}

// Needs the lock.
static void grow_locked(struct core_objects *objects, const struct core_object *object)
{
    const uint64_t end = object->start + object->bytes;
    if (object->start < atomic_load_explicit(&objects->low, memory_order_relaxed))
        atomic_store_explicit(&objects->low, object->start, memory_order_relaxed);
    if (end > atomic_load_explicit(&objects->high, memory_order_relaxed))
        atomic_store_explicit(&objects->high, end, memory_order_relaxed);
}

static bool add_locked(struct core_objects *objects, enum core_objects_layer layer,
                       const struct core_object *object)
{
    struct core_object *copy = copy_of(objects, object);
    const bool good =
        copy && base_intervals_insert(&objects->layers[layer], copy->start, copy->bytes,
                                      (uint64_t)(uintptr_t)copy, NULL) == BASE_OK;
    if (!good) {
        give(objects, copy);
        return false;
    }
    if (layer == OBJECTS_PARTS)
        atomic_fetch_add_explicit(&objects->parts, 1, memory_order_relaxed);
    changed_locked(objects, object->kind);
    grow_locked(objects, object);
    return true;
}

bool core_objects_add(struct core_objects *objects, enum core_objects_layer layer,
                      const struct core_object *object)
{
    util_lock_take(&objects->lock, RANK_OBJECTS);
    const bool good = add_locked(objects, layer, object);
    util_lock_give(&objects->lock, RANK_OBJECTS);
    return good;
}

bool core_objects_add_new(struct core_objects *objects, enum core_objects_layer layer,
                          struct core_object *object)
{
    util_lock_take(&objects->lock, RANK_OBJECTS);
    if (!object->number)
        object->number = next_locked(objects);
    const bool good = add_locked(objects, layer, object);
    util_lock_give(&objects->lock, RANK_OBJECTS);
    return good;
}

bool core_objects_add_array(struct core_objects *objects, const struct core_object *object)
{
    util_lock_take(&objects->lock, RANK_OBJECTS);
    struct core_object *copy = copy_of(objects, object);
    bool added = false;
    uint64_t *value = copy ? base_map_put(&objects->arrays, copy->start, &added) : NULL;
    if (added)
        *value = (uint64_t)(uintptr_t)copy;
    else
        give(objects, copy);
    util_lock_give(&objects->lock, RANK_OBJECTS);
    return added;
}

void core_objects_alias_array(struct core_objects *objects, uint64_t handle, uint64_t of)
{
    struct core_object object;
    if (!core_objects_find_array(objects, of, &object))
        return;
    object.start = handle;
    object.alias = true;
    core_objects_add_array(objects, &object);
}

bool core_objects_find(struct core_objects *objects, enum core_objects_layer layer,
                       uint64_t address, struct core_object *found)
{
    util_lock_take(&objects->lock, RANK_OBJECTS);
    const struct base_interval *range = base_intervals_find(&objects->layers[layer], address);
    *found = range ? *pointer(range->value) : (struct core_object){0};
    util_lock_give(&objects->lock, RANK_OBJECTS);
    return range != NULL;
}

void core_objects_unread(struct core_objects *objects, uint64_t start)
{
    util_lock_take(&objects->lock, RANK_OBJECTS);
    const struct base_interval *range =
        base_intervals_find(&objects->layers[OBJECTS_MEMORY], start);
    if (range && pointer(range->value)->start == start)
        pointer(range->value)->unread = true;
    util_lock_give(&objects->lock, RANK_OBJECTS);
}

uint64_t core_objects_share(struct core_objects *objects, uint64_t address)
{
    uint64_t number = 0;
    util_lock_take(&objects->lock, RANK_OBJECTS);
    const struct base_interval *range =
        base_intervals_find(&objects->layers[OBJECTS_MEMORY], address);
    if (range && !pointer(range->value)->shared) {
        pointer(range->value)->shared = true;
        number = pointer(range->value)->number;
    }
    util_lock_give(&objects->lock, RANK_OBJECTS);
    return number;
}

bool core_objects_find_array(struct core_objects *objects, uint64_t handle,
                             struct core_object *found)
{
    util_lock_take(&objects->lock, RANK_OBJECTS);
    const uint64_t *value = base_map_get(&objects->arrays, handle);
    *found = value ? *pointer(*value) : (struct core_object){0};
    util_lock_give(&objects->lock, RANK_OBJECTS);
    return value != NULL;
}

// --- Pieces --------------------------------------------------------------------------------------

bool core_objects_find_piece(struct core_objects *objects, uint64_t address,
                             struct core_objects_piece *found)
{
    const struct base_intervals *parts = &objects->layers[OBJECTS_PARTS];
    *found = (struct core_objects_piece){0};
    util_lock_take(&objects->lock, RANK_OBJECTS);
    const struct base_interval *range = parts->count ? base_intervals_find(parts, address) : NULL;
    const bool part = range != NULL;
    if (!range)
        range = base_intervals_find(&objects->layers[OBJECTS_MEMORY], address);
    if (range) {
        uint64_t start = range->start, last = range->last;
        found->object = *pointer(range->value);
        if (!part && parts->count) { // only neighbors in the same object bound it
            const struct base_interval *below = base_intervals_before(parts, address);
            const struct base_interval *above = base_intervals_after(parts, address);
            if (below && below->last >= start)
                start = below->last + 1;
            if (above && above->start <= last)
                last = above->start - 1;
        }
        found->start = start;
        found->bytes = last - start + 1;
    }
    util_lock_give(&objects->lock, RANK_OBJECTS);
    return range != NULL;
}

// Needs the lock. Returns the part or object that holds the address; NULL: there is none.
static struct core_object *object_at_locked(const struct core_objects *objects, uint64_t address)
{
    const struct base_interval *range =
        base_intervals_find(&objects->layers[OBJECTS_PARTS], address);
    if (!range)
        range = base_intervals_find(&objects->layers[OBJECTS_MEMORY], address);
    return range ? pointer(range->value) : NULL;
}

enum { MOST_ELEMENT = 16 }; // bytes

// Returns whether the word may be an address in or near an object. Needs no lock.
static bool is_near(const struct core_objects *objects, uint64_t word)
{
    return word >= atomic_load_explicit(&objects->low, memory_order_relaxed) - MOST_ELEMENT &&
           word <= atomic_load_explicit(&objects->high, memory_order_relaxed);
}

// Stores the objects that the word may point to. Needs the lock.
static size_t pointed_locked(const struct core_objects *objects, uint64_t word,
                             struct core_object *found[3])
{
    const uint64_t addresses[] = {word, word - 1, word + MOST_ELEMENT};
    size_t count = 0;
    for (size_t i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++) {
        struct core_object *object = object_at_locked(objects, addresses[i]);
        bool is_new = object != NULL;
        for (size_t k = 0; k < count; k++)
            is_new = is_new && found[k] != object;
        if (is_new)
            found[count++] = object;
        // PyTorch hands out adjacent blocks and passes their starts.
        if (is_new && object->kind == EVENT_OBJECT_TENSOR && object->start == word)
            break;
    }
    return count;
}

struct core_objects_pointed core_objects_pointed(struct core_objects *objects, uint64_t word)
{
    struct core_objects_pointed pointed = {.count = 0};
    struct core_object *found[3];
    if (!is_near(objects, word))
        return pointed;
    util_lock_take(&objects->lock, RANK_OBJECTS);
    pointed.count = pointed_locked(objects, word, found);
    for (size_t i = 0; i < pointed.count; i++) {
        pointed.numbers[i] = found[i]->number;
        pointed.leads_on |= found[i]->bytes >= sizeof(uint64_t) && // else it holds no address
                            (is_of_host(found[i]->kind) || found[i]->unsearched);
    }
    util_lock_give(&objects->lock, RANK_OBJECTS);
    return pointed;
}

// A range of addresses without objects.
struct hole {
    uint64_t from, to;
};

static struct hole hole_locked(const struct core_objects *objects, uint64_t address)
{
    const struct base_intervals *memory = &objects->layers[OBJECTS_MEMORY];
    const struct base_interval *below = base_intervals_before(memory, address);
    const struct base_interval *above = base_intervals_after(memory, address);
    return (struct hole){below ? below->last + 2 : 0,
                         above ? above->start - MOST_ELEMENT : UINT64_MAX};
}

// Needs the lock. Marks the first of the objects that has no mark. Returns its number; 0: none.
static uint64_t mark_locked(struct core_object **found, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!found[i]->addressed) {
            found[i]->addressed = true;
            return found[i]->number;
        }
    }
    return 0;
}

// Data that is no address mostly lies in one hole, so the last one is remembered.
uint64_t core_objects_address(struct core_objects *objects, const char *words, size_t bytes,
                              size_t *at)
{
    struct hole hole = {0, 0};
    struct core_object *found[3];
    uint64_t number = 0;
    util_lock_take(&objects->lock, RANK_OBJECTS);
    for (; *at + sizeof(uint64_t) <= bytes; *at += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, words + *at, sizeof(word));
        if (!is_near(objects, word) || word - hole.from < hole.to - hole.from)
            continue;
        const size_t count = pointed_locked(objects, word, found);
        if (!count)
            hole = hole_locked(objects, word);
        number = mark_locked(found, count);
        if (number)
            break;
    }
    util_lock_give(&objects->lock, RANK_OBJECTS);
    return number;
}

void core_objects_unsearched(struct core_objects *objects, uint64_t address)
{
    util_lock_take(&objects->lock, RANK_OBJECTS);
    struct core_object *object = object_at_locked(objects, address);
    if (object)
        object->unsearched = true;
    util_lock_give(&objects->lock, RANK_OBJECTS);
}

static size_t add_piece(struct core_objects_piece *pieces, size_t room, size_t count,
                        uint64_t start, uint64_t last, const struct core_object *object)
{
    if (count < room)
        pieces[count] = (struct core_objects_piece){start, last - start + 1, *object};
    return count + 1;
}

size_t core_objects_pieces(struct core_objects *objects, struct core_objects_piece *pieces,
                           size_t room, uint64_t *changes)
{
    const struct base_intervals *parts = &objects->layers[OBJECTS_PARTS];
    struct base_intervals_walk walk, inner;
    size_t count = 0;
    util_lock_take(&objects->lock, RANK_OBJECTS);
    *changes = atomic_load_explicit(&objects->changes, memory_order_relaxed);
    const struct base_interval *it = base_intervals_first(&objects->layers[OBJECTS_MEMORY], &walk);
    for (; it; it = base_intervals_next(&walk)) {
        const struct core_object *object = pointer(it->value);
        uint64_t from = it->start;
        bool left = true;
        const struct base_interval *part =
            parts->count ? base_intervals_first_overlap(parts, it->start, object->bytes, &inner)
                         : NULL;
        for (; part; part = base_intervals_next(&inner)) {
            if (part->start > from)
                count = add_piece(pieces, room, count, from, part->start - 1, object);
            count = add_piece(pieces, room, count, part->start, part->last, pointer(part->value));
            from = part->last + 1;
            left = part->last < it->last;
        }
        if (left)
            count = add_piece(pieces, room, count, from, it->last, object);
    }
    util_lock_give(&objects->lock, RANK_OBJECTS);
    return count;
}

size_t core_objects_of_host(struct core_objects *objects, struct core_object *found, size_t room,
                            uint64_t *host_changes)
{
    struct base_intervals_walk walk;
    size_t count = 0;
    util_lock_take(&objects->lock, RANK_OBJECTS);
    *host_changes = atomic_load_explicit(&objects->host_changes, memory_order_relaxed);
    for (const struct base_interval *it =
             base_intervals_first(&objects->layers[OBJECTS_MEMORY], &walk);
         it; it = base_intervals_next(&walk)) {
        const struct core_object *object = pointer(it->value);
        if (is_of_host(object->kind) && count++ < room)
            found[count - 1] = *object;
    }
    util_lock_give(&objects->lock, RANK_OBJECTS);
    return count;
}

// --- Removal -------------------------------------------------------------------------------------

// Needs the lock, after the object was taken out of its layer.
static void taken_locked(struct core_objects *objects, enum core_objects_layer layer,
                         struct core_object *object, struct core_object *taken)
{
    *taken = *object;
    give(objects, object);
    changed_locked(objects, taken->kind);
    if (layer == OBJECTS_PARTS)
        atomic_fetch_sub_explicit(&objects->parts, 1, memory_order_relaxed);
}

// Takes out the object that starts there, which must exist. Needs the lock.
static void take_locked(struct core_objects *objects, enum core_objects_layer layer, uint64_t start,
                        struct core_object *taken)
{
    struct base_interval removed;
    base_intervals_remove(&objects->layers[layer], start, &removed);
    taken_locked(objects, layer, pointer(removed.value), taken);
}

bool core_objects_take(struct core_objects *objects, enum core_objects_layer layer, uint64_t start,
                       struct core_object *taken)
{
    util_lock_take(&objects->lock, RANK_OBJECTS);
    struct base_interval removed;
    const bool there = base_intervals_remove(&objects->layers[layer], start, &removed);
    if (there)
        taken_locked(objects, layer, pointer(removed.value), taken);
    util_lock_give(&objects->lock, RANK_OBJECTS);
    return there;
}

bool core_objects_take_overlap(struct core_objects *objects, enum core_objects_layer layer,
                               uint64_t start, uint64_t bytes, struct core_object *taken)
{
    struct base_intervals_walk walk;
    util_lock_take(&objects->lock, RANK_OBJECTS);
    const struct base_interval *range =
        base_intervals_first_overlap(&objects->layers[layer], start, bytes, &walk);
    if (range)
        take_locked(objects, layer, range->start, taken);
    util_lock_give(&objects->lock, RANK_OBJECTS);
    return range != NULL;
}

bool core_objects_take_of(struct core_objects *objects, enum core_objects_layer layer,
                          uint32_t context, uint32_t owner, uint64_t *from,
                          struct core_object *taken)
{
    const struct base_intervals *map = &objects->layers[layer];
    util_lock_take(&objects->lock, RANK_OBJECTS);
    const struct base_interval *range = base_intervals_find(map, *from);
    if (!range)
        range = base_intervals_after(map, *from);
    while (range) {
        const struct core_object *object = pointer(range->value);
        if ((!context || object->context == context) && (!owner || object->owner == owner))
            break;
        range = base_intervals_after(map, range->last);
    }
    if (range) {
        *from = range->last;
        take_locked(objects, layer, range->start, taken);
    }
    util_lock_give(&objects->lock, RANK_OBJECTS);
    return range != NULL;
}

static void take_array_locked(struct core_objects *objects, uint64_t handle, uint64_t value,
                              struct core_object *taken)
{
    *taken = *pointer(value);
    give(objects, pointer(value));
    base_map_remove(&objects->arrays, handle);
}

void core_objects_forget_aliases(struct core_objects *objects, uint64_t number)
{
    struct core_object taken;
    util_lock_take(&objects->lock, RANK_OBJECTS);
    for (size_t i = 0; i < objects->arrays.count; i++) {
        const struct base_map_entry *entry = &objects->arrays.entries[i];
        if (!entry->removed && pointer(entry->value)->alias &&
            pointer(entry->value)->number == number)
            take_array_locked(objects, entry->key, entry->value, &taken);
    }
    util_lock_give(&objects->lock, RANK_OBJECTS);
}

bool core_objects_take_array(struct core_objects *objects, uint64_t handle,
                             struct core_object *taken)
{
    util_lock_take(&objects->lock, RANK_OBJECTS);
    const uint64_t *value = base_map_get(&objects->arrays, handle);
    if (value)
        take_array_locked(objects, handle, *value, taken);
    util_lock_give(&objects->lock, RANK_OBJECTS);
    return value != NULL;
}

bool core_objects_take_array_of(struct core_objects *objects, uint32_t context,
                                struct core_object *taken)
{
    bool there = false;
    util_lock_take(&objects->lock, RANK_OBJECTS);
    for (size_t i = 0; i < objects->arrays.count && !there; i++) {
        const struct base_map_entry *entry = &objects->arrays.entries[i];
        if (entry->removed || pointer(entry->value)->context != context)
            continue;
        there = true;
        take_array_locked(objects, entry->key, entry->value, taken);
    }
    util_lock_give(&objects->lock, RANK_OBJECTS);
    return there;
}
