// SPDX-License-Identifier: Apache-2.0
// Chooses a line a*i + b from the sample, and samples a job. See values.h for what it promises.
//
// Of integers, neighbouring elements give the slope, and the most frequent one is taken. Of floats,
// the line through two distant elements to which most others are close is fitted to these.
#ifndef GLINT_DEVICE_VALUES_LINE_CUH
#define GLINT_DEVICE_VALUES_LINE_CUH

#include "values_sample.cuh"

// --- Integers ------------------------------------------------------------------------------------

// Returns the most frequent of the warp's values, of those that are there; of several, that of the
// first lane. Called by a whole warp.
__device__ static __noinline__ u64 elect(bool is_there, u64 value)
{
    const unsigned equal = __match_any_sync(ALL, value) & __ballot_sync(ALL, is_there);
    unsigned best = (is_there ? (unsigned)__popc(equal) : 0) << 5 | (31 - lane_index());
#pragma unroll 1
    for (int step = 16; step; step /= 2)
        best = max(best, __shfl_xor_sync(ALL, best, step));
    return __shfl_sync(ALL, value, (int)(31 - best % 32));
}

// Finds the line that most elements and their neighbours are on. Called by a whole warp.
__device__ static void try_integer_line(unsigned type, unsigned size)
{
    struct sampling &sample = scanning.sample;
    const unsigned number = lane_index() * size / 32; // of the lane's try
    const u64 step = sample.keys[number], slope = elect(step != 0, step);
    const u64 intercept =
        elect(true, (sample.bits[number] - slope * sample.index[number]) & mask_of(kind_of(type)));
    if (lane_index() == 0) {
        sample.line[0] = slope;
        sample.line[1] = intercept;
    }
}

// Takes the line if enough are on it. Called by the whole block.
__device__ static void choose_integer_line(unsigned type, unsigned size, const struct element &own)
{
    struct sampling &sample = scanning.sample;
    const u64 mask = mask_of(kind_of(type)), slope = sample.line[0], intercept = sample.line[1];
    const bool is_on = own.there && own.bits == ((slope * own.index + intercept) & mask);
    const unsigned count = block_count(slope && is_on);
    if (20 * count < 9 * size || !count || threadIdx.x)
        return;
    sample.wanted.line = 1;
    sample.wanted.slope = slope & (mask / 2 + 1) ? slope | ~mask : slope;
    sample.wanted.intercept = value_of(type, intercept);
}

// --- Floats --------------------------------------------------------------------------------------

struct line {
    double slope, intercept;
};

__device__ static struct line line_at(unsigned i)
{
    return {scanning.sample.lines[i][0], scanning.sample.lines[i][1]};
}

__device__ static void put_line(unsigned i, struct line line)
{
    scanning.sample.lines[i][0] = line.slope;
    scanning.sample.lines[i][1] = line.intercept;
}

__device__ static bool is_finite(double number)
{
    return fabs(number) <= 0x1.fffffffffffffp1023;
}

__device__ static bool is_usable(struct line line)
{
    return line.slope != 0 && is_finite(line.slope) && is_finite(line.intercept);
}

__device__ static bool is_near(double number, double place, struct line line, double error)
{
    return is_finite(number) &&
           fabs(number - fma(line.slope, place, line.intercept)) <= error * fabs(number);
}

// Makes the lines that are tried: each goes through two elements. Called by one warp.
__device__ static void make_lines(unsigned type, unsigned size)
{
    const struct sampling &sample = scanning.sample;
    // Near elements are on a line that is only in a part of the object.
    const unsigned one = lane_index() * size / LINES;
    const unsigned other = (one + (size >> (1 + lane_index() % 3))) % size;
    const double place = (double)sample.index[one];
    const double number = __longlong_as_double((long long)value_of(type, sample.bits[one]));
    const double end = __longlong_as_double((long long)value_of(type, sample.bits[other]));
    const double slope = (end - number) / ((double)sample.index[other] - place);
    put_line(lane_index(), {slope, fma(-slope, place, number)});
}

// Counts the elements that are close to the lines, in a part of the sample. A lane takes elements
// from all of the object, one after the other, so that a line to which few of the first are close
// can be left. Called by the whole block.
__device__ static void try_lines(unsigned size)
{
    enum { ROUNDS_EACH = 8, FIRST = 2 };
    struct sampling &sample = scanning.sample;
    const unsigned lane = lane_index();
    const bool all = size <= 32 * ROUNDS_EACH;
    const unsigned rounds = all ? (size + 31) / 32 : (unsigned)ROUNDS_EACH;
    const unsigned part = size / 32, step = size / (32 * ROUNDS_EACH);
#pragma unroll 1
    for (unsigned i = warp_index(); i < LINES; i += WARPS) {
        const struct line its = line_at(i);
        unsigned close = 0, loose = 0;
#pragma unroll 1
        for (unsigned k = 0; k < rounds && is_usable(its); k++) {
            // The lane's number is added so that lanes use different banks of memory.
            const unsigned number = all ? 32 * k + lane : lane * part + k * step + lane;
            const unsigned at = number < size ? number : number - size;
            const bool in = !all || number < size;
            const double value = sample.numbers[at], place = sample.places[at];
            close += __popc(__ballot_sync(ALL, in && is_near(value, place, its, 0x1p-12)));
            loose += __popc(__ballot_sync(ALL, in && is_near(value, place, its, 0x1p-5)));
            if (!all && k + 1 == FIRST && loose < 32 * FIRST / 5)
                break;
        }
        if (lane == 0 && loose) {
            atomicMax(&sample.close, close << 8 | (LINES - i));
            atomicMax(&sample.loose, loose << 8 | (LINES - i));
        }
    }
    __syncthreads();
}

// Chooses the one to which most elements are close; `error` says how close.
__device__ static bool choose_tried(unsigned size, struct line *line, double *error)
{
    const unsigned part = min(size, 256u);
    const unsigned close = scanning.sample.close, loose = scanning.sample.loose;
    const bool is_close = 20 * (close >> 8) >= 9 * part && close >> 8;
    const unsigned best = is_close ? close : loose;
    if (5 * (best >> 8) < 2 * part || !(best >> 8))
        return false;
    *line = line_at(LINES - (best & 0xff));
    *error = is_close ? 0x1p-12 : 0x1p-5;
    return true;
}

// Sums up what fits the line to the elements close to it, so that the sum of the squares of
// relative errors is the least, and finds the first and the last index. Called by the whole block.
__device__ static void sum_errors(const struct element &own, double number, struct line line,
                                  double error, double middle)
{
    struct sampling &sample = scanning.sample;
    double sums[FITTED] = {0, 0, 0, 0, 0};
    u64 last = own.there ? own.index : 0, first = own.there ? ~own.index : 0;
    if (own.there && is_near(number, (double)own.index, line, error) && number != 0) {
        const double one = 1 / number, place = ((double)own.index - middle) * one;
        const double rest = (number - fma(line.slope, (double)own.index, line.intercept)) * one;
        sums[0] = one * one;
        sums[1] = one * place;
        sums[2] = place * place;
        sums[3] = one * rest;
        sums[4] = place * rest;
    }
    __syncwarp();
#pragma unroll 1
    for (int step = 16; step; step /= 2) {
        last = max(last, __shfl_xor_sync(ALL, last, step));
        first = max(first, __shfl_xor_sync(ALL, first, step));
#pragma unroll
        for (int k = 0; k < FITTED; k++)
            sums[k] += __shfl_xor_sync(ALL, sums[k], step);
    }
    if (lane_index() == 0) {
#pragma unroll
        for (int k = 0; k < FITTED; k++)
            sample.sums[warp_index()][k] = sums[k];
        sample.ends[warp_index()][0] = last;
        sample.ends[warp_index()][1] = first;
    }
    __syncthreads();
}

// Rounds to a mantissa of 12 bits.
__device__ static double round_number(double number)
{
    const u64 bits = (u64)__double_as_longlong(number);
    return __longlong_as_double((long long)round_bits<F64>(bits, 10 - 12));
}

// Makes similar lines: the fitted one, the given one, and those with round numbers. Called by one
// warp.
__device__ static void make_similar(struct line line, double middle)
{
    double sums[FITTED] = {0, 0, 0, 0, 0};
#pragma unroll 1
    for (unsigned i = 0; i < WARPS; i++) {
#pragma unroll
        for (int k = 0; k < FITTED; k++)
            sums[k] += scanning.sample.sums[i][k];
    }
    const double all = 1 / (sums[0] * sums[2] - sums[1] * sums[1]);
    const double slope = (sums[0] * sums[4] - sums[1] * sums[3]) * all;
    const double intercept = (sums[3] * sums[2] - sums[4] * sums[1]) * all;
    struct line fitted = {line.slope + slope, line.intercept + (intercept - slope * middle)};
    if (!is_usable(fitted))
        fitted = line;
    const double rounded = round_number(fitted.slope);
    if (lane_index() == 0) {
        put_line(0, fitted);
        put_line(1, line);
        put_line(2, {fitted.slope, 0});
        put_line(3, {rounded, round_number(fitted.intercept)});
        put_line(4, {rounded, 0});
    }
}

// Returns the similar line that most elements are on, and their number. Later lines have rounder
// numbers, which are preferred, unless so few elements are on the lines that this is chance; but of
// two that are round, the later is. Called by the whole block.
__device__ static struct line choose_similar(unsigned size, const struct element &own,
                                             double number, unsigned *most)
{
    unsigned chosen = 0;
#pragma unroll 1
    for (unsigned i = 0; i < SIMILAR; i++) {
        const struct line its = line_at(i);
        const unsigned count =
            block_count(own.there && is_near(number, (double)own.index, its, 0x1p-20));
        const bool better = (count >= *most && (20 * count >= 9 * size || chosen == SIMILAR - 2)) ||
                            count > *most + size / 32;
        if (!i || (better && is_usable(its))) {
            *most = count;
            chosen = i;
        }
    }
    return line_at(chosen);
}

// By how much the line changes between the sample's ends, as a share of its greatest value there.
__device__ static double change_of(struct line line)
{
    u64 last = 0, first = 0;
#pragma unroll 1
    for (unsigned i = 0; i < WARPS; i++) {
        last = max(last, scanning.sample.ends[i][0]);
        first = max(first, scanning.sample.ends[i][1]);
    }
    const double from = (double)~first, to = (double)last;
    const double most = fmax(fabs(fma(line.slope, from, line.intercept)),
                             fabs(fma(line.slope, to, line.intercept)));
    return fabs(line.slope) * (to - from) / most;
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

// Returns which roundings make 40 % of the sample be on the line. Called by the whole block.
__device__ static unsigned count_rounded_line(unsigned type, unsigned size,
                                              const struct element &own, struct line line)
{
    const u64 its = convert_any(type, fma(line.slope, (double)own.index, line.intercept));
    unsigned roundings = 0;
#pragma unroll 1
    for (int k = 0; k < DEVICE_ROUNDINGS; k++) {
        const bool same = round_any(type, own.bits, k) == round_any(type, its, k);
        roundings |= (unsigned)(5 * block_count(own.there && same) >= 2 * size) << (8 + k);
    }
    return roundings;
}

// Called by the whole block.
__device__ static void choose_float_line(unsigned type, unsigned size, const struct element &own)
{
    struct sampling &sample = scanning.sample;
    const double number = __longlong_as_double((long long)value_of(type, own.bits));
    struct line line;
    double error;
    sample.numbers[threadIdx.x] = number;
    sample.places[threadIdx.x] = (double)own.index;
    if (warp_index() == WARPS - 1)
        make_lines(type, size);
    __syncthreads();
    try_lines(size);
    if (!choose_tried(size, &line, &error))
        return;
    const double middle = sample.places[size / 2];
    sum_errors(own, number, line, error, middle);
    if (warp_index() == 0)
        make_similar(line, middle);
    __syncthreads();
    unsigned count = 0, roundings = 0;
    line = choose_similar(size, own, number, &count);
    const double change = change_of(line);
    if (50 * count < 49 * size && change >= 0x1p-4)
        roundings = count_rounded_line(type, size, own, line);
    if (threadIdx.x == 0 && (roundings || (20 * count >= 9 * size && change >= 0x1p-16))) {
        sample.wanted.line = 1;
        sample.wanted.slope = (u64)__double_as_longlong(line.slope);
        sample.wanted.intercept = (u64)__double_as_longlong(line.intercept);
        sample.wanted.roundings |= roundings;
    }
}

// --- All of it -----------------------------------------------------------------------------------

// Empties the tables and sums.
__device__ static void begin_field()
{
    enum { FROM = offsetof(struct sampling, wanted), WORDS = (sizeof(struct sampling) - FROM) / 4 };
    static_assert(WORDS <= THREADS, "each thread clears one");
    clear_counts(scanning.sample.counts[0]);
    clear_counts(scanning.sample.counts[1]);
    if (threadIdx.x < WORDS)
        ((unsigned *)&scanning.sample.wanted)[threadIdx.x] = 0;
}

// Finds what some of the sample are not. Called by the whole block.
__device__ static void choose_types(unsigned type, const struct element &own)
{
    const u64 bits = extend(type, own.bits);
    const bool broken = is_wide(type) ? has_fraction(bits) : has_fraction((unsigned)bits);
    const bool wide = is_wide(type) ? !is_narrow(bits) : !is_narrow((unsigned)bits);
    const unsigned lacking = (__any_sync(ALL, own.there && broken) ? NOT_INTEGRAL : 0u) |
                             (__any_sync(ALL, own.there && wide) ? NOT_NARROW : 0u);
    if (lane_index() == 0 && lacking)
        atomicOr(&scanning.sample.wanted.lacking, lacking);
}

// Different blocks choose different things, because each of them takes a while.
enum choice { VALUES, ROUNDINGS, LINE, CHOICES };
static_assert(CHOICES == DEVICE_VALUES_CHOICES, "the host knows them");

// Chooses candidates, the set of different values, types, and a line of integers. Returns whether
// something is to be looked for but the line. Called by the whole block.
__device__ static bool choose_values(unsigned field, const struct sampled &from,
                                     const struct element &own, struct set *set)
{
    struct sampling &sample = scanning.sample;
    const struct device_values_job &job = scanning.job;
    const unsigned type = job.fields[field].type, size = from.size;
    const bool floats = is_float(kind_of(type)), integers = !floats && type != DEVICE_RAW;
    const struct counted counted = count_values(own);
    if (floats)
        choose_types(type, own);
    if (integers && warp_index() == WARPS - 1)
        try_integer_line(type, size);
    if (counted.count && counted.count >= (size + LISTED - 1) / LISTED)
        list_value(own.bits, counted.count);
    __syncthreads();
    if (warp_index() == 0 && sample.listed)
        choose_candidates(type, size);
    if (counted.kinds <= DEVICE_DISTINCT)
        begin_set(job, field, from.range, set, own.bits, counted.count);
    else if (threadIdx.x == 0)
        set->count = DEVICE_DISTINCT + 1u;
    if (integers && counted.kinds > 1) // one has no line
        choose_integer_line(type, size, own);
    return sample.listed || counted.kinds <= DEVICE_DISTINCT ||
           (floats && sample.wanted.lacking != (NOT_INTEGRAL | NOT_NARROW));
}

// Makes a choice about a field. Returns whether something is to be looked for. Called by the whole
// block.
__device__ static bool sample_field(unsigned field, enum choice choice, u64 place)
{
    struct sampling &sample = scanning.sample;
    const struct device_values_job &job = scanning.job;
    struct field_work *work = &at<struct work>(job.work)->fields[field];
    const unsigned type = job.fields[field].type;
    const bool floats = is_float(kind_of(type)), integers = !floats && type != DEVICE_RAW;
    struct element own;
    bool wants = false;
    if (choice != VALUES && !floats)
        return false;
    begin_field();
    struct sampled from = {field_range(job, field), 0};
    from.size = load_elements(job, field, from.range, place, integers, &own);
    if (choice == VALUES)
        wants = choose_values(field, from, own, &work->set);
    if (choice == ROUNDINGS && from.size)
        choose_roundings(type, from.size, own);
    if (choice == LINE && from.size > 1)
        choose_float_line(type, from.size, own);
    __syncthreads();
    if (threadIdx.x < sizeof(sample.wanted) / 4) {
        const unsigned word = ((const unsigned *)&sample.wanted)[threadIdx.x];
        if (word) // others choose other parts
            atomicOr((unsigned *)&work->wanted + threadIdx.x, word);
    }
    return wants || sample.wanted.roundings || sample.wanted.line;
}

// Returns the next choice about the job that no block has begun to make. Called by the whole block.
__device__ static unsigned next_choice(struct work *work)
{
    __syncthreads();
    if (threadIdx.x == 0)
        scanning.choice = atomicAdd(&work->claimed, 1u);
    __syncthreads();
    return scanning.choice;
}

// Makes those choices about the block's job that no other block has begun to make. Called by the
// whole block.
__device__ static __noinline__ void sample_job()
{
    const struct device_values_job &job = scanning.job;
    struct work *work = at<struct work>(job.work);
    const unsigned choices = CHOICES * job.field_count;
    u64 place = NONE;
    unsigned choice = next_choice(work);
    if (choice >= choices)
        return;
    if (job.end - job.first >= (u64)SAMPLE * job.stride) { // otherwise, all are taken
        place = try_place(job);
        if (job.which != DEVICE_RANGE && 8 * block_count(place != NONE) < 7 * SAMPLE)
            place = walk_place(job);
    }
#pragma unroll 1
    for (; choice < choices; choice = next_choice(work)) {
        const bool wants = sample_field(choice / CHOICES, (enum choice)(choice % CHOICES), place);
        __syncthreads();
        if (threadIdx.x == 0) {
            fence_gpu();
            atomicAdd(&work->ready, wants ? WANTS + 1u : 1u);
        }
    }
}

#endif
