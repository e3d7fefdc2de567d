// SPDX-License-Identifier: Apache-2.0
// Capture of streams into graphs.
#ifndef GLINT_GPUSIM_DRIVER_CAPTURE_H
#define GLINT_GPUSIM_DRIVER_CAPTURE_H

#include "driver.h"

// Adds the operation as a node after the stream's latest nodes. Takes ownership of *op. Locked.
CUresult driver_capture_op(struct driver_stream *stream, struct driver_op *op);
// cuEventRecord and cuStreamWaitEvent on a captured stream. Locked.
CUresult driver_capture_record(struct driver_stream *stream, struct driver_event *event);
CUresult driver_capture_wait(struct driver_stream *stream, struct driver_event *event);
// Invalidates the stream's capture, because of a call that captures forbid. Locked.
void driver_capture_spoil(struct driver_stream *stream);
// Called before a stream is destroyed. Ends the capture that the stream began; a capture that it
// joined continues without it. Returns a graph that the caller frees after it has released the
// lock, or NULL. Locked.
struct driver_graph *driver_capture_desert(struct driver_stream *stream);
// Ends all captures in the context. Not locked.
void driver_captures_abandon(const struct driver_context *context);
// Returns an error if a capture forbids calls that are unsafe during it. Not locked.
CUresult driver_unsafe_in_capture(void);

#endif
