// SPDX-License-Identifier: Apache-2.0
// The list of analyses, and what is done with what they find: peaks, the worth of all together, and
// the order in which findings are told.
#include "analyze.h"

#include <stdlib.h>

#include "analyses.h"
#include "analysis.h"

// Adding an analysis is a file and a row here.
static const struct {
    const char *word;
    analyze_analysis *look;
    bool needs_all; // it rests on no call, access or object being missing
} analyses[ANALYZE_PATTERNS] = {
    [ANALYZE_EARLY_ALLOCATION] = {"early-allocation", analyze_early_allocation, true},
    [ANALYZE_LATE_DEALLOCATION] = {"late-deallocation", analyze_late_deallocation, true},
    [ANALYZE_REDUNDANT_ALLOCATION] = {"redundant-allocation", analyze_redundant_allocation, true},
    [ANALYZE_UNUSED_ALLOCATION] = {"unused-allocation", analyze_unused_allocation, true},
    [ANALYZE_MEMORY_LEAK] = {"memory-leak", analyze_memory_leak, true},
    [ANALYZE_TEMPORARY_IDLENESS] = {"temporary-idleness", analyze_temporary_idleness, true},
    [ANALYZE_DEAD_WRITE] = {"dead-write", analyze_dead_write, true},
    [ANALYZE_OVERALLOCATION] = {"overallocation", analyze_overallocation, true},
    [ANALYZE_NON_UNIFORM_ACCESS] = {"non-uniform-access", analyze_non_uniform_access, false},
    [ANALYZE_STRUCTURED_ACCESS] = {"structured-access", analyze_structured_access, true},
};

const char *analyze_pattern_word(enum analyze_pattern pattern)
{
    return (unsigned)pattern < ANALYZE_PATTERNS ? analyses[pattern].word : "?";
}

bool analyze_is_subject(const struct analyze_object *object)
{
    switch (object->kind) {
    case PROFILE_OBJECT_DEVICE:
    case PROFILE_OBJECT_PITCHED:
    case PROFILE_OBJECT_POOL:
    case PROFILE_OBJECT_MAPPING:
    case PROFILE_OBJECT_PART: return !object->has_parts && object->bytes > 0;
    default: return false;
    }
}

struct analyze_finding *analyze_add_finding(struct analyze_run *run, enum analyze_pattern pattern,
                                            uint32_t object, uint32_t call, uint32_t other_call)
{
    const struct analyze_call *calls = run->model->calls.items;
    struct analyze_finding *finding = base_array_push(&run->findings);
    run->failed |= !finding;
    if (!finding)
        return NULL;
    finding->pattern = pattern;
    finding->object = run->model->objects.items[object].number;
    finding->times = 1;
    finding->is_heap = run->model->objects.items[object].kind == PROFILE_OBJECT_HEAP;
    if (call != ANALYZE_NONE) {
        finding->call = calls[call].number;
        finding->path = calls[call].path;
        finding->kind = (enum profile_call_kind)calls[call].kind;
        finding->kernel = calls[call].kernel;
    }
    if (other_call != ANALYZE_NONE) {
        finding->other_call = calls[other_call].number;
        finding->other_path = calls[other_call].path;
        finding->other_kind = (enum profile_call_kind)calls[other_call].kind;
        finding->other_kernel = calls[other_call].kernel;
    }
    return finding;
}

// --- Peaks ---------------------------------------------------------------------------------------

static enum base_code find_peaks(struct analysis *analysis, struct base_error *error)
{
    const struct analyze_model *model = &analysis->model;
    size_t most = analysis->thresholds.peaks ? analysis->thresholds.peaks : 1, count = 0;
    struct analyze_life *lives = calloc(model->objects.count + 1, sizeof(*lives));
    analysis->peaks = calloc(most, sizeof(*analysis->peaks));
    enum base_code code = BASE_NO_MEMORY;
    if (lives && analysis->peaks) {
        for (size_t i = 0; i < model->objects.count; i++) {
            const struct analyze_object *object = &model->objects.items[i];
            if (object->counts)
                lives[count++] = (struct analyze_life){
                    object->call == ANALYZE_NONE ? 0 : model->calls.items[object->call].number,
                    object->end == ANALYZE_NONE ? ANALYZE_NEVER
                                                : model->calls.items[object->end].number,
                    object->bytes};
        }
        code =
            analyze_find_peaks(lives, count, analysis->peaks, most, &analysis->peak_count, error);
    } else {
        base_fail(error, code, "out of memory");
    }
    free(lives);
    return code;
}

// The highest of the peaks that the object is in use at, counted from 1; 0: none.
static unsigned peak_of(const struct analysis *analysis, const struct analyze_object *object)
{
    const struct analyze_call *calls = analysis->model.calls.items;
    uint64_t from = object->call == ANALYZE_NONE ? 0 : calls[object->call].number;
    uint64_t to = object->end == ANALYZE_NONE ? ANALYZE_NEVER : calls[object->end].number;
    for (unsigned i = 0; object->counts && i < analysis->peak_count; i++) {
        if (from <= analysis->peaks[i].start && analysis->peaks[i].start < to)
            return i + 1;
    }
    return 0;
}

// --- All together --------------------------------------------------------------------------------

enum { MOST_LATER = 256 }; // first accesses that are looked at for one that is not surely later

// Calls that are the first to touch some object, in order.
struct firsts {
    uint32_t *calls;
    size_t count;
};

static int by_index(const void *one, const void *other)
{
    uint32_t a = *(const uint32_t *)one, b = *(const uint32_t *)other;
    return a < b ? -1 : a > b;
}

// The end of the time in which the object's memory is needed: other memory that is first touched
// before it may be touched at the same time.
static uint32_t needed_until(const struct analysis *analysis, const struct firsts *firsts,
                             uint32_t last)
{
    const struct analyze_model *model = &analysis->model;
    size_t low = 0, high = firsts->count;
    uint32_t until = last + 1;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (firsts->calls[middle] <= last)
            low = middle + 1;
        else
            high = middle;
    }
    for (size_t i = low; i < firsts->count && i < low + MOST_LATER; i++) {
        if (!analyze_is_before(model, analysis->clocks, last, firsts->calls[i]))
            until = firsts->calls[i] + 1;
    }
    return until;
}

static uint64_t needed_bytes(const struct analyze_object *object, const struct base_map *smaller)
{
    const uint64_t *bytes = base_map_get(smaller, object->number);
    return bytes && *bytes < object->bytes ? *bytes : object->bytes;
}

struct packing {
    const struct analysis *analysis;
    struct base_map smaller; // number of an object to the bytes that would do
    struct firsts firsts;
    BASE_ARRAY(struct analyze_block) blocks;
    bool failed; // memory ran out
};

static void add_block(struct packing *packing, const struct analyze_object *object, uint32_t from,
                      uint32_t to)
{
    struct analyze_block *block = from < to ? base_array_push(&packing->blocks) : NULL;
    packing->failed |= from < to && !block;
    if (block)
        *block = (struct analyze_block){from, to, needed_bytes(object, &packing->smaller),
                                        object->device};
}

// The times in which the object's memory is needed: from its first use to its last, without those
// in which it is idle. Where it may be used in ways that nobody saw, until then and from then on.
static void add_blocks(struct packing *packing, const struct analyze_object *object)
{
    const struct analysis *analysis = packing->analysis;
    const struct analyze_model *model = &analysis->model;
    uint32_t from = analyze_begin(object), to = analyze_end(model, object);
    if (!analyze_is_subject(object) || from >= to) {
        add_block(packing, object, from, to);
        return;
    }
    uint32_t start = analyze_first_unseen(model, object, from, to);
    uint32_t last = analyze_last_unseen(model, object, from, to), before = start;
    if (object->first != ANALYZE_NONE && (start == ANALYZE_NONE || object->first < start))
        start = before = object->first;
    if (object->last != ANALYZE_NONE && (last == ANALYZE_NONE || object->last > last))
        last = object->last;
    if (start == ANALYZE_NONE)
        return;
    for (uint32_t u = 0; u < object->use_count; u++) {
        uint32_t call = model->touches.items[model->uses[object->first_use + u]].call;
        if (call > before && analyze_is_idle(model, &analysis->thresholds, object, before, call)) {
            add_block(packing, object, start, needed_until(analysis, &packing->firsts, before));
            start = call;
        }
        before = call;
    }
    add_block(packing, object, start, needed_until(analysis, &packing->firsts, last));
}

static void prepare_packing(struct packing *packing, const struct analyze_run *run)
{
    const struct analyze_model *model = &packing->analysis->model;
    packing->firsts.calls = calloc(model->objects.count + 1, sizeof(uint32_t));
    packing->failed = !packing->firsts.calls;
    for (size_t i = 0; i < run->findings.count && !packing->failed; i++) {
        const struct analyze_finding *finding = &run->findings.items[i];
        uint64_t *slot =
            finding->bytes ? base_map_put(&packing->smaller, finding->object, NULL) : NULL;
        packing->failed = !slot && finding->bytes;
        if (slot && (*slot == 0 || finding->bytes < *slot))
            *slot = finding->bytes;
    }
    for (size_t i = 0; i < model->objects.count && !packing->failed; i++) {
        if (model->objects.items[i].first != ANALYZE_NONE)
            packing->firsts.calls[packing->firsts.count++] = model->objects.items[i].first;
    }
    if (!packing->failed)
        qsort(packing->firsts.calls, packing->firsts.count, sizeof(uint32_t), by_index);
}

static bool pack(struct analysis *analysis, const struct analyze_run *run)
{
    const struct analyze_model *model = &analysis->model;
    struct packing packing = {.analysis = analysis};
    uint64_t peak = analysis->peak_count ? analysis->peaks[0].bytes : 0;
    prepare_packing(&packing, run);
    for (size_t i = 0; i < model->objects.count && !packing.failed; i++) {
        const struct analyze_object *object = &model->objects.items[i];
        if (object->counts && object->bytes)
            add_blocks(&packing, object);
    }
    bool good = !packing.failed && analyze_pack(packing.blocks.items, packing.blocks.count,
                                                &analysis->achievable, &analysis->least);
    if (analysis->achievable > peak)
        analysis->achievable = peak;
    if (analysis->least > analysis->achievable)
        analysis->least = analysis->achievable;
    base_map_fini(&packing.smaller);
    base_array_fini(&packing.blocks);
    free(packing.firsts.calls);
    return good;
}

// --- The findings --------------------------------------------------------------------------------

// Those of the highest peak first; then by worth; then as objects and patterns come.
static int by_rank(const void *one, const void *other)
{
    const struct analyze_finding *a = one, *b = other;
    unsigned a_peak = a->peak - 1, b_peak = b->peak - 1; // none is the largest
#define COMPARE(first, second) \
    if ((first) != (second))   \
    return (first) > (second) ? -1 : 1
    COMPARE(b_peak, a_peak);
    COMPARE(a->peak_bytes, b->peak_bytes);
    COMPARE(a->traffic_bytes, b->traffic_bytes);
    COMPARE(a->gpu_ns, b->gpu_ns);
    COMPARE(b->object, a->object);
    COMPARE(b->pattern, a->pattern);
    COMPARE(b->call, a->call);
#undef COMPARE
    return 0;
}

static void look(struct analysis *analysis, struct analyze_run *run)
{
    const struct analyze_model *model = &analysis->model;
    for (size_t i = 0; i < ANALYZE_PATTERNS && !run->failed; i++) {
        if (!model->dropped || !analyses[i].needs_all)
            analyses[i].look(run);
    }
    for (size_t i = 0; i < run->findings.count && !run->failed; i++) {
        struct analyze_finding *finding = &run->findings.items[i];
        uint32_t object = analyze_find_object(model, finding->object);
        finding->peak = peak_of(analysis, &model->objects.items[object]);
    }
    if (run->findings.count && !run->failed)
        qsort(run->findings.items, run->findings.count, sizeof(run->findings.items[0]), by_rank);
}

enum base_code analyze_model(struct analysis *analysis, struct base_error *error)
{
    struct analyze_model *model = &analysis->model;
    struct analyze_run run = {
        .model = model, .thresholds = &analysis->thresholds, .peak = ANALYZE_NONE};
    enum base_code code = find_peaks(analysis, error);
    if (code != BASE_OK)
        return code;
    run.failed = !analyze_set_order(model, &analysis->clocks);
    run.clocks = analysis->clocks;
    run.replay = run.failed ? NULL : analyze_replay_new(model);
    run.failed |= !run.replay;
    if (analysis->peak_count)
        run.peak = analyze_find_call(model, analysis->peaks[0].start);
    if (!run.failed)
        look(analysis, &run);
    analysis->achievable = analysis->least = analysis->peak_count ? analysis->peaks[0].bytes : 0;
    if (!run.failed && !model->dropped)
        run.failed |= !pack(analysis, &run);
    analyze_replay_free(run.replay);
    analysis->findings = run.findings.items;
    analysis->finding_count = run.findings.count;
    BASE_RETURN_IF(run.failed, error, BASE_NO_MEMORY, "out of memory");
    return BASE_OK;
}

enum base_code analyze_profile(struct profile *profile, const struct analyze_thresholds *thresholds,
                               struct analysis **analysis, struct base_error *error)
{
    *analysis = calloc(1, sizeof(**analysis));
    BASE_RETURN_IF(!*analysis, error, BASE_NO_MEMORY, "out of memory");
    (*analysis)->thresholds = *thresholds;
    enum base_code code = analyze_load(&(*analysis)->model, profile, error);
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
    free(analysis->peaks);
    free(analysis);
}

size_t analyze_finding_count(const struct analysis *analysis)
{
    return analysis->finding_count;
}

const struct analyze_finding *analyze_finding(const struct analysis *analysis, size_t index)
{
    return &analysis->findings[index];
}

uint64_t analyze_order(const struct analysis *analysis, uint64_t call)
{
    uint32_t index = analyze_find_call(&analysis->model, call);
    return index == ANALYZE_NONE ? 0 : analysis->model.calls.items[index].order;
}

size_t analyze_peaks(const struct analysis *analysis, const struct analyze_peak **peaks)
{
    *peaks = analysis->peaks;
    return analysis->peak_count;
}

uint64_t analyze_achievable_peak(const struct analysis *analysis)
{
    return analysis->achievable;
}

uint64_t analyze_least_peak(const struct analysis *analysis)
{
    return analysis->least;
}

bool analyze_is_incomplete(const struct analysis *analysis)
{
    return analysis->model.dropped;
}

uint64_t analyze_unseen_launches(const struct analysis *analysis)
{
    return analysis->model.unseen_count;
}
