// SPDX-License-Identifier: Apache-2.0
// Requests: the second clone of a kernel; see masks.h. In a regular launch, what a request takes
// follows from the warp's place in its block and from the lanes that make it. So the clone only
// counts warps: whole ones in registers, and all others in a table of the lanes that were there. It
// needs neither addresses nor calls, which would take registers and keep the compiler from moving
// code. Lanes that enter a loop together, and stay together in it, only count its rounds.
//
// Where data decides which lanes come by there may be more such sets of lanes than the table has
// room for, and the clone counts as the first one does.
#include "masks.h"

#include "fill.h"
#include "local.h"
#include "requests.h"
#include "tally.h"
#include "twice.h"

// --- Which points --------------------------------------------------------------------------------

// Returns whether lanes part behind the block because of data.
static bool parts_by_data(const struct ptx_facts *facts, uint32_t block)
{
    const uint16_t deps = facts->uniformity->branch_deps[block];
    return deps & PTX_DEP_ANY_LANE && deps & (PTX_DEP_MEMORY | PTX_DEP_THREAD | PTX_DEP_BLOCK |
                                              PTX_DEP_MACHINE | PTX_DEP_CALLER);
}

// Marks the blocks that lanes may reach that part at the block, before all of them meet again.
static void mark_behind(const struct ptx_cfg *cfg, uint32_t from, uint32_t *stack, bool *marks)
{
    uint32_t depth = 0;
    stack[depth++] = from;
    while (depth) {
        const struct ptx_block *at = &cfg->blocks[stack[--depth]];
        for (uint32_t i = 0; i < at->succ_count; i++) {
            const uint32_t next = at->succs[i];
            if (marks[next] || next == cfg->blocks[from].ipdom)
                continue;
            marks[next] = true;
            stack[depth++] = next;
        }
    }
}

// Returns, by block, whether data decides which lanes execute it together.
static const bool *find_parted(struct instrument_work *work, const struct instrument_body *body)
{
    const struct ptx_cfg *cfg = body->facts->cfg;
    bool *parted = base_new_array(&work->scratch, bool, cfg->block_count);
    bool *marks = base_new_array(&work->scratch, bool, cfg->block_count);
    uint32_t *stack = base_new_array(&work->scratch, uint32_t, cfg->block_count + 1);
    for (uint32_t i = 0; i < cfg->block_count; i++) {
        if (cfg->blocks[i].order == PTX_NO_BLOCK || !parts_by_data(body->facts, i))
            continue;
        for (uint32_t k = 0; k < cfg->block_count; k++)
            marks[k] = false;
        mark_behind(cfg, i, stack, marks);
        for (uint32_t k = 0; k < cfg->block_count; k++)
            parted[k] |= marks[k];
    }
    return parted;
}

// Returns whether the guard differs from lane to lane because of data.
static bool is_guarded_by_data(const struct ptx_site *site)
{
    return site->instr->guard && site->deps & (PTX_DEP_MEMORY | PTX_DEP_THREAD | PTX_DEP_BLOCK);
}

// Returns whether all sites of the point that have a form make their requests with the same lanes,
// few sets of which there are.
static bool is_masked(const struct instrument_body *body, const struct instrument_point *point,
                      const bool *parted)
{
    const struct ptx_cfg *cfg = body->facts->cfg;
    const struct ptx_instr *first = NULL;
    if (!point->whole || point->instr->stmt.scope->depth)
        return false;
    for (uint32_t i = point->from; i < point->end; i++) {
        const struct instrument_probe *probe = &body->probes[i];
        if (!probe->form)
            continue;
        const struct ptx_instr *instr = probe->site->instr;
        first = first ? first : instr;
        if (instrument_is_local(probe->site) || instr->guard != first->guard ||
            instr->guard_negated != first->guard_negated || is_guarded_by_data(probe->site) ||
            parted[cfg->block_of[instr->index]])
            return false;
    }
    return first != NULL;
}

static const struct ptx_reg *guard_of(const struct instrument_body *body,
                                      const struct instrument_point *point, bool *negated)
{
    for (uint32_t i = point->from; i < point->end; i++) {
        if (!body->probes[i].form)
            continue;
        *negated = body->probes[i].site->instr->guard_negated;
        return body->probes[i].site->instr->guard;
    }
    return NULL;
}

static bool has_inner_end(const struct ptx_function *function)
{
    for (const struct ptx_stmt *stmt = function->first; stmt; stmt = stmt->next) {
        const struct ptx_instr *instr = ptx_stmt_instr((struct ptx_stmt *)stmt);
        if (instr && stmt->scope->depth && ptx_flags(instr) & PTX_FLAG_END)
            return true;
    }
    return false;
}

// Finds loops before which code can be written that only lanes that enter them execute.
static void find_loops(struct instrument_work *work, struct instrument_body *body)
{
    const struct ptx_cfg *cfg = body->facts->cfg;
    for (const struct ptx_stmt *stmt = body->function->first; stmt; stmt = stmt->next) {
        const uint32_t number = instrument_loop_at(cfg, stmt);
        if (number == PTX_NO_LOOP || cfg->loops[number].parent != PTX_NO_LOOP ||
            !instrument_stays_together(body->facts, &cfg->loops[number]) ||
            !instrument_is_entered_above(cfg, &cfg->loops[number]))
            continue;
        *base_array_add(&body->loops, &work->scratch) = (struct instrument_loop){number};
    }
}

// Returns 1 + the index of the loop that contains the block, or 0.
static uint32_t loop_of(const struct instrument_body *body, uint32_t block)
{
    const struct ptx_cfg *cfg = body->facts->cfg;
    uint32_t number = cfg->blocks[block].loop;
    while (number != PTX_NO_LOOP && cfg->loops[number].parent != PTX_NO_LOOP)
        number = cfg->loops[number].parent;
    for (uint32_t i = 0; number != PTX_NO_LOOP && i < body->loops.count; i++) {
        if (body->loops.items[i].number == number)
            return i + 1;
    }
    return 0;
}

// Points at one place are counted together: mostly, whole warps make the requests of all. In loops
// that lanes run together they must do so in the same rounds.
static void find_lead(struct instrument_body *body, uint32_t index)
{
    struct instrument_point *point = &body->points.items[index];
    const struct instrument_point *before = index ? point - 1 : NULL;
    bool negated;
    point->lead = index;
    if (before && before->masked && before->instr == point->instr &&
        before->behind == point->behind && before->together == point->together &&
        (!point->together || before->ran == point->ran) && !guard_of(body, point, &negated) &&
        !guard_of(body, before, &negated))
        point->lead = before->lead;
}

bool instrument_plan_masks(struct instrument_work *work, struct instrument_body *body)
{
    const struct ptx_cfg *cfg = body->facts->cfg;
    bool any = false, negated;
    // Other probes need registers anyway.
    if (work->elements || work->values || work->words || body->may_exit || cfg->irreducible ||
        has_inner_end(body->function))
        return false;
    const bool *parted = find_parted(work, body);
    find_loops(work, body);
    for (size_t i = 0; i < body->points.count; i++) {
        struct instrument_point *point = &body->points.items[i];
        point->masked = is_masked(body, point, parted);
        if (!point->masked)
            continue;
        any = true;
        if (!guard_of(body, point, &negated))
            point->together = loop_of(body, cfg->block_of[point->instr->index]);
        find_lead(body, (uint32_t)i);
        for (uint32_t k = point->from; k < point->end; k++)
            body->probes[k].masked =
                body->probes[k].form ? body->points.items[point->lead].whole : 0;
    }
    return any;
}

bool instrument_is_led(const struct instrument_body *body, uint32_t tally)
{
    for (size_t i = 0; i < body->points.count; i++) {
        const struct instrument_point *point = &body->points.items[i];
        if (point->masked && point->whole == tally + 1)
            return point->lead != i;
    }
    return false;
}

// --- Code ----------------------------------------------------------------------------------------

void instrument_emit_mask_registers(struct instrument_work *work,
                                    const struct instrument_body *body)
{
    base_buf_printf(&work->out,
                    ".reg .b32 %%glint$mask, %%glint$base, %%glint$rounds, %%glint$loop<%u>;\n",
                    (uint32_t)body->loops.count + 1);
}

void instrument_emit_no_masks(struct instrument_work *work, const struct instrument_body *body)
{
    for (uint32_t i = 0; i < body->loops.count; i++)
        base_buf_printf(&work->out, "mov.b32 %%glint$loop%u, -1;\n", i);
}

void instrument_emit_loop_mask(struct instrument_work *work, const struct instrument_body *body,
                               const struct ptx_stmt *stmt)
{
    const uint32_t number = instrument_loop_at(body->facts->cfg, stmt);
    for (uint32_t i = 0; number != PTX_NO_LOOP && i < body->loops.count; i++) {
        if (body->loops.items[i].number == number)
            base_buf_printf(&work->out, "activemask.b32 %%glint$loop%u;\n", i);
    }
}

// Returns the index behind the last point that is counted together with this one.
static uint32_t end_of(const struct instrument_body *body, uint32_t from)
{
    uint32_t to = from + 1;
    while (to < body->points.count && body->points.items[to].masked &&
           body->points.items[to].lead == from)
        to++;
    return to;
}

// Writes, behind the function, the code that counts the mask of a point, and then goes to the
// label.
static void emit_count(struct instrument_work *work, const struct instrument_point *point,
                       uint32_t back)
{
    FILL(&work->ways, mask_count, NUMBER(key, (int64_t)point->whole * INSTRUMENT_PLACES),
         NUMBER(back, back));
}

// Writes, behind the function, the code that counts the masks of points that are counted together.
// In a loop they have the same.
static void emit_parts(struct instrument_work *work, const struct instrument_body *body,
                       uint32_t from, uint32_t part, uint32_t back)
{
    struct base_buf *ways = &work->ways;
    const uint32_t to = end_of(body, from);
    base_buf_printf(ways, "$glint$%u:\n", part);
    for (uint32_t i = from; i < to; i++) {
        const struct instrument_point *point = &body->points.items[i];
        const uint32_t past = i + 1 < to ? work->labels++ : back;
        if (to - from > 1 && !point->together)
            FILL(ways, mask_of, NUMBER(ran, point->ran),
                 NUMBER(word, point->ran ? (point->ran - 1) / 32 : 0),
                 NUMBER(bit, point->ran ? (int64_t)1 << (point->ran - 1) % 32 : 0),
                 NUMBER(past, past));
        emit_count(work, point, past);
        if (past != back)
            base_buf_printf(ways, "$glint$%u:\n", past);
    }
}

// Writes the code that sets `did` where the thread has executed all blocks of the points. Returns
// whether it need not have.
static bool emit_did(struct instrument_work *work, const struct instrument_body *body,
                     uint32_t from, uint32_t to)
{
    bool any = false;
    for (uint32_t word = 0; word <= body->ran.count / 32; word++) {
        uint32_t bits = 0;
        for (uint32_t i = from; i < to; i++) {
            const uint32_t ran = body->points.items[i].ran;
            bits |= ran && (ran - 1) / 32 == word ? 1u << (ran - 1) % 32 : 0;
        }
        if (bits)
            FILL(&work->out, mask_did, NUMBER(word, word), NUMBER(bits, bits), NUMBER(again, any));
        any |= bits != 0;
    }
    return any;
}

void instrument_emit_mask(struct instrument_work *work, const struct instrument_body *body,
                          const struct instrument_point *point)
{
    struct base_buf *out = &work->out;
    const uint32_t from = (uint32_t)(point - body->points.items), to = end_of(body, from);
    const uint32_t part = work->labels, back = work->labels + 1;
    bool negated = false;
    const struct ptx_reg *guard = guard_of(body, point, &negated);
    if (point->lead != from)
        return;
    work->labels += 2;
    PUT(out, mask_here);
    const bool ran = emit_did(work, body, from, to);
    if (point->together) {
        if (ran)
            base_buf_puts(out, "@%glint$did ");
        instrument_emit_tally(work, body, point->whole - 1);
        base_buf_puts(out, "}\n");
        return;
    }
    if (guard)
        FILL(out, mask_guard, NUMBER(ran, ran), NUMBER(negated, negated),
             STRING(predicate, guard->name));
    FILL(out, mask_whole, NUMBER(votes, ran || guard), NUMBER(several, to - from > 1));
    base_buf_puts(out, "@%glint$whole ");
    instrument_emit_tally(work, body, point->whole - 1);
    base_buf_puts(out, "mov.b32 %glint$rounds, 1;\n");
    FILL(out, mask_part, NUMBER(skips, (ran || guard) && to - from == 1), NUMBER(part, part));
    base_buf_printf(out, "}\n$glint$%u:\n", back);
    emit_parts(work, body, from, part, back);
}

void instrument_emit_loop_masks(struct instrument_work *work, const struct instrument_body *body)
{
    for (size_t i = 0; i < body->points.count; i++) {
        const struct instrument_point *point = &body->points.items[i];
        const uint32_t part = work->labels, back = work->labels + 1;
        if (!point->masked || !point->together || point->lead != i)
            continue;
        work->labels += 2;
        FILL(&work->out, mask_loop, NUMBER(loop, point->together - 1),
             NUMBER(tally, point->whole - 1), NUMBER(part, part), NUMBER(back, back));
        emit_parts(work, body, (uint32_t)i, part, back);
    }
}
