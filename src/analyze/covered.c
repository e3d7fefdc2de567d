// SPDX-License-Identifier: Apache-2.0
// Finds out which findings are covered by others: what they gain is gained already if another one,
// about the same memory or the same copy, is fixed. One place has one gain, so only one of them
// counts as worthwhile.
//
// Four cases are certain. Memory that is freed in time, or allocated in time, is free for other
// objects anyway, so it need not be reused by hand. What is written to an object that nothing reads
// goes with the object. A copy can be left out only once. And one that is left out does not wait,
// so it need not be made asynchronous; unless enough other copies of its line stay.
#include "analyses.h"
#include "analysis.h"

// Returns whether the finding leaves out what a copy or set writes.
static bool leaves_out_copy(const struct analyze_finding *finding)
{
    switch (finding->pattern) {
    case ANALYZE_DEAD_WRITE:
    case ANALYZE_DUPLICATE_TRANSFER:
    case ANALYZE_REDUNDANT_VALUES:
    case ANALYZE_DUPLICATE_VALUES: return true;
    default: return false;
    }
}

static bool is_about_copy(const struct analyze_finding *finding)
{
    return (finding->kind == PROFILE_CALL_COPY || finding->kind == PROFILE_CALL_SET) &&
           (leaves_out_copy(finding) || finding->pattern == ANALYZE_SINGLE_VALUE ||
            finding->pattern == ANALYZE_SINGLE_ZERO);
}

// Returns whether both are about objects that one place makes.
static bool is_of(const struct analyze_run *run, uint64_t object, uint64_t other)
{
    const uint32_t at = analyze_find_object(run->model, object),
                   other_at = analyze_find_object(run->model, other);
    return at != ANALYZE_NONE && other_at != ANALYZE_NONE &&
           analyze_key_of_object(run, &run->model->objects.items[at]) ==
               analyze_key_of_object(run, &run->model->objects.items[other_at]);
}

static bool gains_as_much(const struct analyze_finding *finding,
                          const struct analyze_finding *other)
{
    return finding->peak_bytes >= other->peak_bytes &&
           finding->traffic_bytes >= other->traffic_bytes && finding->gpu_ns >= other->gpu_ns &&
           finding->waits >= other->waits && finding->host_ns >= other->host_ns;
}

static bool is_at_same_place(const struct analyze_run *run, const struct analyze_finding *finding,
                             const struct analyze_finding *by)
{
    return analyze_place_of_call(run->model, by->path, by->call) ==
           analyze_place_of_call(run->model, finding->path, finding->call);
}

static uint64_t beyond(uint64_t amount, uint64_t other)
{
    return amount > other ? amount - other : 0;
}

// Returns whether copies of the finding wait enough that `by` does not leave out.
static bool stays_worthwhile(const struct analyze_finding *finding,
                             const struct analyze_finding *by, uint64_t run_ns)
{
    return beyond(finding->waits, by->waits) >= ANALYZE_LEAST_WAITS ||
           analyze_is_part(beyond(finding->host_ns, by->host_ns), run_ns);
}

// Returns whether following `by` leaves nothing for the finding to gain.
static bool is_covered(const struct analyze_run *run, const struct analyze_finding *finding,
                       const struct analyze_finding *by)
{
    if (finding->pattern == ANALYZE_SYNCHRONOUS_TRANSFER)
        return by->pattern == ANALYZE_DUPLICATE_TRANSFER && (finding->waits || finding->host_ns) &&
               is_at_same_place(run, finding, by) &&
               !stays_worthwhile(finding, by, (uint64_t)run->model->host.end_ns);
    if (finding->pattern == ANALYZE_REDUNDANT_ALLOCATION && finding->peak_bytes)
        return by->count >= finding->count && gains_as_much(by, finding) &&
               (by->pattern == ANALYZE_EARLY_ALLOCATION
                    ? is_of(run, by->object, finding->object)
                    : (by->pattern == ANALYZE_LATE_DEALLOCATION ||
                       by->pattern == ANALYZE_MEMORY_LEAK) &&
                          is_of(run, by->object, finding->other_object));
    if (!is_about_copy(finding))
        return false;
    if (by->pattern == ANALYZE_UNUSED_ALLOCATION)
        return finding->count <= by->count && is_of(run, finding->object, by->object);
    // Findings of one pattern at one place are about different copies.
    return by->pattern != finding->pattern && leaves_out_copy(by) && is_about_copy(by) &&
           gains_as_much(by, finding) && is_of(run, finding->object, by->object) &&
           is_at_same_place(run, finding, by);
}

// Returns whether the finding is about a copy itself, not about the values that it leaves.
static bool is_of_transfer(const struct analyze_finding *finding)
{
    return finding->pattern == ANALYZE_DEAD_WRITE || finding->pattern == ANALYZE_DUPLICATE_TRANSFER;
}

// Of two findings that cover each other, the one stays that is about a copy itself, else the one
// that ranks higher.
static bool stays(const struct analyze_finding *by, size_t by_rank,
                  const struct analyze_finding *finding, size_t rank)
{
    const bool is = is_of_transfer(by);
    return is == is_of_transfer(finding) ? by_rank < rank : is;
}

void analyze_cover(struct analysis *analysis, const struct analyze_run *run)
{
    size_t worthwhile = analysis->worthwhile_count;
    for (size_t i = 0; i < analysis->worthwhile_count; i++) {
        struct analyze_finding *finding = (struct analyze_finding *)analysis->ranking[i];
        for (size_t j = 0; j < analysis->worthwhile_count && !finding->covered_by; j++) {
            const struct analyze_finding *by = analysis->ranking[j];
            if (i != j && !by->covered_by && is_covered(run, finding, by) &&
                (stays(by, j, finding, i) || !is_covered(run, by, finding)))
                finding->covered_by = by;
        }
        worthwhile -= finding->covered_by != NULL;
    }
    for (size_t i = 0; i < analysis->worthwhile_count; i++) {
        struct analyze_finding *finding = (struct analyze_finding *)analysis->ranking[i];
        finding->worthwhile = !finding->covered_by;
    }
    analysis->worthwhile_count = worthwhile;
}
