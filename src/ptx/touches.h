// SPDX-License-Identifier: Apache-2.0
// The sites that touch the memory of a root: those of the function itself, and those of device
// functions that receive the pointer. Internal to src/ptx.
#ifndef GLINT_PTX_TOUCHES_H
#define GLINT_PTX_TOUCHES_H

#include "grid.h"
#include "sites.h"

// One site, and where it lies from the root on.
struct ptx_touch {
    const struct ptx_facts *facts; // of the function that contains it
    const struct ptx_site *site;
    struct ptx_grid grid;
};

// A function that was analysed because a root is passed to it.
struct ptx_callee {
    struct ptx_facts *facts;
    struct ptx_site *sites;
    uint32_t site_count;
    uint32_t entered; // the last round in which its sites of a variable were added
};

struct ptx_touches {
    struct base_arena *arena; // whose escape is set
    struct base_error *error;
    BASE_ARRAY(struct ptx_touch) list;
    BASE_ARRAY(struct ptx_callee) callees; // kept for the next root; ptx_touches_fini frees them
    uint32_t round;                        // number of roots so far
    const char *doubt;                     // why the list may be incomplete, or NULL
    bool escapes; // the pointer is stored or passed on, so addresses from memory or calls may be it
};

// Replaces the list by the sites of that root.
void ptx_touches_find(struct ptx_touches *touches, const struct ptx_facts *facts,
                      const struct ptx_site *sites, uint32_t site_count,
                      const struct ptx_root *root);
void ptx_touches_fini(struct ptx_touches *touches);

// Returns whether the site may access global memory when the function runs.
bool ptx_site_is_global(const struct ptx_site *site);

#endif
