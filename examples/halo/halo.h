// SPDX-License-Identifier: Apache-2.0
// What both versions of halo have in common: ranks, their exchange of halos, and the check of the
// result. So that the example needs no MPI, the program starts its ranks itself, with the variables
// that torchrun sets, and they exchange through shared memory. With MPI, halo_exchange would be two
// calls of MPI_Sendrecv.
#pragma once

#include "../example.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static const int halo_block = 256;

struct halo_shared {
    pthread_barrier_t arrived;
    uint32_t first[64], last[64]; // cell of each rank
    uint32_t journals[64];        // of each rank
    uint32_t cells[];             // of all ranks, at the end
};

struct halo {
    int rank, ranks, count, steps; // count: cells of a rank
    halo_shared *shared;
};

static inline size_t halo_shared_bytes(const halo *job)
{
    return sizeof(halo_shared) + (size_t)job->ranks * job->count * sizeof(uint32_t);
}

// Starts the ranks and waits for them. If one fails, ends the others.
static inline int halo_start(halo *job, char **argv)
{
    char text[16];
    bool ok = true;
    const int memory = memfd_create("halo", 0);
    if (memory < 0 || ftruncate(memory, (off_t)halo_shared_bytes(job)) != 0)
        return 1;
    void *mapped = mmap(NULL, halo_shared_bytes(job), PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    if (mapped == MAP_FAILED)
        return 1;
    job->shared = (halo_shared *)mapped;
    pthread_barrierattr_t between_processes;
    pthread_barrierattr_init(&between_processes);
    pthread_barrierattr_setpshared(&between_processes, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&job->shared->arrived, &between_processes, (unsigned)job->ranks);
    snprintf(text, sizeof(text), "%d", memory);
    setenv("HALO_MEMORY", text, 1);
    snprintf(text, sizeof(text), "%d", job->ranks);
    setenv("WORLD_SIZE", text, 1);
    pid_t started[64];
    for (int rank = 0; rank < job->ranks; ++rank) {
        snprintf(text, sizeof(text), "%d", rank);
        setenv("RANK", text, 1);
        setenv("LOCAL_RANK", text, 1);
        started[rank] = fork();
        if (started[rank] == 0) {
            execv("/proc/self/exe", argv);
            _exit(1);
        }
    }
    for (int left = job->ranks; left > 0; --left) {
        int status = 0;
        const pid_t ended = wait(&status);
        const bool good = WIFEXITED(status) && WEXITSTATUS(status) == 0;
        for (int rank = 0; rank < job->ranks; ++rank) {
            if (started[rank] == ended)
                started[rank] = 0;
            else if (ok && !good && started[rank] > 0)
                kill(started[rank], SIGKILL);
        }
        ok = ok && good;
    }
    return ok ? 0 : 1;
}

// Reads the arguments [RANKS [CELLS [STEPS]]]. In the process that the user started, starts the
// ranks and ends with them. Returns in each rank.
static inline halo halo_begin(int argc, char **argv)
{
    halo job = {0, argc > 1 ? atoi(argv[1]) : 4, argc > 2 ? atoi(argv[2]) : 1 << 16,
                argc > 3 ? atoi(argv[3]) : 8, NULL};
    const char *memory = getenv("HALO_MEMORY"), *rank = getenv("RANK");
    if (job.ranks < 1 || job.ranks > 64 || job.count < 1 || job.steps < 1) {
        fprintf(stderr, "usage: %s [RANKS [CELLS [STEPS]]]\n", argv[0]);
        exit(1);
    }
    if (!memory || !rank)
        exit(halo_start(&job, argv));
    job.rank = atoi(rank);
    void *mapped = mmap(NULL, halo_shared_bytes(&job), PROT_READ | PROT_WRITE, MAP_SHARED,
                        atoi(memory), 0);
    if (mapped == MAP_FAILED)
        exit(1);
    job.shared = (halo_shared *)mapped;
    return job;
}

static inline void halo_wait(halo *job)
{
    pthread_barrier_wait(&job->shared->arrived);
}

// Gives the neighbours this rank's outer cells, and gets theirs. The ranks form a ring.
static inline void halo_exchange(halo *job, uint32_t first, uint32_t last, uint32_t *before,
                                 uint32_t *after)
{
    job->shared->first[job->rank] = first;
    job->shared->last[job->rank] = last;
    halo_wait(job);
    *before = job->shared->last[(job->rank + job->ranks - 1) % job->ranks];
    *after = job->shared->first[(job->rank + 1) % job->ranks];
    halo_wait(job);
}

static inline uint32_t halo_initial(int cell)
{
    return (uint32_t)cell * 2654435761u;
}

// Enters a step's outer cells into the rank's journal: work of the host that needs nothing from the
// GPU, so that the GPU can compute meanwhile.
static inline void halo_enter(halo *job, uint32_t before, uint32_t after)
{
    uint32_t entry = job->shared->journals[job->rank] ^ before;
    for (int i = 0; i < 20000; ++i)
        entry = entry * 1664525u + after;
    job->shared->journals[job->rank] = entry;
}

// Returns what `steps` steps add up to: the weights of the cells within that distance of a cell,
// which are binomial coefficients. The caller frees them.
static inline uint32_t *halo_weights(int steps)
{
    uint32_t *weights = (uint32_t *)calloc(2 * (size_t)steps + 1, sizeof(uint32_t));
    weights[0] = 1;
    for (int row = 1; row <= 2 * steps; ++row)
        for (int i = row; i > 0; --i)
            weights[i] += weights[i - 1];
    return weights;
}

// Compares cells with what their definition says: those near the borders of ranks, and at most
// 65,536 others. Rank 0 prints the verdict; returns the exit status.
static inline int halo_end(halo *job, const char *name, const uint32_t *own)
{
    const int all = job->ranks * job->count;
    memcpy(job->shared->cells + (size_t)job->rank * job->count, own, job->count * sizeof(uint32_t));
    halo_wait(job);
    if (job->rank != 0)
        return 0;
    const int step = all / (1 << 16) + 1, near = 64;
    uint32_t *weights = halo_weights(job->steps);
    bool ok = true;
    for (int i = 0; i < all && ok; ++i) {
        const int place = i % job->count;
        if (place >= near && place < job->count - near && i % step != 0)
            continue;
        uint32_t wanted = 0;
        for (int k = -job->steps; k <= job->steps; ++k)
            wanted += weights[k + job->steps] * halo_initial(((i + k) % all + all) % all);
        ok = job->shared->cells[i] == wanted;
    }
    free(weights);
    const size_t from = offsetof(halo_shared, journals);
    example_print_checksum((const char *)job->shared + from, halo_shared_bytes(job) - from);
    return example_end(name, ok);
}
