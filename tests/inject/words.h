// SPDX-License-Identifier: Apache-2.0
// What the programs share that use what the GPU gave them: words on the device, and blocks of the
// host's to copy them to.
#ifndef GLINT_TESTS_INJECT_WORDS_H
#define GLINT_TESTS_INJECT_WORDS_H

#include <string.h>

#include "program.h"

enum { WORDS = 1 << 18, BYTES = WORDS * 4 };

static CUdeviceptr device;              // of BYTES, word i is i
static unsigned words_of_device[WORDS]; // the same

static inline void words_count(void)
{
    for (unsigned i = 0; i < WORDS; i++)
        words_of_device[i] = i;
}

static inline void words_to_device(void)
{
    start_thread();
    CHECK(cuMemAlloc_v2(&device, BYTES));
    CHECK(cuMemcpyHtoD_v2(device, words_of_device, BYTES));
}

// Of pages of its own, while none has been freed: malloc's threshold for that grows with them.
static inline unsigned *block(void)
{
    unsigned *words = malloc(BYTES);
    memset(words, 0, BYTES);
    return words;
}

static inline unsigned sum_of(const unsigned *words, unsigned count)
{
    unsigned sum = 0;
    for (unsigned i = 0; i < count; i++)
        sum += words[i];
    return sum;
}

#endif
