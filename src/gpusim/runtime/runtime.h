// SPDX-License-Identifier: Apache-2.0
// Declarations that the files of the simulated GPU's libcudart share. The runtime uses only the
// driver API. It stores what the driver does not: the host functions that stand for kernels, each
// thread's last error and device, and launch configurations. It calls cu* functions through the
// dynamic linker, so that a library that interposes on the driver, such as libglint.so, sees the
// calls.
#ifndef GLINT_GPUSIM_RUNTIME_RUNTIME_H
#define GLINT_GPUSIM_RUNTIME_RUNTIME_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"
#include "cudaabi/cudaabi.h"

// --- State (state.c) -----------------------------------------------------------------------------

enum { RUNTIME_DEVICES_MAX = 64, RUNTIME_CONFIGURATIONS_MAX = 64 };

// All mutable state of the library, except that of threads.
struct runtime_process {
    pthread_once_t once;
    CUresult started; // the result of cuInit; written under once
    int device_count; // written under once

    pthread_mutex_t lock; // guards the next two
    struct {
        _Atomic(CUcontext) handle;
        _Atomic bool held; // retained, and not reset since
    } primary[RUNTIME_DEVICES_MAX];
    struct base_map reported; // missing functions that were named on stderr

    pthread_mutex_t registry_lock; // guards the rest, which only register.c uses
    struct base_map functions;     // host function -> struct host_kernel *
    struct base_map variables;     // host variable -> struct host_variable *
    struct base_map handles;       // CUkernel -> host function, or the handle itself
    bool exiting;                  // exit handlers are running
};
extern struct runtime_process runtime;

// The configuration of a launch. The launch statement pushes it, and the stub that the statement
// calls pops it.
struct runtime_configuration {
    dim3 grid, block;
    size_t shared_bytes;
    struct CUstream_st *stream;
};

// The state of a thread.
struct runtime_thread {
    int device;
    cudaError_t last_error;
    // A stack, because an argument of a launch may itself launch a kernel.
    unsigned depth;
    struct runtime_configuration configurations[RUNTIME_CONFIGURATIONS_MAX];
};
extern _Thread_local struct runtime_thread runtime_thread;

// --- Calls and errors (state.c) ---------------------------------------------------------

// Initializes the driver, once, and makes the primary context of the thread's device current unless
// the thread has a context.
cudaError_t runtime_begin(void);

// Only initializes the driver, for functions that need no context.
cudaError_t runtime_init(void);

// Stores the calling thread's last error. Ignores cudaSuccess and cudaErrorNotReady.
void runtime_record(cudaError_t error);

// Records the error and returns it: the last statement of an API function.
static inline cudaError_t runtime_end(cudaError_t error)
{
    runtime_record(error);
    return error;
}

// Converts a driver error; the runtime's codes include the driver's.
static inline cudaError_t runtime_code(CUresult result)
{
    return (cudaError_t)result;
}

// The body of a function that is one driver call: return RUNTIME(cuStreamSynchronize(stream)).
#define RUNTIME(call)                                                      \
    __extension__({                                                        \
        cudaError_t runtime_error_ = runtime_begin();                      \
        runtime_end(runtime_error_ ? runtime_error_ : runtime_code(call)); \
    })

// The same for a call that needs no context.
#define RUNTIME_INIT(call)                                                 \
    __extension__({                                                        \
        cudaError_t runtime_error_ = runtime_init();                       \
        runtime_end(runtime_error_ ? runtime_error_ : runtime_code(call)); \
    })

// Records the error and returns it from the function, if there is one.
#define RUNTIME_TRY(expression)                    \
    do {                                           \
        cudaError_t runtime_tried_ = (expression); \
        if (runtime_tried_)                        \
            return runtime_end(runtime_tried_);    \
    } while (0)

// For a function that the simulated GPU does not implement: names the function on stderr, once, and
// records and returns cudaErrorNotSupported.
cudaError_t runtime_missing(const char *name);
#define RUNTIME_MISSING() runtime_missing(__func__)

// The same for a function without a wrapper of calls.awk: it also writes the log.
cudaError_t runtime_refuse(const char *name);

// Returns the calling thread's device, which need not have a context yet.
int runtime_device(void);
// Retains the device's primary context until the process ends.
cudaError_t runtime_primary(int device, CUcontext *context);

// Converts the stream of a function whose name ends in _ptsz.
static inline cudaStream_t runtime_per_thread(cudaStream_t stream)
{
    return stream ? stream : cudaStreamPerThread;
}

static inline CUdeviceptr runtime_address(const void *pointer)
{
    return (CUdeviceptr)(uintptr_t)pointer;
}

// --- Kernels and variables (register.c) -------------------------------------------------

// Finds the kernel of a host function and loads its code if needed. Does not record its error.
// cudaErrorInvalidDeviceFunction if the host function was not registered.
cudaError_t runtime_kernel(const void *host_function, CUkernel *kernel);
// The same, as a function of the current context.
cudaError_t runtime_function(const void *host_function, CUfunction *function);
// Returns the host function of a kernel or function, or the handle itself if there is none.
void *runtime_host_function(CUfunction function);
// Finds a variable by the address of its host shadow. cudaErrorInvalidSymbol.
cudaError_t runtime_symbol(const void *symbol, CUdeviceptr *address, size_t *size_bytes);

// --- Copies (copy.c, fill.c, convert.c) ---------------------------------

// How a copy or fill is ordered: asynchronously on a stream, or synchronously.
struct runtime_order {
    bool async;
    cudaStream_t stream; // if async
    bool per_thread;     // if not async: on the calling thread's default stream
};
#define RUNTIME_SYNC       ((struct runtime_order){.async = false})
#define RUNTIME_PER_THREAD ((struct runtime_order){.per_thread = true})
#define RUNTIME_ON(on)     ((struct runtime_order){.async = true, .stream = (on)})

// These do not record their errors.
cudaError_t runtime_copy(void *to, const void *from, size_t size_bytes, enum cudaMemcpyKind kind,
                         struct runtime_order order);
cudaError_t runtime_copy_2d(const CUDA_MEMCPY2D *copy, struct runtime_order order);
cudaError_t runtime_copy_3d(const CUDA_MEMCPY3D *copy, struct runtime_order order);
cudaError_t runtime_fill(CUdeviceptr to, size_t pitch_bytes, int value, size_t width_bytes,
                         size_t height, struct runtime_order order);

// Converts the parameters of cudaMemcpy3D to the driver's.
cudaError_t runtime_convert_copy(const struct cudaMemcpy3DParms *from, CUDA_MEMCPY3D *to);
// Converts a kind to the memory types of source and destination. cudaErrorInvalidMemcpyDirection.
cudaError_t runtime_convert_kind(enum cudaMemcpyKind kind, CUmemorytype *from, CUmemorytype *to);
// Converts a channel description to an array format, and back. cudaErrorInvalidChannelDescriptor.
cudaError_t runtime_convert_channels(const struct cudaChannelFormatDesc *from,
                                     CUarray_format *format, unsigned *channels);
struct cudaChannelFormatDesc runtime_channels(CUarray_format format, unsigned channels);
unsigned runtime_format_bytes(CUarray_format format);

// --- For the versions of the library (versions/) -------------------------------------------------

// Fills every field of CUDA 13's cudaDeviceProp.
cudaError_t runtime_properties(struct cudaDeviceProp *properties, int device);
cudaError_t runtime_pointer(struct cudaPointerAttributes *attributes, const void *pointer);
cudaError_t runtime_attributes(struct cudaFuncAttributes *attributes, const void *host_function);
// Unlike the three above, this records its error.
cudaError_t runtime_capture_info(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
                                 unsigned long long *id, cudaGraph_t *graph,
                                 const cudaGraphNode_t **dependencies,
                                 const cudaGraphEdgeData **edges, size_t *count);
// The result of cudaRuntimeGetVersion; each version of the library defines it.
extern const int runtime_version;

#endif
