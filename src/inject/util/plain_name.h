// SPDX-License-Identifier: Apache-2.0
// The readable name of a function, from its mangled name.
#ifndef GLINT_INJECT_UTIL_PLAIN_NAME_H
#define GLINT_INJECT_UTIL_PLAIN_NAME_H

#include <stdbool.h>
#include <stddef.h>

// Writes the name with its scopes, and without parameters and template arguments: "ns::kernel" for
// "_ZN2ns6kernelIfEEvPT_". Stops at the first scope that is a template. Returns false if the name
// is not mangled this way, or there is not enough room.
bool util_plain_name(const char *mangled, char *out, size_t room);

#endif
