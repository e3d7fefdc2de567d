// SPDX-License-Identifier: Apache-2.0
// Small programs that have a pattern, or only nearly: fixture CASE runs one, fixture --list prints
// the names of all. fixtures.expected lists the expected findings. fixture_parts.c has the programs
// with pools and graphs.
#include "fixture.h"

// --- Object by object ----------------------------------------------------------------------------

static void clean(void)
{
    CUdeviceptr a = allocate("a", BYTES);
    fill(a);
    copy_out(a, 0, BYTES);
    release(a);
}

// b is allocated before a is used, and could be allocated after a is freed.
static void early(void)
{
    CUdeviceptr a = allocate("a", BYTES), b = allocate("b", BYTES / 2);
    fill(a);
    release(a);
    copy_out(b, 0, BYTES / 2);
    release(b);
}

static void late(void)
{
    CUdeviceptr a = allocate("a", BYTES);
    fill(a);
    CUdeviceptr b = allocate("b", BYTES / 2);
    copy_out(b, 0, BYTES / 2);
    release(b);
    release(a);
}

// A kernel on another stream runs concurrently, so it does not count as a call in between.
static void side_by_side(void)
{
    CUstream one = make_stream(0), two = make_stream(0);
    CUdeviceptr a = allocate("a", BYTES);
    CUdeviceptr b = 0;
    CHECK(cuMemAllocAsync(&b, BYTES / 2, one));
    glint_name((const void *)(uintptr_t)b, "b");
    launch("fill", one, b, 0, 0, ELEMENTS / 2);
    launch("fill", two, a, 0, 0, ELEMENTS);
    CHECK(cuMemFreeAsync(b, one));
    release(a);
}

static void unused(void)
{
    CUdeviceptr a = allocate("a", BYTES);
    fill(a);
    copy_out(a, 0, BYTES);
    release(a);
    CUdeviceptr never = allocate("never", 2 * BYTES);
    release(never);
}

static void leak(void)
{
    CUdeviceptr a = allocate("a", BYTES);
    fill(a);
}

static void heap_leak(void)
{
    CUdeviceptr a = allocate("a", 8);
    launch("keep", NULL, a, 0, 0, 1);
    release(a);
}

static void heap_freed(void)
{
    CUdeviceptr a = allocate("a", 8);
    launch("keep", NULL, a, 0, 0, 1);
    launch("release", NULL, a, 0, 0, 1);
    release(a);
}

// b, of this many bytes, is first used when a is no longer used.
static void one_after_another(size_t bytes)
{
    CUdeviceptr a = allocate("a", BYTES);
    fill(a);
    copy_out(a, 0, BYTES);
    CUdeviceptr b = allocate("b", bytes);
    set(b, 0, BYTES);
    copy_out(b, 0, BYTES);
    release(b);
    release(a);
}

static void redundant(void)
{
    one_after_another(BYTES + BYTES / 10);
}

static void not_of_a_size(void)
{
    one_after_another(BYTES + BYTES / 8);
}

static void two_streams(int ordered)
{
    CUstream one = make_stream(CU_STREAM_NON_BLOCKING), two = make_stream(CU_STREAM_NON_BLOCKING);
    CUdeviceptr a, b;
    CHECK(cuMemAllocAsync(&a, BYTES, one));
    glint_name((const void *)(uintptr_t)a, "a");
    launch("fill", one, a, 0, 0, ELEMENTS);
    if (ordered) {
        CUevent event;
        CHECK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
        CHECK(cuEventRecord(event, one));
        CHECK(cuStreamWaitEvent(two, event, 0));
    }
    CHECK(cuMemAllocAsync(&b, BYTES, two));
    glint_name((const void *)(uintptr_t)b, "b");
    launch("fill", two, b, 0, 0, ELEMENTS);
    CHECK(cuMemFreeAsync(a, one));
    CHECK(cuMemFreeAsync(b, two));
    CHECK(cuCtxSynchronize());
}

static void redundant_by_event(void)
{
    two_streams(1);
}

static void streams_without_order(void)
{
    two_streams(0);
}

static void idle(void)
{
    CUdeviceptr a = allocate("a", BYTES);
    fill(a);
    CUdeviceptr b = allocate("b", BYTES / 2);
    copy_out(b, 0, BYTES / 2);
    release(b);
    copy_out(a, 0, BYTES);
    release(a);
}

static void idle_for_one_api(void)
{
    CUdeviceptr a = allocate("a", BYTES);
    fill(a);
    CUdeviceptr b = allocate("b", BYTES / 2);
    launch("copy", NULL, a, b, 0, ELEMENTS / 2);
    release(b);
    copy_out(a, 0, BYTES);
    release(a);
}

static void idle_and_overwritten(void)
{
    CUdeviceptr a = allocate("a", BYTES);
    fill(a);
    CUdeviceptr b = allocate("b", BYTES / 2);
    copy_out(b, 0, BYTES / 2);
    release(b);
    copy_in(a, 0, BYTES);
    copy_out(a, 0, BYTES);
    release(a);
}

// --- Dead writes ---------------------------------------------------------------------------------

static void dead(void)
{
    CUdeviceptr a = allocate("a", BYTES);
    set(a, 0, BYTES);
    copy_in(a, 0, BYTES);
    launch("copy", NULL, a, a, 0, ELEMENTS);
    release(a);
}

static void dead_in_pieces(void)
{
    CUdeviceptr a = allocate("a", BYTES);
    set(a, 100, 800);
    copy_in(a, 0, 500);
    copy_in(a, 500, BYTES - 500);
    launch("copy", NULL, a, a, 0, ELEMENTS);
    release(a);
}

static void nearly_overwritten(void)
{
    CUdeviceptr a = allocate("a", BYTES);
    set(a, 0, BYTES);
    copy_in(a, 1, BYTES - 1);
    launch("copy", NULL, a, a, 0, ELEMENTS);
    release(a);
}

static void read_by_the_host(void)
{
    CUdeviceptr a = allocate("a", BYTES);
    set(a, 0, BYTES);
    copy_out(a, 8, 1);
    copy_in(a, 0, BYTES);
    launch("copy", NULL, a, a, 0, ELEMENTS);
    release(a);
}

static void read_by_a_kernel(void)
{
    CUdeviceptr a = allocate("a", BYTES);
    set(a, 0, BYTES);
    launch("copy", NULL, a, a, 0, 1);
    copy_in(a, 0, BYTES);
    launch("copy", NULL, a, a, 0, ELEMENTS);
    release(a);
}

// --- Elements ------------------------------------------------------------------------------------

static void fill_some(unsigned count, unsigned step)
{
    CUdeviceptr a = allocate("a", BYTES);
    launch_step("fill", NULL, a, 0, 0, count, step);
    release(a);
}

static void over(void)
{
    fill_some(ELEMENTS / 4, 1);
}

static void nearly_all_touched(void)
{
    fill_some(ELEMENTS * 8 / 10, 1);
}

static void scattered(void)
{
    fill_some(ELEMENTS / 2, 2);
}

// So few that another layout would save much.
static void scattered_few(void)
{
    fill_some(ELEMENTS / 20, 20);
}

// Kernels touch a quarter, and a copy reads all of it.
static void over_but_read(void)
{
    CUdeviceptr a = allocate("a", BYTES);
    set(a, 0, BYTES);
    launch_step("fill", NULL, a, 0, 0, ELEMENTS / 4, 1);
    copy_out(a, 0, BYTES);
    release(a);
}

// Kernels touch the first quarter, and a copy reads the third.
static void over_and_read_in_part(void)
{
    CUdeviceptr a = allocate("a", BYTES);
    set(a, 0, BYTES);
    launch_step("fill", NULL, a, 0, 0, ELEMENTS / 4, 1);
    copy_out(a, BYTES / 2, BYTES / 4);
    release(a);
}

static void pool_slack(void)
{
    CUdeviceptr pool = allocate("pool", 4 * BYTES);
    glint_suballoc((const void *)(uintptr_t)pool, BYTES);
    glint_name((const void *)(uintptr_t)pool, "part");
    fill(pool);
    glint_subfree((const void *)(uintptr_t)pool);
    release(pool);
}

static void uneven(void)
{
    CUdeviceptr a = allocate("a", BYTES);
    set(a, 0, BYTES);
    CUdeviceptr b = allocate("b", BYTES / 2);
    launch("uneven", NULL, a, b, 0, ELEMENTS / 2);
    launch("uneven", NULL, a, b, 0, ELEMENTS / 2);
    launch("fill", NULL, a, b, 0, ELEMENTS);
    release(b);
    release(a);
}

static void slices(void)
{
    CUdeviceptr a = allocate("a", BYTES);
    for (unsigned i = 0; i < 10; i++)
        launch("fill", NULL, a, 0, i * 100, 100);
    release(a);
}

static void slices_that_overlap(void)
{
    CUdeviceptr a = allocate("a", BYTES);
    for (unsigned i = 0; i < 9; i++)
        launch("fill", NULL, a, 0, i * 100, 101);
    launch("fill", NULL, a, 0, 900, 100);
    release(a);
}

// --- Graphs --------------------------------------------------------------------------------------

static void graph(void)
{
    CUstream stream = make_stream(CU_STREAM_NON_BLOCKING);
    CUgraph made;
    CUgraphExec ready;
    CUdeviceptr a = allocate("a", BYTES), never = allocate("never", BYTES);
    CHECK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    launch("fill", stream, a, 0, 0, ELEMENTS);
    CHECK(cuStreamEndCapture(stream, &made));
    CHECK(cuGraphInstantiateWithFlags(&ready, made, 0));
    CHECK(cuGraphLaunch(ready, stream));
    CHECK(cuStreamSynchronize(stream));
    release(a);
    release(never);
}

// --- Loops ---------------------------------------------------------------------------------------

enum { ROUNDS = 4 };

static void use_one_by_one(const char *const names[ROUNDS])
{
    CUdeviceptr made[ROUNDS];
    for (int i = 0; i < ROUNDS; i++)
        made[i] = allocate(names[i], BYTES);
    for (int i = 0; i < ROUNDS; i++) {
        fill(made[i]);
        release(made[i]);
    }
}

// All are allocated before the first is used: one finding, whose fix leaves one at the peak.
static void loop(void)
{
    static const char *const names[ROUNDS] = {"a", "a", "a", "a"};
    use_one_by_one(names);
}

// The same call sites, but different names: each name is a separate finding.
static void loop_of_two_names(void)
{
    static const char *const names[ROUNDS] = {"a", "b", "a", "b"};
    use_one_by_one(names);
}

static const struct fixture cases[] = {
    {"clean", clean},
    {"early", early},
    {"late", late},
    {"side_by_side", side_by_side},
    {"unused", unused},
    {"leak", leak},
    {"heap_leak", heap_leak},
    {"heap_freed", heap_freed},
    {"redundant", redundant},
    {"not_of_a_size", not_of_a_size},
    {"redundant_by_event", redundant_by_event},
    {"streams_without_order", streams_without_order},
    {"idle", idle},
    {"idle_for_one_api", idle_for_one_api},
    {"idle_and_overwritten", idle_and_overwritten},
    {"dead", dead},
    {"dead_in_pieces", dead_in_pieces},
    {"nearly_overwritten", nearly_overwritten},
    {"read_by_the_host", read_by_the_host},
    {"read_by_a_kernel", read_by_a_kernel},
    {"over", over},
    {"nearly_all_touched", nearly_all_touched},
    {"scattered", scattered},
    {"scattered_few", scattered_few},
    {"over_but_read", over_but_read},
    {"over_and_read_in_part", over_and_read_in_part},
    {"pool_slack", pool_slack},
    {"uneven", uneven},
    {"slices", slices},
    {"slices_that_overlap", slices_that_overlap},
    {"graph", graph},
    {"loop", loop},
    {"loop_of_two_names", loop_of_two_names},
};

int main(int argc, char **argv)
{
    return fixture_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
