// SPDX-License-Identifier: Apache-2.0
// Parses thresholds of findings from options.
#ifndef GLINT_CLI_THRESHOLDS_H
#define GLINT_CLI_THRESHOLDS_H

#include "analyze/analyze.h"

// Sets the threshold that "NAME=N" names. Returns false after a message.
bool cli_thresholds_take(struct analyze_thresholds *thresholds, const char *argument);

// Adds a table of all thresholds, for --help.
void cli_thresholds_put(struct base_buf *out);

#endif
