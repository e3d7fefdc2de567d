// SPDX-License-Identifier: Apache-2.0
// Implements fake_mpi.h. The other process is a child that reads the messages from the caller's
// memory, or writes there the message that it received last.
#include "fake_mpi.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

enum { MOST_BYTES = 4 << 20, REQUESTS = 16, PROCESSES = 2 };

struct order {
    enum { FETCH, PUT, SUM } what;
    char *at;
    size_t bytes, step, count; // `count` pieces of `bytes` bytes, `step` bytes apart
};

static struct {
    int end; // our end of the socket to the other process
    struct {
        struct order order;
        int again, active; // persistent; started
    } requests[REQUESTS];
    unsigned used;
    struct order put;
} fake;

// --- The other process ---------------------------------------------------------------------------

static long move(pid_t pid, const struct order *order, char *message)
{
    size_t done = 0;
    for (size_t i = 0; i < order->count; i++) {
        const struct iovec own = {message + done, order->bytes};
        const struct iovec other = {order->at + i * order->step, order->bytes};
        const ssize_t moved = order->what == FETCH ? process_vm_readv(pid, &own, 1, &other, 1, 0)
                                                   : process_vm_writev(pid, &own, 1, &other, 1, 0);
        if (moved != (ssize_t)order->bytes)
            return moved < 0 ? errno : EFAULT;
        done += order->bytes;
    }
    return 0;
}

static void serve(pid_t pid, int end)
{
    static char message[MOST_BYTES];
    size_t bytes = 0;
    struct order order;
    while (read(end, &order, sizeof(order)) == (ssize_t)sizeof(order)) {
        long result = 0;
        if (order.what == SUM) {
            for (size_t i = 0; i < bytes / 4; i++)
                result += ((const unsigned *)message)[i];
        } else {
            result = move(pid, &order, message);
        }
        if (order.what == FETCH)
            bytes = order.bytes * order.count;
        if (write(end, &result, sizeof(result)) != (ssize_t)sizeof(result))
            break;
    }
    _exit(0);
}

static long ask(const struct order *order)
{
    long result = EIO;
    if (write(fake.end, order, sizeof(*order)) != (ssize_t)sizeof(*order) ||
        read(fake.end, &result, sizeof(result)) != (ssize_t)sizeof(result))
        return EIO;
    return result;
}

// --- MPI's functions, each by both names ---------------------------------------------------------

#define BOTH(name)                            \
    extern __typeof__(MPI_##name) PMPI_##name \
        __attribute__((alias("MPI_" #name), visibility("default")))

int MPI_Init(int *count, char ***arguments)
{
    (void)count, (void)arguments;
    int ends[2];
    const pid_t pid = getpid();
    if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) != 0)
        return 1;
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    if (fork() == 0) {
        close(ends[0]);
        serve(pid, ends[1]);
    }
    close(ends[1]);
    fake.end = ends[0];
    return 0;
}

int MPI_Finalize(void)
{
    return close(fake.end);
}

// A real MPI also aborts the program if the datatype is invalid.
static MPI_Aint extent_of(MPI_Datatype type)
{
    if (type != MPI_UNSIGNED && type != FAKE_COLUMN) {
        printf("MPI: no such datatype\n");
        fflush(stdout);
        abort();
    }
    return type == FAKE_COLUMN ? 4096 : 4;
}

static struct order order_of(const void *buffer, size_t count, MPI_Datatype type)
{
    char *at = (char *)(uintptr_t)buffer;
    if (type == FAKE_COLUMN)
        return (struct order){FETCH, at + 64, 4, 4096, count};
    return (struct order){FETCH, at, count * (size_t)extent_of(type), 0, 1};
}

#pragma GCC visibility push(default)
int MPI_Type_get_extent(MPI_Datatype type, MPI_Aint *low, MPI_Aint *extent);
int MPI_Type_get_extent(MPI_Datatype type, MPI_Aint *low, MPI_Aint *extent)
{
    *low = 0;
    *extent = extent_of(type);
    return 0;
}
BOTH(Type_get_extent);

int MPI_Type_get_true_extent(MPI_Datatype type, MPI_Aint *low, MPI_Aint *extent);
int MPI_Type_get_true_extent(MPI_Datatype type, MPI_Aint *low, MPI_Aint *extent)
{
    *low = extent_of(type) == 4 ? 0 : 64;
    *extent = 4;
    return 0;
}
BOTH(Type_get_true_extent);

int MPI_Comm_size(MPI_Comm comm, int *size);
int MPI_Comm_size(MPI_Comm comm, int *size)
{
    *size = PROCESSES;
    return comm != MPI_COMM_WORLD;
}
BOTH(Comm_size);

int MPI_Comm_rank(MPI_Comm comm, int *rank);
int MPI_Comm_rank(MPI_Comm comm, int *rank)
{
    *rank = 0;
    return comm != MPI_COMM_WORLD;
}
BOTH(Comm_rank);

int MPI_Comm_test_inter(MPI_Comm comm, int *inter);
int MPI_Comm_test_inter(MPI_Comm comm, int *inter)
{
    *inter = 0;
    return comm != MPI_COMM_WORLD;
}
BOTH(Comm_test_inter);
#pragma GCC visibility pop

int MPI_Send(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
    (void)to, (void)tag, (void)comm;
    const struct order order = order_of(buffer, (size_t)count, type);
    return (int)ask(&order);
}
BOTH(Send);

int MPI_Recv(void *buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
             void *status)
{
    (void)from, (void)tag, (void)comm, (void)status;
    struct order order = order_of(buffer, (size_t)count, type);
    order.what = PUT;
    return (int)ask(&order);
}
BOTH(Recv);

static MPI_Request begin(const void *buffer, int count, MPI_Datatype type, int again)
{
    const unsigned place = fake.used++ % REQUESTS;
    fake.requests[place].order = order_of(buffer, (size_t)count, type);
    fake.requests[place].again = again;
    fake.requests[place].active = !again;
    return FAKE_HANDLE(MPI_Request, 100 + place);
}

static unsigned place_of(MPI_Request request)
{
    for (unsigned i = 0; i < REQUESTS; i++)
        if (request == FAKE_HANDLE(MPI_Request, 100 + i))
            return i;
    return REQUESTS;
}

int MPI_Isend(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request *request)
{
    (void)to, (void)tag, (void)comm;
    *request = begin(buffer, count, type, 0);
    return 0;
}
BOTH(Isend);

int MPI_Send_init(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                  MPI_Request *request)
{
    (void)to, (void)tag, (void)comm;
    *request = begin(buffer, count, type, 1);
    return 0;
}
BOTH(Send_init);

int MPI_Start(MPI_Request *request)
{
    fake.requests[place_of(*request)].active = 1;
    return 0;
}
BOTH(Start);

int MPI_Wait(MPI_Request *request, void *status)
{
    (void)status;
    const unsigned place = place_of(*request);
    if (place == REQUESTS || !fake.requests[place].active)
        return 0;
    fake.requests[place].active = 0;
    if (!fake.requests[place].again)
        *request = MPI_REQUEST_NULL;
    return (int)ask(&fake.requests[place].order);
}
BOTH(Wait);

int MPI_Waitall(int count, MPI_Request *requests, void *statuses)
{
    int result = 0;
    for (int i = 0; i < count; i++)
        result |= MPI_Wait(&requests[i], statuses);
    return result;
}
BOTH(Waitall);

// There are two processes, and the other contributes nothing, so the sum is our own data.
int MPI_Allreduce(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    (void)op;
    return MPI_Send(in == MPI_IN_PLACE ? out : in, count, type, 1, 0, comm) ||
           MPI_Recv(out, count, type, 1, 0, comm, NULL);
}
BOTH(Allreduce);

int MPI_Gather(const void *in, int count, MPI_Datatype type, void *out, int counts,
               MPI_Datatype out_type, int root, MPI_Comm comm)
{
    (void)out, (void)counts, (void)out_type;
    return root == 0 ? 1 : MPI_Send(in, count, type, root, 0, comm);
}
BOTH(Gather);

// The other process contributes the data that it was sent.
int MPI_Gatherv(const void *in, int count, MPI_Datatype type, void *out, const int *counts,
                const int *places, MPI_Datatype out_type, int root, MPI_Comm comm)
{
    if (root != 0)
        return 1;
    for (int i = 0; i < PROCESSES; i++) {
        char *at = (char *)out + (long)places[i] * extent_of(out_type);
        if (MPI_Send(in, count, type, 1, 0, comm) ||
            MPI_Recv(at, counts[i], out_type, 1, 0, comm, NULL))
            return 1;
    }
    return 0;
}
BOTH(Gatherv);

int MPI_Put(const void *from, int count, MPI_Datatype type, int to, MPI_Aint at, int to_count,
            MPI_Datatype to_type, MPI_Win window)
{
    (void)to, (void)at, (void)to_count, (void)to_type;
    fake.put = order_of(from, (size_t)count, type);
    return window != FAKE_WINDOW;
}
BOTH(Put);

int MPI_Win_fence(int assertion, MPI_Win window)
{
    (void)assertion;
    return window != FAKE_WINDOW || ask(&fake.put) != 0;
}
BOTH(Win_fence);

unsigned fake_mpi_sum(void)
{
    return (unsigned)ask(&(struct order){.what = SUM});
}
