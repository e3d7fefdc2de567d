// SPDX-License-Identifier: Apache-2.0
// Measures how large a profile of a million launches is, and how fast it is written and read,
// with the targets. bench_profile [CALLS] writes into the current folder and removes its files.
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profiles.h"

enum { CALLS = 1000000, OBJECTS = 100000, KERNELS = 4, PATHS = 500, STREAMS = 8 };

// Writes rows like a recorder: a call when it returns, and its GPU times a little later.
static void add_calls(struct profile_writer *writer, uint64_t count, struct base_error *error)
{
    enum { LATE = 64 };
    for (uint64_t i = 1; i <= count + LATE; i++) {
        int64_t start = (int64_t)i * 3500 + (int64_t)(i * 2654435761u % 1000);
        if (i <= count) {
            struct profile_call call = {.number = i,
                                        .start_ns = start,
                                        .end_ns = start + 2100 + (int64_t)(i % 700),
                                        .function = 1,
                                        .thread = 1,
                                        .context = 1,
                                        .stream = 1 + (uint32_t)(i % STREAMS),
                                        .path = 1 + (uint32_t)(i % PATHS),
                                        .kind = PROFILE_CALL_LAUNCH,
                                        .flags = PROFILE_CALL_ASYNC,
                                        .launch = {.kernel = 1 + (uint32_t)(i % KERNELS),
                                                   .grid = {1024, 1, 1},
                                                   .block = {256, 1, 1}}};
            check(profile_add_call(writer, &call, error), error);
        }
        if (i > LATE) {
            uint64_t number = i - LATE;
            int64_t begin = (int64_t)number * 3500 + 9000 + (int64_t)(number % 777);
            check(profile_add_time(writer,
                                   &(struct profile_time){
                                       .call = number, .start_ns = begin, .end_ns = begin + 15000},
                                   error),
                  error);
        }
    }
}

static void add_objects(struct profile_writer *writer, struct base_error *error)
{
    for (uint64_t i = 1; i <= OBJECTS; i++) {
        struct profile_object object = {.number = i,
                                        .kind = PROFILE_OBJECT_DEVICE,
                                        .address = 0x7f0000000000 + i * 4096,
                                        .bytes = 4000,
                                        .call = i,
                                        .context = 1,
                                        .device = 1};
        check(profile_add_object(writer, &object, error), error);
        check(profile_end_object(writer, i, i + 1, 0, error), error);
    }
}

// Writes accesses to two objects per launch: launches repeat the same accesses, or all differ.
static void add_accesses(struct profile_writer *writer, uint64_t launches, uint64_t different,
                         struct base_error *error)
{
    for (uint64_t i = 1; i <= launches; i++) {
        for (uint64_t object = 0; object < 2; object++) {
            uint64_t elements = 1000000 + i % different;
            const struct profile_access access = {.call = i,
                                                  .object = 1 + (i + object) % 200,
                                                  .read = true,
                                                  .written = object,
                                                  .bytes_read = 16 * elements,
                                                  .bytes_written = 4 * elements * object,
                                                  .elements = elements,
                                                  .new_elements = i % different,
                                                  .shared_elements = i % different / 2,
                                                  .element_bytes = 4};
            check(profile_add_access(writer, &access, error), error);
        }
    }
}

static volatile int64_t sink;

static bool see_access(void *user, const struct profile_access *access)
{
    ++*(uint64_t *)user;
    sink += (int64_t)access->elements;
    return true;
}

static bool see_call(void *user, const struct profile_call *call)
{
    ++*(uint64_t *)user;
    sink += call->gpu_end_ns;
    return true;
}

static bool see_object(void *user, const struct profile_object *object)
{
    ++*(uint64_t *)user;
    sink += (int64_t)object->bytes;
    return true;
}

static void print_rate(const char *what, double count, struct moment took, unsigned wanted)
{
    printf("%-32s %10.0f of the clock, %10.0f of the processor's time; wanted: at least %u\n", what,
           count / took.clock_s, count / took.processor_s, wanted);
}

static double file_bytes(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 ? (double)status.st_size : 0;
}

static void measure_accesses(const char *path, uint64_t launches, uint64_t different,
                             const char *what)
{
    struct base_error error = {0};
    struct profile_writer *writer;
    struct profile *profile;
    uint64_t rows = 0;
    char text[64];
    check(profile_create(path, true, &writer, &error), &error);
    struct moment start = now();
    add_accesses(writer, launches, different, &error);
    check(profile_finish(writer, PROFILE_EXITED, 0, &error), &error);
    struct moment written = since(start);
    double bytes = file_bytes(path);
    start = now();
    check(profile_open(path, &profile, &error), &error);
    check(profile_each_access(profile, see_access, &rows, &error), &error);
    profile_close(profile);
    struct moment read = since(start);
    unlink(path);
    snprintf(text, sizeof(text), "bytes an access, %s", what);
    printf("%-32s %10.0f; wanted: at most 60\n", text, bytes / (double)rows);
    snprintf(text, sizeof(text), "accesses a second, %s", what);
    print_rate(text, (double)rows, written, 500000);
    print_rate("the same, read", (double)rows, read, 1500000);
}

int main(int argc, char **argv)
{
    const char *path = "bench_profile.glint";
    uint64_t calls = argc > 1 ? strtoull(argv[1], NULL, 10) : CALLS;
    struct base_error error = {0};
    struct profile_writer *writer;

    // Objects are in a separate profile, so that the size of the first is that of the calls alone.
    check(profile_create(path, true, &writer, &error), &error);
    static const char *const functions[] = {"cuLaunchKernel"};
    add_definitions(writer, functions, 1, KERNELS, PATHS, &error);
    struct moment start = now();
    add_calls(writer, calls, &error);
    check(profile_finish(writer, PROFILE_EXITED, 0, &error), &error);
    struct moment written = since(start);
    double bytes = file_bytes(path);

    uint64_t rows = 0;
    struct profile *profile;
    start = now();
    check(profile_open(path, &profile, &error), &error);
    check(profile_each_call(profile, see_call, &rows, &error), &error);
    profile_close(profile);
    struct moment read = since(start);

    check(profile_create(path, true, &writer, &error), &error);
    start = now();
    add_objects(writer, &error);
    check(profile_finish(writer, PROFILE_EXITED, 0, &error), &error);
    struct moment objects_written = since(start);
    start = now();
    check(profile_open(path, &profile, &error), &error);
    check(profile_each_object(profile, see_object, &rows, &error), &error);
    profile_close(profile);
    struct moment objects_read = since(start);
    read.clock_s += objects_read.clock_s;
    read.processor_s += objects_read.processor_s;
    unlink(path);

    struct rusage usage;
    printf("%llu launches of %d kernels with GPU times, %d call paths; %d objects\n",
           (unsigned long long)calls, KERNELS, PATHS, OBJECTS);
    printf("%-32s %10.0f; wanted: at most 120\n", "bytes a call", bytes / (double)calls);
    print_rate("calls a second, written", (double)calls, written, 500000);
    print_rate("objects a second, written", OBJECTS, objects_written, 500000);
    print_rate("calls and objects a second, read", (double)rows, read, 1500000);
    measure_accesses(path, calls, 10, "repeated");
    measure_accesses(path, calls, UINT64_MAX, "different");
    getrusage(RUSAGE_SELF, &usage);
    printf("%-32s %10ld\n", "most memory at any time, MiB", usage.ru_maxrss / 1024);
    return 0;
}
