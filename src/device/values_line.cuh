// SPDX-License-Identifier: Apache-2.0
// Chooses a line a*i + b from the sample. See values.h for what it promises.
//
// Of integers, neighbouring elements give the slope, and the most frequent one is taken. Of floats,
// the line through two distant elements to which most others are close is fitted to these.
#ifndef GLINT_DEVICE_VALUES_LINE_CUH
#define GLINT_DEVICE_VALUES_LINE_CUH

#include "values_sample.cuh"

// --- Integers ------------------------------------------------------------------------------------

// Returns the most frequent of the warp's values, and how many lanes have it; of several, that of
// the first lane. Called by a whole warp.
__device__ static u64 elect(bool is_there, u64 value, unsigned *votes)
{
    unsigned own = 0;
#pragma unroll 1
    for (int i = 0; i < 32; i++) {
        const u64 other = __shfl_sync(ALL, value, i);
        const bool there = __shfl_sync(ALL, (int)is_there, i);
        own += is_there && there && other == value;
    }
    unsigned best = own << 5 | (31 - lane_index());
    for (int step = 16; step; step /= 2)
        best = max(best, __shfl_xor_sync(ALL, best, step));
    *votes = best >> 5;
    return __shfl_sync(ALL, value, (int)(31 - best % 32));
}

__device__ static void choose_integer_line(const struct device_values_job &job, unsigned field,
                                           struct wanted *wanted)
{
    const unsigned type = job.fields[field].type, width = 8 * size_of(kind_of(type));
    const u64 mask = ~0ull >> (64 - width);
    if (warp_index() == 0) {
        const unsigned number = lane_index() * sampling.size / 32; // of the lane's try
        const u64 index = sampling.index[number], bits = sampling.bits[number];
        u64 other = 0, slope = 0;
        unsigned votes;
        if (load_field(job, field, index + 1, &other))
            slope = (other - bits) & mask;
        else if (index && load_field(job, field, index - 1, &other))
            slope = (bits - other) & mask;
        slope = elect(slope != 0, slope, &votes);
        const u64 intercept = elect(true, (bits - slope * index) & mask, &votes);
        if (lane_index() == 0) {
            sampling.slopes[0] = slope;
            sampling.slopes[1] = intercept;
        }
    }
    __syncthreads();
    const u64 slope = sampling.slopes[0], intercept = sampling.slopes[1];
    const unsigned i = threadIdx.x;
    const bool is_on =
        i < sampling.size && sampling.bits[i] == ((slope * sampling.index[i] + intercept) & mask);
    const unsigned count = block_count(slope && is_on);
    if (20 * count < 9 * sampling.size || !count)
        return;
    if (threadIdx.x == 0) {
        wanted->line = 1;
        wanted->slope = slope >> (width - 1) & 1 ? slope | ~mask : slope;
        wanted->intercept = value_of(type, intercept);
    }
}

// --- Floats --------------------------------------------------------------------------------------

struct line {
    double slope, intercept;
};

__device__ static double at_index(struct line line, u64 index)
{
    return fma(line.slope, (double)index, line.intercept);
}

__device__ static double number_at(unsigned i)
{
    return __longlong_as_double((long long)sampling.keys[i]);
}

__device__ static bool is_finite(double number)
{
    return fabs(number) <= 0x1.fffffffffffffp1023;
}

__device__ static bool is_near(unsigned i, struct line line, double error)
{
    const double number = number_at(i);
    return is_finite(number) &&
           fabs(number - at_index(line, sampling.index[i])) <= error * fabs(number);
}

// Returns how many elements of the sample are on the line. Called by the whole block.
__device__ static unsigned count_near(struct line line)
{
    return block_count(threadIdx.x < sampling.size && is_near(threadIdx.x, line, 0x1p-20));
}

// Tries lines through two distant elements on a part of the sample. Returns the one to which most
// elements are close; `error` says how close. Called by the whole block.
__device__ static bool try_lines(struct line *line, double *error)
{
    enum { LINES = 32, PART = 256 };
    const unsigned size = sampling.size, part = min(size, (unsigned)PART);
    if (threadIdx.x < LINES) {
        // Near elements are on a line that is only in a part of the object.
        const unsigned one = threadIdx.x * size / LINES;
        const unsigned other = (one + (size >> (1 + threadIdx.x % 3))) % size;
        const double distance = (double)sampling.index[other] - (double)sampling.index[one];
        const double slope = (number_at(other) - number_at(one)) / distance;
        const double intercept = fma(-slope, (double)sampling.index[one], number_at(one));
        sampling.tried[threadIdx.x] = slope != 0 && is_finite(slope) && is_finite(intercept);
        sampling.lines[threadIdx.x][0] = slope;
        sampling.lines[threadIdx.x][1] = intercept;
    }
    __syncthreads();
    u64 best_close = 0, best_loose = 0;
#pragma unroll 1
    for (unsigned i = warp_index(); i < LINES; i += SAMPLER_WARPS) {
        const struct line its = {sampling.lines[i][0], sampling.lines[i][1]};
        unsigned close = 0, loose = 0;
#pragma unroll 1
        for (unsigned k = 0; k < part; k += 32) {
            const unsigned at = (k + lane_index()) * size / part;
            const bool in = k + lane_index() < part;
            close += __popc(__ballot_sync(ALL, in && is_near(at, its, 0x1p-12)));
            loose += __popc(__ballot_sync(ALL, in && is_near(at, its, 0x1p-5)));
        }
        if (sampling.tried[i]) {
            best_close = max(best_close, (u64)close << 32 | (LINES - i));
            best_loose = max(best_loose, (u64)loose << 32 | (LINES - i));
        }
    }
    best_close = block_max(best_close);
    best_loose = block_max(best_loose);
    const bool is_close = 20 * (best_close >> 32) >= 9 * part && best_close >> 32;
    const u64 best = is_close ? best_close : best_loose;
    if (5 * (best >> 32) < 2 * part || !(best >> 32))
        return false;
    *line = {sampling.lines[LINES - (unsigned)best][0], sampling.lines[LINES - (unsigned)best][1]};
    *error = is_close ? 0x1p-12 : 0x1p-5;
    return true;
}

// Fits the line to the elements close to it, so that the sum of the squares of relative errors is
// the least. Called by the whole block.
__device__ static struct line fit(struct line line, double error)
{
    enum { SUMS = 5 };
    double sums[SUMS] = {0, 0, 0, 0, 0};
    const double middle = (double)(sampling.index[sampling.size / 2] & ~0ull >> 1);
#pragma unroll 1
    for (unsigned i = threadIdx.x; i < sampling.size; i += SAMPLERS) {
        const double number = number_at(i);
        if (!is_near(i, line, error) || number == 0)
            continue;
        const double one = 1 / number, place = ((double)sampling.index[i] - middle) / number;
        const double rest = (number - at_index(line, sampling.index[i])) / number;
        sums[0] += one * one;
        sums[1] += one * place;
        sums[2] += place * place;
        sums[3] += one * rest;
        sums[4] += place * rest;
    }
    __syncthreads();
    for (int k = 0; k < SUMS; k++) {
        for (int step = 16; step; step /= 2)
            sums[k] += __shfl_xor_sync(ALL, sums[k], step);
        if (lane_index() == 0)
            sampling.sums[warp_index()][k] = sums[k];
    }
    __syncthreads();
    for (int k = 0; k < SUMS; k++) {
        sums[k] = 0;
        for (int i = 0; i < SAMPLER_WARPS; i++)
            sums[k] += sampling.sums[i][k];
    }
    const double all = sums[0] * sums[2] - sums[1] * sums[1];
    const double slope = (sums[0] * sums[4] - sums[1] * sums[3]) / all;
    const double intercept = (sums[3] * sums[2] - sums[4] * sums[1]) / all;
    const struct line fitted = {line.slope + slope, line.intercept + (intercept - slope * middle)};
    const bool usable = is_finite(fitted.slope) && is_finite(fitted.intercept) && fitted.slope != 0;
    return usable ? fitted : line;
}

// Rounds to a mantissa of 12 bits.
__device__ static double round_number(double number)
{
    const u64 bits = (u64)__double_as_longlong(number);
    return __longlong_as_double((long long)round_bits<F64>(bits, 10 - 12));
}

// Of similar lines, returns the one that most elements are on, and their number. Round numbers are
// preferred, unless so few elements are on the lines that this is chance. Called by the whole
// block.
__device__ static unsigned choose_similar(struct line *line, double error)
{
    enum { LINES = 5 };
    const unsigned all = sampling.size;
    const struct line fitted = fit(*line, error);
    const double slope = round_number(fitted.slope), intercept = round_number(fitted.intercept);
    const struct line similar[LINES] = {
        fitted, *line, {fitted.slope, 0}, {slope, intercept}, {slope, 0}};
    unsigned most = 0;
    *line = fitted;
#pragma unroll 1
    for (int i = 0; i < LINES; i++) {
        const struct line its = similar[i];
        const unsigned count = count_near(its);
        const bool better = (count >= most && 20 * count >= 9 * all) || count > most + all / 32;
        if (its.slope != 0 && is_finite(its.slope) && (!i || better)) {
            most = count;
            *line = its;
        }
    }
    return most;
}

__device__ static __noinline__ u64 convert_any(unsigned type, double number)
{
    switch (type) {
    case DEVICE_F16: return to_bits<F16>(number);
    case DEVICE_BF16: return to_bits<BF16>(number);
    case DEVICE_F32: return to_bits<F32>(number);
    default: return to_bits<F64>(number);
    }
}

// By how much the line changes between the sample's ends, as a share of its greatest value there.
__device__ static double change_of(struct line line)
{
    u64 last = 0, first = 0; // the complement of the first index
#pragma unroll 1
    for (unsigned i = threadIdx.x; i < sampling.size; i += SAMPLERS) {
        last = max(last, sampling.index[i]);
        first = max(first, ~sampling.index[i]);
    }
    last = block_max(last);
    first = ~block_max(first);
    const double most = fmax(fabs(at_index(line, first)), fabs(at_index(line, last)));
    return fabs(line.slope) * ((double)last - (double)first) / most;
}

__device__ static void choose_float_line(unsigned type, struct wanted *wanted)
{
    struct line line;
    double error;
    __syncthreads();
#pragma unroll 1
    for (unsigned i = threadIdx.x; i < sampling.size; i += SAMPLERS)
        sampling.keys[i] = value_of(type, sampling.bits[i]);
    __syncthreads();
    if (!try_lines(&line, &error))
        return;
    const unsigned count = choose_similar(&line, error), all = sampling.size;
    const double change = change_of(line);
    unsigned roundings = 0;
#pragma unroll 1
    for (int k = 0; 50 * count < 49 * all && change >= 0x1p-4 && k < DEVICE_ROUNDINGS; k++) {
        const u64 its = convert_any(type, at_index(line, sampling.index[threadIdx.x]));
        const bool is_same =
            round_any(type, sampling.bits[threadIdx.x], k) == round_any(type, its, k);
        const unsigned same = block_count(threadIdx.x < all && is_same);
        roundings |= (unsigned)(5 * same >= 2 * all) << (8 + k);
    }
    if (threadIdx.x == 0 && (roundings || (20 * count >= 9 * all && change >= 0x1p-16))) {
        wanted->line = 1;
        wanted->slope = (u64)__double_as_longlong(line.slope);
        wanted->intercept = (u64)__double_as_longlong(line.intercept);
        wanted->roundings |= roundings;
    }
}

// --- All of it -----------------------------------------------------------------------------------

// Chooses what to count of a field. Called by the whole block.
__device__ static void sample_field(unsigned field, struct field_work *work)
{
    const struct device_values_job &job = sampling.job;
    const unsigned type = job.fields[field].type;
    struct wanted *wanted = &sampling.wanted;
    bool is_new;
    unsigned count;
    load_elements(job, field);
    if (threadIdx.x < sizeof(*wanted) / 8)
        ((u64 *)wanted)[threadIdx.x] = 0;
    const unsigned kinds = count_keys(&is_new, &count);
    choose_candidates(type, wanted, is_new, count);
    begin_set(type, &work->set, is_new, kinds);
    if (sampling.size && is_float(kind_of(type))) {
        choose_types(type, wanted);
        choose_roundings(type, wanted);
        if (kinds > 1) // one has no line
            choose_float_line(type, wanted);
    } else if (type != DEVICE_RAW && kinds > 1) {
        choose_integer_line(job, field, wanted);
    }
    __syncthreads();
    if (threadIdx.x < sizeof(*wanted) / 8)
        ((u64 *)&work->wanted)[threadIdx.x] = ((const u64 *)wanted)[threadIdx.x];
    __syncthreads();
}

// Called by the whole block.
__device__ static void sample_job(const struct device_values &about, unsigned index)
{
    enum { PARTS = sizeof(struct device_values_job) / sizeof(u64) };
#pragma unroll 1
    for (unsigned i = threadIdx.x; i < PARTS; i += SAMPLERS)
        ((u64 *)&sampling.job)[i] = ((const u64 *)&about.jobs[index])[i];
    __syncthreads();
    const struct device_values_job &job = sampling.job;
    const bool few = (job.end - job.first) / job.stride < SAMPLE; // all are taken
    if (!few && 8 * try_places(job) < 7 * SAMPLE && job.which != DEVICE_RANGE)
        walk_places(job);
#pragma unroll 1
    for (unsigned i = 0; i < job.field_count; i++)
        sample_field(i, &at<struct work>(job.work)->fields[i]);
}

#endif
