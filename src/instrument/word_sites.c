// SPDX-License-Identifier: Apache-2.0
// Accesses to shared memory whose counts follow from the launch: see word_sites.h.
//
// A thread must access the same words each time, or in each round of a loop the next ones. The
// offset of a word is then an affine form of the thread's indices, and of the round, in which
// everything else is known to the launch. If all threads of a block execute the access equally
// often, one tally for all is enough: the sum over blocks of how often a thread of theirs executes
// the access is the tally over the threads of a block. Otherwise each thread of a block has one,
// and adds what it counted when it leaves; mostly that is nothing, because what is executed once is
// only counted by those that do not. Probes stay in the code for launches in which such an offset
// would be outside of its array. Forms are exact modulo 2^32 even if parts of an address wrap
// around, and shared memory has no more addresses.
#include "word_sites.h"

#include "probe.h"
#include "regular.h"
#include "tally.h"
#include "words.h"

// --- From the code -------------------------------------------------------------------------------

// Returns whether the launch knows the form and, if `same`, it is the same for all threads.
static bool is_fixed(const struct instrument_form *form, bool same)
{
    for (uint32_t i = 0; i < form->term_count; i++) {
        if (form->terms[i].of == INSTRUMENT_TERM_VARIES ||
            form->terms[i].of == INSTRUMENT_TERM_LANE ||
            (same && form->terms[i].of != INSTRUMENT_TERM_FIXED))
            return false;
    }
    return true;
}

// Takes the loop's counter out of the form. Returns what it is multiplied by, or 0 if it is not in
// the form, or not alone.
static int64_t take_counter(struct instrument_work *work, const struct ptx_affine *affine,
                            uint32_t loop, struct ptx_linear *form)
{
    struct ptx_term *terms = base_new_array(&work->scratch, struct ptx_term, form->term_count + 1);
    int64_t step = 0;
    uint16_t count = 0;
    for (uint16_t i = 0; i < form->term_count; i++) {
        const struct ptx_symbol *symbol = &affine->symbols[form->terms[i].symbols[0]];
        if (form->terms[i].symbol_count == 1 && symbol->kind == PTX_SYMBOL_COUNTER &&
            symbol->index == loop)
            step += form->terms[i].coefficient;
        else
            terms[count++] = form->terms[i];
    }
    form->terms = terms;
    form->term_count = count;
    return step;
}

// Describes how often the loop around the access goes round, and takes its counter out of the
// offset. Returns false if it is in the offset, but the launch does not know that.
static bool plan_rounds(struct instrument_work *work, const struct instrument_body *body,
                        struct instrument_probe *probe, struct ptx_linear *offset)
{
    const struct ptx_cfg *cfg = body->facts->cfg;
    const uint32_t block = probe->site->block, number = cfg->blocks[block].loop;
    probe->rounds = NULL;
    if (number == PTX_NO_LOOP)
        return true;
    const struct ptx_loop *loop = &cfg->loops[number];
    const struct ptx_trip *trip = &body->facts->affine->trips[number];
    probe->round_step = take_counter(work, body->facts->affine, number, offset);
    if (!probe->round_step)
        return true;
    if (!trip->known || !trip->exact || loop->exit_count != 1 || probe->site->instr->guard)
        return false;
    const uint32_t test = loop->exits[0].from;
    probe->tested = !ptx_dominates(cfg, block, test);
    for (uint32_t i = 0; probe->tested && i < loop->latch_count; i++) {
        if (!ptx_dominates(cfg, test, block) || !ptx_dominates(cfg, block, loop->latches[i]))
            return false; // not in each round
    }
    struct instrument_form *form = base_new(work->arena, struct instrument_form);
    if (!instrument_describe_form(work, body, probe, &trip->numerator, form) ||
        !is_fixed(form, true))
        return false;
    probe->rounds = form;
    probe->trip = trip;
    return true;
}

// Each block in a loop takes a register if its threads count apart.
enum { MOST_BLOCKS = 8 };

// Returns whether threads of a block may execute the access differently often.
static bool is_by_thread(const struct instrument_probe *probe)
{
    return probe->site->instr->guard || probe->site->block_deps & (uint16_t)~PTX_DEP_CTAID;
}

// Returns whether there is room for another block whose threads count apart.
static bool has_room(const struct instrument_body *body, const struct instrument_probe *probe)
{
    const struct ptx_cfg *cfg = body->facts->cfg;
    uint32_t count = 0;
    if (!is_by_thread(probe) || cfg->blocks[probe->site->block].loop == PTX_NO_LOOP)
        return true;
    for (const struct instrument_probe *other = body->probes; other < probe; other++) {
        if (!other->offset || !is_by_thread(other) ||
            cfg->blocks[other->site->block].loop == PTX_NO_LOOP)
            continue;
        if (other->site->block == probe->site->block && !other->site->instr->guard &&
            !probe->site->instr->guard)
            return true;
        count++;
    }
    return count < MOST_BLOCKS;
}

void instrument_plan_word_site(struct instrument_work *work, const struct instrument_body *body,
                               struct instrument_probe *probe, const struct ptx_linear *offset)
{
    const struct ptx_site *site = probe->site;
    const uint32_t bytes = instrument_touched_bytes(site);
    struct ptx_linear fixed = *offset;
    // Functions may end the thread; rows of matrices have fewer addresses.
    if (body->may_exit || body->facts->cfg->irreducible || site->lanes != UINT32_MAX ||
        bytes != site->bytes || probe->array == INSTRUMENT_NONE ||
        instrument_may_straddle(body, probe, bytes) || !has_room(body, probe))
        return;
    struct instrument_form *form = base_new(work->arena, struct instrument_form);
    if (plan_rounds(work, body, probe, &fixed) &&
        instrument_describe_form(work, body, probe, &fixed, form) && is_fixed(form, false))
        probe->offset = form;
}

// Makes a tally of executions of the probe's block, or of the probe if it has a guard. by_thread:
// each thread of a block has its own.
static uint32_t make_tally(struct instrument_body *body, const struct instrument_probe *probe,
                           bool by_thread)
{
    struct instrument_kernel *kernel = body->kernel;
    const uint32_t block = probe->site->block, tally = kernel->tally_count++;
    body->from_one[tally] = body->facts->cfg->blocks[block].loop == PTX_NO_LOOP;
    if (!probe->site->instr->guard)
        body->words_at[block] = tally + 1;
    if (by_thread)
        body->by_thread[tally] = ++kernel->thread_tallies;
    return tally;
}

void instrument_place_word_tallies(struct instrument_work *work, struct instrument_body *body,
                                   const uint32_t *class)
{
    const struct ptx_cfg *cfg = body->facts->cfg;
    uint32_t *tally_of = base_new_array(&work->scratch, uint32_t, cfg->block_count);
    body->words_at = base_new_array(&work->scratch, uint32_t, cfg->block_count);
    for (uint32_t i = 0; i < body->probe_count; i++) {
        struct instrument_probe *probe = &body->probes[i];
        const uint32_t block = probe->site->block;
        if (!probe->offset)
            continue;
        if (probe->site->instr->guard) {
            probe->times = make_tally(body, probe, true);
            continue;
        }
        if (class[block] == cfg->order[0])
            continue;
        uint32_t *tally = &tally_of[class[block]];
        if (!*tally)
            *tally = 1 + make_tally(body, probe, is_by_thread(probe));
        probe->times = *tally - 1;
    }
}

void instrument_emit_guarded_words(struct instrument_work *work, const struct instrument_body *body,
                                   const struct instrument_probe *probe)
{
    const struct ptx_instr *instr = probe->site->instr;
    if (!probe->offset || !instr->guard)
        return;
    base_buf_printf(&work->out, "@%s%s ", instr->guard_negated ? "!" : "", instr->guard->name);
    instrument_emit_tally(work, body, probe->times);
}

void instrument_list_word_sites(struct instrument_work *work, const struct instrument_body *body)
{
    struct instrument_kernel *kernel = body->kernel;
    kernel->word_sites =
        base_new_array(work->arena, struct instrument_word_site, body->probe_count);
    for (uint32_t i = 0; i < body->probe_count; i++) {
        const struct instrument_probe *probe = &body->probes[i];
        const uint32_t kinds = instrument_kinds(probe->site);
        if (probe->offset)
            kernel->word_sites[kernel->word_site_count++] = (struct instrument_word_site){
                .array = probe->array,
                .bytes = instrument_touched_bytes(probe->site),
                .loads = kinds & 1,
                .stores = kinds >> 1,
                .tally = probe->times,
                .from_one = probe->times != INSTRUMENT_NONE && body->from_one[probe->times],
                .by_thread = probe->times != INSTRUMENT_NONE ? body->by_thread[probe->times] : 0,
                .form = probe->offset,
                .rounds = probe->rounds,
                .step = probe->round_step,
                .stride = probe->rounds ? probe->trip->step : 0,
                .inclusive = probe->rounds && probe->trip->inclusive,
                .tested = probe->tested,
            };
    }
}

// --- In a launch ---------------------------------------------------------------------------------

// Sets how many rounds the site is executed in. Returns false if they are too many.
static bool find_rounds(const struct instrument_word_site *site,
                        const struct instrument_launch *launch, uint32_t *rounds)
{
    enum { MOST_ROUNDS = 1 << 16 }; // shared memory has no more words
    struct instrument_place place;
    int64_t trips = 1;
    *rounds = 1;
    if (!site->rounds)
        return true;
    if (!instrument_find_place(site->rounds, INSTRUMENT_NONE, launch, &place))
        return false;
    const int64_t room = (int64_t)place.first;
    if (room > INT32_MAX || room < INT32_MIN)
        return false;
    if (room > 0 || (room == 0 && site->inclusive))
        trips +=
            site->inclusive ? room / site->stride + 1 : (room + site->stride - 1) / site->stride;
    *rounds = (uint32_t)(trips - site->tested);
    return trips <= MOST_ROUNDS;
}

static bool is_inside(const struct instrument_word_site *site, int64_t at, int64_t array_bytes)
{
    return at >= 0 && at + site->bytes <= array_bytes;
}

static int64_t offset_of(const struct instrument_word_place *place, int64_t x, int64_t y, int64_t z)
{
    return place->first + x * place->x + y * place->y + z * place->z;
}

// Returns whether the access of every thread of a block is in the array. It is if those of the
// block's corners are.
static bool are_inside(const struct instrument_word_site *site,
                       const struct instrument_word_place *place, const uint32_t block[3],
                       int64_t array_bytes)
{
    for (uint32_t i = 0; i < 8; i++) {
        const int64_t at =
            offset_of(place, i & 1 ? (int64_t)block[0] - 1 : 0, i & 2 ? (int64_t)block[1] - 1 : 0,
                      i & 4 ? (int64_t)block[2] - 1 : 0);
        const int64_t last = place->rounds ? (place->rounds - 1) * site->step : 0;
        if (!is_inside(site, at, array_bytes) || !is_inside(site, at + last, array_bytes))
            return false;
    }
    return true;
}

uint32_t instrument_word_places(const struct instrument_kernel *kernel,
                                const struct instrument_launch *launch, uint32_t dynamic_bytes,
                                struct instrument_word_place *places)
{
    // Adding them up takes time on the host.
    const uint64_t threads = (uint64_t)launch->block[0] * launch->block[1] * launch->block[2],
                   most = UINT64_C(1) << 22;
    uint64_t steps = 0;
    for (uint32_t i = 0; i < kernel->word_site_count; i++) {
        const struct instrument_word_site *site = &kernel->word_sites[i];
        const uint32_t bytes = instrument_array_bytes(&kernel->arrays[site->array], dynamic_bytes);
        struct instrument_place place;
        uint32_t rounds;
        if (!instrument_find_place(site->form, INSTRUMENT_NONE, launch, &place) || place.varies ||
            place.stride.lane || !find_rounds(site, launch, &rounds))
            return 0;
        places[i] = (struct instrument_word_place){(int64_t)(int32_t)place.first, place.stride.x,
                                                   place.stride.y, place.stride.z, rounds};
        steps += threads * rounds;
        // Where threads count apart, those that would be outside may not execute it.
        if (!site->by_thread && !are_inside(site, &places[i], launch->block, bytes))
            return 0;
    }
    return kernel->word_site_count && steps <= most ? 1 : 0;
}

static void add_access(const struct instrument_word_site *site, uint64_t times,
                       struct instrument_word *word)
{
    word->loads += site->loads ? times : 0;
    word->stores += site->stores ? times : 0;
}

// Adds what one thread accesses, so many times in each round. Accesses outside of the array are
// counted by word 0.
static void add_rounds(const struct instrument_word_site *site, uint32_t rounds, int64_t at,
                       uint64_t times, const struct instrument_array *array, int64_t array_bytes,
                       struct instrument_word *words)
{
    for (uint32_t i = 0; i < rounds; i++, at += site->step) {
        if (!is_inside(site, at, array_bytes)) {
            add_access(site, times, &words[0]);
            continue;
        }
        for (uint32_t more = 0; more < site->bytes; more += INSTRUMENT_WORD_BYTES)
            add_access(site, times,
                       &words[array->first + (uint64_t)(at + more) / INSTRUMENT_WORD_BYTES]);
    }
}

// Returns how often the thread executed the site, in all blocks. *good becomes false if that is
// contradictory.
static uint64_t count_of(const struct instrument_word_site *site,
                         const struct instrument_word_counts *counts, uint64_t threads,
                         uint64_t thread, bool *good)
{
    const bool once = site->tally == INSTRUMENT_NONE || site->from_one;
    if (site->by_thread)
        return (once ? counts->blocks : 0) +
               counts->threads[(site->by_thread - 1) * threads + thread];
    const uint64_t all = (once ? counts->blocks * threads : 0) +
                         (site->tally == INSTRUMENT_NONE ? 0 : counts->tallies[site->tally]);
    *good &= all % threads == 0;
    return all / threads;
}

static bool add_site(const struct instrument_word_site *site,
                     const struct instrument_word_counts *counts,
                     const struct instrument_word_place *place,
                     const struct instrument_array *array, struct instrument_word *words)
{
    const int64_t array_bytes = instrument_array_bytes(array, counts->dynamic_bytes);
    const uint32_t *block = counts->block;
    const uint64_t threads = (uint64_t)block[0] * block[1] * block[2];
    bool good = true;
    for (uint64_t i = 0; i < threads && good; i++) {
        const uint64_t times = count_of(site, counts, threads, i, &good);
        if (!times)
            continue;
        const int64_t at =
            offset_of(place, (int64_t)(i % block[0]), (int64_t)(i / block[0] % block[1]),
                      (int64_t)(i / block[0] / block[1]));
        good &= place->rounds && times % place->rounds == 0;
        if (good)
            add_rounds(site, place->rounds, at, times / place->rounds, array, array_bytes, words);
    }
    return good;
}

bool instrument_add_words(const struct instrument_kernel *kernel,
                          const struct instrument_word_counts *counts,
                          struct instrument_word *words)
{
    bool good = true;
    for (uint32_t i = 0; i < kernel->word_site_count; i++) {
        const struct instrument_word_site *site = &kernel->word_sites[i];
        good &= add_site(site, counts, &counts->places[i], &kernel->arrays[site->array], words);
    }
    return good;
}
