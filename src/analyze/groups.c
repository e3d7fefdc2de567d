// SPDX-License-Identifier: Apache-2.0
// Groups similar matches into findings. Matches are similar if they have the same pattern, call
// paths and object name. A finding describes its best match, with the worth of fixing all matches
// together. A loop can produce hundreds of thousands of matches, so only the changes that fixing
// them makes to lives are kept, and only until the pattern is finished.
#include <string.h>

#include "analyses.h"

// Returns the rank of the highest peak of its device at which the object is in use, 1 being the
// highest; 0: none.
static unsigned peak_of(const struct analyze_run *run, const struct analyze_object *object)
{
    const struct analyze_call *calls = run->model->calls.items;
    if (object->parent != ANALYZE_NONE && !object->counts) // a part determines the size of its pool
        object = &run->model->objects.items[object->parent];
    uint64_t from = object->call == ANALYZE_NONE ? 0 : calls[object->call].number;
    uint64_t to = object->end == ANALYZE_NONE ? ANALYZE_NEVER : calls[object->end].number;
    for (unsigned i = 0; object->counts && i < run->peak_count; i++) {
        const struct analyze_peak *peak = &run->peaks[i];
        if (from <= peak->start && peak->start < to &&
            (!peak->device || peak->device == object->device))
            return peak->rank;
    }
    return 0;
}

struct analyze_finding analyze_begin_finding(const struct analyze_run *run,
                                             enum analyze_pattern pattern, uint32_t object,
                                             uint32_t call, uint32_t other_call)
{
    const struct analyze_call *calls = run->model->calls.items;
    struct analyze_finding finding = {.pattern = pattern, .count = 1, .times = 1};
    if (object != ANALYZE_NONE) {
        const struct analyze_object *row = &run->model->objects.items[object];
        finding.object = row->number;
        finding.peak = peak_of(run, row);
    }
    if (call != ANALYZE_NONE) {
        finding.call = calls[call].number;
        finding.path = calls[call].path;
        finding.kind = (enum profile_call_kind)calls[call].kind;
        finding.kernel = calls[call].kernel;
    }
    if (other_call != ANALYZE_NONE) {
        finding.other_call = calls[other_call].number;
        finding.other_path = calls[other_call].path;
        finding.other_kind = (enum profile_call_kind)calls[other_call].kind;
        finding.other_kernel = calls[other_call].kernel;
    }
    return finding;
}

// --- Members -------------------------------------------------------------------------------------

uint64_t analyze_place_of(const struct analyze_model *model, uint32_t path)
{
    const uint64_t *lines = base_map_get(&model->places, path);
    return lines ? *lines : path;
}

uint64_t analyze_place_of_call(const struct analyze_model *model, uint32_t path, uint64_t call)
{
    return path ? analyze_place_of(model, path) : UINT64_MAX - call;
}

static uint64_t made_at(const struct analyze_run *run, const struct analyze_object *object)
{
    const struct analyze_call *made =
        object->call == ANALYZE_NONE ? NULL : &run->model->calls.items[object->call];
    return analyze_place_of_call(run->model, made ? made->path : 0, object->number);
}

// Equal names have equal pointers, because a profile holds each text once. A function that
// allocates for others gives all objects one name, so their call paths count, too.
uint64_t analyze_key_of_object(const struct analyze_run *run, const struct analyze_object *object)
{
    const bool has_name = object->name && object->name[0];
    const uint64_t key[] = {has_name ? (uint64_t)(uintptr_t)object->name : 0, made_at(run, object)};
    return base_hash(key, sizeof(key));
}

uint64_t analyze_key_of_alike(const struct analyze_run *run, const struct analyze_object *object)
{
    const uint64_t key[] = {analyze_key_of_object(run, object), object->bytes};
    return base_hash(key, sizeof(key));
}

uint64_t analyze_key_of(const struct analyze_run *run, const struct analyze_finding *finding)
{
    const struct analyze_description *description = analyze_describe(finding->pattern);
    const struct analyze_line line = analyze_line_at(finding);
    const uint32_t index = analyze_find_object(run->model, finding->object);
    const struct analyze_object *object =
        index == ANALYZE_NONE ? NULL : &run->model->objects.items[index];
    const bool has_name = object && object->name && object->name[0];
    const bool at_line = line.file && line.line, whole = description->is_about_object,
               of_kernel = description->is_about_kernel,
               of_object = of_kernel || description->needs == ANALYZE_INPUT_VALUES;
    uint64_t key[6] = {finding->aspect};
    if (whole) {
        key[1] = object ? analyze_key_of_object(run, object) : 0;
    } else if (at_line) {
        key[1] = (uint64_t)(uintptr_t)line.file;
        key[2] = line.line;
        key[3] = finding->kernel;
    } else {
        key[1] =
            finding->call ? analyze_place_of_call(run->model, finding->path, finding->call) : 0;
        key[2] = of_kernel ? finding->kernel : 0;
        // What is wrong with a kernel's use of one object, or with its values, says nothing about
        // others.
        if (object && (of_object || !finding->call)) {
            key[3] = has_name ? (uint64_t)(uintptr_t)object->name : made_at(run, object);
            key[4] = 1 + has_name;
        }
    }
    return base_hash(key, sizeof(key));
}

// A finding that saves time or waits, or is needed to lower the highest peak together with others,
// ranks like one at the highest peak. So does one on what kernels do, if no object is known.
static bool is_as_of_highest(const struct analyze_finding *finding)
{
    return finding->host_ns || finding->waits || finding->only_together ||
           (!finding->object && (finding->gpu_ns || finding->traffic_bytes));
}

static int by_rank(const struct analyze_finding *a, const struct analyze_worth *a_worth,
                   const struct analyze_finding *b, const struct analyze_worth *b_worth)
{
    // Subtracting 1 makes 0, no peak, the largest value.
    unsigned a_peak = (is_as_of_highest(a) ? 1 : a->peak) - 1;
    unsigned b_peak = (is_as_of_highest(b) ? 1 : b->peak) - 1;
#define COMPARE(first, second) \
    if ((first) != (second))   \
    return (first) > (second) ? -1 : 1
    COMPARE(a->worthwhile, b->worthwhile);
    COMPARE(b->is_hard, a->is_hard);
    COMPARE(b_peak, a_peak);
    COMPARE(a->share, b->share);
    COMPARE(a_worth->peak_bytes, b_worth->peak_bytes);
    COMPARE(a_worth->traffic_bytes, b_worth->traffic_bytes);
    COMPARE(a_worth->gpu_ns, b_worth->gpu_ns);
    COMPARE(b->object, a->object);
    COMPARE(b->pattern, a->pattern);
    COMPARE(b->call, a->call);
#undef COMPARE
    return 0;
}

static struct analyze_worth worth_of(const struct analyze_finding *finding)
{
    return (struct analyze_worth){finding->peak_bytes, finding->traffic_bytes, finding->gpu_ns};
}

int analyze_by_rank(const void *one, const void *other)
{
    const struct analyze_finding *a = *(const struct analyze_finding *const *)one;
    const struct analyze_finding *b = *(const struct analyze_finding *const *)other;
    const struct analyze_worth a_worth = worth_of(a), b_worth = worth_of(b);
    return by_rank(a, &a_worth, b, &b_worth);
}

// Adds a match: the finding describes the best one, but its sums cover all.
static void join(struct analyze_finding *group, struct analyze_worth *best,
                 const struct analyze_finding *member)
{
    const struct analyze_worth worth = worth_of(member);
    const struct analyze_finding before = *group;
    if (by_rank(member, &worth, group, best) < 0) {
        *group = *member;
        *best = worth;
    }
    group->count = before.count + 1;
    group->times = before.times + member->times;
    group->traffic_bytes = before.traffic_bytes + member->traffic_bytes;
    group->gpu_ns = before.gpu_ns + member->gpu_ns;
    group->traffic_is_bound = before.traffic_is_bound || member->traffic_is_bound;
    group->time_is_estimate = before.time_is_estimate || member->time_is_estimate;
}

void analyze_set_enough(struct analyze_run *run, const struct analyze_object *object,
                        uint64_t bytes)
{
    uint64_t *slot = bytes ? base_map_put(&run->smaller, object->number, NULL) : NULL;
    run->failed |= bytes && !slot;
    if (slot && (*slot == 0 || bytes < *slot))
        *slot = bytes;
}

// Returns whether the user would have to change the code of a library, such as cuBLAS.
static bool is_for_library(const struct analyze_run *run, const struct analyze_finding *finding)
{
    return analyze_describe(finding->pattern)->changes_kernel &&
           finding->kind == PROFILE_CALL_LAUNCH &&
           base_map_get(&run->model->of_libraries, finding->path);
}

uint32_t analyze_add_finding(struct analyze_run *run, const struct analyze_finding *finding)
{
    if (is_for_library(run, finding))
        return ANALYZE_NONE;
    const uint32_t object = analyze_find_object(run->model, finding->object);
    uint64_t *slot = base_map_put(&run->groups, analyze_key_of(run, finding), NULL);
    if (slot && *slot == 0) {
        struct analyze_finding *made = base_array_push(&run->findings);
        struct analyze_worth *best = made ? base_array_push(&run->best) : NULL;
        if (best) {
            *made = *finding;
            *best = worth_of(finding);
            *slot = run->findings.count;
        }
    } else if (slot) {
        size_t index = *slot - 1;
        join(&run->findings.items[index], &run->best.items[index], finding);
    }
    run->failed |= !slot || *slot == 0 || run->findings.count >= ANALYZE_NONE;
    if (run->failed)
        return ANALYZE_NONE;
    uint32_t group = (uint32_t)(*slot - 1);
    if (object != ANALYZE_NONE && run->findings.items[group].count <= ANALYZE_MOST_OBJECTS) {
        struct analyze_member *member = base_array_push(&run->members);
        run->failed |= !member;
        if (member)
            *member = (struct analyze_member){group, object};
    }
    return group;
}

void analyze_add_change(struct analyze_run *run, uint32_t group, struct analyze_change change)
{
    if (group == ANALYZE_NONE || change.from >= change.to || change.bytes == 0)
        return;
    struct analyze_change *row = base_array_push(&run->changes);
    run->failed |= !row;
    if (!row)
        return;
    *row = change;
    row->group = group;
}

void analyze_add_fix(struct analyze_run *run, uint32_t group, const struct analyze_object *object,
                     uint32_t from, uint32_t to, uint64_t bytes)
{
    struct analyze_change change = {.from = from, .to = to, .bytes = bytes, .group = group};
    if (group == ANALYZE_NONE || from >= to || bytes == 0 || !analyze_change_of(object, &change))
        return;
    struct analyze_fix *row = base_array_push(&run->fixes);
    run->failed |= !row;
    if (row)
        *row = (struct analyze_fix){(uint32_t)(object - run->model->objects.items), change};
}

void analyze_add_shorter(struct analyze_run *run, struct analyze_finding *finding,
                         const struct analyze_object *object, uint32_t from, uint32_t to,
                         uint64_t bytes)
{
    struct analyze_change change = {.from = from, .to = to, .bytes = bytes};
    if (!analyze_change_of(object, &change)) {
        analyze_add_finding(run, finding);
        return;
    }
    finding->peak_bytes = analyze_replay_gain(run->replay, &change, 1);
    const uint32_t group = analyze_add_finding(run, finding);
    analyze_add_change(run, group, change);
    if (!analyze_describe(finding->pattern)->is_trade_off && !finding->is_hard)
        analyze_add_fix(run, group, object, from, to, bytes);
}

// --- Groups --------------------------------------------------------------------------------------

// Sets the worth of each finding of the pattern: the gain of all its changes together.
static void set_worth(struct analyze_run *run, size_t first)
{
    size_t count = run->findings.count - first, *starts = calloc(count + 1, sizeof(*starts));
    struct analyze_change *sorted = calloc(run->changes.count + 1, sizeof(*sorted));
    run->failed |= !starts || !sorted;
    for (size_t i = 0; i < run->changes.count && !run->failed; i++)
        starts[run->changes.items[i].group - first + 1]++;
    for (size_t i = 0; i < count && !run->failed; i++)
        starts[i + 1] += starts[i];
    // Sorts changes by group. Each is put at its group's next position; afterwards starts[i] is the
    // end of group i.
    for (size_t i = 0; i < run->changes.count && !run->failed; i++)
        sorted[starts[run->changes.items[i].group - first]++] = run->changes.items[i];
    for (size_t i = 0; i < count && !run->failed; i++) {
        struct analyze_finding *finding = &run->findings.items[first + i];
        size_t start = i ? starts[i - 1] : 0;
        if (finding->count > 1)
            finding->peak_bytes =
                analyze_replay_gain(run->replay, sorted + start, starts[i] - start);
    }
    run->failed |= analyze_replay_failed(run->replay);
    free(starts);
    free(sorted);
}

// Lists the objects of the first matches of each finding, that of the best match first.
static void set_objects(struct analyze_run *run, size_t first)
{
    const struct analyze_object *objects = run->model->objects.items;
    uint64_t **lists = calloc(run->findings.count - first + 1, sizeof(*lists));
    run->failed |= !lists;
    for (size_t i = 0; i < run->members.count && !run->failed; i++) {
        const struct analyze_member *member = &run->members.items[i];
        struct analyze_finding *finding = &run->findings.items[member->group];
        uint64_t **list = &lists[member->group - first];
        uint64_t room =
            finding->count < ANALYZE_MOST_OBJECTS ? finding->count : ANALYZE_MOST_OBJECTS;
        if (!*list) {
            *list = base_new_array(&run->model->arena, uint64_t, room);
            run->failed |= !*list;
            if (!*list)
                break;
            (*list)[finding->object_count++] = finding->object;
            finding->objects = *list;
        }
        uint64_t number = objects[member->object].number;
        if (number != finding->object && finding->object_count < room)
            (*list)[finding->object_count++] = number;
    }
    free(lists);
}

void analyze_end_pattern(struct analyze_run *run, size_t first)
{
    if (!run->failed)
        set_worth(run, first);
    if (!run->failed)
        set_objects(run, first);
    run->members.count = run->changes.count = 0;
    base_map_fini(&run->groups);
}
