// SPDX-License-Identifier: Apache-2.0
// The state while a profile is read. Internal header of data.c and of the files that take objects
// and calls.
#ifndef GLINT_REPORT_DATA_LOADING_H
#define GLINT_REPORT_DATA_LOADING_H

#include "data.h"

struct report_graph_launch {
    uint64_t call, graph; // graph: index
};

struct report_loading {
    struct report_data *data;
    bool failed;      // memory ran out
    uint32_t *makers; // indices of objects by the call that made them
    size_t next_made; // position in makers
    BASE_ARRAY(struct report_graph_launch) graph_launches;
    size_t next_launch;       // the next launch for node times, which are in the order of calls
    struct profile_call call; // the last call that was read
    uint64_t watched_call;    // call and node of the last access
    uint32_t watched_node;
};

// Requests a call path. Returns false if memory runs out (data.c).
bool report_want_path(struct report_data *data, uint32_t path);

// Objects (data_objects.c). `user` is a struct report_loading.
bool report_take_object(void *user, const struct profile_object *object);
void report_touch_number(const struct report_data *data, uint64_t number, uint64_t call);
// Copies and sets also use the objects behind the one in which they begin.
void report_touch_reached(const struct report_data *data);

// Calls and their accesses, and the times of nodes of graphs (data_calls.c). Likewise.
bool report_take_call(void *user, const struct profile_call *call);
bool report_take_access(void *user, const struct profile_access *access);
bool report_take_node_time(void *user, const struct profile_time *time);
// Adds the work of graph nodes. Each node ran as often as its graph.
void report_add_graph_nodes(struct report_data *data);

#endif
