// SPDX-License-Identifier: Apache-2.0
// Functions of the C library that libglint.so calls and that are system calls, or arithmetic on a
// set of signals. They have the C library's names for the linker and are hidden in libglint.so,
// where all calls lead to them. So glint needs no function of these names from others: a C program
// may have its own functions connect() or send(), which the loader finds first, and a preloaded
// library may replace them. None is a cancellation point.
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "inject/guard/kernel.h"

_Static_assert(sizeof(off_t) == 8, "offsets are one argument of a system call");

static long answer(long result)
{
    if (result >= 0 || result < -4095)
        return result;
    errno = (int)-result;
    return -1;
}

#define ASK(number, a, b, c, d, e, f)                                                              \
    answer(guard_system_call6(SYS_##number, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), \
                              (long)(f)))

// FUNCTION(TYPE, NAME, PARAMETERS) begins the definition of the C library's function NAME.
#define FUNCTION(type, name, ...)                   \
    type system_##name(__VA_ARGS__) __asm__(#name); \
    type system_##name(__VA_ARGS__)

FUNCTION(long, syscall, long number, ...)
{
    long values[6];
    va_list list;
    va_start(list, number);
    for (unsigned i = 0; i < 6; i++)
        values[i] = va_arg(list, long); // what was not passed is not used
    va_end(list);
    return answer(guard_system_call6(number, values[0], values[1], values[2], values[3], values[4],
                                     values[5]));
}

// --- Files ---------------------------------------------------------------------------------------

FUNCTION(int, openat, int folder, const char *path, int flags, ...)
{
    unsigned mode = 0;
    if (flags & O_CREAT) {
        va_list list;
        va_start(list, flags);
        mode = va_arg(list, unsigned);
        va_end(list);
    }
    return (int)ASK(openat, folder, path, flags, mode, 0, 0);
}

FUNCTION(int, open, const char *path, int flags, ...)
{
    unsigned mode = 0;
    if (flags & O_CREAT) {
        va_list list;
        va_start(list, flags);
        mode = va_arg(list, unsigned);
        va_end(list);
    }
    return (int)ASK(openat, AT_FDCWD, path, flags, mode, 0, 0);
}

FUNCTION(int, close, int file)
{
    return (int)ASK(close, file, 0, 0, 0, 0, 0);
}

FUNCTION(ssize_t, read, int file, void *to, size_t bytes)
{
    return ASK(read, file, to, bytes, 0, 0, 0);
}

FUNCTION(ssize_t, pread, int file, void *to, size_t bytes, off_t offset)
{
    return ASK(pread64, file, to, bytes, offset, 0, 0);
}

FUNCTION(ssize_t, write, int file, const void *from, size_t bytes)
{
    return ASK(write, file, from, bytes, 0, 0, 0);
}

FUNCTION(off_t, lseek, int file, off_t offset, int whence)
{
    return ASK(lseek, file, offset, whence, 0, 0, 0);
}

FUNCTION(int, fallocate, int file, int mode, off_t offset, off_t bytes)
{
    return (int)ASK(fallocate, file, mode, offset, bytes, 0, 0);
}

// Not for locks, which not every kernel takes as the C library's structure has them.
FUNCTION(int, fcntl, int file, int command, ...)
{
    va_list list;
    va_start(list, command);
    const long value = va_arg(list, long); // what was not passed is not used
    va_end(list);
    return (int)ASK(fcntl, file, command, value, 0, 0, 0);
}

FUNCTION(int, memfd_create, const char *name, unsigned flags)
{
    return (int)ASK(memfd_create, name, flags, 0, 0, 0, 0);
}

FUNCTION(int, futimens, int file, const struct timespec *times)
{
    return (int)ASK(utimensat, file, NULL, times, 0, 0, 0);
}

FUNCTION(ssize_t, readlink, const char *path, char *to, size_t bytes)
{
    return ASK(readlinkat, AT_FDCWD, path, to, bytes, 0, 0);
}

FUNCTION(int, mkdir, const char *path, mode_t mode)
{
    return (int)ASK(mkdirat, AT_FDCWD, path, mode, 0, 0, 0);
}

FUNCTION(int, linkat, int from_folder, const char *from, int to_folder, const char *to, int flags)
{
    return (int)ASK(linkat, from_folder, from, to_folder, to, flags, 0);
}

FUNCTION(int, renameat, int from_folder, const char *from, int to_folder, const char *to)
{
    return (int)ASK(renameat2, from_folder, from, to_folder, to, 0, 0);
}

FUNCTION(int, unlinkat, int folder, const char *path, int flags)
{
    return (int)ASK(unlinkat, folder, path, flags, 0, 0, 0);
}

FUNCTION(int, socket, int domain, int type, int protocol)
{
    return (int)ASK(socket, domain, type, protocol, 0, 0, 0);
}

FUNCTION(int, connect, int file, const struct sockaddr *address, socklen_t bytes)
{
    return (int)ASK(connect, file, address, bytes, 0, 0, 0);
}

FUNCTION(ssize_t, sendmsg, int file, const struct msghdr *message, int flags)
{
    return ASK(sendmsg, file, message, flags, 0, 0, 0);
}

// --- Memory --------------------------------------------------------------------------------------

FUNCTION(void *, mmap, void *at, size_t bytes, int protection, int flags, int file, off_t offset)
{
    return (void *)ASK(mmap, at, bytes, protection, flags, file, offset); // NOLINT
}

FUNCTION(int, munmap, void *at, size_t bytes)
{
    return (int)ASK(munmap, at, bytes, 0, 0, 0, 0);
}

FUNCTION(int, mprotect, void *at, size_t bytes, int protection)
{
    return (int)ASK(mprotect, at, bytes, protection, 0, 0, 0);
}

FUNCTION(int, madvise, void *at, size_t bytes, int advice)
{
    return (int)ASK(madvise, at, bytes, advice, 0, 0, 0);
}

FUNCTION(int, mincore, void *at, size_t bytes, unsigned char *pages)
{
    return (int)ASK(mincore, at, bytes, pages, 0, 0, 0);
}

// Asks where the heap ends; moves nothing.
FUNCTION(void *, sbrk, intptr_t by)
{
    return by ? (void *)-1 : (void *)ASK(brk, NULL, 0, 0, 0, 0, 0); // NOLINT
}

FUNCTION(ssize_t, process_vm_readv, pid_t process, const struct iovec *to, unsigned long to_count,
         const struct iovec *from, unsigned long from_count, unsigned long flags)
{
    return ASK(process_vm_readv, process, to, to_count, from, from_count, flags);
}

// --- Process and threads -------------------------------------------------------------------------

FUNCTION(pid_t, getpid, void)
{
    return (pid_t)ASK(getpid, 0, 0, 0, 0, 0, 0);
}

FUNCTION(pid_t, getppid, void)
{
    return (pid_t)ASK(getppid, 0, 0, 0, 0, 0, 0);
}

FUNCTION(uid_t, geteuid, void)
{
    return (uid_t)ASK(geteuid, 0, 0, 0, 0, 0, 0);
}

FUNCTION(int, getrlimit, __rlimit_resource_t which, struct rlimit *limit)
{
    return (int)ASK(prlimit64, 0, which, NULL, limit, 0, 0);
}

FUNCTION(ssize_t, getrandom, void *to, size_t bytes, unsigned flags)
{
    return ASK(getrandom, to, bytes, flags, 0, 0, 0);
}

FUNCTION(int, prctl, int option, ...)
{
    unsigned long values[4];
    va_list list;
    va_start(list, option);
    for (unsigned i = 0; i < 4; i++)
        values[i] = va_arg(list, unsigned long); // what was not passed is not used
    va_end(list);
    return (int)ASK(prctl, option, values[0], values[1], values[2], values[3], 0);
}

FUNCTION(int, sched_yield, void)
{
    return (int)ASK(sched_yield, 0, 0, 0, 0, 0, 0);
}

FUNCTION(int, sched_getaffinity, pid_t thread, size_t bytes, cpu_set_t *set)
{
    const long written = ASK(sched_getaffinity, thread, bytes, set, 0, 0, 0);
    if (written < 0)
        return -1;
    memset((char *)set + written, 0, bytes - (size_t)written);
    return 0;
}

FUNCTION(int, nanosleep, const struct timespec *time, struct timespec *left)
{
    return (int)ASK(nanosleep, time, left, 0, 0, 0, 0);
}

// Returns the error and keeps errno.
FUNCTION(int, clock_nanosleep, clockid_t clock, int flags, const struct timespec *time,
         struct timespec *left)
{
    return (int)-guard_system_call(SYS_clock_nanosleep, clock, flags, (long)time, (long)left);
}

// --- Sets of signals -----------------------------------------------------------------------------

// The kernel's set, one bit for each of 64 signals; the C library's has room for more.
static uint64_t *bits_of(sigset_t *set)
{
    return (uint64_t *)set;
}

FUNCTION(int, sigemptyset, sigset_t *set)
{
    memset(set, 0, sizeof(*set));
    return 0;
}

// All but the two that the C library keeps for itself.
FUNCTION(int, sigfillset, sigset_t *set)
{
    memset(set, 0, sizeof(*set));
    *bits_of(set) = ~(UINT64_C(3) << (32 - 1));
    return 0;
}

FUNCTION(int, sigaddset, sigset_t *set, int signal)
{
    *bits_of(set) |= UINT64_C(1) << (signal - 1);
    return 0;
}

FUNCTION(int, sigdelset, sigset_t *set, int signal)
{
    *bits_of(set) &= ~(UINT64_C(1) << (signal - 1));
    return 0;
}

FUNCTION(int, sigismember, const sigset_t *set, int signal)
{
    return (*(const uint64_t *)set >> (signal - 1)) & 1;
}
