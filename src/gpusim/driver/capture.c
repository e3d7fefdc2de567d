// SPDX-License-Identifier: Apache-2.0
// Stream capture: operations become nodes of a graph instead of commands. Each capturing stream has
// the nodes that its next node depends on. An event recorded in a capture carries them to streams
// that wait for it and thereby join the capture.
#include <stdlib.h>
#include <string.h>

#include "context.h"
#include "event.h"
#include "graph.h"
#include "graph_memory.h"
#include "memory.h"

struct driver_capture {
    struct driver_capture *next;
    uint64_t id;
    struct driver_graph *graph;
    bool own_graph; // false: the program passed it
    struct driver_stream *origin;
    CUstreamCaptureMode mode;
    uint64_t thread; // the thread that began it
    bool spoiled;
    // The last nodes of destroyed streams, which must be joined like those of other streams.
    BASE_ARRAY(struct driver_node *) loose;
};

static struct driver_capture *capture_by_id(uint64_t id)
{
    for (struct driver_capture *capture = driver.first_capture; capture; capture = capture->next)
        if (capture->id == id)
            return capture;
    return NULL;
}

static bool set_latest(struct driver_stream *stream, struct driver_node *const *nodes, size_t count)
{
    struct driver_node **copy = malloc((count + 1) * sizeof(struct driver_node *));
    if (!copy)
        return false;
    if (count)
        memcpy(copy, nodes, count * sizeof(struct driver_node *));
    free(stream->latest);
    stream->latest = copy;
    stream->latest_count = count;
    return true;
}

static bool add_latest(struct driver_stream *stream, struct driver_node *const *nodes, size_t count)
{
    size_t total = stream->latest_count + count;
    struct driver_node **grown =
        realloc(stream->latest, (total + 1) * sizeof(struct driver_node *));
    if (!grown)
        return false;
    stream->latest = grown;
    for (size_t i = 0; i < count; i++) {
        bool known = false;
        for (size_t k = 0; k < stream->latest_count; k++)
            known |= grown[k] == nodes[i];
        if (!known)
            grown[stream->latest_count++] = nodes[i];
    }
    return true;
}

static void leave(struct driver_stream *stream)
{
    free(stream->latest);
    stream->latest = NULL;
    stream->latest_count = 0;
    stream->capture = NULL;
}

void driver_capture_spoil(struct driver_stream *stream)
{
    if (stream->capture)
        stream->capture->spoiled = true;
}

CUresult driver_unsafe_in_capture(void)
{
    const struct driver_thread *thread = driver_thread();
    if (!driver.captures || thread->capture_mode == CU_STREAM_CAPTURE_MODE_RELAXED)
        return CUDA_SUCCESS;
    bool forbidden = false;
    driver_lock();
    for (struct driver_capture *capture = driver.first_capture; capture; capture = capture->next) {
        bool own = capture->thread == thread->id && capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED;
        bool global = capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
                      thread->capture_mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
        if (own || global) {
            capture->spoiled = true;
            forbidden = true;
        }
    }
    driver_unlock();
    return forbidden ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
}

// --- Capturing operations ------------------------------------------------------------------------

static CUgraphNodeType type_of(enum driver_op_kind kind)
{
    switch (kind) {
    case DRIVER_OP_LAUNCH: return CU_GRAPH_NODE_TYPE_KERNEL;
    case DRIVER_OP_COPY: return CU_GRAPH_NODE_TYPE_MEMCPY;
    case DRIVER_OP_FILL: return CU_GRAPH_NODE_TYPE_MEMSET;
    case DRIVER_OP_HOST: return CU_GRAPH_NODE_TYPE_HOST;
    case DRIVER_OP_RECORD: return CU_GRAPH_NODE_TYPE_EVENT_RECORD;
    case DRIVER_OP_WAIT: return CU_GRAPH_NODE_TYPE_WAIT_EVENT;
    case DRIVER_OP_ALLOC: return CU_GRAPH_NODE_TYPE_MEM_ALLOC;
    case DRIVER_OP_FREE: return CU_GRAPH_NODE_TYPE_MEM_FREE;
    case DRIVER_OP_GRAPH: return CU_GRAPH_NODE_TYPE_GRAPH;
    case DRIVER_OP_WRITE_VALUE:
    case DRIVER_OP_WAIT_VALUE: return CU_GRAPH_NODE_TYPE_BATCH_MEM_OP;
    default: return CU_GRAPH_NODE_TYPE_EMPTY;
    }
}

CUresult driver_capture_op(struct driver_stream *stream, struct driver_op *op)
{
    struct driver_capture *capture = stream->capture;
    if (capture->spoiled) {
        driver_op_fini(op);
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    }
    struct driver_node *node;
    CUresult result = CUDA_SUCCESS;
    if (op->kind == DRIVER_OP_ALLOC)
        result = driver_graph_memory_make(driver_memory_find(op->memory.address), op);
    if (result == CUDA_SUCCESS)
        result = driver_graph_add(capture->graph, type_of(op->kind), op, stream->latest,
                                  stream->latest_count, &node);
    if (result == CUDA_SUCCESS && !set_latest(stream, &node, 1))
        result = CUDA_ERROR_OUT_OF_MEMORY;
    if (result != CUDA_SUCCESS)
        capture->spoiled = true;
    else if (node->type == CU_GRAPH_NODE_TYPE_MEMCPY)
        driver_node_describe_copy(node);
    return result;
}

CUresult driver_capture_record(struct driver_stream *stream, struct driver_event *event)
{
    DRIVER_REJECT(stream->capture->spoiled, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    struct driver_node **copy = malloc((stream->latest_count + 1) * sizeof(struct driver_node *));
    DRIVER_REJECT(!copy, CUDA_ERROR_OUT_OF_MEMORY);
    if (stream->latest_count)
        memcpy(copy, stream->latest, stream->latest_count * sizeof(struct driver_node *));
    free(event->nodes);
    event->nodes = copy;
    event->node_count = stream->latest_count;
    event->capture = stream->capture;
    event->capture_id = stream->capture->id;
    return CUDA_SUCCESS;
}

CUresult driver_capture_wait(struct driver_stream *stream, struct driver_event *event)
{
    struct driver_capture *capture = event->capture ? capture_by_id(event->capture_id) : NULL;
    if (!capture) {
        if (!stream->capture) // the event's capture has ended
            return event->capture ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
        if (!event->recorded)
            return CUDA_SUCCESS;
        stream->capture->spoiled = true;
        return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
    }
    DRIVER_REJECT(capture->spoiled, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    if (stream->capture && stream->capture != capture) {
        stream->capture->spoiled = capture->spoiled = true;
        return CUDA_ERROR_STREAM_CAPTURE_MERGE;
    }
    if (!stream->capture) {
        if (stream == stream->context->legacy) {
            capture->spoiled = true;
            return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
        }
        stream->capture = capture;
    }
    return add_latest(stream, event->nodes, event->node_count) ? CUDA_SUCCESS
                                                               : CUDA_ERROR_OUT_OF_MEMORY;
}

// --- The API -------------------------------------------------------------------------------------

static CUresult begin(CUstream handle, CUstreamCaptureMode mode, struct driver_graph *graph,
                      const CUgraphNode *dependencies, size_t count)
{
    struct driver_context *context;
    struct driver_stream *stream;
    DRIVER_TRY(driver_enter_stream(handle, &context, &stream));
    CUresult result = CUDA_SUCCESS;
    struct driver_capture *capture = NULL;
    if (stream == context->legacy)
        result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    else if (stream->capture)
        result = CUDA_ERROR_ILLEGAL_STATE;
    else if (!(capture = calloc(1, sizeof *capture)))
        result = CUDA_ERROR_OUT_OF_MEMORY;
    if (result == CUDA_SUCCESS) {
        *capture = (struct driver_capture){.id = ++driver.next_id,
                                           .graph = graph ? graph : driver_graph_new(),
                                           .own_graph = !graph,
                                           .origin = stream,
                                           .mode = mode,
                                           .thread = driver_thread()->id,
                                           .next = driver.first_capture};
        if (!capture->graph ||
            !set_latest(stream, (struct driver_node *const *)dependencies, count)) {
            result = CUDA_ERROR_OUT_OF_MEMORY;
            if (capture->graph && !graph)
                driver_graph_free(capture->graph);
            free(capture);
        } else {
            stream->capture = capture;
            driver.first_capture = capture;
            driver.captures++;
        }
    }
    driver_unlock();
    return result;
}

CUresult cuStreamBeginCapture_v2(CUstream hStream, CUstreamCaptureMode mode)
{
    DRIVER_BEGIN();
    DRIVER_REJECT((unsigned)mode > CU_STREAM_CAPTURE_MODE_RELAXED, CUDA_ERROR_INVALID_VALUE);
    return begin(hStream, mode, NULL, NULL, 0);
}

CUresult cuStreamBeginCapture(CUstream hStream)
{
    return cuStreamBeginCapture_v2(hStream, CU_STREAM_CAPTURE_MODE_GLOBAL);
}

CUresult cuStreamBeginCaptureToGraph(CUstream hStream, CUgraph hGraph,
                                     const CUgraphNode *dependencies,
                                     const CUgraphEdgeData *dependencyData, size_t numDependencies,
                                     CUstreamCaptureMode mode)
{
    DRIVER_BEGIN();
    (void)dependencyData;
    struct driver_graph *graph = (struct driver_graph *)hGraph;
    DRIVER_REJECT(!driver_graph_valid(graph) || (numDependencies && !dependencies),
                  CUDA_ERROR_INVALID_VALUE);
    return begin(hStream, mode, graph, dependencies, numDependencies);
}

static bool are_joined(const struct driver_stream *origin, struct driver_node *const *nodes,
                       size_t count)
{
    for (size_t i = 0; i < count; i++) {
        bool joined = false;
        for (size_t k = 0; !joined && k < origin->latest_count; k++)
            joined = driver_node_reaches(origin->latest[k], nodes[i]);
        if (!joined)
            return false;
    }
    return true;
}

// Returns whether the origin's last nodes depend on the last nodes of all streams of the capture.
static bool all_joined(const struct driver_capture *capture)
{
    const struct driver_stream *origin = capture->origin;
    for (struct driver_context *context = driver.contexts; context; context = context->next)
        for (struct driver_stream *at = context->streams; at; at = at->next)
            if (at->capture == capture && at != origin &&
                !are_joined(origin, at->latest, at->latest_count))
                return false;
    return are_joined(origin, capture->loose.items, capture->loose.count);
}

static void end(struct driver_capture *capture)
{
    for (struct driver_context *context = driver.contexts; context; context = context->next)
        for (struct driver_stream *at = context->streams; at; at = at->next)
            if (at->capture == capture)
                leave(at);
    struct driver_capture **at = &driver.first_capture;
    while (*at != capture)
        at = &(*at)->next;
    *at = capture->next;
    driver.captures--;
    base_array_fini(&capture->loose);
    free(capture);
}

struct driver_graph *driver_capture_desert(struct driver_stream *stream)
{
    struct driver_capture *capture = stream->capture;
    struct driver_graph *graph = NULL;
    if (capture && capture->origin != stream) {
        for (size_t i = 0; i < stream->latest_count; i++) {
            struct driver_node **loose = base_array_push(&capture->loose);
            if (loose)
                *loose = stream->latest[i];
            else
                capture->spoiled = true;
        }
        leave(stream);
    } else if (capture) {
        graph = capture->own_graph ? capture->graph : NULL;
        end(capture);
    }
    return graph;
}

void driver_captures_abandon(const struct driver_context *context)
{
    struct driver_capture *capture;
    do {
        driver_lock();
        capture = driver.first_capture;
        while (capture && capture->origin->context != context)
            capture = capture->next;
        struct driver_graph *graph = capture ? driver_capture_desert(capture->origin) : NULL;
        driver_unlock();
        if (graph)
            driver_graph_free(graph);
    } while (capture);
}

CUresult cuStreamEndCapture(CUstream hStream, CUgraph *phGraph)
{
    DRIVER_BEGIN();
    struct driver_context *context;
    struct driver_stream *stream;
    DRIVER_TRY(driver_enter_stream(hStream, &context, &stream));
    struct driver_capture *capture = stream->capture;
    CUresult result = CUDA_SUCCESS;
    if (!capture) {
        driver_unlock();
        return phGraph ? CUDA_ERROR_ILLEGAL_STATE : CUDA_ERROR_INVALID_VALUE;
    }
    // The program has the graph if it began the capture with one.
    if (!phGraph && capture->own_graph)
        result = CUDA_ERROR_INVALID_VALUE;
    else if (capture->origin != stream)
        result = CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
    else if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED &&
             capture->thread != driver_thread()->id)
        result = CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
    if (result != CUDA_SUCCESS) {
        driver_unlock();
        return result;
    }
    if (capture->spoiled)
        result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    else if (!all_joined(capture))
        result = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
    struct driver_graph *graph = capture->graph;
    bool unwanted = result != CUDA_SUCCESS && capture->own_graph;
    end(capture);
    driver_unlock();
    if (unwanted)
        driver_graph_free(graph);
    if (phGraph)
        *phGraph = result == CUDA_SUCCESS ? (CUgraph)graph : NULL;
    return result;
}

static CUstreamCaptureStatus status_of(const struct driver_stream *stream)
{
    return !stream->capture           ? CU_STREAM_CAPTURE_STATUS_NONE
           : stream->capture->spoiled ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                      : CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

CUresult cuStreamIsCapturing(CUstream hStream, CUstreamCaptureStatus *captureStatus)
{
    DRIVER_BEGIN();
    DRIVER_REJECT(!captureStatus, CUDA_ERROR_INVALID_VALUE);
    struct driver_context *context;
    struct driver_stream *stream;
    DRIVER_TRY(driver_enter_stream(hStream, &context, &stream));
    *captureStatus = status_of(stream);
    driver_unlock();
    return CUDA_SUCCESS;
}

CUresult cuStreamGetCaptureInfo_v3(CUstream hStream, CUstreamCaptureStatus *captureStatus_out,
                                   cuuint64_t *id_out, CUgraph *graph_out,
                                   const CUgraphNode **dependencies_out,
                                   const CUgraphEdgeData **edgeData_out,
                                   size_t *numDependencies_out)
{
    DRIVER_BEGIN();
    DRIVER_REJECT(!captureStatus_out, CUDA_ERROR_INVALID_VALUE);
    struct driver_context *context;
    struct driver_stream *stream;
    DRIVER_TRY(driver_enter_stream(hStream, &context, &stream));
    *captureStatus_out = status_of(stream);
    if (*captureStatus_out == CU_STREAM_CAPTURE_STATUS_ACTIVE) {
        if (id_out)
            *id_out = stream->capture->id;
        if (graph_out)
            *graph_out = (CUgraph)stream->capture->graph;
        if (dependencies_out)
            *dependencies_out = (const CUgraphNode *)stream->latest;
        if (edgeData_out)
            *edgeData_out = NULL;
        if (numDependencies_out)
            *numDependencies_out = stream->latest_count;
    }
    driver_unlock();
    return CUDA_SUCCESS;
}

CUresult cuStreamGetCaptureInfo_v2(CUstream hStream, CUstreamCaptureStatus *captureStatus_out,
                                   cuuint64_t *id_out, CUgraph *graph_out,
                                   const CUgraphNode **dependencies_out,
                                   size_t *numDependencies_out)
{
    return cuStreamGetCaptureInfo_v3(hStream, captureStatus_out, id_out, graph_out,
                                     dependencies_out, NULL, numDependencies_out);
}

CUresult cuStreamGetCaptureInfo(CUstream hStream, CUstreamCaptureStatus *captureStatus_out,
                                cuuint64_t *id_out)
{
    return cuStreamGetCaptureInfo_v3(hStream, captureStatus_out, id_out, NULL, NULL, NULL, NULL);
}

CUresult cuStreamUpdateCaptureDependencies_v2(CUstream hStream, CUgraphNode *dependencies,
                                              const CUgraphEdgeData *dependencyData,
                                              size_t numDependencies, unsigned int flags)
{
    DRIVER_BEGIN();
    (void)dependencyData;
    DRIVER_REJECT(numDependencies && !dependencies, CUDA_ERROR_INVALID_VALUE);
    struct driver_context *context;
    struct driver_stream *stream;
    DRIVER_TRY(driver_enter_stream(hStream, &context, &stream));
    struct driver_node *const *nodes = (struct driver_node *const *)dependencies;
    CUresult result = CUDA_SUCCESS;
    if (!stream->capture || stream->capture->spoiled)
        result = CUDA_ERROR_ILLEGAL_STATE;
    else if (flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES)
        result =
            set_latest(stream, nodes, numDependencies) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    else
        result =
            add_latest(stream, nodes, numDependencies) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    driver_unlock();
    return result;
}

CUresult cuStreamUpdateCaptureDependencies(CUstream hStream, CUgraphNode *dependencies,
                                           size_t numDependencies, unsigned int flags)
{
    return cuStreamUpdateCaptureDependencies_v2(hStream, dependencies, NULL, numDependencies,
                                                flags);
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
    DRIVER_BEGIN();
    DRIVER_REJECT(!mode || (unsigned)*mode > CU_STREAM_CAPTURE_MODE_RELAXED,
                  CUDA_ERROR_INVALID_VALUE);
    struct driver_thread *thread = driver_thread();
    CUstreamCaptureMode before = thread->capture_mode;
    thread->capture_mode = *mode;
    *mode = before;
    return CUDA_SUCCESS;
}
