// SPDX-License-Identifier: Apache-2.0
// Ranks of MPI that pass blocks of GPU memory around a ring, through host memory. The blocks are
// large enough for MPI to move them between processes without a copy in shared memory. Rank r has
// r + 1 blocks at the end, so that each rank has other objects and another peak. Rank 0 prints the
// sum of what all ranks have received.
#include <mpi.h>

#include "examples/driver.h"

enum { WORDS = 1 << 18 }; // 1 MiB

static uint32_t words[WORDS], received[WORDS];

int main(int argc, char **argv)
{
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    start_driver();
    CUdeviceptr block;
    CHECK(cuMemAlloc(&block, sizeof(words)));
    for (int i = 0; i < WORDS; i++)
        words[i] = (uint32_t)(i * 2654435761u) ^ (uint32_t)rank;
    CHECK(cuMemcpyHtoD(block, words, sizeof(words)));
    for (int round = 0; round < 3; round++) {
        CHECK(cuMemcpyDtoH(words, block, sizeof(words)));
        MPI_Sendrecv(words, WORDS, MPI_UINT32_T, (rank + 1) % ranks, 0, received, WORDS,
                     MPI_UINT32_T, (rank + ranks - 1) % ranks, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        CHECK(cuMemcpyHtoD(block, received, sizeof(received)));
    }
    CHECK(cuMemcpyDtoH(words, block, sizeof(words)));
    const uint32_t from = (uint32_t)((rank + 3 * ranks - 3) % ranks);
    for (int i = 0; i < WORDS; i++) {
        if (words[i] != ((uint32_t)(i * 2654435761u) ^ from)) {
            fprintf(stderr, "rank %d has a wrong word at %d\n", rank, i);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
    for (int i = 0; i < rank; i++) {
        CUdeviceptr more;
        CHECK(cuMemAlloc(&more, sizeof(words)));
    }
    uint64_t sum = 0, all = 0;
    for (int i = 0; i < WORDS; i++)
        sum += words[i];
    MPI_Reduce(&sum, &all, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d ranks, sum %llu\n", ranks, (unsigned long long)all);
    MPI_Finalize();
    return 0;
}
