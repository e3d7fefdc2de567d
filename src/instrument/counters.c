// SPDX-License-Identifier: Apache-2.0
// Counters of words of shared memory: see counters.h. Those in device memory belong to all blocks
// of the launch, and an increment is an atomic operation far away. In spare shared memory each
// block has its own. The last threads of a block to end add them to those in device memory: which
// threads that are is found by counting, because threads may end anywhere, and no barrier of the
// program may be used for it. At the start all threads are there, so that a barrier is safe.
//
// An access of 8 or 16 bytes increments one counter for all of its words, if these are always the
// same two or four: atomic operations are what counting costs most. It counts for each of the words
// when counters are added to those in device memory.
//
// For the same reason an atomic operation, which loads and stores, increments one counter instead
// of two where that helps: one of the two counters of a word then is less than what it stands for
// by the other one, and what would increment the other one alone decrements it.
//
// A counter of 32 bits may overflow in a block that runs for long. A tally of all increments shows
// it.
#include "counters.h"

#include "fill.h"
#include "lanes.h"
#include "near.h"
#include "probe.h"
#include "words.h"

enum { WORD_BYTES = 8, SMALL_BYTES = 4 }; // of spare memory for each word
enum { MOVED = 4 };                       // counters that a thread moves in a row

// --- Where words are counted ---------------------------------------------------------------------

// Functions that may end the thread do not count it.
static bool may_count_in_spare(const struct instrument_work *work,
                               const struct instrument_body *body)
{
    return work->request->word_ways & INSTRUMENT_WORDS_SPARE && body->kernel->may_spare &&
           !body->may_exit;
}

uint32_t instrument_counter_unit(const struct instrument_body *body,
                                 const struct instrument_probe *probe)
{
    const uint32_t bytes = instrument_touched_bytes(probe->site);
    return (bytes == 8 || bytes == 16) && instrument_is_aligned(body, probe, bytes)
               ? bytes / INSTRUMENT_WORD_BYTES
               : 1;
}

static void plan_unit(const struct instrument_body *body, const struct instrument_probe *probe)
{
    if (!probe->words)
        return;
    body->kernel->pairs |= instrument_counter_unit(body, probe) == 2;
    body->kernel->quads |= instrument_counter_unit(body, probe) == 4;
}

static void plan_units(const struct instrument_body *body)
{
    for (uint32_t i = 0; i < body->probe_count; i++)
        plan_unit(body, &body->probes[i]);
    for (size_t i = 0; i < body->described.count; i++)
        plan_unit(body, &body->described.items[i]->probe);
}

enum { LOADS = 1, STORES = 2, BOTH = LOADS | STORES };

// Returns whether no parameter of the kernel decides how often the loop is executed. Loops that
// clear an array are such, and loops over data are not.
static bool is_short(const struct ptx_affine *affine, uint32_t loop)
{
    const struct ptx_trip *trip = &affine->trips[loop];
    for (uint32_t i = 0; trip->known && i < trip->numerator.term_count; i++) {
        const struct ptx_term *term = &trip->numerator.terms[i];
        for (uint32_t k = 0; k < term->symbol_count; k++) {
            if (affine->symbols[term->symbols[k]].kind == PTX_SYMBOL_PARAM)
                return false;
        }
    }
    return trip->known;
}

// Estimates how often a thread executes the access.
static uint64_t weight_of(const struct instrument_body *body, const struct ptx_site *site)
{
    const struct ptx_facts *facts = body->facts;
    uint64_t weight = 1;
    for (uint32_t loop = site->loop; loop != PTX_NO_LOOP && weight < UINT64_C(1) << 40;
         loop = facts->cfg->loops[loop].parent)
        weight *= is_short(facts->affine, loop) ? 8 : 64;
    return weight;
}

// Chooses which kind of access pays for atomic operations that increment one counter: the one that
// is executed least. Counts that get lost must not be subtracted from others.
static uint32_t find_difference(const struct instrument_body *body)
{
    uint64_t weights[BOTH + 1] = {0};
    for (uint32_t i = 0; i < body->probe_count; i++) {
        const struct instrument_probe *probe = &body->probes[i];
        if (probe->words && !probe->offset)
            weights[instrument_kinds(probe->site)] += weight_of(body, probe->site);
    }
    const uint32_t least = weights[LOADS] <= weights[STORES] ? LOADS : STORES;
    if (body->kernel->racy || weights[least] >= weights[BOTH])
        return 0;
    return BOTH - least;
}

// Finds accesses at which lanes that are here at once have one address: one of them can count for
// all. This is part of SA; GMProf calls such addresses invariant.
static void find_together(const struct instrument_work *work, const struct instrument_body *body)
{
    const bool may = work->request->word_ways & INSTRUMENT_WORDS_KNOWN && !body->kernel->racy &&
                     !body->kernel->spare_small;
    for (uint32_t i = 0; i < body->probe_count && may; i++) {
        struct instrument_probe *probe = &body->probes[i];
        const struct ptx_site *site = probe->site;
        probe->together = probe->words && site->lanes == UINT32_MAX &&
                          !(site->deps & (PTX_DEP_ANY_LANE | PTX_DEP_MEMORY | PTX_DEP_BLOCK)) &&
                          !instrument_may_straddle(body, probe, instrument_touched_bytes(site)) &&
                          !instrument_lanes_may_meet(body->facts, site);
    }
}

void instrument_plan_counters(const struct instrument_work *work, struct instrument_body *body)
{
    struct instrument_kernel *kernel = body->kernel;
    bool any = body->described.count;
    kernel->counts_rest = any;
    for (uint32_t i = 0; i < body->probe_count; i++) {
        any |= body->probes[i].words;
        kernel->counts_rest |= body->probes[i].words && !body->probes[i].offset;
    }
    if (any && may_count_in_spare(work, body)) {
        kernel->spare_head = INSTRUMENT_SPARE_HEAD;
        kernel->spare_word = WORD_BYTES;
        plan_units(body);
        if (work->request->word_ways & INSTRUMENT_WORDS_SMALL)
            kernel->spare_small = SMALL_BYTES;
    }
    kernel->racy = any && work->request->word_ways & INSTRUMENT_WORDS_RACY;
    if (kernel->spare_head || kernel->racy)
        kernel->made = 1; // instrument_place_tallies chooses it
    body->difference = kernel->spare_head ? find_difference(body) : 0;
    find_together(work, body);
}

uint64_t instrument_lost_counts(const struct instrument_kernel *kernel, const uint64_t *tallies,
                                uint32_t dynamic_bytes, struct instrument_word *words,
                                bool *limited)
{
    const uint64_t count = instrument_word_count(kernel, dynamic_bytes);
    uint64_t sum = 0;
    uint32_t array = 0;
    for (uint32_t i = 0; i < kernel->array_count; i++)
        limited[i] = false;
    for (uint64_t i = 0; i <= count; i++) {
        while (array + 1 < kernel->array_count && i >= kernel->arrays[array + 1].first)
            array++;
        if (kernel->array_count)
            limited[array] |= ((words[i].loads | words[i].stores) & INSTRUMENT_WORD_LIMITED) != 0;
        words[i].loads &= ~INSTRUMENT_WORD_LIMITED;
        words[i].stores &= ~INSTRUMENT_WORD_LIMITED;
        sum += words[i].loads + words[i].stores;
    }
    if (!kernel->made)
        return 0;
    const uint64_t made = tallies[kernel->made - 1];
    return made < sum ? UINT64_MAX : made - sum;
}

// --- Code ----------------------------------------------------------------------------------------

enum counter_place { IN_DEVICE, IN_SPARE, IN_SMALL };

void instrument_emit_device_increments(struct instrument_work *work,
                                       const struct instrument_body *body,
                                       const struct instrument_probe *probe, const char *guard,
                                       int64_t word)
{
    static const size_t offsets[] = {offsetof(struct instrument_word, loads),
                                     offsetof(struct instrument_word, stores)};
    for (uint32_t k = 0; k < 2; k++) {
        if (instrument_kinds(probe->site) >> k & 1)
            FILL(&work->out, counters_add_device, NUMBER(racy, body->kernel->racy),
                 NUMBER(together, probe->together), STRING(guard, guard),
                 NUMBER(offset,
                        word * (int64_t)sizeof(struct instrument_word) + (int64_t)offsets[k]));
    }
}

static void emit_in_small(struct instrument_work *work, const struct instrument_body *body,
                          uint32_t word, bool stores)
{
    FILL(&work->out, counters_add_small, NUMBER(racy, body->kernel->racy), NUMBER(high, stores),
         NUMBER(offset, (int64_t)word * SMALL_BYTES), NUMBER(one, stores ? 1 << 16 : 1));
}

// Changes one of the counters of a word in spare memory, if the access changes it.
static void emit_change(struct instrument_work *work, const struct instrument_body *body,
                        const struct instrument_probe *probe, const char *guard, int64_t word,
                        uint32_t kind)
{
    const uint32_t kinds = instrument_kinds(probe->site);
    const bool counts = kinds & kind, takes = body->difference == kind && kinds & (BOTH - kind);
    if (counts != takes)
        FILL(&work->out, counters_add_spare, NUMBER(racy, body->kernel->racy),
             NUMBER(together, probe->together), NUMBER(minus, takes), STRING(guard, guard),
             NUMBER(offset, word * WORD_BYTES + (kind == STORES ? WORD_BYTES / 2 : 0)));
}

void instrument_emit_increments(struct instrument_work *work, const struct instrument_body *body,
                                const struct instrument_probe *probe, const char *guard,
                                int64_t word)
{
    emit_change(work, body, probe, guard, word, LOADS);
    emit_change(work, body, probe, guard, word, STORES);
}

static void emit_word(struct instrument_work *work, const struct instrument_body *body,
                      const struct instrument_probe *probe, enum counter_place place, uint32_t word)
{
    if (place == IN_SPARE)
        instrument_emit_increments(work, body, probe, "", word);
    if (place == IN_DEVICE)
        instrument_emit_device_increments(work, body, probe, "", word);
    for (uint32_t k = 0; k < 2 && place == IN_SMALL; k++) {
        if (instrument_kinds(probe->site) >> k & 1)
            emit_in_small(work, body, word, k);
    }
}

static void emit_made(struct instrument_work *work, const struct instrument_body *body,
                      const struct instrument_probe *probe, int64_t words)
{
    if (body->kernel->made)
        FILL(&work->out, counters_made, STRING(guard, ""), NUMBER(tally, body->kernel->made - 1),
             NUMBER(count, words * __builtin_popcount(instrument_kinds(probe->site) & 3)));
}

static void emit_words(struct instrument_work *work, const struct instrument_body *body,
                       const struct instrument_probe *probe, enum counter_place place,
                       uint32_t bytes, uint32_t past)
{
    const uint32_t words = bytes ? (bytes + INSTRUMENT_WORD_BYTES - 1) / INSTRUMENT_WORD_BYTES : 1;
    for (uint32_t i = 0; i < words; i++)
        emit_word(work, body, probe, place, i);
    if (!bytes || !instrument_may_straddle(body, probe, bytes))
        return;
    FILL(&work->out, words_end, NUMBER(more, words * INSTRUMENT_WORD_BYTES - bytes),
         NUMBER(past, past));
    emit_made(work, body, probe, 1);
    emit_word(work, body, probe, place, words);
}

uint32_t instrument_unit_member(uint32_t words)
{
    return words == 1 ? 0 : words == 2 ? 1 : 1 + sizeof(uint32_t);
}

// Counts in spare memory, and goes to `past`, if words have so many bytes there.
static void emit_in_spare(struct instrument_work *work, const struct instrument_body *body,
                          const struct instrument_probe *probe, enum counter_place place,
                          uint32_t bytes, uint32_t past)
{
    const uint32_t other = work->labels++;
    const uint32_t words = bytes && place == IN_SPARE ? instrument_counter_unit(body, probe) : 1;
    FILL(&work->out, counters_spare, NUMBER(several, body->kernel->spare_small),
         NUMBER(size, place == IN_SMALL ? SMALL_BYTES : WORD_BYTES), NUMBER(other, other),
         NUMBER(unit, instrument_unit_member(words)),
         NUMBER(shift, words == 1   ? 2
                       : words == 2 ? 3
                                    : 4));
    if (words > 1)
        emit_word(work, body, probe, place, 0);
    else
        emit_words(work, body, probe, place, bytes, past);
    base_buf_printf(&work->out, "bra $glint$%u;\n$glint$%u:\n", past, other);
}

void instrument_emit_counts(struct instrument_work *work, const struct instrument_body *body,
                            const struct instrument_probe *probe, uint32_t bytes, uint32_t past)
{
    const struct instrument_kernel *kernel = body->kernel;
    emit_made(work, body, probe, bytes ? instrument_words_in(bytes) : 1);
    if (probe->together)
        FILL(&work->out, counters_once, NUMBER(past, past));
    if (kernel->spare_word)
        emit_in_spare(work, body, probe, IN_SPARE, bytes, past);
    if (kernel->spare_small)
        emit_in_spare(work, body, probe, IN_SMALL, bytes, past);
    PUT(&work->out, counters_device);
    emit_words(work, body, probe, IN_DEVICE, bytes, past);
}

// Returns whether the clone may count in spare memory. The second one only runs where the launch
// knows all that it can.
static bool counts_in_spare(const struct instrument_work *work, const struct instrument_body *body)
{
    return body->kernel && body->kernel->spare_head && (!work->light || body->kernel->counts_rest);
}

void instrument_emit_clear(struct instrument_work *work, const struct instrument_body *body)
{
    if (!counts_in_spare(work, body))
        return;
    const uint32_t next = work->labels++, past = work->labels++;
    instrument_emit_near_entry(work, body);
    FILL(&work->out, counters_clear, NUMBER(next, next), NUMBER(past, past));
}

// Moves the counters of so many words together, several in a row because each takes long to load.
static void emit_move(struct instrument_work *work, const struct instrument_body *body,
                      uint32_t words)
{
    struct base_buf *out = &work->out;
    const uint32_t next = work->labels++, other = work->labels++,
                   unit = instrument_unit_member(words);
    FILL(out, counters_move, NUMBER(unit, unit), NUMBER(quads, words == 4), NUMBER(next, next),
         NUMBER(other, other));
    for (uint32_t i = 0; i < MOVED; i++)
        FILL(out, counters_fetch, NUMBER(k, i), NUMBER(difference, body->difference),
             NUMBER(stores, body->difference == STORES));
    for (uint32_t i = 0; i < MOVED; i++)
        FILL(out, counters_put, NUMBER(k, i), NUMBER(unit, unit), NUMBER(quads, words == 4),
             NUMBER(bytes, words * sizeof(struct instrument_word)));
    base_buf_printf(out, "bra $glint$%u;\n$glint$%u:\n", next, other);
}

void instrument_emit_last(struct instrument_work *work, const struct instrument_body *body)
{
    struct base_buf *out = &work->out;
    if (!counts_in_spare(work, body))
        return;
    const struct instrument_kernel *kernel = body->kernel;
    const uint32_t past = work->labels++;
    FILL(out, counters_last, NUMBER(past, past), NUMBER(slots, MOVED));
    if (kernel->spare_small) {
        const uint32_t other = work->labels++, next = work->labels++;
        FILL(out, counters_sized, NUMBER(size, SMALL_BYTES), NUMBER(other, other));
        FILL(out, counters_move_small, NUMBER(next, next), NUMBER(past, past));
        base_buf_printf(out, "$glint$%u:\n", other);
    }
    emit_move(work, body, 1);
    if (kernel->pairs)
        emit_move(work, body, 2);
    if (kernel->quads)
        emit_move(work, body, 4);
    base_buf_printf(out, "$glint$%u:\n}\n", past);
}
