// SPDX-License-Identifier: Apache-2.0
// Pieces of physical memory, through the virtual memory interface.
#include "pieces.h"

#include <time.h>

#include "inject/correct/state.h"
#include "pool.h"

enum { MOST_WAIT_NS = 100000000 };

static CUmemAllocationProp device_memory(void)
{
    return (CUmemAllocationProp){
        .type = CU_MEM_ALLOCATION_TYPE_PINNED,
        .location = {CU_MEM_LOCATION_TYPE_DEVICE, correct_state.pieces.device},
        .allocFlags.gpuDirectRDMACapable = correct_state.pieces.rdma};
}

// Returns false if there are several devices, because the others would need access to the memory,
// too.
bool correct_pieces_prepare(void)
{
    if (correct_state.pieces.granularity || correct_state.pieces.unfit)
        return !correct_state.pieces.unfit;
    int devices = 0, able = 0, host = 0, node = -1;
    size_t granularity = 0;
    correct_state.pieces.unfit = true;
    if (REAL(cuDeviceGetCount)(&devices) != CUDA_SUCCESS || devices != 1 ||
        REAL(cuCtxGetDevice)(&correct_state.pieces.device) != CUDA_SUCCESS ||
        REAL(cuDeviceGetAttribute)(&able, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED,
                                   correct_state.pieces.device) != CUDA_SUCCESS ||
        !able)
        return false;
    int rdma = 0; // a network card may be given the memory later, as without glint
    REAL(cuDeviceGetAttribute)
    (&rdma, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED,
     correct_state.pieces.device);
    correct_state.pieces.rdma = rdma != 0;
    const CUmemAllocationProp prop = device_memory();
    if (REAL(cuMemGetAllocationGranularity)(&granularity, &prop,
                                            CU_MEM_ALLOC_GRANULARITY_RECOMMENDED) != CUDA_SUCCESS ||
        !granularity)
        return false;
    REAL(cuDeviceGetAttribute)
    (&host, CU_DEVICE_ATTRIBUTE_HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED,
     correct_state.pieces.device);
    REAL(cuDeviceGetAttribute)
    (&node, CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID, correct_state.pieces.device);
    correct_state.pieces.has_host = correct_state.pieces.can_leave = host;
    correct_state.pieces.host_node = node < 0 ? 0 : node;
    correct_state.pieces.granularity = granularity;
    correct_state.pieces.unfit = false;
    return true;
}

CUresult correct_pieces_map(uint64_t address, uint64_t size_bytes,
                            CUmemGenericAllocationHandle handle)
{
    const CUmemAccessDesc access = {
        .location = {CU_MEM_LOCATION_TYPE_DEVICE, correct_state.pieces.device},
        .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUresult result = REAL(cuMemMap)(address, size_bytes, 0, handle, 0);
    if (result != CUDA_SUCCESS)
        return result;
    result = REAL(cuMemSetAccess)(address, size_bytes, &access, 1);
    if (result != CUDA_SUCCESS)
        REAL(cuMemUnmap)(address, size_bytes);
    return result;
}

void correct_pieces_release(void)
{
    while (correct_state.pieces.spare_count)
        REAL(cuMemRelease)(correct_state.pieces.spare[--correct_state.pieces.spare_count].handle);
    correct_state.pieces.spare_bytes = correct_state.pieces.spare_asked_bytes = 0;
}

void correct_pieces_spare(uint64_t size_bytes, uint64_t asked_bytes,
                          CUmemGenericAllocationHandle handle)
{
    if (correct_state.pieces.spare_count == CORRECT_PIECES_MOST_SPARE)
        correct_pieces_release();
    correct_state.pieces.spare[correct_state.pieces.spare_count++] =
        (struct correct_piece){size_bytes, asked_bytes, handle};
    correct_state.pieces.spare_bytes += size_bytes;
    correct_state.pieces.spare_asked_bytes += asked_bytes;
}

bool correct_pieces_take(uint64_t size_bytes, CUmemGenericAllocationHandle *handle)
{
    for (unsigned i = 0; i < correct_state.pieces.spare_count; i++) {
        if (correct_state.pieces.spare[i].size_bytes != size_bytes)
            continue;
        *handle = correct_state.pieces.spare[i].handle;
        correct_state.pieces.spare_asked_bytes -= correct_state.pieces.spare[i].asked_bytes;
        correct_state.pieces.spare[i] =
            correct_state.pieces.spare[--correct_state.pieces.spare_count];
        correct_state.pieces.spare_bytes -= size_bytes;
        return true;
    }
    return false;
}

// --- Copies --------------------------------------------------------------------------------------

// Returns 1: nothing runs; 0: something does; -1: unknown.
static int is_idle(const struct core_context *context)
{
    struct core_stream *streams[CALL_MOST_STREAMS];
    const size_t count =
        core_streams_of((struct core_context *)context, false, streams, CALL_MOST_STREAMS);
    int idle = count < CALL_MOST_STREAMS ? 1 : -1;
    for (size_t i = 0; i < count && idle > 0; i++) {
        const bool own = core_stream_can_name(streams[i], NULL, context);
        if (atomic_load(&streams[i]->enqueued) == atomic_load(&streams[i]->idle))
            continue;
        const CUresult result = own ? REAL(cuStreamQuery)(streams[i]->handle) : CUDA_ERROR_UNKNOWN;
        idle = result == CUDA_SUCCESS ? 1 : result == CUDA_ERROR_NOT_READY ? 0 : -1;
    }
    return idle;
}

// Waits until nothing runs. If there are other threads, it gives up after a while: running work may
// wait for a thread that waits for this lock.
static bool wait_until_idle(const struct core_context *context)
{
    const struct timespec pause = {0, 20000};
    const uint64_t start_ns = core_now_ns();
    int idle;
    while ((idle = is_idle(context)) == 0) {
        if (atomic_load(&core_state.threads_made) > 1 && core_now_ns() - start_ns > MOST_WAIT_NS)
            return false;
        nanosleep(&pause, NULL);
    }
    return idle > 0;
}

static bool has_stream(struct core_context *context)
{
    if (correct_state.pieces.of_stream != context) {
        correct_state.pieces.of_stream = NULL;
        if (REAL(cuStreamCreate)(&correct_state.pieces.stream, CU_STREAM_NON_BLOCKING) ==
            CUDA_SUCCESS)
            correct_state.pieces.of_stream = context;
    }
    return correct_state.pieces.of_stream == context;
}

bool correct_pieces_can_move(struct core_context *context)
{
    if (!context || !correct_pool_is_alone(context) || !has_stream(context) || !core_ask())
        return false;
    const bool idle = wait_until_idle(context);
    core_asked();
    return idle;
}

bool correct_pieces_copy(uint64_t from, uint64_t bytes, uint64_t size_bytes,
                         CUmemGenericAllocationHandle to)
{
    CUdeviceptr aside = 0;
    if (REAL(cuMemAddressReserve)(&aside, size_bytes, 0, 0, 0) != CUDA_SUCCESS)
        return false;
    bool good = correct_pieces_map(aside, size_bytes, to) == CUDA_SUCCESS;
    if (good) {
        good = REAL(cuMemcpyDtoDAsync_v2)(aside, from, bytes, correct_state.pieces.stream) ==
                   CUDA_SUCCESS &&
               REAL(cuStreamSynchronize)(correct_state.pieces.stream) == CUDA_SUCCESS;
        REAL(cuMemUnmap)(aside, size_bytes);
    }
    REAL(cuMemAddressFree)(aside, size_bytes);
    return good;
}

CUresult correct_pieces_create(uint64_t size_bytes, bool host, CUmemGenericAllocationHandle *handle)
{
    CUmemAllocationProp prop = device_memory();
    if (host) {
        prop.location =
            (CUmemLocation){CU_MEM_LOCATION_TYPE_HOST_NUMA, correct_state.pieces.host_node};
        prop.allocFlags.gpuDirectRDMACapable = 0;
    }
    return REAL(cuMemCreate)(handle, size_bytes, &prop, 0);
}
