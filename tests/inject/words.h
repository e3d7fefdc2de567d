// SPDX-License-Identifier: Apache-2.0
// Shared by the programs that use data from the GPU: words in device memory, and host blocks to
// which the programs copy them.
#ifndef GLINT_TESTS_INJECT_WORDS_H
#define GLINT_TESTS_INJECT_WORDS_H

#include <string.h>

#include "program.h"

enum { WORDS = 1 << 18, BYTES = WORDS * 4 };

static CUdeviceptr device;              // BYTES bytes, word i is i
static unsigned words_of_device[WORDS]; // the same words

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

// The block has its own pages as long as none was freed: malloc's mmap threshold grows with frees.
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
