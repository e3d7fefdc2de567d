// SPDX-License-Identifier: Apache-2.0
// Memory accesses of random kernels: where pointers come from, how indices are computed, and the
// instructions.
#include <inttypes.h>
#include <string.h>

#include "random_kernel.h"

struct type {
    const char *name;
    unsigned bytes;
    char class; // of registers
};
static const struct type types[] = {
    {"u32", 4, 'r'}, {"u8", 1, 'h'},  {"s8", 1, 'h'},  {"u16", 2, 'h'}, {"b32", 4, 'r'},
    {"s32", 4, 'r'}, {"f32", 4, 'f'}, {"u64", 8, 'd'}, {"f64", 8, 'g'}, {"b64", 8, 'd'},
    {"b16", 2, 'h'}, {"s16", 2, 'h'}, {"b8", 1, 'h'},
};
enum { TYPES = sizeof(types) / sizeof(types[0]) };

unsigned fresh(struct writer *writer, char class)
{
    switch (class) {
    case 'r': return writer->words++;
    case 'd': return writer->wides++;
    case 'h': return writer->halves++;
    case 'f': return writer->floats++;
    case 'g': return writer->doubles++;
    default: return writer->preds++;
    }
}

// --- Pointers ------------------------------------------------------------------------------------

static struct place place_in(struct writer *writer, enum place_class class, int64_t before,
                             int64_t after)
{
    struct place place = {.class = class, .before = before, .after = after};
    snprintf(place.text, sizeof(place.text), "%%d%u", fresh(writer, 'd'));
    return place;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static const struct pointer *pick_pointer(struct writer *writer, enum place_class class)
{
    const struct pointer *found;
    do
        found = &writer->pointers[below(writer, writer->pointer_count)];
    while (found->class != class);
    return found;
}

static struct place from_param(struct writer *writer, enum place_class class)
{
    const struct pointer *pointer = pick_pointer(writer, class);
    struct place place = place_in(writer, class, pointer->before, pointer->after);
    put(writer, "ld.param.u64 %s, [%s];", place.text, pointer->param);
    if (below(writer, 2))
        put(writer, "cvta.to.global.u64 %s, %s;", place.text, place.text);
    return place;
}

// The second to last parameter points to the buffer with the table.
static struct place from_table(struct writer *writer, enum place_class class)
{
    const struct pointer *table = &writer->table[class == PLACE_OUT];
    struct place place = place_in(writer, class, table->before, table->after);
    const unsigned base = fresh(writer, 'd');
    const unsigned first = class == PLACE_OUT ? 4 : 0;
    put(writer, "ld.param.u64 %%d%u, [%s];", base, table->param);
    if (below(writer, 2)) {
        put(writer, "ld.global.u64 %s, [%%d%u+%u];", place.text, base,
            8 * (first + below(writer, 4)));
    } else {
        const struct var index = take_index(writer, 4);
        const unsigned at = fresh(writer, 'd');
        put(writer, "mad.wide.s32 %%d%u, %s, 8, %%d%u;", at, index.text, base);
        put(writer, "ld.global%s.u64 %s, [%%d%u+%" PRId64 "];", below(writer, 3) ? "" : ".nc",
            place.text, at, 8 * (first - index.low));
    }
    return place;
}

static struct place from_variable(struct writer *writer, enum place_class class)
{
    struct place place = place_in(writer, class, 0, class == PLACE_IN ? 4000 : 4096);
    const unsigned kind = below(writer, 3);
    switch (kind || has(writer, FEATURE_TABLES) ? kind : 1) {
    case 0:
        // The pointer to the variable is itself a variable.
        put(writer, "ld.global.u64 %s, [%s_pointer];", place.text,
            class == PLACE_IN ? "v_in" : "v_out");
        break;
    case 1:
        put(writer, "mov.u64 %s, %s;", place.text, class == PLACE_IN ? "v_in" : "v_out");
        put(writer, "cvta.global.u64 %s, %s;", place.text, place.text);
        break;
    default: snprintf(place.text, sizeof(place.text), "%s", class == PLACE_IN ? "v_in" : "v_out");
    }
    return place;
}

static struct place from_any(struct writer *writer, enum place_class class);

static struct place as_register(struct writer *writer, const struct place *place)
{
    if (place->text[0] == '%')
        return *place;
    struct place moved = place_in(writer, place->class, place->before, place->after);
    put(writer, "mov.u64 %s, %s;", moved.text, place->text);
    return moved;
}

// Selects one of two pointers with an instruction, with branches, or with a function.
static struct place from_choice(struct writer *writer, enum place_class class)
{
    struct place a = from_any(writer, class), b = from_any(writer, class);
    a = as_register(writer, &a);
    b = as_register(writer, &b);
    struct place place =
        place_in(writer, class, least(a.before, b.before), least(a.after, b.after));
    const unsigned condition = take_condition(writer);
    const unsigned kind =
        below(writer, writer->in_function || !has(writer, FEATURE_FUNCTIONS) ? 3 : 4);
    if (kind == 0 || (kind == 2 && !has(writer, FEATURE_TABLES))) {
        put(writer, "selp.b64 %s, %s, %s, %%p%u;", place.text, a.text, b.text, condition);
    } else if (kind == 1) {
        const unsigned other = writer->labels++, end = writer->labels++;
        put(writer,
            "@%%p%u bra L%u;\nmov.u64 %s, %s;\nbra.uni L%u;\nL%u: mov.u64 %s, %s;\nL%u:", condition,
            other, place.text, a.text, end, other, place.text, b.text, end);
    } else if (kind == 2) {
        // The pointer is stored in local memory and loaded again.
        put(writer, "st.local.u64 [spill], %s;\n@%%p%u st.local.u64 [spill], %s;", a.text,
            condition, b.text);
        put(writer, "ld.local.u64 %s, [spill];", place.text);
    } else {
        const unsigned chosen = fresh(writer, 'r');
        put(writer, "selp.u32 %%r%u, 1, 0, %%p%u;", chosen, condition);
        put(writer,
            "{ .param .b64 a; .param .b64 b; .param .b32 c; .param .b64 back;\n"
            "st.param.b64 [a], %s; st.param.b64 [b], %s; st.param.b32 [c], %%r%u;\n"
            "call.uni (back), pick, (a, b, c);\nld.param.b64 %s, [back]; }",
            a.text, b.text, chosen, place.text);
    }
    return place;
}

// Global, shared or local memory. Only for writes, because the contents are not known.
static struct place from_mixed(struct writer *writer)
{
    struct place global = from_any(writer, PLACE_OUT), place = place_in(writer, PLACE_OUT, 0, 256);
    global = as_register(writer, &global);
    place.after = least(256, global.after);
    const unsigned other = fresh(writer, 'd'), third = fresh(writer, 'd');
    put(writer, "mov.u64 %%d%u, tile; cvta.shared.u64 %%d%u, %%d%u;", other, other, other);
    if (has(writer, FEATURE_CLUSTERS)) {
        const unsigned rank = fresh(writer, 'r');
        put(writer, "mov.u32 %%r%u, %%cluster_ctarank; selp.u32 %%r%u, 0, %%r%u, %%p%u;", rank,
            rank, rank, take_condition(writer));
        put(writer, "xor.b32 %%r%u, %%r%u, 1; mapa.u64 %%d%u, %%d%u, %%r%u;", rank, rank, other,
            other, rank);
    }
    place.local = below(writer, 2);
    if (place.local) {
        put(writer, "mov.u64 %%d%u, mine; cvta.local.u64 %%d%u, %%d%u;", third, third, third);
        put(writer, "selp.b64 %%d%u, %%d%u, %%d%u, %%p%u;", other, other, third,
            take_condition(writer));
    }
    put(writer, "selp.b64 %s, %s, %%d%u, %%p%u;", place.text, global.text, other,
        take_condition(writer));
    place.generic = true;
    return place;
}

static struct place from_any(struct writer *writer, enum place_class class)
{
    const unsigned kind = below(writer, 8);
    if (class == PLACE_SUM || class == PLACE_FSUM)
        return from_param(writer, class);
    if (kind == 0 && has(writer, FEATURE_TABLES) && !writer->in_function)
        return from_table(writer, class);
    if (kind == 1 && has(writer, FEATURE_VARIABLES))
        return from_variable(writer, class);
    if (kind < 5 && has(writer, FEATURE_FORMS) && !writer->in_function)
        return from_form(writer, class);
    return from_param(writer, class);
}

struct place take_place_of(struct writer *writer, enum place_class class)
{
    const unsigned kind = below(writer, 8);
    if (class == PLACE_OUT && kind == 0 && has(writer, FEATURE_MIXED))
        return from_mixed(writer);
    if ((class == PLACE_IN || class == PLACE_OUT) && kind == 1 && has(writer, FEATURE_CHOICES))
        return from_choice(writer, class);
    return from_any(writer, class);
}

struct place take_place(struct writer *writer)
{
    const unsigned kind = below(writer, 10);
    if (kind < 2 && has(writer, FEATURE_ATOMICS) && !writer->in_function)
        return take_place_of(writer, kind ? PLACE_SUM : PLACE_FSUM);
    return take_place_of(writer, kind < 6 ? PLACE_IN : PLACE_OUT);
}

// --- Numbers -------------------------------------------------------------------------------------

static struct var var_in(struct writer *writer, int64_t low, int64_t high)
{
    struct var var = {.low = low, .high = high};
    snprintf(var.text, sizeof(var.text), "%%r%u", fresh(writer, 'r'));
    return var;
}

static struct var masked(struct writer *writer, const char *text, int64_t most)
{
    int64_t mask = 1;
    while (mask * 2 + 1 < most && mask < 1023)
        mask = mask * 2 + 1;
    if (most < 2)
        mask = 0;
    struct var var = var_in(writer, 0, mask);
    put(writer, "and.b32 %s, %s, %" PRId64 ";", var.text, text, mask);
    return var;
}

// Writes var + coefficient * other, in one of the forms that compilers use.
static struct var add_term(struct writer *writer, const struct var *var, const struct var *other,
                           int coefficient)
{
    const int64_t a = coefficient * other->low, b = coefficient * other->high;
    struct var sum = var_in(writer, var->low + least(a, b), var->high + (a > b ? a : b));
    if (coefficient == 1) {
        put(writer, "add.s32 %s, %s, %s;", sum.text, other->text, var->text);
    } else if (coefficient == -1) {
        put(writer, "sub.s32 %s, %s, %s;", sum.text, var->text, other->text);
    } else if (coefficient == 4 && below(writer, 2)) {
        put(writer, "shl.b32 %s, %s, 2;\nadd.s32 %s, %s, %s;", sum.text, other->text, sum.text,
            sum.text, var->text);
    } else {
        put(writer, "mad.lo.s32 %s, %s, %d, %s;", sum.text, other->text, coefficient, var->text);
    }
    return sum;
}

static struct var affine(struct writer *writer)
{
    static const int coefficients[] = {1, 1, 1, 1, 2, 3, 4, 16, 33, -1, -1, -2, -4, 5, 0};
    const unsigned choices = has(writer, FEATURE_STRIDES) ? 15 : 4;
    // Counters of inner loops are chosen more often.
    struct var sum =
        writer->vars[below(writer, 2) ? writer->var_count - 1 : below(writer, writer->var_count)];
    for (unsigned terms = below(writer, 3); terms; terms--)
        sum = add_term(writer, &sum, &writer->vars[below(writer, writer->var_count)],
                       coefficients[below(writer, choices)]);
    if (below(writer, 4) == 0) {
        const struct var before = sum;
        const int offset = (int)below(writer, 40) - 20;
        sum = var_in(writer, before.low + offset, before.high + offset);
        put(writer, "add.s32 %s, %s, %d;", sum.text, before.text, offset);
    }
    return sum;
}

struct var take_index(struct writer *writer, int64_t most)
{
    if (has(writer, FEATURE_DATA) && below(writer, 5) == 0) {
        struct var shifted = var_in(writer, 0, 0);
        put(writer, "shr.u32 %s, %%acc, %u;", shifted.text, below(writer, 20));
        return masked(writer, shifted.text, most);
    }
    const struct var index = affine(writer);
    return index.high - index.low < most ? index : masked(writer, index.text, most);
}

unsigned take_condition(struct writer *writer)
{
    static const char *const comparisons[] = {"lt", "le", "gt", "ge", "eq", "ne"};
    const unsigned condition = fresh(writer, 'p');
    const struct var *var = &writer->vars[below(writer, writer->var_count)];
    switch (below(writer, 4)) {
    case 0: {
        const unsigned bits = fresh(writer, 'r');
        put(writer, "and.b32 %%r%u, %s, %u;\nsetp.%s.u32 %%p%u, %%r%u, %u;", bits,
            has(writer, FEATURE_DATA) && below(writer, 2) ? "%acc" : var->text,
            1 + below(writer, 7), comparisons[below(writer, 6)], condition, bits, below(writer, 4));
        break;
    }
    case 1: // the same for all threads of a block
        put(writer, "setp.%s.s32 %%p%u, %%block, %u;", comparisons[below(writer, 6)], condition,
            below(writer, 4));
        break;
    default:
        put(writer, "setp.%s.s32 %%p%u, %s, %" PRId64 ";", comparisons[below(writer, 4)], condition,
            var->text, var->low + (int64_t)below(writer, (unsigned)(var->high - var->low + 2)));
    }
    return condition;
}

// --- Accesses ------------------------------------------------------------------------------------

// Writes the address operand of an access of this many bytes, including the index.
static void address(struct writer *writer, const struct place *place, const struct var *index,
                    unsigned bytes, char *out, size_t out_bytes)
{
    // The constant offsets that keep the whole access inside the range.
    const int64_t low = -(place->before / bytes) - index->low;
    const int64_t high = place->after / bytes - 1 - index->high;
    const int64_t room = high - low < 64 ? high - low : 64;
    int64_t offset = (low > 0 || high < 0 || below(writer, 3) == 0)
                         ? low + (int64_t)below(writer, (unsigned)room + 1)
                         : 0;
    const struct place base = as_register(writer, place);
    const unsigned scaled = fresh(writer, 'd'), sum = fresh(writer, 'd');
    unsigned shift = 0;
    while (1u << shift < bytes)
        shift++;
    struct var moved = *index;
    if (below(writer, 4) == 0) { // the offset is part of the index
        moved = var_in(writer, index->low + offset, index->high + offset);
        put(writer, "add.s32 %s, %s, %" PRId64 ";", moved.text, index->text, offset);
        offset = 0;
    }
    switch (below(writer, 6)) {
    case 0:
        put(writer, "cvt.s64.s32 %%d%u, %s;\nshl.b64 %%d%u, %%d%u, %u;\nadd.s64 %%d%u, %s, %%d%u;",
            scaled, moved.text, scaled, scaled, shift, sum, base.text, scaled);
        break;
    case 1:
        put(writer, "mad.wide.s32 %%d%u, %s, %u, %s;", sum, moved.text, bytes, base.text);
        break;
    case 2:
        put(writer, "cvt.s64.s32 %%d%u, %s;\nmad.lo.s64 %%d%u, %%d%u, %u, %s;", scaled, moved.text,
            sum, scaled, bytes, base.text);
        break;
    case 3: {
        const unsigned word = fresh(writer, 'r');
        put(writer, "shl.b32 %%r%u, %s, %u;\ncvt.s64.s32 %%d%u, %%r%u;\nadd.s64 %%d%u, %%d%u, %s;",
            word, moved.text, shift, scaled, word, sum, scaled, base.text);
        break;
    }
    default:
        put(writer, "mul.wide.%s %%d%u, %s, %u;\nadd.s64 %%d%u, %s, %%d%u;",
            moved.low >= 0 ? "u32" : "s32", scaled, moved.text, bytes, sum, base.text, scaled);
    }
    if (below(writer, 4) == 0 && offset) { // the offset is added to the pointer
        put(writer, "add.s64 %%d%u, %%d%u, %" PRId64 ";", sum, sum, offset * bytes);
        offset = 0;
    }
    snprintf(out, out_bytes, "[%%d%u%s%" PRId64 "]", sum, "+", offset * bytes);
}

// Registers of a class, from first on, as an operand: "%r3", "{%r3, %r4}".
static void operand(char class, unsigned first, unsigned count, char *out, size_t out_bytes)
{
    int at = 0;
    for (unsigned i = 0; i < count; i++)
        at += snprintf(out + at, out_bytes - (size_t)at, "%s%%%c%u",
                       i           ? ", "
                       : count > 1 ? "{"
                                   : "",
                       class, first + i);
    if (count > 1)
        snprintf(out + at, out_bytes - (size_t)at, "}");
}

static void give_value(struct writer *writer, const struct type *type, unsigned to, bool pattern)
{
    const char *value = pattern ? "0x5a5a5a5a5a5a5a5a" : "0";
    switch (type->class) {
    case 'h': put(writer, "mov.b16 %%h%u, %s;", to, pattern ? "0x5a5a" : "0"); break;
    case 'r': put(writer, "mov.b32 %%r%u, %s;", to, pattern ? "0x5a5a5a5a" : "0"); break;
    case 'f': put(writer, "mov.b32 %%f%u, 0f%s;", to, pattern ? "5a5a5a5a" : "00000000"); break;
    case 'd': put(writer, "mov.b64 %%d%u, %s;", to, value); break;
    default: put(writer, "mov.b64 %%g%u, 0d%s;", to, pattern ? value + 2 : "0000000000000000");
    }
}

// Adds a loaded value to the sum that the kernel stores, or to one that it never reads.
static void use_value(struct writer *writer, const struct type *type, unsigned from, bool counts)
{
    const unsigned word = fresh(writer, 'r');
    switch (type->class) {
    case 'h': put(writer, "cvt.u32.u16 %%r%u, %%h%u;", word, from); break;
    case 'r': put(writer, "mov.b32 %%r%u, %%r%u;", word, from); break;
    case 'f': put(writer, "mov.b32 %%r%u, %%f%u;", word, from); break;
    case 'd': put(writer, "cvt.u32.u64 %%r%u, %%d%u;", word, from); break;
    default: {
        const unsigned wide = fresh(writer, 'd');
        put(writer, "mov.b64 %%d%u, %%g%u;\ncvt.u32.u64 %%r%u, %%d%u;", wide, from, word, wide);
    }
    }
    if (counts)
        put(writer, "mad.lo.u32 %%acc, %%acc, 5, %%r%u;", word);
    else
        put(writer, "xor.b32 %%sink, %%sink, %%r%u;", word);
}

const char *guarded(struct writer *writer, char *out, size_t bytes)
{
    *out = 0;
    if (writer->guard)
        snprintf(out, bytes, "@%%p%u ", writer->guard - 1);
    else if (has(writer, FEATURE_GUARDS) && below(writer, 4) == 0)
        snprintf(out, bytes, "@%s%%p%u ", below(writer, 2) ? "!" : "", take_condition(writer));
    return out;
}

// No state space if the address may be in any; sometimes also for other addresses.
static const char *space(struct writer *writer, const struct place *place)
{
    return place->generic || (has(writer, FEATURE_GENERIC) && below(writer, 5) == 0) ? ""
                                                                                     : ".global";
}

static void load(struct writer *writer, const struct place *place, const char *at,
                 const struct type *type, unsigned count)
{
    static const char *const hints[] = {"", "", "", "", ".cs", ".ca", ".cg"};
    char guard[16], values[64];
    const unsigned first = fresh(writer, type->class);
    for (unsigned i = 1; i < count; i++)
        fresh(writer, type->class);
    operand(type->class, first, count, values, sizeof(values));
    guarded(writer, guard, sizeof(guard));
    for (unsigned i = 0; *guard && i < count; i++)
        give_value(writer, type, first + i, false);
    const char *where = space(writer, place);
    const unsigned kind = below(writer, 8);
    const char *vector = count == 1 ? "" : count == 2 ? ".v2" : ".v4";
    if (kind == 0 && place->class == PLACE_IN && *where)
        put(writer, "%sld.global.nc%s.%s %s, %s;", guard, vector, type->name, values, at);
    else if (kind == 1)
        put(writer, "%sld.volatile%s%s.%s %s, %s;", guard, where, vector, type->name, values, at);
    else
        put(writer, "%sld%s%s%s.%s %s, %s;", guard, where, *where ? hints[below(writer, 7)] : "",
            vector, type->name, values, at);
    for (unsigned i = 0; i < count; i++)
        use_value(writer, type, first + i, place->class == PLACE_IN);
}

static void store(struct writer *writer, const struct place *place, const char *at,
                  const struct type *type, unsigned count)
{
    char guard[16], values[64];
    const unsigned first = fresh(writer, type->class);
    for (unsigned i = 1; i < count; i++)
        fresh(writer, type->class);
    for (unsigned i = 0; i < count; i++)
        give_value(writer, type, first + i, true);
    operand(type->class, first, count, values, sizeof(values));
    guarded(writer, guard, sizeof(guard));
    put(writer, "%sst%s%s.%s %s, %s;", guard, space(writer, place),
        count == 1   ? ""
        : count == 2 ? ".v2"
                     : ".v4",
        type->name, at, values);
}

// Atomics on words of Out: in any order, a word keeps its value or gets the byte pattern.
static void pattern_atomic(struct writer *writer, const struct place *place, const char *at,
                           unsigned bytes)
{
    const char class = bytes == 4 ? 'r' : 'd';
    char guard[16], value[16];
    const struct type type = {"", bytes, class};
    const unsigned old = fresh(writer, class), given = fresh(writer, class);
    give_value(writer, &type, given, true);
    give_value(writer, &type, old, false);
    snprintf(value, sizeof(value), "%%%c%u", class, given);
    guarded(writer, guard, sizeof(guard));
    const char *where = space(writer, place);
    switch (below(writer, 4)) {
    case 0: put(writer, "%sred%s.or.b%u %s, %s;", guard, where, bytes * 8, at, value); break;
    case 1:
        put(writer, "%satom%s.exch.b%u %%%c%u, %s, %s;", guard, where, bytes * 8, class, old, at,
            value);
        break;
    case 2:
        put(writer, "%satom%s.cas.b%u %%%c%u, %s, %s, %s;", guard, where, bytes * 8, class, old, at,
            value, value);
        break;
    default:
        put(writer, "%satom%s.or.b%u %%%c%u, %s, %s;", guard, where, bytes * 8, class, old, at,
            value);
    }
    use_value(writer, &type, old, false);
}

static void add_up(struct writer *writer, const struct place *place, const char *at, unsigned bytes)
{
    char guard[16], value[16];
    const bool whole = place->class == PLACE_SUM;
    const char class = whole ? (bytes == 4 ? 'r' : 'd') : bytes == 4 ? 'f' : 'g';
    const char *type = whole ? (bytes == 4 ? "u32" : "u64") : bytes == 4 ? "f32" : "f64";
    const unsigned word = fresh(writer, 'r'), given = fresh(writer, class),
                   old = fresh(writer, class);
    put(writer, "and.b32 %%r%u, %%acc, 15;\ncvt%s.%s.u32 %%%c%u, %%r%u;", word, whole ? "" : ".rn",
        type, class, given, word);
    snprintf(value, sizeof(value), "%%%c%u", class, given);
    guarded(writer, guard, sizeof(guard));
    const char *where = space(writer, place);
    if (below(writer, 2))
        put(writer, "%sred%s.add.%s %s, %s;", guard, where, type, at, value);
    else
        put(writer, "%satom%s.add.%s %%%c%u, %s, %s;", guard, where, type, class, old, at, value);
}

void write_access_at(struct writer *writer, const struct place *place, const struct var *index)
{
    char at[48];
    const struct type *type = &types[has(writer, FEATURE_TYPES) ? below(writer, TYPES) : 0];
    unsigned count = 1;
    if (place->class == PLACE_SUM || place->class == PLACE_FSUM) {
        // Floats and doubles must not be added to the same words.
        const unsigned bytes =
            place->class == PLACE_SUM && has(writer, FEATURE_TYPES) && below(writer, 2) ? 8 : 4;
        address(writer, place, index, bytes, at, sizeof(at));
        add_up(writer, place, at, bytes);
        return;
    }
    if (has(writer, FEATURE_VECTORS) && below(writer, 4) == 0)
        count = type->bytes == 8 || below(writer, 2) ? 2 : 4;
    if (place->class == PLACE_OUT && !place->local && has(writer, FEATURE_ATOMICS) &&
        below(writer, 5) == 0) {
        const unsigned bytes = below(writer, 3) ? 4 : 8;
        address(writer, place, index, bytes, at, sizeof(at));
        pattern_atomic(writer, place, at, bytes);
        return;
    }
    address(writer, place, index, type->bytes * count, at, sizeof(at));
    if (place->class == PLACE_IN || below(writer, 3) == 0)
        load(writer, place, at, type, count);
    else
        store(writer, place, at, type, count);
}

// How many accesses of the largest size fit into the range.
static int64_t places_in(const struct place *place)
{
    return least((place->before + place->after) / 16 - 1, 1200);
}

// Accesses a variable of one word or byte by its name.
static void write_named(struct writer *writer)
{
    const unsigned word = fresh(writer, 'r');
    char guard[16];
    guarded(writer, guard, sizeof(guard));
    put(writer, "mov.b32 %%r%u, 0;", word);
    switch (below(writer, 3)) {
    case 0:
        put(writer, "%satom.global.add.u32 %%r%u, [v_counts+%u], 1;", guard, word,
            4 * below(writer, 3));
        break;
    case 1: put(writer, "%sred.global.add.u32 [v_counts], 3;", guard); break;
    default: put(writer, "%sld.global.u8 %%r%u, [v_byte];", guard, word);
    }
    put(writer, "xor.b32 %%sink, %%sink, %%r%u;", word);
}

void write_access(struct writer *writer)
{
    if (has(writer, FEATURE_VARIABLES) && below(writer, 16) == 0) {
        write_named(writer);
        return;
    }
    const struct place place = take_place(writer);
    const struct var index = take_index(writer, places_in(&place));
    const unsigned times = below(writer, 6) ? 1 : 2 + below(writer, 3); // unrolled, or updated
    for (unsigned i = 0; i < times; i++)
        write_access_at(writer, &place, &index);
}

// Accesses a word that only this thread uses: values that it stored are loaded and used.
void write_own(struct writer *writer)
{
    const unsigned base = fresh(writer, 'd'), at = fresh(writer, 'd'), value = fresh(writer, 'r');
    const unsigned word = below(writer, writer->own_words);
    put(writer, "ld.param.u64 %%d%u, [own];", base);
    put(writer, "mad.wide.u32 %%d%u, %%me, %u, %%d%u;", at,
        writer->own_strided ? 4 * writer->own_words : 4, base);
    const unsigned offset = writer->own_strided ? word * 4 : word * 4 * writer->threads;
    if (below(writer, 2))
        put(writer, "ld.global.u32 %%r%u, [%%d%u+%u];\nadd.u32 %%acc, %%acc, %%r%u;", value, at,
            offset, value);
    if (below(writer, 3))
        put(writer, "st.global.u32 [%%d%u+%u], %%acc;", at, offset);
    else
        put(writer, "red.global.add.u32 [%%d%u+%u], %%acc;", at, offset);
}

// cp.async into 16 bytes that only this thread uses.
void write_copy(struct writer *writer, const char *size)
{
    char at[48], guard[16];
    const unsigned bytes = 4u << below(writer, 3), to = fresh(writer, 'd'),
                   word = fresh(writer, 'r');
    struct place place = take_place_of(writer, PLACE_IN);
    place = as_register(writer, &place);
    const struct var index = take_index(writer, places_in(&place));
    address(writer, &place, &index, bytes, at, sizeof(at));
    put(writer, "mov.u64 %%d%u, copies;\nmad.wide.u32 %%d%u, %%lin, 16, %%d%u;", to, to, to);
    guarded(writer, guard, sizeof(guard));
    const char *cached = bytes == 16 && below(writer, 2) ? "cg" : "ca";
    if (size || (below(writer, 4) == 0 && has(writer, FEATURE_DATA))) {
        put(writer, "and.b32 %%r%u, %s, %u;", word, size ? size : "%acc", bytes);
        put(writer, "%scp.async.%s.shared.global [%%d%u], %s, %u, %%r%u;", guard, cached, to, at,
            bytes, word);
    } else {
        put(writer, "%scp.async.%s.shared.global [%%d%u], %s, %u;", guard, cached, to, at, bytes);
    }
    put(writer, "cp.async.wait_all;\nld.shared.u32 %%r%u, [%%d%u];\nxor.b32 %%sink, %%sink, %%r%u;",
        word, to, word);
}
