// SPDX-License-Identifier: Apache-2.0
// Object level: decides which uses of roots happen in every launch and which need a flag. A flag is
// set in a block that executes if and only if the block of the access does, as far outside of loops
// as possible. A thread notes in registers, one byte per flag as in memory, which blocks it
// executed, and writes them when it leaves: it reads memory once for four flags and only writes if
// some are not set.
//
// With values, tallies take the place of most flags. A flag costs a thread some twenty instructions
// where it leaves, and the wait for a load; a tally of a block that all threads execute costs
// nothing there.
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

// --- Tallies in place of flags -------------------------------------------------------------------

// What takes the place of one flag.
struct instead {
    uint32_t counted; // 1 + a tally, or 0
    bool always;      // every thread executes the block
    uint32_t flag;    // otherwise: its new number
};

// Returns whether a tally of the block needs only a bit.
static bool is_once(const struct instrument_body *body, uint32_t block)
{
    const struct ptx_cfg *cfg = body->facts->cfg;
    return !body->may_exit && !cfg->irreducible && cfg->blocks[block].loop == PTX_NO_LOOP;
}

// Finds what takes the place of the flag that is set in a block.
static void replace_at(struct instrument_body *body, uint32_t block, const uint32_t *class,
                       uint32_t *tally_of, struct instead *instead)
{
    const uint32_t own = class[block];
    if (own == body->facts->cfg->order[0] && is_once(body, block)) {
        instead->always = true;
        return;
    }
    if (!tally_of[own] && is_once(body, block)) {
        tally_of[own] = ++body->kernel->tally_count;
        body->tally_at[block] = tally_of[own];
        body->from_one[tally_of[own] - 1] = true;
    }
    instead->counted = tally_of[own];
}

static void find_instead(struct instrument_body *body, const uint32_t *class, uint32_t *tally_of,
                         struct instead *instead)
{
    const struct ptx_cfg *cfg = body->facts->cfg;
    for (uint32_t i = 0; i < cfg->block_count; i++) {
        if (!body->flag_at[i])
            continue;
        struct instead *one = &instead[body->flag_at[i] - 1];
        replace_at(body, i, class, tally_of, one);
        if (one->always || one->counted)
            body->flag_at[i] = 0;
    }
    for (uint32_t i = 0; i < body->probe_count; i++) {
        struct instrument_probe *probe = &body->probes[i];
        if (probe->flag == INSTRUMENT_NONE || !probe->counts_itself)
            continue;
        instead[probe->flag].counted = probe->tally + 1;
        probe->flag = INSTRUMENT_NONE;
    }
    if (body->kernel->left_flag != INSTRUMENT_NONE) {
        body->once[body->kernel->tally_count] = true;
        body->kernel->left_counted = ++body->kernel->tally_count;
        instead[body->kernel->left_flag].counted = body->kernel->left_counted;
        body->kernel->left_flag = INSTRUMENT_NONE;
    }
}

void instrument_count_flags(struct instrument_work *work, struct instrument_body *body,
                            const uint32_t *class, uint32_t *tally_of)
{
    struct instrument_kernel *kernel = body->kernel;
    struct instead *instead =
        base_new_array(&work->scratch, struct instead, (size_t)kernel->flag_count + 1);
    const uint32_t count = kernel->flag_count;
    find_instead(body, class, tally_of, instead);
    kernel->flag_count = 0;
    for (uint32_t i = 0; i < count; i++)
        instead[i].flag =
            instead[i].always || instead[i].counted ? INSTRUMENT_NONE : kernel->flag_count++;
    for (uint32_t i = 0; i < body->facts->cfg->block_count; i++) {
        if (body->flag_at[i])
            body->flag_at[i] = instead[body->flag_at[i] - 1].flag + 1;
    }
    for (uint32_t i = 0; i < body->probe_count; i++) {
        if (body->probes[i].flag != INSTRUMENT_NONE)
            body->probes[i].flag = instead[body->probes[i].flag].flag;
    }
    for (uint32_t i = 0; i < kernel->use_count; i++) {
        struct instrument_use *use = &kernel->uses[i];
        if (use->flag == INSTRUMENT_NONE)
            continue;
        use->counted = instead[use->flag].counted;
        use->from_one = use->counted && body->from_one[use->counted - 1];
        use->flag = instead[use->flag].flag;
    }
    kernel->flag_row_bytes = (kernel->flag_count + 127) / 128 * 128;
}

// --- Text ----------------------------------------------------------------------------------------

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
