// SPDX-License-Identifier: Apache-2.0
// Writes the code for an access whose address comes from no root (probes/lookup.ptx). It checks the
// current entry first and then searches the table. Registers sum up the bytes that a thread moves
// in the current entry; they are added to memory when the thread changes to another entry or ends.
#include "lookup.h"

#include "fill.h"
#include "probe.h"

// Counts the access. Its elements lie in one word: there are at most four.
static void emit_counts(struct base_buf *out, uint32_t bytes)
{
    FILL(out, entry_counts, NUMBER(many, bytes > 4));
    for (uint32_t i = 1; i < bytes / 4; i++)
        base_buf_printf(out,
                        "setp.ge.u32 %%glint$p1, %%glint$r2, %u;\n"
                        "@%%glint$p1 red.global.add.u32 [%%glint$d0+%u], 1;\n",
                        i, 4 * i);
}

void instrument_emit_lookup(struct instrument_work *work, const struct instrument_body *body,
                            const struct instrument_probe *probe)
{
    struct base_buf *out = &work->out;
    const uint32_t inside = work->labels++, slow = work->labels++, done = work->labels++;
    const uint32_t width = probe->before + probe->behind;
    const bool many = width > 4;
    if (probe->before)
        base_buf_printf(out, "sub.u64 %%glint$a, %%glint$a, %u;\n", probe->before);
    FILL(out, in_entry, NUMBER(width, width));
    base_buf_printf(out, "@%%glint$p0 bra $glint$%u;\n", inside);
    work->helpers |= HELPER_ENTER | HELPER_LEAVE;
    FILL(out, enter, NUMBER(kernel, body->kernel != NULL), NUMBER(counts, work->counts));
    FILL(out, in_entry, NUMBER(width, width));
    base_buf_printf(out, "@!%%glint$p0 bra $glint$%u;\n$glint$%u:\n", slow, inside);
    FILL(out, entry_elements, NUMBER(many, many));
    if (work->counts)
        emit_counts(out, width);
    else
        FILL(out, entry_bits, NUMBER(many, many),
             NUMBER(look, probe->site->kind != PTX_SITE_INDIRECT));
    for (uint32_t kind = 0; kind < 2; kind++) {
        uint32_t moved = 0;
        for (const struct instrument_probe *each = probe; each; each = instrument_next(body, each))
            moved += instrument_kinds(each->site) & 1u << kind ? each->site->bytes : 0;
        if (moved)
            base_buf_printf(out, "add.u64 %%glint$m%u, %%glint$m%u, %u;\n", kind, kind, moved);
    }
    base_buf_printf(out, "bra $glint$%u;\n$glint$%u:\n", done, slow);
    instrument_emit_slow(work, body, probe);
    base_buf_printf(out, "$glint$%u:\n", done);
}

void instrument_emit_leave(struct instrument_work *work, const struct instrument_body *body)
{
    if (!work->elements || !body->looks_up)
        return;
    work->helpers |= HELPER_LEAVE;
    FILL(&work->out, leave, NUMBER(kernel, body->kernel != NULL));
}
