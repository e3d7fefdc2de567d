// SPDX-License-Identifier: Apache-2.0
// Executes operations: launches, copies, fills and host functions, and computes the simulated time
// that each takes. The engine decides their order and concurrency.
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "cluster.h"
#include "condition.h"
#include "context.h"
#include "driver.h"
#include "event.h"
#include "graph.h"
#include "graph_memory.h"
#include "module.h"
#include "op.h"
#include "pool.h"
#include "stream.h"

enum { COPY_LATENCY_NS = 1500, FILL_LATENCY_NS = 1000, HOST_FUNCTION_NS = 5000 };

bool driver_op_copy(struct driver_op *to, const struct driver_op *from)
{
    *to = *from;
    if (from->kind == DRIVER_OP_LAUNCH && from->launch.params) {
        size_t bytes = from->launch.function->info->param_bytes;
        to->launch.params = malloc(bytes ? bytes : 1);
        if (!to->launch.params)
            return false;
        memcpy(to->launch.params, from->launch.params, bytes);
    }
    if (from->kind == DRIVER_OP_COPY)
        to->copy.staging = NULL; // captured copies are not staged
    if (from->kind == DRIVER_OP_ALLOC && from->memory.of_graph)
        driver_graph_memory_hold(from->memory.of_graph);
    if (from->kind == DRIVER_OP_GRAPH) {
        to->graph.records = NULL;
        to->graph.record_count = 0;
        driver_exec_hold(to->graph.exec);
    }
    if (from->kind == DRIVER_OP_CONDITIONAL) {
        to->conditional.bodies = calloc(from->conditional.count, sizeof(struct driver_exec *));
        if (!to->conditional.bodies)
            return false;
        for (unsigned i = 0; i < from->conditional.count; i++) {
            to->conditional.bodies[i] = from->conditional.bodies[i];
            driver_exec_hold(to->conditional.bodies[i]);
        }
        driver_condition_hold(to->conditional.condition);
    }
    if (from->kind == DRIVER_OP_RECORD || from->kind == DRIVER_OP_WAIT)
        to->mark.command = NULL;
    return true;
}

static void fini_copy(struct driver_op *op)
{
    const struct driver_box *box = &op->copy.box;
    if (op->copy.staging)
        atomic_fetch_sub(&driver.staged_bytes, box->width * box->height * box->depth);
    free(op->copy.staging);
}

static void fini_graph(struct driver_op *op)
{
    driver_exec_release(op->graph.exec);
    if (!op->graph.records)
        return;
    driver_lock();
    for (size_t i = 0; i < op->graph.record_count; i++) {
        // After an error or at the end of the process the record may not have run. No thread may
        // wait for it.
        op->graph.records[i]->done = true;
        driver_release(op->graph.records[i]);
    }
    driver_unlock();
    free(op->graph.records);
}

static void fini_conditional(struct driver_op *op)
{
    for (unsigned i = 0; i < op->conditional.count; i++)
        driver_exec_release(op->conditional.bodies[i]);
    free(op->conditional.bodies);
    driver_condition_release(op->conditional.condition);
}

// Not locked if the operation is a graph launch or a conditional node.
void driver_op_fini(struct driver_op *op)
{
    if (op->kind == DRIVER_OP_LAUNCH)
        free(op->launch.params);
    else if (op->kind == DRIVER_OP_COPY)
        fini_copy(op);
    else if (op->kind == DRIVER_OP_GRAPH)
        fini_graph(op);
    else if (op->kind == DRIVER_OP_CONDITIONAL)
        fini_conditional(op);
    else if (op->kind == DRIVER_OP_ALLOC && op->memory.of_graph)
        driver_graph_memory_release(op->memory.of_graph);
    op->kind = DRIVER_OP_EMPTY;
}

const char *driver_fault(void)
{
    return atomic_load(&driver.fault);
}

static CUresult run_launch(const struct driver_op *op, uint64_t *duration_ns)
{
    const struct driver_thread *own = driver_thread();
    uint32_t cluster[3];
    driver_cluster_of(op->launch.function, op->launch.cluster, cluster);
    struct sim_launch launch = {
        .kernel = op->launch.function->kernel,
        .grid = {op->launch.grid[0], op->launch.grid[1], op->launch.grid[2]},
        .block = {op->launch.block[0], op->launch.block[1], op->launch.block[2]},
        .cluster = {cluster[0], cluster[1], cluster[2]},
        .dynamic_shared_bytes = op->launch.shared_bytes,
        .params = op->launch.params,
        .cooperative = op->launch.cooperative,
        .id = atomic_fetch_add(&driver.launches, 1) + 1,
        .call = own->running_for,
        .stream = driver_stream_handle(own->running_on),
        .watch = op->launch.watch,
        .watch_user = op->launch.watch_user,
    };
    for (int i = 0; op->launch.function->info->blocks_are_clusters && cluster[0] && i < 3; i++)
        launch.grid[i] *= cluster[i];
    struct sim_work work = {0};
    struct sim_fault fault = {0};
    *duration_ns =
        sim_launch_run(op->launch.function->module->device->machine, &launch, &work, &fault);
    if (fault.kind == SIM_FAULT_NONE)
        return CUDA_SUCCESS;
    driver_say("%s", fault.text);
    char *text = strdup(fault.text), *none = NULL;
    if (text && !atomic_compare_exchange_strong(&driver.fault, &none, text))
        free(text);
    return driver_code_of_fault(fault.kind);
}

static CUresult run_copy(const struct driver_op *op, uint64_t *duration_ns)
{
    const struct driver_box *box = &op->copy.box;
    for (size_t z = 0; z < box->depth; z++) {
        char *dst = box->dst + z * box->dst_slice;
        const char *src = box->src + z * box->src_slice;
        if (box->height == 1 || (box->dst_pitch == box->width && box->src_pitch == box->width)) {
            memmove(dst, src, box->width * box->height);
            continue;
        }
        for (size_t y = 0; y < box->height; y++)
            memmove(dst + y * box->dst_pitch, src + y * box->src_pitch, box->width);
    }
    driver_log_copy(op);
    double bytes = (double)box->width * (double)box->height * (double)box->depth;
    const struct sim_preset *preset = driver_thread()->running_on->context->device->preset;
    double rate = op->copy.on_device && !op->copy.is_peer ? preset->memory_bytes_per_ns / 2
                                                          : preset->copy_bytes_per_ns;
    *duration_ns = COPY_LATENCY_NS + (uint64_t)(bytes / rate);
    return CUDA_SUCCESS;
}

static void fill_row(char *row, size_t count, uint32_t value, unsigned element_bytes)
{
    if (element_bytes == 1) {
        memset(row, (int)(value & 0xff), count);
        return;
    }
    if (element_bytes == 2) {
        uint16_t small = (uint16_t)value;
        for (size_t i = 0; i < count; i++)
            memcpy(row + 2 * i, &small, 2);
        return;
    }
    for (size_t i = 0; i < count; i++)
        memcpy(row + 4 * i, &value, 4);
}

static CUresult run_fill(const struct driver_op *op, uint64_t *duration_ns)
{
    for (size_t y = 0; y < op->fill.height; y++)
        fill_row(op->fill.dst + y * op->fill.pitch, op->fill.width, op->fill.value,
                 op->fill.element_bytes);
    driver_log_fill(op);
    double bytes =
        (double)op->fill.width * (double)op->fill.height * (double)op->fill.element_bytes;
    *duration_ns =
        FILL_LATENCY_NS +
        (uint64_t)(bytes /
                   driver_thread()->running_on->context->device->preset->memory_bytes_per_ns);
    return CUDA_SUCCESS;
}

static CUresult run_write_value(const struct driver_op *op)
{
    if (op->value.is_64)
        __atomic_store_n((uint64_t *)(uintptr_t)op->value.address, op->value.value,
                         __ATOMIC_SEQ_CST);
    else
        __atomic_store_n((uint32_t *)(uintptr_t)op->value.address, (uint32_t)op->value.value,
                         __ATOMIC_SEQ_CST);
    driver_log_fill(op);
    return CUDA_SUCCESS;
}

static bool value_reached(const struct driver_op *op)
{
    uint64_t wanted = op->value.value, found;
    int64_t ahead;
    if (op->value.is_64) {
        found = __atomic_load_n((uint64_t *)(uintptr_t)op->value.address, __ATOMIC_SEQ_CST);
        ahead = (int64_t)(found - wanted);
    } else {
        found = __atomic_load_n((uint32_t *)(uintptr_t)op->value.address, __ATOMIC_SEQ_CST);
        ahead = (int32_t)((uint32_t)found - (uint32_t)wanted);
    }
    switch (op->value.flags & 3) {
    case CU_STREAM_WAIT_VALUE_GEQ: return ahead >= 0;
    case CU_STREAM_WAIT_VALUE_EQ: return ahead == 0;
    case CU_STREAM_WAIT_VALUE_AND: return (found & wanted) != 0;
    default: return ~(found | wanted) != 0;
    }
}

static void run_wait_value(const struct driver_op *op)
{
    while (!value_reached(op) && !driver.error && !driver.finished)
        sched_yield();
}

// A thread of the driver calls the program. The called function may not use the API, as CUDA
// documents.
static void call_host(const struct driver_op *op, CUresult status)
{
    driver_flush_output();
    struct driver_thread *thread = driver_thread();
    bool before = thread->in_callback;
    thread->in_callback = true;
    if (op->kind == DRIVER_OP_HOST)
        op->host.function(op->host.user);
    else
        op->callback.function(op->callback.stream, status, op->callback.user);
    thread->in_callback = before;
}

static CUresult run_alloc(const struct driver_op *op)
{
    struct base_error error = {0};
    struct sim_device *machine = driver_pool_device(op->memory.pool)->machine;
    enum base_code code = sim_object_add(machine, op->memory.address, op->memory.size_bytes,
                                         GPUSIM_OBJECT_POOL, "cudaMallocAsync", &error);
    if (code == BASE_OK) {
        driver_lock();
        const uint32_t admitted = driver_pool_admitted(op->memory.pool) | op->memory.admitted;
        driver_unlock();
        sim_object_admit(machine, op->memory.address, admitted);
    }
    return code == BASE_OK || code == BASE_CONFLICT ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

// In a graph: waits for the latest record of the event at the time the graph reaches the node.
static void run_event_wait(const struct driver_op *op)
{
    driver_lock();
    if (driver_event_valid(op->mark.event) && op->mark.event->recorded)
        driver_wait(op->mark.event->recorded);
    driver_unlock();
}

static void run_event_record(const struct driver_op *op, uint64_t start_ns)
{
    struct driver_command *command = op->mark.command;
    driver_lock();
    if (!command && driver_event_valid(op->mark.event)) {
        command = calloc(1, sizeof *command);
        if (command) {
            command->references = 1;
            driver_release(op->mark.event->recorded);
            op->mark.event->recorded = command;
        }
    }
    if (command) {
        command->end_ns = start_ns;
        command->done = true;
        pthread_cond_broadcast(&driver.completed);
    }
    driver_unlock();
}

// Returns the body that runs next, or NULL.
static struct driver_exec *body_of(const struct driver_op *op)
{
    const uint32_t value = op->conditional.condition->value;
    uint32_t body = value;
    if (op->conditional.type != CU_GRAPH_COND_TYPE_SWITCH)
        body = value ? 0 : op->conditional.type == CU_GRAPH_COND_TYPE_IF ? 1 : UINT32_MAX;
    return body < op->conditional.count ? op->conditional.bodies[body] : NULL;
}

static CUresult run_conditional(const struct driver_op *op, uint64_t start_ns,
                                uint64_t *duration_ns)
{
    struct driver_exec *body;
    CUresult result = CUDA_SUCCESS;
    bool again = true;
    while (again && result == CUDA_SUCCESS && !driver.finished && (body = body_of(op)) != NULL) {
        uint64_t pass_ns = 0;
        result = driver_exec_run(body, NULL, start_ns + *duration_ns, &pass_ns);
        *duration_ns += pass_ns;
        again = op->conditional.type == CU_GRAPH_COND_TYPE_WHILE;
    }
    return result;
}

CUresult driver_op_run(struct driver_op *op, uint64_t start_ns, uint64_t *duration_ns)
{
    *duration_ns = 0;
    CUresult failed = (CUresult)driver.error;
    // After an error the device executes nothing more. Callbacks still receive the error, memory is
    // still freed, and events still complete, so that no thread waits forever.
    switch (op->kind) {
    case DRIVER_OP_CALLBACK: call_host(op, failed); return CUDA_SUCCESS;
    case DRIVER_OP_FREE:
        sim_object_remove(driver_machine(), op->memory.address);
        return CUDA_SUCCESS;
    case DRIVER_OP_RECORD: run_event_record(op, start_ns); return CUDA_SUCCESS;
    default: break;
    }
    if (failed != CUDA_SUCCESS)
        return failed;

    switch (op->kind) {
    case DRIVER_OP_LAUNCH: return run_launch(op, duration_ns);
    case DRIVER_OP_COPY: return run_copy(op, duration_ns);
    case DRIVER_OP_FILL: return run_fill(op, duration_ns);
    case DRIVER_OP_HOST:
        call_host(op, CUDA_SUCCESS);
        *duration_ns = HOST_FUNCTION_NS;
        return CUDA_SUCCESS;
    case DRIVER_OP_WAIT: run_event_wait(op); return CUDA_SUCCESS;
    case DRIVER_OP_ALLOC: return run_alloc(op);
    case DRIVER_OP_GRAPH:
        if (op->graph.frees_first)
            driver_exec_free_memory(op->graph.exec);
        driver_exec_assign_conditions(op->graph.exec);
        return driver_exec_run(op->graph.exec, op->graph.records, start_ns, duration_ns);
    case DRIVER_OP_CONDITIONAL: return run_conditional(op, start_ns, duration_ns);
    case DRIVER_OP_WRITE_VALUE: return run_write_value(op);
    case DRIVER_OP_WAIT_VALUE: run_wait_value(op); return CUDA_SUCCESS;
    default: return CUDA_SUCCESS;
    }
}
