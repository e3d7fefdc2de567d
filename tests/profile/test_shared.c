// SPDX-License-Identifier: Apache-2.0
// Shared memory in profiles: rows are read back as they were written, the views tell the same, and
// launches with equal counts have the rows of words in common.
#include "written.h"

#define FIELD_AS_SAME(type, name)         assert_int_equal(row->name, wanted->name);
#define FIELD_AS_WIDER(event, type, name) assert_int_equal(row->name, wanted->name);

static bool see_array(void *user, const struct profile_shared_array *row)
{
    const struct profile_shared_array *wanted = &sample_shared_arrays[(*(size_t *)user)++];
    FACTS_SHARED_ARRAY(FIELD_AS)
    assert_string_equal(row->name, wanted->name);
    return true;
}

static bool see_site_array(void *user, const struct profile_site_array *row)
{
    const struct profile_site_array *wanted = &sample_site_arrays[(*(size_t *)user)++];
    assert_int_equal(row->kernel, wanted->kernel);
    assert_int_equal(row->site, wanted->site);
    assert_string_equal(row->name, wanted->name);
    return true;
}

static bool see_words(void *user, const struct profile_shared_words *row)
{
    const struct profile_shared_words *wanted = &sample_shared_words[(*(size_t *)user)++];
    FACTS_SHARED_WORDS(FIELD_AS)
    assert_int_equal(row->run_count, wanted->run_count);
    assert_memory_equal(row->runs, wanted->runs, row->run_count * sizeof(row->runs[0]));
    return true;
}

static bool see_ranges(void *user, const struct profile_shared_ranges *row)
{
    const struct profile_shared_ranges *wanted = &sample_shared_ranges[(*(size_t *)user)++];
    FACTS_SHARED_RANGES(FIELD_AS)
    return true;
}

static bool see_lives(void *user, const struct profile_shared_lives *row)
{
    const struct profile_shared_lives *wanted = &sample_shared_lives[(*(size_t *)user)++];
    FACTS_SHARED_LIVES(FIELD_AS)
    return true;
}

static void rows_are_read_back(void **state)
{
    (void)state;
    struct base_error error = {0};
    size_t arrays = 0, sites = 0, words = 0, ranges = 0, reuse = 0;
    struct profile *profile = write_sample();
    check_good(profile_each_shared_array(profile, see_array, &arrays, &error), &error);
    assert_int_equal(arrays, SAMPLE_COUNT(sample_shared_arrays));
    check_good(profile_each_site_array(profile, see_site_array, &sites, &error), &error);
    assert_int_equal(sites, SAMPLE_COUNT(sample_site_arrays));
    check_good(profile_each_shared_words(profile, see_words, &words, &error), &error);
    assert_int_equal(words, SAMPLE_COUNT(sample_shared_words));
    check_good(profile_each_shared_ranges(profile, see_ranges, &ranges, &error), &error);
    assert_int_equal(ranges, SAMPLE_COUNT(sample_shared_ranges));
    check_good(profile_each_shared_lives(profile, see_lives, &reuse, &error), &error);
    assert_int_equal(reuse, SAMPLE_COUNT(sample_shared_lives));
    profile_close(profile);
}

// The array of 1026 bytes ends in the middle of a word. What is untouched is unknown if not all
// accesses were counted, and known if counts are lower bounds.
static void views_tell_the_same(void **state)
{
    (void)state;
    struct profile *profile = write_sample();
    check_query(profile,
                "SELECT call, node, kernel, array, name, bytes, dynamic, blocks, words,"
                " touched_words, untouched_bytes, lost, missed, complete FROM v_shared_arrays",
                "5||1|1|tile|1026|0|8|257|200|226|0|3|0\n9|2|1|2|rest|1044|1|8|261|204||7|0|0\n");
    check_query(profile,
                "SELECT loads, loads_min, round(loads_mean, 2), loads_max, stores, stores_min,"
                " round(stores_mean, 2), stores_max FROM v_shared_arrays",
                "6400|0|24.9|32|400|0|1.56|2\n6400|0|24.52|32|404|0|1.55|2\n");
    check_query(profile, "SELECT number, array FROM v_kernel_sites WHERE array IS NOT NULL",
                "2|tile\n");
    check_query(profile, "SELECT * FROM v_shared_words",
                "5||1|1|tile|0|200|32|2\n5||1|1|tile|200|57|0|0\n"
                "9|2|1|2|rest|0|200|32|2\n9|2|1|2|rest|200|57|0|0\n9|2|1|2|rest|257|4|0|1\n");
    profile_close(profile);
}

// Live ranges of the second array are unknown.
static void views_have_live_ranges(void **state)
{
    (void)state;
    struct profile *profile = write_sample();
    check_query(profile,
                "SELECT call, name, unstored_loads, ranges, unloaded_ranges, repeated_loads,"
                " round(own_share, 3), drain_loads, fills, fills_min, round(fills_mean, 3),"
                " fills_max, loads_per_fill_min, loads_per_fill_mean, loads_per_fill_max"
                " FROM v_shared_arrays",
                "5|tile|100|400|40|5940|0.032|100|320|0|1.245|3|0.5|18.75|25\n"
                "9|rest|||||||||||||\n");
    check_query(profile,
                "SELECT call, node, kernel, array, name, site, kind, words, ranges, unloaded,"
                " loads, repeated_loads, own_loads, drain_loads FROM v_shared_ranges",
                "5||1|1|tile|1|fill|160|320|20|6000|5700|200|100\n"
                "5||1|1|tile|2|computed|40|80|20|300|240|0|0\n");
    profile_close(profile);
}

static void add(struct profile_writer *writer, uint64_t call, uint32_t array, uint64_t loads)
{
    const struct profile_shared_run runs[] = {{10, loads, 1}, {6, 0, 0}};
    const struct profile_shared_words words = {.call = call,
                                               .blocks = 1,
                                               .kernel = 1,
                                               .array = array,
                                               .bytes = 64,
                                               .runs = runs,
                                               .run_count = 2};
    struct base_error error = {0};
    check_good(profile_add_shared_words(writer, &words, &error), &error);
}

// Near misses: other counts, and another array, have rows of their own.
static void equal_counts_are_stored_once(void **state)
{
    (void)state;
    struct profile_writer *writer;
    struct base_error error = {0};
    check_good(profile_create(test_path, true, &writer, &error), &error);
    add(writer, 1, 1, 5);
    add(writer, 2, 1, 5);
    add(writer, 3, 1, 6);
    add(writer, 4, 2, 5);
    check_good(profile_finish(writer, PROFILE_EXITED, 0, &error), &error);
    struct profile *profile = open_written();
    check_query(profile, "SELECT count(*) FROM shared_runs", "6\n");
    check_query(profile, "SELECT call, sum(words * loads) FROM v_shared_words GROUP BY call",
                "1|50\n2|50\n3|60\n4|50\n");
    profile_close(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(rows_are_read_back, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(views_tell_the_same, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(views_have_live_ranges, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(equal_counts_are_stored_once, make_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
