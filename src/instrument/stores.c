// SPDX-License-Identifier: Apache-2.0
// Values: an instruction that writes global memory marks the piece of the object that it writes. A
// store also loads what it overwrites, if the launch allows it, and counts in a tally whether the
// bytes are the same. The program's store always executes, behind that load.
#include "stores.h"

#include <stdio.h>
#include <string.h>

#include "atomics.h"
#include "early.h"
#include "fill.h"
#include "plan.h"
#include "probe.h"
#include "tally.h"

enum {
    MOST_ELEMENTS = 8, // of a vector
    HALF = 16,         // the alignment of pieces, across whose borders only longer accesses reach
};

// --- Plan ----------------------------------------------------------------------------------------

// Returns the bits of one element that the store moves.
static uint32_t element_bits(const struct ptx_instr *instr)
{
    return instr->form->type_count ? ptx_type_info((enum ptx_type)instr->form->types[0])->bits : 0;
}

static const struct ptx_operand *element_of(const struct ptx_operand *value, uint32_t index)
{
    return value->kind == PTX_OPERAND_VECTOR ? &value->elements[index] : value;
}

static uint32_t element_count(const struct ptx_operand *value)
{
    return value->kind == PTX_OPERAND_VECTOR ? value->count : 1;
}

uint32_t instrument_store_elements(const struct ptx_instr *instr)
{
    return element_count(&instr->operands[1]);
}

// Returns whether the probe can compare an element of that many bits, or a float, with memory.
static bool is_comparable(const struct ptx_operand *element, uint32_t bits, bool floats)
{
    if (element->kind == PTX_OPERAND_REG) {
        const uint32_t own = ptx_type_info((enum ptx_type)element->reg->type)->bits;
        return !element->select && element->reg->vec == 1 && own >= bits &&
               (own == 16 || own == 32 || own == 64 || (own == 128 && bits == 128));
    }
    // Other constants would have to be converted as the compiler does.
    return (element->kind == PTX_OPERAND_INT && bits <= 64 && !floats) ||
           (element->kind == PTX_OPERAND_F32 && bits == 32) ||
           (element->kind == PTX_OPERAND_F64 && bits == 64);
}

// A load before a store that others wait for, or that is meant for a device, could change what they
// see.
static bool is_plain(const struct ptx_form *form)
{
    return (!form->sem || form->sem == PTX_MOD_WEAK || form->sem == PTX_MOD_RELAXED) &&
           !ptx_form_has(form, PTX_MOD_MMIO);
}

static bool is_store(const struct instrument_probe *probe)
{
    return ptx_op(probe->site->instr) == PTX_OP_ST;
}

static bool can_examine_store(const struct instrument_probe *probe)
{
    const struct ptx_instr *instr = probe->site->instr;
    const uint32_t bits = element_bits(instr);
    if (!is_store(probe) || !is_plain(instr->form) || instr->operand_count < 2 || bits < 8)
        return false;
    const bool floats =
        ptx_type_info((enum ptx_type)instr->form->types[0])->kind == PTX_CLASS_FLOAT;
    const struct ptx_operand *value = &instr->operands[1];
    const uint32_t count = element_count(value);
    if (count > MOST_ELEMENTS || count * bits != probe->site->bytes * 8)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        if (!is_comparable(element_of(value, i), bits, floats))
            return false;
    }
    return true;
}

static const struct ptx_operand *base_of(const struct instrument_probe *probe)
{
    const struct ptx_operand *address = probe->site->address;
    return address->kind == PTX_OPERAND_ADDRESS ? &address->elements[0] : address;
}

// Lets an earlier write of the block from the same register mark this one, too. Both ends of what
// it then marks are written, and between them there is no other piece.
static void join(const struct instrument_work *work, struct instrument_body *body, uint32_t index)
{
    struct instrument_probe *probe = &body->probes[index];
    const struct ptx_instr *instr = probe->site->instr;
    probe->extent = probe->site->bytes;
    // At element level an access that leaves its object is not marked with the others.
    if (work->elements || probe->how != HOW_ROOT || probe->shape != SHAPE_FIXED || instr->guard ||
        body->may_exit || base_of(probe)->kind != PTX_OPERAND_REG)
        return;
    const uint32_t value = ptx_ssa_value(body->facts->ssa, instr, base_of(probe));
    for (uint32_t i = index; value != PTX_NO_VALUE && i-- > 0;) {
        struct instrument_probe *first = &body->probes[i];
        const struct ptx_instr *other = first->site->instr;
        if (first->site->block != probe->site->block)
            return;
        if (!first->writes || first->marked || first->root != probe->root || other->guard ||
            first->shape != SHAPE_FIXED || base_of(first)->kind != PTX_OPERAND_REG ||
            ptx_ssa_value(body->facts->ssa, other, base_of(first)) != value)
            continue;
        const int64_t at = probe->site->address->offset - first->site->address->offset;
        const int64_t end = first->lowest + first->extent, own_end = at + probe->extent;
        const int64_t low = at < first->lowest ? at : first->lowest;
        const int64_t high = own_end > end ? own_end : end;
        if (high - low > 1 << INSTRUMENT_PIECE_SHIFT)
            continue;
        first->lowest = low;
        first->extent = (uint32_t)(high - low);
        probe->marked = true;
        return;
    }
}

void instrument_plan_stores(struct instrument_work *work, struct instrument_body *body)
{
    for (uint32_t i = 0; i < body->probe_count; i++) {
        struct instrument_probe *probe = &body->probes[i];
        const struct ptx_instr *instr = probe->site->instr;
        if (probe->how == HOW_NOT || probe->site->access == PTX_ACCESS_LOAD)
            continue;
        if (ptx_op(instr) == PTX_OP_WMMA_STORE) {
            instrument_add_reason(work, &body->unmarked, "what %s at line %u of the PTX writes",
                                  instr->form->text, instr->stmt.line);
            continue;
        }
        probe->writes = true;
        // An atomic operation whose address is looked up is only marked: the sums of an object are
        // those of stores.
        probe->examined = can_examine_store(probe) ||
                          (probe->how == HOW_ROOT && instrument_can_examine_atomic(instr));
        body->looks_up_stores |= probe->how == HOW_LOOKUP;
        join(work, body, i);
    }
}

// --- Text ----------------------------------------------------------------------------------------

// The guard of the instruction as an operand of setp; "": it has none.
struct guard {
    char text[128];
};

static struct guard guard_of(const struct ptx_instr *instr)
{
    struct guard guard = {""};
    if (instr->guard)
        snprintf(guard.text, sizeof(guard.text), "%s%.100s", instr->guard_negated ? "!" : "",
                 instr->guard->name);
    return guard;
}

static const char *under(const struct guard *guard)
{
    return *guard->text ? guard->text : NULL;
}

// The registers that an old value is loaded into, and under which predicate.
struct target {
    const char *under, *name;
    uint32_t first;
};

// Loads `count` elements of what the store overwrites, from number `first` on, which is at that
// many bytes behind the address.
static void emit_load_part(struct base_buf *out, const struct target *into, uint32_t bits,
                           uint32_t first, uint32_t count, uint32_t offset)
{
    base_buf_printf(out, "@%s ld.global.cg", into->under);
    if (count > 1)
        base_buf_printf(out, ".v%u", count);
    base_buf_printf(out, ".%s %s",
                    bits == 8    ? "u8"
                    : bits == 16 ? "u16"
                    : bits == 32 ? "b32"
                                 : "b64",
                    count > 1 ? "{" : "");
    for (uint32_t i = first; i < first + count; i++)
        base_buf_printf(out, "%s%%glint$%s%u", i > first ? ", " : "", into->name, into->first + i);
    base_buf_printf(out, "%s, [%%glint$a+%u];\n", count > 1 ? "}" : "", offset);
}

void instrument_emit_old(struct instrument_work *work, const struct instrument_probe *probe,
                         const char *under, const char *narrow, const char *wide, uint32_t first)
{
    struct base_buf *out = &work->out;
    const struct ptx_instr *instr = probe->site->instr;
    uint32_t bits = element_bits(instr), count = element_count(&instr->operands[1]);
    if (bits == 128) {
        bits = 64;
        count = 2;
    }
    const struct target into = {under, bits < 64 ? narrow : wide, first};
    if (probe->site->bytes > HALF) {
        emit_load_part(out, &into, bits, 0, count / 2, 0);
        emit_load_part(out, &into, bits, count / 2, count / 2, HALF);
    } else {
        emit_load_part(out, &into, bits, 0, count, 0);
    }
}

// Loads what the store overwrites into old<i>, or into wide<i> if elements have 64 bits. The first
// word decides when the store executes, so old0 has a value in any case.
static void emit_load(struct instrument_work *work, const struct instrument_probe *probe)
{
    struct base_buf *out = &work->out;
    const bool narrow = element_bits(probe->site->instr) < 64;
    if (probe->early) {
        instrument_emit_late(work, probe);
        return;
    }
    base_buf_printf(out, "mov.b%u %%glint$%s0, 0;\n", narrow ? 32 : 64, narrow ? "old" : "wide");
    instrument_emit_old(work, probe, "%glint$look", "old", "wide", 0);
    if (!narrow)
        base_buf_puts(out, "cvt.u32.u64 %glint$old0, %glint$wide0;\n");
}

static uint32_t own_bits(const struct ptx_operand *element)
{
    return ptx_type_info((enum ptx_type)element->reg->type)->bits;
}

// Sets %glint$new to the low bits of an element of at most 32 bits.
static void emit_low(struct base_buf *out, const struct ptx_operand *element, uint32_t bits)
{
    const uint32_t keep = bits < 32 ? (1u << bits) - 1 : UINT32_MAX;
    if (element->kind != PTX_OPERAND_REG) {
        base_buf_printf(out, "mov.b32 %%glint$new, %u;\n", (uint32_t)element->bits & keep);
        return;
    }
    const char *name = element->reg->name;
    if (own_bits(element) == 16)
        base_buf_printf(out, "mov.b16 %%glint$half, %s;\ncvt.u32.u16 %%glint$new, %%glint$half;\n",
                        name);
    else if (own_bits(element) == 64)
        base_buf_printf(out, "mov.b64 %%glint$d0, %s;\ncvt.u32.u64 %%glint$new, %%glint$d0;\n",
                        name);
    else
        base_buf_printf(out, "mov.b32 %%glint$new, %s;\n", name);
    if (bits < 32)
        base_buf_printf(out, "and.b32 %%glint$new, %%glint$new, %u;\n", keep);
}

// Sets `same` to whether the store writes what is there.
static void emit_compare(struct instrument_work *work, const struct ptx_instr *instr)
{
    struct base_buf *out = &work->out;
    const uint32_t bits = element_bits(instr);
    const struct ptx_operand *value = &instr->operands[1];
    if (bits == 128) {
        base_buf_printf(out, "mov.b128 {%%glint$wide2, %%glint$wide3}, %s;\n", value->reg->name);
        base_buf_puts(out,
                      "setp.eq.and.b64 %glint$same, %glint$wide0, %glint$wide2, %glint$look;\n"
                      "setp.eq.and.b64 %glint$same, %glint$wide1, %glint$wide3, %glint$same;\n");
        return;
    }
    for (uint32_t i = 0; i < element_count(value); i++) {
        const struct ptx_operand *element = element_of(value, i);
        if (bits < 64)
            emit_low(out, element, bits);
        else if (element->kind == PTX_OPERAND_REG)
            base_buf_printf(out, "mov.b64 %%glint$d0, %s;\n", element->reg->name);
        else
            base_buf_printf(out, "mov.b64 %%glint$d0, %llu;\n", (unsigned long long)element->bits);
        base_buf_printf(out, "setp.eq.and.b%u %%glint$same, %%glint$%s%u, %%glint$%s, %s;\n",
                        bits < 64 ? 32 : 64, bits < 64 ? "old" : "wide", i,
                        bits < 64 ? "new" : "d0", i ? "%glint$same" : "%glint$look");
    }
}

// Writes the program's instruction under another guard.
static void emit_held(struct instrument_work *work, const struct ptx_instr *instr)
{
    struct ptx_reg go = {.name = "%glint$go", .type = PTX_PRED, .vec = 1};
    struct ptx_instr held = *instr;
    held.guard = &go;
    held.guard_negated = false;
    ptx_print_instr(&held, &work->out);
    base_buf_putc(&work->out, '\n');
}

// --- Roots ---------------------------------------------------------------------------------------

// Marks what an instruction of variable size writes, piece by piece.
static void emit_range(struct instrument_work *work, const struct instrument_body *body,
                       const struct instrument_probe *probe, uint32_t past)
{
    struct base_buf *out = &work->out;
    const uint32_t next = work->labels++;
    instrument_emit_size(work, probe, past);
    base_buf_printf(out,
                    "cvt.u64.u32 %%glint$d4, %%glint$r0;\nadd.u64 %%glint$d4, %%glint$d4, "
                    "%%glint$a;\nsub.u64 %%glint$d4, %%glint$d4, 1;\n$glint$%u:\n",
                    next);
    if (probe->how == HOW_ROOT) {
        const uint32_t pieces = instrument_pieces_offset(work, body->kernel, probe->root);
        FILL(out, write_inside, NUMBER(pieces, pieces), NUMBER(under, 0));
        FILL(out, mark_piece, NUMBER(pieces, pieces), NUMBER(apart, 0));
    } else {
        FILL(out, store_call, NUMBER(kernel, body->kernel != NULL));
    }
    FILL(out, advance_piece, NUMBER(next, next), NUMBER(past, past));
}

// Looks up the piece, or both pieces, that an instruction writes.
static void emit_store_calls(struct instrument_work *work, const struct instrument_body *body,
                             const struct instrument_probe *probe)
{
    struct base_buf *out = &work->out;
    FILL(out, store_call, NUMBER(kernel, body->kernel != NULL));
    if (probe->site->bytes <= HALF)
        return;
    base_buf_printf(out, "add.u64 %%glint$a, %%glint$a, %u;\n", HALF);
    FILL(out, store_call, NUMBER(kernel, body->kernel != NULL));
    base_buf_printf(out, "sub.u64 %%glint$a, %%glint$a, %u;\n", HALF);
}

// Element level: accesses that leave the object of their root are looked up.
static void emit_outside(struct instrument_work *work, const struct instrument_body *body,
                         const struct instrument_probe *probe)
{
    struct base_buf *out = &work->out;
    const uint32_t past = work->labels++;
    base_buf_printf(out,
                    ".reg .pred %%glint$far;\n"
                    ".reg .b64 %%glint$pieces, %%glint$stored, %%glint$silent;\n"
                    "mov.pred %%glint$far, 0;\n@%%glint$in bra $glint$%u;\n",
                    past);
    instrument_emit_unless(out, probe->site->instr, past);
    FILL(out, write_outside, NUMBER(view, instrument_slot_offset(probe->root)), NUMBER(past, past));
    PUT(out, nothing_stored);
    emit_store_calls(work, body, probe);
    if (is_store(probe) && probe->examined)
        base_buf_puts(out, "setp.ne.u32 %glint$far, %glint$loads, 0;\n"
                           "setp.ne.u32 %glint$look, %glint$loads, 0;\n");
    base_buf_printf(out, "$glint$%u:\n", past);
    work->helpers |= HELPER_STORE;
}

// Returns whether what an instruction marks may be in two pieces. A single access is aligned.
static bool may_cross(const struct instrument_probe *probe)
{
    return probe->extent > probe->site->bytes || probe->extent > HALF;
}

// Returns whether many warps may set the same marks at once: the lanes of a warp may write pieces
// far from each other, or all blocks write the same pieces.
static bool is_apart(const struct instrument_probe *probe)
{
    return probe->lanes == LANES_APART || !(probe->site->deps & PTX_DEP_CTAID);
}

// Marks the pieces of this and of later instructions.
static void emit_marks(struct instrument_work *work, const struct instrument_probe *probe,
                       uint32_t pieces, const char *under)
{
    struct base_buf *out = &work->out;
    if (probe->lowest)
        base_buf_printf(out, "add.s64 %%glint$a, %%glint$a, %lld;\n", (long long)probe->lowest);
    FILL(out, write_inside, NUMBER(pieces, pieces), STRING(under, under));
    const bool apart = is_apart(probe);
    FILL(out, mark_piece, NUMBER(pieces, pieces), NUMBER(apart, apart));
    if (may_cross(probe))
        FILL(out, mark_last, NUMBER(pieces, pieces), STRING(under, under),
             NUMBER(more, probe->extent - 1), NUMBER(apart, apart));
    if (probe->lowest)
        base_buf_printf(out, "sub.s64 %%glint$a, %%glint$a, %lld;\n", (long long)probe->lowest);
}

// Returns whether the instruction is marked behind it, so that the compiler can load the old value
// before other loads: it moves no load across a store. An atomic operation whose address comes from
// memory takes long, and would delay the look at the mark.
static bool marks_later(const struct instrument_work *work, const struct instrument_probe *probe)
{
    return !work->elements && probe->examined && probe->how == HOW_ROOT &&
           probe->shape == SHAPE_FIXED &&
           (is_store(probe) || !(probe->site->deps & PTX_DEP_MEMORY));
}

static void emit_root(struct instrument_work *work, const struct instrument_body *body,
                      const struct instrument_probe *probe, const char *under)
{
    struct base_buf *out = &work->out;
    const uint32_t pieces = instrument_pieces_offset(work, body->kernel, probe->root);
    const bool later = marks_later(work, probe);
    if (!probe->marked && !later)
        emit_marks(work, probe, pieces, under);
    // Marking changes `in`, unless it is a single byte that is set blindly.
    if (probe->marked || may_cross(probe) || is_apart(probe) || later)
        FILL(out, write_inside, NUMBER(pieces, pieces), STRING(under, under));
    if (probe->examined)
        FILL(out, may_look, NUMBER(pieces, pieces));
    if (work->elements)
        emit_outside(work, body, probe);
}

// --- Addresses from elsewhere --------------------------------------------------------------------

void instrument_emit_stored_registers(struct instrument_work *work,
                                      const struct instrument_body *body)
{
    if (body->looks_up_stores)
        base_buf_puts(&work->out, ".reg .b64 %glint$pieces, %glint$stored, %glint$silent;\n");
}

void instrument_emit_nothing_stored(struct instrument_work *work,
                                    const struct instrument_body *body)
{
    if (body->looks_up_stores)
        PUT(&work->out, nothing_stored);
}

void instrument_emit_leave_stored(struct instrument_work *work, const struct instrument_body *body)
{
    if (!body->looks_up_stores)
        return;
    FILL(&work->out, leave_stored, NUMBER(past, work->labels),
         NUMBER(kernel, body->kernel != NULL));
    work->labels++;
}

static void emit_lookup(struct instrument_work *work, const struct instrument_body *body,
                        const struct instrument_probe *probe)
{
    struct base_buf *out = &work->out;
    const uint32_t past = work->labels++;
    work->helpers |= HELPER_STORE;
    base_buf_puts(out, "mov.u32 %glint$loads, 0;\n");
    instrument_emit_unless(out, probe->site->instr, past);
    if (probe->check_space)
        instrument_emit_space_check(work, past);
    if (probe->shape == SHAPE_SIZED)
        emit_range(work, body, probe, past);
    else
        emit_store_calls(work, body, probe);
    base_buf_printf(out, "$glint$%u:\nsetp.ne.u32 %%glint$look, %%glint$loads, 0;\n", past);
}

// --- All -----------------------------------------------------------------------------------------

// Counts whether the instruction changes something, and writes it.
static void emit_examined(struct instrument_work *work, const struct instrument_body *body,
                          const struct instrument_probe *probe, const char *under)
{
    struct base_buf *out = &work->out;
    const struct ptx_instr *instr = probe->site->instr;
    if (!is_store(probe)) {
        instrument_emit_atomic(work, body, instr, under);
        base_buf_puts(out, "@%glint$same ");
        instrument_emit_tally(work, body, probe->silent);
        if (probe->still != INSTRUMENT_NONE) {
            const uint32_t past = work->labels++;
            FILL(out, still_sector, NUMBER(past, past));
            base_buf_puts(out, "@%glint$p0 ");
            instrument_emit_tally(work, body, probe->still);
            base_buf_printf(out, "$glint$%u:\n", past);
        }
        return;
    }
    emit_load(work, probe);
    emit_compare(work, instr);
    if (probe->how == HOW_LOOKUP) {
        FILL(out, count_stored, NUMBER(bytes, probe->site->bytes));
    } else {
        if (work->elements) {
            const uint32_t past = work->labels++;
            FILL(out, count_outside, NUMBER(past, past), NUMBER(bytes, probe->site->bytes));
        }
        base_buf_puts(out, "@%glint$same ");
        instrument_emit_tally(work, body, probe->silent);
    }
    FILL(out, hold_back, STRING(under, under));
    emit_held(work, instr);
}

bool instrument_emit_write(struct instrument_work *work, const struct instrument_body *body,
                           const struct instrument_probe *probe)
{
    struct base_buf *out = &work->out;
    const struct ptx_instr *instr = probe->site->instr;
    const struct guard guard = guard_of(instr);
    if (!probe->writes)
        return false;
    PUT(out, write_registers);
    if (probe->counts_itself && !work->elements) {
        if (instr->guard)
            base_buf_printf(out, "@%s ", guard.text);
        instrument_emit_tally(work, body, probe->tally);
    }
    instrument_emit_address(out, probe->site->address, "%glint$a", INSTRUMENT_NONE, 0);
    if (probe->how == HOW_LOOKUP) {
        emit_lookup(work, body, probe);
    } else if (probe->shape == SHAPE_SIZED) {
        const uint32_t past = work->labels++;
        instrument_emit_unless(out, instr, past);
        emit_range(work, body, probe, past);
        base_buf_printf(out, "$glint$%u:\n", past);
    } else {
        emit_root(work, body, probe, under(&guard));
    }
    if (probe->examined)
        emit_examined(work, body, probe, under(&guard));
    if (marks_later(work, probe) && !probe->marked)
        emit_marks(work, probe, instrument_pieces_offset(work, body->kernel, probe->root),
                   under(&guard));
    base_buf_puts(out, "}\n");
    return probe->examined;
}
