// SPDX-License-Identifier: Apache-2.0
// How the driver's functions for programs built with --default-stream per-thread (_ptsz, _ptds)
// call the plain ones. calls.awk generates them; only the generated file includes this.
#ifndef GLINT_GPUSIM_DRIVER_PER_THREAD_H
#define GLINT_GPUSIM_DRIVER_PER_THREAD_H

#include "driver.h"

// Makes the call with the calling thread marked, and returns its result. While the mark is set,
// driver_stream_of() takes stream 0 for the thread's own default stream.
#define PER_THREAD(call)                             \
    do {                                             \
        struct driver_thread *own = driver_thread(); \
        own->per_thread++;                           \
        CUresult result = (call);                    \
        own->per_thread--;                           \
        return result;                               \
    } while (0)
#define PER_THREAD_STREAM(stream) stream

#endif
