// SPDX-License-Identifier: Apache-2.0
// Element level: the code that marks the accesses of a group, and what mark.c and counted.c share:
// a member of a group. Internal to src/instrument.
#ifndef GLINT_INSTRUMENT_MARK_H
#define GLINT_INSTRUMENT_MARK_H

#include "work.h"

// Writes the code that marks the accesses of the group that ends with the probe.
void instrument_emit_group(struct instrument_work *work, const struct instrument_body *body,
                           const struct instrument_probe *last);

// Returns whether the two accesses can be members of one group.
bool instrument_go_together(const struct instrument_work *work, const struct instrument_body *body,
                            const struct instrument_probe *one,
                            const struct instrument_probe *other);

// Returns whether a whole warp marks what is joined to the probe faster than lane by lane.
bool instrument_is_run(const struct instrument_work *work, const struct instrument_body *body,
                       const struct instrument_probe *probe);

// --- Between mark.c and counted.c ----------------------------------------------------------------

// How a whole warp marks a member: as consecutive elements of its lanes, as one span that may begin
// and end within elements, or each lane by itself.
enum instrument_class { CLASS_RUN, CLASS_SPAN, CLASS_LANE };

// One access of a group, or several that are marked as one.
struct instrument_member {
    const struct instrument_probe *probe;
    uint32_t k;     // its number in the group
    uint32_t slot;  // offset of its view in the context
    uint32_t shift; // log2 of the size of its elements
    uint32_t width; // bytes that a thread touches, beginning `before` bytes below the address
    enum instrument_class class;
    bool aligned; // address, width and step are multiples of the element size
    bool chosen;  // registers hold what is needed of its view: h elements ahead, q address of words
};

// Returns the bytes that a whole warp touches.
static inline uint32_t instrument_run_bytes(const struct instrument_member *member)
{
    return member->width + 31 * (member->probe->lanes == LANES_STEP ? member->probe->step : 0);
}

// Returns the elements that one lane touches, if it touches whole elements.
static inline uint32_t instrument_own_elements(const struct instrument_member *member)
{
    return member->aligned ? member->width >> member->shift : 1;
}

// Writes the code that sets %glint$i to the element at the distance %glint$o<k>.
void instrument_emit_element(struct base_buf *out, const struct instrument_member *member);
// Writes the code that sets %glint$w<k> to the address of the j-th word behind that of element
// %glint$i. NULL: j is 0.
void instrument_emit_word(struct base_buf *out, const struct instrument_member *member,
                          const char *j);

// counted.c: writes the code that counts what a member touches.
void instrument_emit_counted(struct instrument_work *work, const struct instrument_member *member);

#endif
