// SPDX-License-Identifier: Apache-2.0
// The functions that libcurand exports. Those that no other file defines print their name and
// return CURAND_STATUS_TYPE_ERROR, as cuRAND has no status for what is not supported.
#include "standins/common/common.h"

#define NAME(name) COMMON_MISSING(name, 103)
#include "names.def"
