// SPDX-License-Identifier: Apache-2.0
// Measures how many sectors per second the model of caches takes, with 1 of 16 lines and with all.
// The first table is for requests in a given order: through the L1 of a multiprocessor and, what
// that does not serve, through L2. The second is for whole launches, whose order is made up, the
// third for launches with reuse distances. One row is a kind of requests; the last column is for
// two threads and 1 of 16 lines, as a multiple of one thread: in the first table each has a model
// of its own. Prints the best of the rounds. Rates are for processor time, so that other programs
// hardly matter; multiples need two cores that are idle.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cache/cache.h"

enum { ROUNDS = 5, BATCH = 1000, REQUESTS = 2000 * BATCH };
enum { WARPS = 8, TRIES = 128, RESIDENT = 8, MULTIPROCESSORS = 132 };

static double now_s(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

// Whole lines in order, as a copy has them; four sectors of each of several rows in turn, as a
// stencil has them; and single sectors of random lines of 64 MiB. The last is the same as a
// launch, with the records of its warps mixed.
enum stream { COPY, STENCIL, GATHER, MIXED, STREAMS };
static const char *const names[] = {"copy", "stencil", "gather", "gather, mixed"};

static struct cache_request request_of(enum stream stream, uint64_t i, uint64_t *random)
{
    struct cache_request request = {.line = i, .sectors = 15, .whole = 15};
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    switch (stream) {
    case COPY: request.kind = i % 2 ? CACHE_STORE : CACHE_LOAD; break;
    case STENCIL: request.line = i / 5 + i % 5 * 64; break;
    default:
        request.line = *random >> 45;
        request.sectors = request.whole = (uint8_t)(1u << (*random >> 40 & 3));
    }
    return request;
}

struct job {
    enum stream stream;
    uint32_t share;
    struct cache_request *requests;
    struct cache_record *records;
    struct cache_block *blocks;
    uint64_t block_count;
    uint64_t sectors;
    bool reuse;
};

static void *make_room(size_t count, size_t size)
{
    void *room = calloc(count, size);
    if (!room)
        exit(1);
    return room;
}

// A warp tries TRIES requests, of which the model looks at a share; four are in a basic block.
static void make_records(struct job *job, uint64_t i, size_t count)
{
    const struct cache_request *request = &job->requests[count];
    job->records[count] = (struct cache_record){
        .line = request->line,
        .warp = (uint32_t)(i / TRIES),
        .counter = (uint32_t)(i % TRIES / 4),
        .kind = request->kind,
        .sectors = request->sectors,
        .whole = request->whole,
    };
}

// Puts the records of warps that are near to each other in turns, as their chunks may lie.
static void mix(struct job *job)
{
    enum { RUN = 1 << 14 };
    struct cache_record *copy = make_room(RUN, sizeof(*copy));
    for (size_t first = 0; first + RUN <= REQUESTS; first += RUN) {
        memcpy(copy, job->records + first, RUN * sizeof(*copy));
        for (size_t i = 0; i < RUN; i++)
            job->records[first + i] = copy[i % 64 * (RUN / 64) + i / 64];
    }
    free(copy);
}

// Chooses requests that the model looks at. They are made before they are timed.
static void make(struct job *job)
{
    uint64_t random = 1, count = 0, i = 0;
    job->requests = make_room(REQUESTS, sizeof(*job->requests));
    job->records = make_room(REQUESTS, sizeof(*job->records));
    for (; count < REQUESTS; i++) {
        const struct cache_request request = request_of(job->stream, i, &random);
        if (!cache_is_sampled(request.line, job->share))
            continue;
        job->requests[count] = request;
        make_records(job, i, count++);
        job->sectors += (uint64_t)__builtin_popcount(request.sectors);
    }
    if (job->stream == MIXED)
        mix(job);
    job->block_count = i / TRIES / WARPS + 1;
    job->blocks = make_room(job->block_count, sizeof(*job->blocks));
    for (uint64_t block = 0; block < job->block_count; block++)
        job->blocks[block] = (struct cache_block){
            .began = block * 100,
            .multiprocessor = (uint32_t)(block % MULTIPROCESSORS),
            .length = TRIES / 4,
        };
}

static void fini(struct job *job)
{
    free(job->requests);
    free(job->records);
    free(job->blocks);
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

static void run_models(const struct job *job, unsigned threads)
{
    pthread_t ids[2];
    struct job copies[2] = {*job, *job};
    for (unsigned i = 0; i < threads; i++) {
        if (pthread_create(&ids[i], NULL, simulate, &copies[i]))
            exit(1);
    }
    for (unsigned i = 0; i < threads; i++)
        pthread_join(ids[i], NULL);
}

static void run_launch(const struct job *job, unsigned threads)
{
    const uint32_t group = 0;
    struct cache_result result = {0};
    struct cache_distances l1 = {0}, l2 = {0};
    struct cache_l2 *model = cache_l2_create(cache_preset_find("h200"), job->share);
    struct cache_reuse *kept = cache_reuse_create(job->share);
    const struct cache_launch_reuse reuse = {&group, 1, &l1, &l2, kept};
    const struct cache_launch launch = {
        .records = job->records,
        .record_count = REQUESTS,
        .blocks = job->blocks,
        .block_count = job->block_count,
        .warps_per_block = WARPS,
        .resident = RESIDENT,
        .shared_bytes = 32 << 10,
        .owner_count = 1,
    };
    if (!model ||
        !cache_launch_run(model, &launch, NULL, threads, &result, job->reuse ? &reuse : NULL))
        exit(1);
    cache_l2_destroy(model);
    cache_reuse_destroy(kept);
}

// Returns the least seconds that so many threads take, of this clock.
static double measure(const struct job *job, unsigned threads, clockid_t clock,
                      void (*function)(const struct job *, unsigned))
{
    double best = 1e30;
    for (int round = 0; round < ROUNDS; round++) {
        const double start = now_s(clock);
        function(job, threads);
        const double time = now_s(clock) - start;
        best = time < best ? time : best;
    }
    return best;
}

// `work` is how many times the requests two threads take.
static void print_row(enum stream stream, bool reuse, double work,
                      void (*function)(const struct job *, unsigned))
{
    double rates[2], twice = 0;
    for (int all = 0; all < 2; all++) {
        struct job job = {
            .stream = stream, .share = all ? CACHE_ALL : CACHE_ALL / 16, .reuse = reuse};
        make(&job);
        rates[all] =
            (double)job.sectors / measure(&job, 1, CLOCK_PROCESS_CPUTIME_ID, function) / 1e6;
        if (!all)
            twice = work * measure(&job, 1, CLOCK_MONOTONIC, function) /
                    measure(&job, 2, CLOCK_MONOTONIC, function);
        fini(&job);
    }
    printf("%-14s %10.0f M sectors/s %9.0f M sectors/s %11.2fx\n", names[stream], rates[0],
           rates[1], twice);
}

static void print_head(const char *what)
{
    printf("%-14s %20s %20s %12s\n", what, "1 of 16 lines", "all lines", "two threads");
}

int main(void)
{
    print_head("requests");
    for (enum stream stream = 0; stream < MIXED; stream++)
        print_row(stream, false, 2, run_models);
    print_head("\nlaunches");
    for (enum stream stream = 0; stream < STREAMS; stream++)
        print_row(stream, false, 1, run_launch);
    print_head("\nwith distances");
    for (enum stream stream = 0; stream < MIXED; stream++)
        print_row(stream, true, 1, run_launch);
    return 0;
}
