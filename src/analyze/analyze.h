// SPDX-License-Identifier: Apache-2.0
// The public face of src/analyze: a profile in, findings out. A finding is a pattern that something
// in the profile matches, with what fixing it is worth; docs/patterns.md defines the patterns.
// Nothing here writes text for people: that is src/report's, from the numbers that a finding has.
#ifndef GLINT_ANALYZE_ANALYZE_H
#define GLINT_ANALYZE_ANALYZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"
#include "profile/profile.h"

enum analyze_pattern {
    ANALYZE_EARLY_ALLOCATION,
    ANALYZE_LATE_DEALLOCATION,
    ANALYZE_REDUNDANT_ALLOCATION,
    ANALYZE_UNUSED_ALLOCATION,
    ANALYZE_MEMORY_LEAK,
    ANALYZE_TEMPORARY_IDLENESS,
    ANALYZE_DEAD_WRITE,
    ANALYZE_OVERALLOCATION,
    ANALYZE_NON_UNIFORM_ACCESS,
    ANALYZE_STRUCTURED_ACCESS,
    ANALYZE_UNNECESSARY_SYNC,
    ANALYZE_MISPLACED_SYNC,
    ANALYZE_SYNCHRONOUS_TRANSFER,
    ANALYZE_DUPLICATE_TRANSFER,
    ANALYZE_ALLOC_FREE_CHURN,
    ANALYZE_PATTERNS
};

const char *analyze_pattern_word(enum analyze_pattern pattern); // "early-allocation"

// --- Thresholds ----------------------------------------------------------------------------------

// By default those of the paper; where it has none, what its examples need.
struct analyze_thresholds {
    uint32_t early_apis;            // least number of GPU APIs between: allocation and first access
    uint32_t late_apis;             // last access and free
    uint32_t idle_apis;             // two accesses
    uint32_t reuse_percent;         // most by which sizes differ, of the one that could reuse
    uint32_t touched_percent;       // fewer elements than these are touched, and
    uint32_t fragmentation_percent; // what is not touched is less fragmented than this
    uint32_t variation_percent;     // of how often elements are touched; more than this
    uint32_t slices;                // least number of launches that touch a slice of their own
    uint32_t retouched_percent;     // most elements of such an object that are touched again
    uint32_t peaks;                 // how many of the highest are looked at
    uint32_t late_use_us;           // least time from a wait to the first use of what it protects,
    uint32_t late_use_percent;      // and of the time waited,
    uint32_t late_use_calls;        // and calls in between, from which on the wait is misplaced
    uint32_t wait_us;               // least time that the calls of a remedy have waited, in all,
    uint32_t wait_percent;          // and of the run
    uint32_t churns;                // least number of allocations and frees that are alike
};

struct analyze_thresholds analyze_default_thresholds(void);

// A gain that is smaller than one of these is none.
enum {
    ANALYZE_LEAST_BYTES = 4096, // of memory or of traffic,
    ANALYZE_LEAST_WAITS = 4,    // where only the number of waits is known,
    ANALYZE_LEAST_PART = 1000,  // and this part of what it is compared with: 0.1 %
};

// Names and meanings, for command lines: "idle-apis". NULL beyond the last.
const char *analyze_threshold_name(size_t index);
// The field of that name; NULL: none has it.
uint32_t *analyze_threshold(struct analyze_thresholds *thresholds, const char *name);

// --- Peaks of memory in use ----------------------------------------------------------------------

#define ANALYZE_NEVER UINT64_MAX

// Bytes that are in use after the call `start` and no more after the call `end`.
struct analyze_life {
    uint64_t start, end; // end ANALYZE_NEVER: to the end of the program
    uint64_t bytes;
};

struct analyze_peak {
    uint64_t bytes; // in use; UINT64_MAX for more than that
    uint64_t start; // the call after which they first are
    uint64_t end;   // and the call after which fewer are; ANALYZE_NEVER: none
    uint64_t times; // that so many are in use at a peak
};

// A peak is a level that is reached by a rise and left by a fall, or not left at all. Finds the
// `most` highest levels, the highest first, and how many of them there are. Changes by one call are
// one change. BASE_NO_MEMORY.
enum base_code analyze_find_peaks(const struct analyze_life *lives, size_t count,
                                  struct analyze_peak *peaks, size_t most, size_t *found,
                                  struct base_error *error);

// The object is device memory that this process holds, and so counts as memory in use.
bool analyze_counts(enum profile_object_kind kind, uint64_t parent);

// --- Findings ------------------------------------------------------------------------------------

// Those that are alike are one finding: of one pattern, of objects that have one name, or none and
// one call path, at calls that have the same call paths. It is the one of them that is worth most,
// with how many there are and what fixing all of them is worth. What has no call path stands alone.
//
// What the patterns rest on. Objects and calls are numbers of the profile; 0: none. By pattern:
//                        call                    other_call                  other_object
// early-allocation       allocates               first access
// late-deallocation      frees                   last access
// redundant-allocation   allocates               first access                the one to reuse
// unused-allocation      allocates
// memory-leak            allocates               last access, or 0
// temporary-idleness     access before           access after
// dead-write             writes in vain          writes again
// overallocation         allocates               of a pool: most is in parts after it
// non-uniform-access     launches                allocates
// structured-access      first such launch       allocates
// unnecessary-sync       waits
// misplaced-sync         waits                   (other_path: the first use)
// synchronous-transfer   copies                  allocates the host memory, where it is known
// duplicate-transfer     copies again            copied the same before
// alloc-free-churn       frees                   allocates
enum { ANALYZE_MOST_OBJECTS = 100 };

struct analyze_finding {
    enum analyze_pattern pattern;
    uint64_t object, other_object;
    uint64_t call, other_call;
    uint64_t last_call; // of redundant-allocation: the last access of other_object
    uint32_t path;      // of `call`
    uint32_t other_path;
    uint32_t last_path;
    enum profile_call_kind kind, other_kind, last_kind; // of these calls
    uint32_t kernel;       // number; of `call` where the finding is about a kernel; else 0
    uint32_t other_kernel; // of other_call where that is a launch
    uint32_t last_kernel;
    bool has_distance;
    uint64_t distance; // in GPU APIs: the difference of two calls' order
    uint64_t count;    // how many are alike; 1: it stands alone
    uint64_t times;    // how often they were found: idle periods, writes in vain, launches; else 1
    unsigned peak;     // 1: the object makes the highest peak; 2: the next; 0: none
    bool rewritten;    // temporary-idleness: other_call overwrites all of the object
    bool is_pool; // overallocation: of a pool, of which what is in parts at once counts as touched
    bool is_heap; // memory-leak, unused-allocation: a kernel has allocated it
    bool may_be_used; // memory-leak: after the last access that is told

    // The objects of the first of them, the one that is worth most before the others.
    const uint64_t *objects;
    size_t object_count; // at most ANALYZE_MOST_OBJECTS

    // What fixing all of them, and nothing else, is worth.
    uint64_t peak_bytes;    // off the highest peak
    uint64_t traffic_bytes; // that need not be moved
    uint64_t gpu_ns;        // that the GPU need not work
    uint64_t waits;         // that need not be made; known only where times are not real, else 0
    double share; // of the highest peak, of what is moved, of the run time or of all waits,
                  // whichever is most: findings are ranked by it

    // Fixing it brings a gain that is at least as large as ANALYZE_LEAST_* say, by itself or
    // together with others. A gain that is not known is none.
    bool worthwhile;
    bool only_together; // it gains something only when others are fixed as well
    // Then, what is lost of that when all others are fixed and this is not.
    uint64_t together_bytes; // off the highest peak
    uint64_t together_ns;    // off the run time

    // Of elements.
    uint64_t bytes;         // overallocation: enough; structured-access: of the largest slice
    uint64_t elements;      // of the object, and those of them that are
    uint64_t touched;       // touched
    uint32_t element_bytes; // their size
    bool has_fragmentation; // the three below are known, from maps
    double fragmentation;   // 0 to 1
    uint64_t largest_first; // the largest piece that is not touched: its first element
    uint64_t largest_count; // and how many there are
    double variation;       // coefficient of variation of how often elements are touched
    const struct profile_counts *counts; // of that launch; NULL: none

    // Of synchronisation: `times` of the calls of one call path.
    uint64_t host_ns;     // that the run takes less when it is fixed, and nothing else, by replay
    bool host_is_bound;   // too many were found to replay each: host_ns is not more than this
    bool others_need;     // it waits too little to tell, but others would wait here instead
    uint64_t waited_ns;   // by these calls: of copies, and of what a pool does, their own time too
    uint64_t calls;       // of the call path
    uint64_t moved_bytes; // by copies
    bool to_host;         // they copy to the host, not from it
    enum profile_memory memory; // that they use there; NONE: various, or not a copy
    // The first use that comes soonest after such a wait; 0: what it protects is never used.
    uint64_t use_ns;    // after it
    uint64_t use_calls; // calls in between
    uint32_t use_path;
    // Of transfers: where the host memory is allocated and freed; 0: not known.
    uint32_t allocated_path, freed_path;
};

// So many bytes, of a peak or of all that is moved, are a gain.
bool analyze_is_gain(uint64_t bytes, uint64_t whole);

struct analysis;

// Analyses all of a profile. The caller frees the analysis; the profile must stay open as long.
enum base_code analyze_profile(struct profile *profile, const struct analyze_thresholds *thresholds,
                               struct analysis **analysis, struct base_error *error);
void analyze_free(struct analysis *analysis);

// The same for one who needs the rows, too: first all objects, then each call as it is read, and
// after it its accesses. False ends the reading. Accesses of calls that are missing come where
// these would.
struct analyze_listener {
    bool (*object)(void *user, const struct profile_object *object);
    bool (*call)(void *user, const struct profile_call *call);
    bool (*access)(void *user, const struct profile_access *access);
    void *user;
};
enum base_code analyze_profile_beside(struct profile *profile,
                                      const struct analyze_thresholds *thresholds,
                                      const struct analyze_listener *listener,
                                      struct analysis **analysis, struct base_error *error);

// Those that are worthwhile come first; then those on objects of a peak, then by worth; those on
// synchronisation come among them, by the share that they take off the run time, or where times are
// not real, off the number of waits.
size_t analyze_finding_count(const struct analysis *analysis);
size_t analyze_worthwhile_count(const struct analysis *analysis);
const struct analyze_finding *analyze_finding(const struct analysis *analysis, size_t index);

// The profile is of the simulated GPU. Its times, and those of the CPU that simulates it, say
// nothing about a real run: no finding is judged, ranked or rated by them, and all that a finding
// promises in time (host_ns, gpu_ns) is 0.
bool analyze_is_simulated(const struct analysis *analysis);

// The longest chain of GPU APIs that come before the call: allocations, frees, copies, sets and
// launches. 0 where the call is not in the profile.
uint64_t analyze_order(const struct analysis *analysis, uint64_t call);

// The highest first.
size_t analyze_peaks(const struct analysis *analysis, const struct analyze_peak **peaks);

// All findings but those on idle memory followed together: what is left of the highest peak by a
// layout that was found, and what no layout can get below.
uint64_t analyze_achievable_peak(const struct analysis *analysis);
uint64_t analyze_least_peak(const struct analysis *analysis);

// Calls or objects are missing in the profile: then most patterns cannot be told, and are not
// looked for. Launches that may touch more than is told hide findings on the objects that they
// could touch.
bool analyze_is_incomplete(const struct analysis *analysis);
uint64_t analyze_unseen_launches(const struct analysis *analysis);
// Why; a launch of a graph counts for each of its nodes' reasons once.
enum analyze_unseen {
    ANALYZE_UNSEEN_UNWATCHED, // by no probes, or by some that do not see all
    ANALYZE_UNSEEN_POINTER,   // the rest as enum profile_doubt_kind has them
    ANALYZE_UNSEEN_LEFT,
    ANALYZE_UNSEEN_TEXTURE,
    ANALYZE_UNSEEN_WRAPPED,
    ANALYZE_UNSEEN_WORK,
    ANALYZE_UNSEEN_UNTOLD,
    ANALYZE_UNSEEN_REASONS
};
uint64_t analyze_unseen_because(const struct analysis *analysis, enum analyze_unseen reason);

// --- Waits ---------------------------------------------------------------------------------------

// The run: how long it took, and what is left of it when all findings on synchronisation are
// followed together, by replay.
struct analyze_run_time {
    bool tracked;      // first uses were watched for: else nothing is found on synchronisation
    bool is_estimated; // from waits, because GPU times are missing or not on the host's clock
    uint64_t recorded_ns, after_ns;
    uint64_t waited_ns;   // by all calls that waited
    uint64_t unneeded_ns; // of it, by those whose wait was not needed
    uint64_t waits;       // calls that waited, or would have if there had been work
};
const struct analyze_run_time *analyze_run_time(const struct analysis *analysis);

// What the calls of one call path, that wait for the GPU or could have, were good for. A wait is
// judged by the CPU's first use of what it made safe (docs/patterns.md, "Waits").
struct analyze_wait_path {
    uint32_t path;               // of the profile, never 0: what has no path is in no row
    enum profile_call_kind kind; // sync, copy, free, set, module, ...
    uint64_t calls;              // that worked: the sum of the four below
    uint64_t needed;             // what it protects was used soon after, before the next such wait
    uint64_t late;               // it was used before the next such wait, but much later
    uint64_t unneeded;           // nothing it protects was used before the next such wait
    uint64_t unknown;            // nobody can tell
    uint64_t timed;              // of those needed: the clock was read next, to measure a time
    uint64_t waited;             // calls that found work pending
    uint64_t waited_ns;          // by all of them
    bool safe;                   // unneeded at least once; never needed, late or unknown
    bool deferrable; // unneeded or late, never needed or unknown: may be put off to the first use
    bool costly;     // a copy: to pin memory for it would take more than is gained
};

// By path, then by kind.
size_t analyze_wait_path_count(const struct analysis *analysis);
const struct analyze_wait_path *analyze_wait_path(const struct analysis *analysis, size_t index);
// NULL: no call of that kind and path could have waited.
const struct analyze_wait_path *analyze_find_wait_path(const struct analysis *analysis,
                                                       uint32_t path, enum profile_call_kind kind);

#endif
