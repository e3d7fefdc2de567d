// SPDX-License-Identifier: Apache-2.0
// When the GPU did the program's work: events around the work, read once they have happened and
// recorded as EVENT_GPU_TIME. Used only if core_state.timestamps is set.
#ifndef GLINT_INJECT_CORE_GPU_TIME_H
#define GLINT_INJECT_CORE_GPU_TIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"
#include "cudaabi/cudaabi.h"
#include "inject/util/latency.h"

struct core_call;
struct core_context;
struct core_stream;

struct core_timing { // of one piece of work whose GPU time is not known yet
    uint64_t call;
    uint64_t start_ns, end_ns; // times of the call
    CUevent before;            // NULL: the start time is inferred from the end and other times
    CUevent after;             // NULL: the work had ended when the call returned
    bool timed;                // false: all else is void
    bool launch, sampled;      // sampled: it ran patched code (inject/sampled)
};

// The GPU times of one stream, protected by its context's timing_lock.
struct core_stream_times {
    BASE_ARRAY(struct core_timing) timings; // in stream order
    size_t first;                           // index of the first that is not read yet
    uint32_t now;         // calls between core_gpu_time_before and core_gpu_time_after
    uint64_t work;        // stream.enqueued behind the last of the timings
    uint64_t legacy_work; // the same of the legacy stream
    bool end_known;
    double end_ns; // end of the last timing that was read
    struct util_latency latency;
    uint32_t sampled;    // starts that had an event of their own
    uint32_t unsampled;  // starts without one since the last that had one
    uint64_t sampled_ns; // when the last of the sampled ones was
};

// Called before glint puts work ahead of the call's on its stream, which belongs to the current
// context. Afterwards the stream may be too busy to find the base of its times.
void core_gpu_time_prepare(const struct core_call *call);
// Bracket the driver's function of a call that is timed.
void core_gpu_time_before(struct core_call *call);
void core_gpu_time_after(struct core_call *call);
// Called at a call's end: records the times of the work that the call has waited for, or some times
// if many are unread.
void core_gpu_time_read(const struct core_call *call);
// Called before a stream or a context is destroyed: records the times of all work that is done.
void core_gpu_time_collect(struct core_stream *stream);
void core_gpu_time_collect_context(struct core_context *context);
// Called afterwards: drops the remaining timings of the stream.
void core_gpu_time_forget(struct core_stream *stream);
// Called at the end of the process, while the driver still works.
void core_gpu_time_finish(void);

#endif
