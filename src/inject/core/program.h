// SPDX-License-Identifier: Apache-2.0
// Which program this process runs, for the recorder, which may see /proc only after its end.
#ifndef GLINT_INJECT_CORE_PROGRAM_H
#define GLINT_INJECT_CORE_PROGRAM_H

#include <stddef.h>

// Writes "executable\0folder\0argument\0argument\0", as far as there is room. Returns its bytes.
size_t core_program_describe(char *text, size_t room);

#endif
