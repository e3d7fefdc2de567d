// SPDX-License-Identifier: Apache-2.0
// Compares runs of a program: their output, their exit status, and the files that they write. Every
// run finds these files as they were before the first run. The original files are kept until they
// have been restored.
#ifndef GLINT_CLI_VERIFY_H
#define GLINT_CLI_VERIFY_H

#include "runs.h"

enum { CLI_VERIFY_MOST_FILES = 64 };

struct cli_verify { // initialize with {0}
    struct cli_runs *runs;
    const char *files[CLI_VERIFY_MOST_FILES];
    unsigned file_count;
    bool kept; // the original files are saved
};

// Saves the existing files before the first run. Returns false after a message; then nothing is
// changed.
bool cli_verify_keep(struct cli_verify *verify);

// Restores all files. Returns false after a message; if a file could not be restored, the message
// says where its copy is, and the copy is kept.
bool cli_verify_put_back(struct cli_verify *verify);

// The program runs natively twice: differences between these runs are not caused by glint.
enum cli_verify_run { CLI_VERIFY_NATIVE, CLI_VERIFY_AGAIN };
const char *
cli_verify_run_name(enum cli_verify_run run); // the name under which runs.h keeps its output

// Saves the files that the native run has written.
bool cli_verify_keep_native(struct cli_verify *verify, enum cli_verify_run run);

struct cli_verify_ends { // how the runs ended, as waitpid returns it
    int native, again, corrected;
};

// Compares the corrected run, whose output is kept as "corrected", with the native runs. Sets
// *same, and appends one line to the verdict that says what differs, or that nothing does. A
// difference in standard error does not count. If files differ, those of the first native run are
// put in place. Returns false after a message if the runs could not be compared.
bool cli_verify_compare(struct cli_verify *verify, const struct cli_verify_ends *ends, bool *same,
                        struct base_buf *verdict);

#endif
