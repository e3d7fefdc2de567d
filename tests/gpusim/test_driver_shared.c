// SPDX-License-Identifier: Apache-2.0
// Shared memory of several kernels in one module: each has what it and the functions it calls name,
// is limited by that, and finds its dynamic part behind it.
#include "driver_testing.h"

// `wide` and `narrow` are named by one kernel each, `inner` by a function that two kernels call.
static const char module_text[] =
    ".version 8.0\n.target sm_70\n.address_size 64\n"
    ".extern .shared .align 16 .b8 dynamic[];\n"
    ".shared .align 4 .b8 wide[40000];\n"
    ".shared .align 4 .b8 narrow[400];\n"
    ".func bump(.param .u32 by)\n"
    "{\n"
    "  .shared .align 4 .u32 inner;\n"
    "  .reg .u32 %r<2>;\n"
    "  ld.param.u32 %r0, [by]; ld.shared.u32 %r1, [inner];\n"
    "  add.u32 %r1, %r1, %r0; st.shared.u32 [inner], %r1;\n"
    "  st.shared.u32 [dynamic+4], %r1;\n"
    "  ret;\n"
    "}\n"
    // Stores the address of dynamic memory, and what it holds after two words were written.
    ".visible .entry with_wide(.param .u64 to)\n"
    "{\n"
    "  .reg .u32 %r<4>; .reg .u64 %a0;\n"
    "  ld.param.u64 %a0, [to]; mov.u32 %r0, dynamic;\n"
    "  mov.u32 %r1, 11; st.shared.u32 [wide+39996], %r1;\n"
    "  mov.u32 %r1, 12; st.shared.u32 [dynamic], %r1;\n"
    "  ld.shared.u32 %r2, [wide+39996]; ld.shared.u32 %r3, [dynamic];\n"
    "  st.global.v4.u32 [%a0], {%r0, %r2, %r3, %r3};\n"
    "  ret;\n"
    "}\n"
    ".visible .entry with_narrow(.param .u64 to)\n"
    "{\n"
    "  .reg .u32 %r<4>; .reg .u64 %a0;\n"
    "  ld.param.u64 %a0, [to]; mov.u32 %r0, dynamic;\n"
    "  mov.u32 %r1, 21; st.shared.u32 [narrow+396], %r1;\n"
    "  mov.u32 %r1, 22; st.shared.u32 [dynamic], %r1;\n"
    "  ld.shared.u32 %r2, [narrow+396]; ld.shared.u32 %r3, [dynamic];\n"
    "  st.global.v4.u32 [%a0], {%r0, %r2, %r3, %r3};\n"
    "  ret;\n"
    "}\n"
    ".visible .entry with_nothing(.param .u64 to)\n"
    "{\n"
    "  .reg .u32 %r0; .reg .u64 %a0;\n"
    "  ld.param.u64 %a0, [to]; mov.u32 %r0, 31; st.global.u32 [%a0], %r0;\n"
    "  ret;\n"
    "}\n"
    ".visible .entry calls_bump(.param .u64 to)\n"
    "{\n"
    "  .shared .align 4 .u32 own;\n"
    "  .reg .u32 %r<4>; .reg .u64 %a0;\n"
    "  ld.param.u64 %a0, [to]; mov.u32 %r0, 41; st.shared.u32 [own], %r0;\n"
    "  { .param .b32 n; st.param.b32 [n], %r0; call.uni bump, (n); }\n"
    "  { .param .b32 n; st.param.b32 [n], 1; call.uni bump, (n); }\n"
    "  ld.shared.u32 %r1, [own]; ld.shared.u32 %r2, [dynamic+4]; mov.u32 %r3, dynamic;\n"
    "  st.global.v4.u32 [%a0], {%r3, %r1, %r2, %r2};\n"
    "  ret;\n"
    "}\n"
    ".visible .entry calls_bump_with_wide(.param .u64 to)\n"
    "{\n"
    "  .reg .u32 %r<4>; .reg .u64 %a0;\n"
    "  ld.param.u64 %a0, [to]; mov.u32 %r0, 51; st.shared.u32 [wide+39996], %r0;\n"
    "  { .param .b32 n; st.param.b32 [n], %r0; call.uni bump, (n); }\n"
    "  ld.shared.u32 %r1, [wide+39996]; ld.shared.u32 %r2, [dynamic+4]; mov.u32 %r3, dynamic;\n"
    "  st.global.v4.u32 [%a0], {%r3, %r1, %r2, %r2};\n"
    "  ret;\n"
    "}\n"
    // Reads beyond its own static memory, but not beyond that of `wide`.
    ".visible .entry reads_beyond(.param .u64 to)\n"
    "{\n"
    "  .reg .u32 %r<2>; .reg .u64 %a0;\n"
    "  ld.param.u64 %a0, [to]; mov.u32 %r0, narrow; ld.shared.u32 %r1, [%r0+2000];\n"
    "  st.global.u32 [%a0], %r1;\n"
    "  ret;\n"
    "}\n";

static CUmodule module;
static CUdeviceptr results;

static CUfunction function(const char *name)
{
    CUfunction found;
    assert_ok(cuModuleGetFunction(&found, module, name));
    return found;
}

static CUresult launch(const char *name, unsigned dynamic_bytes)
{
    void *params[] = {&results};
    return cuLaunchKernel(function(name), 1, 1, 1, 1, 1, 1, dynamic_bytes, NULL, params, NULL);
}

static int setup(void **state)
{
    testing_setup(state);
    assert_ok(cuModuleLoadData(&module, module_text));
    assert_ok(cuMemAlloc_v2(&results, 16));
    return 0;
}

static int static_bytes(const char *name)
{
    int bytes;
    assert_ok(cuFuncGetAttribute(&bytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function(name)));
    return bytes;
}

static void a_kernel_has_what_it_names_and_no_more(void **state)
{
    (void)state;
    assert_int_equal(static_bytes("with_wide"), 40000);
    assert_int_equal(static_bytes("with_narrow"), 400);
    assert_int_equal(static_bytes("with_nothing"), 0);
    assert_int_equal(static_bytes("calls_bump"), 8);
    assert_int_equal(static_bytes("calls_bump_with_wide"), 40004);
}

static void static_and_dynamic_together_are_limited(void **state)
{
    (void)state;
    assert_ok(launch("with_wide", 49152 - 40000));
    assert_is(launch("with_wide", 49152 - 40000 + 1), CUDA_ERROR_INVALID_VALUE);
    assert_ok(launch("with_narrow", 49152 - 400));
    assert_is(launch("with_narrow", 49152 - 400 + 1), CUDA_ERROR_INVALID_VALUE);
    assert_ok(launch("with_nothing", 49152));
    CUfunction_attribute limit = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
    assert_is(cuFuncSetAttribute(function("with_wide"), limit, 232448 - 40000 + 1),
              CUDA_ERROR_INVALID_VALUE);
    assert_ok(cuFuncSetAttribute(function("with_wide"), limit, 232448 - 40000));
    assert_ok(launch("with_wide", 232448 - 40000));
    assert_ok(cuCtxSynchronize());
    int blocks;
    assert_ok(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function("with_wide"), 32, 0));
    assert_int_equal(blocks, 5); // 233472 / (40000 + 1024)
    assert_ok(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function("with_narrow"), 32, 0));
    assert_int_equal(blocks, 32);
}

// Where dynamic memory began, as the kernel saw it; its other results are checked.
static uint32_t ran(const char *name, uint32_t first, uint32_t second)
{
    uint32_t found[4];
    assert_ok(launch(name, 64));
    assert_ok(cuMemcpyDtoH_v2(found, results, sizeof found));
    assert_int_equal(found[1], first);
    assert_int_equal(found[2], second);
    return found[0];
}

static void dynamic_memory_begins_behind_the_kernels_own(void **state)
{
    (void)state;
    assert_in_range(ran("with_wide", 11, 12), 40000, 40064);
    assert_in_range(ran("with_narrow", 21, 22), 400, 512);
    // These share a function that names dynamic memory: it is at one place for both.
    uint32_t one = ran("calls_bump", 41, 42), other = ran("calls_bump_with_wide", 51, 51);
    assert_int_equal(one, other);
    assert_true(one >= 40004 && one % 16 == 0);
}

static void what_lies_beyond_is_nobodys(void **state)
{
    (void)state;
    CUcontext doomed;
    CUmodule again;
    CUfunction beyond;
    assert_ok(cuCtxCreate_v2(&doomed, 0, 0));
    assert_ok(cuModuleLoadData(&again, module_text));
    assert_ok(cuModuleGetFunction(&beyond, again, "reads_beyond"));
    void *params[] = {&results};
    assert_ok(cuLaunchKernel(beyond, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    assert_is(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_ok(cuCtxDestroy_v2(doomed));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kernel_has_what_it_names_and_no_more),
        cmocka_unit_test(static_and_dynamic_together_are_limited),
        cmocka_unit_test(dynamic_memory_begins_behind_the_kernels_own),
        cmocka_unit_test(what_lies_beyond_is_nobodys),
    };
    return cmocka_run_group_tests(tests, setup, testing_teardown);
}
