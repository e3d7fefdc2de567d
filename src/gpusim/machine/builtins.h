// SPDX-License-Identifier: Apache-2.0
// Functions that the driver provides to kernels: vprintf, malloc, aligned and not, free,
// __assertfail. Internal.
#ifndef GLINT_GPUSIM_MACHINE_BUILTINS_H
#define GLINT_GPUSIM_MACHINE_BUILTINS_H

#include "machine.h"

enum builtin {
    BUILTIN_NONE = 0,
    BUILTIN_PRINTF,
    BUILTIN_ASSERT,
    BUILTIN_MALLOC,
    BUILTIN_ALIGNED_MALLOC,
    BUILTIN_FREE
};

// 0 where the name is none.
int builtin_find(const char *name);
enum step builtin_run(struct warp *warp, const struct uop *op, int builtin);

#endif
