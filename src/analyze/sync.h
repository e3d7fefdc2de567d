// SPDX-License-Identifier: Apache-2.0
// Waits: which calls wait for the GPU and for what (waits.c), whether that was needed (judge.c,
// order_waits.c), and how long the program would take without them (timeline.c). Inner header of
// src/analyze.
#ifndef GLINT_ANALYZE_SYNC_H
#define GLINT_ANALYZE_SYNC_H

#include "model.h"
#include "thresholds.h"

// --- Waits (waits.c) -----------------------------------------------------------------------------

enum analyze_judgement {
    // Ordered: a wait has the highest judgement of all its reasons.
    ANALYZE_UNNEEDED, // its data was not used before the next such wait
    ANALYZE_LATE,     // its data was used, but much later
    ANALYZE_UNKNOWN,  // it cannot be judged
    ANALYZE_NEEDED,
};

// A call that waits for the GPU, or would if it had work.
struct analyze_wait {
    uint32_t call;     // index
    uint32_t context;  // index among the waits' contexts
    uint32_t stream;   // index of the stream that it waits for; NONE: the whole context
    uint32_t upto;     // index: of an event, the call that recorded it; else that of the wait
    uint32_t first;    // index of the first use of what it protects; NONE: none
    int64_t use_ns;    // time of that use, estimated from others if it was not observed; or 0
    uint32_t thread;   // that has the first use
    uint8_t judgement; // enum analyze_judgement
    uint8_t unknown;   // enum analyze_wait_unknown, if that is ANALYZE_UNKNOWN
    bool legacy;       // it also waits for all streams that synchronize with the legacy stream
    bool is_event;
    bool is_idle;   // earlier waits have waited for all work before it; but a copy's own may wait
    bool may_print; // whether a kernel before it prints, which it would show, is unknown
    bool checks;    // it is the first after a launch whose result the program looks at
    bool timed;     // the program reads the clock after it, to measure a time
};

struct analyze_wait_list {
    BASE_ARRAY(uint32_t) waits; // indices, in the order of calls
};

struct analyze_waits {
    const struct analyze_model *model;
    BASE_ARRAY(struct analyze_wait) waits; // in the order of calls
    struct analyze_wait_list *by_stream;   // waits for only that stream
    struct analyze_wait_list *by_context;  // waits for the whole context
    struct analyze_wait_list *
        by_legacy; // of each context: waits for the streams that synchronize with the legacy stream
    struct base_map contexts; // number to index + 1
    size_t context_count;
    uint32_t *record_of; // by call that refers to an event: the call that recorded it; or NONE
};

// Finds all waits. Returns false when memory ran out; the caller calls analyze_waits_fini also
// then.
bool analyze_find_waits(struct analyze_waits *waits, const struct analyze_model *model);
void analyze_waits_fini(struct analyze_waits *waits);

// Returns whether the call took time to wait. How fast the CPU simulates a GPU does not decide
// that: there, a call has waited if it could find work pending.
bool analyze_has_waited(const struct analyze_model *model, const struct analyze_wait *wait);

// Return the index of a stream, or of a context among the waits'; NONE if there is none.
uint32_t analyze_stream_index(const struct analyze_model *model, uint32_t number);
uint32_t analyze_context_index(const struct analyze_waits *waits, uint32_t number);

// Work that a call gave to the GPU, for the two functions below.
struct analyze_work {
    uint32_t call;    // index
    uint32_t stream;  // index; NONE: unknown
    uint32_t context; // index among the waits'
};
struct analyze_work analyze_work_of(const struct analyze_waits *waits, uint32_t call);
// Returns the index of the first wait after which the work has surely ended; NONE if there is none.
uint32_t analyze_first_wait(const struct analyze_waits *waits, const struct analyze_work *work);
// Returns the index of the last such wait after the wait `from` that had ended at a time; `from` if
// there is none. A program that waits by a synchronization, or by a copy, does not rely on later
// calls that wait implicitly, as frees do; nor on later copies, after a copy.
uint32_t analyze_last_wait(const struct analyze_waits *waits, const struct analyze_work *work,
                           uint32_t from, int64_t time_ns);
// Returns the index of the wait of a call; NONE if the call does not wait.
uint32_t analyze_wait_of(const struct analyze_waits *waits, uint32_t call);

// --- Judging waits (judge.c, order_waits.c) ------------------------------------------------------

static inline void analyze_judge_wait(struct analyze_waits *waits, uint32_t wait,
                                      enum analyze_judgement judgement)
{
    if (wait != ANALYZE_NONE && waits->waits.items[wait].judgement < judgement)
        waits->waits.items[wait].judgement = (uint8_t)judgement;
}

static inline void analyze_wait_unknown(struct analyze_waits *waits, uint32_t wait,
                                        enum analyze_wait_unknown why)
{
    if (wait != ANALYZE_NONE && waits->waits.items[wait].judgement < ANALYZE_UNKNOWN) {
        waits->waits.items[wait].judgement = ANALYZE_UNKNOWN;
        waits->waits.items[wait].unknown = (uint8_t)why;
    }
}

// The thresholds that decide when a wait is late.
extern const struct analyze_threshold analyze_late_use_us, analyze_late_use_percent,
    analyze_late_use_calls;
// Judges all waits. Returns false when memory ran out.
bool analyze_judge(struct analyze_waits *waits, const struct analyze_thresholds *thresholds);
// The part of it for waits by which the host orders the work of different streams.
bool analyze_judge_order(struct analyze_waits *waits);
// checks.c: sets `checks` of all waits. Returns false when memory ran out.
bool analyze_find_checks(struct analyze_waits *waits);
// Returns how much of the program's time the wait took: for a synchronous copy, its time beyond
// that of an asynchronous one.
uint64_t analyze_waited_ns(const struct analyze_model *model, uint32_t call);
// Returns when the program continues after the call, without the time that glint took there.
int64_t analyze_goes_on_ns(const struct analyze_model *model, uint32_t call);
// Returns how many calls of any thread started between that call and a time.
uint64_t analyze_calls_until(const struct analyze_model *model, uint32_t call, int64_t time_ns);

// Host time of an asynchronous call, and of a call to a warm pool, measured on an H200.
enum { ANALYZE_ASYNC_NS = 4500, ANALYZE_POOL_NS = 500 };
// Bytes of host memory that are pinned and later freed per nanosecond, measured there.
enum { ANALYZE_PINNED_BYTES_A_NS = 2 };

// --- The run with some waits removed (timeline.c) ------------------------------------------------

enum analyze_action {  // what a remedy does with a call
    ANALYZE_KEEP,      // nothing
    ANALYZE_REMOVE,    // it does not wait; a copy is asynchronous
    ANALYZE_DEFER,     // the same, and the program waits at the first use instead
    ANALYZE_FROM_POOL, // an allocation or free takes the time of a pool, and does not wait
    ANALYZE_LEAVE_OUT, // it is not made at all
};

struct analyze_timeline;

// Makes a timeline of judged waits, which must stay valid as long. Returns NULL when memory ran
// out. The caller frees it.
struct analyze_timeline *analyze_timeline_new(const struct analyze_waits *waits);
void analyze_timeline_free(struct analyze_timeline *timeline);
// Returns the end of the run, in nanoseconds since the recording started, with an action for each
// call, by index. With ANALYZE_KEEP for all calls it is exactly the recorded end.
int64_t analyze_timeline_replay(struct analyze_timeline *timeline, const uint8_t *actions);
// Returns how many steps a replay takes.
size_t analyze_timeline_steps(const struct analyze_timeline *timeline);
// Returns whether GPU times are unknown or on another clock, and so are estimated from the waits.
bool analyze_timeline_is_estimated(const struct analyze_timeline *timeline);

#endif
