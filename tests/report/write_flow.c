// SPDX-License-Identifier: Apache-2.0
// Writes the profile of the program of figure 3 of the ValueExpert paper, with a copy to the host
// at its end: write_flow FILE. Calls have the numbers of the figure's lines. Kernels write zeros
// over zeros.
#include "writing.h"

enum { N = 4096, BYTES = 4 * N, A = 1, B = 2, FILL = 1, MOVE = 2 };

static struct profile_writer *writer;
static uint32_t last_call;

static void add_call(struct profile_call call)
{
    call.number = call.path = ++last_call;
    call.start_ns = 1000 * (int64_t)call.number;
    call.end_ns = call.start_ns + 500;
    call.context = call.thread = call.stream = 1;
    check(profile_add_call(writer, &call, &error));
}

static void allocate(uint64_t object, const char *name)
{
    add_call((struct profile_call){
        .kind = PROFILE_CALL_ALLOC, .function = 1, .range = {object << 32, BYTES, object}});
    check(profile_add_object(writer,
                             &(struct profile_object){.number = object,
                                                      .kind = PROFILE_OBJECT_DEVICE,
                                                      .address = object << 32,
                                                      .bytes = BYTES,
                                                      .call = last_call,
                                                      .device = 1},
                             &error));
    check(profile_name_object(writer, object, name, PROFILE_NAME_SOURCE, &error));
}

static void set_zeros(uint64_t object)
{
    add_call((struct profile_call){
        .kind = PROFILE_CALL_SET,
        .function = 2,
        .set = {.address = object << 32, .object = object, .bytes = BYTES, .value_bytes = 1}});
}

static void launch(uint32_t kernel)
{
    add_call((struct profile_call){.kind = PROFILE_CALL_LAUNCH,
                                   .function = 3,
                                   .launch = {kernel, .grid = {N / 256, 1, 1}, .block = {256, 1, 1},
                                              .flags = PROFILE_LAUNCH_WATCHED}});
}

static void access(uint64_t object, bool writes, uint64_t elements)
{
    check(profile_add_access(writer,
                             &(struct profile_access){.call = last_call,
                                                      .object = object,
                                                      .bytes_read = PROFILE_UNKNOWN,
                                                      .bytes_written = PROFILE_UNKNOWN,
                                                      .elements = elements,
                                                      .element_bytes = 4,
                                                      .read = !writes,
                                                      .written = writes},
                             &error));
}

// Of the elements that the last launch wrote, so many were the same before.
static void compare(uint64_t object, uint32_t kernel, uint64_t elements, uint64_t same)
{
    check(profile_add_contents(writer,
                               &(struct profile_contents){.call = last_call,
                                                          .object = object,
                                                          .pieces = elements / 1024,
                                                          .bytes = 4 * elements,
                                                          .moved_bytes = 4 * elements,
                                                          .same_bytes = 0,
                                                          .known_pieces = 4,
                                                          .all_pieces = 4,
                                                          .stride = 4,
                                                          .kind = PROFILE_CONTENTS_WRITTEN},
                               &error));
    check(profile_add_stored(writer,
                             &(struct profile_stored){.call = last_call,
                                                      .object = object,
                                                      .stores = elements,
                                                      .silent = same,
                                                      .still = PROFILE_UNKNOWN,
                                                      .kernel = kernel,
                                                      .site = 1,
                                                      .bytes = 4},
                             &error));
}

static void add_definitions(void)
{
    static const char *const functions[] = {"cudaMalloc", "cudaMemset", "cudaLaunchKernel",
                                            "cudaMemcpy"};
    static const char *const kernels[] = {"fill(float*, int)", "move(float*, float const*, int)"};
    const char *argument = "figure";
    check(profile_set_program(writer,
                              &(struct profile_program){.executable = "/figure",
                                                        .folder = "/",
                                                        .arguments = &argument,
                                                        .argument_count = 1,
                                                        .pid = 1},
                              &error));
    for (uint32_t i = 0; i < 4; i++)
        check(
            profile_add_function(writer, &(struct profile_function){i + 1, functions[i]}, &error));
    check(profile_add_stream(writer, &(struct profile_stream){.number = 1, .context = 1}, &error));
    check(profile_add_thread(writer, &(struct profile_thread){1, 1, NULL}, &error));
    for (uint32_t i = 0; i < 2; i++) {
        check(profile_add_kernel(
            writer, &(struct profile_kernel){.number = i + 1, .name = kernels[i]}, &error));
        check(profile_add_probe(
            writer,
            &(struct profile_probe){
                i + 1, PROFILE_PROBE_OBJECTS | PROFILE_PROBE_ELEMENTS | PROFILE_PROBE_VALUES, NULL},
            &error));
    }
    for (uint32_t line = 1; line <= 8; line++) {
        const struct profile_frame frame = {"main",     "figure.cu", line, 1,
                                            64u * line, false,       0,    false};
        check(profile_add_path(
            writer, &(struct profile_path){.number = line, .frames = &frame, .frame_count = 1},
            &error));
    }
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: write_flow FILE\n");
        return 2;
    }
    check(profile_create(argv[1], true, &writer, &error));
    add_definitions();
    allocate(A, "A_dev");
    allocate(B, "B_dev");
    set_zeros(A);
    set_zeros(B);
    launch(FILL);
    access(A, true, N);
    compare(A, FILL, N, N);
    launch(FILL);
    access(B, true, N / 2);
    compare(B, FILL, N / 2, N / 4);
    launch(MOVE);
    access(A, false, N);
    access(B, true, N);
    compare(B, MOVE, N, 0);
    add_call((struct profile_call){.kind = PROFILE_CALL_COPY,
                                   .function = 4,
                                   .copy = {.bytes = BYTES,
                                            .from = (uint64_t)B << 32,
                                            .from_object = B,
                                            .from_memory = PROFILE_MEMORY_DEVICE,
                                            .to_memory = PROFILE_MEMORY_PAGEABLE,
                                            .direction = PROFILE_DEVICE_TO_HOST}});
    check(profile_finish(writer, PROFILE_EXITED, 0, &error));
    return 0;
}
