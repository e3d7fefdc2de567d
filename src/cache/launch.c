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
    struct cache_tally l1_tally, l2_tally;
    struct cache_l2_counts *memory;    // by owner: only `read` and `written` are used
    struct cache_distances *distances; // of L1, by group of owners
    struct cache_room room;
    uint8_t *pieces;          // of L2, of the items in the room
    struct cache_part *parts; // of a piece: what each multiprocessor has for it
    uint32_t all_times;       // bits that any item has
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
    unsigned time_bits;
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

// What is left of the items of a multiprocessor, before it is divided among pieces.
struct rest {
    struct cache_item *items;
    uint8_t *pieces; // of each item
    size_t count;
    uint32_t counts[CACHE_PIECES]; // of items of each piece
    uint32_t all_times;            // bits that any time has
};

// Keeps those items that have sectors left, and finds their partitions and sets in L2.
static void keep(struct rest *rest, const struct cache_level *level, uint32_t near,
                 const struct cache_item *items, size_t count)
{
    struct cache_item *kept = rest->items + rest->count;
    uint8_t *pieces = rest->pieces + rest->count;
    uint32_t all_times = 0;
    for (size_t i = 0; i < count; i++) {
        const uint64_t word = items[i].word;
        const uint32_t when = items[i].when;
        const uint32_t set = cache_level_set_of(level, cache_word_line(word));
        const uint32_t piece = cache_level_piece_of(level, set);
        const bool keeps = cache_word_sectors(word);
        kept->word = cache_l2_word_of(level, word, near);
        kept->owner = items[i].owner;
        kept->when = when | set << CACHE_TIME_BITS;
        *pieces = (uint8_t)piece;
        rest->counts[piece] += keeps;
        kept += keeps;
        pieces += keeps;
        all_times |= when;
    }
    rest->count = (size_t)(kept - rest->items);
    rest->all_times |= all_times;
}

// Divides what is left of a multiprocessor among pieces. That is done in `spare`, which the CPU has
// in its cache, other than where they go.
static void divide(struct run *run, size_t place, struct rest *rest, struct cache_item *spare)
{
    const uint32_t first = run->runs.record_firsts[place];
    uint32_t *positions = run->positions ? run->positions + first : NULL;
    cache_sum_up(rest->counts, 1, CACHE_PIECES, run->piece_firsts + place * (CACHE_PIECES + 1));
    for (size_t i = 0; i < rest->count; i++) {
        const uint32_t position = rest->counts[rest->pieces[i]]++;
        spare[position] = rest->items[i];
        if (positions)
            positions[i] = first + position;
    }
    memcpy(run->left + first, spare, rest->count * sizeof(*spare));
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
    const struct cache_level *level = cache_l2_level(run->l2);
    const uint32_t near = cache_l2_near(run->l2, run->schedule.multiprocessors[place]);
    const struct cache_room *room = &worker->room;
    struct rest rest = {.items = items, .pieces = worker->pieces};
    cache_l1_flush(worker->l1);
    for (size_t from = 0; from < count; from += BATCH) {
        const size_t size = count - from < BATCH ? count - from : BATCH;
        uint8_t outcomes[BATCH];
        cache_l1_run_items(worker->l1, items + from, size, outcomes);
        cache_tally_count(&worker->l1_tally, items + from, outcomes, size);
        keep(&rest, level, near, items + from, size);
    }
    divide(run, place, &rest, items == room->items ? room->spare_items : room->items);
    worker->all_times |= rest.all_times;
    worker->steps += 4 * count;
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
    for (size_t place = 0; place < run->multiprocessors; place++) {
        const uint32_t *firsts = run->piece_firsts + place * (CACHE_PIECES + 1) + piece;
        worker->parts[place] = (struct cache_part){
            run->left + run->runs.record_firsts[place] + firsts[0], firsts[1] - firsts[0]};
    }
    worker->steps += run->multiprocessors;
    return cache_sort_items(worker->parts, run->multiprocessors, worker->room.items,
                            worker->room.spare_items, run->time_bits, count, &worker->steps);
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
        uint8_t outcomes[BATCH];
        for (size_t i = 0; i < size; i++) {
            const struct cache_item *item = &items[from + i];
            sets[i] = level->piece_shift <= SET_BITS
                          ? (uint32_t)piece << level->piece_shift |
                                (item->when >> CACHE_TIME_BITS & ((1u << level->piece_shift) - 1))
                          : cache_level_set_of(level, cache_word_line(item->word));
        }
        cache_l2_run_items(run->l2, items + from, sets, size, worker->memory, outcomes);
        cache_tally_count(&worker->l2_tally, items + from, outcomes, size);
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
    free(worker->pieces);
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
    worker->pieces = cache_allocate(count, sizeof(*worker->pieces));
    return room->items && room->numbers && worker->pieces;
}

static void fini_worker(struct worker *worker)
{
    cache_l1_destroy(worker->l1);
    cache_tally_fini(&worker->l1_tally);
    cache_tally_fini(&worker->l2_tally);
    free(worker->memory);
    free(worker->parts);
    free(worker->distances);
    fini_room(worker);
}

static bool init_worker(const struct run *run, struct worker *worker, size_t most_records)
{
    const size_t owners = (size_t)run->launch->owner_count + 1;
    const uint32_t share = cache_l2_share(run->l2);
    worker->l1 = cache_l1_create(cache_l2_preset(run->l2), run->launch->shared_bytes, share);
    worker->memory = calloc(owners, sizeof(*worker->memory));
    worker->parts = malloc((run->multiprocessors + 1) * sizeof(*worker->parts));
    const bool groups = share < CACHE_ALL;
    bool fine = make_room(worker, most_records) && worker->l1 && worker->memory && worker->parts &&
                cache_tally_init(&worker->l1_tally, owners, groups) &&
                cache_tally_init(&worker->l2_tally, owners, groups);
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
    uint32_t all_times = 0;
    for (unsigned i = 0; i < run->threads; i++) {
        all_times |= run->workers[i].all_times;
        fine = !run->workers[i].failed && make_room(&run->workers[i], most_requests(run)) && fine;
    }
    run->time_bits = cache_bits_of(all_times);
    return fine && (!run->reuse || count_l2_reuse(run, &run->workers[0].steps));
}

static void add_owner(struct cache_result *result, const struct worker *worker, uint32_t owner)
{
    cache_tally_sum(&worker->l1_tally, owner, result->l1.kinds, result->l1_groups);
    cache_tally_sum(&worker->l2_tally, owner, result->l2.kinds, result->l2_groups);
    result->l2.read += worker->memory[owner].read;
    result->l2.written += worker->memory[owner].written;
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
