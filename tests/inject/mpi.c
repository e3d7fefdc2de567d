// SPDX-License-Identifier: Apache-2.0
// Passes results of the GPU to MPI (fake_mpi.h), in one way for each of its arguments. Its output
// does not depend on whether glint watches or corrects it. Lines with a first use are marked as in
// first_use.c.
#include <dlfcn.h>
#include <string.h>

#include "fake_mpi.h"
#include "words.h"

#define WORLD MPI_COMM_WORLD
#define UINT  MPI_UNSIGNED
#define NONE  MPI_DATATYPE_NULL

static __attribute__((noinline)) unsigned read_word(const unsigned *words, unsigned i)
{
    return ((const volatile unsigned *)words)[i]; // used: read
}

static void arrived(int result)
{
    printf("%d %u\n", result, fake_mpi_sum());
}

static void sends(void)
{
    unsigned *words = block();
    CHECK(cuMemcpyDtoH_v2(words, device, BYTES));
    arrived(MPI_Send(words + 25, WORDS - 25, UINT, 1, 0, WORLD)); // used: handed
    printf("%u\n", sum_of(words, WORDS));
}

// MPI receives another block than the results.
static void reads(void)
{
    unsigned *words = block(), *other = block();
    CHECK(cuMemcpyDtoH_v2(words, device, BYTES));
    arrived(MPI_Send(other, WORDS, UINT, 1, 0, WORLD));
    printf("%u\n", read_word(words, 1000));
}

static void receives(void)
{
    unsigned *words = block(), *other = block();
    for (unsigned i = 0; i < WORDS; i++)
        other[i] = 3;
    arrived(MPI_Send(other, WORDS, UINT, 1, 0, WORLD));
    CHECK(cuMemcpyDtoH_v2(words, device, BYTES));
    printf("%d\n", MPI_Recv(words, WORDS, UINT, 1, 0, WORLD, NULL)); // used: handed
    printf("%u\n", sum_of(words, WORDS));
}

// Sends one word of each page, from word 16 of the first page to word 16 of the last.
static void columns(void)
{
    unsigned *words = block();
    CHECK(cuMemcpyDtoH_v2(words, device, BYTES));
    arrived(MPI_Send(words, BYTES / 4096, FAKE_COLUMN, 1, 0, WORLD)); // used: handed
}

static void in_place(void)
{
    unsigned *words = block();
    CHECK(cuMemcpyDtoH_v2(words, device, BYTES));
    arrived(MPI_Allreduce(MPI_IN_PLACE, words, WORDS, UINT, MPI_SUM, WORLD)); // used: handed
    printf("%u\n", sum_of(words, WORDS));
}

// This process is not the root, so MPI ignores the arguments that only matter at the root.
static void of_root(void)
{
    unsigned *words = block(), *other = block();
    CHECK(cuMemcpyDtoH_v2(words, device, BYTES));
    CHECK(cuMemcpyDtoH_v2(other, device, BYTES));
    arrived(MPI_Gather(words, WORDS, UINT, other, 9, NONE, 1, WORLD)); // used: handed
    printf("%u\n", read_word(other, 7));
}

// The receive buffer begins at the lowest displacement, which is not that of the first process.
static void gathers(void)
{
    enum { PART = WORDS / 4 };
    const int counts[] = {PART, PART}, places[] = {2 * PART, 100};
    unsigned *words = block(), *own = block();
    CHECK(cuMemcpyDtoH_v2(words, device, BYTES));
    arrived(MPI_Gatherv(own, PART, UINT, words, counts, places, UINT, 0, WORLD)); // used: handed
    printf("%u\n", sum_of(words, WORDS));
}

// Two results share a page. The first is still being sent while the second is copied.
static void under_way(void)
{
    enum { FIRST = 5120, SECOND = 51200 }; // whole pages: partial pages are never closed
    MPI_Request requests[2];
    void *memory;
    CHECK(cuMemAllocHost_v2(&memory, BYTES));
    unsigned *words = memory;
    for (unsigned i = 0; i < 2; i++) {
        CHECK(cuMemcpyDtoH_v2(words, device, FIRST * 4));
        MPI_Isend(words, FIRST, UINT, 1, 0, WORLD, &requests[0]); // used: handed
        CHECK(cuMemcpyDtoH_v2(words + FIRST, device, SECOND * 4));
        CHECK(cuCtxSynchronize());
        arrived(MPI_Wait(&requests[0], NULL));
        printf("%u\n", read_word(words, FIRST + 10000));
    }
    // After the send, glint closes pages as usual.
    CHECK(cuMemcpyDtoH_v2(words + FIRST, device, SECOND * 4));
    printf("%u\n", read_word(words, FIRST));
    MPI_Isend(words, FIRST, UINT, 1, 0, WORLD, &requests[0]);
    MPI_Isend(words + FIRST, SECOND, UINT, 1, 0, WORLD, &requests[1]);
    arrived(MPI_Waitall(2, requests, NULL));
    CHECK(cuMemcpyDtoH_v2(words + FIRST, device, SECOND * 4));
    printf("%u\n", read_word(words, FIRST));
}

// The same, but the second result was copied first. Its pages are closed only after the send.
static void beside(void)
{
    enum { FIRST = 5120, SECOND = 51200 }; // whole pages: partial pages are never closed
    MPI_Request request;
    void *memory;
    CHECK(cuMemAllocHost_v2(&memory, BYTES));
    unsigned *words = memory;
    CHECK(cuMemcpyDtoH_v2(words + FIRST, device, SECOND * 4));
    CHECK(cuMemcpyDtoH_v2(words, device, FIRST * 4));
    MPI_Isend(words, FIRST, UINT, 1, 0, WORLD, &request); // used: handed
    CHECK(cuCtxSynchronize());
    arrived(MPI_Wait(&request, NULL));
    CHECK(cuCtxSynchronize());
    printf("%u\n", read_word(words, FIRST + 1));
}

static void persistent(void)
{
    MPI_Request request;
    unsigned *words = block();
    MPI_Send_init(words, WORDS, UINT, 1, 0, WORLD, &request);
    for (unsigned i = 0; i < 2; i++) {
        CHECK(cuMemcpyDtoH_v2(words, device, BYTES));
        MPI_Start(&request); // used: handed
        CHECK(cuCtxSynchronize());
        arrived(MPI_Wait(&request, NULL));
    }
    CHECK(cuMemcpyDtoH_v2(words, device, BYTES));
    printf("%u\n", read_word(words, 5));
}

// glint does not see the end of a put, but the next copy shows that the old data is done.
static void puts_data(void)
{
    unsigned *words = block();
    CHECK(cuMemcpyDtoH_v2(words, device, BYTES));
    MPI_Put(words, WORDS, UINT, 1, 0, WORDS, UINT, FAKE_WINDOW); // used: handed
    CHECK(cuCtxSynchronize());
    arrived(MPI_Win_fence(0, FAKE_WINDOW));
    CHECK(cuMemcpyDtoH_v2(words, device, BYTES));
    printf("%u\n", read_word(words, 6));
}

static void by_name(void)
{
    unsigned *words = block();
    void *library = dlopen(MPI_LIBRARY, RTLD_LAZY | RTLD_NOLOAD);
    __typeof__(MPI_Send) *send = (__typeof__(MPI_Send) *)dlsym(library, "MPI_Send");
    CHECK(cuMemcpyDtoH_v2(words, device, BYTES));
    arrived(send(words, WORDS, UINT, 1, 0, WORLD)); // used: handed
    printf("%d %d\n", dlsym(library, "MPI_Ssend") == NULL,
           dlsym(RTLD_DEFAULT, "MPI_Ssend") == NULL);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {
        {"mpi_sends", sends},     {"mpi_reads", reads},         {"mpi_receives", receives},
        {"mpi_columns", columns}, {"mpi_in_place", in_place},   {"mpi_of_root", of_root},
        {"mpi_gathers", gathers}, {"mpi_under_way", under_way}, {"mpi_persistent", persistent},
        {"mpi_beside", beside},   {"mpi_puts", puts_data},      {"mpi_by_name", by_name},
    };
    words_count();
    if (MPI_Init(&argc, &argv) != 0 || argc < 2)
        return 3;
    arrived(MPI_Send(words_of_device, WORDS, UINT, 1, 0, WORLD));
    words_to_device();
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (strcmp(argv[1], cases[i].name) == 0)
            cases[i].run();
    }
    return MPI_Finalize();
}
