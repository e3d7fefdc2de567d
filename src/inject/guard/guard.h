// SPDX-License-Identifier: Apache-2.0
// Guard: pages that are closed until the program touches them, and everything that has to be known
// for that. It knows nothing of the layers that ask for it, and tells them by core/layer.h.
//
//   ranges.c   the data whose pages are closed
//   memory.c   which pages may be closed
//   fault.c    the first touch;  signals.c  the program's own signals;  threads.c  signal masks
//   system.c   memory that the C library and MPI hand to others, or that goes
//   flight.c   memory that MPI uses beyond a call
//   readers.c  others that touch the program's memory and would not wait
//   host_memory.c, blocks.c  where blocks of host memory were allocated
//
// Pages are closed only where libglint-sync.so is loaded (outer.h), and only those that hold
// nothing but data. Stacks never are.
#ifndef GLINT_INJECT_GUARD_GUARD_H
#define GLINT_INJECT_GUARD_GUARD_H

#include "inject/core/layer.h"

extern const struct inject_layer guard_layer;

// Forgets everything that is closed, in a child of fork, where threads and layers are gone. Also
// for a child that the C library has not announced. Opens the pages.
void guard_forked(void);

#endif
