// SPDX-License-Identifier: Apache-2.0
// Creating and finishing a profile: errors, files that remain beside it, readers at the same time,
// and a full disk.
#include "testing.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "profile/sweep.h"
#include "sample.h"

static void put_file(const char *suffix, const char *text)
{
    char name[128];
    snprintf(name, sizeof(name), "%s%s", test_path, suffix);
    FILE *file = fopen(name, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static unsigned files_in_folder(void)
{
    char command[128];
    snprintf(command, sizeof(command), "ls -A %s | wc -l", test_folder);
    FILE *pipe = popen(command, "r"); // NOLINT: the name is ours
    unsigned count = 0;
    assert_int_equal(fscanf(pipe, "%u", &count), 1); // NOLINT
    pclose(pipe);
    return count;
}

static void a_finished_profile_is_one_file(void **state)
{
    (void)state;
    struct base_error error = {0};
    check_good(sample_write(test_path, &error), &error);
    assert_int_equal(files_in_folder(), 1);
    FILE *file = fopen(test_path, "rb");
    unsigned char head[20];
    assert_int_equal(fread(head, 1, sizeof(head), file), sizeof(head));
    fclose(file);
    assert_int_equal(head[18], 1); // it has no log
    assert_int_equal(chmod(test_folder, 0555), 0);
    struct profile *profile;
    check_good(profile_open(test_path, &profile, &error), &error);
    profile_close(profile);
    assert_int_equal(chmod(test_folder, 0755), 0);
    assert_int_equal(files_in_folder(), 1);
}

static sqlite3_stmt *rows_of(sqlite3 *db)
{
    sqlite3_stmt *rows;
    assert_int_equal(sqlite3_prepare_v2(db,
                                        "SELECT sql, type, name, tbl_name, rootpage = 0 FROM "
                                        "sqlite_master WHERE sql NOT NULL ORDER BY rowid",
                                        -1, &rows, NULL),
                     SQLITE_OK);
    return rows;
}

// Views are entered past SQLite, which must make the same of their texts.
static void views_are_those_that_sqlite_makes(void **state)
{
    (void)state;
    struct base_error error = {0};
    struct profile_writer *writer;
    sqlite3 *profile, *other;
    check_good(profile_create(test_path, false, &writer, &error), &error);
    check_good(profile_finish(writer, PROFILE_EXITED, 0, &error), &error);
    assert_int_equal(sqlite3_open(test_path, &profile), SQLITE_OK);
    assert_int_equal(sqlite3_open(":memory:", &other), SQLITE_OK);
    sqlite3_stmt *rows = rows_of(profile);
    while (sqlite3_step(rows) == SQLITE_ROW)
        assert_int_equal(
            sqlite3_exec(other, (const char *)sqlite3_column_text(rows, 0), NULL, NULL, NULL),
            SQLITE_OK);
    sqlite3_reset(rows);
    sqlite3_stmt *wanted = rows_of(other);
    unsigned views = 0;
    while (sqlite3_step(rows) == SQLITE_ROW) {
        assert_int_equal(sqlite3_step(wanted), SQLITE_ROW);
        for (int i = 0; i < 5; i++)
            assert_string_equal((const char *)sqlite3_column_text(rows, i),
                                (const char *)sqlite3_column_text(wanted, i));
        views += strcmp((const char *)sqlite3_column_text(rows, 1), "view") == 0;
    }
    assert_int_equal(sqlite3_step(wanted), SQLITE_DONE);
    assert_true(views >= 59);
    sqlite3_finalize(rows);
    sqlite3_finalize(wanted);
    assert_int_equal(sqlite3_prepare_v2(profile, "PRAGMA integrity_check", -1, &rows, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_step(rows), SQLITE_ROW);
    assert_string_equal((const char *)sqlite3_column_text(rows, 0), "ok");
    sqlite3_finalize(rows);
    sqlite3_close(profile);
    sqlite3_close(other);
}

static void an_old_file_stays_unless_it_may_be_replaced(void **state)
{
    (void)state;
    struct base_error error = {0};
    struct profile_writer *writer;
    put_file("", "precious");
    put_file("-wal", "stale");
    check_bad(profile_create(test_path, false, &writer, &error), BASE_CONFLICT, &error,
              "a.glint already exists");
    assert_null(writer);
    assert_int_equal(files_in_folder(), 2);
    check_good(profile_create(test_path, true, &writer, &error), &error);
    check_good(profile_finish(writer, PROFILE_EXITED, 0, &error), &error);
    assert_int_equal(files_in_folder(), 1);
    struct profile *profile;
    check_good(profile_open(test_path, &profile, &error), &error);
    profile_close(profile);
}

static void what_an_older_profile_left_is_not_taken_for_ours(void **state)
{
    (void)state;
    struct base_error error = {0};
    struct profile_writer *writer;
    // The log of an unfinished profile whose file was deleted.
    check_good(profile_create(test_path, false, &writer, &error), &error);
    check_good(profile_add_note(writer, &sample_notes[0], &error), &error);
    profile_abandon(writer);
    assert_true(is_there("-wal"));
    unlink(test_path);
    check_good(profile_create(test_path, false, &writer, &error), &error);
    profile_abandon(writer);
    struct profile *profile;
    check_good(profile_open(test_path, &profile, &error), &error);
    check_query(profile, "SELECT count(*) FROM v_notes", "0\n");
    check_query(profile, "PRAGMA integrity_check", "ok\n");
    profile_close(profile);
}

// The program of another container, or one that is about to remove the file, has the name.
static void a_temporary_name_that_is_used_is_left_alone(void **state)
{
    (void)state;
    struct base_error error = {0};
    char suffix[32];
    snprintf(suffix, sizeof(suffix), PROFILE_NEW_SUFFIX "%d", (int)gettid());
    put_file(suffix, "");
    char name[128];
    snprintf(name, sizeof(name), "%s%s", test_path, suffix);
    const int others = open(name, O_RDWR);
    assert_true(profile_lock(others));
    put_file("", "old");
    struct profile_place *place = NULL;
    bool taken = true;
    check_good(profile_reserve(test_path, true, &place, &taken, &error), &error);
    assert_false(taken);
    assert_int_equal(files_in_folder(), 3);
    profile_release(place);
    assert_true(is_there(suffix));
    assert_int_equal(files_in_folder(), 2);
    close(others);
    // Nobody uses it now.
    check_good(profile_reserve(test_path, true, &place, &taken, &error), &error);
    profile_release(place);
    assert_false(is_there(suffix));
}

enum { RESERVERS = 2, SWEEPERS = 2, RESERVED = 1000 };

// Reserves the name often; another process may have it, but nothing else may fail.
static int reserve_often(void)
{
    unsigned had = 0;
    for (unsigned i = 0; i < RESERVED; i++) {
        struct base_error error = {0};
        struct profile_place *place;
        bool taken;
        const enum base_code code = profile_reserve(test_path, true, &place, &taken, &error);
        if (code != BASE_OK && !taken) {
            fprintf(stderr, "%s\n", error.text[0]);
            return 1;
        }
        had += code == BASE_OK;
        profile_release(place);
    }
    return had ? 0 : 2;
}

static void those_that_sweep_do_not_disturb_those_that_reserve(void **state)
{
    (void)state;
    pid_t reservers[RESERVERS], sweepers[SWEEPERS];
    put_file("", "old");
    const pid_t parent = getpid();
    for (unsigned i = 0; i < SWEEPERS; i++) {
        sweepers[i] = fork();
        if (sweepers[i] == 0) {
            while (getppid() == parent) // until it is killed, or the test ends
                profile_sweep(test_path);
            _exit(0);
        }
    }
    for (unsigned i = 0; i < RESERVERS; i++) {
        reservers[i] = fork();
        if (reservers[i] == 0)
            _exit(reserve_often());
    }
    int results[RESERVERS];
    for (unsigned i = 0; i < RESERVERS; i++)
        assert_int_equal(waitpid(reservers[i], &results[i], 0), reservers[i]);
    for (unsigned i = 0; i < SWEEPERS; i++) {
        kill(sweepers[i], SIGKILL);
        waitpid(sweepers[i], NULL, 0);
    }
    for (unsigned i = 0; i < RESERVERS; i++)
        assert_int_equal(results[i], 0);
    profile_sweep(test_path);
    assert_int_equal(files_in_folder(), 1);
}

static void places_that_cannot_be_written_are_named(void **state)
{
    (void)state;
    struct base_error error = {0};
    struct profile_writer *writer;
    char path[160];
    snprintf(path, sizeof(path), "%s/none/a.glint", test_folder);
    check_bad(profile_create(path, false, &writer, &error), BASE_IO, &error,
              "none/a.glint: No such file or directory");
    put_file("", "a file");
    snprintf(path, sizeof(path), "%s/b.glint", test_path);
    check_bad(profile_create(path, false, &writer, &error), BASE_IO, &error,
              "a.glint/b.glint: Not a directory");
    check_bad(profile_create(test_folder, false, &writer, &error), BASE_CONFLICT, &error,
              "is a folder");
    check_bad(profile_create(test_folder, true, &writer, &error), BASE_CONFLICT, &error,
              "is a folder");
    check_bad(profile_create("/proc/a.glint", false, &writer, &error), BASE_IO, &error,
              "cannot write /proc/a.glint: ");
    assert_int_equal(files_in_folder(), 1);
}

static void names_that_mean_something_to_sqlite_are_names(void **state)
{
    (void)state;
    struct base_error error = {0};
    static const char *const names[] = {":memory:", "file:a?mode=memory", "a%41?#b.glint", " "};
    int here = open(".", O_RDONLY | O_DIRECTORY);
    assert_int_equal(chdir(test_folder), 0);
    for (unsigned i = 0; i < SAMPLE_COUNT(names); i++) {
        struct profile_writer *writer;
        struct profile *profile;
        check_good(profile_create(names[i], false, &writer, &error), &error);
        check_good(profile_add_note(writer, &sample_notes[0], &error), &error);
        profile_abandon(writer);
        check_good(profile_open(names[i], &profile, &error), &error);
        check_query(profile, "SELECT count(*) FROM v_notes", "1\n");
        profile_close(profile);
        // The same for the log alone, which takes another code path.
        char log[64];
        snprintf(log, sizeof(log), "%s-wal", names[i]);
        assert_int_equal(unlink(log), 0);
        check_good(profile_open(names[i], &profile, &error), &error);
        profile_close(profile);
        assert_int_equal(access(log, F_OK), -1);
    }
    assert_int_equal(fchdir(here), 0);
    close(here);
}

static void a_reader_sees_one_moment_of_a_profile_that_grows(void **state)
{
    (void)state;
    struct base_error error = {0};
    struct profile_writer *writer;
    check_good(profile_create(test_path, false, &writer, &error), &error);
    check_good(profile_add_note(writer, &sample_notes[0], &error), &error);
    check_good(profile_commit(writer, &error), &error);
    struct profile *early, *late;
    check_good(profile_open(test_path, &early, &error), &error);
    assert_false(profile_meta(early)->complete);
    assert_int_equal(profile_meta(early)->ending, PROFILE_RECORDER_LOST);
    check_good(profile_add_note(writer, &sample_notes[1], &error), &error);
    check_query(early, "SELECT count(*) FROM v_notes", "1\n");
    // Written rows are safe after 50 ms if profile_tick is called.
    usleep(60000);
    check_good(profile_tick(writer, &error), &error);
    check_good(profile_open(test_path, &late, &error), &error);
    check_query(late, "SELECT count(*) FROM v_notes", "2\n");
    check_query(early, "SELECT count(*) FROM v_notes", "1\n");
    // A reader does not block the writer from finishing; the log stays for the reader.
    check_good(profile_finish(writer, PROFILE_EXITED, 0, &error), &error);
    check_query(early, "SELECT count(*) FROM v_notes", "1\n");
    profile_close(early);
    profile_close(late);
    check_good(profile_open(test_path, &late, &error), &error);
    assert_true(profile_meta(late)->complete);
    check_query(late, "SELECT count(*) FROM v_notes", "2\n");
    profile_close(late);
}

// --- A full disk ---------------------------------------------------------------------------------

// Writes until it fails. The exit status describes the failure.
enum { FULL_RIGHT = 0, FULL_WRONG_ERROR = 1, FULL_NOT_STEADY = 2, FULL_NEVER = 3, FULL_SKIP = 77 };

static int write_until_full(const char *path, const char *words)
{
    struct base_error error = {0}, again = {0};
    struct profile_writer *writer;
    if (profile_create(path, true, &writer, &error) != BASE_OK)
        return FULL_WRONG_ERROR;
    for (uint64_t i = 1; i < 1000000; i++) {
        struct profile_call call = {.number = i, .kind = PROFILE_CALL_SYNC, .sync = {i, 1, 1}};
        enum base_code code = profile_add_call(writer, &call, &error);
        if (i == 1000) {
            // These rows are safe.
            if (profile_commit(writer, &error) != BASE_OK)
                return FULL_WRONG_ERROR;
        }
        if (code == BASE_OK)
            continue;
        if (code != BASE_IO || !strstr(error.text[0], words))
            return FULL_WRONG_ERROR;
        bool steady = profile_add_note(writer, &sample_notes[0], &again) == BASE_IO &&
                      strcmp(error.text[0], again.text[0]) == 0 &&
                      profile_finish(writer, PROFILE_EXITED, 0, &again) == BASE_IO;
        return steady ? FULL_RIGHT : FULL_NOT_STEADY;
    }
    return FULL_NEVER;
}

static void what_was_safe_is_read_when_a_limit_is_reached(void **state)
{
    (void)state;
    pid_t child = fork();
    if (child == 0) {
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){4 << 20, 4 << 20});
        _exit(write_until_full(test_path, "a.glint: File too large"));
    }
    int status;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
    struct base_error error = {0};
    struct profile *profile;
    check_good(profile_open(test_path, &profile, &error), &error);
    assert_false(profile_meta(profile)->complete);
    check_query(profile, "SELECT count(*) >= 1000, max(number) = count(*) FROM v_calls", "1|1\n");
    check_query(profile, "SELECT count(*) FROM v_syncs WHERE event IS NOT call", "0\n");
    check_query(profile, "PRAGMA integrity_check", "ok\n");
    profile_close(profile);
}

static void write_text(const char *path, const char *text)
{
    int file = open(path, O_WRONLY | O_CLOEXEC);
    if (file >= 0 && write(file, text, strlen(text)) < 0)
        perror(path);
    close(file);
}

// Whether this process can mount in a private mount namespace: as root, or in a new user namespace.
static bool may_mount(void)
{
    char map[32];
    snprintf(map, sizeof(map), "0 %d 1", (int)getuid());
    if (unshare(CLONE_NEWNS) == 0)
        return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
        return false;
    write_text("/proc/self/uid_map", map);
    return true;
}

static int fill_a_disk(void)
{
    char path[128];
    if (!may_mount())
        return FULL_SKIP;
    if (mount("none", test_folder, "tmpfs", 0, "size=3m") != 0)
        return FULL_SKIP;
    snprintf(path, sizeof(path), "%s/full.glint", test_folder);
    int result = write_until_full(path, "full.glint: No space left on device");
    if (result != FULL_RIGHT)
        return result;
    struct profile *profile;
    if (profile_open(path, &profile, NULL) != BASE_OK)
        return 10;
    check_query(profile, "SELECT count(*) >= 1000, max(number) = count(*) FROM v_calls", "1|1\n");
    profile_close(profile);
    // A disk that is full from the start.
    snprintf(path, sizeof(path), "%s/other.glint", test_folder);
    struct base_error error = {0};
    struct profile_writer *writer;
    if (profile_create(path, false, &writer, &error) != BASE_IO || access(path, F_OK) == 0)
        return 11;
    return strstr(error.text[0], "No space left on device") ? 0 : 12;
}

static void what_was_safe_is_read_when_the_disk_is_full(void **state)
{
    (void)state;
    pid_t child = fork();
    if (child == 0)
        _exit(fill_a_disk());
    int status;
    waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == FULL_SKIP)
        skip();
    assert_int_equal(status, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)
    const struct CMUnitTest tests[] = {
        TEST(a_finished_profile_is_one_file),
        TEST(views_are_those_that_sqlite_makes),
        TEST(an_old_file_stays_unless_it_may_be_replaced),
        TEST(what_an_older_profile_left_is_not_taken_for_ours),
        TEST(a_temporary_name_that_is_used_is_left_alone),
        TEST(those_that_sweep_do_not_disturb_those_that_reserve),
        TEST(places_that_cannot_be_written_are_named),
        TEST(names_that_mean_something_to_sqlite_are_names),
        TEST(a_reader_sees_one_moment_of_a_profile_that_grows),
        TEST(what_was_safe_is_read_when_a_limit_is_reached),
        TEST(what_was_safe_is_read_when_the_disk_is_full),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
