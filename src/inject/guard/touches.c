// SPDX-License-Identifier: Apache-2.0
// Answers faults on pages that are away. userfaultfd announces address and thread, but no call
// path. A thread of the program that touches the page itself is therefore sent SIGSEGV: its fault
// is interrupted, and it handles the touch with its own registers, as it does on a protected page
// (fault.c). Whoever cannot do that, because a system call touches the page, the thread blocks the
// signal, its stack may have no room for it, or it belongs to another process, is answered by a
// second thread.
//
// A signal must never reach a thread within a system call, which could then fail with EINTR. /proc
// says whether a blocked thread is in one.
#include "touches.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "fault.h"
#include "kernel.h"
#include "pager.h"
#include "ranges.h"
#include "room.h"
#include "signals.h"

// --- The touching thread -------------------------------------------------------------------------

// Reads a file of /proc/self/task/THREAD. Returns false if there is none.
static bool read_about(uint32_t thread, const char *name, char *text, size_t room)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/task/%u/%s", thread, name);
    const long file =
        guard_system_call(SYS_openat, AT_FDCWD, (long)(uintptr_t)path, O_RDONLY | O_CLOEXEC, 0);
    const long got =
        file < 0 ? -1 : guard_system_call(SYS_read, file, (long)(uintptr_t)text, (long)room - 1, 0);
    if (file >= 0)
        guard_system_call(SYS_close, file, 0, 0, 0);
    text[got > 0 ? got : 0] = '\0';
    return got > 0;
}

enum touch_place { IN_PROGRAM, IN_SYSTEM, RUNNING, ELSEWHERE };

// "-1 SP PC": blocked outside of system calls; "running": it does not wait for the page (any more);
// "63 ...": blocked in a system call.
static enum touch_place where_is(uint32_t thread, uint64_t *pc, uint64_t *sp)
{
    char text[256], *rest = NULL;
    *pc = *sp = 0;
    if (!read_about(thread, "syscall", text, sizeof(text)))
        return ELSEWHERE;
    if (strncmp(text, "-1 ", 3) != 0)
        return text[0] == 'r' ? RUNNING : IN_SYSTEM;
    *sp = strtoull(text + 3, &rest, 16);
    *pc = strtoull(rest, NULL, 16);
    return IN_PROGRAM;
}

static bool blocks_signal(uint32_t thread)
{
    static const char field[] = "\nSigBlk:\t";
    char text[4096];
    const char *at = read_about(thread, "status", text, sizeof(text)) ? strstr(text, field) : NULL;
    return !at || strtoull(at + sizeof(field) - 1, NULL, 16) >> (SIGSEGV - 1) & 1;
}

static bool send_signal(uint32_t thread, uint64_t address, bool write)
{
    siginfo_t info = {.si_signo = SIGSEGV,
                      .si_code = write ? GUARD_TOUCHED_WRITE : GUARD_TOUCHED_READ};
    info.si_addr = (void *)(uintptr_t)address; // NOLINT(performance-no-int-to-ptr)
    return !blocks_signal(thread) && guard_has_signal() &&
           guard_system_call(SYS_rt_tgsigqueueinfo, getpid(), thread, SIGSEGV,
                             (long)(uintptr_t)&info) == 0;
}

// --- Touches that were announced -----------------------------------------------------------------

static void hand_on(struct guard_touch touch)
{
    struct guard_pager *pager = &guard_state.pager;
    const uint32_t number = atomic_load(&pager->handed);
    for (;;) {
        const uint32_t handled = atomic_load(&pager->handled);
        if (number - handled < GUARD_TOUCHES)
            break;
        guard_system_call(SYS_futex, (long)(uintptr_t)&pager->handled, FUTEX_WAIT_PRIVATE, handled,
                          0);
    }
    pager->touches[number % GUARD_TOUCHES] = touch;
    atomic_store(&pager->handed, number + 1);
    guard_system_call(SYS_futex, (long)(uintptr_t)&pager->handed, FUTEX_WAKE_PRIVATE, 1, 0);
}

// A thread that has been sent a signal, or was running when it was examined. It is examined again
// after some time; if it still waits, the signal did not help.
struct waiting {
    uint32_t thread;
    uint64_t address;
    bool write, sent, again;
    uint64_t until_ns;
};
enum { MOST_WAITING = 256, SOON_NS = 5000000, LATER_NS = 500000000 };

struct waiting_list { // of the thread that reads announcements
    unsigned count;
    struct waiting items[MOST_WAITING];
};

static void hand_on_access(const struct waiting *about, uint64_t pc, bool system)
{
    hand_on((struct guard_touch){about->address, pc, about->write, system, -1});
}

static void wait_for(struct waiting_list *list, struct waiting about)
{
    if (list->count == MOST_WAITING) {
        hand_on_access(&about, 0, false);
        return;
    }
    about.until_ns = core_now_ns() + (about.sent ? LATER_NS : SOON_NS);
    about.again = true;
    list->items[list->count++] = about;
}

static void examine(struct waiting_list *list, struct waiting about)
{
    uint64_t pc, sp;
    const enum touch_place where = where_is(about.thread, &pc, &sp);
    if (where == IN_PROGRAM && !about.sent && guard_has_room(sp) &&
        send_signal(about.thread, about.address, about.write)) {
        about.sent = true;
        wait_for(list, about);
    } else if (where == IN_PROGRAM) {
        hand_on_access(&about, pc, false);
    } else if (where != RUNNING && !about.sent) {
        hand_on_access(&about, 0, true);
    } else if (where == RUNNING && !about.again) {
        // Another signal has interrupted it. If it still needs the page, it will fault again.
        wait_for(list, about);
    }
}

static void examine_again(struct waiting_list *list)
{
    const uint64_t now = core_now_ns();
    for (unsigned i = 0; i < list->count;) {
        const struct waiting about = list->items[i];
        if (about.until_ns > now) {
            i++;
            continue;
        }
        list->items[i] = list->items[--list->count];
        examine(list, about);
    }
}

// The thread has got what it waited for before, if it touches another page now.
static void forget(struct waiting_list *list, uint32_t thread)
{
    for (unsigned i = 0; i < list->count;) {
        if (list->items[i].thread == thread)
            list->items[i] = list->items[--list->count];
        else
            i++;
    }
}

// The child waits for its pages, and so for data that is owed. Other contents are copied at once,
// before this process can change them.
static void fork_happened(int child)
{
    if (guard_state.table.owes)
        hand_on((struct guard_touch){.child = child});
    else
        guard_pager_fill(child);
}

void *guard_touches_hand_on(void *unused)
{
    struct waiting_list list = {0};
    const int file = guard_state.pager.file;
    (void)unused;
    core_thread.depth = 1; // its calls are not the program's
    for (;;) {
        struct pollfd ready = {.fd = file, .events = POLLIN};
        const struct timespec time = {0, SOON_NS};
        struct uffd_msg message;
        guard_system_call6(SYS_ppoll, (long)(uintptr_t)&ready, 1,
                           list.count ? (long)(uintptr_t)&time : 0, 0, 0, 0);
        while (guard_system_call(SYS_read, file, (long)(uintptr_t)&message, sizeof(message), 0) ==
               sizeof(message)) {
            if (message.event == UFFD_EVENT_FORK)
                fork_happened((int)message.arg.fork.ufd);
            if (message.event != UFFD_EVENT_PAGEFAULT)
                continue;
            const struct waiting about = {.thread = message.arg.pagefault.feat.ptid,
                                          .address = message.arg.pagefault.address,
                                          .write = message.arg.pagefault.flags &
                                                   UFFD_PAGEFAULT_FLAG_WRITE};
            forget(&list, about.thread);
            examine(&list, about);
        }
        examine_again(&list);
    }
    return NULL;
}

// --- Touches that no thread of the program handles -----------------------------------------------

void *guard_touches_answer(void *unused)
{
    struct guard_pager *pager = &guard_state.pager;
    (void)unused;
    core_thread.depth = 1;
    for (;;) {
        const uint32_t number = atomic_load(&pager->handled);
        if (atomic_load(&pager->handed) == number) {
            guard_system_call(SYS_futex, (long)(uintptr_t)&pager->handed, FUTEX_WAIT_PRIVATE,
                              number, 0);
            continue;
        }
        const struct guard_touch touch = pager->touches[number % GUARD_TOUCHES];
        atomic_store(&pager->handled, number + 1);
        guard_system_call(SYS_futex, (long)(uintptr_t)&pager->handled, FUTEX_WAKE_PRIVATE, 1, 0);
        if (touch.child >= 0) {
            core_layers_touched(0, UINT64_MAX);
            guard_pager_fill(touch.child);
        } else {
            guard_answer(&touch);
        }
    }
    return NULL;
}
