// SPDX-License-Identifier: Apache-2.0
// glint's environment variables as they were when the library was loaded. A program may clear its
// environment, or write over it, before its first call of CUDA.
#ifndef GLINT_INJECT_UTIL_SETTINGS_H
#define GLINT_INJECT_UTIL_SETTINGS_H

#include "base/base.h"

// Copies the variables. Called once, when the library is loaded.
void util_settings_keep(void);

// Returns the variable's value, which stays valid; NULL: it was not set. Any thread may call. All
// of glint's variables count as not set in processes whose rank is not to be recorded.
const char *util_setting(const char *name);

// Returns what introduces the process to the recorder (EVENT_INTRODUCTION).
struct base_str util_introduction(void);

#endif
