// SPDX-License-Identifier: Apache-2.0
// Running one program several times, natively and watched, so that every run begins alike: with the
// same environment and the same standard input; and keeping what a run prints.
#ifndef GLINT_CLI_RUNS_H
#define GLINT_CLI_RUNS_H

#include "program.h"
#include "recording.h"
#include "watching.h"

struct cli_runs { // begins as {0}
    struct cli_program_request program;
    char **arguments;     // the program's, with its name
    struct base_buf path; // where it is
    char *folder;         // of ours, for files; gone at the end
    bool keeps_folder;    // it is left, because something in it is needed
    // The environment as it was, and for runs with and without glint in them; NULL: not yet made.
    char **as_was, **native, **watched;
    int input;        // what the program reads: -1: this process's own
    off_t input_at;   // where it begins; -1: it cannot be read again
    int64_t ran_ns;   // the last run
    bool interrupted; // somebody has had enough
};

// Finds the program and makes the folder; `times` it will be run at the most. From now on signals
// that ask glint to end are noted and no more, so that nothing is left behind. False after a
// message.
bool cli_runs_begin(struct cli_runs *runs, unsigned times, bool needs_native);
void cli_runs_end(struct cli_runs *runs);

// A file in the folder, made up of the words; false when memory ran out, after a message.
bool cli_runs_file(const struct cli_runs *runs, const char *one, const char *other,
                   struct base_buf *path);

struct cli_runs_request {
    const char *kept; // what it prints goes into files KEPT.out and KEPT.err; NULL: where ours does
    bool watched;     // by a recorder, as follows
    struct cli_watching_request *watching; // what for
    bool gpu_times;
    const char *plan;   // a file; NULL: none
    const char *output; // the profile
    bool overwrite;
    bool nameless;                          // as record_request says
    const struct profile_setting *settings; // beside those of watching
    uint32_t setting_count;
};

// Runs it once. The caller frees the outcome. False after a message.
bool cli_runs_run(struct cli_runs *runs, const struct cli_runs_request *request,
                  struct record_outcome *outcome);

// Writes what a run has printed to our own streams.
bool cli_runs_show(const struct cli_runs *runs, const char *kept);

#endif
