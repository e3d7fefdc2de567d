// SPDX-License-Identifier: Apache-2.0
// Writes the profile of a program that waits for the GPU in every way for which there is a pattern:
// write_waits FILE [simulated]; or, with `managed N` instead, one that waits ten times, N of them
// before results in managed memory, whose use is not observed.
#include "writing.h"

enum { US = 1000, MS = 1000000, BYTES = 4 << 20 };

// Call paths, by the line of solve.cu that they end at.
enum {
    ALLOCATE = 10,
    FREE = 14,
    SYNC = 20,
    COPY_OUT = 30,
    WAIT_OUT = 31,
    USE_OUT = 38,
    COPY_IN = 40,
    COPY_TABLE = 50,
    HOST_ALLOCATE = 60,
    HOST_FREE = 61,
    LAUNCH = 70,
};

static struct profile_writer *writer;
static uint64_t last_call, last_object;
static int64_t now_ns = 1000;

static uint64_t add_call(struct profile_call call, int64_t took_ns)
{
    call.number = ++last_call;
    call.start_ns = now_ns;
    call.end_ns = now_ns += took_ns;
    call.context = call.thread = 1;
    call.flags |= call.waited_ns ? PROFILE_CALL_WAITED : 0;
    check(profile_add_call(writer, &call, &error));
    return call.number;
}

static void add_time(uint64_t call, int64_t gpu_ns)
{
    check(profile_add_time(
        writer, &(struct profile_time){.call = call, .start_ns = 0, .end_ns = gpu_ns}, &error));
}

static void launch(int64_t gpu_ns)
{
    add_time(add_call((struct profile_call){.kind = PROFILE_CALL_LAUNCH,
                                            .path = LAUNCH,
                                            .stream = 1,
                                            .flags = PROFILE_CALL_ASYNC,
                                            .launch = {1, .grid = {1, 1, 1}, .block = {32, 1, 1},
                                                       .flags = PROFILE_LAUNCH_WATCHED}},
                      5 * US),
             gpu_ns);
}

static uint64_t allocate(uint32_t path, const char *name)
{
    const uint64_t object = ++last_object, address = object << 32;
    uint64_t call = add_call((struct profile_call){.kind = PROFILE_CALL_ALLOC,
                                                   .path = path,
                                                   .range = {address, BYTES, object}},
                             60 * US);
    check(profile_add_object(writer,
                             &(struct profile_object){.number = object,
                                                      .kind = PROFILE_OBJECT_DEVICE,
                                                      .address = address,
                                                      .bytes = BYTES,
                                                      .context = 1,
                                                      .device = 1,
                                                      .call = call},
                             &error));
    check(profile_name_object(writer, object, name, PROFILE_NAME_SOURCE, &error));
    return object;
}

static void release(uint64_t object, uint32_t path, int64_t waited_ns)
{
    uint64_t call = add_call((struct profile_call){.kind = PROFILE_CALL_FREE,
                                                   .path = path,
                                                   .waited_ns = (uint64_t)waited_ns,
                                                   .range = {object << 32, BYTES, object}},
                             waited_ns);
    check(profile_end_object(writer, object, call, 0, &error));
}

static uint64_t copy(uint64_t object, uint32_t path, bool to_host, bool waits, uint64_t block)
{
    const struct profile_copy row = {
        .bytes = BYTES,
        .from = to_host ? object << 32 : 0x7000,
        .to = to_host ? 0x9000 : object << 32,
        .from_object = to_host ? object : 0,
        .to_object = to_host ? 0 : object,
        .from_memory = to_host ? PROFILE_MEMORY_DEVICE : PROFILE_MEMORY_PAGEABLE,
        .to_memory = to_host ? PROFILE_MEMORY_PINNED : PROFILE_MEMORY_DEVICE,
        .direction = to_host ? PROFILE_DEVICE_TO_HOST : PROFILE_HOST_TO_DEVICE,
        .host = to_host ? PROFILE_HOST_PINNED : PROFILE_HOST_ALLOCATED,
        .block = block};
    uint64_t call = add_call((struct profile_call){.kind = PROFILE_CALL_COPY,
                                                   .path = path,
                                                   .stream = 1,
                                                   .flags = waits ? 0 : PROFILE_CALL_ASYNC,
                                                   .waited_ns = waits ? MS : 0,
                                                   .copy = row},
                             waits ? 2 * MS : 6 * US);
    add_time(call, MS);
    return call;
}

static uint64_t synchronise(uint32_t path, int64_t waited_ns)
{
    return add_call((struct profile_call){.kind = PROFILE_CALL_SYNC,
                                          .path = path,
                                          .waited_ns = (uint64_t)waited_ns},
                    waited_ns + 2 * US);
}

static void define(void)
{
    static const uint32_t lines[] = {ALLOCATE,      FREE,      SYNC,    COPY_OUT,
                                     WAIT_OUT,      USE_OUT,   COPY_IN, COPY_TABLE,
                                     HOST_ALLOCATE, HOST_FREE, LAUNCH};
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        const struct profile_frame frame = {
            .function = "main", .file = "/home/me/solve.cu", .line = lines[i]};
        check(profile_add_path(
            writer, &(struct profile_path){.number = lines[i], .frames = &frame, .frame_count = 1},
            &error));
    }
    check(profile_add_stream(
        writer, &(struct profile_stream){.number = 1, .context = 1, .flags = PROFILE_STREAM_LEGACY},
        &error));
    check(
        profile_set_setting(writer, &(struct profile_setting){"analyses", "objects,sync"}, &error));
    check(profile_set_setting(writer, &(struct profile_setting){"sync_tracking", "on"}, &error));
    check(profile_add_kernel(
        writer, &(struct profile_kernel){.number = 1, .name = "step", .mangled = "step"}, &error));
    check(profile_add_block(writer,
                            &(struct profile_block){.number = 1,
                                                    .bytes = BYTES,
                                                    .allocated_path = HOST_ALLOCATE,
                                                    .kind = PROFILE_HOST_ALLOCATED},
                            &error));
    check(profile_add_block_end(
        writer, &(struct profile_block_end){.number = 1, .freed_path = HOST_FREE}, &error));
}

static void run(void)
{
    uint64_t values = allocate(1, "values"), table = allocate(1, "table");
    for (int i = 0; i < 6; i++) {
        uint64_t scratch = allocate(ALLOCATE, "scratch");
        launch(MS);
        release(scratch, FREE, MS);
        now_ns += MS / 2;
    }
    for (int i = 0; i < 4; i++) {
        launch(2 * MS);
        synchronise(SYNC, 2 * MS);
        now_ns += MS;
    }
    for (int i = 0; i < 3; i++) {
        launch(3 * MS);
        uint64_t out = copy(values, COPY_OUT, true, false, 0);
        uint64_t sync = synchronise(WAIT_OUT, 4 * MS);
        now_ns += 4 * MS;
        check(profile_add_use(writer,
                              &(struct profile_use){.sync = sync,
                                                    .copy = out,
                                                    .kind = PROFILE_USE_READ,
                                                    .bytes = BYTES,
                                                    .time_ns = now_ns,
                                                    .thread = 1,
                                                    .path = USE_OUT},
                              &error));
        now_ns += MS;
    }
    for (int i = 0; i < 3; i++) {
        launch(MS);
        copy(values, COPY_IN, false, true, 1);
        now_ns += MS;
    }
    for (int i = 0; i < 3; i++) {
        uint64_t in = copy(table, COPY_TABLE, false, false, 0);
        check(profile_add_hash(
            writer, &(struct profile_hash){.copy = in, .at = in, .high = 1, .low = 2}, &error));
        now_ns += MS / 2;
    }
    now_ns += 2 * MS;
}

static void run_managed(int unknown)
{
    for (int i = 0; i < 10; i++) {
        launch(MS);
        const uint64_t sync = synchronise(i < unknown ? SYNC : WAIT_OUT, MS);
        check(profile_add_use(
            writer,
            &(struct profile_use){.sync = sync,
                                  .kind = i < unknown ? PROFILE_USE_UNKNOWN : PROFILE_USE_READ,
                                  .bytes = BYTES,
                                  .time_ns = now_ns,
                                  .thread = 1,
                                  .path = USE_OUT},
            &error));
    }
}

int main(int argc, char **argv)
{
    static const char *const arguments[] = {"./solve"};
    if (argc < 2 || argc > 4) {
        fprintf(stderr, "usage: write_waits FILE [simulated | managed N]\n");
        return 2;
    }
    check(profile_create(argv[1], true, &writer, &error));
    define();
    if (argc == 4)
        run_managed(atoi(argv[3]));
    else
        run();
    const struct profile_program program = {.executable = "/home/me/solve",
                                            .arguments = arguments,
                                            .argument_count = 1,
                                            .timestamps = true,
                                            .simulated = argc >= 3,
                                            .has_end = true,
                                            .end_ns = now_ns,
                                            .calls_made = last_call,
                                            .objects_made = last_object};
    check(profile_set_program(writer, &program, &error));
    check(profile_finish(writer, PROFILE_EXITED, 0, &error));
    return 0;
}
