// SPDX-License-Identifier: Apache-2.0
// Output of kernels reaches the program's stdout at the points where a real driver writes it. So
// the lines of the host and of kernels have the same order, whatever stdout is.
#include "driver_testing.h"

static const char printing[] =
    ".version 8.0\n"
    ".target sm_70\n"
    ".address_size 64\n"
    ".extern .func (.param .b32 result) vprintf(.param .b64 format, .param .b64 values);\n"
    ".global .align 1 .b8 text[11] = {100, 101, 118, 105, 99, 101, 32, 37, 100, 10, 0};\n"
    // Prints "device NUMBER", then writes to `to` unless it is 0.
    ".visible .entry say(.param .u32 number, .param .u64 to)\n"
    "{\n"
    "  .local .align 8 .b8 values[8];\n"
    "  .reg .pred %q; .reg .u32 %r<2>; .reg .u64 %a<4>;\n"
    "  ld.param.u32 %r0, [number]; ld.param.u64 %a2, [to];\n"
    "  mov.u64 %a0, values; st.local.u32 [%a0], %r0; cvta.local.u64 %a0, %a0;\n"
    "  mov.u64 %a1, text; cvta.global.u64 %a1, %a1;\n"
    "  { .param .b64 f; .param .b64 v; .param .b32 n;\n"
    "    st.param.b64 [f], %a1; st.param.b64 [v], %a0;\n"
    "    call.uni (n), vprintf, (f, v); }\n"
    "  setp.eq.u64 %q, %a2, 0; @%q bra done;\n"
    "  st.global.u32 [%a2], %r0;\n"
    "done: ret;\n"
    "}\n";

static CUmodule module;
static CUfunction say_number;

static void say(int number, uint64_t to)
{
    void *params[] = {&number, &to};
    assert_ok(cuLaunchKernel(say_number, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
}

// Waits without calling a function that writes the output.
static void let_it_end(void)
{
    while (cuStreamQuery(NULL) == CUDA_ERROR_NOT_READY)
        usleep(100);
}

static void on_host(void *number)
{
    printf("callback %d\n", *(int *)number);
}

static void print_all(void)
{
    CUdeviceptr p;
    CUevent event;
    CUmodule second;
    CUcontext doomed;
    int word, number = 10;
    assert_ok(cuMemAlloc_v2(&p, 4));
    assert_ok(cuEventCreate(&event, 0));

    say(1, 0);
    let_it_end();
    printf("host: only a query\n");
    assert_ok(cuCtxSynchronize());
    printf("host: context\n");
    say(2, 0);
    assert_ok(cuStreamSynchronize(NULL));
    printf("host: stream\n");
    say(3, 0);
    assert_ok(cuEventRecord(event, NULL));
    assert_ok(cuEventSynchronize(event));
    printf("host: event\n");
    say(4, 0);
    assert_ok(cuMemcpyDtoH_v2(&word, p, 4));
    printf("host: copy\n");
    say(5, 0);
    let_it_end();
    printf("host: before a launch\n");
    say(6, 0);
    printf("host: after it\n");
    let_it_end();
    assert_ok(cuModuleLoadData(&second, kernels));
    printf("host: loaded\n");
    say(7, 0);
    assert_ok(cuLaunchHostFunc(NULL, on_host, &number));
    assert_ok(cuCtxSynchronize());
    assert_ok(cuModuleUnload(second));

    assert_ok(cuCtxCreate_v2(&doomed, 0, 0));
    say(8, 16); // no object is at this address
    let_it_end();
    assert_is(cuMemAlloc_v2(&p, 4), CUDA_ERROR_ILLEGAL_ADDRESS);
    printf("host: fault\n");
    assert_ok(cuCtxDestroy_v2(doomed));
    assert_ok(cuEventDestroy_v2(event));
    fflush(stdout);
}

static void lines_of_host_and_device_keep_their_order(void **state)
{
    (void)state;
    static const char wanted[] = "host: only a query\ndevice 1\nhost: context\n"
                                 "device 2\nhost: stream\ndevice 3\nhost: event\n"
                                 "device 4\nhost: copy\nhost: before a launch\ndevice 5\n"
                                 "host: after it\ndevice 6\nhost: loaded\n"
                                 "device 7\ncallback 10\ndevice 8\nhost: fault\n";
    assert_ok(cuModuleLoadData(&module, printing));
    assert_ok(cuModuleGetFunction(&say_number, module, "say"));
    FILE *file = tmpfile();
    assert_non_null(file);
    fflush(stdout);
    int before = dup(STDOUT_FILENO);
    assert_true(dup2(fileno(file), STDOUT_FILENO) >= 0);
    setvbuf(stdout, NULL, _IOFBF, 1 << 16); // as if stdout were a pipe
    print_all();
    assert_true(dup2(before, STDOUT_FILENO) >= 0);
    close(before);
    char printed[2000];
    rewind(file);
    printed[fread(printed, 1, sizeof printed - 1, file)] = '\0';
    fclose(file);
    assert_string_equal(printed, wanted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_of_host_and_device_keep_their_order),
    };
    return cmocka_run_group_tests(tests, testing_setup, testing_teardown);
}
