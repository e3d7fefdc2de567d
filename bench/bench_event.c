// SPDX-License-Identifier: Apache-2.0
// Measures how many records per second pass through the ring: call records with the details of a
// launch, from one and from two writing threads. With a reader, a writer that finds the ring full
// tries again, so every record arrives and the whole path is measured. Without one, filling the
// ring and then dropping is measured. Prints the median of the rounds.
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#include "event/event.h"

enum { ROUNDS = 5, SLOTS = 1 << 18, RECORDS = 2000000 };

static double now_s(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

struct writing {
    struct event_ring *ring;
    bool again; // whether a writer retries if the ring is full
};

static void *write_records(void *argument)
{
    const struct writing *writing = argument;
    struct event_call call = {.kind = EVENT_CALL_LAUNCH, .function = 1, .thread = 1, .stream = 1};
    struct event_launch launch = {.kernel = 1, .grid = {1, 1, 1}, .block = {256, 1, 1}};
    const struct event_piece pieces[] = {{&call, sizeof(call)}, {&launch, sizeof(launch)}};
    for (unsigned i = 0; i < RECORDS; i++) {
        call.number = i;
        while (!event_put_pieces(writing->ring, EVENT_CALL, pieces, 2) && writing->again)
            sched_yield();
    }
    return NULL;
}

struct reading {
    struct event_reader reader;
    uint64_t wanted;
};

static void *read_records(void *argument)
{
    struct reading *reading = argument;
    struct base_buf got = {0};
    for (uint64_t taken = 0; taken < reading->wanted;)
        if (event_take(&reading->reader, &got, false) != EVENT_NONE)
            taken++;
        else
            sched_yield();
    base_buf_fini(&got);
    return NULL;
}

// Returns millions of records per second.
static double measure(unsigned writers, bool drained)
{
    size_t bytes = event_ring_bytes(SLOTS);
    void *memory =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    struct writing writing = {memory == MAP_FAILED ? NULL : event_ring_make(memory, bytes),
                              drained};
    struct reading reading = {.wanted = (uint64_t)writers * RECORDS};
    pthread_t reader = 0, threads[2];
    if (!writing.ring || !event_reader_init(&reading.reader, memory, bytes))
        exit(1);
    double start = now_s();
    if (drained && pthread_create(&reader, NULL, read_records, &reading))
        exit(1);
    for (unsigned i = 0; i < writers; i++)
        if (pthread_create(&threads[i], NULL, write_records, &writing))
            exit(1);
    for (unsigned i = 0; i < writers; i++)
        pthread_join(threads[i], NULL);
    if (drained)
        pthread_join(reader, NULL);
    double end = now_s();
    munmap(memory, bytes);
    return (double)reading.wanted / (end - start) / 1e6;
}

static int ascending(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

int main(void)
{
    printf("records of %zu bytes, ring of %zu MiB, median of %d rounds of %d records a writer\n",
           sizeof(struct event_call) + sizeof(struct event_launch), event_ring_bytes(SLOTS) >> 20,
           ROUNDS, RECORDS);
    printf("%8s %8s %22s\n", "writers", "reader", "million records a s");
    for (unsigned drained = 0; drained < 2; drained++)
        for (unsigned writers = 1; writers <= 2; writers++) {
            double results[ROUNDS];
            for (unsigned i = 0; i < ROUNDS; i++)
                results[i] = measure(writers, drained);
            qsort(results, ROUNDS, sizeof(*results), ascending);
            printf("%8u %8s %22.1f\n", writers, drained ? "drains" : "absent", results[ROUNDS / 2]);
        }
    return 0;
}
