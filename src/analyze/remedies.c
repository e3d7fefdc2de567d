// SPDX-License-Identifier: Apache-2.0
// Collects, chooses and rates remedies of waits. A remedy is dropped if it concerns too little time
// or costs more than it gains. The others are replayed, each alone and all together. Times of the
// simulated GPU are not real, so in that case nothing is replayed and waits are counted instead.
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "analysis.h"
#include "remedies.h"

// Limits on replays of single remedies: their number, and their total steps, which take about half
// a second.
enum { MOST_ALONE = 200, LEAST_ALONE = 8, MOST_STEPS = 50000000 };

const struct analyze_threshold analyze_wait_us = {
    "wait-us", "microseconds", 100, "the calls of a remedy waited at least this long in total"};
const struct analyze_threshold analyze_wait_percent = {"wait-percent", "percent", 1,
                                                       "and at least this much of the run"};

// --- Collecting ----------------------------------------------------------------------------------

// Adds paths to those of a remedy. Returns whether they are new.
static bool add_paths(struct analyze_remedies *remedies, uint32_t index, struct analyze_paths paths)
{
    struct analyze_remedy *remedy = &remedies->remedies.items[index];
    const uint64_t key[] = {index, paths.path, paths.other_path};
    uint64_t *slot = base_map_put(&remedies->path_keys, base_hash(key, sizeof(key)), NULL);
    struct analyze_remedy_paths *made =
        slot && *slot == 0 ? base_array_push(&remedies->paths) : NULL;
    remedies->failed |= !slot || (*slot == 0 && !made);
    if (!made)
        return false;
    *made = (struct analyze_remedy_paths){paths, remedy->last_paths};
    *slot = remedies->paths.count;
    remedy->last_paths = (uint32_t)remedies->paths.count;
    remedy->path_count++;
    return true;
}

struct analyze_remedy *analyze_remedy_at(struct analyze_remedies *remedies,
                                         enum analyze_pattern pattern, uint32_t path,
                                         uint32_t other_path, uint64_t size_class, bool *is_new)
{
    const struct analyze_model *model = remedies->model;
    const uint64_t key[] = {(uint64_t)pattern, analyze_place_of(model, path),
                            other_path ? analyze_place_of(model, other_path) : 0, size_class};
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
    if (remedies->failed)
        return NULL;
    *is_new = add_paths(remedies, (uint32_t)*slot - 1, (struct analyze_paths){path, other_path});
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

bool *analyze_list_taken(struct analyze_remedies *remedies)
{
    bool *taken = calloc(remedies->model->calls.count + 1, sizeof(*taken));
    remedies->failed |= !taken;
    for (size_t i = 0; taken && i < remedies->acts.count; i++) {
        const struct analyze_act *act = &remedies->acts.items[i];
        if (remedies->remedies.items[act->remedy].finding.times)
            taken[act->call] = true;
    }
    return taken;
}

// Sorts acts by remedy, keeping the order in which they were added.
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

// Drops remedies without calls. Their acts stay in the array, but nothing refers to them.
static void leave_out_empty(struct analyze_remedies *remedies)
{
    size_t kept = 0;
    for (size_t i = 0; i < remedies->remedies.count; i++) {
        if (remedies->remedies.items[i].finding.times)
            remedies->remedies.items[kept++] = remedies->remedies.items[i];
    }
    remedies->remedies.count = kept;
}

// Sorts by the largest possible gain first, then by the order of discovery.
static int by_bound(const void *one, const void *other)
{
    const struct analyze_remedy *a = one, *b = other;
    if (a->bound_ns != b->bound_ns)
        return a->bound_ns > b->bound_ns ? -1 : 1;
    return (a->first_act > b->first_act) - (a->first_act < b->first_act);
}

// --- Replaying -----------------------------------------------------------------------------------

struct rating {
    struct analysis *analysis;
    struct analyze_remedies *remedies;
    struct analyze_timeline *timeline;
    uint8_t *actions;  // for each call
    size_t most;       // the first remedies, which are replayed one by one
    uint64_t least_ns; // least gain that is reported
};

static uint64_t least_ns(const struct analyze_remedies *remedies, uint64_t run_ns)
{
    const uint64_t least = analyze_limit(remedies->thresholds, &analyze_wait_us) * UINT64_C(1000);
    const double part =
        (double)run_ns * (double)analyze_limit(remedies->thresholds, &analyze_wait_percent) / 100;
    return part > (double)least ? (uint64_t)part : least;
}

// Returns the end of the run, including the cost of remedies, with one remedy, with ALL that are
// not left out, or with NONE.
#define ALL  SIZE_MAX
#define NONE (SIZE_MAX - 1)
static int64_t run_with(const struct rating *rating, size_t which)
{
    const struct analyze_remedies *remedies = rating->remedies;
    int64_t cost_ns = 0;
    memset(rating->actions, ANALYZE_KEEP, remedies->model->calls.count);
    for (size_t i = 0; i < remedies->remedies.count; i++) {
        const struct analyze_remedy *remedy = &remedies->remedies.items[i];
        if (which == ALL ? remedy->left_out : i != which)
            continue;
        cost_ns += (int64_t)remedy->cost_ns;
        for (size_t k = 0; k < remedy->act_count; k++) {
            const struct analyze_act *act = &remedies->acts.items[remedy->first_act + k];
            uint8_t *action = &rating->actions[act->call];
            *action = *action > act->action ? *action : act->action;
        }
    }
    return analyze_timeline_replay(rating->timeline, rating->actions) + cost_ns;
}

static uint64_t gain(int64_t before_ns, int64_t after_ns, uint64_t bound_ns)
{
    uint64_t gain_ns = before_ns > after_ns ? (uint64_t)(before_ns - after_ns) : 0;
    return gain_ns < bound_ns ? gain_ns : bound_ns;
}

// --- Choosing ------------------------------------------------------------------------------------

static void mark_costly(const struct rating *rating, const struct analyze_remedy *remedy)
{
    const struct analyze_remedy_paths *rows = rating->remedies->paths.items;
    for (uint32_t at = remedy->last_paths; at; at = rows[at - 1].before) {
        const struct analyze_wait_path *path =
            analyze_find_wait_path(rating->analysis, rows[at - 1].paths.path, PROFILE_CALL_COPY);
        assert(path);
        rating->analysis->wait_paths[path - rating->analysis->wait_paths].costly = true;
    }
}

// Drops remedies that are left out. Marks the call paths of those that are too costly: all of them,
// or only those that cost more than they can gain.
static void take_away(struct rating *rating, bool all_costly)
{
    struct analyze_remedy *rows = rating->remedies->remedies.items;
    const size_t count = rating->remedies->remedies.count;
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (!rows[i].left_out) {
            rows[kept++] = rows[i];
        } else if (all_costly || rows[i].cost_ns > rows[i].bound_ns) {
            mark_costly(rating, &rows[i]);
        }
    }
    rating->remedies->remedies.count = kept;
}

// Drops remedies that concern too little time, unless others need them: when a long wait is
// removed, its waiting time may move to a short one. Small remedies follow the first `large` in the
// array, sorted by bound.
static void leave_out_small(struct rating *rating)
{
    struct analyze_remedy *rows = rating->remedies->remedies.items;
    const size_t count = rating->remedies->remedies.count;
    const int64_t least = (int64_t)rating->least_ns;
    size_t large = 0;
    while (large < count && rows[large].bound_ns >= rating->least_ns)
        large++;
    for (size_t i = large; i < count; i++)
        rows[i].left_out = true;
    size_t end = large; // end of the remedies that are replayed
    if (large && rating->most > large)
        end = rating->most < count ? rating->most : count;
    if (large < end) {
        const int64_t without_ns = run_with(rating, ALL);
        for (size_t i = large; i < end; i++)
            rows[i].left_out = false;
        const int64_t best_ns = run_with(rating, ALL);
        for (size_t i = large; i < end && without_ns - best_ns >= least; i++) {
            rows[i].left_out = true;
            rows[i].facts.others_need = run_with(rating, ALL) - best_ns >= least;
            rows[i].left_out = false;
        }
        for (size_t i = large; i < end; i++)
            rows[i].left_out = !rows[i].facts.others_need;
    }
    take_away(rating, false);
}

// Returns whether the cost is large enough to matter.
static bool may_be_costly(const struct analyze_remedy *remedy)
{
    enum { SMALL_PART = 8 };
    return remedy->cost_ns > remedy->bound_ns / SMALL_PART;
}

// Local search over the costly remedies among the first `end`. Starts with all of them left out or
// none, and flips each if that makes the run shorter. Returns the end of the best run.
static int64_t search(struct rating *rating, size_t end, bool left_out)
{
    struct analyze_remedy *rows = rating->remedies->remedies.items;
    for (size_t i = 0; i < end; i++)
        rows[i].left_out = left_out && may_be_costly(&rows[i]);
    int64_t best_ns = run_with(rating, ALL);
    for (size_t i = end; i-- > 0;) {
        if (!may_be_costly(&rows[i]))
            continue;
        rows[i].left_out = !rows[i].left_out;
        const int64_t now_ns = run_with(rating, ALL);
        if (now_ns < best_ns || (now_ns == best_ns && rows[i].left_out))
            best_ns = now_ns;
        else
            rows[i].left_out = !rows[i].left_out;
    }
    return best_ns;
}

// Leaves out remedies that cost more than they gain. Some gain only together, because the waiting
// time of one moves to the other, so the search starts from both extremes.
static void leave_out_costly(struct rating *rating)
{
    const struct analyze_remedy *rows = rating->remedies->remedies.items;
    const size_t count = rating->remedies->remedies.count;
    size_t end = count < rating->most ? count : rating->most;
    while (end && !may_be_costly(&rows[end - 1]))
        end--;
    if (end == 0)
        return;
    const int64_t from_all_ns = search(rating, end, false);
    if (search(rating, end, true) > from_all_ns)
        search(rating, end, false);
    take_away(rating, true);
}

// --- The worth of remedies -----------------------------------------------------------------------

// For each remedy that gains nothing alone, computes how much the common gain shrinks without it.
static void rate_together(struct rating *rating, int64_t best_ns)
{
    const size_t count = rating->remedies->remedies.count;
    for (size_t i = 0; i < count && i < rating->most; i++) {
        struct analyze_remedy *remedy = &rating->remedies->remedies.items[i];
        if (analyze_is_part(remedy->finding.host_ns, rating->analysis->run_time.recorded_ns))
            continue;
        remedy->left_out = true;
        const int64_t without_ns = run_with(rating, ALL);
        remedy->left_out = false;
        if (without_ns > best_ns)
            remedy->finding.together_ns = (uint64_t)(without_ns - best_ns);
    }
}

static void rate(struct rating *rating)
{
    struct analyze_run_time *time = &rating->analysis->run_time;
    leave_out_small(rating);
    leave_out_costly(rating);
    const int64_t before_ns = run_with(rating, NONE);
    uint64_t bound_ns = 0;
    for (size_t i = 0; i < rating->remedies->remedies.count; i++) {
        struct analyze_remedy *remedy = &rating->remedies->remedies.items[i];
        bound_ns += remedy->bound_ns;
        remedy->finding.host_is_bound = i >= rating->most;
        remedy->finding.host_ns = i < rating->most
                                      ? gain(before_ns, run_with(rating, i), remedy->bound_ns)
                                      : remedy->bound_ns;
    }
    const int64_t best_ns = run_with(rating, ALL);
    time->is_estimated = analyze_timeline_is_estimated(rating->timeline);
    time->after_ns = time->recorded_ns - gain(before_ns, best_ns, bound_ns);
    if (time->after_ns < time->recorded_ns)
        rate_together(rating, best_ns);
}

// Returns whether a remedy avoids a wait of the call.
static bool avoids_wait(const struct analyze_remedies *remedies, const struct analyze_act *act)
{
    const uint32_t wait = analyze_wait_of(&remedies->waits, act->call);
    return act->action != ANALYZE_KEEP && wait != ANALYZE_NONE &&
           analyze_has_waited(remedies->model, &remedies->waits.waits.items[wait]);
}

// Without real times, the gain is the number of waits that are avoided; or, as pinning takes time
// even if nothing waits for the GPU, how often memory is pinned. Most frees find no work pending,
// and asynchronous copies do not wait.
static void count_waits(struct analyze_remedies *remedies)
{
    for (size_t i = 0; i < remedies->remedies.count; i++) {
        struct analyze_remedy *remedy = &remedies->remedies.items[i];
        struct analyze_finding *finding = &remedy->finding;
        finding->waits = finding->waits_are_pins ? finding->times : 0;
        for (size_t k = 0; k < remedy->act_count && !finding->waits_are_pins; k++)
            finding->waits += avoids_wait(remedies, &remedies->acts.items[remedy->first_act + k]);
    }
}

bool analyze_rate_remedies(struct analyze_remedies *remedies, struct analysis *analysis)
{
    if (!sort_acts(remedies))
        return false;
    leave_out_empty(remedies);
    if (remedies->model->simulated)
        count_waits(remedies);
    if (remedies->remedies.count == 0 || remedies->model->simulated)
        return true;
    qsort(remedies->remedies.items, remedies->remedies.count, sizeof(*remedies->remedies.items),
          by_bound);
    struct analyze_timeline *timeline = analyze_timeline_new(&remedies->waits);
    struct rating rating = {.analysis = analysis,
                            .remedies = remedies,
                            .timeline = timeline,
                            .actions = calloc(remedies->model->calls.count + 1, 1),
                            .least_ns = least_ns(remedies, analysis->run_time.recorded_ns)};
    const bool good = timeline && rating.actions;
    if (good) {
        const size_t most = MOST_STEPS / (analyze_timeline_steps(timeline) + 1);
        rating.most = most > MOST_ALONE ? MOST_ALONE : most < LEAST_ALONE ? LEAST_ALONE : most;
        rate(&rating);
    }
    analyze_timeline_free(timeline);
    free(rating.actions);
    return good;
}
