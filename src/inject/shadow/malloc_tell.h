// SPDX-License-Identifier: Apache-2.0
// Records of the memory that kernels allocate. All with shadow->lock.
#ifndef GLINT_INJECT_SHADOW_MALLOC_TELL_H
#define GLINT_INJECT_SHADOW_MALLOC_TELL_H

#include "malloc.h"

// Records a launch of which everything has come. Returns false if not all of it is recorded,
// because the recorder has to read first: there may be many more blocks than records fit into the
// ring.
bool shadow_malloc_tell(struct shadow *shadow, struct shadow_malloc_launch *launch);
// No more launches will be recorded: writes the maps of the blocks that are left. Returns as above.
bool shadow_malloc_tell_rest(struct shadow *shadow);
// The blocks end with the call.
void shadow_malloc_end_blocks(struct shadow_mallocs *mallocs, uint64_t call);

#endif
