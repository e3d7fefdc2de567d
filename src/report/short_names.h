// SPDX-License-Identifier: Apache-2.0
// Names of functions and kernels for people: demangled C++ names are hundreds of characters long,
// and what tells them apart at a glance is little of that. Output for programs keeps whole names.
#ifndef GLINT_REPORT_SHORT_NAMES_H
#define GLINT_REPORT_SHORT_NAMES_H

#include "base/base.h"

enum { REPORT_NAME_WIDTH = 60 }; // characters of a short name at most

// A function's name without its return type, parameters and unnamed namespaces, in at most
// REPORT_NAME_WIDTH characters: "sgemm" of "void sgemm(int, float*)". What is still too long loses,
// until it fits, the arguments of its template arguments, its template arguments
// ("cub::DeviceReduceKernel<...>"), the namespaces between the first and its own name, and then its
// middle. Control characters are written as by report_put_text. NULL gives nothing.
void report_put_function(struct base_buf *out, const char *name);

struct report_data;

// Gives all kernels their short names, no two of which are the same: those that would be are shown
// with their parameters, where these fit and differ, else numbered ("scan<...> #2") in the order of
// their whole names. False when memory ran out.
bool report_shorten_kernels(struct report_data *data);
// A kernel's short name; "a kernel" where there is none of that number.
const char *report_short_kernel(const struct report_data *data, uint32_t number);
// The same by its whole name; that name where no kernel has it.
const char *report_short_name(const struct report_data *data, const char *name);

#endif
