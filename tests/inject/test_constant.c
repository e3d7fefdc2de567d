// SPDX-License-Identifier: Apache-2.0
// The description of an object that a set has filled must be what the reference of the scan
// computes from its bytes, for every type, value and size of the pattern.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../device/values_reference.h"
#include "inject/shadow/constant.h"

enum { BYTES = 9000, SIZES = 3 }; // patterns have 1, 2 or 4 bytes

static const uint32_t values[] = {
    0,          1,          0x80,       0xff,       0x0101,     0x8000,     0x7fff,
    0x3c00,     0x3c01,     0x0001,     0x03ff,     0x7c00,     0x7c01,     0xfc00,
    0x3f80,     0x7f80,     0x7f81,     0x80000000, 0x3f800000, 0x40490fdb, 0x7f800000,
    0x7f800001, 0x7fc02000, 0xffffffff, 0x01010101, 0x477fe000, 0x47800000, 0x33800000,
    0x33000000, 0x38800000, 0x387fe000, 0x4b800000, 0x00000001, 0x007fffff, 0x3f7fffff,
    0x00008000, 0x3f808000, 0xbf801000, 0x12345678, 0x5a800000, 0x43400000, 0xc3400000,
};

enum { VALUES = sizeof(values) / sizeof(values[0]) };

static struct device_values_job job_of(uint32_t stride, uint64_t bytes)
{
    return (struct device_values_job){
        .base = 4096,
        .first = 4096,
        .end = 4096 + bytes,
        .pieces = (uint32_t)((bytes + 4095) / 4096),
        .describes = 1,
        .stride = stride,
    };
}

static void fill(unsigned char *memory, const struct shadow_constant *constant)
{
    for (unsigned i = 0; i < BYTES; i++)
        memory[i] = (unsigned char)(constant->value >> 8 * (i % constant->bytes));
}

static uint32_t cut(uint32_t value, uint32_t bytes)
{
    return bytes == 4 ? value : value & ((1u << 8 * bytes) - 1);
}

// Returns how many constants were described.
static unsigned check_job(const struct device_values_job *job)
{
    unsigned char looked_at[3] = {1, 1, 1}, memory[BYTES];
    unsigned described = 0;
    for (unsigned i = 0; i < VALUES; i++) {
        for (uint32_t bytes = 1; bytes <= 4; bytes *= 2) {
            const struct shadow_constant constant = {cut(values[i], bytes), bytes};
            struct device_values_result result = {.pieces = job->pieces,
                                                  .bytes = job->end - job->first};
            char why[512] = "";
            memset(result.fields, 0xee, sizeof(result.fields));
            if (!shadow_constant_is_single(&constant, job))
                continue;
            fill(memory, &constant);
            shadow_constant_describe(&constant, job, result.fields);
            if (!values_reference_check(job, memory, looked_at, &result, why, sizeof(why)))
                fail_msg("%x of %u bytes: %s", constant.value, bytes, why);
            described++;
            result.fields[0].candidates[0].count++;
            assert_false(values_reference_check(job, memory, looked_at, &result, why, sizeof(why)));
        }
    }
    return described;
}

static void every_type_is_described_as_by_the_scan(void **state)
{
    (void)state;
    for (uint32_t type = DEVICE_RAW; type <= DEVICE_F64; type++) {
        struct device_values_job job = job_of(values_reference_size(type), BYTES);
        job.field_count = 1;
        job.fields[0].type = type;
        const uint32_t size = values_reference_size(type);
        // At least those patterns that are no longer than an element.
        const unsigned sizes = size == 1 ? 1 : size == 2 ? 2 : SIZES;
        assert_in_range(check_job(&job), sizes * VALUES, SIZES * VALUES);
    }
}

static void fields_of_a_structure_are_described_as_by_the_scan(void **state)
{
    (void)state;
    struct device_values_job job = job_of(24, BYTES - 7); // the last one is cut
    job.field_count = 4;
    job.fields[0].type = DEVICE_F64;
    job.fields[1].type = DEVICE_U8;
    job.fields[1].offset = 9;
    job.fields[2].type = DEVICE_F16;
    job.fields[2].offset = 10;
    job.fields[3].type = DEVICE_S32;
    job.fields[3].offset = 20;
    assert_int_equal(check_job(&job), SIZES * VALUES); // all of them repeat within 24 bytes
}

static void an_object_without_an_element_has_none(void **state)
{
    (void)state;
    const struct shadow_constant constant = {7, 1};
    struct device_values_job job = job_of(8, 7);
    struct device_field_result field, none = {0};
    job.field_count = 1;
    job.fields[0].type = DEVICE_U64;
    shadow_constant_describe(&constant, &job, &field);
    assert_memory_equal(&field, &none, sizeof(none));
}

static void a_pattern_that_does_not_repeat_with_the_stride_is_not_single(void **state)
{
    (void)state;
    static const struct {
        struct shadow_constant constant;
        uint32_t stride;
        bool single;
    } cases[] = {
        {{0x01020304, 4}, 1, false}, {{0x01020304, 4}, 2, false}, {{0x01020304, 4}, 6, false},
        {{0x01020304, 4}, 8, true},  {{0x05050505, 4}, 1, true},  {{0x05050505, 4}, 3, true},
        {{0x05060506, 4}, 1, false}, {{0x05060506, 4}, 2, true},  {{0x05060506, 4}, 6, true},
        {{0x05060506, 4}, 3, false}, {{0x05050606, 4}, 2, false}, {{0x05060605, 4}, 2, false},
        {{0x0102, 2}, 1, false},     {{0x0102, 2}, 6, true},      {{0x0101, 2}, 1, true},
        {{0x0101, 2}, 3, true},      {{0x0001, 2}, 1, false},     {{0, 2}, 1, true},
        {{0x00010001, 4}, 2, true},  {{0x00010001, 4}, 1, false}, {{7, 1}, 1, true},
        {{0, 0}, 1, false},          {{0, 0}, 8, false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct device_values_job job = job_of(cases[i].stride, BYTES);
        if (shadow_constant_is_single(&cases[i].constant, &job) != cases[i].single)
            fail_msg("%x of %u bytes, stride %u", cases[i].constant.value, cases[i].constant.bytes,
                     cases[i].stride);
    }
}

static void a_word_repeats_the_pattern(void **state)
{
    (void)state;
    assert_int_equal(shadow_constant_word(&(struct shadow_constant){0x812345ab, 1}), 0xabababab);
    assert_int_equal(shadow_constant_word(&(struct shadow_constant){0x812345ab, 2}), 0x45ab45ab);
    assert_int_equal(shadow_constant_word(&(struct shadow_constant){0x812345ab, 4}), 0x812345ab);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_is_described_as_by_the_scan),
        cmocka_unit_test(fields_of_a_structure_are_described_as_by_the_scan),
        cmocka_unit_test(an_object_without_an_element_has_none),
        cmocka_unit_test(a_pattern_that_does_not_repeat_with_the_stride_is_not_single),
        cmocka_unit_test(a_word_repeats_the_pattern),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
