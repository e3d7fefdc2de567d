// SPDX-License-Identifier: Apache-2.0
// Numbers that look random, the same in each run of a test.
#ifndef GLINT_TESTS_CACHE_RANDOM_H
#define GLINT_TESTS_CACHE_RANDOM_H

#include <stdint.h>

static uint64_t random_state;

static uint64_t random_below(uint64_t limit)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (random_state >> 33) % limit;
}

#endif
