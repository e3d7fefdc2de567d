// SPDX-License-Identifier: Apache-2.0
// Hooks of copies and fills: what they move, from which object to which.

#include <string.h>

#include "inject/core/details.h"
#include "inject/guard/host_memory.h"
#include "inject/uses/first_use.h"
#include "memory.h"

// --- Hooks of copies -----------------------------------------------------------------------------

static bool is_on_device(uint8_t memory)
{
    return memory == EVENT_MEMORY_DEVICE || memory == EVENT_MEMORY_ARRAY;
}

static void copies(struct core_call *call, struct event_copy copy)
{
    guard_host_look(call, &copy);
    call->detail.copy = copy;
    // The driver writes pageable memory before it returns, so it waits. It does not wait if both
    // ends are on the device, or there is nothing to copy.
    if (!copy.bytes || (is_on_device(copy.from_memory) && is_on_device(copy.to_memory)))
        call->how &= (uint8_t)~HOOK_WAITS;
    else if (copy.to_memory == EVENT_MEMORY_PAGEABLE)
        call->how |= HOOK_WAITS;
}

static void copies_line(struct core_call *call, struct core_copy_end to, struct core_copy_end from,
                        uint64_t bytes)
{
    copies(call, core_copy_detail(from, to, bytes, 1, 1));
}

static struct core_copy_end host(const void *address)
{
    return (struct core_copy_end){.memory = CU_MEMORYTYPE_HOST,
                                  .address = (uint64_t)(uintptr_t)address};
}

static struct core_copy_end device(CUdeviceptr address)
{
    return (struct core_copy_end){.memory = CU_MEMORYTYPE_DEVICE, .address = address};
}

static struct core_copy_end unified(CUdeviceptr address)
{
    return (struct core_copy_end){.address = address};
}

static struct core_copy_end array(CUarray handle)
{
    return (struct core_copy_end){.memory = CU_MEMORYTYPE_ARRAY, .array = handle};
}

// Hooks of a contiguous copy: of the synchronous function, on the default stream, and of the
// asynchronous one.
#define LINE(symbol, params, args, to, from, bytes) \
    HOOKED_BOTH(symbol, _ptds, params, args, NULL, { copies_line(&call, to, from, bytes); }, {})
#define LINE_OLD(symbol, params, args, to, from, bytes) \
    HOOKED(symbol, params, args, NULL, { copies_line(&call, to, from, bytes); }, {})
#define LINE_ASYNC(symbol, params, args, to, from, bytes) \
    HOOKED_BOTH(symbol, _ptsz, params, args, stream, { copies_line(&call, to, from, bytes); }, {})
#define LINE_ASYNC_OLD(symbol, params, args, to, from, bytes) \
    HOOKED(symbol, params, args, stream, { copies_line(&call, to, from, bytes); }, {})

LINE(cuMemcpy, (CUdeviceptr to, CUdeviceptr from, size_t n), (to, from, n), unified(to),
     unified(from), n)
LINE(cuMemcpyHtoD_v2, (CUdeviceptr to, const void *from, size_t n), (to, from, n), device(to),
     host(from), n)
LINE(cuMemcpyDtoH_v2, (void *to, CUdeviceptr from, size_t n), (to, from, n), host(to), device(from),
     n)
LINE(cuMemcpyDtoD_v2, (CUdeviceptr to, CUdeviceptr from, size_t n), (to, from, n), device(to),
     device(from), n)
LINE_ASYNC(cuMemcpyAsync, (CUdeviceptr to, CUdeviceptr from, size_t n, CUstream stream),
           (to, from, n, stream), unified(to), unified(from), n)
LINE_ASYNC(cuMemcpyHtoDAsync_v2, (CUdeviceptr to, const void *from, size_t n, CUstream stream),
           (to, from, n, stream), device(to), host(from), n)
LINE_ASYNC(cuMemcpyDtoHAsync_v2, (void *to, CUdeviceptr from, size_t n, CUstream stream),
           (to, from, n, stream), host(to), device(from), n)
LINE_ASYNC(cuMemcpyDtoDAsync_v2, (CUdeviceptr to, CUdeviceptr from, size_t n, CUstream stream),
           (to, from, n, stream), device(to), device(from), n)

LINE(cuMemcpyAtoA_v2, (CUarray to, size_t to_at, CUarray from, size_t from_at, size_t n),
     (to, to_at, from, from_at, n), array(to), array(from), n)
LINE(cuMemcpyAtoD_v2, (CUdeviceptr to, CUarray from, size_t at, size_t n), (to, from, at, n),
     device(to), array(from), n)
LINE(cuMemcpyDtoA_v2, (CUarray to, size_t at, CUdeviceptr from, size_t n), (to, at, from, n),
     array(to), device(from), n)
LINE(cuMemcpyAtoH_v2, (void *to, CUarray from, size_t at, size_t n), (to, from, at, n), host(to),
     array(from), n)
LINE(cuMemcpyHtoA_v2, (CUarray to, size_t at, const void *from, size_t n), (to, at, from, n),
     array(to), host(from), n)
LINE_ASYNC(cuMemcpyAtoHAsync_v2, (void *to, CUarray from, size_t at, size_t n, CUstream stream),
           (to, from, at, n, stream), host(to), array(from), n)
LINE_ASYNC(cuMemcpyHtoAAsync_v2,
           (CUarray to, size_t at, const void *from, size_t n, CUstream stream),
           (to, at, from, n, stream), array(to), host(from), n)
LINE_OLD(cuMemcpyAtoA, (CUarray to, unsigned to_at, CUarray from, unsigned from_at, unsigned n),
         (to, to_at, from, from_at, n), array(to), array(from), n)
LINE_OLD(cuMemcpyAtoH, (void *to, CUarray from, unsigned at, unsigned n), (to, from, at, n),
         host(to), array(from), n)
LINE_OLD(cuMemcpyHtoA, (CUarray to, unsigned at, const void *from, unsigned n), (to, at, from, n),
         array(to), host(from), n)
LINE_ASYNC_OLD(cuMemcpyAtoHAsync,
               (void *to, CUarray from, unsigned at, unsigned n, CUstream stream),
               (to, from, at, n, stream), host(to), array(from), n)
LINE_ASYNC_OLD(cuMemcpyHtoAAsync,
               (CUarray to, unsigned at, const void *from, unsigned n, CUstream stream),
               (to, at, from, n, stream), array(to), host(from), n)

static void copies_plane(struct core_call *call, const CUDA_MEMCPY2D *copy)
{
    if (copy)
        copies(call, core_copy_detail_2d(copy));
}

static void copies_box(struct core_call *call, const CUDA_MEMCPY3D *copy)
{
    if (copy)
        copies(call, core_copy_detail_3d(copy));
}

HOOKED_BOTH(cuMemcpy2D_v2, _ptds, (const CUDA_MEMCPY2D *copy), (copy), NULL,
            { copies_plane(&call, copy); }, {})
HOOKED_BOTH(cuMemcpy2DUnaligned_v2, _ptds, (const CUDA_MEMCPY2D *copy), (copy), NULL,
            { copies_plane(&call, copy); }, {})
HOOKED_BOTH(cuMemcpy2DAsync_v2, _ptsz, (const CUDA_MEMCPY2D *copy, CUstream stream), (copy, stream),
            stream, { copies_plane(&call, copy); }, {})
HOOKED_BOTH(cuMemcpy3D_v2, _ptds, (const CUDA_MEMCPY3D *copy), (copy), NULL,
            { copies_box(&call, copy); }, {})
HOOKED_BOTH(cuMemcpy3DAsync_v2, _ptsz, (const CUDA_MEMCPY3D *copy, CUstream stream), (copy, stream),
            stream, { copies_box(&call, copy); }, {})

// --- Between devices -----------------------------------------------------------------------------

static void copies_peer(struct core_call *call, struct event_copy copy, CUcontext to,
                        CUcontext from)
{
    if (to != from)
        copy.direction = EVENT_PEER_TO_PEER;
    copies(call, copy);
}

static void copies_peer_box(struct core_call *call, const CUDA_MEMCPY3D_PEER *copy)
{
    if (copy)
        copies_peer(call, core_copy_detail_peer(copy), copy->dstContext, copy->srcContext);
}

HOOKED_BOTH(cuMemcpyPeer, _ptds,
            (CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
             size_t n),
            (to, to_context, from, from_context, n), NULL,
            {
                copies_peer(&call, core_copy_detail(device(from), device(to), n, 1, 1), to_context,
                            from_context);
            },
            {})
HOOKED_BOTH(cuMemcpyPeerAsync, _ptsz,
            (CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
             size_t n, CUstream stream),
            (to, to_context, from, from_context, n, stream), stream,
            {
                copies_peer(&call, core_copy_detail(device(from), device(to), n, 1, 1), to_context,
                            from_context);
            },
            {})
HOOKED_BOTH(cuMemcpy3DPeer, _ptds, (const CUDA_MEMCPY3D_PEER *copy), (copy), NULL,
            { copies_peer_box(&call, copy); }, {})
HOOKED_BOTH(cuMemcpy3DPeerAsync, _ptsz, (const CUDA_MEMCPY3D_PEER *copy, CUstream stream),
            (copy, stream), stream, { copies_peer_box(&call, copy); }, {})

// --- Batches -------------------------------------------------------------------------------------

// Writes one record for each copy of a batch, all with the times of the call. The first record is
// the call's.
static void batch_rest(const struct core_call *call, struct event_copy copy)
{
    struct core_call next = *call;
    next.number = core_next_number(&core_state.calls);
    guard_host_look(call, &copy);
    next.detail.copy = copy;
    core_call_put(&next);
    uses_batch(&next, &copy);
}

static struct event_copy batch_line(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
    return core_copy_detail(unified(from), unified(to), bytes, 1, 1);
}

static void batch_first(struct core_call *call, const CUdeviceptr *to, const CUdeviceptr *from,
                        const size_t *bytes, size_t count)
{
    call->batch = true;
    if (count && to && from && bytes)
        copies(call, batch_line(to[0], from[0], bytes[0]));
}

static void batch_others(const struct core_call *call, const CUdeviceptr *to,
                         const CUdeviceptr *from, const size_t *bytes, size_t count)
{
    for (size_t i = 1; call->result == CUDA_SUCCESS && i < count; i++)
        batch_rest(call, batch_line(to[i], from[i], bytes[i]));
}

HOOKED_BOTH(
    cuMemcpyBatchAsync, _ptsz,
    (CUdeviceptr * to, CUdeviceptr *from, size_t *bytes, size_t count,
     CUmemcpyAttributes *attributes, size_t *indices, size_t attribute_count, size_t *failed,
     CUstream stream),
    (to, from, bytes, count, attributes, indices, attribute_count, failed, stream), stream,
    { batch_first(&call, to, from, bytes, count); },
    { batch_others(&call, to, from, bytes, count); })
HOOKED_BOTH(
    cuMemcpyBatchAsync_v2, _ptsz,
    (CUdeviceptr * to, CUdeviceptr *from, size_t *bytes, size_t count,
     CUmemcpyAttributes *attributes, size_t *indices, size_t attribute_count, CUstream stream),
    (to, from, bytes, count, attributes, indices, attribute_count, stream), stream,
    { batch_first(&call, to, from, bytes, count); },
    { batch_others(&call, to, from, bytes, count); })

// Rows of an operand are counted in elements. The size of an array's element is that of the array;
// between pointers an element is a byte.
static uint64_t batch_element_bytes(const CUDA_MEMCPY3D_BATCH_OP *op)
{
    const CUmemcpy3DOperand *operand =
        op->src.type == CU_MEMCPY_OPERAND_TYPE_ARRAY ? &op->src : &op->dst;
    CUDA_ARRAY3D_DESCRIPTOR desc = {0};
    if (operand->type != CU_MEMCPY_OPERAND_TYPE_ARRAY ||
        REAL(cuArray3DGetDescriptor_v2)(&desc, operand->op.array.array) != CUDA_SUCCESS)
        return 1;
    return hooks_array_element_bytes(desc.Format, desc.NumChannels);
}

static struct core_copy_end batch_end(const CUmemcpy3DOperand *operand, const CUextent3D *extent,
                                      uint64_t element)
{
    if (operand->type == CU_MEMCPY_OPERAND_TYPE_ARRAY)
        return array(operand->op.array.array);
    uint64_t row = operand->op.ptr.rowLength ? operand->op.ptr.rowLength : extent->width;
    uint64_t rows = operand->op.ptr.layerHeight ? operand->op.ptr.layerHeight : extent->height;
    return (struct core_copy_end){
        .address = operand->op.ptr.ptr, .pitch = row * element, .slice = row * element * rows};
}

static struct event_copy batch_box(const CUDA_MEMCPY3D_BATCH_OP *op)
{
    const uint64_t element = batch_element_bytes(op);
    return core_copy_detail(batch_end(&op->src, &op->extent, element),
                            batch_end(&op->dst, &op->extent, element), op->extent.width * element,
                            op->extent.height, op->extent.depth);
}

static void batch_first_box(struct core_call *call, const CUDA_MEMCPY3D_BATCH_OP *ops, size_t count)
{
    call->batch = true;
    if (count && ops)
        copies(call, batch_box(&ops[0]));
}

static void batch_boxes(const struct core_call *call, const CUDA_MEMCPY3D_BATCH_OP *ops,
                        size_t count)
{
    for (size_t i = 1; call->result == CUDA_SUCCESS && i < count; i++)
        batch_rest(call, batch_box(&ops[i]));
}

HOOKED_BOTH(
    cuMemcpy3DBatchAsync, _ptsz,
    (size_t count, CUDA_MEMCPY3D_BATCH_OP *ops, size_t *failed, unsigned long long flags,
     CUstream stream),
    (count, ops, failed, flags, stream), stream, { batch_first_box(&call, ops, count); },
    { batch_boxes(&call, ops, count); })
HOOKED_BOTH(
    cuMemcpy3DBatchAsync_v2, _ptsz,
    (size_t count, CUDA_MEMCPY3D_BATCH_OP *ops, unsigned long long flags, CUstream stream),
    (count, ops, flags, stream), stream, { batch_first_box(&call, ops, count); },
    { batch_boxes(&call, ops, count); })

// --- Hooks of fills ------------------------------------------------------------------------------

static void sets(struct core_call *call, CUdeviceptr to, uint64_t pitch, uint32_t value,
                 uint32_t value_bytes, uint64_t width, uint64_t height)
{
    call->detail.set = core_set_detail(to, pitch, value, value_bytes, width, height);
    if (call->how & HOOK_WAITS && is_on_device(core_memory_at(to)))
        call->how &= (uint8_t)~HOOK_WAITS; // it waits only for memory that the host shares
}

#define FILL(bits, type, bytes)                                                                   \
    HOOKED_BOTH(cuMemsetD##bits##_v2, _ptds, (CUdeviceptr to, type value, size_t n),              \
                (to, value, n), NULL, { sets(&call, to, 0, value, bytes, n, 1); }, {})            \
    HOOKED_BOTH(cuMemsetD##bits##Async, _ptsz,                                                    \
                (CUdeviceptr to, type value, size_t n, CUstream stream), (to, value, n, stream),  \
                stream, { sets(&call, to, 0, value, bytes, n, 1); }, {})                          \
    HOOKED_BOTH(cuMemsetD2D##bits##_v2, _ptds,                                                    \
                (CUdeviceptr to, size_t pitch, type value, size_t width, size_t height),          \
                (to, pitch, value, width, height), NULL,                                          \
                { sets(&call, to, pitch, value, bytes, width, height); }, {})                     \
    HOOKED_BOTH(                                                                                  \
        cuMemsetD2D##bits##Async, _ptsz,                                                          \
        (CUdeviceptr to, size_t pitch, type value, size_t width, size_t height, CUstream stream), \
        (to, pitch, value, width, height, stream), stream,                                        \
        { sets(&call, to, pitch, value, bytes, width, height); }, {})

FILL(8, unsigned char, 1)
FILL(16, unsigned short, 2)
FILL(32, unsigned, 4)
