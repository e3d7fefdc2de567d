// SPDX-License-Identifier: Apache-2.0
// Finds waits that are followed by a read of the clock, by the same thread and before it gives
// other work to the GPU. If the thread ends after its wait, another may measure how long it took,
// so the next read by any thread counts then. A read without such a wait costs one access to
// thread-local memory and one to shared memory.
#include "clock_reads.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include "inject/core/names.h"
#include "state.h"

enum {
    MOST_WAITS = 8,  // in a row; of more, the last ones are recorded
    MOST_ENDED = 64, // of threads that have ended; the same
};

static __thread struct {
    volatile uint32_t count; // a signal handler may read the clock, too
    uint32_t next;
    uint64_t waits[MOST_WAITS]; // numbers of calls
    volatile bool left_out;
    bool keyed; // thread_ends is called for the thread
} reads __attribute__((tls_model("initial-exec")));

// Of threads that have ended. Any thread, without a lock.
static struct {
    pthread_key_t key; // written by the first start
    bool has_key;
    _Atomic bool any;
    _Atomic uint32_t next;
    _Atomic uint64_t waits[MOST_ENDED]; // numbers of calls; 0: none
} ended;

static void forget_ended(void)
{
    if (!atomic_load_explicit(&ended.any, memory_order_relaxed))
        return;
    atomic_store(&ended.any, false);
    for (uint32_t i = 0; i < MOST_ENDED; i++)
        atomic_store_explicit(&ended.waits[i], 0, memory_order_relaxed);
}

static void thread_ends(void *unused)
{
    (void)unused;
    const uint32_t count = reads.count;
    reads.count = 0;
    reads.keyed = false; // another destructor of the thread may make calls, too
    for (uint32_t i = 1; i <= count; i++)
        atomic_store(&ended.waits[atomic_fetch_add(&ended.next, 1) % MOST_ENDED],
                     reads.waits[(reads.next - i) % MOST_WAITS]);
    if (count)
        atomic_store(&ended.any, true);
}

void uses_clock_start(void)
{
    forget_ended(); // a child of fork inherits what its parent has
    if (!ended.has_key)
        ended.has_key = pthread_key_create(&ended.key, thread_ends) == 0;
}

static bool is_work(const struct core_call *call)
{
    return call->kind == EVENT_CALL_COPY || call->kind == EVENT_CALL_SET ||
           call->kind == EVENT_CALL_LAUNCH || call->kind == EVENT_CALL_GRAPH_LAUNCH ||
           call->kind == EVENT_CALL_HOST;
}

void uses_clock_call(const struct core_call *call, bool waits)
{
    if (is_work(call)) {
        reads.count = 0;
        forget_ended();
    }
    if (!waits || !call->number)
        return;
    if (call->kind == EVENT_CALL_SYNC && !call->stream && !call->event)
        reads.count = 0; // it also waits for those before it, so they bound nothing
    reads.waits[reads.next++ % MOST_WAITS] = call->number;
    reads.count = reads.count < MOST_WAITS ? reads.count + 1 : MOST_WAITS;
    if (!reads.keyed && ended.has_key)
        reads.keyed = pthread_setspecific(ended.key, &ended) == 0;
}

void uses_clock_left_out(void)
{
    reads.left_out = true;
}

static void tell_wait(uint64_t call)
{
    const struct event_use record = {.sync = call,
                                     .time_ns = core_now_ns(),
                                     .thread = core_thread_number(),
                                     .kind = EVENT_USE_CLOCK};
    core_put(EVENT_USE, &record, sizeof(record), NULL, 0);
}

static void tell_waits(void)
{
    const uint32_t count = reads.count;
    reads.count = 0; // because functions called here may read the clock
    for (uint32_t i = 1; i <= count; i++)
        tell_wait(reads.waits[(reads.next - i) % MOST_WAITS]);
    if (!atomic_exchange(&ended.any, false))
        return;
    for (uint32_t i = 0; i < MOST_ENDED; i++) {
        const uint64_t call = atomic_exchange(&ended.waits[i], 0);
        if (call)
            tell_wait(call);
    }
}

void uses_clock_now(const void *caller)
{
    if (__builtin_expect(!reads.count && !reads.left_out &&
                             !atomic_load_explicit(&ended.any, memory_order_relaxed),
                         1) ||
        core_thread.depth || core_thread.tracking || !core_is_on() || core_driver_is_below(caller))
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
