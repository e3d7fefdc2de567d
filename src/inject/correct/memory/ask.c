// SPDX-License-Identifier: Apache-2.0
// Answers queries about memory as the driver would without glint, although glint keeps memory that
// the program has freed.
#include "ask.h"

#include "back.h"
#include "inject/correct/correct.h"
#include "inject/correct/wait/release.h"
#include "pool.h"

// Gives kept memory back first, because only the driver knows by how much its free memory grows.
static CUresult tells_free(size_t *free_bytes, size_t *total)
{
    const struct core_call *call = correct_call();
    correct_pool_give_back();
    correct_release();
    const CUresult result = REAL(cuMemGetInfo_v2)(free_bytes, total);
    if (result == CUDA_SUCCESS && free_bytes && call->current)
        *free_bytes = (size_t)((int64_t)*free_bytes +
                               (int64_t)correct_pool_kept_bytes(call->current->device) +
                               correct_back_more_bytes(call->current->device));
    return result;
}

// How queries about an address are answered if the program's view differs from the driver's. An
// address in a kept block is invalid, and so is memory beyond the requested bytes.
struct view {
    CUdeviceptr address;
    uint64_t bytes;    // 0: the driver's answer
    CUcontext context; // NULL: that of the driver's answer
};

static struct view view_of(CUdeviceptr address)
{
    static const CUdeviceptr nothing = 1;
    struct view view = {.address = address};
    struct correct_back_view backed;
    if (correct_back_view(address, &backed)) {
        view.bytes = backed.bytes;
        view.context = backed.context;
        if (!view.bytes)
            view.address = nothing;
    } else if (correct_pool_view(address, &view.bytes) && !view.bytes) {
        view.address = nothing;
    }
    return view;
}

static CUresult tells_range(CUdeviceptr *start, size_t *bytes, CUdeviceptr address)
{
    const struct view view = view_of(address);
    const CUresult result = REAL(cuMemGetAddressRange_v2)(start, bytes, view.address);
    if (result == CUDA_SUCCESS && bytes && view.bytes)
        *bytes = view.bytes;
    return result;
}

static void tell_attribute(void *data, CUpointer_attribute attribute, struct view view)
{
    if (attribute == CU_POINTER_ATTRIBUTE_RANGE_SIZE && view.bytes)
        *(size_t *)data = view.bytes;
    if (attribute == CU_POINTER_ATTRIBUTE_CONTEXT && view.context)
        *(CUcontext *)data = view.context;
}

static CUresult tells_attribute(void *data, CUpointer_attribute attribute, CUdeviceptr address)
{
    const struct view view = view_of(address);
    const CUresult result = REAL(cuPointerGetAttribute)(data, attribute, view.address);
    if (attribute == CU_POINTER_ATTRIBUTE_P2P_TOKENS)
        correct_pool_share(address);
    if (result == CUDA_SUCCESS)
        tell_attribute(data, attribute, view);
    return result;
}

static CUresult tells_attributes(unsigned count, CUpointer_attribute *attributes, void **data,
                                 CUdeviceptr address)
{
    const struct view view = view_of(address);
    const CUresult result = REAL(cuPointerGetAttributes)(count, attributes, data, view.address);
    for (unsigned i = 0; i < count && result == CUDA_SUCCESS; i++) {
        if (attributes[i] == CU_POINTER_ATTRIBUTE_P2P_TOKENS)
            correct_pool_share(address);
        tell_attribute(data[i], attributes[i], view);
    }
    return result;
}

void correct_ask_start(void)
{
    correct_stand(HOOK_cuMemGetInfo_v2, (void *)(uintptr_t)tells_free);
    correct_stand(HOOK_cuMemGetAddressRange_v2, (void *)(uintptr_t)tells_range);
    correct_stand(HOOK_cuPointerGetAttribute, (void *)(uintptr_t)tells_attribute);
    correct_stand(HOOK_cuPointerGetAttributes, (void *)(uintptr_t)tells_attributes);
}
