// SPDX-License-Identifier: Apache-2.0
// Layouts: how the memory that a root points to is divided into structures, and which fields these
// have. A root is a pointer parameter or a variable from which addresses in global memory are
// computed. The layout follows from where its sites lie, modulo the greatest common divisor of all
// steps, and from the types of what they move. docs/internals/ptx.md has the rules.
#ifndef GLINT_PTX_LAYOUT_H
#define GLINT_PTX_LAYOUT_H

#include "sites.h"

enum { PTX_LAYOUT_FIELDS = 8 };

struct ptx_field {
    uint32_t offset; // in bytes, below the stride
    uint8_t type;    // enum ptx_type: an integer or floating-point type of 8 to 64 bits; PTX_B32:
                     // a word of unknown type
};

struct ptx_layout {
    struct ptx_root root;                       // PTX_ROOT_PARAM or PTX_ROOT_VAR
    const char *doubt;                          // why the layout is unknown; NULL: it is known
    uint32_t stride;                            // bytes; 4 if the layout is unknown
    uint32_t field_count;                       // 1 if the layout is unknown, of type PTX_B32
    struct ptx_field fields[PTX_LAYOUT_FIELDS]; // by offset; bytes between them are not accessed
};

// Sets *layouts, in the memory of `facts`, to the layouts of all roots of sites in global memory:
// parameters in their order, then variables by name. `sites` are those of ptx_sites_find.
enum base_code ptx_layouts_find(struct ptx_facts *facts, const struct ptx_site *sites,
                                uint32_t site_count, struct ptx_layout **layouts, uint32_t *count,
                                struct base_error *error);

// Sets *offset to where in the layout's structure the first byte lies that the site accesses, if
// the site's address only comes from the layout's root. Returns false if it is unknown. An access
// of a power of two of bytes is assumed to be aligned to its size, and so is the root.
bool ptx_layout_place(const struct ptx_facts *facts, const struct ptx_layout *layout,
                      const struct ptx_site *site, uint32_t *offset);

// Appends the layout as text: "f32" for an array, "16 bytes: f32 at 0, s32 at 12" for structures,
// "unknown: no site states a type".
void ptx_layout_print(const struct ptx_layout *layout, struct base_buf *out);

#endif
