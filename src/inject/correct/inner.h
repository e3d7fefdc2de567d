// SPDX-License-Identifier: Apache-2.0
// What the files of correct.h share.
#ifndef GLINT_INJECT_CORRECT_INNER_H
#define GLINT_INJECT_CORRECT_INNER_H

#include "correct.h"

// --- Marks (correct/wait/marks.c)
// ---------------------------------------------------------------------

// A place in a stream's work, that anybody can see it come to: the GPU then writes its number to a
// word of pinned memory. A signal handler may look, since that is no call of the driver's.
struct correct_mark {
    uint32_t lane;   // 1 + index of the stream's lane; 0: nowhere, and always reached
    uint32_t number; // counts marks of the lane
};

enum { CORRECT_LANES = 512 };

// A stream that work was given to, or was waited for, since there is a plan.
struct correct_lane {
    // Written with the layer's lock, as all of it; those that are atomic are read without.
    struct stream *_Atomic stream; // NULL: free
    _Atomic uint32_t number;       // of the last mark
    uint32_t behind;  // correct_lanes_owed() up to which the stream's work comes behind
    uint32_t owed_at; // value of that when something was owed there last
    CUevent event;    // happens with that mark: see `has_event`
    bool has_event;
    _Atomic uint32_t owed; // the mark that is owed: nothing may be seen before. 0: none
    _Atomic bool failed;   // the GPU will not come to its marks
};

// The lock of the layer: of everything but what lies in the table of guard/inner.h, whose lock
// is taken after it. Never taken by a signal handler.
void correct_lock(void);
void correct_unlock(void);
void correct_lock_reset(void); // in a new child

// All with the lock.
// Whether marks can be had at all: the first asks the driver for memory.
bool correct_marks_ready(void);
// The stream's lane, 1 + index; 0: there is no room, or the stream cannot be named by this thread.
uint32_t correct_lane_of(struct stream *stream, const struct call *call);
struct correct_lane *correct_lane_at(uint32_t lane);
uint32_t correct_lane_count(void); // higher ones are free
// Puts a mark behind all that was given to the lane's stream. False: the driver would not.
bool correct_mark_put(uint32_t lane, struct correct_mark *mark);
void correct_lane_end(const struct stream *stream); // all its marks are reached
void correct_marks_end(void);                       // of all; memory is given back

// Anybody, anywhere.
bool correct_mark_reached(struct correct_mark mark);
bool correct_mark_failed(struct correct_mark mark); // the GPU will not come there
CUresult correct_failure(void); // by which it did not come to some mark; CUDA_SUCCESS: none
// Waits without a call of the driver's, also in a signal handler. It ends also where the GPU has
// failed.
void correct_mark_await(struct correct_mark mark);
// Waits for all marks that are owed.
void correct_owed_await(void);
bool correct_is_owed(void);

// --- Data on its way (correct/wait/staging.c)
// ---------------------------------------------------------

// A piece of pinned memory that data passes through.
struct correct_block {
    char *memory;
    size_t bytes;
    _Atomic int use;          // enum correct_block_use
    struct correct_mark mark; // behind which the GPU is done with it
    uint64_t age;
};

enum correct_block_use { BLOCK_NONE, BLOCK_FREE, BLOCK_TAKEN, BLOCK_LEAVING, BLOCK_OWED };

// One of at least so many bytes, taken; NULL: there is none now. With the lock.
struct correct_block *correct_block_take(size_t bytes);
// Waits until there may be one. False: there will be none. Without the lock.
bool correct_block_await(size_t bytes);
void correct_block_leave(struct correct_block *block, struct correct_mark mark); // free behind it
void correct_block_free(struct correct_block *block); // any thread, anywhere
// Gives all back. False: some are just being filled, and none is.
bool correct_blocks_end(void);

// --- Memory that is closed (correct/wait/memory.c)
// ----------------------------------------------------

// Whether memory can be closed in this process at all, and why not.
bool correct_memory_ready(void);
// Closes all memory that the GPU and the program share. False: some cannot be.
bool correct_close_shared(const struct call *call);
// Whether the data that a copy brings to pageable memory can be owed there.
bool correct_can_owe_data(uint64_t to, uint64_t bytes, const struct call *call);
// It is owed there from now on, out of the block, behind the mark. False: it cannot be, after all.
bool correct_owe_data(uint64_t to, uint64_t bytes, struct correct_block *block,
                      struct correct_mark mark, const struct call *call);
// Data that is owed in the memory, which nobody will see any more.
void correct_forget_data(uint64_t low, uint64_t high);
// Delivers what is owed to the oldest data, to have its block. False: nothing is owed.
bool correct_deliver_oldest(void);
bool correct_is_data_owed(void);

// --- Standing before the driver ------------------------------------------------------------------

void correct_owed_start(void);
void correct_end(void); // settles, and nothing is owed any more
void correct_sync_start(void);
void correct_copy_start(void);

// Whether a wait can be left out now for the call. With the lock.
bool correct_may_owe(const struct call *call);
// Puts a mark behind what the stream has, and owes it. With the lock.
bool correct_owe_locked(struct stream *stream, const struct call *call, struct correct_mark *mark);
// The wait for an event: its record has been marked. False: it is not known.
bool correct_owe_event(CUevent event, const struct call *call);
// The call has been left out: it has not waited.
void correct_left_out(struct call *call);
// Delivers what is owed to memory that the copy touches.
void correct_touch_copy(const struct event_copy *copy);

#endif
