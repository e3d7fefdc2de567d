// SPDX-License-Identifier: Apache-2.0
// The public face of src/cudaabi: our own declarations of CUDA's driver and runtime interfaces and
// of NVTX, so that glint builds without a CUDA toolkit. Headers only; other parts include this
// file. Do not include the vendor's headers beside it: they declare the same names.
#ifndef GLINT_CUDAABI_CUDAABI_H
#define GLINT_CUDAABI_CUDAABI_H

#include "driver.h"
#include "nvtx.h"
#include "runtime.h"
#include "sim.h"

#endif
