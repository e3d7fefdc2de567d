// SPDX-License-Identifier: Apache-2.0
// Requests of warps: see warps.h.
#include "warps.h"

#include <string.h>

// --- Requests ------------------------------------------------------------------------------------

static uint32_t lane_count(const struct ptx_request *request)
{
    return (uint32_t)__builtin_popcount(request->lanes);
}

static uint32_t divide_up(uint32_t number, uint32_t by)
{
    return (number + by - 1) / by;
}

// Counts the units of so many bytes that the request is in. A lane is in one of them.
static uint32_t count_units(const struct ptx_request *request, uint32_t unit)
{
    uint64_t found[PTX_WARP_LANES];
    uint32_t count = 0;
    for (uint32_t left = request->lanes; left; left &= left - 1) {
        found[count] = request->addresses[__builtin_ctz(left)] / unit;
        uint32_t i = 0;
        while (found[i] != found[count])
            i++;
        count += i == count;
    }
    return count;
}

struct ptx_traffic ptx_request_traffic(const struct ptx_request *request)
{
    const uint32_t least = divide_up(lane_count(request) * request->bytes, PTX_SECTOR_BYTES);
    struct ptx_traffic traffic = {
        .sectors = count_units(request, PTX_SECTOR_BYTES),
        .lines = count_units(request, PTX_LINE_BYTES),
    };
    traffic.least_sectors = least < traffic.sectors ? least : traffic.sectors;
    return traffic;
}

// The different words that some lanes need of each bank.
struct banks {
    uint32_t count[PTX_BANKS];
    uint64_t words[PTX_BANKS][PTX_WARP_LANES];
};

static void add_word(struct banks *banks, uint64_t word)
{
    const uint32_t bank = word % PTX_BANKS;
    for (uint32_t i = 0; i < banks->count[bank]; i++) {
        if (banks->words[bank][i] == word)
            return;
    }
    banks->words[bank][banks->count[bank]++] = word;
}

// Counts the wavefronts of some lanes that are served together, and notes the words of a bank that
// has more than any before.
static uint32_t count_wavefronts(const struct ptx_request *request, uint32_t lanes,
                                 struct ptx_wavefronts *result)
{
    struct banks banks;
    uint32_t most = 0;
    memset(banks.count, 0, sizeof(banks.count)); // words are only valid as far as they are counted
    for (uint32_t left = request->lanes & lanes; left; left &= left - 1) {
        const uint64_t address = request->addresses[__builtin_ctz(left)];
        const uint64_t last = (address + request->bytes - 1) / PTX_BANK_BYTES;
        for (uint64_t word = address / PTX_BANK_BYTES; word <= last; word++)
            add_word(&banks, word);
    }
    for (uint32_t i = 0; i < PTX_BANKS; i++) {
        most = banks.count[i] > most ? banks.count[i] : most;
        if (banks.count[i] <= result->word_count)
            continue;
        result->word_count = banks.count[i];
        memcpy(result->words, banks.words[i], banks.count[i] * sizeof(result->words[0]));
    }
    return most;
}

// Returns whether each of these lanes has the address of the lane whose number differs in that bit,
// if that one takes part.
static bool is_in_pairs(const struct ptx_request *request, uint32_t lanes, uint32_t bit)
{
    lanes &= request->lanes;
    for (uint32_t left = lanes; left; left &= left - 1) {
        const uint32_t lane = (uint32_t)__builtin_ctz(left), other = lane ^ bit;
        if (lanes >> other & 1 && request->addresses[lane] != request->addresses[other])
            return false;
    }
    return true;
}

struct ptx_wavefronts ptx_request_wavefronts(const struct ptx_request *request)
{
    const uint32_t least = divide_up(lane_count(request) * request->bytes, PTX_WAVEFRONT_BYTES);
    const uint32_t parts = request->bytes > PTX_BANK_BYTES ? request->bytes / PTX_BANK_BYTES : 1;
    const uint32_t width = PTX_WARP_LANES / parts;
    struct ptx_wavefronts result = {0};
    for (uint32_t i = 0; i < parts; i++) {
        uint32_t lanes = (UINT32_MAX >> (PTX_WARP_LANES - width)) << i * width;
        const uint32_t both = i + 1 < parts && i % 2 == 0 ? lanes | lanes << width : lanes;
        if (request->loads && both != lanes &&
            (is_in_pairs(request, both, 1) || is_in_pairs(request, both, 2)) &&
            count_wavefronts(request, both, &(struct ptx_wavefronts){0}) <= 1) {
            lanes = both;
            i++;
        }
        result.count += count_wavefronts(request, lanes, &result);
    }
    result.least = least < result.count ? least : result.count;
    return result;
}

// --- Sites ---------------------------------------------------------------------------------------

static bool is_known(const struct ptx_block_size *block)
{
    return block->x != 0;
}

// Returns whether threads of one warp may differ in that component of tid.
static bool differs(const struct ptx_block_size *block, uint8_t component)
{
    const uint64_t row = block->x, plane = row * block->y;
    if (!is_known(block))
        return component == 0;
    switch (component) {
    case 0: return block->x > 1;
    case 1: return block->y > 1 && row % PTX_WARP_LANES;
    default: return block->z > 1 && plane % PTX_WARP_LANES;
    }
}

// What a symbol is for the lanes of a warp that execute the site.
enum what { SAME, NUMBER, THREAD, UNKNOWN };

// Returns dependences that may make a value differ between lanes of one warp. Lanes that read
// memory at different times may read different values.
static unsigned differing_deps(const struct ptx_block_size *block)
{
    unsigned deps = PTX_DEP_ANY_LANE | PTX_DEP_MEMORY | PTX_DEP_BLOCK;
    deps &= ~(differs(block, 1) ? 0u : (unsigned)PTX_DEP_TID_Y);
    return deps & ~(differs(block, 2) ? 0u : (unsigned)PTX_DEP_TID_Z);
}

static enum what what_is(const struct ptx_facts *facts, const struct ptx_site *site,
                         const struct ptx_symbol *symbol, const struct ptx_block_size *block)
{
    switch (symbol->kind) {
    case PTX_SYMBOL_TID: return differs(block, symbol->component) ? THREAD : SAME;
    case PTX_SYMBOL_LANEID: return THREAD;
    case PTX_SYMBOL_NTID: return is_known(block) ? NUMBER : SAME;
    case PTX_SYMBOL_COUNTER:
        return ptx_loop_contains(facts->cfg, symbol->index, site->block) ? SAME : UNKNOWN;
    case PTX_SYMBOL_VALUE:
        return ptx_value_deps(facts->uniformity, symbol->index, site->block) & differing_deps(block)
                   ? UNKNOWN
                   : SAME;
    default: return SAME;
    }
}

static int64_t size_in(const struct ptx_block_size *block, uint8_t component)
{
    return component == 0 ? block->x : component == 1 ? block->y : block->z;
}

static int64_t *part_of(struct ptx_stride *stride, const struct ptx_symbol *symbol)
{
    if (symbol->kind == PTX_SYMBOL_LANEID)
        return &stride->lane;
    return symbol->component == 0 ? &stride->x : symbol->component == 1 ? &stride->y : &stride->z;
}

// Adds what a term contributes. A term without an index of the thread contributes nothing.
static bool add_term(const struct ptx_facts *facts, const struct ptx_site *site,
                     const struct ptx_term *term, const struct ptx_block_size *block,
                     struct ptx_stride *stride)
{
    const struct ptx_symbol *thread = NULL;
    int64_t factor = term->coefficient;
    bool is_number = true;
    for (uint8_t i = 0; i < term->symbol_count; i++) {
        const struct ptx_symbol *symbol = &facts->affine->symbols[term->symbols[i]];
        const enum what what = what_is(facts, site, symbol, block);
        if (what == UNKNOWN || (what == THREAD && thread))
            return false;
        if (what == THREAD)
            thread = symbol;
        is_number &= what != SAME;
        // NOLINTNEXTLINE(*NullDereference): counted items exist
        const int64_t size = what == NUMBER ? size_in(block, symbol->component) : 1;
        if (__builtin_mul_overflow(factor, size, &factor))
            return false;
    }
    if (!thread)
        return true;
    int64_t *part = part_of(stride, thread);
    return is_number && !__builtin_add_overflow(*part, factor, part);
}

bool ptx_site_stride(const struct ptx_facts *facts, const struct ptx_site *site,
                     const struct ptx_block_size *block, struct ptx_stride *stride)
{
    *stride = (struct ptx_stride){0};
    for (uint16_t i = 0; i < site->form.term_count; i++) {
        if (!add_term(facts, site, &site->form.terms[i], block, stride))
            return false;
    }
    return true;
}

bool ptx_site_is_even(const struct ptx_facts *facts, const struct ptx_site *site,
                      const struct ptx_block_size *block)
{
    for (uint16_t i = 0; i < site->form.term_count; i++) {
        const struct ptx_term *term = &site->form.terms[i];
        for (uint8_t k = 0; k < term->symbol_count; k++) {
            if (what_is(facts, site, &facts->affine->symbols[term->symbols[k]], block) == UNKNOWN)
                return false;
        }
    }
    return true;
}

uint64_t ptx_stride_distance(const struct ptx_stride *stride, const struct ptx_block_size *block,
                             uint64_t thread)
{
    const uint64_t x = thread % block->x, rest = thread / block->x;
    return (uint64_t)stride->x * x + (uint64_t)stride->y * (rest % block->y) +
           (uint64_t)stride->z * (rest / block->y) +
           (uint64_t)stride->lane * (thread % PTX_WARP_LANES);
}

struct ptx_request ptx_warp_request(const struct ptx_stride *stride,
                                    const struct ptx_block_size *block, uint32_t warp,
                                    uint64_t first, uint32_t bytes)
{
    static const struct ptx_block_size row = {PTX_WARP_LANES, 1, 1};
    struct ptx_request request = {.bytes = bytes, .loads = true};
    if (!is_known(block))
        block = &row;
    const uint64_t threads = (uint64_t)block->x * block->y * block->z;
    const uint64_t start = (uint64_t)warp * PTX_WARP_LANES;
    const uint64_t next_row = (uint64_t)stride->y - (uint64_t)stride->x * block->x,
                   next_plane = (uint64_t)stride->z - (uint64_t)stride->y * block->y;
    uint64_t x = start % block->x, y = start / block->x % block->y, address = first;
    for (uint32_t i = 0; i < PTX_WARP_LANES && start + i < threads; i++) {
        request.lanes |= 1u << i;
        request.addresses[i] = address;
        address += (uint64_t)stride->x + (uint64_t)stride->lane;
        if (++x < block->x)
            continue;
        x = 0;
        address += next_row;
        if (++y == block->y) {
            y = 0;
            address += next_plane;
        }
    }
    return request;
}

static void widen(struct ptx_range *range, uint32_t number)
{
    range->from = number < range->from ? number : range->from;
    range->to = number > range->to ? number : range->to;
}

// Returns how far the words of one bank are from each other; 0: there is one, or distances differ.
static int64_t words_apart(const struct ptx_wavefronts *wavefronts)
{
    const uint64_t *words = wavefronts->words;
    int64_t apart = 0;
    for (uint32_t i = 1; i < wavefronts->word_count; i++) {
        // Words below address 0 have the numbers below 2^62.
        const int64_t distance = (int64_t)((words[i] - words[i - 1]) << 2) / 4;
        if (i > 1 && distance != apart)
            return 0;
        apart = distance;
    }
    return apart < 0 ? -apart : apart;
}

bool ptx_site_costs(const struct ptx_facts *facts, const struct ptx_site *site,
                    const struct ptx_block_size *block, struct ptx_site_costs *costs)
{
    struct ptx_stride stride;
    const uint64_t threads = (uint64_t)block->x * block->y * block->z;
    const uint64_t warps = threads < PTX_WARP_LANES ? 1 : threads / PTX_WARP_LANES;
    *costs = (struct ptx_site_costs){.shared = site->actual_space == PTX_SPACE_SHARED,
                                     .count = {UINT32_MAX, 0},
                                     .least = {UINT32_MAX, 0}};
    if (!site->bytes || site->bytes & (site->bytes - 1) || site->bytes > PTX_SECTOR_BYTES ||
        !site->lanes ||
        (!ptx_site_stride(facts, site, block, &stride) && site->kind != PTX_SITE_UNIFORM))
        return false;
    if (site->kind == PTX_SITE_UNIFORM)
        stride = (struct ptx_stride){0};
    for (uint64_t warp = 0; warp < warps; warp++) {
        for (uint64_t first = 0; first < PTX_LINE_BYTES; first += site->bytes) {
            struct ptx_request request =
                ptx_warp_request(&stride, block, (uint32_t)warp, first, site->bytes);
            request.loads = site->access == PTX_ACCESS_LOAD;
            request.lanes &= site->lanes;
            if (costs->shared) {
                const struct ptx_wavefronts wavefronts = ptx_request_wavefronts(&request);
                widen(&costs->count, wavefronts.count);
                widen(&costs->least, wavefronts.least);
                if (warp == 0 && first == 0)
                    costs->words_apart = words_apart(&wavefronts);
            } else {
                const struct ptx_traffic traffic = ptx_request_traffic(&request);
                widen(&costs->count, traffic.sectors);
                widen(&costs->least, traffic.least_sectors);
            }
        }
    }
    if (costs->count.from <= costs->least.to)
        costs->words_apart = 0;
    return true;
}
