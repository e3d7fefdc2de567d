// SPDX-License-Identifier: Apache-2.0
// What the files of the simulated GPU's libcudart share. The runtime is a layer over the driver API
// and nothing else: it keeps what the driver does not know (which host function stands for which
// kernel, the calling thread's last error and device, launch configurations on their way), and
// calls cu* functions through the dynamic linker, so that whoever stands before the driver sees
// them. Internal to libcudart; the machine and the driver know nothing of it.
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

// All mutable state of the library, beside that of threads.
struct runtime_process {
    pthread_once_t once;
    CUresult started; // what cuInit said; written under once
    int device_count; // the same

    pthread_mutex_t lock; // of the next two
    struct {
        _Atomic(CUcontext) handle;
        _Atomic bool held; // retained, and not reset since
    } primary[RUNTIME_DEVICES_MAX];
    struct base_map reported; // missing functions that were named on stderr

    pthread_mutex_t registry_lock; // of the rest, which register.c alone uses
    struct base_map functions;     // host function -> struct host_kernel *
    struct base_map variables;     // host variable -> struct host_variable *
    struct base_map handles;       // CUkernel -> host function, or the handle itself
    bool exiting;                  // the process ends: exit handlers run
};
extern struct runtime_process runtime;

// What a launch statement pushes and the stub it calls pops.
struct runtime_configuration {
    dim3 grid, block;
    size_t shared_bytes;
    struct CUstream_st *stream;
};

// What each thread has of its own.
struct runtime_thread {
    int device;
    cudaError_t last_error;
    // An argument of a launch may itself launch, so there is a stack.
    unsigned depth;
    struct runtime_configuration configurations[RUNTIME_CONFIGURATIONS_MAX];
};
extern _Thread_local struct runtime_thread runtime_thread;

// --- Calls and errors (state.c) ---------------------------------------------------------

// Starts the driver, once, and makes sure that the calling thread has a context: the one it has,
// else the primary context of its device.
cudaError_t runtime_begin(void);

// Only starts the driver, for what needs no context.
cudaError_t runtime_init(void);

// Remembers an error as the calling thread's last. cudaSuccess and cudaErrorNotReady are none.
void runtime_record(cudaError_t error);

// What a function returns, recorded.
static inline cudaError_t runtime_end(cudaError_t error)
{
    runtime_record(error);
    return error;
}

// The runtime's codes contain the driver's.
static inline cudaError_t runtime_code(CUresult result)
{
    return (cudaError_t)result;
}

// The whole of a function that is one driver call: RUNTIME(cuStreamSynchronize(stream)).
#define RUNTIME(call)                                                      \
    __extension__({                                                        \
        cudaError_t runtime_error_ = runtime_begin();                      \
        runtime_end(runtime_error_ ? runtime_error_ : runtime_code(call)); \
    })

// The same without a context.
#define RUNTIME_INIT(call)                                                 \
    __extension__({                                                        \
        cudaError_t runtime_error_ = runtime_init();                       \
        runtime_end(runtime_error_ ? runtime_error_ : runtime_code(call)); \
    })

// Leaves the function with an error, recorded, where there is one.
#define RUNTIME_TRY(expression)                    \
    do {                                           \
        cudaError_t runtime_tried_ = (expression); \
        if (runtime_tried_)                        \
            return runtime_end(runtime_tried_);    \
    } while (0)

// What a function returns that the simulated GPU does not have: names the function on stderr, the
// first time, and returns and records cudaErrorNotSupported.
cudaError_t runtime_missing(const char *name);
#define RUNTIME_MISSING() runtime_missing(__func__)

// The same for a function that calls.awk generates no wrapper for: it writes the log too.
cudaError_t runtime_refuse(const char *name);

// The calling thread's device; it need not have a context yet.
int runtime_device(void);
// The device's primary context, kept for the life of the process.
cudaError_t runtime_primary(int device, CUcontext *context);

// What a null stream means to functions whose name ends in _ptsz.
static inline cudaStream_t runtime_per_thread(cudaStream_t stream)
{
    return stream ? stream : cudaStreamPerThread;
}

static inline CUdeviceptr runtime_address(const void *pointer)
{
    return (CUdeviceptr)(uintptr_t)pointer;
}

// --- Kernels and variables (register.c) -------------------------------------------------

// The kernel behind a host function, loading its code where it is not yet. Not recorded as last
// error. cudaErrorInvalidDeviceFunction where nothing was registered under it.
cudaError_t runtime_kernel(const void *host_function, CUkernel *kernel);
// The same as a function of the current context.
cudaError_t runtime_function(const void *host_function, CUfunction *function);
// The host function that a kernel or function was registered under; the handle itself where none
// was.
void *runtime_host_function(CUfunction function);
// A variable's address and size, from the address of its host shadow. cudaErrorInvalidSymbol.
cudaError_t runtime_symbol(const void *symbol, CUdeviceptr *address, size_t *size_bytes);

// --- Copies (copy.c, fill.c, convert.c) ---------------------------------

// How a copy or fill is ordered: on a stream, or as a call that returns when the host may go on.
struct runtime_order {
    bool async;
    cudaStream_t stream; // where async
    bool per_thread;     // where not: against the calling thread's default stream
};
#define RUNTIME_SYNC       ((struct runtime_order){.async = false})
#define RUNTIME_PER_THREAD ((struct runtime_order){.per_thread = true})
#define RUNTIME_ON(on)     ((struct runtime_order){.async = true, .stream = (on)})

// None of these records its error.
cudaError_t runtime_copy(void *to, const void *from, size_t size_bytes, enum cudaMemcpyKind kind,
                         struct runtime_order order);
cudaError_t runtime_copy_2d(const CUDA_MEMCPY2D *copy, struct runtime_order order);
cudaError_t runtime_copy_3d(const CUDA_MEMCPY3D *copy, struct runtime_order order);
cudaError_t runtime_fill(CUdeviceptr to, size_t pitch_bytes, int value, size_t width_bytes,
                         size_t height, struct runtime_order order);

// cudaMemcpy3D's parameters as the driver wants them.
cudaError_t runtime_convert_copy(const struct cudaMemcpy3DParms *from, CUDA_MEMCPY3D *to);
// A kind as the memory types of its two ends. cudaErrorInvalidMemcpyDirection.
cudaError_t runtime_convert_kind(enum cudaMemcpyKind kind, CUmemorytype *from, CUmemorytype *to);
// The array format behind a channel description, and back. cudaErrorInvalidChannelDescriptor.
cudaError_t runtime_convert_channels(const struct cudaChannelFormatDesc *from,
                                     CUarray_format *format, unsigned *channels);
struct cudaChannelFormatDesc runtime_channels(CUarray_format format, unsigned channels);
unsigned runtime_format_bytes(CUarray_format format);

// --- What differs between versions of the library (runtime_v*.c) --------------------------------

// Every field of CUDA 13's cudaDeviceProp.
cudaError_t runtime_properties(struct cudaDeviceProp *properties, int device);
cudaError_t runtime_pointer(struct cudaPointerAttributes *attributes, const void *pointer);
cudaError_t runtime_attributes(struct cudaFuncAttributes *attributes, const void *host_function);
// Records its error, unlike the three above.
cudaError_t runtime_capture_info(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
                                 unsigned long long *id, cudaGraph_t *graph,
                                 const cudaGraphNode_t **dependencies,
                                 const cudaGraphEdgeData **edges, size_t *count);
// The version that cudaRuntimeGetVersion answers: each library defines its own.
extern const int runtime_version;

#endif
