// SPDX-License-Identifier: Apache-2.0
// glint check: a gate for CI. Rules come from the command line or from .glint.toml.
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "output.h"
#include "report/report.h"
#include "rules.h"

enum { BROKEN = 1, MOST_LISTS = 32 };

struct cli_check_request {
    struct report_check_request check;
    const char *format;              // NULL: by the output's extension
    bool json, force, holds, is_job; // is_job: of job profiles
    const char *output;              // NULL: stdout
    const char *lists[MOST_LISTS];   // of --fail-on
    unsigned list_count;
};

static const struct cli_option options[] = {
    {0, "fail-on", "RULES", "comma-separated rules, instead of the file's; may be repeated",
     .list = "any new worse growth unused-suppression", .patterns = cli_any_pattern},
    {'r', "rules", "FILE", "file of rules; default: .glint.toml, here or in a folder above"},
    {'b', "baseline", "FILE", "an older profile, for the rules new, worse and growth"},
    CLI_FORMAT_OPTION("text or json; default: by FILE's extension, else text", "text json"),
    CLI_OUTPUT_OPTIONS,
    {0, NULL, NULL, NULL},
};

static bool take_option(void *user, const struct cli_option *option, const char *argument)
{
    struct cli_check_request *request = user;
    switch (option->letter) {
    case 'r': request->check.rules_name = argument; break;
    case 'b': request->check.baseline_name = argument; break;
    case 'F': request->format = argument; break;
    case 'o': request->output = argument; break;
    case 'f': request->force = true; break;
    default:
        if (request->list_count == MOST_LISTS) {
            cli_message("--fail-on can be given at most %d times", MOST_LISTS);
            return false;
        }
        request->lists[request->list_count++] = argument;
        break;
    }
    return true;
}

// --- The file of rules ---------------------------------------------------------------------------

// Paths in the file are relative to the file's folder.
static const char *beside(struct report_rules *rules, const char *file, const char *path)
{
    const char *slash = strrchr(file, '/');
    struct base_buf whole = {0};
    if (path[0] == '/' || !slash)
        return path;
    base_buf_printf(&whole, "%.*s%s", (int)(slash + 1 - file), file, path);
    const char *kept =
        whole.failed ? NULL : base_alloc_text(&rules->arena, whole.text, whole.length);
    base_buf_fini(&whole);
    return kept ? kept : path;
}

// Reads the file of rules, if there is one. Rules of the command line replace the file's.
static bool read_rules(struct cli_check_request *request, struct report_rules *rules,
                       struct base_buf *found)
{
    struct base_error error = {0};
    const char *file = NULL;
    if (!cli_rules_read(request->check.rules_name, rules, found, &file))
        return false;
    request->check.rules_name = file;
    enum base_code code = BASE_OK;
    if (file && rules->baseline && !request->check.baseline_name)
        request->check.baseline_name = beside(rules, file, rules->baseline);
    if (request->list_count)
        rules->rules.count = 0;
    for (unsigned i = 0; i < request->list_count && code == BASE_OK; i++) {
        code = report_rules_add(rules, request->lists[i], &error);
        if (code != BASE_OK)
            base_fail_while(&error, "--fail-on");
    }
    if (code != BASE_OK)
        cli_error(&error);
    else if (rules->rules.count == 0)
        cli_message(file ? "%s contains no rules (fail-on), and --fail-on is not given"
                         : "no rules: give --fail-on, or write a %s",
                    file ? file : cli_rules_usual_name);
    return code == BASE_OK && rules->rules.count > 0;
}

// --- The check -----------------------------------------------------------------------------------

static enum base_code write_check(void *user, const struct report_style *style, report_write *write,
                                  void *to, struct base_error *error)
{
    struct cli_check_request *request = user;
    if (request->is_job)
        return request->json
                   ? report_job_check_json(&request->check, &request->holds, write, to, error)
                   : report_job_check_text(&request->check, style, &request->holds, write, to,
                                           error);
    return request->json
               ? report_check_json(&request->check, &request->holds, write, to, error)
               : report_check_text(&request->check, style, &request->holds, write, to, error);
}

static bool check(struct cli_check_request *request)
{
    struct report_check_request *of = &request->check;
    struct base_error error = {0};
    const char *inputs[2] = {of->name, of->baseline_name};
    request->is_job = profile_is_job(of->name);
    if (of->baseline_name && profile_is_job(of->baseline_name) != request->is_job) {
        cli_message("%s and %s cannot be compared: only one of them is a job profile",
                    of->baseline_name, of->name);
        return false;
    }
    enum base_code (*const open)(const char *path, struct profile **profile,
                                 struct base_error *error) =
        request->is_job ? profile_open_job : profile_open;
    bool good = open(of->name, &of->profile, &error) == BASE_OK &&
                (!of->baseline_name || open(of->baseline_name, &of->baseline, &error) == BASE_OK);
    if (!good)
        cli_error(&error);
    good = good && cli_output_write(request->output, request->force, inputs,
                                    of->baseline_name ? 2 : 1, write_check, request);
    profile_close(of->profile);
    profile_close(of->baseline);
    return good;
}

static int run(const struct cli_verb *verb, int argc, char **argv)
{
    struct cli_check_request request = {0};
    struct report_rules rules;
    struct base_buf found = {0};
    const char *file = NULL;
    const int count = cli_arguments(verb, argc, argv, take_option, &request, &file, 1);
    if (count == -2)
        return 0;
    if (count < 0)
        return CLI_FAILURE;
    if (count == 0) {
        cli_message("no profile given; try 'glint check --help'");
        return CLI_FAILURE;
    }
    if (!cli_output_choose(verb, request.format, request.output, &request.json))
        return CLI_FAILURE;
    report_rules_init(&rules);
    request.check.name = file;
    request.check.rules = &rules;
    const bool good = read_rules(&request, &rules, &found) && check(&request);
    report_rules_fini(&rules);
    base_buf_fini(&found);
    return !good ? CLI_FAILURE : request.holds ? 0 : BROKEN;
}

const struct cli_verb cli_check = {
    .name = "check",
    .arguments = "FILE",
    .summary = "exit with 1 if a profile breaks a rule, for CI",
    .details =
        "A rule is broken by what it names:\n"
        "  PATTERN, any        a finding of that pattern, or any finding ('glint explain')\n"
        "  PATTERN>AMOUNT      a finding worth more: 64MiB or 5% of the peak, or 2ms of time\n"
        "  traffic>AMOUNT      a finding that saves more bytes of traffic\n"
        "  peak>AMOUNT         a higher peak of device memory\n"
        "  growth[>AMOUNT]     a peak above the baseline's, in bytes or percent\n"
        "  new[>AMOUNT]        a finding that the baseline does not have\n"
        "  worse[>AMOUNT]      a finding that is worth more than in the baseline\n"
        "  unused-suppression  a suppression in the file that matches no finding\n\n"
        "  glint check --fail-on 'memory-leak,any>10%,peak>2GiB' prog.glint\n\n"
        "A .glint.toml file holds rules, and suppressions with a reason each\n"
        "(docs/reference/check.md). The exit status is 0 if all rules hold, 1 if one is broken, "
        "and\n"
        "2 if that cannot be decided: wrong rules, no profile, or a profile that was recorded\n"
        "without the analysis that a rule's pattern needs. A job profile breaks a rule if any\n"
        "rank does; it cannot be checked if ranks are missing.\n",
    .options = options,
    .run = run,
};
