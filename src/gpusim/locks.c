// SPDX-License-Identifier: Apache-2.0
// What each thread holds of the ranked locks, in builds that check their order.
#include "locks.h"

#ifndef NDEBUG
_Thread_local unsigned gpusim_held_ranks;
#endif
