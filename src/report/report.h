// SPDX-License-Identifier: Apache-2.0
// The public face of src/report: a profile as text or a page for people, as JSON for programs, and
// as findings for hosts of code. What is in the JSON is a contract, docs/json.md. One file a
// format; all of them read the profile through data.h. Nothing here writes files or knows about
// terminals: text goes to a callback in pieces.
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
// A trace in Perfetto's format, docs/perfetto.md. Memory is needed for flows too, some ten bytes
// each.
enum base_code report_perfetto(struct profile *profile, const struct analyze_thresholds *thresholds,
                               report_write *write, void *user, struct base_error *error);

// A page that needs nothing else to be opened, of at most 8,000,000 bytes (docs/page.md). Reads the
// source files that findings point to, where they are on this machine. BASE_UNSUPPORTED: glint was
// built without the page.
enum base_code report_html(struct profile *profile, const struct analyze_thresholds *thresholds,
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

// --- Patterns ------------------------------------------------------------------------------------

// Checks that a pattern's description is complete, and that its templates can be expanded.
// BASE_INVALID, with what is missing or wrong.
enum base_code report_check_pattern(enum analyze_pattern pattern, struct base_error *error);

// --- Call paths, for who prints lines of his own -------------------------------------------------

struct report_paths;

// Those of the numbers, of which some may be 0 or come twice; they need the profile open.
// BASE_CORRUPT, BASE_NO_MEMORY.
enum base_code report_paths_read(struct profile *profile, const uint32_t *numbers, size_t count,
                                 struct report_paths **paths, struct base_error *error);
void report_paths_free(struct report_paths *paths);
// "solve 2mm.cu:31 < main 2mm.cu:60"; nothing where nothing is known.
void report_paths_put(const struct report_paths *paths, uint32_t path, struct base_buf *out);
// A function or file of the path matches the glob, as `path` of a suppression does (docs/check.md).
bool report_paths_lead_through(const struct report_paths *paths, uint32_t path, const char *glob);

// Numbers as reports have them: "64.0 KiB", "1.5 ms".
void report_put_bytes(struct base_buf *out, uint64_t bytes);
void report_put_ns(struct base_buf *out, uint64_t ns);

// --- Two profiles --------------------------------------------------------------------------------

struct report_diff_request {
    struct profile *profiles[2];                 // old, new
    const char *names[2];                        // of their files, for people
    const struct analyze_thresholds *thresholds; // NULL: the usual ones
    uint32_t tolerance_percent;                  // by which times may differ and count as equal
    size_t most;                                 // rows of a list of the text; 0: all
};

enum { REPORT_USUAL_TOLERANCE = 10 };

// What is new, gone, better and worse (docs/diff.md). *differs: anything is. Fails as the reports.
enum base_code report_diff_text(const struct report_diff_request *request,
                                const struct report_style *style, bool *differs,
                                report_write *write, void *user, struct base_error *error);
enum base_code report_diff_json(const struct report_diff_request *request, bool *differs,
                                report_write *write, void *user, struct base_error *error);

// --- Rules for a profile, for gates in CI (docs/check.md) ----------------------------------------

enum report_rule_kind {
    REPORT_RULE_FINDING, // findings of a pattern, or any; by what they take off the peak or save
    REPORT_RULE_TRAFFIC, // findings by the traffic that they save
    REPORT_RULE_NEW,     // findings that the baseline does not have
    REPORT_RULE_WORSE,   // findings that weigh more than in the baseline
    REPORT_RULE_PEAK,    // the highest peak
    REPORT_RULE_GROWTH,  // by how much it is above the baseline's
    REPORT_RULE_UNUSED,  // suppressions that suppress nothing
};

enum report_unit { REPORT_BYTES, REPORT_NS, REPORT_MILLIPERCENT };

struct report_rule {
    enum report_rule_kind kind;
    enum analyze_pattern pattern; // ANALYZE_PATTERNS: any
    bool has_limit;               // only what is above it breaks the rule
    enum report_unit unit;
    uint64_t limit;
    const char *text; // as it was written
};

// A finding that it matches breaks no rule. Of the first three at least one is there.
struct report_suppression {
    enum analyze_pattern pattern; // ANALYZE_PATTERNS: any
    const char *object;           // a glob; NULL: any
    const char *path;             // a glob for a function or file of its call paths; NULL: any
    const char *reason;
    unsigned line;
};

// Begins as {0}; texts are the arena's.
struct report_rules {
    struct base_arena arena;
    BASE_ARRAY(struct report_rule) rules;
    BASE_ARRAY(struct report_suppression) suppressions;
    struct analyze_thresholds thresholds;
    const char *baseline; // a file; NULL: none
};

void report_rules_init(struct report_rules *rules);
void report_rules_fini(struct report_rules *rules);
// Adds what the text of a file says. BASE_SYNTAX, with "line 7: ...".
enum base_code report_rules_read(struct report_rules *rules, struct base_str text,
                                 struct base_error *error);
// Adds rules with commas between. BASE_SYNTAX.
enum base_code report_rules_add(struct report_rules *rules, const char *list,
                                struct base_error *error);

struct report_check_request {
    struct profile *profile, *baseline; // baseline NULL: none
    const char *name, *baseline_name;   // of their files, for people
    const char *rules_name;             // of the rules' file; NULL: there is none
    const struct report_rules *rules;
};

// Tells which rules are broken, and by what; *holds: none is. BASE_INVALID: a rule cannot be
// decided by this profile, or there is none. Else fails as the reports.
enum base_code report_check_text(const struct report_check_request *request,
                                 const struct report_style *style, bool *holds, report_write *write,
                                 void *user, struct base_error *error);
enum base_code report_check_json(const struct report_check_request *request, bool *holds,
                                 report_write *write, void *user, struct base_error *error);

#endif
