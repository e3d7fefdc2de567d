// SPDX-License-Identifier: Apache-2.0
// Writes small profiles for tests that compare them: objects at source locations, kernels, copies
// and waits. For test programs, which exit at the first failure.
#ifndef GLINT_TESTS_REPORT_PAIRS_H
#define GLINT_TESTS_REPORT_PAIRS_H

#include <stdio.h>
#include <stdlib.h>

#include "profile/profile.h"

struct pair_writer {
    struct profile_writer *writer;
    struct base_error error;
    uint64_t calls, objects;
    uint32_t paths, kernels;
};

static inline void pair_check(struct pair_writer *to, enum base_code code)
{
    char text[1024];
    if (code == BASE_OK)
        return;
    base_error_text(&to->error, text, sizeof(text));
    fprintf(stderr, "cannot write the profile: %s\n", text);
    exit(1);
}

static inline void pair_begin_on(struct pair_writer *to, const char *path, const char *analyses,
                                 bool simulated)
{
    static const char *const argument = "./program";
    const struct profile_program program = {.executable = "/there/program",
                                            .folder = "/",
                                            .arguments = &argument,
                                            .argument_count = 1,
                                            .pid = 1,
                                            .simulated = simulated,
                                            .timestamps = true};
    *to = (struct pair_writer){0};
    pair_check(to, profile_create(path, true, &to->writer, &to->error));
    pair_check(to, profile_set_program(to->writer, &program, &to->error));
    pair_check(to,
               profile_add_device(to->writer, &(struct profile_device){.number = 1, .name = "H200"},
                                  &to->error));
    pair_check(to, profile_add_function(to->writer,
                                        &(struct profile_function){1, "cuStreamSynchronize"},
                                        &to->error));
    pair_check(to, profile_set_setting(to->writer, &(struct profile_setting){"analyses", analyses},
                                       &to->error));
}

// Begins a profile of a real GPU.
static inline void pair_begin(struct pair_writer *to, const char *path, const char *analyses)
{
    pair_begin_on(to, path, analyses, false);
}

// "inner" at file:line, called by main.
static inline uint32_t pair_path(struct pair_writer *to, const char *function, const char *file,
                                 uint32_t line)
{
    const struct profile_frame frames[] = {{function, file, line, 0, line, false, 0, false},
                                           {"main", "/src/main.cu", 100, 0, 9000, false, 0, false}};
    const struct profile_path path = {.number = ++to->paths, .frames = frames, .frame_count = 2};
    pair_check(to, profile_add_path(to->writer, &path, &to->error));
    return path.number;
}

static inline uint32_t pair_kernel(struct pair_writer *to, const char *name)
{
    const struct profile_kernel kernel = {.number = ++to->kernels, .name = name, .mangled = name};
    pair_check(to, profile_add_kernel(to->writer, &kernel, &to->error));
    return kernel.number;
}

static inline uint64_t pair_call(struct pair_writer *to, struct profile_call call)
{
    call.number = ++to->calls;
    call.start_ns = (int64_t)call.number * 1000;
    call.end_ns = call.start_ns + 500;
    call.stream = call.stream ? call.stream : 1;
    pair_check(to, profile_add_call(to->writer, &call, &to->error));
    return call.number;
}

// name NULL: only its location identifies it.
static inline uint64_t pair_alloc(struct pair_writer *to, const char *name, uint64_t bytes,
                                  uint32_t path)
{
    const uint64_t number = ++to->objects;
    const uint64_t call =
        pair_call(to, (struct profile_call){
                          .kind = PROFILE_CALL_ALLOC, .path = path, .range = {0, bytes, number}});
    const struct profile_object object = {.number = number,
                                          .kind = PROFILE_OBJECT_DEVICE,
                                          .address = number << 32,
                                          .bytes = bytes,
                                          .call = call};
    pair_check(to, profile_add_object(to->writer, &object, &to->error));
    if (name)
        pair_check(to,
                   profile_name_object(to->writer, number, name, PROFILE_NAME_SOURCE, &to->error));
    return number;
}

static inline void pair_free(struct pair_writer *to, uint64_t object, uint32_t path)
{
    const uint64_t call = pair_call(
        to,
        (struct profile_call){.kind = PROFILE_CALL_FREE, .path = path, .range = {0, 0, object}});
    pair_check(to, profile_end_object(to->writer, object, call, 0, &to->error));
}

// Adds a watched launch that reads and writes the object; object 0: none.
static inline void pair_launch(struct pair_writer *to, uint32_t kernel, uint64_t object,
                               uint64_t ns, uint32_t path)
{
    const uint64_t call = pair_call(
        to, (struct profile_call){.kind = PROFILE_CALL_LAUNCH,
                                  .path = path,
                                  .has_gpu_time = true,
                                  .gpu_start_ns = (int64_t)to->calls * 1000,
                                  .gpu_end_ns = (int64_t)to->calls * 1000 + (int64_t)ns,
                                  .launch = {.kernel = kernel, .flags = PROFILE_LAUNCH_WATCHED}});
    if (object)
        pair_check(to,
                   profile_add_access(to->writer,
                                      &(struct profile_access){.call = call,
                                                               .object = object,
                                                               .read = true,
                                                               .written = true,
                                                               .bytes_read = PROFILE_UNKNOWN,
                                                               .bytes_written = PROFILE_UNKNOWN,
                                                               .elements = PROFILE_UNKNOWN,
                                                               .new_elements = PROFILE_UNKNOWN,
                                                               .shared_elements = PROFILE_UNKNOWN},
                                      &to->error));
}

static inline void pair_copy(struct pair_writer *to, uint64_t object, uint64_t bytes, uint64_t ns)
{
    pair_call(to, (struct profile_call){.kind = PROFILE_CALL_COPY,
                                        .has_gpu_time = true,
                                        .gpu_end_ns = (int64_t)ns,
                                        .copy = {.to_object = object,
                                                 .bytes = bytes,
                                                 .to = object << 32,
                                                 .direction = PROFILE_HOST_TO_DEVICE}});
}

static inline void pair_wait(struct pair_writer *to, uint64_t ns, uint32_t path)
{
    pair_call(to, (struct profile_call){.kind = PROFILE_CALL_SYNC,
                                        .function = 1,
                                        .path = path,
                                        .waited_ns = ns,
                                        .flags = PROFILE_CALL_WAITED});
}

static inline void pair_end(struct pair_writer *to)
{
    pair_check(to, profile_finish(to->writer, PROFILE_EXITED, 0, &to->error));
}

#endif
