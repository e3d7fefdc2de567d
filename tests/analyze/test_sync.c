// SPDX-License-Identifier: Apache-2.0
// Findings on synchronization, and near misses, in models made in memory. Times are large compared
// with the thresholds unless a test is about them.
#include "timed_findings.h"

enum { PATH = 500, OTHER_PATH = 501 };
enum { MS = 1000000 };

// Returns why the wait is unknown; that is meaningful only if it is.
static enum analyze_wait_unknown expect_judgement(struct timed *run, uint32_t call,
                                                  enum analyze_judgement judgement)
{
    const struct analyze_thresholds thresholds = analyze_default_thresholds();
    struct analyze_waits waits;
    run->model.host.end_ns = run->now_ns;
    assert_true(analyze_index_uses(&run->model));
    assert_true(analyze_find_waits(&waits, &run->model));
    assert_true(analyze_judge(&waits, &thresholds));
    uint32_t wait = analyze_wait_of(&waits, call);
    assert_int_not_equal(wait, ANALYZE_NONE);
    assert_int_equal(waits.waits.items[wait].judgement, judgement);
    const enum analyze_wait_unknown why =
        (enum analyze_wait_unknown)waits.waits.items[wait].unknown;
    analyze_waits_fini(&waits);
    analyze_model_fini(&run->model);
    return why;
}

static uint32_t a_sync(struct timed *run)
{
    return from_path(run, timed_sync(run, 0, MS), PATH);
}

static uint32_t device_object(struct timed *run)
{
    return add_object(&run->model, PROFILE_OBJECT_DEVICE, 1 << 20);
}

// An asynchronous copy to or from pinned memory.
static uint32_t async_copy(struct timed *run, uint32_t object, bool to_host)
{
    return timed_copy(run, object, to_host, PROFILE_MEMORY_PINNED, 10, 0)->call;
}

// --- unnecessary-sync ----------------------------------------------------------------------------

static void a_synchronisation_that_protects_nothing_is_unnecessary(void **state)
{
    (void)state;
    struct timed run;
    const struct analyze_finding *finding;
    timed_begin(&run);
    for (int i = 0; i < 3; i++) {
        timed_launch(&run, LEGACY, MS);
        a_sync(&run);
        works(&run, MS / 2);
    }
    struct analysis *analysis = expect_one(&run, ANALYZE_UNNECESSARY_SYNC, 3, &finding);
    assert_int_equal(finding->path, PATH);
    assert_int_equal(finding->call, 2);
    assert_int_equal(value_of(finding, "calls"), 3);
    assert_int_equal(value_of(finding, "waited_ns"), 3 * MS);
    assert_false(finding->host_is_bound);
    // Launches follow each other after 20 ns and half a millisecond; the GPU takes 3 ms.
    assert_int_equal(finding->host_ns, 3 * MS / 2 + 40 + 10);
    const struct analyze_run_time *time = analyze_run_time(analysis);
    assert_int_equal(time->recorded_ns - time->after_ns, finding->host_ns);
    assert_int_equal(time->waited_ns, 3 * MS);
    assert_int_equal(time->unneeded_ns, 3 * MS);
    assert_true(time->tracked && !time->is_estimated);
    assert_int_equal(analyze_wait_path_count(analysis), 1);
    const struct analyze_wait_path *path =
        analyze_find_wait_path(analysis, PATH, PROFILE_CALL_SYNC);
    assert_ptr_equal(path, analyze_wait_path(analysis, 0));
    assert_true(path->safe && path->deferrable);
    assert_int_equal(path->unneeded, 3);
    assert_int_equal(path->waited, 3);
    assert_int_equal(path->waited_ns, 3 * MS);
    assert_null(analyze_find_wait_path(analysis, PATH, PROFILE_CALL_FREE));
    assert_null(analyze_find_wait_path(analysis, PATH + 1, PROFILE_CALL_SYNC));
    analyze_free(analysis);
}

// Without probes, it is unknown whether a kernel prints. Kernels of libraries do not.
static void what_may_show_output_says_so(void **state)
{
    (void)state;
    enum { KNOWN, UNKNOWN, OF_LIBRARY, PRINTS, CASES };
    for (int which = 0; which < CASES; which++) {
        struct timed run;
        const struct analyze_finding *finding;
        timed_begin(&run);
        for (int i = 0; i < 3; i++) {
            from_path(&run, timed_launch(&run, LEGACY, MS), OTHER_PATH);
            last_call(&run)->flags |= which == KNOWN ? 0 : ANALYZE_ACTS;
            last_call(&run)->flags |= which == PRINTS ? ANALYZE_PRINTS : 0;
            a_sync(&run);
            works(&run, MS / 2);
        }
        if (which == OF_LIBRARY)
            assert_non_null(base_map_put(&run.model.of_libraries, OTHER_PATH, NULL));
        if (which == PRINTS) {
            expect_none(&run);
            continue;
        }
        struct analysis *analysis = expect_one(&run, ANALYZE_UNNECESSARY_SYNC, 3, &finding);
        assert_int_equal(value_of(finding, "may_show_output"), which == UNKNOWN);
        assert_int_equal(analyze_wait_path(analysis, 0)->may_print, which == UNKNOWN);
        analyze_free(analysis);
    }
}

// A very short wait follows a long one. If the long one is removed, the time moves to the short
// one, so it must be removed, too.
static void what_waits_little_is_told_where_others_would_wait_instead(void **state)
{
    (void)state;
    struct timed run;
    timed_begin(&run);
    for (int i = 0; i < 20; i++) {
        timed_launch(&run, LEGACY, MS);
        a_sync(&run);
        timed_launch(&run, LEGACY, 1000);
        from_path(&run, timed_sync(&run, 0, 1000), OTHER_PATH);
        works(&run, MS);
    }
    struct analysis *analysis = timed_analyze(&run, analyze_default_thresholds());
    assert_int_equal(count_found(analysis, NULL), 2);
    for (size_t i = 0; i < 2; i++) {
        const struct analyze_finding *finding = analyze_finding(analysis, i);
        const bool small = finding->path == OTHER_PATH;
        assert_int_equal(value_of(finding, "others_need"), small);
        assert_int_equal(value_of(finding, "waited_ns"), small ? 20 * 1000 : 20 * MS);
        assert_true(finding->host_ns <= value_of(finding, "waited_ns"));
    }
    const struct analyze_run_time *time = analyze_run_time(analysis);
    assert_true(time->recorded_ns - time->after_ns > 18 * MS);
    assert_true(time->recorded_ns - time->after_ns <= 20 * MS + 20 * 1000);
    analyze_free(analysis);
}

// If the program works in between, the GPU is idle by then, and removing the short wait gains
// nothing.
static void what_waits_little_is_not_told_for_itself(void **state)
{
    (void)state;
    struct timed run;
    timed_begin(&run);
    for (int i = 0; i < 20; i++) {
        timed_launch(&run, LEGACY, MS);
        a_sync(&run);
        works(&run, 2 * MS);
        timed_launch(&run, LEGACY, 1000);
        from_path(&run, timed_sync(&run, 0, 1000), OTHER_PATH);
    }
    expect_only(&run, ANALYZE_UNNECESSARY_SYNC, 20);
}

static void one_whose_data_is_used_is_needed(void **state)
{
    (void)state;
    struct timed run;
    timed_begin(&run);
    uint32_t copy = async_copy(&run, device_object(&run), true);
    uint32_t sync = a_sync(&run);
    first_use(&run, sync, copy, PROFILE_USE_READ);
    works(&run, MS);
    struct analysis *analysis = timed_analyze(&run, analyze_default_thresholds());
    assert_int_equal(count_found(analysis, NULL), 0);
    const struct analyze_wait_path *path = analyze_wait_path(analysis, 0);
    assert_true(!path->safe && !path->deferrable && path->needed == 1);
    analyze_free(analysis);
}

// Of several waits for the same data, the last one before the use is needed.
static void data_that_is_used_behind_another_wait_does_not_need_the_first(void **state)
{
    (void)state;
    struct timed run;
    const struct analyze_finding *finding;
    timed_begin(&run);
    uint32_t copy = async_copy(&run, device_object(&run), true);
    uint32_t first = a_sync(&run);
    works(&run, 10);
    from_path(&run, timed_sync(&run, LEGACY, 0), OTHER_PATH);
    first_use(&run, first, copy, PROFILE_USE_SYSTEM);
    works(&run, MS);
    struct analysis *analysis = expect_one(&run, ANALYZE_UNNECESSARY_SYNC, 1, &finding);
    assert_int_equal(finding->path, PATH);
    assert_int_equal(analyze_find_wait_path(analysis, OTHER_PATH, PROFILE_CALL_SYNC)->needed, 1);
    analyze_free(analysis);
}

// A wait for another stream does not protect the data.
static void a_wait_for_another_stream_does_not_take_its_place(void **state)
{
    (void)state;
    struct timed run;
    timed_begin(&run);
    uint32_t copy = async_copy(&run, device_object(&run), true);
    uint32_t first = a_sync(&run);
    from_path(&run, timed_sync(&run, FREE_RUNNING, 0), OTHER_PATH);
    first_use(&run, first, copy, PROFILE_USE_READ);
    expect_judgement(&run, first, ANALYZE_NEEDED);
}

static void one_call_that_is_needed_keeps_all_of_its_call_path(void **state)
{
    (void)state;
    for (int kind = PROFILE_USE_READ; kind <= PROFILE_USE_UNWATCHED; kind++) {
        struct timed run;
        timed_begin(&run);
        timed_launch(&run, LEGACY, MS);
        a_sync(&run);
        uint32_t copy = async_copy(&run, device_object(&run), true);
        uint32_t sync = a_sync(&run);
        first_use(&run, sync, copy, (enum profile_use_kind)kind);
        expect_none(&run);
    }
}

static void what_may_be_used_unseen_is_not_claimed(void **state)
{
    (void)state;
    struct timed run;
    timed_begin(&run);
    uint32_t copy = async_copy(&run, device_object(&run), true);
    uint32_t sync = a_sync(&run);
    first_use(&run, sync, copy, PROFILE_USE_UNKNOWN);
    expect_judgement(&run, sync, ANALYZE_UNKNOWN);
    timed_begin(&run);
    timed_launch(&run, LEGACY, MS);
    sync = a_sync(&run);
    first_use(&run, sync, ANALYZE_NONE, PROFILE_USE_UNWATCHED); // managed memory
    expect_judgement(&run, sync, ANALYZE_UNKNOWN);
}

// Where some of the data is not watched, it may be used before the first use that is seen.
static void a_use_after_others_that_may_be_unseen_proves_only_that_its_wait_is_needed(void **state)
{
    (void)state;
    for (int partial = 0; partial <= 1; partial++) {
        for (int later = 0; later <= 1; later++) {
            struct timed run;
            timed_begin(&run);
            uint32_t copy = async_copy(&run, device_object(&run), true);
            uint32_t first = a_sync(&run);
            if (later) {
                works(&run, 10);
                from_path(&run, timed_sync(&run, LEGACY, 0), OTHER_PATH);
            }
            (partial ? partial_use : first_use)(&run, first, copy, PROFILE_USE_SYSTEM);
            expect_judgement(&run, first,
                             !later    ? ANALYZE_NEEDED
                             : partial ? ANALYZE_UNKNOWN
                                       : ANALYZE_UNNEEDED);
            // Much later, the wait could have been delayed, if nothing was used before.
            timed_begin(&run);
            copy = async_copy(&run, device_object(&run), true);
            first = a_sync(&run);
            works(&run, 100 * MS);
            (partial ? partial_use : first_use)(&run, first, copy, PROFILE_USE_READ);
            expect_judgement(&run, first, partial ? ANALYZE_UNKNOWN : ANALYZE_LATE);
        }
    }
}

static void it_is_said_why_a_wait_is_unknown(void **state)
{
    (void)state;
    static const struct {
        enum profile_host host;
        enum analyze_wait_unknown why;
    } cases[] = {{PROFILE_HOST_PINNED, ANALYZE_WAIT_PINNED},
                 {PROFILE_HOST_REGISTERED, ANALYZE_WAIT_PINNED},
                 {PROFILE_HOST_MANAGED, ANALYZE_WAIT_MANAGED},
                 {PROFILE_HOST_STACK, ANALYZE_WAIT_STACK}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        for (int tracked = 0; tracked <= 1; tracked++) {
            struct timed run;
            timed_begin(&run);
            run.model.host.tracked = tracked;
            struct analyze_copy *row =
                timed_copy(&run, device_object(&run), true, PROFILE_MEMORY_PINNED, 10, 0);
            const uint32_t copy = row->call;
            row->host = (uint8_t)cases[i].host;
            uint32_t sync = a_sync(&run);
            first_use(&run, sync, copy, PROFILE_USE_UNKNOWN);
            assert_int_equal(expect_judgement(&run, sync, ANALYZE_UNKNOWN),
                             tracked ? cases[i].why : ANALYZE_WAIT_GIVEN_UP);
        }
    }
}

static void without_first_uses_nothing_is_claimed(void **state)
{
    (void)state;
    struct timed run;
    timed_begin(&run);
    run.model.host.tracked = false;
    timed_launch(&run, LEGACY, MS);
    a_sync(&run);
    struct analysis *analysis = timed_analyze(&run, analyze_default_thresholds());
    assert_int_equal(count_found(analysis, NULL), 0);
    assert_int_equal(analyze_wait_path(analysis, 0)->unknown, 1);
    assert_false(analyze_run_time(analysis)->tracked);
    assert_int_equal(analyze_run_time(analysis)->recorded_ns, run.now_ns);
    analyze_free(analysis);
}

// Data that was used 32 times is watched only occasionally.
static void data_that_was_not_looked_at_is_as_the_last_that_was(void **state)
{
    (void)state;
    for (int seen = 31; seen <= 32; seen++) {
        struct timed run;
        uint32_t sync = 0;
        timed_begin(&run);
        uint32_t object = device_object(&run);
        for (int i = 0; i <= seen; i++) {
            uint32_t copy = from_path(&run, async_copy(&run, object, true), OTHER_PATH);
            sync = a_sync(&run);
            if (i < seen)
                first_use(&run, sync, copy, PROFILE_USE_READ);
        }
        expect_judgement(&run, sync, seen == 32 ? ANALYZE_NEEDED : ANALYZE_UNNEEDED);
    }
}

// --- Other reasons for a wait --------------------------------------------------------------------

static void the_time_of_an_event_needs_a_wait_for_it(void **state)
{
    (void)state;
    for (int asked = 0; asked < 2; asked++) {
        struct timed run;
        timed_begin(&run);
        timed_launch(&run, LEGACY, MS);
        timed_record(&run, LEGACY, 7);
        uint32_t sync = from_path(&run, timed_event_sync(&run, 7, MS), PATH);
        if (asked) {
            add_call(&run.model, PROFILE_CALL_SYNC, 0);
            last_call(&run)->event = 7;
            last_call(&run)->flags |= ANALYZE_ASYNC | ANALYZE_TIMES;
            took(&run, 10, 0);
        }
        expect_judgement(&run, sync, asked ? ANALYZE_NEEDED : ANALYZE_UNNEEDED);
    }
    struct timed run; // it is unknown whether the event's time is queried
    timed_begin(&run);
    run.model.host.knows_timing = false;
    timed_launch(&run, LEGACY, MS);
    timed_record(&run, LEGACY, 7);
    expect_judgement(&run, timed_event_sync(&run, 7, MS), ANALYZE_UNKNOWN);
}

static void functions_of_the_host_are_waited_for(void **state)
{
    (void)state;
    struct timed run;
    timed_begin(&run);
    add_call(&run.model, PROFILE_CALL_HOST, LEGACY);
    last_call(&run)->flags |= ANALYZE_ASYNC;
    took(&run, 10, 0);
    uint32_t first = a_sync(&run);
    timed_launch(&run, LEGACY, MS);
    uint32_t second = a_sync(&run);
    (void)second;
    expect_judgement(&run, first, ANALYZE_UNKNOWN);
}

// What a kernel prints appears at the next wait, and only at that one.
static void output_of_kernels_is_waited_for(void **state)
{
    (void)state;
    for (unsigned prints = 0; prints < 2; prints++) {
        struct timed run;
        timed_begin(&run);
        timed_launch(&run, LEGACY, MS);
        last_call(&run)->flags |= ANALYZE_ACTS | (prints ? ANALYZE_PRINTS : 0);
        expect_judgement(&run, a_sync(&run), prints ? ANALYZE_UNKNOWN : ANALYZE_UNNEEDED);
    }
}

static void memory_that_is_still_read_may_be_written_after_a_wait(void **state)
{
    (void)state;
    static const struct {
        enum profile_memory memory;
        enum analyze_judgement judgement;
    } cases[] = {{PROFILE_MEMORY_PINNED, ANALYZE_UNKNOWN},
                 {PROFILE_MEMORY_MANAGED, ANALYZE_UNKNOWN},
                 {PROFILE_MEMORY_PAGEABLE, ANALYZE_UNNEEDED}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct timed run;
        timed_begin(&run);
        timed_copy(&run, device_object(&run), false, cases[i].memory, 10, 0);
        expect_judgement(&run, a_sync(&run), cases[i].judgement);
    }
}

static void kernels_that_use_host_memory_are_waited_for(void **state)
{
    (void)state;
    enum { TOUCHES, IS_NOT_SEEN, TOUCHES_ANOTHER, CASES };
    for (int which = 0; which < CASES; which++) {
        struct timed run;
        timed_begin(&run);
        uint32_t pinned = add_object(&run.model, PROFILE_OBJECT_PINNED, 64);
        run.model.objects.items[pinned].is_host = true;
        uint32_t object = device_object(&run);
        timed_launch(&run, LEGACY, MS);
        if (which == IS_NOT_SEEN)
            last_call(&run)->flags |= ANALYZE_UNSEEN;
        else
            uses(&run.model, which == TOUCHES ? pinned : object, ANALYZE_WRITE);
        expect_judgement(&run, a_sync(&run),
                         which == TOUCHES_ANOTHER ? ANALYZE_UNNEEDED : ANALYZE_UNKNOWN);
    }
}

static void what_other_processes_may_see_is_not_judged(void **state)
{
    (void)state;
    struct timed run;
    timed_begin(&run);
    add_call(&run.model, PROFILE_CALL_MEMORY, 0);
    last_call(&run)->flags |= ANALYZE_SHARES;
    took(&run, 10, 0);
    timed_launch(&run, LEGACY, MS);
    expect_judgement(&run, a_sync(&run), ANALYZE_UNKNOWN);
}

static void memory_is_unmapped_behind_a_wait(void **state)
{
    (void)state;
    struct timed run;
    timed_begin(&run);
    uint32_t object = add_object(&run.model, PROFILE_OBJECT_MAPPING, 64);
    timed_launch(&run, LEGACY, MS);
    uint32_t sync = a_sync(&run);
    run.model.objects.items[object].has_end = true;
    run.model.objects.items[object].end = add_call(&run.model, PROFILE_CALL_MEMORY, 0);
    took(&run, 10, 0);
    expect_judgement(&run, sync, ANALYZE_UNKNOWN);
}

// What it did may have needed the wait. An earlier wait for the same work is not needed for that.
static void a_call_that_did_not_return_may_need_a_wait(void **state)
{
    (void)state;
    for (int returns = 0; returns <= 1; returns++) {
        for (int twice = 0; twice <= 1; twice++) {
            struct timed run;
            timed_begin(&run);
            timed_launch(&run, LEGACY, MS);
            uint32_t sync = a_sync(&run);
            if (twice)
                a_sync(&run);
            if (!returns)
                assert_true(analyze_add_unfinished(&run.model, last_call(&run)->number + 2));
            expect_judgement(&run, sync, returns || twice ? ANALYZE_UNNEEDED : ANALYZE_UNKNOWN);
        }
    }
}

// The host waits for one stream, then gives the other stream work on the first one's results.
static void a_wait_that_orders_streams_is_needed(void **state)
{
    (void)state;
    enum { ORDERS, OTHER_OBJECT, HAS_EVENT, NOT_SEEN, SAME_STREAM, ONLY_READS, CASES };
    static const enum analyze_judgement wanted[CASES] = {
        [ORDERS] = ANALYZE_NEEDED,        [OTHER_OBJECT] = ANALYZE_UNNEEDED,
        [HAS_EVENT] = ANALYZE_UNNEEDED,   [NOT_SEEN] = ANALYZE_UNKNOWN,
        [SAME_STREAM] = ANALYZE_UNNEEDED, [ONLY_READS] = ANALYZE_UNNEEDED};
    for (int which = 0; which < CASES; which++) {
        struct timed run;
        timed_begin(&run);
        uint32_t object = device_object(&run), other = device_object(&run);
        const uint32_t second = which == SAME_STREAM ? BLOCKING : FREE_RUNNING;
        timed_launch(&run, BLOCKING, MS);
        uses(&run.model, object, which == ONLY_READS ? ANALYZE_READ : ANALYZE_WRITE);
        if (which == HAS_EVENT) {
            timed_record(&run, BLOCKING, 1);
            timed_event_wait(&run, FREE_RUNNING, 1);
        }
        uint32_t sync = from_path(&run, timed_sync(&run, BLOCKING, MS), PATH);
        timed_launch(&run, second, MS);
        if (which == NOT_SEEN)
            last_call(&run)->flags |= ANALYZE_UNSEEN;
        else
            uses(&run.model, which == OTHER_OBJECT ? other : object, ANALYZE_READ);
        expect_judgement(&run, sync, wanted[which]);
    }
}

// After one wait has ordered the streams, later ones are not needed.
static void streams_are_brought_into_order_once(void **state)
{
    (void)state;
    struct timed run;
    timed_begin(&run);
    uint32_t object = device_object(&run);
    timed_launch(&run, BLOCKING, MS);
    uses(&run.model, object, ANALYZE_WRITE);
    from_path(&run, timed_sync(&run, BLOCKING, MS), OTHER_PATH);
    timed_launch(&run, FREE_RUNNING, MS);
    uses(&run.model, object, ANALYZE_READ);
    uint32_t sync = a_sync(&run);
    timed_launch(&run, FREE_RUNNING, MS);
    uses(&run.model, object, ANALYZE_READ);
    expect_judgement(&run, sync, ANALYZE_UNNEEDED);
}

// --- misplaced-sync ------------------------------------------------------------------------------

// The copied data is ready about `later_ns` before its first use.
static void make_late_beside(struct timed *run, int64_t later_ns, int64_t recorder_ns)
{
    timed_begin(run);
    uint32_t object = device_object(run);
    for (int i = 0; i < 3; i++) {
        timed_launch(run, LEGACY, MS);
        uint32_t copy = async_copy(run, object, true);
        uint32_t sync = a_sync(run);
        records(run, recorder_ns);
        timed_launch(run, LEGACY, 10);
        works(run, later_ns + i * 1000 - 10);
        first_use(run, sync, copy, PROFILE_USE_READ);
        works(run, MS / 4);
    }
}

static void make_late(struct timed *run, int64_t later_ns)
{
    make_late_beside(run, later_ns, 0);
}

static void a_wait_long_before_the_use_is_misplaced(void **state)
{
    (void)state;
    struct timed run;
    const struct analyze_finding *finding;
    make_late(&run, MS);
    struct analysis *analysis = expect_one(&run, ANALYZE_MISPLACED_SYNC, 3, &finding);
    assert_int_equal(value_of(finding, "use_ns"), MS);
    assert_int_equal(value_of(finding, "use_calls"), 1);
    assert_int_equal(value_of(finding, "use_call_path"), 900);
    assert_int_equal(value_of(finding, "waited_ns"), 3 * MS);
    assert_true(finding->host_ns > 0 && finding->host_ns <= value_of(finding, "waited_ns"));
    const struct analyze_wait_path *path =
        analyze_find_wait_path(analysis, PATH, PROFILE_CALL_SYNC);
    assert_true(path->deferrable && !path->safe && path->late == 3);
    analyze_free(analysis);
}

static void one_shortly_before_it_is_not(void **state)
{
    (void)state;
    struct timed run;
    make_late(&run, 99000); // less than late-use-us
    expect_none(&run);
    make_late(&run, MS / 2 - 3000); // less than half of the waiting time
    expect_none(&run);
    make_late_beside(&run, MS / 2 - 3000, MS); // the recorder's time does not count
    expect_none(&run);
    struct analyze_thresholds thresholds = analyze_default_thresholds();
    for (uint32_t calls = 1; calls <= 2; calls++) { // one call is in between
        *analyze_threshold(&thresholds, "late-use-calls") = calls;
        make_late(&run, MS);
        struct analysis *analysis = timed_analyze(&run, thresholds);
        assert_int_equal(count_found(analysis, NULL), calls == 1);
        analyze_free(analysis);
    }
    make_late(&run, MS / 2);
    expect_only(&run, ANALYZE_MISPLACED_SYNC, 3);
}

// --- synchronous-transfer ------------------------------------------------------------------------

static void copies_that_need_not_wait_are_found(void **state)
{
    (void)state;
    for (int to_host = 0; to_host < 2; to_host++) {
        struct timed run;
        const struct analyze_finding *finding;
        timed_begin(&run);
        uint32_t object = device_object(&run);
        for (int i = 0; i < 4; i++) {
            timed_launch(&run, LEGACY, MS);
            uint32_t call =
                timed_copy(&run, object, to_host, PROFILE_MEMORY_PAGEABLE, 2 * MS, MS)->call;
            from_path(&run, call, PATH);
            works(&run, 2 * MS);
        }
        struct analysis *analysis = expect_one(&run, ANALYZE_SYNCHRONOUS_TRANSFER, 4, &finding);
        assert_int_equal(value_of(finding, "bytes"), 4 << 20);
        assert_int_equal(value_of(finding, "to_host"), to_host);
        assert_true(value_of(finding, "is_pageable"));
        assert_int_equal(finding->object, 1);
        assert_int_equal(value_of(finding, "use_ns"), 0);
        assert_int_equal(value_of(finding, "waited_ns"), 4 * (2 * MS - ANALYZE_ASYNC_NS));
        assert_true(finding->host_ns > 3 * 2 * MS - 100000);
        assert_true(finding->host_ns <= value_of(finding, "waited_ns"));
        analyze_free(analysis);
    }
}

static void a_copy_whose_data_is_used_at_once_stays(void **state)
{
    (void)state;
    for (int later = 0; later < 2; later++) {
        struct timed run;
        timed_begin(&run);
        uint32_t object = device_object(&run);
        for (int i = 0; i < 4; i++) {
            uint32_t call =
                timed_copy(&run, object, true, PROFILE_MEMORY_PAGEABLE, 2 * MS, MS)->call;
            from_path(&run, call, PATH);
            works(&run, later ? 2 * MS : 1000);
            first_use(&run, call, call, PROFILE_USE_READ);
        }
        if (later)
            expect_only(&run, ANALYZE_SYNCHRONOUS_TRANSFER, 4);
        else
            expect_none(&run);
    }
}

static void what_takes_too_little_time_is_not_told(void **state)
{
    (void)state;
    struct timed run;
    timed_begin(&run); // 99 us
    timed_copy(&run, device_object(&run), false, PROFILE_MEMORY_PAGEABLE, 99000, 50000);
    expect_none(&run);
    timed_begin(&run); // less than a hundredth of the run
    timed_copy(&run, device_object(&run), false, PROFILE_MEMORY_PAGEABLE, MS, MS / 2);
    works(&run, 110 * MS);
    expect_none(&run);
    timed_begin(&run);
    timed_copy(&run, device_object(&run), false, PROFILE_MEMORY_PAGEABLE, MS, MS / 2);
    works(&run, 90 * MS);
    expect_only(&run, ANALYZE_SYNCHRONOUS_TRANSFER, 1);
}

// Pinning 64 MiB takes 32 ms, and such a copy takes 8 ms plus its wait for a kernel.
enum { COPY_MS = 8, PINNING_NS = (64 << 20) / ANALYZE_PINNED_BYTES_A_NS };

static uint32_t large_copy(struct timed *run, enum profile_memory memory, int waited_ms,
                           uint32_t path)
{
    const uint32_t object = add_object(&run->model, PROFILE_OBJECT_DEVICE, 64 << 20);
    if (waited_ms)
        timed_launch(run, LEGACY, (uint64_t)waited_ms * MS);
    return from_path(run,
                     timed_copy(run, object, false, memory, (int64_t)(COPY_MS + waited_ms) * MS,
                                (uint64_t)waited_ms * MS)
                         ->call,
                     path);
}

static bool is_costly(const struct analysis *analysis, uint32_t path)
{
    return analyze_find_wait_path(analysis, path, PROFILE_CALL_COPY)->costly;
}

static void what_pinning_costs_more_than_it_gains_stays(void **state)
{
    (void)state;
    struct timed run;
    const struct analyze_finding *finding;
    timed_begin(&run);
    large_copy(&run, PROFILE_MEMORY_PAGEABLE, 0, PATH);
    works(&run, 100 * MS);
    struct analysis *analysis = timed_analyze(&run, analyze_default_thresholds());
    assert_int_equal(count_found(analysis, NULL), 0);
    assert_true(is_costly(analysis, PATH));
    assert_int_equal(analyze_run_time(analysis)->after_ns, analyze_run_time(analysis)->recorded_ns);
    analyze_free(analysis);

    // Pinned memory has no further cost.
    timed_begin(&run);
    large_copy(&run, PROFILE_MEMORY_PINNED, 0, PATH);
    works(&run, 100 * MS);
    analysis = expect_one(&run, ANALYZE_SYNCHRONOUS_TRANSFER, 1, &finding);
    assert_int_equal(finding->host_ns, COPY_MS * MS - ANALYZE_ASYNC_NS);
    assert_false(is_costly(analysis, PATH));
    analyze_free(analysis);

    // Without meaningful GPU times, the cost is unknown.
    timed_begin(&run);
    run.model.host.has_gpu_times = false;
    large_copy(&run, PROFILE_MEMORY_PAGEABLE, 0, PATH);
    works(&run, 100 * MS);
    expect_only(&run, ANALYZE_SYNCHRONOUS_TRANSFER, 1);

    // The memory is pinned once for all copies.
    timed_begin(&run);
    for (int i = 0; i < 5; i++) {
        large_copy(&run, PROFILE_MEMORY_PAGEABLE, 0, PATH);
        works(&run, 100 * MS);
    }
    analysis = expect_one(&run, ANALYZE_SYNCHRONOUS_TRANSFER, 5, &finding);
    assert_int_equal(finding->host_ns, 5 * (COPY_MS * MS - ANALYZE_ASYNC_NS) - PINNING_NS);
    assert_int_equal(analyze_run_time(analysis)->recorded_ns - analyze_run_time(analysis)->after_ns,
                     finding->host_ns);
    assert_false(is_costly(analysis, PATH));
    analyze_free(analysis);
}

static void sizes_of_a_damaged_file_do_not_gain(void **state)
{
    (void)state;
    struct timed run;
    timed_begin(&run);
    for (uint32_t path = PATH; path <= OTHER_PATH; path++) {
        large_copy(&run, PROFILE_MEMORY_PAGEABLE, 40, path);
        run.model.host.copies.items[run.model.host.copies.count - 1].bytes = UINT64_MAX;
        works(&run, 100 * MS);
    }
    expect_none(&run);
}

// One copy waits long, and the next one would wait in its place. Pinning either alone costs more
// than it gains, but pinning both pays.
static void pinning_pays_for_copies_together(void **state)
{
    (void)state;
    for (int waited_ms = 40; waited_ms <= 100; waited_ms += 60) {
        struct timed run;
        timed_begin(&run);
        large_copy(&run, PROFILE_MEMORY_PAGEABLE, waited_ms, PATH);
        large_copy(&run, PROFILE_MEMORY_PAGEABLE, 0, OTHER_PATH);
        works(&run, 200 * MS);
        struct analysis *analysis = timed_analyze(&run, analyze_default_thresholds());
        const struct analyze_run_time *time = analyze_run_time(analysis);
        const bool pays = waited_ms + 2 * COPY_MS > 2 * PINNING_NS / MS;
        assert_int_equal(count_found(analysis, NULL), pays ? 2 : 0);
        assert_int_equal(is_costly(analysis, PATH), !pays);
        assert_int_equal(is_costly(analysis, OTHER_PATH), !pays);
        assert_int_equal(
            time->recorded_ns - time->after_ns,
            pays ? (waited_ms + 2 * COPY_MS) * MS - 2 * PINNING_NS - 2 * ANALYZE_ASYNC_NS : 0);
        analyze_free(analysis);
    }
}

// Two copies do not pay together and are excluded, although all three would pay because of the
// third.
static void copies_that_do_not_pay_are_left_out_of_those_that_do(void **state)
{
    (void)state;
    struct timed run;
    const struct analyze_finding *finding;
    timed_begin(&run);
    large_copy(&run, PROFILE_MEMORY_PAGEABLE, 80, PATH);
    works(&run, 200 * MS);
    large_copy(&run, PROFILE_MEMORY_PAGEABLE, 40, OTHER_PATH);
    large_copy(&run, PROFILE_MEMORY_PAGEABLE, 0, OTHER_PATH + 1);
    works(&run, 200 * MS);
    struct analysis *analysis = expect_one(&run, ANALYZE_SYNCHRONOUS_TRANSFER, 1, &finding);
    const struct analyze_run_time *time = analyze_run_time(analysis);
    assert_int_equal(finding->path, PATH);
    assert_int_equal(finding->host_ns, (80 + COPY_MS) * MS - PINNING_NS - ANALYZE_ASYNC_NS);
    assert_int_equal(time->recorded_ns - time->after_ns, finding->host_ns);
    assert_true(is_costly(analysis, OTHER_PATH) && is_costly(analysis, OTHER_PATH + 1));
    analyze_free(analysis);
}

// A copy that gains too little for a finding in a long run may still cost more than it gains.
static void what_costs_more_is_known_of_what_is_not_told(void **state)
{
    (void)state;
    for (int also_large = 0; also_large < 2; also_large++) {
        struct timed run;
        timed_begin(&run);
        large_copy(&run, PROFILE_MEMORY_PAGEABLE, 0, PATH);
        works(&run, 50 * MS);
        timed_copy(&run, device_object(&run), false, PROFILE_MEMORY_PAGEABLE, 2 * MS, 2 * MS - 1);
        from_path(&run, (uint32_t)run.model.calls.count - 1, OTHER_PATH);
        works(&run, 2000 * MS);
        if (also_large) {
            timed_launch(&run, LEGACY, 100 * MS);
            from_path(&run, timed_sync(&run, 0, 100 * MS), PATH);
            works(&run, 100 * MS);
        }
        struct analysis *analysis = timed_analyze(&run, analyze_default_thresholds());
        assert_int_equal(count_found(analysis, NULL), also_large);
        assert_true(is_costly(analysis, PATH));
        assert_false(is_costly(analysis, OTHER_PATH));
        analyze_free(analysis);
    }
}

// --- alloc-free-churn ----------------------------------------------------------------------------

static uint32_t timed_allocate(struct timed *run, uint64_t bytes)
{
    uint32_t object = allocate(&run->model, bytes);
    from_path(run, took(run, 40000, 0), PATH);
    return object;
}

static uint32_t timed_release(struct timed *run, uint32_t object)
{
    uint32_t call = release(&run->model, object);
    took(run, MS, MS);
    return from_path(run, call, OTHER_PATH);
}

static void memory_that_comes_and_goes_is_churn(void **state)
{
    (void)state;
    struct timed run;
    const struct analyze_finding *finding;
    timed_begin(&run);
    for (int i = 0; i < 6; i++) {
        uint32_t object = timed_allocate(&run, 1000 + (uint64_t)i);
        timed_launch(&run, LEGACY, MS);
        timed_release(&run, object);
        works(&run, MS / 2);
    }
    struct analysis *analysis = expect_one(&run, ANALYZE_ALLOC_FREE_CHURN, 5, &finding);
    assert_int_equal(finding->path, OTHER_PATH);
    assert_int_equal(finding->other_path, PATH);
    assert_int_equal(finding->call, 3);
    assert_int_equal(finding->other_call, 1);
    assert_int_equal(finding->object, 1);
    // All of five allocations and frees, minus the cost of the pool.
    assert_int_equal(value_of(finding, "waited_ns"), 5 * (40000 + MS - 2 * ANALYZE_POOL_NS));
    assert_true(finding->host_ns > 0 && finding->host_ns <= value_of(finding, "waited_ns"));
    analyze_free(analysis);
}

// The second free finds nothing pending because the first one waited. Otherwise it would wait.
static void frees_behind_frees_are_churn_too(void **state)
{
    (void)state;
    struct timed run;
    timed_begin(&run);
    for (int i = 0; i < 6; i++) {
        uint32_t first = timed_allocate(&run, 1000), second = timed_allocate(&run, 64000);
        timed_launch(&run, LEGACY, MS);
        timed_release(&run, first);
        uint32_t freed = timed_release(&run, second);
        run.model.calls.items[freed].flags &= (uint16_t)~ANALYZE_WAITED;
        works(&run, MS / 2);
    }
    struct analysis *analysis = timed_analyze(&run, analyze_default_thresholds());
    const struct analyze_finding *first = NULL;
    assert_int_equal(count_found(analysis, &first), 2);
    assert_int_equal(first->pattern, ANALYZE_ALLOC_FREE_CHURN);
    analyze_free(analysis);
}

// A pool would need as much memory. The frees still wait in vain.
static void memory_that_is_all_there_at_once_is_none(void **state)
{
    (void)state;
    enum { COUNT = 8 };
    struct timed run;
    uint32_t objects[COUNT];
    timed_begin(&run);
    for (int i = 0; i < COUNT; i++)
        objects[i] = timed_allocate(&run, 1000);
    timed_launch(&run, LEGACY, MS);
    for (int i = 0; i < COUNT; i++)
        timed_release(&run, objects[i]);
    expect_only(&run, ANALYZE_UNNECESSARY_SYNC, COUNT);
}

static void few_frees_or_of_many_sizes_or_needed_are_none(void **state)
{
    (void)state;
    enum { FEW, SIZES, NEEDED, CASES };
    for (int which = 0; which < CASES; which++) {
        struct timed run;
        timed_begin(&run);
        for (int i = 0; i < (which == FEW ? 4 : 10); i++) {
            uint32_t object =
                timed_allocate(&run, which == SIZES ? UINT64_C(1000) << i : UINT64_C(1000));
            uint32_t copy = async_copy(&run, object, true);
            uint32_t freed = timed_release(&run, object);
            if (which == NEEDED && i == 5)
                first_use(&run, freed, copy, PROFILE_USE_READ);
        }
        if (which == NEEDED)
            expect_none(&run);
        else
            expect_only(&run, ANALYZE_UNNECESSARY_SYNC, which == FEW ? 4 : 10);
    }
}

// --- duplicate-transfer --------------------------------------------------------------------------

static void hashed_copy(struct timed *run, uint32_t object, bool to_host, uint64_t hash)
{
    struct analyze_copy *copy = timed_copy(run, object, to_host, PROFILE_MEMORY_PAGEABLE, 10, 0);
    from_path(run, copy->call, PATH);
    run->model.calls.items[copy->call].gpu_ns = MS;
    copy->hashed = true;
    copy->hash[0] = copy->hash[1] = hash;
}

enum between {
    NOTHING,
    READ_BY_KERNEL,
    WRITTEN_BY_KERNEL,
    NOT_SEEN,
    SET_HERE,
    SET_ELSEWHERE,
    OTHER_BYTES,
    COPIED_OVER,
    BETWEENS
};

static void the_same_bytes_again_are_a_duplicate_unless_something_wrote_there(void **state)
{
    (void)state;
    for (int what = 0; what < BETWEENS; what++) {
        struct timed run;
        timed_begin(&run);
        uint32_t object = device_object(&run), other = device_object(&run);
        hashed_copy(&run, object, false, 7);
        switch (what) {
        case READ_BY_KERNEL:
        case WRITTEN_BY_KERNEL:
            timed_launch(&run, LEGACY, 10);
            uses(&run.model, object, what == READ_BY_KERNEL ? ANALYZE_READ : ANALYZE_WRITE);
            break;
        case NOT_SEEN:
            timed_launch(&run, LEGACY, 10);
            last_call(&run)->flags |= ANALYZE_UNSEEN;
            break;
        case SET_HERE:
        case SET_ELSEWHERE:
            set(&run.model, what == SET_HERE ? object : other, 64, 4);
            took(&run, 10, 0);
            break;
        case COPIED_OVER: // the same bytes, but to another address
            hashed_copy(&run, object, false, 7);
            struct analyze_copy *copies = run.model.host.copies.items;
            copies[run.model.host.copies.count - 1].device_address += 4;
            run.model.touches.items[run.model.touches.count - 1].offset = 4;
            run.model.touches.items[run.model.touches.count - 1].row_bytes -= 4;
            copies[run.model.host.copies.count - 1].bytes -= 4;
            break;
        default: break;
        }
        hashed_copy(&run, object, false, what == OTHER_BYTES ? 8 : 7);
        if (what == NOTHING || what == READ_BY_KERNEL || what == SET_ELSEWHERE)
            expect_only(&run, ANALYZE_DUPLICATE_TRANSFER, 1);
        else
            expect_none(&run);
    }
}

static void bytes_that_the_host_has_already_are_a_duplicate(void **state)
{
    (void)state;
    for (int same = 0; same < 2; same++) {
        struct timed run;
        const struct analyze_finding *finding;
        timed_begin(&run);
        uint32_t object = device_object(&run);
        hashed_copy(&run, object, true, 7);
        hashed_copy(&run, object, true, 7);
        run.model.host.copies.items[1].same_before = same;
        if (!same) {
            expect_none(&run);
            continue;
        }
        struct analysis *analysis = expect_one(&run, ANALYZE_DUPLICATE_TRANSFER, 1, &finding);
        assert_int_equal(finding->traffic_bytes, 1 << 20);
        assert_int_equal(finding->gpu_ns, MS);
        assert_int_equal(finding->call, 2);
        assert_int_equal(finding->other_call, 1);
        assert_true(value_of(finding, "to_host"));
        analyze_free(analysis);
    }
}

// --- Together ------------------------------------------------------------------------------------

// Each alone gains nearly nothing because the other one waits as long; both together gain.
static void remedies_are_worth_more_together(void **state)
{
    (void)state;
    struct timed run;
    timed_begin(&run);
    for (int i = 0; i < 4; i++) {
        timed_launch(&run, LEGACY, MS);
        a_sync(&run);
        from_path(&run, timed_sync(&run, 0, 0), OTHER_PATH);
        works(&run, MS);
    }
    struct analyze_thresholds thresholds = analyze_default_thresholds();
    *analyze_threshold(&thresholds, "wait-us") = 0;
    *analyze_threshold(&thresholds, "wait-percent") = 0;
    struct analysis *analysis = timed_analyze(&run, thresholds);
    assert_int_equal(count_found(analysis, NULL), 2);
    uint64_t alone = 0;
    for (size_t i = 0; i < 2; i++)
        alone += analyze_finding(analysis, i)->host_ns;
    const struct analyze_run_time *time = analyze_run_time(analysis);
    assert_int_equal(alone, 4 * 10); // the first call's time besides waiting
    // The program's own work hides the time of the last kernel and of all before it.
    assert_int_equal(time->recorded_ns - time->after_ns, 4 * MS);
    analyze_free(analysis);
}

// A larger share of the run time ranks before a smaller share of the peak.
static void findings_are_ranked_by_their_shares(void **state)
{
    (void)state;
    struct timed run;
    timed_begin(&run);
    uint32_t unused = allocate(&run.model, 100), used = allocate(&run.model, 900);
    took(&run, 10, 0);
    took(&run, 10, 0);
    timed_launch(&run, LEGACY, MS);
    uses(&run.model, used, ANALYZE_WRITE);
    a_sync(&run);
    works(&run, MS);
    release(&run.model, unused);
    took(&run, 10, 0);
    release(&run.model, used);
    took(&run, 10, 0);
    struct analysis *analysis = timed_analyze(&run, analyze_default_thresholds());
    assert_int_equal(analyze_finding(analysis, 0)->pattern, ANALYZE_UNNECESSARY_SYNC);
    assert_int_equal(analyze_finding(analysis, 1)->pattern, ANALYZE_UNUSED_ALLOCATION);
    analyze_free(analysis);
}

// If there are too many remedies to replay, the waiting time is the bound for the rest.
static void of_very_many_remedies_the_largest_are_replayed(void **state)
{
    (void)state;
    struct timed run;
    timed_begin(&run);
    for (uint32_t i = 0; i < 250; i++) {
        timed_launch(&run, LEGACY, MS + i);
        from_path(&run, timed_sync(&run, 0, MS + i), 1000 + i);
        works(&run, MS);
    }
    struct analyze_thresholds thresholds = analyze_default_thresholds();
    *analyze_threshold(&thresholds, "wait-percent") = 0;
    struct analysis *analysis = timed_analyze(&run, thresholds);
    size_t bounds = 0;
    assert_int_equal(count_found(analysis, NULL), 250);
    for (size_t i = 0; i < 250; i++) {
        const struct analyze_finding *finding = analyze_finding(analysis, i);
        bounds += finding->host_is_bound;
        if (finding->host_is_bound) {
            assert_int_equal(finding->host_ns, value_of(finding, "waited_ns"));
            assert_true(value_of(finding, "waited_ns") < MS + 50);
        }
    }
    assert_int_equal(bounds, 50);
    analyze_free(analysis);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_synchronisation_that_protects_nothing_is_unnecessary),
        cmocka_unit_test(what_may_show_output_says_so),
        cmocka_unit_test(what_waits_little_is_told_where_others_would_wait_instead),
        cmocka_unit_test(what_waits_little_is_not_told_for_itself),
        cmocka_unit_test(one_whose_data_is_used_is_needed),
        cmocka_unit_test(data_that_is_used_behind_another_wait_does_not_need_the_first),
        cmocka_unit_test(a_wait_for_another_stream_does_not_take_its_place),
        cmocka_unit_test(one_call_that_is_needed_keeps_all_of_its_call_path),
        cmocka_unit_test(what_may_be_used_unseen_is_not_claimed),
        cmocka_unit_test(it_is_said_why_a_wait_is_unknown),
        cmocka_unit_test(a_use_after_others_that_may_be_unseen_proves_only_that_its_wait_is_needed),
        cmocka_unit_test(without_first_uses_nothing_is_claimed),
        cmocka_unit_test(data_that_was_not_looked_at_is_as_the_last_that_was),
        cmocka_unit_test(the_time_of_an_event_needs_a_wait_for_it),
        cmocka_unit_test(functions_of_the_host_are_waited_for),
        cmocka_unit_test(output_of_kernels_is_waited_for),
        cmocka_unit_test(memory_that_is_still_read_may_be_written_after_a_wait),
        cmocka_unit_test(kernels_that_use_host_memory_are_waited_for),
        cmocka_unit_test(what_other_processes_may_see_is_not_judged),
        cmocka_unit_test(memory_is_unmapped_behind_a_wait),
        cmocka_unit_test(a_call_that_did_not_return_may_need_a_wait),
        cmocka_unit_test(a_wait_that_orders_streams_is_needed),
        cmocka_unit_test(streams_are_brought_into_order_once),
        cmocka_unit_test(a_wait_long_before_the_use_is_misplaced),
        cmocka_unit_test(one_shortly_before_it_is_not),
        cmocka_unit_test(copies_that_need_not_wait_are_found),
        cmocka_unit_test(a_copy_whose_data_is_used_at_once_stays),
        cmocka_unit_test(what_takes_too_little_time_is_not_told),
        cmocka_unit_test(what_pinning_costs_more_than_it_gains_stays),
        cmocka_unit_test(sizes_of_a_damaged_file_do_not_gain),
        cmocka_unit_test(pinning_pays_for_copies_together),
        cmocka_unit_test(copies_that_do_not_pay_are_left_out_of_those_that_do),
        cmocka_unit_test(what_costs_more_is_known_of_what_is_not_told),
        cmocka_unit_test(memory_that_comes_and_goes_is_churn),
        cmocka_unit_test(frees_behind_frees_are_churn_too),
        cmocka_unit_test(memory_that_is_all_there_at_once_is_none),
        cmocka_unit_test(few_frees_or_of_many_sizes_or_needed_are_none),
        cmocka_unit_test(the_same_bytes_again_are_a_duplicate_unless_something_wrote_there),
        cmocka_unit_test(bytes_that_the_host_has_already_are_a_duplicate),
        cmocka_unit_test(remedies_are_worth_more_together),
        cmocka_unit_test(findings_are_ranked_by_their_shares),
        cmocka_unit_test(of_very_many_remedies_the_largest_are_replayed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
