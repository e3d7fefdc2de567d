// SPDX-License-Identifier: Apache-2.0
// The lines that a cache holds: sets of ways with a replacement policy. What happens to sectors is
// up to the caller: l1.c and l2.c. What each request needs is here, to be compiled into its loop.
//
// Whether there is a hit is hard to predict, and each wrong prediction costs the CPU as much as a
// search. So the sets of the presets are searched without branches, as far as possible:
// - LRU with 4 ways, in an L1, keeps words in the order of their use. All are compared, and those
//   before the line move down by one.
// - LRU with 16 ways has a *tag* for each way, a byte of a hash of its line, all of which are
//   compared at once. Ways do not move; their order is a number with a digit for each.
// All others are searched way by way (level.c).
#ifndef GLINT_CACHE_LEVEL_H
#define GLINT_CACHE_LEVEL_H

#include "cache.h"

enum {
    CACHE_MOST_WAYS = 64,
    CACHE_MOST_PARTITIONS = 8,
    // Sets are divided into so many pieces at most, each of which has all that it changes to
    // itself: different threads may use different pieces of a level at the same time.
    CACHE_PIECES = 64,
    CACHE_APART = 8, // 64-bit numbers that fill a line of the CPU's cache, which threads fight over
};

// A way's word: the line from bit 8 on, the sectors that memory does not have yet from bit 4 on,
// and those that are present.
enum { CACHE_DIRTY_SHIFT = 4, CACHE_LINE_SHIFT = 8 };
static const uint64_t cache_no_line = UINT64_MAX << CACHE_LINE_SHIFT; // of a free way

// What decides how a set is searched. Loops over requests are compiled for each.
enum cache_form { CACHE_ANY_FORM, CACHE_LRU_4, CACHE_LRU_16 };

struct cache_level {
    // Of each set. LRU_16: struct cache_head_16; LRU_4: nothing. Others: with LRU, a byte for each
    // way, its age: how many ways were used after it; a tree has bit n if the right half of node n
    // is to leave next.
    uint64_t *heads;
    uint64_t *words;   // of the ways of set 0, of set 1, ...; free ways are the last
    uint32_t *writers; // of the same: owner of what is dirty
    void *memory;      // of all three
    uint64_t sets;     // of a partition; set 0 of all partitions is first, then set 1, ...
    uint64_t inverse;  // 2^64 / sets
    uint32_t partitions;
    uint32_t ways, head_numbers; // of a set
    enum cache_policy policy;
    enum cache_form form;
    uint32_t share;
    unsigned piece_shift; // a piece has 2^piece_shift sets of each partition
    // Of each piece of each partition. RANDOM: the last number; LRU_16: the number of weak lines.
    uint64_t random[CACHE_MOST_PARTITIONS][CACHE_PIECES * CACHE_APART];
    uint64_t weak[CACHE_MOST_PARTITIONS][CACHE_PIECES * CACHE_APART];
};

// Without partitions, which is one, and writers it is an L1. Returns false if memory runs out or
// there is no room for a line.
bool cache_level_init(struct cache_level *level, const struct cache_shape *shape, uint32_t share,
                      uint32_t partitions, bool writers);
void cache_level_fini(struct cache_level *level);
void cache_level_clear(struct cache_level *level);

// A hash of the number all of whose bits are good. Those of cache_is_sampled are different ones.
static inline uint64_t cache_mix(uint64_t number)
{
    number ^= number >> 31;
    number *= 0x7fb5d329728ea185u;
    number ^= number >> 27;
    number *= 0x81dadef4bc2dd44du;
    return number ^ number >> 33;
}

// Returns the home of a line among so many partitions, mostly a power of two.
static inline uint32_t cache_home_of(uint64_t line, uint32_t partitions)
{
    enum { RUN = 32 };
    const uint32_t mixed = (uint32_t)cache_mix(line / RUN), mask = partitions - 1;
    return partitions & mask ? ((uint32_t)line + mixed % partitions) % partitions
                             : ((uint32_t)line + mixed) & mask;
}

// Of each run of as many lines as there are sets, each set has one, so that a range of memory that
// fits has no conflicts; in which order is a matter of the run, so that no distance between lines
// has them all in one set. Sampled lines are nearly as far from each other as their share says, so
// that there is about one for each number. The quotient is found by a multiplication, and is one
// too small at most. Lines of one set are of different runs, or near to each other.
static inline uint32_t cache_level_set_of(const struct cache_level *level, uint64_t line)
{
    const uint64_t number = line * level->share / CACHE_ALL, sets = level->sets;
    uint64_t run = (uint64_t)((unsigned __int128)number * level->inverse >> 64);
    uint64_t rest = number - run * sets;
    const bool too_small = rest >= sets;
    rest -= too_small ? sets : 0;
    run += too_small;
    const uint64_t mixed = cache_mix(run);
    const uint64_t set = rest + (uint64_t)((unsigned __int128)mixed * sets >> 64);
    return (uint32_t)(set < sets ? set : set - sets);
}

static inline uint32_t cache_level_piece_of(const struct cache_level *level, uint32_t set)
{
    return set >> level->piece_shift;
}

// Returns how many weak lines the piece of a set has; `set` is one of a partition.
static inline uint64_t *cache_level_weak(struct cache_level *level, uint32_t set)
{
    const uint32_t piece = cache_level_piece_of(level, set / level->partitions);
    return &level->weak[set % level->partitions][piece * CACHE_APART];
}

// Has the CPU fetch a set that is needed soon.
static inline __attribute__((always_inline)) void
cache_level_prefetch(const struct cache_level *level, enum cache_form form, uint64_t set)
{
    const uint32_t ways = form == CACHE_LRU_16 ? 16 : level->ways;
    const uint32_t numbers = form == CACHE_LRU_16 ? 4 : level->head_numbers;
    __builtin_prefetch(level->heads + set * numbers, 1);
    for (uint32_t way = 0; way < ways; way += 8)
        __builtin_prefetch(level->words + set * ways + way, 1);
}

// --- Use -----------------------------------------------------------------------------------------

// The multiplication is another one than that of cache_is_sampled: sampled lines would be alike.
static inline uint8_t cache_tag_of(uint64_t line)
{
    return (uint8_t)(line * 0xd6e8feb86659fd93u >> 56);
}

// Where a line is looked for: a set of a partition, or of all partitions.
struct cache_spot {
    uint32_t set;
    uint8_t tag;
};

// The place of a line that counts as used now.
struct cache_place {
    uint64_t *word; // NULL if the line is not there, and was only looked for
    uint64_t gone;  // what the place held before, if the line is new; its writer is still there
    bool found;
};

// Returns one of both, by a mask of all bits or none: a compiler may make a branch of a condition.
static inline uint64_t cache_choose(uint64_t mask, uint64_t one, uint64_t other)
{
    return other ^ ((one ^ other) & mask);
}

static inline __attribute__((always_inline)) struct cache_place
cache_lru_4_use(const struct cache_level *level, struct cache_spot spot, uint64_t line, bool add)
{
    uint64_t *words = level->words + (size_t)spot.set * 4;
    const uint64_t a = words[0], b = words[1], c = words[2], d = words[3];
    const bool at_a = a >> CACHE_LINE_SHIFT == line, at_b = b >> CACHE_LINE_SHIFT == line,
               at_c = c >> CACHE_LINE_SHIFT == line, at_d = d >> CACHE_LINE_SHIFT == line;
    const bool found = at_a | at_b | at_c | at_d;
    if (!add && !found)
        return (struct cache_place){0};
    uint64_t first = line << CACHE_LINE_SHIFT;
    first = at_d ? d : first;
    first = at_c ? c : first;
    first = at_b ? b : first;
    words[0] = at_a ? a : first;
    words[1] = at_a ? b : a;
    words[2] = cache_choose(-(uint64_t)(at_a | at_b), c, b);
    words[3] = cache_choose(-(uint64_t)(at_a | at_b | at_c), d, c);
    return (struct cache_place){words, found ? 0 : d, found};
}

// 16 bytes, with which the CPU can do something at once.
typedef uint8_t cache_bytes __attribute__((vector_size(16), may_alias));
typedef uint16_t cache_pairs __attribute__((vector_size(16), may_alias));
typedef uint8_t cache_half __attribute__((vector_size(8), may_alias));

static const uint64_t cache_ones = 0x1111111111111111u; // a one in each of 16 digits

// Returns a digit of 1 for each byte that equals this one.
static inline __attribute__((always_inline)) uint64_t cache_equal_ways(cache_bytes bytes,
                                                                       uint8_t byte)
{
    const cache_pairs equal = (cache_pairs)(bytes == (cache_bytes){0} + byte);
    return (uint64_t) __builtin_convertvector(equal >> 4, cache_half) & cache_ones;
}

// Returns the first such way; any if there is none.
static inline uint64_t cache_first_way(uint64_t equal)
{
    return (uint64_t)__builtin_ctzll(equal | (uint64_t)1 << 63) / 4;
}

// Returns the bits of the order up to the digit that a way is.
static inline uint64_t cache_order_to(uint64_t order, uint64_t way)
{
    const uint64_t other = order ^ way * cache_ones; // 0 where the way is
    const uint64_t zeros = (other - cache_ones) & ~other & cache_ones << 3;
    return zeros ^ (zeros - 1); // what follows the first zero of `zeros` need not be one
}

// A set of 16 ways: their tags, and their order, the last used first. The first of the order were
// used; then there are *weak* lines, which were only copied, and not used since; the last are free.
struct cache_head_16 {
    cache_bytes tags;
    uint64_t order;
    uint32_t used, free;
};

// A tag that is equal is taken to mean the line, so that the CPU goes on before it has the word. If
// that is wrong, it has to go back.
static inline __attribute__((always_inline)) struct cache_place
cache_lru_16_use(struct cache_level *level, struct cache_spot spot, uint64_t line, bool add)
{
    struct cache_head_16 *head = (struct cache_head_16 *)level->heads + spot.set;
    uint64_t *words = level->words + (size_t)spot.set * 16;
    const uint64_t order = head->order, oldest = order >> 60;
    uint64_t equal = cache_equal_ways(head->tags, spot.tag), missing = -(uint64_t)(equal == 0);
    uint64_t way = cache_choose(missing, oldest, cache_first_way(equal));
    while (__builtin_expect((words[way] >> CACHE_LINE_SHIFT ^ line) & ~missing, 0)) {
        equal &= equal - 1;
        missing = -(uint64_t)(equal == 0);
        way = cache_choose(missing, oldest, cache_first_way(equal));
    }
    if (!add && missing)
        return (struct cache_place){0};
    const uint64_t moved = cache_order_to(order, way);
    head->order = cache_choose(moved, order << 4 | way, order);
    if (__builtin_expect(head->used < 16 && moved >> 4 * head->used, 0)) {
        if (missing && head->free)
            head->free--;
        else
            --*cache_level_weak(level, spot.set);
        head->used++;
    }
    ((uint8_t *)&head->tags)[way] = spot.tag;
    const uint64_t word = words[way];
    words[way] = cache_choose(missing, line << CACHE_LINE_SHIFT, word);
    return (struct cache_place){&words[way], word & missing, !missing};
}

// For CACHE_ANY_FORM; see cache_level_use.
struct cache_place cache_level_use_any(struct cache_level *level, struct cache_spot spot,
                                       uint64_t line, bool add);
uint64_t *cache_level_older_any(const struct cache_level *level, uint32_t set, uint32_t age);

// Returns the word of the line behind which so many of its set were used, or NULL if the policy
// does not tell.
static inline __attribute__((always_inline)) uint64_t *
cache_level_older(const struct cache_level *level, enum cache_form form, uint32_t set, uint32_t age)
{
    if (form != CACHE_LRU_16)
        return cache_level_older_any(level, set, age);
    const uint64_t order = ((const struct cache_head_16 *)level->heads)[set].order;
    return level->words + (size_t)set * 16 + (order >> 4 * age & 15);
}

// For CACHE_ANY_FORM and CACHE_LRU_4; see cache_level_find.
uint64_t *cache_level_find_any(const struct cache_level *level, uint32_t set, uint64_t line);

// Returns the word of a line, which does not count as used, or NULL if it is not there.
static inline __attribute__((always_inline)) uint64_t *
cache_level_find(const struct cache_level *level, enum cache_form form, struct cache_spot spot,
                 uint64_t line)
{
    if (form != CACHE_LRU_16)
        return cache_level_find_any(level, spot.set, line);
    const struct cache_head_16 *head = (const struct cache_head_16 *)level->heads + spot.set;
    uint64_t *words = level->words + (size_t)spot.set * 16;
    for (uint64_t equal = cache_equal_ways(head->tags, spot.tag); equal; equal &= equal - 1) {
        const uint64_t way = cache_first_way(equal);
        if (words[way] >> CACHE_LINE_SHIFT == line)
            return &words[way];
    }
    return NULL;
}

// Finds a line, or makes room for it, as a copy does.
struct cache_place cache_level_copy(struct cache_level *level, struct cache_spot spot,
                                    uint64_t line);

// Finds a line, or, if `add` is true, makes room for it.
static inline __attribute__((always_inline)) struct cache_place
cache_level_use(struct cache_level *level, enum cache_form form, struct cache_spot spot,
                uint64_t line, bool add)
{
    return form == CACHE_LRU_4    ? cache_lru_4_use(level, spot, line, add)
           : form == CACHE_LRU_16 ? cache_lru_16_use(level, spot, line, add)
                                  : cache_level_use_any(level, spot, line, add);
}

static inline uint32_t *cache_level_writer(const struct cache_level *level, const uint64_t *word)
{
    return &level->writers[word - level->words];
}

#endif
