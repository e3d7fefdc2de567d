// SPDX-License-Identifier: Apache-2.0
// What the files of first_use.h share.
#ifndef GLINT_INJECT_GUARD_INNER_H
#define GLINT_INJECT_GUARD_INNER_H

#include <signal.h>
#include <stdatomic.h>

#include "inject/hooks/inside.h"
#include "inject/uses/first_use.h"
#include "inject/util/lock.h"

// --- Data that is watched (ranges.c) ---------------------------------------------------

enum { USE_RANGES = 512, USE_GUARDS = 256, USE_STREAMS = 4 };

enum use_state { USE_FREE = 0, USE_PENDING, USE_ARMED };

struct use_range {
    enum use_state state;
    bool open;  // of an armed one: pages of it are open, and are closed again at the next call
    bool whole; // all of them are, as far as it is this one that has them closed
    bool told;  // that it may have been used, or was not watched
    bool held;  // the GPU may touch it by the CPU's page tables: closed only while it has no work
    bool boxes; // it has more than two dimensions: nothing of it is watched
    bool block; // it begins a block of malloc's that has pages of its own
    bool owed; // closed because something is owed there, and told of nothing: correct/wait/memory.c
    uint64_t age;                       // the newest has the highest
    uint64_t start, width, pitch, rows; // the data: rows of `width` bytes, `pitch` apart
    uint64_t low, high;                 // pages that are closed, all of them; high 0: none can be
    struct event_use about;
    uint32_t sync_path, copy_path;
    // Of a pending one: behind which work of which streams it is done, the copy's own first.
    uint32_t context;
    unsigned stream_count;
    struct use_place {
        const struct stream *stream;
        uint64_t enqueued; // the stream's work, with this
    } streams[USE_STREAMS];
    // Of a pending one, for its hash; bytes 0: there will be none.
    struct event_copy what;
    uint64_t holder;         // object that it lies in
    struct call_hash before; // of what was there
    struct call_hash after;  // of an armed one: what is there, if nobody has touched it
};

struct use_table {
    struct lock lock; // protects all below that is not atomic; inject_thread.tracking: who has it
    uint64_t ages;
    unsigned top; // all ranges from there on are free
    struct use_range ranges[USE_RANGES];
    bool all;         // is watched, whatever it costs; from the start on
    uint64_t idle_at; // value of `submitted` at which the GPU was idle; UINT64_MAX: it was not
    uint64_t spent_ns, since_ns; // on all of this; when it began
    uint64_t locked_ns;          // when the lock was taken
    uint64_t looked_ns;          // when it was that threads were looked at last; and
    bool all_take_faults;        // what came of it
    unsigned blocked_times;      // how often in a row some thread blocked SIGSEGV
    uint64_t signals;            // that its holder had blocked, where something may be owed
    uint64_t left_out;           // data that was not watched because that took too long
    // Anybody may look.
    _Atomic uint32_t pending;     // ranges
    _Atomic uint32_t armed, held; // ranges; those of them that are held, and closed
    _Atomic uint32_t submitting;  // calls that are just giving work to the GPU
    _Atomic uint64_t submitted;   // and all there were
    _Atomic uint64_t forced_ns;   // pages were opened behind the lock's back, then
    struct use_guard {
        _Atomic uint64_t low, high; // memory that the system is at; low 0: free, 1: all
    } guards[USE_GUARDS];
    _Atomic uint32_t unguarded; // how many found no place
    // Bounds of all pages that were ever closed. A new child keeps its parent's: one of its threads
    // may have a fault to handle on a page that another thread has opened meanwhile.
    _Atomic uint64_t low, high;
};

extern struct use_table use_table;

// All that may be in use; with the lock, or by who has interrupted its holder.
#define EACH_USE_RANGE(range)                   \
    struct use_range *range = use_table.ranges; \
    range < use_table.ranges + use_table.top;   \
    range++

void use_lock(void);
void use_unlock(void);
// All of these with the lock held.
struct use_range *use_new(void); // the oldest makes room
void use_drop(struct use_range *range);
// Protects its pages. False: that is not possible now, and it is open.
bool use_close(struct use_range *range);
// Opens pages that may be closed; ranges that have some of them are open from now on.
void use_open(uint64_t low, uint64_t high);
// Opens its pages and ends it.
void use_end(struct use_range *range);
// The same by the program's use, so that data beside it may be used unseen from now on.
void use_end_used(struct use_range *range);
// The newest armed one with the address in its data; NULL: none.
struct use_range *use_find(uint64_t address);
bool use_holds_page(uint64_t address); // some armed one does
bool use_is_closed(uint64_t address);  // some armed one may have its page closed now
// A record of it. The path is that of the registers; all 0: none is told.
void use_tell(const struct use_range *range, enum event_use_kind kind, uint64_t address,
              uint32_t stack);
// It may have been used from now on without being seen: told once. Those with pages there.
void use_tell_unknown(struct use_range *range, enum event_use_kind kind);
void use_tell_open(uint64_t low, uint64_t high);
// Data in the memory, first byte of it there: told as used by handing it over, and ended.
void use_hand_over(uint64_t low, uint64_t high, uint32_t stack);
// Data of which all is there ends; of the rest pages are opened.
void use_overwrite(uint64_t low, uint64_t high);
// Data ends that has exactly this place and size.
void use_replace(uint64_t low, uint64_t high, uint64_t bytes);
// Pages there are opened for the driver.
void use_lend(uint64_t low, uint64_t high);
// What has pages there ends, told as unknown if `told`.
void use_forget(uint64_t low, uint64_t high, bool told);
void use_close_again(void);
// A path whose data is used is not watched every time: whether to, this time; and that it is used.
bool use_wanted(uint32_t sync_path, uint32_t copy_path);
void use_count(const struct use_range *range);
// Without the lock, which the thread may have: opens what is closed there, by force.
void use_force_open(uint64_t low, uint64_t high);

// Bounds of what may be closed: cheap, and never wrong where it says no.
static inline bool use_may_be_closed(uint64_t low, uint64_t high)
{
    return atomic_load(&use_table.armed) &&
           low < atomic_load_explicit(&use_table.high, memory_order_relaxed) &&
           high > atomic_load_explicit(&use_table.low, memory_order_relaxed);
}

// --- What the libraries outside say (system.c, inside.h)
// --------------------------------

// The libraries that have joined; NULL: not loaded, or nothing is asked for. Without the first
// nothing is closed.
extern const struct outer_libc *_Atomic use_outer_libc;
extern const struct outer_mpi *_Atomic use_outer_mpi;
static inline bool use_is_asked(void)
{
    return atomic_load_explicit(&use_outer_libc, memory_order_relaxed);
}

struct use_guard *use_take_guard(uint64_t low, uint64_t high);
void use_give_guard(struct use_guard *guard);
void use_open_for_system(uint64_t low, uint64_t high, struct unwind_registers caller);
void use_open_all(void);
void use_give_up(const char *why);
void use_keep_open(const char *why); // the same with the lock: what is closed is opened later
const char *use_given_up(void);      // why; NULL: it is not
void use_forget_memory(uint64_t low, uint64_t high, bool told);
void use_forget_block(void *block, bool told, size_t (*bytes)(void *block));

// --- Memory in flight (flight.c) -------------------------------------------------------

// Begins before it is looked whether something is closed there, as a guard does. NULL: there is no
// room, and nothing is closed any more.
struct use_flight *use_flight_begin(uint64_t low, uint64_t high, enum use_flight_kind kind);
void use_flight_end(struct use_flight *flight); // the call has failed
// The flights of one call have this request, those of a persistent one until it is started.
void use_flight_name(struct use_flight *const *flights, unsigned count, uint64_t request);
// Those of a request that have one mark get another: how many. All that have a mark end.
unsigned use_flight_mark(uint64_t request, uint32_t from, uint32_t to);
void use_flight_end_marked(uint32_t mark);
// The program gives the request up: nobody sees any more when it is over.
void use_flight_free(uint64_t request);
// A persistent request is started: what it has is to be opened. False: nothing is known of it.
bool use_flight_start(uint64_t request, void (*open)(uint64_t low, uint64_t high, void *context),
                      void *context);
bool use_is_in_flight(uint64_t low, uint64_t high);
// A copy is made to all of the memory.
void use_flight_overwritten(uint64_t low, uint64_t high);
void use_flight_forked(void); // in a new child

// --- What copies move (uses/hash.c) ---------------------------------------------------------

void use_hash_start(void);
// Before a copy to the host, and before anything is known of it: whether it matters what is there.
// If so, and it is not known anyway, that is looked at as soon as it is known to be open.
bool use_hash_wants_before(struct call *call);
void use_hash_before(struct call *call);
// At the end of a copy; sync: it has waited for itself. And of one more that the call has made.
void use_hash_after(struct call *call, bool sync);
void use_hash_source(const struct call *call, const struct event_copy *copy);
// With the lock, of a copy to the host that is pending: it begins; what was there is known; other
// work will change what is there; the call has made it safe.
void use_hash_begin(struct use_range *range, const struct event_copy *copy);
void use_hash_keep_before(const struct call *call);
void use_hash_disturb(uint64_t low, uint64_t high);
void use_hash_safe(const struct call *call, struct use_range *range);
// A stream is given a function of the program's, or something else that may write to the host's
// memory. Around a synchronisation, with that all of these may be over.
void use_hash_host_work(void);
void use_hash_sync(struct call *call);
void use_hash_idle(const struct call *call, bool sync);

// --- Managed memory (uses/managed.c) --------------------------------------------------------

void use_managed_start(void);
bool use_has_managed(void);      // there was some
void use_managed_launched(void); // the GPU was given work
// Whether nothing runs that could touch memory by page tables, as far as is known. Not with the
// table's lock: state.lock comes before it.
bool use_is_all_idle(const struct call *call);
// With the lock: the call has waited; is the GPU idle? What kernels may have written is reported.
void use_managed_sync(const struct call *call, bool idle);

// --- The rest ------------------------------------------------------------------------------------

// With the lock. Whether first uses can be had.
bool use_is_possible(void);
// With the lock: the call has made the data safe, which is watched from now on, or told not to be.
void use_make_safe(const struct call *call, struct use_range *range);
// A record of data that the call has made safe, none of which is watched; all but when.
void use_tell_unwatched(const struct call *call, const struct event_use *about);

// Whether closing pages has taken too much of the program's time so far. With the lock.
bool use_is_too_slow(void);
bool use_devices_have(CUdevice_attribute which); // some device does

// memory.c: which pages of the data may be closed. sp: of the thread that calls.
void use_find_pages(struct use_range *range, uint8_t object_kind, uint64_t sp);
void use_memory_start(void);
void use_memory_prepare(void); // as the process starts
uint64_t use_page_bytes(void);
// Why nothing can be watched in this process; NULL: it can. The answer may be another once
// libraries were loaded: whether they were since this was asked last, with the lock.
const char *use_find_obstacle(void);
bool use_libraries_changed(void);

// signals.c. False: SIGSEGV cannot be had.
bool use_take_signal(void);
bool use_has_signal(void);     // nobody has taken it away
void use_signals_forked(void); // in a new child
// Passes a signal on that is none of ours.
void use_pass_signal(int number, siginfo_t *info, void *context);
// The program's own functions: see struct inside.
int use_sigaction(int number, const struct sigaction *action, struct sigaction *old);
bool use_signal(int number, sighandler_t handler, int flags, sighandler_t *old);
int use_mask(int how, const sigset_t *set, sigset_t *old,
             int (*next)(int, const sigset_t *, sigset_t *));
// threads.c: whether every thread of the process takes SIGSEGV now, so that none dies of
// a closed page.
bool use_threads_take_faults(void);
// fault.c
bool use_can_be_read(uint64_t address); // the byte, now; a signal does not come of it
void use_handler(int number, siginfo_t *info, void *context);
uint64_t use_stack_pointer(const void *context); // that the signal interrupted
extern int (*use_driver_asks)(void);             // struct cudaabi_sim's; NULL: none

// System calls without libc: errno stays, and nothing of ours is met.
long use_system6(long number, long a, long b, long c, long d, long e, long f);
static inline long use_system(long number, long a, long b, long c, long d)
{
    return use_system6(number, a, b, c, d, 0, 0);
}

#endif
