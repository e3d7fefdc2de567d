// SPDX-License-Identifier: Apache-2.0
// What is owed, and which calls could notice. A wait that is left out puts a mark into the streams
// that it would have waited for. From then on
//   - work on other streams of the context waits on the GPU for an event that was recorded with the
//     mark, so that it runs in the same order as without glint;
//   - memory that the program shares with the GPU is closed (memory.c);
//   - a call first waits for the marks if it could reveal how far the GPU has come, or if its
// effects
//     outside of the context are unknown. This file lists the calls that need not wait.
#include "owed.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "inject/correct/memory/back.h"
#include "inject/correct/memory/pool.h"
#include "inject/guard/kernel.h"
#include "inject/guard/libraries.h"
#include "inject/guard/ranges.h"
#include "inject/guard/readers.h"
#include "inject/uses/clock_reads.h"
#include "memory.h"
#include "release.h"

static void say_stopped(const char *what, const char *why)
{
    char text[256];
    snprintf(text, sizeof(text), "from here on, %s: %s", what, why);
    core_note(EVENT_WARNING, text);
}

// Once the lock was free, every thread that decided to leave out a wait has done so. memory.c
// refuses data that would be owed later.
static bool stop(void)
{
    if (atomic_exchange(&correct_state.owed.never, true))
        return false;
    correct_lock();
    correct_unlock();
    correct_settle();
    return true;
}

void correct_never(const char *why)
{
    if (correct_state.on && stop())
        say_stopped("no waits or copies are corrected", why);
}

bool correct_has_stopped(void)
{
    return atomic_load(&correct_state.owed.never);
}

void correct_off(const char *why)
{
    if (!correct_state.on || atomic_exchange(&correct_state.owed.off, true))
        return;
    core_thread.depth++; // calls that the driver makes meanwhile are not recorded
    if (!stop())
        correct_settle();
    correct_back_end();
    core_thread.depth--;
    say_stopped("nothing is corrected", why);
}

bool correct_is_off(void)
{
    return atomic_load(&correct_state.owed.off);
}

// If the GPU fails, a wait would have reported it to the program. A later call does so, too. If
// none follows, the program has ended differently from a run without glint, and a note reports
// that.
void correct_end(void)
{
    atomic_store(&correct_state.owed.never, true);
    correct_settle();
    const CUresult failure = correct_failure();
    if (failure == CUDA_SUCCESS || atomic_load(&correct_state.owed.reported) == failure)
        return;
    char text[256];
    snprintf(text, sizeof(text),
             PLAN_UNTOLD " with error %d in work that the program did not wait for any more, and "
                         "it ended without the error: natively a wait would have returned it",
             (int)failure);
    core_note(EVENT_ERROR, text);
}

void correct_owed_start(void)
{
    memset(&correct_state.owed, 0, sizeof(correct_state.owed));
}

// --- Owing ---------------------------------------------------------------------------------------

bool correct_may_owe(const struct core_call *call)
{
    return !atomic_load(&correct_state.owed.never) && !guard_readers_are_loading() &&
           call->current && call->context == call->current &&
           !(call->flags & EVENT_CALL_CAPTURED) && !atomic_load(&core_state.captures) &&
           atomic_load(&correct_state.owed.hosts) == atomic_load(&correct_state.owed.hosts_done) &&
           correct_memory_ready() && correct_marks_ready();
}

static bool has_other_streams(const struct core_stream *stream)
{
    struct core_stream *streams[2];
    return core_streams_of(stream->context, false, streams, 2) > 1;
}

static void owe(struct correct_lane *lane, uint32_t number)
{
    lane->owed_at = ++correct_state.owed.count;
    atomic_store(&lane->owed, number);
}

// Does not close memory. The caller does that once all streams are marked.
static bool mark_and_owe(struct core_stream *stream, const struct core_call *call,
                         struct correct_mark *mark)
{
    const uint32_t at = correct_lane_of(stream, call);
    if (!at || !correct_mark_put(at, mark))
        return false;
    struct correct_lane *lane = correct_lane_at(at);
    lane->has_event = false;
    if (has_other_streams(stream)) {
        if (!lane->event &&
            REAL(cuEventCreate)(&lane->event, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS)
            lane->event = NULL;
        lane->has_event =
            lane->event && REAL(cuEventRecord)(lane->event, stream->handle) == CUDA_SUCCESS;
    }
    owe(lane, mark->number);
    return true;
}

bool correct_owe_locked(struct core_stream *stream, const struct core_call *call,
                        struct correct_mark *mark)
{
    return mark_and_owe(stream, call, mark) && correct_close_shared(call);
}

// Marks all streams of the context that may have pending work.
static bool owe_context(const struct core_call *call)
{
    struct core_stream *streams[CALL_MOST_STREAMS];
    struct correct_mark mark = {0};
    const size_t count = core_streams_of(call->context, false, streams, CALL_MOST_STREAMS);
    if (count == CALL_MOST_STREAMS)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (atomic_load(&streams[i]->enqueued) != atomic_load(&streams[i]->idle) &&
            !mark_and_owe(streams[i], call, &mark))
            return false;
    }
    return correct_close_shared(call);
}

bool correct_owe(struct core_stream *stream)
{
    struct core_call *call = correct_call();
    struct correct_mark mark;
    if (!correct_state.on || !call)
        return false;
    correct_lock();
    const bool good = correct_may_owe(call) &&
                      (stream ? correct_owe_locked(stream, call, &mark) : owe_context(call));
    correct_unlock();
    return good;
}

void correct_left_out(struct core_call *call)
{
    call->pending_count = 0;
    call->how &= (uint8_t)~HOOK_WAITS;
    uses_clock_left_out();
    correct_release_left_out();
}

// --- Events --------------------------------------------------------------------------------------

// A wait for an event waits for the work before its record only, so each record gets a mark.
// Records get marks from the first wait for an event that is to be left out.

static unsigned place_of(CUevent event)
{
    return (unsigned)((uint64_t)(uintptr_t)event * UINT64_C(0x9E3779B97F4A7C15) >> 54) %
           CORRECT_EVENTS;
}

void correct_recorded_slowly(const struct core_call *call, CUevent event)
{
    if (!atomic_load_explicit(&correct_state.owed.marks_events, memory_order_relaxed))
        return;
    struct correct_mark mark;
    correct_lock();
    const unsigned place = place_of(event);
    correct_state.owed.events[place].event = NULL;
    const uint32_t lane = call->result == CUDA_SUCCESS && call->stream && correct_may_owe(call)
                              ? correct_lane_of(call->stream, call)
                              : 0;
    if (lane && correct_mark_put(lane, &mark)) {
        correct_state.owed.events[place].event = event;
        correct_state.owed.events[place].mark = mark;
    }
    correct_unlock();
}

bool correct_owe_event(CUevent event, const struct core_call *call)
{
    atomic_store(&correct_state.owed.marks_events, true);
    correct_lock();
    const unsigned place = place_of(event);
    const struct correct_mark mark = correct_state.owed.events[place].mark;
    bool good = correct_state.owed.events[place].event == event && correct_may_owe(call);
    if (good) {
        struct correct_lane *lane = correct_lane_at(mark.lane);
        const uint32_t before = atomic_load(&lane->owed);
        if (!before || (int32_t)(mark.number - before) > 0) {
            lane->has_event = false; // no event was recorded with that mark
            owe(lane, mark.number);
        }
        good = correct_close_shared(call);
    }
    correct_unlock();
    return good;
}

// --- Making up for waits -------------------------------------------------------------------------

static void pay_waits(void)
{
    if (correct_is_owed()) {
        correct_count(NULL, EVENT_CORRECTION_PAID, 1);
        correct_owed_await();
    }
}

void correct_settle(void)
{
    if (!correct_state.on)
        return;
    pay_waits();
    correct_touch(0, UINT64_MAX);
}

void correct_pay(void)
{
    if (correct_is_owed() || correct_is_data_owed())
        correct_count(NULL, EVENT_CORRECTION_PAID, 1);
    correct_deliver();
}

void correct_deliver(void)
{
    correct_owed_await();
    correct_touch(0, UINT64_MAX);
}

// Makes later work of the stream run after everything that is owed.
static bool order_locked(struct core_stream *stream, const struct core_call *call)
{
    const uint32_t at = correct_lane_of(stream, call);
    if (!at)
        return false;
    struct correct_lane *own = correct_lane_at(at);
    if (own->behind == correct_state.owed.count)
        return true;
    for (uint32_t i = 1; i <= correct_lane_count(); i++) {
        struct correct_lane *lane = correct_lane_at(i);
        const struct correct_mark mark = {i, atomic_load(&lane->owed)};
        if (!lane->stream || lane == own || !mark.number || lane->owed_at <= own->behind ||
            correct_mark_reached(mark))
            continue;
        if (lane->stream->context != stream->context || !lane->has_event ||
            REAL(cuStreamWaitEvent)(stream->handle, lane->event, 0) != CUDA_SUCCESS)
            return false;
    }
    own->behind = correct_state.owed.count;
    return true;
}

static void order(const struct core_call *call)
{
    if (!correct_is_owed())
        return;
    bool good = false;
    if (call->stream && !(call->flags & EVENT_CALL_CAPTURED) &&
        !atomic_load(&core_state.captures)) {
        correct_lock();
        good = order_locked(call->stream, call);
        correct_unlock();
    }
    if (!good)
        pay_waits();
}

// Returns the end of the memory at one end of a copy, which begins at `start`.
static uint64_t end_of(uint64_t start, uint64_t pitch, const struct event_copy *copy)
{
    const uint64_t rows = copy->height > 1 || copy->depth > 1 ? copy->height * copy->depth : 1;
    return start + (rows > 1 && pitch ? (rows - 1) * pitch + copy->width_bytes : copy->bytes);
}

static bool is_pageable(uint8_t memory)
{
    return memory != EVENT_MEMORY_DEVICE && memory != EVENT_MEMORY_ARRAY;
}

void correct_touch_copy(const struct event_copy *copy)
{
    if (!correct_is_data_owed() || !copy->bytes)
        return;
    if (is_pageable(copy->from_memory))
        correct_touch(copy->from, end_of(copy->from, copy->from_pitch, copy));
    if (is_pageable(copy->to_memory))
        correct_touch(copy->to, end_of(copy->to, copy->to_pitch, copy));
}

static bool is_batch(enum core_hook hook)
{
    switch ((int)hook) {
    case HOOK_cuMemcpyBatchAsync:
    case HOOK_cuMemcpyBatchAsync_ptsz:
    case HOOK_cuMemcpyBatchAsync_v2:
    case HOOK_cuMemcpyBatchAsync_v2_ptsz:
    case HOOK_cuMemcpy3DBatchAsync:
    case HOOK_cuMemcpy3DBatchAsync_ptsz:
    case HOOK_cuMemcpy3DBatchAsync_v2:
    case HOOK_cuMemcpy3DBatchAsync_v2_ptsz: return true;
    default: return false;
    }
}

// Returns true for calls that make memory visible to another process, or to an interface other than
// CUDA.
static bool is_sharing(enum core_hook hook)
{
    switch ((int)hook) {
    case HOOK_cuImportExternalMemory:
    case HOOK_cuIpcGetMemHandle:
    case HOOK_cuIpcOpenMemHandle:
    case HOOK_cuIpcOpenMemHandle_v2:
    case HOOK_cuMemExportToShareableHandle:
    case HOOK_cuMemGetHandleForAddressRange:
    case HOOK_cuMemImportFromShareableHandle:
    case HOOK_cuMemPoolExportToShareableHandle:
    case HOOK_cuMemPoolExportPointer:
    case HOOK_cuMemPoolImportFromShareableHandle:
    case HOOK_cuMemPoolImportPointer:
    case HOOK_cuSignalExternalSemaphoresAsync:
    case HOOK_cuSignalExternalSemaphoresAsync_ptsz:
    case HOOK_cuWaitExternalSemaphoresAsync:
    case HOOK_cuWaitExternalSemaphoresAsync_ptsz: return true;
    default: return false;
    }
}

// A context may be destroyed, with everything that the layer has in it. So everything is given
// back, and created again when it is needed.
static void leave_contexts(void)
{
    for (;;) {
        correct_settle();
        correct_lock();
        const bool good = !correct_is_owed() && !correct_is_data_owed() && correct_stages_end();
        if (good)
            correct_marks_end();
        memset(correct_state.owed.events, 0, sizeof(correct_state.owed.events));
        correct_unlock();
        if (good)
            return;
        sched_yield(); // another thread is making a copy
    }
}

static void before_free(const struct core_call *call)
{
    const struct event_alloc *alloc = &call->detail.alloc;
    if (call->how & HOOK_ASYNC) {
        order(call);
        return;
    }
    if (correct_row(PLAN_POOL)) // the pool handles it
        return;
    pay_waits(); // the driver waits, too
    correct_touch(alloc->address, alloc->address + alloc->bytes);
}

static void before_stream(const struct core_call *call)
{
    if (call->hook != HOOK_cuStreamDestroy && call->hook != HOOK_cuStreamDestroy_v2)
        return;
    // The stream's work continues, but its marks can no longer be used, since the hook has removed
    // the stream.
    correct_settle();
    correct_lock();
    if (call->stream)
        correct_lane_end(call->stream);
    correct_unlock();
}

static void pay(struct core_call *call)
{
    switch (call->kind) {
    case EVENT_CALL_COPY:
        if (is_batch(call->hook))
            correct_settle();
        else if (!core_state.stands[call->hook] ||
                 !correct_row(PLAN_ASYNC_COPY)) // wait/copy.c handles it
            correct_touch_copy(&call->detail.copy);
        order(call);
        break;
    case EVENT_CALL_SET:
    case EVENT_CALL_LAUNCH:
    case EVENT_CALL_EVENT_RECORD:
    case EVENT_CALL_EVENT_WAIT: order(call); break;
    case EVENT_CALL_ALLOC:
        if (call->how & HOOK_ASYNC)
            order(call);
        else if (call->hook == HOOK_cuMemAllocManaged)
            correct_settle();
        break;
    case EVENT_CALL_FREE: before_free(call); break;
    case EVENT_CALL_SYNC:
        if (call->how & HOOK_ASYNC)
            pay_waits();
        call->hosts = atomic_load(&correct_state.owed.hosts);
        break;
    case EVENT_CALL_STREAM: before_stream(call); break;
    case EVENT_CALL_CONTEXT:
        if (call->how & HOOK_WAITS) // a context may be destroyed
            leave_contexts();
        break;
    case EVENT_CALL_HOST:
    case EVENT_CALL_GRAPH_LAUNCH: // which may contain host functions
        correct_settle();
        atomic_fetch_add(&correct_state.owed.hosts, 1);
        break;
    case EVENT_CALL_MEMORY:
    case EVENT_CALL_MODULE:
        if (is_sharing(call->hook))
            correct_never("GPU memory is shared with another process or interface");
        correct_settle();
        break;
    default:
        if (is_sharing(call->hook))
            correct_never("GPU work waits for another interface");
        else if (!call->quiet && call->hook != HOOK_cuEventCreate &&
                 call->hook != HOOK_cuEventDestroy && call->hook != HOOK_cuEventDestroy_v2)
            correct_settle();
        break;
    }
}

// The simulated GPU needs a lock that calls of its driver hold. A signal handler of the program
// that interrupts such a call and waits for data would deadlock. So signals are blocked meanwhile.
static void hold_signals(struct core_call *call)
{
    const uint64_t others = ~(UINT64_C(1) << (SIGSEGV - 1));
    call->holds_signals = core_state.simulated && guard_may_be_closed(0, UINT64_MAX);
    if (call->holds_signals)
        guard_system_call(SYS_rt_sigprocmask, SIG_BLOCK, (long)(uintptr_t)&others,
                          (long)(uintptr_t)&call->signals, sizeof(call->signals));
}

// Called before a correction begins: checks for readers that would not wait.
static void look_for_readers(void)
{
    guard_readers_thread_is_back();
    if (correct_is_off() && !atomic_exchange(&correct_state.given_back, true))
        correct_pool_give_back(); // needs a current context, which a call has
    if (correct_is_off() || !correct_has_row())
        return;
    guard_libraries_look();
    const char *why = guard_readers_find();
    if (why)
        correct_off(why);
}

void correct_owed_before(struct core_call *call)
{
    look_for_readers();
    const struct event_copy *copy = &call->detail.copy;
    if (call->kind == EVENT_CALL_COPY && !(call->flags & EVENT_CALL_CAPTURED) &&
        copy->direction == EVENT_DEVICE_TO_HOST && copy->height <= 1 && copy->depth <= 1)
        guard_flight_overwritten(copy->to, copy->to + copy->bytes);
    pay(call);
    hold_signals(call);
}

// All host functions have run once a call has waited for the whole context.
void correct_owed_after(struct core_call *call)
{
    if (call->holds_signals)
        guard_system_call(SYS_rt_sigprocmask, SIG_SETMASK, (long)(uintptr_t)&call->signals, 0,
                          sizeof(call->signals));
    if (call->result != CUDA_SUCCESS && call->result != CUDA_ERROR_NOT_READY)
        atomic_store_explicit(&correct_state.owed.reported, call->result, memory_order_relaxed);
    // A wait that began before the driver got the host function has not waited for it.
    if (call->kind == EVENT_CALL_HOST || call->kind == EVENT_CALL_GRAPH_LAUNCH)
        atomic_fetch_add(&correct_state.owed.hosts, 1);
    if (call->kind == EVENT_CALL_SYNC && call->how & HOOK_WAITS && !call->stream && !call->event &&
        call->result == CUDA_SUCCESS && core_state.contexts_made == 1 &&
        call->hosts > atomic_load(&correct_state.owed.hosts_done))
        atomic_store(&correct_state.owed.hosts_done, call->hosts);
}

// --- Fork ----------------------------------------------------------------------------------------

// A child of fork has a copy of the memory, but no GPU. So everything is delivered, and nothing is
// owed until the fork is done.
void correct_before_fork(void)
{
    if (!correct_state.on || !core_is_on())
        return;
    for (;;) {
        correct_settle();
        correct_lock();
        if (!correct_is_data_owed() && !correct_is_owed())
            return;
        correct_unlock();
    }
}

void correct_after_fork(void)
{
    if (correct_state.on && core_is_on())
        correct_unlock();
}

void correct_forked(void)
{
    correct_lock_reset();
    correct_state.on = false;
}
