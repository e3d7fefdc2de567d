// SPDX-License-Identifier: Apache-2.0
// Private temporary folders that do not outlive their owner, even if it is killed. The owner holds
// a lock on a file in the folder, which the system drops when the owner ends. A folder of the same
// user whose lock is free is provably dead, and the next one who makes a folder removes it.
// Anything else is left alone.
#ifndef GLINT_BASE_SCRATCH_H
#define GLINT_BASE_SCRATCH_H

#include <stdbool.h>
#include <sys/types.h>

#include "error.h"

struct base_scratch {
    char *path;   // NULL: there is none
    int lock;     // descriptor
    int life;     // descriptor whose closing wakes the keeper; -1: no keeper
    pid_t keeper; // process that removes the folder if this one is killed
};

// The name of the lock in the folder.
#define BASE_SCRATCH_LOCK "lock"

// Makes TMPDIR/glint-KIND-XXXXXX, else in /tmp, also if TMPDIR is longer than `longest` bytes (0:
// any length is accepted). Removes dead folders there first, of all kinds.
enum base_code base_scratch_make(const char *kind, size_t longest, struct base_scratch *scratch,
                                 struct base_error *error);

// Starts a process that waits until this one has ended, even by SIGKILL, then calls `clean`, which
// may be NULL, and removes the folder. It holds no other descriptors, and belongs to a session of
// its own. Call it before there are other threads. Does nothing if no process can be started.
void base_scratch_keep(struct base_scratch *scratch, void (*clean)(void *user), void *user);

// Removes the folder with all that is in it, and ends the keeper.
void base_scratch_remove(struct base_scratch *scratch);

#endif
