// SPDX-License-Identifier: Apache-2.0
// How a warp reaches memory: the addresses of its lanes, which space they are in, whether they may
// be touched, and the host pointers behind them. Internal.
#ifndef GLINT_GPUSIM_MACHINE_ACCESS_H
#define GLINT_GPUSIM_MACHINE_ACCESS_H

#include "machine.h"

enum sim_access_kind { ACCESS_LOAD = 1, ACCESS_STORE = 2, ACCESS_ATOMIC = 3 };

struct sim_access {
    uint64_t address[LANES];       // as the instruction sees it
    unsigned char *pointer[LANES]; // of active lanes
};

// Fills the addresses and, for active lanes, the pointers to bytes bytes that may be touched. False
// where a lane may not: the launch has failed then. Logs the access.
bool sim_access_lanes(struct sim_warp *warp, const struct sim_uop *op, uint32_t bytes,
                      enum sim_access_kind kind, struct sim_access *access);

// The same for one register a lane of 4 or 8 bytes, where how the lanes lie is told apart: then
// pointer[0] alone is set.
enum sim_reach {
    REACH_NOTHING, // the launch has failed
    REACH_ONE,     // all 32 lanes are at one place
    REACH_ROW,     // all 32 lanes are side by side
    REACH_EACH,    // as sim_access_lanes leaves it
};
enum sim_reach sim_access_reach_4(struct sim_warp *warp, const struct sim_uop *op,
                                  enum sim_access_kind kind, struct sim_access *access);
enum sim_reach sim_access_reach_8(struct sim_warp *warp, const struct sim_uop *op,
                                  enum sim_access_kind kind, struct sim_access *access);

// Both halves of it, for instructions that reach several places a lane: the addresses alone, and
// what follows when the addresses stand in *access already.
void sim_access_addresses(const struct sim_warp *warp, const struct sim_uop *op,
                          uint64_t out[LANES]);
bool sim_access_given(struct sim_warp *warp, const struct sim_uop *op, uint32_t bytes,
                      enum sim_access_kind kind, struct sim_access *access);

// The pointer behind one given generic address of one lane, or NULL where it may not be touched:
// for texts of printf and so on.
const unsigned char *sim_access_check(struct sim_warp *warp, const struct sim_uop *op, int lane,
                                      uint64_t address, uint64_t bytes);

// Combines each element of `from` into that of `to`, as a red instruction would: op gives operation
// (target), type (mode) and bytes of an element. flushes: subnormal f32 count as zero.
void sim_atomic_reduce(const struct sim_uop *op, unsigned char *to, const unsigned char *from,
                       uint32_t bytes, bool flushes);

#endif
