// SPDX-License-Identifier: Apache-2.0
// What libglint-sync.so and libglint-mpi.so announce: memory that is handed to the system or to
// MPI, which fail on closed pages instead of raising a signal; memory that is freed; and reasons to
// close no more pages. All functions keep errno. Any thread may call them, also in a signal
// handler.
#ifndef GLINT_INJECT_GUARD_SYSTEM_H
#define GLINT_INJECT_GUARD_SYSTEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "inject/stack/unwind.h"

struct guard_hold;

// While a guard is held, pages from low to high are not closed. low 1: no pages at all. NULL is a
// valid guard, and stands for all memory.
struct guard_hold *guard_hold_take(uint64_t low, uint64_t high);
void guard_hold_give(struct guard_hold *guard);

// guard_open_for_system opens pages there, and records data there as used by the caller.
// guard_open_all opens all pages.
void guard_open_for_system(uint64_t low, uint64_t high, struct stack_unwind_registers caller);
void guard_open_all(void);

// From now on guard closes no pages, for this reason, which must stay valid. guard_give_up also
// opens all pages; it is called when the program blocks SIGSEGV, and does nothing unless pages are
// protected. guard_keep_open needs the table's lock, and leaves it to others to open pages.
void guard_give_up(const char *why);
void guard_keep_open(const char *why);
const char *guard_given_up(void); // the reason; NULL: not given up

// Called when memory is unmapped or freed, or changes its protection (`reported`: uses of its data
// may be missed). bytes: returns the size of a malloc block.
void guard_forget_memory(uint64_t low, uint64_t high, bool reported);
void guard_forget_block(void *block, bool reported, size_t (*bytes)(void *block));

#endif
