// SPDX-License-Identifier: Apache-2.0
// Pointers of random kernels that do not look like addresses: how they are stored in the
// parameters, and how kernels compute addresses from them.
#include <inttypes.h>

#include "random_kernel.h"

// What is stored of a pointer. The last two have two parameters, of which the first points into
// another object.
enum { BASED, END, TAGGED, KEYED, SCALED, HALVES, APART, WORDS, KINDS, SLOTS = KINDS + 2 };

static uint32_t slot_at(unsigned kind, bool out)
{
    const unsigned slot = kind == WORDS ? APART + 2 : kind;
    return 8 * (slot + out * SLOTS);
}

static unsigned add(struct writer *writer, uint32_t at, unsigned to, int64_t offset,
                    enum oracle_form form, unsigned from)
{
    struct oracle_case *test = &writer->kernel->test;
    test->pointers[test->pointer_count] =
        (struct oracle_pointer){.in = ORACLE_IN_PARAMS, .at = at, .to = to, .offset = offset};
    test->hidden[test->pointer_count] = (struct oracle_hidden){form, from};
    return test->pointer_count++;
}

uint32_t make_forms(struct writer *writer, uint32_t at, const unsigned first[2], unsigned count)
{
    static const enum oracle_form stored[KINDS] = {[TAGGED] = ORACLE_TAGGED,
                                                   [KEYED] = ORACLE_KEYED,
                                                   [SCALED] = ORACLE_SCALED,
                                                   [APART] = ORACLE_DISTANCE,
                                                   [WORDS] = ORACLE_WORDS};
    for (unsigned i = 0; i < 2 * KINDS; i++) {
        const unsigned kind = i / 2, to = first[i % 2] + below(writer, count);
        const int64_t bytes = writer->kernel->test.buffer_bytes[to];
        uint32_t slot = at + slot_at(kind, i % 2);
        unsigned from = 0;
        int64_t offset = 16 * below(writer, (unsigned)bytes / 32);
        struct pointer *pointer = &writer->forms[i % 2][kind];
        if (kind == BASED || kind == END)
            offset = kind == END ? bytes / 16 * 16 : -16 - 16 * (int64_t)below(writer, 3000);
        if (kind >= APART) {
            from = add(writer, slot, first[0] + below(writer, count), 16 * below(writer, 500),
                       ORACLE_PLAIN, 0);
            slot += 8;
        }
        add(writer, slot, to, offset, stored[kind], from);
        *pointer = (struct pointer){.before = offset, .after = bytes - offset};
    }
    return at + 2 * SLOTS * 8;
}

// Writes the address that the parameters stand for into register `into`.
static void decode(struct writer *writer, unsigned kind, bool out, unsigned into)
{
    const unsigned more = fresh(writer, 'd'), low = fresh(writer, 'r'), high = fresh(writer, 'r');
    const uint32_t at = slot_at(kind, out);
    if (kind == HALVES)
        put(writer,
            "ld.param.u32 %%r%u, [forms+%u]; ld.param.u32 %%r%u, [forms+%u];\n"
            "mov.b64 %%d%u, {%%r%u, %%r%u};",
            low, at, high, at + 4, into, low, high);
    else
        put(writer, "ld.param.u64 %%d%u, [forms+%u];", into, at);
    switch (kind) {
    case TAGGED:
        if (below(writer, 2))
            put(writer, "and.b64 %%d%u, %%d%u, 0x00ffffffffffffff;", into, into);
        else
            put(writer, "shl.b64 %%d%u, %%d%u, 8; shr.u64 %%d%u, %%d%u, 8;", into, into, into,
                into);
        break;
    case KEYED: put(writer, "xor.b64 %%d%u, %%d%u, 0x%" PRIx64 ";", into, into, ORACLE_KEY); break;
    case SCALED:
        if (below(writer, 2))
            put(writer, "shl.b64 %%d%u, %%d%u, 4;", into, into);
        else
            put(writer, "mul.lo.u64 %%d%u, %%d%u, 16;", into, into);
        break;
    case APART:
    case WORDS:
        if (below(writer, 2))
            put(writer, "cvta.to.global.u64 %%d%u, %%d%u;", into, into);
        put(writer, "ld.param.u64 %%d%u, [forms+%u];", more, at + 8);
        if (kind == WORDS)
            put(writer, "shl.b64 %%d%u, %%d%u, 2;", more, more);
        put(writer, "add.s64 %%d%u, %%d%u, %%d%u;", into, into, more);
        break;
    default: break;
    }
}

struct place from_form(struct writer *writer, enum place_class class)
{
    const bool out = class == PLACE_OUT;
    const unsigned kind = below(writer, KINDS), into = fresh(writer, 'd');
    const struct pointer *pointer = &writer->forms[out][kind];
    struct place place = {.class = class, .before = pointer->before, .after = pointer->after};
    snprintf(place.text, sizeof(place.text), "%%d%u", into);
    decode(writer, kind, out, into);
    // Other code relies on the place being in its object.
    if (kind == BASED || kind == END) {
        const int64_t inside = kind == END ? 16 * (1 + (int64_t)below(writer, 500)) : 0;
        put(writer, "add.s64 %%d%u, %%d%u, %" PRId64 ";", into, into,
            -place.before * (kind == BASED) - inside);
        place.before = kind == END ? place.before - inside : 0;
        place.after = kind == END ? place.after + inside : pointer->before + pointer->after;
    }
    return place;
}
