// SPDX-License-Identifier: Apache-2.0
// Builds with assertions abort if a thread takes locks in the wrong order.
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "gpusim/locks.h"

static pthread_mutex_t locks[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};

// Takes two locks of these ranks in a child, and returns the signal that ended it, or 0.
static int signal_after(enum gpusim_rank first, enum gpusim_rank second)
{
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        const struct rlimit no_core = {0, 0};
        setrlimit(RLIMIT_CORE, &no_core);
        signal(SIGABRT, SIG_DFL);
        close(STDERR_FILENO);
        gpusim_lock(&locks[0], first);
        gpusim_lock(&locks[1], second);
        gpusim_unlock(&locks[0], first); // in any order
        gpusim_unlock(&locks[1], second);
        gpusim_lock(&locks[0], first);
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void locks_are_taken_by_rising_rank(void **state)
{
    (void)state;
    assert_int_equal(signal_after(GPUSIM_RANK_REGISTRY, GPUSIM_RANK_RUNTIME), 0);
    assert_int_equal(signal_after(GPUSIM_RANK_DEVICE, GPUSIM_RANK_LOG), 0);
}

static void a_lower_or_equal_rank_aborts(void **state)
{
    (void)state;
#ifdef NDEBUG
    skip();
#endif
    assert_int_equal(signal_after(GPUSIM_RANK_LOG, GPUSIM_RANK_DEVICE), SIGABRT);
    assert_int_equal(signal_after(GPUSIM_RANK_DRIVER, GPUSIM_RANK_DRIVER), SIGABRT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(locks_are_taken_by_rising_rank),
        cmocka_unit_test(a_lower_or_equal_rank_aborts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
