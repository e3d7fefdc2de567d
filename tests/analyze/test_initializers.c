// SPDX-License-Identifier: Apache-2.0
// Copies and sets that only initialize an object are delayed until it is used, where that is
// certain to be right. Objects that nothing reads are unused. Idle objects may be moved to the
// host.
#include "models.h"
#include "wanted.h"

static uint32_t launch_on(struct analyze_model *model, uint32_t one, uint32_t other, uint32_t out)
{
    const uint32_t call = launch(model, LEGACY, 1);
    uses(model, one, ANALYZE_READ);
    uses(model, other, ANALYZE_READ);
    uses(model, out, ANALYZE_WRITE);
    return call;
}

// Says that the source of the copy was still the same before the call.
static void keep(struct analyze_model *model, uint32_t copy, uint32_t until)
{
    model->touches.items[model->calls.items[copy].touches].kept = until + 1;
}

enum how {
    KEPT,
    CHANGED,
    KEPT_TO_FIRST,
    SET,
    SET_AND_KEPT,
    UNSEEN,
    BETWEEN_OBJECTS,
    PINNED,
    PINNED_AND_WRITTEN, // by the first launch, after the copy
    HOWS,
};

static uint32_t add_pinned(struct analyze_model *model)
{
    const uint32_t host = add_object(model, PROFILE_OBJECT_PINNED, 4096);
    model->objects.items[host].is_host = true;
    return host;
}

// Two chained products with all inputs copied up front: c = a b, e = c d. With d delayed, and e, a
// and b are no longer needed when d and e are.
static struct analysis *make_products(enum how how)
{
    struct analyze_model model;
    model_begin(&model);
    const uint32_t a = allocate(&model, 4096), b = allocate(&model, 4096),
                   c = allocate(&model, 4096), d = allocate(&model, 4096),
                   e = allocate(&model, 4096);
    const bool is_pinned = how == PINNED || how == PINNED_AND_WRITTEN;
    const uint32_t host = is_pinned ? add_pinned(&model) : ANALYZE_NONE;
    uint32_t copy = ANALYZE_NONE;
    copy_in(&model, a, 0, 4096);
    copy_in(&model, b, 0, 4096);
    if (how == SET || how == SET_AND_KEPT)
        set(&model, d, 0, 4096);
    if (how != SET)
        copy = copy_in(&model, d, 0, 4096);
    if (how == BETWEEN_OBJECTS)
        touch(&model, a, ANALYZE_READ)->rows = 1;
    if (is_pinned)
        touch(&model, host, ANALYZE_READ)->rows = 1;
    const uint32_t first = launch_on(&model, a, b, c);
    if (how == PINNED_AND_WRITTEN)
        uses(&model, host, ANALYZE_WRITE);
    if (how == UNSEEN)
        model.calls.items[first].flags |= ANALYZE_UNSEEN;
    const uint32_t second = launch_on(&model, c, d, e);
    copy_out(&model, e, 0, 4096);
    for (uint32_t o = a; o <= e; o++)
        release(&model, o);
    if (how == KEPT || how == SET_AND_KEPT || how == UNSEEN || is_pinned)
        keep(&model, copy, second);
    if (how == KEPT_TO_FIRST)
        keep(&model, copy, first);
    return analyze(&model, analyze_default_thresholds());
}

static void initializers_are_delayed_where_that_is_surely_right(void **state)
{
    (void)state;
    static const bool is_delayed[HOWS] = {
        [KEPT] = true, [SET] = true, [SET_AND_KEPT] = true, [PINNED] = true};
    for (unsigned how = 0; how < HOWS; how++) {
        struct analysis *analysis = make_products((enum how)how);
        print_message("case %u\n", how);
        assert_int_equal(analysis->levels.allocations, (how == UNSEEN ? 5 : 4) * 4096);
        assert_int_equal(analysis->levels.achievable, (is_delayed[how] ? 3
                                                       : how == UNSEEN ? 5
                                                                       : 4) *
                                                          4096);
        bool reused = false;
        for (size_t i = 0; i < analyze_finding_count(analysis); i++) {
            const struct analyze_finding *finding = analyze_finding(analysis, i);
            reused |= finding->pattern == ANALYZE_REDUNDANT_ALLOCATION && finding->object == 4;
        }
        assert_int_equal(reused, is_delayed[how]);
        analyze_free(analysis);
    }
}

// A buffer is allocated and set, and first used after another one was used and freed.
static void an_object_that_is_set_long_before_its_use_is_early(void **state)
{
    (void)state;
    for (unsigned late = 0; late < 2; late++) {
        struct analyze_model model;
        model_begin(&model);
        const uint32_t a = allocate(&model, 1024);
        set(&model, a, 0, 1024);
        if (!late) { // the next call uses it, so nothing is early
            launch(&model, LEGACY, 1);
            uses(&model, a, ANALYZE_READ);
        }
        const uint32_t b = allocate(&model, 1024);
        launch(&model, LEGACY, 1);
        uses(&model, b, ANALYZE_READ | ANALYZE_WRITE);
        release(&model, b);
        if (late) {
            launch(&model, LEGACY, 1);
            uses(&model, a, ANALYZE_READ);
        }
        release(&model, a);
        struct analysis *analysis = analyze(&model, analyze_default_thresholds());
        size_t early = 0;
        for (size_t i = 0; i < analyze_finding_count(analysis); i++) {
            const struct analyze_finding *finding = analyze_finding(analysis, i);
            if (finding->pattern != ANALYZE_EARLY_ALLOCATION)
                continue;
            early++;
            assert_int_equal(finding->object, 1);
            assert_int_equal(finding->last_call, 2);  // the set
            assert_int_equal(finding->other_call, 6); // the launch
            assert_int_equal(finding->peak_bytes, 1024);
        }
        assert_int_equal(early, late);
        analyze_free(analysis);
    }
}

enum reader { NOBODY, KERNEL, COPY, UNWATCHED, READERS };

// A backup is set and copied to. It is unused unless something reads it.
static void memory_that_is_written_but_never_read_is_unused(void **state)
{
    (void)state;
    for (unsigned reader = 0; reader < READERS; reader++) {
        struct analyze_model model;
        model_begin(&model);
        const uint32_t backup = allocate(&model, 8192);
        set(&model, backup, 0, 8192);
        copy_in(&model, backup, 0, 4096);
        if (reader == KERNEL || reader == UNWATCHED)
            model.calls.items[launch(&model, LEGACY, 1)].flags |=
                reader == UNWATCHED ? ANALYZE_UNSEEN : 0;
        if (reader == KERNEL)
            uses(&model, backup, ANALYZE_READ);
        if (reader == COPY)
            copy_out(&model, backup, 4096, 1024);
        release(&model, backup);
        struct analysis *analysis = analyze(&model, analyze_default_thresholds());
        print_message("reader %u\n", reader);
        bool unused = false;
        for (size_t i = 0; i < analyze_finding_count(analysis); i++)
            unused |= analyze_finding(analysis, i)->pattern == ANALYZE_UNUSED_ALLOCATION;
        assert_int_equal(unused, reader == NOBODY);
        assert_int_equal(analysis->levels.achievable, reader == NOBODY ? 0 : 8192);
        analyze_free(analysis);
    }
}

// A program that was killed might have read it.
static void a_program_that_did_not_end_leaves_nothing_unread(void **state)
{
    (void)state;
    struct analyze_model model;
    model_begin(&model);
    model.ended = false;
    const uint32_t data = allocate(&model, 8192);
    copy_in(&model, data, 0, 8192);
    struct analysis *analysis = analyze(&model, analyze_default_thresholds());
    assert_int_equal(analyze_finding_count(analysis), 0);
    assert_int_equal(analysis->levels.achievable, 8192);
    analyze_free(analysis);
}

static size_t count_dead(uint64_t elements, unsigned how, bool read_back, uint64_t *by)
{
    struct analyze_model model;
    model_begin(&model);
    struct analyze_site *site = base_array_push(&model.sites);
    assert_non_null(site);
    *site = (struct analyze_site){.kernel = 1, .site = 1, .bytes = 4, .access = PROFILE_SITE_STORE};
    const uint32_t a = allocate(&model, 4096);
    set(&model, a, 0, 4096);
    launch(&model, LEGACY, 1);
    struct analyze_touch *row = uses(&model, a, how);
    row->elements = elements;
    row->element_bytes = 4;
    if (read_back)
        copy_out(&model, a, 0, 4096);
    release(&model, a);
    struct analysis *analysis = analyze(&model, analyze_default_thresholds());
    size_t dead = 0;
    for (size_t i = 0; i < analyze_finding_count(analysis); i++) {
        const struct analyze_finding *finding = analyze_finding(analysis, i);
        if (finding->pattern != ANALYZE_DEAD_WRITE)
            continue;
        dead++;
        *by = finding->other_call;
    }
    analyze_free(analysis);
    return dead;
}

static void a_set_that_a_kernel_overwrites_completely_is_dead(void **state)
{
    (void)state;
    uint64_t by = 0;
    assert_int_equal(count_dead(1024, ANALYZE_WRITE, true, &by), 1);
    assert_int_equal(by, 3);
    assert_int_equal(count_dead(1023, ANALYZE_WRITE, true, &by), 0);
    assert_int_equal(count_dead(PROFILE_UNKNOWN, ANALYZE_WRITE, true, &by), 0);
    assert_int_equal(count_dead(1024, ANALYZE_READ | ANALYZE_WRITE, true, &by), 0);
    // Of a set that is overwritten in part, the rest counts: nothing reads it.
    assert_int_equal(count_dead(1023, ANALYZE_WRITE, false, &by), 1);
    assert_int_equal(by, 0);
}

// Three chained products: e is idle while f is computed, and nothing else is idle at the peak.
static void an_idle_object_at_the_peak_can_be_moved_to_the_host(void **state)
{
    (void)state;
    for (unsigned used = 0; used < 2; used++) {
        struct analyze_model model;
        model_begin(&model);
        uint32_t objects[7];
        for (unsigned i = 0; i < 7; i++)
            objects[i] = allocate(&model, 65536);
        launch_on(&model, objects[0], objects[1], objects[4]);
        launch_on(&model, objects[2], objects[3], objects[5]);
        if (used) // no longer idle
            uses(&model, objects[4], ANALYZE_READ);
        launch_on(&model, objects[4], objects[5], objects[6]);
        copy_out(&model, objects[6], 0, 65536);
        for (unsigned i = 0; i < 7; i++)
            release(&model, objects[i]);
        struct analysis *analysis = analyze(&model, analyze_default_thresholds());
        assert_int_equal(analysis->levels.achievable, 4 * 65536);
        assert_int_equal(analysis->levels.swapped, (used ? 4 : 3) * 65536);
        assert_int_equal(analysis->levels.swaps, used ? 0 : 1);
        assert_int_equal(analysis->levels.copied_bytes, used ? 0 : 2 * 65536);
        analyze_free(analysis);
    }
}

// Two large objects: one is idle at the peak. Nothing is copied if it is overwritten afterwards.
static void what_is_overwritten_afterwards_need_not_be_moved(void **state)
{
    (void)state;
    for (unsigned overwritten = 0; overwritten < 2; overwritten++) {
        struct analyze_model model;
        model_begin(&model);
        const uint32_t a = allocate(&model, 65536);
        for (unsigned round = 0; round < 2; round++) {
            if (round == 0 || overwritten)
                copy_in(&model, a, 0, 65536);
            launch(&model, LEGACY, 1);
            uses(&model, a, ANALYZE_READ);
            if (round)
                break;
            const uint32_t b = allocate(&model, 65536);
            launch(&model, LEGACY, 2);
            uses(&model, b, ANALYZE_READ | ANALYZE_WRITE);
            copy_out(&model, b, 0, 65536);
            release(&model, b);
        }
        release(&model, a);
        struct analysis *analysis = analyze(&model, analyze_default_thresholds());
        assert_int_equal(analysis->levels.swapped, 65536);
        assert_int_equal(analysis->levels.swaps, 1);
        assert_int_equal(analysis->levels.copied_bytes, overwritten ? 0 : 2 * 65536);
        analyze_free(analysis);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(initializers_are_delayed_where_that_is_surely_right),
        cmocka_unit_test(an_object_that_is_set_long_before_its_use_is_early),
        cmocka_unit_test(memory_that_is_written_but_never_read_is_unused),
        cmocka_unit_test(a_program_that_did_not_end_leaves_nothing_unread),
        cmocka_unit_test(a_set_that_a_kernel_overwrites_completely_is_dead),
        cmocka_unit_test(an_idle_object_at_the_peak_can_be_moved_to_the_host),
        cmocka_unit_test(what_is_overwritten_afterwards_need_not_be_moved),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
