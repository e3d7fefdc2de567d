// SPDX-License-Identifier: Apache-2.0
// What libcudart.so.12 and libcudart.so.11.0 share: the older structures, and how a function gets
// an exported name that cudaabi declares with CUDA 13's signature.
#ifndef GLINT_GPUSIM_RUNTIME_VERSIONS_OLD_H
#define GLINT_GPUSIM_RUNTIME_VERSIONS_OLD_H

#include "gpusim/runtime/runtime.h"

// Follows a declaration and gives the function's exported name. calls.awk generates the exported
// function, which calls this one.
#define EXPORTED_AS(name) __asm__("inner_" name)
// The same, but the function itself is exported, without a generated one.
#define DIRECTLY_AS(name) __asm__(name) __attribute__((visibility("default")))

// cudaDeviceProp of CUDA 12. CUDA 11's, and that of CUDA 12's unversioned cudaGetDeviceProperties,
// are its fields up to reservedSharedMemPerBlock.
struct runtime_properties_12 {
    char name[256];
    cudaUUID_t uuid;
    char luid[8];
    unsigned int luidDeviceNodeMask;
    size_t totalGlobalMem;
    size_t sharedMemPerBlock;
    int regsPerBlock;
    int warpSize;
    size_t memPitch;
    int maxThreadsPerBlock;
    int maxThreadsDim[3];
    int maxGridSize[3];
    int clockRate;
    size_t totalConstMem;
    int major;
    int minor;
    size_t textureAlignment;
    size_t texturePitchAlignment;
    int deviceOverlap;
    int multiProcessorCount;
    int kernelExecTimeoutEnabled;
    int integrated;
    int canMapHostMemory;
    int computeMode;
    int maxTexture1D;
    int maxTexture1DMipmap;
    int maxTexture1DLinear;
    int maxTexture2D[2];
    int maxTexture2DMipmap[2];
    int maxTexture2DLinear[3];
    int maxTexture2DGather[2];
    int maxTexture3D[3];
    int maxTexture3DAlt[3];
    int maxTextureCubemap;
    int maxTexture1DLayered[2];
    int maxTexture2DLayered[3];
    int maxTextureCubemapLayered[2];
    int maxSurface1D;
    int maxSurface2D[2];
    int maxSurface3D[3];
    int maxSurface1DLayered[2];
    int maxSurface2DLayered[3];
    int maxSurfaceCubemap;
    int maxSurfaceCubemapLayered[2];
    size_t surfaceAlignment;
    int concurrentKernels;
    int ECCEnabled;
    int pciBusID;
    int pciDeviceID;
    int pciDomainID;
    int tccDriver;
    int asyncEngineCount;
    int unifiedAddressing;
    int memoryClockRate;
    int memoryBusWidth;
    int l2CacheSize;
    int persistingL2CacheMaxSize;
    int maxThreadsPerMultiProcessor;
    int streamPrioritiesSupported;
    int globalL1CacheSupported;
    int localL1CacheSupported;
    size_t sharedMemPerMultiprocessor;
    int regsPerMultiprocessor;
    int managedMemory;
    int isMultiGpuBoard;
    int multiGpuBoardGroupID;
    int hostNativeAtomicSupported;
    int singleToDoublePrecisionPerfRatio;
    int pageableMemoryAccess;
    int concurrentManagedAccess;
    int computePreemptionSupported;
    int canUseHostPointerForRegisteredMem;
    int cooperativeLaunch;
    int cooperativeMultiDeviceLaunch;
    size_t sharedMemPerBlockOptin;
    int pageableMemoryAccessUsesHostPageTables;
    int directManagedMemAccessFromHost;
    int maxBlocksPerMultiProcessor;
    int accessPolicyMaxWindowSize;
    size_t reservedSharedMemPerBlock;
    int hostRegisterSupported;
    int sparseCudaArraySupported;
    int hostRegisterReadOnlySupported;
    int timelineSemaphoreInteropSupported;
    int memoryPoolsSupported;
    int gpuDirectRDMASupported;
    unsigned int gpuDirectRDMAFlushWritesOptions;
    int gpuDirectRDMAWritesOrdering;
    unsigned int memoryPoolSupportedHandleTypes;
    int deferredMappingCudaArraySupported;
    int ipcEventSupported;
    int clusterLaunch;
    int unifiedFunctionPointers;
    int reserved[63];
};

#define RUNTIME_PROPERTIES_11_BYTES \
    (offsetof(struct runtime_properties_12, reservedSharedMemPerBlock) + sizeof(size_t))

// cudaPointerAttributes of CUDA 12 and 11: without the reserved words of CUDA 13.
struct runtime_pointer_12 {
    enum cudaMemoryType type;
    int device;
    void *device_pointer;
    void *host_pointer;
};

// Fills every field. Does not record its error.
cudaError_t runtime_old_properties(struct runtime_properties_12 *properties, int device);

#endif
