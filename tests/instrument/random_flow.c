// SPDX-License-Identifier: Apache-2.0
// The statements of random kernels: loops, branches, calls, and exits of threads.
#include <inttypes.h>
#include <string.h>

#include "random_kernel.h"

static unsigned new_word(struct writer *writer)
{
    return writer->words++;
}

static void label(struct writer *writer, unsigned number)
{
    put(writer, "L%u:", number);
}

// Writes a body in which one more variable can be used.
static void write_with(struct writer *writer, const struct var *var, uint64_t number, unsigned most)
{
    const unsigned vars = writer->var_count;
    if (var && vars < MOST_VARS)
        writer->vars[writer->var_count++] = *var;
    writer->depth++;
    write_body(writer, number, most);
    writer->depth--;
    writer->var_count = vars;
}

static bool room_for_loop(const struct writer *writer, unsigned rounds)
{
    return writer->loop_count < MOST_NESTED && writer->rounds * rounds <= MOST_ROUNDS;
}

// for (j = first; j != end; j += step), tested at the top or at the bottom.
static void write_counted(struct writer *writer, uint64_t number)
{
    const unsigned rounds = 1 + below(writer, below(writer, 2) ? 4 : 12);
    if (!room_for_loop(writer, rounds)) {
        write_access(writer);
        return;
    }
    const unsigned j = new_word(writer), condition = writer->preds++;
    const int step = (int[]){1, 1, 1, 2, 3, -1, -1, -2}[below(writer, 8)];
    const bool top = below(writer, 2), by_param = below(writer, 3) == 0 && !writer->in_function;
    const int first = step < 0 ? -step * ((int)rounds - 1) : (int)below(writer, 3);
    const int last = first + step * ((int)rounds - 1); // the last value in the body
    const struct loop loop = {writer->labels++, writer->labels++};
    const unsigned again = writer->labels++;
    struct var var = {.low = step < 0 ? last : first, .high = step < 0 ? first : last};
    char end[16];
    snprintf(var.text, sizeof(var.text), "%%r%u", j);
    snprintf(end, sizeof(end), "%d", last + step);
    if (by_param) { // the parameter holds 16
        const unsigned word = new_word(writer), limit = new_word(writer);
        put(writer, "ld.param.u32 %%r%u, [sixteen];\nadd.s32 %%r%u, %%r%u, %d;", word, limit, word,
            last + step - 16);
        snprintf(end, sizeof(end), "%%r%u", limit);
    }
    put(writer, "mov.u32 %%r%u, %d;", j, first);
    label(writer, again);
    if (top)
        put(writer, "setp.%s.s32 %%p%u, %%r%u, %s;\n@%%p%u bra L%u;", step < 0 ? "le" : "ge",
            condition, j, end, condition, loop.end);
    writer->loops[writer->loop_count++] = loop;
    writer->rounds *= rounds;
    write_with(writer, &var, number, 3);
    writer->rounds /= rounds;
    writer->loop_count--;
    label(writer, loop.next);
    put(writer, "add.s32 %%r%u, %%r%u, %d;", j, j, step);
    if (top)
        put(writer, "bra.uni L%u;", again);
    else
        put(writer, "setp.%s.s32 %%p%u, %%r%u, %s;\n@%%p%u bra L%u;",
            below(writer, 2) ? "ne"
            : step < 0       ? "gt"
                             : "lt",
            condition, j, end, condition, again);
    label(writer, loop.end);
}

// A loop whose number of iterations, or whose exit condition, depends on data.
static void write_while(struct writer *writer, uint64_t number)
{
    const unsigned most = 1u << below(writer, 4);
    if (!room_for_loop(writer, most)) {
        write_access(writer);
        return;
    }
    const unsigned j = new_word(writer), limit = new_word(writer), bits = new_word(writer);
    const unsigned condition = writer->preds++, again = writer->labels++;
    const struct loop loop = {writer->labels++, writer->labels++};
    const bool until = below(writer, 2);
    const unsigned first = below(writer, 2) ? 7 : 0; // the largest start value
    struct var var = {.low = 0, .high = first + most - 1};
    snprintf(var.text, sizeof(var.text), "%%r%u", j);
    put(writer, "and.b32 %%r%u, %%acc, %u;\nshr.u32 %%r%u, %%acc, %u;\nand.b32 %%r%u, %%r%u, %u;",
        j, first, limit, below(writer, 16), limit, limit, most - 1);
    put(writer, "add.u32 %%r%u, %%r%u, %%r%u;", limit, limit, j);
    label(writer, again);
    put(writer, "setp.%s.u32 %%p%u, %%r%u, %%r%u;\n@%%p%u bra L%u;", until ? "gt" : "ge", condition,
        j, limit, condition, loop.end);
    writer->loops[writer->loop_count++] = loop;
    writer->rounds *= most;
    write_with(writer, &var, number, 3);
    writer->rounds /= most;
    writer->loop_count--;
    label(writer, loop.next);
    if (until)
        put(writer, "and.b32 %%r%u, %%acc, 7;\nsetp.eq.u32 %%p%u, %%r%u, %u;\n@%%p%u bra L%u;",
            bits, condition, bits, below(writer, 8), condition, loop.end);
    put(writer, "add.u32 %%r%u, %%r%u, 1;\nbra.uni L%u;", j, j, again);
    label(writer, loop.end);
}

// for (i = me; i < n; i += all threads)
static void write_grid_stride(struct writer *writer, uint64_t number)
{
    const unsigned rounds = 1 + below(writer, 3), i = new_word(writer);
    if (!room_for_loop(writer, rounds) || writer->in_function) {
        write_access(writer);
        return;
    }
    const unsigned n = writer->threads * (rounds - 1) + 1 + below(writer, writer->threads);
    const unsigned condition = writer->preds++, again = writer->labels++;
    const struct loop loop = {writer->labels++, writer->labels++};
    struct var var = {.low = 0, .high = n - 1};
    snprintf(var.text, sizeof(var.text), "%%r%u", i);
    put(writer, "mov.u32 %%r%u, %%me;", i);
    label(writer, again);
    put(writer, "setp.ge.u32 %%p%u, %%r%u, %u;\n@%%p%u bra L%u;", condition, i, n, condition,
        loop.end);
    writer->loops[writer->loop_count++] = loop;
    writer->rounds *= rounds;
    write_with(writer, &var, number, 2);
    writer->rounds /= rounds;
    writer->loop_count--;
    label(writer, loop.next);
    put(writer, "add.u32 %%r%u, %%r%u, %u;\nbra.uni L%u;", i, i, writer->threads, again);
    label(writer, loop.end);
}

// A loop that advances a pointer, or a 64-bit offset to it, until a counter or the pointer itself
// reaches its end.
static void write_moving(struct writer *writer)
{
    const unsigned rounds = 1 + below(writer, 6);
    struct place place = take_place(writer);
    const int64_t step = 16 * (int64_t[]){1, 1, 2, 4, -1, -1, -3}[below(writer, 7)];
    const int64_t span = (step < 0 ? -step : step) * (rounds - 1);
    if (!room_for_loop(writer, rounds) || place.before + place.after < span + 512) {
        write_access(writer);
        return;
    }
    // The first iteration must leave room for all later ones.
    const int64_t shift = step < 0 && place.before < span        ? span
                          : step > 0 && place.after < span + 256 ? -span
                                                                 : 0;
    place.before += shift - (step < 0 ? span : 0);
    place.after -= shift + (step > 0 ? span : 0);
    if (place.before < 0 || place.after < 256) {
        write_access(writer);
        return;
    }
    const unsigned first = writer->wides++, at = writer->wides++, moved = writer->wides++;
    const unsigned left = new_word(writer), condition = writer->preds++, again = writer->labels++;
    const unsigned kind = below(writer, 3);
    put(writer, "mov.u64 %%d%u, %s;\nadd.s64 %%d%u, %%d%u, %" PRId64 ";", first, place.text, first,
        first, shift);
    put(writer, "mov.u64 %%d%u, %%d%u;\nmov.u64 %%d%u, 0;\nmov.u32 %%r%u, %u;", at, first, moved,
        left, rounds);
    label(writer, again);
    if (kind == 2)
        put(writer, "add.s64 %%d%u, %%d%u, %%d%u;", at, first, moved);
    snprintf(place.text, sizeof(place.text), "%%d%u", at);
    const struct var index = take_index(writer, (place.before + place.after) / 16 - 1);
    for (unsigned times = 1 + below(writer, 2); times; times--)
        write_access_at(writer, &place, &index);
    if (kind == 0)
        put(writer,
            "add.s64 %%d%u, %%d%u, %" PRId64
            ";\nadd.s32 %%r%u, %%r%u, -1;\nsetp.ne.s32 %%p%u, %%r%u, 0;",
            at, at, step, left, left, condition, left);
    else if (kind == 1)
        put(writer,
            "add.s64 %%d%u, %%d%u, %" PRId64 ";\nsub.s64 %%d%u, %%d%u, %%d%u;\n"
            "setp.ne.s64 %%p%u, %%d%u, %" PRId64 ";",
            at, at, step, moved, at, first, condition, moved, step * rounds);
    else
        put(writer, "add.s64 %%d%u, %%d%u, %" PRId64 ";\nsetp.%s.s64 %%p%u, %%d%u, %" PRId64 ";",
            moved, moved, step, step < 0 ? "gt" : "lt", condition, moved, step * rounds);
    put(writer, "@%%p%u bra L%u;", condition, again);
}

static void write_if(struct writer *writer, uint64_t number)
{
    const unsigned other = writer->labels++, end = writer->labels++;
    const bool two = below(writer, 2);
    put(writer, "@%s%%p%u bra L%u;", below(writer, 2) ? "!" : "", take_condition(writer), other);
    write_with(writer, NULL, random_hash(number, 1), 3);
    if (two) {
        put(writer, "bra.uni L%u;", end);
        label(writer, other);
        write_with(writer, NULL, random_hash(number, 2), 3);
        label(writer, end);
    } else {
        label(writer, other);
    }
}

// if (v < n), so that v has a smaller range inside.
static void write_guard(struct writer *writer, uint64_t number)
{
    const struct var *var = &writer->vars[below(writer, writer->var_count)];
    if (var->high <= var->low) {
        write_access(writer);
        return;
    }
    const unsigned condition = writer->preds++, end = writer->labels++;
    const int64_t n = var->low + 1 + below(writer, (unsigned)(var->high - var->low));
    struct var less = {.low = var->low, .high = n - 1};
    memcpy(less.text, var->text, sizeof(less.text));
    if (var->low == 0 && below(writer, 3) == 0) {
        // The comparison is unsigned, so negative values are large: x - 1 < n.
        const unsigned word = new_word(writer);
        put(writer, "add.s32 %%r%u, %s, -1;\nsetp.gt.u32 %%p%u, %%r%u, %" PRId64 ";", word,
            var->text, condition, word, n - 1);
        snprintf(less.text, sizeof(less.text), "%%r%u", word);
    } else {
        put(writer, "setp.ge.s32 %%p%u, %s, %" PRId64 ";", condition, var->text, n);
    }
    put(writer, "@%%p%u bra L%u;", condition, end);
    write_with(writer, &less, number, 4);
    label(writer, end);
}

static void write_switch(struct writer *writer, uint64_t number)
{
    const unsigned arms = writer->labels, end = arms + 3, bits = new_word(writer);
    writer->labels += 4;
    put(writer, "and.b32 %%r%u, %%acc, 1;\nT%u: .branchtargets L%u, L%u, L%u;", bits, arms, arms,
        arms + 1, arms + 2);
    put(writer, "@%%p%u add.u32 %%r%u, %%r%u, 1;\nbrx.idx %%r%u, T%u;", take_condition(writer),
        bits, bits, bits, arms);
    for (unsigned i = 0; i < 3; i++) {
        label(writer, arms + i);
        write_with(writer, NULL, random_hash(number, i), 2);
        if (i < 2)
            put(writer, "bra.uni L%u;", end);
    }
    label(writer, end);
}

// The address of a function, from code or memory, the same for all threads or one per thread.
static void take_function(struct writer *writer, unsigned callee, char *out, size_t out_bytes)
{
    const unsigned address = writer->wides++, other = writer->wides++;
    snprintf(out, out_bytes, "%%d%u", address);
    switch (below(writer, 3)) {
    case 0: put(writer, "mov.u64 %%d%u, f%u;", address, callee); break;
    case 1:
        put(writer, "mov.u64 %%d%u, f%u;\nmov.u64 %%d%u, f%u;", address, callee, other,
            below(writer, writer->functions));
        put(writer, "@%%p%u mov.u64 %%d%u, %%d%u;", take_condition(writer), address, other);
        break;
    default: {
        const struct var index = take_index(writer, 3);
        put(writer, "mov.u64 %%d%u, v_functions;\nmad.wide.s32 %%d%u, %s, 8, %%d%u;", other, other,
            index.text, other);
        put(writer, "ld.global.u64 %%d%u, [%%d%u+%" PRId64 "];", address, other, -8 * index.low);
    }
    }
}

static void write_call(struct writer *writer)
{
    const struct place in = take_place_of(writer, PLACE_IN), out = take_place_of(writer, PLACE_OUT);
    // Functions contain loops themselves, so calls within many iterations are avoided.
    if (in.after < FUNCTION_ROOM || out.after < FUNCTION_ROOM || out.generic ||
        writer->rounds > MOST_ROUNDS / 2) {
        write_access(writer);
        return;
    }
    const struct var index = take_index(writer, 32);
    const unsigned shifted = new_word(writer), result = new_word(writer);
    const unsigned callee = below(writer, writer->functions), end = writer->labels++;
    const bool guarded = has(writer, FEATURE_BRANCHES) && below(writer, 3) == 0;
    if (guarded)
        put(writer, "@%%p%u bra L%u;", take_condition(writer), end);
    const unsigned a = writer->wides++, b = writer->wides++;
    put(writer, "add.s32 %%r%u, %s, %" PRId64 ";\nmov.u64 %%d%u, %s;\nmov.u64 %%d%u, %s;", shifted,
        index.text, -index.low, a, in.text, b, out.text);
    char target[16], prototype[16] = "";
    snprintf(target, sizeof(target), "f%u", callee);
    // A function calls only earlier functions, so that the calls end.
    if (has(writer, FEATURE_INDIRECT) && !writer->in_function && below(writer, 3) == 0) {
        take_function(writer, callee, target, sizeof(target));
        snprintf(prototype, sizeof(prototype), ", P%u", writer->labels);
        put(writer,
            "P%u: .callprototype (.param .b32 _) _ (.param .b64 _, .param .b64 _, .param .b32 _);",
            writer->labels++);
    }
    put(writer,
        "{ .param .b64 a; .param .b64 b; .param .b32 c; .param .b32 back;\n"
        "st.param.b64 [a], %%d%u; st.param.b64 [b], %%d%u; st.param.b32 [c], %%r%u;\n"
        "call%s (back), %s, (a, b, c)%s;\nld.param.b32 %%r%u, [back]; }\n"
        "add.u32 %%acc, %%acc, %%r%u;",
        a, b, shifted, *prototype ? "" : ".uni", target, prototype, result, result);
    if (guarded)
        label(writer, end);
}

static void write_leave(struct writer *writer)
{
    const unsigned condition = take_condition(writer);
    if (writer->loop_count && has(writer, FEATURE_WHILE)) {
        const struct loop *loop = &writer->loops[below(writer, writer->loop_count)];
        put(writer, "@%%p%u bra L%u;", condition, below(writer, 2) ? loop->end : loop->next);
        return;
    }
    if (!has(writer, FEATURE_RETURNS)) {
        write_access(writer);
        return;
    }
    const unsigned kind = below(writer, 4);
    if (writer->in_function && has(writer, FEATURE_EXITS) && kind == 0)
        put(writer, "@%%p%u exit;", condition);
    else if (writer->in_function || kind == 0)
        put(writer, "@%%p%u bra L%u;", condition, writer->done);
    else if (kind == 1) // as compilers write a return
        put(writer, "@%%p%u bra END;", condition);
    else
        put(writer, "@%%p%u %s;", condition, kind == 2 ? "exit" : "ret");
}

static void write_statement(struct writer *writer, uint64_t number)
{
    const bool deep = writer->depth >= 4;
    if (has(writer, FEATURE_IMPURE) && !writer->in_function && !writer->impure_done &&
        below(writer, 3) == 0) {
        write_impure(writer);
        return;
    }
    const unsigned kind = below(writer, 24);
    if (kind < 3 && !deep && has(writer, FEATURE_LOOPS))
        write_counted(writer, number);
    else if (kind == 3 && !deep && has(writer, FEATURE_WHILE) && has(writer, FEATURE_DATA))
        write_while(writer, number);
    else if (kind == 4 && !deep && has(writer, FEATURE_LOOPS) && has(writer, FEATURE_GUARDS))
        write_grid_stride(writer, number);
    else if (kind == 5 && !deep && has(writer, FEATURE_POINTERS))
        write_moving(writer);
    else if (kind < 8 && !deep && has(writer, FEATURE_BRANCHES))
        write_if(writer, number);
    else if (kind < 10 && !deep && has(writer, FEATURE_GUARDS))
        write_guard(writer, number);
    else if (kind == 10 && !deep && has(writer, FEATURE_BRANCHES) && has(writer, FEATURE_DATA))
        write_switch(writer, number);
    else if (kind < 13 && writer->functions && has(writer, FEATURE_FUNCTIONS))
        write_call(writer);
    else if (kind == 13 && (writer->loop_count || below(writer, 3) == 0))
        write_leave(writer);
    else if (kind == 14 && has(writer, FEATURE_COPIES))
        write_copy(writer, NULL);
    else if (kind == 15 && has(writer, FEATURE_MIXED))
        write_shared(writer);
    else if (kind == 16 && !writer->in_function)
        write_own(writer);
    else
        write_access(writer);
}

void write_body(struct writer *writer, uint64_t number, unsigned most)
{
    const uint64_t before = writer->random;
    uint64_t state = random_hash(number, 0);
    writer->random = state;
    for (unsigned left = 1 + below(writer, most), i = 1; left; left--, i++) {
        const uint64_t statement = random_hash(number, 100 + i);
        bool wanted = true;
        for (size_t k = 0; k < writer->without_count && wanted; k++)
            wanted = writer->without[k] != statement;
        if (!wanted)
            continue;
        *(uint64_t *)oracle_must(base_array_push(&writer->kernel->statements)) = statement;
        writer->random = statement;
        write_statement(writer, random_hash(statement, 7));
    }
    writer->random = before;
}
