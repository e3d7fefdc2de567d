// SPDX-License-Identifier: Apache-2.0
// What the program asks the driver: glint's streams, memory, modules and clones must not show.
#include <dlfcn.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <unistd.h>

#include "hostile.h"

static void say_code(const char *what, CUresult result)
{
    printf("%s: %d\n", what, (int)result);
}

// --- Streams and events --------------------------------------------------------------------------

static sem_t gate;

static void wait_at_gate(void *unused)
{
    (void)unused;
    sem_wait(&gate);
}

// Everything is done after a wait, and nothing is before.
void queries_ready(void)
{
    CUstream stream;
    CUevent event;
    unsigned ready = 0, early = 0;
    sem_init(&gate, 0, 0);
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    for (unsigned i = 0; i < 50; i++) {
        CHECK(cuLaunchHostFunc(stream, wait_at_gate, NULL));
        fill(device_words, 1000, i, 0, stream);
        CHECK(cuEventRecord(event, stream));
        early += cuEventQuery(event) == CUDA_SUCCESS;
        early += cuStreamQuery(stream) == CUDA_SUCCESS;
        sem_post(&gate);
        if (i % 2)
            CHECK(cuStreamSynchronize(stream));
        else
            CHECK(cuEventSynchronize(event));
        ready += cuEventQuery(event) == CUDA_SUCCESS;
        ready += cuStreamQuery(stream) == CUDA_SUCCESS;
        ready += cuStreamQuery(NULL) == CUDA_SUCCESS;
    }
    printf("%u ready, %u too early\n", ready, early);
}

void queries_streams(void)
{
    for (unsigned i = 0; i < 6; i++) {
        CUstream stream;
        CUcontext own, current;
        unsigned flags;
        int priority, least, greatest;
        unsigned long long id;
        static unsigned long long last;
        CHECK(cuCtxGetStreamPriorityRange(&least, &greatest));
        CHECK(cuStreamCreateWithPriority(&stream, i % 2, i % 3 ? greatest : least));
        CHECK(cuStreamGetFlags(stream, &flags));
        CHECK(cuStreamGetPriority(stream, &priority));
        CHECK(cuStreamGetCtx(stream, &own));
        CHECK(cuCtxGetCurrent(&current));
        CHECK(cuStreamGetId(stream, &id));
        printf("flags %u, priority %d, context %d, new number %d\n", flags, priority,
               own == current, id != last);
        last = id;
        if (i % 2)
            CHECK(cuStreamDestroy_v2(stream));
    }
}

void queries_capture(void)
{
    CUstream stream;
    CUgraph graph;
    CUgraphExec exec;
    CUstreamCaptureStatus status;
    size_t nodes = 0, edges = 0;
    const struct result result = place_result(PINNED);
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    bring_async(&result, 4, stream);
    CHECK(cuStreamIsCapturing(stream, &status));
    printf("status %d\n", (int)status);
    say_code("synchronize", cuStreamSynchronize(stream));
    CHECK(cuStreamIsCapturing(stream, &status));
    printf("status %d\n", (int)status);
    say_code("end", cuStreamEndCapture(stream, &graph));
    CHECK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    bring_async(&result, 5, stream);
    CHECK(cuStreamEndCapture(stream, &graph));
    CHECK(cuGraphGetNodes(graph, NULL, &nodes));
    CHECK(cuGraphGetEdges(graph, NULL, NULL, &edges));
    printf("%zu nodes, %zu edges\n", nodes, edges);
    CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    for (unsigned i = 0; i < 3; i++) {
        CHECK(cuGraphLaunch(exec, stream));
        CHECK(cuStreamSynchronize(stream));
        say_good("graph", result.words, result.count, 5);
        memset(result.words, 0, 400);
    }
}

// Nodes of graphs: their kinds, and that kernel nodes have the program's own function.
void queries_nodes(void)
{
    CUstream stream;
    CUgraph graph;
    CUgraphNode nodes[8];
    size_t count = 8;
    const struct result result = place_result(PINNED);
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    bring_async(&result, 4, stream);
    CHECK(cuStreamEndCapture(stream, &graph));
    CUgraphExec exec;
    CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    CHECK(cuGraphGetNodes(graph, nodes, &count));
    for (size_t i = 0; i < count; i++) {
        CUgraphNodeType type;
        CHECK(cuGraphNodeGetType(nodes[i], &type));
        printf("node %d", (int)type);
        if (type == CU_GRAPH_NODE_TYPE_KERNEL) {
            CUDA_KERNEL_NODE_PARAMS params;
            CHECK(cuGraphKernelNodeGetParams_v2(nodes[i], &params));
            printf(", %s, grid %u, block %u", params.func == fill_function ? "fill" : "another",
                   params.gridDimX, params.blockDimX);
        }
        putchar('\n');
    }
    CHECK(cuGraphDebugDotPrint(graph, "graph.dot", 0));
    char line[256];
    unsigned lines = 0;
    FILE *file = sure(fopen("graph.dot", "r"));
    while (fgets(line, sizeof(line), file))
        lines += strchr(line, '>') != NULL;
    fclose(file);
    unlink("graph.dot"); // it has addresses
    printf("%u edges\n", lines);
}

// --- Memory --------------------------------------------------------------------------------------

// Free memory changes by what the program does, and by nothing else.
void queries_free_memory(void)
{
    size_t before, after, total;
    CUdeviceptr memory;
    const struct result result = place_result(BLOCK);
    bring(&result, 1);
    CHECK(cuMemGetInfo_v2(&before, &total));
    for (unsigned i = 0; i < 10; i++) {
        CHECK(cuMemAlloc_v2(&memory, 8 << 20));
        fill(memory, 1000, i, 0, NULL);
        CHECK(cuMemGetInfo_v2(&after, &total));
        printf("%lld ", (long long)before - (long long)after);
        CHECK(cuMemFree_v2(memory));
        bring(&result, i);
    }
    CHECK(cuMemGetInfo_v2(&after, &total));
    printf("left %lld, total %zu\n", (long long)before - (long long)after, total);
}

// Memory is taken until there is none: as much must be there as natively.
void queries_all_memory(void)
{
    size_t free_bytes, total;
    CUdeviceptr memory;
    CHECK(cuMemGetInfo_v2(&free_bytes, &total));
    say_code("more than all", cuMemAlloc_v2(&memory, total + 1));
    say_code("half", cuMemAlloc_v2(&memory, total / 2));
    CUdeviceptr other;
    say_code("another half", cuMemAlloc_v2(&other, total / 2));
    CHECK(cuMemFree_v2(memory));
    CHECK(cuMemGetInfo_v2(&free_bytes, &total));
    printf("%zu MiB\n", free_bytes >> 20);
}

void queries_pointers(const struct result *result, unsigned key)
{
    CUdeviceptr base = 0, device = 0;
    size_t bytes = 0;
    unsigned type = 9, managed = 9;
    const CUdeviceptr at = (CUdeviceptr)(uintptr_t)(result->words + 5);
    puts(name_of(result->place));
    say_code("type", cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, at));
    say_code("managed", cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, at));
    say_code("device", cuPointerGetAttribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, at));
    say_code("range", cuMemGetAddressRange_v2(&base, &bytes, at));
    printf("%u %u %d %d %zu\n", type, managed, device == at, base == at - 20, bytes);
    unsigned flags = 9;
    say_code("flags", cuMemHostGetFlags(&flags, result->words));
    printf("%u\n", flags);
    say_good("words", result->words, result->count, key);
}

void queries_ranges(void)
{
    for (unsigned i = 0; i < 6; i++) {
        CUdeviceptr memory, base;
        size_t bytes;
        unsigned long long first, second;
        CHECK(cuMemAlloc_v2(&memory, 1000 * (i + 1)));
        CHECK(cuMemGetAddressRange_v2(&base, &bytes, memory + 99));
        printf("%d %zu", base == memory, bytes);
        CHECK(cuPointerGetAttribute(&first, CU_POINTER_ATTRIBUTE_BUFFER_ID, memory));
        CHECK(cuPointerGetAttribute(&second, CU_POINTER_ATTRIBUTE_BUFFER_ID, memory + 500));
        printf(" %d\n", first == second);
        if (i % 2)
            CHECK(cuMemFree_v2(memory));
    }
}

void queries_pool(void)
{
    CUmemoryPool pool;
    cuuint64_t used = 0, high = 0;
    CUdeviceptr memory;
    CHECK(cuDeviceGetDefaultMemPool(&pool, 0));
    for (unsigned i = 0; i < 3; i++) {
        CHECK(cuMemAllocAsync(&memory, 1 << 20, NULL));
        fill(memory, 100, i, 0, NULL);
        CHECK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
        CHECK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &high));
        printf("%llu, at most %llu\n", (unsigned long long)used, (unsigned long long)high);
        CHECK(cuMemFreeAsync(memory, NULL));
        CHECK(cuCtxSynchronize());
    }
}

// Waits return memory of pools to the device, whether or not the program needs what they wait for.
void queries_pool_release(void)
{
    CUmemoryPool pool;
    cuuint64_t reserved = 0;
    size_t free_bytes[2], total;
    CUdeviceptr memory;
    CHECK(cuDeviceGetDefaultMemPool(&pool, 0));
    for (unsigned i = 0; i < 6; i++) {
        CHECK(cuMemGetInfo_v2(&free_bytes[0], &total));
        CHECK(cuMemAllocAsync(&memory, 64 << 20, NULL));
        fill(memory, 100, i, 1000000, NULL);
        CHECK(cuMemFreeAsync(memory, NULL));
        if (i % 2)
            CHECK(cuStreamSynchronize(NULL));
        else
            CHECK(cuCtxSynchronize());
        if (i % 3)
            CHECK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &reserved));
        CHECK(cuMemGetInfo_v2(&free_bytes[1], &total));
        printf("%llu reserved, %lld taken\n", (unsigned long long)reserved,
               (long long)free_bytes[0] - (long long)free_bytes[1]);
    }
}

// --- Kernels and modules -------------------------------------------------------------------------

static const char ptx[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .global .align 4 .u32 counter[10];\n.visible .const .align 4 .u32 table[3];\n"
    ".visible .entry other(.param .u64 to, .param .align 8 .b8 more[24])\n{\n    .reg .b64 "
    "%rd<2>;\n"
    "    .shared .align 4 .b8 room[512];\n    .reg .b32 %r<3>;\n    ld.param.u64 %rd1, [to];\n"
    "    mov.u32 %r1, room;\n    ld.global.u32 %r2, [counter];\n"
    "    st.shared.u32 [%r1], %r2;\n    st.global.u32 [%rd1], %r2;\n    ret;\n}\n";

static void say_attributes(CUfunction function)
{
    static const CUfunction_attribute attributes[] = {
        CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
        CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES,
        CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES,
        CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES,
        CU_FUNC_ATTRIBUTE_NUM_REGS,
        CU_FUNC_ATTRIBUTE_PTX_VERSION,
        CU_FUNC_ATTRIBUTE_BINARY_VERSION,
        CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES};
    for (unsigned i = 0; i < 8; i++) {
        int value = -1;
        const CUresult result = cuFuncGetAttribute(&value, attributes[i], function);
        printf("%d/%d ", value, (int)result);
    }
    putchar('\n');
}

void queries_functions(void)
{
    CUmodule module, own;
    CUfunction function;
    const char *name = "";
    size_t offset = 0, bytes = 0;
    CHECK(cuModuleLoadData(&module, ptx));
    CHECK(cuModuleGetFunction(&function, module, "other"));
    say_attributes(function);
    say_attributes(fill_function);
    CHECK(cuFuncGetName(&name, function));
    CHECK(cuFuncGetModule(&own, function));
    printf("%s %d\n", name, own == module);
    for (size_t i = 0; i < 4; i++) {
        const CUresult result = cuFuncGetParamInfo(function, i, &offset, &bytes);
        printf("parameter: %d %zu %zu\n", (int)result, offset, bytes);
    }
    say_code("set",
             cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 65536));
    say_attributes(function);
    say_code("missing", cuModuleGetFunction(&function, module, "nothing"));
}

void queries_occupancy(void)
{
    for (int block = 32; block <= 1024; block *= 2) {
        int blocks = 0;
        CHECK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, fill_function, block, 0));
        printf("%d ", blocks);
        CHECK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, fill_function, block, 20000));
        printf("%d\n", blocks);
    }
}

void queries_modules(void)
{
    CUmodule module;
    CUdeviceptr address, again;
    size_t bytes;
    unsigned functions = 9;
    CUfunction list[8];
    CHECK(cuModuleLoadData(&module, ptx));
    CHECK(cuModuleGetGlobal_v2(&address, &bytes, module, "counter"));
    CHECK(cuModuleGetGlobal_v2(&again, NULL, module, "counter"));
    printf("counter %zu %d\n", bytes, address == again);
    CHECK(cuModuleGetGlobal_v2(&address, &bytes, module, "table"));
    printf("table %zu\n", bytes);
    say_code("missing", cuModuleGetGlobal_v2(&address, &bytes, module, "nothing"));
    say_code("count", cuModuleGetFunctionCount(&functions, module));
    printf("%u\n", functions);
    say_code("list", cuModuleEnumerateFunctions(list, functions, module));
    for (unsigned i = 0; i < functions && i < 8; i++) {
        const char *name = "";
        CHECK(cuFuncGetName(&name, list[i]));
        puts(name);
    }
    CHECK(cuModuleUnload(module));
}

// Texts that the driver refuses, with the log that it writes.
void queries_bad_modules(void)
{
#define HEADER ".version 7.0\n.target sm_70\n.address_size 64\n"
    static const char unknown[] = HEADER ".visible .entry k()\n{\n    frobnicate %r1;\n}\n";
    static const char unended[] = HEADER ".visible .entry k()\n{\n    ret\n}\n";
    static const char *const texts[] = {"", "nonsense", ".version 99.0\n.target sm_70\n", unknown,
                                        unended};
    for (unsigned i = 0; i < 5; i++) {
        static char log[2000];
        CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
        void *values[] = {log, (void *)(uintptr_t)sizeof(log)};
        CUmodule module;
        log[0] = 0;
        say_code("load", cuModuleLoadDataEx(&module, texts[i], 2, options, values));
        puts(log);
    }
}

// --- Errors --------------------------------------------------------------------------------------

void queries_errors(void)
{
    unsigned word = 0;
    CUdeviceptr memory;
    CUmodule module;
    CUstream stream;
    // The first parameter is there, the others are not: the driver does not look at them.
    char *pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(pages == MAP_FAILED || mprotect(pages + PAGE, PAGE, PROT_NONE));
    void **params = (void **)(pages + PAGE) - 1;
    params[0] = &memory;
    say_code("alloc", cuMemAlloc_v2(&memory, 0));
    say_code("free", cuMemFree_v2(0x1000));
    say_code("copy", cuMemcpyDtoH_v2(&word, 0x1000, 4));
    say_code("copy", cuMemcpyHtoD_v2(device_words + WORDS * 4 - 2, &word, 4));
    say_code("set", cuMemsetD32_v2(device_words + 1, 1, 4));
    say_code("launch", cuLaunchKernel(fill_function, 1, 1, 1, 4096, 1, 1, 0, NULL, params, NULL));
    say_code("launch", cuLaunchKernel(fill_function, 0, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    say_code("launch",
             cuLaunchKernel(fill_function, 1, 1, 1, 1, 1, 1, 1 << 20, NULL, params, NULL));
    say_code("module", cuModuleLoadData(&module, "?"));
    say_code("stream", cuStreamCreate(&stream, 77));
    say_code("device", cuCtxCreate_v2(&(CUcontext){0}, 0, 99));
    say_code("event", cuEventElapsedTime(&(float){0}, NULL, NULL));
    say_code("host", cuMemFreeHost(&word));
    say_code("register", cuMemHostRegister_v2(NULL, 10, 0));
    say_code("unregister", cuMemHostUnregister(&word));
    say_code("pointer", cuPointerGetAttribute(&word, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, 0x1000));
    say_code("well", cuCtxSynchronize());
}

// Functions by the ways in which libraries get them.
void queries_addresses(void)
{
    void *by_driver = NULL, *by_loader = dlsym(RTLD_DEFAULT, "cuMemAlloc_v2");
    CUdriverProcAddressQueryResult found;
    CUdeviceptr memory = 0;
    CHECK(cuGetProcAddress_v2("cuMemAlloc", &by_driver, 12000, 0, &found));
    printf("%d %d\n", (int)found, by_driver != NULL && by_loader != NULL);
    if (!by_driver || !by_loader)
        return;
    say_code("alloc", ((CUresult(*)(CUdeviceptr *, size_t))by_driver)(&memory, 100));
    say_code("alloc", ((CUresult(*)(CUdeviceptr *, size_t))by_loader)(&memory, 100));
    say_code("missing", cuGetProcAddress_v2("cuNothing", &by_driver, 12000, 0, &found));
    printf("%d %d\n", (int)found, by_driver != NULL);
    say_code("old", cuGetProcAddress_v2("cuMemAlloc", &by_driver, 1, 0, &found));
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    printf("%d\n", library && dlsym(library, "cuMemFree_v2") != NULL);
    printf("%d\n", dlsym(RTLD_DEFAULT, "cuNothing") == NULL);
}

void queries_contexts(void)
{
    CUcontext first, other, found;
    CUdevice device;
    unsigned version, flags;
    int active;
    CHECK(cuCtxGetCurrent(&first));
    CHECK(cuCtxCreate_v2(&other, CU_CTX_SCHED_YIELD, 0));
    CHECK(cuCtxGetCurrent(&found));
    printf("%d ", found == other);
    CHECK(cuCtxGetFlags(&flags));
    CHECK(cuCtxGetApiVersion(other, &version));
    CHECK(cuCtxGetDevice(&device));
    printf("%u %u %d\n", flags, version, device);
    CHECK(cuCtxPopCurrent_v2(&found));
    printf("%d ", found == other);
    CHECK(cuCtxGetCurrent(&found));
    printf("%d\n", found == first);
    CHECK(cuCtxDestroy_v2(other));
    CHECK(cuDevicePrimaryCtxGetState(0, &flags, &active));
    printf("%u %d\n", flags, active);
    for (unsigned limit = 0; limit < 3; limit++) {
        size_t value = 0;
        const CUresult result = cuCtxGetLimit(&value, (CUlimit)limit);
        printf("limit %u: %d %zu\n", limit, (int)result, value);
    }
    CHECK(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 4096));
    size_t stack;
    CHECK(cuCtxGetLimit(&stack, CU_LIMIT_STACK_SIZE));
    printf("%zu\n", stack);
}

void queries_device(void)
{
    uint64_t digest = 0;
    for (int i = 1; i < 140; i++) {
        int value = 0;
        if (cuDeviceGetAttribute(&value, (CUdevice_attribute)i, 0) == CUDA_SUCCESS)
            digest = digest * 31 + (unsigned)value;
    }
    char name[100] = "";
    int version = 0, count = 0;
    size_t total = 0;
    CHECK(cuDeviceGetName(name, sizeof(name), 0));
    CHECK(cuDriverGetVersion(&version));
    CHECK(cuDeviceGetCount(&count));
    CHECK(cuDeviceTotalMem_v2(&total, 0));
    printf("%s %d %d %zu %llx\n", name, version, count, total, (unsigned long long)digest);
}

// Contexts one beside the other, one of which ends while its kernel runs.
void queries_several_contexts(void)
{
    CUcontext contexts[3], found;
    CUdeviceptr memory[3];
    CUstream streams[3];
    CHECK(cuCtxGetCurrent(&found));
    for (unsigned i = 0; i < 3; i++) {
        CHECK(cuCtxCreate_v2(&contexts[i], 0, 0));
        CHECK(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
        CHECK(cuMemAlloc_v2(&memory[i], PAGE));
    }
    for (unsigned i = 0; i < 9; i++) {
        const unsigned own = i / 3, other = i % 3;
        unsigned words[4] = {9, 9, 9, 9};
        CHECK(cuCtxSetCurrent(contexts[own]));
        printf("%u %u: %d ", own, other, (int)cuMemsetD32Async(memory[other], i, 4, streams[own]));
        printf("%d ", (int)cuStreamSynchronize(streams[own]));
        printf("%d ", (int)cuMemsetD32Async(memory[own], i, 4, streams[other]));
        printf("%d %u\n", (int)cuMemcpyDtoH_v2(words, memory[own], sizeof(words)), words[3] == i);
    }
    say_code("destroy", cuCtxDestroy_v2(contexts[0]));
    CHECK(cuCtxSetCurrent(contexts[1]));
    say_code("memory of another", cuMemFree_v2(memory[0]));
    say_code("own memory", cuMemFree_v2(memory[1]));
    say_code("destroy", cuCtxDestroy_v2(contexts[2]));
    say_code("synchronize", cuCtxSynchronize());
    CHECK(cuCtxSetCurrent(found));
}

// The primary context is active as long as the program retains it.
void queries_primary_context(void)
{
    CUcontext one, other;
    unsigned flags = 9;
    int active = 9;
    CHECK(cuInit(0));
    CHECK(cuDevicePrimaryCtxGetState(0, &flags, &active));
    printf("%u %d\n", flags, active);
    CHECK(cuDevicePrimaryCtxRetain(&one, 0));
    CHECK(cuDevicePrimaryCtxRetain(&other, 0));
    printf("%d\n", one == other);
    start();
    const struct result result = place_result(BLOCK);
    bring(&result, 3);
    say_good("block", result.words, result.count, 3);
    for (unsigned i = 0; i < 4; i++) {
        say_code("release", cuDevicePrimaryCtxRelease_v2(0));
        CHECK(cuDevicePrimaryCtxGetState(0, &flags, &active));
        printf("%d\n", active);
    }
    start();
    bring(&result, 4);
    say_good("again", result.words, result.count, 4);
}

// Kernels of a library: names, attributes, parameters.
void queries_library(void)
{
    CUlibrary library;
    CUkernel list[4], kernel;
    CUfunction function;
    CUdeviceptr variable;
    unsigned count = 0;
    size_t offset = 0, bytes = 0;
    CHECK(cuLibraryLoadData(&library, ptx, NULL, NULL, 0, NULL, NULL, 0));
    CHECK(cuLibraryGetKernelCount(&count, library));
    printf("%u\n", count);
    say_code("list", cuLibraryEnumerateKernels(list, 4, library));
    CHECK(cuLibraryGetKernel(&kernel, library, "other"));
    printf("%d\n", list[0] == kernel);
    for (size_t i = 0; i < 4; i++) {
        const CUresult result = cuKernelGetParamInfo(kernel, i, &offset, &bytes);
        printf("parameter: %d %zu %zu\n", (int)result, offset, bytes);
    }
    CHECK(cuKernelGetFunction(&function, kernel));
    say_attributes(function);
    CHECK(cuLibraryGetGlobal(&variable, &bytes, library, "counter"));
    printf("counter %zu\n", bytes);
    say_code("missing", cuLibraryGetKernel(&kernel, library, "nothing"));
    say_code("unload", cuLibraryUnload(library));
}
