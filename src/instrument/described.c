// SPDX-License-Identifier: Apache-2.0
// What instructions access without naming each address: see described.h. It is divided into chunks
// of 16 bytes, which are counted with the probes of other accesses. To these, each operand is a
// site of its own, which src/ptx does not have: an access of 16 bytes whose address the probe
// computes.
//
// A matrix counts as one load of each of its words by the whole warpgroup, whose threads divide its
// chunks among them. Memory that a bulk copy moves counts as accessed by the thread that starts the
// copy, which goes over all chunks. The barrier of a copy is one access of its 8 bytes.
//
// The probe precedes the instruction and touches neither its registers nor its operands. Between
// products that are in flight, it makes ptxas wait for them, which costs time only.
#include "described.h"

#include <string.h>

#include "fill.h"
#include "plan.h"
#include "probe.h"
#include "ranges.h"
#include "words.h"

enum { GROUP_THREADS = 128, SIZE_OPERAND = 2 };

// --- What is counted -----------------------------------------------------------------------------

// Adds what has its site, and gives it a probe.
static void add(struct instrument_work *work, struct instrument_body *body,
                struct instrument_described *made, uint32_t array)
{
    made->probe = instrument_no_probe(&made->site);
    made->probe.words = true;
    made->probe.array = array;
    made->probe.described = made;
    *base_array_add(&body->described, &work->scratch) = made;
}

bool instrument_add_described(struct instrument_work *work, struct instrument_body *body,
                              const struct ptx_described *described, uint32_t array)
{
    const struct ptx_instr *instr = described->instr;
    struct instrument_described *made = base_new(&work->scratch, struct instrument_described);
    if (!ptx_matrix_of(instr, (uint8_t)(described->operand - instr->operands), &made->matrix))
        return false;
    made->descriptor = described->operand;
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
    add(work, body, made, array);
    return true;
}

bool instrument_is_bulk_copy(const struct ptx_instr *instr)
{
    return ptx_op(instr) == PTX_OP_CP_ASYNC_BULK || ptx_op(instr) == PTX_OP_CP_REDUCE_ASYNC_BULK;
}

// Returns whether the copy moves all bytes from its address on, as many as its size says.
static bool copies_all(const struct ptx_instr *instr)
{
    if (instr->operand_count <= SIZE_OPERAND || strstr(instr->form->text, ".cp_mask") ||
        strstr(instr->form->text, ".ignore_oob"))
        return false;
    const struct ptx_operand *size = &instr->operands[SIZE_OPERAND];
    return size->kind == PTX_OPERAND_INT ||
           (size->kind == PTX_OPERAND_REG &&
            ptx_type_info((enum ptx_type)size->reg->type)->bits == 32);
}

bool instrument_add_copy(struct instrument_work *work, struct instrument_body *body,
                         const struct instrument_probe *probe, uint32_t array)
{
    const struct ptx_instr *instr = probe->site->instr;
    if (!copies_all(instr))
        return false;
    struct instrument_described *made = base_new(&work->scratch, struct instrument_described);
    made->size = &instr->operands[SIZE_OPERAND];
    made->copies = 1 + (uint32_t)(probe - body->probes);
    made->site = *probe->site;
    made->site.bytes = PTX_CHUNK_BYTES;
    add(work, body, made, array);
    made->probe.shape = SHAPE_SIZED;
    made->probe.size = SIZE_OPERAND;
    return true;
}

void instrument_add_barrier(struct instrument_work *work, struct instrument_body *body,
                            const struct ptx_site *site, uint32_t array)
{
    struct instrument_described *made = base_new(&work->scratch, struct instrument_described);
    made->site = *site;
    add(work, body, made, array);
}

// --- Code ----------------------------------------------------------------------------------------

void instrument_emit_described_address(struct instrument_work *work,
                                       const struct instrument_described *described, uint32_t lost)
{
    FILL(&work->out, described_address, STRING(descriptor, described->descriptor->reg->name),
         NUMBER(transposed, described->matrix.transposed),
         NUMBER(is_long, described->matrix.is_long),
         NUMBER(is_wide, described->matrix.is_long && !described->matrix.transposed),
         NUMBER(lost, lost));
}

static void emit_access(struct instrument_work *work, const struct instrument_body *body,
                        const struct instrument_described *described)
{
    instrument_emit_words(work, body, &described->probe);
    if (!work->light)
        instrument_emit_ranges(work, body, &described->probe);
}

static void emit_matrix(struct instrument_work *work, const struct instrument_body *body,
                        const struct instrument_described *described)
{
    const uint32_t chunks = ptx_matrix_chunks(&described->matrix);
    const uint32_t next = work->labels++, past = work->labels++, never = work->labels++;
    instrument_emit_unless(&work->out, described->site.instr, never);
    PUT(&work->out, described_registers);
    PUT(&work->out, described_group);
    base_buf_printf(&work->out, "mov.b32 %%glint$chunks, %u;\n", chunks);
    FILL(&work->out, described_first, NUMBER(next, next), NUMBER(past, past));
    emit_access(work, body, described);
    if (chunks > GROUP_THREADS)
        FILL(&work->out, described_next, NUMBER(threads, GROUP_THREADS), NUMBER(next, next));
    // All lanes must execute the instruction together.
    base_buf_printf(&work->out, "$glint$%u:\nbar.warp.sync -1;\n}\n$glint$%u:\n", past, never);
}

static void emit_copy(struct instrument_work *work, const struct instrument_body *body,
                      const struct instrument_described *described)
{
    const uint32_t next = work->labels++, past = work->labels++, never = work->labels++;
    instrument_emit_unless(&work->out, described->site.instr, never);
    PUT(&work->out, described_registers);
    base_buf_puts(&work->out, "mov.b32 %glint$chunk, 0;\nmov.b32 %glint$chunks, ");
    ptx_print_operand(described->size, &work->out);
    base_buf_puts(&work->out, ";\nshr.u32 %glint$chunks, %glint$chunks, 4;\n");
    FILL(&work->out, described_first, NUMBER(next, next), NUMBER(past, past));
    emit_access(work, body, described);
    FILL(&work->out, described_next, NUMBER(threads, 1), NUMBER(next, next));
    base_buf_printf(&work->out, "$glint$%u:\n}\n$glint$%u:\n", past, never);
}

void instrument_emit_described(struct instrument_work *work, const struct instrument_body *body,
                               const struct ptx_instr *instr)
{
    if (ptx_op(instr) != PTX_OP_WGMMA_MMA_ASYNC && !instrument_is_bulk_copy(instr))
        return;
    for (size_t i = 0; i < body->described.count; i++) {
        const struct instrument_described *described = body->described.items[i];
        if (described->site.instr != instr)
            continue;
        if (described->descriptor)
            emit_matrix(work, body, described);
        else if (described->size)
            emit_copy(work, body, described);
        else
            emit_access(work, body, described);
    }
}
