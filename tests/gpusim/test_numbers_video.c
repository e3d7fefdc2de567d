// SPDX-License-Identifier: Apache-2.0
// The video instructions: results of an H200 (numbers_video.inc), and for other cases known answers
// from the PTX manual.
#include "gpusim/numbers/video.h"

#include "numbers_testing.h"
#include "numbers_video.inc"

static void scalar_forms_give_what_an_h200_gave(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof scalar_rows / sizeof *scalar_rows; i++)
        assert_int_equal(num_video_scalar(&scalar_rows[i].form, scalar_rows[i].a, scalar_rows[i].b,
                                          scalar_rows[i].c),
                         scalar_rows[i].result);
}

static void lane_forms_give_what_an_h200_gave(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof lane_rows / sizeof *lane_rows; i++)
        assert_int_equal(
            num_video_lanes(&lane_rows[i].form, lane_rows[i].a, lane_rows[i].b, lane_rows[i].c),
            lane_rows[i].result);
}

static void vmad_gives_what_an_h200_gave(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof vmad_rows / sizeof *vmad_rows; i++)
        assert_int_equal(
            num_vmad(&vmad_rows[i].form, vmad_rows[i].a, vmad_rows[i].b, vmad_rows[i].c),
            vmad_rows[i].result);
}

static void saturation_and_merging_follow_the_manual(void **state)
{
    (void)state;
    struct num_video form = {.op = NUM_VADD, .saturate = true};
    // For unsigned words, the hardware saturates differences, but not sums.
    assert_int_equal(num_video_scalar(&form, 0xFFFFFFFFu, 2, 0), 1);
    form.a_signed = true;
    assert_int_equal(num_video_scalar(&form, 0x7FFFFFFFu, 0xFFFFFFFFu, 0), 0xFFFFFFFFu);
    form = (struct num_video){.op = NUM_VSUB, .saturate = true};
    assert_int_equal(num_video_scalar(&form, 1, 2, 0), 0);
    form = (struct num_video){.op = NUM_VSUB, .d_signed = true, .saturate = true, .d = NUM_PART_B1};
    assert_int_equal(num_video_scalar(&form, 1, 200, 0xAABBCCDDu), 0xAABB80DDu);
    form = (struct num_video){
        .op = NUM_VADD, .a_signed = true, .b_signed = true, .saturate = true, .d = NUM_PART_H1};
    assert_int_equal(num_video_scalar(&form, 0x12345, 0x34, 0xAABBCCDDu), 0xFFFFCCDDu);
    assert_int_equal(num_video_scalar(&form, 0x123, 0x34, 0xAABBCCDDu), 0x0157CCDDu);
    form = (struct num_video){.op = NUM_VADD, .second = NUM_SECOND_MAX};
    assert_int_equal(num_video_scalar(&form, 3, 4, 0xFFFFFFF0u), 0xFFFFFFF0u);
    form.second = NUM_SECOND_MIN;
    form.d_signed = true;
    assert_int_equal(num_video_scalar(&form, 3, 4, 0xFFFFFFF0u), 0xFFFFFFF0u);
    form = (struct num_video){.op = NUM_VSHL, .saturate = true};
    assert_int_equal(num_video_scalar(&form, 3, 31, 0), 0xFFFFFFFFu);
    assert_int_equal(num_video_scalar(&form, 1, 31, 0), 0x80000000u);
    form = (struct num_video){.op = NUM_VSHR, .a_signed = true};
    assert_int_equal(num_video_scalar(&form, 0x80000000u, 100, 0), 0xFFFFFFFFu);
    struct num_vmad mad = {.saturate = true};
    assert_int_equal(num_vmad(&mad, 0x10000, 0x10000, 0), 0xFFFFFFFFu);
    mad = (struct num_vmad){.scale = 7};
    assert_int_equal(num_vmad(&mad, 0x10000, 0x10000, 0x80), (1u << 25) + 1);
}

static void comparisons_of_parts_give_one_or_zero(void **state)
{
    (void)state;
    struct num_video form = {.op = NUM_VSET, .cmp = NUM_CMP_LT, .a_signed = true, .a = NUM_PART_B3};
    assert_int_equal(num_video_scalar(&form, 0xFF000000u, 0, 0), 1);
    form.a_signed = false;
    assert_int_equal(num_video_scalar(&form, 0xFF000000u, 0, 0), 0);
    form.d = NUM_PART_B2;
    assert_int_equal(num_video_scalar(&form, 0, 1, 0xFFFFFFFFu), 0xFF01FFFFu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scalar_forms_give_what_an_h200_gave),
        cmocka_unit_test(lane_forms_give_what_an_h200_gave),
        cmocka_unit_test(vmad_gives_what_an_h200_gave),
        cmocka_unit_test(saturation_and_merging_follow_the_manual),
        cmocka_unit_test(comparisons_of_parts_give_one_or_zero),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
