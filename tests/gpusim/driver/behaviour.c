// SPDX-License-Identifier: Apache-2.0
// Prints what driver calls return in connection with kernel faults, memory of graphs, and large
// static shared memory. behaviour.expected has the output of an H200 (driver 580), and the
// simulated GPU must print the same. One difference is intended and not tested: the simulated GPU
// stops a kernel that uses a graph's memory after its free. Each scenario runs in its own process,
// because a fault makes the device unusable for its process.
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cudaabi/cudaabi.h"

static void *library;

static void *find(const char *name)
{
    void *function = dlsym(library, name);
    if (!function) {
        printf("libcuda.so.1 has no %s\n", name);
        fflush(stdout);
        _exit(1);
    }
    return function;
}

#define CU(name)       ((__typeof__(name) *)find(#name))
#define SAY(name, ...) say(#name "(" #__VA_ARGS__ ")", CU(name)(__VA_ARGS__))

static void say(const char *what, CUresult result)
{
    printf("  %-64s %d\n", what, (int)result);
}

static void title(const char *text)
{
    printf("  -- %s\n", text);
}

// A call that must succeed for a scenario to make sense.
static void need(CUresult result)
{
    if (result == CUDA_SUCCESS)
        return;
    printf("  not what is asked about here, and it failed: %d\n", (int)result);
    fflush(stdout);
    _exit(1);
}

static const char kernels[] =
    ".version 8.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry put(.param .u64 p) { .reg .u64 %a; ld.param.u64 %a, [p];\n"
    " st.global.u32 [%a], 7; ret; }\n"
    ".visible .entry stop(.param .u64 p) { trap; ret; }\n";

static CUfunction load(const char *name)
{
    CUmodule module;
    CUfunction function;
    need(CU(cuModuleLoadData)(&module, kernels));
    need(CU(cuModuleGetFunction)(&function, module, name));
    return function;
}

static CUdeviceptr allocate(void)
{
    CUdeviceptr p;
    need(CU(cuMemAlloc_v2)(&p, 4096));
    return p;
}

static CUcontext create(void)
{
    CUcontext context;
    need(CU(cuCtxCreate_v2)(&context, 0, 0));
    return context;
}

static CUresult launch(CUfunction function, CUdeviceptr p)
{
    void *params[] = {&p};
    return CU(cuLaunchKernel)(function, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL);
}

static void say_state(void)
{
    unsigned flags = 99;
    int active = 99;
    SAY(cuDevicePrimaryCtxGetState, 0, &flags, &active);
    printf("     flags %u, active %d\n", flags, active);
}

// --- Faults --------------------------------------------------------------------------------------

// Objects that were created in the faulting context before the fault.
static struct {
    CUdeviceptr memory;
    CUstream stream;
    CUevent event;
    CUfunction put;
} old;

// Launches the kernel in the current context, with an address that is not mapped.
static void fault(const char *kernel)
{
    old.put = load("put");
    CUfunction function = load(kernel);
    old.memory = allocate();
    need(CU(cuStreamCreate)(&old.stream, 0));
    need(CU(cuEventCreate)(&old.event, 0));
    say("launch of the kernel", launch(function, 16));
    SAY(cuCtxSynchronize);
    SAY(cuCtxSynchronize);
}

// Makes calls of many kinds in the current context, without handles of a destroyed context.
static void probe(const char *when, bool has_handles)
{
    CUcontext context = NULL;
    CUdevice device;
    CUdeviceptr p;
    CUstream stream;
    CUevent event;
    CUmodule module;
    uint32_t word;
    size_t available, total;
    title(when);
    SAY(cuCtxGetCurrent, &context);
    printf("     %s\n", context ? "there is one" : "there is none");
    SAY(cuCtxGetDevice, &device);
    SAY(cuCtxSynchronize);
    SAY(cuMemAlloc_v2, &p, 4096);
    SAY(cuMemGetInfo_v2, &available, &total);
    SAY(cuMemcpyDtoH_v2, &word, old.memory, 4);
    SAY(cuMemFree_v2, old.memory);
    SAY(cuStreamCreate, &stream, 0);
    SAY(cuStreamQuery, NULL);
    if (has_handles)
        SAY(cuStreamSynchronize, old.stream);
    SAY(cuEventCreate, &event, 0);
    if (has_handles)
        SAY(cuEventQuery, old.event);
    SAY(cuModuleLoadData, &module, kernels);
    if (has_handles)
        say("launch of put", launch(old.put, old.memory));
}

static void primary_context(const char *kernel)
{
    CUcontext primary, again = NULL, other;
    int count;
    need(CU(cuDevicePrimaryCtxRetain)(&primary, 0));
    need(CU(cuCtxSetCurrent)(primary));
    fault(kernel);
    probe("after the fault", true);
    SAY(cuDevicePrimaryCtxRetain, &again, 0);
    say_state();
    SAY(cuDevicePrimaryCtxReset_v2, 0);
    say_state();
    probe("after the reset", false);
    SAY(cuDevicePrimaryCtxRetain, &again, 0);
    SAY(cuCtxSetCurrent, primary);
    probe("made current once more", false);
    SAY(cuDevicePrimaryCtxRelease_v2, 0);
    SAY(cuDevicePrimaryCtxRelease_v2, 0);
    SAY(cuDevicePrimaryCtxRelease_v2, 0);
    say_state();
    SAY(cuDevicePrimaryCtxRetain, &again, 0);
    SAY(cuCtxCreate_v2, &other, 0, 0);
    SAY(cuDeviceGetCount, &count);
    SAY(cuInit, 0);
}

static void illegal_address_in_the_primary_context(void)
{
    primary_context("put");
}

static void trap_in_the_primary_context(void)
{
    primary_context("stop");
}

static void last_release_after_a_fault(void)
{
    CUcontext primary;
    need(CU(cuDevicePrimaryCtxRetain)(&primary, 0));
    need(CU(cuCtxSetCurrent)(primary));
    fault("put");
    SAY(cuCtxSetCurrent, NULL);
    SAY(cuDevicePrimaryCtxRelease_v2, 0);
    say_state();
    SAY(cuDevicePrimaryCtxRetain, &primary, 0);
}

static void other_contexts_after_a_fault(void)
{
    CUcontext primary, before, doomed, after;
    uint32_t word = 0;
    need(CU(cuDevicePrimaryCtxRetain)(&primary, 0));
    need(CU(cuCtxSetCurrent)(primary));
    CUdeviceptr p_of_primary = allocate();
    CUfunction put_of_primary = load("put");
    before = create();
    CUdeviceptr p = allocate();
    CUfunction put = load("put");
    doomed = create();
    fault("put");
    probe("in the context of the fault", true);
    title("in one made before");
    SAY(cuCtxSetCurrent, before);
    say("launch of put", launch(put, p));
    SAY(cuCtxSynchronize);
    SAY(cuMemcpyDtoH_v2, &word, p, 4);
    printf("     %u\n", word);
    title("in the primary one");
    SAY(cuCtxSetCurrent, primary);
    say("launch of put", launch(put_of_primary, p_of_primary));
    SAY(cuCtxSynchronize);
    SAY(cuDevicePrimaryCtxRetain, &primary, 0);
    SAY(cuCtxDestroy_v2, doomed);
    title("one made after");
    SAY(cuCtxCreate_v2, &after, 0, 0);
    title("the destroyed one");
    SAY(cuCtxSetCurrent, doomed);
    SAY(cuCtxSynchronize);
    title("the primary one, reset");
    SAY(cuDevicePrimaryCtxReset_v2, 0);
    SAY(cuDevicePrimaryCtxRetain, &primary, 0);
}

// --- Memory of graphs ----------------------------------------------------------------------------

static void say_word(CUdeviceptr p)
{
    uint32_t word = 0;
    SAY(cuMemcpyDtoH_v2, &word, p, 4);
    printf("     %u\n", word);
}

static void memory_of_a_graph(void)
{
    CUstream stream;
    CUgraph graph;
    CUgraphExec exec, second;
    CUdeviceptr q;
    uint32_t word;
    create();
    need(CU(cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING));
    SAY(cuStreamBeginCapture_v2, stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
    SAY(cuMemAllocAsync, &q, 4096, stream);
    SAY(cuMemsetD32Async, q, 5, 1024, stream);
    SAY(cuStreamEndCapture, stream, &graph);
    title("before a launch");
    SAY(cuMemFree_v2, q);
    SAY(cuMemFreeAsync, q, stream);
    SAY(cuMemcpyDtoH_v2, &word, q, 4);
    SAY(cuMemsetD32Async, q, 1, 1, stream);
    SAY(cuCtxSynchronize);
    SAY(cuGraphInstantiateWithFlags, &exec, graph, 0);
    SAY(cuGraphInstantiateWithFlags, &second, graph, 0);
    title("launched");
    SAY(cuGraphLaunch, exec, stream);
    SAY(cuGraphLaunch, exec, stream);
    SAY(cuStreamSynchronize, stream);
    say_word(q);
    SAY(cuMemFreeAsync, q, stream);
    SAY(cuMemFreeAsync, q, stream);
    SAY(cuStreamSynchronize, stream);
    title("freed");
    SAY(cuMemcpyDtoH_v2, &word, q, 4);
    SAY(cuMemsetD32Async, q, 1, 1, stream);
    SAY(cuCtxSynchronize);
    title("launched again");
    SAY(cuGraphLaunch, exec, stream);
    SAY(cuStreamSynchronize, stream);
    say_word(q);
    SAY(cuMemFree_v2, q);
    SAY(cuMemFree_v2, q);
    SAY(cuGraphLaunch, exec, stream);
    SAY(cuGraphExecDestroy, exec);
    SAY(cuStreamSynchronize, stream);
    title("to be freed by each launch");
    SAY(cuGraphInstantiateWithFlags, &exec, graph, CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH);
    SAY(cuGraphLaunch, exec, stream);
    SAY(cuGraphLaunch, exec, stream);
    SAY(cuStreamSynchronize, stream);
    say_word(q);
    SAY(cuGraphExecDestroy, exec);
    SAY(cuGraphDestroy, graph);
    title("the graph is gone");
    SAY(cuMemcpyDtoH_v2, &word, q, 4);
    SAY(cuMemFreeAsync, q, stream);
    SAY(cuStreamSynchronize, stream);
    SAY(cuMemFreeAsync, q, stream);
    SAY(cuCtxSynchronize);
}

// --- Static shared memory ------------------------------------------------------------------------

static void launch_of(CUmodule module, const char *name)
{
    CUfunction function;
    int bytes = -1;
    SAY(cuModuleGetFunction, &function, module, name);
    SAY(cuFuncGetAttribute, &bytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function);
    printf("     %s has %d bytes\n", name, bytes);
    say("launch of it", CU(cuLaunchKernel)(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    SAY(cuCtxSynchronize);
}

static void static_shared_memory(void)
{
    static const unsigned sizes[] = {49152, 49156, 131072, 232448, 232452};
    create();
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        char text[1000], what[40];
        CUmodule module = NULL;
        snprintf(text, sizeof text,
                 ".version 8.0\n.target sm_70\n.address_size 64\n"
                 ".visible .entry other() { ret; }\n"
                 ".visible .entry large() { .reg .u32 %%r; .shared .align 4 .b8 a[%u];\n"
                 " mov.u32 %%r, a; st.shared.u32 [a+%u], %%r; ret; }\n",
                 sizes[i], sizes[i] - 4);
        snprintf(what, sizeof what, "%u bytes", sizes[i]);
        title(what);
        CUresult result = CU(cuModuleLoadData)(&module, text);
        say("cuModuleLoadData(&module, text)", result);
        if (result != CUDA_SUCCESS)
            continue;
        launch_of(module, "large");
        launch_of(module, "other");
    }
}

// -------------------------------------------------------------------------------------------------

static const struct {
    const char *name;
    void (*run)(void);
} scenarios[] = {
    {"illegal address in the primary context", illegal_address_in_the_primary_context},
    {"trap in the primary context", trap_in_the_primary_context},
    {"last release after a fault", last_release_after_a_fault},
    {"other contexts after a fault", other_contexts_after_a_fault},
    {"memory of a graph", memory_of_a_graph},
    {"static shared memory", static_shared_memory},
};

int main(void)
{
    int failed = 0;
    for (size_t i = 0; i < sizeof scenarios / sizeof scenarios[0]; i++) {
        printf("== %s\n", scenarios[i].name);
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            alarm(60);
            library = dlopen("libcuda.so.1", RTLD_NOW);
            if (!library)
                _exit(1);
            need(CU(cuInit)(0));
            scenarios[i].run();
            fflush(stdout);
            _exit(0);
        }
        int status = 1;
        if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
            printf("  it ended with status 0x%x\n", (unsigned)status);
            failed = 1;
        }
    }
    return failed;
}
