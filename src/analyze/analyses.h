// SPDX-License-Identifier: Apache-2.0
// What an analysis is: a function that looks at the model and adds findings, one file each, with a
// row in the list of analyze.c. Inner header of src/analyze.
#ifndef GLINT_ANALYZE_ANALYSES_H
#define GLINT_ANALYZE_ANALYSES_H

#include "model.h"

struct analyze_replay;

struct analyze_run {
    struct analyze_model *model;
    const struct analyze_clocks *clocks;
    const struct analyze_thresholds *thresholds;
    struct analyze_replay *replay;
    uint32_t peak; // index of the call that makes the highest peak; NONE: none
    BASE_ARRAY(struct analyze_finding) findings;
    bool failed; // memory ran out
};

typedef void analyze_analysis(struct analyze_run *run);
analyze_analysis analyze_early_allocation, analyze_late_deallocation, analyze_redundant_allocation,
    analyze_unused_allocation, analyze_memory_leak, analyze_temporary_idleness, analyze_dead_write,
    analyze_overallocation, analyze_non_uniform_access, analyze_structured_access;

// A new finding on an object, with what is known of its calls; NONE: there is none. Valid until the
// next; NULL when memory ran out.
struct analyze_finding *analyze_add_finding(struct analyze_run *run, enum analyze_pattern pattern,
                                            uint32_t object, uint32_t call, uint32_t other_call);

// Memory of the device whose life and uses calls tell, and that is no pool of other objects. Parts
// are, but no call tells when they begin and end.
bool analyze_is_subject(const struct analyze_object *object);

// GPU APIs between two calls, by their order; 0 where the second does not come later.
static inline uint32_t analyze_apis_between(const struct analyze_model *model, uint32_t one,
                                            uint32_t other)
{
    uint32_t a = analyze_last_order(model, one), b = model->calls.items[other].order;
    return b > a ? b - a - 1 : 0;
}

// The object is idle between two accesses that follow each other (temporary_idleness.c).
bool analyze_is_idle(const struct analyze_model *model, const struct analyze_thresholds *thresholds,
                     const struct analyze_object *object, uint32_t before, uint32_t after);

// Sets the finding's distance from one call to another.
static inline void analyze_set_distance(const struct analyze_model *model,
                                        struct analyze_finding *finding, uint32_t one,
                                        uint32_t other)
{
    uint32_t a = analyze_last_order(model, one), b = model->calls.items[other].order;
    finding->has_distance = true;
    finding->distance = b > a ? b - a : 0;
}

// --- What a change of lives is worth (replay.c) --------------------------------------------------

// Memory in use after each call, by the lives of the model's objects. NULL when memory ran out.
struct analyze_replay *analyze_replay_new(const struct analyze_model *model);
void analyze_replay_free(struct analyze_replay *replay);
// From the call `from` on, to before `to`, so many bytes fewer or more are in use.
void analyze_replay_less(struct analyze_replay *replay, uint32_t from, uint32_t to, uint64_t bytes);
void analyze_replay_more(struct analyze_replay *replay, uint32_t from, uint32_t to, uint64_t bytes);
// By how much the highest peak is lower after these changes, which then are taken back.
uint64_t analyze_replay_gain(struct analyze_replay *replay);

// What it is worth that an object uses so many bytes less in that time; 0 where it does not count.
static inline uint64_t analyze_gain(struct analyze_run *run, const struct analyze_object *object,
                                    uint32_t from, uint32_t to, uint64_t bytes)
{
    if (!object->counts || from >= to)
        return 0;
    analyze_replay_less(run->replay, from, to, bytes);
    return analyze_replay_gain(run->replay);
}

// --- All together (achievable.c, pack.c)
// -----------------------------------------------------------------------

// A piece of memory that is needed from one call to before another.
struct analyze_block {
    uint32_t from, to;
    uint64_t bytes;
    uint32_t device;
};

// The height of a layout that was found in which blocks that are needed at the same time do not
// overlap, each aligned as the driver does it; and what no layout can be below: the most bytes
// needed at one moment. False when memory ran out.
bool analyze_pack(const struct analyze_block *blocks, size_t count, uint64_t *height,
                  uint64_t *least);

// What is left of the peak when all that was found is fixed, and what no layout can be below. False
// when memory ran out.
bool analyze_achievable(const struct analyze_run *run, uint64_t peak, uint64_t *achievable,
                        uint64_t *least);

#endif
