// SPDX-License-Identifier: Apache-2.0
// What the unit tests of src/base share: cmocka with the headers that it wants first, and random
// numbers that are the same on every machine.
#ifndef GLINT_TESTS_BASE_TESTING_H
#define GLINT_TESTS_BASE_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/base.h"

// splitmix64: the state is the seed at first.
static inline uint64_t test_random(uint64_t *state)
{
    uint64_t bits = *state += 0x9E3779B97F4A7C15u;
    bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9u;
    bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EBu;
    return bits ^ (bits >> 31);
}

#endif
