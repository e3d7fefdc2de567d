// SPDX-License-Identifier: Apache-2.0
// The reduction of bits by blocks of one warp, for the simulated GPU, whose time is that of the
// instructions of all warps together: a GPU would wait too often.
#define FEW
#include "reduce.cu"
