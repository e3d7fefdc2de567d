// SPDX-License-Identifier: Apache-2.0
// The second kernel of the scan: looks at pieces, and sums up hashes and values. See values.h.
//
// A warp takes a piece: each lane reads 16 bytes at a time, from every 512 bytes, and reads the
// next ones before it sums up the ones that it has. Where the layout has one field of one, four or
// eight bytes, whose elements are aligned, it sums up these. values_fields.cuh sums up all other
// elements, and those of the first and the last piece.
#ifndef GLINT_DEVICE_VALUES_SCAN_CUH
#define GLINT_DEVICE_VALUES_SCAN_CUH

#include "values_fields.cuh"
#include "values_octets.cuh"

// --- Arrays --------------------------------------------------------------------------------------

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
            add_octets(own, vectors);
        } else if constexpr (WAY != HASHES) {
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
        if (!left)
            continue;
        const struct hash hash =
            scan_batch<WAY>(&own, job.base + from * PIECE, (u64)warps * PIECE, left);
        groups += __popc(left) * ROUNDS;
        filled += __popc(left) * ROUNDS * EACH;
        if constexpr (WAY != HASHES)
            flush_full<B, IS_HEAVY>(0, &own, &filled, MOST);
        keep_hashes(mine, looked, hash);
    }
    if constexpr (WAY != HASHES) {
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
        ((unsigned *)&scanning.seen)[threadIdx.x] = 0;
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
    if (!job.describes || !job.field_count)
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
        scan_fields(from, warps);
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
