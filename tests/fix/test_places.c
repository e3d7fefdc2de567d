// SPDX-License-Identifier: Apache-2.0
// The results of the analysis become places and rows of a plan: each remedy, what must be left
// alone, and near misses. The analyses are made by hand, in the form that src/analyze returns.
#include "../profile/testing.h"

#include "fix/fix.h"

// Call paths of the profile. SAME_AS_SYNC has the program's frames of SYNC, but is a different
// path.
enum {
    SYNC = 1,
    COPY,
    FREE,
    ALLOC,
    LAST_USE,
    OTHER_ALLOC,
    WITHOUT_ID,
    SAME_AS_SYNC,
    TRUNCATED,
    CALLED_BACK,
    ONLY_BELOW,
    UNKNOWN,
    NOWHERE = 99
};

static const struct profile_image images[] = {
    {1, "/bin/solver", "0011aabb", 0x1000, 0x2000, 0},
    {2, "/lib/libc.so.6", "ccdd", 0x3000, 0x4000, 0},
    {3, "/tmp/jit", NULL, 0x5000, 0x6000, 0},
    {4, "/cuda/libcuda.so.1", NULL, 0x7000, 0x8000, 0},
    {5, "/cuda/libcudart.so.13", NULL, 0x9000, 0xa000, 0},
};

#define IN_MAIN " 1:100 2:900"

static const char *const stacks[] = {
    [SYNC] = "1:10" IN_MAIN,
    // Innermost frames in CUDA's libraries are not part of a path.
    [COPY] = "4:77 5:88 1:20" IN_MAIN,
    [FREE] = "1:30" IN_MAIN,
    [ALLOC] = "1:40" IN_MAIN,
    [LAST_USE] = "1:50" IN_MAIN,
    [OTHER_ALLOC] = "1:60" IN_MAIN,
    [WITHOUT_ID] = "3:70" IN_MAIN,
    [SAME_AS_SYNC] = "5:99 1:10" IN_MAIN,
    [TRUNCATED] = "1:10" IN_MAIN " ...",
    [CALLED_BACK] = "1:10 5:99" IN_MAIN, // but frames that call back into the program are
    [ONLY_BELOW] = "4:77 5:88",
    [UNKNOWN] = "0:7f0000001000" IN_MAIN,
};

enum { LARGE = FIX_LEAST_BACKED_BYTES };

// Allocation, uses on LAST_USE, free. Call 2 allocates object 1, and call 5 uses it last, as the
// second call on that path after the allocation.
static const struct profile_call calls[] = {
    {.number = 1, .path = LAST_USE, .kind = PROFILE_CALL_LAUNCH},
    {.number = 2, .path = ALLOC, .kind = PROFILE_CALL_ALLOC},
    {.number = 3, .path = LAST_USE, .kind = PROFILE_CALL_LAUNCH},
    {.number = 4, .path = SYNC, .kind = PROFILE_CALL_SYNC},
    {.number = 5, .path = LAST_USE, .kind = PROFILE_CALL_LAUNCH},
    {.number = 6, .path = LAST_USE, .kind = PROFILE_CALL_LAUNCH},
    {.number = 7, .path = FREE, .kind = PROFILE_CALL_FREE},
};

static const struct profile_object objects[] = {
    {.number = 1, .kind = PROFILE_OBJECT_DEVICE, .bytes = LARGE, .call = 2, .name = "grid"},
    {.number = 2, .kind = PROFILE_OBJECT_DEVICE, .bytes = LARGE - 1, .call = 2},
    {.number = 3, .kind = PROFILE_OBJECT_MANAGED, .bytes = LARGE, .call = 2},
};

// --- One case ------------------------------------------------------------------------------------

struct test_case {
    struct analyze_wait_path waits[8];
    struct analyze_finding findings[8];
    struct analyze_paths own[8];
    size_t wait_count, finding_count;
    bool peak_stays, passes;
    struct profile *profile;
    struct fix fix;
    struct plan plan;
};

static void write_profile(void)
{
    struct base_error error = {0};
    struct profile_writer *writer;
    check_good(profile_create(test_path, true, &writer, &error), &error);
    for (size_t i = 0; i < sizeof(images) / sizeof(images[0]); i++)
        check_good(profile_add_image(writer, &images[i], &error), &error);
    for (uint32_t i = 1; i < sizeof(stacks) / sizeof(stacks[0]); i++) {
        const struct profile_stack stack = {i, stacks[i]};
        check_good(profile_add_stack(writer, &stack, &error), &error);
    }
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
        check_good(profile_add_call(writer, &calls[i], &error), &error);
    for (size_t i = 0; i < sizeof(objects) / sizeof(objects[0]); i++) {
        check_good(profile_add_object(writer, &objects[i], &error), &error);
        if (objects[i].name)
            check_good(profile_name_object(writer, objects[i].number, objects[i].name,
                                           PROFILE_NAME_SOURCE, &error),
                       &error);
    }
    check_good(profile_finish(writer, PROFILE_EXITED, 0, &error), &error);
}

static void begin(struct test_case *of)
{
    struct base_error error = {0};
    *of = (struct test_case){0};
    write_profile();
    check_good(profile_open(test_path, &of->profile, &error), &error);
}

static void find(struct test_case *of)
{
    struct base_error error = {0};
    const struct analyze_wait_path *waits[8];
    const struct analyze_finding *findings[8];
    for (size_t i = 0; i < of->wait_count; i++)
        waits[i] = &of->waits[i];
    for (size_t i = 0; i < of->finding_count; i++) {
        struct analyze_finding *finding = &of->findings[i];
        of->own[i] = (struct analyze_paths){finding->path, finding->other_path};
        if (!finding->paths) {
            finding->paths = &of->own[i];
            finding->path_count = 1;
        }
        findings[i] = finding;
    }
    const struct fix_evidence evidence = {
        waits, of->wait_count, findings, of->finding_count, of->peak_stays, of->passes};
    check_good(fix_find_by(of->profile, &evidence, &of->fix, &error), &error);
}

// Checks that the plan's text between its head and end is `wanted`.
static void check_plan(struct test_case *of, const char *wanted)
{
    struct base_error error = {0};
    struct base_buf text = {0}, whole = {0};
    check_good(fix_plan(of->profile, &of->fix, &of->plan, &error), &error);
    plan_write(&of->plan, &text);
    base_buf_printf(&whole, "glint plan 1\n%send\n", wanted);
    assert_string_equal(text.text, whole.text);
    assert_int_equal(of->fix.rows.count, of->plan.rows.count);
    base_buf_fini(&text);
    base_buf_fini(&whole);
}

static void end(struct test_case *of)
{
    fix_fini(&of->fix);
    plan_fini(&of->plan);
    profile_close(of->profile);
}

#define IMAGES "image 0011aabb /bin/solver\nimage ccdd /lib/libc.so.6\n"
#define REST   " 0:100 1:900\n"

static struct analyze_wait_path wait_path(uint32_t path, enum profile_call_kind kind)
{
    return (struct analyze_wait_path){.path = path,
                                      .kind = kind,
                                      .calls = 10,
                                      .unneeded = 10,
                                      .waited = 10,
                                      .waited_ns = 1000,
                                      .safe = true,
                                      .deferrable = true};
}

// --- Waits ---------------------------------------------------------------------------------------

static void synchronisations_and_copies_that_were_never_needed_are_planned(void **state)
{
    (void)state;
    struct test_case of;
    begin(&of);
    of.waits[0] = wait_path(SYNC, PROFILE_CALL_SYNC);
    of.waits[1] = wait_path(COPY, PROFILE_CALL_COPY);
    of.waits[1].safe = false; // used late
    of.waits[2] = wait_path(TRUNCATED, PROFILE_CALL_SYNC);
    of.waits[2].safe = false;
    of.wait_count = 3;
    of.findings[0] = (struct analyze_finding){.pattern = ANALYZE_MISPLACED_SYNC,
                                              .path = TRUNCATED,
                                              .kind = PROFILE_CALL_SYNC,
                                              .host_ns = 700};
    of.findings[1] = of.findings[0]; // another pattern at the same place
    of.findings[1].pattern = ANALYZE_UNNECESSARY_SYNC;
    of.finding_count = 2;
    find(&of);
    assert_int_equal(of.fix.places.count, 3);
    assert_int_equal(of.fix.places.items[0].pattern, ANALYZE_UNNECESSARY_SYNC);
    assert_int_equal(of.fix.places.items[0].waited_ns, 1000);
    assert_int_equal(of.fix.places.items[0].saved_ns, 0); // too small for a finding
    assert_int_equal(of.fix.places.items[1].saved_ns, 700);
    assert_int_equal(of.fix.places.items[1].pattern, ANALYZE_MISPLACED_SYNC);
    assert_int_equal(of.fix.places.items[2].pattern, ANALYZE_SYNCHRONOUS_TRANSFER);
    check_plan(&of, IMAGES "drop-sync 0:10" REST "drop-sync 0:10 0:100 1:900 ...\n"
                           "async-copy 0:20" REST);
    assert_true(of.fix.rows.items[0].waits);
    end(&of);
}

static void synchronisations_that_may_show_output_are_left(void **state)
{
    (void)state;
    struct test_case of;
    begin(&of);
    of.waits[0] = wait_path(SYNC, PROFILE_CALL_SYNC);
    of.waits[0].may_print = true;
    of.waits[1] = wait_path(COPY, PROFILE_CALL_COPY); // shows nothing
    of.waits[1].may_print = true;
    of.wait_count = 2;
    find(&of);
    assert_int_equal(of.fix.places.count, 2);
    check_plan(&of, IMAGES "async-copy 0:20" REST);
    end(&of);
}

static void copies_that_cost_more_than_they_gain_are_left(void **state)
{
    (void)state;
    struct test_case of;
    begin(&of);
    of.waits[0] = wait_path(COPY, PROFILE_CALL_COPY);
    of.waits[0].costly = true;
    of.waits[1] = wait_path(FREE, PROFILE_CALL_COPY);
    of.wait_count = 2;
    find(&of);
    assert_int_equal(of.fix.places.count, 2);
    assert_int_equal(of.fix.places.items[0].left, FIX_COSTLY);
    assert_int_equal(of.fix.places.items[1].left, FIX_TAKEN);
    check_plan(&of, IMAGES "async-copy 0:30" REST);
    end(&of);
}

static void what_was_needed_once_or_nobody_can_tell_is_no_place(void **state)
{
    (void)state;
    struct test_case of;
    begin(&of);
    of.waits[0] = wait_path(SYNC, PROFILE_CALL_SYNC);
    of.waits[0].needed = 1;
    of.waits[0].safe = of.waits[0].deferrable = false;
    of.waits[1] = wait_path(COPY, PROFILE_CALL_COPY);
    of.waits[1].unknown = 1;
    of.waits[1].safe = of.waits[1].deferrable = false;
    of.waits[2] = wait_path(FREE, PROFILE_CALL_FREE); // unnecessary, but not a remedy by itself
    of.wait_count = 3;
    find(&of);
    assert_int_equal(of.fix.places.count, 0);
    assert_int_equal(of.fix.needed_paths, 1);
    assert_int_equal(of.fix.unknown_paths, 1);
    check_plan(&of, IMAGES); // no rows
    end(&of);
}

// The plan treats paths as equal that differ only in frames which profiles leave out.
static void a_place_that_is_needed_by_another_way_is_left(void **state)
{
    (void)state;
    struct test_case of;
    begin(&of);
    of.waits[0] = wait_path(SYNC, PROFILE_CALL_SYNC);
    of.waits[1] = wait_path(SAME_AS_SYNC, PROFILE_CALL_SYNC);
    of.waits[1].needed = 1;
    of.waits[1].safe = of.waits[1].deferrable = false;
    of.wait_count = 2;
    find(&of);
    check_plan(&of, "image 0011aabb /bin/solver\nimage ccdd /lib/libc.so.6\n");
    assert_int_equal(of.fix.places.items[0].left, FIX_NEEDED);
    end(&of);

    begin(&of); // a copy proves nothing about synchronizations; equal rows are merged
    of.waits[0] = wait_path(SYNC, PROFILE_CALL_SYNC);
    of.waits[1] = wait_path(SAME_AS_SYNC, PROFILE_CALL_COPY);
    of.waits[1].needed = 1;
    of.waits[1].safe = of.waits[1].deferrable = false;
    of.waits[2] = wait_path(SAME_AS_SYNC, PROFILE_CALL_SYNC);
    of.wait_count = 3;
    find(&of);
    check_plan(&of, IMAGES "drop-sync 0:10" REST);
    end(&of);
}

static void paths_that_nobody_can_be_sure_of_are_left(void **state)
{
    (void)state;
    static const uint32_t paths[] = {WITHOUT_ID, CALLED_BACK, ONLY_BELOW, UNKNOWN, NOWHERE};
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        struct test_case of;
        struct base_error error = {0};
        begin(&of);
        of.waits[0] = wait_path(paths[i], PROFILE_CALL_SYNC);
        of.wait_count = 1;
        find(&of);
        check_good(fix_plan(of.profile, &of.fix, &of.plan, &error), &error);
        assert_int_equal(of.plan.rows.count, 0);
        assert_int_equal(of.fix.places.items[0].left, FIX_UNSURE);
        end(&of);
    }
}

// --- Memory --------------------------------------------------------------------------------------

// Only device memory can come from a pool.
static struct analyze_finding churn_of(bool device)
{
    static const char is_device[] = "is_device";
    struct analyze_finding churn = {
        .pattern = ANALYZE_ALLOC_FREE_CHURN, .path = FREE, .other_path = ALLOC, .count = 10};
    const struct analyze_field *field =
        analyze_find_field(churn.pattern, is_device, strlen(is_device));
    assert_non_null(field);
    memcpy((char *)&churn + field->offset, &device, sizeof(device));
    return churn;
}

static void churn_is_pooled_at_both_ends_where_its_free_waits_in_vain(void **state)
{
    (void)state;
    struct test_case of;
    const struct analyze_finding churn = churn_of(true);
    begin(&of);
    of.waits[0] = wait_path(FREE, PROFILE_CALL_FREE);
    of.wait_count = 1;
    of.findings[0] = of.findings[1] = churn;
    of.findings[1].other_path = OTHER_ALLOC; // freed at the same place
    of.finding_count = 2;
    find(&of);
    assert_int_equal(of.fix.places.count, 2);
    check_plan(&of, IMAGES "pool 0:30" REST "pool 0:40" REST "pool 0:60" REST);
    assert_true(of.fix.rows.items[0].waits);
    assert_false(of.fix.rows.items[1].waits);
    end(&of);

    // A line that makes several calls is one finding.
    static const struct analyze_paths both[] = {{FREE, ALLOC}, {FREE, OTHER_ALLOC}};
    begin(&of);
    of.waits[0] = wait_path(FREE, PROFILE_CALL_FREE);
    of.wait_count = 1;
    of.findings[0] = churn;
    of.findings[0].paths = both;
    of.findings[0].path_count = 2;
    of.finding_count = 1;
    find(&of);
    check_plan(&of, IMAGES "pool 0:30" REST "pool 0:40" REST "pool 0:60" REST);
    end(&of);

    begin(&of);
    of.waits[0] = wait_path(FREE, PROFILE_CALL_FREE);
    of.waits[0].needed = 1;
    of.waits[0].safe = of.waits[0].deferrable = false;
    of.wait_count = 1;
    of.findings[0] = churn;
    of.finding_count = 1;
    find(&of);
    check_plan(&of, IMAGES);
    assert_int_equal(of.fix.places.items[0].left, FIX_NEEDED);
    end(&of);

    begin(&of); // a pool has only memory of the device
    of.waits[0] = wait_path(FREE, PROFILE_CALL_FREE);
    of.wait_count = 1;
    of.findings[0] = churn_of(false);
    of.finding_count = 1;
    find(&of);
    assert_int_equal(of.fix.places.count, 0);
    end(&of);
}

static const struct analyze_finding early = {.pattern = ANALYZE_EARLY_ALLOCATION,
                                             .object = 1,
                                             .call = 2,
                                             .other_call = 3,
                                             .path = ALLOC,
                                             .other_path = LAST_USE,
                                             .count = 1,
                                             .peak_bytes = LARGE};
static const struct analyze_finding late = {.pattern = ANALYZE_LATE_DEALLOCATION,
                                            .object = 1,
                                            .call = 7,
                                            .other_call = 5,
                                            .path = FREE,
                                            .other_path = LAST_USE,
                                            .count = 1,
                                            .peak = 1};

static void early_allocations_are_backed_until_their_free(void **state)
{
    (void)state;
    struct test_case of;
    begin(&of);
    of.findings[0] = early;
    of.finding_count = 1;
    find(&of);
    assert_string_equal(of.fix.places.items[0].name, "grid");
    check_plan(&of, IMAGES "back =0 =0 0:40" REST);
    assert_false(of.fix.rows.items[0].waits);
    end(&of);
}

static void late_deallocations_are_backed_until_the_last_use_which_is_counted(void **state)
{
    (void)state;
    struct test_case of;
    begin(&of);
    of.findings[0] = late;
    of.finding_count = 1;
    find(&of);
    assert_int_equal(of.fix.places.items[0].path, ALLOC);
    assert_int_equal(of.fix.places.items[0].last_use, 2); // calls 3 and 5, and not call 1
    check_plan(&of, IMAGES "last-use 0:50" REST "back =1 =2 0:40" REST);
    end(&of);

    begin(&of); // both findings on one object are one row
    of.findings[0] = early;
    of.findings[1] = late;
    of.finding_count = 2;
    find(&of);
    check_plan(&of, IMAGES "last-use 0:50" REST "back =1 =2 0:40" REST);
    end(&of);

    begin(&of); // the user excludes one of them
    of.findings[0] = early;
    of.findings[1] = late;
    of.finding_count = 2;
    find(&of);
    of.fix.places.items[1].left = FIX_CHOSEN;
    check_plan(&of, IMAGES "back =0 =0 0:40" REST);
    end(&of);
}

static void memory_that_is_small_or_other_or_in_no_peak_is_left(void **state)
{
    (void)state;
    struct test_case of;
    begin(&of);
    of.findings[0] = of.findings[1] = of.findings[2] = early;
    of.findings[0].object = 2; // one byte too small
    of.findings[1].object = 3; // managed
    of.findings[2].peak_bytes = 0;
    of.finding_count = 3;
    find(&of);
    check_plan(&of, "image 0011aabb /bin/solver\nimage ccdd /lib/libc.so.6\n");
    unsigned small = 0, no_peak = 0;
    for (size_t i = 0; i < 3; i++) {
        small += of.fix.places.items[i].left == FIX_SMALL;
        no_peak += of.fix.places.items[i].left == FIX_NO_PEAK;
    }
    assert_int_equal(small, 2);
    assert_int_equal(no_peak, 1);
    end(&of);

    begin(&of); // everything is needed at once
    of.findings[0] = early;
    of.findings[1] = late;
    of.finding_count = 2;
    of.peak_stays = true;
    find(&of);
    assert_int_equal(of.fix.places.items[0].left, FIX_NO_PEAK);
    assert_int_equal(of.fix.places.items[1].left, FIX_NO_PEAK);
    check_plan(&of, "image 0011aabb /bin/solver\nimage ccdd /lib/libc.so.6\n");
    end(&of);
}

static void memory_of_kernels_without_probes_is_left(void **state)
{
    (void)state;
    struct test_case of;
    begin(&of);
    of.findings[0] = early;
    of.findings[1] = late;
    of.finding_count = 2;
    of.passes = true;
    find(&of);
    assert_int_equal(of.fix.places.items[0].left, FIX_PASSED);
    assert_int_equal(of.fix.places.items[1].left, FIX_PASSED);
    check_plan(&of, "image 0011aabb /bin/solver\nimage ccdd /lib/libc.so.6\n");
    end(&of);
}

static void memory_of_the_pool_is_not_backed_too(void **state)
{
    (void)state;
    struct test_case of;
    begin(&of);
    of.waits[0] = wait_path(FREE, PROFILE_CALL_FREE);
    of.wait_count = 1;
    of.findings[0] = early;
    of.findings[1] = churn_of(true);
    of.finding_count = 2;
    find(&of);
    check_plan(&of, IMAGES "pool 0:30" REST "pool 0:40" REST);
    assert_int_equal(of.fix.places.items[0].left, FIX_POOLED);
    end(&of);

    begin(&of); // unless the pool is not wanted
    of.waits[0] = wait_path(FREE, PROFILE_CALL_FREE);
    of.wait_count = 1;
    of.findings[0] = early;
    of.findings[1] = churn_of(true);
    of.finding_count = 2;
    find(&of);
    of.fix.places.items[1].left = FIX_CHOSEN;
    check_plan(&of, IMAGES "back =0 =0 0:40" REST);
    end(&of);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(synchronisations_and_copies_that_were_never_needed_are_planned),
        TEST(synchronisations_that_may_show_output_are_left),
        TEST(copies_that_cost_more_than_they_gain_are_left),
        TEST(what_was_needed_once_or_nobody_can_tell_is_no_place),
        TEST(a_place_that_is_needed_by_another_way_is_left),
        TEST(paths_that_nobody_can_be_sure_of_are_left),
        TEST(churn_is_pooled_at_both_ends_where_its_free_waits_in_vain),
        TEST(early_allocations_are_backed_until_their_free),
        TEST(late_deallocations_are_backed_until_the_last_use_which_is_counted),
        TEST(memory_of_kernels_without_probes_is_left),
        TEST(memory_that_is_small_or_other_or_in_no_peak_is_left),
        TEST(memory_of_the_pool_is_not_backed_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
