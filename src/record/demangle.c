// SPDX-License-Identifier: Apache-2.0
// Demangles C++ names with the demangler of the C++ runtime.
#include <stdlib.h>
#include <string.h>

#include "record.h"

// Declared here because its header, cxxabi.h, is C++.
char *__cxa_demangle(const char *name, char *buffer, size_t *length, int *status); // NOLINT

char *record_demangle(const char *name)
{
    int status = 0;
    char *plain =
        name[0] == '_' && name[1] == 'Z' ? __cxa_demangle(name, NULL, NULL, &status) : NULL;
    return plain ? plain : strdup(name);
}
