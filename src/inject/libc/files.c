// SPDX-License-Identifier: Apache-2.0
// Functions of the C library that hand memory to the system, which fails on closed pages instead of
// raising a signal. The memory is opened before, recorded as used, and not closed during the call.
// If glint needs nothing of this process, the functions pass the call on at once. If no page is
// closed, they only take a hold on the memory, so that no thread closes it meanwhile. A call that
// never returns, for example because its thread is cancelled, leaves its hold behind, and that
// memory is no longer watched.
#include <aio.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "inject/hooks/inside.h"
#include "inject/util/next.h"
#include "libc.h"

// Memory that a function is about to hand over. Several pieces count as one that spans them all.
// The tables that list the pieces are not included, because they may lie far away, and the memory
// between is not handed over.
struct memory {
    struct span {
        uint64_t low, high;
    } data, tables;
};

static void add(struct span *span, const void *pointer, size_t bytes)
{
    const uint64_t low = (uint64_t)(uintptr_t)pointer;
    const uint64_t high = bytes > UINT64_MAX - low ? UINT64_MAX : low + bytes;
    if (!pointer || !bytes)
        return;
    if (!span->low || low < span->low)
        span->low = low;
    if (high > span->high)
        span->high = high;
}

static struct memory one(const void *pointer, size_t bytes)
{
    struct memory memory = {0};
    add(&memory.data, pointer, bytes);
    return memory;
}

static struct memory aio(const void *pointer, size_t bytes, const struct sigevent *event)
{
    libc_check_event(event);
    return one(pointer, bytes);
}

// Returns whether there is memory behind a pointer of the program's that glint is about to follow.
// The system refuses the call if there is none, and must get to see it. Scheduling what is changed
// to be written does nothing on Linux but check that.
static bool is_there(const void *pointer, size_t bytes)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), start = (uintptr_t)pointer;
    const uintptr_t low = start / page * page;
    const int before = errno;
    const bool there = pointer && bytes && start + bytes > start &&
                       msync((void *)low, start + bytes - low, MS_ASYNC) == 0; // NOLINT
    errno = before;
    return there;
}

// The system refuses longer lists without reading them.
static void add_vector(struct memory *memory, const struct iovec *pieces, long count)
{
    if (count <= 0 || count > IOV_MAX || !is_there(pieces, (size_t)count * sizeof(*pieces)))
        return;
    add(&memory->tables, pieces, (size_t)count * sizeof(*pieces));
    for (long i = 0; i < count; i++)
        add(&memory->data, pieces[i].iov_base, pieces[i].iov_len);
}

static struct memory vector(const struct iovec *pieces, long count)
{
    struct memory memory = {0};
    add_vector(&memory, pieces, count);
    return memory;
}

static void add_message(struct memory *memory, const struct msghdr *message)
{
    if (!is_there(message, sizeof(*message)))
        return;
    add(&memory->tables, message, sizeof(*message));
    add(&memory->tables, message->msg_name, message->msg_namelen);
    add(&memory->tables, message->msg_control, message->msg_controllen);
    add_vector(memory, message->msg_iov, (long)message->msg_iovlen);
}

static struct memory message_of(const struct msghdr *message)
{
    struct memory memory = {0};
    add_message(&memory, message);
    return memory;
}

static struct memory messages_of(const struct mmsghdr *messages, unsigned count)
{
    struct memory memory = {0};
    count = count < IOV_MAX ? count : IOV_MAX; // the system sends no more at once
    add(&memory.tables, messages, count * sizeof(*messages));
    for (unsigned i = 0; i < count && is_there(&messages[i], sizeof(*messages)); i++)
        add_message(&memory, &messages[i].msg_hdr);
    return memory;
}

static struct guard_hold *guard_all(const struct hooks_inside *inside, const struct memory *memory)
{
    struct span all = memory->data;
    if (memory->tables.low)
        add(&all, (const void *)(uintptr_t)memory->tables.low, // NOLINT
            memory->tables.high - memory->tables.low);
    return inside->take_guard(all.low, all.high);
}

static void open_span(const struct hooks_inside *inside, struct span span,
                      struct stack_unwind_registers caller)
{
    if (span.low)
        inside->open(span.low, span.high, caller);
}

static const char own_process[] =
    "the program reads or writes its own memory through process_vm_readv or process_vm_writev";

static void read_process(const struct hooks_inside *inside, pid_t pid, const void *caller)
{
    if (pid == getpid() && !inside->is_own(caller))
        inside->found_reader(own_process);
}

// Defines a function that hands memory over. `handed` is evaluated only if pages may be closed.
#define HANDS_OVER(type, name, params, args, handed)           \
    type libc_##name params __asm__(#name);                    \
    type libc_##name params                                    \
    {                                                          \
        type(*const next) params = NEXT(name, type(*) params); \
        const struct hooks_inside *inside = libc_inside();     \
        if (!inside)                                           \
            return next args;                                  \
        const struct memory given = (handed);                  \
        if (!given.data.low && !given.tables.low)              \
            return next args;                                  \
        struct guard_hold *guard = guard_all(inside, &given);  \
        open_span(inside, given.tables, UNWIND_CALLER);        \
        open_span(inside, given.data, UNWIND_CALLER);          \
        const type result = next args;                         \
        inside->give_guard(guard);                             \
        return result;                                         \
    }

#pragma GCC visibility push(default)

// --- Files, sockets ------------------------------------------------------------------------------

HANDS_OVER(ssize_t, write, (int f, const void *p, size_t n), (f, p, n), one(p, n))
HANDS_OVER(ssize_t, pwrite, (int f, const void *p, size_t n, off_t at), (f, p, n, at), one(p, n))
HANDS_OVER(ssize_t, pwrite64, (int f, const void *p, size_t n, off64_t at), (f, p, n, at),
           one(p, n))
HANDS_OVER(ssize_t, read, (int f, void *p, size_t n), (f, p, n), one(p, n))
HANDS_OVER(ssize_t, pread, (int f, void *p, size_t n, off_t at), (f, p, n, at), one(p, n))
HANDS_OVER(ssize_t, pread64, (int f, void *p, size_t n, off64_t at), (f, p, n, at), one(p, n))
HANDS_OVER(ssize_t, writev, (int f, const struct iovec *v, int n), (f, v, n), vector(v, n))
HANDS_OVER(ssize_t, readv, (int f, const struct iovec *v, int n), (f, v, n), vector(v, n))
HANDS_OVER(ssize_t, pwritev, (int f, const struct iovec *v, int n, off_t at), (f, v, n, at),
           vector(v, n))
HANDS_OVER(ssize_t, preadv, (int f, const struct iovec *v, int n, off_t at), (f, v, n, at),
           vector(v, n))
HANDS_OVER(ssize_t, pwritev64, (int f, const struct iovec *v, int n, off64_t at), (f, v, n, at),
           vector(v, n))
HANDS_OVER(ssize_t, preadv64, (int f, const struct iovec *v, int n, off64_t at), (f, v, n, at),
           vector(v, n))
HANDS_OVER(ssize_t, pwritev2, (int f, const struct iovec *v, int n, off_t at, int flags),
           (f, v, n, at, flags), vector(v, n))
HANDS_OVER(ssize_t, preadv2, (int f, const struct iovec *v, int n, off_t at, int flags),
           (f, v, n, at, flags), vector(v, n))
HANDS_OVER(ssize_t, pwritev64v2, (int f, const struct iovec *v, int n, off64_t at, int flags),
           (f, v, n, at, flags), vector(v, n))
HANDS_OVER(ssize_t, preadv64v2, (int f, const struct iovec *v, int n, off64_t at, int flags),
           (f, v, n, at, flags), vector(v, n))
HANDS_OVER(ssize_t, vmsplice, (int f, const struct iovec *v, size_t n, unsigned flags),
           (f, v, n, flags), vector(v, (long)n))
HANDS_OVER(ssize_t, send, (int f, const void *p, size_t n, int flags), (f, p, n, flags), one(p, n))
HANDS_OVER(ssize_t, sendto,
           (int f, const void *p, size_t n, int flags, const struct sockaddr *to, socklen_t bytes),
           (f, p, n, flags, to, bytes), one(p, n))
HANDS_OVER(ssize_t, sendmsg, (int f, const struct msghdr *m, int flags), (f, m, flags),
           message_of(m))
HANDS_OVER(int, sendmmsg, (int f, struct mmsghdr *m, unsigned n, int flags), (f, m, n, flags),
           messages_of(m, n))
HANDS_OVER(ssize_t, recv, (int f, void *p, size_t n, int flags), (f, p, n, flags), one(p, n))
HANDS_OVER(ssize_t, recvfrom,
           (int f, void *p, size_t n, int flags, struct sockaddr *from, socklen_t *bytes),
           (f, p, n, flags, from, bytes), one(p, n))
HANDS_OVER(ssize_t, recvmsg, (int f, struct msghdr *m, int flags), (f, m, flags), message_of(m))
HANDS_OVER(int, recvmmsg, (int f, struct mmsghdr *m, unsigned n, int flags, struct timespec *time),
           (f, m, n, flags, time), messages_of(m, n))
HANDS_OVER(ssize_t, getrandom, (void *p, size_t n, unsigned flags), (p, n, flags), one(p, n))

// For another process, these functions hand over memory of this one. For this process, both ends
// are its memory, and the system accesses one of them without a page fault.
#define OF_PROCESS(name)                                                               \
    HANDS_OVER(ssize_t, name,                                                          \
               (pid_t pid, const struct iovec *own, unsigned long count,               \
                const struct iovec *other, unsigned long others, unsigned long flags), \
               (pid, own, count, other, others, flags),                                \
               (read_process(inside, pid, __builtin_return_address(0)), vector(own, (long)count)))
OF_PROCESS(process_vm_readv)
OF_PROCESS(process_vm_writev)

// The variants that compilers use if they know the size of the memory.
HANDS_OVER(ssize_t, __read_chk, (int f, void *p, size_t n, size_t room), (f, p, n, room), one(p, n))
HANDS_OVER(ssize_t, __pread_chk, (int f, void *p, size_t n, off_t at, size_t room),
           (f, p, n, at, room), one(p, n))
HANDS_OVER(ssize_t, __pread64_chk, (int f, void *p, size_t n, off64_t at, size_t room),
           (f, p, n, at, room), one(p, n))
HANDS_OVER(ssize_t, __recv_chk, (int f, void *p, size_t n, size_t room, int flags),
           (f, p, n, room, flags), one(p, n))
HANDS_OVER(ssize_t, __recvfrom_chk,
           (int f, void *p, size_t n, size_t room, int flags, struct sockaddr *from,
            socklen_t *bytes),
           (f, p, n, room, flags, from, bytes), one(p, n))

// The C library's own reads and writes do not call the functions above. Text that is printed is
// read by the C library's code first, which raises the signal.
HANDS_OVER(size_t, fwrite, (const void *p, size_t s, size_t n, FILE *f), (p, s, n, f), one(p, s *n))
HANDS_OVER(size_t, fread, (void *p, size_t s, size_t n, FILE *f), (p, s, n, f), one(p, s *n))
HANDS_OVER(size_t, fwrite_unlocked, (const void *p, size_t s, size_t n, FILE *f), (p, s, n, f),
           one(p, s *n))
HANDS_OVER(size_t, fread_unlocked, (void *p, size_t s, size_t n, FILE *f), (p, s, n, f),
           one(p, s *n))
HANDS_OVER(size_t, __fread_chk, (void *p, size_t room, size_t s, size_t n, FILE *f),
           (p, room, s, n, f), one(p, s *n))
HANDS_OVER(size_t, __fread_unlocked_chk, (void *p, size_t room, size_t s, size_t n, FILE *f),
           (p, room, s, n, f), one(p, s *n))

// Operations that continue after the function has returned. The memory is recorded as used now. A
// thread of the C library that accesses it finds no closed page, unless a copy into the memory
// closes one meanwhile.
#define AIO(a) \
    ((a) ? aio((const void *)(a)->aio_buf, (a)->aio_nbytes, &(a)->aio_sigevent) : one(NULL, 0))
HANDS_OVER(int, aio_write, (struct aiocb * a), (a), AIO(a))
HANDS_OVER(int, aio_read, (struct aiocb * a), (a), AIO(a))
HANDS_OVER(int, aio_write64, (struct aiocb64 * a), (a), AIO(a))
HANDS_OVER(int, aio_read64, (struct aiocb64 * a), (a), AIO(a))

// --- Functions whose memory is unknown -----------------------------------------------------------

// The memory that the arguments lead to is unknown, so everything is opened, unless the driver
// calls.
int libc_ioctl(int file, unsigned long request, ...) __asm__("ioctl");
int libc_ioctl(int file, unsigned long request, ...)
{
    va_list list;
    va_start(list, request);
    void *argument = va_arg(list, void *);
    va_end(list);
    int (*const next)(int, unsigned long, ...) = NEXT(ioctl, int (*)(int, unsigned long, ...));
    const struct hooks_inside *inside = libc_inside();
    // The driver's own requests are safe, and those of a terminal access only a few bytes.
    if (!inside || inside->is_in_driver() || _IOC_TYPE(request) == 'T')
        return next(file, request, argument);
    struct guard_hold *guard = inside->take_guard(1, UINT64_MAX);
    inside->open_all();
    const int result = next(file, request, argument);
    inside->give_guard(guard);
    return result;
}

// Returns the reason if the system call lets the system access memory asynchronously, or memory
// that the arguments do not name; otherwise NULL.
static const char *reader_of(long number, long first)
{
    switch (number) {
    case SYS_io_uring_setup:
    case SYS_io_uring_enter:
    case SYS_io_uring_register:
        return "the program uses io_uring: the system accesses its memory asynchronously";
    case SYS_io_setup:
    case SYS_io_submit:
        return "the program uses io_submit: the system accesses its memory asynchronously";
    case SYS_userfaultfd: return "the program handles page faults itself (userfaultfd)";
    case SYS_process_vm_readv:
    case SYS_process_vm_writev: return first == getpid() ? own_process : NULL;
    default: return NULL;
    }
}

static bool opens_file(long number)
{
#ifdef SYS_open
    if (number == SYS_open)
        return true;
#endif
    return number == SYS_openat || number == SYS_openat2;
}

static void before_system_call(const struct hooks_inside *inside, long number,
                               const long argument[6])
{
    const char *why = reader_of(number, argument[0]);
    if (why)
        inside->found_reader(why);
    if (libc_blocks_fault(number, argument))
        inside->give_up(libc_blocked);
    inside->open_all();
}

long libc_syscall(long number, ...) __asm__("syscall");
long libc_syscall(long number, ...)
{
    va_list list;
    long argument[6];
    va_start(list, number);
    for (unsigned i = 0; i < 6; i++)
        argument[i] = va_arg(list, long);
    va_end(list);
    long (*const next)(long, ...) = NEXT(syscall, long (*)(long, ...));
    const struct hooks_inside *inside = libc_inside();
    const bool watched =
        inside && number != SYS_gettid && !inside->is_own(__builtin_return_address(0));
    if (watched && libc_reads_clock(number))
        inside->clock_read(__builtin_return_address(0));
    if (watched)
        before_system_call(inside, number, argument);
    const long result =
        next(number, argument[0], argument[1], argument[2], argument[3], argument[4], argument[5]);
    if (watched && opens_file(number))
        inside->opened((int)result);
    return result;
}
#pragma GCC visibility pop
