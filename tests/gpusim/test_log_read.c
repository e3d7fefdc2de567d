// SPDX-License-Identifier: Apache-2.0
// The reader of the simulated GPU's log, on complete files, files truncated or changed at every
// byte, and files that are no logs.
#include "log_testing.h"

#include "log_sample.h"

struct sample {
    char *bytes;
    size_t length;
};

static int setup(void **state)
{
    static struct sample sample;
    char path[] = "/tmp/glint-log-XXXXXX";
    struct base_error error;
    int file = mkstemp(path);
    *state = &sample;
    if (file < 0 || close(file) != 0 || !log_sample_write(path))
        return -1;
    enum base_code code = base_file_read(path, &sample.bytes, &sample.length, &error);
    unlink(path);
    return code;
}

static int teardown(void **state)
{
    free(((struct sample *)*state)->bytes);
    return 0;
}

// Reads everything, touches every byte of every record, and returns the number of records.
static size_t read_all(const void *bytes, size_t length, enum base_code *code,
                       enum gpusim_log_state *state)
{
    struct gpusim_log *log;
    struct gpusim_log_record record;
    struct base_error error = {0};
    size_t count = 0;
    volatile unsigned sink = 0;
    *code = gpusim_log_open_bytes(bytes, length, "test", &log, &error);
    if (*code != BASE_OK) {
        assert_null(log);
        return 0;
    }
    struct gpusim_log_uses *uses = gpusim_log_uses_create();
    while ((*code = gpusim_log_next(log, &record, &error)) == BASE_OK) {
        count++;
        if (record.type == GPUSIM_LOG_ACCESS) {
            const struct gpusim_log_access *access = &record.access;
            size_t last = (size_t)__builtin_popcount(access->mask) - 1;
            for (size_t i = 0; i < access->bytes; i++) {
                sink += access->values[last * access->value_stride + i];
                sink += access->after ? access->after[last * access->value_stride + i] : 0;
            }
            assert_int_equal(gpusim_log_uses_add(uses, access), BASE_OK);
        } else if (record.type == GPUSIM_LOG_CALL) {
            sink += (unsigned)(strlen(record.call.name) + strlen(record.call.arguments));
        } else if (record.type == GPUSIM_LOG_COPY && record.copy.bytes) {
            const struct gpusim_log_copy *copy = &record.copy;
            for (uint64_t i = 0; i < copy->width * copy->height * copy->depth; i++)
                sink += copy->bytes[i];
        } else if (record.type == GPUSIM_LOG_CONTENTS) {
            for (size_t i = 0; i < record.contents.byte_count; i++)
                sink += record.contents.bytes[i];
            assert_in_range(record.contents.byte_count, 0, record.contents.object->size_bytes);
        }
    }
    *state = gpusim_log_state(log);
    if (*code != BASE_NOT_FOUND)
        assert_int_equal(error.code, *code);
    // Nothing follows the end.
    assert_int_equal(gpusim_log_next(log, &record, &error), BASE_NOT_FOUND);
    gpusim_log_uses_destroy(uses);
    gpusim_log_close(log);
    return count;
}

// The words are those that the kernel's last reductions left behind.
static void check_sample_copy(const struct gpusim_log_copy *copy)
{
    static const uint32_t words[] = {0x50, 0xc, 0x20, 0x28};
    assert_int_equal(copy->call, 2);
    assert_int_equal(copy->stream, 2);
    assert_int_equal(copy->width, 4);
    assert_int_equal(copy->height, 2);
    assert_int_equal(copy->depth, 2);
    assert_int_equal(copy->to.pitch, 16);
    assert_int_equal(copy->to.slice, 64);
    assert_int_equal(copy->to.object_count, 1);
    assert_int_equal(copy->to.objects[0]->id, 1);
    assert_int_equal(copy->to.address, copy->to.objects[0]->address);
    assert_int_equal(copy->from.object_count, 0);
    assert_memory_equal(copy->bytes, words, sizeof(words));
}

static void a_whole_log_has_every_kind_of_record(void **state)
{
    const struct sample *sample = *state;
    struct gpusim_log *log;
    struct gpusim_log_record record;
    struct base_error error = {0};
    unsigned seen = 0;
    assert_int_equal(gpusim_log_open_bytes(sample->bytes, sample->length, "sample", &log, &error),
                     BASE_OK);
    assert_int_equal(gpusim_log_state(log), GPUSIM_LOG_READING);
    while (gpusim_log_next(log, &record, &error) == BASE_OK) {
        seen |= 1u << record.type;
        if (record.type == GPUSIM_LOG_CALL && record.call.number == 2) {
            assert_string_equal(record.call.name, "cuLaunchKernel");
            assert_string_equal(record.call.arguments, "f=0x2");
            assert_int_equal(record.call.inside, 1);
        } else if (record.type == GPUSIM_LOG_RETURN && record.returned.number == 1) {
            assert_int_equal(record.returned.result, -5);
            assert_string_equal(record.returned.outputs, "name=\"a b\"");
        } else if (record.type == GPUSIM_LOG_COPY && record.copy.bytes) {
            check_sample_copy(&record.copy);
        } else if (record.type == GPUSIM_LOG_FILL) {
            assert_int_equal(record.fill.value, 0xABC);
            assert_int_equal(record.fill.value_bytes, 2);
            assert_int_equal(record.fill.to.objects[0]->id, 1);
        } else if (record.type == GPUSIM_LOG_CONTENTS) {
            assert_int_equal(record.contents.object->id, 2);
            assert_int_equal(record.contents.byte_count, 1); // the others are 0
            assert_int_equal(record.contents.bytes[0], 3);
        }
    }
    assert_int_equal(seen, (2u << GPUSIM_LOG_ACCESS) - 2);
    assert_int_equal(gpusim_log_state(log), GPUSIM_LOG_COMPLETE);
    gpusim_log_close(log);
}

static void a_log_that_is_cut_reads_as_far_as_it_goes(void **state)
{
    const struct sample *sample = *state;
    enum base_code code;
    enum gpusim_log_state how = GPUSIM_LOG_READING;
    size_t all = read_all(sample->bytes, sample->length, &code, &how), before = 0, steps = 0;
    assert_int_equal(how, GPUSIM_LOG_COMPLETE);
    for (size_t length = 16; length < sample->length; length++) {
        // A block of exactly that size, so that the address sanitizer detects reads beyond it.
        char *bytes = malloc(length);
        memcpy(bytes, sample->bytes, length);
        size_t count = read_all(bytes, length, &code, &how);
        free(bytes);
        assert_int_equal(code, BASE_NOT_FOUND);
        assert_true(how == GPUSIM_LOG_CUT || how == GPUSIM_LOG_UNFINISHED);
        // One more byte completes at most one more record.
        assert_true(count == before || count == before + 1);
        steps += count != before;
        before = count;
    }
    assert_int_equal(before, all);
    assert_int_equal(steps, all);
}

static void a_changed_byte_is_an_error_or_other_values_but_no_crash(void **state)
{
    const struct sample *sample = *state;
    enum base_code code;
    enum gpusim_log_state how;
    size_t corrupt = 0;
    for (size_t at = 0; at < sample->length; at++) {
        for (int bit = 0; bit < 8; bit++) {
            sample->bytes[at] = (char)(sample->bytes[at] ^ 1 << bit);
            read_all(sample->bytes, sample->length, &code, &how);
            corrupt += code == BASE_CORRUPT;
            assert_true(code == BASE_CORRUPT || code == BASE_NOT_FOUND ||
                        (code == BASE_UNSUPPORTED && at >= 8 && at < 12));
            sample->bytes[at] = (char)(sample->bytes[at] ^ 1 << bit);
        }
    }
    // Most bytes belong to values, which may be anything.
    assert_true(corrupt > sample->length / 10);
}

static void what_is_no_log_is_said_so(void **state)
{
    const struct sample *sample = *state;
    struct gpusim_log *log;
    struct base_error error = {0};
    char version[16];
    memcpy(version, sample->bytes, 16);
    version[8] = 9;
    assert_int_equal(gpusim_log_open_bytes("", 0, "x", &log, &error), BASE_CORRUPT);
    assert_int_equal(gpusim_log_open_bytes(sample->bytes, 15, "x", &log, &error), BASE_CORRUPT);
    assert_int_equal(gpusim_log_open_bytes("GLINTLOX\1\0\0\0\0\0\0", 16, "x", &log, &error),
                     BASE_CORRUPT);
    assert_string_equal(error.text[0], "x is not a log of the simulated GPU");
    assert_int_equal(gpusim_log_open_bytes(version, 16, "x", &log, &error), BASE_UNSUPPORTED);
    assert_string_equal(error.text[0], "x has log version 9; this glint reads version 4");
    assert_int_equal(gpusim_log_open("/no/such/file", &log, &error), BASE_IO);
    assert_null(log);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_log_has_every_kind_of_record),
        cmocka_unit_test(a_log_that_is_cut_reads_as_far_as_it_goes),
        cmocka_unit_test(a_changed_byte_is_an_error_or_other_values_but_no_crash),
        cmocka_unit_test(what_is_no_log_is_said_so),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
