// SPDX-License-Identifier: Apache-2.0
// The names of a module's variables, as its image tells them: the driver has no way to list them.
// Only names: where they lie and how large they are the driver says when it is asked.
#ifndef GLINT_INJECT_UTIL_GLOBALS_H
#define GLINT_INJECT_UTIL_GLOBALS_H

#include "base/base.h"

enum {
    GLOBALS_MOST = 4096,                   // names of one module
    GLOBALS_MOST_BYTES = 64 * 1024 * 1024, // of code to look through
};

struct util_globals {
    struct base_buf names; // each followed by a NUL
    size_t count;
    bool truncated; // there are more, or they were not looked for
};

// The variables at module scope in PTX, those that are defined elsewhere left out; and those in a
// cubin, which is not believed. Both add to what is there.
void util_globals_of_ptx(const char *text, size_t length, struct util_globals *globals);
void util_globals_of_cubin(const void *bytes, size_t length, struct util_globals *globals);

// Those of the image that a program hands to the driver (cuModuleLoadData, cuLibraryLoadData), or
// of the file: of the code in it that a device of compute capability major.minor takes. Adds none
// where it has no such code, or cannot be read.
void util_globals_of_image(const void *image, unsigned major, unsigned minor,
                           struct util_globals *globals);
void util_globals_of_file(const char *path, unsigned major, unsigned minor,
                          struct util_globals *globals);

void util_globals_fini(struct util_globals *globals);

#endif
