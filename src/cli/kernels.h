// SPDX-License-Identifier: Apache-2.0
// Says when --kernels selected no kernel that the program has, and which one may have been meant.
#ifndef GLINT_CLI_KERNELS_H
#define GLINT_CLI_KERNELS_H

#include "cli.h"
#include "record/record.h"

// Prints a message if the recorded profiles have kernels, and none matches the extended regular
// expression.
void cli_kernels_report(const char *regex, const struct record_outcome *outcome);

#endif
