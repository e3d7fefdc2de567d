// SPDX-License-Identifier: Apache-2.0
// SIGKILL ends the program, the recorder or both at any moment. If there is a profile, it opens and
// is consistent: it has calls without gaps from the first on, and how the program ended if the
// recorder survived. The next recorder removes what a killed one has left in the folder of the
// profile and in that for temporary files.
#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "profile/profile.h"

enum { KILLS = 200, MOST_WAIT_NS = 500000000 };

static uint64_t random_bits(uint64_t *state) // splitmix64
{
    uint64_t bits = *state += 0x9E3779B97F4A7C15u;
    bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9u;
    bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EBu;
    return bits ^ (bits >> 31);
}

static pid_t start_recorder(const char *glint, const char *program, const char *output)
{
    pid_t recorder = fork();
    if (recorder == 0) {
        int nothing = open("/dev/null", O_RDWR);
        dup2(nothing, STDERR_FILENO);
        setpgid(0, 0); // so that the test can find and kill both
        execl(glint, glint, "record", "-f", "-o", output, "--device", "sim", "--", program, "0",
              (char *)NULL);
        _exit(99);
    }
    setpgid(recorder, recorder);
    return recorder;
}

// The recorder's child after it has become the program; 0: none (yet).
static pid_t find_program(pid_t recorder)
{
    char path[64], text[32] = "";
    snprintf(path, sizeof(path), "/proc/%d/task/%d/children", recorder, recorder);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = file >= 0 ? read(file, text, sizeof(text) - 1) : 0;
    if (file >= 0)
        close(file);
    return got > 0 ? (pid_t)strtol(text, NULL, 10) : 0;
}

struct seen {
    uint64_t calls, last;
};

static bool count_call(void *user, const struct profile_call *call)
{
    struct seen *seen = user;
    assert_true(call->number > seen->last);
    seen->calls++;
    seen->last = call->number;
    return true;
}

// Returns whether there is a profile. Fails if it cannot be read.
static bool check_profile(const char *path, bool recorder_lived, uint64_t seed)
{
    struct profile *profile = NULL;
    struct base_error error = {0};
    enum base_code code = profile_open(path, &profile, &error);
    if (code == BASE_NOT_FOUND)
        return false;
    if (code != BASE_OK)
        fail_msg("kill %llu: %s", (unsigned long long)seed, error.text[0]);
    struct seen seen = {0};
    assert_int_equal(profile_each_call(profile, count_call, &seen, &error), BASE_OK);
    if (seen.last < 50000) // the ring has room for so few: none may be missing
        assert_int_equal(seen.calls, seen.last);
    assert_int_equal(profile_meta(profile)->complete, recorder_lived);
    if (recorder_lived) {
        assert_int_equal(profile_meta(profile)->ending, PROFILE_SIGNALLED);
        assert_int_equal(profile_meta(profile)->code, SIGKILL);
    }
    profile_close(profile);
    return seen.calls > 0;
}

// Removes profiles with their logs, but leaves what glint should remove. Returns the number of
// these.
static int clear_folder(const char *folder)
{
    DIR *entries = opendir(folder);
    int left = 0;
    for (struct dirent *entry; entries && (entry = readdir(entries));) {
        char path[512];
        snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        if (entry->d_name[0] == '.')
            continue;
        if (strstr(entry->d_name, ".new-") || strncmp(entry->d_name, "glint-", 6) == 0) {
            print_message("remained: %s\n", entry->d_name);
            left++;
        } else
            unlink(path);
    }
    if (entries)
        closedir(entries);
    return left;
}

static uint64_t now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void end_all(pid_t recorder)
{
    kill(recorder, SIGKILL);
    assert_int_equal(waitpid(recorder, NULL, 0), recorder);
    kill(-recorder, SIGKILL); // the program, if it survived
    while (waitpid(-1, NULL, 0) > 0)
        ;
}

// Measures how long this machine, under its present load, takes until the profile's log exists.
static uint64_t usual_ns(const char *glint, const char *program, const char *output)
{
    char log[80];
    snprintf(log, sizeof(log), "%s-wal", output);
    uint64_t start = now_ns();
    pid_t recorder = start_recorder(glint, program, output);
    while (access(log, F_OK) != 0 && now_ns() - start < 10000000000u) {
        const struct timespec moment = {.tv_nsec = 500000};
        nanosleep(&moment, NULL);
    }
    uint64_t took = now_ns() - start;
    end_all(recorder);
    return took;
}

static void killed_at_any_moment_a_profile_opens(void **state)
{
    (void)state;
    const char *glint = getenv("GLINT"), *build = getenv("GLINT_BUILD_DIR");
    if (!glint || !build) {
        fail_msg("GLINT and GLINT_BUILD_DIR say what to test");
        return;
    }
    char folder[] = "/tmp/glint-test-XXXXXX", output[64], program[512];
    assert_non_null(mkdtemp(folder));
    snprintf(output, sizeof(output), "%s/p.glint", folder);
    snprintf(program, sizeof(program), "%s/tests/record/record_busy", build);
    setenv("TMPDIR", folder, 1);
    prctl(PR_SET_CHILD_SUBREAPER, 1); // adopts programs whose recorder is gone
    int with_calls = 0;
    uint64_t longest = 3 * usual_ns(glint, program, output);
    longest = longest < MOST_WAIT_NS ? longest : MOST_WAIT_NS;
    clear_folder(folder);
    for (uint64_t seed = 1; seed <= KILLS; seed++) {
        uint64_t random = seed * 7919;
        pid_t recorder = start_recorder(glint, program, output);
        uint64_t wait_ns = random_bits(&random) % longest;
        const struct timespec wait_for = {.tv_sec = (time_t)(wait_ns / 1000000000u),
                                          .tv_nsec = (long)(wait_ns % 1000000000u)};
        nanosleep(&wait_for, NULL);
        pid_t found = find_program(recorder);
        unsigned who = found ? (unsigned)(random_bits(&random) % 3) : 1; // program, recorder, both
        if (who == 2) { // or the recorder might complete the profile before it is killed, too
            kill(recorder, SIGSTOP);
            assert_int_equal(waitpid(recorder, NULL, WUNTRACED), recorder);
        }
        if (who != 1)
            kill(found, SIGKILL);
        if (who == 0)
            assert_int_equal(waitpid(recorder, NULL, 0), recorder);
        else
            end_all(recorder);
        while (waitpid(-1, NULL, 0) > 0)
            ;
        with_calls += check_profile(output, who == 0, seed);
        clear_folder(folder);
    }
    assert_int_equal(waitpid(start_recorder(glint, "true", output), NULL, 0) > 0, 1);
    assert_int_equal(clear_folder(folder), 0);
    assert_int_equal(rmdir(folder), 0);
    assert_true(with_calls > 0); // else all kills came too early
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(killed_at_any_moment_a_profile_opens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
