// SPDX-License-Identifier: Apache-2.0
// The order of the records of a traced launch: those of each warp as the warp made them. Inner
// header of src/record.
#ifndef GLINT_RECORD_TRACE_ORDER_H
#define GLINT_RECORD_TRACE_ORDER_H

#include <stddef.h>
#include <stdint.h>

#include "event/event.h"

// Returns the line that the record is about.
static inline uint64_t record_traced_line(const struct event_traced *record)
{
    return record->what & (((uint64_t)1 << EVENT_TRACED_LINE_BITS) - 1);
}

// Returns the number of the site, from 1.
static inline uint32_t record_traced_site(const struct event_traced *record)
{
    return (uint32_t)(record->what >> EVENT_TRACED_SITE_AT);
}

// Returns the records of a launch that looked at this share of lines in the order of warps, and
// those of a warp in the order in which it made them; the caller frees them. `steps` never falls
// from one record of a warp to its next. Returns NULL if memory runs out, or if a warp is not among
// the `warps` of the grid.
struct event_traced *record_order_traced(const struct event_traced *records, size_t count,
                                         uint64_t warps, uint32_t share);

#endif
