// SPDX-License-Identifier: Apache-2.0
// Every field of corrections is written and read back, and the view agrees. The last record of a
// row wins, and remedies have the plan's names.
#include "testing.h"

#include "plan/plan.h"
#include "sample.h"

static bool see_correction(void *user, const struct profile_correction *row)
{
    const struct profile_correction *wanted = &sample_corrections[(*(size_t *)user)++];
    assert_int_equal(row->row, wanted->row);
    assert_int_equal(row->remedy, wanted->remedy);
    assert_int_equal(row->path, wanted->path);
    assert_int_equal(row->applied, wanted->applied);
    assert_int_equal(row->left_alone, wanted->left_alone);
    assert_int_equal(row->bytes, wanted->bytes);
    assert_int_equal(row->paid, wanted->paid);
    assert_int_equal(row->peak_bytes, wanted->peak_bytes);
    assert_int_equal(row->native_peak_bytes, wanted->native_peak_bytes);
    return true;
}

static void corrections_are_read_back_and_seen_in_their_view(void **state)
{
    (void)state;
    struct base_error error = {0};
    struct profile *profile;
    size_t seen = 0;
    check_good(sample_write(test_path, &error), &error);
    check_good(profile_open(test_path, &profile, &error), &error);
    check_good(profile_each_correction(profile, see_correction, &seen, &error), &error);
    assert_int_equal(seen, SAMPLE_COUNT(sample_corrections));
    check_query(profile, "SELECT * FROM v_corrections ORDER BY row",
                "|||0|0|0|7|512|864\n1|async-copy|2|300|4|1048576|0|0|0\n");
    profile_close(profile);
}

static void the_last_of_a_row_holds(void **state)
{
    (void)state;
    struct base_error error = {0};
    struct profile_writer *writer;
    struct profile *profile;
    struct profile_correction row = {.row = 1, .remedy = PROFILE_REMEDY_DROP_SYNC, .applied = 1};
    check_good(profile_create(test_path, true, &writer, &error), &error);
    for (unsigned i = 0; i < 3; i++, row.applied *= 2)
        check_good(profile_add_correction(writer, &row, &error), &error);
    check_good(profile_finish(writer, PROFILE_EXITED, 0, &error), &error);
    check_good(profile_open(test_path, &profile, &error), &error);
    check_query(profile, "SELECT row, remedy, applied FROM v_corrections", "1|drop-sync|4\n");
    profile_close(profile);
}

static void remedies_have_the_names_of_plans(void **state)
{
    (void)state;
    assert_int_equal(PROFILE_REMEDIES, PLAN_REMEDIES);
    for (int i = 1; i < PLAN_REMEDIES; i++)
        check_text(profile_remedy_word((enum profile_remedy)i),
                   plan_remedy_name((enum plan_remedy)i));
    check_text(profile_remedy_word(PROFILE_REMEDIES), "?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(corrections_are_read_back_and_seen_in_their_view,
                                        make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(the_last_of_a_row_holds, make_folder, remove_folder),
        cmocka_unit_test(remedies_have_the_names_of_plans),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
