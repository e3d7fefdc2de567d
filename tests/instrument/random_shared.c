// SPDX-License-Identifier: Apache-2.0
// Accesses of random kernels to shared memory: 16 bytes that only one thread uses, and an array
// that lanes reach in any order and width. It may also be one in local memory.
#include "random_kernel.h"

// Any lanes reach any words of an array whose contents do not matter, in shared or local memory.
static void write_banks(struct writer *writer)
{
    static const unsigned widths[] = {1, 2, 4, 4, 8, 16};
    const unsigned kind = below(writer, 6), index = fresh(writer, 'r'), at = fresh(writer, 'd');
    const unsigned one = fresh(writer, 'r'), two = fresh(writer, 'r'), three = fresh(writer, 'r'),
                   four = fresh(writer, 'r');
    const bool local = below(writer, 3) == 0;
    const char *space = local ? "local" : "shared";
    char guard[16];
    put(writer, "shr.u32 %%r%u, %%lin, %u;", index, below(writer, 3) ? 0 : below(writer, 6));
    if (below(writer, 4) == 0) // an order that is not affine
        put(writer, "mul.lo.u32 %%r%u, %%r%u, %%r%u;", index, index, index);
    put(writer, "mul.lo.u32 %%r%u, %%r%u, %u;", index, index, below(writer, 3) * below(writer, 40));
    put(writer, "and.b32 %%r%u, %%r%u, %u;", index, index,
        (local ? 255 : 2047) & ~(widths[kind] - 1));
    put(writer, "mov.u64 %%d%u, %s;\nmad.wide.u32 %%d%u, %%r%u, 1, %%d%u;", at,
        local ? "mine" : "banks", at, index, at);
    guarded(writer, guard, sizeof(guard));
    if (below(writer, 3) == 0 && widths[kind] == 4 && !local)
        put(writer, "%sred.shared.add.u32 [%%d%u], %%lin;", guard, at);
    else if (below(writer, 3) == 0 && widths[kind] == 4)
        put(writer, "%sst.%s.u32 [%%d%u], %%lin;", guard, space, at);
    else if (kind == 5)
        put(writer, "%sld.%s.v4.u32 {%%r%u, %%r%u, %%r%u, %%r%u}, [%%d%u];", guard, space, one, two,
            three, four, at);
    else if (kind == 4)
        put(writer, "%sld.%s.v2.u32 {%%r%u, %%r%u}, [%%d%u];", guard, space, one, two, at);
    else
        put(writer, "%sld.%s.%s %%r%u, [%%d%u];", guard, space,
            widths[kind] == 1   ? "u8"
            : widths[kind] == 2 ? "s16"
                                : "u32",
            one, at);
}

void write_shared(struct writer *writer)
{
    const unsigned to = fresh(writer, 'd'), word = fresh(writer, 'r');
    if (below(writer, 2)) {
        write_banks(writer);
        return;
    }
    put(writer, "mov.u64 %%d%u, copies;\nmad.wide.u32 %%d%u, %%lin, 16, %%d%u;", to, to, to);
    put(writer, "st.shared.u32 [%%d%u+%u], %%acc;", to, 4 * below(writer, 4));
    // All threads that have not exited reach this point.
    if (!writer->depth && !writer->in_function) {
        const unsigned kind = below(writer, 4), votes = fresh(writer, 'r');
        put(writer, kind == 0 ? "bar.warp.sync -1;" : "bar.sync 0;");
        if (kind < 2)
            put(writer, "vote.sync.ballot.b32 %%r%u, %%p%u, -1;\nxor.b32 %%sink, %%sink, %%r%u;",
                votes, take_condition(writer), votes);
    }
    put(writer, "ld.shared.u32 %%r%u, [%%d%u];\nxor.b32 %%sink, %%sink, %%r%u;", word, to, word);
}
