// SPDX-License-Identifier: Apache-2.0
// Sums of what the model of the caches found: rows of sampled lines count as all lines, errors and
// launches are joined, and distances tell the hits of caches of any size.
#include "models.h"

static const struct profile_cache_launch sixteenth = {.call = 3,
                                                      .kernel = 7,
                                                      .preset = "h200",
                                                      .share = 4096,
                                                      .l1_bytes = 1000,
                                                      .l2_bytes = 2000,
                                                      .shared_bytes = 30,
                                                      .records = 10,
                                                      .lost = 1};

static void add_launch(struct analyze_caches *caches, struct profile_cache_launch row,
                       uint64_t gpu_ns)
{
    assert_true(analyze_caches_add_launch(caches, &row, gpu_ns));
}

static void add(struct analyze_caches *caches, struct profile_cache row)
{
    assert_true(analyze_caches_add(caches, &row));
}

static void add_reuse(struct analyze_caches *caches, struct profile_cache_reuse row)
{
    assert_true(analyze_caches_add_reuse(caches, &row));
}

static void numbers_of_sampled_lines_count_as_all(void **state)
{
    (void)state;
    struct analyze_caches caches = {0};
    add_launch(&caches, sixteenth, 500);
    add(&caches, (struct profile_cache){.call = 3,
                                        .object = 1,
                                        .site = 2,
                                        .l1 = {{100, 25}, {10, 5}, {1, 0}},
                                        .l2 = {{75, 30}, {10, 10}, {1, 1}},
                                        .read = 45,
                                        .written = 8,
                                        .l1_error = 150,
                                        .l2_error = -1});
    add_reuse(&caches, (struct profile_cache_reuse){
                           .call = 3, .object = 1, .level = 2, .first = 4, .sectors = {[5] = 6}});
    analyze_caches_end(&caches);
    const struct analyze_cache_kernel *kernel = analyze_find_cache_kernel(&caches, 7);
    assert_non_null(kernel);
    assert_null(analyze_find_cache_kernel(&caches, 6));
    assert_string_equal(kernel->preset, "h200");
    assert_int_equal(kernel->l1_bytes, 1000);
    assert_int_equal(kernel->gpu_ns, 500);
    assert_int_equal(kernel->timed, 16 * 53);
    assert_int_equal(kernel->sum.l1[PROFILE_SITE_STORE].sectors, 160);
    assert_int_equal(analyze_cache_all(kernel->sum.l1).sectors, 1776);
    assert_int_equal(analyze_cache_all(kernel->sum.l2).hits, 656);
    assert_int_equal(analyze_cache_dram(&kernel->sum), 16 * 53);
    assert_float_equal(analyze_cache_rate(kernel->sum.l1[PROFILE_SITE_LOAD]), 0.25, 0);
    assert_float_equal(kernel->sum.l1_error, 1.5, 0);
    assert_true(kernel->sum.l2_error < 0);
    const struct analyze_cache_object *object = &caches.objects.items[kernel->first_object];
    assert_int_equal(kernel->object_count, 1);
    assert_int_equal(object->place_count, 1);
    assert_int_equal(caches.places.items[object->first_place].site, 2);
    assert_true(object->has_distances[1]);
    assert_false(object->has_distances[0]);
    assert_int_equal(object->levels[1].first, 64);
    assert_int_equal(object->levels[1].sectors[5], 96);
    analyze_caches_fini(&caches);
}

// Errors of parts may have the same direction, so that they are not divided by their number.
static void launches_of_a_kernel_are_one_sum(void **state)
{
    (void)state;
    struct analyze_caches caches = {0};
    struct profile_cache_launch whole = sixteenth;
    whole.share = PROFILE_CACHE_ALL;
    whole.l1_bytes = 5000;
    add_launch(&caches, whole, 500);
    whole.call = 4;
    whole.records = 9;
    whole.l1_bytes = 6000;
    add_launch(&caches, whole, 0);
    whole.call = 5;
    whole.kernel = 1;
    add_launch(&caches, whole, 0);
    for (uint64_t call = 3; call <= 6; call++) { // 6 is not a launch that was modelled
        for (uint64_t object = 0; object <= 2; object++)
            add(&caches, (struct profile_cache){.call = call,
                                                .object = object,
                                                .site = 1,
                                                .l1 = {{100, 50}},
                                                .read = object * call,
                                                .l1_error = call == 3 ? 100 : 300});
    }
    analyze_caches_end(&caches);
    assert_int_equal(caches.kernels.count, 2);
    assert_int_equal(caches.kernels.items[0].kernel, 1);
    const struct analyze_cache_kernel *kernel = analyze_find_cache_kernel(&caches, 7);
    assert_int_equal(kernel->launches, 2);
    assert_int_equal(kernel->records, 19);
    assert_int_equal(kernel->lost, 2);
    assert_int_equal(kernel->l1_bytes, 5000);
    assert_int_equal(kernel->timed, 9);
    assert_float_equal(kernel->sum.l1_error, 2, 1e-9);
    assert_int_equal(kernel->object_count, 3);
    const struct analyze_cache_object *objects = &caches.objects.items[kernel->first_object];
    assert_int_equal(objects[0].object, 2); // has most sectors of memory
    assert_int_equal(objects[0].sum.read, 14);
    assert_int_equal(objects[0].call, 4);
    assert_int_equal(objects[1].object, 1);
    assert_int_equal(objects[2].object, 0);
    analyze_caches_fini(&caches);
}

static void distances_tell_hits_of_all_sizes(void **state)
{
    (void)state;
    const struct analyze_cache_distances distances = {
        .first = 9, .sectors = {[0] = 100, [1] = 10, [2] = 40, [4] = 80}};
    static const uint64_t hits[] = {0, 100, 110, 130, 150, 150, 150, 150, 150, 160, 170};
    for (uint64_t lines = 0; lines < sizeof(hits) / sizeof(hits[0]); lines++)
        assert_int_equal(analyze_cache_hits(&distances, lines), hits[lines]);
    assert_int_equal(analyze_cache_hits(&distances, 15), 220);
    assert_int_equal(analyze_cache_hits(&distances, 16), 230);
    assert_int_equal(analyze_cache_hits(&distances, UINT64_MAX), 230);
    assert_int_equal(analyze_cache_reused(&distances), 230);
}

// Each row is an instruction with so many sectors and this error, in hundredths; -1: unknown.
static double error_of_sites(const int32_t (*rows)[2], size_t count)
{
    struct analyze_caches caches = {0};
    struct profile_cache_launch whole = sixteenth;
    whole.share = PROFILE_CACHE_ALL;
    add_launch(&caches, whole, 0);
    for (size_t i = 0; i < count; i++)
        add(&caches, (struct profile_cache){.call = 3,
                                            .object = 1,
                                            .site = (uint32_t)i + 1,
                                            .l1 = {{(uint64_t)rows[i][0], 0}},
                                            .l1_error = rows[i][1]});
    analyze_caches_end(&caches);
    const double error = analyze_find_cache_kernel(&caches, 7)->sum.l1_error;
    analyze_caches_fini(&caches);
    return error;
}

static void unknown_errors_count_as_the_largest(void **state)
{
    (void)state;
    const int32_t few[][2] = {{1, -1}, {97, 100}, {2, -1}, {0, -1}};
    assert_float_equal(error_of_sites(few, 4), 3.97, 1e-9);
    const int32_t all[][2] = {{1, -1}, {99, -1}};
    assert_true(error_of_sites(all, 2) < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_of_sampled_lines_count_as_all),
        cmocka_unit_test(launches_of_a_kernel_are_one_sum),
        cmocka_unit_test(unknown_errors_count_as_the_largest),
        cmocka_unit_test(distances_tell_hits_of_all_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
