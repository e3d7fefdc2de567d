// SPDX-License-Identifier: Apache-2.0
// The table of ranges whose pages guard closes (ranges.h).
#ifndef GLINT_INJECT_GUARD_TABLE_H
#define GLINT_INJECT_GUARD_TABLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "event/event.h"
#include "inject/core/call.h"
#include "inject/util/lock.h"

enum { GUARD_RANGES = 512, GUARD_HOLDS = 1024, GUARD_STREAMS = 4 };

// Pending: the copy of the data may not be done yet. Armed: its pages are closed, or will be closed
// again at the next call.
enum guard_range_state { GUARD_FREE = 0, GUARD_PENDING, GUARD_ARMED };

struct guard_range { // protected by the table's lock
    enum guard_range_state state;
    bool open;     // of an armed one: some of its pages are open; closed again at the next call
    bool whole;    // all of its pages are open, as far as this range closed them
    bool reported; // a record says that its use may have been missed, or that it was not watched
    bool held;    // the GPU may touch it by the CPU's page tables: closed only while it has no work
    bool boxes;   // it has more than two dimensions, and none of it is watched
    bool block;   // it begins a malloc block that has separate pages
    bool owed;    // closed because data is owed there; writes no records: correct/wait/memory.c
    bool paged;   // its pages are moved away (pager.h) instead of protected
    uint64_t age; // the newest has the highest
    uint64_t start, width, pitch, rows; // the data: rows of `width` bytes, `pitch` apart
    uint64_t low, high;                 // the pages that are closed; high 0: none can be
    struct event_use about;
    uint32_t sync_path, copy_path;
    // Of a pending range: the copy is done when these streams have done this work; the copy's
    // stream comes first.
    uint32_t context;
    unsigned stream_count;
    struct guard_place {
        const struct core_stream *stream;
        uint64_t enqueued; // number of the piece of work
    } streams[GUARD_STREAMS];
    // Of a pending range, for its hash (uses/hash.c); bytes 0: it gets none.
    struct event_copy what;
    uint64_t holder;              // number of the object that it lies in
    struct core_call_hash before; // hash of the contents before the copy
    struct core_call_hash after;  // of an armed range: hash of the untouched contents
};

struct guard_table {
    struct util_lock lock; // protects all fields below that are not atomic
    uint64_t ages;
    unsigned top; // all ranges from there on are free
    struct guard_range ranges[GUARD_RANGES];
    bool all;         // watch everything, whatever it costs; written when libglint-sync.so joins
    bool owes;        // pages are closed for corrections; written by their start alone
    uint64_t idle_at; // value of `submitted` at which the GPU was idle; UINT64_MAX: it was not
    uint64_t spent_ns, since_ns; // time spent on closing and opening pages, and since when
    uint64_t locked_ns;          // when the lock was taken
    uint32_t changes;            // of the libraries when readers were last looked for
    uint64_t looked_ns;          // when the signal masks of all threads were last read
    bool all_take_faults;        // the result: no thread blocks SIGSEGV
    unsigned blocked_times;      // how often in a row some thread blocked SIGSEGV
    uint64_t signals;    // signals that the lock's holder had blocked, if something may be owed
    bool forking;        // a thread holds the lock because it forks
    bool said_unguarded; // it was noted that there were too many guards
    uint64_t left_out;   // ranges that were not watched because that took too long
    // Any thread, without the lock:
    _Atomic uint32_t pending, armed; // ranges in these states
    _Atomic uint32_t held;           // armed ranges that are held, and closed
    _Atomic uint32_t submitting;     // calls that are giving work to the GPU now
    _Atomic uint64_t submitted;      // such calls so far
    _Atomic uint64_t forced_ns;      // not 0: pages were opened without the lock
    struct guard_hold {
        _Atomic uint64_t low, high; // memory that the system accesses; low 0: free, 1: all memory
    } guards[GUARD_HOLDS];
    _Atomic uint32_t unguarded; // accesses by the system that found no guard
    // Bounds of all pages that were ever closed. A child of fork keeps its parent's: one of its
    // threads may still have to handle a fault on a page that another thread has opened meanwhile.
    _Atomic uint64_t low, high;
};

#endif
