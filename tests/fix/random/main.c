// SPDX-License-Identifier: Apache-2.0
// random SEED FILE: runs the statements that the seed selects, writes FILE and prints digests. Exit
// status: 0 or 5, as the seed selects; 1 if a driver call fails, 2 for wrong arguments, 3 if memory
// has wrong contents.
#include "random.h"

#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

enum { SITE_COUNT = 50, ROUNDS = 4, THREADS = 2 };

static unsigned seed;
static CUcontext context;
// During a graph capture, no other thread may use the context: cuCtxSynchronize and the legacy
// stream would fail.
static pthread_rwlock_t alone = PTHREAD_RWLOCK_INITIALIZER;
static const char *path;

uint32_t next_random(struct world *world)
{
    uint32_t x = world->random;
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    world->random = x;
    return x * 2654435769u;
}

void wrong(const struct world *world, const char *what)
{
    fprintf(stderr, "seed %u, world %u, round %u, %s: %s\n", seed, world->number, world->round,
            world->doing, what);
    _exit(3);
}

void digest_words(uint64_t *digest, const uint32_t *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        *digest = (*digest ^ words[i]) * 1099511628211u;
}

// Each site is a separate call path.
#define SITE(n)                                                                               \
    static __attribute__((noinline)) void site_##n(                                           \
        struct world *world, const struct statement *what, statement_function *run)           \
    {                                                                                         \
        run(world, what);                                                                     \
        __asm__ volatile("" ::"i"(n)); /* neither a tail call nor the same code as another */ \
    }
#define TEN(tens) \
    SITE(tens##0) \
    SITE(tens##1) \
    SITE(tens##2) \
    SITE(tens##3) \
    SITE(tens##4) SITE(tens##5) SITE(tens##6) SITE(tens##7) SITE(tens##8) SITE(tens##9)
#define NAMES(tens)                                                                 \
    site_##tens##0, site_##tens##1, site_##tens##2, site_##tens##3, site_##tens##4, \
        site_##tens##5, site_##tens##6, site_##tens##7, site_##tens##8, site_##tens##9
TEN(1)
TEN(2)
TEN(3)
TEN(4)
TEN(5)
static void (*const sites[SITE_COUNT])(struct world *, const struct statement *,
                                       statement_function *) = {NAMES(1), NAMES(2), NAMES(3),
                                                                NAMES(4), NAMES(5)};

static void choose(struct world *world, struct statement *statement)
{
    *statement =
        (struct statement){.device = {below(world, DEVICE_COUNT), below(world, DEVICE_COUNT)},
                           .host = below(world, HOST_COUNT),
                           .stream = below(world, STREAM_COUNT),
                           .choice = next_random(world)};
    for (unsigned i = 0; i < 2; i++) {
        unsigned use = below(world, 4);
        statement->use[i] = use == 0 ? USE_NOW : use == 1 ? USE_LATER : USE_NEVER;
    }
    if (below(world, 4)) // most sites keep their first use
        statement->use[1] = statement->use[0];
}

static void run_world(struct world *world, unsigned count)
{
    struct statement statements[SITE_COUNT];
    unsigned order[SITE_COUNT];
    pthread_rwlock_rdlock(&alone);
    CHECK(cuCtxSetCurrent(context));
    load_kernels(world);
    open_streams(world);
    // Memory that GPU and host share disables many corrections, so only some seeds have it.
    const bool has_managed = seed % 6 == 0, has_registered = seed % 8 == 0,
               has_pinned = seed % 2 == 0;
    for (unsigned i = 0; i < DEVICE_COUNT; i++) {
        // One of each kind, followed by plain and large ones in turn.
        const enum device_kind kind = i < DEVICE_KINDS ? i : i % 2 ? DEVICE_LARGE : DEVICE_PLAIN;
        world->devices[i].kind = kind == DEVICE_MANAGED && !has_managed ? DEVICE_PLAIN : kind;
    }
    for (unsigned i = 0; i < HOST_COUNT; i++) {
        const enum host_kind kind = i % HOST_KINDS;
        const bool has =
            kind == HOST_REGISTERED ? has_registered : kind != HOST_PINNED || has_pinned;
        allocate_host(world, i, has ? kind : HOST_BLOCK);
    }
    for (unsigned i = 0; i < SITE_COUNT; i++) {
        choose(world, &statements[i]);
        unsigned other = below(world, i + 1);
        order[i] = order[other];
        order[other] = i;
    }
    pthread_rwlock_unlock(&alone);
    for (world->round = 0; world->round < ROUNDS; world->round++) {
        for (unsigned i = 0; i < count; i++) {
            unsigned site = order[i];
            const struct kind *kind = &kinds[site % kind_count];
            world->doing = kind->name;
            if (kind->alone)
                pthread_rwlock_wrlock(&alone);
            else
                pthread_rwlock_rdlock(&alone);
            sites[site](world, &statements[site], kind->run);
            world->doing = "what was put off";
            if (below(world, 6) == 0)
                look_at_some(world, 2);
            pthread_rwlock_unlock(&alone);
        }
        pthread_rwlock_rdlock(&alone);
        if (below(world, 2))
            look_at_some(world, LATER_COUNT);
        pthread_rwlock_unlock(&alone);
    }
    pthread_rwlock_rdlock(&alone);
    look_at_some(world, LATER_COUNT);
    pthread_rwlock_unlock(&alone);
}

static void close_world(struct world *world)
{
    for (unsigned i = 0; i < HOST_COUNT; i++)
        free_host(world, i);
    for (unsigned i = 0; i < DEVICE_COUNT; i++)
        free_device(world, &world->devices[i]);
    close_streams(world);
    CHECK(cuModuleUnload(world->module));
}

static void open_world(struct world *world, unsigned number)
{
    char name[4096];
    memset(world, 0, sizeof(*world));
    world->number = number;
    world->random = (seed * 64 + number) * 2654435761u | 1;
    for (unsigned i = 0; i < 8; i++)
        next_random(world);
    world->digest = 14695981039346656037u;
    world->hides = seed % 5 < 2;
    snprintf(name, sizeof(name), "%s%.*u", path, number != 0, number);
    world->file = open(name, O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
    if (world->file < 0) {
        perror(name);
        exit(2);
    }
}

static void *other_world(void *argument)
{
    struct world *world = argument;
    run_world(world, 8 + below(world, 8));
    pthread_rwlock_rdlock(&alone);
    close_world(world);
    pthread_rwlock_unlock(&alone);
    return NULL;
}

int main(int argc, char **argv)
{
    static struct world worlds[1 + THREADS];
    pthread_t threads[THREADS];
    if (argc != 3) {
        fprintf(stderr, "usage: %s SEED FILE\n", argv[0]);
        return 2;
    }
    seed = (unsigned)atoi(argv[1]);
    path = argv[2];
    context = start_thread();
    unsigned thread_count = seed % (THREADS + 1); // some seeds have no threads
    for (unsigned i = 0; i <= thread_count; i++)
        open_world(&worlds[i], i);
    for (unsigned i = 0; i < thread_count; i++) {
        if (pthread_create(&threads[i], NULL, other_world, &worlds[1 + i]))
            return 1;
    }
    run_world(&worlds[0], 16 + below(&worlds[0], 12));
    for (unsigned i = 0; i < thread_count; i++)
        pthread_join(threads[i], NULL);
    for (unsigned i = 0; i <= thread_count; i++)
        printf("seed %u, world %u: %016llx\n", seed, i, (unsigned long long)worlds[i].digest);
    fflush(stdout);
    switch (seed % 4) { // exits with work still pending in three of four ways
    case 0: close_world(&worlds[0]); break;
    case 1: exit(5);
    case 2: _exit(5);
    default: break;
    }
    return 0;
}
