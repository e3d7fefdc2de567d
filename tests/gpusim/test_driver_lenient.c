// SPDX-License-Identifier: Apache-2.0
// With GLINT_SIM_MEMORY_ERRORS=warn, kernels may access memory beyond their blocks where a GPU has
// memory: in the rest of a page of 2 MiB. Each instruction that does so is reported once. Elsewhere
// the launch fails.
#include "driver_testing.h"

enum { PAGE = 2 << 20 };

static CUresult launch_at(CUdeviceptr at, uint32_t count, uint32_t summand)
{
    uint32_t factor = 1;
    void *params[] = {&at, &count, &factor, &summand};
    assert_ok(cuLaunchKernel(t.scale, 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
    return cuCtxSynchronize();
}

static uint32_t word_at(CUdeviceptr at)
{
    return *(volatile uint32_t *)(uintptr_t)at; // device memory is host memory here
}

// Returns how often `what` occurs in the messages.
static unsigned times(const char *what)
{
    static char text[1 << 16];
    const ssize_t length = pread(2, text, sizeof(text) - 1, 0);
    assert_true(length >= 0);
    text[length] = '\0';
    unsigned count = 0;
    for (const char *at = text; (at = strstr(at, what)); at++)
        count++;
    return count;
}

// Sends stderr to a file without a name.
static void catch_messages(void)
{
    FILE *file = tmpfile();
    assert_non_null(file);
    assert_true(dup2(fileno(file), 2) == 2);
    fclose(file);
}

static void go_on(void)
{
    catch_messages();
    CUdeviceptr small, large;
    assert_ok(cuMemAlloc_v2(&small, 1000));
    assert_ok(cuMemAlloc_v2(&large, PAGE + 4096));
    // Eight words are inside, the others beyond.
    assert_is(launch_at(small + 1000 - 32, 32, 7), CUDA_SUCCESS);
    assert_is(launch_at(small + 1000 - 32, 32, 2), CUDA_SUCCESS);
    for (unsigned i = 0; i < 32; i++)
        assert_int_equal(word_at(small + 1000 - 32 + 4 * i), 9);
    assert_int_equal(times("goes on"), 2); // a load and a store
    assert_int_equal(times("invalid read of 4 bytes"), 1);
    assert_int_equal(times("1 bytes beyond object"), 2);
    // The last words of the second page.
    assert_is(launch_at(large + 2 * (CUdeviceptr)PAGE - 128, 32, 5), CUDA_SUCCESS);
    assert_int_equal(word_at(large + 2 * (CUdeviceptr)PAGE - 4), 5);
    assert_int_equal(times("goes on"), 2);
    assert_ok(cuMemFree_v2(large));
    assert_ok(cuMemFree_v2(small));
}

static void kernels_go_on_beyond_blocks(void **state)
{
    (void)state;
    testing_in_child(go_on);
}

static void leave_the_pages(void)
{
    CUdeviceptr large;
    catch_messages();
    assert_ok(cuMemAlloc_v2(&large, PAGE + 4096));
    assert_is(launch_at(large + 2 * (CUdeviceptr)PAGE, 1, 5), CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_int_equal(times("goes on"), 0);
}

static void use_a_freed_page(void)
{
    CUdeviceptr large;
    catch_messages();
    assert_ok(cuMemAlloc_v2(&large, PAGE));
    assert_ok(cuMemFree_v2(large));
    assert_is(launch_at(large, 1, 5), CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_int_equal(times("use after free"), 1);
}

static void use_null(void)
{
    catch_messages();
    assert_is(launch_at(0, 1, 5), CUDA_ERROR_ILLEGAL_ADDRESS);
}

static void kernels_fail_where_a_gpu_has_no_memory(void **state)
{
    (void)state;
    testing_in_child(leave_the_pages);
    testing_in_child(use_a_freed_page);
    testing_in_child(use_null);
}

int main(void)
{
    setenv("GLINT_SIM_MEMORY_ERRORS", "warn", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_go_on_beyond_blocks),
        cmocka_unit_test(kernels_fail_where_a_gpu_has_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
