// SPDX-License-Identifier: Apache-2.0
// The public header of src/cudaabi: glint's declarations of CUDA's driver and runtime interfaces
// and of NVTX, so that glint builds without a CUDA toolkit. This part has only headers, and other
// parts include this file. NVIDIA's headers must not be included beside it: they declare the same
// names.
#ifndef GLINT_CUDAABI_CUDAABI_H
#define GLINT_CUDAABI_CUDAABI_H

#include "driver.h"
#include "nvtx.h"
#include "runtime.h"
#include "sim.h"

#endif
