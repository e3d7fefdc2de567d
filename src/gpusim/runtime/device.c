// SPDX-License-Identifier: Apache-2.0
// Devices: properties, attributes, limits, flags and peers, and access to driver functions. state.c
// stores which device a thread uses.
#include <string.h>

#include "runtime.h"

// --- Properties ---------------------------------------------------------------------------------

#define AT(field) offsetof(struct cudaDeviceProp, field)

// The int and unsigned fields that correspond to one device attribute each.
static const struct {
    unsigned short offset;
    unsigned short attribute;
} int_fields[] = {
    {AT(regsPerBlock), CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK},
    {AT(warpSize), CU_DEVICE_ATTRIBUTE_WARP_SIZE},
    {AT(maxThreadsPerBlock), CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK},
    {AT(maxThreadsDim[0]), CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X},
    {AT(maxThreadsDim[1]), CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y},
    {AT(maxThreadsDim[2]), CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z},
    {AT(maxGridSize[0]), CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X},
    {AT(maxGridSize[1]), CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y},
    {AT(maxGridSize[2]), CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z},
    {AT(major), CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR},
    {AT(minor), CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR},
    {AT(multiProcessorCount), CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT},
    {AT(integrated), CU_DEVICE_ATTRIBUTE_INTEGRATED},
    {AT(canMapHostMemory), CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY},
    {AT(maxTexture1D), CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_WIDTH},
    {AT(maxTexture1DMipmap), CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_MIPMAPPED_WIDTH},
    {AT(maxTexture2D[0]), CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_WIDTH},
    {AT(maxTexture2D[1]), CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_HEIGHT},
    {AT(maxTexture2DMipmap[0]), CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_MIPMAPPED_WIDTH},
    {AT(maxTexture2DMipmap[1]), CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_MIPMAPPED_HEIGHT},
    {AT(maxTexture2DLinear[0]), CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_WIDTH},
    {AT(maxTexture2DLinear[1]), CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_HEIGHT},
    {AT(maxTexture2DLinear[2]), CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_PITCH},
    {AT(maxTexture2DGather[0]), CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_GATHER_WIDTH},
    {AT(maxTexture2DGather[1]), CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_GATHER_HEIGHT},
    {AT(maxTexture3D[0]), CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH},
    {AT(maxTexture3D[1]), CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_HEIGHT},
    {AT(maxTexture3D[2]), CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH},
    {AT(maxTexture3DAlt[0]), CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH_ALTERNATE},
    {AT(maxTexture3DAlt[1]), CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_HEIGHT_ALTERNATE},
    {AT(maxTexture3DAlt[2]), CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH_ALTERNATE},
    {AT(maxTextureCubemap), CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_WIDTH},
    {AT(maxTexture1DLayered[0]), CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_WIDTH},
    {AT(maxTexture1DLayered[1]), CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_LAYERS},
    {AT(maxTexture2DLayered[0]), CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_WIDTH},
    {AT(maxTexture2DLayered[1]), CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_HEIGHT},
    {AT(maxTexture2DLayered[2]), CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_LAYERS},
    {AT(maxTextureCubemapLayered[0]), CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH},
    {AT(maxTextureCubemapLayered[1]), CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS},
    {AT(maxSurface1D), CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_WIDTH},
    {AT(maxSurface2D[0]), CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_WIDTH},
    {AT(maxSurface2D[1]), CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_HEIGHT},
    {AT(maxSurface3D[0]), CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_WIDTH},
    {AT(maxSurface3D[1]), CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_HEIGHT},
    {AT(maxSurface3D[2]), CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_DEPTH},
    {AT(maxSurface1DLayered[0]), CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_LAYERED_WIDTH},
    {AT(maxSurface1DLayered[1]), CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_LAYERED_LAYERS},
    {AT(maxSurface2DLayered[0]), CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_WIDTH},
    {AT(maxSurface2DLayered[1]), CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_HEIGHT},
    {AT(maxSurface2DLayered[2]), CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_LAYERS},
    {AT(maxSurfaceCubemap), CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_WIDTH},
    {AT(maxSurfaceCubemapLayered[0]), CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_LAYERED_WIDTH},
    {AT(maxSurfaceCubemapLayered[1]), CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_LAYERED_LAYERS},
    {AT(concurrentKernels), CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS},
    {AT(ECCEnabled), CU_DEVICE_ATTRIBUTE_ECC_ENABLED},
    {AT(pciBusID), CU_DEVICE_ATTRIBUTE_PCI_BUS_ID},
    {AT(pciDeviceID), CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID},
    {AT(pciDomainID), CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID},
    {AT(tccDriver), CU_DEVICE_ATTRIBUTE_TCC_DRIVER},
    {AT(asyncEngineCount), CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT},
    {AT(unifiedAddressing), CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING},
    {AT(memoryBusWidth), CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH},
    {AT(l2CacheSize), CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE},
    {AT(persistingL2CacheMaxSize), CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE},
    {AT(maxThreadsPerMultiProcessor), CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR},
    {AT(streamPrioritiesSupported), CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED},
    {AT(globalL1CacheSupported), CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED},
    {AT(localL1CacheSupported), CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED},
    {AT(regsPerMultiprocessor), CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR},
    {AT(managedMemory), CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY},
    {AT(isMultiGpuBoard), CU_DEVICE_ATTRIBUTE_MULTI_GPU_BOARD},
    {AT(multiGpuBoardGroupID), CU_DEVICE_ATTRIBUTE_MULTI_GPU_BOARD_GROUP_ID},
    {AT(hostNativeAtomicSupported), CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED},
    {AT(pageableMemoryAccess), CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS},
    {AT(concurrentManagedAccess), CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS},
    {AT(computePreemptionSupported), CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED},
    {AT(canUseHostPointerForRegisteredMem),
     CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM},
    {AT(cooperativeLaunch), CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH},
    {AT(pageableMemoryAccessUsesHostPageTables),
     CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES},
    {AT(directManagedMemAccessFromHost), CU_DEVICE_ATTRIBUTE_DIRECT_MANAGED_MEM_ACCESS_FROM_HOST},
    {AT(maxBlocksPerMultiProcessor), CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR},
    {AT(accessPolicyMaxWindowSize), CU_DEVICE_ATTRIBUTE_MAX_ACCESS_POLICY_WINDOW_SIZE},
    {AT(hostRegisterSupported), CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED},
    {AT(sparseCudaArraySupported), CU_DEVICE_ATTRIBUTE_SPARSE_CUDA_ARRAY_SUPPORTED},
    {AT(hostRegisterReadOnlySupported), CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED},
    {AT(timelineSemaphoreInteropSupported),
     CU_DEVICE_ATTRIBUTE_TIMELINE_SEMAPHORE_INTEROP_SUPPORTED},
    {AT(memoryPoolsSupported), CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED},
    {AT(gpuDirectRDMASupported), CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED},
    {AT(gpuDirectRDMAFlushWritesOptions), CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS},
    {AT(gpuDirectRDMAWritesOrdering), CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING},
    {AT(memoryPoolSupportedHandleTypes), CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES},
    {AT(deferredMappingCudaArraySupported),
     CU_DEVICE_ATTRIBUTE_DEFERRED_MAPPING_CUDA_ARRAY_SUPPORTED},
    {AT(ipcEventSupported), CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED},
    {AT(clusterLaunch), CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH},
    {AT(unifiedFunctionPointers), CU_DEVICE_ATTRIBUTE_UNIFIED_FUNCTION_POINTERS},
    {AT(deviceNumaConfig), CU_DEVICE_ATTRIBUTE_NUMA_CONFIG},
    {AT(deviceNumaId), CU_DEVICE_ATTRIBUTE_NUMA_ID},
    {AT(mpsEnabled), CU_DEVICE_ATTRIBUTE_MPS_ENABLED},
    {AT(hostNumaId), CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID},
    {AT(gpuPciDeviceID), CU_DEVICE_ATTRIBUTE_GPU_PCI_DEVICE_ID},
    {AT(gpuPciSubsystemID), CU_DEVICE_ATTRIBUTE_GPU_PCI_SUBSYSTEM_ID},
    {AT(hostNumaMultinodeIpcSupported), CU_DEVICE_ATTRIBUTE_HOST_NUMA_MULTINODE_IPC_SUPPORTED},
};

// The size_t fields that correspond to one device attribute each.
static const struct {
    unsigned short offset;
    unsigned short attribute;
} size_fields[] = {
    {AT(sharedMemPerBlock), CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK},
    {AT(memPitch), CU_DEVICE_ATTRIBUTE_MAX_PITCH},
    {AT(totalConstMem), CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY},
    {AT(textureAlignment), CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT},
    {AT(texturePitchAlignment), CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT},
    {AT(surfaceAlignment), CU_DEVICE_ATTRIBUTE_SURFACE_ALIGNMENT},
    {AT(sharedMemPerMultiprocessor), CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR},
    {AT(sharedMemPerBlockOptin), CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN},
    {AT(reservedSharedMemPerBlock), CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK},
};

cudaError_t runtime_properties(struct cudaDeviceProp *properties, int device)
{
    cudaError_t error = runtime_init();
    if (error)
        return error;
    if (!properties)
        return cudaErrorInvalidValue;
    memset(properties, 0, sizeof *properties);
    CUdevice handle;
    error = runtime_code(cuDeviceGet(&handle, device));
    if (error)
        return error;
    cuDeviceGetName(properties->name, (int)sizeof properties->name, handle);
    cuDeviceGetUuid_v2(&properties->uuid, handle);
    cuDeviceTotalMem_v2(&properties->totalGlobalMem, handle);
    char *fields = (char *)properties;
    for (size_t i = 0; i < sizeof int_fields / sizeof int_fields[0]; i++) {
        int value = 0; // stays 0 if the device does not have the attribute
        cuDeviceGetAttribute(&value, int_fields[i].attribute, handle);
        memcpy(fields + int_fields[i].offset, &value, sizeof value);
    }
    for (size_t i = 0; i < sizeof size_fields / sizeof size_fields[0]; i++) {
        int value = 0;
        cuDeviceGetAttribute(&value, size_fields[i].attribute, handle);
        size_t size = (unsigned)value;
        memcpy(fields + size_fields[i].offset, &size, sizeof size);
    }
    return cudaSuccess;
}

cudaError_t cudaChooseDevice(int *device, const struct cudaDeviceProp *prop)
{
    if (!device || !prop)
        return runtime_end(cudaErrorInvalidValue);
    RUNTIME_TRY(runtime_init());
    *device = 0;
    for (int i = 0; i < runtime.device_count; i++) {
        struct cudaDeviceProp properties;
        RUNTIME_TRY(runtime_properties(&properties, i));
        if (properties.major == prop->major && properties.minor == prop->minor &&
            properties.totalGlobalMem >= prop->totalGlobalMem) {
            *device = i;
            break;
        }
    }
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attr, int device)
{
    return RUNTIME_INIT(cuDeviceGetAttribute(value, (CUdevice_attribute)attr, device));
}

cudaError_t cudaDeviceGetByPCIBusId(int *device, const char *pciBusId)
{
    return RUNTIME_INIT(cuDeviceGetByPCIBusId(device, pciBusId));
}

cudaError_t cudaDeviceGetPCIBusId(char *pciBusId, int len, int device)
{
    return RUNTIME_INIT(cuDeviceGetPCIBusId(pciBusId, len, device));
}

cudaError_t cudaDeviceGetTexture1DLinearMaxWidth(size_t *maxWidthInElements,
                                                 const struct cudaChannelFormatDesc *fmtDesc,
                                                 int device)
{
    CUarray_format format;
    unsigned channels;
    if (!fmtDesc)
        return runtime_end(cudaErrorInvalidValue);
    RUNTIME_TRY(runtime_convert_channels(fmtDesc, &format, &channels));
    return RUNTIME_INIT(
        cuDeviceGetTexture1DLinearMaxWidth(maxWidthInElements, format, channels, device));
}

// --- Flags, limits, caches ----------------------------------------------------------------------

cudaError_t cudaSetDeviceFlags(unsigned int flags)
{
    RUNTIME_TRY(runtime_init());
    if (flags & ~(unsigned)cudaDeviceMask)
        return runtime_end(cudaErrorInvalidValue);
    return runtime_end(runtime_code(cuDevicePrimaryCtxSetFlags_v2(runtime_device(), flags)));
}

cudaError_t cudaGetDeviceFlags(unsigned int *flags)
{
    int active;
    if (!flags)
        return runtime_end(cudaErrorInvalidValue);
    RUNTIME_TRY(runtime_init());
    RUNTIME_TRY(runtime_code(cuDevicePrimaryCtxGetState(runtime_device(), flags, &active)));
    *flags |= cudaDeviceMapHost; // always set on 64-bit systems
    return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize(void)
{
    return RUNTIME(cuCtxSynchronize());
}

cudaError_t cudaDeviceGetLimit(size_t *pValue, enum cudaLimit limit)
{
    return RUNTIME(cuCtxGetLimit(pValue, (CUlimit)limit));
}

cudaError_t cudaDeviceSetLimit(enum cudaLimit limit, size_t value)
{
    return RUNTIME(cuCtxSetLimit((CUlimit)limit, value));
}

cudaError_t cudaDeviceGetCacheConfig(enum cudaFuncCache *pCacheConfig)
{
    CUfunc_cache config;
    if (!pCacheConfig)
        return runtime_end(cudaErrorInvalidValue);
    RUNTIME_TRY(RUNTIME(cuCtxGetCacheConfig(&config)));
    *pCacheConfig = (enum cudaFuncCache)config;
    return cudaSuccess;
}

cudaError_t cudaDeviceSetCacheConfig(enum cudaFuncCache cacheConfig)
{
    return RUNTIME(cuCtxSetCacheConfig((CUfunc_cache)cacheConfig));
}

// Since Maxwell, banks are always four bytes wide.
cudaError_t cudaDeviceGetSharedMemConfig(enum cudaSharedMemConfig *pConfig)
{
    if (!pConfig)
        return runtime_end(cudaErrorInvalidValue);
    *pConfig = cudaSharedMemBankSizeFourByte;
    return cudaSuccess;
}

cudaError_t cudaDeviceSetSharedMemConfig(enum cudaSharedMemConfig config)
{
    (void)config;
    return runtime_end(runtime_begin());
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *leastPriority, int *greatestPriority)
{
    return RUNTIME(cuCtxGetStreamPriorityRange(leastPriority, greatestPriority));
}

cudaError_t cudaCtxResetPersistingL2Cache(void)
{
    return RUNTIME(cuCtxResetPersistingL2Cache());
}

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total)
{
    return RUNTIME(cuMemGetInfo_v2(free_bytes, total));
}

// --- Peers --------------------------------------------------------------------------------------

cudaError_t cudaDeviceCanAccessPeer(int *canAccessPeer, int device, int peerDevice)
{
    return RUNTIME_INIT(cuDeviceCanAccessPeer(canAccessPeer, device, peerDevice));
}

cudaError_t cudaDeviceEnablePeerAccess(int peerDevice, unsigned int flags)
{
    CUcontext peer;
    RUNTIME_TRY(runtime_begin());
    RUNTIME_TRY(runtime_primary(peerDevice, &peer));
    if (peerDevice == runtime_device())
        return runtime_end(cudaErrorPeerAccessUnsupported);
    return runtime_end(runtime_code(cuCtxEnablePeerAccess(peer, flags)));
}

cudaError_t cudaDeviceDisablePeerAccess(int peerDevice)
{
    CUcontext peer;
    RUNTIME_TRY(runtime_begin());
    RUNTIME_TRY(runtime_primary(peerDevice, &peer));
    return runtime_end(runtime_code(cuCtxDisablePeerAccess(peer)));
}

cudaError_t cudaDeviceGetP2PAttribute(int *value, enum cudaDeviceP2PAttr attr, int srcDevice,
                                      int dstDevice)
{
    return RUNTIME_INIT(
        cuDeviceGetP2PAttribute(value, (CUdevice_P2PAttribute)attr, srcDevice, dstDevice));
}

// --- Driver functions by name; profilers --------------------------------------------------------

static cudaError_t entry_point(const char *symbol, void **function, int version, cuuint64_t flags,
                               enum cudaDriverEntryPointQueryResult *status)
{
    CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SUCCESS;
    RUNTIME_TRY(runtime_init());
    CUresult result = cuGetProcAddress_v2(symbol, function, version, flags, &found);
    if (status)
        *status = (enum cudaDriverEntryPointQueryResult)found;
    // If the caller requests a status, an unknown name is no error.
    if (result == CUDA_ERROR_NOT_FOUND && status) {
        *function = NULL;
        return cudaSuccess;
    }
    return runtime_end(runtime_code(result));
}

// Weak, because CUDA 11 has another signature (runtime/versions/v11.c).
__attribute__((weak)) cudaError_t
cudaGetDriverEntryPoint(const char *symbol, void **funcPtr, unsigned long long flags,
                        enum cudaDriverEntryPointQueryResult *driverStatus)
{
    return entry_point(symbol, funcPtr, runtime_version, flags, driverStatus);
}

cudaError_t cudaGetDriverEntryPointByVersion(const char *symbol, void **funcPtr,
                                             unsigned int cudaVersion, unsigned long long flags,
                                             enum cudaDriverEntryPointQueryResult *driverStatus)
{
    return entry_point(symbol, funcPtr, (int)cudaVersion, flags, driverStatus);
}

// Weak, because CUDA 11 has another signature (runtime/versions/v11.c).
__attribute__((weak)) cudaError_t
cudaGetDriverEntryPoint_ptsz(const char *symbol, void **funcPtr, unsigned long long flags,
                             enum cudaDriverEntryPointQueryResult *driverStatus)
{
    if (!(flags & cudaEnableLegacyStream))
        flags |= cudaEnablePerThreadDefaultStream;
    return entry_point(symbol, funcPtr, runtime_version, flags, driverStatus);
}

cudaError_t
cudaGetDriverEntryPointByVersion_ptsz(const char *symbol, void **funcPtr, unsigned int cudaVersion,
                                      unsigned long long flags,
                                      enum cudaDriverEntryPointQueryResult *driverStatus)
{
    if (!(flags & cudaEnableLegacyStream))
        flags |= cudaEnablePerThreadDefaultStream;
    return entry_point(symbol, funcPtr, (int)cudaVersion, flags, driverStatus);
}

cudaError_t cudaProfilerStart(void)
{
    return RUNTIME(cuProfilerStart());
}

cudaError_t cudaProfilerStop(void)
{
    return RUNTIME(cuProfilerStop());
}
