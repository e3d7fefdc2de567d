// SPDX-License-Identifier: Apache-2.0
// What launches have in common: see shapes.h. Finding costs takes up to milliseconds, for many
// sites and large blocks; finding places and comparing them takes microseconds.
#include "shapes.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"

static uint32_t count_sites(const struct instrument_kernel *kernel)
{
    return kernel->site_count + kernel->shared_count;
}

static bool is_same(const struct shadow_shape *a, const struct shadow_shape *b, uint32_t count)
{
    return memcmp(a->block, b->block, sizeof(a->block)) == 0 &&
           memcmp(a->places, b->places, count * sizeof(a->places[0])) == 0;
}

// Returns a shape in which only the block and places are found; NULL: memory ran out.
static struct shadow_shape *make(const struct instrument_kernel *kernel,
                                 const struct instrument_launch *says)
{
    const size_t count = count_sites(kernel);
    const size_t places =
        sizeof(struct shadow_shape) + count * sizeof(struct instrument_site_place);
    struct shadow_shape *shape = calloc(1, places + count * sizeof(struct instrument_cost));
    if (!shape)
        return NULL;
    shape->holders = 1;
    shape->costs = (struct instrument_cost *)&shape->places[count];
    memcpy(shape->block, says->block, sizeof(shape->block));
    instrument_find_places(kernel, says, shape->places);
    return shape;
}

struct shadow_shape *shadow_shape_take(struct shadow *shadow, const struct shadow_launch *launch,
                                       const struct instrument_launch *says)
{
    const struct instrument_kernel *kernel = launch->kernel;
    struct shadow_shape *shape = count_sites(kernel) ? make(kernel, says) : NULL;
    if (!shape)
        return NULL;
    util_mutex_lock(&shadow->lock, RANK_SHADOW);
    struct shadow_kernel *about = shadow_kernel(shadow, launch->kernel_number, kernel);
    if (about && about->shape && is_same(about->shape, shape, count_sites(kernel))) {
        shadow_shape_drop(shape);
        shape = about->shape;
        shape->holders++;
        util_mutex_unlock(&shadow->lock, RANK_SHADOW);
        return shape;
    }
    util_mutex_unlock(&shadow->lock, RANK_SHADOW);
    instrument_whole_costs(kernel, shape->block, shape->places, shape->costs, shape->whole);
    shape->regular = instrument_is_regular(kernel, shape->block, shape->places);
    util_mutex_lock(&shadow->lock, RANK_SHADOW);
    about = shadow_kernel(shadow, launch->kernel_number, kernel);
    if (about) {
        shadow_shape_drop(about->shape);
        about->shape = shape;
        shape->holders++;
    }
    util_mutex_unlock(&shadow->lock, RANK_SHADOW);
    return shape;
}

void shadow_shape_drop(struct shadow_shape *shape)
{
    if (shape && --shape->holders == 0)
        free(shape);
}
