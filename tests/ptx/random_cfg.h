// SPDX-License-Identifier: Apache-2.0
// Random functions as PTX text, determined by the seed. Blocks fall through, branch, branch by
// index or return, with and without guards, and some are in their own scopes. Blocks set and read
// registers; each assignment of a constant and each addition of one uses a different number.
#ifndef GLINT_TESTS_PTX_RANDOM_CFG_H
#define GLINT_TESTS_PTX_RANDOM_CFG_H

#include "testing.h"

enum { RANDOM_BLOCKS = 14, RANDOM_REGS = 4 };

// splitmix64; the initial state is the seed.
static inline uint64_t random_bits(uint64_t *state)
{
    uint64_t bits = *state += 0x9E3779B97F4A7C15u;
    bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9u;
    bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EBu;
    return bits ^ (bits >> 31);
}

static inline unsigned random_below(uint64_t *state, unsigned limit)
{
    return (unsigned)(random_bits(state) % limit);
}

// A scope around the blocks from first to last.
struct random_scope {
    unsigned first, last;
};

// Whether block `from` can name a label of block `to`.
static inline bool random_sees(const struct random_scope *scopes, unsigned scope_count,
                               unsigned from, unsigned to)
{
    for (unsigned i = 0; i < scope_count; i++) {
        bool to_in = to >= scopes[i].first && to <= scopes[i].last;
        bool from_in = from >= scopes[i].first && from <= scopes[i].last;
        if (to_in && !from_in)
            return false;
    }
    return true;
}

static inline unsigned random_target(uint64_t *state, const struct random_scope *scopes,
                                     unsigned scope_count, unsigned from, unsigned blocks)
{
    for (int tries = 0; tries < 50; tries++) {
        unsigned to = random_below(state, blocks);
        if (random_sees(scopes, scope_count, from, to))
            return to;
    }
    return from;
}

// Appends one function. number: that of the next definition.
static inline void random_function(struct base_buf *out, uint64_t *state, const char *name,
                                   unsigned *number)
{
    unsigned blocks = 2 + random_below(state, RANDOM_BLOCKS - 2);
    struct random_scope scopes[3];
    unsigned scope_count = random_below(state, 4);
    for (unsigned i = 0; i < scope_count; i++) {
        // Within the previous scope or separate from it: halves of the remaining blocks.
        unsigned low = i ? scopes[i - 1].first : 0;
        unsigned high = i ? scopes[i - 1].last : blocks - 1;
        scopes[i].first = low + random_below(state, high - low + 1);
        scopes[i].last = scopes[i].first + random_below(state, high - scopes[i].first + 1);
    }
    base_buf_printf(out,
                    ".entry %s()\n{\n.reg .pred %%p;\n.reg .u32 %%i;\n.reg .u32 %%r<%d>;\n"
                    "mov.u32 %%i, 0;\nsetp.eq.u32 %%p, %%i, 0;\n",
                    name, RANDOM_REGS);
    if (random_below(state, 4) == 0) // the loop may start with the function
        out->length = (size_t)(strstr(out->text + out->length - 60, "mov.u32 %i") - out->text);
    for (unsigned b = 0; b < blocks; b++) {
        for (unsigned i = 0; i < scope_count; i++) {
            if (scopes[i].first == b)
                base_buf_puts(out, "{\n");
        }
        base_buf_printf(out, "L%u:\n", b);
        unsigned instrs = random_below(state, 4);
        for (unsigned i = 0; i < instrs; i++) {
            const char *guard = random_below(state, 5) == 0 ? "@%p " : "";
            unsigned to = random_below(state, RANDOM_REGS), from = random_below(state, RANDOM_REGS);
            switch (random_below(state, 10)) {
            case 0: base_buf_printf(out, "%smov.u32 %%r%u, %%tid.x;\n", guard, to); break;
            case 1: base_buf_printf(out, "%smov.u32 %%r%u, %%r%u;\n", guard, to, from); break;
            case 2:
                base_buf_printf(out, "%ssetp.lt.u32 %%p, %%r%u, %u;\n", guard, from,
                                random_below(state, 4));
                break;
            case 3:
                base_buf_printf(out, "%ssub.u32 %%r%u, %%r%u, %%r%u;\n", guard, to, from,
                                random_below(state, RANDOM_REGS));
                break;
            case 4:
            case 5: base_buf_printf(out, "%smov.u32 %%r%u, %u;\n", guard, to, (*number)++); break;
            case 6:
                base_buf_printf(out, "%smad.lo.u32 %%r%u, %%r%u, %%r%u, %u;\n", guard, to, from,
                                random_below(state, RANDOM_REGS), (*number)++);
                break;
            default:
                // Often a counter.
                from = random_below(state, 2) ? to : from;
                base_buf_printf(out, "%sadd.u32 %%r%u, %%r%u, %u;\n", guard, to, from, (*number)++);
                break;
            }
        }
        unsigned one = random_target(state, scopes, scope_count, b, blocks);
        unsigned two = random_target(state, scopes, scope_count, b, blocks);
        switch (random_below(state, 12)) {
        case 0:
        case 1: break;
        case 2: base_buf_printf(out, "bra L%u;\n", one); break;
        case 3: base_buf_puts(out, "@%p ret;\n"); break;
        case 4: base_buf_puts(out, random_below(state, 3) ? "@!%p exit;\n" : "ret;\n"); break;
        case 5:
        case 6:
            base_buf_printf(out, "T%u: .branchtargets L%u, L%u, L%u;\n%sbrx.idx %%r%u, T%u;\n", b,
                            one, two, one, random_below(state, 2) ? "@%p " : "",
                            random_below(state, RANDOM_REGS), b);
            break;
        case 7: base_buf_printf(out, "@%%p bra L%u;\nbra L%u;\n", one, two); break;
        default:
            base_buf_printf(out, "@%s%%p bra L%u;\n", random_below(state, 2) ? "!" : "", one);
            break;
        }
        for (unsigned i = scope_count; i-- > 0;) {
            if (scopes[i].last == b)
                base_buf_puts(out, "}\n");
        }
    }
    base_buf_puts(out, random_below(state, 4) ? "ret;\n}\n" : "}\n");
}

#endif
