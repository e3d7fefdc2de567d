// SPDX-License-Identifier: Apache-2.0
// Several devices: each has peaks of its own, changes lower the peak of their device, and memory of
// one device is no substitute for memory of another.
#include "models.h"

#include "analyses.h"

enum { KB = 1024 };

static uint32_t allocate_on(struct analyze_model *model, uint32_t device, uint64_t bytes)
{
    const uint32_t object = allocate(model, bytes);
    model->objects.items[object].device = device;
    return object;
}

static const struct analyze_finding *find_one(const struct analysis *analysis,
                                              enum analyze_pattern pattern)
{
    const struct analyze_finding *found = NULL;
    for (size_t i = 0; i < analyze_finding_count(analysis); i++) {
        const struct analyze_finding *finding = analyze_finding(analysis, i);
        if (finding->pattern != pattern)
            continue;
        assert_null(found);
        found = finding;
    }
    return found;
}

static void check_peak(const struct analyze_peak *peak, uint32_t device, unsigned rank,
                       uint64_t bytes)
{
    assert_int_equal(peak->device, device);
    assert_int_equal(peak->rank, rank);
    assert_int_equal(peak->bytes, bytes);
}

// On device 1, 48 KiB and later 32 KiB; on device 2, at another time, 16 KiB.
static void each_device_has_its_own_peaks(void **state)
{
    (void)state;
    for (uint32_t other = 1; other <= 2; other++) {
        struct analyze_model model;
        const struct analyze_peak *peaks;
        model_begin(&model);
        release(&model, allocate_on(&model, 1, 48 * KB));
        release(&model, allocate_on(&model, other, 16 * KB));
        release(&model, allocate_on(&model, 1, 32 * KB));
        struct analysis *analysis = analyze(&model, analyze_default_thresholds());
        const size_t count = analyze_peaks(analysis, &peaks);
        if (other == 1) {
            assert_int_equal(count, 2);
            check_peak(&peaks[0], 0, 1, 48 * KB);
            check_peak(&peaks[1], 0, 2, 32 * KB);
            assert_int_equal(analyze_peak_bytes(analysis), 48 * KB);
        } else {
            assert_int_equal(count, 3);
            check_peak(&peaks[0], 1, 1, 48 * KB);
            check_peak(&peaks[1], 2, 1, 16 * KB);
            check_peak(&peaks[2], 1, 2, 32 * KB);
            assert_int_equal(analyze_peak_bytes(analysis), 64 * KB);
        }
        assert_int_equal(analyze_achievable_peak(analysis), 0);
        analyze_free(analysis);
    }
}

// Memory that another process owns counts there, on whatever device it is.
static void imported_memory_counts_at_its_owner(void **state)
{
    (void)state;
    struct analyze_model model;
    model_begin(&model);
    const uint32_t own = allocate_on(&model, 1, 16 * KB);
    for (uint32_t device = 1; device <= 2; device++) {
        const uint32_t imported = add_object(&model, PROFILE_OBJECT_IMPORTED, 64 * KB);
        model.objects.items[imported].call = add_call(&model, PROFILE_CALL_ALLOC, 0);
        model.objects.items[imported].device = device;
        launch(&model, LEGACY, 1);
        uses(&model, imported, ANALYZE_READ);
        uses(&model, own, ANALYZE_WRITE);
    }
    copy_out(&model, own, 0, 16 * KB);
    release(&model, own);
    struct analysis *analysis = analyze(&model, analyze_default_thresholds());
    assert_int_equal(analyze_peak_bytes(analysis), 16 * KB);
    assert_int_equal(analyze_achievable_peak(analysis), 16 * KB);
    assert_null(find_one(analysis, ANALYZE_MEMORY_LEAK));
    analyze_free(analysis);
}

// While `early` waits for its first use, `brief` comes and goes. What that costs is the peak of
// their device, whether or not another device needs more memory then.
static void a_finding_lowers_the_peak_of_its_device(void **state)
{
    (void)state;
    struct analyze_model model;
    model_begin(&model);
    const uint32_t large = allocate_on(&model, 1, 1024 * KB);
    copy_in(&model, large, 0, 1024 * KB);
    const uint32_t early = allocate_on(&model, 2, 64 * KB);
    const uint32_t brief = allocate_on(&model, 2, 32 * KB);
    copy_in(&model, brief, 0, 32 * KB);
    copy_out(&model, brief, 0, 32 * KB);
    release(&model, brief);
    copy_in(&model, early, 0, 64 * KB);
    copy_out(&model, early, 0, 64 * KB);
    release(&model, early);
    copy_out(&model, large, 0, 1024 * KB);
    release(&model, large);
    struct analysis *analysis = analyze(&model, analyze_default_thresholds());
    const struct analyze_finding *finding = find_one(analysis, ANALYZE_EARLY_ALLOCATION);
    assert_non_null(finding);
    assert_int_equal(finding->object, early + 1);
    assert_int_equal(finding->peak, 1);
    assert_int_equal(finding->peak_bytes, 32 * KB);
    assert_true(finding->worthwhile);
    assert_int_equal(analyze_peak_bytes(analysis), (1024 + 96) * KB);
    assert_int_equal(analyze_achievable_peak(analysis), (1024 + 64) * KB);
    analyze_free(analysis);
}

static void memory_is_reused_on_its_device_only(void **state)
{
    (void)state;
    for (uint32_t device = 1; device <= 2; device++) {
        struct analyze_model model;
        model_begin(&model);
        const uint32_t first = allocate_on(&model, 1, 64 * KB);
        const uint32_t second = allocate_on(&model, device, 64 * KB);
        copy_in(&model, first, 0, 64 * KB);
        copy_out(&model, first, 0, 64 * KB);
        copy_in(&model, second, 0, 64 * KB);
        copy_out(&model, second, 0, 64 * KB);
        release(&model, first);
        release(&model, second);
        struct analysis *analysis = analyze(&model, analyze_default_thresholds());
        const struct analyze_finding *finding = find_one(analysis, ANALYZE_REDUNDANT_ALLOCATION);
        assert_int_equal(finding != NULL, device == 1);
        if (finding)
            assert_int_equal(finding->peak_bytes, 64 * KB);
        assert_int_equal(analyze_achievable_peak(analysis), device == 1 ? 64 * KB : 128 * KB);
        analyze_free(analysis);
    }
}

// --- Random changes, against sums by hand
// ----------------------------------------------------------

enum { CALLS = 24, OBJECTS = 12, CHANGES = 10, DEVICES = 3 };

static int64_t peak_by_hand(const struct analyze_model *model, uint32_t device,
                            const struct analyze_change *changes, size_t count)
{
    int64_t peak = 0;
    for (uint32_t call = 0; call < model->calls.count; call++) {
        int64_t now = 0;
        for (size_t i = 0; i < model->objects.count; i++) {
            const struct analyze_object *object = &model->objects.items[i];
            if (object->device == device && analyze_begin(object) <= call &&
                call < analyze_end(model, object))
                now += (int64_t)object->bytes;
        }
        for (size_t i = 0; i < count; i++)
            if (changes[i].device == device && changes[i].from <= call && call < changes[i].to)
                now += changes[i].more ? (int64_t)changes[i].bytes : -(int64_t)changes[i].bytes;
        peak = now > peak ? now : peak;
    }
    return peak;
}

static void gains_are_sums_over_devices(void **state)
{
    (void)state;
    uint64_t seed = 28, gains = 0;
    for (int round = 0; round < 2000; round++) {
        struct analyze_model model;
        struct analyze_change changes[CHANGES];
        model_begin(&model);
        for (int i = 0; i < CALLS; i++)
            add_call(&model, PROFILE_CALL_SYNC, 0);
        for (int i = 0; i < OBJECTS; i++) {
            const uint32_t at = add_object(&model, PROFILE_OBJECT_DEVICE, 100);
            struct analyze_object *object = &model.objects.items[at];
            object->device = 1 + random_below(&seed, DEVICES);
            object->bytes = 1 + random_below(&seed, 1000);
            object->call = random_below(&seed, CALLS);
            object->end = object->call + 1 + random_below(&seed, CALLS);
            object->has_end = object->end < CALLS;
            object->end = object->has_end ? object->end : ANALYZE_NONE;
        }
        const size_t count = 1 + random_below(&seed, CHANGES);
        for (size_t i = 0; i < count; i++) { // each is a piece of an object's life
            const struct analyze_object *object = &model.objects.items[(i * 7) % OBJECTS];
            const uint32_t from = analyze_begin(object), to = analyze_end(&model, object);
            const uint32_t at = from + random_below(&seed, to - from);
            changes[i] = (struct analyze_change){.from = at,
                                                 .to = at + 1 + random_below(&seed, to - at),
                                                 .bytes = object->bytes,
                                                 .device = object->device};
        }
        uint64_t wanted = 0;
        for (uint32_t d = 1; d <= DEVICES; d++) {
            const int64_t before = peak_by_hand(&model, d, NULL, 0);
            const int64_t after = peak_by_hand(&model, d, changes, count);
            wanted += after < before ? (uint64_t)(before - after) : 0;
        }
        struct analyze_replay *replay = analyze_replay_new(&model);
        assert_non_null(replay);
        assert_int_equal(analyze_replay_gain(replay, changes, count), wanted);
        assert_false(analyze_replay_failed(replay));
        gains += wanted > 0;
        analyze_replay_free(replay);
        analyze_model_fini(&model);
    }
    assert_true(gains > 500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_device_has_its_own_peaks),
        cmocka_unit_test(imported_memory_counts_at_its_owner),
        cmocka_unit_test(a_finding_lowers_the_peak_of_its_device),
        cmocka_unit_test(memory_is_reused_on_its_device_only),
        cmocka_unit_test(gains_are_sums_over_devices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
