// SPDX-License-Identifier: Apache-2.0
// structured-values: the elements that a call reads or writes are a*i + b, where i is the index in
// the object. A kernel can compute such values instead of reading them. All uses of an object with
// the same line are one finding.
#include "analyze/values.h"

// A line that so many elements are on is no coincidence, and tables of indices are often short.
static const struct analyze_threshold linear_elements = {
    "linear-elements", "elements", 64, "at least this many elements are looked at"};

struct line_values {
    struct analyze_value_facts facts;
    struct analyze_value slope, intercept;
    bool is_rounded; // floats are on the line up to a rounding error
    bool varies;     // other uses of the finding have other lines
};

struct line_search {
    uint32_t least;
    struct base_map lines; // analyze_learn_value
    bool is_learned;
};

static void take(struct analyze_run *run, const struct analyze_value_use *use, void *state)
{
    struct analyze_values values;
    struct line_search *search = state;
    for (uint32_t i = 0; use->is_whole && i < use->rows[0]->field_count; i++) {
        struct line_values line = {.slope = {0}};
        if (!analyze_all_values_of(run, use, i, &values) || values.used_elements < search->least ||
            !analyze_is_linear(run, &values))
            continue;
        struct analyze_finding finding =
            analyze_begin_value_finding(run, ANALYZE_STRUCTURED_VALUES, use, &values, &line.facts);
        const uint64_t aspect[] = {values.offset, (uint64_t)values.type};
        const uint64_t own[] = {values.field->slope, values.field->intercept};
        finding.aspect = base_hash(aspect, sizeof(aspect));
        if (!search->is_learned) {
            analyze_learn_value(run, &search->lines, &finding, base_hash(own, sizeof(own)));
            continue;
        }
        line.varies = analyze_value_varies(run, &search->lines, &finding);
        line.slope = (struct analyze_value){values.field->slope, values.type};
        line.intercept = (struct analyze_value){values.field->intercept, values.type};
        line.is_rounded = analyze_is_float(values.type);
        line.facts.matching = analyze_least_matching(&values, values.field->linear);
        // Whether the stores of a kernel can go depends on those who read the values.
        finding.gain_is_unknown = use->is_kernel && (!use->is_read || use->is_changed);
        if (!finding.gain_is_unknown)
            analyze_set_value_traffic(run, &finding, use, values.bytes);
        analyze_set_payload(&finding, line);
        analyze_add_finding(run, &finding);
    }
}

static void find(struct analyze_run *run)
{
    struct line_search search = {.least = analyze_limit(run->thresholds, &linear_elements)};
    analyze_walk_values(run, take, &search);
    search.is_learned = true;
    if (!run->failed)
        analyze_walk_values(run, take, &search);
    base_map_fini(&search.lines);
}

// --- The description -----------------------------------------------------------------------------

#define TEXT_LINE "{slope:factor}i{intercept:added}"

static const struct analyze_field fields[] = {
    ANALYZE_VALUE_FIELDS(struct line_values, facts),
    ANALYZE_WORTH_BOUND_FIELD,
    {"slope", "a of a*i + b", ANALYZE_OWN(VALUE, struct line_values, slope)},
    {"intercept", "b of a*i + b", ANALYZE_OWN(VALUE, struct line_values, intercept)},
    {"matching", "elements that a*i + b gives",
     ANALYZE_OWN(COUNT, struct line_values, facts.matching), .unit = "element"},
    {"varies", "other uses, at the same place, have other values",
     ANALYZE_OWN(FLAG, struct line_values, varies)},
    {"is_rounded", NULL, ANALYZE_OWN(FLAG, struct line_values, is_rounded)},
    {"written_by", "the call that wrote the values, of a read",
     ANALYZE_SHARED(NUMBER_OF_CALL, other_call), .least = 1},
    {0},
};

const struct analyze_description analyze_structured_values = {
    .name = "structured-values",
    .title = "Values that the index determines",
    .definition = "Nearly all elements that calls read from an object or write to it are a*i + b, "
                  "where i is their index.",
    .remedy = "Compute the values from the index instead of storing and reading them.",
    .paper = "ValueExpert, ASPLOS 2022",
    .needs = ANALYZE_INPUT_VALUES,
    .is_about_kernel = true,
    .is_about_object = true,
    .roles = {[ANALYZE_CALL] = {"used", "the call that uses most of the values"},
              [ANALYZE_OTHER_CALL] = {"written", "the call that wrote the values"}},
    .thresholds = {&linear_elements, &analyze_linear_percent},
    .fields = fields,
    .message =
        "{if brief}{matching/elements} of the {if is_member}field at offset {offset}{else}elements"
        "{end} of {object}{else}" ANALYZE_VALUE_TEXT_OBJECT
        " has {elements:unit}, {matching/elements} of which{end} are " TEXT_LINE
        "{if brief} (i: their index){else}{if is_rounded} to 6 digits{end}{if varies} in "
        "this call{end}, where i is their index{end}" ANALYZE_VALUE_TEXT_END
            ANALYZE_VALUE_TEXT_USES,
    .suggestion =
        "{if brief}compute them from the index instead of storing them{else}compute {if varies}the "
        "values{else}" TEXT_LINE "{end} where {object:name} is read, instead of storing "
        "it{end}" ANALYZE_VALUE_TEXT_ALWAYS "{if brief}{elif from_host}; then the copy is not "
        "needed{end}",
    .find = find,
};
