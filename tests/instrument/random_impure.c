// SPDX-License-Identifier: Apache-2.0
// The one statement of a random kernel that does not follow from its parameters: a number from
// somewhere decides what the kernel accesses. All other statements are pure, so whoever takes this
// number for one that parameters say takes the whole kernel for one that touches the same memory in
// every launch.
#include "random_kernel.h"

enum source {
    LOAD,
    READ_ONLY,
    ANY_SPACE,
    STRONG,
    VECTOR,
    VARIABLE,
    CONSTANT,
    SHARED,
    LOCAL,
    COPIED,
    ATOMIC,
    SHARED_ATOMIC,
    CLOCK,
    TIMER,
    GRID,
    MULTIPROCESSOR,
    SHUFFLE,
    VOTE,
    REDUCTION,
    MATCH,
    ACTIVE,
    BARRIER,
    CALL,
    NOTHING
};

const struct random_source random_sources[RANDOM_SOURCES] = {
    [LOAD] = {"a load", true},
    [READ_ONLY] = {"a load of read-only memory", true},
    [ANY_SPACE] = {"a load from a generic address", true},
    [STRONG] = {"a volatile load", true},
    [VECTOR] = {"a load of a vector", true},
    [VARIABLE] = {"a variable", true},
    [CONSTANT] = {"a constant", true},
    [SHARED] = {"shared memory", true},
    [LOCAL] = {"local memory", true},
    [COPIED] = {"an asynchronous copy", true},
    [ATOMIC] = {"an atomic operation", true},
    [SHARED_ATOMIC] = {"an atomic operation on shared memory", true},
    [CLOCK] = {"a clock", true},
    [TIMER] = {"a timer", true},
    [GRID] = {"the number of the launch", true},
    [MULTIPROCESSOR] = {"a multiprocessor", false},
    [SHUFFLE] = {"a shuffle", true},
    [VOTE] = {"a vote", true},
    [REDUCTION] = {"a reduction of a warp", true},
    [MATCH] = {"a match", true},
    [ACTIVE] = {"active lanes", false},
    [BARRIER] = {"a reduction at a barrier", true},
    [CALL] = {"a function", true},
    [NOTHING] = {"a register without a value", false},
};

// A word that depends on memory, which the parameters do not say.
static unsigned take_data(struct writer *writer)
{
    const unsigned base = fresh(writer, 'd'), at = fresh(writer, 'd'), data = fresh(writer, 'r');
    put(writer, "ld.param.u64 %%d%u, [in_a];\nand.b32 %%r%u, %%me, 1023;", base, data);
    put(writer, "mad.wide.u32 %%d%u, %%r%u, 4, %%d%u;\nld.global.u32 %%r%u, [%%d%u];", at, data,
        base, data, at);
    return data;
}

// The same, but by another kind of load.
static unsigned load_by(struct writer *writer, enum source source)
{
    static const char *const loads[] = {
        [READ_ONLY] = ".global.nc", [ANY_SPACE] = "", [STRONG] = ".volatile.global"};
    const unsigned base = fresh(writer, 'd'), data = fresh(writer, 'r'), more = fresh(writer, 'r');
    put(writer, "ld.param.u64 %%d%u, [in_a];", base);
    if (source == VECTOR)
        put(writer, "ld.global.v2.u32 {%%r%u, %%r%u}, [%%d%u+64];", more, data, base);
    else
        put(writer, "ld%s.u32 %%r%u, [%%d%u+128];", loads[source], data, base);
    return data;
}

// 16 bytes of shared memory that only this thread uses.
static unsigned own_shared(struct writer *writer)
{
    const unsigned at = fresh(writer, 'd');
    put(writer, "mov.u64 %%d%u, copies;\nmad.wide.u32 %%d%u, %%lin, 16, %%d%u;", at, at, at);
    return at;
}

static unsigned through_shared(struct writer *writer, enum source source)
{
    const unsigned at = own_shared(writer), base = fresh(writer, 'd'), word = fresh(writer, 'r');
    if (source == COPIED) {
        put(writer, "ld.param.u64 %%d%u, [in_a];", base);
        put(writer, "cp.async.ca.shared.global [%%d%u], [%%d%u+64], 4;\ncp.async.wait_all;", at,
            base);
    } else {
        put(writer, "st.shared.u32 [%%d%u], %%r%u;", at, take_data(writer));
    }
    if (source == SHARED_ATOMIC)
        put(writer, "atom.shared.add.u32 %%r%u, [%%d%u], 1;", word, at);
    else
        put(writer, "ld.shared.u32 %%r%u, [%%d%u];", word, at);
    return word;
}

static unsigned from_register(struct writer *writer, enum source source)
{
    const unsigned wide = fresh(writer, 'd'), word = fresh(writer, 'r');
    switch (source) {
    case CLOCK: put(writer, "mov.u32 %%r%u, %%clock;", word); break;
    case MULTIPROCESSOR: put(writer, "mov.u32 %%r%u, %%smid;", word); break;
    case ACTIVE: put(writer, "activemask.b32 %%r%u;", word); break;
    case NOTHING: break;
    default:
        put(writer, "mov.u64 %%d%u, %%%s;\ncvt.u32.u64 %%r%u, %%d%u;", wide,
            source == GRID ? "gridid" : "globaltimer", word, wide);
    }
    return word;
}

// What lanes or threads tell each other. All that have not exited reach this point.
static unsigned exchanged(struct writer *writer, enum source source)
{
    const unsigned data = take_data(writer), word = fresh(writer, 'r'), odd = fresh(writer, 'p');
    put(writer, "and.b32 %%r%u, %%r%u, 3;\nsetp.ne.u32 %%p%u, %%r%u, 1;", data, data, odd, data);
    switch (source) {
    case SHUFFLE: put(writer, "shfl.sync.bfly.b32 %%r%u, %%r%u, 1, 31, -1;", word, data); break;
    case VOTE: put(writer, "vote.sync.ballot.b32 %%r%u, %%p%u, -1;", word, odd); break;
    case REDUCTION: put(writer, "redux.sync.add.u32 %%r%u, %%r%u, -1;", word, data); break;
    case MATCH: put(writer, "match.any.sync.b32 %%r%u, %%r%u, -1;", word, data); break;
    default: put(writer, "bar.red.popc.u32 %%r%u, 0, %%p%u;", word, odd);
    }
    return word;
}

static unsigned from_memory(struct writer *writer, enum source source)
{
    const unsigned base = fresh(writer, 'd'), word = fresh(writer, 'r');
    switch (source) {
    case VARIABLE:
        put(writer, "ld.global.u32 %%r%u, [v_in+%u];", word, 4 * below(writer, 9));
        break;
    case CONSTANT:
        put(writer, "ld.const.u32 %%r%u, [c_words+%u];", word, 4 * below(writer, 16));
        break;
    case LOCAL:
        put(writer, "st.local.u32 [mine+%u], %%r%u;", 16, take_data(writer));
        put(writer, "ld.local.u32 %%r%u, [mine+%u];", word, 16);
        break;
    case ATOMIC:
        put(writer, "ld.param.u64 %%d%u, [sums];", base);
        put(writer, "atom.global.add.u32 %%r%u, [%%d%u+4], 7;", word, base);
        break;
    default:
        put(writer, "ld.param.u64 %%d%u, [in_a];", base);
        put(writer,
            "{ .param .b64 a; .param .b32 back;\nst.param.b64 [a], %%d%u;\n"
            "call.uni (back), look, (a);\nld.param.b32 %%r%u, [back]; }",
            base, word);
    }
    return word;
}

static enum source pick(struct writer *writer)
{
    const enum source source = (enum source)below(writer, RANDOM_SOURCES);
    const bool together = !writer->depth;
    const bool meets = (source >= SHUFFLE && source <= MATCH) || source == BARRIER;
    // Version 6.5 of PTX, which has no asynchronous copies, does not have reductions either.
    const bool newer = source == COPIED || source == REDUCTION;
    if ((source == VARIABLE && !has(writer, FEATURE_VARIABLES)) || (meets && !together) ||
        (newer && !has(writer, FEATURE_COPIES)))
        return LOAD;
    return source;
}

static unsigned take_word(struct writer *writer, enum source source)
{
    switch (source) {
    case LOAD: return take_data(writer);
    case READ_ONLY:
    case ANY_SPACE:
    case STRONG:
    case VECTOR: return load_by(writer, source);
    case SHARED:
    case SHARED_ATOMIC:
    case COPIED: return through_shared(writer, source);
    case CLOCK:
    case TIMER:
    case GRID:
    case MULTIPROCESSOR:
    case ACTIVE:
    case NOTHING: return from_register(writer, source);
    case SHUFFLE:
    case VOTE:
    case REDUCTION:
    case MATCH:
    case BARRIER: return exchanged(writer, source);
    default: return from_memory(writer, source);
    }
}

// --- What the number decides ---------------------------------------------------------------------

enum { MOST_INDEX = 31 };

static struct var small(struct writer *writer, unsigned word)
{
    struct var var = {.low = 0, .high = MOST_INDEX};
    const unsigned index = fresh(writer, 'r');
    put(writer, "and.b32 %%r%u, %%r%u, %u;", index, word, MOST_INDEX);
    snprintf(var.text, sizeof(var.text), "%%r%u", index);
    return var;
}

static unsigned decision(struct writer *writer, unsigned word)
{
    const unsigned bits = fresh(writer, 'r'), decided = fresh(writer, 'p');
    put(writer, "and.b32 %%r%u, %%r%u, %u;\nsetp.ne.u32 %%p%u, %%r%u, 0;", bits, word,
        1u << below(writer, 5), decided, bits);
    return decided;
}

// An index that is one of two numbers, chosen by a guarded move or by branches.
static struct var chosen(struct writer *writer, unsigned decided, bool branches)
{
    struct var var = {.low = 0, .high = MOST_INDEX};
    const unsigned index = fresh(writer, 'r'), end = writer->labels++;
    put(writer, "mov.u32 %%r%u, %u;", index, below(writer, 16));
    if (branches)
        put(writer, "@%%p%u bra L%u;\nmov.u32 %%r%u, %u;\nL%u:", decided, end, index,
            16 + below(writer, 16), end);
    else
        put(writer, "@%%p%u mov.u32 %%r%u, %u;", decided, index, 16 + below(writer, 16));
    snprintf(var.text, sizeof(var.text), "%%r%u", index);
    return var;
}

static struct place either(struct writer *writer, unsigned decided, const struct place *place)
{
    struct place moved = *place;
    const unsigned base = fresh(writer, 'd'), at = fresh(writer, 'd');
    put(writer, "mov.u64 %%d%u, %s;\nadd.s64 %%d%u, %%d%u, 256;", base, place->text, at, base);
    if (below(writer, 2))
        put(writer, "@%%p%u mov.u64 %%d%u, %%d%u;", decided, at, base);
    else
        put(writer, "selp.b64 %%d%u, %%d%u, %%d%u, %%p%u;", at, at, base, decided);
    snprintf(moved.text, sizeof(moved.text), "%%d%u", at);
    moved.after -= 256;
    return moved;
}

// Rounds of a loop, inside of which, or behind which, the counter is an index.
static void write_rounds(struct writer *writer, unsigned word, const struct place *place)
{
    struct var var = {.low = 0, .high = 8};
    const unsigned j = fresh(writer, 'r'), limit = fresh(writer, 'r'), done = fresh(writer, 'p');
    const unsigned again = writer->labels++;
    const bool behind = below(writer, 2);
    put(writer, "and.b32 %%r%u, %%r%u, 7;\nmov.u32 %%r%u, 0;\nL%u:", limit, word, j, again);
    snprintf(var.text, sizeof(var.text), "%%r%u", j);
    if (!behind)
        write_access_at(writer, place, &var);
    put(writer, "setp.lt.u32 %%p%u, %%r%u, %%r%u;\nadd.u32 %%r%u, %%r%u, 1;\n@%%p%u bra L%u;", done,
        j, limit, j, j, done, again);
    if (behind)
        write_access_at(writer, place, &var);
}

static void write_choice(struct writer *writer, unsigned word, const struct place *place,
                         const struct var *index)
{
    const unsigned arms = writer->labels, bits = fresh(writer, 'r');
    writer->labels += 3;
    put(writer, "and.b32 %%r%u, %%r%u, 1;\nT%u: .branchtargets L%u, L%u;\nbrx.idx %%r%u, T%u;",
        bits, word, arms, arms, arms + 1, bits, arms);
    put(writer, "L%u:", arms);
    write_access_at(writer, place, index);
    put(writer, "bra.uni L%u;\nL%u:", arms + 2, arms + 1);
    put(writer, "L%u:", arms + 2);
}

void write_impure(struct writer *writer)
{
    const enum source source = pick(writer);
    const unsigned word = take_word(writer, source);
    const struct place given = take_place_of(writer, below(writer, 2) ? PLACE_IN : PLACE_OUT);
    struct place place = given;
    struct var index = take_index(writer, MOST_INDEX);
    const unsigned way = below(writer, 10), end = writer->labels++;
    char text[16];
    writer->impure_done = true;
    writer->kernel->source = (int)source;
    if (given.after < 4096) { // there are always others
        write_impure(writer);
        return;
    }
    switch (way) {
    case 0: index = small(writer, word); break;
    case 1: index = chosen(writer, decision(writer, word), false); break;
    case 2: index = chosen(writer, decision(writer, word), true); break;
    case 3: place = either(writer, decision(writer, word), &place); break;
    case 4: writer->guard = 1 + decision(writer, word); break;
    case 5: put(writer, "@%%p%u bra L%u;", decision(writer, word), end); break;
    case 6: write_rounds(writer, word, &place); return;
    case 7: write_choice(writer, word, &place, &index); return;
    case 8:
        if (has(writer, FEATURE_COPIES)) {
            snprintf(text, sizeof(text), "%%r%u", word);
            write_copy(writer, text);
            return;
        }
        index = small(writer, word);
        break;
    default:
        if (has(writer, FEATURE_RETURNS))
            put(writer, "@%%p%u exit;", decision(writer, word));
        else
            index = small(writer, word);
    }
    write_access_at(writer, &place, &index);
    writer->guard = 0;
    put(writer, "L%u:", end);
}
