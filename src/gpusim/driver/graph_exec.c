// SPDX-License-Identifier: Apache-2.0
// Executable graphs: instantiation, launch and update. A launch is one command of its stream, which
// runs the steps one after the other in an order that the edges allow. On the simulated clock,
// independent steps overlap.
#include <stdlib.h>
#include <string.h>

#include "cluster.h"
#include "condition.h"
#include "context.h"
#include "event.h"
#include "graph.h"

#define EXEC_MAGIC UINT64_C(0x676c696e74657865)

// What a CUgraphExec points to.
struct executable {
    uint64_t magic;
    struct driver_exec *exec;           // held
    struct driver_instances *instances; // held: of its graph
    cuuint64_t flags;
    struct driver_command *last; // held: the next launch must follow it
};

void driver_exec_hold(struct driver_exec *exec)
{
    atomic_fetch_add(&exec->references, 1);
}

void driver_exec_release(struct driver_exec *exec)
{
    if (!exec || atomic_fetch_sub(&exec->references, 1) != 1)
        return;
    for (size_t i = 0; i < exec->step_count; i++) {
        driver_op_fini(&exec->steps[i].op);
        free(exec->steps[i].follows);
    }
    for (size_t i = 0; i < exec->objects.count; i++)
        driver_user_object_release(exec->objects.items[i]);
    base_array_fini(&exec->objects);
    free(exec->steps);
    free(exec);
}

static bool hold_objects(struct driver_exec *exec, struct driver_user_object *const *objects,
                         size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct driver_user_object **slot = base_array_push(&exec->objects);
        if (!slot)
            return false;
        *slot = objects[i];
        driver_user_object_hold(*slot);
    }
    return true;
}

// --- Instantiation -------------------------------------------------------------------------------

// Appends the node to the order after all nodes it depends on, depth first. A graph's edges never
// form a cycle.
static bool place(const struct driver_graph *graph, struct driver_node *node,
                  struct driver_node **order, size_t *count)
{
    if (node->index != SIZE_MAX)
        return true;
    for (size_t i = 0; i < node->follow_count; i++)
        if (!place(graph, node->follows[i], order, count))
            return false;
    node->index = *count;
    order[(*count)++] = node;
    return true;
}

// Conditional nodes run nothing that needs a thread of the host or an event.
static bool is_body(const struct driver_exec *exec)
{
    for (size_t i = 0; i < exec->step_count; i++) {
        const struct driver_step *step = &exec->steps[i];
        switch ((int)step->type) {
        case CU_GRAPH_NODE_TYPE_KERNEL:
        case CU_GRAPH_NODE_TYPE_MEMCPY:
        case CU_GRAPH_NODE_TYPE_MEMSET:
        case CU_GRAPH_NODE_TYPE_EMPTY:
        case CU_GRAPH_NODE_TYPE_CONDITIONAL: break;
        case CU_GRAPH_NODE_TYPE_GRAPH:
            if (is_body(step->op.graph.exec))
                break;
            return false;
        default: return false;
        }
    }
    return true;
}

// On failure the operation holds the bodies that were made.
static CUresult make_conditional(const struct driver_branches *branches, struct driver_op *op,
                                 const struct driver_node **bad)
{
    struct driver_exec **bodies = calloc(branches->count, sizeof(struct driver_exec *));
    DRIVER_REJECT(!bodies, CUDA_ERROR_OUT_OF_MEMORY);
    driver_condition_hold(branches->condition);
    *op = (struct driver_op){.kind = DRIVER_OP_CONDITIONAL,
                             .conditional = {.condition = branches->condition,
                                             .type = branches->type,
                                             .bodies = bodies}};
    for (unsigned i = 0; i < branches->count; i++) {
        DRIVER_TRY(driver_exec_create(branches->bodies[i], &bodies[i], bad));
        op->conditional.count++;
        DRIVER_REJECT(!is_body(bodies[i]), CUDA_ERROR_NOT_SUPPORTED);
    }
    return CUDA_SUCCESS;
}

static CUresult make_step(struct driver_node *node, struct driver_step *step,
                          const struct driver_node **bad)
{
    step->type = node->type;
    step->node = node;
    step->enabled = true;
    step->follows = calloc(node->follow_count + 1, sizeof *step->follows);
    DRIVER_REJECT(!step->follows, CUDA_ERROR_OUT_OF_MEMORY);
    step->follow_count = node->follow_count;
    for (size_t i = 0; i < node->follow_count; i++)
        step->follows[i] = node->follows[i]->index;
    if (node->type == CU_GRAPH_NODE_TYPE_KERNEL && node->op.launch.cluster[0])
        DRIVER_TRY(driver_cluster_check(&node->op));
    if (node->branches)
        return make_conditional(node->branches, &step->op, bad);
    if (!node->child)
        return driver_op_copy(&step->op, &node->op) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    struct driver_exec *child;
    DRIVER_TRY(driver_exec_create(node->child, &child, bad));
    step->op = (struct driver_op){.kind = DRIVER_OP_GRAPH, .graph = {.exec = child}};
    return CUDA_SUCCESS;
}

CUresult driver_exec_create(const struct driver_graph *graph, struct driver_exec **made,
                            const struct driver_node **bad)
{
    size_t count = graph->nodes.count, placed = 0;
    struct driver_exec *exec = calloc(1, sizeof *exec);
    struct driver_node **order = calloc(count + 1, sizeof(struct driver_node *));
    CUresult result = exec && order ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    if (exec) {
        exec->references = 1;
        exec->steps = calloc(count + 1, sizeof *exec->steps);
        if (!exec->steps)
            result = CUDA_ERROR_OUT_OF_MEMORY;
    }
    for (size_t i = 0; i < count; i++)
        graph->nodes.items[i]->index = SIZE_MAX;
    for (size_t i = 0; result == CUDA_SUCCESS && i < count; i++)
        place(graph, graph->nodes.items[i], order, &placed);
    for (size_t i = 0; result == CUDA_SUCCESS && i < count; i++) {
        exec->step_count++;
        result = make_step(order[i], &exec->steps[i], bad);
        if (result != CUDA_SUCCESS && bad && !*bad)
            *bad = order[i];
    }
    free(order);
    if (result == CUDA_SUCCESS && !hold_objects(exec, graph->objects.items, graph->objects.count))
        result = CUDA_ERROR_OUT_OF_MEMORY;
    if (result != CUDA_SUCCESS) {
        driver_exec_release(exec);
        return result;
    }
    *made = exec;
    return CUDA_SUCCESS;
}

static struct driver_exec *copy_exec(const struct driver_exec *from)
{
    struct driver_exec *exec = calloc(1, sizeof *exec);
    if (!exec)
        return NULL;
    exec->references = 1;
    exec->steps = calloc(from->step_count + 1, sizeof *exec->steps);
    bool good = exec->steps != NULL;
    for (size_t i = 0; good && i < from->step_count; i++) {
        struct driver_step *to = &exec->steps[i];
        const struct driver_step *step = &from->steps[i];
        *to = *step;
        exec->step_count++;
        to->follows = calloc(step->follow_count + 1, sizeof *to->follows);
        good = driver_op_copy(&to->op, &step->op) && to->follows;
        if (to->follows)
            memcpy(to->follows, step->follows, step->follow_count * sizeof *to->follows);
    }
    if (good && hold_objects(exec, from->objects.items, from->objects.count))
        return exec;
    driver_exec_release(exec);
    return NULL;
}

void driver_exec_assign_conditions(const struct driver_exec *exec)
{
    for (size_t i = 0; i < exec->step_count; i++) {
        const struct driver_op *op = &exec->steps[i].op;
        if (op->kind != DRIVER_OP_CONDITIONAL)
            continue;
        if (op->conditional.condition->assigns)
            op->conditional.condition->value = op->conditional.condition->launch_value;
        for (unsigned k = 0; k < op->conditional.count; k++)
            driver_exec_assign_conditions(op->conditional.bodies[k]);
    }
}

// --- Running -------------------------------------------------------------------------------------

CUresult driver_exec_run(struct driver_exec *exec, struct driver_command *const *records,
                         uint64_t start_ns, uint64_t *duration_ns)
{
    uint64_t *ends = calloc(exec->step_count + 1, sizeof *ends);
    DRIVER_REJECT(!ends, CUDA_ERROR_OUT_OF_MEMORY);
    uint64_t last_ns = start_ns;
    size_t record = 0;
    CUresult result = CUDA_SUCCESS;
    for (size_t i = 0; i < exec->step_count && result == CUDA_SUCCESS; i++) {
        const struct driver_step *step = &exec->steps[i];
        uint64_t begin = start_ns, duration = 0;
        for (size_t k = 0; k < step->follow_count; k++)
            if (ends[step->follows[k]] > begin)
                begin = ends[step->follows[k]];
        struct driver_op op = step->op; // a shallow copy, which driver_op_fini() must not free
        if (op.kind == DRIVER_OP_RECORD)
            op.mark.command = records ? records[record++] : NULL;
        if (step->enabled)
            result = driver_op_run(&op, begin, &duration);
        ends[i] = begin + duration;
        if (ends[i] > last_ns)
            last_ns = ends[i];
    }
    free(ends);
    *duration_ns = last_ns - start_ns;
    return result;
}

static struct executable *executable_of(CUgraphExec handle)
{
    struct executable *executable = (struct executable *)handle;
    return executable && executable->magic == EXEC_MAGIC ? executable : NULL;
}

#define EXECUTABLE(executable, handle)                       \
    struct executable *executable = executable_of((handle)); \
    DRIVER_REJECT(!executable, CUDA_ERROR_INVALID_VALUE)

static CUresult instantiate(CUgraphExec *out, CUgraph handle, cuuint64_t flags, CUgraphNode *bad)
{
    const struct driver_graph *graph = (const struct driver_graph *)handle;
    DRIVER_REJECT(!out || !driver_graph_valid(graph), CUDA_ERROR_INVALID_VALUE);
    if (flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH)
        return driver_not_there("a graph launched from the device");
    DRIVER_REJECT(graph->is_moved, CUDA_ERROR_INVALID_VALUE);
    DRIVER_REJECT(graph->instances->count && driver_graph_is_unique(graph),
                  CUDA_ERROR_NOT_SUPPORTED);
    const struct driver_node *failed = NULL;
    struct executable *executable = calloc(1, sizeof *executable);
    DRIVER_REJECT(!executable, CUDA_ERROR_OUT_OF_MEMORY);
    CUresult result = driver_exec_create(graph, &executable->exec, &failed);
    if (bad)
        *bad = (CUgraphNode)failed;
    if (result != CUDA_SUCCESS) {
        free(executable);
        return result;
    }
    executable->magic = EXEC_MAGIC;
    executable->flags = flags;
    executable->instances = graph->instances;
    executable->instances->references++;
    executable->instances->count++;
    *out = (CUgraphExec)executable;
    return CUDA_SUCCESS;
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec *phGraphExec, CUgraph hGraph,
                                     unsigned long long flags)
{
    DRIVER_BEGIN();
    return instantiate(phGraphExec, hGraph, flags, NULL);
}

CUresult cuGraphInstantiateWithParams(CUgraphExec *phGraphExec, CUgraph hGraph,
                                      CUDA_GRAPH_INSTANTIATE_PARAMS *instantiateParams)
{
    DRIVER_BEGIN();
    DRIVER_REJECT(!instantiateParams, CUDA_ERROR_INVALID_VALUE);
    instantiateParams->hErrNode_out = NULL;
    CUresult result = instantiate(phGraphExec, hGraph, instantiateParams->flags,
                                  &instantiateParams->hErrNode_out);
    instantiateParams->result_out =
        result == CUDA_SUCCESS ? CUDA_GRAPH_INSTANTIATE_SUCCESS : CUDA_GRAPH_INSTANTIATE_ERROR;
    return result;
}

CUresult cuGraphInstantiate_v2(CUgraphExec *phGraphExec, CUgraph hGraph, CUgraphNode *phErrorNode,
                               char *logBuffer, size_t bufferSize)
{
    DRIVER_BEGIN();
    if (logBuffer && bufferSize)
        *logBuffer = '\0';
    return instantiate(phGraphExec, hGraph, 0, phErrorNode);
}

CUresult cuGraphInstantiate(CUgraphExec *phGraphExec, CUgraph hGraph, CUgraphNode *phErrorNode,
                            char *logBuffer, size_t bufferSize)
{
    return cuGraphInstantiate_v2(phGraphExec, hGraph, phErrorNode, logBuffer, bufferSize);
}

CUresult cuGraphExecDestroy(CUgraphExec hGraphExec)
{
    DRIVER_BEGIN();
    EXECUTABLE(executable, hGraphExec);
    driver_lock();
    driver_release(executable->last);
    driver_unlock();
    driver_exec_release(executable->exec);
    executable->instances->count--;
    driver_instances_release(executable->instances);
    executable->magic = 0;
    free(executable);
    return CUDA_SUCCESS;
}

CUresult cuGraphExecGetFlags(CUgraphExec hGraphExec, cuuint64_t *flags)
{
    DRIVER_BEGIN();
    EXECUTABLE(executable, hGraphExec);
    DRIVER_REJECT(!flags, CUDA_ERROR_INVALID_VALUE);
    *flags = executable->flags;
    return CUDA_SUCCESS;
}

// The recorded events refer to this launch from now on, even before it reaches their nodes. Locked.
static bool set_records(const struct driver_exec *exec, struct driver_op *op)
{
    size_t count = 0;
    for (size_t i = 0; i < exec->step_count; i++)
        count += exec->steps[i].op.kind == DRIVER_OP_RECORD;
    if (!count)
        return true;
    op->graph.records = calloc(count, sizeof(struct driver_command *));
    if (!op->graph.records)
        return false;
    for (size_t i = 0; i < exec->step_count; i++) {
        struct driver_event *event = exec->steps[i].op.mark.event;
        if (exec->steps[i].op.kind != DRIVER_OP_RECORD)
            continue;
        struct driver_command *command = calloc(1, sizeof *command);
        if (!command)
            return false;
        command->references = 1; // the launch's reference
        op->graph.records[op->graph.record_count++] = command;
        if (driver_event_valid(event)) {
            driver_hold(command);
            driver_release(event->recorded);
            event->recorded = command;
        }
    }
    return true;
}

// Collects the commands that a launch must follow besides those that its stream requires. They are
// borrowed. Locked.
static bool find_waits(const struct executable *executable, struct driver_waits *waits)
{
    if (executable->last) {
        struct driver_command **slot = base_array_push(&waits->of);
        if (!slot)
            return false;
        *slot = executable->last;
    }
    return driver_exec_memory_waits(executable->exec, waits);
}

// A kernel whose launches must say how large clusters are may be in a graph that does not say it.
static CUresult check_clusters(const struct driver_exec *exec)
{
    for (size_t i = 0; i < exec->step_count; i++) {
        const struct driver_step *step = &exec->steps[i];
        if (step->op.kind == DRIVER_OP_GRAPH)
            DRIVER_TRY(check_clusters(step->op.graph.exec));
        else if (step->type == CU_GRAPH_NODE_TYPE_KERNEL)
            DRIVER_TRY(driver_cluster_check(&step->op));
        for (unsigned k = 0;
             step->op.kind == DRIVER_OP_CONDITIONAL && k < step->op.conditional.count; k++)
            DRIVER_TRY(check_clusters(step->op.conditional.bodies[k]));
    }
    return CUDA_SUCCESS;
}

CUresult cuGraphLaunch(CUgraphExec hGraphExec, CUstream hStream)
{
    DRIVER_BEGIN();
    EXECUTABLE(executable, hGraphExec);
    struct driver_context *context;
    struct driver_stream *stream;
    DRIVER_TRY(driver_enter_stream(hStream, &context, &stream));
    CUresult result = check_clusters(executable->exec);
    bool frees_first = executable->flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;
    if (result == CUDA_SUCCESS && !stream->capture)
        result = driver_exec_check_memory(executable->exec, frees_first);
    if (result != CUDA_SUCCESS) {
        driver_unlock();
        return result;
    }
    struct driver_op op = {.kind = DRIVER_OP_GRAPH,
                           .graph = {.exec = executable->exec, .frees_first = frees_first}};
    driver_exec_hold(executable->exec);
    struct driver_waits waits = {0};
    if (stream->capture) {
        result = driver_capture_op(stream, &op);
    } else if (!set_records(executable->exec, &op) || !find_waits(executable, &waits)) {
        driver_unlock();
        driver_op_fini(&op);
        base_array_fini(&waits.of);
        return CUDA_ERROR_OUT_OF_MEMORY;
    } else {
        struct driver_command *command = NULL;
        result = driver_submit(stream, &op, waits.of.items, waits.of.count, &command);
        if (result == CUDA_SUCCESS) {
            driver_release(executable->last);
            executable->last = command;
            driver_exec_give_memory(executable->exec, command);
        }
    }
    base_array_fini(&waits.of);
    driver_unlock();
    return result;
}

CUresult cuGraphUpload(CUgraphExec hGraphExec, CUstream hStream)
{
    DRIVER_BEGIN();
    EXECUTABLE(executable, hGraphExec);
    return CUDA_SUCCESS;
}

// --- Updates -------------------------------------------------------------------------------------

// Copies the steps if a launch still holds them.
static CUresult make_private(struct executable *executable)
{
    if (executable->exec->references == 1)
        return CUDA_SUCCESS;
    struct driver_exec *copy = copy_exec(executable->exec);
    DRIVER_REJECT(!copy, CUDA_ERROR_OUT_OF_MEMORY);
    driver_exec_release(executable->exec);
    executable->exec = copy;
    return CUDA_SUCCESS;
}

// Takes ownership of *op.
static CUresult replace(CUgraphExec handle, CUgraphNode node, CUgraphNodeType type,
                        struct driver_op *op)
{
    struct executable *executable = executable_of(handle);
    CUresult result = executable ? make_private(executable) : CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS) {
        result = CUDA_ERROR_INVALID_VALUE;
        for (size_t i = 0; i < executable->exec->step_count; i++) {
            struct driver_step *step = &executable->exec->steps[i];
            if (step->node != (struct driver_node *)node || step->type != type)
                continue;
            if (type == CU_GRAPH_NODE_TYPE_KERNEL) {
                memcpy(op->launch.cluster, step->op.launch.cluster, sizeof op->launch.cluster);
                result = driver_cluster_check(op);
                if (result != CUDA_SUCCESS)
                    break;
            }
            driver_op_fini(&step->op);
            step->op = *op;
            return CUDA_SUCCESS;
        }
    }
    driver_op_fini(op);
    return result;
}

CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec hGraphExec, CUgraphNode hNode,
                                           const CUDA_KERNEL_NODE_PARAMS *nodeParams)
{
    DRIVER_BEGIN();
    struct driver_op op;
    DRIVER_TRY(driver_kernel_op(nodeParams, &op));
    return replace(hGraphExec, hNode, CU_GRAPH_NODE_TYPE_KERNEL, &op);
}

CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                        const CUDA_MEMCPY3D *copyParams, CUcontext ctx)
{
    DRIVER_BEGIN();
    struct driver_op op;
    DRIVER_TRY(driver_copy_op(copyParams, &op));
    return replace(hGraphExec, hNode, CU_GRAPH_NODE_TYPE_MEMCPY, &op);
}

CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                        const CUDA_MEMSET_NODE_PARAMS *memsetParams, CUcontext ctx)
{
    DRIVER_BEGIN();
    struct driver_op op;
    DRIVER_TRY(driver_fill_op(memsetParams, &op));
    return replace(hGraphExec, hNode, CU_GRAPH_NODE_TYPE_MEMSET, &op);
}

CUresult cuGraphExecHostNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                      const CUDA_HOST_NODE_PARAMS *nodeParams)
{
    DRIVER_BEGIN();
    DRIVER_REJECT(!nodeParams || !nodeParams->fn, CUDA_ERROR_INVALID_VALUE);
    struct driver_op op = {.kind = DRIVER_OP_HOST, .host = {nodeParams->fn, nodeParams->userData}};
    return replace(hGraphExec, hNode, CU_GRAPH_NODE_TYPE_HOST, &op);
}

CUresult cuGraphExecChildGraphNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                            CUgraph childGraph)
{
    DRIVER_BEGIN();
    const struct driver_graph *graph = (const struct driver_graph *)childGraph;
    DRIVER_REJECT(!driver_graph_valid(graph), CUDA_ERROR_INVALID_VALUE);
    struct driver_op op = {.kind = DRIVER_OP_GRAPH};
    DRIVER_TRY(driver_exec_create(graph, &op.graph.exec, NULL));
    return replace(hGraphExec, hNode, CU_GRAPH_NODE_TYPE_GRAPH, &op);
}

static CUresult set_event(CUgraphExec exec, CUgraphNode node, CUgraphNodeType type,
                          enum driver_op_kind kind, CUevent handle)
{
    struct driver_event *event = (struct driver_event *)handle;
    DRIVER_REJECT(!driver_event_valid(event), CUDA_ERROR_INVALID_VALUE);
    struct driver_op op = {.kind = kind, .mark = {.event = event}};
    return replace(exec, node, type, &op);
}

CUresult cuGraphExecEventRecordNodeSetEvent(CUgraphExec hGraphExec, CUgraphNode hNode,
                                            CUevent event)
{
    DRIVER_BEGIN();
    return set_event(hGraphExec, hNode, CU_GRAPH_NODE_TYPE_EVENT_RECORD, DRIVER_OP_RECORD, event);
}

CUresult cuGraphExecEventWaitNodeSetEvent(CUgraphExec hGraphExec, CUgraphNode hNode, CUevent event)
{
    DRIVER_BEGIN();
    return set_event(hGraphExec, hNode, CU_GRAPH_NODE_TYPE_WAIT_EVENT, DRIVER_OP_WAIT, event);
}

static struct driver_step *step_of(struct executable *executable, CUgraphNode node)
{
    for (size_t i = 0; i < executable->exec->step_count; i++)
        if (executable->exec->steps[i].node == (struct driver_node *)node)
            return &executable->exec->steps[i];
    return NULL;
}

CUresult cuGraphNodeSetEnabled(CUgraphExec hGraphExec, CUgraphNode hNode, unsigned int isEnabled)
{
    DRIVER_BEGIN();
    EXECUTABLE(executable, hGraphExec);
    DRIVER_TRY(make_private(executable));
    struct driver_step *step = step_of(executable, hNode);
    DRIVER_REJECT(!step, CUDA_ERROR_INVALID_VALUE);
    step->enabled = isEnabled != 0;
    return CUDA_SUCCESS;
}

CUresult cuGraphNodeGetEnabled(CUgraphExec hGraphExec, CUgraphNode hNode, unsigned int *isEnabled)
{
    DRIVER_BEGIN();
    EXECUTABLE(executable, hGraphExec);
    struct driver_step *step = step_of(executable, hNode);
    DRIVER_REJECT(!isEnabled || !step, CUDA_ERROR_INVALID_VALUE);
    *isEnabled = step->enabled;
    return CUDA_SUCCESS;
}

static bool same_edges(const struct driver_step *a, const struct driver_step *b)
{
    return a->follow_count == b->follow_count &&
           memcmp(a->follows, b->follows, a->follow_count * sizeof *a->follows) == 0;
}

// If the graph has the same shape, its steps replace the old ones.
CUresult cuGraphExecUpdate_v2(CUgraphExec hGraphExec, CUgraph hGraph,
                              CUgraphExecUpdateResultInfo *resultInfo)
{
    DRIVER_BEGIN();
    EXECUTABLE(executable, hGraphExec);
    const struct driver_graph *graph = (const struct driver_graph *)hGraph;
    DRIVER_REJECT(!driver_graph_valid(graph) || graph->is_moved || !resultInfo,
                  CUDA_ERROR_INVALID_VALUE);
    *resultInfo = (CUgraphExecUpdateResultInfo){.result = CU_GRAPH_EXEC_UPDATE_SUCCESS};
    struct driver_exec *fresh = NULL;
    DRIVER_TRY(driver_exec_create(graph, &fresh, NULL));
    const struct driver_exec *old = executable->exec;
    if (fresh->step_count != old->step_count)
        resultInfo->result = CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
    for (size_t i = 0; !resultInfo->result && i < fresh->step_count; i++) {
        struct driver_step *step = &fresh->steps[i];
        if (step->type != old->steps[i].type)
            resultInfo->result = CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
        else if (!same_edges(step, &old->steps[i]))
            resultInfo->result = CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
        if (resultInfo->result)
            resultInfo->errorNode = (CUgraphNode)step->node;
        step->node = old->steps[i].node; // the program knows the original nodes
        step->enabled = old->steps[i].enabled;
    }
    if (resultInfo->result) {
        driver_exec_release(fresh);
        return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
    }
    driver_exec_release(executable->exec);
    executable->exec = fresh;
    return CUDA_SUCCESS;
}

CUresult cuGraphExecUpdate(CUgraphExec hGraphExec, CUgraph hGraph, CUgraphNode *hErrorNode_out,
                           CUgraphExecUpdateResult *updateResult_out)
{
    CUgraphExecUpdateResultInfo info = {0};
    CUresult result = cuGraphExecUpdate_v2(hGraphExec, hGraph, &info);
    if (hErrorNode_out)
        *hErrorNode_out = info.errorNode;
    if (updateResult_out)
        *updateResult_out = info.result;
    return result;
}
