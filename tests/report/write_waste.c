// SPDX-License-Identifier: Apache-2.0
// Writes profiles with findings, for tests of reports. write_waste FILE makes one with findings of
// several patterns, whose places and names contain characters that outputs must escape. write_waste
// FILE COUNT makes one with COUNT different unused objects. 500 of them make a peak, and all peaks
// are equally high, so a fix saves memory only together with others.
#include <stdio.h>
#include <stdlib.h>

#include "writing.h"

static struct profile_writer *writer;
static uint64_t last_call;

static uint64_t add_call(struct profile_call call)
{
    call.number = ++last_call;
    call.start_ns = (int64_t)last_call * 1000;
    call.end_ns = call.start_ns + 500;
    call.context = call.stream = call.thread = 1;
    check(profile_add_call(writer, &call, &error));
    return call.number;
}

static void add_path(uint32_t number, const struct profile_frame *frames, uint32_t count)
{
    check(profile_add_path(
        writer, &(struct profile_path){.number = number, .frames = frames, .frame_count = count},
        &error));
}

static void allocate(uint64_t object, uint64_t bytes, uint32_t path, const char *name,
                     enum profile_name_source source)
{
    const uint64_t address = object << 20;
    uint64_t call = add_call((struct profile_call){
        .kind = PROFILE_CALL_ALLOC, .path = path, .range = {address, bytes, object}});
    check(profile_add_object(writer,
                             &(struct profile_object){.number = object,
                                                      .kind = PROFILE_OBJECT_DEVICE,
                                                      .address = address,
                                                      .bytes = bytes,
                                                      .context = 1,
                                                      .device = 1,
                                                      .call = call},
                             &error));
    if (name)
        check(profile_name_object(writer, object, name, source, &error));
}

static void release(uint64_t object, uint32_t path)
{
    uint64_t call = add_call((struct profile_call){
        .kind = PROFILE_CALL_FREE, .path = path, .range = {object << 20, 0, object}});
    check(profile_end_object(writer, object, call, 0, &error));
}

static void launch(uint32_t kernel, uint64_t object, uint32_t path)
{
    uint64_t call = add_call((struct profile_call){
        .kind = PROFILE_CALL_LAUNCH,
        .path = path,
        .launch = {.kernel = kernel, .grid = {1, 1, 1}, .block = {32, 1, 1}, .flags = 2}});
    check(profile_add_access(
        writer, &(struct profile_access){.call = call, .object = object, .read = true}, &error));
}

static void begin(const char *path)
{
    static const char *const arguments[] = {"./waste"};
    check(profile_create(path, true, &writer, &error));
    check(profile_set_program(writer,
                              &(struct profile_program){.executable = "/home/me/project/waste",
                                                        .folder = "/home/me/project",
                                                        .arguments = arguments,
                                                        .argument_count = 1,
                                                        .pid = 1},
                              &error));
    check(profile_add_device(writer, &(struct profile_device){.number = 1, .name = "GPU"}, &error));
    check(profile_add_context(writer, &(struct profile_context){1, 1}, &error));
    check(profile_add_stream(writer, &(struct profile_stream){.number = 1, .context = 1}, &error));
}

static void write_many(uint64_t count)
{
    enum { AT_ONCE = 500 };
    for (uint64_t i = 1; i <= count; i++) {
        char name[128];
        snprintf(name, sizeof(name), "a_rather_long_name_of_an_object_that_nobody_uses_%llu",
                 (unsigned long long)i);
        allocate(i, 16384, 0, name, PROFILE_NAME_PROGRAM);
        for (uint64_t k = i - AT_ONCE + 1; i % AT_ONCE == 0 && k <= i; k++)
            release(k, 0);
    }
}

// Objects at no peak; early and late ones, and one with a dead write; a name and a file with odd
// characters; a leak in a third-party header that this project calls; leaks without a name, without
// a source and without a call path; and some more.
static void write_waste(void)
{
    enum { MORE = 5 };
#define PROJECT "/home/me/project/"
#define START                                                         \
    {                                                                 \
        "__libc_start_call_main", NULL, 0, 2, 0x1000, false, 0, false \
    }
    static const struct profile_frame allocations[] = {
        {"make_all(int)", PROJECT "src/waste.cu", 10, 1, 0x10, false, 0, false},
        {"main", PROJECT "src/../src/waste.cu", 40, 1, 0x20, false, 0, false},
        START};
    static const struct profile_frame launches[] = {
        {"__device_stub__Z3sumPf(float*)", "/tmp/waste.stub.c", 3, 1, 0x30, false, 0, false},
        {"sum(float*)", PROJECT "src/waste.cu", 5, 1, 0x31, false, 0, false},
        {"main", PROJECT "src/waste.cu", 44, 1, 0x32, false, 0, false},
        START};
    static const struct profile_frame odd[] = {
        {"main::{lambda(int)#1}::operator()", PROJECT "a b:1,2%.cu", 7, 1, 0x40, false, 0, false},
        {"main", PROJECT "src/waste.cu", 46, 1, 0x41, false, 0, false},
        START};
    static const struct profile_frame header[] = {
        {"vector<float>::vector()", "/usr/include/vector.h", 99, 1, 0x50, true, 0, false},
        {"fill()", PROJECT "src/fill.cu", 12, 1, 0x50, false, 0, false},
        {"main", PROJECT "src/waste.cu", 47, 1, 0x51, false, 0, false},
        START};
    static const struct profile_frame plain[] = {
        {"main", PROJECT "src/waste.cu", 50, 1, 0x60, false, 0, false}};
    static const struct profile_frame later[] = {
        {"main", PROJECT "src/waste.cu", 60, 1, 0x68, false, 0, false}};
    static const struct profile_frame outside[] = {
        {"other", "/opt/other/o.cu", 3, 3, 0x60, false, 0, false}};
    static const struct profile_frame bare[] = {{"create", NULL, 0, 1, 0x70, false, 0, false},
                                                START};
    check(profile_add_image(writer, &(struct profile_image){.number = 1, .path = PROJECT "waste"},
                            &error));
    check(profile_add_image(writer, &(struct profile_image){.number = 2, .path = "/lib/libc.so.6"},
                            &error));
    check(profile_add_kernel(
        writer, &(struct profile_kernel){.number = 1, .name = "sum(float*)", .mangled = "sum"},
        &error));
    add_path(1, allocations, 3);
    add_path(2, launches, 4);
    add_path(3, odd, 3);
    add_path(4, header, 4);
    add_path(5, plain, 1);
    add_path(6, outside, 1);
    add_path(7, bare, 2);
    add_path(8, later, 1);
    allocate(9, 512, 5, "small", PROFILE_NAME_PROGRAM); // at no peak that is reported
    release(9, 5);
    allocate(1, 1 << 20, 1, "first_gpu", PROFILE_NAME_SOURCE);
    allocate(2, 2 << 20, 3, "a|b *x* <i>`{0}", PROFILE_NAME_PROGRAM);
    allocate(3, 4096, 4, "vector", PROFILE_NAME_PROGRAM);
    allocate(4, 4096, 5, "waste.cu:50", PROFILE_NAME_PLACE);
    allocate(5, 4096, 6, "outside", PROFILE_NAME_PROGRAM);
    allocate(6, 4096, 7, NULL, PROFILE_NAME_NONE);
    allocate(7, 4096, 0, "alone", PROFILE_NAME_PROGRAM);
    allocate(8, 4095, 8, "waste.cu:60", PROFILE_NAME_PLACE); // one byte too small to be worthwhile
    for (uint32_t i = 1; i <= MORE; i++) { // so that there are more than annotations
        const struct profile_frame more = {"main", PROJECT "src/more.cu", i, 1, 0x100 + i, false, 0,
                                           false};
        add_path(20 + i, &more, 1);
        allocate(20 + i, 4096, 20 + i, "more", PROFILE_NAME_SOURCE);
    }
    add_call((struct profile_call){
        .kind = PROFILE_CALL_SET, .path = 5, .set = {2 << 20, 2, 2 << 20, 0, 0, 0, 0, 1}});
    add_call((struct profile_call){.kind = PROFILE_CALL_COPY,
                                   .path = 3,
                                   .copy = {.bytes = 2 << 20,
                                            .to = 2 << 20,
                                            .to_object = 2,
                                            .from_memory = PROFILE_MEMORY_PAGEABLE,
                                            .to_memory = PROFILE_MEMORY_DEVICE,
                                            .direction = PROFILE_HOST_TO_DEVICE}});
    launch(1, 2, 2);
    launch(1, 1, 2);
    release(2, 5);
    release(1, 5);
    check(profile_add_note(
        writer, &(struct profile_note){PROFILE_WARNING, "kernel <sum> was {partly} watched"},
        &error));
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fputs("usage: write_waste FILE [COUNT]\n", stderr);
        return 2;
    }
    begin(argv[1]);
    if (argc > 2)
        write_many(strtoull(argv[2], NULL, 10));
    else
        write_waste();
    check(profile_finish(writer, PROFILE_EXITED, 0, &error));
    return 0;
}
