// SPDX-License-Identifier: Apache-2.0
// Formats API calls for the log: arguments and outputs as text that people and tests read.
// calls.awk knows the functions and their parameters.
#include "calls.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "gpusim/locks.h"

const CUuuid calls_id = {
    {'g', 'l', 'i', 'n', 't', ' ', 's', 'i', 'm', ' ', 'c', 'a', 'l', 'l', 's', 1}};

struct calls_found calls_found = {.lock = PTHREAD_MUTEX_INITIALIZER};

const struct calls *calls_find(void)
{
    if (atomic_load(&calls_found.state) == CALLS_UNKNOWN) {
        gpusim_lock(&calls_found.lock, GPUSIM_RANK_CALLS);
        if (atomic_load(&calls_found.state) == CALLS_UNKNOWN) {
            atomic_store(&calls_found.to, calls_open());
            atomic_store(&calls_found.state, atomic_load(&calls_found.to) ? CALLS_ON : CALLS_OFF);
        }
        gpusim_unlock(&calls_found.lock, GPUSIM_RANK_CALLS);
    }
    return atomic_load(&calls_found.state) == CALLS_ON ? atomic_load(&calls_found.to) : NULL;
}

static const char *text_of(struct calls_call *call)
{
    return call->text.failed ? "out-of-memory=1" : call->text.length ? call->text.text : "";
}

void calls_begin(struct calls_call *call, const char *name)
{
    call->to->begin(call, name, text_of(call));
    call->text.length = 0;
}

void calls_end(struct calls_call *call, int64_t result)
{
    call->to->end(call, result, text_of(call));
    base_buf_fini(&call->text);
}

// --- Values --------------------------------------------------------------------------------------

static void put_key(struct calls_call *call, const char *key)
{
    if (call->text.length)
        base_buf_putc(&call->text, ' ');
    base_buf_puts(&call->text, key);
    base_buf_putc(&call->text, '=');
}

void calls_signed(struct calls_call *call, const char *key, long long value)
{
    put_key(call, key);
    base_buf_i64(&call->text, value);
}

void calls_unsigned(struct calls_call *call, const char *key, unsigned long long value)
{
    put_key(call, key);
    base_buf_u64(&call->text, value);
}

void calls_float(struct calls_call *call, const char *key, double value)
{
    put_key(call, key);
    base_buf_printf(&call->text, "%.17g", value);
}

void calls_pointer(struct calls_call *call, const char *key, const void *value)
{
    put_key(call, key);
    base_buf_printf(&call->text, "0x%llx", (unsigned long long)(uintptr_t)value);
}

void calls_text(struct calls_call *call, const char *key, const char *value)
{
    enum { LONGEST = 1000 };
    if (!value) {
        calls_pointer(call, key, value);
        return;
    }
    size_t length = strnlen(value, LONGEST);
    put_key(call, key);
    base_buf_putc(&call->text, '"');
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)value[i];
        if (c < ' ' || c == '"' || c == '\\' || c == 0x7f)
            base_buf_printf(&call->text, "\\x%02x", c);
        else
            base_buf_putc(&call->text, (char)c);
    }
    base_buf_putc(&call->text, '"');
}

void calls_dim3(struct calls_call *call, const char *key, dim3 value)
{
    put_key(call, key);
    base_buf_printf(&call->text, "%u,%u,%u", value.x, value.y, value.z);
}

// --- Structures ----------------------------------------------------------------------------------

// The name of a member: "key.member".
struct dotted {
    char text[96];
};

static struct dotted dotted(const char *key, const char *member)
{
    struct dotted name;
    snprintf(name.text, sizeof(name.text), "%s.%s", key, member);
    return name;
}

#define MEMBER(name) CALLS_PUT(*call, dotted(key, #name).text, from.name)
#define ADDRESS(name) \
    calls_pointer(call, dotted(key, #name).text, (const void *)(uintptr_t)from.name)
// Functions that take a pointer log it and return if it is NULL.
#define FROM(type)                       \
    if (!value) {                        \
        calls_pointer(call, key, value); \
        return;                          \
    }                                    \
    const type from = *value

void calls_extent(struct calls_call *call, const char *key, struct cudaExtent from)
{
    MEMBER(width);
    MEMBER(height);
    MEMBER(depth);
}

static void put_position(struct calls_call *call, const char *key, struct cudaPos from)
{
    MEMBER(x);
    MEMBER(y);
    MEMBER(z);
}

void calls_pitched(struct calls_call *call, const char *key, struct cudaPitchedPtr from)
{
    MEMBER(ptr);
    MEMBER(pitch);
    MEMBER(xsize);
    MEMBER(ysize);
}

void calls_location(struct calls_call *call, const char *key, CUmemLocation from)
{
    MEMBER(type);
    MEMBER(id);
}

void calls_location_runtime(struct calls_call *call, const char *key, struct cudaMemLocation from)
{
    MEMBER(type);
    MEMBER(id);
}

void calls_channels(struct calls_call *call, const char *key, struct cudaChannelFormatDesc from)
{
    MEMBER(x);
    MEMBER(y);
    MEMBER(z);
    MEMBER(w);
    MEMBER(f);
}

void calls_memory_handle(struct calls_call *call, const char *key, CUipcMemHandle value)
{
    (void)value; // opaque
    calls_text(call, key, "");
}

void calls_event_handle(struct calls_call *call, const char *key, CUipcEventHandle value)
{
    (void)value;
    calls_text(call, key, "");
}

void calls_pitched_at(struct calls_call *call, const char *key, const struct cudaPitchedPtr *value)
{
    FROM(struct cudaPitchedPtr);
    calls_pitched(call, key, from);
}

void calls_channels_at(struct calls_call *call, const char *key,
                       const struct cudaChannelFormatDesc *value)
{
    FROM(struct cudaChannelFormatDesc);
    calls_channels(call, key, from);
}

// CUDA_MEMCPY2D and CUDA_MEMCPY3D share these members.
#define ENDS()                 \
    do {                       \
        MEMBER(srcMemoryType); \
        MEMBER(srcHost);       \
        ADDRESS(srcDevice);    \
        MEMBER(srcArray);      \
        MEMBER(srcXInBytes);   \
        MEMBER(srcY);          \
        MEMBER(srcPitch);      \
        MEMBER(dstMemoryType); \
        MEMBER(dstHost);       \
        ADDRESS(dstDevice);    \
        MEMBER(dstArray);      \
        MEMBER(dstXInBytes);   \
        MEMBER(dstY);          \
        MEMBER(dstPitch);      \
        MEMBER(WidthInBytes);  \
        MEMBER(Height);        \
    } while (0)

void calls_copy_2d(struct calls_call *call, const char *key, const CUDA_MEMCPY2D *value)
{
    FROM(CUDA_MEMCPY2D);
    ENDS();
}

void calls_copy_3d(struct calls_call *call, const char *key, const CUDA_MEMCPY3D *value)
{
    FROM(CUDA_MEMCPY3D);
    ENDS();
    MEMBER(Depth);
    MEMBER(srcZ);
    MEMBER(srcLOD);
    MEMBER(srcHeight);
    MEMBER(dstZ);
    MEMBER(dstLOD);
    MEMBER(dstHeight);
}

void calls_copy_3d_runtime(struct calls_call *call, const char *key,
                           const struct cudaMemcpy3DParms *value)
{
    FROM(struct cudaMemcpy3DParms);
    MEMBER(srcArray);
    put_position(call, dotted(key, "srcPos").text, from.srcPos);
    MEMBER(srcPtr);
    MEMBER(dstArray);
    put_position(call, dotted(key, "dstPos").text, from.dstPos);
    MEMBER(dstPtr);
    MEMBER(extent);
    MEMBER(kind);
}

#define GRID()                  \
    do {                        \
        MEMBER(gridDimX);       \
        MEMBER(gridDimY);       \
        MEMBER(gridDimZ);       \
        MEMBER(blockDimX);      \
        MEMBER(blockDimY);      \
        MEMBER(blockDimZ);      \
        MEMBER(sharedMemBytes); \
    } while (0)

void calls_launch(struct calls_call *call, const char *key, const CUlaunchConfig *value)
{
    FROM(CUlaunchConfig);
    GRID();
    MEMBER(hStream);
    MEMBER(numAttrs);
}

void calls_launch_runtime(struct calls_call *call, const char *key, const cudaLaunchConfig_t *value)
{
    FROM(cudaLaunchConfig_t);
    MEMBER(gridDim);
    MEMBER(blockDim);
    MEMBER(dynamicSmemBytes);
    MEMBER(stream);
    MEMBER(numAttrs);
}

void calls_array(struct calls_call *call, const char *key, const CUDA_ARRAY_DESCRIPTOR *value)
{
    FROM(CUDA_ARRAY_DESCRIPTOR);
    MEMBER(Width);
    MEMBER(Height);
    MEMBER(Format);
    MEMBER(NumChannels);
}

void calls_array_3d(struct calls_call *call, const char *key, const CUDA_ARRAY3D_DESCRIPTOR *value)
{
    FROM(CUDA_ARRAY3D_DESCRIPTOR);
    MEMBER(Width);
    MEMBER(Height);
    MEMBER(Depth);
    MEMBER(Format);
    MEMBER(NumChannels);
    MEMBER(Flags);
}

void calls_kernel_node(struct calls_call *call, const char *key,
                       const CUDA_KERNEL_NODE_PARAMS *value)
{
    FROM(CUDA_KERNEL_NODE_PARAMS);
    MEMBER(func);
    GRID();
    MEMBER(kern);
}

void calls_kernel_node_runtime(struct calls_call *call, const char *key,
                               const struct cudaKernelNodeParams *value)
{
    FROM(struct cudaKernelNodeParams);
    MEMBER(func);
    MEMBER(gridDim);
    MEMBER(blockDim);
    MEMBER(sharedMemBytes);
}

#define FILL()               \
    do {                     \
        ADDRESS(dst);        \
        MEMBER(pitch);       \
        MEMBER(value);       \
        MEMBER(elementSize); \
        MEMBER(width);       \
        MEMBER(height);      \
    } while (0)

void calls_fill_node(struct calls_call *call, const char *key, const CUDA_MEMSET_NODE_PARAMS *value)
{
    FROM(CUDA_MEMSET_NODE_PARAMS);
    FILL();
}

void calls_fill_node_runtime(struct calls_call *call, const char *key,
                             const struct cudaMemsetParams *value)
{
    FROM(struct cudaMemsetParams);
    FILL();
}

void calls_allocation_node(struct calls_call *call, const char *key,
                           const CUDA_MEM_ALLOC_NODE_PARAMS *value)
{
    FROM(CUDA_MEM_ALLOC_NODE_PARAMS);
    MEMBER(bytesize);
    ADDRESS(dptr);
}

void calls_allocation_node_runtime(struct calls_call *call, const char *key,
                                   const struct cudaMemAllocNodeParams *value)
{
    FROM(struct cudaMemAllocNodeParams);
    MEMBER(bytesize);
    MEMBER(dptr);
}

void calls_host_node(struct calls_call *call, const char *key, const CUDA_HOST_NODE_PARAMS *value)
{
    FROM(CUDA_HOST_NODE_PARAMS);
    ADDRESS(fn);
    MEMBER(userData);
}

void calls_host_node_runtime(struct calls_call *call, const char *key,
                             const struct cudaHostNodeParams *value)
{
    FROM(struct cudaHostNodeParams);
    ADDRESS(fn);
    MEMBER(userData);
}
