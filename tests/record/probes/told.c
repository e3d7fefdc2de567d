// SPDX-License-Identifier: Apache-2.0
// Builds a story, the list of launches and their accesses, from the profile.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "against_log.h"
#include "requests.h"

struct object {
    uint64_t number, address, bytes;
    bool heap;
};

struct teller {
    enum level level;
    struct story *story;
    BASE_ARRAY(struct object) objects;
    BASE_ARRAY(const char *) kernels; // mangled names, indexed by number
    BASE_ARRAY(bool) probed;          // indexed by kernel: whether it has probes
    BASE_ARRAY(struct profile_graph) graphs;
    struct requests_sites sites;
    BASE_ARRAY(struct launch_key {
        uint64_t call;
        uint32_t node;
    })
    keys; // one for each launch of the story
};

static bool see_kernel(void *user, const struct profile_kernel *kernel)
{
    struct teller *teller = user;
    while (teller->kernels.count <= kernel->number) {
        PUSH(const char *, &teller->kernels) = "";
        PUSH(bool, &teller->probed) = false;
    }
    teller->kernels.items[kernel->number] = kernel->mangled;
    return true;
}

static bool see_probe(void *user, const struct profile_probe *probe)
{
    struct teller *teller = user;
    if (probe->kernel < teller->probed.count)
        teller->probed.items[probe->kernel] = probe->facts != 0;
    if (probe->reason)
        printf("%s: %s\n", teller->kernels.items[probe->kernel], probe->reason);
    return true;
}

static bool see_object(void *user, const struct profile_object *object)
{
    struct teller *teller = user;
    const bool heap = object->kind == PROFILE_OBJECT_HEAP;
    if (heap)
        PUSH(struct block, &teller->story->blocks) = (struct block){.object = object->number,
                                                                    .address = object->address,
                                                                    .bytes = object->bytes,
                                                                    .has_end = object->has_end,
                                                                    .began = object->call,
                                                                    .ended = object->end_call};
    PUSH(struct object, &teller->objects) =
        (struct object){object->number, object->address, object->bytes, heap};
    return base_map_put(&teller->story->addresses, object->address, NULL) != NULL;
}

static bool see_graph(void *user, const struct profile_graph *graph)
{
    struct teller *teller = user;
    struct profile_graph *kept = must(base_array_push(&teller->graphs));
    struct profile_node *nodes = must(calloc(graph->node_count + 1, sizeof(*nodes)));
    memcpy(nodes, graph->nodes, graph->node_count * sizeof(*nodes));
    *kept = (struct profile_graph){graph->number, nodes, graph->node_count};
    return true;
}

static void add_launch(struct teller *teller, uint64_t call, uint32_t node, uint32_t kernel)
{
    struct launch *launch = must(base_array_push(&teller->story->launches));
    *launch = (struct launch){.kernel = strdup(teller->kernels.items[kernel]),
                              .order = teller->keys.count,
                              .id = call,
                              .from = call,
                              .to = call,
                              .watched = teller->probed.items[kernel]};
    PUSH(struct launch_key, &teller->keys) = (struct launch_key){call, node};
}

static bool see_call(void *user, const struct profile_call *call)
{
    struct teller *teller = user;
    if (call->result || call->flags & PROFILE_CALL_CAPTURED)
        return true;
    if (call->kind == PROFILE_CALL_LAUNCH)
        add_launch(teller, call->number, 0, call->launch.kernel);
    for (size_t i = 0; call->kind == PROFILE_CALL_GRAPH_LAUNCH && i < teller->graphs.count; i++) {
        const struct profile_graph *graph = &teller->graphs.items[i];
        for (uint32_t k = 0; graph->number == call->graph && k < graph->node_count; k++) {
            if (graph->nodes[k].kind == PROFILE_NODE_KERNEL)
                add_launch(teller, call->number, k + 1, graph->nodes[k].launch.kernel);
        }
    }
    return true;
}

static struct launch *launch_of(struct teller *teller, uint64_t call, uint32_t node)
{
    for (size_t i = 0; i < teller->keys.count; i++) {
        if (teller->keys.items[i].call == call && teller->keys.items[i].node == node)
            return &teller->story->launches.items[i];
    }
    return NULL;
}

static const struct object *object_of(const struct teller *teller, uint64_t number)
{
    for (size_t i = 0; i < teller->objects.count; i++) {
        if (teller->objects.items[i].number == number)
            return &teller->objects.items[i];
    }
    return NULL;
}

static struct life *life_of(struct teller *teller, const struct object *object,
                            uint32_t element_bytes)
{
    for (size_t i = 0; i < teller->story->lives.count; i++) {
        struct life *life = &teller->story->lives.items[i];
        if (life->object == object->number) {
            life->mixed |= life->element_bytes != element_bytes;
            return life;
        }
    }
    struct life *life = must(base_array_push(&teller->story->lives));
    *life = (struct life){.object = object->number,
                          .address = object->address,
                          .heap = object->heap,
                          .element_bytes = element_bytes};
    return life;
}

static bool see_access(void *user, const struct profile_access *access)
{
    struct teller *teller = user;
    if (!access->call) // a copy brought the object's address to the GPU
        return true;
    struct launch *launch = launch_of(teller, access->call, access->node);
    const struct object *object = object_of(teller, access->object);
    if (!launch || !object) {
        printf("an access of call %llu, node %u, and object %llu, which are not there\n",
               (unsigned long long)access->call, access->node, (unsigned long long)access->object);
        return true;
    }
    struct row *row = must(base_array_push(&launch->rows));
    *row = (struct row){.object = object->number,
                        .address = object->address,
                        .bytes = object->bytes,
                        .heap = object->heap,
                        .read = access->read,
                        .written = access->written};
    if (teller->level < LEVEL_ELEMENTS)
        return true;
    row->bytes_read = access->bytes_read;
    row->bytes_written = access->bytes_written;
    row->elements = access->elements;
    row->element_bytes = access->element_bytes;
    struct life *life = life_of(teller, object, access->element_bytes);
    if (access->new_elements == PROFILE_UNKNOWN && access->shared_elements == PROFILE_UNKNOWN) {
        life->foreign = true;
        return true;
    }
    life->touched += access->new_elements;
    life->more += access->shared_elements;
    return true;
}

static bool see_counts(void *user, const struct profile_counts *counts)
{
    struct teller *teller = user;
    const struct launch *launch = launch_of(teller, counts->call, counts->node);
    const struct object *object = object_of(teller, counts->object);
    for (size_t i = 0; launch && object && i < launch->rows.count; i++) {
        struct row *row = &launch->rows.items[i];
        if (row->object != object->number)
            continue;
        row->counts = *counts;
        row->counts.call = row->counts.object = row->counts.node = 0;
    }
    return true;
}

static bool see_map(void *user, const struct profile_map *map)
{
    struct teller *teller = user;
    const struct object *object = object_of(teller, map->object);
    if (!object)
        return true;
    struct life *life = life_of(teller, object, map->element_bytes);
    if (!life->times) {
        life->elements = map->elements;
        life->times = must(calloc(1, map->elements + 1));
    }
    for (uint64_t i = map->first; i < map->elements && (i - map->first) / 8 < map->bit_bytes; i++) {
        const uint64_t at = i - map->first;
        life->times[i] += map->bits[at / 8] >> at % 8 & 1;
    }
    return true;
}

static bool see_site(void *user, const struct profile_kernel_site *site)
{
    struct teller *teller = user;
    requests_see_site(&teller->sites, site);
    return true;
}

static bool see_requests(void *user, const struct profile_requests *row)
{
    struct teller *teller = user;
    struct launch *launch = launch_of(teller, row->call, row->node);
    if (!launch || !requests_tell(&teller->sites, row, launch)) {
        printf("requests of call %llu, node %u, site %u, which are not there\n",
               (unsigned long long)row->call, row->node, row->site);
        teller->story->wrong++;
    }
    return true;
}

bool told(const char *path, const struct scope *scope, struct story *story)
{
    const enum level level = scope->level;
    struct teller teller = {.level = level, .story = story};
    struct base_error error = {0};
    struct profile *profile;
    char text[512];
    if (profile_open(path, &profile, &error) == BASE_OK) {
        bool good = profile_each_kernel(profile, see_kernel, &teller, &error) == BASE_OK &&
                    profile_each_probe(profile, see_probe, &teller, &error) == BASE_OK &&
                    profile_each_object(profile, see_object, &teller, &error) == BASE_OK &&
                    profile_each_graph(profile, see_graph, &teller, &error) == BASE_OK &&
                    profile_each_call(profile, see_call, &teller, &error) == BASE_OK &&
                    profile_each_access(profile, see_access, &teller, &error) == BASE_OK;
        if (good && level == LEVEL_COUNTS)
            good = profile_each_counts(profile, see_counts, &teller, &error) == BASE_OK;
        if (good && scope->requests)
            good = profile_each_kernel_site(profile, see_site, &teller, &error) == BASE_OK &&
                   profile_each_requests(profile, see_requests, &teller, &error) == BASE_OK;
        if (good && level >= LEVEL_ELEMENTS)
            profile_each_map(profile, see_map, &teller, &error); // failures are checked in `error`
        profile_close(profile);
    }
    for (size_t i = 0; i < teller.graphs.count; i++)
        free((void *)(uintptr_t)teller.graphs.items[i].nodes);
    base_array_fini(&teller.graphs);
    base_array_fini(&teller.objects);
    base_array_fini(&teller.kernels);
    base_array_fini(&teller.probed);
    base_array_fini(&teller.keys);
    requests_sites_fini(&teller.sites);
    if (error.code != BASE_OK) {
        base_error_text(&error, text, sizeof(text));
        printf("%s\n", text);
        return false;
    }
    story_number(story);
    return true;
}
