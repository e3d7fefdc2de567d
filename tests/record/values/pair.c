// SPDX-License-Identifier: Apache-2.0
// Pairs the launches, copies and fills of a log with the calls of a profile: see told.h.
#include <stdio.h>
#include <string.h>

#include "told.h"

// A launch, copy or fill of the log.
struct item {
    enum profile_call_kind kind;
    uint64_t call, key; // key: the launch's number, or the index of the copy or fill
    uint64_t address, bytes;
    char *kernel;
};

struct items {
    BASE_ARRAY(struct item) all;
    struct base_map graphs; // calls that launch graphs
};

bool told_is_own(const char *kernel)
{
    return strncmp(kernel, "glint", 5) == 0;
}

static void add_launch(struct items *items, const struct gpusim_log_launch *launch)
{
    if (!told_is_own(launch->kernel))
        REPLAY_PUSH(struct item, &items->all) =
            (struct item){.kind = PROFILE_CALL_LAUNCH,
                          .call = launch->call,
                          .key = launch->number,
                          .kernel = replay_must(strdup(launch->kernel))};
}

static bool read_items(const char *path, struct items *items)
{
    struct gpusim_log *log;
    struct gpusim_log_record record;
    struct base_error error = {0};
    uint64_t copies = 0, fills = 0;
    enum base_code code = gpusim_log_open(path, &log, &error);
    if (code == BASE_OK) {
        while ((code = gpusim_log_next(log, &record, &error)) == BASE_OK) {
            const struct gpusim_log_copy *copy = &record.copy;
            const struct gpusim_log_fill *fill = &record.fill;
            if (record.type == GPUSIM_LOG_LAUNCH)
                add_launch(items, record.launch);
            else if (record.type == GPUSIM_LOG_COPY)
                REPLAY_PUSH(struct item, &items->all) =
                    (struct item){PROFILE_CALL_COPY,
                                  copy->call,
                                  copies++,
                                  copy->to.address,
                                  copy->width * copy->height * copy->depth,
                                  NULL};
            else if (record.type == GPUSIM_LOG_FILL)
                REPLAY_PUSH(struct item, &items->all) =
                    (struct item){PROFILE_CALL_SET,           fill->call, fills++, fill->to.address,
                                  fill->width * fill->height, NULL};
            else if (record.type == GPUSIM_LOG_CALL &&
                     strncmp(record.call.name, "cuGraphLaunch", 13) == 0)
                replay_must(base_map_put(&items->graphs, record.call.number, NULL));
        }
        gpusim_log_close(log);
    }
    if (code == BASE_NOT_FOUND)
        return true;
    char text[512];
    base_error_text(&error, text, sizeof(text));
    printf("%s\n", text);
    return false;
}

static int by_call(const void *a, const void *b)
{
    const struct item *one = a, *other = b;
    if (one->call != other->call)
        return one->call < other->call ? -1 : 1;
    return one->key < other->key ? -1 : one->key > other->key;
}

bool told_is_kernel(const struct told *told, uint32_t number, const char *logged)
{
    const char *mangled = number < told->kernels.count ? told->kernels.items[number].mangled : NULL;
    const size_t length = mangled ? strlen(mangled) : 0;
    return mangled && strncmp(logged, mangled, length) == 0 &&
           (!logged[length] || strncmp(logged + length, "$glint", 6) == 0);
}

static bool fits(const struct told *told, const struct profile_call *call, const struct item *item)
{
    if (call->kind != item->kind)
        return false;
    switch (call->kind) {
    case PROFILE_CALL_LAUNCH: return told_is_kernel(told, call->launch.kernel, item->kernel);
    case PROFILE_CALL_COPY:
        return call->copy.to == item->address && call->copy.bytes == item->bytes;
    default: return call->set.address == item->address && call->set.bytes == item->bytes;
    }
}

// Pairs the item of a graph with the graph's launch. *next is the first call that may be that of
// another launch.
static void pair_node(struct told *told, const struct item *item, bool recorded, size_t *next,
                      struct told_pairs *pairs)
{
    bool is_first;
    uint64_t *at = replay_must(base_map_put(&pairs->graphs, item->call, &is_first));
    while (is_first && *next < told->calls.count && !told_is_graph(&told->calls.items[*next]))
        ++*next;
    if (is_first)
        *at = *next < told->calls.count ? ++*next : 0;
    if (!*at) {
        pairs->strangers++;
        printf("the profile has no launch of a graph for call %llu of the log\n",
               (unsigned long long)item->call);
        return;
    }
    ++*(uint64_t *)replay_must(base_map_put(&pairs->graph_events, item->call, NULL));
    if (item->kernel)
        *(uint64_t *)replay_must(base_map_put(&pairs->launches, item->key, NULL)) = *at;
    if (item->kernel && recorded)
        told->calls.items[*at - 1].unseen |= !strstr(item->kernel, "$glint");
}

static void pair(struct told *told, const struct items *items, bool recorded,
                 struct told_pairs *pairs)
{
    size_t next[PROFILE_CALL_KINDS] = {0}; // of each kind: the first call that is not paired
    for (size_t i = 0; i < items->all.count; i++) {
        const struct item *item = &items->all.items[i];
        struct base_map *map = item->kind == PROFILE_CALL_LAUNCH ? &pairs->launches
                               : item->kind == PROFILE_CALL_COPY ? &pairs->copies
                                                                 : &pairs->fills;
        if (base_map_get(&items->graphs, item->call)) {
            pair_node(told, item, recorded, &next[PROFILE_CALL_GRAPH_LAUNCH], pairs);
            continue;
        }
        size_t at = next[item->kind];
        while (at < told->calls.count && !fits(told, &told->calls.items[at].call, item))
            at++;
        if (at < told->calls.count) {
            next[item->kind] = at + 1;
            *(uint64_t *)replay_must(base_map_put(map, item->key, NULL)) = at + 1;
            if (item->kernel && recorded)
                told->calls.items[at].unseen = !strstr(item->kernel, "$glint");
        } else if (item->kernel) {
            pairs->strangers++;
            printf("the profile has no call for launch %llu of %s\n", (unsigned long long)item->key,
                   item->kernel);
        }
    }
}

bool told_pair(struct told *told, const char *log, bool recorded, struct told_pairs *pairs)
{
    struct items items = {0};
    const bool good = read_items(log, &items);
    if (items.all.count)
        qsort(items.all.items, items.all.count, sizeof(struct item), by_call);
    if (good)
        pair(told, &items, recorded, pairs);
    for (size_t i = 0; i < items.all.count; i++)
        free(items.all.items[i].kernel);
    base_array_fini(&items.all);
    base_map_fini(&items.graphs);
    return good;
}

void told_pairs_fini(struct told_pairs *pairs)
{
    base_map_fini(&pairs->launches);
    base_map_fini(&pairs->copies);
    base_map_fini(&pairs->fills);
    base_map_fini(&pairs->graphs);
    base_map_fini(&pairs->graph_events);
}

struct told_call *told_call_of(struct told *told, const struct base_map *map, uint64_t key)
{
    const uint64_t *place = base_map_get(map, key);
    return place ? &told->calls.items[*place - 1] : NULL;
}
