// SPDX-License-Identifier: Apache-2.0
// Assigns the registers of a function to slots of its frame. PTX has any number of registers, most
// of which live for a few instructions. Registers that are never live together share a slot, so
// that the frames of many warps fit the CPU's caches.
//
// Instructions write only active lanes, so the liveness of one thread holds for a warp however it
// diverges. A register occupies its slot from the first instruction at which it may be live to the
// last. It does not share the slot with results of the instruction that uses it last, because
// handlers may write results before they have read all sources.
#include <string.h>

#include "decode.h"

// Size classes of slots: the logarithm of the size in bytes. Predicates have class 2.
enum { CLASSES = 16 };

struct slots {
    const struct ptx_function *function;
    const struct ptx_cfg *cfg;
    const struct ptx_ssa *ssa;
    const struct sim_contraction *contractions;
    struct base_arena *arena;
    // Registers that some block uses before it sets them, by number, and 1 + the number of each
    // register; 0: none. The others live within blocks. Sets have only these: there are few, also
    // in functions with many registers and blocks.
    uint32_t *crossing, *numbers;
    uint32_t crossing_count;
    size_t words;             // 64-bit words of a set of registers
    uint64_t *before, *after; // by block: registers that are live at its start and at its end
    uint64_t *used, *set;     // by block: registers used before a set in it; registers always set
    uint32_t *first, *last;   // by register: 1 + instructions that begin and end its life; 0: none
    uint32_t *starts, *ends;  // by instruction: 1 + first register whose life starts or ends
    uint32_t *more_starts, *more; // by register: the next register in the same list
    uint32_t *free[CLASSES];
    uint32_t free_count[CLASSES];
};

static unsigned class_of(const struct ptx_reg *reg)
{
    if (reg->type == PTX_PRED)
        return 2;
    uint32_t bytes = LANES * sim_decode_lane_bytes((enum ptx_type)reg->type) * reg->vec;
    return 32 - (unsigned)__builtin_clz(bytes - 1);
}

static bool has(const uint64_t *set, uint32_t number)
{
    return set[number / 64] >> number % 64 & 1;
}

static void put(uint64_t *set, uint32_t number)
{
    set[number / 64] |= UINT64_C(1) << number % 64;
}

static const struct ptx_reg *reg_of(const struct ptx_instr *instr, const struct ptx_ref *ref)
{
    return ref->operand ? ref->operand->reg : instr->guard;
}

// With a guard, or if only one component is set, the old value stays live.
static bool sets(const struct ptx_instr *instr, const struct ptx_ref *ref)
{
    return ref->is_def && !instr->guard && !ref->operand->select;
}

// Finds the registers that a block uses before it sets them. set_in: by register, 1 + the last
// block that set it.
static void find_crossing(struct slots *slots, uint32_t index, uint32_t *set_in)
{
    const struct ptx_block *block = &slots->cfg->blocks[index];
    for (uint32_t i = 0; i < block->instr_count; i++) {
        const struct ptx_instr *instr = block->instrs[i];
        const struct ptx_ref *from = slots->ssa->refs + slots->ssa->ref_start[instr->index];
        const struct ptx_ref *end = slots->ssa->refs + slots->ssa->ref_start[instr->index + 1];
        for (const struct ptx_ref *ref = from; ref < end; ref++) {
            const uint32_t reg = reg_of(instr, ref)->id;
            if (ref->is_def || set_in[reg] == index + 1 || slots->numbers[reg])
                continue;
            slots->crossing[slots->crossing_count++] = reg;
            slots->numbers[reg] = slots->crossing_count;
        }
        for (const struct ptx_ref *ref = from; ref < end; ref++) {
            if (sets(instr, ref))
                set_in[reg_of(instr, ref)->id] = index + 1;
        }
    }
}

// Finds which of these registers a block uses and sets.
static void scan_block(struct slots *slots, uint32_t index)
{
    const struct ptx_block *block = &slots->cfg->blocks[index];
    uint64_t *used = slots->used + index * slots->words, *set = slots->set + index * slots->words;
    for (uint32_t i = 0; i < block->instr_count; i++) {
        const struct ptx_instr *instr = block->instrs[i];
        const struct ptx_ref *from = slots->ssa->refs + slots->ssa->ref_start[instr->index];
        const struct ptx_ref *end = slots->ssa->refs + slots->ssa->ref_start[instr->index + 1];
        for (const struct ptx_ref *ref = from; ref < end; ref++) {
            const uint32_t number = slots->numbers[reg_of(instr, ref)->id];
            if (number && !ref->is_def && !has(set, number - 1))
                put(used, number - 1);
        }
        for (const struct ptx_ref *ref = from; ref < end; ref++) {
            const uint32_t number = slots->numbers[reg_of(instr, ref)->id];
            if (number && sets(instr, ref))
                put(set, number - 1);
        }
    }
}

static void find_living(struct slots *slots)
{
    const struct ptx_cfg *cfg = slots->cfg;
    const size_t count = cfg->function->reg_count + 1;
    uint32_t *set_in = base_new_array(slots->arena, uint32_t, count);
    slots->crossing = base_new_array(slots->arena, uint32_t, count);
    slots->numbers = base_new_array(slots->arena, uint32_t, count);
    for (uint32_t i = 0; i < cfg->order_count; i++)
        find_crossing(slots, cfg->order[i], set_in);
    slots->words = (slots->crossing_count + 63) / 64;
    const size_t words = slots->words * cfg->block_count;
    uint64_t *memory = base_new_array(slots->arena, uint64_t, 4 * words + 1);
    slots->before = memory;
    slots->after = memory + words;
    slots->used = memory + 2 * words;
    slots->set = memory + 3 * words;
    for (uint32_t i = 0; i < cfg->order_count; i++)
        scan_block(slots, cfg->order[i]);
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = cfg->order_count; i-- > 0;) {
            const struct ptx_block *block = &cfg->blocks[cfg->order[i]];
            size_t at = cfg->order[i] * slots->words;
            for (size_t w = 0; w < slots->words; w++) {
                uint64_t after = 0;
                for (uint32_t s = 0; s < block->succ_count; s++)
                    after |= slots->before[block->succs[s] * slots->words + w];
                uint64_t before = slots->used[at + w] | (after & ~slots->set[at + w]);
                changed |= before != slots->before[at + w];
                slots->after[at + w] = after;
                slots->before[at + w] = before;
            }
        }
    }
}

static void extend(struct slots *slots, uint32_t reg, uint32_t place)
{
    if (!slots->first[reg] || slots->first[reg] > place + 1)
        slots->first[reg] = place + 1;
    if (slots->last[reg] < place + 1)
        slots->last[reg] = place + 1;
}

static void extend_all(struct slots *slots, const uint64_t *set, uint32_t place)
{
    for (size_t w = 0; w < slots->words; w++) {
        for (uint64_t left = set[w]; left; left &= left - 1)
            extend(slots, slots->crossing[w * 64 + (size_t)__builtin_ctzll(left)], place);
    }
}

// A place is the index of an instruction. The blocks are in text order.
static void find_ranges(struct slots *slots)
{
    const struct ptx_cfg *cfg = slots->cfg;
    uint32_t place = 0;
    for (uint32_t b = 0; b < cfg->block_count; b++) {
        const struct ptx_block *block = &cfg->blocks[b];
        if (block->order == PTX_NO_BLOCK)
            continue;
        if (block->instr_count)
            place = block->instrs[0]->index;
        extend_all(slots, slots->before + b * slots->words, place);
        for (uint32_t i = 0; i < block->instr_count; i++) {
            const struct ptx_instr *instr = block->instrs[i];
            place = instr->index;
            for (uint32_t r = slots->ssa->ref_start[place]; r < slots->ssa->ref_start[place + 1];
                 r++)
                extend(slots, reg_of(instr, &slots->ssa->refs[r])->id, place);
            // A contracted sum reads the sources of its product.
            const struct ptx_instr *product = slots->contractions[place].product;
            for (uint8_t k = 1; product && k <= 2; k++) {
                if (product->operands[k].kind == PTX_OPERAND_REG)
                    extend(slots, product->operands[k].reg->id, place);
            }
        }
        extend_all(slots, slots->after + b * slots->words, place);
    }
}

// Parameters and results that are registers are live everywhere, because calls read and write them.
static void keep_passed(struct slots *slots, struct ptx_var *const *vars, uint32_t count,
                        uint32_t places)
{
    for (uint32_t i = 0; i < count; i++) {
        if (!vars[i]->reg)
            continue;
        extend(slots, vars[i]->reg->id, 0);
        extend(slots, vars[i]->reg->id, places - 1);
    }
}

// Assigns slots in the order of instructions and reuses those of registers whose life has ended.
static void hand_out(struct slots *slots, uint32_t places, slot *out, struct sim_code *code)
{
    const struct ptx_function *function = slots->function;
    uint32_t used = 0, small = 0; // bytes of slots, and of predicates, which come last
    for (uint32_t i = 0; i < function->reg_count; i++) {
        if (!slots->first[i])
            continue;
        slots->more_starts[i] = slots->starts[slots->first[i] - 1];
        slots->starts[slots->first[i] - 1] = i + 1;
        slots->more[i] = slots->ends[slots->last[i] - 1];
        slots->ends[slots->last[i] - 1] = i + 1;
    }
    for (uint32_t place = 0; place < places; place++) {
        for (uint32_t i = slots->starts[place]; i; i = slots->more_starts[i - 1]) {
            unsigned kind = class_of(function->regs[i - 1]);
            uint32_t *count = kind == 2 ? &small : &used;
            if (slots->free_count[kind]) {
                out[i - 1] = slots->free[kind][--slots->free_count[kind]];
            } else {
                out[i - 1] = *count;
                *count += 1u << kind;
            }
        }
        for (uint32_t i = slots->ends[place]; i; i = slots->more[i - 1]) {
            unsigned kind = class_of(function->regs[i - 1]);
            slots->free[kind][slots->free_count[kind]++] = out[i - 1];
        }
    }
    // A register that is never live may still be named, for example by a call that passes it.
    for (uint32_t i = 0; i < function->reg_count; i++) {
        unsigned kind = class_of(function->regs[i]);
        if (!slots->first[i]) {
            out[i] = kind == 2 ? small : used;
            *(kind == 2 ? &small : &used) += 1u << kind;
        }
    }
    for (uint32_t i = 0; i < function->reg_count; i++)
        out[i] += function->regs[i]->type == PTX_PRED ? used : 0;
    code->slot_bytes = used;
    code->register_bytes = (used + small + 63) & ~63u;
}

// Records the lives of all registers but predicates. A register that is named but never live counts
// as live everywhere.
static void note_lives(const struct slots *slots, const slot *out, struct base_arena *keeps,
                       struct sim_code *code)
{
    const struct ptx_function *function = slots->function;
    struct sim_life *lives = base_new_array(keeps, struct sim_life, function->reg_count);
    for (uint32_t i = 0; i < function->reg_count; i++) {
        unsigned kind = class_of(function->regs[i]);
        if (kind == 2)
            continue;
        bool known = slots->first[i];
        lives[code->life_count++] =
            (struct sim_life){out[i], 1u << kind, known ? slots->first[i] - 1 : 0,
                              known ? slots->last[i] - 1 : UINT32_MAX};
    }
    code->lives = lives;
}

// Records the registers, other than predicates, that may be read before they are set, and those
// that are named but never live.
static void note_unset(const struct slots *slots, const slot *out, struct base_arena *keeps,
                       struct sim_code *code)
{
    const struct ptx_function *function = slots->function;
    struct sim_life *unset = base_new_array(keeps, struct sim_life, function->reg_count + 1);
    const uint64_t *live = slots->before + slots->cfg->order[0] * slots->words;
    for (uint32_t i = 0; slots->cfg->order_count && i < slots->crossing_count; i++) {
        const uint32_t reg = slots->crossing[i];
        const unsigned kind = class_of(function->regs[reg]);
        if (kind != 2 && has(live, i))
            unset[code->unset_count++] = (struct sim_life){out[reg], 1u << kind, 0, 0};
    }
    for (uint32_t i = 0; i < function->reg_count; i++) {
        const unsigned kind = class_of(function->regs[i]);
        if (kind != 2 && !slots->first[i])
            unset[code->unset_count++] = (struct sim_life){out[i], 1u << kind, 0, 0};
    }
    code->unset = unset;
}

void sim_decode_slots(const struct ptx_ssa *ssa, const struct sim_contraction *contractions,
                      struct base_arena *arena, struct base_arena *keeps, slot **out,
                      struct sim_code *code)
{
    const struct ptx_cfg *cfg = ssa->cfg;
    const struct ptx_function *function = cfg->function;
    size_t count = function->reg_count + 1;
    uint32_t places = 1;
    for (uint32_t b = 0; b < cfg->block_count; b++) {
        const struct ptx_block *block = &cfg->blocks[b];
        if (block->instr_count && block->instrs[block->instr_count - 1]->index >= places)
            places = block->instrs[block->instr_count - 1]->index + 1;
    }
    struct slots slots = {
        .function = function, .cfg = cfg, .ssa = ssa, .contractions = contractions, .arena = arena};
    slots.first = base_new_array(arena, uint32_t, count);
    slots.last = base_new_array(arena, uint32_t, count);
    slots.more_starts = base_new_array(arena, uint32_t, count);
    slots.more = base_new_array(arena, uint32_t, count);
    slots.starts = base_new_array(arena, uint32_t, places);
    slots.ends = base_new_array(arena, uint32_t, places);
    for (unsigned i = 0; i < CLASSES; i++)
        slots.free[i] = base_new_array(arena, uint32_t, count);
    *out = base_new_array(arena, slot, count);
    find_living(&slots);
    find_ranges(&slots);
    keep_passed(&slots, function->params, function->param_count, places);
    keep_passed(&slots, function->returns, function->return_count, places);
    hand_out(&slots, places, *out, code);
    note_lives(&slots, *out, keeps, code);
    note_unset(&slots, *out, keeps, code);
    code->last_place = places - 1;
}
