// SPDX-License-Identifier: Apache-2.0
// Access of devices to each other's memory, and copies between them.
#ifndef GLINT_GPUSIM_DRIVER_PEER_H
#define GLINT_GPUSIM_DRIVER_PEER_H

#include "op.h"

// Checks the contexts of a copy between devices.
CUresult driver_peers_check(CUcontext dst, CUcontext src);
// Submits a synchronous copy between two devices: it starts when all work submitted to either of
// them has ended, and work submitted to them later waits for it. Takes ownership of *op. Locked.
CUresult driver_peer_submit(struct driver_stream *stream, struct driver_op *op);

#endif
