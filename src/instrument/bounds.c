// SPDX-License-Identifier: Apache-2.0
// Object level: checks that accesses stay in the object that their root points into. A program may
// move a pointer into another object (one-based arrays, a walk backwards from the end, the distance
// between two objects); the root then does not show what was touched. So every access of a root is
// compared with the bounds of the root's object, and one flag of the launch says that an access was
// outside. A thread keeps that in a predicate until it leaves (flags.c). Accesses of one block at
// offsets from one register are compared together. Accesses in loops are compared outside the loop
// if that is sufficient (walks.c).
#include "bounds.h"

#include <stddef.h>

#include "fill.h"
#include "probe.h"
#include "walks.h"

static const struct ptx_operand *base_of(const struct ptx_operand *address)
{
    return address->kind == PTX_OPERAND_ADDRESS ? &address->elements[0] : address;
}

static int64_t offset_of(const struct ptx_operand *address)
{
    return address->kind == PTX_OPERAND_ADDRESS ? address->offset : 0;
}

// Returns whether the access is at a fixed place of a variable.
static bool is_inside(const struct ptx_site *site)
{
    const struct ptx_operand *base = base_of(site->address);
    const int64_t offset = offset_of(site->address);
    return base->kind == PTX_OPERAND_VAR && offset >= 0 && site->bytes &&
           (uint64_t)offset + site->bytes <= base->var->size_bytes;
}

static bool can_join(const struct instrument_body *body, const struct instrument_probe *probe)
{
    return probe->shape == SHAPE_FIXED && !probe->site->instr->guard && !body->may_exit &&
           base_of(probe->site->address)->kind == PTX_OPERAND_REG;
}

static uint32_t value_of(const struct instrument_body *body, const struct instrument_probe *probe)
{
    return ptx_ssa_value(body->facts->ssa, probe->site->instr, base_of(probe->site->address));
}

// Extends the check of an earlier access of the block from the same register to this access.
// Returns false if there is none.
static bool join(struct instrument_body *body, uint32_t index)
{
    enum { MOST_SPAN = 1 << 20 };
    const struct instrument_probe *probe = &body->probes[index];
    if (!can_join(body, probe))
        return false;
    const uint32_t value = value_of(body, probe);
    for (uint32_t i = index; value != PTX_NO_VALUE && i-- > 0;) {
        struct instrument_probe *first = &body->probes[i];
        if (first->site->block != probe->site->block)
            break;
        if (!first->bounded || first->root != probe->root || !can_join(body, first) ||
            value_of(body, first) != value)
            continue;
        const int64_t at = offset_of(probe->site->address) - offset_of(first->site->address);
        const int64_t low = at < first->low ? at : first->low;
        const int64_t end = first->low + first->span, own_end = at + probe->span;
        const int64_t high = own_end > end ? own_end : end;
        if (high - low > MOST_SPAN)
            return false;
        first->low = low;
        first->span = (uint32_t)(high - low);
        return true;
    }
    return false;
}

void instrument_plan_bounds(struct instrument_work *work, struct instrument_body *body)
{
    struct instrument_kernel *kernel = body->kernel;
    kernel->left_flag = INSTRUMENT_NONE;
    for (uint32_t i = 0; i < body->probe_count; i++) {
        struct instrument_probe *probe = &body->probes[i];
        if (probe->how != HOW_ROOT || is_inside(probe->site))
            continue;
        // For an access of variable size, the first byte is compared here, and the last one by
        // instrument_emit_bounds.
        probe->span = probe->shape == SHAPE_FIXED && probe->site->bytes ? probe->site->bytes : 1;
        probe->bounded = !join(body, i);
        if (kernel->left_flag == INSTRUMENT_NONE)
            kernel->left_flag = kernel->flag_count++;
    }
    for (uint32_t i = 0; i < body->probe_count; i++) {
        struct instrument_probe *probe = &body->probes[i];
        if (!probe->bounded)
            continue;
        probe->walks = instrument_plan_walk(work, body, probe);
        if (probe->span > kernel->roots[probe->root].reach)
            kernel->roots[probe->root].reach = probe->span;
    }
    instrument_join_walks(body);
    instrument_thin_rounds(work, body);
    for (uint32_t i = 0; i < body->probe_count; i++)
        body->probes[i].reach =
            body->probes[i].bounded ? kernel->roots[body->probes[i].root].reach : 0;
}

void instrument_emit_within(struct instrument_work *work, const struct instrument_probe *probe)
{
    FILL(&work->out, within, NUMBER(bounds, instrument_bounds_offset(probe->root)),
         NUMBER(more, probe->span < probe->reach ? probe->reach - probe->span : 0));
}

void instrument_emit_bounds(struct instrument_work *work, const struct instrument_probe *probe)
{
    struct base_buf *out = &work->out;
    instrument_emit_address(out, probe->site->address, "%glint$a", INSTRUMENT_NONE, probe->low);
    instrument_emit_within(work, probe);
    if (probe->shape == SHAPE_SIZED) // r0 holds the size, which is not 0
        FILL(out, within_sized, NUMBER(bounds, instrument_bounds_offset(probe->root)),
             NUMBER(more, probe->reach));
}
