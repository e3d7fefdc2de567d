// SPDX-License-Identifier: Apache-2.0
// Plans: every field is written and read back. A plan that was truncated at any byte, or changed,
// is rejected as a whole.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "plan/plan.h"

static const char text[] = "glint plan 1\n"
                           "image 0f3c9a /home/me/a solver\n"
                           "image 77ab /lib/libc.so.6\n"
                           "drop-sync 0:11a4 1:29d90\n"
                           "async-copy 0:11d0 0:1240 ...\n"
                           "pool 0:1\n"
                           "back =5 =18446744073709551615 0:ffffffffffffffff\n"
                           "last-use 1:0\n"
                           "end\n";

static enum base_code read_text(const char *from, size_t length, struct plan *plan)
{
    struct base_error error = {0};
    *plan = (struct plan){0};
    return plan_read(from, length, plan, &error);
}

static void check_refused(const char *from, size_t length)
{
    struct plan plan;
    assert_int_equal(read_text(from, length, &plan), BASE_SYNTAX);
    assert_int_equal(plan.rows.count + plan.images.count + plan.frames.count, 0);
}

static void what_is_written_is_read(void **state)
{
    (void)state;
    struct plan plan;
    struct base_buf out = {0};
    assert_int_equal(read_text(text, strlen(text), &plan), BASE_OK);
    assert_int_equal(plan.images.count, 2);
    assert_string_equal(plan.images.items[0].path, "/home/me/a solver");
    assert_string_equal(plan.images.items[1].build_id, "77ab");
    assert_int_equal(plan.rows.count, 5);
    assert_int_equal(plan.rows.items[1].remedy, PLAN_ASYNC_COPY);
    assert_true(plan.rows.items[1].truncated);
    assert_int_equal(plan.rows.items[1].frame_count, 2);
    assert_int_equal(plan.frames.items[plan.rows.items[1].first + 1].offset, 0x1240);
    assert_int_equal(plan.rows.items[3].numbers[0], 5);
    assert_true(plan.rows.items[3].numbers[1] == UINT64_MAX);
    plan_write(&plan, &out);
    assert_string_equal(out.text, text);
    base_buf_fini(&out);
    plan_fini(&plan);
}

static void what_is_made_is_written(void **state)
{
    (void)state;
    struct plan plan = {0};
    struct base_error error = {0};
    struct base_buf out = {0};
    uint32_t first = 9, again = 9, second = 9;
    size_t number = 0;
    assert_int_equal(plan_add_image(&plan, "0a", "/a", &first, &error), BASE_OK);
    assert_int_equal(plan_add_image(&plan, "0b", "/b", &second, &error), BASE_OK);
    assert_int_equal(plan_add_image(&plan, "0a", "/a", &again, &error), BASE_OK);
    assert_int_equal(first, again);
    const struct plan_frame frames[] = {{first, 16}, {second, 255}};
    struct plan_row row = {.remedy = PLAN_DROP_SYNC, .frame_count = 2};
    assert_int_equal(plan_add_row(&plan, row, frames, &number, &error), BASE_OK);
    assert_int_equal(number, 1);
    plan_write(&plan, &out);
    assert_string_equal(out.text, "glint plan 1\nimage 0a /a\nimage 0b /b\n"
                                  "drop-sync 0:10 1:ff\nend\n");
    base_buf_fini(&out);
    // Values that could not be read back are rejected.
    uint32_t none;
    assert_int_equal(plan_add_image(&plan, "", "/c", &none, &error), BASE_INVALID);
    assert_int_equal(plan_add_image(&plan, "0C", "/c", &none, &error), BASE_INVALID);
    assert_int_equal(plan_add_image(&plan, "0c", "/c\n", &none, &error), BASE_INVALID);
    row.frame_count = 0;
    assert_int_equal(plan_add_row(&plan, row, frames, &number, &error), BASE_INVALID);
    plan_fini(&plan);
}

static void a_plan_that_was_cut_off_is_refused(void **state)
{
    (void)state;
    for (size_t length = 0; length < strlen(text); length++)
        check_refused(text, length);
}

static void a_plan_that_was_changed_is_refused(void **state)
{
    (void)state;
    static const char *const others[] = {
        "glint plan 2\nend\n",
        "glint plan 1\nend\nend\n",
        "glint plan 1\nimage xx /a\nend\n",
        "glint plan 1\nimage 0a\nend\n",
        "glint plan 1\nimage 0a /a\ndrop-sync\nend\n",
        "glint plan 1\nimage 0a /a\ndrop-sync 1:10\nend\n",
        "glint plan 1\nimage 0a /a\ndrop-sync 0:\nend\n",
        "glint plan 1\nimage 0a /a\ndrop-sync 0:1g\nend\n",
        "glint plan 1\nimage 0a /a\ndrop-sync 0:10000000000000000\nend\n",
        "glint plan 1\nimage 0a /a\ndrop-sync ... 0:1\nend\n",
        "glint plan 1\nimage 0a /a\ndrop-sync  0:1\nend\n",
        "glint plan 1\nimage 0a /a\ndrop-all 0:1\nend\n",
        "glint plan 1\nimage 0a /a\nback 0:1\nend\n",
        "glint plan 1\nimage 0a /a\nback =1 =1 0:1\nend\n",
        "glint plan 1\nimage 0a /a\nback =2 =1 0:1\nend\n",
        "glint plan 1\nimage 0a /a\npool 0:1\nimage 0b /b\nend\n",
    };
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        check_refused(others[i], strlen(others[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(what_is_made_is_written),
        cmocka_unit_test(a_plan_that_was_cut_off_is_refused),
        cmocka_unit_test(a_plan_that_was_changed_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
