// SPDX-License-Identifier: Apache-2.0
// Copies from and to host memory of all kinds, in one way for each of its arguments. For each copy,
// it prints how the profile must describe the host memory: its kind, and for a block its size and
// the words of the lines that allocate ("allocates:") and free it ("frees:"); "-" where the profile
// has no such information.
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "program.h"

enum { BYTES = 1 << 18, PAGE = 4096, LEAST = 16 << 10 };

#ifdef OWN_IN_EXECUTABLE
#define OWN_ALLOCATOR   "static - - -"
#define OWN_REALLOCATED "static - - -"
#else
#define OWN_ALLOCATOR   "allocated 262144 malloc own"
#define OWN_REALLOCATED "allocated 524288 own free"
#endif

static CUdeviceptr device; // BYTES long
static unsigned char *early;
static char variable[BYTES];
static void *volatile kept; // until the program ends

static void copy(const void *memory, size_t bytes, const char *told)
{
    CHECK(cuMemcpyHtoD_v2(device, memory, bytes));
    printf("%s\n", told);
}

// Separate functions, so that each call has a known source line.
static __attribute__((noinline)) void *filled(void *block, size_t bytes)
{
    return memset(block, 1, bytes);
}

static __attribute__((noinline)) void *allocate(size_t bytes)
{
    return filled(malloc(bytes), bytes); // allocates: malloc
}

static __attribute__((noinline)) void release(void *block)
{
    free(block); // frees: free
    __asm__ volatile("");
}

// --- Allocators ----------------------------------------------------------------------------------

static void allocated(void)
{
    unsigned char *block = allocate(BYTES), *other = calloc(BYTES / 16, 16); // allocates: calloc
    kept = other;
    copy(block, BYTES, "allocated 262144 malloc free");
    copy(block + 1000, 10, "allocated 262144 malloc free"); // the same block
    copy(other + BYTES - 1, 1, "allocated 262144 calloc -");
    copy(early, 1, "allocated 20000 early -"); // allocated before the first call of the driver
    CHECK(cuMemcpyDtoH_v2(block, device, BYTES));
    printf("allocated 262144 malloc free\n");
    release(block);
    unsigned char *again = allocate(BYTES); // perhaps at the same address
    copy(again, BYTES, "allocated 262144 malloc free");
    release(again);
}

static void aligned(void)
{
    void *first = aligned_alloc(64, LEAST);   // allocates: aligned_alloc
    void *second = memalign(PAGE, LEAST + 1); // allocates: memalign
    void *third = NULL;
    if (posix_memalign(&third, 256, LEAST + 2) != 0) // allocates: posix_memalign
        return;
    copy(filled(first, LEAST), LEAST, "allocated 16384 aligned_alloc free");
    copy(filled(second, LEAST), LEAST, "allocated 16385 memalign free");
    copy(filled(third, LEAST), LEAST, "allocated 16386 posix_memalign free");
    release(first);
    release(second);
    release(third);
}

static void reallocated(void)
{
    unsigned char *block = allocate(LEAST);
    copy(block, LEAST, "allocated 16384 malloc realloc");
    block = realloc(block, BYTES); // allocates: realloc, frees: realloc
    copy(block, LEAST, "allocated 262144 realloc shrink");
    void *const same = block;
    unsigned char *huge = realloc(block, SIZE_MAX / 2 - 1); // fails and changes nothing
    block = huge ? huge : same;
    copy(block + 5, 1, "allocated 262144 realloc shrink");
    block = realloc(block, 100); // frees: shrink
    copy(block, 100, "pageable - - -");
    block = realloc(block, LEAST); // allocates: grow
    copy(block, 100, "allocated 16384 grow to nothing");
    block = realloc(block, 0); // NOLINT: it frees: to nothing
    __asm__ volatile("" : : "r"(block));
}

// Blocks below the minimum size are not tracked.
static void small(void)
{
    unsigned char *block = allocate(LEAST - 1), *large = allocate(LEAST);
    copy(block, LEAST - 1, "pageable - - -");
    copy(large, LEAST, "allocated 16384 malloc free");
    release(block);
    release(large);
    kept = allocate(LEAST - 1);
    copy(kept, 1, "pageable - - -");
}

static void mapped(void)
{
    unsigned char *map = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, // allocates: mmap
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    copy(map + 70000, 1, "mapped 262144 mmap munmap");
    munmap(map, PAGE); // the remaining piece keeps the block's identity
    copy(map + PAGE, 1, "mapped 262144 mmap munmap");
    munmap(map + BYTES - PAGE, PAGE);
    copy(map + 2 * PAGE, 1, "mapped 262144 mmap munmap");
    munmap(map + PAGE, BYTES - 2 * PAGE); // frees: munmap
    int file = open("/proc/self/exe", O_RDONLY);
    map = mmap(NULL, LEAST, PROT_READ, MAP_PRIVATE, file, 0); // allocates: file
    copy(map, LEAST, "file 16384 file -");
    map = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, // allocates: another
               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unsigned char *fixed = mmap(map + LEAST, LEAST, PROT_READ, // allocates: over it
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    copy(fixed, 1, "mapped 16384 over it -");
    copy(map + LEAST - 1, 1, "mapped 16384 another -"); // the remaining piece of the first mapping
    copy(map + 2 * LEAST, 1, "pageable - - -");
}

static void elsewhere(void)
{
    unsigned char local[LEAST], *pinned, *registered = allocate(BYTES);
    CUdeviceptr managed;
    CHECK(cuMemHostAlloc((void **)&pinned, BYTES, 0));
    CHECK(cuMemAllocManaged(&managed, BYTES, CU_MEM_ATTACH_GLOBAL));
    CHECK(cuMemHostRegister_v2(registered, BYTES, 0));
    copy(filled(local, LEAST), LEAST, "stack - - -");
    copy(variable, BYTES, "static - - -");
    copy(filled(pinned, BYTES), BYTES, "pinned - - -");
    copy(registered, BYTES, "registered - - -");
    copy((void *)managed, BYTES, "managed - - -");
    CHECK(cuMemHostUnregister(registered));
    copy(registered, BYTES, "allocated 262144 malloc -");
}

// --- Threads and processes -----------------------------------------------------------------------

static void *churn(void *unused)
{
    start_thread();
    CUdeviceptr own;
    CHECK(cuMemAlloc_v2(&own, BYTES));
    for (unsigned i = 0; i < 500; i++) {
        void *block = allocate(LEAST + i * 8), *other = allocate(2 * LEAST);
        if (i % 10 == 0)
            CHECK(cuMemcpyHtoD_v2(own, block, LEAST));
        release(other);
        release(block);
    }
    return unused;
}

static void threads(void)
{
    pthread_t all[4];
    for (unsigned i = 0; i < 4; i++)
        pthread_create(&all[i], NULL, churn, NULL);
    for (unsigned i = 0; i < 4; i++)
        pthread_join(all[i], NULL);
}

// The child's copies are in the profile of the child; the parent's block remains the parent's.
static void forks(void)
{
    unsigned char *block = allocate(BYTES);
    copy(block, 1, "allocated 262144 malloc free");
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        free(block);
        free(early);
        void *own = malloc(BYTES);
        free(own);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    copy(block + 1, 1, "allocated 262144 malloc free");
    release(block);
}

// The program's own allocator: glint can interpose one in a library, but not one in the executable.
static void own_allocator(void)
{
    unsigned char *block = allocate(BYTES);
    copy(block, BYTES, OWN_ALLOCATOR);
    block = realloc(block, 2 * BYTES); // allocates: own, frees: own
    copy(block + BYTES, BYTES, OWN_REALLOCATED);
    printf("%d\n", block[BYTES - 1]);
    release(block);
}

// The child knows where memory was allocated before the fork.
static void child(void)
{
    copy(early, 20000, "allocated 20000 early -");
    unsigned char *block = allocate(BYTES);
    copy(block, 1, "allocated 262144 malloc free");
    release(block);
}

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {
    {"allocated", allocated},
    {"aligned", aligned},
    {"reallocated", reallocated},
    {"small", small},
    {"mapped", mapped},
    {"elsewhere", elsewhere},
    {"threads", threads},
    {"forks", forks},
    {"child", child},
    {"own_allocator", own_allocator},
};

int main(int argc, char **argv)
{
    early = filled(malloc(20000), 20000);                         // allocates: early
    if (argc > 1 && strcmp(argv[1], "child") == 0 && fork() != 0) // only the child uses the GPU
        return wait(NULL) < 0;
    start_thread();
    CHECK(cuMemAlloc_v2(&device, BYTES));
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        if (argc > 1 && strcmp(cases[i].name, argv[1]) == 0)
            cases[i].run();
    fflush(stdout);
    return 0;
}
