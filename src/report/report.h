// SPDX-License-Identifier: Apache-2.0
// The public header of src/report, which writes a profile as text, page, JSON, SARIF, annotations,
// trace or value flow graph. Each format has its own files; all read the profile through data.h.
// The JSON is a contract (docs/reference/json.md). Nothing here writes files or knows terminals:
// output goes to a callback.
#ifndef GLINT_REPORT_REPORT_H
#define GLINT_REPORT_REPORT_H

#include <stdbool.h>

#include "analyze/analyze.h"
#include "base/base.h"
#include "profile/profile.h"

// Takes a piece of the report; returns false if that failed. The bytes are valid only during the
// call.
typedef base_json_write report_write;

struct report_style {
    unsigned width; // of a line, to which tables are cut; 0: no limit
    bool colour;
    bool wrap; // sentences are wrapped to the width, too
};

// What the report as text shows.
struct report_choice {
    bool verbose;     // everything, not only one screen
    size_t limit;     // most findings; 0: as many as fit on a screen, all if verbose
    const char *file; // name of the profile, for the suggested next command; NULL: suggest none
    // Show only findings of these patterns, separated by commas, and on objects and kernels whose
    // name contains the text. NULL: all.
    const char *pattern, *object, *kernel;
    // Also show what fully associative caches of these sizes would serve; 0: none.
    uint64_t l1_bytes, l2_bytes;
};

struct report_rules;

// Write the report by the thresholds of the rules, without findings that these suppress. NULL: by
// the default thresholds, and with all findings. They need memory for the objects of the
// profile and about 100 bytes for each call. Fail with BASE_CORRUPT if the profile is damaged,
// perhaps after part of the report is written; with BASE_IO if `write` fails; with BASE_NO_MEMORY.
// report_text fails with BASE_NOT_FOUND if sizes of caches are chosen and the profile has no reuse
// distances.
enum base_code report_text(struct profile *profile, const struct report_rules *rules,
                           const struct report_choice *choice, const struct report_style *style,
                           report_write *write, void *user, struct base_error *error);
enum base_code report_json(struct profile *profile, const struct report_rules *rules,
                           report_write *write, void *user, struct base_error *error);
// Writes a trace in Perfetto's format (docs/guide/perfetto.md). It also needs about ten bytes for
// each flow.
enum base_code report_perfetto(struct profile *profile, const struct report_rules *rules,
                               report_write *write, void *user, struct base_error *error);

// Writes a self-contained page of at most 8,000,000 bytes (docs/guide/page.md). Reads the source
// files that findings point to if they are on this machine. Fails with BASE_UNSUPPORTED if glint
// was built without the page.
enum base_code report_html(struct profile *profile, const struct report_rules *rules,
                           report_write *write, void *user, struct base_error *error);

// Writes the 5,000 findings that are worth most as SARIF 2.1.0 (docs/guide/ci.md). Source files
// under source_root, an absolute path, are written relative to it. Fails as the others.
enum base_code report_sarif(struct profile *profile, const struct report_rules *rules,
                            const char *source_root, report_write *write, void *user,
                            struct base_error *error);

// Where report_github writes its table for a summary: in one piece of at most room_bytes, or not at
// all if that is too little.
struct report_summary {
    report_write *write;
    void *user;
    size_t room_bytes;
};

enum { REPORT_SUMMARY_BYTES = 1 << 20 }; // the most that GitHub accepts

// Writes the first ten findings as annotations of a GitHub Actions step, and the others to its
// summary.
enum base_code report_github(struct profile *profile, const struct report_rules *rules,
                             const char *source_root, report_write *write, void *user,
                             const struct report_summary *summary, struct base_error *error);

// Which part of the value flow graph is written.
struct report_flow_choice {
    // Only the slices of vertices with this number, or whose name or place contains this text.
    // NULL: everything.
    const char *slice;
    uint64_t least_bytes; // only edges of so many bytes, with their vertices; 0: all
    uint64_t least_calls; // also vertices of so many calls; 0: all, or none if least_bytes is given
};

// Writes the value flow graph (docs/reference/flow.md) in the language of Graphviz. Returns
// BASE_NOT_FOUND if there is no vertex for a slice.
enum base_code report_dot(struct profile *profile, const struct report_rules *rules,
                          const struct report_flow_choice *choice, report_write *write, void *user,
                          struct base_error *error);

// --- Job profiles -------------------------------------------------------------------------------

struct job_part;

// Sums up a profile for a job profile (src/job), by the default thresholds. The caller destroys the
// part. Fails as the reports do.
enum base_code report_job_part(struct profile *profile, struct job_part **part,
                               struct base_error *error);

// Write the report of a job that profile_open_job opened (docs/reference/job.md). The rules can
// suppress findings, but not change thresholds.
enum base_code report_job_text(struct profile *job, const struct report_rules *rules,
                               const struct report_choice *choice, const struct report_style *style,
                               report_write *write, void *user, struct base_error *error);

enum base_code report_job_json(struct profile *job, const struct report_rules *rules,
                               report_write *write, void *user, struct base_error *error);
// The page links to the pages of ranks that are in the folder: NAME.html for a profile that was
// merged as NAME.glint. Folder NULL: there are none.
enum base_code report_job_html(struct profile *job, const struct report_rules *rules,
                               const char *folder, report_write *write, void *user,
                               struct base_error *error);
enum base_code report_job_sarif(struct profile *job, const struct report_rules *rules,
                                const char *source_root, report_write *write, void *user,
                                struct base_error *error);
enum base_code report_job_github(struct profile *job, const struct report_rules *rules,
                                 const char *source_root, report_write *write, void *user,
                                 const struct report_summary *summary, struct base_error *error);

// --- Patterns ------------------------------------------------------------------------------------

// Checks that a pattern's description is complete, and that its templates can be expanded.
// BASE_INVALID, with what is missing or wrong.
enum base_code report_check_pattern(enum analyze_pattern pattern, struct base_error *error);

// --- Call paths, for callers that print their own lines ------------------------------------------

struct report_paths;

// Reads the call paths of these numbers, of which some may be 0 or repeated. The caller frees them,
// and keeps the profile open until then. Fails with BASE_CORRUPT and BASE_NO_MEMORY.
enum base_code report_paths_read(struct profile *profile, const uint32_t *numbers, size_t count,
                                 struct report_paths **paths, struct base_error *error);
void report_paths_free(struct report_paths *paths);
// Adds "solve 2mm.cu:31 < main 2mm.cu:60"; nothing if the path is unknown.
void report_paths_put(const struct report_paths *paths, uint32_t path, struct base_buf *out);
// Returns whether a function or file of the path matches the glob, as for `path` of a suppression
// (docs/reference/check.md).
bool report_paths_lead_through(const struct report_paths *paths, uint32_t path, const char *glob);

// Add a number in the form of reports: "64.0 KiB", "1.5 ms".
void report_put_bytes(struct base_buf *out, uint64_t bytes);
void report_put_ns(struct base_buf *out, uint64_t ns);

// --- Two profiles --------------------------------------------------------------------------------

struct report_diff_request {
    struct profile *profiles[2];                 // old, new
    const char *names[2];                        // of their files, for messages
    const struct analyze_thresholds *thresholds; // NULL: the defaults
    uint32_t tolerance_percent;                  // times that differ by less count as equal
    size_t most;                                 // most rows of a list, as text; 0: all
};

enum { REPORT_USUAL_TOLERANCE = 10 };

// Write what is new, gone, better and worse (docs/reference/diff.md). *differs says whether
// anything is. Fail as the reports do.
enum base_code report_diff_text(const struct report_diff_request *request,
                                const struct report_style *style, bool *differs,
                                report_write *write, void *user, struct base_error *error);
enum base_code report_diff_json(const struct report_diff_request *request, bool *differs,
                                report_write *write, void *user, struct base_error *error);

// The same for two job profiles: the rank with the most of each, and the mean, are compared.
enum base_code report_job_diff_text(const struct report_diff_request *request,
                                    const struct report_style *style, bool *differs,
                                    report_write *write, void *user, struct base_error *error);
enum base_code report_job_diff_json(const struct report_diff_request *request, bool *differs,
                                    report_write *write, void *user, struct base_error *error);

// --- Rules for a profile, for CI (docs/reference/check.md) ---------------------------------------

enum report_rule_kind {
    REPORT_RULE_FINDING, // findings of a pattern or any, by bytes off the peak or time saved
    REPORT_RULE_TRAFFIC, // findings, by the traffic that they save
    REPORT_RULE_NEW,     // findings that the baseline does not have
    REPORT_RULE_WORSE,   // findings that are worth more than in the baseline
    REPORT_RULE_PEAK,    // the highest peak
    REPORT_RULE_GROWTH,  // how much higher that is than the baseline's
    REPORT_RULE_UNUSED,  // suppressions that match no finding
};

enum report_unit { REPORT_BYTES, REPORT_NS, REPORT_MILLIPERCENT };

struct report_rule {
    enum report_rule_kind kind;
    enum analyze_pattern pattern; // ANALYZE_PATTERNS: any
    bool has_limit;               // only what exceeds `limit` breaks the rule
    enum report_unit unit;
    uint64_t limit;
    const char *text; // as it was written
};

// A finding that matches a suppression breaks no rule. At least one of the first three is set.
struct report_suppression {
    enum analyze_pattern pattern; // ANALYZE_PATTERNS: any
    const char *object;           // a glob; NULL: any
    const char *path;             // a glob for a function or file of its call paths; NULL: any
    const char *reason;
    unsigned line;
};

// Texts belong to the arena.
struct report_rules {
    struct base_arena arena;
    BASE_ARRAY(struct report_rule) rules;
    BASE_ARRAY(struct report_suppression) suppressions;
    struct analyze_thresholds thresholds;
    const char *baseline; // name of a file; NULL: none
};

void report_rules_init(struct report_rules *rules);
void report_rules_fini(struct report_rules *rules);
// Adds the rules and suppressions of a file's text. Fails with BASE_SYNTAX: "line 7: ...".
enum base_code report_rules_read(struct report_rules *rules, struct base_str text,
                                 struct base_error *error);
// Adds rules that are separated by commas. Fails with BASE_SYNTAX.
enum base_code report_rules_add(struct report_rules *rules, const char *list,
                                struct base_error *error);

// Lets queries on the profile read its findings as the table v_findings
// (docs/reference/profile.md). The caller frees the table after closing the profile.
struct report_findings_table;
enum base_code report_findings_table(struct profile *profile, const struct report_rules *rules,
                                     struct report_findings_table **out, struct base_error *error);
void report_findings_table_free(struct report_findings_table *table);

struct report_check_request {
    struct profile *profile, *baseline; // baseline NULL: none
    const char *name, *baseline_name;   // of their files, for messages
    const char *rules_name;             // of the rules' file; NULL: there is none
    const struct report_rules *rules;
};

// Write which rules are broken and by which findings; *holds says whether none is. Fail with
// BASE_INVALID if there is no rule, or one cannot be decided by this profile; otherwise as the
// reports do.
enum base_code report_check_text(const struct report_check_request *request,
                                 const struct report_style *style, bool *holds, report_write *write,
                                 void *user, struct base_error *error);
enum base_code report_check_json(const struct report_check_request *request, bool *holds,
                                 report_write *write, void *user, struct base_error *error);

// The same for a job profile, with a job profile as the baseline: a rule is broken if it is broken
// on any rank.
enum base_code report_job_check_text(const struct report_check_request *request,
                                     const struct report_style *style, bool *holds,
                                     report_write *write, void *user, struct base_error *error);
enum base_code report_job_check_json(const struct report_check_request *request, bool *holds,
                                     report_write *write, void *user, struct base_error *error);

#endif
