// SPDX-License-Identifier: Apache-2.0
// What requests of warps take in a launch, where that follows from the launch alone: probes then
// only count warps, and their counts are multiplied here.
//
// Costs depend on places: where in a line the first address of a block is, and how far lanes are
// apart. Launches of a loop mostly have the same places, so callers keep what follows from them.
#include <string.h>

#include "local.h"
#include "regular.h"

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

static const struct instrument_site *site_at(const struct instrument_kernel *kernel, uint32_t i)
{
    return i < kernel->site_count ? &kernel->sites[i] : &kernel->shared[i - kernel->site_count];
}

void instrument_find_places(const struct instrument_kernel *kernel,
                            const struct instrument_launch *launch,
                            struct instrument_site_place *places)
{
    const bool rows = instrument_are_rows(launch->block);
    for (uint32_t i = 0; i < kernel->site_count + kernel->shared_count; i++) {
        const struct instrument_site *site = site_at(kernel, i);
        struct instrument_place place;
        places[i] = (struct instrument_site_place){0};
        if (!site->form || (site->form->rows && !rows) ||
            !instrument_find_place(site->form, site->root, launch, &place))
            continue;
        places[i] = (struct instrument_site_place){
            .x = place.stride.x,
            .y = place.stride.y,
            .z = place.stride.z,
            .lane = place.stride.lane,
            .first = place.first % PTX_LINE_BYTES,
            .varies = place.varies % PTX_LINE_BYTES,
            .is_known = 1,
        };
    }
}

// Returns the request of a warp, by its number in the block.
static struct ptx_request request_of(const struct instrument_site *site,
                                     const struct instrument_site_place *place,
                                     const struct ptx_block_size *block, uint32_t warp)
{
    const struct ptx_stride stride = {place->x, place->y, place->z, place->lane};
    const uint64_t first =
        place->first + ptx_stride_distance(&stride, block, (uint64_t)warp * PTX_WARP_LANES);
    struct ptx_request request = ptx_warp_request(&stride, block, warp, first, site->bytes);
    request.loads = site->access == PTX_ACCESS_LOAD;
    return request;
}

// Finds what whole warps take. Returns false if it is unknown, or not the same for all.
static bool find_cost(const struct instrument_site *site, bool shared,
                      const struct instrument_site_place *place, const struct ptx_block_size *block,
                      struct instrument_cost *cost)
{
    const uint64_t threads = (uint64_t)block->x * block->y * block->z;
    const uint32_t unit = unit_of(site, shared);
    bool same = true;
    if (!place->is_known)
        return false;
    for (uint32_t warp = 0; warp < threads / PTX_WARP_LANES; warp++) {
        const struct ptx_request request = request_of(site, place, block, warp);
        struct instrument_cost own = cost_of(&request, shared);
        find_stride(&request, &own);
        // One address is in one sector and one line wherever it is.
        const bool is_one = own.has_stride && own.stride == 0;
        same &= (is_one || place->varies % unit == 0) &&
                (!warp || (own.taken == cost->taken && own.needed == cost->needed &&
                           own.lines == cost->lines));
        own.has_stride &= !warp || (cost->has_stride && cost->stride == own.stride);
        *cost = own;
    }
    return same;
}

void instrument_whole_costs(const struct instrument_kernel *kernel, const uint32_t block[3],
                            const struct instrument_site_place *places,
                            struct instrument_cost *costs, bool whole[2])
{
    const struct ptx_block_size size = {block[0], block[1], block[2]};
    whole[0] = whole[1] = true;
    for (uint32_t i = 0; i < kernel->site_count + kernel->shared_count; i++) {
        const bool shared = i >= kernel->site_count;
        const struct instrument_site *site = site_at(kernel, i);
        costs[i] = site->local ? instrument_local_cost(site->bytes) : (struct instrument_cost){0};
        whole[shared] &=
            !site->form || site->local || find_cost(site, shared, &places[i], &size, &costs[i]);
    }
}

void instrument_set_whole(const uint32_t block[3], const bool whole[2],
                          struct instrument_context *context)
{
    for (int i = 0; i < 2; i++)
        context->whole[i] = whole[i] ? UINT32_MAX : 0;
    context->dense = instrument_are_rows(block) ? UINT32_MAX : 0;
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

bool instrument_is_regular(const struct instrument_kernel *kernel, const uint32_t block[3],
                           const struct instrument_site_place *places)
{
    const struct ptx_block_size size = {block[0], block[1], block[2]};
    const uint64_t threads = (uint64_t)size.x * size.y * size.z;
    for (uint32_t i = 0; i < kernel->site_count + kernel->shared_count; i++) {
        const struct instrument_site *site = site_at(kernel, i);
        const struct instrument_site_place *place = &places[i];
        const struct ptx_stride stride = {place->x, place->y, place->z, place->lane};
        const uint32_t unit = unit_of(site, i >= kernel->site_count);
        if (site->masked && (!place->is_known || ((place->varies % unit ||
                                                   !has_places(&stride, &size, threads, unit)) &&
                                                  !is_one_address(&stride, &size, threads))))
            return false;
    }
    return true;
}

// Returns what a request by these lanes of a warp of that place takes.
static struct instrument_cost cost_at(const struct instrument_site *site, bool shared,
                                      const struct instrument_site_place *at,
                                      const struct ptx_block_size *block, uint32_t place,
                                      uint32_t lanes)
{
    struct ptx_request request = request_of(site, at, block, place);
    request.lanes = lanes;
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
