// SPDX-License-Identifier: Apache-2.0
// What the scan of contents must find: see values_reference.h. Plain loops over all elements; the
// stored bits of a field are collected and sorted.
#include "values_reference.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PIECE_BYTES = 1 << DEVICE_PIECE_SHIFT,
    PROMISED = 64, // elements from which on the sample contains what it promises
};

// --- Elements ------------------------------------------------------------------------------------

// Of a float type: bits of its mantissa and exponent; 0 for others.
static const struct {
    unsigned bytes, mantissa, exponent;
    bool is_signed;
} types[] = {
    [DEVICE_RAW] = {4, 0, 0, false},  [DEVICE_U8] = {1, 0, 0, false},
    [DEVICE_S8] = {1, 0, 0, true},    [DEVICE_U16] = {2, 0, 0, false},
    [DEVICE_S16] = {2, 0, 0, true},   [DEVICE_U32] = {4, 0, 0, false},
    [DEVICE_S32] = {4, 0, 0, true},   [DEVICE_U64] = {8, 0, 0, false},
    [DEVICE_S64] = {8, 0, 0, true},   [DEVICE_F16] = {2, 10, 5, true},
    [DEVICE_BF16] = {2, 7, 8, true},  [DEVICE_F32] = {4, 23, 8, true},
    [DEVICE_F64] = {8, 52, 11, true},
};

unsigned values_reference_size(uint32_t type)
{
    return types[type].bytes;
}

bool values_reference_is_float(uint32_t type)
{
    return types[type].mantissa != 0;
}

static uint64_t ones(unsigned bits)
{
    return bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
}

static uint64_t mask_of(uint32_t type)
{
    return ones(8 * types[type].bytes);
}

static uint64_t sign_of(uint32_t type)
{
    return UINT64_C(1) << (8 * types[type].bytes - 1);
}

static uint64_t exponent_of(uint32_t type, uint64_t bits)
{
    return bits >> types[type].mantissa & ones(types[type].exponent);
}

static uint64_t mantissa_of(uint32_t type, uint64_t bits)
{
    return bits & ones(types[type].mantissa);
}

// Whether it is an infinity or not a number.
static bool is_special(uint32_t type, uint64_t bits)
{
    return exponent_of(type, bits) == ones(types[type].exponent);
}

static bool is_nan(uint32_t type, uint64_t bits)
{
    return values_reference_is_float(type) && is_special(type, bits) && mantissa_of(type, bits);
}

static double number_of(uint64_t value)
{
    double number;
    memcpy(&number, &value, sizeof(number));
    return number;
}

static uint64_t bits_of(double number)
{
    uint64_t bits;
    memcpy(&bits, &number, sizeof(bits));
    return bits;
}

// A NaN keeps its mantissa, as the upper bits.
static uint64_t widen(uint32_t type, uint64_t bits)
{
    const int bias = (1 << (types[type].exponent - 1)) - 1;
    const uint64_t mantissa = mantissa_of(type, bits), exponent = exponent_of(type, bits);
    const uint64_t sign = (uint64_t) !!(bits & sign_of(type)) << 63;
    if (is_special(type, bits))
        return sign | UINT64_C(2047) << 52 | mantissa << (52 - types[type].mantissa);
    const int shift = (exponent ? (int)exponent : 1) - bias - (int)types[type].mantissa;
    const uint64_t whole = exponent ? mantissa | UINT64_C(1) << types[type].mantissa : mantissa;
    return sign | bits_of(ldexp((double)whole, shift));
}

uint64_t values_reference_value(uint32_t type, uint64_t bits)
{
    if (values_reference_is_float(type))
        return type == DEVICE_F64 ? bits : widen(type, bits);
    return types[type].is_signed && bits & sign_of(type) ? bits | ~mask_of(type) : bits;
}

uint64_t values_reference_round(uint32_t type, uint64_t bits, int mantissa)
{
    const int drop = (int)types[type].mantissa - mantissa;
    if (drop <= 0 || is_special(type, bits))
        return bits;
    const uint64_t unit = UINT64_C(1) << drop, rest = bits & (unit - 1);
    const bool up = rest > unit / 2 || (rest == unit / 2 && bits & unit);
    return bits - rest + (up ? unit : 0);
}

uint64_t values_reference_convert(uint32_t type, double number)
{
    const uint64_t sign = signbit(number) ? sign_of(type) : 0;
    const unsigned mantissa = types[type].mantissa;
    const int bias = (1 << (types[type].exponent - 1)) - 1;
    const uint64_t infinity = ones(types[type].exponent) << mantissa;
    if (type == DEVICE_F64)
        return bits_of(number);
    if (isnan(number))
        return sign | infinity | 1;
    if (isinf(number))
        return sign | infinity;
    if (number == 0)
        return sign;
    int exponent;
    frexp(number, &exponent); // in 0.5 to 1 times 2^exponent
    const int least = 1 - bias;
    const int unit = (exponent - 1 < least ? least : exponent - 1) - (int)mantissa;
    const uint64_t units = (uint64_t)nearbyint(ldexp(fabs(number), -unit));
    // The leading bit of a normal number is added to the exponent before it.
    const uint64_t before = exponent - 1 < least ? 0 : (uint64_t)(exponent - 1 + bias - 1);
    const uint64_t bits = (before << mantissa) + units;
    return sign | (bits > infinity ? infinity : bits);
}

// Ordered as the values are, without signs.
static uint64_t key_of(uint32_t type, uint64_t bits)
{
    const uint64_t sign = sign_of(type);
    if (!types[type].is_signed)
        return bits;
    return values_reference_is_float(type) && bits & sign ? ~bits & mask_of(type) : bits ^ sign;
}

static bool is_integral(uint32_t type, uint64_t bits)
{
    const double number = number_of(values_reference_value(type, bits));
    return values_reference_is_float(type) && isfinite(number) && number == trunc(number) &&
           fabs(number) <= 0x1p53 && bits != sign_of(type);
}

// Whether the narrower type holds the value bit for bit.
static bool fits(uint32_t type, uint64_t bits, uint32_t narrower)
{
    if (is_special(type, bits)) // NaNs keep the upper bits of their mantissa
        return !(bits & ones(types[type].mantissa - types[narrower].mantissa));
    const double number = number_of(values_reference_value(type, bits));
    const uint64_t narrow = values_reference_convert(narrower, number);
    return values_reference_value(narrower, narrow) == values_reference_value(type, bits);
}

// --- Fields --------------------------------------------------------------------------------------

// All elements of a field that are looked at, in order.
struct elements {
    uint32_t type;
    uint64_t count;
    uint64_t *index, *bits;
    uint64_t *sorted; // the bits
};

static uint64_t load(const unsigned char *from, unsigned bytes)
{
    uint64_t bits = 0;
    for (unsigned i = 0; i < bytes; i++)
        bits |= (uint64_t)from[i] << 8 * i;
    return bits;
}

static int compare(const void *one, const void *other)
{
    const uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;
    return (a > b) - (a < b);
}

static void collect(const struct device_values_job *job, const unsigned char *memory,
                    const unsigned char *looked_at, unsigned field, struct elements *to)
{
    const uint64_t bytes = job->end - job->first, lead = job->first - job->base;
    const unsigned size = types[job->fields[field].type].bytes;
    const uint64_t room = bytes / job->stride + 1;
    *to = (struct elements){.type = job->fields[field].type};
    to->index = malloc(room * sizeof(uint64_t));
    to->bits = malloc(room * sizeof(uint64_t));
    for (uint64_t i = 0;; i++) {
        const uint64_t at = i * job->stride + job->fields[field].offset;
        if (at + size > bytes)
            break;
        if (!looked_at[(at + lead) >> DEVICE_PIECE_SHIFT])
            continue;
        to->index[to->count] = i;
        to->bits[to->count++] = load(memory + at, size);
    }
    to->sorted = malloc(room * sizeof(uint64_t));
    memcpy(to->sorted, to->bits, to->count * sizeof(uint64_t));
    qsort(to->sorted, to->count, sizeof(uint64_t), compare);
}

static void release(struct elements *elements)
{
    free(elements->index);
    free(elements->bits);
    free(elements->sorted);
}

static void sum_up(const struct elements *of, struct device_field_result *to)
{
    const uint32_t type = of->type;
    uint64_t least = 0, greatest = 0, integral = 0, narrow = 0, brief = 0;
    bool any = false;
    memset(to, 0, sizeof(*to));
    to->elements = of->count;
    to->all_bits = of->count ? UINT64_MAX : 0;
    for (uint64_t i = 0; i < of->count; i++) {
        const uint64_t bits = of->bits[i], key = key_of(type, bits);
        to->zeros += bits == 0 || (values_reference_is_float(type) && bits == sign_of(type));
        to->nans += is_nan(type, bits);
        to->any_bits |= bits;
        to->all_bits &= bits;
        integral += is_integral(type, bits);
        narrow += (type == DEVICE_F64 && fits(type, bits, DEVICE_F32)) ||
                  (type == DEVICE_F32 && fits(type, bits, DEVICE_F16));
        brief += type == DEVICE_F32 && !(bits & 0xffff);
        if (is_nan(type, bits))
            continue;
        if (!any || key < key_of(type, least))
            least = bits;
        if (!any || key > key_of(type, greatest))
            greatest = bits;
        any = true;
    }
    to->integral = integral == of->count ? integral : 0;
    to->narrow = narrow == of->count ? narrow : 0;
    to->brief = brief == of->count ? brief : 0;
    to->least = any ? values_reference_value(type, least) : 0;
    to->greatest = any ? values_reference_value(type, greatest) : 0;
    for (uint64_t i = 0; i < of->count && to->distinct <= DEVICE_DISTINCT; i++)
        to->distinct += !i || of->sorted[i] != of->sorted[i - 1];
}

void values_reference(const struct device_values_job *job, const unsigned char *memory,
                      const unsigned char *looked_at, struct device_field_result *fields)
{
    for (unsigned i = 0; i < job->field_count; i++) {
        struct elements elements;
        collect(job, memory, looked_at, i, &elements);
        sum_up(&elements, &fields[i]);
        release(&elements);
    }
}

// --- What the sample chooses ---------------------------------------------------------------------

struct why {
    char *text;
    size_t bytes;
    unsigned field;
};

__attribute__((format(printf, 5, 6))) static bool wrong(const struct why *why, const char *what,
                                                        uint64_t came, uint64_t expected,
                                                        const char *more, ...)
{
    va_list list;
    va_start(list, more);
    const int length =
        snprintf(why->text, why->bytes, "field %u: %s is %llx, not %llx; ", why->field, what,
                 (unsigned long long)came, (unsigned long long)expected);
    if (length > 0 && (size_t)length < why->bytes)
        vsnprintf(why->text + length, why->bytes - (size_t)length, more, list);
    va_end(list);
    return false;
}

// Runs of equal bits among the sorted ones.
static uint64_t run_end(const uint64_t *sorted, uint64_t count, uint64_t from)
{
    uint64_t to = from;
    while (to < count && sorted[to] == sorted[from])
        to++;
    return to;
}

static uint64_t count_value(const struct elements *of, uint64_t value)
{
    uint64_t count = 0;
    for (uint64_t i = 0; i < of->count; i++)
        count += values_reference_value(of->type, of->bits[i]) == value;
    return count;
}

static bool check_candidates(const struct elements *of, const struct device_field_result *result,
                             const struct why *why)
{
    unsigned used = 0;
    for (unsigned i = 0; i < DEVICE_CANDIDATES; i++) {
        const uint64_t value = result->candidates[i].value, count = result->candidates[i].count;
        const uint64_t expected = count ? count_value(of, value) : 0;
        if (count != expected)
            return wrong(why, "count of a candidate", count, expected, "candidate %u", i);
        if (!count && value)
            return wrong(why, "value of an unused candidate", value, 0, "candidate %u", i);
        if (count && used < i)
            return wrong(why, "candidates before one that is used", used, i, "there is a gap");
        used += count != 0;
        if (!i || !count)
            continue;
        const uint64_t more = result->candidates[i - 1].count;
        const uint64_t before = result->candidates[i - 1].value;
        if (count > more || (count == more && value <= before))
            return wrong(why, "value of a candidate", value, before, "%u is not in order", i);
    }
    // More than eight values can be so frequent; then the first eight in order are there.
    for (uint64_t from = 0, to; from < of->count; from = to) {
        to = run_end(of->sorted, of->count, from);
        const uint64_t value = values_reference_value(of->type, of->sorted[from]);
        bool found = of->count < PROMISED || 10 * (to - from) < of->count;
        for (unsigned i = 0; i < used; i++)
            found |= result->candidates[i].value == value;
        const uint64_t last = result->candidates[DEVICE_CANDIDATES - 1].count;
        const uint64_t last_value = result->candidates[DEVICE_CANDIDATES - 1].value;
        if (!found && used == DEVICE_CANDIDATES)
            found = last > to - from || (last == to - from && last_value < value);
        if (!found)
            return wrong(why, "a missing candidate", 0, value, "%llu of %llu elements",
                         (unsigned long long)(to - from), (unsigned long long)of->count);
    }
    return true;
}

// Whether the line gives an element.
static bool is_on(const struct elements *of, uint64_t i, uint64_t slope, uint64_t intercept)
{
    const uint64_t bits = of->bits[i], index = of->index[i];
    if (!values_reference_is_float(of->type))
        return bits == ((slope * index + intercept) & mask_of(of->type));
    const double number = number_of(values_reference_value(of->type, bits));
    const double line = fma(number_of(slope), (double)index, number_of(intercept));
    return isfinite(number) && fabs(number - line) <= 0x1p-20 * fabs(number);
}

static uint64_t count_on(const struct elements *of, uint64_t slope, uint64_t intercept)
{
    uint64_t count = 0;
    for (uint64_t i = 0; i < of->count; i++)
        count += is_on(of, i, slope, intercept);
    return count;
}

// Makes the line through two elements. Of integers, they must be neighbours. Returns whether it is
// one that the scan promises to find.
static bool make_line(const struct elements *of, uint64_t i, uint64_t j, uint64_t *slope,
                      uint64_t *intercept)
{
    const uint64_t one = values_reference_value(of->type, of->bits[i]);
    const uint64_t other = values_reference_value(of->type, of->bits[j]);
    if (!values_reference_is_float(of->type)) {
        *slope = (other - one) & mask_of(of->type);
        *intercept = one - *slope * of->index[i];
        return of->index[j] == of->index[i] + 1 && *slope;
    }
    const double span = (double)(of->index[of->count - 1] - of->index[0]);
    const double a =
        (number_of(other) - number_of(one)) / ((double)of->index[j] - (double)of->index[i]);
    const double b = number_of(one) - a * (double)of->index[i];
    const double from = fabs(a * (double)of->index[0] + b);
    const double to = fabs(a * (double)of->index[of->count - 1] + b);
    *slope = bits_of(a);
    *intercept = bits_of(b);
    return isfinite(a) && isfinite(b) && a != 0 && fabs(a) * span >= 0x1p-15 * fmax(from, to);
}

static bool check_line(const struct elements *of, const struct device_field_result *result,
                       const struct why *why)
{
    enum { TRIES = 40 };
    const uint64_t expected =
        result->slope ? count_on(of, result->slope, result->intercept) : result->linear;
    if (result->linear != expected)
        return wrong(why, "linear", result->linear, expected, "slope %llx",
                     (unsigned long long)result->slope);
    if (!result->slope && (result->linear || result->intercept))
        return wrong(why, "linear or intercept", result->linear | result->intercept, 0, "no slope");
    if (of->type == DEVICE_RAW && result->slope)
        return wrong(why, "slope", result->slope, 0, "raw words have none");
    if (of->count < PROMISED || of->type == DEVICE_RAW)
        return true;
    for (uint64_t try = 0; try < TRIES; try++) {
        const uint64_t i = (of->count - 1) * try / TRIES;
        const uint64_t j =
            values_reference_is_float(of->type) ? (i + of->count / 2) % of->count : i + 1;
        uint64_t slope, intercept;
        if (!make_line(of, i, j, &slope, &intercept))
            continue;
        const uint64_t on = count_on(of, slope, intercept);
        if (100 * on >= 99 * of->count && 100 * result->linear < 99 * of->count)
            return wrong(why, "linear", result->linear, on, "a line is missing: slope %llx",
                         (unsigned long long)slope);
    }
    return true;
}

static bool check_rounding(const struct elements *of, const struct device_field_result *result,
                           unsigned k, const struct why *why)
{
    const int mantissa = 10 - (int)k;
    const uint64_t value = result->roundings[k].value, came = result->roundings[k].count;
    const uint64_t came_linear = result->roundings[k].linear;
    uint64_t count = 0, linear = 0, most = 0, most_value = 0;
    uint64_t *rounded = malloc(of->count * sizeof(uint64_t) + 1);
    for (uint64_t i = 0; i < of->count; i++) {
        const double line =
            fma(number_of(result->slope), (double)of->index[i], number_of(result->intercept));
        rounded[i] = values_reference_round(of->type, of->bits[i], mantissa);
        count += values_reference_value(of->type, rounded[i]) == value;
        linear += values_reference_round(of->type, values_reference_convert(of->type, line),
                                         mantissa) == rounded[i];
    }
    qsort(rounded, of->count, sizeof(uint64_t), compare);
    for (uint64_t from = 0, to; from < of->count; from = to) {
        to = run_end(rounded, of->count, from);
        if (to - from > most) {
            most = to - from;
            most_value = values_reference_value(of->type, rounded[from]);
        }
    }
    free(rounded);
    if ((came || value) && came != count)
        return wrong(why, "count of a rounding", came, count, "rounding %u", k);
    // Of two that are about as frequent, the sample may choose either.
    const bool wanting = 10 * most >= 6 * of->count ? came != most : 10 * came < 4 * of->count;
    if (of->count >= PROMISED && 2 * most >= of->count && wanting)
        return wrong(why, "value of a rounding", value, most_value, "rounding %u", k);
    if (came_linear && (!result->slope || came_linear != linear))
        return wrong(why, "linear of a rounding", came_linear, linear, "rounding %u", k);
    return true;
}

static bool check_field(const struct elements *of, const struct device_field_result *result,
                        const struct why *why)
{
    struct device_field_result expected;
    sum_up(of, &expected);
#define SAME(name)                     \
    if (result->name != expected.name) \
        return wrong(why, #name, result->name, expected.name, "type %u", of->type);
    SAME(elements)
    SAME(zeros)
    SAME(nans)
    SAME(least)
    SAME(greatest)
    SAME(any_bits)
    SAME(all_bits)
    SAME(integral)
    SAME(narrow)
    SAME(brief)
    SAME(distinct)
#undef SAME
    if (!check_candidates(of, result, why) || !check_line(of, result, why))
        return false;
    for (unsigned k = 0; k < DEVICE_ROUNDINGS; k++) {
        if (values_reference_is_float(of->type) && !check_rounding(of, result, k, why))
            return false;
        if (!values_reference_is_float(of->type) &&
            (result->roundings[k].value || result->roundings[k].count ||
             result->roundings[k].linear))
            return wrong(why, "a rounding", 1, 0, "type %u", of->type);
    }
    return true;
}

// --- Hashes --------------------------------------------------------------------------------------

static uint64_t mix(uint64_t value)
{
    value = (value ^ value >> 32) * UINT64_C(0xd6e8feb86659fd93);
    return value ^ value >> 29;
}

static const uint32_t keys[16] = {
    0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0, 0x082efa98, 0xec4e6c89,
    0x452821e6, 0x38d01377, 0xbe5466cf, 0x34e90c6c, 0xc0ac29b7, 0xc97c50dd, 0x3f84d5b5, 0xb5470917};

void values_reference_hash(const struct device_values_job *job, const unsigned char *memory,
                           uint64_t piece, uint64_t hash[2])
{
    enum { ROUND = 2048, LANES = 32, VECTORS = 4 };
    unsigned char bytes[PIECE_BYTES] = {0};
    for (unsigned i = 0; i < PIECE_BYTES; i++) {
        const uint64_t at = job->base + (piece << DEVICE_PIECE_SHIFT) + i;
        if (at >= job->first && at < job->end)
            bytes[i] = memory[at - job->first];
    }
    hash[0] = hash[1] = 0;
    for (unsigned lane = 0; lane < LANES; lane++) {
        uint64_t own[2] = {(lane + 1) * UINT64_C(0x9e3779b97f4a7c15),
                           (lane + 1) * UINT64_C(0xc2b2ae3d27d4eb4f)};
        for (unsigned round = 0; round < PIECE_BYTES; round += ROUND) {
            own[0] = own[0] << 32 | own[0] >> 32;
            own[1] = own[1] << 32 | own[1] >> 32;
            for (unsigned i = 0; i < VECTORS; i++) {
                const unsigned char *from = bytes + round + (i * LANES + lane) * 16;
                uint64_t words[4];
                for (unsigned k = 0; k < 4; k++)
                    words[k] = (uint32_t)((uint32_t)load(from + 4 * k, 4) + keys[4 * i + k]);
                own[0] += words[0] * words[1] + words[2] * words[3];
                own[1] += words[0] * words[2] + words[1] * words[3];
            }
        }
        hash[0] += mix(own[0]);
        hash[1] += mix(own[1]);
    }
}

void values_reference_share(uint64_t piece, const uint64_t hash[2], uint64_t share[2])
{
    share[0] = mix(hash[0] ^ mix((piece + 1) * UINT64_C(0x9e3779b97f4a7c15)));
    share[1] = mix(hash[1] ^ mix((piece + 1) * UINT64_C(0xc2b2ae3d27d4eb4f)));
}

// --- All of it -----------------------------------------------------------------------------------

bool values_reference_check(const struct device_values_job *job, const unsigned char *memory,
                            const unsigned char *looked_at,
                            const struct device_values_result *result, char *why, size_t why_bytes)
{
    struct why about = {why, why_bytes, 0};
    uint64_t pieces = 0, bytes = 0;
    for (uint32_t i = 0; i < job->pieces; i++) {
        const uint64_t start = job->base + ((uint64_t)i << DEVICE_PIECE_SHIFT);
        const uint64_t from = start < job->first ? job->first : start;
        const uint64_t to = start + PIECE_BYTES > job->end ? job->end : start + PIECE_BYTES;
        pieces += looked_at[i] != 0;
        bytes += looked_at[i] ? to - from : 0;
    }
    if (result->pieces != pieces)
        return wrong(&about, "pieces", result->pieces, pieces, "of the object");
    if (result->bytes != bytes)
        return wrong(&about, "bytes", result->bytes, bytes, "of the object");
    for (unsigned i = 0; job->describes && i < job->field_count; i++) {
        struct elements elements;
        about.field = i;
        collect(job, memory, looked_at, i, &elements);
        const bool right = check_field(&elements, &result->fields[i], &about);
        release(&elements);
        if (!right)
            return false;
    }
    return true;
}
