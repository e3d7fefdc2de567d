// SPDX-License-Identifier: Apache-2.0
// The forms of functions for programs compiled with per-thread default streams (_ptds and _ptsz):
// the plain function, with stream 0 taken for the calling thread's own.
#include "driver.h"

// The call is made with the thread marked, and driver_stream_of looks at the mark.
#define PER_THREAD(call)                             \
    do {                                             \
        struct driver_thread *own = driver_thread(); \
        own->per_thread++;                           \
        CUresult result = (call);                    \
        own->per_thread--;                           \
        return result;                               \
    } while (0)

CUresult cuLaunchCooperativeKernel_ptsz(CUfunction f, unsigned int gridDimX, unsigned int gridDimY,
                                        unsigned int gridDimZ, unsigned int blockDimX,
                                        unsigned int blockDimY, unsigned int blockDimZ,
                                        unsigned int sharedMemBytes, CUstream hStream,
                                        void **kernelParams)
{
    PER_THREAD(cuLaunchCooperativeKernel(f, gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY,
                                         blockDimZ, sharedMemBytes, hStream, kernelParams));
}

CUresult cuLaunchHostFunc_ptsz(CUstream hStream, CUhostFn fn, void *userData)
{
    PER_THREAD(cuLaunchHostFunc(hStream, fn, userData));
}

CUresult cuLaunchKernelEx_ptsz(const CUlaunchConfig *config, CUfunction f, void **kernelParams,
                               void **extra)
{
    PER_THREAD(cuLaunchKernelEx(config, f, kernelParams, extra));
}

CUresult cuLaunchKernel_ptsz(CUfunction f, unsigned int gridDimX, unsigned int gridDimY,
                             unsigned int gridDimZ, unsigned int blockDimX, unsigned int blockDimY,
                             unsigned int blockDimZ, unsigned int sharedMemBytes, CUstream hStream,
                             void **kernelParams, void **extra)
{
    PER_THREAD(cuLaunchKernel(f, gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ,
                              sharedMemBytes, hStream, kernelParams, extra));
}

CUresult cuStreamAddCallback_ptsz(CUstream hStream, CUstreamCallback callback, void *userData,
                                  unsigned int flags)
{
    PER_THREAD(cuStreamAddCallback(hStream, callback, userData, flags));
}

CUresult cuStreamAttachMemAsync_ptsz(CUstream hStream, CUdeviceptr dptr, size_t length,
                                     unsigned int flags)
{
    PER_THREAD(cuStreamAttachMemAsync(hStream, dptr, length, flags));
}

CUresult cuStreamBatchMemOp_ptsz(CUstream stream, unsigned int count,
                                 CUstreamBatchMemOpParams *paramArray, unsigned int flags)
{
    PER_THREAD(cuStreamBatchMemOp(stream, count, paramArray, flags));
}

CUresult cuStreamBatchMemOp_v2_ptsz(CUstream stream, unsigned int count,
                                    CUstreamBatchMemOpParams *paramArray, unsigned int flags)
{
    PER_THREAD(cuStreamBatchMemOp_v2(stream, count, paramArray, flags));
}

CUresult cuStreamCopyAttributes_ptsz(CUstream dst, CUstream src)
{
    PER_THREAD(cuStreamCopyAttributes(dst, src));
}

CUresult cuStreamGetAttribute_ptsz(CUstream hStream, CUstreamAttrID attr,
                                   CUstreamAttrValue *value_out)
{
    PER_THREAD(cuStreamGetAttribute(hStream, attr, value_out));
}

CUresult cuStreamGetCtx_ptsz(CUstream hStream, CUcontext *pctx)
{
    PER_THREAD(cuStreamGetCtx(hStream, pctx));
}

CUresult cuStreamGetCtx_v2_ptsz(CUstream hStream, CUcontext *pCtx, CUgreenCtx *pGreenCtx)
{
    PER_THREAD(cuStreamGetCtx_v2(hStream, pCtx, pGreenCtx));
}

CUresult cuStreamGetDevice_ptsz(CUstream hStream, CUdevice *device)
{
    PER_THREAD(cuStreamGetDevice(hStream, device));
}

CUresult cuStreamGetFlags_ptsz(CUstream hStream, unsigned int *flags)
{
    PER_THREAD(cuStreamGetFlags(hStream, flags));
}

CUresult cuStreamGetId_ptsz(CUstream hStream, unsigned long long *streamId)
{
    PER_THREAD(cuStreamGetId(hStream, streamId));
}

CUresult cuStreamGetPriority_ptsz(CUstream hStream, int *priority)
{
    PER_THREAD(cuStreamGetPriority(hStream, priority));
}

CUresult cuStreamIsCapturing_ptsz(CUstream hStream, CUstreamCaptureStatus *captureStatus)
{
    PER_THREAD(cuStreamIsCapturing(hStream, captureStatus));
}

CUresult cuStreamQuery_ptsz(CUstream hStream)
{
    PER_THREAD(cuStreamQuery(hStream));
}

CUresult cuStreamSetAttribute_ptsz(CUstream hStream, CUstreamAttrID attr,
                                   const CUstreamAttrValue *value)
{
    PER_THREAD(cuStreamSetAttribute(hStream, attr, value));
}

CUresult cuStreamSynchronize_ptsz(CUstream hStream)
{
    PER_THREAD(cuStreamSynchronize(hStream));
}

CUresult cuStreamWaitEvent_ptsz(CUstream hStream, CUevent hEvent, unsigned int Flags)
{
    PER_THREAD(cuStreamWaitEvent(hStream, hEvent, Flags));
}

CUresult cuStreamWaitValue32_ptsz(CUstream stream, CUdeviceptr addr, cuuint32_t value,
                                  unsigned int flags)
{
    PER_THREAD(cuStreamWaitValue32(stream, addr, value, flags));
}

CUresult cuStreamWaitValue32_v2_ptsz(CUstream stream, CUdeviceptr addr, cuuint32_t value,
                                     unsigned int flags)
{
    PER_THREAD(cuStreamWaitValue32_v2(stream, addr, value, flags));
}

CUresult cuStreamWaitValue64_ptsz(CUstream stream, CUdeviceptr addr, cuuint64_t value,
                                  unsigned int flags)
{
    PER_THREAD(cuStreamWaitValue64(stream, addr, value, flags));
}

CUresult cuStreamWaitValue64_v2_ptsz(CUstream stream, CUdeviceptr addr, cuuint64_t value,
                                     unsigned int flags)
{
    PER_THREAD(cuStreamWaitValue64_v2(stream, addr, value, flags));
}

CUresult cuStreamWriteValue32_ptsz(CUstream stream, CUdeviceptr addr, cuuint32_t value,
                                   unsigned int flags)
{
    PER_THREAD(cuStreamWriteValue32(stream, addr, value, flags));
}

CUresult cuStreamWriteValue32_v2_ptsz(CUstream stream, CUdeviceptr addr, cuuint32_t value,
                                      unsigned int flags)
{
    PER_THREAD(cuStreamWriteValue32_v2(stream, addr, value, flags));
}

CUresult cuStreamWriteValue64_ptsz(CUstream stream, CUdeviceptr addr, cuuint64_t value,
                                   unsigned int flags)
{
    PER_THREAD(cuStreamWriteValue64(stream, addr, value, flags));
}

CUresult cuStreamWriteValue64_v2_ptsz(CUstream stream, CUdeviceptr addr, cuuint64_t value,
                                      unsigned int flags)
{
    PER_THREAD(cuStreamWriteValue64_v2(stream, addr, value, flags));
}

CUresult cuEventRecordWithFlags_ptsz(CUevent hEvent, CUstream hStream, unsigned int flags)
{
    PER_THREAD(cuEventRecordWithFlags(hEvent, hStream, flags));
}

CUresult cuEventRecord_ptsz(CUevent hEvent, CUstream hStream)
{
    PER_THREAD(cuEventRecord(hEvent, hStream));
}

CUresult cuGraphInstantiateWithParams_ptsz(CUgraphExec *phGraphExec, CUgraph hGraph,
                                           CUDA_GRAPH_INSTANTIATE_PARAMS *instantiateParams)
{
    PER_THREAD(cuGraphInstantiateWithParams(phGraphExec, hGraph, instantiateParams));
}

CUresult cuGraphLaunch_ptsz(CUgraphExec hGraphExec, CUstream hStream)
{
    PER_THREAD(cuGraphLaunch(hGraphExec, hStream));
}

CUresult cuGraphUpload_ptsz(CUgraphExec hGraphExec, CUstream hStream)
{
    PER_THREAD(cuGraphUpload(hGraphExec, hStream));
}

CUresult cuStreamBeginCaptureToGraph_ptsz(CUstream hStream, CUgraph hGraph,
                                          const CUgraphNode *dependencies,
                                          const CUgraphEdgeData *dependencyData,
                                          size_t numDependencies, CUstreamCaptureMode mode)
{
    PER_THREAD(cuStreamBeginCaptureToGraph(hStream, hGraph, dependencies, dependencyData,
                                           numDependencies, mode));
}

CUresult cuStreamBeginCapture_ptsz(CUstream hStream)
{
    PER_THREAD(cuStreamBeginCapture(hStream));
}

CUresult cuStreamBeginCapture_v2_ptsz(CUstream hStream, CUstreamCaptureMode mode)
{
    PER_THREAD(cuStreamBeginCapture_v2(hStream, mode));
}

CUresult cuStreamEndCapture_ptsz(CUstream hStream, CUgraph *phGraph)
{
    PER_THREAD(cuStreamEndCapture(hStream, phGraph));
}

CUresult cuStreamGetCaptureInfo_ptsz(CUstream hStream, CUstreamCaptureStatus *captureStatus_out,
                                     cuuint64_t *id_out)
{
    PER_THREAD(cuStreamGetCaptureInfo(hStream, captureStatus_out, id_out));
}

CUresult cuStreamGetCaptureInfo_v2_ptsz(CUstream hStream, CUstreamCaptureStatus *captureStatus_out,
                                        cuuint64_t *id_out, CUgraph *graph_out,
                                        const CUgraphNode **dependencies_out,
                                        size_t *numDependencies_out)
{
    PER_THREAD(cuStreamGetCaptureInfo_v2(hStream, captureStatus_out, id_out, graph_out,
                                         dependencies_out, numDependencies_out));
}

CUresult cuStreamGetCaptureInfo_v3_ptsz(CUstream hStream, CUstreamCaptureStatus *captureStatus_out,
                                        cuuint64_t *id_out, CUgraph *graph_out,
                                        const CUgraphNode **dependencies_out,
                                        const CUgraphEdgeData **edgeData_out,
                                        size_t *numDependencies_out)
{
    PER_THREAD(cuStreamGetCaptureInfo_v3(hStream, captureStatus_out, id_out, graph_out,
                                         dependencies_out, edgeData_out, numDependencies_out));
}

CUresult cuStreamUpdateCaptureDependencies_ptsz(CUstream hStream, CUgraphNode *dependencies,
                                                size_t numDependencies, unsigned int flags)
{
    PER_THREAD(cuStreamUpdateCaptureDependencies(hStream, dependencies, numDependencies, flags));
}

CUresult cuStreamUpdateCaptureDependencies_v2_ptsz(CUstream hStream, CUgraphNode *dependencies,
                                                   const CUgraphEdgeData *dependencyData,
                                                   size_t numDependencies, unsigned int flags)
{
    PER_THREAD(cuStreamUpdateCaptureDependencies_v2(hStream, dependencies, dependencyData,
                                                    numDependencies, flags));
}

CUresult cuMemcpy2DAsync_v2_ptsz(const CUDA_MEMCPY2D *pCopy, CUstream hStream)
{
    PER_THREAD(cuMemcpy2DAsync_v2(pCopy, hStream));
}

CUresult cuMemcpy2DUnaligned_v2_ptds(const CUDA_MEMCPY2D *pCopy)
{
    PER_THREAD(cuMemcpy2DUnaligned_v2(pCopy));
}

CUresult cuMemcpy2D_v2_ptds(const CUDA_MEMCPY2D *pCopy)
{
    PER_THREAD(cuMemcpy2D_v2(pCopy));
}

CUresult cuMemcpy3DAsync_v2_ptsz(const CUDA_MEMCPY3D *pCopy, CUstream hStream)
{
    PER_THREAD(cuMemcpy3DAsync_v2(pCopy, hStream));
}

CUresult cuMemcpy3DPeerAsync_ptsz(const CUDA_MEMCPY3D_PEER *pCopy, CUstream hStream)
{
    PER_THREAD(cuMemcpy3DPeerAsync(pCopy, hStream));
}

CUresult cuMemcpy3DPeer_ptds(const CUDA_MEMCPY3D_PEER *pCopy)
{
    PER_THREAD(cuMemcpy3DPeer(pCopy));
}

CUresult cuMemcpy3D_v2_ptds(const CUDA_MEMCPY3D *pCopy)
{
    PER_THREAD(cuMemcpy3D_v2(pCopy));
}

CUresult cuMemcpyAsync_ptsz(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount, CUstream hStream)
{
    PER_THREAD(cuMemcpyAsync(dst, src, ByteCount, hStream));
}

CUresult cuMemcpyAtoA_v2_ptds(CUarray dstArray, size_t dstOffset, CUarray srcArray,
                              size_t srcOffset, size_t ByteCount)
{
    PER_THREAD(cuMemcpyAtoA_v2(dstArray, dstOffset, srcArray, srcOffset, ByteCount));
}

CUresult cuMemcpyAtoD_v2_ptds(CUdeviceptr dstDevice, CUarray srcArray, size_t srcOffset,
                              size_t ByteCount)
{
    PER_THREAD(cuMemcpyAtoD_v2(dstDevice, srcArray, srcOffset, ByteCount));
}

CUresult cuMemcpyAtoHAsync_v2_ptsz(void *dstHost, CUarray srcArray, size_t srcOffset,
                                   size_t ByteCount, CUstream hStream)
{
    PER_THREAD(cuMemcpyAtoHAsync_v2(dstHost, srcArray, srcOffset, ByteCount, hStream));
}

CUresult cuMemcpyAtoH_v2_ptds(void *dstHost, CUarray srcArray, size_t srcOffset, size_t ByteCount)
{
    PER_THREAD(cuMemcpyAtoH_v2(dstHost, srcArray, srcOffset, ByteCount));
}

CUresult cuMemcpyBatchAsync_ptsz(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count,
                                 CUmemcpyAttributes *attrs, size_t *attrsIdxs, size_t numAttrs,
                                 size_t *failIdx, CUstream hStream)
{
    PER_THREAD(
        cuMemcpyBatchAsync(dsts, srcs, sizes, count, attrs, attrsIdxs, numAttrs, failIdx, hStream));
}

CUresult cuMemcpyBatchAsync_v2_ptsz(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes,
                                    size_t count, CUmemcpyAttributes *attrs, size_t *attrsIdxs,
                                    size_t numAttrs, CUstream hStream)
{
    PER_THREAD(
        cuMemcpyBatchAsync_v2(dsts, srcs, sizes, count, attrs, attrsIdxs, numAttrs, hStream));
}

CUresult cuMemcpyDtoA_v2_ptds(CUarray dstArray, size_t dstOffset, CUdeviceptr srcDevice,
                              size_t ByteCount)
{
    PER_THREAD(cuMemcpyDtoA_v2(dstArray, dstOffset, srcDevice, ByteCount));
}

CUresult cuMemcpyDtoDAsync_v2_ptsz(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount,
                                   CUstream hStream)
{
    PER_THREAD(cuMemcpyDtoDAsync_v2(dstDevice, srcDevice, ByteCount, hStream));
}

CUresult cuMemcpyDtoD_v2_ptds(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount)
{
    PER_THREAD(cuMemcpyDtoD_v2(dstDevice, srcDevice, ByteCount));
}

CUresult cuMemcpyDtoHAsync_v2_ptsz(void *dstHost, CUdeviceptr srcDevice, size_t ByteCount,
                                   CUstream hStream)
{
    PER_THREAD(cuMemcpyDtoHAsync_v2(dstHost, srcDevice, ByteCount, hStream));
}

CUresult cuMemcpyDtoH_v2_ptds(void *dstHost, CUdeviceptr srcDevice, size_t ByteCount)
{
    PER_THREAD(cuMemcpyDtoH_v2(dstHost, srcDevice, ByteCount));
}

CUresult cuMemcpyHtoAAsync_v2_ptsz(CUarray dstArray, size_t dstOffset, const void *srcHost,
                                   size_t ByteCount, CUstream hStream)
{
    PER_THREAD(cuMemcpyHtoAAsync_v2(dstArray, dstOffset, srcHost, ByteCount, hStream));
}

CUresult cuMemcpyHtoA_v2_ptds(CUarray dstArray, size_t dstOffset, const void *srcHost,
                              size_t ByteCount)
{
    PER_THREAD(cuMemcpyHtoA_v2(dstArray, dstOffset, srcHost, ByteCount));
}

CUresult cuMemcpyHtoDAsync_v2_ptsz(CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount,
                                   CUstream hStream)
{
    PER_THREAD(cuMemcpyHtoDAsync_v2(dstDevice, srcHost, ByteCount, hStream));
}

CUresult cuMemcpyHtoD_v2_ptds(CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount)
{
    PER_THREAD(cuMemcpyHtoD_v2(dstDevice, srcHost, ByteCount));
}

CUresult cuMemcpyPeerAsync_ptsz(CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice,
                                CUcontext srcContext, size_t ByteCount, CUstream hStream)
{
    PER_THREAD(cuMemcpyPeerAsync(dstDevice, dstContext, srcDevice, srcContext, ByteCount, hStream));
}

CUresult cuMemcpyPeer_ptds(CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice,
                           CUcontext srcContext, size_t ByteCount)
{
    PER_THREAD(cuMemcpyPeer(dstDevice, dstContext, srcDevice, srcContext, ByteCount));
}

CUresult cuMemcpy_ptds(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount)
{
    PER_THREAD(cuMemcpy(dst, src, ByteCount));
}

CUresult cuMemsetD16Async_ptsz(CUdeviceptr dstDevice, unsigned short us, size_t N, CUstream hStream)
{
    PER_THREAD(cuMemsetD16Async(dstDevice, us, N, hStream));
}

CUresult cuMemsetD16_v2_ptds(CUdeviceptr dstDevice, unsigned short us, size_t N)
{
    PER_THREAD(cuMemsetD16_v2(dstDevice, us, N));
}

CUresult cuMemsetD2D16Async_ptsz(CUdeviceptr dstDevice, size_t dstPitch, unsigned short us,
                                 size_t Width, size_t Height, CUstream hStream)
{
    PER_THREAD(cuMemsetD2D16Async(dstDevice, dstPitch, us, Width, Height, hStream));
}

CUresult cuMemsetD2D16_v2_ptds(CUdeviceptr dstDevice, size_t dstPitch, unsigned short us,
                               size_t Width, size_t Height)
{
    PER_THREAD(cuMemsetD2D16_v2(dstDevice, dstPitch, us, Width, Height));
}

CUresult cuMemsetD2D32Async_ptsz(CUdeviceptr dstDevice, size_t dstPitch, unsigned int ui,
                                 size_t Width, size_t Height, CUstream hStream)
{
    PER_THREAD(cuMemsetD2D32Async(dstDevice, dstPitch, ui, Width, Height, hStream));
}

CUresult cuMemsetD2D32_v2_ptds(CUdeviceptr dstDevice, size_t dstPitch, unsigned int ui,
                               size_t Width, size_t Height)
{
    PER_THREAD(cuMemsetD2D32_v2(dstDevice, dstPitch, ui, Width, Height));
}

CUresult cuMemsetD2D8Async_ptsz(CUdeviceptr dstDevice, size_t dstPitch, unsigned char uc,
                                size_t Width, size_t Height, CUstream hStream)
{
    PER_THREAD(cuMemsetD2D8Async(dstDevice, dstPitch, uc, Width, Height, hStream));
}

CUresult cuMemsetD2D8_v2_ptds(CUdeviceptr dstDevice, size_t dstPitch, unsigned char uc,
                              size_t Width, size_t Height)
{
    PER_THREAD(cuMemsetD2D8_v2(dstDevice, dstPitch, uc, Width, Height));
}

CUresult cuMemsetD32Async_ptsz(CUdeviceptr dstDevice, unsigned int ui, size_t N, CUstream hStream)
{
    PER_THREAD(cuMemsetD32Async(dstDevice, ui, N, hStream));
}

CUresult cuMemsetD32_v2_ptds(CUdeviceptr dstDevice, unsigned int ui, size_t N)
{
    PER_THREAD(cuMemsetD32_v2(dstDevice, ui, N));
}

CUresult cuMemsetD8Async_ptsz(CUdeviceptr dstDevice, unsigned char uc, size_t N, CUstream hStream)
{
    PER_THREAD(cuMemsetD8Async(dstDevice, uc, N, hStream));
}

CUresult cuMemsetD8_v2_ptds(CUdeviceptr dstDevice, unsigned char uc, size_t N)
{
    PER_THREAD(cuMemsetD8_v2(dstDevice, uc, N));
}

CUresult cuMemAllocAsync_ptsz(CUdeviceptr *dptr, size_t bytesize, CUstream hStream)
{
    PER_THREAD(cuMemAllocAsync(dptr, bytesize, hStream));
}

CUresult cuMemAllocFromPoolAsync_ptsz(CUdeviceptr *dptr, size_t bytesize, CUmemoryPool pool,
                                      CUstream hStream)
{
    PER_THREAD(cuMemAllocFromPoolAsync(dptr, bytesize, pool, hStream));
}

CUresult cuMemFreeAsync_ptsz(CUdeviceptr dptr, CUstream hStream)
{
    PER_THREAD(cuMemFreeAsync(dptr, hStream));
}

CUresult cuMemPrefetchAsync_ptsz(CUdeviceptr devPtr, size_t count, CUdevice dstDevice,
                                 CUstream hStream)
{
    PER_THREAD(cuMemPrefetchAsync(devPtr, count, dstDevice, hStream));
}

CUresult cuMemPrefetchAsync_v2_ptsz(CUdeviceptr devPtr, size_t count, CUmemLocation location,
                                    unsigned int flags, CUstream hStream)
{
    PER_THREAD(cuMemPrefetchAsync_v2(devPtr, count, location, flags, hStream));
}
