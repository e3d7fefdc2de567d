// SPDX-License-Identifier: Apache-2.0
// Users' SQL can only read, gets a message if it is wrong, and can be interrupted.
#include "testing.h"

#include <pthread.h>

#include "sample.h"

static struct profile *profile;

static int open_sample(void **state)
{
    struct base_error error = {0};
    if (make_folder(state) != 0)
        return -1;
    check_good(sample_write(test_path, &error), &error);
    check_good(profile_open(test_path, &profile, &error), &error);
    return 0;
}

static int close_sample(void **state)
{
    profile_close(profile);
    return remove_folder(state);
}

static bool no_columns(void *user, unsigned count, const char *const *names)
{
    (void)count;
    (void)names;
    *(bool *)user = true;
    return true;
}

static bool no_row(void *user, unsigned count, const struct profile_cell *cells)
{
    (void)count;
    (void)cells;
    *(bool *)user = true;
    return true;
}

// The query is rejected before it has any effect.
static void check_refused(const char *sql, const char *words)
{
    struct base_error error = {0};
    bool called = false;
    struct profile_sink sink = {no_columns, no_row, &called};
    check_bad(profile_query(profile, sql, &sink, &error), BASE_INVALID, &error, words);
    assert_false(called);
}

static void statements_that_change_something_are_refused(void **state)
{
    (void)state;
    char *before, *after;
    size_t length_before, length_after;
    struct base_error error = {0};
    check_good(base_file_read(test_path, &before, &length_before, &error), &error);
    check_refused("DELETE FROM calls", "profiles are read-only: the statement would change rows");
    check_refused("UPDATE meta SET complete=0", "would change rows");
    check_refused("INSERT INTO strings VALUES(1000,'x')", "would change rows");
    check_refused("UPDATE sqlite_master SET sql=''", "table sqlite_master may not be modified");
    check_refused("DROP TABLE calls", "would change");
    check_refused("CREATE TABLE x(a)", "would change");
    check_refused("CREATE TEMP TABLE x AS SELECT 1", "would change");
    check_refused("CREATE TEMP VIEW x AS SELECT 1", "would change");
    check_refused("ATTACH '/tmp/glint-other.db' AS other", "would attach or detach a database");
    check_refused("DETACH main", "would attach or detach a database");
    check_refused("VACUUM INTO '/tmp/glint-other.db'", "profiles are read-only");
    check_refused("PRAGMA journal_mode=WAL", "would use that pragma");
    check_refused("PRAGMA user_version=5", "would use that pragma");
    check_refused("PRAGMA query_only=OFF", "would use that pragma");
    check_refused("COMMIT", "would begin or end a transaction");
    check_refused("SAVEPOINT a", "would begin or end a transaction");
    check_refused("SELECT load_extension('x')", "");
    check_refused("REINDEX", "would change");
    check_refused("ANALYZE", "would change");
    check_good(base_file_read(test_path, &after, &length_after, &error), &error);
    assert_int_equal(length_before, length_after);
    assert_memory_equal(before, after, length_after);
    assert_int_not_equal(access("/tmp/glint-other.db", F_OK), 0);
    free(before);
    free(after);
    // The profile can still be read.
    check_query(profile, "SELECT count(*) FROM v_calls", "15\n");
}

static void what_makes_no_sense_is_said(void **state)
{
    (void)state;
    check_refused("", "the query is empty");
    check_refused("  -- nothing\n", "the query is empty");
    check_refused("SELEC 1", "near \"SELEC\": syntax error");
    check_refused("SELECT * FROM v_nothing", "no such table: v_nothing");
    check_refused("SELECT nme FROM v_calls", "no such column: nme");
    check_refused("SELECT 1; SELECT 2", "the query has more than one statement");
    check_refused("SELECT 1; DELETE FROM calls", "the query has more than one statement");
    check_refused("SELECT 1; nonsense", "the query has more than one statement");
}

static void statements_may_end_in_blanks_and_comments(void **state)
{
    (void)state;
    check_query(profile, "SELECT 1;", "1\n");
    check_query(profile, "SELECT 1 ; ; -- done\n /* really */ ", "1\n");
    check_query(profile, "-- first\nSELECT 2", "2\n");
    check_query(profile, "PRAGMA user_version", "1018\n");
    check_query(profile, "SELECT value FROM v_program, json_each(arguments) WHERE key = 1",
                "--count\n");
    check_query(profile,
                "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<3)"
                " SELECT sum(i) FROM n",
                "6\n");
}

static bool cells_are_right(void *user, unsigned count, const struct profile_cell *cells)
{
    assert_int_equal(count, 5);
    assert_int_equal(cells[0].kind, PROFILE_CELL_NULL);
    assert_int_equal(cells[1].kind, PROFILE_CELL_INTEGER);
    assert_int_equal(cells[1].integer, INT64_MIN);
    assert_int_equal(cells[2].kind, PROFILE_CELL_REAL);
    assert_true(cells[2].real == 0.1);
    assert_int_equal(cells[3].kind, PROFILE_CELL_TEXT);
    assert_true(base_str_is(cells[3].bytes, "tëxt"));
    assert_int_equal(cells[4].kind, PROFILE_CELL_BLOB);
    assert_int_equal(cells[4].bytes.length, 3);
    assert_memory_equal(cells[4].bytes.text, "\0\1\xff", 3);
    *(bool *)user = true;
    return true;
}

static void cells_keep_their_kinds(void **state)
{
    (void)state;
    bool called = false;
    struct base_error error = {0};
    struct profile_sink sink = {text_columns, cells_are_right, &called};
    check_good(profile_query(profile, "SELECT NULL, -9223372036854775807-1, 0.1, 'tëxt', x'0001ff'",
                             &sink, &error),
               &error);
    assert_true(called);
}

static bool stop_after_ten(void *user, unsigned count, const struct profile_cell *cells)
{
    (void)count;
    (void)cells;
    return ++*(unsigned *)user < 10;
}

static const char forever[] =
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) SELECT i FROM n";

static void a_sink_can_stop(void **state)
{
    (void)state;
    unsigned rows = 0;
    struct base_error error = {0};
    struct profile_sink sink = {text_columns, stop_after_ten, &rows};
    check_good(profile_query(profile, forever, &sink, &error), &error);
    assert_int_equal(rows, 10);
}

static void *interrupt_soon(void *user)
{
    usleep(20000);
    profile_interrupt(user);
    return NULL;
}

static bool go_on(void *user, unsigned count, const struct profile_cell *cells)
{
    (void)user;
    (void)count;
    (void)cells;
    return true;
}

static void a_query_can_be_interrupted(void **state)
{
    (void)state;
    pthread_t thread;
    struct base_error error = {0};
    struct profile_sink sink = {text_columns, go_on, NULL};
    assert_int_equal(pthread_create(&thread, NULL, interrupt_soon, profile), 0);
    check_bad(profile_query(profile, forever, &sink, &error), BASE_IO, &error, "interrupted");
    pthread_join(thread, NULL);
    check_query(profile, "SELECT count(*) FROM v_calls", "15\n");
}

static void a_failure_in_the_middle_is_said(void **state)
{
    (void)state;
    struct base_error error = {0};
    struct profile_sink sink = {text_columns, go_on, NULL};
    check_bad(profile_query(profile, "SELECT abs(-9223372036854775807-1)", &sink, &error),
              BASE_INVALID, &error, "integer overflow");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_sample, close_sample)
    const struct CMUnitTest tests[] = {
        TEST(statements_that_change_something_are_refused),
        TEST(what_makes_no_sense_is_said),
        TEST(statements_may_end_in_blanks_and_comments),
        TEST(cells_keep_their_kinds),
        TEST(a_sink_can_stop),
        TEST(a_query_can_be_interrupted),
        TEST(a_failure_in_the_middle_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
