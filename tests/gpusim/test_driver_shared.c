// SPDX-License-Identifier: Apache-2.0
// Shared memory of several kernels in one module. Each kernel has the variables that it and its
// callees name, is limited by their size, and has its dynamic part after them. Modules with a
// kernel that exceeds a block's limit are rejected. Sizes were compared with CUDA 13.0's assembler.
#include "driver_testing.h"

// One kernel each names `wide` and `narrow`; a function that two kernels call names `inner`.
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
    // Stores the address of dynamic memory, and its contents after two words were written.
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
    // Reads beyond its static memory, but not beyond the end of `wide`.
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

// Returns where dynamic memory starts, as the kernel saw it; checks the kernel's other results.
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
    // These share a function that names dynamic memory, so its address is the same in both.
    uint32_t one = ran("calls_bump", 41, 42), other = ran("calls_bump_with_wide", 51, 51);
    assert_int_equal(one, other);
    assert_true(one >= 40004 && one % 16 == 0);
}

// --- Limits --------------------------------------------------------------------------------------

#define HEAD      ".version 8.0\n.target sm_70\n.address_size 64\n"
// Uses the variable.
#define PUT(name) "mov.u32 %r0, " name "; st.shared.u32 [" name "], %r0;\n"
#define FUNCTION(name, body) \
    ".visible .func " name "() { .reg .u32 %r0; .reg .u64 %a0;\n" body "ret; }\n"
#define KERNEL(body)      ".visible .entry k() { .reg .u32 %r0; .reg .u64 %a0;\n" body "ret; }\n"
#define OWN(name, bytes)  ".shared .align 4 .b8 " name "[" #bytes "];\n"
#define WIDE(name, bytes) ".shared .align 128 .b8 " name "[" #bytes "];\n"
#define CALLS_ADDRESS     "P: .callprototype _ (); call %a0, P;\n"

static CUresult load(const char *text, char *log, size_t log_bytes, CUmodule *loaded)
{
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)log_bytes};
    return cuModuleLoadDataEx(loaded, text, 2, options, values);
}

static void assert_loads(const char *text, int bytes)
{
    CUmodule loaded;
    CUfunction kernel;
    int found;
    char log[300] = "";
    CUresult result = load(text, log, sizeof log, &loaded);
    if (result != CUDA_SUCCESS)
        fail_msg("%d, %s:\n%s", result, log, text);
    assert_ok(cuModuleGetFunction(&kernel, loaded, "k"));
    assert_ok(cuFuncGetAttribute(&found, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, kernel));
    if (found != bytes)
        fail_msg("%d bytes instead of %d:\n%s", found, bytes, text);
    assert_ok(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    assert_ok(cuCtxSynchronize());
    assert_ok(cuModuleUnload(loaded));
}

static void assert_too_large(const char *text, const char *bytes)
{
    CUmodule loaded;
    char log[300] = "", says[200];
    snprintf(says, sizeof says, "kernel k has %s bytes of static shared memory; 232448 is the most",
             bytes);
    assert_is(load(text, log, sizeof log, &loaded), CUDA_ERROR_INVALID_PTX);
    assert_string_equal(log, says);
    CUlibrary library;
    assert_is(cuLibraryLoadData(&library, text, NULL, NULL, 0, NULL, NULL, 0),
              CUDA_ERROR_INVALID_PTX);
}

static void no_kernel_has_more_than_a_block_may(void **state)
{
    (void)state;
    assert_loads(HEAD KERNEL(OWN("a", 49152) PUT("a")), 49152);
    assert_loads(HEAD KERNEL(OWN("a", 49156) PUT("a")), 49156);
    assert_loads(HEAD KERNEL(OWN("a", 232448) PUT("a")), 232448);
    assert_too_large(HEAD KERNEL(OWN("a", 232449) PUT("a")), "232449");
    assert_too_large(HEAD KERNEL(OWN("a", 232452) PUT("a")), "232452");
    // A kernel's own variables count even if nothing uses them, and one such kernel is enough.
    assert_too_large(HEAD KERNEL(OWN("a", 232452)) ".visible .entry other() { ret; }\n", "232452");
    assert_too_large(HEAD KERNEL(OWN("a", 8589934592)), "4294967295");
    // Sizes do not add up over kernels, and dynamic memory does not count.
    assert_loads(HEAD KERNEL(OWN("a", 200000) PUT("a")) ".visible .entry other() {\n" OWN(
                     "a", 200000) "ret; }\n",
                 200000);
    assert_loads(HEAD ".extern .shared .align 16 .b8 d[];\n" KERNEL(
                     OWN("a", 232448) PUT("a") "mov.u32 %r0, d;\n"),
                 232448);
}

// Loads a kernel with `bytes` of static memory that stores to its last word.
static CUfunction last_word_kernel(unsigned bytes, CUmodule *loaded)
{
    char text[1000];
    CUfunction kernel;
    snprintf(text, sizeof text,
             HEAD ".visible .entry k(.param .u64 to) { .shared .align 4 .b8 a[%u];\n"
                  ".reg .u32 %%r0; .reg .u64 %%a0; ld.param.u64 %%a0, [to]; mov.u32 %%r0, 77;\n"
                  "st.shared.u32 [a+%u], %%r0; mov.u32 %%r0, 0; ld.shared.u32 %%r0, [a+%u];\n"
                  "st.global.u32 [%%a0], %%r0; ret; }\n",
             bytes, bytes - 4, bytes - 4);
    assert_ok(cuModuleLoadData(loaded, text));
    assert_ok(cuModuleGetFunction(&kernel, *loaded, "k"));
    return kernel;
}

static void all_of_it_is_there_without_asking(void **state)
{
    (void)state;
    CUmodule loaded;
    CUfunction_attribute limit = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
    void *params[] = {&results};
    int most;
    static const unsigned sizes[] = {49152, 49156, 131072, 232448};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        CUfunction kernel = last_word_kernel(sizes[i], &loaded);
        assert_ok(cuMemsetD32_v2(results, 0, 1));
        assert_ok(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
        assert_int_equal(testing_read(results), 77);
        // Dynamic memory in addition needs the opt-in attribute.
        int room = 232448 - (int)sizes[i];
        assert_ok(cuFuncGetAttribute(&most, limit, kernel));
        assert_int_equal(most, 0);
        assert_is(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 4, NULL, params, NULL),
                  CUDA_ERROR_INVALID_VALUE);
        assert_is(cuFuncSetAttribute(kernel, limit, room + 1), CUDA_ERROR_INVALID_VALUE);
        assert_ok(cuFuncSetAttribute(kernel, limit, room));
        assert_ok(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, (unsigned)room, NULL, params, NULL));
        assert_is(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, (unsigned)room + 4, NULL, params, NULL),
                  CUDA_ERROR_INVALID_VALUE);
        assert_ok(cuCtxSynchronize());
        assert_ok(cuModuleUnload(loaded));
    }
}

static void variables_of_the_module_count_where_they_are_reached(void **state)
{
    (void)state;
    assert_loads(HEAD OWN("m", 240000) KERNEL(""), 0);
    assert_too_large(HEAD OWN("m", 240000) KERNEL(PUT("m")), "240000");
    assert_loads(HEAD OWN("m", 240000) FUNCTION("f", PUT("m")) KERNEL(""), 0);
    assert_too_large(HEAD OWN("m", 240000) FUNCTION("f", PUT("m")) FUNCTION("g", "call f;\n")
                         KERNEL("call g;\n"),
                     "240000");
    assert_too_large(HEAD OWN("m", 120000) OWN("n", 120000) FUNCTION("f", PUT("m"))
                         KERNEL(PUT("n") "call f;\n"),
                     "240000");
    assert_too_large(HEAD FUNCTION("f", OWN("m", 120000) PUT("m"))
                         KERNEL(OWN("n", 120000) PUT("n") "call f;\n"),
                     "240000");
}

// A call by address may reach every function whose address is taken anywhere.
static void calls_by_address_reach_what_has_one(void **state)
{
    (void)state;
    assert_loads(HEAD FUNCTION("f", OWN("m", 120000) PUT("m")) FUNCTION("g", "")
                     KERNEL(OWN("a", 120000) PUT("a") "mov.u64 %a0, g;\n" CALLS_ADDRESS),
                 120000);
    assert_too_large(HEAD FUNCTION("f", OWN("m", 120000) PUT("m"))
                         KERNEL(OWN("a", 120000) PUT("a") "mov.u64 %a0, f;\n" CALLS_ADDRESS),
                     "240000");
    assert_too_large(HEAD FUNCTION("f", OWN("m", 120000) PUT("m"))
                         FUNCTION("g", "mov.u64 %a0, f;\n")
                             KERNEL(OWN("a", 120000) PUT("a") "mov.u64 %a0, 0;\n" CALLS_ADDRESS),
                     "240000");
    assert_too_large(
        HEAD FUNCTION("f", OWN("m", 120000) PUT("m")) ".visible .global .u64 table[1] = "
                                                      "{f};\n" KERNEL(OWN("a", 120000) PUT(
                                                          "a") "ld.global.u64 %a0, "
                                                               "[table];\n" CALLS_ADDRESS),
        "240000");
}

// Variables of functions have one address for all kernels. So a kernel's own variables may start
// after those of functions that it never calls.
static void functions_of_other_kernels_take_nothing(void **state)
{
    (void)state;
    assert_loads(HEAD FUNCTION("f", OWN("m", 200000) PUT("m"))
                     FUNCTION("g", OWN("n", 200000) PUT("n")) ".visible .entry other() { call f; "
                                                              "ret; }\n" KERNEL("call g;\n"),
                 200000);
}

// Alignment gaps count, so the order matters: the kernel's own variables precede the module's.
static void gaps_count_in_the_assemblers_order(void **state)
{
    (void)state;
    assert_loads(HEAD KERNEL(OWN("a", 4) WIDE("b", 128) PUT("b") PUT("a")), 256);
    assert_loads(HEAD KERNEL(WIDE("b", 128) OWN("a", 4) PUT("a") PUT("b")), 132);
    assert_loads(HEAD KERNEL(OWN("a", 4) WIDE("b", 232320)), 232448);
    assert_too_large(HEAD KERNEL(OWN("a", 4) WIDE("b", 232320) OWN("c", 4)), "232452");
    assert_loads(HEAD OWN("a", 4) WIDE("b", 128) OWN("c", 4) KERNEL(PUT("a") PUT("c") PUT("b")),
                 260);
    assert_loads(HEAD OWN("m", 4) KERNEL(WIDE("b", 128) PUT("m") PUT("b")), 132);
    assert_loads(HEAD WIDE("m", 128) KERNEL(OWN("b", 4) PUT("m") PUT("b")), 256);
    assert_loads(
        HEAD WIDE("m", 128) OWN("n", 4) FUNCTION("f", PUT("m")) KERNEL(PUT("n") "call f;\n"), 132);
    assert_loads(
        HEAD OWN("n", 4) WIDE("m", 128) FUNCTION("f", PUT("m")) KERNEL(PUT("n") "call f;\n"), 256);
}

// Must run last: a fault makes the device unusable for the process.
static void what_lies_beyond_is_nobodys(void **state)
{
    (void)state;
    assert_ok(launch("reads_beyond", 0));
    assert_is(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kernel_has_what_it_names_and_no_more),
        cmocka_unit_test(static_and_dynamic_together_are_limited),
        cmocka_unit_test(dynamic_memory_begins_behind_the_kernels_own),
        cmocka_unit_test(no_kernel_has_more_than_a_block_may),
        cmocka_unit_test(all_of_it_is_there_without_asking),
        cmocka_unit_test(variables_of_the_module_count_where_they_are_reached),
        cmocka_unit_test(calls_by_address_reach_what_has_one),
        cmocka_unit_test(functions_of_other_kernels_take_nothing),
        cmocka_unit_test(gaps_count_in_the_assemblers_order),
        cmocka_unit_test(what_lies_beyond_is_nobodys),
    };
    return cmocka_run_group_tests(tests, setup, testing_teardown);
}
