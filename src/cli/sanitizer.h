// SPDX-License-Identifier: Apache-2.0
// Finds what --sample-native needs: the library of NVIDIA's Sanitizer API, and glint's patch.
#ifndef GLINT_CLI_SANITIZER_H
#define GLINT_CLI_SANITIZER_H

#include <stdbool.h>

#include "base/base.h"

#define CLI_SANITIZER_LIBRARY "libsanitizer-public.so"

// Appends the path of the library: that in GLINT_SANITIZER, or the first that is found in folders
// of the toolkit and in those of LD_LIBRARY_PATH. Returns false if there is none.
bool cli_sanitizer_find(struct base_buf *path);
// Appends the path of the patch: that in GLINT_SAMPLED_PATCH, or the one beside glint's libraries.
// Returns false if there is none: glint was built without nvcc.
bool cli_sanitizer_find_patch(struct base_buf *path);

#endif
