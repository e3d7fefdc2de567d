// SPDX-License-Identifier: Apache-2.0
// Tests of the hash of a piece, as the reference computes it; other tests show that the GPU
// computes the same. Small changes, and words that change places, must give other hashes, in each
// half.
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "values_harness.h"

enum {
    WORDS = (1 << DEVICE_PIECE_SHIFT) / 4,
    MOST = 32 * WORDS, // variants
};

static uint64_t *hashes[2];
static size_t count;

static void add(const uint32_t *words)
{
    const struct device_values_job job = {.end = sizeof(uint32_t[WORDS])};
    uint64_t hash[2];
    values_reference_hash(&job, (const unsigned char *)words, 0, hash);
    assert_true(count < MOST);
    hashes[0][count] = hash[0];
    hashes[1][count++] = hash[1];
}

static int compare(const void *one, const void *other)
{
    const uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;
    return a < b ? -1 : a > b;
}

// Adds the contents, and all that differ from them in one or two words.
static void all_differ(const uint32_t *words)
{
    // In words: within a vector, to the next lanes, the lane's next vector, and the next round.
    static const unsigned apart[] = {1, 2, 3, 4, 8, 128, 132, 512, 516};
    uint32_t *changed = malloc(sizeof(uint32_t[WORDS]));
    assert_non_null(changed);
    for (unsigned half = 0; half < 2; half++)
        assert_non_null(hashes[half] = malloc(MOST * sizeof(uint64_t)));
    count = 0;
    add(words);
    memcpy(changed, words, sizeof(uint32_t[WORDS]));
    for (unsigned i = 0; i < WORDS; i++) {
        changed[i] = words[i] + 1;
        add(changed);
        changed[i] = words[i] ^ 0x80000000;
        add(changed);
        for (unsigned k = 0; k < sizeof(apart) / sizeof(*apart) && i + apart[k] < WORDS; k++) {
            const unsigned other = i + apart[k];
            changed[i] = words[i] ^ 0x80000000;
            changed[other] = words[other] ^ 0x80000000;
            add(changed);
            changed[i] = words[i] + 1;
            changed[other] = words[other] - 1;
            add(changed);
            changed[i] = words[other];
            changed[other] = words[i];
            if (words[i] != words[other])
                add(changed);
            changed[other] = words[other];
        }
        changed[i] = words[i];
    }
    for (unsigned half = 0; half < 2; half++) {
        qsort(hashes[half], count, sizeof(uint64_t), compare);
        for (size_t i = 1; i < count; i++)
            assert_true(hashes[half][i - 1] != hashes[half][i]);
        free(hashes[half]);
    }
    free(changed);
}

static void of_zeros(void **unused)
{
    (void)unused;
    uint32_t words[WORDS] = {0};
    all_differ(words);
}

static void of_one_value(void **unused)
{
    (void)unused;
    uint32_t words[WORDS];
    for (unsigned i = 0; i < WORDS; i++)
        words[i] = 0x3f800000;
    all_differ(words);
}

static void of_numbers(void **unused)
{
    (void)unused;
    uint32_t words[WORDS];
    for (unsigned i = 0; i < WORDS; i++)
        words[i] = 3 * i * i; // no two differ by 1
    all_differ(words);
}

static void of_random_words(void **unused)
{
    (void)unused;
    uint32_t words[WORDS], seed = 1;
    for (unsigned i = 0; i < WORDS; i++)
        words[i] = random_next(&seed);
    all_differ(words);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_zeros),
        cmocka_unit_test(of_one_value),
        cmocka_unit_test(of_numbers),
        cmocka_unit_test(of_random_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
