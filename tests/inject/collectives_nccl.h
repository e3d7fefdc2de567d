// SPDX-License-Identifier: Apache-2.0
// The functions of NCCL, as nccl.h declares them but with plain types.
#ifndef GLINT_TESTS_INJECT_COLLECTIVES_NCCL_H
#define GLINT_TESTS_INJECT_COLLECTIVES_NCCL_H

#include <stddef.h>
#include <stdint.h>

struct nccl_id {
    char bytes[128];
};

int ncclCommInitRank(void **comm, int ranks, struct nccl_id id, int rank);
int ncclCommInitRankConfig(void **comm, int ranks, struct nccl_id id, int rank, void *config);
int ncclCommInitRankScalable(void **comm, int ranks, int rank, int ids, struct nccl_id *id,
                             void *config);
int ncclCommShrink(void *comm, int *left_out, int count, void **shrunk, void *config, int flags);
int ncclCommInitAll(void **comms, int ranks, const int *devices);
int ncclCommSplit(void *comm, int color, int key, void **split, void *config);
int ncclCommCount(const void *comm, int *ranks);
int ncclCommUserRank(const void *comm, int *rank);
int ncclStandInMake(void **comm, int rank, int ranks);
int ncclCommDestroy(void *comm);
int ncclCommAbort(void *comm);
int ncclGroupStart(void);
int ncclGroupEnd(void);
int ncclAllGather(const void *from, void *to, size_t n, int type, void *comm, void *stream);
int ncclAllReduce(const void *from, void *to, size_t n, int type, int op, void *comm, void *stream);
int ncclAlltoAll(const void *from, void *to, size_t n, int type, void *comm, void *stream);
int ncclBcast(void *to, size_t n, int type, int root, void *comm, void *stream);
int ncclBroadcast(const void *from, void *to, size_t n, int type, int root, void *comm,
                  void *stream);
int ncclGather(const void *from, void *to, size_t n, int type, int root, void *comm, void *stream);
int ncclRecv(void *to, size_t n, int type, int peer, void *comm, void *stream);
int ncclReduce(const void *from, void *to, size_t n, int type, int op, int root, void *comm,
               void *stream);
int ncclReduceScatter(const void *from, void *to, size_t n, int type, int op, void *comm,
                      void *stream);
int ncclScatter(const void *from, void *to, size_t n, int type, int root, void *comm, void *stream);
int ncclSend(const void *from, size_t n, int type, int peer, void *comm, void *stream);

#endif
