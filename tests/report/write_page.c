// SPDX-License-Identifier: Apache-2.0
// Writes a profile for the tests of the page: write_page FILE CALLS OBJECTS. The program allocates
// OBJECTS objects, uses them in turn on four streams with copies, launches and waits, and frees
// them late. The names would break a page that does not escape them as text.
#include <stdio.h>
#include <stdlib.h>

#include "writing.h"

enum { STREAMS = 4, KERNELS = 12, PATHS = 300, HOSTILE = 5 };

static const char hostile[] = "</script><img src=x onerror=\"document.title='harmed'\"><script>";
static void put_name(char *name, size_t size, const char *word, uint64_t number)
{
    if (number == HOSTILE)
        snprintf(name, size, "%s", hostile);
    else
        snprintf(name, size, "%s_%llu", word, (unsigned long long)number);
}

static void add_definitions(struct profile_writer *writer)
{
    static const char *const functions[] = {"cuMemAlloc_v2", "cuMemFree_v2", "cuLaunchKernel",
                                            "cuMemcpyHtoDAsync_v2", "cuStreamSynchronize"};
    const char *argument = hostile;
    check(profile_set_program(writer,
                              &(struct profile_program){.executable = "/write_page",
                                                        .folder = "/",
                                                        .arguments = &argument,
                                                        .argument_count = 1,
                                                        .pid = 1,
                                                        .timestamps = true},
                              &error));
    for (uint32_t i = 0; i < 5; i++)
        check(
            profile_add_function(writer, &(struct profile_function){i + 1, functions[i]}, &error));
    for (uint32_t i = 1; i <= STREAMS; i++)
        check(profile_add_stream(writer, &(struct profile_stream){.number = i, .context = 1},
                                 &error));
    check(profile_add_thread(writer, &(struct profile_thread){1, 1, hostile}, &error));
    for (uint32_t i = 1; i <= KERNELS; i++) {
        char name[128];
        put_name(name, sizeof(name), "kernel", i);
        check(profile_add_kernel(writer, &(struct profile_kernel){.number = i, .name = name},
                                 &error));
        check(profile_add_probe(writer, &(struct profile_probe){i, PROFILE_PROBE_OBJECTS, NULL},
                                &error));
    }
    for (uint32_t i = 1; i <= PATHS; i++) {
        const struct profile_frame frames[] = {{"step", "loop.cu", i, 1, 64u * i, false, 0, false},
                                               {hostile, "main.cu", 12, 1, 1, false, 0, false}};
        check(profile_add_path(
            writer, &(struct profile_path){.number = i, .frames = frames, .frame_count = 2},
            &error));
    }
}

static void make_object(struct profile_writer *writer, uint64_t number, uint64_t call)
{
    char name[128];
    put_name(name, sizeof(name), "buffer", number % 500);
    check(profile_add_object(writer,
                             &(struct profile_object){.number = number,
                                                      .kind = PROFILE_OBJECT_DEVICE,
                                                      .address = number << 24,
                                                      .bytes = 4096 * (1 + number % 97),
                                                      .call = call,
                                                      .device = 1},
                             &error));
    check(profile_name_object(writer, number, name, PROFILE_NAME_SOURCE, &error));
}

static void launch(struct profile_writer *writer, struct profile_call *call, uint64_t objects)
{
    call->kind = PROFILE_CALL_LAUNCH;
    call->function = 3;
    call->launch = (struct profile_launch){.kernel = 1 + (uint32_t)(call->number % KERNELS),
                                           .grid = {64, 1, 1},
                                           .block = {256, 1, 1},
                                           .flags = PROFILE_LAUNCH_WATCHED};
    for (uint64_t i = 0; i < 2; i++) {
        const struct profile_access access = {.call = call->number,
                                              .object = 1 + (call->number * 7 / 5 + i) % objects,
                                              .read = i == 0,
                                              .written = i == 1,
                                              .bytes_read = PROFILE_UNKNOWN,
                                              .bytes_written = PROFILE_UNKNOWN,
                                              .elements = PROFILE_UNKNOWN,
                                              .new_elements = PROFILE_UNKNOWN,
                                              .shared_elements = PROFILE_UNKNOWN};
        check(profile_add_access(writer, &access, &error));
    }
}

// The first calls allocate the objects, and the last calls free them.
static void add_calls(struct profile_writer *writer, uint64_t count, uint64_t objects)
{
    for (uint64_t i = 1; i <= count; i++) {
        struct profile_call call = {.number = i,
                                    .start_ns = (int64_t)i * 4000,
                                    .end_ns = (int64_t)i * 4000 + 1500 + (int64_t)(i % 700),
                                    .thread = 1,
                                    .context = 1,
                                    .stream = 1 + (uint32_t)(i % STREAMS),
                                    .path = 1 + (uint32_t)(i % PATHS)};
        if (i <= objects) {
            call.kind = PROFILE_CALL_ALLOC;
            call.function = 1;
            call.range.object = i;
            make_object(writer, i, i);
        } else if (i > count - objects) {
            call.kind = PROFILE_CALL_FREE;
            call.function = 2;
            call.range.object = i - (count - objects);
            check(profile_end_object(writer, call.range.object, i, 0, &error));
        } else if (i % 10 == 0) {
            call.kind = PROFILE_CALL_SYNC;
            call.function = 5;
            call.flags = PROFILE_CALL_WAITED;
            call.waited_ns = 1000;
        } else if (i % 10 == 5) {
            call.kind = PROFILE_CALL_COPY;
            call.function = 4;
            call.copy = (struct profile_copy){.bytes = 4096,
                                              .to_object = 1 + i % objects,
                                              .from_memory = PROFILE_MEMORY_PINNED,
                                              .to_memory = PROFILE_MEMORY_DEVICE,
                                              .direction = PROFILE_HOST_TO_DEVICE};
        } else {
            launch(writer, &call, objects);
        }
        call.has_gpu_time = call.kind == PROFILE_CALL_LAUNCH || call.kind == PROFILE_CALL_COPY;
        call.gpu_start_ns = call.end_ns + 1000;
        call.gpu_end_ns = call.end_ns + 9000 + (int64_t)(i % 5000);
        check(profile_add_call(writer, &call, &error));
    }
}

int main(int argc, char **argv)
{
    struct profile_writer *writer;
    uint64_t calls = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
    uint64_t objects = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;
    if (objects == 0 || calls < 2 * objects) {
        fprintf(stderr,
                "usage: write_page FILE CALLS OBJECTS, with more than two calls an object\n");
        return 2;
    }
    check(profile_create(argv[1], true, &writer, &error));
    add_definitions(writer);
    add_calls(writer, calls, objects);
    check(profile_finish(writer, PROFILE_EXITED, 0, &error));
    return 0;
}
