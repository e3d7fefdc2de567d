// SPDX-License-Identifier: Apache-2.0
// Pinned memory that data passes through on its way between the GPU and the program.
#ifndef GLINT_INJECT_CORRECT_WAIT_STAGING_H
#define GLINT_INJECT_CORRECT_WAIT_STAGING_H

#include "marks.h"

enum correct_stage_use { STAGE_NONE, STAGE_FREE, STAGE_TAKEN, STAGE_LEAVING, STAGE_OWED };

struct correct_stage {
    char *memory;
    size_t bytes;
    _Atomic int use;          // enum correct_stage_use
    struct correct_mark mark; // the GPU has finished with the block behind it
    uint64_t age;
};

// Takes a block of at least so many bytes; NULL: there is none now. Needs the layer's lock.
struct correct_stage *correct_stage_take(size_t bytes);
// Waits until there may be a block. Returns false if there will be none. The caller must not hold
// the lock.
bool correct_stage_await(size_t bytes);
void correct_stage_leave(struct correct_stage *block, struct correct_mark mark); // free behind it
void correct_stage_free(struct correct_stage *block); // any thread, also in a signal handler
// Frees all blocks. Returns false, without freeing any, if some are being filled.
bool correct_stages_end(void);

#endif
