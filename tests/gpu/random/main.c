// SPDX-License-Identifier: Apache-2.0
// random [--clusters] [COUNT [SEED]]: runs COUNT random kernels on the GPU that libcuda.so.1
// provides and compares all their results with the expected ones; with --clusters, kernels whose
// blocks reach each other's shared memory. random [--clusters] --print SEED: prints the PTX of one
// kernel, as number 0. Exit status: 0 if all results are right, else 1. The simulated GPU and real
// GPUs must give the same results.
#include <dlfcn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cudaabi/cudaabi.h"
#include "random.h"

enum { TOGETHER = 16 }; // kernels per module

#define CALL(name, ...) check(((__typeof__(name) *)function(#name))(__VA_ARGS__), #name)

static void *library;
static bool clusters;

static _Noreturn void fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "random: ");
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\n");
    exit(1);
}

static void *function(const char *name)
{
    void *found = dlsym(library, name);
    if (!found)
        fail("libcuda.so.1 has no %s", name);
    return found;
}

static void check(CUresult result, const char *name)
{
    if (result != CUDA_SUCCESS)
        fail("%s failed with %d", name, (int)result);
}

static void write_module(const struct kernel *kernels, unsigned count, const uint32_t *input,
                         FILE *to)
{
    fprintf(to, ".version %s\n.address_size 64\n.global .align 4 .u32 inputs[%d] = {",
            clusters ? "8.0\n.target sm_90" : "7.0\n.target sm_75", INPUTS);
    for (unsigned i = 0; i < INPUTS; i++)
        fprintf(to, "%s0x%x", i ? ", " : "", input[i]);
    fprintf(to, "};\n");
    for (unsigned i = 0; i < count; i++)
        write_kernel(&kernels[i], i, to);
}

static void make_input(uint64_t seed, uint32_t input[INPUTS])
{
    for (unsigned i = 0; i < INPUTS; i++)
        input[i] = (uint32_t)(next_random(&seed) >> (next_random(&seed) & 31));
}

// Skips seeds whose kernels run too long.
static void make_kernels(uint64_t *seed, const uint32_t *input, struct kernel *kernels,
                         unsigned count, struct results *wanted)
{
    for (unsigned i = 0; i < count; (*seed)++) {
        make_kernel(&kernels[i], *seed, clusters);
        memset(&wanted[i], 0, sizeof(wanted[i]));
        if (evaluate_kernel(&kernels[i], input, &wanted[i]))
            i++;
        else
            free_kernel(&kernels[i]);
    }
}

static CUmodule load(const struct kernel *kernels, unsigned count, const uint32_t *input)
{
    char *text = NULL, log[4096] = "";
    size_t size;
    FILE *to = open_memstream(&text, &size);
    if (!to)
        fail("no memory");
    write_module(kernels, count, input, to);
    fclose(to);
    // With optimizations, ptxas 13.0 miscompiles predicates that loops carry, and
    // 64-bit shifts by more than 63.
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
                              CU_JIT_OPTIMIZATION_LEVEL};
    void *values[] = {log, (void *)(uintptr_t)sizeof(log),
                      NULL}; // NOLINT(performance-no-int-to-ptr)
    CUmodule module;
    CUresult result = ((__typeof__(cuModuleLoadDataEx) *)function("cuModuleLoadDataEx"))(
        &module, text, 3, options, values);
    if (result != CUDA_SUCCESS)
        fail("the kernels from seed %llu on are refused with %d:\n%s",
             (unsigned long long)kernels[0].seed, (int)result, log);
    free(text);
    return module;
}

static void compare(const struct kernel *kernel, const struct results *wanted,
                    const struct results *got)
{
    const unsigned long long seed = kernel->seed;
    for (unsigned i = 0; i < kernel->blocks * kernel->threads; i++) {
        for (unsigned k = 0; k < OUTPUTS; k++) {
            if (wanted->threads[i][k] != got->threads[i][k])
                fail("seed %llu: block %u of %u, thread %u of %u, word %u: 0x%08x, wanted 0x%08x",
                     seed, i / kernel->threads, kernel->blocks, i % kernel->threads,
                     kernel->threads, k, got->threads[i][k], wanted->threads[i][k]);
        }
    }
    if (memcmp(wanted, got, sizeof(*wanted)) != 0)
        fail("seed %llu: other sums", seed);
}

static void run_kernel(CUmodule module, unsigned number, const struct kernel *kernel,
                       const struct results *wanted, CUdeviceptr memory)
{
    static struct results got;
    char name[16];
    CUfunction entry;
    void *parameters[] = {&memory, &(uint32_t){kernel->parameter}};
    snprintf(name, sizeof(name), "k%u", number);
    CALL(cuModuleGetFunction, &entry, module, name);
    CALL(cuMemsetD8_v2, memory, 0, sizeof(got));
    CALL(cuLaunchKernel, entry, kernel->blocks, 1, 1, kernel->threads, 1, 1, 0, NULL, parameters,
         NULL);
    CUresult result =
        ((__typeof__(cuMemcpyDtoH_v2) *)function("cuMemcpyDtoH_v2"))(&got, memory, sizeof(got));
    if (result != CUDA_SUCCESS)
        fail("seed %llu: the kernel failed with %d", (unsigned long long)kernel->seed, (int)result);
    compare(kernel, wanted, &got);
}

static int print(uint64_t seed)
{
    static struct kernel kernel;
    uint32_t input[INPUTS];
    make_input(0, input);
    make_kernel(&kernel, seed, clusters);
    write_module(&kernel, 1, input, stdout);
    return 0;
}

int main(int argc, char **argv)
{
    clusters = argc > 1 && strcmp(argv[1], "--clusters") == 0;
    argc -= clusters;
    argv += clusters;
    if (argc == 3 && strcmp(argv[1], "--print") == 0)
        return print(strtoull(argv[2], NULL, 0));
    const unsigned count = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 0) : 400;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
    library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library)
        fail("%s", dlerror());
    static struct kernel kernels[TOGETHER];
    static struct results wanted[TOGETHER];
    uint32_t input[INPUTS];
    CUcontext context;
    CUdeviceptr memory;
    make_input(0, input);
    CALL(cuInit, 0);
    CALL(cuDevicePrimaryCtxRetain, &context, 0);
    CALL(cuCtxSetCurrent, context);
    CALL(cuMemAlloc_v2, &memory, sizeof(struct results));
    for (unsigned done = 0; done < count;) {
        const unsigned now = count - done < TOGETHER ? count - done : TOGETHER;
        make_kernels(&seed, input, kernels, now, wanted);
        CUmodule module = load(kernels, now, input);
        for (unsigned i = 0; i < now; i++) {
            run_kernel(module, i, &kernels[i], &wanted[i], memory);
            free_kernel(&kernels[i]);
        }
        CALL(cuModuleUnload, module);
        done += now;
    }
    printf("%u random kernels%s as they must be, seeds up to %llu\n", count,
           clusters ? " of clusters" : "", (unsigned long long)seed - 1);
    return 0;
}
