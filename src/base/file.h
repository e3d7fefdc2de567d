// SPDX-License-Identifier: Apache-2.0
// Reading whole files into memory.
#ifndef GLINT_BASE_FILE_H
#define GLINT_BASE_FILE_H

#include <stddef.h>

#include "error.h"

// Reads a whole file, or a pipe to its end, into memory that the caller frees. A NUL follows the
// last byte and is not counted. Returns BASE_IO or BASE_NO_MEMORY on failure, and sets the results
// only on success.
enum base_code base_file_read(const char *path, char **bytes, size_t *length,
                              struct base_error *error);

#endif
