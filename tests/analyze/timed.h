// SPDX-License-Identifier: Apache-2.0
// Models with times, as runs of a program. Calls are added in order, on a clock that advances by
// their durations. All calls are on thread 1 unless stated.
#ifndef GLINT_TESTS_ANALYZE_TIMED_H
#define GLINT_TESTS_ANALYZE_TIMED_H

#include "models.h"
#include "sync.h"

struct timed {
    struct analyze_model model;
    int64_t now_ns;
};

static inline void timed_begin(struct timed *run)
{
    *run = (struct timed){.now_ns = 1000};
    model_begin(&run->model);
    run->model.host.tracked = run->model.host.knows_timing = true;
    run->model.host.has_gpu_times = true;
}

// Sets the duration of the last call, and how much of it was waiting.
static inline uint32_t took(struct timed *run, int64_t took_ns, uint64_t waited_ns)
{
    struct analyze_time *time = base_array_push(&run->model.host.times);
    assert_non_null(time);
    *time = (struct analyze_time){run->now_ns, run->now_ns + took_ns, waited_ns, 0};
    run->now_ns += took_ns;
    uint32_t call = (uint32_t)run->model.calls.count - 1;
    if (waited_ns)
        run->model.calls.items[call].flags |= ANALYZE_WAITED;
    return call;
}

// The recorder uses the thread for this time after the last call.
static inline void records(struct timed *run, int64_t ns)
{
    run->model.host.times.items[run->model.calls.count - 1].recorder_ns += (uint64_t)ns;
    run->now_ns += ns;
}

// The program itself computes for this time.
static inline void works(struct timed *run, int64_t ns)
{
    run->now_ns += ns;
}

static inline struct analyze_call *last_call(struct timed *run)
{
    return &run->model.calls.items[run->model.calls.count - 1];
}

// Sets the call path of a call.
static inline uint32_t from_path(struct timed *run, uint32_t call, uint32_t path)
{
    run->model.calls.items[call].path = path;
    return call;
}

static inline uint32_t timed_launch(struct timed *run, uint32_t stream, uint64_t gpu_ns)
{
    launch(&run->model, stream, 1);
    last_call(run)->gpu_ns = gpu_ns;
    last_call(run)->flags |= ANALYZE_ASYNC;
    return took(run, 10, 0);
}

// A synchronization with a stream; 0: with the context.
static inline uint32_t timed_sync(struct timed *run, uint32_t stream, uint64_t waited_ns)
{
    add_call(&run->model, PROFILE_CALL_SYNC, stream);
    last_call(run)->sync_stream = stream;
    return took(run, (int64_t)waited_ns + 10, waited_ns);
}

static inline uint32_t timed_record(struct timed *run, uint32_t stream, uint64_t event)
{
    add_call(&run->model, PROFILE_CALL_EVENT_RECORD, stream);
    last_call(run)->event = event;
    return took(run, 10, 0);
}

static inline uint32_t timed_event_wait(struct timed *run, uint32_t stream, uint64_t event)
{
    add_call(&run->model, PROFILE_CALL_EVENT_WAIT, stream);
    last_call(run)->event = event;
    return took(run, 10, 0);
}

static inline uint32_t timed_event_sync(struct timed *run, uint64_t event, uint64_t waited_ns)
{
    add_call(&run->model, PROFILE_CALL_SYNC, 0);
    last_call(run)->event = event;
    return took(run, (int64_t)waited_ns + 10, waited_ns);
}

// A copy between the host and an object, on the legacy stream. It is asynchronous if it takes no
// longer than a call.
static inline struct analyze_copy *timed_copy(struct timed *run, uint32_t object, bool to_host,
                                              enum profile_memory memory, int64_t took_ns,
                                              uint64_t waited_ns)
{
    const uint64_t bytes = run->model.objects.items[object].bytes;
    uint32_t call =
        to_host ? copy_out(&run->model, object, 0, bytes) : copy_in(&run->model, object, 0, bytes);
    took(run, took_ns, waited_ns);
    if (took_ns <= 10)
        run->model.calls.items[call].flags |= ANALYZE_ASYNC;
    run->model.calls.items[call].gpu_ns =
        took_ns <= 10 ? 100 : (uint64_t)took_ns - waited_ns - (took_ns > 5000 ? 5000 : 0);
    struct analyze_copy *copy = base_array_push(&run->model.host.copies);
    assert_non_null(copy);
    *copy = (struct analyze_copy){.call = call,
                                  .object = object,
                                  .host_address = 0x10000,
                                  .device_address = run->model.objects.items[object].address,
                                  .bytes = bytes,
                                  .to_host = to_host,
                                  .memory = (uint8_t)memory};
    return copy;
}

// The CPU first uses, now, data of `copy` that `sync` made safe; copy NONE: managed memory.
static inline void first_use(struct timed *run, uint32_t sync, uint32_t copy,
                             enum profile_use_kind kind)
{
    struct analyze_first_use *use = base_array_push(&run->model.host.first_uses);
    assert_non_null(use);
    *use = (struct analyze_first_use){sync, copy, (uint8_t)kind, 1, 900, run->now_ns, false};
}

// The same, where some of the data was not watched.
static inline void partial_use(struct timed *run, uint32_t sync, uint32_t copy,
                               enum profile_use_kind kind)
{
    first_use(run, sync, copy, kind);
    run->model.host.first_uses.items[run->model.host.first_uses.count - 1].is_partial = true;
}

static inline struct analysis *timed_analyze(struct timed *run,
                                             struct analyze_thresholds thresholds)
{
    run->model.host.end_ns = run->now_ns;
    return analyze(&run->model, thresholds);
}

#endif
