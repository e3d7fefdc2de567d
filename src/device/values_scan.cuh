// SPDX-License-Identifier: Apache-2.0
// The scan itself: looks at pieces, and sums up hashes and values. See values.h.
//
// A warp takes a piece: each lane reads 16 bytes at a time, from every 512 bytes, and reads the
// next ones before it sums up the ones that it has. Where the layout has one field of one, four or
// eight bytes, whose elements are aligned, it sums up these. values_fields.cuh sums up those of all
// other layouts, and values_elements.cuh those of small objects, and of the first and the last
// piece of others.
#ifndef GLINT_DEVICE_VALUES_SCAN_CUH
#define GLINT_DEVICE_VALUES_SCAN_CUH

#include "values_elements.cuh"
#include "values_fields.cuh"
#include "values_octets.cuh"

// --- Arrays --------------------------------------------------------------------------------------

// How a job is looked at: only hashes; hashes, and then fields; or, at the same time, elements of
// one, four or eight bytes that are aligned and fill the object. The last two are arrays of words,
// and have code of their own for what needs many instructions, so that all else is in registers
// where it is not looked for.
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

template <typename B>
__device__ static struct group<B, GROUP_WORDS * 4 / sizeof(B), true>
group_of_words(const uint4 (&vectors)[VECTORS], u64 index) {
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
    return group;
}

template <bool HAS_RARE, typename B>
__device__ static void add_words(struct lane_sums<B> *own, const uint4 (&vectors)[VECTORS],
                                 u64 index, const struct habits &habits)
{
    add_vectors<HAS_RARE>(own, group_of_words<B>(vectors, index), habits);
}

__device__ static constexpr bool is_heavy(int way)
{
    return way == RARE_WORDS || way == RARE_WIDES;
}

// Keeps the hash of a piece for a lane.
__device__ static void keep_joined(struct hash hash, unsigned lane)
{
    const struct hash joined = join_hashes(hash);
    if (lane_index() == lane)
        scanning.joined[threadIdx.x] = make_ulonglong2(joined.one, joined.other);
}

// Looks at those of 32 pieces that `left` says, each `step` bytes after the one before, and keeps
// the hash of each for the lane of its number. The next vectors are loaded before those that were
// loaded are summed up.
template <int WAY, typename B>
__device__ static void sum_batch(struct lane_sums<B> *own, u64 start, u64 step, unsigned left,
                                 const struct habits &habits)
{
    enum { BYTES = 32 * 16 * VECTORS };
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
        if constexpr (WAY == OCTETS)
            add_octets(own, vectors);
        else
            add_words<is_heavy(WAY)>(own, vectors, (current - scanning.job.first) / sizeof(B),
                                     habits);
        if (is_heavy(WAY) || round)
            __syncwarp();
        if (round) {
            keep_joined(hash, ended);
            hash = begin_hash();
        }
    }
    static_assert(ROUNDS == 2, "rounds alternate");
}

// The same where only hashes are needed. There is so little code that it is written for each half
// of a piece, which saves copying registers.
__device__ static void hash_batch(u64 start, u64 step, unsigned left)
{
    enum { BYTES = 32 * 16 * VECTORS };
    uint4 first[VECTORS], second[VECTORS];
    unsigned source = __ffs((int)left) - 1;
    u64 address = start + source * step + lane_index() * 16;
    load_vectors(first, address);
#pragma unroll 1
    while (left) {
        const unsigned ended = source;
        struct hash hash = begin_hash();
        load_vectors(second, address + BYTES);
        hash_vectors(&hash, first);
        left &= left - 1;
        source = __ffs((int)left) - 1;
        address = start + source * step + lane_index() * 16;
        if (left)
            load_vectors(first, address);
        hash_vectors(&hash, second);
        __syncwarp();
        keep_joined(hash, ended);
    }
    static_assert(ROUNDS == 2, "a piece has two halves");
}

// The same where elements are summed up, but nothing is looked for, as it mostly is. The loop is not that
// of hash_batch: ptxas places the loads well there, and here only with a barrier, which slows that one
// down.
template <typename B>
__device__ static void sum_plain(struct lane_sums<B> *own, u64 start, u64 step, unsigned left,
                                 unsigned todo)
{
    enum { BYTES = 32 * 16 * VECTORS };
    uint4 first[VECTORS], second[VECTORS];
    unsigned source = __ffs((int)left) - 1;
    u64 address = start + source * step + lane_index() * 16;
    load_vectors(first, address);
#pragma unroll 1
    while (left) {
        const unsigned ended = source;
        struct hash hash = begin_hash();
        load_vectors(second, address + BYTES);
        __syncwarp(); // otherwise, ptxas loads them only when they are needed
        hash_vectors(&hash, first);
        add_plain(own, group_of_words<B>(first, 0), todo);
        left &= left - 1;
        source = left ? __ffs((int)left) - 1 : source; // the last piece once more
        address = start + source * step + lane_index() * 16;
        load_vectors(first, address);
        __syncwarp();
        hash_vectors(&hash, second);
        add_plain(own, group_of_words<B>(second, 0), todo);
        __syncwarp();
        keep_joined(hash, ended);
    }
    static_assert(ROUNDS == 2, "a piece has two halves");
}

// Looks at a batch. Returns the hash of the lane's piece. `plain`: nothing is looked for.
template <int WAY, typename B>
__device__ static struct hash scan_batch(struct lane_sums<B> *own, u64 start, u64 step,
                                         unsigned left, const struct habits &habits, bool plain)
{
    if constexpr (WAY == HASHES)
        hash_batch(start, step, left);
    else if ((WAY == WORDS || WAY == WIDES) && plain)
        sum_plain(own, start, step, left, scanning.todo[0]);
    else
        sum_batch<WAY>(own, start, step, left, habits);
    const ulonglong2 joined = scanning.joined[threadIdx.x];
    return {joined.x, joined.y};
}

// Whether all choices about the job were made; `ready` is what its work memory says.
__device__ static bool is_sampled(const struct device_values_job &job, unsigned ready)
{
    return ready % WANTS == CHOICES * job.field_count;
}

__device__ static unsigned load_ready(const struct device_values_job &job)
{
    return *(const volatile unsigned *)&at<const struct work>(job.work)->ready;
}

// Whether the early pass is over, because the sample wants something. If it wants nothing, the pass
// becomes the usual one.
__device__ static bool is_over(enum pass *pass, unsigned ready)
{
    ready = __shfl_sync(ALL, ready, 0);
    if (!is_sampled(scanning.job, ready))
        return false;
    *pass = USUAL;
    if (lane_index() == 0)
        scanning.plain[warp_index()] = ready < WANTS;
    return ready >= WANTS;
}

template <int WAY> struct group_of {
    typedef typename element_of<WAY>::type element;
    enum { EACH = WAY == OCTETS ? (int)OCTETS_EACH : (int)(GROUP_WORDS * 4 / sizeof(element)) };
};

// Adds the sums of the lanes to those of the block. Returns where the warp ended.
template <int WAY, typename B>
__device__ static u64 end_pieces(struct lane_sums<B> *own, unsigned groups, u64 ended)
{
    enum { EACH = group_of<WAY>::EACH };
    if constexpr (WAY == OCTETS)
        join_octets(own);
    if (is_heavy(WAY))
        take_counters(own);
    if (WAY != HASHES && groups)
        flush_lanes<B>(0, *own, EACH, (u64)groups * 32 * EACH);
    return ended;
}

// Processes the whole pieces of a warp's share. A lane examines whether one of the next 32 is to be
// looked at. What needs many instructions begins with one piece, since elements often decide soon.
// Returns where it ended: if what needs many instructions is not looked for any more, others can do
// the rest faster. Before the sample has chosen, elements are summed up as if nothing was looked
// for. If that turns out to be right, the warp goes on; otherwise, it ends.
template <int WAY>
__device__ static __noinline__ u64 scan_pieces(struct share share, enum pass pass)
{
    typedef typename element_of<WAY>::type B;
    enum {
        IS_SIMPLE = WAY == WORDS || WAY == WIDES, // nothing is in the way of looking at it early
        IS_HEAVY = is_heavy(WAY),
        EACH = group_of<WAY>::EACH,
        MOST = 32 * ROUNDS * EACH,
    };
    const struct device_values_job &job = scanning.job;
    const u64 step = share.step;
    u64 from = share.from;
    struct lane_sums<B> own = no_sums<B>(scanning.todo[0] & HAS_FLOATS);
    unsigned filled = 0, groups = 0, lanes = 0, ready = 0;
    const struct habits habits = {
        scanning.self, scanning.todo[0] & COUNT_UNLISTED ? 0 : scanning.wanted[0].candidate_count,
        scanning.factors[0], scanning.is_zero_listed};
    const bool plain = !(scanning.todo[0] & (RARE | SKIP_FIRST)) && !habits.count;
    if (IS_HEAVY) {
        take_counters(&own);
        own = no_sums<B>(scanning.todo[0] & HAS_FLOATS);
    }
    const struct hash filled_hash =
        WAY == HASHES && job.filled ? hash_of_word(job.word) : begin_hash();
    unsigned whether = load_whether(share, from + lane_index() * step, pass);
#pragma unroll 1
    for (; from < share.to; from += 32 * step) {
        const u64 mine = from + lane_index() * step;
        unsigned all = __ballot_sync(ALL, examine(whether, pass));
        whether = load_whether(share, mine + 32 * step, pass);
#pragma unroll 1
        while (all) {
            if ((IS_HEAVY && lanes && !__any_sync(ALL, scanning.todo[0] & HEAVY)) ||
                (IS_SIMPLE && pass == EARLY && is_over(&pass, ready)))
                return end_pieces<WAY>(&own, groups, from + (__ffs((int)all) - 1) * step);
            lanes = IS_HEAVY                     ? (lanes ? min(8 * lanes, 32u) : 1)
                    : IS_SIMPLE && pass == EARLY ? EARLY_BATCH
                                                 : 32;
            const unsigned left = all & ~0u >> (32 - lanes) << (__ffs((int)all) - 1);
            const bool looked = left >> lane_index() & 1;
            all &= ~left;
            unsigned read = left;
            struct hash hash = filled_hash;
            if (WAY == HASHES)
                read &= __ballot_sync(ALL, !is_filled(job, mine));
            if (read)
                hash = scan_batch<WAY>(&own, job.base + from * PIECE, step * PIECE, read, habits,
                                       plain);
            if (WAY == HASHES && is_filled(job, mine))
                hash = filled_hash;
            groups += __popc(left) * ROUNDS;
            filled += __popc(left) * ROUNDS * EACH;
            if constexpr (WAY != HASHES)
                flush_full<B, IS_HEAVY>(0, &own, &filled, MOST);
            if (IS_SIMPLE && pass == EARLY)
                ready = load_ready(job);
            if (pass != AGAIN)
                keep_hashes(mine, looked, hash, pass == EARLY);
            if (IS_SIMPLE && pass == EARLY && lane_index() == 0)
                scanning.early[warp_index()] |= left;
        }
    }
    return end_pieces<WAY>(&own, groups, from);
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

// Makes the job the block's, without values that are looked for. Called by the whole block.
__device__ static void take_job(const struct device_values &about, unsigned index)
{
    enum {
        PARTS = sizeof(struct device_values_job) / sizeof(u64),
        SUMS = DEVICE_FIELDS * sizeof(struct block_sums) / 8,
        WANTED = DEVICE_FIELDS * sizeof(struct wanted) / 8,
    };
#pragma unroll 1
    for (unsigned i = threadIdx.x; i < PARTS; i += THREADS)
        ((u64 *)&scanning.job)[i] = ((const u64 *)&about.jobs[index])[i];
#pragma unroll 1
    for (unsigned i = threadIdx.x; i < SUMS; i += THREADS)
        ((u64 *)scanning.sums)[i] = 0;
    if (threadIdx.x < WANTED)
        ((u64 *)scanning.wanted)[threadIdx.x] = 0;
    static_assert(WANTED <= THREADS, "each thread clears one");
    if (threadIdx.x < WARPS * TOTALS)
        (&scanning.totals[0][0])[threadIdx.x] = 0;
    if (threadIdx.x < sizeof(scanning.seen) / 4)
        ((unsigned *)&scanning.seen)[threadIdx.x] = 0;
    if (threadIdx.x < WARPS)
        scanning.early[threadIdx.x] = scanning.plain[threadIdx.x] = 0;
    if (threadIdx.x < DEVICE_FIELDS) {
        const unsigned type = about.jobs[index].fields[threadIdx.x].type;
        scanning.todo[threadIdx.x] =
            (is_signed(type) ? IS_SIGNED : 0u) | (is_float(kind_of(type)) ? HAS_FLOATS : 0u);
    }
    if (threadIdx.x == 0) {
        scanning.self = (unsigned)__cvta_generic_to_shared(&scanning);
        scanning.is_listed = true;
        scanning.is_zero_listed = false;
    }
    __syncthreads();
}

// Waits until the sample has chosen what is looked for. If there is something that no block has
// begun to choose, this one does: a block that has not begun may have to wait until this one ends.
// Returns whether something is looked for. Called by the whole block.
__device__ static bool wait_for_sample()
{
    const struct device_values_job &job = scanning.job;
    unsigned ready = load_ready(job);
    if (!__syncthreads_or(is_sampled(job, ready)))
        sample_job();
#pragma unroll 1
    while (warp_index() == 0 && !__any_sync(ALL, is_sampled(job, ready))) {
        __nanosleep(100);
        ready = load_ready(job);
    }
    if (warp_index() == 0)
        fence_gpu();
    return __syncthreads_or(warp_index() == 0 && ready >= WANTS);
}

__device__ static enum way way_of(const struct device_values_job &job)
{
    const bool rare = scanning.todo[0] & HEAVY;
    if (!job.describes || !job.field_count)
        return HASHES;
    const unsigned size = size_of(kind_of(job.fields[0].type));
    if (OF_WORDS)
        return size == 8 ? (rare ? RARE_WIDES : WIDES) : (rare ? RARE_WORDS : WORDS);
    const bool is_array = job.field_count == 1 && !job.fields[0].offset && job.stride == size;
    return size == 1 && is_array && !(scanning.todo[0] & COUNT_LINEAR) ? OCTETS : FIELDS;
}

// Takes what the sample has chosen. Called by the whole block.
__device__ static void take_wanted()
{
    enum { FIELD = sizeof(struct wanted) / 8 };
    const struct device_values_job &job = scanning.job;
    const struct work *work = at<const struct work>(job.work);
    const unsigned fields = job.field_count;
    bool open = false;
    if (threadIdx.x == 0)
        scanning.table_shift = fields <= 1 ? 14 : fields <= 2 ? 13 : fields <= 4 ? 12 : 11;
#pragma unroll 1
    for (unsigned i = threadIdx.x; i < fields * FIELD; i += THREADS)
        ((u64 *)&scanning.wanted[i / FIELD])[i % FIELD] =
            __ldcg((const u64 *)&work->fields[i / FIELD].wanted + i % FIELD);
    const unsigned field = threadIdx.x - 32; // another warp's, so that all loads are underway
    if (field < fields)
        open = __ldcg(&work->fields[field].set.count) <= DEVICE_DISTINCT;
    const bool any = __syncthreads_or(open);
    if (field < fields) {
        const struct wanted &wanted = scanning.wanted[field];
        scanning.todo[field] = todo_of(job.fields[field].type, wanted, open);
        scanning.sums[field].lacking = wanted.lacking;
    }
#pragma unroll 1
    for (unsigned i = threadIdx.x; any && i < TABLE_BYTES / 16; i += THREADS)
        ((uint4 *)scanning.table)[i] = make_uint4(0, 0, 0, 0);
    __syncthreads();
    if (OF_WORDS && fields)
        fill_lists();
#pragma unroll 1
    for (unsigned i = 0; any && i < fields; i++) {
        if (scanning.todo[i] & FIND_DISTINCT)
            fill_table(i, &work->fields[i].set);
    }
    __syncthreads();
    if (OF_WORDS && threadIdx.x == 0 && !scanning.is_listed) {
        scanning.todo[0] |= COUNT_UNLISTED;
        scanning.is_zero_listed = false;
    }
    __syncthreads();
}

// Forgets the sums of values, but not what the sample knows. Called by the whole block.
__device__ static void clear_sums()
{
    enum { SUMS = DEVICE_FIELDS * sizeof(struct block_sums) / 8 };
#pragma unroll 1
    for (unsigned i = threadIdx.x; i < SUMS; i += THREADS)
        ((u64 *)scanning.sums)[i] = 0;
    __syncthreads();
    if (threadIdx.x < DEVICE_FIELDS)
        scanning.sums[threadIdx.x].lacking = scanning.wanted[threadIdx.x].lacking;
    __syncthreads();
}

static_assert(TABLE_SHIFT == 14 && DEVICE_FIELDS == 8, "tables of all fields have room");
static_assert(sizeof(struct block_sums) % 8 == 0 && sizeof(struct wanted) % 8 == 0,
              "they are copied as words");

// Returns where it ended.
__device__ static __noinline__ u64 scan_share(struct share share, enum way way, enum pass pass)
{
    if (way == HASHES)
        return scan_pieces<HASHES>(share, pass);
    if constexpr (OF_WORDS) {
        if (way == RARE_WORDS)
            share.from = scan_pieces<RARE_WORDS>(share, pass);
        if (way == RARE_WIDES)
            share.from = scan_pieces<RARE_WIDES>(share, pass);
        return way == WORDS || way == RARE_WORDS ? scan_pieces<WORDS>(share, pass)
                                                 : scan_pieces<WIDES>(share, pass);
    } else {
        return way == OCTETS ? scan_pieces<OCTETS>(share, pass) : scan_fields(share);
    }
}

// Whether there may be nothing to look for. If there are at most 256 values, they are counted.
__device__ static bool may_be_plain(const struct device_values_job &job)
{
    bool plain = (u64)job.stride * DEVICE_DISTINCT < job.end - job.first;
#pragma unroll 1
    for (unsigned i = 0; i < job.field_count; i++)
        plain &= kind_of(job.fields[i].type) != INT1;
    // Probably there is something if there was the last time.
    return plain && (job.pieces <= DEVICE_SMALL_PIECES ||
                     !__ldcg((const u64 *)&at<const struct device_kept>(job.kept)->wants));
}

// Looks at pieces of an array of words before the sample has chosen. Most contents have nothing
// that must be looked for. Returns where it ended. Called by the whole block.
__device__ static u64 scan_early(struct share share, enum way way)
{
    if (lane_index() == 0)
        scanning.early_from[warp_index()] = share.from;
    __syncwarp();
    if (share.from >= share.to || !may_be_plain(scanning.job))
        return share.from;
    return min(scan_share(share, way, EARLY), share.to);
}

// Notes that the pieces that were looked at early were described.
__device__ static void take_early(struct share share)
{
    const u64 mine = share.from + lane_index() * (u64)share.step;
    if (mine < share.to && was_early(mine, share.step))
        note_described(mine);
}

// Takes what the sample has chosen if something is looked for, and forgets what was summed up
// before. Otherwise, all of that is right.
__device__ static void take_choice(bool wants)
{
    if (wants) {
        take_wanted();
        clear_sums();
    } else if (threadIdx.x < DEVICE_FIELDS) {
        scanning.sums[threadIdx.x].lacking = NOT_INTEGRAL | NOT_NARROW;
    }
}

// Scans the warps' shares of a job that describes values: the first ones before the sample has
// chosen, as far as it takes longer. Called by the whole block.
__device__ static void scan_described(struct share first, struct share rest)
{
    const struct device_values_job &job = scanning.job;
    struct share again = first;
    if constexpr (OF_WORDS)
        first.from = scan_early(first, way_of(job));
    const bool plain = OF_WORDS && __syncthreads_and((int)scanning.plain[warp_index()]);
    const bool wants = !plain && (wait_for_sample() || !OF_WORDS);
    if (wants)
        again.to = first.from;
    take_choice(wants);
    if constexpr (OF_WORDS)
        take_early(again);
    __syncwarp();
    const enum way way = way_of(job);
    if (OF_WORDS && wants && again.from < again.to)
        scan_share(again, way, AGAIN);
    if (first.from < first.to)
        scan_share(first, way, USUAL);
    if (rest.from < rest.to)
        scan_share(rest, way, USUAL);
}

// Scans the warps' shares of a job. Called by the whole block.
__device__ static void scan_job(struct share first, struct share rest)
{
    if (scanning.job.describes) {
        scan_described(first, rest);
    } else {
        if (first.from < first.to)
            scan_share(first, HASHES, USUAL);
        if (rest.from < rest.to)
            scan_share(rest, HASHES, USUAL);
    }
    __syncthreads();
}

// What a block does with its share of a job of few pieces. MANY: there are many.
enum few { MANY, BOTH, ONLY_HASHES, ONLY_VALUES };

// Whether different blocks can hash few pieces and sum up their values, which takes half as long:
// if no block needs the states that the other changes.
__device__ static bool can_part(const struct device_values_job &job)
{
    return job.describes && (job.which == DEVICE_MARKED || job.which == DEVICE_RANGE);
}

// Scans the block's share of a job of few pieces. Called by the whole block.
__device__ static __noinline__ void scan_few(struct share share, enum few few)
{
    if (few != ONLY_VALUES)
        hash_alone(share, scanning.job.describes && few == BOTH);
    else
        find_alone(share);
    if (scanning.job.describes && few != ONLY_HASHES) {
        const bool plain = may_be_plain(scanning.job);
        if (plain)
            add_alone(share);
        const bool wants = wait_for_sample() || !plain;
        take_choice(wants);
        if (wants)
            add_alone(share);
        if (few == BOTH)
            end_alone(share);
    }
}

// Scans a piece that is not whole, after others. Called by the whole block.
__device__ static __noinline__ void scan_part(u64 piece)
{
    const struct share share = {piece, piece + 1, 1};
    hash_alone(share, scanning.job.describes);
    if (scanning.job.describes) {
        add_alone(share);
        end_alone(share);
    }
    __syncthreads();
}

// Adds the block's sums to those of the job. Called by the whole block.
__device__ static void flush_job()
{
    const struct device_values_job &job = scanning.job;
    struct work *work = at<struct work>(job.work);
    struct device_kept *kept = at<struct device_kept>(job.kept);
    __syncthreads();
    if (!OF_WORDS && job.describes) {
        flush_octets();
        __syncthreads();
    }
    u64 total = 0;
#pragma unroll
    for (unsigned i = 0; threadIdx.x < TOTALS && i < WARPS; i++)
        total += scanning.totals[i][threadIdx.x];
    if (total)
        atomicAdd(threadIdx.x < JOB_SUMS ? &work->sums[threadIdx.x]
                  : threadIdx.x == KNOWN ? (u64 *)&kept->known
                                         : (u64 *)&kept->hash[threadIdx.x - HASH],
                  total);
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
