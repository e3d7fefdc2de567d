// SPDX-License-Identifier: Apache-2.0
// Affine forms of values, and trip counts of loops in the same terms. A form is a constant plus a
// sum of terms, each of which is a coefficient times a product of symbols: components of tid,
// ctaid, ntid and nctaid, kernel parameters, addresses of variables, loop counters, and values that
// are not analysed further.
//
// A form is exact in the arithmetic of its width. 64-bit addresses are often computed from 32-bit
// parts: `assumes_no_wrap` says that the form holds only if no such part overflowed, or was
// negative when it was zero-extended. Code that needs certainty must check the range at run time.
#ifndef GLINT_PTX_AFFINE_H
#define GLINT_PTX_AFFINE_H

#include "ssa.h"

enum ptx_symbol_kind {
    PTX_SYMBOL_TID, // with a component: x, y, z
    PTX_SYMBOL_NTID,
    PTX_SYMBOL_CTAID,
    PTX_SYMBOL_NCTAID,
    PTX_SYMBOL_LANEID,
    PTX_SYMBOL_PARAM,   // a kernel parameter, at a byte offset
    PTX_SYMBOL_VAR,     // the address of a variable
    PTX_SYMBOL_COUNTER, // iterations that a loop has completed: 0, 1, 2, ...
    PTX_SYMBOL_VALUE,   // a value of ptx_ssa that is not analysed further
};

struct ptx_symbol {
    uint8_t kind;      // enum ptx_symbol_kind
    uint8_t component; // 0, 1, 2 for x, y, z
    uint32_t index;    // parameter, loop or value
    uint32_t offset;   // in a parameter
    const struct ptx_var *var;
    uint32_t next; // 1 + the next symbol of the same bucket, or 0
};

enum { PTX_TERM_SYMBOLS = 4, PTX_FORM_TERMS = 16 };

struct ptx_term {
    int64_t coefficient;
    uint32_t symbols[PTX_TERM_SYMBOLS]; // indices into ptx_affine's symbols, ascending
    uint8_t symbol_count;
};

struct ptx_linear {
    int64_t constant;
    struct ptx_term *terms;
    uint16_t term_count;
    bool assumes_no_wrap;
};

// How often a loop's header executes each time the loop is entered, derived from the one exit that
// decides: max(1, ceil(numerator / step) + 1). It holds unless the counter wraps around.
struct ptx_trip {
    bool known;
    bool exact;       // the loop has no other exit
    bool is_constant; // the numerator is constant, and `constant` is the count
    uint64_t constant;
    struct ptx_linear numerator;
    int64_t step;   // positive
    bool inclusive; // the test was <=: one more iteration if the division has no remainder
};

struct ptx_affine {
    const struct ptx_ssa *ssa;
    struct ptx_symbol *symbols;
    uint32_t symbol_count;
    struct ptx_linear *forms; // by value
    struct ptx_trip *trips;   // by loop
    struct base_arena *arena;
    size_t symbol_capacity;
    uint32_t *buckets; // by hash: 1 + the newest symbol there
    uint32_t bucket_count;
};

// Computes the forms of all values and the trip counts of all loops. Jumps to arena->escape if
// memory runs out.
struct ptx_affine *ptx_affine_build(const struct ptx_ssa *ssa, struct base_arena *arena);

// Returns the form of an operand: a register, special register, integer, address of a variable, or
// [base + offset].
struct ptx_linear ptx_operand_form(struct ptx_affine *affine, const struct ptx_instr *instr,
                                   const struct ptx_operand *operand);

// Returns the constant as an operand of that type has it: 32-bit types truncate and extend it.
int64_t ptx_constant_as(int64_t constant, enum ptx_type type);

// --- Between affine.c and trips.c ----------------------------------------------------------------

// Returns a - b. Sets *fits to false if the difference has too many terms.
struct ptx_linear ptx_form_subtract(struct ptx_affine *affine, const struct ptx_linear *a,
                                    const struct ptx_linear *b, bool *fits);
void ptx_affine_find_trips(struct ptx_affine *affine);

#endif
