// SPDX-License-Identifier: Apache-2.0
// random_repeats FIRST COUNT: launches random kernels of these seeds again and again, with equal
// parameters and other contents of all memory. Most of them touch the same every time, and only
// some of those are known to. In between, smaller grids of the same kernels run, with the same
// parameters, and the same grids with other parameters.
#include <stdio.h>
#include <stdlib.h>

#include "tests/instrument/random_run.h"

enum { ROUNDS = 6, SMALLER = 3, MOVED = 4 };

// Accesses that are looked up, because no parameter alone says where they go, keep probes on. Most
// kernels have none.
static uint32_t features_off(uint64_t seed)
{
    const uint32_t looked_up = FEATURE_CHOICES | FEATURE_MIXED | FEATURE_FORMS;
    return random_repeats_off(seed, 0) | (seed % 16 < 12 ? looked_up : 0);
}

int main(int argc, char **argv)
{
    CUcontext context;
    const uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
    const uint64_t count = argc > 2 ? strtoull(argv[2], NULL, 0) : 10;
    if (cuInit(0) != CUDA_SUCCESS || cuCtxCreate_v4(&context, NULL, 0, 0) != CUDA_SUCCESS)
        return 1;
    for (uint64_t seed = first; seed < first + count; seed++) {
        struct random_kernel kernel;
        struct random_run run;
        random_kernel_make(&kernel, seed, features_off(seed), NULL, 0);
        random_run_start(&run, &kernel);
        for (uint64_t round = 0; round < ROUNDS; round++) {
            random_run_renew(&run, round);
            random_run_launch(&run, 0);
            if (round == SMALLER)
                random_run_launch(&run, 1);
            if (round != MOVED)
                continue;
            random_run_move(&run, true);
            random_run_launch(&run, 0);
            random_run_move(&run, false);
        }
        random_run_end(&run);
        random_kernel_free(&kernel);
    }
    printf("%llu kernels, each launched %d times\n", (unsigned long long)count, ROUNDS + 2);
    return 0;
}
