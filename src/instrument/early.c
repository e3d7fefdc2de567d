// SPDX-License-Identifier: Apache-2.0
// Values: several stores that follow each other each wait for what they overwrite. If nothing
// between them can change it, all of it is loaded before the first of them, so that they wait only
// once.
//
// The stores stand in one block, the *start*, or in blocks that follow it in the text and are only
// reached from it. Where the loads stand, addresses and conditions are computed a second time from
// registers that are already known there. The compiler recognises what it computes twice.
//
// An old value is what was there before the instruction of the warp. So no lane of the warp may
// write it between the load and the store: there is no instruction through which other threads may
// have written it, nor any store but those of the group, and these write other bytes:
//
// - Two stores of different roots do if the roots' objects differ, which the clone checks.
// - Two stores of one root do if the address grows by the same step from lane to lane, and the one
//   address is further from the other than the lanes of a warp reach. Of two offsets from one
//   register that is known here; otherwise the clone checks it.
//
// If a check fails, the old value is loaded at the store, as that of other stores.
//
// Barriers of the block show what its other threads wrote before. If no thread can have written
// memory before any barrier, as in kernels that fill a tile first, they show nothing.
#include "early.h"

#include <stdio.h>

#include "fill.h"
#include "lanes.h"
#include "probe.h"
#include "quiet.h"
#include "stores.h"

enum {
    MOST_WORDS = 8,   // of 32 bits that one group keeps in registers
    MOST_VALUES = 40, // that are computed for one group
    DEPTH = 12,
    LANES = 32,
};

struct search {
    struct instrument_work *work;
    struct instrument_body *body;
    const uint32_t *defs; // by register: how many instructions set it
    bool quiet;           // no barrier is behind an instruction that may change memory
    uint32_t start;       // the block
    uint32_t from, to;    // the loads stand before an instruction with one of these indices
    uint32_t count, values[MOST_VALUES]; // that are computed
};

// --- Values that can be computed where the group starts ------------------------------------------

// Returns whether the instruction only computes its first operand from the others.
static bool is_pure(const struct ptx_instr *instr)
{
    if (instr->guard || !instr->operand_count || instr->operands[0].kind != PTX_OPERAND_REG ||
        instr->operands[0].select || instr->operands[0].reg->vec != 1)
        return false;
    for (uint32_t i = 1; i < instr->operand_count; i++) {
        const uint8_t kind = instr->operands[i].kind;
        if (kind != PTX_OPERAND_REG && kind != PTX_OPERAND_INT && kind != PTX_OPERAND_SREG &&
            kind != PTX_OPERAND_VAR)
            return false;
    }
    switch (ptx_op(instr)) {
    case PTX_OP_ADD:
    case PTX_OP_SUB:
    case PTX_OP_MUL:
    case PTX_OP_MAD:
    case PTX_OP_NEG:
    case PTX_OP_MIN:
    case PTX_OP_MAX:
    case PTX_OP_SETP:
    case PTX_OP_SELP:
    case PTX_OP_AND:
    case PTX_OP_OR:
    case PTX_OP_XOR:
    case PTX_OP_NOT:
    case PTX_OP_SHL:
    case PTX_OP_SHR:
    case PTX_OP_MOV:
    case PTX_OP_CVT:
    case PTX_OP_CVTA: return !ptx_form_has(instr->form, PTX_MOD_CC);
    default: return false;
    }
}

// Returns whether the register of a value that is set once is visible and holds it where the group
// starts.
static bool holds_always(const struct search *search, const struct ptx_value *value)
{
    return value->kind == PTX_VALUE_DEF && value->previous == PTX_NO_VALUE &&
           search->defs[value->reg->id] == 1 && value->reg->scope == search->body->function->scope;
}

static uint32_t first_def_in(const struct search *search, const struct ptx_reg *reg)
{
    const struct ptx_ssa *ssa = search->body->facts->ssa;
    const struct ptx_block *block = &search->body->facts->cfg->blocks[search->start];
    for (uint32_t i = 0; i < block->instr_count; i++) {
        const uint32_t index = block->instrs[i]->index;
        for (uint32_t k = ssa->ref_start[index]; k < ssa->ref_start[index + 1]; k++) {
            if (ssa->refs[k].is_def && ssa->refs[k].value != PTX_NO_VALUE &&
                ssa->values[ssa->refs[k].value].reg == reg)
                return index;
        }
    }
    return UINT32_MAX;
}

// Returns whether the value is in its register where the loads stand, and narrows that place.
static bool is_held(struct search *search, const struct ptx_value *value)
{
    const struct ptx_cfg *cfg = search->body->facts->cfg;
    if (value->kind == PTX_VALUE_PHI && value->block == search->start &&
        value->reg->scope == search->body->function->scope) {
        const uint32_t end = first_def_in(search, value->reg);
        search->to = end < search->to ? end : search->to;
        return search->from <= search->to;
    }
    if (!holds_always(search, value) || !ptx_dominates(cfg, value->block, search->start))
        return false;
    if (value->block == search->start && value->instr->index >= search->from)
        search->from = value->instr->index + 1;
    return search->from <= search->to;
}

static bool can_have(struct search *search, uint32_t number, uint32_t depth)
{
    const struct ptx_ssa *ssa = search->body->facts->ssa;
    if (number == PTX_NO_VALUE || depth > DEPTH)
        return false;
    const struct ptx_value *value = &ssa->values[number];
    // What is set before the start has a register already.
    if (holds_always(search, value) && value->block != search->start &&
        ptx_dominates(search->body->facts->cfg, value->block, search->start))
        return true;
    for (uint32_t i = 0; i < search->count; i++) {
        if (search->values[i] == number)
            return true;
    }
    if (value->kind == PTX_VALUE_DEF && value->previous == PTX_NO_VALUE && is_pure(value->instr)) {
        const struct search before = *search;
        bool all = search->count < MOST_VALUES;
        if (all)
            search->values[search->count++] = number;
        for (uint32_t i = 1; all && i < value->instr->operand_count; i++) {
            const struct ptx_operand *operand = &value->instr->operands[i];
            all = operand->kind != PTX_OPERAND_REG ||
                  (!operand->select && operand->reg->vec == 1 &&
                   can_have(search, ptx_ssa_value(ssa, value->instr, operand), depth + 1));
        }
        if (all)
            return true;
        *search = before;
    }
    return is_held(search, value);
}

// --- Which stores --------------------------------------------------------------------------------

static const struct ptx_operand *base_of(const struct instrument_probe *probe)
{
    const struct ptx_operand *address = probe->site->address;
    return address->kind == PTX_OPERAND_ADDRESS ? &address->elements[0] : address;
}

static int64_t offset_of(const struct instrument_probe *probe)
{
    return probe->site->address->kind == PTX_OPERAND_ADDRESS ? probe->site->address->offset : 0;
}

static uint32_t base_value(const struct instrument_body *body, const struct instrument_probe *probe)
{
    return ptx_ssa_value(body->facts->ssa, probe->site->instr, base_of(probe));
}

static uint32_t words_of(const struct instrument_probe *probe)
{
    const uint32_t elements = instrument_store_elements(probe->site->instr);
    return probe->site->bytes > elements * 4 ? elements * 2 : elements;
}

// Returns whether the store can be a member at all.
static bool may_join(const struct instrument_body *body, const struct instrument_probe *probe)
{
    return probe->examined && probe->how == HOW_ROOT && probe->shape == SHAPE_FIXED &&
           ptx_op(probe->site->instr) == PTX_OP_ST && !probe->site->instr->guard &&
           probe->site->bytes <= 16 && base_of(probe)->kind == PTX_OPERAND_REG &&
           ptx_type_info((enum ptx_type)base_of(probe)->reg->type)->bits == 64 &&
           ptx_type_info((enum ptx_type)probe->site->instr->form->types[0])->bits <= 64 &&
           !body->may_exit;
}

// Finds the branch that decides whether a block behind the start executes; NULL: it always does.
// Returns false if it is not a single branch.
static bool find_branch(const struct instrument_body *body, uint32_t start, uint32_t block,
                        const struct ptx_instr **branch, bool *taken)
{
    const struct ptx_cfg *cfg = body->facts->cfg;
    *branch = NULL;
    if (ptx_postdominates(cfg, block, start))
        return true;
    if (cfg->blocks[block].pred_count != 1)
        return false;
    const struct ptx_block *before = &cfg->blocks[cfg->blocks[block].preds[0]];
    if (!before->instr_count || before->succ_count != 2 || before->succs[0] == before->succs[1] ||
        !ptx_postdominates(cfg, cfg->blocks[block].preds[0], start))
        return false;
    *branch = before->instrs[before->instr_count - 1];
    *taken = before->succs[0] == block;
    return ptx_op(*branch) == PTX_OP_BRA && (*branch)->guard;
}

// Returns whether the lanes of a warp reach less far than the distance of two stores, or the bytes
// of each lane are apart from those of the others.
static bool is_distant(int64_t distance, int64_t step, uint32_t bytes)
{
    const int64_t far = distance < 0 ? -distance : distance, each = step < 0 ? -step : step;
    return far >= (LANES - 1) * each + bytes || (far >= bytes && far + bytes <= each);
}

// Adds the checks that the store writes other bytes than earlier members. Returns false if it
// certainly or possibly does not.
static bool is_apart_from(const struct instrument_body *body, const struct instrument_bundle *group,
                          struct instrument_early *member)
{
    const struct instrument_probe *probe = &body->probes[member->probe];
    if (!instrument_lane_step(body, probe->site, &member->step))
        return false;
    for (uint32_t i = group->count; i-- > 0;) {
        const struct instrument_early *other = &group->members[i];
        const struct instrument_probe *earlier = &body->probes[other->probe];
        if (earlier->root != probe->root)
            continue;
        if (other->step != member->step || earlier->site->bytes != probe->site->bytes)
            return false;
        const bool same = base_value(body, probe) == base_value(body, earlier);
        if (same ? !is_distant(offset_of(probe) - offset_of(earlier), member->step,
                               probe->site->bytes)
                 : other->fixed)
            return false;
        // All pairs are compared here, or each one with the last before it.
        if (same && other->behind)
            return false;
        member->fixed = same;
        if (!same && !member->behind)
            member->behind = i + 1;
    }
    return true;
}

// Adds the store to the group. Returns false if that is not possible.
static bool add_member(struct search *search, struct instrument_bundle *group, uint32_t index)
{
    struct instrument_body *body = search->body;
    const struct instrument_probe *probe = &body->probes[index];
    struct instrument_early member = {.probe = index};
    struct search narrowed = *search;
    if (group->count == INSTRUMENT_BUNDLE || group->words + words_of(probe) > MOST_WORDS ||
        !may_join(body, probe) ||
        !find_branch(body, search->start, probe->site->block, &member.branch, &member.taken) ||
        !can_have(&narrowed, base_value(body, probe), 0) ||
        (member.branch &&
         !can_have(&narrowed, ptx_ssa_value(body->facts->ssa, member.branch, NULL), 0)) ||
        narrowed.from > narrowed.to || !is_apart_from(body, group, &member))
        return false;
    *search = narrowed;
    group->words += words_of(probe);
    group->members[group->count++] = member;
    return true;
}

// Returns whether the block behind the start is only reached from it, without a loop.
static bool follows(const struct ptx_cfg *cfg, uint32_t start, uint32_t block)
{
    const struct ptx_block *own = &cfg->blocks[block];
    if (own->loop != cfg->blocks[start].loop || !own->pred_count)
        return false;
    for (uint32_t i = 0; i < own->pred_count; i++) {
        if (own->preds[i] < start || own->preds[i] >= block)
            return false;
    }
    return true;
}

static void close_bundle(struct search *search, struct instrument_bundle *group)
{
    struct instrument_body *body = search->body;
    const struct ptx_block *block = &body->facts->cfg->blocks[search->start];
    const uint32_t at = search->from - block->instrs[0]->index;
    if (group->count > 1 && at < block->instr_count &&
        block->instrs[at]->stmt.scope == body->function->scope) {
        group->at = block->instrs[at];
        for (uint32_t i = 0; i < group->count; i++) {
            struct instrument_probe *probe = &body->probes[group->members[i].probe];
            group->members[i].word = body->early_words;
            probe->early = &group->members[i];
            body->early_words += words_of(probe);
            group->members[i].sure = i ? ++body->early_count : 0;
        }
        *base_array_add(&body->bundles, &search->work->scratch) = group;
    }
}

static struct instrument_bundle *open_bundle(struct search *search, uint32_t from)
{
    const struct ptx_block *block = &search->body->facts->cfg->blocks[search->start];
    search->from = from;
    search->to = block->instrs[block->instr_count - 1]->index;
    search->count = 0;
    return base_new(&search->work->scratch, struct instrument_bundle);
}

// Finds the groups that start in a block. Returns the last block that it looked at.
static uint32_t search_from(struct search *search, uint32_t start)
{
    const struct ptx_cfg *cfg = search->body->facts->cfg;
    const struct ptx_block *first = &cfg->blocks[start];
    search->start = start;
    if (!first->instr_count || first->order == PTX_NO_BLOCK)
        return start;
    struct instrument_bundle *group = open_bundle(search, first->instrs[0]->index);
    uint32_t block = start;
    for (; block < cfg->block_count && (block == start || follows(cfg, start, block)); block++) {
        for (uint32_t i = 0; i < cfg->blocks[block].instr_count; i++) {
            const struct ptx_instr *instr = cfg->blocks[block].instrs[i];
            const struct instrument_probe *store =
                ptx_flags(instr) & PTX_FLAG_STORE ? instrument_store_at(search->body, instr) : NULL;
            const bool changes =
                instrument_may_change(instr) && !(search->quiet && instrument_is_barrier(instr));
            const uint32_t index = store ? (uint32_t)(store - search->body->probes) : 0;
            if (!changes && (!store || add_member(search, group, index))) {
                if (store && block == start && instr->index < search->to)
                    search->to = instr->index;
                continue;
            }
            close_bundle(search, group);
            if (block != start)
                return group->count > 1 ? block - 1 : start;
            group = open_bundle(search, instr->index + (changes ? 1 : 0));
            if (!changes && add_member(search, group, index))
                search->to = instr->index;
            else
                group = open_bundle(search, instr->index + 1);
            if (search->to < search->from)
                return start;
        }
    }
    close_bundle(search, group);
    return group->count > 1 ? block - 1 : start;
}

static bool has_call(const struct ptx_block *block)
{
    for (uint32_t i = 0; i < block->instr_count; i++) {
        if (ptx_flags(block->instrs[i]) & PTX_FLAG_CALL)
            return true;
    }
    return false;
}

void instrument_plan_early(struct instrument_work *work, struct instrument_body *body)
{
    const struct ptx_cfg *cfg = body->facts->cfg;
    const struct ptx_ssa *ssa = body->facts->ssa;
    uint32_t *defs = base_new_array(&work->scratch, uint32_t, body->function->reg_count + 1);
    struct search search = {.work = work, .body = body, .defs = defs};
    if (work->elements || !body->kernel || cfg->irreducible)
        return;
    search.quiet = instrument_is_quiet(work, body);
    for (uint32_t i = 0; i < ssa->value_count; i++)
        defs[ssa->values[i].reg->id] += ssa->values[i].kind == PTX_VALUE_DEF;
    for (uint32_t i = 0; i < cfg->block_count; i++) {
        if (!has_call(&cfg->blocks[i]))
            i = search_from(&search, i);
    }
}

// --- Text ----------------------------------------------------------------------------------------

// The values that were computed for one group, and the registers that hold them.
struct copies {
    struct search search;
    uint32_t count;
    uint32_t values[MOST_VALUES];
    char names[MOST_VALUES][32];
};

// Returns the register that holds a value where the group starts, after writing the code that
// computes it if there is none.
static const char *copy_value(struct copies *copies, uint32_t number);

static void emit_copy(struct copies *copies, const struct ptx_value *value, const char *name)
{
    enum { MOST_OPERANDS = 8 };
    struct base_buf *out = &copies->search.work->out;
    struct ptx_operand operands[MOST_OPERANDS];
    struct ptx_reg regs[MOST_OPERANDS];
    struct ptx_instr instr = *value->instr;
    for (uint32_t i = 0; i < instr.operand_count && i < MOST_OPERANDS; i++) {
        operands[i] = value->instr->operands[i];
        if (operands[i].kind != PTX_OPERAND_REG)
            continue;
        regs[i] = *operands[i].reg;
        regs[i].name =
            i ? copy_value(copies, ptx_ssa_value(copies->search.body->facts->ssa, value->instr,
                                                 &value->instr->operands[i]))
              : name;
        operands[i].reg = &regs[i];
    }
    instr.operands = operands;
    base_buf_printf(out, ".reg .%s %s;\n", ptx_type_info((enum ptx_type)value->reg->type)->name,
                    name);
    ptx_print_instr(&instr, out);
    base_buf_putc(out, '\n');
}

static const char *copy_value(struct copies *copies, uint32_t number)
{
    const struct search *search = &copies->search;
    const struct ptx_value *value = &search->body->facts->ssa->values[number];
    const bool before = value->block != search->start &&
                        ptx_dominates(search->body->facts->cfg, value->block, search->start);
    if ((holds_always(search, value) &&
         (before || (value->block == search->start && value->instr->index < search->from))) ||
        value->kind == PTX_VALUE_PHI)
        return value->reg->name;
    for (uint32_t i = 0; i < copies->count; i++) {
        if (copies->values[i] == number)
            return copies->names[i];
    }
    if (copies->count == MOST_VALUES) // can_have counts at least as many
        return value->reg->name;
    const uint32_t own = copies->count++;
    snprintf(copies->names[own], sizeof(copies->names[own]), "%%glint$c%u", own);
    copies->values[own] = number;
    emit_copy(copies, value, copies->names[own]);
    return copies->names[own];
}

void instrument_emit_early_registers(struct instrument_work *work,
                                     const struct instrument_body *body)
{
    if (body->early_words)
        base_buf_printf(&work->out,
                        ".reg .b32 %%glint$was<%u>;\n.reg .b64 %%glint$been<%u>;\n"
                        ".reg .pred %%glint$sure<%u>;\n",
                        body->early_words, body->early_words, body->early_count + 1);
}

// Sets the predicate that says that the member writes other bytes than earlier ones.
static void emit_sure(struct instrument_work *work, const struct instrument_body *body,
                      const struct instrument_bundle *group, uint32_t index)
{
    struct base_buf *out = &work->out;
    const struct instrument_early *member = &group->members[index];
    const struct instrument_probe *probe = &body->probes[member->probe];
    const uint32_t pieces = instrument_pieces_offset(work, body->kernel, probe->root);
    if (member->behind) {
        const uint32_t previous = group->members[member->behind - 1].sure;
        const int64_t each = member->step < 0 ? -member->step : member->step;
        FILL(out, early_behind, NUMBER(sure, member->sure), NUMBER(previous, previous),
             NUMBER(at, index), NUMBER(earlier, member->behind - 1),
             NUMBER(reach, (LANES - 1) * each + probe->site->bytes));
    } else if (member->fixed) {
        FILL(out, early_fixed, NUMBER(sure, member->sure));
    } else {
        base_buf_printf(out, "setp.eq.u32 %%glint$sure%u, 0, 0;\n", member->sure);
    }
    for (uint32_t i = 0; i < index; i++) {
        const uint32_t other = body->probes[group->members[i].probe].root;
        bool again = other == probe->root;
        for (uint32_t k = 0; k < i; k++)
            again |= body->probes[group->members[k].probe].root == other;
        if (!again)
            FILL(out, early_other, NUMBER(sure, member->sure), NUMBER(pieces, pieces),
                 NUMBER(others, instrument_pieces_offset(work, body->kernel, other)));
    }
}

static void emit_member(struct copies *copies, const struct instrument_bundle *group,
                        uint32_t index)
{
    struct instrument_work *work = copies->search.work;
    const struct instrument_body *body = copies->search.body;
    struct base_buf *out = &work->out;
    const struct instrument_early *member = &group->members[index];
    const struct instrument_probe *probe = &body->probes[member->probe];
    const uint32_t pieces = instrument_pieces_offset(work, body->kernel, probe->root);
    const char *base = copy_value(copies, base_value(body, probe));
    base_buf_printf(out, "add.s64 %%glint$to%u, %s, %lld;\n", index, base,
                    (long long)offset_of(probe));
    base_buf_printf(out, "mov.b64 %%glint$a, %%glint$to%u;\n", index);
    char under[128] = "";
    if (member->branch) {
        const char *guard =
            copy_value(copies, ptx_ssa_value(body->facts->ssa, member->branch, NULL));
        snprintf(under, sizeof(under), "%s%.100s",
                 member->taken != member->branch->guard_negated ? "" : "!", guard);
    }
    FILL(out, write_inside, NUMBER(pieces, pieces), STRING(under, *under ? under : NULL));
    FILL(out, may_look, NUMBER(pieces, pieces));
    if (index) {
        emit_sure(work, body, group, index);
        base_buf_printf(out, "and.pred %%glint$look, %%glint$look, %%glint$sure%u;\n",
                        member->sure);
    }
    const bool wide = ptx_type_info((enum ptx_type)probe->site->instr->form->types[0])->bits == 64;
    base_buf_printf(out, "mov.b%u %%glint$%s%u, 0;\n", wide ? 64 : 32, wide ? "been" : "was",
                    member->word);
    instrument_emit_old(work, probe, "%glint$look", "was", "been", member->word);
}

void instrument_emit_early(struct instrument_work *work, const struct instrument_body *body,
                           const struct ptx_instr *instr)
{
    for (size_t i = 0; i < body->bundles.count; i++) {
        const struct instrument_bundle *group = body->bundles.items[i];
        if (group->at != instr)
            continue;
        struct copies *copies = base_new(&work->scratch, struct copies);
        uint32_t *defs = base_new_array(&work->scratch, uint32_t, body->function->reg_count + 1);
        const struct ptx_ssa *ssa = body->facts->ssa;
        for (uint32_t k = 0; k < ssa->value_count; k++)
            defs[ssa->values[k].reg->id] += ssa->values[k].kind == PTX_VALUE_DEF;
        copies->search = (struct search){.work = work,
                                         .body = (struct instrument_body *)body,
                                         .defs = defs,
                                         .start = body->facts->cfg->block_of[instr->index],
                                         .from = instr->index};
        PUT(&work->out, write_registers);
        base_buf_printf(&work->out, ".reg .b64 %%glint$to<%u>;\n", group->count);
        for (uint32_t k = 0; k < group->count; k++)
            emit_member(copies, group, k);
        base_buf_puts(&work->out, "}\n");
    }
}

void instrument_emit_late(struct instrument_work *work, const struct instrument_probe *probe)
{
    struct base_buf *out = &work->out;
    const struct instrument_early *member = probe->early;
    const bool wide = ptx_type_info((enum ptx_type)probe->site->instr->form->types[0])->bits == 64;
    const uint32_t count = instrument_store_elements(probe->site->instr);
    if (member->sure) {
        base_buf_printf(out,
                        "not.pred %%glint$p0, %%glint$sure%u;\n"
                        "and.pred %%glint$p0, %%glint$p0, %%glint$look;\n",
                        member->sure);
        instrument_emit_old(work, probe, "%glint$p0", "was", "been", member->word);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (wide)
            base_buf_printf(out, "mov.b64 %%glint$wide%u, %%glint$been%u;\n", i, member->word + i);
        else
            base_buf_printf(out, "mov.b32 %%glint$old%u, %%glint$was%u;\n", i, member->word + i);
    }
    if (wide)
        base_buf_puts(out, "cvt.u32.u64 %glint$old0, %glint$wide0;\n");
}
