// SPDX-License-Identifier: Apache-2.0
// Tests of temporary folders: whose owner is dead goes, and nothing else.
#include "testing.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/glint-test-scratch-XXXXXX";

static int make_folder(void **state)
{
    (void)state;
    memcpy(folder + strlen(folder) - 6, "XXXXXX", 6);
    return mkdtemp(folder) && setenv("TMPDIR", folder, 1) == 0 ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof(command), "rm -rf '%s'", folder);
    return system(command); // NOLINT: the name is ours
}

static void put_file(const char *path, const char *name)
{
    char file[256];
    snprintf(file, sizeof(file), "%s/%s", path, name);
    const int made = open(file, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    assert_true(made >= 0);
    close(made);
}

static bool is_there(const char *path)
{
    return access(path, F_OK) == 0;
}

// Makes a folder in a process that is then killed. The caller frees the path.
static char *leave_a_folder(bool with_keeper)
{
    int ends[2];
    char path[256] = "";
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
        struct base_scratch scratch;
        struct base_error error = {0};
        if (base_scratch_make("test", 0, &scratch, &error) != BASE_OK)
            _exit(1);
        put_file(scratch.path, "some file");
        char inner[256];
        snprintf(inner, sizeof(inner), "%s/inner", scratch.path);
        mkdir(inner, 0700);
        put_file(inner, "another");
        if (with_keeper)
            base_scratch_keep(&scratch, NULL, NULL);
        if (write(ends[1], scratch.path, strlen(scratch.path)) <= 0)
            _exit(3);
        pause();
        _exit(4);
    }
    assert_true(read(ends[0], path, sizeof(path) - 1) > 0);
    close(ends[0]);
    close(ends[1]);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    return strdup(path);
}

static void a_folder_is_private_and_goes(void **state)
{
    (void)state;
    struct base_scratch scratch;
    struct base_error error = {0};
    struct stat about;
    char path[256];
    assert_int_equal(base_scratch_make("test", 0, &scratch, &error), BASE_OK);
    assert_int_equal(stat(scratch.path, &about), 0);
    assert_int_equal(about.st_mode & 0777, 0700);
    assert_memory_equal(scratch.path, folder, strlen(folder));
    snprintf(path, sizeof(path), "%s", scratch.path);
    put_file(path, "some file");
    base_scratch_keep(&scratch, NULL, NULL);
    base_scratch_remove(&scratch);
    assert_false(is_there(path));
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); // the keeper is gone as well
    base_scratch_remove(&scratch);                    // there is none
}

static void the_next_one_removes_the_folder_of_the_dead(void **state)
{
    (void)state;
    struct base_scratch scratch, living;
    struct base_error error = {0};
    assert_int_equal(base_scratch_make("other", 0, &living, &error), BASE_OK);
    char *left = leave_a_folder(false);
    assert_true(is_there(left));
    assert_int_equal(base_scratch_make("test", 0, &scratch, &error), BASE_OK);
    assert_false(is_there(left));
    assert_true(is_there(living.path));
    base_scratch_remove(&scratch);
    base_scratch_remove(&living);
    free(left);
}

static void the_keeper_removes_the_folder_at_once(void **state)
{
    (void)state;
    prctl(PR_SET_CHILD_SUBREAPER, 1); // to wait for the keeper
    char *left = leave_a_folder(true);
    assert_true(waitpid(-1, NULL, 0) > 0);
    assert_false(is_there(left));
    free(left);
}

static void what_is_not_provably_dead_stays(void **state)
{
    (void)state;
    struct base_scratch scratch;
    struct base_error error = {0};
    static const struct {
        const char *name;
        mode_t mode;
        bool locked;
    } others[] = {
        {"glint-test-nolock", 0700, false}, // glint makes no such folder
        {"glint-test-opened", 0755, true},  // nor this one
        {"gliny-test-AAAAAA", 0700, true},
    };
    char path[3][256], link[256], lock[300];
    for (int i = 0; i < 3; i++) {
        snprintf(path[i], sizeof(path[i]), "%s/%s", folder, others[i].name);
        assert_int_equal(mkdir(path[i], 0700), 0);
        assert_int_equal(chmod(path[i], others[i].mode), 0);
        if (others[i].locked)
            put_file(path[i], BASE_SCRATCH_LOCK);
    }
    // A link to a folder that would be dead, and a lock that is a link.
    snprintf(link, sizeof(link), "%s/glint-test-linked", folder);
    assert_int_equal(symlink(path[2], link), 0);
    snprintf(lock, sizeof(lock), "%s/" BASE_SCRATCH_LOCK, path[0]);
    assert_int_equal(symlink("/dev/null", lock), 0);
    assert_int_equal(base_scratch_make("test", 0, &scratch, &error), BASE_OK);
    for (int i = 0; i < 3; i++)
        assert_true(is_there(path[i]));
    assert_true(is_there(link));
    snprintf(lock, sizeof(lock), "%s/" BASE_SCRATCH_LOCK, path[2]);
    assert_true(is_there(lock));
    base_scratch_remove(&scratch);
}

// A process can be killed while it makes or removes a folder. What another makes is held.
static void parts_of_folders_go_unless_they_are_held(void **state)
{
    (void)state;
    static const char *const names[] = {"glint-part-empty0", "glint-part-locked",
                                        "glint-part-filled", "glint-part-held00"};
    char path[4][256];
    struct base_scratch scratch;
    struct base_error error = {0};
    for (int i = 0; i < 4; i++) {
        snprintf(path[i], sizeof(path[i]), "%s/%s", folder, names[i]);
        assert_int_equal(mkdir(path[i], 0700), 0);
    }
    put_file(path[1], BASE_SCRATCH_LOCK);
    put_file(path[2], "some file");
    const int held = open(path[3], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(flock(held, LOCK_EX), 0);
    assert_int_equal(base_scratch_make("test", 0, &scratch, &error), BASE_OK);
    for (int i = 0; i < 4; i++)
        assert_int_equal(is_there(path[i]), i == 3);
    close(held);
    base_scratch_remove(&scratch);
}

// Many processes make and remove folders in the same place: none takes another's.
static void many_at_once_get_a_folder_each(void **state)
{
    (void)state;
    enum { PROCESSES = 8, FOLDERS = 100 };
    for (int i = 0; i < PROCESSES; i++) {
        if (fork() != 0)
            continue;
        for (int k = 0; k < FOLDERS; k++) {
            struct base_scratch scratch;
            struct base_error error = {0};
            if (base_scratch_make("test", 0, &scratch, &error) != BASE_OK)
                _exit(1);
            put_file(scratch.path, "some file");
            char inner[256];
            snprintf(inner, sizeof(inner), "%s/some file", scratch.path);
            if (!is_there(inner))
                _exit(2);
            base_scratch_remove(&scratch);
        }
        _exit(0);
    }
    for (int i = 0; i < PROCESSES; i++) {
        int status = 0;
        assert_true(waitpid(-1, &status, 0) > 0);
        assert_int_equal(status, 0);
    }
    assert_int_equal(rmdir(folder), 0); // nothing remained
    assert_int_equal(mkdir(folder, 0700), 0);
}

static void a_long_name_is_replaced_and_a_missing_folder_reported(void **state)
{
    (void)state;
    struct base_scratch scratch;
    struct base_error error = {0};
    assert_int_equal(base_scratch_make("test", 5, &scratch, &error), BASE_OK);
    assert_memory_equal(scratch.path, "/tmp/glint-test-", strlen("/tmp/glint-test-"));
    base_scratch_remove(&scratch);
    setenv("TMPDIR", "/nonexistent", 1);
    assert_int_equal(base_scratch_make("test", 0, &scratch, &error), BASE_IO);
    assert_null(scratch.path);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)
    const struct CMUnitTest tests[] = {
        TEST(a_folder_is_private_and_goes),
        TEST(the_next_one_removes_the_folder_of_the_dead),
        TEST(the_keeper_removes_the_folder_at_once),
        TEST(what_is_not_provably_dead_stays),
        TEST(parts_of_folders_go_unless_they_are_held),
        TEST(many_at_once_get_a_folder_each),
        TEST(a_long_name_is_replaced_and_a_missing_folder_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
