// SPDX-License-Identifier: Apache-2.0
// Two streams write an object, in each part another one: without an order, in an order that events,
// waits of the host or graphs make, and in ways that only look ordered. The n-th part's object has
// n pages. tests/record/values/streams has the answers.
#include <cstdio>
#include <cstdlib>

#include <cuda.h>
#include <cuda_runtime.h>

#include "check.h"

enum { PAGE = 4096 };

static cudaStream_t first, second, third;

__global__ void put(int *out, int count, int value)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        out[i] = i % 4 ? value : i;
}

static int part; // number of this one, and size of its object in pages
static int *object;
static cudaEvent_t event;

static int count()
{
    return part * PAGE / (int)sizeof(int);
}

static void set(cudaStream_t stream)
{
    CHECK(cudaMemsetAsync(object, 3, part * PAGE, stream));
}

static void launch(cudaStream_t stream)
{
    put<<<(count() + 127) / 128, 128, 0, stream>>>(object, count(), part);
    CHECK(cudaGetLastError());
}

static cudaStream_t make_stream()
{
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    return stream;
}

static cudaEvent_t make_event()
{
    cudaEvent_t made;
    CHECK(cudaEventCreateWithFlags(&made, cudaEventDisableTiming));
    return made;
}

static cudaGraphExec_t make_graph()
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaStream_t stream = make_stream();
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    launch(stream);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaStreamDestroy(stream));
    return exec;
}

// --- Parts ---------------------------------------------------------------------------------------

static void without_order()
{
    set(first);
    launch(second);
}

static void wait_for_event()
{
    set(first);
    CHECK(cudaEventRecord(event, first));
    CHECK(cudaStreamWaitEvent(second, event, 0));
    launch(second);
}

static void event_before_the_write()
{
    CHECK(cudaEventRecord(event, first));
    set(first);
    CHECK(cudaStreamWaitEvent(second, event, 0));
    launch(second);
}

static void event_recorded_again()
{
    set(first);
    CHECK(cudaEventRecord(event, first));
    CHECK(cudaEventRecord(event, third));
    CHECK(cudaStreamWaitEvent(second, event, 0));
    launch(second);
}

static void event_not_recorded()
{
    set(first);
    CHECK(cudaStreamWaitEvent(second, event, 0));
    launch(second);
}

static void another_stream_waits()
{
    set(first);
    CHECK(cudaEventRecord(event, first));
    CHECK(cudaStreamWaitEvent(third, event, 0));
    launch(second);
}

static void through_a_third_stream()
{
    cudaEvent_t next = make_event();
    set(first);
    CHECK(cudaEventRecord(event, first));
    CHECK(cudaStreamWaitEvent(third, event, 0));
    CHECK(cudaEventRecord(next, third));
    CHECK(cudaStreamWaitEvent(second, next, 0));
    launch(second);
    CHECK(cudaEventDestroy(next));
}

static void wait_before_the_record()
{
    set(first);
    CHECK(cudaStreamWaitEvent(second, event, 0));
    CHECK(cudaEventRecord(event, first));
    launch(second);
}

static void another_event()
{
    set(first);
    CHECK(cudaEventRecord(event, first));
    CHECK(cudaEventDestroy(event));
    event = make_event(); // probably with the same handle
    CHECK(cudaStreamWaitEvent(second, event, 0));
    launch(second);
}

static void host_waits_for_event()
{
    set(first);
    CHECK(cudaEventRecord(event, first));
    CHECK(cudaEventSynchronize(event));
    launch(second);
}

static void host_waits_for_an_earlier_event()
{
    CHECK(cudaEventRecord(event, first));
    set(first);
    CHECK(cudaEventSynchronize(event));
    launch(second);
}

static void host_waits_for_stream()
{
    set(first);
    CHECK(cudaStreamSynchronize(first));
    launch(second);
}

static void destroyed_stream()
{
    cudaStream_t stream = make_stream();
    set(stream);
    CHECK(cudaStreamDestroy(stream));
    launch(second);
}

static void destroyed_stream_and_wait()
{
    cudaStream_t stream = make_stream();
    set(stream);
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaDeviceSynchronize());
    launch(second);
}

// The second stream is ordered with the third, but not with the first.
static void one_of_two_writers()
{
    set(first);
    set(third);
    CHECK(cudaEventRecord(event, third));
    CHECK(cudaStreamWaitEvent(second, event, 0));
    launch(second);
}

static void two_graphs(bool ordered)
{
    cudaGraphExec_t one = make_graph(), other = make_graph();
    CHECK(cudaGraphLaunch(one, first));
    if (ordered) {
        CHECK(cudaEventRecord(event, first));
        CHECK(cudaStreamWaitEvent(second, event, 0));
    }
    CHECK(cudaGraphLaunch(other, second));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaGraphExecDestroy(one));
    CHECK(cudaGraphExecDestroy(other));
}

static void graphs_without_order()
{
    two_graphs(false);
}

static void graphs_in_order()
{
    two_graphs(true);
}

// Work that the recorder does not see may write any object.
static void unseen_work(bool ordered)
{
    set(second);
    if (cuStreamWriteValue32(first, (CUdeviceptr)(object + 3), 12, 0) != CUDA_SUCCESS)
        exit(1);
    if (ordered) {
        CHECK(cudaEventRecord(event, first));
        CHECK(cudaStreamWaitEvent(second, event, 0));
    }
    launch(second);
    launch(second);
    CHECK(cudaDeviceSynchronize());
    launch(second);
    launch(second);
}

static void unseen_without_order()
{
    unseen_work(false);
}

static void unseen_in_order()
{
    unseen_work(true);
}

static void event_by_graph()
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaGraphNode_t node;
    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(cudaGraphAddEventRecordNode(&node, graph, NULL, 0, event));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    set(first);
    CHECK(cudaEventRecord(event, first));
    CHECK(cudaGraphLaunch(exec, third));
    CHECK(cudaStreamWaitEvent(second, event, 0));
    launch(second);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
}

int main()
{
    void (*const parts[])() = {
        without_order,
        wait_for_event,
        event_before_the_write,
        event_recorded_again,
        event_not_recorded,
        another_stream_waits,
        through_a_third_stream,
        wait_before_the_record,
        another_event,
        host_waits_for_event,
        host_waits_for_an_earlier_event,
        host_waits_for_stream,
        destroyed_stream,
        destroyed_stream_and_wait,
        one_of_two_writers,
        graphs_without_order,
        graphs_in_order,
        unseen_without_order,
        unseen_in_order,
        event_by_graph, // the last: nothing is known about events from then on
    };
    for (auto run : parts) {
        part++;
        first = make_stream();
        second = make_stream();
        third = make_stream();
        event = make_event();
        CHECK(cudaMalloc(&object, part * PAGE));
        run();
        CHECK(cudaDeviceSynchronize());
        CHECK(cudaFree(object));
        CHECK(cudaEventDestroy(event));
        CHECK(cudaStreamDestroy(first));
        CHECK(cudaStreamDestroy(second));
        CHECK(cudaStreamDestroy(third));
    }
    printf("%d parts\n", part);
    return 0;
}
