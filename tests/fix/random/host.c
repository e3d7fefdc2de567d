// SPDX-License-Identifier: Apache-2.0
// Host memory: pieces of eight kinds, and the ways in which a program reads memory: by itself,
// through the C library, the system, another thread or a child.
#include "random.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STATIC_WORDS = 6 * PAGE / 4, WORLDS = 4, STATICS = 2 };
static uint32_t statics[WORLDS][STATICS][STATIC_WORDS];
// Words between others that nobody may change.
enum { CORNER_WORDS = 45, UNTOUCHED = 0x600d };
static struct corner {
    uint32_t before[3], words[CORNER_WORDS], after[3];
} corners[WORLDS][STATICS];

bool is_pinned(const struct host_piece *piece)
{
    return piece->kind == HOST_PINNED || piece->kind == HOST_REGISTERED;
}

static void *sure(void *pointer)
{
    if (!pointer || pointer == MAP_FAILED)
        exit(1);
    return pointer;
}

static uint32_t *open_corner(struct corner *corner)
{
    for (unsigned i = 0; i < 3; i++)
        corner->before[i] = corner->after[i] = UNTOUCHED;
    return corner->words;
}

static void close_corner(const struct world *world, const uint32_t *words)
{
    const struct corner *corner =
        (const void *)((const char *)words - offsetof(struct corner, words));
    for (unsigned i = 0; i < 3; i++) {
        if (corner->before[i] != UNTOUCHED || corner->after[i] != UNTOUCHED)
            wrong(world, "words beside a piece were changed");
    }
}

void allocate_host(struct world *world, unsigned index, enum host_kind kind)
{
    struct host_piece *piece = &world->hosts[index];
    unsigned words = 40000 + below(world, 10000); // more than malloc takes from the heap
    void *data = NULL;
    switch (kind) {
    case HOST_HEAP:
        words = 100 + below(world, 6000);
        data = sure(malloc(4 * (size_t)words));
        break;
    case HOST_TINY:
        words = 1 + below(world, 60);
        data = sure(malloc(4 * (size_t)words));
        break;
    case HOST_CORNER:
        words = CORNER_WORDS;
        data = open_corner(&corners[world->number % WORLDS][index / HOST_KINDS % STATICS]);
        break;
    case HOST_BLOCK: data = sure(malloc(4 * (size_t)words)); break;
    case HOST_MAPPED:
        data = sure(mmap(NULL, 4 * (size_t)words, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        break;
    case HOST_STATIC:
        words = STATIC_WORDS;
        data = statics[world->number % WORLDS][index / HOST_KINDS % STATICS];
        break;
    case HOST_PINNED:
        words = 1000 + below(world, 20000);
        CHECK(cuMemAllocHost_v2(&data, 4 * (size_t)words));
        break;
    default:
        data = sure(aligned_alloc(PAGE, (4 * (size_t)words + PAGE - 1) / PAGE * PAGE));
        CHECK(cuMemHostRegister_v2(data, 4 * (size_t)words, 0));
    }
    *piece = (struct host_piece){
        .kind = kind, .data = data, .words = words, .model = sure(malloc(4 * (size_t)words))};
    for (unsigned i = 0; i < words; i++)
        piece->data[i] = piece->model[i] = i ^ index;
}

void free_host(struct world *world, unsigned index)
{
    struct host_piece *piece = &world->hosts[index];
    for (unsigned i = 0; i < world->later_count; i++) {
        if (world->later[i].host == index)
            world->later[i].words = 0;
    }
    // cuMemFreeHost waits for the work on pinned memory.
    if (piece->kind != HOST_PINNED)
        wait_for(world, &piece->last);
    switch (piece->kind) {
    case HOST_MAPPED: munmap(piece->data, 4 * (size_t)piece->words); break;
    case HOST_STATIC: break;
    case HOST_CORNER: close_corner(world, piece->data); break;
    case HOST_PINNED: CHECK(cuMemFreeHost(piece->data)); break;
    case HOST_REGISTERED: CHECK(cuMemHostUnregister(piece->data)); // fall through
    default: free(piece->data);
    }
    free(piece->model);
    piece->data = NULL;
}

void write_host(struct world *world, struct host_piece *piece, unsigned offset, unsigned words)
{
    uint32_t key = next_random(world);
    wait_for(world, &piece->last);
    for (unsigned i = 0; i < words; i++)
        piece->model[offset + i] = filled(i, key);
    uint32_t *to = piece->data + offset;
    switch (below(world, 4)) {
    case 0: memcpy(to, piece->model + offset, 4 * (size_t)words); break;
    case 1: { // read from a pipe by the system, as much as fits
        size_t bytes = words > PAGE / 4 ? PAGE : 4 * (size_t)words;
        int ends[2];
        if (pipe(ends) || write(ends[1], piece->model + offset, bytes) != (ssize_t)bytes ||
            read(ends[0], to, bytes) != (ssize_t)bytes)
            wrong(world, "a pipe failed");
        close(ends[0]);
        close(ends[1]);
        memcpy((char *)to + bytes, (char *)(piece->model + offset) + bytes,
               4 * (size_t)words - bytes);
        break;
    }
    default:
        for (unsigned i = 0; i < words; i++)
            to[i] = filled(i, key);
    }
}

struct glance {
    const uint32_t *words;
    unsigned count;
    uint64_t digest;
};

static void *glance(void *argument)
{
    struct glance *glance = argument;
    digest_words(&glance->digest, glance->words, glance->count);
    return NULL;
}

static void by_thread(struct glance *what)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, glance, what))
        exit(1);
    pthread_join(thread, NULL);
}

// A child inherits the memory, except for what the driver withholds from it.
static void by_child(struct world *world, struct glance *what)
{
    int ends[2];
    if (pipe(ends))
        exit(1);
    pid_t child = fork();
    if (child == 0) {
        glance(what);
        _exit(write(ends[1], &what->digest, sizeof(what->digest)) != sizeof(what->digest));
    }
    close(ends[1]);
    if (child < 0 || read(ends[0], &what->digest, sizeof(what->digest)) != sizeof(what->digest))
        wrong(world, "a child did not tell what it saw");
    close(ends[0]);
    waitpid(child, NULL, 0);
}

// Sends the words through a pair of sockets, a part at a time.
static void by_socket(struct world *world, struct glance *what)
{
    enum { SENT = 1024 };
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
        exit(1);
    for (unsigned at = 0; at < what->count; at += SENT) {
        uint32_t back[SENT];
        size_t words = what->count - at < SENT ? what->count - at : SENT;
        if (send(ends[0], what->words + at, 4 * words, 0) != (ssize_t)(4 * words) ||
            recv(ends[1], back, 4 * words, MSG_WAITALL) != (ssize_t)(4 * words))
            wrong(world, "a socket failed");
        digest_words(&what->digest, back, words);
    }
    close(ends[0]);
    close(ends[1]);
}

// Appends the words to the world's file and reads them back.
static void by_file(struct world *world, struct glance *what, unsigned way)
{
    size_t bytes = 4 * (size_t)what->count;
    off_t start = lseek(world->file, 0, SEEK_END);
    uint32_t *back = sure(malloc(bytes));
    bool ok;
    if (way == 0) {
        ok = write(world->file, what->words, bytes) == (ssize_t)bytes;
    } else if (way == 1) {
        struct iovec parts[2] = {{(void *)what->words, bytes / 8 * 4},
                                 {(char *)what->words + bytes / 8 * 4, bytes - bytes / 8 * 4}};
        ok = writev(world->file, parts, 2) == (ssize_t)bytes;
    } else {
        FILE *file = sure(fdopen(dup(world->file), "a"));
        ok = fwrite(what->words, 4, what->count, file) == what->count;
        fclose(file);
    }
    if (!ok || pread(world->file, back, bytes, start) != (ssize_t)bytes)
        wrong(world, "a file failed");
    digest_words(&what->digest, back, what->count);
    free(back);
}

void look_at(struct world *world, const uint32_t *words, const uint32_t *model, unsigned count)
{
    struct glance seen = {words, count, world->digest};
    switch (below(world, 10)) {
    case 0: by_thread(&seen); break;
    case 1: by_socket(world, &seen); break;
    case 2:
    case 3:
    case 4: by_file(world, &seen, below(world, 3)); break;
    case 5: { // the middle word first
        unsigned at = count / 2;
        if (words[at] != model[at])
            wrong(world, "a word is not what it must be");
        glance(&seen);
        break;
    }
    default: glance(&seen);
    }
    digest_words(&world->digest, model, count);
    if (seen.digest != world->digest)
        wrong(world, "memory is not what it must be");
}

void look(struct world *world, struct host_piece *piece, unsigned offset, unsigned words)
{
    wait_for(world, &piece->last);
    if (!is_pinned(piece) && below(world, 24) == 0) {
        struct glance seen = {piece->data + offset, words, world->digest};
        by_child(world, &seen);
        uint64_t digest = world->digest;
        digest_words(&digest, piece->model + offset, words);
        if (seen.digest != digest)
            wrong(world, "a child's memory is not what it must be");
    }
    look_at(world, piece->data + offset, piece->model + offset, words);
}

void look_later(struct world *world, unsigned host, unsigned offset, unsigned words)
{
    if (world->later_count == LATER_COUNT)
        look_at_some(world, LATER_COUNT);
    world->later[world->later_count++] = (struct later){host, offset, words};
}

void look_at_some(struct world *world, unsigned most)
{
    while (most-- && world->later_count) {
        struct later later = world->later[--world->later_count];
        if (later.words)
            look(world, &world->hosts[later.host], later.offset, later.words);
    }
}
