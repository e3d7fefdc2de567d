// SPDX-License-Identifier: Apache-2.0
// What libglint-sync.so and libglint-mpi.so announce: memory that is handed to the system or to
// MPI, which fail on closed pages instead of raising a signal; memory that goes; and that nothing
// may be closed any more. All functions keep errno; any thread, also in a signal handler.
#ifndef GLINT_INJECT_GUARD_SYSTEM_H
#define GLINT_INJECT_GUARD_SYSTEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "inject/stack/unwind.h"

struct guard_hold;

// While a guard is held, pages from low to high are not closed. low 1: no pages at all. NULL is a
// guard, too, and stands for all memory.
struct guard_hold *guard_hold_take(uint64_t low, uint64_t high);
void guard_hold_give(struct guard_hold *guard);

// Opens pages there, and records data there as used by the caller; opens all pages.
void guard_open_for_system(uint64_t low, uint64_t high, struct stack_unwind_registers caller);
void guard_open_all(void);

// No pages are closed from now on, for this reason, which stays valid, and all are opened. The
// second needs the table's lock, and leaves it to others to open pages.
void guard_give_up(const char *why);
void guard_keep_open(const char *why);
const char *guard_given_up(void); // the reason; NULL: not given up

// Memory goes, or changes its protection (`told`: its data may be used unseen). bytes: returns the
// size of a block of malloc's.
void guard_forget_memory(uint64_t low, uint64_t high, bool told);
void guard_forget_block(void *block, bool told, size_t (*bytes)(void *block));

#endif
