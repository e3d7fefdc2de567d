// SPDX-License-Identifier: Apache-2.0
// Runs a launch through the caches. Records are divided among multiprocessors (runs.c); each orders
// its own (order.c), runs them through its L1, and divides what is left among pieces of L2. Each
// piece merges its requests by time, and runs them. Threads share multiprocessors, and pieces: each
// job's result is the same on any thread, and jobs have nothing in common but counts, of which each
// thread has its own.
#include "launch.h"

#include <stdlib.h>
#include <string.h>

#include "l1.h"
#include "l2.h"
#include "level.h"
#include "memory.h"
#include "order.h"
#include "runs.h"
#include "sort.h"
#include "team.h"

enum { BATCH = 256, MOST_THREADS = 64 };

enum {
    TIME_MASK = (1 << CACHE_TIME_BITS) - 1,
    SET_BITS = 32 - CACHE_TIME_BITS, // of an item, above its time
};

// What a thread has to itself.
struct worker {
    struct cache_l1 *l1;
    struct cache_l1_counts *l1_counts;
    struct cache_l2_counts *l2_counts;
    struct cache_count *l1_groups, *l2_groups; // NULL if the model looks at all lines
    struct cache_distances *distances;         // of L1, by group of owners
    struct cache_room room;
    uint32_t *sets; // of L2, of the items in the room
    uint64_t steps;
    bool failed; // memory ran out
};

struct run {
    struct cache_l2 *l2;
    const struct cache_launch *launch;
    const struct cache_order *order;
    const struct cache_launch_reuse *reuse; // may be NULL
    struct cache_schedule schedule;
    struct cache_runs runs;
    struct worker workers[MOST_THREADS];
    unsigned threads;
    size_t multiprocessors;
    // What L1s have left: by multiprocessor, from where its records would begin, and then by piece.
    // Within a piece they are in order of time.
    struct cache_item *left;
    uint32_t *piece_firsts; // of each multiprocessor: where its pieces begin, and where all end
    uint32_t *positions;    // only for distances: of the same, in order of time, where each is
};

// --- L1 ------------------------------------------------------------------------------------------

// Counts distances of items for the groups of their owners.
static bool count_reuse(const struct run *run, struct cache_reuse *reuse,
                        const struct cache_item *items, size_t count,
                        struct cache_distances *counts)
{
    bool fine = true;
    for (size_t from = 0; fine && from < count; from += BATCH) {
        const size_t size = count - from < BATCH ? count - from : BATCH;
        struct cache_request requests[BATCH];
        for (size_t i = 0; i < size; i++) {
            const struct cache_item *item = &items[from + i];
            requests[i].line = cache_word_line(item->word);
            requests[i].owner = run->reuse->group_of[item->owner];
            requests[i].sectors = (uint8_t)cache_word_sectors(item->word);
        }
        fine = cache_reuse_run(reuse, requests, size, counts);
    }
    return fine;
}

// Keeps those items that have sectors left. Returns how many these are.
static size_t keep(struct cache_item *items, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        const struct cache_item item = items[i];
        items[kept] = item;
        kept += cache_word_sectors(item.word) != 0;
    }
    return kept;
}

// Finds the partitions and sets of items in L2, and divides them among pieces. That is done in the
// other part of the room, which the CPU has in its cache, other than where they go.
static void divide(struct run *run, struct worker *worker, size_t place, struct cache_item *items,
                   size_t count)
{
    const struct cache_level *level = cache_l2_level(run->l2);
    const uint32_t near = cache_l2_near(run->l2, run->schedule.multiprocessors[place]);
    const uint32_t first = run->runs.record_firsts[place];
    const struct cache_room *room = &worker->room;
    struct cache_item *divided = items == room->items ? room->spare_items : room->items;
    uint32_t pieces[CACHE_PIECES] = {0};
    for (size_t i = 0; i < count; i++) {
        items[i].word = cache_l2_word_of(level, items[i].word, near);
        worker->sets[i] = cache_level_spot_of(level, cache_word_line(items[i].word)).set;
        pieces[cache_level_piece_of(level, worker->sets[i])]++;
    }
    cache_sum_up(pieces, 1, CACHE_PIECES, run->piece_firsts + place * (CACHE_PIECES + 1));
    for (size_t i = 0; i < count; i++) {
        const uint32_t set = worker->sets[i];
        const uint32_t position = pieces[cache_level_piece_of(level, set)]++;
        divided[position].word = items[i].word;
        divided[position].owner = items[i].owner;
        divided[position].when = items[i].when | set << CACHE_TIME_BITS;
        if (run->positions)
            run->positions[first + i] = first + position;
    }
    memcpy(run->left + first, divided, count * sizeof(*divided));
    worker->steps += 3 * count;
}

static void run_multiprocessor(void *context, size_t place, unsigned member)
{
    struct run *run = context;
    const struct cache_runs *runs = &run->runs;
    struct worker *worker = &run->workers[member];
    const size_t count = runs->record_firsts[place + 1] - runs->record_firsts[place];
    struct cache_item *items = cache_order_records(
        &run->schedule, run->order, run->launch->records, runs->runs + runs->firsts[place],
        runs->firsts[place + 1] - runs->firsts[place], &worker->room, &worker->steps);
    if (run->reuse) {
        struct cache_reuse *reuse = cache_reuse_create(cache_l2_share(run->l2));
        if (!reuse || !count_reuse(run, reuse, items, count, worker->distances))
            worker->failed = true;
        cache_reuse_destroy(reuse);
    }
    cache_l1_flush(worker->l1);
    cache_l1_run_items(worker->l1, items, count, worker->l1_counts, worker->l1_groups);
    worker->steps += 2 * count;
    divide(run, worker, place, items, keep(items, count));
}

// --- L2 ------------------------------------------------------------------------------------------

// Returns how many requests a piece has.
static size_t count_piece(const struct run *run, size_t piece)
{
    size_t count = 0;
    for (size_t place = 0; place < run->multiprocessors; place++) {
        const uint32_t *firsts = run->piece_firsts + place * (CACHE_PIECES + 1) + piece;
        count += firsts[1] - firsts[0];
    }
    return count;
}

// Returns the items of a piece in their order: those of one multiprocessor are already, and of
// those with equal times the multiprocessor with the smaller number is first.
static const struct cache_item *merge(const struct run *run, size_t piece, struct worker *worker,
                                      size_t *count)
{
    struct cache_item *items = worker->room.items;
    uint32_t all_times = 0;
    *count = 0;
    for (size_t place = 0; place < run->multiprocessors; place++) {
        const uint32_t *firsts = run->piece_firsts + place * (CACHE_PIECES + 1) + piece;
        const struct cache_item *left = run->left + run->runs.record_firsts[place];
        for (uint32_t i = firsts[0]; i < firsts[1]; i++) {
            items[(*count)++] = left[i];
            all_times |= left[i].when & TIME_MASK;
        }
    }
    worker->steps += *count + run->multiprocessors;
    return cache_sort_items(items, worker->room.spare_items, *count, cache_bits_of(all_times),
                            &worker->steps);
}

static void run_piece(void *context, size_t piece, unsigned member)
{
    struct run *run = context;
    struct worker *worker = &run->workers[member];
    const struct cache_level *level = cache_l2_level(run->l2);
    size_t count;
    const struct cache_item *items = merge(run, piece, worker, &count);
    for (size_t from = 0; from < count; from += BATCH) {
        const size_t size = count - from < BATCH ? count - from : BATCH;
        uint32_t sets[BATCH];
        for (size_t i = 0; i < size; i++) {
            const struct cache_item *item = &items[from + i];
            sets[i] = level->piece_shift <= SET_BITS
                          ? (uint32_t)piece << level->piece_shift |
                                (item->when >> CACHE_TIME_BITS & ((1u << level->piece_shift) - 1))
                          : cache_level_spot_of(level, cache_word_line(item->word)).set;
        }
        cache_l2_run_items(run->l2, items + from, sets, size, worker->l2_counts, worker->l2_groups);
    }
    worker->steps += count;
}

// Counts distances in the stream of all pieces together.
static bool count_l2_reuse(const struct run *run, uint64_t *steps)
{
    const size_t room = run->runs.record_firsts[run->multiprocessors];
    uint64_t *numbers = malloc(2 * (room + 1) * sizeof(*numbers));
    size_t count = 0;
    uint32_t times = 0;
    if (!numbers)
        return false;
    for (size_t place = 0; place < run->multiprocessors; place++) {
        const uint32_t first = run->runs.record_firsts[place];
        const uint32_t left = run->piece_firsts[place * (CACHE_PIECES + 1) + CACHE_PIECES];
        for (uint32_t i = first; i < first + left; i++) {
            const uint32_t time = run->left[run->positions[i]].when & TIME_MASK;
            numbers[count++] = (uint64_t)time << 32 | run->positions[i];
            times |= time;
        }
    }
    const uint64_t *order =
        cache_sort(numbers, numbers + room, count, 32, cache_bits_of(times), steps);
    bool fine = true;
    for (size_t from = 0; fine && from < count; from += BATCH) {
        const size_t size = count - from < BATCH ? count - from : BATCH;
        struct cache_item batch[BATCH];
        for (size_t i = 0; i < size; i++)
            batch[i] = run->left[(uint32_t)order[from + i]];
        fine = count_reuse(run, run->reuse->l2_reuse, batch, size, run->reuse->l2);
    }
    free(numbers);
    return fine;
}

// --- All -----------------------------------------------------------------------------------------

static void fini_room(struct worker *worker)
{
    free(worker->room.items);
    free(worker->room.numbers);
    free(worker->sets);
}

// Gives a worker room for so many items. Returns false if memory runs out.
static bool make_room(struct worker *worker, size_t count)
{
    struct cache_room *room = &worker->room;
    fini_room(worker);
    room->items = cache_allocate(2 * count, sizeof(*room->items));
    room->spare_items = room->items + count;
    room->numbers = cache_allocate(2 * count, sizeof(*room->numbers));
    room->spare_numbers = room->numbers + count;
    worker->sets = cache_allocate(count, sizeof(*worker->sets));
    return room->items && room->numbers && worker->sets;
}

static void fini_worker(struct worker *worker)
{
    cache_l1_destroy(worker->l1);
    free(worker->l1_counts);
    free(worker->l2_counts);
    free(worker->l1_groups);
    free(worker->l2_groups);
    free(worker->distances);
    fini_room(worker);
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

// Returns the most records of a multiprocessor.
static size_t most_records(const struct run *run)
{
    const uint32_t *firsts = run->runs.record_firsts;
    size_t most = 0;
    for (size_t i = 0; i < run->multiprocessors; i++)
        most = firsts[i + 1] - firsts[i] > most ? firsts[i + 1] - firsts[i] : most;
    return most;
}

// Returns the most requests of a piece.
static size_t most_requests(const struct run *run)
{
    size_t most = 0;
    for (size_t i = 0; i < CACHE_PIECES; i++)
        most = count_piece(run, i) > most ? count_piece(run, i) : most;
    return most;
}

// Allocates what multiprocessors have together.
static bool allocate(struct run *run)
{
    const size_t records = run->runs.record_firsts[run->multiprocessors];
    run->left = cache_allocate(records, sizeof(*run->left));
    run->piece_firsts =
        malloc((run->multiprocessors * (CACHE_PIECES + 1) + 1) * sizeof(*run->piece_firsts));
    run->positions = run->reuse ? cache_allocate(records, sizeof(*run->positions)) : NULL;
    return run->left && run->piece_firsts && (run->positions || !run->reuse);
}

// Does all but L2, so that nothing has changed if memory runs out.
static bool prepare(struct run *run)
{
    run->multiprocessors = run->schedule.multiprocessor_count;
    bool fine =
        cache_runs_init(&run->runs, &run->schedule, run->launch, run->threads) && allocate(run);
    for (unsigned i = 0; fine && i < run->threads; i++)
        fine = init_worker(run, &run->workers[i], most_records(run));
    if (!fine)
        return false;
    cache_team_run(run->threads, run->multiprocessors, run_multiprocessor, run);
    for (unsigned i = 0; i < run->threads; i++)
        fine = !run->workers[i].failed && make_room(&run->workers[i], most_requests(run)) && fine;
    return fine && (!run->reuse || count_l2_reuse(run, &run->workers[0].steps));
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
    const bool fine = cache_schedule_init(&run.schedule, launch, run.order) && prepare(&run);
    if (fine)
        cache_team_run(run.threads, CACHE_PIECES, run_piece, &run);
    *steps += run.schedule.steps + run.runs.steps;
    for (unsigned i = 0; i < run.threads; i++) {
        for (uint32_t owner = 0; fine && owner < launch->owner_count; owner++)
            add_owner(&results[owner], &run.workers[i], owner);
        if (fine && reuse)
            add_distances(&run, &run.workers[i]);
        *steps += run.workers[i].steps;
        fini_worker(&run.workers[i]);
    }
    cache_schedule_fini(&run.schedule);
    cache_runs_fini(&run.runs);
    free(run.left);
    free(run.piece_firsts);
    free(run.positions);
    return fine;
}

bool cache_launch_run(struct cache_l2 *l2, const struct cache_launch *launch,
                      const struct cache_order *order, unsigned threads,
                      struct cache_result *results, const struct cache_launch_reuse *reuse)
{
    uint64_t steps = 0;
    return cache_launch_run_counted(l2, launch, order, threads, results, reuse, &steps);
}
