// SPDX-License-Identifier: Apache-2.0
// What glint fix makes of a profile: the places where it suggests remedies, the user's choice of
// them, and the words for both.
#ifndef GLINT_CLI_FIX_CHOICE_H
#define GLINT_CLI_FIX_CHOICE_H

#include "cli.h"
#include "fix/fix.h"
#include "report/report.h"

// The patterns that have a remedy, for options.
#define CLI_FIX_PATTERNS                                                     \
    "unnecessary-sync misplaced-sync synchronous-transfer alloc-free-churn " \
    "early-allocation late-deallocation"

enum { CLI_FIX_MOST_LISTS = 32 };

struct cli_fix_choice { // begins as {.thresholds = analyze_default_thresholds()}
    const char *only[CLI_FIX_MOST_LISTS], *except[CLI_FIX_MOST_LISTS]; // patterns and places
    unsigned only_count, except_count;
    struct analyze_thresholds thresholds;
};

// A profile and the plan that is made of it.
struct cli_fix_subject { // begins as {0}
    struct profile *profile;
    struct analysis *analysis;
    struct fix fix;
    struct plan plan;
    struct report_paths *paths;
};

// Opens the profile and makes the plan. False after a message; cli_fix_subject_fini is needed also
// then.
bool cli_fix_subject_load(struct cli_fix_subject *subject, const char *file,
                          const struct cli_fix_choice *choice);
void cli_fix_subject_fini(struct cli_fix_subject *subject);

// Why there is nothing to correct, in a sentence. False: there is something.
bool cli_fix_subject_why_nothing(const struct cli_fix_subject *subject, struct base_buf *out);

// The plan for people: each remedy and its places, what was recorded there, and what is left alone.
void cli_fix_subject_put(const struct cli_fix_subject *subject, struct base_buf *out);

// How many of the places that are not left have the pattern, or (ANALYZE_PATTERNS) any.
uint64_t cli_fix_subject_places(const struct cli_fix_subject *subject,
                                enum analyze_pattern pattern);

#endif
