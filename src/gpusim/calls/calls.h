// SPDX-License-Identifier: Apache-2.0
// What API functions do at their start and end: they hold back the thread's cancellation, and tell
// the log that they are called, with what, and what came of it. calls.awk makes a function around
// each of them from this. The driver and each runtime have a copy of
// calls.c; the driver alone has the log and hands the runtime a door to it. Internal.
#ifndef GLINT_GPUSIM_CALLS_CALLS_H
#define GLINT_GPUSIM_CALLS_CALLS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"
#include "cudaabi/cudaabi.h"

struct call;

// The door: what cuGetExportTable gives for calls_id where there is a log.
struct calls {
    size_t size_bytes;
    void (*begin)(struct call *call, const char *name, const char *arguments);
    void (*end)(struct call *call, int64_t result, const char *outputs);
};
extern const CUuuid calls_id;

// One call under way. Begins as {.to = calls_to()}.
struct call {
    const struct calls *to;
    uint64_t number, outer; // of the call around this one; the driver's
    struct base_buf text;
};

// Where calls are logged to; NULL: nowhere, as nearly always. Any thread.
static inline const struct calls *calls_to(void);
// Finds that out, once: each library has its own.
const struct calls *calls_find(void);

// A call takes locks and waits, so a thread that is cancelled in it (pthread_cancel) must live
// until it returns. Calls may be nested. call_let_cancel ends what call_hold_cancel began, when the
// call holds no lock any more: a thread with asynchronous cancellation may end there.
struct call_cancel {
    int state, type; // the thread's own
};

static inline struct call_cancel call_hold_cancel(void)
{
    struct call_cancel own;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &own.state);
    pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &own.type);
    return own;
}

// The type last: some versions of glibc (2.36) give a thread that ends in pthread_setcancelstate
// the result NULL instead of PTHREAD_CANCELED.
static inline void call_let_cancel(struct call_cancel own)
{
    if (own.state != PTHREAD_CANCEL_DISABLE)
        pthread_setcancelstate(own.state, NULL);
    if (own.type != PTHREAD_CANCEL_DEFERRED)
        pthread_setcanceltype(own.type, NULL);
}

// Between arguments and the call, and between outputs and the return.
void call_begin(struct call *call, const char *name);
void call_end(struct call *call, int64_t result);

// --- Arguments: " key=value" --------------------------------------------------------------------

void call_signed(struct call *call, const char *key, long long value);
void call_unsigned(struct call *call, const char *key, unsigned long long value);
void call_float(struct call *call, const char *key, double value);
void call_pointer(struct call *call, const char *key, const void *value);
void call_text(struct call *call, const char *key, const char *value); // quoted; may be NULL

// Structures become one pair for each member: " key.member=value".
void call_dim3(struct call *call, const char *key, dim3 value); // "x,y,z"
void call_extent(struct call *call, const char *key, struct cudaExtent value);
void call_pitched(struct call *call, const char *key, struct cudaPitchedPtr value);
void call_location(struct call *call, const char *key, CUmemLocation value);
void call_location_runtime(struct call *call, const char *key, struct cudaMemLocation value);
void call_channels(struct call *call, const char *key, struct cudaChannelFormatDesc value);
void call_memory_handle(struct call *call, const char *key, CUipcMemHandle value);
void call_event_handle(struct call *call, const char *key, CUipcEventHandle value);

// Pointers to structures, which may be NULL.
#define CALL_STRUCTURES(X)                                         \
    X(CUDA_MEMCPY2D, call_copy_2d)                                 \
    X(CUDA_MEMCPY3D, call_copy_3d)                                 \
    X(struct cudaMemcpy3DParms, call_copy_3d_runtime)              \
    X(CUlaunchConfig, call_launch)                                 \
    X(cudaLaunchConfig_t, call_launch_runtime)                     \
    X(CUDA_ARRAY_DESCRIPTOR, call_array)                           \
    X(CUDA_ARRAY3D_DESCRIPTOR, call_array_3d)                      \
    X(CUDA_KERNEL_NODE_PARAMS, call_kernel_node)                   \
    X(struct cudaKernelNodeParams, call_kernel_node_runtime)       \
    X(CUDA_MEMSET_NODE_PARAMS, call_fill_node)                     \
    X(struct cudaMemsetParams, call_fill_node_runtime)             \
    X(CUDA_MEM_ALLOC_NODE_PARAMS, call_allocation_node)            \
    X(struct cudaMemAllocNodeParams, call_allocation_node_runtime) \
    X(CUDA_HOST_NODE_PARAMS, call_host_node)                       \
    X(struct cudaHostNodeParams, call_host_node_runtime)           \
    X(struct cudaPitchedPtr, call_pitched_at)                      \
    X(struct cudaChannelFormatDesc, call_channels_at)

#define CALL_DECLARE(type, function) \
    void function(struct call *call, const char *key, const type *value);
CALL_STRUCTURES(CALL_DECLARE)
#undef CALL_DECLARE

#define CALL_CHOICE(type, function) const type * : (function), type * : (function),
// clang-format off
#define CALL_PUT(call, key, value)                                                             \
    _Generic((value),                                                                          \
        _Bool: call_unsigned, char: call_signed, signed char: call_signed,                     \
        short: call_signed, int: call_signed, long: call_signed, long long: call_signed,       \
        unsigned char: call_unsigned, unsigned short: call_unsigned,                           \
        unsigned int: call_unsigned, unsigned long: call_unsigned,                             \
        unsigned long long: call_unsigned, float: call_float, double: call_float,              \
        const char *: call_text, dim3: call_dim3, struct cudaExtent: call_extent,              \
        struct cudaPitchedPtr: call_pitched, CUmemLocation: call_location,                     \
        struct cudaMemLocation: call_location_runtime,                                         \
        struct cudaChannelFormatDesc: call_channels,                                           \
        CUipcMemHandle: call_memory_handle, CUipcEventHandle: call_event_handle,               \
        CALL_STRUCTURES(CALL_CHOICE)                                                           \
        default: call_pointer)(&(call), key, value)
// clang-format on
#define CALL_ADDRESS(call, name)    call_pointer(&(call), #name, (const void *)(uintptr_t)(name))
// What stands behind a pointer that the function has filled.
#define CALL_GIVEN(call, name, value)           \
    do {                                        \
        if (name)                               \
            CALL_PUT(call, #name, value);       \
        else                                    \
            call_pointer(&(call), #name, NULL); \
    } while (0)

// --- Whether there is a log ----------------------------------------------------------------------

enum calls_state { CALLS_UNKNOWN, CALLS_OFF, CALLS_ON };
extern _Atomic int calls_state __attribute__((visibility("hidden")));

static inline const struct calls *calls_to(void)
{
    const int known = atomic_load_explicit(&calls_state, memory_order_relaxed); // "off" says all
    return __builtin_expect(known == CALLS_OFF, 1) ? NULL : calls_find();
}

// The library's own: opens the door, or returns NULL. Called by calls_find, perhaps more than once.
const struct calls *calls_open(void);

#endif
