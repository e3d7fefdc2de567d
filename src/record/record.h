// SPDX-License-Identifier: Apache-2.0
// The public face of src/record: starts a program, takes what libglint.so in it and in its children
// tells, and writes a profile for each process that uses CUDA. It decides nothing about devices and
// options: the environment that the program gets is the caller's, with the recorder's socket added.
#ifndef GLINT_RECORD_RECORD_H
#define GLINT_RECORD_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"
#include "profile/profile.h"

struct record_request {
    const char *path; // of the program, with a slash
    char *const *arguments;
    // The program's profile; NULL: NAME-PID.glint in the current folder. Where another recorder
    // writes it, another name is taken: the outcome says which.
    const char *output;
    bool overwrite;                         // of what was there before, and nobody writes
    const struct profile_setting *settings; // to be kept in every profile
    uint32_t setting_count;
    bool nameless; // call paths and what objects are called are not wanted: they take a while
    // Told while profiles are finished, which may take a while: how much of `all` is done.
    void (*progress)(void *user, uint64_t done, uint64_t all);
    void *user;
};

struct record_profile {
    char *path;
    int pid;
    bool made; // there is a profile, whole or not
    uint64_t calls, objects, dropped;
    struct base_error error; // code BASE_OK: all went well
};

struct record_outcome {
    int status;     // of the program, as waitpid gives it
    int64_t ran_ns; // the program, from its start to its end
    struct record_profile *profiles;
    uint32_t profile_count;
    char *output_instead; // of the output that was asked for, which another recorder writes
    bool interrupted;     // somebody asked the recorder to end, or the terminal all
    uint32_t left_behind; // processes that live on, and had not used CUDA when recording ended
};

// Runs the program to its end, and to that of all its processes that use CUDA. Fails where it
// cannot be started or watched, or where it shows before that its profile cannot be written
// (BASE_CONFLICT: of what is there already); where that shows later, the program goes on and the
// profile's error says why. The calling process must have no other children. Sets and puts back
// what it does at SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGCHLD and SIGXFSZ.
enum base_code record_run(const struct record_request *request, struct record_outcome *outcome,
                          struct base_error *error);
void record_outcome_fini(struct record_outcome *outcome);

// Whether the executable is linked with an MPI, by itself or by its libraries. Starts the loader
// that it names, not the program.
bool record_needs_mpi(const char *program);

// The build id of an executable or library, in hexadecimal as profiles have it; false: it has none,
// or cannot be read.
enum { RECORD_BUILD_ID_TEXT = 65 };
bool record_build_id(const char *path, char hex[RECORD_BUILD_ID_TEXT]);

// A C++ name as people write it, else the name itself. The caller frees it; NULL when memory ran
// out.
char *record_demangle(const char *name);

#endif
