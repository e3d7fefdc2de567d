// SPDX-License-Identifier: Apache-2.0
// What the scan keeps while it looks at a job: a block in shared memory, a lane in registers.
// Counters of a group of elements are at most 16, so that several are packed into one register, and
// flushed before they overflow. See values.h.
#ifndef GLINT_DEVICE_VALUES_SUMS_CUH
#define GLINT_DEVICE_VALUES_SUMS_CUH

#include "values.cuh"

// Totals of a job: JOB_SUMS of its sums, then those of what is kept.
enum { KNOWN = JOB_SUMS, HASH, TOTALS = HASH + 2 };

enum {
    TABLE_SHIFT = 14,
    TABLE_BYTES = 1 << TABLE_SHIFT,
    GROUP_WORDS = 16,
    VECTORS = 4,                // that a lane reads at once
    STAGED = 32 * 16 * VECTORS, // bytes
};

// What is to be done with each group of a field.
enum {
    HAS_FLOATS = 1,
    IS_SIGNED = 2,
    IS_F16 = 4,
    IS_BF16 = 8,
    SKIP_FIRST = 16, // groups that hold only the first candidate
    FIND_INTEGRAL = 32,
    FIND_NARROW = 64,
    FIND_DISTINCT = 128,
    COUNT_ROUNDED = 256,
    COUNT_LINEAR = 512,
    COUNT_ROUNDED_LINEAR = 1024,
    COUNT_UNLISTED = 2048, // candidates of an array, which are not in lists
    FIND_TYPES = FIND_INTEGRAL | FIND_NARROW,
    HEAVY = FIND_DISTINCT | COUNT_ROUNDED | COUNT_LINEAR | COUNT_UNLISTED, // many instructions
    RARE = FIND_TYPES | HEAVY,
};

// Candidates of an array are looked up in lists. A list has a hash function of its own, which gives
// each of its candidates another slot.
enum { SLOTS = 16, LIST_ROOM = 8, LISTS = (COUNTED + LIST_ROOM - 1) / LIST_ROOM };

// Sums of a block; as struct sums, but counters do not overflow: a block looks at fewer elements.
struct block_sums {
    unsigned counters[COUNTERS];
    unsigned lacking;
    u64 greatest, least, any, none, elements;
};

// What a block has in shared memory. Its size is limited by the oldest GPUs that have enough.
struct scanning {
    struct device_values_job job;
    struct wanted wanted[DEVICE_FIELDS];
    struct block_sums sums[DEVICE_FIELDS]; // of this block
    u64 totals[WARPS][TOTALS];
    unsigned todo[DEVICE_FIELDS]; // bits are cleared when one element has decided
    // Of one-byte integers: not 0 if the value was found; and a run of such values:
    // values_octets.cuh.
    struct {
        alignas(8) unsigned char values[256];
        unsigned run, cube;
    } seen;
    unsigned last;
    unsigned distinct;    // of a field, by all blocks
    unsigned table_shift; // log2 of the bytes of a field's table
    bool is_listed;       // candidates of the first field are in lists
    bool is_zero_listed;  // one of them is 0
    uint2 factors[LISTS]; // of the lists' hash functions
    unsigned self;        // the address of all this in shared memory
    alignas(256) uint4 slots[LISTS][SLOTS];
    ulonglong2 joined[THREADS]; // hashes of the lanes' pieces
    struct sums all;            // of a field, by all blocks
    struct device_field_result result;
    unsigned choice;       // that the block makes
    unsigned ticket;       // the block's number, in the order in which blocks began
    unsigned early[WARPS]; // which of its first pieces a warp looked at early
    u64 early_from[WARPS]; // the first of these
    unsigned plain[WARPS]; // whether a warp knows that nothing is looked for
    union {
        struct {
            // Of each field, an open hash table of elements that are in the set.
            uint4 table[TABLE_BYTES / 16];
            union {
                // What a warp has read, and the first bytes behind that: values_columns.cuh.
                uint4 staged[WARPS][STAGED / 16 + 1];
                // Of each thread, what does not fit into registers: see lane_sums. Used for arrays
                // whose elements need no staging.
                struct {
                    u64 rounded[2][THREADS], missed[2][THREADS];
                    unsigned close[THREADS];
                };
            };
        };
        struct sampling sample; // before the block scans
    };
};
static_assert(sizeof(struct scanning) <= DEVICE_VALUES_SHARED, "it has room");

enum { TODO_AT = offsetof(struct scanning, todo), SLOTS_AT = offsetof(struct scanning, slots) };

extern __shared__ uint4 shared_memory[];
#define scanning (*(struct scanning *)shared_memory)

// What a warp keeps about an array while it looks at its pieces. The compiler would compute
// addresses in shared memory again and again, so the first one is loaded.
struct habits {
    unsigned self;  // scanning.self
    unsigned count; // candidates in lists; 0 if they are not in lists
    uint2 factors;  // of the first list
    bool is_zero_listed;
};

__device__ static unsigned load_shared(unsigned at)
{
    unsigned word;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(word) : "r"(at));
    return word;
}

template <typename B> struct number_of {
    typedef float type;
};
template <> struct number_of<u64> {
    typedef double type;
};

// Sums of a lane. Counters of a group are packed.
template <typename B> struct lane_sums {
    B least, greatest;   // words: as unsigned; others: integers with the sign flipped, or doubles
    int lowest, highest; // words: as signed
    B any, all;
    unsigned zeros, minus, nans, linear;
    unsigned same;  // groups that hold only the first candidate
    unsigned close; // elements that are so close to the line that rounding may give the same
    u64 candidates[COUNTED / 4];           // 16 bits each
    typename number_of<B>::type fractions; // 0 if all are integers
    u64 rounded[2];
    u64 missed[2]; // of those that are close: those that rounding gives something else; spread
};

// Counters of 16 bits, four of which are packed into 64 bits. Indices of arrays must be constants,
// or they would not be in registers.
template <int N>
__device__ static void count_packed(u64 (&packed)[N], unsigned index, unsigned count)
{
    const u64 more = (u64)count << 16 * (index % 4);
#pragma unroll
    for (unsigned i = 0; i < N; i++)
        packed[i] += index / 4 == i ? more : 0;
}

// Where counter k of eight is, if counters of 4 bits are spread to 16 bits by the fewest
// instructions: its three bits are reversed.
__device__ static unsigned spread_place(unsigned k)
{
    return (k & 1) * 4 + (k & 2) + (k >> 2 & 1);
}

// Spreads eight counters of 4 bits to 8 bits, and adds them.
struct spread {
    unsigned even, odd;
};

__device__ static void add_counters(struct spread *to, unsigned counters)
{
    to->even += counters & 0x0f0f0f0f;
    to->odd += counters >> 4 & 0x0f0f0f0f;
}

// Spreads these to 16 bits, and adds them.
__device__ static void add_spread(u64 *first, u64 *second, struct spread from)
{
    const unsigned half = 0x00ff00ff;
    *first += (u64)(from.even >> 8 & half) << 32 | (from.even & half);
    *second += (u64)(from.odd >> 8 & half) << 32 | (from.odd & half);
}

template <typename B> __device__ static struct lane_sums<B> no_sums(bool floats) {
    struct lane_sums<B> none {
    };
    none.least = ~(B)0;
    none.lowest = 0x7fffffff;
    none.highest = (int)0x80000000;
    none.all = ~(B)0;
    if (sizeof(B) == 8 && floats) {
        none.least = (B)infinity_of(F64);
        none.greatest = (B)(infinity_of(F64) | sign_of(F64));
    }
    return none;
}

// Counts if both are equal. The compiler would take three instructions.
__device__ static void
count_equal(unsigned *count, unsigned one, unsigned other)
{
    asm("{ .reg .pred p; setp.eq.u32 p, %1, %2; @p add.u32 %0, %0, 1; }"
        : "+r"(*count)
        : "r"(one), "r"(other));
}

__device__ static void count_equal(unsigned *count, u64 one, u64 other)
{
    asm("{ .reg .pred p; setp.eq.u64 p, %1, %2; @p add.u32 %0, %0, 1; }"
        : "+r"(*count)
        : "l"(one), "l"(other));
}

// A group of elements, of which the first `valid` are there, and the others repeat one of these;
// or, if it is WHOLE, all are there.
template <typename B, int N, bool WHOLE> struct group {
    enum { COUNT = N };
    B elements[N];
    u64 index;      // of the first
    unsigned inner; // how far the next index is; 1 if WHOLE
    unsigned valid;

    __device__ bool has(int i) const
    {
        return WHOLE || i < (int)valid;
    }
    __device__ u64 index_of(int i) const
    {
        return index + (WHOLE ? (u64)i : (u64)i * inner);
    }
    __device__ double place_of(int i) const // the index
    {
        return (double)index + (WHOLE ? (double)i : (double)(i * inner));
    }
};

// The element that the lowest bit says. Indices must be constants, or elements would not be in
// registers.
template <typename B, int N, bool WHOLE>
__device__ static B element_of_group(const struct group<B, N, WHOLE> &group, unsigned bits)
{
    B element = group.elements[0];
#pragma unroll
    for (int i = 1; i < N; i++)
        element = bits & -bits & 1u << i ? group.elements[i] : element;
    return element;
}

#endif
