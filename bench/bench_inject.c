// SPDX-License-Identifier: Apache-2.0
// Measures what a call path costs in the watched program: microseconds for a known path of 21
// frames, for libgcc's unwinder on the same stack, and for a new path. Prints the median of the
// rounds.
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unwind.h>

#include "event/event.h"
#include "inject/stack/stack.h"

enum { ROUNDS = 9, CALLS = 20000, CHAIN = 16 }; // with main and the C library, 21 frames

static double now_us(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

struct measured {
    struct stack_table *table;
    struct event_ring *ring;
    double first_us, known_us, libgcc_us;
    unsigned frames; // number of frames that libgcc finds
};

static _Unwind_Reason_Code count_frame(struct _Unwind_Context *context, void *user)
{
    *(unsigned *)user += _Unwind_GetIP(context) != 0;
    return _URC_NO_REASON;
}

// As in a hook, the path begins with the caller of this function.
__attribute__((noinline)) static uint32_t stack_here(struct stack_table *table,
                                                     struct event_ring *ring)
{
    uint32_t number = stack_from(table, ring, UNWIND_CALLER);
    __asm__ volatile(""); // prevents a tail call, which would remove the frame
    return number;
}

static void measure(struct measured *measured)
{
    double start = now_us();
    uint32_t number = stack_here(measured->table, measured->ring);
    measured->first_us = now_us() - start;
    for (unsigned i = 0; i < CALLS; i++) // one new path, known from then on
        if (i == 1)
            start = now_us();
        else if (!stack_here(measured->table, measured->ring))
            exit(1);
    measured->known_us = (now_us() - start) / (CALLS - 2);
    start = now_us();
    for (unsigned i = 0; i < CALLS / 10; i++) {
        measured->frames = 0;
        _Unwind_Backtrace(count_frame, &measured->frames);
    }
    measured->libgcc_us = (now_us() - start) / (CALLS / 10);
    if (!number)
        exit(1);
}

// A chain of calls as programs have them; the compiler must not turn it into a loop.
__attribute__((noinline)) static void even(unsigned depth, struct measured *measured);

__attribute__((noinline)) static void odd(unsigned depth, struct measured *measured)
{
    volatile char local[48] __attribute__((unused));
    local[0] = 1;
    even(depth - 1, measured);
    local[0] = 2;
}

__attribute__((noinline)) static void even(unsigned depth, struct measured *measured)
{
    if (depth)
        odd(depth - 1, measured);
    else
        measure(measured);
    __asm__ volatile("");
}

static int by_known(const void *a, const void *b)
{
    const struct measured *left = a, *right = b;
    return (left->known_us > right->known_us) - (left->known_us < right->known_us);
}

int main(void)
{
    struct measured rounds[ROUNDS];
    size_t bytes = event_ring_bytes(1 << 12);
    for (unsigned i = 0; i < ROUNDS; i++) {
        void *memory =
            mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED)
            return 1;
        rounds[i] = (struct measured){.table = stack_table_make(false),
                                      .ring = event_ring_make(memory, bytes)};
        if (!rounds[i].table || !rounds[i].ring)
            return 1;
        even(CHAIN, &rounds[i]);
        stack_table_free(rounds[i].table);
        munmap(memory, bytes);
    }
    qsort(rounds, ROUNDS, sizeof(*rounds), by_known);
    const struct measured *median = &rounds[ROUNDS / 2];
    printf("call path of %u frames, microseconds, median of %d rounds of %d\n", median->frames,
           ROUNDS, CALLS);
    printf("%12s %12s %12s\n", "known", "libgcc", "first");
    printf("%12.3f %12.3f %12.3f\n", median->known_us, median->libgcc_us, median->first_us);
    return 0;
}
