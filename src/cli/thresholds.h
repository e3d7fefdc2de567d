// SPDX-License-Identifier: Apache-2.0
// Thresholds of findings, as options give them.
#ifndef GLINT_CLI_THRESHOLDS_H
#define GLINT_CLI_THRESHOLDS_H

#include "analyze/analyze.h"

// "NAME=N" takes the place of the usual one. False after a message.
bool cli_thresholds_take(struct analyze_thresholds *thresholds, const char *argument);

#endif
