// SPDX-License-Identifier: Apache-2.0
// frequent-values: at least half of the elements that a call reads or writes hold one value.
// Counts of frequent values are exact, but those of several rows cannot be added up, so only what
// one row describes is looked at. If accesses were counted, reads are weighed by them.
#include "analyze/values.h"

struct frequent {
    struct analyze_value_facts facts;
    struct analyze_value value;
    uint64_t reads, matching_reads;
    bool is_weighed, is_by_elements; // whether accesses were counted
};

// Returns what most of the reads of the field got; NULL: it was not weighed, or the launch may have
// changed what it read.
static const struct analyze_weighed *
find_weighed(const struct analyze_run *run, const struct analyze_value_use *use, uint64_t offset)
{
    const struct analyze_weighed *all = run->model->weighed.items;
    const size_t count = run->model->weighed.count;
    if (!use->is_read || use->is_border)
        return NULL;
    size_t at = base_search(0, count, i, all[i].call < use->call);
    for (; at < count && all[at].call == use->call; at++) {
        if (all[at].object == use->object && all[at].offset == offset)
            return &all[at];
    }
    return NULL;
}

// Returns whether most reads of the field got one value, and sets how many.
static bool is_frequent_read(const struct analyze_run *run, const struct analyze_values *values,
                             const struct analyze_weighed *weighed, struct frequent *frequent)
{
    frequent->is_weighed = true;
    frequent->reads = weighed->accesses;
    frequent->matching_reads = weighed->count;
    frequent->value = (struct analyze_value){weighed->value, values->type};
    return weighed->count && !values->is_same && !values->is_zero &&
           analyze_is_share(weighed->count, weighed->accesses, run->value_limits.frequent_percent);
}

// Returns whether a value is frequent among what the use gets from the field, and sets how it is.
static bool is_frequent(const struct analyze_run *run, const struct analyze_value_use *use,
                        const struct analyze_values *values, struct frequent *frequent)
{
    const struct analyze_weighed *weighed = find_weighed(run, use, values->offset);
    uint64_t value;
    if (weighed)
        return is_frequent_read(run, values, weighed, frequent);
    if (!use->is_whole || !analyze_is_frequent(run, values, &value, &frequent->facts.matching))
        return false;
    frequent->is_by_elements = true;
    frequent->value = (struct analyze_value){value, values->type};
    return true;
}

static void take(struct analyze_run *run, const struct analyze_value_use *use, void *state)
{
    struct analyze_values values;
    (void)state;
    for (uint32_t i = 0; i < use->rows[0]->field_count; i++) {
        struct frequent frequent = {.value = {0}};
        if (!analyze_values_of(run, use, i, &values) || !is_frequent(run, use, &values, &frequent))
            continue;
        const uint64_t matching = frequent.facts.matching;
        struct analyze_finding finding = analyze_begin_value_finding(run, ANALYZE_FREQUENT_VALUES,
                                                                     use, &values, &frequent.facts);
        frequent.facts.matching = matching;
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
    ANALYZE_BOUND_FIELD(struct frequent, facts),
    {"value", "the value", ANALYZE_OWN(VALUE, struct frequent, value)},
    {"matching", "elements that hold the value; null if reads were counted",
     ANALYZE_OWN(COUNT, struct frequent, facts.matching),
     ANALYZE_KNOWN_IF(struct frequent, is_by_elements), .unit = "element"},
    {"reads", "reads of the field; null if they were not counted",
     ANALYZE_OWN(COUNT, struct frequent, reads), ANALYZE_KNOWN_IF(struct frequent, is_weighed),
     .unit = "read"},
    {"matching_reads", "reads that got the value; null if they were not counted",
     ANALYZE_OWN(COUNT, struct frequent, matching_reads),
     ANALYZE_KNOWN_IF(struct frequent, is_weighed), .unit = "read"},
    {"written_by", "the call that wrote the values, of a read",
     ANALYZE_SHARED(NUMBER_OF_CALL, other_call), .least = 1},
    {0},
};

const struct analyze_description analyze_frequent_values = {
    .name = "frequent-values",
    .title = "One value is frequent",
    .definition = "At least half of the elements that a call reads or writes hold the same value.",
    .remedy = "Treat the frequent value separately: skip the work on it, or store only the others.",
    .paper = "ValueExpert, ASPLOS 2022",
    .needs = ANALYZE_INPUT_VALUES,
    .is_about_kernel = true,
    .roles = {[ANALYZE_CALL] = {"used", "the call that uses the values"},
              [ANALYZE_OTHER_CALL] = {"written", "the call that wrote the values"}},
    .thresholds = {&analyze_value_elements, &analyze_frequent_percent},
    .fields = fields,
    .message = ANALYZE_VALUE_TEXT_BEGIN ANALYZE_VALUE_TEXT_ELEMENTS
    ", {if reads}and {matching_reads/reads} of its {reads:unit} get {value}{else}"
    "{matching/elements} of which are {value}{end}" ANALYZE_VALUE_TEXT_END,
    .suggestion = "{if brief}treat {value} separately: skip it, or store only the others{else}"
                  "treat {value} separately: skip the work on it, or store only the other elements"
                  "{end}",
    .find = find,
};
