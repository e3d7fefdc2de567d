// SPDX-License-Identifier: Apache-2.0
// Requests of whole warps whose cost follows from the launch alone: their probes only count warps.
//
// The address of such an instruction is an affine form in which the thread's indices have factors
// that the launch knows. If everything else in the form moves the address by whole lines, all whole
// warps take the same sectors; where it is moved by anything, they take the same wavefronts.
//
// Forms hold if 32-bit parts of addresses do not wrap around. A warp in which they did would reach
// addresses at least 4 GiB apart.
#include "regular.h"

#include <string.h>

#include "lanes.h"
#include "local.h"
#include "plan.h"

// --- From the code -------------------------------------------------------------------------------

// Returns how many bytes of the parameter are loaded there, or 0 if loads disagree.
static uint32_t loaded_bytes(const struct instrument_body *body, const struct ptx_symbol *symbol)
{
    const struct ptx_cfg *cfg = body->facts->cfg;
    uint32_t bytes = 0;
    for (uint32_t i = 0; i < cfg->block_count; i++) {
        for (uint32_t k = 0; k < cfg->blocks[i].instr_count; k++) {
            const struct ptx_instr *instr = cfg->blocks[i].instrs[k];
            if (ptx_op(instr) != PTX_OP_LD || instr->form->space != PTX_SPACE_PARAM)
                continue;
            const struct ptx_operand *address = &instr->operands[1];
            if (address->kind != PTX_OPERAND_ADDRESS ||
                address->elements[0].kind != PTX_OPERAND_VAR ||
                address->elements[0].var->index != symbol->index ||
                address->offset != symbol->offset)
                continue;
            const uint32_t own = instr->operands[0].kind == PTX_OPERAND_REG
                                     ? ptx_type_bytes((enum ptx_type)instr->form->types[0])
                                     : 0;
            if (!own || (bytes && bytes != own))
                return 0;
            bytes = own;
        }
    }
    return bytes;
}

// Adds a factor that the launch knows. Returns false if it does not.
static bool add_factor(const struct instrument_body *body, const struct instrument_probe *probe,
                       const struct ptx_symbol *symbol, struct instrument_form_term *term)
{
    struct instrument_factor *factor = &term->factors[term->factor_count];
    *factor = (struct instrument_factor){.component = symbol->component};
    switch (symbol->kind) {
    case PTX_SYMBOL_NTID: factor->kind = INSTRUMENT_FACTOR_NTID; break;
    case PTX_SYMBOL_NCTAID: factor->kind = INSTRUMENT_FACTOR_NCTAID; break;
    case PTX_SYMBOL_PARAM:
        factor->kind = INSTRUMENT_FACTOR_PARAM;
        factor->offset = instrument_param_offset(body->function, symbol->index) + symbol->offset;
        factor->bytes = (uint8_t)loaded_bytes(body, symbol);
        if (factor->bytes != 4 && factor->bytes != 8)
            return false;
        break;
    case PTX_SYMBOL_VAR:
        // Moving all addresses of shared memory by words moves them to other banks, but no closer.
        if (probe->site->actual_space == PTX_SPACE_SHARED) {
            term->of = INSTRUMENT_TERM_VARIES;
            term->coefficient *= symbol->var->align >= PTX_BANK_BYTES ? PTX_BANK_BYTES : 1;
            return true;
        }
        if (probe->root == INSTRUMENT_NONE ||
            body->kernel->roots[probe->root].kind != INSTRUMENT_ROOT_VARIABLE)
            return false;
        factor->kind = INSTRUMENT_FACTOR_ROOT;
        break;
    default: return false;
    }
    term->factor_count++;
    return true;
}

static bool add_symbol(const struct instrument_body *body, const struct instrument_probe *probe,
                       const struct ptx_symbol *symbol, struct instrument_form_term *term)
{
    switch (symbol->kind) {
    case PTX_SYMBOL_TID:
    case PTX_SYMBOL_LANEID:
        if (term->of != INSTRUMENT_TERM_FIXED)
            return false;
        term->of = symbol->kind == PTX_SYMBOL_LANEID
                       ? INSTRUMENT_TERM_LANE
                       : (uint8_t)(INSTRUMENT_TERM_X + symbol->component);
        return true;
    case PTX_SYMBOL_CTAID:
    case PTX_SYMBOL_COUNTER:
    case PTX_SYMBOL_VALUE:
        if (term->of != INSTRUMENT_TERM_FIXED && term->of != INSTRUMENT_TERM_VARIES)
            return false;
        term->of = INSTRUMENT_TERM_VARIES;
        return true;
    default: return add_factor(body, probe, symbol, term);
    }
}

static bool add_term(const struct instrument_body *body, const struct instrument_probe *probe,
                     const struct ptx_term *from, struct instrument_form *form)
{
    struct instrument_form_term *term = &form->terms[form->term_count++];
    *term = (struct instrument_form_term){.coefficient = from->coefficient};
    for (uint8_t i = 0; i < from->symbol_count; i++) {
        if (!add_symbol(body, probe, &body->facts->affine->symbols[from->symbols[i]], term))
            return false;
    }
    return true;
}

bool instrument_describe_form(struct instrument_work *work, const struct instrument_body *body,
                              const struct instrument_probe *probe, const struct ptx_linear *from,
                              struct instrument_form *form)
{
    form->constant = from->constant;
    form->terms = base_new_array(work->arena, struct instrument_form_term, from->term_count);
    for (uint16_t i = 0; i < from->term_count; i++) {
        if (!add_term(body, probe, &from->terms[i], form))
            return false;
    }
    return true;
}

struct instrument_form *instrument_form_of(struct instrument_work *work,
                                           const struct instrument_body *body,
                                           const struct instrument_probe *probe)
{
    static const struct ptx_block_size row, any = {3, 3, 3};
    const struct ptx_site *site = probe->site;
    if (instrument_lanes_may_meet(body->facts, site))
        return NULL;
    struct instrument_form *form = base_new(work->arena, struct instrument_form);
    if (!(site->deps & (PTX_DEP_ANY_LANE | PTX_DEP_MEMORY | PTX_DEP_BLOCK)))
        return form; // all lanes have one address
    if (!instrument_describe_form(work, body, probe, &site->form, form))
        return NULL;
    form->rows = !ptx_site_is_even(body->facts, site, &any);
    return ptx_site_is_even(body->facts, site, &row) ? form : NULL;
}

// --- In a launch ---------------------------------------------------------------------------------

static uint64_t value_of(const struct instrument_factor *factor,
                         const struct instrument_launch *launch, uint32_t root)
{
    switch (factor->kind) {
    case INSTRUMENT_FACTOR_NTID: return launch->block[factor->component];
    case INSTRUMENT_FACTOR_NCTAID: return launch->grid[factor->component];
    case INSTRUMENT_FACTOR_ROOT: return launch->roots[root];
    default: break;
    }
    uint64_t wide = 0;
    int32_t narrow;
    if (factor->bytes == 8) {
        memcpy(&wide, launch->params + factor->offset, sizeof(wide));
        return wide;
    }
    memcpy(&narrow, launch->params + factor->offset, sizeof(narrow));
    return (uint64_t)(int64_t)narrow;
}

bool instrument_find_place(const struct instrument_form *form, uint32_t root,
                           const struct instrument_launch *launch, struct instrument_place *place)
{
    // Less than 4 GiB between the lanes of a warp.
    enum { MOST_STRIDE = 1 << 25 };
    *place = (struct instrument_place){.first = (uint64_t)form->constant};
    for (uint32_t i = 0; i < form->term_count; i++) {
        const struct instrument_form_term *term = &form->terms[i];
        uint64_t value = (uint64_t)term->coefficient;
        for (uint32_t k = 0; k < term->factor_count; k++)
            value *= value_of(&term->factors[k], launch, root);
        switch (term->of) {
        case INSTRUMENT_TERM_FIXED: place->first += value; break;
        case INSTRUMENT_TERM_VARIES: place->varies |= value; break;
        case INSTRUMENT_TERM_X: place->stride.x += (int64_t)value; break;
        case INSTRUMENT_TERM_Y: place->stride.y += (int64_t)value; break;
        case INSTRUMENT_TERM_Z: place->stride.z += (int64_t)value; break;
        default: place->stride.lane += (int64_t)value; break;
        }
    }
    const int64_t parts[] = {place->stride.x, place->stride.y, place->stride.z, place->stride.lane};
    for (int i = 0; i < 4; i++) {
        if (parts[i] >= MOST_STRIDE || parts[i] <= -MOST_STRIDE)
            return false;
    }
    return true;
}

static struct instrument_cost cost_of(const struct ptx_request *request, bool shared)
{
    if (shared) {
        const struct ptx_wavefronts wavefronts = ptx_request_wavefronts(request);
        return (struct instrument_cost){.taken = wavefronts.count, .needed = wavefronts.least};
    }
    const struct ptx_traffic traffic = ptx_request_traffic(request);
    return (struct instrument_cost){
        .taken = traffic.sectors, .needed = traffic.least_sectors, .lines = traffic.lines};
}

// Sets the distance between neighbouring lanes if it is the same for all.
static void find_stride(const struct ptx_request *request, struct instrument_cost *cost)
{
    cost->has_stride = true;
    cost->stride = (int64_t)(request->addresses[1] - request->addresses[0]);
    for (uint32_t i = 2; i < PTX_WARP_LANES; i++)
        cost->has_stride &=
            request->addresses[i] - request->addresses[i - 1] == (uint64_t)cost->stride;
}

// By how many bytes addresses can be moved so that requests take the same.
static uint32_t unit_of(const struct instrument_site *site, bool shared)
{
    // Accesses are aligned, so that nothing moves those of words by less.
    return !shared ? PTX_LINE_BYTES : site->bytes < PTX_BANK_BYTES ? PTX_BANK_BYTES : 1;
}

// Finds what whole warps take. Returns false if it is unknown, or not the same for all.
static bool find_cost(const struct instrument_site *site, bool shared,
                      const struct instrument_launch *launch, struct instrument_cost *cost)
{
    const struct ptx_block_size block = {launch->block[0], launch->block[1], launch->block[2]};
    const uint64_t threads = (uint64_t)block.x * block.y * block.z;
    const uint32_t unit = unit_of(site, shared);
    struct instrument_place place;
    bool same = true;
    if ((site->form->rows && !instrument_are_rows(launch->block)) ||
        !instrument_find_place(site->form, site->root, launch, &place))
        return false;
    for (uint32_t warp = 0; warp < threads / PTX_WARP_LANES; warp++) {
        const uint64_t thread = (uint64_t)warp * PTX_WARP_LANES;
        const uint64_t first = place.first + ptx_stride_distance(&place.stride, &block, thread);
        struct ptx_request request =
            ptx_warp_request(&place.stride, &block, warp, first, site->bytes);
        request.loads = site->access == PTX_ACCESS_LOAD;
        struct instrument_cost own = cost_of(&request, shared);
        find_stride(&request, &own);
        // One address is in one sector and one line wherever it is.
        const bool is_one = own.has_stride && own.stride == 0;
        same &= (is_one || place.varies % unit == 0) &&
                (!warp || (own.taken == cost->taken && own.needed == cost->needed &&
                           own.lines == cost->lines));
        own.has_stride &= !warp || (cost->has_stride && cost->stride == own.stride);
        *cost = own;
    }
    return same;
}

void instrument_whole_costs(const struct instrument_kernel *kernel,
                            const struct instrument_launch *launch, struct instrument_cost *costs,
                            struct instrument_context *context)
{
    bool same[2] = {true, true};
    for (uint32_t i = 0; i < kernel->site_count + kernel->shared_count; i++) {
        const bool shared = i >= kernel->site_count;
        const struct instrument_site *site =
            shared ? &kernel->shared[i - kernel->site_count] : &kernel->sites[i];
        costs[i] = site->local ? instrument_local_cost(site->bytes) : (struct instrument_cost){0};
        same[shared] &= !site->form || site->local || find_cost(site, shared, launch, &costs[i]);
    }
    for (int i = 0; i < 2; i++)
        context->whole[i] = same[i] ? UINT32_MAX : 0;
    context->dense = instrument_are_rows(launch->block) ? UINT32_MAX : 0;
}

static uint32_t divide_up(uint32_t number, uint32_t by)
{
    return (number + by - 1) / by;
}

// Adds requests of warps, of which each takes so much.
static void add_warps(uint64_t warps, const struct instrument_cost *cost, uint64_t *sums)
{
    sums[INSTRUMENT_REQUEST_COUNT] += warps;
    sums[INSTRUMENT_REQUEST_SECTORS] += warps * cost->taken;
    sums[INSTRUMENT_REQUEST_NEEDED] += warps * cost->needed;
    sums[INSTRUMENT_REQUEST_LINES] += warps * cost->lines;
}

void instrument_sum_requests(const struct instrument_site *site, bool shared,
                             const uint64_t *tallies, uint64_t threads,
                             enum instrument_counted counted, const struct instrument_cost *cost,
                             uint64_t sums[INSTRUMENT_REQUEST_TALLIES])
{
    memset(sums, 0, sizeof(sums[0]) * INSTRUMENT_REQUEST_TALLIES);
    if (site->requests == INSTRUMENT_NONE)
        return;
    memcpy(sums, tallies + site->requests,
           sizeof(sums[0]) *
               (shared && !site->local ? INSTRUMENT_SHARED_TALLIES : INSTRUMENT_REQUEST_TALLIES));
    if (counted == INSTRUMENT_ONE_BY_ONE || site->whole == INSTRUMENT_NONE)
        return;
    const uint64_t warps =
        (tallies[site->whole] + (site->whole_from_one ? threads : 0)) / PTX_WARP_LANES;
    // Each warp may add one sector and one line; more warps could overflow the halves of the tally.
    if (counted == INSTRUMENT_DENSE && site->excess != INSTRUMENT_NONE && warps > UINT32_MAX) {
        memset(sums, 0, sizeof(sums[0]) * INSTRUMENT_REQUEST_TALLIES);
        return;
    }
    if (counted == INSTRUMENT_WHOLE) {
        add_warps(warps, cost, sums);
    } else if (site->excess != INSTRUMENT_NONE) {
        const struct instrument_cost least = {
            .taken = divide_up(site->span, PTX_SECTOR_BYTES),
            .needed = divide_up(site->bytes * PTX_WARP_LANES, PTX_SECTOR_BYTES),
            .lines = divide_up(site->span, PTX_LINE_BYTES)};
        add_warps(warps, &least, sums);
        sums[INSTRUMENT_REQUEST_SECTORS] += (uint32_t)tallies[site->excess];
        sums[INSTRUMENT_REQUEST_LINES] += tallies[site->excess] >> 32;
    }
}

// --- In a regular launch -------------------------------------------------------------------------

// Returns whether all lanes of each warp have one address, which takes the same wherever it is.
static bool is_one_address(const struct ptx_stride *stride, const struct ptx_block_size *block,
                           uint64_t threads)
{
    for (uint64_t i = 1; i < threads; i++) {
        if (i % PTX_WARP_LANES &&
            ptx_stride_distance(stride, block, i) != ptx_stride_distance(stride, block, i - 1))
            return false;
    }
    return true;
}

// Returns whether warps of one place have the same addresses but for a multiple of the unit.
static bool has_places(const struct ptx_stride *stride, const struct ptx_block_size *block,
                       uint64_t threads, uint32_t unit)
{
    const uint64_t apart = INSTRUMENT_PLACES * PTX_WARP_LANES;
    uint64_t moved = 0;
    for (uint64_t i = apart; i < threads; i++) {
        const uint64_t by =
            ptx_stride_distance(stride, block, i) - ptx_stride_distance(stride, block, i - apart);
        if (by % unit || (i % PTX_WARP_LANES && by != moved))
            return false;
        moved = by;
    }
    return true;
}

bool instrument_find_places(const struct instrument_kernel *kernel,
                            const struct instrument_launch *launch,
                            struct instrument_site_place *places)
{
    const struct ptx_block_size block = {launch->block[0], launch->block[1], launch->block[2]};
    const uint64_t threads = (uint64_t)block.x * block.y * block.z;
    for (uint32_t i = 0; i < kernel->site_count + kernel->shared_count; i++) {
        const bool shared = i >= kernel->site_count;
        const struct instrument_site *site =
            shared ? &kernel->shared[i - kernel->site_count] : &kernel->sites[i];
        struct instrument_place place;
        if (!site->masked)
            continue;
        if ((site->form->rows && !instrument_are_rows(launch->block)) ||
            !instrument_find_place(site->form, site->root, launch, &place))
            return false;
        const struct ptx_stride *stride = &place.stride;
        const uint32_t unit = unit_of(site, shared);
        if ((place.varies % unit || !has_places(stride, &block, threads, unit)) &&
            !is_one_address(stride, &block, threads))
            return false;
        places[i] = (struct instrument_site_place){place.first, stride->x, stride->y, stride->z,
                                                   stride->lane};
    }
    return true;
}

// Returns what a request by these lanes of a warp of that place takes.
static struct instrument_cost cost_at(const struct instrument_site *site, bool shared,
                                      const struct instrument_site_place *at,
                                      const struct ptx_block_size *block, uint32_t place,
                                      uint32_t lanes)
{
    const struct ptx_stride stride = {at->x, at->y, at->z, at->lane};
    const uint64_t first =
        at->first + ptx_stride_distance(&stride, block, (uint64_t)place * PTX_WARP_LANES);
    struct ptx_request request = ptx_warp_request(&stride, block, place, first, site->bytes);
    request.lanes = lanes;
    request.loads = site->access == PTX_ACCESS_LOAD;
    return cost_of(&request, shared);
}

void instrument_sum_masked(const struct instrument_site *site, bool shared,
                           const struct instrument_site_place *place, const uint32_t block[3],
                           uint64_t blocks, const uint64_t (*tallies)[INSTRUMENT_PLACES],
                           const struct instrument_mask *masks, uint32_t count,
                           uint64_t sums[INSTRUMENT_REQUEST_TALLIES])
{
    const struct ptx_block_size size = {block[0], block[1], block[2]};
    const uint64_t threads = (uint64_t)size.x * size.y * size.z;
    memset(sums, 0, sizeof(sums[0]) * INSTRUMENT_REQUEST_TALLIES);
    for (uint32_t i = 0; i < INSTRUMENT_PLACES; i++) {
        uint64_t made = tallies[site->masked - 1][i];
        for (uint64_t from = i * PTX_WARP_LANES; site->whole_from_one && from < threads;
             from += INSTRUMENT_PLACES * PTX_WARP_LANES)
            made += blocks * (threads - from < PTX_WARP_LANES ? threads - from : PTX_WARP_LANES);
        if (made < PTX_WARP_LANES)
            continue;
        const struct instrument_cost cost = cost_at(site, shared, place, &size, i, UINT32_MAX);
        add_warps(made / PTX_WARP_LANES, &cost, sums);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (masks[i].key / INSTRUMENT_PLACES != site->whole + 1)
            continue;
        const struct instrument_cost cost =
            cost_at(site, shared, place, &size, masks[i].key % INSTRUMENT_PLACES, masks[i].lanes);
        add_warps(masks[i].count, &cost, sums);
    }
}
