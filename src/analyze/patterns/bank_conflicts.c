// SPDX-License-Identifier: Apache-2.0
// bank-conflicts: several threads of a warp access different words in one bank of shared memory,
// which delivers one word at a time. Banks repeat every 32 words. If threads are s words apart,
// they reach 32 / gcd(s, 32) banks; rows that are one element longer make s odd.
#include "analyze/requests.h"

enum {
    WORD_BYTES = 4,
    WAVEFRONT_BYTES = 128, // a word of each bank
};

static const struct analyze_threshold wavefronts_percent = {
    "wavefronts-percent", "percent", 150,
    "an instruction takes more than this part of the wavefronts that it needs"};

struct conflicts {
    struct analyze_request_facts facts;
    uint64_t words; // between neighbouring threads; 0: unknown, or none that padding helps
    bool is_narrow; // elements are smaller than a word
};

static void take(struct analyze_run *run, const struct analyze_request_group *group)
{
    const uint32_t bytes = group->site ? group->site->bytes : 0;
    struct conflicts conflicts = {.facts = analyze_request_facts(group)};
    struct analyze_finding finding =
        analyze_begin_request_finding(run, ANALYZE_BANK_CONFLICTS, group, WAVEFRONT_BYTES);
    // A number has a divisor in common with 32 if it is even.
    if (group->stride % (2 * WORD_BYTES) == 0 && bytes)
        conflicts.words = group->stride / WORD_BYTES;
    conflicts.is_narrow = bytes < WORD_BYTES;
    analyze_set_payload(&finding, conflicts);
    analyze_add_finding(run, &finding);
}

static void find(struct analyze_run *run)
{
    analyze_walk_requests(run, true, analyze_limit(run->thresholds, &wavefronts_percent), take);
}

// --- The description -----------------------------------------------------------------------------

static const struct analyze_field fields[] = {
    {"array", "of shared memory, as the source names it; null if it is unknown",
     ANALYZE_OWN(NAME, struct conflicts, facts.array)},
    ANALYZE_REQUEST_FIELDS(struct conflicts, facts, "wavefronts", "wavefront"),
    {"words", NULL, ANALYZE_OWN(COUNT, struct conflicts, words), .unit = "word"},
    {"is_narrow", NULL, ANALYZE_OWN(FLAG, struct conflicts, is_narrow)},
    {0},
};

const struct analyze_description analyze_bank_conflicts = {
    .name = "bank-conflicts",
    .title = "Threads of a warp wait for one bank of shared memory",
    .definition = "The warps that execute an instruction on shared memory take more than 1.5 times "
                  "the wavefronts that their bytes would fill.",
    .remedy = "Arrange the array so that the threads of a warp access different banks.",
    .paper = "CUDA C++ Best Practices Guide, Shared Memory and Memory Banks",
    .needs = ANALYZE_INPUT_REQUESTS,
    .survives_losses = true,
    .is_about_kernel = true,
    .changes_kernel = true,
    .is_at_line = true,
    .roles = {[ANALYZE_CALL] = {"launched", "the launch"}},
    .thresholds = {&wavefronts_percent},
    .fields = fields,
    .message =
        "{if brief}{if is_store}stores to{elif is_atomic}atomics on{else}loads from{end} {if "
        "array}{array}{else}shared memory{end} in {kernel} take"
        " {wavefronts/needed:times} times the wavefronts needed{else}"
        "{if is_store}stores to{elif is_atomic}atomic operations on{else}loads from{end} {if "
        "array}{array} in {end}shared memory {if array}of{else}in{end} {kernel}{if line} "
        "({line}){elif is_joined} ({instructions:unit}; -lineinfo shows their lines){end} take "
        "{wavefronts/needed:times} times the wavefronts that they need{if words}: neighbouring "
        "threads are {words:unit} apart{end}"
        "{end}",
    .suggestion =
        "{if brief}{if words}make rows {if array}of {array} {end}{if is_narrow}4 bytes{else}one "
        "element{end} longer, as in [32][33]{else}let the"
        " threads of a warp access different banks{end}{else}"
        "{if words}make rows {if array}of {array} {end}{if is_narrow}4 bytes longer{else}one "
        "element longer, as in [32][33] instead of [32][32]{end}, so that neighbouring threads "
        "access different "
        "banks{else}arrange the "
        "array so that the threads of a warp access different banks{end}"
        "{end}",
    .find = find,
};
