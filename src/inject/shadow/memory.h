// SPDX-License-Identifier: Apache-2.0
// Memory of shadow contexts, and glint's stream, on which it is cleared and filled.
#ifndef GLINT_INJECT_SHADOW_MEMORY_H
#define GLINT_INJECT_SHADOW_MEMORY_H

#include "model.h"

// Returns the context's shadow memory, made if there is none; NULL: it cannot be made.
struct shadow *shadow_of(struct core_context *context);
// Notes, once, what the driver refused. Nothing more is watched in the context.
void shadow_fail(struct shadow *shadow, const char *what, CUresult result);

// --- With shadow->lock, and the context current where memory is taken ----------------------------

// Returns NULL if memory runs out.
struct shadow_kernel *shadow_kernel(struct shadow *shadow, uint32_t number,
                                    const struct instrument_kernel *kernel);
// shadow_take does not clear the memory, and returns false if there is no room.
bool shadow_take(struct shadow *shadow, struct shadow_heap *heap, uint64_t bytes,
                 struct shadow_block *block);
void shadow_give(struct shadow_heap *heap, struct shadow_block *block);
void *shadow_host(struct shadow_block block); // the address of pinned memory
// Take slabs out of the heap: those of which nothing is in use, or all.
void shadow_take_unused(struct shadow_heap *heap, struct shadow_slabs *taken);
void shadow_take_all(struct shadow_heap *heap, struct shadow_slabs *taken);

// These work on glint's stream. shadow_own_clear clears device memory. shadow_own_copy copies
// pinned memory to the device, and gives it back when the copy is done. shadow_own_fetch copies
// from the device and records the event behind the copy.
bool shadow_own_clear(struct shadow *shadow, struct shadow_block block);
bool shadow_own_copy(struct shadow *shadow, uint64_t to, struct shadow_block *staging,
                     uint64_t bytes);
bool shadow_own_fetch(struct shadow *shadow, void *to, uint64_t from, uint64_t bytes,
                      CUevent event);
// Makes the stream wait for all work on glint's stream, unless it is done.
bool shadow_own_wait(struct shadow *shadow, struct core_stream *stream);

// Frees slabs of device memory that were taken out of the heap, and waits for all work that may use
// them. No more are made then. Returns whether some were freed. Called without the lock.
bool shadow_free_slabs(struct shadow *shadow, struct shadow_heap *heap, struct shadow_slabs *slabs);

CUevent shadow_event_take(struct shadow *shadow);
void shadow_event_give(struct shadow *shadow, CUevent event);

#endif
