// SPDX-License-Identifier: Apache-2.0
// Memory in use after each call, so that lives can be changed and the peak asked for in logarithmic
// time: a tree over calls, of which each node has the most of its part and what was added to all of
// it.
#include <stdlib.h>

#include "analyses.h"

struct change {
    uint32_t from, to;
    int64_t bytes;
};

struct analyze_replay {
    uint32_t leaves; // a power of two
    int64_t *most;   // of a node, with what was added to it; 1 is the root
    int64_t *added;  // to all of a node
    int64_t peak;
    struct change changes[4];
    unsigned change_count;
};

// Sizes of a damaged file must not add up to more than there are numbers.
static int64_t bounded(uint64_t bytes)
{
    return bytes > INT64_MAX >> 24 ? INT64_MAX >> 24 : (int64_t)bytes;
}

static void add(struct analyze_replay *replay, uint32_t node, uint32_t first, uint32_t width,
                const struct change *change)
{
    if (change->from <= first && first + width <= change->to) {
        replay->most[node] += change->bytes;
        replay->added[node] += change->bytes;
        return;
    }
    uint32_t half = width / 2;
    if (change->from < first + half)
        add(replay, 2 * node, first, half, change);
    if (change->to > first + half)
        add(replay, 2 * node + 1, first + half, half, change);
    int64_t a = replay->most[2 * node], b = replay->most[2 * node + 1];
    replay->most[node] = (a > b ? a : b) + replay->added[node];
}

static void apply(struct analyze_replay *replay, struct change change)
{
    if (change.to > replay->leaves)
        change.to = replay->leaves;
    if (change.from < change.to)
        add(replay, 1, 0, replay->leaves, &change);
}

// The lives themselves are many: their sum, once from left to right, and the nodes above it.
static void build(struct analyze_replay *replay, const struct analyze_model *model)
{
    int64_t *leaf = replay->most + replay->leaves;
    for (size_t i = 0; i < model->objects.count; i++) {
        const struct analyze_object *object = &model->objects.items[i];
        uint32_t from = analyze_begin(object), to = analyze_end(model, object);
        if (!object->counts || from >= to)
            continue;
        leaf[from] += bounded(object->bytes);
        if (to < replay->leaves)
            leaf[to] -= bounded(object->bytes);
    }
    for (uint32_t i = 1; i < replay->leaves; i++)
        leaf[i] += leaf[i - 1];
    for (uint32_t i = replay->leaves; i-- > 1;) {
        int64_t a = replay->most[2 * i], b = replay->most[2 * i + 1];
        replay->most[i] = a > b ? a : b;
    }
    replay->peak = replay->most[1];
}

struct analyze_replay *analyze_replay_new(const struct analyze_model *model)
{
    struct analyze_replay *replay = calloc(1, sizeof(*replay));
    if (!replay)
        return NULL;
    replay->leaves = 1;
    while (replay->leaves < model->calls.count && replay->leaves < UINT32_C(1) << 31)
        replay->leaves *= 2;
    replay->most = calloc(2 * (size_t)replay->leaves, sizeof(*replay->most));
    replay->added = calloc(2 * (size_t)replay->leaves, sizeof(*replay->added));
    if (!replay->most || !replay->added) {
        analyze_replay_free(replay);
        return NULL;
    }
    build(replay, model);
    return replay;
}

void analyze_replay_free(struct analyze_replay *replay)
{
    if (!replay)
        return;
    free(replay->most);
    free(replay->added);
    free(replay);
}

static void change(struct analyze_replay *replay, uint32_t from, uint32_t to, int64_t bytes)
{
    struct change made = {from, to, bytes};
    replay->changes[replay->change_count++] = made;
    apply(replay, made);
}

void analyze_replay_less(struct analyze_replay *replay, uint32_t from, uint32_t to, uint64_t bytes)
{
    change(replay, from, to, -bounded(bytes));
}

void analyze_replay_more(struct analyze_replay *replay, uint32_t from, uint32_t to, uint64_t bytes)
{
    change(replay, from, to, bounded(bytes));
}

uint64_t analyze_replay_gain(struct analyze_replay *replay)
{
    int64_t after = replay->most[1] > 0 ? replay->most[1] : 0;
    int64_t gain = replay->peak - after;
    while (replay->change_count) {
        struct change undone = replay->changes[--replay->change_count];
        undone.bytes = -undone.bytes;
        apply(replay, undone);
    }
    return gain > 0 ? (uint64_t)gain : 0;
}
