// SPDX-License-Identifier: Apache-2.0
// Functions of the C library that hand memory to the system, which fails on closed pages instead of
// raising a signal: what they are given is opened before, told as used, and not closed while they
// are at it. And functions by which memory goes: what is watched there ends.
//
// They stand before the C library's in every program that is recorded: where first uses are not
// asked for they pass on at once, and where nothing is closed they do no more than say which memory
// they are at (a guard), so that nobody closes it meanwhile. A call that never returns, as when its
// thread is cancelled, leaves its guard behind, and that memory is not watched any more.
#include <aio.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "correct.h"
#include "first_use_inner.h"
#include "host_memory.h"
#include "libc_next.h"

// --- Guards --------------------------------------------------------------------------------------

// What lies in this library calls it too, with nothing of the program's.
static bool is_own(const void *caller)
{
    extern const char __ehdr_start[] __attribute__((visibility("hidden"))); // NOLINT: the linker's
    extern const char etext[] __attribute__((visibility("hidden")));
    return (const char *)caller >= __ehdr_start && (const char *)caller < etext;
}

void use_open_for_system(uint64_t low, uint64_t high, struct unwind_registers caller)
{
    const int error = errno;
    if (!state_is_on()) {
        first_use_forked();
    } else if (inject_thread.tracking) {
        use_force_open(low & ~(use_page_bytes() - 1),
                       (high + use_page_bytes() - 1) & ~(use_page_bytes() - 1));
    } else if (correct_on) {
        correct_touch(low, high);
    } else {
        const uint32_t stack =
            state.stacks && !inject_thread.depth ? stack_from(state.stacks, state.ring, caller) : 0;
        use_lock();
        use_hand_over(low, high, stack);
        use_unlock();
    }
    errno = error;
}

// The place that is taken; NULL: none, and nothing is closed until it is given back.
struct use_guard *use_take_guard(uint64_t low, uint64_t high)
{
    enum { TRIES = 16 };
    const uint64_t first = (uint64_t)(uintptr_t)&inject_thread >> 6;
    for (unsigned i = 0; i < TRIES; i++) {
        struct use_guard *guard = &use_table.guards[(first + i) % USE_GUARDS];
        uint64_t none = 0;
        if (atomic_compare_exchange_strong(&guard->low, &none, 1)) {
            atomic_store_explicit(&guard->high, high, memory_order_relaxed);
            atomic_store(&guard->low, low);
            return guard;
        }
    }
    atomic_fetch_add(&use_table.unguarded, 1);
    return NULL;
}

void use_give_guard(struct use_guard *guard)
{
    if (guard)
        atomic_store_explicit(&guard->low, 0, memory_order_release);
    else
        atomic_fetch_sub(&use_table.unguarded, 1);
}

// Memory that a function is about to hand over. Several pieces are as one that holds them all; but
// not the tables that say where they are, which may lie far away: what is between is not handed.
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

static void add_vector(struct memory *memory, const struct iovec *pieces, long count)
{
    add(&memory->tables, pieces, count > 0 ? (size_t)count * sizeof(*pieces) : 0);
    for (long i = 0; pieces && i < count; i++)
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
    if (!message)
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
    add(&memory.tables, messages, count * sizeof(*messages));
    for (unsigned i = 0; messages && i < count; i++)
        add_message(&memory, &messages[i].msg_hdr);
    return memory;
}

static struct use_guard *guard_all(const struct memory *memory)
{
    struct span all = memory->data;
    if (memory->tables.low)
        add(&all, (const void *)(uintptr_t)memory->tables.low, // NOLINT
            memory->tables.high - memory->tables.low);
    return use_take_guard(all.low, all.high);
}

static void open_span(struct span span, struct unwind_registers caller)
{
    if (span.low && use_may_be_closed(span.low, span.high))
        use_open_for_system(span.low, span.high, caller);
}

// Defines a function that hands memory over. Where it is watched for, `handed` is looked at.
// The compiler knows them by other names than the linker: not all are declared as they are.
#define HANDS_OVER(type, name, params, args, handed)           \
    type use_##name params __asm__(#name);                     \
    type use_##name params                                     \
    {                                                          \
        type(*const next) params = NEXT(name, type(*) params); \
        if (!use_is_asked())                                   \
            return next args;                                  \
        const struct memory given = (handed);                  \
        if (!given.data.low && !given.tables.low)              \
            return next args;                                  \
        struct use_guard *guard = guard_all(&given);           \
        open_span(given.tables, UNWIND_CALLER);                \
        open_span(given.data, UNWIND_CALLER);                  \
        const type result = next args;                         \
        use_give_guard(guard);                                 \
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
HANDS_OVER(ssize_t, process_vm_readv,
           (pid_t pid, const struct iovec *own, unsigned long count, const struct iovec *other,
            unsigned long others, unsigned long flags),
           (pid, own, count, other, others, flags), vector(own, (long)count))
HANDS_OVER(ssize_t, process_vm_writev,
           (pid_t pid, const struct iovec *own, unsigned long count, const struct iovec *other,
            unsigned long others, unsigned long flags),
           (pid, own, count, other, others, flags), vector(own, (long)count))

// What compilers make of these where they know how large the memory is.
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

// The library's own reading and writing does not come by the functions above. What is printed as
// text is touched before.
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

// What goes on when the function has returned: the memory is told as used now, and what is done
// with it by a thread of the C library meets no closed page unless a copy comes into it meanwhile.
HANDS_OVER(int, aio_write, (struct aiocb * a), (a),
           a ? one((const void *)a->aio_buf, a->aio_nbytes) : one(NULL, 0))
HANDS_OVER(int, aio_read, (struct aiocb * a), (a),
           a ? one((const void *)a->aio_buf, a->aio_nbytes) : one(NULL, 0))
HANDS_OVER(int, aio_write64, (struct aiocb64 * a), (a),
           a ? one((const void *)a->aio_buf, a->aio_nbytes) : one(NULL, 0))
HANDS_OVER(int, aio_read64, (struct aiocb64 * a), (a),
           a ? one((const void *)a->aio_buf, a->aio_nbytes) : one(NULL, 0))

// --- Anything ------------------------------------------------------------------------------------

// What the arguments lead to is not known: everything is opened, unless it is the driver that
// calls.
void use_open_all(void)
{
    const int error = errno;
    if (!use_may_be_closed(1, UINT64_MAX))
        return;
    if (!state_is_on()) {
        first_use_forked();
    } else if (inject_thread.tracking) {
        use_force_open(0, UINT64_MAX);
    } else if (correct_on) {
        correct_touch(0, UINT64_MAX);
    } else {
        use_lock();
        for (EACH_USE_RANGE(range)) {
            if (range->state == USE_ARMED && !range->whole) {
                use_tell_unknown(range, EVENT_USE_UNKNOWN);
                use_open(range->low, range->high);
            }
        }
        use_unlock();
    }
    errno = error;
}

int use_ioctl(int file, unsigned long request, ...) __asm__("ioctl");
int use_ioctl(int file, unsigned long request, ...)
{
    va_list list;
    va_start(list, request);
    void *argument = va_arg(list, void *);
    va_end(list);
    int (*const next)(int, unsigned long, ...) = NEXT(ioctl, int (*)(int, unsigned long, ...));
    if (!use_is_asked())
        return next(file, request, argument);
    // The driver knows what it does, and a terminal's are of a few bytes.
    if (inject_thread.depth || _IOC_TYPE(request) == 'T')
        return next(file, request, argument);
    struct use_guard *guard = use_take_guard(1, UINT64_MAX);
    use_open_all();
    const int result = next(file, request, argument);
    use_give_guard(guard);
    return result;
}

long use_syscall(long number, ...) __asm__("syscall");
long use_syscall(long number, ...)
{
    va_list list;
    long argument[6];
    va_start(list, number);
    for (unsigned i = 0; i < 6; i++)
        argument[i] = va_arg(list, long);
    va_end(list);
    long (*const next)(long, ...) = NEXT(syscall, long (*)(long, ...));
    if (use_is_asked() && number != SYS_gettid && !is_own(__builtin_return_address(0)))
        use_open_all();
    return next(number, argument[0], argument[1], argument[2], argument[3], argument[4],
                argument[5]);
}

// --- Memory that goes ----------------------------------------------------------------------------

static void forget(const void *pointer, size_t bytes, bool told)
{
    const int error = errno;
    const uint64_t low = (uint64_t)(uintptr_t)pointer, high = low + bytes;
    if (!use_may_be_closed(low, high))
        return;
    if (!state_is_on()) {
        first_use_forked();
    } else if (inject_thread.tracking) {
        use_force_open(low, high);
    } else if (correct_on && told) {
        correct_touch(low, high);
    } else if (correct_on) {
        correct_memory_gone(low, high);
    } else {
        use_lock();
        use_forget(low, high, told);
        use_unlock();
    }
    errno = error;
}

int use_munmap(void *p, size_t bytes) __asm__("munmap");
int use_munmap(void *p, size_t bytes)
{
    if (use_is_asked()) {
        forget(p, bytes, false);
        if (!is_own(__builtin_return_address(0)))
            host_unmapped(p, bytes, UNWIND_CALLER);
    }
    return NEXT(munmap, int (*)(void *, size_t))(p, bytes);
}

int use_mprotect(void *p, size_t bytes, int how) __asm__("mprotect");
int use_mprotect(void *p, size_t bytes, int how)
{
    if (use_is_asked())
        forget(p, bytes, true);
    return NEXT(mprotect, int (*)(void *, size_t, int))(p, bytes, how);
}

int use_madvise(void *p, size_t bytes, int advice) __asm__("madvise");
int use_madvise(void *p, size_t bytes, int advice)
{
    if (use_is_asked() && (advice == MADV_DONTNEED || advice == MADV_FREE || advice == MADV_REMOVE))
        forget(p, bytes, false);
    return NEXT(madvise, int (*)(void *, size_t, int))(p, bytes, advice);
}

void *use_mremap(void *p, size_t bytes, size_t wanted, int flags, ...) __asm__("mremap");
void *use_mremap(void *p, size_t bytes, size_t wanted, int flags, ...)
{
    va_list list;
    va_start(list, flags);
    void *to = va_arg(list, void *);
    va_end(list);
    if (use_is_asked())
        forget(p, bytes, true);
    if (use_is_asked() && flags & MREMAP_FIXED)
        forget(to, wanted, false);
    struct block known;
    const bool left = use_is_asked() && host_leaves(p, &known);
    if (use_is_asked() && flags & MREMAP_FIXED)
        host_unmapped(to, wanted, UNWIND_CALLER);
    void *moved =
        NEXT(mremap, void *(*)(void *, size_t, size_t, int, ...))(p, bytes, wanted, flags, to);
    if (left && moved != MAP_FAILED)
        host_freed(&known, UNWIND_CALLER);
    else if (left)
        host_stays(&known);
    if (left && moved != MAP_FAILED && wanted >= HOST_LEAST_BYTES)
        host_allocated(moved, wanted, known.kind, UNWIND_CALLER);
    return moved;
}

// What lay there before is gone.
static void map_block(const void *mapped, size_t bytes, int flags, struct unwind_registers caller)
{
    if (flags & (MAP_FIXED | MAP_FIXED_NOREPLACE))
        host_unmapped(mapped, bytes, caller);
    if (bytes >= HOST_LEAST_BYTES && !inject_thread.depth)
        host_allocated(mapped, bytes, flags & MAP_ANONYMOUS ? EVENT_HOST_MAPPED : EVENT_HOST_FILE,
                       caller);
}

#define MAPS(name, offset)                                                           \
    void *use_##name(void *p, size_t bytes, int how, int flags, int file,            \
                     offset at) __asm__(#name);                                      \
    void *use_##name(void *p, size_t bytes, int how, int flags, int file, offset at) \
    {                                                                                \
        void *(*const next)(void *, size_t, int, int, int, offset) =                 \
            NEXT(name, void *(*)(void *, size_t, int, int, int, offset));            \
        if (!use_is_asked() || is_own(__builtin_return_address(0)))                  \
            return next(p, bytes, how, flags, file, at);                             \
        if (flags & MAP_FIXED)                                                       \
            forget(p, bytes, false);                                                 \
        void *mapped = next(p, bytes, how, flags, file, at);                         \
        if (mapped != MAP_FAILED)                                                    \
            map_block(mapped, bytes, flags, UNWIND_CALLER);                          \
        return mapped;                                                               \
    }
MAPS(mmap, off_t)
MAPS(mmap64, off64_t)

// By the allocator that has the program's free(), if it can tell. Without it, data in the block is
// closed no longer than until the memory is touched.
static size_t size_of_block(void *block)
{
    struct dl_find_object one, other;
    void (*const next)(void *) = NEXT(free, void (*)(void *));
    size_t (*const size_of)(void *) = NEXT(malloc_usable_size, size_t(*)(void *));
    if (!size_of || _dl_find_object((void *)(uintptr_t)next, &one) ||
        _dl_find_object((void *)(uintptr_t)size_of, &other) ||
        one.dlfo_link_map != other.dlfo_link_map)
        return 0;
    return size_of(block);
}

// The pages of a block that is all data: correct_memory.c knows how far they go.
static void forget_owed(uint64_t start, bool told)
{
    if (told)
        correct_touch(start, start + 1);
    else
        correct_block_gone(start);
}

// A block's head may be in a closed page, but then the data is all of the block, and begins it.
static void forget_block(void *block, bool told)
{
    const uint64_t low = (uint64_t)(uintptr_t)block;
    if (!block || !use_may_be_closed(low, UINT64_MAX))
        return;
    const int error = errno;
    bool whole = false;
    if (state_is_on() && !inject_thread.tracking) {
        use_lock();
        for (EACH_USE_RANGE(range))
            whole |= range->state == USE_ARMED && range->block && range->start == low;
        if (whole && !correct_on)
            use_forget(low, low + 1, told);
        use_unlock();
        if (whole && correct_on)
            forget_owed(low, told);
    }
    if (!whole)
        forget(block, size_of_block(block), told);
    errno = error;
}

void use_free(void *block) __asm__("free");
void use_free(void *block)
{
    if (use_is_asked()) {
        struct block known;
        if (host_may_hold(block) && host_leaves(block, &known))
            host_freed(&known, UNWIND_CALLER);
        forget_block(block, false);
        if (host_spare_keep(block))
            return;
    }
    NEXT(free, void (*)(void *))(block);
}

// A block that was changed is another: where it was allocated is here. One that was not stays.
#define REALLOCATES(name, params, args, size)                                     \
    void *use_##name params __asm__(#name);                                       \
    void *use_##name params                                                       \
    {                                                                             \
        void *(*const next)params = NEXT(name, void *(*)params);                  \
        if (!use_is_asked())                                                      \
            return next args;                                                     \
        struct block known;                                                       \
        const bool left = host_leaves(block, &known);                             \
        forget_block(block, true);                                                \
        void *changed = next args;                                                \
        if (left && (changed || (size) == 0))                                     \
            host_freed(&known, UNWIND_CALLER);                                    \
        else if (left)                                                            \
            host_stays(&known);                                                   \
        if (changed && (size) >= HOST_LEAST_BYTES && !inject_thread.depth)        \
            host_allocated(changed, (size), EVENT_HOST_ALLOCATED, UNWIND_CALLER); \
        return changed;                                                           \
    }
REALLOCATES(realloc, (void *block, size_t bytes), (block, bytes), bytes)
REALLOCATES(reallocarray, (void *block, size_t count, size_t each), (block, count, each),
            count *each)
#pragma GCC visibility pop

void *use_own_free(void)
{
    return (void *)(uintptr_t)use_free;
}
