// SPDX-License-Identifier: Apache-2.0
// Measures how many sectors per second the model of caches takes: through the L1 of a
// multiprocessor and, what that does not serve, through L2, with 1 of 16 lines and with all. One
// row is a kind of requests; the last column is for two threads, each of which has a model of its
// own, as a multiple of one thread. Prints the best of the rounds.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cache/cache.h"

enum { ROUNDS = 3, BATCH = 1000, REQUESTS = 2000 * BATCH };

static double now_s(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

// Whole lines in order, as a copy has them; four sectors of each of several rows in turn, as a
// stencil has them; and single sectors of random lines of 64 MiB.
enum stream { COPY, STENCIL, GATHER, STREAMS };
static const char *const names[] = {"copy", "stencil", "gather"};

static struct cache_request request_of(enum stream stream, uint64_t i, uint64_t *random)
{
    struct cache_request request = {.line = i, .sectors = 15, .whole = 15};
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    switch (stream) {
    case COPY: request.kind = i % 2 ? CACHE_STORE : CACHE_LOAD; break;
    case STENCIL: request.line = i / 5 + i % 5 * 64; break;
    default: request.line = *random >> 45; request.sectors = (uint8_t)(1u << (*random >> 40 & 3));
    }
    return request;
}

struct job {
    enum stream stream;
    uint32_t share;
    struct cache_request *requests;
    uint64_t sectors;
};

// Chooses requests that the model looks at. They are made before they are timed.
static void make(struct job *job)
{
    uint64_t random = 1, count = 0;
    job->requests = malloc(REQUESTS * sizeof(*job->requests));
    if (!job->requests)
        exit(1);
    for (uint64_t i = 0; count < REQUESTS; i++) {
        const struct cache_request request = request_of(job->stream, i, &random);
        if (cache_is_sampled(request.line, job->share))
            job->requests[count++] = request;
    }
    for (uint64_t i = 0; i < count; i++)
        job->sectors += (uint64_t)__builtin_popcount(job->requests[i].sectors);
}

static void *simulate(void *argument)
{
    const struct job *job = argument;
    const struct cache_preset *preset = cache_preset_find("h200");
    struct cache_l1 *l1 = cache_l1_create(preset, 32 << 10, job->share);
    struct cache_l2 *l2 = cache_l2_create(preset, job->share);
    struct cache_l1_counts counts1 = {0};
    struct cache_l2_counts counts2 = {0};
    if (!l1 || !l2)
        exit(1);
    for (unsigned i = 0; i < REQUESTS; i += BATCH) {
        struct cache_request batch[BATCH];
        memcpy(batch, job->requests + i, sizeof(batch));
        cache_l1_run(l1, batch, BATCH, &counts1);
        cache_l2_run(l2, batch, BATCH, &counts2);
    }
    cache_l1_destroy(l1);
    cache_l2_destroy(l2);
    return NULL;
}

// Returns the seconds that so many threads take, each for all requests.
static double measure(struct job *job, unsigned threads)
{
    double best = 1e30;
    for (int round = 0; round < ROUNDS; round++) {
        pthread_t ids[2];
        const double start = now_s();
        for (unsigned i = 0; i < threads; i++) {
            if (pthread_create(&ids[i], NULL, simulate, job))
                exit(1);
        }
        for (unsigned i = 0; i < threads; i++)
            pthread_join(ids[i], NULL);
        const double time = now_s() - start;
        best = time < best ? time : best;
    }
    return best;
}

int main(void)
{
    printf("%-10s %20s %20s %12s\n", "requests", "1 of 16 lines", "all lines", "two threads");
    for (enum stream stream = 0; stream < STREAMS; stream++) {
        double rates[2], twice = 0;
        for (int all = 0; all < 2; all++) {
            struct job job = {.stream = stream, .share = all ? CACHE_ALL : CACHE_ALL / 16};
            make(&job);
            const double time = measure(&job, 1);
            rates[all] = (double)job.sectors / time / 1e6;
            if (!all)
                twice = 2 * time / measure(&job, 2);
            free(job.requests);
        }
        printf("%-10s %10.0f M sectors/s %9.0f M sectors/s %11.2fx\n", names[stream], rates[0],
               rates[1], twice);
    }
    return 0;
}
