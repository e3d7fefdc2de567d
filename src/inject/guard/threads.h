// SPDX-License-Identifier: Apache-2.0
// The signal masks of all threads of the process.
#ifndef GLINT_INJECT_GUARD_THREADS_H
#define GLINT_INJECT_GUARD_THREADS_H

#include <stdbool.h>

// Whether no thread blocks SIGSEGV now: the system ends a process of which such a thread touches a
// closed page. Makes system calls only.
bool guard_threads_take_faults(void);

#endif
