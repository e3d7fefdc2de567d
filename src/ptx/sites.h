// SPDX-License-Identifier: Apache-2.0
// Memory sites: every instruction of a function that accesses memory, with the results of all
// analyses. `glint ptx` prints sites, and src/instrument begins with them.
#ifndef GLINT_PTX_SITES_H
#define GLINT_PTX_SITES_H

#include "facts.h"

enum ptx_access {
    PTX_ACCESS_LOAD,
    PTX_ACCESS_STORE,
    PTX_ACCESS_ATOMIC,
};

enum ptx_site_class {
    PTX_SITE_UNIFORM,  // all threads of a block that execute it use one address
    PTX_SITE_AFFINE,   // the address is an affine form of thread and block indices
    PTX_SITE_COMPUTED, // computed from indices and parameters, but not affine
    PTX_SITE_INDIRECT, // computed from values that were loaded
};

struct ptx_site {
    struct ptx_instr *instr;
    const struct ptx_operand *address;
    uint8_t access;       // enum ptx_access
    uint8_t kind;         // enum ptx_site_class
    uint8_t space;        // enum ptx_space as written
    uint8_t actual_space; // the same, with generic addresses resolved if possible
    uint32_t bytes;       // that each thread moves; 0: the instruction does not determine it
    uint32_t lanes;       // set of a warp's lanes whose addresses count: the first ones if it moves
                          // matrices, else all; 0: unknown
    struct ptx_access_type type;
    struct ptx_origin origin;
    struct ptx_linear form;
    uint16_t deps;       // what the address depends on: set of enum ptx_dep
    uint16_t block_deps; // what decides whether the site is reached
    uint32_t block;
    uint32_t loop; // the innermost one, or PTX_NO_LOOP
    uint32_t loop_depth;
    bool loop_invariant; // the same address in every iteration, accessed in every iteration
                         // (GMProf 4.1)
    bool reachable;
};

// Sets *sites, in the memory of `facts`, to the function's sites in text order. Accesses to
// parameter space and texture and surface instructions are not included. A copy from global to
// shared memory is two sites.
enum base_code ptx_sites_find(struct ptx_facts *facts, struct ptx_site **sites, uint32_t *count,
                              struct base_error *error);

// The same for the barriers that bulk copies name beside their source and their destination, which
// ptx_sites_find does not list: each is an atomic access to shared memory.
enum base_code ptx_barrier_sites_find(struct ptx_facts *facts, struct ptx_site **sites,
                                      uint32_t *count, struct base_error *error);

const char *ptx_access_name(enum ptx_access access);
const char *ptx_site_class_name(enum ptx_site_class kind);

#endif
