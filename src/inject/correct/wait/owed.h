// SPDX-License-Identifier: Apache-2.0
// What is owed. A synchronization that is left out is owed: it is made up for before anything could
// notice. Work on the streams of the call's context comes after what was pending, as it would have.
// Memory that the GPU may touch, or has brought data to, is closed, and who touches it waits.
#ifndef GLINT_INJECT_CORRECT_WAIT_OWED_H
#define GLINT_INJECT_CORRECT_WAIT_OWED_H

#include "inject/core/call.h"
#include "inject/correct/state.h"
#include "marks.h"

void correct_owed_start(void);
// Settles. Nothing is owed any more.
void correct_end(void);

// Owes a synchronization with a stream, or (NULL) with all streams of the current context, as they
// are now. False: it cannot be owed, and has to be made.
bool correct_owe(struct core_stream *stream);
// The same for a wait for an event. False: the event's record has no mark, or as above.
bool correct_owe_event(CUevent event, const struct core_call *call);
// Whether a wait of the call can be left out now. With the layer's lock.
bool correct_may_owe(const struct core_call *call);
// Puts a mark behind what the stream has, and owes it. With the layer's lock.
bool correct_owe_locked(struct core_stream *stream, const struct core_call *call,
                        struct correct_mark *mark);
// The call was left out: it has not waited.
void correct_left_out(struct core_call *call);

// Waits for everything that is owed by any thread, and delivers all data. Any thread, in a hook;
// not in a signal handler.
void correct_settle(void);
// The same, also in a signal handler. The second counts it as a wait that was only put off.
void correct_deliver(void);
void correct_pay(void);
// Delivers what is owed to memory that the copy touches.
void correct_touch_copy(const struct event_copy *copy);

// Something outside of the process or of CUDA may see what the GPU does: no wait and no copy is
// left out from now on. Returns when everything that was left out is made up for.
void correct_never(const char *why);
bool correct_has_stopped(void);
// Something may touch memory without waiting (guard/readers.h): nothing is corrected from now on.
// Returns as above, and all memory has its backing. In a hook, or between calls. The reason must
// stay valid.
void correct_off(const char *why);
bool correct_is_off(void);

// An event was recorded on the call's stream.
void correct_recorded_slowly(const struct core_call *call, CUevent event);
static inline void correct_recorded(const struct core_call *call, CUevent event)
{
    if (correct_state.on)
        correct_recorded_slowly(call, event);
}

// Before and after every call's driver function: the first pays what the call could notice.
void correct_owed_before(struct core_call *call);
void correct_owed_after(struct core_call *call);

// Around fork. Nothing is owed in the child.
void correct_before_fork(void);
void correct_after_fork(void);
void correct_forked(void);

#endif
