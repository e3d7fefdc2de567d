// SPDX-License-Identifier: Apache-2.0
// glint record: runs a program and writes a profile for it and for each of its children that uses
// CUDA. The program keeps its streams and exit status. glint prints its messages to stderr when the
// program has ended, one line for each profile.
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "event/event.h"
#include "kernels.h"
#include "program.h"
#include "recording.h"
#include "watching.h"

struct cli_record_request {
    struct cli_program_request program;
    struct cli_watching_request watching;
    const char *output;
    bool force, quiet, no_times, cold;
};

static const struct cli_option options[] = {
    {'o', "output", "FILE", "write the profile to FILE; default: PROGRAM-PID.glint"},
    {'f', "force", NULL, "replace an existing profile"},
    {0, "gpu-times", "on|off", "record GPU times; default: on; costs up to two events per call",
     .values = "on off"},
    {'q', "quiet", NULL, "print only errors"},
    {0, "cold-caches", NULL, "cache: let each launch begin with empty caches, as ncu does"},
    CLI_WATCHING_OPTIONS,
    CLI_PROGRAM_OPTIONS,
    {0, NULL, NULL, NULL},
};

static bool take_option(void *user, const struct cli_option *option, const char *argument)
{
    struct cli_record_request *request = user;
    if (strcmp(option->name, "cold-caches") == 0)
        return request->cold = true;
    if (strcmp(option->name, "gpu-times") == 0) {
        request->no_times = strcmp(argument, "off") == 0;
        return true;
    }
    switch (option->letter) {
    case 'o': request->output = argument; return true;
    case 'f': request->force = true; return true;
    case 'q': request->quiet = request->program.quiet = true; return true;
    default:
        return cli_watching_has_option(option)
                   ? cli_watching_take_option(&request->watching, option, argument)
                   : cli_program_take_option(&request->program, option, argument);
    }
}

static int record(const struct cli_verb *verb, int argc, char **argv)
{
    struct cli_record_request request = {.program.watched = true};
    int first = cli_options(verb, argc, argv, take_option, &request);
    if (first == -2)
        return 0;
    if (first < 0)
        return CLI_OWN_FAILURE;
    if (first == argc) {
        cli_message("no program given; try 'glint record --help'");
        return CLI_OWN_FAILURE;
    }
    struct base_buf path = {0};
    struct base_error error = {0};
    struct record_outcome outcome = {0};
    int status = CLI_OWN_FAILURE;
    bool prepared =
        cli_recording_is_file(request.output) && cli_watching_prepare(&request.watching);
    if (prepared && request.cold && !(request.watching.probes & EVENT_PROBE_CACHE)) {
        cli_message("--cold-caches needs --analyses cache");
        prepared = false;
    }
    request.program.first_uses = prepared && cli_watching_has_first_uses(&request.watching);
    if (prepared && cli_program_prepare(&request.program, argv[first], &path) &&
        setenv(EVENT_TIMESTAMPS_VARIABLE, request.no_times ? "0" : "1", 1) == 0) {
        struct record_request recording = {.path = path.text,
                                           .arguments = argv + first,
                                           .output = request.output,
                                           .overwrite = request.force,
                                           .caches = request.watching.probes & EVENT_PROBE_CACHE,
                                           .cold_caches = request.cold,
                                           .settings = request.watching.settings,
                                           .setting_count = request.watching.setting_count};
        if (cli_recording_run(&recording, &outcome, &error) == BASE_OK) {
            signal(SIGPIPE, SIG_IGN); // keeps the exit status correct if no one reads stderr
            cli_recording_report(&outcome, &recording, request.quiet);
            if (!request.quiet) {
                cli_watching_report_capture(&request.watching, &outcome);
                cli_kernels_report(request.watching.kernels, &outcome);
            }
            if (cli_recording_has_profile(&outcome))
                status = cli_recording_end_as(outcome.status);
        } else {
            cli_recording_report_failure(&recording, &error);
        }
        record_outcome_fini(&outcome);
    }
    base_buf_fini(&path);
    return status;
}

const struct cli_verb cli_record = {
    .name = "record",
    .arguments = "[--] PROGRAM [ARGUMENT...]",
    .summary = "run a program and write a profile of what it does with CUDA",
    .details =
        "The program keeps its streams, signals and exit status. The exit status is 125 if glint\n"
        "cannot start the program or cannot write any profile. If FILE cannot be written, glint\n"
        "fails before the program runs. Only regular files are replaced.\n"
        "\n"
        "Each process that uses CUDA has its own profile: FILE for the program, FILE-PID (before\n"
        "the last dot) for another process, with -2 added if a process becomes another program.\n"
        "If another glint is writing FILE, as when each rank of a job is recorded with the same\n"
        "-o, this glint writes FILE-PID instead, also with -f. glint ends when all recorded\n"
        "processes have ended. A profile is an SQLite file. It is readable while it is written,\n"
        "and after any kind of end: see glint report and glint query.\n"
        "\n"
        "Calls, objects and how long the program waits are always recorded. The analyses objects,\n"
        "elements, counts and values put probes into kernels: objects finds which objects each\n"
        "launch reads and writes, elements which and how many of their elements, counts how\n"
        "often. Each includes the one before it, and costs more. values includes objects, and\n"
        "finds what objects hold before and after each launch, copy and set, and which stores\n"
        "change nothing. With --values accesses it also finds which values loads read and stores\n"
        "write in between. sync finds which waits were needed: it protects pages of results until\n"
        "the program first touches them. all is all of these and --maps.\n",
    .options = options,
    .run = record,
};
