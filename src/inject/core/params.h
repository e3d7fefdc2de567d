// SPDX-License-Identifier: Apache-2.0
// The parameters of kernels, as a launch passes them: by pointers to the values, or packed.
#ifndef GLINT_INJECT_CORE_PARAMS_H
#define GLINT_INJECT_CORE_PARAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The sizes of a kernel's parameters. They live as long as the kernel.
struct core_params {
    uint32_t count;
    uint32_t bytes[];
};

// Asks the driver once for each kernel. NULL: unknown, as with drivers before CUDA 12.4. Calls the
// driver without a lock.
const struct core_params *core_params_of(const void *handle);

// Finds packed parameters. Returns false if there are none.
bool core_params_unpack(void **extra, const unsigned char **values, size_t *bytes);

// Passes on the value of each parameter, or all of them at once if they are packed. Returns false
// if they are unknown. The driver must have accepted the launch, or its shape must be possible: a
// launch that the driver refuses need not have parameters.
typedef void core_params_visit(void *user, const unsigned char *value, size_t bytes);
bool core_params_each(const void *handle, void **pointers, void **extra, core_params_visit *visit,
                      void *user);

#endif
