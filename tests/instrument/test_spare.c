// SPDX-License-Identifier: Apache-2.0
// Which kernels may be launched with spare shared memory, and how much they ask for.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "instrument/instrument.h"

#define HEAD "//\n.version 8.0\n.target sm_80\n.address_size 64\n"
#define KERNEL(body)                                                                         \
    ".visible .entry k(.param .u64 p) {\n.reg .b32 %r<4>; .reg .b64 %d<4>; .reg .pred %c;\n" \
    "ld.param.u64 %d0, [p];\n" body "\nret; }\n"
#define FUNCTION(body) ".func f() { .reg .b32 %r<4>;\n" body "\nret; }\n"

static void check(const char *ptx, bool may_spare)
{
    const struct instrument_request request = {.facts = INSTRUMENT_OBJECTS};
    struct instrument_module *module;
    struct base_error error = {0};
    assert_int_equal(instrument_ptx(ptx, strlen(ptx), &request, &module, &error), BASE_OK);
    assert_int_equal(module->kernel_count, 1);
    assert_int_equal(module->kernels[0].may_spare, may_spare);
    instrument_destroy(module);
}

static void kernels_that_read_sizes_have_none(void **state)
{
    (void)state;
    check(HEAD KERNEL("mov.u32 %r0, %dynamic_smem_size; st.global.u32 [%d0], %r0;"), false);
    check(HEAD KERNEL("mov.u32 %r0, %total_smem_size; st.global.u32 [%d0], %r0;"), false);
    check(HEAD FUNCTION("mov.u32 %r0, %dynamic_smem_size;") KERNEL("call f;"), false);
    check(HEAD FUNCTION("mov.u32 %r0, %total_smem_size;") ".func g() { call f; ret; }\n" KERNEL(
              "call g;"),
          false);
    // What is not in the text may read them.
    check(HEAD ".extern .func f();\n" KERNEL("call f;"), false);
    check(HEAD KERNEL("ld.global.u64 %d1, [%d0]; prototype: .callprototype ()_ ();\n"
                      "call %d1, prototype;"),
          false);
}

static void all_others_may_have_some(void **state)
{
    (void)state;
    check(HEAD KERNEL("mov.u32 %r0, %tid.x; st.global.u32 [%d0], %r0;"), true);
    check(HEAD ".extern .shared .align 4 .b8 all[];\n" KERNEL("st.shared.u32 [all], 1;"), true);
    check(HEAD FUNCTION("mov.u32 %r0, %ntid.x;") KERNEL("call f;"), true);
    // A function that the kernel does not call reads them.
    check(HEAD FUNCTION("mov.u32 %r0, %dynamic_smem_size;") KERNEL(""), true);
}

static void it_begins_behind_the_programs_memory(void **state)
{
    (void)state;
    assert_int_equal(instrument_spare_at(0), 16); // 0 would mean that there is none
    assert_int_equal(instrument_spare_at(1), 16);
    assert_int_equal(instrument_spare_at(16), 16);
    assert_int_equal(instrument_spare_at(1000), 1008);
}

static void only_kernels_that_may_have_it_ask(void **state)
{
    (void)state;
    struct instrument_array arrays[] = {{.name = "fixed", .bytes = 100, .first = 1},
                                        {.name = "dynamic", .bytes = 0, .first = 26}};
    struct instrument_kernel kernel = {.arrays = arrays, .array_count = 2, .may_spare = true};
    assert_int_equal(instrument_spare_bytes(&kernel, 400, 8), 0); // it has no use for it
    kernel.spare_head = 16;
    assert_int_equal(instrument_spare_bytes(&kernel, 400, 0), 0); // nor for small counters
    assert_int_equal(instrument_spare_bytes(&kernel, 0, 8), 16 + 8 * 26);
    assert_int_equal(instrument_spare_bytes(&kernel, 400, 8), 16 + 8 * 126);
    assert_int_equal(instrument_spare_bytes(&kernel, 401, 8), 16 + 8 * 128); // 127, rounded up
    kernel.may_spare = false;
    assert_int_equal(instrument_spare_bytes(&kernel, 400, 8), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_that_read_sizes_have_none),
        cmocka_unit_test(all_others_may_have_some),
        cmocka_unit_test(it_begins_behind_the_programs_memory),
        cmocka_unit_test(only_kernels_that_may_have_it_ask),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
