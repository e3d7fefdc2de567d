// SPDX-License-Identifier: Apache-2.0
// Requests of whole warps whose cost follows from the launch alone. Internal to src/instrument.
#ifndef GLINT_INSTRUMENT_REGULAR_H
#define GLINT_INSTRUMENT_REGULAR_H

#include "work.h"

// Returns how the addresses of a warp's lanes follow from what a launch knows, in the memory of the
// module, or NULL if distances between them depend on something else.
struct instrument_form *instrument_form_of(struct instrument_work *work,
                                           const struct instrument_body *body,
                                           const struct instrument_probe *probe);

// Describes an affine form in what a launch knows. Returns false if it cannot.
bool instrument_describe_form(struct instrument_work *work, const struct instrument_body *body,
                              const struct instrument_probe *probe, const struct ptx_linear *from,
                              struct instrument_form *form);

// Returns the coefficient of a term times its factors. root: of the form.
uint64_t instrument_term_value(const struct instrument_form_term *term,
                               const struct instrument_launch *launch, uint32_t root);

// What a form is in one launch.
struct instrument_place {
    uint64_t first;  // value of the block's first thread, but for what varies
    uint64_t varies; // bits that what varies may change
    struct ptx_stride stride;
};
// Returns false if lanes are too far apart. root: of the site.
bool instrument_find_place(const struct instrument_form *form, uint32_t root,
                           const struct instrument_launch *launch, struct instrument_place *place);

#endif
