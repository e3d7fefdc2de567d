// SPDX-License-Identifier: Apache-2.0
// Finds out whether kernels print. Their output shows the program how far the GPU has come, so
// waits must stay.
#ifndef GLINT_INJECT_CORRECT_WAIT_PRINT_H
#define GLINT_INJECT_CORRECT_WAIT_PRINT_H

#include "inject/correct/state.h"

// Says that code was loaded, from memory or (image NULL) from a file.
void correct_loaded_slowly(const void *image, const char *path);
static inline void correct_loaded(const void *image, const char *path)
{
    if (correct_state.on)
        correct_loaded_slowly(image, path);
}

#endif
