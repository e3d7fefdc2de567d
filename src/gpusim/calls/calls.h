// SPDX-License-Identifier: Apache-2.0
// Code that runs at the start and end of every API function. It disables cancellation of the
// thread, and logs the call with its arguments, result and outputs. calls.awk generates a wrapper
// around each API function that uses this header. The driver and each runtime compile calls.c. Only
// the driver has the log; runtimes reach it through struct calls.
#ifndef GLINT_GPUSIM_CALLS_CALLS_H
#define GLINT_GPUSIM_CALLS_CALLS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"
#include "cudaabi/cudaabi.h"

struct calls_call;

// Access to the log: what cuGetExportTable returns for calls_id if there is a log.
struct calls {
    size_t size_bytes;
    void (*begin)(struct calls_call *call, const char *name, const char *arguments);
    void (*end)(struct calls_call *call, int64_t result, const char *outputs);
};
extern const CUuuid calls_id;

// A call in progress. Initialize it with {.to = calls_to()}.
struct calls_call {
    const struct calls *to;
    uint64_t number, outer; // set by the driver: this call, and the call that encloses it
    struct base_buf text;
};

// Returns access to the log, or NULL if calls are not logged. Any thread.
static inline const struct calls *calls_to(void);
// The slow path of calls_to(): asks calls_open() once.
const struct calls *calls_find(void);

// Calls take locks and wait, so a thread that is cancelled during a call (pthread_cancel) must not
// end before the call returns. Calls may nest. calls_let_cancel() restores the state that
// calls_hold_cancel() returned. Call it without locks: a thread with asynchronous cancellation may
// end in it.
struct calls_cancel {
    int state, type; // of the thread before the call
};

static inline struct calls_cancel calls_hold_cancel(void)
{
    struct calls_cancel own;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &own.state);
    pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &own.type);
    return own;
}

// Restores the type last. Some versions of glibc (2.36) give a thread that ends in
// pthread_setcancelstate the result NULL instead of PTHREAD_CANCELED.
static inline void calls_let_cancel(struct calls_cancel own)
{
    if (own.state != PTHREAD_CANCEL_DISABLE)
        pthread_setcancelstate(own.state, NULL);
    if (own.type != PTHREAD_CANCEL_DEFERRED)
        pthread_setcanceltype(own.type, NULL);
}

// Write the entry, after the arguments were added, and the return, after the outputs were added.
void calls_begin(struct calls_call *call, const char *name);
void calls_end(struct calls_call *call, int64_t result);

// --- Arguments: " key=value" --------------------------------------------------------------------

void calls_signed(struct calls_call *call, const char *key, long long value);
void calls_unsigned(struct calls_call *call, const char *key, unsigned long long value);
void calls_float(struct calls_call *call, const char *key, double value);
void calls_pointer(struct calls_call *call, const char *key, const void *value);
void calls_text(struct calls_call *call, const char *key, const char *value); // quoted; may be NULL

// Structures become one pair for each member: " key.member=value".
void calls_dim3(struct calls_call *call, const char *key, dim3 value); // "x,y,z"
void calls_extent(struct calls_call *call, const char *key, struct cudaExtent value);
void calls_pitched(struct calls_call *call, const char *key, struct cudaPitchedPtr value);
void calls_location(struct calls_call *call, const char *key, CUmemLocation value);
void calls_location_runtime(struct calls_call *call, const char *key, struct cudaMemLocation value);
void calls_channels(struct calls_call *call, const char *key, struct cudaChannelFormatDesc value);
void calls_memory_handle(struct calls_call *call, const char *key, CUipcMemHandle value);
void calls_event_handle(struct calls_call *call, const char *key, CUipcEventHandle value);

// Pointers to structures, which may be NULL.
#define CALLS_STRUCTURES(X)                                         \
    X(CUDA_MEMCPY2D, calls_copy_2d)                                 \
    X(CUDA_MEMCPY3D, calls_copy_3d)                                 \
    X(struct cudaMemcpy3DParms, calls_copy_3d_runtime)              \
    X(CUlaunchConfig, calls_launch)                                 \
    X(cudaLaunchConfig_t, calls_launch_runtime)                     \
    X(CUDA_ARRAY_DESCRIPTOR, calls_array)                           \
    X(CUDA_ARRAY3D_DESCRIPTOR, calls_array_3d)                      \
    X(CUDA_KERNEL_NODE_PARAMS, calls_kernel_node)                   \
    X(struct cudaKernelNodeParams, calls_kernel_node_runtime)       \
    X(CUDA_MEMSET_NODE_PARAMS, calls_fill_node)                     \
    X(struct cudaMemsetParams, calls_fill_node_runtime)             \
    X(CUDA_MEM_ALLOC_NODE_PARAMS, calls_allocation_node)            \
    X(struct cudaMemAllocNodeParams, calls_allocation_node_runtime) \
    X(CUDA_HOST_NODE_PARAMS, calls_host_node)                       \
    X(struct cudaHostNodeParams, calls_host_node_runtime)           \
    X(struct cudaPitchedPtr, calls_pitched_at)                      \
    X(struct cudaChannelFormatDesc, calls_channels_at)

#define CALLS_DECLARE(type, function) \
    void function(struct calls_call *call, const char *key, const type *value);
CALLS_STRUCTURES(CALLS_DECLARE)
#undef CALLS_DECLARE

#define CALLS_CHOICE(type, function) const type * : (function), type * : (function),
// clang-format off
#define CALLS_PUT(call, key, value)                                                             \
    _Generic((value),                                                                          \
        _Bool: calls_unsigned, char: calls_signed, signed char: calls_signed,                     \
        short: calls_signed, int: calls_signed, long: calls_signed, long long: calls_signed,       \
        unsigned char: calls_unsigned, unsigned short: calls_unsigned,                           \
        unsigned int: calls_unsigned, unsigned long: calls_unsigned,                             \
        unsigned long long: calls_unsigned, float: calls_float, double: calls_float,              \
        const char *: calls_text, dim3: calls_dim3, struct cudaExtent: calls_extent,              \
        struct cudaPitchedPtr: calls_pitched, CUmemLocation: calls_location,                     \
        struct cudaMemLocation: calls_location_runtime,                                         \
        struct cudaChannelFormatDesc: calls_channels,                                           \
        CUipcMemHandle: calls_memory_handle, CUipcEventHandle: calls_event_handle,               \
        CALLS_STRUCTURES(CALLS_CHOICE)                                                           \
        default: calls_pointer)(&(call), key, value)
// clang-format on
#define CALLS_ADDRESS(call, name)    calls_pointer(&(call), #name, (const void *)(uintptr_t)(name))
// Logs the value that the function has stored through a pointer.
#define CALLS_GIVEN(call, name, value)           \
    do {                                         \
        if (name)                                \
            CALLS_PUT(call, #name, value);       \
        else                                     \
            calls_pointer(&(call), #name, NULL); \
    } while (0)

// --- Whether there is a log ----------------------------------------------------------------------

enum calls_state { CALLS_UNKNOWN, CALLS_OFF, CALLS_ON };
// Each library that compiles calls.c has its own copy.
struct calls_found {
    _Atomic int state; // enum calls_state
    const struct calls *_Atomic to;
    pthread_mutex_t lock; // serializes the first call of calls_open()
};
extern struct calls_found calls_found __attribute__((visibility("hidden")));

static inline const struct calls *calls_to(void)
{
    // Relaxed order suffices for CALLS_OFF, which needs no other field.
    const int known = atomic_load_explicit(&calls_found.state, memory_order_relaxed);
    return __builtin_expect(known == CALLS_OFF, 1) ? NULL : calls_find();
}

// Each library defines this. Returns access to the log, or NULL. calls_find() calls it at most
// once.
const struct calls *calls_open(void);

#endif
