// SPDX-License-Identifier: Apache-2.0
// Matches the contents of two profiles and says how they changed. Everything with one key in a
// profile is a group. Groups of the two profiles are paired by the strongest key that they share.
// Swapping the profiles changes only words: better becomes worse, and new becomes gone.
#include "diff.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "findings.h"

struct diff_group {
    enum report_diff_kind kind;
    struct report_diff_side side;
    const char *keys[REPORT_DIFF_TIERS]; // by tier; NULL: the group is not matched by that tier
    bool paired;
};

struct groups {
    BASE_ARRAY(struct diff_group) rows;
    struct base_map known; // strongest key to index + 1
};

struct matching {
    struct report_diff *diff;
    struct groups groups[2];
    uint32_t tolerance_percent;
    bool failed; // memory ran out
};

// --- Measures ------------------------------------------------------------------------------------

static uint64_t count_of(const struct report_diff_side *side)
{
    return side->count;
}

static uint64_t bytes_of(const struct report_diff_side *side)
{
    return side->bytes;
}

static uint64_t peak_of(const struct report_diff_side *side)
{
    return side->peak_bytes;
}

static uint64_t traffic_of(const struct report_diff_side *side)
{
    return side->traffic_bytes;
}

static uint64_t ns_of(const struct report_diff_side *side)
{
    return side->ns;
}

const struct report_diff_measure *report_diff_measures(enum report_diff_kind kind)
{
    static const struct report_diff_measure measures[REPORT_DIFF_KINDS][5] = {
        [REPORT_DIFF_FINDING] = {{"off the peak", REPORT_DIFF_BYTES, peak_of},
                                 {"traffic", REPORT_DIFF_BYTES, traffic_of},
                                 {"GPU time", REPORT_DIFF_NS, ns_of},
                                 {"times", REPORT_DIFF_COUNT, count_of}},
        [REPORT_DIFF_OBJECT] = {{"of the peak", REPORT_DIFF_BYTES, peak_of},
                                {"size", REPORT_DIFF_BYTES, bytes_of},
                                {"objects", REPORT_DIFF_COUNT, count_of}},
        [REPORT_DIFF_KERNEL] = {{"GPU time", REPORT_DIFF_NS, ns_of},
                                {"launches", REPORT_DIFF_COUNT, count_of}},
        [REPORT_DIFF_COPY] = {{"copied", REPORT_DIFF_BYTES, bytes_of},
                              {"GPU time", REPORT_DIFF_NS, ns_of},
                              {"copies", REPORT_DIFF_COUNT, count_of}},
        [REPORT_DIFF_WAIT] = {{"waited", REPORT_DIFF_NS, ns_of},
                              {"times", REPORT_DIFF_COUNT, count_of}},
    };
    return measures[kind];
}

static bool differs(const struct matching *matching, const struct report_diff_item *item,
                    const struct report_diff_measure *measure)
{
    const struct report_diff_side *old = &item->sides[0], *new = &item->sides[1];
    const uint64_t before = measure->value(old), after = measure->value(new);
    if (measure->unit == REPORT_DIFF_NS)
        return matching->diff->timed && old->timed &&
               new->timed &&report_diff_times_differ(before, after, matching->tolerance_percent,
                                                     item->kind == REPORT_DIFF_WAIT
                                                         ? REPORT_DIFF_LEAST_WAIT_NS
                                                         : REPORT_DIFF_LEAST_NS);
    return before != after && !old->implicit && !new->implicit;
}

// Returns whether the wait may be a coincidence. Whether an implicit wait occurs depends on timing,
// so it counts only if its time is real and long enough.
static bool is_chance(const struct matching *matching, const struct report_diff_side *side)
{
    return side->implicit &&
           (!matching->diff->timed || (side->timed && side->ns < REPORT_DIFF_LEAST_WAIT_NS));
}

// Returns whether the measure can describe an item that is in only one profile.
static bool is_telling(const struct matching *matching, const struct report_diff_side *side,
                       const struct report_diff_measure *measure)
{
    return measure->value(side) && (measure->unit != REPORT_DIFF_NS || matching->diff->timed);
}

static void judge(const struct matching *matching, struct report_diff_item *item)
{
    const struct report_diff_side *old = &item->sides[0], *new = &item->sides[1];
    const struct report_diff_measure *measure = report_diff_measures(item->kind);
    item->change = REPORT_DIFF_SAME;
    if (!old->count || !new->count) {
        const struct report_diff_side *side = old->count ? old : new;
        if (is_chance(matching, side))
            return;
        item->change = old->count ? REPORT_DIFF_GONE : REPORT_DIFF_NEW;
        // Choose the first measure that is not 0.
        while (measure[1].word && !is_telling(matching, side, measure))
            measure++;
        item->measure = measure;
        return;
    }
    for (; measure->word && item->change == REPORT_DIFF_SAME; measure++) {
        if (differs(matching, item, measure)) {
            item->change =
                measure->value(new) > measure->value(old) ? REPORT_DIFF_WORSE : REPORT_DIFF_BETTER;
            item->measure = measure;
        }
    }
}

// --- Groups --------------------------------------------------------------------------------------

// The bytes that findings take off the peak do not add up, so the best finding counts.
static void join(enum report_diff_kind kind, struct report_diff_side *to,
                 const struct report_diff_side *from)
{
    const bool first = to->count == 0;
    const struct report_diff_side before = *to;
    if (first || (kind == REPORT_DIFF_FINDING && from->peak_bytes > to->peak_bytes))
        *to = *from;
    if (first)
        return;
    to->count = report_diff_add_up(before.count, from->count);
    to->bytes = report_diff_add_up(before.bytes, from->bytes);
    to->traffic_bytes = report_diff_add_up(before.traffic_bytes, from->traffic_bytes);
    to->ns = report_diff_add_up(before.ns, from->ns);
    to->timed = before.timed && from->timed;
    if (kind != REPORT_DIFF_FINDING)
        to->peak_bytes = report_diff_add_up(before.peak_bytes, from->peak_bytes);
}

// Adds a side to the group of its strongest key, and frees the keys' texts. An empty key is not
// used for matching. Returns the group, counted from 1; 0 when memory ran out.
static uint64_t add_side(struct matching *matching, unsigned which, enum report_diff_kind kind,
                         const struct report_diff_side *side,
                         struct base_buf keys[REPORT_DIFF_TIERS])
{
    struct groups *groups = &matching->groups[which];
    bool added = false;
    uint64_t *slot = NULL;
    const char *kept = NULL;
    for (unsigned i = 0; i < REPORT_DIFF_TIERS; i++)
        matching->failed |= keys[i].failed;
    if (!matching->failed) {
        const struct base_str key = {keys[0].text, keys[0].length};
        slot = base_map_get_str(&groups->known, key);
        if (!slot && (kept = base_alloc_text(&matching->diff->arena, key.text, key.length)))
            slot = base_map_put_str(&groups->known, base_str(kept), &added);
    }
    struct diff_group *group = added ? base_array_push(&groups->rows) : NULL;
    if (group) {
        *slot = groups->rows.count;
        group->kind = kind;
        group->keys[0] = kept;
        for (unsigned i = 1; i < REPORT_DIFF_TIERS; i++) {
            if (keys[i].length)
                group->keys[i] =
                    base_alloc_text(&matching->diff->arena, keys[i].text, keys[i].length);
            matching->failed |= keys[i].length && !group->keys[i];
        }
    }
    matching->failed |= !slot || (added && !group);
    if (!matching->failed) {
        assert(groups->rows.items); // the map is not empty
        join(kind, &groups->rows.items[*slot - 1].side, side);
    }
    for (unsigned i = 0; i < REPORT_DIFF_TIERS; i++)
        base_buf_fini(&keys[i]);
    return matching->failed ? 0 : *slot;
}

static void put_object_keys(const struct report_data *data, const struct report_object *object,
                            struct base_buf keys[REPORT_DIFF_TIERS])
{
    for (unsigned tier = 0; tier < REPORT_DIFF_TIERS; tier++) {
        if (tier >= REPORT_DIFF_BY_PLACE && !report_diff_has_name(object))
            continue;
        base_buf_puts(&keys[tier], "object ");
        report_diff_put_object(data, object->number, &keys[tier]);
        report_diff_put_path(data, object->path, tier, &keys[tier]);
    }
}

// In a long run, most objects resemble an earlier one, so keys are made only for the first of them.
static void add_objects(struct matching *matching, unsigned which)
{
    const struct report_data *data = &matching->diff->data[which];
    struct base_map alike = {0}; // hash of an object's properties to its group
    for (size_t i = 0; i < data->objects.count && !matching->failed; i++) {
        const struct report_object *object = &data->objects.items[i];
        const struct report_diff_side side = {
            .count = 1,
            .bytes = object->bytes,
            .peak_bytes = report_is_in_highest(data, object) ? object->bytes : 0,
            .timed = true,
            .name = object->name,
            .path = object->path,
            .object_kind = object->kind};
        // Equal names have equal pointers, because a profile holds each text once.
        const uint64_t key[] = {object->kind, object->path, object->name_source,
                                (uint64_t)(uintptr_t)object->name};
        uint64_t *group = base_map_put(&alike, base_hash(key, sizeof(key)), NULL);
        matching->failed |= !group;
        if (group && *group == 0) {
            struct base_buf keys[REPORT_DIFF_TIERS] = {{0}};
            put_object_keys(data, object, keys);
            *group = add_side(matching, which, REPORT_DIFF_OBJECT, &side, keys);
        } else if (group) {
            assert(matching->groups[which].rows.items); // the map is not empty
            join(REPORT_DIFF_OBJECT, &matching->groups[which].rows.items[*group - 1].side, &side);
        }
    }
    base_map_fini(&alike);
}

static struct report_diff_side side_of_sum(const struct report_sum *sum, const char *name,
                                           uint32_t path)
{
    return (struct report_diff_side){.count = sum->count,
                                     .bytes = sum->bytes,
                                     .ns = sum->total_ns,
                                     .timed = sum->timed == sum->count,
                                     .name = name,
                                     .path = path};
}

static void add_kernels(struct matching *matching, unsigned which)
{
    const struct report_data *data = &matching->diff->data[which];
    for (size_t i = 0; i < data->kernel_rows.count && !matching->failed; i++) {
        const struct report_kernel *kernel = &data->kernel_rows.items[i];
        const struct report_diff_side side = side_of_sum(&kernel->sum, kernel->name, 0);
        struct base_buf keys[REPORT_DIFF_TIERS] = {{0}};
        if (side.count == 0)
            continue;
        for (unsigned tier = 0; tier < REPORT_DIFF_TIERS; tier++) {
            base_buf_puts(&keys[tier], "kernel ");
            report_diff_put_kernel(kernel->name, tier, &keys[tier]);
        }
        add_side(matching, which, REPORT_DIFF_KERNEL, &side, keys);
    }
}

static void add_copies(struct matching *matching, unsigned which)
{
    const struct report_data *data = &matching->diff->data[which];
    for (unsigned i = 0; i <= REPORT_DIRECTIONS && !matching->failed; i++) {
        const struct report_sum *sum = i < REPORT_DIRECTIONS ? &data->copies[i] : &data->sets;
        const char *name = i == REPORT_DIRECTIONS ? "set to a value"
                           : i ? profile_direction_word((enum profile_direction)i)
                               : "unknown direction";
        const struct report_diff_side side = side_of_sum(sum, name, 0);
        struct base_buf keys[REPORT_DIFF_TIERS] = {{0}};
        if (side.count == 0)
            continue;
        base_buf_printf(&keys[0], "copy %s", name);
        add_side(matching, which, REPORT_DIFF_COPY, &side, keys);
    }
}

static void add_waits(struct matching *matching, unsigned which)
{
    const struct report_data *data = &matching->diff->data[which];
    for (size_t i = 0; i < data->wait_rows.count && !matching->failed; i++) {
        const struct report_wait *wait = &data->wait_rows.items[i];
        const char *function = report_function_name(data, wait->function);
        struct report_diff_side side =
            side_of_sum(&wait->sum, report_called(data, wait->path, wait->function), wait->path);
        side.implicit = !wait->is_explicit;
        struct base_buf keys[REPORT_DIFF_TIERS] = {{0}};
        for (unsigned tier = 0; tier < REPORT_DIFF_TIERS; tier++) {
            base_buf_printf(&keys[tier], "wait %d %s\n", wait->is_explicit,
                            function ? function : "");
            report_diff_put_path(data, wait->path, tier, &keys[tier]);
        }
        add_side(matching, which, REPORT_DIFF_WAIT, &side, keys);
    }
}

static void add_findings(struct matching *matching, unsigned which)
{
    const struct report_data *data = &matching->diff->data[which];
    for (size_t i = 0; i < analyze_finding_count(data->analysis) && !matching->failed; i++) {
        const struct analyze_finding *finding = analyze_finding(data->analysis, i);
        const struct report_object *object = report_find_object(data, finding->object);
        const struct report_diff_side side = {
            .count = finding->count > finding->times ? finding->count : finding->times,
            .peak_bytes = finding->peak_bytes,
            .traffic_bytes = finding->traffic_bytes,
            .ns = report_saved_ns(finding),
            .timed = true,
            .name = object ? object->name : NULL,
            .path = finding->path,
            .finding = finding};
        struct base_buf keys[REPORT_DIFF_TIERS] = {{0}};
        for (unsigned tier = 0; tier < REPORT_DIFF_TIERS; tier++) {
            if (tier >= REPORT_DIFF_BY_PLACE && !report_diff_has_name(object))
                continue;
            base_buf_printf(&keys[tier], "%s\n", analyze_pattern_word(finding->pattern));
            report_diff_put_object(data, finding->object, &keys[tier]);
            report_diff_put_object(data, finding->other_object, &keys[tier]);
            report_diff_put_kernel(report_kernel_name(data, finding->kernel), tier, &keys[tier]);
            report_diff_put_line(analyze_line_at(finding), tier, &keys[tier]);
            report_diff_put_path(data, finding->path, tier, &keys[tier]);
            // The weak tiers ignore the other calls of a finding, because code in between may have
            // changed.
            if (tier >= REPORT_DIFF_BY_PLACE)
                continue;
            report_diff_put_path(data, finding->other_path, tier, &keys[tier]);
            report_diff_put_path(data, finding->last_path, tier, &keys[tier]);
        }
        add_side(matching, which, REPORT_DIFF_FINDING, &side, keys);
    }
}

// --- Pairs ---------------------------------------------------------------------------------------

// The groups of both profiles that share a key and are not paired yet, in their original order.
struct bucket {
    struct indices {
        BASE_ARRAY(size_t) items;
    } of[2];
};

static void add_item(struct matching *matching, enum report_diff_kind kind,
                     const struct report_diff_side *old, const struct report_diff_side *new,
                     const char *key)
{
    struct report_diff *diff = matching->diff;
    struct report_diff_item item = {.kind = kind, .key = key};
    if (old)
        item.sides[0] = *old;
    if (new)
        item.sides[1] = *new;
    judge(matching, &item);
    if (item.change == REPORT_DIFF_SAME) {
        diff->same[kind]++;
        return;
    }
    struct report_diff_item *row = base_array_push(&diff->items);
    if (row)
        *row = item;
    matching->failed |= !row;
}

static void pair(struct matching *matching, struct diff_group *old, struct diff_group *new)
{
    old->paired = new->paired = true;
    add_item(matching, old->kind, &old->side, &new->side,
             strcmp(old->keys[0], new->keys[0]) < 0 ? old->keys[0] : new->keys[0]);
}

// Pairs the groups of a bucket. If both profiles have equally many, they are paired in order.
// Otherwise it is unknown which belong together, so they are compared as one group. Weak keys only
// pair single groups.
static void pair_bucket(struct matching *matching, const struct bucket *bucket,
                        enum report_diff_tier tier)
{
    struct diff_group *rows[2] = {matching->groups[0].rows.items, matching->groups[1].rows.items};
    const size_t counts[2] = {bucket->of[0].items.count, bucket->of[1].items.count};
    if (!counts[0] || !counts[1] ||
        (tier >= REPORT_DIFF_BY_PLACE && (counts[0] > 1 || counts[1] > 1)))
        return;
    for (size_t i = 0; i < counts[0] && counts[0] == counts[1]; i++)
        pair(matching, &rows[0][bucket->of[0].items.items[i]],
             &rows[1][bucket->of[1].items.items[i]]);
    if (counts[0] == counts[1])
        return;
    for (unsigned which = 0; which < 2; which++) {
        struct diff_group *first = &rows[which][bucket->of[which].items.items[0]];
        for (size_t i = 1; i < counts[which]; i++) {
            struct diff_group *other = &rows[which][bucket->of[which].items.items[i]];
            join(first->kind, &first->side, &other->side);
            other->paired = true;
        }
    }
    pair(matching, &rows[0][bucket->of[0].items.items[0]], &rows[1][bucket->of[1].items.items[0]]);
}

static void pair_tier(struct matching *matching, enum report_diff_tier tier)
{
    struct base_map known = {0};
    BASE_ARRAY(struct bucket) buckets = {0};
    for (unsigned which = 0; which < 2; which++) {
        struct groups *groups = &matching->groups[which];
        for (size_t i = 0; i < groups->rows.count && !matching->failed; i++) {
            const struct diff_group *group = &groups->rows.items[i];
            const char *key = group->keys[tier];
            if (group->paired || !key)
                continue;
            bool added = false;
            uint64_t *slot = base_map_put_str(&known, base_str(key), &added);
            if (slot && added) {
                const struct bucket *made = base_array_push(&buckets);
                *slot = made ? buckets.count : 0;
            }
            size_t *index = slot && *slot && buckets.items
                                ? base_array_push(&buckets.items[*slot - 1].of[which].items)
                                : NULL;
            if (index)
                *index = i;
            matching->failed |= !index;
        }
    }
    for (size_t i = 0; i < buckets.count && buckets.items; i++) {
        if (!matching->failed)
            pair_bucket(matching, &buckets.items[i], tier);
        base_array_fini(&buckets.items[i].of[0].items);
        base_array_fini(&buckets.items[i].of[1].items);
    }
    base_array_fini(&buckets);
    base_map_fini(&known);
}

static void match(struct matching *matching)
{
    for (unsigned which = 0; which < 2; which++) {
        add_findings(matching, which);
        add_objects(matching, which);
        add_kernels(matching, which);
        add_copies(matching, which);
        add_waits(matching, which);
    }
    for (unsigned tier = 0; tier < REPORT_DIFF_TIERS && !matching->failed; tier++)
        pair_tier(matching, tier);
    for (unsigned which = 0; which < 2; which++) {
        const struct groups *groups = &matching->groups[which];
        for (size_t i = 0; i < groups->rows.count && !matching->failed; i++) {
            const struct diff_group *group = &groups->rows.items[i];
            if (!group->paired)
                add_item(matching, group->kind, which ? NULL : &group->side,
                         which ? &group->side : NULL, group->keys[0]);
        }
    }
}

static uint64_t apart(const struct report_diff_item *item)
{
    const uint64_t old = item->measure->value(&item->sides[0]);
    const uint64_t new = item->measure->value(&item->sides[1]);
    return old > new ? old - new : new - old;
}

static int by_change(const void *one, const void *other)
{
    const struct report_diff_item *a = one, *b = other;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    if (a->measure != b->measure)
        return a->measure < b->measure ? -1 : 1; // of one table, the most important first
    if (apart(a) != apart(b))
        return apart(a) > apart(b) ? -1 : 1;
    return strcmp(a->key, b->key);
}

// --- The whole diff ------------------------------------------------------------------------------

enum base_code report_diff_load(struct report_diff *diff, const struct report_diff_request *request,
                                struct base_error *error)
{
    struct matching matching = {.diff = diff, .tolerance_percent = request->tolerance_percent};
    enum base_code code = BASE_OK;
    base_arena_init(&diff->arena, 0);
    for (unsigned which = 0; which < 2 && code == BASE_OK; which++) {
        code = report_data_load(&diff->data[which], request->profiles[which], request->thresholds,
                                error);
        if (code != BASE_OK)
            base_fail_while(error, "reading %s", request->names[which]);
    }
    if (code == BASE_OK) {
        diff->timed = !analyze_is_simulated(diff->data[0].analysis) &&
                      !analyze_is_simulated(diff->data[1].analysis);
        match(&matching);
        if (diff->items.count)
            qsort(diff->items.items, diff->items.count, sizeof(*diff->items.items), by_change);
        report_diff_sum_up(diff, request->tolerance_percent);
        if (!report_diff_add_notes(diff, request->names) || matching.failed)
            code = base_no_memory(error);
    }
    for (unsigned which = 0; which < 2; which++) {
        base_array_fini(&matching.groups[which].rows);
        base_map_fini(&matching.groups[which].known);
    }
    return code;
}

void report_diff_fini(struct report_diff *diff)
{
    report_data_fini(&diff->data[0]);
    report_data_fini(&diff->data[1]);
    base_array_fini(&diff->items);
    base_array_fini(&diff->notes);
    base_arena_fini(&diff->arena);
}

bool report_diff_is_empty(const struct report_diff *diff)
{
    bool empty = diff->items.count == 0;
    for (unsigned i = 0; i < REPORT_DIFF_SUMS; i++)
        empty &= !diff->sums[i].differs;
    return empty;
}

const char *report_diff_kind_word(enum report_diff_kind kind)
{
    static const char *const words[REPORT_DIFF_KINDS] = {"finding", "object", "kernel", "copy",
                                                         "wait"};
    return words[kind];
}

const char *report_diff_change_word(enum report_diff_change change)
{
    static const char *const words[REPORT_DIFF_CHANGES] = {"worse", "better", "new", "gone",
                                                           "same"};
    return words[change];
}

const struct report_diff_side *report_diff_shown(const struct report_diff_item *item,
                                                 unsigned *which)
{
    *which = item->sides[1].count ? 1 : 0;
    return &item->sides[*which];
}
