// SPDX-License-Identifier: Apache-2.0
// Reuse distances: how many other lines were used between two uses of a sector. A histogram of them
// tells the hits of caches of any size at once, if they are fully associative, and LRU decides
// which line leaves.
//
// A cache keeps a sector if its line never was further back than the cache has lines since the
// sector was used. So each line remembers, for each sector, the greatest distance since then. The
// distance of a line is the number of lines that were used after it. A tree of counts over time
// (Fenwick) gives that in logarithmic time: a line counts at the time of its last use. When time
// runs out, lines are numbered anew, in the same order.
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "cache.h"

enum { FIRST_ROOM = 1 << 12 };

struct reused_line {
    uint32_t time;
    uint32_t farthest[CACHE_SECTORS]; // since the sector was used
    uint8_t used;                     // sectors
};

struct cache_reuse {
    struct base_map index_of; // by line: into `lines`
    BASE_ARRAY(struct reused_line) lines;
    // Of each time from 1 on: the line that was used last then, as an index + 1, and the tree's
    // counts.
    uint32_t *line_at, *tree;
    uint32_t room, now; // times, and the last one
    uint32_t share;
};

struct cache_reuse *cache_reuse_create(uint32_t share)
{
    struct cache_reuse *reuse = calloc(1, sizeof(*reuse));
    if (!reuse || !share || share > CACHE_ALL) {
        free(reuse);
        return NULL;
    }
    reuse->share = share;
    return reuse;
}

void cache_reuse_destroy(struct cache_reuse *reuse)
{
    if (!reuse)
        return;
    base_map_fini(&reuse->index_of);
    base_array_fini(&reuse->lines);
    free(reuse->line_at);
    free(reuse->tree);
    free(reuse);
}

// --- Time ----------------------------------------------------------------------------------------

static void add_at(struct cache_reuse *reuse, uint32_t time, uint32_t count)
{
    for (; time <= reuse->room; time += time & -time)
        reuse->tree[time] += count;
}

// Returns how many lines were used last at this time or before.
static uint32_t count_to(const struct cache_reuse *reuse, uint32_t time)
{
    uint32_t count = 0;
    for (; time; time &= time - 1)
        count += reuse->tree[time];
    return count;
}

// Numbers the lines anew, with room for as many times again. Returns false if memory runs out.
static bool begin_again(struct cache_reuse *reuse)
{
    const size_t live = reuse->lines.count;
    const size_t room = 2 * live > FIRST_ROOM ? 2 * live : FIRST_ROOM;
    if (room >= UINT32_MAX)
        return false;
    uint32_t *line_at = calloc(room + 1, sizeof(*line_at)), *tree = calloc(room + 1, sizeof(*tree));
    if (!line_at || !tree) {
        free(line_at);
        free(tree);
        return false;
    }
    uint32_t now = 0;
    for (uint32_t time = 1; time <= reuse->now; time++) {
        if (!reuse->line_at[time])
            continue;
        line_at[++now] = reuse->line_at[time];
        reuse->lines.items[line_at[now] - 1].time = now;
    }
    free(reuse->line_at);
    free(reuse->tree);
    reuse->line_at = line_at;
    reuse->tree = tree;
    reuse->room = (uint32_t)room;
    reuse->now = now;
    for (uint32_t time = 1; time <= now; time++)
        add_at(reuse, time, 1);
    return true;
}

// --- Requests ------------------------------------------------------------------------------------

static unsigned bucket_of(const struct cache_reuse *reuse, uint32_t distance)
{
    const uint64_t lines = (uint64_t)distance * CACHE_ALL / reuse->share;
    return lines ? 64 - (unsigned)__builtin_clzll(lines) : 0;
}

// Makes the line the last used. Returns how many others were used since it was.
static uint32_t use(struct cache_reuse *reuse, uint32_t index)
{
    struct reused_line *line = &reuse->lines.items[index];
    uint32_t distance = 0;
    if (line->time) {
        distance = count_to(reuse, reuse->now) - count_to(reuse, line->time);
        add_at(reuse, line->time, (uint32_t)-1);
        reuse->line_at[line->time] = 0;
    }
    line->time = ++reuse->now;
    reuse->line_at[line->time] = index + 1;
    add_at(reuse, line->time, 1);
    return distance;
}

// Returns the index of the line, which it adds if it is new, or SIZE_MAX if memory runs out.
static size_t index_of(struct cache_reuse *reuse, uint64_t line)
{
    bool added;
    uint64_t *index = base_map_put(&reuse->index_of, line, &added);
    if (!index)
        return SIZE_MAX;
    if (!added)
        return *index;
    const struct reused_line *item = base_array_push(&reuse->lines);
    if (!item) {
        base_map_remove(&reuse->index_of, line);
        return SIZE_MAX;
    }
    return *index = reuse->lines.count - 1;
}

static bool take(struct cache_reuse *reuse, const struct cache_request *request,
                 struct cache_distances *counts)
{
    if (reuse->now == reuse->room && !begin_again(reuse))
        return false;
    const size_t index = index_of(reuse, request->line);
    if (index == SIZE_MAX)
        return false;
    const uint32_t distance = use(reuse, (uint32_t)index);
    struct reused_line *line = &reuse->lines.items[index];
    struct cache_distances *own = &counts[request->owner];
    for (unsigned i = 0; i < CACHE_SECTORS; i++) {
        if (line->farthest[i] < distance)
            line->farthest[i] = distance;
        if (!(request->sectors >> i & 1))
            continue;
        if (line->used >> i & 1)
            own->sectors[bucket_of(reuse, line->farthest[i])]++;
        else
            own->first++;
        line->farthest[i] = 0;
    }
    line->used |= request->sectors;
    return true;
}

bool cache_reuse_run(struct cache_reuse *reuse, const struct cache_request *requests, size_t count,
                     struct cache_distances *counts)
{
    for (size_t i = 0; i < count; i++) {
        if (requests[i].sectors && !take(reuse, &requests[i], counts))
            return false;
    }
    return true;
}

uint64_t cache_reuse_hits(const struct cache_distances *distances, unsigned lines_log2)
{
    uint64_t hits = 0;
    for (unsigned i = 0; i <= lines_log2 && i < CACHE_DISTANCES; i++)
        hits += distances->sectors[i];
    return hits;
}
