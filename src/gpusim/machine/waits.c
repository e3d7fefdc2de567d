// SPDX-License-Identifier: Apache-2.0
// A thread learns of others only by reading memory. So a loop can wait for another thread only if
// it reads memory, and what it reads decides a branch. A load that need not see the writes of other
// threads (not volatile, relaxed or acquire, and with no fence or barrier in the loop) can be such
// a read only if it may read the same place again: if its address moves on with the rounds of the
// loop, each round reads another place.
//
// All else counts as waiting, because lanes that are taken for waiting only join later, but lanes
// that wait and are not recognized would block others. A loop that calls a function which reads
// memory may wait.
//
// The answer must be the same for a kernel and its clone with probes. Registers of probes are named
// %glint$..., and their functions glint$...; accesses through them and branches on them are not the
// kernel's.
#include "waits.h"

#include <string.h>

struct search {
    const struct ptx_ssa *ssa;
    const struct ptx_cfg *cfg;
    uint32_t loop;
    uint32_t *seen; // by value: the last search that reached it
    uint32_t round; // number of the search
    uint32_t *open; // values to look at
    uint32_t open_count;
    const struct ptx_instr **reads; // of the loop: those that may see what others write
    uint32_t count;
};

static bool is_probes(const struct ptx_reg *reg)
{
    return reg && strncmp(reg->name, "%glint$", 7) == 0;
}

static void start(struct search *search)
{
    search->round++;
    search->open_count = 0;
}

static void reach(struct search *search, uint32_t value)
{
    if (value == PTX_NO_VALUE || search->seen[value] == search->round)
        return;
    search->seen[value] = search->round;
    search->open[search->open_count++] = value;
}

static bool is_inside(const struct search *search, uint32_t block)
{
    return ptx_loop_contains(search->cfg, search->loop, block);
}

// Returns whether the value at the start of each round depends on the round before.
static bool moves_on(struct search *search, const struct ptx_instr *instr)
{
    const struct ptx_ssa *ssa = search->ssa;
    start(search);
    for (uint32_t r = ssa->ref_start[instr->index]; r < ssa->ref_start[instr->index + 1]; r++) {
        if (ssa->refs[r].is_address)
            reach(search, ssa->refs[r].value);
    }
    while (search->open_count) {
        const struct ptx_value *value = &ssa->values[search->open[--search->open_count]];
        if (value->kind == PTX_VALUE_ENTRY || !is_inside(search, value->block))
            continue;
        if (value->kind == PTX_VALUE_PHI) {
            if (value->block == search->cfg->loops[search->loop].header)
                return true;
            for (uint32_t i = 0; i < search->cfg->blocks[value->block].pred_count; i++)
                reach(search, value->arguments[i]);
            continue;
        }
        reach(search, value->previous);
        const uint32_t index = value->instr->index;
        for (uint32_t r = ssa->ref_start[index]; r < ssa->ref_start[index + 1]; r++) {
            if (!ssa->refs[r].is_def)
                reach(search, ssa->refs[r].value);
        }
    }
    return false;
}

static void reach_results(struct search *search, const struct ptx_instr *instr)
{
    const struct ptx_ssa *ssa = search->ssa;
    for (uint32_t r = ssa->ref_start[instr->index]; r < ssa->ref_start[instr->index + 1]; r++) {
        if (ssa->refs[r].is_def)
            reach(search, ssa->refs[r].value);
    }
}

static bool calls_probe(const struct ptx_instr *instr)
{
    struct ptx_call call;
    return ptx_call_parts(instr, &call) && call.target->kind == PTX_OPERAND_FUNCTION &&
           strncmp(call.target->function->name, "glint$", 6) == 0;
}

// Returns whether an instruction that uses a value branches on it, or takes it where it is not
// followed: into another function or into the thread's own memory.
static bool may_decide(const struct ptx_instr *instr)
{
    const unsigned flags = ptx_flags(instr);
    const uint8_t space = instr->form->space;
    if (flags & PTX_FLAG_CALL)
        return !calls_probe(instr);
    return flags & (PTX_FLAG_BRANCH | PTX_FLAG_END) ||
           (flags & PTX_FLAG_STORE && (space == PTX_SPACE_PARAM || space == PTX_SPACE_LOCAL));
}

// Returns whether a branch of the loop depends on one of the values that were reached.
static bool decide(struct search *search)
{
    const struct ptx_ssa *ssa = search->ssa;
    while (search->open_count) {
        const struct ptx_value *value = &ssa->values[search->open[--search->open_count]];
        for (uint32_t i = 0; i < value->use_count; i++) {
            const struct ptx_use *use = &value->uses[i];
            if (!use->instr) {
                if (is_inside(search, ssa->values[use->phi].block))
                    reach(search, use->phi);
                continue;
            }
            if (!is_inside(search, search->cfg->block_of[use->instr->index]))
                continue;
            if (may_decide(use->instr) && !is_probes(value->reg))
                return true;
            reach_results(search, use->instr);
        }
    }
    return false;
}

// Returns the register of the address, or NULL.
static const struct ptx_reg *address_of(const struct ptx_ssa *ssa, const struct ptx_instr *instr)
{
    for (uint32_t r = ssa->ref_start[instr->index]; r < ssa->ref_start[instr->index + 1]; r++) {
        if (ssa->refs[r].is_address && ssa->refs[r].operand)
            return ssa->refs[r].operand->reg;
    }
    return NULL;
}

// Returns whether the instruction reads memory that other threads may write.
static bool reads(const struct ptx_instr *instr)
{
    const unsigned flags = ptx_flags(instr);
    if (flags & PTX_FLAG_ATOMIC)
        return true;
    return flags & PTX_FLAG_LOAD && instr->form->space != PTX_SPACE_PARAM &&
           instr->form->space != PTX_SPACE_LOCAL && instr->form->space != PTX_SPACE_CONST;
}

static bool is_strong(const struct ptx_instr *instr)
{
    const uint16_t sem = instr->form->sem;
    return ptx_flags(instr) & (PTX_FLAG_ATOMIC | PTX_FLAG_SYNC) || sem == PTX_MOD_VOLATILE ||
           sem == PTX_MOD_RELAXED || sem == PTX_MOD_ACQUIRE ||
           ptx_form_has(instr->form, PTX_MOD_MMIO);
}

static bool orders(const struct ptx_instr *instr)
{
    const enum ptx_op op = ptx_op(instr);
    return op == PTX_OP_MEMBAR || op == PTX_OP_FENCE || op == PTX_OP_NANOSLEEP ||
           (ptx_flags(instr) & PTX_FLAG_SYNC && !reads(instr));
}

// Returns whether a called function may read memory, or call others.
static bool may_read(const struct ptx_function *function)
{
    for (const struct ptx_stmt *stmt = function->first; stmt; stmt = stmt->next) {
        const struct ptx_instr *instr = (const struct ptx_instr *)stmt;
        if (stmt->kind == PTX_STMT_INSTR && (reads(instr) || ptx_flags(instr) & PTX_FLAG_CALL))
            return true;
    }
    return !function->first;
}

static bool call_may_wait(const struct ptx_instr *instr)
{
    struct ptx_call call;
    if (!ptx_call_parts(instr, &call) || call.target->kind != PTX_OPERAND_FUNCTION)
        return true;
    const struct ptx_function *function = call.target->function;
    return may_read(function);
}

static bool may_wait(struct search *search)
{
    const struct ptx_loop *loop = &search->cfg->loops[search->loop];
    bool ordered = false;
    for (uint32_t b = 0; b < loop->block_count && !ordered; b++) {
        const struct ptx_block *block = &search->cfg->blocks[loop->blocks[b]];
        for (uint32_t i = 0; i < block->instr_count; i++)
            ordered |= orders(block->instrs[i]);
    }
    search->count = 0;
    for (uint32_t b = 0; b < loop->block_count; b++) {
        const struct ptx_block *block = &search->cfg->blocks[loop->blocks[b]];
        for (uint32_t i = 0; i < block->instr_count; i++) {
            const struct ptx_instr *instr = block->instrs[i];
            if (ptx_flags(instr) & PTX_FLAG_CALL && !calls_probe(instr) && call_may_wait(instr))
                return true;
            if (reads(instr) && !is_probes(address_of(search->ssa, instr)) &&
                (ordered || is_strong(instr) || !moves_on(search, instr)))
                search->reads[search->count++] = instr;
        }
    }
    start(search);
    for (uint32_t i = 0; i < search->count; i++)
        reach_results(search, search->reads[i]);
    return decide(search);
}

const bool *sim_waits_find(const struct ptx_ssa *ssa, struct base_arena *arena)
{
    const struct ptx_cfg *cfg = ssa->cfg;
    bool *loops = base_new_array(arena, bool, (size_t)cfg->loop_count + 1);
    struct search search = {
        .ssa = ssa,
        .cfg = cfg,
        .seen = base_new_array(arena, uint32_t, (size_t)ssa->value_count + 1),
        .reads = base_new_array(arena, const struct ptx_instr *, cfg->function->instr_count + 1),
        .open = base_new_array(arena, uint32_t, (size_t)ssa->value_count + 1),
    };
    for (uint32_t i = 0; i < cfg->loop_count; i++) {
        search.loop = i;
        loops[i] = may_wait(&search);
    }
    return loops;
}

bool sim_waits_jump(const struct ptx_cfg *cfg, const bool *loops, uint32_t from, uint32_t to)
{
    uint32_t loop = cfg->blocks[from].loop;
    while (loop != PTX_NO_LOOP && !ptx_loop_contains(cfg, loop, to))
        loop = cfg->loops[loop].parent;
    return loop == PTX_NO_LOOP ? cfg->irreducible : loops[loop] || cfg->irreducible;
}
