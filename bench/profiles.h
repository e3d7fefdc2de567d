// SPDX-License-Identifier: Apache-2.0
// What the benchmarks of the profile and of the report share: clocks, the exit after an error,
// and a synthetic program.
#ifndef GLINT_BENCH_PROFILES_H
#define GLINT_BENCH_PROFILES_H

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "profile/profile.h"

// Wall-clock time and processor time; the latter is more reliable on a busy machine.
struct moment {
    double clock_s, processor_s;
};

static inline double read_clock(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static inline struct moment now(void)
{
    return (struct moment){read_clock(CLOCK_MONOTONIC), read_clock(CLOCK_PROCESS_CPUTIME_ID)};
}

static inline struct moment since(struct moment start)
{
    struct moment end = now();
    return (struct moment){end.clock_s - start.clock_s, end.processor_s - start.processor_s};
}

static inline void check(enum base_code code, const struct base_error *error)
{
    if (code == BASE_OK)
        return;
    char text[1024];
    base_error_text(error, text, sizeof(text));
    fprintf(stderr, "bench: %s\n", text);
    exit(1);
}

// Adds a program, this many API functions, kernels, and call paths of 20 frames.
static inline void add_definitions(struct profile_writer *writer, const char *const *functions,
                                   uint32_t function_count, uint32_t kernels, uint32_t paths,
                                   struct base_error *error)
{
    enum { FRAMES = 20 };
    const char *arguments[] = {"./bench"};
    const struct profile_program program = {.executable = "/bench",
                                            .arguments = arguments,
                                            .argument_count = 1,
                                            .pid = 1,
                                            .timestamps = true};
    check(profile_set_program(writer, &program, error), error);
    for (uint32_t i = 0; i < function_count; i++)
        check(profile_add_function(writer, &(struct profile_function){i + 1, functions[i]}, error),
              error);
    for (uint32_t i = 1; i <= kernels; i++) {
        char name[32];
        snprintf(name, sizeof(name), "kernel_%u", i);
        const struct profile_kernel kernel = {.number = i, .name = name, .mangled = name};
        check(profile_add_kernel(writer, &kernel, error), error);
    }
    for (uint32_t i = 1; i <= paths; i++) {
        struct profile_frame frames[FRAMES];
        for (uint32_t depth = 0; depth < FRAMES; depth++)
            frames[depth] = (struct profile_frame){.function = "function",
                                                   .file = "file.cu",
                                                   .line = i + depth,
                                                   .image = 1,
                                                   .offset = 64u * i + depth,
                                                   .inlined = depth % 3 == 0};
        const struct profile_path path = {.number = i, .frames = frames, .frame_count = FRAMES};
        check(profile_add_path(writer, &path, error), error);
    }
}

#endif
