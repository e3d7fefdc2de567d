// SPDX-License-Identifier: Apache-2.0
// What is found on synchronisation, from waits that were judged to findings with their worth: call
// paths are summed up, remedies collected, those left out that concern too little time or cost more
// than they gain, and the others replayed, each alone and all together.
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "analysis.h"
#include "remedies.h"

// Replays of single remedies: so many at most, and so many steps in all, which is about half a
// second.
enum { MOST_ALONE = 200, LEAST_ALONE = 8, MOST_STEPS = 50000000 };

// --- Call paths ----------------------------------------------------------------------------------

static int by_path(const void *one, const void *other)
{
    const struct analyze_wait_path *a = one, *b = other;
    if (a->path != b->path)
        return a->path < b->path ? -1 : 1;
    return (a->kind > b->kind) - (a->kind < b->kind);
}

static bool sum_up_paths(struct analysis *analysis, const struct analyze_waits *waits)
{
    const struct analyze_model *model = waits->model;
    struct base_map rows = {0}; // path and kind to index + 1
    BASE_ARRAY(struct analyze_wait_path) paths = {0};
    bool good = true;
    for (size_t i = 0; i < waits->waits.count && good; i++) {
        const struct analyze_wait *wait = &waits->waits.items[i];
        const struct analyze_call *call = &model->calls.items[wait->call];
        uint64_t waited_ns = model->host.times.items[wait->call].waited_ns;
        analysis->run_time.waited_ns += waited_ns;
        analysis->run_time.unneeded_ns += wait->judgement == ANALYZE_UNNEEDED ? waited_ns : 0;
        if (call->path == 0)
            continue;
        uint64_t *slot = base_map_put(&rows, (uint64_t)call->path << 8 | call->kind, NULL);
        if (slot && *slot == 0) {
            struct analyze_wait_path *made = base_array_push(&paths);
            if (made) {
                made->path = call->path;
                made->kind = (enum profile_call_kind)call->kind;
                *slot = paths.count;
            }
        }
        good = slot && *slot;
        if (!good)
            break;
        assert(paths.items);
        struct analyze_wait_path *row = &paths.items[*slot - 1];
        row->calls++;
        row->needed += wait->judgement == ANALYZE_NEEDED;
        row->late += wait->judgement == ANALYZE_LATE;
        row->unneeded += wait->judgement == ANALYZE_UNNEEDED;
        row->unknown += wait->judgement == ANALYZE_UNKNOWN;
        row->waited += (call->flags & ANALYZE_WAITED) != 0;
        row->waited_ns += waited_ns;
    }
    base_map_fini(&rows);
    for (size_t i = 0; i < paths.count; i++) {
        assert(paths.items);
        struct analyze_wait_path *row = &paths.items[i];
        row->deferrable = row->needed == 0 && row->unknown == 0;
        row->safe = row->deferrable && row->late == 0;
    }
    if (good && paths.count)
        qsort(paths.items, paths.count, sizeof(*paths.items), by_path);
    analysis->wait_paths = paths.items;
    analysis->wait_path_count = paths.count;
    return good;
}

// --- Remedies ------------------------------------------------------------------------------------

struct analyze_remedy *analyze_remedy_at(struct analyze_remedies *remedies,
                                         enum analyze_pattern pattern, uint32_t path,
                                         uint32_t other_path, uint64_t size_class)
{
    const uint64_t key[] = {(uint64_t)pattern, path, other_path, size_class};
    uint64_t *slot = base_map_put(&remedies->keys, base_hash(key, sizeof(key)), NULL);
    if (slot && *slot == 0) {
        struct analyze_remedy *made = base_array_push(&remedies->remedies);
        if (made) {
            made->finding = (struct analyze_finding){
                .pattern = pattern, .path = path, .other_path = other_path, .count = 1};
            *slot = remedies->remedies.count;
        }
    }
    remedies->failed |= !slot || *slot == 0;
    return remedies->failed ? NULL : &remedies->remedies.items[*slot - 1];
}

void analyze_add_act(struct analyze_remedies *remedies, const struct analyze_remedy *remedy,
                     uint32_t call, enum analyze_action action, uint64_t bound_ns)
{
    uint32_t index = (uint32_t)(remedy - remedies->remedies.items);
    struct analyze_act *act = base_array_push(&remedies->acts);
    remedies->failed |= !act;
    if (!act)
        return;
    *act = (struct analyze_act){index, call, (uint8_t)action};
    struct analyze_remedy *row = &remedies->remedies.items[index];
    row->bound_ns += bound_ns;
    row->act_count++;
}

// Acts by remedy, those of each in the order in which they were added.
static bool sort_acts(struct analyze_remedies *remedies)
{
    struct analyze_act *sorted = calloc(remedies->acts.count + 1, sizeof(*sorted));
    if (!sorted)
        return false;
    size_t next = 0;
    for (size_t i = 0; i < remedies->remedies.count; i++) {
        remedies->remedies.items[i].first_act = next;
        next += remedies->remedies.items[i].act_count;
        remedies->remedies.items[i].act_count = 0;
    }
    for (size_t i = 0; i < remedies->acts.count; i++) {
        struct analyze_remedy *remedy = &remedies->remedies.items[remedies->acts.items[i].remedy];
        sorted[remedy->first_act + remedy->act_count++] = remedies->acts.items[i];
    }
    free(remedies->acts.items);
    remedies->acts.items = sorted;
    remedies->acts.capacity = remedies->acts.count + 1;
    return true;
}

// Less is not worth a word.
static uint64_t least_ns(const struct analyze_remedies *remedies, uint64_t run_ns)
{
    const uint64_t least = remedies->thresholds->wait_us * UINT64_C(1000);
    const double part = (double)run_ns * (double)remedies->thresholds->wait_percent / 100;
    return part > (double)least ? (uint64_t)part : least;
}

// Those that concern no call go: their acts stay where they are, and nothing refers to them.
static void leave_out_empty(struct analyze_remedies *remedies)
{
    size_t kept = 0;
    for (size_t i = 0; i < remedies->remedies.count; i++) {
        if (remedies->remedies.items[i].finding.times)
            remedies->remedies.items[kept++] = remedies->remedies.items[i];
    }
    remedies->remedies.count = kept;
}

// What can gain most first; then as they were found, by path.
static int by_bound(const void *one, const void *other)
{
    const struct analyze_remedy *a = one, *b = other;
    if (a->bound_ns != b->bound_ns)
        return a->bound_ns > b->bound_ns ? -1 : 1;
    return (a->first_act > b->first_act) - (a->first_act < b->first_act);
}

// --- What they are worth -------------------------------------------------------------------------

static void act(const struct analyze_remedies *remedies, const struct analyze_remedy *remedy,
                uint8_t *actions, bool undo)
{
    for (size_t i = 0; i < remedy->act_count; i++) {
        const struct analyze_act *row = &remedies->acts.items[remedy->first_act + i];
        uint8_t *action = &actions[row->call];
        *action = undo ? ANALYZE_KEEP : *action > row->action ? *action : row->action;
    }
}

static uint64_t gain(int64_t before_ns, int64_t after_ns, uint64_t bound_ns)
{
    uint64_t gain_ns = before_ns > after_ns ? (uint64_t)(before_ns - after_ns) : 0;
    return gain_ns < bound_ns ? gain_ns : bound_ns;
}

// All of them at once, but one.
static void act_all(const struct analyze_remedies *remedies, size_t count, size_t but,
                    uint8_t *actions)
{
    memset(actions, ANALYZE_KEEP, remedies->model->calls.count);
    for (size_t i = 0; i < count; i++) {
        if (i != but)
            act(remedies, &remedies->remedies.items[i], actions, false);
    }
}

// Whether its costs are worth a thought.
static bool may_be_costly(const struct analyze_remedy *remedy)
{
    enum { SMALL_PART = 8 };
    return remedy->cost_ns > remedy->bound_ns / SMALL_PART;
}

static void set_costly(struct analyze_remedies *remedies, size_t most, bool costly)
{
    for (size_t i = 0; i < remedies->remedies.count && i < most; i++) {
        struct analyze_remedy *remedy = &remedies->remedies.items[i];
        remedy->costly = costly && may_be_costly(remedy);
    }
}

// The end of the run with all that are not left out, and with their costs.
static int64_t run_with_others(const struct analyze_remedies *remedies,
                               struct analyze_timeline *timeline, uint8_t *actions)
{
    uint64_t cost_ns = 0;
    memset(actions, ANALYZE_KEEP, remedies->model->calls.count);
    for (size_t i = 0; i < remedies->remedies.count; i++) {
        const struct analyze_remedy *remedy = &remedies->remedies.items[i];
        if (remedy->costly)
            continue;
        act(remedies, remedy, actions, false);
        cost_ns += remedy->cost_ns;
    }
    return analyze_timeline_replay(timeline, actions) + (int64_t)cost_ns;
}

// What is copied there stays as it is.
static void tell_costly(struct analysis *analysis, const struct analyze_remedy *remedy)
{
    const struct analyze_wait_path *path =
        analyze_find_wait_path(analysis, remedy->finding.path, PROFILE_CALL_COPY);
    assert(path);
    analysis->wait_paths[path - analysis->wait_paths].costly = true;
}

// Leaves out what costs more than it gains. Some gain only together, since what one no longer waits
// for another would. So either all or none of those whose costs matter are left out at first, by
// which the run is shorter, and then each is changed if that makes it shorter still. `most` are
// looked at.
static void leave_out_costly(struct analysis *analysis, struct analyze_remedies *remedies,
                             struct analyze_timeline *timeline, uint8_t *actions, size_t most)
{
    struct analyze_remedy *rows = remedies->remedies.items;
    const size_t count = remedies->remedies.count;
    size_t looked_at = count < most ? count : most, kept = 0;
    while (looked_at && !may_be_costly(&rows[looked_at - 1]))
        looked_at--;
    if (looked_at == 0)
        return;
    int64_t best_ns = run_with_others(remedies, timeline, actions);
    set_costly(remedies, looked_at, true);
    const int64_t without_ns = run_with_others(remedies, timeline, actions);
    if (without_ns <= best_ns)
        best_ns = without_ns;
    else
        set_costly(remedies, looked_at, false);
    for (size_t i = looked_at; i-- > 0;) {
        if (!may_be_costly(&rows[i]))
            continue;
        rows[i].costly = !rows[i].costly;
        const int64_t now_ns = run_with_others(remedies, timeline, actions);
        if (now_ns < best_ns || (now_ns == best_ns && rows[i].costly))
            best_ns = now_ns;
        else
            rows[i].costly = !rows[i].costly;
    }
    for (size_t i = 0; i < count; i++) {
        if (rows[i].costly)
            tell_costly(analysis, &rows[i]);
        else
            rows[kept++] = rows[i];
    }
    remedies->remedies.count = kept;
    memset(actions, ANALYZE_KEEP, remedies->model->calls.count);
}

// Of those that concern too little time only the ones stay that the others need: a wait for nothing
// much may be where another one, once it is left out, would be waited for instead. They come behind
// the first `large`, by what they concern; `most` are looked at.
static void leave_out_small(struct analysis *analysis, struct analyze_remedies *remedies,
                            struct analyze_timeline *timeline, uint8_t *actions, size_t large,
                            size_t most, uint64_t least)
{
    struct analyze_remedy *rows = remedies->remedies.items;
    const size_t looked_at = remedies->remedies.count < most ? remedies->remedies.count : most;
    const size_t count = large ? looked_at : 0;
    size_t kept = large;
    act_all(remedies, large, SIZE_MAX, actions);
    const int64_t without_ns = analyze_timeline_replay(timeline, actions);
    act_all(remedies, count, SIZE_MAX, actions);
    const int64_t best_ns = analyze_timeline_replay(timeline, actions);
    for (size_t i = large; i < count && without_ns - best_ns >= (int64_t)least; i++) {
        act_all(remedies, count, i, actions);
        const int64_t but_ns = analyze_timeline_replay(timeline, actions);
        rows[i].finding.others_need = but_ns - best_ns >= (int64_t)(least + rows[i].cost_ns);
    }
    for (size_t i = large; i < remedies->remedies.count; i++) {
        if (rows[i].finding.others_need)
            rows[kept++] = rows[i];
        else if (rows[i].cost_ns > rows[i].bound_ns)
            tell_costly(analysis, &rows[i]);
    }
    remedies->remedies.count = kept;
    memset(actions, ANALYZE_KEEP, remedies->model->calls.count);
}

static void rate(struct analysis *analysis, struct analyze_remedies *remedies,
                 struct analyze_timeline *timeline, uint8_t *actions)
{
    const size_t steps = analyze_timeline_steps(timeline);
    const uint64_t least = least_ns(remedies, analysis->run_time.recorded_ns);
    size_t most = MOST_STEPS / (steps + 1), large = 0;
    most = most > MOST_ALONE ? MOST_ALONE : most < LEAST_ALONE ? LEAST_ALONE : most;
    while (large < remedies->remedies.count && remedies->remedies.items[large].bound_ns >= least)
        large++;
    leave_out_small(analysis, remedies, timeline, actions, large, most > large ? most : large,
                    least);
    leave_out_costly(analysis, remedies, timeline, actions, most);
    const int64_t before_ns = analyze_timeline_replay(timeline, actions);
    uint64_t bound_ns = 0;
    for (size_t i = 0; i < remedies->remedies.count; i++) {
        struct analyze_remedy *remedy = &remedies->remedies.items[i];
        bound_ns += remedy->bound_ns;
        remedy->finding.host_is_bound = i >= most;
        remedy->finding.host_ns = remedy->bound_ns;
        if (i >= most)
            continue;
        act(remedies, remedy, actions, false);
        remedy->finding.host_ns =
            gain(before_ns, analyze_timeline_replay(timeline, actions) + (int64_t)remedy->cost_ns,
                 remedy->bound_ns);
        act(remedies, remedy, actions, true);
    }
    const int64_t after_ns = run_with_others(remedies, timeline, actions);
    analysis->run_time.is_estimated = analyze_timeline_is_estimated(timeline);
    analysis->run_time.after_ns =
        analysis->run_time.recorded_ns - gain(before_ns, after_ns, bound_ns);
}

static bool replay(struct analysis *analysis, struct analyze_remedies *remedies)
{
    struct analyze_timeline *timeline = analyze_timeline_new(&remedies->waits);
    uint8_t *actions = calloc(remedies->model->calls.count + 1, sizeof(*actions));
    const bool good = timeline && actions;
    if (good)
        rate(analysis, remedies, timeline, actions);
    analyze_timeline_free(timeline);
    free(actions);
    return good;
}

// --- All of it -----------------------------------------------------------------------------------

static void add_findings(struct analyze_run *run, const struct analyze_remedies *remedies)
{
    for (size_t i = 0; i < remedies->remedies.count && !run->failed; i++) {
        const struct analyze_remedy *remedy = &remedies->remedies.items[i];
        struct analyze_finding *finding = base_array_push(&run->findings);
        struct analyze_worth *best = finding ? base_array_push(&run->best) : NULL;
        run->failed |= !best;
        if (!best)
            return;
        *finding = remedy->finding;
        finding->waited_ns = remedy->bound_ns;
    }
}

static bool find_all(struct analysis *analysis, struct analyze_run *run,
                     struct analyze_remedies *remedies)
{
    if (!analyze_find_waits(&remedies->waits, remedies->model) ||
        !analyze_judge(&remedies->waits, remedies->thresholds) ||
        !sum_up_paths(analysis, &remedies->waits))
        return false;
    if (!analysis->run_time.tracked)
        return true;
    analyze_find_syncs(remedies);
    analyze_find_transfers(remedies);
    analyze_find_churn(remedies);
    analyze_find_duplicates(remedies);
    if (remedies->failed || !sort_acts(remedies))
        return false;
    leave_out_empty(remedies);
    if (remedies->remedies.count)
        qsort(remedies->remedies.items, remedies->remedies.count, sizeof(*remedies->remedies.items),
              by_bound);
    if (remedies->remedies.count && !replay(analysis, remedies))
        return false;
    add_findings(run, remedies);
    return !run->failed;
}

bool analyze_synchronisation(struct analysis *analysis, struct analyze_run *run)
{
    const struct analyze_model *model = run->model;
    const struct analyze_host *host = &model->host;
    struct analyze_remedies remedies = {
        .model = model, .thresholds = run->thresholds, .analysis = analysis};
    // Without times, and where calls or objects are missing, nothing can be told.
    if (host->times.count != model->calls.count || host->times.count == 0 || model->dropped)
        return true;
    analysis->run_time = (struct analyze_run_time){.tracked = host->tracked,
                                                   .recorded_ns = (uint64_t)host->end_ns,
                                                   .after_ns = (uint64_t)host->end_ns};
    bool good = find_all(analysis, run, &remedies);
    analyze_waits_fini(&remedies.waits);
    base_map_fini(&remedies.keys);
    base_array_fini(&remedies.remedies);
    base_array_fini(&remedies.acts);
    return good;
}
