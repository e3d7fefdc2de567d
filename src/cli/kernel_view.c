// SPDX-License-Identifier: Apache-2.0
// Gathers what `glint ptx` shows of a function, and formats names, lines and types for it.
#include "kernel_view.h"

#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "record/record.h"

// Splits the parameter list of a demangled name at its top-level commas. If the number of pieces is
// not that of the kernel's parameters, the types are unknown.
static void split_types(struct cli_kernel_view *view)
{
    uint32_t count = view->function->param_count;
    const char *close = strrchr(view->title, ')');
    if (!close || !count)
        return;
    const char *open = close;
    for (int depth = 0; open > view->title; open--) {
        depth += *open == ')' ? 1 : *open == '(' ? -1 : 0;
        if (depth == 0)
            break;
    }
    const char *start = open + 1;
    uint32_t found = 0;
    int depth = 0;
    for (const char *at = start; at <= close; at++) {
        if (depth == 0 && (*at == ',' || at == close)) {
            if (found < count)
                view->param_types[found] = strndup(start, (size_t)(at - start));
            found++;
            start = at + 1 + (at[1] == ' ');
        }
        depth += *at == '<' || *at == '(' || *at == '[' ? 1 : 0;
        depth -= *at == '>' || *at == ')' || *at == ']' ? 1 : 0;
    }
    for (uint32_t i = 0; found != count && i < count; i++) {
        free(view->param_types[i]);
        view->param_types[i] = NULL;
    }
}

static void note_shared(struct cli_kernel_view *view, const struct ptx_operand *operand)
{
    if (operand->kind == PTX_OPERAND_VAR && operand->var->space == PTX_SPACE_SHARED) {
        for (uint32_t i = 0; i < view->shared_count; i++) {
            if (view->shared[i] == operand->var)
                return;
        }
        view->shared[view->shared_count++] = operand->var;
    }
    if (operand->kind >= PTX_OPERAND_ADDRESS && operand->kind <= PTX_OPERAND_PAIR) {
        for (uint16_t i = 0; i < operand->count; i++)
            note_shared(view, &operand->elements[i]);
    }
}

static uint32_t count_shared_uses(const struct ptx_function *function)
{
    uint32_t uses = 0;
    for (const struct ptx_stmt *stmt = function->first; stmt; stmt = stmt->next)
        uses += stmt->kind == PTX_STMT_INSTR ? ((const struct ptx_instr *)stmt)->operand_count : 0;
    return uses;
}

// The map of names is a cache, so a view can stay const for its readers.
static const char *name_of(void *user, const struct ptx_var *var)
{
    struct cli_kernel_view *view = user;
    uint64_t *slot = base_map_put(&view->names, (uintptr_t)var, NULL);
    if (!slot)
        return var->name;
    if (!*slot) {
        char *plain = record_demangle(var->name);
        const char *last = plain ? strrchr(plain, ':') : NULL;
        if (last && last[1])
            memmove(plain, last + 1, strlen(last + 1) + 1);
        *slot = (uintptr_t)plain;
    }
    return *slot ? (const char *)(uintptr_t)*slot : var->name;
}

const char *cli_kernel_view_name(const struct cli_kernel_view *view, const struct ptx_var *var)
{
    return view->namer.var(view->namer.user, var);
}

struct ptx_block_size cli_kernel_view_size(const struct ptx_function *function, const char *attr)
{
    const struct ptx_attr *size = ptx_function_attr(function, attr);
    if (!size || !size->count)
        return (struct ptx_block_size){0};
    return (struct ptx_block_size){(uint32_t)size->values[0],
                                   size->count > 1 ? (uint32_t)size->values[1] : 1,
                                   size->count > 2 ? (uint32_t)size->values[2] : 1};
}

enum base_code cli_kernel_view_init(struct cli_kernel_view *view, struct ptx_module *module,
                                    struct ptx_function *function,
                                    const struct ptx_block_size *block, struct base_error *error)
{
    memset(view, 0, sizeof(*view));
    view->block = block->x ? *block : cli_kernel_view_size(function, ".reqntid");
    view->module = module;
    view->function = function;
    view->namer = (struct ptx_namer){name_of, view};
    enum base_code code = ptx_facts_create(function, 0, &view->facts, error);
    if (code == BASE_OK)
        code = ptx_sites_find(view->facts, &view->sites, &view->site_count, error);
    if (code == BASE_OK)
        code = ptx_layouts_find(view->facts, view->sites, view->site_count, &view->layouts,
                                &view->layout_count, error);
    if (code == BASE_OK)
        code = ptx_arrays_find(view->facts, view->sites, view->site_count, &view->arrays, error);
    if (code == BASE_OK)
        code = ptx_staging_find(view->facts, view->sites, view->site_count, &view->stagings, error);
    if (code != BASE_OK) {
        cli_kernel_view_fini(view);
        return code;
    }
    view->title = record_demangle(function->name);
    view->param_types = calloc((size_t)function->param_count + 1, sizeof(*view->param_types));
    view->param_use = calloc((size_t)function->param_count + 1, sizeof(*view->param_use));
    view->shared = calloc((size_t)count_shared_uses(function) * 4 + 1, sizeof(*view->shared));
    if (!view->title || !view->param_types || !view->param_use || !view->shared) {
        cli_kernel_view_fini(view);
        return base_no_memory_while(error, "analysing %s", function->name);
    }
    split_types(view);
    for (uint32_t i = 0; i < view->site_count; i++) {
        const struct ptx_site *site = &view->sites[i];
        for (uint8_t k = 0; k < site->origin.count; k++) {
            const struct ptx_root *root = &site->origin.roots[k];
            if (root->kind != PTX_ROOT_PARAM || root->index >= function->param_count)
                continue;
            if (site->access != PTX_ACCESS_STORE)
                view->param_use[root->index] |= CLI_PARAM_READ;
            if (site->access != PTX_ACCESS_LOAD)
                view->param_use[root->index] |= CLI_PARAM_WRITTEN;
        }
    }
    for (struct ptx_stmt *stmt = function->first; stmt; stmt = stmt->next) {
        const struct ptx_instr *instr = ptx_stmt_instr(stmt);
        for (uint8_t i = 0; instr && i < instr->operand_count; i++)
            note_shared(view, &instr->operands[i]);
    }
    return BASE_OK;
}

void cli_kernel_view_fini(struct cli_kernel_view *view)
{
    for (uint32_t i = 0; view->param_types && i < view->function->param_count; i++)
        free(view->param_types[i]);
    for (size_t i = 0; i < view->names.count; i++)
        free((char *)(uintptr_t)view->names.entries[i].value);
    base_map_fini(&view->names);
    free(view->param_types);
    free(view->param_use);
    free(view->shared);
    free(view->title);
    ptx_facts_destroy(view->facts);
    memset(view, 0, sizeof(*view));
}

uint32_t cli_kernel_view_index(const struct cli_kernel_view *view, const struct ptx_site *site)
{
    const struct ptx_site *sites = view->sites;
    size_t at = base_search(0, view->site_count, i, sites[i].instr->index < site->instr->index);
    return (uint32_t)(at + (sites[at].address != site->address)); // a copy has two
}

static const char *file_name(const struct ptx_module *module, uint32_t file)
{
    const char *path = ptx_file_path(module, file);
    const char *slash = path ? strrchr(path, '/') : NULL;
    return slash ? slash + 1 : path ? path : "?";
}

void cli_kernel_view_line(const struct cli_kernel_view *view, const struct ptx_instr *instr,
                          struct base_buf *out)
{
    const struct ptx_loc *loc = instr->loc;
    if (!loc || !loc->line) {
        base_buf_printf(out, "ptx:%u", instr->stmt.line);
        return;
    }
    base_buf_printf(out, "%s:%u", file_name(view->module, loc->file), loc->line);
    if (loc->inlined)
        base_buf_printf(out, " (at %u)", loc->at_line);
}

void cli_kernel_view_root(const struct cli_kernel_view *view, const struct ptx_root *root,
                          struct base_buf *out)
{
    struct ptx_call call;
    switch ((enum ptx_root_kind)root->kind) {
    case PTX_ROOT_PARAM:
        base_buf_printf(out, "p%u", root->index);
        if (root->offset)
            base_buf_printf(out, "[%u]", root->offset);
        break;
    case PTX_ROOT_VAR: base_buf_puts(out, cli_kernel_view_name(view, root->var)); break;
    case PTX_ROOT_LOAD:
        base_buf_puts(out, "loaded at ");
        cli_kernel_view_line(view, root->instr, out);
        break;
    case PTX_ROOT_CALL:
        if (ptx_call_parts(root->instr, &call) && call.target->kind == PTX_OPERAND_FUNCTION)
            base_buf_printf(out, "%s()", call.target->function->name);
        else
            base_buf_puts(out, "a call");
        break;
    case PTX_ROOT_OTHER: base_buf_puts(out, "computed"); break;
    }
}

void cli_kernel_view_origin(const struct cli_kernel_view *view, const struct ptx_origin *origin,
                            struct base_buf *out)
{
    if (!origin->count)
        base_buf_puts(out, "?");
    for (uint8_t i = 0; i < origin->count; i++) {
        if (i)
            base_buf_puts(out, " or ");
        cli_kernel_view_root(view, &origin->roots[i], out);
    }
    if (origin->many)
        base_buf_puts(out, " or others");
}

void cli_kernel_view_type(const struct ptx_site *site, struct base_buf *out)
{
    if (site->type.count > 1)
        base_buf_printf(out, "%u x ", site->type.count);
    if (site->type.is_pointer)
        base_buf_puts(out, "pointer");
    else if (site->type.type == PTX_TYPE_NONE)
        base_buf_puts(out, "-");
    else
        base_buf_puts(out, ptx_type_info((enum ptx_type)site->type.type)->name);
}

bool cli_kernel_view_costs(const struct cli_kernel_view *view, const struct ptx_site *site,
                           struct ptx_site_costs *costs)
{
    // What is local lies elsewhere in memory for each thread; what is constant has another cache;
    // what another block has is reached through a network.
    const bool counts =
        (site->actual_space == PTX_SPACE_GLOBAL || site->actual_space == PTX_SPACE_SHARED) &&
        view->arrays.places[cli_kernel_view_index(view, site)].kind != PTX_ARRAY_CLUSTER;
    return counts && ptx_site_costs(view->facts, site, &view->block, costs);
}
