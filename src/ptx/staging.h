// SPDX-License-Identifier: Apache-2.0
// Shared memory as a stage for global memory (GMProf, section 5). A fill brings data there: a store
// to shared memory of a value that was loaded from global memory, or a copy. A drain brings it
// back: a store to global memory of a value that was loaded from shared memory. Between the two the
// value is only moved or converted; a value that was computed with is neither.
//
// Data lives in shared memory from a fill on. Which sites are fills follows from the code; when
// they run, and which words they fill, does not. Shared memory may be that of another block of the
// cluster: arrays.h has the places of sites.
#ifndef GLINT_PTX_STAGING_H
#define GLINT_PTX_STAGING_H

#include "sites.h"

enum ptx_staging_kind {
    PTX_STAGING_NONE,
    PTX_STAGING_FILL,  // from global to shared memory
    PTX_STAGING_DRAIN, // from shared to global memory
};

enum { PTX_STAGING_SOURCES = 8 };

// What a store brings. Moves are mov, also of parts of a register; prmt by a constant; selp, slct
// and joins of control flow; and definitions under a guard. Conversions are cvta and cvt from one
// type to another; within a floating-point type, cvt rounds or clamps, and so does .relu.
//
// Constants may be mixed in: constants of the code, parameters of a kernel, and registers that were
// not set. A tile that has zeros beyond the border of its array is filled. A store of nothing but
// constants is no fill. A vector is filled if each of its elements is, or is constant.
struct ptx_staging {
    uint8_t kind;                          // enum ptx_staging_kind
    bool more;                             // there are more sources than PTX_STAGING_SOURCES
    uint8_t source_count;                  // 0: neither fill nor drain
    uint32_t sources[PTX_STAGING_SOURCES]; // the sites of the loads, ascending; for a copy that of
                                           // its own source
};

// Sets *stagings, in the memory of `facts`, to what each site brings. `sites` are those of
// ptx_sites_find.
enum base_code ptx_staging_find(struct ptx_facts *facts, const struct ptx_site *sites,
                                uint32_t site_count, struct ptx_staging **stagings,
                                struct base_error *error);

const char *ptx_staging_name(enum ptx_staging_kind kind); // "none", "fill", "drain"

#endif
