// SPDX-License-Identifier: Apache-2.0
// Trying a CUDA driver in a process of its own, which it may crash or hang.
#ifndef GLINT_CLI_TRY_DRIVER_H
#define GLINT_CLI_TRY_DRIVER_H

#include "cli.h"

struct cli_driver_trial {
    const char *library;    // a path, or a name that the loader looks for
    const char *not_within; // a folder where it must not lie; NULL: none
    bool run_kernel;        // run one and look at its result
};

// Whether the driver works. Adds to `said` what it is ("CUDA 13.0: NVIDIA H200, NVIDIA H200"), or
// why it does not.
bool cli_try_driver(const struct cli_driver_trial *trial, struct base_buf *said);

#endif
