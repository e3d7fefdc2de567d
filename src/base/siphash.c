// SPDX-License-Identifier: Apache-2.0
// SipHash-2-4, as Aumasson and Bernstein define it ("SipHash: a fast short-input PRF"), in the
// variant with 128 bits. Words are little-endian.
#include "siphash.h"

#include <endian.h>
#include <string.h>

struct state {
    uint64_t v[4];
    unsigned char part[8]; // bytes that do not fill a word yet
    size_t bytes;          // hashed so far, with those
};

static uint64_t word_at(const unsigned char *bytes)
{
    uint64_t word;
    memcpy(&word, bytes, sizeof(word));
    return le64toh(word);
}

static uint64_t rotate(uint64_t word, unsigned by)
{
    return word << by | word >> (64 - by);
}

static void mix(uint64_t v[4], unsigned rounds)
{
    for (unsigned i = 0; i < rounds; i++) {
        v[0] += v[1];
        v[2] += v[3];
        v[1] = rotate(v[1], 13) ^ v[0];
        v[3] = rotate(v[3], 16) ^ v[2];
        v[0] = rotate(v[0], 32);
        v[2] += v[1];
        v[0] += v[3];
        v[1] = rotate(v[1], 17) ^ v[2];
        v[3] = rotate(v[3], 21) ^ v[0];
        v[2] = rotate(v[2], 32);
    }
}

static void take_word(struct state *state, uint64_t word)
{
    state->v[3] ^= word;
    mix(state->v, 2);
    state->v[0] ^= word;
}

static void take(struct state *state, const void *from, size_t length)
{
    const unsigned char *bytes = from;
    size_t held = state->bytes % 8;
    state->bytes += length;
    while (held && length) {
        state->part[held] = *bytes++;
        length--;
        held = (held + 1) % 8;
        if (!held)
            take_word(state, word_at(state->part));
    }
    for (; length >= 8; bytes += 8, length -= 8)
        take_word(state, word_at(bytes));
    if (length)
        memcpy(state->part + held, bytes, length);
}

void base_siphash(const unsigned char key[BASE_SIPHASH_KEY_BYTES], const void *first,
                  size_t first_bytes, const void *second, size_t second_bytes,
                  unsigned char hash[BASE_SIPHASH_BYTES])
{
    const uint64_t k0 = word_at(key), k1 = word_at(key + 8);
    struct state state = {.v = {k0 ^ 0x736f6d6570736575u, k1 ^ 0x646f72616e646f6du ^ 0xee,
                                k0 ^ 0x6c7967656e657261u, k1 ^ 0x7465646279746573u}};
    take(&state, first, first_bytes);
    take(&state, second, second_bytes);
    memset(state.part + state.bytes % 8, 0, 8 - state.bytes % 8);
    take_word(&state, word_at(state.part) | (uint64_t)state.bytes << 56);
    for (unsigned i = 0; i < 2; i++) {
        state.v[i ? 1 : 2] ^= i ? 0xdd : 0xee;
        mix(state.v, 4);
        const uint64_t word = htole64(state.v[0] ^ state.v[1] ^ state.v[2] ^ state.v[3]);
        memcpy(hash + 8 * i, &word, sizeof(word));
    }
}
