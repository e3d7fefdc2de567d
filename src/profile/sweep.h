// SPDX-License-Identifier: Apache-2.0
// Files of recorders that were killed. A recorder holds a lock on the file that becomes its
// profile; the system drops it when the recorder ends. Inner header of src/profile.
#ifndef GLINT_PROFILE_SWEEP_H
#define GLINT_PROFILE_SWEEP_H

#include <stdbool.h>

// The name of the new file is that of the profile, this, and a number.
#define PROFILE_NEW_SUFFIX ".new-"

// Locks a file for its recorder. Locks one byte that SQLite does not lock. The lock belongs to the
// open file description, so SQLite does not drop it by closing the file. Returns false with errno
// set: EAGAIN or EACCES if another recorder holds it.
bool profile_lock(int file);

// Returns whether a recorder holds that lock on the file of this name, also in this process.
bool profile_is_locked(const char *path);

// The number of profiles that this process writes: closing a descriptor of such a file would drop
// SQLite's locks.
extern _Atomic unsigned profile_writing;

#endif
