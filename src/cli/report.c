// SPDX-License-Identifier: Apache-2.0
// glint report: a profile in one of the formats of src/report. Without a file it takes the newest
// profile of the current folder, and says which.
#include <errno.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "output.h"
#include "report/report.h"
#include "rules.h"
#include "thresholds.h"

enum { MOST_THRESHOLDS = 64 };

struct format;

struct cli_report_request {
    const struct format *format; // NULL: by the output's extension
    const char *output;          // NULL: stdout
    bool force;                  // replace an existing output
    const char *source_root;     // NULL: the current folder
    const char *rules_name;      // NULL: .glint.toml, if there is one
    struct report_rules *rules;
    const char *thresholds[MOST_THRESHOLDS]; // which replace those of the rules
    unsigned threshold_count;
    struct report_choice choice;
    struct report_flow_choice flow;
};

static const struct cli_option options[] = {
    CLI_FORMAT_OPTION(
        "text, json, html, sarif, github, perfetto or dot; default: by FILE's extension",
        "text json html sarif github perfetto dot"),
    CLI_OUTPUT_OPTIONS,
    {'t', "threshold", "NAME=N", "set a threshold of findings; may be repeated"},
    {'r', "rules", "FILE", "suppressions and thresholds; default: .glint.toml, as for glint check"},
    {'v', "verbose", NULL, "text: everything, not only one screen"},
    {'n', "limit", "N", "text: at most N findings, and N rows per table"},
    {0, "pattern", "LIST", "text: only findings of these patterns; see glint explain",
     .patterns = cli_any_pattern},
    {0, "object", "NAME", "text: only findings on objects whose name contains NAME"},
    {0, "kernel", "NAME", "text: only findings and caches of kernels whose name contains NAME"},
    {0, "what-if", "SIZES", "text: hits in caches of other sizes, such as l1=128K,l2=100M"},
    {0, "slice", "VERTEX", "dot: only what flows to and from VERTEX: a number, or part of a name"},
    {0, "least-bytes", "N", "dot: only edges of at least N bytes"},
    {0, "least-calls", "N", "dot: also vertices of at least N calls"},
    {0, "source-root", "DIR", "sarif, github: root of the sources; default: current folder"},
    {0, NULL, NULL, NULL},
};

// Takes the names of patterns, separated by commas.
static bool take_patterns(struct cli_report_request *request, const char *argument)
{
    for (const char *at = argument;; at++) {
        const size_t length = strcspn(at, ",");
        if (analyze_find_pattern(at, length) == ANALYZE_PATTERNS) {
            const char *known[ANALYZE_PATTERNS];
            analyze_list_patterns(known);
            char *word = strndup(at, length);
            cli_message("--pattern: there is no pattern '%.*s'%s; 'glint explain' lists them",
                        (int)length, at,
                        word ? cli_nearest(word, known, ANALYZE_PATTERNS).text : "");
            free(word);
            return false;
        }
        at += length;
        if (!*at)
            break;
    }
    request->choice.pattern = argument;
    return true;
}

static bool take_limit(struct cli_report_request *request, const char *argument)
{
    char *end;
    unsigned long value = strtoul(argument, &end, 10);
    bool good =
        argument[0] >= '0' && argument[0] <= '9' && *end == '\0' && value && value <= INT32_MAX;
    if (good)
        request->choice.limit = value;
    else
        cli_message("--limit takes a positive number, not '%s'", argument);
    return good;
}

static bool take_least(const struct cli_option *option, const char *argument, uint64_t *least)
{
    char *end;
    errno = 0;
    unsigned long long value = strtoull(argument, &end, 10);
    bool good =
        argument[0] >= '0' && argument[0] <= '9' && *end == '\0' && value && errno != ERANGE;
    if (good)
        *least = value;
    else
        cli_message("--%s takes a positive number, not '%s'", option->name, argument);
    return good;
}

// Checks a threshold, and keeps it until the rules are read.
static bool take_threshold(struct cli_report_request *request, const char *argument)
{
    struct analyze_thresholds checked = analyze_default_thresholds();
    if (request->threshold_count == MOST_THRESHOLDS) {
        cli_message("--threshold can be given at most %d times", MOST_THRESHOLDS);
        return false;
    }
    request->thresholds[request->threshold_count++] = argument;
    return cli_thresholds_take(&checked, argument);
}

// --- Sizes of caches -----------------------------------------------------------------------------

// Takes a size of at least a line: a number of bytes, or of K, M or G. Returns 0 if it is not one.
static uint64_t size_of(const char *text, size_t length)
{
    static const char letters[] = "KMG";
    uint64_t bytes = 0;
    size_t at = 0;
    for (; at < length && text[at] >= '0' && text[at] <= '9'; at++) {
        if (__builtin_mul_overflow(bytes, 10, &bytes) ||
            __builtin_add_overflow(bytes, (uint64_t)(text[at] - '0'), &bytes))
            return 0;
    }
    const char *letter = at && at + 1 == length ? strchr(letters, text[at]) : NULL;
    const unsigned shift = letter ? 10 * (unsigned)(letter - letters + 1) : 0;
    if (at + (letter != NULL) != length || bytes > UINT64_MAX >> shift)
        return 0;
    return bytes << shift < PROFILE_CACHE_LINE_BYTES ? 0 : bytes << shift;
}

// Takes "l1=SIZE", "l2=SIZE" or both, separated by a comma.
static bool take_what_if(struct cli_report_request *request, const char *argument)
{
    request->choice.l1_bytes = request->choice.l2_bytes = 0;
    for (const char *at = argument;; at++) {
        const size_t length = strcspn(at, ",");
        uint64_t *bytes = length >= 3 && strncmp(at, "l1=", 3) == 0   ? &request->choice.l1_bytes
                          : length >= 3 && strncmp(at, "l2=", 3) == 0 ? &request->choice.l2_bytes
                                                                      : NULL;
        const char *wrong = !bytes   ? "takes l1=SIZE, l2=SIZE or both, separated by a comma"
                            : *bytes ? "takes one size for each cache"
                                     : NULL;
        if (!wrong && !(*bytes = size_of(at + 3, length - 3)))
            wrong = "takes sizes of at least 128 bytes, such as 131072, 128K, 100M or 1G";
        if (wrong) {
            cli_message("--what-if %s, not '%.*s'", wrong, (int)length, at);
            return false;
        }
        at += length;
        if (!*at)
            return true;
    }
}

// --- The newest profile --------------------------------------------------------------------------

// Finds when a file was last written, including the log beside an unfinished profile. Returns false
// if it is not a regular file.
static bool written_at(const char *path, struct timespec *when)
{
    struct stat file, log;
    struct base_buf name = {0};
    if (stat(path, &file) != 0 || !S_ISREG(file.st_mode))
        return false;
    *when = file.st_mtim;
    base_buf_printf(&name, "%s-wal", path);
    if (!name.failed && stat(name.text, &log) == 0 && log.st_size > 0 &&
        (log.st_mtim.tv_sec > when->tv_sec ||
         (log.st_mtim.tv_sec == when->tv_sec && log.st_mtim.tv_nsec > when->tv_nsec)))
        *when = log.st_mtim;
    base_buf_fini(&name);
    return true;
}

// The caller frees the path. Returns NULL after a message.
static char *newest_profile(void)
{
    glob_t found;
    char *newest = NULL;
    struct timespec newest_time = {0, 0}, when;
    bool any = false;
    if (glob("*.glint", 0, NULL, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc; i++) {
            if (!written_at(found.gl_pathv[i], &when))
                continue;
            bool later = when.tv_sec > newest_time.tv_sec ||
                         (when.tv_sec == newest_time.tv_sec && when.tv_nsec >= newest_time.tv_nsec);
            if (!any || later) {
                free(newest);
                newest = strdup(found.gl_pathv[i]);
                newest_time = when;
                any = true;
            }
        }
        globfree(&found);
    }
    if (!newest)
        cli_message(any ? "out of memory"
                        : "no profile (*.glint) in this folder; 'glint record -- PROGRAM' "
                          "writes one");
    else
        cli_message("using the newest profile, %s", newest);
    return newest;
}

// --- Formats -------------------------------------------------------------------------------------

static enum base_code write_text(const struct cli_report_request *request, struct profile *profile,
                                 struct cli_output *output, struct base_error *error)
{
    const struct report_style style = cli_output_style(output->file);
    return report_text(profile, request->rules, &request->choice, &style, cli_output_put, output,
                       error);
}

static enum base_code write_json(const struct cli_report_request *request, struct profile *profile,
                                 struct cli_output *output, struct base_error *error)
{
    return report_json(profile, request->rules, cli_output_put, output, error);
}

static enum base_code write_html(const struct cli_report_request *request, struct profile *profile,
                                 struct cli_output *output, struct base_error *error)
{
    return report_html(profile, request->rules, cli_output_put, output, error);
}

// Makes the root of the sources an absolute path.
static enum base_code find_root(const struct cli_report_request *request, struct base_buf *root,
                                struct base_error *error)
{
    const char *given = request->source_root ? request->source_root : "";
    if (given[0] != '/') {
        char *here = getcwd(NULL, 0);
        BASE_RETURN_IF(!here, error, BASE_IO, "cannot find out which folder this is: %s",
                       strerror(errno));
        base_buf_printf(root, "%s/", here);
        free(here);
    }
    base_buf_puts(root, given);
    BASE_RETURN_IF_NO_MEMORY(root->failed, error);
    return BASE_OK;
}

typedef enum base_code sarif_report(struct profile *profile, const struct report_rules *rules,
                                    const char *source_root, report_write *write, void *user,
                                    struct base_error *error);

static enum base_code write_sarif_by(sarif_report *report, const struct cli_report_request *request,
                                     struct profile *profile, struct cli_output *output,
                                     struct base_error *error)
{
    struct base_buf root = {0};
    enum base_code code = find_root(request, &root, error);
    if (code == BASE_OK)
        code = report(profile, request->rules, root.text, cli_output_put, output, error);
    base_buf_fini(&root);
    return code;
}

static enum base_code write_sarif(const struct cli_report_request *request, struct profile *profile,
                                  struct cli_output *output, struct base_error *error)
{
    return write_sarif_by(report_sarif, request, profile, output, error);
}

static enum base_code write_job_sarif(const struct cli_report_request *request, struct profile *job,
                                      struct cli_output *output, struct base_error *error)
{
    return write_sarif_by(report_job_sarif, request, job, output, error);
}

// Opens the summary for appending. The bytes that the file has already count toward the limit.
static enum base_code open_summary(const char *path, struct cli_output *file,
                                   struct report_summary *summary, struct base_error *error)
{
    struct stat status;
    file->file = fopen(path, "a");
    BASE_RETURN_IF(!file->file || fstat(fileno(file->file), &status) != 0, error, BASE_IO,
                   "cannot write %s: %s", path, strerror(errno));
    const size_t used = (size_t)status.st_size;
    *summary = (struct report_summary){
        cli_output_put, file, used < REPORT_SUMMARY_BYTES ? REPORT_SUMMARY_BYTES - used : 0};
    return BASE_OK;
}

// The summary is appended to the file that GitHub names in GITHUB_STEP_SUMMARY. Outside of GitHub
// it follows the annotations.
typedef enum base_code github_report(struct profile *profile, const struct report_rules *rules,
                                     const char *source_root, report_write *write, void *user,
                                     const struct report_summary *summary,
                                     struct base_error *error);

static enum base_code write_github_by(github_report *report,
                                      const struct cli_report_request *request,
                                      struct profile *profile, struct cli_output *output,
                                      struct base_error *error)
{
    const char *path = getenv("GITHUB_STEP_SUMMARY");
    struct cli_output file = {.file = NULL};
    struct report_summary summary = {cli_output_put, output, REPORT_SUMMARY_BYTES};
    struct base_buf root = {0};
    enum base_code code = find_root(request, &root, error);
    if (code == BASE_OK && path && path[0])
        code = open_summary(path, &file, &summary, error);
    if (code == BASE_OK)
        code = report(profile, request->rules, root.text, cli_output_put, output, &summary, error);
    if (file.file && fclose(file.file) != 0 && !file.error)
        file.error = errno;
    if (file.error)
        code = base_fail(error, BASE_IO, "cannot write %s: %s", path, strerror(file.error));
    base_buf_fini(&root);
    return code;
}

static enum base_code write_github(const struct cli_report_request *request,
                                   struct profile *profile, struct cli_output *output,
                                   struct base_error *error)
{
    return write_github_by(report_github, request, profile, output, error);
}

static enum base_code write_job_github(const struct cli_report_request *request,
                                       struct profile *job, struct cli_output *output,
                                       struct base_error *error)
{
    return write_github_by(report_job_github, request, job, output, error);
}

static enum base_code write_perfetto(const struct cli_report_request *request,
                                     struct profile *profile, struct cli_output *output,
                                     struct base_error *error)
{
    BASE_RETURN_IF(isatty(fileno(output->file)), error, BASE_INVALID,
                   "a trace is not for terminals: name a file with --output, or pipe it");
    return report_perfetto(profile, request->rules, cli_output_put, output, error);
}

static enum base_code write_dot(const struct cli_report_request *request, struct profile *profile,
                                struct cli_output *output, struct base_error *error)
{
    return report_dot(profile, request->rules, &request->flow, cli_output_put, output, error);
}

static enum base_code write_job_text(const struct cli_report_request *request, struct profile *job,
                                     struct cli_output *output, struct base_error *error)
{
    const struct report_style style = cli_output_style(output->file);
    return report_job_text(job, request->rules, &request->choice, &style, cli_output_put, output,
                           error);
}

// Pages of ranks are searched for in the folder of the page.
static enum base_code write_job_html(const struct cli_report_request *request, struct profile *job,
                                     struct cli_output *output, struct base_error *error)
{
    const char *slash = request->output ? strrchr(request->output, '/') : NULL;
    struct base_buf folder = {0};
    if (request->output)
        base_buf_printf(&folder, "%.*s", slash ? (int)(slash - request->output) + 1 : 1,
                        slash ? request->output : ".");
    enum base_code code = folder.failed ? base_no_memory(error)
                                        : report_job_html(job, request->rules, folder.text,
                                                          cli_output_put, output, error);
    base_buf_fini(&folder);
    return code;
}

static enum base_code write_job_json(const struct cli_report_request *request, struct profile *job,
                                     struct cli_output *output, struct base_error *error)
{
    return report_job_json(job, request->rules, cli_output_put, output, error);
}

static const struct format {
    const char *name;
    enum base_code (*write)(const struct cli_report_request *request, struct profile *profile,
                            struct cli_output *output, struct base_error *error);
    // The same for a job profile; NULL: it has not what the format shows.
    enum base_code (*write_job)(const struct cli_report_request *request, struct profile *job,
                                struct cli_output *output, struct base_error *error);
    const char *extensions; // of files that get this format, separated by blanks
} formats[] = {
    {"text", write_text, write_job_text, "txt"},
    {"json", write_json, write_job_json, "json"},
    {"html", write_html, write_job_html, "html htm"},
    {"sarif", write_sarif, write_job_sarif, "sarif"},
    {"github", write_github, write_job_github, ""},
    {"perfetto", write_perfetto, NULL, "perfetto pftrace perfetto-trace"},
    {"dot", write_dot, NULL, "dot gv"},
};

enum { FORMATS = sizeof(formats) / sizeof(formats[0]), TEXT = 0, SARIF = 3 };

// The option table has already checked the name.
static bool take_format(struct cli_report_request *request, const char *name)
{
    for (int i = 0; i < FORMATS; i++) {
        if (strcmp(name, formats[i].name) == 0)
            request->format = &formats[i];
    }
    return true;
}

// Returns the format of files with the output's extension; text if there is none.
static const struct format *format_by_extension(const char *output)
{
    const struct cli_extension extension = cli_output_extension(output);
    const bool sarif =
        output && strlen(output) > strlen(".sarif.json") &&
        strcasecmp(output + strlen(output) - strlen(".sarif.json"), ".sarif.json") == 0;
    for (int i = 0; i < FORMATS && extension.text[0] && !sarif; i++) {
        const char *at = formats[i].extensions;
        for (struct base_str word; (word = cli_next_word(&at)).length;) {
            if (base_str_is(word, extension.text))
                return &formats[i];
        }
    }
    return sarif ? &formats[SARIF] : &formats[TEXT];
}

static bool take_option(void *user, const struct cli_option *option, const char *argument)
{
    struct cli_report_request *request = user;
    const char **text = strcmp(option->name, "object") == 0   ? &request->choice.object
                        : strcmp(option->name, "kernel") == 0 ? &request->choice.kernel
                        : strcmp(option->name, "slice") == 0  ? &request->flow.slice
                                                              : &request->source_root;
    if (strcmp(option->name, "least-bytes") == 0)
        return take_least(option, argument, &request->flow.least_bytes);
    if (strcmp(option->name, "least-calls") == 0)
        return take_least(option, argument, &request->flow.least_calls);
    if (strcmp(option->name, "pattern") == 0)
        return take_patterns(request, argument);
    if (strcmp(option->name, "what-if") == 0)
        return take_what_if(request, argument);
    switch (option->letter) {
    case 'F': return take_format(request, argument);
    case 'f': request->force = true; return true;
    case 't': return take_threshold(request, argument);
    case 'r': request->rules_name = argument; return true;
    case 'v': request->choice.verbose = true; return true;
    case 'n': return take_limit(request, argument);
    case 'o': request->output = strcmp(argument, "-") == 0 ? NULL : argument; return true;
    default: *text = argument; return true;
    }
}

// --- The verb ------------------------------------------------------------------------------------

struct cli_report_job {
    const struct cli_report_request *request;
    struct profile *profile;
    bool is_job; // it is a job profile
};

// Checks that a job profile has what was asked for.
static bool check_job(const struct cli_report_request *request, const char *path)
{
    if (!request->format->write_job)
        cli_message("%s is a job profile, which has no calls: the format %s is for the profile of "
                    "one process",
                    path, request->format->name);
    else if (request->choice.l1_bytes || request->choice.l2_bytes)
        cli_message("%s is a job profile: --what-if is for the profile of one process", path);
    else
        return true;
    return false;
}

static enum base_code write_report(void *user, const struct report_style *style,
                                   report_write *write, void *to, struct base_error *error)
{
    const struct cli_report_job *job = user;
    const struct format *format = job->request->format;
    (void)style;
    (void)write;
    return (job->is_job ? format->write_job : format->write)(job->request, job->profile, to, error);
}

static bool report(const struct cli_report_request *request, const char *path)
{
    struct base_error error = {0};
    struct cli_report_job job = {.request = request, .is_job = profile_is_job(path)};
    if (job.is_job && !check_job(request, path))
        return false;
    if ((job.is_job ? profile_open_job : profile_open)(path, &job.profile, &error) != BASE_OK) {
        cli_error(&error);
        return false;
    }
    const bool good =
        cli_output_write(request->output, request->force, &path, 1, write_report, &job);
    profile_close(job.profile);
    return good;
}

static int run(const struct cli_verb *verb, int argc, char **argv)
{
    struct cli_report_request request = {0};
    struct report_rules rules;
    struct base_buf found = {0};
    const char *file = NULL;
    const char *path = NULL;
    const int count = cli_arguments(verb, argc, argv, take_option, &request, &path, 1);
    if (count == -2)
        return 0;
    if (count < 0)
        return CLI_FAILURE;
    if (!request.format)
        request.format = format_by_extension(request.output);
    char *newest = path ? NULL : newest_profile();
    request.choice.file = path ? path : newest;
    request.rules = &rules;
    report_rules_init(&rules);
    bool good = request.choice.file && cli_rules_read(request.rules_name, &rules, &found, &file);
    for (unsigned i = 0; i < request.threshold_count && good; i++)
        good = cli_thresholds_take(&rules.thresholds, request.thresholds[i]);
    good = good && report(&request, request.choice.file);
    report_rules_fini(&rules);
    base_buf_fini(&found);
    free(newest);
    return good ? 0 : CLI_FAILURE;
}

const struct cli_verb cli_report = {
    .name = "report",
    .arguments = "[FILE]",
    .summary = "show what is in a profile and what the program wastes",
    .details =
        "Without FILE, the newest *.glint file of the current folder is used.\n\n"
        "text is one screen: what there is to gain, what to fix first, and what was checked. With\n"
        "--verbose it has all findings, the highest peaks of device memory and the objects in "
        "them,\n"
        "and tables of kernels, copies, synchronizations and objects. Objects with the same name "
        "and\n"
        "place share a row. Lines are as wide as the terminal, or as COLUMNS says.\n\n"
        "The other formats:\n"
        "  json      everything, for programs (docs/reference/json.md)\n"
        "  html      a page for browsers, in one file (docs/guide/page.md)\n"
        "  sarif     findings as SARIF 2.1.0, for code hosts (docs/guide/ci.md)\n"
        "  github    the first ten findings as annotations of a GitHub Actions step, and the "
        "others\n"
        "            as a table in $GITHUB_STEP_SUMMARY, or after them if that is not set\n"
        "  perfetto  a trace for Perfetto's viewer (docs/guide/perfetto.md)\n"
        "  dot       which calls write what other calls use, as a graph for Graphviz\n"
        "            (docs/reference/flow.md)\n\n"
        "FILE may be a job profile of 'glint merge' (docs/reference/job.md), for all formats but\n"
        "perfetto and dot.\n\n",
    .more = cli_thresholds_put,
    .options = options,
    .run = run,
};
