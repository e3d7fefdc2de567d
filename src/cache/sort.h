// SPDX-License-Identifier: Apache-2.0
// Stable sorting of 64-bit numbers by some of their bits, in linear time.
#ifndef GLINT_CACHE_SORT_H
#define GLINT_CACHE_SORT_H

#include <stddef.h>
#include <stdint.h>

// Returns how many bits the number has.
unsigned cache_bits_of(uint64_t number);

// Sorts numbers by `bits` bits from `shift` on; those that are equal there stay in order. `spare`
// has room for as many. Returns which of both has the result. `steps` increases by how many numbers
// and counts were looked at.
uint64_t *cache_sort(uint64_t *numbers, uint64_t *spare, size_t count, unsigned shift,
                     unsigned bits, uint64_t *steps);

#endif
