// SPDX-License-Identifier: Apache-2.0
// How many records a second go through the ring: a call record with the details of a launch, from
// one and from two writing threads, with a reader that drains beside them and without one, where
// what is measured is the dropping. Prints the median of the rounds.
#include <pthread.h>
#include <stdatomic.h>
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

static void *write_records(void *argument)
{
    struct event_ring *ring = argument;
    struct event_call call = {.kind = EVENT_CALL_LAUNCH, .function = 1, .thread = 1, .stream = 1};
    struct event_launch launch = {.kernel = 1, .grid = {1, 1, 1}, .block = {256, 1, 1}};
    const struct event_piece pieces[] = {{&call, sizeof(call)}, {&launch, sizeof(launch)}};
    for (unsigned i = 0; i < RECORDS; i++) {
        call.number = i;
        event_put_pieces(ring, EVENT_CALL, pieces, 2);
    }
    return NULL;
}

struct reading {
    struct event_reader reader;
    _Atomic bool stop;
    uint64_t taken;
};

static void *read_records(void *argument)
{
    struct reading *reading = argument;
    struct base_buf got = {0};
    for (;;) {
        bool last = atomic_load(&reading->stop);
        while (event_take(&reading->reader, &got, false) != EVENT_NONE)
            reading->taken++;
        if (last)
            break;
        nanosleep(&(struct timespec){0, 200000}, NULL);
    }
    base_buf_fini(&got);
    return NULL;
}

struct result {
    double puts_s, takes_s; // millions a second
    double dropped;         // of all
};

static struct result measure(unsigned writers, bool drained)
{
    size_t bytes = event_ring_bytes(SLOTS);
    void *memory =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    struct event_ring *ring = memory == MAP_FAILED ? NULL : event_ring_make(memory, bytes);
    struct reading reading = {.taken = 0};
    pthread_t reader = 0, threads[2];
    if (!ring || !event_reader_init(&reading.reader, memory, bytes) ||
        (drained && pthread_create(&reader, NULL, read_records, &reading)))
        exit(1);
    double start = now_s();
    for (unsigned i = 0; i < writers; i++)
        if (pthread_create(&threads[i], NULL, write_records, ring))
            exit(1);
    for (unsigned i = 0; i < writers; i++)
        pthread_join(threads[i], NULL);
    double written = now_s();
    atomic_store(&reading.stop, true);
    if (drained)
        pthread_join(reader, NULL);
    double all = (double)writers * RECORDS;
    struct result result = {all / (written - start) / 1e6,
                            (double)reading.taken / (now_s() - start) / 1e6,
                            (double)event_dropped(&reading.reader, EVENT_CALL) / all};
    munmap(memory, bytes);
    return result;
}

static int by_puts(const void *a, const void *b)
{
    const struct result *left = a, *right = b;
    return (left->puts_s > right->puts_s) - (left->puts_s < right->puts_s);
}

int main(void)
{
    printf("records of %zu bytes, ring of %zu MiB, median of %d rounds of %d records a writer\n",
           sizeof(struct event_call) + sizeof(struct event_launch), event_ring_bytes(SLOTS) >> 20,
           ROUNDS, RECORDS);
    printf("%8s %8s %16s %16s %10s\n", "writers", "reader", "M puts/s", "M delivered/s", "dropped");
    for (unsigned drained = 0; drained < 2; drained++) {
        for (unsigned writers = 1; writers <= 2; writers++) {
            struct result results[ROUNDS];
            for (unsigned i = 0; i < ROUNDS; i++)
                results[i] = measure(writers, drained);
            qsort(results, ROUNDS, sizeof(*results), by_puts);
            const struct result *median = &results[ROUNDS / 2];
            printf("%8u %8s %16.1f %16.1f %9.1f%%\n", writers, drained ? "drains" : "absent",
                   median->puts_s, median->takes_s, median->dropped * 100);
        }
    }
    return 0;
}
