// SPDX-License-Identifier: Apache-2.0
// Fences: events behind the work that may still use freed memory, in one context. The caller holds
// the lock of the pools. Fences must not be queried while a stream is under capture (core_ask).
#ifndef GLINT_INJECT_CORRECT_MEMORY_FENCE_H
#define GLINT_INJECT_CORRECT_MEMORY_FENCE_H

#include "blocks.h"
#include "inject/core/state.h"

enum { CORRECT_FENCES_RECENT = 4 };

struct correct_fences {
    struct core_context *context;
    struct correct_fence *recent[CORRECT_FENCES_RECENT]; // by stream: the last fence put there
    BASE_ARRAY(CUevent) spare;
    BASE_ARRAY(struct correct_fence *) live; // fences in use
    // Fences of streams that were destroyed with work pending. Memory that is freed later waits for
    // them, too.
    BASE_ARRAY(struct correct_fence *) orphans;
    bool unsure; // a stream was destroyed with pending work that has no fence
};

// Returns CUDA_SUCCESS if it has happened, CUDA_ERROR_NOT_READY, or an error of the device.
CUresult correct_fence_ask(struct correct_fence *fence);
void correct_fence_wait(struct correct_fence *fence);
// Drops one reference.
void correct_fence_leave(struct correct_fences *fences, struct correct_fence *fence);

// Puts fences behind all work that may use the block, whose context is current. Returns false,
// without fences, if that work is unknown or the device has an error.
bool correct_fences_put(struct correct_fences *fences, struct correct_block *block);
void correct_fences_leave(struct correct_fences *fences, struct correct_block *block);

// Called before the stream is destroyed.
void correct_fences_orphan(struct correct_fences *fences, struct core_stream *stream,
                           const struct core_context *current);

// Called when the context may be about to be destroyed.
void correct_fences_end(struct correct_fences *fences);

#endif
