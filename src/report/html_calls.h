// SPDX-License-Identifier: Apache-2.0
// Shared by html_calls.c, which walks over the calls, html_touches.c, which collects what they
// accessed, and html_rest.c, which sums up calls that are not in the page. Inner header of
// src/report.
#ifndef GLINT_REPORT_HTML_CALLS_H
#define GLINT_REPORT_HTML_CALLS_H

#include "html.h"

enum { PAGE_BUCKETS = 512, PAGE_LANES = 16 };

// Work of calls that are not in the page: their number and duration in equal intervals of time, or
// of numbers of calls if times are not real.
struct page_rest {
    bool by_number;
    int64_t end; // of the intervals; the begin is 0
    uint64_t calls;
    uint32_t streams[PAGE_LANES]; // numbers; the last is for all others
    unsigned lanes;
    struct page_bucket {
        uint32_t count;
        uint64_t busy_ns;
    } buckets[PAGE_LANES][PAGE_BUCKETS];
};

void page_rest_add(struct page_rest *rest, const struct profile_call *call);
void page_rest_put(const struct page_rest *rest, struct base_json *json);

// Reads the graphs. The caller calls page_touching_free, also after a failure; NULL is allowed.
struct page_touching;
enum base_code page_touching_new(struct page *page, struct page_touching **touching,
                                 struct base_error *error);
void page_touching_free(struct page_touching *touching);
// Forgets all touches, and begins with the first call. After success or failure, the caller calls
// page_touching_end.
enum base_code page_touching_begin(struct page_touching *touching, struct base_error *error);
// Adds what a call accessed to page->touches. Calls come in the order of their numbers.
void page_touching_take(struct page_touching *touching, const struct profile_call *call);
enum base_code page_touching_end(struct page_touching *touching, struct base_error *error);
// Writes as many touches as fit.
void page_put_touches(struct page *page, size_t most_bytes);

#endif
