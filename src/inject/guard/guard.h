// SPDX-License-Identifier: Apache-2.0
// Guard: pages that are closed until the program touches them, and everything that is needed for
// that. It does not know the layers that use it, and calls them through core/layer.h.
//
//   ranges.c   the data whose pages are closed;  closing.c  closes and opens them
//   tell.c     records of uses;  worth.c  what watching may cost
//   memory.c   which pages may be closed
//   pager.c    moves pages away, so that the system waits for them;  touches.c  answers its faults
//   room.c     whether a stack has room for a signal
//   protect.c  protects pages where that does not work, if the user asks for it
//   fault.c    the first touch;  signals.c  the program's own signals;  threads.c  signal masks
//   system.c   memory that the C library and MPI hand to others, and memory that is freed
//   flight.c   memory that MPI uses beyond a call
//   kernel.c   system calls without libc
//   readers.c  others that touch the program's memory and would not wait
//   host_memory.c, blocks.c  where blocks of host memory were allocated
//
// Pages are closed only if libglint-sync.so is loaded (outer.h), and only those that hold nothing
// but data. Pages of stacks never are.
#ifndef GLINT_INJECT_GUARD_GUARD_H
#define GLINT_INJECT_GUARD_GUARD_H

#include "inject/core/layer.h"

extern const struct inject_layer guard_layer;

// Called in a child of fork, in which threads and layers do not exist, also if the C library has
// not announced it. Opens all pages and clears the table.
void guard_forked(void);

#endif
