// SPDX-License-Identifier: Apache-2.0
// Parts of objects, which the program announces through include/glint/glint.h or NVTX, and the
// calls by which it does (rows of hooks.def that are not functions of the driver). Such a call is
// recorded like an allocation or a free if it made or ended a part, and else not at all.
#ifndef GLINT_INJECT_CORE_PARTS_H
#define GLINT_INJECT_CORE_PARTS_H

#include "call.h"

struct core_part_call {
    struct core_call call;
    bool on; // the call can be recorded: the thread is not inside another hook
};

void core_part_call_begin(struct core_part_call *reported, enum core_hook hook,
                          struct stack_unwind_registers caller);
void core_part_call_end(struct core_part_call *reported);

// Begin a part that lies in one object and overlaps no other part, or change its size, which makes
// it another part. Return its number; 0 if that is not possible.
uint64_t core_part_begin(struct core_part_call *reported, uint64_t start, uint64_t bytes,
                         uint32_t owner);
uint64_t core_part_resize(struct core_part_call *reported, uint64_t start, uint64_t bytes);
bool core_part_end(struct core_part_call *reported, uint64_t start);
// Ends the next part at or above *from that belongs to the owner. Returns false if there is none.
bool core_part_end_of(struct core_part_call *reported, uint32_t owner, uint64_t *from,
                      struct core_object *ended);

#endif
