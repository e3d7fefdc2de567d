// SPDX-License-Identifier: Apache-2.0
// Measures the analysis of a million calls on four streams that events order, with objects that
// come and go. Also prints the time for reading alone.
#include <unistd.h>

#include "analyze/analyze.h"
#include "profiles.h"

enum { CALLS = 1000000, STREAMS = 4, KERNELS = 10, PATHS = 100, LIVE = 64 };

static void add_streams(struct profile_writer *writer, struct base_error *error)
{
    for (uint32_t i = 1; i <= STREAMS; i++) {
        const struct profile_stream stream = {
            .number = i, .context = 1, .flags = i == 1 ? PROFILE_STREAM_LEGACY : 0};
        check(profile_add_stream(writer, &stream, error), error);
    }
}

static void add_object(struct profile_writer *writer, uint64_t number, uint64_t call,
                       struct base_error *error)
{
    const struct profile_object object = {.number = number,
                                          .kind = PROFILE_OBJECT_DEVICE,
                                          .address = number << 24,
                                          .bytes = 1000 + number % 7 * 100,
                                          .call = call};
    check(profile_add_object(writer, &object, error), error);
}

// Each round of ten calls allocates an object, fills it, uses it with others, and frees the oldest.
static void add_calls(struct profile_writer *writer, uint64_t calls, struct base_error *error)
{
    static const enum profile_call_kind kinds[] = {
        PROFILE_CALL_ALLOC,  PROFILE_CALL_COPY,   PROFILE_CALL_LAUNCH, PROFILE_CALL_EVENT_RECORD,
        PROFILE_CALL_LAUNCH, PROFILE_CALL_LAUNCH, PROFILE_CALL_SYNC,   PROFILE_CALL_LAUNCH,
        PROFILE_CALL_COPY,   PROFILE_CALL_FREE};
    uint64_t objects = 0;
    for (uint64_t i = 1; i <= calls; i++) {
        uint64_t step = (i - 1) % 10;
        struct profile_call call = {.number = i,
                                    .start_ns = (int64_t)i,
                                    .end_ns = (int64_t)i + 1,
                                    .thread = 1,
                                    .context = 1,
                                    .path = (uint32_t)(i % PATHS) + 1,
                                    .stream = (uint32_t)(i % STREAMS) + 1,
                                    .kind = kinds[step]};
        if (step == 0)
            add_object(writer, ++objects, i, error);
        switch (call.kind) {
        case PROFILE_CALL_ALLOC: call.stream = 0; break;
        case PROFILE_CALL_FREE:
            call.stream = 0;
            if (objects > LIVE)
                check(profile_end_object(writer, objects - LIVE, i, 0, error), error);
            break;
        case PROFILE_CALL_COPY:
            call.copy = (struct profile_copy){.bytes = 1000,
                                              .to = objects << 24,
                                              .to_object = step == 1 ? objects : 0,
                                              .from = objects << 24,
                                              .from_object = step == 1 ? 0 : objects,
                                              .direction = step == 1 ? PROFILE_HOST_TO_DEVICE
                                                                     : PROFILE_DEVICE_TO_HOST};
            break;
        case PROFILE_CALL_LAUNCH:
            call.launch = (struct profile_launch){.kernel = (uint32_t)(i % KERNELS) + 1,
                                                  .flags = PROFILE_LAUNCH_WATCHED};
            for (uint64_t k = 0; k < 3 && k < objects; k++) {
                const struct profile_access access = {
                    .call = i, .object = objects - k, .read = k > 0, .written = k == 0};
                check(profile_add_access(writer, &access, error), error);
            }
            break;
        case PROFILE_CALL_EVENT_RECORD:
            call.sync = (struct profile_sync){.event = i % 3 + 1};
            break;
        case PROFILE_CALL_SYNC: call.sync = (struct profile_sync){.stream = call.stream}; break;
        default: break;
        }
        check(profile_add_call(writer, &call, error), error);
    }
}

static bool pass_call(void *user, const struct profile_call *call)
{
    *(uint64_t *)user += call->number != 0;
    return true;
}

static bool pass_access(void *user, const struct profile_access *access)
{
    *(uint64_t *)user += access->call != 0;
    return true;
}

int main(int argc, char **argv)
{
    const char *path = "bench_analyze.glint";
    uint64_t calls = argc > 1 ? strtoull(argv[1], NULL, 10) : CALLS, rows = 0;
    struct base_error error = {0};
    struct profile_writer *writer;
    struct profile *profile;
    struct analysis *analysis;
    check(profile_create(path, true, &writer, &error), &error);
    static const char *const functions[] = {"cuMemAlloc_v2"};
    add_definitions(writer, functions, 1, KERNELS, PATHS, &error);
    add_streams(writer, &error);
    add_calls(writer, calls, &error);
    check(profile_finish(writer, PROFILE_EXITED, 0, &error), &error);

    check(profile_open(path, &profile, &error), &error);
    struct moment start = now();
    check(profile_each_call(profile, pass_call, &rows, &error), &error);
    check(profile_each_access(profile, pass_access, &rows, &error), &error);
    struct moment reading = since(start);
    start = now();
    const struct analyze_thresholds thresholds = analyze_default_thresholds();
    check(analyze_profile(profile, &thresholds, &analysis, &error), &error);
    struct moment took = since(start);
    printf("analysis of %llu calls and %llu accesses: %.2f s (%.2f s of the processor's time), of "
           "which reading %.2f s; %zu findings; wanted: at most 2 s\n",
           (unsigned long long)calls, (unsigned long long)(rows - calls), took.clock_s,
           took.processor_s, reading.processor_s, analyze_finding_count(analysis));
    analyze_free(analysis);
    profile_close(profile);
    unlink(path);
    return 0;
}
