// SPDX-License-Identifier: Apache-2.0
// Ends right after launches, without waiting for them: dying END LAUNCHES. Objects, in this order:
// only the last launches touch `out`, an earlier one touches `in`, and nothing touches `idle`.
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "program.h"

static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                          ".visible .entry put(.param .u64 p)\n{\n"
                          ".reg .b32 %r0; .reg .b64 %p, %d0;\n"
                          "ld.param.u64 %p, [p]; mov.u32 %r0, %tid.x; mul.wide.u32 %d0, %r0, 4;\n"
                          "add.s64 %d0, %p, %d0; st.global.u32 [%d0], %r0;\nret;\n}\n";

enum { COUNT = 256, BYTES = 4 * COUNT };

static CUfunction put;

static void launch(CUdeviceptr to, CUstream stream)
{
    void *params[] = {&to};
    CHECK(cuLaunchKernel(put, 1, 1, 1, COUNT, 1, 1, 0, stream, params, NULL));
}

static void launch_on_streams(CUdeviceptr to)
{
    for (int i = 0; i < 4; i++) {
        CUstream stream;
        CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
        launch(to, stream);
    }
}

static void launch_graph(CUdeviceptr to)
{
    CUstream stream;
    CUgraph graph;
    CUgraphExec exec;
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    launch(to, stream);
    launch(to, stream);
    CHECK(cuStreamEndCapture(stream, &graph));
    CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    CHECK(cuGraphLaunch(exec, stream));
    CHECK(cuGraphLaunch(exec, stream));
}

static void leave_handler(int signal)
{
    (void)signal;
    _exit(3);
}

static void exit_in_handler(int signal)
{
    (void)signal;
    exit(3); // NOLINT(bugprone-signal-handler): programs do
}

static void fault(void)
{
    static volatile int *volatile nowhere;
    *nowhere = 1; // NOLINT(clang-analyzer-core.NullDereference)
}

static void *end_process(void *argument)
{
    (void)argument;
    _exit(3);
}

static void end(const char *how, char **argv)
{
#define IS(word) (strcmp(how, word) == 0)
    pthread_t thread;
    if (IS("exit"))
        exit(3);
    if (IS("_exit"))
        _exit(3);
    if (IS("quick_exit"))
        quick_exit(3);
    if (IS("abort"))
        abort();
    if (IS("kill"))
        kill(getpid(), SIGKILL);
    if (IS("term"))
        raise(SIGTERM);
    if (IS("fault"))
        fault();
    if (IS("handler"))
        signal(SIGSEGV, leave_handler);
    if (IS("exit-handler"))
        signal(SIGSEGV, exit_in_handler);
    if (IS("handler") || IS("exit-handler"))
        fault();
    if (IS("exec"))
        execl("/bin/true", "true", (char *)NULL);
    if (IS("exec-itself"))
        execl(argv[0], argv[0], "none", "none", (char *)NULL);
    if (IS("thread")) {
        pthread_create(&thread, NULL, end_process, NULL);
        pthread_join(thread, NULL);
    }
}

int main(int argc, char **argv)
{
    CUmodule module;
    CUdeviceptr in, out, idle;
    if (argc < 3 || strcmp(argv[1], "none") == 0)
        return 0;
    start_thread();
    CHECK(cuModuleLoadData(&module, ptx));
    CHECK(cuModuleGetFunction(&put, module, "put"));
    CHECK(cuMemAlloc_v2(&in, BYTES));
    CHECK(cuMemAlloc_v2(&out, BYTES));
    CHECK(cuMemAlloc_v2(&idle, BYTES));
    launch(in, NULL);
    CHECK(cuCtxSynchronize());
    if (strcmp(argv[2], "streams") == 0)
        launch_on_streams(out);
    else if (strcmp(argv[2], "graph") == 0)
        launch_graph(out);
    else
        launch(out, NULL);
    end(argv[1], argv);
    return 4;
}
