// SPDX-License-Identifier: Apache-2.0
// One of its kernels fails while others are running: failing CASE. Prints the errors that it
// receives and exits with status 3.
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "program.h"

// fill writes n words, far writes beyond all memory, ends executes a trap, and follow reads the
// address of its words from a table.
static const char ptx[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry fill(.param .u64 p, .param .u32 n)\n{\n"
    "    .reg .b64 %rd<4>;\n    .reg .b32 %r<8>;\n    .reg .pred %p<2>;\n"
    "    ld.param.u64 %rd1, [p];\n    ld.param.u32 %r1, [n];\n    mov.u32 %r4, %tid.x;\n"
    "    setp.ge.u32 %p1, %r4, %r1;\n    @%p1 bra done;\n"
    "    mad.wide.u32 %rd3, %r4, 4, %rd1;\n    st.global.u32 [%rd3], %r4;\ndone:\n    ret;\n}\n"
    ".visible .entry far(.param .u64 p, .param .u32 n)\n{\n"
    "    .reg .b64 %rd<4>;\n    .reg .b32 %r<8>;\n"
    "    ld.param.u64 %rd1, [p];\n    mov.u32 %r4, %tid.x;\n"
    "    add.u64 %rd1, %rd1, 4398046511104;\n    mad.wide.u32 %rd3, %r4, 4, %rd1;\n"
    "    st.global.u32 [%rd3], %r4;\n    ret;\n}\n"
    ".visible .entry ends(.param .u64 p, .param .u32 n)\n{\n"
    "    .reg .b64 %rd<4>;\n    .reg .b32 %r<8>;\n"
    "    ld.param.u64 %rd1, [p];\n    mov.u32 %r4, %tid.x;\n"
    "    mad.wide.u32 %rd3, %r4, 4, %rd1;\n    st.global.u32 [%rd3], %r4;\n    trap;\n}\n"
    ".visible .entry follow(.param .u64 p, .param .u32 n)\n{\n"
    "    .reg .b64 %rd<5>;\n    .reg .b32 %r<8>;\n"
    "    ld.param.u64 %rd1, [p];\n    mov.u32 %r4, %tid.x;\n    ld.global.u64 %rd2, [%rd1];\n"
    "    mad.wide.u32 %rd3, %r4, 4, %rd2;\n    ld.global.u32 %r5, [%rd3];\n    ret;\n}\n";

enum { WORDS = 256 };

static CUmodule module;
static CUdeviceptr words, table, gate;
static volatile unsigned *opened; // the gate, as the CPU sees it

static void prepare(void)
{
    static const char *const names[] = {"fill", "far", "ends", "follow"};
    CHECK(cuModuleLoadData(&module, ptx));
    // Code that is loaded while something runs would wait for it.
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        CUfunction function;
        CHECK(cuModuleGetFunction(&function, module, names[i]));
    }
    CHECK(cuMemAlloc_v2(&words, WORDS * sizeof(unsigned)));
    CHECK(cuMemAlloc_v2(&table, sizeof(words)));
    CHECK(cuMemcpyHtoD_v2(table, &words, sizeof(words)));
    CHECK(cuMemHostAlloc((void **)&opened, sizeof(*opened), CU_MEMHOSTALLOC_DEVICEMAP));
    CHECK(cuMemHostGetDevicePointer_v2(&gate, (void *)opened, 0));
    *opened = 0;
}

static CUresult launch(const char *name, CUdeviceptr pointer, CUstream stream)
{
    CUfunction function;
    unsigned n = WORDS / 2;
    void *params[] = {&pointer, &n};
    CHECK(cuModuleGetFunction(&function, module, name));
    return cuLaunchKernel(function, 1, 1, 1, WORDS, 1, 1, 0, stream, params, NULL);
}

static void good(CUstream stream)
{
    CHECK(launch("fill", words, stream));
    CHECK(launch("follow", table, stream));
}

// Launches the kernel that fails. It waits until the gate opens: otherwise it might have failed
// before the program's next launch, which then fails, too.
static void fail(CUstream stream)
{
    CHECK(cuStreamWaitValue32_v2(stream, gate, 1, CU_STREAM_WAIT_VALUE_GEQ));
    CHECK(launch("far", words, stream));
}

static void said(const char *what, CUresult result)
{
    printf("%s: %d\n", what, (int)result);
}

static void address(void)
{
    good(NULL);
    fail(NULL);
    CHECK(launch("follow", table, NULL));
    *opened = 1;
    said("synchronize", cuCtxSynchronize());
    said("query", cuStreamQuery(NULL));
    said("launch", launch("fill", words, NULL));
}

static void trap(void)
{
    good(NULL);
    CHECK(launch("ends", words, NULL));
    said("synchronize", cuStreamSynchronize(NULL));
}

// The program never waits for the failed kernel.
static void left(void)
{
    good(NULL);
    CHECK(launch("far", words, NULL));
}

static void streams(void)
{
    CUstream all[4];
    for (int i = 0; i < 4; i++) {
        CHECK(cuStreamCreate(&all[i], CU_STREAM_NON_BLOCKING));
        good(all[i]);
    }
    fail(all[1]);
    good(all[2]);
    *opened = 1;
    said("synchronize", cuStreamSynchronize(all[1]));
    said("the other", cuStreamSynchronize(all[2]));
}

static void graph(void)
{
    CUstream stream;
    CUgraph made;
    CUgraphExec exec;
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    good(stream);
    CHECK(launch("far", words, stream));
    CHECK(launch("follow", table, stream));
    CHECK(cuStreamEndCapture(stream, &made));
    CHECK(cuGraphInstantiateWithFlags(&exec, made, 0));
    CHECK(cuGraphLaunch(exec, stream));
    said("synchronize", cuStreamSynchronize(stream));
}

static void contexts(void)
{
    CUcontext second;
    good(NULL);
    CHECK(cuCtxCreate_v2(&second, 0, 0));
    prepare();
    good(NULL);
    CHECK(launch("far", words, NULL));
    said("synchronize", cuCtxSynchronize());
}

// The program destroys the failed context.
static void destroyed(void)
{
    CUcontext second;
    CHECK(cuCtxCreate_v2(&second, 0, 0));
    prepare();
    good(NULL);
    CHECK(launch("far", words, NULL));
    said("synchronize", cuCtxSynchronize());
    cuCtxDestroy_v2(second);
}

int main(int count, char **arguments)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {{"address", address},    {"trap", trap},   {"left", left},
                 {"streams", streams},    {"graph", graph}, {"contexts", contexts},
                 {"destroyed", destroyed}};
    const char *name = count > 1 ? arguments[1] : "address";
    if (strcmp(name, "child") == 0) { // the parent makes no driver call
        const pid_t child = fork();
        int status = 0;
        if (child > 0) {
            waitpid(child, &status, 0);
            return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
        }
        name = "address";
    }
    start_thread();
    prepare();
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (strcmp(name, cases[i].name) == 0)
            cases[i].run();
    }
    fflush(stdout);
    return 3;
}
