// SPDX-License-Identifier: Apache-2.0
// What blocks load, in profiles: rows are read back as they were written, and the view tells the
// same. What was not counted to its end is unknown.
#include "written.h"

#define FIELD_AS_SAME(type, name) assert_int_equal(row->name, wanted->name);

static bool see(void *user, const struct profile_block_reuse *row)
{
    const struct profile_block_reuse *wanted = &sample_block_reuse[(*(size_t *)user)++];
    FACTS_BLOCK_REUSE(FIELD_AS)
    return true;
}

static void rows_are_read_back(void **state)
{
    (void)state;
    struct base_error error = {0};
    size_t count = 0;
    struct profile *profile = write_sample();
    check_good(profile_each_block_reuse(profile, see, &count, &error), &error);
    assert_int_equal(count, SAMPLE_COUNT(sample_block_reuse));
    profile_close(profile);
}

static void the_view_tells_the_same(void **state)
{
    (void)state;
    struct profile *profile = write_sample();
    check_query(profile, "SELECT * FROM v_block_reuse",
                "5||1|1|1|8|8|4096|4096|8|256|512|0|520|0|8|28160|1\n"
                "9|2|1|1|2|1000|64|4096000|16384000||||7|120000|1|||0\n");
    profile_close(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(rows_are_read_back, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(the_view_tells_the_same, make_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
