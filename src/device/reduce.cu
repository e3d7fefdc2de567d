// SPDX-License-Identifier: Apache-2.0
// The reduction: see device.h.
//
// Bitmaps are read 16 bytes at a time and at full speed; what is known of an object is read only
// where the launch touched it, and changed by atomic operations only where a bit is new there:
// launches on other streams may be reduced at the same time, and bits are only ever set. Sums go
// through shared memory to device memory, one addition a block; the last block to end writes the
// record.
#include "device.h"

typedef unsigned long long u64;

enum {
    WARPS = DEVICE_THREADS / 32,
    VECTORS = DEVICE_CHUNK_WORDS / 4,
    UNROLL = VECTORS / DEVICE_THREADS
};

#define ALL 0xffffffffu

template <typename T> __device__ static T *at(uint64_t address)
{
    return (T *)address;
}

struct sums {
    u64 elements, fresh, shared;
};

// --- Sums over a block ---------------------------------------------------------------------------

__device__ static u64 warp_sum(u64 value)
{
    for (int step = 16; step; step /= 2)
        value += __shfl_xor_sync(ALL, value, step);
    return value;
}

// Adds the block's sum to *to. All threads of the block take part.
__device__ static void block_add(u64 value, u64 *to, u64 *shared)
{
    value = warp_sum(value);
    if (threadIdx.x % 32 == 0)
        shared[threadIdx.x / 32] = value;
    __syncthreads();
    if (threadIdx.x == 0) {
        u64 sum = 0;
        for (int i = 0; i < WARPS; i++)
            sum += shared[i];
        if (sum)
            atomicAdd(to, sum);
    }
    __syncthreads();
}

// --- Joining with what is known of the object ----------------------------------------------------

// Two words of the launch's bits, where known says that some of them are not in any or multi yet.
__device__ static void join(u64 bits, u64 any_known, u64 multi_known, u64 *any, u64 *multi,
                            struct sums *sums)
{
    if (!bits)
        return;
    sums->elements += __popcll(bits);
    u64 seen = bits;
    if (bits & ~any_known) {
        seen = bits & atomicOr(any, bits);
        sums->fresh += __popcll(bits & ~seen);
    }
    if (seen & ~multi_known)
        sums->shared += __popcll(seen & ~atomicOr(multi, seen));
}

__device__ static u64 pair(unsigned low, unsigned high)
{
    return (u64)high << 32 | low;
}

__device__ static void join_vector(uint4 bits, const struct device_job *job, u64 vector,
                                   struct sums *sums)
{
    const uint4 any = __ldcg(at<const uint4>(job->any) + vector);
    const uint4 multi = __ldcg(at<const uint4>(job->multi) + vector);
    join(pair(bits.x, bits.y), pair(any.x, any.y), pair(multi.x, multi.y),
         at<u64>(job->any) + 2 * vector, at<u64>(job->multi) + 2 * vector, sums);
    join(pair(bits.z, bits.w), pair(any.z, any.w), pair(multi.z, multi.w),
         at<u64>(job->any) + 2 * vector + 1, at<u64>(job->multi) + 2 * vector + 1, sums);
}

__device__ static void join_word(unsigned bits, const struct device_job *job, u64 word,
                                 struct sums *sums)
{
    if (!bits)
        return;
    sums->elements += __popc(bits);
    unsigned seen = bits;
    if (bits & ~__ldcg(at<const unsigned>(job->any) + word)) {
        seen = bits & atomicOr(at<unsigned>(job->any) + word, bits);
        sums->fresh += __popc(bits & ~seen);
    }
    if (seen & ~__ldcg(at<const unsigned>(job->multi) + word))
        sums->shared += __popc(seen & ~atomicOr(at<unsigned>(job->multi) + word, seen));
}

// --- Counts --------------------------------------------------------------------------------------

// What one thread has seen. Equal bins and pieces mostly follow one another, so that they are
// gathered before they are added to those of the block and of the object.
struct counted {
    u64 sum, squares_low, squares_high, most;
    u64 piece_sum;
    unsigned piece;
    unsigned bin, bin_count;
};

__device__ static unsigned bin_of(unsigned count)
{
    const unsigned log = 31 - __clz(count);
    return 2 * log + (log ? count >> (log - 1) & 1 : 0);
}

__device__ static void add_bin(struct counted *counted, unsigned bin, unsigned elements,
                               unsigned *bins)
{
    if (bin != counted->bin) {
        if (counted->bin_count)
            atomicAdd(&bins[counted->bin], counted->bin_count);
        counted->bin = bin;
        counted->bin_count = 0;
    }
    counted->bin_count += elements;
}

__device__ static void add_piece(struct counted *counted, unsigned piece, u64 sum, u64 *pieces)
{
    if (piece != counted->piece) {
        if (counted->piece_sum)
            atomicAdd(&pieces[counted->piece], counted->piece_sum);
        counted->piece = piece;
        counted->piece_sum = 0;
    }
    counted->piece_sum += sum;
}

// Elements from one on, all with the same count, which is not 0.
__device__ static void add_counts(struct counted *counted, unsigned count, unsigned element,
                                  unsigned elements, const struct device_job *job, u64 *pieces,
                                  unsigned *bins)
{
    counted->sum += (u64)count * elements;
    const u64 square = (u64)count * count;
    const u64 low = square * elements; // elements are 32 at most
    counted->squares_low += low;
    counted->squares_high += __umul64hi(square, elements) + (counted->squares_low < low);
    const u64 most = (u64)count << 32 | (ALL - element);
    counted->most = most > counted->most ? most : counted->most;
    add_bin(counted, bin_of(count), elements, bins);
    while (elements) {
        const unsigned piece = element / job->piece;
        const unsigned left = job->piece - element % job->piece;
        const unsigned here = elements < left ? elements : left;
        add_piece(counted, piece, (u64)count * here, pieces);
        element += here;
        elements -= here;
    }
}

// The sum of the last piece: mostly the whole warp's is the same.
__device__ static void flush_piece(struct counted *counted, u64 *pieces)
{
    const unsigned first = __shfl_sync(ALL, counted->piece, 0);
    if (__all_sync(ALL, counted->piece == first)) {
        const u64 sum = warp_sum(counted->piece_sum);
        if (sum && threadIdx.x % 32 == 0)
            atomicAdd(&pieces[first], sum);
    } else if (counted->piece_sum) {
        atomicAdd(&pieces[counted->piece], counted->piece_sum);
    }
    counted->piece_sum = 0;
}

// A word with counts, of each lane: returns which elements were touched. Words of which elements
// were touched apart are the whole warp's work, an element a lane.
__device__ static unsigned count_word(unsigned word, u64 index, const struct device_job *job,
                                      struct counted *counted, u64 *pieces, unsigned *bins)
{
    unsigned *counters = at<unsigned>(job->counts);
    const unsigned lane = threadIdx.x % 32;
    const unsigned together = word & 0x7fffffffu;
    unsigned touched = word ? ALL : 0;
    unsigned apart = __ballot_sync(ALL, word >> 31);
    // Words that were touched as a whole come last, as one more round.
    for (bool more = true; more;) {
        more = apart;
        const int of = apart ? __ffs((int)apart) - 1 : 0;
        apart &= apart - 1;
        const u64 of_index = __shfl_sync(ALL, index, of);
        const unsigned of_together = __shfl_sync(ALL, together, of);
        unsigned count = word >> 31 ? 0 : word, elements = 32;
        u64 element = 32 * index;
        if (more) {
            element = 32 * of_index + lane;
            elements = 1;
            const unsigned own = counters[element];
            if (own)
                counters[element] = 0;
            count = of_together + own;
            const unsigned mask = __ballot_sync(ALL, count != 0);
            if ((int)lane == of)
                touched = mask;
        }
        if (count)
            add_counts(counted, count, (unsigned)(element - job->first), elements, job, pieces,
                       bins);
        __syncwarp();
    }
    return touched;
}

__device__ static void flush_counted(struct counted *counted, struct device_counts *to,
                                     unsigned *bins, u64 *shared)
{
    if (counted->bin_count)
        atomicAdd(&bins[counted->bin], counted->bin_count);
    block_add(counted->sum, (u64 *)&to->sum, shared);
    // 128 bits: the carry out of each addition to the low half goes to the high one.
    for (int step = 16; step; step /= 2) {
        const u64 low = __shfl_xor_sync(ALL, counted->squares_low, step);
        counted->squares_high += __shfl_xor_sync(ALL, counted->squares_high, step);
        counted->squares_low += low;
        counted->squares_high += counted->squares_low < low;
        const u64 most = __shfl_xor_sync(ALL, counted->most, step);
        counted->most = most > counted->most ? most : counted->most;
    }
    if (threadIdx.x % 32 == 0 && counted->most) {
        const u64 low = counted->squares_low;
        const u64 old = atomicAdd((u64 *)&to->squares_low, low);
        atomicAdd((u64 *)&to->squares_high, counted->squares_high + (old + low < low));
        atomicMax((u64 *)&to->most, counted->most);
    }
    if (threadIdx.x < DEVICE_BINS && bins[threadIdx.x]) // block_add has brought all together
        atomicAdd((u64 *)&to->bins[threadIdx.x], (u64)bins[threadIdx.x]);
    __syncthreads();
}

// --- Scanning an object --------------------------------------------------------------------------

struct workspace { // shared by the block
    u64 sums[WARPS];
    unsigned bins[DEVICE_BINS];
    unsigned masks[WARPS];
    unsigned last;
    u64 best[WARPS];
    unsigned best_at[WARPS];
    unsigned places[DEVICE_THREADS];
};

// The chunks from one on, every gridDim.x-th.
__device__ static void scan_bits(const struct device_job *job, u64 chunk, u64 chunks,
                                 struct sums *sums)
{
    const u64 vectors = job->words / 4;
    uint4 *launch = at<uint4>(job->bits);
    for (; chunk < chunks; chunk += gridDim.x) {
        uint4 words[UNROLL];
        const u64 from = chunk * VECTORS + threadIdx.x;
#pragma unroll
        for (int i = 0; i < UNROLL; i++) {
            const u64 vector = from + i * DEVICE_THREADS;
            words[i] = vector < vectors ? launch[vector] : make_uint4(0, 0, 0, 0);
        }
#pragma unroll
        for (int i = 0; i < UNROLL; i++) {
            const u64 vector = from + i * DEVICE_THREADS;
            if (words[i].x | words[i].y | words[i].z | words[i].w) {
                launch[vector] = make_uint4(0, 0, 0, 0);
                join_vector(words[i], job, vector, sums);
            }
        }
    }
}

__device__ static void scan_counts(const struct device_job *job, u64 chunk, u64 chunks,
                                   struct sums *sums, struct workspace *shared)
{
    struct counted counted = {0};
    struct device_counts *counts = (struct device_counts *)(at<struct device_sums>(job->sums) + 1);
    unsigned *launch = at<unsigned>(job->bits);
    if (threadIdx.x < DEVICE_BINS)
        shared->bins[threadIdx.x] = 0;
    __syncthreads();
    for (; chunk < chunks; chunk += gridDim.x) {
        const u64 end = (chunk + 1) * DEVICE_CHUNK_WORDS;
#pragma unroll 1
        for (u64 index = chunk * DEVICE_CHUNK_WORDS + threadIdx.x; index < end;
             index += DEVICE_THREADS) {
            const unsigned word = index < job->words ? launch[index] : 0;
            if (!__any_sync(ALL, word))
                continue;
            if (word)
                launch[index] = 0;
            join_word(count_word(word, index, job, &counted, (u64 *)counts->pieces, shared->bins),
                      job, index, sums);
        }
        flush_piece(&counted, (u64 *)counts->pieces);
    }
    flush_counted(&counted, counts, shared->bins, shared->sums);
}

// The chunks of the job that are this block's; *before counts those of earlier jobs, so that all
// blocks get the same share.
__device__ static __noinline__ void scan(const struct device_job *job, u64 *before,
                                         struct workspace *shared)
{
    const u64 chunks = (job->words + DEVICE_CHUNK_WORDS - 1) / DEVICE_CHUNK_WORDS;
    const u64 chunk = (blockIdx.x + gridDim.x - (unsigned)(*before % gridDim.x)) % gridDim.x;
    *before += chunks;
    if (chunk >= chunks)
        return;
    struct sums sums = {0};
    if (job->counts)
        scan_counts(job, chunk, chunks, &sums, shared);
    else
        scan_bits(job, chunk, chunks, &sums);
    struct device_sums *to = at<struct device_sums>(job->sums);
    block_add(sums.elements, (u64 *)&to->elements, shared->sums);
    block_add(sums.fresh, (u64 *)&to->fresh, shared->sums);
    block_add(sums.shared, (u64 *)&to->shared, shared->sums);
}

// Whether the entry stands for an object that was touched and is none of the jobs.
__device__ static __noinline__ bool is_wanted(const struct device_reduction *about, unsigned index)
{
    const struct device_entry *entry = at<const struct device_entry>(about->entries) + index;
    const unsigned short *touched = at<const unsigned short>(about->touched);
    if (!about->entries || entry->owner != index)
        return false;
    bool any = false;
    for (unsigned i = index; i < index + entry->span; i++)
        any |= touched[i] && entry[i - index].owner == index;
    for (unsigned i = 0; any && i < about->job_count; i++)
        any = about->jobs[i].bits != entry->job.bits;
    return any;
}

__device__ static void scan_table(const struct device_reduction *about, u64 *before,
                                  struct workspace *shared)
{
    const struct device_entry *entries = at<const struct device_entry>(about->entries);
    for (unsigned from = 0; from < about->table_count; from += DEVICE_THREADS) {
        const unsigned index = from + threadIdx.x;
        const unsigned mask =
            __ballot_sync(ALL, index < about->table_count && is_wanted(about, index));
        if (threadIdx.x % 32 == 0)
            shared->masks[threadIdx.x / 32] = mask;
        __syncthreads();
        for (int warp = 0; warp < WARPS; warp++) {
            for (unsigned left = shared->masks[warp]; left; left &= left - 1)
                scan(&entries[from + 32 * warp + __ffs((int)left) - 1].job, before, shared);
        }
        __syncthreads();
    }
}

// --- The record ----------------------------------------------------------------------------------

// What is small, by the first block, while the others scan.
__device__ static void write_small(const struct device_reduction *about)
{
    struct device_result *result = at<struct device_result>(about->result);
    u64 *tallies = at<u64>(about->result + about->tallies_at);
    u64 *strayed = at<u64>(about->result + about->strayed_at);
    unsigned char *flags = at<unsigned char>(about->result + about->flags_at);
    const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    for (unsigned i = warp; i < about->tally_count; i += WARPS) {
        u64 sum = 0;
        for (unsigned row = lane; row < about->tally_rows; row += 32) {
            u64 *tally = at<u64>(about->tallies + (u64)row * about->tally_row_bytes) + i;
            sum += *tally;
            *tally = 0;
        }
        sum = warp_sum(sum);
        if (lane == 0)
            tallies[i] = sum;
    }
    for (unsigned i = threadIdx.x; i < about->flag_count; i += DEVICE_THREADS) {
        unsigned char any = 0;
        for (unsigned row = 0; row < about->flag_rows; row++) {
            unsigned char *flag =
                at<unsigned char>(about->flags + (u64)row * about->flag_row_bytes) + i;
            any |= *flag;
            *flag = 0;
        }
        flags[i] = any;
    }
    for (unsigned i = threadIdx.x; i < about->strayed_count; i += DEVICE_THREADS) {
        strayed[i] = at<u64>(about->strayed)[i];
        at<u64>(about->strayed)[i] = 0;
    }
    if (threadIdx.x == 0) {
        u64 *strays = at<u64>(about->strays);
        result->strays = strays ? strays[0] : 0;
        result->stray_at = strays ? strays[2] : 0;
        for (int i = 0; strays && i < 3; i++) // of the addresses only the first is told
            strays[i] = 0;
    }
}

__device__ static void write_sums(const struct device_job *job, struct device_sums *to)
{
    struct device_sums *from = at<struct device_sums>(job->sums);
    *to = *from;
    *from = {0, 0, 0};
}

// The hottest pieces, one after the other: the highest sum, and of equal ones the first. By all of
// the block.
__device__ static void write_hottest(struct device_counts *from, struct device_counted *to,
                                     struct workspace *shared)
{
    for (int place = 0; place < DEVICE_HOTTEST; place++) {
        u64 best = 0;
        unsigned best_at = 0;
        for (unsigned i = threadIdx.x; i < DEVICE_PIECES; i += DEVICE_THREADS) {
            if (from->pieces[i] > best) {
                best = from->pieces[i];
                best_at = i;
            }
        }
        for (int step = 16; step; step /= 2) {
            const u64 other = __shfl_xor_sync(ALL, best, step);
            const unsigned other_at = __shfl_xor_sync(ALL, best_at, step);
            if (other > best || (other == best && other_at < best_at)) {
                best = other;
                best_at = other_at;
            }
        }
        if (threadIdx.x % 32 == 0) {
            shared->best[threadIdx.x / 32] = best;
            shared->best_at[threadIdx.x / 32] = best_at;
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            for (int i = 1; i < WARPS; i++) {
                if (shared->best[i] > best ||
                    (shared->best[i] == best && shared->best_at[i] < best_at)) {
                    best = shared->best[i];
                    best_at = shared->best_at[i];
                }
            }
            to->hottest[place].piece = best_at;
            to->hottest[place].sum = best;
            from->pieces[best_at] = 0;
        }
        __syncthreads();
    }
    for (unsigned i = threadIdx.x; i < DEVICE_PIECES; i += DEVICE_THREADS)
        from->pieces[i] = 0;
}

__device__ static __noinline__ void
write_counts(const struct device_job *job, struct device_counted *to, struct workspace *shared)
{
    struct device_counts *from = (struct device_counts *)(at<struct device_sums>(job->sums) + 1);
    for (unsigned i = threadIdx.x; i < DEVICE_BINS; i += DEVICE_THREADS) {
        to->bins[i] = from->bins[i];
        from->bins[i] = 0;
    }
    if (threadIdx.x == 0) {
        to->sum = from->sum;
        to->squares_low = from->squares_low;
        to->squares_high = from->squares_high;
        to->most = from->most >> 32;
        to->most_at = from->most ? ALL - (unsigned)from->most : 0;
        from->sum = from->squares_low = from->squares_high = from->most = 0;
    }
    write_hottest(from, to, shared);
}

__device__ static void write_jobs(const struct device_reduction *about, struct workspace *shared)
{
    struct device_sums *jobs = at<struct device_sums>(about->result + about->jobs_at);
    struct device_counted *counts = at<struct device_counted>(about->result + about->job_counts_at);
    for (unsigned i = threadIdx.x; i < about->job_count; i += DEVICE_THREADS)
        write_sums(&about->jobs[i], &jobs[i]);
    for (unsigned i = 0; i < about->job_count; i++) {
        if (about->jobs[i].counts)
            write_counts(&about->jobs[i], &counts[i], shared);
    }
    __syncthreads();
}

// A list of the entries that were touched, or whose object was by another of them.
__device__ static void write_entries(const struct device_reduction *about, struct workspace *shared)
{
    const struct device_entry *entries = at<const struct device_entry>(about->entries);
    struct device_touched *list = at<struct device_touched>(about->result + about->entries_at);
    struct device_counted *counts =
        at<struct device_counted>(about->result + about->entry_counts_at);
    unsigned count = 0; // the same in every thread
    for (unsigned from = 0; from < about->table_count; from += DEVICE_THREADS) {
        const unsigned index = from + threadIdx.x;
        const bool there = index < about->table_count;
        const bool wanted = there && is_wanted(about, index);
        unsigned char *touched = at<unsigned char>(about->touched) + 2 * (u64)index;
        u64 *moved = at<u64>(about->moved) + 2 * (u64)index;
        const bool listed = there && (wanted || touched[0] || touched[1]);
        const unsigned mask = __ballot_sync(ALL, listed);
        if (threadIdx.x % 32 == 0)
            shared->masks[threadIdx.x / 32] = mask;
        __syncthreads(); // also: all have asked is_wanted
        unsigned place = count + __popc(mask & ((1u << threadIdx.x % 32) - 1));
        for (unsigned warp = 0; warp < WARPS; warp++) {
            place += warp < threadIdx.x / 32 ? __popc(shared->masks[warp]) : 0;
            count += __popc(shared->masks[warp]);
        }
        if (listed) {
            struct device_touched *to = &list[place];
            to->index = index;
            to->read = touched[0];
            to->written = touched[1];
            to->counted = wanted && entries[index].job.counts;
            to->moved[0] = about->moved ? moved[0] : 0;
            to->moved[1] = about->moved ? moved[1] : 0;
            to->sums = {0, 0, 0};
            if (wanted)
                write_sums(&entries[index].job, &to->sums);
            if (about->moved)
                moved[0] = moved[1] = 0;
        }
        __syncthreads();
        // Counts take the whole block each; their places are those of the list.
        if (there && wanted && entries[index].job.counts)
            shared->places[threadIdx.x] = place;
        const unsigned counted = __ballot_sync(ALL, there && wanted && entries[index].job.counts);
        if (threadIdx.x % 32 == 0)
            shared->masks[threadIdx.x / 32] = counted;
        __syncthreads();
        for (unsigned warp = 0; warp < WARPS; warp++) {
            for (unsigned left = shared->masks[warp]; left; left &= left - 1) {
                const unsigned thread = 32 * warp + __ffs((int)left) - 1;
                write_counts(&entries[from + thread].job, &counts[shared->places[thread]], shared);
            }
        }
        __syncthreads();
    }
    // Marks are cleared when nobody asks for them any more: spans reach over groups.
    for (unsigned i = threadIdx.x; i < about->table_count; i += DEVICE_THREADS)
        at<unsigned short>(about->touched)[i] = 0;
    if (threadIdx.x == 0)
        at<struct device_result>(about->result)->entry_count = count;
}

__device__ static __noinline__ void reduce(const struct device_reduction *about)
{
    __shared__ struct workspace shared;
    u64 before = 0;
    if (blockIdx.x == 0 && about->sequence) {
        write_small(about);
        __threadfence_system();
    }
    for (unsigned i = 0; i < about->job_count; i++)
        scan(&about->jobs[i], &before, &shared);
    if (about->sequence)
        scan_table(about, &before, &shared);
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0)
        shared.last = atomicAdd(at<unsigned>(about->done), 1u) == gridDim.x - 1;
    __syncthreads();
    if (!shared.last)
        return;
    __threadfence();
    write_jobs(about, &shared);
    if (about->sequence)
        write_entries(about, &shared);
    __threadfence_system();
    __syncthreads();
    if (threadIdx.x == 0) {
        *at<unsigned>(about->done) = 0;
        if (about->sequence) {
            __threadfence_system();
            at<struct device_result>(about->result)->sequence = about->sequence;
        }
    }
}

extern "C" __global__ void __launch_bounds__(DEVICE_THREADS)
    glint_reduce(const __grid_constant__ struct device_reduction about)
{
    reduce(&about);
}

extern "C" __global__ void __launch_bounds__(DEVICE_THREADS)
    glint_reduce_many(const struct device_reduction *list)
{
    reduce(&list[blockIdx.y]);
}
