// SPDX-License-Identifier: Apache-2.0
// Memory sites: every instruction of a function that touches memory, with all that the analyses
// know of it in one row. What `glint ptx` prints and what the instrumenter starts from.
#ifndef GLINT_PTX_SITES_H
#define GLINT_PTX_SITES_H

#include "facts.h"

enum ptx_access {
    PTX_ACCESS_LOAD,
    PTX_ACCESS_STORE,
    PTX_ACCESS_ATOMIC,
};

enum ptx_site_class {
    PTX_SITE_UNIFORM,  // all threads of a block that are there use one address
    PTX_SITE_AFFINE,   // the address is an affine form of thread and block indices
    PTX_SITE_COMPUTED, // from indices and parameters, but not in an affine way
    PTX_SITE_INDIRECT, // from what memory holds
};

struct ptx_site {
    struct ptx_instr *instr;
    const struct ptx_operand *address;
    uint8_t access;       // enum ptx_access
    uint8_t kind;         // enum ptx_site_class
    uint8_t space;        // enum ptx_space as written
    uint8_t actual_space; // the same, generic addresses resolved where possible
    uint32_t bytes;       // each thread moves; 0: not fixed by the instruction
    struct ptx_access_type type;
    struct ptx_origin origin;
    struct ptx_linear form;
    uint16_t deps;       // what the address depends on, as sums of enum ptx_dep
    uint16_t block_deps; // what decides whether the site is reached
    uint32_t block;
    uint32_t loop; // the innermost one, or PTX_NO_LOOP
    uint32_t loop_depth;
    bool loop_invariant; // one address in every round, and accessed in every round (GMProf 4.1)
    bool reachable;
};

// Fills *sites (in facts' memory) with the function's sites in text order; parameter space is left
// out, texture and surface instructions too. A copy from global to shared memory is two sites.
enum base_code ptx_sites_find(struct ptx_facts *facts, struct ptx_site **sites, uint32_t *count,
                              struct base_error *error);

const char *ptx_access_name(enum ptx_access access);
const char *ptx_site_class_name(enum ptx_site_class kind);

#endif
