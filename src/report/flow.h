// SPDX-License-Identifier: Apache-2.0
// What reports show of the value flow graph: the names of its vertices and edges, and which part of
// it is shown. The data must have been loaded with `wants_flow`. Inner header of src/report.
#ifndef GLINT_REPORT_FLOW_H
#define GLINT_REPORT_FLOW_H

#include "data.h"

// Adds what a vertex is, in short: the kernel, the function that was called ("cudaMemcpy"), the
// name of the object that it allocates, "host" or "unknown work".
void report_put_vertex(const struct report_data *data, const struct analyze_flow_vertex *vertex,
                       struct base_buf *out);
// Adds the name of the data of an edge: that of the first object which the vertex allocates.
void report_put_flow_object(const struct report_data *data,
                            const struct analyze_flow_vertex *vertex, struct base_buf *out);

// Chooses the part of the graph that is wanted. The part starts as {0}; the caller calls
// analyze_flow_part_fini, also after a failure. Returns BASE_NOT_FOUND if no vertex matches
// `slice`, and BASE_NO_MEMORY.
enum base_code report_choose_flow(const struct report_data *data,
                                  const struct report_flow_choice *choice,
                                  struct analyze_flow_part *part, struct base_error *error);

#endif
