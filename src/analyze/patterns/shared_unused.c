// SPDX-License-Identifier: Apache-2.0
// shared-unused: an array of shared memory, or a part of it, that no block of any launch touches.
// Unused words between used ones are padding, which has a purpose: only a part in one piece counts.
#include "analyze/analyses.h"
#include "analyze/occupancy.h"

static const struct analyze_threshold part_bytes = {
    "shared-unused-bytes", "bytes", 1024,
    "a part of an array that is not touched has at least this many bytes in one piece"};
static const struct analyze_threshold part_percent = {"shared-unused-percent", "percent", 12,
                                                      "and more than this part of the array"};

struct unused {
    const char *array;
    uint64_t bytes, unused_bytes, first;
    uint64_t more_blocks;
    bool is_whole, knows_blocks;
};

static bool is_large(const struct analyze_run *run, const struct analyze_shared *shared)
{
    return shared->unused_bytes == shared->bytes ||
           (shared->unused_bytes >= analyze_limit(run->thresholds, &part_bytes) &&
            (unsigned __int128)shared->unused_bytes * 100 >
                (unsigned __int128)shared->bytes * analyze_limit(run->thresholds, &part_percent));
}

static void find(struct analyze_run *run)
{
    for (size_t i = 0; i < run->model->shared.count && !run->failed; i++) {
        const struct analyze_shared *shared = &run->model->shared.items[i];
        if (!shared->is_known || !shared->bytes || !is_large(run, shared))
            continue;
        struct unused unused = {.array = shared->name,
                                .bytes = shared->bytes,
                                .unused_bytes = shared->unused_bytes,
                                .first = shared->unused_first,
                                .is_whole = shared->unused_bytes == shared->bytes};
        unused.more_blocks =
            analyze_more_blocks(&shared->shape, shared->unused_bytes, &unused.knows_blocks);
        struct analyze_finding finding = analyze_begin_finding(
            run, ANALYZE_SHARED_UNUSED, ANALYZE_NONE, shared->call, ANALYZE_NONE);
        finding.kernel = shared->kernel;
        finding.aspect = shared->number;
        finding.times = shared->launches;
        finding.more_blocks = unused.more_blocks;
        finding.gain_is_unknown = !unused.knows_blocks;
        analyze_set_payload(&finding, unused);
        analyze_add_finding(run, &finding);
    }
}

// --- The description -----------------------------------------------------------------------------

static const struct analyze_field fields[] = {
    {"array", "of shared memory, as the source names it", ANALYZE_OWN(NAME, struct unused, array)},
    {"bytes", "of the array in a block", ANALYZE_OWN(BYTES, struct unused, bytes)},
    {"unused_bytes", "in one piece, that no block of any launch touches",
     ANALYZE_OWN(BYTES, struct unused, unused_bytes)},
    {"first", "byte of that piece", ANALYZE_OWN(COUNT, struct unused, first), .unit = "byte"},
    {"more_blocks",
     "that a multiprocessor would hold without it, of those that the largest launch has",
     ANALYZE_OWN(COUNT, struct unused, more_blocks), ANALYZE_KNOWN_IF(struct unused, knows_blocks),
     .unit = "block"},
    {"is_whole", NULL, ANALYZE_OWN(FLAG, struct unused, is_whole)},
    {0},
};

const struct analyze_description analyze_shared_unused = {
    .name = "shared-unused",
    .title = "Shared memory that no thread uses",
    .definition = "No block of any launch of the kernel loads or stores an array of shared memory, "
                  "or a part of it of at least 1 KiB, in one piece, that is more than 12 percent "
                  "of the array.",
    .remedy = "Remove the array, or make it smaller: a multiprocessor then holds more blocks.",
    .paper = "GMProf, section 3.1",
    .needs = ANALYZE_INPUT_SHARED,
    .is_about_kernel = true,
    .changes_kernel = true,
    .roles = {[ANALYZE_CALL] = {"launched", "the launch"}},
    .thresholds = {&part_bytes, &part_percent},
    .fields = fields,
    .message = "no block of {kernel} uses {if is_whole}{array} ({bytes} of shared "
               "memory){else}{unused_bytes} of the {bytes} of {array} in shared memory{end}",
    .suggestion = "{if brief}{if is_whole}remove {array}{else}make {array} smaller; bytes from "
                  "{first} on are not used{end}{else}"
                  "{if is_whole}remove {array}{else}make {array} smaller; bytes from {first} on "
                  "are not used{end}{if more_blocks}: a multiprocessor then holds "
                  "{more_blocks:unit} more{else}. It does not limit how many blocks a "
                  "multiprocessor holds{end}"
                  "{end}",
    .find = find,
};
