// SPDX-License-Identifier: Apache-2.0
// Marks: positions in the work of streams, and whether the GPU has reached them. The GPU writes the
// number of a mark to a word of pinned memory, so that a signal handler can check it without
// calling the driver.
#ifndef GLINT_INJECT_CORRECT_WAIT_MARKS_H
#define GLINT_INJECT_CORRECT_WAIT_MARKS_H

#include "inject/core/call.h"
#include "inject/correct/correct.h"

struct correct_mark {
    uint32_t lane;   // 1 + index of the stream's lane; 0: none, and always reached
    uint32_t number; // counts marks of the lane
};

enum { CORRECT_LANES = 512 };

// A stream that got work, or was waited for, since the plan was read. The layer's lock protects it;
// the atomic fields may be read without it.
struct correct_lane {
    struct core_stream *_Atomic stream; // NULL: free
    _Atomic uint32_t number;            // number of the last mark
    uint32_t behind;  // the stream's work comes after everything owed up to this count
    uint32_t owed_at; // the count when something was last owed there
    CUevent event;    // happens with that mark, if has_event
    bool has_event;
    _Atomic uint32_t owed; // the mark that is owed: nothing later may be visible before it; 0: none
    _Atomic bool failed;   // the GPU will not reach its marks
};

// The layer's lock. It protects everything in correct/wait except what lies in guard's table, whose
// lock is taken after it. Never taken in a signal handler.
void correct_lock(void);
void correct_unlock(void);
void correct_lock_reset(void); // in a new child

// --- With the lock -------------------------------------------------------------------------------

// Returns whether marks are possible. The first call asks the driver for memory.
bool correct_marks_ready(void);
// Returns 1 + index of the stream's lane; 0: there is no room, or this thread has no handle of the
// stream.
uint32_t correct_lane_of(struct core_stream *stream, const struct core_call *call);
struct correct_lane *correct_lane_at(uint32_t lane);
uint32_t correct_lane_count(void); // lanes with a higher number are free
// Puts a mark behind all work of the lane's stream. Returns false if the driver refused.
bool correct_mark_put(uint32_t lane, struct correct_mark *mark);
void correct_lane_end(const struct core_stream *stream); // all its marks are reached
void correct_marks_end(void); // all marks are reached; frees their memory

// --- Any thread, also in a signal handler --------------------------------------------------------

bool correct_mark_reached(struct correct_mark mark);
bool correct_mark_failed(struct correct_mark mark); // the GPU will not reach it
CUresult correct_failure(void); // the error by which the GPU failed; CUDA_SUCCESS: none
// Waits without calling the driver, until the mark is reached or the GPU has failed.
void correct_mark_await(struct correct_mark mark);
// Waits for all marks that are owed.
void correct_owed_await(void);
bool correct_is_owed(void);

#endif
