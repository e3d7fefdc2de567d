// SPDX-License-Identifier: Apache-2.0
// Call paths with all of their addresses are written and read back, and appear in their view. The
// last path of a number wins.
#include "testing.h"

#include "sample.h"

static bool see_stack(void *user, const struct profile_stack *row)
{
    const struct profile_stack *wanted = &sample_stacks[(*(size_t *)user)++];
    assert_int_equal(row->number, wanted->number);
    check_text(row->addresses, wanted->addresses);
    return true;
}

static void stacks_are_read_back_and_seen_in_their_view(void **state)
{
    (void)state;
    struct base_error error = {0};
    struct profile *profile;
    size_t seen = 0;
    check_good(sample_write(test_path, &error), &error);
    check_good(profile_open(test_path, &profile, &error), &error);
    check_good(profile_each_stack(profile, see_stack, &seen, &error), &error);
    assert_int_equal(seen, SAMPLE_COUNT(sample_stacks));
    check_query(profile, "SELECT * FROM v_stacks",
                "1|2:9c40 1:11a4 1:1240\n2|0:7f0000001000 1:1250 ...\n");
    profile_close(profile);
}

static void the_last_of_a_number_holds(void **state)
{
    (void)state;
    struct base_error error = {0};
    struct profile_writer *writer;
    struct profile *profile;
    const struct profile_stack rows[] = {{3, "1:10"}, {3, "1:20"}};
    check_good(profile_create(test_path, true, &writer, &error), &error);
    for (unsigned i = 0; i < 2; i++)
        check_good(profile_add_stack(writer, &rows[i], &error), &error);
    check_good(profile_finish(writer, PROFILE_EXITED, 0, &error), &error);
    check_good(profile_open(test_path, &profile, &error), &error);
    check_query(profile, "SELECT * FROM v_stacks", "3|1:20\n");
    profile_close(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(stacks_are_read_back_and_seen_in_their_view, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(the_last_of_a_number_holds, make_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
