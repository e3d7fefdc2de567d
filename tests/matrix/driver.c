// SPDX-License-Identifier: Apache-2.0
// A program of the driver API for the matrix of recorded programs: driver MODE... runs each
// mode and prints a checksum of its results, which is the same on every GPU. It needs no
// toolkit to build. Half of its modes are about processes and descriptors, where a recorder is
// most likely to interfere. Exit status: 0; in mode "fail" 37, in mode "daemon" 3; 1 after an
// error. Mode "abort" ends by a signal.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cudaabi/cudaabi.h"

static struct {
    __typeof__(cuInit) *cuInit;
    __typeof__(cuGetErrorName) *cuGetErrorName;
    __typeof__(cuDevicePrimaryCtxRetain) *cuDevicePrimaryCtxRetain;
    __typeof__(cuCtxSetCurrent) *cuCtxSetCurrent;
    __typeof__(cuCtxSynchronize) *cuCtxSynchronize;
    __typeof__(cuModuleLoadData) *cuModuleLoadData;
    __typeof__(cuModuleGetFunction) *cuModuleGetFunction;
    __typeof__(cuMemAlloc_v2) *cuMemAlloc_v2;
    __typeof__(cuMemFree_v2) *cuMemFree_v2;
    __typeof__(cuMemAllocManaged) *cuMemAllocManaged;
    __typeof__(cuMemAllocAsync) *cuMemAllocAsync;
    __typeof__(cuMemFreeAsync) *cuMemFreeAsync;
    __typeof__(cuMemHostAlloc) *cuMemHostAlloc;
    __typeof__(cuMemFreeHost) *cuMemFreeHost;
    __typeof__(cuMemcpyHtoD_v2) *cuMemcpyHtoD_v2;
    __typeof__(cuMemcpyDtoH_v2) *cuMemcpyDtoH_v2;
    __typeof__(cuMemcpyDtoHAsync_v2) *cuMemcpyDtoHAsync_v2;
    __typeof__(cuMemsetD32_v2) *cuMemsetD32_v2;
    __typeof__(cuLaunchKernel) *cuLaunchKernel;
    __typeof__(cuStreamCreate) *cuStreamCreate;
    __typeof__(cuStreamDestroy_v2) *cuStreamDestroy_v2;
    __typeof__(cuStreamSynchronize) *cuStreamSynchronize;
    __typeof__(cuStreamBeginCapture_v2) *cuStreamBeginCapture_v2;
    __typeof__(cuStreamEndCapture) *cuStreamEndCapture;
    __typeof__(cuGraphCreate) *cuGraphCreate;
    __typeof__(cuGraphAddKernelNode_v2) *cuGraphAddKernelNode_v2;
    __typeof__(cuGraphInstantiateWithFlags) *cuGraphInstantiateWithFlags;
    __typeof__(cuGraphLaunch) *cuGraphLaunch;
    __typeof__(cuGraphExecDestroy) *cuGraphExecDestroy;
    __typeof__(cuGraphDestroy) *cuGraphDestroy;
} api;

#define FUNCTION(name)            \
    {                             \
#name, (void **)&api.name \
    }
static const struct {
    const char *name;
    void **place;
} functions[] = {
    FUNCTION(cuInit),
    FUNCTION(cuGetErrorName),
    FUNCTION(cuDevicePrimaryCtxRetain),
    FUNCTION(cuCtxSetCurrent),
    FUNCTION(cuCtxSynchronize),
    FUNCTION(cuModuleLoadData),
    FUNCTION(cuModuleGetFunction),
    FUNCTION(cuMemAlloc_v2),
    FUNCTION(cuMemFree_v2),
    FUNCTION(cuMemAllocManaged),
    FUNCTION(cuMemAllocAsync),
    FUNCTION(cuMemFreeAsync),
    FUNCTION(cuMemHostAlloc),
    FUNCTION(cuMemFreeHost),
    FUNCTION(cuMemcpyHtoD_v2),
    FUNCTION(cuMemcpyDtoH_v2),
    FUNCTION(cuMemcpyDtoHAsync_v2),
    FUNCTION(cuMemsetD32_v2),
    FUNCTION(cuLaunchKernel),
    FUNCTION(cuStreamCreate),
    FUNCTION(cuStreamDestroy_v2),
    FUNCTION(cuStreamSynchronize),
    FUNCTION(cuStreamBeginCapture_v2),
    FUNCTION(cuStreamEndCapture),
    FUNCTION(cuGraphCreate),
    FUNCTION(cuGraphAddKernelNode_v2),
    FUNCTION(cuGraphInstantiateWithFlags),
    FUNCTION(cuGraphLaunch),
    FUNCTION(cuGraphExecDestroy),
    FUNCTION(cuGraphDestroy),
};

static const char *self; // the path of this program

static void check(CUresult result, const char *what)
{
    if (result == CUDA_SUCCESS)
        return;
    const char *name = "?";
    api.cuGetErrorName(result, &name);
    fprintf(stderr, "driver: %s: %s\n", what, name);
    exit(1);
}
#define CHECK(call) check((call), #call)

// data[i] = data[i] * 1664525 + by, for i < 1000.
static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                          ".visible .entry mix(.param .u64 data, .param .u32 by)\n{\n"
                          "    .reg .u32 %r<6>;\n    .reg .u64 %d<3>;\n    .reg .pred %p;\n"
                          "    mov.u32 %r0, %ctaid.x;\n    mov.u32 %r1, %ntid.x;\n"
                          "    mov.u32 %r2, %tid.x;\n    mad.lo.u32 %r0, %r0, %r1, %r2;\n"
                          "    setp.ge.u32 %p, %r0, 1000;\n    @%p bra done;\n"
                          "    ld.param.u64 %d0, [data];\n    cvta.to.global.u64 %d0, %d0;\n"
                          "    mul.wide.u32 %d1, %r0, 4;\n    add.u64 %d0, %d0, %d1;\n"
                          "    ld.param.u32 %r3, [by];\n    ld.global.u32 %r4, [%d0];\n"
                          "    mad.lo.u32 %r4, %r4, 1664525, %r3;\n    st.global.u32 [%d0], %r4;\n"
                          "done:\n    ret;\n}\n";

enum { COUNT = 1000, BYTES = COUNT * sizeof(unsigned), BLOCK = 128, BLOCKS = 8 };

static CUfunction mix;
static CUcontext context;

// Runs once per process. Children forked before that initialize CUDA separately.
static void begin(void)
{
    if (mix)
        return;
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library) {
        fprintf(stderr, "driver: %s\n", dlerror());
        exit(1);
    }
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        *functions[i].place = dlsym(library, functions[i].name);
        if (!*functions[i].place) {
            fprintf(stderr, "driver: there is no %s\n", functions[i].name);
            exit(1);
        }
    }
    CUmodule module;
    CHECK(api.cuInit(0));
    CHECK(api.cuDevicePrimaryCtxRetain(&context, 0));
    CHECK(api.cuCtxSetCurrent(context));
    CHECK(api.cuModuleLoadData(&module, ptx));
    CHECK(api.cuModuleGetFunction(&mix, module, "mix"));
}

static void launch(CUdeviceptr data, unsigned by, CUstream stream)
{
    void *arguments[] = {&data, &by};
    CHECK(api.cuLaunchKernel(mix, BLOCKS, 1, 1, BLOCK, 1, 1, 0, stream, arguments, NULL));
}

static void tell(const char *mode, const unsigned *data)
{
    uint64_t sum = 0xcbf29ce484222325u; // FNV-1a over words
    for (size_t i = 0; i < COUNT; i++)
        sum = (sum ^ data[i]) * 0x100000001b3u;
    printf("%s: %016llx\n", mode, (unsigned long long)sum);
}

// --- Memory and work -----------------------------------------------------------------------------

static void plain(void)
{
    unsigned host[COUNT];
    CUdeviceptr data;
    void *pinned;
    begin();
    for (unsigned i = 0; i < COUNT; i++)
        host[i] = i * i;
    CHECK(api.cuMemAlloc_v2(&data, BYTES));
    CHECK(api.cuMemHostAlloc(&pinned, BYTES, 0));
    CHECK(api.cuMemcpyHtoD_v2(data, host, BYTES));
    launch(data, 3, NULL);
    CHECK(api.cuMemcpyDtoH_v2(pinned, data, BYTES));
    tell("plain", pinned);
    CHECK(api.cuMemsetD32_v2(data, 5, COUNT));
    launch(data, 4, NULL);
    CHECK(api.cuMemcpyDtoH_v2(host, data, BYTES));
    tell("plain, set", host);
    CUdeviceptr much;
    const char *name = "?";
    api.cuGetErrorName(api.cuMemAlloc_v2(&much, (size_t)1 << 60), &name);
    printf("plain: %s\n", name);
    CHECK(api.cuMemFreeHost(pinned));
    CHECK(api.cuMemFree_v2(data));
}

static void graphs(void)
{
    unsigned host[COUNT];
    CUdeviceptr data;
    CUstream stream;
    CUgraph captured, made;
    CUgraphExec ready;
    begin();
    CHECK(api.cuMemAlloc_v2(&data, BYTES));
    CHECK(api.cuMemsetD32_v2(data, 1, COUNT));
    CHECK(api.cuStreamCreate(&stream, 0));
    CHECK(api.cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    launch(data, 6, stream);
    launch(data, 7, stream);
    CHECK(api.cuStreamEndCapture(stream, &captured));
    CHECK(api.cuGraphInstantiateWithFlags(&ready, captured, 0));
    for (int i = 0; i < 3; i++)
        CHECK(api.cuGraphLaunch(ready, stream));
    CHECK(api.cuStreamSynchronize(stream));
    CHECK(api.cuGraphExecDestroy(ready));
    CHECK(api.cuGraphDestroy(captured));

    unsigned by = 8;
    void *arguments[] = {&data, &by};
    CUDA_KERNEL_NODE_PARAMS node = {.func = mix,
                                    .gridDimX = BLOCKS,
                                    .gridDimY = 1,
                                    .gridDimZ = 1,
                                    .blockDimX = BLOCK,
                                    .blockDimY = 1,
                                    .blockDimZ = 1,
                                    .kernelParams = arguments};
    CUgraphNode first, second;
    CHECK(api.cuGraphCreate(&made, 0));
    CHECK(api.cuGraphAddKernelNode_v2(&first, made, NULL, 0, &node));
    CHECK(api.cuGraphAddKernelNode_v2(&second, made, &first, 1, &node));
    CHECK(api.cuGraphInstantiateWithFlags(&ready, made, 0));
    CHECK(api.cuGraphLaunch(ready, stream));
    CHECK(api.cuMemcpyDtoHAsync_v2(host, data, BYTES, stream));
    CHECK(api.cuStreamSynchronize(stream));
    tell("graphs", host);
    CHECK(api.cuGraphExecDestroy(ready));
    CHECK(api.cuGraphDestroy(made));
    CHECK(api.cuStreamDestroy_v2(stream));
    CHECK(api.cuMemFree_v2(data));
}

static void pools(void)
{
    unsigned host[COUNT], values[COUNT];
    CUstream stream;
    begin();
    CHECK(api.cuStreamCreate(&stream, 0));
    for (unsigned i = 0; i < COUNT; i++)
        values[i] = i;
    for (unsigned round = 0; round < 8; round++) {
        CUdeviceptr part;
        CHECK(api.cuMemAllocAsync(&part, BYTES + round, stream));
        CHECK(api.cuStreamSynchronize(stream));
        CHECK(api.cuMemcpyHtoD_v2(part, values, BYTES));
        launch(part, round, stream);
        CHECK(api.cuMemcpyDtoHAsync_v2(host, part, BYTES, stream));
        CHECK(api.cuMemFreeAsync(part, stream));
        CHECK(api.cuStreamSynchronize(stream));
        memcpy(values, host, BYTES);
    }
    CHECK(api.cuStreamDestroy_v2(stream));
    tell("pools", values);
}

static void managed(void)
{
    CUdeviceptr both;
    begin();
    CHECK(api.cuMemAllocManaged(&both, BYTES, CU_MEM_ATTACH_GLOBAL));
    unsigned *data = (unsigned *)(uintptr_t)both;
    for (unsigned i = 0; i < COUNT; i++)
        data[i] = COUNT - i;
    launch(both, 2, NULL);
    CHECK(api.cuCtxSynchronize());
    tell("managed", data);
    CHECK(api.cuMemFree_v2(both));
}

struct worker {
    pthread_t thread;
    unsigned number;
    unsigned host[COUNT];
};

static void *work(void *user)
{
    struct worker *worker = user;
    CUstream stream;
    CHECK(api.cuCtxSetCurrent(context));
    CHECK(api.cuStreamCreate(&stream, 0));
    for (unsigned round = 0; round < 20; round++) {
        CUdeviceptr data;
        CHECK(api.cuMemAlloc_v2(&data, BYTES));
        CHECK(api.cuMemsetD32_v2(data, worker->number, COUNT));
        CHECK(api.cuCtxSynchronize());
        for (unsigned i = 0; i < 3; i++)
            launch(data, worker->number + round, stream);
        CHECK(api.cuMemcpyDtoHAsync_v2(worker->host, data, BYTES, stream));
        CHECK(api.cuStreamSynchronize(stream));
        CHECK(api.cuMemFree_v2(data));
    }
    CHECK(api.cuStreamDestroy_v2(stream));
    return NULL;
}

static void threads(void)
{
    static struct worker workers[8];
    begin();
    for (unsigned i = 0; i < 8; i++) {
        workers[i].number = i;
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
            exit(1);
    }
    for (unsigned i = 0; i < 8; i++) {
        pthread_join(workers[i].thread, NULL);
        tell("threads", workers[i].host);
    }
}

// --- Processes -----------------------------------------------------------------------------------

static int wait_for(pid_t child)
{
    int status;
    if (child <= 0 || waitpid(child, &status, 0) != child)
        exit(1);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

// One child uses CUDA, one does not, one is killed. Then the parent uses CUDA for the first time.
static void forks(void)
{
    int statuses[3];
    for (int i = 0; i < 3; i++) {
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            if (i == 0)
                plain();
            if (i == 2)
                raise(SIGKILL);
            exit(5 + i);
        }
        statuses[i] = wait_for(child);
    }
    printf("fork: the children left with %d, %d and %d\n", statuses[0], statuses[1], statuses[2]);
    plain();
}

// In the middle of the parent's work, a vfork child only calls exec.
static void vforks(void)
{
    plain();
    fflush(stdout);
    pid_t child = vfork(); // NOLINT: that is what is tested
    if (child == 0) {
        execl(self, self, "managed", (char *)NULL);
        _exit(1);
    }
    int status = wait_for(child);
    char *const arguments[] = {(char *)self, "fail", NULL};
    if (posix_spawn(&child, self, NULL, NULL, arguments, environ) != 0)
        exit(1);
    printf("vfork: the children left with %d and %d\n", status, wait_for(child));
    plain();
}

// The process executes another program, which initializes CUDA again.
static void execs(void)
{
    plain();
    fflush(stdout);
    execl(self, self, "managed", (char *)NULL);
    exit(1);
}

// The parent exits before the child does anything.
static void daemons(void)
{
    int held[2];
    if (pipe(held) != 0)
        exit(1);
    pid_t child = fork();
    if (child < 0)
        exit(1);
    if (child > 0)
        _exit(3); // closes the parent's end of the pipe
    char byte;
    setsid();
    close(held[1]);
    if (read(held[0], &byte, 1) != 0)
        exit(1);
    close(held[0]);
    plain();
}

// As mpirun starts ranks: several at once, none of them a child of this process.
static void ranks(void)
{
    static const char script[] = "for rank in 1 2 3 4; do \"$0\" plain & done; wait";
    execl("/bin/sh", "sh", "-c", script, self, (char *)NULL);
    exit(1);
}

// --- Descriptors ---------------------------------------------------------------------------------

static void close_from(int first)
{
    for (int i = first; i < 1024; i++)
        close(i);
}

static void closed(void)
{
    close_from(3);
    plain();
}

// Not for a GPU, whose driver needs its descriptors.
static void closed_between(void)
{
    plain();
    close_from(3);
    plain();
    close_from(3);
}

// The program keeps every low descriptor, before and while it uses CUDA. It prints its result last.
static void low(void)
{
    char path[] = "/tmp/glint-matrix-XXXXXX";
    struct stat mine, then;
    int file = mkstemp(path), out = fcntl(STDOUT_FILENO, F_DUPFD, 100), kept = 0;
    if (file < 0 || out < 0 || fstat(file, &mine) != 0)
        exit(1);
    unlink(path);
    fflush(stdout);
    for (int i = 0; i < 20; i++)
        if (i != file && i != STDERR_FILENO)
            dup2(file, i);
    plain(); // its lines go to the file
    fflush(stdout);
    for (int i = 0; i < 20; i++)
        kept += i != STDERR_FILENO && fstat(i, &then) == 0 && then.st_ino == mine.st_ino;
    dprintf(out, "low: %d descriptors are as they were, %s\n", kept,
            fstat(file, &then) == 0 && then.st_size > 50 ? "the file has the output" : "no output");
}

// Closes even the standard streams, so only the status shows the result. Not for a GPU (see above).
static void mute(void)
{
    fflush(stdout);
    close_from(0);
    plain();
    exit(fstat(0, &(struct stat){0}) == 0 ? 1 : 9); // all new descriptors must be closed again
}

// --- Ends ----------------------------------------------------------------------------------------

static void fail(void)
{
    const char *name = "?";
    begin();
    api.cuGetErrorName(api.cuLaunchKernel(mix, 1, 1, 1, 4096, 1, 1, 0, NULL, NULL, NULL), &name);
    fprintf(stderr, "fail: %s\n", name);
    exit(37);
}

static void die(void)
{
    const struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    plain();
    fflush(stdout);
    abort();
}

static const struct {
    const char *name;
    void (*run)(void);
} modes[] = {
    {"plain", plain},     {"graphs", graphs},   {"pools", pools},
    {"managed", managed}, {"threads", threads}, {"fork", forks},
    {"vfork", vforks},    {"exec", execs},      {"daemon", daemons},
    {"ranks", ranks},     {"closed", closed},   {"closed-between", closed_between},
    {"low", low},         {"mute", mute},       {"fail", fail},
    {"abort", die},
};

int main(int argc, char **argv)
{
    self = argv[0];
    for (int i = 1; i < argc; i++) {
        size_t mode = 0, count = sizeof(modes) / sizeof(modes[0]);
        while (mode < count && strcmp(argv[i], modes[mode].name) != 0)
            mode++;
        if (mode == count) {
            fprintf(stderr, "driver: there is no mode '%s'\n", argv[i]);
            return 2;
        }
        modes[mode].run();
    }
    return 0;
}
