// SPDX-License-Identifier: Apache-2.0
// Peers: which devices may access each other's memory, what contexts have enabled, and the order of
// synchronous copies between devices. Devices of the same preset are linked, others are not.
// Enabling counts for a whole device: the machine does not know contexts.
#include <stdlib.h>

#include "context.h"
#include "driver.h"
#include "memory.h"
#include "peer.h"
#include "stream.h"

// --- Queries -------------------------------------------------------------------------------------

CUresult cuDeviceCanAccessPeer(int *canAccessPeer, CUdevice dev, CUdevice peerDev)
{
    DRIVER_BEGIN();
    DRIVER_REJECT(!canAccessPeer, CUDA_ERROR_INVALID_VALUE);
    const struct driver_device *device = driver_device_at(dev), *peer = driver_device_at(peerDev);
    DRIVER_REJECT(!device || !peer, CUDA_ERROR_INVALID_DEVICE);
    *canAccessPeer = device != peer && driver_devices_linked(device, peer);
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetP2PAttribute(int *value, CUdevice_P2PAttribute attrib, CUdevice srcDevice,
                                 CUdevice dstDevice)
{
    DRIVER_BEGIN();
    DRIVER_REJECT(!value, CUDA_ERROR_INVALID_VALUE);
    const struct driver_device *from = driver_device_at(srcDevice),
                               *to = driver_device_at(dstDevice);
    DRIVER_REJECT(!from || !to || from == to, CUDA_ERROR_INVALID_DEVICE);
    switch ((int)attrib) {
    case CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK:
    case CU_DEVICE_P2P_ATTRIBUTE_ONLY_PARTIAL_NATIVE_ATOMIC_SUPPORTED:
        *value = 0;
        return CUDA_SUCCESS;
    case CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED:
    case CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED:
    case CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED:
        *value = driver_devices_linked(from, to);
        return CUDA_SUCCESS;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

// --- Access --------------------------------------------------------------------------------------

// Returns the place of the peer in the context's list, or NULL. Locked.
static struct driver_context **peer_of(struct driver_context *context,
                                       const struct driver_context *peer)
{
    for (unsigned i = 0; i < context->peer_count; i++)
        if (context->peers[i] == peer)
            return &context->peers[i];
    return NULL;
}

static void drop(struct driver_context *context, struct driver_context **peer)
{
    *peer = context->peers[--context->peer_count];
}

// Sets, for the machine, which devices may access the device's memory. Locked.
static void admit(const struct driver_device *device)
{
    uint32_t devices = 0;
    for (const struct driver_context *at = driver.contexts; at; at = at->next)
        for (unsigned i = 0; i < at->peer_count; i++)
            if (at->peers[i]->device == device)
                devices |= UINT32_C(1) << driver_ordinal(at->device);
    sim_device_admit(device->machine, devices);
}

void driver_peers_forget(struct driver_context *context)
{
    while (context->peer_count) {
        const struct driver_device *device = context->peers[--context->peer_count]->device;
        admit(device);
    }
    for (struct driver_context *at = driver.contexts; at; at = at->next) {
        struct driver_context **peer = peer_of(at, context);
        if (peer)
            drop(at, peer);
    }
    admit(context->device);
}

static CUresult enable(struct driver_context *context, struct driver_context *peer)
{
    DRIVER_REJECT(!driver_context_valid(peer) || peer == context || !peer->magic,
                  CUDA_ERROR_INVALID_CONTEXT);
    DRIVER_REJECT(peer->device == context->device ||
                      !driver_devices_linked(context->device, peer->device),
                  CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
    DRIVER_REJECT(peer_of(context, peer), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
    DRIVER_REJECT(context->peer_count == SIM_DEVICES_MAX, CUDA_ERROR_TOO_MANY_PEERS);
    context->peers[context->peer_count++] = peer;
    admit(peer->device);
    return CUDA_SUCCESS;
}

CUresult cuCtxEnablePeerAccess(CUcontext peerContext, unsigned int Flags)
{
    DRIVER_BEGIN();
    struct driver_context *context;
    DRIVER_CONTEXT(context);
    DRIVER_REJECT(Flags, CUDA_ERROR_INVALID_VALUE);
    driver_lock();
    const CUresult result = enable(context, (struct driver_context *)peerContext);
    driver_unlock();
    return result;
}

CUresult cuCtxDisablePeerAccess(CUcontext peerContext)
{
    DRIVER_BEGIN();
    struct driver_context *context, *peer = (struct driver_context *)peerContext;
    DRIVER_CONTEXT(context);
    driver_lock();
    CUresult result = driver_context_valid(peer) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
    if (result == CUDA_SUCCESS && !peer_of(context, peer))
        result = CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
    if (result == CUDA_SUCCESS) {
        driver_wait_context(context); // its kernels may use the peer's memory
        struct driver_context **place = peer_of(context, peer);
        if (place)
            drop(context, place);
        admit(peer->device);
    }
    driver_unlock();
    return result;
}

// --- Copies --------------------------------------------------------------------------------------

CUresult driver_peers_check(CUcontext dst, CUcontext src)
{
    DRIVER_BEGIN();
    driver_lock();
    const bool good = driver_context_valid((const struct driver_context *)dst) &&
                      driver_context_valid((const struct driver_context *)src);
    driver_unlock();
    return good ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

static bool takes_part(const struct driver_context *context, const struct driver_device *to,
                       const struct driver_device *from)
{
    return context->device == to || context->device == from;
}

CUresult driver_peer_submit(struct driver_stream *stream, struct driver_op *op)
{
    const struct driver_device *to = driver_memory_device((uintptr_t)op->copy.box.dst);
    const struct driver_device *from = driver_memory_device((uintptr_t)op->copy.box.src);
    BASE_ARRAY(struct driver_command *) before = {0};
    bool good = true;
    for (struct driver_context *at = driver.contexts; at; at = at->next)
        for (struct driver_stream *other = at->streams; other; other = other->next) {
            if (!takes_part(at, to, from) || !other->last)
                continue;
            struct driver_command **slot = base_array_push(&before);
            good &= slot != NULL;
            if (slot)
                *slot = other->last;
        }
    struct driver_command *copy = NULL;
    CUresult result = CUDA_ERROR_OUT_OF_MEMORY;
    if (good)
        result = driver_submit(stream, op, before.items, before.count, &copy);
    else
        driver_op_fini(op);
    base_array_fini(&before);
    for (struct driver_context *at = driver.contexts; at && copy; at = at->next)
        for (struct driver_stream *other = at->streams; other; other = other->next) {
            struct driver_op nothing = {.kind = DRIVER_OP_EMPTY};
            if (other != stream && !other->destroyed && takes_part(at, to, from))
                driver_submit(other, &nothing, &copy, 1, NULL);
        }
    driver_release(copy);
    return result;
}
