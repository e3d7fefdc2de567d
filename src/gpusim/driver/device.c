// SPDX-License-Identifier: Apache-2.0
// Initializes the driver, and answers queries about devices. Attributes that the preset does not
// have are those of an H200 (driver 580), except for features that the simulated GPU lacks.
#include <stdio.h>
#include <string.h>

#include "device_runtime.h"
#include "driver.h"

// By CUdevice_attribute; attributes that are not listed are 0.
static const int attributes[CU_DEVICE_ATTRIBUTE_MAX] = {
    [1] = 1024,        [2] = 1024,       [3] = 1024,        [4] = 64,          [5] = 2147483647,
    [6] = 65535,       [7] = 65535,      [8] = 49152,       [9] = 65536,       [10] = 32,
    [11] = 2147483647, [12] = 65536,     [13] = 1980000,    [14] = 512,        [15] = 1,
    [16] = 132,        [19] = 1,         [21] = 131072,     [22] = 131072,     [23] = 65536,
    [24] = 16384,      [25] = 16384,     [26] = 16384,      [27] = 32768,      [28] = 32768,
    [29] = 2048,       [30] = 512,       [31] = 1,          [32] = 1,          [33] = 1,
    [36] = 3201000,    [37] = 6016,      [38] = 62914560,   [39] = 2048,       [40] = 3,
    [41] = 1,          [42] = 32768,     [43] = 2048,       [44] = 1,          [45] = 32768,
    [46] = 32768,      [47] = 8192,      [48] = 8192,       [49] = 32768,      [51] = 32,
    [52] = 32768,      [53] = 32768,     [54] = 2046,       [55] = 32768,      [56] = 131072,
    [57] = 65536,      [58] = 16384,     [59] = 16384,      [60] = 16384,      [61] = 32768,
    [62] = 2048,       [63] = 32768,     [64] = 32768,      [65] = 2048,       [66] = 32768,
    [67] = 32768,      [68] = 2046,      [69] = 268435456,  [70] = 131072,     [71] = 65000,
    [72] = 2097120,    [73] = 32768,     [74] = 32768,      [75] = 9,          [77] = 32768,
    [78] = 1,          [79] = 1,         [80] = 1,          [81] = 233472,     [82] = 65536,
    [83] = 1,          [87] = 2,         [89] = 1,          [90] = 1,          [91] = 1,
    [95] = 1,          [97] = 232448,    [99] = 1,          [102] = 1,         [103] = 1,
    [106] = 32,        [108] = 39321600, [109] = 134217728, [111] = 1024,      [113] = 1,
    [115] = 1,         [119] = 1,        [122] = 1,         [123] = 1,         [126] = 1,
    [129] = 1,         [131] = -1,       [139] = 590680286, [140] = 415174878, [141] = 1,
};

CUresult cuInit(unsigned int Flags)
{
    DRIVER_REJECT(Flags, CUDA_ERROR_INVALID_VALUE);
    return driver_init_process();
}

CUresult cuDriverGetVersion(int *driverVersion)
{
    DRIVER_REJECT(!driverVersion, CUDA_ERROR_INVALID_VALUE);
    *driverVersion = driver_version();
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *count)
{
    DRIVER_BEGIN();
    DRIVER_REJECT(!count, CUDA_ERROR_INVALID_VALUE);
    *count = (int)driver.device_count;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
    DRIVER_BEGIN();
    DRIVER_REJECT(!device, CUDA_ERROR_INVALID_VALUE);
    DRIVER_REJECT(!driver_device_at(ordinal), CUDA_ERROR_INVALID_DEVICE);
    *device = ordinal;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char *name, int len, CUdevice dev)
{
    DRIVER_BEGIN();
    DRIVER_REJECT(!name || len <= 0, CUDA_ERROR_INVALID_VALUE);
    const struct driver_device *device = driver_device_at(dev);
    DRIVER_REJECT(!device, CUDA_ERROR_INVALID_DEVICE);
    snprintf(name, (size_t)len, "%s", device->preset->name);
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice dev)
{
    DRIVER_BEGIN();
    DRIVER_REJECT(!uuid, CUDA_ERROR_INVALID_VALUE);
    const struct driver_device *device = driver_device_at(dev);
    DRIVER_REJECT(!device, CUDA_ERROR_INVALID_DEVICE);
    driver_device_uuid(device, uuid);
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice dev)
{
    return cuDeviceGetUuid_v2(uuid, dev);
}

CUresult cuDeviceGetLuid(char *luid, unsigned int *deviceNodeMask, CUdevice dev)
{
    DRIVER_BEGIN();
    (void)luid;
    (void)deviceNodeMask;
    return CUDA_ERROR_NOT_SUPPORTED; // exists only on Windows
}

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice dev)
{
    DRIVER_BEGIN();
    DRIVER_REJECT(!bytes, CUDA_ERROR_INVALID_VALUE);
    const struct driver_device *device = driver_device_at(dev);
    DRIVER_REJECT(!device, CUDA_ERROR_INVALID_DEVICE);
    *bytes = device->preset->memory_bytes;
    return CUDA_SUCCESS;
}

static int double_ratio(const struct sim_preset *preset)
{
    return preset->minor == 0 ? 2 : preset->major == 7 ? 32 : 64;
}

// Each device has a PCI bus of its own.
static unsigned bus_of(const struct driver_device *device)
{
    return (unsigned)attributes[CU_DEVICE_ATTRIBUTE_PCI_BUS_ID] + device->physical;
}

static int attribute_of(const struct driver_device *device, CUdevice_attribute attribute)
{
    const struct sim_preset *preset = device->preset;
    bool is_ampere = preset->major >= 8;
    switch ((int)attribute) {
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK: return (int)preset->shared_per_block;
    case CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY: return (int)preset->const_bytes;
    case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK: return (int)preset->registers_per_block;
    case CU_DEVICE_ATTRIBUTE_CLOCK_RATE: return (int)preset->clock_khz;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: return (int)preset->sm_count;
    case CU_DEVICE_ATTRIBUTE_ECC_ENABLED: return preset->minor == 0;
    case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE: return (int)preset->memory_clock_khz;
    case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH: return (int)preset->memory_bus_bits;
    case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE: return (int)preset->l2_bytes;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR: return (int)preset->warps_per_sm * 32;
    case CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT: return (int)preset->copy_engines;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: return (int)preset->major;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: return (int)preset->minor;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR:
        return (int)preset->shared_per_sm;
    case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR: return (int)preset->registers_per_sm;
    case CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO: return double_ratio(preset);
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
        return (int)preset->shared_per_block_optin;
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR: return (int)preset->blocks_per_sm;
    case CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE:
        return is_ampere ? (int)(preset->l2_bytes / 8 * 5) : 0;
    case CU_DEVICE_ATTRIBUTE_MAX_ACCESS_POLICY_WINDOW_SIZE: return is_ampere ? 134217728 : 0;
    case CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK:
        return (int)preset->reserved_shared_per_block;
    case CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH: return preset->major >= 9;
    case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID: return (int)bus_of(device);
    case CU_DEVICE_ATTRIBUTE_GPU_PCI_DEVICE_ID: return (int)preset->pci_device_id;
    case CU_DEVICE_ATTRIBUTE_GPU_PCI_SUBSYSTEM_ID: // the board's vendor: known for one preset
        return preset->major == 9 ? attributes[attribute] : 0;
    default: return attributes[attribute];
    }
}

CUresult driver_device_attribute(int *pi, CUdevice_attribute attrib, CUdevice dev)
{
    DRIVER_REJECT(!pi || (int)attrib <= 0 || attrib >= CU_DEVICE_ATTRIBUTE_MAX,
                  CUDA_ERROR_INVALID_VALUE);
    const struct driver_device *device = driver_device_at(dev);
    DRIVER_REJECT(!device, CUDA_ERROR_INVALID_DEVICE);
    *pi = attribute_of(device, attrib);
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int *pi, CUdevice_attribute attrib, CUdevice dev)
{
    DRIVER_BEGIN();
    return driver_device_attribute(pi, attrib, dev);
}

CUresult cuDeviceComputeCapability(int *major, int *minor, CUdevice dev)
{
    DRIVER_BEGIN();
    DRIVER_REJECT(!major || !minor, CUDA_ERROR_INVALID_VALUE);
    const struct driver_device *device = driver_device_at(dev);
    DRIVER_REJECT(!device, CUDA_ERROR_INVALID_DEVICE);
    *major = (int)device->preset->major;
    *minor = (int)device->preset->minor;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetProperties(CUdevprop *prop, CUdevice dev)
{
    DRIVER_BEGIN();
    DRIVER_REJECT(!prop, CUDA_ERROR_INVALID_VALUE);
    const struct driver_device *device = driver_device_at(dev);
    DRIVER_REJECT(!device, CUDA_ERROR_INVALID_DEVICE);
    *prop = (CUdevprop){
        .maxThreadsPerBlock = 1024,
        .maxThreadsDim = {1024, 1024, 64},
        .maxGridSize = {2147483647, 65535, 65535},
        .sharedMemPerBlock = (int)device->preset->shared_per_block,
        .totalConstantMemory = (int)device->preset->const_bytes,
        .SIMDWidth = 32,
        .memPitch = 2147483647,
        .regsPerBlock = (int)device->preset->registers_per_block,
        .clockRate = (int)device->preset->clock_khz,
        .textureAlign = 512,
    };
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetTexture1DLinearMaxWidth(size_t *maxWidthInElements, CUarray_format format,
                                            unsigned numChannels, CUdevice dev)
{
    DRIVER_BEGIN();
    DRIVER_REJECT(!maxWidthInElements, CUDA_ERROR_INVALID_VALUE);
    DRIVER_REJECT(!driver_device_at(dev), CUDA_ERROR_INVALID_DEVICE);
    *maxWidthInElements = (size_t)attributes[CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH];
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetPCIBusId(char *pciBusId, int len, CUdevice dev)
{
    DRIVER_BEGIN();
    DRIVER_REJECT(!pciBusId || len < (int)sizeof "0000:01:00.0", CUDA_ERROR_INVALID_VALUE);
    const struct driver_device *device = driver_device_at(dev);
    DRIVER_REJECT(!device, CUDA_ERROR_INVALID_DEVICE);
    snprintf(pciBusId, (size_t)len, "0000:%02X:00.0", bus_of(device));
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetByPCIBusId(CUdevice *dev, const char *pciBusId)
{
    DRIVER_BEGIN();
    DRIVER_REJECT(!dev || !pciBusId, CUDA_ERROR_INVALID_VALUE);
    unsigned domain = 0, bus = 0, slot = 0;
    bool good = sscanf(pciBusId, "%x:%x:%x", &domain, &bus, &slot) == 3 ||
                (domain = 0, sscanf(pciBusId, "%x:%x", &bus, &slot) == 2);
    for (unsigned i = 0; good && !domain && !slot && i < driver.device_count; i++)
        if (bus_of(&driver.devices[i]) == bus) {
            *dev = (CUdevice)i;
            return CUDA_SUCCESS;
        }
    return CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuDeviceGetExecAffinitySupport(int *pi, CUexecAffinityType type, CUdevice dev)
{
    DRIVER_BEGIN();
    DRIVER_REJECT(!pi, CUDA_ERROR_INVALID_VALUE);
    DRIVER_REJECT(!driver_device_at(dev), CUDA_ERROR_INVALID_DEVICE);
    *pi = 0;
    return CUDA_SUCCESS;
}

// --- Functions by name; profilers ----------------------------------------------------------------

CUresult cuGetProcAddress(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags)
{
    return driver_proc_find(symbol, pfn, cudaVersion, flags, NULL);
}

CUresult cuGetProcAddress_v2(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags,
                             CUdriverProcAddressQueryResult *symbolStatus)
{
    return driver_proc_find(symbol, pfn, cudaVersion, flags, symbolStatus);
}

CUresult cuProfilerStart(void)
{
    DRIVER_BEGIN();
    return CUDA_SUCCESS;
}

CUresult cuProfilerStop(void)
{
    DRIVER_BEGIN();
    return CUDA_SUCCESS;
}
