// SPDX-License-Identifier: Apache-2.0
// The public header of src/analyze, which searches a profile for patterns of waste and returns
// findings. docs/reference/patterns.md defines the patterns. A finding is numbers: src/report turns
// it into text. There is no global state; an analysis belongs to one thread at a time.
#ifndef GLINT_ANALYZE_ANALYZE_H
#define GLINT_ANALYZE_ANALYZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"
#include "caches.h"
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
// Returns a pointer to the value of the threshold of that name; NULL if there is none.
uint32_t *analyze_threshold(struct analyze_thresholds *thresholds, const char *name);

// The least gains that count.
enum {
    ANALYZE_LEAST_BYTES = 4096, // of memory or traffic
    ANALYZE_LEAST_WAITS = 4,    // if only the number of waits is known
    ANALYZE_LEAST_PART = 1000,  // in addition, this part of the whole: 1/1000
};

// --- Failures ------------------------------------------------------------------------------------

// Returns whether a call with this result (CUresult) has failed. A query whose work is not finished
// has not. Nor has a call that comes after the end of the driver or of its context, as destructors
// make it: what it was to free is gone.
bool analyze_is_failure(int32_t result);
// Returns whether it means that a kernel failed, so that the context can no longer be used.
bool analyze_is_fatal(int32_t result);

// --- Peaks of memory in use ----------------------------------------------------------------------

#define ANALYZE_NEVER UINT64_MAX

// Bytes that are in use from after the call `start` until the call `end`.
struct analyze_life {
    uint64_t start, end; // end ANALYZE_NEVER: to the end of the program
    uint64_t bytes;
};

struct analyze_peak {
    uint64_t bytes; // in use; UINT64_MAX for more than that
    uint64_t start; // the call after which this level is first reached
    uint64_t end;   // the call that leaves it; ANALYZE_NEVER: none
    uint64_t times; // how many peaks have this level
    // Of the profile's devices, the one whose memory it is, and the rank among its peaks, 1 being
    // the highest. device 0: memory of one device only was in use.
    uint32_t device;
    unsigned rank;
};

// Finds the `most` highest levels of peaks, the highest first, and stores how many it found. A peak
// is a level that memory in use rises to and then falls from, or stays at. All changes by one call
// are one change. Fails with BASE_NO_MEMORY.
enum base_code analyze_find_peaks(const struct analyze_life *lives, size_t count,
                                  struct analyze_peak *peaks, size_t most, size_t *found,
                                  struct base_error *error);

// Returns whether the object is device memory of this process, which counts as memory in use.
bool analyze_counts(enum profile_object_kind kind, uint64_t parent);

// --- Findings ------------------------------------------------------------------------------------

// Similar matches are one finding, so that one source line gives one finding per pattern: matches
// of one pattern whose call has the same source lines on its call path, and of one aspect. Patterns
// at a line of a kernel (analyze_description.is_at_line) go by that line. Of other patterns about
// kernels or values, the object's name (or else its own call path) and the kernel count, too; of
// patterns that are about an object (analyze_description.is_about_object), only its name and its
// own call path. The finding describes the match that is worth most, with the number of matches and
// the worth of fixing all. A match without a call path is a separate finding.
//
// Objects and calls are numbers of the profile; 0: none. The pattern's description says which calls
// its findings have and what they are (analyze_description.roles), and which fields its payload
// has.
enum { ANALYZE_MOST_OBJECTS = 100, ANALYZE_PAYLOAD_BYTES = 112 };

struct analyze_paths {
    uint32_t path, other_path;
};

struct analyze_finding {
    enum analyze_pattern pattern;
    uint64_t object, other_object;
    uint64_t call, other_call;
    uint64_t last_call;
    uint32_t path; // of `call`
    uint32_t other_path;
    uint32_t last_path;
    enum profile_call_kind kind, other_kind, last_kind; // of these calls
    uint32_t kernel;       // number, of `call` if that is a launch; else 0
    uint32_t other_kernel; // the same of other_call
    uint32_t last_kernel;
    uint64_t aspect; // matches of different aspects are not similar: another field, another store
    bool has_distance;
    uint64_t distance; // in GPU API calls: the difference of the two calls' order
    uint64_t count;    // number of matches
    uint64_t times; // number of occurrences in them: idle periods, writes, launches; else `count`
    unsigned peak;  // the peak at which the object is in use, 1 being the highest; 0: none

    // The objects of the first matches, that of the best match first.
    const uint64_t *objects;
    size_t object_count; // at most ANALYZE_MOST_OBJECTS

    // Of a finding on waits: all call paths of the calls that it is about, its own first. They
    // differ if a source line makes several calls, or if the compiler copied it.
    const struct analyze_paths *paths;
    size_t path_count;

    // What fixing all matches, and nothing else, saves.
    uint64_t peak_bytes;    // off the highest peak
    uint64_t traffic_bytes; // not copied or set
    uint64_t gpu_ns;        // of GPU time
    bool traffic_is_bound;  // the last two are upper bounds
    bool time_is_estimate;  // but gpu_ns may also be less than what is gained
    bool only_time_counts;  // traffic_bytes is within the GPU, and what it costs is known: gpu_ns
    uint64_t waits;         // number of waits, if times are not real; else 0
    bool waits_are_pins;    // `waits` is how often memory is pinned, which takes long, too
    uint64_t more_blocks;   // that a multiprocessor holds at once; what they gain is not estimated
    double share; // the largest of its shares of the highest peak, of all traffic, of the run time
                  // and of all waits; findings are ranked by it

    // The gain is at least ANALYZE_LEAST_*, alone or together with other findings. An unknown gain
    // does not count.
    bool worthwhile;
    // What it gains is gained if another worthwhile finding, this one, is fixed; NULL: it is not.
    const struct analyze_finding *covered_by;
    bool only_together; // it gains something only if other findings are fixed, too
    // In that case, how much of the common gain is lost if only this is not fixed.
    uint64_t together_bytes; // off the highest peak
    uint64_t together_ns;    // off the run time

    uint64_t host_ns;     // off the run time if only this is fixed, by replay
    bool host_is_bound;   // host_ns is an upper bound: there were too many to replay each
    bool gain_is_unknown; // nothing above can be estimated
    bool is_hard; // to follow it, the program's data needs another layout: ranked below all others

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
// Returns whether the value is known. If it is not, the functions below return the stored value.
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
struct analyze_value analyze_field_value(const struct analyze_finding *finding,
                                         const struct analyze_field *field);
struct analyze_line analyze_field_line(const struct analyze_finding *finding,
                                       const struct analyze_field *field);
// The line of a finding that is at a line of a kernel (analyze_description.is_at_line), rather than
// at a call; its file is NULL for others, and where the line is unknown.
struct analyze_line analyze_line_at(const struct analyze_finding *finding);
// The number of the field of that name; 0 if the pattern has none or its value is unknown.
uint64_t analyze_number_named(const struct analyze_finding *finding, const char *name);

// Returns whether that many bytes, of a peak or of all traffic, count as a gain.
bool analyze_is_gain(uint64_t bytes, uint64_t whole);

// Returns the line of a memory instruction. For one in a header of the toolkit, that is the line
// where it was inlined.
struct analyze_line analyze_line_of(const struct profile_kernel_site *site);

struct analysis;

// Analyzes a profile. The caller frees the analysis, and keeps the profile open until then. Fails
// with BASE_NO_MEMORY, or as reading the profile does.
enum base_code analyze_profile(struct profile *profile, const struct analyze_thresholds *thresholds,
                               struct analysis **analysis, struct base_error *error);
void analyze_free(struct analysis *analysis);

// The same, and passes the rows of the profile to a listener as they are read: first all objects,
// then each call, followed by its accesses. Accesses of missing calls come in the place of the
// call. A function that returns false ends the reading.
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

// Findings are ranked: worthwhile ones first, then those on objects of the highest peak, then by
// share. Findings on waits rank with those of the highest peak.
size_t analyze_finding_count(const struct analysis *analysis);
size_t analyze_worthwhile_count(const struct analysis *analysis);
// Removes the findings for which keep(user, finding) returns false. What all findings gain together
// stays the same.
void analyze_keep_findings(struct analysis *analysis,
                           bool (*keep)(void *user, const struct analyze_finding *finding),
                           void *user);
const struct analyze_finding *analyze_finding(const struct analysis *analysis, size_t index);
// Returns the rank, from 1, of the finding that covers another; 0 if there is none, or if it was
// removed.
size_t analyze_covering_rank(const struct analysis *analysis,
                             const struct analyze_finding *finding);

// Returns whether the profile is of the simulated GPU. Its times are not real: no finding is
// judged, ranked or rated by them, and gains in time (host_ns, gpu_ns) are 0.
bool analyze_is_simulated(const struct analysis *analysis);

// Returns the order of a call: the length of the longest chain of GPU API calls before it. 0 if the
// call is not in the profile.
uint64_t analyze_order(const struct analysis *analysis, uint64_t call);

// Stores the highest peaks of each device, the highest first: first the highest of each device in
// the order of devices, then the second of each. Returns how many there are.
size_t analyze_peaks(const struct analysis *analysis, const struct analyze_peak **peaks);

// Returns the highest peak, in bytes: with several devices, the sum of theirs, which may be at
// different times. 0 without device memory.
uint64_t analyze_peak_bytes(const struct analysis *analysis);

// The highest peak if findings are followed, by how much is changed, as a sum over devices. Each
// level includes the ones before it. Without a gain, a level has the value of the one before it.
struct analyze_levels {
    uint64_t allocations; // only allocations and frees move
    uint64_t achievable;  // copies and sets that only initialize objects are delayed, too
    uint64_t least;       // a lower bound of all layouts of `achievable`
    uint64_t swapped;     // objects that are idle at the peak are moved to the host and back
    size_t swaps;         // how often that happens
    uint64_t copied_bytes, copy_ns; // what it costs; copy_ns 0: unknown
};
const struct analyze_levels *analyze_peak_levels(const struct analysis *analysis);

// Return the highest peak if all findings but trade-offs are followed, by a layout that was found,
// and a lower bound of all layouts.
uint64_t analyze_achievable_peak(const struct analysis *analysis);
uint64_t analyze_least_peak(const struct analysis *analysis);

// Returns how many calls had not returned when the program ended. Nothing is concluded that could
// depend on what they did.
uint64_t analyze_unfinished_calls(const struct analysis *analysis);

// Returns whether calls or objects are missing in the profile. Then most patterns are not searched
// for.
bool analyze_is_incomplete(const struct analysis *analysis);
// Launches that may have accessed any object; and those that are known by their arguments, so that
// it is unknown how they accessed what they were passed.
uint64_t analyze_unseen_launches(const struct analysis *analysis);
uint64_t analyze_passed_launches(const struct analysis *analysis);
// The reasons why a launch may access more than was observed; such launches hide findings on the
// objects that they could access. The launch of a graph counts once for each reason of its nodes.
enum analyze_unseen {
    ANALYZE_UNSEEN_UNWATCHED, // it has no probes, or probes that do not see everything
    ANALYZE_UNSEEN_POINTER,   // this and the others as in enum profile_doubt_kind
    ANALYZE_UNSEEN_LEFT,
    ANALYZE_UNSEEN_TEXTURE,
    ANALYZE_UNSEEN_WRAPPED,
    ANALYZE_UNSEEN_WORK,
    ANALYZE_UNSEEN_UNTOLD,
    ANALYZE_UNSEEN_REASONS
};
uint64_t analyze_unseen_because(const struct analysis *analysis, enum analyze_unseen reason);

// Of how many objects that calls used the contents were seen at least once. Host memory is not
// counted.
struct analyze_contents_seen {
    uint64_t used, seen;
    uint64_t shared; // not seen, because the CPU or another process can change them at any time
};
const struct analyze_contents_seen *analyze_contents_seen(const struct analysis *analysis);

// An object that a copy or set reaches behind the one in which it begins, as ranges of memory that
// was mapped piece by piece do. A graph launch reaches what its nodes reach.
struct analyze_reached {
    uint64_t call, object; // numbers
    bool read, written;
};
// Returns them in the order of calls.
const struct analyze_reached *analyze_reached(const struct analysis *analysis, size_t *count);

// --- Caches --------------------------------------------------------------------------------------

// What the model of the caches found; empty if that was not recorded.
const struct analyze_caches *analyze_caches(const struct analysis *analysis);

// --- Waits ---------------------------------------------------------------------------------------

// Why it is unknown whether a wait was needed.
enum analyze_wait_unknown {
    ANALYZE_WAIT_GIVEN_UP, // no results were watched, or not until the end
    ANALYZE_WAIT_MANAGED,  // its results are in managed memory
    ANALYZE_WAIT_PINNED,   // in pinned memory, whose pages the system cannot move away
    ANALYZE_WAIT_STACK,    // on a stack
    ANALYZE_WAIT_STATIC,   // in variables
    ANALYZE_WAIT_MAPPED,   // in memory that the program has mapped
    ANALYZE_WAIT_SMALL,    // smaller than a page, or in a small block
    ANALYZE_WAIT_RESULTS,  // their use was not watched, or only in part
    ANALYZE_WAIT_WORK,     // GPU work may access memory of the host, or calls host functions
    ANALYZE_WAIT_SHARED,   // GPU memory is shared with other processes
    ANALYZE_WAIT_ORDER,    // it may order work of several streams
    ANALYZE_WAIT_OUTPUT,   // kernels may print, or check assertions; the wait shows what they did
    ANALYZE_WAIT_EVENT,    // which record of an event it waits for
    ANALYZE_WAIT_UNKNOWNS,
};

// Why a wait that was not needed is in no finding.
enum analyze_wait_unlisted {
    ANALYZE_UNLISTED_NEEDED,  // other calls at the same place need their waits
    ANALYZE_UNLISTED_UNKNOWN, // or may need them
    ANALYZE_UNLISTED_SMALL,   // the waits at that place take too little time
    ANALYZE_UNLISTED_COSTLY,  // what would avoid it costs more
    ANALYZE_UNLISTED_NOWHERE, // the call path is unknown
    ANALYZE_WAIT_UNLISTED,
};

// How long the run took, and would take if all findings on waits were followed, by replay.
struct analyze_run_time {
    bool tracked;      // first uses were observed; otherwise nothing is found on waits
    bool given_up;     // they were to be observed, but a note says why they were not
    bool is_estimated; // from waits: GPU times are missing, or on another clock
    uint64_t recorded_ns, after_ns;
    uint64_t waited_ns;   // by all calls that waited
    uint64_t unneeded_ns; // of it, by those whose wait was not needed
    uint64_t waits;       // calls that waited, or would have if the GPU had had work
    struct analyze_wait_sum {
        uint64_t waits, waited_ns;
    } unknown[ANALYZE_WAIT_UNKNOWNS]; // of them, those that may or may not be needed, by reason
    // Of those that found work pending and were not needed, the ones that are in no finding.
    struct analyze_wait_sum unlisted[ANALYZE_WAIT_UNLISTED];
    struct analyze_wait_sum timed; // needed because the program reads the clock next
};
const struct analyze_run_time *analyze_run_time(const struct analysis *analysis);

// How the calls of one call path that wait for the GPU, or would if it had work, were judged. A
// wait is judged by the CPU's first use of what it made safe (docs/reference/patterns.md, "Waits").
struct analyze_wait_path {
    uint32_t path;               // number; never 0, because calls without a path have no row
    enum profile_call_kind kind; // sync, copy, free, set, module, ...
    uint64_t calls;              // successful ones: the sum of the next four
    uint64_t needed;             // its data was used soon, before the next such wait
    uint64_t late;               // its data was used before the next such wait, but much later
    uint64_t unneeded;           // its data was not used before the next such wait
    uint64_t unknown;            // it cannot be judged
    uint64_t timed;              // needed because the program read the clock next
    uint64_t shown;              // unknown because kernels before it may print
    uint64_t checks;             // their result is looked at, and tells errors of launches first
    uint64_t waited;             // calls that found work pending
    uint64_t waited_ns;          // by all of them
    // Of all calls of this kind at the same source lines, because a fix changes all of them:
    bool safe;       // all are unneeded
    bool deferrable; // all are unneeded or late: the wait may be delayed to the first use
    bool checking;   // `checks` of at least one
    bool may_check;  // whether the program looks at the result is unknown
    bool may_print;  // whether a kernel before one of these calls prints is unknown
    bool costly;     // a copy for which pinning memory would cost more than is gained
};

// Rows are ordered by path, then by kind.
size_t analyze_wait_path_count(const struct analysis *analysis);
const struct analyze_wait_path *analyze_wait_path(const struct analysis *analysis, size_t index);
// Returns the row; NULL if no call of that kind and path could have waited.
const struct analyze_wait_path *analyze_find_wait_path(const struct analysis *analysis,
                                                       uint32_t path, enum profile_call_kind kind);

// --- Value flow ----------------------------------------------------------------------------------

// The value flow graph: which calls write the contents of memory that other calls use. It follows
// definition 5.1 of the ValueExpert paper. A vertex is all calls of one kind, call path and kernel.
// An edge leads from the last call that wrote an object to a call that uses it. If no call wrote
// the object, the edge starts at its allocation. Objects that one vertex allocates share edges.
enum analyze_flow_kind {
    ANALYZE_FLOW_HOST,    // host memory, the source and sink of transfers; always vertex 0
    ANALYZE_FLOW_UNKNOWN, // the writers that are not known; always vertex 1
    ANALYZE_FLOW_ALLOCATION,
    ANALYZE_FLOW_COPY,
    ANALYZE_FLOW_SET,
    ANALYZE_FLOW_LAUNCH, // of a kernel, alone or as a node of a graph
    ANALYZE_FLOW_GRAPH,  // the launch of a graph whose nodes have no known accesses
    ANALYZE_FLOW_OTHER,  // another call that accesses memory of the GPU
    ANALYZE_FLOW_KINDS
};
const char *analyze_flow_kind_word(enum analyze_flow_kind kind);

struct analyze_flow_vertex {
    enum analyze_flow_kind kind;
    uint32_t path, kernel; // numbers; 0: unknown or none
    uint64_t call;         // number of the first; 0: none
    uint64_t object;       // of an allocation: number of the first object
    uint64_t calls;        // invocations; of an allocation, objects. 0 for vertices 0 and 1
    // Of these, launches that may access more than was observed. They have no edges. Every object
    // that existed then has an unknown last writer afterwards.
    uint64_t unknown_calls;
    uint64_t bytes;  // of an allocation: sizes of its objects
    uint64_t gpu_ns; // GPU time; 0: unknown
};

struct analyze_flow_edge {
    uint32_t from, to; // vertices
    uint32_t object;   // the vertex that allocated the object; 0: host memory
    bool is_write;     // `to` writes the object, or for an edge to the host, writes host memory
    bool is_bound;     // `bytes` is an upper bound: for some accesses only the object is known
    bool is_uncertain; // another writer may have come in between: the host, or another process
    uint64_t times;    // number of occurrences
    uint64_t bytes;    // accessed, each byte counted once per occurrence
    // Of a write: bytes whose old and new values were compared, and those that were equal. Both 0
    // if no comparison was recorded.
    uint64_t compared_bytes, redundant_bytes;
};

struct analyze_flow {
    struct analyze_flow_vertex *vertices; // by their first call
    struct analyze_flow_edge *edges;      // by object, then by their first occurrence
    size_t vertex_count, edge_count;
    uint32_t redundant_percent; // the threshold: a write with at least this share is highlighted
};

const struct analyze_flow *analyze_flow(const struct analysis *analysis);

// A part of the graph: which vertices and edges it has. Initialize with {0}; the caller calls
// analyze_flow_part_fini.
struct analyze_flow_part {
    bool *vertices, *edges;
};

// Chooses the whole graph, in which vertices 0 and 1 are only if they have edges. Returns false
// when memory ran out.
bool analyze_flow_whole(const struct analyze_flow *flow, struct analyze_flow_part *part);
void analyze_flow_part_fini(struct analyze_flow_part *part);

// Restricts the part to the slices of these vertices (definition 5.2): of each object that one of
// them uses, the edges on paths that lead to the vertex or start there, and the vertices of these
// edges. Paths do not lead through the host. Returns false when memory ran out.
bool analyze_flow_slice(const struct analyze_flow *flow, const uint32_t *vertices, size_t count,
                        struct analyze_flow_part *part);

// Restricts the part to what is important (definition 5.3): edges of at least that many bytes, and
// vertices that have such an edge or at least that many calls.
void analyze_flow_important(const struct analyze_flow *flow, uint64_t least_bytes,
                            uint64_t least_calls, struct analyze_flow_part *part);

#endif
