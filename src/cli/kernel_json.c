// SPDX-License-Identifier: Apache-2.0
// Prints a kernel as JSON: the same facts as the text, unabbreviated. Keys are only ever added.
#include <stdlib.h>

#include "kernel_view.h"

static void put_text(struct base_json *json, const char *key, struct base_buf *text)
{
    base_json_key(json, key);
    base_json_string(json, text->text ? text->text : "");
    text->length = 0;
    base_buf_add(text, "", 0);
}

static void put_number(struct base_json *json, const char *key, uint64_t value)
{
    base_json_key(json, key);
    base_json_u64(json, value);
}

static void put_word(struct base_json *json, const char *key, const char *word)
{
    base_json_key(json, key);
    base_json_string(json, word);
}

static void put_word_or_null(struct base_json *json, const char *key, const char *word)
{
    base_json_key(json, key);
    if (word)
        base_json_string(json, word);
    else
        base_json_null(json);
}

static void put_bool(struct base_json *json, const char *key, bool value)
{
    base_json_key(json, key);
    base_json_bool(json, value);
}

static void put_source(const struct cli_kernel_view *view, const struct ptx_instr *instr,
                       struct base_json *json)
{
    const struct ptx_loc *loc = instr->loc;
    base_json_key(json, "source");
    if (!loc || !loc->line) {
        base_json_null(json);
        return;
    }
    base_json_begin_object(json);
    put_word(json, "file", ptx_file_path(view->module, loc->file));
    put_number(json, "line", loc->line);
    put_number(json, "column", loc->column);
    if (loc->name_label) {
        char *name = ptx_debug_string(view->module, loc->name_label, loc->name_offset);
        put_word(json, "function", name);
        free(name);
    }
    if (loc->inlined) {
        base_json_key(json, "inlined_at");
        base_json_begin_object(json);
        put_word(json, "file", ptx_file_path(view->module, loc->at_file));
        put_number(json, "line", loc->at_line);
        put_number(json, "column", loc->at_column);
        base_json_end_object(json);
    }
    base_json_end_object(json);
}

static void put_deps(struct base_json *json, const char *key, uint16_t deps)
{
    static const struct {
        uint16_t bits;
        const char *word;
    } words[] = {
        {PTX_DEP_TID_X, "tid.x"},     {PTX_DEP_TID_Y, "tid.y"},     {PTX_DEP_TID_Z, "tid.z"},
        {PTX_DEP_LANE, "lane"},       {PTX_DEP_THREAD, "thread"},   {PTX_DEP_WARP, "warp"},
        {PTX_DEP_CTAID_X, "ctaid.x"}, {PTX_DEP_CTAID_Y, "ctaid.y"}, {PTX_DEP_CTAID_Z, "ctaid.z"},
        {PTX_DEP_BLOCK, "block"},     {PTX_DEP_MEMORY, "memory"},   {PTX_DEP_MACHINE, "machine"},
        {PTX_DEP_CALLER, "caller"},
    };
    base_json_key(json, key);
    base_json_begin_array(json);
    for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (deps & words[i].bits)
            base_json_string(json, words[i].word);
    }
    base_json_end_array(json);
}

static void put_root(const struct cli_kernel_view *view, const struct ptx_root *root,
                     struct base_json *json)
{
    static const char *const kinds[] = {"param", "variable", "load", "call", "other"};
    struct ptx_call call;
    base_json_begin_object(json);
    put_word(json, "kind", kinds[root->kind]);
    if (root->kind == PTX_ROOT_PARAM) {
        put_number(json, "param", root->index);
        put_number(json, "offset", root->offset);
    } else if (root->kind == PTX_ROOT_VAR) {
        put_word(json, "name", root->var->name);
    } else if (root->instr) {
        if (ptx_call_parts(root->instr, &call) && call.target->kind == PTX_OPERAND_FUNCTION)
            put_word(json, "name", call.target->function->name);
        put_number(json, "ptx_line", root->instr->stmt.line);
        put_source(view, root->instr, json);
    }
    base_json_end_object(json);
}

static void put_layout(const struct cli_kernel_view *view, const struct ptx_layout *layout,
                       struct base_json *json)
{
    base_json_begin_object(json);
    base_json_key(json, "root");
    put_root(view, &layout->root, json);
    put_word_or_null(json, "doubt", layout->doubt);
    put_number(json, "stride_bytes", layout->stride);
    base_json_key(json, "fields");
    base_json_begin_array(json);
    for (uint32_t i = 0; i < layout->field_count; i++) {
        const enum ptx_type type = (enum ptx_type)layout->fields[i].type;
        base_json_begin_object(json);
        put_number(json, "offset", layout->fields[i].offset);
        put_word(json, "type", type == PTX_B32 ? "raw" : ptx_type_info(type)->name);
        base_json_end_object(json);
    }
    base_json_end_array(json);
    base_json_end_object(json);
}

static void put_range(struct base_json *json, const char *key, const struct ptx_range *range)
{
    base_json_key(json, key);
    base_json_begin_array(json);
    base_json_u64(json, range->from);
    base_json_u64(json, range->to);
    base_json_end_array(json);
}

// What a warp's request takes: the least and the most.
static void put_warp(const struct cli_kernel_view *view, const struct ptx_site *site,
                     struct base_json *json)
{
    struct ptx_site_costs costs;
    base_json_key(json, "warp");
    if (!cli_kernel_view_costs(view, site, &costs)) {
        base_json_null(json);
        return;
    }
    base_json_begin_object(json);
    put_range(json, costs.shared ? "wavefronts" : "sectors", &costs.count);
    put_range(json, "needed", &costs.least);
    if (costs.words_apart) {
        base_json_key(json, "words_apart");
        base_json_i64(json, costs.words_apart);
    }
    base_json_end_object(json);
}

// In which array of shared memory the site lies: null if in none.
static void put_array(const struct cli_kernel_view *view, const struct ptx_array_place *place,
                      struct base_json *json)
{
    const char *doubt = ptx_array_doubt((enum ptx_array_kind)place->kind);
    struct base_buf text = {0};
    base_json_key(json, "array");
    if (place->kind == PTX_ARRAY_NONE) {
        base_json_null(json);
        return;
    }
    base_json_begin_object(json);
    put_word_or_null(json, "name", place->array ? place->array->name : NULL);
    put_word_or_null(json, "doubt", doubt);
    put_bool(json, "dynamic", place->dynamic);
    if (place->has_offset) {
        ptx_form_print(view->facts->affine, &place->offset, NULL, &text);
        put_text(json, "offset", &text);
    } else {
        put_word_or_null(json, "offset", NULL);
    }
    base_json_end_object(json);
    base_buf_fini(&text);
}

static void put_staging(const struct ptx_staging *staging, struct base_json *json)
{
    base_json_key(json, "staging");
    if (staging->kind == PTX_STAGING_NONE) {
        base_json_null(json);
        return;
    }
    base_json_begin_object(json);
    put_word(json, "kind", ptx_staging_name((enum ptx_staging_kind)staging->kind));
    base_json_key(json, "sources");
    base_json_begin_array(json);
    for (uint8_t i = 0; i < staging->source_count; i++)
        base_json_u64(json, staging->sources[i]);
    base_json_end_array(json);
    put_bool(json, "sources_complete", !staging->more);
    base_json_end_object(json);
}

static void put_described(const struct cli_kernel_view *view, const struct ptx_described *described,
                          struct base_json *json)
{
    base_json_begin_object(json);
    put_number(json, "ptx_line", described->instr->stmt.line);
    put_word(json, "instruction", described->instr->form->text);
    put_source(view, described->instr, json);
    put_word_or_null(json, "array", described->array ? described->array->name : NULL);
    base_json_end_object(json);
}

static void put_site(const struct cli_kernel_view *view, uint32_t index, struct base_json *json)
{
    const struct ptx_site *site = &view->sites[index];
    const struct ptx_affine *affine = view->facts->affine;
    struct base_buf text = {0};
    base_json_begin_object(json);
    put_number(json, "id", index);
    put_number(json, "ptx_line", site->instr->stmt.line);
    put_word(json, "instruction", site->instr->form->text);
    put_source(view, site->instr, json);
    put_word(json, "access", ptx_access_name((enum ptx_access)site->access));
    put_word(json, "space", ptx_space_name((enum ptx_space)site->actual_space));
    put_bool(json, "generic", site->space == PTX_SPACE_GENERIC);
    put_number(json, "bytes", site->bytes);
    base_json_key(json, "lanes");
    if (site->lanes)
        base_json_u64(json, (uint64_t)__builtin_popcount(site->lanes));
    else
        base_json_null(json);
    base_json_key(json, "type");
    base_json_begin_object(json);
    put_word(json, "name",
             site->type.is_pointer ? "pointer"
                                   : ptx_type_info((enum ptx_type)site->type.type)->name);
    put_number(json, "count", site->type.count);
    put_bool(json, "sure", site->type.is_sure);
    base_json_end_object(json);
    base_json_key(json, "provenance");
    base_json_begin_array(json);
    for (uint8_t i = 0; i < site->origin.count; i++)
        put_root(view, &site->origin.roots[i], json);
    base_json_end_array(json);
    put_bool(json, "provenance_complete", !site->origin.many && site->origin.count > 0);
    put_word(json, "class", ptx_site_class_name((enum ptx_site_class)site->kind));
    ptx_form_print(affine, &site->form, NULL, &text);
    put_text(json, "address", &text);
    put_bool(json, "assumes_no_wrap", site->form.assumes_no_wrap);
    bool alone;
    int64_t stride = ptx_form_coefficient(affine, &site->form, PTX_SYMBOL_TID, 0, &alone);
    base_json_key(json, "tid_x_stride_bytes");
    if (site->kind == PTX_SITE_AFFINE && alone)
        base_json_i64(json, stride);
    else
        base_json_null(json);
    put_warp(view, site, json);
    put_array(view, &view->arrays.places[index], json);
    put_staging(&view->stagings[index], json);
    put_deps(json, "depends_on", site->deps);
    put_deps(json, "reached_by", site->block_deps);
    put_bool(json, "tid_invariant", !(site->deps & PTX_DEP_ANY_THREAD));
    put_number(json, "loop_depth", site->loop_depth);
    base_json_key(json, "loop");
    if (site->loop == PTX_NO_LOOP)
        base_json_null(json);
    else
        base_json_u64(json, site->loop);
    put_bool(json, "loop_invariant", site->loop_invariant);
    put_bool(json, "reachable", site->reachable);
    base_json_end_object(json);
    base_buf_fini(&text);
}

static void put_loop(const struct cli_kernel_view *view, uint32_t index, struct base_json *json)
{
    const struct ptx_cfg *cfg = view->facts->cfg;
    const struct ptx_loop *loop = &cfg->loops[index];
    const struct ptx_trip *trip = &view->facts->affine->trips[index];
    const struct ptx_block *header = &cfg->blocks[loop->header];
    struct base_buf text = {0};
    base_json_begin_object(json);
    put_number(json, "id", index);
    put_number(json, "depth", loop->depth);
    if (header->instr_count)
        put_source(view, header->instrs[0], json);
    base_json_key(json, "header_runs");
    if (!trip->known) {
        base_json_null(json);
    } else {
        base_json_begin_object(json);
        put_bool(json, "exact", trip->exact);
        base_json_key(json, "constant");
        if (trip->is_constant)
            base_json_u64(json, trip->constant);
        else
            base_json_null(json);
        ptx_form_print(view->facts->affine, &trip->numerator, NULL, &text);
        put_text(json, "numerator", &text);
        put_number(json, "step", (uint64_t)trip->step);
        put_bool(json, "inclusive", trip->inclusive);
        base_json_end_object(json);
    }
    put_deps(json, "runs_depend_on", view->facts->uniformity->exit_deps[index]);
    base_json_end_object(json);
    base_buf_fini(&text);
}

void cli_kernel_view_json(const struct cli_kernel_view *view, struct base_json *json)
{
    const struct ptx_function *function = view->function;
    base_json_begin_object(json);
    put_word(json, "name", function->name);
    put_word(json, "demangled", view->title);
    base_json_key(json, "params");
    base_json_begin_array(json);
    for (uint32_t i = 0; i < function->param_count; i++) {
        const struct ptx_var *var = function->params[i];
        base_json_begin_object(json);
        put_number(json, "index", i);
        put_word(json, "name", var->name);
        put_word(json, "type", ptx_type_info((enum ptx_type)var->type)->name);
        put_number(json, "bytes", var->size_bytes);
        put_word(json, "source_type", view->param_types[i]);
        put_bool(json, "pointer", view->facts->provenance->param_is_pointer[i]);
        put_bool(json, "read", view->param_use[i] & CLI_PARAM_READ);
        put_bool(json, "written", view->param_use[i] & CLI_PARAM_WRITTEN);
        base_json_end_object(json);
    }
    base_json_end_array(json);
    base_json_key(json, "layouts");
    base_json_begin_array(json);
    for (uint32_t i = 0; i < view->layout_count; i++)
        put_layout(view, &view->layouts[i], json);
    base_json_end_array(json);
    base_json_key(json, "shared");
    base_json_begin_array(json);
    for (uint32_t i = 0; i < view->shared_count; i++) {
        base_json_begin_object(json);
        put_word(json, "name", view->shared[i]->name);
        put_word(json, "demangled", cli_kernel_view_name(view, view->shared[i]));
        put_number(json, "bytes", view->shared[i]->size_bytes);
        put_number(json, "align", view->shared[i]->align);
        put_bool(json, "dynamic", view->shared[i]->size_bytes == 0);
        base_json_end_object(json);
    }
    base_json_end_array(json);
    base_json_key(json, "matrix_descriptors");
    base_json_begin_array(json);
    for (uint32_t i = 0; i < view->arrays.described_count; i++)
        put_described(view, &view->arrays.described[i], json);
    base_json_end_array(json);
    base_json_key(json, "loops");
    base_json_begin_array(json);
    for (uint32_t i = 0; i < view->facts->cfg->loop_count; i++)
        put_loop(view, i, json);
    base_json_end_array(json);
    base_json_key(json, "sites");
    base_json_begin_array(json);
    for (uint32_t i = 0; i < view->site_count; i++)
        put_site(view, i, json);
    base_json_end_array(json);
    base_json_end_object(json);
}
