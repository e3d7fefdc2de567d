// SPDX-License-Identifier: Apache-2.0
// Small programs that have a pattern, or only nearly, in graphs or in their own pools, whose parts
// they announce. fixtures_parts.expected lists the expected findings.
#include "fixture.h"

static CUdeviceptr take(const char *name, CUdeviceptr at, size_t bytes)
{
    if (glint_suballoc((const void *)(uintptr_t)at, bytes) == 0)
        glint_name((const void *)(uintptr_t)at, name);
    return at;
}

static void give(CUdeviceptr part)
{
    glint_subfree((const void *)(uintptr_t)part);
}

// --- Lives of parts ------------------------------------------------------------------------------

// Every part is used as soon as it is taken, and returned right after.
static void clean_parts(void)
{
    CUdeviceptr pool = allocate("pool", BYTES);
    for (unsigned i = 0; i < 2; i++) {
        CUdeviceptr a = take(i ? "second" : "first", pool, BYTES);
        fill(a);
        copy_out(a, 0, BYTES);
        give(a);
    }
    release(pool);
}

// b is taken before it is needed: together with a, it makes the pool 1.5 times as large.
static void early_part(void)
{
    CUdeviceptr pool = allocate("pool", BYTES + BYTES / 2);
    CUdeviceptr a = take("a", pool, BYTES);
    fill(a);
    CUdeviceptr b = take("b", pool + BYTES, BYTES / 2);
    copy_out(a, 0, BYTES);
    give(a);
    copy_out(b, 0, BYTES / 2);
    give(b);
    release(pool);
}

static void late_part(int with_pool)
{
    CUdeviceptr pool = allocate("pool", BYTES + BYTES / 2);
    CUdeviceptr a = take("a", pool, BYTES);
    fill(a);
    CUdeviceptr b = take("b", pool + BYTES, BYTES / 2);
    copy_out(b, 0, BYTES / 2);
    give(b);
    if (!with_pool)
        give(a);
    release(pool);
}

static void late_part_itself(void)
{
    late_part(0);
}

static void late_part_with_its_pool(void)
{
    late_part(1);
}

static void unused_part(void)
{
    CUdeviceptr pool = allocate("pool", 2 * BYTES);
    CUdeviceptr a = take("a", pool, BYTES), never = take("never", pool + BYTES, BYTES);
    fill(a);
    give(never);
    give(a);
    release(pool);
}

static void leaked_part(void)
{
    CUdeviceptr pool = allocate("pool", BYTES);
    fill(take("a", pool, BYTES));
}

static void part_gone_with_its_pool(void)
{
    CUdeviceptr pool = allocate("pool", BYTES);
    fill(take("a", pool, BYTES));
    release(pool);
}

static void redundant_part(void)
{
    CUdeviceptr pool = allocate("pool", 2 * BYTES);
    CUdeviceptr a = take("a", pool, BYTES);
    fill(a);
    CUdeviceptr b = take("b", pool + BYTES, BYTES);
    fill(b);
    give(a);
    give(b);
    release(pool);
}

static void idle_part(void)
{
    CUdeviceptr pool = allocate("pool", BYTES + BYTES / 2);
    CUdeviceptr a = take("a", pool, BYTES);
    fill(a);
    CUdeviceptr b = take("b", pool + BYTES, BYTES / 2);
    copy_out(b, 0, BYTES / 2);
    give(b);
    copy_out(a, 0, BYTES);
    give(a);
    release(pool);
}

static void dead_write_to_a_part(void)
{
    CUdeviceptr pool = allocate("pool", BYTES);
    CUdeviceptr a = take("a", pool, BYTES);
    set(a, 0, BYTES);
    copy_in(a, 0, BYTES);
    copy_out(a, 0, BYTES);
    give(a);
    release(pool);
}

static void over_part(void)
{
    CUdeviceptr pool = allocate("pool", BYTES);
    CUdeviceptr a = take("a", pool, BYTES);
    launch("fill", NULL, a, 0, 0, ELEMENTS / 4);
    give(a);
    release(pool);
}

// --- Pools ---------------------------------------------------------------------------------------

// The parts are spread over the whole pool, but no two exist at the same time.
static void slack_in_time(void)
{
    CUdeviceptr pool = allocate("pool", 3 * BYTES);
    for (unsigned i = 0; i < 3; i++) {
        CUdeviceptr a = take("a", pool + i * (CUdeviceptr)BYTES, BYTES);
        fill(a);
        give(a);
    }
    release(pool);
}

static void hardly_any_slack(void)
{
    CUdeviceptr pool = allocate("pool", BYTES + BYTES / 4);
    CUdeviceptr a = take("a", pool, BYTES);
    fill(a);
    give(a);
    release(pool);
}

// A kernel accesses memory of the pool that belongs to no part.
static void used_beside_its_parts(void)
{
    CUdeviceptr pool = allocate("pool", 3 * BYTES);
    CUdeviceptr a = take("a", pool, BYTES);
    fill(a);
    fill(pool + 2 * (CUdeviceptr)BYTES);
    give(a);
    release(pool);
}

static void copied_over_the_borders(void)
{
    CUdeviceptr pool = allocate("pool", 2 * BYTES);
    CUdeviceptr a = take("a", pool, BYTES), b = take("b", pool + BYTES, BYTES);
    copy_in(a, 0, 2 * BYTES);
    copy_out(a, 0, 2 * BYTES);
    fill(b);
    give(a);
    give(b);
    release(pool);
}

static void parts_of_host_memory(void)
{
    void *pinned;
    CHECK(cuMemAllocHost_v2(&pinned, 4 * BYTES));
    CUdeviceptr at = (CUdeviceptr)(uintptr_t)pinned;
    CUdeviceptr a = take("a", at, BYTES), b = take("b", at + BYTES, BYTES);
    fill(a);
    fill(b);
    give(a);
    CHECK(cuMemFreeHost(pinned));
}

// --- Graphs --------------------------------------------------------------------------------------

// Captures two launches of fill, one after the other or in parallel.
static CUgraphExec capture_two(CUstream stream, CUdeviceptr a, CUdeviceptr b, int in_a_row)
{
    CUstream other = make_stream(CU_STREAM_NON_BLOCKING);
    CUgraph made;
    CUgraphExec ready;
    CUevent fork, join;
    CHECK(cuEventCreate(&fork, CU_EVENT_DISABLE_TIMING));
    CHECK(cuEventCreate(&join, CU_EVENT_DISABLE_TIMING));
    CHECK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    CHECK(cuEventRecord(fork, stream));
    CHECK(cuStreamWaitEvent(other, fork, 0));
    launch("fill", stream, a, 0, 0, ELEMENTS);
    launch("fill", in_a_row ? stream : other, b, 0, 0, ELEMENTS);
    CHECK(cuEventRecord(join, other));
    CHECK(cuStreamWaitEvent(stream, join, 0));
    CHECK(cuStreamEndCapture(stream, &made));
    CHECK(cuGraphInstantiateWithFlags(&ready, made, 0));
    return ready;
}

static void launch_graph(CUgraphExec ready, CUstream stream)
{
    CHECK(cuGraphLaunch(ready, stream));
}

// a is idle while the graph runs: for two APIs, or for one.
static void idle_beside_a_graph(int in_a_row)
{
    CUstream stream = make_stream(CU_STREAM_NON_BLOCKING);
    CUdeviceptr b = allocate("b", BYTES), c = allocate("c", BYTES), a = allocate("a", BYTES / 2);
    CUgraphExec ready = capture_two(stream, b, c, in_a_row);
    launch("fill", stream, a, 0, 0, ELEMENTS / 2);
    launch_graph(ready, stream);
    launch("fill", stream, a, 0, 0, ELEMENTS / 2);
    CHECK(cuStreamSynchronize(stream));
    release(a);
    release(b);
    release(c);
}

static void idle_for_a_chain(void)
{
    idle_beside_a_graph(1);
}

static void not_for_nodes_side_by_side(void)
{
    idle_beside_a_graph(0);
}

static void pair_in_a_graph(int in_a_row)
{
    CUstream stream = make_stream(CU_STREAM_NON_BLOCKING);
    CUdeviceptr a = allocate("a", BYTES), b = allocate("b", BYTES);
    launch_graph(capture_two(stream, a, b, in_a_row), stream);
    CHECK(cuStreamSynchronize(stream));
    release(a);
    release(b);
}

static void redundant_in_a_chain(void)
{
    pair_in_a_graph(1);
}

static void not_redundant_side_by_side(void)
{
    pair_in_a_graph(0);
}

static const struct fixture cases[] = {
    {"clean_parts", clean_parts},
    {"early_part", early_part},
    {"late_part_itself", late_part_itself},
    {"late_part_with_its_pool", late_part_with_its_pool},
    {"unused_part", unused_part},
    {"leaked_part", leaked_part},
    {"part_gone_with_its_pool", part_gone_with_its_pool},
    {"redundant_part", redundant_part},
    {"idle_part", idle_part},
    {"dead_write_to_a_part", dead_write_to_a_part},
    {"over_part", over_part},
    {"slack_in_time", slack_in_time},
    {"hardly_any_slack", hardly_any_slack},
    {"used_beside_its_parts", used_beside_its_parts},
    {"copied_over_the_borders", copied_over_the_borders},
    {"parts_of_host_memory", parts_of_host_memory},
    {"idle_for_a_chain", idle_for_a_chain},
    {"not_for_nodes_side_by_side", not_for_nodes_side_by_side},
    {"redundant_in_a_chain", redundant_in_a_chain},
    {"not_redundant_side_by_side", not_redundant_side_by_side},
};

int main(int argc, char **argv)
{
    return fixture_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
