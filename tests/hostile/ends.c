// SPDX-License-Identifier: Apache-2.0
// Ways to end, with work pending and results unused. Output and status must be those of a native
// run, and nothing that was written to files may be lost.
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hostile.h"

static struct result result;

// Brings results, and leaves the GPU at work.
static void leave_work(void)
{
    result = place_result(BLOCK);
    bring(&result, 1);
    fill(device_words, WORDS, 2, 3000000, NULL);
    fill(device_words, WORDS, 3, 3000000, NULL);
    puts("left");
}

// Writes all results to a file, by one system call.
static void write_results(void)
{
    const int file = open("results", O_WRONLY | O_CREAT | O_TRUNC, 0666);
    say("write", write(file, result.words, result.count * sizeof(unsigned)));
    close(file);
}

void ends_return(void)
{
    leave_work();
}

void ends_exit(void)
{
    leave_work();
    exit(7);
}

void ends_exit_at_once(void)
{
    leave_work();
    write_results();
    _exit(8);
}

void ends_exit_syscall(void)
{
    leave_work();
    syscall(SYS_exit_group, 9);
}

void ends_abort(void)
{
    leave_work();
    abort();
}

static void say_quick(void)
{
    say_good("quick", result.words, result.count, 1);
}

void ends_quick_exit(void)
{
    at_quick_exit(say_quick);
    leave_work();
    quick_exit(12);
}

// --- Signals -------------------------------------------------------------------------------------

void ends_kill(void)
{
    leave_work();
    write_results();
    kill(getpid(), SIGKILL);
    pause();
}

void ends_terminate(void)
{
    leave_work();
    raise(SIGTERM);
}

void ends_alarm(void)
{
    leave_work();
    ualarm(2000, 0);
    for (;;)
        pause();
}

void ends_pipe(void)
{
    int ends[2];
    leave_work();
    if (pipe(ends) == 0) {
        close(ends[0]);
        (void)!write(ends[1], result.words, result.count);
    }
    puts("not reached");
}

void ends_fault(void)
{
    leave_work();
    cause_fault();
}

// A fault in a page of the program itself that it may not write, beside results.
void ends_fault_beside(void)
{
    leave_work();
    mprotect(result.words, PAGE, PROT_READ);
    say_good("read", result.words, result.count, 1);
    *(volatile unsigned *)result.words = 1;
}

void ends_raised_fault(void)
{
    leave_work();
    raise(SIGSEGV);
}

void ends_bus_error(void)
{
    const int file = memfd_create("short", 0);
    volatile char *memory = sure(mmap(NULL, PAGE, PROT_READ, MAP_SHARED, file, 0));
    leave_work();
    printf("%d\n", memory[5]);
}

void ends_trap(void)
{
    leave_work();
    __builtin_trap();
}

static __attribute__((noinline)) unsigned deeper(unsigned depth)
{
    volatile char frame[4096];
    frame[depth % 4096] = 1;
    return depth == UINT32_MAX ? 0 : deeper(depth + 1) + frame[depth % 4096];
}

void ends_stack_overflow(void)
{
    leave_work();
    printf("%u\n", deeper(0));
}

void ends_cpu_limit(void)
{
    struct rlimit limit = {1, 1};
    leave_work();
    setrlimit(RLIMIT_CPU, &limit);
    for (volatile unsigned i = 0;; i++)
        ;
}

// --- Threads -------------------------------------------------------------------------------------

static CUcontext context;

static void *work_on(void *user)
{
    (void)user;
    // The process may be ending: calls may then fail, but must not crash or hang.
    if (cuCtxSetCurrent(context) != CUDA_SUCCESS)
        pause();
    for (;;) {
        unsigned found[FEW_WORDS];
        if (cuMemcpyDtoH_v2(found, device_words, sizeof(found)) != CUDA_SUCCESS)
            pause();
        usleep(100); // the recorder has to keep up
    }
    return NULL;
}

static void start_working(unsigned threads)
{
    pthread_t thread;
    CHECK(cuCtxGetCurrent(&context));
    for (unsigned i = 0; i < threads; i++)
        pthread_create(&thread, NULL, work_on, NULL);
    usleep(2000);
}

void ends_while_threads_work(void)
{
    leave_work();
    start_working(4);
}

void ends_at_once_while_threads_work(void)
{
    leave_work();
    start_working(4);
    _exit(13);
}

static void *exit_here(void *user)
{
    (void)user;
    say_good("thread", result.words, result.count, 1);
    exit(14);
}

void ends_exit_in_thread(void)
{
    pthread_t thread;
    leave_work();
    pthread_create(&thread, NULL, exit_here, NULL);
    for (;;)
        pause();
}

static void *outlive(void *user)
{
    usleep(20000);
    CHECK(cuCtxSetCurrent(user));
    say_good("after main", result.words, result.count, 1);
    const struct result later = place_result(PINNED);
    bring(&later, 5);
    say_good("after main", later.words, later.count, 5);
    exit(17); // threads of the driver would keep the process alive
}

// The main thread ends, another goes on.
void ends_main_thread_first(void)
{
    pthread_t thread;
    leave_work();
    CHECK(cuCtxGetCurrent(&context));
    pthread_create(&thread, NULL, outlive, context);
    pthread_exit(NULL);
}

static void *work_and_wait(void *user)
{
    CHECK(cuCtxSetCurrent(user));
    for (;;) {
        fill(device_words, WORDS, 4, 200000, NULL);
        cuCtxSynchronize();
        pthread_testcancel(); // no CUDA call is a cancellation point
    }
    return NULL;
}

// Threads are cancelled inside CUDA calls; no lock may stay taken.
void ends_cancel(void)
{
    leave_work();
    CHECK(cuCtxGetCurrent(&context));
    for (unsigned i = 0; i < 8; i++) {
        pthread_t thread;
        void *ended;
        pthread_create(&thread, NULL, work_and_wait, context);
        usleep(1000 + 300 * i);
        pthread_cancel(thread);
        pthread_join(thread, &ended);
        printf("%d\n", ended == PTHREAD_CANCELED);
        bring(&result, i);
        say_good("after cancelling", result.words, result.count, i);
    }
}

// --- Handlers ------------------------------------------------------------------------------------

static void bring_at_exit(void)
{
    say_good("at exit", result.words, result.count, 1);
    const struct result later = place_result(PINNED);
    bring(&later, 6);
    say_good("at exit", later.words, later.count, 6);
    CHECK(cuCtxSynchronize());
}

void ends_atexit(void)
{
    leave_work();
    atexit(bring_at_exit);
}

// Registered before CUDA is there, so called after its own handlers.
void ends_atexit_early(void)
{
    atexit(bring_at_exit);
    start();
    leave_work();
}

static void write_at_exit(int status, void *user)
{
    printf("status %d\n", status);
    write_results();
    (void)user;
}

void ends_on_exit(void)
{
    leave_work();
    on_exit(write_at_exit, NULL);
    exit(15);
}

static bool has_destructor;

static __attribute__((destructor)) void use_at_end(void)
{
    if (has_destructor)
        say_good("destructor", result.words, result.count, 1);
}

void ends_destructor(void)
{
    leave_work();
    has_destructor = true;
}

static void exit_from_function(void *user)
{
    (void)user;
    puts("host function");
    fflush(stdout);
    _exit(16);
}

void ends_in_host_function(void)
{
    leave_work();
    CHECK(cuLaunchHostFunc(NULL, exit_from_function, NULL));
    cuCtxSynchronize();
    puts("not reached");
}

// --- What is left --------------------------------------------------------------------------------

// Streams, events, memory and contexts that nobody destroys.
void ends_nothing_destroyed(void)
{
    for (unsigned i = 0; i < 20; i++) {
        CUcontext other;
        CUstream stream;
        CUevent event;
        CUdeviceptr memory;
        CHECK(cuCtxCreate_v2(&other, 0, 0));
        CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
        CHECK(cuEventCreate(&event, 0));
        CHECK(cuMemAllocAsync(&memory, 1 << 20, stream));
        CHECK(cuMemsetD8Async(memory, 1, 1 << 20, stream));
        CHECK(cuEventRecord(event, stream));
    }
    puts("left");
}

void ends_context_destroyed(void)
{
    CUcontext other;
    unsigned found[16];
    CUdeviceptr memory;
    CHECK(cuCtxCreate_v2(&other, 0, 0));
    CHECK(cuMemAlloc_v2(&memory, 4096));
    CHECK(cuMemsetD8_v2(memory, 1, 4096));
    CHECK(cuMemcpyDtoH_v2(found, memory, sizeof(found)));
    CHECK(cuCtxDestroy_v2(other));
    printf("%x\n", found[3]);
    leave_work();
    CHECK(cuDevicePrimaryCtxReset_v2(0));
    say_good("after reset", result.words, result.count, 1);
    printf("%d\n", cuCtxSynchronize());
}

// stdout is full of text that is written only at exit.
void ends_buffered(void)
{
    static char buffer[1 << 16];
    setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
    leave_work();
    for (unsigned i = 0; i < 1000; i++)
        printf("%u\n", result.words[i]);
}
