// SPDX-License-Identifier: Apache-2.0
// Shadow memory at element level, with and without counts: every number of every record equals what
// a reference on the CPU says of the same accesses, drawn at random: of objects of all sizes and
// alignments, by roots, by roots that stray, by the table, of parts.
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "inject/shadow_inner.h"
#include "shadow_harness.h"

static uint32_t random_next(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static struct context *context;

static int start(void **unused)
{
    (void)unused;
    context = harness_start();
    return 0;
}

static int finish(void **unused)
{
    (void)unused;
    harness_finish();
    unsetenv(EVENT_MAX_SHADOW_VARIABLE);
    return 0;
}

static void settle(void)
{
    MUST(DRIVER(cuCtxSynchronize)());
    shadow_context_end(context);
}

// --- The kernel that is played -------------------------------------------------------------------

// Only the first roots have sites. Sites: for each root, way and size one with a tally; then one
// that every thread passes, and one whose tally counts from one.
enum { SIZES = 6, WAYS = 3, TALLIES = HARNESS_SLOTS * WAYS * SIZES + 1, SITES = TALLIES + 1 };
static const uint32_t sizes[SIZES] = {4, 8, 16, 128, 256, 512};
static struct instrument_root roots[HARNESS_ROOTS] = {
    {.element_bytes = 4}, {.element_bytes = 8}, {.element_bytes = 16}, {.element_bytes = 1}};
static struct instrument_site sites[SITES];
static struct instrument_kernel kernel = {
    .name = "elements",
    .context_bytes =
        sizeof(struct instrument_context) + HARNESS_SLOTS * sizeof(struct instrument_slot),
    .tally_count = TALLIES,
    .tally_row_bytes = (TALLIES * 8 + 127) / 128 * 128,
    .needs_table = true,
    .roots = roots,
    .root_count = HARNESS_SLOTS,
    .sites = sites,
    .site_count = SITES,
};

static void make_sites(void)
{
    for (uint32_t i = 0; i + 1 < TALLIES; i++)
        sites[i] = (struct instrument_site){.root = i / (WAYS * SIZES),
                                            .access = (uint8_t)(i / SIZES % WAYS),
                                            .bytes = sizes[i % SIZES],
                                            .tally = i};
    sites[TALLIES - 1] = (struct instrument_site){
        .root = 1, .access = 1, .bytes = 2, .tally = TALLIES - 1, .tally_from_one = true};
    sites[TALLIES] =
        (struct instrument_site){.root = 0, .access = 0, .bytes = 1, .tally = INSTRUMENT_NONE};
}

// --- The reference -------------------------------------------------------------------------------

struct model { // of one object
    struct object object;
    uint32_t shift; // 0: not used yet
    uint64_t elements;
    unsigned char *known; // by element: how many launches touched it, 2 at most
    uint32_t *counts;     // of the launch
    uint64_t read, written;
};

static struct model *model_make(struct model *model, const struct object *object)
{
    *model = (struct model){.object = *object};
    return model;
}

static void model_free(struct model *model)
{
    free(model->known);
    free(model->counts);
    *model = (struct model){0};
}

static void model_use(struct model *model, uint32_t shift)
{
    if (model->shift)
        return;
    const uint64_t start = model->object.start;
    model->shift = shift;
    model->elements = ((start + model->object.bytes - 1) >> shift) - (start >> shift) + 1;
    model->known = calloc(model->elements, 1);
    model->counts = calloc(model->elements, sizeof(*model->counts));
}

static void model_touch(struct model *model, const struct harness_access *access)
{
    const uint64_t start = model->object.start >> model->shift;
    const uint64_t last = (access->address + access->bytes - 1) >> model->shift;
    for (uint64_t i = access->address >> model->shift; i <= last; i++)
        model->counts[i - start]++;
    model->read += access->reads ? access->bytes : 0;
    model->written += access->writes ? access->bytes : 0;
}

static unsigned bin_of(uint32_t count)
{
    unsigned bin = 0;
    for (unsigned b = 1; b < EVENT_COUNT_BINS; b++) {
        const double from = b % 2 ? 1.5 * (double)(1ull << (b - 1) / 2) : (double)(1ull << b / 2);
        if ((double)count >= from)
            bin = b;
    }
    return bin;
}

static void model_counts(const struct model *model, struct event_counts *record)
{
    unsigned __int128 squares = 0;
    const uint64_t piece = (model->elements + 1023) / 1024;
    uint64_t pieces[1024] = {0};
    for (uint64_t i = 0; i < model->elements; i++) {
        const uint32_t count = model->counts[i];
        if (!count)
            continue;
        record->sum += count;
        squares += (unsigned __int128)count * count;
        if (count > record->most) {
            record->most = count;
            record->most_at = i;
        }
        record->bins[bin_of(count)]++;
        pieces[i / piece] += count;
    }
    record->squares_low = (uint64_t)squares;
    record->squares_high = (uint64_t)(squares >> 64);
    for (int place = 0; place < EVENT_HOT_RANGES; place++) {
        uint64_t best = 0;
        for (uint64_t i = 0; i < 1024; i++)
            best = pieces[i] > pieces[best] ? i : best;
        if (!pieces[best])
            break;
        const uint64_t left = model->elements - best * piece;
        record->hottest[place] =
            (struct event_range){best * piece, left < piece ? left : piece, pieces[best]};
        pieces[best] = 0;
    }
}

// What the launch's records must be; and the launch is one that touched. False: nothing to tell.
static bool model_told(struct model *model, uint64_t call, struct event_access *access,
                       struct event_counts *counts)
{
    *access = (struct event_access){
        .call = call,
        .object = model->object.number,
        .flags =
            (model->read ? EVENT_ACCESS_READ : 0u) | (model->written ? EVENT_ACCESS_WRITTEN : 0u),
        .read_bytes = model->read,
        .written_bytes = model->written,
        .element_bytes = 1u << model->shift,
    };
    *counts = (struct event_counts){.call = call, .object = model->object.number};
    if (!model->shift)
        return false;
    model_counts(model, counts);
    for (uint64_t i = 0; i < model->elements; i++) {
        if (!model->counts[i])
            continue;
        access->elements++;
        access->new_elements += model->known[i] == 0;
        access->shared_elements += model->known[i] == 1;
        model->known[i] += model->known[i] < 2;
        model->counts[i] = 0;
    }
    model->read = model->written = 0;
    return access->flags || access->elements;
}

// --- A world of objects --------------------------------------------------------------------------

enum { OBJECTS = 40, PARTS = 4 };
struct world {
    struct model objects[OBJECTS];
    struct model parts[PARTS]; // of the first object
    uint32_t seed;
    uint32_t facts;
};

static struct model *owner_of(struct world *world, uint64_t address)
{
    for (int i = 0; i < OBJECTS + PARTS; i++) {
        struct model *model = i < PARTS ? &world->parts[i] : &world->objects[i - PARTS];
        if (model->object.number && address >= model->object.start &&
            address - model->object.start < model->object.bytes)
            return model;
    }
    return NULL;
}

static struct object some_object(struct world *world)
{
    const uint32_t kind = random_next(&world->seed) % 8;
    const uint64_t bytes = kind == 0   ? 1 + random_next(&world->seed) % 40
                           : kind == 1 ? 600000 + random_next(&world->seed) % 3000000
                                       : 1 + random_next(&world->seed) % 5000;
    return harness_object(bytes, random_next(&world->seed) % 700);
}

static void world_start(struct world *world, uint32_t seed, uint32_t facts)
{
    *world = (struct world){.seed = seed, .facts = facts};
    make_sites();
    for (int i = 0; i < OBJECTS; i++) {
        const struct object object = i ? some_object(world) : harness_object(20000, 36);
        model_make(&world->objects[i], &object);
    }
    const uint64_t pool = world->objects[0].object.start;
    static const uint64_t places[PARTS][2] = {{0, 256}, {256, 1000}, {3001, 517}, {19990, 10}};
    for (int i = 0; i < PARTS; i++) {
        const struct object part = harness_part(pool + places[i][0], places[i][1]);
        model_make(&world->parts[i], &part);
    }
}

static void world_finish(struct world *world)
{
    for (int i = 0; i < OBJECTS; i++)
        model_free(&world->objects[i]);
    for (int i = 0; i < PARTS; i++)
        model_free(&world->parts[i]);
}

// An access somewhere in the object that lies in one piece, or one that hits nothing.
static struct harness_access some_access(struct world *world, uint32_t near)
{
    for (;;) {
        struct model *model = random_next(&world->seed) % 6 == 0
                                  ? &world->parts[random_next(&world->seed) % PARTS]
                                  : &world->objects[random_next(&world->seed) % OBJECTS];
        if (near < OBJECTS && random_next(&world->seed) % 8)
            model = &world->objects[near];
        const uint32_t bytes = sizes[random_next(&world->seed) % SIZES];
        const uint32_t at = (random_next(&world->seed) << 8 ^ random_next(&world->seed)) %
                            (uint32_t)model->object.bytes;
        struct harness_access access = {
            .address = (model->object.start + at) & ~(uint64_t)(bytes - 1),
            .bytes = bytes,
            .reads = random_next(&world->seed) & 1,
            .tally = -1,
            .flag = -1,
            .root = -1,
        };
        access.writes = !access.reads || (random_next(&world->seed) & 1);
        const bool stray = random_next(&world->seed) % 20 == 0;
        if (stray)
            access.address = 4096 + 512 * (uint64_t)(random_next(&world->seed) % 100);
        const struct model *owner = owner_of(world, access.address);
        bool whole = true;
        for (uint32_t i = 0; i < bytes; i++)
            whole &= owner_of(world, access.address + i) == owner;
        if (whole && (owner || stray)) // what lies beside an object may be another than the world's
            return access;
    }
}

static void expect_access(struct world *world, const struct harness_access *access)
{
    struct model *owner = owner_of(world, access->address);
    if (owner)
        model_touch(owner, access);
}

// One launch of `count` accesses, expected to come out as the model says. Returns the strays.
static uint64_t expect_launch(struct world *world, struct harness_run *run,
                              struct harness_access *list, uint32_t count)
{
    uint64_t strays = 0;
    struct model *of_root[HARNESS_SLOTS];
    uint32_t near[HARNESS_SLOTS];
    for (uint32_t i = HARNESS_SLOTS; i < run->kernel->root_count; i++)
        run->roots[i] = world->objects[i % OBJECTS].object.start;
    for (int i = 0; i < HARNESS_SLOTS; i++) {
        near[i] = random_next(&world->seed) % OBJECTS;
        struct model *model = &world->objects[near[i]];
        run->roots[i] = model->object.start + random_next(&world->seed) % model->object.bytes;
        if (random_next(&world->seed) % 8 == 0)
            run->roots[i] = random_next(&world->seed) % 2 * 77;
        of_root[i] = owner_of(world, run->roots[i]);
        static const uint32_t shifts[HARNESS_SLOTS] = {2, 3, 4, 2};
        if (of_root[i])
            model_use(of_root[i], shifts[i]);
    }
    for (int i = 0; i < OBJECTS + PARTS; i++)
        model_use(i < PARTS ? &world->parts[i] : &world->objects[i - PARTS], 2);
    run->accesses = list;
    run->count = count;
    for (uint32_t i = 0; i < count; i++) {
        const int root = (int)(random_next(&world->seed) % (HARNESS_SLOTS + 1)) - 1;
        list[i] = some_access(world, root < 0 ? OBJECTS : near[root]);
        if (root >= 0) {
            const uint32_t way = !list[i].writes ? 0 : !list[i].reads ? 1 : 2;
            uint32_t size = 0;
            while (sizes[size] != list[i].bytes)
                size++;
            list[i].root = root;
            list[i].tally = (int32_t)((uint32_t)root * WAYS * SIZES + way * SIZES + size);
        }
        expect_access(world, &list[i]);
        strays += !owner_of(world, list[i].address);
    }
    const uint64_t threads = (uint64_t)(count + HARNESS_BLOCK - 1) / HARNESS_BLOCK * HARNESS_BLOCK;
    if (of_root[0])
        of_root[0]->read += threads;
    if (of_root[1])
        of_root[1]->written += 2 * threads;
    return strays;
}

static int by_object(const void *a, const void *b)
{
    const struct event_access *one = a, *other = b;
    return one->object < other->object ? -1 : one->object > other->object;
}

// What one launch must tell, taken from the model.
struct expected {
    size_t count, counted;
    struct event_access accesses[OBJECTS + PARTS];
    struct event_counts counts[OBJECTS + PARTS];
};

static void take_expected(struct world *world, uint64_t call, uint32_t node,
                          struct expected *expected)
{
    expected->count = expected->counted = 0;
    for (int i = 0; i < OBJECTS + PARTS; i++) {
        struct model *model = i < PARTS ? &world->parts[i] : &world->objects[i - PARTS];
        struct event_access *access = &expected->accesses[expected->count];
        struct event_counts *counts = &expected->counts[expected->counted];
        if (!model_told(model, call, access, counts))
            continue;
        access->node = counts->node = node;
        expected->counted += access->elements != 0;
        expected->count++;
    }
    qsort(expected->accesses, expected->count, sizeof(expected->accesses[0]), by_object);
}

// The records that have come are those of these launches, in this order.
static void check_records(const struct world *world, const struct expected *expected,
                          size_t launches)
{
    const struct harness_record *records, *count_records;
    const size_t count = harness_records(EVENT_ACCESS, &records);
    const size_t count_count = harness_records(EVENT_COUNTS, &count_records);
    size_t at = 0, counted_at = 0;
    for (size_t launch = 0; launch < launches; launch++) {
        for (size_t i = 0; i < expected[launch].count; i++) {
            assert_true(at < count);
            assert_memory_equal(records[at].bytes, &expected[launch].accesses[i],
                                sizeof(struct event_access));
            at++;
        }
        const size_t counted = world->facts & INSTRUMENT_COUNTS ? expected[launch].counted : 0;
        for (size_t i = 0; i < counted; i++) {
            struct event_counts came;
            assert_true(counted_at < count_count);
            memcpy(&came, count_records[counted_at++].bytes, sizeof(came));
            const struct event_counts *told = expected[launch].counts;
            while (told->object != came.object)
                assert_true(++told < expected[launch].counts + counted);
            assert_memory_equal(&came, told, sizeof(came));
        }
    }
    assert_int_equal(at, count);
    assert_int_equal(counted_at, count_count);
}

static void replace_object(struct world *world)
{
    struct model *model = &world->objects[1 + random_next(&world->seed) % (OBJECTS - 1)];
    harness_end_object(&model->object);
    model_free(model);
    const struct object object = some_object(world);
    model_make(model, &object);
}

static void every_number_is_exact(uint32_t seed, uint32_t facts, int launches, uint32_t root_count)
{
    kernel.root_count = root_count;
    enum { LIST = 700, STREAMS = 3 };
    static struct expected expected;
    struct world world;
    struct harness_access *list = harness_pinned(LIST * sizeof(*list));
    struct stream *streams[STREAMS] = {context->legacy, harness_stream(context, 0),
                                       harness_stream(context, CU_STREAM_NON_BLOCKING)};
    uint64_t strays = 0;
    world_start(&world, seed, facts);
    for (uint64_t call = 1; call <= (uint64_t)launches; call++) {
        if (random_next(&world.seed) % 3 == 0)
            replace_object(&world);
        struct harness_run run = {.stream = streams[random_next(&world.seed) % STREAMS],
                                  .kernel = &kernel,
                                  .call = call,
                                  .facts = facts};
        strays += expect_launch(&world, &run, list, 1 + random_next(&world.seed) % LIST);
        assert_true(harness_launch(&run));
        settle();
        take_expected(&world, call, 0, &expected);
        check_records(&world, &expected, 1);
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
    kernel.root_count = HARNESS_SLOTS;
}

static void more_objects_with_counts(void **unused)
{
    (void)unused;
    every_number_is_exact(4, INSTRUMENT_ELEMENTS | INSTRUMENT_COUNTS, 3, HARNESS_ROOTS);
    kernel.root_count = HARNESS_SLOTS;
}

// --- Without room --------------------------------------------------------------------------------

// A launch that touches every 64th byte of the object, by its one root.
static bool launch_strided(const struct object *object, uint64_t call, struct harness_access *list,
                           uint32_t count, uint32_t facts)
{
    static struct instrument_site one = {.root = 0, .access = 1, .bytes = 4, .tally = 0};
    static struct instrument_kernel small = {
        .name = "small",
        .context_bytes = sizeof(struct instrument_context) + sizeof(struct instrument_slot),
        .tally_count = 1,
        .tally_row_bytes = 128,
        .roots = roots,
        .root_count = 1,
        .sites = &one,
        .site_count = 1,
    };
    for (uint32_t i = 0; i < count; i++)
        list[i] = (struct harness_access){
            .address = object->start + 64 * (uint64_t)i, .bytes = 4, .writes = 1, .flag = -1};
    struct harness_run run = {.stream = context->legacy,
                              .kernel = &small,
                              .accesses = list,
                              .count = count,
                              .call = call,
                              .facts = facts,
                              .roots = {object->start + 4}};
    const bool watched = harness_launch(&run);
    settle();
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
    shadow_of(context)->device.limit_bytes = 150 << 10; // of which bits in the size wanted take 96
    const struct object one = harness_object(BYTES, 0), other = harness_object(BYTES, 0);
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
    // Counters of the first are as large as itself.
    assert_false(launch_strided(&one, 3, list, COUNT, INSTRUMENT_ELEMENTS | INSTRUMENT_COUNTS));
    assert_true(harness_noted("kernel small: 1 launches ran unwatched"));
    // With its end there is room again.
    harness_end_object(&one);
    settle();
    const struct object third = harness_object(BYTES, 0);
    assert_true(launch_strided(&third, 4, list, COUNT, INSTRUMENT_ELEMENTS));
    assert_int_equal(only_access().element_bytes, 4);
}

static void launches_without_room_run_unwatched(void **unused)
{
    (void)unused;
    struct harness_access *list = harness_pinned(10 * sizeof(*list));
    setenv(EVENT_MAX_SHADOW_VARIABLE, "17000", 1);
    const struct object small = harness_object(1000, 0), large = harness_object(64 << 20, 0);
    assert_false(
        launch_strided(&small, 1, list, 10, INSTRUMENT_ELEMENTS)); // tallies alone are 16 KiB
    unsetenv(EVENT_MAX_SHADOW_VARIABLE);
    shadow_of(context)->device.limit_bytes = 24 << 10;
    assert_true(launch_strided(&small, 2, list, 10, INSTRUMENT_ELEMENTS));
    assert_int_equal(only_access().elements, 10);
    assert_false(launch_strided(&large, 3, list, 10, INSTRUMENT_ELEMENTS));
    assert_true(harness_noted("kernel small: 1 launches ran unwatched"));
}

// --- Streams at once -----------------------------------------------------------------------------

struct worker {
    pthread_t thread;
    uint32_t number, seed;
    struct stream *stream;
    const struct object *objects;
    struct harness_access *list;
};

enum { WORKERS = 4, EACH = 12, WORK = 400, SHARED = 3, SHARED_BYTES = 300000 };

static void *work(void *about)
{
    struct worker *worker = about;
    MUST(DRIVER(cuCtxSetCurrent)(context->handle));
    inject_thread.depth = 1;
    for (uint32_t i = 0; i < EACH; i++) {
        struct harness_access *list = worker->list + (size_t)i * WORK;
        for (uint32_t k = 0; k < WORK; k++) {
            const struct object *object = &worker->objects[random_next(&worker->seed) % SHARED];
            list[k] = (struct harness_access){
                .address = object->start + 4 * (uint64_t)(random_next(&worker->seed) % 9000),
                .bytes = 4,
                .reads = 1,
                .root = -1,
                .tally = -1,
                .flag = -1};
        }
        struct harness_run run = {.stream = worker->stream,
                                  .kernel = &kernel,
                                  .accesses = list,
                                  .count = WORK,
                                  .call = 1 + worker->number * EACH + i,
                                  .facts = INSTRUMENT_ELEMENTS};
        assert_true(harness_launch(&run));
        if (i % 4 == 0)
            shadow_collect(context);
    }
    return NULL;
}

static void streams_at_once_lose_nothing(void **unused)
{
    (void)unused;
    struct object objects[SHARED];
    struct worker workers[WORKERS];
    uint64_t fresh = 0, shared = 0, known = 0, several = 0;
    make_sites();
    kernel.root_count = HARNESS_SLOTS;
    for (int i = 0; i < SHARED; i++)
        objects[i] = harness_object(SHARED_BYTES, 0);
    for (uint32_t i = 0; i < WORKERS; i++) {
        workers[i] =
            (struct worker){.number = i,
                            .seed = 77 + i,
                            .stream = harness_stream(context, CU_STREAM_NON_BLOCKING),
                            .objects = objects,
                            .list = harness_pinned(EACH * WORK * sizeof(struct harness_access))};
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (uint32_t i = 0; i < WORKERS; i++)
        pthread_join(workers[i].thread, NULL);
    settle();
    const struct harness_record *records;
    const size_t count = harness_records(EVENT_ACCESS, &records);
    unsigned char *touched = calloc(SHARED, SHARED_BYTES / 4); // by how many launches, 2 at most
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

// --- Graphs --------------------------------------------------------------------------------------

enum { NODES = 3, LIST = 300 };

struct node {
    struct harness_run run;
    struct harness_params params;
    struct harness_access *list;
    struct shadow_ticket *ticket;
    uint64_t strays;
};

// The nodes run one after the other; what their roots point into is random.
static CUgraphExec make_graph(struct world *world, struct node *nodes)
{
    CUgraph graph;
    CUgraphExec exec;
    CUgraphNode last = NULL;
    MUST(DRIVER(cuGraphCreate)(&graph, 0));
    for (int i = 0; i < NODES; i++) {
        struct node *node = &nodes[i];
        node->list = harness_pinned(LIST * sizeof(*node->list));
        node->run = (struct harness_run){
            .stream = context->legacy, .kernel = &kernel, .facts = world->facts};
        expect_launch(world, &node->run, node->list, LIST); // for roots
        for (int k = 0; k < OBJECTS + PARTS; k++) {
            struct model *model = k < PARTS ? &world->parts[k] : &world->objects[k - PARTS];
            memset(model->counts, 0, model->elements * sizeof(*model->counts));
            model->read = model->written = 0;
        }
        harness_fill(&node->run, &node->params);
        struct shadow_launch launch = {.stream = node->run.stream,
                                       .kernel = &kernel,
                                       .kernel_number = 1,
                                       .roots = node->run.roots,
                                       .grid = {(LIST + HARNESS_BLOCK - 1) / HARNESS_BLOCK, 1, 1},
                                       .block = {HARNESS_BLOCK, 1, 1},
                                       .facts = world->facts};
        node->ticket = shadow_begin_node(&launch, node->params.context);
        assert_non_null(node->ticket);
        CUDA_KERNEL_NODE_PARAMS params = {
            .func = harness_function(world->facts),
            .gridDimX = launch.grid[0],
            .gridDimY = 1,
            .gridDimZ = 1,
            .blockDimX = HARNESS_BLOCK,
            .blockDimY = 1,
            .blockDimZ = 1,
            .kernelParams = node->params.pointers,
        };
        CUgraphNode added;
        MUST(DRIVER(cuGraphAddKernelNode_v2)(&added, graph, &last, last ? 1 : 0, &params));
        last = added;
    }
    MUST(DRIVER(cuGraphInstantiateWithFlags)(&exec, graph, 0));
    MUST(DRIVER(cuGraphDestroy)(graph));
    return exec;
}

// Other accesses of the same roots, which the graph's node finds where it looks for them.
static void renew_list(struct world *world, struct node *node)
{
    const struct harness_run before = node->run;
    struct model *of_root[HARNESS_SLOTS];
    for (int i = 0; i < HARNESS_SLOTS; i++)
        of_root[i] = owner_of(world, before.roots[i]);
    for (int i = 0; i < OBJECTS + PARTS; i++)
        model_use(i < PARTS ? &world->parts[i] : &world->objects[i - PARTS], 2);
    for (uint32_t i = 0; i < LIST; i++) {
        const int root = (int)(random_next(&world->seed) % (HARNESS_SLOTS + 1)) - 1;
        node->list[i] = some_access(world, OBJECTS);
        struct harness_access *access = &node->list[i];
        if (root >= 0) {
            const uint32_t way = !access->writes ? 0 : !access->reads ? 1 : 2;
            uint32_t size = 0;
            while (sizes[size] != access->bytes)
                size++;
            access->root = root;
            access->tally = (int32_t)((uint32_t)root * WAYS * SIZES + way * SIZES + size);
        }
        expect_access(world, access);
    }
    const uint64_t threads = (LIST + HARNESS_BLOCK - 1) / HARNESS_BLOCK * HARNESS_BLOCK;
    if (of_root[0])
        of_root[0]->read += threads;
    if (of_root[1])
        of_root[1]->written += 2 * threads;
}

// Another object of the same size in its place, as after it was freed and made again; its elements
// are as large, since the same root came first.
static void take_place(struct model *model, enum objects_layer layer)
{
    struct object taken, object = model->object;
    const uint32_t shift = model->shift;
    assert_true(objects_take(&state.objects, layer, object.start, &taken));
    shadow_object_ended(object.number);
    object.number = 0;
    assert_true(objects_add_new(&state.objects, layer, &object));
    model_free(model);
    model_make(model, &object);
    model_use(model, shift);
}

static void replays_are_told_each(uint32_t seed, uint32_t facts)
{
    kernel.root_count = HARNESS_SLOTS;
    enum { REPLAYS = 10 };
    static struct expected expected[NODES];
    static struct node nodes[NODES];
    struct world world;
    struct stream *streams[2] = {harness_stream(context, 0), context->legacy};
    world_start(&world, seed, facts);
    CUgraphExec exec = make_graph(&world, nodes);
    struct shadow_ticket *tickets[NODES];
    uint32_t numbers[NODES];
    for (int i = 0; i < NODES; i++) {
        tickets[i] = nodes[i].ticket;
        numbers[i] = 1 + 2 * (uint32_t)i;
    }
    for (uint64_t call = 1; call <= REPLAYS; call++) {
        struct object more = harness_object(1000 * call, 0);
        if (call == 5) { // others take the places of all objects
            for (int i = 0; i < OBJECTS; i++)
                take_place(&world.objects[i], OBJECTS_MEMORY);
            for (int i = 0; i < PARTS; i++)
                take_place(&world.parts[i], OBJECTS_PARTS);
        }
        for (int i = 0; i < NODES; i++) {
            renew_list(&world, &nodes[i]);
            take_expected(&world, call, numbers[i], &expected[i]);
        }
        struct stream *stream = streams[call % 2];
        shadow_replay(stream, tickets, NODES);
        const bool launched = call % 4 != 0;
        if (launched)
            MUST(DRIVER(cuGraphLaunch)(exec, stream->handle));
        shadow_replayed(stream, tickets, numbers, NODES, call, launched);
        if (!launched) { // tried again
            shadow_replay(stream, tickets, NODES);
            MUST(DRIVER(cuGraphLaunch)(exec, stream->handle));
            shadow_replayed(stream, tickets, numbers, NODES, call, true);
        }
        settle();
        check_records(&world, expected, NODES);
        harness_end_object(&more);
    }
    MUST(DRIVER(cuGraphExecDestroy)(exec));
    for (int i = 0; i < NODES; i++)
        shadow_release(tickets[i]);
    world_finish(&world);
}

static void replays_are_told_each_time(void **unused)
{
    (void)unused;
    replays_are_told_each(5, INSTRUMENT_OBJECTS | INSTRUMENT_ELEMENTS);
}

static void replays_are_told_with_counts(void **unused)
{
    (void)unused;
    replays_are_told_each(6, INSTRUMENT_OBJECTS | INSTRUMENT_ELEMENTS | INSTRUMENT_COUNTS);
}

// --- Maps ----------------------------------------------------------------------------------------

static int start_with_maps(void **unused)
{
    setenv(EVENT_MAPS_VARIABLE, "1", 1);
    const int result = start(unused);
    return result;
}

static int finish_with_maps(void **unused)
{
    unsetenv(EVENT_MAPS_VARIABLE);
    return finish(unused);
}

// Maps of the object that have come, one after the other, are what the model knows.
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
        struct harness_run run = {.stream = context->legacy,
                                  .kernel = &kernel,
                                  .call = call,
                                  .facts = INSTRUMENT_ELEMENTS};
        expect_launch(&world, &run, list, 2000);
        assert_true(harness_launch(&run));
        MUST(DRIVER(cuCtxSynchronize)());
        take_expected(&world, call, 0, &expected);
    }
    const struct harness_record *records;
    harness_end_object(&world.objects[3].object); // and the others with all
    while (!harness_records(EVENT_MAP, &records))
        shadow_collect(context);
    size_t count = harness_records(EVENT_MAP, &records);
    settle();
    const size_t more = harness_records(EVENT_MAP, &records);
    (void)count;
    for (int i = 0; i < OBJECTS + PARTS; i++) {
        const struct model *model = i < PARTS ? &world.parts[i] : &world.objects[i - PARTS];
        if (model != &world.objects[3])
            check_map(model, records, more);
    }
    world_finish(&world);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
#define TEST(name) cmocka_unit_test_setup_teardown(name, start, finish)
    const struct CMUnitTest tests[] = {
        TEST(bits_and_bytes_are_exact),
        TEST(counts_are_exact),
        TEST(more_objects_than_one_reduction_takes),
        TEST(more_objects_with_counts),
        TEST(elements_get_larger_where_memory_is_short),
        TEST(launches_without_room_run_unwatched),
        TEST(streams_at_once_lose_nothing),
        TEST(replays_are_told_each_time),
        TEST(replays_are_told_with_counts),
        cmocka_unit_test_setup_teardown(maps_hold_for_whole_lives, start_with_maps,
                                        finish_with_maps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
