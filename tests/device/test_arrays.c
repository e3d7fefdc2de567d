// SPDX-License-Identifier: Apache-2.0
// The scan of arrays of words and of elements of eight bytes, which has faster ways to look at them
// than at all else: contents at the limits of these ways are compared with the reference.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "values_harness.h"

static const uint32_t types[] = {DEVICE_U32, DEVICE_S32, DEVICE_F32,
                                 DEVICE_U64, DEVICE_S64, DEVICE_F64};
enum { TYPES = sizeof(types) / sizeof(*types), WORD_TYPES = 3 };

static struct object array_new(uint32_t type, unsigned pieces)
{
    struct object object = object_new(pieces * 4096ul, 0);
    object_type(&object, type);
    return object;
}

static void scan(struct object *object)
{
    object_scan(object, DEVICE_RANGE, true, 2);
}

// --- Candidates ----------------------------------------------------------------------------------

// From one candidate to as many as are counted, and more; the first of them are special values, and
// others differ in few bits.
static void candidates_of_all_numbers(void **unused)
{
    (void)unused;
    static const uint64_t words[] = {0,          0x80000000, 0x7fc00000, 0x7f800000, 0xffffffff,
                                     1,          0x3f800000, 0x3f800001, 0x3f800002, 0x00800000,
                                     0xff800000, 0x40000000, 0x7fc00001};
    enum { WORDS = sizeof(words) / sizeof(*words) };
    uint32_t seed = 1;
    for (unsigned i = 0; i < TYPES; i++) {
        for (unsigned count = 1; count <= WORDS; count++) {
            struct object object = array_new(types[i], 5);
            for (uint64_t k = 0; k < object_elements(&object); k++) {
                const uint64_t word = words[random_next(&seed) % count];
                object_put(&object, k, i < WORD_TYPES ? word : word << 32 | (k % 2 ? 0 : word & 1));
            }
            scan(&object);
            object_free(&object);
        }
    }
}

// Elements of eight bytes that are equal in one of their words.
static void candidates_that_share_a_word(void **unused)
{
    (void)unused;
    uint32_t seed = 2;
    for (unsigned i = WORD_TYPES; i < TYPES; i++) {
        for (unsigned shift = 0; shift < 64; shift += 8) {
            struct object object = array_new(types[i], 4);
            for (uint64_t k = 0; k < object_elements(&object); k++)
                object_put(&object, k,
                           UINT64_C(0x4010000040100000) ^ (uint64_t)(random_next(&seed) % 8)
                                                              << shift);
            scan(&object);
            assert_int_not_equal(object.result->fields[0].candidates[7].count, 0);
            object_free(&object);
        }
    }
}

// Candidates for which no hash function gives each a slot of its own: only their first five bits
// differ, and there are too few functions of these.
static void candidates_that_collide(void **unused)
{
    (void)unused;
    static const uint64_t firsts[][8] = {{0, 1, 4, 7, 15, 16, 20, 25},
                                         {4, 5, 7, 11, 12, 17, 20, 28}};
    uint32_t seed = 4;
    for (unsigned i = 0; i < 2 * TYPES; i++) {
        const uint32_t type = types[i / 2];
        struct object object = array_new(type, 5);
        for (uint64_t k = 0; k < object_elements(&object); k++) {
            const uint64_t first = firsts[i % 2][random_next(&seed) % 8] << 27;
            object_put(&object, k, i / 2 < WORD_TYPES ? first : first << 32);
        }
        scan(&object);
        assert_int_not_equal(object.result->fields[0].candidates[6].count, 0);
        object_free(&object);
    }
}

// Zeros of both signs that are frequent, or not, beside other values.
static void zeros_in_lists_and_beside(void **unused)
{
    (void)unused;
    static const unsigned shares[][2] = {{30, 10}, {2, 40}, {40, 2}, {2, 2}, {70, 1}, {0, 30}};
    uint32_t seed = 3;
    for (unsigned i = 0; i < TYPES; i++) {
        const uint64_t minus = i < WORD_TYPES ? 0x80000000 : UINT64_C(1) << 63;
        for (unsigned k = 0; k < sizeof(shares) / sizeof(*shares); k++) {
            struct object object = array_new(types[i], 5);
            for (uint64_t at = 0; at < object_elements(&object); at++) {
                const unsigned place = random_next(&seed) % 100;
                object_put(&object, at,
                           place < shares[k][0]                  ? 0
                           : place < shares[k][0] + shares[k][1] ? minus
                                                                 : minus >> 1 | random_next(&seed));
            }
            scan(&object);
            object_free(&object);
        }
    }
}

// --- Types ---------------------------------------------------------------------------------------

// One element that integers, or the next narrower type, have or have not, among ones that they
// have.
static void one_element_of_another_type(void **unused)
{
    (void)unused;
    static const double numbers[] = {
        0.5,       -0.0,       INFINITY,        -INFINITY, NAN,         0x1p24,     0x1p24 + 1,
        0x1p53,    0x1p53 + 2, 65504,           65505,     65520,       0x1p16,     0x1p-14,
        0x1p-15,   0x1p-24,    0x1p-25,         0x1.8p-24, 0x1.004p-14, 0x1.002p-1, 0x1p-126,
        0x1p-127,  0x1p-149,   0x1.8p-149,      0x1p-150,  0x1p-1022,   0x1p-1074,  0x1.fffffep127,
        0x1p127,   0x1p128,    0x1.ffffffp127,  1e300,     0x1p23,      0x1p23 + 1, 0x1.8p22,
        0x1.8p-40, 0x1p-1045,  0x1.fffffep-126, -0.25,     -65504,      3,          0};
    for (uint32_t type = DEVICE_F32; type <= DEVICE_F64; type++) {
        struct object object = array_new(type, 3);
        const uint64_t count = object_elements(&object);
        for (unsigned kind = 0; kind < 3; kind++) {
            for (unsigned i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
                for (uint64_t k = 0; k < count; k++)
                    object_put_number(&object, k,
                                      kind == 0   ? (double)(k % 2000)
                                      : kind == 1 ? (double)(k % 700 + 1) * 0x1p-24
                                                  : 0x1p-1 + (double)(k % 900) * 0x1p-11);
                object_put_number(&object, i * 29, numbers[i]);
                scan(&object);
            }
        }
        object_free(&object);
    }
}

// Doubles that have bits in their lower word alone, beside zeros and floats.
static void doubles_without_upper_words(void **unused)
{
    (void)unused;
    struct object object = array_new(DEVICE_F64, 3);
    for (unsigned shift = 28; shift < 34; shift++) {
        for (uint64_t k = 0; k < object_elements(&object); k++)
            object_put_number(&object, k, k % 3 ? (float)0.1 : 0);
        object_put(&object, 700, UINT64_C(1) << shift);
        scan(&object);
        assert_int_equal(object.result->fields[0].narrow, 0);
    }
    object_free(&object);
}

// --- Different values ----------------------------------------------------------------------------

// Around as many as are counted, of all types: some share places in the table.
static void different_values(void **unused)
{
    (void)unused;
    static const unsigned kinds[] = {100, 200, 255, 256, 257};
    for (unsigned i = 0; i < TYPES; i++) {
        for (unsigned k = 0; k < sizeof(kinds) / sizeof(*kinds); k++) {
            struct object object = array_new(types[i], 6);
            for (uint64_t at = 0; at < object_elements(&object); at++) {
                uint32_t seed = (uint32_t)(at * 7 % kinds[k]);
                const uint64_t low = seed ? random_next(&seed) : 0;
                object_put(&object, at,
                           i < WORD_TYPES || !low ? low : low << 32 | random_next(&seed));
            }
            scan(&object);
            assert_int_equal(object.result->fields[0].distinct, kinds[k] > 256 ? 257 : kinds[k]);
            object_free(&object);
        }
    }
}

// --- Lines ---------------------------------------------------------------------------------------

// Floats near a line, as far from it as roundings tell apart, or farther. Many have so few bits
// that they are halfway between two that roundings give; some are special.
static void ties_near_lines(void **unused)
{
    (void)unused;
    uint32_t seed = 5;
    for (uint32_t type = DEVICE_F32; type <= DEVICE_F64; type++) {
        const unsigned drop = type == DEVICE_F32 ? 12 : 41;
        for (int noise = 3; noise < 16; noise++) {
            for (unsigned special = 0; special < 3; special++) {
                struct object object = array_new(type, 4);
                for (uint64_t k = 0; k < object_elements(&object); k++) {
                    const double error = (double)(random_next(&seed) % 1000) / 1000 - 0.5;
                    const double number = (17.0 * (double)k + 1) * (1 + ldexp(error, -noise));
                    const uint64_t bits = values_reference_convert(type, number);
                    object_put(&object, k, k % 3 || !special ? bits : bits >> drop << drop);
                    if (special == 2 && k % 50 == 7)
                        object_put_number(&object, k, k % 100 == 7 ? NAN : INFINITY);
                }
                scan(&object);
                object_free(&object);
            }
        }
    }
}

// Exact lines, of which some elements are as far away as still counts, or a little farther.
static void elements_beside_lines(void **unused)
{
    (void)unused;
    static const double errors[] = {0, 0x1p-20, -0x1p-20, 0x1.1p-20, 0x1.fp-21, -0x1.1p-20, 1, -2};
    for (uint32_t type = DEVICE_F32; type <= DEVICE_F64; type++) {
        struct object object = array_new(type, 4);
        for (uint64_t k = 0; k < object_elements(&object); k++)
            object_put_number(&object, k,
                              (3.0 * (double)k - 700) * (1 + errors[k % 16 ? 0 : k / 16 % 8]));
        scan(&object);
        assert_true(object.result->fields[0].linear >= object_elements(&object) / 16 * 15);
        object_free(&object);
    }
}

// Floats so small that the next one is not on the line. Some are the next one.
static void elements_beside_tiny_lines(void **unused)
{
    (void)unused;
    for (uint32_t type = DEVICE_F32; type <= DEVICE_F64; type++) {
        struct object object = array_new(type, 4);
        for (uint64_t k = 0; k < object_elements(&object); k++)
            object_put(&object, k, k + (k % 128 == 3));
        scan(&object);
        assert_true(object.result->fields[0].linear >= object_elements(&object) / 100 * 99);
        assert_true(object.result->fields[0].linear < object_elements(&object));
        object_free(&object);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(candidates_of_all_numbers),
        cmocka_unit_test(candidates_that_share_a_word),
        cmocka_unit_test(candidates_that_collide),
        cmocka_unit_test(zeros_in_lists_and_beside),
        cmocka_unit_test(one_element_of_another_type),
        cmocka_unit_test(doubles_without_upper_words),
        cmocka_unit_test(different_values),
        cmocka_unit_test(ties_near_lines),
        cmocka_unit_test(elements_beside_lines),
        cmocka_unit_test(elements_beside_tiny_lines),
    };
    return cmocka_run_group_tests(tests, harness_start, harness_finish);
}
