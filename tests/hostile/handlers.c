// SPDX-License-Identifier: Apache-2.0
// The program's own handlers of signals, SIGSEGV among them, and calls that signals interrupt.
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "hostile.h"

static struct result results;
static _Atomic bool done;

static sigset_t only(int number)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, number);
    return set;
}

// --- Handlers of the program ---------------------------------------------------------------------

static sigjmp_buf back;
static char *guarded;
static unsigned faults;

static void jump_back(int number)
{
    (void)number;
    siglongjmp(back, 1);
}

// Finds the ends of memory by faults, as conservative garbage collectors do.
void handlers_jump_from_handler(const struct result *result, unsigned key)
{
    signal(SIGSEGV, jump_back);
    if (sigsetjmp(back, 1) == 0)
        cause_fault();
    else
        puts("fault");
    say_good(name_of(result->place), result->words, result->count, key);
    if (sigsetjmp(back, 1) == 0)
        cause_fault();
    else
        puts("fault");
    signal(SIGSEGV, SIG_DFL);
}

static void open_page(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)context;
    faults++;
    if ((char *)info->si_addr < guarded || (char *)info->si_addr >= guarded + PAGE)
        _exit(3);
    mprotect(guarded, PAGE, PROT_READ | PROT_WRITE);
}

// The program closes its own pages, and opens them in its handler.
void handlers_own_guard(const struct result *result, unsigned key)
{
    const struct sigaction action = {.sa_sigaction = open_page, .sa_flags = SA_SIGINFO};
    struct sigaction found;
    guarded = sure(mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGSEGV, NULL, &found);
    printf("%s handler\n", found.sa_sigaction == open_page ? "own" : "another");
    guarded[7] = 1;
    say_good(name_of(result->place), result->words, result->count, key);
    mprotect(guarded, PAGE, PROT_NONE);
    guarded[8] = 1;
    printf("%u faults\n", faults);
}

// The program closes pages that hold results, and opens them in its handler.
void handlers_own_guard_of_results(const struct result *result, unsigned key)
{
    const struct sigaction action = {.sa_sigaction = open_page, .sa_flags = SA_SIGINFO};
    if (result->place == HEAP || result->place == STACK || result->place == MANAGED)
        return;
    guarded = (char *)(result->words + 2 * PAGE_WORDS);
    sigaction(SIGSEGV, &action, NULL);
    mprotect(guarded, PAGE, PROT_NONE);
    say_good(name_of(result->place), result->words, result->count, key);
    mprotect(guarded, PAGE, PROT_READ);
    say_good("read-only", result->words, result->count, key);
    result->words[2 * PAGE_WORDS]++;
    printf("%u faults\n", faults);
}

static __attribute__((noinline)) unsigned overflow(unsigned depth)
{
    volatile char frame[512];
    frame[depth % 512] = 1;
    return depth == UINT32_MAX ? 0 : overflow(depth + 1) + frame[depth % 512];
}

// A stack overflow that the program survives.
void handlers_stack_overflow(void)
{
    static char memory[1 << 16];
    const stack_t stack = {.ss_sp = memory, .ss_size = sizeof(memory)};
    const struct sigaction action = {.sa_handler = jump_back, .sa_flags = SA_ONSTACK};
    sigaltstack(&stack, NULL);
    sigaction(SIGSEGV, &action, NULL);
    results = place_result(BLOCK);
    bring(&results, 3);
    if (sigsetjmp(back, 1) == 0)
        printf("%u\n", overflow(0));
    say_good("after the overflow", results.words, results.count, 3);
}

static void tell_signal(int number, siginfo_t *info, void *context)
{
    (void)context;
    printf("signal %d, code %d\n", number, info->si_code);
}

// Faults that are sent, and other signals of faults.
void handlers_sent_faults(void)
{
    struct sigaction action = {.sa_sigaction = tell_signal, .sa_flags = SA_SIGINFO};
    static const int numbers[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
    results = place_result(BLOCK);
    for (unsigned i = 0; i < 6; i++) {
        sigaction(numbers[i], &action, NULL);
        bring(&results, i);
        raise(numbers[i]);
        kill(getpid(), numbers[i]);
        sigqueue(getpid(), numbers[i], (union sigval){.sival_int = 5});
        say_good("block", results.words, results.count, i);
    }
}

// What the program finds when it asks for handlers and masks that it never set.
void handlers_questions(void)
{
    sigset_t mask;
    results = place_result(BLOCK);
    bring(&results, 1);
    sigprocmask(SIG_SETMASK, NULL, &mask);
    for (int number = 1; number < 32; number++) {
        struct sigaction action;
        if (sigaction(number, NULL, &action) == 0)
            printf("%d: %d %d %d\n", number, action.sa_handler != SIG_DFL, action.sa_flags,
                   sigismember(&mask, number));
    }
    stack_t stack;
    sigaltstack(NULL, &stack);
    printf("alternate stack: %d\n", stack.ss_flags);
}

static void once(int number)
{
    printf("handled %d\n", number);
}

void handlers_reset_handler(void)
{
    struct sigaction action = {.sa_handler = once, .sa_flags = (int)SA_RESETHAND}, found;
    results = place_result(BLOCK);
    sigaction(SIGSEGV, &action, NULL);
    bring(&results, 2);
    raise(SIGSEGV);
    sigaction(SIGSEGV, NULL, &found);
    printf("%d\n", found.sa_handler == SIG_DFL);
    say_good("block", results.words, results.count, 2);
}

// --- Interrupted calls ---------------------------------------------------------------------------

static _Atomic unsigned ticks;

static void tick(int number)
{
    (void)number;
    atomic_fetch_add(&ticks, 1);
}

static void every_us(int kind, int number, long us)
{
    const struct sigaction action = {.sa_handler = tick, .sa_flags = SA_RESTART};
    const struct itimerval value = {{0, us}, {0, us}};
    sigaction(number, &action, NULL);
    setitimer(kind, &value, NULL);
}

// Timers and profilers that interrupt everything.
static void under_ticks(int kind, int number)
{
    unsigned right = 0;
    results = place_result(BLOCK);
    every_us(kind, number, 500);
    unsigned rounds = 0;
    while (rounds < 20 || (atomic_load(&ticks) < 3 && rounds < 2000)) {
        bring(&results, rounds % 20);
        right += count_good(results.words, results.count, rounds % 20) == results.count;
        rounds++;
    }
    every_us(kind, number, 0);
    printf("%s, %s\n", right == rounds ? "all good" : "wrong words",
           atomic_load(&ticks) ? "ticks" : "no ticks");
}

void handlers_alarms(void)
{
    under_ticks(ITIMER_REAL, SIGALRM);
}

void handlers_profiler(void)
{
    under_ticks(ITIMER_PROF, SIGPROF);
}

static void *send_on(void *user)
{
    while (!atomic_load(&done)) {
        pthread_kill(*(pthread_t *)user, SIGUSR2);
        usleep(50);
    }
    return NULL;
}

// Another thread sends signals all the time.
void handlers_storm(void)
{
    pthread_t self = pthread_self(), thread;
    const struct sigaction action = {.sa_handler = tick, .sa_flags = SA_RESTART};
    unsigned right = 0;
    sigaction(SIGUSR2, &action, NULL);
    pthread_create(&thread, NULL, send_on, &self);
    for (enum place place = 0; place < STACK; place++) {
        results = place_result(place);
        for (unsigned round = 0; round < 5; round++) {
            bring(&results, round);
            right += count_good(results.words, results.count, round) == results.count;
        }
    }
    atomic_store(&done, true);
    pthread_join(thread, NULL);
    printf("%u right\n", right);
}

static void nothing(int number)
{
    (void)number;
}

// A call returns EINTR exactly if the program's own signal came.
void handlers_interrupted(const struct result *result, unsigned key)
{
    const struct sigaction action = {.sa_handler = nothing};
    // Again and again, in case that it comes before the call.
    const struct itimerval soon = {{0, 3000}, {0, 3000}}, never = {{0, 0}, {0, 0}};
    const struct timespec minute = {60, 0}, moment = {0, 2000000};
    sigaction(SIGALRM, &action, NULL);
    say("undisturbed", nanosleep(&moment, NULL));
    setitimer(ITIMER_REAL, &soon, NULL);
    say("interrupted", nanosleep(&minute, NULL));
    setitimer(ITIMER_REAL, &never, NULL);
    say_good(name_of(result->place), result->words, result->count, key);
}

// --- Waiting for signals -------------------------------------------------------------------------

void handlers_child(const struct result *result, unsigned key)
{
    const sigset_t one = only(SIGCHLD);
    sigset_t old;
    int status, got;
    sigprocmask(SIG_BLOCK, &one, &old);
    const pid_t child = fork();
    if (child == 0)
        _exit(count_good(result->words, result->count, key) == result->count ? 4 : 5);
    say("sigwait", sigwait(&one, &got));
    waitpid(child, &status, 0);
    printf("signal %d, status %d\n", got, WEXITSTATUS(status));
    sigprocmask(SIG_SETMASK, &old, NULL);
}

void handlers_signalfd(const struct result *result, unsigned key)
{
    const sigset_t one = only(SIGUSR1);
    sigset_t old;
    struct signalfd_siginfo *info = (struct signalfd_siginfo *)(void *)(result->words + 64);
    sigprocmask(SIG_BLOCK, &one, &old);
    const int file = signalfd(-1, &one, 0);
    raise(SIGUSR1);
    say("read", read(file, info, sizeof(*info)));
    printf("signal %u, %u words\n", info->ssi_signo,
           result->words[FEW_WORDS - 1] == word_of(FEW_WORDS - 1, key));
    close(file);
    sigprocmask(SIG_SETMASK, &old, NULL);
}
