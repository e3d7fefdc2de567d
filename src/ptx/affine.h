// SPDX-License-Identifier: Apache-2.0
// Affine forms: a value as a constant plus a sum of terms, each a coefficient times a product of
// symbols: components of tid, ctaid, ntid and nctaid, kernel parameters, addresses of variables,
// loop counters, and values nothing more is known of. Trip counts of loops in the same terms.
//
// A form is exact in the arithmetic of its width. 64-bit addresses are often computed from 32-bit
// parts: `assumes_no_wrap` says that the form holds only if no such part overflowed or was negative
// where it was extended without sign. Whoever needs certainty checks the range at run time.
#ifndef GLINT_PTX_AFFINE_H
#define GLINT_PTX_AFFINE_H

#include "ssa.h"

enum ptx_symbol_kind {
    PTX_SYMBOL_TID, // of a component: x, y, z
    PTX_SYMBOL_NTID,
    PTX_SYMBOL_CTAID,
    PTX_SYMBOL_NCTAID,
    PTX_SYMBOL_LANEID,
    PTX_SYMBOL_PARAM,   // a kernel parameter, at a byte offset
    PTX_SYMBOL_VAR,     // the address of a variable
    PTX_SYMBOL_COUNTER, // how often a loop has gone round: 0, 1, 2, ...
    PTX_SYMBOL_VALUE,   // a value of ptx_ssa
};

struct ptx_symbol {
    uint8_t kind;      // enum ptx_symbol_kind
    uint8_t component; // 0, 1, 2 for x, y, z
    uint32_t index;    // parameter, loop or value
    uint32_t offset;   // in a parameter
    const struct ptx_var *var;
    uint32_t next; // 1 + another symbol of the same bucket
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

// How often a loop's header runs for each time the loop is entered, from the one exit that decides:
// ceil(numerator / step) + 1, and 1 where that is less. It holds unless the counter wraps round.
struct ptx_trip {
    bool known;
    bool exact;       // the loop has no other exit
    bool is_constant; // numerator is one: `constant` is the count
    uint64_t constant;
    struct ptx_linear numerator;
    int64_t step;   // positive
    bool inclusive; // the test was <=: one round more where the division is even
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

struct ptx_affine *ptx_affine_build(const struct ptx_ssa *ssa, struct base_arena *arena);

// The form of an operand: register, special register, integer, address of a variable, or [base +
// offset].
struct ptx_linear ptx_operand_form(struct ptx_affine *affine, const struct ptx_instr *instr,
                                   const struct ptx_operand *operand);

// True where the form does not change from one round of the loop to the next.
bool ptx_form_invariant(const struct ptx_affine *affine, const struct ptx_linear *form,
                        uint32_t loop);

// The coefficient of the term that is just this symbol: of tid.x, of a counter; 0 where it is in
// none. *only is set to false where the symbol also stands in a product.
int64_t ptx_form_coefficient(const struct ptx_affine *affine, const struct ptx_linear *form,
                             enum ptx_symbol_kind kind, unsigned component_or_index, bool *only);

// True where a term has a symbol of that kind.
bool ptx_form_mentions(const struct ptx_affine *affine, const struct ptx_linear *form,
                       enum ptx_symbol_kind kind);

// How variables are called; without one, as in the text.
struct ptx_namer {
    const char *(*var)(void *user, const struct ptx_var *var);
    void *user;
};

// Appends it for people: "p0 + 4*tid.x + 4*ctaid.x*ntid.x + 16*i1". namer may be NULL.
void ptx_form_print(const struct ptx_affine *affine, const struct ptx_linear *form,
                    const struct ptx_namer *namer, struct base_buf *out);

// A constant as an operand of that type sees it: 32-bit types cut and extend it.
int64_t ptx_constant_as(int64_t constant, enum ptx_type type);

// For trips.c.
struct ptx_linear ptx_form_subtract(struct ptx_affine *affine, const struct ptx_linear *a,
                                    const struct ptx_linear *b, bool *fits);
void ptx_affine_find_trips(struct ptx_affine *affine);

#endif
