// SPDX-License-Identifier: Apache-2.0
// Tries a CUDA driver in a separate process, which the driver may crash or hang.
#ifndef GLINT_CLI_TRY_DRIVER_H
#define GLINT_CLI_TRY_DRIVER_H

#include "cli.h"

struct cli_driver_trial {
    const char *library;    // a path, or a name for the loader
    const char *not_within; // the library must not be in this folder; NULL: anywhere
    bool run_kernel;        // run a kernel and check its result
    bool silent;            // what the driver prints is dropped
};

enum cli_driver {
    CLI_DRIVER_WORKS,
    CLI_DRIVER_FAILS,  // it returns an error, crashes, or takes longer than GLINT_DRIVER_SECONDS
    CLI_DRIVER_ABSENT, // there is no driver, or it has no devices
};

// Returns whether the driver works. Appends its description ("CUDA 13.0: NVIDIA H200, NVIDIA H200")
// or the reason for its failure to `said`. Returns in time even if the driver hangs in the kernel.
enum cli_driver cli_try_driver(const struct cli_driver_trial *trial, struct base_buf *said);

#endif
