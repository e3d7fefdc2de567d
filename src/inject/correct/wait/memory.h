// SPDX-License-Identifier: Apache-2.0
// Memory that is closed while something is owed there.
#ifndef GLINT_INJECT_CORRECT_WAIT_MEMORY_H
#define GLINT_INJECT_CORRECT_WAIT_MEMORY_H

#include "staging.h"

// Whether memory can be closed in this process; notes why not, once. With the layer's lock.
bool correct_memory_ready(void);
// Closes all memory that the GPU and the program share. False: some cannot be closed.
bool correct_close_shared(const struct core_call *call);
// Whether the data that a copy brings to pageable memory can be owed there.
bool correct_can_owe_data(uint64_t to, uint64_t bytes, const struct core_call *call);
// It is owed there from now on, out of the block, behind the mark. False: that is not possible now.
bool correct_owe_data(uint64_t to, uint64_t bytes, struct correct_stage *block,
                      struct correct_mark mark, const struct core_call *call);
// Drops data that is owed in the memory, because nobody will see it.
void correct_forget_data(uint64_t low, uint64_t high);
// Delivers the oldest data that is owed, to free its block. False: nothing is owed.
bool correct_deliver_oldest(void);
bool correct_is_data_owed(void);

// The memory is about to be touched, or was: waits for what is owed there, and delivers it. Returns
// whether anything was. Any thread, also in a signal handler.
bool correct_touch(uint64_t low, uint64_t high);
// The memory goes, and with it what is owed there: pages, or a block of malloc's that begins at
// start.
void correct_memory_gone(uint64_t low, uint64_t high);
void correct_block_gone(uint64_t start);

#endif
