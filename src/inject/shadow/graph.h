// SPDX-License-Identifier: Apache-2.0
// Watched kernel nodes of graphs, captured or explicit. A node's ticket lives until shadow_release;
// nothing is enqueued on the program's streams before the graph is launched.
#ifndef GLINT_INJECT_SHADOW_GRAPH_H
#define GLINT_INJECT_SHADOW_GRAPH_H

#include "shadow.h"

struct shadow_node;

// As shadow_begin, for a node.
struct shadow_ticket *shadow_begin_node(const struct shadow_launch *launch, void *context);
// An executable graph is about to be launched on the stream, and was launched. The first enqueues
// what its watched nodes need before, the second their read-back, after which they are ready for
// the next replay. nodes: 1 + index of each. The same thread calls both, with the same tickets.
// launched == false: the launch failed.
void shadow_replay(struct core_stream *stream, struct shadow_ticket *const *tickets, size_t count);
void shadow_replayed(struct core_stream *stream, struct shadow_ticket *const *tickets,
                     const uint32_t *nodes, size_t count, uint64_t call, bool launched);
void shadow_release(struct shadow_ticket *ticket);

// A replay of the node was recorded, or never will be. With shadow->lock.
void shadow_node_told(struct shadow *shadow, struct shadow_node *node);

#endif
