// SPDX-License-Identifier: Apache-2.0
// The contents of objects around a launch of an executable graph, which is one call for them: what
// its kernels may read is looked at before it, and what its nodes have written after it.
#ifndef GLINT_INJECT_SHADOW_GRAPH_SCAN_H
#define GLINT_INJECT_SHADOW_GRAPH_SCAN_H

#include "contents.h"
#include "scan.h"

struct shadow_range { // of addresses
    uint64_t from, to;
};

// What the nodes that are not watched kernels write.
struct shadow_graph_work {
    BASE_ARRAY(struct shadow_range) ranges; // by copies and sets
    bool unseen;                            // they may write any memory
};

// One launch.
struct shadow_graph_scan {
    const struct shadow_graph_work *work;         // NULL: contents are not looked at
    bool unseen;                                  // it may write memory that is not marked
    struct shadow_scan *found;                    // of contents before it; a batch owns it
    BASE_ARRAY(struct shadow_contents *) written; // what it may write; held
};

// Bracket a launch, with its lane locked. made: for each watched node its ticket of this launch;
// NULL: it could not be made. shadow_graph_scan_after enqueues the scan of what the launch wrote;
// launched is false if it was not made. If not all writes of the launch are marked, nothing is
// recorded about them, and all contents of the context are unknown.
void shadow_graph_scan_before(struct shadow_lane *lane, struct shadow_graph_scan *scan,
                              struct shadow_ticket *const *made, size_t count,
                              const struct shadow_graph_work *work);
void shadow_graph_scan_after(struct shadow_lane *lane, struct shadow_graph_scan *scan,
                             struct shadow_ticket *const *made, size_t count, uint64_t call,
                             bool launched);

// --- With shadow->lock ---------------------------------------------------------------------------

// Fills in how the probes of a new node see the pieces of its roots' objects. The node holds them
// until shadow_graph_scan_unbind.
void shadow_graph_scan_bind(struct shadow *shadow, struct shadow_ticket *ticket,
                            struct instrument_pieces *pieces);
void shadow_graph_scan_unbind(struct shadow *shadow, struct shadow_node *node);

#endif
