// SPDX-License-Identifier: Apache-2.0
// Queries of affine forms, and their text.
#ifndef GLINT_PTX_FORMS_H
#define GLINT_PTX_FORMS_H

#include "affine.h"

// Returns whether the form is the same in all iterations of the loop.
bool ptx_form_invariant(const struct ptx_affine *affine, const struct ptx_linear *form,
                        uint32_t loop);

// Returns the coefficient of the term that consists of this symbol alone, such as tid.x or a
// counter; 0 if there is none. Sets *only to false if the symbol also occurs in a product.
int64_t ptx_form_coefficient(const struct ptx_affine *affine, const struct ptx_linear *form,
                             enum ptx_symbol_kind kind, unsigned component_or_index, bool *only);

// Returns whether a term has a symbol of that kind.
bool ptx_form_mentions(const struct ptx_affine *affine, const struct ptx_linear *form,
                       enum ptx_symbol_kind kind);

// Chooses the printed names of variables.
struct ptx_namer {
    const char *(*var)(void *user, const struct ptx_var *var);
    void *user;
};

// Appends the form as text: "p0 + 4*tid.x + 4*ctaid.x*ntid.x + 16*i1". Without a namer, variables
// have their names in the PTX.
void ptx_form_print(const struct ptx_affine *affine, const struct ptx_linear *form,
                    const struct ptx_namer *namer, struct base_buf *out);

#endif
