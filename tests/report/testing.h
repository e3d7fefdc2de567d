// SPDX-License-Identifier: Apache-2.0
// What the tests of src/report share: cmocka with the headers that it wants first, and the text
// that a routine writes.
#ifndef GLINT_TESTS_REPORT_TESTING_H
#define GLINT_TESTS_REPORT_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/base.h"

// Compares what was written, and starts anew.
static inline void check_written(struct base_buf *out, const char *wanted)
{
    assert_false(out->failed);
    assert_string_equal(out->text ? out->text : "", wanted);
    base_buf_fini(out);
    *out = (struct base_buf){0};
}

#endif
