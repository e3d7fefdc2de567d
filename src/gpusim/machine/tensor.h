// SPDX-License-Identifier: Apache-2.0
// Declarations that the files of tensor copies (ops_tensor*.c) share.
#ifndef GLINT_GPUSIM_MACHINE_TENSOR_H
#define GLINT_GPUSIM_MACHINE_TENSOR_H

#include "decode.h"

// Copies the tensor map at the lane's address of `map`, which is generic. Returns false if there is
// none: the launch has failed. Reading a map is no access of the kernel: it is not logged.
bool sim_tensor_map_read(struct sim_warp *warp, const struct sim_uop *op, const struct sim_uop *map,
                         int lane, struct sim_tensor_map *out);

// Implements sim_choose_tensor for changes of tensor maps.
bool sim_tensor_choose_map(struct sim_decoder *decoder, const struct ptx_instr *instr,
                           struct sim_uop *op);

#endif
