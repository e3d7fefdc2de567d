// SPDX-License-Identifier: Apache-2.0
// Running a program under the recorder, for the verbs that do: progress on a terminal, what is said
// of the profiles, and how the verb ends.
#ifndef GLINT_CLI_RECORDING_H
#define GLINT_CLI_RECORDING_H

#include "cli.h"
#include "record/record.h"

// record_run with progress where stderr is a terminal.
enum base_code recording_run(struct record_request *request, struct record_outcome *outcome,
                             struct base_error *error);

// A line for each profile, and what has to be known about them.
void recording_tell(const struct record_outcome *outcome, bool quiet);

// Ends as a program with that status did: returns its exit status, or dies of its signal.
int recording_end_as(int status);

#endif
