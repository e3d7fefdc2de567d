// SPDX-License-Identifier: Apache-2.0
// Scans: the device code (src/device/values.h) that looks at the contents of objects at the borders
// of launches, copies and sets, and the records that come of it.
#ifndef GLINT_INJECT_SHADOW_SCAN_H
#define GLINT_INJECT_SHADOW_SCAN_H

#include "contents.h"
#include "known.h"
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

bool shadow_scan_landed(const struct shadow_scan *scans);
void shadow_scan_tell(const struct shadow_scan *scans);

// Says that the launch of the ticket on the stream may have written memory of other GPUs, if
// kernels can, and if it wrote through addresses that are not known, or in ways that are not
// marked.
void shadow_scan_peers(const struct shadow_ticket *ticket, bool marked, struct core_stream *stream);

// --- With shadow->lock ---------------------------------------------------------------------------

// Loads the code that looks at contents: at arrays of words, or at everything.
bool shadow_scan_load(struct shadow *shadow, bool words);

// A list of scans that is being made.
struct shadow_scan_list {
    struct shadow_scan *first, *last;
    struct shadow_scan *open[2]; // the last of those of everything, and of arrays of words
    enum event_contents_kind kind;
};

// Adds a scan of the object, for the stream. It is the next work that is counted there.
void shadow_scan_add(struct shadow_scan_list *list, struct shadow_contents *contents,
                     const struct device_values_job *job, const struct core_stream *stream);
// Adds a scan of contents that are about to be used, unless they were described. What is only
// overwritten (`reads` is false) is described if copies or sets have brought it, because that is
// the last chance to see what they brought; not if only the layout is new.
void shadow_scan_add_found(struct shadow_scan_list *list, struct shadow_contents *contents,
                           bool reads, const struct core_stream *stream);
// Takes memory for the scans and enqueues them on the lane's stream. Returns them; NULL if there
// are none, or they cannot be enqueued.
struct shadow_scan *shadow_scan_start(struct shadow_lane *lane, struct shadow_scan *scans);
// Does the same for scans in a batch of their own. The second function says to which call they
// belong, and lets it fly; batch NULL: there is nothing.
struct shadow_batch *shadow_scan_start_batch(struct shadow_lane *lane, struct shadow_scan *scans);
void shadow_scan_fly(struct shadow_lane *lane, struct shadow_batch *batch, uint64_t call);
// Enqueues the marking of pieces. Returns false if the driver refuses.
bool shadow_scan_mark(struct shadow_lane *lane, const struct device_marking *marking);
// Returns what the sites of a kernel do through a root, or (INSTRUMENT_NONE) through looked-up
// addresses: EVENT_ACCESS_*.
uint32_t shadow_scan_ways(const struct instrument_kernel *kernel, uint32_t root);
// Returns whether the launch may write objects that no root points into.
bool shadow_scan_looks_up(const struct shadow_ticket *ticket);
// Returns whether probes mark every piece that the kernel writes.
bool shadow_scan_sees(const struct instrument_kernel *kernel);
// Makes room in the ticket for all that it may write; and adds an object to that.
bool shadow_scan_make_written(struct shadow_ticket *ticket);
void shadow_scan_add_written(struct shadow_ticket *ticket, struct shadow_contents *contents);
// Says that what was found is not recorded, because its launch was not made.
void shadow_scan_unfind(const struct shadow_scan *scans);
void shadow_scan_set_call(struct shadow_scan *scans, uint64_t call);
void shadow_scan_free(struct shadow *shadow, struct shadow_scan *scans);
void shadow_scan_leave(struct shadow_ticket *ticket); // says that the ticket ends

#endif
