// SPDX-License-Identifier: Apache-2.0
// Writes profiles with the extreme cases that a report must handle: write_samples FOLDER makes
//   empty.glint   of a program that did nothing      bare.glint   without even a program
//   host.glint    only host memory                   odd.glint    names of odd characters
//   huge.glint    numbers at their limits            loop.glint   a loop: many of everything
//   kinds.glint   every kind of call and object      killed.glint ended by a signal
//   probes.glint  what probes reported               flags.glint  the same, for objects only
//   timeline.glint  threads, streams, graphs and events that overlap
//   values.glint  every pattern of values
// bare.glint is also what a recorder leaves that was killed at once.
#include <stdio.h>
#include <stdlib.h>

#include "writing.h"

static struct profile_writer *begin(const char *folder, const char *name)
{
    char path[512];
    struct profile_writer *writer;
    snprintf(path, sizeof(path), "%s/%s.glint", folder, name);
    check(profile_create(path, true, &writer, &error));
    return writer;
}

static void add_program(struct profile_writer *writer, const char *name)
{
    const struct profile_program program = {.executable = name,
                                            .folder = "/",
                                            .arguments = &name,
                                            .argument_count = 1,
                                            .pid = 1,
                                            .timestamps = true};
    check(profile_set_program(writer, &program, &error));
}

static void add_object(struct profile_writer *writer, struct profile_object object)
{
    check(profile_add_object(writer, &object, &error));
    if (object.has_end)
        check(profile_end_object(writer, object.number, object.end_call, 0, &error));
    if (object.name)
        check(
            profile_name_object(writer, object.number, object.name, PROFILE_NAME_PROGRAM, &error));
}

static void add_call(struct profile_writer *writer, struct profile_call call)
{
    call.stream = call.stream ? call.stream : 1;
    check(profile_add_call(writer, &call, &error));
}

static void write_host(const char *folder)
{
    struct profile_writer *writer = begin(folder, "host");
    add_program(writer, "./host");
    add_object(writer,
               (struct profile_object){.number = 1, .kind = PROFILE_OBJECT_PINNED, .bytes = 4096});
    add_object(writer, (struct profile_object){
                           .number = 2, .kind = PROFILE_OBJECT_REGISTERED, .bytes = 100});
    check(profile_finish(writer, PROFILE_EXITED, 0, &error));
}

// Bytes that must be escaped for a terminal, and bytes that are not UTF-8.
static void write_odd(const char *folder)
{
    static const char odd[] = "a\x1b[31m\"b\\\n\xff\xc3\xa9\xe2\x82";
    struct profile_writer *writer = begin(folder, "odd");
    const struct profile_frame frame = {odd, odd, 7, 1, 0x10, false, 0, false};
    add_program(writer, odd);
    check(profile_add_device(writer, &(struct profile_device){.number = 1, .name = odd}, &error));
    check(profile_add_function(writer, &(struct profile_function){1, odd}, &error));
    check(profile_add_image(writer, &(struct profile_image){.number = 1, .path = odd}, &error));
    check(profile_add_kernel(
        writer, &(struct profile_kernel){.number = 1, .name = odd, .mangled = odd}, &error));
    check(profile_add_path(
        writer, &(struct profile_path){.number = 1, .frames = &frame, .frame_count = 1}, &error));
    check(profile_add_note(writer, &(struct profile_note){PROFILE_ERROR, odd}, &error));
    add_call(writer, (struct profile_call){
                         .number = 1, .function = 1, .path = 1, .kind = PROFILE_CALL_ALLOC});
    add_call(writer, (struct profile_call){.number = 2,
                                           .function = 1,
                                           .path = 1,
                                           .kind = PROFILE_CALL_SYNC,
                                           .flags = PROFILE_CALL_WAITED});
    add_call(writer,
             (struct profile_call){
                 .number = 3, .function = 1, .kind = PROFILE_CALL_LAUNCH, .launch = {.kernel = 1}});
    add_object(
        writer,
        (struct profile_object){
            .number = 1, .kind = PROFILE_OBJECT_DEVICE, .bytes = 10, .call = 1, .name = odd});
    check(profile_finish(writer, PROFILE_EXITED, 0, &error));
}

static void write_huge(const char *folder)
{
    struct profile_writer *writer = begin(folder, "huge");
    add_program(writer, "./huge");
    for (uint64_t i = 1; i <= 3; i++)
        add_object(writer, (struct profile_object){.number = i,
                                                   .kind = PROFILE_OBJECT_DEVICE,
                                                   .bytes = UINT64_MAX,
                                                   .address = UINT64_MAX,
                                                   .call = i});
    add_object(writer, (struct profile_object){.number = INT64_MAX,
                                               .kind = PROFILE_OBJECT_ARRAY,
                                               .bytes = (uint64_t)1 << 60,
                                               .call = INT64_MAX});
    add_call(writer, (struct profile_call){.number = INT64_MAX,
                                           .start_ns = INT64_MIN,
                                           .end_ns = INT64_MAX,
                                           .result = INT32_MIN,
                                           .waited_ns = UINT64_MAX,
                                           .thread = UINT32_MAX,
                                           .stream = UINT32_MAX,
                                           .function = UINT32_MAX,
                                           .path = UINT32_MAX,
                                           .kind = PROFILE_CALL_SYNC,
                                           .flags = PROFILE_CALL_WAITED});
    for (uint64_t i = 1; i <= 2; i++)
        check(profile_add_access(writer,
                                 &(struct profile_access){.call = i,
                                                          .object = 1,
                                                          .node = UINT32_MAX,
                                                          .read = true,
                                                          .bytes_read = UINT64_MAX - 1,
                                                          .elements = UINT64_MAX - 1,
                                                          .new_elements = UINT64_MAX - 1,
                                                          .element_bytes = UINT32_MAX},
                                 &error));
    check(profile_set_dropped(writer, &(struct profile_dropped){"call", INT64_MAX}, &error));
    check(profile_finish(writer, PROFILE_EXITED, 255, &error));
}

// 20 times: makes 12 allocations at one place, launches one of 12 kernels, and frees all. Then once
// more with one allocation less.
static void write_loop(const char *folder)
{
    enum { ROUNDS = 21, OBJECTS = 12 };
    struct profile_writer *writer = begin(folder, "loop");
    uint64_t call = 0, object = 0;
    add_program(writer, "./loop");
    for (uint32_t i = 1; i <= OBJECTS; i++) {
        char name[96];
        snprintf(name, sizeof(name), "a_namespace::long_name<int, float>::kernel_%u(int const*)",
                 i);
        const struct profile_frame frame = {
            "main", "/home/me/project/source/loop.cu", i, 0, i, false, 0, false};
        check(profile_add_kernel(
            writer, &(struct profile_kernel){.number = i, .name = name, .mangled = name}, &error));
        check(profile_add_path(
            writer, &(struct profile_path){.number = i, .frames = &frame, .frame_count = 1},
            &error));
    }
    for (uint32_t round = 1; round <= ROUNDS; round++) {
        uint64_t before = object;
        for (uint32_t i = 1; i <= OBJECTS - (round == ROUNDS); i++) {
            char name[32];
            snprintf(name, sizeof(name), "buffer_%u", i);
            add_call(writer, (struct profile_call){.number = ++call,
                                                   .start_ns = (int64_t)call * 1000,
                                                   .end_ns = (int64_t)call * 1000 + 500,
                                                   .path = i,
                                                   .kind = PROFILE_CALL_ALLOC,
                                                   .range = {0, 1024u * i, object + 1}});
            add_object(writer, (struct profile_object){.number = ++object,
                                                       .kind = PROFILE_OBJECT_POOL,
                                                       .bytes = 1024u * i,
                                                       .call = call,
                                                       .has_end = true,
                                                       .end_call = round * 100000u,
                                                       .name = name});
        }
        add_call(writer, (struct profile_call){.number = ++call,
                                               .kind = PROFILE_CALL_LAUNCH,
                                               .has_gpu_time = true,
                                               .gpu_start_ns = (int64_t)call * 1000,
                                               .gpu_end_ns = (int64_t)call * 1000 + 100 * round,
                                               .launch = {.kernel = 1 + round % OBJECTS}});
        while (before < object)
            check(profile_end_object(writer, ++before, call + 1, 0, &error));
        add_call(writer,
                 (struct profile_call){.number = ++call, .kind = PROFILE_CALL_FREE, .path = 1});
    }
    check(profile_finish(writer, PROFILE_EXITED, 0, &error));
}

// Objects that count as device memory have 1 byte; the others have 1000.
static void write_kinds(const char *folder)
{
    struct profile_writer *writer = begin(folder, "kinds");
    add_program(writer, "./kinds");
    for (unsigned kind = 0; kind < PROFILE_CALL_KINDS; kind++)
        add_call(writer, (struct profile_call){.number = kind + 1u,
                                               .start_ns = (int64_t)kind,
                                               .end_ns = (int64_t)kind + 1,
                                               .kind = (enum profile_call_kind)kind});
    for (unsigned kind = 0; kind < PROFILE_OBJECT_KINDS; kind++) {
        bool counts = (kind >= PROFILE_OBJECT_DEVICE && kind <= PROFILE_OBJECT_MAPPING) ||
                      kind == PROFILE_OBJECT_GRAPH || kind == PROFILE_OBJECT_HEAP;
        add_object(writer, (struct profile_object){.number = kind + 1u,
                                                   .kind = (enum profile_object_kind)kind,
                                                   .bytes = counts ? 1 : 1000,
                                                   .call = 2,
                                                   .parent = kind == PROFILE_OBJECT_PART ? 2 : 0});
    }
    check(profile_finish(writer, PROFILE_EXITED, 0, &error));
}

static void add_launch(struct profile_writer *writer, uint64_t call, uint32_t kernel)
{
    add_call(writer, (struct profile_call){.number = call,
                                           .kind = PROFILE_CALL_LAUNCH,
                                           .launch = {.kernel = kernel}});
}

static void add_access(struct profile_writer *writer, struct profile_access access)
{
    check(profile_add_access(writer, &access, &error));
}

static void add_probe(struct profile_writer *writer, uint32_t kernel, const char *name,
                      uint32_t facts, const char *reason)
{
    check(profile_add_kernel(
        writer, &(struct profile_kernel){.number = kernel, .name = name, .mangled = name}, &error));
    check(profile_add_probe(writer, &(struct profile_probe){kernel, facts, reason}, &error));
}

// Kernels: one with probes in two of three launches; one in two modules, of which one cannot have
// probes, that once accesses nothing; one whose accesses are incomplete; twelve without probes, of
// which eleven are launched. Objects: half accessed, unaligned to elements, coarse, at two
// granularities, not accessed. Two accesses refer to a call and to an object whose rows are lost.
static void write_probes(const char *folder)
{
    enum { ELEMENTS = PROFILE_PROBE_OBJECTS | PROFILE_PROBE_ELEMENTS };
    struct profile_writer *writer = begin(folder, "probes");
    add_program(writer, "./probes");
    check(profile_set_setting(writer, &(struct profile_setting){"kernels", "a|b"}, &error));
    check(profile_set_setting(writer, &(struct profile_setting){"sample", "2"}, &error));
    add_probe(writer, 1, "some", ELEMENTS, NULL);
    add_probe(writer, 2, "twice", ELEMENTS | PROFILE_PROBE_COUNTS, NULL);
    add_probe(writer, 3, "twice", PROFILE_PROBE_OBJECTS, "its second module is too old");
    add_probe(writer, 4, "partly", PROFILE_PROBE_OBJECTS, "it uses textures");
    for (uint32_t i = 0; i < 12; i++) {
        char name[16];
        snprintf(name, sizeof(name), "blind_%u", i);
        add_probe(writer, 10 + i, name, 0, i % 2 ? "no PTX" : NULL);
        if (i)
            add_launch(writer, 6 + i, 10 + i);
    }
    static const struct {
        const char *name;
        uint64_t address, bytes;
    } objects[] = {{"half", 0x1000, 4000},
                   {"askew", 0x2002, 3998},
                   {"coarse", 0x4000, 100000},
                   {"mixed", 0x30000, 900},
                   {"idle", 0x40000, 800}};
    for (uint64_t i = 0; i < 5; i++)
        add_object(writer, (struct profile_object){.number = i + 1,
                                                   .kind = PROFILE_OBJECT_DEVICE,
                                                   .name = objects[i].name,
                                                   .address = objects[i].address,
                                                   .bytes = objects[i].bytes});
    for (uint32_t i = 1; i <= 3; i++)
        add_launch(writer, i, 1);
    add_launch(writer, 4, 2);
    add_launch(writer, 5, 4);
    add_call(writer,
             (struct profile_call){.number = 6,
                                   .kind = PROFILE_CALL_LAUNCH,
                                   .launch = {.kernel = 2, .flags = PROFILE_LAUNCH_WATCHED}});
    struct profile_access access = {.call = 1,
                                    .object = 1,
                                    .read = true,
                                    .bytes_read = 4096,
                                    .elements = 499,
                                    .new_elements = 499,
                                    .element_bytes = 4};
    add_access(writer, access);
    access.call = 3;
    access.written = true;
    access.bytes_written = 1024;
    access.new_elements = 1;
    access.shared_elements = 400;
    add_access(writer, access);
    access.object = 2;
    access.new_elements = access.elements = 1000; // the first and the last are incomplete
    add_access(writer, access);
    access.object = 3;
    access.element_bytes = 512;
    access.elements = access.new_elements = 1;
    access.shared_elements = 0;
    add_access(writer, access);
    access.object = 4;
    access.element_bytes = 4;
    add_access(writer, access);
    access.call = 4;
    access.element_bytes = 8;
    add_access(writer, access);
    access.object = 99;
    add_access(writer, access);
    access.call = 1000;
    access.object = 1;
    access.element_bytes = 4;
    access.new_elements = 0;
    add_access(writer, access);
    check(profile_finish(writer, PROFILE_EXITED, 0, &error));
}

static void write_flags(const char *folder)
{
    struct profile_writer *writer = begin(folder, "flags");
    add_program(writer, "./flags");
    add_probe(writer, 1, "kernel", PROFILE_PROBE_OBJECTS, NULL);
    add_launch(writer, 1, 1);
    for (uint32_t i = 2; i <= 14; i++) { // each has another reason
        char name[16], reason[16];
        snprintf(name, sizeof(name), "blind_%u", i);
        snprintf(reason, sizeof(reason), "reason %u", i);
        add_probe(writer, i, name, i % 2, reason);
        add_launch(writer, i, i);
    }
    for (uint64_t i = 1; i <= 2; i++) {
        add_object(writer, (struct profile_object){
                               .number = i, .kind = PROFILE_OBJECT_DEVICE, .bytes = 8 * i});
        add_access(writer, (struct profile_access){.call = 1,
                                                   .object = i,
                                                   .read = i == 1,
                                                   .written = i == 2,
                                                   .bytes_read = PROFILE_UNKNOWN,
                                                   .bytes_written = PROFILE_UNKNOWN,
                                                   .elements = PROFILE_UNKNOWN,
                                                   .new_elements = PROFILE_UNKNOWN,
                                                   .shared_elements = PROFILE_UNKNOWN});
    }
    check(profile_finish(writer, PROFILE_EXITED, 0, &error));
}

// Two threads whose calls are not in the order of their numbers; calls and GPU work that overlap,
// with and without GPU times, one of which is before its call; a graph whose nodes run in parallel;
// an event that is recorded twice, with waits for its first and its last record; a failed record, a
// failed launch, and a captured copy. Objects: on two GPUs; allocated and freed by one call;
// allocated and freed by missing calls; inside another object; and host memory. Dependences, by
// numbers of calls: 5 and 6 read what 3 wrote, and 7 overwrites it (after 6, the last reader). 8
// overwrites that, 9 reads and writes it, and 10 copies it over what 5 wrote. 13 waits for 12, and
// 15 for 14.
static void write_timeline(const char *folder)
{
    struct profile_writer *writer = begin(folder, "timeline");
    const char *name = "./timeline";
    check(profile_set_program(writer,
                              &(struct profile_program){.executable = name,
                                                        .arguments = &name,
                                                        .argument_count = 1,
                                                        .pid = 100,
                                                        .start_monotonic_ns = 1000000,
                                                        .start_unix_ns = 1794700000000000000,
                                                        .timestamps = true,
                                                        .has_end = true,
                                                        .end_ns = 50000,
                                                        .calls_made = 22,
                                                        .objects_made = 8},
                              &error));
    check(profile_set_dropped(writer, &(struct profile_dropped){"call", 2}, &error));
    check(profile_add_thread(writer, &(struct profile_thread){1, 100, "main"}, &error));
    check(profile_add_thread(writer, &(struct profile_thread){2, 101, NULL}, &error));
    for (uint32_t i = 1; i <= 2; i++) {
        check(profile_add_device(writer, &(struct profile_device){.number = i, .name = "GPU"},
                                 &error));
        check(profile_add_context(writer, &(struct profile_context){i, i}, &error));
        check(profile_add_stream(
            writer, &(struct profile_stream){i, i, i == 1 ? PROFILE_STREAM_LEGACY : 0, 0, 0},
            &error));
    }
    check(profile_add_kernel(
        writer, &(struct profile_kernel){.number = 1, .name = "kernel", .mangled = "kernel"},
        &error));
    const struct profile_node nodes[] = {
        {.kind = PROFILE_NODE_KERNEL, .launch = {.kernel = 1}},
        {.kind = PROFILE_NODE_COPY, .copy = {.bytes = 8, .from_object = 1, .to_object = 2}},
        {.kind = PROFILE_NODE_EMPTY}};
    check(profile_add_graph(writer, &(struct profile_graph){1, nodes, 3}, &error));
    static const struct profile_call calls[] = {
        {.kind = PROFILE_CALL_ALLOC, .start_ns = 2000, .end_ns = 2500},
        {.kind = PROFILE_CALL_ALLOC, .start_ns = 1000, .end_ns = 1100, .thread = 2},
        {.kind = PROFILE_CALL_SET, .start_ns = 3000, .end_ns = 4000, .set = {.object = 1}},
        {.kind = PROFILE_CALL_OTHER, .start_ns = 3500, .end_ns = 4500}, // overlaps
        {.kind = PROFILE_CALL_LAUNCH,
         .start_ns = 5000,
         .end_ns = 5100,
         .has_gpu_time = true,
         .gpu_start_ns = 6000,
         .gpu_end_ns = 9000},
        {.kind = PROFILE_CALL_LAUNCH,
         .start_ns = 5200,
         .end_ns = 5300,
         .has_gpu_time = true,
         .gpu_start_ns = 7000,
         .gpu_end_ns = 8000},
        {.kind = PROFILE_CALL_COPY,
         .start_ns = 9500,
         .end_ns = 9600,
         .copy = {.bytes = 8, .to_object = 1, .direction = PROFILE_HOST_TO_DEVICE}},
        {.kind = PROFILE_CALL_SET,
         .start_ns = 9700,
         .end_ns = 9800,
         .has_gpu_time = true,
         .gpu_start_ns = 9600, // before its call
         .gpu_end_ns = 9650,
         .set = {.object = 1}},
        {.kind = PROFILE_CALL_LAUNCH,
         .start_ns = 9900,
         .end_ns = 10000,
         .has_gpu_time = true,
         .gpu_start_ns = 10000,
         .gpu_end_ns = 10000},
        {.kind = PROFILE_CALL_GRAPH_LAUNCH,
         .start_ns = 11000,
         .end_ns = 11500,
         .has_gpu_time = true,
         .gpu_start_ns = 12000,
         .gpu_end_ns = 15000,
         .graph = 1},
        {.kind = PROFILE_CALL_EVENT_RECORD, .start_ns = 12000, .end_ns = 12001, .sync = {5, 1, 1}},
        {.kind = PROFILE_CALL_EVENT_RECORD, .start_ns = 12010, .end_ns = 12011, .sync = {5, 1, 2}},
        {.kind = PROFILE_CALL_EVENT_WAIT, .start_ns = 12020, .end_ns = 12021, .sync = {5, 2, 2}},
        {.kind = PROFILE_CALL_EVENT_RECORD, .start_ns = 12030, .end_ns = 12031, .sync = {6, 1, 1}},
        {.kind = PROFILE_CALL_SYNC,
         .start_ns = 13000,
         .end_ns = 16000,
         .waited_ns = 2000,
         .flags = PROFILE_CALL_WAITED,
         .sync = {6, 0, 0}},
        {.kind = PROFILE_CALL_EVENT_WAIT, .start_ns = 16010, .end_ns = 16011, .sync = {5, 2, 1}},
        {.kind = PROFILE_CALL_EVENT_RECORD,
         .start_ns = 16020,
         .end_ns = 16021,
         .result = 1,
         .sync = {7, 1, 1}},
        {.kind = PROFILE_CALL_EVENT_WAIT, .start_ns = 16030, .end_ns = 16031, .sync = {7, 2, 0}},
        {.kind = PROFILE_CALL_LAUNCH, .start_ns = 17000, .end_ns = 17001, .result = 1},
        {.kind = PROFILE_CALL_COPY,
         .start_ns = 17010,
         .end_ns = 17011,
         .flags = PROFILE_CALL_CAPTURED,
         .copy = {.from_object = 1, .to_object = 2}},
        {.kind = PROFILE_CALL_FREE, .start_ns = 18000, .end_ns = 18100},
        {.kind = PROFILE_CALL_FREE, .start_ns = 17900, .end_ns = 17950, .thread = 2},
    };
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        struct profile_call call = calls[i];
        call.number = i + 1;
        call.thread = call.thread ? call.thread : 1;
        call.context = call.stream = call.thread;
        if (call.kind == PROFILE_CALL_LAUNCH)
            call.launch = (struct profile_launch){.kernel = 1, .grid = {1, 2, 3}};
        add_call(writer, call);
    }
    check(profile_add_time(writer, &(struct profile_time){10, 1, 12000, 14000, false}, &error));
    check(profile_add_time(writer, &(struct profile_time){10, 2, 13000, 15000, false}, &error));
    static const struct {
        uint64_t call, object;
        bool read, written;
    } accesses[] = {{5, 1, true, false},
                    {5, 2, false, true},
                    {6, 1, true, false},
                    {9, 1, true, true},
                    {10, 1, true, false}};
    for (size_t i = 0; i < sizeof(accesses) / sizeof(accesses[0]); i++)
        add_access(writer, (struct profile_access){.call = accesses[i].call,
                                                   .object = accesses[i].object,
                                                   .node = accesses[i].call == 10,
                                                   .read = accesses[i].read,
                                                   .written = accesses[i].written});
    static const struct profile_object objects[] = {
        {.kind = PROFILE_OBJECT_DEVICE, .bytes = 100, .call = 1, .end_call = 21, .device = 1},
        {.kind = PROFILE_OBJECT_POOL, .bytes = 70, .call = 2, .end_call = 22, .device = 2},
        {.kind = PROFILE_OBJECT_HEAP, .bytes = 1000, .call = 5, .end_call = 5, .device = 1},
        {.kind = PROFILE_OBJECT_DEVICE, .bytes = 30, .call = 500, .end_call = 600, .device = 1},
        {.kind = PROFILE_OBJECT_PART, .bytes = 10, .call = 3, .device = 1, .parent = 1},
        {.kind = PROFILE_OBJECT_PINNED, .bytes = 5000, .call = 4, .device = 1},
        {.kind = PROFILE_OBJECT_DEVICE, .bytes = 2, .call = 4, .end_call = 6, .device = 2},
        {.kind = PROFILE_OBJECT_DEVICE, .bytes = 3, .call = 6, .device = 2},
    };
    for (size_t i = 0; i < sizeof(objects) / sizeof(objects[0]); i++) {
        struct profile_object object = objects[i];
        object.number = i + 1;
        object.has_end = object.end_call != 0;
        add_object(writer, object);
    }
    check(profile_finish(writer, PROFILE_EXITED, 0, &error));
}

// --- Values --------------------------------------------------------------------------------------

enum { VALUE_ELEMENTS = 1 << 20, VALUE_PIECES = VALUE_ELEMENTS / 1024 };

// Adds an object, a copy from the host to it, and a launch that finds the values of this field.
static void add_values(struct profile_writer *writer, uint64_t object, const char *name,
                       struct profile_value_field field)
{
    const uint64_t first = 3 * object - 2, bytes = 4 * VALUE_ELEMENTS;
    struct profile_contents contents = {.call = first + 1,
                                        .object = object,
                                        .pieces = VALUE_PIECES,
                                        .bytes = bytes,
                                        .fresh_pieces = VALUE_PIECES,
                                        .moved_bytes = bytes,
                                        .known_pieces = VALUE_PIECES,
                                        .all_pieces = VALUE_PIECES,
                                        .hash_low = field.type == PROFILE_TYPE_U32 ? 77 : object,
                                        .kind = PROFILE_CONTENTS_WRITTEN};
    field.elements = VALUE_ELEMENTS;
    add_call(writer, (struct profile_call){.number = first,
                                           .kind = PROFILE_CALL_ALLOC,
                                           .range = {object << 32, bytes, object}});
    add_call(writer, (struct profile_call){.number = first + 1,
                                           .kind = PROFILE_CALL_COPY,
                                           .copy = {.bytes = bytes,
                                                    .to = object << 32,
                                                    .to_object = object,
                                                    .direction = PROFILE_HOST_TO_DEVICE}});
    check(profile_add_contents(writer, &contents, &error));
    add_call(writer,
             (struct profile_call){.number = first + 2,
                                   .kind = PROFILE_CALL_LAUNCH,
                                   .launch = {.kernel = 1, .flags = PROFILE_LAUNCH_WATCHED}});
    contents.call++;
    contents.kind = PROFILE_CONTENTS_FOUND;
    contents.fresh_pieces = 0;
    contents.stride = 4;
    contents.field_count = 1;
    contents.fields[0] = field;
    check(profile_add_contents(writer, &contents, &error));
    check(profile_add_access(writer,
                             &(struct profile_access){.call = first + 2,
                                                      .object = object,
                                                      .read = true,
                                                      .bytes_read = PROFILE_UNKNOWN,
                                                      .bytes_written = PROFILE_UNKNOWN,
                                                      .elements = PROFILE_UNKNOWN,
                                                      .new_elements = PROFILE_UNKNOWN,
                                                      .shared_elements = PROFILE_UNKNOWN},
                             &error));
    add_object(writer, (struct profile_object){.number = object,
                                               .kind = PROFILE_OBJECT_DEVICE,
                                               .bytes = bytes,
                                               .address = object << 32,
                                               .call = first,
                                               .name = name});
}

// A launch that writes twins again: most stores change nothing.
static void add_silent(struct profile_writer *writer, uint64_t call, uint64_t object)
{
    add_call(writer,
             (struct profile_call){.number = call,
                                   .kind = PROFILE_CALL_LAUNCH,
                                   .launch = {.kernel = 1, .flags = PROFILE_LAUNCH_WATCHED}});
    check(profile_add_access(
        writer, &(struct profile_access){.call = call, .object = object, .written = true}, &error));
    check(profile_add_contents(writer,
                               &(struct profile_contents){.call = call,
                                                          .object = object,
                                                          .pieces = 1,
                                                          .bytes = 4096,
                                                          .moved_bytes = 4096,
                                                          .known_pieces = VALUE_PIECES,
                                                          .all_pieces = VALUE_PIECES,
                                                          .hash_low = call,
                                                          .kind = PROFILE_CONTENTS_WRITTEN},
                               &error));
    for (uint32_t site = 1; site <= 2; site++)
        check(profile_add_stored(writer,
                                 &(struct profile_stored){.call = call,
                                                          .object = object,
                                                          .stores = 3000 * site,
                                                          .silent = 1500 * site,
                                                          .still = PROFILE_UNKNOWN,
                                                          .kernel = 1,
                                                          .site = site,
                                                          .bytes = 4},
                                 &error));
}

static void write_values(const char *folder)
{
    const uint64_t one = 0x3ff0000000000000, minus_two = 0xc000000000000000, many = VALUE_ELEMENTS;
    struct profile_writer *writer = begin(folder, "values");
    add_program(writer, "./values");
    check(profile_add_kernel(
        writer, &(struct profile_kernel){.number = 1, .name = "use(float*)", .mangled = "use"},
        &error));
    check(profile_add_probe(
        writer,
        &(struct profile_probe){.kernel = 1, .facts = PROFILE_PROBE_OBJECTS | PROFILE_PROBE_VALUES},
        &error));
    check(profile_add_kernel_site(writer,
                                  &(struct profile_kernel_site){.kernel = 1,
                                                                .number = 1,
                                                                .access = PROFILE_SITE_STORE,
                                                                .file = "src/use.cu",
                                                                .line = 12},
                                  &error));
    check(profile_add_kernel_site(
        writer,
        &(struct profile_kernel_site){.kernel = 1, .number = 2, .access = PROFILE_SITE_ATOMIC},
        &error));
    check(profile_set_setting(writer, &(struct profile_setting){"analyses", "objects,values"},
                              &error));
    const struct profile_value_field various = {.type = PROFILE_TYPE_F32,
                                                .least = minus_two,
                                                .greatest = one,
                                                .distinct = PROFILE_DISTINCT + 1,
                                                .candidates = {{0, 1}}};
    struct profile_value_field field = various;
    field.zeros = field.candidates[0].count = many;
    add_values(writer, 1, "zero", field);
    field = various;
    field.any_bits = 0x3f800000;
    field.candidates[0] = (struct profile_candidate){one, many};
    add_values(writer, 2, "one", field);
    field = various;
    field.candidates[0] = (struct profile_candidate){minus_two, many / 4 * 3};
    add_values(writer, 3, "often", field);
    field = various;
    field.narrow = many;
    add_values(writer, 4, "narrow", field);
    field = various;
    field.distinct = 16;
    add_values(writer, 5, "few", field);
    field = various;
    field.slope = one;
    field.intercept = minus_two;
    field.linear = many - 1;
    add_values(writer, 6, "line", field);
    field = various;
    field.roundings[5] = (struct profile_rounding){one, many, 0};
    add_values(writer, 7, "nearly", field);
    field = various;
    field.type = PROFILE_TYPE_U32;
    field.least = 0;
    field.greatest = UINT32_MAX;
    add_values(writer, 8, "twin", field);
    add_values(writer, 9, "other", field);
    add_silent(writer, 28, 9);
    check(profile_finish(writer, PROFILE_EXITED, 0, &error));
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: write_samples FOLDER\n");
        return 2;
    }
    struct profile_writer *writer = begin(argv[1], "empty");
    add_program(writer, "./empty");
    check(profile_finish(writer, PROFILE_EXITED, 0, &error));
    profile_abandon(begin(argv[1], "bare"));
    writer = begin(argv[1], "killed");
    add_program(writer, "./killed");
    check(profile_finish(writer, PROFILE_SIGNALLED, 9, &error));
    writer = begin(argv[1], "ended");
    add_program(writer, "./ended");
    check(profile_finish(writer, PROFILE_ENDED, 0, &error));
    writer = begin(argv[1], "replaced");
    add_program(writer, "./replaced");
    check(profile_finish(writer, PROFILE_REPLACED, 0, &error));
    write_host(argv[1]);
    write_odd(argv[1]);
    write_huge(argv[1]);
    write_loop(argv[1]);
    write_kinds(argv[1]);
    write_probes(argv[1]);
    write_flags(argv[1]);
    write_timeline(argv[1]);
    write_values(argv[1]);
    return 0;
}
