// SPDX-License-Identifier: Apache-2.0
// The recorder's main loop: starts the program, accepts the rings of all processes that use CUDA,
// drains them in turn, and finishes a profile when its process has ended. It never stops the
// program, and leaves the signals that a terminal sends to both to the program.
#include "record.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "remaining.h"
#include "session.h"
#include "unseen.h"

enum {
    AT_ONCE = 4096,       // records read from one ring before the next ring is read
    SHORTEST_MS = 1,      // sleep if there were fewer records than that;
    LONGEST_MS = 10,      // doubled up to this while there are none
    MOST_SESSIONS = 4096, // processes recorded at once
    MOST_NAMES = 1000,    // that are tried for a profile
    PATIENCE_MS = 1000    // wait for processes that outlive the program and may still use CUDA
};

struct recorder {
    const struct record_request *request;
    char *output;                // reserved for the program; NULL: none was requested
    struct profile_place *place; // of output, until the program uses CUDA
    struct base_scratch folder;  // of the socket
    struct sockaddr_un address;
    int listener;
    pid_t program;
    int64_t started_ns; // by CLOCK_MONOTONIC
    int program_fd;     // readable when the program has ended
    bool program_ended;
    int status;
    int waited_ms;                      // for processes that outlive the program
    struct record_request for_sessions; // the request, with the progress of `meanwhile`
    struct record_session *sessions[MOST_SESSIONS];
    uint32_t session_count;
    struct record_unseen unseen; // asked if nothing was recorded
    struct record_outcome *outcome;
};

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
enum { HANDLED = sizeof(handled) / sizeof(handled[0]) };

static void set_handlers(struct sigaction old[HANDLED])
{
    for (int i = 0; i < HANDLED; i++) {
        struct sigaction action = {.sa_handler = handled[i].handler};
        sigaction(handled[i].number, &action, &old[i]);
    }
}

static void put_back_handlers(const struct sigaction old[HANDLED])
{
    for (int i = 0; i < HANDLED; i++)
        sigaction(handled[i].number, &old[i], NULL);
}

// --- Starting ------------------------------------------------------------------------------------

// Runs in another process when the recorder has been killed.
static void clean_up(void *user)
{
    const struct recorder *recorder = user;
    if (recorder->output)
        profile_sweep(recorder->output);
}

static enum base_code open_socket(struct recorder *recorder, struct base_error *error)
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

static int64_t now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

// Adds FILE (pid 0), FILE-PID (again 0) or FILE-PID-AGAIN; the numbers precede the last suffix.
static void put_name(struct base_buf *out, const char *file, int pid, unsigned again)
{
    const char *slash = strrchr(file, '/'), *dot = strrchr(file, '.');
    size_t stem = dot && (!slash || dot > slash + 1) ? (size_t)(dot - file) : strlen(file);
    base_buf_add(out, file, stem);
    if (pid)
        base_buf_printf(out, "-%d", pid);
    if (again)
        base_buf_printf(out, "-%u", again + 1);
    base_buf_puts(out, file + stem);
}

// Reserves the program's profile. If another recorder has the name, as when several ranks of a job
// use the same, it takes FILE-PID with the recorder's process id, as the program does not run yet.
static enum base_code reserve_output(struct recorder *recorder, struct base_error *error)
{
    const struct record_request *request = recorder->request;
    if (!request->output) {
        BASE_RETURN_IF(access(".", W_OK | X_OK) != 0, error, BASE_IO,
                       "cannot write a profile to the current folder: %s", strerror(errno));
        return BASE_OK;
    }
    enum base_code code = BASE_CONFLICT;
    bool taken = false;
    for (unsigned i = 0; i < MOST_NAMES && code == BASE_CONFLICT; i++) {
        struct base_buf path = {0};
        if (i == 0)
            base_buf_puts(&path, request->output);
        else
            put_name(&path, request->output, (int)getpid(), i - 1);
        code = path.failed ? base_no_memory(error)
                           : profile_reserve(path.text, i == 0 && request->overwrite,
                                             &recorder->place, &taken, error);
        if (code == BASE_OK) {
            recorder->output = path.text;
            recorder->outcome->output_instead = i ? strdup(path.text) : NULL;
            return BASE_OK;
        }
        base_buf_fini(&path);
        if (i == 0 && !taken)
            break;
    }
    return code;
}

// Runs in the child: executes the program, or writes errno to the pipe.
static void become_program(const struct recorder *recorder, const struct sigaction old[HANDLED],
                           int report)
{
    put_back_handlers(old);
    record_unseen_become(&recorder->unseen);
    if (setenv(EVENT_SOCKET_VARIABLE, recorder->address.sun_path, 1) == 0)
        execvp(recorder->request->path, recorder->request->arguments);
    int why = errno;
    _exit(write(report, &why, sizeof(why)) == sizeof(why) ? 125 : 126);
}

static enum base_code start_program(struct recorder *recorder, const struct sigaction old[HANDLED],
                                    struct base_error *error)
{
    int report[2], why = 0;
    if (pipe2(report, O_CLOEXEC) != 0)
        return base_fail(error, BASE_IO, "cannot create a pipe: %s", strerror(errno));
    recorder->started_ns = now_ns();
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

// --- Sessions ------------------------------------------------------------------------------------

// FILE for the program itself, FILE-PID for other processes, with a number if a process has
// several; without FILE, NAME-PID.glint.
static void name_profile(const struct recorder *recorder, int pid, unsigned again,
                         struct base_buf *out)
{
    if (recorder->output) {
        put_name(out, recorder->output, pid == recorder->program ? 0 : pid, again);
        return;
    }
    char path[64], name[32] = "";
    snprintf(path, sizeof(path), "/proc/%d/comm", pid);
    FILE *file = fopen(path, "re");
    if (file) {
        size_t got = fread(name, 1, sizeof(name) - 1, file);
        name[got] = '\0';
        name[strcspn(name, "\n/")] = '\0';
        fclose(file);
    }
    const char *slash = strrchr(recorder->request->path, '/');
    if (pid == recorder->program || !name[0])
        base_buf_puts(out, slash ? slash + 1 : recorder->request->path);
    else
        base_buf_puts(out, name);
    base_buf_printf(out, "-%d", pid);
    if (again)
        base_buf_printf(out, "-%u", again + 1);
    base_buf_puts(out, ".glint");
}

static uint32_t drain_all(struct recorder *recorder)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < recorder->session_count; i++)
        count += record_session_drain(recorder->sessions[i], AT_ONCE);
    return count;
}

// Reserves an unused name for the profile of a process. Returns NULL if there is none; path is then
// the first name that was tried.
static struct profile_place *find_place(const struct recorder *recorder, int pid, unsigned again,
                                        struct base_buf *path)
{
    struct profile_place *place = NULL;
    for (unsigned i = 0; i < MOST_NAMES && !place; i++) {
        bool taken;
        base_buf_clear(path);
        name_profile(recorder, pid, again + i, path);
        if (path->failed || profile_reserve(path->text, recorder->request->overwrite, &place,
                                            &taken, NULL) != BASE_CONFLICT)
            break;
    }
    if (!place) {
        base_buf_clear(path);
        name_profile(recorder, pid, again, path);
    }
    return place;
}

static void accept_one(struct recorder *recorder, int connection)
{
    struct base_error error;
    size_t bytes = 0;
    int pid = 0;
    struct timeval patience = {.tv_sec = 1};
    setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    struct event_ring *ring = event_ring_accept(connection, &bytes, &pid, &error);
    if (!ring)
        return;
    unsigned again = 0;
    for (uint32_t i = 0; i < recorder->outcome->profile_count; i++)
        again += recorder->outcome->profiles[i].pid == pid;
    // A process that offers a second ring has called exec.
    for (uint32_t i = 0; i < recorder->session_count; i++) {
        if (recorder->sessions[i]->pid == pid) {
            recorder->sessions[i]->ended = recorder->sessions[i]->replaced = true;
            again++;
        }
    }
    struct base_buf path = {0};
    struct profile_place *place = NULL;
    if (pid == recorder->program && !again) {
        place = recorder->place;
        recorder->place = NULL;
    }
    if (place)
        base_buf_puts(&path, recorder->output);
    else
        place = find_place(recorder, pid, again, &path);
    struct record_session *session = NULL;
    if (!path.failed && recorder->session_count < MOST_SESSIONS) {
        session = record_session_open(ring, bytes, pid, path.text, place, &recorder->for_sessions);
    } else {
        profile_release(place);
        event_ring_release(ring, bytes);
    }
    if (session)
        recorder->sessions[recorder->session_count++] = session;
    base_buf_fini(&path);
}

static void accept_all(struct recorder *recorder)
{
    int connection;
    while ((connection = accept4(recorder->listener, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
        accept_one(recorder, connection);
        close(connection);
    }
}

// Called while a profile is finished, which may take seconds: the rings of other processes must not
// fill up, and new processes must be accepted.
static void attend(struct recorder *recorder)
{
    accept_all(recorder);
    drain_all(recorder);
}

static void meanwhile(void *user, uint64_t done, uint64_t all)
{
    struct recorder *recorder = user;
    attend(recorder);
    if (recorder->request->progress)
        recorder->request->progress(recorder->request->user, done, all);
}

static void end_session(struct recorder *recorder, uint32_t index, enum profile_ending ending,
                        int code)
{
    struct record_outcome *outcome = recorder->outcome;
    struct record_session *session = recorder->sessions[index];
    recorder->sessions[index] = recorder->sessions[--recorder->session_count];
    session->ended = true;
    while (
        record_session_drain(session, AT_ONCE)) // the rest, with a turn for other rings in between
        attend(recorder);
    struct record_profile out;
    record_session_close(session, ending, code, &out);
    struct record_profile *profiles =
        realloc(outcome->profiles, (outcome->profile_count + 1) * sizeof(*profiles));
    if (!profiles) {
        free(out.path);
        return;
    }
    outcome->profiles = profiles;
    outcome->profiles[outcome->profile_count++] = out;
}

static bool has_ended(const struct record_session *session)
{
    struct pollfd poll_of = {.fd = session->pidfd, .events = POLLIN};
    if (session->ended)
        return true;
    if (session->pidfd >= 0)
        return poll(&poll_of, 1, 0) == 1;
    return kill(session->pid, 0) != 0 && errno == ESRCH;
}

// Returns whether the program has just ended. A program that lets its parent trace it
// (PTRACE_TRACEME), to keep debuggers away, stops at each signal; it continues untraced.
static bool program_ends(struct recorder *recorder)
{
    int status;
    if (waitpid(recorder->program, &status, WNOHANG) != recorder->program)
        return false;
    if (WIFSTOPPED(status)) {
        const int signal = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
        ptrace(PTRACE_DETACH, recorder->program, NULL, (void *)(intptr_t)signal); // NOLINT
        return false;
    }
    recorder->status = status;
    return true;
}

static void look_for_ends(struct recorder *recorder)
{
    siginfo_t about = {0};
    if (!recorder->program_ended && !recorder->outcome->profile_count && !recorder->session_count) {
        record_unseen_look(&recorder->unseen, now_ns());
        if (waitid(P_PID, (id_t)recorder->program, &about, WEXITED | WNOHANG | WNOWAIT) == 0 &&
            about.si_pid)
            record_unseen_ended(&recorder->unseen, &recorder->outcome->why);
    }
    if (!recorder->program_ended && program_ends(recorder)) {
        recorder->program_ended = true;
        recorder->outcome->ran_ns = now_ns() - recorder->started_ns;
        forward_to = 0;
    }
    accept_all(recorder); // rings that were offered before the program ended
    for (uint32_t i = recorder->session_count; i-- > 0;) {
        const struct record_session *session = recorder->sessions[i];
        bool root = session->pid == recorder->program && !session->replaced;
        if (root ? !recorder->program_ended : !has_ended(session))
            continue;
        bool signalled = WIFSIGNALED(recorder->status);
        enum profile_ending ending = signalled ? PROFILE_SIGNALLED : PROFILE_EXITED;
        int code = signalled ? WTERMSIG(recorder->status) : WEXITSTATUS(recorder->status);
        if (session->replaced)
            ending = PROFILE_REPLACED;
        else if (!root)
            record_session_find_ending(session, &ending, &code);
        end_session(recorder, i, ending, code);
    }
}

// Sleeps until a process connects or ends, or the time is up: nothing signals new records.
static void rest(const struct recorder *recorder, int longest_ms)
{
    struct pollfd polls[2] = {
        {.fd = recorder->listener, .events = POLLIN},
        {.fd = recorder->program_ended ? -1 : recorder->program_fd, .events = POLLIN}};
    poll(polls, 2, longest_ms);
}

// Returns true while more records may come: until the program and all recorded processes have
// ended, or the user interrupts. For processes that have not used CUDA yet it waits only briefly,
// and only once: they may never use it, and never end.
static bool goes_on(struct recorder *recorder)
{
    if (!recorder->program_ended)
        return true;
    if (asked_to_end)
        return false;
    if (recorder->session_count)
        return true;
    recorder->outcome->left_behind = record_remaining_processes(recorder->address.sun_path);
    recorder->waited_ms += LONGEST_MS;
    return recorder->outcome->left_behind && recorder->waited_ms < PATIENCE_MS;
}

static void record_all(struct recorder *recorder)
{
    int sleep_ms = SHORTEST_MS;
    while (goes_on(recorder)) {
        uint32_t count = drain_all(recorder);
        // Reading every record at once would move the ring's cache lines back and forth, and keep a
        // processor busy.
        if (count < AT_ONCE)
            rest(recorder, sleep_ms);
        sleep_ms = count ? SHORTEST_MS : sleep_ms < LONGEST_MS / 2 ? 2 * sleep_ms : LONGEST_MS;
        look_for_ends(recorder);
    }
    while (recorder->session_count)
        end_session(recorder, 0, PROFILE_RECORDER_LOST, 0);
}

enum base_code record_run(const struct record_request *request, struct record_outcome *outcome,
                          struct base_error *error)
{
    struct recorder *recorder = calloc(1, sizeof(*recorder));
    BASE_RETURN_IF_NO_MEMORY(!recorder, error);
    *outcome = (struct record_outcome){0};
    recorder->request = request;
    recorder->for_sessions = *request;
    recorder->for_sessions.progress = meanwhile;
    recorder->for_sessions.user = recorder;
    recorder->outcome = outcome;
    recorder->listener = recorder->program_fd = -1;
    struct sigaction old[HANDLED];
    asked_to_end = 0;
    set_handlers(old);
    enum base_code code = reserve_output(recorder, error);
    if (code == BASE_OK)
        code = open_socket(recorder, error);
    if (code == BASE_OK)
        code = start_program(recorder, old, error);
    if (code == BASE_OK) {
        asked_to_end = 0;
        record_all(recorder);
    }
    if (!outcome->profile_count)
        record_unseen_tell(&recorder->unseen, &outcome->why);
    record_unseen_tell_captured(&recorder->unseen, &outcome->captured);
    record_unseen_fini(&recorder->unseen);
    outcome->status = recorder->status;
    outcome->interrupted = asked_to_end != 0;
    put_back_handlers(old);
    if (recorder->listener >= 0)
        close(recorder->listener);
    if (recorder->program_fd >= 0)
        close(recorder->program_fd);
    base_scratch_remove(&recorder->folder);
    profile_release(recorder->place); // the program has not used CUDA
    free(recorder->output);
    free(recorder);
    return code;
}

void record_outcome_fini(struct record_outcome *outcome)
{
    for (uint32_t i = 0; i < outcome->profile_count; i++)
        free(outcome->profiles[i].path);
    for (uint32_t i = 0; i < outcome->why.unloaded_count; i++)
        free(outcome->why.unloaded[i].path);
    free(outcome->profiles);
    free(outcome->output_instead);
    *outcome = (struct record_outcome){0};
}
