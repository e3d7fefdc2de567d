// SPDX-License-Identifier: Apache-2.0
// Moves pages away and back (UFFDIO_MOVE). The same physical pages come back, and pages that a
// device accesses are refused, so that nothing written to them meanwhile is lost.
//
// The descriptor of userfaultfd must outlive every page that is away: if it is closed, the system
// gives out zeros instead. Programs close descriptors that they do not know, and children inherit
// them. So the pager's threads have a file table of their own, and only they can move pages; others
// ask the first of them. It takes no lock and touches no memory of the program, so it always
// answers.
#include "pager.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/futex.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

#include "kernel.h"
#include "memory.h"
#include "ranges.h"
#include "touches.h"

// Newer than many systems' headers.
#define FEATURE_MOVE     (UINT64_C(1) << 16)
#define MOVE_ALLOW_HOLES (UINT64_C(1) << 1)
struct move {
    uint64_t to, from, bytes, mode;
    int64_t moved; // or -errno
};
#define IOC_MOVE _IOWR(UFFDIO, 0x05, struct move)
#define IOC_NEW  _IO(0xAA, 0x00) // of /dev/userfaultfd

static struct guard_pager *pager(void)
{
    return &guard_state.pager;
}

static long control_of(int file, unsigned long request, void *argument)
{
    return guard_system_call(SYS_ioctl, file, (long)request, (long)(uintptr_t)argument, 0);
}

static long control(unsigned long request, void *argument)
{
    return control_of(pager()->file, request, argument);
}

static void wait_at(_Atomic uint32_t *word, uint32_t value)
{
    guard_system_call(SYS_futex, (long)(uintptr_t)word, FUTEX_WAIT_PRIVATE, value, 0);
}

static void wake(_Atomic uint32_t *word)
{
    guard_system_call(SYS_futex, (long)(uintptr_t)word, FUTEX_WAKE_PRIVATE, INT32_MAX, 0);
}

static void sleep_a_little(void)
{
    const struct timespec time = {0, 100000};
    guard_system_call(SYS_nanosleep, (long)(uintptr_t)&time, 0, 0, 0);
}

#define EACH_SPAN(span)                       \
    struct guard_span *span = pager()->spans; \
    span < pager()->spans + pager()->top;     \
    span++

static const struct guard_span *span_of(uint64_t address)
{
    for (EACH_SPAN(span))
        if (span->away && address >= span->low && address < span->high)
            return span;
    return NULL;
}

// --- Moving pages: the pager's thread ------------------------------------------------------------

// Returns how many bytes were moved, from the beginning. The system may stop at any page.
static uint64_t move_pages(uint64_t to, uint64_t from, uint64_t bytes, uint64_t mode)
{
    enum { MOST_TRIES = 100 };
    uint64_t done = 0;
    for (unsigned tries = 0; done < bytes;) {
        struct move move = {to + done, from + done, bytes - done, mode, 0};
        const long result = control(IOC_MOVE, &move);
        if (result == 0)
            return bytes;
        if (move.moved > 0) {
            done += (uint64_t)move.moved;
            tries = 0;
        } else if (result != -EAGAIN || ++tries == MOST_TRIES) {
            break;
        } else if (tries > MOST_TRIES / 2) {
            sleep_a_little();
        }
    }
    return done;
}

static bool announce(uint64_t low, uint64_t bytes)
{
    struct uffdio_register about = {.range = {low, bytes}, .mode = UFFDIO_REGISTER_MODE_MISSING};
    return control(UFFDIO_REGISTER, &about) == 0;
}

// Also wakes who waits there.
static void announce_no_more(uint64_t low, uint64_t bytes)
{
    struct uffdio_range range = {low, bytes};
    control(UFFDIO_UNREGISTER, &range);
}

static void unmap(uint64_t low, uint64_t bytes)
{
    guard_system_call(SYS_munmap, (long)low, (long)bytes, 0, 0);
}

// A page cannot be moved back while someone accesses the place where it is kept, for example a
// debugger. Its contents can be copied.
static void copy_back(const struct guard_span *span, uint64_t low, uint64_t high)
{
    enum { MOST_TRIES = 1000 };
    const uint64_t page = guard_page_bytes();
    for (uint64_t at = low; at < high; at += page) {
        const uint64_t from = span->away + (at - span->low);
        for (unsigned tries = 0; tries < MOST_TRIES; tries++) {
            struct uffdio_copy copy = {.dst = at, .src = from, .len = page};
            if (move_pages(at, from, page, MOVE_ALLOW_HOLES) == page)
                break;
            const long result = control(UFFDIO_COPY, &copy);
            if (result != -ENOMEM && result != -EAGAIN)
                break; // done, or it was there already, or the program has unmapped it
            sleep_a_little();
        }
        // A page is never in both places.
        guard_system_call(SYS_madvise, (long)from, (long)page, MADV_DONTNEED, 0);
    }
}

// Pages that were never written are nowhere. The system refuses to replace a page that is there.
static void fill_holes(uint64_t low, uint64_t high)
{
    const uint64_t page = guard_page_bytes();
    struct uffdio_range all = {low, high - low};
    for (uint64_t at = low; at < high; at += page) {
        struct uffdio_zeropage zero = {.range = {at, page}};
        control(UFFDIO_ZEROPAGE, &zero);
    }
    control(UFFDIO_WAKE, &all);
}

static void open_span(struct guard_span *span, uint64_t low, uint64_t high)
{
    const uint64_t bytes = high - low;
    const uint64_t back = move_pages(low, span->away + (low - span->low), bytes, MOVE_ALLOW_HOLES);
    if (back < bytes)
        copy_back(span, low + back, high);
    if (low > span->low || high < span->high) {
        fill_holes(low, high);
        return;
    }
    const uint64_t away = span->away;
    atomic_store(&span->away, 0);
    announce_no_more(low, bytes);
    unmap(away, bytes);
    while (pager()->top && !pager()->spans[pager()->top - 1].away)
        pager()->top--;
}

static void open_pages(uint64_t low, uint64_t high)
{
    for (EACH_SPAN(span)) {
        if (span->away && span->low < high && low < span->high)
            open_span(span, span->low > low ? span->low : low,
                      span->high < high ? span->high : high);
    }
}

static struct guard_span *find_room(void)
{
    for (EACH_SPAN(span))
        if (!span->away)
            return span;
    return pager()->top < GUARD_SPANS ? &pager()->spans[pager()->top] : NULL;
}

// The pages that hold what is moved away are announced only meanwhile, because userfaultfd asks for
// that. Later, nobody misses a page there.
static bool close_new(uint64_t low, uint64_t high)
{
    const uint64_t bytes = high - low;
    struct guard_span *span = find_room();
    const long away = span ? guard_system_call6(SYS_mmap, 0, (long)bytes, PROT_READ | PROT_WRITE,
                                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
                           : -1;
    if (away <= 0)
        return false;
    const bool registered = announce((uint64_t)away, bytes) && announce(low, bytes);
    if (registered) { // from now on someone may miss a page of the span
        atomic_store(&span->low, low);
        atomic_store(&span->high, high);
        atomic_store(&span->away, (uint64_t)away);
        if (span == &pager()->spans[pager()->top])
            pager()->top++;
    }
    const uint64_t moved =
        registered ? move_pages((uint64_t)away, low, bytes, MOVE_ALLOW_HOLES) : 0;
    announce_no_more((uint64_t)away, bytes);
    if (!registered)
        unmap((uint64_t)away, bytes);
    else if (moved < bytes)
        open_span(span, low, high);
    return moved == bytes;
}

// Some of the pages may be away already: the system says that there is a page where it would be
// kept, or none where it belongs.
static bool close_in_span(const struct guard_span *span, uint64_t low, uint64_t high)
{
    const uint64_t page = guard_page_bytes(), away = span->away + (low - span->low);
    bool good = announce(away, high - low);
    for (uint64_t at = low; good && at < high; at += page) {
        struct move move = {away + (at - low), at, page, 0, 0};
        const long result = control(IOC_MOVE, &move);
        good = result == 0 || result == -ENOENT || result == -EEXIST ||
               move_pages(away + (at - low), at, page, 0) == page;
    }
    announce_no_more(away, high - low);
    return good;
}

static bool close_pages(uint64_t low, uint64_t high)
{
    bool good = true;
    while (good && low < high) {
        uint64_t end = high;
        const struct guard_span *in = NULL;
        for (EACH_SPAN(span)) {
            if (!span->away || span->high <= low || span->low >= end)
                continue;
            in = span->low <= low ? span : in;
            end = span->low > low ? span->low : span->high < end ? span->high : end;
        }
        good = in ? close_in_span(in, low, end) : close_new(low, end);
        low = end;
    }
    return good;
}

// --- Children ------------------------------------------------------------------------------------

// Which pages the child lacks is not known exactly: some may have come back since it was forked.
// The system refuses those that the child has.
static void fill_from(int file, const struct guard_span *span)
{
    const uint64_t page = guard_page_bytes();
    for (uint64_t at = span->low; at < span->high; at += page) {
        const struct guard_span *now = span->away ? span : span_of(at);
        struct uffdio_copy copy = {
            .dst = at, .src = now ? now->away + (at - now->low) : at, .len = page};
        if (control_of(file, UFFDIO_COPY, &copy) == -EFAULT)
            return; // unmapped meanwhile
    }
}

static void fill(int file)
{
    for (unsigned i = 0; i < GUARD_SPANS && pager()->spans[i].high; i++)
        fill_from(file, &pager()->spans[i]);
    guard_system_call(SYS_close, file, 0, 0, 0);
}

// --- Requests ------------------------------------------------------------------------------------

static void serve_one(struct guard_request *request)
{
    request->result = true;
    if (request->kind == GUARD_REQUEST_CLOSE)
        request->result = close_pages(request->low, request->high);
    else if (request->kind == GUARD_REQUEST_OPEN)
        open_pages(request->low, request->high);
    else
        fill(request->file);
}

static bool serve(void)
{
    bool any = false;
    for (unsigned i = 0; i < GUARD_REQUESTS; i++) {
        struct guard_request *request = &pager()->requests[i];
        if (atomic_load(&request->state) != GUARD_REQUEST_MADE)
            continue;
        serve_one(request);
        atomic_store(&request->state, GUARD_REQUEST_DONE);
        wake(&request->state);
        any = true;
    }
    return any;
}

// A signal handler may make a request while its thread waits for another.
static bool ask(int kind, uint64_t low, uint64_t high, int file)
{
    struct guard_request *request = NULL;
    for (unsigned i = 0; !request; i = (i + 1) % GUARD_REQUESTS) {
        uint32_t none = GUARD_REQUEST_FREE;
        if (atomic_compare_exchange_strong(&pager()->requests[i].state, &none,
                                           GUARD_REQUEST_MAKING))
            request = &pager()->requests[i];
        else if (i + 1 == GUARD_REQUESTS)
            sleep_a_little();
    }
    request->kind = kind;
    request->file = file;
    request->low = low;
    request->high = high;
    atomic_store(&request->state, GUARD_REQUEST_MADE);
    atomic_fetch_add(&pager()->rung, 1);
    wake(&pager()->rung);
    while (atomic_load(&request->state) != GUARD_REQUEST_DONE)
        wait_at(&request->state, GUARD_REQUEST_MADE);
    const bool result = request->result;
    atomic_store(&request->state, GUARD_REQUEST_FREE);
    return result;
}

bool guard_pager_is_on(void)
{
    return atomic_load_explicit(&pager()->on, memory_order_acquire) == GUARD_PAGER_ON;
}

const char *guard_pager_refused(void)
{
    const char *why = atomic_load(&pager()->why);
    return guard_pager_is_on() ? NULL : why ? why : "no pages are moved away in this process";
}

bool guard_pager_close(uint64_t low, uint64_t high)
{
    return guard_pager_is_on() && low < high && ask(GUARD_REQUEST_CLOSE, low, high, -1);
}

void guard_pager_open(uint64_t low, uint64_t high)
{
    bool any = false;
    if (!guard_pager_is_on())
        return;
    for (EACH_SPAN(span))
        any |= span->away && span->low < high && low < span->high;
    if (any)
        ask(GUARD_REQUEST_OPEN, low, high, -1);
}

void guard_pager_fill(int file)
{
    ask(GUARD_REQUEST_FILL, 0, 0, file);
}

// --- Pages that are away -------------------------------------------------------------------------

bool guard_pager_has(uint64_t address)
{
    return guard_pager_is_on() && span_of(address);
}

static bool is_away(uint64_t low, uint64_t high)
{
    while (low < high) {
        const struct guard_span *span = guard_pager_is_on() ? span_of(low) : NULL;
        if (!span)
            return false;
        low = span->high;
    }
    return true;
}

bool guard_pager_read(uint64_t from, void *to, size_t bytes)
{
    const uint64_t high = from + bytes;
    if (!is_away(from, high))
        return false;
    for (uint64_t at = from; at < high;) {
        const struct guard_span *span = span_of(at);
        const uint64_t end = span->high < high ? span->high : high;
        memcpy((char *)to + (at - from),
               (const void *)(uintptr_t)(span->away + at - span->low), // NOLINT
               end - at);
        at = end;
    }
    return true;
}

bool guard_pager_write(uint64_t to, const void *from, size_t bytes)
{
    const uint64_t high = to + bytes;
    if (!is_away(to, high))
        return false;
    for (uint64_t at = to; at < high;) {
        const struct guard_span *span = span_of(at);
        const uint64_t end = span->high < high ? span->high : high;
        memcpy((void *)(uintptr_t)(span->away + at - span->low),
               (const char *)from + (at - to), // NOLINT
               end - at);
        at = end;
    }
    return true;
}

// --- Start ---------------------------------------------------------------------------------------

static const char not_permitted[] =
    "the system does not let glint make others wait for pages, which takes CAP_SYS_PTRACE and "
    "userfaultfd (the system call, or access to /dev/userfaultfd)";
static const char too_old[] =
    "the system cannot move pages away (UFFDIO_MOVE), which takes Linux 6.8";
static const char no_threads[] = "the system starts no threads for glint";

static bool start_thread(void *(*run)(void *))
{
    enum { STACK_BYTES = 256 << 10 };
    pthread_t thread;
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) != 0)
        return false;
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    const bool good = pthread_create(&thread, &attributes, run, NULL) == 0;
    pthread_attr_destroy(&attributes);
    return good;
}

// Containers often forbid the system call, also to processes with CAP_SYS_PTRACE. Both ways need
// that capability, without which forks are not announced.
static long open_userfaultfd(void)
{
    static const char device[] = "/dev/userfaultfd";
    const long file = guard_system_call(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK, 0, 0, 0);
    const long by = file == -EPERM
                        ? guard_system_call(SYS_openat, AT_FDCWD, (long)(uintptr_t)device,
                                            O_RDWR | O_CLOEXEC, 0)
                        : -1;
    if (by < 0)
        return file;
    const long made = guard_system_call(SYS_ioctl, by, IOC_NEW, O_CLOEXEC | O_NONBLOCK, 0);
    guard_system_call(SYS_close, by, 0, 0, 0);
    return made;
}

// The file table is left without copying it: the program's files must not stay open here. Threads
// that this one starts share its table. Returns why the pager cannot work; NULL: it can.
static const char *prepare(void)
{
    if (guard_system_call(SYS_close_range, 0, UINT32_MAX, CLOSE_RANGE_UNSHARE, 0) != 0)
        return too_old;
    const long file = open_userfaultfd();
    if (file < 0)
        return file == -ENOSYS ? too_old : not_permitted;
    pager()->file = (int)file;
    struct uffdio_api api = {.api = UFFD_API,
                             .features = UFFD_FEATURE_THREAD_ID | UFFD_FEATURE_EXACT_ADDRESS |
                                         UFFD_FEATURE_EVENT_FORK | FEATURE_MOVE};
    const long result = control(UFFDIO_API, &api);
    if (result != 0)
        return result == -EPERM ? not_permitted : too_old;
    return start_thread(guard_touches_hand_on) && start_thread(guard_touches_answer) ? NULL
                                                                                     : no_threads;
}

static void *run(void *unused)
{
    (void)unused;
    core_thread.depth = 1; // its calls are not the program's
    const char *why = prepare();
    atomic_store(&pager()->why, why);
    atomic_store(&pager()->on, why ? GUARD_PAGER_REFUSED : GUARD_PAGER_ON);
    wake(&pager()->on);
    if (why)
        return NULL;
    for (;;) {
        const uint32_t rung = atomic_load(&pager()->rung);
        if (!serve())
            wait_at(&pager()->rung, rung);
    }
    return NULL;
}

void guard_pager_start(void)
{
    uint32_t off = GUARD_PAGER_OFF;
    sigset_t all, before;
    const char *asked = getenv("GLINT_PAGER");
    if (asked && strcmp(asked, "0") == 0) {
        atomic_store(&pager()->why, "GLINT_PAGER is 0");
        return;
    }
    if (!atomic_compare_exchange_strong(&pager()->on, &off, GUARD_PAGER_STARTS))
        return;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (!start_thread(run)) {
        atomic_store(&pager()->why, no_threads);
        atomic_store(&pager()->on, GUARD_PAGER_REFUSED);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    while (atomic_load(&pager()->on) == GUARD_PAGER_STARTS)
        wait_at(&pager()->on, GUARD_PAGER_STARTS);
}

// The child has copies of the pages that were away, but its mapping announces nothing any more.
void guard_pager_forked(void)
{
    for (EACH_SPAN(span)) {
        const uint64_t bytes = span->high - span->low;
        if (span->away)
            guard_system_call6(SYS_mremap, (long)span->away, (long)bytes, (long)bytes,
                               MREMAP_MAYMOVE | MREMAP_FIXED, (long)span->low, 0);
    }
    memset(pager(), 0, sizeof(*pager()));
}
