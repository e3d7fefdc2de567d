// SPDX-License-Identifier: Apache-2.0
// Suppressions of findings (docs/reference/check.md). Inner header of src/report.
#ifndef GLINT_REPORT_SUPPRESS_H
#define GLINT_REPORT_SUPPRESS_H

#include "data.h"

// Returns whether the glob matches the whole name, or the name without template arguments and
// parameters; and whether it matches the whole path of a file or its end after any slash, with or
// without the line.
bool report_matches_function(const char *glob, const char *function);
bool report_matches_file(const char *glob, const char *file, uint32_t line);

// Returns whether a function or file of the path matches the glob (docs/reference/check.md,
// `path`).
bool report_is_on_path(const struct report_data *data, const char *glob, uint32_t path);

// Returns whether the suppression matches the finding.
bool report_is_suppressed_by(const struct report_data *data, const struct report_suppression *row,
                             const struct analyze_finding *finding);

// As report_data_load, by the thresholds of the rules; NULL: the defaults. Removes the findings
// that the rules suppress, and adds a note that says how many.
enum base_code report_data_load_by(struct report_data *data, struct profile *profile,
                                   const struct report_rules *rules, struct base_error *error);

#endif
