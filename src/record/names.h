// SPDX-License-Identifier: Apache-2.0
// What people call an object: the expression that the program's source gives to it where it is
// allocated. A name that the program itself gave comes before all of this, and is not the concern
// of this file.
//
// Rules, the first that gives a name:
// 1. The statement of the innermost frame that has source calls an allocation function of CUDA:
//    its pointer argument, without & and casts. cudaMalloc((void **)&p->data[i], n) gives
//    p->data[i]. Where the frame calls the driver itself, the call may be by a pointer of any name:
//    CHECK(api->get_memory(&x, n)) gives x, if x is the only variable whose address comes first in
//    a call, or the only one in a call by a name with alloc or create in it.
// 2. That frame is a helper, because it passes on a pointer that it was given (cudaMalloc(out, n))
//    or returns what it allocated (return p): its caller's statement, by what is assigned from the
//    helper (float *x = make(n) gives x) or by the one argument of it with & (make(&x, n)). The
//    caller may be a helper in turn.
// 3. No source of a helper is known: x = some_alloc(n) gives x, and so does float *x = make(n) with
//    make, create or new in the function's name. Other functions may allocate for themselves.
// 4. What rule 1 gave for a helper that returns it.
// 5. FILE:LINE of the innermost frame with source.
// 6. The innermost function, or the image's offset, and the size.
// Where a line allows two answers, none is given by it, nor by a source that was written after the
// program was built: its lines may have moved.
#ifndef GLINT_RECORD_NAMES_H
#define GLINT_RECORD_NAMES_H

#include "base/base.h"
#include "symbols.h"

// Source files, as far as they were needed. One thread.
struct record_names;

struct record_names *record_names_create(void); // NULL when memory ran out
void record_names_destroy(struct record_names *names);

// Adds a name for an object of so many bytes to out. The frames are those of the call that made it,
// innermost first, without those of CUDA (record_runtime_fold).
void record_names_object(struct record_names *names, const struct record_symbols_frame *frames,
                         size_t count, uint64_t bytes, struct base_buf *out);

enum record_names_strength {
    RECORD_NAMES_NONE = 0,
    RECORD_NAMES_RETURNED, // a name, of a helper's variable that it returns
    RECORD_NAMES_PASSED,   // no name: the helper was given the pointer
    RECORD_NAMES_STRONG,
};

// Rules 1 to 3 on one frame: the statement at line (from 1) and column (0: not known) of a source
// text. callee is the function that the frame calls, a helper whose result or argument is wanted;
// NULL: the frame calls CUDA or something unknown. calls_driver: it calls the driver, there is no
// frame between. Adds to out where the answer is a name.
enum record_names_strength record_names_in_source(const char *text, size_t length, uint32_t line,
                                                  uint32_t column, const char *callee,
                                                  bool calls_driver, struct base_buf *out);
// The same on a text from record_ctext_clean.
enum record_names_strength record_names_in_clean(const char *text, size_t length, uint32_t line,
                                                 uint32_t column, const char *callee,
                                                 bool calls_driver, struct base_buf *out);

#endif
