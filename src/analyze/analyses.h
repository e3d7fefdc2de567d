// SPDX-License-Identifier: Apache-2.0
// What the files of src/analyze/patterns use to find their pattern in the model and to add
// findings. Inner header of src/analyze.
#ifndef GLINT_ANALYZE_ANALYSES_H
#define GLINT_ANALYZE_ANALYSES_H

#include <assert.h>
#include <string.h>

#include "model.h"
#include "thresholds.h"

struct analyze_replay;

struct analyze_worth {
    uint64_t peak_bytes, traffic_bytes, gpu_ns;
};

// A change of memory in use: from the call `from` until before `to`, `bytes` fewer, or more.
struct analyze_change {
    uint32_t from, to;
    uint64_t bytes;
    uint32_t group; // index of the finding whose fix it is
    bool more;
    uint32_t pool;   // 1 + index of the pool whose parts change; 0: device memory changes
    uint32_t device; // number of the device whose memory it is
};

struct analyze_member {
    uint32_t group, object; // indices
};

// What the fix of a finding changes about one object; kept until worthwhile findings are chosen.
struct analyze_fix {
    uint32_t object; // index
    struct analyze_change change;
};

struct analyze_run {
    struct analyze_model *model;
    const struct analyze_clocks *clocks;
    const struct analyze_thresholds *thresholds;
    const struct analyze_peak *peaks;
    size_t peak_count;
    uint64_t peak_bytes; // the sum of the highest of each device
    struct analyze_replay *replay;
    BASE_ARRAY(struct analyze_finding) findings; // one for each group of similar matches
    BASE_ARRAY(struct analyze_worth) best; // of each finding, the worth of its best match alone
    struct base_map smaller;               // number of an object to the bytes that are enough
    bool *dead;                            // by access: it is a write that dead-write found
    BASE_ARRAY(struct analyze_fix) fixes;  // of findings that count for the achievable peak
    uint64_t moved_bytes;                  // that copies and sets read and write
    uint64_t used_bytes;                   // the same, and what kernels do, as far as it is known
    double bandwidth;                      // bytes per nanosecond, if has_bandwidth; 0: unknown
    bool has_bandwidth;
    struct { // thresholds of patterns of values
        uint32_t elements, frequent_percent, linear_percent;
    } value_limits;
    // Of the pattern that is being searched for.
    struct base_map groups; // key to index + 1 in findings
    BASE_ARRAY(struct analyze_member) members;
    BASE_ARRAY(struct analyze_change) changes;
    bool failed; // memory ran out
};

// --- Findings (groups.c) -------------------------------------------------------------------------

// Returns a finding on an object with its calls filled in; the object or a call may be NONE.
struct analyze_finding analyze_begin_finding(const struct analyze_run *run,
                                             enum analyze_pattern pattern, uint32_t object,
                                             uint32_t call, uint32_t other_call);
// Writes the pattern's own structure `own`, a variable, into the finding.
#define analyze_set_payload(finding, own)                                                \
    do {                                                                                 \
        static_assert(sizeof(own) <= ANALYZE_PAYLOAD_BYTES, "the payload is too large"); \
        memcpy((finding)->payload.bytes, &(own), sizeof(own));                           \
    } while (0)
// So many bytes of the object would be enough, for the achievable peak.
void analyze_set_enough(struct analyze_run *run, const struct analyze_object *object,
                        uint64_t bytes);
// Adds a match, with its worth alone, to the finding of similar matches. Returns the index of that
// finding; NONE when memory ran out, and for code of libraries that the user cannot change.
uint32_t analyze_add_finding(struct analyze_run *run, const struct analyze_finding *finding);
// The same as analyze_place_of(); a call without a call path has its own.
uint64_t analyze_place_of_call(const struct analyze_model *model, uint32_t path, uint64_t call);
// Keys by which similar matches are recognized; and objects of one name and call path, in matches
// of patterns that are about an object.
uint64_t analyze_key_of(const struct analyze_run *run, const struct analyze_finding *finding);
uint64_t analyze_key_of_object(const struct analyze_run *run, const struct analyze_object *object);
// A key of objects that the same call path allocates with the same name and size. Whoever changes
// the allocation for one of them changes it for all.
uint64_t analyze_key_of_alike(const struct analyze_run *run, const struct analyze_object *object);
// Adds what fixing a match of the finding changes.
void analyze_add_change(struct analyze_run *run, uint32_t group, struct analyze_change change);
// Adds what fixing it changes about one object, for computing the worth of several findings
// together.
void analyze_add_fix(struct analyze_run *run, uint32_t group, const struct analyze_object *object,
                     uint32_t from, uint32_t to, uint64_t bytes);
// Adds a match whose fix is that its object uses `bytes` fewer in the calls [from, to).
void analyze_add_shorter(struct analyze_run *run, struct analyze_finding *finding,
                         const struct analyze_object *object, uint32_t from, uint32_t to,
                         uint64_t bytes);
// Ends a pattern: its findings, from index `first` on, get the worth of all their matches.
void analyze_end_pattern(struct analyze_run *run, size_t first);
// Compares pointers to findings by rank, for qsort.
int analyze_by_rank(const void *one, const void *other);

// --- Helpers for analyses ------------------------------------------------------------------------

// Returns whether the object is device memory whose life and accesses are all known from calls,
// that the program itself got, and not a pool of other objects.
bool analyze_is_subject(const struct analyze_object *object);
// Returns whether nothing accesses the object, or copies and sets write to it and nothing reads it.
bool analyze_is_unused(const struct analyze_model *model, const struct analyze_object *object);

// Returns the number of GPU API calls between two calls; 0 if the second does not come later.
static inline uint32_t analyze_apis_between(const struct analyze_model *model, uint32_t one,
                                            uint32_t other)
{
    uint32_t a = analyze_last_order(model, one), b = model->calls.items[other].order;
    return b > a ? b - a - 1 : 0;
}

// Sets the finding's distance from one call to another.
static inline void analyze_set_distance(const struct analyze_model *model,
                                        struct analyze_finding *finding, uint32_t one,
                                        uint32_t other)
{
    uint32_t a = analyze_last_order(model, one), b = model->calls.items[other].order;
    finding->has_distance = true;
    finding->distance = b > a ? b - a : 0;
}

// --- The worth of changing lives (replay.c) ------------------------------------------------------

// Returns the memory in use after each call, by the lives of the model's objects, for replays; NULL
// when memory ran out. The caller frees it.
struct analyze_replay *analyze_replay_new(const struct analyze_model *model);
void analyze_replay_free(struct analyze_replay *replay);
// Returns by how much the changes lower the highest peak: with several devices, the sum of how much
// they lower each one's. When memory ran out it returns 0, and
// analyze_replay_failed returns true from then on.
uint64_t analyze_replay_gain(struct analyze_replay *replay, const struct analyze_change *changes,
                             size_t count);
bool analyze_replay_failed(const struct analyze_replay *replay);
// Returns the most bytes that are in the parts of a pool at once, and stores the first call after
// which they are. Returns 0 if the object is not a pool (analyze_is_pool).
uint64_t analyze_replay_parts_peak(const struct analyze_replay *replay, uint32_t pool,
                                   uint32_t *call);
// Stores in a change of the object which memory it concerns. Returns false if that does not count
// as memory in use.
static inline bool analyze_change_of(const struct analyze_object *object,
                                     struct analyze_change *change)
{
    change->pool = object->counts || object->parent == ANALYZE_NONE ? 0 : object->parent + 1;
    change->device = object->device;
    return object->counts || change->pool;
}

// --- All findings together (achievable.c, pack.c, worth.c) ---------------------------------------

// A piece of memory that is needed from one call to before another.
struct analyze_block {
    uint32_t from, to;
    uint64_t bytes;
    uint32_t device;
};

// Stores the height of a layout in which blocks that are needed at the same time do not overlap,
// with the driver's alignment, and a lower bound: the most bytes needed at one moment. Returns
// false when memory ran out.
bool analyze_pack(const struct analyze_block *blocks, size_t count, uint64_t *height,
                  uint64_t *least);

// Returns whether the gain is at least the least part of the whole (ANALYZE_LEAST_PART).
static inline bool analyze_is_part(uint64_t gain, uint64_t whole)
{
    return gain && (unsigned __int128)gain * ANALYZE_LEAST_PART >= whole;
}

// value_worth.c: returns the highest bandwidth of device memory in the recording, in bytes per
// nanosecond; 0 if it is unknown.
double analyze_bandwidth(struct analyze_run *run);

// worth.c: decides which findings are worthwhile. Returns false when memory ran out.
struct analyze_run_time;
bool analyze_weigh(struct analyze_run *run, const struct analyze_run_time *time);

// Stores the highest peak if everything that was found is fixed, by levels. Returns false when
// memory ran out.
bool analyze_achievable(const struct analyze_run *run, uint64_t peak,
                        struct analyze_levels *levels);
// Finds the first and last call for which the object's memory is needed. Dead writes do not count,
// because their fix removes them; calls that may access the object unobserved do. delays: copies
// and sets that only initialize it are delayed. Returns false if nothing needs the memory.
bool analyze_needed_time(const struct analyze_run *run, const struct analyze_object *object,
                         bool delays, uint32_t *first, uint32_t *last);
// Returns whether the object gets a block of the layout. For a pool, its parts get blocks instead.
bool analyze_is_laid_out(const struct analyze_model *model, const struct analyze_object *object);

// swaps.c: an object that is on the host between two of its uses.
struct analyze_swap {
    uint32_t object, before, after; // indices; of the calls that use it
};

struct analyze_swaps {
    BASE_ARRAY(struct analyze_swap) rows; // by object, then by call
    uint64_t copied_bytes, copy_ns;       // copy_ns 0: unknown
};

// Returns how fast the program's large copies between host and device were, in bytes per
// nanosecond; 0 if that is unknown.
double analyze_host_rate(const struct analyze_model *model);

// Finds which objects to move to the host while they are idle, so that the peak falls. The caller
// frees the rows. Returns false when memory ran out.
bool analyze_find_swaps(const struct analyze_run *run, struct analyze_swaps *swaps);

#endif
