// SPDX-License-Identifier: Apache-2.0
// Shadow memory at object level: every access of a launch is recorded exactly once, through flags,
// through tables and without either, from many streams and threads, without waiting and in little
// memory.
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "inject/shadow/graph.h"
#include "inject/shadow/memory.h"
#include "inject/shadow/model.h"
#include "shadow_harness.h"

static void synchronize(void)
{
    MUST(DRIVER(cuCtxSynchronize)());
}

static uint64_t device_bytes(void)
{
    return atomic_load(&harness_context->shadow)->device.slab_bytes;
}

// --- Expectations --------------------------------------------------------------------------------

// Expected and actual accesses, as sorted lists of call, object and flags.
struct expected {
    uint64_t call, object;
    uint32_t flags;
};

static int by_call(const void *a, const void *b)
{
    const struct expected *one = a, *other = b;
    if (one->call != other->call)
        return one->call < other->call ? -1 : 1;
    return one->object < other->object ? -1 : one->object > other->object;
}

static BASE_ARRAY(struct expected) wanted;
static bool calls_have_nodes; // expected calls are 10 * call + node

static void expect(uint64_t call, uint64_t object, uint32_t flags)
{
    if (!flags)
        return;
    for (size_t i = 0; i < wanted.count; i++) {
        if (wanted.items[i].call == call && wanted.items[i].object == object) {
            wanted.items[i].flags |= flags;
            return;
        }
    }
    *base_array_push(&wanted) = (struct expected){call, object, flags};
}

static void check_accesses(void)
{
    const struct harness_record *records;
    const size_t count = harness_records(EVENT_ACCESS, &records);
    struct expected *came = calloc(count + 1, sizeof(*came));
    for (size_t i = 0; i < count; i++) {
        struct event_access access;
        assert_int_equal(records[i].length, sizeof(access));
        memcpy(&access, records[i].bytes, sizeof(access));
        const uint64_t call = calls_have_nodes ? access.call * 10 + access.node : access.call;
        came[i] = (struct expected){call, access.object, access.flags};
        assert_true(access.elements == EVENT_UNKNOWN && access.read_bytes == EVENT_UNKNOWN &&
                    access.written_bytes == EVENT_UNKNOWN && !access.element_bytes);
    }
    if (count)
        qsort(came, count, sizeof(*came), by_call);
    if (wanted.count)
        qsort(wanted.items, wanted.count, sizeof(*came), by_call);
    assert_int_equal(count, wanted.count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(came[i].call, wanted.items[i].call);
        assert_int_equal(came[i].object, wanted.items[i].object);
        assert_int_equal(came[i].flags, wanted.items[i].flags);
    }
    free(came);
    base_array_fini(&wanted);
}

// --- Without results from the device -------------------------------------------------------------

static void uses_that_always_hold_need_no_memory(void **unused)
{
    (void)unused;
    struct core_object one = harness_object(1000, 0), other = harness_object(64, 0);
    struct instrument_root roots[3] = {{0}};
    struct instrument_use uses[] = {{.root = 0, .flag = INSTRUMENT_NONE, .read = true},
                                    {.root = 1, .flag = INSTRUMENT_NONE, .written = true},
                                    {.root = 2, .flag = INSTRUMENT_NONE, .written = true},
                                    {.root = 2, .flag = INSTRUMENT_NONE, .read = true}};
    const struct instrument_kernel kernel = {
        .name = "settled",
        .context_bytes =
            sizeof(struct instrument_context) + HARNESS_ROOTS * sizeof(struct instrument_bounds),
        .left_flag = INSTRUMENT_NONE,
        .roots = roots,
        .root_count = 3,
        .uses = uses,
        .use_count = 4,
    };
    struct harness_run run = {.stream = harness_context->legacy,
                              .kernel = &kernel,
                              .roots = {one.start, one.start + 999, other.start + 64},
                              .facts = INSTRUMENT_OBJECTS,
                              .accesses = NULL,
                              .count = 1};
    unsigned char
        words[sizeof(struct instrument_context) + HARNESS_ROOTS * sizeof(struct instrument_bounds)];
    struct shadow_launch launch = {.stream = run.stream,
                                   .kernel = &kernel,
                                   .kernel_number = 1,
                                   .given = run.roots,
                                   .roots = run.roots,
                                   .grid = {1, 1, 1},
                                   .block = {1, 1, 1},
                                   .facts = INSTRUMENT_OBJECTS};
    for (uint64_t call = 1; call <= 200; call++) {
        struct shadow_ticket *ticket = shadow_begin(&launch, words);
        assert_non_null(ticket);
        const bool launched = call % 3 != 0;
        shadow_launched(ticket, call, launched);
        if (launched) // the third root points beyond its object
            expect(call, one.number, EVENT_ACCESS_READ | EVENT_ACCESS_WRITTEN);
    }
    assert_int_equal(device_bytes(), 0);
    harness_settle();
    check_accesses();
}

// --- Flags ---------------------------------------------------------------------------------------

static struct instrument_root four_roots[4];
static struct instrument_use flag_uses[HARNESS_FLAGS];
static const struct instrument_kernel flag_kernel = {
    .name = "flags",
    .context_bytes =
        sizeof(struct instrument_context) + HARNESS_ROOTS * sizeof(struct instrument_bounds),
    .left_flag = INSTRUMENT_NONE,
    .flag_count = HARNESS_FLAGS,
    .flag_row_bytes = 2048 / INSTRUMENT_FLAG_ROWS,
    .roots = four_roots,
    .root_count = 4,
    .uses = flag_uses,
    .use_count = HARNESS_FLAGS,
};

static void make_uses(void)
{
    for (uint32_t i = 0; i < HARNESS_FLAGS; i++)
        flag_uses[i] = (struct instrument_use){
            .root = i % 4, .flag = i, .read = i % 3 != 1, .written = i % 3 != 0};
}

// Launches a kernel that sets some flags, each in some row.
static void launch_flags(struct core_stream *stream, uint64_t call,
                         const struct core_object objects[4], struct harness_access *list,
                         uint32_t *seed, bool expects)
{
    enum { LIST = 8 };
    struct harness_run run = {.stream = stream,
                              .kernel = &flag_kernel,
                              .accesses = list,
                              .count = random_next(seed) % (LIST + 1),
                              .call = call,
                              .facts = INSTRUMENT_OBJECTS};
    const struct core_object *of[4];
    for (int i = 0; i < 4; i++) {
        of[i] = &objects[random_next(seed) % 4];
        run.roots[i] = of[i]->start + random_next(seed) % of[i]->bytes;
    }
    for (uint32_t i = 0; i < run.count; i++) {
        const uint32_t flag = random_next(seed) % HARNESS_FLAGS;
        list[i] = (struct harness_access){.flag = (int32_t)flag, .tally = -1, .root = 0};
        const struct instrument_use *use = &flag_uses[flag];
        if (expects)
            expect(call, of[use->root]->number,
                   (use->read ? EVENT_ACCESS_READ : 0u) |
                       (use->written ? EVENT_ACCESS_WRITTEN : 0u));
    }
    if (!run.count) { // a grid must not be empty
        list[0] = (struct harness_access){.flag = -1, .tally = -1, .root = 0};
        run.count = 1;
    }
    assert_true(harness_launch(&run));
}

static void flags_come_back_from_every_launch(void **unused)
{
    (void)unused;
    enum { LAUNCHES = 3000, STREAMS = 3 };
    uint32_t seed = 1;
    struct core_object objects[4];
    struct core_stream *streams[STREAMS] = {
        harness_context->legacy, harness_stream(harness_context, 0),
        harness_stream(harness_context, CU_STREAM_NON_BLOCKING)};
    struct harness_access *lists = harness_pinned(LAUNCHES * 8 * sizeof(*lists));
    make_uses();
    for (int i = 0; i < 4; i++)
        objects[i] = harness_object(100 + 1000 * (uint64_t)i, 0);
    for (uint64_t call = 1; call <= LAUNCHES; call++) {
        launch_flags(streams[random_next(&seed) % STREAMS], call, objects, lists + (call - 1) * 8,
                     &seed, true);
        if (random_next(&seed) % 64 == 0)
            shadow_collect(harness_context);
        if (random_next(&seed) % 256 == 0)
            synchronize();
    }
    harness_settle();
    check_accesses();
    assert_true(device_bytes() <= 2 << 20);
}

static void what_a_destroyed_stream_left_comes_back(void **unused)
{
    (void)unused;
    uint32_t seed = 7;
    struct core_object objects[4];
    struct harness_access *lists = harness_pinned(64 * 8 * sizeof(*lists));
    make_uses();
    for (int i = 0; i < 4; i++)
        objects[i] = harness_object(400, 0);
    for (uint64_t call = 1; call <= 64; call++) {
        struct core_stream *stream = harness_stream(harness_context, 0);
        launch_flags(stream, call, objects, lists + (call - 1) * 8, &seed, true);
        shadow_stream_leave(stream);
        const CUstream handle = stream->handle;
        stream->number = 0; // marks the stream as destroyed
        MUST(DRIVER(cuStreamDestroy_v2)(handle));
    }
    harness_settle();
    check_accesses();
}

// --- Never waiting -------------------------------------------------------------------------------

static void wait_for(void *flag)
{
    while (!atomic_load((_Atomic bool *)flag))
        sched_yield();
}

static void a_stream_that_stands_still_holds_nobody_up(void **unused)
{
    (void)unused;
    enum { LAUNCHES = 1000 };
    static _Atomic bool go;
    struct core_object objects[4];
    struct core_stream *stream = harness_stream(harness_context, 0);
    struct harness_access *list = harness_pinned(8 * sizeof(*list));
    make_uses();
    for (int i = 0; i < 4; i++)
        objects[i] = harness_object(400, 0);
    struct harness_run run = {.stream = stream,
                              .kernel = &flag_kernel,
                              .accesses = list,
                              .count = 1,
                              .facts = INSTRUMENT_OBJECTS,
                              .roots = {objects[0].start}};
    list[0] = (struct harness_access){.flag = 0, .tally = -1, .root = 0};
    // The driver loads code only while nothing runs.
    run.call = LAUNCHES + 2;
    assert_true(harness_launch(&run));
    expect(run.call, objects[0].number, EVENT_ACCESS_READ);
    harness_settle();
    check_accesses();
    // The limit is reached before the driver's queue of launches is full.
    shadow_of(harness_context)->pinned.limit_bytes = 1 << 19;
    atomic_store(&go, false);
    MUST(DRIVER(cuLaunchHostFunc)(stream->handle, wait_for, &go));
    uint64_t watched = 0;
    for (uint64_t call = 1; call <= LAUNCHES; call++) {
        run.call = call;
        if (!harness_launch(&run))
            break;
        expect(call, objects[0].number, EVENT_ACCESS_READ);
        watched++;
        if (call % 100 == 0)
            shadow_collect(harness_context);
    }
    assert_true(watched > 100 && watched < LAUNCHES);
    assert_false(harness_launch(&run));
    atomic_store(&go, true);
    harness_settle();
    check_accesses();
    assert_true(harness_noted("kernel flags: 2 launches ran unwatched"));
    // Memory was released.
    run.call = LAUNCHES + 1;
    assert_true(harness_launch(&run));
    expect(run.call, objects[0].number, EVENT_ACCESS_READ);
    harness_settle();
    check_accesses();
}

// --- Tables --------------------------------------------------------------------------------------

static const struct instrument_kernel table_kernel = {
    .name = "table",
    .context_bytes =
        sizeof(struct instrument_context) + HARNESS_ROOTS * sizeof(struct instrument_bounds),
    .left_flag = INSTRUMENT_NONE,
    .flag_count = HARNESS_FLAGS,
    .flag_row_bytes = 2048 / INSTRUMENT_FLAG_ROWS,
    .needs_table = true,
    .roots = four_roots,
    .root_count = 4,
    .uses = flag_uses,
    .use_count = HARNESS_FLAGS,
};

enum { OBJECTS = 40 };

// The object that owns the address, found by a plain search.
static uint64_t owner_of(const struct core_object *objects, const struct core_object *parts,
                         size_t part_count, uint64_t address)
{
    for (size_t i = 0; i < part_count; i++) {
        if (address >= parts[i].start && address < parts[i].start + parts[i].bytes)
            return parts[i].number;
    }
    for (size_t i = 0; i < OBJECTS; i++) {
        if (objects[i].number && address >= objects[i].start &&
            address < objects[i].start + objects[i].bytes)
            return objects[i].number;
    }
    return 0;
}

static void addresses_are_looked_up_among_the_objects_of_the_launch(void **unused)
{
    (void)unused;
    enum { LAUNCHES = 400, LIST = 6, PARTS = 3, STREAMS = 2 };
    uint32_t seed = 11;
    struct core_object objects[OBJECTS], parts[PARTS];
    struct core_stream *streams[STREAMS] = {harness_stream(harness_context, 0),
                                            harness_context->legacy};
    struct harness_access *lists = harness_pinned(LAUNCHES * LIST * sizeof(*lists));
    uint64_t strays = 0;
    for (int i = 0; i < OBJECTS; i++)
        objects[i] = harness_object(1 + random_next(&seed) % 3000, random_next(&seed) % 60);
    objects[0] = harness_object(4096, 0);
    parts[0] = harness_part(objects[0].start, 16);
    parts[1] = harness_part(objects[0].start + 16, 100);
    parts[2] = harness_part(objects[0].start + 1000, 8);
    for (uint64_t call = 1; call <= LAUNCHES; call++) {
        struct harness_access *list = lists + (call - 1) * LIST;
        if (random_next(&seed) % 8 == 0) { // replaces an object
            const uint32_t i = 1 + random_next(&seed) % (OBJECTS - 1);
            synchronize(); // as cuMemFree does
            harness_end_object(&objects[i]);
            objects[i] = harness_object(1 + random_next(&seed) % 3000, random_next(&seed) % 60);
        }
        for (int i = 0; i < LIST; i++) {
            const struct core_object *of = &objects[random_next(&seed) % OBJECTS];
            const bool inside = random_next(&seed) % 10 != 0;
            list[i] = (struct harness_access){.address = inside ? of->start +
                                                                      random_next(&seed) % of->bytes
                                                                : 64 + random_next(&seed) % 1000,
                                              .root = -1,
                                              .bytes = 1,
                                              .reads = random_next(&seed) & 1,
                                              .tally = -1,
                                              .flag = -1};
            list[i].writes = !list[i].reads || (random_next(&seed) & 1);
            const uint64_t owner = owner_of(objects, parts, PARTS, list[i].address);
            strays += !owner;
            if (owner)
                expect(call, owner,
                       (list[i].reads ? EVENT_ACCESS_READ : 0u) |
                           (list[i].writes ? EVENT_ACCESS_WRITTEN : 0u));
        }
        struct harness_run run = {.stream = streams[random_next(&seed) % STREAMS],
                                  .kernel = &table_kernel,
                                  .accesses = list,
                                  .count = LIST,
                                  .call = call,
                                  .facts = INSTRUMENT_OBJECTS};
        assert_true(harness_launch(&run));
        if (random_next(&seed) % 16 == 0)
            shadow_collect(harness_context);
    }
    harness_settle();
    check_accesses();
    char text[64];
    snprintf(text, sizeof(text), "kernel table: %u accesses to memory", (unsigned)strays);
    assert_true(strays && harness_noted(text));
    assert_true(device_bytes() <= 2 << 20);
}

// --- Threads -------------------------------------------------------------------------------------

struct worker {
    pthread_t thread;
    uint32_t number;
    struct core_stream *own, *common;
    const struct core_object *objects;
    struct harness_access *list;
};

enum { WORKERS = 4, EACH = 500 };

// The flag of a launch follows from its call, so that expectations need no lock.
static void *work(void *about)
{
    const struct worker *worker = about;
    MUST(DRIVER(cuCtxSetCurrent)(harness_context->handle));
    core_thread.depth = 1;
    for (uint32_t i = 0; i < EACH; i++) {
        const uint64_t call = 1 + worker->number * EACH + i;
        struct harness_access *list = worker->list + i;
        *list = (struct harness_access){.flag = (int32_t)(call % HARNESS_FLAGS), .tally = -1};
        struct harness_run run = {.stream = i % 2 ? worker->own : worker->common,
                                  .kernel = &flag_kernel,
                                  .accesses = list,
                                  .count = 1,
                                  .call = call,
                                  .facts = INSTRUMENT_OBJECTS};
        for (int root = 0; root < 4; root++)
            run.roots[root] = worker->objects[root].start;
        assert_true(harness_launch(&run));
        if (i % 32 == 0)
            shadow_collect(harness_context);
    }
    return NULL;
}

static void threads_may_share_streams(void **unused)
{
    (void)unused;
    struct core_object objects[4];
    struct worker workers[WORKERS];
    struct core_stream *common = harness_stream(harness_context, 0);
    make_uses();
    for (int i = 0; i < 4; i++)
        objects[i] = harness_object(400, 0);
    for (uint32_t i = 0; i < WORKERS; i++) {
        workers[i] = (struct worker){.number = i,
                                     .own = harness_stream(harness_context, 0),
                                     .common = common,
                                     .objects = objects,
                                     .list = harness_pinned(EACH * sizeof(struct harness_access))};
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (uint32_t i = 0; i < WORKERS; i++)
        pthread_join(workers[i].thread, NULL);
    for (uint64_t call = 1; call <= WORKERS * EACH; call++) {
        const struct instrument_use *use = &flag_uses[call % HARNESS_FLAGS];
        expect(call, objects[use->root].number,
               (use->read ? EVENT_ACCESS_READ : 0u) | (use->written ? EVENT_ACCESS_WRITTEN : 0u));
    }
    harness_settle();
    check_accesses();
}

// --- Graphs --------------------------------------------------------------------------------------

static const struct instrument_kernel settled_kernel = {
    .name = "settled",
    .context_bytes =
        sizeof(struct instrument_context) + HARNESS_ROOTS * sizeof(struct instrument_bounds),
    .left_flag = INSTRUMENT_NONE,
    .roots = four_roots,
    .root_count = 4,
    .uses = (struct instrument_use[]){{.root = 1, .flag = INSTRUMENT_NONE, .read = true}},
    .use_count = 1,
};

static void replays_tell_of_the_objects_of_their_moment(void **unused)
{
    (void)unused;
    enum { NODES = 3, REPLAYS = 60, LIST = 4 };
    static const struct instrument_kernel *const kernels[NODES] = {&flag_kernel, &table_kernel,
                                                                   &settled_kernel};
    uint32_t seed = 21;
    struct core_object objects[4];
    struct harness_access *lists = harness_pinned(NODES * LIST * sizeof(*lists));
    struct harness_run runs[NODES];
    struct harness_params params[NODES];
    struct shadow_ticket *tickets[NODES];
    static const uint32_t numbers[NODES] = {1, 4, 2};
    struct core_stream *streams[2] = {harness_stream(harness_context, 0), harness_context->legacy};
    CUgraph graph;
    CUgraphExec exec;
    make_uses();
    for (int i = 0; i < 4; i++)
        objects[i] = harness_object(4096, 0);
    MUST(DRIVER(cuGraphCreate)(&graph, 0));
    for (int i = 0; i < NODES; i++) {
        runs[i] = (struct harness_run){.stream = harness_context->legacy,
                                       .kernel = kernels[i],
                                       .accesses = lists + i * LIST,
                                       .count = kernels[i] == &settled_kernel ? 0 : LIST,
                                       .facts = INSTRUMENT_OBJECTS};
        for (int root = 0; root < 4; root++)
            runs[i].roots[root] = objects[root].start + 8;
        harness_fill(&runs[i], &params[i]);
        const struct shadow_launch launch = {.stream = harness_context->legacy,
                                             .kernel = kernels[i],
                                             .kernel_number = 1,
                                             .given = runs[i].roots,
                                             .roots = runs[i].roots,
                                             .grid = {1, 1, 1},
                                             .block = {HARNESS_BLOCK, 1, 1},
                                             .facts = INSTRUMENT_OBJECTS};
        tickets[i] = shadow_begin_node(&launch, params[i].context);
        assert_non_null(tickets[i]);
        const CUDA_KERNEL_NODE_PARAMS node = {.func = harness_function(INSTRUMENT_OBJECTS),
                                              .gridDimX = 1,
                                              .gridDimY = 1,
                                              .gridDimZ = 1,
                                              .blockDimX = HARNESS_BLOCK,
                                              .blockDimY = 1,
                                              .blockDimZ = 1,
                                              .kernelParams = params[i].pointers};
        CUgraphNode added;
        MUST(DRIVER(cuGraphAddKernelNode_v2)(&added, graph, NULL, 0, &node));
    }
    MUST(DRIVER(cuGraphInstantiateWithFlags)(&exec, graph, 0));
    MUST(DRIVER(cuGraphDestroy)(graph));
    for (uint64_t call = 1; call <= REPLAYS; call++) {
        if (call % 7 == 0) { // another object of another size replaces one
            const uint32_t which = random_next(&seed) % 4;
            struct core_object taken;
            assert_true(core_objects_take(&core_state.objects, OBJECTS_MEMORY, objects[which].start,
                                          &taken));
            shadow_object_ended(taken.number);
            taken.number = 0;
            taken.bytes = 2048 + random_next(&seed) % 2048;
            assert_true(core_objects_add_new(&core_state.objects, OBJECTS_MEMORY, &taken));
            objects[which] = taken;
        }
        for (int i = 0; i < LIST; i++) {
            const int32_t flag = (int32_t)(random_next(&seed) % HARNESS_FLAGS);
            lists[i] = (struct harness_access){.flag = flag, .tally = -1};
            const struct instrument_use *use = &flag_uses[flag];
            expect(call * 10 + 1, objects[use->root].number,
                   (use->read ? EVENT_ACCESS_READ : 0u) |
                       (use->written ? EVENT_ACCESS_WRITTEN : 0u));
            const struct core_object *of = &objects[random_next(&seed) % 4];
            lists[LIST + i] = (struct harness_access){.address = of->start + of->bytes - 1,
                                                      .bytes = 1,
                                                      .reads = 1,
                                                      .root = -1,
                                                      .flag = -1,
                                                      .tally = -1};
            expect(call * 10 + 4, of->number, EVENT_ACCESS_READ);
        }
        expect(call * 10 + 2, objects[1].number, EVENT_ACCESS_READ);
        struct core_stream *stream = streams[random_next(&seed) % 2];
        shadow_replay(stream, tickets, NODES, NULL);
        MUST(DRIVER(cuGraphLaunch)(exec, stream->handle));
        shadow_replayed(stream, tickets, numbers, NODES, call, true);
        synchronize(); // the lists are rewritten
    }
    MUST(DRIVER(cuGraphExecDestroy)(exec));
    for (int i = 0; i < NODES; i++)
        shadow_release(tickets[i]);
    harness_settle();
    calls_have_nodes = true;
    check_accesses();
    calls_have_nodes = false;
    assert_false(harness_noted("ran unwatched"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, harness_start, harness_finish)
    const struct CMUnitTest tests[] = {
        TEST(uses_that_always_hold_need_no_memory),
        TEST(flags_come_back_from_every_launch),
        TEST(what_a_destroyed_stream_left_comes_back),
        TEST(a_stream_that_stands_still_holds_nobody_up),
        TEST(addresses_are_looked_up_among_the_objects_of_the_launch),
        TEST(threads_may_share_streams),
        TEST(replays_tell_of_the_objects_of_their_moment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
