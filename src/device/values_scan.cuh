// SPDX-License-Identifier: Apache-2.0
// The second kernel of the scan: looks at pieces, and sums up hashes and values. See values.h.
//
// A warp takes a piece: each lane reads 16 bytes at a time, from every 512 bytes. Where the layout
// has one field, whose elements are aligned, a lane sums up elements in its registers. Everything
// else goes through shared memory, element by element: structures, the first and the last piece,
// and what is seldom counted. There, lane n has counter n.
#ifndef GLINT_DEVICE_VALUES_SCAN_CUH
#define GLINT_DEVICE_VALUES_SCAN_CUH

#include "values_fields.cuh"

enum {
    VECTORS = 4, // that a lane reads at once
    ROUNDS = PIECE / (32 * 16 * VECTORS),
};

// --- Aligned elements of one field ---------------------------------------------------------------

template <int KIND> struct lane_sums {
    typename bits_of<KIND>::type greatest, lowest; // keys
    typename bits_of<KIND>::type any, none;
    unsigned zeros, nans, integral, narrow, brief, linear;
    unsigned candidates[COUNTED];
    unsigned same; // elements that are the first candidate, and are not in the other sums yet
    unsigned
        same_pieces; // that have nothing else, and were not examined for what is seldom counted
};

template <int KIND>
__device__ static typename bits_of<KIND>::type element_of(const unsigned *words, int index)
{
    switch (size_of(KIND)) {
    case 8:
        return (typename bits_of<KIND>::type)((u64)words[2 * index + 1] << 32 | words[2 * index]);
    case 4: return words[index];
    case 2: return words[index / 2] >> 16 * (index % 2) & 0xffff;
    default: return words[index / 4] >> 8 * (index % 4) & 0xff;
    }
}

// Adds an element several times.
template <int KIND, typename B>
__device__ static void add_element(struct lane_sums<KIND> *own, B bits, B flip, unsigned times)
{
    if (!is_nan<KIND>(bits)) {
        const B key = key_of<KIND>(bits, flip);
        own->greatest = max(own->greatest, key);
        own->lowest = min(own->lowest, key);
    } else {
        own->nans += times;
    }
    own->zeros += is_zero<KIND>(bits) ? times : 0;
    if (is_float(KIND))
        own->integral += is_integral<KIND>(bits) ? times : 0;
    if (KIND == F32 || KIND == F64)
        own->narrow += is_narrow<KIND>(bits) ? times : 0;
    if (KIND == F32)
        own->brief += bits & 0xffff ? 0 : times;
}

// Adds the bounds of elements if there is nothing to count in all lanes, which is usual.
template <int KIND, int N>
__device__ static bool add_plain(struct lane_sums<KIND> *own, const unsigned (&words)[N])
{
    typedef typename bits_of<KIND>::type B;
    B greatest = own->greatest, lowest = own->lowest;
    bool plain = true;
#pragma unroll
    for (int i = 0; i < 4 * N / size_of(KIND); i++) {
        const B bits = element_of<KIND>(words, i), key = key_of<KIND>(bits, (B)0);
        plain &= is_plain<KIND>(bits);
        greatest = max(greatest, key);
        lowest = min(lowest, key);
    }
    if (!__all_sync(ALL, plain))
        return false;
    own->greatest = greatest;
    own->lowest = lowest;
    return true;
}

// Repeats an element of up to four bytes in a word.
template <int KIND> __device__ static unsigned repeated(unsigned element)
{
    return element * (size_of(KIND) == 1 ? 0x01010101u : size_of(KIND) == 2 ? 0x00010001u : 1);
}

// Adds small integers, several of which are in a word.
template <int KIND, int N>
__device__ static void add_small(struct lane_sums<KIND> *own, const unsigned (&words)[N],
                                 unsigned flip)
{
    enum { EACH = 4 / size_of(KIND) };
    const unsigned signs = repeated<KIND>((unsigned)sign_of(KIND));
#pragma unroll
    for (int i = 0; i < N; i++) {
        const unsigned keys[1] = {words[i] ^ repeated<KIND>(flip)};
#pragma unroll
        for (int k = 0; k < EACH; k++) {
            own->greatest = max(own->greatest, element_of<KIND>(keys, k));
            own->lowest = min(own->lowest, element_of<KIND>(keys, k));
        }
        // A difference borrows from a sign that was not set only if an element is 0.
        if ((words[i] - repeated<KIND>(1)) & ~words[i] & signs) {
#pragma unroll
            for (int k = 0; k < EACH; k++)
                own->zeros += !element_of<KIND>(&words[i], k);
        }
    }
}

// Whether all words are those of the element.
template <int KIND, int N> __device__ static bool are_all(const unsigned (&words)[N], u64 element)
{
    const unsigned word = repeated<KIND>((unsigned)element);
    bool same = true;
#pragma unroll
    for (int i = 0; i < N; i++)
        same &= words[i] == (size_of(KIND) == 8 && i % 2 ? (unsigned)(element >> 32) : word);
    return same;
}

// Adds the elements of words, all of which are in the object. `index` is that of the first one;
// those of the next 16 bytes are `step` further. Returns whether all elements of all lanes are the
// first candidate.
template <int KIND, int N>
__device__ static bool add_words(struct lane_sums<KIND> *own, const unsigned (&words)[N], u64 index,
                                 unsigned step, u64 flip)
{
    typedef typename bits_of<KIND>::type B;
    enum { COUNT = 4 * N / size_of(KIND), EACH = 16 / size_of(KIND) };
    const struct wanted &wanted = scanning.wanted[0];
    if (wanted.mostly && !wanted.line &&
        __all_sync(ALL, are_all<KIND>(words, wanted.candidates[0]))) {
        own->same += COUNT;
        return true;
    }
#pragma unroll
    for (int i = 0; i < (size_of(KIND) < 4 ? N : COUNT); i++) { // of small elements, words
        const B bits = size_of(KIND) < 4 ? words[i] : element_of<KIND>(words, i);
        own->any |= bits;
        own->none |= ~bits;
    }
    bool added = false;
    if constexpr (KIND == F32 || KIND == F64)
        added = add_plain<KIND>(own, words);
    if constexpr (KIND == INT1 || KIND == INT2) {
        add_small<KIND>(own, words, (unsigned)flip);
        added = true;
    }
#pragma unroll
    for (int i = 0; !added && i < COUNT; i++)
        add_element<KIND>(own, element_of<KIND>(words, i), (B)flip, 1);
        // If this loop were unrolled, the driver would take seconds to compile it.
#pragma unroll 1
    for (unsigned c = 0; c < wanted.candidate_count; c++) {
        const B value = (B)wanted.candidates[c];
        unsigned count = 0;
#pragma unroll
        for (int i = 0; i < COUNT; i++)
            count += element_of<KIND>(words, i) == value;
        own->candidates[c] += count;
    }
    if constexpr (is_float(KIND)) {
        const double slope = __longlong_as_double((long long)wanted.slope);
        const double intercept = __longlong_as_double((long long)wanted.intercept);
        double place = 0;
#pragma unroll
        for (int i = 0; wanted.line && i < COUNT; i++) {
            if (i % EACH == 0)
                place = (double)(index + i / EACH * step);
            own->linear +=
                is_on<KIND>(element_of<KIND>(words, i), fma(slope, place + i % EACH, intercept));
        }
    } else if (wanted.line) {
        const B slope = (B)wanted.slope;
        B line = 0;
#pragma unroll
        for (int i = 0; i < COUNT; i++) {
            if (i % EACH == 0)
                line = slope * (B)(index + i / EACH * step) + (B)wanted.intercept;
            own->linear += element_of<KIND>(words, i) == (line & (B)mask_of(KIND));
            line += slope;
        }
    }
    return false;
}

// Adds what the lanes have to the block's sums.
template <int KIND> __device__ static void flush_lanes(struct lane_sums<KIND> *own, u64 elements)
{
    typedef typename bits_of<KIND>::type B;
    const struct wanted &wanted = scanning.wanted[0];
    const B flip = is_signed(scanning.job.fields[0].type) ? (B)sign_of(KIND) : 0;
    const B first = (B)wanted.candidates[0];
    if (!elements)
        return;
    if (own->same) {
        add_element<KIND>(own, first, flip, own->same);
        own->any |= first;
        own->none |= first ^ (B)mask_of(KIND);
        own->candidates[0] += own->same;
    }
    const unsigned counts[] = {own->zeros,  own->nans,  own->integral,
                               own->narrow, own->brief, own->linear};
#pragma unroll
    for (unsigned i = 0; i < sizeof(counts) / sizeof(*counts); i++)
        count_lanes(0, i, counts[i]);
#pragma unroll 1
    for (unsigned i = 0; i < wanted.candidate_count; i++)
        count_lanes(0, CANDIDATES + i, own->candidates[i]);
    if (is_float(KIND) && lane_index() < DEVICE_ROUNDINGS && wanted.roundings >> lane_index() & 1 &&
        round_bits<KIND>(first, (int)lane_index()) == (B)wanted.rounded[lane_index()])
        count_shared(0, ROUNDED + lane_index(), (u64)own->same_pieces * (PIECE / size_of(KIND)));
    B any = own->any, none = own->none;
    for (unsigned shift = 8 * size_of(KIND); shift < 32;
         shift *= 2) { // of small ones, all in a word
        any |= any >> shift;
        none |= none >> shift;
    }
    add_bounds(0, own->greatest, own->lowest ^ (B)mask_of(KIND), any & (B)mask_of(KIND),
               none & (B)mask_of(KIND));
    if (lane_index() == 0)
        atomicAdd(&scanning.sums[0].elements, elements);
}

// --- Hashes --------------------------------------------------------------------------------------

struct hash {
    u64 one, other;
};

// Sums of products of neighbouring words, each of which has a key of its own; mixed after each
// round, so that rounds and lanes are not exchangeable.
__device__ static void hash_vectors(struct hash *hash, const uint4 (&vectors)[VECTORS])
{
    const unsigned keys[4 * VECTORS + 4] = {
        0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0, 0x082efa98,
        0xec4e6c89, 0x452821e6, 0x38d01377, 0xbe5466cf, 0x34e90c6c, 0xc0ac29b7, 0xc97c50dd,
        0x3f84d5b5, 0xb5470917, 0x9216d5d9, 0x8979fb1b, 0xd1310ba6, 0x98dfb5ac};
#pragma unroll
    for (int i = 0; i < VECTORS; i++) {
        const uint4 words = vectors[i];
        const unsigned *key = keys + 4 * i;
        hash->one += (u64)(words.x + key[0]) * (words.y + key[1]);
        hash->one += (u64)(words.z + key[2]) * (words.w + key[3]);
        hash->other += (u64)(words.x + key[4]) * (words.z + key[5]);
        hash->other += (u64)(words.y + key[6]) * (words.w + key[7]);
    }
    hash->one = mix(hash->one);
    hash->other = mix(hash->other);
}

// Returns the hash of the piece from those of the lanes.
__device__ static struct hash join_hashes(struct hash own)
{
    const u64 lane = lane_index() + 1;
    return {warp_sum(mix(own.one + lane * 0x9e3779b97f4a7c15ull)),
            warp_sum(mix(own.other + lane * 0xc2b2ae3d27d4eb4full))};
}

// Returns what a known piece adds to the hash of its object.
__device__ static struct hash share_of(struct hash hash, u64 piece)
{
    return {mix(hash.one ^ mix((piece + 1) * 0x9e3779b97f4a7c15ull)),
            mix(hash.other ^ mix((piece + 1) * 0xc2b2ae3d27d4eb4full))};
}

// --- Pieces --------------------------------------------------------------------------------------

// Loads 16 bytes; those outside the object are 0.
__device__ static __noinline__ uint4 load_part(u64 address)
{
    const u64 first = scanning.job.first, end = scanning.job.end;
    unsigned words[4] = {0, 0, 0, 0};
    if (address >= first && address + 16 <= end)
        return __ldcg(at<const uint4>(address));
#pragma unroll 1
    for (unsigned i = 0; i < 16; i++) {
        unsigned byte = 0;
        if (address + i >= first && address + i < end)
            byte = __ldcg(at<const unsigned char>(address + i));
        words[0] = __funnelshift_r(words[0], words[1], 8);
        words[1] = __funnelshift_r(words[1], words[2], 8);
        words[2] = __funnelshift_r(words[2], words[3], 8);
        words[3] = __funnelshift_r(words[3], byte, 8);
    }
    return make_uint4(words[0], words[1], words[2], words[3]);
}

__device__ static void load_vectors(uint4 (&vectors)[VECTORS], u64 address, bool whole)
{
    if (whole) {
#pragma unroll
        for (unsigned i = 0; i < VECTORS; i++)
            vectors[i] = __ldcg(at<const uint4>(address) + 32 * i);
    } else {
#pragma unroll
        for (unsigned i = 0; i < VECTORS; i++)
            vectors[i] = load_part(address + 32 * 16 * i);
    }
}

// Compares the piece's hash with the one kept, and keeps the new one. Returns what to add to the
// lane's total.
__device__ static __noinline__ u64 keep_hash(u64 piece, unsigned state, struct hash was,
                                             struct hash own)
{
    const struct device_values_job &job = scanning.job;
    const struct hash hash = join_hashes(own);
    const struct span bytes = bytes_of(job, piece);
    const bool known = state & DEVICE_PIECE_KNOWN;
    const bool same = known && was.one == hash.one && was.other == hash.other;
    const struct hash gone = share_of(was, piece), come = share_of(hash, piece);
    u64 moved = bytes.to - bytes.from;
    if (job.which == DEVICE_RANGE)
        moved = min(bytes.to, (u64)job.to) - max(bytes.from, (u64)job.from);
    if (lane_index() == 0) {
        const unsigned seen = job.describes ? DEVICE_PIECE_SEEN
                              : same        ? state & DEVICE_PIECE_SEEN
                                            : 0;
        if (!same)
            at<ulonglong2>(job.hashes)[piece] = make_ulonglong2(hash.one, hash.other);
        if ((DEVICE_PIECE_KNOWN | seen) != state)
            at<unsigned char>(job.states)[piece] = (unsigned char)(DEVICE_PIECE_KNOWN | seen);
    }
    switch (lane_index()) {
    case PIECES: return 1;
    case BYTES: return bytes.to - bytes.from;
    case FRESH:
    case KNOWN: return !known;
    case MOVED: return moved;
    case SAME: return same ? moved : 0;
    case HASH: return come.one - (known ? gone.one : 0);
    case HASH + 1: return come.other - (known ? gone.other : 0);
    default: return 0;
    }
}

// Whether something is counted that add_words does not.
template <int KIND> __device__ static bool has_more()
{
    const struct wanted &wanted = scanning.wanted[0];
    return is_open(0) || (is_float(KIND) && wanted.roundings);
}

// What follows the piece: elements may extend into the next.
__device__ static void stage_end(const struct device_values_job &job, u64 end)
{
    unsigned char *stage = (unsigned char *)scanning.stage[warp_index()] + PIECE;
    if (lane_index() < 8 && end + lane_index() < job.end)
        stage[lane_index()] = __ldcg(at<const unsigned char>(end + lane_index()));
}

// Looks at a piece. Returns the number of elements that it added to the lane's sums.
template <int KIND>
__device__ static unsigned scan_piece(const struct device_values_job &job, u64 piece,
                                      unsigned state, struct lane_sums<KIND> *own, u64 *total)
{
    enum { SIZE = size_of(KIND), STEP = 32 * 16 / SIZE, LATER = SIZE < 4 };
    const u64 start = job.base + piece * PIECE;
    const bool whole = start >= job.first && start + PIECE <= job.end;
    const bool fast = KIND != NOTHING && whole;
    const bool more = fast && has_more<KIND>();
    const bool staged = (job.describes && !fast) || (fast && LATER) || more;
    const ulonglong2 was = __ldcg(at<const ulonglong2>(job.hashes) + piece);
    const u64 index = (start - job.first) / SIZE + lane_index() * (16 / SIZE);

    const u64 flip = fast && is_signed(job.fields[0].type) ? sign_of(KIND) : 0;
    uint4 *stage = scanning.stage[warp_index()] + lane_index();
    struct hash hash = {0, 0};
    bool same = true;
#pragma unroll 1
    for (unsigned round = 0; round < ROUNDS; round++) {
        uint4 vectors[VECTORS];
        load_vectors(vectors, start + (round * VECTORS * 32 + lane_index()) * 16, whole);
        hash_vectors(&hash, vectors);
        if (staged) {
#pragma unroll
            for (unsigned i = 0; i < VECTORS; i++)
                stage[(round * VECTORS + i) * 32] = vectors[i];
        }
        if constexpr (KIND != NOTHING && !LATER) {
            unsigned words[4 * VECTORS];
#pragma unroll
            for (unsigned i = 0; i < VECTORS; i++) {
                words[4 * i] = vectors[i].x;
                words[4 * i + 1] = vectors[i].y;
                words[4 * i + 2] = vectors[i].z;
                words[4 * i + 3] = vectors[i].w;
            }
            if (fast)
                same &= add_words<KIND>(own, words, index + round * VECTORS * STEP, STEP, flip);
        }
    }
    if constexpr (KIND != NOTHING && LATER) {
#pragma unroll 1
        for (unsigned i = 0; fast && i < 2 * ROUNDS * VECTORS; i++) { // half a vector each
            const uint2 half = ((const uint2 *)&stage[i / 2 * 32])[i % 2];
            const unsigned words[2] = {half.x, half.y};
            same &=
                add_words<KIND>(own, words, index + i / 2 * STEP + i % 2 * (8 / SIZE), STEP, flip);
        }
    }
    *total += keep_hash(piece, state, {was.x, was.y}, hash);
    if (job.describes && !fast) {
        stage_end(job, start + PIECE);
        __syncwarp();
        scan_fields(piece);
    }
    if constexpr (KIND != NOTHING) {
        if (more && same)
            own->same_pieces++;
        __syncwarp();
        if (more && !same)
            scan_field<KIND>(0, piece, false);
    }
    __syncwarp();
    return fast ? PIECE / SIZE : 0;
}

// Processes a warp's share of the job: every warps-th piece, from one on. A lane examines whether
// one of the next 32 is to be looked at.
template <int KIND> __device__ static __noinline__ void scan_pieces(unsigned unit, unsigned warps)
{
    const struct device_values_job &job = scanning.job;
    const struct span range = pieces_of(job);
    struct lane_sums<KIND> own {
    };
    own.lowest = (typename bits_of<KIND>::type)mask_of(KIND);
    u64 total = 0, elements = 0;
#pragma unroll 1
    for (u64 from = range.from + unit; from < range.to; from += 32 * (u64)warps) {
        const u64 mine = from + lane_index() * (u64)warps;
        unsigned char state = 0;
        const bool looked = mine < range.to && is_looked_at(job, (unsigned)mine, &state);
        if (looked && job.which == DEVICE_MARKED) // stores from now on mark it again
            at<unsigned char>(job.marks)[(unsigned)mine * (unsigned)DEVICE_PIECE_STEP & job.mask] =
                0;
#pragma unroll 1
        for (unsigned left = __ballot_sync(ALL, looked); left; left &= left - 1) {
            const unsigned source = __ffs((int)left) - 1;
            elements += scan_piece<KIND>(job, from + source * (u64)warps,
                                         __shfl_sync(ALL, (unsigned)state, source), &own, &total);
        }
    }
    if constexpr (KIND != NOTHING)
        flush_lanes<KIND>(&own, elements);
    if (lane_index() < TOTALS && total)
        atomicAdd(&scanning.totals[lane_index()], total);
}

// --- Jobs ----------------------------------------------------------------------------------------

// Makes the job the block's. Called by the whole block.
__device__ static void take_job(const struct device_values &about, unsigned index)
{
    enum {
        PARTS = sizeof(struct device_values_job) / sizeof(u64),
        FIELD = sizeof(struct wanted) / 8
    };
    const struct device_values_job &job = about.jobs[index];
    const struct work *work = at<const struct work>(job.work);
#pragma unroll 1
    for (unsigned i = threadIdx.x; i < PARTS; i += THREADS)
        ((u64 *)&scanning.job)[i] = ((const u64 *)&job)[i];
    if (threadIdx.x < TOTALS)
        scanning.totals[threadIdx.x] = 0;
#pragma unroll 1
    for (unsigned i = 0; job.describes && i < job.field_count; i++) {
#pragma unroll 1
        for (unsigned k = threadIdx.x; k < FIELD; k += THREADS)
            ((u64 *)&scanning.wanted[i])[k] = __ldcg((const u64 *)&work->fields[i].wanted + k);
#pragma unroll 1
        for (unsigned k = threadIdx.x; k < sizeof(struct sums) / 8; k += THREADS)
            ((u64 *)&scanning.sums[i])[k] = 0;
        if (threadIdx.x == 0)
            scanning.open[i] = __ldcg(&work->fields[i].set.count) <= DEVICE_DISTINCT;
    }
    __syncthreads();
}

// Which code looks at the job's pieces: that for aligned elements of one field, or any.
__device__ static enum kind fast_kind(const struct device_values_job &job)
{
    if (!job.describes || job.field_count != 1 || job.fields[0].offset)
        return NOTHING;
    const enum kind kind = kind_of(job.fields[0].type);
    return job.stride == size_of(kind) && job.first % size_of(kind) == 0 ? kind : NOTHING;
}

__device__ static void scan_job(unsigned unit, unsigned warps)
{
    switch (fast_kind(scanning.job)) {
    case INT1: scan_pieces<INT1>(unit, warps); break;
    case INT2: scan_pieces<INT2>(unit, warps); break;
    case INT4: scan_pieces<INT4>(unit, warps); break;
    case INT8: scan_pieces<INT8>(unit, warps); break;
    case F16: scan_pieces<F16>(unit, warps); break;
    case BF16: scan_pieces<BF16>(unit, warps); break;
    case F32: scan_pieces<F32>(unit, warps); break;
    case F64: scan_pieces<F64>(unit, warps); break;
    case NOTHING: scan_pieces<NOTHING>(unit, warps); break;
    }
}

// Adds the block's sums to those of the job. Called by the whole block.
__device__ static void flush_job()
{
    const struct device_values_job &job = scanning.job;
    struct work *work = at<struct work>(job.work);
    struct device_kept *kept = at<struct device_kept>(job.kept);
    __syncthreads();
    if (threadIdx.x < TOTALS && scanning.totals[threadIdx.x])
        atomicAdd(threadIdx.x < JOB_SUMS ? &work->sums[threadIdx.x]
                  : threadIdx.x == KNOWN ? (u64 *)&kept->known
                                         : (u64 *)&kept->hash[threadIdx.x - HASH],
                  scanning.totals[threadIdx.x]);
#pragma unroll 1
    for (unsigned i = 0; job.describes && i < job.field_count; i++) {
        struct sums *to = &work->fields[i].sums;
        const struct sums &from = scanning.sums[i];
        if (threadIdx.x < COUNTERS && from.counters[threadIdx.x])
            atomicAdd(&to->counters[threadIdx.x], from.counters[threadIdx.x]);
        if (threadIdx.x == 0 && from.elements) {
            atomicAdd(&to->elements, from.elements);
            atomicMax(&to->greatest, from.greatest);
            atomicMax(&to->least, from.least);
            atomicOr(&to->any, from.any);
            atomicOr(&to->none, from.none);
        }
    }
    __syncthreads();
}

#endif
