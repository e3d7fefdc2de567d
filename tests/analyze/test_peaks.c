// SPDX-License-Identifier: Apache-2.0
// Peaks of memory in use, compared with counting after every call.
#include "models.h"

enum { MOST = 3 };

static size_t find(const struct analyze_life *lives, size_t count, struct analyze_peak peaks[MOST])
{
    struct base_error error = {0};
    size_t found = 99;
    assert_int_equal(analyze_find_peaks(lives, count, peaks, MOST, &found, &error), BASE_OK);
    return found;
}

static void check_peak(const struct analyze_peak *peak, uint64_t bytes, uint64_t start,
                       uint64_t end, uint64_t times)
{
    assert_int_equal(peak->bytes, bytes);
    assert_int_equal(peak->start, start);
    assert_int_equal(peak->end, end);
    assert_int_equal(peak->times, times);
}

static void nothing_has_no_peak(void **state)
{
    (void)state;
    struct analyze_peak peaks[MOST];
    const struct analyze_life none[] = {{5, 5, 100}, {7, 3, 100}, {1, 9, 0}};
    assert_int_equal(find(NULL, 0, peaks), 0);
    assert_int_equal(find(none, 3, peaks), 0);
}

static void what_is_never_freed_is_a_peak_without_end(void **state)
{
    (void)state;
    struct analyze_peak peaks[MOST];
    const struct analyze_life lives[] = {{1, ANALYZE_NEVER, 10}, {2, 3, 5}, {4, ANALYZE_NEVER, 7}};
    assert_int_equal(find(lives, 3, peaks), 2);
    check_peak(&peaks[0], 17, 4, ANALYZE_NEVER, 1);
    check_peak(&peaks[1], 15, 2, 3, 1);
}

static void equal_levels_are_one_peak_and_counted(void **state)
{
    (void)state;
    struct analyze_peak peaks[MOST];
    const struct analyze_life lives[] = {{1, 2, 10}, {3, 4, 10}, {5, 6, 10}, {7, 8, 9}};
    assert_int_equal(find(lives, 4, peaks), 2);
    check_peak(&peaks[0], 10, 1, 2, 3);
    check_peak(&peaks[1], 9, 7, 8, 1);
}

static void a_level_on_the_way_up_is_no_peak(void **state)
{
    (void)state;
    struct analyze_peak peaks[MOST];
    const struct analyze_life lives[] = {{1, 9, 10}, {3, 8, 10}};
    assert_int_equal(find(lives, 2, peaks), 1);
    check_peak(&peaks[0], 20, 3, 8, 1);
}

static void one_call_that_frees_and_makes_is_one_change(void **state)
{
    (void)state;
    struct analyze_peak peaks[MOST];
    const struct analyze_life lives[] = {{1, 2, 10}, {2, 4, 10}}; // remapped
    assert_int_equal(find(lives, 2, peaks), 1);
    check_peak(&peaks[0], 10, 1, 4, 1);
}

static void sums_beyond_64_bits_stay_at_the_most(void **state)
{
    (void)state;
    struct analyze_peak peaks[MOST];
    const struct analyze_life lives[] = {{1, 5, UINT64_MAX}, {2, 4, UINT64_MAX}, {6, 7, 3}};
    assert_int_equal(find(lives, 3, peaks), 2);
    check_peak(&peaks[0], UINT64_MAX, 2, 4, 1);
    check_peak(&peaks[1], 3, 6, 7, 1);
}

// --- Random lifetimes ----------------------------------------------------------------------------

enum { CALLS = 40 };

// By definition: the bytes in use after each call; peaks are levels between a rise and a fall.
static size_t count_out(const struct analyze_life *lives, size_t count,
                        struct analyze_peak peaks[CALLS])
{
    uint64_t in_use[CALLS + 1] = {0};
    for (uint64_t call = 0; call <= CALLS; call++) {
        for (size_t i = 0; i < count; i++) {
            if (lives[i].start <= call && call < lives[i].end)
                in_use[call] += lives[i].bytes;
        }
    }
    size_t found = 0;
    for (uint64_t call = 0; call <= CALLS; call++) {
        uint64_t before = call ? in_use[call - 1] : 0, end = call;
        while (end <= CALLS && in_use[end] == in_use[call])
            end++;
        if (in_use[call] <= before || (end <= CALLS && in_use[end] > in_use[call]))
            continue;
        size_t same = 0;
        while (same < found && peaks[same].bytes != in_use[call])
            same++;
        if (same < found)
            peaks[same].times++;
        else
            peaks[found++] = (struct analyze_peak){.bytes = in_use[call],
                                                   .start = call,
                                                   .end = end <= CALLS ? end : ANALYZE_NEVER,
                                                   .times = 1};
    }
    return found;
}

static int higher_first(const void *one, const void *other)
{
    const struct analyze_peak *a = one, *b = other;
    return a->bytes > b->bytes ? -1 : a->bytes < b->bytes;
}

static void random_lives_give_what_counting_gives(void **state)
{
    (void)state;
    srand(4);
    for (int round = 0; round < 20000; round++) {
        struct analyze_life lives[12];
        struct analyze_peak peaks[MOST], wanted[CALLS + 1];
        size_t count = (size_t)(rand() % 13);
        for (size_t i = 0; i < count; i++) {
            lives[i].start = (uint64_t)(rand() % CALLS);
            lives[i].end = rand() % 4 == 0 ? ANALYZE_NEVER : (uint64_t)(rand() % CALLS);
            lives[i].bytes = (uint64_t)(rand() % 4); // small, so that levels are often equal
        }
        size_t wanted_count = count_out(lives, count, wanted);
        qsort(wanted, wanted_count, sizeof(wanted[0]), higher_first);
        if (wanted_count > MOST)
            wanted_count = MOST;
        assert_int_equal(find(lives, count, peaks), wanted_count);
        for (size_t i = 0; i < wanted_count; i++)
            check_peak(&peaks[i], wanted[i].bytes, wanted[i].start, wanted[i].end, wanted[i].times);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_has_no_peak),
        cmocka_unit_test(what_is_never_freed_is_a_peak_without_end),
        cmocka_unit_test(equal_levels_are_one_peak_and_counted),
        cmocka_unit_test(a_level_on_the_way_up_is_no_peak),
        cmocka_unit_test(one_call_that_frees_and_makes_is_one_change),
        cmocka_unit_test(sums_beyond_64_bits_stay_at_the_most),
        cmocka_unit_test(random_lives_give_what_counting_gives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
