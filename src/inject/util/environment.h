// SPDX-License-Identifier: Apache-2.0
// The program's environment as it is now. settings.h has glint's variables as they were at first.
#ifndef GLINT_INJECT_UTIL_ENVIRONMENT_H
#define GLINT_INJECT_UTIL_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>

// Copies the variable's value. Returns false if it is not set, longer than the room, or cannot be
// read. Any thread may call, also while another one changes the environment.
bool util_environment(const char *name, char *value, size_t room);

#endif
