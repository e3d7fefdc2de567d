// SPDX-License-Identifier: Apache-2.0
// Lays out shared memory, and finds which functions each kernel may run. A kernel's static shared
// memory holds the variables that it and the functions it calls refer to; dynamic shared memory
// follows.
//
// Sizes are computed like CUDA's assembler, which lays out the kernel's own variables and then the
// module's, both in the order of the text. Loading fails if a kernel exceeds the device's limit for
// a block. The limit of 48 KiB without opt-in applies to dynamic memory only. The assembler places
// variables that functions declare according to what it inlines. Here they come last, so gaps for
// alignment may differ.
//
// Device functions are decoded once, so their variables have the same offsets in all kernels that
// reach them. The reported size of a kernel does not count the gaps that this leaves.
#include <string.h>

#include "machine.h"
#include "module.h"

enum { DYNAMIC_ALIGN = 128 };

// The variables and functions that one function refers to.
struct uses {
    BASE_ARRAY(const struct ptx_var *) vars;
    BASE_ARRAY(size_t) functions; // indices into the module's codes
    bool calls_by_address;
    bool has_address; // its address is taken somewhere
    bool is_reached;  // a kernel reaches it
};

// Variables with their offsets, in ascending order. The size is checked only when the layout is
// complete; the offsets of a layout that is too large are meaningless.
struct layout {
    BASE_ARRAY(struct sim_shared_var) vars;
    uint64_t used;
    uint32_t dynamic_align;
};

static bool is_dynamic(const struct ptx_var *var)
{
    return var->linkage & PTX_LINK_EXTERN && !var->size_bytes;
}

static uint32_t align_of(const struct ptx_var *var)
{
    return var->align ? var->align : ptx_type_bytes((enum ptx_type)var->type) * var->vec;
}

static uint64_t rounded(uint64_t bytes, uint32_t align)
{
    return (bytes + align - 1) / align * align;
}

// --- References ----------------------------------------------------------------------------------

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

static void note_function(struct sim_module *module, struct uses *uses, size_t index)
{
    for (size_t i = 0; i < uses->functions.count; i++) {
        if (uses->functions.items[i] == index)
            return;
    }
    *base_array_add(&uses->functions, &module->arena) = index;
}

// Returns false if the module does not define the function, which may be a builtin.
static bool find_function(const struct sim_module *module, const char *name, size_t *index)
{
    const uint64_t *found = base_map_get_str(&module->code_names, base_str(name));
    if (found)
        *index = *found;
    return found != NULL;
}

static void note_operand(struct sim_module *module, struct uses *all, size_t user, bool is_call,
                         const struct ptx_operand *operand)
{
    struct uses *uses = &all[user];
    size_t index;
    switch ((enum ptx_operand_kind)operand->kind) {
    case PTX_OPERAND_VAR: note_var(module, uses, operand->var); break;
    case PTX_OPERAND_FUNCTION:
        if (!find_function(module, operand->function->name, &index))
            break;
        note_function(module, uses, index);
        all[index].has_address |= !is_call;
        break;
    case PTX_OPERAND_ADDRESS:
    case PTX_OPERAND_VECTOR:
    case PTX_OPERAND_LIST:
    case PTX_OPERAND_PAIR:
        for (uint16_t i = 0; i < operand->count; i++)
            note_operand(module, all, user, is_call, &operand->elements[i]);
        break;
    default: break;
    }
}

static void note_body(struct sim_module *module, struct uses *all, size_t user)
{
    struct uses *uses = &all[user];
    for (struct ptx_stmt *stmt = module->codes[user]->function->first; stmt; stmt = stmt->next) {
        if (stmt->kind == PTX_STMT_VAR)
            note_var(module, uses, ((struct ptx_var_stmt *)stmt)->var);
        const struct ptx_instr *instr = ptx_stmt_instr(stmt);
        if (!instr)
            continue;
        bool by_name = false, is_call = ptx_op(instr) == PTX_OP_CALL;
        for (uint8_t i = 0; i < instr->operand_count; i++) {
            note_operand(module, all, user, is_call, &instr->operands[i]);
            by_name |= instr->operands[i].kind == PTX_OPERAND_FUNCTION;
        }
        uses->calls_by_address |= is_call && !by_name;
    }
}

// Notes the functions whose addresses are initial values of variables.
static void note_tables(const struct sim_module *module, struct uses *all)
{
    for (size_t i = 0; i < module->variable_count; i++) {
        const struct ptx_var *var = module->variables[i].var;
        for (uint64_t k = 0; k < var->init_count; k++) {
            size_t index;
            if (var->init[k].kind == PTX_INIT_FUNCTION &&
                find_function(module, var->init[k].function->name, &index))
                all[index].has_address = true;
        }
    }
}

// Marks in `reached`, which must be all false, the functions that a kernel reaches, and the kernel
// itself. A call by address may reach any function whose address is taken.
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
            if (reached[to] || !uses[to].has_address || module->codes[to]->function->is_entry)
                continue;
            reached[to] = true;
            pending[count++] = to;
        }
    }
}

// Returns whether the reached functions may recurse or call by address. Repeatedly removes
// functions without remaining callers; if some are left, they call each other in a cycle.
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

// --- Layout --------------------------------------------------------------------------------------

static const struct sim_shared_var *find(const struct layout *layout, const struct ptx_var *var)
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
    uint64_t at = rounded(layout->used, align_of(var));
    *base_array_add(&layout->vars, &module->arena) = (struct sim_shared_var){var, (uint32_t)at};
    // A size beyond 32 bits is too large anyway; capping it keeps sums far below 2^64.
    layout->used = at + (var->size_bytes < UINT32_MAX ? var->size_bytes : UINT32_MAX);
}

static void place_all(struct sim_module *module, struct layout *layout, const struct uses *uses)
{
    for (size_t i = 0; i < uses->vars.count; i++)
        place(module, layout, uses->vars.items[i]);
}

// Assigns offsets to a function's variables. Dynamic ones all start at the same offset.
static void assign(struct sim_module *module, struct sim_code *code, const struct uses *uses,
                   const struct layout *layout)
{
    code->shared = base_new_array(&module->arena, struct sim_shared_var, uses->vars.count);
    code->shared_count = (uint32_t)uses->vars.count;
    for (size_t i = 0; i < uses->vars.count; i++) {
        const struct ptx_var *var = uses->vars.items[i];
        const struct sim_shared_var *placed = is_dynamic(var) ? NULL : find(layout, var);
        code->shared[i] =
            (struct sim_shared_var){var, placed ? placed->offset : code->dynamic_shared};
    }
}

static void place_own(struct sim_module *module, struct layout *layout, const struct uses *uses)
{
    for (size_t i = 0; i < uses->vars.count; i++) {
        if (uses->vars.items[i]->function)
            place(module, layout, uses->vars.items[i]);
    }
}

static bool names(const struct uses *uses, const struct ptx_var *var)
{
    for (size_t i = 0; i < uses->vars.count; i++) {
        if (uses->vars.items[i] == var)
            return true;
    }
    return false;
}

// Returns the layout that the kernel would have if it shared no functions with other kernels.
static struct layout layout_alone(struct sim_module *module, const struct uses *uses, size_t kernel,
                                  const bool *reached)
{
    struct layout alone = {0};
    place_own(module, &alone, &uses[kernel]);
    for (size_t t = 0; t < module->text_count; t++) {
        for (struct ptx_item *item = module->texts[t]->first; item; item = item->next) {
            bool named = false;
            if (item->kind != PTX_ITEM_VAR || item->var->space != PTX_SPACE_SHARED)
                continue;
            for (size_t i = 0; i < module->code_count && !named; i++)
                named = reached[i] && names(&uses[i], item->var);
            if (named)
                place(module, &alone, item->var);
        }
    }
    for (size_t i = 0; i < module->code_count; i++) {
        if (reached[i])
            place_own(module, &alone, &uses[i]);
    }
    return alone;
}

struct shared_plan {
    struct layout layout;
    bool shares_dynamic; // device functions use its dynamic memory as well
};

static void plan_kernel(struct sim_module *module, const struct uses *uses, size_t kernel,
                        const struct layout *alone, const struct layout *common,
                        struct shared_plan *plan)
{
    const bool *reached = module->codes[kernel]->reaches;
    bool reaches_common = false;
    for (size_t i = 0; i < module->code_count; i++) {
        for (size_t k = 0; reached[i] && i != kernel && k < uses[i].vars.count; k++) {
            reaches_common = true;
            plan->shares_dynamic |= is_dynamic(uses[i].vars.items[k]);
        }
    }
    if (reaches_common) {
        plan->layout = *common;
        // A copy, because the kernel's own variables are added.
        plan->layout.vars.items =
            base_new_array(&module->arena, struct sim_shared_var, common->vars.count + 1);
        plan->layout.vars.capacity = common->vars.count + 1;
        if (common->vars.count)
            memcpy(plan->layout.vars.items, common->vars.items,
                   common->vars.count * sizeof(struct sim_shared_var));
        place_all(module, &plan->layout, &uses[kernel]);
    } else {
        plan->layout = *alone;
    }
    module->codes[kernel]->placed_shared_bytes = (uint32_t)plan->layout.used;
    uint32_t align = plan->layout.dynamic_align;
    module->codes[kernel]->dynamic_shared =
        (uint32_t)rounded(plan->layout.used, align > DYNAMIC_ALIGN ? align : DYNAMIC_ALIGN);
}

enum base_code sim_module_place_shared(struct sim_module *module, struct base_error *error)
{
    size_t count = module->code_count;
    struct uses *uses = base_new_array(&module->arena, struct uses, count);
    struct shared_plan *plans = base_new_array(&module->arena, struct shared_plan, count);
    size_t *pending = base_new_array(&module->arena, size_t, count);
    size_t *callers = base_new_array(&module->arena, size_t, count);
    struct layout *alone = base_new_array(&module->arena, struct layout, count);
    struct layout common = {0};
    for (size_t i = 0; i < count; i++)
        note_body(module, uses, i);
    note_tables(module, uses);
    for (size_t i = 0; i < count; i++) {
        struct sim_code *code = module->codes[i];
        if (!code->function->is_entry)
            continue;
        bool *reached = base_new_array(&module->arena, bool, count);
        mark_reached(module, uses, i, reached, pending);
        for (size_t k = 0; k < count; k++)
            uses[k].is_reached |= reached[k];
        code->reaches = reached;
        code->endless = goes_in_circles(module, uses, reached, callers, pending);
        alone[i] = layout_alone(module, uses, i, reached);
        uint32_t most = module->device->preset->shared_per_block_optin;
        BASE_RETURN_IF(alone[i].used > most, error, BASE_INVALID,
                       "kernel %s has %llu bytes of static shared memory; %u is the most",
                       code->name, (unsigned long long)alone[i].used, most);
        code->static_shared_bytes = (uint32_t)alone[i].used;
    }
    for (size_t i = 0; i < count; i++) {
        if (uses[i].is_reached && !module->codes[i]->function->is_entry)
            place_all(module, &common, &uses[i]);
    }
    uint32_t dynamic = 0; // where device functions expect dynamic shared memory
    for (size_t i = 0; i < count; i++) {
        if (!module->codes[i]->function->is_entry)
            continue;
        plan_kernel(module, uses, i, &alone[i], &common, &plans[i]);
        if (plans[i].shares_dynamic && module->codes[i]->dynamic_shared > dynamic)
            dynamic = module->codes[i]->dynamic_shared;
    }
    for (size_t i = 0; i < count; i++) {
        struct sim_code *code = module->codes[i];
        if (!code->function->is_entry || plans[i].shares_dynamic)
            code->dynamic_shared = dynamic;
        assign(module, code, &uses[i], code->function->is_entry ? &plans[i].layout : &common);
    }
    return BASE_OK;
}
