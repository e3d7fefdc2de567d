// SPDX-License-Identifier: Apache-2.0
// Memory and launches of random kernels. Contents may be anything, since indices and rounds that
// come from memory are masked; only pointers in memory must stay such that their range fits, so
// they change places with each other.
#include "random_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CALL(call) check((call), #call)

static void check(CUresult result, const char *call)
{
    if (result != CUDA_SUCCESS) {
        fprintf(stderr, "%s: %d\n", call, (int)result);
        exit(1);
    }
}

void random_run_start(struct random_run *run, const struct random_kernel *kernel)
{
    const struct oracle_case *test = &kernel->test;
    *run = (struct random_run){.kernel = kernel};
    CALL(cuModuleLoadData(&run->module, test->ptx));
    CALL(cuModuleGetFunction(&run->function, run->module, test->kernel));
    for (unsigned i = 0; i < test->buffer_count; i++)
        CALL(cuMemAlloc_v2(&run->buffers[i], test->buffer_bytes[i]));
    random_run_move(run, false);
}

// Another buffer that is only read, or only written with the pattern, like this one, and not
// smaller; else this one.
static unsigned another(const struct oracle_case *test, unsigned buffer)
{
    const unsigned first = buffer < RANDOM_OUT ? RANDOM_IN : RANDOM_OUT;
    for (unsigned i = first; i < first + RANDOM_ALIKE && buffer < RANDOM_OUT + RANDOM_ALIKE; i++) {
        if (i != buffer && test->buffer_bytes[i] >= test->buffer_bytes[buffer])
            return i;
    }
    return buffer;
}

void random_run_move(struct random_run *run, bool moved)
{
    const struct oracle_case *test = &run->kernel->test;
    memcpy(run->params, test->params, sizeof(run->params));
    for (unsigned i = 0; i < test->pointer_count; i++)
        moved &= test->hidden[i].form == ORACLE_PLAIN; // others say how far apart two buffers are
    for (unsigned i = 0; i < test->pointer_count; i++) {
        const struct oracle_pointer *pointer = &test->pointers[i];
        uint64_t value = oracle_pointer_value(test, run->buffers, i);
        if (moved)
            value += run->buffers[another(test, pointer->to)] - run->buffers[pointer->to];
        if (pointer->in == ORACLE_IN_PARAMS)
            memcpy(run->params + pointer->at, &value, sizeof(value));
    }
}

static void fill(unsigned char *bytes, size_t count, uint64_t seed)
{
    for (size_t i = 0; i < count; i += sizeof(seed)) {
        seed = random_hash(seed, 1);
        memcpy(bytes + i, &seed, count - i < sizeof(seed) ? count - i : sizeof(seed));
    }
}

// Four pointers each have ranges that suit any of them.
static void place_pointers(const struct random_run *run, unsigned buffer, unsigned char *bytes,
                           uint64_t round)
{
    const struct oracle_case *test = &run->kernel->test;
    unsigned first = 0;
    while (first < test->pointer_count && test->pointers[first].in != (int)buffer)
        first++;
    for (unsigned i = first; i < test->pointer_count; i++) {
        const unsigned group = (i - first) & ~3u;
        const uint64_t value = oracle_pointer_value(
            test, run->buffers, first + group + (unsigned)((i - first + round) & 3));
        if (test->pointers[i].in == (int)buffer)
            memcpy(bytes + test->pointers[i].at, &value, sizeof(value));
    }
}

static void renew_named(const struct random_run *run, const char *name, uint64_t round)
{
    unsigned char bytes[8192];
    CUdeviceptr address;
    size_t count;
    CALL(cuModuleGetGlobal_v2(&address, &count, run->module, name));
    if (count > sizeof(bytes))
        abort();
    CALL(cuMemcpyDtoH_v2(bytes, address, count));
    if (strcmp(name, "v_functions") == 0) { // each has a place of eight bytes
        unsigned char first[8];
        memcpy(first, bytes, 8);
        memmove(bytes, bytes + 8, count - 8);
        memcpy(bytes + count - 8, first, 8);
    } else if (strstr(name, "_pointer")) { // to a variable, or to a larger buffer
        CUdeviceptr value = run->buffers[strstr(name, "out") ? RANDOM_OUT : RANDOM_IN];
        if (round % 2 == 0)
            CALL(cuModuleGetGlobal_v2(&value, NULL, run->module,
                                      strstr(name, "out") ? "v_out" : "v_in"));
        memcpy(bytes, &value, sizeof(value));
    } else {
        fill(bytes, count, random_hash(round, (unsigned char)name[2]));
    }
    CALL(cuMemcpyHtoD_v2(address, bytes, count));
}

void random_run_renew(const struct random_run *run, uint64_t round)
{
    const struct oracle_case *test = &run->kernel->test;
    for (unsigned i = 0; i < test->buffer_count; i++) {
        unsigned char *bytes = oracle_must(malloc(test->buffer_bytes[i]));
        fill(bytes, test->buffer_bytes[i], random_hash(round, 100 + i));
        place_pointers(run, i, bytes, round);
        CALL(cuMemcpyHtoD_v2(run->buffers[i], bytes, test->buffer_bytes[i]));
        free(bytes);
    }
    for (unsigned i = 0; i < test->variable_count; i++)
        renew_named(run, test->variables[i], round);
    if (run->kernel->source >= 0)
        renew_named(run, "c_words", round);
}

void random_run_launch(const struct random_run *run, uint32_t blocks)
{
    const struct oracle_case *test = &run->kernel->test;
    unsigned char params[ORACLE_PARAMS];
    size_t bytes = 0;
    for (size_t i = 0, offset, size; cuFuncGetParamInfo(run->function, i, &offset, &size) == 0; i++)
        bytes = offset + size;
    memcpy(params, run->params, sizeof(params));
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, params, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                     CU_LAUNCH_PARAM_END};
    CALL(cuLaunchKernel(run->function, blocks && blocks < test->grid[0] ? blocks : test->grid[0],
                        test->grid[1], test->grid[2], test->block[0], test->block[1],
                        test->block[2], test->shared_bytes, NULL, NULL, extra));
    CALL(cuCtxSynchronize());
}

void random_run_end(struct random_run *run)
{
    for (unsigned i = 0; i < run->kernel->test.buffer_count; i++)
        CALL(cuMemFree_v2(run->buffers[i]));
    CALL(cuModuleUnload(run->module));
}
