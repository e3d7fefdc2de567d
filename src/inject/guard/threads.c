// SPDX-License-Identifier: Apache-2.0
// Finds out whether some thread blocks SIGSEGV: the system ends a process in which such a thread
// touches a closed page. Masks set through libglint-sync.so never really block it. Before pages are
// closed, guard reads the masks of all threads from the system, and so finds a thread that has
// blocked it in any other way. The C library blocks all signals for a moment while it creates a
// thread, including its internal ones, which no program can block: no code of the program runs
// then.
#include "threads.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "kernel.h"
#include "ranges.h"

static bool is_at_risk(uint64_t blocked)
{
    const uint64_t never = UINT64_C(1) << (SIGKILL - 1) | UINT64_C(1) << (SIGSTOP - 1);
    return blocked >> (SIGSEGV - 1) & 1 && (blocked | never) != UINT64_MAX;
}

// Parses "SigBlk:\t0000000000000400". Returns true if SIGSEGV is not in it. A thread without such a
// line has ended meanwhile.
static bool takes_faults(long folder, const char *thread)
{
    enum { TEXT_BYTES = 4096, NAME_BYTES = 64 };
    static const char field[] = "\nSigBlk:\t";
    char path[NAME_BYTES], text[TEXT_BYTES];
    const int length = snprintf(path, sizeof(path), "%s/status", thread);
    if (length < 0 || length >= (int)sizeof(path))
        return false;
    const long file =
        guard_system_call(SYS_openat, folder, (long)(uintptr_t)path, O_RDONLY | O_CLOEXEC, 0);
    if (file < 0)
        return file == -ENOENT || file == -ESRCH;
    const long got = guard_system_call(SYS_read, file, (long)(uintptr_t)text, sizeof(text) - 1, 0);
    guard_system_call(SYS_close, file, 0, 0, 0);
    if (got <= 0)
        return got == -ESRCH;
    text[got] = '\0';
    const char *at = strstr(text, field);
    return !at || !is_at_risk(strtoull(at + sizeof(field) - 1, NULL, 16));
}

bool guard_threads_take_faults(void)
{
    enum { LIST_BYTES = 4096 };
    static const char path[] = "/proc/self/task";
    _Alignas(struct dirent64) char list[LIST_BYTES];
    const long folder = guard_system_call(SYS_openat, AT_FDCWD, (long)(uintptr_t)path,
                                          O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    bool all = folder >= 0;
    long got = 0;
    while (all && (got = guard_system_call(SYS_getdents64, folder, (long)(uintptr_t)list,
                                           sizeof(list), 0)) > 0) {
        for (long at = 0; all && at < got;) {
            const struct dirent64 *entry = (const struct dirent64 *)(const void *)(list + at);
            all = entry->d_name[0] == '.' || takes_faults(folder, entry->d_name);
            at += entry->d_reclen;
        }
    }
    if (folder >= 0)
        guard_system_call(SYS_close, folder, 0, 0, 0);
    return all && got == 0;
}
