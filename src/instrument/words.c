// SPDX-License-Identifier: Apache-2.0
// Counts words of shared memory: see words.h. Each array has counters of its own, which a probe
// finds by the distance of the address from the array's. Where arrays lie is therefore no matter:
// the clone may place them differently than the kernel, and so may each assembler.
#include "words.h"

#include <string.h>

#include "counters.h"
#include "described.h"
#include "fill.h"
#include "near.h"
#include "plan.h"
#include "probe.h"
#include "word_sites.h"

// --- Arrays --------------------------------------------------------------------------------------

uint32_t instrument_array_bytes(const struct instrument_array *array, uint32_t dynamic_bytes)
{
    return array->bytes ? array->bytes : dynamic_bytes;
}

uint32_t instrument_words_in(uint64_t bytes)
{
    return (uint32_t)((bytes + INSTRUMENT_WORD_BYTES - 1) / INSTRUMENT_WORD_BYTES);
}

uint64_t instrument_word_count(const struct instrument_kernel *kernel, uint32_t dynamic_bytes)
{
    if (!kernel->array_count)
        return 0;
    const struct instrument_array *last = &kernel->arrays[kernel->array_count - 1];
    return (uint64_t)last->first - 1 +
           instrument_words_in(instrument_array_bytes(last, dynamic_bytes));
}

struct array_list {
    const struct ptx_var **items;
    size_t count, capacity;
};

static bool names(const struct ptx_operand *operand, const struct ptx_var *var)
{
    if (operand->kind == PTX_OPERAND_VAR)
        return operand->var == var;
    if (operand->kind != PTX_OPERAND_ADDRESS && operand->kind != PTX_OPERAND_VECTOR &&
        operand->kind != PTX_OPERAND_LIST && operand->kind != PTX_OPERAND_PAIR)
        return false;
    for (uint16_t i = 0; i < operand->count; i++) {
        if (names(&operand->elements[i], var))
            return true;
    }
    return false;
}

static bool is_named(const struct ptx_function *function, const struct ptx_var *var)
{
    for (struct ptx_stmt *stmt = function->first; stmt; stmt = stmt->next) {
        const struct ptx_instr *instr = ptx_stmt_instr(stmt);
        for (uint8_t i = 0; instr && i < instr->operand_count; i++) {
            if (names(&instr->operands[i], var))
                return true;
        }
    }
    return false;
}

// Lists the arrays that take memory of a block: those that the kernel declares, and those of the
// module that it names. All dynamic ones are one array, which is the last.
static struct array_list list_arrays(struct instrument_work *work,
                                     const struct instrument_body *body)
{
    struct array_list list = {0};
    const struct ptx_var *dynamic = NULL;
    uint32_t depth = 0;
    for (const struct ptx_stmt *stmt = body->function->first; stmt; stmt = stmt->next) {
        const struct ptx_var *var =
            stmt->kind == PTX_STMT_VAR ? ((const struct ptx_var_stmt *)stmt)->var : NULL;
        depth += stmt->kind == PTX_STMT_OPEN;
        depth -= stmt->kind == PTX_STMT_CLOSE;
        if (!var || var->space != PTX_SPACE_SHARED)
            continue;
        if (depth && !body->kernel->uncounted) // probes elsewhere cannot name it
            instrument_add_reason(work, &body->kernel->uncounted,
                                  "accesses to %s, which an inner scope declares", var->name);
        else if (!depth && var->size_bytes)
            *base_array_add(&list, &work->scratch) = var;
        else if (!depth && !dynamic)
            dynamic = var;
    }
    for (const struct ptx_item *item = work->ptx->first; item; item = item->next) {
        if (item->kind != PTX_ITEM_VAR || item->var->space != PTX_SPACE_SHARED ||
            !is_named(body->function, item->var))
            continue;
        if (item->var->size_bytes)
            *base_array_add(&list, &work->scratch) = item->var;
        else if (!dynamic)
            dynamic = item->var;
    }
    if (dynamic)
        *base_array_add(&list, &work->scratch) = dynamic;
    return list;
}

static void keep_arrays(struct instrument_work *work, struct instrument_kernel *kernel,
                        const struct array_list *list)
{
    uint32_t first = INSTRUMENT_QUAD;
    kernel->arrays = base_new_array(work->arena, struct instrument_array, list->count);
    for (size_t i = 0; i < list->count; i++) {
        const struct ptx_var *var = list->items[i];
        kernel->arrays[kernel->array_count++] = (struct instrument_array){
            .name = base_alloc_text(work->arena, var->name, strlen(var->name)),
            .bytes = (uint32_t)var->size_bytes,
            .first = first,
        };
        first += (instrument_words_in(var->size_bytes) + INSTRUMENT_QUAD - 1) / INSTRUMENT_QUAD *
                 INSTRUMENT_QUAD;
    }
}

static uint32_t index_of(const struct array_list *list, const struct ptx_array_place *place)
{
    for (size_t i = 0; place->array && i < list->count; i++) {
        if (list->items[i] == place->array || (place->dynamic && !list->items[i]->size_bytes))
            return (uint32_t)i;
    }
    return INSTRUMENT_NONE;
}

// --- Sites ---------------------------------------------------------------------------------------

enum { ROW_BYTES = 16 }; // of a matrix

bool instrument_moves_matrix(const struct ptx_site *site)
{
    return ptx_op(site->instr) == PTX_OP_LDMATRIX || ptx_op(site->instr) == PTX_OP_STMATRIX ||
           ptx_op(site->instr) == PTX_OP_WGMMA_MMA_ASYNC;
}

uint32_t instrument_touched_bytes(const struct ptx_site *site)
{
    switch (ptx_op(site->instr)) {
    case PTX_OP_LD:
    case PTX_OP_LDU:
    case PTX_OP_ST:
    case PTX_OP_ATOM:
    case PTX_OP_RED:
    case PTX_OP_WGMMA_MMA_ASYNC: // a chunk of an operand
    case PTX_OP_CP_ASYNC_BULK:   // likewise, or the barrier
    case PTX_OP_CP_REDUCE_ASYNC_BULK:
    case PTX_OP_MBARRIER_INIT:
    case PTX_OP_MBARRIER_INVAL:
    case PTX_OP_MBARRIER_EXPECT_TX:
    case PTX_OP_MBARRIER_COMPLETE_TX:
    case PTX_OP_MBARRIER_ARRIVE:
    case PTX_OP_MBARRIER_ARRIVE_DROP:
    case PTX_OP_MBARRIER_TEST_WAIT:
    case PTX_OP_MBARRIER_TRY_WAIT:
    case PTX_OP_CP_ASYNC_MBARRIER_ARRIVE:
    case PTX_OP_CP_ASYNC: return site->bytes;
    case PTX_OP_LDMATRIX:
    case PTX_OP_STMATRIX:
        return ptx_form_has(site->instr->form, PTX_MOD_M8N8) && site->lanes ? ROW_BYTES : 0;
    default: return 0;
    }
}

static void refuse(struct instrument_work *work, struct instrument_kernel *kernel,
                   const struct ptx_instr *instr, const char *why)
{
    if (!kernel->uncounted)
        instrument_add_reason(work, &kernel->uncounted, "%s at line %u of the PTX%s",
                              instr->form->text, instr->stmt.line, why);
}

// Refuses accesses that no probe can count. Returns whether the access is to be counted.
static bool is_counted(struct instrument_work *work, const struct instrument_body *body,
                       const struct ptx_site *site, const struct ptx_array_place *place)
{
    // Without arrays, no generic address can point to shared memory.
    if (place->kind == PTX_ARRAY_NONE || !site->reachable ||
        (place->kind == PTX_ARRAY_ANY_SPACE && !body->kernel->array_count && !body->callee_count))
        return false;
    if (place->kind == PTX_ARRAY_CLUSTER)
        refuse(work, body->kernel, site->instr, ", which may reach another block");
    else if (!instrument_has_address(site->address))
        refuse(work, body->kernel, site->instr, "");
    else
        return true;
    return false;
}

static void plan_site(struct instrument_work *work, struct instrument_body *body,
                      struct instrument_probe *probe, const struct ptx_array_place *place,
                      const struct array_list *list)
{
    const struct ptx_site *site = probe->site;
    if (!is_counted(work, body, site, place))
        return;
    if (instrument_is_bulk_copy(site->instr)) {
        if (!instrument_add_copy(work, body, probe, index_of(list, place)))
            refuse(work, body->kernel, site->instr, "");
    } else if (!instrument_touched_bytes(site)) {
        refuse(work, body->kernel, site->instr, "");
    } else {
        probe->words = true;
        probe->array = index_of(list, place);
        if (place->has_offset && work->request->word_ways & INSTRUMENT_WORDS_KNOWN)
            instrument_plan_word_site(work, body, probe, &place->offset);
    }
}

static void plan_barrier(struct instrument_work *work, struct instrument_body *body,
                         const struct ptx_site *site, const struct ptx_array_place *place,
                         const struct array_list *list)
{
    if (is_counted(work, body, site, place))
        instrument_add_barrier(work, body, site, index_of(list, place));
}

static void plan_described(struct instrument_work *work, struct instrument_body *body,
                           const struct ptx_described *described, const struct array_list *list)
{
    const struct ptx_array_place place = {
        .array = described->array,
        .dynamic = described->array && !described->array->size_bytes,
    };
    if (!instrument_add_described(work, body, described, index_of(list, &place)))
        refuse(work, body->kernel, described->instr, "");
}

// Returns whether the function may access shared memory of its block.
static bool may_share(const struct ptx_function *function)
{
    for (struct ptx_stmt *stmt = function->first; stmt; stmt = stmt->next) {
        const struct ptx_instr *instr = ptx_stmt_instr(stmt);
        if (!instr)
            continue;
        const struct ptx_form *form = instr->form;
        if (ptx_op(instr) == PTX_OP_UNKNOWN || ptx_has_descriptors(instr) ||
            (ptx_flags(instr) & PTX_FLAG_MEMORY &&
             (form->space == PTX_SPACE_GENERIC || form->space == PTX_SPACE_SHARED ||
              form->space2 == PTX_SPACE_SHARED)))
            return true;
    }
    return false;
}

// Functions that the kernel calls have no counters.
static void look_at_callees(struct instrument_work *work, const struct instrument_body *body,
                            struct instrument_kernel *kernel, bool *seen)
{
    for (uint32_t i = 0; i < body->callee_count && !kernel->uncounted; i++) {
        const struct instrument_body *callee = &work->bodies[body->callees[i]];
        if (seen[body->callees[i]])
            continue;
        seen[body->callees[i]] = true;
        if (may_share(callee->function))
            instrument_add_reason(work, &kernel->uncounted, "accesses in %s, which it calls",
                                  callee->function->name);
        look_at_callees(work, callee, kernel, seen);
    }
}

// Returns the sites of the body, and behind them those of barriers.
static struct ptx_site *list_sites(struct instrument_work *work, const struct instrument_body *body,
                                   uint32_t *count)
{
    struct ptx_site *barriers;
    uint32_t barrier_count;
    if (ptx_barrier_sites_find(body->facts, &barriers, &barrier_count, work->error) != BASE_OK)
        longjmp(work->escape, 1);
    *count = body->probe_count + barrier_count;
    struct ptx_site *sites = base_new_array(&work->scratch, struct ptx_site, *count);
    for (uint32_t i = 0; i < *count; i++)
        sites[i] = i < body->probe_count ? *body->probes[i].site : barriers[i - body->probe_count];
    return sites;
}

void instrument_plan_words(struct instrument_work *work, struct instrument_body *body)
{
    struct instrument_kernel *kernel = body->kernel;
    const struct array_list list = list_arrays(work, body);
    struct ptx_arrays arrays = {0};
    uint32_t count;
    const struct ptx_site *sites = list_sites(work, body, &count);
    keep_arrays(work, kernel, &list);
    body->arrays = list.items;
    if (ptx_arrays_find(body->facts, sites, count, &arrays, work->error) != BASE_OK)
        longjmp(work->escape, 1);
    for (uint32_t i = 0; i < body->probe_count; i++)
        plan_site(work, body, &body->probes[i], &arrays.places[i], &list);
    for (uint32_t i = body->probe_count; i < count; i++)
        plan_barrier(work, body, &sites[i], &arrays.places[i], &list);
    for (uint32_t i = 0; i < arrays.described_count; i++)
        plan_described(work, body, &arrays.described[i], &list);
    look_at_callees(work, body, kernel, base_new_array(&work->scratch, bool, work->body_count));
    if (!kernel->uncounted && body->calls_outside)
        instrument_add_reason(work, &kernel->uncounted, "accesses in %s, which it calls",
                              body->calls_outside);
}

// --- Code ----------------------------------------------------------------------------------------

static void emit_array(struct instrument_work *work, const struct instrument_array *array,
                       uint32_t bytes, uint32_t found)
{
    if (array->bytes && array->bytes < bytes)
        return;
    FILL(&work->out, words_array, STRING(array, array->name), NUMBER(dynamic, !array->bytes),
         NUMBER(last, (int64_t)array->bytes - bytes), NUMBER(bytes, bytes),
         NUMBER(first, (int64_t)array->first * INSTRUMENT_WORD_BYTES), NUMBER(found, found));
}

bool instrument_is_aligned(const struct instrument_body *body, const struct instrument_probe *probe,
                           uint32_t bytes)
{
    bool aligned = true;
    for (uint32_t i = 0; i < body->kernel->array_count; i++) {
        const struct ptx_var *var = body->arrays[i];
        const uint32_t align =
            var->align ? var->align : ptx_type_bytes((enum ptx_type)var->type) * var->vec;
        aligned &= align >= bytes || (probe->array != INSTRUMENT_NONE && probe->array != i);
    }
    return aligned;
}

bool instrument_may_straddle(const struct instrument_body *body,
                             const struct instrument_probe *probe, uint32_t bytes)
{
    return !instrument_is_aligned(body, probe,
                                  bytes < INSTRUMENT_WORD_BYTES ? bytes : INSTRUMENT_WORD_BYTES);
}

void instrument_emit_word_place(struct instrument_work *work, const struct instrument_body *body,
                                const struct instrument_probe *probe, uint32_t past, uint32_t found,
                                uint32_t lost)
{
    struct base_buf *out = &work->out;
    const struct ptx_site *site = probe->site;
    const struct instrument_kernel *kernel = body->kernel;
    const uint32_t bytes = instrument_touched_bytes(site);
    instrument_emit_unless(out, site->instr, past);
    if (instrument_moves_matrix(site) && site->lanes != UINT32_MAX)
        FILL(out, words_rows, NUMBER(lanes, __builtin_popcount(site->lanes)), NUMBER(past, past));
    if (probe->described && probe->described->descriptor) {
        instrument_emit_described_address(work, probe->described, lost);
    } else {
        instrument_emit_address(out, site->address, "%glint$a", INSTRUMENT_NONE, 0);
        if (site->space == PTX_SPACE_GENERIC)
            FILL(out, words_generic, NUMBER(clusters, work->clusters), NUMBER(past, past),
                 NUMBER(lost, lost));
        PUT(out, words_address);
        if (probe->described && probe->described->size)
            PUT(out, described_copied);
    }
    for (uint32_t i = 0; i < kernel->array_count; i++) {
        if (probe->array == INSTRUMENT_NONE || probe->array == i)
            emit_array(work, &kernel->arrays[i], bytes, found);
    }
    base_buf_printf(out, "$glint$%u:\n", lost);
}

void instrument_emit_words(struct instrument_work *work, const struct instrument_body *body,
                           const struct instrument_probe *probe)
{
    struct base_buf *out = &work->out;
    if (!probe->words || (work->light && probe->offset))
        return;
    const uint32_t past = work->labels++, found = work->labels++, lost = work->labels++;
    PUT(out, words_registers);
    if (instrument_is_near(body, probe)) {
        instrument_emit_near(work, body, probe, past);
        base_buf_printf(out, "$glint$%u:\n}\n", past);
        return;
    }
    FILL(out, words_counters, NUMBER(past, past), NUMBER(known, probe->offset != NULL));
    instrument_emit_word_place(work, body, probe, past, found, lost);
    base_buf_puts(out, "mov.u32 %glint$to, 0;\n");
    instrument_emit_counts(work, body, probe, 0, past);
    base_buf_printf(out, "bra $glint$%u;\n$glint$%u:\n", past, found);
    instrument_emit_counts(work, body, probe, instrument_touched_bytes(probe->site), past);
    base_buf_printf(out, "$glint$%u:\n}\n", past);
}
