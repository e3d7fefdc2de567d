// SPDX-License-Identifier: Apache-2.0
// How a warp reaches memory with one instruction: its request. The hardware moves global and local
// memory in sectors of 32 bytes, four of which are a line. Shared memory has 32 banks, each of
// which delivers one word of 4 bytes in a wavefront.
//
// Sectors, lines and wavefronts follow from the lanes' addresses alone. For a site with an affine
// form, distances between these are known once the size of a block is, and often before.
#ifndef GLINT_PTX_WARPS_H
#define GLINT_PTX_WARPS_H

#include "sites.h"

enum {
    PTX_WARP_LANES = 32,
    PTX_SECTOR_BYTES = 32,
    PTX_LINE_BYTES = 128,
    PTX_BANKS = 32,
    PTX_BANK_BYTES = 4,
    PTX_WAVEFRONT_BYTES = PTX_BANKS * PTX_BANK_BYTES,
};

// --- Requests ------------------------------------------------------------------------------------

struct ptx_request {
    uint64_t addresses[PTX_WARP_LANES];
    uint32_t lanes; // set of those that take part; the addresses of others mean nothing
    uint32_t bytes; // that each of them moves: a power of two, at most a sector; addresses are
                    // multiples of it
    bool loads;     // else it stores, or does both
};

// What a request takes, and what it would take at least if the lanes moved as many bytes from one
// place. Where lanes share bytes, that is more than it takes, so that the least is what it takes.
struct ptx_traffic {
    uint32_t sectors, least_sectors;
    uint32_t lines;
};
struct ptx_wavefronts {
    uint32_t count, least;
    // The words that one bank has to deliver one after the other, as addresses divided by 4: of the
    // bank that has most.
    uint64_t words[PTX_WARP_LANES];
    uint32_t word_count;
};

struct ptx_traffic ptx_request_traffic(const struct ptx_request *request);

// Of a request to shared memory. Lanes that move 8 bytes are served by half warps, those that move
// 16 bytes by quarters. A load serves two neighbouring parts of the warp together if that takes one
// wavefront and in both, each lane i has the address of lane i ^ 1, or each that of lane i ^ 2.
// Measured on an H200, whose loads of 16 bytes by some of the lanes may take one wavefront less or
// more.
struct ptx_wavefronts ptx_request_wavefronts(const struct ptx_request *request);

// --- Sites ---------------------------------------------------------------------------------------

// Threads of a block. If x is 0, the size is unknown, and the lanes of a warp are neighbours in x.
struct ptx_block_size {
    uint32_t x, y, z;
};

// How far the address moves from one thread to the next in each direction, and from one lane to the
// next in addition to that.
struct ptx_stride {
    int64_t x, y, z, lane;
};

// Finds the stride of a site. A direction in which the threads of one warp do not differ has 0.
// Returns false if the distances of lanes are not known: a thread's index is multiplied by
// something that only the launch knows, or the address depends on the thread in another way. Lanes
// that are in different rounds of a loop may have other distances.
bool ptx_site_stride(const struct ptx_facts *facts, const struct ptx_site *site,
                     const struct ptx_block_size *block, struct ptx_stride *stride);

// Returns whether the lanes of a warp that execute the site together differ, in its form, only in
// their threads' indices. Lanes that are in different rounds of a loop may differ in more.
bool ptx_site_is_even(const struct ptx_facts *facts, const struct ptx_site *site,
                      const struct ptx_block_size *block);

// Returns how far the address of a thread, by its number in the block, is from that of the first.
uint64_t ptx_stride_distance(const struct ptx_stride *stride, const struct ptx_block_size *block,
                             uint64_t thread);

// Returns the request of a warp to load, by its number in the block; `first` is the address of its
// first lane. Threads that the block does not have take no part.
struct ptx_request ptx_warp_request(const struct ptx_stride *stride,
                                    const struct ptx_block_size *block, uint32_t warp,
                                    uint64_t first, uint32_t bytes);

// What requests of a site take: it depends on the alignment of the first address, and on the warp
// if rows of the block are no multiples of a warp.
struct ptx_range {
    uint32_t from, to;
};
struct ptx_site_costs {
    bool shared; // wavefronts count, else sectors
    struct ptx_range count, least;
    // If all requests to shared memory take more wavefronts than needed: how many words lie between
    // those that one bank has to deliver to the first warp. 0: distances differ.
    int64_t words_apart;
};

// Finds what requests of a site take, of warps that are whole if the block has any. Returns false
// if distances of lanes are unknown, or the instruction does not say how many bytes it moves or
// which lanes give addresses.
bool ptx_site_costs(const struct ptx_facts *facts, const struct ptx_site *site,
                    const struct ptx_block_size *block, struct ptx_site_costs *costs);

#endif
