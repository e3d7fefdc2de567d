// SPDX-License-Identifier: Apache-2.0
// Code that lives on the host's allocator: its settings, its statistics and its speed.
#include <malloc.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "hostile.h"

// Small blocks, freed in another order.
void allocation_small(void)
{
    enum { COUNT = 1000 };
    static void *blocks[COUNT];
    unsigned sum = 0;
    for (unsigned round = 0; round < 500; round++) {
        for (unsigned i = 0; i < COUNT; i++) {
            blocks[i] = sure(malloc(16 + (i * 37 + round) % 500));
            *(unsigned char *)blocks[i] = (unsigned char)i;
        }
        for (unsigned i = 0; i < COUNT; i++) {
            sum += *(unsigned char *)blocks[i * 7 % COUNT];
            free(blocks[i * 7 % COUNT]);
        }
    }
    printf("%u\n", sum);
}

// Blocks around the threshold for own mappings.
void allocation_large(void)
{
    unsigned sum = 0;
    for (unsigned i = 0; i < 3000; i++) {
        const size_t bytes = (40u << 10) + (i * 7919 % 400) * 1024;
        char *block = sure(malloc(bytes));
        block[0] = block[bytes - 1] = (char)i;
        sum += (unsigned char)block[bytes - 1];
        free(block);
    }
    printf("%u\n", sum);
}

void allocation_with_results(void)
{
    unsigned good = 0;
    for (unsigned i = 0; i < 100; i++) {
        struct result result = {BLOCK, sure(malloc(300000)), WORDS};
        bring(&result, i);
        good += count_good(result.words, WORDS, i) == WORDS;
        free(result.words);
    }
    printf("%u\n", good);
}

static void *allocate_on(void *user)
{
    unsigned *sum = user;
    for (unsigned i = 0; i < 40000; i++) {
        char *block = sure(malloc(8 + i % 3000));
        block[0] = (char)i;
        *sum += (unsigned char)block[0];
        free(block);
    }
    return NULL;
}

void allocation_threads(void)
{
    pthread_t threads[4];
    unsigned sums[4] = {0};
    for (unsigned i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, allocate_on, &sums[i]);
    for (unsigned i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        printf("%u\n", sums[i]);
    }
}

static void *free_in_thread(void *user)
{
    free(user);
    return NULL;
}

void allocation_freed_elsewhere(void)
{
    for (unsigned i = 0; i < 50; i++) {
        struct result result = {BLOCK, sure(malloc(i % 2 ? 200000 : 2000)), 500};
        pthread_t thread;
        bring(&result, i);
        pthread_create(&thread, NULL, free_in_thread, result.words);
        pthread_join(thread, NULL);
    }
    puts("freed");
}

// realloc in steps, as growing vectors do.
void allocation_growing(void)
{
    for (unsigned i = 0; i < 20; i++) {
        unsigned *words = NULL, size = 0, bad = 0;
        for (unsigned j = 0; j < 100000; j++) {
            if (j == size) {
                size = size ? size * 2 : 16;
                words = sure(realloc(words, size * sizeof(unsigned)));
            }
            words[j] = j ^ i;
        }
        for (unsigned j = 0; j < 100000; j++)
            bad += words[j] != (j ^ i);
        free(words);
        if (bad)
            printf("%u bad\n", bad);
    }
    puts("grown");
}

// The program's own settings are kept.
void allocation_settings(void)
{
    say("threshold", mallopt(M_MMAP_THRESHOLD, 1 << 30));
    say("trim", mallopt(M_TRIM_THRESHOLD, 1 << 30));
    const struct mallinfo2 before = mallinfo2();
    char *block = sure(malloc(4 << 20));
    const struct mallinfo2 after = mallinfo2();
    printf("%zu mapped\n", after.hblks - before.hblks);
    const struct result result = {BLOCK, (unsigned *)(void *)block, WORDS};
    bring(&result, 2);
    say_good("heap", result.words, WORDS, 2);
    free(block);
}

// What the allocator's statistics say about the program's own blocks.
void allocation_statistics(void)
{
    const struct result result = place_result(PINNED);
    bring(&result, 1);
    malloc_trim(0);
    for (unsigned kib = 32; kib <= 1024; kib *= 2) {
        const struct mallinfo2 before = mallinfo2();
        char *block = sure(malloc((size_t)kib << 10));
        const struct mallinfo2 after = mallinfo2();
        printf("%u KiB: %zu mapped, %zu usable\n", kib, after.hblks - before.hblks,
               malloc_usable_size(block));
        free(block);
    }
}

void allocation_aligned(void)
{
    for (size_t alignment = 16; alignment <= 1 << 20; alignment *= 4) {
        void *block = NULL;
        const int failed = posix_memalign(&block, alignment, 3 * alignment);
        const struct result result = {BLOCK, block, (unsigned)(alignment > PAGE ? PAGE_WORDS : 10)};
        bring(&result, 3);
        printf("%d %d %u\n", failed, (uintptr_t)block % alignment == 0,
               count_good(result.words, result.count, 3));
        free(block);
    }
    void *page = valloc(100);
    printf("%d\n", (uintptr_t)page % PAGE == 0);
    free(page);
}

void allocation_zeroed(void)
{
    for (unsigned i = 0; i < 20; i++) {
        struct result result = {BLOCK, sure(malloc(400000)), WORDS};
        bring(&result, i);
        free(result.words);
        unsigned *words = sure(calloc(100000, 4)), sum = 0;
        for (unsigned j = 0; j < 100000; j++)
            sum |= words[j];
        free(words);
        if (sum)
            puts("not zero");
    }
    puts("zeroed");
}

// The program moves its break itself.
void allocation_break(void)
{
    char *before = sbrk(0);
    char *own = sbrk(PAGE);
    printf("%d\n", own == before);
    memset(own, 1, PAGE);
    const struct result result = place_result(BLOCK);
    bring(&result, 1);
    say_good("block", result.words, result.count, 1);
    printf("%d\n", own[PAGE - 1]);
}

// Fixed addresses that are free natively stay free.
void allocation_fixed(void)
{
    for (uintptr_t at = 0x100000000; at < 0x200000000; at += 0x20000000) {
        void *memory = mmap((void *)at, 1 << 20, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        printf("%d\n", memory == (void *)at);
    }
}

// Asks for more than there is.
void allocation_refused(void)
{
    volatile size_t bytes = (size_t)1 << 46;
    void *first = malloc(bytes), *second = calloc(bytes, bytes);
    printf("%d %d\n", first == NULL, second == NULL);
    free(first);
    free(second);
    printf("%d\n", mmap(NULL, (size_t)1 << 50, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
                       MAP_FAILED);
    const struct result result = place_result(BLOCK);
    bring(&result, 1);
    say_good("block", result.words, result.count, 1);
}
