// SPDX-License-Identifier: Apache-2.0
// The names of a module's variables, read from its image, because the driver cannot list them. The
// driver then reports their addresses and sizes.
#ifndef GLINT_INJECT_UTIL_GLOBALS_H
#define GLINT_INJECT_UTIL_GLOBALS_H

#include "base/base.h"

enum {
    GLOBALS_MOST = 4096,                   // names of one module
    GLOBALS_MOST_BYTES = 64 * 1024 * 1024, // of code that is examined
};

struct util_globals {
    struct base_buf names; // each followed by a NUL
    size_t count;
    bool truncated; // there are more, or the code was not examined
};

// Add the variables at module scope of PTX, without those defined elsewhere; and those of a cubin,
// whose contents are not trusted.
void util_globals_of_ptx(const char *text, size_t length, struct util_globals *globals);
void util_globals_of_cubin(const void *bytes, size_t length, struct util_globals *globals);

// Add those of an image that a program hands to the driver (cuModuleLoadData, cuLibraryLoadData),
// or of a file: of the code in it that a device of compute capability major.minor runs. Add none if
// there is no such code, or it cannot be read.
void util_globals_of_image(const void *image, unsigned major, unsigned minor,
                           struct util_globals *globals);
void util_globals_of_file(const char *path, unsigned major, unsigned minor,
                          struct util_globals *globals);

void util_globals_fini(struct util_globals *globals);

#endif
