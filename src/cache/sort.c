// SPDX-License-Identifier: Apache-2.0
// A radix sort from the lowest digit to the highest. A digit has as few bits as the number of
// digits allows. See sort.h.
#include "sort.h"

#include <string.h>

enum { MOST_BITS = 11 }; // of a digit: counts of 2,048 digits stay in the CPU's first cache

unsigned cache_bits_of(uint64_t number)
{
    return number ? 64 - (unsigned)__builtin_clzll(number) : 0;
}

uint64_t *cache_sort(uint64_t *numbers, uint64_t *spare, size_t count, unsigned shift,
                     unsigned bits, uint64_t *steps)
{
    const unsigned digits = (bits + MOST_BITS - 1) / MOST_BITS;
    const unsigned width = digits ? (bits + digits - 1) / digits : 0;
    const uint64_t mask = ((uint64_t)1 << width) - 1;
    for (unsigned digit = 0; digit < digits; digit++, shift += width) {
        size_t next[1 << MOST_BITS];
        memset(next, 0, (mask + 1) * sizeof(*next));
        for (size_t i = 0; i < count; i++)
            next[numbers[i] >> shift & mask]++;
        size_t sum = 0;
        for (uint64_t i = 0; i <= mask; i++) {
            const size_t these = next[i];
            next[i] = sum;
            sum += these;
        }
        for (size_t i = 0; i < count; i++)
            spare[next[numbers[i] >> shift & mask]++] = numbers[i];
        uint64_t *other = numbers;
        numbers = spare;
        spare = other;
        *steps += 2 * count + mask + 1;
    }
    return numbers;
}
