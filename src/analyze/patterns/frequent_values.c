// SPDX-License-Identifier: Apache-2.0
// frequent-values: at least half of the elements that a call reads or writes hold one value.
// Counts of frequent values are exact, but those of several rows cannot be added up, so only what
// one row describes is looked at.
#include "analyze/values.h"

struct frequent {
    struct analyze_value_facts facts;
    struct analyze_value value;
};

static void take(struct analyze_run *run, const struct analyze_value_use *use, void *state)
{
    struct analyze_values values;
    (void)state;
    for (uint32_t i = 0; use->is_whole && i < use->rows[0]->field_count; i++) {
        struct frequent frequent = {.value = {0}};
        uint64_t value, count;
        if (!analyze_values_of(run, use, i, &values) ||
            !analyze_is_frequent(run, &values, &value, &count))
            continue;
        struct analyze_finding finding = analyze_begin_value_finding(run, ANALYZE_FREQUENT_VALUES,
                                                                     use, &values, &frequent.facts);
        frequent.value = (struct analyze_value){value, values.type};
        frequent.facts.matching = count;
        finding.gain_is_unknown = true;
        analyze_set_payload(&finding, frequent);
        analyze_add_finding(run, &finding);
    }
}

static void find(struct analyze_run *run)
{
    analyze_walk_values(run, take, NULL);
}

// --- The description -----------------------------------------------------------------------------

static const struct analyze_field fields[] = {
    ANALYZE_VALUE_FIELDS(struct frequent, facts),
    {"value", "the value", ANALYZE_OWN(VALUE, struct frequent, value)},
    {"matching", "elements that hold the value",
     ANALYZE_OWN(COUNT, struct frequent, facts.matching), .unit = "element"},
    {"written_by", "the call that wrote the values, of a read",
     ANALYZE_SHARED(NUMBER_OF_CALL, other_call), .least = 1},
    {0},
};

const struct analyze_description analyze_frequent_values = {
    .name = "frequent-values",
    .title = "One value is frequent",
    .definition = "Most of the elements that a call reads or writes hold the same value.",
    .remedy = "Treat the frequent value separately: skip the work on it, or store only the others.",
    .paper = "ValueExpert, ASPLOS 2022",
    .needs = ANALYZE_INPUT_VALUES,
    .is_about_kernel = true,
    .roles = {[ANALYZE_CALL] = {"used", "the call that uses the values"},
              [ANALYZE_OTHER_CALL] = {"written", "the call that wrote the values"}},
    .thresholds = {&analyze_value_elements, &analyze_frequent_percent},
    .fields = fields,
    .message = ANALYZE_VALUE_TEXT_BEGIN
    "{elements:unit} of {object}" ANALYZE_VALUE_TEXT_FIELD
    ", {matching/elements} of which are {value}" ANALYZE_VALUE_TEXT_END,
    .suggestion = "treat {value} separately: skip the work on it, or store only the other elements",
    .find = find,
};
