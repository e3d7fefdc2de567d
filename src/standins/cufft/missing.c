// SPDX-License-Identifier: Apache-2.0
// The functions that libcufft exports. Those that no other file defines print their name and return
// CUFFT_NOT_SUPPORTED.
#include "standins/common/common.h"

#define NAME(name) COMMON_MISSING(name, 16)
#include "names.def"
