// SPDX-License-Identifier: Apache-2.0
// Compares two profiles of a program: matches what is in both by names and call paths, never by
// addresses or numbers, and says how it changed. Inner header of src/report.
#ifndef GLINT_REPORT_DIFF_H
#define GLINT_REPORT_DIFF_H

#include "data.h"

enum report_diff_kind {
    REPORT_DIFF_FINDING,
    REPORT_DIFF_OBJECT,
    REPORT_DIFF_KERNEL,
    REPORT_DIFF_COPY,
    REPORT_DIFF_WAIT,
    REPORT_DIFF_KINDS
};

// Everything with one key in one profile: objects of one name and call path, launches of one
// kernel.
struct report_diff_side {
    uint64_t count;      // 0: absent
    uint64_t bytes;      // total
    uint64_t peak_bytes; // part of the highest peak; for a finding, bytes off it
    uint64_t traffic_bytes;
    uint64_t ns;
    bool timed;                            // ns is known of all
    bool implicit;                         // a wait that is not a synchronization call
    const char *name;                      // for messages; NULL: none
    uint32_t path;                         // 0: none
    uint8_t object_kind;                   // enum profile_object_kind
    const struct analyze_finding *finding; // the most valuable one
};

enum report_diff_change {
    REPORT_DIFF_WORSE,
    REPORT_DIFF_BETTER,
    REPORT_DIFF_NEW,
    REPORT_DIFF_GONE,
    REPORT_DIFF_SAME,
    REPORT_DIFF_CHANGES
};

enum report_diff_unit { REPORT_DIFF_COUNT, REPORT_DIFF_BYTES, REPORT_DIFF_NS };

struct report_diff_measure {
    const char *word;
    enum report_diff_unit unit;
    uint64_t (*value)(const struct report_diff_side *side);
};

struct report_diff_item {
    enum report_diff_kind kind;
    enum report_diff_change change;
    struct report_diff_side sides[2];          // old, new
    const struct report_diff_measure *measure; // the measure that decided on the change
    const char *key;                           // orders rows independently of which profile is old
};

struct report_diff_sum { // a row of the summary
    const char *name;
    enum report_diff_unit unit;
    uint64_t values[2];
    bool known; // both values are known
    bool differs;
};

enum { REPORT_DIFF_SUMS = 10 };

struct report_diff {
    struct report_data data[2]; // old, new
    struct base_arena arena;
    BASE_ARRAY(struct report_diff_item) items; // by kind, then what changed most first
    uint64_t same[REPORT_DIFF_KINDS]; // number of unchanged items, which are not in the array
    struct report_diff_sum sums[REPORT_DIFF_SUMS];
    BASE_ARRAY(const char *) notes; // say what cannot be compared
    bool timed;                     // times of both are real, and are compared
};

// Loads and compares both profiles. The diff starts as {0}; the caller calls report_diff_fini, also
// after a failure.
enum base_code report_diff_load(struct report_diff *diff, const struct report_diff_request *request,
                                struct base_error *error);
void report_diff_fini(struct report_diff *diff);

// Returns whether nothing differs.
bool report_diff_is_empty(const struct report_diff *diff);
const char *report_diff_kind_word(enum report_diff_kind kind);       // "object"
const char *report_diff_change_word(enum report_diff_change change); // "worse"
// Returns the measures of a kind, the most important first; ended by a row without a word.
const struct report_diff_measure *report_diff_measures(enum report_diff_kind kind);
// Returns the side that describes the item: the new one if there is one.
const struct report_diff_side *report_diff_shown(const struct report_diff_item *item,
                                                 unsigned *which);

// --- diff_sums.c ---------------------------------------------------------------------------------

uint64_t report_diff_add_up(uint64_t one, uint64_t other); // saturates at UINT64_MAX
// Times differ if they differ by more than measurements vary: by a share of the larger one, and by
// at least least_ns, which is larger for waits of the host.
enum { REPORT_DIFF_LEAST_NS = 10000, REPORT_DIFF_LEAST_WAIT_NS = 100000 };
bool report_diff_times_differ(uint64_t one, uint64_t other, uint32_t tolerance_percent,
                              uint64_t least_ns);
void report_diff_sum_up(struct report_diff *diff, uint32_t tolerance_percent);
// Returns false if memory runs out.
bool report_diff_add_notes(struct report_diff *diff, const char *const names[2]);

// --- diff_keys.c: when two things of two profiles are the same -----------------------------------

// Each tier is weaker than the one before it.
enum report_diff_tier {
    REPORT_DIFF_BY_LINES,     // functions, files without their folders, and lines of all frames
    REPORT_DIFF_BY_FUNCTIONS, // the same without lines, which shift when a source is edited
    REPORT_DIFF_BY_PLACE,     // only the innermost frame with a source, for named things
    REPORT_DIFF_BY_FUNCTION,  // the same without its file, which may have been renamed
    REPORT_DIFF_TIERS
};

// Appends a text that identifies the call path.
void report_diff_put_path(const struct report_data *data, uint32_t path, enum report_diff_tier tier,
                          struct base_buf *out);
// Appends a text that identifies the line of a kernel; nothing if it is unknown.
void report_diff_put_line(struct analyze_line line, enum report_diff_tier tier,
                          struct base_buf *out);
// Appends the object's name unless it is made of its source line or size.
void report_diff_put_object(const struct report_data *data, uint64_t object, struct base_buf *out);
bool report_diff_has_name(const struct report_object *object);
// Appends a kernel's name; in the weakest tiers without template arguments and parameters.
void report_diff_put_kernel(const char *name, enum report_diff_tier tier, struct base_buf *out);

#endif
