// SPDX-License-Identifier: Apache-2.0
// Object level: decides which uses of roots happen in every launch and which need a flag. A flag is
// set in a block that executes if and only if the block of the access does, as far outside of loops
// as possible. A thread notes in registers, one byte per flag as in memory, which blocks it
// executed, and writes them when it leaves: it reads memory once for four flags and only writes if
// some are not set.
#include "flags.h"

#include <string.h>

#include "bounds.h"
#include "fill.h"

// A claim: if this block is reached, the root is read or written.
struct claim {
    uint32_t root, place;
    bool read, written;
    struct instrument_probe *own; // the guarded instruction that it depends on, or NULL
    bool dropped;
};

struct claims {
    struct claim *items;
    size_t count, capacity;
};

static uint32_t depth_of(const struct ptx_cfg *cfg, uint32_t block)
{
    uint32_t loop = cfg->blocks[block].loop;
    return loop == PTX_NO_LOOP ? 0 : cfg->loops[loop].depth;
}

// Returns the block in which to set the flag for this block.
static uint32_t place_of(const struct instrument_body *body, uint32_t block)
{
    const struct ptx_cfg *cfg = body->facts->cfg;
    uint32_t best = block;
    for (uint32_t at = cfg->blocks[block].idom; at != PTX_NO_BLOCK; at = cfg->blocks[at].idom) {
        if (depth_of(cfg, at) <= depth_of(cfg, best) && ptx_postdominates(cfg, block, at))
            best = at;
    }
    return best;
}

// Returns whether the other block executes whenever the one does.
static bool implies(const struct instrument_body *body, uint32_t one, uint32_t other)
{
    const struct ptx_cfg *cfg = body->facts->cfg;
    return ptx_dominates(cfg, other, one) || ptx_postdominates(cfg, other, one);
}

static void add_claim(struct instrument_work *work, struct instrument_body *body,
                      struct claims *claims, struct instrument_probe *probe)
{
    const struct ptx_site *site = probe->site;
    bool read = site->access != PTX_ACCESS_STORE, written = site->access != PTX_ACCESS_LOAD;
    // If a call may end the thread, executing one instruction of a block does not imply the others.
    bool own = site->instr->guard || probe->shape != SHAPE_FIXED || body->may_exit;
    uint32_t place = own ? site->block : place_of(body, site->block);
    for (size_t i = 0; i < claims->count && !own; i++) {
        struct claim *have = &claims->items[i];
        if (have->root == probe->root && have->place == place && !have->own) {
            have->read |= read;
            have->written |= written;
            return;
        }
    }
    *base_array_add(claims, &work->scratch) = (struct claim){.root = probe->root,
                                                             .place = place,
                                                             .read = read,
                                                             .written = written,
                                                             .own = own ? probe : NULL};
}

// Removes from each claim what follows from others. Claims are removed one after the other, so that
// one of several equal claims remains.
static void drop_implied(const struct instrument_body *body, struct claims *claims)
{
    for (size_t i = 0; i < claims->count; i++) {
        struct claim *claim = &claims->items[i];
        for (size_t k = 0; k < claims->count && !claim->dropped; k++) {
            const struct claim *other = &claims->items[k];
            if (k == i || other->dropped || other->own || other->root != claim->root ||
                !implies(body, claim->place, other->place))
                continue;
            claim->read &= !other->read;
            claim->written &= !other->written;
            claim->dropped = !claim->read && !claim->written;
        }
    }
}

void instrument_place_flags(struct instrument_work *work, struct instrument_body *body)
{
    const struct ptx_cfg *cfg = body->facts->cfg;
    struct instrument_kernel *kernel = body->kernel;
    struct claims claims = {0};
    BASE_ARRAY(struct instrument_use) uses = {0};
    body->flag_at = base_new_array(&work->scratch, uint32_t, cfg->block_count);
    for (uint32_t i = 0; i < body->probe_count; i++) {
        if (body->probes[i].how == HOW_ROOT)
            add_claim(work, body, &claims, &body->probes[i]);
    }
    drop_implied(body, &claims);
    for (size_t i = 0; i < claims.count; i++) {
        const struct claim *claim = &claims.items[i];
        if (claim->dropped)
            continue;
        uint32_t flag = INSTRUMENT_NONE;
        if (claim->own) {
            claim->own->flag = flag = kernel->flag_count++;
        } else if (claim->place != cfg->order[0]) {
            uint32_t *at = &body->flag_at[claim->place];
            if (!*at)
                *at = ++kernel->flag_count;
            flag = *at - 1;
        }
        *base_array_add(&uses, work->arena) = (struct instrument_use){
            .root = claim->root, .flag = flag, .read = claim->read, .written = claim->written};
    }
    kernel->uses = uses.items;
    kernel->use_count = (uint32_t)uses.count;
    instrument_plan_bounds(work, body);
    kernel->flag_row_bytes = (kernel->flag_count + 127) / 128 * 128;
}

void instrument_emit_flag(struct instrument_work *work, uint32_t flag)
{
    base_buf_printf(&work->out, "or.b32 %%glint$g%u, %%glint$g%u, %u;\n", flag / 4, flag / 4,
                    1u << 8 * (flag % 4));
}

void instrument_emit_flags(struct instrument_work *work, const struct instrument_body *body)
{
    struct base_buf *out = &work->out;
    const struct instrument_kernel *kernel = body->kernel;
    if (!kernel || !kernel->flag_count)
        return;
    if (kernel->left_flag != INSTRUMENT_NONE) {
        base_buf_puts(out, "@%glint$left ");
        instrument_emit_flag(work, kernel->left_flag);
    }
    FILL(out, flags_row, NUMBER(row_bytes, kernel->flag_row_bytes));
    for (uint32_t i = 0; i < instrument_flag_words(kernel); i++)
        FILL(out, flag_word, NUMBER(word, i), NUMBER(offset, i * 4));
    base_buf_puts(out, "}\n");
}
