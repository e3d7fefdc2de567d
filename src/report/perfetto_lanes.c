// SPDX-License-Identifier: Apache-2.0
// Assigns slices to lanes. Overlapping slices on one track would mean nesting, so they get
// different lanes. The lowest free lane is taken, so that consecutive work stays in one lane.
#include <stdlib.h>

#include "perfetto.h"

void perfetto_lanes_fini(struct perfetto_lanes *lanes)
{
    free(lanes->free_from);
    *lanes = (struct perfetto_lanes){0};
}

static void set_leaf(struct perfetto_lanes *lanes, uint32_t lane, int64_t end)
{
    int64_t *tree = lanes->free_from;
    size_t node = (size_t)lanes->capacity + lane;
    tree[node] = end;
    for (node /= 2; node > 0; node /= 2)
        tree[node] = tree[2 * node] < tree[2 * node + 1] ? tree[2 * node] : tree[2 * node + 1];
}

// New lanes are free from the beginning.
static bool grow(struct perfetto_lanes *lanes)
{
    if (lanes->capacity > UINT32_MAX / 4)
        return false;
    uint32_t capacity = lanes->capacity ? 2 * lanes->capacity : 2;
    int64_t *tree = calloc(2 * (size_t)capacity, sizeof(*tree));
    if (!tree)
        return false;
    for (uint32_t i = 0; i < capacity; i++)
        tree[capacity + i] =
            i < lanes->capacity ? lanes->free_from[lanes->capacity + i] : INT64_MIN;
    for (uint32_t i = capacity - 1; i > 0; i--)
        tree[i] = tree[2 * i] < tree[2 * i + 1] ? tree[2 * i] : tree[2 * i + 1];
    free(lanes->free_from);
    lanes->free_from = tree;
    lanes->capacity = capacity;
    return true;
}

uint32_t perfetto_lanes_take(struct perfetto_lanes *lanes, int64_t start, int64_t end)
{
    while (lanes->capacity == 0 || lanes->free_from[1] > start) {
        if (!grow(lanes))
            return UINT32_MAX;
    }
    size_t node = 1;
    while (node < lanes->capacity)
        node = 2 * node + (lanes->free_from[2 * node] > start);
    uint32_t lane = (uint32_t)(node - lanes->capacity);
    set_leaf(lanes, lane, end);
    return lane;
}

void perfetto_lanes_leave(struct perfetto_lanes *lanes, uint32_t lane, int64_t end)
{
    set_leaf(lanes, lane, end);
}
