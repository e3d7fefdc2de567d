// SPDX-License-Identifier: Apache-2.0
// The second kernel of the scan: looks at pieces, and sums up hashes and values. See values.h.
//
// A warp takes a piece: each lane reads 16 bytes at a time, from every 512 bytes, and reads the
// next ones before it sums up the ones that it has. Where the layout has one field of one, four or
// eight bytes, whose elements are aligned, it sums up these. All other elements, and those of the
// first and the last piece, are read a second time, field by field.
#ifndef GLINT_DEVICE_VALUES_SCAN_CUH
#define GLINT_DEVICE_VALUES_SCAN_CUH

#include "values_arrays.cuh"
#include "values_octets.cuh"

enum {
    VECTORS = 4, // that a lane reads at once
    ROUNDS = PIECE / (32 * 16 * VECTORS),
    BATCH = 2, // pieces that are hashed before their fields are read
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

// Adds what a lane that skipped groups did not add: all their elements are the first candidate.
template <typename B>
__device__ static void add_same(unsigned field, struct lane_sums<B> *own, unsigned each)
{
    const struct wanted &wanted = scanning.wanted[field];
    const unsigned todo = scanning.todo[field], count = own->same * each;
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
        if (wanted.roundings >> k & 1 && first - (B)wanted.from[k] <= (B)wanted.width[k])
            count_shared(field, ROUNDED + k, count);
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
        add_same(field, &own, each);
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

// --- Element by element --------------------------------------------------------------------------

__device__ static __noinline__ u64 load_bytes(u64 address, unsigned size)
{
    u64 bits = 0;
#pragma unroll 1
    for (unsigned i = 0; i < size; i++)
        bits |= (u64)__ldca(at<const unsigned char>(address + i)) << 8 * i;
    return bits;
}

// Loads the elements of a group, and adds their bits. `packed`: elements are small, and fill
// memory.
template <typename B>
__device__ static void load_group(struct group<B, 4, false> *group, struct lane_sums<B> *own,
                                  u64 address, unsigned stride, unsigned type, bool packed)
{
    const unsigned size = size_of(kind_of(type));
    const u64 step = (u64)stride * group->inner;
    if (sizeof(B) == 4 && packed && group->valid == 4) {
        if (size == 1) {
            const unsigned word = __ldca(at<const unsigned>(address));
#pragma unroll
            for (int i = 0; i < 4; i++)
                group->elements[i] = word >> 8 * i & 0xff;
        } else {
            const uint2 words = __ldca(at<const uint2>(address));
            group->elements[0] = words.x & 0xffff;
            group->elements[1] = words.x >> 16;
            group->elements[2] = words.y & 0xffff;
            group->elements[3] = words.y >> 16;
        }
    } else if (sizeof(B) == size && (address | stride) % size == 0) {
#pragma unroll
        for (int i = 0; i < 4; i++)
            group->elements[i] = __ldca(at<const B>(address + (group->has(i) ? i * step : 0)));
    } else {
#pragma unroll 1
        for (int i = 3; i >= 0; i--) {
            const B bits = (B)load_bytes(address + (group->has(i) ? i * step : 0), size);
            group->elements[3] = group->elements[2]; // indices must be constants
            group->elements[2] = group->elements[1];
            group->elements[1] = group->elements[0];
            group->elements[0] = bits;
        }
    }
#pragma unroll
    for (int i = 0; i < 4; i++) {
        own->any |= group->elements[i];
        own->all &= group->elements[i];
        if (sizeof(B) == 4)
            group->elements[i] = (B)extend(type, group->elements[i]);
    }
}

// Sums up a field of a piece. Returns the number of elements.
template <typename B>
__device__ static u64 scan_field(unsigned field, u64 piece, struct lane_sums<B> *own,
                                 unsigned *filled)
{
    const struct device_values_job &job = scanning.job;
    const unsigned type = job.fields[field].type, size = size_of(kind_of(type));
    const struct span elements = elements_of(job, field, piece, size);
    const u64 start = job.first + job.fields[field].offset;
    const bool packed = size < 4 && job.stride == size && start % (4 * size) == 0;
    struct group<B, 4, false> group;
    group.inner = packed ? 1 : 32;
#pragma unroll 1
    for (u64 from = elements.from; from < elements.to; from += 128) {
        group.index = from + (packed ? 4 : 1) * lane_index();
        if (group.index < elements.to) {
            const u64 left = (elements.to - group.index + group.inner - 1) / group.inner;
            group.valid = (unsigned)min(left, (u64)4);
            load_group(&group, own, start + group.index * job.stride, job.stride, type,
                       packed && elements.from % 4 == 0);
            add_group(own, group, field);
        }
        __syncwarp();
        *filled += 4;
    }
    flush_full(field, own, filled, PIECE);
    return elements.to > elements.from ? elements.to - elements.from : 0;
}

template <typename B>
__device__ static __noinline__ void scan_pieces_field(unsigned field, u64 first, u64 second)
{
    const bool floats = scanning.todo[field] & HAS_FLOATS;
    struct lane_sums<B> own = no_sums<B>(floats);
    unsigned filled = 0;
    u64 elements = 0;
#pragma unroll 1
    for (unsigned i = 0; i < BATCH; i++) {
        const u64 piece = i ? second : first;
        if (piece != ~0ull)
            elements += scan_field<B>(field, piece, &own, &filled);
    }
    if (elements)
        flush_lanes<B>(field, own, 0, elements);
}

// Sums up all fields of one or two pieces; ~0: none.
__device__ static __noinline__ void scan_fields(u64 first, u64 second)
{
#pragma unroll 1
    for (unsigned i = 0; i < scanning.job.field_count; i++) {
        if (is_wide(scanning.job.fields[i].type))
            scan_pieces_field<u64>(i, first, second);
        else
            scan_pieces_field<unsigned>(i, first, second);
    }
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

// With what a lane begins each piece. It makes lanes not exchangeable.
__device__ static struct hash begin_hash()
{
    const u64 lane = lane_index() + 1;
    return {lane * 0x9e3779b97f4a7c15ull, lane * 0xc2b2ae3d27d4eb4full};
}

// Returns the hash of the piece from those of the lanes, which have been mixed. The first step
// gives each half of the warp one of the sums.
__device__ static struct hash join_hashes(struct hash own)
{
    const bool upper = lane_index() & 16;
    u64 sum = (upper ? own.other : own.one) + other_lane(upper ? own.one : own.other, 16);
#pragma unroll
    for (int step = 8; step; step /= 2)
        sum += other_lane(sum, step);
    const u64 second = other_lane(sum, 16);
    return {upper ? second : sum, upper ? sum : second};
}

// Returns what a known piece adds to the hash of its object.
__device__ static struct hash share_of(struct hash hash, u64 piece)
{
    return {mix(hash.one ^ mix((piece + 1) * 0x9e3779b97f4a7c15ull)),
            mix(hash.other ^ mix((piece + 1) * 0xc2b2ae3d27d4eb4full))};
}

// --- Pieces --------------------------------------------------------------------------------------

// Compares the hashes of the lanes' pieces with those kept, and keeps the new ones.
__device__ static __noinline__ void keep_hashes(u64 piece, bool looked, struct hash hash)
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
        if ((DEVICE_PIECE_KNOWN | seen) != state)
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
    if (lane < TOTALS && total)
        atomicAdd(&scanning.totals[lane], total);
}

// The object's bytes include all of the piece's.
__device__ static bool is_whole(const struct device_values_job &job, u64 piece)
{
    const u64 start = job.base + piece * PIECE;
    return start >= job.first && start + PIECE <= job.end;
}

// Returns whether the lane's piece is looked at, and clears its mark: stores from now on mark it
// again.
__device__ static bool take_piece(const struct device_values_job &job, u64 piece)
{
    unsigned char state;
    if (!is_looked_at(job, (unsigned)piece, &state))
        return false;
    if (job.which == DEVICE_MARKED)
        at<unsigned char>(job.marks)[(unsigned)piece * (unsigned)DEVICE_PIECE_STEP & job.mask] = 0;
    return true;
}

__device__ static void load_vectors(uint4 (&vectors)[VECTORS], u64 address)
{
#pragma unroll
    for (unsigned i = 0; i < VECTORS; i++)
        vectors[i] = __ldcg(at<const uint4>(address) + 32 * i);
}

// How a job is looked at: only hashes; hashes, and then fields; or, at the same time, elements of
// one, four or eight bytes that are aligned and fill the object. The last two have code of their
// own for what is seldom looked for, so that all else is in registers where it is not.
enum way { HASHES, FIELDS, OCTETS, WORDS, RARE_WORDS, WIDES, RARE_WIDES };
template <int WAY> struct element_of {
    typedef unsigned type;
};
template <> struct element_of<WIDES> {
    typedef u64 type;
};
template <> struct element_of<RARE_WIDES> {
    typedef u64 type;
};

template <bool HAS_RARE, typename B>
__device__ static void add_words(struct lane_sums<B> *own, const uint4 (&vectors)[VECTORS],
                                 u64 index)
{
    struct group<B, GROUP_WORDS * 4 / sizeof(B), true> group;
    group.index = index;
#pragma unroll
    for (int i = 0; i < VECTORS; i++) {
        const unsigned words[4] = {vectors[i].x, vectors[i].y, vectors[i].z, vectors[i].w};
        for (int k = 0; k < 4; k++) {
            if (sizeof(B) == 4)
                group.elements[4 * i + k] = words[k];
            else if (k % 2)
                group.elements[2 * i + k / 2] = (B)((u64)words[k] << 32 | words[k - 1]);
        }
    }
    add_vectors<HAS_RARE>(own, group);
}

// Looks at those of 32 pieces that `left` says, each `step` bytes after the one before. The next
// vectors are loaded before those that were loaded are summed up. Returns the hash of the lane's
// piece.
template <int WAY, typename B>
__device__ static struct hash scan_batch(struct lane_sums<B> *own, u64 start, u64 step,
                                         unsigned left)
{
    enum { BYTES = 32 * 16 * VECTORS };
    const bool rare = WAY == RARE_WORDS || WAY == RARE_WIDES;
    const u64 first = scanning.job.first;
    struct hash hash = begin_hash();
    uint4 next[VECTORS];
    unsigned source = __ffs((int)left) - 1;
    u64 address = start + source * step + lane_index() * 16;
    load_vectors(next, address);
#pragma unroll 1
    for (unsigned round = 0; left; round ^= 1) {
        uint4 vectors[VECTORS];
#pragma unroll
        for (int i = 0; i < VECTORS; i++)
            vectors[i] = next[i];
        const u64 current = address;
        const unsigned ended = source;
        address += BYTES;
        if (round) {
            left &= left - 1;
            source = __ffs((int)left) - 1;
            address = start + source * step + lane_index() * 16;
        }
        if (left)
            load_vectors(next, address);
        hash_vectors(&hash, vectors);
        if constexpr (WAY == OCTETS) {
            unsigned words[GROUP_WORDS];
#pragma unroll
            for (int i = 0; i < VECTORS; i++) {
                words[4 * i] = vectors[i].x;
                words[4 * i + 1] = vectors[i].y;
                words[4 * i + 2] = vectors[i].z;
                words[4 * i + 3] = vectors[i].w;
            }
            add_octets(own, words);
        } else if constexpr (WAY != HASHES && WAY != FIELDS) {
            add_words<rare>(own, vectors, (current - first) / sizeof(B));
        }
        if (rare || round)
            __syncwarp();
        if (round) {
            const struct hash joined = join_hashes(hash);
            if (lane_index() == ended)
                scanning.joined[threadIdx.x] = make_ulonglong2(joined.one, joined.other);
            hash = begin_hash();
        }
    }
    static_assert(ROUNDS == 2, "rounds alternate");
    const ulonglong2 joined = scanning.joined[threadIdx.x];
    return {joined.x, joined.y};
}

// Hashes pieces, and sums up their fields, a few of them at a time.
__device__ static __noinline__ struct hash scan_batch_fields(u64 from, unsigned warps,
                                                             unsigned left)
{
    const struct device_values_job &job = scanning.job;
    struct hash hash = {0, 0};
#pragma unroll 1
    while (left) {
        const unsigned some = left & -left, rest = left & (left - 1);
        const unsigned both = some | (rest & -rest);
        struct lane_sums<unsigned> unused;
        const struct hash joined =
            scan_batch<FIELDS>(&unused, job.base + from * PIECE, (u64)warps * PIECE, both);
        if (both >> lane_index() & 1)
            hash = joined;
        scan_fields(from + (__ffs((int)some) - 1) * (u64)warps,
                    rest ? from + (__ffs((int)rest) - 1) * (u64)warps : ~0ull);
        left &= ~both;
    }
    return hash;
}

// Processes a warp's share of the job's whole pieces: every warps-th, from one on. A lane examines
// whether one of the next 32 is to be looked at; of the first ones, only a few lanes do, since
// elements often decide soon. Returns where it ended: if what needs many instructions is not looked
// for any more, others can do the rest faster.
template <int WAY> __device__ static __noinline__ u64 scan_pieces(u64 from, unsigned warps)
{
    typedef typename element_of<WAY>::type B;
    enum {
        IS_HEAVY = WAY == RARE_WORDS || WAY == RARE_WIDES,
        EACH = WAY == OCTETS ? (int)OCTETS_EACH : (int)(GROUP_WORDS * 4 / sizeof(B)), // of a group
        MOST = 32 * ROUNDS * EACH,
    };
    const struct device_values_job &job = scanning.job;
    const struct span range = pieces_of(job);
    struct lane_sums<B> own = no_sums<B>(scanning.todo[0] & HAS_FLOATS);
    unsigned filled = 0, groups = 0, lanes = 0;
    if (IS_HEAVY) {
        take_counters(&own);
        own = no_sums<B>(scanning.todo[0] & HAS_FLOATS);
    }
#pragma unroll 1
    for (; from < range.to; from += lanes * (u64)warps) {
        const u64 mine = from + lane_index() * (u64)warps;
        if (IS_HEAVY && lanes && !__any_sync(ALL, scanning.todo[0] & HEAVY))
            break;
        lanes = !IS_HEAVY ? 32 : lanes ? min(8 * lanes, 32u) : 1;
        const bool looked =
            lane_index() < lanes && mine < range.to && is_whole(job, mine) && take_piece(job, mine);
        const unsigned left = __ballot_sync(ALL, looked);
        struct hash hash;
        if (!left)
            continue;
        if constexpr (WAY == FIELDS) {
            hash = scan_batch_fields(from, warps, left);
        } else {
            hash = scan_batch<WAY>(&own, job.base + from * PIECE, (u64)warps * PIECE, left);
            groups += __popc(left) * ROUNDS;
            filled += __popc(left) * ROUNDS * EACH;
            if constexpr (WAY != HASHES)
                flush_full<B, IS_HEAVY>(0, &own, &filled, MOST);
        }
        keep_hashes(mine, looked, hash);
    }
    if constexpr (WAY != HASHES && WAY != FIELDS) {
        if constexpr (WAY == OCTETS)
            join_octets(&own);
        if (IS_HEAVY)
            take_counters(&own);
        if (groups)
            flush_lanes<B>(0, own, EACH, (u64)groups * 32 * EACH);
    }
    return from;
}

// --- The first and the last piece ----------------------------------------------------------------

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

// Looks at a piece that is not whole.
__device__ static __noinline__ void scan_part(u64 piece)
{
    const struct device_values_job &job = scanning.job;
    const u64 start = job.base + piece * PIECE + lane_index() * 16;
    const bool looked = lane_index() == 0 && take_piece(job, piece);
    struct hash hash = begin_hash();
    if (!__ballot_sync(ALL, looked))
        return;
#pragma unroll 1
    for (unsigned round = 0; round < ROUNDS; round++) {
        uint4 vectors[VECTORS];
#pragma unroll 1
        for (unsigned i = 0; i < VECTORS; i++) {
            const uint4 vector = load_part(start + (round * VECTORS + i) * 32 * 16);
#pragma unroll
            for (int k = 0; k < VECTORS; k++)
                vectors[k] = k + 1 < VECTORS ? vectors[k + 1] : vector;
        }
        hash_vectors(&hash, vectors);
    }
    hash = join_hashes(hash);
    keep_hashes(piece, looked, hash);
    if (job.describes)
        scan_fields(piece, ~0ull);
}

__device__ static void scan_parts(unsigned unit, unsigned warps)
{
    const struct device_values_job &job = scanning.job;
    const struct span range = pieces_of(job);
#pragma unroll 1
    for (unsigned i = 0; i < 2; i++) {
        const u64 piece = i ? job.pieces - 1 : 0;
        if (piece >= range.from && piece < range.to && (piece - range.from) % warps == unit &&
            !(i && piece == 0) && !is_whole(job, piece))
            scan_part(piece);
    }
}

// --- Jobs ----------------------------------------------------------------------------------------

__device__ static unsigned todo_of(unsigned type, const struct wanted &wanted, bool open)
{
    const enum kind kind = kind_of(type);
    unsigned todo = is_signed(type) ? IS_SIGNED : 0;
    if (is_float(kind))
        todo |= HAS_FLOATS | (wanted.lacking & NOT_INTEGRAL ? 0 : FIND_INTEGRAL);
    if (kind == F32 || kind == F64)
        todo |= wanted.lacking & NOT_NARROW ? 0 : FIND_NARROW;
    todo |= kind == F16 ? IS_F16 : kind == BF16 ? IS_BF16 : 0;
    todo |= open ? FIND_DISTINCT : 0;
    todo |= wanted.mostly && !wanted.line ? SKIP_FIRST : 0;
    todo |= wanted.roundings & 0x7f ? COUNT_ROUNDED : 0;
    todo |= wanted.roundings >> 8 ? COUNT_ROUNDED_LINEAR : 0;
    todo |= wanted.line ? COUNT_LINEAR : 0;
    return todo;
}

// Puts an element into the block's table, unless there is no place near its own.
template <typename B> __device__ static void put_distinct(unsigned field, B bits)
{
    enum { TRIES = 8 };
    const unsigned last = (1u << scanning.table_shift) / sizeof(B) - 1;
    unsigned place = table_place<B>(bits, scanning.table_shift);
#pragma unroll 1
    for (unsigned i = 0; i < TRIES; i++) {
        if (!atomicCAS(&table_of<B>(field)[place], (B)0, bits))
            return;
        place = (place + 1) & last ? place + 1 : 1;
    }
}

// Makes the block's table of a field from the set that the sample has begun. Called by the whole
// block.
__device__ static void fill_table(unsigned field, const struct set *set)
{
    const bool wide = is_wide(scanning.job.fields[field].type);
#pragma unroll 1
    for (unsigned i = threadIdx.x; i < SET_ROOM; i += THREADS) {
        const u64 bits = __ldcg(&set->places[i]);
        if (bits && wide)
            put_distinct<u64>(field, bits);
        else if (bits)
            put_distinct<unsigned>(field, (unsigned)bits);
    }
}

// Makes the job the block's. Called by the whole block.
__device__ static void take_job(const struct device_values &about, unsigned index)
{
    enum {
        PARTS = sizeof(struct device_values_job) / sizeof(u64),
        FIELD = sizeof(struct wanted) / 8
    };
    const struct device_values_job &job = about.jobs[index];
    const struct work *work = at<const struct work>(job.work);
    const unsigned fields = job.describes ? job.field_count : 0;
    bool open = false;
#pragma unroll 1
    for (unsigned i = threadIdx.x; i < PARTS; i += THREADS)
        ((u64 *)&scanning.job)[i] = ((const u64 *)&job)[i];
    if (threadIdx.x < TOTALS)
        scanning.totals[threadIdx.x] = 0;
    if (threadIdx.x < sizeof(scanning.seen) / 4)
        ((unsigned *)scanning.seen)[threadIdx.x] = 0;
    if (threadIdx.x == 0) {
        scanning.table_shift = fields <= 1 ? 14 : fields <= 2 ? 13 : fields <= 4 ? 12 : 11;
        scanning.is_listed = true;
        scanning.is_zero_listed = false;
    }
#pragma unroll 1
    for (unsigned i = 0; i < fields; i++) {
#pragma unroll 1
        for (unsigned k = threadIdx.x; k < FIELD; k += THREADS)
            ((u64 *)&scanning.wanted[i])[k] = __ldcg((const u64 *)&work->fields[i].wanted + k);
#pragma unroll 1
        for (unsigned k = threadIdx.x; k < sizeof(struct block_sums) / 8; k += THREADS)
            ((u64 *)&scanning.sums[i])[k] = 0;
        open |= __ldcg(&work->fields[i].set.count) <= DEVICE_DISTINCT;
    }
#pragma unroll 1
    for (unsigned i = threadIdx.x; open && i < TABLE_BYTES / 16; i += THREADS)
        ((uint4 *)scanning.table)[i] = make_uint4(0, 0, 0, 0);
    __syncthreads();
    if (threadIdx.x < fields) {
        const struct wanted &wanted = scanning.wanted[threadIdx.x];
        scanning.todo[threadIdx.x] =
            todo_of(job.fields[threadIdx.x].type, wanted,
                    __ldcg(&work->fields[threadIdx.x].set.count) <= DEVICE_DISTINCT);
        scanning.sums[threadIdx.x].lacking = wanted.lacking;
    }
    __syncthreads();
    if (fields)
        fill_lists();
#pragma unroll 1
    for (unsigned i = 0; open && i < fields; i++) {
        if (scanning.todo[i] & FIND_DISTINCT)
            fill_table(i, &work->fields[i].set);
    }
    __syncthreads();
}

static_assert(TABLE_SHIFT == 14 && DEVICE_FIELDS == 8, "tables of all fields have room");
static_assert(sizeof(struct block_sums) % 8 == 0 && sizeof(struct wanted) % 8 == 0,
              "they are copied as words");

__device__ static enum way way_of(const struct device_values_job &job)
{
    const bool rare = scanning.todo[0] & HEAVY;
    if (!job.describes)
        return HASHES;
    const unsigned size = size_of(kind_of(job.fields[0].type));
    if (job.field_count != 1 || job.fields[0].offset || size == 2 || job.stride != size ||
        job.first % size || !scanning.is_listed)
        return FIELDS;
    if (size == 1)
        return scanning.todo[0] & COUNT_LINEAR ? FIELDS : OCTETS;
    return size == 8 ? (rare ? RARE_WIDES : WIDES) : (rare ? RARE_WORDS : WORDS);
}

__device__ static void scan_job(unsigned unit, unsigned warps)
{
    const struct span range = pieces_of(scanning.job);
    const enum way way = way_of(scanning.job);
    u64 from = range.from + unit;
    if (way == HASHES)
        scan_pieces<HASHES>(from, warps);
    if (way == FIELDS)
        scan_pieces<FIELDS>(from, warps);
    if (way == OCTETS)
        scan_pieces<OCTETS>(from, warps);
    if (way == RARE_WORDS)
        from = scan_pieces<RARE_WORDS>(from, warps);
    if (way == RARE_WORDS || way == WORDS)
        scan_pieces<WORDS>(from, warps);
    if (way == RARE_WIDES)
        from = scan_pieces<RARE_WIDES>(from, warps);
    if (way == RARE_WIDES || way == WIDES)
        scan_pieces<WIDES>(from, warps);
    scan_parts(unit, warps);
}

// Adds the block's sums to those of the job. Called by the whole block.
__device__ static void flush_job()
{
    const struct device_values_job &job = scanning.job;
    struct work *work = at<struct work>(job.work);
    struct device_kept *kept = at<struct device_kept>(job.kept);
    __syncthreads();
    if (job.describes) {
        flush_octets();
        __syncthreads();
    }
    if (threadIdx.x < TOTALS && scanning.totals[threadIdx.x])
        atomicAdd(threadIdx.x < JOB_SUMS ? &work->sums[threadIdx.x]
                  : threadIdx.x == KNOWN ? (u64 *)&kept->known
                                         : (u64 *)&kept->hash[threadIdx.x - HASH],
                  scanning.totals[threadIdx.x]);
#pragma unroll 1
    for (unsigned i = 0; job.describes && i < job.field_count; i++) {
        struct sums *to = &work->fields[i].sums;
        const struct block_sums &from = scanning.sums[i];
        if (!from.elements)
            continue;
        if (threadIdx.x < COUNTERS && from.counters[threadIdx.x])
            atomicAdd(&to->counters[threadIdx.x], (u64)from.counters[threadIdx.x]);
        if (threadIdx.x == 64) {
            atomicAdd(&to->elements, from.elements);
            atomicMax(&to->greatest, from.greatest);
            atomicMax(&to->least, from.least);
            atomicOr(&to->any, from.any);
            atomicOr(&to->none, from.none);
            atomicOr(&to->lacking, (u64)from.lacking);
            if (from.counters[ZEROS])
                set_add(&work->fields[i].set, 0);
        }
    }
    __syncthreads();
}

#endif
