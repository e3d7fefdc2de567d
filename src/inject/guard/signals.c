// SPDX-License-Identifier: Apache-2.0
// Guard handles SIGSEGV, and the program does not notice. Guard keeps a handler that the program
// has or installs, and calls it for the program's own faults; queries return what the program has
// set.
//
// A thread that blocks the signal would die of a protected page. So if pages may be protected, the
// signal is never really blocked, neither by masks of threads nor by those of handlers. Of the
// signals that are sent while the program believes it blocked, one is kept. Pages that are moved
// away need none of that, and masks are then the program's.
//
// The program's calls arrive through libglint-sync.so (libc/signals.c), which also knows the other
// ways to block the signal.
#include "signals.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fault.h"
#include "kernel.h"
#include "ranges.h"

// Only called if libglint-sync.so is loaded, without which guard does nothing.
static const struct guard_outer_libc *outer(void)
{
    return atomic_load_explicit(&guard_state.outer_libc, memory_order_relaxed);
}

static int next_sigaction(int number, const struct sigaction *action, struct sigaction *old)
{
    return outer()->sigaction(number, action, old);
}

static int next_mask(int how, const sigset_t *set, sigset_t *old)
{
    return outer()->mask(how, set, old);
}

// --- Guard's handler -----------------------------------------------------------------------------

static sigset_t lock_signals(void)
{
    sigset_t all, before;
    sigfillset(&all);
    next_mask(SIG_BLOCK, &all, &before);
    util_lock_take(&guard_state.signals.lock, RANK_SIGNALS);
    return before;
}

static void unlock_signals(const sigset_t *before)
{
    util_lock_give(&guard_state.signals.lock, RANK_SIGNALS);
    next_mask(SIG_SETMASK, before, NULL);
}

static struct sigaction ours_for(const struct sigaction *programs)
{
    struct sigaction ours = {.sa_sigaction = guard_handler, .sa_flags = SA_SIGINFO | SA_NODEFER};
    ours.sa_flags |= programs->sa_flags & (SA_ONSTACK | SA_RESTART);
    sigemptyset(&ours.sa_mask);
    return ours;
}

bool guard_has_signal(void)
{
    struct sigaction now;
    return next_sigaction(SIGSEGV, NULL, &now) == 0 && now.sa_flags & SA_SIGINFO &&
           now.sa_sigaction == guard_handler;
}

bool guard_take_signal(void)
{
    sigset_t mask;
    if (guard_state.protects &&
        (next_mask(SIG_BLOCK, NULL, &mask) != 0 || sigismember(&mask, SIGSEGV)))
        return false;
    const sigset_t before = lock_signals();
    bool good = atomic_load(&guard_state.signals.taken) && guard_has_signal();
    if (!good && !atomic_load(&guard_state.signals.taken) &&
        next_sigaction(SIGSEGV, NULL, &guard_state.signals.action) == 0) {
        const struct sigaction ours = ours_for(&guard_state.signals.action);
        good = next_sigaction(SIGSEGV, &ours, NULL) == 0;
        atomic_store(&guard_state.signals.process, getpid());
        atomic_store(&guard_state.signals.taken, good);
    }
    unlock_signals(&before);
    return good;
}

void guard_signals_forked(void)
{
    atomic_store(&guard_state.signals.process, getpid());
}

// Returns whether guard handles SIGSEGV, and keeps the program's action for it.
static bool is_kept(int number)
{
    return number == SIGSEGV && atomic_load(&guard_state.signals.taken) &&
           atomic_load(&guard_state.signals.process) == getpid();
}

// --- The program's handler -----------------------------------------------------------------------

static int set_action(const struct sigaction *action, struct sigaction *old)
{
    const struct sigaction wanted =
        action ? *action : (struct sigaction){0}; // which may lie in a closed page
    struct sigaction had;
    const sigset_t before = lock_signals();
    had = guard_state.signals.action;
    if (action) {
        guard_state.signals.action = wanted;
        const struct sigaction ours = ours_for(&wanted);
        struct sigaction now;
        next_sigaction(SIGSEGV, &ours, NULL);
        // On some machines the C library adds a flag, which the program sees when it queries the
        // action.
        if (next_sigaction(SIGSEGV, NULL, &now) == 0)
            guard_state.signals.action.sa_flags |= now.sa_flags & ~ours.sa_flags;
    }
    unlock_signals(&before);
    if (old)
        *old = had;
    return 0;
}

static void die(const siginfo_t *info)
{
    const struct sigaction default_action = {.sa_handler = SIG_DFL};
    next_sigaction(SIGSEGV, &default_action, NULL);
    // A fault repeats when the handler returns; a signal that was sent is sent again.
    if (info->si_code <= 0)
        guard_system_call(SYS_tgkill, getpid(), guard_system_call(SYS_gettid, 0, 0, 0, 0), SIGSEGV,
                          0);
}

// Finds out whether the program's handler was running in this thread, further up its stack, when it
// was interrupted. Guard cannot see when a handler leaves by siglongjmp, as many do, so its frame
// counts only while its mark is intact.
#define IN_HANDLER UINT64_C(0x676C696E74207573)
static bool is_in_handler(uint64_t sp)
{
    enum { STACK_BYTES = 1 << 20 };
    const uint64_t frame = (uint64_t)(uintptr_t)core_thread.segv_frame;
    return frame > sp && frame - sp < STACK_BYTES && *core_thread.segv_frame == IN_HANDLER;
}

void guard_pass_signal(int number, siginfo_t *info, void *context)
{
    const bool sent = info->si_code <= 0;
    if (sent && core_thread.segv_blocked) {
        core_thread.segv_pending = true;
        return;
    }
    const sigset_t before = lock_signals();
    const struct sigaction action = guard_state.signals.action;
    if (action.sa_flags & (int)SA_RESETHAND && action.sa_handler != SIG_IGN)
        guard_state.signals.action.sa_handler = SIG_DFL;
    unlock_signals(&before);
    if (action.sa_handler == SIG_IGN && sent)
        return;
    // A fault while the program has the signal blocked, as in its own handler, ends the program.
    if (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN ||
        (!sent && (core_thread.segv_blocked || is_in_handler(guard_stack_pointer(context))))) {
        die(info);
        return;
    }
    sigset_t mask = action.sa_mask, old;
    const bool defers = !(action.sa_flags & SA_NODEFER);
    if (guard_state.protects)
        sigdelset(&mask, SIGSEGV);
    else if (defers)
        sigaddset(&mask, SIGSEGV);
    next_mask(SIG_BLOCK, &mask, &old);
    volatile uint64_t mark = IN_HANDLER;
    const volatile uint64_t *outer = core_thread.segv_frame;
    core_thread.segv_frame = defers && guard_state.protects ? &mark : NULL;
    if (action.sa_flags & SA_SIGINFO)
        action.sa_sigaction(number, info, context);
    else
        action.sa_handler(number);
    mark = 0;
    core_thread.segv_frame = outer;
    next_mask(SIG_SETMASK, &old, NULL);
}

// --- Calls of the program ------------------------------------------------------------------------

int guard_sigaction(int number, const struct sigaction *action, struct sigaction *old)
{
    if (is_kept(number))
        return set_action(action, old);
    if (number < 1 || number > 64 || number == SIGSEGV || !guard_state.protects)
        return next_sigaction(number, action, old);
    struct sigaction changed;
    const uint64_t bit = UINT64_C(1) << (number - 1);
    const bool had = atomic_load(&guard_state.signals.masks) & bit;
    bool has = false;
    if (action) {
        changed = *action;
        has = sigismember(&changed.sa_mask, SIGSEGV) == 1;
        sigdelset(&changed.sa_mask, SIGSEGV);
    }
    const int result = next_sigaction(number, action ? &changed : NULL, old);
    if (result == 0 && action && has)
        atomic_fetch_or(&guard_state.signals.masks, bit);
    else if (result == 0 && action)
        atomic_fetch_and(&guard_state.signals.masks, ~bit);
    if (result == 0 && old && had)
        sigaddset(&old->sa_mask, SIGSEGV);
    return result;
}

static sighandler_t set_old(sighandler_t handler, int flags)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags}, old;
    if (handler == SIG_ERR) {
        errno = EINVAL;
        return SIG_ERR;
    }
    sigemptyset(&action.sa_mask);
    set_action(&action, &old);
    return old.sa_handler;
}

bool guard_signal(int number, sighandler_t handler, int flags, sighandler_t *old)
{
    const bool kept = is_kept(number);
    if (kept)
        *old = set_old(handler, flags);
    return kept;
}

int guard_mask(int how, const sigset_t *set, sigset_t *old,
               int (*next)(int, const sigset_t *, sigset_t *))
{
    struct core_thread *thread = &core_thread;
    const bool was = thread->segv_blocked;
    sigset_t changed;
    bool has = false;
    if (!guard_state.protects)
        return next(how, set, old);
    if (set) {
        changed = *set;
        has = sigismember(&changed, SIGSEGV) == 1;
        if (how != SIG_UNBLOCK)
            sigdelset(&changed, SIGSEGV);
    }
    const int result = next(how, set ? &changed : NULL, old);
    if (result != 0)
        return result;
    if (old && was)
        sigaddset(old, SIGSEGV);
    if (set)
        thread->segv_blocked = how == SIG_SETMASK ? has
                               : how == SIG_BLOCK ? was || has
                                                  : was && !has;
    if (thread->segv_pending && !thread->segv_blocked) {
        thread->segv_pending = false;
        guard_system_call(SYS_tgkill, getpid(), guard_system_call(SYS_gettid, 0, 0, 0, 0), SIGSEGV,
                          0);
    }
    return result;
}
