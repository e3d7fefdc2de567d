// SPDX-License-Identifier: Apache-2.0
// Memory pools and stream-ordered allocation. A block freed on a stream can be allocated again on
// that stream at once, and on others when the stream has reached the free. At the next
// synchronization, memory above the pool's release threshold returns to the device. The machine's
// map of objects changes in the order of the stream, the driver's map of allocations in the order
// of API calls.
#include <stdlib.h>
#include <string.h>

#include "context.h"
#include "driver.h"
#include "graph_memory.h"
#include "memory.h"
#include "op.h"
#include "pool.h"
#include "stream.h"

#define POOL_MAGIC UINT64_C(0x676c696e74706f6f)

struct cached_block {
    uint64_t address, capacity_bytes;
    uint64_t stream_id;
    struct driver_command *freed; // held
};

struct driver_pool {
    uint64_t magic;
    struct driver_pool *next;
    CUmemPoolProps props;
    struct driver_device *device;
    CUmemAccess_flags access[SIM_DEVICES_MAX]; // of other devices
    uint64_t reserved_bytes, reserved_high, used_bytes, used_high, release_threshold;
    int reuse[4]; // by CU_MEMPOOL_ATTR_REUSE_*; stored only for queries
    BASE_ARRAY(struct cached_block) cached;
};

static struct driver_pool *create(const CUmemPoolProps *props, struct driver_device *device)
{
    struct driver_pool *pool = calloc(1, sizeof *pool);
    if (!pool)
        return NULL;
    pool->magic = POOL_MAGIC;
    pool->props = *props;
    pool->device = device;
    for (int i = 0; i < 4; i++)
        pool->reuse[i] = 1;
    pool->next = driver.pools;
    driver.pools = pool;
    return pool;
}

struct driver_pool *driver_pool_default(struct driver_device *device)
{
    if (!device->default_pool) {
        CUmemPoolProps props = {
            .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
            .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = driver_ordinal(device)}};
        device->default_pool = create(&props, device);
    }
    return device->default_pool;
}

static struct driver_pool *current(struct driver_device *device)
{
    return device->current_pool ? device->current_pool : driver_pool_default(device);
}

struct driver_device *driver_pool_device(const struct driver_pool *pool)
{
    return pool->device;
}

uint32_t driver_pool_admitted(const struct driver_pool *pool)
{
    uint32_t devices = UINT32_C(1) << driver_ordinal(pool->device);
    for (unsigned i = 0; i < driver.device_count; i++)
        if (pool->access[i] != CU_MEM_ACCESS_FLAGS_PROT_NONE)
            devices |= UINT32_C(1) << i;
    return devices;
}

static bool is_valid(const struct driver_pool *pool)
{
    return pool && pool->magic == POOL_MAGIC;
}

static void drop_cached(struct driver_pool *pool, size_t index)
{
    driver_release(pool->cached.items[index].freed);
    pool->cached.items[index] = pool->cached.items[--pool->cached.count];
}

// Returns unused blocks to the device until the pool has at most keep_bytes.
static void trim(struct driver_pool *pool, uint64_t keep_bytes)
{
    for (size_t i = pool->cached.count; i-- > 0 && pool->reserved_bytes > keep_bytes;) {
        struct cached_block block = pool->cached.items[i];
        if (!block.freed->done)
            continue;
        drop_cached(pool, i);
        driver_block_give(block.address, block.capacity_bytes);
        pool->device->used_bytes -= block.capacity_bytes;
        pool->reserved_bytes -= block.capacity_bytes;
    }
}

void driver_pools_trim(const struct driver_device *device)
{
    driver_graph_memory_collect();
    for (struct driver_pool *pool = driver.pools; pool; pool = pool->next)
        if (pool->device == device && pool->reserved_bytes > pool->release_threshold)
            trim(pool, pool->release_threshold);
}

void driver_pools_reset(struct driver_device *device)
{
    for (struct driver_pool *pool = driver.pools; pool; pool = pool->next) {
        if (pool->device != device)
            continue;
        trim(pool, 0);
        pool->release_threshold = 0;
    }
    device->current_pool = NULL;
}

// Takes a cached block that the stream can use without waiting and that is at most a quarter larger
// than requested.
static bool reuse(struct driver_pool *pool, const struct driver_stream *stream, uint64_t wanted,
                  struct cached_block *found)
{
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < pool->cached.count; i++) {
        const struct cached_block *block = &pool->cached.items[i];
        if (block->capacity_bytes < wanted || block->capacity_bytes > wanted + wanted / 4 ||
            (block->stream_id != stream->id && !block->freed->done))
            continue;
        if (best == SIZE_MAX || block->capacity_bytes < pool->cached.items[best].capacity_bytes)
            best = i;
    }
    if (best == SIZE_MAX)
        return false;
    *found = pool->cached.items[best];
    drop_cached(pool, best);
    return true;
}

static CUresult new_block(struct driver_pool *pool, uint64_t wanted, struct cached_block *block)
{
    CUresult result = driver_memory_charge(pool->device, wanted);
    if (result != CUDA_SUCCESS) {
        for (struct driver_pool *any = driver.pools; any; any = any->next)
            if (any->device == pool->device)
                trim(any, 0);
        DRIVER_TRY(driver_memory_charge(pool->device, wanted));
    }
    block->address = driver_block_take(wanted);
    block->capacity_bytes = wanted;
    if (!block->address) {
        pool->device->used_bytes -= wanted;
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    pool->reserved_bytes += wanted;
    if (pool->reserved_bytes > pool->reserved_high)
        pool->reserved_high = pool->reserved_bytes;
    return CUDA_SUCCESS;
}

// Returns a block to the device without caching it.
static void discard(struct driver_pool *pool, const struct cached_block *block)
{
    driver_block_give(block->address, block->capacity_bytes);
    pool->device->used_bytes -= block->capacity_bytes;
    pool->reserved_bytes -= block->capacity_bytes;
}

CUresult driver_pool_reserve(struct driver_pool *pool, struct driver_stream *stream,
                             struct driver_context *context, uint64_t size_bytes,
                             struct driver_allocation **made)
{
    uint64_t wanted = (size_bytes + DRIVER_ALIGNMENT - 1) & ~(uint64_t)(DRIVER_ALIGNMENT - 1);
    DRIVER_REJECT(pool->props.maxSize && pool->reserved_bytes + wanted > pool->props.maxSize,
                  CUDA_ERROR_OUT_OF_MEMORY);
    struct cached_block block = {0};
    if (!stream || stream->capture || !reuse(pool, stream, wanted, &block))
        DRIVER_TRY(new_block(pool, wanted, &block));

    struct driver_allocation *allocation = calloc(1, sizeof *allocation);
    CUresult result = CUDA_ERROR_OUT_OF_MEMORY;
    if (allocation) {
        *allocation = (struct driver_allocation){.address = block.address,
                                                 .size_bytes = size_bytes,
                                                 .capacity_bytes = block.capacity_bytes,
                                                 .kind = DRIVER_MEMORY_POOL,
                                                 .device = pool->device,
                                                 .context = context,
                                                 .pool = pool};
        result = driver_memory_enter(allocation);
    }
    if (result != CUDA_SUCCESS) {
        free(allocation);
        discard(pool, &block);
        return result;
    }
    pool->used_bytes += block.capacity_bytes;
    if (pool->used_bytes > pool->used_high)
        pool->used_high = pool->used_bytes;
    *made = allocation;
    return CUDA_SUCCESS;
}

void driver_pool_discard(struct driver_allocation *allocation)
{
    struct driver_pool *pool = allocation->pool;
    struct cached_block block = {.address = allocation->address,
                                 .capacity_bytes = allocation->capacity_bytes};
    pool->used_bytes -= block.capacity_bytes;
    driver_memory_remove(allocation);
    discard(pool, &block);
}

CUresult driver_pool_alloc(struct driver_pool *pool, struct driver_stream *stream,
                           uint64_t size_bytes, uint64_t *address)
{
    struct driver_allocation *allocation;
    DRIVER_TRY(driver_pool_reserve(pool, stream, stream->context, size_bytes, &allocation));
    struct driver_op op = {
        .kind = DRIVER_OP_ALLOC,
        .memory = {.address = allocation->address, .size_bytes = size_bytes, .pool = pool}};
    *address = allocation->address;
    CUresult result = driver_enqueue(stream, &op);
    if (result != CUDA_SUCCESS)
        driver_pool_discard(allocation);
    return result;
}

CUresult driver_pool_free(struct driver_stream *stream, struct driver_allocation *allocation)
{
    struct driver_op op = {.kind = DRIVER_OP_FREE,
                           .memory = {.address = allocation->address,
                                      .size_bytes = allocation->size_bytes,
                                      .pool = allocation->pool}};
    // A captured free leaves the block to the graph, whose next launch allocates it again.
    if (stream->capture)
        return driver_enqueue(stream, &op);
    DRIVER_REJECT(!driver_graph_memory_there(allocation->address), CUDA_ERROR_INVALID_VALUE);
    struct driver_command *command;
    DRIVER_TRY(driver_submit(stream, &op, NULL, 0, &command));
    driver_pool_freed(allocation, command);
    driver_release(command);
    return CUDA_SUCCESS;
}

void driver_pool_freed(struct driver_allocation *allocation, struct driver_command *command)
{
    if (allocation->of_graph) {
        driver_graph_memory_freed(allocation->of_graph, command);
        return;
    }
    struct driver_pool *pool = allocation->pool;
    struct cached_block *cached = base_array_push(&pool->cached);
    if (!cached)
        return; // out of memory: the block stays allocated
    driver_hold(command);
    *cached = (struct cached_block){allocation->address, allocation->capacity_bytes,
                                    command->stream ? command->stream->id : 0, command};
    pool->used_bytes -= allocation->capacity_bytes;
    base_intervals_remove(&driver.memory, allocation->address, NULL);
    free(allocation);
}

// --- The API -------------------------------------------------------------------------------------

static CUresult allocate(CUdeviceptr *dptr, size_t bytesize, struct driver_pool *pool,
                         CUstream handle)
{
    DRIVER_REJECT(!dptr, CUDA_ERROR_INVALID_VALUE);
    struct driver_context *context;
    struct driver_stream *stream;
    DRIVER_TRY(driver_enter_stream(handle, &context, &stream));
    if (!pool)
        pool = current(stream->context->device);
    CUresult result = CUDA_ERROR_OUT_OF_MEMORY;
    uint64_t address = 0;
    if (!bytesize)
        result = CUDA_ERROR_INVALID_VALUE;
    else if (pool)
        result = driver_pool_alloc(pool, stream, bytesize, &address);
    driver_unlock();
    if (result == CUDA_SUCCESS)
        *dptr = address;
    return result;
}

CUresult cuMemAllocAsync(CUdeviceptr *dptr, size_t bytesize, CUstream hStream)
{
    DRIVER_BEGIN();
    return allocate(dptr, bytesize, NULL, hStream);
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr *dptr, size_t bytesize, CUmemoryPool pool,
                                 CUstream hStream)
{
    DRIVER_BEGIN();
    DRIVER_REJECT(!is_valid((struct driver_pool *)pool), CUDA_ERROR_INVALID_HANDLE);
    return allocate(dptr, bytesize, (struct driver_pool *)pool, hStream);
}

// Memory of cuMemAlloc may be freed this way too. The call then waits for the stream.
static CUresult free_plain(struct driver_stream *stream, struct driver_allocation *allocation)
{
    DRIVER_REJECT(stream->capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    driver_wait_stream(stream);
    driver_memory_remove(allocation);
    return CUDA_SUCCESS;
}

CUresult cuMemFreeAsync(CUdeviceptr dptr, CUstream hStream)
{
    DRIVER_BEGIN();
    struct driver_context *context;
    struct driver_stream *stream;
    DRIVER_TRY(driver_enter_stream(hStream, &context, &stream));
    struct driver_allocation *allocation = driver_memory_find(dptr);
    CUresult result = CUDA_SUCCESS;
    if (!dptr)
        result = CUDA_SUCCESS;
    else if (!allocation || allocation->address != dptr)
        result = CUDA_ERROR_INVALID_VALUE;
    else if (allocation->kind == DRIVER_MEMORY_POOL)
        result = driver_pool_free(stream, allocation);
    else if (allocation->kind == DRIVER_MEMORY_DEVICE || allocation->kind == DRIVER_MEMORY_MANAGED)
        result = free_plain(stream, allocation);
    else
        result = CUDA_ERROR_INVALID_VALUE;
    driver_unlock();
    return result;
}

static CUresult give_pool(CUmemoryPool *out, CUdevice dev, bool default_one)
{
    struct driver_device *device = driver_device_at(dev);
    DRIVER_REJECT(!out, CUDA_ERROR_INVALID_VALUE);
    DRIVER_REJECT(!device, CUDA_ERROR_INVALID_DEVICE);
    driver_lock();
    struct driver_pool *pool = default_one ? driver_pool_default(device) : current(device);
    driver_unlock();
    DRIVER_REJECT(!pool, CUDA_ERROR_OUT_OF_MEMORY);
    *out = (CUmemoryPool)pool;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *pool_out, CUdevice dev)
{
    DRIVER_BEGIN();
    return give_pool(pool_out, dev, true);
}

CUresult cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice dev)
{
    DRIVER_BEGIN();
    return give_pool(pool, dev, false);
}

// A device allocates from pools of its own only.
CUresult cuDeviceSetMemPool(CUdevice dev, CUmemoryPool pool)
{
    DRIVER_BEGIN();
    struct driver_device *device = driver_device_at(dev);
    struct driver_pool *chosen = (struct driver_pool *)pool;
    DRIVER_REJECT(!device, CUDA_ERROR_INVALID_DEVICE);
    DRIVER_REJECT(!is_valid(chosen) || chosen->device != device, CUDA_ERROR_INVALID_VALUE);
    driver_lock();
    device->current_pool = chosen;
    driver_unlock();
    return CUDA_SUCCESS;
}

// Memory that lies in no device belongs to the first one here.
static CUdevice device_of(const CUmemLocation *location)
{
    return location->type == CU_MEM_LOCATION_TYPE_DEVICE ? location->id : 0;
}

CUresult cuMemGetDefaultMemPool(CUmemoryPool *pool_out, CUmemLocation *location,
                                CUmemAllocationType type)
{
    DRIVER_BEGIN();
    DRIVER_REJECT(!location, CUDA_ERROR_INVALID_VALUE);
    return give_pool(pool_out, device_of(location), true);
}

CUresult cuMemGetMemPool(CUmemoryPool *pool, CUmemLocation *location, CUmemAllocationType type)
{
    DRIVER_BEGIN();
    DRIVER_REJECT(!location, CUDA_ERROR_INVALID_VALUE);
    return give_pool(pool, device_of(location), false);
}

CUresult cuMemSetMemPool(CUmemLocation *location, CUmemAllocationType type, CUmemoryPool pool)
{
    (void)type;
    DRIVER_REJECT(!location, CUDA_ERROR_INVALID_VALUE);
    return cuDeviceSetMemPool(device_of(location), pool);
}

CUresult cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *poolProps)
{
    DRIVER_BEGIN();
    DRIVER_REJECT(!pool || !poolProps, CUDA_ERROR_INVALID_VALUE);
    DRIVER_REJECT(poolProps->handleTypes != CU_MEM_HANDLE_TYPE_NONE, CUDA_ERROR_NOT_SUPPORTED);
    struct driver_device *device = driver_device_at(device_of(&poolProps->location));
    DRIVER_REJECT(!device, CUDA_ERROR_INVALID_VALUE);
    driver_lock();
    struct driver_pool *made = create(poolProps, device);
    driver_unlock();
    DRIVER_REJECT(!made, CUDA_ERROR_OUT_OF_MEMORY);
    *pool = (CUmemoryPool)made;
    return CUDA_SUCCESS;
}

// Allocated blocks stay valid. The pool's struct is not freed, because they refer to it.
CUresult cuMemPoolDestroy(CUmemoryPool pool)
{
    DRIVER_BEGIN();
    struct driver_pool *old = (struct driver_pool *)pool;
    DRIVER_REJECT(!is_valid(old) || old == old->device->default_pool, CUDA_ERROR_INVALID_VALUE);
    driver_lock();
    trim(old, 0);
    old->magic = 0;
    old->release_threshold = 0;
    if (old->device->current_pool == old)
        old->device->current_pool = NULL;
    driver_unlock();
    return CUDA_SUCCESS;
}

CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t minBytesToKeep)
{
    DRIVER_BEGIN();
    DRIVER_REJECT(!is_valid((struct driver_pool *)pool), CUDA_ERROR_INVALID_VALUE);
    driver_lock();
    trim((struct driver_pool *)pool, minBytesToKeep);
    driver_unlock();
    return CUDA_SUCCESS;
}

static uint64_t *counter(struct driver_pool *pool, CUmemPool_attribute attribute)
{
    switch ((int)attribute) {
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD: return &pool->release_threshold;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT: return &pool->reserved_bytes;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH: return &pool->reserved_high;
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT: return &pool->used_bytes;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH: return &pool->used_high;
    default: return NULL;
    }
}

static bool is_reuse(CUmemPool_attribute attribute)
{
    return attribute >= CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES &&
           attribute <= CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES;
}

CUresult cuMemPoolSetAttribute(CUmemoryPool handle, CUmemPool_attribute attr, void *value)
{
    DRIVER_BEGIN();
    struct driver_pool *pool = (struct driver_pool *)handle;
    DRIVER_REJECT(!is_valid(pool) || !value, CUDA_ERROR_INVALID_VALUE);
    if (is_reuse(attr)) {
        pool->reuse[attr] = *(const int *)value;
        return CUDA_SUCCESS;
    }
    uint64_t wanted = *(const cuuint64_t *)value;
    driver_lock();
    CUresult result = CUDA_SUCCESS;
    if (attr == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD)
        pool->release_threshold = wanted;
    else if (attr == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH && !wanted)
        pool->reserved_high = pool->reserved_bytes;
    else if (attr == CU_MEMPOOL_ATTR_USED_MEM_HIGH && !wanted)
        pool->used_high = pool->used_bytes;
    else
        result = CUDA_ERROR_INVALID_VALUE;
    driver_unlock();
    return result;
}

CUresult cuMemPoolGetAttribute(CUmemoryPool handle, CUmemPool_attribute attr, void *value)
{
    DRIVER_BEGIN();
    struct driver_pool *pool = (struct driver_pool *)handle;
    DRIVER_REJECT(!is_valid(pool) || !value, CUDA_ERROR_INVALID_VALUE);
    if (is_reuse(attr)) {
        *(int *)value = pool->reuse[attr];
        return CUDA_SUCCESS;
    }
    driver_lock();
    uint64_t *count = counter(pool, attr);
    if (count)
        *(cuuint64_t *)value = *count;
    driver_unlock();
    return count ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

// Sets the access of devices to all memory of the pool, now and later.
static void admit_all(const struct driver_pool *pool)
{
    const uint32_t devices = driver_pool_admitted(pool);
    struct base_interval *it = base_intervals_after(&driver.memory, 0);
    for (; it; it = base_intervals_after(&driver.memory, it->start)) {
        const struct driver_allocation *allocation = (void *)(uintptr_t)it->value;
        if (allocation->pool == pool)
            sim_object_admit(pool->device->machine, allocation->address, devices);
    }
}

CUresult cuMemPoolSetAccess(CUmemoryPool handle, const CUmemAccessDesc *map, size_t count)
{
    DRIVER_BEGIN();
    struct driver_pool *pool = (struct driver_pool *)handle;
    DRIVER_REJECT(!is_valid(pool) || (count && !map), CUDA_ERROR_INVALID_VALUE);
    for (size_t i = 0; i < count; i++) {
        if (map[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE)
            continue;
        const struct driver_device *device = driver_device_at(map[i].location.id);
        DRIVER_REJECT(!device || !driver_devices_linked(device, pool->device),
                      CUDA_ERROR_INVALID_DEVICE);
        // A device cannot lose access to its own memory.
        DRIVER_REJECT(device == pool->device && map[i].flags == CU_MEM_ACCESS_FLAGS_PROT_NONE,
                      CUDA_ERROR_INVALID_VALUE);
    }
    driver_lock();
    for (size_t i = 0; i < count; i++)
        if (map[i].location.type == CU_MEM_LOCATION_TYPE_DEVICE)
            pool->access[map[i].location.id] = map[i].flags;
    admit_all(pool);
    driver_unlock();
    return CUDA_SUCCESS;
}

CUresult cuMemPoolGetAccess(CUmemAccess_flags *flags, CUmemoryPool memPool, CUmemLocation *location)
{
    DRIVER_BEGIN();
    const struct driver_pool *pool = (struct driver_pool *)memPool;
    DRIVER_REJECT(!is_valid(pool) || !flags || !location, CUDA_ERROR_INVALID_VALUE);
    const struct driver_device *device = driver_device_at(device_of(location));
    DRIVER_REJECT(!device, CUDA_ERROR_INVALID_DEVICE);
    *flags = location->type != CU_MEM_LOCATION_TYPE_DEVICE || device == pool->device
                 ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
                 : pool->access[driver_ordinal(device)];
    return CUDA_SUCCESS;
}
