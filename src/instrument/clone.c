// SPDX-License-Identifier: Apache-2.0
// Prints the clone of a function: its statements with probes between them, its calls redirected to
// clones, and the code that threads execute before they leave.
#include "clone.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "accesses.h"
#include "atomics.h"
#include "children.h"
#include "combine.h"
#include "counters.h"
#include "described.h"
#include "early.h"
#include "fill.h"
#include "flags.h"
#include "groups.h"
#include "hoist.h"
#include "led.h"
#include "lookup.h"
#include "masks.h"
#include "near.h"
#include "points.h"
#include "pressure.h"
#include "probe.h"
#include "ranges.h"
#include "requests.h"
#include "reuse.h"
#include "stores.h"
#include "tally.h"
#include "texts.h"
#include "trace.h"
#include "twice.h"
#include "walks.h"
#include "word_sites.h"
#include "words.h"

void instrument_add_attr(struct instrument_work *work, struct ptx_function *head,
                         struct ptx_attr attr)
{
    struct ptx_attr *attrs =
        base_new_array(&work->scratch, struct ptx_attr, (size_t)head->attr_count + 1);
    for (uint32_t i = 0; i < head->attr_count; i++)
        attrs[i] = head->attrs[i];
    attrs[head->attr_count++] = attr;
    head->attrs = attrs;
}

// Limits the registers of the clone if the program has not limited those of the kernel: probes must
// not need many more.
static void limit_registers(struct instrument_work *work, const struct instrument_body *body,
                            struct ptx_function *head)
{
    enum { FEW = 40 }; // where only the code that looks at blocks, which is rare, needs more
    if (!body->kernel || (!work->elements && !work->values && !work->requests &&
                          (work->light || !body->kernel->looks)))
        return;
    if (ptx_function_attr(head, ".maxnreg") || ptx_function_attr(head, ".minnctapersm"))
        return;
    const uint32_t limit = instrument_register_limit(work, body);
    if (!limit || (!work->elements && !work->values && !work->requests && limit > FEW))
        return;
    instrument_add_attr(work, head,
                        (struct ptx_attr){.name = ".maxnreg", .values = {limit}, .count = 1});
}

// declares: nothing follows, and ptxas then takes no attributes of a kernel.
static void print_head(struct instrument_work *work, const struct instrument_body *body,
                       bool declares, struct base_buf *out)
{
    struct ptx_function head = *body->function;
    struct ptx_var extra = {.space = PTX_SPACE_PARAM, .type = PTX_B64, .vec = 1};
    uint64_t bytes = 0;
    const char *suffix = work->light      ? GLINT_SUFFIX "$light"
                         : body->is_child ? GLINT_SUFFIX "$child"
                                          : GLINT_SUFFIX;
    size_t length = strlen(head.name) + strlen(suffix) + 1;
    char *name = base_alloc(work->arena, length);
    snprintf(name, length, "%s%s", head.name, suffix);
    if (body->kernel) {
        *(work->light ? &body->kernel->light : &body->kernel->clone) = name;
        extra.name = "glint$context";
        extra.type = PTX_B8;
        extra.align = 8;
        bytes = body->kernel->context_bytes;
        extra.dim_count = 1;
        extra.dims = &bytes;
    } else {
        extra.name = "glint$table";
        head.linkage = 0;
        if (body->is_child)
            instrument_limit_child(work, &head);
    }
    struct ptx_var **params =
        base_new_array(&work->scratch, struct ptx_var *, (size_t)head.param_count + 1);
    for (uint32_t i = 0; i < head.param_count; i++)
        params[i] = head.params[i];
    params[head.param_count++] = &extra;
    head.params = params;
    head.name = name;
    limit_registers(work, body, &head);
    if (body->is_child && declares)
        head.attr_count = 0;
    head.attributes = NULL;
    base_buf_putc(out, '\n');
    ptx_print_head(&head, out);
}

void instrument_emit_declaration(struct instrument_work *work, const struct instrument_body *body,
                                 struct base_buf *out)
{
    print_head(work, body, true, out);
    base_buf_puts(out, ";\n");
}

static bool leaves_something(const struct instrument_work *work, const struct instrument_body *body)
{
    if (body->looks_up_stores || instrument_traces(work, body) ||
        (body->kernel && (body->kernel->accessed_count || body->kernel->spare_head)))
        return true;
    if (!work->elements)
        return body->kernel && (body->kernel->flag_count || body->counted);
    return body->looks_up || body->counted;
}

// Writes the code that threads execute where they leave in a block.
static void emit_end(struct instrument_work *work, const struct instrument_body *body,
                     uint32_t block)
{
    if (block != PTX_NO_BLOCK)
        instrument_emit_sweeps(work, body, block, PTX_NO_BLOCK);
    if (work->elements)
        instrument_emit_leave(work, body);
    else
        instrument_emit_flags(work, body);
    instrument_emit_leave_stored(work, body);
    instrument_emit_tallies(work, body);
    instrument_emit_accessed(work, body, block);
    instrument_emit_last(work, body);
    instrument_emit_trace_end(work, body);
}

// Returns whether one lane marks for all at some probe.
static bool has_steps(const struct instrument_body *body)
{
    for (uint32_t i = 0; i < body->probe_count; i++) {
        if (body->probes[i].lanes != LANES_APART && !body->probes[i].waits)
            return true;
    }
    return false;
}

// Returns whether a predicate says that an access left its root's object.
static bool watches_bounds(const struct instrument_work *work, const struct instrument_body *body)
{
    return !work->elements && body->kernel &&
           (body->kernel->left_flag != INSTRUMENT_NONE || body->kernel->left_counted);
}

// Declares the registers that live through the function.
static void emit_registers(struct instrument_work *work, const struct instrument_body *body)
{
    struct base_buf *out = &work->out;
    if (body->looks_up)
        base_buf_puts(out, work->elements
                               ? ".reg .b64 %glint$e, %glint$f, %glint$x, %glint$m0, %glint$m1, "
                                 "%glint$bits, %glint$counts;\n"
                                 ".reg .b32 %glint$shift, %glint$before;\n"
                               : ".reg .b64 %glint$f0, %glint$x0, %glint$f1, %glint$x1;\n");
    instrument_emit_stored_registers(work, body);
    instrument_emit_early_registers(work, body);
    instrument_emit_accessed_registers(work, body);
    if (!work->elements && body->kernel && body->kernel->flag_count)
        base_buf_printf(out, ".reg .b32 %%glint$g<%u>;\n", instrument_flag_words(body->kernel));
    if (watches_bounds(work, body))
        base_buf_puts(out, ".reg .pred %glint$left;\n");
    if (!work->light)
        instrument_emit_look_registers(work, body);
    instrument_emit_trace_registers(work, body);
    instrument_emit_near_registers(work, body);
    if (body->saved_count)
        base_buf_printf(out, ".reg .b64 %%glint$saved<%u>;\n", body->saved_count);
    instrument_emit_point_registers(work, body);
    if (work->regular)
        instrument_emit_mask_registers(work, body);
    if (body->counted)
        base_buf_printf(out, ".reg .b32 %%glint$n<%u>, %%glint$y<%u>;\n", body->counted,
                        body->bit_count / 32 + 1);
    if (work->elements && has_steps(body))
        base_buf_puts(out, ".reg .b32 %glint$lane;\n.reg .pred %glint$rows;\n");
}

static void emit_entry(struct instrument_work *work, const struct instrument_body *body)
{
    struct base_buf *out = &work->out;
    if (body->looks_up && work->elements)
        PUT(out, no_entry);
    else if (body->looks_up)
        PUT(out, nothing_touched);
    instrument_emit_nothing_stored(work, body);
    for (uint32_t i = 0; !work->elements && body->kernel && i < instrument_flag_words(body->kernel);
         i++)
        base_buf_printf(out, "mov.b32 %%glint$g%u, 0;\n", i);
    if (watches_bounds(work, body))
        base_buf_puts(out, "mov.pred %glint$left, 0;\n");
    if (!body->kernel)
        return;
    instrument_emit_nothing_ran(work, body);
    if (work->regular)
        instrument_emit_no_masks(work, body);
    if (work->elements && has_steps(body)) // only lanes of rows are needed
        PUT(out, rows_entry);
    if (body->counted)
        instrument_emit_no_tallies(work, body);
    instrument_emit_nothing_accessed(work, body);
    instrument_emit_clear(work, body);
    if (body->sweeps.count)
        instrument_emit_waiting_entry(work, body);
}

// Writes the end of a thread or of the function, preceded, under the same guard, by the code that
// threads execute before.
static void emit_ending(struct instrument_work *work, const struct instrument_body *body,
                        const struct ptx_instr *instr)
{
    struct base_buf *out = &work->out;
    uint32_t past = work->labels++;
    instrument_emit_unless(out, instr, past);
    emit_end(work, body, body->facts->cfg->block_of[instr->index]);
    base_buf_printf(out, "%s;\n", instr->form->text);
    if (instr->guard)
        base_buf_printf(out, "$glint$%u:\n", past);
}

struct walk {
    struct instrument_work *work;
    struct instrument_body *body;
    uint32_t probe;                         // the next one to write
    size_t points;                          // requests: written so far
    bool only;                              // requests: whole warps are here, and only counted
    uint32_t done;                          // 1 + the last instruction that emit_before has handled
    const struct instrument_probe *follows; // to be written behind its instruction, or NULL
    const struct instrument_probe *writes;  // values: whose instruction comes next, or NULL
    const struct instrument_probe *loads;   // accessed values: likewise, of a load
    struct instrument_led led;
};

// Returns whether the probe may stand behind its instruction, which then does not wait for it: a
// load that does not change addresses and guards.
static bool may_follow(const struct instrument_body *body, const struct instrument_probe *probe)
{
    const struct ptx_site *site = probe->site;
    return site->access == PTX_ACCESS_LOAD && ptx_op(site->instr) == PTX_OP_LD && !probe->waits &&
           !instrument_sets_address(body, site->instr, probe);
}

// Writes what must precede an instruction.
static void emit_before(struct walk *walk, const struct ptx_instr *instr)
{
    struct instrument_work *work = walk->work;
    struct instrument_body *body = walk->body;
    const struct ptx_cfg *cfg = body->facts->cfg;
    if (walk->done > instr->index)
        return;
    walk->done = instr->index + 1;
    uint32_t block = cfg->block_of[instr->index];
    if (instr == cfg->blocks[block].instrs[0]) {
        instrument_emit_trace_step(work, body);
        instrument_emit_no_tallies_in(work, body, block);
        instrument_emit_ran(work, body, block);
        if (body->leaves && body->leaves[block])
            instrument_emit_sweeps(work, body, PTX_NO_BLOCK, block);
        if (body->flag_at && body->flag_at[block])
            instrument_emit_flag(work, body->flag_at[block] - 1);
        if (body->tally_at && body->tally_at[block])
            instrument_emit_tally(work, body, body->tally_at[block] - 1);
        if (body->words_at && body->words_at[block])
            instrument_emit_tally(work, body, body->words_at[block] - 1);
        instrument_emit_accessed_in(work, body, block);
    }
    instrument_emit_early(work, body, instr);
    for (; walk->probe < body->probe_count && body->probes[walk->probe].site->instr == instr;
         walk->probe++) {
        instrument_emit_saved(work, &body->probes[walk->probe]);
        instrument_emit_words(work, body, &body->probes[walk->probe]);
        instrument_emit_guarded_words(work, body, &body->probes[walk->probe]);
        if (!work->light) {
            instrument_emit_ranges(work, body, &body->probes[walk->probe]);
            instrument_emit_reuse(work, body, &body->probes[walk->probe]);
        }
        instrument_emit_trace(work, body, &body->probes[walk->probe]);
        if (body->probes[walk->probe].writes)
            walk->writes = &body->probes[walk->probe];
        if (body->probes[walk->probe].observed &&
            body->probes[walk->probe].site->access == PTX_ACCESS_LOAD)
            walk->loads = &body->probes[walk->probe];
        else if (body->probes[walk->probe].observed)
            instrument_emit_observed(work, body, &body->probes[walk->probe]);
        if (work->elements && may_follow(body, &body->probes[walk->probe]))
            walk->follows = &body->probes[walk->probe];
        else
            instrument_emit_probe(work, body, &body->probes[walk->probe]);
    }
    instrument_emit_described(work, body, instr);
    instrument_emit_accessed_at(work, body, instr, false);
    instrument_emit_requests(work, body, instr, false, walk->only, &walk->points);
}

static bool is_label_of_code(const struct ptx_stmt *stmt)
{
    return stmt->kind == PTX_STMT_LABEL && ((const struct ptx_label *)stmt)->kind == PTX_LABEL_CODE;
}

// Returns whether control may reach the end of the body.
static bool falls_off(const struct ptx_function *function)
{
    for (const struct ptx_stmt *stmt = function->last; stmt; stmt = stmt->prev) {
        if (is_label_of_code(stmt))
            return true;
        if (stmt->kind != PTX_STMT_INSTR)
            continue;
        const struct ptx_instr *instr = (const struct ptx_instr *)stmt;
        return instr->guard || !(ptx_flags(instr) & (PTX_FLAG_BRANCH | PTX_FLAG_END));
    }
    return true;
}

// Prints a statement of the original.
static void print_statement(struct instrument_work *work, const struct instrument_body *body,
                            const struct ptx_stmt *stmt)
{
    struct base_buf *out = &work->out;
    if (stmt->kind == PTX_STMT_VAR) {
        struct ptx_var_stmt declared = *(const struct ptx_var_stmt *)stmt;
        struct ptx_var var = instrument_shared(declared.var);
        declared.var = &var;
        ptx_print_stmt(&declared.stmt, out);
    } else if (stmt->kind == PTX_STMT_INSTR &&
               instrument_is_reduction(body, (const struct ptx_instr *)stmt)) {
        instrument_emit_reduction(work, (const struct ptx_instr *)stmt);
    } else {
        ptx_print_stmt(stmt, out);
    }
    base_buf_putc(out, '\n');
}

static void emit_statement(struct walk *walk, struct ptx_stmt *stmt)
{
    struct instrument_work *work = walk->work;
    const struct ptx_instr *instr = ptx_stmt_instr(stmt);
    if ((stmt->kind == PTX_STMT_LOC && !work->request->lines) ||
        (stmt->kind == PTX_STMT_REGS && !((const struct ptx_regs *)stmt)->count))
        return;
    // A pragma that belongs to an instruction stays with it.
    if (stmt->kind == PTX_STMT_PRAGMA && stmt->next && stmt->next->kind == PTX_STMT_INSTR &&
        strncmp(((const struct ptx_pragma *)stmt)->text, "\"used_bytes_mask", 16) == 0)
        emit_before(walk, (const struct ptx_instr *)stmt->next);
    if (instr) {
        emit_before(walk, instr);
        bool ends = ptx_op(instr) == PTX_OP_RET || ptx_op(instr) == PTX_OP_EXIT;
        if (ends && leaves_something(work, walk->body)) {
            emit_ending(work, walk->body, instr);
            return;
        }
        if (instrument_emit_led(work, walk->body, instr))
            return;
    }
    const struct instrument_probe *writes =
        instr && walk->writes && walk->writes->site->instr == instr ? walk->writes : NULL;
    if (!(writes && instrument_emit_write(work, walk->body, writes)) &&
        !(instr && instrument_emit_branch(work, walk->body, instr)))
        print_statement(work, walk->body, stmt);
    if (instr && walk->loads && walk->loads->site->instr == instr)
        instrument_emit_observed(work, walk->body, walk->loads);
    if (instr)
        instrument_emit_passing(work, walk->body, instr);
    if (instr && walk->follows) {
        instrument_emit_probe(work, walk->body, walk->follows);
        walk->follows = NULL;
    }
    if (instr)
        instrument_emit_accessed_at(work, walk->body, instr, true);
    if (instr)
        instrument_emit_requests(work, walk->body, instr, true, walk->only, &walk->points);
}

void instrument_emit_rest(struct instrument_work *work, const struct instrument_body *body)
{
    if (!leaves_something(work, body))
        return;
    emit_end(work, body, PTX_NO_BLOCK);
    emit_entry(work, body);
}

// Writes what must precede the instructions of a statement, or of the call's scope that it opens.
static void emit_before_all(struct walk *walk, const struct ptx_stmt *stmt)
{
    const struct ptx_stmt *close;
    if (stmt->kind == PTX_STMT_OPEN && !instrument_call_of(stmt, &close))
        return;
    if (stmt->kind != PTX_STMT_OPEN)
        close = stmt;
    for (;; stmt = stmt->next) {
        if (stmt->kind == PTX_STMT_INSTR)
            emit_before(walk, (const struct ptx_instr *)stmt);
        if (stmt == close)
            return;
    }
}

static void emit_all(struct walk *walk, struct ptx_stmt *stmt)
{
    emit_before_all(walk, stmt);
    instrument_emit_before_call(walk->work, walk->body, stmt, &walk->led);
    emit_statement(walk, stmt);
    instrument_emit_after_call(walk->work, stmt, &walk->led);
}

// Writes a loop for whole warps that are only counted, at the end of the function, and before the
// statement the code that leads there. What the copy leads to behind the loop is the label `past`.
static void emit_twice(struct instrument_work *work, struct instrument_body *body,
                       const struct instrument_twice *twice, uint32_t past)
{
    struct base_buf text = work->out;
    const struct ptx_cfg *cfg = body->facts->cfg;
    const uint32_t header = ptx_cfg_block_of_label(cfg, (struct ptx_label *)twice->first);
    const char **names = NULL;
    struct walk walk = {.work = work,
                        .body = body,
                        .probe = twice->probe,
                        .points = twice->point,
                        .done = cfg->blocks[header].instrs[0]->index,
                        .only = true};
    work->out = (struct base_buf){0};
    instrument_swap_labels(work, twice, &names);
    const char *label = ((struct ptx_label *)twice->first)->name;
    for (struct ptx_stmt *stmt = twice->first;; stmt = stmt->next) {
        emit_all(&walk, stmt);
        if (stmt == twice->last)
            break;
    }
    base_buf_printf(&work->out, "bra $glint$%u;\n", past);
    instrument_swap_labels(work, twice, &names);
    struct base_buf copy = work->out;
    work->out = text;
    work->out.failed |= copy.failed;
    base_buf_add(&work->ways, copy.text, copy.length);
    base_buf_fini(&copy);
    instrument_emit_choice(work, twice, label);
}

void instrument_emit_clone(struct instrument_work *work, struct instrument_body *body)
{
    struct base_buf *out = &work->out;
    struct ptx_stmt *entry = ptx_place_entry(body->function);
    struct walk walk = {.work = work, .body = body};
    struct instrument_twice twice = {0};
    uint32_t past = 0;
    print_head(work, body, false, out);
    base_buf_puts(out, "\n{\n");
    emit_registers(work, body);
    for (struct ptx_stmt *stmt = body->function->first; stmt; stmt = stmt->next) {
        if (stmt == entry) {
            if (!work->light)
                instrument_emit_no_ranges(work, body);
            emit_entry(work, body);
            if (!work->light)
                instrument_emit_look(work, body);
            instrument_emit_trace_entry(work, body);
        }
        if (work->regular)
            instrument_emit_loop_mask(work, body, stmt);
        if (stmt != twice.first && instrument_find_twice(work, body, stmt, &twice))
            emit_twice(work, body, &twice, past = work->labels++);
        emit_all(&walk, stmt);
        if (stmt == twice.last)
            base_buf_printf(out, "$glint$%u:\n", past);
    }
    if (leaves_something(work, body) && falls_off(body->function)) {
        uint32_t last = body->facts->cfg->block_count - 1;
        if (!body->facts->cfg->blocks[last].instr_count && body->leaves && body->leaves[last])
            instrument_emit_sweeps(work, body, PTX_NO_BLOCK, last);
        emit_end(work, body, last);
        base_buf_puts(out, "ret;\n");
    }
    base_buf_add(out, work->ways.text, work->ways.length);
    out->failed |= work->ways.failed;
    base_buf_clear(&work->ways);
    base_buf_puts(out, "}\n");
}
