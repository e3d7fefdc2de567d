// SPDX-License-Identifier: Apache-2.0
// Parts of objects, which the program announces through include/glint/glint.h or NVTX, or PyTorch
// to its profiler, and the calls by which they do (rows of hooks.def that are not functions of the
// driver). Such a call is recorded like an allocation or a free if it made or ended a part, and
// else not at all. glint makes no call of the driver in it.
#ifndef GLINT_INJECT_CORE_PARTS_H
#define GLINT_INJECT_CORE_PARTS_H

#include "call.h"

struct core_part_call {
    struct core_call call;
    bool on;        // the call can be recorded: the thread is not inside another hook
    unsigned parts; // that it has made or ended
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

// Begins the parts of a block that may lie across adjacent objects, as PyTorch's expandable
// segments do: one in each of them. Earlier parts of the same kind that overlap it end, because the
// block would not be there if they had not been freed. Returns false, with no part begun, if some
// of it lies in no object or in a part of another kind, or if memory runs out.
bool core_parts_begin(struct core_part_call *reported, uint8_t kind, uint64_t start,
                      uint64_t bytes);
// Ends the parts of such a block. Returns false if no part of the kind begins there.
bool core_parts_end(struct core_part_call *reported, uint8_t kind, uint64_t start, uint64_t bytes);

#endif
