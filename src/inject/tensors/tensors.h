// SPDX-License-Identifier: Apache-2.0
// Blocks of PyTorch's caching allocator, which become parts of the memory that it got from CUDA.
//
// The allocator reports each block that it hands out or takes back to PyTorch's profiler, by
// c10::reportMemoryUsageToProfiler, which libc10.so exports. Nothing of PyTorch is linked or
// included: glint leads the calls of this function to itself where libraries import it
// (util/imports.h), and passes them on.
#ifndef GLINT_INJECT_TENSORS_TENSORS_H
#define GLINT_INJECT_TENSORS_TENSORS_H

// Called when the program has got device memory, which the allocator does before it hands out the
// first block of it. Finds libraries that were loaded meanwhile.
void tensors_look(void);

#endif
