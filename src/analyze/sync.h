// SPDX-License-Identifier: Apache-2.0
// Synchronisation: which calls wait and what for (waits.c), whether that was needed (judge.c,
// order_waits.c), and how long the program would have taken without (timeline.c). Inner header of
// src/analyze.
#ifndef GLINT_ANALYZE_SYNC_H
#define GLINT_ANALYZE_SYNC_H

#include "model.h"
#include "thresholds.h"

// --- Waits (waits.c) -----------------------------------------------------------------------------

enum analyze_judgement {
    // What is worse for who would do without it comes later.
    ANALYZE_UNNEEDED, // nothing that it protects was used before the next such wait
    ANALYZE_LATE,     // it was used, but much later
    ANALYZE_UNKNOWN,  // nobody can tell
    ANALYZE_NEEDED,
};

// A call that waits for the GPU, or would have if there had been work.
struct analyze_wait {
    uint32_t call;     // index
    uint32_t context;  // index among the waits' contexts
    uint32_t stream;   // index, of the one that is waited for; NONE: all of the context
    uint32_t upto;     // index: of an event, the call that recorded it; else that of the wait
    uint32_t first;    // index of the first use of what it protects; NONE: none
    int64_t use_ns;    // when that is, or, of what was not looked at, would be as with others; or 0
    uint32_t thread;   // that uses it
    uint8_t judgement; // enum analyze_judgement
    bool legacy;       // what it waits for includes all streams that block
    bool is_event;
    bool timed; // a time is measured there: the clock was read behind it
};

struct analyze_wait_list {
    BASE_ARRAY(uint32_t) waits; // indices, in the order of calls
};

struct analyze_waits {
    const struct analyze_model *model;
    BASE_ARRAY(struct analyze_wait) waits; // in the order of calls
    struct analyze_wait_list *by_stream;   // what waits for just that stream
    struct analyze_wait_list *by_context;  // for all of it
    struct analyze_wait_list *by_legacy;   // of each context: for all streams that block
    struct base_map contexts;              // number to index + 1
    size_t context_count;
    uint32_t *record_of; // by call: of what refers to an event, the call that recorded it; or NONE
};

// False when memory ran out; analyze_waits_fini is needed also then.
bool analyze_find_waits(struct analyze_waits *waits, const struct analyze_model *model);
void analyze_waits_fini(struct analyze_waits *waits);

// Index of a stream, or of a context among the waits'; NONE: there is none.
uint32_t analyze_stream_index(const struct analyze_model *model, uint32_t number);
uint32_t analyze_context_index(const struct analyze_waits *waits, uint32_t number);

// Work that a call gave to the GPU: what the two below are asked about.
struct analyze_work {
    uint32_t call;    // index
    uint32_t stream;  // index; NONE: none is known
    uint32_t context; // index among the waits'
};
struct analyze_work analyze_work_of(const struct analyze_waits *waits, uint32_t call);
// Index of the first wait after which the work is surely done; NONE: there is none.
uint32_t analyze_first_wait(const struct analyze_waits *waits, const struct analyze_work *work);
// Index of the last such wait of those that come behind the wait `from`, and that were over at a
// time; `from` where there is none.
uint32_t analyze_last_wait(const struct analyze_waits *waits, const struct analyze_work *work,
                           uint32_t from, int64_t time_ns);
// Index of the wait that a call is; NONE: it is none.
uint32_t analyze_wait_of(const struct analyze_waits *waits, uint32_t call);

// --- Were they needed (judge.c, order_waits.c) ---------------------------------------------------

static inline void analyze_judge_wait(struct analyze_waits *waits, uint32_t wait,
                                      enum analyze_judgement judgement)
{
    if (wait != ANALYZE_NONE && waits->waits.items[wait].judgement < judgement)
        waits->waits.items[wait].judgement = (uint8_t)judgement;
}

// When a wait is late; the thresholds of the patterns that ask for it.
extern const struct analyze_threshold analyze_late_use_us, analyze_late_use_percent,
    analyze_late_use_calls;
// Judges all of them. False when memory ran out.
bool analyze_judge(struct analyze_waits *waits, const struct analyze_thresholds *thresholds);
// Those by which the host brings work of different streams into order.
bool analyze_judge_order(struct analyze_waits *waits);
// How long the wait took of the program's time that it need not have: of a synchronous copy all but
// what an asynchronous one takes.
uint64_t analyze_waited_ns(const struct analyze_model *model, uint32_t call);
// When the program goes on behind the call: what the recorder does there is not its time.
int64_t analyze_goes_on_ns(const struct analyze_model *model, uint32_t call);
// How many calls, of any thread, were begun between that one and the moment.
uint64_t analyze_calls_until(const struct analyze_model *model, uint32_t call, int64_t time_ns);

// What an asynchronous call takes of the host, and one to a warm pool, as measured on an H200.
enum { ANALYZE_ASYNC_NS = 4500, ANALYZE_POOL_NS = 500 };
// So many bytes of host memory are pinned, and later freed, in a nanosecond there.
enum { ANALYZE_PINNED_BYTES_A_NS = 2 };

// --- The run without them (timeline.c) -----------------------------------------------------------

enum analyze_action {  // what becomes of a call
    ANALYZE_KEEP,      // it is as it was
    ANALYZE_REMOVE,    // it does not wait; a copy is asynchronous
    ANALYZE_DEFER,     // likewise, and what it waited for is waited for where it is first used
    ANALYZE_FROM_POOL, // an allocation or a free that takes no time but a pool's, and no wait
    ANALYZE_LEAVE_OUT, // it is not made at all
};

struct analyze_timeline;

// NULL when memory ran out. The waits, judged, must stay as long.
struct analyze_timeline *analyze_timeline_new(const struct analyze_waits *waits);
void analyze_timeline_free(struct analyze_timeline *timeline);
// The end of the run, in nanoseconds since watching began, with an action for each call, by index;
// with ANALYZE_KEEP for all, exactly the end that was recorded.
int64_t analyze_timeline_replay(struct analyze_timeline *timeline, const uint8_t *actions);
// How many steps a replay takes.
size_t analyze_timeline_steps(const struct analyze_timeline *timeline);
// GPU times of work are not known, or not on the host's clock: they are estimated from the waits.
bool analyze_timeline_is_estimated(const struct analyze_timeline *timeline);

#endif
