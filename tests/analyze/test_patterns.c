// SPDX-License-Identifier: Apache-2.0
// The ten patterns on small models: what must match, and near misses that must not. A test lists
// every expected finding; any other is a failure.
#include "wanted.h"

// --- Early allocation, late deallocation ---------------------------------------------------------

static void an_object_that_is_used_at_once_and_freed_at_once_is_fine(void **state)
{
    (void)state;
    struct analyze_model model;
    model_begin(&model);
    uint32_t a = allocate(&model, 1000);
    copy_in(&model, a, 0, 1000);
    launch(&model, LEGACY, 1);
    uses(&model, a, ANALYZE_READ | ANALYZE_WRITE);
    copy_out(&model, a, 0, 1000);
    release(&model, a);
    CHECK_NOTHING(&model);
}

// Two objects: b is allocated one GPU API too early, and a is freed one too late.
static void memory_that_waits_for_its_first_use_is_early_and_after_its_last_late(void **state)
{
    (void)state;
    struct analyze_model model;
    model_begin(&model);
    uint32_t a = allocate(&model, 1000), b = allocate(&model, 400); // 0, 1
    copy_in(&model, a, 0, 1000);                                    // 2
    copy_out(&model, a, 0, 1000);                                   // 3
    copy_in(&model, b, 0, 400);                                     // 4
    copy_out(&model, b, 0, 400);                                    // 5
    release(&model, b);                                             // 6
    release(&model, a);                                             // 7
    CHECK(&model, {ANALYZE_EARLY_ALLOCATION, a, 0, 2, 2, 0, 0, 0},
          {ANALYZE_EARLY_ALLOCATION, b, 1, 4, 3, 0, 0, 0},
          {ANALYZE_LATE_DEALLOCATION, a, 7, 3, 4, 0, 0, 0});
}

// b is allocated while a is in use, and used after a is gone. Allocated later, it does not coexist
// with a.
static void the_worth_is_what_the_peak_loses(void **state)
{
    (void)state;
    struct analyze_model model;
    model_begin(&model);
    uint32_t a = allocate(&model, 1000), b = allocate(&model, 400); // 0, 1
    copy_out(&model, a, 0, 1000);                                   // 2
    release(&model, a);                                             // 3
    copy_out(&model, b, 0, 400);                                    // 4
    release(&model, b);                                             // 5
    CHECK(&model, {ANALYZE_EARLY_ALLOCATION, a, 0, 2, 2, 0, 0, 0},
          {ANALYZE_EARLY_ALLOCATION, b, 1, 4, 3, 400, 0, 0});
}

static void thresholds_of_early_and_late_are_settable(void **state)
{
    (void)state;
    struct analyze_model model;
    model_begin(&model);
    uint32_t a = allocate(&model, 1000), b = allocate(&model, 400);
    copy_in(&model, a, 0, 1000);
    copy_out(&model, a, 0, 1000);
    copy_in(&model, b, 0, 400);
    copy_out(&model, b, 0, 400);
    release(&model, b);
    release(&model, a);
    struct analyze_thresholds thresholds = analyze_default_thresholds();
    *analyze_threshold(&thresholds, "early-apis") = 2;
    *analyze_threshold(&thresholds, "late-apis") = 4;
    struct analysis *analysis = analyze(&model, thresholds);
    check_in(analysis, (const struct wanted[]){{ANALYZE_EARLY_ALLOCATION, b, 1, 4, 3, 0, 0, 0}}, 1);
    analyze_free(analysis);
    assert_null(analyze_threshold(&thresholds, "early"));
    assert_string_equal(analyze_threshold_at(0)->name, "early-apis");
    assert_string_equal(analyze_threshold_at(31)->name, "peaks");
    assert_null(analyze_threshold_at(32));
}

// Work on another stream that runs concurrently is not between two calls.
static void what_runs_side_by_side_is_not_between(void **state)
{
    (void)state;
    struct analyze_model model;
    model_begin(&model);
    uint32_t a = allocate(&model, 1000);
    launch(&model, BLOCKING, 1);
    launch(&model, BLOCKING_TOO, 2);
    uses(&model, a, ANALYZE_WRITE);
    launch(&model, BLOCKING, 1);
    release(&model, a);
    struct wanted late = {ANALYZE_LATE_DEALLOCATION, a, 4, 2, 2, 0, 0, 0};
    CHECK(&model, late);
}

// The accesses of this launch are unknown, so nothing is claimed across it.
static void launches_that_are_not_watched_hide_what_they_might_touch(void **state)
{
    (void)state;
    struct analyze_model model;
    model_begin(&model);
    uint32_t a = allocate(&model, 1000), b = allocate(&model, 2000);
    uint32_t unseen = launch(&model, LEGACY, 1);
    model.calls.items[unseen].flags |= ANALYZE_UNSEEN;
    copy_in(&model, a, 0, 1000);
    set(&model, b, 0, 1000);
    unseen = launch(&model, LEGACY, 1);
    model.calls.items[unseen].flags |= ANALYZE_UNSEEN;
    copy_out(&model, b, 0, 1000);
    release(&model, a);
    release(&model, b);
    struct wanted late = {ANALYZE_LATE_DEALLOCATION, b, 8, 6, 2, 0, 0, 0};
    CHECK(&model, late);
}

// --- Unused, leak --------------------------------------------------------------------------------

static void memory_that_nothing_touches_is_unused(void **state)
{
    (void)state;
    struct analyze_model model;
    model_begin(&model);
    uint32_t a = allocate(&model, 1000);
    copy_in(&model, a, 0, 10);
    copy_out(&model, a, 0, 10);
    uint32_t b = allocate(&model, 500);
    release(&model, b);
    release(&model, a);
    CHECK(&model, {ANALYZE_UNUSED_ALLOCATION, b, 3, NO_CALL, 0, 500, 0, 0},
          {ANALYZE_LATE_DEALLOCATION, a, 5, 2, 3, 500, 0, 0});
}

static void memory_that_nobody_frees_is_a_leak(void **state)
{
    (void)state;
    struct analyze_model model;
    model_begin(&model);
    uint32_t a = allocate(&model, 1000);
    copy_in(&model, a, 0, 1000);
    copy_out(&model, a, 0, 1000);
    uint32_t heap = add_object(&model, PROFILE_OBJECT_HEAP, 16);
    model.objects.items[heap].call = launch(&model, LEGACY, 1);
    uses(&model, heap, ANALYZE_WRITE);
    uint32_t freed = add_object(&model, PROFILE_OBJECT_HEAP, 16);
    model.objects.items[freed].call = model.objects.items[freed].end = launch(&model, LEGACY, 1);
    model.objects.items[freed].has_end = true;
    uses(&model, freed, ANALYZE_WRITE);
    add_object(&model, PROFILE_OBJECT_GLOBAL, 64); // a variable is no leak
    CHECK(&model, {ANALYZE_MEMORY_LEAK, a, 0, 2, 0, 16, 0, 0},
          {ANALYZE_MEMORY_LEAK, heap, 3, 3, 0, 0, 0, 0});
}

// The end of the context frees it, but the program does not free it explicitly.
// One cause, one gain: that of not allocating it.
static void a_leak_that_nothing_uses_gains_nothing_itself(void **state)
{
    (void)state;
    for (int written = 0; written < 2; written++) {
        struct analyze_model model;
        model_begin(&model);
        const uint32_t a = allocate(&model, 1000);
        if (written)
            copy_in(&model, a, 0, 1000);
        struct analysis *analysis = analyze(&model, analyze_default_thresholds());
        unsigned found = 0;
        for (size_t i = 0; i < analyze_finding_count(analysis); i++) {
            const struct analyze_finding *finding = analyze_finding(analysis, i);
            if (finding->pattern == ANALYZE_UNUSED_ALLOCATION)
                assert_int_equal(finding->peak_bytes, 1000);
            else if (finding->pattern == ANALYZE_MEMORY_LEAK)
                assert_int_equal(finding->peak_bytes, 0);
            found |= 1u << finding->pattern;
        }
        assert_true(found & 1u << ANALYZE_UNUSED_ALLOCATION);
        assert_true(found & 1u << ANALYZE_MEMORY_LEAK);
        analyze_free(analysis);
    }
}

static void what_ends_with_its_context_is_a_leak(void **state)
{
    (void)state;
    struct analyze_model model;
    model_begin(&model);
    uint32_t a = allocate(&model, 1000);
    copy_out(&model, a, 0, 1000);
    model.objects.items[a].has_end = true;
    model.objects.items[a].end = add_call(&model, PROFILE_CALL_CONTEXT, 0);
    CHECK(&model, {ANALYZE_MEMORY_LEAK, a, 0, 1, 0, 0, 0, 0});
}

static void a_program_that_was_killed_leaks_nothing(void **state)
{
    (void)state;
    struct analyze_model model;
    model_begin(&model);
    uint32_t a = allocate(&model, 1000);
    copy_in(&model, a, 0, 1000);
    model.ended = false;
    CHECK_NOTHING(&model);
}

static void where_calls_are_missing_nothing_is_claimed(void **state)
{
    (void)state;
    struct analyze_model model;
    model_begin(&model);
    allocate(&model, 1000);
    model.dropped = true;
    CHECK_NOTHING(&model);
}

// --- Temporary idleness --------------------------------------------------------------------------

static void make_idle(struct analyze_model *model, unsigned apis, bool rewritten)
{
    model_begin(model);
    uint32_t a = allocate(model, 1000);
    copy_in(model, a, 0, 1000);
    uint32_t b = allocate(model, 100);
    for (unsigned i = 1; i < apis; i++)
        copy_out(model, b, 0, 100);
    if (rewritten)
        copy_in(model, a, 0, 1000);
    else
        copy_out(model, a, 0, 1000);
    release(model, a);
    release(model, b);
}

static void two_apis_between_accesses_make_an_object_idle(void **state)
{
    (void)state;
    struct analyze_model model;
    make_idle(&model, 2, false);
    CHECK(&model, {ANALYZE_TEMPORARY_IDLENESS, 0, 1, 4, 3, 0, 0, 0},
          {ANALYZE_LATE_DEALLOCATION, 1, 6, 3, 3, 0, 0, 0});
}

enum idle_after { AFTER_LAUNCH, AFTER_COPY, AFTER_SET };

// While a is idle, b exists, `times` times in a loop. a has `bytes`; b has as many, but not below
// 1000.
static void make_idle_loop(struct analyze_model *model, uint64_t bytes, enum idle_after after,
                           unsigned times)
{
    const uint64_t of_b = bytes < 1000 ? 1000 : bytes;
    model_begin(model);
    uint32_t a = allocate(model, bytes), used;
    copy_in(model, a, 0, bytes);
    for (unsigned i = 0; i < times; i++) {
        if (after == AFTER_LAUNCH) {
            used = launch(model, LEGACY, 1);
            uses(model, a, ANALYZE_READ | ANALYZE_WRITE);
        } else if (after == AFTER_COPY) {
            used = copy_in(model, a, 0, bytes);
        } else {
            used = set(model, a, 0, bytes);
        }
        model->calls.items[used].path = 50;
        uint32_t b = allocate(model, of_b);
        copy_in(model, b, 0, of_b);
        copy_out(model, b, 0, of_b);
        release(model, b);
        model->calls.items[copy_out(model, a, 0, bytes)].path = 51;
    }
    release(model, a);
}

// Analyzes the model, and returns the finding on the idle object.
static struct analyze_finding idle_of(struct analyze_model *model)
{
    struct analyze_finding found = {0};
    struct analysis *analysis = analyze(model, analyze_default_thresholds());
    for (size_t i = 0; i < analysis->finding_count; i++) {
        const struct analyze_finding *finding = analyze_finding(analysis, i);
        if (finding->pattern != ANALYZE_TEMPORARY_IDLENESS || finding->object != 1)
            continue;
        assert_int_equal(found.object, 0);
        found = *finding;
    }
    assert_int_equal(found.object, 1);
    found.objects = NULL;
    analyze_free(analysis);
    return found;
}

static void moving_an_idle_object_makes_room_for_others(void **state)
{
    (void)state;
    struct analyze_model model;
    make_idle_loop(&model, 1000, AFTER_LAUNCH, 1);
    struct analyze_finding idle = idle_of(&model);
    assert_true(value_of(&idle, "pays"));
    assert_int_equal(idle.peak_bytes, 1000);
}

// By default at most 8 times the saved bytes are moved: out and back, four times.
static void moving_it_in_every_iteration_must_be_worth_it(void **state)
{
    (void)state;
    for (unsigned times = 3; times <= 6; times++) {
        struct analyze_model model;
        make_idle_loop(&model, 1000, AFTER_LAUNCH, times);
        struct analyze_finding idle = idle_of(&model);
        assert_int_equal(value_of(&idle, "repetitions"), times);
        assert_int_equal(value_of(&idle, "pays"), times <= 4);
        assert_int_equal(value_of(&idle, "is_costly"), times > 4);
        assert_int_equal(idle.peak_bytes, times <= 4 ? 1000 : 0);
    }
}

// Copies take 100 ns, so moving a out and back takes 200 ns. That takes half of the peak away, and
// so must take less than half of the run. Small copies do not say how long large ones take.
static void where_times_are_known_they_decide(void **state)
{
    (void)state;
    static const struct {
        uint64_t bytes;
        int64_t run_ns;
        bool simulated, pays;
    } cases[] = {{65536, 3900, false, false},
                 {65536, 4100, false, true},
                 {65536, 4100, true, false},
                 {65535, 4100, false, false}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct analyze_model model;
        make_idle_loop(&model, cases[i].bytes, AFTER_LAUNCH, 10);
        for (size_t k = 0; k < model.calls.count; k++)
            model.calls.items[k].gpu_ns = model.calls.items[k].kind == PROFILE_CALL_COPY ? 100 : 0;
        model.host.end_ns = cases[i].run_ns;
        model.simulated = cases[i].simulated;
        struct analyze_finding idle = idle_of(&model);
        assert_int_equal(value_of(&idle, "pays"), cases[i].pays);
        assert_int_equal(value_of(&idle, "is_costly"), !cases[i].pays);
    }
}

// One percent of the peak is the least.
static void small_objects_are_not_worth_moving(void **state)
{
    (void)state;
    for (uint64_t bytes = 10; bytes <= 11; bytes++) {
        struct analyze_model model;
        make_idle_loop(&model, bytes, AFTER_LAUNCH, 1);
        struct analyze_finding idle = idle_of(&model);
        assert_int_equal(value_of(&idle, "is_small"), bytes == 10);
        assert_int_equal(value_of(&idle, "pays"), bytes == 11);
        assert_int_equal(idle.peak_bytes, bytes == 10 ? 0 : bytes);
    }
}

static void after_a_copy_or_a_set_that_one_moves(void **state)
{
    (void)state;
    for (unsigned is_set = 0; is_set < 2; is_set++) {
        struct analyze_model model;
        make_idle_loop(&model, 1000, is_set ? AFTER_SET : AFTER_COPY, 1);
        struct analyze_finding idle = idle_of(&model);
        assert_int_equal(value_of(&idle, "after_set"), is_set);
        assert_int_equal(value_of(&idle, "after_copy"), !is_set);
        assert_false(value_of(&idle, "pays"));
        assert_int_equal(idle.peak_bytes, 0);
    }
}

static void one_api_between_accesses_does_not(void **state)
{
    (void)state;
    struct analyze_model model;
    make_idle(&model, 1, false);
    CHECK(&model, {ANALYZE_UNUSED_ALLOCATION, 1, 2, NO_CALL, 0, 100, 0, 0});
}

static void an_idle_object_that_is_overwritten_need_not_be_kept(void **state)
{
    (void)state;
    struct analyze_model model;
    make_idle(&model, 4, true);
    struct analysis *analysis = analyze(&model, analyze_default_thresholds());
    bool seen = false;
    for (size_t i = 0; i < analysis->finding_count; i++) {
        if (analyze_finding(analysis, i)->pattern == ANALYZE_TEMPORARY_IDLENESS) {
            assert_true(value_of(analyze_finding(analysis, i), "overwritten"));
            seen = true;
        }
    }
    assert_true(seen);
    analyze_free(analysis);
}

// --- Redundant allocation ------------------------------------------------------------------------

// a is used and no longer needed when b, of so many bytes, is allocated.
static void make_pair(struct analyze_model *model, uint64_t bytes)
{
    model_begin(model);
    uint32_t a = allocate(model, 1000);
    copy_in(model, a, 0, 1000);
    copy_out(model, a, 0, 1000);
    uint32_t b = allocate(model, bytes);
    copy_in(model, b, 0, bytes);
    copy_out(model, b, 0, bytes);
    release(model, b);
    release(model, a);
}

static void an_object_of_a_like_size_can_reuse_one_that_is_done_with(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {910, 1000, 1111};
    for (size_t i = 0; i < 3; i++) {
        struct analyze_model model;
        make_pair(&model, sizes[i]);
        uint64_t worth = sizes[i] > 1000 ? 1000 : sizes[i];
        CHECK(&model, {ANALYZE_REDUNDANT_ALLOCATION, 1, 3, 4, 2, worth, 0, 0},
              {ANALYZE_LATE_DEALLOCATION, 0, 7, 2, 5, worth, 0, 0});
    }
}

static void an_object_of_another_size_cannot(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {909, 1112};
    for (size_t i = 0; i < 2; i++) {
        struct analyze_model model;
        make_pair(&model, sizes[i]);
        uint64_t worth = sizes[i] > 1000 ? 1000 : sizes[i];
        CHECK(&model, {ANALYZE_LATE_DEALLOCATION, 0, 7, 2, 5, worth, 0, 0});
    }
}

// On two unordered streams, both may be in use at once.
static void objects_of_streams_that_run_side_by_side_cannot_share(void **state)
{
    (void)state;
    for (unsigned ordered = 0; ordered < 2; ordered++) {
        struct analyze_model model;
        model_begin(&model);
        uint32_t a = add_object(&model, PROFILE_OBJECT_POOL, 1000);
        model.objects.items[a].call = add_call(&model, PROFILE_CALL_ALLOC, BLOCKING);
        launch(&model, BLOCKING, 1);
        uses(&model, a, ANALYZE_WRITE);
        uint32_t b = add_object(&model, PROFILE_OBJECT_POOL, 1000);
        if (ordered) {
            uint32_t record = add_call(&model, PROFILE_CALL_EVENT_RECORD, BLOCKING);
            model.calls.items[record].event = 1;
            uint32_t wait = add_call(&model, PROFILE_CALL_EVENT_WAIT, BLOCKING_TOO);
            model.calls.items[wait].event = 1;
        }
        model.objects.items[b].call = add_call(&model, PROFILE_CALL_ALLOC, BLOCKING_TOO);
        uint32_t first = launch(&model, BLOCKING_TOO, 2);
        uses(&model, b, ANALYZE_WRITE);
        for (uint32_t o = 0; o < 2; o++) {
            model.objects.items[o].has_end = true;
            model.objects.items[o].end =
                add_call(&model, PROFILE_CALL_FREE, o ? BLOCKING_TOO : BLOCKING);
        }
        if (ordered)
            CHECK(&model, {ANALYZE_REDUNDANT_ALLOCATION, b, first - 1, first, 2, 1000, 0, 0});
        else
            CHECK_NOTHING(&model);
    }
}

// The rule of Figure 3: the object that is visited first reuses the nearest; each is reused once.
static void each_object_is_reused_once_and_by_the_nearest(void **state)
{
    (void)state;
    struct analyze_model model;
    model_begin(&model);
    uint32_t o[4];
    for (unsigned i = 0; i < 4; i++) {
        o[i] = allocate(&model, 1000);
        copy_out(&model, o[i], 0, 1000);
    }
    for (unsigned i = 0; i < 4; i++)
        release(&model, o[i]);
    CHECK(&model, {ANALYZE_REDUNDANT_ALLOCATION, o[1], 2, 3, 2, 1000, 0, 0},
          {ANALYZE_REDUNDANT_ALLOCATION, o[2], 4, 5, 2, 1000, 0, 0},
          {ANALYZE_REDUNDANT_ALLOCATION, o[3], 6, 7, 2, 1000, 0, 0},
          {ANALYZE_LATE_DEALLOCATION, o[0], 8, 1, 7, 1000, 0, 0},
          {ANALYZE_LATE_DEALLOCATION, o[1], 9, 3, 6, 1000, 0, 0},
          {ANALYZE_LATE_DEALLOCATION, o[2], 10, 5, 5, 1000, 0, 0},
          {ANALYZE_LATE_DEALLOCATION, o[3], 11, 7, 4, 0, 0, 0});
}

// If an unobserved launch may use the other object as long as that exists, its memory is not free.
static void what_may_still_be_used_cannot_be_reused(void **state)
{
    (void)state;
    for (unsigned unseen = 0; unseen < 2; unseen++) {
        struct analyze_model model;
        model_begin(&model);
        uint32_t a = allocate(&model, 1000);
        copy_in(&model, a, 0, 1000);
        copy_out(&model, a, 0, 1000);
        uint32_t b = allocate(&model, 1000), found = 0;
        copy_in(&model, b, 0, 1000);
        copy_out(&model, b, 0, 1000);
        model.calls.items[launch(&model, LEGACY, 1)].flags |= unseen ? ANALYZE_UNSEEN : 0;
        release(&model, b);
        release(&model, a);
        struct analysis *analysis = analyze(&model, analyze_default_thresholds());
        for (size_t i = 0; i < analysis->finding_count; i++)
            found += analyze_finding(analysis, i)->pattern == ANALYZE_REDUNDANT_ALLOCATION;
        assert_int_equal(found, !unseen);
        analyze_free(analysis);
    }
}

// The driver gives memory that was freed to whoever asks next.
static void memory_that_was_freed_before_cannot_be_reused(void **state)
{
    (void)state;
    struct analyze_model model;
    model_begin(&model);
    for (unsigned i = 0; i < 4; i++) {
        uint32_t object = allocate(&model, 1000);
        copy_in(&model, object, 0, 1000);
        copy_out(&model, object, 0, 1000);
        release(&model, object);
    }
    struct analysis *analysis = analyze(&model, analyze_default_thresholds());
    assert_int_equal(analysis->finding_count, 0);
    analyze_free(analysis);
}

// The nearest object, on an unordered stream, may still be in use; a more distant one of another
// size is not.
static void where_the_nearest_cannot_be_reused_another_one_is(void **state)
{
    (void)state;
    struct analyze_model model;
    model_begin(&model);
    uint32_t a = allocate(&model, 1000), b = allocate(&model, 1010), c = allocate(&model, 1020);
    launch(&model, BLOCKING, 1);
    uses(&model, a, ANALYZE_WRITE);
    uint32_t done = (uint32_t)model.calls.count - 1;
    launch(&model, FREE_RUNNING, 1);
    uses(&model, b, ANALYZE_WRITE);
    launch(&model, BLOCKING, 1);
    uses(&model, c, ANALYZE_WRITE);
    for (uint32_t o = a; o <= c; o++)
        release(&model, o);
    struct analysis *analysis = analyze(&model, analyze_default_thresholds());
    size_t found = 0;
    for (size_t i = 0; i < analysis->finding_count; i++) {
        const struct analyze_finding *finding = analyze_finding(analysis, i);
        if (finding->pattern != ANALYZE_REDUNDANT_ALLOCATION)
            continue;
        found++;
        assert_int_equal(index_of(finding->object), c);
        assert_int_equal(index_of(finding->other_object), a);
        assert_int_equal(index_of(finding->last_call), done);
    }
    assert_int_equal(found, 1);
    analyze_free(analysis);
}

// --- Dead writes ---------------------------------------------------------------------------------

static void make_writes(struct analyze_model *model)
{
    model_begin(model);
    allocate(model, 1000);
}

static void end_writes(struct analyze_model *model)
{
    launch(model, LEGACY, 1);
    uses(model, 0, ANALYZE_READ);
    release(model, 0);
}

static void a_write_that_is_overwritten_before_it_is_read_is_dead(void **state)
{
    (void)state;
    struct analyze_model model;
    make_writes(&model);
    set(&model, 0, 0, 1000);
    copy_in(&model, 0, 0, 1000);
    end_writes(&model);
    CHECK(&model, {ANALYZE_DEAD_WRITE, 0, 1, 2, 1, 0, 0, 1000});
}

static void a_write_that_is_overwritten_in_pieces_is_dead(void **state)
{
    (void)state;
    struct analyze_model model;
    make_writes(&model);
    set(&model, 0, 100, 800);
    copy_in(&model, 0, 0, 500);
    copy_in(&model, 0, 500, 400);
    end_writes(&model);
    CHECK(&model, {ANALYZE_DEAD_WRITE, 0, 1, 3, 2, 0, 0, 800});
}

static void rows_are_followed_one_by_one(void **state)
{
    (void)state;
    for (unsigned covered = 0; covered < 2; covered++) {
        struct analyze_model model;
        make_writes(&model);
        set(&model, 0, 0, 100);
        struct analyze_touch *rows = &model.touches.items[0];
        rows->rows = 3;
        rows->pitch = 300; // 0 to 99, 300 to 399, 600 to 699
        copy_in(&model, 0, 0, covered ? 700 : 699);
        end_writes(&model);
        if (covered)
            CHECK(&model, {ANALYZE_DEAD_WRITE, 0, 1, 2, 1, 0, 0, 300});
        else
            CHECK_NOTHING(&model);
    }
}

static void writes_that_something_reads_or_that_are_not_wholly_overwritten_live(void **state)
{
    (void)state;
    struct analyze_model model;
    make_writes(&model); // all but one byte
    set(&model, 0, 0, 1000);
    copy_in(&model, 0, 1, 999);
    end_writes(&model);
    CHECK_NOTHING(&model);

    make_writes(&model); // copied to the host in between; one byte is enough
    set(&model, 0, 0, 1000);
    copy_out(&model, 0, 999, 1);
    copy_in(&model, 0, 0, 1000);
    end_writes(&model);
    CHECK_NOTHING(&model);

    make_writes(&model); // read by a kernel
    set(&model, 0, 0, 1000);
    launch(&model, LEGACY, 1);
    uses(&model, 0, ANALYZE_READ);
    copy_in(&model, 0, 0, 1000);
    end_writes(&model);
    CHECK_NOTHING(&model);

    make_writes(&model); // a kernel reads and writes in between
    set(&model, 0, 0, 1000);
    launch(&model, LEGACY, 1);
    uses(&model, 0, ANALYZE_READ | ANALYZE_WRITE);
    copy_in(&model, 0, 0, 1000);
    end_writes(&model);
    CHECK_NOTHING(&model);

    make_writes(&model); // two copies to the host write nothing
    copy_in(&model, 0, 0, 1000);
    copy_out(&model, 0, 0, 1000);
    copy_out(&model, 0, 0, 1000);
    end_writes(&model);
    CHECK_NOTHING(&model);

    make_writes(&model); // disjoint ranges
    set(&model, 0, 0, 500);
    copy_in(&model, 0, 500, 500);
    end_writes(&model);
    CHECK_NOTHING(&model);
}

static void dead_writes_of_one_place_are_one_finding(void **state)
{
    (void)state;
    struct analyze_model model;
    make_writes(&model);
    for (unsigned i = 0; i < 3; i++) {
        uint32_t call = set(&model, 0, 0, 1000);
        model.calls.items[call].path = 77;
        model.calls.items[call].gpu_ns = 10;
        copy_in(&model, 0, 0, 1000);
        launch(&model, LEGACY, 1);
        uses(&model, 0, ANALYZE_READ);
    }
    release(&model, 0);
    CHECK(&model, {ANALYZE_DEAD_WRITE, 0, 1, 2, 1, 0, 3, 3000});
}

// --- Elements ------------------------------------------------------------------------------------

// An object of 1000 elements of 4 bytes, of which a kernel touches `touched`.
static struct analyze_map *make_touched(struct analyze_model *model, uint64_t touched)
{
    model_begin(model);
    uint32_t a = allocate(model, 4000);
    launch(model, LEGACY, 1);
    struct analyze_touch *row = uses(model, a, ANALYZE_WRITE);
    row->elements = row->new_elements = touched;
    row->shared_elements = 0;
    row->element_bytes = 4;
    release(model, a);
    struct analyze_map *map = base_array_push(&model->maps);
    assert_non_null(map);
    *map = (struct analyze_map){.element_bytes = 4,
                                .elements = 1000,
                                .touched = touched,
                                .unused = 1000 - touched,
                                .largest_first = touched,
                                .largest_count = 1000 - touched};
    return map;
}

static void an_object_of_which_few_elements_are_touched_is_too_large(void **state)
{
    (void)state;
    struct analyze_model model;
    make_touched(&model, 799);
    CHECK(&model, {ANALYZE_OVERALLOCATION, 0, 0, NO_CALL, 0, 804, 0, 0});
    make_touched(&model, 800);
    CHECK_NOTHING(&model);
}

static void scattered_elements_are_not_worth_the_effort(void **state)
{
    (void)state;
    struct analyze_model model;
    make_touched(&model, 500)->largest_count = 101; // fragmentation 0.798
    struct analysis *analysis = analyze(&model, analyze_default_thresholds());
    assert_int_equal(analysis->finding_count, 1);
    const struct analyze_finding *finding = analyze_finding(analysis, 0);
    const double fragmentation = analyze_field_real(
        finding, analyze_find_field(finding->pattern, "fragmentation", strlen("fragmentation")));
    assert_true(fragmentation > 0.797 && fragmentation < 0.799);
    assert_int_equal(value_of(finding, "enough_bytes"), 4000 - 404);
    analyze_free(analysis);
    make_touched(&model, 500)->largest_count = 100; // 0.8
    CHECK_NOTHING(&model);
}

static void an_object_that_is_touched_all_over_is_never_too_large(void **state)
{
    (void)state;
    struct analyze_model model;
    struct analyze_thresholds thresholds = analyze_default_thresholds();
    *analyze_threshold(&thresholds, "touched-percent") = 101;
    *analyze_threshold(&thresholds, "fragmentation-percent") = 101;
    make_touched(&model, 1000);
    struct analysis *analysis = analyze(&model, thresholds);
    check_in(analysis, NULL, 0);
    analyze_free(analysis);
    make_touched(&model, 999);
    analysis = analyze(&model, thresholds);
    check_in(analysis, (const struct wanted[]){{ANALYZE_OVERALLOCATION, 0, 0, NO_CALL, 0, 4, 0, 0}},
             1);
    analyze_free(analysis);
}

static void without_maps_nothing_is_promised(void **state)
{
    (void)state;
    struct analyze_model model;
    make_touched(&model, 10);
    model.maps.count = 0;
    CHECK(&model, {ANALYZE_OVERALLOCATION, 0, 0, NO_CALL, 0, 0, 0, 0});
}

static void make_counted(struct analyze_model *model, double variation)
{
    model_begin(model);
    uint32_t a = allocate(model, 4000);
    uint32_t call = launch(model, LEGACY, 7);
    uses(model, a, ANALYZE_READ);
    release(model, a);
    struct analyze_counted *row = base_array_push(&model->counted);
    assert_non_null(row);
    *row = (struct analyze_counted){call, a, 7, variation, 1};
}

static void a_launch_that_touches_elements_unevenly_is_found(void **state)
{
    (void)state;
    struct analyze_model model;
    make_counted(&model, 0.21);
    CHECK(&model, {ANALYZE_NON_UNIFORM_ACCESS, 0, 1, 0, 0, 0, 0, 0});
    make_counted(&model, 0.2);
    CHECK_NOTHING(&model);
}

// Launches of one kernel, each on `elements` elements, of which `again` were touched before.
static void make_slices(struct analyze_model *model, unsigned launches, uint64_t elements,
                        uint64_t again)
{
    model_begin(model);
    uint32_t a = allocate(model, 4000);
    for (unsigned i = 0; i < launches; i++) {
        launch(model, LEGACY, 1);
        struct analyze_touch *row = uses(model, a, ANALYZE_WRITE);
        row->elements = elements;
        row->new_elements = i ? elements - again : elements;
        row->element_bytes = 4;
    }
    release(model, a);
}

static void launches_on_slices_that_do_not_overlap_are_found(void **state)
{
    (void)state;
    struct analyze_model model;
    make_slices(&model, 10, 100, 0);
    CHECK(&model, {ANALYZE_STRUCTURED_ACCESS, 0, 1, 0, 0, 3600, 10, 0});
}

// On two unordered streams, two slices may be in use at once.
static void slices_of_streams_that_run_side_by_side_are_not(void **state)
{
    (void)state;
    for (unsigned ordered = 0; ordered < 2; ordered++) {
        struct analyze_model model;
        model_begin(&model);
        uint32_t a = allocate(&model, 4000);
        uint32_t first = (uint32_t)model.calls.count;
        for (uint32_t i = 0; i < 4; i++) {
            uint32_t stream = i % 2 ? BLOCKING : BLOCKING_TOO;
            launch(&model, stream, 1);
            struct analyze_touch *row = uses(&model, a, ANALYZE_WRITE);
            row->elements = row->new_elements = 100;
            row->element_bytes = 4;
            if (ordered) {
                uint32_t sync = add_call(&model, PROFILE_CALL_SYNC, 0);
                model.calls.items[sync].sync_stream = stream;
            }
        }
        release(&model, a);
        if (ordered)
            CHECK(&model, {ANALYZE_STRUCTURED_ACCESS, a, first, 0, 0, 3600, 4, 0},
                  {ANALYZE_OVERALLOCATION, a, 0, NO_CALL, 0, 0, 0, 0});
        else
            CHECK(&model, {ANALYZE_OVERALLOCATION, a, 0, NO_CALL, 0, 0, 0, 0});
    }
}

static void slices_that_overlap_or_are_no_slices_are_not(void **state)
{
    (void)state;
    struct analyze_model model;
    make_slices(&model, 10, 100, 1); // not disjoint
    CHECK_NOTHING(&model);
    make_slices(&model, 1, 1000, 0); // all at once
    CHECK_NOTHING(&model);
    make_slices(&model, 10, 100, 0); // one launch touches everything
    model.calls.count--;
    copy_out(&model, 0, 0, 4000);
    release(&model, 0);
    CHECK_NOTHING(&model);
}

// The slices of the first kernel do not overlap; another kernel touches some of their elements
// again.
static void how_many_elements_others_may_touch_again_is_a_threshold(void **state)
{
    (void)state;
    struct analyze_thresholds thresholds = analyze_default_thresholds();
    assert_int_equal(*analyze_threshold(&thresholds, "retouched-percent"), 10);
    for (uint64_t again = 9; again <= 11; again++) {
        for (uint32_t most = 10; most <= 11; most++) {
            struct analyze_model model;
            model_begin(&model);
            const uint32_t a = allocate(&model, 4000);
            for (unsigned i = 0; i < 20; i++) { // 10 * again of the 1000 elements
                launch(&model, LEGACY, 1 + i % 2);
                struct analyze_touch *row = uses(&model, a, i % 2 ? ANALYZE_READ : ANALYZE_WRITE);
                row->elements = i % 2 ? again : 100;
                row->new_elements = i % 2 ? 0 : 100;
                row->shared_elements = i % 2 ? again : 0;
                row->element_bytes = 4;
            }
            release(&model, a);
            *analyze_threshold(&thresholds, "retouched-percent") = most;
            struct analysis *analysis = analyze(&model, thresholds);
            assert_int_equal(analysis->finding_count, again <= most);
            analyze_free(analysis);
        }
    }
}

// --- All together --------------------------------------------------------------------------------

static void findings_of_the_peak_come_first(void **state)
{
    (void)state;
    struct analyze_model model;
    model_begin(&model);
    uint32_t small = allocate(&model, 10);
    release(&model, small); // unused, and freed before the peak
    uint32_t large = allocate(&model, 1000);
    uint32_t other = allocate(&model, 100);
    release(&model, other);
    release(&model, large);
    struct analysis *analysis = analyze(&model, analyze_default_thresholds());
    assert_int_equal(analysis->finding_count, 3);
    assert_int_equal(index_of(analyze_finding(analysis, 0)->object), large);
    assert_int_equal(analyze_finding(analysis, 0)->peak, 1);
    assert_int_equal(index_of(analyze_finding(analysis, 1)->object), other);
    assert_int_equal(analyze_finding(analysis, 2)->peak, 2);
    assert_int_equal(analysis->levels.achievable, 0);
    analyze_free(analysis);
}

// Two chained products: c = a b, e = c d. During the second, a and b are no longer needed.
static void the_achievable_peak_shrinks_lives_and_packs_them(void **state)
{
    (void)state;
    struct analyze_model model;
    model_begin(&model);
    uint32_t a = allocate(&model, 4096), b = allocate(&model, 4096), c = allocate(&model, 4096);
    uint32_t d = allocate(&model, 4096), e = allocate(&model, 4096);
    copy_in(&model, a, 0, 4096);
    copy_in(&model, b, 0, 4096);
    launch(&model, LEGACY, 1);
    uses(&model, a, ANALYZE_READ);
    uses(&model, b, ANALYZE_READ);
    uses(&model, c, ANALYZE_WRITE);
    copy_in(&model, d, 0, 4096);
    launch(&model, LEGACY, 1);
    uses(&model, c, ANALYZE_READ);
    uses(&model, d, ANALYZE_READ);
    uses(&model, e, ANALYZE_WRITE);
    copy_out(&model, e, 0, 4096);
    for (uint32_t o = a; o <= e; o++)
        release(&model, o);
    struct analysis *analysis = analyze(&model, analyze_default_thresholds());
    assert_int_equal(analysis->peaks[0].bytes, 5 * 4096);
    assert_int_equal(analysis->levels.achievable, 3 * 4096);
    assert_int_equal(analysis->levels.least, 3 * 4096);
    analyze_free(analysis);
}

// Two pool objects on unordered streams: they cannot share memory, unless the program waits for one
// of the streams.
static void what_runs_side_by_side_shares_no_memory(void **state)
{
    (void)state;
    for (unsigned ordered = 0; ordered < 2; ordered++) {
        struct analyze_model model;
        model_begin(&model);
        uint32_t a = add_object(&model, PROFILE_OBJECT_POOL, 1024);
        uint32_t b = add_object(&model, PROFILE_OBJECT_POOL, 1024);
        model.objects.items[a].call = add_call(&model, PROFILE_CALL_ALLOC, BLOCKING);
        model.objects.items[b].call = add_call(&model, PROFILE_CALL_ALLOC, BLOCKING_TOO);
        launch(&model, BLOCKING, 1);
        uses(&model, a, ANALYZE_WRITE);
        if (ordered) {
            uint32_t synced = add_call(&model, PROFILE_CALL_SYNC, 0);
            model.calls.items[synced].sync_stream = BLOCKING;
        }
        launch(&model, BLOCKING_TOO, 1);
        uses(&model, b, ANALYZE_WRITE);
        for (uint32_t o = a; o <= b; o++) {
            model.objects.items[o].has_end = true;
            model.objects.items[o].end =
                add_call(&model, PROFILE_CALL_FREE, o == a ? BLOCKING : BLOCKING_TOO);
        }
        struct analysis *analysis = analyze(&model, analyze_default_thresholds());
        assert_int_equal(analysis->peaks[0].bytes, 2048);
        assert_int_equal(analysis->levels.achievable, ordered ? 1024 : 2048);
        analyze_free(analysis);
    }
}

// While a is idle, b is allocated and freed. To make room for b, the contents of a would have to
// move.
static void memory_that_is_idle_stays_in_the_achievable_peak(void **state)
{
    (void)state;
    struct analyze_model model;
    model_begin(&model);
    uint32_t a = allocate(&model, 1024);
    launch(&model, LEGACY, 1);
    uses(&model, a, ANALYZE_WRITE);
    uint32_t b = allocate(&model, 1024);
    copy_in(&model, b, 0, 1024);
    copy_out(&model, b, 0, 1024);
    release(&model, b);
    copy_out(&model, a, 0, 1024);
    release(&model, a);
    struct analysis *analysis = analyze(&model, analyze_default_thresholds());
    assert_int_equal(analysis->finding_count, 1);
    assert_int_equal(analyze_finding(analysis, 0)->pattern, ANALYZE_TEMPORARY_IDLENESS);
    assert_int_equal(analyze_finding(analysis, 0)->peak_bytes, 1024);
    assert_int_equal(analysis->levels.achievable, 2048);
    assert_int_equal(analysis->levels.least, 2048);
    analyze_free(analysis);
}

// b is copied to before a's last use. If that is a dead write, b needs memory only later; if not
// all of it is overwritten, the copy counts.
static void writes_in_vain_need_no_memory(void **state)
{
    (void)state;
    for (unsigned vain = 0; vain < 2; vain++) {
        struct analyze_model model;
        model_begin(&model);
        uint32_t a = allocate(&model, 1024), b = allocate(&model, 1024);
        copy_in(&model, b, 0, 1024);
        copy_in(&model, a, 0, 1024);
        copy_out(&model, a, 0, 1024);
        copy_in(&model, b, 0, vain ? 1024 : 1023);
        copy_out(&model, b, 0, 1024);
        release(&model, a);
        release(&model, b);
        struct analysis *analysis = analyze(&model, analyze_default_thresholds());
        assert_int_equal(analysis->peaks[0].bytes, 2048);
        assert_int_equal(analysis->levels.achievable, vain ? 1024 : 2048);
        analyze_free(analysis);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_object_that_is_used_at_once_and_freed_at_once_is_fine),
        cmocka_unit_test(memory_that_waits_for_its_first_use_is_early_and_after_its_last_late),
        cmocka_unit_test(the_worth_is_what_the_peak_loses),
        cmocka_unit_test(thresholds_of_early_and_late_are_settable),
        cmocka_unit_test(what_runs_side_by_side_is_not_between),
        cmocka_unit_test(launches_that_are_not_watched_hide_what_they_might_touch),
        cmocka_unit_test(memory_that_nothing_touches_is_unused),
        cmocka_unit_test(memory_that_nobody_frees_is_a_leak),
        cmocka_unit_test(a_leak_that_nothing_uses_gains_nothing_itself),
        cmocka_unit_test(what_ends_with_its_context_is_a_leak),
        cmocka_unit_test(a_program_that_was_killed_leaks_nothing),
        cmocka_unit_test(where_calls_are_missing_nothing_is_claimed),
        cmocka_unit_test(two_apis_between_accesses_make_an_object_idle),
        cmocka_unit_test(moving_an_idle_object_makes_room_for_others),
        cmocka_unit_test(moving_it_in_every_iteration_must_be_worth_it),
        cmocka_unit_test(where_times_are_known_they_decide),
        cmocka_unit_test(small_objects_are_not_worth_moving),
        cmocka_unit_test(after_a_copy_or_a_set_that_one_moves),
        cmocka_unit_test(one_api_between_accesses_does_not),
        cmocka_unit_test(an_idle_object_that_is_overwritten_need_not_be_kept),
        cmocka_unit_test(an_object_of_a_like_size_can_reuse_one_that_is_done_with),
        cmocka_unit_test(an_object_of_another_size_cannot),
        cmocka_unit_test(objects_of_streams_that_run_side_by_side_cannot_share),
        cmocka_unit_test(each_object_is_reused_once_and_by_the_nearest),
        cmocka_unit_test(what_may_still_be_used_cannot_be_reused),
        cmocka_unit_test(memory_that_was_freed_before_cannot_be_reused),
        cmocka_unit_test(where_the_nearest_cannot_be_reused_another_one_is),
        cmocka_unit_test(a_write_that_is_overwritten_before_it_is_read_is_dead),
        cmocka_unit_test(a_write_that_is_overwritten_in_pieces_is_dead),
        cmocka_unit_test(rows_are_followed_one_by_one),
        cmocka_unit_test(writes_that_something_reads_or_that_are_not_wholly_overwritten_live),
        cmocka_unit_test(dead_writes_of_one_place_are_one_finding),
        cmocka_unit_test(an_object_of_which_few_elements_are_touched_is_too_large),
        cmocka_unit_test(scattered_elements_are_not_worth_the_effort),
        cmocka_unit_test(an_object_that_is_touched_all_over_is_never_too_large),
        cmocka_unit_test(without_maps_nothing_is_promised),
        cmocka_unit_test(a_launch_that_touches_elements_unevenly_is_found),
        cmocka_unit_test(launches_on_slices_that_do_not_overlap_are_found),
        cmocka_unit_test(slices_of_streams_that_run_side_by_side_are_not),
        cmocka_unit_test(slices_that_overlap_or_are_no_slices_are_not),
        cmocka_unit_test(how_many_elements_others_may_touch_again_is_a_threshold),
        cmocka_unit_test(findings_of_the_peak_come_first),
        cmocka_unit_test(the_achievable_peak_shrinks_lives_and_packs_them),
        cmocka_unit_test(what_runs_side_by_side_shares_no_memory),
        cmocka_unit_test(memory_that_is_idle_stays_in_the_achievable_peak),
        cmocka_unit_test(writes_in_vain_need_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
