// SPDX-License-Identifier: Apache-2.0
// The replay of runs: known answers, a slow simulation that follows the definitions, and properties
// that hold for every run.
#include "timed.h"

struct replaying {
    struct analyze_waits waits;
    struct analyze_timeline *timeline;
    uint8_t *actions;
};

static void replay_begin(struct replaying *replaying, struct timed *run)
{
    const struct analyze_thresholds thresholds = analyze_default_thresholds();
    run->model.host.end_ns = run->now_ns;
    assert_true(analyze_index_uses(&run->model));
    assert_true(analyze_find_waits(&replaying->waits, &run->model));
    assert_true(analyze_judge(&replaying->waits, &thresholds));
    replaying->timeline = analyze_timeline_new(&replaying->waits);
    assert_non_null(replaying->timeline);
    replaying->actions = calloc(run->model.calls.count + 1, 1);
    assert_non_null(replaying->actions);
}

static int64_t replayed(struct replaying *replaying)
{
    return analyze_timeline_replay(replaying->timeline, replaying->actions);
}

static void replay_end(struct replaying *replaying, struct timed *run)
{
    analyze_timeline_free(replaying->timeline);
    analyze_waits_fini(&replaying->waits);
    free(replaying->actions);
    analyze_model_fini(&run->model);
}

// Time saved in the run if the call is changed in this way.
static int64_t saves(struct replaying *replaying, uint32_t call, enum analyze_action action)
{
    int64_t before = replayed(replaying);
    replaying->actions[call] = (uint8_t)action;
    int64_t after = replayed(replaying);
    replaying->actions[call] = ANALYZE_KEEP;
    return before - after;
}

// --- Known answers -------------------------------------------------------------------------------

// Two kernels of 1000, with a wait after each, 600 of host work between and 50 at the end, and
// recorder_ns of the recorder's time after each wait.
static void make_two(struct timed *run, int64_t recorder_ns, uint32_t waits[2])
{
    timed_begin(run);
    timed_launch(run, LEGACY, 1000);
    waits[0] = timed_sync(run, 0, 1000);
    records(run, recorder_ns);
    works(run, 600);
    timed_launch(run, LEGACY, 1000);
    waits[1] = timed_sync(run, 0, 1000);
    records(run, recorder_ns);
    works(run, 50);
}

// The recorder's time hides nothing and does not reduce the program's own time.
static void work_of_the_host_hides_the_gpus_when_nothing_waits(void **state)
{
    (void)state;
    for (int64_t recorder_ns = 0; recorder_ns <= 5000; recorder_ns += 2500) {
        struct timed run;
        struct replaying replaying;
        uint32_t waits[2];
        make_two(&run, recorder_ns, waits);
        replay_begin(&replaying, &run);
        assert_int_equal(replayed(&replaying), run.now_ns - 2 * recorder_ns);
        // Then the second launch is 10 + 600 + 10 after the first, which has 380 left, and the
        // second wait takes 1380.
        assert_int_equal(saves(&replaying, waits[0], ANALYZE_REMOVE), 620);
        // The end of the program waits as long, but 10 + 50 of host time are hidden.
        assert_int_equal(saves(&replaying, waits[1], ANALYZE_REMOVE), 60);
        replay_end(&replaying, &run);
    }
}

// Latency disappears together with the wait: the GPU took 1000 of 1200.
static void what_a_wait_takes_beyond_the_gpus_time_goes_with_it(void **state)
{
    (void)state;
    struct timed run;
    struct replaying replaying;
    timed_begin(&run);
    timed_launch(&run, LEGACY, 1000);
    uint32_t first = timed_sync(&run, 0, 1200);
    timed_launch(&run, LEGACY, 1000);
    timed_sync(&run, 0, 1200);
    replay_begin(&replaying, &run);
    assert_int_equal(replayed(&replaying), run.now_ns);
    assert_int_equal(saves(&replaying, first, ANALYZE_REMOVE), 1200 - 1000 + 20);
    replay_end(&replaying, &run);
}

// GPU times that are too long for the measured wait are cut to it.
static void a_wait_ends_no_earlier_than_it_did_for_lack_of_gpu_time(void **state)
{
    (void)state;
    struct timed run;
    struct replaying replaying;
    timed_begin(&run);
    timed_launch(&run, LEGACY, 5000);
    uint32_t first = timed_sync(&run, 0, 700);
    works(&run, 400);
    timed_launch(&run, LEGACY, 300);
    timed_sync(&run, 0, 300);
    replay_begin(&replaying, &run);
    assert_int_equal(replayed(&replaying), run.now_ns);
    // The first work ends 700 after its start; 10 + 400 + 10 of the second are hidden.
    assert_int_equal(saves(&replaying, first, ANALYZE_REMOVE), 420);
    replay_end(&replaying, &run);
}

// Without GPU times, work is assumed to last until the wait for it ends.
static void gpu_times_are_estimated_from_waits(void **state)
{
    (void)state;
    struct timed run;
    struct replaying replaying;
    timed_begin(&run);
    run.model.host.has_gpu_times = false;
    timed_launch(&run, LEGACY, 7);
    uint32_t first = timed_sync(&run, 0, 1000);
    works(&run, 600);
    timed_launch(&run, LEGACY, 7);
    timed_sync(&run, 0, 1000);
    replay_begin(&replaying, &run);
    assert_true(analyze_timeline_is_estimated(replaying.timeline));
    assert_int_equal(replayed(&replaying), run.now_ns);
    assert_int_equal(saves(&replaying, first, ANALYZE_REMOVE), 620);
    replay_end(&replaying, &run);
}

// An asynchronous copy costs the host one call, and the stream the GPU's time.
static void a_copy_that_is_asynchronous_goes_on_beside_the_host(void **state)
{
    (void)state;
    struct timed run;
    struct replaying replaying;
    timed_begin(&run);
    uint32_t object = add_object(&run.model, PROFILE_OBJECT_DEVICE, 64);
    timed_launch(&run, LEGACY, 30000);
    // 30000 of waiting, 20000 of copying, 5000 of overhead.
    struct analyze_copy *copy =
        timed_copy(&run, object, false, PROFILE_MEMORY_PAGEABLE, 55000, 30000);
    uint32_t call = copy->call;
    assert_int_equal(run.model.calls.items[call].gpu_ns, 20000);
    works(&run, 40000);
    timed_sync(&run, 0, 0);
    works(&run, 100);
    replay_begin(&replaying, &run);
    assert_int_equal(replayed(&replaying), run.now_ns);
    // The GPU finishes 30000 + 20000 after the launch. The host reaches the wait 4500 + 40000 after
    // the launch, and waits 5500.
    assert_int_equal(saves(&replaying, call, ANALYZE_REMOVE), 55000 + 40000 - 50000);
    // Without the copy, the host reaches the wait 10000 after the GPU has finished.
    assert_int_equal(saves(&replaying, call, ANALYZE_LEAVE_OUT), 55000);
    replay_end(&replaying, &run);
}

// Deferring a wait to the first use hides the host's work before that use, but not after it.
static void a_wait_can_be_put_off_to_the_first_use(void **state)
{
    (void)state;
    struct timed run;
    struct replaying replaying;
    timed_begin(&run);
    uint32_t object = add_object(&run.model, PROFILE_OBJECT_DEVICE, 64);
    timed_launch(&run, LEGACY, 400000);
    uint32_t copy =
        timed_copy(&run, object, true, PROFILE_MEMORY_PINNED, 10, 0)->call; // of 100 on the GPU
    uint32_t sync = timed_sync(&run, 0, 400100 - 10);
    works(&run, 250000);
    first_use(&run, sync, copy, PROFILE_USE_READ);
    works(&run, 90000);
    timed_launch(&run, LEGACY, 10);
    timed_sync(&run, 0, 10);
    replay_begin(&replaying, &run);
    assert_int_equal(replayed(&replaying), run.now_ns);
    assert_int_equal(saves(&replaying, sync, ANALYZE_DEFER), 250010);
    assert_int_equal(saves(&replaying, sync, ANALYZE_REMOVE), 340020);
    replay_end(&replaying, &run);
}

static void allocations_and_frees_from_a_pool_take_its_time(void **state)
{
    (void)state;
    struct timed run;
    struct replaying replaying;
    timed_begin(&run);
    uint32_t object = allocate(&run.model, 64);
    uint32_t made = took(&run, 40000, 0);
    timed_launch(&run, LEGACY, 100000);
    uint32_t freed = release(&run.model, object);
    took(&run, 130000, 130000); // 100000 of it on the GPU
    works(&run, 200000);
    replay_begin(&replaying, &run);
    assert_int_equal(replayed(&replaying), run.now_ns);
    assert_int_equal(saves(&replaying, made, ANALYZE_FROM_POOL), 40000 - ANALYZE_POOL_NS);
    assert_int_equal(saves(&replaying, freed, ANALYZE_FROM_POOL), 130000);
    replay_end(&replaying, &run);
}

// Non-blocking streams run concurrently; an event makes one wait for the other.
static void events_and_streams_order_the_gpu(void **state)
{
    (void)state;
    for (int with_event = 0; with_event < 2; with_event++) {
        struct timed run;
        struct replaying replaying;
        timed_begin(&run);
        timed_launch(&run, BLOCKING, 1000);
        uint32_t first = timed_sync(&run, BLOCKING, 1000);
        timed_record(&run, BLOCKING, 1);
        if (with_event)
            timed_event_wait(&run, FREE_RUNNING, 1);
        timed_launch(&run, FREE_RUNNING, 500);
        timed_sync(&run, FREE_RUNNING, 500);
        replay_begin(&replaying, &run);
        assert_int_equal(replayed(&replaying), run.now_ns);
        // Without the event, the end of the program still waits for the first stream.
        assert_int_equal(saves(&replaying, first, ANALYZE_REMOVE), with_event ? 40 : 540);
        replay_end(&replaying, &run);
    }
}

// --- Compared with the definitions ---------------------------------------------------------------

// A program is a sequence of operations; a simulation computes the times.
enum { MOST_OPERATIONS = 60 };

enum what { LAUNCH, RECORD, AWAIT, SYNC_CONTEXT, SYNC_STREAM, SYNC_EVENT, WHATS };

struct operation {
    enum what what;
    uint32_t stream, event;
    int64_t own_ns, gpu_ns;
    bool left_out;     // its wait is removed
    int64_t issued_ns; // when its GPU work was issued and done
    int64_t done_ns;
    int64_t waited_ns;
};

static bool is_work(const struct operation *operation)
{
    return operation->what == LAUNCH || operation->what == RECORD || operation->what == AWAIT;
}

static bool is_blocking(uint32_t stream)
{
    return stream != FREE_RUNNING;
}

// The record that an operation refers to: the last one before it.
static int record_of(const struct operation *operations, int index)
{
    for (int i = index - 1; i >= 0; i--) {
        if (operations[i].what == RECORD && operations[i].event == operations[index].event)
            return i;
    }
    return -1;
}

// Examines, one by one, all earlier operations that must be done before it starts.
static int64_t begins(const struct operation *operations, int index)
{
    const struct operation *it = &operations[index];
    int64_t ns = it->issued_ns;
    for (int i = 0; i < index; i++) {
        const struct operation *other = &operations[i];
        bool before = other->stream == it->stream ||
                      (it->stream == LEGACY && is_blocking(other->stream)) ||
                      (other->stream == LEGACY && is_blocking(it->stream));
        if (is_work(other) && before && other->done_ns > ns)
            ns = other->done_ns;
    }
    if (it->what == AWAIT && record_of(operations, index) >= 0 &&
        operations[record_of(operations, index)].done_ns > ns)
        ns = operations[record_of(operations, index)].done_ns;
    return ns;
}

static bool waits_for(const struct operation *operations, int index, int other)
{
    const struct operation *it = &operations[index], *of = &operations[other];
    switch (it->what) {
    case SYNC_CONTEXT: return is_work(of);
    case SYNC_STREAM:
        return is_work(of) &&
               (of->stream == it->stream || (it->stream == LEGACY && is_blocking(of->stream)));
    case SYNC_EVENT: return other == record_of(operations, index);
    default: return false;
    }
}

// Returns when the run ends, which is when host and GPU have finished.
static int64_t simulate(struct operation *operations, int count, int64_t start_ns)
{
    int64_t now_ns = start_ns, end_ns;
    for (int i = 0; i < count; i++) {
        struct operation *it = &operations[i];
        now_ns += it->own_ns;
        int64_t until_ns = now_ns;
        for (int k = 0; k < i && !it->left_out; k++) {
            if (waits_for(operations, i, k) && operations[k].done_ns > until_ns)
                until_ns = operations[k].done_ns;
        }
        it->waited_ns = until_ns - now_ns;
        now_ns = until_ns + 10;
        it->issued_ns = now_ns;
        if (is_work(it))
            it->done_ns = begins(operations, i) + (it->what == LAUNCH ? it->gpu_ns : 0);
    }
    end_ns = now_ns;
    for (int i = 0; i < count; i++) {
        if (is_work(&operations[i]) && operations[i].done_ns > end_ns)
            end_ns = operations[i].done_ns;
    }
    return end_ns;
}

static int make_program(struct operation *operations, uint64_t *seed)
{
    int count = 1 + (int)random_below(seed, MOST_OPERATIONS);
    for (int i = 0; i < count; i++)
        operations[i] = (struct operation){.what = (enum what)random_below(seed, WHATS),
                                           .stream = 1 + random_below(seed, STREAMS),
                                           .event = 1 + random_below(seed, 3),
                                           .own_ns = random_below(seed, 300),
                                           .gpu_ns = 1 + random_below(seed, 500)};
    operations[count - 1].what = SYNC_CONTEXT; // ends after the GPU
    return count;
}

// Records the simulated run. With noise, waits differ from the GPU's times.
static void record(struct timed *run, const struct operation *operations, int count,
                   uint64_t *noise)
{
    timed_begin(run);
    for (int i = 0; i < count; i++) {
        const struct operation *it = &operations[i];
        uint64_t waited_ns = (uint64_t)it->waited_ns;
        if (noise)
            waited_ns = random_below(noise, 3) ? waited_ns + random_below(noise, 200)
                                               : random_below(noise, (uint32_t)waited_ns + 1);
        works(run, it->own_ns);
        switch (it->what) {
        case LAUNCH: timed_launch(run, it->stream, (uint64_t)it->gpu_ns); break;
        case RECORD: timed_record(run, it->stream, it->event); break;
        case AWAIT: timed_event_wait(run, it->stream, it->event); break;
        case SYNC_CONTEXT: timed_sync(run, 0, waited_ns); break;
        case SYNC_STREAM: timed_sync(run, it->stream, waited_ns); break;
        default: timed_event_sync(run, it->event, waited_ns); break;
        }
    }
}

static void replays_are_what_a_slow_simulation_says(void **state)
{
    (void)state;
    uint64_t seed = 7;
    for (int round = 0; round < 2000; round++) {
        struct operation operations[MOST_OPERATIONS];
        struct timed run;
        struct replaying replaying;
        int count = make_program(operations, &seed);
        int64_t end_ns = simulate(operations, count, 1000);
        record(&run, operations, count, NULL);
        replay_begin(&replaying, &run);
        assert_int_equal(replayed(&replaying), end_ns);
        for (int try = 0; try < 4; try++) {
            for (int i = 0; i < count - 1; i++) {
                operations[i].left_out =
                    operations[i].what >= SYNC_CONTEXT && random_below(&seed, 2);
                replaying.actions[i] = operations[i].left_out ? ANALYZE_REMOVE : ANALYZE_KEEP;
            }
            int64_t wanted_ns = simulate(operations, count, 1000), got = replayed(&replaying);
            if (got != wanted_ns)
                fail_msg("round %d: %lld, not %lld", round, (long long)got, (long long)wanted_ns);
        }
        replay_end(&replaying, &run);
    }
}

// --- Properties of every run ---------------------------------------------------------------------

static void what_is_left_out_gains_no_more_than_it_waited(void **state)
{
    (void)state;
    uint64_t seed = 11;
    for (int round = 0; round < 2000; round++) {
        struct operation operations[MOST_OPERATIONS];
        struct timed run;
        struct replaying replaying;
        int count = make_program(operations, &seed);
        simulate(operations, count, 1000);
        record(&run, operations, count, &seed);
        run.model.host.has_gpu_times = round % 4 != 0;
        replay_begin(&replaying, &run);
        int64_t before_ns = replayed(&replaying), waited_ns = 0, most_ns = 0;
        assert_int_equal(before_ns, run.now_ns);
        for (uint32_t i = 0; i < (uint32_t)count; i++) {
            int64_t waited = (int64_t)run.model.host.times.items[i].waited_ns;
            if (operations[i].what < SYNC_CONTEXT)
                continue;
            int64_t saved = saves(&replaying, i, ANALYZE_REMOVE);
            assert_true(saved >= 0 && saved <= waited);
            waited_ns += waited;
            most_ns = saved > most_ns ? saved : most_ns;
        }
        int64_t after_ns = before_ns;
        for (uint32_t i = 0; i < (uint32_t)count; i++) {
            if (operations[i].what >= SYNC_CONTEXT)
                replaying.actions[i] = ANALYZE_REMOVE;
            int64_t now_ns = replayed(&replaying);
            assert_true(now_ns <= after_ns); // removing more is never slower
            after_ns = now_ns;
        }
        assert_true(before_ns - after_ns >= most_ns);
        assert_true(before_ns - after_ns <= waited_ns);
        replay_end(&replaying, &run);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(work_of_the_host_hides_the_gpus_when_nothing_waits),
        cmocka_unit_test(what_a_wait_takes_beyond_the_gpus_time_goes_with_it),
        cmocka_unit_test(a_wait_ends_no_earlier_than_it_did_for_lack_of_gpu_time),
        cmocka_unit_test(gpu_times_are_estimated_from_waits),
        cmocka_unit_test(a_copy_that_is_asynchronous_goes_on_beside_the_host),
        cmocka_unit_test(a_wait_can_be_put_off_to_the_first_use),
        cmocka_unit_test(allocations_and_frees_from_a_pool_take_its_time),
        cmocka_unit_test(events_and_streams_order_the_gpu),
        cmocka_unit_test(replays_are_what_a_slow_simulation_says),
        cmocka_unit_test(what_is_left_out_gains_no_more_than_it_waited),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
