// SPDX-License-Identifier: Apache-2.0
// What calls read and write: the values that objects hold at the borders of calls, from the rows of
// the model. docs/reference/values.md defines them. Inner header of src/analyze.
#ifndef GLINT_ANALYZE_VALUES_H
#define GLINT_ANALYZE_VALUES_H

#include "analyses.h"

// --- Thresholds that several patterns share (value_fields.c) -------------------------------------

extern const struct analyze_threshold analyze_value_elements, analyze_frequent_percent,
    analyze_linear_percent;

// --- Reads and writes (values.c) -----------------------------------------------------------------

// What one call reads from an object or writes to it.
struct analyze_value_use {
    uint32_t call, object;    // indices
    uint32_t writer;          // index of the call that wrote the values; NONE: several, unknown
    uint32_t kernel;          // number; 0: it is a copy
    bool is_read;             // else it writes them
    bool is_kernel;           // else a copy
    bool is_from_host;        // a copy from the host
    bool is_border;           // the call may use values that were not seen, in between
    bool is_confirmed;        // it may, but what its loads or stores moved agrees
    bool is_changed;          // of a read: the launch changes what it reads
    bool is_whole;            // the rows describe nearly nothing but what it uses
    uint64_t bytes;           // that it reads or writes, if each byte only once
    bool may_be_less;         // `bytes` is an upper bound
    uint64_t unwritten_bytes; // that the rows describe, but the launch does not write
    const struct profile_contents *const *rows; // which describe the values; at least one
    uint32_t row_count;
};

// Calls `take` for all reads and writes whose values are known, in the order of calls. Those of
// sets are left out: they are all of one value.
typedef void analyze_take_use(struct analyze_run *run, const struct analyze_value_use *use,
                              void *state);
void analyze_walk_values(struct analyze_run *run, analyze_take_use *take, void *state);

// Returns whether contents of the object are only changed by calls, so that rows can describe them.
bool analyze_has_values(const struct analyze_object *object);

// Returns the bytes that a launch, or a node of a graph, stored to the object, as far as they were
// counted.
uint64_t analyze_stored_bytes(const struct analyze_model *model, uint32_t call, uint32_t node,
                              uint32_t object);

// --- Fields (value_fields.c) ---------------------------------------------------------------------

// What the elements of one field hold, in all rows of a use together.
struct analyze_values {
    enum profile_value_type type;
    uint64_t offset, size_bytes; // in the structure, and of one element
    bool is_member;              // the layout has other fields
    bool is_one_row;             // `field` describes all elements
    bool is_same;                // all elements are the same bits: `value`, stored as `stored_bits`
    bool is_zero;                // all elements are 0, of either sign
    uint64_t value, stored_bits;
    uint64_t elements, nans;
    uint64_t used_elements;   // fewer than `elements` if the call uses a part of what rows describe
    uint64_t unwritten;       // of `elements`, those that a launch does not write
    uint64_t least, greatest; // of those that are numbers
    uint64_t integral, narrow, brief;        // as in FACTS_VALUE_FIELD
    uint64_t bytes;                          // of the use, in this field
    const struct profile_value_field *field; // of the first row that has elements
};

uint32_t analyze_value_size(enum profile_value_type type); // in bytes
bool analyze_is_float(enum profile_value_type type);

// Returns false if there is no such field, or the rows disagree about it.
bool analyze_all_values_of(const struct analyze_run *run, const struct analyze_value_use *use,
                           uint32_t field, struct analyze_values *values);
// Returns false also if the call uses fewer elements than the threshold.
bool analyze_values_of(const struct analyze_run *run, const struct analyze_value_use *use,
                       uint32_t field, struct analyze_values *values);

// Adds elements of the same type to those that `all` describes: what holds for all of them, and how
// many there are.
void analyze_merge_values(struct analyze_values *all, const struct analyze_values *more);

// Returns whether `count` is at least this part of `all`.
bool analyze_is_share(uint64_t count, uint64_t all, uint32_t percent);

// Of `count` elements that have a pattern, returns how many the call uses at least.
uint64_t analyze_least_matching(const struct analyze_values *values, uint64_t count);
// Returns whether these are at least a part of those that it uses.
bool analyze_are_enough(const struct analyze_values *values, uint64_t count, uint32_t percent);

// The exact patterns of a field. Percentages are those of the thresholds. `count` is that of
// analyze_least_matching.
bool analyze_is_frequent(const struct analyze_run *run, const struct analyze_values *values,
                         uint64_t *value, uint64_t *count);
bool analyze_is_linear(const struct analyze_run *run, const struct analyze_values *values);

// Finds the narrowest integer or float type that holds all values. Returns false if none is
// narrower.
struct analyze_narrower {
    const char *type; // a word of FACTS_VALUE_TYPES, or "index"
    uint64_t size_bytes;
};
bool analyze_find_narrower(const struct analyze_values *values, struct analyze_narrower *narrower);
// Returns whether an 8-bit index into a table of at most 256 values can replace the elements.
bool analyze_is_indexable(const struct analyze_values *values);

// --- Accesses (value_accesses.c) -----------------------------------------------------------------

// Compares a pattern that all values have at a border, a single value or a narrower type, with what
// the loads or stores of the launch moved. Returns false if they contradict it. Otherwise sets
// *seen to the use, which is no longer marked `border` but confirmed if they agree. narrower NULL:
// all values are the same, or are zero.
bool analyze_agree_accesses(const struct analyze_run *run, const struct analyze_value_use *use,
                            const struct analyze_values *values,
                            const struct analyze_narrower *narrower,
                            struct analyze_value_use *seen);

// --- Findings (value_worth.c) --------------------------------------------------------------------

// What findings on values of a field have in common, in their payloads.
struct analyze_value_facts {
    const char *type; // a word of FACTS_VALUE_TYPES
    uint64_t offset, elements, matching;
    bool is_read, is_member, is_border, is_confirmed, is_from_host, is_bound;
};

#define ANALYZE_VALUE_TYPE_WORDS "raw u8 s8 u16 s16 u32 s32 u64 s64 f16 bf16 f32 f64"
#define ANALYZE_VALUE_FIELDS(payload_type, facts)                                      \
    {"read", "the call reads the values; else it writes them",                         \
     ANALYZE_OWN(FLAG, payload_type, facts.is_read)},                                  \
        {"type", "type of the elements", ANALYZE_OWN(WORD, payload_type, facts.type),  \
         .values = ANALYZE_VALUE_TYPE_WORDS},                                          \
        {"offset", "of the field in its structure; null if there is no structure",     \
         ANALYZE_OWN(BYTES, payload_type, facts.offset),                               \
         ANALYZE_KNOWN_IF(payload_type, facts.is_member)},                             \
        {"elements", "elements of the field that were looked at",                      \
         ANALYZE_OWN(COUNT, payload_type, facts.elements), .unit = "element"},         \
        {"border", "values were seen only before or after the call, not while it ran", \
         ANALYZE_OWN(FLAG, payload_type, facts.is_border)},                            \
        {"from_host", "the call is a copy from the host",                              \
         ANALYZE_OWN(FLAG, payload_type, facts.is_from_host)},                         \
    {                                                                                  \
        "is_member", NULL, ANALYZE_OWN(FLAG, payload_type, facts.is_member)            \
    }

// Of findings about one call, and about all uses of an object.
#define ANALYZE_BOUND_FIELD(payload_type, facts)                                               \
    {                                                                                          \
        "upper_bound", "the call may read fewer elements; --analyses elements shows how many", \
            ANALYZE_OWN(FLAG, payload_type, facts.is_bound)                                    \
    }
#define ANALYZE_WORTH_BOUND_FIELD                                                                \
    {                                                                                            \
        "upper_bound",                                                                           \
            "worth is an upper bound: calls may read fewer elements; --analyses elements shows " \
            "how many",                                                                          \
            ANALYZE_SHARED(FLAG, traffic_is_bound)                                               \
    }
// Of patterns that hold for all values.
#define ANALYZE_CONFIRMED_FIELD(payload_type, facts)                                               \
    {                                                                                              \
        "in_between", "values were also seen while it ran, because loads and stores were watched", \
            ANALYZE_OWN(FLAG, payload_type, facts.is_confirmed)                                    \
    }

// Parts of messages: "the launch of add (a.cu:5) reads", and what follows the pattern's own text.
#define ANALYZE_VALUE_TEXT_BEGIN                                                                 \
    "{if brief}{call:name}{else}{call}{end} {if read}reads{else}writes{end} {if upper_bound}up " \
    "to {end}"
#define ANALYZE_VALUE_TEXT_ELEMENTS                                                          \
    "{if brief}{else}{elements:unit}{if is_member} (the {type} at offset {offset}){end} of " \
    "{end}{object}"
#define ANALYZE_VALUE_TEXT_OBJECT "{if is_member}the field at offset {offset} of {end}{object}"
// Of findings about all uses of an object.
#define ANALYZE_VALUE_TEXT_USES                                                                    \
    "{if brief}{else}; {if alone}{call} {if read}reads{else}writes{end} them{else}the largest of " \
    "{count} uses is "                                                                             \
    "{call}{end}{end}"
// What a suggestion adds that is right only if the values are always like that.
#define ANALYZE_VALUE_TEXT_ALWAYS \
    "{if brief}, if always so{else}, if that holds for other inputs, too{end}"
#define ANALYZE_VALUE_TEXT_END "{if brief}{elif border}; values during a launch were not seen{end}"
#define ANALYZE_CONFIRMED_TEXT_END                                                                 \
    ANALYZE_VALUE_TEXT_END                                                                         \
    "{if brief}{elif in_between}; so are all values that it {if read}read{else}stored{end} while " \
    "it ran{end}"

// Notes, by key of the finding, which value a match has; and returns whether similar matches that
// were noted have various ones.
void analyze_learn_value(struct analyze_run *run, struct base_map *values,
                         const struct analyze_finding *finding, uint64_t value);
bool analyze_value_varies(const struct analyze_run *run, const struct base_map *values,
                          const struct analyze_finding *finding);

// Returns a finding on the values of a field, and sets what its payload has in common with others.
struct analyze_finding analyze_begin_value_finding(const struct analyze_run *run,
                                                   enum analyze_pattern pattern,
                                                   const struct analyze_value_use *use,
                                                   const struct analyze_values *values,
                                                   struct analyze_value_facts *facts);

// A finding of single-value or single-zero.
struct analyze_single {
    struct analyze_value_facts facts;
    struct analyze_value value;
    const char *fill; // what replaces a copy: one of ANALYZE_FILL_WORDS; NULL: nothing can
    bool is_nan;
    bool varies; // similar calls have other values
};
#define ANALYZE_FILL_WORDS "cudaMemset cuMemsetD16 cuMemsetD32 kernel"
// Finds all uses whose elements all are zero, or all are another value.
void analyze_find_single(struct analyze_run *run, enum analyze_pattern pattern);
extern const struct analyze_field analyze_single_fields[];

// Sets what saving this many bytes of the call's traffic is worth. `moved` is what a copy or set
// moves in all; 0 of a kernel. Gains of several findings on the same bytes do not add up.
void analyze_set_traffic(struct analyze_run *run, struct analyze_finding *finding, uint32_t call,
                         uint64_t bytes, uint64_t moved);
// The same for a part of the bytes that the use reads or writes.
void analyze_set_value_traffic(struct analyze_run *run, struct analyze_finding *finding,
                               const struct analyze_value_use *use, uint64_t bytes);
// The same for the silent ones of these stores or atomic operations, of which there is at least
// one.
void analyze_set_silent_traffic(struct analyze_run *run, struct analyze_finding *finding,
                                const struct analyze_stored *stored);

#endif
