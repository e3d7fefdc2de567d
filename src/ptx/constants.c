// SPDX-License-Identifier: Apache-2.0
// Parses numbers and constant expressions by the rules of the ISA manual. Integers have 64 bits and
// are signed unless a suffix or the value says otherwise. Floating-point literals cannot be part of
// expressions.
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "parser.h"

enum { DEEPEST = 64 };

static struct ptx_constant conditional(struct ptx_parser *parser, unsigned depth);
static struct ptx_constant unary(struct ptx_parser *parser, unsigned depth);

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static int digit_value(char c)
{
    if (is_digit(c))
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : 99;
}

bool ptx_scan_is_constant(struct ptx_parser *parser)
{
    static const char warp_size[] = "WARP_SZ";
    enum { LENGTH = sizeof(warp_size) - 1 };
    char c = ptx_scan_peek(parser);
    if (c == 'W' && parser->end - parser->at >= LENGTH &&
        memcmp(parser->at, warp_size, LENGTH) == 0 &&
        (parser->end - parser->at == LENGTH || !ptx_scan_is_name_rest(parser->at[LENGTH])))
        return true;
    return is_digit(c) || c == '-' || c == '+' || c == '~' || c == '!' || c == '(' || c == '.';
}

static struct ptx_constant integer(uint64_t bits, bool is_unsigned)
{
    return (struct ptx_constant){PTX_CONSTANT_INT, is_unsigned, false, bits};
}

// 0f3F800000 and 0d3FF0000000000000 have exactly so many digits.
static struct ptx_constant float_bits(struct ptx_parser *parser, unsigned digits)
{
    struct ptx_place place = ptx_scan_place(parser);
    uint64_t bits = 0;
    parser->at += 2;
    for (unsigned i = 0; i < digits; i++, parser->at++) {
        if (parser->at == parser->end || digit_value(*parser->at) > 15)
            ptx_scan_fail(parser, place,
                          "expected %u hexadecimal digits in a floating-point number", digits);
        bits = bits << 4 | (uint64_t)digit_value(*parser->at);
    }
    uint8_t kind = digits == 8 ? PTX_CONSTANT_F32 : PTX_CONSTANT_F64;
    return (struct ptx_constant){kind, false, true, bits};
}

// Returns the length of a decimal floating-point literal, or 0 if it is an integer.
static size_t decimal_float(const struct ptx_parser *parser)
{
    const char *at = parser->at;
    bool point = false, digits = false;
    while (at < parser->end && (is_digit(*at) || (*at == '.' && !point))) {
        point |= *at == '.';
        digits |= is_digit(*at);
        at++;
    }
    const char *mantissa = at;
    if (digits && at < parser->end && (*at == 'e' || *at == 'E')) {
        at++;
        if (at < parser->end && (*at == '+' || *at == '-'))
            at++;
        if (at < parser->end && is_digit(*at)) {
            while (at < parser->end && is_digit(*at))
                at++;
            return (size_t)(at - parser->at);
        }
    }
    return point && digits ? (size_t)(mantissa - parser->at) : 0;
}

static struct ptx_constant number(struct ptx_parser *parser)
{
    struct ptx_place place = ptx_scan_place(parser);
    char first = *parser->at;
    char second = parser->at + 1 < parser->end ? parser->at[1] : '\0';
    if (first == '0' && (second == 'f' || second == 'F'))
        return float_bits(parser, 8);
    if (first == '0' && (second == 'd' || second == 'D'))
        return float_bits(parser, 16);
    size_t length = decimal_float(parser);
    if (length) {
        char text[64];
        if (length >= sizeof(text))
            ptx_scan_fail(parser, place, "this floating-point number is too long");
        memcpy(text, parser->at, length);
        text[length] = '\0';
        // The process may use a locale with another decimal point.
        locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
        double value = plain ? strtod_l(text, NULL, plain) : 0;
        if (!plain)
            ptx_scan_fail(parser, place, "out of memory reading a floating-point number");
        freelocale(plain);
        struct ptx_constant constant = {PTX_CONSTANT_F64, false, false, 0};
        memcpy(&constant.bits, &value, sizeof(value));
        parser->at += length;
        return constant;
    }
    unsigned base = 10;
    if (first == '0' && (second == 'x' || second == 'X'))
        base = 16;
    else if (first == '0' && (second == 'b' || second == 'B'))
        base = 2;
    else if (first == '0' && is_digit(second))
        base = 8;
    if (base == 16 || base == 2)
        parser->at += 2;
    uint64_t value = 0;
    const char *start = parser->at;
    while (parser->at < parser->end && (unsigned)digit_value(*parser->at) < base) {
        uint64_t shifted;
        if (__builtin_mul_overflow(value, base, &shifted) ||
            __builtin_add_overflow(shifted, (uint64_t)digit_value(*parser->at), &value))
            ptx_scan_fail(parser, place, "this integer does not fit 64 bits");
        parser->at++;
    }
    if (parser->at == start)
        ptx_scan_expected(parser, "a number");
    struct ptx_constant constant = integer(value, value > INT64_MAX);
    constant.hex = base == 16;
    if (parser->at < parser->end && (*parser->at == 'U' || *parser->at == 'u')) {
        constant.is_unsigned = true;
        parser->at++;
    }
    return constant;
}

static struct ptx_constant primary(struct ptx_parser *parser, unsigned depth)
{
    char c = ptx_scan_peek(parser);
    if (is_digit(c) || c == '.')
        return number(parser);
    if (c == '(') {
        parser->at++;
        if (ptx_scan_take(parser, '.')) { // a cast: (.s64) or (.u64)
            struct ptx_place place = ptx_scan_place(parser);
            struct base_str word = ptx_scan_word(parser, "a type");
            bool is_unsigned = base_str_is(word, "u64");
            if (!is_unsigned && !base_str_is(word, "s64"))
                ptx_scan_fail(parser, place, "a constant is cast to .s64 or .u64, not to .%.*s",
                              BASE_STR_ARG(word));
            ptx_scan_need(parser, ')');
            if (depth == DEEPEST)
                ptx_scan_expected(parser, "a simpler expression");
            struct ptx_constant value = unary(parser, depth + 1);
            return integer(value.bits, is_unsigned);
        }
        struct ptx_constant value = conditional(parser, depth + 1);
        ptx_scan_need(parser, ')');
        return value;
    }
    struct ptx_place place = ptx_scan_place(parser);
    struct ptx_name *name = ptx_scan_name(parser, "a constant");
    if (strcmp(name->text, "WARP_SZ") != 0)
        ptx_scan_fail(parser, place, "expected a constant, found '%.40s'", name->text);
    return integer(32, false);
}

static struct ptx_constant unary(struct ptx_parser *parser, unsigned depth)
{
    char c = ptx_scan_peek(parser);
    if (c != '-' && c != '+' && c != '~' && c != '!')
        return primary(parser, depth);
    struct ptx_place place = ptx_scan_place(parser);
    if (depth >= DEEPEST)
        ptx_scan_expected(parser, "a simpler expression");
    parser->at++;
    struct ptx_constant value = unary(parser, depth + 1);
    if (value.kind != PTX_CONSTANT_INT) {
        if (c == '-')
            value.bits ^= value.kind == PTX_CONSTANT_F32 ? UINT64_C(1) << 31 : UINT64_C(1) << 63;
        else if (c != '+')
            ptx_scan_fail(parser, place, "'%c' does not apply to a floating-point number", c);
        return value;
    }
    if (c == '-')
        return integer(0 - value.bits, value.is_unsigned && value.bits <= INT64_MAX);
    if (c == '~')
        return integer(~value.bits, value.is_unsigned);
    if (c == '!')
        return integer(!value.bits, false);
    return value;
}

struct operation {
    char text[3];
    uint8_t strength;
};

// Longer spellings come first, so that << is not read as <.
static const struct operation operations[] = {
    {"<<", 8}, {">>", 8}, {"<=", 7}, {">=", 7}, {"==", 6}, {"!=", 6},
    {"&&", 2}, {"||", 1}, {"*", 10}, {"/", 10}, {"%", 10}, {"+", 9},
    {"-", 9},  {"<", 7},  {">", 7},  {"&", 5},  {"^", 4},  {"|", 3},
};

static const struct operation *peek_operation(struct ptx_parser *parser)
{
    // Most constants are followed by a comma or a bracket.
    switch (ptx_scan_peek(parser)) {
    case '<':
    case '>':
    case '=':
    case '!':
    case '&':
    case '|':
    case '*':
    case '/':
    case '%':
    case '+':
    case '-':
    case '^': break;
    default: return NULL;
    }
    for (size_t i = 0; i < sizeof(operations) / sizeof(operations[0]); i++) {
        size_t length = strlen(operations[i].text);
        if ((size_t)(parser->end - parser->at) >= length &&
            memcmp(parser->at, operations[i].text, length) == 0)
            return &operations[i];
    }
    return NULL;
}

static double as_double(struct ptx_constant value)
{
    double wide;
    float narrow;
    uint32_t low = (uint32_t)value.bits;
    switch (value.kind) {
    case PTX_CONSTANT_F32: memcpy(&narrow, &low, sizeof(narrow)); return narrow;
    case PTX_CONSTANT_F64: memcpy(&wide, &value.bits, sizeof(wide)); return wide;
    default: return value.is_unsigned ? (double)value.bits : (double)(int64_t)value.bits;
    }
}

static struct ptx_constant apply_float(struct ptx_parser *parser, struct ptx_place place,
                                       const struct operation *operation, double a, double b)
{
    bool equal_too = operation->text[1] == '=';
    double result = 0;
    switch (operation->text[0]) {
    case '+': result = a + b; break;
    case '-': result = a - b; break;
    case '*': result = a * b; break;
    case '/': result = a / b; break;
    case '=': return integer(a == b, false);
    case '!': return integer(a != b, false);
    case '<':
    case '>':
        if (operation->text[1] == '\0' || equal_too) {
            bool before = operation->text[0] == '<' ? a < b : a > b;
            return integer(before || (equal_too && a == b), false);
        }
        __attribute__((fallthrough));
    default:
        ptx_scan_fail(parser, place, "floating-point numbers cannot be combined with '%s'",
                      operation->text);
    }
    struct ptx_constant constant = {PTX_CONSTANT_F64, false, false, 0};
    memcpy(&constant.bits, &result, sizeof(result));
    return constant;
}

static struct ptx_constant apply(struct ptx_parser *parser, struct ptx_place place,
                                 const struct operation *operation, struct ptx_constant a,
                                 struct ptx_constant b)
{
    if (a.kind != PTX_CONSTANT_INT || b.kind != PTX_CONSTANT_INT)
        return apply_float(parser, place, operation, as_double(a), as_double(b));
    bool is_unsigned = a.is_unsigned || b.is_unsigned;
    int64_t sa = (int64_t)a.bits, sb = (int64_t)b.bits;
    bool less = is_unsigned ? a.bits < b.bits : sa < sb;
    switch (operation->text[0]) {
    case '*': return integer(a.bits * b.bits, is_unsigned);
    case '/':
    case '%':
        if (b.bits == 0)
            ptx_scan_fail(parser, place, "division by zero in a constant");
        if (!is_unsigned && sb == -1) // the only quotient that does not fit
            return integer(operation->text[0] == '/' ? 0 - a.bits : 0, false);
        if (operation->text[0] == '/')
            return integer(is_unsigned ? a.bits / b.bits : (uint64_t)(sa / sb), is_unsigned);
        return integer(is_unsigned ? a.bits % b.bits : (uint64_t)(sa % sb), is_unsigned);
    case '+': return integer(a.bits + b.bits, is_unsigned);
    case '-': return integer(a.bits - b.bits, is_unsigned);
    case '^': return integer(a.bits ^ b.bits, is_unsigned);
    case '=': return integer(a.bits == b.bits, false);
    case '!': return integer(a.bits != b.bits, false);
    case '&':
        if (operation->text[1])
            return integer(a.bits && b.bits, false);
        return integer(a.bits & b.bits, is_unsigned);
    case '|':
        if (operation->text[1])
            return integer(a.bits || b.bits, false);
        return integer(a.bits | b.bits, is_unsigned);
    case '<':
        if (operation->text[1] == '<')
            return integer(b.bits > 63 ? 0 : a.bits << b.bits, a.is_unsigned);
        return integer(operation->text[1] ? less || a.bits == b.bits : less, false);
    default:
        if (operation->text[1] == '>') {
            uint64_t by = b.bits > 63 ? 63 : b.bits;
            if (a.is_unsigned)
                return integer(b.bits > 63 ? 0 : a.bits >> by, true);
            return integer((uint64_t)(sa >> by), false);
        }
        return integer(operation->text[1] ? !less : !less && a.bits != b.bits, false);
    }
}

static struct ptx_constant binary(struct ptx_parser *parser, unsigned strength, unsigned depth)
{
    if (depth > DEEPEST)
        ptx_scan_expected(parser, "a simpler expression");
    struct ptx_constant left = unary(parser, depth);
    for (;;) {
        const struct operation *operation = peek_operation(parser);
        if (!operation || operation->strength < strength)
            return left;
        struct ptx_place place = ptx_scan_place(parser);
        parser->at += strlen(operation->text);
        struct ptx_constant right = binary(parser, operation->strength + 1u, depth + 1);
        left = apply(parser, place, operation, left, right);
    }
}

static struct ptx_constant conditional(struct ptx_parser *parser, unsigned depth)
{
    struct ptx_constant test = binary(parser, 1, depth);
    if (!ptx_scan_take(parser, '?'))
        return test;
    struct ptx_constant yes = conditional(parser, depth + 1);
    ptx_scan_need(parser, ':');
    struct ptx_constant no = conditional(parser, depth + 1);
    return test.bits ? yes : no;
}

struct ptx_constant ptx_parse_constant(struct ptx_parser *parser)
{
    return conditional(parser, 0);
}

// Parses an integer expression with operators of at least the given precedence.
static uint64_t natural(struct ptx_parser *parser, unsigned strength, const char *what)
{
    if (!ptx_scan_is_constant(parser))
        ptx_scan_expected(parser, what);
    struct ptx_place place = ptx_scan_place(parser);
    struct ptx_constant value = strength ? binary(parser, strength, 0) : conditional(parser, 0);
    if (value.kind != PTX_CONSTANT_INT || (!value.is_unsigned && (int64_t)value.bits < 0))
        ptx_scan_fail(parser, place, "expected %s, found a number that is negative or not whole",
                      what);
    return value.bits;
}

uint64_t ptx_parse_u64(struct ptx_parser *parser, const char *what)
{
    return natural(parser, 0, what);
}

uint64_t ptx_parse_family(struct ptx_parser *parser, const char *what)
{
    // Only sums and products: '>' closes the count.
    uint64_t count = natural(parser, 9, what);
    ptx_scan_need(parser, '>');
    return count;
}

uint32_t ptx_parse_u32(struct ptx_parser *parser, const char *what)
{
    ptx_scan_space(parser);
    struct ptx_place place = ptx_scan_place(parser);
    uint64_t value = ptx_parse_u64(parser, what);
    if (value > UINT32_MAX)
        ptx_scan_fail(parser, place, "expected %s, found a number that is too large", what);
    return (uint32_t)value;
}

int64_t ptx_parse_offset(struct ptx_parser *parser)
{
    uint64_t sum = 0;
    for (;;) {
        char sign = ptx_scan_peek(parser);
        if (sign != '+' && sign != '-')
            return (int64_t)sum;
        struct ptx_place place = ptx_scan_place(parser);
        parser->at++;
        struct ptx_constant term = binary(parser, 10, 0);
        if (term.kind != PTX_CONSTANT_INT)
            ptx_scan_fail(parser, place, "an offset must be a whole number");
        sum = sign == '+' ? sum + term.bits : sum - term.bits;
    }
}
