// SPDX-License-Identifier: Apache-2.0
// A writer that is killed at any moment leaves a profile that opens and contains at least all
// committed rows: with its log beside it, and as a copy without the log.
#include "testing.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#include "profile/writer.h"
#include "sample.h"

enum { KILLS = 100 };

// The writer reports its progress in shared memory.
struct progress {
    volatile uint64_t committed; // calls
    volatile bool finishing;
};

static void add_call(struct profile_writer *writer, uint64_t number, struct base_error *error)
{
    struct profile_call call = {.number = number,
                                .start_ns = (int64_t)number * 1000,
                                .end_ns = (int64_t)number * 1000 + 500,
                                .path = 1 + (uint32_t)(number % 50),
                                .kind = number % 3 ? PROFILE_CALL_LAUNCH : PROFILE_CALL_SYNC};
    if (number % 3)
        call.launch = (struct profile_launch){1, {(uint32_t)number % 64, 1, 1}, {32, 1, 1}, 0, 0};
    else
        call.sync = (struct profile_sync){number, 1, 1};
    if (profile_add_call(writer, &call, error) != BASE_OK)
        _exit(1);
    struct profile_object object = {.number = number, .kind = PROFILE_OBJECT_DEVICE};
    if (number % 4 == 0 && profile_add_object(writer, &object, error) != BASE_OK)
        _exit(1);
    struct profile_access access = {
        .call = number, .object = 1, .read = true, .elements = number / 7, .element_bytes = 4};
    if (number % 3 && profile_add_access(writer, &access, error) != BASE_OK)
        _exit(1);
    const unsigned char bits[2] = {0xa5, (unsigned char)number};
    struct profile_map map = {
        number / 512 + 1, number % 512 * 16, 8192, 4, PROFILE_MAP_TOUCHED, bits, 2};
    if (number % 2 && profile_add_map(writer, &map, error) != BASE_OK)
        _exit(1);
}

// Writes until it is killed, in rounds. Each round writes and finishes one profile.
static void write_on(struct progress *progress, uint64_t calls, int step_pages)
{
    struct base_error error = {0};
    struct profile_writer *writer;
    if (profile_create(test_path, true, &writer, &error) != BASE_OK ||
        sample_add(writer, &error) != BASE_OK || profile_commit(writer, &error) != BASE_OK)
        _exit(1);
    progress->committed = SAMPLE_COUNT(sample_calls);
    if (step_pages)
        writer->wal_step_pages = writer->wal_limit_pages = step_pages;
    for (uint64_t number = 100; number < 100 + calls; number++) {
        add_call(writer, number, &error);
        if (number % 5000 == 0) {
            if (profile_commit(writer, &error) != BASE_OK)
                _exit(1);
            progress->committed = number - 99 + SAMPLE_COUNT(sample_calls);
        }
    }
    progress->finishing = true;
    if (profile_finish(writer, PROFILE_EXITED, 0, &error) != BASE_OK)
        _exit(1);
    for (;;)
        pause();
}

static void count_calls(struct profile *profile, uint64_t *count)
{
    struct base_error error = {0};
    struct base_buf text = {0};
    struct profile_sink sink = {text_columns, text_row, &text};
    check_good(profile_query(profile, "SELECT count(*) FROM v_calls", &sink, &error), &error);
    *count = strtoull(text.text, NULL, 10);
    base_buf_fini(&text);
}

// Every call has all rows that belong to it, because they are in one transaction.
static bool see_call(void *user, const struct profile_call *call)
{
    ++*(uint64_t *)user;
    if (call->number >= 100 && call->kind == PROFILE_CALL_SYNC)
        assert_int_equal(call->sync.event, call->number);
    if (call->number >= 100 && call->kind == PROFILE_CALL_LAUNCH)
        assert_int_equal(call->launch.kernel, 1);
    return true;
}

static bool see_access(void *user, const struct profile_access *access)
{
    ++*(uint64_t *)user;
    if (access->call >= 100)
        assert_int_equal(access->elements, access->call / 7);
    return true;
}

static bool see_map(void *user, const struct profile_map *map)
{
    (void)user;
    for (size_t i = 0; map->elements == 8192 && i < map->bit_bytes; i += 2)
        assert_true(map->bits[i] == 0 || map->bits[i] == 0xa5);
    return true;
}

static void check_profile(const char *path, uint64_t least, bool may_be_complete)
{
    struct base_error error = {0};
    struct profile *profile;
    check_good(profile_open(path, &profile, &error), &error);
    check_query(profile, "PRAGMA integrity_check", "ok\n");
    uint64_t count = 0, seen = 0;
    count_calls(profile, &count);
    assert_true(count >= least);
    check_good(profile_each_call(profile, see_call, &seen, &error), &error);
    assert_int_equal(seen, count);
    seen = 0;
    check_good(profile_each_access(profile, see_access, &seen, &error), &error);
    assert_true(least < 200 || seen > (least - 100) / 3);
    check_good(profile_each_map(profile, see_map, NULL, &error), &error);
    if (!may_be_complete) {
        assert_false(profile_meta(profile)->complete);
        check_query(profile, "SELECT complete, ended FROM v_meta", "0|recorder lost\n");
    }
    profile_close(profile);
}

static pid_t start(struct progress *progress, uint64_t calls, int step_pages)
{
    progress->committed = 0;
    progress->finishing = false;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        write_on(progress, calls, step_pages);
    while (progress->committed == 0) // until the profile exists
        assert_int_equal(waitpid(child, NULL, WNOHANG), 0);
    return child;
}

static void stop(pid_t child)
{
    int status;
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    assert_true(WIFSIGNALED(status)); // the child had not failed
}

static struct progress *share(void)
{
    void *memory = mmap(NULL, sizeof(struct progress), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(memory, MAP_FAILED);
    return memory;
}

static void copy_alone(const char *to)
{
    char command[256];
    snprintf(command, sizeof(command), "cp %s %s", test_path, to);
    assert_int_equal(system(command), 0); // NOLINT: the names are ours
}

static void a_kill_at_any_moment_leaves_a_profile(void **state)
{
    (void)state;
    struct progress *progress = share();
    char alone[128];
    snprintf(alone, sizeof(alone), "%s/alone.glint", test_folder);
    srand(4711);
    unsigned finished = 0;
    for (int i = 0; i < KILLS; i++) {
        // Most writers die while they write, some while they finish.
        pid_t child = start(progress, i % 5 ? 100000000 : (uint64_t)(rand() % 40000), 0);
        struct timespec wait = {0, rand() % 60000000};
        nanosleep(&wait, NULL);
        stop(child);
        bool finishing = progress->finishing;
        finished += finishing;
        if (!finishing) {
            copy_alone(alone);
            check_profile(alone, 0, false);
            unlink(alone);
        }
        check_profile(test_path, progress->committed, finishing);
    }
    assert_true(finished < KILLS);
    munmap(progress, sizeof(*progress));
}

static void a_kill_while_the_log_is_brought_into_the_file_leaves_a_profile(void **state)
{
    (void)state;
    struct progress *progress = share();
    srand(42);
    for (int i = 0; i < KILLS / 2; i++) {
        pid_t child = start(progress, 100000000, 8); // checkpoints with every commit
        struct timespec wait = {0, rand() % 60000000};
        nanosleep(&wait, NULL);
        stop(child);
        check_profile(test_path, progress->committed, false);
    }
    munmap(progress, sizeof(*progress));
}

// Creates the file again and again, until it is killed.
static void make_on(void)
{
    for (;;) {
        struct base_error error = {0};
        struct profile_writer *writer;
        if (profile_create(test_path, true, &writer, &error) != BASE_OK)
            _exit(1);
        profile_abandon(writer);
    }
}

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static void a_kill_while_a_file_is_replaced_leaves_the_old_or_the_new_one(void **state)
{
    (void)state;
    struct base_error error = {0};
    struct profile_writer *writer;
    int64_t took = -now_ns();
    check_good(profile_create(test_path, true, &writer, &error), &error);
    profile_abandon(writer);
    took += now_ns();
    srand(815);
    for (int i = 0; i < KILLS; i++) {
        pid_t child = fork();
        if (child == 0)
            make_on();
        int64_t wait_ns = rand() % (3 * took + 1000000);
        nanosleep(&(struct timespec){wait_ns / 1000000000, wait_ns % 1000000000}, NULL);
        stop(child);
        struct profile *profile;
        check_good(profile_open(test_path, &profile, &error), &error);
        check_query(profile, "PRAGMA integrity_check", "ok\n");
        check_query(profile, "SELECT complete, ended FROM v_meta", "0|recorder lost\n");
        profile_close(profile);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_kill_at_any_moment_leaves_a_profile, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(
            a_kill_while_the_log_is_brought_into_the_file_leaves_a_profile, make_folder,
            remove_folder),
        cmocka_unit_test_setup_teardown(
            a_kill_while_a_file_is_replaced_leaves_the_old_or_the_new_one, make_folder,
            remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
