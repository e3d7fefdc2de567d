// SPDX-License-Identifier: Apache-2.0
// Lines of Python yield the variable that an object is assigned to, and no name where they could
// mean something else.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "record/names_python.h"

static void expect(const char *text, uint32_t line, enum record_names_strength strength,
                   const char *name)
{
    struct base_buf out = {0};
    assert_int_equal(record_names_in_python(text, strlen(text), line, &out), strength);
    assert_string_equal(out.length ? out.text : "", name);
    base_buf_fini(&out);
}

static void a_line_names_what_it_assigns_or_passes(void **state)
{
    (void)state;
    expect("a = 1\nx = torch.empty(n, device='cuda')  # (why)\n", 2, RECORD_NAMES_STRONG, "x");
    expect("    self.weight = make(n)", 1, RECORD_NAMES_STRONG, "self.weight");
    expect("bufs[i] = make(n)\n", 1, RECORD_NAMES_STRONG, "bufs[i]");
    expect("check(cuda.cuMemAlloc_v2(ctypes.byref(p), c_size_t(n)))\n", 1, RECORD_NAMES_STRONG,
           "p");
    expect("err = cuda.cudaMalloc(byref(d_x), n)\n", 1, RECORD_NAMES_STRONG, "d_x");
    expect("def f(n):\n    p = make(n)\n    if n:\n        return p\n", 2, RECORD_NAMES_RETURNED,
           "p");
    expect("def f(n):\n    p = make(n)\n    use(p)\ndef g(p):\n    return p\n", 2,
           RECORD_NAMES_STRONG, "p");
    expect("def f(n):\n    return make(n)\n", 2, RECORD_NAMES_PASSED, "");
}

static void a_line_that_may_mean_something_else_has_no_name(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "x = f(g(n))",
        "x = f(n) + g(n)",
        "x = f(n).cuda()",
        "x, y = f(n)",
        "x += f(n)",
        "x == f(n)",
        "x = y = f(n)",
        "x = f(n); y = g(n)",
        "if x: y = f(n)",
        "f(n)",
        "x = a @ b",
        "x = f(n) if n else 0",
        "x = [f(n)]",
        "x = 'f(n)'",
        "# x = f(n)",
        "return f(g(n))",
        "f(byref(x), byref(y))",
        "x = lambda: f(n)",
        "x = f(n,",
        "x = f(n) \\",
        "x: T = f(n)",
        "",
    };
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        expect(lines[i], 1, RECORD_NAMES_NONE, "");
    expect("g(\nx = f(n)\n)\n", 2, RECORD_NAMES_NONE, "");      // an argument
    expect("'''\nx = f(n)\n'''\n", 2, RECORD_NAMES_NONE, "");   // in a string
    expect("y = 1 + \\\nx = f(n)\n", 2, RECORD_NAMES_NONE, ""); // the rest of a line
    expect("x = f(n)\n", 7, RECORD_NAMES_NONE, "");             // not there
    expect("'\nx = f(n)", 2, RECORD_NAMES_STRONG, "x");         // a string ends with its line
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_names_what_it_assigns_or_passes),
        cmocka_unit_test(a_line_that_may_mean_something_else_has_no_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
