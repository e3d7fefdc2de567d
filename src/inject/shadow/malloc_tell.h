// SPDX-License-Identifier: Apache-2.0
// Records of the memory that kernels allocate. All with shadow->lock.
#ifndef GLINT_INJECT_SHADOW_MALLOC_TELL_H
#define GLINT_INJECT_SHADOW_MALLOC_TELL_H

#include "malloc.h"

// Records a launch whose reports have all arrived. Returns false if some of it is not recorded yet,
// because the ring is too full: there may be many more blocks than fit into it. The caller tries
// again.
bool shadow_malloc_tell(struct shadow *shadow, struct shadow_malloc_launch *launch);
// Writes the maps of the remaining blocks, when no more launches will be recorded. Returns as
// above.
bool shadow_malloc_tell_rest(struct shadow *shadow);
// Ends all blocks with this call.
void shadow_malloc_end_blocks(struct shadow_mallocs *mallocs, uint64_t call);

#endif
