// SPDX-License-Identifier: Apache-2.0
// Where the libraries that stand before the C library and before MPI join libglint.so. Whether
// first uses are watched for, or waits corrected, in this process is decided here: not without the
// first of them.
#include "inside.h"

#include <stdlib.h>
#include <string.h>

#include "inject/guard/host_memory.h"
#include "inject/guard/memory.h"
#include "inject/guard/ranges.h"
#include "inject/guard/readers.h"
#include "inject/guard/signals.h"
#include "inject/uses/clock_reads.h"
#include "plan/plan.h"

static bool is_own(const void *caller)
{
    extern const char __ehdr_start[] __attribute__((visibility("hidden"))); // NOLINT: the linker's
    extern const char etext[] __attribute__((visibility("hidden")));
    return (const char *)caller >= __ehdr_start && (const char *)caller < etext;
}

static bool is_in_driver(void)
{
    return inject_thread.depth;
}

static bool may_hold(const void *address)
{
    return host_may_hold(address);
}

static const struct inside inside = {
    .is_own = is_own,
    .is_in_driver = is_in_driver,
    .take_guard = use_take_guard,
    .give_guard = use_give_guard,
    .open = use_open_for_system,
    .open_all = use_open_all,
    .give_up = use_give_up,
    .found_reader = readers_found,
    .load = readers_load,
    .opened = readers_opened,
    .clock_read = clock_reads_now,
    .forget = use_forget_memory,
    .forget_block = use_forget_block,
    .may_hold = may_hold,
    .allocated = host_allocated,
    .leaves = host_leaves,
    .freed = host_freed,
    .stays = host_stays,
    .unmapped = host_unmapped,
    .sigaction = use_sigaction,
    .signal = use_signal,
    .mask = use_mask,
    .flight_begin = use_flight_begin,
    .flight_end = use_flight_end,
    .flight_name = use_flight_name,
    .flight_mark = use_flight_mark,
    .flight_end_marked = use_flight_end_marked,
    .flight_free = use_flight_free,
    .flight_start = use_flight_start,
};

static bool is_asked(void)
{
    const char *wanted = getenv(EVENT_SYNC_TRACKING_VARIABLE), *plan = getenv(PLAN_VARIABLE);
    const bool tracked = wanted && (strcmp(wanted, "1") == 0 || strcmp(wanted, "2") == 0);
    return state_wanted() && (tracked || (plan && *plan));
}

const struct inside *glint_v1_join_libc(uint32_t version, const struct outer_libc *outer)
{
    if (version != INSIDE_VERSION || !is_asked())
        return NULL;
    const char *wanted = getenv(EVENT_SYNC_TRACKING_VARIABLE);
    use_table.all = wanted && strcmp(wanted, "2") == 0;
    use_memory_prepare();
    atomic_store(&use_outer_libc, outer);
    return &inside;
}

const struct inside *glint_v1_join_mpi(uint32_t version, const struct outer_mpi *outer)
{
    if (version != INSIDE_VERSION || !is_asked())
        return NULL;
    atomic_store(&use_outer_mpi, outer);
    return &inside;
}
