// SPDX-License-Identifier: Apache-2.0
// Shared by the unit tests of src/base: cmocka with the headers that must precede it, and random
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

// splitmix64; the initial state is the seed.
static inline uint64_t test_random(uint64_t *state)
{
    uint64_t bits = *state += 0x9E3779B97F4A7C15u;
    bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9u;
    bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EBu;
    return bits ^ (bits >> 31);
}

#endif
