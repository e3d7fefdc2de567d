// SPDX-License-Identifier: Apache-2.0
// Layouts taken from compiled programs, for machines without a toolkit to compare with. (compare.sh
// compares all of them with a toolkit.)
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cudaabi/cudaabi.h"

static void structures_are_as_large_as_compiled_programs_have_them(void **state)
{
    (void)state;
    assert_int_equal(sizeof(struct cudaDeviceProp), 1008);
    assert_int_equal(sizeof(struct cudaFuncAttributes), 144);
    assert_int_equal(sizeof(struct cudaPointerAttributes), 88);
    assert_int_equal(sizeof(cudaLaunchConfig_t), 56);
    assert_int_equal(sizeof(cudaLaunchAttribute), 72);
    assert_int_equal(sizeof(struct cudaMemcpy3DParms), 160);
    assert_int_equal(sizeof(struct cudaTextureDesc), 72);
    assert_int_equal(sizeof(struct cudaResourceDesc), 144);
}

static void device_properties_lie_where_compiled_programs_read_them(void **state)
{
    (void)state;
    assert_int_equal(offsetof(struct cudaDeviceProp, totalGlobalMem), 288);
    assert_int_equal(offsetof(struct cudaDeviceProp, major), 360);
    assert_int_equal(offsetof(struct cudaDeviceProp, multiProcessorCount), 384);
    assert_int_equal(offsetof(struct cudaDeviceProp, concurrentKernels), 560);
    assert_int_equal(offsetof(struct cudaDeviceProp, l2CacheSize), 596);
    assert_int_equal(offsetof(struct cudaDeviceProp, sharedMemPerBlockOptin), 672);
    assert_int_equal(offsetof(struct cudaDeviceProp, memoryPoolsSupported), 720);
}

// The runtime passes these to the driver unchanged.
static void structures_that_both_interfaces_share_are_alike(void **state)
{
    (void)state;
    assert_int_equal(sizeof(cudaLaunchAttribute), sizeof(CUlaunchAttribute));
    assert_int_equal(offsetof(cudaLaunchAttribute, val), offsetof(CUlaunchAttribute, value));
    assert_int_equal(sizeof(struct cudaMemPoolProps), sizeof(CUmemPoolProps));
    assert_int_equal(sizeof(struct cudaMemAccessDesc), sizeof(CUmemAccessDesc));
    assert_int_equal(sizeof(cudaGraphEdgeData), sizeof(CUgraphEdgeData));
    assert_int_equal(sizeof(struct cudaTextureDesc), sizeof(CUDA_TEXTURE_DESC) - 32);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(structures_are_as_large_as_compiled_programs_have_them),
        cmocka_unit_test(device_properties_lie_where_compiled_programs_read_them),
        cmocka_unit_test(structures_that_both_interfaces_share_are_alike),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
