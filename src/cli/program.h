// SPDX-License-Identifier: Apache-2.0
// Prepares a program for the verbs that start one.
#ifndef GLINT_CLI_PROGRAM_H
#define GLINT_CLI_PROGRAM_H

#include "cli.h"

enum cli_program_device { CLI_PROGRAM_DEVICE_AUTO, CLI_PROGRAM_DEVICE_GPU, CLI_PROGRAM_DEVICE_SIM };

// Initialize with {0}.
struct cli_program_request {
    enum cli_program_device device;
    const char *preset; // one or several; NULL: the default
    const char *workers;
    const char *log;
    const char *memory_errors; // "end", "warn" or NULL: the default
    bool watched;              // load libglint.so into the program
    bool first_uses; // also load the libraries that intercept the C library and, if used, MPI
    bool quiet;      // do not print that the simulated GPU is used because there is no GPU
};

// Rows for a verb's table of options, and the function that takes them, which returns false after a
// message.
#define CLI_PROGRAM_OPTIONS                                                               \
    {'d',                                                                                 \
     "device",                                                                            \
     "DEVICE",                                                                            \
     "auto (default), gpu, sim or sim:PRESET",                                            \
     .values = "auto gpu sim sim:h200 sim:a100 sim:rtx3090 sim:rtx2080ti",                \
     .also = cli_program_is_device,                                                       \
     .also_words = "several as in sim:h200*4,a100"},                                      \
        {'w', "workers", "NUMBER", "threads of the simulated GPU; default: one per CPU"}, \
        {'m', "memory-errors", "WHAT",                                                    \
         "invalid accesses on the simulated GPU: end the launch (default), or warn",      \
         .values = "end warn"},                                                           \
    {                                                                                     \
        'l', "sim-log", "FILE", "log every call and memory access of the simulated GPU"   \
    }
bool cli_program_take_option(struct cli_program_request *request, const struct cli_option *option,
                             const char *argument);

// Returns whether the argument names simulated GPUs: "sim:h200*2", "sim:h200,a100".
bool cli_program_is_device(const char *argument);

// Appends the folder above that of this executable. Returns false if the path of the executable is
// unknown or memory runs out.
bool cli_program_prefix(struct base_buf *folder);
// Appends the folder of glint's libraries, which has a fixed position relative to this executable.
// Returns false if the path of the executable is unknown or memory runs out.
bool cli_program_library_folder(struct base_buf *folder);

// Returns whether the program gains privileges when it is started. The loader ignores glint's
// variables then.
bool cli_program_gains_rights(const char *path);

// Finds the program in PATH, as a shell does. Returns false after a message. If memory runs out,
// path->failed is set.
bool cli_program_find(const char *name, struct base_buf *path);

// Finds the program in PATH, chooses the device, and changes the environment of this process for
// the program. Returns false after a message.
bool cli_program_prepare(struct cli_program_request *request, const char *name,
                         struct base_buf *path);

#endif
