// SPDX-License-Identifier: Apache-2.0
// The public face of src/analyze: a profile in, findings out. A finding is a pattern that something
// in the profile matches, with what fixing it is worth; docs/reference/patterns.md defines the
// patterns. Nothing here writes text for people: that is src/report's, from the numbers that a
// finding has.
#ifndef GLINT_ANALYZE_ANALYZE_H
#define GLINT_ANALYZE_ANALYZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"
#include "pattern.h"
#include "profile/profile.h"

// --- Thresholds ----------------------------------------------------------------------------------

// A value for each threshold of each pattern; thresholds.c gives them their places.
struct analyze_thresholds {
    uint32_t values[ANALYZE_MOST_THRESHOLDS];
};

struct analyze_thresholds analyze_default_thresholds(void);

// The thresholds of all patterns, each once; NULL beyond the last.
const struct analyze_threshold *analyze_threshold_at(size_t index);
// Where the value of the threshold of that name is; NULL if there is none.
uint32_t *analyze_threshold(struct analyze_thresholds *thresholds, const char *name);

// A gain that is smaller than one of these is none.
enum {
    ANALYZE_LEAST_BYTES = 4096, // of memory or of traffic,
    ANALYZE_LEAST_WAITS = 4,    // where only the number of waits is known,
    ANALYZE_LEAST_PART = 1000,  // and this part of what it is compared with: 0.1 %
};

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
// Objects and calls are numbers of the profile; 0: none. The pattern's description says which calls
// its findings have and what they are (analyze_description.roles), and which fields its payload
// has.
enum { ANALYZE_MOST_OBJECTS = 100, ANALYZE_PAYLOAD_BYTES = 104 };

struct analyze_finding {
    enum analyze_pattern pattern;
    uint64_t object, other_object;
    uint64_t call, other_call;
    uint64_t last_call;
    uint32_t path; // of `call`
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

    uint64_t host_ns;     // that the run takes less when only this is fixed, by replay
    bool host_is_bound;   // host_ns is an upper bound: there were too many to replay each
    bool gain_is_unknown; // nothing above can be estimated

    // What only this pattern has. Its file defines the structure; analyze_set_payload writes it,
    // and analyze_field_* read it by the description's fields.
    union {
        unsigned char bytes[ANALYZE_PAYLOAD_BYTES];
        uint64_t alignment;
    } payload;
};

// --- Fields of a finding, by the description of its pattern --------------------------------------

// The field of that name, of `length` bytes; NULL if the pattern has none.
const struct analyze_field *analyze_find_field(enum analyze_pattern pattern, const char *name,
                                               size_t length);
// Whether the value is known. If it is not, the functions below return what is stored.
bool analyze_field_is_known(const struct analyze_finding *finding,
                            const struct analyze_field *field);
// The value of a number, count, size, time, path or flag (0 or 1).
uint64_t analyze_field_number(const struct analyze_finding *finding,
                              const struct analyze_field *field);
double analyze_field_real(const struct analyze_finding *finding, const struct analyze_field *field);
const char *analyze_field_word(const struct analyze_finding *finding,
                               const struct analyze_field *field);
const struct profile_counts *analyze_field_counts(const struct analyze_finding *finding,
                                                  const struct analyze_field *field);
// The number of the field of that name; 0 if the pattern has none or its value is unknown.
uint64_t analyze_number_named(const struct analyze_finding *finding, const char *name);

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
// judged by the CPU's first use of what it made safe (docs/reference/patterns.md, "Waits").
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
