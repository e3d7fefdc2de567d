// SPDX-License-Identifier: Apache-2.0
// Reads what all launches of a kernel did to its arrays of shared memory into the model: which
// words they touched, and how often data was loaded before it was replaced. An array is only known
// if each launch was counted in full. Live ranges need not be known in each: not all are traced.
#include <stdlib.h>
#include <string.h>

#include "model.h"

// An array while it is read.
struct array {
    bool *touched; // by word; NULL: no launch has been seen
    uint64_t words;
    uint64_t most_ranges; // that a site began in one launch
};

struct kernel {
    uint64_t launches;          // that ran, also in graphs
    struct analyze_shape shape; // of the launch with the most blocks
    uint32_t call;              // its index
};

struct shared_loading {
    struct analyze_model *model;
    struct array *arrays; // by index in model->shared
    BASE_ARRAY(struct kernel) kernels;
    struct base_map index;  // number of a kernel to index + 1
    struct base_map graphs; // number to index + 1 in `nodes`
    BASE_ARRAY(struct nodes {
        uint32_t *kernels; // numbers
        uint32_t count;
    })
    nodes;
    bool any;           // there are counts
    bool unknown_graph; // it may have launched any kernel
    bool failed;        // memory ran out
};

static struct analyze_shared *find(const struct shared_loading *loading, uint32_t kernel,
                                   uint32_t number)
{
    struct analyze_shared *items = loading->model->shared.items;
    const size_t count = loading->model->shared.count;
    const size_t at = base_search(0, count, i,
                                  items[i].kernel < kernel ||
                                      (items[i].kernel == kernel && items[i].number < number));
    return at < count && items[at].kernel == kernel && items[at].number == number ? &items[at]
                                                                                  : NULL;
}

static struct array *beside(const struct shared_loading *loading,
                            const struct analyze_shared *shared)
{
    return &loading->arrays[shared - loading->model->shared.items];
}

// Returns the kernel, which is added; NULL when memory ran out.
static struct kernel *kernel_of(struct shared_loading *loading, uint32_t number)
{
    uint64_t *slot = base_map_put(&loading->index, number, NULL);
    if (slot && *slot == 0) {
        struct kernel *made = base_array_push(&loading->kernels);
        if (made)
            *made = (struct kernel){.call = ANALYZE_NONE};
        *slot = made ? loading->kernels.count : 0;
    }
    loading->failed |= !slot || !*slot;
    return loading->failed ? NULL : &loading->kernels.items[*slot - 1];
}

// --- What launches did ---------------------------------------------------------------------------

static bool take_array(void *user, const struct profile_shared_array *row)
{
    struct shared_loading *loading = user;
    struct analyze_shared *place = base_array_push(&loading->model->shared);
    loading->failed |= !place;
    if (place)
        *place = (struct analyze_shared){.kernel = row->kernel,
                                         .number = row->number,
                                         .name = row->name,
                                         .bytes = row->bytes,
                                         .is_known = true,
                                         .place = ANALYZE_NONE};
    return !loading->failed;
}

static bool take_words(void *user, const struct profile_shared_words *row)
{
    struct shared_loading *loading = user;
    struct analyze_shared *shared = find(loading, row->kernel, row->array);
    if (!shared)
        return true;
    struct array *array = beside(loading, shared);
    loading->any = true;
    shared->launches += row->first == 0;
    if (!array->touched) {
        shared->bytes = row->bytes;
        array->words = (row->bytes + PROFILE_SHARED_WORD_BYTES - 1) / PROFILE_SHARED_WORD_BYTES;
        array->touched = calloc(array->words + 1, sizeof(bool));
        loading->failed |= !array->touched;
    }
    shared->is_known &= !row->flags && row->bytes == shared->bytes;
    uint64_t at = row->first;
    for (uint32_t i = 0; i < row->run_count && shared->is_known && !loading->failed; i++) {
        const struct profile_shared_run *run = &row->runs[i];
        for (uint64_t end = at + run->words; at < end && at < array->words; at++)
            array->touched[at] |= run->loads || run->stores;
        shared->loads += run->words * run->loads;
        shared->stores += run->words * run->stores;
        shared->loads_exceed |= run->loads > run->stores;
    }
    return !loading->failed;
}

static bool take_shared_lives(void *user, const struct profile_shared_lives *row)
{
    struct shared_loading *loading = user;
    struct analyze_shared *shared = find(loading, row->kernel, row->array);
    if (!shared)
        return true;
    shared->traced++;
    shared->lives.unstored += row->unstored;
    shared->lives.ranges += row->ranges;
    shared->lives.loads += row->loads;
    shared->lives.again += row->again;
    shared->lives.own += row->own;
    return true;
}

static bool take_shared_ranges(void *user, const struct profile_shared_ranges *row)
{
    struct shared_loading *loading = user;
    struct analyze_shared *shared = find(loading, row->kernel, row->array);
    struct array *array = shared ? beside(loading, shared) : NULL;
    if (array && row->ranges > array->most_ranges) {
        array->most_ranges = row->ranges;
        shared->place = analyze_find_site(loading->model, row->kernel, row->site);
    }
    return true;
}

// --- Launches ------------------------------------------------------------------------------------

static bool take_graph(void *user, const struct profile_graph *row)
{
    struct shared_loading *loading = user;
    struct nodes *nodes = base_array_push(&loading->nodes);
    uint64_t *slot = base_map_put(&loading->graphs, row->number, NULL);
    uint32_t *kernels = calloc((size_t)row->node_count + 1, sizeof(*kernels));
    loading->failed |= !nodes || !slot || !kernels;
    if (loading->failed) {
        free(kernels);
        if (nodes)
            *nodes = (struct nodes){0};
        return false;
    }
    *nodes = (struct nodes){.kernels = kernels};
    *slot = loading->nodes.count;
    for (uint32_t i = 0; i < row->node_count; i++) {
        if (row->nodes[i].kind == PROFILE_NODE_KERNEL)
            kernels[nodes->count++] = row->nodes[i].launch.kernel;
    }
    return true;
}

static void add_graph(struct shared_loading *loading, uint64_t number)
{
    const uint64_t *slot = base_map_get(&loading->graphs, number);
    const struct nodes *nodes = slot ? &loading->nodes.items[*slot - 1] : NULL;
    loading->unknown_graph |= !nodes;
    for (uint32_t i = 0; nodes && i < nodes->count; i++) {
        struct kernel *kernel = kernel_of(loading, nodes->kernels[i]);
        if (kernel)
            kernel->launches++;
    }
}

static void add_launch(struct shared_loading *loading, const struct profile_launch *launch,
                       uint32_t call)
{
    struct kernel *kernel = kernel_of(loading, launch->kernel);
    const uint64_t blocks = loading->model->calls.items[call].blocks;
    if (!kernel)
        return;
    kernel->launches++;
    if (kernel->call != ANALYZE_NONE && blocks <= kernel->shape.blocks)
        return;
    kernel->call = call;
    kernel->shape = (struct analyze_shape){
        .threads = launch->block[0] * launch->block[1] * launch->block[2],
        .blocks = blocks,
        .shared_bytes = launch->dynamic_shared_bytes,
    };
}

static bool take_call(void *user, const struct profile_call *row)
{
    struct shared_loading *loading = user;
    const uint32_t call = analyze_find_call(loading->model, row->number);
    if (call == ANALYZE_NONE || !(loading->model->calls.items[call].flags & ANALYZE_WORKS))
        return true;
    if (row->kind == PROFILE_CALL_LAUNCH)
        add_launch(loading, &row->launch, call);
    else if (row->kind == PROFILE_CALL_GRAPH_LAUNCH)
        add_graph(loading, row->graph);
    return !loading->failed;
}

static bool take_kernel(void *user, const struct profile_kernel *row)
{
    struct shared_loading *loading = user;
    const uint64_t *slot = base_map_get(&loading->index, row->number);
    if (!slot)
        return true;
    struct analyze_shape *shape = &loading->kernels.items[*slot - 1].shape;
    shape->registers = row->registers;
    shape->shared_bytes += row->static_shared_bytes;
    return true;
}

// Of devices that differ, none is known.
static bool take_device(void *user, const struct profile_device *row)
{
    struct analyze_shape *device = user;
    const bool same = device->major == row->major && device->minor == row->minor &&
                      device->multiprocessors == row->multiprocessors;
    if (!device->blocks)
        *device = (struct analyze_shape){
            .major = row->major, .minor = row->minor, .multiprocessors = row->multiprocessors};
    else if (!same)
        device->major = 0;
    device->blocks++;
    return true;
}

// --- Both ----------------------------------------------------------------------------------------

static void find_unused(struct analyze_shared *shared, const struct array *array)
{
    uint64_t first = 0, longest = 0;
    for (uint64_t i = 0; i < array->words; i++) {
        if (array->touched[i]) {
            shared->touched_words++;
            first = i + 1;
        } else if (i + 1 - first > longest) {
            longest = i + 1 - first;
            shared->unused_first = first * PROFILE_SHARED_WORD_BYTES;
        }
    }
    const uint64_t end = shared->unused_first + longest * PROFILE_SHARED_WORD_BYTES;
    if (longest)
        shared->unused_bytes = (end < shared->bytes ? end : shared->bytes) - shared->unused_first;
}

static void finish(struct shared_loading *loading, const struct analyze_shape *device)
{
    for (size_t i = 0; i < loading->model->shared.count; i++) {
        struct analyze_shared *shared = &loading->model->shared.items[i];
        const struct array *array = &loading->arrays[i];
        const uint64_t *slot = base_map_get(&loading->index, shared->kernel);
        const struct kernel *kernel = slot ? &loading->kernels.items[*slot - 1] : NULL;
        shared->is_known &= array->touched && kernel && !loading->unknown_graph &&
                            kernel->launches == shared->launches;
        if (!shared->is_known)
            continue;
        find_unused(shared, array);
        shared->call = kernel->call;
        shared->shape = kernel->shape;
        shared->shape.major = device->major;
        shared->shape.minor = device->minor;
        shared->shape.multiprocessors = device->multiprocessors;
    }
}

static void fini(struct shared_loading *loading)
{
    for (size_t i = 0; loading->arrays && i < loading->model->shared.count; i++)
        free(loading->arrays[i].touched);
    for (size_t i = 0; i < loading->nodes.count; i++)
        free(loading->nodes.items[i].kernels);
    free(loading->arrays);
    base_array_fini(&loading->kernels);
    base_array_fini(&loading->nodes);
    base_map_fini(&loading->index);
    base_map_fini(&loading->graphs);
}

enum base_code analyze_load_shared(struct analyze_model *model, struct profile *profile,
                                   struct base_error *error)
{
    struct shared_loading loading = {.model = model};
    struct analyze_shape device = {0};
    enum base_code code = profile_each_shared_array(profile, take_array, &loading, error);
    loading.arrays = calloc(model->shared.count + 1, sizeof(*loading.arrays));
    loading.failed |= !loading.arrays;
#define LOAD(what, user)                    \
    if (code == BASE_OK && !loading.failed) \
    code = profile_each_##what(profile, take_##what, user, error)
    if (code == BASE_OK && !loading.failed)
        code = profile_each_shared_words(profile, take_words, &loading, error);
    if (loading.any) { // calls are many
        LOAD(shared_lives, &loading);
        LOAD(shared_ranges, &loading);
        LOAD(graph, &loading);
        LOAD(call, &loading);
        LOAD(kernel, &loading);
        LOAD(device, &device);
    }
#undef LOAD
    if (code == BASE_OK && !loading.failed)
        finish(&loading, &device);
    fini(&loading);
    return code == BASE_OK && loading.failed ? base_no_memory(error) : code;
}
