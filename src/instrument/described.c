// SPDX-License-Identifier: Apache-2.0
// Matrices that instructions name by descriptors: see described.h. An operand counts as one load of
// each of its words by the whole warpgroup. Its chunks of 16 bytes are divided among the threads,
// each of which counts its chunks as if it loaded them, with the probes of other accesses. To
// these, an operand is a site of its own, which src/ptx does not have: a load of 16 bytes whose
// address the probe computes.
//
// The probe precedes the instruction and touches neither its registers nor its operands. Between
// products that are in flight, it makes ptxas wait for them, which costs time only.
#include "described.h"

#include "fill.h"
#include "probe.h"
#include "ranges.h"
#include "words.h"

enum { GROUP_THREADS = 128 };

bool instrument_add_described(struct instrument_work *work, struct instrument_body *body,
                              const struct ptx_described *described, uint32_t array)
{
    const struct ptx_instr *instr = described->instr;
    struct instrument_described *made = base_new(&work->scratch, struct instrument_described);
    if (!ptx_matrix_of(instr, (uint8_t)(described->operand - instr->operands), &made->matrix))
        return false;
    made->operand = described->operand;
    made->site = (struct ptx_site){
        .instr = (struct ptx_instr *)instr,
        .address = described->operand,
        .access = PTX_ACCESS_LOAD,
        .space = PTX_SPACE_SHARED,
        .actual_space = PTX_SPACE_SHARED,
        .bytes = PTX_CHUNK_BYTES,
        .lanes = UINT32_MAX,
        .reachable = true,
    };
    made->probe = (struct instrument_probe){
        .site = &made->site, .words = true, .array = array, .described = made};
    *base_array_add(&body->described, &work->scratch) = made;
    return true;
}

void instrument_emit_described_address(struct instrument_work *work,
                                       const struct instrument_described *described, uint32_t lost)
{
    FILL(&work->out, described_address, STRING(descriptor, described->operand->reg->name),
         NUMBER(transposed, described->matrix.transposed), NUMBER(lost, lost));
}

static void emit_operand(struct instrument_work *work, const struct instrument_body *body,
                         const struct instrument_described *described)
{
    const uint32_t chunks = ptx_matrix_chunks(&described->matrix);
    const uint32_t next = work->labels++, past = work->labels++, never = work->labels++;
    instrument_emit_unless(&work->out, described->site.instr, never);
    FILL(&work->out, described_first, NUMBER(chunks, chunks), NUMBER(next, next),
         NUMBER(past, past));
    instrument_emit_words(work, body, &described->probe);
    if (!work->light)
        instrument_emit_ranges(work, body, &described->probe);
    if (chunks > GROUP_THREADS)
        FILL(&work->out, described_next, NUMBER(next, next));
    // All lanes must execute the instruction together.
    base_buf_printf(&work->out, "$glint$%u:\nbar.warp.sync -1;\n}\n$glint$%u:\n", past, never);
}

void instrument_emit_described(struct instrument_work *work, const struct instrument_body *body,
                               const struct ptx_instr *instr)
{
    if (ptx_op(instr) != PTX_OP_WGMMA_MMA_ASYNC)
        return;
    for (size_t i = 0; i < body->described.count; i++) {
        if (body->described.items[i]->site.instr == instr)
            emit_operand(work, body, body->described.items[i]);
    }
}
