// SPDX-License-Identifier: Apache-2.0
// Requests: loops that are written twice; see twice.h. Counting the requests of a round takes a
// branch and calls, around which the compiler moves nothing, and because of which it does not
// unroll the loop. None of them is needed if a whole warp enters the loop, its lanes stay together,
// and the launch knows what each of its requests takes: then only rounds are counted. All other
// warps execute the loop as it is elsewhere.
#include "twice.h"

#include <stdio.h>

#include "fill.h"
#include "requests.h"

bool instrument_stays_together(const struct ptx_facts *facts, const struct ptx_loop *loop)
{
    const uint16_t *deps = facts->uniformity->branch_deps;
    for (uint32_t i = 0; i < loop->block_count; i++) {
        const struct ptx_block *block = &facts->cfg->blocks[loop->blocks[i]];
        if (deps[loop->blocks[i]] & PTX_DEP_ANY_LANE || block->ends)
            return false;
    }
    return true;
}

uint32_t instrument_loop_at(const struct ptx_cfg *cfg, const struct ptx_stmt *stmt)
{
    if (stmt->kind != PTX_STMT_LABEL || ((const struct ptx_label *)stmt)->kind != PTX_LABEL_CODE ||
        stmt->scope->depth || (stmt->prev && stmt->prev->kind == PTX_STMT_LABEL))
        return PTX_NO_LOOP;
    const uint32_t header = ptx_cfg_block_of_label(cfg, (const struct ptx_label *)stmt);
    const struct ptx_block *block = &cfg->blocks[header];
    if (block->order == PTX_NO_BLOCK || block->loop == PTX_NO_LOOP ||
        cfg->loops[block->loop].header != header || !block->instr_count)
        return PTX_NO_LOOP;
    // A label to which nothing leads may be anywhere in a block.
    while (stmt && !ptx_stmt_instr((struct ptx_stmt *)stmt))
        stmt = stmt->next;
    return stmt == &block->instrs[0]->stmt ? block->loop : PTX_NO_LOOP;
}

// Returns whether nothing but the loop's own blocks lies between two statements, without scopes and
// calls.
static bool is_plain(const struct ptx_cfg *cfg, uint32_t loop, const struct instrument_twice *twice)
{
    for (struct ptx_stmt *stmt = twice->first;; stmt = stmt->next) {
        const struct ptx_instr *instr = ptx_stmt_instr(stmt);
        if (stmt->scope->depth || stmt->kind == PTX_STMT_OPEN || stmt->kind == PTX_STMT_VAR ||
            stmt->kind == PTX_STMT_REGS ||
            (stmt->kind == PTX_STMT_LABEL &&
             ((const struct ptx_label *)stmt)->kind != PTX_LABEL_CODE) ||
            (instr && (cfg->blocks[cfg->block_of[instr->index]].loop != loop ||
                       ptx_flags(instr) & (PTX_FLAG_CALL | PTX_FLAG_END) ||
                       (ptx_flags(instr) & PTX_FLAG_BRANCH && ptx_op(instr) != PTX_OP_BRA))))
            return false;
        if (stmt == twice->last)
            return true;
    }
}

bool instrument_is_entered_above(const struct ptx_cfg *cfg, const struct ptx_loop *loop)
{
    const struct ptx_block *header = &cfg->blocks[loop->header];
    for (uint32_t i = 0; i < header->pred_count; i++) {
        const uint32_t from = header->preds[i];
        const struct ptx_block *block = &cfg->blocks[from];
        if (cfg->blocks[from].loop == cfg->blocks[loop->header].loop)
            continue;
        // A conditional branch has the next block as its second successor.
        if (from + 1 != loop->header || !block->instr_count ||
            block->succs[block->succ_count - 1] != loop->header ||
            (ptx_flags(block->instrs[block->instr_count - 1]) & PTX_FLAG_BRANCH &&
             block->succ_count < 2))
            return false;
    }
    return true;
}

// Finds the loop's points. Returns false if some of its requests are not only counted.
static bool find_points(const struct instrument_body *body, uint32_t loop,
                        struct instrument_twice *twice)
{
    const struct ptx_cfg *cfg = body->facts->cfg;
    bool any = false;
    for (size_t i = 0; i < body->points.count; i++) {
        const struct instrument_point *point = &body->points.items[i];
        if (cfg->blocks[cfg->block_of[point->instr->index]].loop != loop)
            continue;
        if (!any)
            twice->point = i;
        any = true;
        if (point->ran || !point->whole)
            return false;
        for (uint32_t k = point->from; k < point->end; k++) {
            const struct instrument_probe *probe = &body->probes[k];
            if (!instrument_has_requests(probe))
                continue;
            if (!probe->form || probe->site->instr->guard)
                return false;
            twice->kinds[probe->site->actual_space != PTX_SPACE_GLOBAL] = true;
        }
    }
    return any;
}

// Finds the statements of the loop whose header begins with the label.
static bool find_statements(const struct ptx_cfg *cfg, const struct ptx_loop *loop,
                            struct ptx_stmt *label, struct instrument_twice *twice)
{
    const struct ptx_instr *last = NULL;
    for (uint32_t i = 0; i < loop->block_count; i++) {
        const struct ptx_block *block = &cfg->blocks[loop->blocks[i]];
        if (!block->instr_count || loop->blocks[i] < loop->header)
            return false;
        const struct ptx_instr *end = block->instrs[block->instr_count - 1];
        last = !last || end->index > last->index ? end : last;
    }
    twice->first = label;
    twice->last = (struct ptx_stmt *)&last->stmt;
    return true;
}

bool instrument_find_twice(const struct instrument_work *work, const struct instrument_body *body,
                           struct ptx_stmt *stmt, struct instrument_twice *twice)
{
    const struct ptx_cfg *cfg = body->facts->cfg;
    // Other probes keep more state from one statement to the next.
    if (!body->kernel || !work->requests || work->regular || work->elements || work->values ||
        work->words || body->may_exit || cfg->irreducible)
        return false;
    const uint32_t number = instrument_loop_at(cfg, stmt);
    if (number == PTX_NO_LOOP)
        return false;
    const uint32_t header = cfg->loops[number].header;
    const struct ptx_loop *loop = &cfg->loops[number];
    struct instrument_twice found = {0};
    if (!find_statements(cfg, loop, stmt, &found) || !is_plain(cfg, number, &found) ||
        !instrument_is_entered_above(cfg, loop) || !instrument_stays_together(body->facts, loop) ||
        !find_points(body, number, &found))
        return false;
    while (found.probe < body->probe_count &&
           body->probes[found.probe].site->instr->index < cfg->blocks[header].instrs[0]->index)
        found.probe++;
    *twice = found;
    return true;
}

void instrument_emit_choice(struct instrument_work *work, const struct instrument_twice *twice,
                            const char *label)
{
    struct base_buf *out = &work->out;
    PUT(out, point_registers);
    FILL(out, whole_warp, NUMBER(votes, 0), NUMBER(ran, 0), NUMBER(part, 0));
    PUT(out, whole_only);
    for (int i = 0; i < 2; i++) {
        if (twice->kinds[i])
            FILL(out, whole_only_kind, NUMBER(kind, i * (int64_t)sizeof(uint32_t)));
    }
    base_buf_printf(out, "@%%glint$only bra.uni %s;\n}\n", label);
}

void instrument_swap_labels(struct instrument_work *work, const struct instrument_twice *twice,
                            const char ***names)
{
    uint32_t count = 0;
    for (struct ptx_stmt *stmt = twice->first; stmt != twice->last; stmt = stmt->next)
        count += stmt->kind == PTX_STMT_LABEL;
    if (!*names) {
        *names = base_new_array(&work->scratch, const char *, count);
        for (uint32_t i = 0; i < count; i++) {
            char name[32];
            const int length = snprintf(name, sizeof(name), "$glint$%u", work->labels++);
            (*names)[i] = base_alloc_text(&work->scratch, name, (size_t)length);
        }
    }
    count = 0;
    for (struct ptx_stmt *stmt = twice->first; stmt != twice->last; stmt = stmt->next) {
        if (stmt->kind != PTX_STMT_LABEL)
            continue;
        struct ptx_label *label = (struct ptx_label *)stmt;
        const char *name = label->name;
        label->name = (*names)[count];
        (*names)[count++] = name;
    }
}
