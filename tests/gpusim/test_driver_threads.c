// SPDX-License-Identifier: Apache-2.0
// The simulated GPU's driver used by many threads at once: each has its own streams, memory,
// events, graphs and modules in the one context, and must find its own results. With the thread
// sanitizer this is where races in the driver would be seen.
#include "driver_testing.h"

enum { THREADS = 6, ROUNDS = 12, WORDS = 200 };

static void add_one(void *number)
{
    ++*(int *)number;
}

#define CHECK(call)                                                               \
    do {                                                                          \
        CUresult result = (call);                                                 \
        if (result != CUDA_SUCCESS) {                                             \
            fprintf(stderr, "%s: %d at line %d\n", #call, (int)result, __LINE__); \
            return (void *)1;                                                     \
        }                                                                         \
    } while (0)

static CUresult scale(CUfunction function, CUdeviceptr p, uint32_t factor, uint32_t summand,
                      CUstream stream)
{
    uint32_t count = WORDS;
    void *params[] = {&p, &count, &factor, &summand};
    return cuLaunchKernel(function, 4, 1, 1, 64, 1, 1, 0, stream, params, NULL);
}

// What one thread does: work on two streams ordered by an event, then the same work as a graph,
// with a module of its own. Returns NULL where all went as it must.
static void *work(void *argument)
{
    uint32_t number = (uint32_t)(uintptr_t)argument, found[WORDS];
    CUstream a, b;
    CUevent event;
    CUmodule module;
    CUfunction function;
    CHECK(cuCtxSetCurrent(t.context));
    CHECK(cuModuleLoadData(&module, kernels));
    CHECK(cuModuleGetFunction(&function, module, "scale"));
    CHECK(cuStreamCreateWithPriority(&a, CU_STREAM_NON_BLOCKING, -(int)number));
    CHECK(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
    CHECK(cuEventCreate(&event, 0));
    for (uint32_t round = 0; round < ROUNDS; round++) {
        CUdeviceptr p, q;
        int calls = 0;
        uint32_t wanted = (number + round) * 3 + 1;
        CHECK(cuMemAlloc_v2(&p, sizeof found));
        CHECK(cuMemAllocAsync(&q, sizeof found, a));
        CHECK(cuMemsetD32Async(p, number + round, WORDS, a));
        CHECK(scale(function, p, 3, 1, a));
        CHECK(cuMemcpyDtoDAsync_v2(q, p, sizeof found, a));
        CHECK(cuEventRecord(event, a));
        CHECK(cuStreamWaitEvent(b, event, 0));
        CHECK(cuLaunchHostFunc(b, add_one, &calls));
        CHECK(cuMemcpyDtoHAsync_v2(found, q, sizeof found, b));
        for (uint32_t i = 0; i < WORDS; i++)
            if (found[i] != wanted)
                return (void *)2;
        CHECK(cuStreamSynchronize(b));
        if (calls != 1)
            return (void *)3;

        CUgraph graph;
        CUgraphExec exec;
        CHECK(cuStreamBeginCapture_v2(a, CU_STREAM_CAPTURE_MODE_RELAXED));
        CHECK(scale(function, p, 1, 5, a));
        CHECK(cuLaunchHostFunc(a, add_one, &calls));
        CHECK(cuStreamEndCapture(a, &graph));
        CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
        CHECK(cuGraphLaunch(exec, a));
        CHECK(cuGraphLaunch(exec, b));
        CHECK(cuGraphExecDestroy(exec));
        CHECK(cuGraphDestroy(graph));
        CHECK(cuStreamSynchronize(a));
        CHECK(cuStreamSynchronize(b));
        uint32_t last;
        CHECK(cuMemcpyDtoH_v2_ptds(&last, p + sizeof found - 4, 4));
        if (last != wanted + 10 || calls != 3)
            return (void *)4;
        CHECK(cuMemFreeAsync(q, a));
        CHECK(cuMemFree_v2(p));
    }
    CHECK(cuEventDestroy_v2(event));
    CHECK(cuStreamDestroy_v2(a));
    CHECK(cuStreamDestroy_v2(b));
    CHECK(cuModuleUnload(module));
    return NULL;
}

static void threads_find_their_own_results(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, work, (void *)(i + 1)), 0);
    for (int i = 0; i < THREADS; i++) {
        void *failed;
        assert_int_equal(pthread_join(threads[i], &failed), 0);
        assert_null(failed);
    }
    size_t free_bytes, total;
    assert_ok(cuMemGetInfo_v2(&free_bytes, &total));
    assert_ok(cuCtxSynchronize());
}

static void *wait_for_all(void *unused)
{
    (void)unused;
    CHECK(cuCtxSetCurrent(t.context));
    for (int i = 0; i < ROUNDS; i++) {
        size_t free_bytes, total;
        CHECK(cuCtxSynchronize());
        CHECK(cuMemGetInfo_v2(&free_bytes, &total));
    }
    return NULL;
}

static void *launch_on_its_default_stream(void *argument)
{
    CUdeviceptr p = *(CUdeviceptr *)argument;
    CHECK(cuCtxSetCurrent(t.context));
    for (int i = 0; i < ROUNDS; i++) {
        CHECK(scale(t.scale, p, 1, 1, CU_STREAM_PER_THREAD));
        CHECK(scale(t.scale, p, 1, 1, CU_STREAM_LEGACY));
    }
    CHECK(cuStreamSynchronize(CU_STREAM_PER_THREAD));
    return NULL;
}

// Threads wait for the whole context while others use both kinds of default stream.
static void default_streams_and_waiting_for_all(void **state)
{
    (void)state;
    pthread_t threads[4];
    CUdeviceptr p[2];
    for (int i = 0; i < 2; i++) {
        assert_ok(cuMemAlloc_v2(&p[i], WORDS * 4));
        assert_ok(cuMemsetD32_v2(p[i], 0, WORDS));
        assert_int_equal(pthread_create(&threads[i], NULL, launch_on_its_default_stream, &p[i]), 0);
        assert_int_equal(pthread_create(&threads[2 + i], NULL, wait_for_all, NULL), 0);
    }
    for (int i = 0; i < 4; i++) {
        void *failed;
        assert_int_equal(pthread_join(threads[i], &failed), 0);
        assert_null(failed);
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(testing_read(p[i]), 2 * ROUNDS);
        assert_ok(cuMemFree_v2(p[i]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_find_their_own_results),
        cmocka_unit_test(default_streams_and_waiting_for_all),
    };
    return cmocka_run_group_tests(tests, testing_setup, testing_teardown);
}
