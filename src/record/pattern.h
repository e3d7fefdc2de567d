// SPDX-License-Identifier: Apache-2.0
// Names of profiles with placeholders: %p, %h, %r, %q{VARIABLE} and %%. Inner header of src/record;
// record.h has what the command line checks.
#ifndef GLINT_RECORD_PATTERN_H
#define GLINT_RECORD_PATTERN_H

#include "event/event.h"
#include "record.h"

enum { RECORD_HOST_BYTES = 256 };

// What is known of a process that is recorded.
struct record_process {
    int pid;
    struct event_rank rank;
    struct base_buf introduction; // "NAME=VALUE\0"...
};

// Fills in the rank from the introduction.
void record_process_read(struct record_process *process);
// The same for this process, of its own environment and with pid 0.
void record_process_read_own(struct record_process *process);
void record_process_fini(struct record_process *process);

// Sets `host` to the name of this machine; to "" if it is unknown.
void record_host_name(char host[RECORD_HOST_BYTES]);

// Adds the pattern with its placeholders replaced. If the pattern has neither %p nor %r nor %q and
// the process has a rank, adds "-rankN" before the last suffix.
void record_pattern_put(struct base_buf *out, const char *pattern,
                        const struct record_process *process);

// Returns whether the process of a program that is yet to start, with this process's rank and
// environment, has a name that is known now.
bool record_pattern_is_known(const char *pattern, const struct record_process *own);

// Returns whether different processes have different names because the pattern has %p.
bool record_pattern_has_pid(const char *pattern);

// Adds the names of the pattern's variables, separated by commas.
void record_pattern_put_variables(struct base_buf *out, const char *pattern);

// Adds `text` before the last suffix of a file name.
void record_put_before_suffix(struct base_buf *out, const char *file, const char *text);

#endif
