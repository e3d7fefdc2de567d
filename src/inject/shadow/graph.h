// SPDX-License-Identifier: Apache-2.0
// Watched kernel nodes of graphs, captured or explicit. A node's ticket lives until shadow_release;
// nothing is enqueued on the program's streams before the graph is launched.
#ifndef GLINT_INJECT_SHADOW_GRAPH_H
#define GLINT_INJECT_SHADOW_GRAPH_H

#include "shadow.h"

struct shadow_graph_work;
struct shadow_node;

// Does for a node what shadow_begin does for a launch.
struct shadow_ticket *shadow_begin_node(const struct shadow_launch *launch, void *context);
// Bracket the launch of an executable graph on the stream. shadow_replay enqueues what its watched
// nodes need before. shadow_replayed enqueues their read-back, after which they are ready for the
// next replay. The same thread calls both, with the same tickets. nodes: 1 + index of each node.
// launched is false if the launch failed. work: values: what the other nodes write, which stays
// valid until shadow_replayed returns; NULL: contents are not looked at.
void shadow_replay(struct core_stream *stream, struct shadow_ticket *const *tickets, size_t count,
                   const struct shadow_graph_work *work);
void shadow_replayed(struct core_stream *stream, struct shadow_ticket *const *tickets,
                     const uint32_t *nodes, size_t count, uint64_t call, bool launched);
void shadow_release(struct shadow_ticket *ticket);

// Says that a replay of the node was recorded, or never will be. Needs shadow->lock.
void shadow_node_told(struct shadow *shadow, struct shadow_node *node);

#endif
