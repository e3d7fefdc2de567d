// SPDX-License-Identifier: Apache-2.0
// Generates random kernels and writes them as PTX.
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"

const char *const comparison_names[COMPARISONS] = {"eq.s32", "ne.s32", "lt.s32", "le.s32",
                                                   "gt.s32", "ge.s32", "lo.u32", "ls.u32",
                                                   "hi.u32", "hs.u32"};
const char *const shuffle_names[SHUFFLES] = {"idx", "up", "down", "bfly"};

// --- Making --------------------------------------------------------------------------------------

// The position of a new statement in the kernel, which decides what is allowed there.
struct place {
    struct kernel *kernel;
    uint64_t *random;
    unsigned depth, loops; // nesting of all statements, and of loops
    unsigned callable;     // the first `callable` functions may be called
    bool together;         // all threads of the block, or cluster, that have not ended come here
    bool in_function;
};

static unsigned below(struct place *place, unsigned limit)
{
    return (unsigned)(next_random(place->random) % limit);
}

// Small numbers and those around powers of two are more frequent than others.
static uint64_t number(struct place *place)
{
    switch (below(place, 4)) {
    case 0: return below(place, 34);
    case 1: return (uint64_t)1 << below(place, 32);
    case 2: return ((uint64_t)1 << below(place, 33)) - 1 - below(place, 2);
    default: return next_random(place->random);
    }
}

static unsigned registers_of(char class)
{
    return class == 'r' ? WORDS : class == 'd' ? WIDES : class == 'f' ? FLOATS : DOUBLES;
}

static struct operand a_register(struct place *place, char class)
{
    return (struct operand){.value = below(place, registers_of(class))};
}

static struct operand an_operand(struct place *place, char class)
{
    if (class == 'g' || below(place, 4)) // an immediate double could be any NaN
        return a_register(place, class);
    const uint64_t bits = number(place);
    // 0x7f800000 and above are NaNs and infinity.
    return (struct operand){true, class == 'f'   ? bits & 0xbfffffff
                                  : class == 'd' ? bits
                                                 : (uint32_t)bits};
}

static void guard(struct place *place, struct statement *it)
{
    it->guard = (int)below(place, PREDS);
    it->negated = below(place, 2);
}

static struct body *make_body(struct place place, unsigned most);

static struct body *make_inner(const struct place *place, bool together, unsigned loops)
{
    struct place inner = *place;
    inner.depth++;
    inner.loops += loops;
    inner.together = together;
    return make_body(inner, 6);
}

static void compute(struct place *place, struct statement *it)
{
    it->kind = COMPUTE;
    it->op = &ops[below(place, op_count)];
    it->to = below(place, registers_of(it->op->signature[0]));
    for (unsigned i = 0; it->op->signature[1 + i]; i++)
        it->from[i] = an_operand(place, it->op->signature[1 + i]);
    // ptxas requires at least one register operand.
    it->from[0] = a_register(place, it->op->signature[1]);
    if (below(place, 5) == 0)
        guard(place, it);
}

static void compare(struct place *place, struct statement *it)
{
    it->kind = below(place, 4) ? COMPARE : SELECT;
    it->to = below(place, it->kind == SELECT ? WORDS : PREDS);
    it->comparison = below(place, COMPARISONS);
    it->from[0] = a_register(place, 'r');
    it->from[1] = an_operand(place, 'r');
    if (it->kind == SELECT)
        guard(place, it);
}

static void memory(struct place *place, struct statement *it)
{
    static const enum kind kinds[] = {LOCAL_STORE, LOCAL_LOAD, INPUT, ADD_SHARED, ADD_GLOBAL};
    it->kind = kinds[below(place, place->in_function ? 3 : 5)];
    it->to = below(place, WORDS);
    it->from[0] = a_register(place, 'r');
    it->from[1] = a_register(place, 'r');
}

static void call(struct place *place, struct statement *it)
{
    it->kind = below(place, 3) ? CALL : CALL_ONE_OF;
    guard(place, it);
    it->callee = below(place, place->callable);
    it->other = below(place, place->callable);
    it->to = below(place, WORDS);
    for (unsigned i = 0; i < ARGUMENTS; i++)
        it->from[i] = a_register(place, 'r');
}

static void end(struct place *place, struct statement *it)
{
    it->kind = EXIT;
    it->to = below(place, 2);
    guard(place, it);
}

static void branch(struct place *place, struct statement *it)
{
    const unsigned kind = below(place, 8);
    if (place->loops && kind < 2) {
        it->kind = kind ? BREAK : CONTINUE;
        it->to = 1 + below(place, place->loops);
        guard(place, it);
    } else if (place->in_function && kind == 2) {
        it->kind = RETURN;
        guard(place, it);
    } else if (kind == 2 && below(place, 4) == 0) {
        end(place, it);
    } else if (kind == 3) {
        it->kind = SWITCH;
        it->from[0] = a_register(place, 'r');
        for (unsigned i = 0; i < 4; i++)
            it->arms[i] = make_inner(place, false, 0);
    } else if (kind < 6 && place->loops < MOST_DEPTH / 2) {
        it->kind = LOOP;
        it->from[0] = a_register(place, 'r');
        it->first = make_inner(place, false, 1);
    } else {
        it->kind = IF;
        guard(place, it);
        it->first = make_inner(place, false, 0);
        it->second = below(place, 2) ? make_inner(place, false, 0) : NULL;
    }
}

static void meet(struct place *place, struct statement *it)
{
    static const enum kind kinds[] = {EXCHANGE, REPEAT,     SHUFFLE,    SHUFFLE_WHERE,
                                      BALLOT,   READ_OTHER, SEND_OTHER, ADD_OTHER};
    it->kind = kinds[below(place, place->kernel->cluster ? 8 : 5)];
    it->from[0] = a_register(place, 'r');
    it->from[1] = an_operand(place, 'r');
    it->to = below(place, WORDS);
    it->comparison = below(place, SHUFFLES);
    it->callee = below(place, MOST_THREADS);
    it->other = below(place, MOST_THREADS);
    guard(place, it);
    if (it->kind == REPEAT) {
        it->to = below(place, 4);
        // No thread may leave such a loop alone, because the others wait for it there.
        struct place inner = *place;
        inner.depth++;
        inner.loops = 0;
        it->first = make_body(inner, 5);
    }
}

static void make_statement(struct place *place, struct statement *it)
{
    *it = (struct statement){.guard = -1};
    const unsigned kind = below(place, 20);
    if (kind < 10) {
        compute(place, it);
    } else if (kind < 12) {
        compare(place, it);
    } else if (kind < 14) {
        memory(place, it);
    } else if (kind == 14 && place->callable && place->loops < 2) {
        call(place, it);
    } else if (kind == 15 && place->together && !place->depth && below(place, 4) == 0) {
        end(place, it);
    } else if (kind < 17 && place->together && place->depth < 3) {
        meet(place, it);
    } else if (place->depth < 4) {
        branch(place, it);
    } else {
        compute(place, it);
    }
}

static struct body *make_body(struct place place, unsigned most)
{
    struct body *body = calloc(1, sizeof(*body));
    body->count = 1 + below(&place, most);
    body->items = calloc(body->count, sizeof(*body->items));
    place.kernel->all[place.kernel->bodies++] = body;
    for (unsigned i = 0; i < body->count; i++)
        make_statement(&place, &body->items[i]);
    return body;
}

void make_kernel(struct kernel *kernel, uint64_t seed, bool clusters)
{
    uint64_t random = seed;
    memset(kernel, 0, sizeof(*kernel));
    kernel->seed = seed;
    struct place place = {.kernel = kernel, .random = &random};
    kernel->blocks = 1 + below(&place, FEW_BLOCKS);
    kernel->threads = below(&place, 4) ? 32 * (1 + below(&place, MOST_THREADS / 32))
                                       : 1 + below(&place, MOST_THREADS);
    kernel->parameter = (uint32_t)number(&place);
    if (clusters) {
        kernel->cluster = 1 + below(&place, MOST_CLUSTER);
        kernel->blocks = kernel->cluster * (1 + below(&place, 2));
    }
    place.in_function = true;
    for (place.callable = 0; place.callable < FUNCTIONS; place.callable++)
        kernel->functions[place.callable] = make_body(place, 8);
    place.in_function = false;
    place.together = true;
    kernel->main = make_body(place, 24);
}

void free_kernel(struct kernel *kernel)
{
    for (unsigned i = 0; i < kernel->bodies; i++) {
        free(kernel->all[i]->items);
        free(kernel->all[i]);
    }
}

// --- Writing -------------------------------------------------------------------------------------

// Labels are numbered in the whole text, counters of loops by their depth.
struct writer {
    const struct kernel *kernel;
    FILE *to;
    unsigned number, labels, depth;
    unsigned next[MOST_DEPTH + 4], end[MOST_DEPTH + 4]; // labels of the enclosing loops
    bool in_function;
};

static void write_operand(struct writer *writer, char class, struct operand operand)
{
    if (!operand.immediate)
        fprintf(writer->to, "%%%c%u", class, (unsigned)operand.value);
    else
        fprintf(writer->to, class == 'f' ? "0f%08llx" : "0x%llx",
                (unsigned long long)operand.value);
}

static void write_guard(struct writer *writer, const struct statement *it)
{
    if (it->guard >= 0)
        fprintf(writer->to, "@%s%%p%d ", it->negated ? "!" : "", it->guard);
}

static void write_body(struct writer *writer, const struct body *body);

static void write_if(struct writer *writer, const struct statement *it)
{
    const unsigned other = writer->labels++, end = writer->labels++;
    fprintf(writer->to, "@%s%%p%d bra L%u;\n", it->negated ? "" : "!", it->guard, other);
    write_body(writer, it->first);
    if (it->second)
        fprintf(writer->to, "bra L%u;\n", end);
    fprintf(writer->to, "L%u:\n", other);
    if (it->second) {
        write_body(writer, it->second);
        fprintf(writer->to, "L%u:\n", end);
    }
}

static void write_switch(struct writer *writer, const struct statement *it)
{
    const unsigned arms = writer->labels, end = arms + 4;
    writer->labels += 5;
    fprintf(
        writer->to,
        "and.b32 %%t0, %%r%u, 3;\nT%u: .branchtargets L%u, L%u, L%u, L%u;\nbrx.idx %%t0, T%u;\n",
        (unsigned)it->from[0].value, arms, arms, arms + 1, arms + 2, arms + 3, arms);
    for (unsigned i = 0; i < 4; i++) {
        fprintf(writer->to, "L%u:\n", arms + i);
        write_body(writer, it->arms[i]);
        fprintf(writer->to, "bra L%u;\n", end);
    }
    fprintf(writer->to, "L%u:\n", end);
}

static void write_loop(struct writer *writer, const struct statement *it)
{
    const unsigned depth = writer->depth++, top = writer->labels++;
    writer->next[depth] = writer->labels++;
    writer->end[depth] = writer->labels++;
    if (it->kind == LOOP)
        fprintf(writer->to, "and.b32 %%c%u, %%r%u, 7;\n", depth, (unsigned)it->from[0].value);
    else
        fprintf(writer->to, "mov.u32 %%c%u, %u;\n", depth, it->to);
    fprintf(writer->to, "L%u: setp.eq.u32 %%q, %%c%u, 0;\n@%%q bra L%u;\n", top, depth,
            writer->end[depth]);
    write_body(writer, it->first);
    fprintf(writer->to, "L%u: sub.u32 %%c%u, %%c%u, 1;\nbra L%u;\nL%u:\n", writer->next[depth],
            depth, depth, top, writer->end[depth]);
    writer->depth--;
}

static void write_call(struct writer *writer, const struct statement *it)
{
    const unsigned prototype = writer->labels++;
    fprintf(writer->to, "{ .param .b32 result; .param .b32 a0; .param .b32 a1; .param .b32 a2;\n");
    for (unsigned i = 0; i < ARGUMENTS; i++)
        fprintf(writer->to, "st.param.b32 [a%u], %%r%u;\n", i, (unsigned)it->from[i].value);
    if (it->kind == CALL) {
        fprintf(writer->to, "call (result), f%u_%u, (a0, a1, a2);\n", writer->number, it->callee);
    } else {
        fprintf(writer->to, "mov.u64 %%w0, f%u_%u;\nmov.u64 %%w1, f%u_%u;\n", writer->number,
                it->negated ? it->other : it->callee, writer->number,
                it->negated ? it->callee : it->other);
        fprintf(writer->to, "selp.b64 %%w0, %%w0, %%w1, %%p%d;\n", it->guard);
        fprintf(writer->to,
                "P%u: .callprototype (.param .b32 _) _ (.param .b32 _, .param .b32 _, .param .b32 "
                "_);\n",
                prototype);
        fprintf(writer->to, "call (result), %%w0, (a0, a1, a2), P%u;\n", prototype);
    }
    fprintf(writer->to, "ld.param.b32 %%r%u, [result]; }\n", it->to);
}

static void write_memory(struct writer *writer, const struct statement *it)
{
    FILE *to = writer->to;
    const unsigned at = (unsigned)it->from[0].value, value = (unsigned)it->from[1].value;
    const unsigned words = it->kind == INPUT ? INPUTS : it->kind < INPUT ? LOCALS : BINS;
    const char *base = it->kind == INPUT        ? "%input"
                       : it->kind == ADD_GLOBAL ? "%bins"
                       : it->kind == ADD_SHARED ? "%shared"
                                                : "%local";
    fprintf(to, "and.b32 %%t0, %%r%u, %u;\nmad.wide.u32 %%w0, %%t0, 4, %s;\n", at, words - 1, base);
    switch (it->kind) {
    case LOCAL_STORE: fprintf(to, "st.local.u32 [%%w0], %%r%u;\n", value); break;
    case LOCAL_LOAD: fprintf(to, "ld.local.u32 %%r%u, [%%w0];\n", it->to); break;
    case INPUT: fprintf(to, "ld.global.u32 %%r%u, [%%w0];\n", it->to); break;
    case ADD_SHARED: fprintf(to, "red.shared.add.u32 [%%w0], %%r%u;\n", value); break;
    default: fprintf(to, "red.global.add.u32 [%%w0], %%r%u;\n", value);
    }
}

static void write_exchange(struct writer *writer, const struct statement *it)
{
    fprintf(writer->to,
            "mad.wide.u32 %%w0, %%me, 4, %%words;\nst.shared.u32 [%%w0], %%r%u;\nbar.sync 0;\n"
            "mad.lo.u32 %%t0, %%me, %u, %u;\nrem.u32 %%t0, %%t0, %u;\n"
            "mad.wide.u32 %%w0, %%t0, 4, %%words;\nld.shared.u32 %%r%u, [%%w0];\nbar.sync 0;\n",
            (unsigned)it->from[0].value, it->other, it->callee, writer->kernel->threads, it->to);
}

// Puts the address of a word of the other block into %t3, or the generic one into %w1. The word's
// number is in %t0.
static void write_other(struct writer *writer, const struct statement *it, const char *array)
{
    FILE *to = writer->to;
    fprintf(to, "add.u32 %%t1, %%rank, %u;\nrem.u32 %%t1, %%t1, %u;\n",
            1 + it->other % writer->kernel->cluster, writer->kernel->cluster);
    if (it->comparison & 1)
        fprintf(to,
                "mov.u64 %%w0, %s;\ncvta.shared.u64 %%w0, %%w0;\nmad.wide.u32 %%w0, %%t0, 4, "
                "%%w0;\nmapa.u64 %%w1, %%w0, %%t1;\n",
                array);
    else
        fprintf(to,
                "mov.u32 %%t3, %s;\nmad.lo.u32 %%t3, %%t0, 4, %%t3;\n"
                "mapa.shared::cluster.u32 %%t3, %%t3, %%t1;\n",
                array);
}

static const char cluster_barrier[] =
    "barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;\n";

static void write_cluster(struct writer *writer, const struct statement *it)
{
    FILE *to = writer->to;
    const unsigned from = (unsigned)it->from[0].value, threads = writer->kernel->threads;
    const bool generic = it->comparison & 1;
    if (it->kind == READ_OTHER) {
        fprintf(to,
                "mad.wide.u32 %%w0, %%me, 4, %%words;\nst.shared.u32 [%%w0], %%r%u;\n%s"
                "mad.lo.u32 %%t0, %%me, %u, %u;\nrem.u32 %%t0, %%t0, %u;\n",
                from, cluster_barrier, it->other, it->callee, threads);
        write_other(writer, it, "words");
        fprintf(to, generic ? "ld.u32 %%r%u, [%%w1];\n" : "ld.shared::cluster.u32 %%r%u, [%%t3];\n",
                it->to);
    } else if (it->kind == SEND_OTHER) {
        // The other block may still exchange words.
        fprintf(to, "%sadd.u32 %%t0, %%me, %u;\nrem.u32 %%t0, %%t0, %u;\n", cluster_barrier,
                it->callee, threads);
        write_other(writer, it, "words");
        fprintf(to, generic ? "st.u32 [%%w1], %%r%u;\n" : "st.shared::cluster.u32 [%%t3], %%r%u;\n",
                from);
        fprintf(to, "%smad.wide.u32 %%w0, %%me, 4, %%words;\nld.shared.u32 %%r%u, [%%w0];\n",
                cluster_barrier, it->to);
    } else {
        fprintf(to, "and.b32 %%t0, %%r%u, %u;\n", from, BINS - 1);
        write_other(writer, it, "bins");
        fprintf(to, generic ? "red.add.u32 [%%w1], " : "red.shared::cluster.add.u32 [%%t3], ");
        write_operand(writer, 'r', it->from[1]);
        fprintf(to, ";\n");
    }
    fputs(cluster_barrier, to);
}

// Among some lanes only: the value comes from the highest of them, which always exists.
static void write_shuffle(struct writer *writer, const struct statement *it)
{
    const unsigned from = (unsigned)it->from[0].value, end = writer->labels++;
    if (it->kind == SHUFFLE_WHERE) {
        fprintf(writer->to,
                "vote.sync.ballot.b32 %%t1, %s%%p%d, 0xffffffff;\n@%s%%p%d bra L%u;\n"
                "bfind.u32 %%t0, %%t1;\nshfl.sync.idx.b32 %%r%u, %%r%u, %%t0, 31, %%t1;\nL%u:\n",
                it->negated ? "!" : "", it->guard, it->negated ? "" : "!", it->guard, end, it->to,
                from, end);
        return;
    }
    static const char *const sources[SHUFFLES] = {
        "mov.u32 %t3, %t0;\n",
        "setp.lo.u32 %q, %t3, %t0;\nsub.u32 %t4, %t3, %t0;\nselp.b32 %t3, %t3, %t4, %q;\n",
        "add.u32 %t4, %t3, %t0;\nsetp.hi.u32 %q, %t4, 31;\nselp.b32 %t3, %t3, %t4, %q;\n",
        "xor.b32 %t3, %t3, %t0;\n",
    };
    fprintf(writer->to, "and.b32 %%t0, ");
    write_operand(writer, 'r', it->from[1]);
    fprintf(writer->to, ", 31;\nshfl.sync.%s.b32 %%t2, %%r%u, %%t0, %s, 0xffffffff;\n",
            shuffle_names[it->comparison], from, it->comparison == 1 ? "0" : "31");
    // The value from a lane that has ended, or never existed, is undefined.
    fprintf(writer->to,
            "setp.eq.u32 %%q, %%me, %%me;\nvote.sync.ballot.b32 %%t1, %%q, 0xffffffff;\n"
            "and.b32 %%t3, %%me, 31;\n%sshr.u32 %%t1, %%t1, %%t3;\nand.b32 %%t1, %%t1, 1;\n"
            "setp.ne.u32 %%q, %%t1, 0;\nselp.b32 %%r%u, %%t2, %%r%u, %%q;\n",
            sources[it->comparison], it->to, from);
}

static void write_statement(struct writer *writer, const struct statement *it)
{
    FILE *to = writer->to;
    switch (it->kind) {
    case COMPUTE:
        write_guard(writer, it);
        fprintf(to, "%s %%%c%u", it->op->text, it->op->signature[0], it->to);
        for (unsigned i = 0; it->op->signature[1 + i]; i++) {
            fprintf(to, ", ");
            write_operand(writer, it->op->signature[1 + i], it->from[i]);
        }
        fprintf(to, ";\n");
        break;
    case COMPARE:
        fprintf(to, "setp.%s %%p%u, %%r%u, ", comparison_names[it->comparison], it->to,
                (unsigned)it->from[0].value);
        write_operand(writer, 'r', it->from[1]);
        fprintf(to, ";\n");
        break;
    case SELECT:
        fprintf(to, "selp.b32 %%r%u, ", it->to);
        write_operand(writer, 'r', it->from[it->negated]);
        fprintf(to, ", ");
        write_operand(writer, 'r', it->from[!it->negated]);
        fprintf(to, ", %%p%d;\n", it->guard);
        break;
    case EXIT:
        write_guard(writer, it);
        fprintf(to, it->to ? "bra DONE;\n" : "exit;\n"); // as compilers write a return
        break;
    case IF: write_if(writer, it); break;
    case SWITCH: write_switch(writer, it); break;
    case LOOP:
    case REPEAT: write_loop(writer, it); break;
    case BREAK:
    case CONTINUE:
        write_guard(writer, it);
        fprintf(to, "bra L%u;\n",
                it->kind == BREAK ? writer->end[writer->depth - it->to]
                                  : writer->next[writer->depth - 1]);
        break;
    case RETURN:
        write_guard(writer, it);
        fprintf(to, "bra DONE;\n");
        break;
    case CALL:
    case CALL_ONE_OF: write_call(writer, it); break;
    case EXCHANGE: write_exchange(writer, it); break;
    case READ_OTHER:
    case SEND_OTHER:
    case ADD_OTHER: write_cluster(writer, it); break;
    case SHUFFLE:
    case SHUFFLE_WHERE: write_shuffle(writer, it); break;
    case BALLOT:
        fprintf(to, "vote.sync.ballot.b32 %%r%u, %s%%p%d, 0xffffffff;\n", it->to,
                it->negated ? "!" : "", it->guard);
        break;
    default: write_memory(writer, it);
    }
}

static void write_body(struct writer *writer, const struct body *body)
{
    for (unsigned i = 0; i < body->count; i++)
        write_statement(writer, &body->items[i]);
}

static const char declarations[] =
    ".reg .b32 %r<8>, %t<5>, %c<10>, %me;\n.reg .b64 %d<4>, %w<2>, %input, %local;\n"
    ".reg .f32 %f<4>;\n.reg .f64 %g<4>;\n.reg .pred %p<4>, %q;\n.local .align 4 .b32 loc[8];\n"
    "mov.u64 %input, inputs;\nmov.u64 %local, loc;\n";

static void write_zeros(FILE *to, const char *space, const char *name, unsigned words)
{
    for (unsigned i = 0; i < words; i++)
        fprintf(to, "st.%s.u32 [%s+%u], 0;\n", space, name, 4 * i);
}

static void write_function(struct writer *writer, unsigned index)
{
    FILE *to = writer->to;
    fprintf(
        to,
        ".func (.param .b32 out) f%u_%u(.param .b32 in0, .param .b32 in1, .param .b32 in2)\n{\n%s",
        writer->number, index, declarations);
    for (unsigned i = 0; i < WORDS; i++)
        fprintf(to, i < ARGUMENTS ? "ld.param.b32 %%r%u, [in%u];\n" : "mov.b32 %%r%u, 0;\n", i, i);
    for (unsigned i = 0; i < 4; i++)
        fprintf(
            to,
            "mov.b64 %%d%u, 0;\nmov.f32 %%f%u, 0f00000000;\nmov.f64 %%g%u, 0d0000000000000000;\n"
            "setp.ne.u32 %%p%u, %%r%u, %%r%u;\n",
            i, i, i, i, i, i);
    write_zeros(to, "local", "loc", LOCALS);
    write_body(writer, writer->kernel->functions[index]);
    fprintf(to, "DONE: st.param.b32 [out], %%r0;\nret;\n}\n");
}

static const char beginning[] =
    ".reg .b64 %out, %bins, %shared, %words;\n.reg .b32 %block;\n"
    "ld.param.u64 %out, [out];\nmov.u32 %me, %tid.x;\nmov.u32 %block, %ctaid.x;\n"
    "mov.u64 %words, words;\nmov.u64 %shared, bins;\n"
    "mad.wide.u32 %w0, %me, 4, %words;\nst.shared.u32 [%w0], 0;\n"
    "setp.ne.u32 %q, %me, 0;\n@%q bra MADE;\n";

static const char values[] =
    "mov.u32 %r0, %me;\nmov.u32 %r1, %block;\nld.param.u32 %r2, [parameter];\n"
    "mad.lo.u32 %r3, %r0, 4, 3;\nmad.wide.u32 %w0, %r0, 4, %input;\nld.global.u32 %r4, [%w0];\n"
    "mad.lo.u32 %t0, %r0, 7, %r1;\nand.b32 %t0, %t0, 255;\nmad.wide.u32 %w0, %t0, 4, %input;\n"
    "ld.global.u32 %r5, [%w0];\nmov.u32 %r6, %ntid.x;\nmov.u32 %r7, 0x1234;\n"
    "cvt.u64.u32 %d0, %r0;\nmul.wide.u32 %d1, %r4, %r5;\nmov.u64 %d2, 0;\nmul.wide.u32 %d3, %r2, "
    "8;\n"
    "cvt.rn.f32.s32 %f0, %r3;\ncvt.rn.f32.s32 %f1, %r4;\nmov.f32 %f2, 0f3f800000;\ncvt.rn.f32.s32 "
    "%f3, "
    "%r5;\n"
    "cvt.rn.f64.s32 %g0, %r4;\ncvt.rn.f64.s32 %g1, %r0;\ncvt.rn.f64.s32 %g2, %r5;\n"
    "mov.f64 %g3, 0d3ff0000000000000;\nsetp.lt.u32 %p0, %r0, 5;\nsetp.lt.s32 %p1, %r4, 0;\n"
    "setp.ne.u32 %p2, %r0, %r0;\nsetp.eq.u32 %p3, %r1, 0;\n";

static void write_results(struct writer *writer)
{
    FILE *to = writer->to;
    fprintf(to, "mad.lo.u32 %%t0, %%block, %u, %%me;\nmad.wide.u32 %%w0, %%t0, %u, %%out;\n",
            writer->kernel->threads, 4 * OUTPUTS);
    unsigned at = 0;
    for (unsigned i = 0; i < WORDS; i++, at += 4)
        fprintf(to, "st.global.u32 [%%w0+%u], %%r%u;\n", at, i);
    for (unsigned i = 0; i < FLOATS; i++, at += 4)
        fprintf(to, "st.global.f32 [%%w0+%u], %%f%u;\n", at, i);
    for (unsigned i = 0; i < WIDES; i++, at += 8)
        fprintf(to, "st.global.u64 [%%w0+%u], %%d%u;\n", at, i);
    for (unsigned i = 0; i < DOUBLES; i++, at += 8)
        fprintf(to, "st.global.f64 [%%w0+%u], %%g%u;\n", at, i);
    fprintf(to,
            "bar.sync 0;\nsetp.ne.u32 %%q, %%me, 0;\n@%%q bra DONE;\nmad.wide.u32 %%w0, %%block, "
            "%u, %%out;\n",
            4 * BINS);
    for (unsigned i = 0; i < BINS; i++)
        fprintf(to, "ld.shared.u32 %%t0, [bins+%u];\nst.global.u32 [%%w0+%u], %%t0;\n", 4 * i,
                (unsigned)offsetof(struct results, shared) + 4 * i);
}

void write_kernel(const struct kernel *kernel, unsigned number, FILE *to)
{
    struct writer writer = {.kernel = kernel, .to = to, .number = number};
    for (unsigned i = 0; i < FUNCTIONS; i++)
        write_function(&writer, i);
    fprintf(to, ".visible .entry k%u(.param .u64 out, .param .u32 parameter)", number);
    if (kernel->cluster)
        fprintf(to, " .reqnctapercluster %u", kernel->cluster);
    fprintf(to, "\n{\n%s.shared .align 4 .b32 words[%u];\n.shared .align 4 .b32 bins[%u];\n%s",
            declarations, MOST_THREADS, BINS, beginning);
    write_zeros(to, "shared", "bins", BINS);
    fprintf(to, "MADE: bar.sync 0;\n");
    if (kernel->cluster)
        fprintf(to, ".reg .b32 %%rank;\nmov.u32 %%rank, %%cluster_ctarank;\n%s", cluster_barrier);
    fprintf(to, "add.u64 %%bins, %%out, %u;\n%s", (unsigned)offsetof(struct results, global),
            values);
    write_zeros(to, "local", "loc", LOCALS);
    write_body(&writer, kernel->main);
    write_results(&writer);
    fprintf(to, "DONE: ret;\n}\n");
}
