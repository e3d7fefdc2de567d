// SPDX-License-Identifier: Apache-2.0
// glint diff: shows what got better and what got worse between two profiles.
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "output.h"
#include "report/report.h"

struct cli_diff_request {
    struct report_diff_request diff;
    const char *format;       // NULL: by the output's extension
    bool json, force, is_job; // is_job: of job profiles
    const char *output;       // NULL: stdout
};

static const struct cli_option options[] = {
    CLI_FORMAT_OPTION("text or json; default: by FILE's extension, else text", "text json"),
    CLI_OUTPUT_OPTIONS,
    {0, "tolerance", "PERCENT", "treat times that differ by less as equal; default: 10"},
    {'n', "limit", "N", "text: show at most N rows of a list; default: 20; 0: all"},
    {0, NULL, NULL, NULL},
};

static bool take_number(const struct cli_option *option, const char *argument, unsigned long most,
                        unsigned long *value)
{
    char *end;
    *value = strtoul(argument, &end, 10);
    const bool good = argument[0] >= '0' && argument[0] <= '9' && *end == '\0' && *value <= most;
    if (!good)
        cli_message("--%s takes a number from 0 to %lu, not '%s'", option->name, most, argument);
    return good;
}

static bool take_option(void *user, const struct cli_option *option, const char *argument)
{
    struct cli_diff_request *request = user;
    unsigned long number = 0;
    bool good = true;
    switch (option->letter) {
    case 'F': request->format = argument; break;
    case 'o': request->output = argument; break;
    case 'f': request->force = true; break;
    case 'n':
        good = take_number(option, argument, 1000000000, &number);
        request->diff.most = number;
        break;
    default:
        good = take_number(option, argument, 1000, &number);
        request->diff.tolerance_percent = (uint32_t)number;
        break;
    }
    return good;
}

static enum base_code write_diff(void *user, const struct report_style *style, report_write *write,
                                 void *to, struct base_error *error)
{
    const struct cli_diff_request *request = user;
    bool differs;
    if (request->is_job)
        return request->json
                   ? report_job_diff_json(&request->diff, &differs, write, to, error)
                   : report_job_diff_text(&request->diff, style, &differs, write, to, error);
    return request->json ? report_diff_json(&request->diff, &differs, write, to, error)
                         : report_diff_text(&request->diff, style, &differs, write, to, error);
}

static bool diff(struct cli_diff_request *request)
{
    struct base_error error = {0};
    bool good = true;
    request->is_job = profile_is_job(request->diff.names[0]);
    if (profile_is_job(request->diff.names[1]) != request->is_job) {
        cli_message("%s and %s cannot be compared: only one of them is a job profile",
                    request->diff.names[0], request->diff.names[1]);
        return false;
    }
    for (unsigned i = 0; i < 2 && good; i++) {
        good = (request->is_job ? profile_open_job : profile_open)(
                   request->diff.names[i], &request->diff.profiles[i], &error) == BASE_OK;
        if (!good)
            cli_error(&error);
    }
    good = good && cli_output_write(request->output, request->force, request->diff.names, 2,
                                    write_diff, request);
    for (unsigned i = 0; i < 2; i++)
        profile_close(request->diff.profiles[i]);
    return good;
}

static int run(const struct cli_verb *verb, int argc, char **argv)
{
    struct cli_diff_request request = {
        .diff = {.tolerance_percent = REPORT_USUAL_TOLERANCE, .most = 20}};
    const char *files[2] = {NULL, NULL};
    const int count = cli_arguments(verb, argc, argv, take_option, &request, files, 2);
    if (count == -2)
        return 0;
    if (count < 0)
        return CLI_FAILURE;
    if (count < 2) {
        cli_message("two profiles are needed; try 'glint diff --help'");
        return CLI_FAILURE;
    }
    if (!cli_output_choose(verb, request.format, request.output, &request.json))
        return CLI_FAILURE;
    request.diff.names[0] = files[0];
    request.diff.names[1] = files[1];
    return diff(&request) ? 0 : CLI_FAILURE;
}

const struct cli_verb cli_diff = {
    .name = "diff",
    .arguments = "OLD NEW",
    .summary = "show what got better and what got worse between two profiles",
    .details =
        "Objects, kernels, copies, waits and findings are matched by name and call path, never by\n"
        "address: first with source lines, then without. Things with the same name and call path\n"
        "are one row, with their number and total. docs/reference/diff.md has the details and the\n"
        "JSON format. Of two job profiles of 'glint merge', the rank with the most of each and "
        "the\n"
        "mean are compared.\n\n"
        "The exit status is 0 whether or not the profiles differ, and 2 if they cannot be\n"
        "compared. To decide by rules, use 'glint check --baseline OLD NEW'.\n",
    .options = options,
    .run = run,
};
