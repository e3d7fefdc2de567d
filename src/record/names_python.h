// SPDX-License-Identifier: Apache-2.0
// Names objects by a line of Python: the variable that the line assigns its only call to, or that
// it passes with byref(). Lines that could mean something else yield no name. Internal.
#ifndef GLINT_RECORD_NAMES_PYTHON_H
#define GLINT_RECORD_NAMES_PYTHON_H

#include "names.h"

// Searches the line (from 1) of a Python source. Adds to out if the answer is a name:
// - STRONG: `x = make(n)` with no other call in it, or `make(ctypes.byref(x), n)`;
// - RETURNED: the same, but the function then returns x to its caller;
// - PASSED, no name: `return make(n)`.
// A statement that does not lie in this line alone yields NONE.
enum record_names_strength record_names_in_python(const char *text, size_t length, uint32_t line,
                                                  struct base_buf *out);

#endif
