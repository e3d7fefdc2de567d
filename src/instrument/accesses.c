// SPDX-License-Identifier: Apache-2.0
// Accessed values: which values loads read and stores write, also those that other stores of the
// launch overwrite later. A thread keeps, for each field of a root's layout and apart for loads and
// stores, the bits that are set in some value, the bits that are clear in some value, and the
// greatest magnitude. Inside loops that takes three instructions or fewer for each value, because
// ptxas joins the logical operations of two values. combine.c combines them over the launch.
//
// Accesses whose values are not in registers, or do not fit the layout, are not observed: atomic
// operations, copies, and pieces of fields. The root says so.
#include "accesses.h"

#include <stdio.h>

#include "combine.h"
#include "fill.h"
#include "probe.h"
#include "spans.h"

enum {
    MOST_ELEMENTS = 8, // of a vector
    MOST_WORDS = 48,   // registers of a thread; accesses that need more are not observed
    WORDS_EACH = 3,
    EARLY_WORDS = 12, // registers of a thread for what memory holds
    ENTRY = sizeof(struct instrument_accessed_words),
    ROW_UNIT = 128,
};
_Static_assert(MOST_WORDS / WORDS_EACH <= INSTRUMENT_MOST_NUMBERS, "as many can be combined");

// --- What an access moves ------------------------------------------------------------------------

static uint32_t bits_of(uint32_t type)
{
    switch (type) {
    case INSTRUMENT_TYPE_U8:
    case INSTRUMENT_TYPE_S8: return 8;
    case INSTRUMENT_TYPE_U16:
    case INSTRUMENT_TYPE_S16:
    case INSTRUMENT_TYPE_F16:
    case INSTRUMENT_TYPE_BF16: return 16;
    case INSTRUMENT_TYPE_U64:
    case INSTRUMENT_TYPE_S64:
    case INSTRUMENT_TYPE_F64: return 64;
    default: return 32;
    }
}

static bool is_signed(uint32_t type)
{
    return type == INSTRUMENT_TYPE_S8 || type == INSTRUMENT_TYPE_S16 ||
           type == INSTRUMENT_TYPE_S32 || type == INSTRUMENT_TYPE_S64;
}

static bool is_float(uint32_t type)
{
    return type == INSTRUMENT_TYPE_F16 || type == INSTRUMENT_TYPE_BF16 ||
           type == INSTRUMENT_TYPE_F32 || type == INSTRUMENT_TYPE_F64;
}

static const struct ptx_operand *value_of(const struct instrument_probe *probe)
{
    const struct ptx_instr *instr = probe->site->instr;
    return &instr->operands[ptx_op(instr) == PTX_OP_ST ? 1 : 0];
}

static uint32_t count_of(const struct ptx_operand *value)
{
    return value->kind == PTX_OPERAND_VECTOR ? value->count : 1;
}

static const struct ptx_operand *element_of(const struct ptx_operand *value, uint32_t index)
{
    return value->kind == PTX_OPERAND_VECTOR ? &value->elements[index] : value;
}

static uint32_t own_bits(const struct ptx_operand *element)
{
    return ptx_type_info((enum ptx_type)element->reg->type)->bits;
}

// Returns whether the probe can compute the bits of an element.
static bool is_readable(const struct ptx_operand *element, uint32_t bits, bool floats)
{
    if (element->kind == PTX_OPERAND_REG) {
        const uint32_t own = own_bits(element);
        return !element->select && element->reg->vec == 1 && own >= bits &&
               (own == 16 || own == 32 || own == 64);
    }
    // Other constants would have to be converted as the compiler does.
    return (element->kind == PTX_OPERAND_INT && !floats) ||
           (element->kind == PTX_OPERAND_F32 && bits == 32) ||
           (element->kind == PTX_OPERAND_F64 && bits == 64);
}

// One field that an access moves: `shift` bits above the lowest bit of an element.
struct part {
    uint32_t element, shift, field;
};
struct parts {
    struct part items[MOST_ELEMENTS * 8];
    uint32_t count;
};

// Finds the fields that an access from `place` on moves, in `count` elements of so many bytes.
// Returns false if it moves a piece of a field, or one in two elements.
static bool find_parts(const struct instrument_layout *layout, uint32_t place, uint32_t count,
                       uint32_t bytes, struct parts *parts)
{
    parts->count = 0;
    for (uint32_t at = 0; at < count * bytes;) {
        const uint32_t offset = (place + at) % layout->stride;
        uint32_t size = 1; // a byte between fields
        for (uint32_t i = 0; i < layout->field_count; i++) {
            const uint32_t own = bits_of(layout->fields[i].type) / 8;
            if (offset < layout->fields[i].offset || offset - layout->fields[i].offset >= own)
                continue;
            if (offset != layout->fields[i].offset || at % bytes + own > bytes)
                return false;
            parts->items[parts->count++] = (struct part){at / bytes, at % bytes * 8, i};
            size = own;
        }
        at += size;
    }
    return true;
}

// Finds what the access moves. Returns false if that cannot be observed.
static bool find_moved(const struct instrument_body *body, const struct instrument_probe *probe,
                       struct parts *parts)
{
    const struct ptx_instr *instr = probe->site->instr;
    const enum ptx_op op = ptx_op(instr);
    if ((op != PTX_OP_LD && op != PTX_OP_LDU && op != PTX_OP_ST) || instr->operand_count < 2 ||
        !instr->form->type_count || probe->place == INSTRUMENT_NONE)
        return false;
    const struct instrument_layout *layout = &body->kernel->roots[probe->root].layout;
    const struct ptx_type_info *type = ptx_type_info((enum ptx_type)instr->form->types[0]);
    const struct ptx_operand *value = value_of(probe);
    const uint32_t count = count_of(value), bits = type->bits;
    if (!layout->field_count || count > MOST_ELEMENTS || bits < 8 || bits > 64 ||
        count * bits != probe->site->bytes * 8)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        if (!is_readable(element_of(value, i), bits, type->kind == PTX_CLASS_FLOAT))
            return false;
    }
    return find_parts(layout, probe->place, count, bits / 8, parts);
}

// --- Plan ----------------------------------------------------------------------------------------

static uint32_t find_accessed(const struct instrument_kernel *kernel,
                              const struct instrument_probe *probe, uint32_t field)
{
    const bool written = probe->site->access == PTX_ACCESS_STORE;
    for (uint32_t i = 0; i < kernel->accessed_count; i++) {
        const struct instrument_accessed *have = &kernel->accessed[i];
        if (have->root == probe->root && have->field == field && have->written == written)
            return i;
    }
    return INSTRUMENT_NONE;
}

static bool is_wide(const struct instrument_body *body, uint32_t number)
{
    const struct instrument_accessed *accessed = &body->kernel->accessed[number];
    return bits_of(body->kernel->roots[accessed->root].layout.fields[accessed->field].type) == 64;
}

// Makes room for what the access moves. Returns false if it needs too many registers.
static bool add_accessed(struct instrument_body *body, const struct instrument_probe *probe,
                         const struct parts *parts)
{
    struct instrument_kernel *kernel = body->kernel;
    const struct instrument_layout *layout = &kernel->roots[probe->root].layout;
    const uint32_t count = kernel->accessed_count, words = body->accessed_words;
    for (uint32_t i = 0; i < parts->count; i++) {
        const uint32_t field = parts->items[i].field;
        if (find_accessed(kernel, probe, field) != INSTRUMENT_NONE)
            continue;
        body->accessed_words += WORDS_EACH * (bits_of(layout->fields[field].type) == 64 ? 2 : 1);
        if (body->accessed_words > MOST_WORDS) {
            kernel->accessed_count = count;
            body->accessed_words = words;
            return false;
        }
        kernel->accessed[kernel->accessed_count++] = (struct instrument_accessed){
            probe->root, field, probe->site->access == PTX_ACCESS_STORE};
    }
    return true;
}

// Finds the blocks that may execute after an access that is observed.
static void find_observing(struct instrument_work *work, struct instrument_body *body)
{
    const struct ptx_cfg *cfg = body->facts->cfg;
    uint32_t *stack = base_new_array(&work->scratch, uint32_t, cfg->block_count + 1);
    uint32_t depth = 0;
    body->observes = base_new_array(&work->scratch, bool, cfg->block_count + 1);
    for (uint32_t i = 0; i < body->probe_count; i++) {
        const uint32_t block = body->probes[i].site->block;
        if (!body->probes[i].observed || body->observes[block])
            continue;
        body->observes[block] = true;
        stack[depth++] = block;
        while (depth) {
            const struct ptx_block *at = &cfg->blocks[stack[--depth]];
            for (uint32_t k = 0; k < at->succ_count; k++) {
                if (body->observes[at->succs[k]])
                    continue;
                body->observes[at->succs[k]] = true;
                stack[depth++] = at->succs[k];
            }
        }
    }
}

// Finds where the registers of all numbers are needed.
static void find_spans(struct instrument_work *work, struct instrument_body *body)
{
    const uint32_t count = body->kernel->accessed_count;
    struct instrument_uses *uses =
        base_new_array(&work->scratch, struct instrument_uses, count + 1);
    struct parts parts;
    for (uint32_t i = 0; i < body->probe_count; i++) {
        const struct instrument_probe *probe = &body->probes[i];
        if (!probe->observed || !find_moved(body, probe, &parts))
            continue;
        for (uint32_t k = 0; k < parts.count; k++)
            instrument_add_use(body,
                               &uses[find_accessed(body->kernel, probe, parts.items[k].field)],
                               probe->site->block);
    }
    body->spans = base_new_array(&work->scratch, struct instrument_span, count + 1);
    for (uint32_t i = 0; i < count; i++)
        body->spans[i] = instrument_find_span(body, &uses[i]);
    instrument_join_spans(body);
    for (uint32_t i = 0, words = 0; i < count; i++) {
        body->spans[i].wide = is_wide(body, i);
        const bool early = body->spans[i].early && !body->spans[i].wide && words < EARLY_WORDS;
        body->spans[i].early = early;
        words += early ? WORDS_EACH : 0;
    }
}

void instrument_plan_accesses(struct instrument_work *work, struct instrument_body *body)
{
    struct instrument_kernel *kernel = body->kernel;
    struct parts parts;
    kernel->accessed =
        base_new_array(work->arena, struct instrument_accessed, MOST_WORDS / WORDS_EACH);
    for (uint32_t i = 0; i < body->probe_count; i++) {
        struct instrument_probe *probe = &body->probes[i];
        if (probe->how != HOW_ROOT)
            continue;
        probe->observed = find_moved(body, probe, &parts) && add_accessed(body, probe, &parts);
        for (uint32_t way = 0; way < 2; way++)
            kernel->roots[probe->root].unobserved[way] |=
                !probe->observed && instrument_kinds(probe->site) >> way & 1;
    }
    kernel->accessed_row_bytes =
        (kernel->accessed_count * ENTRY + ROW_UNIT - 1) / ROW_UNIT * ROW_UNIT;
    find_observing(work, body);
    find_spans(work, body);
}

// --- At an access --------------------------------------------------------------------------------

// Sets v0, or w0 of a field of 64 bits, to the value of the field.
static void emit_value(struct base_buf *out, const struct ptx_operand *element,
                       const struct part *part, uint32_t bits)
{
    const uint32_t mask = bits < 32 ? (1u << bits) - 1 : UINT32_MAX;
    if (element->kind != PTX_OPERAND_REG) {
        if (bits == 64)
            base_buf_printf(out, "mov.b64 %%glint$w0, %llu;\n", (unsigned long long)element->bits);
        else
            base_buf_printf(out, "mov.b32 %%glint$v0, %u;\n",
                            (uint32_t)(element->bits >> part->shift) & mask);
        return;
    }
    const char *name = element->reg->name;
    const uint32_t own = own_bits(element), shift = part->shift % 32;
    if (bits == 64) {
        base_buf_printf(out, "mov.b64 %%glint$w0, %s;\n", name);
        return;
    }
    if (own == 16)
        base_buf_printf(out, "mov.b16 %%glint$half, %s;\ncvt.u32.u16 %%glint$v0, %%glint$half;\n",
                        name);
    else if (own == 64)
        base_buf_printf(out, "mov.b64 {%%glint$v%u, %%glint$v%u}, %s;\n", part->shift / 32 ? 2 : 0,
                        part->shift / 32 ? 0 : 2, name);
    else
        base_buf_printf(out, "mov.b32 %%glint$v0, %s;\n", name);
    if (shift)
        base_buf_printf(out, "shr.u32 %%glint$v0, %%glint$v0, %u;\n", shift);
    if (bits + shift < 32)
        base_buf_printf(out, "and.b32 %%glint$v0, %%glint$v0, %u;\n", mask);
}

// With `first`, the thread has observed no other value of that number.
static void emit_part(struct instrument_work *work, uint32_t number, uint32_t type,
                      const char *guard, bool first)
{
    struct base_buf *out = &work->out;
    const uint32_t bits = bits_of(type);
    const uint32_t mask = bits < 32 ? (1u << bits) - 1 : UINT32_MAX;
    if (bits == 64) {
        FILL(out, observe_wide, NUMBER(number, number), STRING(guard, guard),
             NUMBER(is_signed, is_signed(type)), NUMBER(is_float, is_float(type)));
        return;
    }
    if (first)
        FILL(out, first_bits, NUMBER(number, number));
    else
        FILL(out, observe_bits, NUMBER(number, number), STRING(guard, guard));
    if (!first && type == INSTRUMENT_TYPE_F32 && work->sm >= 80) {
        FILL(out, observe_most_float, NUMBER(number, number), STRING(guard, guard));
        return;
    }
    if (is_signed(type))
        FILL(out, observe_signed, NUMBER(extend, 32 - bits));
    else if (is_float(type))
        base_buf_printf(out, "and.b32 %%glint$v0, %%glint$v0, %u;\n", mask >> 1);
    if (first)
        FILL(out, first_most, NUMBER(number, number));
    else
        FILL(out, observe_most, NUMBER(number, number), STRING(guard, guard));
}

// Returns whether no access before this one moves that field, since the registers are needed.
static bool is_first(const struct instrument_body *body, const struct instrument_probe *probe,
                     const struct parts *parts, uint32_t index)
{
    const uint32_t field = parts->items[index].field;
    struct parts others;
    const struct instrument_span *span = &body->spans[find_accessed(body->kernel, probe, field)];
    if (!span->alone || probe->site->instr->guard)
        return false;
    for (uint32_t i = 0; i < index; i++) {
        if (parts->items[i].field == field)
            return false;
    }
    for (const struct instrument_probe *other = body->probes; other < probe; other++) {
        if (!other->observed || other->root != probe->root ||
            other->site->access != probe->site->access || !find_moved(body, other, &others))
            continue;
        for (uint32_t i = 0; i < others.count; i++) {
            if (others.items[i].field == field)
                return false;
        }
    }
    return true;
}

void instrument_emit_observed(struct instrument_work *work, const struct instrument_body *body,
                              const struct instrument_probe *probe)
{
    struct base_buf *out = &work->out;
    const struct ptx_instr *instr = probe->site->instr;
    const struct instrument_layout *layout = &body->kernel->roots[probe->root].layout;
    struct parts parts;
    char guard[128] = "";
    if (!find_moved(body, probe, &parts) || !parts.count)
        return;
    instrument_emit_seen(work, body, probe);
    if (instr->guard)
        snprintf(guard, sizeof(guard), "@%s%.100s ", instr->guard_negated ? "!" : "",
                 instr->guard->name);
    PUT(out, observe_registers);
    for (uint32_t i = 0; i < parts.count; i++) {
        const struct part *part = &parts.items[i];
        const uint32_t type = layout->fields[part->field].type;
        emit_value(out, element_of(value_of(probe), part->element), part, bits_of(type));
        emit_part(work, find_accessed(body->kernel, probe, part->field), type, guard,
                  is_first(body, probe, &parts, i));
    }
    base_buf_puts(out, "}\n");
}
