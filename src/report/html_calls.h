// SPDX-License-Identifier: Apache-2.0
// What html_calls.c, which walks over the calls, shares with html_rest.c, which sums up those that
// are not in the page. Inner header of src/report.
#ifndef GLINT_REPORT_HTML_CALLS_H
#define GLINT_REPORT_HTML_CALLS_H

#include "html.h"

enum { PAGE_BUCKETS = 512, PAGE_LANES = 16 };

// Work of calls that are not in the page: how many, and for how long, in equal parts of the time.
struct page_rest {
    int64_t last_ns; // time ends here; it begins at 0
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

#endif
