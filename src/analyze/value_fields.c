// SPDX-License-Identifier: Apache-2.0
// The values of one field: combines the rows that describe it, and finds what holds for all of its
// elements.
#include "values.h"

const struct analyze_threshold analyze_value_elements = {
    "value-elements", "elements", 1024, "values of at least this many elements are looked at"};
const struct analyze_threshold analyze_frequent_percent = {
    "frequent-percent", "percent", 50, "at least this part of the elements hold the value"};
const struct analyze_threshold analyze_linear_percent = {
    "linear-percent", "percent", 99, "at least this part of the elements are on the line"};

uint32_t analyze_value_size(enum profile_value_type type)
{
    switch (type) {
    case PROFILE_TYPE_U8:
    case PROFILE_TYPE_S8: return 1;
    case PROFILE_TYPE_U16:
    case PROFILE_TYPE_S16:
    case PROFILE_TYPE_F16:
    case PROFILE_TYPE_BF16: return 2;
    case PROFILE_TYPE_U64:
    case PROFILE_TYPE_S64:
    case PROFILE_TYPE_F64: return 8;
    default: return 4;
    }
}

bool analyze_is_float(enum profile_value_type type)
{
    return type >= PROFILE_TYPE_F16 && type <= PROFILE_TYPE_F64;
}

static bool is_signed(enum profile_value_type type)
{
    return type == PROFILE_TYPE_S8 || type == PROFILE_TYPE_S16 || type == PROFILE_TYPE_S32 ||
           type == PROFILE_TYPE_S64;
}

// Returns a number that orders values of the type: -0.0 before +0.0.
static uint64_t rank_of(enum profile_value_type type, uint64_t value)
{
    const uint64_t sign = (uint64_t)1 << 63;
    if (analyze_is_float(type))
        return value & sign ? ~value : value | sign;
    return is_signed(type) ? value ^ sign : value;
}

static bool has_same_layout(const struct profile_contents *one,
                            const struct profile_contents *other)
{
    if (one->stride != other->stride || one->field_count != other->field_count)
        return false;
    for (uint32_t i = 0; i < one->field_count; i++) {
        if (one->fields[i].type != other->fields[i].type ||
            one->fields[i].offset != other->fields[i].offset)
            return false;
    }
    return true;
}

void analyze_merge_values(struct analyze_values *all, const struct analyze_values *more)
{
    if (more->elements == 0)
        return;
    if (all->elements == 0) {
        all->is_zero = more->is_zero;
        all->is_same = more->is_same;
        all->value = more->value;
        all->stored_bits = more->stored_bits;
    }
    all->is_same &= more->is_same && more->value == all->value;
    all->is_zero &= more->is_zero;
    if (more->nans < more->elements) {
        const bool first = all->elements == all->nans;
        if (first || rank_of(all->type, more->least) < rank_of(all->type, all->least))
            all->least = more->least;
        if (first || rank_of(all->type, more->greatest) > rank_of(all->type, all->greatest))
            all->greatest = more->greatest;
    }
    all->elements += more->elements;
    all->nans += more->nans;
    all->integral += more->integral;
    all->narrow += more->narrow;
    all->brief += more->brief;
}

static void add_field(struct analyze_values *values, const struct profile_value_field *field)
{
    const struct analyze_values more = {
        .is_zero = field->zeros == field->elements,
        .is_same = field->candidates[0].count == field->elements,
        .value = field->candidates[0].value,
        .stored_bits = field->any_bits,
        .elements = field->elements,
        .nans = field->nans,
        .least = field->least,
        .greatest = field->greatest,
        .integral = field->integral,
        .narrow = field->narrow,
        .brief = field->brief,
    };
    analyze_merge_values(values, &more);
}

// Sets how many elements the call uses. Rows may overlap, so that together they describe more
// elements than the object has.
static void set_used(const struct analyze_run *run, const struct analyze_value_use *use,
                     struct analyze_values *values)
{
    const uint64_t stride = use->rows[0]->stride ? use->rows[0]->stride : 1;
    const uint64_t most = (run->model->objects.items[use->object].bytes + stride - 1) / stride;
    values->used_elements = values->elements < most ? values->elements : most;
    if (!use->is_whole || use->unwritten_bytes)
        values->used_elements = values->bytes / values->size_bytes;
    if (use->unwritten_bytes && values->used_elements < values->elements)
        values->unwritten = values->elements - values->used_elements;
}

bool analyze_all_values_of(const struct analyze_run *run, const struct analyze_value_use *use,
                           uint32_t field, struct analyze_values *values)
{
    const struct profile_contents *first = use->rows[0];
    uint64_t bytes = 0;
    if (field >= first->field_count)
        return false;
    *values = (struct analyze_values){.type = first->fields[field].type,
                                      .offset = first->fields[field].offset,
                                      .is_member = first->field_count > 1,
                                      .is_one_row = use->row_count == 1};
    values->size_bytes = analyze_value_size(values->type);
    for (uint32_t i = 0; i < use->row_count; i++) {
        if (!has_same_layout(first, use->rows[i]))
            return false;
        if (values->elements == 0)
            values->field = &use->rows[i]->fields[field];
        add_field(values, &use->rows[i]->fields[field]);
        bytes += use->rows[i]->bytes;
    }
    if (values->elements == 0 || bytes == 0)
        return false;
    const unsigned __int128 scaled =
        (unsigned __int128)use->bytes * values->elements * values->size_bytes / bytes;
    values->bytes = scaled < use->bytes ? (uint64_t)scaled : use->bytes;
    set_used(run, use, values);
    return true;
}

bool analyze_values_of(const struct analyze_run *run, const struct analyze_value_use *use,
                       uint32_t field, struct analyze_values *values)
{
    return analyze_all_values_of(run, use, field, values) &&
           values->used_elements >= run->value_limits.elements;
}

// --- Exact patterns ------------------------------------------------------------------------------

bool analyze_is_share(uint64_t count, uint64_t all, uint32_t percent)
{
    return (unsigned __int128)count * 100 >= (unsigned __int128)all * percent;
}

uint64_t analyze_least_matching(const struct analyze_values *values, uint64_t count)
{
    return count > values->unwritten ? count - values->unwritten : 0;
}

bool analyze_are_enough(const struct analyze_values *values, uint64_t count, uint32_t percent)
{
    return analyze_is_share(analyze_least_matching(values, count),
                            values->elements - values->unwritten, percent);
}

bool analyze_is_frequent(const struct analyze_run *run, const struct analyze_values *values,
                         uint64_t *value, uint64_t *count)
{
    const struct profile_value_field *field = values->field;
    if (!values->is_one_row || values->is_same || values->is_zero)
        return false;
    *value = field->candidates[0].value;
    *count = field->candidates[0].count;
    if (field->zeros > *count) { // of both signs
        *value = 0;
        *count = field->zeros;
    }
    const bool is_part = analyze_are_enough(values, *count, run->value_limits.frequent_percent);
    *count = analyze_least_matching(values, *count);
    return is_part;
}

bool analyze_is_linear(const struct analyze_run *run, const struct analyze_values *values)
{
    const struct profile_value_field *field = values->field;
    const unsigned bits = 8 * (unsigned)values->size_bytes;
    uint64_t slope = field->slope;
    if (!values->is_one_row || values->is_same || values->is_zero ||
        values->type == PROFILE_TYPE_RAW)
        return false;
    if (!analyze_is_float(values->type) && bits < 64)
        slope &= ((uint64_t)1 << bits) - 1; // a multiple of the modulus is no slope
    return slope && analyze_are_enough(values, field->linear, run->value_limits.linear_percent);
}

// --- Narrower types ------------------------------------------------------------------------------

static double real_of(uint64_t value)
{
    double real;
    memcpy(&real, &value, sizeof(real));
    return real;
}

// Finds the narrowest integer type for a range; `is_negative` if `least` is below 0.
static void find_integer(bool is_negative, uint64_t least, uint64_t greatest,
                         struct analyze_narrower *narrower)
{
    static const struct {
        enum profile_value_type type;
        bool is_signed;
        unsigned bits;
    } types[] = {
        {PROFILE_TYPE_U8, false, 8},  {PROFILE_TYPE_S8, true, 8},    {PROFILE_TYPE_U16, false, 16},
        {PROFILE_TYPE_S16, true, 16}, {PROFILE_TYPE_U32, false, 32}, {PROFILE_TYPE_S32, true, 32},
    };
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        const uint64_t most = ((uint64_t)1 << (types[i].bits - types[i].is_signed)) - 1;
        const bool low = !is_negative || (types[i].is_signed && ~least <= most);
        const bool high = (is_negative && (int64_t)greatest < 0) || greatest <= most;
        if (low && high) {
            *narrower = (struct analyze_narrower){profile_value_type_word(types[i].type),
                                                  types[i].bits / 8};
            return;
        }
    }
}

static void find_of_float(const struct analyze_values *values, struct analyze_narrower *narrower)
{
    const double least = real_of(values->least), greatest = real_of(values->greatest);
    // A damaged profile may contradict itself.
    if (values->integral == values->elements && least >= -0x1p53 && greatest <= 0x1p53 &&
        least <= greatest) {
        find_integer(least < 0, (uint64_t)(int64_t)least, (uint64_t)(int64_t)greatest, narrower);
        if (narrower->type && narrower->size_bytes < 4)
            return;
    }
    if (values->type == PROFILE_TYPE_F64 && values->narrow == values->elements)
        *narrower = (struct analyze_narrower){"f32", 4};
    else if (values->type == PROFILE_TYPE_F32 && values->narrow == values->elements)
        *narrower = (struct analyze_narrower){"f16", 2};
    else if (values->type == PROFILE_TYPE_F32 && values->brief == values->elements)
        *narrower = (struct analyze_narrower){"bf16", 2};
}

bool analyze_find_narrower(const struct analyze_values *values, struct analyze_narrower *narrower)
{
    *narrower = (struct analyze_narrower){0};
    if (values->type == PROFILE_TYPE_RAW || values->is_same || values->is_zero)
        return false;
    if (analyze_is_float(values->type))
        find_of_float(values, narrower);
    else
        find_integer(is_signed(values->type) && (int64_t)values->least < 0, values->least,
                     values->greatest, narrower);
    if (narrower->size_bytes >= values->size_bytes)
        *narrower = (struct analyze_narrower){0};
    return narrower->type != NULL;
}

bool analyze_is_indexable(const struct analyze_values *values)
{
    return values->type != PROFILE_TYPE_RAW && !values->is_same && !values->is_zero &&
           values->size_bytes > 1 && values->is_one_row && values->field->distinct &&
           values->field->distinct <= PROFILE_DISTINCT;
}
