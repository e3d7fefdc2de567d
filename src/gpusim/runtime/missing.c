// SPDX-License-Identifier: Apache-2.0
// Functions that the simulated GPU does not have. Each prints that once and fails. They exist so
// that programs that link them start.
#include "runtime.h"

// A function that looks at none of its arguments may be called with any; giving the symbol its name
// here spares 60 parameter lists, some of whose types belong to OpenGL and EGL.
#define MISSING(name)                                                                       \
    cudaError_t missing_##name(void) __asm__(#name) __attribute__((visibility("default"))); \
    cudaError_t missing_##name(void)                                                        \
    {                                                                                       \
        return runtime_refuse(#name);                                                       \
    }

// Other processes.
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

// Memory and semaphores of other interfaces.
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

// Arrays: sparse ones, planes, and what they take of memory.
MISSING(cudaArrayGetMemoryRequirements)
MISSING(cudaArrayGetPlane)
MISSING(cudaArrayGetSparseProperties)
MISSING(cudaMipmappedArrayGetMemoryRequirements)
MISSING(cudaMipmappedArrayGetSparseProperties)

// Batches of operations on managed memory, and of copies in three dimensions.
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
