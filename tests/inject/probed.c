// SPDX-License-Identifier: Apache-2.0
// Launches kernels in every way that the driver offers, for the tests of probes: probed NAME
// [FILE]. Its output must not depend on whether its kernels have probes; expected/probes-NAME has
// what the probes must report. The program may write PTX to FILE in order to load it.
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "program.h"

// add: adds n elements of q to those of p. pick: writes p or q, as `which` selects. chase: writes
// through the pointer stored at p. tick: adds to the variable. packed: writes through a pointer
// in a structure parameter. room: writes dynamic shared memory, and then p from there. call:
// writes in a device function.
static const char ptx[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .global .align 4 .b32 counter;\n"
    ".extern .shared .align 16 .b8 room_bytes[];\n"
    ".visible .entry add(.param .u64 p, .param .u64 q, .param .u32 n)\n{\n"
    "    .reg .pred %p<2>;\n    .reg .b32 %r<8>;\n    .reg .b64 %rd<8>;\n"
    "    ld.param.u64 %rd1, [p];\n    ld.param.u64 %rd2, [q];\n    ld.param.u32 %r1, [n];\n"
    "    mov.u32 %r2, %ctaid.x;\n    mov.u32 %r3, %ntid.x;\n    mov.u32 %r4, %tid.x;\n"
    "    mad.lo.s32 %r2, %r2, %r3, %r4;\n    setp.ge.s32 %p1, %r2, %r1;\n    @%p1 bra done;\n"
    "    cvta.to.global.u64 %rd1, %rd1;\n    cvta.to.global.u64 %rd2, %rd2;\n"
    "    mul.wide.s32 %rd3, %r2, 4;\n    add.s64 %rd4, %rd1, %rd3;\n    add.s64 %rd5, %rd2, %rd3;\n"
    "    ld.global.u32 %r5, [%rd4];\n    ld.global.u32 %r6, [%rd5];\n    add.s32 %r7, %r5, %r6;\n"
    "    st.global.u32 [%rd4], %r7;\ndone:\n    ret;\n}\n"
    ".visible .entry pick(.param .u64 p, .param .u64 q, .param .u32 which)\n{\n"
    "    .reg .pred %p<2>;\n    .reg .b32 %r<4>;\n    .reg .b64 %rd<4>;\n"
    "    ld.param.u64 %rd1, [p];\n    ld.param.u64 %rd2, [q];\n    ld.param.u32 %r1, [which];\n"
    "    cvta.to.global.u64 %rd1, %rd1;\n    cvta.to.global.u64 %rd2, %rd2;\n"
    "    setp.ne.s32 %p1, %r1, 0;\n    @%p1 bra second;\n    st.global.u32 [%rd1], 7;\n    ret;\n"
    "second:\n    st.global.u32 [%rd2], 8;\n    ret;\n}\n"
    ".visible .entry chase(.param .u64 p)\n{\n    .reg .b64 %rd<3>;\n"
    "    ld.param.u64 %rd1, [p];\n    cvta.to.global.u64 %rd1, %rd1;\n"
    "    ld.global.u64 %rd2, [%rd1];\n    st.u32 [%rd2], 9;\n    ret;\n}\n"
    ".visible .entry tick()\n{\n    .reg .b32 %r<2>;\n"
    "    atom.global.add.u32 %r1, [counter], 1;\n    ret;\n}\n"
    ".visible .entry packed(.param .align 8 .b8 both[16])\n{\n"
    "    .reg .b32 %r<2>;\n    .reg .b64 %rd<2>;\n"
    "    ld.param.u32 %r1, [both];\n    ld.param.u64 %rd1, [both+8];\n"
    "    cvta.to.global.u64 %rd1, %rd1;\n    st.global.u32 [%rd1], %r1;\n    ret;\n}\n"
    ".visible .entry room(.param .u64 p)\n{\n    .reg .b32 %r<4>;\n    .reg .b64 %rd<4>;\n"
    "    ld.param.u64 %rd1, [p];\n    cvta.to.global.u64 %rd1, %rd1;\n"
    "    mov.u32 %r1, room_bytes;\n    st.shared.u32 [%r1+65532], 5;\n"
    "    ld.shared.u32 %r2, [%r1+65532];\n    st.global.u32 [%rd1], %r2;\n    ret;\n}\n"
    ".func put(.param .b64 to)\n{\n    .reg .b64 %rd<2>;\n"
    "    ld.param.b64 %rd1, [to];\n    st.global.u32 [%rd1], 6;\n    ret;\n}\n"
    ".visible .entry call(.param .u64 p)\n{\n    .reg .b64 %rd<2>;\n"
    "    ld.param.u64 %rd1, [p];\n    cvta.to.global.u64 %rd1, %rd1;\n"
    "    {\n    .param .b64 to;\n    st.param.b64 [to], %rd1;\n    call put, (to);\n    }\n"
    "    ret;\n}\n";

enum { COUNT = 256, BYTES = COUNT * 4 };

static CUcontext context;
static CUmodule module;
static CUdeviceptr a, b;

static void start(void)
{
    context = start_thread();
    CHECK(cuModuleLoadData(&module, ptx));
    CHECK(cuMemAlloc_v2(&a, BYTES));
    CHECK(cuMemAlloc_v2(&b, BYTES));
    CHECK(cuMemsetD32_v2(a, 1, COUNT));
    CHECK(cuMemsetD32_v2(b, 2, COUNT));
    CHECK(cuCtxSynchronize()); // because non-blocking streams do not wait for the legacy stream
}

static CUfunction function(const char *name)
{
    CUfunction found;
    CHECK(cuModuleGetFunction(&found, module, name));
    return found;
}

static void show(const char *what)
{
    unsigned of_a[COUNT], of_b[COUNT], sum_a = 0, sum_b = 0;
    CHECK(cuMemcpyDtoH_v2(of_a, a, BYTES));
    CHECK(cuMemcpyDtoH_v2(of_b, b, BYTES));
    for (int i = 0; i < COUNT; i++) {
        sum_a += of_a[i];
        sum_b += of_b[i];
    }
    printf("%s: %u %u\n", what, sum_a, sum_b);
}

static void add_on(CUfunction add, CUdeviceptr to, CUdeviceptr from, unsigned count,
                   CUstream stream)
{
    void *params[] = {&to, &from, &count};
    CHECK(cuLaunchKernel(add, 2, 1, 1, 128, 1, 1, 0, stream, params, NULL));
}

static void pick_on(unsigned which, CUstream stream)
{
    void *params[] = {&a, &b, &which};
    CHECK(cuLaunchKernel(function("pick"), 1, 1, 1, 32, 1, 1, 0, stream, params, NULL));
}

// --- Every way to launch -------------------------------------------------------------------------

static void launches(void)
{
    CUstream stream;
    CUdeviceptr pointers, counter;
    const CUfunction add = function("add");
    unsigned count = COUNT, ticks = 0;
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    add_on(add, a, b, count, NULL);
    show("pointers");

    struct {
        CUdeviceptr p, q;
        unsigned n;
    } packed = {a, b, COUNT / 2};
    size_t bytes = sizeof(packed);
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                     CU_LAUNCH_PARAM_END};
    CHECK(cuLaunchKernel(add, 2, 1, 1, 128, 1, 1, 0, NULL, NULL, extra));
    bytes = 20; // the required size, without the padding
    CHECK(cuLaunchKernel_ptsz(add, 2, 1, 1, 128, 1, 1, 0, NULL, NULL, extra));
    CHECK(cuCtxSynchronize());
    bytes = 16; // too little
    printf("short: %d\n", (int)cuLaunchKernel(add, 2, 1, 1, 128, 1, 1, 0, NULL, NULL, extra));
    show("packed");

    void *params[] = {&a, &b, &count};
    CUlaunchAttribute cooperative = {.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE, .value.cooperative = 1};
    CUlaunchConfig config = {2, 1, 1, 128, 1, 1, 0, stream, &cooperative, 1};
    CHECK(cuLaunchKernelEx(&config, add, params, NULL));
    CHECK(cuLaunchCooperativeKernel(add, 2, 1, 1, 128, 1, 1, 0, stream, params));
    printf("too large: %d\n",
           (int)cuLaunchCooperativeKernel(add, 1u << 20, 1, 1, 128, 1, 1, 0, stream, params));
    CHECK(cuStreamSynchronize(stream));
    show("cooperative");

    // It may begin while glint still reads the results of another launch, so it is not watched.
    CUlaunchAttribute early = {.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
                               .value.programmaticStreamSerializationAllowed = 1};
    config.attrs = &early;
    CHECK(cuLaunchKernelEx(&config, add, params, NULL));
    early.value.programmaticStreamSerializationAllowed = 0;
    CHECK(cuLaunchKernelEx(&config, add, params, NULL));
    CHECK(cuStreamSynchronize(stream));
    show("early");

    pick_on(0, NULL);
    pick_on(1, stream);
    CHECK(cuCtxSynchronize());
    show("pick");

    struct {
        unsigned value;
        CUdeviceptr to;
    } both = {11, b + 4};
    void *structure[] = {&both};
    CHECK(cuLaunchKernel(function("packed"), 1, 1, 1, 1, 1, 1, 0, NULL, structure, NULL));
    show("structure");

    CHECK(cuMemAlloc_v2(&pointers, 64));
    CHECK(cuMemcpyHtoD_v2(pointers, &b, sizeof(b)));
    void *table[] = {&pointers};
    CHECK(cuLaunchKernel(function("chase"), 1, 1, 1, 1, 1, 1, 0, NULL, table, NULL));
    show("chase");

    CHECK(cuLaunchKernel(function("tick"), 2, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
    CHECK(cuModuleGetGlobal_v2(&counter, NULL, module, "counter"));
    CHECK(cuMemcpyDtoH_v2(&ticks, counter, sizeof(ticks)));
    printf("ticks: %u\n", ticks);

    void *one[] = {&a};
    printf("no room: %d\n",
           (int)cuLaunchKernel(function("room"), 1, 1, 1, 1, 1, 1, 65536, NULL, one, NULL));
    CHECK(cuFuncSetAttribute(function("room"), CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                             65536));
    CHECK(cuLaunchKernel(function("room"), 1, 1, 1, 1, 1, 1, 65536, NULL, one, NULL));
    CHECK(cuLaunchKernel(function("call"), 1, 1, 1, 1, 1, 1, 0, NULL, one, NULL));
    show("room, call");

    CHECK(cuStreamDestroy_v2(stream));
}

// --- Modules and libraries -----------------------------------------------------------------------

static void list_kernels(CUmodule of)
{
    unsigned count = 0;
    CUfunction functions[32] = {NULL};
    CHECK(cuModuleGetFunctionCount(&count, of));
    CHECK(cuModuleEnumerateFunctions(functions, 32, of));
    printf("%u functions:", count);
    for (unsigned i = 0; i < 32 && functions[i]; i++) {
        const char *name;
        CHECK(cuFuncGetName(&name, functions[i]));
        int version = 0; // libraries select their kernels by this version
        CHECK(cuFuncGetAttribute(&version, CU_FUNC_ATTRIBUTE_PTX_VERSION, functions[i]));
        printf(" %s (%d)", name, version);
    }
    putchar('\n');
}

static void modules(const char *path)
{
    char log[64] = "";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)(uintptr_t)sizeof(log)};
    CUlibrary library;
    CUkernel kernel, kernels[32] = {NULL};
    CUmodule other;
    CUfunction of_kernel;
    unsigned count = 0;
    list_kernels(module);
    FILE *file = fopen(path, "w");
    if (!file || fputs(ptx, file) < 0 || fclose(file))
        exit(1);
    CHECK(cuModuleUnload(module));
    for (int i = 0; i < 3; i++) { // the handles may be the same each time
        CHECK(cuModuleLoad(&module, path));
        add_on(function("add"), a, b, COUNT, NULL);
        CHECK(cuModuleUnload(module));
    }
    show("file");
    CHECK(cuModuleLoadDataEx(&module, ptx, 2, options, values));
    printf("log: '%s' %zu\n", log, (size_t)(uintptr_t)values[1]);
    pick_on(1, NULL);
    show("with options");

    CHECK(cuLibraryLoadData(&library, ptx, NULL, NULL, 0, NULL, NULL, 0));
    CHECK(cuLibraryGetKernelCount(&count, library));
    CHECK(cuLibraryEnumerateKernels(kernels, 32, library));
    printf("%u kernels", count);
    for (count = 0; count < 32 && kernels[count]; count++)
        ;
    printf(", %u listed\n", count);
    CHECK(cuLibraryGetKernel(&kernel, library, "add"));
    add_on((CUfunction)kernel, a, b, COUNT, NULL);
    CHECK(cuKernelGetFunction(&of_kernel, kernel));
    add_on(of_kernel, a, b, COUNT, NULL);
    CHECK(cuLibraryGetModule(&other, library));
    CHECK(cuModuleGetFunction(&of_kernel, other, "add"));
    add_on(of_kernel, a, b, COUNT, NULL);
    show("library");
    CHECK(cuLibraryUnload(library));
    CHECK(cuLibraryLoadFromFile(&library, path, NULL, NULL, 0, NULL, NULL, 0));
    CHECK(cuLibraryGetKernel(&kernel, library, "add"));
    add_on((CUfunction)kernel, a, b, COUNT, NULL);
    show("library's file");
    CHECK(cuLibraryUnload(library));
    // Loads a new text while no context is current, and launches its kernel in two contexts.
    char other_text[sizeof(ptx) + 16];
    CUcontext second;
    snprintf(other_text, sizeof(other_text), "%s// another\n", ptx);
    CHECK(cuCtxSetCurrent(NULL));
    CHECK(cuLibraryLoadData(&library, other_text, NULL, NULL, 0, NULL, NULL, 0));
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuLibraryGetKernel(&kernel, library, "add"));
    add_on((CUfunction)kernel, a, b, COUNT, NULL);
    show("without a context");
    CHECK(cuCtxCreate_v2(&second, 0, 0));
    add_on((CUfunction)kernel, a, b, COUNT, NULL);
    CHECK(cuCtxSynchronize());
    CHECK(cuCtxDestroy_v2(second));
    CHECK(cuCtxSetCurrent(context));
    show("in another context");
    CHECK(cuLibraryUnload(library));
    printf("no PTX: %d\n", (int)cuModuleLoadData(&other, "no PTX at all") != CUDA_SUCCESS);
}

// Kernels whose names are those that clones would get.
static const char taken[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                            ".visible .entry one(.param .u64 p)\n{\n    .reg .b64 %rd<2>;\n"
                            "    ld.param.u64 %rd1, [p];\n    cvta.to.global.u64 %rd1, %rd1;\n"
                            "    st.global.u32 [%rd1], 41;\n    ret;\n}\n"
                            ".visible .entry one$glint(.param .u64 p)\n{\n    .reg .b64 %rd<2>;\n"
                            "    ld.param.u64 %rd1, [p];\n    cvta.to.global.u64 %rd1, %rd1;\n"
                            "    st.global.u32 [%rd1+4], 42;\n    ret;\n}\n";

static void names(void)
{
    void *params[] = {&a};
    CHECK(cuModuleLoadData(&module, taken));
    list_kernels(module);
    CHECK(cuLaunchKernel(function("one"), 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    CHECK(cuLaunchKernel(function("one$glint"), 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    show("names");
}

static const char outside[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".extern .func put(.param .b64 to);\n"
    ".visible .entry calls(.param .u64 p)\n{\n    .reg .b64 %rd<2>;\n"
    "    ld.param.u64 %rd1, [p];\n    cvta.to.global.u64 %rd1, %rd1;\n"
    "    {\n    .param .b64 to;\n    st.param.b64 [to], %rd1;\n    call put, (to);\n    }\n"
    "    ret;\n}\n";
static const char inside[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .func put(.param .b64 to)\n{\n    .reg .b64 %rd<2>;\n"
    "    ld.param.b64 %rd1, [to];\n    st.global.u32 [%rd1], 6;\n    ret;\n}\n"
    ".visible .entry own(.param .u64 p)\n{\n    .reg .b64 %rd<2>;\n"
    "    ld.param.u64 %rd1, [p];\n    cvta.to.global.u64 %rd1, %rd1;\n"
    "    st.global.u32 [%rd1], 4;\n    ret;\n}\n";

static void links(void)
{
    CUlinkState link;
    void *image, *one[] = {&a}, *two[] = {&b};
    size_t bytes;
    CHECK(cuLinkCreate_v2(0, NULL, NULL, &link));
    CHECK(cuLinkAddData_v2(link, CU_JIT_INPUT_PTX, (void *)(uintptr_t)outside, sizeof(outside),
                           "outside", 0, NULL, NULL));
    CHECK(cuLinkAddData_v2(link, CU_JIT_INPUT_PTX, (void *)(uintptr_t)inside, sizeof(inside),
                           "inside", 0, NULL, NULL));
    CHECK(cuLinkComplete(link, &image, &bytes));
    CHECK(cuModuleLoadData(&module, image));
    CHECK(cuLinkDestroy(link));
    list_kernels(module);
    CHECK(cuLaunchKernel(function("calls"), 1, 1, 1, 1, 1, 1, 0, NULL, one, NULL));
    CHECK(cuLaunchKernel(function("own"), 1, 1, 1, 1, 1, 1, 0, NULL, two, NULL));
    show("linked");
    CHECK(cuLinkCreate_v2(0, NULL, NULL, &link));
    CHECK(cuLinkAddData_v2(link, CU_JIT_INPUT_PTX, (void *)(uintptr_t)outside, sizeof(outside),
                           "outside", 0, NULL, NULL));
    printf("incomplete: %d\n", cuLinkComplete(link, &image, &bytes) != CUDA_SUCCESS);
    CHECK(cuLinkDestroy(link));
}

// --- Graphs --------------------------------------------------------------------------------------

static CUgraph captured(CUfunction add, unsigned which, CUstream stream)
{
    CUgraph graph;
    CHECK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    add_on(add, a, b, COUNT, stream);
    pick_on(which, stream);
    CHECK(cuStreamEndCapture(stream, &graph));
    return graph;
}

// The program must read back the node parameters that it has set.
static void show_node(CUgraphNode node, const void *expected)
{
    CUDA_KERNEL_NODE_PARAMS params;
    CHECK(cuGraphKernelNodeGetParams_v2(node, &params));
    const char *name;
    CHECK(cuFuncGetName(&name, params.func ? params.func : (CUfunction)params.kern));
    printf("node: %s %u,%u %s\n", name, params.gridDimX, params.blockDimX,
           memcmp(params.kernelParams[0], expected, 8) == 0 ? "same" : "another");
}

static void graphs(void)
{
    const CUfunction add = function("add"), pick = function("pick");
    CUstream stream, side;
    CUgraphExec exec, second;
    CUgraphExecUpdateResultInfo info;
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamCreate(&side, CU_STREAM_NON_BLOCKING));

    // Captured: two executables of one graph, which is destroyed; launched on several streams.
    CUgraph graph = captured(add, 0, stream);
    CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    CHECK(cuGraphInstantiateWithFlags(&second, graph, 0));
    CHECK(cuGraphDestroy(graph));
    CHECK(cuGraphLaunch(exec, stream));
    CHECK(cuGraphLaunch(exec, side));
    CHECK(cuGraphLaunch(exec, side));
    CHECK(cuStreamSynchronize(side));
    CHECK(cuGraphLaunch(second, stream));
    CHECK(cuStreamSynchronize(stream));
    show("captured");
    graph = captured(add, 1, stream);
    CHECK(cuGraphExecUpdate_v2(exec, graph, &info));
    CHECK(cuGraphDestroy(graph));
    CHECK(cuGraphLaunch(exec, stream));
    CHECK(cuStreamSynchronize(stream));
    show("updated");

    // A captured graph launch becomes a part of another graph.
    CHECK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    CHECK(cuGraphLaunch(second, stream));
    CHECK(cuStreamEndCapture(stream, &graph));
    CHECK(cuGraphLaunch(second, side));
    CHECK(cuStreamSynchronize(side));
    CHECK(cuGraphExecDestroy(exec));
    CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    CHECK(cuGraphLaunch(exec, stream));
    CHECK(cuStreamSynchronize(stream));
    show("captured launch");
    CHECK(cuGraphExecDestroy(exec));
    CHECK(cuGraphExecDestroy(second));
    CHECK(cuGraphDestroy(graph));

    // Built by hand: nodes that are changed in the executable, disabled, or in a child graph.
    CUgraph child, inner, clone;
    CUgraphNode first, other, nested, deep, leaf, cloned;
    unsigned count = COUNT, zero = 0, one = 1;
    void *add_params[] = {&a, &b, &count}, *pick_params[] = {&a, &b, &zero};
    CUDA_KERNEL_NODE_PARAMS adds = {add, 2, 1, 1, 128, 1, 1, 0, add_params, NULL, NULL, NULL};
    CUDA_KERNEL_NODE_PARAMS picks = {pick, 1, 1, 1, 32, 1, 1, 0, pick_params, NULL, NULL, NULL};
    CHECK(cuGraphCreate(&inner, 0));
    CHECK(cuGraphAddKernelNode_v2(&leaf, inner, NULL, 0, &adds));
    CHECK(cuGraphCreate(&child, 0));
    CHECK(cuGraphAddKernelNode_v2(&other, child, NULL, 0, &picks));
    CHECK(cuGraphAddChildGraphNode(&deep, child, &other, 1, inner));
    CHECK(cuGraphCreate(&graph, 0));
    CHECK(cuGraphAddKernelNode_v2(&first, graph, NULL, 0, &picks));
    CHECK(cuGraphAddChildGraphNode(&nested, graph, &first, 1, child));
    CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    CHECK(cuGraphLaunch(exec, NULL));
    CHECK(cuGraphLaunch_ptsz(exec, NULL));
    CHECK(cuCtxSynchronize());
    show("by hand");
    show_node(first, &a);
    CHECK(cuGraphClone(&clone, graph));
    CHECK(cuGraphNodeFindInClone(&cloned, first, clone));
    show_node(cloned, &a);
    pick_params[2] = &one;
    CHECK(cuGraphExecKernelNodeSetParams_v2(exec, first, &picks));
    CHECK(cuGraphKernelNodeSetParams_v2(other, &picks));
    CHECK(cuGraphExecChildGraphNodeSetParams(exec, nested, child));
    CHECK(cuGraphLaunch(exec, stream));
    CHECK(cuStreamSynchronize(stream));
    show("changed");
    CHECK(cuGraphNodeSetEnabled(exec, first, 0));
    CHECK(cuGraphLaunch(exec, stream));
    CHECK(cuStreamSynchronize(stream));
    show("disabled");
    CHECK(cuGraphDestroyNode(first));
    CHECK(cuGraphExecDestroy(exec));
    CHECK(cuGraphInstantiateWithFlags(&exec, clone, 0));
    CHECK(cuGraphLaunch(exec, stream));
    CHECK(cuStreamSynchronize(stream));
    show("clone");
    CHECK(cuGraphExecDestroy(exec));
    CHECK(cuGraphDestroy(clone));
    CHECK(cuGraphDestroy(graph));
}

// --- Sampling ------------------------------------------------------------------------------------

static void samples(void)
{
    const CUfunction add = function("add");
    CUstream stream;
    CUgraphExec exec;
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (int i = 0; i < 7; i++)
        add_on(add, a, b, COUNT, NULL);
    pick_on(0, NULL);
    pick_on(1, NULL);
    CHECK(cuCtxSynchronize());
    CUgraph graph = captured(add, 1, stream);
    CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    for (int i = 0; i < 5; i++)
        CHECK(cuGraphLaunch(exec, stream));
    CHECK(cuStreamSynchronize(stream));
    show("samples");
    CHECK(cuGraphExecDestroy(exec));
    CHECK(cuGraphDestroy(graph));
}

// --- Threads -------------------------------------------------------------------------------------

enum { THREADS = 6, ROUNDS = 60 };

// Each thread has its own stream and memory, and for a while its own module and graph. All threads
// share one module, and its first launch.
static void *work(void *user)
{
    CUdeviceptr to, from;
    CUstream stream;
    CUmodule own;
    CUfunction add;
    CUgraphExec exec;
    unsigned values[COUNT], wanted = 1;
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuMemAlloc_v2(&to, BYTES));
    CHECK(cuMemAlloc_v2(&from, BYTES));
    CHECK(cuMemsetD32Async(to, 1, COUNT, stream));
    CHECK(cuMemsetD32Async(from, 2, COUNT, stream));
    for (int i = 0; i < ROUNDS; i++) {
        if (i % 10 == 5) {
            CHECK(cuModuleLoadData(&own, ptx));
            CHECK(cuModuleGetFunction(&add, own, "add"));
        } else {
            add = function("add");
        }
        add_on(add, to, from, COUNT, stream);
        wanted += 2;
        if (i % 10 == 5) {
            CHECK(cuStreamSynchronize(stream));
            CHECK(cuModuleUnload(own));
        }
        if (i % 20 == 7) {
            CUgraph graph;
            CHECK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
            add_on(add, to, from, COUNT, stream);
            CHECK(cuStreamEndCapture(stream, &graph));
            CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
            CHECK(cuGraphDestroy(graph));
            CHECK(cuGraphLaunch(exec, stream));
            CHECK(cuGraphLaunch(exec, stream));
            CHECK(cuGraphExecDestroy(exec));
            wanted += 4;
        }
    }
    CHECK(cuStreamSynchronize(stream));
    CHECK(cuMemcpyDtoHAsync_v2(values, to, BYTES, stream));
    CHECK(cuStreamSynchronize(stream));
    for (int i = 0; i < COUNT; i++)
        *(bool *)user |= values[i] != wanted;
    CHECK(cuMemFree_v2(to));
    CHECK(cuMemFree_v2(from));
    CHECK(cuStreamDestroy_v2(stream));
    return NULL;
}

static void threads(void)
{
    pthread_t thread[THREADS];
    bool wrong[THREADS] = {false};
    for (int i = 0; i < THREADS; i++) {
        if (pthread_create(&thread[i], NULL, work, &wrong[i]) != 0)
            exit(1);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
        printf("thread %d: %s\n", i, wrong[i] ? "wrong" : "right");
    }
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    start();
    if (strcmp(name, "launches") == 0)
        launches();
    else if (strcmp(name, "modules") == 0 && argc > 2)
        modules(argv[2]);
    else if (strcmp(name, "names") == 0)
        names();
    else if (strcmp(name, "links") == 0)
        links();
    else if (strcmp(name, "graphs") == 0)
        graphs();
    else if (strcmp(name, "threads") == 0)
        threads();
    else if (strcmp(name, "samples") == 0)
        samples();
    else
        return 2;
    CHECK(cuMemFree_v2(a));
    CHECK(cuMemFree_v2(b));
    return 0;
}
