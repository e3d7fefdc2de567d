// SPDX-License-Identifier: Apache-2.0
// The order of locks: a thread that takes locks out of order aborts with the names of both locks.
// Only builds with assertions check the order.
#include "inject/util/ranks.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "inject/util/lock.h"

// Runs the function in a child. Returns its wait status, and what it wrote to standard error.
static int run(void (*function)(void), char *text, size_t room)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        dup2(ends[1], STDERR_FILENO);
        signal(SIGABRT, SIG_DFL); // cmocka's handler would report a failed test
        function();
        _exit(0);
    }
    close(ends[1]);
    size_t length = 0;
    for (ssize_t got = 1; got > 0; length += got > 0 ? (size_t)got : 0)
        got = read(ends[0], text + length, room - 1 - length);
    text[length] = '\0';
    close(ends[0]);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void wrong_order(void)
{
    pthread_mutex_t inner = PTHREAD_MUTEX_INITIALIZER;
    struct util_lock outer = {0};
    util_mutex_lock(&inner, RANK_MEMORY);
    util_lock_take(&outer, RANK_OBJECTS);
}

static void same_rank(void)
{
    struct util_lock one = {0}, other = {0};
    util_lock_take(&one, RANK_OBJECTS);
    util_lock_take(&other, RANK_OBJECTS);
}

static void right_order(void)
{
    pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER, inner = PTHREAD_MUTEX_INITIALIZER;
    struct util_lock middle = {0};
    for (int i = 0; i < 3; i++) { // releases in any order
        util_mutex_lock(&outer, RANK_STATE);
        util_lock_take(&middle, RANK_OBJECTS);
        util_mutex_unlock(&outer, RANK_STATE);
        if (util_mutex_trylock(&inner, RANK_MEMORY) != 0)
            abort();
        util_mutex_unlock(&inner, RANK_MEMORY);
        util_lock_give(&middle, RANK_OBJECTS);
    }
}

static void after_fork(void)
{
    pthread_mutex_t inner = PTHREAD_MUTEX_INITIALIZER, outer = PTHREAD_MUTEX_INITIALIZER;
    util_mutex_lock(&inner, RANK_MEMORY);
    util_ranks_forget();
    util_mutex_lock(&outer, RANK_STATE);
}

static void a_wrong_order_aborts_with_both_names(void **state)
{
    char text[256];
    (void)state;
    const int status = run(wrong_order, text, sizeof(text));
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    assert_string_equal(text, "glint: wrong order of locks: \"map of objects\" is taken while "
                              "\"allocator\" is held\n");
}

static void two_locks_of_one_rank_abort(void **state)
{
    char text[256];
    (void)state;
    const int status = run(same_rank, text, sizeof(text));
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    assert_string_equal(text, "glint: wrong order of locks: \"map of objects\" is taken while "
                              "\"map of objects\" is held\n");
}

static void the_right_order_passes(void **state)
{
    char text[256];
    (void)state;
    assert_int_equal(run(right_order, text, sizeof(text)), 0);
    assert_string_equal(text, "");
}

static void a_child_of_fork_holds_nothing(void **state)
{
    char text[256];
    (void)state;
    assert_int_equal(run(after_fork, text, sizeof(text)), 0);
    assert_string_equal(text, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#ifndef NDEBUG
        cmocka_unit_test(a_wrong_order_aborts_with_both_names),
        cmocka_unit_test(two_locks_of_one_rank_abort),
#endif
        cmocka_unit_test(the_right_order_passes),
        cmocka_unit_test(a_child_of_fork_holds_nothing),
    };
#ifdef NDEBUG
    (void)a_wrong_order_aborts_with_both_names;
    (void)two_locks_of_one_rank_abort;
#endif
    return cmocka_run_group_tests(tests, NULL, NULL);
}
