// SPDX-License-Identifier: Apache-2.0
// The functions that libcublasLt exports. Those that no other file defines print their name and
// return CUBLAS_STATUS_NOT_SUPPORTED.
#include "standins/common/common.h"

#define NAME(name) COMMON_MISSING(name, 15)
#include "lt_names.def"
