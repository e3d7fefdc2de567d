// SPDX-License-Identifier: Apache-2.0
// glint's declarations of NVIDIA's Sanitizer API (libsanitizer-public.so of Compute Sanitizer), as
// far as glint uses it: functions, results, instructions that can be patched, and what a patch
// gets. The library is opened at run time, and never linked.
#ifndef GLINT_INJECT_SAMPLED_SANITIZER_H
#define GLINT_INJECT_SAMPLED_SANITIZER_H

#include <stdint.h>

#include "cudaabi/cudaabi.h"

#define SANITIZER_LIBRARY "libsanitizer-public.so"

enum { SANITIZER_SUCCESS = 0 }; // all other results are errors

// Instructions before which a patch is called.
enum {
    SANITIZER_INSTRUCTION_GLOBAL_MEMORY_ACCESS = 3, // load, store or atomic operation
    SANITIZER_INSTRUCTION_MEMCPY_ASYNC = 14,        // copy from global to shared memory
    SANITIZER_INSTRUCTION_BULK_COPY_GLOBAL_TO_SHARED = 30,
    SANITIZER_INSTRUCTION_BULK_COPY_SHARED_TO_GLOBAL = 35,
    SANITIZER_INSTRUCTION_BULK_REDUCTION_SHARED_TO_GLOBAL = 37,
};

typedef struct Sanitizer_Subscriber_st *Sanitizer_SubscriberHandle;
typedef void Sanitizer_CallbackFunc(void *userdata, int domain, uint32_t id, const void *data);

// The functions that glint calls: name, and parameters. All return a result. AddPatches,
// PatchInstructions and PatchModule must not run at the same time. The patches are a fatbin or a
// cubin that nvcc made with --compile-as-tools-patch; PTX is accepted and has no effect.
// SetCallbackData sets the first argument of patches in later launches of the function, which is
// device memory.
#define SANITIZER_FUNCTIONS(X)                                                                    \
    X(Subscribe,                                                                                  \
      (Sanitizer_SubscriberHandle * subscriber, Sanitizer_CallbackFunc * called, void *userdata)) \
    X(Unsubscribe, (Sanitizer_SubscriberHandle subscriber))                                       \
    X(AddPatches, (const void *image, CUcontext context))                                         \
    X(PatchInstructions, (int instruction, CUmodule module, const char *patch))                   \
    X(PatchModule, (CUmodule module))                                                             \
    X(SetCallbackData, (CUfunction function, const void *userdata))

#define SANITIZER_FUNCTION(name, params) int sanitizer##name params;
SANITIZER_FUNCTIONS(SANITIZER_FUNCTION)
#undef SANITIZER_FUNCTION

#endif
