// SPDX-License-Identifier: Apache-2.0
// Memory that is closed while something is owed there.
#ifndef GLINT_INJECT_CORRECT_WAIT_MEMORY_H
#define GLINT_INJECT_CORRECT_WAIT_MEMORY_H

#include "staging.h"

// Returns whether memory can be closed in this process; notes why not, once. Needs the layer's
// lock.
bool correct_memory_ready(void);
// Closes all memory that the GPU and the program share. Returns false if some cannot be closed.
bool correct_close_shared(const struct core_call *call);
// Returns whether the data of a copy to pageable memory can be owed there.
bool correct_can_owe_data(uint64_t to, uint64_t bytes, const struct core_call *call);
// Owes the data there: once the mark is reached, it is delivered from the block. Returns false if
// that is not possible now.
bool correct_owe_data(uint64_t to, uint64_t bytes, struct correct_stage *block,
                      struct correct_mark mark, const struct core_call *call);
// Drops data that is owed to the memory, because nothing will read it.
void correct_forget_data(uint64_t low, uint64_t high);
// Delivers the data that has been owed the longest, to free its block. Returns false if none is
// owed.
bool correct_deliver_oldest(void);
bool correct_is_data_owed(void);

// Called when the memory is about to be touched, or was. Waits for what is owed there, and delivers
// it. Returns whether anything was owed. Any thread may call, also in a signal handler.
bool correct_touch(uint64_t low, uint64_t high);
// Called when memory is unmapped or freed: pages, or a malloc block that begins at start. What is
// owed there is dropped.
void correct_memory_gone(uint64_t low, uint64_t high);
void correct_block_gone(uint64_t start);

#endif
