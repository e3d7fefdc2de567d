// SPDX-License-Identifier: Apache-2.0
// duplicate-transfer by content: bytes that go to another place of the device, to memory that was
// allocated anew, or to the host and back. The same bytes to the same place are in test_sync.c.
#include "timed_findings.h"

enum { MS = 1000000, BYTES = 1 << 20 };
enum { FIRST = 600, SECOND = 601 };

static uint32_t hashed(struct timed *run, uint32_t object, bool to_host, uint64_t hash,
                       uint32_t path)
{
    struct analyze_copy *copy = timed_copy(run, object, to_host, PROFILE_MEMORY_PAGEABLE, 10, 0);
    run->model.calls.items[copy->call].gpu_ns = MS;
    copy->hashed = true;
    copy->hash[0] = copy->hash[1] = hash;
    return from_path(run, copy->call, path);
}

static uint32_t device_object(struct timed *run)
{
    const uint32_t object = allocate(&run->model, BYTES);
    took(run, 10, 0);
    return object;
}

static void let_go(struct timed *run, uint32_t object)
{
    release(&run->model, object);
    took(run, 10, 0);
}

static void writes(struct timed *run, uint32_t object)
{
    timed_launch(run, LEGACY, 10);
    uses(&run->model, object, ANALYZE_WRITE);
}

static const char *place_of(const struct analyze_finding *finding)
{
    return analyze_field_word(finding, analyze_find_field(finding->pattern, "place", 5));
}

// Expects one finding, of one copy.
static void expect_place(struct timed *run, const char *place, bool round_trip)
{
    const struct analyze_finding *finding;
    struct analysis *analysis = expect_one(run, ANALYZE_DUPLICATE_TRANSFER, 1, &finding);
    assert_string_equal(place_of(finding), place);
    assert_int_equal(value_of(finding, "round_trip"), round_trip);
    assert_int_equal(finding->path, SECOND);
    assert_int_equal(finding->other_path, FIRST);
    assert_int_equal(finding->traffic_bytes, BYTES);
    analyze_free(analysis);
}

static size_t count_found_now(struct timed *run)
{
    struct analysis *analysis = timed_analyze(run, analyze_default_thresholds());
    const size_t count = count_found(analysis, NULL);
    analyze_free(analysis);
    return count;
}

static void the_same_bytes_to_another_place_are_a_duplicate(void **state)
{
    (void)state;
    enum { UNCHANGED, CHANGED, UNSEEN, OTHER_BYTES, OTHER_DEVICE, CASES };
    for (int which = 0; which < CASES; which++) {
        struct timed run;
        timed_begin(&run);
        const uint32_t one = device_object(&run), other = device_object(&run);
        run.model.objects.items[other].device = which == OTHER_DEVICE;
        hashed(&run, one, false, 7, FIRST);
        if (which == CHANGED)
            writes(&run, one);
        if (which == UNSEEN) {
            timed_launch(&run, LEGACY, 10);
            last_call(&run)->flags |= ANALYZE_UNSEEN;
        }
        hashed(&run, other, false, which == OTHER_BYTES ? 8 : 7, SECOND);
        if (which == UNCHANGED)
            expect_place(&run, "other", false);
        else
            expect_none(&run);
    }
}

// A line copies other bytes to each object, some of which another object holds by chance.
static void bytes_that_are_elsewhere_by_chance_are_no_duplicate(void **state)
{
    (void)state;
    for (uint64_t alike = 2; alike <= 3; alike++) {
        struct timed run;
        timed_begin(&run);
        hashed(&run, device_object(&run), false, 100, FIRST);
        for (uint64_t i = 0; i < 6; i++)
            hashed(&run, device_object(&run), false, i < alike ? 100 : i, SECOND);
        if (alike == 3) // one that the first line has copied, and two that the second one has
            assert_int_equal(count_found_now(&run), 2);
        else
            expect_none(&run);
    }
}

// A result of a few bytes often has the value that it had before.
static void small_results_that_are_equal_are_no_duplicate(void **state)
{
    (void)state;
    for (int to_host = 0; to_host <= 1; to_host++) {
        for (uint64_t bytes = 63; bytes <= 64; bytes++) {
            struct timed run;
            timed_begin(&run);
            const uint32_t object = allocate(&run.model, bytes);
            took(&run, 10, 0);
            for (int i = 0; i < 3; i++) {
                hashed(&run, object, to_host, 7, i ? SECOND : FIRST);
                run.model.host.copies.items[i].same_before = to_host;
                if (to_host)
                    writes(&run, object);
            }
            // To the device, the bytes are still there.
            assert_int_equal(count_found_now(&run) > 0, !to_host || bytes == 64);
        }
    }
}

static void the_same_bytes_to_new_memory_are_a_duplicate(void **state)
{
    (void)state;
    for (int changed = 0; changed < 2; changed++) {
        struct timed run;
        timed_begin(&run);
        const uint32_t one = device_object(&run);
        hashed(&run, one, false, 7, FIRST);
        if (changed)
            writes(&run, one);
        let_go(&run, one);
        hashed(&run, device_object(&run), false, 7, SECOND);
        if (changed)
            expect_none(&run);
        else
            expect_place(&run, "freed", false);
    }
}

// Of memory that is allocated and freed in each iteration, all copies but the first.
static void copies_to_new_memory_in_a_loop_are_one_finding(void **state)
{
    (void)state;
    struct timed run;
    const struct analyze_finding *finding;
    timed_begin(&run);
    for (int i = 0; i < 5; i++) {
        const uint32_t object = device_object(&run);
        hashed(&run, object, false, 7, SECOND);
        timed_launch(&run, LEGACY, 10);
        uses(&run.model, object, ANALYZE_READ);
        let_go(&run, object);
    }
    struct analysis *analysis = expect_one(&run, ANALYZE_DUPLICATE_TRANSFER, 4, &finding);
    assert_string_equal(place_of(finding), "freed");
    assert_int_equal(value_of(finding, "bytes"), 4 * BYTES);
    analyze_free(analysis);
}

static void bytes_that_come_back_unchanged_are_a_duplicate(void **state)
{
    (void)state;
    enum { BACK, TO_ANOTHER, ELSEWHERE, CHANGED_HERE, CHANGED_THERE, CASES };
    for (int which = 0; which < CASES; which++) {
        struct timed run;
        timed_begin(&run);
        const uint32_t one = device_object(&run), other = device_object(&run);
        writes(&run, one);
        hashed(&run, one, true, 7, FIRST);
        if (which == CHANGED_THERE)
            writes(&run, one);
        hashed(&run, which == TO_ANOTHER ? other : one, false, which == CHANGED_HERE ? 8 : 7,
               SECOND);
        // Equal bytes that come from other memory of the host are no round trip.
        struct analyze_copy *copies = run.model.host.copies.items;
        copies[run.model.host.copies.count - 1].host_address += which == ELSEWHERE ? BYTES : 0;
        if (which == BACK || which == TO_ANOTHER || which == ELSEWHERE)
            expect_place(&run, which == TO_ANOTHER ? "other" : "same", which != ELSEWHERE);
        else
            expect_none(&run);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_bytes_to_another_place_are_a_duplicate),
        cmocka_unit_test(bytes_that_are_elsewhere_by_chance_are_no_duplicate),
        cmocka_unit_test(small_results_that_are_equal_are_no_duplicate),
        cmocka_unit_test(the_same_bytes_to_new_memory_are_a_duplicate),
        cmocka_unit_test(copies_to_new_memory_in_a_loop_are_one_finding),
        cmocka_unit_test(bytes_that_come_back_unchanged_are_a_duplicate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
