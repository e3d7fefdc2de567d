// SPDX-License-Identifier: Apache-2.0
// Getting a program ready to be started, for the verbs that start one.
#ifndef GLINT_CLI_PROGRAM_H
#define GLINT_CLI_PROGRAM_H

#include "cli.h"

enum cli_program_device { CLI_PROGRAM_DEVICE_AUTO, CLI_PROGRAM_DEVICE_GPU, CLI_PROGRAM_DEVICE_SIM };

// Begins as {0}.
struct cli_program_request {
    enum cli_program_device device;
    const char *preset; // NULL: the default
    const char *workers;
    const char *log;
    bool watched;    // libglint.so goes into it
    bool first_uses; // and what stands before the C library, and before MPI if the program has one
    bool quiet;      // does not say that the simulated GPU takes the place of one that is not there
};

// Rows for a verb's table of options, and what takes them: false after a message.
#define CLI_PROGRAM_OPTIONS                                                                    \
    {'d', "device", "DEVICE", "auto (default), gpu, sim or sim:PRESET",                        \
     .values = "auto gpu sim sim:h200 sim:a100 sim:rtx3090 sim:rtx2080ti"},                    \
        {'w', "workers", "NUMBER", "threads of the simulated GPU; default: one for each CPU"}, \
    {                                                                                          \
        'l', "sim-log", "FILE", "log every call and memory access of the simulated GPU there"  \
    }
bool cli_program_take_option(struct cli_program_request *request, const struct cli_option *option,
                             const char *argument);

// The folder where glint's libraries lie: a fixed place from this executable, wherever both have
// been moved to. False where the system does not say where that is, or memory ran out.
bool cli_program_library_folder(struct base_buf *folder);

// Finds the program as a shell does. False after a message; where memory ran out, the path says so.
bool cli_program_find(const char *name, struct base_buf *path);

// Finds the program in PATH as a shell does, decides on the device and changes this process's own
// environment for the program. False after a message.
bool cli_program_prepare(struct cli_program_request *request, const char *name,
                         struct base_buf *path);

#endif
