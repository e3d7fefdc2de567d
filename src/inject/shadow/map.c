// SPDX-License-Identifier: Apache-2.0
// Maps: which elements of an object were touched by some launch, and which by more than one,
// recorded when the object or the process ends. They are read back chunk by chunk on glint's own
// stream, one object after the other, and only what is not zero is recorded.
#include "map.h"

#include <stdlib.h>
#include <string.h>

#include "element.h"
#include "memory.h"

enum {
    CHUNK_BYTES = 256 << 10, // of a map, 8 elements each
    PIECE_BYTES = 4 << 10,   // of a record, at most; on the stack of a thread of the program
    UNIT_BYTES = 1 << 10,    // that are recorded as a whole or not at all
};

struct shadow_map {
    struct shadow_map *next;
    struct shadow_object *object;
    bool ended;     // the object is freed with this
    uint8_t kind;   // of the chunk that is being read
    uint64_t first; // first element that was not recorded yet
    struct shadow_block landing;
    CUevent event; // recorded behind the copy
};

bool shadow_map_add(struct shadow *shadow, struct shadow_object *object, bool ended)
{
    struct shadow_map *map = calloc(1, sizeof(*map));
    if (!map) {
        core_no_memory();
        return false;
    }
    *map = (struct shadow_map){.object = object, .ended = ended, .kind = EVENT_MAP_TOUCHED};
    struct shadow_map **place = &shadow->maps;
    while (*place)
        place = &(*place)->next;
    *place = map;
    return true;
}

// The elements of the chunk that is being read, and the words that hold them.
static uint64_t chunk_elements(const struct shadow_map *map)
{
    const uint64_t left = map->object->grain.elements - map->first;
    return left < 8 * (uint64_t)CHUNK_BYTES ? left : 8 * (uint64_t)CHUNK_BYTES;
}

static uint64_t word_at(const struct shadow_map *map, uint64_t element)
{
    return (map->object->first + element) / 32;
}

static bool ask(struct shadow *shadow, struct shadow_map *map)
{
    const struct shadow_object *object = map->object;
    const uint64_t from = word_at(map, map->first);
    const uint64_t words = word_at(map, map->first + chunk_elements(map) - 1) - from + 1;
    const uint64_t address =
        object->known.address +
        sizeof(uint32_t) * ((map->kind == EVENT_MAP_SHARED ? object->words : 0) + from);
    map->event = shadow_event_take(shadow);
    if (!map->event ||
        !shadow_take(shadow, &shadow->pinned, (words + 1) * sizeof(uint32_t), &map->landing)) {
        shadow_event_give(shadow, map->event);
        map->event = NULL;
        return false;
    }
    uint32_t *to = shadow_host(map->landing);
    to[words] = 0;
    return shadow_own_fetch(shadow, to, address, words * sizeof(uint32_t), map->event);
}

static void tell_piece(const struct shadow_map *map, uint64_t first, const unsigned char *bytes,
                       size_t count)
{
    const struct event_map record = {
        .object = map->object->number,
        .first = first,
        .elements = map->object->grain.elements,
        .element_bytes = 1u << map->object->grain.shift,
        .kind = map->kind,
    };
    core_put(EVENT_MAP, &record, sizeof(record), bytes, count);
}

static bool is_zero(const unsigned char *bytes, size_t count)
{
    return !count || (!bytes[0] && memcmp(bytes, bytes + 1, count - 1) == 0);
}

// Records the chunk that has landed, with its bits shifted to the start of the elements.
static void tell_chunk(const struct shadow_map *map)
{
    const uint32_t *words = shadow_host(map->landing);
    const unsigned shift = (map->object->first + map->first) % 32;
    const uint64_t count = (chunk_elements(map) + 7) / 8;
    unsigned char piece[PIECE_BYTES];
    size_t length = 0;
    for (uint64_t at = 0; at < count; at += UNIT_BYTES) {
        const size_t unit = count - at < UNIT_BYTES ? count - at : UNIT_BYTES;
        for (size_t i = 0; i < unit; i++) {
            const uint64_t bit = shift + 8 * (at + i);
            const uint64_t two = words[bit / 32] | (uint64_t)words[bit / 32 + 1] << 32;
            piece[length + i] = (unsigned char)(two >> bit % 32);
        }
        const bool zero = is_zero(piece + length, unit);
        const uint64_t first = map->first + 8 * (at - length);
        length += zero ? 0 : unit;
        if (length && (zero || length + UNIT_BYTES > PIECE_BYTES || at + unit == count)) {
            tell_piece(map, first, piece, length);
            length = 0;
        }
    }
}

// Continues with the rest of the map, or finishes it.
static void advance(struct shadow *shadow, struct shadow_map *map)
{
    map->first += chunk_elements(map);
    if (map->first < map->object->grain.elements)
        return;
    map->first = 0;
    if (map->kind == EVENT_MAP_TOUCHED) {
        map->kind = EVENT_MAP_SHARED;
        return;
    }
    shadow->maps = map->next;
    if (map->ended)
        shadow_element_free(shadow, map->object);
    free(map);
}

bool shadow_map_step(struct shadow *shadow)
{
    for (struct shadow_map *map; (map = shadow->maps);) {
        if (!map->event && (atomic_load(&shadow->failed) || !ask(shadow, map)))
            return atomic_load(&shadow->failed);
        const CUstreamCaptureMode mode = shadow_relax();
        const CUresult result = REAL(cuEventQuery)(map->event);
        shadow_restore(mode);
        if (result == CUDA_ERROR_NOT_READY)
            return false;
        if (result == CUDA_SUCCESS)
            tell_chunk(map);
        else
            shadow_fail(shadow, "read-back of maps", result);
        atomic_fetch_add_explicit(&shadow->landed, 1, memory_order_relaxed);
        shadow_event_give(shadow, map->event);
        map->event = NULL;
        shadow_give(&shadow->pinned, &map->landing);
        advance(shadow, map);
    }
    return true;
}

void shadow_map_forget(struct shadow *shadow)
{
    while (shadow->maps) {
        struct shadow_map *map = shadow->maps;
        shadow->maps = map->next;
        if (map->ended)
            free(map->object);
        free(map);
    }
}
