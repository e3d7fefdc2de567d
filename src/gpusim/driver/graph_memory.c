// SPDX-License-Identifier: Apache-2.0
// Memory that graphs allocate. Its address is fixed as long as a node or an executable graph
// allocates it. A launch allocates the memory. Memory that the graph does not free stays allocated
// until the program frees it, or until a launch that was instantiated to free it first. At other
// times the address has no memory. The driver tracks this in the order of API calls; the machine's
// map of objects follows in the order of the stream.
#include <stdlib.h>

#include "graph.h"
#include "graph_memory.h"
#include "memory.h"
#include "pool.h"

// --- References ----------------------------------------------------------------------------------

CUresult driver_graph_memory_make(struct driver_allocation *allocation, struct driver_op *op)
{
    struct driver_graph_memory *memory = calloc(1, sizeof *memory);
    DRIVER_REJECT(!memory, CUDA_ERROR_OUT_OF_MEMORY);
    memory->references = 2;
    allocation->of_graph = memory;
    op->memory.of_graph = memory;
    return CUDA_SUCCESS;
}

void driver_graph_memory_hold(struct driver_graph_memory *memory)
{
    atomic_fetch_add(&memory->references, 1);
}

// When only the allocation's reference remains, no graph allocates the memory any more. The next
// synchronization then collects it: it cannot be freed here, because the caller may or may not hold
// the lock.
void driver_graph_memory_release(struct driver_graph_memory *memory)
{
    unsigned before = atomic_fetch_sub(&memory->references, 1);
    if (before == 2)
        driver.graph_memory_loose = true;
    if (before == 1)
        free(memory); // the allocation was removed before, and released the command
}

void driver_graph_memory_touch(struct driver_graph_memory *memory, struct driver_command *command)
{
    if (command)
        driver_hold(command);
    driver_release(memory->last);
    memory->last = command;
}

void driver_graph_memory_freed(struct driver_graph_memory *memory, struct driver_command *command)
{
    memory->given = false;
    driver_graph_memory_touch(memory, command);
    if (memory->references == 1) // otherwise a graph may allocate it again
        driver.graph_memory_loose = true;
}

bool driver_graph_memory_there(uint64_t address)
{
    const struct driver_allocation *allocation = driver_memory_find(address);
    return !allocation || !allocation->of_graph || allocation->of_graph->given;
}

static bool is_loose(const struct driver_allocation *allocation)
{
    const struct driver_graph_memory *memory = allocation->of_graph;
    return memory && memory->references == 1 && !memory->given &&
           (!memory->last || memory->last->done);
}

void driver_graph_memory_collect(void)
{
    if (!atomic_exchange(&driver.graph_memory_loose, false))
        return;
    struct base_interval *it = base_intervals_after(&driver.memory, 0);
    while (it) {
        uint64_t start = it->start;
        struct driver_allocation *allocation = (void *)(uintptr_t)it->value;
        if (is_loose(allocation))
            driver_pool_discard(allocation);
        else if (allocation->of_graph && allocation->of_graph->references == 1)
            driver.graph_memory_loose = true; // still in use
        it = base_intervals_after(&driver.memory, start);
    }
}

// --- Launches ------------------------------------------------------------------------------------

static bool frees(const struct driver_exec *exec, uint64_t address)
{
    for (size_t i = 0; i < exec->step_count; i++) {
        const struct driver_op *op = &exec->steps[i].op;
        if ((op->kind == DRIVER_OP_FREE && op->memory.address == address) ||
            (op->kind == DRIVER_OP_GRAPH && frees(op->graph.exec, address)))
            return true;
    }
    return false;
}

CUresult driver_exec_check_memory(const struct driver_exec *exec, bool frees_first)
{
    for (size_t i = 0; i < exec->step_count; i++) {
        const struct driver_op *op = &exec->steps[i].op;
        if (op->kind == DRIVER_OP_GRAPH)
            DRIVER_TRY(driver_exec_check_memory(op->graph.exec, frees_first));
        if (op->kind != DRIVER_OP_ALLOC)
            continue;
        const struct driver_allocation *allocation = driver_memory_find(op->memory.address);
        // A reset of the context may have freed the allocation.
        DRIVER_REJECT(!allocation || allocation->of_graph != op->memory.of_graph,
                      CUDA_ERROR_INVALID_VALUE);
        DRIVER_REJECT(allocation->of_graph->given && !frees_first, CUDA_ERROR_INVALID_VALUE);
    }
    return CUDA_SUCCESS;
}

bool driver_exec_memory_waits(const struct driver_exec *exec, struct driver_waits *waits)
{
    bool good = true;
    for (size_t i = 0; good && i < exec->step_count; i++) {
        const struct driver_op *op = &exec->steps[i].op;
        if (op->kind == DRIVER_OP_GRAPH) {
            good = driver_exec_memory_waits(op->graph.exec, waits);
        } else if (op->kind == DRIVER_OP_ALLOC && op->memory.of_graph &&
                   op->memory.of_graph->last) {
            struct driver_command **slot = base_array_push(&waits->of);
            good = slot != NULL;
            if (good)
                *slot = op->memory.of_graph->last;
        }
    }
    return good;
}

static void give(const struct driver_exec *whole, const struct driver_exec *exec,
                 struct driver_command *command)
{
    for (size_t i = 0; i < exec->step_count; i++) {
        const struct driver_op *op = &exec->steps[i].op;
        if (op->kind == DRIVER_OP_GRAPH) {
            give(whole, op->graph.exec, command);
        } else if (op->kind == DRIVER_OP_ALLOC && op->memory.of_graph) {
            op->memory.of_graph->given = !frees(whole, op->memory.address);
            driver_graph_memory_touch(op->memory.of_graph, command);
        } else if (op->kind == DRIVER_OP_FREE) {
            struct driver_allocation *allocation = driver_memory_find(op->memory.address);
            if (allocation && allocation->kind == DRIVER_MEMORY_POOL)
                driver_pool_freed(allocation, command);
        }
    }
}

void driver_exec_give_memory(const struct driver_exec *exec, struct driver_command *command)
{
    give(exec, exec, command);
}

void driver_exec_free_memory(const struct driver_exec *exec)
{
    for (size_t i = 0; i < exec->step_count; i++) {
        const struct driver_op *op = &exec->steps[i].op;
        if (op->kind == DRIVER_OP_GRAPH)
            driver_exec_free_memory(op->graph.exec);
        else if (op->kind == DRIVER_OP_ALLOC)
            sim_object_remove(driver_machine(), op->memory.address);
    }
}

// --- The API -------------------------------------------------------------------------------------

CUresult cuDeviceGraphMemTrim(CUdevice device)
{
    DRIVER_BEGIN();
    DRIVER_REJECT(!driver_device_at(device), CUDA_ERROR_INVALID_DEVICE);
    driver_lock();
    driver_pools_trim(driver_device_at(device));
    driver_unlock();
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attr, void *value)
{
    DRIVER_BEGIN();
    DRIVER_REJECT(!driver_device_at(device), CUDA_ERROR_INVALID_DEVICE);
    DRIVER_REJECT(!value, CUDA_ERROR_INVALID_VALUE);
    // Graphs allocate from the default pool.
    CUmemoryPool pool;
    DRIVER_TRY(cuDeviceGetDefaultMemPool(&pool, device));
    switch ((int)attr) {
    case CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT:
        return cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, value);
    case CU_GRAPH_MEM_ATTR_USED_MEM_HIGH:
        return cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, value);
    case CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT:
        return cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, value);
    case CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH:
        return cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, value);
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult cuDeviceSetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attr, void *value)
{
    DRIVER_BEGIN();
    DRIVER_REJECT(!driver_device_at(device), CUDA_ERROR_INVALID_DEVICE);
    DRIVER_REJECT(!value, CUDA_ERROR_INVALID_VALUE);
    CUmemoryPool pool;
    DRIVER_TRY(cuDeviceGetDefaultMemPool(&pool, device));
    CUmemPool_attribute which = attr == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH
                                    ? CU_MEMPOOL_ATTR_USED_MEM_HIGH
                                    : CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH;
    return cuMemPoolSetAttribute(pool, which, value);
}
