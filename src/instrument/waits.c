// SPDX-License-Identifier: Apache-2.0
// Decides which kernels may wait for other blocks through memory: those that have, themselves or in
// functions they call, a loop whose end may depend on memory that the loop reads and other blocks
// may write. If the code does not prove otherwise, the answer is yes.
#include "waits.h"

// Returns whether there is anything that the search for loops does not cover: cycles with two
// entries, calls of code that is not in the text, and unknown instructions.
static bool is_doubtful(const struct instrument_body *body)
{
    if (body->facts->cfg->irreducible || body->calls_any || body->calls_outside || body->launches)
        return true;
    // The driver only accepts clusters that fit, and such a kernel always has them.
    if (ptx_function_attr(body->function, ".reqnctapercluster") ||
        ptx_function_attr(body->function, ".explicitcluster"))
        return true;
    for (struct ptx_stmt *stmt = body->function->first; stmt; stmt = stmt->next) {
        const struct ptx_instr *instr = ptx_stmt_instr(stmt);
        if (instr && ptx_op(instr) == PTX_OP_UNKNOWN)
            return true;
    }
    return false;
}

void instrument_find_waits(struct instrument_body *body)
{
    body->may_wait = is_doubtful(body);
    for (uint32_t i = 0; i < body->facts->cfg->loop_count && !body->may_wait; i++)
        body->may_wait = ptx_loop_may_wait(body->facts->uniformity, i);
}

// A function that accesses no global memory cannot wait for other blocks, whatever it calls.
static bool is_counted(const struct instrument_work *work, const struct instrument_body *body,
                       uint32_t callee)
{
    return work->bodies[body->callees[callee]].touches;
}

// Recursion repeats without a loop: marks functions that call themselves, and their callers.
static void mark_recursion(struct instrument_work *work)
{
    bool *ends = base_new_array(&work->scratch, bool, work->body_count);
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = 0; i < work->body_count; i++) {
            const struct instrument_body *body = &work->bodies[i];
            bool all = true;
            for (uint32_t k = 0; k < body->callee_count && all && !ends[i]; k++)
                all = !is_counted(work, body, k) || ends[body->callees[k]];
            changed |= all && !ends[i];
            ends[i] |= all;
        }
    }
    for (uint32_t i = 0; i < work->body_count; i++)
        work->bodies[i].may_wait |= !ends[i];
}

void instrument_spread_waits(struct instrument_work *work)
{
    mark_recursion(work);
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = 0; i < work->body_count; i++) {
            struct instrument_body *body = &work->bodies[i];
            for (uint32_t k = 0; k < body->callee_count && !body->may_wait; k++) {
                body->may_wait = work->bodies[body->callees[k]].may_wait;
                changed |= body->may_wait;
            }
        }
    }
    for (uint32_t i = 0; i < work->body_count; i++) {
        if (work->bodies[i].kernel)
            work->bodies[i].kernel->may_wait = work->bodies[i].may_wait;
    }
}
