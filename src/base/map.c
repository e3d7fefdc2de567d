// SPDX-License-Identifier: Apache-2.0
// The hash map: a table of 32-bit indices with linear probing over an array of entries. Removal
// marks the entry and leaves its slot as a tombstone; rebuilding the table drops both. At most half
// of the slots are entries or tombstones, so every probe ends at an empty slot.
#include "map.h"

#include <stdlib.h>

static uint64_t mix(uint64_t a, uint64_t b)
{
    __uint128_t product = (__uint128_t)(a ^ 0x9E3779B97F4A7C15u) * (b ^ 0xD6E8FEB86659FD93u);
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

uint64_t base_hash(const void *bytes, size_t length)
{
    const unsigned char *next = bytes;
    uint64_t hash = length * 0xC2B2AE3D27D4EB4Fu;
    size_t left = length;
    while (left >= 8) {
        uint64_t word;
        memcpy(&word, next, 8);
        hash = mix(hash, word);
        next += 8;
        left -= 8;
    }
    uint64_t word = 0;
    if (left)
        memcpy(&word, next, left);
    return mix(hash, word);
}

static uint64_t hash_number(uint64_t key)
{
    return mix(key, 0x165667B19E3779F9u);
}

void base_map_fini(struct base_map *map)
{
    free(map->entries);
    free(map->slots);
    memset(map, 0, sizeof(*map));
}

static bool same_key(const struct base_map_entry *entry, uint64_t hash, uint64_t key,
                     const char *text)
{
    if (entry->removed || entry->hash != hash || entry->key != key)
        return false;
    if (!entry->text || !text)
        return entry->text == text;
    return memcmp(entry->text, text, key) == 0;
}

static struct base_map_entry *find(const struct base_map *map, uint64_t hash, uint64_t key,
                                   const char *text)
{
    if (!map->slot_count)
        return NULL;
    size_t mask = map->slot_count - 1;
    for (size_t i = hash & mask; map->slots[i]; i = (i + 1) & mask) {
        struct base_map_entry *entry = &map->entries[map->slots[i] - 1];
        if (same_key(entry, hash, key, text))
            return entry;
    }
    return NULL;
}

// Adds an entry whose key is not in the table. It reuses the first tombstone on its way. Otherwise
// a key that is added and removed repeatedly, like the address of an allocation in a loop, would
// leave a run of tombstones that slows every search.
static void place(struct base_map *map, uint64_t hash, uint32_t index)
{
    size_t mask = map->slot_count - 1;
    size_t i = hash & mask;
    while (map->slots[i] && !map->entries[map->slots[i] - 1].removed)
        i = (i + 1) & mask;
    map->slots[i] = index + 1;
}

// A NULL text marks a number, so an empty text needs a pointer.
static const char *text_of(struct base_str key)
{
    return key.text ? key.text : "";
}

// Makes room for one more entry: the table stays at most half full, removed entries are dropped.
static bool make_room(struct base_map *map)
{
    if (map->count < map->capacity)
        return true;
    size_t capacity = 8;
    while (capacity < map->live + 1 + map->live / 2)
        capacity *= 2;
    if (capacity > UINT32_MAX / 2)
        return false;
    struct base_map_entry *entries = malloc(capacity * sizeof(*entries));
    uint32_t *slots = calloc(capacity * 2, sizeof(*slots));
    if (!entries || !slots) {
        free(entries);
        free(slots);
        return false;
    }
    struct base_map old = *map;
    map->entries = entries;
    map->capacity = capacity;
    map->slots = slots;
    map->slot_count = capacity * 2; // and so never more than half full
    map->count = 0;
    for (size_t i = 0; i < old.count; i++) {
        if (old.entries[i].removed)
            continue;
        entries[map->count] = old.entries[i];
        place(map, old.entries[i].hash, (uint32_t)map->count++);
    }
    base_map_fini(&old);
    return true;
}

static uint64_t *put(struct base_map *map, uint64_t hash, uint64_t key, const char *text,
                     bool *added)
{
    struct base_map_entry *entry = find(map, hash, key, text);
    if (added)
        *added = false;
    if (entry)
        return &entry->value;
    if (!make_room(map))
        return NULL;
    if (added)
        *added = true;
    entry = &map->entries[map->count];
    *entry = (struct base_map_entry){.hash = hash, .key = key, .text = text};
    place(map, hash, (uint32_t)map->count++);
    map->live++;
    return &entry->value;
}

static bool drop(struct base_map *map, struct base_map_entry *entry)
{
    if (!entry)
        return false;
    entry->removed = true;
    map->live--;
    return true;
}

uint64_t *base_map_put(struct base_map *map, uint64_t key, bool *added)
{
    return put(map, hash_number(key), key, NULL, added);
}

uint64_t *base_map_put_str(struct base_map *map, struct base_str key, bool *added)
{
    return put(map, base_hash(key.text, key.length), key.length, text_of(key), added);
}

uint64_t *base_map_get(const struct base_map *map, uint64_t key)
{
    struct base_map_entry *entry = find(map, hash_number(key), key, NULL);
    return entry ? &entry->value : NULL;
}

uint64_t *base_map_get_str(const struct base_map *map, struct base_str key)
{
    struct base_map_entry *entry =
        find(map, base_hash(key.text, key.length), key.length, text_of(key));
    return entry ? &entry->value : NULL;
}

bool base_map_remove(struct base_map *map, uint64_t key)
{
    return drop(map, find(map, hash_number(key), key, NULL));
}

bool base_map_remove_str(struct base_map *map, struct base_str key)
{
    return drop(map, find(map, base_hash(key.text, key.length), key.length, text_of(key)));
}
