// SPDX-License-Identifier: Apache-2.0
// Data whose pages are closed (PROT_NONE) until the program touches it, and the table of all such
// ranges. Guard closes pages for two layers, never both in one process. First uses records which
// code touches the data first. Corrections owes data there, and makes the touching thread wait.
#ifndef GLINT_INJECT_GUARD_RANGES_H
#define GLINT_INJECT_GUARD_RANGES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "event/event.h"
#include "inject/core/call.h"
#include "state.h"

// Iterates over all ranges that may be in use. Needs the lock, or a thread that has interrupted its
// holder.
#define EACH_GUARD_RANGE(range)                               \
    struct guard_range *range = guard_state.table.ranges;     \
    range < guard_state.table.ranges + guard_state.table.top; \
    range++

// If data may be owed, signals stay blocked while the lock is held. core_thread.tracking says that
// the thread holds it.
void guard_lock(void);
void guard_unlock(void);
// Returns false if the lock could not be taken in this time.
bool guard_lock_within(uint64_t time_ns);

// --- With the lock held --------------------------------------------------------------------------

// Returns a new pending range; if there is no room, the oldest range ends.
struct guard_range *guard_new(void);
void guard_drop(struct guard_range *range);
// Closes its pages, and arms it if it was pending. Returns false if that is not possible now; the
// range is then open, or has ended.
bool guard_close(struct guard_range *range);
// Opens pages. Ranges that have some of them are open from then on.
void guard_open(uint64_t low, uint64_t high);
// Opens the range's pages and drops it.
void guard_end(struct guard_range *range);
// Does the same because the program used it. Uses of other data in its pages may be missed from
// then on.
void guard_end_used(struct guard_range *range);
// Returns the newest armed range with the address in its pages; NULL: none.
struct guard_range *guard_find(uint64_t address);
bool guard_holds_page(uint64_t address); // some armed range has the page
bool guard_is_closed(uint64_t address);  // some armed range may have closed the page
// Records a use of the range. stack 0: the thread and its call path are unknown.
void guard_tell(const struct guard_range *range, enum event_use_kind kind, uint64_t address,
                uint32_t stack);
// Record, once, that uses of the range, or of all ranges with pages there, may be missed from now
// on.
void guard_tell_unknown(struct guard_range *range, enum event_use_kind kind);
void guard_tell_open(uint64_t low, uint64_t high);
// Records data that the call has made safe, and of which nothing is watched.
void guard_tell_unwatched(const struct core_call *call, const struct event_use *about);
// Called when the program hands the memory to the system: data there is recorded as used, and ends.
void guard_hand_over(uint64_t low, uint64_t high, uint32_t stack);
// Called when the memory is overwritten: data inside ends, and pages of other data are opened.
void guard_overwrite(uint64_t low, uint64_t high);
// Ends data with exactly this place and size.
void guard_replace(uint64_t low, uint64_t high, uint64_t bytes);
// Opens pages there for the driver.
void guard_lend(uint64_t low, uint64_t high);
// Ends all ranges with pages there; with `reported`, records that their uses may be missed.
void guard_forget(uint64_t low, uint64_t high, bool reported);
// Closes armed ranges that are open.
void guard_close_again(void);
// Returns whether data of these call paths should be watched this time: not always, once it was
// seen to be used often enough. guard_count counts a use.
bool guard_wanted(uint32_t sync_path, uint32_t copy_path);
void guard_count(const struct guard_range *range);
// Returns whether closing pages has taken too much of the program's time so far.
bool guard_is_too_slow(void);

// --- Without the lock ----------------------------------------------------------------------------

// Opens what is closed there although the thread may hold the lock. The next holder of the lock
// records all armed ranges as unknown.
void guard_force_open(uint64_t low, uint64_t high);

// Returns whether pages there may be closed. Cheap; false is always right.
static inline bool guard_may_be_closed(uint64_t low, uint64_t high)
{
    return atomic_load(&guard_state.table.armed) &&
           low < atomic_load_explicit(&guard_state.table.high, memory_order_relaxed) &&
           high > atomic_load_explicit(&guard_state.table.low, memory_order_relaxed);
}

// System calls without libc, which keep errno and enter no function of libglint-sync.so. They
// return the result, or -errno.
long guard_system_call6(long number, long a, long b, long c, long d, long e, long f);
static inline long guard_system_call(long number, long a, long b, long c, long d)
{
    return guard_system_call6(number, a, b, c, d, 0, 0);
}

#endif
