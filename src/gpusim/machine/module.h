// SPDX-License-Identifier: Apache-2.0
// The parts of a module that decoding uses: functions and variables by name, and the layout of
// shared memory.
#ifndef GLINT_GPUSIM_MACHINE_MODULE_H
#define GLINT_GPUSIM_MACHINE_MODULE_H

#include "machine.h"

// NULL if the module has no function, or no variable, of that name.
struct sim_code *sim_module_code(const struct sim_module *module, const char *name);
const struct sim_variable *sim_module_variable(const struct sim_module *module, const char *name);

// Lays out the shared variables of all functions (shared.c). BASE_INVALID if a kernel needs more
// than a block may have. Leaves by the escape of the module's arena when memory runs out.
enum base_code sim_module_place_shared(struct sim_module *module, struct base_error *error);

#endif
