// SPDX-License-Identifier: Apache-2.0
// Finds waits that are followed by a read of the clock, by the same thread and before it gives
// other work to the GPU. A read without such a wait costs one access to thread-local memory.
#include "clock_reads.h"

#include <errno.h>
#include <stdatomic.h>

#include "inject/core/names.h"
#include "state.h"

enum { MOST_WAITS = 8 }; // in a row; of more, the last ones are recorded

static __thread struct {
    volatile uint32_t count; // a signal handler may read the clock, too
    uint32_t next;
    uint64_t waits[MOST_WAITS]; // numbers of calls
    volatile bool left_out;
} reads __attribute__((tls_model("initial-exec")));

static bool is_work(const struct core_call *call)
{
    return call->kind == EVENT_CALL_COPY || call->kind == EVENT_CALL_SET ||
           call->kind == EVENT_CALL_LAUNCH || call->kind == EVENT_CALL_GRAPH_LAUNCH ||
           call->kind == EVENT_CALL_HOST;
}

void uses_clock_call(const struct core_call *call, bool waits)
{
    if (is_work(call))
        reads.count = 0;
    if (!waits || !call->number)
        return;
    if (call->kind == EVENT_CALL_SYNC && !call->stream && !call->event)
        reads.count = 0; // it also waits for those before it, so they bound nothing
    reads.waits[reads.next++ % MOST_WAITS] = call->number;
    reads.count = reads.count < MOST_WAITS ? reads.count + 1 : MOST_WAITS;
}

void uses_clock_left_out(void)
{
    reads.left_out = true;
}

static void tell_waits(void)
{
    const uint32_t count = reads.count;
    reads.count = 0; // because functions called here may read the clock
    for (uint32_t i = 1; i <= count; i++) {
        const struct event_use record = {.sync = reads.waits[(reads.next - i) % MOST_WAITS],
                                         .time_ns = core_now_ns(),
                                         .thread = core_thread_number(),
                                         .kind = EVENT_USE_CLOCK};
        core_put(EVENT_USE, &record, sizeof(record), NULL, 0);
    }
}

void uses_clock_now(const void *caller)
{
    if (__builtin_expect(!reads.count && !reads.left_out, 1) || core_thread.depth ||
        core_thread.tracking || !core_is_on() || core_driver_is_below(caller))
        return;
    const int error = errno;
    if (uses_state.on)
        tell_waits();
    if (reads.left_out) {
        reads.left_out = false;
        core_layers_clock_read();
    }
    errno = error;
}
