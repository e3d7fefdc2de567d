// SPDX-License-Identifier: Apache-2.0
// Guard at the start of a process and in a child of fork.
#include "guard.h"

#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "host_memory.h"
#include "ranges.h"
#include "signals.h"

struct guard_state guard_state;

// The lock may have been held by another thread, which is not in the child. Pages that were closed
// in the parent are closed in the child, too.
void guard_forked(void)
{
    for (EACH_GUARD_RANGE(range)) {
        if (range->state == GUARD_ARMED)
            guard_system_call(SYS_mprotect, (long)range->low, (long)(range->high - range->low),
                              PROT_READ | PROT_WRITE, 0);
    }
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
    return true;
}

static void forked(void)
{
    guard_forked();
    guard_host_forked();
}

const struct inject_layer guard_layer = {
    .name = "guard",
    .start = start,
    .forked = forked,
};
