// SPDX-License-Identifier: Apache-2.0
// glint merge: makes one job profile of the profiles of many processes.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "merge/merge.h"

enum { NOT_ALL = 1, MOST_PROCESSES = 64 };

struct cli_merge {
    struct merge_request request;
    bool progress; // is shown
    size_t shown;
};

static const struct cli_option options[] = {
    {'o', "output", "JOB", "the job profile to write; needed"},
    {'f', "force", NULL, "replace an existing file"},
    {'j', "jobs", "N", "merge in N processes; default: one for each core, fewer for few files"},
    {0, NULL, NULL, NULL},
};

static bool take_option(void *user, const struct cli_option *option, const char *argument)
{
    struct cli_merge *merge = user;
    char *end;
    switch (option->letter) {
    case 'o': merge->request.output = argument; return true;
    case 'f': merge->request.force = true; return true;
    default: break;
    }
    const unsigned long number = strtoul(argument, &end, 10);
    if (argument[0] < '0' || argument[0] > '9' || *end || number < 1 || number > MOST_PROCESSES) {
        cli_message("--jobs takes a number from 1 to %d, not '%s'", MOST_PROCESSES, argument);
        return false;
    }
    merge->request.processes = (unsigned)number;
    return true;
}

static void show_progress(void *user, size_t done)
{
    struct cli_merge *merge = user;
    if (merge->progress)
        fprintf(stderr, "\rglint: %zu of %zu files", done, merge->request.count);
    merge->shown = done;
}

static void end_progress(struct cli_merge *merge)
{
    if (merge->progress && merge->shown)
        fputs("\r\033[K", stderr);
    merge->shown = 0;
}

static void show_unmerged(void *user, const char *file, const char *why)
{
    struct cli_merge *merge = user;
    end_progress(merge);
    cli_message("left out %s: %s", file, why);
}

static int run(const struct cli_verb *verb, int argc, char **argv)
{
    struct cli_merge merge = {.progress = isatty(STDERR_FILENO)};
    struct merge_result result = {0};
    struct base_error error = {0};
    const char **files = calloc((size_t)argc, sizeof(*files));
    if (!files) {
        cli_no_memory();
        return CLI_FAILURE;
    }
    merge.request.files = files;
    merge.request.progress = show_progress;
    merge.request.unmerged = show_unmerged;
    merge.request.user = &merge;
    const int count = cli_arguments(verb, argc, argv, take_option, &merge, files, argc);
    int status = count == -2 ? 0 : CLI_FAILURE;
    if (count >= 0 && (!merge.request.output || count == 0)) {
        cli_message("%s; try 'glint merge --help'",
                    count ? "no job profile to write: give -o JOB" : "no profiles given");
    } else if (count > 0) {
        merge.request.count = (size_t)count;
        const enum base_code code = merge_files(&merge.request, &result, &error);
        end_progress(&merge);
        if (code != BASE_OK)
            cli_error(&error);
        else
            status = result.unmerged ? NOT_ALL : 0;
    }
    free(files);
    return status;
}

const struct cli_verb cli_merge = {
    .name = "merge",
    .arguments = "FILE...",
    .summary = "make one job profile of the profiles of many processes",
    .details =
        "Files are profiles, one for each process, and job profiles that were merged before. The\n"
        "job profile has the sums, the peaks and the findings of each process, not its calls.\n"
        "Files can be merged in any order and in any groups: the job profile is the same, byte "
        "for\n"
        "byte. A profile that is given twice counts once.\n\n"
        "  glint merge -o job.glint prog-rank*.glint\n"
        "  glint report job.glint\n\n"
        "A file that cannot be read is named and left out. The exit status is 0 if all files were\n"
        "merged, 1 if some were left out, and 2 if nothing was written: wrong usage, no file that\n"
        "can be read, or different profiles of the same process.\n",
    .options = options,
    .run = run,
};
