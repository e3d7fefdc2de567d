// SPDX-License-Identifier: Apache-2.0
// The public face of src/report: a profile as text for people, as JSON for programs, and as
// findings for hosts of code. What is in the JSON is a contract, docs/json.md. One file a format;
// all of them read the profile through data.h. Nothing here opens files or knows about terminals:
// text goes to a callback in pieces.
#ifndef GLINT_REPORT_REPORT_H
#define GLINT_REPORT_REPORT_H

#include <stdbool.h>

#include "analyze/analyze.h"
#include "base/base.h"
#include "profile/profile.h"

// Takes a piece of the report; false where that failed. The bytes are only lent.
typedef base_json_write report_write;

struct report_style {
    unsigned width; // of a line, where the table can be cut to it; 0: as wide as it gets
    bool colour;
    bool wrap; // sentences too are held to the width
};

// What of a profile is told as text.
struct report_choice {
    bool verbose;     // all there is; else one screen
    size_t limit;     // most findings; 0: as many as a screen has room for, all where verbose
    const char *file; // the profile's, for the command to type next; NULL: none is told
    // Only findings of these: patterns by name, with commas in between; objects and kernels by a
    // part of their name. NULL: of all.
    const char *pattern, *object, *kernel;
};

// Findings go by the thresholds; NULL: the usual ones. Memory is needed for the objects of the
// profile, and some 100 bytes for each call. BASE_CORRUPT: the profile is damaged, which may show
// when part of the report is written; BASE_IO: write refused.
enum base_code report_text(struct profile *profile, const struct analyze_thresholds *thresholds,
                           const struct report_choice *choice, const struct report_style *style,
                           report_write *write, void *user, struct base_error *error);
enum base_code report_json(struct profile *profile, const struct analyze_thresholds *thresholds,
                           report_write *write, void *user, struct base_error *error);

// The findings as SARIF 2.1.0 (docs/ci.md), the worthiest 5,000. Source files under source_root, an
// absolute path, are told relative to it. Fails as the others.
enum base_code report_sarif(struct profile *profile, const struct analyze_thresholds *thresholds,
                            const char *source_root, report_write *write, void *user,
                            struct base_error *error);

// Where the table goes that report_github adds to a summary: one piece, of at most so many bytes,
// or of none where that is too few for anything.
struct report_summary {
    report_write *write;
    void *user;
    size_t room_bytes;
};

enum { REPORT_SUMMARY_BYTES = 1 << 20 }; // the most that the host takes

// The first ten findings as annotations of a step of GitHub Actions, the others in its summary.
enum base_code report_github(struct profile *profile, const struct analyze_thresholds *thresholds,
                             const char *source_root, report_write *write, void *user,
                             const struct report_summary *summary, struct base_error *error);

#endif
