// SPDX-License-Identifier: Apache-2.0
// Finds which remedies apply to a profile, and where. Almost everything comes from the analysis;
// the calls of the profile are read only to find the last use of memory that is freed late.
#include <stdlib.h>
#include <string.h>

#include "fix.h"

// An allocation and the last use of its object, between which calls are counted.
struct life {
    size_t place;
    uint64_t object, made_by, last_use;
    uint64_t before; // calls on the path of the last use when the object was made
};

struct finding_all {
    struct fix *fix;
    const struct fix_evidence *evidence;
    BASE_ARRAY(struct life) lives;
    struct base_map counts;  // number of calls on each path of interest
    struct base_map wanted;  // from an object to 1 + the index of its first place
    struct base_map moments; // calls at which a count must be read
    bool failed;
};

// --- Waits ---------------------------------------------------------------------------------------

static struct fix_place *add_place(struct finding_all *all, struct fix_place place)
{
    struct fix_place *added = base_array_push(&all->fix->places);
    if (added)
        *added = place;
    all->failed |= !added;
    return added;
}

// Returns the finding of the pattern at the path, or NULL if its benefit is too small for one.
static const struct analyze_finding *finding_of(const struct finding_all *all,
                                                enum analyze_pattern pattern,
                                                const struct analyze_wait_path *path)
{
    for (size_t i = 0; i < all->evidence->finding_count; i++) {
        const struct analyze_finding *finding = all->evidence->findings[i];
        if (finding->pattern != pattern || finding->kind != path->kind)
            continue;
        for (size_t k = 0; k < finding->path_count; k++) {
            if (finding->paths[k].path == path->path)
                return finding;
        }
    }
    return NULL;
}

// What several call paths gain together counts for the finding's own.
static uint64_t saved_by(const struct analyze_finding *finding, uint32_t path)
{
    return finding->path == path ? finding->host_ns : 0;
}

static void add_wait_path(struct finding_all *all, const struct analyze_wait_path *path)
{
    const bool is_sync = path->kind == PROFILE_CALL_SYNC, is_copy = path->kind == PROFILE_CALL_COPY;
    if (!path->deferrable) {
        struct fix_avoided *avoided = base_array_push(&all->fix->avoided);
        if (avoided)
            *avoided = (struct fix_avoided){path->path, path->kind};
        all->failed |= !avoided;
        all->fix->needed_paths += (is_sync || is_copy) && path->needed > path->timed;
        all->fix->unknown_paths += (is_sync || is_copy) && path->needed == 0 && path->unknown > 0;
    }
    const bool timed = path->timed && path->needed == path->timed && !path->unknown;
    if ((!path->deferrable && !timed) || (!is_sync && !is_copy))
        return;
    const enum analyze_pattern pattern =
        is_copy ? ANALYZE_SYNCHRONOUS_TRANSFER
        : path->safe || (timed && !path->late)
            ? path->safe && path->checking ? ANALYZE_CHECKING_SYNC : ANALYZE_UNNECESSARY_SYNC
            : ANALYZE_MISPLACED_SYNC;
    const struct analyze_finding *finding = finding_of(all, pattern, path);
    const struct fix_place place = {.pattern = pattern,
                                    .remedy = is_copy ? PLAN_ASYNC_COPY : PLAN_DROP_SYNC,
                                    .left = timed                        ? FIX_TIMED
                                            : path->costly               ? FIX_COSTLY
                                            : is_sync && path->may_print ? FIX_NEEDED
                                                                         : FIX_TAKEN,
                                    .path = path->path,
                                    .kind = path->kind,
                                    .calls = path->calls,
                                    .waited_ns = path->waited_ns,
                                    .saved_ns = finding ? saved_by(finding, path->path) : 0};
    add_place(all, place);
}

// --- Memory --------------------------------------------------------------------------------------

// Returns whether a pool can serve the memory of the finding.
static bool may_be_pooled(const struct analyze_finding *finding)
{
    return analyze_number_named(finding, "is_device");
}

// Returns what is known about the waits of frees at the path, or NULL.
static const struct analyze_wait_path *free_of(const struct finding_all *all, uint32_t path)
{
    for (size_t i = 0; i < all->evidence->wait_count; i++) {
        const struct analyze_wait_path *row = all->evidence->waits[i];
        if (row->path == path && row->kind == PROFILE_CALL_FREE)
            return row;
    }
    return NULL;
}

static void add_churn(struct finding_all *all, const struct analyze_finding *finding)
{
    for (size_t i = 0; i < finding->path_count && may_be_pooled(finding); i++) {
        const struct analyze_paths *paths = &finding->paths[i];
        const struct analyze_wait_path *waits = free_of(all, paths->path);
        const struct fix_place place = {.pattern = finding->pattern,
                                        .remedy = PLAN_POOL,
                                        .left = waits && waits->deferrable ? FIX_TAKEN : FIX_NEEDED,
                                        .path = paths->path,
                                        .other_path = paths->other_path,
                                        .kind = PROFILE_CALL_FREE,
                                        .calls = waits ? waits->calls : finding->count,
                                        .waited_ns = waits ? waits->waited_ns : 0,
                                        .saved_ns = i ? 0 : finding->host_ns,
                                        .object = finding->object};
        add_place(all, place);
    }
}

static void want_object(struct finding_all *all, uint64_t object)
{
    all->failed |= !base_map_put(&all->wanted, object, NULL);
}

static void add_backing(struct finding_all *all, const struct analyze_finding *finding)
{
    const bool late = finding->pattern == ANALYZE_LATE_DEALLOCATION;
    const bool may_gain = !all->evidence->peak_stays && (finding->peak || finding->peak_bytes);
    const struct fix_place place = {
        .pattern = finding->pattern,
        .remedy = PLAN_BACK,
        .left = all->evidence->passes ? FIX_PASSED
                : may_gain            ? FIX_TAKEN
                                      : FIX_NO_PEAK,
        .path = late ? 0 : finding->path, // late-deallocation: set at the call that made the object
        .other_path = late ? finding->other_path : 0,
        .kind = PROFILE_CALL_ALLOC,
        .calls = finding->count,
        .peak_bytes = finding->peak_bytes,
        .object = finding->object};
    if (!finding->object || !finding->path || (late && !finding->other_path) ||
        !add_place(all, place))
        return;
    want_object(all, finding->object);
    struct life *life = base_array_push(&all->lives);
    all->failed |= !life;
    if (life)
        *life = (struct life){.place = all->fix->places.count - 1,
                              .object = finding->object,
                              .made_by = late ? 0 : finding->call,
                              .last_use = late ? finding->other_call : 0};
}

static void add_findings(struct finding_all *all)
{
    for (size_t i = 0; i < all->evidence->finding_count && !all->failed; i++) {
        const struct analyze_finding *finding = all->evidence->findings[i];
        switch (finding->pattern) {
        case ANALYZE_ALLOC_FREE_CHURN: add_churn(all, finding); break;
        case ANALYZE_EARLY_ALLOCATION:
        case ANALYZE_LATE_DEALLOCATION: add_backing(all, finding); break;
        default: break;
        }
    }
}

// --- What the profile says of objects and calls --------------------------------------------------

static bool take_object(void *user, const struct profile_object *object)
{
    struct finding_all *all = user;
    if (!base_map_get(&all->wanted, object->number))
        return true;
    for (size_t i = 0; i < all->lives.count; i++) {
        struct life *life = &all->lives.items[i];
        struct fix_place *place = &all->fix->places.items[life->place];
        if (life->object != object->number)
            continue;
        place->name = object->name;
        life->made_by = object->call;
        // A plan cannot change other kinds: parts, for instance, lie inside other objects.
        if (object->kind != PROFILE_OBJECT_DEVICE || object->bytes < FIX_LEAST_BACKED_BYTES)
            place->left = FIX_SMALL;
    }
    return true;
}

// Collects the calls at which objects begin and are last used, and the paths to count.
static void want_calls(struct finding_all *all)
{
    for (size_t i = 0; i < all->lives.count && !all->failed; i++) {
        const struct life *life = &all->lives.items[i];
        const uint32_t path = all->fix->places.items[life->place].other_path;
        if (!life->last_use)
            continue;
        all->failed = !base_map_put(&all->moments, life->made_by, NULL) ||
                      !base_map_put(&all->moments, life->last_use, NULL) ||
                      (path && !base_map_put(&all->counts, path, NULL));
    }
}

static bool take_call(void *user, const struct profile_call *call)
{
    struct finding_all *all = user;
    uint64_t *count = base_map_get(&all->counts, call->path);
    if (count)
        ++*count;
    if (!base_map_get(&all->moments, call->number))
        return true;
    for (size_t i = 0; i < all->lives.count; i++) {
        struct life *life = &all->lives.items[i];
        struct fix_place *place = &all->fix->places.items[life->place];
        const uint64_t *uses = base_map_get(&all->counts, place->other_path);
        if (!life->last_use)
            continue;
        if (life->made_by == call->number) {
            place->path = call->path;
            life->before = uses ? *uses : 0;
        }
        if (life->last_use == call->number && uses)
            place->last_use = *uses - life->before;
    }
    return true;
}

// --- Finding all places --------------------------------------------------------------------------

static int by_worth(const void *a, const void *b)
{
    const struct fix_place *one = a, *other = b;
    if (one->pattern != other->pattern)
        return one->pattern < other->pattern ? -1 : 1;
    if (one->waited_ns != other->waited_ns)
        return one->waited_ns > other->waited_ns ? -1 : 1;
    if (one->peak_bytes != other->peak_bytes)
        return one->peak_bytes > other->peak_bytes ? -1 : 1;
    if (one->path != other->path)
        return one->path < other->path ? -1 : 1;
    return one->other_path < other->other_path ? -1 : one->other_path > other->other_path;
}

enum base_code fix_find_by(struct profile *profile, const struct fix_evidence *evidence,
                           struct fix *fix, struct base_error *error)
{
    struct finding_all all = {.fix = fix, .evidence = evidence};
    enum base_code code = BASE_OK;
    for (size_t i = 0; i < evidence->wait_count && !all.failed; i++)
        add_wait_path(&all, evidence->waits[i]);
    add_findings(&all);
    if (!all.failed && all.lives.count)
        code = profile_each_object(profile, take_object, &all, error);
    if (code == BASE_OK && !all.failed)
        want_calls(&all);
    if (code == BASE_OK && !all.failed && all.lives.count)
        code = profile_each_call(profile, take_call, &all, error);
    for (size_t i = 0; i < fix->places.count; i++) {
        struct fix_place *place = &fix->places.items[i];
        if (place->left == FIX_TAKEN && !place->path)
            place->left = FIX_UNSURE;
    }
    if (fix->places.count)
        qsort(fix->places.items, fix->places.count, sizeof(struct fix_place), by_worth);
    base_array_fini(&all.lives);
    base_map_fini(&all.counts);
    base_map_fini(&all.wanted);
    base_map_fini(&all.moments);
    return code != BASE_OK ? code : all.failed ? base_no_memory(error) : BASE_OK;
}

enum base_code fix_find(struct profile *profile, const struct analysis *analysis, struct fix *fix,
                        struct base_error *error)
{
    const size_t wait_count = analyze_wait_path_count(analysis),
                 finding_count = analyze_finding_count(analysis);
    const struct analyze_wait_path **waits = calloc(wait_count + 1, sizeof(*waits));
    const struct analyze_finding **findings = calloc(finding_count + 1, sizeof(*findings));
    for (size_t i = 0; waits && i < wait_count; i++)
        waits[i] = analyze_wait_path(analysis, i);
    for (size_t i = 0; findings && i < finding_count; i++)
        findings[i] = analyze_finding(analysis, i);
    const bool peak_stays = analyze_achievable_peak(analysis) >= analyze_peak_bytes(analysis);
    const bool passes = analyze_passed_launches(analysis) > 0;
    const struct fix_evidence evidence = {waits,         wait_count, findings,
                                          finding_count, peak_stays, passes};
    const enum base_code code =
        waits && findings ? fix_find_by(profile, &evidence, fix, error) : base_no_memory(error);
    free(waits);
    free(findings);
    return code;
}

void fix_fini(struct fix *fix)
{
    base_array_fini(&fix->places);
    base_array_fini(&fix->rows);
    base_array_fini(&fix->avoided);
}
