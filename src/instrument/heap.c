// SPDX-License-Identifier: Apache-2.0
// Memory that kernels allocate themselves: knows the functions that allocate and free it and writes
// what clones call instead (probes/heap.ptx). Only the kernels know about that memory, so clones
// maintain a map of the live blocks, for all launches of a context (struct instrument_heap_blocks).
// An access is attributed to the block that was live when it happened, however often the memory is
// allocated again.
//
// A block is divided into the fewest pieces whose lengths are powers of two and that are aligned to
// their length. A hash table holds each piece by its address and size. So a block of n bytes takes
// about 2 * log2(n / 16) places, and looking up an address takes a few steps for each size in use.
// Threads do not remember the block of an access, because another block may be there at the next
// access.
#include "heap.h"

#include <string.h>

#include "fill.h"

enum { LEAST_SM = 35 }; // which has 64-bit bitwise atomic operations

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
