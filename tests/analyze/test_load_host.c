// SPDX-License-Identifier: Apache-2.0
// What is loaded from a profile about the host: times, copies and the data they moved, first uses,
// and whether first uses were watched.
#include "models.h"

#include "../profile/folder.h"

static struct base_error error;
static struct profile_writer *writer;

#define PUT(what, ...)                                                        \
    do {                                                                      \
        const struct profile_##what row_ = __VA_ARGS__;                       \
        assert_int_equal(profile_add_##what(writer, &row_, &error), BASE_OK); \
    } while (0)

static void begin(const char *tracking)
{
    static const char *const arguments[] = {"./a"};
    const struct profile_program program = {.executable = "./a",
                                            .arguments = arguments,
                                            .argument_count = 1,
                                            .pid = 77,
                                            .timestamps = true,
                                            .has_end = true,
                                            .end_ns = 9000,
                                            .calls_made = 3};
    assert_int_equal(profile_create(test_path, true, &writer, &error), BASE_OK);
    assert_int_equal(profile_set_program(writer, &program, &error), BASE_OK);
    if (tracking) {
        const struct profile_setting setting = {"sync_tracking", tracking};
        assert_int_equal(profile_set_setting(writer, &setting, &error), BASE_OK);
    }
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

static void copies_come_with_what_they_moved(void **state)
{
    (void)state;
    struct analyze_model model;
    begin("on");
    PUT(function, {.number = 5, .name = "cuMemcpyHtoD_v2"});
    PUT(function, {.number = 6, .name = "cuEventElapsedTime_v2"});
    PUT(function, {.number = 7, .name = "cuMemPoolExportPointer"});
    PUT(call, {.number = 1,
               .kind = PROFILE_CALL_COPY,
               .function = 5,
               .start_ns = 100,
               .end_ns = 400,
               .waited_ns = 250,
               .copy = {.bytes = 64,
                        .from = 0x1000,
                        .to = 0x2000,
                        .from_memory = PROFILE_MEMORY_PAGEABLE,
                        .to_memory = PROFILE_MEMORY_DEVICE,
                        .direction = PROFILE_HOST_TO_DEVICE,
                        .host = PROFILE_HOST_ALLOCATED,
                        .block = 3}});
    PUT(call, {.number = 2,
               .kind = PROFILE_CALL_COPY,
               .start_ns = 500,
               .end_ns = 600,
               .waited_ns = 250, // more than the call took
               .copy = {.bytes = 32,
                        .from = 0x2000,
                        .to = 0x3000,
                        .to_memory = PROFILE_MEMORY_PINNED,
                        .direction = PROFILE_DEVICE_TO_HOST}});
    PUT(call,
        {.number = 3, .kind = PROFILE_CALL_SYNC, .function = 6, .start_ns = 700, .end_ns = 9500});
    PUT(hash, {.copy = 2, .at = 2, .high = 8, .low = 9, .same = PROFILE_SAME_YES});
    PUT(block, {.number = 3, .bytes = 100, .allocated_path = 11, .kind = PROFILE_HOST_ALLOCATED});
    PUT(block_end, {.number = 3, .freed_path = 12});
    PUT(use, {.sync = 2, .copy = 2, .kind = PROFILE_USE_READ, .time_ns = 650, .path = 13});
    load(&model);
    const struct analyze_host *host = &model.host;
    assert_int_equal(host->times.count, 3);
    assert_int_equal(host->times.items[0].waited_ns, 250);
    assert_int_equal(host->times.items[1].waited_ns, 100);
    assert_int_equal(host->end_ns, 9500);
    assert_int_equal(host->copies.count, 2);
    const struct analyze_copy *in = &host->copies.items[0], *out = &host->copies.items[1];
    assert_false(in->to_host || in->hashed);
    assert_int_equal(in->host_address, 0x1000);
    assert_int_equal(in->memory, PROFILE_MEMORY_PAGEABLE);
    assert_true(out->to_host && out->hashed && out->same_before);
    assert_int_equal(out->host_address, 0x3000);
    assert_int_equal(out->hash[0], 8);
    assert_int_equal(out->hash[1], 9);
    const struct analyze_host_block *block = analyze_find_block(host, in->block);
    assert_non_null(block);
    assert_int_equal(block->allocated, 11);
    assert_int_equal(block->freed, 12);
    assert_null(analyze_find_block(host, out->block));
    assert_int_equal(host->first_uses.count, 1);
    assert_int_equal(host->first_uses.items[0].sync, 1);
    assert_int_equal(host->first_uses.items[0].copy, 1);
    assert_int_equal(host->first_uses.items[0].path, 13);
    assert_true(host->tracked && host->knows_timing && host->has_gpu_times);
    assert_int_equal(model.calls.items[0].flags & (ANALYZE_TIMES | ANALYZE_SHARES), 0);
    assert_int_equal(model.calls.items[2].flags & (ANALYZE_TIMES | ANALYZE_SHARES), ANALYZE_TIMES);
    analyze_model_fini(&model);
}

static void first_uses_that_were_not_watched_for_are_known_not_to_be(void **state)
{
    (void)state;
    static const struct {
        const char *setting, *note;
        enum profile_severity severity;
        bool tracked;
    } cases[] = {{"on", NULL, PROFILE_INFO, true},
                 {"off", NULL, PROFILE_INFO, false},
                 {NULL, NULL, PROFILE_INFO, false}, // an older version
                 {"on", "first uses are not watched: SIGSEGV is blocked", PROFILE_WARNING, false},
                 {"on", "first uses of some data were not watched for, because it took too long",
                  PROFILE_INFO, true}, // unwatched data is recorded individually
                 {"on", "something else", PROFILE_WARNING, true}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct analyze_model model;
        begin(cases[i].setting);
        if (cases[i].note)
            PUT(note, {cases[i].severity, cases[i].note});
        load(&model);
        assert_int_equal(model.host.tracked, cases[i].tracked);
        assert_int_equal(model.host.given_up, cases[i].setting &&
                                                  strcmp(cases[i].setting, "off") != 0 &&
                                                  !cases[i].tracked);
        assert_false(model.host.knows_timing);
        analyze_model_fini(&model);
    }
}

static void graphs_that_call_the_host_or_read_its_memory_are_known(void **state)
{
    (void)state;
    static const struct {
        struct profile_node node;
        bool host;
    } cases[] = {
        {{.kind = PROFILE_NODE_KERNEL}, false},
        {{.kind = PROFILE_NODE_HOST}, true},
        {{.kind = PROFILE_NODE_COPY, .copy = {.direction = PROFILE_HOST_TO_DEVICE}}, true},
        {{.kind = PROFILE_NODE_COPY, .copy = {.direction = PROFILE_DEVICE_TO_HOST}}, false}};
    struct analyze_model model;
    begin("on");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        PUT(graph, {.number = i + 1, .nodes = &cases[i].node, .node_count = 1});
    load(&model);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal(model.host.host_graphs[i], cases[i].host);
    analyze_model_fini(&model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_come_with_what_they_moved),
        cmocka_unit_test(first_uses_that_were_not_watched_for_are_known_not_to_be),
        cmocka_unit_test(graphs_that_call_the_host_or_read_its_memory_are_known),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
