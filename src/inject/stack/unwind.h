// SPDX-License-Identifier: Apache-2.0
// Walks the calling thread's stack, fast: the rules of .eh_frame are kept in a table by address, so
// that a known stack costs a few nanoseconds per frame. Frames that need more than the table can
// hold are left to libgcc's unwinder.
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
    UNWIND_LOADS = 160,
    UNWIND_MOVING = 16
};

// One address and its rule, packed. The check word is computed from all other words and the
// address, so that an entry that is a mixture of two threads' writes does not match.
struct stack_unwind_entry {
    _Atomic uint64_t check;
    _Atomic uint64_t kind_cfa; // kind, fp, signs, whether the image stays (8 bits each), cfa_offset
    _Atomic uint64_t ra_fp;    // ra_offset, fp_offset
    _Atomic uint64_t image;
};

// Zero-initialized. Any thread may use it, without locks.
struct stack_unwind {
    struct stack_images images;
    _Alignas(64) struct stack_unwind_entry entries[UNWIND_SETS][UNWIND_WAYS];
};

// What a walk has read. The same registers and words yield the same path, if it is not truncated
// and the images on it are still loaded. Other threads may read it meanwhile.
struct stack_unwind_notes {
    _Atomic bool needs_fp;             // the initial frame pointer was used
    _Atomic uint32_t load_count;       // may exceed the room
    _Atomic uint32_t moving_count;     // may exceed it, too
    struct {                           // words of the stack
        _Atomic uint64_t place, value; // counted from the initial stack pointer
    } loads[UNWIND_LOADS];
    struct { // one address for each image that may be unloaded
        _Atomic uint64_t pc;
        _Atomic uint32_t image;
    } moving[UNWIND_MOVING];
};

struct stack_unwind_path {
    uint32_t depth;
    bool truncated;              // there were more frames, or the rule for one is unknown
    bool slow;                   // libgcc's unwinder found it
    uint64_t pc[UNWIND_MOST];    // return addresses, innermost first
    uint16_t image[UNWIND_MOST]; // number of the image of each; 0: none
};

// Where a path begins: the registers that a function's caller has when the function returns.
struct stack_unwind_registers {
    uint64_t pc, sp, fp;
};

// The registers of the function in which the macro stands. Taking the frame address makes the
// compiler keep a frame record, which begins with the caller's frame pointer.
#define UNWIND_CALLER                                                                        \
    ((struct stack_unwind_registers){.pc = (uint64_t)(uintptr_t)__builtin_return_address(0), \
                                     .sp = (uint64_t)(uintptr_t)__builtin_dwarf_cfa(),       \
                                     .fp = *(const uint64_t *)__builtin_frame_address(0)})

// Fills the path; its first address is that of `from`. Does not use the program's allocator. Reads
// only the part of the stack above that frame, whatever values it finds there. Keeps errno. Fills
// the notes, unless that is NULL.
void stack_unwind_from(struct stack_unwind *unwind, struct stack_unwind_registers from,
                       struct stack_unwind_path *path, struct stack_unwind_notes *notes);

// Does the same from a signal handler, for the function that the signal interrupted. `from` has its
// registers, but pc is one byte after the start of the instruction, as if it were a return address.
// link: the link register, on machines that have one.
void stack_unwind_interrupted(struct stack_unwind *unwind, struct stack_unwind_registers from,
                              uint64_t link, struct stack_unwind_path *path);

// The readable part of the stack that holds the address: from the address to the stack's end.
struct stack_unwind_bounds {
    uint64_t low, high;
};
struct stack_unwind_bounds stack_unwind_bounds_from(uint64_t sp);

// Returns whether the calling thread has too little stack left for what glint can also do
// elsewhere, or leave: loading code, rewriting modules, and recording results. Programs choose
// small stacks that suffice for the driver.
bool stack_is_small(void);

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
