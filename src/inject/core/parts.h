// SPDX-License-Identifier: Apache-2.0
// Parts of objects, which the program tells by include/glint/glint.h or NVTX, and the calls by
// which it does: functions of hooks.def that are none of the driver's. Such a call is recorded like
// an allocation or a free where it made or ended a part, and not at all where it did not.
#ifndef GLINT_INJECT_CORE_PARTS_H
#define GLINT_INJECT_CORE_PARTS_H

#include "call.h"

struct core_part_call {
    struct core_call call;
    bool on; // the call can be told: glint is not at work in this thread already
};

void core_part_call_begin(struct core_part_call *told, enum core_hook hook,
                          struct stack_unwind_registers caller);
void core_part_call_end(struct core_part_call *told);

// From `start`, in one object, overlapping no other part. Numbers: 0 where it cannot be. One whose
// size changes becomes another.
uint64_t core_part_begin(struct core_part_call *told, uint64_t start, uint64_t bytes,
                         uint32_t owner);
uint64_t core_part_resize(struct core_part_call *told, uint64_t start, uint64_t bytes);
bool core_part_end(struct core_part_call *told, uint64_t start);
// Ends the next part at or above *from of those that were told for the owner. False: there is none.
bool core_part_end_of(struct core_part_call *told, uint32_t owner, uint64_t *from,
                      struct core_object *ended);

#endif
