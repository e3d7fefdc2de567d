// SPDX-License-Identifier: Apache-2.0
// Fences: events behind the work that may still use what was freed, in one context. The caller
// holds the pools' lock, and none may be asked for while something is captured (core_ask).
#ifndef GLINT_INJECT_CORRECT_MEMORY_FENCE_H
#define GLINT_INJECT_CORRECT_MEMORY_FENCE_H

#include "blocks.h"
#include "inject/core/state.h"

enum { CORRECT_FENCES_RECENT = 4 };

struct correct_fences {
    struct core_context *context;
    struct correct_fence *recent[CORRECT_FENCES_RECENT]; // by stream, the last that was put there
    BASE_ARRAY(CUevent) spare;
    BASE_ARRAY(struct correct_fence *) live; // that have users
    // Of streams that were destroyed with work pending: what is freed later is behind them too.
    BASE_ARRAY(struct correct_fence *) orphans;
    bool unsure; // a stream was destroyed with work pending of which nothing is known
};

// Whether it has happened: CUDA_SUCCESS, CUDA_ERROR_NOT_READY, or an error of the device's.
CUresult correct_fence_ask(struct correct_fence *fence);
void correct_fence_wait(struct correct_fence *fence);
void correct_fence_leave(struct correct_fences *fences,
                         struct correct_fence *fence); // one user less

// Puts fences behind all that may use the block, whose context is the thread's. False: that cannot
// be known, or the device has an error, and there are none.
bool correct_fences_put(struct correct_fences *fences, struct correct_block *block);
void correct_fences_leave(struct correct_fences *fences, struct correct_block *block);

// The stream is about to be destroyed.
void correct_fences_orphan(struct correct_fences *fences, struct core_stream *stream,
                           const struct core_context *current);

// The context may be about to end.
void correct_fences_end(struct correct_fences *fences);

#endif
