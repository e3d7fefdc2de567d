// SPDX-License-Identifier: Apache-2.0
// Control flow of one function: basic blocks in text order, edges, dominators and post-dominators,
// natural loops. Built once into an arena; an edit of the function makes it stale. Nothing leads to
// the first block: where the text branches to its first instruction, an empty block comes before
// it.
#ifndef GLINT_PTX_CFG_H
#define GLINT_PTX_CFG_H

#include "ir.h"

#define PTX_NO_BLOCK UINT32_MAX
#define PTX_NO_LOOP  UINT32_MAX

struct ptx_block {
    struct ptx_instr **instrs;
    uint32_t instr_count;
    uint32_t *succs; // a conditional branch: its target first, then what follows it
    uint32_t succ_count;
    uint32_t *preds;
    uint32_t pred_count;
    uint32_t idom;  // immediate dominator; PTX_NO_BLOCK for the entry and what is unreachable
    uint32_t ipdom; // immediate post-dominator; PTX_NO_BLOCK: only the function's end
    uint32_t order; // in reverse post-order; PTX_NO_BLOCK where unreachable
    uint32_t loop;  // the innermost loop around it, or PTX_NO_LOOP
    bool ends;      // leaves the function here, at least for some threads
    // Its place in the trees of dominators and of post-dominators: those below it are numbered from
    // first to last.
    uint32_t dom_first, dom_last, pdom_first, pdom_last;
};

struct ptx_loop {
    uint32_t header;
    uint32_t parent; // the loop around it, or PTX_NO_LOOP
    uint32_t depth;  // 1 for an outermost loop
    uint32_t first,
        last; // its place in the nest: the loops within it are numbered from first to last
    uint32_t preheader; // the one block outside that leads only to the header, or PTX_NO_BLOCK
    uint32_t *blocks;   // its members, header first
    uint32_t block_count;
    uint32_t *latches; // members that branch back to the header
    uint32_t latch_count;
    uint32_t last_common; // the last block that every round passes: it dominates all latches
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
    bool irreducible; // some cycle has two entries and is in no loop here
};

// Numbers the function's instructions and builds the graph. Memory that runs out leaves by
// arena->escape, which must be set.
struct ptx_cfg *ptx_cfg_build(struct ptx_function *function, struct base_arena *arena);

bool ptx_dominates(const struct ptx_cfg *cfg, uint32_t above, uint32_t below);
bool ptx_postdominates(const struct ptx_cfg *cfg, uint32_t after, uint32_t before);
bool ptx_loop_contains(const struct ptx_cfg *cfg, uint32_t loop, uint32_t block);

// The block that a label of code leads to.
uint32_t ptx_cfg_block_of_label(const struct ptx_cfg *cfg, const struct ptx_label *label);

// The parts of a call: whom it calls, what it passes and gets. target is a function, or a register
// with a prototype or list of targets.
struct ptx_call {
    const struct ptx_operand *returns; // a list, or NULL
    const struct ptx_operand *target;
    const struct ptx_operand *arguments; // a list, or NULL
    const struct ptx_operand
        *candidates; // the prototype or .calltargets of an indirect call, or NULL
};

// False where instr is no call.
bool ptx_call_parts(const struct ptx_instr *instr, struct ptx_call *call);

// For edges.c, dominators.c and loops.c -----------------------------------------------------------

// Immediate dominators of a graph of so many nodes from its root, PTX_NO_BLOCK for the root and
// what it does not reach. The predecessors of a node are preds[pred_start[node]] to
// preds[pred_start[node + 1] - 1].
void ptx_dominators(uint32_t count, uint32_t root, const uint32_t *pred_start,
                    const uint32_t *preds, uint32_t *idom, struct base_arena *arena);
void ptx_cfg_find_dominators(struct ptx_cfg *cfg, struct base_arena *arena);
void ptx_cfg_find_loops(struct ptx_cfg *cfg, struct base_arena *arena);

#endif
