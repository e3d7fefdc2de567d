// SPDX-License-Identifier: Apache-2.0
// glint record: runs a program and writes a profile of what it, and each of its children that uses
// CUDA, does. The program's streams and exit status are its own; what glint has to say comes on
// stderr when the program has ended, in one line for each profile.
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "event/event.h"
#include "program.h"
#include "recording.h"
#include "watching.h"

struct request {
    struct cli_program_request program;
    struct cli_watching_request watching;
    const char *output;
    bool force, quiet, no_times;
};

static const struct cli_option options[] = {
    {'o', "output", "FILE", "the profile; default: PROGRAM-PID.glint"},
    {'f', "force", NULL, "replace a profile that is there"},
    {'t', "gpu-times", "on|off", "when the GPU did what; on unless told: costs two events a call",
     .values = "on off"},
    {'q', "quiet", NULL, "say nothing but errors"},
    CLI_WATCHING_OPTIONS,
    CLI_PROGRAM_OPTIONS,
    {0, NULL, NULL, NULL},
};

static bool take_option(void *user, const struct cli_option *option, const char *argument)
{
    struct request *request = user;
    switch (option->letter) {
    case 'o': request->output = argument; return true;
    case 'f': request->force = true; return true;
    case 'q': request->quiet = request->program.quiet = true; return true;
    case 't': request->no_times = strcmp(argument, "off") == 0; return true;
    default:
        return cli_watching_has_option(option)
                   ? cli_watching_take_option(&request->watching, option, argument)
                   : cli_program_take_option(&request->program, option, argument);
    }
}

static int record(const struct cli_verb *verb, int argc, char **argv)
{
    struct request request = {.program.watched = true};
    int first = cli_options(verb, argc, argv, take_option, &request);
    if (first == -2)
        return 0;
    if (first < 0)
        return CLI_OWN_FAILURE;
    if (first == argc) {
        cli_message("which program? Try 'glint record --help'");
        return CLI_OWN_FAILURE;
    }
    struct base_buf path = {0};
    struct base_error error = {0};
    struct record_outcome outcome = {0};
    int status = CLI_OWN_FAILURE;
    const bool prepared = cli_watching_prepare(&request.watching);
    request.program.first_uses = prepared && cli_watching_has_first_uses(&request.watching);
    if (prepared && cli_program_prepare(&request.program, argv[first], &path) &&
        setenv(EVENT_TIMESTAMPS_VARIABLE, request.no_times ? "0" : "1", 1) == 0) {
        struct record_request recording = {.path = path.text,
                                           .arguments = argv + first,
                                           .output = request.output,
                                           .overwrite = request.force,
                                           .settings = request.watching.settings,
                                           .setting_count = request.watching.setting_count};
        if (cli_recording_run(&recording, &outcome, &error) == BASE_OK) {
            signal(SIGPIPE, SIG_IGN); // where nobody reads this, the exit status is still right
            cli_recording_report(&outcome, &recording, request.quiet);
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
        "The program's streams, signals and exit status are its own; 125 is glint's failure to\n"
        "start it, or to write any profile. A FILE that cannot be written is an error before the\n"
        "program runs. Only regular files are replaced.\n"
        "\n"
        "Each process that uses CUDA has a profile of its own: FILE is the program's, FILE-PID\n"
        "(before the last dot) that of another process; -2 is added where a process becomes\n"
        "another program. Where another glint is writing FILE, as when each rank of a job is\n"
        "recorded with the same -o, FILE-PID of this glint is written instead, also with -f.\n"
        "glint ends when all that it records have ended. A profile is an SQLite file, readable\n"
        "while it is written and after whatever end: see glint report and glint query.\n"
        "\n"
        "Calls and objects are always recorded, and with them how long the program waits. The\n"
        "analyses objects, elements and counts say what kernels do, by probes in their code:\n"
        "which objects each launch reads and writes, which and how many elements of them, and\n"
        "how often. Each needs the one before it, and costs more. sync finds which waits were\n"
        "needed: it protects pages of results until the program first touches them. all is all\n"
        "of these, and --maps.\n",
    .options = options,
    .run = record,
};
