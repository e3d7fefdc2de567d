// SPDX-License-Identifier: Apache-2.0
// Libraries that access the program's memory in ways that closed pages cannot make wait, or whose
// functions glint does not see.
#ifndef GLINT_INJECT_GUARD_LIBRARIES_H
#define GLINT_INJECT_GUARD_LIBRARIES_H

#include <stdbool.h>
#include <stdint.h>

// Examines the libraries if some were loaded since the last time. Takes the loader's lock, which a
// thread that closes a library holds while it frees memory: the caller holds no lock, and is not in
// a signal handler.
void guard_libraries_look(void);

// The rest returns what was found then, and takes no lock.

// Returns why memory must not be closed; NULL: no library is a reason.
const char *guard_libraries_why(void);
// Returns whether some library has MPI.
bool guard_libraries_have_mpi(void);
// Returns a number that changes whenever libraries were loaded or closed.
uint32_t guard_libraries_changes(void);

// Reasons that also open files give (readers.c).
extern const char guard_reader_io_uring[], guard_reader_network[], guard_reader_devices[],
    guard_reader_processes[];

#endif
