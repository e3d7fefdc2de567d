// SPDX-License-Identifier: Apache-2.0
// A program to be corrected: wasteful [WORD...] fills and copies in steps with useless waits: it
// synchronizes after each step, copies into memory that it does not read, and allocates memory for
// one step alone. At the end, it copies to its stack, where glint cannot observe first uses,
// and prints what it reads. Words:
//   steps=N   number of steps; default 6
//   memory    uses two large objects one after the other, both allocated all the time
//   together  with memory: uses both objects at once in the end
//   out=FILE  appends the result to FILE
//   measured  reads the clock after each synchronization
//   time      also prints the time, so that the output differs in each run
//   err       prints the time to stderr
//   input     prints how many bytes stdin provides
//   once=FILE prints whether FILE existed, and creates it
//   exit=N    exits with status N
//   fails=FILE  runs a kernel at the end and waits for it; if FILE exists, the GPU fails
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cudaabi/cudaabi.h"

enum { BYTES = 1 << 20, LARGE_BYTES = 8 << 20, LOOKED_AT = 4096 };

// Whole pages, so that glint observes the CPU's accesses.
static unsigned char ignored[BYTES] __attribute__((aligned(65536)));

static void check(int result, const char *what)
{
    if (result == 0)
        return;
    fprintf(stderr, "wasteful: %s gives %d\n", what, result);
    exit(2);
}
#define CHECK(call) check((int)(call), #call)

static const char *value_of(int argc, char **argv, const char *word)
{
    const size_t length = strlen(word);
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], word, length) == 0)
            return argv[i] + length;
    }
    return NULL;
}

// A step with temporary device memory.
static __attribute__((noinline)) void step(CUdeviceptr result, int number)
{
    CUdeviceptr temporary;
    CHECK(cuMemAlloc_v2(&temporary, BYTES));
    CHECK(cuMemsetD8_v2(temporary, (unsigned char)number, BYTES));
    CHECK(cuMemcpyDtoD_v2(result, temporary, BYTES));
    CHECK(cuMemFree_v2(temporary));
}

static void use(CUdeviceptr memory, unsigned char value)
{
    unsigned char found[LOOKED_AT];
    CHECK(cuMemsetD8_v2(memory, value, LARGE_BYTES));
    CHECK(cuMemcpyDtoH_v2(found, memory + LARGE_BYTES - sizeof(found), sizeof(found)));
    printf("found %d\n", found[LOOKED_AT - 1]);
}

static void use_memory(bool together)
{
    CUdeviceptr one, other;
    CHECK(cuMemAlloc_v2(&one, LARGE_BYTES));
    CHECK(cuMemAlloc_v2(&other, LARGE_BYTES));
    use(one, 3);
    use(other, 4);
    if (together)
        CHECK(cuMemcpyDtoD_v2(one, other, LARGE_BYTES));
    CHECK(cuMemFree_v2(one));
    CHECK(cuMemFree_v2(other));
}

static void print_time(FILE *out)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    fprintf(out, "time %lld.%09ld\n", (long long)now.tv_sec, now.tv_nsec);
}

static void use_files(int argc, char **argv)
{
    const char *once = value_of(argc, argv, "once=");
    size_t bytes = 0;
    if (once) {
        FILE *file = fopen(once, "r");
        printf("%s\n", file ? "it was there" : "it was not there");
        if (file)
            fclose(file);
        file = fopen(once, "w");
        if (file)
            fclose(file);
    }
    if (value_of(argc, argv, "input")) {
        while (getchar() != EOF)
            bytes++;
        printf("input %zu\n", bytes);
    }
}

static int run_kernel(const char *fails)
{
    static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                              ".visible .entry set(.param .u64 at)\n{\n    .reg .b64 %rd1;\n"
                              "    ld.param.u64 %rd1, [at];\n    st.global.u32 [%rd1], 7;\n"
                              "    ret;\n}\n";
    CUmodule module;
    CUfunction set;
    CUdeviceptr memory, at;
    CHECK(cuModuleLoadData(&module, ptx));
    CHECK(cuModuleGetFunction(&set, module, "set"));
    CHECK(cuMemAlloc_v2(&memory, BYTES));
    at = access(fails, F_OK) == 0 ? 16 : memory;
    CHECK(cuLaunchKernel(set, 1, 1, 1, 1, 1, 1, 0, NULL, (void *[]){&at}, NULL));
    const CUresult result = cuCtxSynchronize();
    printf("the GPU gives %d\n", (int)result);
    return result == CUDA_SUCCESS ? 0 : 4;
}

int main(int argc, char **argv)
{
    const char *steps = value_of(argc, argv, "steps="), *out = value_of(argc, argv, "out="),
               *status = value_of(argc, argv, "exit="), *fails = value_of(argc, argv, "fails=");
    CUcontext context;
    CUdeviceptr result;
    unsigned char found[LOOKED_AT];
    unsigned long sum = 0;
    volatile clock_t spent = 0;
    const bool timed = value_of(argc, argv, "measured");
    CHECK(cuInit(0));
    CHECK(cuDevicePrimaryCtxRetain(&context, 0));
    CHECK(cuCtxSetCurrent(context));
    if (value_of(argc, argv, "memory"))
        use_memory(value_of(argc, argv, "together"));
    CHECK(cuMemAlloc_v2(&result, BYTES));
    for (int i = 0; i < (steps ? atoi(steps) : 6); i++) {
        step(result, i);
        CHECK(cuCtxSynchronize());
        if (timed)
            spent += clock();
        CHECK(cuMemcpyDtoH_v2(ignored, result, BYTES));
    }
    CHECK(cuMemcpyDtoH_v2(found, result, sizeof(found)));
    for (size_t i = 0; i < sizeof(found); i++)
        sum += found[i];
    CHECK(cuMemFree_v2(result));
    printf("sum %lu\n", sum);
    use_files(argc, argv);
    if (value_of(argc, argv, "time"))
        print_time(stdout);
    if (value_of(argc, argv, "err"))
        print_time(stderr);
    if (out) {
        FILE *file = fopen(out, "a");
        if (!file || fprintf(file, "sum %lu\n", sum) < 0 || fclose(file) != 0)
            return 3;
        if (value_of(argc, argv, "time")) {
            file = fopen(out, "a");
            if (file) {
                print_time(file);
                fclose(file);
            }
        }
    }
    if (fails)
        return run_kernel(fails);
    return status ? atoi(status) : 0;
}
