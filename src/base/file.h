// SPDX-License-Identifier: Apache-2.0
// Whole files in memory.
#ifndef GLINT_BASE_FILE_H
#define GLINT_BASE_FILE_H

#include <stddef.h>

#include "error.h"

// Reads a whole file, or all of a pipe, into memory that the caller frees. A NUL follows the last
// byte and is not counted. BASE_IO, BASE_NO_MEMORY; the results are set only on success.
enum base_code base_file_read(const char *path, char **bytes, size_t *length,
                              struct base_error *error);

#endif
