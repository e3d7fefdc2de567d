// SPDX-License-Identifier: Apache-2.0
// A program that calls each function of NCCL (collectives_nccl.c stands in for it). Its output is
// the same with and without glint.
#include "collectives_nccl.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "cudaabi/cudaabi.h"

enum { BYTES = 4096, INT8 = 0, FLOAT16 = 6, FLOAT32 = 7 };

#define CHECK(call)                                       \
    do {                                                  \
        const int check_result = (int)(call);             \
        if (check_result) {                               \
            printf("%s gives %d\n", #call, check_result); \
            exit(1);                                      \
        }                                                 \
    } while (0)

static CUdeviceptr allocate(void)
{
    CUdeviceptr memory;
    CHECK(cuMemAlloc_v2(&memory, BYTES));
    return memory;
}

static void *at(CUdeviceptr memory)
{
    return (void *)(uintptr_t)memory; // NOLINT
}

int main(void)
{
    CUcontext context;
    CUstream stream;
    struct nccl_id id = {{0}};
    void *comm, *second, *split, *all[2], *third, *shrunk;
    id.bytes[127] = 7;
    CHECK(cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context));
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    const CUdeviceptr from = allocate(), to = allocate(), other = allocate(), unused = allocate();

    CHECK(ncclCommInitRank(&comm, 4, id, 1));
    CHECK(ncclAllReduce(at(from), at(to), 100, FLOAT32, 0, comm, stream));
    CHECK(ncclAllReduce(at(from), at(from), 100, FLOAT32, 0, comm, stream));
    CHECK(ncclAllGather(at(from), at(to + 64), 10, INT8, comm, stream));
    CHECK(ncclReduceScatter(at(from), at(to), 10, FLOAT16, 0, comm, stream));
    CHECK(ncclAlltoAll(at(from), at(to), 10, FLOAT32, comm, stream));
    CHECK(ncclBroadcast(at(from), at(to), 10, FLOAT32, 1, comm, stream));
    CHECK(ncclBroadcast(at(from), at(to), 10, FLOAT32, 0, comm, stream));
    CHECK(ncclBcast(at(to), 10, FLOAT32, 1, comm, stream));
    CHECK(ncclBcast(at(to), 10, FLOAT32, 3, comm, NULL));
    CHECK(ncclReduce(at(from), at(to), 10, FLOAT32, 0, 1, comm, stream));
    CHECK(ncclReduce(at(from), at(to), 10, FLOAT32, 0, 2, comm, stream));
    CHECK(ncclGather(at(from), at(to), 10, FLOAT32, 1, comm, stream));
    CHECK(ncclScatter(at(from), at(to), 10, FLOAT32, 1, comm, stream));
    // A type that the stand-in does not know, and one that glint does not.
    printf("%d\n", ncclAllReduce(at(from), at(to), 10, INT8, 0, comm, stream));
    CHECK(ncclSend(at(from), 10, 99, 0, comm, stream));

    CHECK(ncclGroupStart());
    CHECK(ncclGroupStart());
    CHECK(ncclSend(at(from), 10, FLOAT32, 2, comm, stream));
    CHECK(ncclRecv(at(other), 10, FLOAT32, 0, comm, stream));
    CHECK(ncclGroupEnd());
    CHECK(ncclGroupEnd());

    CHECK(ncclCommInitRankConfig(&second, 2, id, 0, NULL));
    CHECK(ncclCommSplit(comm, 0, 0, &split, NULL));
    CHECK(ncclAllGather(at(from), at(to), 10, INT8, split, stream));
    CHECK(ncclCommInitAll(all, 2, NULL));
    CHECK(ncclSend(at(from), 10, INT8, 0, all[1], stream));
    struct nccl_id ids[2] = {id, id};
    int left_out[] = {3, 0};
    CHECK(ncclCommInitRankScalable(&third, 5, 2, 2, ids, NULL));
    CHECK(ncclAllGather(at(from), at(to), 10, INT8, third, stream));
    CHECK(ncclCommShrink(third, left_out, 2, &shrunk, NULL, 0));
    CHECK(ncclReduceScatter(at(from), at(to), 10, INT8, 0, shrunk, stream));
    void *asked, *unready;
    CHECK(ncclStandInMake(&asked, 2, 6));
    CHECK(ncclReduceScatter(at(from), at(to), 10, INT8, 0, asked, stream));
    CHECK(ncclStandInMake(&unready, 7, 8));
    CHECK(ncclReduceScatter(at(from), at(to), 10, INT8, 0, unready, stream));
    CHECK(ncclCommAbort(second));
    CHECK(ncclCommDestroy(comm));
    CHECK(cuStreamSynchronize(stream));
    void *library = dlopen("libinject_nccl.so", RTLD_LAZY | RTLD_NOLOAD);
    printf("found %d\n", dlsym(RTLD_DEFAULT, "ncclAllReduce") == dlsym(library, "ncclAllReduce"));
    printf("unknown %d\n", dlsym(RTLD_DEFAULT, "ncclNoSuch") != NULL);
    CHECK(cuMemFree_v2(from) || cuMemFree_v2(to) || cuMemFree_v2(other) || cuMemFree_v2(unused));
    return 0;
}
