// SPDX-License-Identifier: Apache-2.0
// The kernel nodes of an executable graph: which are watched, and setting them to clones and back.
// Nodes of child graphs are set in a copy of the child, which is then given to the executable.
#include <stdlib.h>

#include "exec.h"
#include "fit.h"
#include "inject/core/kernels.h"
#include "inject/shadow/model.h"

// --- Nodes ---------------------------------------------------------------------------------------

void probe_exec_set_node(struct probe_exec *exec, struct probe_node *node, bool on)
{
    CUDA_KERNEL_NODE_PARAMS params = node->program;
    struct probe_child *child = node->child == NO_CHILD ? NULL : &exec->children.items[node->child];
    if (node->on == on || (child && child->failed))
        return;
    if (on) {
        params.func = node->clone->function;
        params.kern = NULL;
    }
    if (core_graph_set_params(child ? NULL : exec->handle, node->handle, &params) != CUDA_SUCCESS)
        return;
    node->on = on;
    if (child)
        child->changed = true;
    else
        node->live = on;
}

void probe_exec_set_children(struct probe_exec *exec)
{
    for (size_t i = 0; i < exec->children.count; i++) {
        struct probe_child *child = &exec->children.items[i];
        if (!child->changed)
            continue;
        child->changed = false;
        child->failed = REAL(cuGraphExecChildGraphNodeSetParams)(exec->handle, child->handle,
                                                                 child->copy) != CUDA_SUCCESS;
        for (size_t k = 0; !child->failed && k < exec->nodes.count; k++) {
            if (exec->nodes.items[k].child == i)
                exec->nodes.items[k].live = exec->nodes.items[k].on;
        }
    }
}

void probe_exec_set_nodes(struct probe_exec *exec, bool on)
{
    CUstreamCaptureMode mode;
    const bool relaxed = probe_relax(&mode);
    for (size_t i = 0; i < exec->nodes.count; i++)
        probe_exec_set_node(exec, &exec->nodes.items[i], on);
    probe_exec_set_children(exec);
    probe_unrelax(relaxed, &mode);
}

void probe_node_fini(struct probe_node *node)
{
    shadow_release(node->ticket);
    probe_kernel_drop(node->kernel);
    free(node->params);
}

// shape.partly stays false, because the stream on which the executable will be launched is unknown.
static bool is_lost(const struct probe_exec *exec, CUgraphNode handle,
                    const CUDA_KERNEL_NODE_PARAMS *program, const struct probe_kernel *kernel,
                    struct probe_clone *clone)
{
    CUkernelNodeAttrValue value;
    struct probe_shape shape = {
        .grid = {program->gridDimX, program->gridDimY, program->gridDimZ},
        .block = {program->blockDimX, program->blockDimY, program->blockDimZ},
        .shared_bytes = program->sharedMemBytes,
    };
    if (REAL(cuGraphKernelNodeGetAttribute)(handle, CU_KERNEL_NODE_ATTRIBUTE_CLUSTER_DIMENSION,
                                            &value) == CUDA_SUCCESS) {
        shape.cluster[0] = value.clusterDim.x;
        shape.cluster[1] = value.clusterDim.y;
        shape.cluster[2] = value.clusterDim.z;
    }
    shape.cooperative = REAL(cuGraphKernelNodeGetAttribute)(
                            handle, CU_KERNEL_NODE_ATTRIBUTE_COOPERATIVE, &value) == CUDA_SUCCESS &&
                        value.cooperative;
    return probe_fit_is_lost(kernel, clone, exec->context, &shape);
}

// Returns whether a kernel may change the node: its parameters, or whether it runs.
static bool is_updatable(CUgraphNode handle)
{
    CUkernelNodeAttrValue value = {0};
    return REAL(cuGraphKernelNodeGetAttribute)(
               handle, CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE, &value) == CUDA_SUCCESS &&
           value.deviceUpdatableKernelNode.deviceUpdatable;
}

// Watches a kernel node, if possible. The executable's context is current.
static void adopt_kernel(struct probe_exec *exec, uint32_t index, CUgraphNode handle, size_t child,
                         const CUDA_KERNEL_NODE_PARAMS *program, const void *function,
                         struct probe_kernel *kernel, uint32_t number)
{
    if (!kernel->about || (program->ctx && program->ctx != exec->context->handle))
        return;
    if (is_updatable(handle)) {
        probe_kernel_note(kernel, "nodes that kernels can change are not watched");
        return;
    }
    if (stack_is_small()) {
        probe_kernel_note(kernel, PROBE_LITTLE_STACK);
        return;
    }
    struct probe_clone *clone = probe_kernel_clone(kernel, function, exec->context);
    if (clone && is_lost(exec, handle, program, kernel, clone)) {
        probe_kernel_note(kernel, PROBE_FIT_LOST);
        return;
    }
    struct probe_params *params =
        clone ? probe_params_make(kernel, clone, program->kernelParams, program->extra) : NULL;
    if (!params)
        return;
    const struct shadow_launch about = {
        .stream = exec->context->legacy,
        .kernel = kernel->about,
        .kernel_number = number,
        .given = params->given,
        .roots = params->roots,
        .params = params->values,
        .grid = {program->gridDimX, program->gridDimY, program->gridDimZ},
        .block = {program->blockDimX, program->blockDimY, program->blockDimZ},
        .dynamic_bytes = program->sharedMemBytes,
        .turn = true, // so that a note says that nodes have no live ranges
        .facts = probe_state->facts,
    };
    shadow_aim(&about, params->roots);
    struct shadow_ticket *ticket = shadow_begin_node(&about, params->context);
    struct probe_node *node = ticket ? base_array_push(&exec->nodes) : NULL;
    if (!node) {
        shadow_release(ticket);
        free(params);
        return;
    }
    probe_kernel_hold(kernel);
    *node = (struct probe_node){.index = index,
                                .handle = handle,
                                .child = child,
                                .kernel = kernel,
                                .clone = clone,
                                .params = params,
                                .program = *program,
                                .ticket = ticket};
    node->program.kernelParams = params->pointers;
    node->program.extra = NULL;
}

void probe_exec_adopt(struct probe_exec *exec, uint32_t index, CUgraphNode handle, size_t child,
                      const CUDA_KERNEL_NODE_PARAMS *program)
{
    const bool library = !program->func;
    const void *function = library ? (const void *)program->kern : (const void *)program->func;
    const uint32_t number = core_kernel_of(function, library);
    struct probe_kernel *kernel = number ? probe_kernel_of(function) : NULL;
    const size_t before = exec->nodes.count;
    if (!kernel)
        return;
    probe_kernel_tell(kernel, number);
    adopt_kernel(exec, index, handle, child, program, function, kernel, number);
    if (exec->nodes.count > before)
        return;
    probe_kernel_unwatched(kernel, exec->context);
    probe_passed_add(&exec->passed, index, function, program);
}

void probe_exec_adopt_as(struct probe_exec *exec, uint32_t index, CUgraphNode handle, size_t child,
                         CUgraphNode like)
{
    CUDA_KERNEL_NODE_PARAMS params;
    if (core_graph_get_params(like, &params))
        probe_exec_adopt(exec, index, handle, child, &params);
}

void probe_exec_forget(struct probe_exec *exec, size_t at_index)
{
    probe_node_fini(&exec->nodes.items[at_index]);
    exec->nodes.items[at_index] = exec->nodes.items[--exec->nodes.count];
}

void probe_exec_leave_nodes(struct probe_exec *exec)
{
    probe_exec_set_nodes(exec, false);
    for (size_t i = exec->nodes.count; i-- > 0;) {
        const struct probe_node *node = &exec->nodes.items[i];
        if (node->live) {
            exec->stuck = true;
            continue;
        }
        probe_passed_add(&exec->passed, node->index,
                         node->program.func ? (const void *)node->program.func
                                            : (const void *)node->program.kern,
                         &node->program);
        probe_exec_forget(exec, i);
    }
}

// --- Child graphs --------------------------------------------------------------------------------

bool probe_has_kernels(const struct core_node *nodes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (nodes[i].reported.kind == EVENT_NODE_KERNEL)
            return true;
    }
    return false;
}

// nodes: the recorded nodes of the child graph, the first of which has this index. copy: a copy of
// that graph.
// NOLINTNEXTLINE(misc-no-recursion): as deep as graphs are nested, which is bounded
static void adopt_copies(struct probe_exec *exec, size_t child, CUgraph copy,
                         const struct core_node *nodes, size_t count, uint32_t index)
{
    for (size_t i = 0; i < count; i += 1 + nodes[i].children) {
        CUgraphNode node;
        CUgraph inner;
        if (REAL(cuGraphNodeFindInClone)(&node, nodes[i].handle, copy) != CUDA_SUCCESS)
            continue;
        if (nodes[i].reported.kind == EVENT_NODE_KERNEL)
            probe_exec_adopt_as(exec, index + (uint32_t)i, node, child, node);
        else if (nodes[i].reported.kind == EVENT_NODE_GRAPH &&
                 REAL(cuGraphChildGraphNodeGetGraph)(node, &inner) == CUDA_SUCCESS)
            adopt_copies(exec, child, inner, nodes + i + 1, nodes[i].children,
                         index + (uint32_t)i + 1);
    }
}

void probe_exec_adopt_child(struct probe_exec *exec, uint32_t index, CUgraphNode handle,
                            CUgraph graph, const struct core_node *nodes, size_t count)
{
    CUgraph copy;
    const size_t before = exec->nodes.count;
    if (!probe_has_kernels(nodes, count) || REAL(cuGraphClone)(&copy, graph) != CUDA_SUCCESS)
        return;
    struct probe_child *child = base_array_push(&exec->children);
    if (child) {
        *child = (struct probe_child){.index = index, .handle = handle, .copy = copy};
        adopt_copies(exec, exec->children.count - 1, copy, nodes, count, index + 1);
        if (exec->nodes.count > before)
            return;
        exec->children.count--;
    }
    REAL(cuGraphDestroy)(copy);
}
