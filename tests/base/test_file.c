// SPDX-License-Identifier: Apache-2.0
// Tests of reading whole files. They use memory files and pipes, so that nothing is left behind.
#include "testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "failing_memory.h"

static const char *path_of(int fd)
{
    static char path[64];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return path;
}

static char byte_at(size_t place)
{
    return (char)(place * 131 >> 3);
}

static void a_file_of_any_size_is_read_whole(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 2, 4095, 4096, 65535, 65536, 300001};
    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
        int fd = memfd_create("test", MFD_CLOEXEC);
        assert_true(fd >= 0);
        static char content[300001];
        for (size_t i = 0; i < sizes[s]; i++)
            content[i] = byte_at(i);
        assert_int_equal(write(fd, content, sizes[s]), sizes[s]);
        char *bytes = NULL;
        size_t length = 0;
        struct base_error error = {0};
        assert_int_equal(base_file_read(path_of(fd), &bytes, &length, &error), BASE_OK);
        assert_int_equal(length, sizes[s]);
        for (size_t i = 0; i < length; i++)
            assert_int_equal(bytes[i], byte_at(i));
        assert_int_equal(bytes[length], '\0');
        assert_int_equal(error.code, BASE_OK);
        free(bytes);
        close(fd);
    }
}

static void a_file_whose_size_the_system_does_not_state_is_read_whole(void **state)
{
    (void)state;
    char *bytes = NULL;
    size_t length = 0;
    assert_int_equal(base_file_read("/proc/self/status", &bytes, &length, NULL), BASE_OK);
    assert_int_equal(strlen(bytes), length);
    assert_non_null(strstr(bytes, "\nPid:"));
    free(bytes);
}

static void a_pipe_is_read_to_its_end(void **state)
{
    (void)state;
    enum { TOTAL = 500000 };
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t writer = fork();
    if (writer == 0) {
        close(ends[0]);
        static char bytes[TOTAL];
        for (size_t i = 0; i < TOTAL; i++)
            bytes[i] = byte_at(i);
        size_t written = 0;
        while (written < TOTAL) {
            ssize_t more = write(ends[1], bytes + written, TOTAL - written);
            if (more <= 0)
                _exit(1);
            written += (size_t)more;
        }
        _exit(0);
    }
    close(ends[1]);
    char *bytes = NULL;
    size_t length = 0;
    assert_int_equal(base_file_read(path_of(ends[0]), &bytes, &length, NULL), BASE_OK);
    int status = -1;
    assert_int_equal(waitpid(writer, &status, 0), writer);
    assert_int_equal(status, 0);
    assert_int_equal(length, TOTAL);
    for (size_t i = 0; i < TOTAL; i++)
        assert_int_equal(bytes[i], byte_at(i));
    free(bytes);
    close(ends[0]);
}

static void fails_with(const char *path, enum base_code code, const char *text)
{
    char *bytes = NULL;
    size_t length = 77;
    struct base_error error = {0};
    assert_int_equal(base_file_read(path, &bytes, &length, &error), code);
    assert_int_equal(error.code, code);
    assert_string_equal(error.text[0], text);
    assert_null(bytes);
    assert_int_equal(length, 77);
    assert_int_equal(base_file_read(path, &bytes, &length, NULL), code);
}

static void what_cannot_be_read_is_named_with_the_reason(void **state)
{
    (void)state;
    fails_with("no/such/file", BASE_IO, "cannot open no/such/file: No such file or directory");
    fails_with(".", BASE_IO, "cannot read .: it is a folder");
    fails_with("/proc/self/mem", BASE_IO, "cannot read /proc/self/mem: Input/output error");
}

static void a_file_larger_than_memory_is_an_error(void **state)
{
    (void)state;
    int fd = memfd_create("test", MFD_CLOEXEC);
    assert_int_equal(ftruncate(fd, (off_t)1 << 60), 0);
    char text[100];
    snprintf(text, sizeof(text), "out of memory reading %s", path_of(fd));
    fails_with(path_of(fd), BASE_NO_MEMORY, text);
    close(fd);
}

static void memory_that_runs_out_while_reading_is_an_error(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    static char page[4096];
    for (size_t i = 0; i < 16; i++) // the capacity of a pipe, and of the first read
        assert_int_equal(write(ends[1], page, sizeof(page)), sizeof(page));
    close(ends[1]);
    char *bytes = NULL;
    size_t length = 77;
    allocations_left = 1;
    enum base_code code = base_file_read(path_of(ends[0]), &bytes, &length, NULL);
    allocations_left = SIZE_MAX;
    assert_int_equal(code, BASE_NO_MEMORY);
    assert_null(bytes);
    assert_int_equal(length, 77);
    close(ends[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_of_any_size_is_read_whole),
        cmocka_unit_test(a_file_whose_size_the_system_does_not_state_is_read_whole),
        cmocka_unit_test(a_pipe_is_read_to_its_end),
        cmocka_unit_test(what_cannot_be_read_is_named_with_the_reason),
        cmocka_unit_test(a_file_larger_than_memory_is_an_error),
        cmocka_unit_test(memory_that_runs_out_while_reading_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
