// SPDX-License-Identifier: Apache-2.0
// glint fix: runs a program with the safe corrections that its profile suggests, and says what they
// gained. As with glint record, the program keeps its streams and exit status.
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fix_choice.h"
#include "fix_result.h"
#include "runs.h"
#include "thresholds.h"
#include "unseen.h"
#include "verify.h"

enum { DIFFERS = 1 };

struct cli_fix_request {
    struct cli_program_request program;
    struct cli_fix_choice choice;
    struct cli_verify verify;
    const char *profile; // NULL: the program is recorded first
    const char *output;  // the corrected run's profile; NULL: none is kept
    bool force, quiet, dry_run, verifies, no_native, protects;
};

static const struct cli_option options[] = {
    {'p', "profile", "FILE", "use this profile; default: record the program first"},
    {'o', "output", "FILE", "write the profile of the corrected run to FILE"},
    {'f', "force", NULL, "replace an existing profile"},
    {0, "only", "LIST", "apply only these remedies or places; may be repeated",
     .patterns = cli_fix_has_remedy},
    {0, "except", "LIST", "apply all but these remedies or places; may be repeated",
     .patterns = cli_fix_has_remedy},
    {'t', "threshold", "NAME=N", "set a threshold, as for glint report; may be repeated"},
    {0, "dry-run", NULL, "print what would be corrected, and run nothing"},
    {0, "no-native", NULL, "do not run the program natively to compare the run time"},
    {0, "verify", NULL, "run the program natively twice, and compare output and exit status"},
    {'c', "compare", "FILE", "also compare this file; implies --verify; may be repeated"},
    {0, "protect-pages", NULL, "also correct in ways that some programs notice (see docs)"},
    {'q', "quiet", NULL, "print only errors"},
    CLI_PROGRAM_OPTIONS,
    {0, NULL, NULL, NULL},
};

static bool add_list(const char **lists, unsigned *count, const char *name, const char *list)
{
    if (*count == CLI_FIX_MOST_LISTS) {
        cli_message("--%s can be given at most %d times", name, CLI_FIX_MOST_LISTS);
        return false;
    }
    lists[(*count)++] = list;
    return true;
}

static bool add_file(struct cli_verify *verify, const char *file)
{
    if (verify->file_count == CLI_VERIFY_MOST_FILES) {
        cli_message("--compare can be given at most %d times", CLI_VERIFY_MOST_FILES);
        return false;
    }
    verify->files[verify->file_count++] = file;
    return true;
}

static bool take_option(void *user, const struct cli_option *option, const char *argument)
{
    struct cli_fix_request *request = user;
    switch (option->letter) {
    case 'p': request->profile = argument; return true;
    case 'o': request->output = argument; return true;
    case 'f': request->force = true; return true;
    case 'q': request->quiet = request->program.quiet = true; return true;
    case 't': return cli_thresholds_take(&request->choice.thresholds, argument);
    case 'c': request->verifies = true; return add_file(&request->verify, argument);
    case 0: break;
    default: return cli_program_take_option(&request->program, option, argument);
    }
    if (strcmp(option->name, "only") == 0)
        return add_list(request->choice.only, &request->choice.only_count, "only", argument);
    if (strcmp(option->name, "except") == 0)
        return add_list(request->choice.except, &request->choice.except_count, "except", argument);
    if (strcmp(option->name, "dry-run") == 0)
        request->dry_run = true;
    else if (strcmp(option->name, "no-native") == 0)
        request->no_native = true;
    else if (strcmp(option->name, "protect-pages") == 0)
        request->protects = true;
    else
        request->verifies = true;
    return true;
}

// --- Checking that the profile belongs to the program --------------------------------------------

struct executable {
    const char *path;
    const char *build_id; // NULL: none
    bool has_images;      // the profile has call paths
};

static bool take_image(void *user, const struct profile_image *image)
{
    struct executable *executable = user;
    executable->has_images = true;
    if (!image->path || strcmp(image->path, executable->path) != 0)
        return true;
    executable->build_id = image->build_id;
    return false;
}

// Returns whether the file is a script, which starts another program. Whether that is the program
// of the profile is checked inside the corrected process.
static bool is_script(const char *path)
{
    char head[2] = "";
    FILE *file = fopen(path, "re");
    const bool is = file && fread(head, 1, 2, file) == 2 && head[0] == '#' && head[1] == '!';
    if (file)
        fclose(file);
    return is;
}

static bool is_of_program(struct profile *profile, const char *file, const char *path)
{
    struct base_error error = {0};
    const char *ran = profile_program(profile)->executable;
    struct executable executable = {.path = ran ? ran : ""};
    char here[RECORD_BUILD_ID_TEXT];
    if (profile_each_image(profile, take_image, &executable, &error) != BASE_OK) {
        cli_error(&error);
        return false;
    }
    if (is_script(path))
        return true;
    // A program that cannot see /proc has no call paths, by which calls are corrected. Then nothing
    // is, and the name of the program may be unknown.
    if (!executable.has_images && (!*executable.path || strcmp(executable.path, path) == 0))
        return true;
    if (!record_build_id(path, here)) {
        cli_message("%s has no build id, so it cannot be identified as the program of %s; link it "
                    "with -Wl,--build-id and record again",
                    path, file);
        return false;
    }
    if (!executable.build_id || strcmp(executable.build_id, here) != 0) {
        cli_message("%s is the profile of another program or build (%s, build id %s), but %s has "
                    "build id %s; record again",
                    file, *executable.path ? executable.path : "no executable",
                    executable.build_id ? executable.build_id : "none", path, here);
        return false;
    }
    return true;
}

// --- Runs ----------------------------------------------------------------------------------------

struct fix_job {
    const struct cli_fix_request *request;
    struct cli_runs runs;
    struct cli_verify verify;
    struct cli_fix_subject subject;
    struct base_buf recorded, corrected, plan; // files
    int status;                                // of the program, as waitpid gives it
    struct cli_verify_ends ends;
    int64_t native_ns;       // 0: there was no native run
    struct base_buf verdict; // of --verify; empty if there is none
    bool failure_unreported; // the GPU failed, and no call has reported it to the program
    bool has_output;         // the program's output is kept as `shown`, and not yet printed
    const char *shown;
};

// Returns the profile of the program itself, else that of the process with the most calls, or NULL
// if no process used CUDA. Prints an error for each profile that could not be written.
static const struct record_profile *main_profile(const struct record_outcome *outcome,
                                                 const char *output)
{
    const struct record_profile *most = NULL;
    for (uint32_t i = 0; i < outcome->profile_count; i++) {
        const struct record_profile *profile = &outcome->profiles[i];
        if (profile->error.code != BASE_OK)
            cli_error(&profile->error);
        else if (strcmp(profile->path, output) == 0)
            return profile;
        else if (!most || profile->calls > most->calls)
            most = profile;
    }
    return most;
}

static void say(const struct fix_job *job, const struct base_buf *text)
{
    if (!job->request->quiet && !text->failed)
        cli_message("%s", text->text);
}

// Returns whether the run ended normally and the user has not interrupted glint.
static bool may_go_on(const struct fix_job *job, const struct record_outcome *outcome)
{
    return !job->runs.interrupted && !WIFSIGNALED(outcome->status);
}

static void tell_unseen(const struct fix_job *job, const struct record_outcome *outcome,
                        const char *consequence)
{
    struct base_buf text = {0};
    cli_unseen_put(&text, outcome, job->runs.path.text);
    cli_message("%s: %s", consequence, text.failed ? "nothing was recorded" : text.text);
    base_buf_fini(&text);
    cli_unseen_explain(outcome, job->runs.path.text);
}

enum step { FAILED, OVER, GO_ON };

// Records the program because no profile was given. Keeps its output, which is printed only if no
// corrected run follows that prints the same.
static enum step record_first(struct fix_job *job)
{
    struct cli_watching_request watching = {.protects = job->request->protects};
    struct record_outcome outcome = {0};
    enum step step = FAILED;
    const struct cli_option analyses = {.name = "analyses"};
    cli_watching_take_option(&watching, &analyses, "objects,sync");
    if (!cli_runs_file(&job->runs, "recorded", ".glint", &job->recorded))
        return FAILED;
    const struct cli_runs_request run = {.kept = "recorded",
                                         .watched = true,
                                         .watching = &watching,
                                         .gpu_times = true,
                                         .output = job->recorded.text};
    if (!job->request->quiet)
        cli_message("no --profile given: recording first, then running with fixes");
    if (cli_runs_run(&job->runs, &run, &outcome)) {
        const struct record_profile *profile = main_profile(&outcome, job->recorded.text);
        job->status = outcome.status;
        job->has_output = true;
        job->shown = "recorded";
        step = profile && may_go_on(job, &outcome) ? GO_ON : OVER;
        if (!may_go_on(job, &outcome))
            cli_message("the recorded run was interrupted: nothing is corrected");
        else if (!profile && !job->request->quiet)
            tell_unseen(job, &outcome, "nothing to correct");
        if (profile) {
            base_buf_clear(&job->recorded);
            base_buf_puts(&job->recorded, profile->path);
        }
    }
    record_outcome_fini(&outcome);
    return step;
}

// kept: the name under which the output is kept; NULL: the program prints to glint's streams.
static enum step run_natively(struct fix_job *job, const char *kept)
{
    struct record_outcome outcome = {0};
    const struct cli_runs_request run = {.kept = kept};
    enum step step = FAILED;
    if (cli_runs_run(&job->runs, &run, &outcome)) {
        job->status = outcome.status;
        job->native_ns = outcome.ran_ns;
        job->has_output = kept != NULL;
        job->shown = kept;
        step = job->runs.interrupted ? OVER : GO_ON;
    }
    record_outcome_fini(&outcome);
    return step;
}

static bool write_plan(struct fix_job *job)
{
    struct base_buf text = {0};
    plan_write(&job->subject.plan, &text);
    bool good =
        cli_runs_file(&job->runs, "plan", "", &job->plan) && cli_write(job->plan.text, true, &text);
    base_buf_fini(&text);
    return good;
}

static void tell(struct fix_job *job, const char *file, const struct record_outcome *outcome)
{
    struct cli_fix_result result = {.quiet = job->request->quiet};
    struct base_buf text = {0};
    if (!cli_fix_result_read(&result, &job->subject, file))
        return;
    job->failure_unreported = result.failure_unreported;
    const struct cli_fix_times times = {.corrected_ns = result.simulated ? 0 : outcome->ran_ns,
                                        .native_ns = job->native_ns};
    cli_fix_result_put(&result, &times, &text);
    say(job, &text);
    base_buf_fini(&text);
}

static enum step run_corrected(struct fix_job *job)
{
    static const struct profile_setting corrected = {FIX_SETTING, "1"};
    const struct cli_fix_request *request = job->request;
    struct cli_watching_request watching = {.protects = job->request->protects};
    struct record_outcome outcome = {0};
    enum step step = FAILED;
    const struct cli_option analyses = {.name = "analyses"};
    cli_watching_take_option(&watching, &analyses, "none");
    if (!write_plan(job) || !cli_runs_file(&job->runs, "corrected", ".glint", &job->corrected))
        return FAILED;
    const char *output = request->output ? request->output : job->corrected.text;
    const struct cli_runs_request run = {.kept = request->verifies ? "corrected" : NULL,
                                         .watched = true,
                                         .watching = &watching,
                                         .plan = job->plan.text,
                                         .output = output,
                                         .overwrite = request->force,
                                         .nameless =
                                             !request->output, // read for the summary line only
                                         .settings = &corrected,
                                         .setting_count = 1};
    if (cli_runs_run(&job->runs, &run, &outcome)) {
        const struct record_profile *profile = main_profile(&outcome, output);
        job->status = outcome.status;
        job->has_output = request->verifies;
        job->shown = "corrected";
        step = job->runs.interrupted ? OVER : GO_ON;
        if (profile)
            tell(job, profile->path, &outcome);
        else if (!request->quiet)
            tell_unseen(job, &outcome, "nothing was corrected");
    }
    record_outcome_fini(&outcome);
    return step;
}

// --- All runs ------------------------------------------------------------------------------------

// Runs the program natively, unless it was just recorded: then the output of that run is printed.
static enum step run_as_it_is(struct fix_job *job)
{
    struct base_buf why = {0};
    cli_fix_subject_why_nothing(&job->subject, &why);
    base_buf_puts(&why, job->has_output ? "; the output is that of the recorded run"
                                        : "; running the program natively");
    if (job->request->output)
        base_buf_printf(&why, ", and no %s is written", job->request->output);
    say(job, &why);
    base_buf_fini(&why);
    return job->has_output ? GO_ON : run_natively(job, NULL);
}

// Restores the compared files before the next run.
static bool begin_alike(struct fix_job *job)
{
    return !job->request->verifies || cli_verify_put_back(&job->verify);
}

static enum step run_native_of(struct fix_job *job, enum cli_verify_run run, int *status)
{
    enum step step = begin_alike(job) ? run_natively(job, cli_verify_run_name(run)) : FAILED;
    *status = job->status;
    return step == GO_ON && !cli_verify_keep_native(&job->verify, run) ? FAILED : step;
}

static enum step verify_all(struct fix_job *job, bool *same)
{
    // The run time is compared with the second native run, because it also finds files in the page
    // cache.
    enum step step = run_native_of(job, CLI_VERIFY_NATIVE, &job->ends.native);
    if (step == GO_ON)
        step = run_native_of(job, CLI_VERIFY_AGAIN, &job->ends.again);
    if (step == GO_ON)
        step = begin_alike(job) ? run_corrected(job) : FAILED;
    if (step != GO_ON)
        return step;
    job->ends.corrected = job->status;
    if (!cli_verify_compare(&job->verify, &job->ends, same, &job->verdict))
        return FAILED;
    if (!*same)
        job->shown = "native";
    return GO_ON;
}

// Returns whether the run time is to be compared with that of a native run.
static bool wants_time(const struct fix_job *job)
{
    const struct cli_fix_request *request = job->request;
    return !request->verifies && !request->no_native && !request->quiet &&
           !(job->subject.profile && profile_program(job->subject.profile)->simulated);
}

// The output of the native run is not printed, because the corrected run prints the same.
static enum step run_compared(struct fix_job *job)
{
    enum step step = wants_time(job) ? run_natively(job, "native") : GO_ON;
    if (step != GO_ON)
        return step;
    job->has_output = false;
    return run_corrected(job);
}

// Performs all runs. Sets *same to false if --verify finds a difference.
static enum step fix_program(struct fix_job *job, bool *same)
{
    const struct cli_fix_request *request = job->request;
    enum step step = GO_ON;
    if (request->verifies && !cli_verify_keep(&job->verify))
        return FAILED;
    if (!request->profile)
        step = record_first(job);
    const char *profile = request->profile ? request->profile : job->recorded.text;
    if (step != GO_ON)
        return step;
    if ((!request->profile && !cli_fix_subject_load(&job->subject, profile, &request->choice)) ||
        (request->profile && !is_of_program(job->subject.profile, profile, job->runs.path.text)))
        return FAILED;
    if (job->subject.given_up.length && !request->quiet)
        cli_message("waits and copies are not corrected: %s", job->subject.given_up.text);
    if (!cli_fix_subject_places(&job->subject, ANALYZE_PATTERNS))
        return run_as_it_is(job);
    return request->verifies ? verify_all(job, same) : run_compared(job);
}

// Returns glint's exit status, or -1 if the exit status is the program's.
static int fix(struct fix_job *job)
{
    const struct cli_fix_request *request = job->request;
    if (request->profile &&
        !cli_fix_subject_load(&job->subject, request->profile, &request->choice))
        return CLI_OWN_FAILURE;
    const unsigned times = !request->profile + 1u +
                           (request->verifies ? 2u
                            : wants_time(job) ? 1u
                                              : 0u);
    bool same = true;
    job->verify = request->verify;
    job->verify.runs = &job->runs;
    enum step step = cli_runs_begin(&job->runs, times, true) ? fix_program(job, &same) : FAILED;
    if (step == FAILED && job->verify.kept)
        cli_verify_put_back(&job->verify);
    signal(SIGPIPE, SIG_IGN); // keeps the exit status correct if no one reads stderr
    // Print the program's output even if glint fails.
    if (job->has_output && !cli_runs_show(&job->runs, job->shown))
        step = FAILED;
    if (job->verdict.length && (!same || !request->quiet))
        cli_message("%s", job->verdict.text);
    cli_runs_end(&job->runs);
    return step == FAILED || (job->failure_unreported && same) ? CLI_OWN_FAILURE
           : same                                              ? -1
                                                               : DIFFERS;
}

static int print_plan(struct fix_job *job, char *program)
{
    const struct cli_fix_request *request = job->request;
    struct base_buf text = {0};
    struct base_buf path = {0};
    bool good = cli_fix_subject_load(&job->subject, request->profile, &request->choice);
    if (good && program)
        good = cli_program_find(program, &path) &&
               is_of_program(job->subject.profile, request->profile, path.text);
    if (good) {
        if (cli_fix_subject_why_nothing(&job->subject, &text))
            base_buf_puts(&text, "\n\n");
        cli_fix_subject_put(&job->subject, &text);
        good = cli_write(NULL, false, &text);
    }
    base_buf_fini(&text);
    base_buf_fini(&path);
    return good ? 0 : CLI_OWN_FAILURE;
}

static int run_verb(const struct cli_verb *verb, int argc, char **argv)
{
    struct cli_fix_request request = {.choice.thresholds = analyze_default_thresholds()};
    struct fix_job job = {.request = &request};
    int first = cli_options(verb, argc, argv, take_option, &request);
    if (first == -2)
        return 0;
    if (first < 0)
        return CLI_OWN_FAILURE;
    if (request.dry_run && !request.profile) {
        cli_message("--dry-run needs a --profile");
        return CLI_OWN_FAILURE;
    }
    if (first == argc && !request.dry_run) {
        cli_message("no program given; try 'glint fix --help'");
        return CLI_OWN_FAILURE;
    }
    if (request.output && !request.dry_run &&
        !cli_recording_can_write(request.output, request.force))
        return CLI_OWN_FAILURE;
    job.runs.program = request.program;
    job.runs.arguments = argv + first;
    int status = request.dry_run ? print_plan(&job, first < argc ? argv[first] : NULL) : fix(&job);
    cli_fix_subject_fini(&job.subject);
    base_buf_fini(&job.recorded);
    base_buf_fini(&job.corrected);
    base_buf_fini(&job.plan);
    base_buf_fini(&job.verdict);
    return status < 0 ? cli_recording_end_as(job.status) : status;
}

static void put_patterns(struct base_buf *out)
{
    base_buf_puts(out, "\nPatterns that have a remedy:\n  ");
    cli_fix_put_patterns(out, "\n  ");
    base_buf_putc(out, '\n');
}

const struct cli_verb cli_fix = {
    .name = "fix",
    .arguments = "[--] PROGRAM [ARGUMENT...]",
    .summary = "run a program with safe corrections, and say what they gained",
    .details =
        "The corrections come from a profile (glint record --analyses objects,sync); without\n"
        "--profile the program is recorded first. glint corrects only call paths that waited\n"
        "without need and never for something that was needed; all other calls are native. The\n"
        "results are those of the native run. docs/guide/fixing.md says what is corrected, and\n"
        "when a call is left alone.\n"
        "\n"
        "LIST is a comma-separated list of patterns and places. A place is a glob for a function\n"
        "or file of a call path, or file and line as solve.cu:21.\n"
        "\n"
        "The profile must be of the same build; another build is refused. The program keeps its\n"
        "streams, signals and exit status. The exit status is 125 if glint itself fails, and 1 if\n"
        "--verify finds a difference.\n"
        "\n"
        "On a GPU the program is also run natively to compare the run time; --no-native leaves\n"
        "that out. With --verify it is run natively twice; lines that differ between these runs\n"
        "are not compared. Each run gets the same input, and compared files are restored before\n"
        "each run.\n",
    .more = put_patterns,
    .options = options,
    .run = run_verb,
};
