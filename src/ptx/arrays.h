// SPDX-License-Identifier: Apache-2.0
// In which array of shared memory a site lies, and where in it. Arrays are the variables that a
// module or a kernel declares in shared memory. Those without a size are dynamic: the launch gives
// the size, and all of them begin at the same address.
#ifndef GLINT_PTX_ARRAYS_H
#define GLINT_PTX_ARRAYS_H

#include "sites.h"

enum ptx_array_kind {
    PTX_ARRAY_NONE,    // not in shared memory
    PTX_ARRAY_KNOWN,   // in one array
    PTX_ARRAY_SEVERAL, // in one of several arrays
    PTX_ARRAY_UNNAMED, // in shared memory, but no array's name leads to the address: it was loaded,
                       // passed by a caller, or computed in a way that is not followed
    PTX_ARRAY_ANY_SPACE, // a generic address that may point to shared memory or elsewhere
    PTX_ARRAY_CLUSTER,   // may be in another block of the cluster (distributed shared memory)
};

struct ptx_array_place {
    uint8_t kind; // enum ptx_array_kind
    bool dynamic;
    bool has_offset;             // `offset` is known
    const struct ptx_var *array; // NULL unless it is known; of dynamic arrays, one that is named
    // From the array's first byte on: a form of indices, parameters and loop counters only.
    struct ptx_linear offset;
};

// An operand that describes a matrix in shared memory instead of giving its address, as those of
// wgmma.mma_async. matrices.h says which bytes it occupies. Such instructions have no sites.
struct ptx_described {
    const struct ptx_instr *instr;
    const struct ptx_operand *operand;
    const struct ptx_var *array; // NULL unless the name of exactly one array leads to it
};

struct ptx_arrays {
    struct ptx_array_place *places; // by site
    struct ptx_described *described;
    uint32_t described_count;
};

// Finds, in the memory of `facts`, the arrays of all sites. `sites` are those of ptx_sites_find,
// and may also be those of ptx_barrier_sites_find.
//
// Accesses outside of an array count as accesses of the array whose name leads to them.
enum base_code ptx_arrays_find(struct ptx_facts *facts, const struct ptx_site *sites,
                               uint32_t site_count, struct ptx_arrays *arrays,
                               struct base_error *error);

// Returns whether the instruction may read or write shared memory by descriptors.
bool ptx_has_descriptors(const struct ptx_instr *instr);

// Says why an array is unknown: "one of several arrays". NULL if there is no reason to.
const char *ptx_array_doubt(enum ptx_array_kind kind);

#endif
