// SPDX-License-Identifier: Apache-2.0
// Signal handlers only note and forward: the main loop decides. The program is executed by a child
// that reports through a pipe if it cannot.
#include "start.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "event/event.h"
#include "pattern.h"

// --- Signals -------------------------------------------------------------------------------------

// For the signal handlers: the program's process id, and how often a signal asked the recorder to
// end.
static volatile sig_atomic_t forward_to;
static volatile sig_atomic_t asked_to_end;

static void forward(int number)
{
    if (forward_to > 0)
        kill((pid_t)forward_to, number);
    asked_to_end = asked_to_end + 1;
}

static void note_only(int number)
{
    (void)number;
    asked_to_end = asked_to_end + 1;
}

static const struct {
    int number;
    void (*handler)(int);
} handled[] = {
    {SIGINT, note_only}, // the terminal sends these two to the program as well
    {SIGQUIT, note_only}, {SIGTERM, forward}, {SIGHUP, forward},
    {SIGCHLD, SIG_DFL}, // if it were ignored, waitpid could not report the program's end
    {SIGXFSZ, SIG_IGN}, // at the limit of the size of files, writing fails instead
};
_Static_assert(sizeof(handled) / sizeof(handled[0]) == RECORD_SIGNALS, "the header says how many");

void record_signals_set(struct sigaction old[RECORD_SIGNALS])
{
    for (int i = 0; i < RECORD_SIGNALS; i++) {
        struct sigaction action = {.sa_handler = handled[i].handler};
        sigaction(handled[i].number, &action, &old[i]);
    }
}

void record_signals_put_back(const struct sigaction old[RECORD_SIGNALS])
{
    for (int i = 0; i < RECORD_SIGNALS; i++)
        sigaction(handled[i].number, &old[i], NULL);
}

int record_signals_asked_to_end(void)
{
    return asked_to_end;
}

void record_signals_forget(void)
{
    asked_to_end = 0;
}

void record_signals_keep(void)
{
    forward_to = 0;
}

// --- The socket ----------------------------------------------------------------------------------

// Runs in another process when the recorder has been killed.
static void clean_up(void *user)
{
    const struct recorder *recorder = user;
    if (recorder->output)
        profile_sweep(recorder->output);
}

enum base_code record_open_socket(struct recorder *recorder, struct base_error *error)
{
    enum { LONGEST = 60 }; // of the name of the folder above, for which an address has room
    enum base_code code = base_scratch_make("run", LONGEST, &recorder->folder, error);
    if (code != BASE_OK)
        return code;
    recorder->address.sun_family = AF_UNIX;
    snprintf(recorder->address.sun_path, sizeof(recorder->address.sun_path), "%.90s/socket",
             recorder->folder.path);
    recorder->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (recorder->listener < 0 ||
        bind(recorder->listener, (const struct sockaddr *)&recorder->address,
             sizeof(recorder->address)) != 0 ||
        listen(recorder->listener, 128) != 0)
        return base_fail(error, BASE_IO, "cannot listen at %s: %s", recorder->address.sun_path,
                         strerror(errno));
    record_unseen_begin(&recorder->unseen, recorder->address.sun_path);
    return BASE_OK;
}

// --- The program ---------------------------------------------------------------------------------

// Says which variables processes must send because they name profiles.
static bool set_naming(const struct record_request *request)
{
    struct base_buf names = {0};
    if (request->output && request->is_pattern)
        record_pattern_put_variables(&names, request->output);
    const bool set = !names.failed && (names.length ? setenv(EVENT_NAMING_VARIABLE, names.text, 1)
                                                    : unsetenv(EVENT_NAMING_VARIABLE)) == 0;
    base_buf_fini(&names);
    return set;
}

// Runs in the child: executes the program, or writes errno to the pipe.
static void become_program(const struct recorder *recorder,
                           const struct sigaction old[RECORD_SIGNALS], int report)
{
    record_signals_put_back(old);
    record_unseen_become(&recorder->unseen);
    if (set_naming(recorder->request) &&
        setenv(EVENT_SOCKET_VARIABLE, recorder->address.sun_path, 1) == 0)
        execvp(recorder->request->path, recorder->request->arguments);
    int why = errno;
    _exit(write(report, &why, sizeof(why)) == sizeof(why) ? 125 : 126);
}

enum base_code record_start_program(struct recorder *recorder,
                                    const struct sigaction old[RECORD_SIGNALS],
                                    struct base_error *error)
{
    int report[2], why = 0;
    if (pipe2(report, O_CLOEXEC) != 0)
        return base_fail(error, BASE_IO, "cannot create a pipe: %s", strerror(errno));
    recorder->started_ns = record_now_ns();
    recorder->program = fork();
    if (recorder->program == 0)
        become_program(recorder, old, report[1]);
    close(report[1]);
    if (recorder->program < 0) {
        close(report[0]);
        return base_fail(error, BASE_IO, "cannot start a process: %s", strerror(errno));
    }
    ssize_t got = 0;
    do
        got = read(report[0], &why, sizeof(why));
    while (got < 0 && errno == EINTR);
    close(report[0]);
    if (got == (ssize_t)sizeof(why)) {
        waitpid(recorder->program, NULL, 0);
        return base_fail(error, BASE_IO, "cannot run %s: %s", recorder->request->path,
                         strerror(why));
    }
    recorder->program_fd = (int)syscall(SYS_pidfd_open, recorder->program, 0);
    forward_to = recorder->unseen.root = recorder->program;
    base_scratch_keep(&recorder->folder, clean_up, recorder);
    return BASE_OK;
}
