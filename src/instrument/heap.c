// SPDX-License-Identifier: Apache-2.0
// Memory that kernels allocate themselves: which functions give and take it, and the text of what
// clones call in their place. Nobody but the kernels knows of that memory, so clones keep a map of
// the blocks that are there at every moment, for all launches of a context (struct
// instrument_heap_blocks): an access is told of the block that was there when it happened, however
// often the memory is given out again.
//
// A block is cut into pieces that are as long as a power of two and aligned to it, as few as there
// can be; a piece is found by its place and size in a hash table. So a block of n bytes takes some
// 2 * log2(n / 16) places, and looking an address up some steps for each size that there is.
// Nothing is remembered by a thread from one access to the next: the block may be another by then.
#include "heap.h"

#include <string.h>

#include "fill.h"

enum { LEAST_SM = 35 }; // 64-bit bitwise atomic operations

static const struct {
    const char *name;
    uint32_t params; // of 64 bits each
    bool gives;
} functions[] = {
    {"malloc", 1, true},
    {"__cuda_syscall_aligned_malloc", 2, true}, // bytes, alignment
    {"free", 1, false},
};
enum { FUNCTIONS = sizeof(functions) / sizeof(functions[0]) };

static int find(const char *name)
{
    for (int i = 0; i < FUNCTIONS; i++) {
        if (strcmp(name, functions[i].name) == 0)
            return i;
    }
    return -1;
}

bool instrument_is_heap(const struct instrument_work *work, const struct ptx_function *function)
{
    const int at = find(function->name);
    if (at < 0 || function->has_body || work->sm < LEAST_SM ||
        function->param_count != functions[at].params ||
        function->return_count != (functions[at].gives ? 1u : 0u))
        return false;
    for (uint32_t i = 0; i < function->param_count; i++) {
        if (function->params[i]->size_bytes != 8)
            return false;
    }
    return !functions[at].gives || function->returns[0]->size_bytes == 8;
}

void instrument_emit_heap_calls(const struct instrument_work *work, struct base_buf *out)
{
    for (int i = 0; i < FUNCTIONS; i++) {
        if (!(work->heap_functions & 1u << i))
            continue;
        if (functions[i].gives)
            FILL(out, allocating_function, STRING(name, functions[i].name),
                 NUMBER(aligned, functions[i].params > 1));
        else
            FILL(out, freeing_function, STRING(name, functions[i].name));
    }
}

void instrument_note_heap(struct instrument_work *work, const struct ptx_function *function)
{
    for (unsigned i = 0; i < FUNCTIONS; i++) {
        if (strcmp(function->name, functions[i].name) == 0)
            work->heap_functions |= 1u << i;
    }
    work->allocates = true;
}
