// SPDX-License-Identifier: Apache-2.0
// poor-coalescing: the threads of a warp access places in global memory that lie so far apart that
// the warp needs more sectors of 32 bytes than their bytes would fill. Threads whose addresses
// follow one another are not reported: they take one sector more than needed if the first address
// is not aligned, which no other layout changes.
#include "analyze/requests.h"

enum {
    SECTOR_BYTES = 32,
    STRUCTURE_BYTES = 128, // threads that are at most so far apart walk over structures, not rows
};

static const struct analyze_threshold sectors_percent = {
    "sectors-percent", "percent", 150,
    "an instruction takes more than this part of the sectors that it needs"};

struct scattered {
    struct analyze_request_facts facts;
    bool is_structure;
};

static void take(struct analyze_run *run, const struct analyze_request_group *group)
{
    const uint32_t bytes = group->site ? group->site->bytes : 0;
    struct scattered scattered = {.facts = analyze_request_facts(group)};
    if (group->stride && group->stride <= bytes)
        return;
    struct analyze_finding finding =
        analyze_begin_request_finding(run, ANALYZE_POOR_COALESCING, group, SECTOR_BYTES);
    scattered.is_structure = group->stride && group->stride <= STRUCTURE_BYTES;
    analyze_set_payload(&finding, scattered);
    analyze_add_finding(run, &finding);
}

static void find(struct analyze_run *run)
{
    analyze_walk_requests(run, false, analyze_limit(run->thresholds, &sectors_percent), take);
}

// --- The description -----------------------------------------------------------------------------

static const struct analyze_field fields[] = {
    ANALYZE_REQUEST_FIELDS(struct scattered, facts, "sectors", "sector"),
    {"is_structure", NULL, ANALYZE_OWN(FLAG, struct scattered, is_structure)},
    {0},
};

const struct analyze_description analyze_poor_coalescing = {
    .name = "poor-coalescing",
    .title = "Warps take more of global memory than they need",
    .definition = "The warps that execute an instruction take more than 1.5 times the sectors of "
                  "32 bytes that their bytes would fill.",
    .remedy = "Let neighbouring threads access neighbouring elements.",
    .paper = "CUDA C++ Best Practices Guide, Coalesced Access to Global Memory",
    .needs = ANALYZE_INPUT_REQUESTS,
    .survives_losses = true,
    .is_about_kernel = true,
    .changes_kernel = true,
    .is_at_line = true,
    .roles = {[ANALYZE_CALL] = {"launched", "the launch"}},
    .thresholds = {&sectors_percent},
    .fields = fields,
    .message =
        "{if brief}{if is_store}stores to{elif is_atomic}atomics on{else}loads from{end} {if "
        "object}{object}{else}global memory{end} in {kernel} take"
        " {sectors/needed:times} times the sectors needed{else}"
        "{if is_store}stores to{elif is_atomic}atomic operations on{else}loads from{end} "
        "{if object}{object}{else}global memory{end} in {kernel}{if line} ({line}){elif "
        "is_joined} ({instructions:unit}; -lineinfo shows their lines){end} take "
        "{sectors/needed:times} times the sectors that they need{if stride}: neighbouring threads "
        "are {stride:unit} apart{end}"
        "{end}",
    .suggestion =
        "{if brief}{if is_structure}turn the array of structures into a structure of arrays{elif "
        "stride}let neighbouring threads access"
        " neighbouring elements{else}lay the data out so that the accesses of a warp lie "
        "together{end}{else}"
        "{if is_structure}turn the array of structures into a structure of arrays, or go through "
        "shared memory, so that neighbouring threads access neighbouring elements{elif stride}let "
        "neighbouring threads access neighbouring elements: exchange the indices that walk along "
        "rows and along columns, or go through a tile in shared memory{else}sort the data, or lay "
        "it out so that what the threads of a warp access at once lies together{end}"
        "{end}",
    .find = find,
};
