// SPDX-License-Identifier: Apache-2.0
// Memory in use after each call, so that it can be asked what the peak is when lives change: a tree
// over calls, of which each node has the most of its part. Changes are walked in the order of
// calls; between two of them the most is asked for. So n changes take about n log n, however long
// the lives are.
#include <stdlib.h>
#include <string.h>

#include "analyses.h"

enum { FEW = 8 }; // changes for which no memory is asked for

struct step {
    uint32_t call;
    int64_t bytes;
};

struct analyze_replay {
    uint32_t count; // of calls, and so of leaves
    int64_t *most;  // of a node; leaves are the last `count`, 1 is the root
    int64_t peak;
    uint32_t peak_call; // the first that makes it
    bool failed;        // memory ran out
};

// Sizes of a damaged file must not add up to more than there are numbers.
static int64_t bounded(uint64_t bytes)
{
    return bytes > INT64_MAX >> 24 ? INT64_MAX >> 24 : (int64_t)bytes;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static void build(struct analyze_replay *replay, const struct analyze_model *model)
{
    int64_t *leaf = replay->most + replay->count;
    for (size_t i = 0; i < model->objects.count; i++) {
        const struct analyze_object *object = &model->objects.items[i];
        uint32_t from = analyze_begin(object), to = analyze_end(model, object);
        if (!object->counts || from >= to)
            continue;
        leaf[from] += bounded(object->bytes);
        if (to < replay->count)
            leaf[to] -= bounded(object->bytes);
    }
    for (uint32_t i = 0; i < replay->count; i++) {
        leaf[i] += i ? leaf[i - 1] : 0;
        if (leaf[i] > replay->peak) {
            replay->peak = leaf[i];
            replay->peak_call = i;
        }
    }
    for (uint32_t i = replay->count; i-- > 1;)
        replay->most[i] = larger(replay->most[2 * (size_t)i], replay->most[2 * (size_t)i + 1]);
}

struct analyze_replay *analyze_replay_new(const struct analyze_model *model)
{
    struct analyze_replay *replay = calloc(1, sizeof(*replay));
    if (!replay)
        return NULL;
    replay->count = model->calls.count ? (uint32_t)model->calls.count : 1;
    replay->most = calloc(2 * (size_t)replay->count, sizeof(*replay->most));
    if (!replay->most) {
        free(replay);
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
    free(replay);
}

bool analyze_replay_failed(const struct analyze_replay *replay)
{
    return replay->failed;
}

// Of the calls from `from` to before `to`.
static int64_t most_of(const struct analyze_replay *replay, uint32_t from, uint32_t to)
{
    int64_t most = INT64_MIN;
    size_t low = (size_t)from + replay->count, high = (size_t)to + replay->count;
    for (; low < high; low /= 2, high /= 2) {
        if (low & 1)
            most = larger(most, replay->most[low++]);
        if (high & 1)
            most = larger(most, replay->most[--high]);
    }
    return most;
}

static int by_call(const void *one, const void *other)
{
    uint32_t a = ((const struct step *)one)->call, b = ((const struct step *)other)->call;
    return a < b ? -1 : a > b;
}

// Mostly they are in order.
static void sort(struct step *steps, size_t count)
{
    size_t sorted = 1;
    while (sorted < count && steps[sorted - 1].call <= steps[sorted].call)
        sorted++;
    if (sorted < count)
        qsort(steps, count, sizeof(*steps), by_call);
}

// The peak with these steps, which are in order: up to each, and from the last on.
static int64_t peak_with(const struct analyze_replay *replay, const struct step *begins,
                         const struct step *ends, size_t count)
{
    int64_t peak = 0, changed = 0;
    uint32_t at = 0;
    for (size_t b = 0, e = 0; at < replay->count;) {
        uint32_t next = replay->count;
        if (b < count && begins[b].call < next)
            next = begins[b].call;
        if (e < count && ends[e].call < next)
            next = ends[e].call;
        if (next > at)
            peak = larger(peak, most_of(replay, at, next) + changed);
        for (; b < count && begins[b].call <= next; b++)
            changed += begins[b].bytes;
        for (; e < count && ends[e].call <= next; e++)
            changed -= ends[e].bytes;
        at = next;
    }
    return peak;
}

uint64_t analyze_replay_gain(struct analyze_replay *replay, const struct analyze_change *changes,
                             size_t count)
{
    struct step few[2 * FEW], *steps = few;
    bool helps = false; // fewer bytes are in use at the peak
    for (size_t i = 0; i < count && !helps; i++)
        helps = !changes[i].more && changes[i].from <= replay->peak_call &&
                replay->peak_call < changes[i].to;
    if (!helps)
        return 0;
    if (count > FEW)
        steps = calloc(count, 2 * sizeof(*steps));
    if (!steps) {
        replay->failed = true;
        return 0;
    }
    struct step *begins = steps, *ends = steps + count;
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        int64_t bytes = changes[i].more ? bounded(changes[i].bytes) : -bounded(changes[i].bytes);
        if (changes[i].from >= changes[i].to)
            continue;
        begins[used] = (struct step){changes[i].from, bytes};
        ends[used++] = (struct step){changes[i].to, bytes};
    }
    sort(begins, used);
    sort(ends, used);
    int64_t after = peak_with(replay, begins, ends, used);
    if (steps != few)
        free(steps);
    return replay->peak > after ? (uint64_t)(replay->peak - after) : 0;
}
