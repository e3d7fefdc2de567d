// SPDX-License-Identifier: Apache-2.0
// What the simulated GPU offers glint beyond the driver API: the table that cuGetExportTable
// returns for CUDAABI_SIM_ID.
#ifndef GLINT_CUDAABI_SIM_H
#define GLINT_CUDAABI_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "driver_types.h"

#define CUDAABI_SIM_ID                                                                   \
    {                                                                                    \
        {                                                                                \
            'g', 'l', 'i', 'n', 't', ' ', 's', 'i', 'm', ' ', 't', 'h', 'r', 'e', 'a', 1 \
        }                                                                                \
    }

typedef void cudaabi_sim_watch(void *user, uint64_t address, uint32_t bytes, bool reads,
                               bool writes);

struct cudaabi_sim {
    size_t size_bytes;
    // Returns the address of the calling thread's current context, valid as long as the thread
    // lives. Reading it gives what cuCtxGetCurrent returns, in a tenth of the time.
    const CUcontext *(*current)(void);
    // Returns what the calling thread is executing: CUDAABI_SIM_*. Async-signal-safe.
    int (*at)(void);
    // Returns what the first kernel that failed did wrong, in one line; NULL: none has failed. The
    // text stays. "kernel NAME[ in FUNCTION], FILE:LINE, block (0,0,0), thread (0,0,0): invalid
    // read of 4 bytes at ...", with the mangled name; without a line, "PTX line N" is in its place.
    const char *(*fault)(void);
    // Makes each later launch of the function pass its accesses to global memory on to `watch`,
    // before they are made, with `user`. Several threads call it at once. watch NULL: to nobody.
    // Launches that a kernel makes are left out.
    CUresult (*watch)(CUfunction function, cudaabi_sim_watch *watch, void *user);
};

enum {
    CUDAABI_SIM_ELSEWHERE = 0,    // the program, or anything else outside the driver
    CUDAABI_SIM_AT_WORK,          // work of the simulated GPU
    CUDAABI_SIM_IN_HOST_FUNCTION, // a host function of the program, which the driver called
};

#endif
