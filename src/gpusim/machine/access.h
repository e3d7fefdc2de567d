// SPDX-License-Identifier: Apache-2.0
// Memory accesses of a warp: computes the addresses of its lanes, finds their space, checks that
// the lanes may touch them, and returns host pointers.
#ifndef GLINT_GPUSIM_MACHINE_ACCESS_H
#define GLINT_GPUSIM_MACHINE_ACCESS_H

#include "decode.h"
#include "machine.h"

enum sim_access_kind { ACCESS_LOAD = 1, ACCESS_STORE = 2, ACCESS_ATOMIC = 3 };

struct sim_access {
    uint64_t address[LANES];       // as the instruction sees it
    unsigned char *pointer[LANES]; // set for active lanes
};

// Fills the addresses and, for active lanes, the pointers to `bytes` bytes, and logs the access.
// Returns false if a lane may not touch its bytes: the launch has failed.
bool sim_access_lanes(struct sim_warp *warp, const struct sim_uop *op, uint32_t bytes,
                      enum sim_access_kind kind, struct sim_access *access);

// How the lanes of an access are arranged. A half is 16 lanes: in a block that is 16 threads wide,
// a row of the block.
enum sim_reach {
    REACH_NOTHING, // the launch has failed
    REACH_ONE,     // all 32 lanes have the same address: only pointer[0] is set
    REACH_ROW,     // all 32 lanes are adjacent, in order: only pointer[0] is set
    REACH_ONES,    // each half has the same address: only pointer[0] and pointer[HALF] are set
    REACH_ROWS,    // each half is adjacent, in order: only pointer[0] and pointer[HALF] are set
    REACH_EACH,    // pointer[] is set for each lane; inactive ones may read there, too
};
enum { HALF = LANES / 2 };
// sim_access_lanes() for 4 or 8 bytes a lane, which also classifies the access.
enum sim_reach sim_access_reach_4(struct sim_warp *warp, const struct sim_uop *op,
                                  enum sim_access_kind kind, struct sim_access *access);
enum sim_reach sim_access_reach_8(struct sim_warp *warp, const struct sim_uop *op,
                                  enum sim_access_kind kind, struct sim_access *access);

// The same for 1, 2, 4, 8 or 16 bytes a lane. Returns REACH_NOTHING, REACH_ROW or REACH_EACH.
enum sim_reach sim_access_reach(struct sim_warp *warp, const struct sim_uop *op, uint32_t bytes,
                                enum sim_access_kind kind, struct sim_access *access);

// sim_access_lanes() for 1, 2, 4, 8 or 16 bytes a lane, faster where all lanes touch the object
// that the instruction touched last. Inactive lanes get a pointer to what they may read.
bool sim_access_each(struct sim_warp *warp, const struct sim_uop *op, uint32_t bytes,
                     enum sim_access_kind kind, struct sim_access *access);

// The object outside the heap that the instruction touched last.
static inline struct sim_seen *sim_seen_by(const struct sim_warp *warp, const struct sim_uop *op)
{
    return &warp->seen[op->seen];
}

// Whether the addresses are 64-bit ones of memory other than shared and local.
static inline bool sim_access_is_wide(const struct sim_uop *op)
{
    return (op->flags & (ADDRESS_WIDE | ADDRESS_NONE)) == ADDRESS_WIDE &&
           op->space != PTX_SPACE_SHARED && op->space != PTX_SPACE_LOCAL;
}

// The object that the instruction touched last, if its addresses are 64-bit ones and need not be
// logged; otherwise NULL. A caller may access bytes of it without the functions above, if it counts
// them in warp->global_bytes.
static inline const struct sim_seen *sim_access_seen(const struct sim_warp *warp,
                                                     const struct sim_uop *op)
{
    return warp->logged || !sim_access_is_wide(op) ? NULL : sim_seen_by(warp, op);
}

// The two halves of sim_access_lanes(), for instructions that touch several places in each lane.
// sim_access_addresses() computes the addresses; sim_access_given() does the rest with the
// addresses in *access.
void sim_access_addresses(const struct sim_warp *warp, const struct sim_uop *op,
                          uint64_t out[LANES]);
bool sim_access_given(struct sim_warp *warp, const struct sim_uop *op, uint32_t bytes,
                      enum sim_access_kind kind, struct sim_access *access);

// Returns the host pointer for a generic address of one lane, for example of a printf format. NULL
// if the lane may not read `bytes` bytes there: the launch has failed.
const unsigned char *sim_access_check(struct sim_warp *warp, const struct sim_uop *op, int lane,
                                      uint64_t address, uint64_t bytes);

// The same for bytes that the caller then reads or, with ACCESS_STORE, writes before it returns to
// the dispatch loop.
unsigned char *sim_access_place(struct sim_warp *warp, const struct sim_uop *op, int lane,
                                uint64_t address, uint64_t bytes, enum sim_access_kind kind);

// Combines each element of `from` into that of `to`, as a red instruction does (ops_atomic.c).
// op->target is the operation, op->mode the type, and op->bytes the size of an element. With
// `flushes`, subnormal f32 values count as zero.
void sim_atomic_reduce(const struct sim_uop *op, unsigned char *to, const unsigned char *from,
                       uint32_t bytes, bool flushes);

#endif
