// SPDX-License-Identifier: Apache-2.0
// Synchronizes and copies, in one way for each of its arguments. The output is right only if every
// wait takes place, or if `glint fix` makes up for an omitted wait in time.
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "program.h"

enum { WORDS = 1 << 15, BYTES = WORDS * 4 };

// Each thread of `add` spins `rounds` times before it adds to its word; `bring` copies words.
static const char ptx[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry add(.param .u64 at, .param .u32 value, .param .u32 rounds)\n{\n"
    "    .reg .b64 %rd<4>;\n    .reg .b32 %r<8>;\n    .reg .pred %p;\n"
    "    ld.param.u64 %rd1, [at];\n    ld.param.u32 %r1, [value];\n    ld.param.u32 %r2, "
    "[rounds];\n"
    "    mov.u32 %r3, %tid.x;\n    mov.u32 %r4, %ctaid.x;\n    mov.u32 %r5, %ntid.x;\n"
    "    mad.lo.u32 %r3, %r4, %r5, %r3;\n    mul.wide.u32 %rd2, %r3, 4;\n"
    "    add.u64 %rd1, %rd1, %rd2;\n    mov.u32 %r6, 0;\n"
    "again:\n    add.u32 %r6, %r6, 1;\n    setp.lt.u32 %p, %r6, %r2;\n    @%p bra again;\n"
    "    ld.global.u32 %r7, [%rd1];\n    add.u32 %r7, %r7, %r1;\n    st.global.u32 [%rd1], %r7;\n"
    "    ret;\n}\n"
    ".visible .entry bring(.param .u64 to, .param .u64 from)\n{\n"
    "    .reg .b64 %rd<4>;\n    .reg .b32 %r<6>;\n"
    "    ld.param.u64 %rd1, [to];\n    ld.param.u64 %rd2, [from];\n"
    "    mov.u32 %r1, %tid.x;\n    mov.u32 %r2, %ctaid.x;\n    mov.u32 %r3, %ntid.x;\n"
    "    mad.lo.u32 %r1, %r2, %r3, %r1;\n    mul.wide.u32 %rd3, %r1, 4;\n"
    "    add.u64 %rd1, %rd1, %rd3;\n    add.u64 %rd2, %rd2, %rd3;\n"
    "    ld.global.u32 %r4, [%rd2];\n    st.global.u32 [%rd1], %r4;\n    ret;\n}\n"
    ".visible .entry fault()\n{\n    .reg .b64 %rd1;\n    mov.u64 %rd1, 16;\n"
    "    st.global.u32 [%rd1], 1;\n    ret;\n}\n";

static const char printing[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n"
    ".global .align 1 .b8 text[8] = {107, 101, 114, 110, 101, 108, 10, 0};\n"
    ".visible .entry say()\n{\n    .reg .b64 %rd<4>;\n    .reg .b32 %r1;\n"
    "    mov.u64 %rd1, text;\n    cvta.global.u64 %rd1, %rd1;\n    mov.u64 %rd2, 0;\n    {\n"
    "    .param .b64 f;\n    st.param.b64 [f], %rd1;\n    .param .b64 a;\n"
    "    st.param.b64 [a], %rd2;\n    .param .b32 r;\n"
    "    call.uni (r), vprintf, (f, a);\n    ld.param.b32 %r1, [r];\n    }\n    ret;\n}\n";

static CUfunction add, bring, fault;
static CUdeviceptr device, other; // BYTES each

static void launch_add(CUdeviceptr to, unsigned value, unsigned rounds, CUstream stream)
{
    void *params[] = {&to, &value, &rounds};
    CHECK(cuLaunchKernel(add, WORDS / 256, 1, 1, 256, 1, 1, 0, stream, params, NULL));
}

static void launch_bring(CUdeviceptr to, CUdeviceptr from, CUstream stream)
{
    void *params[] = {&to, &from};
    CHECK(cuLaunchKernel(bring, WORDS / 256, 1, 1, 256, 1, 1, 0, stream, params, NULL));
}

// Returns a block large enough to have pages that it shares with no other block.
static unsigned *block(size_t bytes)
{
    unsigned *words = malloc(bytes);
    memset(words, 0x11, bytes);
    return words;
}

static unsigned long long sum_of(const unsigned *words, size_t count)
{
    unsigned long long sum = 0;
    for (size_t i = 0; i < count; i++)
        sum = sum * 3 + words[i];
    return sum;
}

static void print_device(CUdeviceptr from)
{
    unsigned *words = block(BYTES);
    CHECK(cuMemcpyDtoH_v2(words, from, BYTES));
    printf("%llx\n", sum_of(words, WORDS));
    free(words);
}

// --- Synchronizations ----------------------------------------------------------------------------

static void syncs(void)
{
    CUstream stream;
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (unsigned i = 0; i < 20; i++) {
        launch_add(device, i, 1, stream);
        CHECK(cuStreamSynchronize(stream));
        launch_add(device, 1, 1, NULL);
        CHECK(cuCtxSynchronize());
    }
    print_device(device);
    CHECK(cuStreamDestroy_v2(stream));
}

// Work submitted to another stream after the wait runs after the work that was waited for.
static void streams(void)
{
    CUstream one, two;
    CHECK(cuStreamCreate(&one, CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamCreate(&two, CU_STREAM_NON_BLOCKING));
    for (unsigned i = 0; i < 4; i++) {
        launch_add(device, i + 1, 400, one);
        CHECK(cuStreamSynchronize(one));
        launch_bring(other, device, two);
        CHECK(cuStreamSynchronize(two));
        launch_add(device, 5, 1, one);
        CHECK(cuCtxSynchronize());
    }
    print_device(other);
}

// The same, but the other stream is created after the wait.
static void new_stream(void)
{
    CUstream two;
    launch_add(device, 1, 400, NULL);
    CHECK(cuStreamSynchronize(NULL));
    CHECK(cuStreamCreate(&two, CU_STREAM_NON_BLOCKING));
    launch_bring(other, device, two);
    CHECK(cuStreamSynchronize(two));
    print_device(other);
}

static void event_syncs(void)
{
    CUstream one, two;
    CUevent event;
    CHECK(cuStreamCreate(&one, CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamCreate(&two, CU_STREAM_NON_BLOCKING));
    CHECK(cuEventCreate(&event, 0));
    for (unsigned i = 0; i < 5; i++) {
        launch_add(device, i + 1, 400, one);
        CHECK(cuEventRecord(event, one));
        CHECK(cuEventSynchronize(event));
        launch_bring(other, device, two);
        CHECK(cuStreamSynchronize(two));
    }
    print_device(other);
}

// Queries after a wait return what they return if the wait took place.
static void queries(void)
{
    CUevent before, after;
    float ms = -1;
    CHECK(cuEventCreate(&before, 0));
    CHECK(cuEventCreate(&after, 0));
    CHECK(cuEventRecord(before, NULL));
    launch_add(device, 1, 400, NULL);
    CHECK(cuEventRecord(after, NULL));
    CHECK(cuCtxSynchronize());
    printf("%d\n", cuStreamQuery(NULL));
    launch_add(device, 1, 400, NULL);
    CHECK(cuEventRecord(after, NULL));
    CHECK(cuStreamSynchronize(NULL));
    printf("%d\n", cuEventQuery(after));
    launch_add(device, 1, 400, NULL);
    CHECK(cuEventRecord(after, NULL));
    CHECK(cuCtxSynchronize());
    CHECK(cuEventElapsedTime(&ms, before, after));
    printf("%d\n", ms > 0);
}

// The output of kernels precedes what the program prints after the wait.
static void prints(void)
{
    CUmodule module;
    CUfunction say;
    CHECK(cuModuleLoadData(&module, printing));
    CHECK(cuModuleGetFunction(&say, module, "say"));
    for (unsigned i = 0; i < 3; i++) {
        CHECK(cuLaunchKernel(say, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
        CHECK(cuCtxSynchronize());
        printf("program\n");
        fflush(stdout);
    }
}

static volatile unsigned called;

static void call(void *unused)
{
    (void)unused;
    usleep(20000);
    called++;
}

static void host_functions(void)
{
    for (unsigned i = 0; i < 3; i++) {
        launch_add(device, 1, 1, NULL);
        CHECK(cuLaunchHostFunc(NULL, call, NULL));
        CHECK(cuStreamSynchronize(NULL));
        printf("%u\n", called);
    }
    CHECK(cuCtxSynchronize());
    launch_add(device, 1, 1, NULL);
    CHECK(cuStreamSynchronize(NULL));
    print_device(device);
}

// The CPU reads memory that it shares with the GPU after the wait.
static void shared(void)
{
    unsigned *pinned;
    CUdeviceptr managed;
    CHECK(cuMemAllocHost_v2((void **)&pinned, BYTES));
    memset(pinned, 0, BYTES);
    launch_add((CUdeviceptr)(uintptr_t)pinned, 7, 400, NULL);
    CHECK(cuCtxSynchronize());
    printf("%u\n", pinned[WORDS - 1]);
    CHECK(cuMemcpyHtoDAsync_v2(device, pinned, BYTES, NULL));
    CHECK(cuStreamSynchronize(NULL));
    pinned[5] = 1000; // must not change the data that was copied
    print_device(device);
    CHECK(cuMemcpyHtoD_v2(device, pinned, BYTES));
    pinned[5] = 2000;
    print_device(device);
    launch_add(device, 1, 400, NULL);
    CHECK(cuMemcpyDtoH_v2(pinned, device, BYTES));
    printf("%u %u\n", pinned[5], pinned[6]);
    launch_add(device, 1, 400, NULL);
    CHECK(cuCtxSynchronize());
    CHECK(cuMemFreeHost(pinned));
    CHECK(cuMemAllocManaged(&managed, BYTES, CU_MEM_ATTACH_GLOBAL));
    memset((void *)(uintptr_t)managed, 0, BYTES);
    launch_add(managed, 9, 400, NULL);
    CHECK(cuCtxSynchronize());
    printf("%u\n", ((unsigned *)(uintptr_t)managed)[WORDS - 1]);
}

// --- Copies --------------------------------------------------------------------------------------

static void copies(void)
{
    static const size_t sizes[] = {4, 4096, 65536, 1 << 17, 1 << 20, (1 << 20) + 4, 20 << 20};
    for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        const size_t bytes = sizes[i], words = bytes / 4;
        CUdeviceptr memory;
        unsigned *from = block(bytes), *to = block(bytes);
        for (size_t k = 0; k < words; k++)
            from[k] = (unsigned)(k * 7 + i);
        CHECK(cuMemAlloc_v2(&memory, bytes));
        CHECK(cuMemcpyHtoD_v2(memory, from, bytes));
        memset(from, 0, bytes); // the source may be reused after a synchronous copy
        CHECK(cuMemcpyDtoH_v2(to, memory, bytes));
        CHECK(cuMemsetD8_v2(memory, 1, bytes));
        CHECK(cuMemFree_v2(memory));
        printf("%zu %llx\n", bytes, sum_of(to, words));
        free(from);
        free(to);
    }
}

static void never_read(void)
{
    unsigned *to = block(BYTES);
    for (unsigned i = 0; i < 50; i++) {
        launch_add(device, i, 1, NULL);
        CHECK(cuMemcpyDtoH_v2(to, device, BYTES));
    }
    printf("%llx\n", sum_of(to, WORDS));
    for (unsigned i = 0; i < 10; i++) { // the second copy overwrites a part
        launch_add(device, i, 1, NULL);
        CHECK(cuMemcpyDtoH_v2(to, device, BYTES));
        CHECK(cuMemcpyDtoH_v2(to + 1024, device, BYTES / 2));
    }
    printf("%llx\n", sum_of(to, WORDS));
    free(to);
}

// Copies whose data the CPU never reads must not overwrite data that is copied later.
static void forgotten(void)
{
    unsigned *from = block(BYTES); // may be on the heap, like the first block; the second is mapped
    unsigned *to = block(BYTES);
    for (unsigned i = 0; i < 6; i++) {
        launch_add(device, i + 1, 200, NULL);
        CHECK(cuMemcpyDtoH_v2(to, device, BYTES));
        if (i % 2) {
            free(to);
            to = block(BYTES);
        } else {
            CHECK(cuMemcpyDtoH_v2(to, device, BYTES));
        }
        for (unsigned k = 0; k < WORDS; k++)
            from[k] = i * 9 + k;
        CHECK(cuMemcpyHtoD_v2(other, from, BYTES));
        print_device(other);
    }
    printf("%llx\n", sum_of(to, WORDS));
    free(to);
    free(from);
}

// Copies data to the device from host memory whose own copy is still pending.
static void chains(void)
{
    unsigned *words = block(BYTES);
    for (unsigned i = 0; i < 10; i++) {
        launch_add(device, i + 1, 100, NULL);
        CHECK(cuMemcpyDtoH_v2(words, device, BYTES));
        CHECK(cuMemcpyHtoD_v2(other, words, BYTES));
        launch_add(other, 3, 100, NULL);
        CHECK(cuMemcpyDtoH_v2(words, other, BYTES));
        CHECK(cuMemcpyHtoDAsync_v2(device, words, BYTES, NULL));
    }
    print_device(device);
    CHECK(cuMemcpyDtoH_v2(words, device, BYTES));
    words[0] += 5; // a write to the page also waits for the pending data
    printf("%llx\n", sum_of(words, WORDS));
    free(words);
}

static void memory_goes(void)
{
    unsigned *words = block(BYTES);
    launch_add(device, 1, 200, NULL);
    CHECK(cuMemcpyDtoH_v2(words, device, BYTES));
    free(words);
    words = block(BYTES); // probably at the same address
    printf("%llx\n", sum_of(words, WORDS));
    CHECK(cuMemcpyDtoH_v2(words, device, BYTES));
    words = realloc(words, 16 * BYTES);
    printf("%llx\n", sum_of(words, WORDS));
    CHECK(cuMemcpyDtoH_v2(words, device, BYTES));
    words = realloc(words, BYTES / 2);
    printf("%llx\n", sum_of(words, WORDS / 2));
    free(words);
    words = block(BYTES);
    launch_add(device, 1, 200, NULL);
    CHECK(cuMemcpyDtoH_v2(words, device, BYTES));
    const uintptr_t page = ((uintptr_t)words + 8191) & ~(uintptr_t)4095;
    madvise((void *)page, 4096, MADV_DONTNEED); // discards one page of the pending data
    unsigned zeros = 0;
    for (unsigned i = 0; i < WORDS; i++)
        zeros += !words[i];
    printf("%u %u %u\n", zeros, words[0], words[WORDS - 1]);
    free(words);
}

// More pending copies than glint has room for.
static void many(void)
{
    enum { COUNT = 600, PART = 140 << 10 };
    static unsigned *blocks[COUNT];
    unsigned long long sum = 0;
    for (unsigned i = 0; i < COUNT; i++) {
        blocks[i] = block(PART);
        if (i % 16 == 0)
            launch_add(device, i, 1, NULL);
        CHECK(cuMemcpyDtoH_v2(blocks[i], device, PART));
        CHECK(cuMemcpyHtoD_v2(other, blocks[i / 2], PART));
    }
    for (unsigned i = 0; i < COUNT; i++)
        sum = sum * 5 + sum_of(blocks[i], PART / 4);
    printf("%llx\n", sum);
    print_device(other);
}

// Calls that the driver rejects natively fail with the same errors.
static void refused(void)
{
    unsigned *words = block(BYTES);
    launch_add(device, 1, 200, NULL);
    printf("%d\n", cuMemcpyDtoH_v2(words, device, BYTES * 1000UL));
    printf("%d\n", cuMemcpyHtoD_v2(device + BYTES - 4, words, 4096));
    printf("%d\n", cuMemcpyDtoH_v2(words, 4096, BYTES));
    printf("%d\n", cuMemcpyDtoH_v2(words, device, 0));
    printf("%d\n", cuStreamSynchronize((CUstream)(uintptr_t)words) != CUDA_SUCCESS);
    printf("%llx\n", sum_of(words, WORDS));
}

// --- Other readers -------------------------------------------------------------------------------

static unsigned *handed;
static pthread_barrier_t barrier;

static void *look(void *unused)
{
    (void)unused;
    unsigned long long sum = 0;
    for (unsigned i = 0; i < 20; i++) {
        pthread_barrier_wait(&barrier);
        sum = sum * 7 + sum_of(handed, WORDS);
        pthread_barrier_wait(&barrier);
    }
    return (void *)(uintptr_t)sum;
}

static void other_threads(void)
{
    enum { LOOKERS = 4 };
    pthread_t threads[LOOKERS];
    handed = block(BYTES);
    pthread_barrier_init(&barrier, NULL, LOOKERS + 1);
    for (unsigned i = 0; i < LOOKERS; i++)
        pthread_create(&threads[i], NULL, look, NULL);
    for (unsigned i = 0; i < 20; i++) {
        launch_add(device, i, 10, NULL);
        CHECK(cuMemcpyDtoH_v2(handed, device, BYTES));
        pthread_barrier_wait(&barrier);
        pthread_barrier_wait(&barrier);
    }
    for (unsigned i = 0; i < LOOKERS; i++) {
        void *sum;
        pthread_join(threads[i], &sum);
        printf("%llx\n", (unsigned long long)(uintptr_t)sum);
    }
}

static void *work(void *argument)
{
    const unsigned own = (unsigned)(uintptr_t)argument;
    CUstream stream;
    CUdeviceptr memory;
    unsigned *words = block(BYTES);
    unsigned long long sum = 0;
    start_thread();
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuMemAlloc_v2(&memory, BYTES));
    for (unsigned i = 0; i < 15; i++) {
        for (unsigned k = 0; k < WORDS; k++)
            words[k] = own + i + k;
        CHECK(cuMemcpyHtoD_v2(memory, words, BYTES));
        launch_add(memory, own, 5, stream);
        CHECK(cuStreamSynchronize(stream));
        CHECK(cuMemcpyDtoH_v2(words, memory, BYTES));
        if (i % 3 == own % 3)
            sum = sum * 11 + sum_of(words, WORDS);
        if (i % 5 == 0)
            CHECK(cuCtxSynchronize());
    }
    CHECK(cuMemFree_v2(memory));
    CHECK(cuStreamDestroy_v2(stream));
    free(words);
    return (void *)(uintptr_t)sum;
}

static void threads(void)
{
    enum { COUNT = 6 };
    pthread_t threads[COUNT];
    for (unsigned i = 0; i < COUNT; i++)
        pthread_create(&threads[i], NULL, work, (void *)(uintptr_t)(i + 1));
    for (unsigned i = 0; i < COUNT; i++) {
        void *sum;
        pthread_join(threads[i], &sum);
        printf("%llx\n", (unsigned long long)(uintptr_t)sum);
    }
}

// A signal handler that reads the results at any time, even while the driver is running.
static volatile unsigned wrong, looked;

static void on_alarm(int number)
{
    (void)number;
    const volatile unsigned *words = handed;
    if (words && words[0] != words[WORDS - 1])
        wrong++;
    looked++;
}

static void signals(void)
{
    const struct itimerval often = {{0, 700}, {0, 700}}, never = {{0, 0}, {0, 0}};
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    unsigned *words = block(BYTES);
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    for (unsigned i = 0; i < 60 || looked < 20; i++) {
        launch_add(device, i, 1, NULL);
        handed = NULL;
        CHECK(cuMemcpyDtoH_v2(words, device, BYTES));
        handed = words;
        usleep(500);
    }
    setitimer(ITIMER_REAL, &never, NULL);
    printf("%u\n", wrong);
}

static void forks(void)
{
    unsigned *words = block(BYTES);
    launch_add(device, 1, 200, NULL);
    CHECK(cuMemcpyDtoH_v2(words, device, BYTES));
    fflush(stdout);
    const pid_t child = fork();
    if (!child) {
        printf("child %llx\n", sum_of(words, WORDS));
        fflush(stdout);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    printf("%llx\n", sum_of(words, WORDS));
}

static unsigned *kept;

static void at_end(void)
{
    printf("%llx\n", sum_of(kept, WORDS));
}

static void ends(void)
{
    kept = block(BYTES);
    atexit(at_end); // registered before glint's handler, so it runs after it
    launch_add(device, 1, 200, NULL);
    CHECK(cuMemcpyDtoH_v2(kept, device, BYTES));
}

static void contexts(void)
{
    CUcontext own;
    unsigned *words = block(BYTES);
    CHECK(cuCtxGetCurrent(&own));
    for (unsigned i = 0; i < 3; i++) {
        CUcontext second;
        CUdeviceptr memory;
        launch_add(device, 1, 200, NULL);
        CHECK(cuMemcpyDtoH_v2(words, device, BYTES));
        CHECK(cuCtxCreate_v2(&second, 0, 0));
        CHECK(cuMemAlloc_v2(&memory, BYTES));
        CHECK(cuMemsetD32_v2(memory, i, WORDS));
        CHECK(cuMemcpyHtoD_v2(memory + BYTES / 2, words, BYTES / 2));
        CHECK(cuMemcpyDtoH_v2(words, memory, BYTES));
        CHECK(cuCtxSynchronize());
        CHECK(cuCtxDestroy_v2(second));
        CHECK(cuCtxSetCurrent(own));
        printf("%llx\n", sum_of(words, WORDS));
    }
}

// This case misses a wait natively. The test uses it to verify that a missing wait is detected.
static void lacks_wait(void)
{
    unsigned *pinned;
    CHECK(cuMemAllocHost_v2((void **)&pinned, BYTES));
    memset(pinned, 0, BYTES);
    launch_add((CUdeviceptr)(uintptr_t)pinned, 7, 1, NULL);
    printf("%u\n", ((volatile unsigned *)pinned)[WORDS - 1]);
}

// The GPU fails: no call may hang, and the program receives the error, possibly later.
static void fails(void)
{
    unsigned *words = block(BYTES);
    CHECK(cuLaunchKernel(fault, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    (void)cuMemcpyDtoH_v2(words, device, BYTES);
    (void)((volatile unsigned *)words)[3];
    printf("%d\n", cuCtxSynchronize() != CUDA_SUCCESS);
}

int main(int count, char **arguments)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {
        {"syncs", syncs},
        {"streams", streams},
        {"new_stream", new_stream},
        {"event_syncs", event_syncs},
        {"queries", queries},
        {"host_functions", host_functions},
        {"prints", prints},
        {"shared", shared},
        {"copies", copies},
        {"never_read", never_read},
        {"forgotten", forgotten},
        {"chains", chains},
        {"memory_goes", memory_goes},
        {"many", many},
        {"refused", refused},
        {"other_threads", other_threads},
        {"threads", threads},
        {"signals", signals},
        {"forks", forks},
        {"ends", ends},
        {"contexts", contexts},
        {"lacks_wait", lacks_wait},
        {"fails", fails},
    };
    CUmodule module;
    unsigned *words = block(BYTES);
    start_thread();
    CHECK(cuModuleLoadData(&module, ptx));
    CHECK(cuModuleGetFunction(&add, module, "add"));
    CHECK(cuModuleGetFunction(&bring, module, "bring"));
    CHECK(cuModuleGetFunction(&fault, module, "fault"));
    CHECK(cuMemAlloc_v2(&device, BYTES));
    CHECK(cuMemAlloc_v2(&other, BYTES));
    memset(words, 0, BYTES);
    CHECK(cuMemcpyHtoD_v2(device, words, BYTES));
    CHECK(cuMemcpyHtoD_v2(other, words, BYTES));
    free(words);
    for (unsigned i = 0; count == 2 && i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (strcmp(cases[i].name, arguments[1]) == 0) {
            cases[i].run();
            return 0;
        }
    }
    fprintf(stderr, "usage: %s CASE\n", arguments[0]);
    return 2;
}
