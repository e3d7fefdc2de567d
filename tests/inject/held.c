// SPDX-License-Identifier: Apache-2.0
// One thread touches a page of results, and a tracer stops it: at the fault, before a handler runs,
// and at a system call of that handler. Meanwhile the main thread opens the page or lets glint
// close it again: held NAME. stdout shows what the thread read, which must not depend on recording;
// stderr shows how often the tracer held the thread.
//
// The program is a child of its tracer, so tracing needs no permission. Only one thread is traced,
// not the main thread, because glint closes no pages in a program whose main thread is traced.
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "words.h"

enum { PAGE_WORDS = 1024, PAGES = 16, PIECE = PAGE_WORDS * PAGES, WORD = 77 };

// --- The tracer, a separate process --------------------------------------------------------------

static struct {
    _Atomic int thread; // the thread to trace; 0 until it exists
    _Atomic bool traced, refused;
    _Atomic unsigned place; // also hold at this system-call stop after a fault; 0: do not
    _Atomic unsigned held, released;
} * shared;

// The thread may hold a lock that the main thread waits for. The hold therefore ends after
// most_ms milliseconds even if the main thread does not release it.
static void hold(unsigned most_ms)
{
    enum { LOOKS_PER_MS = 10 };
    const unsigned number = atomic_fetch_add(&shared->held, 1) + 1;
    for (unsigned i = 0; i < LOOKS_PER_MS * most_ms && atomic_load(&shared->released) < number; i++)
        usleep(1000 / LOOKS_PER_MS);
}

// Returns when the thread ends, or when the program ends before the thread exists.
static void trace(pid_t program)
{
    enum { FAULT_MS = 5000, CALL_MS = 100, CALL_STOP = SIGTRAP | 0x80, EVENT_SHIFT = 16 };
    siginfo_t ended = {0};
    int thread, status;
    unsigned stops = 0; // entries and exits of system calls since the fault
    while (!(thread = atomic_load(&shared->thread)) && !ended.si_pid) {
        waitid(P_PID, (id_t)program, &ended, WEXITED | WNOHANG | WNOWAIT);
        usleep(100);
    }
    if (thread && ptrace(PTRACE_SEIZE, thread, NULL, PTRACE_O_TRACESYSGOOD) != 0) {
        atomic_store(&shared->refused, true);
        return;
    }
    atomic_store(&shared->traced, true);
    while (waitpid(thread, &status, __WALL) == thread && WIFSTOPPED(status)) {
        const unsigned place = atomic_load(&shared->place);
        unsigned long passed = 0; // the signal to deliver
        if (WSTOPSIG(status) == CALL_STOP) {
            if (++stops == place)
                hold(CALL_MS);
        } else if (!(status >> EVENT_SHIFT)) {
            passed = (unsigned long)WSTOPSIG(status);
            if (passed == SIGSEGV) {
                stops = 0;
                hold(FAULT_MS);
            }
        }
        ptrace(stops < place ? PTRACE_SYSCALL : PTRACE_CONT, thread, NULL, passed);
    }
}

// Exits with the status, or dies from the signal, of the program.
static int trace_to_end(pid_t program)
{
    int status = 0;
    trace(program);
    waitpid(program, &status, 0);
    if (!WIFSIGNALED(status))
        return WEXITSTATUS(status);
    signal(WTERMSIG(status), SIG_DFL);
    raise(WTERMSIG(status));
    return 1;
}

// --- The thread that is held ---------------------------------------------------------------------

static unsigned *results;
static _Atomic unsigned asked, done; // rounds
static _Atomic bool stop, writes;
static unsigned bad;

// These are not inlined, so that every access faults at the same instruction.
__attribute__((noinline)) static unsigned look(const volatile unsigned *word)
{
    return *word;
}

__attribute__((noinline)) static void put(volatile unsigned *word)
{
    *word = WORD;
}

static void *touch(void *user)
{
    (void)user;
    atomic_store(&shared->thread, (int)syscall(SYS_gettid));
    while (!atomic_load(&stop)) {
        const unsigned round = atomic_load(&asked);
        if (round == atomic_load(&done)) {
            usleep(100);
            continue;
        }
        if (atomic_load(&writes))
            put(&results[WORD]);
        else
            bad += look(&results[WORD]) != WORD;
        atomic_store(&done, round);
    }
    return NULL;
}

// --- The main thread -----------------------------------------------------------------------------

static void copy(void)
{
    CHECK(cuMemcpyDtoH_v2(results, device, PIECE * 4));
}

static void open_page(void)
{
    bad += results[WORD + 1] != WORD + 1;
}

static CUfunction bring;
static unsigned *brought;
static _Atomic bool launched;

static void await_launch(void *user)
{
    (void)user;
    while (!atomic_load(&launched))
        usleep(100);
}

// The GPU opens another of the closed pages after the last driver call has returned.
static void copy_and_open_part(void)
{
    CUdeviceptr to = (CUdeviceptr)(uintptr_t)brought;
    CUdeviceptr from = (CUdeviceptr)(uintptr_t)(results + 3ul * PAGE_WORDS + WORD);
    void *params[] = {&to, &from};
    copy();
    *brought = 0;
    atomic_store(&launched, false);
    CHECK(cuLaunchHostFunc(NULL, await_launch, NULL));
    CHECK(cuLaunchKernel(bring, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    atomic_store(&launched, true);
    for (unsigned i = 0; i < 50000 && !*(volatile unsigned *)brought; i++)
        usleep(100);
    bad += *brought != 3 * PAGE_WORDS + WORD;
}

// Lets the thread touch the results. Returns whether it was held both at the fault and at `place`.
static bool touch_round(unsigned place, void (*at_fault)(void), void (*at_place)(void))
{
    unsigned times = 0;
    atomic_store(&shared->place, place);
    const unsigned round = atomic_fetch_add(&asked, 1) + 1;
    while (atomic_load(&done) != round) {
        const unsigned held = atomic_load(&shared->held);
        if (held == atomic_load(&shared->released)) {
            usleep(100);
            continue;
        }
        void (*act)(void) = times == 0 ? at_fault : times == 1 ? at_place : NULL;
        times++;
        if (act)
            act();
        atomic_store(&shared->released, held);
    }
    atomic_store(&shared->place, 0);
    atomic_store(&shared->released, atomic_load(&shared->held));
    return times > 1;
}

static bool run_round(unsigned place, void (*at_fault)(void), void (*at_place)(void))
{
    copy();
    const bool twice = touch_round(place, at_fault, at_place);
    CHECK(cuCtxSynchronize());
    return twice;
}

static void run_places(void (*at_fault)(void), void (*at_place)(void))
{
    enum { MOST_PLACES = 200 };
    for (unsigned place = 1; place < MOST_PLACES && run_round(place, at_fault, at_place);)
        place++;
}

// --- The cases -----------------------------------------------------------------------------------

// The page is already open when the thread's handler runs, repeatedly.
static void late(void)
{
    for (unsigned i = 0; i < 10; i++)
        run_round(0, open_page, NULL);
}

static void late_writes(void)
{
    atomic_store(&writes, true);
    late();
}

// The page is closed again at each place of the handler. Main thread or handler opened it before.
static void closed_again(void)
{
    run_places(open_page, copy);
    run_places(NULL, copy);
}

static void closed_again_for_writes(void)
{
    atomic_store(&writes, true);
    closed_again();
}

static void closed_in_part(void)
{
    run_places(open_page, copy_and_open_part);
    run_places(NULL, copy_and_open_part);
}

// For a child process, which inherits the closed pages of its parent.
static void late_once(void)
{
    touch_round(0, open_page, NULL);
}

static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                          ".visible .entry bring(.param .u64 to, .param .u64 from)\n{\n"
                          "    .reg .b64 %rd<3>;\n    .reg .b32 %r<2>;\n"
                          "    ld.param.u64 %rd1, [to];\n    ld.param.u64 %rd2, [from];\n"
                          "    ld.u32 %r1, [%rd2];\n    st.u32 [%rd1], %r1;\n    ret;\n}\n";

static void *pinned(void)
{
    void *memory;
    CHECK(cuMemAllocHost_v2(&memory, BYTES));
    return memory;
}

// The program itself causes no faults, so its handler must never run.
static void die(int number)
{
    (void)number;
    static const char text[] = "the program was given a fault\n";
    (void)!write(STDERR_FILENO, text, sizeof(text) - 1);
    _exit(1);
}

static void run_traced(void (*run)(void))
{
    pthread_t thread;
    pthread_create(&thread, NULL, touch, NULL);
    while (!atomic_load(&shared->traced) && !atomic_load(&shared->refused))
        usleep(100);
    run();
    atomic_store(&stop, true);
    pthread_join(thread, NULL);
    if (atomic_load(&shared->refused))
        fprintf(stderr, "SKIP: nothing can be traced here\n");
    fprintf(stderr, "held %u times in %u rounds\n", atomic_load(&shared->held), atomic_load(&done));
    printf("%u bad\n", bad);
    fflush(stdout);
}

// Runs in a child made by _Fork, which calls no atfork handlers.
static int run_in_child(void (*run)(void))
{
    int status = 0;
    copy();
    const pid_t child = _Fork();
    if (child == 0) {
        run_traced(run);
        _exit(0);
    }
    waitpid(child, &status, 0);
    return status != 0;
}

static int run(const char *name)
{
    static const struct {
        const char *name;
        void (*run)(void);
        bool in_child;
    } cases[] = {
        {"late", late, false},
        {"late_writes", late_writes, false},
        {"late_in_child", late_once, true},
        {"closed_again", closed_again, false},
        {"closed_again_for_writes", closed_again_for_writes, false},
        {"closed_in_part", closed_in_part, false},
    };
    CUmodule module;
    signal(SIGSEGV, die);
    words_count();
    words_to_device();
    CHECK(cuModuleLoadData(&module, ptx));
    CHECK(cuModuleGetFunction(&bring, module, "bring"));
    results = pinned();
    brought = pinned();
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (strcmp(name, cases[i].name) != 0)
            continue;
        if (cases[i].in_child)
            return run_in_child(cases[i].run);
        run_traced(cases[i].run);
        return 0;
    }
    return 2;
}

int main(int argc, char **argv)
{
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    const pid_t program = argc != 2 || shared == MAP_FAILED ? -1 : fork();
    if (program == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        return run(argv[1]);
    }
    return program < 0 ? 2 : trace_to_end(program);
}
