// SPDX-License-Identifier: Apache-2.0
// Tests of the keyed hash: published values, and every way to cut the input in two.
#include "testing.h"

static void numbers(unsigned char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        bytes[i] = (unsigned char)i;
}

// The values of the authors' own implementation for the key 00 01 ... 0f and inputs 00 01 02 ...
static void it_gives_the_published_values(void **state)
{
    (void)state;
    static const struct {
        size_t length;
        unsigned char hash[BASE_SIPHASH_BYTES];
    } known[] = {
        {0,
         {0xa3, 0x81, 0x7f, 0x04, 0xba, 0x25, 0xa8, 0xe6, 0x6d, 0xf6, 0x72, 0x14, 0xc7, 0x55, 0x02,
          0x93}},
        {1,
         {0xda, 0x87, 0xc1, 0xd8, 0x6b, 0x99, 0xaf, 0x44, 0x34, 0x76, 0x59, 0x11, 0x9b, 0x22, 0xfc,
          0x45}},
    };
    unsigned char key[BASE_SIPHASH_KEY_BYTES], input[64], hash[BASE_SIPHASH_BYTES];
    numbers(key, sizeof(key));
    numbers(input, sizeof(input));
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        base_siphash(key, input, known[i].length, NULL, 0, hash);
        assert_memory_equal(hash, known[i].hash, sizeof(hash));
    }
}

static void it_does_not_matter_where_the_input_is_cut(void **state)
{
    (void)state;
    unsigned char key[BASE_SIPHASH_KEY_BYTES], input[64];
    numbers(key, sizeof(key));
    numbers(input, sizeof(input));
    for (size_t length = 0; length <= sizeof(input); length++) {
        unsigned char whole[BASE_SIPHASH_BYTES], cut[BASE_SIPHASH_BYTES];
        base_siphash(key, input, length, input, 0, whole);
        for (size_t at = 0; at <= length; at++) {
            base_siphash(key, input, at, input + at, length - at, cut);
            assert_memory_equal(whole, cut, sizeof(cut));
        }
    }
}

static void every_bit_of_key_and_input_counts(void **state)
{
    (void)state;
    unsigned char bytes[BASE_SIPHASH_KEY_BYTES + 19], before[BASE_SIPHASH_BYTES];
    numbers(bytes, sizeof(bytes));
    base_siphash(bytes, bytes + 16, 19, NULL, 0, before);
    for (size_t bit = 0; bit < 8 * sizeof(bytes); bit++) {
        unsigned char after[BASE_SIPHASH_BYTES];
        bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
        base_siphash(bytes, bytes + 16, 19, NULL, 0, after);
        bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
        assert_memory_not_equal(before, after, sizeof(after));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_gives_the_published_values),
        cmocka_unit_test(it_does_not_matter_where_the_input_is_cut),
        cmocka_unit_test(every_bit_of_key_and_input_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
