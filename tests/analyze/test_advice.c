// SPDX-License-Identifier: Apache-2.0
// Following a suggestion must not change what a program computes: near misses in which a fix would,
// beside the cases in which it would not.
#include "models.h"

enum { BYTES = 65536, ELEMENTS = BYTES / 4, SLICES = 8, SLICE = ELEMENTS / SLICES };

static const struct analyze_finding *find(const struct analysis *analysis,
                                          enum analyze_pattern pattern)
{
    for (size_t i = 0; i < analyze_finding_count(analysis); i++) {
        if (analyze_finding(analysis, i)->pattern == pattern)
            return analyze_finding(analysis, i);
    }
    return NULL;
}

static bool has(struct analyze_model *model, enum analyze_pattern pattern)
{
    struct analysis *analysis = analyze(model, analyze_default_thresholds());
    const bool found = find(analysis, pattern) != NULL;
    analyze_free(analysis);
    return found;
}

static struct analyze_touch *use_elements(struct analyze_model *model, uint32_t object,
                                          unsigned how, uint64_t elements, uint64_t fresh)
{
    struct analyze_touch *row = uses(model, object, how);
    row->elements = elements;
    row->new_elements = fresh;
    row->shared_elements = 0;
    row->element_bytes = 4;
    return row;
}

// --- dead-write ----------------------------------------------------------------------------------

static void add_store(struct analyze_model *model, uint32_t kernel, uint32_t bytes)
{
    struct analyze_site *site = base_array_push(&model->sites);
    assert_non_null(site);
    *site = (struct analyze_site){
        .kernel = kernel, .site = 1, .bytes = bytes, .access = PROFILE_SITE_STORE};
}

// A kernel touches all elements of 4 bytes, by stores of `bytes`.
static bool is_set_dead(uint32_t bytes)
{
    struct analyze_model model;
    model_begin(&model);
    const uint32_t a = allocate(&model, BYTES);
    set(&model, a, 0, BYTES);
    launch(&model, LEGACY, 2);
    use_elements(&model, a, ANALYZE_WRITE, ELEMENTS, ELEMENTS);
    copy_out(&model, a, 0, BYTES);
    release(&model, a);
    add_store(&model, 1, 1); // of another kernel
    if (bytes)
        add_store(&model, 2, bytes);
    return has(&model, ANALYZE_DEAD_WRITE);
}

static void elements_that_may_be_written_in_part_are_not_overwritten(void **state)
{
    (void)state;
    assert_true(is_set_dead(4));
    assert_true(is_set_dead(16));
    assert_false(is_set_dead(2));
    assert_false(is_set_dead(1));
    assert_false(is_set_dead(0)); // unknown
}

// A loop copies and reads; the last copy is not read.
static void a_line_that_makes_needed_writes_is_not_removed(void **state)
{
    (void)state;
    for (unsigned needed = 0; needed < 4; needed++) {
        struct analyze_model model;
        model_begin(&model);
        const uint32_t a = allocate(&model, BYTES);
        for (unsigned i = 0; i <= needed; i++) {
            model.calls.items[copy_in(&model, a, 0, BYTES)].path = 77;
            if (i == needed)
                break;
            launch(&model, LEGACY, 1);
            uses(&model, a, ANALYZE_READ);
        }
        if (needed == 0) { // the object is used, but this copy is not
            set(&model, a, 0, BYTES);
            launch(&model, LEGACY, 1);
            uses(&model, a, ANALYZE_READ);
        }
        release(&model, a);
        struct analysis *analysis = analyze(&model, analyze_default_thresholds());
        const struct analyze_finding *finding = find(analysis, ANALYZE_DEAD_WRITE);
        assert_non_null(finding);
        assert_int_equal(finding->times, 1);
        assert_int_equal(value_of(finding, "needed"), needed);
        analyze_free(analysis);
    }
}

// A node of a graph sets an object. The second launch does it for nothing, and so does the first,
// unless `needed`.
static void a_node_that_some_launch_needs_stays_in_its_graph(void **state)
{
    (void)state;
    static const bool is_api[2] = {true, true};
    for (unsigned needed = 0; needed < 2; needed++) {
        struct analyze_model model;
        model_begin(&model);
        const uint32_t graph = analyze_add_graph(&model, is_api, 2) + 1;
        const uint32_t a = allocate(&model, BYTES);
        for (unsigned i = 0; i < 2; i++) {
            const uint32_t call = add_call(&model, PROFILE_CALL_GRAPH_LAUNCH, LEGACY);
            model.calls.items[call].graph = graph;
            struct analyze_touch *row = touch(&model, a, ANALYZE_WRITE);
            row->maker = ANALYZE_MADE_BY_SET;
            row->row_bytes = BYTES;
            row->rows = 1;
            if (i || !needed)
                set(&model, a, 0, BYTES);
            launch(&model, LEGACY, 1);
            uses(&model, a, ANALYZE_READ);
        }
        release(&model, a);
        assert_int_equal(has(&model, ANALYZE_DEAD_WRITE), !needed);
    }
}

// --- structured-access ---------------------------------------------------------------------------

enum step { END, LAUNCH, READ, WRITE, READ_FIRST, READ_ALL, AGAIN, AGAIN_TWICE };

// Makes the steps of `each` for each slice, then those of `rest`.
static bool is_sliced(const enum step before[4], const enum step each[4], const enum step after[4])
{
    const enum step *const parts[] = {before, each, after};
    struct analyze_model model;
    model_begin(&model);
    const uint32_t a = allocate(&model, BYTES);
    for (unsigned part = 0; part < 3; part++) {
        for (unsigned i = 0; i < SLICES; i++) {
            for (unsigned k = 0; parts[part][k]; k++) {
                const uint64_t at = i * (uint64_t)SLICE * 4;
                switch (parts[part][k]) {
                case LAUNCH:
                    launch(&model, LEGACY, 1);
                    use_elements(&model, a, ANALYZE_READ | ANALYZE_WRITE, SLICE, SLICE);
                    break;
                case READ: copy_out(&model, a, at, SLICE * 4); break;
                case READ_FIRST: copy_out(&model, a, 0, SLICE * 4); break;
                case READ_ALL: copy_out(&model, a, 0, BYTES); break;
                case WRITE: copy_in(&model, a, at, SLICE * 4); break;
                case AGAIN:
                case AGAIN_TWICE:
                    launch(&model, LEGACY, 2);
                    use_elements(&model, a, ANALYZE_READ, 1, 0)->shared_elements =
                        parts[part][k] == AGAIN;
                    break;
                case END: break;
                }
            }
        }
    }
    release(&model, a);
    return has(&model, ANALYZE_STRUCTURED_ACCESS);
}

static const enum step none[4] = {END};

static void a_slice_is_reused_only_if_nothing_needs_it_later(void **state)
{
    (void)state;
    static const enum step launches[4] = {LAUNCH}, reads[4] = {READ}, writes[4] = {WRITE},
                           read_back[4] = {LAUNCH, READ}, all_of_it[4] = {WRITE, LAUNCH, READ},
                           first_only[4] = {LAUNCH, READ_FIRST}, whole[4] = {LAUNCH, READ_ALL},
                           early[4] = {READ, LAUNCH};
    assert_true(is_sliced(none, launches, none));
    assert_true(is_sliced(none, read_back, none));
    assert_true(is_sliced(none, all_of_it, none));
    assert_false(is_sliced(none, launches, reads));  // read after all launches
    assert_false(is_sliced(writes, launches, none)); // written before all launches
    assert_false(is_sliced(none, first_only, none)); // others than the one just written
    assert_false(is_sliced(none, whole, none));
    assert_false(is_sliced(none, early, none)); // the slice before it was written
}

static void elements_that_are_touched_again_are_those_of_the_last_slice(void **state)
{
    (void)state;
    static const enum step launches[4] = {LAUNCH}, again[4] = {AGAIN}, beside[4] = {LAUNCH, AGAIN},
                           before[4] = {AGAIN, LAUNCH}, twice[4] = {LAUNCH, AGAIN_TWICE};
    assert_true(is_sliced(none, beside, none));
    assert_true(is_sliced(none, before, none));
    assert_false(is_sliced(none, launches, again));
    assert_false(is_sliced(none, twice, none)); // always the same ones, perhaps
}

// --- Objects that one line allocates -------------------------------------------------------------

// One line allocates four objects; `touched` says how many elements of each a kernel uses.
static struct analysis *make_alike(const uint64_t touched[4])
{
    struct analyze_model model;
    model_begin(&model);
    uint32_t objects[4];
    for (unsigned i = 0; i < 4; i++) {
        objects[i] = allocate(&model, BYTES);
        model.calls.items[model.objects.items[objects[i]].call].path = 77;
        model.objects.items[objects[i]].name = "p";
    }
    for (unsigned i = 0; i < 4; i++) {
        if (!touched[i])
            continue;
        launch(&model, LEGACY, 1);
        use_elements(&model, objects[i], ANALYZE_WRITE, touched[i], touched[i]);
        struct analyze_map *map = base_array_push(&model.maps);
        assert_non_null(map);
        *map = (struct analyze_map){.object = objects[i],
                                    .element_bytes = 4,
                                    .elements = ELEMENTS,
                                    .touched = touched[i],
                                    .unused = ELEMENTS - touched[i],
                                    .largest_first = touched[i],
                                    .largest_count = ELEMENTS - touched[i]};
    }
    for (unsigned i = 0; i < 4; i++)
        release(&model, objects[i]);
    return analyze(&model, analyze_default_thresholds());
}

static void what_other_objects_of_the_line_need_is_said(void **state)
{
    (void)state;
    static const struct {
        uint64_t touched[4], others;
    } cases[] = {
        {{100, 100, 100, 100}, 0},
        {{100, 100, 200, 100}, 800},
        {{100, 100, ELEMENTS, 100}, BYTES},
    };
    for (unsigned i = 0; i < 3; i++) {
        struct analysis *analysis = make_alike(cases[i].touched);
        const struct analyze_finding *finding = find(analysis, ANALYZE_OVERALLOCATION);
        assert_non_null(finding);
        assert_int_equal(value_of(finding, "enough_bytes"), 400);
        assert_int_equal(value_of(finding, "others_bytes"), cases[i].others);
        analyze_free(analysis);
    }
}

static void how_many_objects_of_the_line_are_used_is_said(void **state)
{
    (void)state;
    for (unsigned used = 0; used < 4; used++) {
        uint64_t touched[4] = {0};
        for (unsigned i = 0; i < used; i++)
            touched[i] = ELEMENTS;
        struct analysis *analysis = make_alike(touched);
        const struct analyze_finding *finding = find(analysis, ANALYZE_UNUSED_ALLOCATION);
        assert_non_null(finding);
        assert_int_equal(finding->count, 4 - used);
        assert_int_equal(value_of(finding, "others"), used);
        analyze_free(analysis);
    }
}

static void the_padding_of_pitched_memory_is_no_waste(void **state)
{
    (void)state;
    for (unsigned pitched = 0; pitched < 2; pitched++) {
        struct analyze_model model;
        model_begin(&model);
        const uint32_t a = allocate(&model, BYTES);
        if (pitched) {
            model.objects.items[a].pitch = 512;
            model.objects.items[a].padding = 384;
        }
        launch(&model, LEGACY, 1);
        use_elements(&model, a, ANALYZE_WRITE, ELEMENTS / 4, ELEMENTS / 4);
        release(&model, a);
        assert_int_equal(has(&model, ANALYZE_OVERALLOCATION), !pitched);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elements_that_may_be_written_in_part_are_not_overwritten),
        cmocka_unit_test(a_line_that_makes_needed_writes_is_not_removed),
        cmocka_unit_test(a_node_that_some_launch_needs_stays_in_its_graph),
        cmocka_unit_test(a_slice_is_reused_only_if_nothing_needs_it_later),
        cmocka_unit_test(elements_that_are_touched_again_are_those_of_the_last_slice),
        cmocka_unit_test(what_other_objects_of_the_line_need_is_said),
        cmocka_unit_test(how_many_objects_of_the_line_are_used_is_said),
        cmocka_unit_test(the_padding_of_pitched_memory_is_no_waste),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
