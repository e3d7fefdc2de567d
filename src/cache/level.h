// SPDX-License-Identifier: Apache-2.0
// The lines that a cache holds: sets of ways with a replacement policy. What happens to sectors is
// up to the caller: l1.c and l2.c. What each request needs is here, to be compiled into its loop.
//
// Whether there is a hit is hard to predict, and each wrong prediction costs the CPU as much as a
// search. So the sets of the presets are searched without branches, as far as possible:
// - LRU with 4 ways, in an L1, has a number for the order of the ways, and a table of which order
//   comes next. All words are compared.
// - LRU with 16 ways has a *tag* for each way, a byte of a hash of its line, and its *age*, which
//   says how many ways were used after it. All tags are compared at once, and all ages change at
//   once.
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

// What becomes of a set of 4 ways when one of them is used. Each of their orders has a number.
struct cache_step_4 {
    uint8_t order; // afterwards
    uint8_t way;   // that was used
};
enum { CACHE_ORDERS_4 = 24, CACHE_OLDEST_4 = 4 };

struct cache_level {
    // Of each set. LRU_16: struct cache_head_16; LRU_4: the number of its order. Others: with LRU,
    // a byte for each way, its age: how many ways were used after it; a tree has bit n if the right
    // half of node n is to leave next.
    uint64_t *heads;
    struct cache_state_16 *states; // LRU_16: of each set
    uint64_t *words;               // of the ways of set 0, of set 1, ...; free ways are the last
    uint32_t *writers;             // of the same: owner of what is dirty
    void *memory;                  // of all four
    uint64_t sets;    // of a partition; set 0 of all partitions is first, then set 1, ...
    uint64_t inverse; // 2^64 / sets
    uint32_t partitions;
    uint32_t ways, head_numbers; // of a set
    enum cache_policy policy;
    enum cache_form form;
    // LRU_4: of each order, if a way is used, or, behind these, the oldest one.
    struct cache_step_4 steps[CACHE_ORDERS_4][8];
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
    uint64_t now;   // what the word has to be, together with what changes: the caller writes it
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
    const uint64_t first = line << CACHE_LINE_SHIFT, few = (1 << CACHE_LINE_SHIFT) - 1;
    uint64_t way = CACHE_OLDEST_4; // a branch would be hard to predict: conditional moves
    way = (words[0] ^ first) <= few ? 0 : way;
    way = (words[1] ^ first) <= few ? 1 : way;
    way = (words[2] ^ first) <= few ? 2 : way;
    way = (words[3] ^ first) <= few ? 3 : way;
    const bool missing = way == CACHE_OLDEST_4;
    if (!add && missing)
        return (struct cache_place){0};
    const struct cache_step_4 *step = &level->steps[level->heads[spot.set]][way];
    uint64_t *word = &words[step->way];
    const uint64_t was = *word;
    level->heads[spot.set] = step->order;
    return (struct cache_place){word, missing ? first : was, missing ? was : 0, !missing};
}

// 16 bytes, with which the CPU can do something at once. They are signed, since SSE2
// has no comparison of others.
typedef signed char cache_bytes __attribute__((vector_size(16), may_alias));
typedef char cache_chars __attribute__((vector_size(16)));
typedef uint16_t cache_pairs __attribute__((vector_size(16), may_alias));
typedef uint8_t cache_half __attribute__((vector_size(8), may_alias));

// A comparison of 16 bytes makes a mask with so many bits for each: what the CPU does in one step.
#ifdef __SSE2__
enum { CACHE_WAY_BITS = 1 };
#else
enum { CACHE_WAY_BITS = 4 };
#endif

// Returns a mask with the lowest bit of each byte that equals the one of the other vector.
static inline __attribute__((always_inline)) uint64_t cache_equal_ways(cache_bytes bytes,
                                                                       cache_bytes others)
{
    const cache_bytes equal = bytes == others;
#ifdef __SSE2__
    return (uint32_t)__builtin_ia32_pmovmskb128((cache_chars)equal);
#else
    const cache_pairs pairs = (cache_pairs)equal >> 4;
    return (uint64_t) __builtin_convertvector(pairs, cache_half) & 0x1111111111111111u;
#endif
}

// Returns the first way of a mask that is not empty.
static inline uint64_t cache_first_way(uint64_t equal)
{
    return (uint64_t)__builtin_ctzll(equal) / CACHE_WAY_BITS;
}

// A set of 16 ways. An age is that of one way only. The youngest ways were used; then there are
// *weak* lines, which were only copied, and not used since; the oldest are free.
struct cache_head_16 {
    cache_bytes tags, ages;
};
struct cache_state_16 {
    uint8_t used, free; // ways
};

// Of each age: 16 times.
extern const cache_bytes cache_ages[16];

// Notes that a way of this age was used, which was weak or free, unless it was used before.
static inline __attribute__((always_inline)) void
cache_lru_16_note(struct cache_level *level, uint32_t set, uint32_t age, uint64_t missing)
{
    struct cache_state_16 *state = &level->states[set];
    if (__builtin_expect(age < state->used, 1))
        return;
    if (missing && state->free)
        state->free--;
    else
        --*cache_level_weak(level, set);
    state->used++;
}

// A tag that is equal is taken to mean the line, so that the CPU goes on before it has the word. If
// that is wrong, it has to go back. All bytes of a head are written at once, since the CPU would
// have to wait until it can read 16 bytes of which one was just written.
static inline __attribute__((always_inline)) struct cache_place
cache_lru_16_use(struct cache_level *level, struct cache_spot spot, uint64_t line, bool add)
{
    struct cache_head_16 *head = (struct cache_head_16 *)level->heads + spot.set;
    uint64_t *words = level->words + (size_t)spot.set * 16;
    const cache_bytes tags = head->tags, ages = head->ages;
    const cache_bytes tag = (cache_bytes){0} + (signed char)spot.tag;
    const uint64_t oldest = cache_equal_ways(ages, cache_ages[15]);
    uint64_t equal = cache_equal_ways(tags, tag);
    uint64_t missing = -(uint64_t)(equal == 0), way = cache_first_way(equal | (oldest & missing));
    while (__builtin_expect((words[way] >> CACHE_LINE_SHIFT ^ line) & ~missing, 0)) {
        equal &= equal - 1;
        missing = -(uint64_t)(equal == 0);
        way = cache_first_way(equal | (oldest & missing));
    }
    if (!add && missing)
        return (struct cache_place){0};
    const uint32_t age = ((const uint8_t *)&head->ages)[way];
    const cache_bytes older = cache_ages[age] > ages, at = cache_ages[age] == ages;
    head->ages = (ages - older) & ~at;
    head->tags = tags ^ ((tags ^ tag) & at);
    cache_lru_16_note(level, spot.set, age, missing);
    const uint64_t word = words[way];
    return (struct cache_place){&words[way], cache_choose(missing, line << CACHE_LINE_SHIFT, word),
                                word & missing, !missing};
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
    const cache_bytes ages = ((const struct cache_head_16 *)level->heads)[set].ages;
    return level->words + (size_t)set * 16 +
           cache_first_way(cache_equal_ways(ages, cache_ages[age]));
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
    const cache_bytes tag = (cache_bytes){0} + (signed char)spot.tag;
    for (uint64_t equal = cache_equal_ways(head->tags, tag); equal; equal &= equal - 1) {
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
