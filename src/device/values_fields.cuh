// SPDX-License-Identifier: Apache-2.0
// How the scan looks at pieces of structures, with the columns of values_columns.cuh. See values.h.
//
// Sums are in registers while a warp looks at many pieces. Where something is looked for that is
// seldom looked for, or the layout has columns of both sizes, they are in memory in between.
// Registers that a function needs after a call are lost to all loops of the kernel. So functions
// that call others keep what they need in memory.
#ifndef GLINT_DEVICE_VALUES_FIELDS_CUH
#define GLINT_DEVICE_VALUES_FIELDS_CUH

#include "values_columns.cuh"

// --- Pieces --------------------------------------------------------------------------------------

// Looks at those of 32 pieces that `left` says, without what is seldom looked for. There are no
// calls: what is in registers would have to be saved, also what is still being loaded.
template <typename B>
__device__ static __noinline__ void scan_batch_columns(struct columns<B> *columns, unsigned left)
{
    const struct column column = columns->column;
    const unsigned place = place_to_stage();
    struct lane_sums<B> own = columns->own;
    struct hash hash = begin_hash();
    uint4 vectors[VECTORS];
    unsigned source = __ffs((int)left) - 1;
    u64 address = columns->start + source * columns->apart;
    load_vectors(vectors, address + lane_index() * 16);
    columns->unusual = 0;
    columns->others = 0;
#pragma unroll 1
    for (unsigned round = 0; left; round ^= 1) {
        const unsigned ended = source;
        struct rows rows = {column.position, STAGED, 0};
        hash_vectors(&hash, vectors);
        stage_vectors(vectors, place);
        if (!(column.flags & IS_REGULAR)) {
            rows = rows_of(*(const volatile struct column *)&columns->column, address);
            stage_tail(address);
        }
        address += STAGED;
        if (round) {
            left &= left - 1;
            source = __ffs((int)left) - 1;
            address = in_memory(columns->start) + source * in_memory(columns->apart);
        }
        if (left)
            load_vectors(vectors, address + lane_index() * 16);
        __syncwarp();
        const bool others =
            add_rows<rows_each<B>::COUNT>(columns, &own, column, rows.position, rows.limit);
        if (others)
            columns->others |= 1ull << (2 * ended + round);
        if (__any_sync(ALL, others))
            columns->unusual |= 1u << ended;
        if (round) {
            const struct hash joined = join_hashes(hash);
            if (lane_index() == ended)
                columns->hash = joined;
            hash = begin_hash();
        }
    }
    static_assert(ROUNDS == 2, "rounds alternate");
    keep_sums(columns, own);
}

// Adds what is staged, with what is seldom looked for.
template <typename B>
__device__ static __noinline__ void add_staged(struct columns<B> *columns, u64 address)
{
    const struct column column = columns->column;
    const struct rows rows = rows_of(columns->column, address);
    struct lane_sums<B> own = columns->own;
    const bool others = add_rows<4>(columns, &own, column, rows.position, rows.limit);
    keep_sums(columns, own);
    if (__any_sync(ALL, others)) {
        columns->unusual = 1;
        add_rare_staged<B>(columns, address, others);
    }
}

// What a lane knows about fields of both sizes.
struct fields {
    struct columns<unsigned> narrow;
    struct columns<u64> wide;
    u64 address;
    struct hash hash; // of the current piece
};

// Looks at a piece, with what is seldom looked for. Little is in registers here: calls have none of
// these.
__device__ static __noinline__ void scan_piece(struct fields *fields)
{
    fields->hash = begin_hash();
#pragma unroll 1
    for (unsigned round = 0; round < ROUNDS; round++) {
        uint4 vectors[VECTORS];
        load_vectors(vectors, fields->address + lane_index() * 16);
        stage_vectors(vectors, place_to_stage());
        struct hash hash = fields->hash;
        hash_vectors(&hash, vectors);
        fields->hash = hash;
        stage_tail(fields->address);
        __syncwarp();
        if (fields->narrow.column.count)
            add_staged<unsigned>(&fields->narrow, fields->address);
        if (fields->wide.column.count)
            add_staged<u64>(&fields->wide, fields->address);
        __syncwarp();
        fields->address += STAGED;
    }
    fields->hash = join_hashes(fields->hash);
}

// Finds what is seldom looked for in the pieces of a batch that have some: reads them once more.
template <typename B> __device__ static __noinline__ void scan_unusual(struct columns<B> *columns)
{
#pragma unroll 1
    for (unsigned i = 0; i < 32 * ROUNDS; i++) {
        if (!(columns->unusual >> i / ROUNDS & 1))
            continue;
        const u64 address = columns->start + i / ROUNDS * columns->apart + i % ROUNDS * (u64)STAGED;
        uint4 vectors[VECTORS];
        load_vectors(vectors, address + lane_index() * 16);
        stage_vectors(vectors, place_to_stage());
        stage_tail(address);
        __syncwarp();
        add_rare_staged<B>(columns, address, columns->others >> i & 1);
    }
}

// --- Sums ----------------------------------------------------------------------------------------

// Moves sums from the upper bits of a word to where they belong.
__device__ static void extend_sums(struct lane_sums<unsigned> *own, const struct column &column)
{
    if (own->least > own->greatest)
        return;
    own->least = extended_row(column, own->least);
    own->greatest = extended_row(column, own->greatest);
    own->lowest = (int)extended_row(column, (unsigned)own->lowest);
    own->highest = (int)extended_row(column, (unsigned)own->highest);
}

__device__ static void extend_sums(struct lane_sums<u64> *, const struct column &) {}

// Of rows that hold only the first candidate, adds all but the bits.
template <typename B> __device__ static void add_same_rows(struct columns<B> *columns)
{
    struct lane_sums<B> *own = &columns->own;
    const B any = own->any, all = own->all;
    add_same<B>(columns->column.field, own, own->same, columns->skipped);
    own->any = any;
    own->all = all;
    own->same = 0;
}

// Puts all packed counters into `own`.
template <typename B> __device__ static void join_rare(struct columns<B> *columns)
{
    const struct lane_sums<B> &rare = columns->rare;
    columns->own.close = rare.close;
    columns->own.rounded[0] = rare.rounded[0];
    columns->own.rounded[1] = rare.rounded[1];
    columns->own.missed[0] = rare.missed[0];
    columns->own.missed[1] = rare.missed[1];
}

template <typename B> __device__ static __noinline__ void flush_columns(struct columns<B> *columns)
{
    const struct column &column = columns->column;
    const unsigned shift = sizeof(B) == 8 ? 0 : 32 - 8 * column.size;
    struct lane_sums<B> *own = &columns->own;
    join_rare(columns);
    own->linear = columns->rare.linear;
    extend_sums(own, column);
    if (own->same) {
        const B first =
            sizeof(B) == 8 ? (B)scanning.wanted[column.field].candidates[0] : (B)column.first;
        own->any |= first;
        own->all &= first;
        add_same_rows(columns);
    }
    own->any >>= shift;
    own->all >>= shift;
#pragma unroll 1
    for (unsigned i = 0; i < scanning.job.field_count; i++) {
        const bool mine = column.flags & IS_THERE && column.field == i;
        u64 elements = mine ? columns->rows : 0;
#pragma unroll 1
        for (int step = 16; step; step /= 2)
            elements += other_lane(elements, step);
        if (elements)
            flush_lanes<B>(i, mine ? *own : no_sums<B>(scanning.todo[i] & HAS_FLOATS), 1, elements);
    }
}

// Makes room in the packed counters for the next batch.
template <typename B>
__device__ static __noinline__ void make_room(struct columns<B> *columns, unsigned pieces)
{
    const unsigned rows = PIECE / columns->column.step + ROUNDS;
    columns->filled += pieces * rows;
    if (columns->filled + 32 * rows <= 0xffff)
        return;
    join_rare(columns);
    flush_full(columns->column.field, &columns->own, &columns->filled, 0xffff);
    columns->rare.rounded[0] = columns->rare.rounded[1] = 0;
    columns->rare.missed[0] = columns->rare.missed[1] = 0;
    columns->rare.close = 0;
}

// Looks at pieces whose fields have one size. Returns the hash of the lane's piece.
template <typename B>
__device__ static struct hash scan_columns(struct columns<B> *columns, u64 start, u64 apart,
                                           unsigned left)
{
    columns->start = start;
    columns->apart = apart;
    scan_batch_columns<B>(columns, left);
    if (columns->unusual)
        scan_unusual<B>(columns);
    make_room<B>(columns, __popc(left));
    return columns->hash;
}

// Whether something is looked for that is seldom looked for. There is nothing more to find if all
// 256 values of a byte were found.
__device__ static bool has_rare()
{
    const struct work *work = at<const struct work>(scanning.job.work);
    bool rare = false;
#pragma unroll 1
    for (unsigned i = 0; i < scanning.job.field_count; i++) {
        const unsigned todo = *(volatile unsigned *)&scanning.todo[i];
        if (todo & FIND_DISTINCT && kind_of(scanning.job.fields[i].type) == INT1 &&
            __ldcg(&work->fields[i].set.count) >= DEVICE_DISTINCT)
            atomicAnd(&scanning.todo[i], ~(unsigned)FIND_DISTINCT);
        rare |= todo & RARE;
    }
    return __any_sync(ALL, rare);
}

// Looks at pieces one by one, and has the next one brought into the cache. Returns the hash of the
// lane's piece.
__device__ static struct hash scan_one_by_one(struct fields *fields, u64 start, u64 apart,
                                              unsigned left)
{
    struct hash kept = {0, 0};
    fields->narrow.unusual = fields->wide.unusual = 0;
#pragma unroll 1
    for (; left; left &= left - 1) {
        const unsigned source = __ffs((int)left) - 1;
        fields->address = start + source * apart;
        if (left & (left - 1))
            prefetch(start + (__ffs((int)(left & (left - 1))) - 1) * apart);
        scan_piece(fields);
        kept = lane_index() == source ? fields->hash : kept;
        make_room<unsigned>(&fields->narrow, 1);
        make_room<u64>(&fields->wide, 1);
    }
    return kept;
}

__device__ static __noinline__ void begin_fields(struct fields *fields)
{
    begin_columns<unsigned>(&fields->narrow);
    begin_columns<u64>(&fields->wide);
}

// Processes the whole pieces of a warp's share, as scan_pieces, after the sample has chosen.
__device__ static __noinline__ u64 scan_fields(struct share share)
{
    enum { FEW = 8 };
    const struct device_values_job &job = scanning.job;
    const u64 step = share.step;
    struct fields fields;
    begin_fields(&fields);
    const bool both = fields.narrow.column.count && fields.wide.column.count;
#pragma unroll 1
    for (unsigned lanes; share.from < share.to; share.from += lanes * step) {
        const u64 mine = share.from + lane_index() * step;
        const bool rare = has_rare() && fields.narrow.unusual | fields.wide.unusual;
        lanes = both || rare ? FEW : 32;
        const bool looked =
            lane_index() < lanes && examine(load_whether(share, mine, USUAL), USUAL);
        const unsigned left = __ballot_sync(ALL, looked);
        const u64 start = job.base + share.from * PIECE, apart = step * PIECE;
        struct hash hash;
        if (!left)
            continue;
        if (both || rare)
            hash = scan_one_by_one(&fields, start, apart, left);
        else if (fields.wide.column.count)
            hash = scan_columns<u64>(&fields.wide, start, apart, left);
        else
            hash = scan_columns<unsigned>(&fields.narrow, start, apart, left);
        keep_hashes(mine, looked, hash, false);
    }
    flush_columns<unsigned>(&fields.narrow);
    flush_columns<u64>(&fields.wide);
    return share.from;
}

#endif
