// SPDX-License-Identifier: Apache-2.0
// Where libglint-sync.so and libglint-mpi.so join libglint.so. Decides whether first uses are
// watched or waits corrected in this process; without libglint-sync.so neither is.
#include "inside.h"

#include <stdlib.h>
#include <string.h>

#include "inject/guard/host_memory.h"
#include "inject/guard/memory.h"
#include "inject/guard/readers.h"
#include "inject/guard/signals.h"
#include "inject/uses/clock_reads.h"
#include "inject/util/settings.h"
#include "plan/plan.h"

static bool is_own(const void *caller)
{
    extern const char __ehdr_start[] __attribute__((visibility("hidden"))); // NOLINT: the linker's
    extern const char etext[] __attribute__((visibility("hidden")));
    return (const char *)caller >= __ehdr_start && (const char *)caller < etext;
}

static bool is_in_driver(void)
{
    return core_thread.depth;
}

static bool may_hold(const void *address)
{
    return guard_host_may_hold(address);
}

static const struct hooks_inside inside = {
    .is_own = is_own,
    .is_in_driver = is_in_driver,
    .take_guard = guard_hold_take,
    .give_guard = guard_hold_give,
    .open = guard_open_for_system,
    .open_all = guard_open_all,
    .give_up = guard_give_up,
    .found_reader = guard_readers_found,
    .load = guard_readers_load,
    .opened = guard_readers_opened,
    .clock_read = uses_clock_now,
    .forget = guard_forget_memory,
    .forget_block = guard_forget_block,
    .may_hold = may_hold,
    .allocated = guard_host_allocated,
    .leaves = guard_host_leaves,
    .freed = guard_host_freed,
    .stays = guard_host_stays,
    .unmapped = guard_host_unmapped,
    .sigaction = guard_sigaction,
    .signal = guard_signal,
    .mask = guard_mask,
    .flight_begin = guard_flight_begin,
    .flight_end = guard_flight_end,
    .flight_name = guard_flight_name,
    .flight_mark = guard_flight_mark,
    .flight_end_marked = guard_flight_end_marked,
    .flight_free = guard_flight_free,
    .flight_start = guard_flight_start,
};

static bool is_asked(void)
{
    const char *wanted = util_setting(EVENT_SYNC_TRACKING_VARIABLE),
               *plan = util_setting(PLAN_VARIABLE);
    const bool tracked = wanted && (strcmp(wanted, "1") == 0 || strcmp(wanted, "2") == 0);
    return core_is_wanted() && (tracked || (plan && *plan));
}

const struct hooks_inside *glint_v1_join_libc(uint32_t version,
                                              const struct guard_outer_libc *outer)
{
    if (version != INSIDE_VERSION || !is_asked())
        return NULL;
    const char *wanted = util_setting(EVENT_SYNC_TRACKING_VARIABLE);
    const char *protect = util_setting(EVENT_PROTECT_VARIABLE);
    guard_state.table.all = wanted && strcmp(wanted, "2") == 0;
    guard_state.protects = protect && strcmp(protect, "1") == 0;
    guard_memory_prepare();
    atomic_store(&guard_state.outer_libc, outer);
    return &inside;
}

const struct hooks_inside *glint_v1_join_mpi(uint32_t version, const struct guard_outer_mpi *outer)
{
    if (version != INSIDE_VERSION || !is_asked())
        return NULL;
    atomic_store(&guard_state.outer_mpi, outer);
    return &inside;
}
