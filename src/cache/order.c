// SPDX-License-Identifier: Apache-2.0
// The order of a launch's records. Probes that record the order of warps disturb it. So only where
// and when each block began comes from the run, and how far each thread was at each record: how
// many basic blocks it had executed. That number is the time of the model. See order.h and
// docs/internals/cache.md.
#include "order.h"

#include <stdlib.h>
#include <string.h>

#include "level.h"
#include "runs.h"
#include "sort.h"

const struct cache_order cache_order_default = {.drift_percent = 20, .whole_instructions = true};

// A basic block at the mean pace takes MEAN_PACE >> PACE_SHIFT = 16 units of time.
enum { MEAN_PACE = 1 << 16, PACE_SHIFT = 12 };

// --- Blocks --------------------------------------------------------------------------------------

// The slowest and the fastest block are as far from the mean. The number decides, so that each run
// of the model has the same.
static uint32_t pace_of(uint64_t block, const struct cache_order *order)
{
    const uint32_t drift = order->drift_percent < 100 ? order->drift_percent : 100;
    const uint64_t range = (uint64_t)MEAN_PACE * drift / 100;
    return (uint32_t)(MEAN_PACE - range / 2 + ((cache_mix(block + 1) >> 32) * range >> 32));
}

static uint64_t time_after(uint64_t begin, uint64_t counter, uint32_t pace)
{
    return begin + (counter * pace >> PACE_SHIFT);
}

// Where it is unknown how long blocks are, their last record tells. Returns NULL if memory runs
// out.
static uint32_t *lengths_of(struct cache_schedule *schedule, const struct cache_launch *launch)
{
    uint32_t *lengths = malloc((launch->block_count + 1) * sizeof(*lengths));
    bool unknown = false;
    if (!lengths)
        return NULL;
    for (uint64_t i = 0; i < launch->block_count; i++) {
        lengths[i] = launch->blocks[i].length;
        unknown |= !lengths[i];
    }
    for (size_t i = 0; unknown && i < launch->record_count; i++) {
        const struct cache_record *record = &launch->records[i];
        const uint32_t block = cache_block_of(schedule, record->warp);
        if (block < launch->block_count && !launch->blocks[block].length &&
            record->counter >= lengths[block])
            lengths[block] = record->counter < UINT32_MAX ? record->counter + 1 : UINT32_MAX;
    }
    schedule->steps += launch->block_count + (unknown ? launch->record_count : 0);
    return lengths;
}

enum block_key { BEGAN_LOW, BEGAN_HIGH, MULTIPROCESSOR, BLOCK_KEYS };

static uint32_t key_of(const struct cache_block *block, enum block_key key, uint64_t first)
{
    switch (key) {
    case BEGAN_LOW: return (uint32_t)(block->began - first);
    case BEGAN_HIGH: return (uint32_t)((block->began - first) >> 32);
    default: return block->multiprocessor;
    }
}

// Sorts blocks by multiprocessor, then by when they began, then by number: `numbers` has their
// numbers in its lower halves. Returns which of both has the result.
static uint64_t *sort_blocks(const struct cache_launch *launch, uint64_t *numbers, uint64_t *spare,
                             uint64_t *steps)
{
    uint64_t first = UINT64_MAX;
    for (uint64_t i = 0; i < launch->block_count; i++) {
        numbers[i] = i;
        first = launch->blocks[i].began < first ? launch->blocks[i].began : first;
    }
    for (enum block_key key = 0; key < BLOCK_KEYS; key++) {
        uint64_t all = 0;
        for (uint64_t i = 0; i < launch->block_count; i++) {
            const uint32_t number = (uint32_t)numbers[i];
            numbers[i] = (uint64_t)key_of(&launch->blocks[number], key, first) << 32 | number;
            all |= numbers[i] >> 32;
        }
        uint64_t *sorted =
            cache_sort(numbers, spare, launch->block_count, 32, cache_bits_of(all), steps);
        spare = sorted == numbers ? spare : numbers;
        numbers = sorted;
        *steps += launch->block_count;
    }
    return numbers;
}

// Puts a later time in place of the first of a heap, which is the least.
static void replace_first(uint64_t *heap, size_t count, uint64_t time, uint64_t *steps)
{
    size_t i = 0;
    for (size_t child; (child = 2 * i + 1) < count; i = child, ++*steps) {
        child += child + 1 < count && heap[child + 1] < heap[child];
        if (heap[child] >= time)
            break;
        heap[i] = heap[child];
    }
    heap[i] = time;
}

// Lets the blocks of one multiprocessor begin: each as soon as one before has made room. `ends` is
// when the blocks end that have run there last. Returns when the last block ends.
static uint64_t run_blocks(struct cache_schedule *schedule, const struct cache_launch *launch,
                           const uint64_t *numbers, size_t count, const uint32_t *lengths,
                           uint64_t *ends)
{
    const size_t most = launch->resident ? launch->resident : 1;
    const size_t resident = most < count ? most : count;
    uint64_t last = 0;
    memset(ends, 0, resident * sizeof(*ends));
    for (size_t i = 0; i < count; i++) {
        const uint32_t number = (uint32_t)numbers[i];
        struct cache_ordered_block *block = &schedule->blocks[number];
        const uint32_t length = lengths[number] ? lengths[number] : 1;
        block->begin = ends[0];
        const uint64_t end = time_after(block->begin, length, block->pace);
        last = end > last ? end : last;
        replace_first(ends, resident, end, &schedule->steps);
    }
    return last;
}

// Divides sorted blocks among multiprocessors, and lets them run.
static void run_all(struct cache_schedule *schedule, const struct cache_launch *launch,
                    const uint64_t *numbers, const uint32_t *lengths, uint64_t *ends)
{
    uint64_t last = 0;
    for (uint64_t i = 0, next; i < launch->block_count; i = next) {
        const uint32_t multiprocessor = (uint32_t)(numbers[i] >> 32);
        for (next = i; next < launch->block_count && numbers[next] >> 32 == multiprocessor; next++)
            schedule->blocks[(uint32_t)numbers[next]].place =
                (uint32_t)schedule->multiprocessor_count;
        const uint64_t end = run_blocks(schedule, launch, numbers + i, next - i, lengths, ends);
        last = end > last ? end : last;
        schedule->multiprocessors[schedule->multiprocessor_count++] = multiprocessor;
    }
    while (last >> schedule->shift >> CACHE_TIME_BITS)
        schedule->shift++;
}

bool cache_schedule_init(struct cache_schedule *schedule, const struct cache_launch *launch,
                         const struct cache_order *order)
{
    const size_t room = launch->block_count + 1;
    *schedule = (struct cache_schedule){0};
    if (launch->warps_per_block > 1)
        schedule->inverse = UINT64_MAX / launch->warps_per_block + 1;
    uint32_t *lengths = lengths_of(schedule, launch);
    uint64_t *numbers = malloc(2 * room * sizeof(*numbers));
    schedule->blocks = malloc(room * sizeof(*schedule->blocks));
    schedule->multiprocessors = malloc(room * sizeof(*schedule->multiprocessors));
    const bool fine = lengths && numbers && schedule->blocks && schedule->multiprocessors;
    if (fine) {
        for (uint64_t i = 0; i < launch->block_count; i++)
            schedule->blocks[i] = (struct cache_ordered_block){.pace = pace_of(i, order)};
        uint64_t *sorted = sort_blocks(launch, numbers, numbers + room, &schedule->steps);
        run_all(schedule, launch, sorted, lengths, sorted == numbers ? numbers + room : numbers);
    } else {
        cache_schedule_fini(schedule);
    }
    free(lengths);
    free(numbers);
    return fine;
}

void cache_schedule_fini(struct cache_schedule *schedule)
{
    free(schedule->blocks);
    free(schedule->multiprocessors);
    *schedule = (struct cache_schedule){0};
}

// --- Records -------------------------------------------------------------------------------------

enum { AHEAD = 8 }; // runs, of which the CPU fetches records early

// Items that are made of the records of a multiprocessor, warp after warp.
struct making {
    const struct cache_schedule *schedule;
    const struct cache_order *order;
    const struct cache_record *records;
    struct cache_item *items;
    uint64_t *numbers; // of each item: its turn in the upper half, and its index
    size_t count;
    uint32_t all_turns, all_times; // bits that any has
};

// How far a warp is.
struct position {
    int64_t time; // -1 before its first record
    uint32_t owner, counter, turn;
};

// Appends records of one warp. Time never goes back: they stay in order, whatever their counters
// are.
static void make_items(struct making *making, const struct cache_run *run, struct position *at)
{
    const int64_t latest = ((int64_t)1 << CACHE_TIME_BITS) - 1;
    const bool whole_instructions = making->order->whole_instructions;
    const struct cache_schedule *schedule = making->schedule;
    const unsigned shift = schedule->shift;
    const struct cache_ordered_block block = schedule->blocks[cache_block_of(schedule, run->warp)];
    const struct cache_record *records = making->records + run->first;
    struct cache_item *items = making->items + making->count;
    uint64_t *numbers = making->numbers + making->count;
    struct position now = *at;
    uint32_t all_turns = 0;
    for (uint32_t i = 0; i < run->count; i++) {
        const struct cache_record *record = &records[i];
        const uint64_t exact = time_after(block.begin, record->counter, block.pace);
        const int64_t shifted = (int64_t)(exact >> shift),
                      time = shifted < latest ? shifted : latest;
        const bool later = time > now.time;
        const bool goes_on =
            whole_instructions & (record->owner == now.owner) & (record->counter == now.counter);
        now.time = later ? time : now.time;
        now.turn = (now.turn + !goes_on) & (later - 1u); // 0 if it is later; hard to predict
        now.owner = record->owner;
        now.counter = record->counter;
        items[i].word = cache_word_of(record->line, record->kind, record->sectors, record->whole);
        items[i].owner = now.owner;
        items[i].when = (uint32_t)now.time;
        numbers[i] = (uint64_t)now.turn << 32 | (making->count + i);
        all_turns |= now.turn;
    }
    *at = now;
    making->all_turns |= all_turns;
    making->all_times |= (uint32_t)now.time; // the latest of the run
    making->count += run->count;
}

// Sorts runs by warp, unless they are in that order; then returns NULL. Otherwise the lower halves
// of `numbers` or `spare` have their indices: returns which of both.
static uint64_t *sort_by_warp(const struct cache_run *runs, size_t count, uint64_t *numbers,
                              uint64_t *spare, uint64_t *steps)
{
    uint32_t all = 0;
    bool sorted = true;
    for (size_t i = 0; i < count; i++) {
        numbers[i] = (uint64_t)runs[i].warp << 32 | i;
        all |= runs[i].warp;
        sorted &= !i || runs[i - 1].warp <= runs[i].warp;
    }
    *steps += count;
    return sorted ? NULL : cache_sort(numbers, spare, count, 32, cache_bits_of(all), steps);
}

struct cache_item *cache_order_records(const struct cache_schedule *schedule,
                                       const struct cache_order *order,
                                       const struct cache_record *records,
                                       const struct cache_run *runs, size_t run_count,
                                       const struct cache_room *room, uint64_t *steps)
{
    const uint64_t *by_warp =
        sort_by_warp(runs, run_count, room->numbers, room->spare_numbers, steps);
    uint64_t *numbers = by_warp == room->numbers ? room->spare_numbers : room->numbers;
    uint64_t *spare_numbers = numbers == room->numbers ? room->spare_numbers : room->numbers;
    struct cache_item *items = room->items, *spare = room->spare_items;
    struct making making = {schedule, order, records, items, numbers, 0, 0, 0};
    struct position at = {.time = -1};
    uint32_t warp = 0;
    for (size_t i = 0; i < run_count; i++) {
        const struct cache_run *run = &runs[by_warp ? (uint32_t)by_warp[i] : i];
        const size_t later = i + AHEAD < run_count ? i + AHEAD : i;
        const struct cache_run *soon = &runs[by_warp ? (uint32_t)by_warp[later] : later];
        __builtin_prefetch(&records[soon->first]);
        __builtin_prefetch(&records[soon->first + soon->count - 1]);
        if (run->warp != warp)
            at.time = -1;
        warp = run->warp;
        make_items(&making, run, &at);
    }
    *steps += making.count;
    if (making.all_turns) {
        numbers = cache_sort(numbers, spare_numbers, making.count, 32,
                             cache_bits_of(making.all_turns), steps);
        for (size_t i = 0; i < making.count; i++)
            spare[i] = items[(uint32_t)numbers[i]];
        *steps += making.count;
        items = room->spare_items;
        spare = room->items;
    }
    const struct cache_part all = {items, making.count};
    size_t count;
    return cache_sort_items(&all, 1, spare, items, cache_bits_of(making.all_times), &count, steps);
}
