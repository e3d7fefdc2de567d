// SPDX-License-Identifier: Apache-2.0
// Finds the bytes of matrices that descriptors name: see matrices.h. The layouts are the canonical
// ones of the PTX manual. src/instrument/probes/described.ptx computes the same in a kernel.
#include "matrices.h"

#include <stdlib.h>
#include <string.h>

enum { ADDRESS_MASK = (1 << 18) - 1, FIELD_MASK = (1 << 14) - 1 };

// --- Instructions --------------------------------------------------------------------------------

enum { OPERAND_A = 1, OPERAND_B, OPERANDS_BEFORE_TRANS = 6, ROWS_OF_A = 64, MOST_ROWS = 256 };
enum { OPERANDS_OF_SPARSITY = 2 }; // the metadata and the selector, behind B

static bool is_sparse(const struct ptx_instr *instr)
{
    return strstr(instr->form->text, ".sp.") != NULL;
}

// Reads .m64nNkK from the spelling, because the tables do not have every shape.
static bool find_shape(const struct ptx_form *form, unsigned long *n, unsigned long *k)
{
    const char *at = strstr(form->text, ".m64n");
    char *end;
    if (!at)
        return false;
    *n = strtoul(at + strlen(".m64n"), &end, 10);
    if (*end != 'k')
        return false;
    *k = strtoul(end + 1, &end, 10);
    return *end == '.' && *n && *n <= MOST_ROWS && *n % PTX_CORE_CHUNKS == 0;
}

// Only operands of 16 bits can be transposed. The immediates that say so are the last ones, and
// there is none for an A in registers. Returns false if one is missing.
static bool find_transposed(const struct ptx_instr *instr, uint8_t operand, bool *transposed)
{
    const bool named = instr->operands[OPERAND_A].kind == PTX_OPERAND_REG;
    *transposed = false;
    if (ptx_type_info((enum ptx_type)instr->form->types[operand])->bits != 16)
        return true;
    const uint8_t at = OPERANDS_BEFORE_TRANS + (operand == OPERAND_B && named) +
                       (is_sparse(instr) ? OPERANDS_OF_SPARSITY : 0);
    if (at >= instr->operand_count || instr->operands[at].kind != PTX_OPERAND_INT)
        return false;
    *transposed = instr->operands[at].bits != 0;
    return true;
}

bool ptx_matrix_of(const struct ptx_instr *instr, uint8_t operand, struct ptx_matrix *matrix)
{
    unsigned long n, k;
    if (ptx_op(instr) != PTX_OP_WGMMA_MMA_ASYNC || (operand != OPERAND_A && operand != OPERAND_B) ||
        operand >= instr->operand_count || instr->operands[operand].kind != PTX_OPERAND_REG ||
        instr->form->type_count <= OPERAND_B || !find_shape(instr->form, &n, &k) ||
        k * ptx_type_info((enum ptx_type)instr->form->types[operand])->bits !=
            (is_sparse(instr) ? 2 : 1) * PTX_MATRIX_K_BYTES * 8)
        return false;
    matrix->rows = operand == OPERAND_A ? ROWS_OF_A : (uint32_t)n;
    matrix->is_long = operand == OPERAND_B && is_sparse(instr);
    return find_transposed(instr, operand, &matrix->transposed);
}

// --- Descriptors ---------------------------------------------------------------------------------

uint32_t ptx_matrix_chunks(const struct ptx_matrix *matrix)
{
    return matrix->rows * ptx_matrix_parts(matrix);
}

static uint32_t field(uint64_t descriptor, unsigned shift)
{
    return (uint32_t)(descriptor >> shift & FIELD_MASK) * PTX_CHUNK_BYTES;
}

// Returns log2 of the number of chunks that lie between two chunks of a core matrix: 0 without
// swizzling, and 3, 2 or 1 in modes 1, 2 and 3, of 128, 64 and 32 bytes.
static unsigned swizzle_bits(uint64_t descriptor)
{
    const unsigned mode = (unsigned)(descriptor >> 62);
    return mode ? 4 - mode : 0;
}

static uint32_t base_offset(uint64_t descriptor)
{
    return (uint32_t)(descriptor >> 49 & 7);
}

bool ptx_matrix_is_known(const struct ptx_matrix *matrix, uint64_t descriptor)
{
    const uint32_t parts = 1u << swizzle_bits(descriptor);
    return parts == 1 || matrix->transposed || parts >= ptx_matrix_parts(matrix);
}

bool ptx_matrix_is_plain(const struct ptx_matrix *matrix, uint64_t descriptor)
{
    return ptx_matrix_is_known(matrix, descriptor) &&
           (!swizzle_bits(descriptor) || !base_offset(descriptor));
}

uint32_t ptx_matrix_chunk(const struct ptx_matrix *matrix, uint64_t descriptor, uint32_t chunk)
{
    const unsigned bits = swizzle_bits(descriptor);
    const uint32_t mask = (1u << bits) - 1, parts = ptx_matrix_parts(matrix);
    const uint32_t leading = field(descriptor, 16), stride = field(descriptor, 32);
    const uint32_t in_core = chunk % PTX_CORE_CHUNKS, part = chunk / PTX_CORE_CHUNKS % parts,
                   group = chunk / PTX_CORE_CHUNKS / parts;
    uint32_t address = field(descriptor, 0) + in_core * (PTX_CHUNK_BYTES << bits);
    if (!bits)
        address += part * leading + group * stride;
    else if (!matrix->transposed)
        address += part * PTX_CHUNK_BYTES + group * stride;
    else
        address += part * stride + (group & mask) * PTX_CHUNK_BYTES + (group >> bits) * leading;
    const uint32_t line = (address >> 7) - base_offset(descriptor);
    return (address ^ (line & mask) * PTX_CHUNK_BYTES) & ADDRESS_MASK;
}
