// SPDX-License-Identifier: Apache-2.0
// Streams. All work on a piece of memory is on one stream, or ordered: by an event, by waiting, or
// by the legacy stream, which orders with all other streams except non-blocking ones.
#include "random.h"

#include <sched.h>

enum { LEGACY = 0, APART = STREAM_COUNT - 1 };

void open_streams(struct world *world)
{
    for (unsigned i = 1; i < STREAM_COUNT; i++)
        CHECK(cuStreamCreate(&world->streams[i].handle,
                             i == APART ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT));
}

void close_streams(struct world *world)
{
    for (unsigned i = 1; i < STREAM_COUNT; i++)
        CHECK(cuStreamDestroy_v2(world->streams[i].handle));
}

CUstream handle_of(const struct world *world, unsigned stream)
{
    return world->streams[stream].handle;
}

bool is_pending(const struct world *world, const struct work *work)
{
    return work->number > world->streams[work->stream].done;
}

void issued(struct world *world, struct work *work, unsigned stream)
{
    *work = (struct work){stream, ++world->streams[stream].issued};
}

// Records an event after all work issued on the stream.
static CUevent mark(struct world *world, unsigned stream)
{
    CUevent event;
    CHECK(cuEventCreate(&event, below(world, 2) ? CU_EVENT_DISABLE_TIMING : CU_EVENT_DEFAULT));
    CHECK(cuEventRecord(event, handle_of(world, stream)));
    return event;
}

void order_after(struct world *world, const struct work *work, unsigned stream)
{
    if (!is_pending(world, work) || work->stream == stream)
        return;
    bool legacy =
        (work->stream == LEGACY && stream != APART) || (stream == LEGACY && work->stream != APART);
    if (legacy && below(world, 2))
        return;
    if (below(world, 3) == 0) {
        wait_for(world, work);
        return;
    }
    CUevent event = mark(world, work->stream);
    CHECK(cuStreamWaitEvent(handle_of(world, stream), event, 0));
    CHECK(cuEventDestroy_v2(event));
}

static void all_done(struct stream *stream)
{
    stream->done = stream->issued;
}

void wait_for_all(struct world *world)
{
    CHECK(cuCtxSynchronize());
    for (unsigned i = 0; i < STREAM_COUNT; i++)
        all_done(&world->streams[i]);
}

static void poll(struct world *world, CUevent event, CUstream stream)
{
    CUresult result;
    while ((result = event ? cuEventQuery(event) : cuStreamQuery(stream)) == CUDA_ERROR_NOT_READY)
        sched_yield();
    if (result != CUDA_SUCCESS)
        wrong(world, "a query failed");
}

void wait_for(struct world *world, const struct work *work)
{
    if (!is_pending(world, work))
        return;
    struct stream *stream = &world->streams[work->stream];
    CUevent event;
    switch (below(world, 8)) {
    case 0: wait_for_all(world); return;
    case 1:
        event = mark(world, work->stream);
        CHECK(cuEventSynchronize(event));
        CHECK(cuEventDestroy_v2(event));
        break;
    case 2:
        event = mark(world, work->stream);
        poll(world, event, NULL);
        CHECK(cuEventDestroy_v2(event));
        break;
    case 3: poll(world, NULL, stream->handle); break;
    default: CHECK(cuStreamSynchronize(stream->handle));
    }
    all_done(stream);
}
