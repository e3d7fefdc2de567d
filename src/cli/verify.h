// SPDX-License-Identifier: Apache-2.0
// Comparing runs of a program: what they print, how they end, and the files that they write.
// Every run finds these files as they were before the first one, and nothing of the user's is lost:
// what was there is kept until it has been put back.
#ifndef GLINT_CLI_VERIFY_H
#define GLINT_CLI_VERIFY_H

#include "runs.h"

enum { CLI_VERIFY_MOST_FILES = 64 };

struct cli_verify { // begins as {0}
    struct cli_runs *runs;
    const char *files[CLI_VERIFY_MOST_FILES];
    unsigned file_count;
    bool kept; // all files that were there
};

// Keeps the files that are there, before the first run. False after a message; nothing is changed
// then.
bool cli_verify_keep(struct cli_verify *verify);

// Puts all files back to what they were. False after a message; where a file could not be, the
// message says where its copy is, which then stays.
bool cli_verify_put_back(struct cli_verify *verify);

// The program runs natively twice: what differs between these runs differs by itself.
enum cli_verify_run { CLI_VERIFY_NATIVE, CLI_VERIFY_AGAIN };
const char *cli_verify_run_name(enum cli_verify_run run); // under which runs.h keeps what it prints

// Keeps the files as the native run has left them.
bool cli_verify_keep_native(struct cli_verify *verify, enum cli_verify_run run);

struct cli_verify_ends { // how the runs ended, as waitpid gives it
    int native, again, corrected;
};

// Compares the corrected run, which is kept as "corrected", with the native ones, and adds to the
// verdict one line that says what differs, or that nothing does. Standard error does not count.
// Where files differ, those of the first native run are put in place. False after a message: it
// could not be compared.
bool cli_verify_compare(struct cli_verify *verify, const struct cli_verify_ends *ends, bool *same,
                        struct base_buf *verdict);

#endif
