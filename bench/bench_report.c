// SPDX-License-Identifier: Apache-2.0
// Measures how long `glint report` takes for profiles of up to a million calls, and with how much
// memory, with the targets. Half of the calls allocate and free, the rest are launches, copies
// and waits; each launch has probe results for two objects. bench_report [CALLS] writes into the
// current folder and removes its files.
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "profiles.h"
#include "report/report.h"

enum { CALLS = 1000000, KERNELS = 40, PATHS = 2000, LIVE = 50 };

// The call frees the object that was allocated LIVE rounds before.
static void add_calls(struct profile_writer *writer, uint64_t count, struct base_error *error)
{
    uint64_t objects = 0, freed = 0;
    for (uint64_t i = 1; i <= count; i++) {
        struct profile_call call = {.number = i,
                                    .start_ns = (int64_t)i * 3500,
                                    .end_ns = (int64_t)i * 3500 + 2100 + (int64_t)(i % 700),
                                    .thread = 1,
                                    .context = 1,
                                    .stream = 1,
                                    .path = 1 + (uint32_t)(i * 2654435761u % PATHS),
                                    .result = 0};
        bool makes = i % 4 == 0, frees = i % 4 == 1 && objects > freed + LIVE;
        if (makes) {
            call.kind = PROFILE_CALL_ALLOC;
            call.function = 1;
            call.range = (struct profile_range){4096 * ++objects, 4000 + i % 4096, objects};
            check(profile_add_object(writer,
                                     &(struct profile_object){.number = objects,
                                                              .kind = PROFILE_OBJECT_DEVICE,
                                                              .address = 4096 * objects,
                                                              .bytes = 4000 + i % 4096,
                                                              .call = i,
                                                              .device = 1},
                                     error),
                  error);
            char name[32];
            snprintf(name, sizeof(name), "buffer_%u", call.path);
            check(profile_name_object(writer, objects, name, PROFILE_NAME_SOURCE, error), error);
        } else if (frees) {
            call.kind = PROFILE_CALL_FREE;
            call.function = 2;
            call.range.object = ++freed;
            check(profile_end_object(writer, freed, i, 0, error), error);
        } else if (i % 8 == 6) {
            call.kind = PROFILE_CALL_SYNC;
            call.function = 5;
            call.flags = PROFILE_CALL_WAITED;
            call.waited_ns = 1000 + i % 1000;
        } else if (i % 8 == 2) {
            call.kind = PROFILE_CALL_COPY;
            call.function = 4;
            call.copy = (struct profile_copy){.bytes = 4000,
                                              .to_object = objects,
                                              .from_memory = PROFILE_MEMORY_PAGEABLE,
                                              .to_memory = PROFILE_MEMORY_DEVICE,
                                              .direction = PROFILE_HOST_TO_DEVICE};
        } else {
            call.kind = PROFILE_CALL_LAUNCH;
            call.function = 3;
            call.launch = (struct profile_launch){
                .kernel = 1 + (uint32_t)(i % KERNELS), .grid = {1024, 1, 1}, .block = {256, 1, 1}};
            call.has_gpu_time = true;
            call.gpu_start_ns = call.end_ns + 1000;
            call.gpu_end_ns = call.end_ns + 16000;
            for (uint64_t object = objects > 1 ? objects - 1 : 1; object <= objects; object++) {
                const struct profile_access access = {.call = i,
                                                      .object = object,
                                                      .read = true,
                                                      .written = object == objects,
                                                      .bytes_read = 4000 + i % 1000,
                                                      .elements = 1000,
                                                      .new_elements = i % 1000,
                                                      .element_bytes = 4};
                check(profile_add_access(writer, &access, error), error);
            }
        }
        check(profile_add_call(writer, &call, error), error);
    }
}

static bool count_bytes(void *user, const char *bytes, size_t length)
{
    (void)bytes;
    *(uint64_t *)user += length;
    return true;
}

static enum base_code write_text(struct profile *profile, uint64_t *bytes, struct base_error *error)
{
    return report_text(profile, NULL, &(struct report_choice){.verbose = true},
                       &(struct report_style){.width = 100}, count_bytes, bytes, error);
}

static enum base_code write_json(struct profile *profile, uint64_t *bytes, struct base_error *error)
{
    return report_json(profile, NULL, count_bytes, bytes, error);
}

static enum base_code write_sarif(struct profile *profile, uint64_t *bytes,
                                  struct base_error *error)
{
    return report_sarif(profile, NULL, "/", count_bytes, bytes, error);
}

static enum base_code write_perfetto(struct profile *profile, uint64_t *bytes,
                                     struct base_error *error)
{
    return report_perfetto(profile, NULL, count_bytes, bytes, error);
}

static enum base_code write_html(struct profile *profile, uint64_t *bytes, struct base_error *error)
{
    return report_html(profile, NULL, count_bytes, bytes, error);
}

static enum base_code write_dot(struct profile *profile, uint64_t *bytes, struct base_error *error)
{
    return report_dot(profile, NULL, &(struct report_flow_choice){0}, count_bytes, bytes, error);
}

typedef enum base_code write_format(struct profile *profile, uint64_t *bytes,
                                    struct base_error *error);

// Runs in a child process, so that the peak memory of the process is that of the report.
static void report(const char *path, const char *name, write_format *write, const char *wanted)
{
    fflush(stdout);
    pid_t process = fork();
    if (process == 0) {
        struct base_error error = {0};
        struct profile *profile;
        uint64_t bytes = 0;
        struct moment start = now();
        check(profile_open(path, &profile, &error), &error);
        check(write(profile, &bytes, &error), &error);
        profile_close(profile);
        struct moment took = since(start);
        struct rusage usage;
        getrusage(RUSAGE_SELF, &usage);
        printf("%-8s %8.2f s (%.2f s of the processor's time), %6.0f MB, %12llu bytes%s\n", name,
               took.clock_s, took.processor_s, (double)usage.ru_maxrss / 1000,
               (unsigned long long)bytes, wanted);
        fflush(stdout);
        _exit(0);
    }
    int status = 1;
    waitpid(process, &status, 0);
    if (status != 0)
        exit(1);
}

static void run(const char *path, uint64_t calls)
{
    struct base_error error = {0};
    struct profile_writer *writer;
    const char *wanted = calls == CALLS ? "; wanted: at most 3 s and 300 MB" : "";
    check(profile_create(path, true, &writer, &error), &error);
    static const char *const functions[] = {"cuMemAlloc_v2", "cuMemFree_v2", "cuLaunchKernel",
                                            "cuMemcpyHtoD_v2", "cuStreamSynchronize"};
    add_definitions(writer, functions, 5, KERNELS, PATHS, &error);
    add_calls(writer, calls, &error);
    check(profile_finish(writer, PROFILE_EXITED, 0, &error), &error);
    printf("reports on %llu calls, a quarter of them objects, %d call paths\n",
           (unsigned long long)calls, PATHS);
    report(path, "text", write_text, wanted);
    report(path, "json", write_json, wanted);
    report(path, "sarif", write_sarif, wanted);
    report(path, "perfetto", write_perfetto, "");
    report(path, "dot", write_dot, wanted);
    report(path, "html", write_html, "; wanted: at most 8,000,000 bytes");
    unlink(path);
}

int main(int argc, char **argv)
{
    static const uint64_t sizes[] = {1000, 100000, CALLS};
    const char *path = "bench_report.glint";
    if (argc > 1)
        run(path, strtoull(argv[1], NULL, 10));
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]) && argc < 2; i++)
        run(path, sizes[i]);
    return 0;
}
