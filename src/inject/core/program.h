// SPDX-License-Identifier: Apache-2.0
// Describes the program for the recorder, which may read /proc only after the process has ended.
#ifndef GLINT_INJECT_CORE_PROGRAM_H
#define GLINT_INJECT_CORE_PROGRAM_H

#include <stddef.h>

// Writes "executable\0folder\0argument\0argument\0", as far as there is room. Returns its bytes.
size_t core_program_describe(char *text, size_t room);

#endif
