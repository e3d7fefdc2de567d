// SPDX-License-Identifier: Apache-2.0
// Scans: the device code (src/device/values.h) that looks at the contents of objects at the borders
// of launches, copies and sets, and the records that come of it.
#ifndef GLINT_INJECT_SHADOW_SCAN_H
#define GLINT_INJECT_SHADOW_SCAN_H

#include "model.h"

struct shadow_scan; // one scan, from before it is enqueued until it is recorded

// Bracket a watched launch, with its lane locked. shadow_scan_before fills in how the probes of
// each root see its object's pieces, which are zeroed, and enqueues scans of contents that were not
// described yet. shadow_scan_after enqueues the scan of what the launch wrote, which lands with the
// batch; shadow_scan_refused says that the launch was not made.
bool shadow_scan_before(struct shadow_lane *lane, struct shadow_ticket *ticket,
                        const uint64_t *roots, struct instrument_pieces *pieces);
void shadow_scan_after(struct shadow_lane *lane, struct shadow_ticket *ticket,
                       struct shadow_batch *batch);
void shadow_scan_refused(struct shadow_ticket *ticket);

// Returns whether work of another stream that writes the object may be in flight.
struct shadow_contents;
bool shadow_is_concurrent(const struct shadow_contents *contents, const struct core_stream *stream);
// Returns what the sites of a kernel do through a root, or (INSTRUMENT_NONE) through looked-up
// addresses: sum of EVENT_ACCESS_*.
uint32_t shadow_ways_of(const struct instrument_kernel *kernel, uint32_t root);

bool shadow_scan_landed(const struct shadow_scan *scans);
void shadow_scan_tell(const struct shadow_scan *scans);

// --- With shadow->lock ---------------------------------------------------------------------------

void shadow_scan_free(struct shadow *shadow, struct shadow_scan *scans);
void shadow_scan_leave(struct shadow_ticket *ticket); // says that the ticket ends

#endif
