// SPDX-License-Identifier: Apache-2.0
// overallocation: kernels touch, and copies read, only part of the elements of an object. If the
// others are not too fragmented (equation 1), the fix does not allocate the largest piece of them.
// Otherwise, if few elements are used, the fix stores only these, in another layout. That is hard,
// so it ranks below everything else, and does not count for the achievable peak. Only maps tell the
// fragmentation; without them no gain is estimated. Of a pool,
// the bytes in parts at once count as touched; the fix makes it as small as its parts can be laid
// out in.
#include <stdlib.h>

#include "analyze/analyses.h"

static const struct analyze_threshold touched_percent = {"touched-percent", "percent", 80,
                                                         "fewer elements than this are touched"};
static const struct analyze_threshold fragmentation_percent = {
    "fragmentation-percent", "percent", 80, "what is not touched is less fragmented than this"};

static const struct analyze_threshold compact_percent = {
    "compact-percent", "percent", 50,
    "another layout is suggested if fewer elements than this are touched"};

// From the paper's table 2: a fix is easy and worthwhile only if fewer elements than this are
// touched, and the untouched ones are less fragmented than this.
enum { HIGH_PERCENT = 80 };

struct slack {
    uint64_t elements, touched, element_bytes;
    uint64_t enough_bytes, slack_bytes;
    uint64_t others_bytes; // that other objects need which the same line allocates; 0: not more
    double fragmentation;  // 0 to 1
    uint64_t largest_first, largest_last, largest_count; // elements: the largest untouched piece
    bool has_fragmentation;                              // it and that piece are known, from maps
    bool is_enough_known, is_pool;
    bool is_at_end;    // the piece ends with the object
    bool saves_little; // many elements are touched
    bool is_scattered; // what is not touched is fragmented
    bool is_compact;   // only another layout saves something
};

static const struct analyze_map *map_of(const struct analyze_model *model, uint32_t object)
{
    const struct analyze_map *maps = model->maps.items;
    const size_t at = base_search(0, model->maps.count, i, maps[i].object < object);
    return at < model->maps.count && maps[at].object == object ? &maps[at] : NULL;
}

// Sums up the elements that launches touched, and the bytes that copies read or that are padding.
// Returns false if some launches did not record them.
static bool sum_touched(const struct analyze_model *model, const struct analyze_object *object,
                        struct analyze_map *sum, uint64_t *read)
{
    *read = object->padding ? object->bytes / object->pitch * object->padding : 0;
    for (uint32_t u = 0; u < object->use_count; u++) {
        const struct analyze_touch *touch =
            &model->touches.items[model->uses[object->first_use + u]];
        if (!touch->is_kernel) {
            *read +=
                touch->how & ANALYZE_READ ? touch->row_bytes * (touch->rows ? touch->rows : 1) : 0;
            continue;
        }
        if (touch->element_bytes == 0 || touch->new_elements == PROFILE_UNKNOWN ||
            (sum->element_bytes && sum->element_bytes != touch->element_bytes))
            return false;
        sum->element_bytes = touch->element_bytes;
        sum->touched += touch->new_elements;
    }
    if (sum->element_bytes == 0)
        return false;
    sum->elements = object->bytes / sum->element_bytes + (object->bytes % sum->element_bytes != 0);
    return true;
}

// Without a map, it is unknown which of the elements that copies read are touched, too. So all of
// them count in addition.
static void set_unused(struct analyze_map *sum, uint64_t read)
{
    uint64_t used = sum->touched + read / sum->element_bytes + (read % sum->element_bytes != 0);
    sum->unused = used < sum->elements ? sum->elements - used : 0;
}

static void describe_map(const struct analyze_map *map, struct slack *slack)
{
    slack->has_fragmentation = true;
    slack->fragmentation = 1.0 - (double)map->largest_count / (double)map->unused;
    slack->largest_first = map->largest_first;
    slack->largest_count = map->largest_count;
    slack->largest_last = map->largest_first + map->largest_count - 1;
    slack->is_at_end = map->largest_first + map->largest_count >= map->elements;
    slack->saves_little = (double)slack->touched * 100.0 >= HIGH_PERCENT * (double)map->elements;
    slack->is_scattered = slack->fragmentation * 100 >= HIGH_PERCENT;
}

// Returns the bytes that the fix does not allocate.
static uint64_t spared_bytes(const struct analyze_map *map, const struct analyze_object *object,
                             const struct slack *slack)
{
    // The last element may be cut short by the object's end.
    const uint64_t start = map->largest_first * map->element_bytes,
                   spared = map->largest_count * map->element_bytes;
    if (slack->is_compact)
        return map->unused * map->element_bytes < object->bytes ? map->unused * map->element_bytes
                                                                : object->bytes;
    return spared > object->bytes - start ? object->bytes - start : spared;
}

static bool is_below(uint64_t part, uint64_t whole, uint32_t percent)
{
    return (unsigned __int128)part * 100 < (unsigned __int128)whole * percent;
}

// Describes what is wrong with the object by the map. Returns false if that is nothing.
static bool describe(const struct analyze_run *run, const struct analyze_object *object,
                     const struct analyze_map *map, bool has_fragmentation, struct slack *slack)
{
    const uint64_t touched = map->elements - map->unused;
    if (!map->unused ||
        !is_below(touched, map->elements, analyze_limit(run->thresholds, &touched_percent)))
        return false;
    *slack = (struct slack){.elements = map->elements,
                            .touched = touched,
                            .element_bytes = map->element_bytes,
                            .enough_bytes = object->bytes,
                            .is_enough_known = has_fragmentation};
    if (!has_fragmentation)
        return true;
    describe_map(map, slack);
    slack->is_compact =
        slack->fragmentation * 100 >= analyze_limit(run->thresholds, &fragmentation_percent);
    slack->enough_bytes -= spared_bytes(map, object, slack);
    return !slack->is_compact ||
           is_below(touched, map->elements, analyze_limit(run->thresholds, &compact_percent));
}

// Returns whether the object is larger than needed.
static bool judge(const struct analyze_run *run, uint32_t index, struct slack *slack)
{
    const struct analyze_model *model = run->model;
    const struct analyze_object *object = &model->objects.items[index];
    struct analyze_map sum = {0};
    uint64_t read = 0;
    if (!analyze_is_subject(object) || object->first == ANALYZE_NONE ||
        !sum_touched(model, object, &sum, &read) ||
        analyze_first_unseen(model, object, analyze_begin(object), analyze_end(model, object)) !=
            ANALYZE_NONE)
        return false;
    const struct analyze_map *map = map_of(model, index);
    // Both should agree. A map that differs covers another period of the object's life.
    const bool agree =
        map && map->element_bytes == sum.element_bytes && map->touched == sum.touched;
    set_unused(&sum, read);
    return describe(run, object, agree ? map : &sum, agree, slack);
}

// Stores, by analyze_key_of_alike, the most bytes that one of these objects needs.
static void find_needs(struct analyze_run *run, struct base_map *needs)
{
    const struct analyze_model *model = run->model;
    for (uint32_t i = 0; i < model->objects.count && !run->failed; i++) {
        const struct analyze_object *object = &model->objects.items[i];
        struct slack slack;
        const uint64_t need = judge(run, i, &slack) ? slack.enough_bytes : object->bytes;
        uint64_t *most = base_map_put(needs, analyze_key_of_alike(run, object), NULL);
        run->failed |= !most;
        if (most && need > *most)
            *most = need;
    }
}

static void add(struct analyze_run *run, uint32_t index, struct slack slack, uint64_t need)
{
    const struct analyze_model *model = run->model;
    const struct analyze_object *object = &model->objects.items[index];
    struct analyze_finding finding =
        analyze_begin_finding(run, ANALYZE_OVERALLOCATION, index, object->call, ANALYZE_NONE);
    slack.others_bytes = need > slack.enough_bytes ? need : 0;
    finding.gain_is_unknown = !slack.is_enough_known;
    finding.is_hard = slack.is_compact;
    finding.aspect = slack.is_compact;
    analyze_set_payload(&finding, slack);
    if (!slack.is_compact)
        analyze_set_enough(run, object, slack.enough_bytes);
    analyze_add_shorter(run, &finding, object, analyze_begin(object), analyze_end(model, object),
                        object->bytes - slack.enough_bytes);
}

// --- Pools ---------------------------------------------------------------------------------------

// Finds a size in which all parts of a pool can be laid out. Returns false when memory ran out.
static bool find_height(const struct analyze_model *model, const struct analyze_object *pool,
                        uint64_t *height)
{
    struct analyze_block *blocks = calloc(pool->part_count, sizeof(*blocks));
    size_t count = 0;
    uint64_t least;
    for (uint32_t i = 0; blocks && i < pool->part_count; i++) {
        const struct analyze_object *part =
            &model->objects.items[model->parts[pool->first_part + i]];
        uint32_t from = analyze_begin(part), to = analyze_end(model, part);
        if (from < to)
            blocks[count++] = (struct analyze_block){from, to, part->bytes, pool->device};
    }
    bool good = blocks && analyze_pack(blocks, count, height, &least);
    free(blocks);
    return good;
}

// A pool is too large if its parts never use all of it at once.
static void consider_pool(struct analyze_run *run, uint32_t index)
{
    const struct analyze_model *model = run->model;
    const struct analyze_object *pool = &model->objects.items[index];
    uint32_t call;
    uint64_t height, most = analyze_replay_parts_peak(run->replay, index, &call);
    if ((unsigned __int128)most * 100 >=
        (unsigned __int128)pool->bytes * analyze_limit(run->thresholds, &touched_percent))
        return;
    run->failed |= !find_height(model, pool, &height);
    if (run->failed || height >= pool->bytes)
        return;
    struct analyze_finding finding =
        analyze_begin_finding(run, ANALYZE_OVERALLOCATION, index, pool->call, call);
    const struct slack slack = {.elements = pool->bytes,
                                .touched = most,
                                .element_bytes = 1,
                                .enough_bytes = height,
                                .slack_bytes = pool->bytes - most,
                                .is_enough_known = true,
                                .is_pool = true};
    analyze_set_payload(&finding, slack);
    analyze_set_enough(run, pool, height);
    analyze_add_shorter(run, &finding, pool, analyze_begin(pool), analyze_end(model, pool),
                        pool->bytes - height);
}

static void find(struct analyze_run *run)
{
    const struct analyze_model *model = run->model;
    struct base_map needs = {0};
    find_needs(run, &needs);
    for (uint32_t i = 0; i < model->objects.count && !run->failed; i++) {
        const struct analyze_object *object = &model->objects.items[i];
        const uint64_t *need = base_map_get(&needs, analyze_key_of_alike(run, object));
        struct slack slack;
        if (analyze_is_pool(object))
            consider_pool(run, i);
        if (judge(run, i, &slack))
            add(run, i, slack, need ? *need : 0);
    }
    base_map_fini(&needs);
}

// --- The description -----------------------------------------------------------------------------

static const struct analyze_field fields[] = {
    {"elements", "elements of the object; of a pool, its bytes",
     ANALYZE_OWN(COUNT, struct slack, elements), .unit = "element"},
    {"touched",
     "elements that kernels touch or copies read; of a pool, the most bytes that are in parts at "
     "once",
     ANALYZE_OWN(COUNT, struct slack, touched), .unit = "element"},
    {"element_bytes", "the size of an element", ANALYZE_OWN(BYTES, struct slack, element_bytes),
     .least = 1},
    {"fragmentation", "1 - largest untouched piece / all that is untouched; null without --maps",
     ANALYZE_OWN(REAL, struct slack, fragmentation),
     ANALYZE_KNOWN_IF(struct slack, has_fragmentation)},
    {"untouched_first", "the first element of the largest untouched piece; null without --maps",
     ANALYZE_OWN(COUNT, struct slack, largest_first),
     ANALYZE_KNOWN_IF(struct slack, has_fragmentation), .unit = "element"},
    {"untouched_elements", "the size of that piece; null without --maps",
     ANALYZE_OWN(COUNT, struct slack, largest_count),
     ANALYZE_KNOWN_IF(struct slack, has_fragmentation), .unit = "element"},
    {"enough_bytes", "the size that would do; null without --maps",
     ANALYZE_OWN(BYTES, struct slack, enough_bytes),
     ANALYZE_KNOWN_IF(struct slack, is_enough_known)},
    {"others_bytes",
     "what other objects need that the same line allocates in this size, if that is more; else 0",
     ANALYZE_OWN(BYTES, struct slack, others_bytes)},
    {"pool", "the object is a pool of the program's own", ANALYZE_OWN(FLAG, struct slack, is_pool)},
    {"peak_call", "only of a pool: the call after which most of it is in parts",
     ANALYZE_SHARED(NUMBER_OF_CALL, other_call), ANALYZE_KNOWN_IF(struct slack, is_pool),
     .only_if_known = true, .least = 1},
    {"slack_bytes", NULL, ANALYZE_OWN(BYTES, struct slack, slack_bytes)},
    {"untouched_last", NULL, ANALYZE_OWN(COUNT, struct slack, largest_last)},
    {"is_enough_known", NULL, ANALYZE_OWN(FLAG, struct slack, is_enough_known)},
    {"is_at_end", NULL, ANALYZE_OWN(FLAG, struct slack, is_at_end)},
    {"saves_little", NULL, ANALYZE_OWN(FLAG, struct slack, saves_little)},
    {"is_scattered", NULL, ANALYZE_OWN(FLAG, struct slack, is_scattered)},
    {"compact", "the elements are so scattered that only another layout saves something",
     ANALYZE_OWN(FLAG, struct slack, is_compact)},
    {0},
};

const struct analyze_description analyze_overallocation = {
    .name = "overallocation",
    .title = "Larger than needed",
    .definition = "Kernels touch, and copies read, only part of an object's elements: the others "
                  "form large pieces, or nearly all elements are among them.",
    .remedy = "Do not allocate the largest untouched piece; or store only the elements that are "
              "used.",
    .paper = "DrGPUM, definition 3.8",
    .needs = ANALYZE_INPUT_ELEMENTS,
    .roles = {[ANALYZE_CALL] = {"allocated", "the allocation"},
              [ANALYZE_OTHER_CALL] = {"most in use", "when most of it is in use"}},
    .thresholds = {&touched_percent, &fragmentation_percent, &compact_percent},
    .fields = fields,
    .message = "{if brief}{if pool}at most {touched:bytes} of the pool {object} are in use at "
               "once{else}only {touched/elements} of {object} is used in this run{end}{elif "
               "pool}at most {touched:bytes} of the pool {object} are in use at the same time, "
               "after {other_call}; the other {slack_bytes} are slack in this run{else}only "
               "{touched/elements} of the elements of {object} are used in this run{if "
               "fragmentation}; the untouched elements are {fragmentation} fragmented{end}{end}",
    .suggestion =
        "{if not is_enough_known}{if brief}record with --maps to find out which elements are "
        "untouched{else}find out which elements are untouched: record with 'glint record "
        "--maps'{end}{elif pool}allocate {enough_bytes} instead of {object:size}{if brief}{else}: "
        "all parts fit into that{end}{elif compact}{if brief}store only the elements that are "
        "used, {enough_bytes}, and find them by an index{else}store only the elements that are "
        "used, {enough_bytes} instead of {object:size}, and find them by an index: the others are "
        "scattered over all of {object:name}{end}{elif brief}{if others_bytes}allocate "
        "what each needs: here {enough_bytes}, others up to {others_bytes}{elif is_at_end}allocate "
        "{enough_bytes} instead of "
        "{object:size}: unused from element {untouched_first} on{else}leave out elements "
        "{untouched_first} to {untouched_last}: {enough_bytes} are enough{end}{else}allocate "
        "{enough_bytes} instead of {object:size}: elements {if is_at_end}from {untouched_first} "
        "on{else}{untouched_first} to {untouched_last}{end} are not touched, if that holds for "
        "other inputs, too{if others_bytes}; others from the same line need up to {others_bytes}"
        "{end}{if saves_little}; this saves little{end}{if is_scattered}; the other "
        "untouched elements are scattered and hard to leave out{end}{end}",
    .find = find,
};
