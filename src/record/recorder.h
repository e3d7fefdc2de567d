// SPDX-License-Identifier: Apache-2.0
// The state of the recorder's main loop (run.c). Inner header of src/record.
#ifndef GLINT_RECORD_RECORDER_H
#define GLINT_RECORD_RECORDER_H

#include <sys/types.h>
#include <sys/un.h>

#include "record.h"
#include "session.h"
#include "unseen.h"

enum { RECORD_MOST_SESSIONS = 4096 }; // processes recorded at once

struct recorder {
    const struct record_request *request;
    char *output; // reserved for the program; NULL: none was, or it is not known yet
    char *wanted; // the name that was to be reserved; `output` differs if it was taken
    struct profile_place *place; // of output, until the program uses CUDA
    struct base_scratch folder;  // of the socket
    struct sockaddr_un address;
    int listener;
    pid_t program;
    int64_t started_ns; // by CLOCK_MONOTONIC
    int program_fd;     // readable when the program has ended
    bool program_ended;
    int status;
    int waited_ms;                      // for processes that outlive the program
    struct record_request for_sessions; // the request, with the progress of `meanwhile`
    struct record_session *sessions[RECORD_MOST_SESSIONS];
    uint32_t session_count;
    struct record_unseen unseen; // asked if nothing was recorded
    struct record_outcome *outcome;
};

// Returns the time of CLOCK_MONOTONIC.
int64_t record_now_ns(void);

#endif
