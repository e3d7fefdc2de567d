// SPDX-License-Identifier: Apache-2.0
// Results are used by code that runs with SIGSEGV blocked, in every way in which it can be.
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "hostile.h"

static struct result results;
static unsigned results_key;
static _Atomic unsigned good;
static _Atomic bool done;

static void *use(void *user)
{
    (void)user;
    // NOLINTNEXTLINE(bugprone-signal-handler): it only reads
    atomic_store(&good, count_good(results.words, results.count, results_key));
    atomic_store(&done, true);
    return NULL;
}

static void use_in_handler(int number)
{
    (void)number;
    use(NULL);
}

static void use_in_timer(union sigval value)
{
    (void)value;
    use(NULL);
}

// Runs `way`, in which `use` is called by somebody with SIGSEGV blocked, on three kinds of memory.
static void in_three(void (*way)(void))
{
    static const enum place places[] = {BLOCK, PINNED, STATIC};
    for (unsigned i = 0; i < 3; i++) {
        results = place_result(places[i]);
        for (unsigned round = 0; round < 2; round++) {
            results_key = 10 * i + round;
            bring(&results, results_key);
            atomic_store(&done, false);
            way();
            for (unsigned j = 0; j < 5000 && !atomic_load(&done); j++)
                usleep(1000);
            printf("%s: %u\n", name_of(places[i]), atomic_load(&good));
        }
    }
}

static sigset_t all_but(int number)
{
    sigset_t set;
    sigfillset(&set);
    sigdelset(&set, number);
    return set;
}

static sigset_t only(int number)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, number);
    return set;
}

// Makes SIGUSR1 pending, and has a call deliver it under another mask.
static void deliver_under(void (*call)(const sigset_t *mask))
{
    const sigset_t mask = all_but(SIGUSR1), one = only(SIGUSR1);
    sigset_t old;
    signal(SIGUSR1, use_in_handler);
    sigprocmask(SIG_BLOCK, &one, &old);
    raise(SIGUSR1);
    call(&mask);
    sigprocmask(SIG_SETMASK, &old, NULL);
}

// --- Masks ---------------------------------------------------------------------------------------

static void by_thread(const pthread_attr_t *attribute)
{
    pthread_t thread;
    pthread_create(&thread, attribute, use, NULL);
    pthread_join(thread, NULL);
}

static void by_attribute(void)
{
    pthread_attr_t attribute;
    const sigset_t set = only(SIGSEGV);
    pthread_attr_init(&attribute);
    pthread_attr_setsigmask_np(&attribute, &set);
    by_thread(&attribute);
}

void signals_attribute(void)
{
    in_three(by_attribute);
}

static void by_timer(void)
{
    struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = use_in_timer};
    const struct itimerspec soon = {.it_value = {.tv_nsec = 1000000}};
    timer_t timer;
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0)
        exit(1);
    timer_settime(timer, 0, &soon, NULL);
}

void signals_timer_thread(void)
{
    in_three(by_timer);
}

static void suspend(const sigset_t *mask)
{
    sigsuspend(mask);
}

static void by_suspend(void)
{
    deliver_under(suspend);
}

void signals_sigsuspend(void)
{
    in_three(by_suspend);
}

static void ppoll_under(const sigset_t *mask)
{
    const struct timespec second = {1, 0};
    ppoll(NULL, 0, &second, mask);
}

static void by_ppoll(void)
{
    deliver_under(ppoll_under);
}

void signals_ppoll(void)
{
    in_three(by_ppoll);
}

static void pselect_under(const sigset_t *mask)
{
    const struct timespec second = {1, 0};
    pselect(0, NULL, NULL, NULL, &second, mask);
}

static void by_pselect(void)
{
    deliver_under(pselect_under);
}

void signals_pselect(void)
{
    in_three(by_pselect);
}

static void epoll_under(const sigset_t *mask)
{
    struct epoll_event event;
    const int queue = epoll_create1(0);
    epoll_pwait(queue, &event, 1, 1000, mask);
    close(queue);
}

static void by_epoll(void)
{
    deliver_under(epoll_under);
}

void signals_epoll_pwait(void)
{
    in_three(by_epoll);
}

static void by_hold(void)
{
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    sighold(SIGSEGV);
    use(NULL);
    sigrelse(SIGSEGV);
#pragma GCC diagnostic pop
}

void signals_sighold(void)
{
    in_three(by_hold);
}

static void by_syscall(void)
{
    const uint64_t all = ~UINT64_C(0);
    uint64_t old;
    syscall(SYS_rt_sigprocmask, SIG_BLOCK, &all, &old, sizeof(all));
    use(NULL);
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &old, NULL, sizeof(old));
}

void signals_mask_by_syscall(void)
{
    in_three(by_syscall);
}

static void by_mask(void)
{
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &old);
    use(NULL);
    sigset_t now;
    pthread_sigmask(SIG_SETMASK, NULL, &now);
    printf("SIGSEGV %d, SIGTERM %d\n", sigismember(&now, SIGSEGV), sigismember(&now, SIGTERM));
    by_thread(NULL); // inherits the mask
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

void signals_all_blocked(void)
{
    in_three(by_mask);
}

static ucontext_t main_context, other_context;

static void in_context(void)
{
    use(NULL);
}

static void by_context(void)
{
    static char stack[1 << 16];
    getcontext(&other_context);
    other_context.uc_stack.ss_sp = stack;
    other_context.uc_stack.ss_size = sizeof(stack);
    other_context.uc_link = &main_context;
    other_context.uc_sigmask = only(SIGSEGV);
    makecontext(&other_context, in_context, 0);
    swapcontext(&main_context, &other_context);
}

void signals_context(void)
{
    in_three(by_context);
}

// A handler returns to a mask in which SIGSEGV is blocked.
static void block_on_return(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)info;
    sigaddset(&((ucontext_t *)context)->uc_sigmask, SIGSEGV);
}

static void by_return(void)
{
    const struct sigaction action = {.sa_sigaction = block_on_return, .sa_flags = SA_SIGINFO};
    sigset_t old;
    sigprocmask(SIG_SETMASK, NULL, &old);
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
    use(NULL);
    sigprocmask(SIG_SETMASK, &old, NULL);
}

void signals_returned_mask(void)
{
    in_three(by_return);
}

static void by_handler_mask(void)
{
    struct sigaction action = {.sa_handler = use_in_handler};
    sigfillset(&action.sa_mask);
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
}

void signals_handler_mask(void)
{
    in_three(by_handler_mask);
}

// A handler on an alternate stack.
static void on_other_stack(int number)
{
    char here;
    (void)number;
    stack_t stack;
    sigaltstack(NULL, &stack);
    printf("%s\n", &here >= (char *)stack.ss_sp && &here < (char *)stack.ss_sp + stack.ss_size
                       ? "alternate stack"
                       : "normal stack");
    use(NULL);
}

static void by_other_stack(void)
{
    static char memory[1 << 16];
    const stack_t stack = {.ss_sp = memory, .ss_size = sizeof(memory)};
    struct sigaction action = {.sa_handler = on_other_stack, .sa_flags = SA_ONSTACK | SA_NODEFER};
    sigaltstack(&stack, NULL);
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
}

void signals_alternate_stack(void)
{
    in_three(by_other_stack);
}
