// SPDX-License-Identifier: Apache-2.0
// Decodes a PTX function into code: a slot for each register, a pool of constants, an op for each
// instruction, and one more op wherever diverged lanes join. Instructions that the machine cannot
// execute are refused here, by name, before anything runs.
#include "decode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "families.h"
#include "logging.h"
#include "module.h"
#include "waits.h"
#include "warp.h"

_Noreturn void sim_decode_refuse(struct sim_decoder *decoder, const struct ptx_instr *instr,
                                 const char *why)
{
    const struct sim_code *code = decoder->code;
    const char *file = instr->loc ? ptx_file_path(code->module, instr->loc->file) : NULL;
    base_fail(decoder->error, BASE_UNSUPPORTED, "%s in %s, PTX line %u%s%s: %s", instr->form->text,
              code->name, instr->stmt.line, file ? ", " : "", file ? file : "", why);
    longjmp(*decoder->arena->escape, 1);
}

_Noreturn void sim_decode_refuse_name(struct sim_decoder *decoder, const struct ptx_instr *instr,
                                      const char *name, const char *why)
{
    char text[256];
    snprintf(text, sizeof(text), "%.160s, %s", name, why);
    sim_decode_refuse(decoder, instr, text);
}

unsigned sim_decode_lane_bytes(enum ptx_type type)
{
    unsigned bits = ptx_type_info(type)->bits;
    return bits > 64 ? WIDEST : bits > 32 ? WIDE : NARROW;
}

slot sim_decode_constant(struct sim_decoder *decoder, uint64_t bits, unsigned lane_bytes)
{
    if (lane_bytes == NARROW)
        bits = (uint32_t)bits;
    uint64_t key = bits ^ (lane_bytes == WIDE ? 0 : UINT64_C(0xA5A5A5A500000000));
    uint64_t *known = base_map_put(&decoder->constants, key, NULL);
    if (!known)
        longjmp(*decoder->arena->escape, 1);
    if (*known)
        return (slot)(*known - 1);
    slot at = (slot)decoder->pool.count;
    for (unsigned i = 0; i < LANES * lane_bytes; i++) {
        unsigned char *byte = base_array_push(&decoder->pool);
        if (!byte)
            longjmp(*decoder->arena->escape, 1);
        *byte = (unsigned char)(bits >> 8 * (i % lane_bytes));
    }
    // Every constant takes a multiple of 128 bytes, so constants of all widths stay aligned.
    *known = (uint64_t)(at | POOL) + 1;
    return at | POOL;
}

slot sim_decode_register(struct sim_decoder *decoder, const struct ptx_instr *instr,
                         const struct ptx_operand *operand)
{
    if (operand->kind != PTX_OPERAND_REG)
        sim_decode_refuse(decoder, instr, "expected a register");
    slot at = decoder->slots[operand->reg->id];
    unsigned component = operand->select == PTX_MOD_Y || operand->select == PTX_MOD_G   ? 1
                         : operand->select == PTX_MOD_Z || operand->select == PTX_MOD_B ? 2
                         : operand->select == PTX_MOD_W || operand->select == PTX_MOD_A ? 3
                                                                                        : 0;
    return at + component * LANES * sim_decode_lane_bytes((enum ptx_type)operand->reg->type);
}

slot sim_decode_target(struct sim_decoder *decoder, const struct ptx_instr *instr,
                       const struct ptx_operand *operand)
{
    return operand->kind == PTX_OPERAND_SINK ? NO_SLOT
                                             : sim_decode_register(decoder, instr, operand);
}

slot sim_decode_predicate(struct sim_decoder *decoder, const struct ptx_instr *instr,
                          const struct ptx_operand *operand, bool *negated)
{
    *negated = operand->flags & PTX_OPERAND_NOT;
    if (operand->kind == PTX_OPERAND_INT)
        return sim_decode_constant(decoder, operand->bits ? UINT32_MAX : 0, NARROW);
    return sim_decode_register(decoder, instr, operand);
}

bool sim_decode_variable(struct sim_decoder *decoder, const struct ptx_instr *instr,
                         const struct ptx_var *var, uint64_t *value)
{
    for (uint32_t i = 0; var->space == PTX_SPACE_SHARED && i < decoder->code->shared_count; i++) {
        if (decoder->code->shared[i].var == var) {
            *value = decoder->code->shared[i].offset;
            return true;
        }
    }
    const struct base_map *map = var->space == PTX_SPACE_LOCAL   ? &decoder->locals
                                 : var->space == PTX_SPACE_PARAM ? &decoder->params
                                                                 : NULL;
    if (map) {
        const uint64_t *known = base_map_get(map, (uintptr_t)var);
        if (!known)
            sim_decode_refuse(decoder, instr, "a variable that is not laid out");
        *value = *known - 1;
        return false;
    }
    // NOLINTNEXTLINE(*NullDereference): a decoder is there while it decodes
    const struct sim_variable *variable = sim_module_variable(decoder->module, var->name);
    if (!variable)
        sim_decode_refuse_name(decoder, instr, var->name, "a variable that no module defines");
    *value = variable->address;
    return true;
}

int64_t sim_decode_var_offset(const struct ptx_operand *operand)
{
    const struct ptx_var *var = operand->var;
    return operand->flags & PTX_OPERAND_INDEXED
               ? operand->offset * ptx_type_bytes((enum ptx_type)var->type) * var->vec
               : operand->offset;
}

bool sim_decode_kernel_param(const struct sim_decoder *decoder, const struct ptx_operand *operand)
{
    const struct ptx_operand *base =
        operand->kind == PTX_OPERAND_ADDRESS ? &operand->elements[0] : operand;
    return base->kind == PTX_OPERAND_VAR && base->var->is_param &&
           decoder->code->function->is_entry;
}

static uint64_t float_constant(const struct ptx_operand *operand, enum ptx_type type)
{
    double wide;
    float narrow;
    uint32_t low = (uint32_t)operand->bits;
    if (operand->kind == PTX_OPERAND_F32) {
        memcpy(&narrow, &low, sizeof(narrow));
        wide = narrow;
    } else {
        memcpy(&wide, &operand->bits, sizeof(wide));
        narrow = (float)wide;
    }
    if (ptx_type_info(type)->bits == 64) {
        uint64_t bits;
        memcpy(&bits, &wide, sizeof(bits));
        return operand->kind == PTX_OPERAND_F64 ? operand->bits : bits;
    }
    memcpy(&low, &narrow, sizeof(low));
    return operand->kind == PTX_OPERAND_F32 ? (uint32_t)operand->bits : low;
}

slot sim_decode_typed(struct sim_decoder *decoder, const struct ptx_instr *instr,
                      const struct ptx_operand *operand, enum ptx_type type)
{
    unsigned bytes = sim_decode_lane_bytes(type);
    uint64_t value;
    switch ((enum ptx_operand_kind)operand->kind) {
    case PTX_OPERAND_REG: return sim_decode_register(decoder, instr, operand);
    case PTX_OPERAND_INT:
        value = operand->bits;
        if (ptx_type_info(type)->bits == 16)
            value &= 0xFFFF;
        // An integer literal in place of a floating-point value stands for that value's bits.
        return sim_decode_constant(decoder, value, bytes);
    case PTX_OPERAND_F32:
    case PTX_OPERAND_F64: return sim_decode_constant(decoder, float_constant(operand, type), bytes);
    case PTX_OPERAND_VAR:
        if (!sim_decode_variable(decoder, instr, operand->var, &value))
            sim_decode_refuse(decoder, instr, "the address of a local variable can only be moved");
        return sim_decode_constant(decoder, value + (uint64_t)sim_decode_var_offset(operand),
                                   bytes);
    case PTX_OPERAND_FUNCTION: {
        const struct sim_code *code = sim_module_code(decoder->module, operand->function->name);
        if (!code)
            sim_decode_refuse_name(decoder, instr, operand->function->name,
                                   "a function that no module defines");
        return sim_decode_constant(decoder, code->identity, bytes);
    }
    default: sim_decode_refuse(decoder, instr, "an operand of this kind");
    }
}

// Decodes array[register + number], where both count elements.
static void decode_element(struct sim_decoder *decoder, const struct ptx_instr *instr,
                           const struct ptx_operand *operand, struct sim_uop *op)
{
    const struct ptx_var *array = operand->elements[0].var;
    const struct ptx_operand *index = &operand->elements[1];
    uint64_t start;
    if (array->space == PTX_SPACE_PARAM || index->kind != PTX_OPERAND_REG)
        sim_decode_refuse(decoder, instr, "a parameter indexed by a register");
    bool constant = sim_decode_variable(decoder, instr, array, &start);
    op->rejoin = ptx_type_bytes((enum ptx_type)array->type) * array->vec;
    op->offset = (int64_t)start + operand->offset * op->rejoin;
    op->a = sim_decode_register(decoder, instr, index);
    op->flags |= ADDRESS_NONE | ADDRESS_INDEXED | (constant ? 0 : ADDRESS_FRAME);
    if (sim_decode_lane_bytes((enum ptx_type)index->reg->type) == WIDE)
        op->flags |= ADDRESS_WIDE;
}

void sim_decode_address(struct sim_decoder *decoder, const struct ptx_instr *instr,
                        const struct ptx_operand *operand, struct sim_uop *op)
{
    const struct ptx_operand *base = operand;
    op->offset = 0;
    if (op->space == PTX_SPACE_SHARED && ptx_form_has(instr->form, PTX_MOD_SHARED_CLUSTER))
        op->flags |= ADDRESS_CLUSTER;
    if (operand->kind == PTX_OPERAND_ADDRESS) {
        if (operand->flags & PTX_OPERAND_INDEXED) {
            decode_element(decoder, instr, operand, op);
            return;
        }
        base = &operand->elements[0];
        op->offset = operand->offset;
    }
    op->a = NO_SLOT;
    switch ((enum ptx_operand_kind)base->kind) {
    case PTX_OPERAND_REG:
        op->a = sim_decode_register(decoder, instr, base);
        if (sim_decode_lane_bytes((enum ptx_type)base->reg->type) == WIDE)
            op->flags |= ADDRESS_WIDE;
        return;
    case PTX_OPERAND_INT:
        op->offset += (int64_t)base->bits;
        op->flags |= ADDRESS_NONE;
        return;
    case PTX_OPERAND_VAR: {
        uint64_t value;
        bool constant = sim_decode_variable(decoder, instr, base->var, &value);
        op->offset += (int64_t)value + sim_decode_var_offset(base);
        op->flags |= ADDRESS_NONE;
        if (!constant)
            op->flags |= base->var->space == PTX_SPACE_LOCAL ? ADDRESS_FRAME : ADDRESS_PARAM;
        return;
    }
    default: sim_decode_refuse(decoder, instr, "an address of this form");
    }
}

// --- Layout --------------------------------------------------------------------------------------

static uint32_t aligned(uint32_t at, uint32_t to)
{
    return to ? (at + to - 1) / to * to : at;
}

static uint32_t natural_align(const struct ptx_var *var)
{
    return var->align ? var->align : ptx_type_bytes((enum ptx_type)var->type) * var->vec;
}

static void place(struct sim_decoder *decoder, struct base_map *map, const struct ptx_var *var,
                  uint32_t *used)
{
    *used = aligned(*used, natural_align(var));
    uint64_t *slot_of = base_map_put(map, (uintptr_t)var, NULL);
    if (!slot_of)
        longjmp(*decoder->arena->escape, 1);
    *slot_of = (uint64_t)*used + 1;
    *used += (uint32_t)var->size_bytes;
}

// Describes a parameter that is a register and already has a place among the frame's parameters.
static struct sim_passed in_register(struct sim_decoder *decoder, const struct ptx_var *var)
{
    enum ptx_type type = (enum ptx_type)var->type;
    return (struct sim_passed){.reg = decoder->slots[var->reg->id],
                               .offset =
                                   (uint32_t)*base_map_get(&decoder->params, (uintptr_t)var) - 1,
                               .bytes = (uint8_t)ptx_type_bytes(type),
                               .lane_bytes = (uint8_t)sim_decode_lane_bytes(type)};
}

// Lays out parameters. A kernel's own parameters are one packed buffer of the launch; a device
// function's are in its frame, together with its results. Every frame also holds the local
// parameters through which the function calls others. Compilers declare new ones for each call, in
// a separate scope, so consecutive scopes share memory.
static void place_params(struct sim_decoder *decoder, struct sim_code *code)
{
    struct ptx_function *function = code->function;
    struct sim_param *params =
        base_new_array(decoder->arena, struct sim_param, function->param_count);
    struct sim_passed *given =
        base_new_array(decoder->arena, struct sim_passed, function->param_count);
    uint32_t used = 0;
    for (uint32_t i = 0; i < function->param_count; i++) {
        place(decoder, &decoder->params, function->params[i], &used);
        params[i].size_bytes = (uint32_t)function->params[i]->size_bytes;
        params[i].offset = used - params[i].size_bytes;
        if (function->params[i]->reg)
            given[code->given_count++] = in_register(decoder, function->params[i]);
    }
    code->given = given;
    code->params = params;
    code->param_count = function->param_count;
    code->own_param_bytes = used;
    if (function->is_entry)
        used = 0;
    for (uint32_t i = 0; i < function->return_count; i++) {
        place(decoder, &decoder->params, function->returns[i], &used);
        code->return_bytes = (uint32_t)function->returns[i]->size_bytes;
        code->return_offset = used - code->return_bytes;
        if (function->returns[i]->reg)
            code->result = in_register(decoder, function->returns[i]);
    }
    uint32_t locals = 0, most = used;
    BASE_ARRAY(uint32_t) around = {0}; // value of `used` at the start of each open scope
    for (struct ptx_stmt *stmt = function->first; stmt; stmt = stmt->next) {
        if (stmt->kind == PTX_STMT_OPEN)
            *base_array_add(&around, &decoder->scratch) = used;
        else if (stmt->kind == PTX_STMT_CLOSE && around.count)
            used = around.items[--around.count];
        if (stmt->kind != PTX_STMT_VAR)
            continue;
        const struct ptx_var *var = ((struct ptx_var_stmt *)stmt)->var;
        if (var->space == PTX_SPACE_PARAM)
            place(decoder, &decoder->params, var, &used);
        else if (var->space == PTX_SPACE_LOCAL)
            place(decoder, &decoder->locals, var, &locals);
        most = used > most ? used : most;
    }
    code->param_bytes = decoder->passed_from = aligned(most, 16);
    code->local_bytes = aligned(locals, 16);
}

// --- Ops -----------------------------------------------------------------------------------------

static enum sim_step run_nothing(struct sim_warp *warp, const struct sim_uop *op)
{
    (void)warp;
    (void)op;
    return STEP_NEXT;
}

static enum sim_step run_off_the_end(struct sim_warp *warp, const struct sim_uop *op)
{
    (void)op;
    return sim_warp_return(warp);
}

static void decode_guard(struct sim_decoder *decoder, const struct ptx_instr *instr,
                         struct sim_uop *op)
{
    if (instr->guard)
        op->guard =
            (decoder->slots[instr->guard->id] + 1) | (instr->guard_negated ? GUARD_NEGATED : 0);
}

// Returns whether the instruction has no effect that a thread could observe.
static bool is_hint(enum ptx_op op)
{
    return op == PTX_OP_PREFETCH || op == PTX_OP_PREFETCHU || op == PTX_OP_APPLYPRIORITY ||
           op == PTX_OP_DISCARD || op == PTX_OP_PMEVENT || op == PTX_OP_SETMAXNREG ||
           op == PTX_OP_GRIDDEPCONTROL;
}

static void decode_instr(struct sim_decoder *decoder, const struct ptx_instr *instr,
                         struct sim_uop *op)
{
    op->instr = instr;
    op->seen = (uint8_t)(op - decoder->code->ops);
    op->d = op->a = op->b = op->c = op->e = NO_SLOT;
    decode_guard(decoder, instr, op);
    const struct sim_contraction *contraction = &decoder->contractions[instr->index];
    if (is_hint(ptx_op(instr)) || contraction->product == instr) {
        op->run = run_nothing;
        return;
    }
    if (contraction->product) {
        if (!sim_choose_integer_contracted(decoder, instr, contraction, op) &&
            !sim_choose_float_contracted(decoder, instr, contraction, op))
            sim_choose_half_contracted(decoder, instr, contraction, op);
        return;
    }
    static bool (*const families[])(struct sim_decoder *, const struct ptx_instr *,
                                    struct sim_uop *) = {
        sim_choose_wide,    sim_choose_stack,   sim_choose_control, sim_choose_memory,
        sim_choose_move,    sim_choose_integer, sim_choose_float,   sim_choose_half,
        sim_choose_convert, sim_choose_compare, sim_choose_atomic,  sim_choose_warp,
        sim_choose_texture, sim_choose_surface, sim_choose_video,   sim_choose_async,
        sim_choose_matrix,  sim_choose_cluster, sim_choose_remote,  sim_choose_tensor,
    };
    for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
        if (families[i](decoder, instr, op))
            return;
    }
    sim_decode_refuse(decoder, instr, "the simulated GPU does not execute this instruction");
}

// Returns whether lanes may diverge at the block's end, even if only to the same target.
static bool may_part(const struct ptx_block *block)
{
    const struct ptx_instr *last =
        block->instr_count ? block->instrs[block->instr_count - 1] : NULL;
    return block->succ_count + block->ends > 1 || (last && ptx_flags(last) & PTX_FLAG_BRANCH &&
                                                   (last->guard || ptx_op(last) == PTX_OP_BRX_IDX));
}

// Marks the blocks at which diverged lanes join.
static void mark_joins(const struct ptx_cfg *cfg, bool *joins)
{
    for (uint32_t i = 0; i < cfg->order_count; i++) {
        const struct ptx_block *block = &cfg->blocks[cfg->order[i]];
        if (may_part(block) && block->ipdom != PTX_NO_BLOCK)
            joins[block->ipdom] = true;
    }
}

// Returns whether only some of the lanes may execute the call together; they join after it.
static bool meet_behind(const struct ptx_instr *instr)
{
    struct ptx_call call;
    return ptx_call_parts(instr, &call) &&
           (instr->guard || call.target->kind != PTX_OPERAND_FUNCTION);
}

static uint32_t ops_of(const struct ptx_block *block)
{
    uint32_t count = block->instr_count;
    for (uint32_t i = 0; i < block->instr_count; i++)
        count += meet_behind(block->instrs[i]);
    return count;
}

// Returns whether the branch at the block's end may repeat a loop that may wait for other threads.
static bool may_wait(const struct ptx_cfg *cfg, const bool *waits, uint32_t block)
{
    for (uint32_t i = 0; i < cfg->blocks[block].succ_count; i++) {
        const uint32_t to = cfg->blocks[block].succs[i];
        if (to <= block && sim_waits_jump(cfg, waits, block, to))
            return true;
    }
    return false;
}

static void decode_body(struct sim_decoder *decoder, const struct ptx_cfg *cfg, const bool *waits)
{
    struct sim_code *code = decoder->code;
    bool *joins = base_new_array(&decoder->scratch, bool, cfg->block_count);
    uint32_t *start = base_new_array(&decoder->scratch, uint32_t, (size_t)cfg->block_count + 1);
    mark_joins(cfg, joins);
    uint32_t count = 0;
    for (uint32_t b = 0; b < cfg->block_count; b++) {
        start[b] = count;
        count += joins[b] + ops_of(&cfg->blocks[b]);
    }
    start[cfg->block_count] = count;
    code->ops = base_new_array(decoder->arena, struct sim_uop, (size_t)count + 1);
    code->op_count = count + 1;
    for (uint32_t b = 0; b < cfg->block_count; b++) {
        const struct ptx_block *block = &cfg->blocks[b];
        struct sim_uop *op = &code->ops[start[b]];
        if (joins[b])
            (op++)->run = sim_warp_arrive;
        for (uint32_t i = 0; i < block->instr_count; i++, op++) {
            // Unreachable instructions need not be executable.
            if (block->order == PTX_NO_BLOCK) {
                op->run = run_nothing;
                continue;
            }
            decode_instr(decoder, block->instrs[i], op);
            if (meet_behind(block->instrs[i])) {
                op->rejoin = (uint32_t)(op + 1 - code->ops);
                (++op)->run = sim_warp_arrive;
            }
            if (ptx_flags(block->instrs[i]) & PTX_FLAG_BRANCH) {
                op->rejoin = block->ipdom == PTX_NO_BLOCK ? PC_RETURN : start[block->ipdom];
                op->may_wait = may_wait(cfg, waits, b);
                op->target = block->succ_count ? start[block->succs[0]] : count;
                if (ptx_op(block->instrs[i]) == PTX_OP_BRX_IDX) {
                    const struct ptx_label *table = block->instrs[i]->operands[1].label;
                    slot *list = base_new_array(decoder->arena, slot, table->target_count);
                    for (uint32_t k = 0; k < table->target_count; k++)
                        list[k] = start[ptx_cfg_block_of_label(cfg, table->targets[k].label)];
                    op->list = list;
                    op->offset = table->target_count;
                }
            }
        }
    }
    code->ops[count].run = run_off_the_end;
}

enum base_code sim_code_decode(struct sim_module *module, struct sim_code *code,
                               struct base_error *error)
{
    struct sim_decoder *decoder = calloc(1, sizeof(*decoder));
    if (!decoder)
        return base_no_memory_while(error, "decoding %s", code->name);
    jmp_buf escape;
    struct base_arena *arena = &module->arena;
    decoder->module = module;
    decoder->code = code;
    decoder->arena = arena;
    decoder->error = error;
    error->code = BASE_OK;
    arena->escape = &escape;
    base_arena_init(&decoder->scratch, 0);
    decoder->scratch.escape = &escape;
    enum base_code result = BASE_OK;
    if (setjmp(escape) == 0) {
        const struct ptx_cfg *cfg = ptx_cfg_build(code->function, &decoder->scratch);
        const struct ptx_ssa *ssa = ptx_ssa_build(cfg, &decoder->scratch);
        decoder->contractions = sim_decode_contractions(code->module, ssa, &decoder->scratch);
        sim_decode_slots(ssa, decoder->contractions, &decoder->scratch, arena, &decoder->slots,
                         code);
        place_params(decoder, code);
        decode_body(decoder, cfg, sim_waits_find(ssa, &decoder->scratch));
        code->pool = base_alloc(arena, decoder->pool.count + 64);
        code->pool = (unsigned char *)(((uintptr_t)code->pool + 63) & ~(uintptr_t)63);
        code->pool_bytes = (uint32_t)decoder->pool.count;
        if (decoder->pool.count)
            memcpy(code->pool, decoder->pool.items, decoder->pool.count);
        if (module->device->log)
            sim_log_code(module->device->log, code, arena);
    } else {
        if (error->code == BASE_OK)
            base_no_memory_while(error, "decoding %s", code->name);
        result = error->code;
    }
    arena->escape = NULL;
    base_arena_fini(&decoder->scratch);
    base_array_fini(&decoder->pool);
    base_map_fini(&decoder->constants);
    base_map_fini(&decoder->params);
    base_map_fini(&decoder->locals);
    free(decoder);
    return result;
}
