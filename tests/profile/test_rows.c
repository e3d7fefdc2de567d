// SPDX-License-Identifier: Apache-2.0
// Every field of every kind of row is written and read back, and the views agree.
#include "testing.h"

#include "sample.h"

static int write_sample(void **state)
{
    struct base_error error = {0};
    if (make_folder(state) != 0)
        return -1;
    check_good(sample_write(test_path, &error), &error);
    return 0;
}

static struct profile *open_sample(void)
{
    struct base_error error = {0};
    struct profile *profile;
    check_good(profile_open(test_path, &profile, &error), &error);
    return profile;
}

static void meta_and_program_are_read_back(void **state)
{
    (void)state;
    struct profile *profile = open_sample();
    const struct profile_meta *meta = profile_meta(profile);
    assert_int_equal(meta->major, PROFILE_MAJOR);
    assert_int_equal(meta->minor, PROFILE_MINOR);
    assert_string_equal(meta->glint, GLINT_VERSION);
    assert_true(meta->complete);
    assert_int_equal(meta->ending, PROFILE_EXITED);
    assert_int_equal(meta->code, 3);
    const struct profile_program *program = profile_program(profile);
    assert_string_equal(program->executable, sample_program.executable);
    assert_string_equal(program->folder, sample_program.folder);
    assert_int_equal(program->argument_count, 3);
    for (unsigned i = 0; i < 3; i++)
        assert_string_equal(program->arguments[i], sample_arguments[i]);
    assert_int_equal(program->pid, 4711);
    assert_int_equal(program->parent, 4000);
    assert_int_equal(program->driver_version, 13000);
    assert_int_equal(program->start_monotonic_ns, sample_program.start_monotonic_ns);
    assert_int_equal(program->start_unix_ns, sample_program.start_unix_ns);
    assert_true(program->simulated && program->timestamps && program->has_end);
    assert_int_equal(program->end_ns, 9000000);
    assert_string_equal(program->rank.host, "node07");
    assert_string_equal(program->rank.launcher, "slurm");
    assert_string_equal(program->rank.job, "4242.0");
    assert_true(program->rank.has_number && program->rank.has_count && !program->rank.has_local);
    assert_int_equal(program->rank.number, 0);
    assert_int_equal(program->rank.count, 8);
    assert_int_equal(program->calls_made, 15);
    assert_int_equal(program->objects_made, 6);
    profile_close(profile);
}

// --- Rows, compared one by one -------------------------------------------------------------------

// The reader calls each of these with the rows in order; `user` counts them.
static bool see_image(void *user, const struct profile_image *row)
{
    const struct profile_image *wanted = &sample_images[(*(size_t *)user)++];
    assert_int_equal(row->number, wanted->number);
    check_text(row->path, wanted->path);
    check_text(row->build_id, wanted->build_id);
    assert_int_equal(row->start, wanted->start);
    assert_int_equal(row->end, wanted->end);
    assert_int_equal(row->bias, wanted->bias);
    return true;
}

static bool see_function(void *user, const struct profile_function *row)
{
    const struct profile_function *wanted = &sample_functions[(*(size_t *)user)++];
    assert_int_equal(row->number, wanted->number);
    check_text(row->name, wanted->name);
    return true;
}

static bool see_thread(void *user, const struct profile_thread *row)
{
    const struct profile_thread *wanted = &sample_threads[(*(size_t *)user)++];
    assert_int_equal(row->number, wanted->number);
    assert_int_equal(row->tid, wanted->tid);
    check_text(row->name, wanted->name);
    return true;
}

static bool see_device(void *user, const struct profile_device *row)
{
    const struct profile_device *wanted = &sample_devices[(*(size_t *)user)++];
    assert_int_equal(row->number, wanted->number);
    assert_int_equal(row->major, wanted->major);
    assert_int_equal(row->minor, wanted->minor);
    assert_int_equal(row->multiprocessors, wanted->multiprocessors);
    assert_int_equal(row->memory_bytes, wanted->memory_bytes);
    check_text(row->name, wanted->name);
    check_text(row->uuid, wanted->uuid);
    return true;
}

static bool see_context(void *user, const struct profile_context *row)
{
    const struct profile_context *wanted = &sample_contexts[(*(size_t *)user)++];
    assert_memory_equal(row, wanted, sizeof(*row));
    return true;
}

static bool see_stream(void *user, const struct profile_stream *row)
{
    const struct profile_stream *wanted = &sample_streams[(*(size_t *)user)++];
    assert_memory_equal(row, wanted, sizeof(*row));
    return true;
}

static bool see_module(void *user, const struct profile_module *row)
{
    const struct profile_module *wanted = &sample_modules[(*(size_t *)user)++];
    assert_int_equal(row->number, wanted->number);
    assert_int_equal(row->context, wanted->context);
    check_text(row->name, wanted->name);
    assert_int_equal(row->bytes, wanted->bytes);
    assert_int_equal(row->hash, wanted->hash);
    assert_int_equal(row->has_ptx, wanted->has_ptx);
    return true;
}

static bool see_kernel(void *user, const struct profile_kernel *row)
{
    const struct profile_kernel *wanted = &sample_kernels[(*(size_t *)user)++];
    assert_int_equal(row->number, wanted->number);
    assert_int_equal(row->module, wanted->module);
    check_text(row->name, wanted->name);
    check_text(row->mangled, wanted->mangled);
    assert_int_equal(row->registers, wanted->registers);
    assert_int_equal(row->static_shared_bytes, wanted->static_shared_bytes);
    assert_int_equal(row->local_bytes, wanted->local_bytes);
    return true;
}

static bool see_path(void *user, const struct profile_path *row)
{
    const struct profile_path *wanted = &sample_paths[(*(size_t *)user)++];
    assert_int_equal(row->number, wanted->number);
    assert_int_equal(row->truncated, wanted->truncated);
    assert_int_equal(row->frame_count, wanted->frame_count);
    check_text(row->called, wanted->called);
    assert_int_equal(row->result_use, wanted->result_use);
    for (uint32_t i = 0; i < row->frame_count; i++) {
        check_text(row->frames[i].function, wanted->frames[i].function);
        check_text(row->frames[i].file, wanted->frames[i].file);
        assert_int_equal(row->frames[i].line, wanted->frames[i].line);
        assert_int_equal(row->frames[i].image, wanted->frames[i].image);
        assert_int_equal(row->frames[i].offset, wanted->frames[i].offset);
        assert_int_equal(row->frames[i].start, wanted->frames[i].start);
        assert_int_equal(row->frames[i].inlined, wanted->frames[i].inlined);
        assert_int_equal(row->frames[i].python, wanted->frames[i].python);
    }
    return true;
}

static bool see_edge(void *user, const struct profile_edge *row)
{
    const struct profile_edge *wanted = &sample_edges[(*(size_t *)user)++];
    assert_memory_equal(row, wanted, sizeof(*row));
    return true;
}

static bool see_graph(void *user, const struct profile_graph *row)
{
    const struct profile_graph *wanted = &sample_graphs[(*(size_t *)user)++];
    assert_int_equal(row->number, wanted->number);
    assert_int_equal(row->node_count, wanted->node_count);
    for (uint32_t i = 0; i < row->node_count; i++) {
        const struct profile_node *node = &row->nodes[i], *other = &wanted->nodes[i];
        assert_int_equal(node->kind, other->kind);
        switch (node->kind) {
        case PROFILE_NODE_KERNEL:
            assert_memory_equal(&node->launch, &other->launch, sizeof(node->launch));
            break;
        case PROFILE_NODE_COPY:
            assert_memory_equal(&node->copy, &other->copy,
                                offsetof(struct profile_copy, direction));
            assert_int_equal(node->copy.direction, other->copy.direction);
            break;
        case PROFILE_NODE_SET:
            assert_memory_equal(&node->set, &other->set, sizeof(node->set));
            break;
        case PROFILE_NODE_ALLOC:
        case PROFILE_NODE_FREE:
            assert_memory_equal(&node->range, &other->range, sizeof(node->range));
            break;
        default: assert_int_equal(node->event, other->event); break;
        }
    }
    return true;
}

static const struct profile_call *find_call(uint64_t number)
{
    for (size_t i = 0; i < SAMPLE_COUNT(sample_calls); i++) {
        if (sample_calls[i].number == number)
            return &sample_calls[i];
    }
    return NULL;
}

static bool see_call(void *user, const struct profile_call *row)
{
    uint64_t number = ++*(size_t *)user;
    const struct profile_call *wanted = find_call(number);
    struct profile_call expected = *wanted;
    for (size_t i = 0; i < SAMPLE_COUNT(sample_times); i++) {
        if (sample_times[i].call == number && sample_times[i].node == 0) {
            expected.has_gpu_time = true;
            expected.gpu_start_ns = sample_times[i].start_ns;
            expected.gpu_end_ns = sample_times[i].end_ns;
            expected.gpu_start_estimated = sample_times[i].start_estimated;
        }
    }
    wanted = &expected;
    assert_int_equal(row->number, number);
    assert_int_equal(row->start_ns, wanted->start_ns);
    assert_int_equal(row->end_ns, wanted->end_ns);
    assert_int_equal(row->function, wanted->function);
    assert_int_equal(row->thread, wanted->thread);
    assert_int_equal(row->context, wanted->context);
    assert_int_equal(row->stream, wanted->stream);
    assert_int_equal(row->path, wanted->path);
    assert_int_equal(row->result, wanted->result);
    assert_int_equal(row->waited_ns, wanted->waited_ns);
    assert_int_equal(row->kind, wanted->kind);
    assert_int_equal(row->flags, wanted->flags);
    assert_int_equal(row->has_gpu_time, wanted->has_gpu_time);
    assert_int_equal(row->gpu_start_ns, wanted->gpu_start_ns);
    assert_int_equal(row->gpu_end_ns, wanted->gpu_end_ns);
    assert_int_equal(row->gpu_start_estimated, wanted->gpu_start_estimated);
    switch (row->kind) {
    case PROFILE_CALL_LAUNCH:
        assert_memory_equal(&row->launch, &wanted->launch, sizeof(row->launch));
        break;
    case PROFILE_CALL_COPY:
        assert_memory_equal(&row->copy, &wanted->copy, offsetof(struct profile_copy, direction));
        assert_int_equal(row->copy.direction, wanted->copy.direction);
        assert_int_equal(row->copy.host, wanted->copy.host);
        assert_int_equal(row->copy.block, wanted->copy.block);
        break;
    case PROFILE_CALL_SET: assert_memory_equal(&row->set, &wanted->set, sizeof(row->set)); break;
    case PROFILE_CALL_SYNC:
    case PROFILE_CALL_EVENT_RECORD:
    case PROFILE_CALL_EVENT_WAIT:
        assert_memory_equal(&row->sync, &wanted->sync, sizeof(row->sync));
        break;
    case PROFILE_CALL_GRAPH_LAUNCH: assert_int_equal(row->graph, wanted->graph); break;
    default: assert_memory_equal(&row->range, &wanted->range, sizeof(row->range)); break;
    }
    return true;
}

static bool see_node_time(void *user, const struct profile_time *row)
{
    const struct profile_time *wanted = &sample_times[2 + (*(size_t *)user)++];
    assert_int_equal(row->call, wanted->call);
    assert_int_equal(row->node, wanted->node);
    assert_int_equal(row->start_ns, wanted->start_ns);
    assert_int_equal(row->end_ns, wanted->end_ns);
    return true;
}

static bool see_object(void *user, const struct profile_object *row)
{
    const struct profile_object *wanted = &sample_objects[(*(size_t *)user)++];
    assert_int_equal(row->number, wanted->number);
    assert_int_equal(row->kind, wanted->kind);
    assert_int_equal(row->address, wanted->address);
    assert_int_equal(row->bytes, wanted->bytes);
    assert_int_equal(row->call, wanted->call);
    assert_int_equal(row->parent, wanted->parent);
    assert_int_equal(row->pitch, wanted->pitch);
    assert_int_equal(row->width_bytes, wanted->width_bytes);
    assert_int_equal(row->height, wanted->height);
    assert_int_equal(row->depth, wanted->depth);
    assert_int_equal(row->context, wanted->context);
    assert_int_equal(row->device, wanted->device);
    assert_int_equal(row->stream, wanted->stream);
    assert_int_equal(row->has_end, wanted->has_end);
    assert_int_equal(row->end_call, wanted->end_call);
    assert_int_equal(row->end_stream, wanted->end_stream);
    check_text(row->name, wanted->name);
    assert_int_equal(row->name_source, wanted->name_source);
    return true;
}

static bool see_nvtx_range(void *user, const struct profile_nvtx_range *row)
{
    const struct profile_nvtx_range *wanted = &sample_nvtx_ranges[(*(size_t *)user)++];
    assert_int_equal(row->number, wanted->number);
    check_text(row->name, wanted->name);
    check_text(row->domain, wanted->domain);
    assert_int_equal(row->thread, wanted->thread);
    assert_int_equal(row->start_ns, wanted->start_ns);
    assert_int_equal(row->has_end, wanted->has_end);
    assert_int_equal(row->end_ns, wanted->end_ns);
    assert_int_equal(row->pushed, wanted->pushed);
    assert_int_equal(row->end_thread, wanted->end_thread);
    return true;
}

static bool see_note(void *user, const struct profile_note *row)
{
    const struct profile_note *wanted = &sample_notes[(*(size_t *)user)++];
    assert_int_equal(row->severity, wanted->severity);
    check_text(row->text, wanted->text);
    return true;
}

static bool see_dropped(void *user, const struct profile_dropped *row)
{
    const struct profile_dropped *wanted = &sample_dropped[(*(size_t *)user)++];
    check_text(row->kind, wanted->kind);
    assert_int_equal(row->count, wanted->count);
    return true;
}

static void every_row_is_read_back(void **state)
{
    (void)state;
    struct profile *profile = open_sample();
    struct base_error error = {0};
#define CHECK_EACH(what, wanted)                                                      \
    do {                                                                              \
        size_t count = 0;                                                             \
        check_good(profile_each_##what(profile, see_##what, &count, &error), &error); \
        assert_int_equal(count, wanted);                                              \
    } while (0)
    CHECK_EACH(image, SAMPLE_COUNT(sample_images));
    CHECK_EACH(function, SAMPLE_COUNT(sample_functions));
    CHECK_EACH(thread, SAMPLE_COUNT(sample_threads));
    CHECK_EACH(device, SAMPLE_COUNT(sample_devices));
    CHECK_EACH(context, SAMPLE_COUNT(sample_contexts));
    CHECK_EACH(stream, SAMPLE_COUNT(sample_streams));
    CHECK_EACH(module, SAMPLE_COUNT(sample_modules));
    CHECK_EACH(kernel, SAMPLE_COUNT(sample_kernels));
    CHECK_EACH(path, SAMPLE_COUNT(sample_paths));
    CHECK_EACH(graph, SAMPLE_COUNT(sample_graphs));
    CHECK_EACH(edge, SAMPLE_COUNT(sample_edges));
    CHECK_EACH(call, SAMPLE_COUNT(sample_calls));
    CHECK_EACH(call, SAMPLE_COUNT(sample_calls)); // the second reading gives the same
    CHECK_EACH(node_time, 3);
    CHECK_EACH(object, SAMPLE_COUNT(sample_objects));
    CHECK_EACH(nvtx_range, SAMPLE_COUNT(sample_nvtx_ranges));
    CHECK_EACH(note, SAMPLE_COUNT(sample_notes));
    CHECK_EACH(dropped, SAMPLE_COUNT(sample_dropped));
    profile_close(profile);
}

static bool stop_at_second(void *user, const struct profile_path *row)
{
    (void)row;
    return ++*(size_t *)user < 2;
}

static bool stop_at_third(void *user, const struct profile_call *row)
{
    (void)row;
    return ++*(size_t *)user < 3;
}

static bool stop_at_once(void *user, const struct profile_graph *row)
{
    (void)row;
    ++*(size_t *)user;
    return false;
}

static void a_callback_can_stop(void **state)
{
    (void)state;
    struct profile *profile = open_sample();
    struct base_error error = {0};
    size_t count = 0;
    check_good(profile_each_path(profile, stop_at_second, &count, &error), &error);
    assert_int_equal(count, 2);
    count = 0;
    check_good(profile_each_call(profile, stop_at_third, &count, &error), &error);
    assert_int_equal(count, 3);
    count = 0;
    check_good(profile_each_graph(profile, stop_at_once, &count, &error), &error);
    assert_int_equal(count, 1);
    profile_close(profile);
}

// --- Rows that are written again -----------------------------------------------------------------

static bool last_path(void *user, const struct profile_path *row)
{
    *(uint32_t *)user += row->frame_count;
    assert_string_equal(row->frames[0].function, "main");
    assert_null(row->called);
    return true;
}

static bool keep_call(void *user, const struct profile_call *row)
{
    *(struct profile_call *)user = *row;
    return true;
}

static bool keep_object(void *user, const struct profile_object *row)
{
    *(struct profile_object *)user = *row;
    return true;
}

static void given_again_definitions_change_and_calls_do_not(void **state)
{
    (void)state;
    struct base_error error = {0};
    struct profile_writer *writer;
    check_good(profile_create(test_path, true, &writer, &error), &error);
    check_good(profile_add_path(writer, &sample_paths[0], &error), &error);
    struct profile_path again = {.number = 1, .frames = sample_frames_2, .frame_count = 2};
    check_good(profile_add_path(writer, &again, &error), &error);
    struct profile_graph graph = {1, sample_nodes, 7};
    check_good(profile_add_graph(writer, &graph, &error), &error);
    graph.node_count = 2;
    check_good(profile_add_graph(writer, &graph, &error), &error);
    struct profile_call call = {.number = 1, .kind = PROFILE_CALL_ALLOC, .range = {1, 2, 3}};
    check_good(profile_add_call(writer, &call, &error), &error);
    call.range.bytes = 99;
    call.result = 5;
    check_good(profile_add_call(writer, &call, &error), &error);
    check_good(profile_add_time(writer, &(struct profile_time){1, 0, 5, 10, false}, &error),
               &error);
    check_good(profile_commit(writer, &error), &error);
    check_good(profile_add_time(writer, &(struct profile_time){1, 0, 6, 12, false}, &error),
               &error);
    check_good(profile_set_waited(writer, 1, 4, &error), &error);
    check_good(profile_set_waited(writer, 2, 5, &error), &error); // no such call
    check_good(
        profile_add_object(
            writer, &(struct profile_object){.number = 1, .kind = PROFILE_OBJECT_HEAP}, &error),
        &error);
    check_good(profile_name_object(writer, 1, "first", PROFILE_NAME_PATH, &error), &error);
    check_good(profile_name_object(writer, 1, "second", PROFILE_NAME_PROGRAM, &error), &error);
    check_good(profile_finish(writer, PROFILE_SIGNALLED, 9, &error), &error);

    struct profile *profile = open_sample();
    assert_int_equal(profile_meta(profile)->ending, PROFILE_SIGNALLED);
    assert_int_equal(profile_meta(profile)->code, 9);
    uint32_t frames = 0;
    check_good(profile_each_path(profile, last_path, &frames, &error), &error);
    assert_int_equal(frames, 2);
    check_query(profile, "SELECT graph, node FROM v_graph_nodes", "1|1\n1|2\n");
    struct profile_call read = {0};
    check_good(profile_each_call(profile, keep_call, &read, &error), &error);
    assert_int_equal(read.range.bytes, 2);
    assert_int_equal(read.result, 0);
    assert_int_equal(read.gpu_start_ns, 6);
    assert_int_equal(read.gpu_end_ns, 12);
    assert_int_equal(read.waited_ns, 4);
    check_query(profile, "SELECT number, waited_ns FROM v_calls", "1|4\n");
    struct profile_object object = {0};
    check_good(profile_each_object(profile, keep_object, &object, &error), &error);
    assert_string_equal(object.name, "second");
    profile_close(profile);
}

// --- Views ---------------------------------------------------------------------------------------

static void views_tell_the_same(void **state)
{
    (void)state;
    struct profile *profile = open_sample();
    check_query(profile, "SELECT * FROM v_meta", "1|18|" GLINT_VERSION "|1|exited|3\n");
    check_query(profile,
                "SELECT executable, arguments, pid, driver_version, start_unix_ns, simulated,"
                " end_ns, calls_made FROM v_program",
                "/home/me/vectors|[\"./vectors\",\"--count\",\"1000 \\\"big\\\"\\n\"]|4711|13000|"
                "1794700000000000000|1|9000000|15\n");
    check_query(profile,
                "SELECT host, launcher, job, rank, ranks, local_rank, devices FROM v_program",
                "node07|slurm|4242.0|0|8||[\"00112233445566778899aabbccddeeff\"]\n");
    check_query(profile, "SELECT * FROM v_device",
                "1|0|NVIDIA H200|9|0|132|150754820096|00112233445566778899aabbccddeeff\n");
    check_query(profile, "SELECT * FROM v_threads", "1|4711|vectors\n2|4712|\n");
    check_query(profile, "SELECT * FROM v_contexts", "1|1\n");
    check_query(profile, "SELECT * FROM v_streams", "1|1|0|1|0|0|\n2|1|1|0|0|-5|\n3|1|0|0|1|0|2\n");
    check_query(profile, "SELECT * FROM v_modules", "1|1|vectors.cu|20480|fedcba9876543210|1\n");
    check_query(profile, "SELECT number, name, mangled, static_shared_bytes FROM v_kernels",
                "1|add(float*, float const*, int)|_Z3addPfPKfi|0\n"
                "2|scale(float*, float, int)|_Z5scalePffi|4096\n");
    check_query(profile, "SELECT number, name FROM v_functions LIMIT 1", "1|cuMemAlloc_v2\n");
    check_query(profile, "SELECT path, build_id FROM v_images",
                "/home/me/vectors|0badc0de\n/usr/lib/libc.so.6|\n");
    check_query(profile, "SELECT count(*) FROM v_frames", "5\n"); // one frame is in two paths
    check_query(profile,
                "SELECT id, depth, function, file, line, module, offset, inlined FROM v_call_paths"
                " WHERE id = 1 ORDER BY depth",
                "1|0|allocate|vectors.cu|12|/home/me/vectors|4660|1\n"
                "1|1|main|vectors.cu|40|/home/me/vectors|4660|0\n"
                "1|2|__libc_start_main|||/usr/lib/libc.so.6|159744|0\n");
    check_query(
        profile, "SELECT * FROM v_calls WHERE number IN (3, 5, 14) ORDER BY number",
        "3|copy|cuMemcpyHtoD_v2|1|1|1|70000|90000|75000|88000|0|1|15000|2|0|0|0|cuMemcpyHtoD\n"
        "5|launch|cuLaunchKernel|1|1|2|100000|104000|101000|150000|0|0|0|2|1|0|1|cuLaunchKernel\n"
        "14|other||1|1||225000|226000|||0|0|0|3|0|1||cudaMemcpyAsync\n");
    check_query(profile, "SELECT * FROM v_launches ORDER BY call",
                "5|1|add(float*, float const*, int)|8|1|1|128|1|1|0|0|0|1|2|100000|104000|101000|"
                "150000|2|1|1|probes\n"
                "6|2|scale(float*, float, int)|1|2|3|4|5|6|49152|4096|1|1|2|105000|108000|150000|"
                "150500|2|0|0|\n");
    check_query(profile, "SELECT * FROM v_copies ORDER BY call",
                "3|host-to-device|4000|2147418112|65536||1|pageable|device||||||1|70000|90000|"
                "75000|88000|2|allocated|1|ffffffffffffffff0000000000000abc|0|5|70|6|1|40\n"
                "11|device-to-host|4000|65536|196608|1|4|device|pinned|512|400|400|10|1|1|201000|"
                "220000|203000|217000|2|||||||||\n");
    check_query(profile, "SELECT * FROM v_sets",
                "4|131072|2|8000|4294967295|4|100|80|100|1|95000|99000|||2\n");
    check_query(profile, "SELECT * FROM v_ranges WHERE call IN (1, 13) ORDER BY call",
                "1|alloc|65536|4000|1\n13|free|65536|4000|1\n");
    check_query(
        profile, "SELECT * FROM v_syncs ORDER BY call",
        "3|implicit|cuMemcpyHtoD_v2||1||1|15000|1|1|70000|90000|2|cuMemcpyHtoD|1\n"
        "10|explicit|cuStreamSynchronize||2||1|60000|1|1|131000|200000|2|cuStreamSynchronize|1\n"
        "11|implicit|cuMemcpyDtoH_v2||1||1|10000|1|1|201000|220000|2|cuMemcpyDtoH|1\n");
    check_query(profile, "SELECT * FROM v_events ORDER BY call",
                "7|event-record|7|1|2\n8|event-wait|7|1|1\n");
    check_query(profile,
                "SELECT node, kind, name, grid_y, bytes, object, to_object, direction, value, event"
                " FROM v_graph_nodes ORDER BY graph, node",
                "1|set|||4096|1|||0|\n2|kernel|scale(float*, float, int)|2||||||\n"
                "3|copy|||4000|1|2|device-to-device||\n4|alloc|||64|6||||\n5|free||||6||||\n"
                "6|event-record||||||||7\n7|empty||||||||\n");
    check_query(profile,
                "SELECT call, graph, node, kind, kernel, gpu_start_ns, gpu_end_ns FROM v_node_runs"
                " ORDER BY call, node LIMIT 4",
                "9|1|1|set||140000|145000\n9|1|2|kernel|2|145000|170000\n"
                "9|1|3|copy||170000|180000\n9|1|4|alloc|||\n");
    check_query(profile, "SELECT * FROM v_objects ORDER BY number",
                "1|A_gpu|source|device|4000|65536|1|1||1|13||1|1000|223000|||||\n"
                "2|vectors.cu:12|place|pitched|8000|131072|1|1||2|||0|52000||100|80|80|1|\n"
                "3|||pool|1048576|262144|1|1|2|12||1|1|221000||||||\n"
                "4|||pinned|4000|196608||1|||||0|||||||\n"
                "5|tensor|program|part|256|262400|1|1|||||0|||||||3\n"
                "6|||graph|64|589824|1||||||0|||||||\n");
    check_query(profile, "SELECT * FROM v_settings ORDER BY name",
                "analyses|objects,elements,counts\nsample|10\n");
    check_query(profile, "SELECT * FROM v_nvtx_ranges",
                "1|step||1|1|10|90000|1\n2|load|files|1|0|20|30|2\n4|open||2|1|40||\n");
    check_query(profile, "SELECT * FROM v_notes WHERE number = 1",
                "1|warning|kernel foo: no PTX\n");
    check_query(profile, "SELECT * FROM v_dropped ORDER BY kind", "call|3\ntime|12\n");
    profile_close(profile);
}

static void kinds_have_words(void **state)
{
    (void)state;
    assert_string_equal(profile_call_kind_word(PROFILE_CALL_GRAPH_LAUNCH), "graph-launch");
    assert_string_equal(profile_call_kind_word(PROFILE_CALL_KINDS), "?");
    assert_string_equal(profile_object_kind_word(PROFILE_OBJECT_HEAP), "heap");
    assert_string_equal(profile_node_kind_word((enum profile_node_kind)0), "?");
    assert_string_equal(profile_memory_word(PROFILE_MEMORY_PINNED), "pinned");
    assert_string_equal(profile_direction_word(PROFILE_PEER_TO_PEER), "peer-to-peer");
    assert_string_equal(profile_severity_word(PROFILE_ERROR), "error");
    assert_string_equal(profile_name_source_word(PROFILE_NAME_PLACE), "place");
    assert_string_equal(profile_ending_word(PROFILE_RECORDER_LOST), "recorder lost");
    for (int ending = 0; ending < PROFILE_ENDINGS; ending++)
        assert_string_not_equal(profile_ending_word((enum profile_ending)ending), "?");
    for (int kind = 0; kind < PROFILE_CALL_KINDS; kind++)
        assert_string_not_equal(profile_call_kind_word((enum profile_call_kind)kind), "?");
    for (int kind = 0; kind < PROFILE_OBJECT_KINDS; kind++)
        assert_string_not_equal(profile_object_kind_word((enum profile_object_kind)kind), "?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(meta_and_program_are_read_back, write_sample,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(every_row_is_read_back, write_sample, remove_folder),
        cmocka_unit_test_setup_teardown(a_callback_can_stop, write_sample, remove_folder),
        cmocka_unit_test_setup_teardown(given_again_definitions_change_and_calls_do_not,
                                        make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(views_tell_the_same, write_sample, remove_folder),
        cmocka_unit_test(kinds_have_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
