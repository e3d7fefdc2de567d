// SPDX-License-Identifier: Apache-2.0
// Turns judged waits into findings with their worth: sums up waits by call path, then collects and
// rates remedies.
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "analysis.h"
#include "remedies.h"

// --- Call paths ----------------------------------------------------------------------------------

static int by_path(const void *one, const void *other)
{
    const struct analyze_wait_path *a = one, *b = other;
    if (a->path != b->path)
        return a->path < b->path ? -1 : 1;
    return (a->kind > b->kind) - (a->kind < b->kind);
}

// Judges the calls of one kind at the same source lines together. Returns false when memory ran
// out.
static bool judge_lines(const struct analyze_model *model, struct analyze_wait_path *rows,
                        size_t count)
{
    enum { BUSY = 2, LATE = 4, CHECKS = 8, MAY_CHECK = 16 };
    struct base_map lines = {0}; // source lines and kind to flags
    bool good = true;
    for (size_t round = 0; round < 2; round++) {
        for (size_t i = 0; i < count && good; i++) {
            struct analyze_wait_path *row = &rows[i];
            const uint64_t key[] = {analyze_place_of(model, row->path), row->kind};
            uint64_t *flags = base_map_put(&lines, base_hash(key, sizeof(key)), NULL);
            good = flags != NULL;
            if (!good)
                break;
            if (round == 0) {
                const bool may_check =
                    row->kind == PROFILE_CALL_SYNC &&
                    analyze_result_use(model, row->path) == PROFILE_RESULT_UNKNOWN;
                *flags |= (row->needed || row->unknown ? BUSY : 0) | (row->late ? LATE : 0) |
                          (row->checks ? CHECKS : 0) | (may_check ? MAY_CHECK : 0);
            }
            row->deferrable = !(*flags & BUSY);
            row->safe = row->deferrable && !(*flags & LATE);
            row->checking = *flags & CHECKS;
            row->may_check = *flags & MAY_CHECK;
        }
    }
    base_map_fini(&lines);
    return good;
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
        analysis->run_time.waits++;
        analysis->run_time.waited_ns += waited_ns;
        analysis->run_time.unneeded_ns += wait->judgement == ANALYZE_UNNEEDED ? waited_ns : 0;
        analysis->run_time.timed.waits += wait->timed;
        analysis->run_time.timed.waited_ns += wait->timed ? waited_ns : 0;
        if (wait->judgement == ANALYZE_UNKNOWN) {
            analysis->run_time.unknown[wait->unknown].waits++;
            analysis->run_time.unknown[wait->unknown].waited_ns += waited_ns;
        }
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
        row->timed += wait->timed;
        row->checks += wait->checks;
        row->may_print |= wait->may_print;
        row->shown += wait->judgement == ANALYZE_UNKNOWN && wait->unknown == ANALYZE_WAIT_OUTPUT;
        row->waited += model->simulated ? analyze_has_waited(model, wait)
                                        : (call->flags & ANALYZE_WAITED) != 0;
        row->waited_ns += waited_ns;
    }
    base_map_fini(&rows);
    good = good && judge_lines(model, paths.items, paths.count);
    if (good && paths.count)
        qsort(paths.items, paths.count, sizeof(*paths.items), by_path);
    analysis->wait_paths = paths.items;
    analysis->wait_path_count = paths.count;
    return good;
}

// --- Waits that are in no finding ----------------------------------------------------------------

static enum analyze_wait_unlisted why_unlisted(const struct analysis *analysis,
                                               const struct analyze_call *call)
{
    const struct analyze_wait_path *path =
        analyze_find_wait_path(analysis, call->path, (enum profile_call_kind)call->kind);
    if (!path)
        return ANALYZE_UNLISTED_NOWHERE;
    if (!path->deferrable)
        return path->needed ? ANALYZE_UNLISTED_NEEDED : ANALYZE_UNLISTED_UNKNOWN;
    return path->costly ? ANALYZE_UNLISTED_COSTLY : ANALYZE_UNLISTED_SMALL;
}

// Returns, for each call, whether a finding is about it; NULL when memory ran out.
static bool *list_found(const struct analyze_remedies *remedies)
{
    bool *found = calloc(remedies->model->calls.count + 1, sizeof(*found));
    for (size_t i = 0; found && i < remedies->remedies.count; i++) {
        const struct analyze_remedy *remedy = &remedies->remedies.items[i];
        for (size_t k = 0; k < remedy->act_count; k++)
            found[remedies->acts.items[remedy->first_act + k].call] = true;
    }
    return found;
}

// Every wait that was not needed and took time is in a finding, or counted here by reason. Called
// when remedies have been chosen.
static bool sum_up_unlisted(struct analysis *analysis, const struct analyze_remedies *remedies)
{
    const struct analyze_model *model = remedies->model;
    bool *found = list_found(remedies);
    for (size_t i = 0; found && i < remedies->waits.waits.count; i++) {
        const struct analyze_wait *wait = &remedies->waits.waits.items[i];
        const struct analyze_call *call = &model->calls.items[wait->call];
        const uint64_t waited_ns = model->host.times.items[wait->call].waited_ns;
        if (wait->judgement != ANALYZE_UNNEEDED || found[wait->call] ||
            !analyze_has_waited(model, wait))
            continue;
        struct analyze_wait_sum *sum = &analysis->run_time.unlisted[why_unlisted(analysis, call)];
        sum->waits++;
        sum->waited_ns += waited_ns;
    }
    const bool good = found != NULL;
    free(found);
    return good;
}

// --- Findings ------------------------------------------------------------------------------------

static void set_paths(struct analyze_run *run, const struct analyze_remedies *remedies,
                      const struct analyze_remedy *remedy, struct analyze_finding *finding)
{
    struct analyze_paths *paths =
        base_new_array(&run->model->arena, struct analyze_paths, remedy->path_count);
    run->failed |= !paths;
    if (!paths)
        return;
    finding->paths = paths;
    finding->path_count = remedy->path_count;
    const struct analyze_remedy_paths *rows = remedies->paths.items;
    size_t left = remedy->path_count;
    for (uint32_t at = remedy->last_paths; at; at = rows[at - 1].before)
        paths[--left] = rows[at - 1].paths;
}

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
        set_paths(run, remedies, remedy, finding);
        struct analyze_wait_facts facts = remedy->facts;
        facts.waited_ns = remedy->bound_ns;
        analyze_set_payload(finding, facts);
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
    // Patterns of larger constructs come last in the list. They look first: a wait that is part of
    // one is no finding by itself.
    for (unsigned i = ANALYZE_PATTERNS; i-- > 0 && !remedies->failed;) {
        const struct analyze_description *pattern = analyze_describe((enum analyze_pattern)i);
        if (pattern->find_remedies)
            pattern->find_remedies(remedies);
    }
    if (remedies->failed || !analyze_rate_remedies(remedies, analysis) ||
        !sum_up_unlisted(analysis, remedies))
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
    // Without times, or if calls or objects are missing, waits cannot be judged.
    if (host->times.count != model->calls.count || host->times.count == 0 || model->dropped)
        return true;
    analysis->run_time = (struct analyze_run_time){.tracked = host->tracked,
                                                   .given_up = host->given_up,
                                                   .recorded_ns = (uint64_t)host->end_ns,
                                                   .after_ns = (uint64_t)host->end_ns};
    bool good = find_all(analysis, run, &remedies);
    analyze_waits_fini(&remedies.waits);
    base_map_fini(&remedies.keys);
    base_array_fini(&remedies.remedies);
    base_array_fini(&remedies.acts);
    base_map_fini(&remedies.path_keys);
    base_array_fini(&remedies.paths);
    return good;
}
