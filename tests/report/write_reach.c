// SPDX-License-Identifier: Apache-2.0
// Writes the profile of a program that maps memory in pieces and copies over their borders:
// write_reach FILE. Objects 1 to 4 lie one behind the other; object 5 lies elsewhere, and object 6
// lies behind object 4, but is freed before the copies.
#include "writing.h"

enum { PIECE = 65536, ALLOC = 1, FREE, COPY, SET };

static const uint64_t base = 1ULL << 32;
static struct profile_writer *writer;
static uint64_t last_call;

static void add_call(struct profile_call call)
{
    call.number = ++last_call;
    call.start_ns = 1000 * (int64_t)call.number;
    call.end_ns = call.start_ns + 500;
    call.context = call.thread = call.stream = 1;
    check(profile_add_call(writer, &call, &error));
}

static uint64_t piece_at(unsigned index)
{
    return base + (uint64_t)index * PIECE;
}

static void allocate(uint64_t number, uint64_t address)
{
    add_call((struct profile_call){
        .kind = PROFILE_CALL_ALLOC, .function = ALLOC, .range = {address, PIECE, number}});
    check(profile_add_object(writer,
                             &(struct profile_object){.number = number,
                                                      .kind = PROFILE_OBJECT_MAPPING,
                                                      .address = address,
                                                      .bytes = PIECE,
                                                      .call = last_call,
                                                      .device = 1},
                             &error));
}

static void copy(uint64_t from, uint64_t from_object, uint64_t to, uint64_t to_object,
                 uint64_t bytes)
{
    const enum profile_direction direction = !from_object ? PROFILE_HOST_TO_DEVICE
                                             : !to_object ? PROFILE_DEVICE_TO_HOST
                                                          : PROFILE_DEVICE_TO_DEVICE;
    add_call((struct profile_call){
        .kind = PROFILE_CALL_COPY,
        .function = COPY,
        .copy = {.bytes = bytes,
                 .from = from,
                 .to = to,
                 .from_object = from_object,
                 .to_object = to_object,
                 .from_memory = from_object ? PROFILE_MEMORY_DEVICE : PROFILE_MEMORY_PAGEABLE,
                 .to_memory = to_object ? PROFILE_MEMORY_DEVICE : PROFILE_MEMORY_PAGEABLE,
                 .direction = direction}});
}

int main(int argc, char **argv)
{
    static const char *const functions[] = {"cuMemMap", "cuMemUnmap", "cudaMemcpy", "cudaMemset"};
    if (argc != 2) {
        fprintf(stderr, "usage: write_reach FILE\n");
        return 2;
    }
    check(profile_create(argv[1], true, &writer, &error));
    check(profile_set_program(
        writer, &(struct profile_program){.executable = "/reach", .folder = "/", .pid = 1},
        &error));
    for (uint32_t i = 0; i < 4; i++)
        check(
            profile_add_function(writer, &(struct profile_function){i + 1, functions[i]}, &error));
    check(profile_add_stream(writer, &(struct profile_stream){.number = 1, .context = 1}, &error));
    check(profile_add_thread(writer, &(struct profile_thread){1, 1, NULL}, &error));
    for (unsigned i = 0; i < 4; i++)
        allocate(i + 1, piece_at(i));
    allocate(5, 2 * base);
    allocate(6, piece_at(4));
    add_call((struct profile_call){
        .kind = PROFILE_CALL_FREE, .function = FREE, .range = {piece_at(4), PIECE, 6}});
    check(profile_end_object(writer, 6, last_call, 0, &error));
    // Call 8 writes objects 1 to 3, of the last only a part.
    copy(0, 0, piece_at(0), 1, 2 * PIECE + 4);
    // Call 9 ends exactly at the end of object 2.
    copy(piece_at(0), 1, 0, 0, 2 * PIECE);
    // Call 10 reads objects 2 and 3 and writes object 5.
    copy(piece_at(1) + PIECE / 2, 2, 2 * base, 5, PIECE);
    // Call 11 sets objects 3 and 4, up to where object 6 was.
    add_call((struct profile_call){
        .kind = PROFILE_CALL_SET,
        .function = SET,
        .set = {.address = piece_at(2), .object = 3, .bytes = 3 * PIECE, .value_bytes = 1}});
    check(profile_finish(writer, PROFILE_EXITED, 0, &error));
    return 0;
}
