// SPDX-License-Identifier: Apache-2.0
// Shared by the tests of src/report: cmocka with the headers that must precede it, the text that a
// routine writes, and a report in any format.
#ifndef GLINT_TESTS_REPORT_TESTING_H
#define GLINT_TESTS_REPORT_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/base.h"
#include "report/report.h"

// Compares the written text and empties the buffer.
static inline void check_written(struct base_buf *out, const char *wanted)
{
    assert_false(out->failed);
    assert_string_equal(out->text ? out->text : "", wanted);
    base_buf_fini(out);
    *out = (struct base_buf){0};
}

enum format { TEXT, JSON, SARIF, GITHUB, PERFETTO, DOT, HTML, FORMATS };

static inline enum base_code report_in(enum format format, struct profile *profile,
                                       report_write *write, void *user, struct base_error *error)
{
    const struct report_summary summary = {write, user, REPORT_SUMMARY_BYTES};
    switch (format) {
    case JSON: return report_json(profile, NULL, write, user, error);
    case SARIF: return report_sarif(profile, NULL, "/", write, user, error);
    case GITHUB: return report_github(profile, NULL, "/", write, user, &summary, error);
    case HTML: return report_html(profile, NULL, write, user, error);
    case DOT:
        return report_dot(profile, NULL, &(struct report_flow_choice){.slice = "add"}, write, user,
                          error);
    case PERFETTO: return report_perfetto(profile, NULL, write, user, error);
    default:
        return report_text(profile, NULL, &(struct report_choice){.verbose = true},
                           &(struct report_style){.width = 100}, write, user, error);
    }
}

#endif
