// SPDX-License-Identifier: Apache-2.0
// Names objects by the expression that the program's source assigns their memory to. A name that
// the program itself gave takes precedence and is not handled here.
//
// The first of these rules that yields a name applies:
// 1. The statement of the innermost frame with source calls a CUDA allocation function: its pointer
//    argument, without & and casts. cudaMalloc((void **)&p->data[i], n) gives p->data[i]. If the
//    frame calls the driver directly, the function pointer may have any name:
//    CHECK(api->get_memory(&x, n)) gives x, if x is the only variable whose address is the first
//    argument of a call, or the only one in a call of a name that contains alloc or create.
// 2. That frame is a helper, because it passes on a pointer that it received (cudaMalloc(out, n)),
//    or returns what it allocated (return p): the variable in the caller's statement that receives
//    the helper's result (float *x = make(n) gives x) or is its only argument with & (make(&x, n)).
//    The caller may be a helper too.
//    A class gives the memory to a member (cudaMalloc(&data_, n)) in a constructor, or in a method
//    if the name is spelled like that of a member (data_, m_data, this->data): what the caller
//    constructs, or whose method it calls, with the member (buffer<float> x(n) gives x.data_).
//    The pointer may be part of what the helper returns or gets: cudaMalloc(&m.data, n) in a helper
//    that returns m, or cudaMalloc(&m->data, n) in one whose parameter is m, is the caller's
//    variable with that part: matrix a = make(n) gives a.data, and so does make(&a, n).
// 3. The source of the helper is unknown: x = some_alloc(n) gives x, and so does float *x = make(n)
//    if the function's name contains make, create or new. Other functions may allocate for their
//    own use.
//    A library of templates (profile_is_library_frame) allocates for the variable that a statement
//    constructs (thrust::device_vector<int> x(n)) or whose method it calls (x.resize(n)).
// 4. The name that rule 1 gave in a helper that returns it.
// 5. FILE:LINE of the innermost frame with source that is not of such a library.
// 6. The innermost function that is not of such a library, or the image and offset, and the size.
// In a path through Python code, names_python.h applies to its lines first.
// A line with two possible answers yields no name. Neither does a source file that is newer than
// the program: its lines may have moved.
#ifndef GLINT_RECORD_NAMES_H
#define GLINT_RECORD_NAMES_H

#include "base/base.h"
#include "symbols.h"

// A cache of source files, read when first needed. Used by one thread.
struct record_names;

struct record_names *record_names_create(void); // NULL if memory ran out
void record_names_destroy(struct record_names *names);

// Adds a name for objects to out. The frames are those of the call that made them, innermost first,
// without CUDA's (record_runtime_fold). Returns false if the name is to end with the object's size.
bool record_names_object(struct record_names *names, const struct record_symbols_frame *frames,
                         size_t count, struct base_buf *out);

enum record_names_strength {
    RECORD_NAMES_NONE = 0,
    RECORD_NAMES_RETURNED, // a name: the variable that a helper returns
    RECORD_NAMES_PASSED,   // no name: the helper received the pointer
    RECORD_NAMES_STRONG,
};

// Applies rules 1 to 3 to one frame: the statement at line (from 1) and column (0: unknown) of a
// source text. callee is the helper that the frame calls; NULL if it calls CUDA or an unknown
// function. calls_driver says that it calls the driver directly. Adds to out if the answer is a
// name.
enum record_names_strength record_names_in_source(const char *text, size_t length, uint32_t line,
                                                  uint32_t column, const char *callee,
                                                  bool calls_driver, struct base_buf *out);
// Applies the part of rule 3 about libraries, to a text from record_ctext_clean; callee is the
// library's function, or class, that the statement calls. Returns NONE or STRONG.
enum record_names_strength record_names_of_library(const char *text, size_t length, uint32_t line,
                                                   uint32_t column, const char *callee,
                                                   struct base_buf *out);
// How a function passes a variable to its caller.
struct record_names_owner {
    enum { RECORD_NAMES_KEPT, RECORD_NAMES_RETURNS, RECORD_NAMES_PARAMETER } kind;
    unsigned parameter; // its number, from 0
};
// Returns that of the variable with which `name` begins, in the function of that line. The text is
// from record_ctext_clean, as below.
struct record_names_owner record_names_owner_of(const char *text, size_t length, uint32_t line,
                                                const char *name);
// Adds the expression in the caller that stands for what `owner` says of the callee. RETURNED: the
// caller returns it itself, and nothing is added. Sets *is_address if the callee gets its address.
enum record_names_strength record_names_of_owner(const char *text, size_t length, uint32_t line,
                                                 uint32_t column, const char *callee,
                                                 struct record_names_owner owner,
                                                 struct base_buf *out, bool *is_address);

// Does the same as record_names_in_source for a text from record_ctext_clean.
enum record_names_strength record_names_in_clean(const char *text, size_t length, uint32_t line,
                                                 uint32_t column, const char *callee,
                                                 bool calls_driver, struct base_buf *out);

#endif
