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

// From the call `from` on, to before `to`, so many bytes fewer are in use; or more.
struct analyze_change {
    uint32_t from, to;
    uint64_t bytes;
    uint32_t group; // whose fix it is
    bool more;
    uint32_t pool; // 1 + index of the object of whose parts; 0: of the device's memory
};

struct analyze_member {
    uint32_t group, object; // indices
};

// What the fix of a finding changes about one object, kept until it is known which findings are
// worthwhile.
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
    struct analyze_replay *replay;
    BASE_ARRAY(struct analyze_finding) findings; // groups
    BASE_ARRAY(struct analyze_worth) best;       // of each, that of its best member alone
    struct base_map smaller;                     // number of an object to the bytes that would do
    bool *dead;                                  // touches: writes in vain that are found
    BASE_ARRAY(struct analyze_fix) fixes;        // of those that the achievable peak rests on
    uint64_t moved_bytes;                        // that copies and sets read and wrote
    // Of the pattern that is looked for.
    struct base_map groups; // key to index + 1 in findings
    BASE_ARRAY(struct analyze_member) members;
    BASE_ARRAY(struct analyze_change) changes;
    bool failed; // memory ran out
};

// --- Findings (groups.c) -------------------------------------------------------------------------

// A finding on an object, with what is known of its calls; NONE: there is none.
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
// Adds it, with what it is worth alone, to those that are alike. Returns which group that is; NONE
// when memory ran out.
uint32_t analyze_add_finding(struct analyze_run *run, const struct analyze_finding *finding);
// What its fix changes, together with those of the group.
void analyze_add_change(struct analyze_run *run, uint32_t group, struct analyze_change change);
// What its fix changes about an object, for when several findings are fixed together.
void analyze_add_fix(struct analyze_run *run, uint32_t group, const struct analyze_object *object,
                     uint32_t from, uint32_t to, uint64_t bytes);
// Adds a finding whose fix is that its object uses so many bytes fewer from one call to another.
void analyze_add_shorter(struct analyze_run *run, struct analyze_finding *finding,
                         const struct analyze_object *object, uint32_t from, uint32_t to,
                         uint64_t bytes);
// All of a pattern are added: groups, from this one on, get the worth of all their members.
void analyze_end_pattern(struct analyze_run *run, size_t first);
// Those of the highest peak first; then by worth; then as objects and patterns come. For qsort, of
// pointers to findings.
int analyze_by_rank(const void *one, const void *other);

// --- What analyses ask ---------------------------------------------------------------------------

// Memory of the device whose life and uses calls tell, and that is no pool of other objects.
bool analyze_is_subject(const struct analyze_object *object);

// GPU APIs between two calls, by their order; 0 where the second does not come later.
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

// --- What a change of lives is worth (replay.c) --------------------------------------------------

// Memory in use after each call, by the lives of the model's objects. NULL when memory ran out.
struct analyze_replay *analyze_replay_new(const struct analyze_model *model);
void analyze_replay_free(struct analyze_replay *replay);
// By how much the highest peak is lower with these changes. Where memory ran out it is said to be
// nothing, and the replay has failed.
uint64_t analyze_replay_gain(struct analyze_replay *replay, const struct analyze_change *changes,
                             size_t count);
bool analyze_replay_failed(const struct analyze_replay *replay);
// The most that is in a pool's parts at once, and the first call after which it is; 0: it is none
// whose parts say how large it must be (analyze_is_pool).
uint64_t analyze_replay_parts_peak(const struct analyze_replay *replay, uint32_t pool,
                                   uint32_t *call);
// In which memory a change of the object is: analyze_change's pool. False: in none that counts.
static inline bool analyze_change_of(const struct analyze_object *object, uint32_t *pool)
{
    *pool = object->parent == ANALYZE_NONE ? 0 : object->parent + 1;
    return object->counts || *pool;
}

// --- All together (achievable.c, pack.c) ---------------------------------------------------------

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

// The gain is not less than the least part of what it is compared with (ANALYZE_LEAST_PART).
static inline bool analyze_is_part(uint64_t gain, uint64_t whole)
{
    return gain && (unsigned __int128)gain * ANALYZE_LEAST_PART >= whole;
}

// worth.c: sets which findings are worthwhile, from what they are worth. False when memory ran out.
struct analyze_run_time;
bool analyze_weigh(struct analyze_run *run, const struct analyze_run_time *time);

// What is left of the peak when all that was found is fixed, and what no layout can be below. False
// when memory ran out.
bool analyze_achievable(const struct analyze_run *run, uint64_t peak, uint64_t *achievable,
                        uint64_t *least);

#endif
