// SPDX-License-Identifier: Apache-2.0
// What requests of warps took at each place in the source, and what it is worth to take no more
// than is needed. Inner header of src/analyze.
#ifndef GLINT_ANALYZE_REQUESTS_H
#define GLINT_ANALYZE_REQUESTS_H

#include "analyses.h"

// --- Instructions (requests.c) -------------------------------------------------------------------

// The requests of one instruction in the source, in all launches of its kernel. The compiler may
// have made several instructions of it, by unrolling a loop.
struct analyze_request_group {
    const struct analyze_site *site; // one of them; NULL: unknown
    uint32_t kernel;                 // number
    uint32_t call;                   // index of the launch that takes most beyond what is needed
    uint32_t object;                 // index; NONE: several, unknown, or shared memory
    uint64_t instructions;           // that were joined because their lines are unknown, or 1
    uint64_t launches, requests;
    uint64_t taken, needed;
    uint64_t stride; // of that launch, without its sign; 0: some launch has none
    double ns;       // that taking no more than needed saves; 0: unknown
    bool is_timed;   // the time of some launch is known
    uint64_t key;    // differs from that of other instructions
};

// Calls `take` for each instruction on global memory, or on shared memory, that takes more than the
// threshold, a percentage of what it needs.
typedef void analyze_take_requests(struct analyze_run *run,
                                   const struct analyze_request_group *group);
void analyze_walk_requests(struct analyze_run *run, bool shared, uint32_t percent,
                           analyze_take_requests *take);

// Returns a finding on the instruction, without payload, whose worth are these bytes for each unit
// that is taken and not needed.
struct analyze_finding analyze_begin_request_finding(const struct analyze_run *run,
                                                     enum analyze_pattern pattern,
                                                     const struct analyze_request_group *group,
                                                     uint64_t unit_bytes);

// What findings on requests have in common, in their payloads.
struct analyze_request_facts {
    const char *access; // a word of FACTS_SITE_ACCESSES; NULL: unknown
    struct analyze_line line;
    const char *array; // of shared memory; NULL: unknown, or none
    uint64_t instructions;
    uint64_t requests, taken, needed;
    uint64_t stride;
    bool has_stride, is_store, is_atomic, is_joined;
};
struct analyze_request_facts analyze_request_facts(const struct analyze_request_group *group);

#define ANALYZE_ACCESS_WORDS "load store atomic"
#define ANALYZE_REQUEST_FIELDS(payload_type, facts, units, unit_word)                          \
    {"line", "of the instruction", ANALYZE_OWN(LINE, payload_type, facts.line)},               \
        {"access", "what the instruction does", ANALYZE_OWN(WORD, payload_type, facts.access), \
         .values = ANALYZE_ACCESS_WORDS},                                                      \
        {"instructions", "of unknown lines that do the same; 1 if the line is known",          \
         ANALYZE_OWN(COUNT, payload_type, facts.instructions), .unit = "instruction"},         \
        {"requests", "by warps, in all launches",                                              \
         ANALYZE_OWN(COUNT, payload_type, facts.requests), .unit = "request"},                 \
        {units, "that these took", ANALYZE_OWN(COUNT, payload_type, facts.taken),              \
         .unit = unit_word},                                                                   \
        {"needed", "if each warp had moved as many bytes from one place",                      \
         ANALYZE_OWN(COUNT, payload_type, facts.needed), .unit = unit_word},                   \
        {"stride",                                                                             \
         "bytes between the addresses of neighbouring threads; null if that is unknown "       \
         "or differs",                                                                         \
         ANALYZE_OWN(COUNT, payload_type, facts.stride),                                       \
         ANALYZE_KNOWN_IF(payload_type, facts.has_stride), .unit = "byte"},                    \
        {"is_store", NULL, ANALYZE_OWN(FLAG, payload_type, facts.is_store)},                   \
        {"is_joined", NULL, ANALYZE_OWN(FLAG, payload_type, facts.is_joined)},                 \
    {                                                                                          \
        "is_atomic", NULL, ANALYZE_OWN(FLAG, payload_type, facts.is_atomic)                    \
    }

// --- Times (request_worth.c) ---------------------------------------------------------------------

struct analyze_object_sum {
    uint64_t taken, needed;
};

// What the requests of one call take in all, and those to each of its objects.
struct analyze_request_sums {
    uint64_t taken, shared_taken;
    struct base_map objects; // index of an object to index + 1 in of_object
    BASE_ARRAY(struct analyze_object_sum) of_object;
};

// Adds up the requests of a call. Returns false when memory ran out. The caller calls
// analyze_request_sums_fini.
bool analyze_sum_requests(const struct analyze_requests *rows, size_t count,
                          struct analyze_request_sums *sums);
void analyze_request_sums_fini(struct analyze_request_sums *sums);

// Returns whether a time can be given: the simulated GPU has none.
bool analyze_has_request_time(const struct analyze_run *run, uint32_t call);

// Returns the nanoseconds in which the L2 cache delivers so many bytes to the multiprocessors of
// the call.
double analyze_l2_ns(const struct analyze_model *model, uint32_t call, double bytes);

// Returns the nanoseconds in which device memory delivers so many bytes, at the highest rate: that
// of an H200, or that which was reached, in bytes per nanosecond.
double analyze_memory_ns(double bytes, double reached);

// Returns the nanoseconds of GPU time that are saved if the requests take only what they need, for
// a call whose time is known. All requests of a call together never save more than its time.
double analyze_request_ns(struct analyze_run *run, const struct analyze_request_sums *sums,
                          const struct analyze_requests *row);

#endif
