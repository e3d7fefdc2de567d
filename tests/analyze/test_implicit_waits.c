// SPDX-License-Identifier: Apache-2.0
// Calls that wait for the GPU although they are no synchronizations: sets, frees, and memory that
// is pinned again and again. And the rule that every wait which nothing needs is in a finding, or
// is counted with the reason why it is not.
#include "timed_findings.h"

enum { MS = 1000000 };
enum { MADE = 600, FREED = 601, SET = 602 };

static uint32_t made(struct timed *run, enum profile_object_kind kind, uint64_t bytes)
{
    const bool registers = kind == PROFILE_OBJECT_REGISTERED;
    const uint32_t object = add_object(&run->model, kind, bytes);
    run->model.objects.items[object].call =
        add_call(&run->model, registers ? PROFILE_CALL_MEMORY : PROFILE_CALL_ALLOC, 0);
    run->model.objects.items[object].is_host = registers || kind == PROFILE_OBJECT_PINNED;
    from_path(run, took(run, 40000, 0), MADE);
    return object;
}

static uint32_t freed(struct timed *run, uint32_t object, int64_t waited_ns)
{
    const uint32_t call = release(&run->model, object);
    if (run->model.objects.items[object].kind == PROFILE_OBJECT_REGISTERED)
        run->model.calls.items[call].kind = PROFILE_CALL_MEMORY;
    took(run, waited_ns + 10, (uint64_t)waited_ns);
    return from_path(run, call, FREED);
}

// --- Sets and frees ------------------------------------------------------------------------------

static void a_set_that_waits_is_unnecessary(void **state)
{
    (void)state;
    struct timed run;
    const struct analyze_finding *finding;
    timed_begin(&run);
    const uint32_t pinned = made(&run, PROFILE_OBJECT_PINNED, 1 << 20);
    for (int i = 0; i < 3; i++) {
        timed_launch(&run, LEGACY, MS);
        set(&run.model, pinned, 0, 1 << 20);
        from_path(&run, took(&run, MS, MS), SET);
        works(&run, MS / 2);
    }
    struct analysis *analysis = expect_one(&run, ANALYZE_UNNECESSARY_SYNC, 3, &finding);
    assert_int_equal(finding->path, SET);
    assert_int_equal(finding->kind, PROFILE_CALL_SET);
    assert_true(value_of(finding, "implicit") && value_of(finding, "is_set"));
    assert_int_equal(value_of(finding, "waited_ns"), 3 * MS);
    assert_true(finding->host_ns >= MS && finding->host_ns <= 3 * MS);
    analyze_free(analysis);
}

static void a_set_before_results_are_used_is_needed(void **state)
{
    (void)state;
    struct timed run;
    timed_begin(&run);
    const uint32_t object = add_object(&run.model, PROFILE_OBJECT_DEVICE, 1 << 20);
    const uint32_t copy = timed_copy(&run, object, true, PROFILE_MEMORY_PINNED, 10, 0)->call;
    set(&run.model, made(&run, PROFILE_OBJECT_PINNED, 1 << 20), 0, 1 << 20);
    const uint32_t wait = from_path(&run, took(&run, MS, MS), SET);
    first_use(&run, wait, copy, PROFILE_USE_READ);
    expect_none(&run);
}

static void a_single_free_that_waits_is_unnecessary(void **state)
{
    (void)state;
    static const enum profile_object_kind kinds[] = {PROFILE_OBJECT_DEVICE, PROFILE_OBJECT_MANAGED,
                                                     PROFILE_OBJECT_PINNED, PROFILE_OBJECT_ARRAY,
                                                     PROFILE_OBJECT_REGISTERED};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        struct timed run;
        const struct analyze_finding *finding;
        timed_begin(&run);
        const uint32_t object = made(&run, kinds[i], 1 << 20);
        timed_launch(&run, LEGACY, 5 * MS);
        freed(&run, object, 5 * MS);
        works(&run, 5 * MS);
        struct analysis *analysis = expect_one(&run, ANALYZE_UNNECESSARY_SYNC, 1, &finding);
        assert_int_equal(finding->path, FREED);
        assert_int_equal(finding->object, object + 1);
        assert_true(value_of(finding, "implicit") && value_of(finding, "is_free"));
        assert_int_equal(value_of(finding, "is_device"), kinds[i] == PROFILE_OBJECT_DEVICE);
        assert_int_equal(value_of(finding, "waited_ns"), 5 * MS);
        analyze_free(analysis);
    }
}

// On the simulated GPU, which counts waits, a free that found no work pending is none.
static void a_free_that_did_not_wait_is_nothing(void **state)
{
    (void)state;
    struct timed run;
    timed_begin(&run);
    run.model.simulated = true;
    freed(&run, made(&run, PROFILE_OBJECT_DEVICE, 1 << 20), 0);
    expect_none(&run);
}

static void a_free_long_before_the_use_is_misplaced(void **state)
{
    (void)state;
    struct timed run;
    const struct analyze_finding *finding;
    timed_begin(&run);
    const uint32_t object = made(&run, PROFILE_OBJECT_DEVICE, 1 << 20);
    const uint32_t copy = timed_copy(&run, object, true, PROFILE_MEMORY_PINNED, 10, 0)->call;
    run.model.calls.items[copy].gpu_ns = 5 * MS;
    const uint32_t wait = freed(&run, object, 5 * MS);
    works(&run, 10 * MS);
    first_use(&run, wait, copy, PROFILE_USE_READ);
    works(&run, MS);
    struct analysis *analysis = expect_one(&run, ANALYZE_MISPLACED_SYNC, 1, &finding);
    assert_true(value_of(finding, "implicit"));
    assert_int_equal(value_of(finding, "use_ns"), 10 * MS);
    analyze_free(analysis);
}

// --- Memory that comes and goes ------------------------------------------------------------------

static void memory_of_all_kinds_that_comes_and_goes_is_churn(void **state)
{
    (void)state;
    static const enum profile_object_kind kinds[] = {
        PROFILE_OBJECT_DEVICE,  PROFILE_OBJECT_PITCHED, PROFILE_OBJECT_ARRAY,
        PROFILE_OBJECT_MANAGED, PROFILE_OBJECT_PINNED,  PROFILE_OBJECT_REGISTERED};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        struct timed run;
        const struct analyze_finding *finding;
        timed_begin(&run);
        for (int k = 0; k < 6; k++) {
            const uint32_t object = made(&run, kinds[i], 1 << 20);
            timed_launch(&run, LEGACY, MS);
            freed(&run, object, MS);
            works(&run, MS / 2);
        }
        struct analysis *analysis = expect_one(&run, ANALYZE_ALLOC_FREE_CHURN, 5, &finding);
        assert_int_equal(value_of(finding, "waits_stay"), 0);
        assert_int_equal(value_of(finding, "is_device"), i < 2);
        assert_true(finding->host_ns > 0);
        analyze_free(analysis);
    }
}

static void managed_memory_whose_frees_never_wait_is_none(void **state)
{
    (void)state;
    struct timed run;
    timed_begin(&run);
    for (int k = 0; k < 6; k++)
        freed(&run, made(&run, PROFILE_OBJECT_MANAGED, 1 << 20), 0);
    expect_none(&run);
}

// The source of a copy to the device may be freed only when it was read. Pinning again takes time
// all the same; but freeing device memory that something waits for is no churn.
static void pinning_again_is_churn_even_if_the_frees_are_needed(void **state)
{
    (void)state;
    for (int pinned = 0; pinned < 2; pinned++) {
        struct timed run;
        const struct analyze_finding *finding;
        timed_begin(&run);
        const uint32_t object = add_object(&run.model, PROFILE_OBJECT_DEVICE, 1 << 20);
        for (int k = 0; k < 6; k++) {
            const uint32_t memory =
                made(&run, pinned ? PROFILE_OBJECT_PINNED : PROFILE_OBJECT_DEVICE, 1 << 20);
            timed_copy(&run, object, false, PROFILE_MEMORY_PINNED, 10, 0);
            freed(&run, memory, MS);
        }
        if (!pinned) {
            expect_none(&run);
            continue;
        }
        struct analysis *analysis = expect_one(&run, ANALYZE_ALLOC_FREE_CHURN, 5, &finding);
        assert_true(value_of(finding, "waits_stay"));
        assert_int_equal(value_of(finding, "waited_ns"), 5 * (40000 - ANALYZE_POOL_NS));
        assert_int_equal(finding->host_ns, 5 * (40000 - ANALYZE_POOL_NS));
        assert_int_equal(analyze_run_time(analysis)->unknown[ANALYZE_WAIT_WORK].waits, 6);
        analyze_free(analysis);
    }
}

// --- Every wait is accounted for -----------------------------------------------------------------

// Adds a random call, of few call paths so that they mix what is needed and what is not.
static void add_random(struct timed *run, uint64_t *seed, uint32_t *live, uint32_t device)
{
    const uint32_t path = 700 + random_below(seed, 12);
    const uint32_t stream = 1 + random_below(seed, STREAMS);
    const int64_t waited_ns = random_below(seed, 3) ? random_below(seed, 3 * MS) : 0;
    static const enum profile_object_kind kinds[] = {PROFILE_OBJECT_DEVICE, PROFILE_OBJECT_MANAGED,
                                                     PROFILE_OBJECT_PINNED};
    switch (random_below(seed, 8)) {
    case 0:
        if (*live != ANALYZE_NONE)
            from_path(run, freed(run, *live, waited_ns), path);
        *live =
            *live == ANALYZE_NONE ? made(run, kinds[random_below(seed, 3)], 4096) : ANALYZE_NONE;
        break;
    case 1:
        from_path(run, timed_sync(run, random_below(seed, 2) ? stream : 0, (uint64_t)waited_ns),
                  random_below(seed, 8) ? path : 0);
        break;
    case 2:
        set(&run->model, device, 0, 4096);
        from_path(run, took(run, waited_ns + 10, (uint64_t)waited_ns), path);
        break;
    case 3:
    case 4: {
        const bool to_host = path % 2; // copies of one line in two directions are two findings
        const enum profile_memory memory =
            random_below(seed, 2) ? PROFILE_MEMORY_PAGEABLE : PROFILE_MEMORY_PINNED;
        const bool async = random_below(seed, 2);
        from_path(run,
                  timed_copy(run, device, to_host, memory, async ? 10 : waited_ns + 20000,
                             async ? 0 : (uint64_t)waited_ns)
                      ->call,
                  path);
        break;
    }
    case 5: // the CPU uses what an earlier call made safe
        for (uint32_t i = (uint32_t)run->model.calls.count; i-- > 0;) {
            if (run->model.calls.items[i].kind == PROFILE_CALL_SYNC && random_below(seed, 2)) {
                first_use(run, i, ANALYZE_NONE,
                          random_below(seed, 3) ? PROFILE_USE_READ : PROFILE_USE_UNKNOWN);
                break;
            }
        }
        break;
    default: timed_launch(run, stream, random_below(seed, 2 * MS)); break;
    }
    works(run, random_below(seed, MS));
}

struct unneeded {
    uint32_t path;
    uint8_t kind;
    uint64_t waited_ns;
};

enum { CALLS = 120 };

// Judges the waits of the run, and keeps those that nothing needs although they took time.
static size_t list_unneeded(struct timed *run, struct unneeded list[CALLS])
{
    const struct analyze_thresholds thresholds = analyze_default_thresholds();
    struct analyze_waits waits;
    size_t count = 0;
    run->model.host.end_ns = run->now_ns;
    assert_true(analyze_index_uses(&run->model));
    assert_true(analyze_find_waits(&waits, &run->model));
    assert_true(analyze_judge(&waits, &thresholds));
    for (size_t i = 0; i < waits.waits.count; i++) {
        const struct analyze_wait *wait = &waits.waits.items[i];
        const struct analyze_call *call = &run->model.calls.items[wait->call];
        const uint64_t waited_ns = run->model.host.times.items[wait->call].waited_ns;
        if (wait->judgement == ANALYZE_UNNEEDED && analyze_has_waited(&run->model, wait))
            list[count++] = (struct unneeded){call->path, call->kind, waited_ns};
    }
    analyze_waits_fini(&waits);
    free(run->model.uses); // analyze_index_uses makes them again
    free(run->model.unseen);
    free(run->model.launches);
    run->model.unseen_count = run->model.launch_count = 0;
    return count;
}

static bool is_listed(const struct analysis *analysis, const struct unneeded *wait)
{
    for (size_t i = 0; i < analyze_finding_count(analysis); i++) {
        const struct analyze_finding *finding = analyze_finding(analysis, i);
        if (analyze_describe(finding->pattern)->needs == ANALYZE_INPUT_SYNC &&
            finding->path == wait->path && finding->kind == (enum profile_call_kind)wait->kind &&
            !(finding->pattern == ANALYZE_ALLOC_FREE_CHURN && value_of(finding, "waits_stay")))
            return true;
    }
    return false;
}

// Compares, for one run, the waits that nothing needs with those in findings and those counted with
// a reason.
static void check_accounts(uint64_t seed, bool simulated, uint64_t *listed, uint64_t *unlisted)
{
    struct timed run;
    struct unneeded waits[CALLS];
    uint32_t live = ANALYZE_NONE;
    timed_begin(&run);
    run.model.simulated = simulated;
    const uint32_t device = add_object(&run.model, PROFILE_OBJECT_DEVICE, 4096);
    for (int i = 0; i < CALLS; i++)
        add_random(&run, &seed, &live, device);
    const size_t count = list_unneeded(&run, waits);
    struct analysis *analysis = timed_analyze(&run, analyze_default_thresholds());
    uint64_t in_none_ns = 0, in_none = 0, reasons_ns = 0, reasons = 0;
    for (size_t i = 0; i < count; i++) {
        const bool is_in_one = is_listed(analysis, &waits[i]);
        *listed += is_in_one;
        in_none += !is_in_one;
        in_none_ns += is_in_one ? 0 : waits[i].waited_ns;
    }
    for (unsigned i = 0; i < ANALYZE_WAIT_UNLISTED; i++) {
        reasons += analyze_run_time(analysis)->unlisted[i].waits;
        reasons_ns += analyze_run_time(analysis)->unlisted[i].waited_ns;
    }
    assert_int_equal(in_none, reasons);
    assert_int_equal(in_none_ns, reasons_ns);
    *unlisted += reasons;
    analyze_free(analysis);
}

static void every_wait_that_nothing_needs_is_listed_or_has_a_reason(void **state)
{
    (void)state;
    uint64_t listed = 0, unlisted = 0;
    for (uint64_t seed = 1; seed <= 300; seed++)
        check_accounts(seed, seed % 2, &listed, &unlisted);
    assert_true(listed > 1000 && unlisted > 1000); // the models have both
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_set_that_waits_is_unnecessary),
        cmocka_unit_test(a_set_before_results_are_used_is_needed),
        cmocka_unit_test(a_single_free_that_waits_is_unnecessary),
        cmocka_unit_test(a_free_that_did_not_wait_is_nothing),
        cmocka_unit_test(a_free_long_before_the_use_is_misplaced),
        cmocka_unit_test(memory_of_all_kinds_that_comes_and_goes_is_churn),
        cmocka_unit_test(managed_memory_whose_frees_never_wait_is_none),
        cmocka_unit_test(pinning_again_is_churn_even_if_the_frees_are_needed),
        cmocka_unit_test(every_wait_that_nothing_needs_is_listed_or_has_a_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
