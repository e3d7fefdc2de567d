// SPDX-License-Identifier: Apache-2.0
// Remedies of waits: what each would change, call by call. Patterns of waits add remedies, which
// are then chosen and rated together. Inner header of src/analyze.
#ifndef GLINT_ANALYZE_REMEDIES_H
#define GLINT_ANALYZE_REMEDIES_H

#include "analyses.h"
#include "sync.h"

// What a remedy does with one call.
struct analyze_act {
    uint32_t remedy, call; // indices
    uint8_t action;        // enum analyze_action
};

// The payload of all findings on waits. Each pattern's fields name those that it has.
struct analyze_wait_facts {
    uint64_t
        waited_ns;   // by the `times` calls of the finding; of copies and pools, their own time too
    uint64_t calls;  // of the call path
    uint64_t use_ns; // from the wait to the soonest first use of what it protects; 0: never used
    uint64_t use_calls;         // calls in between
    uint64_t bytes;             // that copies move, or allocations take
    const char *direction;      // of copies
    const char *host_memory;    // that they use; NULL: of various kinds
    const char *place;          // of a duplicate: where the bytes are already
    const char *object_kind;    // of memory that is allocated and freed
    enum profile_memory memory; // the same
    uint32_t use_path;
    uint32_t allocated_path, freed_path; // of the host memory; 0: unknown
    bool to_host;                        // copies go to the host
    bool has_use;                        // use_ns is known
    bool is_pageable, is_pinned;         // the host memory
    bool is_sync, is_free, is_set;       // the call that waits; none: another kind of call
    bool is_implicit;                    // it is no synchronization
    bool may_check; // whether the program looks at the result of the synchronization is unknown
    bool may_print; // whether kernels print before it is unknown
    bool is_round_trip, is_other_place, is_freed; // of a duplicate
    bool from_device; // of a duplicate: the earlier copy took the bytes from the device
    bool is_device, is_registered; // the memory that is allocated and freed
    bool waits_stay;               // its calls still wait when the finding is followed
    bool
        others_need; // it waits too little to be reported alone, but others would wait here instead
};

// The evidence that all patterns of waits have.
#define ANALYZE_WAIT_FIELDS                                                                        \
    {"waited_ns", "the time that the `times` calls waited in total",                               \
     ANALYZE_OWN(NS, struct analyze_wait_facts, waited_ns)},                                       \
        {"calls", "calls of the call path", ANALYZE_OWN(COUNT, struct analyze_wait_facts, calls),  \
         .least = 1, .unit = "call"},                                                              \
        {"upper_bound", "`worth.run_ns` is an upper bound, because it was not replayed",           \
         ANALYZE_SHARED(FLAG, host_is_bound)},                                                     \
    {                                                                                              \
        "others_need",                                                                             \
            "it waits too little to be reported alone, but the waits that others save would move " \
            "here",                                                                                \
            ANALYZE_OWN(FLAG, struct analyze_wait_facts, others_need)                              \
    }
// Of patterns that distinguish what kind of call waits.
#define ANALYZE_SYNC_FIELDS                                                           \
    {"implicit", "another call than a synchronization waits",                         \
     ANALYZE_OWN(FLAG, struct analyze_wait_facts, is_implicit)},                      \
        {"is_sync", NULL, ANALYZE_OWN(FLAG, struct analyze_wait_facts, is_sync)},     \
        {"is_free", NULL, ANALYZE_OWN(FLAG, struct analyze_wait_facts, is_free)},     \
        {"is_device", NULL, ANALYZE_OWN(FLAG, struct analyze_wait_facts, is_device)}, \
    {                                                                                 \
        "is_set", NULL, ANALYZE_OWN(FLAG, struct analyze_wait_facts, is_set)          \
    }
// Of patterns that know the CPU's first use.
#define ANALYZE_USE_FIELDS                                                               \
    {"use_ns", "the time from the wait to the soonest first use; null if there is none", \
     ANALYZE_OWN(NS, struct analyze_wait_facts, use_ns),                                 \
     ANALYZE_KNOWN_IF(struct analyze_wait_facts, has_use), .least = 1},                  \
        {"use_calls", "calls between the wait and that use; null if there is none",      \
         ANALYZE_OWN(COUNT, struct analyze_wait_facts, use_calls),                       \
         ANALYZE_KNOWN_IF(struct analyze_wait_facts, has_use), .unit = "call"},          \
    {                                                                                    \
        "use_call_path", "where that use is; empty if unknown",                          \
            ANALYZE_OWN(PATH, struct analyze_wait_facts, use_path), .place = {           \
                "first used by the CPU",                                                 \
                "the first use of what is waited for"                                    \
            }                                                                            \
    }
// Of patterns of copies.
#define ANALYZE_COPY_FIELDS                                                                     \
    {"bytes", "bytes that the copies move in total",                                            \
     ANALYZE_OWN(BYTES, struct analyze_wait_facts, bytes)},                                     \
        {"direction", "of the copies", ANALYZE_OWN(WORD, struct analyze_wait_facts, direction), \
         .values = "host-to-device device-to-host"},                                            \
        {"host_memory", "the kind of host memory; null if there are several",                   \
         ANALYZE_OWN(WORD, struct analyze_wait_facts, host_memory),                             \
         .values = "pageable pinned device managed array unknown"},                             \
        {"allocated_call_path", "where the host memory is allocated; empty if unknown",         \
         ANALYZE_OWN(PATH, struct analyze_wait_facts, allocated_path),                          \
         .place = {"host memory allocated", "the allocation of the host memory"}},              \
        {"freed_call_path", "where the host memory is freed; empty if unknown",                 \
         ANALYZE_OWN(PATH, struct analyze_wait_facts, freed_path),                              \
         .place = {"host memory freed", "the free of the host memory"}},                        \
        {"to_host", NULL, ANALYZE_OWN(FLAG, struct analyze_wait_facts, to_host)},               \
        {"is_pageable", NULL, ANALYZE_OWN(FLAG, struct analyze_wait_facts, is_pageable)},       \
    {                                                                                           \
        "is_pinned", NULL, ANALYZE_OWN(FLAG, struct analyze_wait_facts, is_pinned)              \
    }

// Pieces of templates: "; it waits 1,000 times, 1.2 s in total"; "3.4 ms and 5 calls later, at
// a.cu:12"; " (a.cu:12)"; what a suggestion adds where it gains nothing alone.
#define ANALYZE_TEXT_WAITED                                                                  \
    "{if repeated}; it waits {times} times{if timed}, {waited_ns} in total{end}{elif timed}" \
    "; it waits {waited_ns}{end}"
#define ANALYZE_TEXT_LATER                                                                   \
    "{if timed}{use_ns}{if use_calls} and {use_calls:unit}{end}{else}{use_calls:unit}{end} " \
    "later{if use_call_path}, at {use_call_path}{end}"
#define ANALYZE_TEXT_USE "{if use_call_path} ({use_call_path}){end}"
// What to do about a call that waits implicitly.
#define ANALYZE_TEXT_NO_WAIT                                                                    \
    "{if is_free}free {object:name} after a wait that the program needs{if is_device}, or use " \
    "cudaMallocAsync and cudaFreeAsync{end}{elif is_set}use cudaMemsetAsync{else}avoid "        \
    "{call:at} while the GPU works{end}"
#define ANALYZE_TEXT_ALONE                                                                        \
    "{if brief}{elif others_need}; fix it together with the other findings on synchronization, "  \
    "or their "                                                                                   \
    "waiting time moves here{elif no_gain}; alone this gains nothing, because the next wait, or " \
    "the end of the program, then waits as long{end}"

// When a remedy is reported; thresholds of all patterns of waits.
extern const struct analyze_threshold analyze_wait_us, analyze_wait_percent;

struct analyze_remedy {
    struct analyze_finding finding;
    struct analyze_wait_facts facts; // become the finding's payload
    uint64_t bound_ns;               // upper bound of its gain
    uint64_t cost_ns;                // one-time cost of pinning memory
    bool left_out;                   // used while remedies are chosen
    size_t first_act, act_count;
    uint32_t last_paths, path_count; // index + 1 of the last of its paths; how many there are
};

// Call paths at which a remedy changes calls, in a list. All of them are at the same source lines.
struct analyze_remedy_paths {
    struct analyze_paths paths;
    uint32_t before; // index + 1 of those that were added before
};

struct analyze_remedies {
    const struct analyze_model *model;
    const struct analyze_thresholds *thresholds;
    struct analyze_waits waits;
    const struct analysis *analysis; // for the judgements of call paths
    struct base_map keys;            // to index + 1
    BASE_ARRAY(struct analyze_remedy) remedies;
    BASE_ARRAY(struct analyze_act) acts;
    struct base_map path_keys; // hashes of a remedy and its paths
    BASE_ARRAY(struct analyze_remedy_paths) paths;
    bool failed; // memory ran out
};

// Returns the remedy of a pattern at the source lines of a call path, which must not be 0, and of a
// second one, or 0. Makes it if there is none. Sets *is_new if the remedy had no call of these
// paths before. Returns NULL when memory ran out.
struct analyze_remedy *analyze_remedy_at(struct analyze_remedies *remedies,
                                         enum analyze_pattern pattern, uint32_t path,
                                         uint32_t other_path, uint64_t size_class, bool *is_new);
// Adds what the remedy does with a call, and the upper bound of what that gains.
void analyze_add_act(struct analyze_remedies *remedies, const struct analyze_remedy *remedy,
                     uint32_t call, enum analyze_action action, uint64_t bound_ns);

// Returns, for each call, whether a remedy with a finding is about it. Returns NULL when memory ran
// out. The caller frees the list.
bool *analyze_list_taken(struct analyze_remedies *remedies);

// syncs.c: takes the wait, and its first use, into a remedy.
void analyze_take_wait(struct analyze_remedies *remedies, struct analyze_remedy *remedy,
                       const struct analyze_wait *wait);
// syncs.c: adds a remedy of the pattern for each call path of synchronizations that `fits`; also of
// other calls that wait, if no remedy is about them. The path's waits are not needed now.
void analyze_find_syncs(struct analyze_remedies *remedies, enum analyze_pattern pattern,
                        bool (*fits)(const struct analyze_wait_path *path));
// syncs.c: what a remedy does with a wait that need not be where it is.
enum analyze_action analyze_action_of(const struct analyze_wait *wait);
// syncs.c: sets the kind of host memory that copies use.
void analyze_set_memory(struct analyze_wait_facts *facts, enum profile_memory memory);
// syncs.c: sets the direction of copies.
void analyze_set_direction(struct analyze_wait_facts *facts, bool to_host);

// Keeps the remedies that are worth it and computes their worth. Stores in the analysis the run
// time with all of them, and which copies cost too much. Returns false when memory ran out.
bool analyze_rate_remedies(struct analyze_remedies *remedies, struct analysis *analysis);

#endif
