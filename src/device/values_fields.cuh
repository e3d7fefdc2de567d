// SPDX-License-Identifier: Apache-2.0
// What a block of the scan's second kernel shares, and how it sums up any field of a piece, element
// by element, from shared memory. Lane n of a warp has counter n. See values.h.
#ifndef GLINT_DEVICE_VALUES_FIELDS_CUH
#define GLINT_DEVICE_VALUES_FIELDS_CUH

#include "values.cuh"

// Totals of a job: JOB_SUMS of its sums, then those of what is kept.
enum { KNOWN = JOB_SUMS, HASH, TOTALS = HASH + 2 };

static __shared__ struct {
    struct device_values_job job;
    struct wanted wanted[DEVICE_FIELDS];
    struct sums sums[DEVICE_FIELDS]; // of this block
    u64 totals[TOTALS];
    unsigned open[DEVICE_FIELDS]; // not 0: values are added to the set
    unsigned last;
    struct device_field_result result;
    uint4 stage[WARPS][PIECE / 16 + 1]; // of each warp: its piece, and what follows it
} scanning;

__device__ static void count_shared(unsigned field, unsigned counter, u64 count)
{
    if (count)
        atomicAdd(&scanning.sums[field].counters[counter], count);
}

template <typename B> __device__ static B warp_max(B value)
{
    for (int step = 16; step; step /= 2)
        value = max(value, __shfl_xor_sync(ALL, value, step));
    return value;
}

template <typename B> __device__ static B warp_or(B value)
{
    for (int step = 16; step; step /= 2)
        value |= __shfl_xor_sync(ALL, value, step);
    return value;
}

template <typename T> __device__ static T warp_sum(T value)
{
    for (int step = 16; step; step /= 2)
        value += __shfl_xor_sync(ALL, value, step);
    return value;
}

// Adds the keys and bits that the warp's lanes found.
template <typename B>
__device__ static __noinline__ void add_bounds(unsigned field, B greatest, B least, B any, B none)
{
    struct sums *to = &scanning.sums[field];
    greatest = warp_max(greatest);
    least = warp_max(least);
    any = warp_or(any);
    none = warp_or(none);
    if (lane_index() == 0) {
        atomicMax(&to->greatest, (u64)greatest);
        atomicMax(&to->least, (u64)least);
        atomicOr(&to->any, (u64)any);
        atomicOr(&to->none, (u64)none);
    }
}

// Adds the sum over the warp's lanes to a counter.
__device__ static __noinline__ void count_lanes(unsigned field, unsigned counter, unsigned count)
{
    const u64 sum = warp_sum((u64)count);
    if (lane_index() == 0)
        count_shared(field, counter, sum);
}

// --- Element by element --------------------------------------------------------------------------

template <int KIND> __device__ static typename bits_of<KIND>::type load_staged(unsigned offset)
{
    enum { SIZE = size_of(KIND) };
    const unsigned char *from = (const unsigned char *)scanning.stage[warp_index()] + offset;
    if (SIZE == 1)
        return *from;
    if (SIZE == 2 && offset % 2 == 0)
        return *(const unsigned short *)from;
    if (SIZE == 4 && offset % 4 == 0)
        return *(const unsigned *)from;
    if (SIZE == 8 && offset % 4 == 0)
        return (typename bits_of<KIND>::type)((u64)((const unsigned *)from)[1] << 32 |
                                              *(const unsigned *)from);
    u64 bits = 0;
    for (int i = 0; i < SIZE; i++)
        bits |= (u64)from[i] << 8 * i;
    return (typename bits_of<KIND>::type)bits;
}

// The counters of a warp, one for each lane.
__device__ static void count_lane(unsigned *counter, unsigned which, bool yes)
{
    const unsigned count = __popc(__ballot_sync(ALL, yes));
    *counter += lane_index() == which ? count : 0;
}

// Whether values are still added to the set.
__device__ static bool is_open(unsigned field)
{
    const struct set *set = &at<const struct work>(scanning.job.work)->fields[field].set;
    const unsigned all = kind_of(scanning.job.fields[field].type) == INT1 ? 256 : ALL;
    if (scanning.open[field] &&
        __ldcg(&set->count) >= min(all, DEVICE_DISTINCT + 1u)) // there are no others, or enough
        scanning.open[field] = 0;
    return scanning.open[field];
}

// Counts elements on the line, if everything is counted, and rounded ones.
template <int KIND, typename B>
__device__ static void count_chosen(unsigned *counter, const struct wanted &wanted, B bits,
                                    u64 index, bool there, bool basic)
{
    if constexpr (!is_float(KIND)) {
        const B line = ((B)wanted.slope * (B)index + (B)wanted.intercept) & (B)mask_of(KIND);
        if (wanted.line)
            count_lane(counter, LINEAR, there && bits == line);
    } else {
        double line = 0;
        if (wanted.line) {
            line = fma(__longlong_as_double((long long)wanted.slope), (double)index,
                       __longlong_as_double((long long)wanted.intercept));
            if (basic)
                count_lane(counter, LINEAR, there && is_on<KIND>(bits, line));
        }
#pragma unroll 1
        for (unsigned left = wanted.roundings; left; left &= left - 1) {
            const unsigned bit = __ffs((int)left) - 1, k = bit % 8;
            const B rounded = round_bits<KIND>(bits, (int)k);
            if (bit < 8)
                count_lane(counter, ROUNDED + k, there && rounded == (B)wanted.rounded[k]);
            else
                count_lane(counter, ROUNDED_LINEAR + k,
                           there && rounded == round_bits<KIND>((B)to_bits<KIND>(line), (int)k));
        }
    }
}

// Sums up a field of the piece in the stage. `basic` says whether to count everything; otherwise
// only what add_words does not.
template <int KIND>
__device__ static __noinline__ void scan_field(unsigned field, u64 piece, bool basic)
{
    typedef typename bits_of<KIND>::type B;
    const struct device_values_job &job = scanning.job;
    const struct wanted &wanted = scanning.wanted[field];
    struct set *set = &at<struct work>(job.work)->fields[field].set;
    const B flip = is_signed(job.fields[field].type) ? (B)sign_of(KIND) : 0;
    const struct span elements = elements_of(job, field, piece, size_of(KIND));
    const u64 start = job.first + job.fields[field].offset - job.base - (piece * PIECE);
    const bool open = is_open(field);
    unsigned counter = 0;
    B greatest = 0, least = 0, any = 0, none = 0, last = 0;
    bool some = false;
#pragma unroll 1
    for (u64 from = elements.from; from < elements.to; from += 32) {
        const u64 index = from + lane_index();
        const bool there = index < elements.to;
        const B bits = there ? load_staged<KIND>((unsigned)(start + index * job.stride)) : 0;
        if (open && there && (!some || bits != last))
            set_add(set, bits);
        some |= there;
        last = bits;
        if (basic || is_float(KIND))
            count_chosen<KIND>(&counter, wanted, bits, index, there, basic);
        if (!basic)
            continue;
        const bool nan = is_nan<KIND>(bits);
        if (there && !nan) {
            const B key = key_of<KIND>(bits, flip);
            greatest = max(greatest, key);
            least = max(least, key ^ (B)mask_of(KIND));
        }
        any |= bits;
        none |= there ? bits ^ (B)mask_of(KIND) : 0;
        bool plain = false;
        if constexpr (KIND == F32 || KIND == F64)
            plain = __all_sync(ALL, !there || is_plain<KIND>(bits));
        if (!plain) {
            count_lane(&counter, ZEROS, there && is_zero<KIND>(bits));
            if (is_float(KIND)) {
                count_lane(&counter, NANS, there && nan);
                count_lane(&counter, INTEGRAL, there && is_integral<KIND>(bits));
            }
            if (KIND == F32 || KIND == F64)
                count_lane(&counter, NARROW, there && is_narrow<KIND>(bits));
            if (KIND == F32)
                count_lane(&counter, BRIEF, there && !(bits & 0xffff));
        }
#pragma unroll 1
        for (unsigned i = 0; i < wanted.candidate_count; i++)
            count_lane(&counter, CANDIDATES + i, there && bits == (B)wanted.candidates[i]);
    }
    count_shared(field, lane_index(), counter);
    if (basic && elements.from < elements.to) {
        add_bounds(field, greatest, least, any, none);
        if (lane_index() == 0)
            atomicAdd(&scanning.sums[field].elements, elements.to - elements.from);
    }
}

// Sums up all fields of the piece in the stage.
__device__ static __noinline__ void scan_fields(u64 piece)
{
#pragma unroll 1
    for (unsigned i = 0; i < scanning.job.field_count; i++) {
        switch (kind_of(scanning.job.fields[i].type)) {
        case INT1: scan_field<INT1>(i, piece, true); break;
        case INT2: scan_field<INT2>(i, piece, true); break;
        case INT8: scan_field<INT8>(i, piece, true); break;
        case F16: scan_field<F16>(i, piece, true); break;
        case BF16: scan_field<BF16>(i, piece, true); break;
        case F32: scan_field<F32>(i, piece, true); break;
        case F64: scan_field<F64>(i, piece, true); break;
        default: scan_field<INT4>(i, piece, true); break;
        }
    }
}

#endif
