// SPDX-License-Identifier: Apache-2.0
// Guard at the start of a process and in a child of fork.
#include "guard.h"

#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "fault.h"
#include "flight.h"
#include "host_memory.h"
#include "ranges.h"
#include "signals.h"

// The lock may have been held by another thread, which is not in the child. Pages that were closed
// in the parent are closed in the child, too.
void use_forked(void)
{
    for (EACH_USE_RANGE(range)) {
        if (range->state == USE_ARMED)
            use_system(SYS_mprotect, (long)range->low, (long)(range->high - range->low),
                       PROT_READ | PROT_WRITE, 0);
    }
    memset(&use_table, 0, offsetof(struct use_table, low));
    inject_thread.tracking = false;
    use_flight_forked();
    use_signals_forked();
}

static bool start(const struct door_driver *driver)
{
    if (state.generation > 1)
        use_forked();
    use_driver_asks = driver->at;
    host_start();
    return true;
}

static void forked(void)
{
    use_forked();
    host_forked();
}

const struct inject_layer guard_layer = {
    .name = "guard",
    .start = start,
    .forked = forked,
};
