// SPDX-License-Identifier: Apache-2.0
// Stands in for NCCL: a communicator of one process that plays all ranks. Reductions copy,
// in a call of the driver, and some functions call others of NCCL, through the table of calls.
#include "collectives_nccl.h"

#include "cudaabi/cudaabi.h"

struct communicator {
    int rank, ranks;
};

static struct communicator made[16];
static int communicators;

static int make(void **comm, int rank, int ranks)
{
    if (communicators == 16 || rank < 0 || rank >= ranks)
        return 4; // ncclInvalidArgument
    made[communicators] = (struct communicator){rank, ranks};
    *comm = &made[communicators++];
    return 0;
}

int ncclCommInitRank(void **comm, int ranks, struct nccl_id id, int rank)
{
    return id.bytes[127] == 7 ? make(comm, rank, ranks) : 5;
}

int ncclCommInitRankConfig(void **comm, int ranks, struct nccl_id id, int rank, void *config)
{
    (void)config;
    return ncclCommInitRank(comm, ranks, id, rank);
}

int ncclCommInitRankScalable(void **comm, int ranks, int rank, int ids, struct nccl_id *id,
                             void *config)
{
    return ids == 2 ? ncclCommInitRankConfig(comm, ranks, id[1], rank, config) : 5;
}

int ncclCommShrink(void *comm, int *left_out, int count, void **shrunk, void *config, int flags)
{
    (void)left_out;
    (void)config;
    (void)flags;
    const struct communicator *old = comm;
    return make(shrunk, 0, old->ranks - count);
}

int ncclCommInitAll(void **comms, int ranks, const int *devices)
{
    (void)devices;
    int status = 0;
    for (int i = 0; i < ranks && !status; i++)
        status = make(&comms[i], i, ranks);
    return status;
}

int ncclCommSplit(void *comm, int color, int key, void **split, void *config)
{
    (void)comm;
    (void)color;
    (void)key;
    (void)config;
    return make(split, 1, 2);
}

// A communicator of rank 7 or more is not ready.
int ncclCommCount(const void *comm, int *ranks)
{
    const struct communicator *asked = comm;
    *ranks = asked->ranks;
    return asked->rank >= 7 ? 7 : 0;
}

int ncclCommUserRank(const void *comm, int *rank)
{
    const struct communicator *asked = comm;
    *rank = asked->rank;
    return asked->rank >= 7 ? 7 : 0;
}

// Not a function of NCCL, and so not one that glint knows.
int ncclStandInMake(void **comm, int rank, int ranks)
{
    return make(comm, rank, ranks);
}

int ncclCommDestroy(void *comm)
{
    (void)comm;
    return 0;
}

int ncclCommAbort(void *comm)
{
    return ncclCommDestroy(comm);
}

int ncclGroupStart(void)
{
    return 0;
}

int ncclGroupEnd(void)
{
    return 0;
}

static int copy(const void *from, void *to, size_t bytes, CUstream stream)
{
    return from == to || bytes == 0
               ? 0
               : (int)cuMemcpyDtoDAsync_v2((CUdeviceptr)(uintptr_t)to, (CUdeviceptr)(uintptr_t)from,
                                           bytes, stream);
}

int ncclAllReduce(const void *from, void *to, size_t n, int type, int op, void *comm, void *stream)
{
    (void)op;
    (void)comm;
    ncclGroupStart();
    const int status = copy(from, to, n * 4, (CUstream)stream);
    ncclGroupEnd();
    return type == 7 ? status : 4;
}

#define ACCEPTS(name, ...) \
    int name(__VA_ARGS__)  \
    {                      \
        return 0;          \
    }
#pragma GCC diagnostic ignored "-Wunused-parameter"
ACCEPTS(ncclAllGather, const void *from, void *to, size_t n, int type, void *comm, void *stream)
ACCEPTS(ncclAlltoAll, const void *from, void *to, size_t n, int type, void *comm, void *stream)
ACCEPTS(ncclBcast, void *to, size_t n, int type, int root, void *comm, void *stream)
ACCEPTS(ncclBroadcast, const void *from, void *to, size_t n, int type, int root, void *comm,
        void *stream)
ACCEPTS(ncclGather, const void *from, void *to, size_t n, int type, int root, void *comm,
        void *stream)
ACCEPTS(ncclRecv, void *to, size_t n, int type, int peer, void *comm, void *stream)
ACCEPTS(ncclReduce, const void *from, void *to, size_t n, int type, int op, int root, void *comm,
        void *stream)
ACCEPTS(ncclReduceScatter, const void *from, void *to, size_t n, int type, int op, void *comm,
        void *stream)
ACCEPTS(ncclScatter, const void *from, void *to, size_t n, int type, int root, void *comm,
        void *stream)
ACCEPTS(ncclSend, const void *from, size_t n, int type, int peer, void *comm, void *stream)
