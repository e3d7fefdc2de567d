// SPDX-License-Identifier: Apache-2.0
// Decides which findings are worthwhile: those that gain something alone, and those that gain
// something only together. Objects often hide one another: fixing one of them leaves the peak as it
// was, and fixing all of them lowers it. Of the findings that gain nothing alone, a minimal set is
// searched that gains as much as all of them do. Leaving out any member of the set loses a gain;
// leaving out all other findings loses none.
//
// A replay applies fixes to the lives of objects (replay.c). The search is QuickXplain (Junker
// 2004), which halves the candidates and takes about k log(n/k) replays to find k of n.
#include <stdlib.h>

#include "analyses.h"

// Replays stop after about this many fixes in total, which take less than a second. Candidates that
// are undecided by then count as needed: showing too many is the smaller mistake.
enum { MOST_STEPS = 5000000 };

enum { MOST_OF_OBJECT = 16 }; // most fixes of one object that are considered

struct weighing {
    struct analyze_run *run;
    uint64_t peak;  // the highest
    bool *followed; // by finding: its fixes are made in the next replay
    BASE_ARRAY(struct analyze_change) changes;
    uint64_t wanted; // the gain of all findings together, which the set must reach
    uint64_t steps;  // fixes replayed so far
    bool failed;     // memory ran out
};

// --- Single findings -----------------------------------------------------------------------------

bool analyze_is_gain(uint64_t bytes, uint64_t whole)
{
    return bytes >= ANALYZE_LEAST_BYTES && analyze_is_part(bytes, whole);
}

// Returns the bytes that a kernel reads and writes in an object: each element once, or all of the
// object if elements were not observed.
static uint64_t kernel_bytes(const struct analyze_model *model, const struct analyze_touch *touch)
{
    uint64_t bytes = 0;
    if (touch->elements == PROFILE_UNKNOWN || !touch->element_bytes)
        bytes = model->objects.items[touch->object].bytes;
    else if (__builtin_mul_overflow(touch->elements, touch->element_bytes, &bytes))
        bytes = UINT64_MAX;
    const bool both = (touch->how & ANALYZE_READ) && (touch->how & ANALYZE_WRITE);
    return both && __builtin_add_overflow(bytes, bytes, &bytes) ? UINT64_MAX : bytes;
}

// Returns the bytes that copies and sets read and write, and kernels, too, if `all`.
static uint64_t moved_bytes(const struct analyze_model *model, bool all)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < model->touches.count; i++) {
        const struct analyze_touch *touch = &model->touches.items[i];
        uint64_t bytes = 0;
        if (touch->is_kernel)
            bytes = all ? kernel_bytes(model, touch) : 0;
        else if (__builtin_mul_overflow(touch->row_bytes, touch->rows, &bytes))
            bytes = UINT64_MAX;
        if (__builtin_add_overflow(sum, bytes, &sum))
            return UINT64_MAX;
    }
    return sum;
}

static void weigh_each(struct analyze_run *run, uint64_t peak, const struct analyze_run_time *time)
{
    run->moved_bytes = moved_bytes(run->model, false);
    run->used_bytes = moved_bytes(run->model, true);
    for (size_t i = 0; i < run->findings.count; i++) {
        struct analyze_finding *finding = &run->findings.items[i];
        finding->worthwhile = analyze_is_gain(finding->peak_bytes, peak) ||
                              (!finding->only_time_counts &&
                               analyze_is_gain(finding->traffic_bytes, run->moved_bytes)) ||
                              analyze_is_part(finding->host_ns, time->recorded_ns) ||
                              analyze_is_part(finding->gpu_ns, (uint64_t)run->model->host.end_ns) ||
                              (finding->waits >= ANALYZE_LEAST_WAITS &&
                               analyze_is_part(finding->waits, time->waits)) ||
                              finding->more_blocks;
        finding->only_together =
            !finding->worthwhile && analyze_is_part(finding->together_ns, time->recorded_ns);
        finding->worthwhile |= finding->only_together;
    }
}

// --- Findings together ---------------------------------------------------------------------------

static int by_object(const void *one, const void *other)
{
    const struct analyze_fix *a = one, *b = other;
    if (a->object != b->object)
        return a->object < b->object ? -1 : 1;
    if (a->change.group != b->change.group)
        return a->change.group < b->change.group ? -1 : 1;
    return a->change.from < b->change.from ? -1 : a->change.from > b->change.from;
}

static void add_change(struct weighing *weighing, const struct analyze_change *like, uint32_t from,
                       uint32_t to, uint64_t bytes)
{
    struct analyze_change *row = from < to && bytes ? base_array_push(&weighing->changes) : NULL;
    weighing->failed |= from < to && bytes && !row;
    if (row)
        *row = (struct analyze_change){
            .from = from, .to = to, .bytes = bytes, .pool = like->pool, .device = like->device};
}

// Adds the changes of one object. Its fixes may overlap, for example if it should be smaller and
// also live shorter, so their sum is limited to `most`, the object's bytes.
static void add_object(struct weighing *weighing, const struct analyze_change *const fixes[],
                       unsigned count, uint64_t most)
{
    uint32_t at = UINT32_MAX;
    for (unsigned i = 0; i < count; i++)
        at = fixes[i]->from < at ? fixes[i]->from : at;
    while (at != UINT32_MAX) {
        uint32_t next = UINT32_MAX;
        uint64_t bytes = 0;
        for (unsigned i = 0; i < count; i++) {
            if (fixes[i]->from <= at && at < fixes[i]->to)
                bytes += fixes[i]->bytes < most - bytes ? fixes[i]->bytes : most - bytes;
            if (fixes[i]->from > at && fixes[i]->from < next)
                next = fixes[i]->from;
            if (fixes[i]->to > at && fixes[i]->to < next)
                next = fixes[i]->to;
        }
        if (next != UINT32_MAX)
            add_change(weighing, fixes[0], at, next, bytes);
        at = next;
    }
}

// Returns by how much the peak falls if all followed findings are fixed.
static uint64_t replay(struct weighing *weighing)
{
    struct analyze_run *run = weighing->run;
    const struct analyze_fix *fixes = run->fixes.items;
    weighing->changes.count = 0;
    weighing->steps += run->fixes.count;
    for (size_t i = 0, next; i < run->fixes.count; i = next) {
        const struct analyze_change *of_object[MOST_OF_OBJECT];
        unsigned count = 0;
        for (next = i; next < run->fixes.count && fixes[next].object == fixes[i].object; next++) {
            if (weighing->followed[fixes[next].change.group] && count < MOST_OF_OBJECT)
                of_object[count++] = &fixes[next].change;
        }
        if (count)
            add_object(weighing, of_object, count,
                       run->model->objects.items[fixes[i].object].bytes);
    }
    return analyze_replay_gain(run->replay, weighing->changes.items, weighing->changes.count);
}

// Returns whether the followed findings gain as much as all findings do.
static bool is_enough(struct weighing *weighing)
{
    if (weighing->failed || weighing->steps > MOST_STEPS)
        return false;
    const uint64_t gain = replay(weighing);
    return gain >= weighing->wanted || !analyze_is_gain(weighing->wanted - gain, weighing->peak);
}

static void follow(struct weighing *weighing, const uint32_t *findings, size_t count, bool on)
{
    for (size_t i = 0; i < count; i++)
        weighing->followed[findings[i]] = on;
}

// Follows those of the findings that are needed in addition to the ones already followed. `changed`
// says whether the followed set has grown since it was last found insufficient.
static void find_needed(struct weighing *weighing, const uint32_t *findings, size_t count,
                        bool changed)
{
    if (count == 0 || (changed && is_enough(weighing)))
        return;
    if (count == 1) {
        follow(weighing, findings, 1, true);
        return;
    }
    const size_t half = count / 2;
    follow(weighing, findings, half, true);
    find_needed(weighing, findings + half, count - half, true);
    follow(weighing, findings, half, false);
    bool added = false;
    for (size_t i = half; i < count; i++)
        added |= weighing->followed[findings[i]];
    find_needed(weighing, findings, half, added);
}

// Lists findings that gain nothing alone but whose fixes have enough bytes to gain something
// together with others, the best first. Marks all findings with that many bytes as followed.
// Returns the number of candidates.
static size_t take_candidates(struct weighing *weighing, uint32_t *candidates)
{
    const struct analyze_run *run = weighing->run;
    const struct analyze_finding **sorted = calloc(run->findings.count + 1, sizeof(*sorted));
    uint64_t *bytes = calloc(run->findings.count + 1, sizeof(*bytes)); // of all fixes, by finding
    size_t count = 0;
    weighing->failed |= !sorted || !bytes;
    for (size_t i = 0; i < run->fixes.count && bytes; i++) {
        const struct analyze_change *change = &run->fixes.items[i].change;
        if (__builtin_add_overflow(bytes[change->group], change->bytes, &bytes[change->group]))
            bytes[change->group] = UINT64_MAX;
    }
    for (size_t i = 0; i < run->findings.count && sorted && bytes; i++) {
        const struct analyze_finding *finding = &run->findings.items[i];
        weighing->followed[i] = analyze_is_gain(bytes[i], weighing->peak);
        if (weighing->followed[i] && !analyze_is_gain(finding->peak_bytes, weighing->peak))
            sorted[count++] = finding;
    }
    free(bytes);
    if (count)
        qsort(sorted, count, sizeof(*sorted), analyze_by_rank);
    for (size_t i = 0; i < count; i++)
        candidates[i] = (uint32_t)(sorted[i] - run->findings.items);
    free(sorted);
    return count;
}

// Returns how much of the common gain is lost without this finding; 0 if the limit on replays is
// reached.
static uint64_t lost_without(struct weighing *weighing, uint32_t finding)
{
    if (weighing->steps > MOST_STEPS)
        return 0;
    weighing->followed[finding] = false;
    const uint64_t without = replay(weighing);
    weighing->followed[finding] = true;
    return weighing->wanted > without ? weighing->wanted - without : 0;
}

static void weigh_together(struct weighing *weighing)
{
    struct analyze_run *run = weighing->run;
    uint32_t *candidates = calloc(run->findings.count + 1, sizeof(*candidates));
    weighing->followed = calloc(run->findings.count + 1, sizeof(*weighing->followed));
    weighing->failed |= !candidates || !weighing->followed;
    qsort(run->fixes.items, run->fixes.count, sizeof(*run->fixes.items), by_object);
    const size_t count = weighing->failed ? 0 : take_candidates(weighing, candidates);
    if (count && !weighing->failed) {
        weighing->wanted = replay(weighing);
        follow(weighing, candidates, count, false);
        find_needed(weighing, candidates, count, true);
    }
    for (size_t i = 0; i < count && !weighing->failed; i++) {
        struct analyze_finding *finding = &run->findings.items[candidates[i]];
        if (!weighing->followed[candidates[i]] || finding->worthwhile)
            continue;
        finding->worthwhile = finding->only_together = true;
        finding->together_bytes = lost_without(weighing, candidates[i]);
    }
    free(candidates);
    free(weighing->followed);
    base_array_fini(&weighing->changes);
}

bool analyze_weigh(struct analyze_run *run, const struct analyze_run_time *time)
{
    struct weighing weighing = {.run = run, .peak = run->peak_bytes};
    weigh_each(run, weighing.peak, time);
    if (run->fixes.count)
        weigh_together(&weighing);
    return !weighing.failed && !analyze_replay_failed(run->replay);
}
