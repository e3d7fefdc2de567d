// SPDX-License-Identifier: Apache-2.0
// single-value: all elements that a call reads or writes are the same bits. Zeros are single-zero
// instead.
#include "analyze/values.h"

static void find(struct analyze_run *run)
{
    analyze_find_single(run, ANALYZE_SINGLE_VALUE);
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
    .message = ANALYZE_VALUE_TEXT_BEGIN ANALYZE_VALUE_TEXT_ELEMENTS
    ", all of which are {value}{if brief}{elif varies} in this "
    "call{end}" ANALYZE_CONFIRMED_TEXT_END,
    .suggestion =
        "{if is_nan}find out why no element of {object:name} is a number{elif fill}fill "
        "{object:name} on the GPU ({fill}) instead of {if brief}{call:name}{else}{call}{end}{elif "
        "not "
        "kernel}copy one element{elif varies}pass the one value to the kernel instead of "
        "{if read}reading{else}writing{end} {if is_member}this field of {end}{object:name}"
        "{elif read}use the constant {value} instead of reading {if is_member}this field of "
        "{end}{object:name}{else}use the constant {value} where {if is_member}this field of "
        "{end}{object:name} is read{end}{if not is_nan}" ANALYZE_VALUE_TEXT_ALWAYS "{end}",
    .find = find,
};
