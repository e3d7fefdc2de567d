// SPDX-License-Identifier: Apache-2.0
// The device code as text, of which the build makes a C string for each line.
#include "device.h"

const char device_ptx[] = ""
#include "reduce.ptx.inc"
    ;

const char device_counts_ptx[] = ""
#include "reduce_counts.ptx.inc"
    ;
