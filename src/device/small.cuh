// SPDX-License-Identifier: Apache-2.0
// Writes the small parts of a launch's record: what its probes counted for each site and root. Done
// by one block, of COUNT warps. See device.h.
#ifndef GLINT_DEVICE_SMALL_CUH
#define GLINT_DEVICE_SMALL_CUH

#include "common.cuh"
#include "small.h"

#ifdef FEW
enum { ROWS = 1 }; // that a thread reads at once
#else
enum { ROWS = 16 };
#endif

// Sums tallies: a warp takes four at a time, eight rows side by side. The last warps of the block
// do this, since the first ones have more to scan.
template <unsigned COUNT> __device__ static void write_tallies(const struct device_small &about)
{
    u64 *to = at<u64>(about.result + about.tallies_at);
    const unsigned lane = lane_index();
    for (unsigned i = (COUNT - 1 - warp_index()) * 4 + lane % 4; i - lane % 4 < about.tally_count;
         i += COUNT * 4) {
        u64 sum = 0;
        for (unsigned row = lane / 4; row < about.tally_rows; row += 8 * ROWS) {
            u64 values[ROWS];
#pragma unroll
            for (unsigned k = 0; k < ROWS; k++) {
                const u64 *from =
                    at<u64>(about.tallies + (u64)(row + 8 * k) * about.tally_row_bytes);
                values[k] = 0;
                if (i < about.tally_count && row + 8 * k < about.tally_rows)
                    values[k] = __ldcg(from + i);
            }
#pragma unroll
            for (unsigned k = 0; k < ROWS; k++) {
                if (values[k])
                    at<u64>(about.tallies + (u64)(row + 8 * k) * about.tally_row_bytes)[i] = 0;
                sum += values[k];
            }
        }
        static_assert(DEVICE_PLACES == 8, "a place for each row");
        if (about.by_place) {
            if (i < about.tally_count)
                to[i * DEVICE_PLACES + lane / 4] = sum;
            continue;
        }
        for (int step = 4; step < 32; step *= 2)
            sum += __shfl_xor_sync(ALL, sum, step);
        if (lane < 4 && i < about.tally_count)
            to[i] = sum;
    }
}

// Joins accessed values: a warp takes one number at a time, all its rows side by side.
template <unsigned COUNT>
__device__ static __noinline__ void write_accessed(const struct device_small *about)
{
    enum { NUMBERS = sizeof(struct device_accessed) / sizeof(u64), USED = 3, EACH = 4 };
    u64 *to = at<u64>(about->result + about->accessed_at);
    for (unsigned i = warp_index(); i < USED * about->accessed_count; i += COUNT) {
        const unsigned number = i / USED * NUMBERS + i % USED;
        const bool is_most = i % USED == offsetof(struct device_accessed, most) / sizeof(u64);
        u64 joined = 0;
        for (unsigned row = lane_index(); row < about->accessed_rows; row += 32 * EACH) {
            u64 values[EACH];
#pragma unroll
            for (unsigned k = 0; k < EACH; k++)
                values[k] = row + 32 * k < about->accessed_rows
                                ? __ldcg(at<u64>(about->accessed +
                                                 (u64)(row + 32 * k) * about->accessed_row_bytes) +
                                         number)
                                : 0;
#pragma unroll
            for (unsigned k = 0; k < EACH; k++) {
                if (values[k])
                    at<u64>(about->accessed +
                            (u64)(row + 32 * k) * about->accessed_row_bytes)[number] = 0;
                joined = is_most ? max(joined, values[k]) : joined | values[k];
            }
        }
        for (int step = 1; step < 32; step *= 2) {
            const u64 other = __shfl_xor_sync(ALL, joined, step);
            joined = is_most ? max(joined, other) : joined | other;
        }
        if (lane_index() == 0)
            to[number] = joined;
    }
}

// Moves the masks that are used into the record, one behind the other. The entry behind them counts
// them.
template <unsigned COUNT>
__device__ static __noinline__ void write_masks(const struct device_small *about)
{
    static_assert(DEVICE_MASKS % (32 * COUNT) == 0, "whole warps take part");
    uint4 *from = at<uint4>(about->masks), *to = at<uint4>(about->result + about->masks_at);
    for (unsigned i = threadIdx.x; i < DEVICE_MASKS; i += 32 * COUNT) {
        const uint4 mask = __ldcg(from + i);
        const unsigned used = __ballot_sync(ALL, mask.y != 0);
        unsigned first = 0;
        if (lane_index() == 0 && used)
            first = atomicAdd((unsigned *)(from + DEVICE_MASKS) + 1, (unsigned)__popc(used));
        first = __shfl_sync(ALL, first, 0);
        if (mask.y) {
            to[1 + first + __popc(used & ((1u << lane_index()) - 1))] = mask;
            from[i] = make_uint4(0, 0, 0, 0);
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        to[0] = __ldcg(from + DEVICE_MASKS);
        from[DEVICE_MASKS] = make_uint4(0, 0, 0, 0);
    }
}

// Writes the small parts of the record; done by one block.
template <unsigned COUNT> __device__ static void write_small(const struct device_small &about)
{
    struct device_result *result = at<struct device_result>(about.result);
    u64 *strayed = at<u64>(about.result + about.strayed_at);
    unsigned *flags = at<unsigned>(about.result + about.flags_at);
    write_tallies<COUNT>(about);
    if (about.accessed_count)
        write_accessed<COUNT>(&about);
    if (about.masks)
        write_masks<COUNT>(&about);
    // Rows of flags, and their place in the record, consist of whole words.
    for (unsigned i = threadIdx.x; i < (about.flag_count + 3) / 4; i += 32 * COUNT) {
        unsigned any = 0;
        for (unsigned row = 0; row < about.flag_rows; row += ROWS) {
            unsigned values[ROWS];
#pragma unroll
            for (unsigned k = 0; k < ROWS; k++)
                values[k] =
                    row + k < about.flag_rows
                        ? __ldcg(at<unsigned>(about.flags + (u64)(row + k) * about.flag_row_bytes) +
                                 i)
                        : 0;
#pragma unroll
            for (unsigned k = 0; k < ROWS; k++) {
                if (values[k])
                    at<unsigned>(about.flags + (u64)(row + k) * about.flag_row_bytes)[i] = 0;
                any |= values[k];
            }
        }
        flags[i] = any;
    }
    for (unsigned i = threadIdx.x; i < about.strayed_count; i += 32 * COUNT) {
        strayed[i] = at<u64>(about.strayed)[i];
        at<u64>(about.strayed)[i] = 0;
    }
    if (threadIdx.x == 32 * COUNT - 1) {
        u64 *strays = at<u64>(about.strays);
        result->strays = strays ? strays[0] : 0;
        result->stray_at = strays ? strays[3] : 0;
        if (strays) // only the first address is reported
            strays[0] = strays[1] = strays[3] = 0;
    }
}

// Says that the record is complete. Called by the whole block.
__device__ static void tell(const struct device_small &about, unsigned sequence)
{
    __syncthreads();
    if (threadIdx.x == 0) {
        fence_system();
        at<struct device_result>(about.result)->sequence = sequence;
    }
}

#endif
