// SPDX-License-Identifier: Apache-2.0
// The table of data that is watched. There are few ranges, in an array that is searched
// linearly: a fault, or changing a page's protection, takes much longer.
//
// A thread may need the lock that it already holds, if a signal handler of the program has
// interrupted glint and touches a closed page. Pages are then opened by force, and the next holder
// of the lock records all watched data as unknown.
#include "ranges.h"

#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

#include "closing.h"
#include "kernel.h"
#include "memory.h"
#include "system.h"
#include "tell.h"
#include "worth.h"

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
            guard_set_open(range);
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
        if (range->state == GUARD_ARMED && guard_overlaps(range, address, address + 1))
            return true;
    }
    return false;
}

bool guard_is_closed(uint64_t address)
{
    for (EACH_GUARD_RANGE(range)) {
        if (range->state == GUARD_ARMED && !range->whole &&
            guard_overlaps(range, address, address + 1))
            return true;
    }
    return false;
}

void guard_hand_over(uint64_t low, uint64_t high, uint32_t stack)
{
    for (EACH_GUARD_RANGE(range)) {
        if (range->state != GUARD_ARMED || range->start >= high || guard_range_end(range) <= low)
            continue;
        guard_tell(range, EVENT_USE_SYSTEM, low > range->start ? low : range->start, stack);
        guard_count(range);
        guard_end_used(range);
    }
    for (EACH_GUARD_RANGE(range)) {
        if (range->state != GUARD_ARMED || range->whole || !guard_overlaps(range, low, high))
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
        if (range->start >= low && guard_range_end(range) <= high) {
            if (range->state == GUARD_ARMED)
                guard_end(range);
            else
                guard_drop(range);
        } else if (range->state == GUARD_ARMED && !range->whole &&
                   guard_overlaps(range, low, high)) {
            guard_open(range->low, range->high);
        }
    }
}

void guard_replace(uint64_t low, uint64_t high, uint64_t bytes)
{
    for (EACH_GUARD_RANGE(range)) {
        if (range->start != low || guard_range_end(range) != high || range->about.bytes != bytes)
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
        if (range->state == GUARD_ARMED && !range->whole && guard_overlaps(range, low, high))
            guard_open(range->low, range->high);
    }
}

void guard_forget(uint64_t low, uint64_t high, bool reported)
{
    for (EACH_GUARD_RANGE(range)) {
        if (range->state == GUARD_FREE || (!guard_overlaps(range, low, high) &&
                                           (range->start >= high || guard_range_end(range) <= low)))
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
