// SPDX-License-Identifier: Apache-2.0
// Finds the objects without memory that a call may use. An address reaches the device only through
// calls: as the argument of a copy or a fill, among a kernel's parameters, or in data that is
// copied there. All of these are searched for words that point into an object or near it. All
// objects count as used if the search is not conclusive (kernels that read host memory, graphs,
// textures), if the kernel is not plain (plan.h), or if a parameter may be an encoded address.
#include "uses.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "back.h"
#include "inject/core/kernels.h"
#include "inject/core/params.h"
#include "inject/correct/state.h"

enum { CHUNK_BYTES = CORRECT_CHUNK_BYTES };

struct kernel {
    bool plain;            // the plan calls it plain
    uint32_t most_threads; // of a block
};

void correct_uses_start(void)
{
    memset(&correct_state.uses, 0, sizeof(correct_state.uses));
    pthread_mutex_init(&correct_state.uses.lock, NULL);
}

static void forget_kernels(void)
{
    util_mutex_lock(&correct_state.uses.lock, RANK_PARAMETERS);
    for (size_t i = 0; i < correct_state.uses.kernels.count; i++) {
        if (!correct_state.uses.kernels.entries[i].removed)
            free((void *)(uintptr_t)correct_state.uses.kernels.entries[i].value); // NOLINT
    }
    base_map_fini(&correct_state.uses.kernels);
    correct_state.uses.kernels = (struct base_map){0};
    util_mutex_unlock(&correct_state.uses.lock, RANK_PARAMETERS);
}

// --- Words ---------------------------------------------------------------------------------------

static bool sees_pageable(const struct core_call *call)
{
    int known = atomic_load(&correct_state.uses.pageable);
    if (!known) {
        int pageable = 1;
        REAL(cuDeviceGetAttribute)
        (&pageable, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS,
         (CUdevice)call->current->device - 1);
        known = pageable ? 2 : 1;
        atomic_store(&correct_state.uses.pageable, known);
    }
    return known == 2;
}

static bool is_mapped(uint64_t address)
{
    unsigned char resident;
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    return mincore((void *)(uintptr_t)(address / page * page), 1, &resident) == 0; // NOLINT
}

static bool is_host_kind(uint8_t kind)
{
    return kind == EVENT_OBJECT_PINNED || kind == EVENT_OBJECT_REGISTERED ||
           kind == EVENT_OBJECT_MANAGED || kind == EVENT_OBJECT_IMPORTED;
}

// Returns whether the word points to host memory that kernels can read.
static bool is_host(const struct core_call *call, uint64_t word)
{
    struct core_object object;
    if (word < 1 << 16 || word >> 48)
        return false;
    if (core_objects_find(&core_state.objects, OBJECTS_MEMORY, word, &object))
        return is_host_kind(object.kind);
    return sees_pageable(call) && is_mapped(word);
}

// Tries each byte of a parameter as the start of a pointer, because parameters are few. Returns
// whether one points to host memory, or may be an encoded address.
static bool scan_param(struct core_call *call, const char *param, size_t bytes)
{
    bool host = false;
    for (size_t i = 0; i + 8 <= bytes; i++) {
        uint64_t word;
        memcpy(&word, param + i, 8);
        correct_back_use_word(call, word);
        host = host || (i % 8 == 0 && (is_host(call, word) || correct_back_may_mean(word)));
    }
    return host;
}

// Finds the bounds of memory that both kernels and the host can access.
static void find_host(uint64_t *from, uint64_t *to)
{
    uint64_t changes;
    util_mutex_lock(&correct_state.uses.lock, RANK_PARAMETERS);
    if (!correct_state.uses.host_known ||
        correct_state.uses.host_changes != atomic_load(&core_state.objects.changes)) {
        size_t room = 1024, count;
        struct core_objects_piece *pieces = NULL;
        do {
            room *= 2;
            free(pieces);
            pieces = malloc(room * sizeof(*pieces));
            count = pieces ? core_objects_pieces(&core_state.objects, pieces, room, &changes) : 0;
        } while (pieces && count > room);
        correct_state.uses.host_from = pieces ? UINT64_MAX : 0; // out of memory: anywhere
        correct_state.uses.host_to = pieces ? 0 : UINT64_MAX;
        for (size_t i = 0; pieces && i < count; i++) {
            if (!is_host_kind(pieces[i].object.kind))
                continue;
            if (pieces[i].start < correct_state.uses.host_from)
                correct_state.uses.host_from = pieces[i].start;
            if (pieces[i].start + pieces[i].bytes > correct_state.uses.host_to)
                correct_state.uses.host_to = pieces[i].start + pieces[i].bytes;
        }
        correct_state.uses.host_known = pieces != NULL;
        correct_state.uses.host_changes = pieces ? changes : 0;
        free(pieces);
    }
    *from = correct_state.uses.host_from;
    *to = correct_state.uses.host_to;
    util_mutex_unlock(&correct_state.uses.lock, RANK_PARAMETERS);
}

// Searches data that is copied to the device. If it cannot be read, all objects count as used.
static void scan_data(struct core_call *call, uint64_t from, uint64_t bytes)
{
    char *const chunk = correct_state.uses.chunk; // protected by the lock of back.h
    uint64_t low, high, host_low, host_high;
    find_host(&host_low, &host_high);
    for (uint64_t done = 0; done < bytes && correct_back_is_wanting();) {
        const uint64_t left = bytes - done, now = left < CHUNK_BYTES ? left : CHUNK_BYTES;
        const struct iovec to = {chunk, now};
        const struct iovec source = {(void *)(uintptr_t)(from + done), now}; // NOLINT
        if (process_vm_readv(getpid(), &to, 1, &source, 1, 0) != (ssize_t)now) {
            correct_back_use_all(call);
            return;
        }
        correct_back_bounds(&low, &high);
        for (uint64_t i = 0; i + 8 <= now;
             i += 4) { // in packed structures words are aligned to 4 bytes
            uint64_t word;
            memcpy(&word, chunk + i, 8);
            if (word - low < high - low)
                correct_back_use_word(call, word);
            if (host_high > host_low && word - host_low < host_high - host_low)
                atomic_store(&correct_state.uses.host_seen, true);
        }
        done += left <= CHUNK_BYTES ? left : CHUNK_BYTES - 8; // a word may cross the boundary
    }
}

// --- Kernels -------------------------------------------------------------------------------------

static const struct kernel *describe(CUfunction function)
{
    const CUfunction own = core_kernel_function(function);
    struct kernel *kernel = calloc(1, sizeof(*kernel));
    const char *name = NULL;
    if (kernel) {
        kernel->most_threads = core_kernel_limit(own, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
        kernel->plain =
            REAL(cuFuncGetName)(&name, own) == CUDA_SUCCESS && name && correct_is_plain(name);
    }
    return kernel;
}

// Returns what is known of the kernel; NULL: nothing.
static const struct kernel *kernel_of(CUfunction function)
{
    util_mutex_lock(&correct_state.uses.lock, RANK_PARAMETERS);
    uint64_t *place =
        base_map_put(&correct_state.uses.kernels, (uint64_t)(uintptr_t)function, NULL);
    if (place && !*place)
        *place = (uint64_t)(uintptr_t)describe(function);
    const struct kernel *kernel = place ? (const struct kernel *)(uintptr_t)*place : NULL; // NOLINT
    util_mutex_unlock(&correct_state.uses.lock, RANK_PARAMETERS);
    return kernel;
}

struct value_scan {
    struct core_call *call;
    bool host; // a parameter points to host memory, or may be an encoded address
};

static void scan_value(void *user, const unsigned char *value, size_t bytes)
{
    struct value_scan *scan = user;
    scan->host |= scan_param(scan->call, (const char *)value, bytes);
}

// Returns whether the kernel may use objects that no parameter points into: it is not plain, its
// parameters are unknown, or one points to host memory or may be an encoded address.
static bool scan_params(struct core_call *call, CUfunction function, void **pointers, void **extra)
{
    const struct event_launch *launch = &call->detail.launch;
    const struct kernel *kernel = kernel_of(function);
    struct value_scan scan = {call, false};
    if (!kernel || !kernel->plain)
        return true;
    if (!core_kernel_has_shape(launch->grid, launch->block, kernel->most_threads) ||
        launch->dynamic_shared_bytes >
            core_kernel_limit(core_kernel_function(function),
                              CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES))
        return false; // the driver refuses it before it reads parameters
    return !core_params_each(function, pointers, extra, scan_value, &scan) || scan.host;
}

void correct_uses_launch(struct core_call *call, CUfunction function, void **pointers, void **extra)
{
    if (!call->current || !correct_back_lock())
        return;
    if ((correct_back_is_wanting() || correct_back_is_away()) &&
        (scan_params(call, function, pointers, extra) ||
         atomic_load(&correct_state.uses.host_seen) ||
         (call->stream && call->stream->context != call->current)))
        correct_back_use_all(call);
    correct_back_unlock();
}

// --- Calls ---------------------------------------------------------------------------------------

// Returns an upper bound of the bytes from the first to the last of a three-dimensional copy.
static uint64_t extent(uint64_t pitch, const struct event_copy *copy)
{
    return pitch ? pitch * copy->height * copy->depth : copy->bytes;
}

static bool is_readable(uint8_t memory)
{
    return memory == EVENT_MEMORY_PAGEABLE || memory == EVENT_MEMORY_PINNED ||
           memory == EVENT_MEMORY_MANAGED;
}

// Slices may lie farther apart than rows imply.
static bool is_plain(const struct core_call *call)
{
    switch ((int)call->hook) {
    case HOOK_cuMemcpyBatchAsync:
    case HOOK_cuMemcpyBatchAsync_ptsz:
    case HOOK_cuMemcpyBatchAsync_v2:
    case HOOK_cuMemcpyBatchAsync_v2_ptsz:
    case HOOK_cuMemcpy3DBatchAsync:
    case HOOK_cuMemcpy3DBatchAsync_ptsz:
    case HOOK_cuMemcpy3DBatchAsync_v2:
    case HOOK_cuMemcpy3DBatchAsync_v2_ptsz: return false;
    default: return call->detail.copy.depth <= 1;
    }
}

static void use_copy(struct core_call *call)
{
    const struct event_copy *copy = &call->detail.copy;
    if (!is_plain(call)) {
        correct_back_use_all(call);
        return;
    }
    correct_back_use(call, copy->from, extent(copy->from_pitch, copy));
    correct_back_use(call, copy->to, extent(copy->to_pitch, copy));
    if (correct_back_is_wanting() && is_readable(copy->from_memory) &&
        copy->direction != EVENT_HOST_TO_HOST)
        scan_data(call, copy->from, extent(copy->from_pitch, copy));
}

// Returns true for calls that take addresses which kernels use later without naming them, and for
// calls that use arbitrary addresses.
static bool uses_all(const struct core_call *call)
{
    switch ((int)call->hook) {
    case HOOK_cuLaunchKernel:
    case HOOK_cuLaunchKernel_ptsz:
    case HOOK_cuLaunchCooperativeKernel:
    case HOOK_cuLaunchCooperativeKernel_ptsz:
    case HOOK_cuLaunchKernelEx:
    case HOOK_cuLaunchKernelEx_ptsz: return false; // see correct_uses_launch
    case HOOK_cuPointerSetAttribute:
    case HOOK_cuMemRetainAllocationHandle:
    case HOOK_cuMulticastBindAddr:
    case HOOK_cuMulticastBindMem:
    case HOOK_cuTensorMapEncodeIm2col:
    case HOOK_cuTensorMapEncodeIm2colWide:
    case HOOK_cuTensorMapEncodeTiled:
    case HOOK_cuTensorMapReplaceAddress:
    case HOOK_cuTexObjectCreate:
    case HOOK_cuTexRefSetAddress_v2:
    case HOOK_cuTexRefSetAddress2D_v2:
    case HOOK_cuTexRefSetAddress2D_v3: return true;
    default:
        return call->kind == EVENT_CALL_LAUNCH || call->kind == EVENT_CALL_GRAPH_LAUNCH ||
               call->kind == EVENT_CALL_HOST ||
               (call->kind == EVENT_CALL_OTHER && call->how & HOOK_ASYNC);
    }
}

// Returns whether the call may give work to the device.
static bool flies(const struct core_call *call)
{
    return call->kind == EVENT_CALL_LAUNCH || call->kind == EVENT_CALL_GRAPH_LAUNCH ||
           call->kind == EVENT_CALL_COPY || call->kind == EVENT_CALL_SET ||
           (call->kind == EVENT_CALL_OTHER && call->how & HOOK_ASYNC);
}

void correct_uses_before(struct core_call *call)
{
    if (call->kind == EVENT_CALL_MODULE)
        forget_kernels();
    if (call->kind == EVENT_CALL_HOST) // it may change memory that is copied later
        atomic_store(&correct_state.uses.host_seen, true);
    if (!call->current || !correct_back_lock())
        return;
    const struct plan_row *last_use = correct_row(PLAN_LAST_USE);
    if (uses_all(call))
        correct_back_use_all(call);
    else if (call->kind == EVENT_CALL_COPY)
        use_copy(call);
    else if (call->kind == EVENT_CALL_SET)
        correct_back_use(call, call->detail.set.address,
                         call->detail.set.pitch ? call->detail.set.pitch * call->detail.set.height
                                                : call->detail.set.bytes);
    else if (call->kind == EVENT_CALL_MEMORY && call->detail.alloc.address) {
        correct_back_use(call, call->detail.alloc.address, 1);
        correct_back_stay(call->detail.alloc.address);
    } else if (call->kind == EVENT_CALL_STREAM && call->stream &&
               atomic_load(&call->stream->enqueued) != atomic_load(&call->stream->idle)) {
        // The stream is about to be destroyed, and its pending work can no longer be queried.
        correct_back_stay_all();
    }
    if (last_use)
        correct_back_seen(last_use);
    if (flies(call))
        correct_back_flies(call);
    correct_back_unlock();
}
