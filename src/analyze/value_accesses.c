// SPDX-License-Identifier: Apache-2.0
// What loads and stores moved decides about patterns of launches that both read and write an
// object, or write an element more than once: the contents at the borders of such a launch do not
// show the values in between. Of these, the bits that are set in some value, the bits that are set
// in every value and the greatest magnitude are known. That decides about a single value exactly,
// and about narrower types mostly; what it does not decide stays unknown.
#include "values.h"

enum verdict { UNKNOWN, AGREES, CONTRADICTS };

// Returns the row about the field that the values describe; NULL: there is none, or rows about
// another layout exist, in which the same bytes may be other values.
static const struct profile_accessed *row_of(const struct analyze_run *run,
                                             const struct analyze_value_use *use,
                                             const struct analyze_values *values)
{
    const struct analyze_accessed *rows = run->model->accessed.items;
    const size_t count = run->model->accessed.count;
    const enum profile_accessed_way way =
        use->is_read ? PROFILE_ACCESSED_READ : PROFILE_ACCESSED_WRITTEN;
    const struct profile_accessed *found = NULL;
    size_t i = base_search(0, count, k, rows[k].call < use->call);
    for (; i < count && rows[i].call == use->call; i++) {
        const struct profile_accessed *row = &rows[i].row;
        if (rows[i].object != use->object || row->way != way)
            continue;
        if (row->stride != use->rows[0]->stride)
            return NULL;
        if (row->offset == values->offset && row->type == values->type)
            found = row;
        else if (row->offset < values->offset + values->size_bytes &&
                 values->offset < row->offset + analyze_value_size(row->type))
            return NULL;
    }
    return found;
}

static double real_of(uint64_t bits)
{
    double real;
    memcpy(&real, &bits, sizeof(real));
    return real;
}

// --- Integers ------------------------------------------------------------------------------------

struct integer {
    bool is_signed;
    unsigned bits;
};

// Returns false if the word names no integer type.
static bool integer_of(const char *word, struct integer *integer)
{
    static const struct {
        const char *word;
        struct integer integer;
    } types[] = {{"u8", {false, 8}}, {"u16", {false, 16}}, {"u32", {false, 32}},
                 {"s8", {true, 8}},  {"s16", {true, 16}},  {"s32", {true, 32}}};
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (strcmp(word, types[i].word) == 0) {
            *integer = types[i].integer;
            return true;
        }
    }
    return false;
}

// Whether integers of the row fit. A value of the greatest magnitude of a signed type fits only if
// it is negative.
static enum verdict judge_integer(const struct profile_accessed *row,
                                  const struct analyze_values *values,
                                  const struct integer *integer)
{
    const bool may_be_negative =
        values->type == PROFILE_TYPE_S8 || values->type == PROFILE_TYPE_S16 ||
        values->type == PROFILE_TYPE_S32 || values->type == PROFILE_TYPE_S64;
    const uint64_t sign = (uint64_t)1 << (8 * values->size_bytes - 1);
    const bool some = may_be_negative && row->any_bits & sign;
    const bool every = may_be_negative && row->all_bits & sign;
    const uint64_t limit = (uint64_t)1 << (integer->bits - integer->is_signed);
    if (some && !integer->is_signed)
        return CONTRADICTS;
    if (row->most < limit)
        return AGREES;
    if (row->most > limit || !some)
        return CONTRADICTS;
    return every ? AGREES : UNKNOWN;
}

// --- Floats --------------------------------------------------------------------------------------

struct format {
    unsigned mantissa; // bits
    int bias;
};

static struct format format_of(enum profile_value_type type)
{
    switch (type) {
    case PROFILE_TYPE_F16: return (struct format){10, 15};
    case PROFILE_TYPE_BF16: return (struct format){7, 127};
    case PROFILE_TYPE_F32: return (struct format){23, 127};
    default: return (struct format){52, 1023};
    }
}

// Returns a lower bound of the exponents of all values: every value has the bits that all have.
static int least_exponent(const struct profile_accessed *row, struct format format,
                          uint64_t size_bytes)
{
    const uint64_t sign = (uint64_t)1 << (8 * size_bytes - 1);
    return (int)((row->all_bits & ~sign) >> format.mantissa) - format.bias;
}

// Whether floats of the row are integers that fit. As in judge_integer, a value of the greatest
// magnitude fits only if it is negative. The exponent of a value tells which bits of its mantissa
// are below 1.
static enum verdict judge_integral(const struct profile_accessed *row,
                                   const struct analyze_values *values,
                                   const struct integer *integer)
{
    const struct format format = format_of(values->type);
    const uint64_t sign = (uint64_t)1 << (8 * values->size_bytes - 1);
    const double most = real_of(row->most);
    const double room = (double)((uint64_t)1 << (integer->bits - integer->is_signed));
    const bool some = row->any_bits & sign, every = row->all_bits & sign;
    if (most != most || most > room || (some && !integer->is_signed) || (most == room && !some))
        return CONTRADICTS;
    const int exponent = least_exponent(row, format, values->size_bytes);
    if (exponent < 0 || (most == room && !every))
        return UNKNOWN;
    const unsigned below =
        exponent >= (int)format.mantissa ? 0 : format.mantissa - (unsigned)exponent;
    return row->any_bits & (((uint64_t)1 << below) - 1) ? UNKNOWN : AGREES;
}

// Whether a float type that drops so many bits of the mantissa, and has exponents from `least` on
// and values up to `greatest`, holds all values of the row.
static enum verdict judge_float(const struct profile_accessed *row,
                                const struct analyze_values *values, unsigned dropped, int least,
                                double greatest)
{
    const struct format format = format_of(values->type);
    const double most = real_of(row->most);
    if (row->any_bits & (((uint64_t)1 << dropped) - 1))
        return CONTRADICTS; // smaller exponents have even fewer bits
    // Behind an infinity or a NaN, greater numbers may hide.
    if (most != most || most > 0x1.fffffffffffffp1023)
        return UNKNOWN;
    if (most > greatest)
        return CONTRADICTS;
    if (most == 0 || least_exponent(row, format, values->size_bytes) >= least)
        return AGREES;
    return UNKNOWN;
}

static enum verdict judge_narrower(const struct profile_accessed *row,
                                   const struct analyze_values *values,
                                   const struct analyze_narrower *narrower)
{
    struct integer integer;
    const bool is_integer = integer_of(narrower->type, &integer);
    if (is_integer)
        return analyze_is_float(values->type) ? judge_integral(row, values, &integer)
                                              : judge_integer(row, values, &integer);
    if (strcmp(narrower->type, "f32") == 0)
        return judge_float(row, values, 29, -126, 0x1.fffffep127);
    if (strcmp(narrower->type, "f16") == 0)
        return judge_float(row, values, 13, -14, 65504);
    if (strcmp(narrower->type, "bf16") == 0) // has the exponents of f32
        return row->any_bits & 0xffff ? CONTRADICTS : AGREES;
    return UNKNOWN; // an index: how many values there are is unknown
}

// --- All -----------------------------------------------------------------------------------------

static enum verdict judge(const struct profile_accessed *row, const struct analyze_values *values,
                          const struct analyze_narrower *narrower)
{
    if (narrower)
        return judge_narrower(row, values, narrower);
    if (values->is_zero)
        return row->most == 0 ? AGREES : CONTRADICTS;
    return row->any_bits == values->stored_bits && row->all_bits == values->stored_bits
               ? AGREES
               : CONTRADICTS;
}

bool analyze_agree_accesses(const struct analyze_run *run, const struct analyze_value_use *use,
                            const struct analyze_values *values,
                            const struct analyze_narrower *narrower, struct analyze_value_use *seen)
{
    *seen = *use;
    const struct profile_accessed *row = use->is_border ? row_of(run, use, values) : NULL;
    const enum verdict verdict = row ? judge(row, values, narrower) : UNKNOWN;
    if (verdict == AGREES && !(row->flags & PROFILE_ACCESSED_INCOMPLETE)) {
        seen->is_border = false;
        seen->is_confirmed = true;
    }
    return verdict != CONTRADICTS;
}
