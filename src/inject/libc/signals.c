// SPDX-License-Identifier: Apache-2.0
// The C library's functions that set signal handlers and masks. A thread that blocks SIGSEGV dies
// when it touches a protected page. So libglint.so keeps handlers and thread masks that are set in
// the usual ways (guard/signals.c), and never really blocks the signal while it may protect pages.
// All other ways to block it, which few programs use, take effect, but glint then opens all pages
// and closes no more (struct hooks_inside.give_up).
//
// glint does not see system calls that bypass the C library, nor masks that a handler writes into
// the context to which it returns. It reads the masks of all threads before it closes pages
// (guard/threads.c), so these matter only while pages are closed.
#include <aio.h>
#include <errno.h>
#include <mqueue.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>

#include "inject/hooks/inside.h"
#include "inject/util/entry.h"
#include "inject/util/next.h"
#include "libc.h"

const char libc_blocked[] = "the program blocks SIGSEGV";
static const char helpers[] =
    "the C library runs threads for the program (SIGEV_THREAD) that block SIGSEGV";

// --- The C library's functions -------------------------------------------------------------------

int libc_next_sigaction(int number, const struct sigaction *action, struct sigaction *old)
{
    return NEXT(sigaction, int (*)(int, const struct sigaction *, struct sigaction *))(number,
                                                                                       action, old);
}

int libc_next_mask(int how, const sigset_t *set, sigset_t *old)
{
    return NEXT(pthread_sigmask, int (*)(int, const sigset_t *, sigset_t *))(how, set, old);
}

// --- Ways that guard keeps -----------------------------------------------------------------------

#pragma GCC visibility push(default)

int sigaction(int number, const struct sigaction *action, struct sigaction *old)
{
    const struct hooks_inside *inside = libc_inside();
    return inside ? inside->sigaction(number, action, old)
                  : libc_next_sigaction(number, action, old);
}

#define OLD_SIGNAL(name, flags)                                                 \
    sighandler_t libc_##name(int number, sighandler_t handler) __asm__(#name);  \
    sighandler_t libc_##name(int number, sighandler_t handler)                  \
    {                                                                           \
        const struct hooks_inside *inside = libc_inside();                      \
        sighandler_t old;                                                       \
        if (inside && inside->signal(number, handler, flags, &old))             \
            return old;                                                         \
        return NEXT(name, sighandler_t(*)(int, sighandler_t))(number, handler); \
    }
OLD_SIGNAL(signal, SA_RESTART)
OLD_SIGNAL(bsd_signal, SA_RESTART)
OLD_SIGNAL(ssignal, SA_RESTART)
OLD_SIGNAL(sysv_signal, (int)SA_RESETHAND | SA_NODEFER)
OLD_SIGNAL(__sysv_signal, (int)SA_RESETHAND | SA_NODEFER)

#define SETS_MASK(name)                                                          \
    int name(int how, const sigset_t *set, sigset_t *old)                        \
    {                                                                            \
        int (*const next)(int, const sigset_t *, sigset_t *) =                   \
            NEXT(name, int (*)(int, const sigset_t *, sigset_t *));              \
        const struct hooks_inside *inside = libc_inside();                       \
        return inside ? inside->mask(how, set, old, next) : next(how, set, old); \
    }
SETS_MASK(pthread_sigmask)
SETS_MASK(sigprocmask)

#pragma GCC visibility pop

// --- Ways that make guard give up ----------------------------------------------------------------

static void give_up_if(bool blocks, const char *why)
{
    const struct hooks_inside *inside = libc_inside();
    if (inside && blocks)
        inside->give_up(why);
}

static bool has_fault(const sigset_t *set)
{
    return set && sigismember(set, SIGSEGV) == 1;
}

// Tests a mask in an int, for signals up to 32.
static bool bits_have_fault(int mask)
{
    return (unsigned)mask >> (SIGSEGV - 1) & 1;
}

static bool has_helper(const struct sigevent *event)
{
    return event && event->sigev_notify == SIGEV_THREAD;
}

void libc_check_event(const struct sigevent *event)
{
    give_up_if(has_helper(event), helpers);
}

// System calls take pointers to masks of one word.
bool libc_blocks_fault(long number, const long argument[6])
{
    const unsigned long *words = NULL;
    unsigned long word, pair[2];
    switch (number) {
    case SYS_rt_sigprocmask:
        words = argument[0] != SIG_UNBLOCK ? (const unsigned long *)argument[1] : NULL; // NOLINT
        break;
    case SYS_rt_sigsuspend: words = (const unsigned long *)argument[0]; break; // NOLINT
    case SYS_ppoll: words = (const unsigned long *)argument[3]; break;         // NOLINT
    case SYS_epoll_pwait: words = (const unsigned long *)argument[4]; break;   // NOLINT
    case SYS_pselect6:
        if (argument[5]) {
            memcpy(pair, (const void *)argument[5], sizeof(pair)); // NOLINT
            words = (const unsigned long *)pair[0];                // NOLINT
        }
        break;
    case SYS_rt_sigaction: return argument[1]; // for any signal: its mask may contain SIGSEGV
    case SYS_clone: return true;               // a thread unknown to the C library
    default: break;
    }
    if (!words)
        return false;
    memcpy(&word, words, sizeof(word));
    return word >> (SIGSEGV - 1) & 1;
}

#define GIVES_UP(type, name, params, args, blocks, why) \
    type libc_##name params __asm__(#name);             \
    type libc_##name params                             \
    {                                                   \
        give_up_if(blocks, why);                        \
        return NEXT(name, type(*) params) args;         \
    }

#pragma GCC visibility push(default)

GIVES_UP(int, sigsuspend, (const sigset_t *set), (set), has_fault(set), libc_blocked)
GIVES_UP(int, sigpause, (int mask), (mask), bits_have_fault(mask), libc_blocked)
GIVES_UP(int, sigblock, (int mask), (mask), bits_have_fault(mask), libc_blocked)
GIVES_UP(int, sigsetmask, (int mask), (mask), bits_have_fault(mask), libc_blocked)
GIVES_UP(int, sighold, (int number), (number), number == SIGSEGV, libc_blocked)
GIVES_UP(int, sigignore, (int number), (number), number == SIGSEGV, libc_blocked)
GIVES_UP(sighandler_t, sigset, (int number, sighandler_t handler), (number, handler),
         number == SIGSEGV, libc_blocked)
GIVES_UP(int, pselect,
         (int n, fd_set *r, fd_set *w, fd_set *e, const struct timespec *time, const sigset_t *set),
         (n, r, w, e, time, set), has_fault(set), libc_blocked)
GIVES_UP(int, ppoll,
         (struct pollfd * files, nfds_t n, const struct timespec *time, const sigset_t *set),
         (files, n, time, set), has_fault(set), libc_blocked)
GIVES_UP(int, __ppoll_chk,
         (struct pollfd * files, nfds_t n, const struct timespec *time, const sigset_t *set,
          size_t room),
         (files, n, time, set, room), has_fault(set), libc_blocked)
GIVES_UP(int, epoll_pwait,
         (int file, struct epoll_event *events, int most, int time, const sigset_t *set),
         (file, events, most, time, set), has_fault(set), libc_blocked)
GIVES_UP(int, epoll_pwait2,
         (int file, struct epoll_event *events, int most, const struct timespec *time,
          const sigset_t *set),
         (file, events, most, time, set), has_fault(set), libc_blocked)
GIVES_UP(int, pthread_attr_setsigmask_np, (pthread_attr_t * attributes, const sigset_t *set),
         (attributes, set), has_fault(set), libc_blocked)

// These functions start threads of the C library, which block all signals, or run functions of the
// program in threads that those create.
GIVES_UP(int, timer_create, (clockid_t clock, struct sigevent *event, timer_t *timer),
         (clock, event, timer), has_helper(event), helpers)
GIVES_UP(int, mq_notify, (mqd_t queue, const struct sigevent *event), (queue, event),
         has_helper(event), helpers)
GIVES_UP(int, lio_listio, (int mode, struct aiocb *const *list, int count, struct sigevent *event),
         (mode, list, count, event), true, helpers)
GIVES_UP(int, lio_listio64,
         (int mode, struct aiocb64 *const *list, int count, struct sigevent *event),
         (mode, list, count, event), true, helpers)
GIVES_UP(int, aio_fsync, (int how, struct aiocb *a), (how, a), a &&has_helper(&a->aio_sigevent),
         helpers)
GIVES_UP(int, aio_fsync64, (int how, struct aiocb64 *a), (how, a), a &&has_helper(&a->aio_sigevent),
         helpers)
GIVES_UP(int, getaddrinfo_a, (int mode, struct gaicb **list, int count, struct sigevent *event),
         (mode, list, count, event), has_helper(event), helpers)

#pragma GCC visibility pop

// --- Contexts ------------------------------------------------------------------------------------

__attribute__((used)) void *libc_choose_setcontext(const ucontext_t *to, const void *unused);
void *libc_choose_setcontext(const ucontext_t *to, const void *unused)
{
    (void)unused;
    const int error = errno;
    give_up_if(to && has_fault(&to->uc_sigmask), libc_blocked);
    errno = error;
    return NEXT(setcontext, void *);
}

__attribute__((used)) void *libc_choose_swapcontext(const void *from, const ucontext_t *to);
void *libc_choose_swapcontext(const void *from, const ucontext_t *to)
{
    (void)from;
    const int error = errno;
    give_up_if(to && has_fault(&to->uc_sigmask), libc_blocked);
    errno = error;
    return NEXT(swapcontext, void *);
}

ENTRY(libc, setcontext);
ENTRY(libc, swapcontext);
