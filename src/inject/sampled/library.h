// SPDX-License-Identifier: Apache-2.0
// The library of the Sanitizer API, opened where the recorder has found it.
#ifndef GLINT_INJECT_SAMPLED_LIBRARY_H
#define GLINT_INJECT_SAMPLED_LIBRARY_H

#include <stddef.h>

#include "sanitizer.h"

struct sampled_library {
    Sanitizer_SubscriberHandle subscriber;
#define SAMPLED_FUNCTION(name, params) int(*name) params;
    SANITIZER_FUNCTIONS(SAMPLED_FUNCTION)
#undef SAMPLED_FUNCTION
};

// Opens the library and subscribes, which must precede the program's first call of CUDA. Returns
// NULL, or why that is impossible, in `room` if it has no text of its own.
const char *sampled_library_open(struct sampled_library *library, const char *path, char *room,
                                 size_t bytes);
void sampled_library_close(struct sampled_library *library);
// Gives the context, which is current, the patch; and patches a module of it. Return NULL, or what
// failed. The caller sees to it that only one thread calls.
const char *sampled_library_add(const struct sampled_library *library, const void *patch,
                                CUcontext context);
const char *sampled_library_patch(const struct sampled_library *library, CUmodule module);

#endif
