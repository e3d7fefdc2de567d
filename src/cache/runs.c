// SPDX-License-Identifier: Apache-2.0
// Finds runs of records, and divides them. See runs.h. Threads share chunks of the records; the
// runs of a chunk are found in one pass, and a second one over them puts them in their places.
#include "runs.h"

#include <stdlib.h>

#include "memory.h"
#include "team.h"

enum { CHUNKS_PER_THREAD = 4 };

struct division {
    struct cache_runs *result;
    const struct cache_schedule *schedule;
    const struct cache_launch *launch;
    size_t chunks;
    struct cache_run *found;              // of a chunk, from where its records begin
    size_t *found_counts;                 // of each chunk
    uint32_t *run_counts, *record_counts; // of each chunk, for each multiprocessor
};

static size_t first_of_chunk(const struct division *division, size_t chunk)
{
    return (size_t)((unsigned __int128)division->launch->record_count * chunk / division->chunks);
}

static bool is_fine(const struct cache_launch *launch, const struct cache_record *record)
{
    return (record->owner < launch->owner_count) & (record->kind < CACHE_KINDS) &
           ((record->sectors & 15) != 0);
}

// Returns where a run of the same warp ends that begins with this record.
static size_t end_of_run(const struct cache_launch *launch, size_t first, size_t end)
{
    const struct cache_record *records = launch->records;
    size_t next = first;
    while (next < end &&
           (records[next].warp == records[first].warp) & is_fine(launch, &records[next]))
        next++;
    return next;
}

static void find_runs(void *context, size_t chunk, unsigned member)
{
    (void)member;
    struct division *division = context;
    const struct cache_launch *launch = division->launch;
    const size_t places = division->schedule->multiprocessor_count;
    const size_t end = first_of_chunk(division, chunk + 1);
    struct cache_run *found = division->found + first_of_chunk(division, chunk), *last = found;
    uint32_t *run_counts = division->run_counts + chunk * places;
    uint32_t *record_counts = division->record_counts + chunk * places;
    for (size_t i = first_of_chunk(division, chunk), next; i < end; i = next) {
        const uint32_t warp = launch->records[i].warp;
        const uint32_t block = cache_block_of(division->schedule, warp);
        next = block < launch->block_count ? end_of_run(launch, i, end) : i;
        if (next == i) {
            next++; // left out
            continue;
        }
        *last++ = (struct cache_run){warp, (uint32_t)i, (uint32_t)(next - i)};
        run_counts[division->schedule->blocks[block].place]++;
        record_counts[division->schedule->blocks[block].place] += (uint32_t)(next - i);
    }
    division->found_counts[chunk] = (size_t)(last - found);
}

static void divide_runs(void *context, size_t chunk, unsigned member)
{
    (void)member;
    const struct division *division = context;
    const struct cache_schedule *schedule = division->schedule;
    uint32_t *next = division->run_counts + chunk * schedule->multiprocessor_count;
    const struct cache_run *found = division->found + first_of_chunk(division, chunk);
    for (size_t i = 0; i < division->found_counts[chunk]; i++) {
        const uint32_t block = cache_block_of(schedule, found[i].warp);
        division->result->runs[next[schedule->blocks[block].place]++] = found[i];
    }
}

void cache_sum_up(uint32_t *counts, size_t rows, size_t columns, uint32_t *firsts)
{
    uint32_t sum = 0;
    for (size_t column = 0; column < columns; column++) {
        firsts[column] = sum;
        for (size_t row = 0; row < rows; row++) {
            const uint32_t count = counts[row * columns + column];
            counts[row * columns + column] = sum;
            sum += count;
        }
    }
    firsts[columns] = sum;
}

bool cache_runs_init(struct cache_runs *runs, const struct cache_schedule *schedule,
                     const struct cache_launch *launch, unsigned threads)
{
    const size_t places = schedule->multiprocessor_count;
    const size_t chunks = (size_t)threads * CHUNKS_PER_THREAD;
    struct division division = {
        .result = runs,
        .schedule = schedule,
        .launch = launch,
        .chunks = chunks,
        .found = cache_allocate(launch->record_count, sizeof(*division.found)),
        .found_counts = malloc(chunks * sizeof(*division.found_counts)),
        .run_counts = calloc(chunks * places + 1, sizeof(*division.run_counts)),
        .record_counts = calloc(chunks * places + 1, sizeof(*division.record_counts)),
    };
    *runs = (struct cache_runs){
        .firsts = malloc((places + 1) * sizeof(*runs->firsts)),
        .record_firsts = malloc((places + 1) * sizeof(*runs->record_firsts)),
        .steps = launch->record_count,
    };
    if (division.found && division.found_counts && division.run_counts && division.record_counts &&
        runs->firsts && runs->record_firsts) {
        cache_team_run(threads, chunks, find_runs, &division);
        cache_sum_up(division.run_counts, chunks, places, runs->firsts);
        cache_sum_up(division.record_counts, chunks, places, runs->record_firsts);
        runs->steps += runs->firsts[places];
        runs->runs = cache_allocate(runs->firsts[places], sizeof(*runs->runs));
        if (runs->runs)
            cache_team_run(threads, chunks, divide_runs, &division);
    }
    free(division.found);
    free(division.found_counts);
    free(division.run_counts);
    free(division.record_counts);
    return runs->runs;
}

void cache_runs_fini(struct cache_runs *runs)
{
    free(runs->runs);
    free(runs->firsts);
    free(runs->record_firsts);
}
