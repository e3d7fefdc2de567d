// SPDX-License-Identifier: Apache-2.0
// Contexts, and which of them is current in a thread.
#ifndef GLINT_GPUSIM_DRIVER_CONTEXT_H
#define GLINT_GPUSIM_DRIVER_CONTEXT_H

#include "driver.h"

struct driver_context {
    _Atomic uint64_t magic; // 0: destroyed, or primary and not retained since a reset
    struct driver_context *next;
    uint64_t id;
    struct driver_device *device;
    struct driver_context *peers[SIM_DEVICES_MAX]; // whose memory its kernels may access
    unsigned peer_count;
    unsigned retained; // retain count of the primary context
    bool is_primary;
    unsigned flags;
    unsigned api_version;
    CUfunc_cache cache_config;
    size_t limits[16];                // by CUlimit
    struct driver_stream *streams;    // all that are not destroyed, with the default ones
    struct driver_stream *legacy;     // the legacy default stream
    struct driver_event *events;      // all
    struct driver_module *modules;    // loaded into it
    struct driver_stream *per_thread; // per-thread default streams
};

// Stores the calling thread's context. Returns an error if there is none, if it was destroyed, or
// if the device is in error.
CUresult driver_current(struct driver_context **context);
// The same, but ignores errors of the device.
CUresult driver_current_any(struct driver_context **context);
bool driver_context_valid(const struct driver_context *context); // locked
CUresult driver_context_create(struct driver_device *device, bool primary, unsigned flags,
                               struct driver_context **context);
// Waits for the context's work, then frees all that belongs to it. Not locked.
void driver_context_clear(struct driver_context *context);

// Ends the access of the context to peers, and of peers to it (peer.c). Locked.
void driver_peers_forget(struct driver_context *context);

#define DRIVER_CONTEXT(context) DRIVER_TRY(driver_current(&(context)))

#endif
