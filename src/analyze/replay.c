// SPDX-License-Identifier: Apache-2.0
// Computes the peak of memory in use after changes to the lives of objects. A segment tree over
// calls holds the maximum of each range. Changes are walked in the order of calls, with one query
// of the maximum between two of them. So n changes take about n log n steps, however long the lives
// are.
//
// There is one tree for device memory, and one for the parts of each pool, whose leaves are the
// calls that make or end parts. If parts change, the pool is assumed to shrink, for all its life,
// by as much as the peak of its parts falls.
#include <stdlib.h>
#include <string.h>

#include "analyses.h"

enum { FEW = 8 }; // changes that are replayed without allocating memory

struct replay_step {
    uint32_t call;
    int64_t bytes;
};

struct tree {
    uint32_t *calls; // first call of each leaf, starting with 0; NULL: each call is a leaf
    uint32_t count;  // of leaves
    uint32_t end;    // number of calls
    int64_t *most;   // maximum of each node; node 1 is the root, the last `count` are leaves
    int64_t peak;
    uint32_t peak_call; // the first call after which the peak is reached
};

struct analyze_replay {
    const struct analyze_model *model;
    struct tree device;
    struct tree *pools;
    size_t pool_count;
    struct base_map pool_index; // index of the object to index + 1 in pools
    bool failed;                // memory ran out
};

// Limits a size, so that sums of sizes from a damaged file cannot overflow.
static int64_t bounded(uint64_t bytes)
{
    return bytes > INT64_MAX >> 24 ? INT64_MAX >> 24 : (int64_t)bytes;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

// Returns the leaf that holds a call.
static uint32_t leaf_of(const struct tree *tree, uint32_t call)
{
    if (!tree->calls)
        return call;
    if (tree->count == 0)
        return 0;
    return (uint32_t)base_search(1, tree->count, i, tree->calls[i] <= call) - 1;
}

static bool tree_begin(struct tree *tree, uint32_t leaves, uint32_t end)
{
    tree->count = leaves;
    tree->end = end;
    tree->most = calloc(2 * (size_t)leaves, sizeof(*tree->most));
    return tree->most != NULL;
}

static void tree_add(struct tree *tree, uint32_t from, uint32_t to, uint64_t bytes)
{
    int64_t *leaf = tree->most + tree->count;
    if (from >= to)
        return;
    leaf[leaf_of(tree, from)] += bounded(bytes);
    if (to < tree->end)
        leaf[leaf_of(tree, to)] -= bounded(bytes);
}

// Turns the differences in the leaves into sums, and computes the nodes above.
static void tree_finish(struct tree *tree)
{
    int64_t *leaf = tree->most + tree->count;
    for (uint32_t i = 0; i < tree->count; i++) {
        leaf[i] += i ? leaf[i - 1] : 0;
        if (leaf[i] > tree->peak) {
            tree->peak = leaf[i];
            tree->peak_call = tree->calls ? tree->calls[i] : i;
        }
    }
    for (uint32_t i = tree->count; i-- > 1;)
        tree->most[i] = larger(tree->most[2 * (size_t)i], tree->most[2 * (size_t)i + 1]);
}

static int by_number(const void *one, const void *other)
{
    uint32_t a = *(const uint32_t *)one, b = *(const uint32_t *)other;
    return a < b ? -1 : a > b;
}

static bool make_pool(struct tree *tree, const struct analyze_model *model,
                      const struct analyze_object *pool, uint32_t end)
{
    uint32_t count = 0, different = 0;
    tree->calls = calloc(2 * (size_t)pool->part_count + 1, sizeof(*tree->calls));
    if (!tree->calls)
        return false;
    tree->calls[count++] = 0;
    for (uint32_t i = 0; i < pool->part_count; i++) {
        const struct analyze_object *part =
            &model->objects.items[model->parts[pool->first_part + i]];
        tree->calls[count++] = analyze_begin(part);
        if (analyze_end(model, part) < end)
            tree->calls[count++] = analyze_end(model, part);
    }
    qsort(tree->calls, count, sizeof(*tree->calls), by_number);
    for (uint32_t i = 0; i < count; i++) {
        if (i == 0 || tree->calls[i] != tree->calls[different - 1])
            tree->calls[different++] = tree->calls[i];
    }
    if (!tree_begin(tree, different, end))
        return false;
    for (uint32_t i = 0; i < pool->part_count; i++) {
        const struct analyze_object *part =
            &model->objects.items[model->parts[pool->first_part + i]];
        tree_add(tree, analyze_begin(part), analyze_end(model, part), part->bytes);
    }
    tree_finish(tree);
    return true;
}

static bool make_pools(struct analyze_replay *replay)
{
    const struct analyze_model *model = replay->model;
    size_t count = 0;
    for (size_t i = 0; i < model->objects.count; i++)
        count += analyze_is_pool(&model->objects.items[i]);
    replay->pools = calloc(count + 1, sizeof(*replay->pools));
    bool good = replay->pools != NULL;
    for (uint32_t i = 0; i < model->objects.count && good; i++) {
        if (!analyze_is_pool(&model->objects.items[i]))
            continue;
        uint64_t *slot = base_map_put(&replay->pool_index, i, NULL);
        good = slot && make_pool(&replay->pools[replay->pool_count++], model,
                                 &model->objects.items[i], replay->device.end);
        if (slot)
            *slot = replay->pool_count;
    }
    return good;
}

struct analyze_replay *analyze_replay_new(const struct analyze_model *model)
{
    struct analyze_replay *replay = calloc(1, sizeof(*replay));
    if (!replay)
        return NULL;
    replay->model = model;
    uint32_t count = model->calls.count ? (uint32_t)model->calls.count : 1;
    bool good = tree_begin(&replay->device, count, count);
    for (size_t i = 0; good && i < model->objects.count; i++) {
        const struct analyze_object *object = &model->objects.items[i];
        if (object->counts)
            tree_add(&replay->device, analyze_begin(object), analyze_end(model, object),
                     object->bytes);
    }
    if (good)
        tree_finish(&replay->device);
    if (!good || !make_pools(replay)) {
        analyze_replay_free(replay);
        return NULL;
    }
    return replay;
}

void analyze_replay_free(struct analyze_replay *replay)
{
    if (!replay)
        return;
    for (size_t i = 0; i < replay->pool_count; i++) {
        free(replay->pools[i].calls);
        free(replay->pools[i].most);
    }
    base_map_fini(&replay->pool_index);
    free(replay->pools);
    free(replay->device.most);
    free(replay);
}

bool analyze_replay_failed(const struct analyze_replay *replay)
{
    return replay->failed;
}

static const struct tree *pool_of(const struct analyze_replay *replay, uint32_t object)
{
    const uint64_t *slot = base_map_get(&replay->pool_index, object);
    return slot ? &replay->pools[*slot - 1] : NULL;
}

uint64_t analyze_replay_parts_peak(const struct analyze_replay *replay, uint32_t pool,
                                   uint32_t *call)
{
    const struct tree *tree = pool_of(replay, pool);
    *call = tree ? tree->peak_call : ANALYZE_NONE;
    return tree ? (uint64_t)tree->peak : 0;
}

// --- Changes -------------------------------------------------------------------------------------

// Returns the maximum over the calls [from, to).
static int64_t most_of(const struct tree *tree, uint32_t from, uint32_t to)
{
    int64_t most = INT64_MIN;
    size_t low = (size_t)leaf_of(tree, from) + tree->count;
    size_t high = (size_t)leaf_of(tree, to - 1) + 1 + tree->count;
    for (; low < high; low /= 2, high /= 2) {
        if (low & 1)
            most = larger(most, tree->most[low++]);
        if (high & 1)
            most = larger(most, tree->most[--high]);
    }
    return most;
}

static int by_call(const void *one, const void *other)
{
    uint32_t a = ((const struct replay_step *)one)->call,
             b = ((const struct replay_step *)other)->call;
    return a < b ? -1 : a > b;
}

// Steps are usually already sorted.
static void sort(struct replay_step *steps, size_t count)
{
    size_t sorted = 1;
    while (sorted < count && steps[sorted - 1].call <= steps[sorted].call)
        sorted++;
    if (sorted < count)
        qsort(steps, count, sizeof(*steps), by_call);
}

// Returns the peak with these steps, which must be sorted.
static int64_t peak_with(const struct tree *tree, const struct replay_step *begins,
                         const struct replay_step *ends, size_t count)
{
    int64_t peak = 0, changed = 0;
    uint32_t at = 0;
    for (size_t b = 0, e = 0; at < tree->end;) {
        uint32_t next = tree->end;
        if (b < count && begins[b].call < next)
            next = begins[b].call;
        if (e < count && ends[e].call < next)
            next = ends[e].call;
        if (next > at)
            peak = larger(peak, most_of(tree, at, next) + changed);
        for (; b < count && begins[b].call <= next; b++)
            changed += begins[b].bytes;
        for (; e < count && ends[e].call <= next; e++)
            changed -= ends[e].bytes;
        at = next;
    }
    return peak;
}

static uint64_t gain_in(struct analyze_replay *replay, const struct tree *tree,
                        const struct analyze_change *changes, size_t count)
{
    struct replay_step few[2 * FEW], *steps = few;
    bool helps = false; // fewer bytes are in use at the peak
    for (size_t i = 0; i < count && !helps; i++)
        helps = !changes[i].more && changes[i].from <= tree->peak_call &&
                tree->peak_call < changes[i].to;
    if (!helps)
        return 0;
    if (count > FEW)
        steps = calloc(count, 2 * sizeof(*steps));
    if (!steps) {
        replay->failed = true;
        return 0;
    }
    struct replay_step *begins = steps, *ends = steps + count;
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        int64_t bytes = changes[i].more ? bounded(changes[i].bytes) : -bounded(changes[i].bytes);
        if (changes[i].from >= changes[i].to)
            continue;
        begins[used] = (struct replay_step){changes[i].from, bytes};
        ends[used++] = (struct replay_step){changes[i].to, bytes};
    }
    sort(begins, used);
    sort(ends, used);
    int64_t after = peak_with(tree, begins, ends, used);
    if (steps != few)
        free(steps);
    return tree->peak > after ? (uint64_t)(tree->peak - after) : 0;
}

static int by_pool(const void *one, const void *other)
{
    uint32_t a = ((const struct analyze_change *)one)->pool;
    uint32_t b = ((const struct analyze_change *)other)->pool;
    return a < b ? -1 : a > b;
}

// Replaces the changes of each pool's parts by one change of the pool. Returns the new number of
// changes.
static size_t change_pools(struct analyze_replay *replay, struct analyze_change *changes,
                           size_t count)
{
    const struct analyze_model *model = replay->model;
    size_t used = 0;
    qsort(changes, count, sizeof(*changes), by_pool);
    while (used < count && changes[used].pool == 0)
        used++;
    for (size_t i = used, next; i < count; i = next) {
        const uint32_t pool = changes[i].pool - 1;
        const struct analyze_object *object = &model->objects.items[pool];
        const struct tree *tree = pool_of(replay, pool);
        for (next = i; next < count && changes[next].pool == changes[i].pool; next++)
            ;
        const uint64_t bytes = tree ? gain_in(replay, tree, changes + i, next - i) : 0;
        changes[used++] = (struct analyze_change){
            .from = analyze_begin(object), .to = analyze_end(model, object), .bytes = bytes};
    }
    return used;
}

uint64_t analyze_replay_gain(struct analyze_replay *replay, const struct analyze_change *changes,
                             size_t count)
{
    size_t of_device = 0;
    while (of_device < count && changes[of_device].pool == 0)
        of_device++;
    if (of_device == count)
        return gain_in(replay, &replay->device, changes, count);
    struct analyze_change few[FEW], *copy = few;
    if (count > FEW)
        copy = calloc(count, sizeof(*copy));
    if (!copy) {
        replay->failed = true;
        return 0;
    }
    memcpy(copy, changes, count * sizeof(*copy));
    const size_t left = change_pools(replay, copy, count);
    const uint64_t gain = gain_in(replay, &replay->device, copy, left);
    if (copy != few)
        free(copy);
    return gain;
}
