// SPDX-License-Identifier: Apache-2.0
// Numbers and texts for people: "1.5 GiB", "12.3 us", names without what would upset a terminal.
#ifndef GLINT_REPORT_UNITS_H
#define GLINT_REPORT_UNITS_H

#include <stddef.h>
#include <stdint.h>

#include "base/base.h"
#include "report.h" // report_put_bytes, report_put_ns

// "12.3%", rounded down: only all of it is 100%, and only nothing 0%. The whole is not 0.
void report_put_share(struct base_buf *out, uint64_t part, uint64_t whole);

// Text in which control characters, and bytes that are not UTF-8, are written as in C: \n, \x1b.
// NULL gives nothing.
void report_put_text(struct base_buf *out, const char *text);

// A path without its folders; NULL gives NULL.
const char *report_base_name(const char *path);

// How many columns the text takes, where each character takes one.
size_t report_text_width(const char *text);

#endif
