// SPDX-License-Identifier: Apache-2.0
// The state of first uses. Beside each field stands the lock or the single writer that protects it.
#ifndef GLINT_INJECT_USES_STATE_H
#define GLINT_INJECT_USES_STATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "inject/core/objects.h"
#include "inject/guard/table.h"

enum { USES_EVENTS = 1024, USES_SEEN = 4096, USES_MANAGED = 256 };

struct uses_watch {       // first_use.c; protected by the lock of guard's table
    bool taken, off;      // SIGSEGV was asked for; in vain, or given up. Under the table's lock
    bool pageable_access; // GPUs reach all of the program's memory by its page tables
    bool host_tables;     // even what is pinned
    struct {
        CUevent event;
        struct guard_place at;
    } events[USES_EVENTS]; // by their handle: of two in one place the last
};

struct uses_hashes {                        // hash.c; any thread, without a lock
    _Atomic uint64_t host_calls, host_done; // functions on streams; of them known to be over
    _Atomic uint64_t seen[USES_SEEN];       // places that copies were made to, by their hashes
};

struct uses_managed {      // managed.c
    _Atomic bool launched; // since it was looked at last
    uint64_t changes; // of the objects, when these were listed; with the table's lock, as those
    size_t count;
    struct core_object objects[USES_MANAGED];
};

struct uses_state {
    bool on; // the layer takes part; written at the start and at the end alone
    struct uses_watch watch;
    struct uses_hashes hashes;
    struct uses_managed managed;
    _Atomic bool said_too_many; // it was noted that there are too many managed objects
};

extern struct uses_state uses_state;

#endif
