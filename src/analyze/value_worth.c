// SPDX-License-Identifier: Apache-2.0
// What findings on values are worth. The time of a copy or set is shared out by bytes. The time of
// a kernel's traffic is estimated from the highest bandwidth that the GPU reached in this
// recording, and is never more than the kernel took.
#include "values.h"

// Shorter transfers say more about the latency of a call than about memory.
enum { LEAST_BYTES = 1 << 16 };

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

// Returns the highest bandwidth in bytes per nanosecond; 0 if it is unknown.
static double bandwidth_of(struct analyze_run *run)
{
    const struct analyze_model *model = run->model;
    if (run->has_bandwidth)
        return run->bandwidth;
    for (uint32_t i = 0; i < model->calls.count && !model->simulated; i++) {
        const struct analyze_call *call = &model->calls.items[i];
        if (!call->gpu_ns || !(call->flags & ANALYZE_WORKS))
            continue;
        const double rate = (double)device_bytes(model, i) / (double)call->gpu_ns;
        run->bandwidth = rate > run->bandwidth ? rate : run->bandwidth;
    }
    run->has_bandwidth = true;
    return run->bandwidth;
}

// Returns the most bytes that the kernels of a call can move if they touch each byte once; at least
// 1.
static uint64_t kernel_bytes(const struct analyze_model *model, uint32_t call)
{
    uint64_t sum = 0;
    for (uint32_t i = model->calls.items[call].touches, end = analyze_touches_end(model, call);
         i < end; i++) {
        const struct analyze_touch *touch = &model->touches.items[i];
        const bool is_known = touch->is_kernel && touch->elements != PROFILE_UNKNOWN;
        const unsigned times = 1u + (touch->how == (ANALYZE_READ | ANALYZE_WRITE));
        if (touch->is_kernel)
            sum += times * (is_known ? touch->elements * touch->element_bytes
                                     : model->objects.items[touch->object].bytes);
    }
    return sum ? sum : 1;
}

void analyze_set_traffic(struct analyze_run *run, struct analyze_finding *finding, uint32_t call,
                         uint64_t bytes, uint64_t moved)
{
    const struct analyze_call *row = &run->model->calls.items[call];
    finding->traffic_bytes = bytes;
    if (run->model->simulated || row->gpu_ns == 0)
        return;
    double ns = 0;
    if (moved && row->kind != PROFILE_CALL_GRAPH_LAUNCH) {
        ns = (double)row->gpu_ns * ((double)bytes / (double)moved);
    } else if (!moved && bandwidth_of(run) > 0) {
        const double most_ns =
            (double)row->gpu_ns * ((double)bytes / (double)kernel_bytes(run->model, call));
        ns = (double)bytes / bandwidth_of(run);
        if (ns > most_ns) { // it reads less than it could
            ns = most_ns;
            finding->traffic_bytes = (uint64_t)(ns * bandwidth_of(run));
        }
    }
    finding->gpu_ns = ns < (double)row->gpu_ns ? (uint64_t)ns : row->gpu_ns;
}

void analyze_set_value_traffic(struct analyze_run *run, struct analyze_finding *finding,
                               const struct analyze_value_use *use, uint64_t bytes)
{
    analyze_set_traffic(run, finding, use->call, bytes, use->is_kernel ? 0 : use->bytes);
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
                                          .is_from_host = use->is_from_host,
                                          .is_bound = use->may_be_less};
    return finding;
}

// --- Single values -------------------------------------------------------------------------------

// Returns the function that fills memory with the stored bits of a value.
static const char *fill_of(const struct analyze_values *values)
{
    const uint64_t bits = values->is_zero ? 0 : values->stored_bits;
    const unsigned size = 8 * (unsigned)values->size_bytes;
    uint64_t whole = bits; // repeated to 8 bytes
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

void analyze_add_single(struct analyze_run *run, enum analyze_pattern pattern,
                        const struct analyze_value_use *use, const struct analyze_values *values)
{
    struct analyze_single single = {0};
    struct analyze_finding finding =
        analyze_begin_value_finding(run, pattern, use, values, &single.facts);
    single.value = (struct analyze_value){values->is_zero ? 0 : values->value, values->type};
    if (!use->is_kernel && !use->is_read && !values->is_member)
        single.fill = fill_of(values);
    // Whether the stores of a kernel can go depends on those who read the values.
    finding.gain_is_unknown = use->is_kernel && !use->is_read;
    if (!finding.gain_is_unknown)
        analyze_set_value_traffic(run, &finding, use, values->bytes);
    analyze_set_payload(&finding, single);
    analyze_add_finding(run, &finding);
}

const struct analyze_field analyze_single_fields[] = {
    ANALYZE_VALUE_FIELDS(struct analyze_single, facts),
    {"value", "the value that the elements hold", ANALYZE_OWN(VALUE, struct analyze_single, value)},
    {"fill", "what can replace the copy; null unless the call is a copy",
     ANALYZE_OWN(WORD, struct analyze_single, fill), .values = ANALYZE_FILL_WORDS},
    {"written_by", "the call that wrote the values, of a read",
     ANALYZE_SHARED(NUMBER_OF_CALL, other_call), .least = 1},
    {0},
};
