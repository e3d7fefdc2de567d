// SPDX-License-Identifier: Apache-2.0
// Computes the peak of memory in use after changes to the lives of objects. A segment tree over
// calls holds the maximum of each range. Changes are walked in the order of calls, with one query
// of the maximum between two of them. So n changes take about n log n steps, however long the lives
// are.
//
// There is one tree for the memory of each device, and one for the parts of each pool, whose leaves
// are the calls that make or end parts. If parts change, the pool is assumed to shrink, for all its
// life, by as much as the peak of its parts falls.
#include <stdlib.h>
#include <string.h>

#include "analyses.h"

enum { FEW = 8 }; // changes that are replayed without allocating memory

struct replay_step {
    uint32_t call;
    int64_t bytes;
};

struct tree {
    uint32_t device; // of device memory: the device's number
    uint32_t *calls; // first call of each leaf, starting with 0; NULL: each call is a leaf
    uint32_t count;  // of leaves
    uint32_t end;    // number of calls
    int64_t *most;   // maximum of each node; node 1 is the root, the last `count` are leaves
    int64_t peak;
    uint32_t peak_call; // the first call after which the peak is reached
};

struct analyze_replay {
    const struct analyze_model *model;
    struct tree *devices; // in the order of their numbers; there is at least one
    size_t device_count;
    uint32_t end; // number of calls
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
                                 &model->objects.items[i], replay->end);
        if (slot)
            *slot = replay->pool_count;
    }
    return good;
}

// Returns the tree of the device's memory, or NULL.
static struct tree *device_of(const struct analyze_replay *replay, uint32_t device)
{
    const struct tree *trees = replay->devices;
    const size_t at = base_search(0, replay->device_count, i, trees[i].device < device);
    return at < replay->device_count && trees[at].device == device ? &replay->devices[at] : NULL;
}

// Makes an empty tree for each device whose memory is in use, and at least one.
static bool make_devices(struct analyze_replay *replay)
{
    const struct analyze_model *model = replay->model;
    size_t room = 0;
    for (size_t i = 0; i < model->objects.count || !replay->device_count; i++) {
        const bool none = i >= model->objects.count;
        const uint32_t device = none ? 0 : model->objects.items[i].device;
        if (!none && (!model->objects.items[i].counts || device_of(replay, device)))
            continue;
        if (replay->device_count == room) {
            struct tree *grown = realloc(replay->devices, (room = 2 * room + 1) * sizeof(*grown));
            if (!grown)
                return false;
            replay->devices = grown;
        }
        const size_t at =
            base_search(0, replay->device_count, k, replay->devices[k].device < device);
        memmove(&replay->devices[at + 1], &replay->devices[at],
                (replay->device_count++ - at) * sizeof(*replay->devices));
        replay->devices[at] = (struct tree){.device = device};
        if (!tree_begin(&replay->devices[at], replay->end, replay->end))
            return false;
    }
    return true;
}

struct analyze_replay *analyze_replay_new(const struct analyze_model *model)
{
    struct analyze_replay *replay = calloc(1, sizeof(*replay));
    if (!replay)
        return NULL;
    replay->model = model;
    replay->end = model->calls.count ? (uint32_t)model->calls.count : 1;
    const bool good = make_devices(replay);
    for (size_t i = 0; good && i < model->objects.count; i++) {
        const struct analyze_object *object = &model->objects.items[i];
        if (object->counts)
            tree_add(device_of(replay, object->device), analyze_begin(object),
                     analyze_end(model, object), object->bytes);
    }
    for (size_t i = 0; good && i < replay->device_count; i++)
        tree_finish(&replay->devices[i]);
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
    for (size_t i = 0; i < replay->device_count; i++)
        free(replay->devices[i].most);
    free(replay->devices);
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
        changes[used++] = (struct analyze_change){.from = analyze_begin(object),
                                                  .to = analyze_end(model, object),
                                                  .bytes = bytes,
                                                  .device = object->device};
    }
    return used;
}

static int by_device(const void *one, const void *other)
{
    uint32_t a = ((const struct analyze_change *)one)->device;
    uint32_t b = ((const struct analyze_change *)other)->device;
    return a < b ? -1 : a > b;
}

// Returns the sum of the gains on each device, and reorders the changes.
static uint64_t gain_of_devices(struct analyze_replay *replay, struct analyze_change *changes,
                                size_t count)
{
    uint64_t gain = 0;
    qsort(changes, count, sizeof(*changes), by_device);
    for (size_t i = 0, next; i < count; i = next) {
        const struct tree *tree = device_of(replay, changes[i].device);
        for (next = i; next < count && changes[next].device == changes[i].device; next++)
            ;
        gain += tree ? gain_in(replay, tree, changes + i, next - i) : 0;
    }
    return gain;
}

uint64_t analyze_replay_gain(struct analyze_replay *replay, const struct analyze_change *changes,
                             size_t count)
{
    size_t simple = 0; // changes that need no other order
    while (simple < count && changes[simple].pool == 0 &&
           (replay->device_count == 1 || changes[simple].device == changes[0].device))
        simple++;
    if (simple == count) {
        const struct tree *tree = replay->device_count == 1 || !count
                                      ? &replay->devices[0]
                                      : device_of(replay, changes[0].device);
        return tree ? gain_in(replay, tree, changes, count) : 0;
    }
    struct analyze_change few[FEW], *copy = few;
    if (count > FEW)
        copy = calloc(count, sizeof(*copy));
    if (!copy) {
        replay->failed = true;
        return 0;
    }
    memcpy(copy, changes, count * sizeof(*copy));
    const size_t left = change_pools(replay, copy, count);
    const uint64_t gain = replay->device_count == 1
                              ? gain_in(replay, &replay->devices[0], copy, left)
                              : gain_of_devices(replay, copy, left);
    if (copy != few)
        free(copy);
    return gain;
}
