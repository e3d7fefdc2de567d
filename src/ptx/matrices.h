// SPDX-License-Identifier: Apache-2.0
// Matrices in shared memory that instructions name by descriptors: which bytes they occupy. Covers
// the operands of wgmma.mma_async, which have 32 bytes along K whatever their type is. A sparse A
// has as many in memory, because only half of its elements are stored, and B then has 64.
//
// A descriptor holds the matrix's start address (bits 0 to 13), two distances, "leading" (bits 16
// to 29) and "stride" (bits 32 to 45), all in units of 16 bytes, and the swizzling mode (bits 62
// and 63). Its base offset (bits 49 to 51) says at which line of 128 bytes, modulo 8, the pattern
// of swizzling starts.
//
// Matrices consist of chunks of 16 bytes, which are adjacent elements along K or, if the
// instruction transposes the operand, along M or N. Eight chunks are a core matrix: those of eight
// rows, or of eight places along K. Without swizzling, they follow each other. With it, they are
// 32, 64 or 128 bytes apart, and core matrices fill the gaps, in an order that depends on the
// address.
#ifndef GLINT_PTX_MATRICES_H
#define GLINT_PTX_MATRICES_H

#include "ir.h"

enum {
    PTX_CHUNK_BYTES = 16,
    PTX_MATRIX_K_BYTES = 32,
    PTX_CORE_CHUNKS = 8,
    PTX_MOST_CHUNKS = 1024, // of one matrix
};

struct ptx_matrix {
    uint32_t rows;   // along M or N: 64, or 8 to 256
    bool transposed; // elements of 16 bits that are adjacent along M or N
    bool is_long;    // 64 bytes along K: the B of a sparse product
};

// Sets *matrix to that of operand number 1 (A) or 2 (B), if the instruction is a wgmma.mma_async
// whose operand is a descriptor. Returns false otherwise.
bool ptx_matrix_of(const struct ptx_instr *instr, uint8_t operand, struct ptx_matrix *matrix);

// Returns how many chunks along K the matrix has for each row: 2, or 4 if it is long.
static inline uint32_t ptx_matrix_parts(const struct ptx_matrix *matrix)
{
    return (matrix->is_long ? 2 : 1) * PTX_MATRIX_K_BYTES / PTX_CHUNK_BYTES;
}

// Returns how many chunks the matrix has. With p parts, chunk 8 (p g + h) + i is, of row 8 g + i,
// the part h of the bytes along K; in a transposed matrix it is, of rows 8 g to 8 g + 7, the place
// 8 h + i along K. A quarter of the rows of A is therefore a quarter of its chunks.
uint32_t ptx_matrix_chunks(const struct ptx_matrix *matrix);

// Returns whether the places of chunks are documented. They are not if rows of 64 bytes along K are
// swizzled in units of 32 bytes.
bool ptx_matrix_is_known(const struct ptx_matrix *matrix, uint64_t descriptor);

// Returns whether the places of chunks are known, and do not depend on a base offset, which no GPU
// has confirmed.
bool ptx_matrix_is_plain(const struct ptx_matrix *matrix, uint64_t descriptor);

// Returns the address of a chunk in shared memory.
uint32_t ptx_matrix_chunk(const struct ptx_matrix *matrix, uint64_t descriptor, uint32_t chunk);

#endif
