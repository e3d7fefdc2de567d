// SPDX-License-Identifier: Apache-2.0
// Programs that take all memory of the GPU, in parts and in different ways, and have the GPU work
// in between. As much must be there as natively, and none of it may change. At first a block is
// taken that leaves little memory, so that a program is quick.
#include <pthread.h>

#include "hostile.h"

enum {
    MIB = 1 << 20,
    LEFT_MIB = 192,
    PART_WORDS = 2000, // of a part, that kernels write
    MOST_PARTS = 512,
    STREAMS = 3,
    PATTERN = 0x5a,
};

struct part {
    CUdeviceptr address;
    size_t bytes;
    unsigned key;
    void *more; // whatever frees it
};

static struct part parts[MOST_PARTS];
static unsigned part_count;

static size_t get_free(void)
{
    size_t free_bytes, total;
    CHECK(cuMemGetInfo_v2(&free_bytes, &total));
    return free_bytes;
}

// Leaves this much memory. What the program has used before has been loaded.
static void leave_mib(size_t mib)
{
    const CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                      .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    CUmemGenericAllocationHandle taken; // mapped nowhere
    CHECK(cuMemCreate(&taken, (get_free() / (2 * MIB) - mib / 2) * (2 * MIB), &prop, 0));
}

static void work_on(CUdeviceptr address, unsigned key, CUstream stream)
{
    fill(address, PART_WORDS, key, 0, stream);
}

static unsigned count_bad(CUdeviceptr address, unsigned key)
{
    static _Thread_local unsigned words[PART_WORDS];
    CHECK(cuMemcpyDtoH_v2(words, address, sizeof(words)));
    return PART_WORDS - count_good(words, PART_WORDS, key);
}

static void keep_part(CUdeviceptr address, size_t bytes, CUstream stream)
{
    if (part_count == MOST_PARTS) {
        puts("too many parts");
        exit(1);
    }
    parts[part_count] = (struct part){address, bytes, part_count + 1, NULL};
    work_on(address, parts[part_count].key, stream);
    part_count++;
}

static void say_parts(void)
{
    unsigned bad = 0;
    size_t bytes = 0;
    CHECK(cuCtxSynchronize());
    for (unsigned i = 0; i < part_count; i++) {
        bad += count_bad(parts[i].address, parts[i].key) != 0;
        bytes += parts[i].bytes;
    }
    printf("%u parts, %zu MiB, %u bad, %zu MiB left\n", part_count, bytes / MIB, bad,
           get_free() / MIB);
}

// --- Ways to allocate ----------------------------------------------------------------------------

typedef CUresult take_function(size_t bytes, CUdeviceptr *address);

static CUresult take_plain(size_t bytes, CUdeviceptr *address)
{
    return cuMemAlloc_v2(address, bytes);
}

static CUresult take_pitched(size_t bytes, CUdeviceptr *address)
{
    size_t pitch;
    return cuMemAllocPitch_v2(address, &pitch, 4096, bytes / 4096, 4);
}

static CUresult take_in_order(size_t bytes, CUdeviceptr *address)
{
    return cuMemAllocAsync(address, bytes, NULL);
}

static CUmemoryPool pool_of_device(void)
{
    CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                            .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    static CUmemoryPool pool;
    if (!pool)
        CHECK(cuMemPoolCreate(&pool, &props));
    return pool;
}

static CUresult take_of_pool(size_t bytes, CUdeviceptr *address)
{
    return cuMemAllocFromPoolAsync(address, bytes, pool_of_device(), NULL);
}

static CUresult take_mapped(size_t bytes, CUdeviceptr *address)
{
    const CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                      .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    const CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, 0},
                                    CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUmemGenericAllocationHandle handle;
    const CUresult result = cuMemCreate(&handle, bytes, &prop, 0);
    if (result != CUDA_SUCCESS)
        return result;
    CHECK(cuMemAddressReserve(address, bytes, 0, 0, 0));
    CHECK(cuMemMap(*address, bytes, 0, handle, 0));
    CHECK(cuMemSetAccess(*address, bytes, &access, 1));
    return CUDA_SUCCESS;
}

// Takes parts of that size until there is no memory, and has the GPU work on each.
static void take_all(take_function *take, size_t bytes, CUstream stream)
{
    const unsigned before = part_count;
    CUdeviceptr address;
    CUresult result;
    while ((result = take(bytes, &address)) == CUDA_SUCCESS)
        keep_part(address, bytes, stream);
    printf("%u parts of %zu KiB, then %d\n", part_count - before, bytes / 1024, (int)result);
}

static void take_by(take_function *take)
{
    leave_mib(LEFT_MIB);
    take_all(take, 16 * MIB, NULL);
    take_all(take, 2 * MIB, NULL);
    say_parts();
}

void scarce_parts(void)
{
    leave_mib(LEFT_MIB + 14);
    for (size_t bytes = 64 * MIB; bytes >= 2 * MIB; bytes /= 2)
        take_all(take_plain, bytes, NULL);
    say_parts();
}

void scarce_pitched(void)
{
    take_by(take_pitched);
}

void scarce_in_order(void)
{
    take_by(take_in_order);
}

void scarce_pool(void)
{
    take_by(take_of_pool);
}

void scarce_mapped(void)
{
    take_by(take_mapped);
}

void scarce_arrays(void)
{
    const CUDA_ARRAY_DESCRIPTOR flat = {1024, 1024, CU_AD_FORMAT_UNSIGNED_INT32, 4};
    const CUDA_ARRAY3D_DESCRIPTOR deep = {256, 64, 64, CU_AD_FORMAT_UNSIGNED_INT32, 4, 0};
    CUarray array;
    unsigned flats = 0, deeps = 0;
    leave_mib(LEFT_MIB);
    take_all(take_plain, 40 * MIB, NULL);
    for (; cuArrayCreate_v2(&array, &flat) == CUDA_SUCCESS && flats < 2; flats++)
        work_on(device_words, flats, NULL);
    for (; cuArray3DCreate_v2(&array, &deep) == CUDA_SUCCESS; deeps++)
        work_on(device_words, deeps, NULL);
    printf("%u and %u arrays\n", flats, deeps);
    say_parts();
}

// Memory of a pool is there for others after a wait.
void scarce_released(void)
{
    CUdeviceptr address;
    CUstream stream;
    leave_mib(LEFT_MIB);
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (unsigned i = 0; i < 6; i++) {
        CHECK(cuMemAllocAsync(&address, 128 * MIB, stream));
        fill(address, PART_WORDS, i, 1000000, stream);
        CHECK(cuMemFreeAsync(address, stream));
        CHECK(cuStreamSynchronize(stream));
        CHECK(cuMemAlloc_v2(&address, 160 * MIB));
        work_on(address, i, stream);
        CHECK(cuMemFree_v2(address));
    }
    say_parts();
}

// --- What is free --------------------------------------------------------------------------------

// Most of what is free, again and again.
void scarce_most(void)
{
    leave_mib(LEFT_MIB);
    for (unsigned i = 0; i < 3; i++) {
        const size_t bytes = get_free() / 10 * 8 / (2 * MIB) * (2 * MIB);
        CUdeviceptr address;
        CHECK(cuMemAlloc_v2(&address, bytes));
        keep_part(address, bytes, NULL);
    }
    say_parts();
}

// All that is free, in one piece.
void scarce_whole(void)
{
    CUdeviceptr address;
    leave_mib(LEFT_MIB);
    take_all(take_plain, 32 * MIB, NULL);
    for (unsigned i = 0; i < part_count; i++) {
        CHECK(cuMemFree_v2(parts[i].address));
        work_on(device_words, i, NULL);
    }
    part_count = 0;
    const size_t bytes = get_free() / (2 * MIB) * (2 * MIB);
    printf("%zu MiB\n", bytes / MIB);
    CHECK(cuMemAlloc_v2(&address, bytes));
    keep_part(address, bytes, NULL);
    say_parts();
}

// More than there is: fails as natively, and what follows works.
void scarce_more(void)
{
    CUdeviceptr address;
    size_t bytes = (size_t)1 << 40;
    leave_mib(LEFT_MIB);
    for (unsigned i = 0; i < 4; i++) {
        CHECK(cuMemAlloc_v2(&address, 4 * MIB));
        keep_part(address, 4 * MIB, NULL);
    }
    while (cuMemAlloc_v2(&address, bytes) != CUDA_SUCCESS)
        bytes /= 2;
    printf("%zu MiB\n", bytes / MIB);
    keep_part(address, bytes, NULL);
    say_parts();
}

// Taken and freed in rounds.
void scarce_rounds(void)
{
    leave_mib(LEFT_MIB);
    for (unsigned round = 0; round < 3; round++) {
        part_count = 0;
        take_all(take_plain, (8u << round) * MIB, NULL);
        say_parts();
        for (unsigned i = 0; i < part_count; i++)
            CHECK(cuMemFree_v2(parts[i].address));
    }
}

// --- Work that is in flight ----------------------------------------------------------------------

// Launches are in flight on several streams when memory ends. What is taken then holds a pattern,
// which nothing may change.
void scarce_streams(void)
{
    CUstream streams[STREAMS];
    CUdeviceptr own[STREAMS], address;
    unsigned char *bytes = sure(malloc(4 * MIB));
    unsigned patterns = 0, bad = 0;
    for (unsigned i = 0; i < STREAMS; i++) {
        CHECK(cuStreamCreate(&streams[i], i % 2 ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT));
        CHECK(cuMemAlloc_v2(&own[i], 4 * MIB));
    }
    leave_mib(64);
    take_all(take_plain, 8 * MIB, streams[1]);
    const unsigned before = part_count;
    CHECK(cuCtxSynchronize());
    CHECK(cuMemFree_v2(parts[--part_count].address));
    for (unsigned round = 0; round < 2; round++) {
        for (unsigned i = 0; i < STREAMS; i++)
            fill(own[i], MIB, i + 10 * round, 3000000, streams[i]);
        while (cuMemAlloc_v2(&address, 4 * MIB) == CUDA_SUCCESS) {
            CHECK(cuMemsetD8Async(address, PATTERN, 4 * MIB, streams[patterns % STREAMS]));
            parts[part_count + patterns++].address = address;
        }
    }
    CHECK(cuCtxSynchronize());
    for (unsigned i = 0; i < patterns; i++) {
        CHECK(cuMemcpyDtoH_v2(bytes, parts[part_count + i].address, 4 * MIB));
        for (unsigned at = 0; at < 4 * MIB; at++)
            bad += bytes[at] != PATTERN;
    }
    for (unsigned i = 0; i < STREAMS; i++)
        bad += count_bad(own[i], i + 10) != 0;
    free(bytes);
    printf("%u parts, %u with patterns, %u bad\n", before, patterns, bad);
    say_parts();
}

static CUgraphExec graph_on(CUdeviceptr address, unsigned key, CUgraph *graph)
{
    CUgraphExec exec;
    CUgraphNode first, second;
    unsigned words = PART_WORDS, other = key + 1000;
    void *params[] = {&address, &words, &key}, *other_params[] = {&address, &words, &other};
    CUDA_KERNEL_NODE_PARAMS kernel = {.func = fill_function,
                                      .gridDimX = 20,
                                      .gridDimY = 1,
                                      .gridDimZ = 1,
                                      .blockDimX = 128,
                                      .blockDimY = 1,
                                      .blockDimZ = 1,
                                      .kernelParams = other_params};
    CHECK(cuGraphCreate(graph, 0));
    CHECK(cuGraphAddKernelNode_v2(&first, *graph, NULL, 0, &kernel));
    kernel.kernelParams = params;
    CHECK(cuGraphAddKernelNode_v2(&second, *graph, &first, 1, &kernel));
    CHECK(cuGraphInstantiateWithFlags(&exec, *graph, 0));
    return exec;
}

// Executable graphs that exist before memory ends are launched while and after it does.
void scarce_graphs(void)
{
    enum { GRAPHS = 4 };
    CUgraph graphs[GRAPHS], outer, child;
    CUgraphExec execs[GRAPHS], nested;
    CUgraphNode node;
    CUdeviceptr own[GRAPHS], inner;
    CUstream stream;
    unsigned bad = 0;
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (unsigned i = 0; i < GRAPHS; i++) {
        CHECK(cuMemAlloc_v2(&own[i], 2 * MIB));
        execs[i] = graph_on(own[i], i, &graphs[i]);
    }
    CHECK(cuMemAlloc_v2(&inner, 2 * MIB));
    graph_on(inner, 77, &child);
    CHECK(cuGraphCreate(&outer, 0));
    CHECK(cuGraphAddChildGraphNode(&node, outer, NULL, 0, child));
    CHECK(cuGraphInstantiateWithFlags(&nested, outer, 0));
    leave_mib(64);
    for (size_t bytes = 16 * MIB; bytes >= 2 * MIB; bytes /= 2) {
        CUdeviceptr address;
        while (cuMemAlloc_v2(&address, bytes) == CUDA_SUCCESS) {
            CHECK(cuGraphLaunch(execs[part_count % GRAPHS], stream));
            CHECK(cuGraphLaunch(nested, stream));
            keep_part(address, bytes, stream);
        }
    }
    for (unsigned i = 0; i < GRAPHS; i++) {
        CHECK(cuMemsetD8Async(own[i], 0, 2 * MIB, stream));
        CHECK(cuGraphLaunch(execs[i], stream));
    }
    CHECK(cuMemsetD8Async(inner, 0, 2 * MIB, stream));
    CHECK(cuGraphLaunch(nested, stream));
    CHECK(cuCtxSynchronize());
    for (unsigned i = 0; i < GRAPHS; i++)
        bad += count_bad(own[i], i) != 0;
    bad += count_bad(inner, 77) != 0;
    // A graph that is made when there is no memory left.
    CUgraph late;
    CUgraphExec last = graph_on(own[0], 99, &late);
    CHECK(cuGraphLaunch(last, stream));
    CHECK(cuStreamSynchronize(stream));
    printf("%u bad, %u in the last\n", bad, count_bad(own[0], 99));
    CHECK(cuGraphExecDestroy(execs[1]));
    CHECK(cuGraphDestroy(graphs[1]));
    say_parts();
}

// Memory that a graph allocates.
void scarce_graph_memory(void)
{
    CUgraph graph;
    CUgraphExec exec;
    CUgraphNode node, end;
    CUDA_MEM_ALLOC_NODE_PARAMS params = {
        .poolProps = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                      .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}},
        .bytesize = 48 * MIB};
    leave_mib(64);
    CUdeviceptr address;
    for (unsigned i = 0; i < 2; i++) {
        CHECK(cuMemAlloc_v2(&address, 8 * MIB));
        keep_part(address, 8 * MIB, NULL);
    }
    CHECK(cuGraphCreate(&graph, 0));
    CHECK(cuGraphAddMemAllocNode(&node, graph, NULL, 0, &params));
    CHECK(cuGraphAddMemFreeNode(&end, graph, &node, 1, params.dptr));
    CUresult result = cuGraphInstantiateWithFlags(&exec, graph, 0);
    printf("instantiated %d\n", (int)result);
    for (unsigned i = 0; i < 3 && result == CUDA_SUCCESS; i++) {
        result = cuGraphLaunch(exec, NULL);
        printf("launched %d\n", (int)result);
        work_on(device_words, i, NULL);
    }
    say_parts();
}

enum { THREADS = 4 };
static pthread_mutex_t parts_lock = PTHREAD_MUTEX_INITIALIZER;

static void *take_in_thread(void *user)
{
    CUcontext own = user;
    CUdeviceptr address;
    CUstream stream;
    CHECK(cuCtxSetCurrent(own));
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    while (cuMemAlloc_v2(&address, 4 * MIB) == CUDA_SUCCESS) {
        pthread_mutex_lock(&parts_lock);
        keep_part(address, 4 * MIB, stream);
        pthread_mutex_unlock(&parts_lock);
        work_on(address, 5, stream);
        work_on(address, parts[0].key, CU_STREAM_PER_THREAD);
        CHECK(cuStreamSynchronize(CU_STREAM_PER_THREAD));
        CHECK(cuStreamSynchronize(stream));
    }
    return NULL;
}

// Several threads take memory and launch kernels at the same time. All wait for their work.
void scarce_threads(void)
{
    pthread_t threads[THREADS];
    CUcontext own;
    CHECK(cuCtxGetCurrent(&own));
    leave_mib(LEFT_MIB);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, take_in_thread, own);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (unsigned i = 0; i < part_count; i++)
        work_on(parts[i].address, parts[i].key, NULL);
    say_parts();
}

static _Atomic bool memory_ended;

static void *launch_in_thread(void *user)
{
    struct part *own = user;
    CUgraph graph;
    CUstream stream;
    CHECK(cuCtxSetCurrent(own->more));
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CUgraphExec exec = graph_on(own->address, own->key, &graph);
    for (unsigned i = 0; i < 4 || (!memory_ended && i < 1000); i++) {
        CHECK(cuGraphLaunch(exec, stream));
        CHECK(cuStreamSynchronize(stream));
    }
    CHECK(cuGraphExecDestroy(exec));
    CHECK(cuGraphDestroy(graph));
    return NULL;
}

// Threads launch graphs while another one takes memory.
void scarce_graph_threads(void)
{
    pthread_t threads[THREADS];
    struct part own[THREADS];
    unsigned bad = 0;
    memory_ended = false;
    for (unsigned i = 0; i < THREADS; i++) {
        own[i].key = i + 1;
        CHECK(cuMemAlloc_v2(&own[i].address, 2 * MIB));
        CHECK(cuCtxGetCurrent((CUcontext *)&own[i].more));
    }
    leave_mib(64);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, launch_in_thread, &own[i]);
    take_all(take_plain, 4 * MIB, NULL);
    memory_ended = true;
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (unsigned i = 0; i < THREADS; i++)
        bad += count_bad(own[i].address, i + 1) != 0;
    printf("%u bad\n", bad);
    say_parts();
}

// Memory ends while another stream is captured.
void scarce_captured(void)
{
    CUstream captured, stream;
    CUgraph graph;
    CUgraphExec exec;
    CUdeviceptr own;
    CHECK(cuStreamCreate(&captured, CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuMemAlloc_v2(&own, 2 * MIB));
    leave_mib(64);
    CHECK(cuStreamBeginCapture_v2(captured, CU_STREAM_CAPTURE_MODE_RELAXED));
    work_on(own, 8, captured);
    take_all(take_plain, 8 * MIB, stream);
    work_on(own, 9, captured);
    CHECK(cuStreamEndCapture(captured, &graph));
    CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    CHECK(cuGraphLaunch(exec, stream));
    CHECK(cuStreamSynchronize(stream));
    printf("%u bad\n", count_bad(own, 9));
    say_parts();
}

// Two contexts of one device share its memory.
void scarce_contexts(void)
{
    CUcontext first, other;
    CHECK(cuCtxGetCurrent(&first));
    leave_mib(LEFT_MIB);
    take_all(take_plain, 64 * MIB, NULL);
    CHECK(cuMemFree_v2(parts[--part_count].address));
    CHECK(cuCtxCreate_v2(&other, 0, 0));
    const unsigned before = part_count;
    CUdeviceptr address;
    while (cuMemAlloc_v2(&address, 8 * MIB) == CUDA_SUCCESS)
        parts[part_count++].address = address;
    printf("%u in the other\n", part_count - before);
    CHECK(cuCtxDestroy_v2(other));
    CHECK(cuCtxSetCurrent(first));
    part_count = before;
    take_all(take_plain, 16 * MIB, NULL);
    say_parts();
}
