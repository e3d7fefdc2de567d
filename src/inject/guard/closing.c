// SPDX-License-Identifier: Apache-2.0
// Closes the pages of ranges and opens them: by moving them away (pager.h), or, if the user asked
// for that, by protecting those that cannot be moved (protect.h).
#include "closing.h"

#include "libraries.h"
#include "memory.h"
#include "pager.h"
#include "protect.h"
#include "ranges.h"
#include "system.h"
#include "tell.h"
#include "threads.h"

// --- Opening -------------------------------------------------------------------------------------

// Costs of closing pages beyond the system call: the fault that opens them, and one more page fault
// for each page afterwards.
enum { FAULT_NS = 3000, PAGE_NS = 100 };

static bool may_be_protected(uint64_t low, uint64_t high)
{
    for (EACH_GUARD_RANGE(range)) {
        if (range->state == GUARD_ARMED && !range->paged && guard_overlaps(range, low, high))
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

void guard_set_open(struct guard_range *range)
{
    if (!range->open && range->held)
        atomic_fetch_sub(&guard_state.table.held, 1);
    range->open = true;
}

void guard_open(uint64_t low, uint64_t high)
{
    const uint64_t wanted_low = low, wanted_high = high;
    open_pages(&low, &high);
    if (low < wanted_low || high > wanted_high)
        guard_tell_open(low, high);
    for (EACH_GUARD_RANGE(range)) {
        if (range->state != GUARD_ARMED || !guard_overlaps(range, low, high))
            continue;
        guard_set_open(range);
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

void guard_force_open(uint64_t low, uint64_t high)
{
    for (EACH_GUARD_RANGE(range)) {
        if (range->state != GUARD_ARMED || !guard_overlaps(range, low, high))
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

// --- Closing -------------------------------------------------------------------------------------

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
        if (range->state == GUARD_PENDING && guard_overlaps(range, low, high))
            return true;
    }
    return false;
}

// Returns whether no library was loaded that accesses memory unseen.
static bool can_close(void)
{
    const uint32_t changes = guard_libraries_changes();
    if (!guard_given_up() && guard_state.table.changes != changes) {
        guard_state.table.changes = changes;
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
        guard_set_open(range);
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
        guard_set_open(range); // the system fails on protected pages
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

void guard_close_again(void)
{
    for (EACH_GUARD_RANGE(range)) {
        if (range->state == GUARD_ARMED && range->open && !range->held)
            guard_close(range);
    }
}
