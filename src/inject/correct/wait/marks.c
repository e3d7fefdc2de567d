// SPDX-License-Identifier: Apache-2.0
// Marks: words of pinned memory, one per stream, to which the GPU writes how far it has come. At
// most one mark per stream is owed: a later mark implies all before it.
//
// Waiting for a mark calls no driver function, because the waiting thread may be in a signal
// handler that has interrupted one. If the GPU has failed, the word is never written. So while a
// thread waits for long, a thread of this layer queries the driver, and reports the failure.
#include "marks.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "inject/correct/state.h"
#include "inject/guard/kernel.h"
#include "inject/guard/ranges.h"

void correct_lock(void)
{
    util_mutex_lock(&correct_state.marks.lock, RANK_CORRECT);
}

void correct_unlock(void)
{
    util_mutex_unlock(&correct_state.marks.lock, RANK_CORRECT);
}

void correct_lock_reset(void)
{
    pthread_mutex_init(&correct_state.marks.lock, NULL);
}

// --- Waiting for marks ---------------------------------------------------------------------------

static bool is_reached(uint32_t lane, uint32_t number)
{
    const volatile uint32_t *words =
        atomic_load_explicit(&correct_state.marks.words, memory_order_acquire);
    if (!words || atomic_load(&correct_state.marks.lanes[lane].failed))
        return true;
    const bool reached = (int32_t)(words[lane] - number) >= 0;
    // Later reads must see what the GPU wrote before the mark.
    atomic_thread_fence(memory_order_acquire);
    return reached;
}

bool correct_mark_failed(struct correct_mark mark)
{
    return mark.lane && atomic_load(&correct_state.marks.lanes[mark.lane - 1].failed);
}

CUresult correct_failure(void)
{
    return atomic_load(&correct_state.marks.failure);
}

bool correct_mark_reached(struct correct_mark mark)
{
    return !mark.lane || is_reached(mark.lane - 1, mark.number);
}

void correct_mark_await(struct correct_mark mark)
{
    enum { SPINS = 2000, SLEEP_NS = 20000 };
    bool reported = false;
    for (unsigned tries = 0; !correct_mark_reached(mark); tries++) {
        const struct timespec time = {0, SLEEP_NS};
        if (tries < SPINS) {
            guard_system_call(SYS_sched_yield, 0, 0, 0, 0);
            continue;
        }
        if (!reported && atomic_fetch_add(&correct_state.marks.waiting, 1) == 0)
            guard_system_call(SYS_futex, (long)(uintptr_t)&correct_state.marks.waiting,
                              FUTEX_WAKE_PRIVATE, INT_MAX, 0);
        reported = true;
        guard_system_call(SYS_nanosleep, (long)(uintptr_t)&time, 0, 0, 0);
    }
    if (reported)
        atomic_fetch_sub(&correct_state.marks.waiting, 1);
}

bool correct_is_owed(void)
{
    const uint32_t top = atomic_load_explicit(&correct_state.marks.top, memory_order_acquire);
    for (uint32_t i = 0; i < top; i++) {
        uint32_t owed = atomic_load(&correct_state.marks.lanes[i].owed);
        if (!owed)
            continue;
        if (!is_reached(i, owed))
            return true;
        atomic_compare_exchange_strong(&correct_state.marks.lanes[i].owed, &owed, 0);
    }
    return false;
}

void correct_owed_await(void)
{
    const uint32_t top = atomic_load_explicit(&correct_state.marks.top, memory_order_acquire);
    for (uint32_t i = 0; i < top; i++) {
        const uint32_t owed = atomic_load(&correct_state.marks.lanes[i].owed);
        if (owed)
            correct_mark_await((struct correct_mark){i + 1, owed});
    }
}

// --- Where the GPU has failed --------------------------------------------------------------------

// Needs no lock, whose holder may be the waiting thread. Structures of streams are never freed.
static void ask(void)
{
    if (!core_ask())
        return;
    for (uint32_t i = 0; i < atomic_load(&correct_state.marks.top); i++) {
        struct correct_lane *lane = &correct_state.marks.lanes[i];
        const struct core_stream *stream = atomic_load(&lane->stream);
        if (!stream || is_reached(i, atomic_load(&lane->number)) ||
            atomic_load(&stream->context->ending))
            continue;
        // An error belongs to the context: its legacy stream reports it, too.
        CUresult result = REAL(cuCtxPushCurrent_v2)(stream->context->handle);
        if (result == CUDA_SUCCESS) {
            CUcontext old;
            result = REAL(cuStreamQuery)(CU_STREAM_LEGACY);
            REAL(cuCtxPopCurrent_v2)(&old);
        }
        if (result == CUDA_SUCCESS || result == CUDA_ERROR_NOT_READY)
            continue;
        atomic_store(&correct_state.marks.failure, result);
        atomic_store(&lane->failed, true);
    }
    core_asked();
}

static void *watch(void *unused)
{
    enum { PATIENCE_NS = 50000000 };
    (void)unused;
    core_thread.depth = 1; // its calls are not the program's
    for (;;) {
        const struct timespec time = {0, PATIENCE_NS};
        if (!atomic_load(&correct_state.marks.waiting))
            guard_system_call(SYS_futex, (long)(uintptr_t)&correct_state.marks.waiting,
                              FUTEX_WAIT_PRIVATE, 0, 0);
        guard_system_call(SYS_nanosleep, (long)(uintptr_t)&time, 0, 0, 0);
        if (atomic_load(&correct_state.marks.waiting))
            ask();
    }
    return NULL;
}

static bool start_watching(void)
{
    pthread_t thread;
    pthread_attr_t attributes;
    sigset_t all, before;
    if (correct_state.marks.watched)
        return true;
    sigfillset(&all);
    if (pthread_attr_init(&attributes) != 0)
        return false;
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    correct_state.marks.watched = pthread_create(&thread, &attributes, watch, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return correct_state.marks.watched;
}

// --- Making marks --------------------------------------------------------------------------------

// The words stay at their address for the life of the process, because any thread may read them at
// any time. They are registered with the driver only while there are marks. Numbers are never
// reset, so that an old mark always counts as reached.
static bool give_words(void)
{
    enum { WORDS_BYTES = CORRECT_LANES * sizeof(uint32_t) };
    if (!correct_state.marks.words) {
        void *memory =
            mmap(NULL, WORDS_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED)
            return false;
        atomic_store_explicit(&correct_state.marks.words, memory, memory_order_release);
    }
    for (uint32_t i = 0; i < CORRECT_LANES; i++)
        correct_state.marks.words[i] = atomic_load(&correct_state.marks.lanes[i].number);
    void *words = (void *)(uintptr_t)correct_state.marks.words;
    return REAL(cuMemHostRegister_v2)(words, WORDS_BYTES,
                                      CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP) ==
               CUDA_SUCCESS &&
           REAL(cuMemHostGetDevicePointer_v2)(&correct_state.marks.on_device, words, 0) ==
               CUDA_SUCCESS;
}

bool correct_marks_ready(void)
{
    if (correct_state.marks.made_by != core_state.generation) { // in a child of fork
        memset(correct_state.marks.lanes, 0, sizeof(correct_state.marks.lanes));
        atomic_store(&correct_state.marks.top, 0);
        atomic_store(&correct_state.marks.words, NULL);
        correct_state.marks.watched = correct_state.marks.refused = correct_state.marks.given =
            false;
        correct_state.marks.made_by = core_state.generation;
    }
    if (!correct_state.marks.given && !correct_state.marks.refused) {
        correct_state.marks.given = start_watching() && give_words();
        correct_state.marks.refused = !correct_state.marks.given;
    }
    return correct_state.marks.given;
}

uint32_t correct_lane_of(struct core_stream *stream, const struct core_call *call)
{
    const uint32_t top = atomic_load(&correct_state.marks.top);
    uint32_t found = CORRECT_LANES;
    if (stream->context != call->current || !core_stream_can_name(stream, NULL, call->current))
        return 0;
    for (uint32_t i = 0; i < top && found == CORRECT_LANES; i++)
        if (correct_state.marks.lanes[i].stream == stream)
            return i + 1;
    for (uint32_t i = 0; i < top && found == CORRECT_LANES; i++)
        if (!correct_state.marks.lanes[i].stream &&
            !atomic_load(&correct_state.marks.lanes[i].failed) &&
            is_reached(i, correct_state.marks.lanes[i].number))
            found = i;
    if (found == CORRECT_LANES && top < CORRECT_LANES)
        found = top;
    if (found == CORRECT_LANES)
        return 0;
    struct correct_lane *lane = &correct_state.marks.lanes[found];
    lane->stream = stream;
    lane->behind = 0; // the stream has not waited for anything yet
    lane->owed_at = 0;
    lane->has_event = false;
    if (found == top)
        atomic_store_explicit(&correct_state.marks.top, top + 1, memory_order_release);
    return found + 1;
}

uint32_t correct_lane_count(void)
{
    return atomic_load(&correct_state.marks.top);
}

struct correct_lane *correct_lane_at(uint32_t lane)
{
    return &correct_state.marks.lanes[lane - 1];
}

bool correct_mark_put(uint32_t at, struct correct_mark *mark)
{
    struct correct_lane *lane = correct_lane_at(at);
    const uint32_t number = lane->number + 1 ? lane->number + 1 : 1;
    const CUdeviceptr word = correct_state.marks.on_device + (at - 1) * sizeof(uint32_t);
    CUresult result = REAL(cuStreamWriteValue32_v2)(lane->stream->handle, word, number, 0);
    if (result == CUDA_ERROR_NOT_SUPPORTED)
        result = REAL(cuStreamWriteValue32)(lane->stream->handle, word, number, 0);
    if (result != CUDA_SUCCESS)
        return false;
    lane->number = number;
    *mark = (struct correct_mark){at, number};
    return true;
}

static void forget_event(struct correct_lane *lane)
{
    if (lane->event)
        REAL(cuEventDestroy_v2)(lane->event);
    lane->event = NULL;
    lane->has_event = false;
}

void correct_lane_end(const struct core_stream *stream)
{
    for (uint32_t i = 0; i < atomic_load(&correct_state.marks.top); i++) {
        if (correct_state.marks.lanes[i].stream != stream)
            continue;
        correct_state.marks.lanes[i].stream = NULL;
        atomic_store(&correct_state.marks.lanes[i].owed, 0);
        forget_event(&correct_state.marks.lanes[i]);
    }
}

void correct_marks_end(void)
{
    for (uint32_t i = 0; i < atomic_load(&correct_state.marks.top); i++) {
        struct correct_lane *lane = &correct_state.marks.lanes[i];
        forget_event(lane);
        atomic_store(&lane->stream, NULL);
        atomic_store(&lane->owed, 0);
        lane->behind = lane->owed_at = 0;
    }
    if (correct_state.marks.given)
        REAL(cuMemHostUnregister)((void *)(uintptr_t)correct_state.marks.words);
    correct_state.marks.given = false;
}
