// SPDX-License-Identifier: Apache-2.0
// The device code as text: the build turns each line of the PTX into a C string.
#include "device.h"

const char device_ptx[] = ""
#include "reduce.ptx.inc"
    ;

const char device_counts_ptx[] = ""
#include "reduce_counts.ptx.inc"
    ;

const char device_values_ptx[] = ""
#include "values.ptx.inc"
    ;

const char device_weigh_ptx[] = ""
#include "weigh.ptx.inc"
    ;
