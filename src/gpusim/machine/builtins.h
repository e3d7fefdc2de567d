// SPDX-License-Identifier: Apache-2.0
// The functions that the driver provides to kernels: vprintf, malloc, aligned malloc, free and
// __assertfail.
#ifndef GLINT_GPUSIM_MACHINE_BUILTINS_H
#define GLINT_GPUSIM_MACHINE_BUILTINS_H

#include "machine.h"

enum sim_builtin {
    BUILTIN_NONE = 0,
    BUILTIN_PRINTF,
    BUILTIN_ASSERT,
    BUILTIN_MALLOC,
    BUILTIN_ALIGNED_MALLOC,
    BUILTIN_FREE
};

// Returns enum sim_builtin; BUILTIN_NONE if no builtin has the name.
int sim_builtin_find(const char *name);
// Runs the builtin for the active lanes, with the parameters of the call op.
enum sim_step sim_builtin_run(struct sim_warp *warp, const struct sim_uop *op, int builtin);

#endif
