// SPDX-License-Identifier: Apache-2.0
// The return addresses of the calling thread's stack, fast: what .eh_frame says of an address is
// kept in a table, so that a known stack costs a few nanoseconds a frame. Frames that need more
// than the table can say are left to libgcc's unwinder.
#ifndef GLINT_INJECT_STACK_UNWIND_H
#define GLINT_INJECT_STACK_UNWIND_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "images.h"

enum {
    UNWIND_SETS = 2048,
    UNWIND_WAYS = 4,
    UNWIND_MOST = 128,
    UNWIND_LOADS = 48,
    UNWIND_MOVING = 4
};

// One address and its rule, packed. The check word is made of all the others and the address, so
// that an entry of which two threads have written parts is none.
struct stack_unwind_entry {
    _Atomic uint64_t check;
    _Atomic uint64_t kind_cfa; // kind, fp, signs, whether the image stays (8 bits each), cfa_offset
    _Atomic uint64_t ra_fp;    // ra_offset, fp_offset
    _Atomic uint64_t image;
};

// Memory that begins as zeros. Any thread, no locks.
struct stack_unwind {
    struct stack_images images;
    _Alignas(64) struct stack_unwind_entry entries[UNWIND_SETS][UNWIND_WAYS];
};

struct stack_unwind_load { // a word of the stack
    uint64_t address, value;
};

struct stack_unwind_path {
    uint32_t depth;
    bool truncated;              // there were more frames, or the way on was not known
    bool slow;                   // libgcc's unwinder found it
    uint64_t pc[UNWIND_MOST];    // return addresses, innermost first
    uint16_t image[UNWIND_MOST]; // number of the image of each; 0: none
    // What the walk has used. The same registers and the same words are the same path, if it is
    // whole and the images through which it leads are still there.
    bool needs_fp;       // the frame pointer that it began with
    uint32_t load_count; // may be more than there is room for
    struct stack_unwind_load loads[UNWIND_LOADS];
    uint32_t moving_count;          // likewise
    uint32_t moving[UNWIND_MOVING]; // places in the path, one for each image that may go
};

// Where a path begins: the registers that a function's caller has when it returns.
struct stack_unwind_registers {
    uint64_t pc, sp, fp;
};

// Of the function in which it stands. Asking for its frame's address makes the compiler keep a
// frame record, in which its caller's frame pointer comes first.
#define UNWIND_CALLER                                                                        \
    ((struct stack_unwind_registers){.pc = (uint64_t)(uintptr_t)__builtin_return_address(0), \
                                     .sp = (uint64_t)(uintptr_t)__builtin_dwarf_cfa(),       \
                                     .fp = *(const uint64_t *)__builtin_frame_address(0)})

// The path that leads there: its first address is `from`'s. Takes no memory from the program's
// allocator. Reads of the stack only what lies above that frame on the same stack, whatever values
// it finds there. errno is kept.
void stack_unwind_from(struct stack_unwind *unwind, struct stack_unwind_registers from,
                       struct stack_unwind_path *path);

// The same from a signal handler, for the function that the signal interrupted: `from` has its
// registers, but pc is one byte behind the beginning of the instruction, as if it were a call.
// link: the link register, where the machine has one.
void stack_unwind_interrupted(struct stack_unwind *unwind, struct stack_unwind_registers from,
                              uint64_t link, struct stack_unwind_path *path);

// What of the stack may be read that holds the address: from there on to its end.
struct stack_unwind_bounds {
    uint64_t low, high;
};
struct stack_unwind_bounds stack_unwind_bounds_from(uint64_t sp);

static inline bool stack_unwind_read(const struct stack_unwind_bounds *bounds, uint64_t address,
                                     uint64_t *value)
{
    if (address < bounds->low || address > bounds->high - sizeof(*value) ||
        address % sizeof(*value))
        return false;
    *value = *(const uint64_t *)(uintptr_t)address; // NOLINT(clang-analyzer-core.NullDereference)
    return true;
}

#endif
