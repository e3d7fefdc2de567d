// SPDX-License-Identifier: Apache-2.0
// Compares the stand-in for cuRAND with the library at the path of the first argument: both on the
// host, where NVIDIA's needs no GPU, and the stand-in also on the simulated device. Bits and
// uniform numbers must be equal, normal numbers close.
#include <dlfcn.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cudaabi/cudaabi.h"

enum { COUNT = 83000, CALLS = 3 };
static const size_t lengths[CALLS] = {10, 8190, COUNT - 8200}; // of consecutive calls
enum kind {
    BITS,
    UNIFORM,
    UNIFORM_DOUBLE,
    NORMAL,
    NORMAL_DOUBLE,
    LOG_NORMAL,
    LOG_NORMAL_DOUBLE,
    KINDS
};
static const char *const names[] = {
    "", "Uniform", "UniformDouble", "Normal", "NormalDouble", "LogNormal", "LogNormalDouble"};

typedef int call();

static call *function(void *library, const char *name)
{
    call *result;
    void *found = dlsym(library, name);
    if (!found) {
        fprintf(stderr, "%s is missing\n", name);
        exit(1);
    }
    memcpy(&result, &found, sizeof(result));
    return result;
}

static void check(int status, const char *what)
{
    if (status) {
        fprintf(stderr, "%s returned %d\n", what, status);
        exit(1);
    }
}

static bool is_wide(enum kind kind)
{
    return kind == UNIFORM_DOUBLE || kind == NORMAL_DOUBLE || kind == LOG_NORMAL_DOUBLE;
}

// Generates into `to`, on the device if `memory` is not 0.
static void generate(void *library, CUdeviceptr memory, int type, int ordering,
                     unsigned long long offset, enum kind kind, char *to)
{
    void *generator;
    char name[64];
    const size_t each = is_wide(kind) ? 8 : 4;
    char *const out = memory ? (char *)(uintptr_t)memory : to;
    snprintf(name, sizeof(name), "curandGenerate%s", names[kind]);
    check(function(library, memory ? "curandCreateGenerator"
                                   : "curandCreateGeneratorHost")(&generator, type),
          "create");
    check(function(library, "curandSetGeneratorOrdering")(generator, ordering), "ordering");
    check(function(library, "curandSetPseudoRandomGeneratorSeed")(generator, 0x123456789abcdefull),
          "seed");
    check(function(library, "curandSetGeneratorOffset")(generator, offset), "offset");
    size_t done = 0;
    for (int i = 0; i < CALLS; i++) {
        char *const at = out + done * each;
        int (*plain)(void *, void *, size_t), (*single)(void *, void *, size_t, float, float),
            (*wide)(void *, void *, size_t, double, double);
        call *const found = function(library, name);
        memcpy(&plain, &found, sizeof(plain));
        memcpy(&single, &found, sizeof(single));
        memcpy(&wide, &found, sizeof(wide));
        if (kind <= UNIFORM_DOUBLE)
            check(plain(generator, at, lengths[i]), name);
        else if (is_wide(kind))
            check(wide(generator, at, lengths[i], 1.5, 0.5), name);
        else
            check(single(generator, at, lengths[i], 1.5f, 0.5f), name);
        done += lengths[i];
    }
    if (memory)
        check((int)cuMemcpyDtoH_v2(to, memory, COUNT * each), "copy");
    check(function(library, "curandDestroyGenerator")(generator), "destroy");
}

static double value(enum kind kind, const char *from, size_t i)
{
    return is_wide(kind) ? ((const double *)from)[i] : (double)((const float *)from)[i];
}

int main(int argc, char **argv)
{
    static const int types[] = {101, 121, 161};
    static char theirs[COUNT * 8], ours[COUNT * 8];
    void *const library = dlopen(argc > 1 ? argv[1] : "", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    CUdevice device;
    CUcontext context;
    CUdeviceptr memory;
    check((int)(cuInit(0) || cuDeviceGet(&device, 0) ||
                cuDevicePrimaryCtxRetain(&context, device) || cuCtxSetCurrent(context) ||
                cuMemAlloc_v2(&memory, COUNT * 8)),
          "driver");
    for (int which = 0; which < 3 * KINDS * 2; which++) {
        const int type = types[which % 3], ordering = which / 3 / KINDS ? 103 : 101;
        const enum kind kind = (enum kind)(which / 3 % KINDS);
        const unsigned long long offset = ordering == 103 ? 200003 : 0;
        // NVIDIA's library takes seconds to begin with the columns of MRG32k3a in the default
        // ordering.
        if (ordering == 101 && kind != BITS && (kind != NORMAL || type == 121))
            continue;
        generate(library, 0, type, ordering, offset, kind, theirs);
        for (int on_device = 0; on_device < 2; on_device++) {
            double worst = 0;
            generate(RTLD_DEFAULT, on_device ? memory : 0, type, ordering, offset, kind, ours);
            for (size_t i = 0; i < COUNT; i++) {
                const bool exact = kind <= UNIFORM_DOUBLE;
                const size_t each = is_wide(kind) ? 8 : 4;
                const double wanted = exact ? 0 : value(kind, theirs, i),
                             is = exact ? 0 : value(kind, ours, i);
                const double error = fabs(is - wanted) / (1 + fabs(wanted));
                if (error > worst)
                    worst = error;
                if (exact ? memcmp(ours + i * each, theirs + i * each, each) != 0
                          : error > (is_wide(kind) ? 1e-14 : 1e-6)) {
                    printf("generator %d, ordering %d, %s, on the %s: number %zu differs (%.17g, "
                           "not %.17g)\n",
                           type, ordering, names[kind], on_device ? "device" : "host", i, is,
                           wanted);
                    return 1;
                }
            }
        }
    }
    return 0;
}
