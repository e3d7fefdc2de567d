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
    bool taken, off;      // the signal handler was installed; that failed, or watching was given up
    bool pageable_access; // GPUs access all of the program's memory by its page tables
    bool host_tables;     // even pinned memory
    struct {
        CUevent event;
        struct guard_place at;
    } events[USES_EVENTS]; // by hash of the handle; a later event replaces an earlier one
};

struct uses_hashes {                        // hash.c; any thread, without a lock
    _Atomic uint64_t host_calls, host_done; // host functions on streams; those known to have run
    _Atomic uint64_t seen[USES_SEEN];       // hashes of places that copies were made to
};

struct uses_managed {      // managed.c
    _Atomic bool launched; // work was launched since the last check
    // The table's lock protects these; changes: of objects, when they were listed.
    uint64_t changes;
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
