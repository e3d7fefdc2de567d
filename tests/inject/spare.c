// SPDX-License-Identifier: Apache-2.0
// Allocates and frees large blocks while glint watches for first uses. glint keeps freed blocks for
// the next allocation of their size; only the timing and old contents may reveal that. Prints
// errors; with the argument "kept", it is also an error if no block was kept.
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "program.h"

enum { BYTES = 1 << 20, ROUNDS = 300 };

static int bad;

static void expect(int good, const char *what)
{
    if (!good)
        printf("%s\n", what);
    bad |= !good;
}

// Volatile pointers keep the compiler from optimizing malloc and free away.
static void *(*volatile allocate)(size_t) = malloc;
static void *(*volatile allocate_clear)(size_t, size_t) = calloc;
static void *(*volatile change)(void *, size_t) = realloc;
static void (*volatile release)(void *) = free;

static int is_all(const unsigned char *block, unsigned char value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (block[i] != value)
            return 0;
    return 1;
}

// Blocks of several sizes, each filled with its own byte value.
static void *churn(void *user)
{
    enum { HELD = 8 };
    unsigned seed = (unsigned)(uintptr_t)user;
    struct {
        unsigned char *at, value;
        size_t bytes;
    } held[HELD] = {0};
    for (int i = 0; i < ROUNDS; i++) {
        const unsigned which = random_next(&seed) % HELD, how = random_next(&seed) % 3;
        size_t bytes = 50000 + random_next(&seed) % 4 * 65536 + random_next(&seed) % 3;
        if (held[which].at) {
            expect(is_all(held[which].at, held[which].value, held[which].bytes), "another's bytes");
            if (how) {
                release(held[which].at);
                held[which].at = NULL;
                continue;
            }
            held[which].at = change(held[which].at, bytes);
            const size_t least = bytes < held[which].bytes ? bytes : held[which].bytes;
            expect(is_all(held[which].at, held[which].value, least), "lost when changed");
        } else if (how) {
            held[which].at = allocate(bytes);
        } else {
            held[which].at = allocate_clear(bytes / 16 + 1, 16);
            expect(is_all(held[which].at, 0, bytes), "not clear");
        }
        held[which].bytes = bytes;
        held[which].value = (unsigned char)random_next(&seed);
        memset(held[which].at, held[which].value, bytes);
    }
    for (unsigned i = 0; i < HELD; i++)
        release(held[i].at);
    return NULL;
}

static int dies_of_freeing_twice(void)
{
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        fclose(stderr);
        void *block = allocate(BYTES);
        release(block);
        release(block);
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFSIGNALED(status);
}

int main(int count, char **arguments)
{
    start_thread();
    unsigned char *block = allocate(BYTES);
    memset(block, 7, BYTES);
    release(block);
    block = allocate(BYTES);
    if (count > 1 && strcmp(arguments[1], "kept") == 0)
        expect(block[BYTES / 2] == 7, "nothing was kept");
    memset(block, 8, BYTES);
    // Copies from the GPU must arrive, even in a reused block.
    CUdeviceptr device;
    CHECK(cuMemAlloc_v2(&device, BYTES));
    for (unsigned char i = 0; i < 20; i++) {
        CHECK(cuMemsetD8_v2(device, i, BYTES));
        CHECK(cuMemcpyDtoH_v2(block, device, BYTES));
        if (i % 3)
            expect(is_all(block, i, BYTES), "not what was copied");
        release(block);
        block = allocate(BYTES);
    }
    release(block);
    expect(dies_of_freeing_twice(), "who frees twice lives");
    pthread_t threads[4];
    for (uintptr_t i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, churn, (void *)(i + 1)); // NOLINT
    for (unsigned i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    if (!bad)
        printf("ok\n");
    return bad;
}
