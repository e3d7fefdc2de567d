// SPDX-License-Identifier: Apache-2.0
// Converts the runtime's descriptions of copies and channels to the driver's, and back.
#include "runtime.h"

cudaError_t runtime_convert_kind(enum cudaMemcpyKind kind, CUmemorytype *from, CUmemorytype *to)
{
    switch (kind) {
    case cudaMemcpyHostToHost: *from = CU_MEMORYTYPE_HOST, *to = CU_MEMORYTYPE_HOST; break;
    case cudaMemcpyHostToDevice: *from = CU_MEMORYTYPE_HOST, *to = CU_MEMORYTYPE_DEVICE; break;
    case cudaMemcpyDeviceToHost: *from = CU_MEMORYTYPE_DEVICE, *to = CU_MEMORYTYPE_HOST; break;
    case cudaMemcpyDeviceToDevice: *from = CU_MEMORYTYPE_DEVICE, *to = CU_MEMORYTYPE_DEVICE; break;
    case cudaMemcpyDefault: *from = CU_MEMORYTYPE_UNIFIED, *to = CU_MEMORYTYPE_UNIFIED; break;
    default: return cudaErrorInvalidMemcpyDirection;
    }
    return cudaSuccess;
}

unsigned runtime_format_bytes(CUarray_format format)
{
    switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8:
    case CU_AD_FORMAT_UNORM_INT8X1:
    case CU_AD_FORMAT_UNORM_INT8X2:
    case CU_AD_FORMAT_UNORM_INT8X4:
    case CU_AD_FORMAT_SNORM_INT8X1:
    case CU_AD_FORMAT_SNORM_INT8X2:
    case CU_AD_FORMAT_SNORM_INT8X4: return 1;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF:
    case CU_AD_FORMAT_UNORM_INT16X1:
    case CU_AD_FORMAT_UNORM_INT16X2:
    case CU_AD_FORMAT_UNORM_INT16X4:
    case CU_AD_FORMAT_SNORM_INT16X1:
    case CU_AD_FORMAT_SNORM_INT16X2:
    case CU_AD_FORMAT_SNORM_INT16X4: return 2;
    default: return 4;
    }
}

// --- Channels -----------------------------------------------------------------------------------

// The normalized formats are in the same order in both APIs, and their names contain the number of
// channels.
static bool is_normalized(enum cudaChannelFormatKind kind)
{
    return kind >= cudaChannelFormatKindUnsignedNormalized8X1 &&
           kind <= cudaChannelFormatKindSignedNormalized16X4;
}

static const unsigned char normalized_channels[] = {1, 2, 4};

cudaError_t runtime_convert_channels(const struct cudaChannelFormatDesc *from,
                                     CUarray_format *format, unsigned *channels)
{
    if (is_normalized(from->f)) {
        unsigned index = from->f - cudaChannelFormatKindUnsignedNormalized8X1;
        *format = CU_AD_FORMAT_UNORM_INT8X1 + index;
        *channels = normalized_channels[index % 3];
        return cudaSuccess;
    }
    const int bits[4] = {from->x, from->y, from->z, from->w};
    *channels = 0;
    while (*channels < 4 && bits[*channels] != 0) {
        if (bits[*channels] != bits[0])
            return cudaErrorInvalidChannelDescriptor;
        ++*channels;
    }
    if (*channels == 0 || *channels == 3)
        return cudaErrorInvalidChannelDescriptor;
    for (unsigned i = *channels; i < 4; i++)
        if (bits[i] != 0)
            return cudaErrorInvalidChannelDescriptor;
    bool is_8 = bits[0] == 8, is_16 = bits[0] == 16, is_32 = bits[0] == 32;
    if (from->f == cudaChannelFormatKindUnsigned && (is_8 || is_16 || is_32))
        *format = is_8    ? CU_AD_FORMAT_UNSIGNED_INT8
                  : is_16 ? CU_AD_FORMAT_UNSIGNED_INT16
                          : CU_AD_FORMAT_UNSIGNED_INT32;
    else if (from->f == cudaChannelFormatKindSigned && (is_8 || is_16 || is_32))
        *format = is_8    ? CU_AD_FORMAT_SIGNED_INT8
                  : is_16 ? CU_AD_FORMAT_SIGNED_INT16
                          : CU_AD_FORMAT_SIGNED_INT32;
    else if (from->f == cudaChannelFormatKindFloat && (is_16 || is_32))
        *format = is_16 ? CU_AD_FORMAT_HALF : CU_AD_FORMAT_FLOAT;
    else
        return cudaErrorInvalidChannelDescriptor;
    return cudaSuccess;
}

struct cudaChannelFormatDesc runtime_channels(CUarray_format format, unsigned channels)
{
    enum cudaChannelFormatKind kind;
    switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_UNSIGNED_INT32: kind = cudaChannelFormatKindUnsigned; break;
    case CU_AD_FORMAT_SIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT32: kind = cudaChannelFormatKindSigned; break;
    case CU_AD_FORMAT_HALF:
    case CU_AD_FORMAT_FLOAT: kind = cudaChannelFormatKindFloat; break;
    default:
        kind = cudaChannelFormatKindNone;
        if (format >= CU_AD_FORMAT_UNORM_INT8X1 && format <= CU_AD_FORMAT_SNORM_INT16X4)
            kind =
                cudaChannelFormatKindUnsignedNormalized8X1 + (format - CU_AD_FORMAT_UNORM_INT8X1);
        break;
    }
    int bits = (int)runtime_format_bytes(format) * 8;
    return (struct cudaChannelFormatDesc){
        .x = bits,
        .y = channels > 1 ? bits : 0,
        .z = channels > 2 ? bits : 0,
        .w = channels > 3 ? bits : 0,
        .f = kind,
    };
}

// --- Three-dimensional copies -------------------------------------------------------------------

static cudaError_t element_bytes(cudaArray_t array, size_t *bytes)
{
    CUDA_ARRAY3D_DESCRIPTOR description = {0};
    CUresult result = cuArray3DGetDescriptor_v2(&description, (CUarray)array);
    if (result == CUDA_SUCCESS)
        *bytes = (size_t)description.NumChannels * runtime_format_bytes(description.Format);
    return runtime_code(result);
}

cudaError_t runtime_convert_copy(const struct cudaMemcpy3DParms *from, CUDA_MEMCPY3D *to)
{
    CUmemorytype from_type, to_type;
    cudaError_t error = runtime_convert_kind(from->kind, &from_type, &to_type);
    if (error)
        return error;
    // Each end must be either an array or memory.
    if (!from->srcArray == !from->srcPtr.ptr || !from->dstArray == !from->dstPtr.ptr)
        return cudaErrorInvalidValue;
    // The width counts elements if either end is an array, otherwise bytes. Positions in an array
    // count its elements; positions in memory are always bytes.
    size_t src_element = 1, dst_element = 1;
    if (from->srcArray)
        error = element_bytes(from->srcArray, &src_element);
    if (!error && from->dstArray)
        error = element_bytes(from->dstArray, &dst_element);
    if (error)
        return error;
    if (from->srcArray && from->dstArray && src_element != dst_element)
        return cudaErrorInvalidValue;
    size_t element = from->srcArray ? src_element : dst_element;
    *to = (CUDA_MEMCPY3D){
        .srcXInBytes = from->srcPos.x * src_element,
        .srcY = from->srcPos.y,
        .srcZ = from->srcPos.z,
        .dstXInBytes = from->dstPos.x * dst_element,
        .dstY = from->dstPos.y,
        .dstZ = from->dstPos.z,
        .WidthInBytes = from->extent.width * element,
        .Height = from->extent.height,
        .Depth = from->extent.depth,
    };
    if (from->srcArray) {
        to->srcMemoryType = CU_MEMORYTYPE_ARRAY;
        to->srcArray = (CUarray)from->srcArray;
    } else {
        to->srcMemoryType = from_type;
        to->srcHost = from->srcPtr.ptr;
        to->srcDevice = runtime_address(from->srcPtr.ptr);
        to->srcPitch = from->srcPtr.pitch;
        to->srcHeight = from->srcPtr.ysize;
    }
    if (from->dstArray) {
        to->dstMemoryType = CU_MEMORYTYPE_ARRAY;
        to->dstArray = (CUarray)from->dstArray;
    } else {
        to->dstMemoryType = to_type;
        to->dstHost = from->dstPtr.ptr;
        to->dstDevice = runtime_address(from->dstPtr.ptr);
        to->dstPitch = from->dstPtr.pitch;
        to->dstHeight = from->dstPtr.ysize;
    }
    return cudaSuccess;
}
