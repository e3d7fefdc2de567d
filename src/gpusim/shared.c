// SPDX-License-Identifier: Apache-2.0
// Placing shared memory. A kernel has the variables that it and the functions it calls name: they
// are its static shared memory, and dynamic shared memory begins behind them. Device functions are
// decoded once, whoever calls them, so their variables lie at one place in all kernels that reach
// any of them; what a kernel is said to have does not count the gaps that this leaves. On the way
// it is found which functions each kernel may run at all.
#include <string.h>

#include "machine.h"

enum { DYNAMIC_ALIGN = 128 };

// What one function names.
struct uses {
    BASE_ARRAY(const struct ptx_var *) vars;
    BASE_ARRAY(size_t) functions; // as indices of the module's codes
    bool calls_by_address;
};

// Variables, each with its offset, one behind the other.
struct layout {
    BASE_ARRAY(struct shared_var) vars;
    uint32_t used, dynamic_align;
};

static bool is_dynamic(const struct ptx_var *var)
{
    return var->linkage & PTX_LINK_EXTERN && !var->size_bytes;
}

static uint32_t align_of(const struct ptx_var *var)
{
    return var->align ? var->align : ptx_type_bytes((enum ptx_type)var->type) * var->vec;
}

static uint32_t rounded(uint32_t bytes, uint32_t align)
{
    return (bytes + align - 1) / align * align;
}

// --- What is named -------------------------------------------------------------------------------

static void note_var(struct sim_module *module, struct uses *uses, const struct ptx_var *var)
{
    if (var->space != PTX_SPACE_SHARED)
        return;
    for (size_t i = 0; i < uses->vars.count; i++) {
        if (uses->vars.items[i] == var)
            return;
    }
    *base_array_add(&uses->vars, &module->arena) = var;
}

static void note_function(struct sim_module *module, struct uses *uses, const char *name)
{
    const uint64_t *found = base_map_get_str(&module->code_names, base_str(name));
    if (!found)
        return; // one of the machine's own
    for (size_t i = 0; i < uses->functions.count; i++) {
        if (uses->functions.items[i] == *found)
            return;
    }
    *base_array_add(&uses->functions, &module->arena) = *found;
}

static void note_operand(struct sim_module *module, struct uses *uses,
                         const struct ptx_operand *operand)
{
    switch ((enum ptx_operand_kind)operand->kind) {
    case PTX_OPERAND_VAR: note_var(module, uses, operand->var); break;
    case PTX_OPERAND_FUNCTION: note_function(module, uses, operand->function->name); break;
    case PTX_OPERAND_ADDRESS:
    case PTX_OPERAND_VECTOR:
    case PTX_OPERAND_LIST:
    case PTX_OPERAND_PAIR:
        for (uint16_t i = 0; i < operand->count; i++)
            note_operand(module, uses, &operand->elements[i]);
        break;
    default: break;
    }
}

static void note_body(struct sim_module *module, struct uses *uses,
                      const struct ptx_function *function)
{
    for (struct ptx_stmt *stmt = function->first; stmt; stmt = stmt->next) {
        if (stmt->kind == PTX_STMT_VAR)
            note_var(module, uses, ((struct ptx_var_stmt *)stmt)->var);
        const struct ptx_instr *instr = ptx_stmt_instr(stmt);
        if (!instr)
            continue;
        bool by_name = false;
        for (uint8_t i = 0; i < instr->operand_count; i++) {
            note_operand(module, uses, &instr->operands[i]);
            by_name |= instr->operands[i].kind == PTX_OPERAND_FUNCTION;
        }
        uses->calls_by_address |= ptx_op(instr) == PTX_OP_CALL && !by_name;
    }
}

// Marks in `reached`, which is all false, what a kernel reaches, itself included. An address may be
// any function's.
static void mark_reached(const struct sim_module *module, const struct uses *uses, size_t kernel,
                         bool *reached, size_t *pending)
{
    size_t count = 0;
    reached[kernel] = true;
    pending[count++] = kernel;
    while (count) {
        const struct uses *from = &uses[pending[--count]];
        for (size_t i = 0; i < from->functions.count; i++) {
            size_t to = from->functions.items[i];
            if (!reached[to])
                pending[count++] = to;
            reached[to] = true;
        }
        for (size_t to = 0; from->calls_by_address && to < module->code_count; to++) {
            if (reached[to] || module->codes[to]->function->is_entry)
                continue;
            reached[to] = true;
            pending[count++] = to;
        }
    }
}

// Whether calls among the functions reached may go in circles: takes away those that nobody left
// calls, until none is left or all are called.
static bool goes_in_circles(const struct sim_module *module, const struct uses *uses,
                            const bool *reached, size_t *callers, size_t *pending)
{
    size_t count = module->code_count, ready = 0, left = 0;
    memset(callers, 0, count * sizeof(*callers));
    for (size_t i = 0; i < count; i++) {
        left += reached[i];
        for (size_t k = 0; reached[i] && k < uses[i].functions.count; k++)
            callers[uses[i].functions.items[k]]++;
    }
    for (size_t i = 0; i < count; i++) {
        if (reached[i] && !callers[i])
            pending[ready++] = i;
        if (reached[i] && uses[i].calls_by_address)
            return true;
    }
    while (ready) {
        const struct uses *from = &uses[pending[--ready]];
        left--;
        for (size_t k = 0; k < from->functions.count; k++) {
            if (--callers[from->functions.items[k]] == 0)
                pending[ready++] = from->functions.items[k];
        }
    }
    return left != 0;
}

// --- Where it lies -------------------------------------------------------------------------------

static const struct shared_var *find(const struct layout *layout, const struct ptx_var *var)
{
    for (size_t i = 0; i < layout->vars.count; i++) {
        if (layout->vars.items[i].var == var)
            return &layout->vars.items[i];
    }
    return NULL;
}

static void place(struct sim_module *module, struct layout *layout, const struct ptx_var *var)
{
    if (is_dynamic(var)) {
        if (align_of(var) > layout->dynamic_align)
            layout->dynamic_align = align_of(var);
        return;
    }
    if (find(layout, var))
        return;
    uint32_t at = rounded(layout->used, align_of(var));
    *base_array_add(&layout->vars, &module->arena) = (struct shared_var){var, at};
    layout->used = at + (uint32_t)var->size_bytes;
}

static void place_all(struct sim_module *module, struct layout *layout, const struct uses *uses)
{
    for (size_t i = 0; i < uses->vars.count; i++)
        place(module, layout, uses->vars.items[i]);
}

// Gives a function's own variables their offsets; dynamic ones all begin at one place.
static void assign(struct sim_module *module, struct code *code, const struct uses *uses,
                   const struct layout *layout)
{
    code->shared = base_new_array(&module->arena, struct shared_var, uses->vars.count);
    code->shared_count = (uint32_t)uses->vars.count;
    for (size_t i = 0; i < uses->vars.count; i++) {
        const struct ptx_var *var = uses->vars.items[i];
        const struct shared_var *placed = is_dynamic(var) ? NULL : find(layout, var);
        code->shared[i] = (struct shared_var){var, placed ? placed->offset : code->dynamic_shared};
    }
}

struct plan {
    struct layout layout;
    bool shares_dynamic; // with functions
};

static void plan_kernel(struct sim_module *module, const struct uses *uses, size_t kernel,
                        const bool *reached, const struct layout *common, struct plan *plan)
{
    bool reaches_common = false;
    struct layout alone = {0};
    for (size_t i = 0; i < module->code_count; i++) {
        if (!reached[i])
            continue;
        place_all(module, &alone, &uses[i]);
        for (size_t k = 0; i != kernel && k < uses[i].vars.count; k++) {
            reaches_common = true;
            plan->shares_dynamic |= is_dynamic(uses[i].vars.items[k]);
        }
    }
    module->codes[kernel]->static_shared_bytes = alone.used;
    if (reaches_common) {
        plan->layout = *common;
        // A copy, since it grows.
        plan->layout.vars.items =
            base_new_array(&module->arena, struct shared_var, common->vars.count + 1);
        plan->layout.vars.capacity = common->vars.count + 1;
        if (common->vars.count)
            memcpy(plan->layout.vars.items, common->vars.items,
                   common->vars.count * sizeof(struct shared_var));
        place_all(module, &plan->layout, &uses[kernel]);
    } else {
        plan->layout = alone;
    }
    uint32_t align = plan->layout.dynamic_align;
    module->codes[kernel]->dynamic_shared =
        rounded(plan->layout.used, align > DYNAMIC_ALIGN ? align : DYNAMIC_ALIGN);
}

void module_place_shared(struct sim_module *module)
{
    size_t count = module->code_count;
    struct uses *uses = base_new_array(&module->arena, struct uses, count);
    struct plan *plans = base_new_array(&module->arena, struct plan, count);
    size_t *pending = base_new_array(&module->arena, size_t, count);
    size_t *callers = base_new_array(&module->arena, size_t, count);
    struct layout common = {0};
    for (size_t i = 0; i < count; i++) {
        note_body(module, &uses[i], module->codes[i]->function);
        if (!module->codes[i]->function->is_entry)
            place_all(module, &common, &uses[i]);
    }
    uint32_t dynamic = 0; // where functions find it
    for (size_t i = 0; i < count; i++) {
        if (!module->codes[i]->function->is_entry)
            continue;
        bool *reached = base_new_array(&module->arena, bool, count);
        mark_reached(module, uses, i, reached, pending);
        module->codes[i]->reaches = reached;
        module->codes[i]->endless = goes_in_circles(module, uses, reached, callers, pending);
        plan_kernel(module, uses, i, reached, &common, &plans[i]);
        if (plans[i].shares_dynamic && module->codes[i]->dynamic_shared > dynamic)
            dynamic = module->codes[i]->dynamic_shared;
    }
    for (size_t i = 0; i < count; i++) {
        struct code *code = module->codes[i];
        if (!code->function->is_entry || plans[i].shares_dynamic)
            code->dynamic_shared = dynamic;
        assign(module, code, &uses[i], code->function->is_entry ? &plans[i].layout : &common);
    }
}
