// SPDX-License-Identifier: Apache-2.0
// Copies between host and device, in one way for each of its arguments, and prints for each copy
// what it moved: "to" or "from" the device, the XXH3-128 of the bytes, and for copies to the host
// whether the same bytes were there before. "-" marks values that the profile must not contain.
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "program.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { BYTES = 1 << 20, PITCH = 300, WIDTH = 200, ROWS = 50, SLICES = 3, SLICE_ROWS = 60 };

static CUdeviceptr device; // BYTES long
static CUstream stream;

static void print_hash(const char *way, XXH128_hash_t hash, const char *before)
{
    printf("%s %016llx%016llx %s\n", way, (unsigned long long)hash.high64,
           (unsigned long long)hash.low64, before);
}

static void told(const char *way, const void *bytes, size_t count, const char *before)
{
    print_hash(way, XXH3_128bits(bytes, count), before);
}

static void untold(const char *way)
{
    printf("%s - -\n", way);
}

static unsigned char *filled(unsigned char *bytes, size_t count, unsigned seed)
{
    for (size_t i = 0; i < count; i++)
        bytes[i] = (unsigned char)(i * seed + (i >> 8));
    return bytes;
}

static unsigned char *block(unsigned seed)
{
    return filled(malloc(BYTES), BYTES, seed);
}

static unsigned char *pinned(unsigned flags)
{
    void *bytes;
    CHECK(cuMemHostAlloc(&bytes, BYTES, flags));
    return filled(bytes, BYTES, 3);
}

// --- Copies --------------------------------------------------------------------------------------

static void synchronous(void)
{
    unsigned char *source = block(3), *target = block(5);
    CHECK(cuMemcpyHtoD_v2(device, source, BYTES));
    told("to", source, BYTES, "-");
    CHECK(cuMemcpyDtoH_v2(target, device, BYTES));
    told("from", source, BYTES, "-");
    CHECK(cuMemcpyDtoH_v2(target, device, BYTES));
    told("from", source, BYTES, "1"); // the same bytes as before
    target[BYTES - 1]++;
    CHECK(cuMemcpyDtoH_v2(target, device, BYTES));
    told("from", source, BYTES, "0"); // the last byte of the target was changed
    source[0]++;
    CHECK(cuMemcpyHtoD_v2(device, source, BYTES));
    told("to", source, BYTES, "-");
    CHECK(cuMemcpyDtoH_v2(target, device, BYTES));
    told("from", source, BYTES, "0");
    CHECK(cuMemcpyDtoH_v2(target, device, BYTES - 1)); // another size than before: not compared
    told("from", source, BYTES - 1, "-");
    CHECK(cuMemcpyHtoD_v2(device, source, 0));
    untold("to");
}

static void small(void)
{
    unsigned char bytes[300];
    for (size_t count = 1; count <= sizeof(bytes); count += 1 + count / 8) {
        CHECK(cuMemcpyHtoD_v2(device, filled(bytes, count, 11), count));
        told("to", bytes, count, "-");
    }
}

static void asynchronous(void)
{
    unsigned char *bytes = pinned(0), *other = pinned(0), *pageable = block(9);
    CHECK(cuMemcpyHtoDAsync_v2(device, bytes, BYTES, stream));
    told("to", bytes, BYTES, "-");
    CHECK(cuMemcpyDtoHAsync_v2(other, device, BYTES, stream));
    told("from", bytes, BYTES, "-");
    CHECK(cuStreamSynchronize(stream));
    CHECK(cuMemcpyDtoHAsync_v2(other, device, BYTES, stream));
    told("from", bytes, BYTES, "1");
    CHECK(cuStreamSynchronize(stream));
    bytes[77]++;
    CHECK(cuMemcpyHtoDAsync_v2(device, bytes, BYTES, stream));
    told("to", bytes, BYTES, "-");
    CHECK(cuMemcpyDtoHAsync_v2(other, device, BYTES, stream));
    told("from", bytes, BYTES, "0");
    CHECK(cuStreamSynchronize(stream));
    CHECK(cuMemcpyHtoDAsync_v2(device, pageable, BYTES, stream));
    told("to", pageable, BYTES, "-");
    CHECK(cuMemcpyDtoHAsync_v2(pageable, device, BYTES, stream));
    told("from", pageable, BYTES, "-");
}

// Copies from memory that is still being filled have no hash, nor have overwritten results.
static void in_flight(void)
{
    unsigned char *bytes = pinned(0);
    filled(bytes, BYTES, 13);
    CHECK(cuMemcpyHtoD_v2(device, bytes, BYTES));
    told("to", bytes, BYTES, "-");
    CHECK(cuMemcpyDtoHAsync_v2(bytes, device, BYTES, stream));
    untold("from");
    CHECK(cuMemcpyHtoDAsync_v2(device, bytes + BYTES / 2, BYTES / 2, stream));
    untold("to");
    CHECK(cuMemcpyDtoHAsync_v2(bytes, device, BYTES / 2, stream)); // over half of the first
    told("from", bytes + BYTES / 2, BYTES / 2, "-");
    CHECK(cuStreamSynchronize(stream));
}

static void change(void *bytes)
{
    ((unsigned char *)bytes)[5]++;
}

// A host function changes memory between two copies, so their bytes are unknown until a
// synchronization shows that all work is done.
static void host_function(void)
{
    unsigned char *bytes = pinned(0), *pageable = block(3);
    CHECK(cuLaunchHostFunc(stream, change, bytes));
    CHECK(cuMemcpyHtoDAsync_v2(device, bytes, BYTES, stream));
    untold("to");
    CHECK(cuMemcpyDtoHAsync_v2(bytes, device, BYTES, stream));
    untold("from");
    CHECK(cuStreamSynchronize(stream));
    CHECK(cuMemcpyHtoD_v2(device, pageable, BYTES));
    told("to", pageable, BYTES, "-");
    CHECK(cuCtxSynchronize());
    CHECK(cuMemcpyHtoDAsync_v2(device, bytes, BYTES, stream));
    told("to", bytes, BYTES, "-");
    CHECK(cuMemcpyDtoHAsync_v2(bytes, device, BYTES, stream));
    CHECK(cuLaunchHostFunc(stream, change, bytes));
    untold("from"); // the bytes change before they are safe to read
    CHECK(cuStreamSynchronize(stream));
}

// --- Rows ----------------------------------------------------------------------------------------

static XXH128_hash_t hash_of_rows(const unsigned char *start, unsigned slices)
{
    unsigned char line[WIDTH * ROWS * SLICES], *to = line;
    for (unsigned z = 0; z < slices; z++)
        for (unsigned y = 0; y < ROWS; y++, to += WIDTH)
            memcpy(to, start + (z * SLICE_ROWS + y) * PITCH, WIDTH);
    return XXH3_128bits(line, (size_t)(to - line));
}

static void rows(void)
{
    unsigned char *bytes = block(17);
    const CUDA_MEMCPY2D to = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                              .srcHost = bytes,
                              .srcPitch = PITCH,
                              .srcXInBytes = 10,
                              .srcY = 2,
                              .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                              .dstDevice = device,
                              .dstPitch = WIDTH,
                              .WidthInBytes = WIDTH,
                              .Height = ROWS};
    CHECK(cuMemcpy2D_v2(&to));
    print_hash("to", hash_of_rows(bytes + 2 * PITCH + 10, 1), "-");
    CUDA_MEMCPY2D from = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                          .srcDevice = device,
                          .srcPitch = WIDTH,
                          .dstMemoryType = CU_MEMORYTYPE_HOST,
                          .dstHost = bytes,
                          .dstPitch = PITCH,
                          .WidthInBytes = WIDTH,
                          .Height = ROWS};
    for (unsigned i = 0; i < 3; i++) {
        CHECK(cuMemcpy2D_v2(&from));
        print_hash("from", hash_of_rows(bytes, 1), i == 0 ? "-" : i == 1 ? "1" : "0");
        bytes[WIDTH]++; // between rows, so not part of the copy
        bytes[PITCH + WIDTH - 1] += i;
    }
    from.dstPitch = WIDTH; // the same bytes, now without gaps between rows
    CHECK(cuMemcpy2D_v2(&from));
    told("from", bytes, (size_t)WIDTH * ROWS, "-");
}

static void boxes(void)
{
    unsigned char *bytes = block(19);
    CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                          .srcHost = bytes,
                          .srcPitch = PITCH,
                          .srcHeight = SLICE_ROWS,
                          .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                          .dstDevice = device,
                          .dstPitch = WIDTH,
                          .dstHeight = ROWS,
                          .WidthInBytes = WIDTH,
                          .Height = ROWS,
                          .Depth = SLICES};
    CHECK(cuMemcpy3D_v2(&copy));
    print_hash("to", hash_of_rows(bytes, SLICES), "-");
    unsigned char *target = pinned(0);
    copy = (CUDA_MEMCPY3D){.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                           .srcDevice = device,
                           .srcPitch = WIDTH,
                           .srcHeight = ROWS,
                           .dstMemoryType = CU_MEMORYTYPE_HOST,
                           .dstHost = target,
                           .dstPitch = PITCH,
                           .dstHeight = SLICE_ROWS,
                           .WidthInBytes = WIDTH,
                           .Height = ROWS,
                           .Depth = SLICES};
    CHECK(cuMemcpy3DAsync_v2(&copy, stream));
    print_hash("from", hash_of_rows(bytes, SLICES), "-");
    const unsigned last = (SLICES - 1) * SLICE_ROWS * PITCH;
    CHECK(cuMemcpyHtoDAsync_v2(device + BYTES / 2, target + last, WIDTH, stream));
    untold("to"); // the source is still being filled
    CHECK(cuMemcpyHtoDAsync_v2(device + BYTES / 2, target + BYTES / 2, WIDTH, stream));
    told("to", target + BYTES / 2, WIDTH, "-");
    CHECK(cuStreamSynchronize(stream));
}

// --- Memory that cannot be read, or should not be ------------------------------------------------

// The driver rejects copies beyond the end of device memory before it touches the host memory,
// which is unmapped here.
static void unreadable(void)
{
    unsigned char *gone =
        mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(cuMemcpyDtoH_v2(gone, device, BYTES));
    told("from", gone, BYTES, "-");
    munmap(gone, BYTES);
    printf("%d\n", cuMemcpyHtoD_v2(device + 1, gone, BYTES) != CUDA_SUCCESS);
    untold("to");
    printf("%d\n", cuMemcpyDtoH_v2(gone, device + 1, BYTES) != CUDA_SUCCESS);
    untold("from");
}

static void slow_to_read(void)
{
    unsigned char *bytes = pinned(CU_MEMHOSTALLOC_WRITECOMBINED);
    CHECK(cuMemcpyHtoD_v2(device, bytes, BYTES));
    untold("to");
    CHECK(cuMemcpyDtoH_v2(bytes + 1, device, BYTES - 1));
    untold("from");
}

static void managed(void)
{
    CUdeviceptr both;
    CHECK(cuMemAllocManaged(&both, BYTES, CU_MEM_ATTACH_GLOBAL));
    memset((void *)both, 1, BYTES);
    CHECK(cuMemcpyHtoD_v2(device, (void *)both, BYTES));
    untold("to");
}

// Hashing leaves the pages closed, so the profile still shows the program's first use.
static void closed(void)
{
    unsigned char *bytes = block(23), *other = block(29);
    CHECK(cuMemcpyHtoD_v2(device, bytes, BYTES));
    told("to", bytes, BYTES, "-");
    XXH128_hash_t hash = XXH3_128bits(bytes, BYTES);
    CHECK(cuMemcpyDtoH_v2(other, device, BYTES));
    print_hash("from", hash, "-");
    CHECK(cuMemcpyDtoH_v2(other, device, BYTES));
    print_hash("from", hash, "1");
    CHECK(cuMemcpyDtoH_v2(other + BYTES / 2, device, 8)); // into closed pages
    told("from", bytes, 8, "-");
    printf("%d\n", ((volatile unsigned char *)other)[100]);
}

static void *copies_alone(void *seed)
{
    start_thread();
    CUdeviceptr own;
    unsigned char *bytes = block((unsigned)(uintptr_t)seed), *target = block(1);
    CHECK(cuMemAlloc_v2(&own, BYTES));
    for (unsigned i = 0; i < 20; i++) {
        bytes[i]++;
        CHECK(cuMemcpyHtoD_v2(own, bytes, BYTES));
        CHECK(cuMemcpyDtoH_v2(target, own, BYTES));
        if (memcmp(bytes, target, BYTES) != 0)
            printf("wrong\n");
    }
    return NULL;
}

static void threads(void)
{
    pthread_t all[4];
    for (uintptr_t i = 0; i < 4; i++)
        pthread_create(&all[i], NULL, copies_alone, (void *)(i + 2)); // NOLINT
    for (unsigned i = 0; i < 4; i++)
        pthread_join(all[i], NULL);
}

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {
    {"synchronous", synchronous},
    {"small", small},
    {"asynchronous", asynchronous},
    {"in_flight", in_flight},
    {"rows", rows},
    {"boxes", boxes},
    {"unreadable", unreadable},
    {"slow_to_read", slow_to_read},
    {"managed", managed},
    {"closed", closed},
    {"threads", threads},
    {"host_function", host_function},
};

int main(int argc, char **argv)
{
    start_thread();
    CHECK(cuMemAlloc_v2(&device, BYTES));
    CHECK(cuMemsetD8_v2(device, 1, BYTES));
    CHECK(cuCtxSynchronize());
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        if (argc > 1 && strcmp(cases[i].name, argv[1]) == 0)
            cases[i].run();
    fflush(stdout);
    return 0;
}
