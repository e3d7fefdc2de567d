// SPDX-License-Identifier: Apache-2.0
// The scan of everything but arrays of words. It is a module of its own, because most programs do
// not need it, and the driver takes seconds to compile it. See values.h.
#define OF_WORDS false
#include "values_kernel.cuh"
