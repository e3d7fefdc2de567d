// SPDX-License-Identifier: Apache-2.0
// A function's name and scopes are found in its mangled name; other names give nothing.
#include "inject/util/plain_name.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void is(const char *mangled, const char *plain)
{
    char name[32];
    assert_true(util_plain_name(mangled, name, sizeof(name)));
    assert_string_equal(name, plain);
}

static void is_none(const char *mangled)
{
    char name[32];
    assert_false(util_plain_name(mangled, name, sizeof(name)));
}

static void test_names_of_functions(void **state)
{
    (void)state;
    is("_Z5sgemmiPKfS0_Pf", "sgemm");
    is("_ZL6hiddenPf", "hidden");
    is("_Z4fillIiEvPT_S0_", "fill");
    is("_Z1k", "k");
}

static void test_names_in_scopes(void **state)
{
    (void)state;
    is("_ZN2ns6kernelIfEEvPT_", "ns::kernel");
    is("_ZN12_GLOBAL__N_16kernelEPf", "_GLOBAL__N_1::kernel");
    is("_ZN1a1b1cEv", "a::b::c");
    is("_ZN2nsL6kernelEPf", "ns::kernel");
    is("_ZN4pairIifE3runEv", "pair");
}

static void test_names_that_are_none(void **state)
{
    (void)state;
    is_none("sgemm");
    is_none("");
    is_none("_Z");
    is_none("_ZN");
    is_none("_Zv");
    is_none("_Z9short");
    is_none("_Z99999999999999999999999a");
    is_none("_Z31abcdefghijklmnopqrstuvwxyz01234");
    is("_Z29abcdefghijklmnopqrstuvwxyz012v", "abcdefghijklmnopqrstuvwxyz012");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_of_functions),
        cmocka_unit_test(test_names_in_scopes),
        cmocka_unit_test(test_names_that_are_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
