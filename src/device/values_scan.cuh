// SPDX-License-Identifier: Apache-2.0
// The second kernel of the scan: looks at pieces, and sums up hashes and values. See values.h.
//
// A warp takes a piece: each lane reads 16 bytes at a time, from every 512 bytes, and reads the next
// ones before it sums up the ones that it has. Where the layout has one field of four or eight
// bytes, whose elements are aligned, it sums up these. All other elements, and those of the first
// and the last piece, are read a second time, field by field.
#ifndef GLINT_DEVICE_VALUES_SCAN_CUH
#define GLINT_DEVICE_VALUES_SCAN_CUH

#include "values_groups.cuh"

enum {
    VECTORS = 4, // that a lane reads at once
    ROUNDS = PIECE / (32 * 16 * VECTORS),
    PACKED = 255, // the most that packed counters count
    BATCH = 2,    // pieces that are hashed before their fields are read
};

// --- Sums of a warp ------------------------------------------------------------------------------

template <typename T> __device__ static T warp_max(T value)
{
    for (int step = 16; step; step /= 2)
        value = max(value, __shfl_xor_sync(ALL, value, step));
    return value;
}

template <typename T> __device__ static T warp_or(T value)
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

__device__ static void count_shared(unsigned field, unsigned counter, u64 count)
{
    if (count)
        atomicAdd(&scanning.sums[field].counters[counter], count);
}

// Adds the sum over the warp's lanes to a counter.
__device__ static void count_lanes(unsigned field, unsigned counter, unsigned count)
{
    if (!__any_sync(ALL, count))
        return;
    const u64 sum = warp_sum((u64)count);
    if (lane_index() == 0)
        count_shared(field, counter, sum);
}

// Adds packed counters of the warp's lanes, times `sign`; `mask` says which.
__device__ static __noinline__ void flush_bytes(unsigned field, unsigned counter, u64 bytes,
                                                unsigned mask, int sign)
{
    const u64 every_other = 0x00ff00ff00ff00ffull;
    if (!__any_sync(ALL, bytes != 0))
        return;
    const u64 even = warp_sum(bytes & every_other), odd = warp_sum(bytes >> 8 & every_other);
    const unsigned lane = lane_index();
    if (lane < 8 && mask >> lane & 1)
        count_shared(field, counter + lane,
                     (u64)(sign * (long long)((lane % 2 ? odd : even) >> 16 * (lane / 2) & 0xffff)));
}

template <typename B> __device__ static void flush_packed(unsigned field, struct lane_sums<B> *own)
{
    const struct wanted &wanted = scanning.wanted[field];
    if (wanted.candidate_count) {
        flush_bytes(field, CANDIDATES, own->candidates[0], 0xff, 1);
        flush_bytes(field, CANDIDATES + 8, own->candidates[1], 0xf, 1);
        own->candidates[0] = own->candidates[1] = 0;
    }
    if (wanted.roundings) {
        flush_bytes(field, ROUNDED, own->rounded, wanted.roundings & 0x7f, 1);
        flush_bytes(field, ROUNDED_LINEAR, own->missed, wanted.roundings >> 8 & 0x7f, -1);
        own->rounded = own->missed = 0;
    }
}

// Adds what lanes that skipped groups did not add. All their elements are the first candidate.
template <typename B>
__device__ static void add_same(unsigned field, struct lane_sums<B> *own, unsigned each)
{
    const struct wanted &wanted = scanning.wanted[field];
    const unsigned todo = scanning.todo[field];
    const B first = (B)wanted.candidates[0];
    const unsigned count = own->same * each;
    const unsigned lane = lane_index(), all = warp_sum(count);
    if (!all)
        return;
    if (lane < DEVICE_ROUNDINGS && wanted.roundings >> lane & 1 &&
        rounding_bits(first, todo) - (B)wanted.from[lane] <= (B)wanted.width[lane])
        count_shared(field, ROUNDED + lane, all);
    if (lane == 0 && first)
        count_shared(field, CANDIDATES, all);
    if (!count)
        return;
    // One of them as the only element of a group, which has no candidates to count.
    struct group<B, 1, true> group;
    group.elements[0] = first;
    own->any |= first;
    own->all &= first;
    const unsigned zeros = own->zeros, minus = own->minus, nans = own->nans;
    add_bounds(own, group, todo);
    own->zeros += (own->zeros - zeros) * (count - 1);
    own->minus += (own->minus - minus) * (count - 1);
    own->nans += (own->nans - nans) * (count - 1);
    if (todo & (FIND_INTEGRAL | FIND_NARROW))
        find_types(group, first, field, todo);
}

// The bounds of the warp, as keys: ordered as the values are.
__device__ static void add_keys(unsigned field, const struct lane_sums<unsigned> &own)
{
    const unsigned least = ~warp_max(~own.least), greatest = warp_max(own.greatest);
    const int lowest = ~warp_max(~own.lowest), highest = warp_max(own.highest);
    const unsigned todo = scanning.todo[field];
    u64 low = least, high = greatest;
    if (lane_index() || least > greatest)
        return;
    if (todo & HAS_FLOATS) {
        // Of negative ones, the greatest as an integer is the least.
        const unsigned from = (int)greatest < 0 ? greatest : least;
        const unsigned to = highest < 0 ? least : (unsigned)highest;
        low = from ^ ((unsigned)((int)from >> 31) | 0x80000000u);
        high = to ^ ((unsigned)((int)to >> 31) | 0x80000000u);
    } else if (todo & IS_SIGNED) {
        low = (u64)(long long)lowest ^ sign_of(INT8);
        high = (u64)(long long)highest ^ sign_of(INT8);
    }
    atomicMax(&scanning.sums[field].greatest, high);
    atomicMax(&scanning.sums[field].least, ~low);
}

__device__ static void add_keys(unsigned field, const struct lane_sums<u64> &own)
{
    u64 low = own.least, high = own.greatest;
    const unsigned todo = scanning.todo[field];
    if (todo & HAS_FLOATS) {
        low ^= (u64)((long long)low >> 63) | sign_of(F64);
        high ^= (u64)((long long)high >> 63) | sign_of(F64);
    }
    low = ~warp_max(~low);
    high = warp_max(high);
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
    struct sums *to = &scanning.sums[field];
    const struct wanted &wanted = scanning.wanted[field];
    add_same(field, &own, each);
    flush_packed(field, &own);
    count_lanes(field, ZEROS, own.zeros);
    count_lanes(field, MINUS, own.minus);
    count_lanes(field, NANS, own.nans);
    count_lanes(field, LINEAR, own.linear);
    if (wanted.roundings >> 8) {
        const u64 close = warp_sum((u64)own.close);
        if (lane_index() < DEVICE_ROUNDINGS && wanted.roundings >> (8 + lane_index()) & 1)
            count_shared(field, ROUNDED_LINEAR + lane_index(), close);
    }
    add_keys(field, own);
    const B any = warp_or(own.any), none = warp_or(~own.all);
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

// Loads the elements of a group, and adds their bits. `packed`: elements are small, and fill memory.
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
        if (*filled + 4 > PACKED) {
            flush_packed(field, own);
            *filled = 0;
        }
    }
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

// Compares the hashes of the lanes' pieces with those kept, and keeps the new ones.
__device__ static __noinline__ void keep_hashes(u64 piece, bool looked, unsigned state,
                                                struct hash was, struct hash hash)
{
    const struct device_values_job &job = scanning.job;
    u64 bytes = 0, moved = 0, same_bytes = 0, one = 0, other = 0;
    bool known = true;
    if (looked) {
        const struct span span = bytes_of(job, piece);
        known = state & DEVICE_PIECE_KNOWN;
        const bool same = known && was.one == hash.one && was.other == hash.other;
        bytes = moved = span.to - span.from;
        if (job.which == DEVICE_RANGE)
            moved = min(span.to, (u64)job.to) - max(span.from, (u64)job.from);
        same_bytes = same ? moved : 0;
        const unsigned seen = job.describes ? DEVICE_PIECE_SEEN
                              : same        ? state & DEVICE_PIECE_SEEN
                                            : 0;
        if ((DEVICE_PIECE_KNOWN | seen) != state)
            at<unsigned char>(job.states)[piece] = (unsigned char)(DEVICE_PIECE_KNOWN | seen);
        if (!same) {
            const struct hash gone = share_of(was, piece), come = share_of(hash, piece);
            at<ulonglong2>(job.hashes)[piece] = make_ulonglong2(hash.one, hash.other);
            one = come.one - (known ? gone.one : 0);
            other = come.other - (known ? gone.other : 0);
        }
    }
    const u64 fresh = __popc(__ballot_sync(ALL, !known));
    const u64 sums[TOTALS] = {(u64)__popc(__ballot_sync(ALL, looked)),
                              warp_sum(bytes),
                              fresh,
                              warp_sum(moved),
                              warp_sum(same_bytes),
                              fresh,
                              warp_sum(one),
                              warp_sum(other)};
    static_assert(PIECES == 0 && SAME == 4 && KNOWN == 5 && HASH == 6, "the same order");
#pragma unroll
    for (int i = 0; i < TOTALS; i++) {
        if (lane_index() == i && sums[i])
            atomicAdd(&scanning.totals[i], sums[i]);
    }
}

// How a job is looked at: only hashes, or elements of four or eight bytes that are aligned and fill
// the object.
enum way { HASHES, WORDS, WIDES };
template <int WAY> struct element_of {
    typedef unsigned type;
};
template <> struct element_of<WIDES> {
    typedef u64 type;
};

template <typename B>
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
    add_vectors(own, group);
}

// What a warp is doing with the pieces of a job.
template <int WAY> struct walk_state {
    typedef typename element_of<WAY>::type B;
    struct lane_sums<B> own;
    u64 groups;        // that were added
    unsigned filled;   // of the packed counters
    uint4 next[VECTORS];
};

// The object's bytes include all of the piece's.
__device__ static bool is_whole(const struct device_values_job &job, u64 start)
{
    return start >= job.first && start + PIECE <= job.end;
}

// Looks at a piece, the first vectors of which have been loaded, and loads those of the one that
// follows. Returns its hash.
template <int WAY>
__device__ static struct hash scan_piece(struct walk_state<WAY> *walk, u64 start, u64 following)
{
    typedef typename element_of<WAY>::type B;
    enum { STEP = 32 * 16 * VECTORS };
    const struct device_values_job &job = scanning.job;
    const bool whole = is_whole(job, start);
    struct hash hash = {0, 0};
#pragma unroll 1
    for (unsigned round = 0; round < ROUNDS; round++) {
        uint4 vectors[VECTORS];
#pragma unroll
        for (int i = 0; i < VECTORS; i++)
            vectors[i] = walk->next[i];
        const u64 next = round + 1 < ROUNDS ? start + (round + 1) * STEP : following;
        if (next)
            load_vectors(walk->next, next + lane_index() * 16,
                         round + 1 < ROUNDS ? whole : is_whole(job, next));
        hash_vectors(&hash, vectors);
        if constexpr (WAY != HASHES) {
            if (whole)
                add_words(&walk->own, vectors,
                          (start + round * STEP - job.first) / sizeof(B) +
                              lane_index() * (16 / sizeof(B)));
        }
    }
    if constexpr (WAY != HASHES) {
        walk->groups += whole ? ROUNDS : 0;
        walk->filled += ROUNDS * GROUP_WORDS;
        if (walk->filled + ROUNDS * GROUP_WORDS > PACKED) {
            flush_packed(0, &walk->own);
            walk->filled = 0;
        }
    }
    return join_hashes(hash);
}

// Looks at those of 32 pieces that `left` says, each `warps` after the one before.
template <int WAY>
__device__ static struct hash scan_batch(struct walk_state<WAY> *walk, u64 from, unsigned warps,
                                         unsigned left)
{
    const struct device_values_job &job = scanning.job;
    struct hash own = {0, 0};
    u64 waiting = ~0ull; // a piece whose fields are to be read
    u64 piece = from + (__ffs((int)left) - 1) * (u64)warps;
    u64 start = job.base + piece * PIECE;
    load_vectors(walk->next, start + lane_index() * 16, is_whole(job, start));
#pragma unroll 1
    while (left) {
        const unsigned source = __ffs((int)left) - 1;
        left &= left - 1;
        const u64 next = from + (__ffs((int)left) - 1) * (u64)warps;
        const u64 following = left ? job.base + next * PIECE : 0;
        const struct hash hash = scan_piece<WAY>(walk, start, following);
        if (lane_index() == source)
            own = hash;
        if (job.describes && (WAY == HASHES || !is_whole(job, start))) {
            if (WAY == HASHES && waiting == ~0ull && left) {
                waiting = piece;
            } else {
                scan_fields(piece, waiting);
                waiting = ~0ull;
            }
        }
        piece = next;
        start = following;
    }
    if (WAY == HASHES && waiting != ~0ull)
        scan_fields(waiting, ~0ull);
    return own;
}

// Processes a warp's share of the job: every warps-th piece, from one on. A lane examines whether
// one of the next 32 is to be looked at.
template <int WAY> __device__ static __noinline__ void scan_pieces(unsigned unit, unsigned warps)
{
    typedef typename element_of<WAY>::type B;
    const struct device_values_job &job = scanning.job;
    const struct span range = pieces_of(job);
    struct walk_state<WAY> walk;
    walk.own = no_sums<B>(WAY != HASHES && scanning.todo[0] & HAS_FLOATS);
    walk.groups = walk.filled = 0;
#pragma unroll 1
    for (u64 from = range.from + unit; from < range.to; from += 32 * (u64)warps) {
        const u64 mine = from + lane_index() * (u64)warps;
        unsigned char state = 0;
        const bool looked = mine < range.to && is_looked_at(job, (unsigned)mine, &state);
        ulonglong2 was = make_ulonglong2(0, 0);
        if (looked) {
            was = __ldcg(at<const ulonglong2>(job.hashes) + mine);
            if (job.which == DEVICE_MARKED) // stores from now on mark it again
                at<unsigned char>(
                    job.marks)[(unsigned)mine * (unsigned)DEVICE_PIECE_STEP & job.mask] = 0;
        }
        const unsigned left = __ballot_sync(ALL, looked);
        if (!left)
            continue;
        const struct hash hash = scan_batch<WAY>(&walk, from, warps, left);
        keep_hashes(mine, looked, state, {was.x, was.y}, hash);
    }
    if constexpr (WAY != HASHES) {
        const unsigned each = GROUP_WORDS * 4 / sizeof(B);
        if (walk.groups)
            flush_lanes<B>(0, walk.own, each, walk.groups * 32 * each);
    }
}

// --- Jobs ----------------------------------------------------------------------------------------

__device__ static unsigned todo_of(unsigned type, const struct wanted &wanted, bool open)
{
    const enum kind kind = kind_of(type);
    unsigned todo = is_signed(type) ? IS_SIGNED : 0;
    if (is_float(kind))
        todo |= HAS_FLOATS | FIND_INTEGRAL;
    if (kind == F32 || kind == F64)
        todo |= FIND_NARROW;
    todo |= kind == F16 ? IS_F16 : kind == BF16 ? IS_BF16 : 0;
    todo |= open ? FIND_DISTINCT : 0;
    todo |= wanted.mostly && !wanted.line ? SKIP_FIRST : 0;
    todo |= wanted.roundings & 0x7f ? COUNT_ROUNDED : 0;
    todo |= wanted.roundings >> 8 ? COUNT_ROUNDED_LINEAR : 0;
    todo |= wanted.line ? COUNT_LINEAR : 0;
    return todo;
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
            add_distinct<u64>(field, bits);
        else if (bits)
            add_distinct<unsigned>(field, (unsigned)bits);
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
    if (threadIdx.x == 0)
        scanning.table_shift = fields <= 1 ? 14 : fields <= 2 ? 13 : fields <= 4 ? 12 : 11;
#pragma unroll 1
    for (unsigned i = 0; i < fields; i++) {
#pragma unroll 1
        for (unsigned k = threadIdx.x; k < FIELD; k += THREADS)
            ((u64 *)&scanning.wanted[i])[k] = __ldcg((const u64 *)&work->fields[i].wanted + k);
#pragma unroll 1
        for (unsigned k = threadIdx.x; k < sizeof(struct sums) / 8; k += THREADS)
            ((u64 *)&scanning.sums[i])[k] = 0;
        open |= __ldcg(&work->fields[i].set.count) <= DEVICE_DISTINCT;
    }
#pragma unroll 1
    for (unsigned i = threadIdx.x; open && i < TABLE_BYTES / 16; i += THREADS)
        ((uint4 *)scanning.table)[i] = make_uint4(0, 0, 0, 0);
    __syncthreads();
    if (threadIdx.x < fields)
        scanning.todo[threadIdx.x] =
            todo_of(job.fields[threadIdx.x].type, scanning.wanted[threadIdx.x],
                    __ldcg(&work->fields[threadIdx.x].set.count) <= DEVICE_DISTINCT);
    __syncthreads();
#pragma unroll 1
    for (unsigned i = 0; open && i < fields; i++) {
        if (scanning.todo[i] & FIND_DISTINCT)
            fill_table(i, &work->fields[i].set);
    }
    __syncthreads();
}

static_assert(TABLE_BYTES == 1 << 14 && DEVICE_FIELDS == 8, "tables of all fields have room");

__device__ static enum way way_of(const struct device_values_job &job)
{
    if (!job.describes || job.field_count != 1 || job.fields[0].offset)
        return HASHES;
    const unsigned size = size_of(kind_of(job.fields[0].type));
    if (size < 4 || job.stride != size || job.first % size)
        return HASHES;
    return size == 8 ? WIDES : WORDS;
}

__device__ static void scan_job(unsigned unit, unsigned warps)
{
    switch (way_of(scanning.job)) {
    case HASHES: scan_pieces<HASHES>(unit, warps); break;
    case WORDS: scan_pieces<WORDS>(unit, warps); break;
    case WIDES: scan_pieces<WIDES>(unit, warps); break;
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
            atomicOr(&to->lacking, from.lacking);
            if (from.counters[ZEROS])
                set_add(&work->fields[i].set, 0);
        }
    }
    __syncthreads();
}

#endif
