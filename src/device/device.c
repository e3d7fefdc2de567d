// SPDX-License-Identifier: Apache-2.0
// The device code as text, which the build makes a C string of.
#include "device.h"

const char device_ptx[] =
#include "reduce.ptx.inc"
    ;
