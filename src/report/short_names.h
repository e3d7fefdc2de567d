// SPDX-License-Identifier: Apache-2.0
// Short names of functions and kernels for text output, because demangled C++ names can be hundreds
// of characters long. Machine-readable output keeps whole names.
#ifndef GLINT_REPORT_SHORT_NAMES_H
#define GLINT_REPORT_SHORT_NAMES_H

#include "base/base.h"

enum { REPORT_NAME_WIDTH = 60 }; // maximal number of characters of a short name

// Appends a function's name without return type, parameters and unnamed namespaces, in at most
// REPORT_NAME_WIDTH characters: "sgemm" for "void sgemm(int, float*)". A name that is too long
// loses, until it fits, the arguments of its template arguments, its template arguments
// ("cub::DeviceReduceKernel<...>"), the namespaces between the first one and the name, and then its
// middle. Control characters are escaped as by report_put_text. NULL appends nothing.
void report_put_function(struct base_buf *out, const char *name);

struct report_data;

// Gives all kernels distinct short names. Kernels whose names would be equal are shown with their
// parameters if these fit and differ, else numbered ("scan<...> #2") in the order of their whole
// names. Returns false if memory runs out.
bool report_shorten_kernels(struct report_data *data);
// Returns a kernel's short name, or "a kernel" if there is no kernel of that number.
const char *report_short_kernel(const struct report_data *data, uint32_t number);
// The same by the whole name; returns that name if no kernel has it.
const char *report_short_name(const struct report_data *data, const char *name);

// Appends a note for people: whole and mangled names of kernels are replaced by their short names,
// and other names that are too long are cut.
void report_put_note(const struct report_data *data, struct base_buf *out, const char *text);

#endif
