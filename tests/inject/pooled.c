// SPDX-License-Identifier: Apache-2.0
// Programs whose allocations and frees a pool may serve: pooled CASE. stdout must be the same with
// and without the pool. stderr has one line for each allocation that reuses memory which was freed
// before the work on it was done.
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "program.h"

enum { WORDS = 1024, BYTES = WORDS * 4 };

// late: waits, then out[i] = in[i]. stamp: out[i] += value.
static const char ptx[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry late(.param .u64 out, .param .u64 in, .param .u64 ns)\n{\n"
    "    .reg .b32 %r<5>;\n    .reg .b64 %rd<9>;\n    .reg .pred %p<2>;\n"
    "    ld.param.u64 %rd1, [out];\n    ld.param.u64 %rd2, [in];\n    ld.param.u64 %rd3, [ns];\n"
    "    mov.u64 %rd4, %globaltimer;\n"
    "again:\n    mov.u64 %rd5, %globaltimer;\n    sub.u64 %rd5, %rd5, %rd4;\n"
    "    setp.lt.u64 %p1, %rd5, %rd3;\n    @%p1 bra again;\n"
    "    mov.u32 %r1, %ctaid.x;\n    mov.u32 %r2, %ntid.x;\n    mov.u32 %r3, %tid.x;\n"
    "    mad.lo.u32 %r1, %r1, %r2, %r3;\n    mul.wide.u32 %rd6, %r1, 4;\n"
    "    add.u64 %rd7, %rd2, %rd6;\n    add.u64 %rd8, %rd1, %rd6;\n"
    "    ld.global.u32 %r4, [%rd7];\n    st.global.u32 [%rd8], %r4;\n    ret;\n}\n"
    ".visible .entry stamp(.param .u64 out, .param .u32 value)\n{\n"
    "    .reg .b32 %r<6>;\n    .reg .b64 %rd<4>;\n"
    "    ld.param.u64 %rd1, [out];\n    ld.param.u32 %r5, [value];\n"
    "    mov.u32 %r1, %ctaid.x;\n    mov.u32 %r2, %ntid.x;\n    mov.u32 %r3, %tid.x;\n"
    "    mad.lo.u32 %r1, %r1, %r2, %r3;\n    mul.wide.u32 %rd2, %r1, 4;\n"
    "    add.u64 %rd3, %rd1, %rd2;\n    ld.global.u32 %r4, [%rd3];\n"
    "    add.u32 %r4, %r4, %r5;\n    st.global.u32 [%rd3], %r4;\n    ret;\n}\n";

static CUfunction late, stamp;

static void load(void)
{
    CUmodule module;
    CHECK(cuModuleLoadData(&module, ptx));
    CHECK(cuModuleGetFunction(&late, module, "late"));
    CHECK(cuModuleGetFunction(&stamp, module, "stamp"));
}

// The plan names the call paths through these two functions.
static __attribute__((noinline)) CUdeviceptr take(size_t bytes)
{
    CUdeviceptr address = 0;
    CHECK(cuMemAlloc_v2(&address, bytes));
    __asm__ volatile("" ::: "memory");
    return address;
}

static __attribute__((noinline)) void give(CUdeviceptr address)
{
    CHECK(cuMemFree_v2(address));
    __asm__ volatile("" ::: "memory");
}

static CUdeviceptr take_again(size_t bytes, CUdeviceptr before)
{
    const CUdeviceptr address = take(bytes);
    if (address == before)
        fprintf(stderr, "reused\n");
    return address;
}

static void run_late(CUdeviceptr out, CUdeviceptr in, CUstream stream)
{
    uint64_t ns = 30000000;
    void *params[] = {&out, &in, &ns};
    CHECK(cuLaunchKernel(late, 1, 1, 1, WORDS, 1, 1, 0, stream, params, NULL));
}

static void run_stamp(CUdeviceptr out, uint32_t value, size_t words, CUstream stream)
{
    void *params[] = {&out, &value};
    CHECK(cuLaunchKernel(stamp, (unsigned)(words / 32), 1, 1, 32, 1, 1, 0, stream, params, NULL));
}

static void tell(const char *what, CUdeviceptr from)
{
    static uint32_t words[WORDS];
    CHECK(cuMemcpyDtoH_v2(words, from, BYTES));
    uint64_t sum = 0;
    for (int i = 0; i < WORDS; i++)
        sum = sum * 31 + words[i];
    printf("%s: %08x %016llx\n", what, words[0], (unsigned long long)sum);
}

// A slow kernel still reads the freed block while another stream writes to its next allocation.
static void reuse(const char *what, CUstream first, CUstream second, bool destroy, bool sync)
{
    CUdeviceptr out;
    CHECK(cuMemAlloc_v2(&out, BYTES));
    CUdeviceptr a = take(BYTES);
    CHECK(cuMemsetD32Async(a, 0x11111111, WORDS, first));
    run_late(out, a, first);
    if (destroy)
        CHECK(cuStreamDestroy_v2(first));
    give(a);
    CUdeviceptr b = take_again(BYTES, a);
    if (sync)
        CHECK(cuMemsetD32_v2(b, 0x22222222, WORDS));
    else
        CHECK(cuMemsetD32Async(b, 0x22222222, WORDS, second));
    CHECK(cuCtxSynchronize());
    tell(what, out);
    tell(what, b);
    give(b);
    CHECK(cuMemFree_v2(out));
}

static CUstream stream(unsigned flags)
{
    CUstream made;
    CHECK(cuStreamCreate(&made, flags));
    return made;
}

static void order(void)
{
    const CUstream x = stream(CU_STREAM_NON_BLOCKING), y = stream(CU_STREAM_NON_BLOCKING);
    const CUstream blocking = stream(0);
    reuse("same", x, x, false, false);
    reuse("other", x, y, false, false);
    reuse("legacy", x, NULL, false, false);
    reuse("synchronous", x, NULL, false, true);
    reuse("own", x, CU_STREAM_PER_THREAD, false, false);
    reuse("blocking", blocking, y, false, false);
    reuse("from legacy", NULL, y, false, false);
    reuse("new", x, stream(CU_STREAM_NON_BLOCKING), false, false);
}

static void destroyed(void)
{
    reuse("destroyed", stream(CU_STREAM_NON_BLOCKING), stream(CU_STREAM_NON_BLOCKING), true, false);
    reuse("again", stream(CU_STREAM_NON_BLOCKING), NULL, true, true);
}

// Several streams use the block. Then another stream, or one of them, uses its next allocation.
static void several(void)
{
    CUstream streams[6];
    CUdeviceptr outs[6];
    for (int i = 0; i < 6; i++) {
        streams[i] = stream(CU_STREAM_NON_BLOCKING);
        CHECK(cuMemAlloc_v2(&outs[i], BYTES));
    }
    for (int users = 2; users < 6; users++) { // up to the number of fences and beyond
        CUdeviceptr a = take(BYTES);
        CHECK(cuMemsetD32_v2(a, (unsigned)users, WORDS));
        CHECK(cuCtxSynchronize());
        for (int i = 0; i < users; i++)
            run_late(outs[i], a, streams[i]);
        give(a);
        CUdeviceptr b = take_again(BYTES, a);
        CHECK(cuMemsetD32Async(b, 0x33333333, WORDS, streams[users % 3 ? 0 : users]));
        CHECK(cuCtxSynchronize());
        for (int i = 0; i < users; i++)
            tell("several", outs[i]);
        give(b);
    }
}

static void say(const char *what, CUresult result)
{
    printf("%s: %d\n", what, (int)result);
}

static void asks(void)
{
    size_t free_before, free_now, total, bytes = 0;
    CUdeviceptr start = 0;
    unsigned type = 7;
    CHECK(cuMemGetInfo_v2(&free_before, &total));
    CUdeviceptr a = take(5000);
    CHECK(cuMemGetInfo_v2(&free_now, &total));
    printf("taken: %zu\n", free_before - free_now);
    give(a);
    CHECK(cuMemGetInfo_v2(&free_now, &total));
    printf("given: %zu\n", free_before - free_now);
    a = take(5000); // memory kept in the pool counts as free in the answer
    give(a);
    say("range of freed", cuMemGetAddressRange_v2(&start, &bytes, a));
    say("type of freed", cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, a));
    say("freed twice", cuMemFree_v2(a));
    say("freed twice in order", cuMemFreeAsync(a, NULL));
    CUdeviceptr b = take_again(4100, a);
    CHECK(cuMemGetAddressRange_v2(&start, &bytes, b + 4000));
    printf("range: %zu at %zu\n", bytes, (size_t)(b - start));
    say("behind it", cuMemGetAddressRange_v2(&start, &bytes, b + 4100));
    size_t range = 0;
    CHECK(cuPointerGetAttribute(&range, CU_POINTER_ATTRIBUTE_RANGE_SIZE, b));
    CUpointer_attribute wanted[] = {CU_POINTER_ATTRIBUTE_RANGE_SIZE,
                                    CU_POINTER_ATTRIBUTE_MEMORY_TYPE};
    size_t ranges = 0;
    void *answers[] = {&ranges, &type};
    CHECK(cuPointerGetAttributes(2, wanted, answers, b + 1));
    printf("attributes: %zu %zu %u\n", range, ranges, type);
    say("freed inside", cuMemFree_v2(b + 256));
    say("nothing freed", cuMemFree_v2(0));
    give(b);
    CHECK(cuPointerGetAttributes(2, wanted, answers, b));
    printf("of freed: %zu %u\n", ranges, type);
    say("never allocated", cuMemFree_v2(0x1000));
    // This call path is not in the plan, so the block is really freed.
    CUdeviceptr c = take(4100);
    CHECK(cuMemFree_v2(c));
    say("freed twice natively", cuMemFree_v2(c));
}

// Accesses to freed memory, or beyond the end of an allocation, are rejected.
static void beyond(void)
{
    static unsigned char bytes[8192];
    CUdeviceptr a = take(8192);
    CHECK(cuMemsetD8_v2(a, 1, 8192));
    give(a);
    say("fill of what is freed", cuMemsetD8_v2(a, 1, 16));
    say("copy to it", cuMemcpyHtoD_v2(a, bytes, 16));
    say("copy from it", cuMemcpyDtoH_v2(bytes, a, 16));
    CUdeviceptr b = take(7168); // smaller than the pooled block
    say("all", cuMemsetD8_v2(b, 2, 7168));
    say("more", cuMemsetD8_v2(b, 2, 7680));
    say("copy of more", cuMemcpyDtoH_v2(bytes, b, 7680));
    say("the last", cuMemcpyHtoD_v2(b + 7164, bytes, 4));
    say("behind it", cuMemcpyHtoD_v2(b + 7168, bytes, 4));
    give(b);
}

// Memory kept in the pool must not make other allocations fail.
static void full(void)
{
    size_t free_bytes, total;
    CUdeviceptr managed, other;
    CUarray array;
    CUmemGenericAllocationHandle handle;
    CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    CHECK(cuMemGetInfo_v2(&free_bytes, &total));
    const size_t most = free_bytes / 10 * 6 & ~(((size_t)2 << 20) - 1);
    for (int i = 0; i < 5; i++) {
        CUdeviceptr a = take(most);
        run_stamp(a, 1, 32, NULL);
        give(a);
        switch (i) {
        case 0:
            other = take(most / 5 * 7);
            give(other);
            break;
        case 1:
            say("unmatched", cuMemAlloc_v2(&other, most));
            CHECK(cuMemFree_v2(other));
            break;
        case 2:
            say("created", cuMemCreate(&handle, most, &prop, 0));
            CHECK(cuMemRelease(handle));
            break;
        case 3: say("managed", cuMemAllocManaged(&managed, 4096, CU_MEM_ATTACH_GLOBAL)); break;
        default:
            say("pool", cuMemAllocAsync(&other, most, NULL));
            CHECK(cuMemFreeAsync(other, NULL));
            CHECK(cuCtxSynchronize());
        }
    }
    CUDA_ARRAY_DESCRIPTOR array_of = {1024, 0, CU_AD_FORMAT_FLOAT, 1};
    say("array", cuArrayCreate_v2(&array, &array_of));
    say("too much", cuMemAlloc_v2(&other, total * 2));
}

// Releasing a reference to the primary context that is not the last must not affect the context,
// nor memory that is freed and reallocated while work on it is pending.
static void hold_and_release(void)
{
    CUcontext again;
    CUdeviceptr out;
    const CUstream x = stream(CU_STREAM_NON_BLOCKING), y = stream(CU_STREAM_NON_BLOCKING);
    CHECK(cuMemAlloc_v2(&out, BYTES));
    CHECK(cuDevicePrimaryCtxRetain(&again, 0));
    CUdeviceptr a = take(BYTES);
    CHECK(cuMemsetD32Async(a, 0x12121212, WORDS, x));
    run_late(out, a, x);
    give(a);
    CUdeviceptr b = take_again(BYTES, a);
    CHECK(cuDevicePrimaryCtxRelease_v2(0));
    CHECK(cuMemsetD32Async(b, 0x34343434, WORDS, y));
    CHECK(cuCtxSynchronize());
    tell("held", out);
    tell("held", b);
    give(b);
    CHECK(cuStreamDestroy_v2(x));
    CHECK(cuStreamDestroy_v2(y));
    CHECK(cuMemFree_v2(out));
}

static void contexts(void)
{
    CUcontext first, second;
    CUdeviceptr out;
    CHECK(cuCtxGetCurrent(&first));
    CUdeviceptr a = take(BYTES);
    CHECK(cuMemsetD32_v2(a, 5, WORDS));
    give(a);
    CHECK(cuCtxCreate_v2(&second, 0, 0));
    load();
    CUdeviceptr b = take(BYTES); // must not reuse a block of the first context
    if (b == a)
        fprintf(stderr, "of another context\n");
    CHECK(cuMemAlloc_v2(&out, BYTES));
    const CUstream x = stream(CU_STREAM_NON_BLOCKING);
    CHECK(cuMemsetD32Async(b, 6, WORDS, x));
    run_late(out, b, x);
    CHECK(cuCtxSetCurrent(first));
    give(b); // frees in a context that is not current
    CHECK(cuCtxSetCurrent(second));
    tell("second", out);
    CUdeviceptr c = take(BYTES);
    CHECK(cuMemsetD32Async(c, 7, WORDS, x));
    run_late(out, c, x);
    give(c);
    CHECK(cuCtxDestroy_v2(second));
    CHECK(cuCtxSetCurrent(first));
    load();
    hold_and_release();
    CUdeviceptr d = take_again(BYTES, a);
    CHECK(cuMemsetD32_v2(d, 8, WORDS));
    tell("first", d);
    give(d);
    CHECK(cuDevicePrimaryCtxReset_v2(0));
    start_thread();
    load();
    d = take(BYTES);
    CHECK(cuMemsetD32_v2(d, 9, WORDS));
    tell("reset", d);
    give(d);
}

static void captures(void)
{
    CUgraph graph;
    CUgraphExec exec;
    CUdeviceptr out, b;
    const CUstream x = stream(CU_STREAM_NON_BLOCKING), y = stream(CU_STREAM_NON_BLOCKING);
    CHECK(cuMemAlloc_v2(&out, BYTES));
    CUdeviceptr a = take(BYTES);
    give(a);
    a = take_again(BYTES, a);
    CHECK(cuMemsetD32Async(a, 0x44444444, WORDS, x));
    run_late(out, a, x);
    CHECK(cuStreamBeginCapture_v2(y, CU_STREAM_CAPTURE_MODE_RELAXED));
    give(a);
    b = take(BYTES);
    CHECK(cuMemsetD32Async(b, 0x55555555, WORDS, y));
    CHECK(cuStreamEndCapture(y, &graph));
    CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    CHECK(cuGraphLaunch(exec, y));
    CHECK(cuCtxSynchronize());
    tell("captured", out);
    tell("captured", b);
    // A block is freed and reallocated, and then a graph writes to it.
    CHECK(cuMemsetD32Async(b, 0x66666666, WORDS, x));
    run_late(out, b, x);
    give(b);
    CUdeviceptr c = take_again(BYTES, b);
    printf("the same for the graph or not\n");
    CHECK(cuGraphLaunch(exec, y)); // writes b: defined only if c is b, so b is not printed
    CHECK(cuMemsetD32Async(c, 0x77777777, WORDS, y));
    CHECK(cuCtxSynchronize());
    tell("graph", c);
    give(c);
}

// Random churn on several streams: each block is filled, stamped and added into a sum that nothing
// else touches.
struct churn {
    unsigned seed;
    CUstream stream;
    CUcontext context;
    uint64_t sum;
};

static void *run_churn(void *user)
{
    enum { HELD = 6 };
    struct churn *churn = user;
    struct {
        CUdeviceptr at;
        size_t words;
        uint32_t value;
    } held[HELD] = {0};
    static __thread uint32_t words[4096];
    CHECK(cuCtxSetCurrent(churn->context));
    for (int i = 0; i < 60; i++) {
        const unsigned which = random_next(&churn->seed) % HELD;
        if (held[which].at && random_next(&churn->seed) % 3 == 0) {
            CHECK(
                cuMemcpyDtoHAsync_v2(words, held[which].at, held[which].words * 4, churn->stream));
            CHECK(cuStreamSynchronize(churn->stream));
            for (size_t k = 0; k < held[which].words; k++)
                churn->sum = churn->sum * 31 + words[k] - held[which].value;
        } else if (held[which].at) {
            give(held[which].at);
            held[which].at = 0;
        } else {
            held[which].words = (random_next(&churn->seed) % 8 + 1) * 512;
            held[which].value = random_next(&churn->seed);
            held[which].at = take(held[which].words * 4 + random_next(&churn->seed) % 4);
            CHECK(cuMemsetD32Async(held[which].at, held[which].value, held[which].words,
                                   churn->stream));
        }
        if (held[which].at) {
            const uint32_t more = random_next(&churn->seed);
            run_stamp(held[which].at, more, held[which].words, churn->stream);
            held[which].value += more - 1;
        }
    }
    for (unsigned i = 0; i < HELD; i++) {
        if (held[i].at)
            give(held[i].at);
    }
    return NULL;
}

static void churn(unsigned seed, int threads, bool per_thread)
{
    pthread_t thread[8];
    struct churn all[8];
    CUcontext context;
    CHECK(cuCtxGetCurrent(&context));
    for (int i = 0; i < threads; i++) {
        all[i] = (struct churn){seed * 100 + (unsigned)i,
                                per_thread ? CU_STREAM_PER_THREAD
                                           : stream(i % 2 ? 0 : CU_STREAM_NON_BLOCKING),
                                context, 0};
        pthread_create(&thread[i], NULL, run_churn, &all[i]);
    }
    for (int i = 0; i < threads; i++) {
        pthread_join(thread[i], NULL);
        printf("churn %u.%d: %016llx\n", seed, i, (unsigned long long)all[i].sum);
    }
}

// Creates and destroys streams while other threads synchronize the context, allocate
// and free.
static void *come_and_go(void *user)
{
    struct churn *churn = user;
    CHECK(cuCtxSetCurrent(churn->context));
    for (unsigned i = 0; i < 250; i++) {
        const uint32_t value = random_next(&churn->seed);
        uint32_t found = 0;
        CUstream own;
        CHECK(cuStreamCreate(&own, i % 2 ? CU_STREAM_NON_BLOCKING : 0));
        CUdeviceptr a = take(BYTES);
        CHECK(cuMemsetD32Async(a, value, WORDS, own));
        if (i % 8 == 0)
            CHECK(cuCtxSynchronize());
        if (i % 3 == 0) {
            CHECK(cuMemcpyDtoHAsync_v2(&found, a + BYTES - 4, 4, own));
            CHECK(cuStreamSynchronize(own));
            churn->sum = churn->sum * 31 + found - value;
        }
        CHECK(cuStreamDestroy_v2(own));
        give(a);
    }
    return NULL;
}

static void meanwhile(void)
{
    enum { THREADS = 4 };
    pthread_t thread[THREADS];
    struct churn all[THREADS];
    CUcontext context;
    CHECK(cuCtxGetCurrent(&context));
    for (unsigned i = 0; i < THREADS; i++) {
        all[i] = (struct churn){.seed = i, .context = context, .sum = 1};
        pthread_create(&thread[i], NULL, come_and_go, &all[i]);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
        printf("meanwhile %u: %016llx\n", i, (unsigned long long)all[i].sum);
    }
}

// Destroys a context with pending work on memory that was freed and reallocated, while another
// thread allocates and frees in its own context.
static void *end_context(void *user)
{
    CUcontext own;
    CUdeviceptr out;
    CHECK(cuCtxCreate_v2(&own, 0, 0));
    load();
    const CUstream x = stream(CU_STREAM_NON_BLOCKING), y = stream(CU_STREAM_NON_BLOCKING);
    CHECK(cuMemAlloc_v2(&out, BYTES));
    CUdeviceptr a = take(BYTES);
    CHECK(cuMemsetD32Async(a, 1, WORDS, x));
    run_late(out, a, x);
    give(a);
    CHECK(cuMemsetD32Async(take_again(BYTES, a), 2, WORDS, y));
    pthread_barrier_wait(user);
    CHECK(cuCtxDestroy_v2(own));
    return NULL;
}

static void contexts_meanwhile(void)
{
    pthread_t thread;
    pthread_barrier_t ready;
    pthread_barrier_init(&ready, NULL, 2);
    for (unsigned i = 0; i < 3; i++) {
        CHECK(cuCtxSynchronize());
        pthread_create(&thread, NULL, end_context, &ready);
        pthread_barrier_wait(&ready);
        for (unsigned k = 0; k < 60; k++) {
            CUdeviceptr a = take(BYTES);
            CHECK(cuMemsetD32_v2(a, i + k, WORDS));
            if (k % 20 == 19)
                tell("meanwhile", a);
            give(a);
            usleep(1000);
        }
        pthread_join(thread, NULL);
    }
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    start_thread();
    load();
    if (strcmp(what, "order") == 0)
        order();
    else if (strcmp(what, "destroyed") == 0)
        destroyed();
    else if (strcmp(what, "several") == 0)
        several();
    else if (strcmp(what, "asks") == 0)
        asks();
    else if (strcmp(what, "full") == 0)
        full();
    else if (strcmp(what, "beyond") == 0)
        beyond();
    else if (strcmp(what, "contexts") == 0)
        contexts();
    else if (strcmp(what, "captures") == 0)
        captures();
    else if (strcmp(what, "meanwhile") == 0)
        meanwhile();
    else if (strcmp(what, "contexts_meanwhile") == 0)
        contexts_meanwhile();
    else if (strcmp(what, "churn") == 0) {
        for (unsigned seed = 1; seed <= 6; seed++)
            churn(seed, 1 + (int)seed % 4, seed == 5);
    } else
        return 2;
    return 0;
}
