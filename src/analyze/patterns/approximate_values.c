// SPDX-License-Identifier: Apache-2.0
// approximate-values: after rounding mantissas to a few bits, all elements that a call reads or
// writes are the same, or most are, or they are a*i + b. The most bits for which one of these holds
// are reported, and only if the same does not hold exactly.
#include "analyze/values.h"

enum { MOST_BITS = 10 }; // of the first rounding

struct approximate {
    struct analyze_value_facts facts;
    struct analyze_value value;
    const char *like; // NULL: none
    uint64_t bits, error_bits;
    double error;
    bool is_line;
};

// Returns whether all rows round to the value.
static bool is_single(const struct analyze_value_use *use, uint32_t field, unsigned k,
                      uint64_t value)
{
    for (uint32_t i = 0; i < use->row_count; i++) {
        const struct profile_value_field *at = &use->rows[i]->fields[field];
        if (at->elements &&
            (at->roundings[k].count != at->elements || at->roundings[k].value != value))
            return false;
    }
    return true;
}

// Finds the most bits for which something holds after rounding.
static void find_rounding(const struct analyze_run *run, const struct analyze_value_use *use,
                          uint32_t index, const struct analyze_values *values,
                          struct approximate *found)
{
    uint64_t value, count;
    const bool has_one = values->is_one_row && use->is_whole;
    const bool may_be_line = has_one && values->field->slope && !analyze_is_linear(run, values);
    const bool may_be_frequent = has_one && !analyze_is_frequent(run, values, &value, &count);
    for (unsigned k = 0; k < PROFILE_ROUNDINGS && !found->like; k++) {
        const struct profile_rounding *rounding = &values->field->roundings[k];
        found->bits = MOST_BITS - k;
        found->value = (struct analyze_value){rounding->value, PROFILE_TYPE_F64};
        found->facts.matching = analyze_least_matching(values, rounding->count);
        if (is_single(use, index, k, rounding->value)) {
            found->like = "single-value";
            found->facts.matching = values->used_elements;
        } else if (may_be_line &&
                   analyze_are_enough(values, rounding->linear, run->value_limits.linear_percent)) {
            found->like = "structured-values";
            found->facts.matching = analyze_least_matching(values, rounding->linear);
            found->is_line = true;
        } else if (may_be_frequent && analyze_are_enough(values, rounding->count,
                                                         run->value_limits.frequent_percent)) {
            found->like = "frequent-values";
        }
    }
}

static void take(struct analyze_run *run, const struct analyze_value_use *use, void *state)
{
    struct analyze_values values;
    (void)state;
    for (uint32_t i = 0; i < use->rows[0]->field_count; i++) {
        struct approximate found = {.like = NULL};
        if (!analyze_values_of(run, use, i, &values) || !analyze_is_float(values.type) ||
            values.is_same || values.is_zero)
            continue;
        struct analyze_value_facts facts;
        struct analyze_finding finding =
            analyze_begin_value_finding(run, ANALYZE_APPROXIMATE_VALUES, use, &values, &facts);
        find_rounding(run, use, i, &values, &found);
        if (!found.like)
            continue;
        facts.matching = found.facts.matching;
        found.facts = facts;
        found.error_bits = found.bits + 1;
        found.error = 1.0 / (double)((uint64_t)1 << found.error_bits);
        finding.gain_is_unknown = true;
        analyze_set_payload(&finding, found);
        analyze_add_finding(run, &finding);
    }
}

static void find(struct analyze_run *run)
{
    analyze_walk_values(run, take, NULL);
}

// --- The description -----------------------------------------------------------------------------

static const struct analyze_field fields[] = {
    ANALYZE_VALUE_FIELDS(struct approximate, facts),
    ANALYZE_BOUND_FIELD(struct approximate, facts),
    {"like", "the pattern that the rounded values have",
     ANALYZE_OWN(WORD, struct approximate, like),
     .values = "single-value frequent-values structured-values"},
    {"bits", "bits of the mantissa that rounding keeps",
     ANALYZE_OWN(COUNT, struct approximate, bits), .unit = "bit"},
    {"error", "the largest relative error of rounding: 2^-(bits + 1)",
     ANALYZE_OWN(REAL, struct approximate, error)},
    {"value", "the most frequent rounded value", ANALYZE_OWN(VALUE, struct approximate, value)},
    {"matching", "elements that have the pattern after rounding",
     ANALYZE_OWN(COUNT, struct approximate, facts.matching), .unit = "element"},
    {"written_by", "the call that wrote the values, of a read",
     ANALYZE_SHARED(NUMBER_OF_CALL, other_call), .least = 1},
    {"is_line", NULL, ANALYZE_OWN(FLAG, struct approximate, is_line)},
    {"error_bits", NULL, ANALYZE_OWN(COUNT, struct approximate, error_bits)},
    {0},
};

const struct analyze_description analyze_approximate_values = {
    .name = "approximate-values",
    .title = "Nearly one value, or nearly a line",
    .definition = "After rounding mantissas to 10 bits or fewer, the elements that a call reads or "
                  "writes have the pattern single-value, frequent-values or structured-values.",
    .remedy = "If the program tolerates the error, treat the values as if they were exact.",
    .paper = "ValueExpert, ASPLOS 2022",
    .needs = ANALYZE_INPUT_VALUES,
    .is_about_kernel = true,
    .is_trade_off = true,
    .roles = {[ANALYZE_CALL] = {"used", "the call that uses the values"},
              [ANALYZE_OTHER_CALL] = {"written", "the call that wrote the values"}},
    .thresholds = {&analyze_value_elements, &analyze_frequent_percent, &analyze_linear_percent},
    .fields = fields,
    .message = ANALYZE_VALUE_TEXT_BEGIN ANALYZE_VALUE_TEXT_ELEMENTS
    ", {matching/elements} of which are {if is_line}on a line{else}{value}{end} after rounding to "
    "{bits:unit} of mantissa" ANALYZE_VALUE_TEXT_END,
    .suggestion = "if a relative error of 2^-{error_bits} is acceptable, {if is_line}compute the "
                  "values from their index{else}treat them as {value}{end}",
    .find = find,
};
