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
    const char *ranks; // NULL: all
    bool force, quiet, no_times, cold;
};

static const struct cli_option options[] = {
    {'o', "output", "FILE", "write the profile to FILE; default: PROGRAM-PID.glint"},
    {'f', "force", NULL, "replace an existing profile"},
    {0, "ranks", "LIST",
     "record only these ranks of a job, such as 0,3-7; the others run natively"},
    {0, "gpu-times", "on|off", "record GPU times; default: on; costs up to two events per call",
     .values = "on off"},
    {'q', "quiet", NULL, "print only errors"},
    {0, "cold-caches", NULL, "cache: let each launch begin with empty caches, as ncu does"},
    CLI_WATCHING_OPTIONS,
    CLI_PROGRAM_OPTIONS,
    {0, NULL, NULL, NULL},
};

// Returns false after a message.
static bool take_ranks(struct cli_record_request *request, const char *list)
{
    request->ranks = list;
    if (!event_ranks_valid(list))
        cli_message("--ranks: '%s' is not a list of ranks such as 0,3-7", list);
    return event_ranks_valid(list);
}

static bool take_option(void *user, const struct cli_option *option, const char *argument)
{
    struct cli_record_request *request = user;
    if (strcmp(option->name, "cold-caches") == 0)
        return request->cold = true;
    if (strcmp(option->name, "ranks") == 0)
        return take_ranks(request, argument);
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

static const char *get_variable(void *user, const char *name)
{
    (void)user;
    return getenv(name);
}

// Returns whether this glint was started for a rank that is not to be recorded.
static bool is_left_out(const struct cli_record_request *request)
{
    struct event_rank rank;
    event_rank_read(get_variable, NULL, &rank);
    return request->ranks && rank.has_number && !event_ranks_have(request->ranks, rank.number);
}

// Becomes the program, without recording it. Returns only if that failed, after a message.
static void run_natively(struct cli_record_request *request, char **arguments)
{
    struct base_buf path = {0};
    request->program.watched = false;
    if (cli_program_prepare(&request->program, arguments[0], &path)) {
        execvp(path.text, arguments);
        cli_message("cannot run %s: %m", arguments[0]);
    }
    base_buf_fini(&path);
}

// Checks the name of the profile. Returns false after a message.
static bool check_output(const char *output)
{
    struct base_error error = {0};
    if (!cli_recording_is_file(output))
        return false;
    const bool good = !output || record_pattern_check(output, &error);
    if (!good)
        cli_error(&error);
    return good;
}

static bool set_ranks(const struct cli_record_request *request)
{
    return (request->ranks ? setenv(EVENT_RANKS_VARIABLE, request->ranks, 1)
                           : unsetenv(EVENT_RANKS_VARIABLE)) == 0;
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
    bool prepared = check_output(request.output);
    if (prepared && is_left_out(&request)) {
        run_natively(&request, argv + first);
        return CLI_OWN_FAILURE;
    }
    prepared = prepared && cli_watching_prepare(&request.watching);
    if (prepared && request.cold && !(request.watching.probes & EVENT_PROBE_CACHE)) {
        cli_message("--cold-caches needs --analyses cache");
        prepared = false;
    }
    request.program.first_uses = prepared && cli_watching_has_first_uses(&request.watching);
    if (prepared && cli_program_prepare(&request.program, argv[first], &path) &&
        set_ranks(&request) &&
        setenv(EVENT_TIMESTAMPS_VARIABLE, request.no_times ? "0" : "1", 1) == 0) {
        struct record_request recording = {.path = path.text,
                                           .arguments = argv + first,
                                           .output = request.output,
                                           .is_pattern = request.output != NULL,
                                           .overwrite = request.force,
                                           .caches = request.watching.probes & EVENT_PROBE_CACHE,
                                           .cold_caches = request.cold,
                                           .settings = request.watching.settings,
                                           .setting_count = request.watching.setting_count};
        // Messages are about the file's real name, if that is known.
        char *output = request.output ? record_pattern_name(request.output) : NULL;
        struct record_request shown = recording;
        shown.output = output ? output : request.output;
        if (cli_recording_run(&recording, &outcome, &error) == BASE_OK) {
            signal(SIGPIPE, SIG_IGN); // keeps the exit status correct if no one reads stderr
            if (!request.ranks || outcome.profile_count)
                cli_recording_report(&outcome, &shown, request.quiet);
            else if (!request.quiet)
                cli_message("no process with a rank of %s used CUDA; no profile was written",
                            request.ranks);
            if (!request.quiet) {
                cli_watching_report_capture(&request.watching, &outcome);
                cli_kernels_report(request.watching.kernels, &outcome);
            }
            if (cli_recording_has_profile(&outcome))
                status = cli_recording_end_as(outcome.status);
        } else {
            cli_recording_report_failure(&shown, &error);
        }
        free(output);
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
        "If another glint is writing FILE, this glint writes FILE-PID instead, also with -f.\n"
        "glint ends when all recorded processes have ended. A profile is an SQLite file. It is\n"
        "readable while it is written, and after any kind of end: see glint report and glint\n"
        "query.\n"
        "\n"
        "In FILE, %p is replaced by the process id, %h by the name of the host, %r by the rank,\n"
        "%q{NAME} by an environment variable of the process, and %% by a percent sign. Under a\n"
        "launcher such as mpirun, srun or torchrun, a FILE without %p, %r and %q gets -rankN\n"
        "before the last dot. The launcher may run glint, or glint the launcher.\n"
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
