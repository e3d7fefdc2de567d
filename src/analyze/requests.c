// SPDX-License-Identifier: Apache-2.0
// Groups the requests of warps by instruction in the source: all launches of a kernel, and all
// copies of the instruction that the compiler made of it by unrolling. Patterns take the groups
// that take more than they need. If the lines of instructions are unknown, all that do the same to
// the same object, with the same distance between threads, are one group: nothing else that can be
// said tells them apart.
#include "requests.h"

struct group {
    struct analyze_request_group sum;
    uint64_t most_saved;           // in one launch
    uint32_t last_call, last_node; // that were counted
    bool lacks_stride, is_several;
};

struct grouping {
    struct analyze_run *run;
    bool shared;
    uint32_t percent; // of what they need that groups must take
    BASE_ARRAY(struct group) groups;
    struct base_map index; // key to index + 1
};

// --- Groups --------------------------------------------------------------------------------------

// An instruction whose line is unknown is first a group of its own. Equal names of files have equal
// pointers, because a profile holds each text once.
static uint64_t key_of(const struct analyze_model *model, const struct analyze_requests *row)
{
    const struct analyze_site *site =
        row->place == ANALYZE_NONE ? NULL : &model->sites.items[row->place];
    const bool has_line = site && site->line.file;
    const uint64_t key[] = {row->kernel,
                            has_line,
                            has_line ? (uint64_t)(uintptr_t)site->line.file : row->site,
                            has_line ? site->line.line : 0,
                            has_line ? site->line.column : 0,
                            has_line ? site->access : 0};
    return base_hash(key, sizeof(key));
}

// Returns the group of the row; NULL when memory ran out.
static struct group *group_of(struct grouping *grouping, const struct analyze_requests *row)
{
    const struct analyze_model *model = grouping->run->model;
    const uint64_t key = key_of(model, row);
    uint64_t *slot = base_map_put(&grouping->index, key, NULL);
    if (slot && *slot == 0) {
        struct group *made = base_array_push(&grouping->groups);
        if (made)
            *made = (struct group){
                .sum = {.site = row->place == ANALYZE_NONE ? NULL : &model->sites.items[row->place],
                        .kernel = row->kernel,
                        .call = row->call,
                        .object = row->object,
                        .instructions = 1,
                        .key = key},
                .last_call = ANALYZE_NONE};
        *slot = made ? grouping->groups.count : 0;
    }
    return slot && *slot ? &grouping->groups.items[*slot - 1] : NULL;
}

static bool is_same_object(const struct analyze_run *run, uint32_t one, uint32_t other)
{
    const struct analyze_object *objects = run->model->objects.items;
    return one == other || (one != ANALYZE_NONE && other != ANALYZE_NONE &&
                            analyze_key_of_object(run, &objects[one]) ==
                                analyze_key_of_object(run, &objects[other]));
}

static void add_row(struct grouping *grouping, const struct analyze_requests *row,
                    const struct analyze_request_sums *sums)
{
    struct analyze_run *run = grouping->run;
    struct group *group = group_of(grouping, row);
    run->failed |= !group;
    if (!group)
        return;
    const uint64_t saved = row->taken - row->needed;
    group->sum.launches += row->call != group->last_call || row->node != group->last_node;
    group->last_call = row->call;
    group->last_node = row->node;
    group->sum.requests += row->requests;
    group->sum.taken += row->taken;
    group->sum.needed += row->needed;
    group->is_several |= !is_same_object(run, group->sum.object, row->object);
    group->lacks_stride |= saved && !row->has_stride;
    if (saved > group->most_saved) {
        group->most_saved = saved;
        group->sum.call = row->call;
        group->sum.object = row->object;
        group->sum.stride = (uint64_t)(row->stride < 0 ? -row->stride : row->stride);
    }
    if (saved && analyze_has_request_time(run, row->call)) {
        group->sum.is_timed = true;
        group->sum.ns += analyze_request_ns(run, sums, row);
    }
}

static void add_call(struct grouping *grouping, const struct analyze_requests *rows, size_t count)
{
    struct analyze_request_sums sums;
    grouping->run->failed |= !analyze_sum_requests(rows, count, &sums);
    for (size_t i = 0; i < count && !grouping->run->failed; i++) {
        if (rows[i].shared == grouping->shared)
            add_row(grouping, &rows[i], &sums);
    }
    analyze_request_sums_fini(&sums);
}

static bool takes_too_much(const struct grouping *grouping, const struct group *group)
{
    return (unsigned __int128)group->sum.taken * 100 >
           (unsigned __int128)group->sum.needed * grouping->percent;
}

// What a reader can tell of a group whose line is unknown.
static uint64_t key_without_line(const struct analyze_run *run, const struct group *group)
{
    const struct analyze_request_group *sum = &group->sum;
    const uint64_t key[] = {
        sum->kernel,
        sum->site ? sum->site->access : PROFILE_SITE_LOAD,
        sum->site ? sum->site->bytes : 0,
        sum->object == ANALYZE_NONE || group->is_several
            ? 0
            : analyze_key_of_object(run, &run->model->objects.items[sum->object]),
        sum->site ? (uint64_t)(uintptr_t)sum->site->array : 0,
        group->lacks_stride ? 0 : sum->stride};
    return base_hash(key, sizeof(key));
}

// Joins the groups whose lines are unknown, those with which they can be joined: these are then
// empty.
static void join_groups(struct grouping *grouping)
{
    struct base_map known = {0}; // key to index + 1
    for (size_t i = 0; i < grouping->groups.count; i++) {
        struct group *group = &grouping->groups.items[i];
        if ((group->sum.site && group->sum.site->line.file) || !takes_too_much(grouping, group))
            continue;
        const uint64_t key = key_without_line(grouping->run, group);
        uint64_t *slot = base_map_put(&known, key, NULL);
        grouping->run->failed |= !slot;
        if (!slot)
            break;
        if (*slot == 0) {
            *slot = i + 1;
            group->sum.key = key;
            continue;
        }
        struct group *first = &grouping->groups.items[*slot - 1];
        first->sum.instructions++;
        first->sum.requests += group->sum.requests;
        first->sum.taken += group->sum.taken;
        first->sum.needed += group->sum.needed;
        first->sum.ns += group->sum.ns;
        first->sum.is_timed |= group->sum.is_timed;
        if (group->sum.launches > first->sum.launches)
            first->sum.launches = group->sum.launches;
        if (group->most_saved > first->most_saved) {
            first->most_saved = group->most_saved;
            first->sum.call = group->sum.call;
        }
        group->sum.taken = group->sum.needed = 0;
    }
    base_map_fini(&known);
}

void analyze_walk_requests(struct analyze_run *run, bool shared, uint32_t percent,
                           analyze_take_requests *take)
{
    struct grouping grouping = {.run = run, .shared = shared, .percent = percent};
    const struct analyze_requests *rows = run->model->requests.items;
    const size_t count = run->model->requests.count;
    for (size_t i = 0, next; i < count && !run->failed; i = next) {
        for (next = i; next < count && rows[next].call == rows[i].call;)
            next++;
        add_call(&grouping, &rows[i], next - i);
    }
    if (!run->failed)
        join_groups(&grouping);
    for (size_t i = 0; i < grouping.groups.count && !run->failed; i++) {
        struct group *group = &grouping.groups.items[i];
        if (!takes_too_much(&grouping, group))
            continue;
        if (group->is_several)
            group->sum.object = ANALYZE_NONE;
        if (group->lacks_stride)
            group->sum.stride = 0;
        take(run, &group->sum);
    }
    base_array_fini(&grouping.groups);
    base_map_fini(&grouping.index);
}

// --- Findings ------------------------------------------------------------------------------------

struct analyze_finding analyze_begin_request_finding(const struct analyze_run *run,
                                                     enum analyze_pattern pattern,
                                                     const struct analyze_request_group *group,
                                                     uint64_t unit_bytes)
{
    struct analyze_finding finding =
        analyze_begin_finding(run, pattern, group->object, group->call, ANALYZE_NONE);
    finding.kernel = group->kernel;
    finding.aspect = group->key;
    finding.times = group->launches;
    finding.traffic_bytes = (group->taken - group->needed) * unit_bytes;
    finding.traffic_is_bound = true;
    finding.gpu_ns = (uint64_t)group->ns;
    finding.time_is_estimate = true;
    finding.only_time_counts = group->is_timed;
    return finding;
}

struct analyze_request_facts analyze_request_facts(const struct analyze_request_group *group)
{
    const struct analyze_site *site = group->site;
    const enum profile_site_access access =
        site ? (enum profile_site_access)site->access : PROFILE_SITE_LOAD;
    return (struct analyze_request_facts){.access = site ? profile_site_access_word(access) : NULL,
                                          .line = site ? site->line : (struct analyze_line){0},
                                          .array = site ? site->array : NULL,
                                          .instructions = group->instructions,
                                          .requests = group->requests,
                                          .taken = group->taken,
                                          .needed = group->needed,
                                          .stride = group->stride,
                                          .has_stride = group->stride != 0,
                                          .is_joined = group->instructions > 1,
                                          .is_store = access == PROFILE_SITE_STORE,
                                          .is_atomic = access == PROFILE_SITE_ATOMIC};
}
