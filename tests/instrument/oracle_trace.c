// SPDX-License-Identifier: Apache-2.0
// Which lines of global memory warps reach: makes the memory of a trace, reads what probes left in
// it, and compares it with what the simulator's log says of the kernel without probes. That of the
// clone says only which lane wrote a record.
#include <time.h>

#include "cudaabi/cudaabi.h"
#include "gpusim/gpusim.h"
#include "oracle.h"

enum {
    LANES = 32,
    LINE = 128,
    SECTOR = 32,
    SECTORS = LINE / SECTOR,
    LEVELS = INSTRUMENT_TRACE_LEVELS,
    ROOM = 1 << 16, // unless the level says
};

static uint64_t blocks_of(const struct oracle_case *test)
{
    return (uint64_t)test->grid[0] * test->grid[1] * test->grid[2];
}

static uint32_t warps_of(const struct oracle_case *test)
{
    return (test->block[0] * test->block[1] * test->block[2] + LANES - 1) / LANES;
}

// --- The launch ----------------------------------------------------------------------------------

static uint32_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint32_t)((uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec);
}

static CUdeviceptr take(uint64_t bytes)
{
    CUdeviceptr memory;
    if (cuMemAlloc_v2(&memory, bytes) != CUDA_SUCCESS)
        abort();
    return memory;
}

// Returns for how many records there is room in all levels.
static uint64_t places_of(const struct oracle_trace *trace)
{
    return (uint64_t)LEVELS * trace->shelves * trace->room;
}

void oracle_trace_make(const struct oracle_case *test, const struct oracle_level *level,
                       const struct instrument_kernel *kernel, struct oracle_told *told,
                       struct instrument_context *context)
{
    struct oracle_trace *trace = &told->trace;
    const uint64_t block_bytes = blocks_of(test) * sizeof(struct instrument_traced_block);
    CUdevice device;
    int multiprocessors = 0;
    if (!kernel->traces)
        return;
    trace->limit = level->trace_limit ? level->trace_limit : UINT32_MAX;
    trace->shelves = level->trace_shelves ? level->trace_shelves : 1;
    trace->room = level->trace_room ? level->trace_room : ROOM / trace->shelves;
    trace->records_at = take(places_of(trace) * sizeof(struct instrument_traced));
    trace->blocks_at = take(block_bytes);
    trace->address = take(sizeof(struct instrument_trace));
    if (cuMemsetD8_v2(trace->address, 0, sizeof(struct instrument_trace)) ||
        cuMemsetD8_v2(trace->blocks_at, 0, block_bytes) || cuCtxGetDevice(&device) ||
        cuDeviceGetAttribute(&multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device))
        abort();
    trace->multiprocessors = (uint32_t)multiprocessors;
    trace->before_ns = now();
    context->trace = trace->address;
    context->trace_records = trace->records_at;
    context->trace_blocks = trace->blocks_at;
    context->trace_limit = trace->limit;
    context->trace_room = trace->room;
    context->trace_last_shelf = trace->shelves - 1;
}

// Changes what number `which` says, in the last record of a thread that executed most, or in the
// last block.
static void spoil(const struct oracle_case *test, unsigned which, struct oracle_trace *trace)
{
    struct instrument_traced *last = NULL;
    for (unsigned level = 0; level < LEVELS; level++) {
        for (uint32_t i = 0; i < trace->kept[level]; i++) {
            struct instrument_traced *record = &trace->records[level][i];
            last = !last || record->steps >= last->steps ? record : last;
        }
    }
    struct instrument_traced_block *block = &trace->blocks[blocks_of(test) - 1];
    switch (which) {
    case 0: last->what ^= 1; break;
    case 1: last->what ^= (uint64_t)1 << INSTRUMENT_TRACED_SECTORS_AT; break;
    case 2: last->what ^= (uint64_t)1 << (INSTRUMENT_TRACED_SECTORS_AT + SECTORS); break;
    case 3: last->what += (uint64_t)1 << INSTRUMENT_TRACED_SITE_AT; break;
    case 4: last->warp ^= 1; break;
    case 5: last->steps = 0; break;
    case 6: trace->next[0]++; break;
    case 7: block->began -= trace->after_ns - trace->before_ns + 1; break;
    case 8: block->length++; break;
    case 9: block->length -= INSTRUMENT_TRACED_PROCESSORS; break;
    default: abort();
    }
}

static void read_level(struct oracle_trace *trace, const struct instrument_trace *head,
                       unsigned level, struct oracle_shared *shared)
{
    size_t most = 1;
    for (uint32_t shelf = 0; shelf < trace->shelves; shelf++) {
        const uint32_t next = head->shelves[level][shelf].next;
        most += next < trace->room ? next : trace->room;
    }
    trace->records[level] = oracle_take(shared, most * sizeof(*trace->records[level]));
    trace->places[level] = oracle_take(shared, most * sizeof(*trace->places[level]));
    for (uint32_t shelf = 0; shelf < trace->shelves; shelf++) {
        const uint32_t next = head->shelves[level][shelf].next,
                       kept = next < trace->room ? next : trace->room,
                       first = (level * trace->shelves + shelf) * trace->room;
        if (kept && cuMemcpyDtoH_v2(trace->records[level] + trace->kept[level],
                                    trace->records_at + first * sizeof(struct instrument_traced),
                                    kept * sizeof(struct instrument_traced)))
            abort();
        for (uint32_t i = 0; i < kept; i++)
            trace->places[level][trace->kept[level]++] = first + i;
        trace->next[level] += next;
        trace->full[level] |= next > trace->room;
    }
}

void oracle_trace_read(const struct oracle_case *test, const struct oracle_level *level,
                       struct oracle_shared *shared, struct oracle_told *told)
{
    struct oracle_trace *trace = &told->trace;
    struct instrument_trace head;
    const uint64_t block_bytes = blocks_of(test) * sizeof(*trace->blocks);
    if (!trace->address)
        return;
    trace->after_ns = now();
    trace->blocks = oracle_take(shared, block_bytes);
    if (cuMemcpyDtoH_v2(&head, trace->address, sizeof(head)) ||
        cuMemcpyDtoH_v2(trace->blocks, trace->blocks_at, block_bytes))
        abort();
    for (unsigned i = 0; i < LEVELS; i++)
        read_level(trace, &head, i, shared);
    if (level->spoil == ORACLE_ONE_TRACED)
        spoil(test, level->which, trace);
}

// --- The log -------------------------------------------------------------------------------------

// One execution of an instruction.
struct request {
    const struct gpusim_log_site *site; // NULL: none
    uint64_t block;
    uint32_t warp, mask, bytes;
    bool stores;
    uint64_t address[LANES];
};

// A record, and what orders it. The log has no steps, but requests of a warp are in their order.
struct traced {
    uint64_t what;
    uint32_t warp, lane, level;
    uint64_t order; // log: number of the request; clone: steps and site
};

struct oracle_trace_log {
    const struct oracle_case *test;
    const struct oracle_told *told;
    struct request request; // whose records in the log have not all been seen
    uint64_t requests;
    BASE_ARRAY(struct traced) wanted;
    uint32_t *writers; // by the place of a record: 1 + the lane that wrote it; 0: none
    uint64_t overwritten;
    bool reaches; // the kernel accesses global memory
};

struct oracle_trace_log *oracle_trace_create(const struct oracle_case *test,
                                             const struct oracle_told *told)
{
    struct oracle_trace_log *log = oracle_must(calloc(1, sizeof(*log)));
    log->test = test;
    log->told = told;
    log->writers = oracle_must(calloc(places_of(&told->trace) + 1, sizeof(*log->writers)));
    return log;
}

void oracle_trace_destroy(struct oracle_trace_log *log)
{
    if (!log)
        return;
    base_array_fini(&log->wanted);
    free(log->writers);
    free(log);
}

// Returns the level of a line that is looked at, or LEVELS for all others.
static uint32_t level_of(const struct oracle_trace *trace, uint64_t line)
{
    const uint32_t hash = (uint32_t)line * INSTRUMENT_TRACE_HASH;
    uint64_t most = trace->limit;
    uint32_t level = 0;
    if (hash > most)
        return LEVELS;
    while (level < LEVELS - 1 && hash <= most / 2) {
        most /= 2;
        level++;
    }
    return level;
}

static uint64_t number_of(const struct oracle_trace_log *log, const struct gpusim_log_site *site)
{
    for (unsigned i = 0; i < log->told->site_count; i++) {
        if (log->told->sites[i].index == site->index &&
            strcmp(log->told->sites[i].function, site->function) == 0)
            return 1 + i;
    }
    return 0; // no record has it
}

// Finds the sectors of a line that a request reaches, and above them those that it fills.
static uint64_t sectors_of(const struct request *request, uint64_t line)
{
    bool reached[LINE] = {false};
    uint64_t sectors = 0;
    for (unsigned lane = 0; lane < LANES; lane++) {
        if (!(request->mask >> lane & 1) || request->address[lane] / LINE != line)
            continue;
        for (uint32_t i = 0; i < request->bytes; i++)
            reached[request->address[lane] % LINE + i] = true;
    }
    for (unsigned i = 0; i < SECTORS; i++) {
        unsigned bytes = 0;
        for (unsigned k = 0; k < SECTOR; k++)
            bytes += reached[i * SECTOR + k];
        sectors |= (uint64_t)(bytes > 0) << i;
        sectors |= (uint64_t)(bytes == SECTOR && request->stores) << (SECTORS + i);
    }
    return sectors;
}

static void end_request(struct oracle_trace_log *log)
{
    struct request *request = &log->request;
    uint64_t lines[LANES];
    unsigned count = 0;
    for (unsigned lane = 0; request->site && lane < LANES; lane++) {
        const uint64_t line = request->address[lane] / LINE;
        const uint32_t level = level_of(&log->told->trace, line);
        bool is_first = request->mask >> lane & 1;
        for (unsigned i = 0; i < count; i++)
            is_first &= lines[i] != line;
        if (!is_first || level == LEVELS)
            continue;
        lines[count++] = line;
        struct traced *wanted = oracle_must(base_array_push(&log->wanted));
        *wanted = (struct traced){
            .what = line | sectors_of(request, line) << INSTRUMENT_TRACED_SECTORS_AT |
                    number_of(log, request->site) << INSTRUMENT_TRACED_SITE_AT,
            .warp = (uint32_t)request->block * warps_of(log->test) + request->warp,
            .lane = lane,
            .level = level,
            .order = log->requests,
        };
    }
    log->requests++;
    *request = (struct request){0};
}

static void see_written(struct oracle_trace_log *log, const struct gpusim_log_access *access)
{
    const struct oracle_trace *trace = &log->told->trace;
    const uint64_t bytes = places_of(trace) * sizeof(struct instrument_traced);
    for (uint32_t left = access->mask; left; left &= left - 1) {
        const unsigned lane = (unsigned)__builtin_ctz(left);
        const uint64_t at = access->address[lane] - trace->records_at;
        if (at >= bytes)
            continue;
        uint32_t *writer = &log->writers[at / sizeof(struct instrument_traced)];
        log->overwritten += *writer != 0;
        *writer = 1 + lane;
    }
}

void oracle_trace_see(struct oracle_trace_log *log, const struct gpusim_log_access *access,
                      bool clone)
{
    struct request *request = &log->request;
    if (!access->continued)
        end_request(log);
    if (access->space != GPUSIM_LOG_GLOBAL)
        return;
    if (clone) {
        see_written(log, access);
        return;
    }
    log->reaches = true;
    request->site = access->site;
    request->block = access->block;
    request->warp = access->warp;
    request->bytes = access->bytes;
    request->stores = access->kind == GPUSIM_LOG_STORE;
    request->mask |= access->mask;
    for (uint32_t left = access->mask; left; left &= left - 1)
        request->address[__builtin_ctz(left)] = access->address[__builtin_ctz(left)];
}

// --- Comparing -----------------------------------------------------------------------------------

static int sign(uint64_t one, uint64_t other)
{
    return (one > other) - (one < other);
}

static int by_lane(const void *one, const void *other)
{
    const struct traced *a = one, *b = other;
    if (a->warp != b->warp)
        return sign(a->warp, b->warp);
    return a->lane != b->lane ? sign(a->lane, b->lane) : sign(a->order, b->order);
}

static int by_warp(const void *one, const void *other)
{
    const struct traced *a = one, *b = other;
    if (a->warp != b->warp)
        return sign(a->warp, b->warp);
    return a->order != b->order ? sign(a->order, b->order) : sign(a->what, b->what);
}

static void complain(struct base_buf *complaints, const char *text, const struct traced *record)
{
    base_buf_printf(
        complaints, "%s: warp %u, lane %u, line 0x%llx, sectors 0x%llx, site %llu, order 0x%llx\n",
        text, record->warp, record->lane,
        (unsigned long long)(record->what & ((UINT64_C(1) << INSTRUMENT_TRACED_SECTORS_AT) - 1)),
        (unsigned long long)(record->what >> INSTRUMENT_TRACED_SECTORS_AT & 255),
        (unsigned long long)(record->what >> INSTRUMENT_TRACED_SITE_AT),
        (unsigned long long)record->order);
}

// Compares lists that were sorted in the same way. No lane has two records with equal steps and
// site, which would have no order.
static void compare(const struct traced *told, size_t told_count, const struct traced *wanted,
                    size_t wanted_count, const char *how, struct base_buf *complaints)
{
    const size_t count = told_count < wanted_count ? told_count : wanted_count;
    if (told_count != wanted_count)
        base_buf_printf(complaints, "%zu records, wanted %zu\n", told_count, wanted_count);
    for (size_t i = 0; i < count; i++) {
        const bool ordered = !i || told[i].warp != told[i - 1].warp ||
                             told[i].lane != told[i - 1].lane || told[i].order != told[i - 1].order;
        if (ordered && told[i].what == wanted[i].what && told[i].warp == wanted[i].warp &&
            told[i].lane == wanted[i].lane)
            continue;
        base_buf_printf(complaints, "sorted %s, record %zu differs, or has no order\n", how, i);
        complain(complaints, "told", &told[i]);
        complain(complaints, "wanted", &wanted[i]);
        return;
    }
}

// Records of one warp have equal steps and sites if they are of one request.
static void compare_requests(const struct traced *told, const struct traced *wanted, size_t count,
                             struct base_buf *complaints)
{
    for (size_t i = 1; i < count; i++) {
        if (told[i].warp == told[i - 1].warp && wanted[i].warp == wanted[i - 1].warp &&
            (told[i].order == told[i - 1].order) != (wanted[i].order == wanted[i - 1].order)) {
            complain(complaints, "requests have other bounds", &told[i]);
            return;
        }
    }
}

// Takes the records of a level. Returns how many.
static size_t take_level(const struct oracle_trace_log *log, uint32_t level, struct traced *to,
                         struct base_buf *complaints)
{
    const struct oracle_trace *trace = &log->told->trace;
    const uint32_t count = trace->kept[level];
    for (uint32_t i = 0; i < count; i++) {
        const struct instrument_traced *record = &trace->records[level][i];
        const uint32_t place = trace->places[level][i], writer = log->writers[place];
        const uint64_t block = record->warp / warps_of(log->test);
        to[i] = (struct traced){
            .what = record->what,
            .warp = record->warp,
            .lane = writer - 1,
            .level = level,
            .order = (uint64_t)record->steps << 32 | record->what >> INSTRUMENT_TRACED_SITE_AT,
        };
        if (!writer)
            complain(complaints, "no lane wrote", &to[i]);
        if (level_of(trace, record->what & ((UINT64_C(1) << INSTRUMENT_TRACED_SECTORS_AT) - 1)) !=
            level)
            complain(complaints, "in another level", &to[i]);
        if (block % trace->shelves != place / trace->room % trace->shelves)
            complain(complaints, "on another shelf", &to[i]);
    }
    return count;
}

static size_t take_wanted(const struct oracle_trace_log *log, uint32_t level, struct traced *to)
{
    size_t count = 0;
    for (size_t i = 0; i < log->wanted.count; i++) {
        if (log->wanted.items[i].level == level)
            to[count++] = log->wanted.items[i];
    }
    return count;
}

static int by_lane_and_what(const void *one, const void *other)
{
    const struct traced *a = one, *b = other;
    if (a->what != b->what)
        return sign(a->what, b->what);
    return a->warp != b->warp ? sign(a->warp, b->warp) : sign(a->lane, b->lane);
}

// The records of a level without enough room must be some of those of the log.
static void judge_part(struct traced *told, size_t count, struct traced *wanted,
                       size_t wanted_count, struct base_buf *complaints)
{
    qsort(told, count, sizeof(*told), by_lane_and_what);
    qsort(wanted, wanted_count, sizeof(*wanted), by_lane_and_what);
    for (size_t i = 0, k = 0; i < count; i++, k++) {
        while (k < wanted_count && by_lane_and_what(&told[i], &wanted[k]) > 0)
            k++;
        if (k < wanted_count && by_lane_and_what(&told[i], &wanted[k]) == 0)
            continue;
        complain(complaints, "not in the log", &told[i]);
        return;
    }
}

// Compares the records of all levels that had room.
static void judge_whole(const struct oracle_trace_log *log, struct traced *told, size_t count,
                        struct traced *wanted, size_t wanted_count, struct base_buf *complaints)
{
    qsort(told, count, sizeof(*told), by_lane);
    qsort(wanted, wanted_count, sizeof(*wanted), by_lane);
    compare(told, count, wanted, wanted_count, "by lanes", complaints);
    if (!log->test->together || count != wanted_count)
        return;
    qsort(told, count, sizeof(*told), by_warp);
    qsort(wanted, wanted_count, sizeof(*wanted), by_warp);
    compare(told, count, wanted, wanted_count, "by warps", complaints);
    compare_requests(told, wanted, count, complaints);
}

static void judge_blocks(const struct oracle_trace_log *log, struct base_buf *complaints)
{
    const struct oracle_trace *trace = &log->told->trace;
    const uint64_t count = blocks_of(log->test);
    uint32_t *most = oracle_must(calloc(count + 1, sizeof(*most)));
    for (uint32_t level = 0; level < LEVELS; level++) {
        for (uint32_t i = 0; i < trace->kept[level]; i++) {
            const struct instrument_traced *record = &trace->records[level][i];
            const uint64_t block = record->warp / warps_of(log->test);
            const uint32_t steps =
                record->steps < INSTRUMENT_TRACED_STEPS ? record->steps : INSTRUMENT_TRACED_STEPS;
            if (block < count && steps > most[block])
                most[block] = steps;
        }
    }
    for (uint64_t i = 0; i < count; i++) {
        const struct instrument_traced_block *block = &trace->blocks[i];
        const uint32_t on = block->length % INSTRUMENT_TRACED_PROCESSORS,
                       length = block->length / INSTRUMENT_TRACED_PROCESSORS;
        if (block->began - trace->before_ns > trace->after_ns - trace->before_ns)
            base_buf_printf(complaints, "block %llu began at %u ns, launch %u to %u ns\n",
                            (unsigned long long)i, block->began, trace->before_ns, trace->after_ns);
        if (on != i % trace->multiprocessors)
            base_buf_printf(complaints, "block %llu ran on multiprocessor %u\n",
                            (unsigned long long)i, on);
        if (length < most[i] || (log->test->steps && length != log->test->steps))
            base_buf_printf(complaints, "block %llu executed %u basic blocks, records %u\n",
                            (unsigned long long)i, length, most[i]);
    }
    free(most);
}

void oracle_trace_judge(struct oracle_trace_log *log, struct base_buf *complaints)
{
    const struct oracle_trace *trace = &log->told->trace;
    end_request(log);
    if (log->reaches && !trace->address)
        base_buf_puts(complaints, "the kernel is said to reach nothing\n");
    if (!trace->address)
        return;
    if (log->overwritten)
        base_buf_printf(complaints, "%llu records were overwritten\n",
                        (unsigned long long)log->overwritten);
    struct traced *told = oracle_must(calloc(places_of(trace) + 1, sizeof(struct traced)));
    struct traced *wanted = oracle_must(calloc(log->wanted.count + 1, sizeof(*wanted)));
    size_t count = 0, wanted_count = 0;
    for (uint32_t level = 0; level < LEVELS; level++) {
        const size_t more = take_level(log, level, told + count, complaints),
                     more_wanted = take_wanted(log, level, wanted + wanted_count);
        if (trace->next[level] != more_wanted)
            base_buf_printf(complaints, "level %u: %u records made, wanted %zu\n", level,
                            trace->next[level], more_wanted);
        if (!trace->full[level]) {
            count += more;
            wanted_count += more_wanted;
        } else {
            judge_part(told + count, more, wanted + wanted_count, more_wanted, complaints);
        }
    }
    judge_whole(log, told, count, wanted, wanted_count, complaints);
    judge_blocks(log, complaints);
    free(told);
    free(wanted);
}
