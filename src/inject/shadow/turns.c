// SPDX-License-Identifier: Apache-2.0
// Which launches are traced: see turns.h.
//
// Tracing is slow, and most launches of a kernel do alike. So ever fewer of each shape are traced:
// those whose number is a power of two. What the caches hold when such a launch begins depends on
// the one before it, which is therefore traced, too, if lines are.
#include "turns.h"

#include "memory.h"
#include "model.h"

static bool is_power_of_two(uint64_t number)
{
    return number && (number & (number - 1)) == 0;
}

bool shadow_take_turn(const struct shadow_launch *launch)
{
    struct shadow *shadow;
    const bool shared = launch->facts & INSTRUMENT_SHARED &&
                        (launch->kernel->looks || launch->kernel->range_site_count);
    const bool cache = launch->facts & INSTRUMENT_CACHE && launch->kernel->traces;
    if ((!shared && !cache) || !(shadow = shadow_of(launch->stream->context)))
        return false;
    const uint32_t shape[] = {launch->kernel_number, launch->grid[0],      launch->grid[1],
                              launch->grid[2],       launch->block[0],     launch->block[1],
                              launch->block[2],      launch->dynamic_bytes};
    util_mutex_lock(&shadow->lock, RANK_SHADOW);
    // Two shapes with one hash take turns together.
    uint64_t *count = base_map_put(&shadow->shapes, base_hash(shape, sizeof(shape)), NULL);
    const uint64_t number = count ? ++*count : 0;
    util_mutex_unlock(&shadow->lock, RANK_SHADOW);
    return is_power_of_two(number) || (cache && number && is_power_of_two(number + 1));
}
