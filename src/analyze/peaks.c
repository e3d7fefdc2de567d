// SPDX-License-Identifier: Apache-2.0
// Finds peaks of memory in use by walking the sorted starts and ends of lives together.
#include "analyze.h"

#include <stdbool.h>
#include <stdlib.h>

struct peak_change {
    uint64_t call, bytes;
};

static int by_call(const void *one, const void *other)
{
    uint64_t a = ((const struct peak_change *)one)->call,
             b = ((const struct peak_change *)other)->call;
    return a < b ? -1 : a > b;
}

// Objects are usually made in the order of their numbers, so most arrays are already sorted.
static void sort(struct peak_change *changes, size_t count)
{
    size_t sorted = 1;
    while (sorted < count && changes[sorted - 1].call <= changes[sorted].call)
        sorted++;
    if (sorted < count)
        qsort(changes, count, sizeof(*changes), by_call);
}

// Keeps the highest levels. For each level, keeps the first peak and counts the others.
static void keep(struct analyze_peak *peaks, size_t most, size_t *found, struct analyze_peak peak)
{
    size_t at = 0;
    while (at < *found && peaks[at].bytes > peak.bytes)
        at++;
    if (at < *found && peaks[at].bytes == peak.bytes) {
        peaks[at].times++;
        return;
    }
    if (at == most)
        return;
    *found += *found < most;
    for (size_t i = *found - 1; i > at; i--)
        peaks[i] = peaks[i - 1];
    peaks[at] = peak;
}

enum base_code analyze_find_peaks(const struct analyze_life *lives, size_t count,
                                  struct analyze_peak *peaks, size_t most, size_t *found,
                                  struct base_error *error)
{
    *found = 0;
    struct peak_change *starts = calloc(count + 1, sizeof(*starts));
    struct peak_change *ends = calloc(count + 1, sizeof(*ends));
    if (!starts || !ends) {
        free(starts);
        free(ends);
        return base_no_memory(error);
    }
    size_t start_count = 0, end_count = 0;
    for (size_t i = 0; i < count; i++) {
        if (lives[i].end <= lives[i].start || lives[i].bytes == 0)
            continue;
        starts[start_count++] = (struct peak_change){lives[i].start, lives[i].bytes};
        if (lives[i].end != ANALYZE_NEVER)
            ends[end_count++] = (struct peak_change){lives[i].end, lives[i].bytes};
    }
    sort(starts, start_count);
    sort(ends, end_count);

    unsigned __int128 in_use = 0; // sizes from a damaged file may add up to more than 64 bits
    uint64_t reached = 0;         // the call of the last rise
    bool rising = false;
    for (size_t s = 0, e = 0; s < start_count || e < end_count;) {
        uint64_t call = s < start_count ? starts[s].call : ANALYZE_NEVER;
        if (e < end_count && ends[e].call < call)
            call = ends[e].call;
        unsigned __int128 before = in_use;
        for (; s < start_count && starts[s].call == call; s++)
            in_use += starts[s].bytes;
        for (; e < end_count && ends[e].call == call; e++)
            in_use -= ends[e].bytes;
        if (in_use < before && rising)
            keep(peaks, most, found,
                 (struct analyze_peak){.bytes = before > UINT64_MAX ? UINT64_MAX : (uint64_t)before,
                                       .start = reached,
                                       .end = call,
                                       .times = 1});
        if (in_use > before)
            reached = call;
        rising = in_use > before || (rising && in_use == before);
    }
    if (rising)
        keep(peaks, most, found,
             (struct analyze_peak){.bytes = in_use > UINT64_MAX ? UINT64_MAX : (uint64_t)in_use,
                                   .start = reached,
                                   .end = ANALYZE_NEVER,
                                   .times = 1});
    free(starts);
    free(ends);
    return BASE_OK;
}
