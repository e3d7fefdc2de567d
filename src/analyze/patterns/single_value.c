// SPDX-License-Identifier: Apache-2.0
// single-value: all elements that a call reads or writes are the same bits. Zeros are single-zero
// instead.
#include "analyze/values.h"

static void take(struct analyze_run *run, const struct analyze_value_use *use, void *state)
{
    struct analyze_values values;
    struct analyze_value_use seen;
    (void)state;
    for (uint32_t i = 0; i < use->rows[0]->field_count; i++) {
        if (analyze_values_of(run, use, i, &values) && values.is_same && !values.is_zero &&
            analyze_agree_accesses(run, use, &values, NULL, &seen))
            analyze_add_single(run, ANALYZE_SINGLE_VALUE, &seen, &values);
    }
}

static void find(struct analyze_run *run)
{
    analyze_walk_values(run, take, NULL);
}

// --- The description -----------------------------------------------------------------------------

const struct analyze_description analyze_single_value = {
    .name = "single-value",
    .title = "Only one value",
    .definition = "All elements that a call reads or writes hold the same value, other than zero.",
    .remedy = "Use a constant instead of reading the values; fill memory instead of copying them.",
    .paper = "ValueExpert, ASPLOS 2022",
    .needs = ANALYZE_INPUT_VALUES,
    .is_about_kernel = true,
    .roles = {[ANALYZE_CALL] = {"used", "the call that uses the values"},
              [ANALYZE_OTHER_CALL] = {"written", "the call that wrote the values"}},
    .thresholds = {&analyze_value_elements},
    .fields = analyze_single_fields,
    .message = ANALYZE_VALUE_TEXT_BEGIN "{elements:unit} of {object}" ANALYZE_VALUE_TEXT_FIELD
                                        ", all of which are {value}" ANALYZE_CONFIRMED_TEXT_END,
    .suggestion = "{if is_nan}find out why no element of {object:name} is a number{elif fill}fill "
                  "{object:name} on the GPU ({fill}) instead of {call}{elif not kernel}"
                  "do not copy the constant{elif read}use the constant {value} instead of reading "
                  "{object:name}{else}use the constant {value} where {object:name} is read{end}",
    .find = find,
};
