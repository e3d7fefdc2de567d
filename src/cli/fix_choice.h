// SPDX-License-Identifier: Apache-2.0
// What glint fix makes of a profile: the places where it suggests remedies, the user's choice of
// them, and the words for both.
#ifndef GLINT_CLI_FIX_CHOICE_H
#define GLINT_CLI_FIX_CHOICE_H

#include "cli.h"
#include "fix/fix.h"
#include "report/report.h"

// The patterns that have a remedy, for options.
#define FIX_PATTERNS                                                         \
    "unnecessary-sync misplaced-sync synchronous-transfer alloc-free-churn " \
    "early-allocation late-deallocation"

enum { CHOICE_MOST_LISTS = 32 };

struct fix_choice { // begins as {.thresholds = analyze_default_thresholds()}
    const char *only[CHOICE_MOST_LISTS], *except[CHOICE_MOST_LISTS]; // patterns and places
    unsigned only_count, except_count;
    struct analyze_thresholds thresholds;
};

// A profile and the plan that is made of it.
struct fix_subject { // begins as {0}
    struct profile *profile;
    struct analysis *analysis;
    struct fix fix;
    struct plan plan;
    struct report_paths *paths;
};

// Opens the profile and makes the plan. False after a message; fix_subject_fini is needed also
// then.
bool fix_subject_load(struct fix_subject *subject, const char *file,
                      const struct fix_choice *choice);
void fix_subject_fini(struct fix_subject *subject);

// Why there is nothing to correct, in a sentence. False: there is something.
bool fix_subject_why_nothing(const struct fix_subject *subject, struct base_buf *out);

// The plan for people: each remedy and its places, what was recorded there, and what is left alone.
void fix_subject_put(const struct fix_subject *subject, struct base_buf *out);

// How many of the places that are not left have the pattern, or (ANALYZE_PATTERNS) any.
uint64_t fix_subject_places(const struct fix_subject *subject, enum analyze_pattern pattern);

#endif
