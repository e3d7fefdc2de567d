// SPDX-License-Identifier: Apache-2.0
// Turns a profile into a plan for glint fix: finds the places where the profile suggests remedies,
// applies the user's choice, and prints both.
#ifndef GLINT_CLI_FIX_CHOICE_H
#define GLINT_CLI_FIX_CHOICE_H

#include "cli.h"
#include "fix/fix.h"
#include "report/report.h"

// Returns whether glint fix can correct what the pattern finds. Rows of options use it as
// `patterns`.
bool cli_fix_has_remedy(const struct analyze_description *pattern);
// Adds the names of those patterns.
void cli_fix_put_patterns(struct base_buf *out, const char *between);

enum { CLI_FIX_MOST_LISTS = 32 };

struct cli_fix_choice { // initialize with {.thresholds = analyze_default_thresholds()}
    const char *only[CLI_FIX_MOST_LISTS], *except[CLI_FIX_MOST_LISTS]; // patterns and places
    unsigned only_count, except_count;
    struct analyze_thresholds thresholds;
};

// A profile and the plan that is made from it.
struct cli_fix_subject { // initialize with {0}
    struct profile *profile;
    struct analysis *analysis;
    struct fix fix;
    struct plan plan;
    struct report_paths *paths;
    struct base_buf given_up; // the profile's note on why first uses were not watched; empty: none
};

// Opens the profile and makes the plan. Returns false after a message. Call cli_fix_subject_fini in
// both cases.
bool cli_fix_subject_load(struct cli_fix_subject *subject, const char *file,
                          const struct cli_fix_choice *choice);
void cli_fix_subject_fini(struct cli_fix_subject *subject);

// Appends a sentence that says why there is nothing to correct. Returns false if there is
// something.
bool cli_fix_subject_why_nothing(const struct cli_fix_subject *subject, struct base_buf *out);

// Appends the plan as text: each remedy and its places, what was recorded there, and what is left
// alone.
void cli_fix_subject_put(const struct cli_fix_subject *subject, struct base_buf *out);

// Returns how many places of the plan have the pattern; ANALYZE_PATTERNS counts all.
uint64_t cli_fix_subject_places(const struct cli_fix_subject *subject,
                                enum analyze_pattern pattern);

#endif
