// SPDX-License-Identifier: Apache-2.0
// The model that is loaded from a profile: which objects calls touched, by range and by node, which
// accesses are unknown, and what maps say.
#include "models.h"

#include "../profile/folder.h"

static struct base_error error;
static struct profile_writer *writer;

enum { BASE = 1 << 20, SIZE = 1000 };

static void begin(void)
{
    assert_int_equal(profile_create(test_path, true, &writer, &error), BASE_OK);
}

static void object(uint64_t number, enum profile_object_kind kind, uint64_t call, uint64_t parent)
{
    const struct profile_object row = {.number = number,
                                       .kind = kind,
                                       .address = BASE * number,
                                       .bytes = SIZE,
                                       .call = call,
                                       .parent = parent};
    assert_int_equal(profile_add_object(writer, &row, &error), BASE_OK);
}

static void call(struct profile_call row)
{
    assert_int_equal(profile_add_call(writer, &row, &error), BASE_OK);
}

static void load(struct analyze_model *model)
{
    struct profile *profile;
    assert_int_equal(profile_finish(writer, PROFILE_EXITED, 0, &error), BASE_OK);
    assert_int_equal(profile_open(test_path, &profile, &error), BASE_OK);
    *model = (struct analyze_model){0};
    assert_int_equal(analyze_load(model, profile, NULL, &error), BASE_OK);
    profile_close(profile);
}

static void check_range(const struct analyze_touch *touch, uint32_t at, unsigned how,
                        uint64_t offset, uint64_t bytes, uint32_t rows, uint64_t pitch)
{
    assert_int_equal(touch->object, at);
    assert_int_equal(touch->how, how);
    assert_false(touch->is_kernel);
    assert_int_equal(touch->offset, offset);
    assert_int_equal(touch->row_bytes, bytes);
    assert_int_equal(touch->rows, rows);
    assert_int_equal(touch->pitch, pitch);
}

static void copies_and_sets_touch_ranges(void **state)
{
    (void)state;
    struct analyze_model model;
    begin();
    object(1, PROFILE_OBJECT_DEVICE, 0, 0);
    object(2, PROFILE_OBJECT_DEVICE, 0, 0);
    call((struct profile_call){.number = 1,
                               .kind = PROFILE_CALL_COPY,
                               .copy = {.bytes = 100,
                                        .from = BASE + 10,
                                        .from_object = 1,
                                        .to = 2 * BASE + 20,
                                        .to_object = 2}});
    call((struct profile_call){.number = 2, // three rows
                               .kind = PROFILE_CALL_SET,
                               .set = {.address = BASE + 4,
                                       .object = 1,
                                       .bytes = 30,
                                       .pitch = 64,
                                       .width_bytes = 10,
                                       .height = 3}});
    call((struct profile_call){.number = 3, // rows without gaps are one range
                               .kind = PROFILE_CALL_SET,
                               .set = {.address = BASE,
                                       .object = 1,
                                       .bytes = 30,
                                       .pitch = 10,
                                       .width_bytes = 10,
                                       .height = 3}});
    call((struct profile_call){.number = 4, // slices: their positions are not tracked
                               .kind = PROFILE_CALL_COPY,
                               .copy = {.bytes = 40,
                                        .to = BASE,
                                        .to_object = 1,
                                        .to_pitch = 20,
                                        .width_bytes = 10,
                                        .height = 2,
                                        .depth = 2}});
    call((struct profile_call){.number = 5, // failed, and captured
                               .kind = PROFILE_CALL_SET,
                               .result = 1,
                               .set = {.address = BASE, .object = 1, .bytes = 30}});
    call((struct profile_call){.number = 6,
                               .kind = PROFILE_CALL_SET,
                               .flags = PROFILE_CALL_CAPTURED,
                               .set = {.address = BASE, .object = 1, .bytes = 30}});
    call((struct profile_call){.number = 7, // extends beyond the object
                               .kind = PROFILE_CALL_SET,
                               .set = {.address = BASE + 900, .object = 1, .bytes = 500}});
    load(&model);
    assert_int_equal(model.touches.count, 6);
    const struct analyze_touch *touches = model.touches.items;
    check_range(&touches[0], 0, ANALYZE_READ, 10, 100, 1, 0);
    check_range(&touches[1], 1, ANALYZE_WRITE, 20, 100, 1, 0);
    check_range(&touches[2], 0, ANALYZE_WRITE, 4, 10, 3, 64);
    check_range(&touches[3], 0, ANALYZE_WRITE, 0, 30, 1, 0);
    check_range(&touches[4], 0, ANALYZE_WRITE, 0, SIZE, 0, 0); // overwrites nothing for certain
    check_range(&touches[5], 0, ANALYZE_WRITE, 900, 100, 1, 0);
    assert_int_equal(model.calls.items[4].flags & ANALYZE_WORKS, 0);
    assert_int_equal(model.calls.items[5].flags & ANALYZE_WORKS, 0);
    assert_int_equal(model.objects.items[0].first, 0);
    assert_int_equal(model.objects.items[0].last, 6);
    assert_int_equal(model.objects.items[0].use_count, 5);
    analyze_model_fini(&model);
}

static void launches_that_do_not_tell_all_are_unseen(void **state)
{
    (void)state;
    struct analyze_model model;
    begin();
    object(1, PROFILE_OBJECT_DEVICE, 0, 0);
    const struct profile_probe blind = {
        .kernel = 2, .facts = 1, .reason = "calls what is declared"};
    const struct profile_probe whole = {.kernel = 1, .facts = 1};
    assert_int_equal(profile_add_probe(writer, &blind, &error), BASE_OK);
    assert_int_equal(profile_add_probe(writer, &whole, &error), BASE_OK);
    static const struct profile_launch launches[] = {
        {.kernel = 1, .flags = PROFILE_LAUNCH_WATCHED}, // 1
        {.kernel = 1},                                  // 2: watched, as it has an access
        {.kernel = 1},                                  // 3: not watched
        {.kernel = 2, .flags = PROFILE_LAUNCH_WATCHED}, // 4: not everything is seen
    };
    for (uint64_t i = 1; i <= 4; i++)
        call((struct profile_call){
            .number = i, .kind = PROFILE_CALL_LAUNCH, .launch = launches[i - 1]});
    const struct profile_access access = {.call = 2, .object = 1, .read = true, .written = true};
    assert_int_equal(profile_add_access(writer, &access, &error), BASE_OK);
    load(&model);
    assert_int_equal(model.unseen_count, 2);
    assert_int_equal(model.unseen[0], 2);
    assert_int_equal(model.unseen[1], 3);
    assert_int_equal(model.launch_count, 4);
    assert_int_equal(model.touches.count, 1);
    assert_int_equal(model.touches.items[0].how, ANALYZE_READ | ANALYZE_WRITE);
    assert_true(model.touches.items[0].is_kernel);
    const struct analyze_object *row = &model.objects.items[0];
    assert_int_equal(analyze_first_unseen(&model, row, 0, 4), 2);
    assert_int_equal(analyze_first_unseen(&model, row, 0, 2), ANALYZE_NONE);
    assert_int_equal(analyze_first_unseen(&model, row, 3, 4), 3);
    assert_int_equal(analyze_last_hidden(&model, row, 0, 4), 3);
    assert_int_equal(analyze_last_hidden(&model, row, 0, 3), 2);
    assert_int_equal(analyze_last_hidden(&model, row, 0, 2), ANALYZE_NONE);
    analyze_model_fini(&model);
}

// A sampled launch may do more than it was seen to, but it was seen to use the object.
static void sampled_launches_hide_as_much_as_others(void **state)
{
    (void)state;
    struct analyze_model model;
    begin();
    object(1, PROFILE_OBJECT_DEVICE, 0, 0);
    object(2, PROFILE_OBJECT_DEVICE, 0, 0);
    const struct profile_probe blind = {.kernel = 1, .reason = "it has no PTX"};
    assert_int_equal(profile_add_probe(writer, &blind, &error), BASE_OK);
    call((struct profile_call){
        .number = 1,
        .kind = PROFILE_CALL_LAUNCH,
        .launch = {.kernel = 1, .flags = PROFILE_LAUNCH_PASSED | PROFILE_LAUNCH_SAMPLED}});
    static const struct profile_access accesses[] = {
        {.call = 1, .object = 1, .written = true, .passed = true, .sampled = true},
        {.call = 1, .object = 2, .read = true, .written = true, .passed = true},
    };
    for (size_t i = 0; i < sizeof(accesses) / sizeof(accesses[0]); i++)
        assert_int_equal(profile_add_access(writer, &accesses[i], &error), BASE_OK);
    load(&model);
    assert_int_equal(model.unseen_count, 1);
    assert_int_equal(model.hidden_count, 0);
    assert_int_equal(model.touches.count, 2);
    for (int i = 0; i < 2; i++)
        assert_int_equal(model.touches.items[i].how, ANALYZE_READ | ANALYZE_WRITE);
    assert_false(analyze_is_passed(&model, &model.objects.items[0], 0));
    assert_true(analyze_is_passed(&model, &model.objects.items[1], 0));
    analyze_model_fini(&model);
}

// Of a launch, a flag says that its arguments were searched; of a node, its accesses. Objects whose
// addresses lie in memory, and variables, may be used by all such launches.
static void launches_that_are_known_by_arguments_hide_little(void **state)
{
    (void)state;
    struct analyze_model model;
    begin();
    object(1, PROFILE_OBJECT_DEVICE, 0, 0);
    object(2, PROFILE_OBJECT_DEVICE, 0, 0);
    object(3, PROFILE_OBJECT_GLOBAL, 0, 0);
    object(4, PROFILE_OBJECT_DEVICE, 0, 0); // shared, and its address lies in memory
    const struct profile_node nodes[] = {
        {.kind = PROFILE_NODE_KERNEL, .launch = {.kernel = 1}},
        {.kind = PROFILE_NODE_KERNEL, .launch = {.kernel = 1}},
    };
    const struct profile_graph graph = {.number = 1, .nodes = nodes, .node_count = 2};
    assert_int_equal(profile_add_graph(writer, &graph, &error), BASE_OK);
    const struct profile_probe blind = {.kernel = 1, .reason = "it has no PTX"};
    assert_int_equal(profile_add_probe(writer, &blind, &error), BASE_OK);
    static const uint32_t flags[] = {
        PROFILE_LAUNCH_PASSED, // 1: passes nothing
        PROFILE_LAUNCH_PASSED, // 2
        0,                     // 3: passes more than its accesses show
        PROFILE_LAUNCH_PASSED, // 4: in doubt
    };
    for (uint64_t i = 1; i <= 4; i++)
        call((struct profile_call){.number = i,
                                   .kind = PROFILE_CALL_LAUNCH,
                                   .launch = {.kernel = 1, .flags = flags[i - 1]}});
    call((struct profile_call){.number = 5, .kind = PROFILE_CALL_GRAPH_LAUNCH, .graph = 1});
    call((struct profile_call){.number = 6, .kind = PROFILE_CALL_GRAPH_LAUNCH, .graph = 1});
    static const struct profile_access accesses[] = {
        {.call = 0, .object = 4},
        {.call = 0, .object = 2, .passed = true},
        {.call = 0, .object = 4, .passed = true},
        {.call = 2, .object = 1, .read = true, .written = true, .passed = true},
        {.call = 3, .object = 1, .read = true, .written = true, .passed = true},
        {.call = 5, .node = 1, .object = 1, .read = true, .written = true, .passed = true},
        {.call = 5, .node = 2, .object = 1, .read = true, .written = true, .passed = true},
        {.call = 6, .node = 2, .object = 1, .read = true, .written = true, .passed = true},
    };
    for (unsigned i = 0; i < sizeof(accesses) / sizeof(accesses[0]); i++)
        assert_int_equal(profile_add_access(writer, &accesses[i], &error), BASE_OK);
    const struct profile_doubt doubt = {4, 0, PROFILE_DOUBT_POINTER};
    assert_int_equal(profile_add_doubt(writer, &doubt, &error), BASE_OK);
    load(&model);
    static const uint32_t hidden[] = {2, 3, 5};
    assert_int_equal(model.unseen_count, 6);
    assert_int_equal(model.hidden_count, 3);
    assert_memory_equal(model.hidden, hidden, sizeof(hidden));
    assert_int_equal(model.unseen_because[ANALYZE_UNSEEN_UNWATCHED], 3);
    const struct analyze_object *rows = model.objects.items;
    assert_true(!rows[0].is_addressed && rows[1].is_addressed && rows[2].is_addressed);
    assert_true(!rows[1].elsewhere && rows[3].elsewhere && rows[3].is_addressed);
    assert_int_equal(analyze_first_hidden(&model, &rows[0], 0, 6), 2);
    assert_int_equal(analyze_first_hidden(&model, &rows[0], 0, 2), ANALYZE_NONE);
    assert_int_equal(analyze_first_hidden(&model, &rows[1], 0, 2), 0);
    assert_int_equal(analyze_last_hidden(&model, &rows[0], 0, 5), 3);
    assert_int_equal(analyze_last_hidden(&model, &rows[1], 0, 5), 4);
    assert_int_equal(analyze_first_unseen(&model, &rows[0], 0, 6), 0);
    assert_true(analyze_has_passed(&model, 0, 1));
    assert_false(analyze_has_passed(&model, 2, 4));
    assert_true(analyze_is_passed(&model, &rows[0], 1));
    assert_false(analyze_is_passed(&model, &rows[0], 0));
    analyze_model_fini(&model);
}

// Whatever their accesses are, and although they were watched. A node makes the whole launch
// unseen.
static void launches_in_doubt_are_unseen(void **state)
{
    (void)state;
    struct analyze_model model;
    begin();
    object(1, PROFILE_OBJECT_DEVICE, 0, 0);
    const struct profile_node nodes[] = {
        {.kind = PROFILE_NODE_KERNEL, .launch = {.kernel = 1}},
        {.kind = PROFILE_NODE_KERNEL, .launch = {.kernel = 1}},
    };
    const struct profile_graph graph = {.number = 1, .nodes = nodes, .node_count = 2};
    assert_int_equal(profile_add_graph(writer, &graph, &error), BASE_OK);
    for (uint64_t i = 1; i <= 4; i++)
        call((struct profile_call){.number = i,
                                   .kind = PROFILE_CALL_LAUNCH,
                                   .launch = {.kernel = 1, .flags = PROFILE_LAUNCH_WATCHED}});
    call((struct profile_call){.number = 5, .kind = PROFILE_CALL_GRAPH_LAUNCH, .graph = 1});
    call((struct profile_call){.number = 6, .kind = PROFILE_CALL_OTHER}); // writes a value
    call((struct profile_call){.number = 7, .kind = PROFILE_CALL_OTHER});
    static const struct profile_access accesses[] = {
        {.call = 1, .object = 1, .read = true},
        {.call = 2, .object = 1, .read = true},
        {.call = 5, .node = 1, .object = 1, .read = true},
        {.call = 6, .object = 1, .written = true},
    };
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(profile_add_access(writer, &accesses[i], &error), BASE_OK);
    static const struct profile_doubt doubts[] = {
        {2, 0, PROFILE_DOUBT_LEFT},    {2, 0, PROFILE_DOUBT_POINTER}, {4, 0, PROFILE_DOUBT_UNTOLD},
        {5, 2, PROFILE_DOUBT_POINTER}, {7, 0, PROFILE_DOUBT_WORK},
    };
    for (unsigned i = 0; i < 5; i++)
        assert_int_equal(profile_add_doubt(writer, &doubts[i], &error), BASE_OK);
    load(&model);
    static const uint32_t unseen[] = {1, 3, 4, 6};
    assert_int_equal(model.unseen_count, 4);
    assert_memory_equal(model.unseen, unseen, sizeof(unseen));
    assert_int_equal(model.unseen_because[ANALYZE_UNSEEN_UNWATCHED], 0);
    assert_int_equal(model.unseen_because[ANALYZE_UNSEEN_POINTER], 2);
    assert_int_equal(model.unseen_because[ANALYZE_UNSEEN_LEFT], 1);
    assert_int_equal(model.unseen_because[ANALYZE_UNSEEN_UNTOLD], 1);
    assert_int_equal(model.unseen_because[ANALYZE_UNSEEN_WORK], 1);
    assert_int_equal(model.touches.count, 4);
    assert_int_equal(model.touches.items[3].call, 5);
    assert_int_equal(model.touches.items[3].how, ANALYZE_WRITE);
    analyze_model_fini(&model);
}

// Kernel 1 only accesses memory. Kernel 2 does more, and of kernel 3 nothing is known, as in older
// profiles.
static void launches_may_do_more_than_access_memory(void **state)
{
    (void)state;
    static const struct {
        struct profile_node node;
        bool acts;
    } nodes[] = {
        {{.kind = PROFILE_NODE_EMPTY}, false},
        {{.kind = PROFILE_NODE_GRAPH}, false},
        {{.kind = PROFILE_NODE_KERNEL, .launch = {.kernel = 1}}, false},
        {{.kind = PROFILE_NODE_KERNEL, .launch = {.kernel = 2}}, true},
        {{.kind = PROFILE_NODE_COPY, .copy = {.to_object = 1}}, false},
        {{.kind = PROFILE_NODE_COPY, .copy = {.from_object = 1}}, true},
        {{.kind = PROFILE_NODE_COPY, .copy = {.to_object = 9}}, true}, // which does not exist
        {{.kind = PROFILE_NODE_SET, .set = {.object = 1}}, false},
        {{.kind = PROFILE_NODE_SET}, true},
        {{.kind = PROFILE_NODE_ALLOC}, true},
        {{.kind = PROFILE_NODE_FREE}, true},
        {{.kind = PROFILE_NODE_EVENT_RECORD}, true},
        {{.kind = PROFILE_NODE_EVENT_WAIT}, true},
        {{.kind = PROFILE_NODE_HOST}, true},
        {{.kind = PROFILE_NODE_OTHER}, true},
    };
    enum { NODES = sizeof(nodes) / sizeof(nodes[0]) };
    struct analyze_model model;
    begin();
    object(1, PROFILE_OBJECT_DEVICE, 0, 0);
    const struct profile_probe calm = {.kernel = 1, .facts = 1 | PROFILE_PROBE_ONLY_MEMORY};
    const struct profile_probe other = {.kernel = 2, .facts = 1};
    assert_int_equal(profile_add_probe(writer, &calm, &error), BASE_OK);
    assert_int_equal(profile_add_probe(writer, &other, &error), BASE_OK);
    for (uint64_t i = 0; i < NODES; i++) {
        const struct profile_node both[] = {{.kind = PROFILE_NODE_KERNEL, .launch = {.kernel = 1}},
                                            nodes[i].node};
        const struct profile_graph graph = {.number = i + 1, .nodes = both, .node_count = 2};
        assert_int_equal(profile_add_graph(writer, &graph, &error), BASE_OK);
        call((struct profile_call){
            .number = i + 1, .kind = PROFILE_CALL_GRAPH_LAUNCH, .graph = i + 1});
    }
    for (uint32_t i = 1; i <= 3; i++)
        call((struct profile_call){
            .number = NODES + i, .kind = PROFILE_CALL_LAUNCH, .launch = {.kernel = i}});
    load(&model);
    assert_int_equal(model.calls.count, NODES + 3);
    for (unsigned i = 0; i < NODES + 3; i++) {
        const bool acts = i < NODES ? nodes[i].acts : i > NODES;
        if (((model.calls.items[i].flags & ANALYZE_ACTS) != 0) != acts)
            fail_msg("call %u", i);
    }
    analyze_model_fini(&model);
}

static void values_are_loaded_with_their_calls_and_objects(void **state)
{
    (void)state;
    struct analyze_model model;
    begin();
    object(1, PROFILE_OBJECT_DEVICE, 0, 0);
    call((struct profile_call){.number = 1, .kind = PROFILE_CALL_LAUNCH});
    call((struct profile_call){.number = 2, .kind = PROFILE_CALL_LAUNCH});
    struct profile_contents contents = {.call = 2,
                                        .object = 1,
                                        .node = 2,
                                        .kind = PROFILE_CONTENTS_WRITTEN,
                                        .stride = 4,
                                        .field_count = 1};
    contents.fields[0] = (struct profile_value_field){.elements = 5, .distinct = 5};
    assert_int_equal(profile_add_contents(writer, &contents, &error), BASE_OK);
    contents.node = 0;
    contents.kind = PROFILE_CONTENTS_FOUND;
    contents.field_count = 0;
    assert_int_equal(profile_add_contents(writer, &contents, &error), BASE_OK);
    contents.call = 3; // an unknown call, then an unknown object
    assert_int_equal(profile_add_contents(writer, &contents, &error), BASE_OK);
    contents.call = 2;
    contents.object = 2;
    assert_int_equal(profile_add_contents(writer, &contents, &error), BASE_OK);
    const struct profile_kernel_site sites[] = {
        {.kernel = 2, .number = 1, .access = PROFILE_SITE_LOAD},
        {.kernel = 2, .number = 2, .access = PROFILE_SITE_STORE, .file = "a.cu", .line = 7},
        {.kernel = 2,
         .number = 3,
         .access = PROFILE_SITE_ATOMIC,
         .file = "/usr/local/cuda/targets/x/include/device_atomic_functions.hpp",
         .line = 112,
         .at_file = "b.cu",
         .at_line = 15},
    };
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(profile_add_kernel_site(writer, &sites[i], &error), BASE_OK);
    const struct profile_stored stored[] = {
        {.call = 1, .object = 1, .stores = 9, .silent = 8, .kernel = 2, .site = 3, .bytes = 4},
        {.call = 2, .object = 0, .stores = 7, .kernel = 2, .site = 2, .bytes = 8},
        {.call = 2, .object = 1, .stores = 7, .kernel = 2, .site = 9, .bytes = 8},
    };
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(profile_add_stored(writer, &stored[i], &error), BASE_OK);
    load(&model);
    assert_int_equal(model.contents.count, 2);
    assert_int_equal(model.contents.items[0].row->kind, PROFILE_CONTENTS_FOUND);
    assert_int_equal(model.contents.items[1].call, 1);
    assert_int_equal(model.contents.items[1].object, 0);
    assert_int_equal(model.contents.items[1].row->fields[0].elements, 5);
    assert_int_equal(model.stores.count, 3);
    assert_int_equal(model.stores.items[0].call, 0);
    assert_int_equal(model.stores.items[0].silent, 8);
    assert_true(analyze_is_atomic(&model.sites.items[model.stores.items[0].place]));
    assert_int_equal(model.sites.items[model.stores.items[0].place].line.line, 15);
    assert_int_equal(model.stores.items[1].object, ANALYZE_NONE);
    assert_int_equal(model.sites.items[model.stores.items[1].place].line.line, 7);
    assert_int_equal(model.stores.items[2].place, ANALYZE_NONE);
    analyze_model_fini(&model);
}

static void requests_are_loaded_with_their_places(void **state)
{
    (void)state;
    struct analyze_model model;
    const struct profile_kernel_site site = {.kernel = 2,
                                             .number = 1,
                                             .file = "a.cu",
                                             .line = 7,
                                             .column = 3,
                                             .bytes = 8,
                                             .access = PROFILE_SITE_LOAD};
    const struct profile_requests rows[] = {
        {.call = 1,
         .object = 1,
         .requests = 10,
         .taken = 320,
         .needed = 40,
         .stride = -64,
         .kernel = 2,
         .site = 1,
         .has_stride = true},
        {.call = 2,
         .object = 1,
         .requests = 20,
         .taken = 30,
         .needed = 20,
         .node = 2,
         .kernel = 2,
         .site = 9,
         .shared = true},
        {.call = 3, .object = 1, .requests = 1, .taken = 1, .needed = 1, .kernel = 2, .site = 1},
        {.call = 1, .requests = 1, .taken = 4, .needed = 4, .kernel = 2, .site = 2, .local = true},
    };
    begin();
    for (uint32_t i = 1; i <= 3; i++)
        assert_int_equal(
            profile_add_device(
                writer, &(struct profile_device){.number = i, .multiprocessors = i == 2 ? 132 : 80},
                &error),
            BASE_OK);
    object(1, PROFILE_OBJECT_DEVICE, 0, 0);
    call((struct profile_call){
        .number = 1, .kind = PROFILE_CALL_LAUNCH, .launch = {.grid = {5, 4, 3}}});
    call((struct profile_call){
        .number = 2, .kind = PROFILE_CALL_LAUNCH, .launch = {.grid = {1u << 30, 4, 65535}}});
    assert_int_equal(profile_add_kernel_site(writer, &site, &error), BASE_OK);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(profile_add_requests(writer, &rows[i], &error), BASE_OK);
    load(&model);
    assert_int_equal(model.multiprocessors, 132);
    assert_int_equal(model.calls.items[0].blocks, 60);
    assert_int_equal(model.calls.items[1].blocks, UINT32_MAX);
    assert_int_equal(model.requests.count, 2); // not that of an unknown call and of local memory
    const struct analyze_requests *first = &model.requests.items[0], *second = first + 1;
    assert_int_equal(first->call, 0);
    assert_int_equal(first->object, 0);
    assert_int_equal(first->taken, 320);
    assert_int_equal(first->needed, 40);
    assert_int_equal(first->requests, 10);
    assert_int_equal(first->stride, -64);
    assert_true(first->has_stride && !first->shared);
    assert_int_equal(model.sites.items[first->place].line.column, 3);
    assert_int_equal(model.sites.items[first->place].bytes, 8);
    assert_int_equal(second->call, 1);
    assert_int_equal(second->node, 1);
    assert_int_equal(second->object, ANALYZE_NONE);
    assert_int_equal(second->place, ANALYZE_NONE);
    assert_true(!second->has_stride && second->shared);
    analyze_model_fini(&model);
}

static void what_blocks_load_is_loaded_with_its_place(void **state)
{
    (void)state;
    struct analyze_model model;
    const struct profile_kernel_site site = {
        .kernel = 2, .number = 4, .file = "a.cu", .line = 7, .access = PROFILE_SITE_LOAD};
    const struct profile_block_reuse row = {.call = 1,
                                            .object = 1,
                                            .blocks = 100,
                                            .loads = 800,
                                            .moved = 700,
                                            .words = 100,
                                            .most_words = 2,
                                            .extent = 2,
                                            .free_bytes = PROFILE_UNKNOWN,
                                            .kernel = 2,
                                            .looked = 64,
                                            .site = 4};
    begin();
    object(1, PROFILE_OBJECT_DEVICE, 0, 0);
    call((struct profile_call){.number = 1, .kind = PROFILE_CALL_LAUNCH});
    call((struct profile_call){.number = 2, .kind = PROFILE_CALL_LAUNCH});
    assert_int_equal(profile_add_kernel_site(writer, &site, &error), BASE_OK);
    struct profile_block_reuse others[] = {row, row, row, row};
    others[1].call = 3;   // is unknown, as is
    others[2].object = 2; // this one
    others[3].call = 2;
    others[3].site = 5;
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(profile_add_block_reuse(writer, &others[i], &error), BASE_OK);
    load(&model);
    assert_int_equal(model.reuse.count, 2);
    const struct analyze_reuse *first = &model.reuse.items[0], *second = first + 1;
    assert_int_equal(first->call, 0);
    assert_int_equal(first->object, 0);
    assert_int_equal(model.sites.items[first->place].line.line, 7);
    assert_int_equal(first->row.moved, 700);
    assert_int_equal(first->row.free_bytes, PROFILE_UNKNOWN);
    assert_int_equal(second->call, 1);
    assert_int_equal(second->place, ANALYZE_NONE);
    analyze_model_fini(&model);
}

// The time of a graph launch is not that of a node, and rows of launches that were not modelled are
// left out.
static void caches_are_loaded_with_the_times_of_launches(void **state)
{
    (void)state;
    struct analyze_model model;
    const struct profile_cache_launch launches[] = {
        {.call = 3, .kernel = 2, .preset = "h200", .share = PROFILE_CACHE_ALL, .l2_bytes = 4096},
        {.call = 4, .node = 1, .kernel = 2, .preset = "h200", .share = PROFILE_CACHE_ALL},
        {.call = 4, .node = 2, .kernel = 2, .preset = "h200"}, // not valid
    };
    begin();
    object(1, PROFILE_OBJECT_DEVICE, 0, 0);
    call((struct profile_call){.number = 3, .kind = PROFILE_CALL_LAUNCH});
    call((struct profile_call){.number = 4, .kind = PROFILE_CALL_GRAPH_LAUNCH, .graph = 5});
    for (uint64_t number = 3; number <= 4; number++) {
        const struct profile_time time = {.call = number, .start_ns = 100, .end_ns = 170};
        assert_int_equal(profile_add_time(writer, &time, &error), BASE_OK);
    }
    for (unsigned i = 0; i < 3; i++) {
        const struct profile_cache row = {.call = launches[i].call,
                                          .node = launches[i].node,
                                          .object = 1,
                                          .kernel = 2,
                                          .site = 4,
                                          .l1 = {{100, 10}},
                                          .read = 90};
        const struct profile_cache_reuse reuse = {
            .call = row.call, .node = row.node, .object = 1, .kernel = 2, .level = 2, .first = 7};
        assert_int_equal(profile_add_cache_launch(writer, &launches[i], &error), BASE_OK);
        assert_int_equal(profile_add_cache(writer, &row, &error), BASE_OK);
        assert_int_equal(profile_add_cache_reuse(writer, &reuse, &error), BASE_OK);
    }
    load(&model);
    const struct analyze_cache_kernel *kernel = analyze_find_cache_kernel(&model.caches, 2);
    assert_non_null(kernel);
    assert_int_equal(kernel->launches, 2);
    assert_int_equal(kernel->gpu_ns, 70);
    assert_int_equal(kernel->timed, 90);
    assert_int_equal(kernel->sum.read, 180);
    assert_int_equal(kernel->levels[1].first, 14);
    assert_int_equal(kernel->l2_bytes, 4096);
    assert_non_null(analyze_find_cache_launch(&model.caches, 4, 1));
    assert_null(analyze_find_cache_launch(&model.caches, 4, 2));
    analyze_model_fini(&model);
}

static void a_graph_touches_what_its_nodes_do_in_their_order(void **state)
{
    (void)state;
    struct analyze_model model;
    begin();
    object(1, PROFILE_OBJECT_DEVICE, 0, 0);
    const struct profile_node nodes[] = {
        {.kind = PROFILE_NODE_SET, .set = {.address = BASE, .object = 1, .bytes = 8}},
        {.kind = PROFILE_NODE_KERNEL, .launch = {.kernel = 1}},
        {.kind = PROFILE_NODE_COPY, .copy = {.bytes = 4, .from = BASE, .from_object = 1}},
    };
    const struct profile_graph graph = {.number = 5, .nodes = nodes, .node_count = 3};
    assert_int_equal(profile_add_graph(writer, &graph, &error), BASE_OK);
    // Edges against the order of nodes, or of unknown graphs, come from a damaged file.
    static const struct profile_edge edges[] = {
        {5, 1, 3}, {5, 0, 2}, {5, 3, 2}, {5, 2, 4}, {9, 1, 2}};
    for (size_t i = 0; i < sizeof(edges) / sizeof(edges[0]); i++)
        assert_int_equal(profile_add_edge(writer, &edges[i], &error), BASE_OK);
    call((struct profile_call){.number = 1, .kind = PROFILE_CALL_GRAPH_LAUNCH, .graph = 5});
    call((struct profile_call){.number = 2, .kind = PROFILE_CALL_GRAPH_LAUNCH, .graph = 6});
    const struct profile_access access = {.call = 1, .node = 2, .object = 1, .written = true};
    assert_int_equal(profile_add_access(writer, &access, &error), BASE_OK);
    load(&model);
    assert_int_equal(model.touches.count, 3);
    assert_false(model.touches.items[0].is_kernel);
    assert_true(model.touches.items[1].is_kernel);
    assert_int_equal(model.touches.items[1].kernel, 1);
    assert_int_equal(model.touches.items[2].how, ANALYZE_READ);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(model.touches.items[i].node, i);
    assert_int_equal(model.calls.items[0].graph, 1);
    assert_int_equal(model.calls.items[1].graph, 0);
    assert_int_equal(model.edges.count, 1);
    assert_int_equal(analyze_steps(&model, 0), 2);
    assert_int_equal(analyze_steps(&model, 1), 1);
    assert_true(analyze_is_node_before(&model, 0, 0, 2));
    assert_false(analyze_is_node_before(&model, 0, 0, 1));
    assert_false(model.calls.items[0].flags & ANALYZE_UNSEEN);
    assert_true(model.calls.items[1].flags & ANALYZE_UNSEEN); // an unknown graph
    analyze_model_fini(&model);
}

static void objects_know_their_calls_and_kinds(void **state)
{
    (void)state;
    struct analyze_model model;
    begin();
    object(1, PROFILE_OBJECT_DEVICE, 1, 0);
    object(2, PROFILE_OBJECT_PINNED, 2, 0);
    object(3, PROFILE_OBJECT_PART, 0, 1);
    object(4, PROFILE_OBJECT_MANAGED, 0, 0);
    assert_int_equal(profile_end_object(writer, 1, 3, 0, &error), BASE_OK);
    for (uint64_t i = 1; i <= 3; i++)
        call((struct profile_call){.number = i,
                                   .kind = i == 3 ? PROFILE_CALL_FREE : PROFILE_CALL_ALLOC});
    load(&model);
    const struct analyze_object *rows = model.objects.items;
    assert_int_equal(rows[0].call, 0);
    assert_int_equal(rows[0].end, 2);
    assert_true(rows[0].counts && rows[0].has_parts && !rows[0].elsewhere);
    assert_true(rows[1].is_host && !rows[1].counts);
    assert_int_equal(rows[1].end, ANALYZE_NONE);
    assert_int_equal(rows[2].parent, 0);
    assert_false(rows[2].counts);
    assert_true(rows[3].elsewhere);
    assert_true(analyze_is_api(&model.calls.items[0]));
    assert_false(analyze_is_api(&model.calls.items[1]));
    assert_true(model.ended && !model.dropped);
    analyze_model_fini(&model);

    const struct profile_dropped lost = {"call", 1};
    begin(); // the call that freed it was lost
    object(1, PROFILE_OBJECT_DEVICE, 0, 0);
    assert_int_equal(profile_end_object(writer, 1, 9, 0, &error), BASE_OK);
    assert_int_equal(profile_set_dropped(writer, &lost, &error), BASE_OK);
    load(&model);
    assert_true(model.dropped && !model.unfinished);
    analyze_model_fini(&model);
}

static void calls_that_did_not_return_may_have_done_anything(void **state)
{
    (void)state;
    struct analyze_model model;
    begin();
    object(1, PROFILE_OBJECT_DEVICE, 1, 0);
    object(2, PROFILE_OBJECT_DEVICE, 6, 0); // by a call that did not return
    call((struct profile_call){.number = 1, .kind = PROFILE_CALL_ALLOC, .start_ns = 10});
    call((struct profile_call){.number = 4, .kind = PROFILE_CALL_SYNC, .start_ns = 40});
    load(&model);
    assert_true(!model.dropped && model.unfinished == 4);
    assert_int_equal(model.calls.count, 6);
    assert_int_equal(model.host.times.count, 6);
    for (uint32_t i = 0; i < 6; i++) {
        const bool returned = i == 0 || i == 3;
        const uint16_t flags = model.calls.items[i].flags;
        assert_int_equal(model.calls.items[i].number, i + 1);
        assert_int_equal(model.host.times.items[i].start_ns, i < 3 ? 10 : 40);
        assert_int_equal((flags & ANALYZE_UNFINISHED) != 0, !returned);
        assert_int_equal((flags & ANALYZE_UNSEEN) != 0, !returned);
    }
    assert_int_equal(model.objects.items[1].call, 5);
    analyze_model_fini(&model);

    const struct profile_dropped unfinished = {PROFILE_UNFINISHED, 2};
    begin(); // records were being written when the program ended
    call((struct profile_call){.number = 1, .kind = PROFILE_CALL_ALLOC});
    assert_int_equal(profile_set_dropped(writer, &unfinished, &error), BASE_OK);
    load(&model);
    assert_true(!model.dropped && model.unfinished == 1 && model.calls.count == 2);
    analyze_model_fini(&model);

    begin(); // more than a program has threads: records are missing for another reason
    call((struct profile_call){.number = UINT64_C(1) << 62, .kind = PROFILE_CALL_ALLOC});
    load(&model);
    assert_true(model.dropped);
    analyze_model_fini(&model);
}

// Calls name the part in which they start. A call that continues beyond it touches more.
static void copies_over_the_borders_of_parts_blur_their_pool(void **state)
{
    (void)state;
    for (uint64_t bytes = 10; bytes <= 11; bytes++) {
        struct analyze_model model;
        begin();
        object(1, PROFILE_OBJECT_DEVICE, 0, 0);
        for (uint64_t i = 2; i <= 3; i++) {
            const struct profile_object part = {.number = i,
                                                .kind = PROFILE_OBJECT_PART,
                                                .address = BASE + 10 * i,
                                                .bytes = 10,
                                                .parent = 1};
            assert_int_equal(profile_add_object(writer, &part, &error), BASE_OK);
        }
        call((struct profile_call){.number = 1,
                                   .kind = PROFILE_CALL_SET,
                                   .set = {.address = BASE + 20, .object = 2, .bytes = bytes}});
        load(&model);
        for (size_t i = 0; i < 3; i++)
            assert_int_equal(model.objects.items[i].blurred, bytes > 10);
        analyze_model_fini(&model);
    }
}

static void part(uint64_t number, uint64_t parent, uint64_t offset, uint64_t made, uint64_t ended)
{
    const struct profile_object row = {.number = number,
                                       .kind = PROFILE_OBJECT_PART,
                                       .address = BASE + offset,
                                       .bytes = 10,
                                       .call = made,
                                       .parent = parent};
    assert_int_equal(profile_add_object(writer, &row, &error), BASE_OK);
    if (ended)
        assert_int_equal(profile_end_object(writer, number, ended, 0, &error), BASE_OK);
}

// If one call ends a part and starts another at the same address, the part was resized. Memory that
// is merely reused is different.
static void parts_that_are_resized_are_blurred(void **state)
{
    (void)state;
    struct analyze_model model;
    begin();
    object(1, PROFILE_OBJECT_DEVICE, 0, 0);
    part(2, 1, 20, 1, 3); // resized
    part(3, 1, 40, 2, 3); // ended by the same call, elsewhere
    part(4, 1, 20, 3, 4);
    part(5, 1, 20, 5, 0); // reused
    for (uint64_t i = 1; i <= 5; i++)
        call((struct profile_call){.number = i, .kind = PROFILE_CALL_ALLOC});
    load(&model);
    static const bool blurred[] = {false, true, false, true, false};
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(model.objects.items[i].blurred, blurred[i]);
    assert_int_equal(model.objects.items[0].part_count, 4);
    assert_true(analyze_is_pool(&model.objects.items[0]));
    analyze_model_fini(&model);
}

static void parts_are_what_they_lie_in(void **state)
{
    (void)state;
    struct analyze_model model;
    begin();
    object(1, PROFILE_OBJECT_PINNED, 0, 0);
    object(2, PROFILE_OBJECT_MANAGED, 0, 0);
    part(3, 1, 0, 1, 2);
    part(4, 2, 20, 3, 0);
    for (uint64_t i = 1; i <= 3; i++)
        call((struct profile_call){.number = i, .kind = PROFILE_CALL_ALLOC});
    load(&model);
    const struct analyze_object *rows = model.objects.items;
    assert_true(rows[2].is_host && !rows[2].elsewhere);
    assert_true(!rows[3].is_host && rows[3].elsewhere);
    assert_false(analyze_is_pool(&rows[0]) || analyze_is_pool(&rows[1]));
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(analyze_is_api(&model.calls.items[i]), i == 2);
    analyze_model_fini(&model);
}

// 1003 elements: all but two runs and a range without a map are touched. One run starts and ends in
// the middle of a byte.
static void maps_tell_the_largest_piece_that_is_not_touched(void **state)
{
    (void)state;
    struct analyze_model model;
    unsigned char bits[100];
    memset(bits, 0xff, sizeof(bits));
    begin();
    object(1, PROFILE_OBJECT_DEVICE, 0, 0);
    object(2, PROFILE_OBJECT_DEVICE, 0, 0);
    struct profile_map map = {.object = 1,
                              .kind = PROFILE_MAP_TOUCHED,
                              .element_bytes = 1,
                              .elements = 1003,
                              .bits = bits,
                              .bit_bytes = 100};
    bits[10] = 0x0f; // 84 to 98 are not touched
    bits[11] = 0;
    bits[12] = 0xf8;
    assert_int_equal(profile_add_map(writer, &map, &error), BASE_OK);
    map.object = 2; // all but 800 to 1002, in two pieces
    memset(bits, 0xff, sizeof(bits));
    map.bit_bytes = 50;
    assert_int_equal(profile_add_map(writer, &map, &error), BASE_OK);
    map.first = 400;
    assert_int_equal(profile_add_map(writer, &map, &error), BASE_OK);
    load(&model);
    assert_int_equal(model.maps.count, 2);
    assert_int_equal(model.maps.items[0].touched, 800 - 15);
    assert_int_equal(model.maps.items[0].largest_first, 800);
    assert_int_equal(model.maps.items[0].largest_count, 203);
    assert_int_equal(model.maps.items[1].touched, 800);
    assert_int_equal(model.maps.items[1].largest_first, 800);
    assert_int_equal(model.maps.items[1].largest_count, 203);
    analyze_model_fini(&model);

    begin(); // only a piece in the middle
    object(1, PROFILE_OBJECT_DEVICE, 0, 0);
    bits[10] = 0x0f;
    bits[11] = 0;
    bits[12] = 0xf8;
    map = (struct profile_map){.object = 1,
                               .kind = PROFILE_MAP_TOUCHED,
                               .element_bytes = 1,
                               .elements = 800,
                               .bits = bits,
                               .bit_bytes = 100};
    assert_int_equal(profile_add_map(writer, &map, &error), BASE_OK);
    load(&model);
    assert_int_equal(model.maps.items[0].largest_first, 84);
    assert_int_equal(model.maps.items[0].largest_count, 15);
    analyze_model_fini(&model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_and_sets_touch_ranges),
        cmocka_unit_test(launches_that_do_not_tell_all_are_unseen),
        cmocka_unit_test(sampled_launches_hide_as_much_as_others),
        cmocka_unit_test(launches_that_are_known_by_arguments_hide_little),
        cmocka_unit_test(launches_in_doubt_are_unseen),
        cmocka_unit_test(launches_may_do_more_than_access_memory),
        cmocka_unit_test(values_are_loaded_with_their_calls_and_objects),
        cmocka_unit_test(requests_are_loaded_with_their_places),
        cmocka_unit_test(what_blocks_load_is_loaded_with_its_place),
        cmocka_unit_test(caches_are_loaded_with_the_times_of_launches),
        cmocka_unit_test(a_graph_touches_what_its_nodes_do_in_their_order),
        cmocka_unit_test(objects_know_their_calls_and_kinds),
        cmocka_unit_test(calls_that_did_not_return_may_have_done_anything),
        cmocka_unit_test(copies_over_the_borders_of_parts_blur_their_pool),
        cmocka_unit_test(parts_that_are_resized_are_blurred),
        cmocka_unit_test(parts_are_what_they_lie_in),
        cmocka_unit_test(maps_tell_the_largest_piece_that_is_not_touched),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
