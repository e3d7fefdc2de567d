// SPDX-License-Identifier: Apache-2.0
// The lines that a cache holds: sets of ways with a replacement policy. What happens to sectors is
// up to the caller: l1.c and l2.c. What each request needs is here, to be compiled into its loop.
//
// A way has a *tag*, a byte of a hash of its line. Eight tags are compared at once, as bytes of a
// number; where one is equal, the line is compared. Ways do not move: with LRU each has an *age*, a
// byte, too: how many ways of its set were used after it. Whether there is a hit is hard to
// predict, so all else is done without branches as far as possible.
#ifndef GLINT_CACHE_LEVEL_H
#define GLINT_CACHE_LEVEL_H

#include "cache.h"

enum {
    CACHE_MOST_WAYS = 64,
    // Sets are divided into so many pieces at most, each of which has all that it changes to
    // itself: different threads may use different pieces of a level at the same time.
    CACHE_PIECES = 64,
    CACHE_APART = 8, // 64-bit numbers that fill a line of the CPU's cache, which threads fight over
};

// A way's word: the line from bit 8 on, the sectors that memory does not have yet from bit 4 on,
// and those that are present.
enum { CACHE_DIRTY_SHIFT = 4, CACHE_LINE_SHIFT = 8 };
static const uint64_t cache_no_line = UINT64_MAX << CACHE_LINE_SHIFT; // of a free way

// What decides how a set is searched. Loops over requests are compiled for common forms, too.
struct cache_form {
    uint32_t ways;
    enum cache_policy policy;
};

struct cache_level {
    // Of each set: the tags of its ways, eight in a number, then as many numbers for the policy:
    // LRU has the ages of its ways; a tree has bit n of the first number if the right half of node
    // n is to leave next.
    uint64_t *heads;
    uint64_t *words;   // of the ways of set 0, of set 1, ...; free ways are the last
    uint32_t *writers; // of the same: owner of what is dirty
    void *memory;      // of all three
    uint64_t sets;
    uint64_t inverse; // 2^64 / sets
    struct cache_form form;
    uint32_t share;
    unsigned piece_shift;                        // a piece has 2^piece_shift sets
    uint64_t random[CACHE_PIECES * CACHE_APART]; // RANDOM: of each piece, the last number
};

// Returns false if memory runs out or there is no room for a line.
bool cache_level_init(struct cache_level *level, const struct cache_shape *shape, uint32_t share);
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

// Where a line is looked for.
struct cache_spot {
    uint32_t set;
    uint8_t tag;
};

// Of each run of as many lines as there are sets, each set has one, so that a range of memory that
// fits has no conflicts; in which order is a matter of the run, so that no distance between lines
// has them all in one set. Sampled lines are nearly as far from each other as their share says, so
// that there is about one for each number. The quotient is found by a multiplication, and is one
// too small at most. Lines of one set are of different runs, or near to each other.
static inline struct cache_spot cache_level_spot_of(const struct cache_level *level, uint64_t line)
{
    const uint64_t number = line * level->share / CACHE_ALL, sets = level->sets;
    uint64_t run = (uint64_t)((unsigned __int128)number * level->inverse >> 64);
    uint64_t rest = number - run * sets;
    const bool too_small = rest >= sets;
    rest -= too_small ? sets : 0;
    run += too_small;
    const uint64_t mixed = cache_mix(run);
    const uint64_t set = rest + (uint64_t)((unsigned __int128)mixed * sets >> 64);
    return (struct cache_spot){.set = (uint32_t)(set < sets ? set : set - sets),
                               .tag = (uint8_t)(mixed + line)};
}

static inline uint32_t cache_level_piece_of(const struct cache_level *level, uint32_t set)
{
    return set >> level->piece_shift;
}

// Returns how many numbers the tags of a set are.
static inline uint32_t cache_tag_numbers(uint32_t ways)
{
    return (ways + 7) / 8;
}

// Has the CPU fetch a set that is needed soon.
static inline void cache_level_prefetch(const struct cache_level *level, struct cache_form form,
                                        uint64_t set)
{
    __builtin_prefetch(level->heads + set * cache_tag_numbers(form.ways) * 2, 1);
    for (uint32_t way = 0; way < form.ways; way += 8)
        __builtin_prefetch(level->words + set * form.ways + way, 1);
}

// --- Bytes of numbers ----------------------------------------------------------------------------

// 16 bytes, with which the CPU can do something at once.
typedef uint8_t cache_bytes __attribute__((vector_size(16), may_alias));
typedef uint64_t cache_halves __attribute__((vector_size(16), may_alias));

static inline uint64_t cache_bytes_of(uint64_t byte)
{
    return byte * 0x0101010101010101u;
}

// Sets of ways: byte n of number i is bit 8 n + i. Returns that of 16 bytes each of which is 255 or
// 0.
static inline __attribute__((always_inline)) uint64_t cache_ways_of(cache_bytes bytes)
{
    const cache_halves halves = (cache_halves)bytes;
    return (halves[0] & cache_bytes_of(1)) | (halves[1] & cache_bytes_of(2));
}

// Returns those whose byte equals this one; after the first one, there may be others, too.
static inline __attribute__((always_inline)) uint64_t cache_equal_ways(const uint64_t *numbers,
                                                                       uint32_t ways, uint8_t byte)
{
    if (ways == 16)
        return cache_ways_of(
            (cache_bytes)(*(const cache_bytes *)numbers == (cache_bytes){0} + byte));
    uint64_t equal = 0;
    for (uint32_t i = 0; i < cache_tag_numbers(ways); i++) {
        const uint64_t rest = numbers[i] ^ cache_bytes_of(byte);
        equal |= ((rest - cache_bytes_of(1)) & ~rest & cache_bytes_of(0x80)) >> (7 - i);
    }
    return ways < 8 ? equal & UINT64_MAX >> (64 - 8 * ways) : equal;
}

// Returns the first way of such a set, which is not empty.
static inline uint32_t cache_first_way(uint64_t set)
{
    const uint32_t bit = (uint32_t)__builtin_ctzll(set);
    return bit % 8 * 8 + bit / 8;
}

// --- Policies ------------------------------------------------------------------------------------

// Makes a way the youngest. Those that were younger are one older then.
static inline __attribute__((always_inline)) void cache_ages_use(uint64_t *ages, uint32_t ways,
                                                                 uint32_t way)
{
    const uint8_t age = ((const uint8_t *)ages)[way];
    if (ways == 16) {
        const cache_bytes all = *(cache_bytes *)ages, same = (cache_bytes){0} + age;
        const cache_bytes younger = (cache_bytes)(all < same); // -1 where it is true
        *(cache_bytes *)ages = (all - younger) & ~(cache_bytes)(all == same);
        return;
    }
    const uint64_t tops = cache_bytes_of(0x80);
    for (uint32_t i = 0; i < cache_tag_numbers(ways); i++)
        ages[i] += (~((ages[i] | tops) - cache_bytes_of(age)) & tops) >> 7;
    ((uint8_t *)ages)[way] = 0;
}

// Makes the oldest way the youngest, and returns it.
static inline __attribute__((always_inline)) uint32_t cache_ages_take(uint64_t *ages, uint32_t ways)
{
    if (ways == 16) {
        const cache_bytes all = *(cache_bytes *)ages;
        const cache_bytes oldest = (cache_bytes)(all == (cache_bytes){0} + 15);
        *(cache_bytes *)ages = (all + 1) & ~oldest;
        return cache_first_way(cache_ways_of(oldest));
    }
    const uint32_t way = cache_first_way(cache_equal_ways(ages, ways, (uint8_t)(ways - 1)));
    cache_ages_use(ages, ways, way);
    return way;
}

// Nodes are numbered from 1; the children of n are 2 n and 2 n + 1. Each node on the way's path
// points away from it.
static inline uint64_t cache_tree_use(uint64_t tree, uint32_t ways, uint32_t way)
{
    for (uint32_t node = ways + way; node > 1; node /= 2) {
        const uint64_t bit = (uint64_t)1 << (node / 2);
        tree = node % 2 ? tree & ~bit : tree | bit;
    }
    return tree;
}

// Makes a way the last used.
static inline __attribute__((always_inline)) void
cache_level_use(const struct cache_level *level, struct cache_form form, uint64_t set, uint32_t way)
{
    uint64_t *state = level->heads + (set * 2 + 1) * cache_tag_numbers(form.ways);
    if (form.policy == CACHE_LRU)
        cache_ages_use(state, form.ways, way);
    else if (form.policy == CACHE_TREE)
        *state = cache_tree_use(*state, form.ways, way);
}

// Returns the way that makes room, if the policy is not LRU.
uint32_t cache_level_other_victim(struct cache_level *level, uint64_t set);

// Returns the way that makes room; it counts as used now.
static inline __attribute__((always_inline)) uint32_t
cache_level_take(struct cache_level *level, struct cache_form form, uint32_t set)
{
    if (form.policy == CACHE_LRU)
        return cache_ages_take(level->heads + ((size_t)set * 2 + 1) * cache_tag_numbers(form.ways),
                               form.ways);
    const uint32_t way = cache_level_other_victim(level, set);
    cache_level_use(level, form, set, way);
    return way;
}

// --- Use -----------------------------------------------------------------------------------------

// Returns the word of a line, which counts as used now, or NULL if it is not there.
static inline __attribute__((always_inline)) uint64_t *
cache_level_find(const struct cache_level *level, struct cache_form form, struct cache_spot spot,
                 uint64_t line)
{
    const uint64_t *tags = level->heads + (size_t)spot.set * cache_tag_numbers(form.ways) * 2;
    uint64_t *words = level->words + (size_t)spot.set * form.ways;
    uint64_t equal = cache_equal_ways(tags, form.ways, spot.tag);
    for (; equal; equal &= equal - 1) {
        const uint32_t way = cache_first_way(equal);
        if (words[way] >> CACHE_LINE_SHIFT != line)
            continue;
        cache_level_use(level, form, spot.set, way);
        return &words[way];
    }
    return NULL;
}

// Returns the word of a line that is not there, in the place that it gets, without sectors; it
// counts as used now. `gone` is what the place held before. Its writer is still there.
static inline __attribute__((always_inline)) uint64_t *
cache_level_place(struct cache_level *level, struct cache_form form, struct cache_spot spot,
                  uint64_t line, uint64_t *gone)
{
    const uint32_t way = cache_level_take(level, form, spot.set);
    uint8_t *tags = (uint8_t *)(level->heads + (size_t)spot.set * cache_tag_numbers(form.ways) * 2);
    uint64_t *word = level->words + (size_t)spot.set * form.ways + way;
    *gone = *word;
    *word = line << CACHE_LINE_SHIFT;
    tags[way] = spot.tag;
    return word;
}

static inline uint32_t *cache_level_writer(const struct cache_level *level, const uint64_t *word)
{
    return &level->writers[word - level->words];
}

// Returns how many sectors these are.
static inline uint64_t cache_count_of(uint64_t sectors)
{
    static const uint8_t counts[] = {0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4};
    return counts[sectors & 15];
}

#endif
