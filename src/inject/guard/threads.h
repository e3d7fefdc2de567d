// SPDX-License-Identifier: Apache-2.0
// The signal masks of all threads of the process.
#ifndef GLINT_INJECT_GUARD_THREADS_H
#define GLINT_INJECT_GUARD_THREADS_H

#include <stdbool.h>

// Returns whether no thread blocks SIGSEGV now. The system ends a process in which such a thread
// touches a closed page. Makes system calls only.
bool guard_threads_take_faults(void);

#endif
