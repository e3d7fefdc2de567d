// SPDX-License-Identifier: Apache-2.0
// Lanes: which lane a slice gets, compared with a search through all lanes.
#include "testing.h"

#include "perfetto.h"

static void what_follows_stays_in_the_first_lane(void **state)
{
    (void)state;
    struct perfetto_lanes lanes = {0};
    for (int64_t i = -5; i < 100; i++)
        assert_int_equal(perfetto_lanes_take(&lanes, i, i + 1), 0);
    perfetto_lanes_fini(&lanes);
}

static void what_overlaps_has_lanes_of_its_own(void **state)
{
    (void)state;
    struct perfetto_lanes lanes = {0};
    assert_int_equal(perfetto_lanes_take(&lanes, 0, 10), 0);
    assert_int_equal(perfetto_lanes_take(&lanes, 9, 20), 1);
    assert_int_equal(perfetto_lanes_take(&lanes, 9, 12), 2);
    assert_int_equal(perfetto_lanes_take(&lanes, 10, 11), 0);
    assert_int_equal(perfetto_lanes_take(&lanes, 11, 30), 0);
    assert_int_equal(perfetto_lanes_take(&lanes, 12, 12), 2);
    assert_int_equal(perfetto_lanes_take(&lanes, 5, 6), 3); // before the existing slices
    perfetto_lanes_fini(&lanes);
}

static void lanes_that_are_left_are_taken_again(void **state)
{
    (void)state;
    struct perfetto_lanes lanes = {0};
    for (uint32_t i = 0; i < 5; i++)
        assert_int_equal(perfetto_lanes_take(&lanes, 0, INT64_MAX), i);
    perfetto_lanes_leave(&lanes, 3, 7);
    perfetto_lanes_leave(&lanes, 1, 8);
    assert_int_equal(perfetto_lanes_take(&lanes, 6, INT64_MAX), 5);
    assert_int_equal(perfetto_lanes_take(&lanes, 7, INT64_MAX), 3);
    assert_int_equal(perfetto_lanes_take(&lanes, 8, INT64_MAX), 1);
    perfetto_lanes_fini(&lanes);
}

static void it_is_always_the_lowest_that_is_free(void **state)
{
    (void)state;
    enum { MOST = 64 };
    int64_t free_from[MOST];
    uint64_t random = 12345;
    struct perfetto_lanes lanes = {0};
    for (uint32_t i = 0; i < MOST; i++)
        free_from[i] = INT64_MIN;
    for (unsigned i = 0; i < 20000; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        int64_t start = i + (int64_t)(random >> 60), end = start + (int64_t)(random >> 40) % 20;
        uint32_t wanted = 0;
        while (free_from[wanted] > start)
            wanted++;
        assert_true(wanted < MOST - 1);
        assert_int_equal(perfetto_lanes_take(&lanes, start, end), wanted);
        free_from[wanted] = end;
    }
    perfetto_lanes_fini(&lanes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_follows_stays_in_the_first_lane),
        cmocka_unit_test(what_overlaps_has_lanes_of_its_own),
        cmocka_unit_test(lanes_that_are_left_are_taken_again),
        cmocka_unit_test(it_is_always_the_lowest_that_is_free),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
