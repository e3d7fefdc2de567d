// SPDX-License-Identifier: Apache-2.0
// Which frames of a call path belong to the CUDA runtime, wherever it is linked: in libcudart.so,
// in the executable or in a library of the program. A call path starts at the program's own code,
// and what the runtime's frames are worth to people is one name: the function that the program
// called.
#ifndef GLINT_RECORD_RUNTIME_H
#define GLINT_RECORD_RUNTIME_H

#include "base/base.h"
#include "symbols.h"

enum record_runtime_image {
    RECORD_RUNTIME_PROGRAM = 0, // the program's, in which the static runtime may be
    RECORD_RUNTIME_LIBRARY,     // libcudart.so
    RECORD_RUNTIME_BELOW,       // the driver, or a library of glint's
};
enum record_runtime_image record_runtime_image(const char *path);

// How many of the innermost frames are not the program's: those of the driver, of the runtime and
// of CUDA's headers. images has the kind of each frame's image. Sets `called` to the function of
// the runtime that the program called ("cudaMalloc"), without suffixes; empty where there is none.
//
// A frame is the runtime's
// - in libcudart.so;
// - by a name that only the static runtime's internal functions have ("libcudart_static_" and 40
//   hexadecimal digits, "__cudart" and a number), or that the language reserves
//   ("__cudaLaunch...");
// - by the name of a function of its interface, as C has it or as CUDA's headers wrap it
//   (cudaMalloc<float>), unless its source is known and is the program's;
// - without a name, where a frame further out is the runtime's and none between is the program's.
size_t record_runtime_fold(const struct record_symbols_frame *frames,
                           const enum record_runtime_image *images, size_t count,
                           struct base_buf *called);

#endif
