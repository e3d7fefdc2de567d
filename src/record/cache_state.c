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

// Adds an L2 of this share, which is made from another one, or empty.
static struct record_cache_state_l2 *add(struct record_cache_state *state,
                                         const struct cache_preset *preset, uint32_t share,
                                         const struct record_cache_state_l2 *from)
{
    struct record_cache_state_l2 *level = calloc(1, sizeof(*level));
    if (!level)
        return NULL;
    level->share = share;
    level->preset = preset;
    level->l2 = from ? cache_l2_thin(from->l2, share) : cache_l2_create(preset, share);
    if (!level->l2) {
        drop(level);
        return NULL;
    }
    if (from)
        level->missed = from->missed * share / from->share;
    else if (state->levels) // of smaller shares, which have seen more
        level->missed =
            preset->l2.bytes * preset->partitions / CACHE_LINE_BYTES * share / CACHE_ALL;
    level->next = state->levels;
    state->levels = level;
    return level;
}

// Drops the L2s that are empty from now on, and those that cannot take part if the share is small.
static void drop_others(struct record_cache_state *state, const struct cache_preset *preset,
                        uint32_t share, bool all)
{
    for (struct record_cache_state_l2 **place = &state->levels; *place;) {
        struct record_cache_state_l2 *level = *place;
        if (all || level->share > share || level->preset != preset) {
            *place = level->next;
            drop(level);
        } else {
            place = &level->next;
        }
    }
}

// Of the L2s with at least this share, or at most, returns that with the nearest one; NULL: none.
static struct record_cache_state_l2 *find(const struct record_cache_state *state,
                                          const struct cache_preset *preset, uint32_t share,
                                          bool at_least)
{
    struct record_cache_state_l2 *found = NULL;
    for (struct record_cache_state_l2 *level = state->levels; level; level = level->next) {
        if (level->preset == preset && (at_least ? level->share >= share : level->share <= share) &&
            (!found || (at_least ? level->share < found->share : level->share > found->share)))
            found = level;
    }
    return found;
}

struct record_cache_state_l2 *record_cache_state_take(struct record_cache_state *state,
                                                      const struct cache_preset *preset,
                                                      uint32_t share, bool cold)
{
    if (cold)
        drop_others(state, preset, share, true);
    struct record_cache_state_l2 *level = find(state, preset, share, true);
    if (!level || level->share != share)
        level = add(state, preset, share, level);
    drop_others(state, preset, share, false);
    while (level && level->missed) {
        struct record_cache_state_l2 *next = find(state, preset, level->share - 1, false);
        if (!next)
            break;
        level = next;
    }
    return level;
}

void record_cache_state_ran(struct record_cache_state_l2 *level, uint64_t read_sectors)
{
    const uint64_t lines = read_sectors / CACHE_SECTORS;
    level->missed -= lines < level->missed ? lines : level->missed;
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

// Returns a number that has nothing to do with whether the line is sampled.
static uint32_t mixed(uint64_t line)
{
    return (uint32_t)(line ^ line >> 15) * 0x85ebca6bu >> 8;
}

// Runs a row of lines through L2. What a large row begins with leaves again.
static void move_row(const struct record_cache_state_l2 *level, uint64_t address, uint64_t bytes,
                     struct cache_request request, enum record_cache_state_mover mover,
                     struct cache_l2_counts *counts)
{
    const struct cache_preset *preset = level->preset;
    const uint64_t most = 2 * preset->partitions * preset->l2.bytes, end = address + bytes;
    const uint64_t first = bytes > most ? end - most : address;
    for (uint64_t line = first / CACHE_LINE_BYTES; line * CACHE_LINE_BYTES < end; line++) {
        if (!cache_is_sampled(line, level->share))
            continue;
        if (mover == RECORD_CACHE_HOST) {
            cache_l2_copy(level->l2, line, counts);
            continue;
        }
        request.line = line;
        request.kind = mover == RECORD_CACHE_STORES ? CACHE_STORE : CACHE_LOAD;
        request.whole = mover == RECORD_CACHE_STORES ? request.sectors : 0;
        request.multiprocessor = (uint16_t)(mixed(line) % preset->multiprocessors);
        cache_l2_run(level->l2, &request, 1, counts);
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
                         move->mover, counts);
        }
        free(counts);
    }
    return true;
}
