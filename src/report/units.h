// SPDX-License-Identifier: Apache-2.0
// Formats numbers and texts for output: "1.5 GiB", "12.3 us", names with control characters
// escaped.
#ifndef GLINT_REPORT_UNITS_H
#define GLINT_REPORT_UNITS_H

#include <stddef.h>
#include <stdint.h>

#include "base/base.h"
#include "report.h" // report_put_bytes, report_put_ns

// Appends "12.3%", rounded down, so that only the whole is 100%. A part other than 0 is never 0%.
// The whole must not be 0.
void report_put_share(struct base_buf *out, uint64_t part, uint64_t whole);

// Appends text with control characters and invalid UTF-8 escaped as in C: \n, \x1b. NULL appends
// nothing.
void report_put_text(struct base_buf *out, const char *text);

// Appends what an element holds: "-1.5", "0x3f800000" if its type is unknown, "nan". A float has
// just as many digits as distinguish it from others of its type.
void report_put_value(struct base_buf *out, struct analyze_value value);

// Returns the last component of a path; NULL for NULL.
const char *report_base_name(const char *path);

// Returns how many columns the text takes, if each character takes one.
size_t report_text_width(const char *text);

#endif
