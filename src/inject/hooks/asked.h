// SPDX-License-Identifier: Apache-2.0
// Functions of the driver that the program asked for and that glint does not know, because they are
// newer: what they do is not recorded, and the profile says so.
#ifndef GLINT_INJECT_HOOKS_ASKED_H
#define GLINT_INJECT_HOOKS_ASKED_H

#include "inject/core/layer.h"

extern const struct inject_layer hooks_asked_layer;

// The driver's answer to a question for this name is not hooked. `version` is the CUDA version that
// the program named; 0: none. Any thread may call, also before the recorder is met.
void hooks_asked(const char *name, int version);

#endif
