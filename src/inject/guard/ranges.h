// SPDX-License-Identifier: Apache-2.0
// Data whose pages are closed (PROT_NONE) until the program touches it, and the table of all such
// ranges. Guard closes pages on behalf of two layers, never both in one process: first uses wants
// to know who touches the data first, corrections owe data there and make whoever touches it wait.
#ifndef GLINT_INJECT_GUARD_RANGES_H
#define GLINT_INJECT_GUARD_RANGES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "event/event.h"
#include "inject/core/call.h"
#include "inject/util/lock.h"

enum { GUARD_RANGES = 512, GUARD_HOLDS = 256, GUARD_STREAMS = 4 };

// Pending: the copy that brings the data is not known to be done. Armed: its pages are closed, or
// will be closed again at the next call.
enum guard_state { GUARD_FREE = 0, GUARD_PENDING, GUARD_ARMED };

struct guard_range { // protected by the table's lock
    enum guard_state state;
    bool open;    // of an armed one: some of its pages are open; closed again at the next call
    bool whole;   // all of its pages are open, as far as this range closed them
    bool told;    // a record says that it may have been used, or was not watched
    bool held;    // the GPU may touch it by the CPU's page tables: closed only while it has no work
    bool boxes;   // it has more than two dimensions, and none of it is watched
    bool block;   // it begins a block of malloc's that has pages of its own
    bool owed;    // closed because data is owed there; writes no records: correct/wait/memory.c
    uint64_t age; // the newest has the highest
    uint64_t start, width, pitch, rows; // the data: rows of `width` bytes, `pitch` apart
    uint64_t low, high;                 // the pages that are closed; high 0: none can be
    struct event_use about;
    uint32_t sync_path, copy_path;
    // Of a pending one: it is done behind this work of these streams, the copy's own first.
    uint32_t context;
    unsigned stream_count;
    struct guard_place {
        const struct core_stream *stream;
        uint64_t enqueued; // number of the piece of work
    } streams[GUARD_STREAMS];
    // Of a pending one, for its hash (uses/hash.c); bytes 0: it gets none.
    struct event_copy what;
    uint64_t holder;              // number of the object that it lies in
    struct core_call_hash before; // of what was there before the copy
    struct core_call_hash after;  // of an armed one: of what is there, if nobody has touched it
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
    uint64_t looked_ns;          // when the signal masks of all threads were last looked at
    bool all_take_faults;        // the result: no thread blocks SIGSEGV
    unsigned blocked_times;      // how often in a row some thread blocked SIGSEGV
    uint64_t signals;            // that the lock's holder had blocked, where something may be owed
    uint64_t left_out;           // ranges that were not watched because that took too long
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
    // Bounds of all pages that were ever closed. A new child keeps its parent's: one of its threads
    // may have a fault to handle on a page that another thread has opened meanwhile.
    _Atomic uint64_t low, high;
};

extern struct guard_table guard_table;

// All ranges that may be in use, with the lock, or by who has interrupted its holder.
#define EACH_GUARD_RANGE(range)                     \
    struct guard_range *range = guard_table.ranges; \
    range < guard_table.ranges + guard_table.top;   \
    range++

// Where data may be owed, signals stay blocked while the lock is held. core_thread.tracking says
// that the thread holds it.
void guard_lock(void);
void guard_unlock(void);

// --- With the lock held --------------------------------------------------------------------------

// A new pending range; if there is no room, the oldest range ends.
struct guard_range *guard_new(void);
void guard_drop(struct guard_range *range);
// Closes its pages, and arms it if it was pending. Returns false if that is not possible now; the
// range is then open, or has ended.
bool guard_close(struct guard_range *range);
// Opens pages. Ranges that have some of them are open from then on.
void guard_open(uint64_t low, uint64_t high);
// Opens its pages and drops it.
void guard_end(struct guard_range *range);
// The same because the program used it: data beside it may be used unseen from then on.
void guard_end_used(struct guard_range *range);
// The newest armed range with the address in its pages; NULL: none.
struct guard_range *guard_find(uint64_t address);
bool guard_holds_page(uint64_t address); // some armed range has the page
bool guard_is_closed(uint64_t address);  // some armed range may have closed the page
// Records a use of the range. stack 0: the thread and its call path are unknown.
void guard_tell(const struct guard_range *range, enum event_use_kind kind, uint64_t address,
                uint32_t stack);
// Records, once, that the range may be used unseen from now on; the second, of all that have pages
// there.
void guard_tell_unknown(struct guard_range *range, enum event_use_kind kind);
void guard_tell_open(uint64_t low, uint64_t high);
// Records data that the call has made safe and none of which is watched.
void guard_tell_unwatched(const struct core_call *call, const struct event_use *about);
// The program hands the memory to the system: data there is recorded as used, and ends.
void guard_hand_over(uint64_t low, uint64_t high, uint32_t stack);
// The memory is overwritten: data that lies in it ends, and pages of other data are opened.
void guard_overwrite(uint64_t low, uint64_t high);
// Data ends that has exactly this place and size.
void guard_replace(uint64_t low, uint64_t high, uint64_t bytes);
// Opens pages there for the driver.
void guard_lend(uint64_t low, uint64_t high);
// Ends what has pages there; with `told`, records that it may be used unseen.
void guard_forget(uint64_t low, uint64_t high, bool told);
// Closes armed ranges that are open.
void guard_close_again(void);
// Whether data of these call paths is worth watching this time: not always, once it was seen to be
// used often enough. guard_count counts a use.
bool guard_wanted(uint32_t sync_path, uint32_t copy_path);
void guard_count(const struct guard_range *range);
// Whether closing pages has taken too much of the program's time so far.
bool guard_is_too_slow(void);

// --- Without the lock ----------------------------------------------------------------------------

// Opens what is closed there although the thread may hold the lock. The next who takes the lock
// records everything that is armed as unknown.
void guard_force_open(uint64_t low, uint64_t high);

// Whether pages there may be closed. Cheap; a false answer is always right.
static inline bool guard_may_be_closed(uint64_t low, uint64_t high)
{
    return atomic_load(&guard_table.armed) &&
           low < atomic_load_explicit(&guard_table.high, memory_order_relaxed) &&
           high > atomic_load_explicit(&guard_table.low, memory_order_relaxed);
}

// System calls without libc. errno is kept, and no function of libglint-sync.so is entered. Returns
// the result, or -errno.
long guard_system_call6(long number, long a, long b, long c, long d, long e, long f);
static inline long guard_system_call(long number, long a, long b, long c, long d)
{
    return guard_system_call6(number, a, b, c, d, 0, 0);
}

#endif
