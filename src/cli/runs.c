// SPDX-License-Identifier: Apache-2.0
// Runs a program several times under the same conditions. The program inherits this process's
// environment and streams, so these are exchanged before a run and restored after it.
#include "runs.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "event/event.h"
#include "plan/plan.h"

extern char **environ;

enum { PIECE_BYTES = 1 << 16 };

// --- The environment -----------------------------------------------------------------------------

static void free_environment(char **variables)
{
    for (char **at = variables; at && *at; at++)
        free(*at);
    free(variables);
}

// Returns NULL if memory runs out.
static char **copy_environment(void)
{
    size_t count = 0;
    while (environ && environ[count])
        count++;
    char **copy = calloc(count + 1, sizeof(*copy));
    for (size_t i = 0; copy && i < count; i++) {
        copy[i] = strdup(environ[i]);
        if (!copy[i]) {
            free_environment(copy);
            copy = NULL;
        }
    }
    return copy;
}

static bool set_environment(char *const *variables)
{
    bool good = clearenv() == 0;
    for (; good && *variables; variables++) {
        const char *equals = strchr(*variables, '=');
        char *name = equals ? strndup(*variables, (size_t)(equals - *variables)) : NULL;
        good = !equals || (name && setenv(name, equals + 1, 1) == 0);
        free(name);
    }
    if (!good)
        cli_no_memory();
    return good;
}

// Makes the environment of the program, with or without glint's variables.
static bool prepare(struct cli_runs *runs, bool watched, char ***kept)
{
    runs->program.watched = runs->program.first_uses = watched;
    base_buf_clear(&runs->path);
    if (!set_environment(runs->as_was) ||
        !cli_program_prepare(&runs->program, runs->arguments[0], &runs->path))
        return false;
    *kept = copy_environment();
    if (!*kept)
        cli_no_memory();
    return *kept && set_environment(runs->as_was);
}

// --- Signals -------------------------------------------------------------------------------------

static volatile sig_atomic_t asked_to_end;

static void note(int number)
{
    (void)number;
    asked_to_end = asked_to_end + 1;
}

// Installs a handler, unless the signal is ignored: then it stays ignored, also in the program.
static void note_signals(void)
{
    static const int numbers[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        struct sigaction before;
        const struct sigaction action = {.sa_handler = note};
        if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(numbers[i], &action, NULL);
    }
}

// --- Input ---------------------------------------------------------------------------------------

// Appends all of one file to the other. Returns -1 and sets errno if it fails.
static int pour(int from, int to)
{
    char piece[PIECE_BYTES];
    for (;;) {
        const ssize_t got = read(from, piece, sizeof(piece));
        if (got == 0)
            return 0;
        if (got < 0 && (errno != EINTR || asked_to_end))
            return -1;
        for (ssize_t done = 0; done < got;) {
            const ssize_t put = write(to, piece + done, (size_t)(got - done));
            if (put < 0 && errno != EINTR)
                return -1;
            done += put > 0 ? put : 0;
        }
    }
}

// Copies input from a pipe to a file, because each run needs it. Terminals and devices stay as they
// are.
static bool keep_input(struct cli_runs *runs)
{
    struct stat status;
    struct base_buf path = {0};
    if (fstat(STDIN_FILENO, &status) != 0)
        return true;
    if (S_ISREG(status.st_mode))
        runs->input_at = lseek(STDIN_FILENO, 0, SEEK_CUR);
    if (!S_ISFIFO(status.st_mode) && !S_ISSOCK(status.st_mode))
        return true;
    bool good = cli_runs_file(runs, "input", "", &path);
    if (good) {
        runs->input = open(path.text, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        good = runs->input >= 0 && pour(STDIN_FILENO, runs->input) == 0;
        if (!good)
            cli_message("cannot save the input for the next run: %s", strerror(errno));
    }
    runs->input_at = 0;
    base_buf_fini(&path);
    return good;
}

static bool rewind_input(const struct cli_runs *runs)
{
    const int file = runs->input >= 0 ? runs->input : STDIN_FILENO;
    if (runs->input_at >= 0 && lseek(file, runs->input_at, SEEK_SET) < 0) {
        cli_message("cannot rewind the input: %s", strerror(errno));
        return false;
    }
    return true;
}

// --- The folder ----------------------------------------------------------------------------------

bool cli_runs_file(const struct cli_runs *runs, const char *one, const char *other,
                   struct base_buf *path)
{
    base_buf_clear(path);
    base_buf_printf(path, "%s/%s%s", runs->folder, one, other);
    if (path->failed)
        cli_no_memory();
    return !path->failed;
}

static bool make_folder(struct cli_runs *runs)
{
    const char *where = getenv("TMPDIR");
    struct base_buf path = {0};
    base_buf_printf(&path, "%s/glint-fix-XXXXXX", where && *where ? where : "/tmp");
    if (path.failed || !mkdtemp(path.text)) {
        cli_message("cannot create the folder %s: %s", path.failed ? "/tmp" : path.text,
                    path.failed ? "out of memory" : strerror(errno));
        base_buf_fini(&path);
        return false;
    }
    runs->folder = path.text;
    return true;
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *at)
{
    (void)status;
    (void)kind;
    (void)at;
    remove(path);
    return 0;
}

// --- Start and end -------------------------------------------------------------------------------

bool cli_runs_begin(struct cli_runs *runs, unsigned times, bool needs_native)
{
    runs->input = -1;
    runs->input_at = -1;
    note_signals();
    runs->as_was = copy_environment();
    if (!runs->as_was) {
        cli_no_memory();
        return false;
    }
    return make_folder(runs) && (!needs_native || prepare(runs, false, &runs->native)) &&
           prepare(runs, true, &runs->watched) && (times < 2 || keep_input(runs));
}

void cli_runs_end(struct cli_runs *runs)
{
    if (runs->input >= 0)
        close(runs->input);
    if (runs->folder && !runs->keeps_folder)
        nftw(runs->folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    free(runs->folder);
    base_buf_fini(&runs->path);
    free_environment(runs->as_was);
    free_environment(runs->native);
    free_environment(runs->watched);
}

// Replaces one of the standard streams by a file. Returns a copy of the stream, to restore it.
static int exchange(int stream, int file)
{
    const int before = fcntl(stream, F_DUPFD_CLOEXEC, 3);
    return before >= 0 && dup2(file, stream) == stream ? before : -1;
}

static void put_back(int stream, int before)
{
    if (before >= 0) {
        dup2(before, stream);
        close(before);
    }
}

struct streams {
    int before[3]; // copies of the standard streams; -1: not exchanged
};

static bool keep_output(const struct cli_runs *runs, const char *kept, struct streams *streams)
{
    static const char *const names[] = {NULL, ".out", ".err"};
    struct base_buf path = {0};
    bool good = true;
    for (int i = STDOUT_FILENO; i <= STDERR_FILENO && good; i++) {
        good = cli_runs_file(runs, kept, names[i], &path);
        const int file = good ? open(path.text, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;
        if (good && file < 0)
            cli_message("cannot write %s: %s", path.text, strerror(errno));
        good = file >= 0;
        if (good)
            streams->before[i] = exchange(i, file);
        if (file >= 0)
            close(file);
    }
    base_buf_fini(&path);
    return good;
}

static bool begin_streams(const struct cli_runs *runs, const char *kept, struct streams *streams)
{
    *streams = (struct streams){{-1, -1, -1}};
    fflush(stdout);
    if (!rewind_input(runs))
        return false;
    if (runs->input >= 0)
        streams->before[STDIN_FILENO] = exchange(STDIN_FILENO, runs->input);
    return !kept || keep_output(runs, kept, streams);
}

static void end_streams(const struct streams *streams)
{
    for (int i = 0; i < 3; i++)
        put_back(i, streams->before[i]);
}

static bool begin_environment(const struct cli_runs *runs, const struct cli_runs_request *request)
{
    if (!set_environment(request->watched ? runs->watched : runs->native))
        return false;
    if (!request->watched)
        return true;
    if (!cli_watching_prepare(request->watching))
        return false;
    const bool good =
        setenv(EVENT_TIMESTAMPS_VARIABLE, request->gpu_times ? "1" : "0", 1) == 0 &&
        (request->plan ? setenv(PLAN_VARIABLE, request->plan, 1) : unsetenv(PLAN_VARIABLE)) == 0;
    if (!good)
        cli_no_memory();
    return good;
}

bool cli_runs_run(struct cli_runs *runs, const struct cli_runs_request *request,
                  struct record_outcome *outcome)
{
    struct profile_setting settings[CLI_WATCHING_SETTINGS + 4];
    struct record_request recording = {.path = runs->path.text,
                                       .arguments = runs->arguments,
                                       .output = request->output,
                                       .overwrite = request->overwrite,
                                       .nameless = request->nameless,
                                       .settings = settings};
    struct streams streams;
    struct base_error error = {0};
    bool good = begin_environment(runs, request);
    if (request->watched) {
        memcpy(settings, request->watching->settings, sizeof(request->watching->settings));
        recording.setting_count = request->watching->setting_count;
        recording.caches = request->watching->probes & EVENT_PROBE_CACHE;
    }
    for (uint32_t i = 0; i < request->setting_count && i < 4; i++)
        settings[recording.setting_count++] = request->settings[i];
    if (good) {
        good = begin_streams(runs, request->kept, &streams);
        const bool ran = good && cli_recording_run(&recording, outcome, &error) == BASE_OK;
        end_streams(&streams);
        if (good && !ran)
            cli_error(&error); // after stderr is restored
        good = ran;
        runs->ran_ns = outcome->ran_ns;
    }
    runs->interrupted |= outcome->interrupted || asked_to_end;
    return set_environment(runs->as_was) && good;
}

bool cli_runs_show(const struct cli_runs *runs, const char *kept)
{
    static const char *const names[] = {NULL, ".out", ".err"};
    struct base_buf path = {0};
    bool good = true;
    for (int i = STDOUT_FILENO; i <= STDERR_FILENO && good; i++) {
        good = cli_runs_file(runs, kept, names[i], &path);
        const int file = good ? open(path.text, O_RDONLY | O_CLOEXEC) : -1;
        if (good && (file < 0 || pour(file, i) != 0)) {
            cli_message("cannot write the program's output: %s", strerror(errno));
            good = false;
        }
        if (file >= 0)
            close(file);
    }
    base_buf_fini(&path);
    return good;
}
