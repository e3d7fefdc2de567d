// SPDX-License-Identifier: Apache-2.0
// Known answers of the analyses. Each folder of facts/ belongs to one analysis.
#include "stated.h"

// Positions in the text ---------------------------------------------------------------------------

static unsigned block_line(const struct ptx_cfg *cfg, uint32_t block)
{
    const struct ptx_block *at = &cfg->blocks[block];
    if (at->instr_count)
        return at->instrs[0]->stmt.line;
    if (block == 0)
        return cfg->function->line;
    const struct ptx_stmt *stmt = cfg->function->last;
    while (stmt->kind != PTX_STMT_LABEL)
        stmt = stmt->prev;
    return stmt->line;
}

static void put_number(struct base_buf *out, uint32_t number)
{
    if (number == UINT32_MAX)
        base_buf_putc(out, '-');
    else
        base_buf_u64(out, number);
}

// cfg: blocks, edges, dominators, loops -----------------------------------------------------------

static int compare_numbers(const void *a, const void *b)
{
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    return left < right ? -1 : left > right;
}

static void put_numbers(struct base_buf *out, const uint32_t *numbers, uint32_t count, bool sorted)
{
    uint32_t *copy = calloc(count + 1, sizeof(*copy));
    assert_non_null(copy);
    if (count)
        memcpy(copy, numbers, count * sizeof(*copy));
    if (sorted)
        qsort(copy, count, sizeof(*copy), compare_numbers);
    for (uint32_t i = 0; i < count; i++) {
        base_buf_putc(out, ' ');
        base_buf_u64(out, copy[i]);
    }
    free(copy);
}

static void find_cfg(struct ptx_facts *facts, struct fact_list *found, struct base_buf *text)
{
    const struct ptx_cfg *cfg = facts->cfg;
    if (cfg->irreducible)
        add_fact(found, cfg->function->line, "irreducible", 11);
    for (uint32_t b = 0; b < cfg->block_count; b++) {
        const struct ptx_block *block = &cfg->blocks[b];
        base_buf_printf(text, "B%u <-", b);
        put_numbers(text, block->preds, block->pred_count, true);
        base_buf_puts(text, " ->");
        put_numbers(text, block->succs, block->succ_count, false);
        if (block->order == PTX_NO_BLOCK) {
            base_buf_puts(text, " unreachable");
        } else {
            base_buf_puts(text, " idom ");
            put_number(text, block->idom);
            base_buf_puts(text, " ipdom ");
            put_number(text, block->ipdom);
        }
        if (block->loop != PTX_NO_LOOP)
            base_buf_printf(text, " in %u", block->loop);
        if (block->ends)
            base_buf_puts(text, " ends");
        take_fact(found, block_line(cfg, b), text);
    }
    for (uint32_t i = 0; i < cfg->loop_count; i++) {
        const struct ptx_loop *loop = &cfg->loops[i];
        base_buf_printf(text, "loop %u depth %u parent ", i, loop->depth);
        put_number(text, loop->parent);
        base_buf_puts(text, " preheader ");
        put_number(text, loop->preheader);
        base_buf_puts(text, " blocks");
        put_numbers(text, loop->blocks, loop->block_count, true);
        base_buf_puts(text, " latches");
        put_numbers(text, loop->latches, loop->latch_count, true);
        base_buf_puts(text, " exits");
        for (uint32_t from = 0; from < cfg->block_count; from++) {
            for (uint32_t k = 0; k < loop->exit_count; k++) {
                if (loop->exits[k].from == from)
                    base_buf_printf(text, " %u>%u", from, loop->exits[k].to);
            }
        }
        assert_int_equal(loop->blocks[0], loop->header);
        take_fact(found, block_line(cfg, loop->header), text);
    }
}

// ssa: what every use reads, phis, what guarded definitions fall back on --------------------------

// A definition is named by the number in it, as in `mov.u32 %r1, 5` or `add.u32 %r1, %r1, 6`.
static void put_definition(struct base_buf *out, const struct ptx_instr *instr)
{
    for (uint8_t i = 0; i < instr->operand_count; i++) {
        const struct ptx_operand *operand = &instr->operands[i];
        if (operand->kind == PTX_OPERAND_ADDRESS && operand->offset) {
            base_buf_printf(out, "#%lld", (long long)operand->offset);
            return;
        }
        if (operand->kind == PTX_OPERAND_INT) {
            base_buf_printf(out, "#%lld", (long long)operand->bits);
            return;
        }
    }
    base_buf_puts(out, instr->form->text);
}

static void put_value(struct base_buf *out, const struct ptx_ssa *ssa, uint32_t index)
{
    if (index == PTX_NO_VALUE) {
        base_buf_puts(out, "none");
        return;
    }
    const struct ptx_value *value = &ssa->values[index];
    switch ((enum ptx_value_kind)value->kind) {
    case PTX_VALUE_ENTRY: base_buf_puts(out, "entry"); break;
    case PTX_VALUE_DEF: put_definition(out, value->instr); break;
    case PTX_VALUE_PHI: base_buf_printf(out, "phi%u", value->block); break;
    }
}

// The list of uses of each value contains every reference to it exactly once, and nothing else.
static void check_uses(const struct ptx_ssa *ssa)
{
    uint32_t refs = 0, uses = 0;
    for (uint32_t i = 0; i < ssa->ref_start[ssa->cfg->function->instr_count]; i++)
        refs += !ssa->refs[i].is_def && ssa->refs[i].value != PTX_NO_VALUE;
    for (uint32_t i = 0; i < ssa->value_count; i++) {
        const struct ptx_value *value = &ssa->values[i];
        if (value->kind == PTX_VALUE_PHI) {
            for (uint32_t k = 0; k < ssa->cfg->blocks[value->block].pred_count; k++)
                refs += value->arguments[k] != PTX_NO_VALUE;
        }
        uses += value->use_count;
        for (uint32_t k = 0; k < value->use_count; k++) {
            const struct ptx_use *use = &value->uses[k];
            bool matches = false;
            if (use->instr) {
                matches = ptx_ssa_value(ssa, use->instr, use->operand) == i;
            } else {
                const struct ptx_value *phi = &ssa->values[use->phi];
                for (uint32_t a = 0; a < ssa->cfg->blocks[phi->block].pred_count; a++)
                    matches |= phi->arguments[a] == i;
            }
            assert_true(matches);
        }
    }
    assert_int_equal(refs, uses);
}

static void find_ssa(struct ptx_facts *facts, struct fact_list *found, struct base_buf *text)
{
    const struct ptx_ssa *ssa = facts->ssa;
    const struct ptx_cfg *cfg = facts->cfg;
    check_uses(ssa);
    for (uint32_t b = 0; b < cfg->block_count; b++) {
        for (const uint32_t *phi = ssa->phis[b]; phi && *phi != PTX_NO_VALUE; phi++) {
            const struct ptx_value *value = &ssa->values[*phi];
            base_buf_printf(text, "phi%u %s =", b, value->reg->name);
            for (uint32_t i = 0; i < cfg->blocks[b].pred_count; i++) {
                base_buf_putc(text, ' ');
                put_value(text, ssa, value->arguments[i]);
            }
            take_fact(found, block_line(cfg, b), text);
        }
        for (uint32_t i = 0; i < cfg->blocks[b].instr_count; i++) {
            const struct ptx_instr *instr = cfg->blocks[b].instrs[i];
            for (uint32_t r = ssa->ref_start[instr->index]; r < ssa->ref_start[instr->index + 1];
                 r++) {
                const struct ptx_ref *ref = &ssa->refs[r];
                const struct ptx_reg *reg = ref->operand ? ref->operand->reg : instr->guard;
                if (cfg->blocks[b].order == PTX_NO_BLOCK)
                    continue;
                if (ref->is_def && ssa->values[ref->value].previous == PTX_NO_VALUE)
                    continue;
                base_buf_printf(text, "%s%s %s ", ref->operand ? "" : "@", reg->name,
                                ref->is_def ? "over" : "is");
                put_value(text, ssa, ref->is_def ? ssa->values[ref->value].previous : ref->value);
                take_fact(found, instr->stmt.line, text);
            }
        }
    }
}

// uniformity: what each definition depends on, and what decides whether a store is reached --------

static void put_deps(struct base_buf *out, unsigned deps)
{
    static const char *const names[] = {"tid.x",  "tid.y",   "tid.z",   "lane",    "thread",
                                        "warp",   "ctaid.x", "ctaid.y", "ctaid.z", "block",
                                        "memory", "machine", "caller"};
    if (!deps)
        base_buf_puts(out, "nothing");
    bool first = true;
    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (deps >> i & 1) {
            base_buf_printf(out, "%s%s", first ? "" : "+", names[i]);
            first = false;
        }
    }
}

static void find_uniform(struct ptx_facts *facts, struct fact_list *found, struct base_buf *text)
{
    const struct ptx_ssa *ssa = facts->ssa;
    for (uint32_t i = 0; i < ssa->value_count; i++) {
        const struct ptx_value *value = &ssa->values[i];
        if (value->kind != PTX_VALUE_DEF)
            continue;
        base_buf_printf(text, "%s: ", value->reg->name);
        put_deps(text, facts->uniformity->deps[i]);
        take_fact(found, value->instr->stmt.line, text);
    }
    for (struct ptx_stmt *stmt = facts->function->first; stmt; stmt = stmt->next) {
        const struct ptx_instr *instr = ptx_stmt_instr(stmt);
        if (!instr || ptx_op(instr) != PTX_OP_ST)
            continue;
        base_buf_puts(text, "reached by ");
        put_deps(text, ptx_block_deps(facts->uniformity, facts->cfg->block_of[instr->index]));
        take_fact(found, stmt->line, text);
        base_buf_puts(text, "address by ");
        put_deps(text, ptx_operand_deps(facts->uniformity, instr, &instr->operands[0]));
        take_fact(found, stmt->line, text);
    }
}

// affine: forms and trip counts -------------------------------------------------------------------

static void find_affine(struct ptx_facts *facts, struct fact_list *found, struct base_buf *text)
{
    const struct ptx_ssa *ssa = facts->ssa;
    for (uint32_t i = 0; i < ssa->value_count; i++) {
        const struct ptx_value *value = &ssa->values[i];
        if (value->kind == PTX_VALUE_ENTRY || value->reg->type == PTX_PRED)
            continue;
        base_buf_printf(text, "%s%s = ", value->kind == PTX_VALUE_PHI ? "phi " : "",
                        value->reg->name);
        put_form(text, facts->affine, &facts->affine->forms[i]);
        unsigned line = value->kind == PTX_VALUE_PHI ? block_line(facts->cfg, value->block)
                                                     : value->instr->stmt.line;
        take_fact(found, line, text);
    }
}

static void find_trips(struct ptx_facts *facts, struct fact_list *found, struct base_buf *text)
{
    for (uint32_t i = 0; i < facts->cfg->loop_count; i++) {
        const struct ptx_trip *trip = &facts->affine->trips[i];
        base_buf_puts(text, "trip ");
        if (!trip->known) {
            base_buf_putc(text, '?');
        } else if (trip->is_constant) {
            base_buf_u64(text, trip->constant);
        } else {
            base_buf_putc(text, '(');
            put_form(text, facts->affine, &trip->numerator);
            base_buf_printf(text, ") / %lld%s", (long long)trip->step,
                            trip->inclusive ? " inclusive" : "");
        }
        if (trip->known && !trip->exact)
            base_buf_puts(text, " at most");
        take_fact(found, block_line(facts->cfg, facts->cfg->loops[i].header), text);
    }
}

// Sites: provenance, access types, classes --------------------------------------------------------

static void put_roots(struct base_buf *out, const struct ptx_origin *origin)
{
    char *texts[PTX_ORIGIN_ROOTS];
    for (uint8_t i = 0; i < origin->count; i++) {
        const struct ptx_root *root = &origin->roots[i];
        struct base_buf text = {0};
        struct ptx_call call;
        switch ((enum ptx_root_kind)root->kind) {
        case PTX_ROOT_PARAM:
            base_buf_printf(&text, "param %u", root->index);
            if (root->offset)
                base_buf_printf(&text, "+%u", root->offset);
            break;
        case PTX_ROOT_VAR: base_buf_printf(&text, "var %s", root->var->name); break;
        case PTX_ROOT_LOAD:
            base_buf_puts(&text, "load ");
            ptx_print_operand(&root->instr->operands[1], &text);
            break;
        case PTX_ROOT_CALL:
            base_buf_puts(&text, "call ");
            if (ptx_call_parts(root->instr, &call))
                ptx_print_operand(call.target, &text);
            else
                base_buf_puts(&text, "unseen");
            break;
        case PTX_ROOT_OTHER: base_buf_printf(&text, "other %s", root->instr->form->text); break;
        }
        texts[i] = text.text;
    }
    qsort(texts, origin->count, sizeof(texts[0]), compare_texts);
    for (uint8_t i = 0; i < origin->count; i++) {
        base_buf_printf(out, "%s%s", i ? " or " : "", texts[i]);
        free(texts[i]);
    }
    if (!origin->count)
        base_buf_puts(out, "no root");
    if (origin->many)
        base_buf_puts(out, " or more");
}

static void find_provenance(struct ptx_facts *facts, struct fact_list *found, struct base_buf *text)
{
    uint32_t count;
    const struct ptx_site *sites = list_sites(facts, &count);
    for (uint32_t i = 0; i < count; i++) {
        put_roots(text, &sites[i].origin);
        base_buf_printf(text, " in %s", ptx_space_name((enum ptx_space)sites[i].actual_space));
        if (!ptx_origin_only(&sites[i].origin))
            base_buf_puts(text, " unsure");
        if (sites[i].origin.is_remote)
            base_buf_puts(text, " of any block");
        take_fact(found, sites[i].instr->stmt.line, text);
    }
    for (uint32_t i = 0; i < facts->function->param_count; i++) {
        if (facts->provenance->param_is_pointer[i]) {
            base_buf_printf(text, "param %u is a pointer", i);
            take_fact(found, facts->function->line, text);
        }
    }
}

static void find_types(struct ptx_facts *facts, struct fact_list *found, struct base_buf *text)
{
    uint32_t count;
    const struct ptx_site *sites = list_sites(facts, &count);
    for (uint32_t i = 0; i < count; i++) {
        const struct ptx_access_type *type = &sites[i].type;
        base_buf_printf(text, "%s", ptx_type_info((enum ptx_type)type->type)->name);
        if (type->count != 1)
            base_buf_printf(text, " x%u", type->count);
        if (type->is_pointer)
            base_buf_puts(text, " pointer");
        if (!type->is_sure)
            base_buf_puts(text, " as written");
        take_fact(found, sites[i].instr->stmt.line, text);
    }
}

static void find_sites(struct ptx_facts *facts, struct fact_list *found, struct base_buf *text)
{
    uint32_t count;
    const struct ptx_site *sites = list_sites(facts, &count);
    for (uint32_t i = 0; i < count; i++) {
        const struct ptx_site *site = &sites[i];
        base_buf_printf(text, "%s %s %s", ptx_site_class_name((enum ptx_site_class)site->kind),
                        ptx_access_name((enum ptx_access)site->access),
                        ptx_space_name((enum ptx_space)site->actual_space));
        if (site->bytes)
            base_buf_printf(text, " %u", site->bytes);
        if (site->loop_depth)
            base_buf_printf(text, " depth %u", site->loop_depth);
        if (site->loop_invariant)
            base_buf_puts(text, " invariant");
        if (!site->reachable)
            base_buf_puts(text, " unreachable");
        if (site->block_deps) {
            base_buf_puts(text, " when ");
            put_deps(text, site->block_deps);
        }
        take_fact(found, site->instr->stmt.line, text);
    }
}

static void find_layouts(struct ptx_facts *facts, struct fact_list *found, struct base_buf *text)
{
    uint32_t site_count, count;
    struct ptx_layout *layouts;
    struct base_error error = {0};
    const struct ptx_site *sites = list_sites(facts, &site_count);
    assert_int_equal(ptx_layouts_find(facts, sites, site_count, &layouts, &count, &error), BASE_OK);
    for (uint32_t i = 0; i < count; i++) {
        const struct ptx_root *root = &layouts[i].root;
        if (root->kind == PTX_ROOT_VAR)
            base_buf_puts(text, root->var->name);
        else if (root->offset)
            base_buf_printf(text, "p%u[%u]", root->index, root->offset);
        else
            base_buf_printf(text, "p%u", root->index);
        base_buf_puts(text, " is ");
        ptx_layout_print(&layouts[i], text);
        take_fact(found, facts->function->line, text);
        if (layouts[i].doubt) {
            assert_int_equal(layouts[i].stride, 4);
            assert_int_equal(layouts[i].field_count, 1);
            assert_int_equal(layouts[i].fields[0].offset, 0);
            assert_int_equal(layouts[i].fields[0].type, PTX_B32);
        }
    }
}

// The folders -------------------------------------------------------------------------------------

static void control_flow_is_as_stated(void **state)
{
    (void)state;
    check_folder("facts/cfg", find_cfg);
}

static void definitions_and_uses_are_as_stated(void **state)
{
    (void)state;
    check_folder("facts/ssa", find_ssa);
}

static void dependences_are_as_stated(void **state)
{
    (void)state;
    check_folder("facts/uniform", find_uniform);
}

static void affine_forms_are_as_stated(void **state)
{
    (void)state;
    check_folder("facts/affine", find_affine);
}

static void trip_counts_are_as_stated(void **state)
{
    (void)state;
    check_folder("facts/trips", find_trips);
}

static void origins_of_addresses_are_as_stated(void **state)
{
    (void)state;
    check_folder("facts/provenance", find_provenance);
}

static void access_types_are_as_stated(void **state)
{
    (void)state;
    check_folder("facts/types", find_types);
}

static void memory_sites_are_as_stated(void **state)
{
    (void)state;
    check_folder("facts/sites", find_sites);
}

static void layouts_are_as_stated(void **state)
{
    (void)state;
    check_folder("facts/layout", find_layouts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(control_flow_is_as_stated),
        cmocka_unit_test(definitions_and_uses_are_as_stated),
        cmocka_unit_test(dependences_are_as_stated),
        cmocka_unit_test(affine_forms_are_as_stated),
        cmocka_unit_test(trip_counts_are_as_stated),
        cmocka_unit_test(origins_of_addresses_are_as_stated),
        cmocka_unit_test(access_types_are_as_stated),
        cmocka_unit_test(memory_sites_are_as_stated),
        cmocka_unit_test(layouts_are_as_stated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
