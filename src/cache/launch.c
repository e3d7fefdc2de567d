// SPDX-License-Identifier: Apache-2.0
// Runs a launch through the caches. Records are divided among multiprocessors; each orders its own
// (order.c), and runs them through its L1. What is left is divided among pieces of L2; each merges
// its requests by time, and runs them. Threads share chunks of the records, multiprocessors, and
// pieces: each job's result is the same on any thread, and jobs have nothing in common but counts,
// of which each thread has its own.
#include "launch.h"

#include <stdlib.h>
#include <string.h>

#include "l1.h"
#include "l2.h"
#include "level.h"
#include "memory.h"
#include "order.h"
#include "sort.h"
#include "team.h"

enum { BATCH = 256, MOST_THREADS = 64, CHUNKS_PER_THREAD = 4 };

// What goes from an L1 to L2.
struct left {
    uint64_t word; // the line from bit LINE_SHIFT on, and kind, partition, whole and sectors
    uint32_t owner;
    uint32_t when; // the time; above it, the piece of L2
};

enum {
    WHOLE_SHIFT = 4,
    PARTITION_SHIFT = 8,
    KIND_SHIFT = 12,
    LINE_SHIFT = 16,
    TIME_MASK = (1 << CACHE_TIME_BITS) - 1,
    MOST_PARTITIONS = 1 << (KIND_SHIFT - PARTITION_SHIFT),
};

// What a thread has to itself.
struct worker {
    struct cache_l1 *l1;
    struct cache_l1_counts *l1_counts;
    struct cache_l2_counts *l2_counts;
    struct cache_count *l1_groups, *l2_groups; // NULL if the model looks at all lines
    struct cache_distances *distances;         // of L1, by group of owners
    uint64_t *numbers, *spare;
    uint64_t steps;
    bool failed; // memory ran out
};

struct run {
    struct cache_l2 *l2;
    const struct cache_launch *launch;
    const struct cache_order *order;
    const struct cache_launch_reuse *reuse; // may be NULL
    struct cache_schedule schedule;
    struct worker workers[MOST_THREADS];
    unsigned threads;
    size_t chunks, multiprocessors;
    // Of each chunk, for each multiprocessor, and then for what is left out: how many records, then
    // where they go.
    uint32_t *chunk_places;
    struct cache_record *records; // by multiprocessor
    struct left *left;            // of the same, from where their records begin
    uint32_t *firsts, *counts;    // of each multiprocessor: its first record, and how many are left
    uint32_t *piece_places;       // of each multiprocessor, for each piece: like chunk_places
    struct left *requests;        // to L2, by piece
    uint16_t numbers[MOST_PARTITIONS]; // of a multiprocessor of each partition
    uint32_t piece_firsts[CACHE_PIECES + 1];
};

// --- Dividing records among multiprocessors ------------------------------------------------------

static size_t first_of_chunk(const struct run *run, size_t chunk)
{
    return (size_t)((unsigned __int128)run->launch->record_count * chunk / run->chunks);
}

// Returns the index of the record's multiprocessor, or the number of these if it is left out.
static size_t place_of(const struct run *run, const struct cache_record *record)
{
    const struct cache_launch *launch = run->launch;
    const uint32_t block = cache_block_of(&run->schedule, record->warp);
    const bool fine = block < launch->block_count && record->owner < launch->owner_count &&
                      record->kind < CACHE_KINDS && record->sectors & 15;
    return fine ? run->schedule.blocks[block].place : run->multiprocessors;
}

static void count_chunk(void *context, size_t chunk, unsigned member)
{
    struct run *run = context;
    uint32_t *places = run->chunk_places + chunk * (run->multiprocessors + 1);
    const size_t end = first_of_chunk(run, chunk + 1);
    for (size_t i = first_of_chunk(run, chunk); i < end; i++)
        places[place_of(run, &run->launch->records[i])]++;
    run->workers[member].steps += end - first_of_chunk(run, chunk);
}

static void divide_chunk(void *context, size_t chunk, unsigned member)
{
    struct run *run = context;
    uint32_t *places = run->chunk_places + chunk * (run->multiprocessors + 1);
    const size_t end = first_of_chunk(run, chunk + 1);
    for (size_t i = first_of_chunk(run, chunk); i < end; i++) {
        const struct cache_record *record = &run->launch->records[i];
        const size_t place = place_of(run, record);
        if (place == run->multiprocessors)
            continue;
        struct cache_record *copy = &run->records[places[place]++];
        *copy = *record;
        copy->sectors &= 15;
        copy->whole &= copy->sectors;
    }
    run->workers[member].steps += end - first_of_chunk(run, chunk);
}

// Makes positions of counts, column after column, and leaves in `firsts` where each column begins,
// and at last where all end.
static void sum_up(uint32_t *counts, size_t rows, size_t width, size_t columns, uint32_t *firsts)
{
    uint32_t sum = 0;
    for (size_t column = 0; column < columns; column++) {
        firsts[column] = sum;
        for (size_t row = 0; row < rows; row++) {
            const uint32_t count = counts[row * width + column];
            counts[row * width + column] = sum;
            sum += count;
        }
    }
    firsts[columns] = sum;
}

static void divide_records(struct run *run)
{
    cache_team_run(run->threads, run->chunks, count_chunk, run);
    sum_up(run->chunk_places, run->chunks, run->multiprocessors + 1, run->multiprocessors,
           run->firsts);
    cache_team_run(run->threads, run->chunks, divide_chunk, run);
}

// --- L1 ------------------------------------------------------------------------------------------

// Fields are written one by one: whole structs would be put together elsewhere first, and the CPU
// waits until they can be read from there.
static inline void make_request(struct cache_request *request, const struct cache_record *record)
{
    request->line = record->line;
    request->owner = record->owner;
    request->kind = record->kind;
    request->sectors = record->sectors;
    request->whole = record->whole;
    request->reserved = 0;
    request->multiprocessor = 0;
}

// Counts distances of requests for the groups of their owners.
static bool count_reuse(const struct run *run, struct cache_reuse *reuse,
                        const struct cache_request *requests, size_t count,
                        struct cache_distances *counts)
{
    struct cache_request grouped[BATCH];
    for (size_t i = 0; i < count; i++) {
        grouped[i] = requests[i];
        grouped[i].owner = run->reuse->group_of[requests[i].owner];
    }
    return cache_reuse_run(reuse, grouped, count, counts);
}

// Keeps what is left of requests, and counts it for pieces. Returns how many these are.
static size_t keep(const struct run *run, uint32_t partition, const struct cache_request *requests,
                   const uint64_t *order, size_t count, struct left *left, uint32_t *pieces)
{
    const struct cache_level *level = cache_l2_partition(run->l2);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        const struct cache_request *request = &requests[i];
        const uint32_t piece =
            cache_level_piece_of(level, cache_level_spot_of(level, request->line).set);
        left[kept] = (struct left){
            .word = request->line << LINE_SHIFT | (uint32_t)request->kind << KIND_SHIFT |
                    partition << PARTITION_SHIFT | (uint32_t)request->whole << WHOLE_SHIFT |
                    request->sectors,
            .owner = request->owner,
            .when = piece << CACHE_TIME_BITS | (uint32_t)(order[i] >> CACHE_TIME_SHIFT),
        };
        kept += request->sectors != 0;
        pieces[piece] += request->sectors != 0;
    }
    return kept;
}

// Runs records in their order through L1. Returns how many are left.
static size_t run_l1(struct run *run, struct worker *worker, size_t place, const uint64_t *order,
                     struct cache_reuse *reuse)
{
    const uint32_t first = run->firsts[place];
    const size_t count = run->firsts[place + 1] - first;
    const uint32_t partition = cache_l2_near(run->l2, run->schedule.multiprocessors[place]);
    const uint64_t mask = cache_index_mask(count);
    size_t left = 0;
    cache_l1_flush(worker->l1);
    for (size_t from = 0; from < count; from += BATCH) {
        const size_t size = count - from < BATCH ? count - from : BATCH;
        struct cache_request batch[BATCH];
        for (size_t i = 0; i < size; i++)
            make_request(&batch[i], &run->records[first + (order[from + i] & mask)]);
        if (reuse && !count_reuse(run, reuse, batch, size, worker->distances))
            worker->failed = true;
        cache_l1_run_groups(worker->l1, batch, size, worker->l1_counts, worker->l1_groups);
        left += keep(run, partition, batch, order + from, size, run->left + first + left,
                     run->piece_places + place * CACHE_PIECES);
    }
    worker->steps += count;
    return left;
}

static void run_multiprocessor(void *context, size_t place, unsigned member)
{
    struct run *run = context;
    struct worker *worker = &run->workers[member];
    const size_t count = run->firsts[place + 1] - run->firsts[place];
    struct cache_reuse *reuse = run->reuse ? cache_reuse_create(cache_l2_share(run->l2)) : NULL;
    worker->failed |= run->reuse && !reuse;
    const uint64_t *order =
        cache_order_records(&run->schedule, run->order, run->records + run->firsts[place], count,
                            worker->numbers, worker->spare, &worker->steps);
    run->counts[place] = (uint32_t)run_l1(run, worker, place, order, reuse);
    cache_reuse_destroy(reuse);
}

// --- L2 ------------------------------------------------------------------------------------------

static void divide_requests(void *context, size_t place, unsigned member)
{
    struct run *run = context;
    uint32_t *pieces = run->piece_places + place * CACHE_PIECES;
    const struct left *left = run->left + run->firsts[place];
    for (size_t i = 0; i < run->counts[place]; i++)
        run->requests[pieces[left[i].when >> CACHE_TIME_BITS]++] = left[i];
    run->workers[member].steps += run->counts[place];
}

static inline void make_left(struct cache_request *request, const struct run *run,
                             const struct left *left)
{
    const uint64_t word = left->word;
    request->line = word >> LINE_SHIFT;
    request->owner = left->owner;
    request->kind = word >> KIND_SHIFT & 15;
    request->sectors = word & 15;
    request->whole = word >> WHOLE_SHIFT & 15;
    request->reserved = 0;
    request->multiprocessor = run->numbers[word >> PARTITION_SHIFT & (MOST_PARTITIONS - 1)];
}

// Numbers that are in the order of their requests: those of one multiprocessor are already, and of
// those with equal times the multiprocessor with the smaller number is first.
static const uint64_t *merge(const struct left *requests, size_t count, uint64_t *numbers,
                             uint64_t *spare, uint64_t *steps)
{
    uint32_t times = 0;
    for (size_t i = 0; i < count; i++) {
        const uint32_t time = requests[i].when & TIME_MASK;
        numbers[i] = (uint64_t)time << 32 | i;
        times |= time;
    }
    *steps += count;
    return cache_sort(numbers, spare, count, 32, cache_bits_of(times), steps);
}

static void run_piece(void *context, size_t piece, unsigned member)
{
    struct run *run = context;
    struct worker *worker = &run->workers[member];
    const struct left *requests = run->requests + run->piece_firsts[piece];
    const size_t count = run->piece_firsts[piece + 1] - run->piece_firsts[piece];
    const uint64_t *order = merge(requests, count, worker->numbers, worker->spare, &worker->steps);
    for (size_t from = 0; from < count; from += BATCH) {
        const size_t size = count - from < BATCH ? count - from : BATCH;
        struct cache_request batch[BATCH];
        for (size_t i = 0; i < size; i++)
            make_left(&batch[i], run, &requests[(uint32_t)order[from + i]]);
        cache_l2_run_groups(run->l2, batch, size, worker->l2_counts, worker->l2_groups);
    }
    worker->steps += count;
}

// Counts distances in the stream of all pieces together.
static bool count_l2_reuse(const struct run *run, uint64_t *steps)
{
    const size_t room = run->piece_firsts[CACHE_PIECES];
    uint64_t *numbers = malloc(2 * (room + 1) * sizeof(*numbers));
    size_t count = 0;
    uint32_t times = 0;
    if (!numbers)
        return false;
    for (size_t place = 0; place < run->multiprocessors; place++) {
        const uint32_t first = run->firsts[place];
        for (uint32_t i = first; i < first + run->counts[place]; i++) {
            const uint32_t time = run->left[i].when & TIME_MASK;
            numbers[count++] = (uint64_t)time << 32 | i;
            times |= time;
        }
    }
    const uint64_t *order =
        cache_sort(numbers, numbers + room, count, 32, cache_bits_of(times), steps);
    bool fine = true;
    for (size_t i = 0; fine && i < count; i++) {
        struct cache_request request;
        make_left(&request, run, &run->left[(uint32_t)order[i]]);
        fine = count_reuse(run, run->reuse->l2_reuse, &request, 1, run->reuse->l2);
    }
    free(numbers);
    return fine;
}

// --- All -----------------------------------------------------------------------------------------

static void fini_worker(struct worker *worker)
{
    cache_l1_destroy(worker->l1);
    free(worker->l1_counts);
    free(worker->l2_counts);
    free(worker->l1_groups);
    free(worker->l2_groups);
    free(worker->distances);
    free(worker->numbers);
}

// Gives a worker room for so many numbers. Returns false if memory runs out.
static bool make_room(struct worker *worker, size_t count)
{
    free(worker->numbers);
    worker->numbers = malloc(2 * (count + 1) * sizeof(*worker->numbers));
    worker->spare = worker->numbers + count;
    return worker->numbers;
}

static bool init_worker(const struct run *run, struct worker *worker, size_t most_records)
{
    const size_t owners = (size_t)run->launch->owner_count + 1;
    const uint32_t share = cache_l2_share(run->l2);
    worker->l1 = cache_l1_create(cache_l2_preset(run->l2), run->launch->shared_bytes, share);
    worker->l1_counts = calloc(owners, sizeof(*worker->l1_counts));
    worker->l2_counts = calloc(owners, sizeof(*worker->l2_counts));
    bool fine =
        make_room(worker, most_records) && worker->l1 && worker->l1_counts && worker->l2_counts;
    if (share < CACHE_ALL) {
        worker->l1_groups = calloc(owners * CACHE_GROUPS, sizeof(*worker->l1_groups));
        worker->l2_groups = calloc(owners * CACHE_GROUPS, sizeof(*worker->l2_groups));
        fine = fine && worker->l1_groups && worker->l2_groups;
    }
    if (run->reuse) {
        worker->distances = calloc((size_t)run->reuse->group_count + 1, sizeof(*worker->distances));
        fine = fine && worker->distances;
    }
    return fine;
}

static uint32_t greatest(const uint32_t *firsts, size_t count)
{
    uint32_t most = 0;
    for (size_t i = 0; i < count; i++)
        most = firsts[i + 1] - firsts[i] > most ? firsts[i + 1] - firsts[i] : most;
    return most;
}

// Does all but L2, so that nothing has changed if memory runs out.
static bool prepare(struct run *run)
{
    const size_t places = run->multiprocessors;
    run->chunks = (size_t)run->threads * CHUNKS_PER_THREAD;
    run->chunk_places = calloc(run->chunks * (places + 1), sizeof(*run->chunk_places));
    run->records = cache_allocate(run->launch->record_count, sizeof(*run->records));
    run->left = cache_allocate(run->launch->record_count, sizeof(*run->left));
    run->firsts = malloc((places + 1) * sizeof(*run->firsts));
    run->counts = malloc((places + 1) * sizeof(*run->counts));
    run->piece_places = calloc(places * CACHE_PIECES + 1, sizeof(*run->piece_places));
    if (!run->chunk_places || !run->records || !run->left || !run->firsts || !run->counts ||
        !run->piece_places)
        return false;
    for (size_t i = 0; i < places; i++) {
        const uint32_t number = run->schedule.multiprocessors[i];
        run->numbers[cache_l2_near(run->l2, number)] =
            (uint16_t)(number % cache_l2_preset(run->l2)->multiprocessors);
    }
    divide_records(run);
    bool fine = true;
    for (unsigned i = 0; i < run->threads; i++)
        fine = init_worker(run, &run->workers[i], greatest(run->firsts, places)) && fine;
    if (!fine)
        return false;
    cache_team_run(run->threads, places, run_multiprocessor, run);
    sum_up(run->piece_places, places, CACHE_PIECES, CACHE_PIECES, run->piece_firsts);
    run->requests = cache_allocate(run->piece_firsts[CACHE_PIECES], sizeof(*run->requests));
    for (unsigned i = 0; i < run->threads; i++)
        fine = !run->workers[i].failed &&
               make_room(&run->workers[i], greatest(run->piece_firsts, CACHE_PIECES)) && fine;
    if (!fine || !run->requests)
        return false;
    cache_team_run(run->threads, places, divide_requests, run);
    return !run->reuse || count_l2_reuse(run, &run->workers[0].steps);
}

static void add_count(struct cache_count *sum, const struct cache_count *count)
{
    sum->sectors += count->sectors;
    sum->hits += count->hits;
}

static void add_owner(struct cache_result *result, const struct worker *worker, uint32_t owner)
{
    const struct cache_l1_counts *l1 = &worker->l1_counts[owner];
    const struct cache_l2_counts *l2 = &worker->l2_counts[owner];
    for (unsigned i = 0; i < CACHE_KINDS; i++) {
        add_count(&result->l1.kinds[i], &l1->kinds[i]);
        add_count(&result->l2.kinds[i], &l2->kinds[i]);
    }
    result->l2.read += l2->read;
    result->l2.written += l2->written;
    for (unsigned i = 0; worker->l1_groups && i < CACHE_GROUPS; i++) {
        add_count(&result->l1_groups[i], &worker->l1_groups[(size_t)owner * CACHE_GROUPS + i]);
        add_count(&result->l2_groups[i], &worker->l2_groups[(size_t)owner * CACHE_GROUPS + i]);
    }
}

static void add_distances(const struct run *run, const struct worker *worker)
{
    for (uint32_t i = 0; i < run->reuse->group_count; i++) {
        run->reuse->l1[i].first += worker->distances[i].first;
        for (unsigned k = 0; k < CACHE_DISTANCES; k++)
            run->reuse->l1[i].sectors[k] += worker->distances[i].sectors[k];
    }
}

bool cache_launch_run_counted(struct cache_l2 *l2, const struct cache_launch *launch,
                              const struct cache_order *order, unsigned threads,
                              struct cache_result *results, const struct cache_launch_reuse *reuse,
                              uint64_t *steps)
{
    struct run run = {.l2 = l2,
                      .launch = launch,
                      .order = order ? order : &cache_order_default,
                      .reuse = reuse,
                      .threads = !threads                 ? 1
                                 : threads < MOST_THREADS ? threads
                                                          : MOST_THREADS};
    bool fine = cache_schedule_init(&run.schedule, launch, run.order);
    run.multiprocessors = run.schedule.multiprocessor_count;
    fine = fine && prepare(&run);
    if (fine)
        cache_team_run(run.threads, CACHE_PIECES, run_piece, &run);
    *steps += run.schedule.steps;
    for (unsigned i = 0; i < run.threads; i++) {
        for (uint32_t owner = 0; fine && owner < launch->owner_count; owner++)
            add_owner(&results[owner], &run.workers[i], owner);
        if (fine && reuse)
            add_distances(&run, &run.workers[i]);
        *steps += run.workers[i].steps;
        fini_worker(&run.workers[i]);
    }
    cache_schedule_fini(&run.schedule);
    free(run.chunk_places);
    free(run.records);
    free(run.left);
    free(run.firsts);
    free(run.counts);
    free(run.piece_places);
    free(run.requests);
    return fine;
}

bool cache_launch_run(struct cache_l2 *l2, const struct cache_launch *launch,
                      const struct cache_order *order, unsigned threads,
                      struct cache_result *results, const struct cache_launch_reuse *reuse)
{
    uint64_t steps = 0;
    return cache_launch_run_counted(l2, launch, order, threads, results, reuse, &steps);
}
