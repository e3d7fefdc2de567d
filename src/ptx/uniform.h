// SPDX-License-Identifier: Apache-2.0
// Uniformity: what each value depends on: the thread, the warp, the block, memory. A value that
// depends on nothing of a thread is the same in all threads of a block that reach the place
// (GMProf's tid-invariant). The same dependences tell which loops may wait for another block: those
// whose end depends on memory of the grid that they read themselves.
#ifndef GLINT_PTX_UNIFORM_H
#define GLINT_PTX_UNIFORM_H

#include "ssa.h"

enum ptx_dep {
    PTX_DEP_TID_X = 1 << 0,
    PTX_DEP_TID_Y = 1 << 1,
    PTX_DEP_TID_Z = 1 << 2,
    PTX_DEP_LANE = 1 << 3,   // the lane, or what lanes exchanged
    PTX_DEP_THREAD = 1 << 4, // the thread in a way unknown: its local memory, an atomic's result
    PTX_DEP_WARP = 1 << 5,
    PTX_DEP_CTAID_X = 1 << 6,
    PTX_DEP_CTAID_Y = 1 << 7,
    PTX_DEP_CTAID_Z = 1 << 8,
    PTX_DEP_BLOCK = 1 << 9,    // the block in a way unknown: its shared memory
    PTX_DEP_MEMORY = 1 << 10,  // what memory holds
    PTX_DEP_MACHINE = 1 << 11, // clocks, multiprocessors: different at every look
    PTX_DEP_CALLER = 1 << 12,  // arguments of a device function, results of calls
    // What was read inside a loop and other blocks may write: global memory, results of calls.
    // Always together with MEMORY or CALLER. By the depth of the innermost loop around the read.
    PTX_DEP_POLLED_1 = 1 << 13,
    PTX_DEP_POLLED_2 = 1 << 14,
    PTX_DEP_POLLED_3 = 1 << 15, // or deeper

    PTX_DEP_POLLED = PTX_DEP_POLLED_1 | PTX_DEP_POLLED_2 | PTX_DEP_POLLED_3,
    PTX_DEP_TID = PTX_DEP_TID_X | PTX_DEP_TID_Y | PTX_DEP_TID_Z,
    PTX_DEP_CTAID = PTX_DEP_CTAID_X | PTX_DEP_CTAID_Y | PTX_DEP_CTAID_Z,
    // Any of these, and two threads of one block may hold different values.
    PTX_DEP_ANY_THREAD = PTX_DEP_TID | PTX_DEP_LANE | PTX_DEP_THREAD | PTX_DEP_WARP |
                         PTX_DEP_MACHINE | PTX_DEP_CALLER,
    // Any of these, and two threads of one warp may.
    PTX_DEP_ANY_LANE = PTX_DEP_ANY_THREAD & ~PTX_DEP_WARP,
    // Any of these, and two blocks may.
    PTX_DEP_ANY_BLOCK = PTX_DEP_ANY_THREAD | PTX_DEP_CTAID | PTX_DEP_BLOCK,
};

// Dependences by value, as sums of enum ptx_dep.
struct ptx_uniformity {
    const struct ptx_ssa *ssa;
    uint16_t *deps;
    uint16_t *exit_deps;  // by loop: what decides how often it runs
    uint16_t *leave_deps; // by loop: the same for threads that go on behind it and do not end in it
    uint16_t *block_deps; // by block: what decides whether and how often it is reached
    uint16_t *branch_deps; // by block: what decides which way it is left; 0 where there is only one
    uint16_t passed_deps;  // of PTX_DEP_POLLED: what shared and local memory may have from the code
};

struct ptx_uniformity *ptx_uniformity_build(const struct ptx_ssa *ssa, struct base_arena *arena);

// What an operand of an instruction depends on there: registers by their values (a loop that
// threads leave at different times makes what it computed differ behind it), special registers by
// their kind, constants on nothing. Vectors and addresses join their elements.
uint16_t ptx_operand_deps(const struct ptx_uniformity *uniformity, const struct ptx_instr *instr,
                          const struct ptx_operand *operand);

// A value as it is seen from a block: the same rule.
uint16_t ptx_value_deps(const struct ptx_uniformity *uniformity, uint32_t value, uint32_t block);

// What decides whether control reaches the block, and in a loop, how often.
uint16_t ptx_block_deps(const struct ptx_uniformity *uniformity, uint32_t block);

// Whether the end of a loop may depend on what the loop itself reads and other blocks may write, as
// in a barrier for all blocks. A loop for which this is false does not wait for another block,
// except inside a function that it calls. Cycles that are not loops (ptx_cfg's `irreducible`) are
// not examined.
bool ptx_loop_may_wait(const struct ptx_uniformity *uniformity, uint32_t loop);

#endif
