// SPDX-License-Identifier: Apache-2.0
// Writes profiles of the ranks of a synthetic job, for tests and benchmarks. Each rank allocates a
// field, a halo and a scratch buffer that nobody uses, and then repeats: copy the halo to the GPU,
// run kernels on the field, wait, copy the halo back, with a temporary buffer in each step. What is
// random comes from the seed alone.
#ifndef GLINT_TESTS_JOB_RANKS_H
#define GLINT_TESTS_JOB_RANKS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/profile.h"

struct ranks_options {
    uint32_t rank, ranks; // ranks 0: the rank is unknown
    uint64_t calls;       // about so many, besides collectives
    uint64_t seed;        // 0: nothing is random
    uint32_t kernels;     // at most 64; 0: 4
    uint32_t factor;      // of the field's size; 0: 1
    uint32_t slowness;    // of waits; 0: 1
    bool simulated;
    bool communicating;    // uses collectives, in ranges of NVTX
    bool killed;           // the recorder was killed
    const char *signature; // of the job; NULL: "job-1"
};

struct ranks_writing {
    const struct ranks_options *options;
    struct profile_writer *writer;
    struct base_error error;
    uint64_t random, call, object, range, collectives;
    int64_t now_ns;
};

static inline void ranks_check(enum base_code code, const struct base_error *error)
{
    char text[1024];
    if (code == BASE_OK)
        return;
    base_error_text(error, text, sizeof(text));
    fprintf(stderr, "ranks: %s\n", text);
    exit(1);
}

// A number below `most`; 0 if nothing is random.
static inline uint64_t ranks_random(struct ranks_writing *of, uint64_t most)
{
    of->random ^= of->random << 13;
    of->random ^= of->random >> 7;
    of->random ^= of->random << 17;
    return of->random % most;
}

enum {
    RANKS_PATH_FIELD = 1,
    RANKS_PATH_HALO,
    RANKS_PATH_SCRATCH,
    RANKS_PATH_COPY_IN,
    RANKS_PATH_LAUNCH,
    RANKS_PATH_WAIT,
    RANKS_PATH_COPY_OUT,
    RANKS_PATH_TEMPORARY,
    RANKS_PATH_FREE,
    RANKS_PATH_COLLECTIVE,
    RANKS_PATHS
};

static inline void ranks_define(struct ranks_writing *of)
{
    static const char *const functions[] = {
        "cuMemAlloc_v2",   "cuMemFree_v2",    "cuLaunchKernel",
        "cuMemcpyHtoD_v2", "cuMemcpyDtoH_v2", "cuStreamSynchronize",
        "ncclAllReduce",   "ncclSend",        "ncclGroupEnd"};
    const struct ranks_options *options = of->options;
    const char *arguments[] = {"./stencil", "--steps", "100"};
    char host[32];
    snprintf(host, sizeof(host), "node%u", options->rank / 4);
    const struct profile_program program = {
        .executable = "/home/me/stencil",
        .folder = "/home/me",
        .arguments = arguments,
        .argument_count = 3,
        .pid = 1000 + (int32_t)options->rank,
        .parent = 1,
        .driver_version = 13000,
        .start_monotonic_ns = 5000000000 + (int64_t)options->rank * 1000,
        .start_unix_ns =
            1700000000000000000 + (int64_t)options->rank * 1000 + (int64_t)options->seed * 1000000,
        .simulated = options->simulated,
        .timestamps = true,
        .rank = {.host = host,
                 .launcher = options->ranks ? "openmpi" : NULL,
                 .job = options->ranks ? options->signature ? options->signature : "job-1" : NULL,
                 .has_number = options->ranks != 0,
                 .has_count = options->ranks != 0,
                 .has_local = options->ranks != 0,
                 .number = options->rank,
                 .count = options->ranks,
                 .local = options->rank % 4}};
    ranks_check(profile_set_program(of->writer, &program, &of->error), &of->error);
    for (uint32_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
        ranks_check(profile_add_function(
                        of->writer, &(struct profile_function){i + 1, functions[i]}, &of->error),
                    &of->error);
    ranks_check(profile_add_image(of->writer,
                                  &(struct profile_image){.number = 1, .path = "/home/me/stencil"},
                                  &of->error),
                &of->error);
    const uint32_t kernels = options->kernels ? options->kernels : 4;
    for (uint32_t i = 1; i <= kernels; i++) {
        char name[32];
        snprintf(name, sizeof(name), "kernel_%u", i);
        const struct profile_kernel kernel = {.number = i, .name = name, .mangled = name};
        ranks_check(profile_add_kernel(of->writer, &kernel, &of->error), &of->error);
        ranks_check(profile_add_probe(of->writer, &(struct profile_probe){.kernel = i, .facts = 1},
                                      &of->error),
                    &of->error);
    }
    for (uint32_t i = 1; i < RANKS_PATHS; i++) {
        const struct profile_frame frames[] = {
            {.function = i < RANKS_PATH_COPY_IN ? "setup" : "step",
             .file = "/home/me/stencil.cu",
             .line = 10 * i,
             .image = 1,
             .offset = 64 * i},
            {.function = "main",
             .file = "/home/me/stencil.cu",
             .line = 5,
             .image = 1,
             .offset = 8}};
        ranks_check(profile_add_path(
                        of->writer,
                        &(struct profile_path){.number = i, .frames = frames, .frame_count = 2},
                        &of->error),
                    &of->error);
    }
    ranks_check(profile_add_device(of->writer,
                                   &(struct profile_device){.number = 1,
                                                            .name = "NVIDIA H200",
                                                            .uuid = "GPU-1",
                                                            .major = 9,
                                                            .memory_bytes = 141u << 30,
                                                            .multiprocessors = 132},
                                   &of->error),
                &of->error);
    ranks_check(profile_add_context(of->writer, &(struct profile_context){1, 1}, &of->error),
                &of->error);
    ranks_check(profile_add_stream(of->writer, &(struct profile_stream){.number = 1, .context = 1},
                                   &of->error),
                &of->error);
    ranks_check(profile_set_setting(of->writer, &(struct profile_setting){"analyses", "objects"},
                                    &of->error),
                &of->error);
}

static inline uint64_t ranks_call(struct ranks_writing *of, struct profile_call call,
                                  uint64_t gpu_ns)
{
    call.number = ++of->call;
    call.start_ns = of->now_ns;
    call.end_ns = of->now_ns + 2000;
    call.thread = call.context = call.stream = 1;
    if (gpu_ns) {
        call.has_gpu_time = true;
        call.gpu_start_ns = call.end_ns;
        call.gpu_end_ns = call.end_ns + (int64_t)gpu_ns;
    }
    of->now_ns = call.end_ns + (int64_t)call.waited_ns + 1000;
    call.end_ns += (int64_t)call.waited_ns;
    ranks_check(profile_add_call(of->writer, &call, &of->error), &of->error);
    return call.number;
}

static inline uint64_t ranks_allocate(struct ranks_writing *of, const char *name, uint64_t bytes,
                                      uint32_t path)
{
    const uint64_t object = ++of->object, address = object << 32;
    const uint64_t call = ranks_call(of,
                                     (struct profile_call){.kind = PROFILE_CALL_ALLOC,
                                                           .function = 1,
                                                           .path = path,
                                                           .range = {address, bytes, object}},
                                     0);
    ranks_check(profile_add_object(of->writer,
                                   &(struct profile_object){.number = object,
                                                            .kind = PROFILE_OBJECT_DEVICE,
                                                            .address = address,
                                                            .bytes = bytes,
                                                            .call = call,
                                                            .context = 1,
                                                            .device = 1},
                                   &of->error),
                &of->error);
    ranks_check(profile_name_object(of->writer, object, name, PROFILE_NAME_SOURCE, &of->error),
                &of->error);
    return object;
}

static inline void ranks_free(struct ranks_writing *of, uint64_t object)
{
    const uint64_t call = ranks_call(of,
                                     (struct profile_call){.kind = PROFILE_CALL_FREE,
                                                           .function = 2,
                                                           .path = RANKS_PATH_FREE,
                                                           .range = {object << 32, 0, object}},
                                     0);
    ranks_check(profile_end_object(of->writer, object, call, 0, &of->error), &of->error);
}

static inline void ranks_copy(struct ranks_writing *of, uint64_t object, uint64_t bytes, bool in)
{
    struct profile_copy copy = {.bytes = bytes,
                                .from_memory = PROFILE_MEMORY_PAGEABLE,
                                .to_memory = PROFILE_MEMORY_DEVICE,
                                .to_object = object,
                                .direction = PROFILE_HOST_TO_DEVICE};
    if (!in)
        copy = (struct profile_copy){.bytes = bytes,
                                     .from_memory = PROFILE_MEMORY_DEVICE,
                                     .to_memory = PROFILE_MEMORY_PAGEABLE,
                                     .from_object = object,
                                     .direction = PROFILE_DEVICE_TO_HOST};
    ranks_call(of,
               (struct profile_call){.kind = PROFILE_CALL_COPY,
                                     .function = in ? 4 : 5,
                                     .path = in ? RANKS_PATH_COPY_IN : RANKS_PATH_COPY_OUT,
                                     .copy = copy},
               bytes / 50 + 1);
}

static inline void ranks_launch(struct ranks_writing *of, uint32_t kernel, const uint64_t *objects,
                                unsigned count, uint64_t gpu_ns)
{
    const uint64_t call =
        ranks_call(of,
                   (struct profile_call){.kind = PROFILE_CALL_LAUNCH,
                                         .function = 3,
                                         .path = RANKS_PATH_LAUNCH,
                                         .launch = {.kernel = kernel,
                                                    .grid = {1024, 1, 1},
                                                    .block = {256, 1, 1},
                                                    .flags = PROFILE_LAUNCH_WATCHED}},
                   gpu_ns);
    for (unsigned i = 0; i < count; i++)
        ranks_check(profile_add_access(
                        of->writer,
                        &(struct profile_access){
                            .call = call, .object = objects[i], .read = true, .written = i == 0},
                        &of->error),
                    &of->error);
}

// Adds a collective; 0 bytes: they are not known.
static inline void ranks_collective(struct ranks_writing *of, uint32_t function,
                                    uint32_t communicator, uint64_t sent, uint64_t received)
{
    enum { ALL_REDUCE = 7, GROUP_END = 9, NS = 3000 };
    const int64_t start_ns = of->now_ns;
    const uint64_t call = ranks_call(of,
                                     (struct profile_call){.kind = PROFILE_CALL_OTHER,
                                                           .function = function,
                                                           .path = RANKS_PATH_COLLECTIVE},
                                     0);
    of->collectives++;
    ranks_check(
        profile_add_collective(
            of->writer,
            &(struct profile_collective){
                .call = call,
                .start_ns = start_ns,
                .end_ns = start_ns + NS + (int64_t)(of->options->seed ? ranks_random(of, 500) : 0),
                .count = sent ? sent / 4 : UINT64_MAX,
                .sent_bytes = sent ? sent : UINT64_MAX,
                .received_bytes = received ? received : UINT64_MAX,
                .communicator = communicator,
                .rank = communicator ? (int32_t)(of->options->rank % 4) : -1,
                .ranks = communicator == 1   ? (int32_t)of->options->ranks
                         : communicator == 2 ? 4
                                             : -1,
                .peer = function == ALL_REDUCE || function == GROUP_END ? -1 : 1,
                .status = of->call % 16 == 0 ? 5 : 0,
                .type =
                    function == GROUP_END ? PROFILE_COLLECTIVE_NONE : PROFILE_COLLECTIVE_FLOAT32},
            &of->error),
        &of->error);
}

// Adds a range of NVTX; its end may be unknown.
static inline void ranks_range(struct ranks_writing *of, const char *name, const char *domain,
                               int64_t start_ns, bool ends)
{
    const uint64_t number = ++of->range;
    ranks_check(profile_add_nvtx_range(of->writer,
                                       &(struct profile_nvtx_range){.number = number,
                                                                    .name = name,
                                                                    .domain = domain,
                                                                    .thread = 1,
                                                                    .start_ns = start_ns,
                                                                    .pushed = true},
                                       &of->error),
                &of->error);
    if (ends)
        ranks_check(profile_end_nvtx_range(of->writer, number, of->now_ns, 1, &of->error),
                    &of->error);
}

static inline void ranks_communicate(struct ranks_writing *of, uint64_t step, uint64_t bytes)
{
    const uint32_t rank = of->options->rank;
    const int64_t start_ns = of->now_ns;
    char name[32];
    ranks_collective(of, 7, 1, bytes, bytes);
    ranks_collective(of, 8, 2, bytes << (rank == 3), 0);
    ranks_collective(of, 8, 1, bytes, 0);
    ranks_collective(of, 9, 0, 0, 0);
    snprintf(name, sizeof(name), "step %u", (unsigned)(step % 3));
    ranks_range(of, "exchange", NULL, start_ns, true);
    ranks_range(of, name, "stencil", start_ns, step % 5 != 4);
}

static inline void ranks_note(struct ranks_writing *of, enum profile_severity severity,
                              const char *text)
{
    const struct profile_note note = {.severity = severity, .text = text};
    ranks_check(profile_add_note(of->writer, &note, &of->error), &of->error);
}

static inline void ranks_write(const char *path, const struct ranks_options *options)
{
    enum { STEP_CALLS = 8 };
    struct ranks_writing of = {.options = options,
                               .random = options->seed * 0x9e3779b97f4a7c15u + options->rank + 1};
    const uint32_t kernels = options->kernels ? options->kernels : 4,
                   slowness = options->slowness ? options->slowness : 1;
    const uint64_t field_bytes = (uint64_t)(options->factor ? options->factor : 1) << 26;
    const bool random = options->seed != 0;
    ranks_check(profile_create(path, true, &of.writer, &of.error), &of.error);
    ranks_define(&of);
    const uint64_t field = ranks_allocate(&of, "field", field_bytes, RANKS_PATH_FIELD),
                   halo = ranks_allocate(&of, "halo", 1 << 20, RANKS_PATH_HALO),
                   scratch = ranks_allocate(&of, "scratch", 8 << 20, RANKS_PATH_SCRATCH);
    for (uint64_t step = 0; of.call - of.collectives + STEP_CALLS < options->calls; step++) {
        const uint64_t bytes = (1 << 20) - (random ? ranks_random(&of, 1 << 19) : 0);
        ranks_copy(&of, halo, bytes, true);
        const uint64_t temporary =
            ranks_allocate(&of, "temporary", 4096 * (1 + (random ? ranks_random(&of, 100) : 9)),
                           RANKS_PATH_TEMPORARY);
        for (unsigned i = 0; i < 2; i++)
            ranks_launch(&of, 1 + (uint32_t)((2 * step + i) % kernels),
                         (const uint64_t[]){field, halo, temporary}, 3,
                         20000 + (random ? ranks_random(&of, 5000) : 0));
        ranks_call(&of,
                   (struct profile_call){
                       .kind = PROFILE_CALL_SYNC,
                       .function = 6,
                       .path = RANKS_PATH_WAIT,
                       .flags = PROFILE_CALL_WAITED,
                       .waited_ns = slowness * (10000 + (random ? ranks_random(&of, 1000) : 0))},
                   0);
        ranks_copy(&of, halo, bytes, false);
        ranks_free(&of, temporary);
        if (options->communicating)
            ranks_communicate(&of, step, bytes);
    }
    ranks_free(&of, scratch);
    ranks_free(&of, halo);
    ranks_free(&of, field);
    ranks_note(&of, PROFILE_INFO, "a note of every rank");
    if (slowness > 1)
        ranks_note(&of, PROFILE_WARNING, "a warning of a slow rank");
    if (options->killed) {
        ranks_check(profile_commit(of.writer, &of.error), &of.error);
        profile_abandon(of.writer);
    } else {
        ranks_check(profile_finish(of.writer, PROFILE_EXITED, 0, &of.error), &of.error);
    }
}

#endif
