// SPDX-License-Identifier: Apache-2.0
// The data that is watched, and its pages. There are few ranges, in an array that is searched
// linearly: a fault, or changing a page's protection, takes much longer.
//
// A thread may need the lock that it already holds, if a signal handler of the program has
// interrupted glint and touches a closed page. Pages are then opened by force, and the next holder
// of the lock records all watched data as unknown.
#include "ranges.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

#include "inject/core/names.h"
#include "memory.h"
#include "pager.h"
#include "protect.h"
#include "system.h"
#include "threads.h"

long guard_system_call6(long number, long a, long b, long c, long d, long e, long f)
{
    long result;
#if defined(__x86_64__)
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
#elif defined(__aarch64__)
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;
    __asm__ volatile("svc #0"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                     : "memory");
    result = x0;
#else // pages are never closed on other machines
    (void)number, (void)a, (void)b, (void)c, (void)d, (void)e, (void)f;
    result = -ENOSYS;
#endif
    return result;
}

// Costs of closing pages beyond the system call: the fault that opens them, and one more page fault
// for each page afterwards.
enum { FAULT_NS = 3000, PAGE_NS = 100 };

static bool overlaps(const struct guard_range *range, uint64_t low, uint64_t high)
{
    return range->low < high && low < range->high;
}

static bool may_be_protected(uint64_t low, uint64_t high)
{
    for (EACH_GUARD_RANGE(range)) {
        if (range->state == GUARD_ARMED && !range->paged && overlaps(range, low, high))
            return true;
    }
    return false;
}

// Opens the pages, and closed ones around them if they cannot be opened alone. Returns the bounds
// of what was opened in *low and *high.
static void open_pages(uint64_t *low, uint64_t *high)
{
    if (*low >= *high)
        return;
    guard_state.table.spent_ns += FAULT_NS + (*high - *low) / guard_page_bytes() * PAGE_NS;
    guard_pager_open(*low, *high);
    if (may_be_protected(*low, *high))
        guard_unprotect(low, high);
}

static uint64_t end_of(const struct guard_range *range)
{
    return range->start + (range->rows - 1) * range->pitch + range->width;
}

static void set_open(struct guard_range *range)
{
    if (!range->open && range->held)
        atomic_fetch_sub(&guard_state.table.held, 1);
    range->open = true;
}

// If a signal handler of the program interrupts the holder and touches closed memory, the memory is
// opened by force. That must not happen to memory with owed data.
static uint64_t block_signals(void)
{
    const uint64_t others = ~(UINT64_C(1) << (SIGSEGV - 1));
    uint64_t before = 0;
    if (guard_state.table.owes)
        guard_system_call(SYS_rt_sigprocmask, SIG_BLOCK, (long)(uintptr_t)&others,
                          (long)(uintptr_t)&before, sizeof(before));
    return before;
}

static void unblock_signals(uint64_t before)
{
    if (guard_state.table.owes)
        guard_system_call(SYS_rt_sigprocmask, SIG_SETMASK, (long)(uintptr_t)&before, 0,
                          sizeof(before));
}

// Called when the thread has the lock.
static void enter(uint64_t signals)
{
    guard_state.table.signals = signals;
    core_thread.tracking = true;
    guard_state.table.locked_ns = core_now_ns();
    if (!atomic_load_explicit(&guard_state.table.forced_ns, memory_order_relaxed) ||
        !atomic_exchange(&guard_state.table.forced_ns, 0))
        return;
    for (EACH_GUARD_RANGE(range)) {
        if (range->state == GUARD_ARMED) {
            set_open(range);
            guard_tell_unknown(range, EVENT_USE_UNKNOWN);
        }
    }
}

void guard_lock(void)
{
    const uint64_t signals = block_signals();
    util_lock_take(&guard_state.table.lock, RANK_GUARD);
    enter(signals);
}

bool guard_lock_within(uint64_t time_ns)
{
    const uint64_t signals = block_signals(), start_ns = core_now_ns();
    const struct timespec time = {0, 100000};
    while (atomic_exchange(&guard_state.table.lock.taken, true)) {
        if (core_now_ns() - start_ns > time_ns) {
            unblock_signals(signals);
            return false;
        }
        guard_system_call(SYS_nanosleep, (long)(uintptr_t)&time, 0, 0, 0);
    }
    util_rank_take(RANK_GUARD);
    enter(signals);
    return true;
}

void guard_unlock(void)
{
    enum { MOST_NS = 1000000 }; // a longer time means that the thread was preempted
    const uint64_t took_ns = core_now_ns() - guard_state.table.locked_ns;
    guard_state.table.spent_ns += took_ns < MOST_NS ? took_ns : MOST_NS;
    const uint64_t signals = guard_state.table.signals;
    core_thread.tracking = false;
    util_lock_give(&guard_state.table.lock, RANK_GUARD);
    unblock_signals(signals);
}

void guard_force_open(uint64_t low, uint64_t high)
{
    for (EACH_GUARD_RANGE(range)) {
        if (range->state != GUARD_ARMED || !overlaps(range, low, high))
            continue;
        const uint64_t from = range->low > low ? range->low : low;
        const uint64_t to = range->high < high ? range->high : high;
        if (range->paged) {
            guard_pager_open(from, to);
            continue;
        }
        guard_unprotect_by_force(range, from, to);
    }
    atomic_store(&guard_state.table.forced_ns, 1);
}

// --- Records -------------------------------------------------------------------------------------

void guard_tell(const struct guard_range *range, enum event_use_kind kind, uint64_t address,
                uint32_t stack)
{
    struct event_use use = range->about;
    use.address = address < range->start                     ? range->start
                  : range->block && address >= end_of(range) ? end_of(range) - 1
                                                             : address;
    use.offset = use.address - range->start;
    use.time_ns = core_now_ns();
    use.thread = stack ? core_thread_number() : 0;
    use.stack = stack;
    use.kind = (uint8_t)kind;
    core_put(EVENT_USE, &use, sizeof(use), NULL, 0);
}

void guard_tell_unknown(struct guard_range *range, enum event_use_kind kind)
{
    if (!range->reported)
        guard_tell(range, kind, range->start, 0);
    range->reported = true;
}

void guard_tell_unwatched(const struct core_call *call, const struct event_use *about)
{
    struct event_use use = *about;
    use.unwatched_bytes = use.bytes;
    use.time_ns = call->end_ns;
    core_put(EVENT_USE, &use, sizeof(use), NULL, 0);
}

void guard_tell_open(uint64_t low, uint64_t high)
{
    for (EACH_GUARD_RANGE(range)) {
        if (range->state == GUARD_ARMED && overlaps(range, low, high))
            guard_tell_unknown(range, EVENT_USE_UNKNOWN);
    }
}

// --- Call paths whose waits are known to be needed -----------------------------------------------

// A path is the pair of the call that made data safe and the call that copied it. Once its data was
// used (or may have been) often enough, it is watched only now and then.
enum { USES_ENOUGH = 32 };

static uint64_t key_of(uint32_t sync_path, uint32_t copy_path)
{
    return ((uint64_t)sync_path << 32 | copy_path) + 1;
}

static unsigned place_of(uint64_t key)
{
    return (unsigned)(key * UINT64_C(0x9E3779B97F4A7C15) >> 52) % GUARD_PATHS;
}

bool guard_wanted(uint32_t sync_path, uint32_t copy_path)
{
    const uint64_t key = key_of(sync_path, copy_path);
    const unsigned place = place_of(key);
    if (!guard_state.paths[place].key)
        guard_state.paths[place].key = key;
    if (guard_state.table.all || guard_state.paths[place].key != key ||
        guard_state.paths[place].uses < USES_ENOUGH)
        return true; // a second path with the same hash is always watched
    const uint32_t every = guard_state.paths[place].uses < 2 * USES_ENOUGH   ? 16
                           : guard_state.paths[place].uses < 4 * USES_ENOUGH ? 64
                                                                             : 256;
    return ++guard_state.paths[place].times % every == 0;
}

void guard_count(const struct guard_range *range)
{
    const uint64_t key = key_of(range->sync_path, range->copy_path);
    const unsigned place = place_of(key);
    if (guard_state.paths[place].key == key)
        guard_state.paths[place].uses++;
}

// Closing pages may take this share of the program's time, plus a fixed allowance.
enum { GRANTED_NS = 50000000, SHARE = 8 };

bool guard_is_too_slow(void)
{
    return !guard_state.table.all &&
           guard_state.table.spent_ns >
               GRANTED_NS + (core_now_ns() - guard_state.table.since_ns) / SHARE;
}

// --- Ranges --------------------------------------------------------------------------------------

static struct guard_range *find_room(void)
{
    struct guard_range *oldest = guard_state.table.ranges;
    for (EACH_GUARD_RANGE(range)) {
        if (range->state == GUARD_FREE)
            return range;
        if (range->age < oldest->age)
            oldest = range;
    }
    return guard_state.table.top < GUARD_RANGES ? &guard_state.table.ranges[guard_state.table.top++]
                                                : oldest;
}

struct guard_range *guard_new(void)
{
    struct guard_range *range = find_room();
    if (range->state == GUARD_ARMED) {
        guard_tell_unknown(range, EVENT_USE_UNKNOWN);
        guard_end(range);
    } else if (range->state == GUARD_PENDING) {
        guard_drop(range);
    }
    memset(range, 0, sizeof(*range));
    range->state = GUARD_PENDING;
    range->age = ++guard_state.table.ages;
    atomic_fetch_add(&guard_state.table.pending, 1);
    return range;
}

void guard_drop(struct guard_range *range)
{
    if (range->state == GUARD_PENDING)
        atomic_fetch_sub(&guard_state.table.pending, 1);
    if (range->state == GUARD_ARMED)
        atomic_fetch_sub(&guard_state.table.armed, 1);
    if (range->state == GUARD_ARMED && range->held && !range->open)
        atomic_fetch_sub(&guard_state.table.held, 1);
    range->state = GUARD_FREE;
    while (guard_state.table.top &&
           guard_state.table.ranges[guard_state.table.top - 1].state == GUARD_FREE)
        guard_state.table.top--;
}

void guard_open(uint64_t low, uint64_t high)
{
    const uint64_t wanted_low = low, wanted_high = high;
    open_pages(&low, &high);
    if (low < wanted_low || high > wanted_high)
        guard_tell_open(low, high);
    for (EACH_GUARD_RANGE(range)) {
        if (range->state != GUARD_ARMED || !overlaps(range, low, high))
            continue;
        set_open(range);
        range->whole |= low <= range->low && high >= range->high;
        if (range->held && !range->whole) { // the GPU must not access closed pages
            guard_tell_open(range->low, range->high);
            guard_open(range->low, range->high);
        }
    }
}

// Pages are opened first: a thread that finds nothing armed assumes that nothing is closed.
void guard_end(struct guard_range *range)
{
    guard_open(range->low, range->high);
    guard_drop(range);
}

void guard_end_used(struct guard_range *range)
{
    range->reported = true;
    guard_tell_open(range->low, range->high);
    guard_end(range);
}

static void say_unguarded(void)
{
    if (guard_state.table.said_unguarded)
        return;
    guard_state.table.said_unguarded = true;
    core_note(EVENT_WARNING, "first uses of some data were not watched: too many threads are in "
                             "system calls at once");
}

static bool is_guarded(uint64_t low, uint64_t high)
{
    if (atomic_load(&guard_state.table.unguarded)) {
        say_unguarded();
        return true;
    }
    for (unsigned i = 0; i < GUARD_HOLDS; i++) {
        const uint64_t from = atomic_load(&guard_state.table.guards[i].low);
        if (from == 1 ||
            (from && from < high && atomic_load(&guard_state.table.guards[i].high) > low))
            return true;
    }
    return false;
}

static bool is_pending(uint64_t low, uint64_t high)
{
    for (EACH_GUARD_RANGE(range)) {
        if (range->state == GUARD_PENDING && overlaps(range, low, high))
            return true;
    }
    return false;
}

// Returns whether no library was loaded that accesses memory unseen.
static bool can_close(void)
{
    if (!guard_given_up() && guard_libraries_changed()) {
        const char *why = guard_find_obstacle();
        if (why)
            guard_keep_open(why);
    }
    return !guard_given_up();
}

// Returns whether pages may be protected, and no thread would die of that. Checked once while the
// lock is held.
static bool can_protect(void)
{
    enum { MOST_TIMES = 16 };
    if (!guard_state.protects || guard_given_up())
        return false;
    if (guard_state.table.looked_ns == guard_state.table.locked_ns)
        return guard_state.table.all_take_faults;
    guard_state.table.looked_ns = guard_state.table.locked_ns;
    guard_protect_prepare();
    guard_state.table.all_take_faults = guard_threads_take_faults();
    guard_state.table.blocked_times =
        guard_state.table.all_take_faults ? 0 : guard_state.table.blocked_times + 1;
    if (guard_state.table.blocked_times >= MOST_TIMES)
        guard_keep_open("a thread of the program blocks SIGSEGV");
    return guard_state.table.all_take_faults;
}

// Some pages may have been moved away, also for other data.
static void open_others(struct guard_range *range)
{
    if (!guard_pager_is_on())
        return;
    guard_open(range->low, range->high);
    if (range->held)
        atomic_fetch_add(&guard_state.table.held, 1);
    range->open = range->whole = false;
}

// The range is marked as closed before guard checks who accesses the memory. A thread that accesses
// it later finds it closed, and opens it.
bool guard_close(struct guard_range *range)
{
    if (range->state == GUARD_PENDING) {
        atomic_fetch_sub(&guard_state.table.pending, 1);
        range->state = GUARD_ARMED;
        range->open = true;
        range->whole = true;
        atomic_fetch_add(&guard_state.table.armed, 1);
    }
    if (!atomic_load(&guard_state.table.low) || range->low < atomic_load(&guard_state.table.low))
        atomic_store(&guard_state.table.low, range->low);
    if (range->high > atomic_load(&guard_state.table.high))
        atomic_store(&guard_state.table.high, range->high);
    if (range->held && range->open)
        atomic_fetch_add(&guard_state.table.held, 1);
    range->open = false;
    if (guard_is_in_flight(range->low, range->high) || is_pending(range->low, range->high) ||
        (range->held && (atomic_load(&guard_state.table.submitting) ||
                         atomic_load(&guard_state.table.submitted) != guard_state.table.idle_at))) {
        set_open(range);
        return false;
    }
    range->paged = range->whole = false;
    const bool can = can_close();
    if (can && guard_pager_close(range->low, range->high)) {
        range->paged = true;
        return true;
    }
    open_others(range);
    if (guard_state.protects && is_guarded(range->low, range->high)) {
        set_open(range); // the system fails on protected pages
        return false;
    }
    if (can && can_protect() && guard_protect(range->low, range->high))
        return true;
    // The memory is of a kind that cannot be closed, it is unmapped, or there are too many
    // mappings.
    guard_tell_unknown(range, EVENT_USE_UNKNOWN);
    guard_end(range);
    return false;
}

// The pages hold only the data, malloc's header and the end of a block. Instructions touch the
// latter two when they load more than they use.
static bool has(const struct guard_range *range, uint64_t address)
{
    return address >= range->low && address < range->high;
}

struct guard_range *guard_find(uint64_t address)
{
    struct guard_range *found = NULL;
    for (EACH_GUARD_RANGE(range)) {
        if (range->state == GUARD_ARMED && has(range, address) &&
            (!found || found->age < range->age))
            found = range;
    }
    return found;
}

bool guard_holds_page(uint64_t address)
{
    for (EACH_GUARD_RANGE(range)) {
        if (range->state == GUARD_ARMED && overlaps(range, address, address + 1))
            return true;
    }
    return false;
}

bool guard_is_closed(uint64_t address)
{
    for (EACH_GUARD_RANGE(range)) {
        if (range->state == GUARD_ARMED && !range->whole && overlaps(range, address, address + 1))
            return true;
    }
    return false;
}

void guard_hand_over(uint64_t low, uint64_t high, uint32_t stack)
{
    for (EACH_GUARD_RANGE(range)) {
        if (range->state != GUARD_ARMED || range->start >= high || end_of(range) <= low)
            continue;
        guard_tell(range, EVENT_USE_SYSTEM, low > range->start ? low : range->start, stack);
        guard_count(range);
        guard_end_used(range);
    }
    for (EACH_GUARD_RANGE(range)) {
        if (range->state != GUARD_ARMED || range->whole || !overlaps(range, low, high))
            continue;
        const uint64_t page = guard_page_bytes(), from = low & ~(page - 1);
        const uint64_t to = (high + page - 1) & ~(page - 1);
        const uint64_t first = from > range->low ? from : range->low;
        const uint64_t last = to < range->high ? to : range->high;
        guard_tell_open(first, last);
        guard_open(first, last);
    }
}

void guard_overwrite(uint64_t low, uint64_t high)
{
    for (EACH_GUARD_RANGE(range)) {
        if (range->state == GUARD_FREE)
            continue;
        if (range->start >= low && end_of(range) <= high) {
            if (range->state == GUARD_ARMED)
                guard_end(range);
            else
                guard_drop(range);
        } else if (range->state == GUARD_ARMED && !range->whole && overlaps(range, low, high)) {
            guard_open(range->low, range->high);
        }
    }
}

void guard_replace(uint64_t low, uint64_t high, uint64_t bytes)
{
    for (EACH_GUARD_RANGE(range)) {
        if (range->start != low || end_of(range) != high || range->about.bytes != bytes)
            continue;
        if (range->state == GUARD_ARMED)
            guard_end(range);
        else if (range->state == GUARD_PENDING)
            guard_drop(range);
    }
}

void guard_lend(uint64_t low, uint64_t high)
{
    for (EACH_GUARD_RANGE(range)) {
        if (range->state == GUARD_ARMED && !range->whole && overlaps(range, low, high))
            guard_open(range->low, range->high);
    }
}

void guard_forget(uint64_t low, uint64_t high, bool reported)
{
    for (EACH_GUARD_RANGE(range)) {
        if (range->state == GUARD_FREE ||
            (!overlaps(range, low, high) && (range->start >= high || end_of(range) <= low)))
            continue;
        if (range->state == GUARD_ARMED) {
            if (reported)
                guard_tell_unknown(range, EVENT_USE_UNKNOWN);
            guard_end(range);
        } else {
            guard_drop(range);
        }
    }
}

void guard_close_again(void)
{
    for (EACH_GUARD_RANGE(range)) {
        if (range->state == GUARD_ARMED && range->open && !range->held)
            guard_close(range);
    }
}
