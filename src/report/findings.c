// SPDX-License-Identifier: Apache-2.0
// Findings in words: a sentence that says what is the matter and one that says what to do, for each
// pattern. Calls are named by what they do and where they stand in the source.
#include "findings.h"

#include <stdio.h>
#include <string.h>

#include "short_names.h"
#include "units.h"

enum { HIGH_PERCENT = 80 }; // of elements touched, and of fragmentation

// --- What sentences are made of ------------------------------------------------------------------

static void put_name(const struct report_data *data, uint64_t object, struct base_buf *out)
{
    const struct report_object *row = report_find_object(data, object);
    if (row && row->name && row->name[0]) {
        base_buf_putc(out, '`');
        report_put_text(out, row->name);
        base_buf_putc(out, '`');
    } else {
        base_buf_printf(out, "object %llu", (unsigned long long)object);
    }
}

static uint64_t size_of(const struct report_data *data, uint64_t object)
{
    const struct report_object *row = report_find_object(data, object);
    return row ? row->bytes : 0;
}

void report_put_object_size(const struct report_data *data, uint64_t object, struct base_buf *out)
{
    put_name(data, object, out);
    base_buf_puts(out, " (");
    report_put_bytes(out, size_of(data, object));
    base_buf_putc(out, ')');
}

// " (2mm.cu:187)", without folders; else " (call 12)". Beside another place, 0: none.
void report_put_where(const struct report_data *data, uint32_t path, uint32_t beside, uint64_t call,
                      struct base_buf *out)
{
    struct base_buf place = {0};
    report_put_place_beside(data, path, beside, &place);
    if (place.text) {
        base_buf_printf(out, " (%s)", place.text);
    } else {
        base_buf_printf(out, " (call %llu)", (unsigned long long)call);
    }
    out->failed |= place.failed;
    base_buf_fini(&place);
}

struct named_call {
    enum profile_call_kind kind;
    uint64_t number;
    uint32_t path, kernel;
};

static struct named_call call_of(const struct analyze_finding *finding)
{
    return (struct named_call){finding->kind, finding->call, finding->path, finding->kernel};
}

static struct named_call other_of(const struct analyze_finding *finding)
{
    return (struct named_call){finding->other_kind, finding->other_call, finding->other_path,
                               finding->other_kernel};
}

static struct named_call last_of(const struct analyze_finding *finding)
{
    return (struct named_call){finding->last_kind, finding->last_call, finding->last_path,
                               finding->last_kernel};
}

// "the launch of mm2_kernel1 (2mm.cu:203)", "cudaMemcpy (2mm.cu:210)".
static void put_call(const struct report_data *data, struct named_call call, uint32_t beside,
                     struct base_buf *out)
{
    const char *called = report_called_at(data, call.path);
    switch (call.kind) {
    case PROFILE_CALL_LAUNCH:
        base_buf_puts(out, "the launch of ");
        base_buf_puts(out, report_short_kernel(data, call.kernel));
        break;
    case PROFILE_CALL_GRAPH_LAUNCH: base_buf_puts(out, "the launch of a graph"); break;
    case PROFILE_CALL_COPY: report_put_text(out, called ? called : "the copy"); break;
    case PROFILE_CALL_SET: report_put_text(out, called ? called : "the set"); break;
    case PROFILE_CALL_ALLOC: report_put_text(out, called ? called : "the allocation"); break;
    case PROFILE_CALL_FREE: report_put_text(out, called ? called : "the free"); break;
    default: report_put_text(out, called ? called : "the call"); break;
    }
    report_put_where(data, call.path, beside, call.number, out);
}

static void put_apis(uint64_t count, struct base_buf *out)
{
    base_buf_printf(out, "%llu GPU API%s", (unsigned long long)count, count == 1 ? "" : "s");
}

// 2160640 as "2,160,640".
void report_put_count(uint64_t count, struct base_buf *out)
{
    char digits[24];
    int length = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)count);
    for (int i = 0; i < length; i++) {
        if (i && (length - i) % 3 == 0)
            base_buf_putc(out, ',');
        base_buf_putc(out, digits[i]);
    }
}

uint64_t report_peak_after(const struct report_data *data, const struct analyze_finding *finding)
{
    uint64_t peak = data->peak_count ? data->peaks[0].bytes : 0;
    return peak > finding->peak_bytes ? peak - finding->peak_bytes : 0;
}

// --- What it is ----------------------------------------------------------------------------------

static void put_kernel(const struct report_data *data, const struct analyze_finding *finding,
                       struct base_buf *out)
{
    base_buf_puts(out, report_short_kernel(data, finding->kernel));
}

static void put_idle(const struct report_data *data, const struct analyze_finding *finding,
                     struct base_buf *out)
{
    report_put_object_size(data, finding->object, out);
    base_buf_puts(out, " is idle while ");
    put_apis(finding->distance - 1, out);
    base_buf_puts(out, finding->distance == 2 ? " runs, between " : " run, between ");
    put_call(data, call_of(finding), finding->other_path, out);
    base_buf_puts(out, " and ");
    put_call(data, other_of(finding), finding->path, out);
    if (finding->times > 1)
        base_buf_printf(out, "; %llu times in all", (unsigned long long)finding->times);
}

static void put_dead(const struct report_data *data, const struct analyze_finding *finding,
                     struct base_buf *out)
{
    base_buf_puts(out, "what ");
    put_call(data, call_of(finding), finding->other_path, out);
    base_buf_puts(out, " writes to ");
    put_name(data, finding->object, out);
    base_buf_puts(out, " is overwritten by ");
    put_call(data, other_of(finding), finding->path, out);
    base_buf_puts(out, " before anything reads it");
    if (finding->times > 1)
        base_buf_printf(out, "; %llu times", (unsigned long long)finding->times);
}

static void put_over(const struct report_data *data, const struct analyze_finding *finding,
                     struct base_buf *out)
{
    if (finding->is_pool) {
        base_buf_puts(out, "of the pool ");
        report_put_object_size(data, finding->object, out);
        base_buf_puts(out, " at most ");
        report_put_bytes(out, finding->touched);
        base_buf_puts(out, " are in parts at once, after ");
        put_call(data, other_of(finding), finding->path, out);
        base_buf_puts(out, "; ");
        report_put_bytes(out, finding->elements - finding->touched);
        base_buf_puts(out, " are slack");
        return;
    }
    base_buf_puts(out, "kernels touch only ");
    report_put_share(out, finding->touched, finding->elements);
    base_buf_puts(out, " of the elements of ");
    report_put_object_size(data, finding->object, out);
    if (finding->has_fragmentation)
        base_buf_printf(out, "; what they do not is fragmented by %.1f%%",
                        finding->fragmentation * 100);
}

void report_put_message(const struct report_data *data, const struct analyze_finding *finding,
                        struct base_buf *out)
{
    switch (finding->pattern) {
    case ANALYZE_EARLY_ALLOCATION:
        report_put_object_size(data, finding->object, out);
        base_buf_puts(out, " is allocated ");
        put_apis(finding->distance, out);
        base_buf_puts(out, " before its first use");
        break;
    case ANALYZE_LATE_DEALLOCATION:
        report_put_object_size(data, finding->object, out);
        base_buf_puts(out, " is freed ");
        put_apis(finding->distance, out);
        base_buf_puts(out, " after its last use");
        break;
    case ANALYZE_REDUNDANT_ALLOCATION:
        report_put_object_size(data, finding->object, out);
        base_buf_puts(out, " is first used when ");
        report_put_object_size(data, finding->other_object, out);
        base_buf_puts(out, " is not needed any more, and could lie in its memory");
        break;
    case ANALYZE_UNUSED_ALLOCATION:
        report_put_object_size(data, finding->object, out);
        base_buf_puts(out, " is allocated, and nothing ever accesses it");
        break;
    case ANALYZE_MEMORY_LEAK:
        report_put_object_size(data, finding->object, out);
        base_buf_puts(out, finding->is_heap ? ", which a kernel has allocated, is never freed"
                                            : " is never freed");
        break;
    case ANALYZE_TEMPORARY_IDLENESS: put_idle(data, finding, out); break;
    case ANALYZE_DEAD_WRITE: put_dead(data, finding, out); break;
    case ANALYZE_OVERALLOCATION: put_over(data, finding, out); break;
    case ANALYZE_NON_UNIFORM_ACCESS:
        put_kernel(data, finding, out);
        base_buf_puts(out, " touches some elements of ");
        report_put_object_size(data, finding->object, out);
        base_buf_printf(out, " much more often than others: the coefficient of variation is %.0f%%",
                        finding->variation * 100);
        break;
    case ANALYZE_STRUCTURED_ACCESS:
        if (finding->count == 1) // else launches are those on all of them
            base_buf_printf(out, "%llu ", (unsigned long long)finding->times);
        base_buf_puts(out, "launches of ");
        put_kernel(data, finding, out);
        base_buf_puts(out, " each touch a slice of their own of ");
        report_put_object_size(data, finding->object, out);
        break;
    default: report_put_sync_message(data, finding, out); break;
    }
    if (finding->count > 1) {
        base_buf_puts(out, " (one of ");
        report_put_count(finding->count, out);
        base_buf_puts(out, " alike)");
    }
}

// --- What to do ----------------------------------------------------------------------------------

static void suggest_idle(const struct report_data *data, const struct analyze_finding *finding,
                         struct base_buf *out)
{
    base_buf_puts(out, finding->rewritten ? "free " : "move ");
    put_name(data, finding->object, out);
    base_buf_puts(out, finding->rewritten ? " after " : " to the host after ");
    put_call(data, call_of(finding), finding->other_path, out);
    base_buf_puts(out,
                  finding->rewritten ? ", and allocate it again before " : ", and back before ");
    put_call(data, other_of(finding), finding->path, out);
    if (finding->rewritten)
        base_buf_puts(out, ", which overwrites all of it");
}

static void suggest_leak(const struct report_data *data, const struct analyze_finding *finding,
                         struct base_buf *out)
{
    base_buf_puts(out, "free ");
    put_name(data, finding->object, out);
    if (finding->is_heap) {
        base_buf_puts(out, " in a kernel");
    } else if (finding->may_be_used) {
        base_buf_puts(out, " when it is not needed any more");
    } else if (finding->other_call) {
        base_buf_puts(out, " after ");
        put_call(data, other_of(finding), finding->path, out);
    } else {
        base_buf_puts(out, ", or do without it: nothing uses it");
    }
}

static void suggest_over(const struct report_data *data, const struct analyze_finding *finding,
                         struct base_buf *out)
{
    const uint64_t end = finding->largest_first + finding->largest_count;
    if (!finding->has_fragmentation && !finding->is_pool) {
        base_buf_puts(out, "find out which elements they are: 'glint record --maps' keeps them");
        return;
    }
    base_buf_puts(out, "allocate ");
    report_put_bytes(out, finding->bytes);
    base_buf_puts(out, " instead of ");
    report_put_bytes(out, size_of(data, finding->object));
    if (finding->is_pool) {
        base_buf_puts(out, ": all parts can be laid out in that");
        return;
    }
    base_buf_puts(out, ": elements ");
    if (end >= finding->elements) {
        base_buf_puts(out, "beyond ");
        report_put_count(finding->largest_first, out);
    } else {
        report_put_count(finding->largest_first, out);
        base_buf_puts(out, " to ");
        report_put_count(end - 1, out);
    }
    base_buf_puts(out, " are never touched");
    // The paper's table 2: only where both are low is it easy and worth it. Others are told only
    // with other thresholds.
    if (finding->touched * 100.0 >= HIGH_PERCENT * (double)finding->elements)
        base_buf_puts(out, "; that saves little");
    if (finding->fragmentation * 100 >= HIGH_PERCENT)
        base_buf_puts(out, "; the rest lies scattered and is hard to leave out");
}

static void suggest_shared(const struct report_data *data, const struct analyze_finding *finding,
                           struct base_buf *out)
{
    const struct profile_counts *counts = finding->counts;
    base_buf_puts(out, "keep what ");
    put_kernel(data, finding, out);
    base_buf_puts(out, " touches most often of ");
    put_name(data, finding->object, out);
    base_buf_puts(out, " in shared memory");
    if (counts && counts->hottest[0].elements && counts->sum) {
        const struct profile_hot_range *hottest = &counts->hottest[0];
        base_buf_puts(out, ": elements ");
        report_put_count(hottest->first, out);
        base_buf_puts(out, " to ");
        report_put_count(hottest->first + hottest->elements - 1, out);
        base_buf_puts(out, " take ");
        report_put_share(out, hottest->sum, counts->sum);
        base_buf_puts(out, " of its accesses");
    }
}

void report_put_suggestion(const struct report_data *data, const struct analyze_finding *finding,
                           struct base_buf *out)
{
    switch (finding->pattern) {
    case ANALYZE_EARLY_ALLOCATION:
        base_buf_puts(out, "move the allocation of ");
        put_name(data, finding->object, out);
        report_put_where(data, finding->path, 0, finding->call, out);
        base_buf_puts(out, " to just before ");
        put_call(data, other_of(finding), finding->path, out);
        break;
    case ANALYZE_LATE_DEALLOCATION:
        base_buf_puts(out, "free ");
        put_name(data, finding->object, out);
        base_buf_puts(out, " right after ");
        put_call(data, other_of(finding), finding->path, out);
        base_buf_puts(out, ", not only by ");
        put_call(data, call_of(finding), finding->other_path, out);
        break;
    case ANALYZE_REDUNDANT_ALLOCATION:
        base_buf_puts(out, "let ");
        put_name(data, finding->object, out);
        if (finding->call)
            report_put_where(data, finding->path, 0, finding->call, out);
        base_buf_puts(out, " reuse ");
        put_name(data, finding->other_object, out);
        base_buf_puts(out, ", which nothing uses after ");
        if (finding->last_call == finding->other_call) // of a graph
            base_buf_puts(out, "earlier nodes of ");
        put_call(data, last_of(finding), finding->path, out);
        break;
    case ANALYZE_UNUSED_ALLOCATION:
        base_buf_puts(out, "do without ");
        put_name(data, finding->object, out);
        if (finding->call)
            report_put_where(data, finding->path, 0, finding->call, out);
        break;
    case ANALYZE_MEMORY_LEAK: suggest_leak(data, finding, out); break;
    case ANALYZE_TEMPORARY_IDLENESS: suggest_idle(data, finding, out); break;
    case ANALYZE_DEAD_WRITE:
        base_buf_puts(out, "leave out ");
        put_call(data, call_of(finding), finding->other_path, out);
        break;
    case ANALYZE_OVERALLOCATION: suggest_over(data, finding, out); break;
    case ANALYZE_NON_UNIFORM_ACCESS: suggest_shared(data, finding, out); break;
    case ANALYZE_STRUCTURED_ACCESS:
        base_buf_puts(out, "allocate one slice of ");
        put_name(data, finding->object, out);
        base_buf_puts(out, ", ");
        report_put_bytes(out, finding->bytes);
        base_buf_puts(out, " instead of ");
        report_put_bytes(out, size_of(data, finding->object));
        base_buf_puts(out, ", and use it again for each launch");
        break;
    default: report_put_sync_suggestion(data, finding, out); break;
    }
}

void report_put_advice(const struct report_data *data, const struct analyze_finding *finding,
                       struct base_buf *out)
{
    report_put_message(data, finding, out);
    base_buf_puts(out, ". Suggestion: ");
    report_put_suggestion(data, finding, out);
    base_buf_putc(out, '.');
}

// --- What it is worth ----------------------------------------------------------------------------

static bool has_unknown_gain(const struct analyze_finding *finding)
{
    return finding->pattern == ANALYZE_NON_UNIFORM_ACCESS ||
           (finding->pattern == ANALYZE_OVERALLOCATION && !finding->has_fragmentation &&
            !finding->is_pool);
}

static void put_no_worth(const struct analyze_finding *finding, struct base_buf *out)
{
    if (has_unknown_gain(finding)) {
        base_buf_puts(out, "a gain that is not estimated");
    } else {
        base_buf_puts(out, report_is_about_sync(finding->pattern) ? "nothing off the run time alone"
                                                                  : "nothing off the peak alone");
    }
}

// "together with others, 1.0 MiB off the peak (33.0%)".
static void put_together(const struct report_data *data, const struct analyze_finding *finding,
                         struct base_buf *out)
{
    if (finding->together_ns) {
        base_buf_puts(out, "together with others, ");
        report_put_ns(out, finding->together_ns);
        base_buf_puts(out, " off the run time (");
        report_put_share(out, finding->together_ns, analyze_run_time(data->analysis)->recorded_ns);
        base_buf_putc(out, ')');
    } else if (finding->together_bytes) {
        base_buf_puts(out, "together with others, ");
        report_put_bytes(out, finding->together_bytes);
        base_buf_puts(out, " off the peak (");
        report_put_share(out, finding->together_bytes, data->peak_count ? data->peaks[0].bytes : 0);
        base_buf_putc(out, ')');
    } else {
        base_buf_puts(out, "a lower peak together with others");
    }
}

void report_put_worth(const struct report_data *data, const struct analyze_finding *finding,
                      struct base_buf *out)
{
    const char *before = "";
    if (finding->only_together) {
        put_together(data, finding, out);
        return;
    }
    if (finding->host_ns || finding->waits) {
        report_put_run_worth(data, finding, out);
        before = ", ";
    }
    if (finding->peak_bytes) {
        base_buf_puts(out, before);
        report_put_bytes(out, finding->peak_bytes);
        base_buf_puts(out, " off the peak (");
        report_put_share(out, finding->peak_bytes, data->peak_count ? data->peaks[0].bytes : 0);
        base_buf_putc(out, ')');
        before = ", ";
    }
    if (finding->traffic_bytes) {
        base_buf_puts(out, before);
        report_put_bytes(out, finding->traffic_bytes);
        base_buf_puts(out, " less to move");
        before = ", ";
    }
    if (finding->gpu_ns) {
        base_buf_puts(out, before);
        report_put_ns(out, finding->gpu_ns);
        base_buf_puts(out, " of GPU time");
        before = ", ";
    }
    if (!before[0])
        put_no_worth(finding, out);
}

void report_count_hidden(struct report_hidden *hidden, const struct analyze_finding *finding)
{
    if (finding->worthwhile)
        return;
    if (has_unknown_gain(finding)) {
        hidden->unknown++;
    } else {
        hidden->small++;
        hidden->waits |= finding->waits > 0;
    }
}

bool report_put_hidden(const struct report_hidden *hidden, struct base_buf *out)
{
    if (hidden->small)
        base_buf_printf(out, "%zu finding%s worth less than 0.1%% or 4 KiB", hidden->small,
                        hidden->small == 1 ? " is" : "s are");
    if (hidden->waits)
        base_buf_printf(out, ", or fewer than %d waits", ANALYZE_LEAST_WAITS);
    if (hidden->small && hidden->unknown)
        base_buf_printf(out, ", and the gain of %zu more is not estimated", hidden->unknown);
    else if (hidden->unknown)
        base_buf_printf(out, "the gain of %zu finding%s is not estimated", hidden->unknown,
                        hidden->unknown == 1 ? "" : "s");
    return hidden->small || hidden->unknown;
}

bool report_lowers_peak(const struct report_data *data)
{
    const uint64_t peak = data->peak_count ? data->peaks[0].bytes : 0;
    const uint64_t achievable = analyze_achievable_peak(data->analysis);
    bool found = false;
    for (size_t i = 0; i < analyze_worthwhile_count(data->analysis) && !found; i++) {
        const struct analyze_finding *finding = analyze_finding(data->analysis, i);
        found = finding->peak_bytes || (finding->only_together && !finding->together_ns);
    }
    return found && achievable < peak;
}
