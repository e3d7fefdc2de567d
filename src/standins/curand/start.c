// SPDX-License-Identifier: Apache-2.0
// Jumps ahead in the sequences. A step of XORWOW, without its counter, is a linear map of 160 bits;
// one of MRG32k3a is two linear maps of three numbers. Their powers are found by squaring. Columns
// are 2^67 steps apart in XORWOW, and 2^76 in MRG32k3a. In Philox the column is a part of what is
// encrypted.
#include "start.h"

#include <string.h>

// --- XORWOW --------------------------------------------------------------------------------------

enum { BITS = 160, LINEAR_WORDS = 5, XORWOW_APART = 67, MRG_APART = 76 };

// What the map makes of each bit.
struct bit_map {
    uint32_t image[BITS][LINEAR_WORDS];
};

static void apply_bits(const struct bit_map *map, uint32_t words[LINEAR_WORDS])
{
    uint32_t result[LINEAR_WORDS] = {0};
    for (int bit = 0; bit < BITS; bit++) {
        if (words[bit / 32] >> (bit % 32) & 1) {
            for (int i = 0; i < LINEAR_WORDS; i++)
                result[i] ^= map->image[bit][i];
        }
    }
    memcpy(words, result, sizeof(result));
}

static void square_bits(struct bit_map *map)
{
    const struct bit_map old = *map;
    for (int bit = 0; bit < BITS; bit++)
        apply_bits(&old, map->image[bit]);
}

static void step_of_xorwow(struct bit_map *map)
{
    for (int bit = 0; bit < BITS; bit++) {
        struct curand_state state = {{0}};
        state.word[bit / 32] = UINT32_C(1) << (bit % 32);
        curand_xorwow(&state);
        memcpy(map->image[bit], state.word, sizeof(map->image[bit]));
    }
}

static void start_xorwow(uint32_t columns, uint64_t seed, uint64_t offset,
                         struct curand_state *states)
{
    const uint32_t x = 1099087573u * ((uint32_t)seed ^ 0xaad26b49u);
    const uint32_t y = 2591861531u * ((uint32_t)(seed >> 32) ^ 0xf7dcefddu);
    struct curand_state state = {{123456789u + x, 362436069u ^ x, 521288629u + y, 88675123u ^ y,
                                  5783321u + x, 6615241u + y + x}};
    const uint64_t steps = offset / columns;
    struct bit_map map = {{{0}}};
    step_of_xorwow(&map);
    struct bit_map power = map;
    for (uint64_t left = steps; left; left >>= 1) { // the same for all columns, as the maps commute
        if (left & 1)
            apply_bits(&power, state.word);
        square_bits(&power);
    }
    state.word[5] += (uint32_t)(steps * 362437);
    for (int i = 0; i < XORWOW_APART; i++)
        square_bits(&map);
    for (uint32_t i = 0; i < columns; i++) {
        states[i] = state; // the counter's period divides the distance
        if (i < offset % columns)
            curand_xorwow(&states[i]);
        apply_bits(&map, state.word);
    }
}

// --- MRG32k3a ------------------------------------------------------------------------------------

struct number_map {
    uint64_t row[3][3];
    uint64_t modulus;
};

// Factors are below 2^32.
static void apply_numbers(const struct number_map *map, uint32_t numbers[3])
{
    uint32_t result[3];
    for (int i = 0; i < 3; i++) {
        uint64_t sum = 0;
        for (int k = 0; k < 3; k++)
            sum = (sum + map->row[i][k] * numbers[k]) % map->modulus;
        result[i] = (uint32_t)sum;
    }
    memcpy(numbers, result, sizeof(result));
}

static void square_numbers(struct number_map *map)
{
    const struct number_map old = *map;
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            uint64_t sum = 0;
            for (int k = 0; k < 3; k++)
                sum = (sum + old.row[i][k] * old.row[k][j] % old.modulus) % old.modulus;
            map->row[i][j] = sum;
        }
    }
}

static uint32_t times(uint32_t factor, uint64_t modulus)
{
    return (uint32_t)(factor * UINT64_C(12345) % modulus);
}

static void start_mrg32k3a(uint32_t columns, uint64_t seed, uint64_t offset,
                           struct curand_state *states)
{
    const uint32_t x = (uint32_t)seed ^ 0x55555555u, y = (uint32_t)(seed >> 32) ^ 0xaaaaaaaau;
    struct curand_state state = {{12345, 12345, 12345, 12345, 12345, 12345}};
    if (seed)
        state =
            (struct curand_state){{times(x, CURAND_M1), times(y, CURAND_M1), times(x, CURAND_M1),
                                   times(y, CURAND_M2), times(x, CURAND_M2), times(y, CURAND_M2)}};
    struct number_map maps[2] = {
        {{{0, 1, 0}, {0, 0, 1}, {CURAND_M1 - 810728, 1403580, 0}}, CURAND_M1},
        {{{0, 1, 0}, {0, 0, 1}, {CURAND_M2 - 1370589, 0, 527612}}, CURAND_M2},
    };
    for (int which = 0; which < 2; which++) {
        struct number_map power = maps[which];
        for (uint64_t left = offset / columns; left; left >>= 1) {
            if (left & 1)
                apply_numbers(&power, state.word + 3 * which);
            square_numbers(&power);
        }
        for (int i = 0; i < MRG_APART; i++)
            square_numbers(&maps[which]);
    }
    for (uint32_t i = 0; i < columns; i++) {
        states[i] = state;
        if (i < offset % columns)
            curand_mrg32k3a(&states[i]);
        apply_numbers(&maps[0], state.word);
        apply_numbers(&maps[1], state.word + 3);
    }
}

// --- Philox --------------------------------------------------------------------------------------

static void start_philox(uint32_t columns, uint64_t offset, struct curand_state *states)
{
    const uint64_t row = UINT64_C(4) * columns;
    for (uint32_t i = 0; i < columns; i++) {
        const uint64_t counter = offset / row + (i < offset % row / 4);
        states[i] = (struct curand_state){{(uint32_t)counter, (uint32_t)(counter >> 32)}};
    }
}

void curand_start(enum curand_sequence sequence, uint32_t columns, uint64_t seed, uint64_t offset,
                  struct curand_state *states)
{
    switch (sequence) {
    case CURAND_XORWOW: start_xorwow(columns, seed, offset, states); break;
    case CURAND_MRG32K3A: start_mrg32k3a(columns, seed, offset, states); break;
    case CURAND_PHILOX: start_philox(columns, offset, states); break;
    }
}
