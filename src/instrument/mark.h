// SPDX-License-Identifier: Apache-2.0
// What mark.c and counted.c share: one access of a group, or several that are marked as one, and
// where its elements are. Internal to src/instrument.
#ifndef GLINT_INSTRUMENT_MARK_H
#define GLINT_INSTRUMENT_MARK_H

#include <stddef.h>

#include "work.h"

enum class { CLASS_RUN, CLASS_SPAN, CLASS_LANE };

struct member {
    const struct instrument_probe *probe;
    uint32_t k;
    uint32_t slot;  // of its view in the context
    uint32_t shift; // of its elements
    uint32_t width; // bytes that a thread touches, from `before` bytes below the address on
    enum class class;
    bool aligned; // to elements, as is the step
    bool chosen; // what its view says is in registers: h, the elements ahead; q, the words' address
};

// Of its view in the launch context.
#define VIEW(member, field) ((member)->slot + (unsigned)offsetof(struct instrument_view, field))

// Bytes of a whole warp's run.
static inline uint32_t run_bytes(const struct member *member)
{
    return member->width + 31 * (member->probe->lanes == LANES_STEP ? member->probe->step : 0);
}

// Elements of an access of its own.
static inline uint32_t own_elements(const struct member *member)
{
    return member->aligned ? member->width >> member->shift : 1;
}

// The element at the distance o<k>, into %glint$i.
void instrument_emit_element(struct base_buf *out, const struct member *member);
// The address of the word of element %glint$i, and of the j-th from there on, into w<k>. NULL: j is
// 0.
void instrument_emit_word(struct base_buf *out, const struct member *member, const char *j);

// counted.c: counts what a member touches.
void instrument_emit_counted(struct instrument_work *work, const struct member *member);

#endif
