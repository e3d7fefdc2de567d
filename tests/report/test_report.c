// SPDX-License-Identifier: Apache-2.0
// Reports on the sample profile: every format exists, handles a sink that fails, and has the right
// sums of calls, graphs and objects. The command-line tests compare the complete text.
#include "testing.h"

#include <unistd.h>

#include "../profile/folder.h"
#include "../profile/sample.h"

struct sink {
    struct base_buf text;
    size_t most; // bytes that it accepts before it fails
};

static bool take(void *user, const char *bytes, size_t length)
{
    struct sink *sink = user;
    if (sink->text.length + length > sink->most)
        return false;
    base_buf_add(&sink->text, bytes, length);
    return true;
}

static enum base_code write_report(enum format format, struct sink *sink, struct base_error *error)
{
    struct profile *profile;
    enum base_code code = profile_open(test_path, &profile, error);
    if (code != BASE_OK)
        return code;
    code = report_in(format, profile, take, sink, error);
    profile_close(profile);
    return code;
}

static struct sink good_report(enum format format)
{
    struct sink sink = {.most = SIZE_MAX};
    struct base_error error = {0};
    assert_int_equal(write_report(format, &sink, &error), BASE_OK);
    return sink;
}

static void write_sample(void)
{
    struct base_error error = {0};
    unlink(test_path);
    assert_int_equal(sample_write(test_path, &error), BASE_OK);
}

// Checks that the report contains all of these words.
static void check_words(enum format format, const char *const *words)
{
    struct sink sink = good_report(format);
    const char *text = sink.text.text ? sink.text.text : "";
    for (; *words; words++) {
        if (!strstr(text, *words))
            fail_msg("no '%s' in:\n%s", *words, text);
    }
    base_buf_fini(&sink.text);
}

static void json_sums_calls_and_graphs(void **state)
{
    (void)state;
    write_sample();
    static const char *const words[] = {
        // Memory: 4000 + 8000 + 1 MiB, and 64 from the start; neither pinned memory nor the part
        // counts.
        "\"peak_bytes\":1060640,\"achievable_peak_bytes\":1060640",
        // One call, as the other one failed; and one node of a graph.
        "\"launches\":2,\"dropped\":15,\"failed_calls\":1",
        // The copies 3 and 11 and the graph of call 9 touch it.
        "\"id\":1,\"name\":\"A_gpu\",\"kind\":\"device\",\"bytes\":4000,\"allocated_by\":1,"
        "\"freed_by\":13,\"first_access\":3,\"last_access\":11",
        "\"id\":2,\"name\":\"vectors.cu:12\",\"kind\":\"pitched\",\"bytes\":8000,\"allocated_by\":"
        "2,"
        "\"freed_by\":null,\"first_access\":4,\"last_access\":9",
        "\"id\":3,\"name\":null,\"kind\":\"pool\",\"bytes\":1048576,\"allocated_by\":12,"
        "\"freed_by\":null,\"first_access\":null,\"last_access\":null",
        "\"bytes\":18446744073709551615",
        // Calls are missing, so that only findings within one launch are possible.
        "\"findings\":[{\"pattern\":\"low-hit-rate\",\"object\":1,",
        "{\"pattern\":\"poor-coalescing\",\"object\":1,",
        "{\"pattern\":\"bank-conflicts\",\"object\":null,",
        "{\"pattern\":\"non-uniform-access\",\"object\":1,",
        NULL,
    };
    check_words(JSON, words);
}

// The innermost frames of a launch are compiler-generated; the next one is the kernel's name as a
// host function.
static void a_launch_is_placed_where_the_program_says_it(void **state)
{
    (void)state;
    struct base_error error = {0};
    struct profile_writer *writer;
    static const struct profile_frame frames[] = {
        {"__cudaLaunchKernel_helper(CUkern_st*)", "device_functions.h", 2963, 1, 1, false, 0,
         false},
        {"__device_stub__Z8multiplyiPd(int, double*)", "tmp_a.cudafe1.stub.c", 13, 1, 2, false, 0,
         false},
        {"multiply(int, double*)", "/src/a.cu", 13, 1, 3, false, 0, false},
        {"main", "/src/a.cu", 70, 1, 4, false, 0, false},
    };
    assert_int_equal(profile_create(test_path, true, &writer, &error), BASE_OK);
    const struct profile_path stubs = {.number = 1, .frames = frames, .frame_count = 4};
    const struct profile_path alone = {.number = 2, .frames = frames + 1, .frame_count = 1};
    assert_int_equal(profile_add_path(writer, &stubs, &error), BASE_OK);
    assert_int_equal(profile_add_path(writer, &alone, &error), BASE_OK);
    for (uint64_t i = 1; i <= 2; i++) {
        const struct profile_object object = {
            .number = i, .kind = PROFILE_OBJECT_DEVICE, .bytes = 64};
        const struct profile_call call = {.number = i,
                                          .kind = PROFILE_CALL_LAUNCH,
                                          .path = (uint32_t)i,
                                          .launch = {.flags = PROFILE_LAUNCH_WATCHED}};
        const struct profile_access access = {.call = i, .object = i, .read = true};
        assert_int_equal(profile_add_object(writer, &object, &error), BASE_OK);
        assert_int_equal(profile_add_call(writer, &call, &error), BASE_OK);
        assert_int_equal(profile_add_access(writer, &access, &error), BASE_OK);
    }
    assert_int_equal(profile_finish(writer, PROFILE_EXITED, 0, &error), BASE_OK);
    static const char *const words[] = {
        "free object 1 after the launch of a kernel (a.cu:70)",
        "free object 2 after the launch of a kernel (tmp_a.cudafe1.stub.c:13)", NULL};
    check_words(TEXT, words);
}

static void an_incomplete_profile_is_reported_and_said_to_be(void **state)
{
    (void)state;
    struct base_error error = {0};
    struct profile_writer *writer;
    assert_int_equal(profile_create(test_path, true, &writer, &error), BASE_OK);
    assert_int_equal(sample_add(writer, &error), BASE_OK);
    profile_abandon(writer);
    static const char *const text[] = {"this profile is incomplete", "ended in an unknown way",
                                       NULL};
    check_words(TEXT, text);
    static const char *const json[] = {"\"complete\":false",
                                       "\"exit\":{\"kind\":\"recorder lost\",\"code\":null}",
                                       "this profile is incomplete", NULL};
    check_words(JSON, json);
}

// The status is unknown, so no code is reported, and in particular not 0.
static void an_end_that_nobody_saw_has_no_code(void **state)
{
    (void)state;
    struct base_error error = {0};
    struct profile_writer *writer;
    assert_int_equal(profile_create(test_path, true, &writer, &error), BASE_OK);
    assert_int_equal(sample_add(writer, &error), BASE_OK);
    assert_int_equal(profile_finish(writer, PROFILE_ENDED, 0, &error), BASE_OK);
    static const char *const text[] = {"called exit, with an unknown status, ran for", NULL};
    check_words(TEXT, text);
    static const char *const json[] = {"\"complete\":true",
                                       "\"exit\":{\"kind\":\"ended\",\"code\":null}", NULL};
    check_words(JSON, json);
}

static void calls_that_are_missing_are_said_to_be(void **state)
{
    (void)state;
    struct base_error error = {0};
    struct profile_writer *writer;
    assert_int_equal(profile_create(test_path, true, &writer, &error), BASE_OK);
    assert_int_equal(sample_add(writer, &error), BASE_OK);
    struct profile_program program = sample_program;
    program.calls_made = 20;
    program.timestamps = false;
    assert_int_equal(profile_set_program(writer, &program, &error), BASE_OK);
    assert_int_equal(profile_finish(writer, PROFILE_EXITED, 0, &error), BASE_OK);
    static const char *const words[] = {
        "warning: the program made 20 calls, of which 5 are not in the profile",
        "info: GPU times were not recorded", NULL};
    check_words(TEXT, words);
}

static void a_sink_that_refuses_ends_the_report(void **state)
{
    (void)state;
    write_sample();
    for (enum format format = 0; format < FORMATS; format++) {
        struct sink first = {.most = SIZE_MAX};
        struct base_error unsupported = {0};
        enum base_code code = write_report(format, &first, &unsupported);
        base_buf_fini(&first.text);
        if (code == BASE_UNSUPPORTED) // built without the page
            continue;
        struct sink whole = good_report(format);
        for (size_t most = 0; most < whole.text.length;
             most += format == TEXT ? whole.text.length : 1000) {
            struct sink sink = {.most = most};
            struct base_error error = {0};
            assert_int_equal(write_report(format, &sink, &error), BASE_IO);
            assert_int_equal(error.code, BASE_IO);
            base_buf_fini(&sink.text);
        }
        base_buf_fini(&whole.text);
    }
}

// Each byte of the file is changed in turn: there is a report or an error, and no crash.
static void damaged_profiles_give_a_report_or_an_error(void **state)
{
    (void)state;
    write_sample();
    char *bytes;
    size_t length;
    struct base_error error = {0};
    unsigned refused = 0;
    assert_int_equal(base_file_read(test_path, &bytes, &length, &error), BASE_OK);
    for (size_t at = 0; at < length; at += 97) {
        FILE *file = fopen(test_path, "r+b");
        assert_non_null(file);
        fseek(file, (long)at, SEEK_SET);
        fputc(bytes[at] ^ 0x55, file);
        fclose(file);
        for (enum format format = 0; format <= JSON; format++) {
            struct sink sink = {.most = SIZE_MAX};
            enum base_code code = write_report(format, &sink, &error);
            refused += code != BASE_OK;
            assert_true(code != BASE_OK || sink.text.length > 100);
            base_buf_fini(&sink.text);
        }
        file = fopen(test_path, "r+b");
        assert_non_null(file);
        fseek(file, (long)at, SEEK_SET);
        fputc(bytes[at], file);
        fclose(file);
    }
    free(bytes);
    assert_true(refused > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_sums_calls_and_graphs),
        cmocka_unit_test(a_launch_is_placed_where_the_program_says_it),
        cmocka_unit_test(an_incomplete_profile_is_reported_and_said_to_be),
        cmocka_unit_test(an_end_that_nobody_saw_has_no_code),
        cmocka_unit_test(calls_that_are_missing_are_said_to_be),
        cmocka_unit_test(a_sink_that_refuses_ends_the_report),
        cmocka_unit_test(damaged_profiles_give_a_report_or_an_error),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
