// SPDX-License-Identifier: Apache-2.0
// Shared by the unit tests of src/ptx: cmocka with the headers that must precede it, modules from
// text, and text from modules.
#ifndef GLINT_TESTS_PTX_TESTING_H
#define GLINT_TESTS_PTX_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "ptx/ptx.h"

// Three lines that every module starts with.
#define HEAD ".version 8.0\n.target sm_80\n.address_size 64\n"

// A kernel around the statements, which start in line 9.
#define KERNEL(body) \
    HEAD ".entry k()\n{\n.reg .pred %p;\n.reg .b32 %r<10>;\n.reg .b64 %rd<10>;\n" body "\n}\n"

static inline struct ptx_module *read_module(const char *text)
{
    struct ptx_module *module;
    struct base_error error = {0};
    if (ptx_parse(text, strlen(text), "test.ptx", &module, &error) != BASE_OK)
        fail_msg("%s", error.text[0]);
    return module;
}

// The caller frees it.
static inline char *print_module(const struct ptx_module *module)
{
    struct base_buf text = {0};
    ptx_print(module, &text);
    assert_false(text.failed);
    assert_non_null(text.text);
    return text.text;
}

// Returns the function of that name, which must exist.
static inline struct ptx_function *find_function(const struct ptx_module *module, const char *name)
{
    struct ptx_function *function = ptx_function_find(module, name);
    assert_non_null(function);
    return function;
}

// Returns the instruction at that index in the function's text, counted from 0.
static inline struct ptx_instr *find_instr(struct ptx_function *function, unsigned index)
{
    for (struct ptx_stmt *stmt = function->first; stmt; stmt = stmt->next) {
        struct ptx_instr *instr = ptx_stmt_instr(stmt);
        if (instr && index-- == 0)
            return instr;
    }
    fail_msg("%s has too few instructions", function->name);
    return NULL;
}

#endif
