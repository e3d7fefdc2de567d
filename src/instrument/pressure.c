// SPDX-License-Identifier: Apache-2.0
// Estimates how many registers a kernel needs: the most 32-bit words that are live at one place.
// The clone of a kernel that needs few is limited to few, so that equally many of its warps are
// resident on a multiprocessor. Its probes then spill to memory, on paths that are rarely taken. A
// kernel that needs more, or whose probes look up addresses, has fewer resident warps anyway; it
// gains more from registers than it loses, down to half of the possible warps.
#include "pressure.h"

#include <string.h>

// Register counts per thread: up to each of them, a multiprocessor with 64 Ki registers holds more
// warps than beyond it.
enum { HALF = 4, STEPS };
static const uint32_t steps[STEPS + 1] = {32, 40, 48, 56, 64, 72};

enum {
    WORDS_MOST = 1 << 20, // in sets; larger functions get no limit
    ROUNDS_MOST = 64,
    BESIDE = 15,    // additional registers of the compiler, for addresses and the like
    REFS_MOST = 24, // of one instruction; those with more need consecutive registers
};

struct sets {
    const struct ptx_ssa *ssa;
    const uint8_t *words; // by register
    uint32_t stride;      // words per set
    uint64_t *in, *now;   // by block; the current set
};

// Returns whether the compiler recomputes the value at each use, or reads it from where it is.
static bool is_free(const struct ptx_value *value)
{
    if (value->kind != PTX_VALUE_DEF)
        return false;
    const struct ptx_instr *instr = value->instr;
    const enum ptx_op op = ptx_op(instr);
    if (op == PTX_OP_LD)
        return instr->form->space == PTX_SPACE_PARAM;
    return op == PTX_OP_MOV && instr->operands[1].kind != PTX_OPERAND_REG;
}

static const uint8_t *weigh(struct instrument_work *work, const struct ptx_function *function,
                            const struct ptx_ssa *ssa)
{
    uint8_t *words = base_alloc(&work->scratch, function->reg_count + 1);
    memset(words, 0, function->reg_count + 1);
    for (uint32_t i = 0; i < ssa->value_count; i++) {
        const struct ptx_value *value = &ssa->values[i];
        const uint32_t bits = ptx_type_info((enum ptx_type)value->reg->type)->bits;
        if (value->kind != PTX_VALUE_PHI && !is_free(value) && value->reg->type != PTX_PRED)
            words[value->reg->id] = (uint8_t)(bits <= 32 ? 1 : bits / 32);
    }
    return words;
}

// Computes the registers that are live before an instruction from those behind it.
static void pass(struct sets *sets, const struct ptx_instr *instr)
{
    const struct ptx_ssa *ssa = sets->ssa;
    for (int uses = 0; uses < 2; uses++) {
        for (uint32_t i = ssa->ref_start[instr->index]; i < ssa->ref_start[instr->index + 1]; i++) {
            const struct ptx_ref *ref = &ssa->refs[i];
            if (ref->value == PTX_NO_VALUE || ref->is_def == (bool)uses)
                continue;
            const uint32_t id = ssa->values[ref->value].reg->id;
            if (uses)
                sets->now[id / 64] |= UINT64_C(1) << id % 64;
            else if (!instr->guard)
                sets->now[id / 64] &= ~(UINT64_C(1) << id % 64);
        }
    }
}

static void gather(struct sets *sets, const struct ptx_block *block)
{
    memset(sets->now, 0, sets->stride * sizeof(uint64_t));
    for (uint32_t i = 0; i < block->succ_count; i++) {
        for (uint32_t k = 0; k < sets->stride; k++)
            sets->now[k] |= sets->in[(size_t)block->succs[i] * sets->stride + k];
    }
}

static uint32_t sum(const struct sets *sets)
{
    uint32_t words = 0;
    for (uint32_t i = 0; i < sets->stride; i++) {
        for (uint64_t left = sets->now[i]; left; left &= left - 1)
            words += sets->words[64 * i + (uint32_t)__builtin_ctzll(left)];
    }
    return words;
}

// Processes all blocks backwards. Returns whether a set has grown.
static bool go_through(struct sets *sets, const struct ptx_cfg *cfg, uint32_t *most)
{
    bool grown = false;
    for (uint32_t i = cfg->order_count; i-- > 0;) {
        const struct ptx_block *block = &cfg->blocks[cfg->order[i]];
        uint64_t *in = &sets->in[(size_t)cfg->order[i] * sets->stride];
        gather(sets, block);
        for (uint32_t k = block->instr_count; k-- > 0;) {
            pass(sets, block->instrs[k]);
            if (most) {
                const uint32_t now = sum(sets);
                *most = now > *most ? now : *most;
            }
        }
        grown |= memcmp(in, sets->now, sets->stride * sizeof(*in)) != 0;
        memcpy(in, sets->now, sets->stride * sizeof(*in));
    }
    return grown;
}

static uint32_t step_for(uint32_t words)
{
    uint32_t step = 0;
    while (step < STEPS && steps[step] < words)
        step++;
    return step;
}

// Returns the words that probes keep from one access to the next.
static uint32_t kept_words(const struct instrument_body *body)
{
    enum { LOOKUP = 20 };
    uint32_t kept = 0;
    for (uint32_t i = 0; i < body->probe_count; i++)
        kept += body->probes[i].keeps && !body->probes[i].left;
    return body->counted - body->bit_count + (body->bit_count + 31) / 32 + kept +
           (body->looks_up ? LOOKUP : 0) + body->accessed_words -
           body->split_count * (INSTRUMENT_SHARED_TALLIES - 1);
}

// Returns the words that the probe of a store needs at the store, where it always executes.
static uint32_t store_words(const struct instrument_body *body)
{
    enum { STORE = 8 };
    bool stores = false;
    for (uint32_t i = 0; i < body->probe_count; i++)
        stores |= body->probes[i].examined;
    return stores ? STORE : 0;
}

// Two-dimensional blocks whose threads wait for each other are large: one step more halves how many
// are resident.
static bool works_in_tiles(const struct instrument_body *body)
{
    const struct ptx_cfg *cfg = body->facts->cfg;
    uint16_t deps = 0;
    bool waits = false;
    for (uint32_t i = 0; i < body->probe_count; i++)
        deps |= body->probes[i].site->deps;
    for (uint32_t i = 0; i < cfg->block_count; i++) {
        for (uint32_t k = 0; k < cfg->blocks[i].instr_count; k++)
            waits |= (ptx_flags(cfg->blocks[i].instrs[k]) & PTX_FLAG_SYNC) != 0;
    }
    return waits && deps & PTX_DEP_TID_Y;
}

// Object level with values: if the kernel needs few registers, its clone gets no more, or a few
// more if it would spill in loops. Otherwise the compiler on its own would use too few for a clone.
// A limit that the clone reaches costs more than it gains.
static uint32_t limit_of_values(const struct instrument_body *body, uint32_t own)
{
    const uint32_t with_probes = own + store_words(body) + kept_words(body);
    const uint32_t about = works_in_tiles(body) ? own - 1 : own; // as below
    // A limit also holds for the functions that the clone calls.
    if (body->looks_up || with_probes > steps[HALF])
        return 0;
    return steps[about > steps[0] ? HALF : with_probes > steps[HALF - 1] ? 1 : 0];
}

uint32_t instrument_register_limit(struct instrument_work *work, const struct instrument_body *body)
{
    const struct ptx_cfg *cfg = body->facts->cfg;
    struct sets sets = {.ssa = body->facts->ssa,
                        .stride = (uint32_t)(body->function->reg_count / 64 + 1)};
    if ((uint64_t)sets.stride * (cfg->block_count + 1) > WORDS_MOST)
        return 0;
    for (uint32_t i = 0; i < body->function->instr_count; i++) {
        if (sets.ssa->ref_start[i + 1] - sets.ssa->ref_start[i] > REFS_MOST)
            return 0;
    }
    sets.words = weigh(work, body->function, sets.ssa);
    sets.in = base_new_array(&work->scratch, uint64_t, (size_t)sets.stride * cfg->block_count);
    sets.now = base_new_array(&work->scratch, uint64_t, sets.stride);
    memset(sets.in, 0, (size_t)sets.stride * cfg->block_count * sizeof(uint64_t));
    for (uint32_t i = 0; i < ROUNDS_MOST && go_through(&sets, cfg, NULL); i++)
        ;
    uint32_t alive = 0;
    go_through(&sets, cfg, &alive);
    const uint32_t own = alive + BESIDE;
    if (!work->elements)
        return limit_of_values(body, own);
    if (step_for(own) == STEPS)
        return 0;
    if (works_in_tiles(body))
        return steps[step_for(own - 1)]; // one word is within the error of the estimate
    const uint32_t need = own + store_words(body), with_probes = need + kept_words(body);
    if (step_for(need) == 0 && !body->looks_up)
        return steps[0];
    return steps[step_for(with_probes) <= HALF ? HALF : STEPS];
}
