// SPDX-License-Identifier: Apache-2.0
// The interface between libglint.so and the libraries that stand before the C library
// (libglint-sync.so, src/inject/libc) and before MPI (libglint-mpi.so, src/inject/mpi). Those are
// loaded only where first uses are watched or waits are corrected. libglint.so itself exports no
// name of the C library or of MPI, and works without them.
//
// A library joins in its constructor: it gives libglint.so a struct guard_outer_*, and gets a table
// of functions. The libraries of one version of glint belong together: a library of another version
// is refused, and passes all calls on.
#ifndef GLINT_INJECT_HOOKS_INSIDE_H
#define GLINT_INJECT_HOOKS_INSIDE_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "inject/guard/blocks.h"
#include "inject/guard/flight.h"
#include "inject/guard/outer.h"
#include "inject/guard/system.h"
#include "inject/stack/unwind.h"

enum { INSIDE_VERSION = 1 };

// What libglint.so does for the other libraries. All functions keep errno; any thread, also in a
// signal handler.
struct hooks_inside {
    bool (*is_own)(const void *caller); // whether the address lies in libglint.so's code
    bool (*is_in_driver)(void); // whether the thread is inside a hook: the driver is calling

    // Memory that the system or MPI is about to access. While a hold is taken, pages there are not
    // closed; NULL is a valid hold. low 1: all memory. `open` opens pages there and records the
    // data as used by the caller; `open_all` opens all pages.
    struct guard_hold *(*take_guard)(uint64_t low, uint64_t high);
    void (*give_guard)(struct guard_hold *guard);
    void (*open)(uint64_t low, uint64_t high, struct stack_unwind_registers caller);
    void (*open_all)(void);
    // Called when the program blocks SIGSEGV: see guard_give_up in guard/system.h.
    void (*give_up)(const char *why);

    // Others that access the program's memory: see guard/readers.h.
    void (*found_reader)(const char *why);
    void (*load)(const char *escapes, const void *caller);
    void (*opened)(int file);
    // The caller reads a clock: see uses/clock_reads.h.
    void (*clock_read)(const void *caller);

    // Memory that is unmapped or freed, or is about to change its protection (`reported`: glint may
    // not see later uses of its data). `bytes` returns the size of a malloc block.
    void (*forget)(uint64_t low, uint64_t high, bool reported);
    void (*forget_block)(void *block, bool reported, size_t (*bytes)(void *block));

    // Where blocks were allocated: see guard/host_memory.h.
    bool (*may_hold)(const void *address);
    void (*allocated)(const void *address, size_t bytes, uint8_t kind,
                      struct stack_unwind_registers caller);
    bool (*leaves)(const void *address, struct guard_block *block);
    void (*freed)(const struct guard_block *block, struct stack_unwind_registers caller);
    void (*stays)(const struct guard_block *block);
    void (*unmapped)(const void *address, size_t bytes, struct stack_unwind_registers caller);

    // The program's signals, as if glint did not use SIGSEGV: see guard/signals.c.
    int (*sigaction)(int number, const struct sigaction *action, struct sigaction *old);
    // Returns false if the signal is not SIGSEGV: the caller then calls the C library's function.
    bool (*signal)(int number, sighandler_t handler, int flags, sighandler_t *old);
    int (*mask)(int how, const sigset_t *set, sigset_t *old,
                int (*next)(int, const sigset_t *, sigset_t *));

    // Memory that MPI uses beyond a call: see guard/flight.h.
    struct guard_flight *(*flight_begin)(uint64_t low, uint64_t high, enum guard_flight_kind kind);
    void (*flight_end)(struct guard_flight *flight);
    void (*flight_name)(struct guard_flight *const *flights, unsigned count, uint64_t request);
    unsigned (*flight_mark)(uint64_t request, uint32_t from, uint32_t to);
    void (*flight_end_marked)(uint32_t mark);
    void (*flight_free)(uint64_t request);
    bool (*flight_start)(uint64_t request, void (*open)(uint64_t low, uint64_t high, void *context),
                         void *context);
};

// Exported by libglint.so. Returns NULL if the version differs, or this process needs none of the
// functions. `outer` must stay valid.
#pragma GCC visibility push(default)
const struct hooks_inside *glint_v1_join_libc(uint32_t version,
                                              const struct guard_outer_libc *outer);
const struct hooks_inside *glint_v1_join_mpi(uint32_t version, const struct guard_outer_mpi *outer);
#pragma GCC visibility pop

#endif
