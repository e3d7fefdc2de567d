// SPDX-License-Identifier: Apache-2.0
// What all ways in which the scan looks at pieces share: sums of a block, hashes,
// and what is kept about a piece. See values.h.
#ifndef GLINT_DEVICE_VALUES_PIECES_CUH
#define GLINT_DEVICE_VALUES_PIECES_CUH

#include "values_arrays.cuh"

enum {
    ROUNDS = PIECE / (32 * 16 * VECTORS),
};

// --- Sums of a block -----------------------------------------------------------------------------

// Loops over lanes are not unrolled: this runs seldom, and code that is not in the cache takes
// longer to fetch than to run.

__device__ static void count_shared(unsigned field, unsigned counter, unsigned count)
{
    if (count)
        atomicAdd(&scanning.sums[field].counters[counter], count);
}

template <int N> __device__ static unsigned packed_count(const u64 (&packed)[N], unsigned index)
{
    u64 four = packed[0];
#pragma unroll
    for (unsigned i = 1; i < N; i++)
        four = index / 4 == i ? packed[i] : four;
    return (unsigned)(four >> 16 * (index % 4)) & 0xffff;
}

// Adds the packed counters, of which only those are used that the sample chose.
template <typename B>
__device__ static __noinline__ void flush_packed(unsigned field, struct lane_sums<B> own)
{
    const struct wanted &wanted = scanning.wanted[field];
#pragma unroll 1
    for (unsigned i = 0; i < wanted.candidate_count; i++)
        count_shared(field, wanted.candidates[i] ? CANDIDATES + i : ZEROS,
                     packed_count(own.candidates, i));
#pragma unroll 1
    for (unsigned k = 0; wanted.roundings && k < DEVICE_ROUNDINGS; k++) {
        if (wanted.roundings >> k & 1)
            count_shared(field, ROUNDED + k, packed_count(own.rounded, k));
        if (wanted.roundings >> (8 + k) & 1)
            count_shared(field, ROUNDED_LINEAR + k,
                         own.close - packed_count(own.missed, spread_place(k)));
    }
}

// Packed counters are flushed before they overflow.
template <typename B, bool IS_HEAVY = false>
__device__ static void flush_full(unsigned field, struct lane_sums<B> *own, unsigned *filled,
                                  unsigned most)
{
    if (*filled + most <= 0xffff)
        return;
    *filled = 0;
    if (IS_HEAVY)
        take_counters(own);
    flush_packed(field, *own);
    own->candidates[0] = own->candidates[1] = own->candidates[2] = 0;
    own->rounded[0] = own->rounded[1] = own->missed[0] = own->missed[1] = 0;
    own->close = 0;
}

// Adds what a lane that skipped elements did not add: all of them are the first candidate. Of
// `rounded`, roundings were not counted either.
template <typename B>
__device__ static __noinline__ void add_same(unsigned field, struct lane_sums<B> *own,
                                             unsigned count, unsigned rounded)
{
    const struct wanted &wanted = scanning.wanted[field];
    const unsigned todo = scanning.todo[field];
    const unsigned zeros = own->zeros, minus = own->minus, nans = own->nans;
    struct group<B, 1, true> group;
    const B first = group.elements[0] = (B)wanted.candidates[0];
    own->any |= first;
    own->all &= first;
    add_bounds(own, group, todo);
    own->zeros += (own->zeros - zeros) * (count - 1);
    own->minus += (own->minus - minus) * (count - 1);
    own->nans += (own->nans - nans) * (count - 1);
    if (first)
        count_shared(field, CANDIDATES, count);
    if (todo & FIND_TYPES)
        find_types(own, group, field, todo);
#pragma unroll 1
    for (unsigned k = 0; wanted.roundings && k < DEVICE_ROUNDINGS; k++) {
        if (wanted.roundings >> k & 1 &&
            rounding_bits<true>(first, todo) - (B)wanted.from[k] <= (B)wanted.width[k])
            count_shared(field, ROUNDED + k, rounded);
    }
}

template <typename B> __device__ static B other_lane(B value, int step)
{
    return __shfl_xor_sync(ALL, value, step);
}

// Adds the bounds of the warp, as keys: ordered as the values are.
__device__ static void add_keys(unsigned field, struct lane_sums<unsigned> own)
{
#pragma unroll 1
    for (int step = 16; step; step /= 2) {
        own.least = min(own.least, other_lane(own.least, step));
        own.greatest = max(own.greatest, other_lane(own.greatest, step));
        own.lowest = min(own.lowest, other_lane(own.lowest, step));
        own.highest = max(own.highest, other_lane(own.highest, step));
    }
    const unsigned todo = scanning.todo[field];
    u64 low = own.least, high = own.greatest;
    if (lane_index() || own.least > own.greatest)
        return;
    if (todo & HAS_FLOATS) {
        // Of negative ones, the greatest as an integer is the least.
        const unsigned from = (int)own.greatest < 0 ? own.greatest : own.least;
        const unsigned to = own.highest < 0 ? own.least : (unsigned)own.highest;
        low = from ^ ((unsigned)((int)from >> 31) | 0x80000000u);
        high = to ^ ((unsigned)((int)to >> 31) | 0x80000000u);
    } else if (todo & IS_SIGNED) {
        low = (u64)(long long)own.lowest ^ sign_of(INT8);
        high = (u64)(long long)own.highest ^ sign_of(INT8);
    }
    atomicMax(&scanning.sums[field].greatest, high);
    atomicMax(&scanning.sums[field].least, ~low);
}

__device__ static void add_keys(unsigned field, const struct lane_sums<u64> &own)
{
    u64 low = own.least, high = own.greatest;
    if (scanning.todo[field] & HAS_FLOATS) {
        low ^= (u64)((long long)low >> 63) | sign_of(F64);
        high ^= (u64)((long long)high >> 63) | sign_of(F64);
    }
#pragma unroll 1
    for (int step = 16; step; step /= 2) {
        low = min(low, other_lane(low, step));
        high = max(high, other_lane(high, step));
    }
    if (lane_index() || low > high)
        return;
    atomicMax(&scanning.sums[field].greatest, high);
    atomicMax(&scanning.sums[field].least, ~low);
}

// Adds what the lanes have to the block's sums. `each` is the number of elements of a group.
template <typename B>
__device__ static __noinline__ void flush_lanes(unsigned field, struct lane_sums<B> own,
                                                unsigned each, u64 elements)
{
    struct block_sums *to = &scanning.sums[field];
    if (own.same)
        add_same<B>(field, &own, own.same * each, own.same * each);
    flush_packed(field, own);
    count_shared(field, ZEROS, own.zeros);
    count_shared(field, MINUS, own.minus);
    count_shared(field, NANS, own.nans);
    count_shared(field, LINEAR, own.linear);
    __syncwarp();
    add_keys(field, own);
    B any = own.any, none = ~own.all;
#pragma unroll 1
    for (int step = 16; step; step /= 2) {
        any |= other_lane(any, step);
        none |= other_lane(none, step);
    }
    if (lane_index() == 0) {
        atomicOr(&to->any, (u64)any);
        atomicOr(&to->none, (u64)none);
        atomicAdd(&to->elements, elements);
    }
}

// --- Hashes --------------------------------------------------------------------------------------

struct hash {
    u64 one, other;
};

__device__ static u64 swap_halves(u64 value)
{
    return value << 32 | value >> 32;
}

// Sums of products of a vector's words, to each of which a key of its own is added. Halves are
// swapped before each round, so that rounds are not exchangeable.
__device__ static void hash_vectors(struct hash *hash, const uint4 (&vectors)[VECTORS])
{
    const unsigned keys[4 * VECTORS] = {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344,
                                        0xa4093822, 0x299f31d0, 0x082efa98, 0xec4e6c89,
                                        0x452821e6, 0x38d01377, 0xbe5466cf, 0x34e90c6c,
                                        0xc0ac29b7, 0xc97c50dd, 0x3f84d5b5, 0xb5470917};
    hash->one = swap_halves(hash->one);
    hash->other = swap_halves(hash->other);
#pragma unroll
    for (int i = 0; i < VECTORS; i++) {
        const unsigned *key = keys + 4 * i;
        const unsigned x = vectors[i].x + key[0], y = vectors[i].y + key[1];
        const unsigned z = vectors[i].z + key[2], w = vectors[i].w + key[3];
        hash->one += (u64)x * y;
        hash->one += (u64)z * w;
        hash->other += (u64)x * z;
        hash->other += (u64)y * w;
    }
}

// With what a lane begins each piece. Since sums are mixed at the end, lanes are not exchangeable.
__device__ static struct hash begin_hash()
{
    const u64 lane = lane_index() + 1;
    return {lane * 0x9e3779b97f4a7c15ull, lane * 0xc2b2ae3d27d4eb4full};
}

// Returns the hash of the piece from those of the lanes. The first step gives each half of the warp
// one of the sums.
__device__ static struct hash join_hashes(struct hash own)
{
    const bool upper = lane_index() & 16;
    own = {mix(own.one), mix(own.other)};
    u64 sum = (upper ? own.other : own.one) + other_lane(upper ? own.one : own.other, 16);
#pragma unroll
    for (int step = 8; step; step /= 2)
        sum += other_lane(sum, step);
    const u64 second = other_lane(sum, 16);
    return {upper ? second : sum, upper ? sum : second};
}

// Returns the hash of a piece of which each word is that one.
__device__ static struct hash hash_of_word(unsigned word)
{
    const uint4 vector = make_uint4(word, word, word, word);
    const uint4 vectors[VECTORS] = {vector, vector, vector, vector};
    static_assert(VECTORS == 4, "all are there");
    struct hash hash = begin_hash();
#pragma unroll 1
    for (unsigned round = 0; round < ROUNDS; round++)
        hash_vectors(&hash, vectors);
    return join_hashes(hash);
}

// Returns what a known piece adds to the hash of its object.
__device__ static struct hash share_of(struct hash hash, u64 piece)
{
    return {mix(hash.one ^ mix((piece + 1) * 0x9e3779b97f4a7c15ull)),
            mix(hash.other ^ mix((piece + 1) * 0xc2b2ae3d27d4eb4full))};
}

// --- Pieces --------------------------------------------------------------------------------------

// Compares the hashes of the lanes' pieces with those kept, and keeps the new ones. States do not
// change if it is too early for that.
__device__ static __noinline__ void keep_hashes(u64 piece, bool looked, struct hash hash,
                                                bool early)
{
    const struct device_values_job &job = scanning.job;
    u64 bytes = 0, moved = 0, same_bytes = 0, one = 0, other = 0;
    bool known = true;
    if (looked) {
        const struct span span = bytes_of(job, piece);
        unsigned char *states = at<unsigned char>(job.states);
        const unsigned state = __ldcg(states + piece);
        const ulonglong2 was = __ldcg(at<const ulonglong2>(job.hashes) + piece);
        known = state & DEVICE_PIECE_KNOWN;
        const bool same = known && was.x == hash.one && was.y == hash.other;
        bytes = moved = span.to - span.from;
        if (job.which == DEVICE_RANGE)
            moved = min(span.to, (u64)job.to) - max(span.from, (u64)job.from);
        same_bytes = same ? moved : 0;
        const unsigned seen = job.describes ? DEVICE_PIECE_SEEN
                              : same        ? state & DEVICE_PIECE_SEEN
                                            : 0;
        if ((DEVICE_PIECE_KNOWN | seen) != state && !early)
            states[piece] = (unsigned char)(DEVICE_PIECE_KNOWN | seen);
        if (!same) {
            const struct hash gone = share_of({was.x, was.y}, piece), come = share_of(hash, piece);
            at<ulonglong2>(job.hashes)[piece] = make_ulonglong2(hash.one, hash.other);
            one = come.one - (known ? gone.one : 0);
            other = come.other - (known ? gone.other : 0);
        }
    }
    const unsigned pieces = __popc(__ballot_sync(ALL, looked));
    const unsigned fresh = __popc(__ballot_sync(ALL, !known));
#pragma unroll 1
    for (int step = 16; step; step /= 2) {
        bytes += other_lane(bytes, step);
        moved += other_lane(moved, step);
        same_bytes += other_lane(same_bytes, step);
        one += other_lane(one, step);
        other += other_lane(other, step);
    }
    static_assert(PIECES == 0 && SAME == 4 && KNOWN == 5 && HASH == 6, "the same order");
    const unsigned lane = lane_index();
    const u64 total = lane == PIECES                   ? pieces
                      : lane == FRESH || lane == KNOWN ? fresh
                      : lane == BYTES                  ? bytes
                      : lane == MOVED                  ? moved
                      : lane == SAME                   ? same_bytes
                      : lane == HASH                   ? one
                                                       : other;
    if (lane < TOTALS)
        scanning.totals[warp_index()][lane] += total;
    __syncwarp();
}

// Notes that the piece was described, if it was too early for that.
__device__ static void note_described(u64 piece)
{
    at<unsigned char>(scanning.job.states)[piece] = DEVICE_PIECE_KNOWN | DEVICE_PIECE_SEEN;
}

// The object's bytes include all of the piece's.
__device__ static bool is_whole(const struct device_values_job &job, u64 piece)
{
    const u64 start = job.base + piece * PIECE;
    return start >= job.first && start + PIECE <= job.end;
}

// A set has left the same word everywhere in the piece.
__device__ static bool is_filled(const struct device_values_job &job, u64 piece)
{
    const u64 start = job.base + piece * PIECE;
    return job.filled && start >= job.from && start + PIECE <= job.to;
}

// When a share is looked at: after the sample has chosen; before; or for a second time, after that.
// States do not change before, because the sample reads them.
enum pass { USUAL, EARLY, AGAIN };

// A warp's share of pieces: from one on, every step-th before `to`.
struct share {
    u64 from, to;
    unsigned step;
};

// Returns whether the warp has looked at the piece early.
__device__ static bool was_early(u64 piece, u64 step)
{
    const unsigned number = (unsigned)(piece - scanning.early_from[warp_index()]) / (unsigned)step;
    return number < EARLY_PIECES && scanning.early[warp_index()] >> number & 1;
}
static_assert(EARLY_PIECES <= 32, "a bit for each");

// Loads what decides whether the lane's piece of the share is looked at, which is so only if it is
// whole. It is examined later, so that the warp need not wait.
__device__ static unsigned load_whether(struct share share, u64 piece, enum pass pass)
{
    const struct device_values_job &job = scanning.job;
    if (piece >= share.to || !is_whole(job, piece))
        return 0;
    if (pass == AGAIN)
        return was_early(piece, share.step) ? DEVICE_PIECE_KNOWN : 0;
    asm volatile("prefetch.global.L2 [%0];" ::"l"(job.hashes + piece * 16));
    return load_deciding(job, piece);
}

__device__ static bool examine(unsigned whether, enum pass pass)
{
    return pass == AGAIN ? whether != 0 : is_decided(scanning.job, whether);
}

// Has a whole piece brought into the cache. Called by a whole warp.
__device__ static void prefetch(u64 address)
{
#pragma unroll
    for (unsigned i = 0; i < PIECE / (32 * 64); i++)
        asm volatile("prefetch.global.L2 [%0];" ::"l"(address + (32 * i + lane_index()) * 64));
}

__device__ static void load_vectors(uint4 (&vectors)[VECTORS], u64 address)
{
#pragma unroll
    for (unsigned i = 0; i < VECTORS; i++)
        vectors[i] = __ldcg(at<const uint4>(address) + 32 * i);
}

#endif
