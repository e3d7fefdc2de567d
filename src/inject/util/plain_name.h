// SPDX-License-Identifier: Apache-2.0
// The name of a function in its mangled name.
#ifndef GLINT_INJECT_UTIL_PLAIN_NAME_H
#define GLINT_INJECT_UTIL_PLAIN_NAME_H

#include <stdbool.h>
#include <stddef.h>

// With its scopes, and without parameters and arguments of templates: "ns::kernel" of
// "_ZN2ns6kernelIfEEvPT_"; up to the first scope that is a template. False: it is not mangled so,
// or longer than there is room.
bool util_plain_name(const char *mangled, char *out, size_t room);

#endif
