// SPDX-License-Identifier: Apache-2.0
// The description of a pattern: everything that is specific to it, in one constant of one file of
// src/analyze/patterns. Command lines, reports, schemas, the page and docs/reference/patterns.md
// are derived from it. Other parts get this header by analyze.h.
//
// A new pattern is a file in src/analyze/patterns and a line in patterns.def; CONTRIBUTING.md walks
// through both.
#ifndef GLINT_ANALYZE_PATTERN_H
#define GLINT_ANALYZE_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum analyze_pattern {
#define PATTERN(enumerator, file) ANALYZE_##enumerator,
#include "patterns.def"
#undef PATTERN
    ANALYZE_PATTERNS // the number of patterns; also "any" or "none" where a pattern is expected
};

// --- What a pattern needs ------------------------------------------------------------------------

// What must be recorded, beside calls, which always are: INPUT(ENUMERATOR, WORD, PROBES). WORD is
// that of `glint record --analyses`, PROBES the facts that probes collect for it, a sum of
// PROFILE_PROBE_*. objects: which objects a launch accesses; elements: which of their elements;
// counts: how often; values: what they hold, and which stores change nothing; requests: what warps
// take to reach memory; shared: how often words of shared memory are loaded and stored; cache: what
// the caches serve, by a model; sync: when the CPU first uses what the GPU produced.
#define ANALYZE_INPUT_TABLE(INPUT)                                                                 \
    INPUT(OBJECTS, "objects", PROFILE_PROBE_OBJECTS)                                               \
    INPUT(ELEMENTS, "elements", PROFILE_PROBE_OBJECTS | PROFILE_PROBE_ELEMENTS)                    \
    INPUT(COUNTS, "counts", PROFILE_PROBE_OBJECTS | PROFILE_PROBE_ELEMENTS | PROFILE_PROBE_COUNTS) \
    INPUT(VALUES, "values", PROFILE_PROBE_OBJECTS | PROFILE_PROBE_VALUES)                          \
    INPUT(REQUESTS, "requests", PROFILE_PROBE_OBJECTS | PROFILE_PROBE_REQUESTS)                    \
    INPUT(SHARED, "shared", PROFILE_PROBE_OBJECTS | PROFILE_PROBE_SHARED)                          \
    INPUT(CACHE, "cache", PROFILE_PROBE_OBJECTS | PROFILE_PROBE_CACHE)                             \
    INPUT(SYNC, "sync", 0)

enum analyze_input {
#define INPUT(enumerator, word, probes) ANALYZE_INPUT_##enumerator,
    ANALYZE_INPUT_TABLE(INPUT)
#undef INPUT
        ANALYZE_INPUTS
};

// The word of --analyses: "objects".
const char *analyze_input_name(enum analyze_input input);
// The facts that probes must collect for it: a sum of PROFILE_PROBE_*; 0 if it needs no probes.
uint32_t analyze_input_probes(enum analyze_input input);
// Returns whether a pattern needs the input. Others only fill the profile.
bool analyze_input_is_needed(enum analyze_input input);

struct analyze_threshold {
    const char *name;    // "early-apis", as --threshold takes it
    const char *unit;    // what the number counts, in the plural: "GPU APIs"
    uint32_t value;      // the default
    const char *meaning; // a phrase: "at least this many between allocation and first access"
};

enum { ANALYZE_MOST_THRESHOLDS = 64 };        // of all patterns together
enum { ANALYZE_MOST_PATTERN_THRESHOLDS = 8 }; // of one pattern

// --- What its findings say -----------------------------------------------------------------------

// The calls that a finding may refer to.
enum analyze_role {
    ANALYZE_CALL,       // the call that should be moved, changed or removed
    ANALYZE_OTHER_CALL, // finding.other_call
    ANALYZE_LAST_CALL,  // finding.last_call
    ANALYZE_ROLES
};

// What such a call does in the pattern; all NULL if findings of the pattern have no such call.
struct analyze_role_text {
    const char *label; // a participle, for the page: "first used"
    const char *noun;  // for other reports: "the first access"
};

// The part of an object's life that is waste, which the page hatches.
enum analyze_waste {
    ANALYZE_WASTE_NONE,
    ANALYZE_WASTE_BEFORE_FIRST_USE, // from the allocation to the first access
    ANALYZE_WASTE_UNTIL_FREE,       // from the last access to the free, which is marked
    ANALYZE_WASTE_AFTER_LAST_USE,   // from the last access, or the allocation, to the end
    ANALYZE_WASTE_BETWEEN_CALLS,    // from `call` to `other_call`
};

// How a field of a finding is stored, and how it is written. JSON has all of them as `evidence`.
enum analyze_field_type {
    ANALYZE_NUMBER_OF_CALL,   // uint64_t; 0: null
    ANALYZE_NUMBER_OF_OBJECT, // uint64_t
    ANALYZE_COUNT,            // uint64_t, of `unit`
    ANALYZE_BYTES,            // uint64_t
    ANALYZE_NS,               // uint64_t
    ANALYZE_REAL,             // double: a part of 1
    ANALYZE_FLAG,             // bool
    ANALYZE_PATH,             // uint32_t: a call path of the profile; 0: unknown
    ANALYZE_WORD,             // const char *: one of `values`; NULL: null
    ANALYZE_HISTOGRAM,        // const struct profile_counts *: its bins
    ANALYZE_RANGES,           // const struct profile_counts *: its hottest ranges
    ANALYZE_VALUE,            // struct analyze_value: what an element holds
    ANALYZE_LINE,             // struct analyze_line: a line of the source
    ANALYZE_NAME,             // const char *: what the source calls something; NULL: unknown
    ANALYZE_FIELD_TYPES
};

// A value as struct profile_value_field has it, of a type: enum profile_value_type.
struct analyze_value {
    uint64_t bits;
    uint32_t type;
};

struct analyze_line {
    const char *file;      // NULL: unknown
    uint32_t line, column; // column 0: unknown
};

struct analyze_field {
    const char *name;    // "first_access"
    const char *meaning; // for docs/reference/patterns.md; NULL: only templates use the field
    enum analyze_field_type type;
    size_t offset;      // in struct analyze_finding, payload included
    size_t known;       // offset of a bool that says whether the value is known; 0: it always is
    bool only_if_known; // left out of JSON, rather than null, where it is not known
    uint64_t least;     // least possible value, for the JSON Schema
    const char *unit;   // of a count, in the singular: "element"
    const char *values; // all values of a word, separated by blanks
    struct analyze_role_text place; // of a path: what is there
};

// The type and offset of a field that all findings have, or that the pattern's own payload has, as
// initializers. A member of another C type than the field's is a compile error.
#define ANALYZE_SHARED(kind, member)                     \
    .type = ANALYZE_##kind,                              \
    .offset = offsetof(struct analyze_finding, member) + \
              ANALYZE_SAME_TYPE(ANALYZE_C_TYPE_##kind, struct analyze_finding, member)
#define ANALYZE_OWN(kind, payload_type, member)                                            \
    .type = ANALYZE_##kind,                                                                \
    .offset = offsetof(struct analyze_finding, payload) + offsetof(payload_type, member) + \
              ANALYZE_SAME_TYPE(ANALYZE_C_TYPE_##kind, payload_type, member)
#define ANALYZE_KNOWN_IF(payload_type, member)                                            \
    .known = offsetof(struct analyze_finding, payload) + offsetof(payload_type, member) + \
             ANALYZE_SAME_TYPE(bool, payload_type, member)
#define ANALYZE_SAME_TYPE(c_type, struct_type, member)                                         \
    (0 *                                                                                       \
     sizeof(                                                                                   \
         char[__builtin_types_compatible_p(__typeof__(((struct_type *)0)->member), c_type) ? 1 \
                                                                                           : -1]))
#define ANALYZE_C_TYPE_NUMBER_OF_CALL   uint64_t
#define ANALYZE_C_TYPE_NUMBER_OF_OBJECT uint64_t
#define ANALYZE_C_TYPE_COUNT            uint64_t
#define ANALYZE_C_TYPE_BYTES            uint64_t
#define ANALYZE_C_TYPE_NS               uint64_t
#define ANALYZE_C_TYPE_REAL             double
#define ANALYZE_C_TYPE_FLAG             bool
#define ANALYZE_C_TYPE_PATH             uint32_t
#define ANALYZE_C_TYPE_WORD             const char *
#define ANALYZE_C_TYPE_HISTOGRAM        const struct profile_counts *
#define ANALYZE_C_TYPE_RANGES           const struct profile_counts *
#define ANALYZE_C_TYPE_VALUE            struct analyze_value
#define ANALYZE_C_TYPE_LINE             struct analyze_line
#define ANALYZE_C_TYPE_NAME             const char *

// --- The description -----------------------------------------------------------------------------

struct analyze_run;
struct analyze_remedies;

struct analyze_description {
    const char *name;       // "early-allocation"
    const char *title;      // "Allocated too early"
    const char *definition; // a sentence: what the pattern is
    const char *remedy;     // a sentence: what to do about it
    const char *paper;      // where the definition comes from: "DrGPUM, definition 3.1"

    enum analyze_input needs;
    bool needs_no_probes; // found in every recording; `needs` only says where lists show it
    bool takes_arguments; // also found in what launches without probes are known to be passed
    bool survives_losses; // found also where calls or objects are missing in the profile
    bool is_about_kernel; // findings name a kernel; of different kernels, they are not alike
    bool changes_kernel;  // the remedy changes the kernel's code: not found in NVIDIA's libraries
    bool is_about_object; // matches on one object are alike, whatever the calls are
    bool is_at_line;      // findings are at the field "line", in a kernel, rather than at the call
    bool is_trade_off;    // following it costs something: not part of the achievable peak
    const char
        *correction; // what `glint fix` does about it: "the copy does not wait"; NULL: nothing
    enum analyze_waste waste;
    struct analyze_role_text roles[ANALYZE_ROLES];
    const char *other_object; // label of finding.other_object; NULL: findings have none

    // Ended by NULL, and by a field without a name.
    const struct analyze_threshold *thresholds[ANALYZE_MOST_PATTERN_THRESHOLDS + 1];
    const struct analyze_field *fields; // NULL: none

    // Templates of src/report/template.h: what is wrong, and what to do, without a full stop.
    const char *message, *suggestion;

    // Finds the pattern: one of the two. Patterns of waits add remedies, which are replayed
    // together.
    void (*find)(struct analyze_run *run);
    void (*find_remedies)(struct analyze_remedies *remedies);
};

#define PATTERN(enumerator, file) extern const struct analyze_description analyze_##file;
#include "patterns.def"
#undef PATTERN

const struct analyze_description *analyze_describe(enum analyze_pattern pattern);
const char *analyze_pattern_word(enum analyze_pattern pattern); // its name
// The pattern of that name, of `length` bytes; ANALYZE_PATTERNS if there is none.
enum analyze_pattern analyze_find_pattern(const char *name, size_t length);
// Fills a list of the names of all patterns.
void analyze_list_patterns(const char *names[ANALYZE_PATTERNS]);

#endif
