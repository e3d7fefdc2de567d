// SPDX-License-Identifier: Apache-2.0
// How the scan sums up structures, types of two bytes, and elements that are not aligned. See
// values.h.
//
// A warp copies what it has read to shared memory. A *column* holds every first, second, ...
// element of a field, so that its elements are a multiple of 4 bytes apart. Each lane has one
// column for the whole scan: in a row, neighbouring lanes have neighbouring columns, and then those
// of the next structures. So a lane has one set of sums, and needs no more registers than for an
// array.
//
// Elements of less than four bytes are processed in the upper bits of a word: that keeps the order
// of integers and floats, and zeros and NaNs can be found as in words. Only what is seldom looked
// for extends them. Columns of eight bytes have lanes of their own.
//
// values_fields.cuh looks at pieces with these.
#ifndef GLINT_DEVICE_VALUES_COLUMNS_CUH
#define GLINT_DEVICE_VALUES_COLUMNS_CUH

#include "values_pieces.cuh"

enum {
    FAR = 1 << 16, // a position behind all others
};

// The column of a lane.
struct column {
    u64 start;   // address of the first element
    u64 stride;  // from one element to the next, in bytes: a multiple of 4
    u64 inverse; // 2^64 / stride, rounded up
    unsigned count, field, type, size;
    unsigned place;      // of the lane's structure in a row
    unsigned step;       // from one row to the next, in bytes
    unsigned each, sub;  // element i of the column is element i * each + sub of the field
    unsigned inner;      // how far the index is in the next row
    unsigned selector;   // puts an element into the upper bits of a word
    unsigned shift;      // bits of a word before the element, if some elements cross words
    unsigned infinity;   // in the upper bits; of integers: more than all
    unsigned first;      // the first candidate
    unsigned candidates; // their number
    unsigned staged;     // address of what the warp has staged
    unsigned position;   // of the lane's first element in each round, if it is regular
    unsigned flags;
};

enum {
    IS_THERE = 1, // the lane has a column
    SKIPS = 2,    // groups that hold only the first candidate are recognized
    // Of all lanes:
    IS_PLAIN = 4,   // elements are words, in rows of 32
    CROSSES = 8,    // some elements cross words
    IS_REGULAR = 16 // elements are at the same positions in each round
};

// What a lane knows about its column.
template <typename B> struct columns {
    struct column column;
    // `rare` has what is seldom looked for. While a warp looks at pieces, only bounds and bits of
    // `own` are in registers.
    struct lane_sums<B> own, rare;
    unsigned rows;
    unsigned skipped; // rows in which nothing was looked for that is seldom looked for
    unsigned filled;  // packed counters have at most so much
    // Of a batch: pieces in which there is something to look for that is seldom looked for, and in
    // which rounds the lane has some.
    unsigned unusual;
    u64 others;
    // Of a batch: the first piece, the distance of the next, and the hash of the lane's piece.
    u64 start, apart;
    struct hash hash;
};

// Reads what is better left in memory.
template <typename T> __device__ static T in_memory(const T &value)
{
    return *(const volatile T *)&value;
}

template <typename B> struct rows_each {
    enum { COUNT = GROUP_WORDS * 4 / sizeof(B) };
};

// --- The column of a lane ------------------------------------------------------------------------

// Returns the selector that puts the element into the upper bits, and 0 below.
__device__ static unsigned selector_of(unsigned offset, unsigned size)
{
    unsigned selector = 0;
#pragma unroll 1
    for (unsigned i = 0; i < 4; i++)
        selector |= (i + size >= 4 ? offset + i + size - 4 : 4) << 4 * i;
    return selector;
}

// Returns the stored bits of an extended element.
__device__ static unsigned stored_of(unsigned type, unsigned extended)
{
    return type == DEVICE_F16 ? half_of(extended) : type == DEVICE_BF16 ? extended >> 16 : extended;
}

__device__ static unsigned upper_of(unsigned type, unsigned size, u64 extended)
{
    return stored_of(type, (unsigned)extended) << (32 - 8 * size);
}

// Finds the lane's column among those of the fields of one size: eight bytes, or others.
__device__ static void find_column(struct column *column, bool wide)
{
    const struct device_values_job &job = scanning.job;
    const unsigned each = job.stride % 4 == 0 ? 1 : job.stride % 2 == 0 ? 2 : 4;
    unsigned fields = 0;
#pragma unroll 1
    for (unsigned i = 0; i < job.field_count; i++)
        fields += is_wide(job.fields[i].type) == wide;
    const unsigned count = max(fields * each, 1), index = lane_index() % count;
    const unsigned rows = 32 / count;
    unsigned field = 0, before = index / each;
#pragma unroll 1
    for (unsigned i = 0; i < job.field_count; i++) {
        if (is_wide(job.fields[i].type) == wide && !before--)
            field = i;
    }
    column->count = fields;
    column->field = field;
    column->type = job.fields[field].type;
    column->size = size_of(kind_of(column->type));
    column->each = each;
    column->sub = index % each;
    column->start = job.first + job.fields[field].offset + (u64)column->sub * job.stride;
    column->stride = (u64)each * job.stride;
    column->inverse = ~0ull / column->stride + 1;
    column->place = lane_index() / count;
    column->flags = fields && column->place < rows ? IS_THERE : 0;
    column->step = (unsigned)min(rows * column->stride, (u64)FAR);
    column->inner = rows * each;
}

__device__ static __noinline__ void begin_column(struct column *column, bool wide)
{
    find_column(column, wide);
    struct wanted &wanted = scanning.wanted[column->field];
    const unsigned todo = scanning.todo[column->field];
    const unsigned offset = (unsigned)column->start % 4;
    const bool there = column->flags & IS_THERE;
    const bool crosses = __any_sync(
        ALL, there && (wide ? column->start % 8 || column->stride % 8 : offset + column->size > 4));
    const bool plain =
        __all_sync(ALL, column->step == 32 * 4 && (!there || (column->size == 4 && offset == 0)));
    // Strides that divide what is staged are powers of two. The first piece has only what begins in
    // it.
    const u64 from = column->start - scanning.job.base, rest = column->stride - 1;
    const bool regular =
        __all_sync(ALL, !crosses && rest < STAGED && !(column->stride & rest) &&
                            (from <= rest || scanning.job.first != scanning.job.base));
    column->flags |= (crosses ? CROSSES : 0) | (plain ? IS_PLAIN : 0) | (regular ? IS_REGULAR : 0) |
                     (todo & SKIP_FIRST ? SKIPS : 0);
    column->position =
        there ? (unsigned)(from & rest) + column->place * (unsigned)column->stride : FAR;
    column->shift = 8 * offset;
    column->selector = wide ? 0 : selector_of(crosses ? 0 : offset, column->size);
    column->infinity = !(todo & HAS_FLOATS) ? 0x7fffffff
                       : todo & IS_F16      ? (unsigned)infinity_of(F16) << 16
                                            : (unsigned)infinity_of(F32);
    column->candidates = wanted.candidate_count;
    column->staged = (unsigned)__cvta_generic_to_shared(scanning.staged[warp_index()]);
    column->first = wide ? 0 : upper_of(column->type, column->size, wanted.candidates[0]);
    // Candidates have the upper bits of 64 bits to spare. All warps write the same.
#pragma unroll 1
    for (unsigned i = 0; there && !wide && i < wanted.candidate_count; i++) {
        const unsigned value = (unsigned)wanted.candidates[i];
        ((unsigned *)&wanted.candidates[i])[1] = upper_of(column->type, column->size, value);
    }
    __syncwarp();
}

template <typename B> __device__ static void begin_columns(struct columns<B> *columns)
{
    begin_column(&columns->column, sizeof(B) == 8);
    columns->own = columns->rare = no_sums<B>(scanning.todo[columns->column.field] & HAS_FLOATS);
    columns->rows = columns->skipped = columns->filled = 0;
    columns->unusual =
        __any_sync(ALL, (columns->column.flags & (IS_THERE | SKIPS)) == IS_THERE) ? ~0u : 0;
}

// --- Staging -------------------------------------------------------------------------------------

// The memory in which a lane stages its vectors.
__device__ static unsigned place_to_stage()
{
    return (unsigned)__cvta_generic_to_shared(&scanning.staged[warp_index()][lane_index()]);
}

__device__ static void stage_vectors(const uint4 (&vectors)[VECTORS], unsigned place)
{
#pragma unroll
    for (int i = 0; i < VECTORS; i++)
        asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(place + i * 32 * 16),
                     "r"(vectors[i].x), "r"(vectors[i].y), "r"(vectors[i].z), "r"(vectors[i].w)
                     : "memory");
}

// Adds the bytes behind what is staged, where elements may end.
__device__ static void stage_tail(u64 address)
{
    const u64 byte = address + STAGED + lane_index();
    if (lane_index() < 16)
        ((unsigned char *)scanning.staged[warp_index()])[STAGED + lane_index()] =
            byte < scanning.job.end ? __ldcg(at<const unsigned char>(byte)) : 0;
}

// --- Rows ----------------------------------------------------------------------------------------

struct rows {
    unsigned position, limit; // of the lane's first element, and behind the last: bytes
    u64 index;                // of the first element
};

// Finds the lane's elements that begin in what is staged.
template <typename C> __device__ static struct rows rows_of(C &column, u64 address)
{
    const u64 first = column.start, stride = column.stride;
    const long long before = (long long)(address - first);
    const long long end = (long long)(scanning.job.end + 1 - column.size - address);
    u64 number = column.place;
    if (before > 0) {
        const u64 up = (u64)before + stride - 1;
        const u64 quotient = __umul64hi(up, column.inverse); // or one more
        number += quotient - (quotient * stride > up);
    }
    const u64 position = first + number * stride - address;
    return {column.flags & IS_THERE ? (unsigned)min(position, (u64)FAR) : (unsigned)FAR,
            (unsigned)min(max(end, 0ll), (long long)STAGED), number * column.each + column.sub};
}

// By addresses of shared memory: otherwise, the compiler would compute these again and again.
__device__ static unsigned staged_word(unsigned address)
{
    unsigned word;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(word) : "r"(address));
    return word;
}

__device__ static u64 staged_words(unsigned address)
{
    u64 words;
    asm volatile("ld.shared.u64 %0, [%1];" : "=l"(words) : "r"(address));
    return words;
}

template <int N>
__device__ static void load_rows(unsigned (&elements)[N], const struct column &column,
                                 unsigned position, unsigned step)
{
    const unsigned from = column.staged + (position & ~3u);
    if (N == rows_each<unsigned>::COUNT && column.flags & IS_PLAIN) {
#pragma unroll
        for (int i = 0; i < N; i++)
            elements[i] = staged_word(from + i * 32 * 4);
        return;
    }
#pragma unroll
    for (int i = 0; i < N; i++)
        elements[i] = staged_word(from + i * step);
    if (column.flags & CROSSES) {
        const unsigned shift = in_memory(column.shift);
#pragma unroll
        for (int i = 0; i < N; i++)
            elements[i] = __funnelshift_r(elements[i], staged_word(from + i * step + 4), shift);
    }
#pragma unroll
    for (int i = 0; i < N; i++)
        elements[i] = __byte_perm(elements[i], 0, column.selector);
}

template <int N>
__device__ static void load_rows(u64 (&elements)[N], const struct column &column, unsigned position,
                                 unsigned step)
{
    const unsigned from = column.staged + (position & ~3u);
    if (!(column.flags & CROSSES)) {
#pragma unroll
        for (int i = 0; i < N; i++)
            elements[i] = staged_words(from + i * step);
        return;
    }
#pragma unroll
    for (int i = 0; i < N; i++) {
        const unsigned one = staged_word(from + i * step), two = staged_word(from + i * step + 4);
        const unsigned three = staged_word(from + i * step + 8);
        elements[i] = (u64)__funnelshift_r(two, three, column.shift) << 32 |
                      __funnelshift_r(one, two, column.shift);
    }
}

__device__ static unsigned extended_row(const struct column &column, unsigned bits)
{
    return (unsigned)extend(column.type, bits >> (32 - 8 * column.size));
}

__device__ static u64 extended_row(const struct column &, u64 bits)
{
    return bits;
}

// --- Groups of a column --------------------------------------------------------------------------

template <int N>
__device__ static bool is_same(const struct group<unsigned, N, true> &group,
                               const struct column &column)
{
    unsigned other = 0;
#pragma unroll
    for (int i = 0; i < N; i++)
        other |= group.elements[i] ^ column.first;
    return !other;
}

template <int N>
__device__ static bool is_same(const struct group<u64, N, true> &group, const struct column &column)
{
    const u64 first = scanning.wanted[column.field].candidates[0];
    u64 other = 0;
#pragma unroll
    for (int i = 0; i < N; i++)
        other |= group.elements[i] ^ first;
    return !other;
}

// As add_bounds, in the upper bits.
template <int N>
__device__ static void add_column_bounds(struct lane_sums<unsigned> *own,
                                         const struct group<unsigned, N, true> &group,
                                         const struct column &column)
{
    const unsigned infinity = column.infinity;
    unsigned least = group.elements[0], greatest = least;
    int lowest = (int)least, highest = lowest;
#pragma unroll
    for (int i = 1; i < N; i++) {
        least = min(least, group.elements[i]);
        greatest = max(greatest, group.elements[i]);
        lowest = min(lowest, (int)group.elements[i]);
        highest = max(highest, (int)group.elements[i]);
    }
    if (!least || lowest == (int)0x80000000)
        count_zeros(own, group, false);
    if (highest > (int)infinity || greatest > (infinity | 0x80000000u)) {
        least = ~0u;
        greatest = 0;
        lowest = 0x7fffffff;
        highest = (int)0x80000000;
#pragma unroll
        for (int i = 0; i < N; i++) {
            const unsigned bits = group.elements[i];
            if ((bits & 0x7fffffff) > infinity) {
                own->nans++;
            } else {
                least = min(least, bits);
                greatest = max(greatest, bits);
                lowest = min(lowest, (int)bits);
                highest = max(highest, (int)bits);
            }
        }
    }
    own->least = min(own->least, least);
    own->greatest = max(own->greatest, greatest);
    own->lowest = min(own->lowest, lowest);
    own->highest = max(own->highest, highest);
}

// As add_bounds.
template <int N>
__device__ static void add_column_bounds(struct lane_sums<u64> *own,
                                         const struct group<u64, N, true> &group,
                                         const struct column &column)
{
    add_bounds(own, group, scanning.todo[column.field]);
}

// Returns a candidate as elements are processed.
template <typename B> __device__ static B candidate_of(const struct column &column, unsigned index)
{
    const u64 value = scanning.wanted[column.field].candidates[index];
    return sizeof(B) == 8 ? (B)value : (B)(value >> 32);
}

template <typename B, int N>
__device__ static void count_column_candidates(struct lane_sums<B> *counts,
                                               const struct group<B, N, true> &group,
                                               const struct column &column)
{
#pragma unroll 1
    for (unsigned c = 0; c < column.candidates; c++) {
        const B value = candidate_of<B>(column, c);
        unsigned count = 0;
        if (!value) // zeros are counted anyway
            continue;
#pragma unroll
        for (int i = 0; i < N; i++)
            count_equal(&count, group.elements[i], value);
        // Four counters are packed into 64 bits.
        ((unsigned short *)counts->candidates)[c] += (unsigned short)count;
    }
}

// Adds N rows: bounds and bits in registers, and counts in memory. Returns whether they are not all
// the first candidate.
template <int N, typename B>
__device__ static bool add_group_rows(struct columns<B> *columns, struct lane_sums<B> *own,
                                      const struct column &column, unsigned position)
{
    struct lane_sums<B> *counts = &columns->own;
    struct group<B, N, true> group;
    load_rows(group.elements, column, position, column.step);
    if (column.flags & SKIPS && is_same(group, column)) {
        counts->same += N;
        return false;
    }
#pragma unroll
    for (int i = 0; i < N; i++) {
        own->any |= group.elements[i];
        own->all &= group.elements[i];
    }
    own->zeros = own->minus = own->nans = 0;
    add_column_bounds(own, group, column);
    if (own->zeros | own->minus | own->nans) {
        counts->zeros += own->zeros;
        counts->minus += own->minus;
        counts->nans += own->nans;
    }
    count_column_candidates(counts, group, column);
    return true;
}

// Puts bounds and bits back into memory.
template <typename B>
__device__ static void keep_sums(struct columns<B> *columns, const struct lane_sums<B> &own)
{
    columns->own.least = own.least;
    columns->own.greatest = own.greatest;
    columns->own.lowest = own.lowest;
    columns->own.highest = own.highest;
    columns->own.any = own.any;
    columns->own.all = own.all;
}

// Adds the lane's elements that begin in what is staged, N at a time, and the rest one by one.
// Returns whether there is something to look for that is seldom looked for.
template <int N, typename B>
__device__ static bool add_rows(struct columns<B> *columns, struct lane_sums<B> *own,
                                const struct column &column, unsigned position, unsigned limit)
{
    const unsigned step = column.step;
    unsigned count = 0;
    bool others = false;
#pragma unroll 1
    for (; position + (N - 1) * step < limit; position += N * step) {
        others |= add_group_rows<N>(columns, own, column, position);
        count += N;
    }
#pragma unroll 1
    for (; position < limit; position += step) {
        others |= add_group_rows<1>(columns, own, column, position);
        count++;
    }
    columns->rows += count;
    if (!others)
        columns->skipped += count;
    return others && *(volatile unsigned *)&scanning.todo[column.field] & RARE;
}

// --- What is seldom looked for -------------------------------------------------------------------

// Finds what is seldom looked for in what is staged, in the lanes that say so; the others hold only
// the first candidate.
template <typename B>
__device__ static __noinline__ void add_rare_staged(struct columns<B> *columns, u64 address,
                                                    bool others)
{
    const struct column column = columns->column;
    struct lane_sums<B> rare = columns->rare;
    const struct rows rows = rows_of(columns->column, address);
    unsigned position = others ? rows.position : FAR;
    struct group<B, 4, false> group;
    group.inner = column.inner;
    group.index = rows.index;
#pragma unroll 1
    while (position < rows.limit) {
        const unsigned todo = *(volatile unsigned *)&scanning.todo[column.field];
        if (!(todo & RARE))
            break;
        group.valid = position + 3 * column.step < rows.limit ? 4 : 1;
        load_rows(group.elements, column, position, group.valid == 4 ? column.step : 0);
#pragma unroll
        for (int i = 0; i < 4; i++) {
            group.elements[i] = extended_row(column, group.elements[i]);
            rare.any |= group.elements[i];
        }
        add_rare(&rare, group, column.field, todo);
        group.index += group.valid * column.inner;
        position += group.valid * column.step;
    }
    columns->rare = rare;
    __syncwarp();
}

#endif
