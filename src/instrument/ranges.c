// SPDX-License-Identifier: Apache-2.0
// Live ranges of words of shared memory: see ranges.h. The order of accesses is only known while
// the kernel runs, so each word of a block has a tag in spare shared memory that names the last
// store. A store writes the tag, and a load adds to the counters that the tag leads to.
//
// The tag is written before the word, and read before it: both in the order of the lane, so that
// whatever orders a store and a load of other lanes also orders what happens to the tag. An atomic
// operation exchanges the tag, and so do several lanes of one instruction one after the other.
// Accesses that nothing orders may be attributed to the store before or behind.
//
// Counters are those of words without a store, then one row for each site that stores: as many as
// the array has words into which it stores, or as all arrays have if that is unknown.
#include "ranges.h"

#include "described.h"
#include "fill.h"
#include "probe.h"
#include "spare.h"
#include "words.h"

// --- From the code -------------------------------------------------------------------------------

static bool is_dynamic(const struct instrument_kernel *kernel)
{
    return kernel->array_count && !kernel->arrays[kernel->array_count - 1].bytes;
}

// Returns the words of static arrays, and that of accesses to none.
static uint32_t static_words(const struct instrument_kernel *kernel)
{
    return 1 + (uint32_t)instrument_word_count(kernel, 0);
}

// Places the counters of a site behind those of the sites before.
static void place(struct instrument_kernel *kernel, struct instrument_range_site *site)
{
    const uint32_t all = static_words(kernel);
    const struct instrument_array *array =
        site->array == INSTRUMENT_NONE ? NULL : &kernel->arrays[site->array];
    const bool dynamic = array ? !array->bytes : is_dynamic(kernel);
    site->first = array ? array->first : 0;
    site->base = kernel->ranges_base - site->first;
    site->times = kernel->ranges_times;
    kernel->ranges_base += !array ? all : instrument_words_in(array->bytes);
    kernel->ranges_times += dynamic;
}

static void mark_drains(const struct instrument_body *body, const struct ptx_staging *staging)
{
    for (uint8_t i = 0; staging->kind == PTX_STAGING_DRAIN && i < staging->source_count; i++)
        body->probes[staging->sources[i]].drains = true;
}

// Gives the probe counters if it stores.
static void plan_begin(struct instrument_kernel *kernel, struct instrument_probe *probe, bool fills)
{
    if (!probe->words || !(instrument_kinds(probe->site) & 2))
        return;
    struct instrument_range_site *site = &kernel->range_sites[kernel->range_site_count];
    *site = (struct instrument_range_site){.array = probe->array, .fills = fills};
    place(kernel, site);
    probe->begins = ++kernel->range_site_count;
}

// Plans what is counted beside sites. What a copy brings is known of its own sites.
static void plan_described(const struct instrument_body *body, const struct ptx_staging *stagings)
{
    for (size_t i = 0; i < body->described.count; i++) {
        struct instrument_described *described = body->described.items[i];
        const uint32_t copies = described->copies;
        described->probe.drains = copies && body->probes[copies - 1].drains;
        plan_begin(body->kernel, &described->probe,
                   copies && stagings[copies - 1].kind == PTX_STAGING_FILL);
    }
}

void instrument_plan_ranges(struct instrument_work *work, struct instrument_body *body)
{
    struct instrument_kernel *kernel = body->kernel;
    struct ptx_staging *stagings;
    if (!(work->request->word_ways & INSTRUMENT_WORDS_RANGES) || kernel->uncounted ||
        !kernel->array_count || !body->probe_count)
        return;
    if (ptx_staging_find(body->facts, body->probes[0].site, body->probe_count, &stagings,
                         work->error) != BASE_OK)
        longjmp(work->escape, 1);
    kernel->ranges_base = static_words(kernel);
    kernel->ranges_times = is_dynamic(kernel);
    kernel->range_sites = base_new_array(work->arena, struct instrument_range_site,
                                         body->probe_count + body->described.count);
    for (uint32_t i = 0; i < body->probe_count; i++) {
        mark_drains(body, &stagings[i]);
        plan_begin(kernel, &body->probes[i], stagings[i].kind == PTX_STAGING_FILL);
    }
    plan_described(body, stagings);
}

// --- Counters of a launch ------------------------------------------------------------------------

static uint64_t dynamic_words(const struct instrument_kernel *kernel, uint32_t dynamic_bytes)
{
    return is_dynamic(kernel) ? instrument_words_in(dynamic_bytes) : 0;
}

uint64_t instrument_range_count(const struct instrument_kernel *kernel, uint32_t dynamic_bytes)
{
    if (!kernel->range_site_count)
        return 0;
    const uint64_t count =
        kernel->ranges_base + kernel->ranges_times * dynamic_words(kernel, dynamic_bytes);
    return count > INSTRUMENT_MOST_RANGES ? 0 : count;
}

uint64_t instrument_range_row(const struct instrument_kernel *kernel, uint32_t site,
                              uint32_t dynamic_bytes)
{
    const struct instrument_range_site *about = &kernel->range_sites[site];
    return about->base + about->times * dynamic_words(kernel, dynamic_bytes);
}

uint32_t instrument_tag_bytes(const struct instrument_kernel *kernel, uint32_t dynamic_bytes)
{
    const uint64_t bytes =
        INSTRUMENT_TAG_BYTES * (1 + instrument_word_count(kernel, dynamic_bytes));
    return kernel->may_spare && instrument_range_count(kernel, dynamic_bytes)
               ? instrument_spare_at((uint32_t)bytes)
               : 0;
}

void instrument_place_tags(const struct instrument_kernel *kernel, uint32_t tags, uint64_t ranges,
                           struct instrument_context *context)
{
    context->tags = tags;
    context->ranges = ranges;
    context->tag_count = (uint32_t)(1 + instrument_word_count(kernel, context->dynamic_bytes));
    context->traced = UINT32_MAX;
}

// --- Code ----------------------------------------------------------------------------------------

enum { MOST_BITS = 32 };

uint32_t instrument_array_bit(uint32_t array)
{
    return 1u << (array < MOST_BITS ? array : MOST_BITS - 1);
}

void instrument_emit_no_ranges(struct instrument_work *work, const struct instrument_body *body)
{
    const uint32_t past = work->labels++, next = work->labels++, ready = work->labels++;
    if (body->kernel && body->kernel->range_site_count)
        FILL(&work->out, ranges_entry, STRING(spare, INSTRUMENT_SPARE), NUMBER(past, past),
             NUMBER(next, next), NUMBER(ready, ready));
}

static void emit_word(struct instrument_work *work, const struct instrument_probe *probe,
                      uint32_t word)
{
    const uint32_t kinds = instrument_kinds(probe->site);
    const uint32_t tag = word * INSTRUMENT_WORD_BYTES,
                   counters = word * (uint32_t)sizeof(struct instrument_range);
    if (kinds & 1)
        FILL(&work->out, ranges_load, NUMBER(stores, kinds >> 1), NUMBER(drains, probe->drains),
             NUMBER(word, tag), NUMBER(counters, counters));
    else
        FILL(&work->out, ranges_store, NUMBER(word, tag), NUMBER(counters, counters));
}

// Returns whether what is accessed does not come from, or go to, a register of the lane. Rows of
// matrices are of other lanes than those that give their addresses. Bulk copies and barriers are
// the hardware's, which a register could not replace.
static bool is_of_nobody(const struct ptx_site *site)
{
    const enum ptx_op op = ptx_op(site->instr);
    return instrument_moves_matrix(site) || instrument_is_bulk_copy(site->instr) ||
           op == PTX_OP_CP_ASYNC_MBARRIER_ARRIVE ||
           (op >= PTX_OP_MBARRIER_INIT && op <= PTX_OP_MBARRIER_TRY_WAIT);
}

// Returns what a tag says of the thread if it is not that of the lane, or 0.
static uint32_t nobody(const struct ptx_site *site)
{
    if (!is_of_nobody(site))
        return 0;
    return instrument_kinds(site) & 2 ? INSTRUMENT_TAG_STORED : INSTRUMENT_TAG_LOADED;
}

static void emit_site(struct instrument_work *work, const struct instrument_kernel *kernel,
                      const struct instrument_probe *probe)
{
    if (!probe->begins)
        return;
    const struct instrument_range_site *site = &kernel->range_sites[probe->begins - 1];
    FILL(&work->out, ranges_site, NUMBER(fixed, site->base), NUMBER(dynamic, site->times));
}

void instrument_emit_ranges(struct instrument_work *work, const struct instrument_body *body,
                            const struct instrument_probe *probe)
{
    struct base_buf *out = &work->out;
    const struct instrument_kernel *kernel = body->kernel;
    if (!kernel || !kernel->range_site_count || !probe->words)
        return;
    const uint32_t past = work->labels++, found = work->labels++, lost = work->labels++;
    const uint32_t bytes = instrument_touched_bytes(probe->site),
                   words = instrument_words_in(bytes);
    FILL(out, ranges_registers, NUMBER(past, past),
         NUMBER(bit, probe->array == INSTRUMENT_NONE ? 0 : instrument_array_bit(probe->array)));
    instrument_emit_word_place(work, body, probe, past, found, lost);
    base_buf_printf(out, "bra $glint$%u;\n$glint$%u:\n", past, found);
    FILL(out, ranges_place, NUMBER(nobody, nobody(probe->site)), STRING(spare, INSTRUMENT_SPARE));
    emit_site(work, kernel, probe);
    if (nobody(probe->site) && instrument_kinds(probe->site) == 3) // it loads as nobody, too
        base_buf_printf(out, "mov.u32 %%glint$me, %u;\n", INSTRUMENT_TAG_LOADED);
    for (uint32_t i = 0; i < words; i++)
        emit_word(work, probe, i);
    if (instrument_may_straddle(body, probe, bytes)) {
        FILL(out, words_end, NUMBER(more, words * INSTRUMENT_WORD_BYTES - bytes),
             NUMBER(past, past));
        emit_word(work, probe, words);
    }
    base_buf_printf(out, "$glint$%u:\n}\n", past);
}
