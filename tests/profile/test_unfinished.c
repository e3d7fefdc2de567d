// SPDX-License-Identifier: Apache-2.0
// Reading an unfinished profile changes no file. If its writer used a rollback journal and was
// killed, a copy is recovered; if it is still being written, the reader sees one moment.
#include "testing.h"

#include <signal.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "profile/writer.h"
#include "sample.h"

// All files of the test's folder with their contents, for comparison. The caller frees it.
static char *files(size_t *length)
{
    struct base_buf all = {0};
    char command[128];
    snprintf(command, sizeof(command), "cd %s && for f in *; do echo \"$f\"; cat \"$f\"; done",
             test_folder);
    FILE *pipe = popen(command, "r"); // NOLINT: the names are ours
    assert_non_null(pipe);
    char piece[1 << 16];
    for (size_t got; (got = fread(piece, 1, sizeof(piece), pipe)) > 0;)
        base_buf_add(&all, piece, got);
    pclose(pipe);
    assert_false(all.failed);
    *length = all.length;
    return all.text;
}

static void check_unchanged(char *before, size_t length)
{
    size_t now = 0;
    char *after = files(&now);
    assert_int_equal(now, length);
    assert_memory_equal(after, before, length);
    free(after);
    free(before);
}

// Leaves a profile as a recorder writes it where SQLite cannot use a log, killed in a transaction
// that has reached the file.
static void leave_a_journal(void)
{
    struct base_error error = {0};
    check_good(sample_write(test_path, &error), &error);
    pid_t child = fork();
    if (child == 0) {
        sqlite3 *db;
        const bool good = sqlite3_open(test_path, &db) == SQLITE_OK &&
                          sqlite3_exec(db,
                                       "PRAGMA journal_mode=DELETE; PRAGMA synchronous=OFF;"
                                       "UPDATE meta SET complete=0, ending=0, code=NULL;"
                                       "PRAGMA cache_size=1; BEGIN;"
                                       "UPDATE calls SET start=77; UPDATE strings SET text='x';"
                                       "UPDATE objects SET bytes=1; UPDATE frames SET line=1;"
                                       "CREATE TABLE more AS WITH n(i) AS (SELECT 1 UNION ALL "
                                       "SELECT i+1 FROM n LIMIT 5000) SELECT i, hex(i) FROM n",
                                       NULL, NULL, NULL) == SQLITE_OK;
        if (good)
            raise(SIGKILL);
        _exit(1);
    }
    int status;
    waitpid(child, &status, 0);
    assert_true(WIFSIGNALED(status));
    assert_true(is_there("-journal"));
}

static void a_killed_writers_journal_is_played_in_a_copy(void **state)
{
    (void)state;
    struct base_error error = {0};
    struct profile *profile;
    size_t length;
    leave_a_journal();
    char *before = files(&length);
    check_good(profile_open(test_path, &profile, &error), &error);
    check_query(profile, "PRAGMA integrity_check", "ok\n");
    check_query(profile,
                "SELECT complete, (SELECT count(*) FROM v_calls WHERE start_ns=77) FROM v_meta",
                "0|0\n");
    check_query(profile, "SELECT count(*) FROM strings WHERE text='x'", "0\n");
    profile_close(profile);
    check_unchanged(before, length);
}

static void the_copy_goes_away(void **state)
{
    (void)state;
    struct base_error error = {0};
    struct profile *profile;
    char folder[96];
    leave_a_journal();
    snprintf(folder, sizeof(folder), "%s/tmp", test_folder);
    assert_int_equal(mkdir(folder, 0755), 0);
    setenv("TMPDIR", folder, 1);
    check_good(profile_open(test_path, &profile, &error), &error);
    assert_int_equal(rmdir(folder), 0);
    check_query(profile, "PRAGMA integrity_check", "ok\n"); // reads the whole file nevertheless
    profile_close(profile);
    check_bad(profile_open(test_path, &profile, &error), BASE_IO, &error, "cannot create a folder");
    unsetenv("TMPDIR");
}

// Writes with a checkpoint after every commit until it is killed, slowly enough that a slow reader
// finds at most a few thousand calls.
static void write_on(int ready)
{
    struct base_error error = {0};
    struct profile_writer *writer;
    if (profile_create(test_path, true, &writer, &error) != BASE_OK)
        _exit(1);
    writer->wal_step_pages = writer->wal_limit_pages = 8;
    for (uint64_t number = 1;; number++) {
        const struct profile_call call = {
            .number = number, .kind = PROFILE_CALL_SYNC, .sync = {number, 1, 1}};
        if (profile_add_call(writer, &call, &error) != BASE_OK)
            _exit(2);
        if (number % 100 == 0 && profile_commit(writer, &error) != BASE_OK)
            _exit(3);
        if (number % 100 == 0)
            usleep(number < 1000 ? 0 : 5000);
        if (number == 100000) // the reader is gone
            _exit(5);
        if (number == 1000 && write(ready, "", 1) != 1)
            _exit(4);
    }
}

static void what_is_being_written_is_read_at_one_moment(void **state)
{
    (void)state;
    struct base_error error = {0};
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0)
        write_on(ready[1]);
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    for (int i = 0; i < 30; i++) {
        struct profile *profile;
        check_good(profile_open(test_path, &profile, &error), &error);
        check_query(profile,
                    "SELECT count(*) >= 1000, count(*) = max(number), count(*) % 100 FROM v_calls",
                    "1|1|0\n");
        check_query(profile, "SELECT count(*) FROM v_syncs WHERE event IS NOT call", "0\n");
        check_query(profile, "PRAGMA integrity_check", "ok\n");
        profile_close(profile);
    }
    int status;
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    assert_true(WIFSIGNALED(status)); // the reader did not block it
}

static void an_unfinished_profile_is_read_where_nothing_can_be_written(void **state)
{
    (void)state;
    struct base_error error = {0};
    struct profile_writer *writer;
    check_good(profile_create(test_path, false, &writer, &error), &error);
    check_good(sample_add(writer, &error), &error);
    profile_abandon(writer);
    for (int with_shm = 1; with_shm >= 0; with_shm--) {
        struct profile *profile;
        size_t length;
        char *before = files(&length);
        assert_int_equal(chmod(test_folder, 0555), 0);
        check_good(profile_open(test_path, &profile, &error), &error);
        check_query(profile, "SELECT count(*) FROM v_calls", "15\n");
        profile_close(profile);
        assert_int_equal(chmod(test_folder, 0755), 0);
        check_unchanged(before, length);
        char shm[128];
        snprintf(shm, sizeof(shm), "%s-shm", test_path);
        assert_int_equal(unlink(shm), with_shm ? 0 : -1);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)
    const struct CMUnitTest tests[] = {
        TEST(a_killed_writers_journal_is_played_in_a_copy),
        TEST(the_copy_goes_away),
        TEST(what_is_being_written_is_read_at_one_moment),
        TEST(an_unfinished_profile_is_read_where_nothing_can_be_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
