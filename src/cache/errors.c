// SPDX-License-Identifier: Apache-2.0
// The error of hit rates of a sample of lines. The sample is divided into groups of lines. How much
// the rate of all but one group varies tells how much that of another sample would (jackknife).
// That sampled lines have a smaller cache, whose sets they fill less evenly, is not part of it.
#include <math.h>

#include "cache.h"

enum { LEAST_GROUPS = 8 }; // that have lines; with fewer, their differences say little

static double rate_of(uint64_t hits, uint64_t sectors)
{
    return (double)hits / (double)sectors;
}

double cache_error(const struct cache_count groups[CACHE_GROUPS], uint32_t share)
{
    struct cache_count all = {0};
    unsigned count = 0;
    if (share >= CACHE_ALL)
        return 0;
    for (unsigned i = 0; i < CACHE_GROUPS; i++) {
        all.sectors += groups[i].sectors;
        all.hits += groups[i].hits;
        count += groups[i].sectors != 0;
    }
    if (count < LEAST_GROUPS)
        return -1;
    const double rate = rate_of(all.hits, all.sectors);
    double sum = 0, squares = 0; // of differences, which are small
    for (unsigned i = 0; i < CACHE_GROUPS; i++) {
        if (!groups[i].sectors)
            continue;
        const double change =
            rate_of(all.hits - groups[i].hits, all.sectors - groups[i].sectors) - rate;
        sum += change;
        squares += change * change;
    }
    const double variance = (squares - sum * sum / count) * (count - 1) / count;
    // Lines that were looked at cannot err: with nearly all of them, there is hardly an error.
    return sqrt(fmax(variance, 0) * (1 - (double)share / CACHE_ALL));
}
