// SPDX-License-Identifier: Apache-2.0
// The control flow graph of one function: basic blocks in text order, edges, dominators,
// post-dominators and natural loops. It is built once into an arena, and an edit of the function
// invalidates it. The first block has no predecessors: if the text branches to its first
// instruction, an empty block precedes it.
#ifndef GLINT_PTX_CFG_H
#define GLINT_PTX_CFG_H

#include "ir.h"

#define PTX_NO_BLOCK UINT32_MAX
#define PTX_NO_LOOP  UINT32_MAX

struct ptx_block {
    struct ptx_instr **instrs;
    uint32_t instr_count;
    uint32_t *succs; // of a conditional branch: its target first, then the next block
    uint32_t succ_count;
    uint32_t *preds;
    uint32_t pred_count;
    uint32_t idom;  // immediate dominator; PTX_NO_BLOCK for the entry and unreachable blocks
    uint32_t ipdom; // immediate post-dominator; PTX_NO_BLOCK: the function's end
    uint32_t order; // index in reverse post-order; PTX_NO_BLOCK if unreachable
    uint32_t loop;  // the innermost loop that contains it, or PTX_NO_LOOP
    bool ends;      // some or all threads leave the function here
    // Position in the dominator and post-dominator trees: the blocks below it are numbered from
    // first to last.
    uint32_t dom_first, dom_last, pdom_first, pdom_last;
};

struct ptx_loop {
    uint32_t header;
    uint32_t parent;      // the next outer loop, or PTX_NO_LOOP
    uint32_t depth;       // 1 for an outermost loop
    uint32_t first, last; // position in the nest: the inner loops are numbered from first to last
    uint32_t preheader;   // the only block outside that leads to the header, and only there; or
                          // PTX_NO_BLOCK
    uint32_t *blocks;     // its members, header first
    uint32_t block_count;
    uint32_t *latches; // members that branch back to the header
    uint32_t latch_count;
    uint32_t last_common; // the last block that every iteration executes: it dominates all latches
    struct ptx_edge {
        uint32_t from, to;
    } * exits; // edges from a member to a block outside
    uint32_t exit_count;
};

struct ptx_cfg {
    struct ptx_function *function;
    struct ptx_block *blocks;
    uint32_t block_count;
    uint32_t *order; // reachable blocks in reverse post-order
    uint32_t order_count;
    uint32_t *block_of;     // by instruction index
    struct ptx_loop *loops; // outer loops before inner ones
    uint32_t loop_count;
    bool irreducible; // a cycle has two entries and is therefore no loop here
};

// Numbers the function's instructions and builds the graph in the arena. If memory runs out, it
// jumps to arena->escape, which must be set.
struct ptx_cfg *ptx_cfg_build(struct ptx_function *function, struct base_arena *arena);

// Return whether one block dominates or post-dominates another; every block does so to itself.
bool ptx_dominates(const struct ptx_cfg *cfg, uint32_t above, uint32_t below);
bool ptx_postdominates(const struct ptx_cfg *cfg, uint32_t after, uint32_t before);
// Returns whether the loop, or a loop inside it, contains the block.
bool ptx_loop_contains(const struct ptx_cfg *cfg, uint32_t loop, uint32_t block);

// Returns the block that begins at a code label.
uint32_t ptx_cfg_block_of_label(const struct ptx_cfg *cfg, const struct ptx_label *label);

// The operands of a call. `target` is a function, or a register with a prototype or list of
// targets.
struct ptx_call {
    const struct ptx_operand *returns; // a list, or NULL
    const struct ptx_operand *target;
    const struct ptx_operand *arguments;  // a list, or NULL
    const struct ptx_operand *candidates; // prototype or .calltargets of an indirect call, or NULL
};

// Fills *call. Returns false if the instruction is not a call.
bool ptx_call_parts(const struct ptx_instr *instr, struct ptx_call *call);

// --- Between cfg.c, dominators.c and loops.c -----------------------------------------------------

// Computes the immediate dominators of a graph with `count` nodes into `idom`: PTX_NO_BLOCK for the
// root and for nodes that it does not reach. The predecessors of a node are preds[pred_start[node]]
// to preds[pred_start[node + 1] - 1].
void ptx_dominators(uint32_t count, uint32_t root, const uint32_t *pred_start,
                    const uint32_t *preds, uint32_t *idom, struct base_arena *arena);
void ptx_cfg_find_dominators(struct ptx_cfg *cfg, struct base_arena *arena);
void ptx_cfg_find_loops(struct ptx_cfg *cfg, struct base_arena *arena);

#endif
