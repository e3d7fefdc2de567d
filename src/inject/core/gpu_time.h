// SPDX-License-Identifier: Apache-2.0
// When the GPU did what the program gave it: events around the program's work, read once they have
// happened and recorded as EVENT_GPU_TIME. Used only where core_state.timestamps is set.
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
    uint64_t start_ns, end_ns; // of the call
    CUevent before;            // NULL: the start time is inferred from the end and other times
    CUevent after;             // NULL: the work is not timed
    bool launch;
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

// Before glint puts work ahead of the call's on its stream, which belongs to the current context:
// afterwards the stream may be too busy to fit its clock.
void core_gpu_time_prepare(const struct core_call *call);
// Around the driver's function of a call that is timed.
void core_gpu_time_before(struct core_call *call);
void core_gpu_time_after(struct core_call *call);
// At a call's end: records the times of what it has waited for, or of some where many are left.
void core_gpu_time_read(const struct core_call *call);
// Before a stream or a context goes: records the times of everything that has happened.
void core_gpu_time_collect(struct core_stream *stream);
void core_gpu_time_collect_context(struct core_context *context);
// After that: drops what is left of the stream's timings.
void core_gpu_time_forget(struct core_stream *stream);
// At the end of the process, while the driver still answers.
void core_gpu_time_finish(void);

#endif
