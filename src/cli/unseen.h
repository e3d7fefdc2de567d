// SPDX-License-Identifier: Apache-2.0
// Says why nothing of a program was recorded. That a program has not used CUDA is never claimed:
// only what was seen.
#ifndef GLINT_CLI_UNSEEN_H
#define GLINT_CLI_UNSEEN_H

#include "cli.h"
#include "record/record.h"

// Adds the reason: "no use of CUDA was seen". `path` is the program's.
void cli_unseen_put(struct base_buf *out, const struct record_outcome *outcome, const char *path);
// Prints what is known beyond that, if anything, one message each.
void cli_unseen_explain(const struct record_outcome *outcome, const char *path);

#endif
