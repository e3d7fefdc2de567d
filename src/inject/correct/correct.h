// SPDX-License-Identifier: Apache-2.0
// Correcting: a program that runs by a plan (plan/plan.h) does without waits, copies and memory
// that its profile has shown to be wasted, and does not notice. Functions of this layer stand
// between the hooks and the driver; at call paths that are not in the plan they do what the driver
// does.
//
//   correct.c        the plan, the row for a call, what was done
//   correct/wait/owed.c   what is owed, and which calls have to pay it
//   correct/wait/marks.c  how far the GPU has come, as anybody can see
//   correct/wait/staging.c  pinned memory that data passes through
//   correct/wait/memory.c memory of the program's that is closed meanwhile, and its first touch
//   correct/wait/sync.c   synchronisations that are left out
//   correct/wait/print.c  whether kernels print
//   correct/wait/copy.c   synchronous copies that do not wait
//
// A call of the driver's is made by REAL(symbol), as everywhere: it never leads to this layer.
// Hooks call what CALLED(symbol) gives.
#ifndef GLINT_INJECT_CORRECT_CORRECT_H
#define GLINT_INJECT_CORRECT_CORRECT_H

#include "inject/core/call.h"
#include "plan/plan.h"

extern bool correct_on; // there is a plan; changes only at the start

// Reads the plan, and puts the functions of all files in place. Alone, as state.c's start() is.
void correct_start(void);
// Before the process ends, while the driver still answers; and in it nothing of the layer's is
// left.
void correct_finish(void);

// Lets the function stand before the driver's, for calls of the program alone. At the start.
void correct_stand(enum hook hook, void *function);

// The call that this thread is at, in a function that stands before the driver's.
static inline struct call *correct_call(void)
{
    return inject_thread.call;
}

// The plan's row with the remedy for the path of the call that this thread is at; NULL: none, and
// it is the driver's affair. Several rows may have the same path and remedy: the next of them after
// `after`.
const struct plan_row *correct_row(enum plan_remedy remedy);
const struct plan_row *correct_row_after(const struct plan_row *after);
bool correct_has_row(void);                           // with any remedy
const struct plan_row *correct_row_of(size_t number); // from 1
size_t correct_row_number(const struct plan_row *row);

// Whether the kernel is one of those that the plan calls plain.
bool correct_is_plain(const char *kernel);

// Adds to what is told of the row (EVENT_CORRECTION); of peaks, the highest holds. NULL: of the
// process as a whole.
void correct_count(const struct plan_row *row, enum event_correction_count what, uint64_t n);

// --- What is owed --------------------------------------------------------------------------------

// A synchronisation that is left out is owed: it is made up for before anything could tell. Work on
// the streams of the call's context comes after what was pending, as it would have; the memory that
// the GPU may touch, or has brought data to, is closed, and who touches it waits.

// Owes a synchronisation with a stream, or (NULL) with all streams of the current context, as they
// are now. False: it cannot be owed, and has to be made.
bool correct_owe(struct stream *stream);

// Waits for all that is owed, whoever owes it, and delivers all data. Any thread, at a call, and
// not in a signal handler.
void correct_settle(void);

// The same, also in a signal handler; and where it counts as a wait that was only put off.
void correct_deliver(void);
void correct_pay(void);

// Something outside of the process, or of CUDA, may come to look at what the GPU does: no wait and
// no copy is left out from now on. Returns when all that was is made up for.
void correct_never(const char *why);
bool correct_has_stopped(void);
// Something may come to touch memory that nobody can make wait (readers.h): nothing is corrected
// from now on. As above; and all memory that was to be there when it is used is there. At a call,
// or between calls; the reason stays as it is for good.
void correct_off(const char *why);
bool correct_is_off(void);

// --- For the rest of libglint.so -----------------------------------------------------------------

// Around fork: nothing is owed in the child.
void correct_before_fork(void);
void correct_after_fork(void); // in the parent
void correct_forked(void);     // in the child

// The memory is about to be touched, or a thread has touched it: waits for what is owed there, and
// delivers it. Whether anything was. Any thread, also in a signal handler.
bool correct_touch(uint64_t low, uint64_t high);
// It goes, with what is owed there.
void correct_memory_gone(uint64_t low, uint64_t high);
void correct_block_gone(uint64_t start); // of malloc's, all of which is data from there on

// Code was loaded, from memory or (NULL) from a file: kernels that print forbid much.
void correct_loaded_slowly(const void *image, const char *path);
static inline void correct_loaded(const void *image, const char *path)
{
    if (correct_on)
        correct_loaded_slowly(image, path);
}

// An event was recorded on the call's stream.
void correct_recorded_slowly(const struct call *call, CUevent event);
static inline void correct_recorded(const struct call *call, CUevent event)
{
    if (correct_on)
        correct_recorded_slowly(call, event);
}

// Before every call's driver function: pays what the call could notice. And behind it.
void correct_before_slowly(struct call *call);
void correct_after_slowly(struct call *call);

static inline void correct_before(struct call *call)
{
    if (correct_on)
        correct_before_slowly(call);
}

static inline void correct_after(struct call *call)
{
    if (correct_on)
        correct_after_slowly(call);
}

#endif
