// SPDX-License-Identifier: Apache-2.0
// Radix sorts from the lowest digit to the highest. A digit has as few bits as the number of digits
// allows. See sort.h.
#include "sort.h"

#include <string.h>

// Counts of 2,048 digits stay in the CPU's first cache. Those of items are in the second one, too:
// a pass over items takes longer than that costs. But there are no more than items.
enum { NUMBER_BITS = 11, ITEM_BITS = 14, LEAST_BITS = 6 };

unsigned cache_bits_of(uint64_t number)
{
    return number ? 64 - (unsigned)__builtin_clzll(number) : 0;
}

// Makes places of counts: where each digit begins.
static void sum_up(uint32_t *counts, size_t count)
{
    uint32_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        const uint32_t these = counts[i];
        counts[i] = sum;
        sum += these;
    }
}

uint64_t *cache_sort(uint64_t *numbers, uint64_t *spare, size_t count, unsigned shift,
                     unsigned bits, uint64_t *steps)
{
    const unsigned digits = (bits + NUMBER_BITS - 1) / NUMBER_BITS;
    const unsigned width = digits ? (bits + digits - 1) / digits : 0;
    const uint64_t mask = ((uint64_t)1 << width) - 1;
    for (unsigned digit = 0; digit < digits; digit++, shift += width) {
        uint32_t next[1 << NUMBER_BITS];
        memset(next, 0, (mask + 1) * sizeof(*next));
        for (size_t i = 0; i < count; i++)
            next[numbers[i] >> shift & mask]++;
        sum_up(next, mask + 1);
        for (size_t i = 0; i < count; i++)
            spare[next[numbers[i] >> shift & mask]++] = numbers[i];
        uint64_t *other = numbers;
        numbers = spare;
        spare = other;
        *steps += 2 * count + mask + 1;
    }
    return numbers;
}

// Has the CPU fetch where a part begins. It notices itself how that goes on.
static void fetch(const struct cache_part *part)
{
    enum { PER_LINE = 64 / sizeof(*part->items), MOST = 8 * PER_LINE };
    for (size_t i = 0; i < part->count && i < MOST; i += PER_LINE)
        __builtin_prefetch(&part->items[i]);
}

struct cache_item *cache_sort_items(const struct cache_part *parts, size_t part_count,
                                    struct cache_item *room, struct cache_item *spare,
                                    unsigned bits, size_t *count, uint64_t *steps)
{
    size_t sum = 0;
    for (size_t part = 0; part < part_count; part++)
        sum += parts[part].count;
    const unsigned enough = cache_bits_of(sum) < ITEM_BITS ? cache_bits_of(sum) : ITEM_BITS;
    const unsigned most = enough > LEAST_BITS ? enough : LEAST_BITS;
    const unsigned digits = bits ? (bits + most - 1) / most : 1;
    const unsigned width = (bits + digits - 1) / digits;
    const uint32_t mask = ((uint32_t)1 << width) - 1;
    struct cache_part sorted = {NULL, sum};
    for (unsigned digit = 0, shift = 0; digit < digits; digit++, shift += width) {
        uint32_t next[1 << ITEM_BITS];
        memset(next, 0, (mask + 1) * sizeof(*next));
        for (size_t part = 0; part < part_count; part++) {
            fetch(&parts[part + (part + 1 < part_count)]);
            for (size_t i = 0; i < parts[part].count; i++)
                next[parts[part].items[i].when >> shift & mask]++;
        }
        sum_up(next, mask + 1);
        for (size_t part = 0; part < part_count; part++)
            for (size_t i = 0; i < parts[part].count; i++)
                room[next[parts[part].items[i].when >> shift & mask]++] = parts[part].items[i];
        sorted.items = room;
        room = spare;
        spare = sorted.items;
        parts = &sorted;
        part_count = 1;
        *steps += 2 * sum + mask + 1;
    }
    *count = sum;
    return sorted.items;
}
