// SPDX-License-Identifier: Apache-2.0
// Shadow memory at element level, with and without counts. Every number of every record, and every
// map, equals that of a reference on the CPU. The accesses are random: objects of all sizes and
// alignments, through roots, through roots that miss their object, through the table, and to parts.
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "inject/shadow/model.h"
#include "shadow_world.h"

static void every_number_is_exact(uint32_t seed, uint32_t facts, int launches, uint32_t root_count)
{
    world_kernel.root_count = root_count;
    enum { LIST = 700, STREAMS = 3 };
    static struct expected expected;
    struct world world;
    struct harness_access *list = harness_pinned(LIST * sizeof(*list));
    struct core_stream *streams[STREAMS] = {
        harness_context->legacy, harness_stream(harness_context, 0),
        harness_stream(harness_context, CU_STREAM_NON_BLOCKING)};
    uint64_t strays = 0;
    world_start(&world, seed, facts);
    for (uint64_t call = 1; call <= (uint64_t)launches; call++) {
        if (random_next(&world.seed) % 3 == 0)
            world_replace(&world);
        struct harness_run run = {.stream = streams[random_next(&world.seed) % STREAMS],
                                  .kernel = &world_kernel,
                                  .call = call,
                                  .facts = facts};
        strays += world_launch(&world, &run, list, 1 + random_next(&world.seed) % LIST);
        assert_true(harness_launch(&run));
        harness_settle();
        world_take(&world, call, 0, &expected);
        world_check(&world, &expected, 1);
    }
    assert_true(strays && harness_noted("accesses to memory that is no known object"));
    world_finish(&world);
}

static void bits_and_bytes_are_exact(void **unused)
{
    (void)unused;
    every_number_is_exact(1, INSTRUMENT_OBJECTS | INSTRUMENT_ELEMENTS, 30, HARNESS_SLOTS);
}

static void counts_are_exact(void **unused)
{
    (void)unused;
    every_number_is_exact(2, INSTRUMENT_OBJECTS | INSTRUMENT_ELEMENTS | INSTRUMENT_COUNTS, 30,
                          HARNESS_SLOTS);
}

static void more_objects_than_one_reduction_takes(void **unused)
{
    (void)unused;
    every_number_is_exact(3, INSTRUMENT_ELEMENTS, 4, HARNESS_ROOTS);
    world_kernel.root_count = HARNESS_SLOTS;
}

static void more_objects_with_counts(void **unused)
{
    (void)unused;
    every_number_is_exact(4, INSTRUMENT_ELEMENTS | INSTRUMENT_COUNTS, 3, HARNESS_ROOTS);
    world_kernel.root_count = HARNESS_SLOTS;
}

// --- Maps ----------------------------------------------------------------------------------------

static int start_with_maps(void **unused)
{
    setenv(EVENT_MAPS_VARIABLE, "1", 1);
    return harness_start(unused);
}

static int finish_with_maps(void **unused)
{
    unsetenv(EVENT_MAPS_VARIABLE);
    return harness_finish(unused);
}

// Checks that the object's maps, in order, agree with the model.
static void check_map(const struct model *model, const struct harness_record *records, size_t count)
{
    unsigned char *came = calloc(model->elements + 8, 1);
    for (size_t i = 0; i < count; i++) {
        struct event_map map;
        memcpy(&map, records[i].bytes, sizeof(map));
        if (map.object != model->object.number)
            continue;
        const unsigned char *bits = records[i].bytes + sizeof(map);
        assert_int_equal(map.elements, model->elements);
        assert_int_equal(map.element_bytes, 1u << model->shift);
        assert_int_equal(map.first % 8, 0);
        bool some = false;
        for (uint64_t k = 0; k < 8 * (records[i].length - sizeof(map)); k++) {
            if (!(bits[k / 8] >> k % 8 & 1))
                continue;
            assert_true(map.first + k < model->elements);
            came[map.first + k] |= map.kind == EVENT_MAP_TOUCHED ? 1 : 2;
            some = true;
        }
        assert_true(some);
    }
    static const unsigned char as[3] = {0, 1, 3};
    for (uint64_t k = 0; k < model->elements; k++)
        assert_int_equal(came[k], as[model->known[k]]);
    free(came);
}

static void maps_hold_for_whole_lives(void **unused)
{
    (void)unused;
    static struct expected expected;
    struct harness_access *list = harness_pinned(2000 * sizeof(*list));
    struct world world;
    world_start(&world, 8, INSTRUMENT_ELEMENTS);
    for (uint64_t call = 1; call <= 6; call++) {
        struct harness_run run = {.stream = harness_context->legacy,
                                  .kernel = &world_kernel,
                                  .call = call,
                                  .facts = INSTRUMENT_ELEMENTS};
        world_launch(&world, &run, list, 2000);
        assert_true(harness_launch(&run));
        MUST(DRIVER(cuCtxSynchronize)());
        world_take(&world, call, 0, &expected);
    }
    // One map follows when its object ends, and the others when the process ends.
    const struct harness_record *records;
    const struct shadow *shadow = atomic_load(&harness_context->shadow);
    harness_end_object(&world.objects[3].object);
    do
        shadow_collect(harness_context);
    while (shadow->ended || shadow->maps);
    size_t count = harness_records(EVENT_MAP, &records);
    assert_true(count > 0);
    check_map(&world.objects[3], records, count);
    harness_settle();
    count = harness_records(EVENT_MAP, &records);
    for (int i = 0; i < MODELS; i++) {
        const struct model *model = world_model(&world, i);
        if (model != &world.objects[3])
            check_map(model, records, count);
    }
    world_finish(&world);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, harness_start, harness_finish)
    const struct CMUnitTest tests[] = {
        TEST(bits_and_bytes_are_exact),
        TEST(counts_are_exact),
        TEST(more_objects_than_one_reduction_takes),
        TEST(more_objects_with_counts),
        cmocka_unit_test_setup_teardown(maps_hold_for_whole_lives, start_with_maps,
                                        finish_with_maps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
