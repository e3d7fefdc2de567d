// SPDX-License-Identifier: Apache-2.0
// low-hit-rate: a kernel loads the same data of an object from device memory again and again,
// although a cache could have it. Hit rates and distances come from a model of the caches that
// looks at some lines. Nothing is reported where that is too inexact, or where the numbers do not
// show what would help.
#include "analyze/misses.h"
#include "analyze/requests.h"

enum { SECTOR_BYTES = PROFILE_CACHE_SECTOR_BYTES };

static const struct analyze_threshold least_percent = {
    "miss-percent", "percent", 10,
    "an object causes at least this part of a kernel's traffic with device memory"};
static const struct analyze_threshold saved_percent = {
    "miss-saved-percent", "percent", 25,
    "at least this part of the object's traffic with device memory can be saved"};

struct missed {
    struct analyze_line line;
    const char *remedy;
    uint64_t dram_sectors, kernel_dram_sectors, saved_bytes;
    uint64_t uses, different;
    double l1_hits, l2_hits, error;
    bool is_layout, is_size, in_l1;
};

static const char *word_of(enum analyze_miss_remedy remedy)
{
    switch (remedy) {
    case ANALYZE_MISS_LAYOUT: return "layout";
    case ANALYZE_MISS_SIZE: return "size";
    case ANALYZE_MISS_ORDER: return "order";
    case ANALYZE_MISS_NONE: break;
    }
    return NULL;
}

static struct missed payload_of(const struct analyze_run *run, const struct analyze_miss *miss)
{
    const struct analyze_cache_sum *sum = &miss->sum;
    struct analyze_line line = {0};
    if (miss->place != ANALYZE_NONE && run->model->sites.items[miss->place].line.line)
        line = run->model->sites.items[miss->place].line;
    return (struct missed){
        .line = line,
        .remedy = word_of(miss->remedy),
        .dram_sectors = analyze_cache_dram(sum),
        .kernel_dram_sectors = analyze_cache_dram(&miss->kernel->sum),
        .saved_bytes = miss->saved * SECTOR_BYTES,
        .uses = analyze_cache_all(sum->l1).sectors,
        .different = miss->levels[1].first,
        .l1_hits = analyze_cache_rate(analyze_cache_all(sum->l1)),
        .l2_hits = analyze_cache_rate(analyze_cache_all(sum->l2)),
        .error = (sum->l1_error > sum->l2_error ? sum->l1_error : sum->l2_error) / 100,
        .is_layout = miss->remedy == ANALYZE_MISS_LAYOUT,
        .is_size = miss->remedy == ANALYZE_MISS_SIZE,
        .in_l1 = miss->in_l1,
    };
}

// Returns the highest rate of device memory that a kernel reached, in bytes per nanosecond, by the
// traffic that was modelled. What other analyses know of accesses includes what caches serve.
static double reached_rate(const struct analyze_caches *caches)
{
    double most = 0;
    for (size_t i = 0; i < caches->kernels.count; i++) {
        const struct analyze_cache_kernel *kernel = &caches->kernels.items[i];
        const double rate =
            kernel->gpu_ns ? (double)kernel->timed * SECTOR_BYTES / (double)kernel->gpu_ns : 0;
        most = rate > most ? rate : most;
    }
    return most;
}

// Returns the nanoseconds that launches with a known time save: at most as much of their time as is
// saved of their traffic with device memory.
static double saved_ns(const struct analyze_run *run, const struct analyze_miss *miss)
{
    const struct analyze_cache_kernel *kernel = miss->kernel;
    const double all = (double)analyze_cache_dram(&kernel->sum);
    const double part = (double)miss->saved / all;
    const double ns = analyze_memory_ns(part * (double)kernel->timed * SECTOR_BYTES,
                                        reached_rate(&run->model->caches));
    const double most = (double)kernel->gpu_ns * part;
    return ns < most ? ns : most;
}

static void take(struct analyze_run *run, const struct analyze_miss *miss)
{
    const struct missed missed = payload_of(run, miss);
    struct analyze_finding finding =
        analyze_begin_finding(run, ANALYZE_LOW_HIT_RATE, miss->object,
                              analyze_find_call(run->model, miss->call), ANALYZE_NONE);
    finding.kernel = miss->kernel->kernel;
    finding.aspect = miss->kernel->kernel;
    finding.times = miss->kernel->launches;
    finding.traffic_bytes = missed.saved_bytes;
    finding.traffic_is_bound = true;
    finding.gpu_ns = (uint64_t)saved_ns(run, miss);
    finding.time_is_estimate = true;
    finding.only_time_counts = miss->kernel->gpu_ns != 0;
    analyze_set_payload(&finding, missed);
    analyze_add_finding(run, &finding);
}

static void find(struct analyze_run *run)
{
    analyze_walk_misses(run, analyze_limit(run->thresholds, &least_percent),
                        analyze_limit(run->thresholds, &saved_percent), take);
}

// --- The description -----------------------------------------------------------------------------

static const struct analyze_field fields[] = {
    {"line", "of the instruction that causes most of the object's traffic with device memory",
     ANALYZE_OWN(LINE, struct missed, line)},
    {"remedy", "what would help", ANALYZE_OWN(WORD, struct missed, remedy),
     .values = "layout size order"},
    {"dram_sectors", "that device memory delivers and receives for the object",
     ANALYZE_OWN(COUNT, struct missed, dram_sectors), .unit = "sector"},
    {"kernel_dram_sectors", "that it delivers and receives for the kernel",
     ANALYZE_OWN(COUNT, struct missed, kernel_dram_sectors), .unit = "sector"},
    {"saved_bytes", "that the remedy saves of these, at most",
     ANALYZE_OWN(BYTES, struct missed, saved_bytes)},
    {"uses", "of sectors of the object, by all launches", ANALYZE_OWN(COUNT, struct missed, uses),
     .unit = "sector"},
    {"different", "sectors that are used, summed up over launches",
     ANALYZE_OWN(COUNT, struct missed, different), .unit = "sector"},
    {"l1_hits", "part of these uses that L1 serves", ANALYZE_OWN(REAL, struct missed, l1_hits)},
    {"l2_hits", "part of what reaches L2 that L2 serves",
     ANALYZE_OWN(REAL, struct missed, l2_hits)},
    {"sampling_error", "of the two rates, at most, with 95 % confidence",
     ANALYZE_OWN(REAL, struct missed, error)},
    {"is_layout", NULL, ANALYZE_OWN(FLAG, struct missed, is_layout)},
    {"is_size", NULL, ANALYZE_OWN(FLAG, struct missed, is_size)},
    {"in_l1", NULL, ANALYZE_OWN(FLAG, struct missed, in_l1)},
    {0},
};

const struct analyze_description analyze_low_hit_rate = {
    .name = "low-hit-rate",
    .title = "Caches lose data that is used again",
    .definition = "An object causes at least 10 % of a kernel's traffic with device memory, its "
                  "sectors are used more than once, and another layout, a cache of twice the size "
                  "or another order of blocks would save at least half of the loads that repeat.",
    .remedy = "Lay the data out as warps access it, use less of it at a time, or let blocks that "
              "use the same data run soon after one another.",
    .paper = "Profiner, section 5; Mattson et al., Evaluation techniques for storage hierarchies",
    .needs = ANALYZE_INPUT_CACHE,
    .survives_losses = true,
    .is_about_kernel = true,
    .is_at_line = true,
    .roles = {[ANALYZE_CALL] = {"launched", "the launch"}},
    .thresholds = {&least_percent, &saved_percent},
    .fields = fields,
    .message =
        "{if brief}{object} causes {dram_sectors/kernel_dram_sectors} of the traffic with device "
        "memory in {kernel}{else}"
        "{object} causes {dram_sectors/kernel_dram_sectors} of the traffic with device memory in "
        "{kernel}{if line} ({line}){end}: its sectors are used {uses/different:times} times each, "
        "but L1 serves {l1_hits} of these uses and L2 {l2_hits} of the others (modelled, with a "
        "sampling error of {sampling_error})"
        "{end}",
    .suggestion =
        "{if brief}{if is_layout}lay {object:name} out so that the accesses of a warp lie "
        "together{elif is_size}use half as much data"
        " between two uses of {object:name}{else}let blocks that share a part of {object:name} run "
        "soon after one another{end}{else}"
        "{if is_layout}lay {object:name} out so that what the threads of a warp access at once "
        "lies together, or exchange the indices that walk along rows and along columns{elif "
        "is_size}use half as much data between two uses of {object:name}, by smaller tiles or "
        "narrower types: {if in_l1}an L1{else}an L2{end} cache of twice the size would have "
        "it{else}let blocks that use the same part of {object:name} run soon after one another, "
        "by another order of blocks or by tiles: it is used again when more than L2 holds was used "
        "meanwhile{end}. That saves up to {saved_bytes} of traffic with device memory"
        "{end}",
    .find = find,
};
