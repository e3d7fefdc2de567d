// SPDX-License-Identifier: Apache-2.0
// The caches of a GPU between launches: see cache_state.h.
#include "cache_state.h"

#include <stdlib.h>

enum { MOST_OWNERS = 1 << 20 };

// --- State ---------------------------------------------------------------------------------------

struct record_cache_state *record_cache_state_create(void)
{
    return calloc(1, sizeof(struct record_cache_state));
}

static void drop(struct record_cache_state_l2 *level)
{
    cache_l2_destroy(level->l2);
    free(level);
}

void record_cache_state_destroy(struct record_cache_state *state)
{
    if (!state)
        return;
    while (state->levels) {
        struct record_cache_state_l2 *level = state->levels;
        state->levels = level->next;
        drop(level);
    }
    base_array_fini(&state->owners);
    base_map_fini(&state->owner_of);
    free(state);
}

struct record_cache_state_l2 *record_cache_state_take(struct record_cache_state *state,
                                                      const struct cache_preset *preset,
                                                      uint32_t share, bool cold)
{
    struct record_cache_state_l2 *found = NULL;
    for (struct record_cache_state_l2 **place = &state->levels; *place;) {
        struct record_cache_state_l2 *level = *place;
        if (cold || level->share > share || level->preset != preset) {
            *place = level->next;
            drop(level);
            continue;
        }
        if (level->share == share)
            found = level;
        place = &level->next;
    }
    if (found)
        return found;
    found = calloc(1, sizeof(*found));
    if (!found)
        return NULL;
    found->share = share;
    found->preset = preset;
    found->l2 = cache_l2_create(preset, share);
    if (!found->l2) {
        drop(found);
        return NULL;
    }
    found->next = state->levels;
    state->levels = found;
    return found;
}

size_t record_cache_state_own(struct record_cache_state *state, uint32_t kernel, uint32_t site,
                              uint64_t object)
{
    const uint64_t key[] = {object, (uint64_t)kernel << 32 | site};
    uint64_t *index = base_map_put(&state->owner_of, base_hash(key, sizeof(key)), NULL);
    if (!index)
        return SIZE_MAX;
    if (!*index) {
        struct record_cache_state_owner *owner =
            state->owners.count < MOST_OWNERS ? base_array_push(&state->owners) : NULL;
        if (!owner)
            return SIZE_MAX;
        *owner = (struct record_cache_state_owner){object, kernel, site};
        *index = state->owners.count;
    }
    return *index - 1;
}

// --- Copies and sets -----------------------------------------------------------------------------

// Returns a number below 100 that has nothing to do with whether the line is sampled.
static uint32_t percentile_of(uint64_t line)
{
    return ((uint32_t)(line ^ line >> 15) * 0x85ebca6bu >> 8) % 100;
}

// Runs a row of lines through L2. What a large row begins with leaves again.
static void move_row(const struct record_cache_state_l2 *level, uint64_t address, uint64_t bytes,
                     struct cache_request request, uint32_t dirty_percent,
                     struct cache_l2_counts *counts)
{
    const struct cache_preset *preset = level->preset;
    const uint64_t most = 2 * preset->partitions * preset->l2.bytes, end = address + bytes;
    const uint64_t first = bytes > most ? end - most : address;
    for (uint64_t line = first / CACHE_LINE_BYTES; line * CACHE_LINE_BYTES < end; line++) {
        if (!cache_is_sampled(line, level->share))
            continue;
        const bool dirty = percentile_of(line) < dirty_percent;
        request.line = line;
        request.kind = dirty ? CACHE_STORE : CACHE_LOAD;
        request.whole = dirty ? request.sectors : 0;
        cache_l2_copy(level->l2, &request, counts);
    }
}

bool record_cache_state_move(struct record_cache_state *state,
                             const struct record_cache_state_move *moves, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct record_cache_state_move *move = &moves[i];
        const size_t owner = record_cache_state_own(state, 0, 0, move->object);
        struct cache_l2_counts *counts =
            owner == SIZE_MAX ? NULL : calloc(state->owners.count, sizeof(*counts));
        if (!counts)
            return false;
        const struct cache_request request = {.owner = (uint32_t)owner, .sectors = 15};
        for (const struct record_cache_state_l2 *level = state->levels; level;
             level = level->next) {
            for (uint64_t row = 0; row < move->rows; row++)
                move_row(level, move->address + row * move->pitch, move->width, request,
                         move->dirty_percent, counts);
        }
        free(counts);
    }
    return true;
}
