// SPDX-License-Identifier: Apache-2.0
// Streams and events of kernels. Functions about a block are for the device runtime and take the
// device's lock; the others are for children.c, which holds it.
#ifndef GLINT_GPUSIM_MACHINE_STREAMS_H
#define GLINT_GPUSIM_MACHINE_STREAMS_H

#include "children.h"

// Lets the task wait for what was requested in the stream before it. False: out of memory.
bool sim_stream_append(struct sim_task *task, struct sim_stream *stream);
// Frees the streams and events of a grid whose blocks have ended. What was requested in them still
// runs.
void sim_streams_drop(struct sim_task *task);

// Find a place by the handle of a stream, and that of a default stream: of the block or, if thread
// is not 0, of the thread. PLACE_NOWHERE: there is no such stream, or memory ran out.
enum sim_place sim_family_place(struct sim_block *block, uint64_t handle,
                                struct sim_stream **stream);
enum sim_place sim_family_place_default(struct sim_block *block, uint64_t thread,
                                        struct sim_stream **stream);
struct sim_stream *sim_family_stream_new(struct sim_block *block);
bool sim_family_stream_end(struct sim_block *block, uint64_t handle);
struct sim_event *sim_family_event_new(struct sim_block *block);
bool sim_family_event_end(struct sim_block *block, uint64_t handle);
// Record an event, and let a stream wait for one. False: there is no such event, or no memory.
bool sim_family_record(struct sim_block *block, uint64_t event, struct sim_stream *stream);
bool sim_family_wait(struct sim_block *block, uint64_t event, struct sim_stream *stream);
// Frees the default streams of a block that has ended.
void sim_family_forget(struct sim_block *block);

#endif
