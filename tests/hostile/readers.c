// SPDX-License-Identifier: Apache-2.0
// Readers of results that no function of the C library shows: io_uring with kernel threads and
// registered buffers, O_DIRECT, libraries outside of the program's namespace.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "../inject/readers.h"
#include "hostile.h"

static unsigned found[WORDS];

static size_t bytes_of(const struct result *result)
{
    return result->count * sizeof(unsigned);
}

// --- io_uring ------------------------------------------------------------------------------------

struct ring {
    int file;
    unsigned given; // completions are never taken from their queue
    char *queue;
    struct io_uring_sqe *entries;
    struct io_uring_params params;
};

// Returns false if the system has no io_uring.
static bool open_ring(struct ring *ring, unsigned flags)
{
    memset(ring, 0, sizeof(*ring));
    ring->params.flags = flags;
    ring->params.sq_thread_idle = 1000;
    ring->file = (int)syscall(SYS_io_uring_setup, 64, &ring->params);
    if (ring->file < 0) {
        not_here("io_uring");
        return false;
    }
    ring->queue = sure(
        mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_SHARED, ring->file, IORING_OFF_SQ_RING));
    ring->entries = sure(mmap(NULL, ring->params.sq_entries * sizeof(struct io_uring_sqe),
                              PROT_READ | PROT_WRITE, MAP_SHARED, ring->file, IORING_OFF_SQES));
    return true;
}

// Submits one entry, waits for it, and returns its result.
static int submit(struct ring *ring, struct io_uring_sqe entry)
{
    unsigned *tail = (unsigned *)(void *)(ring->queue + ring->params.sq_off.tail);
    unsigned *array = (unsigned *)(void *)(ring->queue + ring->params.sq_off.array);
    const unsigned at = *tail & *(unsigned *)(void *)(ring->queue + ring->params.sq_off.ring_mask);
    ring->entries[at] = entry;
    array[at] = at;
    __atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
    unsigned flags = IORING_ENTER_GETEVENTS;
    if (ring->params.flags & IORING_SETUP_SQPOLL)
        flags |= IORING_ENTER_SQ_WAKEUP;
    ring->given++;
    if (own_system(SYS_io_uring_enter, ring->file, 1, ring->given, flags) < 0)
        return -1;
    const struct io_uring_cqe *done =
        (const struct io_uring_cqe *)(const void *)(ring->queue + ring->params.cq_off.cqes);
    return done[ring->given - 1].res;
}

static struct ring ring;
static bool has_ring;

static void by_ring(const struct result *result, unsigned key, struct io_uring_sqe entry,
                    unsigned flags)
{
    if (!has_ring && !open_ring(&ring, flags))
        return;
    has_ring = true;
    const int file = memfd_create("read", 0);
    entry.fd = file;
    entry.addr = (uintptr_t)result->words;
    entry.len = (unsigned)bytes_of(result);
    say(name_of(result->place), submit(&ring, entry));
    if (pread(file, found, bytes_of(result), 0) < 0)
        perror("pread");
    say_good("arrived", found, result->count, key);
    memset(found, 0, sizeof(found));
    close(file);
}

void readers_io_uring(const struct result *result, unsigned key)
{
    by_ring(result, key, (struct io_uring_sqe){.opcode = IORING_OP_WRITE}, 0);
}

// A thread of the kernel's submits.
void readers_io_uring_polled(const struct result *result, unsigned key)
{
    by_ring(result, key, (struct io_uring_sqe){.opcode = IORING_OP_WRITE}, IORING_SETUP_SQPOLL);
}

// Worker threads of the kernel's do the work.
void readers_io_uring_workers(const struct result *result, unsigned key)
{
    by_ring(result, key, (struct io_uring_sqe){.opcode = IORING_OP_WRITE, .flags = IOSQE_ASYNC}, 0);
}

// The pages of results are pinned once, before the results arrive.
static void registered(enum place place, unsigned flags)
{
    struct ring own;
    if (!open_ring(&own, flags))
        return;
    const struct result result = place_result(place);
    const struct iovec part = {result.words, bytes_of(&result)};
    memset(result.words, 0, bytes_of(&result));
    const long done = syscall(SYS_io_uring_register, own.file, IORING_REGISTER_BUFFERS, &part, 1);
    say("register", done);
    for (unsigned i = 1; done == 0 && i < 6; i++) {
        const int file = memfd_create("read", 0);
        bring(&result, i);
        say(name_of(place),
            submit(&own, (struct io_uring_sqe){.opcode = IORING_OP_WRITE_FIXED,
                                               .fd = file,
                                               .addr = (uintptr_t)result.words,
                                               .len = (unsigned)bytes_of(&result)}));
        (void)!pread(file, found, sizeof(found), 0);
        say_good("arrived", found, result.count, i);
        memset(found, 0, sizeof(found));
        close(file);
    }
    close(own.file);
}

void readers_io_uring_registered(void)
{
    registered(BLOCK, 0);
    registered(MAPPED, 0);
    registered(PINNED, 0);
    registered(STATIC, 0);
}

void readers_io_uring_registered_polled(void)
{
    registered(BLOCK, IORING_SETUP_SQPOLL);
    registered(PINNED, IORING_SETUP_SQPOLL);
}

// The ring is made after results have arrived, and a read by it overwrites them.
void readers_io_uring_over_results(void)
{
    const struct result result = place_result(BLOCK);
    bring(&result, 3);
    struct ring own;
    if (!open_ring(&own, 0))
        return;
    const int zero = open("/dev/zero", O_RDONLY);
    say("read", submit(&own, (struct io_uring_sqe){.opcode = IORING_OP_READ,
                                                   .fd = zero,
                                                   .addr = (uintptr_t)result.words,
                                                   .len = PAGE}));
    say_good("rest", result.words, result.count, 3);
}

// --- Files and pipes that keep pages -------------------------------------------------------------

// Direct I/O pins the pages and lets the device read them.
void readers_direct(const struct result *result, unsigned key)
{
    if (result->place == HEAP || result->place == STACK)
        return;
    const int file = open("direct", O_RDWR | O_CREAT | O_TRUNC | O_DIRECT, 0600);
    if (file < 0) {
        not_here("O_DIRECT");
        return;
    }
    say(name_of(result->place), write(file, result->words, bytes_of(result)));
    say("read", pread(file, result->words, bytes_of(result), 0));
    say_good("read back", result->words, result->count, key);
    close(file);
}

// --- Libraries -----------------------------------------------------------------------------------

typedef long write_function(int file, const void *from, unsigned long bytes);

static void by_library(void *library, const char *name, const struct result *result, unsigned key)
{
    const int file = memfd_create("read", 0);
    write_function *function = library ? (write_function *)dlsym(library, name) : NULL;
    if (!function) {
        puts(dlerror());
        return;
    }
    say(name_of(result->place), function(file, result->words, bytes_of(result)));
    (void)!pread(file, found, bytes_of(result), 0);
    say_good("arrived", found, result->count, key);
    memset(found, 0, sizeof(found));
    close(file);
}

void readers_deepbind(const struct result *result, unsigned key)
{
    by_library(dlopen(HOSTILE_PLUGIN, RTLD_NOW | RTLD_DEEPBIND), "plugin_write", result, key);
}

// A library with its own C library, opened when results are already there.
void readers_namespace(const struct result *result, unsigned key)
{
    static void *library;
    if (!library)
        library = dlmopen(LM_ID_NEWLM, HOSTILE_PLUGIN, RTLD_NOW);
    by_library(library, "plugin_write", result, key);
}

void readers_plain_library(const struct result *result, unsigned key)
{
    by_library(dlopen(HOSTILE_PLUGIN, RTLD_NOW | RTLD_LOCAL), "plugin_write", result, key);
}

// It makes its system call itself.
void readers_instruction_in_library(const struct result *result, unsigned key)
{
    by_library(dlopen(HOSTILE_PLUGIN, RTLD_NOW), "plugin_write_itself", result, key);
}
