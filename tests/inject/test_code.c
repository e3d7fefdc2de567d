// SPDX-License-Identifier: Apache-2.0
// Which code of a fatbin a device runs, and which PTX was compiled into that code.
#include "inject/util/code.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define PTX(number, letter)                                           \
    {                                                                 \
        .kind = FATBIN_PTX, .arch = (number), .arch_suffix = (letter) \
    }
#define CUBIN(number, letter)                                           \
    {                                                                   \
        .kind = FATBIN_CUBIN, .arch = (number), .arch_suffix = (letter) \
    }

static void test_fitness_is_as_the_driver_chooses(void **state)
{
    (void)state;
    const struct fatbin_entry ptx70 = PTX(70, 0), ptx90 = PTX(90, 0), ptx90a = PTX(90, 'a'),
                              ptx100f = PTX(100, 'f'), cubin80 = CUBIN(80, 0),
                              cubin86 = CUBIN(86, 0);
    assert_true(util_code_fitness(&ptx90, 9, 0) > util_code_fitness(&ptx70, 9, 0));
    assert_int_equal(util_code_fitness(&ptx90, 8, 9), 0);
    assert_true(util_code_fitness(&ptx90a, 9, 0) > 0);
    assert_int_equal(util_code_fitness(&ptx90a, 10, 0), 0); // for this architecture only
    assert_true(util_code_fitness(&ptx100f, 10, 3) > 0);
    assert_int_equal(util_code_fitness(&ptx100f, 11, 0), 0);
    assert_true(util_code_fitness(&cubin80, 8, 9) > util_code_fitness(&ptx70, 8, 9));
    assert_true(util_code_fitness(&cubin86, 8, 9) > util_code_fitness(&cubin80, 8, 9));
    assert_int_equal(util_code_fitness(&cubin86, 8, 0), 0);
    assert_int_equal(util_code_fitness(&cubin86, 9, 0), 0);
}

static void test_ptx_of_the_machine_code_that_is_taken_is_the_same_code(void **state)
{
    (void)state;
    struct fatbin_entry entries[] = {PTX(52, 0),   PTX(80, 0),   PTX(90, 0),
                                     CUBIN(80, 0), CUBIN(90, 0), PTX(100, 0)};
    const struct fatbin_image image = {.entries = {entries, 6, 6}};
    assert_true(util_code_is_taken(&image, &entries[2], 9, 0)); // the PTX of sm_90's cubin
    assert_false(util_code_is_taken(&image, &entries[1], 9, 0));
    assert_true(util_code_is_taken(&image, &entries[1], 8, 6)); // the PTX of sm_80's cubin
    assert_false(util_code_is_taken(&image, &entries[0], 8, 6));
    assert_true(util_code_is_taken(&image, &entries[0], 7, 5)); // the driver compiles it
    assert_true(util_code_is_taken(&image, &entries[5], 12, 0));
    assert_false(util_code_is_taken(&image, &entries[2], 12, 0));
    assert_false(util_code_is_taken(&image, &entries[0], 5, 0)); // no code fits
}

static void test_machine_code_without_its_ptx_has_none(void **state)
{
    (void)state;
    struct fatbin_entry entries[] = {PTX(52, 0),
                                     CUBIN(90, 0),
                                     PTX(90, 'a'),
                                     {.kind = FATBIN_PTX, .arch = 90, .fatbin_index = 1}};
    const struct fatbin_image image = {.entries = {entries, 4, 4}};
    assert_false(util_code_is_taken(&image, &entries[0], 9, 0));
    assert_false(util_code_is_taken(&image, &entries[2], 9, 0));
    assert_true(util_code_is_taken(&image, &entries[3], 9, 0)); // another fatbin
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fitness_is_as_the_driver_chooses),
        cmocka_unit_test(test_ptx_of_the_machine_code_that_is_taken_is_the_same_code),
        cmocka_unit_test(test_machine_code_without_its_ptx_has_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
