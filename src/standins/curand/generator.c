// SPDX-License-Identifier: Apache-2.0
// The host interface of cuRAND: generators whose results go to device memory, or to host memory.
#include <stdlib.h>

#include "standins/common/common.h"
#include "start.h"

static const char sequences_ptx[] = ""
#include "curand_sequences.ptx.inc"
    ;

// Values of curandStatus_t.
enum curand_status {
    CURAND_OK = 0,
    CURAND_NOT_INITIALIZED = 101,
    CURAND_ALLOCATION_FAILED = 102,
    CURAND_TYPE_ERROR = 103,
    CURAND_OUT_OF_RANGE = 104,
    CURAND_LENGTH_NOT_MULTIPLE = 105,
    CURAND_LAUNCH_FAILURE = 201,
    CURAND_INITIALIZATION_FAILED = 203,
};

// Values of curandOrdering_t.
enum { ORDERING_BEST = 100, ORDERING_DEFAULT, ORDERING_SEEDED, ORDERING_LEGACY, ORDERING_DYNAMIC };

// What programs know as curandGenerator_t. One thread at a time uses a generator.
struct curand_generator {
    enum curand_sequence sequence;
    bool on_host;
    uint32_t columns;
    uint64_t seed, offset;
    CUstream stream;
    bool started;                // the states are those of the seed and offset
    uint64_t next;               // position of the next result
    CUdeviceptr on_device;       // the states; 0: not allocated
    struct curand_state *states; // those of a generator on the host
};

static int status_of(CUresult result)
{
    return result == CUDA_SUCCESS               ? CURAND_OK
           : result == CUDA_ERROR_OUT_OF_MEMORY ? CURAND_ALLOCATION_FAILED
                                                : CURAND_LAUNCH_FAILURE;
}

// --- Generators and their settings ---------------------------------------------------------------

static uint32_t columns_of(enum curand_sequence sequence, int ordering)
{
    switch (sequence) {
    case CURAND_XORWOW: return 4096;
    case CURAND_MRG32K3A: return ordering == ORDERING_LEGACY ? 4096 : 81920;
    default: return 65536;
    }
}

static int create(struct curand_generator **generator, int type, bool on_host)
{
    // Values of curandRngType_t.
    enum { PSEUDO_DEFAULT = 100, XORWOW = 101, MRG32K3A = 121, PHILOX = 161, TEST = 0, LAST = 204 };
    enum curand_sequence sequence;
    if (!generator)
        return CURAND_NOT_INITIALIZED;
    switch (type) {
    case PSEUDO_DEFAULT:
    case XORWOW: sequence = CURAND_XORWOW; break;
    case MRG32K3A: sequence = CURAND_MRG32K3A; break;
    case PHILOX: sequence = CURAND_PHILOX; break;
    case TEST: return CURAND_TYPE_ERROR;
    default:
        return type > LAST
                   ? CURAND_TYPE_ERROR
                   : COMMON_REFUSE(
                         "cuRAND: a generator other than XORWOW, MRG32k3a and Philox4_32_10",
                         CURAND_TYPE_ERROR);
    }
    if (!on_host && common_context() != CUDA_SUCCESS)
        return CURAND_INITIALIZATION_FAILED;
    struct curand_generator *const made = calloc(1, sizeof(*made));
    if (!made)
        return CURAND_ALLOCATION_FAILED;
    *made = (struct curand_generator){.sequence = sequence,
                                      .on_host = on_host,
                                      .columns = columns_of(sequence, ORDERING_DEFAULT)};
    *generator = made;
    return CURAND_OK;
}

COMMON_API int curandCreateGenerator(struct curand_generator **generator, int type)
{
    return create(generator, type, false);
}

COMMON_API int curandCreateGeneratorHost(struct curand_generator **generator, int type)
{
    return create(generator, type, true);
}

static void forget_states(struct curand_generator *generator)
{
    if (generator->on_device)
        cuMemFree_v2(generator->on_device);
    free(generator->states);
    generator->on_device = 0;
    generator->states = NULL;
    generator->started = false;
}

COMMON_API int curandDestroyGenerator(struct curand_generator *generator)
{
    if (!generator)
        return CURAND_NOT_INITIALIZED;
    forget_states(generator);
    free(generator);
    return CURAND_OK;
}

COMMON_API int curandSetPseudoRandomGeneratorSeed(struct curand_generator *generator,
                                                  unsigned long long seed)
{
    if (!generator)
        return CURAND_NOT_INITIALIZED;
    generator->seed = seed;
    generator->started = false;
    return CURAND_OK;
}

COMMON_API int curandSetGeneratorOffset(struct curand_generator *generator,
                                        unsigned long long offset)
{
    if (!generator)
        return CURAND_NOT_INITIALIZED;
    generator->offset = offset;
    generator->started = false;
    return CURAND_OK;
}

COMMON_API int curandSetGeneratorOrdering(struct curand_generator *generator, int ordering)
{
    if (!generator)
        return CURAND_NOT_INITIALIZED;
    if (ordering == ORDERING_SEEDED && generator->sequence == CURAND_XORWOW)
        return COMMON_REFUSE("cuRAND: CURAND_ORDERING_PSEUDO_SEEDED", CURAND_OUT_OF_RANGE);
    if (ordering < ORDERING_BEST || ordering > ORDERING_DYNAMIC || ordering == ORDERING_SEEDED ||
        (ordering == ORDERING_DYNAMIC && generator->on_host))
        return CURAND_OUT_OF_RANGE;
    if (columns_of(generator->sequence, ordering) != generator->columns)
        forget_states(generator);
    generator->columns = columns_of(generator->sequence, ordering);
    return CURAND_OK;
}

COMMON_API int curandSetStream(struct curand_generator *generator, CUstream stream)
{
    if (!generator)
        return CURAND_NOT_INITIALIZED;
    generator->stream = stream;
    return CURAND_OK;
}

COMMON_API int curandSetQuasiRandomGeneratorDimensions(struct curand_generator *generator,
                                                       unsigned dimensions)
{
    (void)dimensions;
    return generator ? CURAND_TYPE_ERROR : CURAND_NOT_INITIALIZED; // there are no such generators
}

COMMON_API int curandGetVersion(int *version)
{
    if (!version)
        return CURAND_OUT_OF_RANGE;
    *version = 10400; // of CUDA 13.0
    return CURAND_OK;
}

COMMON_API int curandGetProperty(int property, int *value)
{
    static const int parts[] = {10, 4, 0};
    if (!value || property < 0 || property > 2)
        return CURAND_OUT_OF_RANGE;
    *value = parts[property];
    return CURAND_OK;
}

// --- Results -------------------------------------------------------------------------------------

// Computes the states of the seed and offset, and brings them to where they are used.
static int start(struct curand_generator *generator)
{
    const size_t size_bytes = generator->columns * sizeof(struct curand_state);
    const uint64_t row =
        generator->columns * (generator->sequence == CURAND_PHILOX ? UINT64_C(4) : UINT64_C(1));
    CUresult result = CUDA_SUCCESS;
    if (generator->started)
        return CURAND_OK;
    struct curand_state *const states = generator->states ? generator->states : malloc(size_bytes);
    if (!states)
        return CURAND_ALLOCATION_FAILED;
    curand_start(generator->sequence, generator->columns, generator->seed, generator->offset,
                 states);
    if (generator->on_host) {
        generator->states = states;
    } else {
        if (!generator->on_device)
            result = cuMemAlloc_v2(&generator->on_device, size_bytes);
        if (result == CUDA_SUCCESS)
            result =
                cuMemcpyHtoDAsync_v2(generator->on_device, states, size_bytes, generator->stream);
        free(states); // pageable memory is copied before the call returns
    }
    generator->next = generator->offset % row;
    generator->started = result == CUDA_SUCCESS;
    return status_of(result);
}

static int run(struct curand_generator *generator, struct curand_request *about)
{
    if (generator->on_host) {
        for (uint32_t i = 0; i < about->visits_columns; i++)
            curand_column(about, i);
        return CURAND_OK;
    }
    const struct common_launch launch = {.ptx = sequences_ptx,
                                         .kernel = "curand_generate",
                                         .blocks =
                                             common_blocks(about->visits_columns, CURAND_THREADS),
                                         .threads = CURAND_THREADS,
                                         .stream = generator->stream,
                                         .parameter = about};
    return status_of(common_launch(&launch));
}

static int generate(struct curand_generator *generator, enum curand_kind kind, void *out,
                    size_t count, double mean, double deviation)
{
    if (!generator)
        return CURAND_NOT_INITIALIZED;
    const uint32_t each = curand_per_visit((int)generator->sequence, (int)kind);
    if (each == 2 && count % 2)
        return CURAND_LENGTH_NOT_MULTIPLE;
    int status = start(generator);
    if (status || !count)
        return status;
    const bool is_philox = generator->sequence == CURAND_PHILOX;
    const uint64_t had = is_philox ? generator->next % 4 : 0,
                   visits = (had + count + each - 1) / each;
    struct curand_request about = {
        .out = (uint64_t)(uintptr_t)out,
        .states =
            generator->on_host ? (uint64_t)(uintptr_t)generator->states : generator->on_device,
        .count = count,
        .first = generator->next,
        .seed = generator->seed,
        .columns = generator->columns,
        .visits_columns = visits < generator->columns ? (uint32_t)visits : generator->columns,
        .sequence = (int32_t)generator->sequence,
        .kind = (int32_t)kind,
        .mean = mean,
        .deviation = deviation,
    };
    status = run(generator, &about);
    if (is_philox)
        generator->next = (generator->next + count) % (UINT64_C(4) * generator->columns);
    else
        generator->next = (generator->next + visits) % generator->columns;
    return status;
}

COMMON_API int curandGenerateSeeds(struct curand_generator *generator)
{
    return generator ? start(generator) : CURAND_NOT_INITIALIZED;
}

COMMON_API int curandGenerate(struct curand_generator *generator, unsigned *out, size_t count)
{
    return generate(generator, CURAND_BITS, out, count, 0, 0);
}

COMMON_API int curandGenerateLongLong(struct curand_generator *generator, unsigned long long *out,
                                      size_t count)
{
    (void)out, (void)count;
    return generator ? CURAND_TYPE_ERROR
                     : CURAND_NOT_INITIALIZED; // only for quasirandom numbers of 64 bits
}

COMMON_API int curandGenerateUniform(struct curand_generator *generator, float *out, size_t count)
{
    return generate(generator, CURAND_UNIFORM, out, count, 0, 0);
}

COMMON_API int curandGenerateUniformDouble(struct curand_generator *generator, double *out,
                                           size_t count)
{
    return generate(generator, CURAND_UNIFORM_DOUBLE, out, count, 0, 0);
}

COMMON_API int curandGenerateNormal(struct curand_generator *generator, float *out, size_t count,
                                    float mean, float deviation)
{
    return generate(generator, CURAND_NORMAL, out, count, (double)mean, (double)deviation);
}

COMMON_API int curandGenerateNormalDouble(struct curand_generator *generator, double *out,
                                          size_t count, double mean, double deviation)
{
    return generate(generator, CURAND_NORMAL_DOUBLE, out, count, mean, deviation);
}

COMMON_API int curandGenerateLogNormal(struct curand_generator *generator, float *out, size_t count,
                                       float mean, float deviation)
{
    return generate(generator, CURAND_LOG_NORMAL, out, count, (double)mean, (double)deviation);
}

COMMON_API int curandGenerateLogNormalDouble(struct curand_generator *generator, double *out,
                                             size_t count, double mean, double deviation)
{
    return generate(generator, CURAND_LOG_NORMAL_DOUBLE, out, count, mean, deviation);
}

COMMON_API int curandGeneratePoisson(struct curand_generator *generator, unsigned *out,
                                     size_t count, double lambda)
{
    if (!(lambda > 0 && lambda <= 400000)) // as cuRAND has it
        return CURAND_OUT_OF_RANGE;
    return generate(generator, CURAND_POISSON, out, count, lambda, 0);
}
