// SPDX-License-Identifier: Apache-2.0
// Data whose pages are closed until the program touches it, and the table of all such
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

static inline bool guard_overlaps(const struct guard_range *range, uint64_t low, uint64_t high)
{
    return range->low < high && low < range->high;
}

// Returns the end of its data.
static inline uint64_t guard_range_end(const struct guard_range *range)
{
    return range->start + (range->rows - 1) * range->pitch + range->width;
}

// --- With the lock held --------------------------------------------------------------------------

// Returns a new pending range; if there is no room, the oldest range ends.
struct guard_range *guard_new(void);
void guard_drop(struct guard_range *range);
// Returns the newest armed range with the address in its pages; NULL: none.
struct guard_range *guard_find(uint64_t address);
bool guard_holds_page(uint64_t address); // some armed range has the page
bool guard_is_closed(uint64_t address);  // some armed range may have closed the page
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

// --- Without the lock ----------------------------------------------------------------------------

// Returns whether pages there may be closed. Cheap; false is always right.
static inline bool guard_may_be_closed(uint64_t low, uint64_t high)
{
    return atomic_load(&guard_state.table.armed) &&
           low < atomic_load_explicit(&guard_state.table.high, memory_order_relaxed) &&
           high > atomic_load_explicit(&guard_state.table.low, memory_order_relaxed);
}

#endif
