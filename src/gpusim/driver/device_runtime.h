// SPDX-License-Identifier: Apache-2.0
// What kernels may ask the driver for by functions of the device runtime.
#ifndef GLINT_GPUSIM_DRIVER_DEVICE_RUNTIME_H
#define GLINT_GPUSIM_DRIVER_DEVICE_RUNTIME_H

#include "driver.h"

extern const struct sim_host driver_host;

// cuDeviceGetAttribute(), which may also be called while kernels run and after the program's end.
CUresult driver_device_attribute(int *pi, CUdevice_attribute attrib, CUdevice dev);

#endif
