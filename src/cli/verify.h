// SPDX-License-Identifier: Apache-2.0
// Comparing two runs of a program: what they print, how they end, and the files that they write.
// Every run finds these files as they were before the first one, and nothing of the user's is lost:
// what was there is kept until it has been put back.
#ifndef GLINT_CLI_VERIFY_H
#define GLINT_CLI_VERIFY_H

#include "runs.h"

enum { VERIFY_MOST_FILES = 64 };

struct verify { // begins as {0}
    struct runs *runs;
    const char *files[VERIFY_MOST_FILES];
    unsigned file_count;
    bool kept; // all files that were there
};

// Keeps the files that are there, before the first run. False after a message; nothing is changed
// then.
bool verify_keep(struct verify *verify);

// Puts all files back to what they were. False after a message; where a file could not be, the
// message says where its copy is, which then stays.
bool verify_put_back(struct verify *verify);

// Keeps what the run has written as the one that the other is compared with.
bool verify_keep_native(struct verify *verify);

// Compares, and says what differs. *same: nothing does but stderr, which is told. Where the files
// differ, the native run's are put in place. False after a message: it could not be compared.
bool verify_compare(struct verify *verify, int native_status, int corrected_status, bool *same);

#endif
