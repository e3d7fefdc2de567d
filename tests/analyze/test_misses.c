// SPDX-License-Identifier: Apache-2.0
// low-hit-rate, on small models: which remedy the numbers show, what it saves, and where nothing is
// said. L1 has 2^10 lines and L2 2^20. Unless a test says otherwise, a kernel uses 10,000 sectors
// of an object 10 times each, and no cache has any of them.
#include "last.h"

enum {
    LINES_L1 = 1 << 10,
    LINES_L2 = 1 << 20,
    DIFFERENT = 10000,
    USES = 100000,
    AGAIN = USES - DIFFERENT,
    TWICE_L1 = 11, // places of distances: what twice as large a cache has
    TWICE_L2 = 21,
    FAR = 24, // beyond that
};

struct scene {
    struct analyze_model model;
    uint32_t object, call;
    struct profile_cache_launch launch;
    struct profile_cache cache;
    struct profile_cache_reuse near, far; // L1, L2
    uint64_t taken, needed;               // by requests; 0: they were not recorded
};

static void begin(struct scene *scene)
{
    *scene = (struct scene){0};
    model_begin(&scene->model);
    scene->model.host.end_ns = 1000000;
    scene->object = allocate(&scene->model, 1 << 30);
    scene->call = launch(&scene->model, LEGACY, 1);
    scene->launch = (struct profile_cache_launch){.call = scene->call + 1,
                                                  .kernel = 1,
                                                  .preset = "h200",
                                                  .share = PROFILE_CACHE_ALL,
                                                  .l1_bytes = LINES_L1 * 128,
                                                  .l2_bytes = LINES_L2 * 128,
                                                  .records = 1000};
    scene->cache = (struct profile_cache){.call = scene->call + 1,
                                          .object = scene->object + 1,
                                          .kernel = 1,
                                          .site = 1,
                                          .l1 = {{USES, 0}},
                                          .l2 = {{USES, 0}},
                                          .read = USES,
                                          .l1_error = 50,
                                          .l2_error = 120};
    scene->near = (struct profile_cache_reuse){.call = scene->call + 1,
                                               .object = scene->object + 1,
                                               .kernel = 1,
                                               .level = 1,
                                               .first = USES};
    scene->far = scene->near;
    scene->far.level = 2;
    scene->far.first = DIFFERENT;
    scene->far.sectors[FAR] = AGAIN;
    struct analyze_site *site = base_array_push(&scene->model.sites);
    assert_non_null(site);
    *site = (struct analyze_site){.kernel = 1, .site = 1, .line = {"a.cu", 12, 1}, .bytes = 4};
}

// Adds the rows of the scene, as those of its call.
static void add_rows(struct scene *scene)
{
    struct analyze_model *model = &scene->model;
    const uint64_t gpu_ns = model->simulated ? 0 : model->calls.items[scene->call].gpu_ns;
    assert_true(analyze_caches_add_launch(&model->caches, &scene->launch, gpu_ns));
    assert_true(analyze_caches_add(&model->caches, &scene->cache));
    assert_true(analyze_caches_add_reuse(&model->caches, &scene->near));
    if (scene->far.call)
        assert_true(analyze_caches_add_reuse(&model->caches, &scene->far));
    if (scene->taken) {
        struct analyze_requests *made = base_array_push(&model->requests);
        assert_non_null(made);
        *made = (struct analyze_requests){.call = scene->call,
                                          .object = scene->object,
                                          .kernel = 1,
                                          .site = 1,
                                          .requests = 1,
                                          .taken = scene->taken,
                                          .needed = scene->needed};
    }
}

static void end(struct scene *scene)
{
    analyze_caches_end(&scene->model.caches);
    run(&scene->model);
}

// Returns the finding; NULL if there is none. There are never two.
static const struct analyze_finding *found(void)
{
    const struct analyze_finding *finding = NULL;
    for (size_t i = 0; i < last->finding_count; i++) {
        if (last->findings[i].pattern != ANALYZE_LOW_HIT_RATE)
            continue;
        assert_null(finding);
        finding = &last->findings[i];
    }
    return finding;
}

static void check_nothing(struct scene *scene)
{
    add_rows(scene);
    end(scene);
    assert_null(found());
}

static const struct analyze_finding *check_remedy(struct scene *scene, const char *remedy,
                                                  uint64_t saved)
{
    add_rows(scene);
    end(scene);
    const struct analyze_finding *finding = found();
    assert_non_null(finding);
    assert_string_equal(
        analyze_field_word(finding, analyze_find_field(ANALYZE_LOW_HIT_RATE, "remedy", 6)), remedy);
    assert_int_equal(value_of(finding, "saved_bytes"), saved * 32);
    assert_int_equal(finding->traffic_bytes, saved * 32);
    return finding;
}

// --- What is found -------------------------------------------------------------------------------

static void regular_reuse_beyond_l2_asks_for_another_order(void **state)
{
    (void)state;
    struct scene scene;
    begin(&scene);
    const struct analyze_finding *finding = check_remedy(&scene, "order", AGAIN);
    assert_int_equal(finding->object, 1);
    assert_int_equal(finding->call, 2);
    assert_int_equal(finding->kernel, 1);
    assert_int_equal(finding->times, 1);
    assert_int_equal(analyze_line_at(finding).line, 12);
    assert_int_equal(value_of(finding, "dram_sectors"), USES);
    assert_int_equal(value_of(finding, "kernel_dram_sectors"), USES);
    assert_int_equal(value_of(finding, "uses"), USES);
    assert_int_equal(value_of(finding, "different"), DIFFERENT);
    assert_float_equal(
        analyze_field_real(finding, analyze_find_field(ANALYZE_LOW_HIT_RATE, "sampling_error", 14)),
        0.012, 1e-9);
}

static void reuse_within_twice_a_cache_asks_for_less_data(void **state)
{
    (void)state;
    struct scene scene;
    begin(&scene);
    scene.far.sectors[FAR] = 0;
    scene.far.sectors[TWICE_L2] = AGAIN;
    assert_int_equal(value_of(check_remedy(&scene, "size", AGAIN), "in_l1"), 0);
    begin(&scene);
    scene.near.first = DIFFERENT;
    scene.near.sectors[TWICE_L1] = AGAIN;
    assert_int_equal(value_of(check_remedy(&scene, "size", AGAIN), "in_l1"), 1);
}

// L1 of twice the size keeps away from L2 what L2 mostly has: that saves little.
static void what_l1_serves_saves_what_l2_lacks(void **state)
{
    (void)state;
    struct scene scene;
    begin(&scene);
    scene.near.first = DIFFERENT;
    scene.near.sectors[TWICE_L1] = AGAIN;
    scene.cache.l2[PROFILE_SITE_LOAD].hits = USES / 2;
    scene.cache.read = USES / 2;
    scene.far.sectors[FAR] = AGAIN - USES / 2;
    scene.far.sectors[5] = USES / 2;
    check_remedy(&scene, "size", USES / 2 - DIFFERENT);
}

static void warps_that_take_too_much_ask_for_another_layout(void **state)
{
    (void)state;
    struct scene scene;
    begin(&scene);
    scene.taken = USES;
    scene.needed = USES / 8;
    check_remedy(&scene, "layout", USES - USES / 8);
}

// Adds an instruction with such accesses, whose requests need a part of what they take; 0: unknown.
static void add_site(struct scene *scene, uint32_t site, uint64_t missed, uint64_t hits,
                     uint64_t part)
{
    struct profile_cache row = scene->cache;
    row.site = site;
    row.l1[PROFILE_SITE_LOAD] = row.l2[PROFILE_SITE_LOAD] =
        (struct profile_cache_hits){missed + hits, hits};
    row.read = missed;
    assert_true(analyze_caches_add(&scene->model.caches, &row));
    if (!part)
        return;
    struct analyze_requests *made = base_array_push(&scene->model.requests);
    assert_non_null(made);
    *made = (struct analyze_requests){.call = scene->call,
                                      .object = scene->object,
                                      .kernel = 1,
                                      .site = site,
                                      .requests = 1,
                                      .taken = missed + hits,
                                      .needed = (missed + hits) / part};
}

// Uses at all distances, so that neither another order nor twice the size helps.
static void spread_distances(struct scene *scene)
{
    for (unsigned i = 0; i < 10; i++)
        scene->far.sectors[TWICE_L2 + i] = AGAIN / 10;
    scene->far.sectors[FAR] = AGAIN / 10;
}

// As in a tree, whose upper nodes caches have: warps need more sectors than memory delivers, but
// not of those that caches lack. Memory delivers pairs of sectors, of which one is used.
static void layouts_save_what_caches_lack(void **state)
{
    (void)state;
    struct scene scene;
    begin(&scene);
    spread_distances(&scene);
    scene.taken = 10 * USES;
    scene.needed = 5 * USES;
    scene.cache.l1[PROFILE_SITE_LOAD] = (struct profile_cache_hits){10 * USES, 9 * USES};
    scene.cache.read = 2 * USES;
    check_remedy(&scene, "layout", 2 * USES - USES / 2);
}

static void first_loads_remain_with_any_layout(void **state)
{
    (void)state;
    struct scene scene;
    begin(&scene);
    scene.taken = USES;
    scene.needed = USES / 32;
    check_remedy(&scene, "layout", AGAIN);
}

// One instruction needs an eighth of what it takes, and another all of it.
static void layouts_save_where_warps_take_too_much(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < 3; kind++) {
        struct scene scene;
        begin(&scene);
        spread_distances(&scene);
        scene.cache.l1[PROFILE_SITE_LOAD] = scene.cache.l2[PROFILE_SITE_LOAD] =
            (struct profile_cache_hits){0};
        scene.cache.read = 0;
        add_rows(&scene);
        const bool is_poor = kind == 0;
        add_site(&scene, 2, is_poor ? USES : 0, is_poor ? 0 : 20 * USES, 8);
        add_site(&scene, 3, is_poor ? 0 : USES, is_poor ? USES : 0, kind == 2 ? 0 : 1);
        end(&scene);
        const struct analyze_finding *finding = found();
        assert_int_equal(finding != NULL, is_poor);
        if (finding)
            assert_int_equal(value_of(finding, "saved_bytes"), (USES - USES / 8) * 32);
    }
}

// What requests take is only compared if it is about what was modelled.
static void layouts_are_not_blamed_without_requests_that_agree(void **state)
{
    (void)state;
    static const struct {
        uint64_t taken, needed;
    } cases[] = {
        {USES, USES}, {USES, USES * 10 / 15}, {USES / 2, USES / 16}, {2 * USES, USES / 4}, {0, 0}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct scene scene;
        begin(&scene);
        scene.taken = cases[i].taken;
        scene.needed = cases[i].needed;
        check_remedy(&scene, "order", AGAIN);
    }
}

static void objects_of_one_name_count_together(void **state)
{
    (void)state;
    struct scene scene;
    begin(&scene);
    const uint32_t other = allocate(&scene.model, 1 << 20);
    struct analyze_object *objects = scene.model.objects.items;
    objects[scene.object].name = objects[other].name = "temporary";
    scene.model.calls.items[objects[other].call].path =
        scene.model.calls.items[objects[scene.object].call].path;
    add_rows(&scene);
    scene.call = launch(&scene.model, LEGACY, 1);
    scene.launch.call = scene.cache.call = scene.near.call = scene.far.call = scene.call + 1;
    scene.cache.object = scene.near.object = scene.far.object = other + 1;
    const struct analyze_finding *finding = check_remedy(&scene, "order", 2 * AGAIN);
    assert_int_equal(finding->times, 2);
}

// --- What is not found ---------------------------------------------------------------------------

static void data_that_is_used_once_is_not_found(void **state)
{
    (void)state;
    struct scene scene;
    begin(&scene);
    scene.far.first = USES;
    scene.far.sectors[FAR] = 0;
    check_nothing(&scene);
    begin(&scene); // memory delivers pairs of sectors, of which one is used
    scene.far.first = USES;
    scene.far.sectors[FAR] = 0;
    scene.cache.read = 2 * USES;
    check_nothing(&scene);
    begin(&scene); // a poor layout of such data is poor-coalescing
    scene.far.first = USES;
    scene.far.sectors[FAR] = 0;
    scene.taken = USES;
    scene.needed = USES / 8;
    check_nothing(&scene);
}

static void what_caches_serve_is_not_found(void **state)
{
    (void)state;
    struct scene scene;
    begin(&scene);
    scene.cache.l2[PROFILE_SITE_LOAD].hits = AGAIN;
    scene.cache.read = DIFFERENT;
    scene.far.sectors[FAR] = 0;
    scene.far.sectors[10] = AGAIN;
    check_nothing(&scene);
}

static void stores_are_not_found(void **state)
{
    (void)state;
    struct scene scene;
    begin(&scene);
    scene.cache.read = 0;
    scene.cache.written = USES;
    check_nothing(&scene);
}

// 10 percent are enough, less is not.
static void objects_with_little_of_the_traffic_are_not_found(void **state)
{
    (void)state;
    for (unsigned more = 0; more <= 100; more += 100) {
        struct scene scene;
        begin(&scene);
        const uint32_t other = allocate(&scene.model, 1 << 30);
        add_rows(&scene);
        scene.cache.object = other + 1;
        scene.cache.site = 2;
        scene.cache.read = 9 * USES + more;
        assert_true(analyze_caches_add(&scene.model.caches, &scene.cache));
        end(&scene);
        assert_int_equal(found() != NULL, more == 0);
    }
}

// Reuse distances of accesses at random places are spread, whatever the size of the table.
static void random_accesses_do_not_ask_for_another_order(void **state)
{
    (void)state;
    static const unsigned parts[] = {12, 22, 60, 103, 172, 239, 233, 117, 18}; // of 1000
    for (unsigned middle = 18; middle <= 30; middle++) {
        struct scene scene;
        begin(&scene);
        scene.far.sectors[FAR] = 0;
        uint64_t hits = 0;
        for (unsigned i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
            scene.far.sectors[middle - 6 + i] = (uint64_t)AGAIN * parts[i] / 1000;
            hits += middle - 6 + i <= 20 ? scene.far.sectors[middle - 6 + i] : 0;
        }
        scene.cache.l2[PROFILE_SITE_LOAD].hits = hits;
        scene.cache.read = USES - hits;
        add_rows(&scene);
        end(&scene);
        const struct analyze_finding *finding = found();
        if (finding)
            assert_string_equal(
                analyze_field_word(finding, analyze_find_field(ANALYZE_LOW_HIT_RATE, "remedy", 6)),
                "size");
        assert_true(!finding || middle <= 21);
    }
}

static void what_is_unknown_is_not_found(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < 8; kind++) {
        struct scene scene;
        begin(&scene);
        switch (kind) {
        case 0: scene.cache.l2_error = -1; break;
        case 1: scene.cache.l1_error = -1; break;
        case 2: scene.cache.l2_error = 1001; break;
        case 3: scene.launch.lost = 11; break;
        case 4: scene.cache.object = scene.near.object = scene.far.object = 0; break;
        case 5: scene.far.call = 0; break;
        case 6: scene.model.objects.items[scene.object].is_host = true; break;
        default: scene.launch.call = scene.call; break; // another launch was modelled
        }
        check_nothing(&scene);
    }
    struct scene scene;
    begin(&scene);
    scene.cache.l2_error = 1000;
    scene.launch.lost = 10;
    check_remedy(&scene, "order", AGAIN);
}

// A remedy that saves less than half of what repeats, or a quarter of the object's traffic, is
// none.
static void small_savings_are_not_found(void **state)
{
    (void)state;
    for (uint64_t far = 0; far <= 1; far++) {
        struct scene scene;
        begin(&scene);
        scene.cache.written = 3 * AGAIN - DIFFERENT + (far ? 4 : 0);
        add_rows(&scene);
        end(&scene);
        assert_int_equal(found() == NULL, far);
    }
    for (uint64_t less = 0; less <= 1; less++) {
        struct scene scene;
        begin(&scene);
        scene.far.sectors[FAR] = 0;
        scene.far.sectors[TWICE_L2] = AGAIN / 2 - less;
        for (unsigned i = 0; i < 10; i++) // spread, so that no order helps
            scene.far.sectors[TWICE_L2 + 1 + i] = AGAIN / 20;
        scene.far.sectors[TWICE_L2 + 1] += less;
        add_rows(&scene);
        end(&scene);
        assert_int_equal(found() == NULL, less);
    }
}

// --- Worth ---------------------------------------------------------------------------------------

// 90,000 sectors take 635 ns at 4,530 bytes per nanosecond. A launch saves at most 90 % of its
// time, as of its traffic; the simulated GPU has no times.
static void savings_take_at_most_their_part_of_the_time(void **state)
{
    (void)state;
    static const struct {
        uint64_t launch_ns, saved_ns;
        bool simulated;
    } cases[] = {{1000000, 635, false}, {500, 450, false}, {0, 0, false}, {1000000, 0, true}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct scene scene;
        begin(&scene);
        scene.model.simulated = cases[i].simulated;
        scene.model.calls.items[scene.call].gpu_ns = cases[i].launch_ns;
        const struct analyze_finding *finding = check_remedy(&scene, "order", AGAIN);
        assert_int_equal(finding->gpu_ns, cases[i].saved_ns);
        assert_int_equal(finding->only_time_counts, cases[i].saved_ns != 0);
    }
}

// Only what launches with a known time save counts as time.
static void launches_without_times_save_none(void **state)
{
    (void)state;
    struct scene scene;
    begin(&scene);
    scene.model.calls.items[scene.call].gpu_ns = 1000000;
    add_rows(&scene);
    scene.call = launch(&scene.model, LEGACY, 1);
    scene.launch.call = scene.cache.call = scene.near.call = scene.far.call = scene.call + 1;
    assert_int_equal(check_remedy(&scene, "order", 2 * AGAIN)->gpu_ns, 635);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(regular_reuse_beyond_l2_asks_for_another_order, forget),
        cmocka_unit_test_teardown(reuse_within_twice_a_cache_asks_for_less_data, forget),
        cmocka_unit_test_teardown(what_l1_serves_saves_what_l2_lacks, forget),
        cmocka_unit_test_teardown(warps_that_take_too_much_ask_for_another_layout, forget),
        cmocka_unit_test_teardown(layouts_save_what_caches_lack, forget),
        cmocka_unit_test_teardown(first_loads_remain_with_any_layout, forget),
        cmocka_unit_test_teardown(layouts_save_where_warps_take_too_much, forget),
        cmocka_unit_test_teardown(layouts_are_not_blamed_without_requests_that_agree, forget),
        cmocka_unit_test_teardown(objects_of_one_name_count_together, forget),
        cmocka_unit_test_teardown(data_that_is_used_once_is_not_found, forget),
        cmocka_unit_test_teardown(what_caches_serve_is_not_found, forget),
        cmocka_unit_test_teardown(stores_are_not_found, forget),
        cmocka_unit_test_teardown(objects_with_little_of_the_traffic_are_not_found, forget),
        cmocka_unit_test_teardown(random_accesses_do_not_ask_for_another_order, forget),
        cmocka_unit_test_teardown(what_is_unknown_is_not_found, forget),
        cmocka_unit_test_teardown(small_savings_are_not_found, forget),
        cmocka_unit_test_teardown(savings_take_at_most_their_part_of_the_time, forget),
        cmocka_unit_test_teardown(launches_without_times_save_none, forget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
