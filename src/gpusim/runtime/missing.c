// SPDX-License-Identifier: Apache-2.0
// Functions that the simulated GPU does not implement. Each prints this once and fails. They exist
// so that programs that link to them can start.
#include "runtime.h"

// A function that reads none of its arguments may be called with any. Declaring all of them without
// parameters saves 60 parameter lists, some with types of OpenGL and EGL.
#define MISSING(name)                                                                       \
    cudaError_t missing_##name(void) __asm__(#name) __attribute__((visibility("default"))); \
    cudaError_t missing_##name(void)                                                        \
    {                                                                                       \
        return runtime_refuse(#name);                                                       \
    }

// Interprocess communication.
MISSING(cudaIpcCloseMemHandle)
MISSING(cudaIpcGetEventHandle)
MISSING(cudaIpcGetMemHandle)
MISSING(cudaIpcOpenEventHandle)
MISSING(cudaIpcOpenMemHandle)
MISSING(cudaMemPoolExportPointer)
MISSING(cudaMemPoolExportToShareableHandle)
MISSING(cudaMemPoolImportFromShareableHandle)
MISSING(cudaMemPoolImportPointer)

// Graphics.
MISSING(cudaGLGetDevices)
MISSING(cudaGLMapBufferObject)
MISSING(cudaGLMapBufferObjectAsync)
MISSING(cudaGLRegisterBufferObject)
MISSING(cudaGLSetBufferObjectMapFlags)
MISSING(cudaGLSetGLDevice)
MISSING(cudaGLUnmapBufferObject)
MISSING(cudaGLUnmapBufferObjectAsync)
MISSING(cudaGLUnregisterBufferObject)
MISSING(cudaGraphicsEGLRegisterImage)
MISSING(cudaGraphicsGLRegisterBuffer)
MISSING(cudaGraphicsGLRegisterImage)
MISSING(cudaGraphicsMapResources)
MISSING(cudaGraphicsResourceGetMappedEglFrame)
MISSING(cudaGraphicsResourceGetMappedMipmappedArray)
MISSING(cudaGraphicsResourceGetMappedPointer)
MISSING(cudaGraphicsResourceSetMapFlags)
MISSING(cudaGraphicsSubResourceGetMappedArray)
MISSING(cudaGraphicsUnmapResources)
MISSING(cudaGraphicsUnregisterResource)
MISSING(cudaGraphicsVDPAURegisterOutputSurface)
MISSING(cudaGraphicsVDPAURegisterVideoSurface)
MISSING(cudaVDPAUGetDevice)
MISSING(cudaVDPAUSetVDPAUDevice)
MISSING(cudaEGLStreamConsumerAcquireFrame)
MISSING(cudaEGLStreamConsumerConnect)
MISSING(cudaEGLStreamConsumerConnectWithFlags)
MISSING(cudaEGLStreamConsumerDisconnect)
MISSING(cudaEGLStreamConsumerReleaseFrame)
MISSING(cudaEGLStreamProducerConnect)
MISSING(cudaEGLStreamProducerDisconnect)
MISSING(cudaEGLStreamProducerPresentFrame)
MISSING(cudaEGLStreamProducerReturnFrame)
MISSING(cudaEventCreateFromEGLSync)

// External memory and semaphores.
MISSING(cudaImportExternalMemory)
MISSING(cudaDestroyExternalMemory)
MISSING(cudaExternalMemoryGetMappedBuffer)
MISSING(cudaExternalMemoryGetMappedMipmappedArray)
MISSING(cudaImportExternalSemaphore)
MISSING(cudaDestroyExternalSemaphore)
MISSING(cudaSignalExternalSemaphoresAsync)
MISSING(cudaSignalExternalSemaphoresAsync_ptsz)
MISSING(cudaWaitExternalSemaphoresAsync)
MISSING(cudaWaitExternalSemaphoresAsync_ptsz)
MISSING(cudaGraphAddExternalSemaphoresSignalNode)
MISSING(cudaGraphAddExternalSemaphoresWaitNode)
MISSING(cudaGraphExecExternalSemaphoresSignalNodeSetParams)
MISSING(cudaGraphExecExternalSemaphoresWaitNodeSetParams)
MISSING(cudaGraphExternalSemaphoresSignalNodeGetParams)
MISSING(cudaGraphExternalSemaphoresSignalNodeSetParams)
MISSING(cudaGraphExternalSemaphoresWaitNodeGetParams)
MISSING(cudaGraphExternalSemaphoresWaitNodeSetParams)
MISSING(cudaDeviceGetNvSciSyncAttributes)
MISSING(cudaDeviceFlushGPUDirectRDMAWrites)

// Sparse arrays, planes, and memory requirements of arrays.
MISSING(cudaArrayGetMemoryRequirements)
MISSING(cudaArrayGetPlane)
MISSING(cudaArrayGetSparseProperties)
MISSING(cudaMipmappedArrayGetMemoryRequirements)
MISSING(cudaMipmappedArrayGetSparseProperties)

// Batches of operations on managed memory, and of three-dimensional copies.
MISSING(cudaMemDiscardAndPrefetchBatchAsync)
MISSING(cudaMemDiscardAndPrefetchBatchAsync_ptsz)
MISSING(cudaMemDiscardBatchAsync)
MISSING(cudaMemDiscardBatchAsync_ptsz)
MISSING(cudaMemPrefetchBatchAsync)
MISSING(cudaMemPrefetchBatchAsync_ptsz)
MISSING(cudaMemcpy3DBatchAsync)
MISSING(cudaMemcpy3DBatchAsync_ptsz)

// Notifications, logs, capabilities, and tables of undocumented functions.
MISSING(cudaDeviceRegisterAsyncNotification)
MISSING(cudaDeviceUnregisterAsyncNotification)
MISSING(cudaDeviceGetHostAtomicCapabilities)
MISSING(cudaDeviceGetP2PAtomicCapabilities)
MISSING(cudaLogsCurrent)
MISSING(cudaLogsDumpToFile)
MISSING(cudaLogsDumpToMemory)
MISSING(cudaLogsRegisterCallback)
MISSING(cudaLogsUnregisterCallback)
MISSING(cudaGetExportTable)
MISSING(__cudaGetProcAddress)
