// SPDX-License-Identifier: Apache-2.0
// Runs one program several times, natively and recorded. Every run begins with the same environment
// and the same standard input. The output of a run can be kept.
#ifndef GLINT_CLI_RUNS_H
#define GLINT_CLI_RUNS_H

#include "program.h"
#include "recording.h"
#include "watching.h"

struct cli_runs { // initialize with {0}
    struct cli_program_request program;
    char **arguments;     // the program's, with its name
    struct base_buf path; // of the executable
    char *folder;         // temporary, removed at the end
    bool keeps_folder;    // do not remove the folder: it contains files that the user needs
    // The original environment, and those for native and watched runs; NULL: not yet made.
    char **as_was, **native, **watched;
    int input;        // what the program reads; -1: the input of this process
    off_t input_at;   // where the input begins; -1: it cannot be rewound
    int64_t ran_ns;   // duration of the last run
    bool interrupted; // the user asked glint to end
};

// Finds the program and creates the folder. The program will run at most `times` times. From now on
// signals that ask glint to end only set `interrupted`, so that the folder is removed at the end.
// Returns false after a message.
bool cli_runs_begin(struct cli_runs *runs, unsigned times, bool needs_native);
void cli_runs_end(struct cli_runs *runs);

// Makes the path of a file in the folder, whose name is `one` followed by `other`. Returns false
// after a message if memory runs out.
bool cli_runs_file(const struct cli_runs *runs, const char *one, const char *other,
                   struct base_buf *path);

struct cli_runs_request {
    const char *kept; // print into files KEPT.out and KEPT.err; NULL: to the standard streams
    bool watched;     // record the run as follows
    struct cli_watching_request *watching; // what to record
    bool gpu_times;
    const char *plan;   // file of the plan; NULL: none
    const char *output; // the profile
    bool overwrite;
    bool nameless;                          // see struct record_request
    const struct profile_setting *settings; // in addition to those of watching
    uint32_t setting_count;
};

// Runs the program once. The caller frees the outcome. Returns false after a message.
bool cli_runs_run(struct cli_runs *runs, const struct cli_runs_request *request,
                  struct record_outcome *outcome);

// Writes the kept output of a run to the standard streams. Returns false after a message.
bool cli_runs_show(const struct cli_runs *runs, const char *kept);

#endif
