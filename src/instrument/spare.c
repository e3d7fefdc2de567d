// SPDX-License-Identifier: Apache-2.0
// Spare shared memory: see spare.h. All dynamic arrays of a kernel begin at the same address, so
// code of clones names one of its own, and adds the distance that the launch context holds.
#include "spare.h"

static bool is_size(const struct ptx_operand *operand)
{
    return operand->kind == PTX_OPERAND_SREG && (operand->sreg == PTX_SREG_ID_DYNAMIC_SMEM_SIZE ||
                                                 operand->sreg == PTX_SREG_ID_TOTAL_SMEM_SIZE ||
                                                 operand->sreg == PTX_SREG_ID_AGGR_SMEM_SIZE);
}

bool instrument_reads_sizes(const struct ptx_instr *instr)
{
    for (uint8_t i = 0; i < instr->operand_count; i++) {
        if (is_size(&instr->operands[i]))
            return true;
    }
    return false;
}

bool instrument_may_spare(const struct instrument_body *body)
{
    // Functions that the text does not define may read anything.
    return !body->reads_sizes && !body->calls_outside && !body->calls_any && !body->launches;
}

static uint64_t round_up(uint64_t bytes)
{
    return (bytes + INSTRUMENT_SPARE_ALIGN - 1) / INSTRUMENT_SPARE_ALIGN * INSTRUMENT_SPARE_ALIGN;
}

// Finds where counters of pairs and of quads begin, and where those end, behind the head.
static void lay_out(const struct instrument_kernel *kernel, uint32_t dynamic_bytes,
                    uint32_t word_bytes, uint64_t ends[3])
{
    const uint64_t words = 1 + instrument_word_count(kernel, dynamic_bytes);
    const bool units = word_bytes == kernel->spare_word;
    ends[0] = round_up(words * word_bytes);
    ends[1] = ends[0] + (kernel->pairs && units ? round_up((words + 1) / 2 * word_bytes) : 0);
    ends[2] = ends[1] + (kernel->quads && units ? round_up((words + 3) / 4 * word_bytes) : 0);
}

uint32_t instrument_spare_bytes(const struct instrument_kernel *kernel, uint32_t dynamic_bytes,
                                uint32_t word_bytes)
{
    uint64_t ends[3];
    lay_out(kernel, dynamic_bytes, word_bytes, ends);
    if (!kernel->may_spare || !kernel->spare_head || !word_bytes || ends[2] > INT32_MAX / 2)
        return 0;
    return kernel->spare_head + (uint32_t)ends[2];
}

void instrument_set_spare(const struct instrument_kernel *kernel, uint32_t dynamic_bytes,
                          uint32_t word_bytes, struct instrument_context *context)
{
    uint64_t ends[3];
    lay_out(kernel, dynamic_bytes, word_bytes, ends);
    context->spare = instrument_spare_at(dynamic_bytes);
    context->spare_bytes = kernel->spare_head + (uint32_t)ends[2];
    context->spare_word = word_bytes;
    context->spare_units[0] = (uint32_t)ends[0];
    context->spare_units[1] = (uint32_t)ends[1];
}

static uint32_t align_of(const struct ptx_var *var)
{
    const uint32_t align =
        var->align ? var->align : ptx_type_bytes((enum ptx_type)var->type) * var->vec;
    return var->space == PTX_SPACE_SHARED && !var->size_bytes ? align : 0;
}

// Dynamic memory begins at a multiple of the largest alignment of the arrays that a kernel names.
// An array with less than that might be placed lower than the others.
void instrument_emit_spare(const struct instrument_work *work, struct base_buf *out)
{
    uint32_t align = INSTRUMENT_SPARE_ALIGN;
    for (const struct ptx_item *item = work->ptx->first; item; item = item->next) {
        if (item->kind == PTX_ITEM_VAR && align_of(item->var) > align)
            align = align_of(item->var);
    }
    base_buf_printf(out, ".extern .shared .align %u .b8 " INSTRUMENT_SPARE "[];\n", align);
}
