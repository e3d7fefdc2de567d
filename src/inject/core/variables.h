// SPDX-License-Identifier: Apache-2.0
// Variables of modules. They are objects from when the program asks for them, or from when a
// function of their module is first requested or launched in a context.
#ifndef GLINT_INJECT_CORE_VARIABLES_H
#define GLINT_INJECT_CORE_VARIABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cudaabi/cudaabi.h"

struct core_context;

// Notes the names of the variables of a module that was loaded from an image in memory or from a
// file. preserved: the program keeps the image until it unloads the module, so it can be read
// later.
void core_variables_note(uint32_t module, const struct core_context *context, const void *image,
                         const char *path, bool preserved);
// Returns whether core_variables_tell has anything to do for the module in the context.
bool core_variables_wanted(uint32_t module, const struct core_context *context);
// Makes the module's variables objects in the context, which is current, because a function of the
// module was requested or is launched there.
void core_variables_tell(uint32_t module, CUfunction function, struct core_context *context);
// Makes the variable, which the driver has returned to the program, an object unless it is one.
void core_variables_begin(uint32_t module, struct core_context *context, const char *name,
                          CUdeviceptr address, size_t bytes);
void core_variables_end(uint32_t module);

#endif
