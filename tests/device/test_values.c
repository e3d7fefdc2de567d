// SPDX-License-Identifier: Apache-2.0
// The scan of contents alone: memory of all types and sizes is compared with the reference.
// test_values_layouts.c has structures.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "values_harness.h"

static const uint32_t types[] = {DEVICE_RAW,  DEVICE_U8,  DEVICE_S8,  DEVICE_U16, DEVICE_S16,
                                 DEVICE_U32,  DEVICE_S32, DEVICE_U64, DEVICE_S64, DEVICE_F16,
                                 DEVICE_BF16, DEVICE_F32, DEVICE_F64};
enum { TYPES = sizeof(types) / sizeof(*types) };

// --- Contents ------------------------------------------------------------------------------------

static void random_words_of_all_types(void **unused)
{
    (void)unused;
    for (unsigned i = 0; i < TYPES; i++) {
        struct object object = object_new(4 * 4096 + 100, i % 2 ? 16 : 0);
        object_type(&object, types[i]);
        object_scan(&object, DEVICE_RANGE, true, i % 2 ? 1 : 3);
        object_free(&object);
    }
}

// A single value, then one element that differs in one bit, at the ends and in between.
static void single_values_of_all_types(void **unused)
{
    (void)unused;
    for (unsigned i = 0; i < TYPES; i++) {
        struct object object = object_new(3 * 4096 + 8, i % 3 * 8);
        const uint64_t bits = i % 2 ? 0 : UINT64_C(0x4045400340424041);
        object_type(&object, types[i]);
        const uint64_t places[] = {0, object_elements(&object) / 2, object_elements(&object) - 1};
        for (uint64_t k = 0; k < object_elements(&object); k++)
            object_put(&object, k, bits);
        object_scan(&object, DEVICE_RANGE, true, 2);
        assert_int_equal(object.result->fields[0].distinct, 1);
        assert_int_equal(object.result->fields[0].candidates[0].count, object_elements(&object));
        for (unsigned k = 0; k < 3; k++) {
            object_put(&object, places[k], bits ^ 1);
            object_scan(&object, DEVICE_RANGE, true, 1 + k);
            assert_int_equal(object.result->fields[0].distinct, 2);
            object_put(&object, places[k], bits);
        }
        object_free(&object);
    }
}

// Numbers at the limits of the definitions, alone and mixed.
static void floats_at_limits(void **unused)
{
    (void)unused;
    static const double numbers[] = {0.0,        -0.0,         1.0,           -1.0,     0x1p24,
                                     0x1p24 + 1, 0x1p53,       0x1p53 + 2,    -0x1p53,  0x1p-149,
                                     0x1p-126,   0x1p-1074,    0x1p-1022,     0x1p-24,  0x1p-25,
                                     0x1p-14,    0x1.ffcp15,   0x1.ffep15,    0x1p16,   65504.5,
                                     0x1p-133,   0x1.fffffep1, 0x1.0000010p0, 0x1.01p0, 0x1.001p0,
                                     0x1p127,    -0x1p-20,     0.1,           1e30,     0x1.8p-24};
    enum { NUMBERS = sizeof(numbers) / sizeof(*numbers) };
    for (uint32_t type = DEVICE_F16; type <= DEVICE_F64; type++) {
        const uint64_t sign = UINT64_C(1) << (8 * values_reference_size(type) - 1);
        const uint64_t infinity = values_reference_convert(type, 1.0 / 0.0);
        const uint64_t nans[] = {infinity,
                                 infinity | sign,
                                 infinity | 1,
                                 infinity | sign | 1,
                                 infinity | infinity >> 1,
                                 infinity | (infinity & ~(infinity << 1)) >> 1};
        struct object object = object_new(2 * 4096, 0);
        object_type(&object, type);
        for (unsigned all = 0; all < NUMBERS + 7; all++) {
            for (uint64_t i = 0; i < object_elements(&object); i++) {
                if (all < NUMBERS)
                    object_put_number(&object, i, numbers[all]);
                else if (all < NUMBERS + 6)
                    object_put(&object, i, nans[all - NUMBERS]);
                else if (i % 3)
                    object_put_number(&object, i, numbers[i % NUMBERS]);
                else
                    object_put(&object, i, nans[i / 3 % 6]);
            }
            object_scan(&object, DEVICE_RANGE, true, 1);
        }
        object_free(&object);
    }
}

// Values with shares of all sizes around those that must be found; shuffled, and in runs.
static void frequent_values(void **unused)
{
    (void)unused;
    static const unsigned char shares[][12] = {{50, 30, 10, 9, 1},
                                               {10, 10, 10, 10, 10, 10, 10, 10, 10, 10},
                                               {99, 1},
                                               {11, 11, 11, 11, 11, 11, 11, 11, 12},
                                               {12, 88},
                                               {15, 15, 15, 15, 40},
                                               {51, 49},
                                               {9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 10}};
    uint32_t seed = 5;
    for (unsigned i = 0; i < sizeof(shares) / sizeof(*shares); i++) {
        for (unsigned shuffled = 0; shuffled < 2; shuffled++) {
            struct object object = object_new(8 * 4096 + 12, 4);
            object_type(&object, i % 2 ? DEVICE_F32 : DEVICE_S32);
            const uint64_t count = object_elements(&object);
            for (uint64_t k = 0; k < count; k++) {
                unsigned place = shuffled ? random_next(&seed) % 100 : (unsigned)(100 * k / count);
                unsigned value = 0;
                while (place >= shares[i][value])
                    place -= shares[i][value++];
                object_put(&object, k, 0x3f800000 + value * 0x10101);
            }
            object_scan(&object, DEVICE_RANGE, true, 3);
            object_free(&object);
        }
    }
}

// From few different values to more than the scan counts; some of them only in one place.
static void distinct_values(void **unused)
{
    (void)unused;
    static const unsigned kinds[] = {2, 3, 100, 255, 256, 257, 258, 1000};
    for (unsigned i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
        for (unsigned rare = 0; rare < 2; rare++) {
            struct object object = object_new(12 * 4096, 0);
            object_type(&object, i % 2 ? DEVICE_U64 : DEVICE_U16);
            const uint64_t count = object_elements(&object);
            for (uint64_t k = 0; k < count; k++)
                object_put(&object, k, rare ? (k < kinds[i] ? k : 0) : k * 7 % kinds[i]);
            object_scan(&object, DEVICE_RANGE, true, 3);
            assert_int_equal(object.result->fields[0].distinct, kinds[i] > 256 ? 257 : kinds[i]);
            object_free(&object);
        }
    }
}

// --- Lines and roundings -------------------------------------------------------------------------

static void integer_lines(void **unused)
{
    (void)unused;
    static const int64_t slopes[] = {1, 3, -1, -1000, 1024, 0x10001};
    for (uint32_t type = DEVICE_U8; type <= DEVICE_S64; type++) {
        for (unsigned i = 0; i < sizeof(slopes) / sizeof(*slopes); i++) {
            struct object object = object_new(9 * 4096 + 8, 8 * (i % 2));
            object_type(&object, type);
            const uint64_t count = object_elements(&object);
            for (uint64_t k = 0; k < count; k++) // outliers at the beginning, and elsewhere
                object_put(&object, k,
                           k < count / 250 || k % 201 == 0 ? k * k * k
                                                           : (uint64_t)slopes[i] * k + 0x1000001);
            object_scan(&object, DEVICE_RANGE, true, 3);
            const unsigned width = 8 * values_reference_size(type);
            if ((uint64_t)slopes[i] << (64 - width)) {
                assert_int_equal(object.result->fields[0].slope << (64 - width),
                                 (uint64_t)slopes[i] << (64 - width));
                assert_true(100 * object.result->fields[0].linear > 99 * count);
            }
            object_free(&object);
        }
    }
}

static void float_lines(void **unused)
{
    (void)unused;
    static const double lines[][2] = {{1, 0},       {0.1, 0},        {0.1, 17.3},
                                      {-0.25, 1e6}, {1e-30, 0},      {3e20, -7e3},
                                      {0x1p-10, 1}, {1.0 / 3, -200}, {0.5, 100000}};
    for (uint32_t type = DEVICE_F32; type <= DEVICE_F64; type++) {
        for (unsigned i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
            for (unsigned outliers = 0; outliers < 2; outliers++) {
                struct object object = object_new(9 * 4096 + 8, 8 * (i % 2));
                object_type(&object, type);
                const uint64_t count = object_elements(&object);
                for (uint64_t k = 0; k < count; k++)
                    object_put_number(&object, k,
                                      outliers && (k < count / 250 || k % 201 == 0)
                                          ? (double)(k * k) * 1e25
                                          : lines[i][0] * (double)k + lines[i][1]);
                object_scan(&object, DEVICE_RANGE, true, 3);
                assert_true(100 * object.result->fields[0].linear >= 99 * count);
                object_free(&object);
            }
        }
    }
}

// Denormal numbers, floats that have no odd numbers any more, and a line through -0.0; then one
// element is no number.
static void lines_at_limits(void **unused)
{
    (void)unused;
    static const struct {
        uint32_t type;
        double slope, first;
    } lines[] = {{DEVICE_F32, 0x1p-149, 0},  {DEVICE_F32, -0x1p-149, 0x1p-135},
                 {DEVICE_F32, 1, 0x1p24},    {DEVICE_F32, 1, -0.0},
                 {DEVICE_F64, 0x1p-1074, 0}, {DEVICE_F64, 1, 0x1p24 + 1},
                 {DEVICE_F64, -3, -0.0}};
    for (unsigned i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
        struct object object = object_new(9 * 4096 + 8, 0);
        object_type(&object, lines[i].type);
        const uint64_t count = object_elements(&object);
        for (uint64_t k = 0; k < count; k++)
            object_put_number(&object, k,
                              k ? lines[i].slope * (double)k + lines[i].first : lines[i].first);
        object_scan(&object, DEVICE_RANGE, true, 2);
        assert_int_equal(object.result->fields[0].linear, count);
        object_put_number(&object, count / 2, NAN);
        object_scan(&object, DEVICE_RANGE, true, 2);
        assert_int_equal(object.result->fields[0].linear, count - 1);
        object_free(&object);
    }
}

// A line in a part of the object, and lines in pieces that are marked here and there.
static void lines_in_parts(void **unused)
{
    (void)unused;
    for (uint32_t type = DEVICE_F32; type <= DEVICE_F64; type++) {
        struct object object = object_new(40 * 4096, 0);
        object_type(&object, type);
        const uint64_t count = object_elements(&object);
        for (uint64_t k = 0; k < count; k++)
            object_put_number(&object, k, k < count / 5 * 3 ? (double)k * 0.75 : 1.0);
        object_scan(&object, DEVICE_RANGE, true, 2);
        assert_true(object.result->fields[0].slope);
        for (uint32_t i = 0; i < 40; i += 11)
            object_mark(&object, i);
        object_scan(&object, DEVICE_MARKED, true, 2);
        for (uint64_t k = 0; k < count; k++)
            object_put_number(&object, k, (double)k * 0.75 + 3);
        for (uint32_t i = 3; i < 40; i += 7)
            object_mark(&object, i);
        object_scan(&object, DEVICE_MARKED, true, 2);
        assert_int_equal(object.result->fields[0].linear, object.result->fields[0].elements);
        object_free(&object);
    }
}

// Pieces that the GPU marks in place of probes: ranges, and the marks of another object.
static void marked_on_the_gpu(void **unused)
{
    (void)unused;
    static const struct {
        uint32_t first, count, blocks;
    } cases[] = {{0, 40, 1}, {39, 1, 3}, {5, 0, 1}, {2, 30, 2}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct object object = object_new(40 * 4096 - 100, 8), other = object_new(40 * 4096, 0);
        object_mark(&object, 1);
        object_mark(&other, 3);
        object_mark(&other, 39);
        object_mark_many(&object, i % 2 ? &other : NULL, cases[i].first, cases[i].count,
                         cases[i].blocks);
        const bool joined = i % 2;
        for (uint32_t k = 0; k < 40; k++) {
            const bool in = k - cases[i].first < cases[i].count;
            assert_int_equal(object_is_marked(&object, k),
                             in || k == 1 || (joined && (k == 3 || k == 39)));
            assert_int_equal(object_is_marked(&other, k), !joined && (k == 3 || k == 39));
        }
        object_scan(&object, DEVICE_MARKED, true, 2);
        object_free(&object);
        object_free(&other);
    }
}

// Most elements are one value, and one of these lies on the line of the others.
static void lines_beside_single_values(void **unused)
{
    (void)unused;
    for (uint32_t type = DEVICE_U32; type <= DEVICE_F64; type++) {
        struct object object = object_new(9 * 4096, 0);
        object_type(&object, type);
        const uint64_t count = object_elements(&object), part = count / 100 * 52;
        for (uint64_t k = 0; k < count; k++) {
            if (values_reference_is_float(type))
                object_put_number(&object, k, k < part ? 1000 : (double)k);
            else
                object_put(&object, k, k < part ? 1000 : k);
        }
        object_scan(&object, DEVICE_RANGE, true, 2);
        if (type != DEVICE_F16 && type != DEVICE_BF16)
            assert_int_equal(object.result->fields[0].linear, count - part + 1);
        object_free(&object);
    }
}

// The line of half-precision numbers is rounded as they are, also halfway between two of them.
static void half_lines(void **unused)
{
    (void)unused;
    for (uint32_t type = DEVICE_F16; type <= DEVICE_BF16; type++) {
        struct object object = object_new(4 * 4096, 0);
        object_type(&object, type);
        for (uint64_t k = 0; k < object_elements(&object); k++)
            object_put_number(&object, k, (double)k);
        object_scan(&object, DEVICE_RANGE, true, 2);
        assert_int_equal(object.result->fields[0].roundings[0].linear, object_elements(&object));
        object_free(&object);
    }
}

// Constants and lines with noise, which some roundings remove.
static void rounded_values(void **unused)
{
    (void)unused;
    uint32_t seed = 11;
    for (uint32_t type = DEVICE_F16; type <= DEVICE_F64; type++) {
        for (int noise = 4; noise < 26; noise += 3) {
            for (unsigned line = 0; line < 2; line++) {
                struct object object = object_new(5 * 4096, 0);
                object_type(&object, type);
                for (uint64_t k = 0; k < object_elements(&object); k++) {
                    const double error = (double)(random_next(&seed) % 1000) / 1000 - 0.5;
                    const double number = line ? 3.0 * (double)k + 1 : k % 4 ? 1.37 : -2;
                    object_put_number(&object, k, number * (1 + error / (double)(1 << noise)));
                }
                object_scan(&object, DEVICE_RANGE, true, 2);
                const struct device_field_result *field = &object.result->fields[0];
                const uint64_t on = field->roundings[DEVICE_ROUNDINGS - 1].linear;
                if (line && noise >= 10 && noise < 18 && type >= DEVICE_F32)
                    assert_true(10 * on >= 9 * object_elements(&object));
                object_free(&object);
            }
        }
    }
}

// --- Sizes and pieces ----------------------------------------------------------------------------

static void small_objects(void **unused)
{
    (void)unused;
    static const unsigned sizes[] = {1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 31, 33, 255, 4095};
    for (unsigned i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        for (unsigned lead = 0; lead < 16; lead += 4) {
            struct object object = object_new(sizes[i], lead);
            object_type(&object, types[(i + lead) % TYPES]);
            object_scan(&object, DEVICE_RANGE, true, 1 + lead / 8);
            object_free(&object);
        }
    }
}

static void odd_sizes_and_starts(void **unused)
{
    (void)unused;
    static const unsigned sizes[] = {4096, 4097, 4100, 8191, 8192, 12300};
    for (unsigned i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        for (unsigned lead = 0; lead < 32; lead += 4) {
            struct object object = object_new(sizes[i], lead);
            object_type(&object, types[(i + lead / 4) % TYPES]);
            object_scan(&object, DEVICE_RANGE, true, 2);
            object_free(&object);
        }
    }
}

// Copies, launches, and pieces that are known or were not seen, in turn: what is kept must follow.
static void kept_states(void **unused)
{
    (void)unused;
    uint32_t seed = 3;
    struct object object = object_new(37 * 4096 + 300, 12);
    object_type(&object, DEVICE_F32);
    for (unsigned round = 0; round < 32; round++) {
        const uint64_t bytes = object.job.end - object.job.first;
        const uint32_t which = random_next(&seed) % 4;
        const unsigned changes = random_next(&seed) % 30;
        if (round % 7 == 6) { // its contents have become unknown
            memset(object.states, 0, object.job.pieces);
            memset(object.kept, 0, sizeof(*object.kept));
        }
        for (unsigned i = 0; i < changes; i++)
            object.memory[random_next(&seed) % bytes] ^= 1;
        object.job.from = object.job.first + random_next(&seed) % bytes;
        object.job.to = object.job.from + random_next(&seed) % (object.job.end - object.job.from);
        for (uint32_t i = 0; which == DEVICE_MARKED && i < object.job.pieces; i++) {
            if (random_next(&seed) % (1 + round) == 0)
                object_mark(&object, i);
        }
        object_scan(&object, which, random_next(&seed) % 2, 1 + round % 4);
    }
    object_free(&object);
}

// Equal contents have equal hashes; contents that differ anywhere, or are exchanged, do not.
// A range that a set has filled with words: pieces in it are not read, others are.
static void filled_ranges(void **unused)
{
    (void)unused;
    static const uint64_t ranges[][2] = {{0, 40}, {1, 39}, {5, 6}, {0, 1}, {39, 40}};
    for (unsigned i = 0; i < 2 * sizeof(ranges) / sizeof(*ranges); i++) {
        struct object object = object_new(40 * 4096ul + 128, i % 2 ? 4 : 0);
        const uint32_t word = 0x3f8a0000 + i;
        object.job.from = object.job.first + ranges[i / 2][0] * 4096 + 8;
        object.job.to = object.job.first + ranges[i / 2][1] * 4096 + 12;
        object_scan(&object, DEVICE_RANGE, false, 3);
        for (uint64_t at = object.job.from - object.job.first;
             at < object.job.to - object.job.first; at += 4)
            memcpy(object.memory + at, &word, 4);
        object.job.filled = 1;
        object.job.word = word;
        object_scan(&object, DEVICE_RANGE, false, 3);
        object_scan(&object, DEVICE_RANGE, false, 2); // nothing has changed
        assert_int_equal(object.result->same, object.job.to - object.job.from);
        object_free(&object);
    }
}

static void hashes_tell_contents_apart(void **unused)
{
    (void)unused;
    struct object one = object_new(2 * 4096, 0), other = object_new(2 * 4096, 16);
    memcpy(other.memory, one.memory, 2 * 4096);
    object_scan(&one, DEVICE_RANGE, false, 1);
    object_scan(&other, DEVICE_RANGE, false, 2);
    assert_memory_equal(one.result->hash, other.result->hash, sizeof(one.result->hash));
    for (unsigned i = 0; i < 2 * 4096; i += 509) {
        other.memory[i] ^= 128;
        object_scan(&other, DEVICE_RANGE, false, 1);
        assert_memory_not_equal(one.result->hash, other.result->hash, sizeof(one.result->hash));
        other.memory[i] ^= 128;
    }
    memcpy(other.memory, one.memory + 4096, 4096);
    memcpy(other.memory + 4096, one.memory, 4096);
    object_scan(&other, DEVICE_RANGE, false, 1);
    assert_memory_not_equal(one.result->hash, other.result->hash, sizeof(one.result->hash));
    object_free(&one);
    object_free(&other);
}

static void many_jobs(void **unused)
{
    (void)unused;
    struct object objects[DEVICE_VALUES_JOBS], *list[DEVICE_VALUES_JOBS];
    for (unsigned i = 0; i < DEVICE_VALUES_JOBS; i++) {
        objects[i] = object_new(1 + i * i * 131, i * 4);
        list[i] = &objects[i];
        object_type(&objects[i], types[i % TYPES]);
        objects[i].job.which = i % 2 ? DEVICE_MARKED : DEVICE_RANGE;
        objects[i].job.describes = i % 5 != 0;
        for (uint32_t k = i % 3; k < objects[i].job.pieces; k += 2)
            object_mark(&objects[i], k);
    }
    objects_scan(list, DEVICE_VALUES_JOBS, 5);
    for (unsigned i = 0; i < DEVICE_VALUES_JOBS; i++)
        objects[i].job.which = DEVICE_UNSEEN;
    objects_scan(list, DEVICE_VALUES_JOBS, 1);
    for (unsigned i = 0; i < DEVICE_VALUES_JOBS; i++)
        object_free(&objects[i]);
}

// --- The reference -------------------------------------------------------------------------------

// Changing any number of a result must be noticed.
static void reference_rejects_wrong_results(void **unused)
{
    (void)unused;
    for (uint32_t type = DEVICE_U32; type <= DEVICE_F64; type++) {
        char why[200];
        struct object object = object_new(4 * 4096, 0);
        object_type(&object, type);
        const uint64_t count = object_elements(&object);
        for (uint64_t k = 0; k < count; k++) {
            if (values_reference_is_float(type))
                object_put_number(&object, k, k % 3 ? 1.5 : 0.01 * (double)k);
            else
                object_put(&object, k, k % 3 ? 5 : k);
        }
        object_scan(&object, DEVICE_RANGE, true, 1);
        struct device_values_result *result = object.result;
        uint64_t *words = (uint64_t *)&result->fields[0];
        const size_t slope = (size_t)(&result->fields[0].slope - words);
        for (size_t i = 0; i < sizeof(result->fields[0]) / sizeof(uint64_t); i++) {
            const uint64_t was = words[i];
            // The last bits of a float line may be others.
            words[i] ^= i == slope || i == slope + 1 ? UINT64_C(1) << 51 | 2 : 2;
            if (values_reference_check(&object.job, object.memory, object.looked_at, result, why,
                                       sizeof(why)))
                fail_msg("type %u: number %zu may be anything", type, i);
            words[i] = was;
        }
        const uint64_t sizes[] = {result->pieces, result->bytes};
        result->pieces++;
        assert_false(values_reference_check(&object.job, object.memory, object.looked_at, result,
                                            why, sizeof(why)));
        result->pieces = sizes[0];
        result->bytes--;
        assert_false(values_reference_check(&object.job, object.memory, object.looked_at, result,
                                            why, sizeof(why)));
        result->bytes = sizes[1];
        result->fields[0].candidates[0] = result->fields[0].candidates[1];
        assert_false(values_reference_check(&object.job, object.memory, object.looked_at, result,
                                            why, sizeof(why)));
        object_free(&object);
    }
}

// What the sample must find may not be missing.
static void reference_misses_what_is_not_reported(void **unused)
{
    (void)unused;
    char why[200];
    struct object object = object_new(4 * 4096, 0);
    object_type(&object, DEVICE_F32);
    for (uint64_t k = 0; k < object_elements(&object); k++)
        object_put_number(&object, k, (double)k);
    object_scan(&object, DEVICE_RANGE, true, 1);
    object.result->fields[0].slope = object.result->fields[0].intercept =
        object.result->fields[0].linear = 0;
    assert_false(values_reference_check(&object.job, object.memory, object.looked_at, object.result,
                                        why, sizeof(why)));
    for (uint64_t k = 0; k < object_elements(&object); k++)
        object_put_number(&object, k, 1.5);
    object_scan(&object, DEVICE_RANGE, true, 1);
    struct device_values_result saved = *object.result;
    object.result->fields[0].candidates[0].count = object.result->fields[0].candidates[0].value = 0;
    assert_false(values_reference_check(&object.job, object.memory, object.looked_at, object.result,
                                        why, sizeof(why)));
    *object.result = saved;
    object.result->fields[0].roundings[3].count = object.result->fields[0].roundings[3].value = 0;
    assert_false(values_reference_check(&object.job, object.memory, object.looked_at, object.result,
                                        why, sizeof(why)));
    object_free(&object);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_words_of_all_types),
        cmocka_unit_test(single_values_of_all_types),
        cmocka_unit_test(floats_at_limits),
        cmocka_unit_test(frequent_values),
        cmocka_unit_test(distinct_values),
        cmocka_unit_test(integer_lines),
        cmocka_unit_test(float_lines),
        cmocka_unit_test(lines_at_limits),
        cmocka_unit_test(lines_in_parts),
        cmocka_unit_test(marked_on_the_gpu),
        cmocka_unit_test(lines_beside_single_values),
        cmocka_unit_test(half_lines),
        cmocka_unit_test(rounded_values),
        cmocka_unit_test(small_objects),
        cmocka_unit_test(odd_sizes_and_starts),
        cmocka_unit_test(kept_states),
        cmocka_unit_test(filled_ranges),
        cmocka_unit_test(hashes_tell_contents_apart),
        cmocka_unit_test(many_jobs),
        cmocka_unit_test(reference_rejects_wrong_results),
        cmocka_unit_test(reference_misses_what_is_not_reported),
    };
    return cmocka_run_group_tests(tests, harness_start, harness_finish);
}
