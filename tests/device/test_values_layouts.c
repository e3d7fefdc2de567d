// SPDX-License-Identifier: Apache-2.0
// The scan of contents alone, as test_values.c: structures, types of two bytes, and bytes.
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "values_harness.h"

// --- Structures ----------------------------------------------------------------------------------

struct layout {
    uint32_t stride, count;
    uint32_t fields[DEVICE_FIELDS][2];
};

static void set_layout(struct object *object, const struct layout *layout)
{
    object->job.stride = layout->stride;
    object->job.field_count = layout->count;
    for (unsigned k = 0; k < layout->count; k++) {
        object->job.fields[k].offset = layout->fields[k][0];
        object->job.fields[k].type = layout->fields[k][1];
    }
}

static const struct layout layouts[] = {
    {8, 2, {{0, DEVICE_F32}, {4, DEVICE_F32}}},
    {8, 2, {{0, DEVICE_S32}, {4, DEVICE_F32}}},
    {8, 1, {{4, DEVICE_U32}}},
    {12, 3, {{0, DEVICE_F32}, {4, DEVICE_F32}, {8, DEVICE_F32}}},
    {16, 4, {{0, DEVICE_F32}, {4, DEVICE_S32}, {8, DEVICE_U32}, {12, DEVICE_F32}}},
    {16, 2, {{0, DEVICE_F64}, {8, DEVICE_F64}}},
    {16, 2, {{0, DEVICE_F64}, {8, DEVICE_S32}}},
    {16, 4, {{0, DEVICE_U8}, {2, DEVICE_U16}, {4, DEVICE_F32}, {8, DEVICE_F64}}},
    {20,
     5,
     {{0, DEVICE_F32}, {4, DEVICE_U32}, {8, DEVICE_S32}, {12, DEVICE_F32}, {16, DEVICE_RAW}}},
    {24, 3, {{0, DEVICE_U8}, {8, DEVICE_F64}, {16, DEVICE_U16}}},
    {32, 3, {{0, DEVICE_U64}, {16, DEVICE_S64}, {24, DEVICE_F32}}},
    {64, 2, {{0, DEVICE_F32}, {60, DEVICE_S32}}},
    {4, 2, {{0, DEVICE_F16}, {2, DEVICE_BF16}}},
    {4, 4, {{0, DEVICE_U8}, {1, DEVICE_S8}, {2, DEVICE_U8}, {3, DEVICE_U8}}},
    {3, 3, {{0, DEVICE_U8}, {1, DEVICE_U8}, {2, DEVICE_S8}}},
    {6, 3, {{0, DEVICE_F16}, {2, DEVICE_S16}, {4, DEVICE_U16}}},
    {10, 2, {{0, DEVICE_F64}, {8, DEVICE_BF16}}},
    {13, 3, {{0, DEVICE_U8}, {1, DEVICE_F32}, {5, DEVICE_S64}}},
    {5000, 2, {{0, DEVICE_S64}, {4992, DEVICE_F32}}},
    {40,
     8,
     {{0, DEVICE_U32},
      {4, DEVICE_S32},
      {8, DEVICE_F32},
      {12, DEVICE_U8},
      {13, DEVICE_S8},
      {14, DEVICE_S16},
      {16, DEVICE_F64},
      {32, DEVICE_U64}}},
    {1, 1, {{0, DEVICE_S8}}},
};
enum { LAYOUTS = sizeof(layouts) / sizeof(*layouts) };

// Random words, zeros, and lines in the first field.
static void structures(void **unused)
{
    (void)unused;
    for (unsigned i = 0; i < LAYOUTS; i++) {
        for (unsigned contents = 0; contents < 3; contents++) {
            struct object object = object_new(5 * 4096 + 52, 4 * contents);
            set_layout(&object, &layouts[i]);
            if (contents == 1)
                memset(object.memory, 0, 5 * 4096 + 52);
            for (uint64_t k = 0; contents == 2 && k < object_elements(&object); k++) {
                if (values_reference_is_float(object.job.fields[0].type))
                    object_put_number(&object, k, (double)k);
                else
                    object_put(&object, k, 3 * k);
            }
            object_scan(&object, DEVICE_RANGE, true, 2);
            object_free(&object);
        }
    }
}

// Structures at all distances from a multiple of 8, so that elements lie across words and pieces;
// the last one is not complete.
static void structures_that_are_not_aligned(void **unused)
{
    (void)unused;
    for (unsigned i = 0; i < LAYOUTS; i++) {
        for (unsigned lead = 1; lead < 8; lead++) {
            struct object object = object_new(3 * 4096 + 100 + 5 * lead, lead);
            set_layout(&object, &layouts[i]);
            object_scan(&object, DEVICE_RANGE, true, 1 + lead % 2);
            object_free(&object);
        }
    }
}

// Each field holds mostly one value, which is different for each, or one of a few, with others in
// between; so many pieces that a warp looks at several.
static void structures_with_frequent_values(void **unused)
{
    (void)unused;
    uint32_t seed = 17;
    for (unsigned i = 0; i < LAYOUTS; i++) {
        for (unsigned others = 0; others < 4; others++) {
            struct object object = object_new(30 * 4096 + 12, 4 * (others % 2));
            set_layout(&object, &layouts[i]);
            for (uint64_t k = 0; k < object_elements(&object); k++) {
                for (unsigned f = 0; f < layouts[i].count; f++) {
                    const uint32_t type = layouts[i].fields[f][1];
                    const uint32_t random = random_next(&seed);
                    const bool other = others && random % (others == 1 ? 5000 : 3) == 0;
                    const double number = 1.5 + f + (other ? 1 + (random >> 8) % (7 * others) : 0);
                    const uint64_t bits = values_reference_is_float(type)
                                              ? values_reference_convert(type, number)
                                              : (uint64_t)(number * 2);
                    memcpy(object.memory + k * layouts[i].stride + layouts[i].fields[f][0], &bits,
                           values_reference_size(type));
                }
            }
            object_scan(&object, DEVICE_RANGE, true, 1 + others % 2);
            object_free(&object);
        }
    }
}

// All patterns of two bytes, in order and mixed, with all NaNs, as arrays and in structures.
static void all_patterns_of_two_bytes(void **unused)
{
    (void)unused;
    static const uint32_t small[] = {DEVICE_U16, DEVICE_S16, DEVICE_F16, DEVICE_BF16};
    for (unsigned i = 0; i < 4; i++) {
        for (unsigned stride = 2; stride <= 8; stride += 2) {
            for (unsigned mixed = 0; mixed < 2; mixed++) {
                struct object object = object_new(65536 * stride, 2 * mixed);
                object_type(&object, small[i]);
                object.job.stride = stride;
                for (uint64_t k = 0; k < 65536; k++)
                    object_put(&object, k, mixed ? k * 40503 : k);
                object_scan(&object, DEVICE_RANGE, true, 2);
                assert_int_equal(object.result->fields[0].elements, 65536);
                object_free(&object);
            }
        }
    }
}

// Few structures, one piece of which is marked.
static void lines_in_one_of_few_pieces(void **unused)
{
    (void)unused;
    struct object object = object_new(9 * 4096, 0);
    object.job.stride = 40;
    object.job.fields[0].offset = 4;
    object.job.fields[0].type = DEVICE_F32;
    for (uint64_t k = 0; k < object_elements(&object); k++)
        object_put_number(&object, k, 5 - (double)k * 20.5);
    object_mark(&object, 4);
    object_scan(&object, DEVICE_MARKED, true, 2);
    assert_int_equal(object.result->fields[0].elements, 102);
    assert_int_equal(object.result->fields[0].linear, 102);
    object_free(&object);
}

// --- Bytes ---------------------------------------------------------------------------------------

// Bytes that differ by their place in a word, and some values that come late.
static void bytes_by_place(void **unused)
{
    (void)unused;
    static const unsigned char places[][4] = {{0xf1, 0xff, 0xff, 0xff},
                                              {0xff, 0x7f, 0xff, 0xff},
                                              {0x80, 0x80, 0x81, 0x80},
                                              {0x01, 0x02, 0x04, 0x18},
                                              {0x00, 0x80, 0x00, 0x7f}};
    for (uint32_t type = DEVICE_U8; type <= DEVICE_S8; type++) {
        for (unsigned i = 0; i < sizeof(places) / sizeof(*places); i++) {
            struct object object = object_new(9 * 4096 + 5, 0);
            object_type(&object, type);
            const uint64_t count = object_elements(&object);
            for (uint64_t k = 0; k < count; k++)
                object_put(&object, k, places[i][k % 4]);
            object_scan(&object, DEVICE_RANGE, true, 1 + i % 2);
            for (unsigned late = 0; late < 3; late++) {
                object_put(&object, count - 6000 - late, late == 2 ? 0 : 0x55 + late);
                object_scan(&object, DEVICE_RANGE, true, 1 + i % 2);
            }
            object_free(&object);
        }
    }
}

// Sets of bytes with and without gaps, also at the ends; some values only once, and late.
static void sets_of_bytes(void **unused)
{
    (void)unused;
    static const struct {
        unsigned from, to, step;
    } sets[] = {{0, 9, 1},     {0, 1, 1},      {0, 255, 255}, {10, 240, 1},  {120, 135, 1},
                {0, 254, 2},   {128, 255, 1},  {1, 127, 1},   {0, 255, 1},   {3, 3, 1},
                {64, 192, 64}, {200, 255, 11}, {127, 128, 1}, {0, 127, 127}, {1, 255, 1}};
    uint32_t seed = 23;
    for (unsigned i = 0; i < sizeof(sets) / sizeof(*sets); i++) {
        const unsigned kinds = (sets[i].to - sets[i].from) / sets[i].step + 1;
        for (unsigned often = 0; often < 2; often++) { // one of them has a share of 30 %
            struct object object = object_new(40 * 4096, 0);
            object_type(&object, i % 2 ? DEVICE_S8 : DEVICE_U8);
            for (uint64_t k = 0; k < object_elements(&object); k++) {
                const uint32_t random = random_next(&seed);
                const bool first = often && random % 10 < 3;
                object_put(&object, k,
                           sets[i].from + (first ? 0 : (random >> 8) % kinds) * sets[i].step);
            }
            object_scan(&object, DEVICE_RANGE, true, 1 + often);
            assert_int_equal(object.result->fields[0].distinct, kinds);
            object_put(&object, 39 * 4096 + 77, sets[i].to + 1);
            object_put(&object, 38 * 4096 + 5, sets[i].from - 1);
            object_scan(&object, DEVICE_RANGE, true, 1 + often);
            object_free(&object);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(structures),
        cmocka_unit_test(structures_that_are_not_aligned),
        cmocka_unit_test(structures_with_frequent_values),
        cmocka_unit_test(all_patterns_of_two_bytes),
        cmocka_unit_test(lines_in_one_of_few_pieces),
        cmocka_unit_test(bytes_by_place),
        cmocka_unit_test(sets_of_bytes),
    };
    return cmocka_run_group_tests(tests, harness_start, harness_finish);
}
