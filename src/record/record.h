// SPDX-License-Identifier: Apache-2.0
// The public header of src/record: starts a program, receives the records of libglint.so in it and
// in its children, and writes a profile for each process that uses CUDA. Devices and options are
// the caller's decision: the program gets the caller's environment, with the recorder's socket
// added.
#ifndef GLINT_RECORD_RECORD_H
#define GLINT_RECORD_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"
#include "profile/profile.h"

struct record_request {
    const char *path; // of the program, with a slash
    char *const *arguments;
    // The program's profile; NULL: NAME-PID.glint in the current folder. If another recorder is
    // writing that file, the recorder chooses another name and reports it in the outcome.
    const char *output;
    bool is_pattern;                        // `output` has placeholders (record_pattern_check)
    bool overwrite;                         // replace a file that no recorder is writing
    const struct profile_setting *settings; // stored in every profile
    uint32_t setting_count;
    bool nameless;    // skip call paths and names of objects, which take time
    bool caches;      // traces of launches go through the model of caches
    bool cold_caches; // the model of caches begins each launch with empty ones
    // Called while profiles are finished, which may take time: `done` of `all` is finished.
    void (*progress)(void *user, uint64_t done, uint64_t all);
    void *user;
};

struct record_profile {
    char *path;
    int pid;
    bool made; // there is a profile, complete or not
    uint64_t calls, objects, dropped;
    struct base_error error; // code BASE_OK: there was none
};

// A program that ran without libglint.so.
struct record_unloaded {
    char *path;
    bool lacks_environment; // it was started without the variables that load the library
};

// What is known about the program's processes if no profile was made.
enum { RECORD_WHY_MOST = 8, RECORD_WHY_NAME = 16 };
struct record_why {
    bool known;                         // false: nothing below is
    uint32_t processes;                 // that had the library
    bool loaded;                        // the program itself had it
    bool used_cuda;                     // some process called a function of CUDA
    bool driver_loaded, runtime_loaded; // some process ended with libcuda.so.1, or a libcudart.so
    // A process that used CUDA could not reach the recorder, or could not make a ring, with errno.
    enum { RECORD_WHY_NOTHING, RECORD_WHY_CONNECTION, RECORD_WHY_MEMORY } refused;
    int refused_error;
    char became[RECORD_WHY_NAME]; // the program ended under this name, without the library; or ""
    struct record_unloaded unloaded[RECORD_WHY_MOST];
    uint32_t unloaded_count;
};

// What the program's processes did with the range of GLINT_CAPTURE_RANGE (event/event.h).
struct record_captured {
    bool known;  // false: nothing below is
    bool nvtx;   // some process uses NVTX
    bool range;  // such a range began
    bool other;  // one of its name began in another domain of NVTX
    bool inside; // a launch was inside such a range
};

struct record_outcome {
    int status;     // of the program, as waitpid returns it
    int64_t ran_ns; // from the program's start to its end
    struct record_profile *profiles;
    uint32_t profile_count;
    char *output_instead; // used because another recorder is writing the requested output
    bool interrupted;     // a signal asked the recorder to end
    uint32_t left_behind; // processes still running that had not used CUDA when recording ended
    struct record_why why;
    struct record_captured captured;
};

// Runs the program until it and all its processes that use CUDA have ended. Fails if the program
// cannot be started or recorded, or if its profile cannot be written (BASE_CONFLICT: the file
// exists). If writing fails later, the program continues and the profile's error says why. The
// calling process must have no other children. Replaces the handlers of SIGINT, SIGQUIT, SIGTERM,
// SIGHUP, SIGCHLD and SIGXFSZ, and restores them.
enum base_code record_run(const struct record_request *request, struct record_outcome *outcome,
                          struct base_error *error);
void record_outcome_fini(struct record_outcome *outcome);

// Returns true if the executable or one of its libraries is linked with MPI. Runs the dynamic
// loader that the executable names, not the program.
bool record_needs_mpi(const char *program);

// Gets the build id of an executable or library, in hexadecimal as in profiles. Returns false if it
// has none or cannot be read.
enum { RECORD_BUILD_ID_TEXT = 65 };
bool record_build_id(const char *path, char hex[RECORD_BUILD_ID_TEXT]);

// Checks the placeholders of a name for profiles: %p is replaced by the process id, %h by the name
// of the host, %r by the rank, %q{VARIABLE} by the value of an environment variable of the process,
// and
// %% by a percent sign.
bool record_pattern_check(const char *pattern, struct base_error *error);
// Returns the name that the profile of a program will have if it is started now. The caller frees
// it. Returns NULL if it is known only when the program runs, or memory ran out.
char *record_pattern_name(const char *pattern);

// Returns a demangled C++ name, or a copy of a name that is not mangled. The caller frees it.
// Returns NULL if memory ran out.
char *record_demangle(const char *name);

#endif
