// SPDX-License-Identifier: Apache-2.0
// The functions that libcusparse exports. Those that no other file defines print their name and
// return CUSPARSE_STATUS_NOT_SUPPORTED.
#include "standins/common/common.h"

#define NAME(name) COMMON_MISSING(name, 10)
#include "names.def"
