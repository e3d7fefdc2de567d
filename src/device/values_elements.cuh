// SPDX-License-Identifier: Apache-2.0
// How a block of the scan looks at one piece together, and sums up one element at a time: pieces
// that are not whole, and those of small objects. Other ways have less to do for each element, but
// need much code, which takes longer to fetch than a few pieces to sum up. See values.h.
#ifndef GLINT_DEVICE_VALUES_ELEMENTS_CUH
#define GLINT_DEVICE_VALUES_ELEMENTS_CUH

#include "values_line.cuh"
#include "values_pieces.cuh"

// Loads 16 bytes; those outside the object are 0.
__device__ static __noinline__ uint4 load_part(u64 address)
{
    const u64 first = scanning.job.first, end = scanning.job.end;
    unsigned words[4] = {0, 0, 0, 0};
    if (address >= first && address + 16 <= end)
        return __ldcg(at<const uint4>(address));
#pragma unroll 1
    for (unsigned i = 0; i < 16; i++) {
        unsigned byte = 0;
        if (address + i >= first && address + i < end)
            byte = __ldcg(at<const unsigned char>(address + i));
        words[0] = __funnelshift_r(words[0], words[1], 8);
        words[1] = __funnelshift_r(words[1], words[2], 8);
        words[2] = __funnelshift_r(words[2], words[3], 8);
        words[3] = __funnelshift_r(words[3], byte, 8);
    }
    return make_uint4(words[0], words[1], words[2], words[3]);
}

// Returns the hash of a piece. Called by a whole warp.
__device__ static struct hash hash_piece(u64 piece)
{
    const struct device_values_job &job = scanning.job;
    const bool whole = is_whole(job, piece);
    u64 address = job.base + piece * PIECE + lane_index() * 16;
    struct hash hash = begin_hash();
#pragma unroll 1
    for (unsigned round = 0; round < ROUNDS; round++) {
        uint4 vectors[VECTORS];
        if (whole) {
            load_vectors(vectors, address);
        } else {
#pragma unroll
            for (unsigned i = 0; i < VECTORS; i++)
                vectors[i] = load_part(address + 32 * 16 * i);
        }
        hash_vectors(&hash, vectors);
        address += 32 * 16 * VECTORS;
    }
    return join_hashes(hash);
}

// Sums up the elements of a field that begin in the piece. Called by the whole block.
template <typename B> __device__ static __noinline__ void add_elements(unsigned field, u64 piece)
{
    enum { EACH = 2 };
    const struct device_values_job &job = scanning.job;
    const unsigned type = job.fields[field].type, size = size_of(kind_of(type));
    const struct span span = elements_of(job, field, piece, size);
    const u64 start = job.first + job.fields[field].offset;
    struct lane_sums<B> own = no_sums<B>(scanning.todo[field] & HAS_FLOATS);
    unsigned count = 0;
#pragma unroll 1
    for (u64 i = span.from + threadIdx.x; i < span.to; i += EACH * THREADS) {
        struct group<B, EACH, false> group;
        u64 bits[EACH];
        group.index = i;
        group.inner = THREADS;
        group.valid = 0;
#pragma unroll
        for (unsigned k = 0; k < EACH; k++) {
            const bool is_there = i + k * THREADS < span.to;
            bits[k] = load_element(start + (is_there ? i + k * THREADS : i) * job.stride, size);
            group.valid += is_there;
        }
#pragma unroll
        for (unsigned k = 0; k < EACH; k++) {
            group.elements[k] = (B)extend(type, bits[k]);
            own.any |= (B)bits[k];
            own.all &= (B)bits[k];
        }
        add_group(&own, group, field);
        count += group.valid;
    }
    __syncwarp();
#pragma unroll 1
    for (int step = 16; step; step /= 2)
        count += other_lane(count, step);
    if (count)
        flush_lanes<B>(field, own, 1, count);
}

// Sums up the pieces of the block's share that are looked at. Called by the whole block.
__device__ static __noinline__ void add_alone(struct share share)
{
    const struct device_values_job &job = scanning.job;
#pragma unroll 1
    for (unsigned i = 0; share.from < share.to; share.from += share.step, i++) {
#pragma unroll 1
        for (unsigned field = 0; scanning.early[i] && field < job.field_count; field++) {
            if (is_wide(job.fields[field].type))
                add_elements<u64>(field, share.from);
            else
                add_elements<unsigned>(field, share.from);
        }
    }
    __syncthreads();
}

// The warp's piece of the block's share.
__device__ static u64 piece_alone(struct share share)
{
    return share.from + warp_index() * (u64)share.step;
}

// Finds out whether the warp's piece, if it has one, is looked at. Called by the whole block.
__device__ static void find_alone(struct share share)
{
    const u64 piece = piece_alone(share);
    if (piece < share.to && lane_index() == 0)
        scanning.early[warp_index()] = is_looked_at(scanning.job, piece);
    __syncthreads();
}

// Hashes the warp's piece, if it has one that is looked at. `early`: states do not change. Called by
// the whole block.
__device__ static void hash_alone(struct share share, bool early)
{
    const struct device_values_job &job = scanning.job;
    const u64 piece = piece_alone(share);
    if (piece < share.to) {
        asm volatile("prefetch.global.L2 [%0];" ::"l"(job.hashes + piece * 16));
        const bool looked = is_looked_at(job, piece);
        if (looked)
            keep_hashes(piece, lane_index() == 0, hash_piece(piece), early);
        if (lane_index() == 0)
            scanning.early[warp_index()] = looked;
    }
    __syncthreads();
}

// Notes that the warp's piece was described, after the sample has read states.
__device__ static void end_alone(struct share share)
{
    const u64 piece = piece_alone(share);
    if (piece < share.to && lane_index() == 0 && scanning.early[warp_index()])
        note_described(piece);
}

#endif
