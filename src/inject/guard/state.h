// SPDX-License-Identifier: Apache-2.0
// The state of guard. Beside each field stands the lock or the single writer that protects it.
#ifndef GLINT_INJECT_GUARD_STATE_H
#define GLINT_INJECT_GUARD_STATE_H

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "blocks.h"
#include "flight.h"
#include "inject/stack/unwind.h"
#include "inject/util/lock.h"
#include "outer.h"
#include "pager_state.h"
#include "table.h"

enum { GUARD_PATHS = 4096, GUARD_FLIGHTS = 4096, GUARD_BUCKETS = 512 };

struct guard_flight {
    uint64_t low, high; // low 1: all memory
    uint64_t request;   // 0: none
    uint32_t next;      // 1 + index of the next in its bucket; 0: none
    uint32_t mark;
    enum guard_flight_kind kind;
    bool active; // MPI uses the memory now
};

struct guard_flights {     // flight.c
    struct util_lock lock; // protects what is not atomic
    _Atomic uint32_t top;  // all from there on are free; read without the lock
    _Atomic bool full;     // there was no room for one
    struct guard_flight items[GUARD_FLIGHTS];
    uint32_t buckets[GUARD_BUCKETS]; // by request: 1 + index of the first; 0: none
};

struct guard_signals {       // signals.c
    struct util_lock lock;   // taken with all signals blocked; protects `action`
    struct sigaction action; // the program's action for SIGSEGV
    _Atomic uint64_t masks;  // signals whose handlers block SIGSEGV, as far as the program can tell
    _Atomic bool taken;
    // The process that `action` belongs to: a child of vfork shares this memory, but has its own
    // signals.
    _Atomic int process;
};

struct guard_readers { // readers.c; any thread, without a lock
    const char *_Atomic found;
    _Atomic uint32_t loads;    // loads of libraries that have begun
    _Atomic uint32_t looked;   // 1 + value of `loads` when libraries were last examined
    _Atomic uint32_t loading;  // threads that are loading a library
    _Atomic uint64_t asked_ns; // when it was last checked who traces the program
    _Atomic uint64_t files_ns; // when the open files were last examined; 0: never
    _Atomic long free_file;    // the lowest file descriptor that was free then
};

struct guard_memory { // memory.c; written once, by the first to start
    bool started;
    uint64_t page_bytes;
    uint64_t heap;     // where the heap of brk begins; 0: unknown
    bool sees_free;    // the program's free() is libglint-sync.so's
    uint64_t exe, end; // bounds of the executable
};

struct guard_libraries {         // libraries.c; any thread, without a lock
    _Atomic uint64_t looked_ns;  // when they were last examined
    _Atomic uint64_t adds, subs; // the loader's counters then
    _Atomic uint32_t changes;    // how often they had changed; 0: never examined
    _Atomic bool mpi;
    const char *_Atomic why; // guard_libraries_why
};

struct guard_reserve { // protect.c: mappings to give back when the system allows no more
    bool made;         // protected by the table's lock
    _Atomic uint64_t at;
};

struct guard_path { // worth.c; protected by the table's lock
    uint64_t key;
    uint32_t uses, times;
};

struct guard_state {
    struct guard_table table;
    struct guard_path paths[GUARD_PATHS];
    struct guard_reserve reserve;
    struct guard_libraries libraries;
    struct guard_memory memory;
    struct guard_flights flights;
    struct guard_signals signals;
    struct guard_readers readers;
    struct guard_pager pager;
    bool protects; // pages that cannot be moved away are protected; written when libc joins
    const char *_Atomic given_up; // why no pages are closed any more; NULL: they are. Written once
    uint32_t nobody;              // a futex that no thread waits at (fault.c); always 0
    int (*driver_asks)(void);     // struct cudaabi_sim's; NULL: none. Written at the start
    // Written once each, when the libraries join. NULL: not loaded, or not needed.
    // Without the first no page is ever closed.
    const struct guard_outer_libc *_Atomic outer_libc;
    const struct guard_outer_mpi *_Atomic outer_mpi;
    // host_memory.c; any thread, without a lock.
    struct guard_blocks host_blocks;
    struct stack_unwind walker;
    _Atomic uint64_t blocks_told; // numbers that were given out
};

extern struct guard_state guard_state;

// Returns whether pages may be closed in this process.
static inline bool guard_is_asked(void)
{
    return atomic_load_explicit(&guard_state.outer_libc, memory_order_relaxed);
}

#endif
