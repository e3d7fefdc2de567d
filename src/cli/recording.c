// SPDX-License-Identifier: Apache-2.0
// What verbs that record a program share. They print their messages to stderr when the program has
// ended, one line for each profile.
#include "recording.h"

#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "unseen.h"

// --- Progress, on a terminal ---------------------------------------------------------------------

enum {
    SILENT_MS = 2000,
    EVERY_MS = 100
}; // progress is shown after the first and updated every so often

struct progress {
    bool on_terminal;
    int64_t started_ms, shown_ms; // 0: not yet
};

static void show_progress(void *user, uint64_t done, uint64_t all)
{
    struct progress *progress = user;
    struct timespec time;
    if (!progress->on_terminal)
        return;
    clock_gettime(CLOCK_MONOTONIC, &time);
    int64_t now_ms = (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
    if (!progress->started_ms)
        progress->started_ms = now_ms;
    if (now_ms - progress->started_ms < SILENT_MS || now_ms - progress->shown_ms < EVERY_MS)
        return;
    fprintf(stderr, "\rglint: finding source lines, %llu of %llu call paths\033[K",
            (unsigned long long)done, (unsigned long long)all);
    progress->shown_ms = now_ms;
}

static void end_progress(const struct progress *progress)
{
    if (progress->shown_ms)
        fputs("\r\033[K", stderr);
}

enum base_code cli_recording_run(struct record_request *request, struct record_outcome *outcome,
                                 struct base_error *error)
{
    struct progress progress = {.on_terminal = isatty(STDERR_FILENO)};
    request->progress = show_progress;
    request->user = &progress;
    const enum base_code code = record_run(request, outcome, error);
    end_progress(&progress);
    request->user = NULL;
    return code;
}

// --- The end -------------------------------------------------------------------------------------

static void tell_profile(const struct record_profile *profile, bool quiet)
{
    bool whole = profile->error.code == BASE_OK;
    if (!whole)
        cli_error(&profile->error);
    if (profile->dropped)
        cli_message("%s lacks %llu records: the ring was full", profile->path,
                    (unsigned long long)profile->dropped);
    if (whole && !quiet)
        cli_message("%llu call%s, %llu object%s: %s", (unsigned long long)profile->calls,
                    profile->calls == 1 ? "" : "s", (unsigned long long)profile->objects,
                    profile->objects == 1 ? "" : "s", profile->path);
    if (!whole && !quiet && profile->made && profile->calls)
        cli_message("%s contains what was written before the failure", profile->path);
}

static void tell_nothing(const struct record_outcome *outcome, const char *path)
{
    struct base_buf text = {0};
    cli_unseen_put(&text, outcome, path);
    cli_message("%s; no profile was written", text.failed ? "nothing was recorded" : text.text);
    base_buf_fini(&text);
    cli_unseen_explain(outcome, path);
}

void cli_recording_report(const struct record_outcome *outcome,
                          const struct record_request *request, bool quiet)
{
    if (outcome->output_instead && outcome->profile_count)
        cli_message("another glint is writing %s; writing the profile to %s", request->output,
                    outcome->output_instead);
    if (!outcome->profile_count && !quiet)
        tell_nothing(outcome, request->path);
    for (uint32_t i = 0; i < outcome->profile_count; i++)
        tell_profile(&outcome->profiles[i], quiet);
    if (outcome->left_behind && !quiet)
        cli_message(outcome->left_behind == 1
                        ? "%u process of the program lives on; what it will do with CUDA is not "
                          "recorded"
                        : "%u processes of the program live on; what they will do with CUDA is not "
                          "recorded",
                    outcome->left_behind);
}

void cli_recording_report_failure(const struct record_request *request,
                                  const struct base_error *error)
{
    struct stat status;
    const bool replaceable = error->code == BASE_CONFLICT && request->output &&
                             stat(request->output, &status) == 0 && S_ISREG(status.st_mode);
    if (replaceable && !request->overwrite)
        cli_message("%s already exists; use -f to replace it", request->output);
    else
        cli_error(error);
}

bool cli_recording_is_file(const char *output)
{
    if (output && strcmp(output, "-") == 0)
        cli_message("a profile cannot be written to standard output; name a file");
    else if (output && !output[0])
        cli_message("--output needs the name of a file");
    else
        return true;
    return false;
}

bool cli_recording_can_write(const char *output, bool overwrite)
{
    struct base_error error = {0};
    struct profile_place *place = NULL;
    bool taken = false;
    if (!cli_recording_is_file(output))
        return false;
    const bool good = profile_reserve(output, overwrite, &place, &taken, &error) == BASE_OK;
    if (!good && !taken) // otherwise another name is used
        cli_recording_report_failure(
            &(struct record_request){.output = output, .overwrite = overwrite}, &error);
    profile_release(place);
    return good || taken;
}

bool cli_recording_has_profile(const struct record_outcome *outcome)
{
    for (uint32_t i = 0; i < outcome->profile_count; i++) {
        if (outcome->profiles[i].made)
            return true;
    }
    return outcome->profile_count == 0;
}

int cli_recording_end_as(int status)
{
    if (!WIFSIGNALED(status))
        return WEXITSTATUS(status);
    const struct rlimit no_core = {0, 0}; // the program has already dumped core
    setrlimit(RLIMIT_CORE, &no_core);
    signal(WTERMSIG(status), SIG_DFL);
    raise(WTERMSIG(status));
    return 128 + WTERMSIG(status);
}
