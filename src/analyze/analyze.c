// SPDX-License-Identifier: Apache-2.0
// Runs all analyses and combines their results: peaks, the worth of all findings together, and the
// ranking of findings.
#include "analyze.h"

#include <stdlib.h>
#include <string.h>

#include "analyses.h"
#include "analysis.h"
#include "remedies.h"

bool analyze_is_subject(const struct analyze_object *object)
{
    switch (object->kind) {
    case PROFILE_OBJECT_DEVICE:
    case PROFILE_OBJECT_PITCHED:
    case PROFILE_OBJECT_POOL:
    case PROFILE_OBJECT_MAPPING:
    case PROFILE_OBJECT_PART:
    case PROFILE_OBJECT_TENSOR:
        return !object->has_parts && !object->blurred && object->bytes > 0 && !object->is_host &&
               !object->elsewhere && !object->of_library;
    default: return false;
    }
}

bool analyze_is_unused(const struct analyze_model *model, const struct analyze_object *object)
{
    const bool is_heap = object->kind == PROFILE_OBJECT_HEAP;
    const uint32_t to = analyze_end(model, object);
    return (analyze_is_subject(object) || is_heap) &&
           (object->first == ANALYZE_NONE || object->is_unused) &&
           analyze_first_hidden(model, object, analyze_begin(object), is_heap ? to + 1 : to) ==
               ANALYZE_NONE;
}

// --- Peaks ---------------------------------------------------------------------------------------

enum { MOST_DEVICES = 64 };

// Lists the devices whose memory is in use, in order. Returns how many there are; memory of devices
// beyond the most counts for the last one.
static size_t list_devices(const struct analyze_model *model, uint32_t devices[MOST_DEVICES])
{
    size_t count = 0;
    for (size_t i = 0; i < model->objects.count; i++) {
        const struct analyze_object *object = &model->objects.items[i];
        if (!object->counts)
            continue;
        const size_t at = base_search(0, count, k, devices[k] < object->device);
        if ((at < count && devices[at] == object->device) || count == MOST_DEVICES)
            continue;
        memmove(&devices[at + 1], &devices[at], (count++ - at) * sizeof(*devices));
        devices[at] = object->device;
    }
    return count;
}

// Finds the highest peaks of the device, or of all memory if device is 0.
static enum base_code find_peaks_of(const struct analyze_model *model, uint32_t device,
                                    struct analyze_life *lives, struct analyze_peak *peaks,
                                    size_t most, size_t *found, struct base_error *error)
{
    size_t count = 0;
    for (size_t i = 0; i < model->objects.count; i++) {
        const struct analyze_object *object = &model->objects.items[i];
        if (object->counts && (!device || object->device == device))
            lives[count++] = (struct analyze_life){
                object->call == ANALYZE_NONE ? 0 : model->calls.items[object->call].number,
                object->end == ANALYZE_NONE ? ANALYZE_NEVER
                                            : model->calls.items[object->end].number,
                object->bytes};
    }
    const enum base_code code = analyze_find_peaks(lives, count, peaks, most, found, error);
    for (size_t i = 0; i < *found; i++) {
        peaks[i].device = device;
        peaks[i].rank = (unsigned)i + 1;
    }
    return code;
}

static int by_rank(const void *one, const void *other)
{
    const struct analyze_peak *a = one, *b = other;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return a->device < b->device ? -1 : a->device > b->device;
}

static enum base_code find_peaks(struct analysis *analysis, struct base_error *error)
{
    const struct analyze_model *model = &analysis->model;
    const uint32_t wanted = analyze_limit(&analysis->thresholds, &analyze_peaks_looked_at);
    uint32_t devices[MOST_DEVICES + 1];
    const size_t device_count = list_devices(model, devices), many = device_count > 1;
    const size_t rounds = many ? device_count : 1, most = wanted ? wanted : 1;
    struct analyze_life *lives = calloc(model->objects.count + 1, sizeof(*lives));
    analysis->peaks = calloc(most * rounds, sizeof(*analysis->peaks));
    if (!lives || !analysis->peaks) {
        free(lives);
        return base_no_memory(error);
    }
    enum base_code code = BASE_OK;
    for (size_t i = 0; i < rounds && code == BASE_OK; i++) {
        size_t found = 0;
        struct analyze_peak *peaks = analysis->peaks + analysis->peak_count;
        code = find_peaks_of(model, many ? devices[i] : 0, lives, peaks, most, &found, error);
        if (found &&
            __builtin_add_overflow(analysis->peak_bytes, peaks->bytes, &analysis->peak_bytes))
            analysis->peak_bytes = UINT64_MAX;
        analysis->peak_count += found;
    }
    if (code == BASE_OK && many)
        qsort(analysis->peaks, analysis->peak_count, sizeof(*analysis->peaks), by_rank);
    free(lives);
    return code;
}

// --- The findings --------------------------------------------------------------------------------

static void look(struct analyze_run *run)
{
    for (size_t i = 0; i < ANALYZE_PATTERNS && !run->failed; i++) {
        const struct analyze_description *pattern = analyze_describe((enum analyze_pattern)i);
        size_t first = run->findings.count;
        if (!pattern->find || (run->model->dropped && !pattern->survives_losses))
            continue;
        pattern->find(run);
        analyze_end_pattern(run, first);
    }
}

static void run_fini(struct analyze_run *run)
{
    analyze_replay_free(run->replay);
    base_array_fini(&run->best);
    base_array_fini(&run->members);
    base_array_fini(&run->changes);
    base_array_fini(&run->fixes);
    base_map_fini(&run->groups);
    base_map_fini(&run->smaller);
    free(run->dead);
}

static double part(uint64_t gain, uint64_t whole)
{
    return whole ? (double)gain / (double)whole : 0;
}

// Returns the largest share of anything that the finding saves. The share of traffic counts only if
// its GPU time is unknown.
static double share_of(const struct analysis *analysis, const struct analyze_finding *finding)
{
    const struct analyze_run_time *time = &analysis->run_time;
    const uint64_t peak = analysis->peak_bytes;
    const double shares[] = {
        part(finding->peak_bytes, peak),
        part(finding->together_bytes, peak),
        part(finding->gpu_ns, time->recorded_ns),
        part(finding->gpu_ns ? 0 : finding->traffic_bytes, analysis->used_bytes),
        part(finding->host_ns, time->recorded_ns),
        part(finding->only_together ? finding->together_ns : 0, time->recorded_ns),
        part(finding->waits, time->waits)};
    double most = 0;
    for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++)
        most = shares[i] > most ? shares[i] : most;
    return most < 1 ? most : 1; // memory may be pinned more often than the program waits
}

static void sort(struct analysis *analysis)
{
    if (analysis->finding_count)
        qsort(analysis->ranking, analysis->finding_count, sizeof(*analysis->ranking),
              analyze_by_rank);
}

static bool rank(struct analysis *analysis, const struct analyze_run *run)
{
    size_t count = analysis->finding_count;
    analysis->ranking = calloc(count + 1, sizeof(*analysis->ranking));
    if (!analysis->ranking)
        return false;
    for (size_t i = 0; i < count; i++) {
        struct analyze_finding *finding = &analysis->findings[i];
        finding->share = share_of(analysis, finding);
        analysis->ranking[i] = finding;
        analysis->worthwhile_count += finding->worthwhile;
    }
    sort(analysis);
    analyze_cover(analysis, run);
    sort(analysis);
    return true;
}

// Keeps the order of calls. The rest of the model is freed before a report, which needs memory.
static bool keep_order(struct analysis *analysis)
{
    const struct analyze_model *model = &analysis->model;
    analysis->places = calloc(model->calls.count + 1, sizeof(*analysis->places));
    if (!analysis->places)
        return false;
    analysis->place_count = model->calls.count;
    for (size_t i = 0; i < model->calls.count; i++)
        analysis->places[i] =
            (struct analyze_place){model->calls.items[i].number, model->calls.items[i].order};
    return true;
}

// Without real times, a wait is judged only by the order of calls and by how often it occurs.
static void leave_out_times(struct analyze_thresholds *thresholds)
{
    const struct analyze_threshold *const times[] = {
        &analyze_late_use_us, &analyze_late_use_percent, &analyze_wait_us, &analyze_wait_percent};
    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
        *analyze_limit_at(thresholds, times[i]) = 0;
    uint32_t *calls = analyze_limit_at(thresholds, &analyze_late_use_calls);
    *calls = *calls ? *calls : 1;
}

enum base_code analyze_model(struct analysis *analysis, struct base_error *error)
{
    struct analyze_model *model = &analysis->model;
    if (model->simulated)
        leave_out_times(&analysis->thresholds);
    struct analyze_run run = {.model = model, .thresholds = &analysis->thresholds};
    enum base_code code = find_peaks(analysis, error);
    if (code != BASE_OK)
        return code;
    run.peaks = analysis->peaks;
    run.peak_count = analysis->peak_count;
    run.peak_bytes = analysis->peak_bytes;
    run.failed = !analyze_set_order(model, NULL, &analysis->clocks);
    run.clocks = analysis->clocks;
    run.replay = run.failed ? NULL : analyze_replay_new(model);
    run.failed |= !run.replay;
    if (!run.failed)
        look(&run);
    run.failed = run.failed || !analyze_synchronisation(analysis, &run);
    run.failed = run.failed || !analyze_weigh(&run, &analysis->run_time);
    const uint64_t peak = analysis->peak_bytes;
    analysis->levels = (struct analyze_levels){peak, peak, peak, peak, 0, 0, 0};
    if (!run.failed && !model->dropped)
        run.failed |= !analyze_achievable(&run, peak, &analysis->levels);
    analysis->used_bytes = run.used_bytes;
    analysis->findings = run.findings.items;
    analysis->finding_count = run.findings.count;
    run.failed = run.failed || !rank(analysis, &run);
    run_fini(&run);
    run.failed = run.failed || !keep_order(analysis);
    run.failed = run.failed || !analyze_build_flow(model, &analysis->flow);
    analysis->flow.redundant_percent =
        *analyze_threshold(&analysis->thresholds, "redundant-percent");
    analysis->passed_launches = model->unseen_count - model->hidden_count;
    analysis->unseen_launches = model->hidden_count - model->unfinished - model->failed_uses;
    memcpy(analysis->unseen_because, model->unseen_because, sizeof(model->unseen_because));
    run.failed = run.failed || !analyze_count_contents(model, &analysis->contents_seen);
    analyze_model_empty(model);
    BASE_RETURN_IF_NO_MEMORY(run.failed, error);
    return BASE_OK;
}

enum base_code analyze_profile(struct profile *profile, const struct analyze_thresholds *thresholds,
                               struct analysis **analysis, struct base_error *error)
{
    return analyze_profile_beside(profile, thresholds, NULL, analysis, error);
}

enum base_code analyze_profile_beside(struct profile *profile,
                                      const struct analyze_thresholds *thresholds,
                                      const struct analyze_listener *listener,
                                      struct analysis **analysis, struct base_error *error)
{
    *analysis = calloc(1, sizeof(**analysis));
    BASE_RETURN_IF_NO_MEMORY(!*analysis, error);
    (*analysis)->thresholds = *thresholds;
    enum base_code code = analyze_load(&(*analysis)->model, profile, listener, error);
    if (code == BASE_OK)
        code = analyze_model(*analysis, error);
    if (code != BASE_OK) {
        analyze_free(*analysis);
        *analysis = NULL;
    }
    return code;
}

void analyze_free(struct analysis *analysis)
{
    if (!analysis)
        return;
    analyze_model_fini(&analysis->model);
    analyze_clocks_free(analysis->clocks);
    free(analysis->findings);
    free(analysis->ranking);
    free(analysis->places);
    free(analysis->peaks);
    free(analysis->wait_paths);
    analyze_flow_fini(&analysis->flow);
    free(analysis);
}

size_t analyze_finding_count(const struct analysis *analysis)
{
    return analysis->finding_count;
}

size_t analyze_worthwhile_count(const struct analysis *analysis)
{
    return analysis->worthwhile_count;
}

void analyze_keep_findings(struct analysis *analysis,
                           bool (*keep)(void *user, const struct analyze_finding *finding),
                           void *user)
{
    size_t kept = 0, worthwhile = 0;
    for (size_t i = 0; i < analysis->finding_count; i++) {
        const struct analyze_finding *finding = analysis->ranking[i];
        if (!keep(user, finding))
            continue;
        analysis->ranking[kept++] = finding;
        worthwhile += finding->worthwhile;
    }
    analysis->finding_count = kept;
    analysis->worthwhile_count = worthwhile;
}

bool analyze_is_simulated(const struct analysis *analysis)
{
    return analysis->model.simulated;
}

const struct analyze_finding *analyze_finding(const struct analysis *analysis, size_t index)
{
    return analysis->ranking[index];
}

size_t analyze_covering_rank(const struct analysis *analysis, const struct analyze_finding *finding)
{
    size_t rank = 0;
    while (finding->covered_by && rank < analysis->finding_count &&
           analysis->ranking[rank] != finding->covered_by)
        rank++;
    return finding->covered_by && rank < analysis->finding_count ? rank + 1 : 0;
}

uint64_t analyze_order(const struct analysis *analysis, uint64_t call)
{
    const struct analyze_place *places = analysis->places;
    const size_t count = analysis->place_count;
    if (call && call <= count && places[call - 1].number == call) // usually no call is missing
        return places[call - 1].order;
    const size_t at = base_search(0, count, i, places[i].number < call);
    return at < count && places[at].number == call ? places[at].order : 0;
}

size_t analyze_peaks(const struct analysis *analysis, const struct analyze_peak **peaks)
{
    *peaks = analysis->peaks;
    return analysis->peak_count;
}

uint64_t analyze_peak_bytes(const struct analysis *analysis)
{
    return analysis->peak_bytes;
}

const struct analyze_levels *analyze_peak_levels(const struct analysis *analysis)
{
    return &analysis->levels;
}

uint64_t analyze_achievable_peak(const struct analysis *analysis)
{
    return analysis->levels.achievable;
}

uint64_t analyze_least_peak(const struct analysis *analysis)
{
    return analysis->levels.least;
}

bool analyze_is_incomplete(const struct analysis *analysis)
{
    return analysis->model.dropped;
}

uint64_t analyze_unfinished_calls(const struct analysis *analysis)
{
    return analysis->model.unfinished;
}

uint64_t analyze_unseen_launches(const struct analysis *analysis)
{
    return analysis->unseen_launches;
}

uint64_t analyze_passed_launches(const struct analysis *analysis)
{
    return analysis->passed_launches;
}

uint64_t analyze_unseen_because(const struct analysis *analysis, enum analyze_unseen reason)
{
    return analysis->unseen_because[reason];
}

const struct analyze_contents_seen *analyze_contents_seen(const struct analysis *analysis)
{
    return &analysis->contents_seen;
}

const struct analyze_reached *analyze_reached(const struct analysis *analysis, size_t *count)
{
    *count = analysis->model.reached.count;
    return analysis->model.reached.items;
}

const struct analyze_caches *analyze_caches(const struct analysis *analysis)
{
    return &analysis->model.caches;
}

const struct analyze_run_time *analyze_run_time(const struct analysis *analysis)
{
    return &analysis->run_time;
}

size_t analyze_wait_path_count(const struct analysis *analysis)
{
    return analysis->wait_path_count;
}

const struct analyze_wait_path *analyze_wait_path(const struct analysis *analysis, size_t index)
{
    return &analysis->wait_paths[index];
}

const struct analyze_wait_path *analyze_find_wait_path(const struct analysis *analysis,
                                                       uint32_t path, enum profile_call_kind kind)
{
    const struct analyze_wait_path *rows = analysis->wait_paths;
    const size_t count = analysis->wait_path_count;
    const size_t at = base_search(
        0, count, i, rows[i].path < path || (rows[i].path == path && rows[i].kind < kind));
    if (at < count && rows[at].path == path && rows[at].kind == kind)
        return &rows[at];
    return NULL;
}

const struct analyze_flow *analyze_flow(const struct analysis *analysis)
{
    return &analysis->flow;
}
