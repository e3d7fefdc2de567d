// SPDX-License-Identifier: Apache-2.0
// Parts of objects, which the program tells by include/glint/glint.h or NVTX, and the calls by
// which it does: functions of hooks.def that are none of the driver's. Such a call is recorded like
// an allocation or a free where it made or ended a part, and not at all where it did not.
#ifndef GLINT_INJECT_CORE_PARTS_H
#define GLINT_INJECT_CORE_PARTS_H

#include "call.h"

struct part_call {
    struct call call;
    bool on; // the call can be told: glint is not at work in this thread already
};

void part_call_begin(struct part_call *told, enum hook hook, struct unwind_registers caller);
void part_call_end(struct part_call *told);

// From `start`, in one object, overlapping no other part. Numbers: 0 where it cannot be. One whose
// size changes becomes another.
uint64_t part_begin(struct part_call *told, uint64_t start, uint64_t bytes, uint32_t owner);
uint64_t part_resize(struct part_call *told, uint64_t start, uint64_t bytes);
bool part_end(struct part_call *told, uint64_t start);
// Ends the next part at or above *from of those that were told for the owner. False: there is none.
bool part_end_of(struct part_call *told, uint32_t owner, uint64_t *from, struct object *ended);

#endif
