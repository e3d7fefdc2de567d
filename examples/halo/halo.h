// SPDX-License-Identifier: Apache-2.0
// What both versions of halo have in common: ranks, their exchange of halos, and the check of the
// result. So that the example needs no MPI, the program starts its ranks itself, with the variables
// that torchrun sets, and they exchange through shared memory. With MPI, halo_exchange would be two
// calls of MPI_Sendrecv.
#pragma once

#include "../example.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static const int halo_block = 256;

struct halo_shared {
    pthread_barrier_t arrived;
    uint32_t first[64], last[64]; // cell of each rank
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

// Compares all cells with what the host computes. Rank 0 prints the verdict; returns the exit
// status.
static inline int halo_end(halo *job, const char *name, const uint32_t *own)
{
    const int all = job->ranks * job->count;
    memcpy(job->shared->cells + (size_t)job->rank * job->count, own, job->count * sizeof(uint32_t));
    halo_wait(job);
    if (job->rank != 0)
        return 0;
    uint32_t *cells = (uint32_t *)malloc(all * sizeof(uint32_t));
    uint32_t *next = (uint32_t *)malloc(all * sizeof(uint32_t));
    for (int i = 0; i < all; ++i)
        cells[i] = halo_initial(i);
    for (int step = 0; step < job->steps; ++step) {
        for (int i = 0; i < all; ++i)
            next[i] = cells[(i + all - 1) % all] + 2 * cells[i] + cells[(i + 1) % all];
        uint32_t *old = cells;
        cells = next;
        next = old;
    }
    const bool ok = memcmp(cells, job->shared->cells, all * sizeof(uint32_t)) == 0;
    example_print_checksum(job->shared->cells, all * sizeof(uint32_t));
    free(cells);
    free(next);
    return example_end(name, ok);
}
