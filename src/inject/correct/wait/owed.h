// SPDX-License-Identifier: Apache-2.0
// What is owed. A synchronization that is left out is owed: glint makes up for it before anything
// could notice. Later work on the streams of the call's context runs after the work that was
// pending, as it would have. Memory that the GPU may touch, or has copied data to, is closed, and a
// thread that touches it waits.
#ifndef GLINT_INJECT_CORRECT_WAIT_OWED_H
#define GLINT_INJECT_CORRECT_WAIT_OWED_H

#include "inject/core/call.h"
#include "inject/correct/state.h"
#include "marks.h"

void correct_owed_start(void);
// Waits for everything that is owed, at the end.
void correct_end(void);

// Owes a synchronization with the present work of a stream, or (NULL) of all streams of the current
// context. Returns false if it cannot be owed: the caller must synchronize.
bool correct_owe(struct core_stream *stream);
// Owes a wait for an event. Returns false for the same reason, or if the event's record has no
// mark.
bool correct_owe_event(CUevent event, const struct core_call *call);
// Returns whether a wait of the call can be left out now. Needs the layer's lock.
bool correct_may_owe(const struct core_call *call);
// Puts a mark behind the stream's work, and owes it. Needs the layer's lock.
bool correct_owe_locked(struct core_stream *stream, const struct core_call *call,
                        struct correct_mark *mark);
// Says that the call was left out and has not waited.
void correct_left_out(struct core_call *call);

// Waits for everything that is owed by any thread, and delivers all data. Any thread may call, in a
// hook, but not in a signal handler.
void correct_settle(void);
// Do the same, also in a signal handler. correct_pay also counts a wait that was only postponed.
void correct_deliver(void);
void correct_pay(void);
// Delivers the data that is owed to memory that the copy touches.
void correct_touch_copy(const struct event_copy *copy);

// Something outside of the process or of CUDA may see what the GPU does: no wait and no copy is
// left out from now on. Returns when glint has made up for everything that was left out.
void correct_never(const char *why);
bool correct_has_stopped(void);
// Something may touch memory without waiting (guard/readers.h): nothing is corrected from now on.
// Returns when glint has made up for everything, and all objects are backed. Called in a hook, or
// between calls. The reason must stay valid.
void correct_off(const char *why);
bool correct_is_off(void);

// Says that an event was recorded on the call's stream.
void correct_recorded_slowly(const struct core_call *call, CUevent event);
static inline void correct_recorded(const struct core_call *call, CUevent event)
{
    if (correct_state.on)
        correct_recorded_slowly(call, event);
}

// Called before and after every call's driver function. correct_owed_before first makes up for what
// the call could notice.
void correct_owed_before(struct core_call *call);
void correct_owed_after(struct core_call *call);

// Called around fork. Nothing is owed in the child.
void correct_before_fork(void);
void correct_after_fork(void);
void correct_forked(void);

#endif
