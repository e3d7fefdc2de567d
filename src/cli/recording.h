// SPDX-License-Identifier: Apache-2.0
// Runs a program under the recorder, for the verbs that record: shows progress on a terminal,
// prints messages about the profiles, and ends as the program did.
#ifndef GLINT_CLI_RECORDING_H
#define GLINT_CLI_RECORDING_H

#include "cli.h"
#include "record/record.h"

// Calls record_run, and shows progress if stderr is a terminal.
enum base_code cli_recording_run(struct record_request *request, struct record_outcome *outcome,
                                 struct base_error *error);

// Prints a line for each profile, and warnings about incomplete profiles.
void cli_recording_report(const struct record_outcome *outcome,
                          const struct record_request *request, bool quiet);
// Prints why record_run failed.
void cli_recording_report_failure(const struct record_request *request,
                                  const struct base_error *error);
// Checks that `output` can be the name of a file; NULL can. Returns false after a message.
bool cli_recording_is_file(const char *output);
// Checks that a profile can be written to `output`. Returns false after a message.
bool cli_recording_can_write(const char *output, bool overwrite);

// Returns whether there is a profile, complete or not, or none is needed because no process used
// CUDA.
bool cli_recording_has_profile(const struct record_outcome *outcome);

// Ends as the program did: returns its exit status, or kills this process with the same signal.
int cli_recording_end_as(int status);

#endif
