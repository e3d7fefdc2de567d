// SPDX-License-Identifier: Apache-2.0
// shared-no-reuse: data in shared memory that is loaded at most once before it is replaced, and
// only by the thread that stored it. Shared memory is for data that threads exchange or load
// repeatedly; a register does what this array does. An array that is stored and never loaded is
// something else: the stores are for nothing. Live ranges are known only in launches that were
// traced; of the others it is known that no word was loaded more often than it was stored.
#include "analyze/occupancy.h"
#include "analyze/requests.h"

enum { WORD_BYTES = 4, WAVEFRONT_BYTES = 128 };

static const struct analyze_threshold registers = {
    "no-reuse-registers", "registers", 8,
    "at most so many words of the array for each thread of a block, which take as many registers"};

struct no_reuse {
    struct analyze_line line;
    const char *array;
    uint64_t bytes, ranges, loads, words, launches, traced;
    uint64_t more_blocks;
    bool knows_blocks, is_part;
};

static bool matches(const struct analyze_run *run, const struct analyze_shared *shared)
{
    return shared->is_known && shared->traced && shared->lives.loads && !shared->lives.again &&
           !shared->lives.unstored && shared->lives.own == shared->lives.loads &&
           !shared->loads_exceed &&
           shared->touched_words <=
               (uint64_t)shared->shape.threads * analyze_limit(run->thresholds, &registers);
}

// Returns the place of the row's instruction in the source, by which sites that the compiler made
// of one instruction are recognized.
static bool is_at(const struct analyze_run *run, const struct analyze_requests *row,
                  struct analyze_line line)
{
    const struct analyze_site *site =
        row->place == ANALYZE_NONE ? NULL : &run->model->sites.items[row->place];
    return site && line.file && site->line.file == line.file && site->line.line == line.line &&
           site->line.column == line.column;
}

// Adds the time of the wavefronts that stores at the line take in a call, and that as many bytes of
// loads take at least.
static void add_time(struct analyze_run *run, const struct analyze_shared *shared,
                     struct analyze_line line, const struct analyze_requests *rows, size_t count,
                     struct analyze_finding *finding)
{
    struct analyze_request_sums sums;
    struct analyze_requests saved = {.call = rows[0].call, .shared = true};
    for (size_t i = 0; i < count; i++) {
        if (rows[i].shared && rows[i].kernel == shared->kernel && is_at(run, &rows[i], line))
            saved.taken += rows[i].taken;
    }
    if (!saved.taken || !analyze_has_request_time(run, saved.call))
        return;
    saved.taken += shared->loads / shared->launches * WORD_BYTES / WAVEFRONT_BYTES;
    run->failed |= !analyze_sum_requests(rows, count, &sums);
    if (saved.taken > sums.shared_taken)
        saved.taken = sums.shared_taken;
    finding->gpu_ns += (uint64_t)analyze_request_ns(run, &sums, &saved);
    finding->time_is_estimate = finding->only_time_counts = true;
    analyze_request_sums_fini(&sums);
}

static void add_times(struct analyze_run *run, const struct analyze_shared *shared,
                      struct analyze_line line, struct analyze_finding *finding)
{
    const struct analyze_requests *rows = run->model->requests.items;
    const size_t count = run->model->requests.count;
    for (size_t i = 0, next; i < count && !run->failed; i = next) {
        for (next = i; next < count && rows[next].call == rows[i].call;)
            next++;
        add_time(run, shared, line, &rows[i], next - i, finding);
    }
}

static void find(struct analyze_run *run)
{
    for (size_t i = 0; i < run->model->shared.count && !run->failed; i++) {
        const struct analyze_shared *shared = &run->model->shared.items[i];
        if (!matches(run, shared))
            continue;
        struct no_reuse payload = {.array = shared->name,
                                   .bytes = shared->bytes,
                                   .ranges = shared->lives.ranges,
                                   .loads = shared->lives.loads,
                                   .words = shared->touched_words,
                                   .launches = shared->launches,
                                   .traced = shared->traced,
                                   .is_part = shared->traced < shared->launches};
        if (shared->place != ANALYZE_NONE)
            payload.line = run->model->sites.items[shared->place].line;
        payload.more_blocks =
            analyze_more_blocks(&shared->shape, shared->bytes, &payload.knows_blocks);
        struct analyze_finding finding = analyze_begin_finding(
            run, ANALYZE_SHARED_NO_REUSE, ANALYZE_NONE, shared->call, ANALYZE_NONE);
        finding.kernel = shared->kernel;
        finding.aspect = shared->number;
        finding.times = shared->launches;
        finding.traffic_bytes = (shared->stores + shared->loads) * WORD_BYTES;
        finding.traffic_is_bound = true;
        finding.more_blocks = payload.more_blocks;
        add_times(run, shared, payload.line, &finding);
        analyze_set_payload(&finding, payload);
        analyze_add_finding(run, &finding);
    }
}

// --- The description -----------------------------------------------------------------------------

static const struct analyze_field fields[] = {
    {"line", "of the instruction that stores most of the data",
     ANALYZE_OWN(LINE, struct no_reuse, line)},
    {"array", "of shared memory, as the source names it",
     ANALYZE_OWN(NAME, struct no_reuse, array)},
    {"bytes", "of the array in a block", ANALYZE_OWN(BYTES, struct no_reuse, bytes)},
    {"ranges", "live ranges of its words, by all blocks of the launches that were traced",
     ANALYZE_OWN(COUNT, struct no_reuse, ranges), .unit = "range"},
    {"loads", "in these", ANALYZE_OWN(COUNT, struct no_reuse, loads), .unit = "load"},
    {"words", "of the array in a block that are used", ANALYZE_OWN(COUNT, struct no_reuse, words),
     .unit = "word"},
    {"launches", "of the kernel", ANALYZE_OWN(COUNT, struct no_reuse, launches), .unit = "call"},
    {"launches_traced", "of these", ANALYZE_OWN(COUNT, struct no_reuse, traced), .unit = "call"},
    {"more_blocks",
     "that a multiprocessor would hold without the array, of those that the largest launch has",
     ANALYZE_OWN(COUNT, struct no_reuse, more_blocks),
     ANALYZE_KNOWN_IF(struct no_reuse, knows_blocks), .unit = "block"},
    {"is_part", NULL, ANALYZE_OWN(FLAG, struct no_reuse, is_part)},
    {0},
};

const struct analyze_description analyze_shared_no_reuse = {
    .name = "shared-no-reuse",
    .title = "Shared memory that only passes data from a thread to itself",
    .definition =
        "Data in an array of shared memory is loaded at most once before it is replaced, and only "
        "by the thread that stored it, in the launches of the kernel that were traced. An array "
        "that is stored and never loaded is not this pattern: its stores are for nothing.",
    .remedy = "Keep the value in a register of the thread.",
    .paper = "GMProf, sections 5 and 7.3",
    .needs = ANALYZE_INPUT_SHARED,
    .is_about_kernel = true,
    .changes_kernel = true,
    .is_at_line = true,
    .roles = {[ANALYZE_CALL] = {"launched", "the launch"}},
    .thresholds = {&registers},
    .fields = fields,
    .message = "{if brief}{array} in shared memory of {kernel} only passes values from a thread to "
               "itself{else}"
               "{array} in shared memory of {kernel}{if line} ({line}){end} is not shared: each "
               "value is loaded at most once, by the thread that stored it{if is_part}, in the "
               "{launches_traced} of {launches} launches that were traced{end}"
               "{end}",
    .suggestion = "{if brief}keep the value in a register; that frees {bytes} in each block{else}"
                  "keep the value in a register instead; that frees {bytes} of shared memory in "
                  "each block{if more_blocks}, and a multiprocessor then holds {more_blocks:unit} "
                  "more{end}"
                  "{end}",
    .find = find,
};
