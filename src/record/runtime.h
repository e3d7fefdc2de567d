// SPDX-License-Identifier: Apache-2.0
// Finds the frames of a call path that belong to the CUDA runtime, whether it is linked as
// libcudart.so or statically, into the executable or a library of the program. Call paths in a
// profile start at the program's own code; of the runtime's frames they keep one name, the function
// that the program called.
#ifndef GLINT_RECORD_RUNTIME_H
#define GLINT_RECORD_RUNTIME_H

#include "base/base.h"
#include "symbols.h"

enum record_runtime_image {
    RECORD_RUNTIME_PROGRAM = 0, // of the program; may contain the static runtime
    RECORD_RUNTIME_LIBRARY,     // libcudart.so
    RECORD_RUNTIME_STANDIN,     // glint's libcublas.so and the like
    RECORD_RUNTIME_BELOW,       // the driver, or one of glint's libraries
};
enum record_runtime_image record_runtime_image(const char *path);

// Returns how many of the innermost frames do not belong to the program: those of the driver, of
// the runtime and of CUDA's headers. images has the kind of each frame's image. Sets `called` to
// the runtime function that the program called ("cudaMalloc"), without suffixes, or to "".
//
// A frame belongs to the runtime if
// - it is in libcudart.so, or in the simulated GPU's stand-in for another library of NVIDIA's;
// - its name is one that only internal functions of the static runtime have, or one that the
//   language reserves: "libcudart_static_" and 40 hexadecimal digits, "__cudart" and a number,
//   "__cudaLaunch...";
// - its name is that of an API function, as in C or as CUDA's headers wrap it (cudaMalloc<float>),
//   unless its source is known and belongs to the program;
// - it has no name, a frame further out belongs to the runtime, and none in between belongs to the
//   program.
size_t record_runtime_fold(const struct record_symbols_frame *frames,
                           const enum record_runtime_image *images, size_t count,
                           struct base_buf *called);

#endif
