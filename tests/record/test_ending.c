// SPDX-License-Identifier: Apache-2.0
// How a process ended is recorded exactly until its parent waits for it, and never guessed
// afterwards.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record/session.h"

// Makes a child that exits with the status, or dies by signal -status if it is negative. It has
// ended, but nothing has waited for it.
static struct record_session ended_child(int status)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        if (status < 0)
            kill(getpid(), -status);
        _exit(status);
    }
    struct record_session session = {.pid = pid, .pidfd = (int)syscall(SYS_pidfd_open, pid, 0)};
    assert_true(session.pidfd >= 0);
    siginfo_t about;
    assert_int_equal(waitid(P_PID, (id_t)pid, &about, WEXITED | WNOWAIT), 0);
    return session;
}

static void assert_ending(const struct record_session *session, enum profile_ending wanted,
                          int number)
{
    enum profile_ending ending = PROFILE_RECORDER_LOST;
    int code = -1;
    record_session_find_ending(session, &ending, &code);
    assert_int_equal(ending, wanted);
    assert_int_equal(code, number);
}

static void the_end_is_known_before_the_parent_asks(void **state)
{
    (void)state;
    struct record_session session = ended_child(0);
    assert_ending(&session, PROFILE_EXITED, 0);
    assert_int_equal(waitpid(session.pid, NULL, 0), session.pid);
    close(session.pidfd);
    session = ended_child(37);
    assert_ending(&session, PROFILE_EXITED, 37);
    assert_int_equal(waitpid(session.pid, NULL, 0), session.pid);
    close(session.pidfd);
    session = ended_child(-SIGKILL);
    assert_ending(&session, PROFILE_SIGNALLED, SIGKILL);
    assert_int_equal(waitpid(session.pid, NULL, 0), session.pid);
    close(session.pidfd);
}

static void after_that_it_is_known_or_said_not_to_be(void **state)
{
    (void)state;
    struct record_session session = ended_child(37);
    assert_int_equal(waitpid(session.pid, NULL, 0), session.pid);
    enum profile_ending ending;
    int code;
    record_session_find_ending(&session, &ending, &code);
    if (ending == PROFILE_EXITED) // since Linux 6.15
        assert_int_equal(code, 37);
    else
        assert_int_equal(ending, PROFILE_ENDED);
    close(session.pidfd);
    session.pidfd = -1; // the process had ended before the recorder opened it
    assert_ending(&session, PROFILE_ENDED, 0);
}

static void a_living_process_has_no_end(void **state)
{
    (void)state;
    struct record_session session = {.pid = getpid(),
                                     .pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0)};
    assert_true(session.pidfd >= 0);
    assert_ending(&session, PROFILE_ENDED, 0);
    close(session.pidfd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_end_is_known_before_the_parent_asks),
        cmocka_unit_test(after_that_it_is_known_or_said_not_to_be),
        cmocka_unit_test(a_living_process_has_no_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
