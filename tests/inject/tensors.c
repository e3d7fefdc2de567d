// SPDX-License-Identifier: Apache-2.0
// Hands out blocks of device memory as PyTorch's caching allocator does, and reports them to a
// stand-in for PyTorch's library, which it loads as Python does. Prints each block that is a tensor
// to glint, in the order in which it begins: address, bytes, address of the memory that it lies in,
// and whether it ends by a report (1), with its memory (2), or not at all (0).
#include "tensors.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "program.h"

#define NAME "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE"

// No library defines it while the program starts.
extern void weak_report(void) __asm__(NAME) __attribute__((weak));

enum { MOST = 4096, CPU = 0, CUDA = 1, END_REPORT = 1, END_MEMORY = 2 };

static struct {
    pthread_mutex_t lock; // as the allocator's
    tensors_report *report;
    uint64_t calls;
    int64_t sums[3];
    struct block {
        uint64_t address, bytes, whole;
        int ended;
    } blocks[MOST];
    size_t count;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void report(int form, int type, uint64_t address, int64_t bytes)
{
    all.report(form, type, address, bytes);
    all.calls++;
    all.sums[form] += bytes;
}

// Notes a block that glint is to see.
static void expect(uint64_t address, uint64_t bytes, uint64_t whole)
{
    if (all.count == MOST)
        abort();
    all.blocks[all.count++] = (struct block){address, bytes, whole, 0};
}

static void expect_end(uint64_t address, int how)
{
    for (size_t i = all.count; i-- > 0;) {
        if (all.blocks[i].address == address && !all.blocks[i].ended) {
            all.blocks[i].ended = how;
            return;
        }
    }
    abort();
}

static void take(int form, uint64_t address, uint64_t bytes, uint64_t whole)
{
    expect(address, bytes, whole);
    report(form, CUDA, address, (int64_t)bytes);
}

static void give(int form, uint64_t address, uint64_t bytes)
{
    expect_end(address, END_REPORT);
    report(form, CUDA, address, -(int64_t)bytes);
}

static uint64_t segment(size_t bytes)
{
    CUdeviceptr at;
    CHECK(cuMemAlloc_v2(&at, bytes));
    return at;
}

static void segments(void)
{
    enum { BYTES = 1 << 16 };
    CUstream stream;
    CUdeviceptr pooled;
    const uint64_t one = segment(BYTES), other = segment(BYTES);
    for (int form = 0; form < 3; form++) {
        take(form, one, 512, one);
        take(form, one + 512, 1024, one);
        take(form, other + BYTES - 512, 512, other);
        give(form, one, 512);
        take(form, one, 256, one); // the memory is used again
        give(form, one, 256);
        give(form, one + 512, 1024);
        give(form, other + BYTES - 512, 512);
        // Reports that are not about known memory, or about that of the CPU.
        report(form, CPU, one, 512);
        report(form, CPU, one, -512);
        report(form, CUDA, one, 0);
        report(form, CUDA, one, -512);
        report(form, CUDA, one + 512, INT64_MIN);
        report(form, CUDA, 4096, 512);
        report(form, CUDA, UINT64_MAX - 100, 512);
        report(form, CUDA, one + 100, INT64_MAX);
    }
    take(0, one, 512, one);
    report(0, CUDA, one + 256, -256); // no block begins there
    // The report of its end was not seen, because a larger block takes its place.
    expect_end(one, END_REPORT);
    take(0, one, BYTES, one);
    take(0, other, 512, other); // never freed
    expect_end(one, END_MEMORY);
    CHECK(cuMemFree_v2(one));
    CHECK(cuStreamCreate(&stream, 0));
    CHECK(cuMemAllocAsync(&pooled, BYTES, stream)); // a tensor of its own
    report(0, CUDA, pooled, BYTES);
    report(0, CUDA, pooled, -BYTES);
    CHECK(cuMemFreeAsync(pooled, stream));
    CHECK(cuStreamSynchronize(stream));
}

// A reserved range into which memory is mapped as it is needed.
static void expandable(void)
{
    const CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                      .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    CUmemGenericAllocationHandle handles[3];
    CUdeviceptr at;
    size_t bytes;
    CHECK(cuMemGetAllocationGranularity(&bytes, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    CHECK(cuMemAddressReserve(&at, 4 * bytes, 0, 0, 0));
    for (unsigned i = 0; i < 3; i++) {
        CHECK(cuMemCreate(&handles[i], bytes, &prop, 0));
        CHECK(cuMemMap(at + i * bytes, bytes, 0, handles[i], 0));
    }
    take(0, at, 512, at);
    // One block is one part in each mapping.
    expect(at + 512, bytes - 512, at);
    expect(at + bytes, bytes, at + bytes);
    expect(at + 2 * bytes, 1024, at + 2 * bytes);
    report(0, CUDA, at + 512, (int64_t)(2 * bytes + 512));
    report(0, CUDA, at + 2 * bytes + 1024, (int64_t)bytes); // part of it is not mapped
    take(0, at + 2 * bytes + 1024, 512, at + 2 * bytes);
    expect_end(at + 512, END_REPORT);
    expect_end(at + bytes, END_REPORT);
    expect_end(at + 2 * bytes, END_REPORT);
    report(0, CUDA, at + 512, -(int64_t)(2 * bytes + 512));
    give(0, at, 512);
    expect(at, bytes, at);
    expect(at + bytes, 512, at + bytes);
    report(0, CUDA, at, (int64_t)(bytes + 512));
    expect_end(at + bytes, END_MEMORY);
    CHECK(cuMemUnmap(at + bytes, bytes));
    expect_end(at, END_REPORT);
    report(0, CUDA, at, -(int64_t)(bytes + 512));
    give(0, at + 2 * bytes + 1024, 512);
    CHECK(cuMemUnmap(at, bytes));
    CHECK(cuMemUnmap(at + 2 * bytes, bytes));
    for (unsigned i = 0; i < 3; i++)
        CHECK(cuMemRelease(handles[i]));
    CHECK(cuMemAddressFree(at, 4 * bytes));
}

static void *work(void *argument)
{
    enum { BLOCKS = 16, BYTES = 512, ROUNDS = 400 };
    unsigned seed = (unsigned)(uintptr_t)argument;
    bool taken[BLOCKS] = {false};
    start_thread();
    const uint64_t at = segment((size_t)BLOCKS * BYTES);
    for (int round = 0; round < ROUNDS; round++) {
        const unsigned which = random_next(&seed) % BLOCKS;
        const uint64_t block = at + (uint64_t)which * BYTES;
        pthread_mutex_lock(&all.lock);
        if (taken[which])
            give(0, block, BYTES);
        else
            take(0, block, BYTES, at);
        pthread_mutex_unlock(&all.lock);
        taken[which] = !taken[which];
    }
    return NULL;
}

static void threads(void)
{
    enum { THREADS = 4 };
    pthread_t started[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++)
        pthread_create(&started[i], NULL, work, (void *)(i + 1)); // NOLINT
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(started[i], NULL);
}

int main(int count, char **arguments)
{
    const struct {
        const char *name;
        void (*run)(void);
    } modes[] = {{"segments", segments}, {"expandable", expandable}, {"threads", threads}};
    if (count != 3)
        return 2;
    start_thread();
    printf("by name %d, weak %d\n", dlsym(RTLD_DEFAULT, NAME) != NULL, weak_report != NULL);
    segment(512); // glint looks for the library before it is loaded
    void *library = dlopen(arguments[1], RTLD_LAZY | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        return 3;
    }
    void *(*real)(void) = (void *(*)(void))dlsym(library, "tensors_real");
    struct tensors_sums (*sums)(void) =
        (struct tensors_sums(*)(void))dlsym(library, "tensors_allocator_sums");
    all.report = (tensors_report *)dlsym(library, "tensors_report_block");
    printf("by name %d, in the library %d\n", dlsym(RTLD_DEFAULT, NAME) != NULL,
           dlsym(library, NAME) == real());
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        if (strcmp(modes[i].name, arguments[2]) == 0)
            modes[i].run();
    }
    const struct tensors_sums told = sums();
    if (told.calls != all.calls || memcmp(told.bytes, all.sums, sizeof(told.bytes)) != 0) {
        fprintf(stderr, "the library was told something else\n");
        return 4;
    }
    for (size_t i = 0; i < all.count; i++) {
        const struct block *block = &all.blocks[i];
        printf("%llu,%llu,%llu,%d\n", (unsigned long long)block->address,
               (unsigned long long)block->bytes, (unsigned long long)block->whole, block->ended);
    }
    return 0;
}
