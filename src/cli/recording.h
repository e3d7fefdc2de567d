// SPDX-License-Identifier: Apache-2.0
// Running a program under the recorder, for the verbs that do: progress on a terminal, what is said
// of the profiles, and how the verb ends.
#ifndef GLINT_CLI_RECORDING_H
#define GLINT_CLI_RECORDING_H

#include "cli.h"
#include "record/record.h"

// record_run with progress where stderr is a terminal.
enum base_code cli_recording_run(struct record_request *request, struct record_outcome *outcome,
                                 struct base_error *error);

// A line for each profile, and what has to be known about them.
void cli_recording_report(const struct record_outcome *outcome,
                          const struct record_request *request, bool quiet);
// Why record_run failed, or the output cannot be written.
void cli_recording_report_failure(const struct record_request *request,
                                  const struct base_error *error);
// Whether a profile could be written there now; false after a message.
bool cli_recording_can_write(const char *output, bool overwrite);

// Whether there is a profile, whole or not, or none is needed: no process used CUDA.
bool cli_recording_has_profile(const struct record_outcome *outcome);

// Ends as a program with that status did: returns its exit status, or dies of its signal.
int cli_recording_end_as(int status);

#endif
