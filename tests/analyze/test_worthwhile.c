// SPDX-License-Identifier: Apache-2.0
// Which findings are worthwhile: by their own gain, from exactly 4 KiB and 0.1 % on; by the gain
// together with others; and, if times are not real, by the number of waits they save.
#include "timed.h"

enum { MS = 1000000, KIB = 1024, SYNC_PATH = 700, OTHER_PATH = 701 };

static const struct analyze_finding *find(const struct analysis *analysis,
                                          enum analyze_pattern pattern, uint32_t object)
{
    for (size_t i = 0; i < analyze_finding_count(analysis); i++) {
        const struct analyze_finding *finding = analyze_finding(analysis, i);
        if (finding->pattern == pattern && finding->object == object + 1)
            return finding;
    }
    fail_msg("no %s of object %u", analyze_pattern_word(pattern), object);
    return NULL;
}

// Worthwhile findings come first, and their number is right.
static void check_order(const struct analysis *analysis)
{
    for (size_t i = 0; i < analyze_finding_count(analysis); i++)
        assert_int_equal(analyze_finding(analysis, i)->worthwhile,
                         i < analyze_worthwhile_count(analysis));
}

// --- By themselves -------------------------------------------------------------------------------

// One object is used, and another is unused.
static bool is_unused_worthwhile(uint64_t used_bytes, uint64_t unused_bytes)
{
    struct analyze_model model;
    model_begin(&model);
    const uint32_t used = allocate(&model, used_bytes);
    const uint32_t unused = allocate(&model, unused_bytes);
    launch(&model, LEGACY, 1);
    uses(&model, used, ANALYZE_WRITE);
    release(&model, used);
    release(&model, unused);
    struct analysis *analysis = analyze(&model, analyze_default_thresholds());
    const struct analyze_finding *finding = find(analysis, ANALYZE_UNUSED_ALLOCATION, unused);
    const bool worthwhile = finding->worthwhile;
    assert_int_equal(finding->peak_bytes, unused_bytes);
    assert_false(finding->only_together);
    check_order(analysis);
    analyze_free(analysis);
    return worthwhile;
}

static void four_kib_and_a_thousandth_are_the_least_gain(void **state)
{
    (void)state;
    assert_true(is_unused_worthwhile(64 * KIB, 4096));
    assert_false(is_unused_worthwhile(64 * KIB, 4095));
    assert_true(is_unused_worthwhile(9990000, 10000));
    assert_false(is_unused_worthwhile(9990010, 10000)); // the peak is 10,000,010
    assert_false(is_unused_worthwhile(9990001, 9999));
}

static void memory_that_is_idle_at_no_peak_is_not_worthwhile(void **state)
{
    (void)state;
    struct analyze_model model;
    model_begin(&model);
    const uint32_t x = allocate(&model, 256 * KIB), y = allocate(&model, 256 * KIB);
    copy_in(&model, x, 0, 256 * KIB);
    set(&model, y, 0, 128 * KIB);
    set(&model, y, 128 * KIB, 128 * KIB);
    launch(&model, LEGACY, 1);
    uses(&model, x, ANALYZE_READ);
    uses(&model, y, ANALYZE_READ | ANALYZE_WRITE);
    copy_out(&model, y, 0, 256 * KIB);
    release(&model, x);
    release(&model, y);
    struct analysis *analysis = analyze(&model, analyze_default_thresholds());
    assert_false(find(analysis, ANALYZE_TEMPORARY_IDLENESS, x)->worthwhile);
    assert_int_equal(analyze_worthwhile_count(analysis), 0);
    analyze_free(analysis);
}

// Bytes of dead writes, compared with all bytes moved.
static bool is_dead_write_worthwhile(uint64_t dead_bytes, uint64_t moved_bytes)
{
    struct analyze_model model;
    model_begin(&model);
    const uint32_t a = allocate(&model, dead_bytes), b = allocate(&model, moved_bytes);
    set(&model, a, 0, dead_bytes);
    copy_in(&model, a, 0, dead_bytes);
    copy_in(&model, b, 0, moved_bytes);
    launch(&model, LEGACY, 1);
    uses(&model, a, ANALYZE_READ);
    uses(&model, b, ANALYZE_READ);
    release(&model, a);
    release(&model, b);
    struct analysis *analysis = analyze(&model, analyze_default_thresholds());
    const bool worthwhile = find(analysis, ANALYZE_DEAD_WRITE, a)->worthwhile;
    analyze_free(analysis);
    return worthwhile;
}

static void traffic_is_weighed_beside_all_that_is_moved(void **state)
{
    (void)state;
    assert_true(is_dead_write_worthwhile(4096, 64 * KIB));
    assert_false(is_dead_write_worthwhile(4095, 64 * KIB));
    assert_true(is_dead_write_worthwhile(10000, 998 * 10000));
    assert_false(is_dead_write_worthwhile(10000, 998 * 10000 + 1));
}

// --- Streams that work at the same time ----------------------------------------------------------

// Each of three buffers is used on a stream of its own, so all are needed at the same time,
// although the calls come one after the other. On one stream, one buffer would do.
static void buffers_of_streams_that_overlap_gain_nothing(void **state)
{
    (void)state;
    for (int overlap = 0; overlap <= 1; overlap++) {
        struct analyze_model model;
        uint32_t buffers[3];
        model_begin(&model);
        for (uint32_t i = 0; i < 3; i++)
            buffers[i] = allocate(&model, 256 * KIB);
        for (uint32_t i = 0; i < 3; i++) {
            for (int k = 0; k < 3; k++) {
                launch(&model, BLOCKING + (overlap ? i : 0), 1);
                uses(&model, buffers[i], k ? ANALYZE_READ : ANALYZE_WRITE);
            }
        }
        for (uint32_t i = 0; i < 3; i++)
            release(&model, buffers[i]);
        struct analysis *analysis = analyze(&model, analyze_default_thresholds());
        assert_int_equal(analyze_worthwhile_count(analysis) > 0, !overlap);
        assert_int_equal(analyze_achievable_peak(analysis), (overlap ? 3 : 1) * 256 * KIB);
        analyze_free(analysis);
    }
}

// --- Covered by others ---------------------------------------------------------------------------

// x is never freed, and y could use its memory: if x were freed, that would be no gain. If y is
// already allocated when x is used last, freeing x does not help.
static void memory_that_a_free_would_return_need_not_be_reused_by_hand(void **state)
{
    (void)state;
    for (int early = 0; early <= 1; early++) {
        struct analyze_model model;
        model_begin(&model);
        const uint32_t x = allocate(&model, 256 * KIB);
        uint32_t y = early ? allocate(&model, 256 * KIB) : 0;
        launch(&model, LEGACY, 1);
        uses(&model, x, ANALYZE_WRITE);
        copy_out(&model, x, 0, 256 * KIB);
        y = early ? y : allocate(&model, 256 * KIB);
        launch(&model, LEGACY, 1);
        uses(&model, y, ANALYZE_WRITE);
        copy_out(&model, y, 0, 256 * KIB);
        release(&model, y);
        struct analysis *analysis = analyze(&model, analyze_default_thresholds());
        const struct analyze_finding *leak = find(analysis, ANALYZE_MEMORY_LEAK, x),
                                     *reuse = find(analysis, ANALYZE_REDUNDANT_ALLOCATION, y);
        assert_int_equal(leak->peak_bytes, early ? 0 : 256 * KIB);
        assert_int_equal(reuse->peak_bytes, 256 * KIB);
        assert_int_equal(leak->worthwhile, !early);
        assert_int_equal(reuse->worthwhile, early);
        assert_ptr_equal(reuse->covered_by, early ? NULL : leak);
        assert_int_equal(analyze_covering_rank(analysis, reuse) > 0, !early);
        assert_null(leak->covered_by);
        check_order(analysis);
        analyze_free(analysis);
    }
}

// --- Ranks ---------------------------------------------------------------------------------------

// A set is a large part of what is copied and set, and a small part of all traffic, to which
// kernels contribute. Then an unused object that is a larger part of the peak ranks higher.
static void traffic_of_kernels_counts_for_the_rank(void **state)
{
    (void)state;
    for (unsigned launches = 0; launches <= 20; launches += 20) {
        struct analyze_model model;
        model_begin(&model);
        const uint32_t x = allocate(&model, 256 * KIB), unused = allocate(&model, 128 * KIB);
        set(&model, x, 0, 256 * KIB);
        copy_in(&model, x, 0, 256 * KIB);
        for (unsigned i = 0; i < launches; i++) {
            launch(&model, LEGACY, 1);
            uses(&model, x, ANALYZE_READ | ANALYZE_WRITE);
        }
        copy_out(&model, x, 0, 128 * KIB);
        release(&model, x);
        release(&model, unused);
        struct analysis *analysis = analyze(&model, analyze_default_thresholds());
        assert_int_equal(analyze_worthwhile_count(analysis), 2);
        assert_int_equal(analyze_finding(analysis, 0)->pattern,
                         launches ? ANALYZE_UNUSED_ALLOCATION : ANALYZE_DEAD_WRITE);
        analyze_free(analysis);
    }
}

// --- Together ------------------------------------------------------------------------------------

// Two phases have equal peaks, and each has an object that is useless in it. Fixing either alone
// leaves the other peak. A third object is too small to matter.
static void what_lowers_the_peak_only_together_is_worthwhile(void **state)
{
    (void)state;
    struct analyze_model model;
    model_begin(&model);
    const uint32_t early = allocate(&model, 40 * KIB);
    const uint32_t first = allocate(&model, 60 * KIB), tiny = allocate(&model, 512);
    launch(&model, LEGACY, 1);
    uses(&model, first, ANALYZE_WRITE);
    launch(&model, LEGACY, 2);
    uses(&model, early, ANALYZE_WRITE);
    release(&model, first);
    release(&model, early);
    const uint32_t unused = allocate(&model, 40 * KIB), second = allocate(&model, 60 * KIB);
    launch(&model, LEGACY, 3);
    uses(&model, second, ANALYZE_WRITE);
    release(&model, second);
    release(&model, unused);
    release(&model, tiny);
    struct analysis *analysis = analyze(&model, analyze_default_thresholds());
    check_order(analysis);
    const struct analyze_finding *finding = find(analysis, ANALYZE_UNUSED_ALLOCATION, unused);
    assert_int_equal(finding->peak_bytes, 0);
    assert_true(finding->worthwhile && finding->only_together);
    assert_int_equal(finding->together_bytes, 40 * KIB);
    // The first phase shrinks if `early` is allocated later and `first` is freed early.
    assert_true(find(analysis, ANALYZE_EARLY_ALLOCATION, early)->only_together);
    assert_true(find(analysis, ANALYZE_LATE_DEALLOCATION, first)->only_together);
    assert_false(find(analysis, ANALYZE_UNUSED_ALLOCATION, tiny)->worthwhile);
    analyze_free(analysis);
}

// If one fix makes another unnecessary, one of the two is enough.
static void of_fixes_that_do_the_same_one_is_worthwhile(void **state)
{
    (void)state;
    struct analyze_model model;
    model_begin(&model);
    const uint32_t a = allocate(&model, 64 * KIB), b = allocate(&model, 64 * KIB);
    launch(&model, LEGACY, 1);
    uses(&model, a, ANALYZE_WRITE);
    launch(&model, LEGACY, 2);
    uses(&model, b, ANALYZE_WRITE);
    release(&model, a);
    release(&model, b);
    struct analysis *analysis = analyze(&model, analyze_default_thresholds());
    // b could reuse a's memory; or b could be allocated later, and a freed earlier.
    assert_int_equal(find(analysis, ANALYZE_REDUNDANT_ALLOCATION, b)->peak_bytes, 64 * KIB);
    assert_true(find(analysis, ANALYZE_REDUNDANT_ALLOCATION, b)->worthwhile);
    assert_false(find(analysis, ANALYZE_EARLY_ALLOCATION, b)->worthwhile);
    assert_false(find(analysis, ANALYZE_LATE_DEALLOCATION, a)->worthwhile);
    assert_int_equal(analyze_worthwhile_count(analysis), 1);
    analyze_free(analysis);
}

// A random program: the worthwhile findings gain as much as all, and none of them can be left out.
static void what_is_worthwhile_together_is_enough_and_not_too_much(void **state)
{
    (void)state;
    unsigned together = 0;
    for (uint64_t round = 1; round <= 300; round++) {
        uint64_t seed = round;
        struct analyze_model model;
        uint32_t objects[12], alive = 0, live[12] = {0};
        model_begin(&model);
        for (unsigned step = 0; step < 60; step++) {
            const uint32_t which = random_below(&seed, 12);
            if (!live[which] && alive < 12) {
                objects[which] = allocate(&model, (1 + random_below(&seed, 30)) * 1000);
                live[which] = 1;
                alive++;
            } else if (random_below(&seed, 3)) {
                launch(&model, LEGACY, 1);
                uses(&model, objects[which], ANALYZE_WRITE);
            } else {
                release(&model, objects[which]);
                live[which] = 0;
                alive--;
            }
        }
        struct analysis *analysis = analyze(&model, analyze_default_thresholds());
        const struct analyze_peak *peaks;
        assert_true(analyze_peaks(analysis, &peaks) > 0);
        check_order(analysis);
        bool any = false;
        for (size_t i = 0; i < analyze_finding_count(analysis); i++) {
            const struct analyze_finding *finding = analyze_finding(analysis, i);
            any |= finding->worthwhile && (finding->peak_bytes || finding->only_together);
            if (!finding->only_together)
                continue;
            together++;
            assert_false(analyze_is_gain(finding->peak_bytes, peaks[0].bytes));
            if (!analyze_is_gain(finding->together_bytes, peaks[0].bytes))
                fail_msg("seed %llu: not needed", (unsigned long long)round);
        }
        // All fixes together reach the least possible peak, except for dead writes, which do not
        // occur here.
        if (analyze_is_gain(peaks[0].bytes - analyze_least_peak(analysis), peaks[0].bytes) && !any)
            fail_msg("seed %llu: nothing is worthwhile", (unsigned long long)round);
        analyze_free(analysis);
    }
    assert_true(together > 20);
}

// --- Times that are not real ---------------------------------------------------------------------

// Unnecessary waits: `times` at one place, and one more at another.
static struct analysis *analyze_waits(unsigned times, uint64_t waited_ns, bool simulated)
{
    struct timed run;
    timed_begin(&run);
    run.model.simulated = simulated;
    run.model.host.has_gpu_times = !simulated;
    for (unsigned i = 0; i <= times; i++) {
        timed_launch(&run, LEGACY, simulated ? 0 : waited_ns);
        from_path(&run, timed_sync(&run, 0, waited_ns), OTHER_PATH);
        timed_launch(&run, LEGACY, simulated ? 0 : 10 * waited_ns);
        if (i < times)
            from_path(&run, timed_sync(&run, 0, 10 * waited_ns), SYNC_PATH);
    }
    return timed_analyze(&run, analyze_default_thresholds());
}

static void without_real_times_waits_are_counted(void **state)
{
    (void)state;
    for (uint64_t waited_ns = 1; waited_ns <= 100 * MS; waited_ns *= 1000) {
        struct analysis *analysis = analyze_waits(4, waited_ns, true);
        assert_true(analyze_is_simulated(analysis));
        assert_int_equal(analyze_finding_count(analysis), 2);
        check_order(analysis);
        // The place with more waits comes first, although the other one waited longer.
        assert_int_equal(analyze_finding(analysis, 0)->path, OTHER_PATH);
        for (size_t i = 0; i < 2; i++) {
            const struct analyze_finding *finding = analyze_finding(analysis, i);
            assert_int_equal(finding->waits, i == 0 ? 5 : 4);
            assert_int_equal(finding->host_ns, 0);
            assert_int_equal(finding->gpu_ns, 0);
            assert_true(finding->worthwhile);
        }
        const struct analyze_run_time *time = analyze_run_time(analysis);
        assert_int_equal(time->after_ns, time->recorded_ns);
        analyze_free(analysis);
    }
}

static void a_few_waits_are_not_worthwhile(void **state)
{
    (void)state;
    struct analysis *analysis = analyze_waits(3, 100 * MS, true);
    assert_int_equal(analyze_finding_count(analysis), 2);
    assert_int_equal(analyze_worthwhile_count(analysis), 1);
    assert_int_equal(analyze_finding(analysis, 0)->waits, 4);
    assert_int_equal(analyze_finding(analysis, 1)->waits, 3);
    analyze_free(analysis);
}

// If the GPU always has work, waits cost nothing.
static void waits_that_gain_nothing_are_not_worthwhile(void **state)
{
    (void)state;
    struct analysis *analysis = analyze_waits(4, MS, false);
    assert_false(analyze_is_simulated(analysis));
    assert_int_equal(analyze_finding_count(analysis), 2);
    assert_int_equal(analyze_worthwhile_count(analysis), 0);
    assert_int_equal(analyze_finding(analysis, 0)->waits, 0);
    analyze_free(analysis);
}

// A wait for work, and directly after it a second one; then the CPU works for a while.
static struct analysis *analyze_two(bool second, int64_t work_ns)
{
    struct timed run;
    timed_begin(&run);
    for (unsigned i = 0; i < 5; i++) {
        timed_launch(&run, LEGACY, MS);
        from_path(&run, timed_sync(&run, 0, MS), SYNC_PATH);
        if (second)
            from_path(&run, timed_sync(&run, 0, 0), OTHER_PATH);
        works(&run, work_ns);
    }
    return timed_analyze(&run, analyze_default_thresholds());
}

static void real_times_are_promised(void **state)
{
    (void)state;
    struct analysis *analysis = analyze_two(false, MS);
    assert_int_equal(analyze_worthwhile_count(analysis), 1);
    assert_true(analyze_finding(analysis, 0)->host_ns > MS);
    assert_false(analyze_finding(analysis, 0)->only_together);
    assert_int_equal(analyze_finding(analysis, 0)->waits, 0);
    analyze_free(analysis);
    analysis = analyze_two(false, 500); // far less than 0.1 % of the run
    assert_int_equal(analyze_finding_count(analysis), 1);
    assert_int_equal(analyze_worthwhile_count(analysis), 0);
    analyze_free(analysis);
}

static void waits_that_take_each_others_place_are_worthwhile_together(void **state)
{
    (void)state;
    struct analysis *analysis = analyze_two(true, MS);
    assert_int_equal(analyze_worthwhile_count(analysis), 2);
    for (size_t i = 0; i < 2; i++) {
        assert_true(analyze_finding(analysis, i)->host_ns < MS / 100);
        assert_true(analyze_finding(analysis, i)->only_together);
        assert_true(analyze_finding(analysis, i)->together_ns > MS);
    }
    analyze_free(analysis);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(four_kib_and_a_thousandth_are_the_least_gain),
        cmocka_unit_test(memory_that_is_idle_at_no_peak_is_not_worthwhile),
        cmocka_unit_test(traffic_is_weighed_beside_all_that_is_moved),
        cmocka_unit_test(buffers_of_streams_that_overlap_gain_nothing),
        cmocka_unit_test(memory_that_a_free_would_return_need_not_be_reused_by_hand),
        cmocka_unit_test(traffic_of_kernels_counts_for_the_rank),
        cmocka_unit_test(what_lowers_the_peak_only_together_is_worthwhile),
        cmocka_unit_test(of_fixes_that_do_the_same_one_is_worthwhile),
        cmocka_unit_test(what_is_worthwhile_together_is_enough_and_not_too_much),
        cmocka_unit_test(without_real_times_waits_are_counted),
        cmocka_unit_test(a_few_waits_are_not_worthwhile),
        cmocka_unit_test(waits_that_gain_nothing_are_not_worthwhile),
        cmocka_unit_test(real_times_are_promised),
        cmocka_unit_test(waits_that_take_each_others_place_are_worthwhile_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
