// SPDX-License-Identifier: Apache-2.0
// The recorder's main loop: accepts the rings of all processes that use CUDA, drains them in turn,
// and finishes a profile when its process has ended. It never stops the program.
#include "record.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "places.h"
#include "remaining.h"
#include "start.h"

enum {
    AT_ONCE = 4096,    // records read from one ring before the next ring is read
    SHORTEST_MS = 1,   // sleep if there were fewer records than that;
    LONGEST_MS = 10,   // doubled up to this while there are none
    PATIENCE_MS = 1000 // wait for processes that outlive the program and may still use CUDA
};

int64_t record_now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

// --- Sessions ------------------------------------------------------------------------------------

static uint32_t drain_all(struct recorder *recorder)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < recorder->session_count; i++)
        count += record_session_drain(recorder->sessions[i], AT_ONCE);
    return count;
}

static void accept_one(struct recorder *recorder, int connection)
{
    struct base_error error;
    size_t bytes = 0;
    struct record_process process = {0};
    struct timeval patience = {.tv_sec = 1};
    setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    struct event_ring *ring =
        event_ring_accept(connection, &bytes, &process.pid, &process.introduction, &error);
    if (!ring) {
        record_process_fini(&process);
        return;
    }
    record_process_read(&process);
    const int pid = process.pid;
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
    struct profile_place *place = record_find_place(recorder, &process, again, &path);
    struct record_session *session = NULL;
    if (!path.failed && recorder->session_count < RECORD_MOST_SESSIONS) {
        session =
            record_session_open(ring, bytes, &process, path.text, place, &recorder->for_sessions);
    } else {
        profile_release(place);
        event_ring_release(ring, bytes);
    }
    if (session)
        recorder->sessions[recorder->session_count++] = session;
    base_buf_fini(&path);
    record_process_fini(&process);
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
        record_unseen_look(&recorder->unseen, record_now_ns());
        if (waitid(P_PID, (id_t)recorder->program, &about, WEXITED | WNOHANG | WNOWAIT) == 0 &&
            about.si_pid)
            record_unseen_ended(&recorder->unseen, &recorder->outcome->why);
    }
    if (!recorder->program_ended && program_ends(recorder)) {
        recorder->program_ended = true;
        recorder->outcome->ran_ns = record_now_ns() - recorder->started_ns;
        record_signals_keep();
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
    if (record_signals_asked_to_end())
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
    struct sigaction old[RECORD_SIGNALS];
    record_signals_forget();
    record_signals_set(old);
    enum base_code code = record_reserve_output(recorder, error);
    if (code == BASE_OK)
        code = record_open_socket(recorder, error);
    if (code == BASE_OK)
        code = record_start_program(recorder, old, error);
    if (code == BASE_OK) {
        record_signals_forget();
        record_all(recorder);
    }
    if (!outcome->profile_count)
        record_unseen_tell(&recorder->unseen, &outcome->why);
    record_unseen_tell_captured(&recorder->unseen, &outcome->captured);
    record_unseen_fini(&recorder->unseen);
    outcome->status = recorder->status;
    outcome->interrupted = record_signals_asked_to_end() != 0;
    record_signals_put_back(old);
    if (recorder->listener >= 0)
        close(recorder->listener);
    if (recorder->program_fd >= 0)
        close(recorder->program_fd);
    base_scratch_remove(&recorder->folder);
    profile_release(recorder->place); // the program has not used CUDA
    free(recorder->output);
    free(recorder->wanted);
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
