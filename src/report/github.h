// SPDX-License-Identifier: Apache-2.0
// What annotations of a profile and of a job have in common. Inner header of src/report.
#ifndef GLINT_REPORT_GITHUB_H
#define GLINT_REPORT_GITHUB_H

#include "data.h"

enum { REPORT_GITHUB_ANNOTATIONS = 10 }; // that a step shows of a kind

struct github {
    const struct report_data *data; // NULL: of a job
    const char *root;
    struct base_buf out;  // output of the step
    struct base_buf text; // the next cell or message
};

// Write `text` as a part of a workflow command, or as Markdown, and clear it.
void report_github_put_escaped(struct github *github, bool is_property);
void report_github_put_markdown(struct github *github, struct base_buf *out);

#endif
