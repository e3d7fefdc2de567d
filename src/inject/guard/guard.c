// SPDX-License-Identifier: Apache-2.0
// Guard at the start of a process and in a child of fork.
#include "guard.h"

#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "closing.h"
#include "host_memory.h"
#include "kernel.h"
#include "pager.h"
#include "ranges.h"
#include "signals.h"

struct guard_state guard_state;

// The lock may have been held by another thread, which is not in the child. Pages that were closed
// in the parent are closed in the child, too.
void guard_forked(void)
{
    for (EACH_GUARD_RANGE(range)) {
        if (range->state == GUARD_ARMED && !range->paged)
            guard_system_call(SYS_mprotect, (long)range->low, (long)(range->high - range->low),
                              PROT_READ | PROT_WRITE, 0);
    }
    guard_pager_forked();
    memset(&guard_state.table, 0, offsetof(struct guard_table, low));
    core_thread.tracking = false;
    guard_flight_forked();
    guard_signals_forked();
}

static bool start(const struct core_driver *driver)
{
    if (core_state.generation > 1)
        guard_forked();
    guard_state.driver_asks = driver->at;
    guard_host_start();
    if (guard_is_asked())
        guard_pager_start();
    return true;
}

// No page is moved while the process forks, so that the child knows which are away. If data may be
// owed, corrections have delivered it all.
static void before_fork(void)
{
    if (!core_is_on() || guard_state.table.owes || !guard_pager_is_on())
        return;
    if (core_thread.tracking) {
        guard_force_open(0, UINT64_MAX);
        return;
    }
    guard_lock();
    guard_state.table.forking = true;
}

static void after_fork(void)
{
    if (!guard_state.table.forking)
        return;
    guard_state.table.forking = false;
    guard_unlock();
}

static void forked(void)
{
    guard_forked();
    guard_host_forked();
}

const struct inject_layer guard_layer = {
    .name = "guard",
    .start = start,
    .before_fork = before_fork,
    .after_fork = after_fork,
    .forked = forked,
};
