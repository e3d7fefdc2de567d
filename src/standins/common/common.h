// SPDX-License-Identifier: Apache-2.0
// What the stand-ins for NVIDIA's libraries share: the current context, kernels, and refusals. A
// stand-in uses only the driver API, so its launches and memory are recorded like those of any
// program.
#ifndef GLINT_STANDINS_COMMON_COMMON_H
#define GLINT_STANDINS_COMMON_COMMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cudaabi/cudaabi.h"

#define COMMON_API __attribute__((visibility("default")))

// Makes sure that the calling thread has a context, as the runtime does: without one, the primary
// context of device 0 becomes current.
CUresult common_context(void);

// Finds a kernel of a module in the current context, where the module is loaded on its first use.
// `ptx` identifies the module and must be a constant. Any thread may call this.
CUresult common_kernel(const char *ptx, const char *name, CUfunction *kernel);

// Launches a kernel with one parameter, a structure. A grid without blocks is no launch, and a
// success.
struct common_launch {
    const char *ptx, *kernel;
    uint64_t blocks;  // in x
    unsigned members; // blocks in z; 0: one
    unsigned threads;
    CUstream stream;
    void *parameter;
};
CUresult common_launch(const struct common_launch *launch);

// Returns how many blocks of `size` threads have `count` threads in total.
uint64_t common_blocks(uint64_t count, unsigned size);

// Prints, once for each `reported`, that a function or a form of it is not supported by the
// simulated GPU. Returns `status`.
int common_refuse(bool *reported, const char *name, int status);
#define COMMON_REFUSE(what, status)                 \
    __extension__({                                 \
        static bool told_;                          \
        common_refuse(&told_, what, (int)(status)); \
    })

// A function that the library exports and the stand-in lacks. Any other definition of the same name
// comes first.
#define COMMON_MISSING(name, status)                             \
    __attribute__((weak, visibility("default"))) int name(void); \
    int name(void)                                               \
    {                                                            \
        return COMMON_REFUSE(#name, status);                     \
    }

#endif
