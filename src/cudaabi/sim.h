// SPDX-License-Identifier: Apache-2.0
// What glint's own driver, the simulated GPU, tells glint beside the driver API: the table that
// cuGetExportTable gives for CUDAABI_SIM_ID.
#ifndef GLINT_CUDAABI_SIM_H
#define GLINT_CUDAABI_SIM_H

#include <stddef.h>

#include "driver_types.h"

#define CUDAABI_SIM_ID                                                                   \
    {                                                                                    \
        {                                                                                \
            'g', 'l', 'i', 'n', 't', ' ', 's', 'i', 'm', ' ', 't', 'h', 'r', 'e', 'a', 1 \
        }                                                                                \
    }

struct cudaabi_sim {
    size_t size_bytes;
    // Where the calling thread's current context stands, for as long as the thread lives. Reading
    // it is what cuCtxGetCurrent does, for a tenth of the time.
    const CUcontext *(*current)(void);
    // What the calling thread is at: CUDAABI_SIM_*. May be asked in a signal handler.
    int (*at)(void);
};

enum {
    CUDAABI_SIM_ELSEWHERE = 0,    // in the program, as far as the driver can tell
    CUDAABI_SIM_AT_WORK,          // the GPU's work
    CUDAABI_SIM_IN_HOST_FUNCTION, // the program's, which the driver has called
};

#endif
