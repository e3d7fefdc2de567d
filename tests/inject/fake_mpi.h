// SPDX-License-Identifier: Apache-2.0
// A fake MPI of two processes for tests: the caller, and a peer that only receives and sends
// messages. The peer accesses the caller's memory as intra-node transports do (process_vm_readv),
// and a failed access makes the MPI function fail. Handles are pointers, or ints with
// FAKE_MPI_INTS.
#ifndef GLINT_TESTS_INJECT_FAKE_MPI_H
#define GLINT_TESTS_INJECT_FAKE_MPI_H

#ifdef FAKE_MPI_INTS
typedef int MPI_Datatype, MPI_Comm, MPI_Request, MPI_Op, MPI_Win;
#define FAKE_HANDLE(type, n) ((type)(0x4c000000 + (n)))
#define MPI_IN_PLACE         ((void *)-1)
#else
typedef struct fake_type *MPI_Datatype;
typedef struct fake_comm *MPI_Comm;
typedef struct fake_request *MPI_Request;
typedef struct fake_op *MPI_Op;
typedef struct fake_window *MPI_Win;
#define FAKE_HANDLE(type, n) ((type)(0x7f0000000000 + (n)*64))
#define MPI_IN_PLACE         ((void *)1)
#endif
typedef long MPI_Aint;

#define MPI_DATATYPE_NULL FAKE_HANDLE(MPI_Datatype, 0)
#define MPI_UNSIGNED      FAKE_HANDLE(MPI_Datatype, 1)
#define FAKE_COLUMN       FAKE_HANDLE(MPI_Datatype, 2) // 4 bytes of every 4096, from byte 64 on
#define MPI_COMM_WORLD    FAKE_HANDLE(MPI_Comm, 3)
#define MPI_SUM           FAKE_HANDLE(MPI_Op, 4)
#define MPI_REQUEST_NULL  FAKE_HANDLE(MPI_Request, 5)
#define FAKE_WINDOW       FAKE_HANDLE(MPI_Win, 6)

#pragma GCC visibility push(default)
int MPI_Init(int *count, char ***arguments);
int MPI_Finalize(void);
int MPI_Send(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm);
int MPI_Recv(void *buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
             void *status);
// Nothing is moved before it is waited for.
int MPI_Isend(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request *request);
int MPI_Send_init(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                  MPI_Request *request);
int MPI_Start(MPI_Request *request);
int MPI_Wait(MPI_Request *request, void *status);
int MPI_Waitall(int count, MPI_Request *requests, void *statuses);
int MPI_Allreduce(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm);
int MPI_Gather(const void *in, int count, MPI_Datatype type, void *out, int counts,
               MPI_Datatype out_type, int root, MPI_Comm comm);
int MPI_Gatherv(const void *in, int count, MPI_Datatype type, void *out, const int *counts,
                const int *places, MPI_Datatype out_type, int root, MPI_Comm comm);
// Is done in the next fence.
int MPI_Put(const void *from, int count, MPI_Datatype type, int to, MPI_Aint at, int to_count,
            MPI_Datatype to_type, MPI_Win window);
int MPI_Win_fence(int assertion, MPI_Win window);
// Sum of the words of the last message that the other process was sent.
unsigned fake_mpi_sum(void);
#pragma GCC visibility pop

#endif
