// SPDX-License-Identifier: Apache-2.0
// Tests of the log: levels, formatting, truncation, and the sink for file descriptors.
#include "testing.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct sink {
    unsigned messages;
    enum base_log_level level;
    size_t length;
    char text[BASE_LOG_TEXT];
};

static void keep(void *user, enum base_log_level level, const char *text, size_t length)
{
    struct sink *sink = user;
    assert_true(length < BASE_LOG_TEXT);
    assert_int_equal(strlen(text), length);
    sink->messages++;
    sink->level = level;
    sink->length = length;
    memcpy(sink->text, text, length + 1);
    errno = ENOTTY;
}

static void a_log_lets_its_level_and_worse_through(void **state)
{
    (void)state;
    for (int limit = BASE_LOG_NOTHING; limit <= BASE_LOG_DEBUG; limit++) {
        struct sink sink = {0};
        struct base_log log = {.level = (enum base_log_level)limit, .write = keep, .user = &sink};
        base_log_error(&log, "one %d", 1);
        assert_int_equal(sink.messages, limit >= BASE_LOG_ERROR);
        base_log_warning(&log, "two");
        assert_int_equal(sink.messages, limit >= BASE_LOG_WARNING ? 2 : limit);
        base_log_info(&log, "three");
        assert_int_equal(sink.messages, limit >= BASE_LOG_INFO ? 3 : limit);
        base_log_debug(&log, "four");
        assert_int_equal(sink.messages, limit);
        assert_int_equal(sink.level, limit);
        for (int level = BASE_LOG_ERROR; level <= BASE_LOG_DEBUG; level++)
            assert_int_equal(base_log_wants(&log, (enum base_log_level)level), level <= limit);
        assert_false(base_log_wants(&log, BASE_LOG_NOTHING));
    }
}

static void nobody_listens_to_no_log(void **state)
{
    (void)state;
    struct base_log none = {0};
    struct base_log no_sink = {.level = BASE_LOG_DEBUG};
    base_log_error(NULL, "unheard %d", 1);
    base_log_print(NULL, BASE_LOG_ERROR, "unheard");
    base_log_error(&none, "unheard");
    base_log_print(&no_sink, BASE_LOG_ERROR, "unheard");
    assert_false(base_log_wants(NULL, BASE_LOG_ERROR));
    assert_false(base_log_wants(&none, BASE_LOG_ERROR));
    assert_false(base_log_wants(&no_sink, BASE_LOG_ERROR));
}

static void arguments_are_evaluated_only_where_somebody_listens(void **state)
{
    (void)state;
    struct sink sink = {0};
    struct base_log log = {.level = BASE_LOG_INFO, .write = keep, .user = &sink};
    int evaluated = 0;
    base_log_debug(&log, "%d", ++evaluated);
    base_log_error(NULL, "%d", ++evaluated);
    assert_int_equal(evaluated, 0);
    base_log_info(&log, "%d", ++evaluated);
    assert_int_equal(evaluated, 1);
    assert_string_equal(sink.text, "1");
}

static void messages_are_formatted_without_a_newline_at_the_end(void **state)
{
    (void)state;
    struct sink sink = {0};
    struct base_log log = {.level = BASE_LOG_DEBUG, .write = keep, .user = &sink};
    base_log_warning(&log, "%s: %d of %zu bytes\n", "a.ptx", -3, (size_t)9);
    assert_string_equal(sink.text, "a.ptx: -3 of 9 bytes");
    assert_int_equal(sink.level, BASE_LOG_WARNING);
    base_log_warning(&log, "two\nlines\n\n");
    assert_string_equal(sink.text, "two\nlines");
    base_log_warning(&log, "%s", "");
    assert_string_equal(sink.text, "");
    base_log_warning(&log, "\n");
    assert_string_equal(sink.text, "");
    assert_int_equal(sink.messages, 4);
}

static void a_long_message_is_cut_between_characters(void **state)
{
    (void)state;
    struct sink sink = {0};
    struct base_log log = {.level = BASE_LOG_DEBUG, .write = keep, .user = &sink};
    char text[2 * BASE_LOG_TEXT];
    for (size_t length = BASE_LOG_TEXT - 8; length < BASE_LOG_TEXT + 8; length++) {
        memset(text, 'a', length);
        text[length] = '\0';
        base_log_info(&log, "%s", text);
        if (length < BASE_LOG_TEXT) {
            assert_string_equal(sink.text, text);
        } else {
            assert_int_equal(sink.length, BASE_LOG_TEXT - 1);
            assert_memory_equal(sink.text, text, BASE_LOG_TEXT - 4);
            assert_string_equal(sink.text + BASE_LOG_TEXT - 4, "...");
        }
    }
    for (size_t shift = 0; shift < 4; shift++) {
        memset(text, 'a', shift);
        text[shift] = '\0';
        while (strlen(text) < BASE_LOG_TEXT + 100)
            strcat(text, "\xF0\x9F\x92\xA1");
        base_log_info(&log, "%s", text);
        size_t kept = sink.length - 3;
        assert_memory_equal(sink.text, text, kept);
        assert_string_equal(sink.text + kept, "...");
        assert_int_equal((kept - shift) % 4, 0);
        assert_true(sink.length > BASE_LOG_TEXT - 1 - 4);
    }
}

static void errno_is_kept(void **state)
{
    (void)state;
    struct sink sink = {0};
    struct base_log log = {.level = BASE_LOG_DEBUG, .write = keep, .user = &sink};
    errno = ENOENT;
    base_log_error(&log, "cannot open: %m");
    assert_int_equal(errno, ENOENT);
    assert_string_equal(sink.text, "cannot open: No such file or directory");
    log = base_log_to_fd(BASE_LOG_ERROR, -1);
    errno = ENOENT;
    base_log_error(&log, "nowhere");
    assert_int_equal(errno, ENOENT);
}

static void levels_have_names_that_read_back(void **state)
{
    (void)state;
    for (int level = BASE_LOG_NOTHING; level <= BASE_LOG_DEBUG; level++) {
        enum base_log_level read = (enum base_log_level)99;
        assert_true(base_log_level_read(base_log_level_name((enum base_log_level)level), &read));
        assert_int_equal(read, level);
    }
    assert_string_equal(base_log_level_name(BASE_LOG_WARNING), "warning");
    assert_string_equal(base_log_level_name((enum base_log_level)99), "unknown");
    enum base_log_level level = BASE_LOG_INFO;
    assert_false(base_log_level_read("Warning", &level));
    assert_false(base_log_level_read("", &level));
    assert_false(base_log_level_read("unknown", &level));
    assert_int_equal(level, BASE_LOG_INFO);
}

// A pipe in packet mode returns one write per read.
static void each_line_is_one_write(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe2(ends, O_DIRECT), 0);
    struct base_log log = base_log_to_fd(BASE_LOG_WARNING, ends[1]);
    char longest[BASE_LOG_TEXT];
    memset(longest, 'm', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    base_log_error(&log, "first");
    base_log_info(&log, "not this");
    base_log_warning(&log, "%s\n", "100%s");
    base_log_warning(&log, "%s", longest);
    close(ends[1]);
    char line[4096];
    ssize_t length = read(ends[0], line, sizeof(line));
    assert_int_equal(length, strlen("glint: error: first\n"));
    assert_memory_equal(line, "glint: error: first\n", length);
    length = read(ends[0], line, sizeof(line));
    assert_int_equal(length, strlen("glint: warning: 100%s\n"));
    assert_memory_equal(line, "glint: warning: 100%s\n", length);
    length = read(ends[0], line, sizeof(line));
    assert_int_equal(length, strlen("glint: warning: ") + sizeof(longest) - 1 + 1);
    assert_memory_equal(line + strlen("glint: warning: "), longest, sizeof(longest) - 1);
    assert_int_equal(line[length - 1], '\n');
    assert_int_equal(read(ends[0], line, sizeof(line)), 0);
    close(ends[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_log_lets_its_level_and_worse_through),
        cmocka_unit_test(nobody_listens_to_no_log),
        cmocka_unit_test(arguments_are_evaluated_only_where_somebody_listens),
        cmocka_unit_test(messages_are_formatted_without_a_newline_at_the_end),
        cmocka_unit_test(a_long_message_is_cut_between_characters),
        cmocka_unit_test(errno_is_kept),
        cmocka_unit_test(levels_have_names_that_read_back),
        cmocka_unit_test(each_line_is_one_write),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
