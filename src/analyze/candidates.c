// SPDX-License-Identifier: Apache-2.0
// Finds objects that a kernel should have in shared memory: see candidates.h. What is unknown about
// an object in one launch makes it no candidate in any. Objects that fit into the free shared
// memory alone need not fit together: of each kernel those are chosen that save most.
#include "candidates.h"

#include <stdlib.h>

#include "requests.h"

enum {
    WORD_BYTES = 4,
    LEAST_BYTES = 64,  // what a block loads of fewer are its parameters, which caches hold
    MOST_CHOICES = 20, // objects of one kernel among which is chosen: those that save most
};

struct reuse_group {
    struct analyze_candidate sum;
    uint64_t most_loads; // of one launch
    // Of shared memory, in the last launch and in that which needs most: for what a block loads,
    // and for all between the first and the last word that it accesses.
    uint64_t loaded_here, loaded_bytes, extent_here, extent_bytes;
    uint32_t last_call, last_node; // that were counted
    bool is_out;                   // it is no candidate
};

struct reuse_grouping {
    struct analyze_run *run;
    BASE_ARRAY(struct reuse_group) groups; // by kernel, once they are sorted
    struct base_map index;                 // key to index + 1
};

// --- Groups --------------------------------------------------------------------------------------

// Returns the group of the row; NULL when memory ran out.
static struct reuse_group *group_of(struct reuse_grouping *grouping,
                                    const struct analyze_reuse *row)
{
    const struct analyze_run *run = grouping->run;
    const uint64_t key[] = {row->row.kernel,
                            analyze_key_of_object(run, &run->model->objects.items[row->object])};
    uint64_t *slot = base_map_put(&grouping->index, base_hash(key, sizeof(key)), NULL);
    if (slot && *slot == 0) {
        struct reuse_group *made = base_array_push(&grouping->groups);
        if (made)
            *made = (struct reuse_group){
                .sum = {.kernel = row->row.kernel, .object = row->object, .free_bytes = UINT64_MAX},
                .last_call = ANALYZE_NONE};
        *slot = made ? grouping->groups.count : 0;
    }
    return slot && *slot ? &grouping->groups.items[*slot - 1] : NULL;
}

// Returns what the launch did to the object: ANALYZE_READ and ANALYZE_WRITE; 0: unknown.
static uint8_t done_to(const struct analyze_model *model, uint32_t call, uint32_t object)
{
    uint8_t how = 0;
    for (uint32_t i = model->calls.items[call].touches; i < analyze_touches_end(model, call); i++)
        how |= model->touches.items[i].object == object ? model->touches.items[i].how : 0;
    return how;
}

static void add_most(uint64_t *here, uint64_t bytes, uint64_t *most)
{
    *here += bytes;
    *most = *here > *most ? *here : *most;
}

// Adds what the launch does to a group. Rows of one launch follow one another.
static void add_launch(struct reuse_grouping *grouping, struct reuse_group *group,
                       const struct analyze_reuse *row)
{
    struct analyze_run *run = grouping->run;
    struct analyze_candidate *sum = &group->sum;
    const double part = (double)row->row.blocks / row->row.looked;
    const uint64_t saved =
        (uint64_t)((double)(row->row.moved - row->row.words) * WORD_BYTES * part);
    if (row->call != group->last_call || row->row.node != group->last_node) {
        sum->looked_launches++;
        sum->blocks += row->row.blocks;
        sum->looked_blocks += row->row.looked;
        group->loaded_here = group->extent_here = 0;
    }
    group->last_call = row->call;
    group->last_node = row->row.node;
    sum->loads += row->row.loads;
    sum->words += row->row.words;
    sum->saved_bytes += saved;
    add_most(&group->loaded_here, row->row.most_words * WORD_BYTES, &group->loaded_bytes);
    add_most(&group->extent_here, row->row.extent * WORD_BYTES, &group->extent_bytes);
    if (row->row.free_bytes < sum->free_bytes) {
        sum->free_bytes = row->row.free_bytes;
        sum->resident = row->row.resident;
    }
    if (row->row.loads > group->most_loads) {
        group->most_loads = row->row.loads;
        sum->call = row->call;
        sum->object = row->object;
        sum->place = row->place;
    }
    if (analyze_has_request_time(run, row->call)) {
        sum->is_timed = true;
        sum->ns += analyze_l2_ns(run->model, row->call, (double)saved);
    }
}

static void add_row(struct reuse_grouping *grouping, const struct analyze_reuse *row)
{
    struct analyze_run *run = grouping->run;
    const struct analyze_model *model = run->model;
    struct reuse_group *group = group_of(grouping, row);
    run->failed |= !group;
    if (!group)
        return;
    const uint8_t how = done_to(model, row->call, row->object);
    const bool written = how & ANALYZE_WRITE || row->row.stores;
    group->is_out |= !how || model->calls.items[row->call].flags & ANALYZE_UNSEEN ||
                     row->row.flags & (PROFILE_REUSE_INCOMPLETE | PROFILE_REUSE_LARGE) ||
                     (written && !(row->row.flags & PROFILE_REUSE_APART)) ||
                     row->row.free_bytes == PROFILE_UNKNOWN ||
                     model->objects.items[row->object].is_host;
    group->sum.is_written |= written;
    add_launch(grouping, group, row);
}

// Completes the sums of a group. All launches of a kernel load about as much as those that were
// looked at, and save at most their time. Those that were looked at take longer than others.
static void complete(const struct analyze_model *model, struct reuse_group *group)
{
    struct analyze_candidate *sum = &group->sum;
    uint64_t least_ns = UINT64_MAX;
    for (size_t i = 0; i < model->calls.count; i++) {
        const struct analyze_call *call = &model->calls.items[i];
        if (call->kind != PROFILE_CALL_LAUNCH || !(call->flags & ANALYZE_WORKS) ||
            call->kernel != sum->kernel)
            continue;
        sum->launches++;
        if (call->gpu_ns && call->gpu_ns < least_ns)
            least_ns = call->gpu_ns;
    }
    if (sum->launches < sum->looked_launches) // others are in graphs
        sum->launches = sum->looked_launches;
    const double part = (double)sum->launches / (double)sum->looked_launches;
    const double most_ns = (double)least_ns * (double)sum->launches;
    sum->bytes = sum->is_written ? group->extent_bytes : group->loaded_bytes;
    sum->saved_bytes = (uint64_t)((double)sum->saved_bytes * part);
    sum->ns = sum->ns * part < most_ns ? sum->ns * part : most_ns;
}

// --- Choices -------------------------------------------------------------------------------------

struct choosing {
    const struct reuse_group *const *items;
    unsigned count;
    uint64_t room;
    uint64_t saved, bytes; // of the best choice
    uint32_t chosen;       // the best choice: a bit for each item
};

// Tries each choice among the items from `at` on. Of two that save the same, the smaller is better,
// and then the one that was found first, which has earlier items.
static void choose(struct choosing *choosing, unsigned at, uint32_t chosen, uint64_t saved,
                   uint64_t bytes)
{
    uint64_t rest = 0;
    if (saved > choosing->saved || (saved == choosing->saved && bytes < choosing->bytes)) {
        choosing->saved = saved;
        choosing->bytes = bytes;
        choosing->chosen = chosen;
    }
    for (unsigned i = at; i < choosing->count; i++)
        rest += choosing->items[i]->sum.saved_bytes;
    if (at == choosing->count || saved + rest <= choosing->saved)
        return;
    const struct analyze_candidate *item = &choosing->items[at]->sum;
    if (item->bytes <= choosing->room - bytes)
        choose(choosing, at + 1, chosen | 1u << at, saved + item->saved_bytes, bytes + item->bytes);
    choose(choosing, at + 1, chosen, saved, bytes);
}

static int by_saved(const void *one, const void *other)
{
    const struct analyze_candidate *a = &(*(const struct reuse_group *const *)one)->sum;
    const struct analyze_candidate *b = &(*(const struct reuse_group *const *)other)->sum;
    if (a->saved_bytes != b->saved_bytes)
        return a->saved_bytes > b->saved_bytes ? -1 : 1;
    return a->object < b->object ? -1 : a->object > b->object;
}

static bool is_candidate(const struct reuse_group *group, uint32_t least_reuse)
{
    const struct analyze_candidate *sum = &group->sum;
    return !group->is_out && sum->bytes > LEAST_BYTES && sum->bytes <= sum->free_bytes &&
           sum->saved_bytes && sum->loads / least_reuse >= sum->words;
}

// Chooses among the groups of a kernel, all of whose launches have at least `room` free bytes.
static void choose_of_kernel(struct reuse_grouping *grouping, const struct reuse_group **items,
                             size_t count, uint64_t room, analyze_take_candidate *take)
{
    qsort(items, count, sizeof(*items), by_saved);
    struct choosing choosing = {.items = items,
                                .count = count < MOST_CHOICES ? (unsigned)count : MOST_CHOICES,
                                .room = room,
                                .bytes = UINT64_MAX};
    choose(&choosing, 0, 0, 0, 0);
    for (unsigned i = 0; i < choosing.count && !grouping->run->failed; i++) {
        if (choosing.chosen >> i & 1)
            take(grouping->run, &items[i]->sum);
    }
}

void analyze_walk_candidates(struct analyze_run *run, uint32_t least_reuse,
                             analyze_take_candidate *take)
{
    struct reuse_grouping grouping = {.run = run};
    const struct analyze_reuse *rows = run->model->reuse.items;
    for (size_t i = 0; i < run->model->reuse.count && !run->failed; i++)
        add_row(&grouping, &rows[i]);
    const size_t count = grouping.groups.count;
    const struct reuse_group **items = count ? calloc(count, sizeof(*items)) : NULL;
    run->failed |= count && !items;
    for (size_t i = 0; i < count && !run->failed; i++)
        complete(run->model, &grouping.groups.items[i]);
    for (size_t i = 0; i < count && !run->failed; i++) {
        const uint32_t kernel = grouping.groups.items[i].sum.kernel;
        uint64_t room = UINT64_MAX;
        size_t found = 0;
        bool is_done = false;
        for (size_t k = 0; k < count; k++) {
            const struct reuse_group *group = &grouping.groups.items[k];
            if (group->sum.kernel != kernel)
                continue;
            is_done |= k < i;
            room = group->sum.free_bytes < room ? group->sum.free_bytes : room;
            if (is_candidate(group, least_reuse))
                items[found++] = group;
        }
        if (!is_done && found)
            choose_of_kernel(&grouping, items, found, room, take);
    }
    free(items);
    base_array_fini(&grouping.groups);
    base_map_fini(&grouping.index);
}
