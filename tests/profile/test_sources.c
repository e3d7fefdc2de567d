// SPDX-License-Identifier: Apache-2.0
// Source files are written and read back, and appear in their view.
#include "testing.h"

#include "sample.h"

static bool see_source(void *user, const struct profile_source *row)
{
    const struct profile_source *wanted = &sample_sources[(*(size_t *)user)++];
    assert_int_equal(row->number, wanted->number);
    check_text(row->name, wanted->name);
    check_text(row->path, wanted->path);
    check_text(row->text, wanted->text);
    assert_int_equal(row->changed, wanted->changed);
    return true;
}

static void sources_are_read_back_and_seen_in_their_view(void **state)
{
    (void)state;
    struct base_error error = {0};
    struct profile *profile;
    size_t seen = 0;
    check_good(sample_write(test_path, &error), &error);
    check_good(profile_open(test_path, &profile, &error), &error);
    check_good(profile_each_source(profile, see_source, &seen, &error), &error);
    assert_int_equal(seen, SAMPLE_COUNT(sample_sources));
    check_query(profile, "SELECT file, path, changed, length(text) FROM v_sources",
                "src/main.cu|/project/src/main.cu|0|19\nadd.cuh|/project/add.cuh|1|0\n");
    profile_close(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(sources_are_read_back_and_seen_in_their_view, make_folder,
                                        remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
