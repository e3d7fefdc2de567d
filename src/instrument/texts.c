// SPDX-License-Identifier: Apache-2.0
// Makes the resulting texts. Clones that need something of their module are appended to its text,
// of which at most the version number changes. All others are put into parts of about equal length,
// each with the functions that it calls.
#include "texts.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "calls.h"
#include "children.h"
#include "clone.h"
#include "library.h"
#include "spare.h"

// --- What clones need of their module ------------------------------------------------------------

// Returns whether the address exists only in the module. Shared memory belongs to a block, wherever
// it is declared.
static bool is_tie(const struct ptx_operand *operand)
{
    switch (operand->kind) {
    case PTX_OPERAND_VAR: {
        const struct ptx_var *var = operand->var;
        return var->space != PTX_SPACE_SHARED &&
               (!var->function || var->space == PTX_SPACE_GLOBAL || var->space == PTX_SPACE_CONST ||
                var->space == PTX_SPACE_TEX);
    }
    case PTX_OPERAND_FUNCTION: return true;
    case PTX_OPERAND_ADDRESS:
    case PTX_OPERAND_VECTOR:
    case PTX_OPERAND_LIST:
    case PTX_OPERAND_PAIR:
        for (uint16_t i = 0; i < operand->count; i++) {
            if (is_tie(&operand->elements[i]))
                return true;
        }
        return false;
    default: return false;
    }
}

static bool has_tie(const struct instrument_body *body)
{
    if (body->calls_outside)
        return true;
    for (struct ptx_stmt *stmt = body->function->first; stmt; stmt = stmt->next) {
        const struct ptx_instr *instr = ptx_stmt_instr(stmt);
        struct ptx_call call = {0};
        const bool calls = instr && ptx_call_parts(instr, &call);
        if (calls && call.target->kind != PTX_OPERAND_FUNCTION)
            return true; // it may call functions whose addresses the module holds
        for (uint8_t i = 0; instr && i < instr->operand_count; i++) {
            if (&instr->operands[i] != call.target && is_tie(&instr->operands[i]))
                return true;
        }
    }
    return false;
}

void instrument_find_ties(struct instrument_work *work)
{
    const struct instrument_request *request = work->request;
    bool any = false;
    for (uint32_t i = 0; i < work->body_count; i++)
        work->bodies[i].tied = !request->parts || has_tie(&work->bodies[i]);
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = work->body_count; i-- > 0;) {
            struct instrument_body *body = &work->bodies[i];
            for (uint32_t k = 0; k < body->callee_count && !body->tied; k++)
                changed |= body->tied = work->bodies[body->callees[k]].tied;
        }
    }
    for (uint32_t i = 0; i < work->body_count; i++)
        any |= work->bodies[i].kernel && work->bodies[i].tied;
    // From sm_80 on, sums over a warp are one instruction. Below sm_70 the threads of a warp run in
    // lockstep, on which programs may depend.
    const bool sums = work->elements || work->values || work->requests || work->words;
    work->raised = !any && sums && work->sm >= 70 && work->sm < 80 && request->gpu >= 80;
    if (work->raised)
        work->sm = 80;
}

// --- Clones and what they call -------------------------------------------------------------------

struct text {
    bool *holds;   // by body: the text contains it or its clone
    size_t length; // of its kernels' clones
    bool any;      // it has kernels' clones
};

static bool has_clone(const struct instrument_body *body)
{
    return !body->failed && body->end > body->start;
}

static void hold(const struct instrument_work *work, struct text *text, uint32_t index)
{
    const struct instrument_body *body = &work->bodies[index];
    if (text->holds[index])
        return;
    text->holds[index] = true;
    for (uint32_t i = 0; i < body->callee_count; i++)
        hold(work, text, body->callees[i]);
}

static void hold_kernel(const struct instrument_work *work, struct text *text, uint32_t index)
{
    const struct instrument_body *body = &work->bodies[index];
    text->any = true;
    text->length += body->end - body->start;
    hold(work, text, index);
}

static void put_clones(struct instrument_work *work, const struct text *text, struct base_buf *out)
{
    uint32_t helpers = 0;
    bool spares = false;
    for (uint32_t i = 0; i < work->body_count; i++) {
        const struct instrument_body *body = &work->bodies[i];
        if (!text->holds[i] || !has_clone(body))
            continue;
        helpers |= body->helpers;
        spares |= body->kernel && (body->kernel->spare_head || body->kernel->range_site_count);
    }
    base_buf_putc(out, '\n');
    if (spares)
        instrument_emit_spare(work, out);
    instrument_emit_library(work, helpers, out);
    for (uint32_t i = 0; i < work->body_count; i++) {
        if (text->holds[i] && work->bodies[i].cloned && !work->bodies[i].failed)
            instrument_emit_declaration(work, &work->bodies[i], out);
    }
    instrument_emit_buffer_function(work, text->holds, out);
    for (uint32_t i = 0; i < work->body_count; i++) {
        const struct instrument_body *body = &work->bodies[i];
        if (text->holds[i] && has_clone(body))
            base_buf_add(out, work->out.text + body->start, body->end - body->start);
    }
}

// --- The module's own text -----------------------------------------------------------------------

// Finds the version number: it follows the first .version that is not in a line comment.
static bool find_version(const struct instrument_work *work, const char **from, const char **to)
{
    static const char directive[] = ".version";
    const char *end = work->text + work->length, *at, *rest = work->text;
    while ((at = memmem(rest, (size_t)(end - rest), directive, strlen(directive)))) {
        const char *line = at;
        while (line > work->text && line[-1] != '\n')
            line--;
        rest = at + strlen(directive);
        if (!memmem(line, (size_t)(at - line), "//", 2))
            break;
    }
    if (!at)
        return false;
    while (rest < end && isspace((unsigned char)*rest))
        rest++;
    *from = rest;
    while (rest < end && (isdigit((unsigned char)*rest) || *rest == '.'))
        rest++;
    *to = rest;
    return *to > *from;
}

// Returns the version that clones need if it is newer than the module's; else NULL.
static const char *newer_version(const struct instrument_work *work)
{
    if (work->raised && !instrument_version_from(work->ptx, 7, 0))
        return "7.0"; // the first with sm_80
    if ((work->elements || work->values || work->requests || work->words ||
         (work->trace && instrument_has_match(work))) &&
        !instrument_version_from(work->ptx, 6, 2))
        return "6.2"; // the first with activemask
    return NULL;
}

static void put_original(const struct instrument_work *work, const char *version,
                         struct base_buf *out)
{
    const char *rest = work->text, *from, *to;
    if (version && find_version(work, &from, &to)) {
        base_buf_add(out, rest, (size_t)(from - rest));
        base_buf_puts(out, version);
        rest = to;
    }
    base_buf_add(out, rest, (size_t)(work->text + work->length - rest));
}

// --- Parts ---------------------------------------------------------------------------------------

// Writes the target without "debug": the part has no debug information.
static void put_target(const struct instrument_work *work, struct base_buf *out)
{
    const char *target = work->ptx->target, *debug = strstr(target, "debug");
    size_t length = debug ? (size_t)(debug - target) : strlen(target);
    while (debug && length && strchr(", \t", target[length - 1]))
        length--;
    base_buf_puts(out, ".target ");
    if (work->raised) {
        const size_t name = strcspn(target, ", \t");
        base_buf_puts(out, "sm_80");
        base_buf_add(out, target + name, length > name ? length - name : 0);
    } else {
        base_buf_add(out, target, length);
    }
    base_buf_puts(out, debug ? debug + strlen("debug") : "");
    base_buf_puts(out, "\n.address_size 64\n\n");
}

// Writes a function that accesses no memory: it has no clone and is called unchanged.
static void put_plain(const struct ptx_function *function, bool body, struct base_buf *out)
{
    struct ptx_function head = *function;
    head.linkage = 0;
    ptx_print_head(&head, out);
    base_buf_puts(out, body ? "\n{\n" : ";\n");
    for (const struct ptx_stmt *stmt = function->first; body && stmt; stmt = stmt->next) {
        if (stmt->kind == PTX_STMT_LOC ||
            (stmt->kind == PTX_STMT_REGS && !((const struct ptx_regs *)stmt)->count))
            continue;
        ptx_print_stmt(stmt, out);
        base_buf_putc(out, '\n');
    }
    base_buf_puts(out, body ? "}\n" : "");
}

static void put_part(struct instrument_work *work, const struct text *text, struct base_buf *out)
{
    const char *version = newer_version(work);
    if (version)
        base_buf_printf(out, ".version %s\n", version);
    else
        base_buf_printf(out, ".version %u.%u\n", work->ptx->version_major,
                        work->ptx->version_minor);
    put_target(work, out);
    for (const struct ptx_item *item = work->ptx->first; item; item = item->next) {
        if (item->kind == PTX_ITEM_VAR && item->var->space == PTX_SPACE_SHARED) {
            struct ptx_var shared = instrument_shared(item->var);
            ptx_print_item(&(struct ptx_item){.kind = PTX_ITEM_VAR, .var = &shared}, out);
        }
        if (item->kind == PTX_ITEM_PRAGMA ||
            (item->kind == PTX_ITEM_FILE && work->request->lines) ||
            (item->kind == PTX_ITEM_FUNCTION && !item->function->has_body &&
             !instrument_body_of(work, item->function->name)))
            ptx_print_item(item, out);
    }
    for (int body = 0; body < 2; body++) {
        for (uint32_t i = 0; i < work->body_count; i++) {
            if (text->holds[i] && !work->bodies[i].touches && !work->bodies[i].kernel)
                put_plain(work->bodies[i].function, body, out);
        }
    }
    put_clones(work, text, out);
}

// Returns the shortest part.
static struct text *shortest(struct text *parts, uint32_t count)
{
    struct text *part = parts;
    for (uint32_t i = 1; i < count; i++) {
        if (parts[i].length < part->length)
            part = &parts[i];
    }
    return part;
}

struct untied {
    uint32_t body;
    size_t length;
};

// Orders by descending length; clones of equal length stay in text order.
static int by_length(const void *a, const void *b)
{
    const struct untied *one = a, *other = b;
    if (one->length != other->length)
        return one->length > other->length ? -1 : 1;
    return one->body < other->body ? -1 : one->body > other->body;
}

static struct text new_text(struct instrument_work *work)
{
    return (struct text){.holds = base_new_array(&work->scratch, bool, work->body_count)};
}

// Distributes the clones that do not need their module among the parts.
static struct text *divide(struct instrument_work *work, uint32_t *count)
{
    struct untied *untied = base_new_array(&work->scratch, struct untied, work->body_count);
    uint32_t number = 0;
    for (uint32_t i = 0; i < work->body_count; i++) {
        const struct instrument_body *body = &work->bodies[i];
        if (body->kernel && has_clone(body) && !body->tied)
            untied[number++] = (struct untied){i, body->end - body->start};
    }
    if (number)
        qsort(untied, number, sizeof(*untied), by_length);
    *count = number < work->request->parts ? number : work->request->parts;
    struct text *parts = base_new_array(&work->scratch, struct text, *count);
    for (uint32_t i = 0; i < *count; i++)
        parts[i] = new_text(work);
    for (uint32_t i = 0; i < number; i++) {
        struct text *part = shortest(parts, *count);
        hold_kernel(work, part, untied[i].body);
        work->bodies[untied[i].body].kernel->part = (uint32_t)(part - parts);
    }
    return parts;
}

// Takes ownership of the text. Fails if all texts together exceed the limit.
static char *keep(struct instrument_work *work, struct base_buf *made, size_t *bytes, size_t *total)
{
    const size_t limit = work->request->limit_bytes;
    *total += made->length;
    if (made->failed || work->out.failed || (limit && *total > limit)) {
        base_buf_fini(made);
        longjmp(work->escape, 1);
    }
    work->heap = made->text;
    char *text = base_alloc_text(work->arena, made->text ? made->text : "", made->length);
    *bytes = made->length;
    work->heap = NULL;
    base_buf_fini(made);
    return text;
}

void instrument_put_texts(struct instrument_work *work)
{
    struct instrument_module *module = work->module;
    struct base_buf out = {0};
    size_t total = 0;
    struct text own = new_text(work);
    for (uint32_t i = 0; i < module->kernel_count; i++)
        module->kernels[i].part = INSTRUMENT_NONE;
    const struct text *parts = divide(work, &module->part_count);
    for (uint32_t i = 0; i < work->body_count; i++) {
        const struct instrument_body *body = &work->bodies[i];
        if (body->kernel && has_clone(body) && body->tied)
            hold_kernel(work, &own, i);
    }
    base_buf_reserve(&out, work->length + own.length + 16384);
    put_original(work, own.any ? newer_version(work) : NULL, &out);
    if (own.any)
        put_clones(work, &own, &out);
    module->ptx = keep(work, &out, &module->ptx_bytes, &total);
    module->parts = base_new_array(work->arena, struct instrument_part, module->part_count);
    for (uint32_t i = 0; i < module->part_count; i++) {
        put_part(work, &parts[i], &out);
        module->parts[i].ptx = keep(work, &out, &module->parts[i].ptx_bytes, &total);
    }
}
