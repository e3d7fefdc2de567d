// SPDX-License-Identifier: Apache-2.0
// shared-candidate: blocks load the same words of an object in global memory again and again, and
// what a block loads of it fits into shared memory that is free. An object that the kernel also
// writes is only reported if each block has a part of its own. How much the L1 cache serves is
// unknown, so that what is saved is a bound.
#include "analyze/candidates.h"

static const struct analyze_threshold reuse = {
    "shared-reuse", "loads", 4, "a block loads each word of the object at least this often"};

struct reused {
    struct analyze_line line;
    uint64_t loads, words;
    uint64_t bytes, free_bytes, resident;
    uint64_t blocks, looked_blocks, launches, looked_launches;
    bool is_written;
};

static void take(struct analyze_run *run, const struct analyze_candidate *candidate)
{
    struct analyze_finding finding = analyze_begin_finding(
        run, ANALYZE_SHARED_CANDIDATE, candidate->object, candidate->call, ANALYZE_NONE);
    struct analyze_line line = {0};
    if (candidate->place != ANALYZE_NONE)
        line = run->model->sites.items[candidate->place].line;
    if (!line.line) // compilers have instructions of none
        line = (struct analyze_line){0};
    const struct reused reused = {
        .line = line,
        .loads = candidate->loads,
        .words = candidate->words,
        .bytes = candidate->bytes,
        .free_bytes = candidate->free_bytes,
        .resident = candidate->resident,
        .blocks = candidate->blocks,
        .looked_blocks = candidate->looked_blocks,
        .launches = candidate->launches,
        .looked_launches = candidate->looked_launches,
        .is_written = candidate->is_written,
    };
    finding.kernel = candidate->kernel;
    finding.aspect = candidate->kernel;
    finding.times = candidate->launches;
    finding.traffic_bytes = candidate->saved_bytes;
    finding.traffic_is_bound = true;
    finding.gpu_ns = (uint64_t)candidate->ns;
    finding.time_is_estimate = true;
    finding.only_time_counts = candidate->is_timed;
    analyze_set_payload(&finding, reused);
    analyze_add_finding(run, &finding);
}

static void find(struct analyze_run *run)
{
    const uint32_t least = analyze_limit(run->thresholds, &reuse);
    analyze_walk_candidates(run, least ? least : 1, take);
}

// --- The description -----------------------------------------------------------------------------

static const struct analyze_field fields[] = {
    {"line", "of the instruction that loads most of the object",
     ANALYZE_OWN(LINE, struct reused, line)},
    {"loads", "of words of the object, by threads of the blocks that were looked at",
     ANALYZE_OWN(COUNT, struct reused, loads), .unit = "load"},
    {"words", "different ones that a block loaded, summed up over these blocks",
     ANALYZE_OWN(COUNT, struct reused, words), .unit = "word"},
    {"block_bytes", "of shared memory that a block needs for what it loads, at most",
     ANALYZE_OWN(BYTES, struct reused, bytes)},
    {"free_bytes", "of shared memory that a block may take without fewer blocks being resident",
     ANALYZE_OWN(BYTES, struct reused, free_bytes)},
    {"resident_blocks", "of a multiprocessor", ANALYZE_OWN(COUNT, struct reused, resident),
     .unit = "block"},
    {"blocks", "of the launches that were looked at", ANALYZE_OWN(COUNT, struct reused, blocks),
     .unit = "block"},
    {"blocks_looked_at", "of these", ANALYZE_OWN(COUNT, struct reused, looked_blocks),
     .unit = "block"},
    {"launches", "of the kernel", ANALYZE_OWN(COUNT, struct reused, launches), .unit = "call"},
    {"launches_looked_at", "of these", ANALYZE_OWN(COUNT, struct reused, looked_launches),
     .unit = "call"},
    {"is_written", "whether the kernel also writes the object, each block a part of its own",
     ANALYZE_OWN(FLAG, struct reused, is_written)},
    {0},
};

const struct analyze_description analyze_shared_candidate = {
    .name = "shared-candidate",
    .title = "Blocks load the same data of global memory again and again",
    .definition = "A block loads each word of an object in global memory at least 4 times, and "
                  "what it loads of the object fits into shared memory that is free.",
    .remedy = "Copy what a block needs to shared memory once.",
    .paper = "GMProf, sections 3.2 and 7.1",
    .needs = ANALYZE_INPUT_SHARED,
    .survives_losses = true,
    .is_about_kernel = true,
    .changes_kernel = true,
    .is_at_line = true,
    .roles = {[ANALYZE_CALL] = {"launched", "the launch"}},
    .thresholds = {&reuse},
    .fields = fields,
    .message = "{if brief}each block of {kernel} loads {block_bytes} of {object:name} "
               "{loads/words:times} times{else}"
               "each block of {kernel} loads the same {block_bytes} of {object} from global memory "
               "{loads/words:times} times{if line} ({line}){end}"
               "{end}",
    .suggestion =
        "{if brief}{if is_written}keep each block's part of {object:name} in shared "
        "memory{else}let each block copy it to shared memory once{end}{else}"
        "{if is_written}keep each block's part of {object} in shared memory, and write it back at "
        "the end if it is needed later{else}let each block copy what it loads of {object} to "
        "shared memory once, and load it from there{end}: {free_bytes} are free, with "
        "{resident_blocks:unit} per multiprocessor as now. The L1 cache may already serve a part "
        "of these loads"
        "{end}",
    .find = find,
};
