// SPDX-License-Identifier: Apache-2.0
// Conditions of graphs: their handles, and who holds them. graph_nodes.c makes conditional nodes,
// and graph_exec.c runs them.
#include "condition.h"

#include <stdlib.h>

#include "context.h"
#include "graph.h"

// Guarded by the driver's lock. A handle is an index plus one; released conditions leave NULL, so
// that a kernel with an old handle sets nothing.
static BASE_ARRAY(struct driver_condition *) conditions;

struct driver_condition *driver_condition_of(CUgraphConditionalHandle handle)
{
    return handle && handle <= conditions.count ? conditions.items[handle - 1] : NULL;
}

void driver_condition_hold(struct driver_condition *condition)
{
    driver_lock();
    condition->references++;
    driver_unlock();
}

void driver_condition_release(struct driver_condition *condition)
{
    driver_lock();
    if (--condition->references == 0) {
        conditions.items[condition->handle - 1] = NULL;
        free(condition);
    }
    driver_unlock();
}

void driver_condition_set(uint64_t handle, uint32_t value)
{
    driver_lock();
    struct driver_condition *condition = driver_condition_of(handle);
    if (condition)
        condition->value = value;
    driver_unlock();
}

CUresult cuGraphConditionalHandleCreate(CUgraphConditionalHandle *pHandle_out, CUgraph hGraph,
                                        CUcontext ctx, unsigned int defaultLaunchValue,
                                        unsigned int flags)
{
    DRIVER_BEGIN();
    (void)ctx;
    struct driver_graph *graph = (struct driver_graph *)hGraph;
    DRIVER_REJECT(!pHandle_out || !driver_graph_valid(graph) ||
                      flags & ~CU_GRAPH_COND_ASSIGN_DEFAULT,
                  CUDA_ERROR_INVALID_VALUE);
    struct driver_condition *condition = calloc(1, sizeof *condition);
    struct driver_condition **own = condition ? base_array_push(&graph->conditions) : NULL;
    if (!own) {
        free(condition);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    driver_lock();
    struct driver_condition **slot = base_array_push(&conditions);
    if (slot) {
        *condition = (struct driver_condition){
            .handle = conditions.count,
            .references = 1,
            .value = defaultLaunchValue,
            .launch_value = defaultLaunchValue,
            .assigns = flags & CU_GRAPH_COND_ASSIGN_DEFAULT,
        };
        *slot = *own = condition;
        *pHandle_out = condition->handle;
    }
    driver_unlock();
    if (!slot) {
        graph->conditions.count--;
        free(condition);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    return CUDA_SUCCESS;
}
