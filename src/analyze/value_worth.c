// SPDX-License-Identifier: Apache-2.0
// What findings on values are worth. The time of a copy or set is shared out by bytes. The time of
// a kernel's traffic is estimated from the highest bandwidth in this recording, and is never more
// than its part of all that the kernel moves. docs/reference/values.md says why.
#include "values.h"

enum {
    LEAST_BYTES = 1 << 24, // shorter transfers say more about the latency of a call than of memory
    SECTOR_BYTES = 32,     // what the GPU's memory reads and writes at once
    ATOMIC_NS = 1,         // the most that an atomic operation takes, even if all are on one word
};

// --- Bandwidth -----------------------------------------------------------------------------------

// Returns the bytes that a call surely moves in device memory; 0 if that is unknown or little.
static uint64_t device_bytes(const struct analyze_model *model, uint32_t index)
{
    const struct analyze_call *call = &model->calls.items[index];
    uint64_t bytes = 0;
    if (call->kind != PROFILE_CALL_COPY && call->kind != PROFILE_CALL_SET &&
        call->kind != PROFILE_CALL_LAUNCH)
        return 0;
    if (call->flags & ANALYZE_HOST_END) // limited by the bus
        return 0;
    for (uint32_t i = call->touches, end = analyze_touches_end(model, index); i < end; i++) {
        const struct analyze_touch *touch = &model->touches.items[i];
        if (!touch->is_kernel)
            bytes += touch->row_bytes * touch->rows;
        else if (touch->elements != PROFILE_UNKNOWN)
            bytes += touch->elements * touch->element_bytes;
    }
    return bytes >= LEAST_BYTES ? bytes : 0;
}

// Returns the most bytes that the kernels of a call can move if they read each byte once. Before a
// store, probes load what it overwrites. If the kernel reads the object, that is no traffic of its
// own.
static uint64_t kernel_bytes(const struct analyze_model *model, uint32_t call)
{
    uint64_t sum = 0;
    for (uint32_t i = model->calls.items[call].touches, end = analyze_touches_end(model, call);
         i < end; i++) {
        const struct analyze_touch *touch = &model->touches.items[i];
        if (!touch->is_kernel)
            continue;
        const uint64_t touched = touch->elements != PROFILE_UNKNOWN
                                     ? touch->elements * touch->element_bytes
                                     : model->objects.items[touch->object].bytes;
        const uint64_t stored = analyze_stored_bytes(model, call, touch->node, touch->object);
        if (touch->how & ANALYZE_READ)
            sum += touched;
        if (touch->how & ANALYZE_WRITE && !stored)
            sum += touched;
        else if (touch->how & ANALYZE_WRITE)
            sum += touch->how & ANALYZE_READ ? stored : 2 * stored;
    }
    return sum;
}

// If no transfer shows it, the launch counts that would need the highest if it touched all of its
// objects. That may be more than the GPU reaches, so that estimated times are too short, never too
// long.
double analyze_bandwidth(struct analyze_run *run)
{
    const struct analyze_model *model = run->model;
    double sure = 0, most = 0;
    if (run->has_bandwidth)
        return run->bandwidth;
    for (uint32_t i = 0; i < model->calls.count && !model->simulated; i++) {
        const struct analyze_call *call = &model->calls.items[i];
        if (!call->gpu_ns || !(call->flags & ANALYZE_WORKS))
            continue;
        const double rate = (double)device_bytes(model, i) / (double)call->gpu_ns;
        sure = rate > sure ? rate : sure;
        if (call->kind != PROFILE_CALL_LAUNCH)
            continue;
        const double needed = (double)kernel_bytes(model, i) / (double)call->gpu_ns;
        most = needed > most ? needed : most;
    }
    run->bandwidth = sure > 0 ? sure : most;
    run->has_bandwidth = true;
    return run->bandwidth;
}

// --- Times of kernels ----------------------------------------------------------------------------

// Returns the time in which the kernels of a call, whose GPU time is known, move these bytes; 0 if
// it is unknown. Stores the most bytes that they can have moved in their part of that time.
static double kernel_ns(struct analyze_run *run, uint32_t call, double bytes, double *most_bytes)
{
    const double took_ns = (double)run->model->calls.items[call].gpu_ns;
    const double whole = (double)kernel_bytes(run->model, call);
    const double bandwidth = analyze_bandwidth(run);
    const double part_ns = bytes < whole ? took_ns * (bytes / whole) : took_ns;
    *most_bytes = bytes;
    if (!(bandwidth > 0))
        return 0;
    if (bytes / bandwidth <= part_ns * (1 + 0x1p-30)) // both may be the same, but for rounding
        return bytes / bandwidth;
    *most_bytes = part_ns * bandwidth;
    return part_ns;
}

struct atomics {
    uint64_t count, bytes;
};

static bool is_atomic(const struct analyze_model *model, const struct analyze_stored *stored)
{
    return stored->place != ANALYZE_NONE && analyze_is_atomic(&model->sites.items[stored->place]);
}

static struct atomics atomics_of(const struct analyze_model *model, uint32_t call)
{
    const struct analyze_stored *stores = model->stores.items;
    const size_t count = model->stores.count;
    struct atomics atomics = {0};
    for (size_t i = base_search(0, count, k, stores[k].call < call);
         i < count && stores[i].call == call; i++) {
        if (!is_atomic(model, &stores[i]))
            continue;
        atomics.count += stores[i].stores;
        atomics.bytes += stores[i].stores * stores[i].bytes;
    }
    return atomics;
}

// Returns the time that one atomic operation of a call takes: what is left after all other traffic,
// shared out among them. How much an operation costs depends on how many are on the same word.
static double atomic_ns(struct analyze_run *run, uint32_t call)
{
    const struct atomics atomics = atomics_of(run->model, call);
    const uint64_t whole = kernel_bytes(run->model, call);
    const double bandwidth = analyze_bandwidth(run);
    if (!atomics.count || !(bandwidth > 0))
        return 0;
    const double other = whole > atomics.bytes ? (double)(whole - atomics.bytes) : 0;
    const double left = (double)run->model->calls.items[call].gpu_ns - other / bandwidth;
    const double each = left > 0 ? left / (double)atomics.count : 0;
    return each < ATOMIC_NS ? each : ATOMIC_NS;
}

// --- What is saved -------------------------------------------------------------------------------

static void set_time(const struct analyze_run *run, struct analyze_finding *finding, uint32_t call,
                     double ns)
{
    const uint64_t took_ns = run->model->calls.items[call].gpu_ns;
    finding->gpu_ns = ns < (double)took_ns ? (uint64_t)ns : took_ns;
}

// Returns whether a time can be given: the simulated GPU has none.
static bool has_time(const struct analyze_run *run, uint32_t call)
{
    return !run->model->simulated && run->model->calls.items[call].gpu_ns;
}

void analyze_set_traffic(struct analyze_run *run, struct analyze_finding *finding, uint32_t call,
                         uint64_t bytes, uint64_t moved)
{
    const struct analyze_call *row = &run->model->calls.items[call];
    double most;
    finding->traffic_bytes = bytes;
    if (!has_time(run, call))
        return;
    if (!moved)
        set_time(run, finding, call, kernel_ns(run, call, (double)bytes, &most));
    else if (row->kind != PROFILE_CALL_GRAPH_LAUNCH)
        set_time(run, finding, call, (double)row->gpu_ns * ((double)bytes / (double)moved));
}

void analyze_set_value_traffic(struct analyze_run *run, struct analyze_finding *finding,
                               const struct analyze_value_use *use, uint64_t bytes)
{
    finding->traffic_is_bound = use->may_be_less;
    analyze_set_traffic(run, finding, use->call, bytes, use->is_kernel ? 0 : use->bytes);
    if (use->is_kernel && use->may_be_less && has_time(run, use->call)) {
        double most;
        kernel_ns(run, use->call, (double)bytes, &most);
        finding->traffic_bytes = (uint64_t)most; // it reads less than it could
    }
}

// Returns the number of stores to sectors that do not change. It is counted for atomic operations;
// others are assumed to be spread at random.
static double still_of(const struct analyze_stored *stored, bool *is_estimate)
{
    const double share = (double)stored->silent / (double)stored->stores;
    double still = (double)stored->stores;
    if (stored->still <= stored->silent)
        return (double)stored->still;
    *is_estimate = stored->silent < stored->stores;
    for (uint32_t at = 0; at < SECTOR_BYTES && stored->bytes; at += stored->bytes)
        still *= share;
    return still;
}

void analyze_set_silent_traffic(struct analyze_run *run, struct analyze_finding *finding,
                                const struct analyze_stored *stored)
{
    const bool atomic = is_atomic(run->model, stored);
    const double still = still_of(stored, &finding->time_is_estimate);
    double most;
    finding->traffic_bytes = stored->silent * stored->bytes;
    finding->traffic_is_bound = atomic || stored->silent < stored->stores;
    if (has_time(run, stored->call))
        set_time(run, finding, stored->call,
                 atomic ? still * atomic_ns(run, stored->call)
                        : kernel_ns(run, stored->call, still * stored->bytes, &most));
}

struct analyze_finding analyze_begin_value_finding(const struct analyze_run *run,
                                                   enum analyze_pattern pattern,
                                                   const struct analyze_value_use *use,
                                                   const struct analyze_values *values,
                                                   struct analyze_value_facts *facts)
{
    struct analyze_finding finding = analyze_begin_finding(
        run, pattern, use->object, use->call,
        use->is_read && use->writer != use->call ? use->writer : ANALYZE_NONE);
    const uint64_t aspect[] = {use->is_read, values->offset, (uint64_t)values->type};
    if (use->is_kernel)
        finding.kernel = use->kernel;
    finding.aspect = base_hash(aspect, sizeof(aspect));
    *facts = (struct analyze_value_facts){.type = profile_value_type_word(values->type),
                                          .offset = values->offset,
                                          .elements = values->used_elements,
                                          .is_read = use->is_read,
                                          .is_member = values->is_member,
                                          .is_border = use->is_border,
                                          .is_confirmed = use->is_confirmed,
                                          .is_from_host = use->is_from_host,
                                          .is_bound = use->may_be_less};
    return finding;
}

// --- Single values -------------------------------------------------------------------------------

// Returns the function that fills memory with the stored bits of a value; NULL if these differ, as
// zeros of both signs do.
static const char *fill_of(const struct analyze_values *values)
{
    const unsigned size = 8 * (unsigned)values->size_bytes;
    uint64_t whole = values->stored_bits; // repeated to 8 bytes
    if (!values->is_same)
        return NULL;
    for (unsigned width = size; width < 64; width *= 2)
        whole |= whole << width;
#define IS_REPEATED(width) (whole == (whole << (width) | whole >> (64 - (width))))
    if (IS_REPEATED(8))
        return "cudaMemset";
    if (IS_REPEATED(16))
        return "cuMemsetD16";
    return IS_REPEATED(32) ? "cuMemsetD32" : "kernel";
#undef IS_REPEATED
}

// What is kept for a key of findings: a hash of the value, which is odd, or VARIOUS.
enum { VARIOUS = 2 };

void analyze_learn_value(struct analyze_run *run, struct base_map *values,
                         const struct analyze_finding *finding, uint64_t value)
{
    uint64_t *slot = base_map_put(values, analyze_key_of(run, finding), NULL);
    const uint64_t hash = base_hash(&value, sizeof(value)) | 1;
    run->failed |= !slot;
    if (slot)
        *slot = *slot == 0 || *slot == hash ? hash : VARIOUS;
}

bool analyze_value_varies(const struct analyze_run *run, const struct base_map *values,
                          const struct analyze_finding *finding)
{
    const uint64_t *seen = base_map_get(values, analyze_key_of(run, finding));
    return seen && *seen == VARIOUS;
}

struct single_search {
    enum analyze_pattern pattern;
    struct base_map values;
    bool is_counted; // all values are known
};

static void add_single(struct analyze_run *run, struct single_search *looking,
                       const struct analyze_value_use *use, const struct analyze_values *values)
{
    struct analyze_single single = {0};
    struct analyze_finding finding =
        analyze_begin_value_finding(run, looking->pattern, use, values, &single.facts);
    single.value = (struct analyze_value){values->is_zero ? 0 : values->value, values->type};
    if (!looking->is_counted) {
        analyze_learn_value(run, &looking->values, &finding, single.value.bits);
        return;
    }
    single.varies = analyze_value_varies(run, &looking->values, &finding);
    // Nothing is known about bytes between the elements, which the copy may bring for another use.
    if (!use->is_kernel && !use->is_read && use->rows[0]->stride == values->size_bytes)
        single.fill = fill_of(values);
    // Whether the stores of a kernel can go depends on those who read the values. A launch that
    // changes what it reads may only begin with these values, as one that sums up begins with
    // zeros.
    // That nothing is a number is probably a mistake of the program.
    single.is_nan = values->nans != 0;
    finding.gain_is_unknown =
        single.is_nan || (use->is_kernel && (!use->is_read || use->is_changed));
    if (!finding.gain_is_unknown)
        analyze_set_value_traffic(run, &finding, use, values->bytes);
    // What replaces a copy from elsewhere on the device writes as much as the copy does.
    if (single.fill && !use->is_from_host)
        finding.gpu_ns /= 2;
    analyze_set_payload(&finding, single);
    analyze_add_finding(run, &finding);
}

static void take_single(struct analyze_run *run, const struct analyze_value_use *use, void *state)
{
    struct single_search *looking = state;
    struct analyze_values values;
    struct analyze_value_use seen;
    for (uint32_t i = 0; i < use->rows[0]->field_count; i++) {
        if (!analyze_values_of(run, use, i, &values))
            continue;
        const bool is_it = looking->pattern == ANALYZE_SINGLE_ZERO
                               ? values.is_zero
                               : values.is_same && !values.is_zero;
        if (is_it && analyze_agree_accesses(run, use, &values, NULL, &seen))
            add_single(run, looking, &seen, &values);
    }
}

void analyze_find_single(struct analyze_run *run, enum analyze_pattern pattern)
{
    struct single_search looking = {.pattern = pattern};
    if (pattern != ANALYZE_SINGLE_ZERO)
        analyze_walk_values(run, take_single, &looking);
    looking.is_counted = true;
    if (!run->failed)
        analyze_walk_values(run, take_single, &looking);
    base_map_fini(&looking.values);
}

const struct analyze_field analyze_single_fields[] = {
    ANALYZE_VALUE_FIELDS(struct analyze_single, facts),
    ANALYZE_BOUND_FIELD(struct analyze_single, facts),
    ANALYZE_CONFIRMED_FIELD(struct analyze_single, facts),
    {"value", "the value that the elements hold", ANALYZE_OWN(VALUE, struct analyze_single, value)},
    {"fill", "what can replace the copy, bit for bit; null if nothing can, or it is no copy",
     ANALYZE_OWN(WORD, struct analyze_single, fill), .values = ANALYZE_FILL_WORDS},
    {"varies", "similar calls, with the same call path, have other values",
     ANALYZE_OWN(FLAG, struct analyze_single, varies)},
    {"is_nan", NULL, ANALYZE_OWN(FLAG, struct analyze_single, is_nan)},
    {"written_by", "the call that wrote the values, of a read",
     ANALYZE_SHARED(NUMBER_OF_CALL, other_call), .least = 1},
    {0},
};
