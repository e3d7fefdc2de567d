// SPDX-License-Identifier: Apache-2.0
// Synchronous copies that do not wait. Data for the device is copied at once into pinned memory,
// from where the GPU fetches it. Data for the host arrives in pinned memory, and is owed to its
// destination. If the program's memory is itself pinned, the GPU accesses it directly, and it is
// closed meanwhile, as all such memory is (memory.c). A copy that the driver would refuse is left
// to the driver.
#include "copy.h"

#include <string.h>

#include "memory.h"
#include "owed.h"

enum { PIECE_BYTES = 8 << 20 }; // the GPU fetches one piece while the next is copied

struct copy {
    struct core_call *call;
    const struct plan_row *row;
    const struct event_copy *about;
    CUstream stream;
};

static bool is_inside(uint64_t address, uint64_t bytes)
{
    struct core_object object;
    return core_objects_find(&core_state.objects, OBJECTS_MEMORY, address, &object) &&
           (object.kind == EVENT_OBJECT_DEVICE || object.kind == EVENT_OBJECT_POOL ||
            object.kind == EVENT_OBJECT_PITCHED || object.kind == EVENT_OBJECT_MAPPING ||
            object.kind == EVENT_OBJECT_GLOBAL || object.kind == EVENT_OBJECT_PINNED ||
            object.kind == EVENT_OBJECT_REGISTERED) &&
           bytes <= object.bytes - (address - object.start);
}

// Returns whether the copy is contiguous, between the host and device memory of one object.
static bool is_plain(const struct copy *copy)
{
    const struct event_copy *about = copy->about;
    const bool out = about->direction == EVENT_DEVICE_TO_HOST;
    const uint8_t device = out ? about->from_memory : about->to_memory;
    const uint8_t host = out ? about->to_memory : about->from_memory;
    return (out || about->direction == EVENT_HOST_TO_DEVICE) && about->bytes &&
           about->height <= 1 && about->depth <= 1 && device == EVENT_MEMORY_DEVICE &&
           (host == EVENT_MEMORY_PAGEABLE || host == EVENT_MEMORY_PINNED) &&
           is_inside(out ? about->from : about->to, about->bytes) &&
           (host == EVENT_MEMORY_PAGEABLE ||
            is_inside(out ? about->to : about->from, about->bytes));
}

static const void *pointer(uint64_t address)
{
    return (const void *)(uintptr_t)address; // NOLINT(performance-no-int-to-ptr)
}

// Waits as the driver would have, because the copy was made but cannot be owed.
static CUresult wait_after_all(const struct copy *copy)
{
    correct_count(copy->row, EVENT_CORRECTION_LEFT, 1);
    return REAL(cuStreamSynchronize)(copy->stream);
}

static CUresult applied(const struct copy *copy)
{
    correct_count(copy->row, EVENT_CORRECTION_APPLIED, 1);
    correct_count(copy->row, EVENT_CORRECTION_BYTES, copy->about->bytes);
    correct_left_out(copy->call);
    return CUDA_SUCCESS;
}

// Each returns whether it has made the copy, or the driver has refused it, with *result.

static bool copy_pinned(const struct copy *copy, CUresult *result)
{
    const struct event_copy *about = copy->about;
    const bool out = about->direction == EVENT_DEVICE_TO_HOST;
    correct_lock();
    const bool may = correct_may_owe(copy->call) && correct_close_shared(copy->call);
    correct_unlock();
    if (!may)
        return false;
    *result = out ? REAL(cuMemcpyDtoHAsync_v2)((void *)(uintptr_t)about->to, // NOLINT
                                               about->from, about->bytes, copy->stream)
                  : REAL(cuMemcpyHtoDAsync_v2)(about->to, pointer(about->from), about->bytes,
                                               copy->stream);
    if (*result == CUDA_SUCCESS)
        *result = correct_owe(copy->call->stream) ? applied(copy) : wait_after_all(copy);
    return true;
}

static struct correct_stage *take_block(const struct copy *copy)
{
    for (;;) {
        correct_lock();
        const bool may = correct_may_owe(copy->call) && correct_close_shared(copy->call);
        struct correct_stage *block = may ? correct_stage_take(copy->about->bytes) : NULL;
        correct_unlock();
        if (block || !may || !correct_stage_await(copy->about->bytes))
            return block;
    }
}

// Frees the block once all work of the stream is done. If that cannot be marked, waits for the
// work.
static bool end_with(const struct copy *copy, struct correct_stage *block,
                     struct correct_mark *mark)
{
    correct_lock();
    const bool owes =
        correct_may_owe(copy->call) && correct_owe_locked(copy->call->stream, copy->call, mark);
    if (!owes) {
        *mark = (struct correct_mark){0};
        REAL(cuStreamSynchronize)(copy->stream);
    }
    if (copy->about->direction == EVENT_HOST_TO_DEVICE)
        correct_stage_leave(block, *mark);
    correct_unlock();
    return owes;
}

static bool copy_in(const struct copy *copy, CUresult *result)
{
    const struct event_copy *about = copy->about;
    struct correct_stage *block = take_block(copy);
    if (!block)
        return false;
    *result = CUDA_SUCCESS;
    for (uint64_t at = 0; at < about->bytes && *result == CUDA_SUCCESS; at += PIECE_BYTES) {
        const uint64_t bytes = about->bytes - at < PIECE_BYTES ? about->bytes - at : PIECE_BYTES;
        memcpy(block->memory + at, pointer(about->from + at), bytes);
        *result =
            REAL(cuMemcpyHtoDAsync_v2)(about->to + at, block->memory + at, bytes, copy->stream);
    }
    struct correct_mark mark;
    const bool owes = end_with(copy, block, &mark);
    if (*result == CUDA_SUCCESS)
        *result = owes ? applied(copy) : wait_after_all(copy);
    return true;
}

static bool copy_out(const struct copy *copy, CUresult *result)
{
    const struct event_copy *about = copy->about;
    if (!correct_can_owe_data(about->to, about->bytes, copy->call))
        return false;
    struct correct_stage *block = take_block(copy);
    if (!block)
        return false;
    *result = REAL(cuMemcpyDtoHAsync_v2)(block->memory, about->from, about->bytes, copy->stream);
    struct correct_mark mark;
    const bool owes = end_with(copy, block, &mark);
    if (*result != CUDA_SUCCESS) {
        correct_stage_free(block);
        return true;
    }
    correct_forget_data(about->to, about->to + about->bytes); // it is overwritten
    correct_touch(about->to, about->to + about->bytes);
    if (owes && correct_owe_data(about->to, about->bytes, block, mark, copy->call)) {
        *result = applied(copy);
        return true;
    }
    *result = wait_after_all(copy);
    if (*result == CUDA_SUCCESS)
        memcpy((void *)(uintptr_t)about->to, block->memory, about->bytes); // NOLINT
    correct_stage_free(block);
    return true;
}

// Returns whether the copy was made; if not, the driver must make it.
static bool make(CUresult *result)
{
    struct core_call *call = correct_call();
    const struct plan_row *row = correct_row(PLAN_ASYNC_COPY);
    // An asynchronous copy waits only if it writes to memory that is not pinned.
    if (!row || (core_hook_rows[call->hook].how & HOOK_ASYNC &&
                 (call->detail.copy.direction != EVENT_DEVICE_TO_HOST ||
                  call->detail.copy.to_memory != EVENT_MEMORY_PAGEABLE))) {
        correct_touch_copy(&call->detail.copy);
        return false;
    }
    const struct copy copy = {call, row, &call->detail.copy,
                              call->stream ? call->stream->handle : NULL};
    const bool out = copy.about->direction == EVENT_DEVICE_TO_HOST;
    const bool pinned =
        (out ? copy.about->to_memory : copy.about->from_memory) == EVENT_MEMORY_PINNED;
    const bool plain = call->stream && !(call->flags & EVENT_CALL_CAPTURED) && is_plain(&copy);
    if (plain && !out && !pinned)
        correct_touch(copy.about->from, copy.about->from + copy.about->bytes);
    if (plain && (pinned ? copy_pinned(&copy, result)
                  : out  ? copy_out(&copy, result)
                         : copy_in(&copy, result)))
        return true;
    correct_count(row, EVENT_CORRECTION_LEFT, 1);
    correct_touch_copy(copy.about);
    return false;
}

#define COPIES(symbol, params, args)                       \
    static CUresult correct_##symbol params                \
    {                                                      \
        CUresult result;                                   \
        return make(&result) ? result : REAL(symbol) args; \
    }
#define COPIES_BOTH(symbol, suffix, params, args) \
    COPIES(symbol, params, args)                  \
    COPIES(symbol##suffix, params, args)

COPIES_BOTH(cuMemcpy, _ptds, (CUdeviceptr to, CUdeviceptr from, size_t n), (to, from, n))
COPIES_BOTH(cuMemcpyHtoD_v2, _ptds, (CUdeviceptr to, const void *from, size_t n), (to, from, n))
COPIES_BOTH(cuMemcpyDtoH_v2, _ptds, (void *to, CUdeviceptr from, size_t n), (to, from, n))
COPIES_BOTH(cuMemcpyDtoHAsync_v2, _ptsz, (void *to, CUdeviceptr from, size_t n, CUstream stream),
            (to, from, n, stream)) // to pageable memory it waits
COPIES_BOTH(cuMemcpyAsync, _ptsz, (CUdeviceptr to, CUdeviceptr from, size_t n, CUstream stream),
            (to, from, n, stream))

#define STAND(symbol, suffix)                                          \
    correct_stand(HOOK_##symbol, (void *)(uintptr_t)correct_##symbol); \
    correct_stand(HOOK_##symbol##suffix, (void *)(uintptr_t)correct_##symbol##suffix)

void correct_copy_start(void)
{
    STAND(cuMemcpy, _ptds);
    STAND(cuMemcpyHtoD_v2, _ptds);
    STAND(cuMemcpyDtoH_v2, _ptds);
    STAND(cuMemcpyDtoHAsync_v2, _ptsz);
    STAND(cuMemcpyAsync, _ptsz);
}
