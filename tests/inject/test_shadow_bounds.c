// SPDX-License-Identifier: Apache-2.0
// Shadow memory at its limits: elements that get larger, launches without memory for marks, and
// launches on many streams at once, whose sums are exact.
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "inject/shadow/memory.h"
#include "inject/shadow/model.h"
#include "shadow_world.h"

// --- Without memory ------------------------------------------------------------------------------

// Launches a kernel that touches every 64th byte of the object, through its only root.
static bool launch_strided(const struct core_object *object, uint64_t call,
                           struct harness_access *list, uint32_t count, uint32_t facts)
{
    static struct instrument_site one = {.root = 0, .access = 1, .bytes = 4, .tally = 0};
    static struct instrument_kernel small = {
        .name = "small",
        .left_flag = INSTRUMENT_NONE,
        .context_bytes = sizeof(struct instrument_context) + sizeof(struct instrument_view),
        .tally_count = 1,
        .tally_row_bytes = 128,
        .roots = world_roots,
        .root_count = 1,
        .sites = &one,
        .site_count = 1,
    };
    for (uint32_t i = 0; i < count; i++)
        list[i] = (struct harness_access){
            .address = object->start + 64 * (uint64_t)i, .bytes = 4, .writes = 1, .flag = -1};
    struct harness_run run = {.stream = harness_context->legacy,
                              .kernel = &small,
                              .accesses = list,
                              .count = count,
                              .call = call,
                              .facts = facts,
                              .roots = {object->start + 4}};
    const bool watched = harness_launch(&run);
    harness_settle();
    return watched;
}

static struct event_access only_access(void)
{
    const struct harness_record *records;
    struct event_access access;
    assert_int_equal(harness_records(EVENT_ACCESS, &records), 1);
    memcpy(&access, records[0].bytes, sizeof(access));
    return access;
}

static void elements_get_larger_where_memory_is_short(void **unused)
{
    (void)unused;
    enum { BYTES = 1 << 20, COUNT = 1000 };
    struct harness_access *list = harness_pinned(COUNT * sizeof(*list));
    shadow_of(harness_context)->device.limit_bytes =
        150 << 10; // bits for elements of the wanted size take 96 KiB of it
    const struct core_object one = harness_object(BYTES, 0), other = harness_object(BYTES, 0);
    assert_true(launch_strided(&one, 1, list, COUNT, INSTRUMENT_ELEMENTS));
    struct event_access access = only_access();
    assert_int_equal(access.element_bytes, 4);
    assert_int_equal(access.elements, COUNT);
    assert_true(launch_strided(&other, 2, list, COUNT, INSTRUMENT_ELEMENTS));
    access = only_access();
    assert_int_equal(access.object, other.number);
    assert_int_equal(access.element_bytes, 32);
    assert_int_equal(access.elements, COUNT);
    assert_int_equal(access.new_elements, COUNT);
    assert_int_equal(access.written_bytes, 4 * COUNT);
    char text[96];
    snprintf(text, sizeof(text), "object %u: its 1048576 bytes are watched in elements of 32 bytes",
             (unsigned)other.number);
    assert_true(harness_noted(text));
    assert_false(harness_noted("ran unwatched"));
    // Counters of the first object are as large as the object.
    assert_false(launch_strided(&one, 3, list, COUNT, INSTRUMENT_ELEMENTS | INSTRUMENT_COUNTS));
    assert_true(harness_noted("kernel small: 1 launches ran unwatched"));
    // When the object ends, its memory is released.
    harness_end_object(&one);
    harness_settle();
    const struct core_object third = harness_object(BYTES, 0);
    assert_true(launch_strided(&third, 4, list, COUNT, INSTRUMENT_ELEMENTS));
    assert_int_equal(only_access().element_bytes, 4);
}

static void launches_without_room_run_unwatched(void **unused)
{
    (void)unused;
    struct harness_access *list = harness_pinned(10 * sizeof(*list));
    setenv(EVENT_MAX_SHADOW_VARIABLE, "17000", 1);
    const struct core_object small = harness_object(1000, 0), large = harness_object(64 << 20, 0);
    assert_false(
        launch_strided(&small, 1, list, 10, INSTRUMENT_ELEMENTS)); // tallies alone take 16 KiB
    unsetenv(EVENT_MAX_SHADOW_VARIABLE);
    shadow_of(harness_context)->device.limit_bytes = 24 << 10;
    assert_true(launch_strided(&small, 2, list, 10, INSTRUMENT_ELEMENTS));
    assert_int_equal(only_access().elements, 10);
    assert_false(launch_strided(&large, 3, list, 10, INSTRUMENT_ELEMENTS));
    assert_true(harness_noted("kernel small: 1 launches ran unwatched"));
}

// --- Concurrent streams --------------------------------------------------------------------------

struct worker {
    pthread_t thread;
    uint32_t number, seed;
    struct core_stream *stream;
    const struct core_object *objects;
    struct harness_access *list;
};

enum { WORKERS = 4, EACH = 12, WORK = 400, SHARED = 3, SHARED_BYTES = 300000 };

static void *work(void *about)
{
    struct worker *worker = about;
    MUST(DRIVER(cuCtxSetCurrent)(harness_context->handle));
    core_thread.depth = 1;
    for (uint32_t i = 0; i < EACH; i++) {
        struct harness_access *list = worker->list + (size_t)i * WORK;
        for (uint32_t k = 0; k < WORK; k++) {
            const struct core_object *object =
                &worker->objects[random_next(&worker->seed) % SHARED];
            list[k] = (struct harness_access){
                .address = object->start + 4 * (uint64_t)(random_next(&worker->seed) % 9000),
                .bytes = 4,
                .reads = 1,
                .root = -1,
                .tally = -1,
                .flag = -1};
        }
        struct harness_run run = {.stream = worker->stream,
                                  .kernel = &world_kernel,
                                  .accesses = list,
                                  .count = WORK,
                                  .call = 1 + worker->number * EACH + i,
                                  .facts = INSTRUMENT_ELEMENTS};
        assert_true(harness_launch(&run));
        if (i % 4 == 0)
            shadow_collect(harness_context);
    }
    return NULL;
}

static void streams_at_once_lose_nothing(void **unused)
{
    (void)unused;
    struct core_object objects[SHARED];
    struct worker workers[WORKERS];
    uint64_t fresh = 0, shared = 0, known = 0, several = 0;
    make_sites();
    world_kernel.root_count = HARNESS_SLOTS;
    for (int i = 0; i < SHARED; i++)
        objects[i] = harness_object(SHARED_BYTES, 0);
    for (uint32_t i = 0; i < WORKERS; i++) {
        workers[i] =
            (struct worker){.number = i,
                            .seed = 77 + i,
                            .stream = harness_stream(harness_context, CU_STREAM_NON_BLOCKING),
                            .objects = objects,
                            .list = harness_pinned(EACH * WORK * sizeof(struct harness_access))};
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (uint32_t i = 0; i < WORKERS; i++)
        pthread_join(workers[i].thread, NULL);
    harness_settle();
    const struct harness_record *records;
    const size_t count = harness_records(EVENT_ACCESS, &records);
    // How many launches touched each element, at most 2.
    unsigned char *touched = calloc(SHARED, SHARED_BYTES / 4);
    for (uint32_t launch = 0; launch < WORKERS * EACH; launch++) {
        const struct harness_access *list =
            workers[launch / EACH].list + (size_t)(launch % EACH) * WORK;
        for (int i = 0; i < SHARED; i++) {
            unsigned char *own = calloc(SHARED_BYTES / 4, 1);
            uint64_t elements = 0, bytes = 0;
            for (uint32_t k = 0; k < WORK; k++) {
                const uint64_t at = (list[k].address - objects[i].start) / 4;
                if (list[k].address < objects[i].start || at >= SHARED_BYTES / 4)
                    continue;
                bytes += 4;
                elements += !own[at];
                own[at] = 1;
            }
            for (uint64_t k = 0; k < SHARED_BYTES / 4; k++) {
                unsigned char *by = &touched[(size_t)i * (SHARED_BYTES / 4) + k];
                known += own[k] && *by == 0;
                several += own[k] && *by == 1;
                *by += own[k] && *by < 2;
            }
            free(own);
            size_t found = 0;
            for (size_t k = 0; k < count; k++) {
                struct event_access access;
                memcpy(&access, records[k].bytes, sizeof(access));
                if (access.call != launch + 1 || access.object != objects[i].number)
                    continue;
                found++;
                assert_int_equal(access.elements, elements);
                assert_int_equal(access.read_bytes, bytes);
                fresh += access.new_elements;
                shared += access.shared_elements;
            }
            assert_int_equal(found, 1);
        }
    }
    assert_int_equal(fresh, known);
    assert_int_equal(shared, several);
    free(touched);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, harness_start, harness_finish)
    const struct CMUnitTest tests[] = {
        TEST(elements_get_larger_where_memory_is_short),
        TEST(launches_without_room_run_unwatched),
        TEST(streams_at_once_lose_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
