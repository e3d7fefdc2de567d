// SPDX-License-Identifier: Apache-2.0
// Uniformity: whether a value depends on the thread, the warp, the block or memory. A value that
// does not depend on the thread is the same in all threads of a block that reach the place
// (GMProf's tid-invariant). The same dependences show which loops may wait for another block: those
// whose end depends on global memory that they read themselves.
#ifndef GLINT_PTX_UNIFORM_H
#define GLINT_PTX_UNIFORM_H

#include "ssa.h"

enum ptx_dep {
    PTX_DEP_TID_X = 1 << 0,
    PTX_DEP_TID_Y = 1 << 1,
    PTX_DEP_TID_Z = 1 << 2,
    PTX_DEP_LANE = 1 << 3,   // the lane, or values exchanged between lanes
    PTX_DEP_THREAD = 1 << 4, // the thread, in an unknown way: its local memory, an atomic's result
    PTX_DEP_WARP = 1 << 5,
    PTX_DEP_CTAID_X = 1 << 6,
    PTX_DEP_CTAID_Y = 1 << 7,
    PTX_DEP_CTAID_Z = 1 << 8,
    PTX_DEP_BLOCK = 1 << 9,    // the block, in an unknown way: its shared memory
    PTX_DEP_MEMORY = 1 << 10,  // values in memory
    PTX_DEP_MACHINE = 1 << 11, // clocks, multiprocessors: may differ at every read
    PTX_DEP_CALLER = 1 << 12,  // arguments of a device function, results of calls
    // Values read inside a loop that other blocks may write: global memory, results of calls.
    // Always set together with MEMORY or CALLER. The number is the depth of the innermost loop
    // around the read.
    PTX_DEP_POLLED_1 = 1 << 13,
    PTX_DEP_POLLED_2 = 1 << 14,
    PTX_DEP_POLLED_3 = 1 << 15, // or deeper

    PTX_DEP_POLLED = PTX_DEP_POLLED_1 | PTX_DEP_POLLED_2 | PTX_DEP_POLLED_3,
    PTX_DEP_TID = PTX_DEP_TID_X | PTX_DEP_TID_Y | PTX_DEP_TID_Z,
    PTX_DEP_CTAID = PTX_DEP_CTAID_X | PTX_DEP_CTAID_Y | PTX_DEP_CTAID_Z,
    // With any of these, two threads of one block may have different values.
    PTX_DEP_ANY_THREAD = PTX_DEP_TID | PTX_DEP_LANE | PTX_DEP_THREAD | PTX_DEP_WARP |
                         PTX_DEP_MACHINE | PTX_DEP_CALLER,
    // With any of these, two threads of one warp may have different values.
    PTX_DEP_ANY_LANE = PTX_DEP_ANY_THREAD & ~PTX_DEP_WARP,
    // With any of these, two blocks may have different values.
    PTX_DEP_ANY_BLOCK = PTX_DEP_ANY_THREAD | PTX_DEP_CTAID | PTX_DEP_BLOCK,
};

// Dependences, as sets of enum ptx_dep.
struct ptx_uniformity {
    const struct ptx_ssa *ssa;
    uint16_t *deps;      // by value
    uint16_t *exit_deps; // by loop: what decides how often it iterates
    uint16_t *
        leave_deps; // by loop: the same for threads that continue behind it instead of ending in it
    uint16_t *block_deps;  // by block: what decides whether and how often it is reached
    uint16_t *branch_deps; // by block: what decides which edge is taken; 0 if there is only one
    uint16_t passed_deps;  // subset of PTX_DEP_POLLED that shared and local memory may hold
};

// Computes the dependences. Jumps to arena->escape if memory runs out.
struct ptx_uniformity *ptx_uniformity_build(const struct ptx_ssa *ssa, struct base_arena *arena);

// Returns what an operand of an instruction depends on at that place. A register depends on what
// its value depends on; behind a loop that threads leave at different times, values computed in the
// loop also depend on what decides that. A special register depends on its kind, a constant on
// nothing. Vectors and addresses combine their elements.
uint16_t ptx_operand_deps(const struct ptx_uniformity *uniformity, const struct ptx_instr *instr,
                          const struct ptx_operand *operand);

// Returns what a value depends on when it is read in a block, by the same rule.
uint16_t ptx_value_deps(const struct ptx_uniformity *uniformity, uint32_t value, uint32_t block);

// Returns what decides whether the block is reached and, in a loop, how often.
uint16_t ptx_block_deps(const struct ptx_uniformity *uniformity, uint32_t block);

// Returns whether the end of a loop may depend on memory that the loop reads and other blocks may
// write, as in a grid-wide barrier. If it returns false, the loop does not wait for another block,
// except in functions that it calls. Cycles that are not loops (ptx_cfg's `irreducible`) are not
// examined.
bool ptx_loop_may_wait(const struct ptx_uniformity *uniformity, uint32_t loop);

#endif
