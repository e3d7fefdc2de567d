// SPDX-License-Identifier: Apache-2.0
// How the scan's second kernel sums up arrays of one-byte integers: four of them at a time, in the
// words that hold them. There are only 256 values. So a block notes which of these it has found,
// and bounds and different values follow from that at the end. See values.h.
#ifndef GLINT_DEVICE_VALUES_OCTETS_CUH
#define GLINT_DEVICE_VALUES_OCTETS_CUH

#include "values_groups.cuh"

enum { OCTETS_EACH = 4 * GROUP_WORDS }; // of a group

__device__ static unsigned repeated(unsigned octet)
{
    return (octet & 0xff) * 0x01010101u;
}

// Returns how many of the group's octets are the one that is repeated.
__device__ static unsigned count_octets(const unsigned (&words)[GROUP_WORDS], unsigned repeated)
{
    unsigned sums = 0; // of each of the four places
#pragma unroll
    for (int i = 0; i < GROUP_WORDS; i++) {
        const unsigned other = words[i] ^ repeated;
        // The upper bit of an octet is clear only if the octet is 0.
        const unsigned low = (other & 0x7f7f7f7f) + 0x7f7f7f7f;
        sums += ~(low | other | 0x7f7f7f7f) >> 7;
    }
    return sums * 0x01010101u >> 24;
}

// Notes which values are in the group. Most are known after a while.
__device__ static void note_octets(const unsigned (&words)[GROUP_WORDS])
{
    volatile unsigned char *seen = scanning.seen;
    unsigned known = 1;
#pragma unroll
    for (int i = 0; i < GROUP_WORDS; i++)
        known &= seen[words[i] & 0xff] & seen[words[i] >> 8 & 0xff] & seen[words[i] >> 16 & 0xff] &
                 seen[words[i] >> 24];
    if (known)
        return;
#pragma unroll
    for (int i = 0; i < GROUP_WORDS; i++) {
        seen[words[i] & 0xff] = 1;
        seen[words[i] >> 8 & 0xff] = 1;
        seen[words[i] >> 16 & 0xff] = 1;
        seen[words[i] >> 24] = 1;
    }
    bool all = true;
#pragma unroll 1
    for (unsigned i = 0; i < sizeof(scanning.seen) && all; i++)
        all = seen[i];
    if (all)
        atomicAnd(&scanning.todo[0], ~(unsigned)FIND_DISTINCT);
}

__device__ static void add_octets(struct lane_sums<unsigned> *own,
                                  const unsigned (&words)[GROUP_WORDS])
{
    const struct wanted &wanted = scanning.wanted[0];
    const unsigned todo = *(volatile unsigned *)&scanning.todo[0];
    if (todo & SKIP_FIRST) {
        const unsigned first = repeated((unsigned)wanted.candidates[0]);
        unsigned other = 0;
#pragma unroll
        for (int i = 0; i < GROUP_WORDS; i++)
            other |= words[i] ^ first;
        if (!other) {
            own->same++;
            return;
        }
    }
#pragma unroll
    for (int i = 0; i < GROUP_WORDS; i++) {
        own->any |= words[i];
        own->all &= words[i];
    }
    if (todo & FIND_DISTINCT)
        note_octets(words);
    if (*(volatile unsigned char *)scanning.seen)
        own->zeros += count_octets(words, 0);
#pragma unroll 1
    for (unsigned i = 0; i < wanted.candidate_count; i++) {
        if (wanted.candidates[i]) // zeros are counted anyway
            count_packed(own->candidates, i,
                         count_octets(words, repeated((unsigned)wanted.candidates[i])));
    }
}

// Joins the bits of the four octets of a word.
__device__ static void join_octets(struct lane_sums<unsigned> *own)
{
    own->any |= own->any >> 16;
    own->any = (own->any | own->any >> 8) & 0xff;
    own->all &= own->all >> 16;
    own->all = own->all & own->all >> 8 & 0xff;
}

// Adds the values that the block has noted to the set and the bounds. Called by the whole block.
__device__ static void flush_octets()
{
    const unsigned type = scanning.job.fields[0].type;
    struct set *set = &at<struct work>(scanning.job.work)->fields[0].set;
#pragma unroll 1
    for (unsigned i = threadIdx.x; i < sizeof(scanning.seen); i += THREADS) {
        if (!scanning.seen[i])
            continue;
        const u64 extended = extend(type, i);
        const u64 key = is_signed(type) ? (u64)(long long)(int)extended ^ sign_of(INT8) : extended;
        atomicMax(&scanning.sums[0].greatest, key);
        atomicMax(&scanning.sums[0].least, ~key);
        set_add(set, extended);
    }
}

#endif
