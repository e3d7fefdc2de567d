// SPDX-License-Identifier: Apache-2.0
// single-zero: all elements that a call reads or writes are zero. +0.0 and -0.0 are both zero.
#include "analyze/values.h"

static void find(struct analyze_run *run)
{
    analyze_find_single(run, ANALYZE_SINGLE_ZERO);
}

// --- The description -----------------------------------------------------------------------------

const struct analyze_description analyze_single_zero = {
    .name = "single-zero",
    .title = "Only zeros",
    .definition = "All elements that a call reads or writes are zero.",
    .remedy = "Do not read the zeros; set memory with cudaMemset instead of copying zeros.",
    .paper = "ValueExpert, ASPLOS 2022",
    .needs = ANALYZE_INPUT_VALUES,
    .is_about_kernel = true,
    .roles = {[ANALYZE_CALL] = {"used", "the call that uses the values"},
              [ANALYZE_OTHER_CALL] = {"written", "the call that wrote the values"}},
    .thresholds = {&analyze_value_elements},
    .fields = analyze_single_fields,
    .message = ANALYZE_VALUE_TEXT_BEGIN ANALYZE_VALUE_TEXT_ELEMENTS
    ", all of which are zero" ANALYZE_CONFIRMED_TEXT_END,
    .suggestion =
        "{if fill}fill {object:name} on the GPU ({fill}) instead of {if brief}{call:name}{else}"
        "{call}{end}" ANALYZE_VALUE_TEXT_ALWAYS "{elif not kernel}do not copy the "
        "zeros" ANALYZE_VALUE_TEXT_ALWAYS
        "{elif read}skip the work on {object:name} while it is zero{else}do not write the "
        "zeros if they are there already, and do not read them{end}",
    .find = find,
};
