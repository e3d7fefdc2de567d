// SPDX-License-Identifier: Apache-2.0
// What programs do to the memory that holds results, and ways to read it that name another address.
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <malloc.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "hostile.h"

static size_t bytes_of(const struct result *result)
{
    return result->count * sizeof(unsigned);
}

static bool has_pages(const struct result *result)
{
    return result->place != HEAP && result->place != STACK;
}

// --- Advice and protection -----------------------------------------------------------------------

void memory_advice(const struct result *result, unsigned key)
{
    unsigned char present[WORDS / PAGE_WORDS];
    if (!has_pages(result) || result->place == MANAGED)
        return;
    say("mlock", mlock(result->words, bytes_of(result)));
    say("munlock", munlock(result->words, bytes_of(result)));
    say("madvise", madvise(result->words, bytes_of(result), MADV_WILLNEED));
    say("madvise", madvise(result->words, bytes_of(result), MADV_SEQUENTIAL));
    say("mincore", mincore(result->words, bytes_of(result), present));
    say("msync", msync(result->words, bytes_of(result), MS_ASYNC));
    say_good(name_of(result->place), result->words, result->count, key);
}

void memory_protect(const struct result *result, unsigned key)
{
    if (!has_pages(result) || result->place == MANAGED)
        return;
    say("read", mprotect(result->words, bytes_of(result), PROT_READ));
    say_good(name_of(result->place), result->words, result->count, key);
    say("none", mprotect(result->words, bytes_of(result), PROT_NONE));
    say("write", write(STDOUT_FILENO, result->words, 8)); // fails
    say("both", mprotect(result->words, bytes_of(result), PROT_READ | PROT_WRITE));
    say_good(name_of(result->place), result->words, result->count, key);
}

// Pages that the program gives back are 0.
void memory_discard(const struct result *result, unsigned key)
{
    if (result->place != BLOCK && result->place != MAPPED && result->place != STATIC)
        return;
    say("madvise", madvise(result->words + PAGE_WORDS, PAGE, MADV_DONTNEED));
    printf("%u\n", result->words[PAGE_WORDS + 5]);
    say_good(name_of(result->place), result->words, result->count, key);
}

// --- Mappings ------------------------------------------------------------------------------------

static struct result map_result(int flags, int file)
{
    return (struct result){
        MAPPED, sure(mmap(NULL, WORDS * sizeof(unsigned), PROT_READ | PROT_WRITE, flags, file, 0)),
        WORDS};
}

void memory_moved(void)
{
    struct result result = map_result(MAP_PRIVATE | MAP_ANONYMOUS, -1);
    for (unsigned i = 0; i < 4; i++) {
        bring(&result, i);
        unsigned *hole =
            sure(mmap(NULL, bytes_of(&result) * 2, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        result.words = sure(mremap(result.words, bytes_of(&result), bytes_of(&result) * 2,
                                   MREMAP_MAYMOVE | MREMAP_FIXED, hole));
        say_good("moved", result.words, result.count, i);
    }
}

void memory_unmapped(void)
{
    for (unsigned i = 0; i < 6; i++) {
        const struct result result = map_result(MAP_PRIVATE | MAP_ANONYMOUS, -1);
        bring(&result, i);
        if (i % 2)
            say("part", munmap(result.words + 8 * PAGE_WORDS, 4 * PAGE));
        say_good("first", result.words, 8 * PAGE_WORDS, i);
        say("all", munmap(result.words, bytes_of(&result)));
        unsigned *again = mmap(result.words, bytes_of(&result), PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        printf("again: %u\n", again[77]);
        munmap(again, bytes_of(&result));
    }
}

// A new mapping replaces unused results.
void memory_replaced(void)
{
    const struct result result = map_result(MAP_PRIVATE | MAP_ANONYMOUS, -1);
    for (unsigned i = 0; i < 4; i++) {
        bring(&result, i);
        sure(mmap(result.words + PAGE_WORDS, PAGE, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
        say_good("replaced", result.words, result.count, i);
    }
}

// The same memory at two addresses: results arrive at one and are read at the other.
static void through_alias(int file)
{
    if (file < 0 || ftruncate(file, WORDS * sizeof(unsigned)) != 0) {
        not_here("shared memory");
        return;
    }
    const struct result result = map_result(MAP_SHARED, file);
    const unsigned *other = map_result(MAP_SHARED, file).words;
    static unsigned found[WORDS];
    for (unsigned i = 0; i < 4; i++) {
        bring(&result, i);
        say_good("alias", other, WORDS, i);
        bring(&result, i + 10);
        say("pread", pread(file, found, sizeof(found), 0));
        say_good("file", found, WORDS, i + 10);
        say_good("itself", result.words, WORDS, i + 10);
    }
}

void memory_alias(void)
{
    through_alias(memfd_create("alias", 0));
}

void memory_file(void)
{
    through_alias(open("mapped", O_RDWR | O_CREAT, 0600));
}

void memory_shared_segment(void)
{
    const int segment = shmget(IPC_PRIVATE, WORDS * sizeof(unsigned), IPC_CREAT | 0600);
    if (segment < 0) {
        not_here("shmget");
        return;
    }
    const struct result result = {MAPPED, shmat(segment, NULL, 0), WORDS};
    const unsigned *other = shmat(segment, NULL, SHM_RDONLY);
    shmctl(segment, IPC_RMID, NULL);
    for (unsigned i = 0; i < 4; i++) {
        bring(&result, i);
        say_good("alias", other, WORDS, i);
    }
    say("shmdt", shmdt(result.words));
}

void memory_huge(void)
{
    const size_t bytes = 4 << 20;
    char *memory =
        sure(mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    (void)madvise(memory, bytes, MADV_HUGEPAGE);
    memset(memory, 1, bytes);
    const struct result result = {MAPPED, (unsigned *)(void *)(memory + (1 << 20)), WORDS};
    for (unsigned i = 0; i < 4; i++) {
        bring(&result, i);
        say_good("huge", result.words, WORDS, i);
    }
    memset(memory, 2, bytes);
}

void memory_locked(void)
{
    say("mlockall", mlockall(MCL_CURRENT));
    const struct result result = place_result(BLOCK);
    bring(&result, 3);
    say_good("block", result.words, result.count, 3);
    say("munlockall", munlockall());
}

// The program has its own faults handled by a descriptor.
void memory_userfaultfd(void)
{
    const int file = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
    struct uffdio_api api = {.api = UFFD_API};
    if (file < 0 || ioctl(file, UFFDIO_API, &api) != 0) {
        not_here("userfaultfd");
        return;
    }
    const struct result result = map_result(MAP_PRIVATE | MAP_ANONYMOUS, -1);
    bring(&result, 4);
    struct uffdio_register range = {.range = {(uintptr_t)result.words, bytes_of(&result)},
                                    .mode = UFFDIO_REGISTER_MODE_MISSING};
    say("register", ioctl(file, UFFDIO_REGISTER, &range));
    say_good("registered", result.words, result.count, 4);
    bring(&result, 5);
    say_good("registered", result.words, result.count, 5);
    close(file);
}

// --- Small results, and results in strange places ------------------------------------------------

// Many small results, between other blocks of the heap.
void memory_small(void)
{
    enum { COUNT = 200 };
    unsigned *blocks[COUNT], *others[COUNT], good = 0;
    for (unsigned i = 0; i < COUNT; i++) {
        const struct result result = {HEAP, sure(malloc(4 + 4 * i)), 1 + i};
        others[i] = sure(malloc(24));
        others[i][0] = i;
        blocks[i] = result.words;
        if (i % 10 == 0)
            bring(&result, i);
    }
    for (unsigned i = 0; i < COUNT; i++) {
        if (i % 10 == 0)
            good += count_good(blocks[i], 1 + i, i);
        good += others[i][0] == i;
        free(blocks[i]);
        free(others[i]);
    }
    printf("%u\n", good);
}

static __attribute__((noinline)) unsigned on_deep_stack(unsigned depth)
{
    unsigned words[300];
    const struct result result = {STACK, words, 300};
    bring(&result, depth);
    const unsigned below = depth ? on_deep_stack(depth - 1) : 0;
    return below + count_good(words, 300, depth);
}

void memory_deep_stack(void)
{
    printf("%u\n", on_deep_stack(20));
}

// Results in several pages of a large stack frame.
void memory_large_frame(void)
{
    unsigned words[WORDS];
    const struct result result = {STACK, words, WORDS};
    for (unsigned i = 0; i < 3; i++) {
        bring(&result, i);
        say_good("frame", words, WORDS, i);
    }
}

static __thread unsigned local[3 * PAGE_WORDS];

void memory_thread_local(void)
{
    const struct result result = {STATIC, local, 3 * PAGE_WORDS};
    for (unsigned i = 0; i < 3; i++) {
        bring(&result, i);
        say_good("thread-local", local, result.count, i);
    }
}

// Results that begin and end anywhere in pages.
void memory_edges(void)
{
    const struct result whole = place_result(BLOCK);
    for (unsigned i = 0; i < 40; i++) {
        const unsigned from = i * 97 % PAGE_WORDS, count = 1 + i * 331;
        const struct result result = {BLOCK, whole.words + from, count};
        whole.words[from + count] = 77;
        bring(&result, i);
        if (whole.words[from + count] != 77 || count_good(result.words, count, i) != count)
            printf("%u: wrong\n", i);
    }
    puts("edges");
}

// Copies that overlap what the last one brought and nobody has used.
void memory_overlapping(const struct result *result, unsigned key)
{
    const struct result part = {result->place, result->words + 100, 500};
    bring(&part, key + 1);
    say_good(name_of(result->place), result->words, 100, key);
    say_good("part", part.words, part.count, key + 1);
    printf("%u\n", count_good(result->words, result->count, key));
}

// The program frees, reallocates or reuses what it has not used.
void memory_reused(void)
{
    for (unsigned i = 0; i < 30; i++) {
        const unsigned count = i % 3 == 0 ? 500 : i % 3 == 1 ? 40000 : 200000;
        struct result result = {BLOCK, sure(malloc(count * sizeof(unsigned))),
                                count > WORDS ? WORDS : count};
        bring(&result, i);
        if (i % 2) {
            free(result.words);
            result.words = sure(calloc(count, sizeof(unsigned)));
            printf("%u ", result.words[count / 2]);
        } else {
            result.words = sure(realloc(result.words, 2 * count * sizeof(unsigned)));
            say_good("reallocated", result.words, result.count, i);
        }
        free(result.words);
    }
    putchar('\n');
}

// --- Other ways to read --------------------------------------------------------------------------

static unsigned found[WORDS];

void memory_own_file(const struct result *result, unsigned key)
{
    const int file = open("/proc/self/mem", O_RDONLY);
    say("pread", pread(file, found, bytes_of(result), (off_t)(uintptr_t)result->words));
    say_good(name_of(result->place), found, result->count, key);
    close(file);
}

void memory_vm_readv(const struct result *result, unsigned key)
{
    const struct iovec to = {found, bytes_of(result)}, from = {result->words, bytes_of(result)};
    say("readv", process_vm_readv(getpid(), &to, 1, &from, 1, 0));
    say_good(name_of(result->place), found, result->count, key);
    memset(found, 0, sizeof(found));
    say("writev", process_vm_writev(getpid(), &from, 1, &to, 1, 0));
    say_good("read back", found, result->count, key);
}

// The protections that /proc/self/maps shows are those that the program set.
void memory_maps(const struct result *result, unsigned key)
{
    char line[512], access[8];
    unsigned long first, end, covered = 0;
    FILE *maps = sure(fopen("/proc/self/maps", "r"));
    const unsigned long from = (uintptr_t)result->words, to = from + bytes_of(result);
    while (fgets(line, sizeof(line), maps)) {
        if (sscanf(line, "%lx-%lx %7s", &first, &end, access) == 3 && first < to && end > from &&
            access[0] == 'r' && access[1] == 'w')
            covered += (end < to ? end : to) - (first > from ? first : from);
    }
    fclose(maps);
    printf("%s: %s\n", name_of(result->place), covered == to - from ? "open" : "not open");
    say_good("words", result->words, result->count, key);
}

// Functions of the C library, which read in large steps.
void memory_library(const struct result *result, unsigned key)
{
    static unsigned copy[WORDS];
    memcpy(copy, result->words, bytes_of(result));
    say_good(name_of(result->place), copy, result->count, key);
    bring(result, key);
    printf("%d\n", memcmp(copy, result->words, bytes_of(result)));
    bring(result, key);
    memmove(result->words + 1, result->words, bytes_of(result) - 4);
    say_good("moved", result->words + 1, result->count - 1, key);
    bring(result, key);
    printf("%d\n", memchr(result->words, 0x100, bytes_of(result)) == NULL);
    bring(result, word_of(3, 0)); // word 3 becomes 0, which ends a string
    printf("%zu\n", strnlen((const char *)result->words, bytes_of(result)));
}
