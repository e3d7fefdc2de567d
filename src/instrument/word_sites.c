// SPDX-License-Identifier: Apache-2.0
// Accesses to shared memory whose counts follow from the launch: see word_sites.h.
//
// All threads of a block must execute such an access equally often, and a thread must access the
// same words each time. The offset of a word is then an affine form of the thread's indices, in
// which everything else is known to the launch. One tally for all threads is enough: the sum over
// blocks of how often a thread of theirs executes the access is the tally over the threads of a
// block. Probes stay in the code for launches in which such an offset would be outside of its
// array. Forms are exact modulo 2^32 even if parts of an address wrap around, and shared memory has
// no more addresses.
#include "word_sites.h"

#include "probe.h"
#include "regular.h"
#include "words.h"

// --- From the code -------------------------------------------------------------------------------

static bool is_fixed(const struct instrument_form *form)
{
    for (uint32_t i = 0; i < form->term_count; i++) {
        if (form->terms[i].of == INSTRUMENT_TERM_VARIES ||
            form->terms[i].of == INSTRUMENT_TERM_LANE)
            return false;
    }
    return true;
}

void instrument_plan_word_site(struct instrument_work *work, const struct instrument_body *body,
                               struct instrument_probe *probe, const struct ptx_linear *offset)
{
    const struct ptx_site *site = probe->site;
    const uint32_t bytes = instrument_touched_bytes(site);
    // The guard decides, too; functions may end the thread; rows of matrices have fewer addresses.
    if (site->instr->guard || body->may_exit || body->facts->cfg->irreducible ||
        site->block_deps & (uint16_t)~PTX_DEP_CTAID || site->lanes != UINT32_MAX ||
        bytes != site->bytes || probe->array == INSTRUMENT_NONE ||
        instrument_may_straddle(body, probe, bytes))
        return;
    struct instrument_form *form = base_new(work->arena, struct instrument_form);
    if (instrument_describe_form(work, body, probe, offset, form) && is_fixed(form))
        probe->offset = form;
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
        if (!probe->offset || class[block] == cfg->order[0])
            continue;
        uint32_t *tally = &tally_of[class[block]];
        if (!*tally) {
            *tally = ++body->kernel->tally_count;
            body->words_at[block] = *tally;
            body->from_one[*tally - 1] = cfg->blocks[block].loop == PTX_NO_LOOP;
        }
        probe->times = *tally - 1;
    }
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
                .form = probe->offset,
            };
    }
}

// --- In a launch ---------------------------------------------------------------------------------

// Returns whether the access of every thread of a block is in the array. It is if those of the
// block's corners are.
static bool is_inside(const struct instrument_word_place *place, const uint32_t block[3],
                      int64_t room)
{
    int64_t before = 0, behind = 0; // the first thread's
    const int64_t ends[] = {place->x * ((int64_t)block[0] - 1), place->y * ((int64_t)block[1] - 1),
                            place->z * ((int64_t)block[2] - 1)};
    for (int i = 0; i < 3; i++) {
        before += ends[i] < 0 ? ends[i] : 0;
        behind += ends[i] > 0 ? ends[i] : 0;
    }
    return place->first + before >= 0 && place->first + behind <= room;
}

uint32_t instrument_word_places(const struct instrument_kernel *kernel,
                                const struct instrument_launch *launch, uint32_t dynamic_bytes,
                                struct instrument_word_place *places)
{
    for (uint32_t i = 0; i < kernel->word_site_count; i++) {
        const struct instrument_word_site *site = &kernel->word_sites[i];
        const uint32_t bytes = instrument_array_bytes(&kernel->arrays[site->array], dynamic_bytes);
        struct instrument_place place;
        if (!instrument_find_place(site->form, INSTRUMENT_NONE, launch, &place) || place.varies ||
            place.stride.lane)
            return 0;
        places[i] = (struct instrument_word_place){(int64_t)(int32_t)place.first, place.stride.x,
                                                   place.stride.y, place.stride.z};
        if (!is_inside(&places[i], launch->block, (int64_t)bytes - site->bytes))
            return 0;
    }
    return kernel->word_site_count ? 1 : 0;
}

static void add_site(const struct instrument_word_site *site, const uint32_t block[3],
                     const struct instrument_word_place *place, uint64_t times,
                     struct instrument_word *words)
{
    for (int64_t z = 0; z < block[2]; z++) {
        for (int64_t y = 0; y < block[1]; y++) {
            int64_t at = place->first + z * place->z + y * place->y;
            for (uint32_t x = 0; x < block[0]; x++, at += place->x) {
                for (uint32_t more = 0; more < site->bytes; more += INSTRUMENT_WORD_BYTES) {
                    struct instrument_word *word = &words[(at + more) / INSTRUMENT_WORD_BYTES];
                    word->loads += site->loads ? times : 0;
                    word->stores += site->stores ? times : 0;
                }
            }
        }
    }
}

bool instrument_add_words(const struct instrument_kernel *kernel, const uint32_t block[3],
                          uint64_t blocks, const struct instrument_word_place *places,
                          const uint64_t *tallies, struct instrument_word *words)
{
    const uint64_t threads = (uint64_t)block[0] * block[1] * block[2];
    bool good = true;
    for (uint32_t i = 0; i < kernel->word_site_count; i++) {
        const struct instrument_word_site *site = &kernel->word_sites[i];
        const uint64_t all =
            (site->tally == INSTRUMENT_NONE || site->from_one ? blocks * threads : 0) +
            (site->tally == INSTRUMENT_NONE ? 0 : tallies[site->tally]);
        good &= all % threads == 0;
        if (all)
            add_site(site, block, &places[i], all / threads,
                     words + kernel->arrays[site->array].first);
    }
    return good;
}
