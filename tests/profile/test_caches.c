// SPDX-License-Identifier: Apache-2.0
// What the model of the caches found, in profiles: rows are read back as they were written, and the
// views tell the same of all lines. Equal distances are stored once.
#include "written.h"

static bool see_launch(void *user, const struct profile_cache_launch *row)
{
    const struct profile_cache_launch *wanted = &sample_cache_launches[(*(size_t *)user)++];
    assert_int_equal(row->call, wanted->call);
    assert_int_equal(row->node, wanted->node);
    assert_int_equal(row->kernel, wanted->kernel);
    assert_string_equal(row->preset, wanted->preset);
    assert_int_equal(row->share, wanted->share);
    assert_int_equal(row->resident, wanted->resident);
    assert_int_equal(row->shared_bytes, wanted->shared_bytes);
    assert_int_equal(row->l1_bytes, wanted->l1_bytes);
    assert_int_equal(row->l2_bytes, wanted->l2_bytes);
    assert_int_equal(row->records, wanted->records);
    assert_int_equal(row->lost, wanted->lost);
    return true;
}

static bool see_cache(void *user, const struct profile_cache *row)
{
    const struct profile_cache *wanted = &sample_cache[(*(size_t *)user)++];
    assert_int_equal(row->call, wanted->call);
    assert_int_equal(row->node, wanted->node);
    assert_int_equal(row->object, wanted->object);
    assert_int_equal(row->kernel, wanted->kernel);
    assert_int_equal(row->site, wanted->site);
    assert_memory_equal(row->l1, wanted->l1, sizeof(row->l1));
    assert_memory_equal(row->l2, wanted->l2, sizeof(row->l2));
    assert_int_equal(row->read, wanted->read);
    assert_int_equal(row->written, wanted->written);
    assert_int_equal(row->l1_error, wanted->l1_error);
    assert_int_equal(row->l2_error, wanted->l2_error);
    return true;
}

static bool see_reuse(void *user, const struct profile_cache_reuse *row)
{
    const struct profile_cache_reuse *wanted = &sample_cache_reuse[(*(size_t *)user)++];
    assert_int_equal(row->call, wanted->call);
    assert_int_equal(row->node, wanted->node);
    assert_int_equal(row->object, wanted->object);
    assert_int_equal(row->kernel, wanted->kernel);
    assert_int_equal(row->level, wanted->level);
    assert_int_equal(row->first, wanted->first);
    assert_memory_equal(row->sectors, wanted->sectors, sizeof(row->sectors));
    return true;
}

static void rows_are_read_back(void **state)
{
    (void)state;
    struct base_error error = {0};
    size_t launches = 0, caches = 0, reuse = 0;
    struct profile *profile = write_sample();
    check_good(profile_each_cache_launch(profile, see_launch, &launches, &error), &error);
    check_good(profile_each_cache(profile, see_cache, &caches, &error), &error);
    check_good(profile_each_cache_reuse(profile, see_reuse, &reuse, &error), &error);
    assert_int_equal(launches, SAMPLE_COUNT(sample_cache_launches));
    assert_int_equal(caches, SAMPLE_COUNT(sample_cache));
    assert_int_equal(reuse, SAMPLE_COUNT(sample_cache_reuse));
    profile_close(profile);
}

static void the_views_tell_of_all_lines(void **state)
{
    (void)state;
    struct profile *profile = write_sample();
    check_query(profile, "SELECT * FROM v_cache_launches",
                "5||1|h200|0.0625|32768|8|229376|62914560|1100|3\n"
                "9|2|1|rtx3090|1|0||131072|6291456|40|0\n");
    check_query(profile, "SELECT * FROM v_cache",
                "5||1|1|1|64000|16000|0|0|0|0|48000|24000|0|0|0|0|25600|0|25|||50|||1.25|2.5\n"
                "5||1|2|2|0|0|6400|1600|1600|0|0|0|6400|6400|1600|800|800|7200||25|0||100|50|0.8|"
                "\n"
                "9|2|1||1|7|0|0|0|0|0|7|2|0|0|0|0|5|0|0|||28.5714||||\n");
    check_query(profile, "SELECT * FROM v_cache_reuse",
                "5||1|1|1|12800|51200\n"
                "5||1|1|2|12800|35200\n"
                "9|2|1||2|5|2200\n");
    check_query(profile, "SELECT * FROM v_cache_distances ORDER BY call, level, lines_min",
                "5||1|1|1|0|0|14400\n"
                "5||1|1|1|512|1023|1600\n"
                "5||1|1|1|2048|4095|35200\n"
                "5||1|1|2|2048|4095|11200\n"
                "5||1|1|2|524288|1048575|24000\n"
                "9|2|1||2|2048|4095|700\n"
                "9|2|1||2|524288|1048575|1500\n");
    profile_close(profile);
}

static void equal_distances_are_stored_once(void **state)
{
    (void)state;
    struct profile *profile = write_sample();
    check_query(profile, "SELECT COUNT(*), COUNT(DISTINCT counts) FROM cache_distances", "5|2\n");
    profile_close(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(rows_are_read_back, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(the_views_tell_of_all_lines, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(equal_distances_are_stored_once, make_folder,
                                        remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
