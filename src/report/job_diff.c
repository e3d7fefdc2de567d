// SPDX-License-Identifier: Apache-2.0
// Matches what two job profiles have, and decides how it changed. The jobs may have different
// numbers of ranks, so sums are not compared, but the rank with the most, and then the mean.
#include "job_diff.h"

#include <stdlib.h>
#include <string.h>

#include "findings.h"
#include "units.h"

// --- Keys ----------------------------------------------------------------------------------------

// Adds a call path; without lines, which shift when a source is edited, if it is the second try.
static void put_trace(const struct job_place *place, bool with_lines, struct base_buf *out)
{
    for (const char *at = place && place->trace ? place->trace : ""; *at; at++) {
        const size_t digits = *at == ':' && !with_lines ? strspn(at + 1, "0123456789") : 0;
        if (digits && (at[1 + digits] == '\0' || at[1 + digits] == ' '))
            at += digits;
        else
            base_buf_putc(out, *at);
    }
}

static void put_key(const struct report_job_change *item, unsigned which, bool with_lines,
                    struct base_buf *out)
{
    const struct report_job_row *row = item->rows[which];
    const struct report_job_finding *finding = item->findings[which];
    base_buf_printf(out, "%u\n", item->kind);
    if (finding) {
        base_buf_printf(out, "%s %llx %llu", finding->worst.pattern,
                        (unsigned long long)finding->worst.identity,
                        (unsigned long long)finding->worst.ordinal);
        return;
    }
    base_buf_printf(out, "%s\n%s\n%d\n", row->name, row->kind ? row->kind : "", row->is_explicit);
    put_trace(row->place, with_lines, out);
}

// --- Measures ------------------------------------------------------------------------------------

struct measure {
    const char *words[2]; // of the most and of the mean
    enum report_diff_unit unit;
    unsigned index; // of the row's measures
};

static const struct measure measures[REPORT_DIFF_KINDS][3] = {
    [REPORT_DIFF_OBJECT] = {{{"at the peak, max", "at the peak, mean"}, REPORT_DIFF_BYTES, 2},
                            {{"size, max", "size, mean"}, REPORT_DIFF_BYTES, 1},
                            {{"objects, max", "objects, mean"}, REPORT_DIFF_COUNT, 0}},
    [REPORT_DIFF_KERNEL] = {{{"GPU time, max", "GPU time, mean"}, REPORT_DIFF_NS, 1},
                            {{"launches, max", "launches, mean"}, REPORT_DIFF_COUNT, 0}},
    [REPORT_DIFF_COPY] = {{{"copied, max", "copied, mean"}, REPORT_DIFF_BYTES, 1},
                          {{"GPU time, max", "GPU time, mean"}, REPORT_DIFF_NS, 2},
                          {{"copies, max", "copies, mean"}, REPORT_DIFF_COUNT, 0}},
    [REPORT_DIFF_WAIT] = {{{"waited, max", "waited, mean"}, REPORT_DIFF_NS, 1},
                          {{"times, max", "times, mean"}, REPORT_DIFF_COUNT, 0}},
};

static const struct {
    const char *words[2];
    enum report_diff_unit unit;
} worths[REPORT_JOB_WORTHS] = {
    [REPORT_JOB_RUN] = {{"run time, max", "run time, mean"}, REPORT_DIFF_NS},
    [REPORT_JOB_PEAK] = {{"off the peak, max", "off the peak, mean"}, REPORT_DIFF_BYTES},
    [REPORT_JOB_TRAFFIC] = {{"traffic, max", "traffic, mean"}, REPORT_DIFF_BYTES},
    [REPORT_JOB_GPU] = {{"GPU time, max", "GPU time, mean"}, REPORT_DIFF_NS},
    [REPORT_JOB_WAITS] = {{"waits, max", "waits, mean"}, REPORT_DIFF_COUNT},
    [REPORT_JOB_TOGETHER_PEAK] = {{"off the peak with others, max",
                                   "off the peak with others, mean"},
                                  REPORT_DIFF_BYTES},
    [REPORT_JOB_TOGETHER_RUN] = {{"run time with others, max", "run time with others, mean"},
                                 REPORT_DIFF_NS}};

static bool differ(const struct report_job_diff *diff, const struct report_job_change *item,
                   enum report_diff_unit unit, uint64_t one, uint64_t other)
{
    if (unit != REPORT_DIFF_NS)
        return one != other;
    return diff->timed &&
           report_diff_times_differ(one, other, diff->tolerance_percent,
                                    item->kind == REPORT_DIFF_WAIT ? REPORT_DIFF_LEAST_WAIT_NS
                                                                   : REPORT_DIFF_LEAST_NS);
}

static const struct report_job_spread no_spread;

// Compares a measure; the first that differs decides. If one of the jobs lacks the item, the first
// that is not 0 describes it.
static void compare(const struct report_job_diff *diff, struct report_job_change *item,
                    const char *const words[2], enum report_diff_unit unit,
                    const struct report_job_spread *old, const struct report_job_spread *new)
{
    const bool both = old && new;
    const uint64_t values[2][2] = {
        {(old ? old : &no_spread)->most, (new ? new : &no_spread)->most},
        {report_job_mean(old ? old : &no_spread), report_job_mean(new ? new : &no_spread)}};
    for (unsigned i = 0; i < 2 && !item->measure; i++) {
        const uint64_t before = values[i][0], after = values[i][1];
        if (both ? !differ(diff, item, unit, before, after)
                 : !(before | after) || (unit == REPORT_DIFF_NS && !diff->timed))
            continue;
        item->measure = words[i];
        item->unit = unit;
        item->values[0] = before;
        item->values[1] = after;
        if (both)
            item->change = after > before ? REPORT_DIFF_WORSE : REPORT_DIFF_BETTER;
    }
}

static void judge_row(const struct report_job_diff *diff, struct report_job_change *item)
{
    const struct report_job_row *old = item->rows[0], *new = item->rows[1];
    const bool timed = (!old || old->is_timed) && (!new || new->is_timed);
    const struct report_job_row *any = old ? old : new;
    const bool implicit =
        item->kind == REPORT_DIFF_WAIT && any && !any->is_explicit; // left to chance
    for (unsigned m = 0; m < 3 && measures[item->kind][m].words[0] && !item->measure; m++) {
        const struct measure *measure = &measures[item->kind][m];
        if ((measure->unit == REPORT_DIFF_NS && !timed) ||
            (measure->unit == REPORT_DIFF_COUNT && implicit))
            continue;
        compare(diff, item, measure->words, measure->unit,
                old ? &old->measures[measure->index] : NULL,
                new ? &new->measures[measure->index] : NULL);
    }
}

static void judge_finding(const struct report_job_diff *diff, struct report_job_change *item)
{
    const struct report_job_finding *old = item->findings[0], *new = item->findings[1];
    for (unsigned i = 0; i < REPORT_JOB_WORTHS && !item->measure; i++)
        compare(diff, item, worths[i].words, worths[i].unit, old ? &old->worth[i] : NULL,
                new ? &new->worth[i] : NULL);
    if (item->measure)
        return;
    // The shares of the ranks that have it, because the jobs may have different numbers of ranks.
    const uint64_t before = old ? old->profiles * diff->jobs[1].profiles.count : 0,
                   after = new ? new->profiles * diff->jobs[0].profiles.count : 0;
    if (before == after)
        return;
    item->measure = "ranks";
    item->unit = REPORT_DIFF_COUNT;
    item->values[0] = old ? old->profiles : 0;
    item->values[1] = new ? new->profiles : 0;
    if (old && new)
        item->change = after > before ? REPORT_DIFF_WORSE : REPORT_DIFF_BETTER;
}

static void judge(struct report_job_diff *diff, struct report_job_change *item)
{
    const bool is_finding = item->findings[0] || item->findings[1],
               in_old = item->rows[0] || item->findings[0],
               in_new = item->rows[1] || item->findings[1];
    item->change = in_old && in_new ? REPORT_DIFF_SAME
                   : in_old         ? REPORT_DIFF_GONE
                                    : REPORT_DIFF_NEW;
    if (is_finding)
        judge_finding(diff, item);
    else
        judge_row(diff, item);
    if (!item->measure) {
        diff->same[item->kind] += in_old && in_new;
        return; // or a wait that is left to chance
    }
    struct report_job_change *kept = base_array_push(&diff->changes);
    diff->no_memory |= !kept;
    if (kept)
        *kept = *item;
}

// --- Matching ------------------------------------------------------------------------------------

struct job_matching {
    struct report_job_diff *diff;
    BASE_ARRAY(struct report_job_change) items[2]; // of old and new, one side each
    BASE_ARRAY(bool) paired[2];
};

static void add(struct job_matching *matching, unsigned which, enum report_diff_kind kind,
                const struct report_job_row *row, const struct report_job_finding *finding)
{
    struct report_job_change *item = base_array_push(&matching->items[which]);
    bool *paired = base_array_push(&matching->paired[which]);
    matching->diff->no_memory |= !item || !paired;
    if (!item || !paired)
        return;
    *item = (struct report_job_change){.kind = kind};
    item->rows[which] = row;
    item->findings[which] = finding;
    *paired = false;
}

static void collect(struct job_matching *matching, unsigned which)
{
    static const enum report_diff_kind kinds[] = {[REPORT_JOB_KERNEL] = REPORT_DIFF_KERNEL,
                                                  [REPORT_JOB_WAIT] = REPORT_DIFF_WAIT,
                                                  [REPORT_JOB_OBJECT] = REPORT_DIFF_OBJECT,
                                                  [REPORT_JOB_COPY] = REPORT_DIFF_COPY};
    const struct report_job *job = &matching->diff->jobs[which];
    for (size_t i = 0; i < job->findings.count; i++)
        add(matching, which, REPORT_DIFF_FINDING, NULL, &job->findings.items[i]);
    // Collectives and ranges are not compared.
    for (unsigned kind = 0; kind < sizeof(kinds) / sizeof(kinds[0]); kind++) {
        for (size_t i = 0; i < job->rows[kind].count; i++)
            add(matching, which, kinds[kind], &job->rows[kind].items[i], NULL);
    }
}

// Pairs what has equal keys and is not paired yet. Of several with one key, the first are paired.
static void pair(struct job_matching *matching, bool with_lines)
{
    struct report_job_diff *diff = matching->diff;
    struct base_map known = {0};
    struct base_buf key = {0};
    for (size_t i = 0; i < matching->items[0].count && !diff->no_memory; i++) {
        if (matching->paired[0].items[i])
            continue;
        base_buf_clear(&key);
        put_key(&matching->items[0].items[i], 0, with_lines, &key);
        const char *kept = base_alloc_text(&diff->arena, key.text, key.length);
        bool added = false;
        uint64_t *slot =
            kept ? base_map_put_str(&known, (struct base_str){kept, key.length}, &added) : NULL;
        diff->no_memory |= !slot;
        if (slot && added)
            *slot = i;
    }
    for (size_t i = 0; i < matching->items[1].count && !diff->no_memory; i++) {
        struct report_job_change *item = &matching->items[1].items[i];
        if (matching->paired[1].items[i])
            continue;
        base_buf_clear(&key);
        put_key(item, 1, with_lines, &key);
        const uint64_t *old = base_map_get_str(&known, (struct base_str){key.text, key.length});
        if (!old || matching->paired[0].items[*old])
            continue;
        item->rows[0] = matching->items[0].items[*old].rows[0];
        item->findings[0] = matching->items[0].items[*old].findings[0];
        matching->paired[0].items[*old] = matching->paired[1].items[i] = true;
    }
    diff->no_memory |= key.failed;
    base_buf_fini(&key);
    base_map_fini(&known);
}

static uint64_t apart(const struct report_job_change *item)
{
    return item->values[0] > item->values[1] ? item->values[0] - item->values[1]
                                             : item->values[1] - item->values[0];
}

static int by_change(const void *one, const void *other)
{
    const struct report_job_change *a = one, *b = other;
    if (a->change != b->change)
        return a->change < b->change ? -1 : 1;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    if (apart(a) != apart(b))
        return apart(a) > apart(b) ? -1 : 1;
    struct base_buf keys[2] = {{0}};
    put_key(a, a->rows[0] || a->findings[0] ? 0 : 1, true, &keys[0]);
    put_key(b, b->rows[0] || b->findings[0] ? 0 : 1, true, &keys[1]);
    const int order = keys[0].text && keys[1].text ? strcmp(keys[0].text, keys[1].text) : 0;
    base_buf_fini(&keys[0]);
    base_buf_fini(&keys[1]);
    return order;
}

static void match(struct report_job_diff *diff)
{
    struct job_matching matching = {.diff = diff};
    collect(&matching, 0);
    collect(&matching, 1);
    pair(&matching, true);
    pair(&matching, false);
    for (unsigned which = 0; which < 2; which++) {
        for (size_t i = 0; i < matching.items[which].count && !diff->no_memory; i++) {
            if (which == 1 || !matching.paired[0].items[i])
                judge(diff, &matching.items[which].items[i]);
        }
        base_array_fini(&matching.items[which]);
        base_array_fini(&matching.paired[which]);
    }
    if (diff->changes.count)
        qsort(diff->changes.items, diff->changes.count, sizeof(*diff->changes.items), by_change);
}

// --- The whole diff ------------------------------------------------------------------------------

static void sum_up(struct report_job_diff *diff)
{
    const struct report_job *old = &diff->jobs[0], *new = &diff->jobs[1];
    const struct report_job_total totals[REPORT_JOB_TOTALS] = {
        {"profiles", REPORT_DIFF_COUNT, {old->profiles.count, new->profiles.count}, true, false},
        {"peak, max", REPORT_DIFF_BYTES, {old->peak.most, new->peak.most}, true, false},
        {"peak, mean",
         REPORT_DIFF_BYTES,
         {report_job_mean(&old->peak), report_job_mean(&new->peak)},
         true,
         false},
        {"GPU time, max",
         REPORT_DIFF_NS,
         {old->kernel_ns.most, new->kernel_ns.most},
         diff->timed,
         false},
        {"waited, max",
         REPORT_DIFF_NS,
         {old->waited_ns.most, new->waited_ns.most},
         diff->timed,
         false},
        {"findings worth fixing",
         REPORT_DIFF_COUNT,
         {old->worthwhile, new->worthwhile},
         true,
         false}};
    for (unsigned i = 0; i < REPORT_JOB_TOTALS; i++) {
        struct report_job_total *total = &diff->totals[i];
        *total = totals[i];
        total->differs =
            total->unit == REPORT_DIFF_NS
                ? total->known &&
                      report_diff_times_differ(total->values[0], total->values[1],
                                               diff->tolerance_percent, REPORT_DIFF_LEAST_WAIT_NS)
                : total->values[0] != total->values[1];
    }
}

enum base_code report_job_diff_load(struct report_job_diff *diff,
                                    const struct report_diff_request *request,
                                    struct base_error *error)
{
    enum base_code code = BASE_OK;
    base_arena_init(&diff->arena, 0);
    diff->tolerance_percent = request->tolerance_percent;
    for (unsigned which = 0; which < 2 && code == BASE_OK; which++) {
        code = report_job_load(&diff->jobs[which], request->profiles[which], NULL, error);
        if (code != BASE_OK)
            base_fail_while(error, "reading %s", request->names[which]);
    }
    if (code != BASE_OK)
        return code;
    diff->timed = !diff->jobs[0].simulated && !diff->jobs[1].simulated;
    match(diff);
    sum_up(diff);
    return diff->no_memory ? base_no_memory(error) : BASE_OK;
}

void report_job_diff_fini(struct report_job_diff *diff)
{
    report_job_fini(&diff->jobs[0]);
    report_job_fini(&diff->jobs[1]);
    base_array_fini(&diff->changes);
    base_arena_fini(&diff->arena);
}

bool report_job_diff_is_empty(const struct report_job_diff *diff)
{
    bool empty = diff->changes.count == 0;
    for (unsigned i = 0; i < REPORT_JOB_TOTALS; i++)
        empty &= !diff->totals[i].differs;
    return empty;
}

void report_job_diff_put_name(const struct report_job_change *change, struct base_buf *out)
{
    static const enum report_job_kind kinds[REPORT_DIFF_KINDS] = {
        [REPORT_DIFF_KERNEL] = REPORT_JOB_KERNEL,
        [REPORT_DIFF_WAIT] = REPORT_JOB_WAIT,
        [REPORT_DIFF_OBJECT] = REPORT_JOB_OBJECT,
        [REPORT_DIFF_COPY] = REPORT_JOB_COPY};
    const struct report_job_finding *finding =
        change->findings[1] ? change->findings[1] : change->findings[0];
    if (finding) {
        base_buf_puts(out, finding->worst.pattern);
        if (finding->worst.at[0]) {
            base_buf_puts(out, " at ");
            report_put_text(out, report_base_name(finding->worst.at));
        }
        return;
    }
    report_job_put_row(kinds[change->kind], change->rows[1] ? change->rows[1] : change->rows[0],
                       out);
}
