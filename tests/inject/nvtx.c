// SPDX-License-Identifier: Apache-2.0
// Announces the regions of its own heap by NVTX. Compiled with the vendor's headers
// (WITH_VENDOR_HEADERS), it works as real programs do. Otherwise it contacts the library in the
// same way as those headers, with our declarations.
#ifdef WITH_VENDOR_HEADERS
#include <stdio.h>
#include <stdlib.h>

#include <cuda.h>
#include <nvtx3/nvToolsExtMem.h>
#define CHECK(call)             \
    if ((call) != CUDA_SUCCESS) \
    exit(1)
#else
#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

#include "program.h"

typedef nvtxMemVirtualRangeDesc_v1 nvtxMemVirtualRangeDesc_t;
typedef nvtxMemHeapDesc_v1 nvtxMemHeapDesc_t;
typedef nvtxMemRegionsRegisterBatch_v1 nvtxMemRegionsRegisterBatch_t;
typedef nvtxMemRegionsResizeBatch_v1 nvtxMemRegionsResizeBatch_t;
typedef nvtxMemRegionsUnregisterBatch_v1 nvtxMemRegionsUnregisterBatch_t;
typedef nvtxMemRegionNameDesc_v1 nvtxMemRegionNameDesc_t;
typedef nvtxMemRegionsNameBatch_v1 nvtxMemRegionsNameBatch_t;

static intptr_t slots[63];

static void *library(void)
{
    const char *path = getenv("NVTX_INJECTION64_PATH");
    return path ? dlopen(path, RTLD_LAZY) : NULL;
}

static int meet(uint16_t extension, uint16_t version, size_t segment, size_t slot_count)
{
    nvtxExtModuleSegment_t segments = {segment, slot_count, slots};
    nvtxExtModuleInfo_t info = {3, sizeof(info), extension, version, 1, &segments, NULL, NULL};
    void *tool = library();
    if (!tool)
        return 0;
    int (*base)(void *) = (int (*)(void *))dlsym(tool, "InitializeInjectionNvtx2");
    int (*start)(nvtxExtModuleInfo_t *) =
        (int (*)(nvtxExtModuleInfo_t *))dlsym(tool, "InitializeInjectionNvtxExtension");
    if (!base || base(NULL) != 1 || !start)
        exit(1);
    return start(&info);
}

static bool has_slots(void)
{
    for (size_t i = 0; i < sizeof(slots) / sizeof(slots[0]); i++) {
        if (slots[i])
            return true;
    }
    return false;
}

// Other extensions, other versions of this one, and tables without room get no functions.
static void meet_all(void)
{
    const bool recorded = getenv("GLINT_SOCKET") && library();
    if (meet(2, 0x0102, 1, 63) || meet(1, 0x0101, 1, 63) || has_slots())
        exit(2);
    if (meet(1, 0x0102, 2, 63) != recorded || meet(1, 0x0102, 1, 0) != recorded || has_slots())
        exit(3);
    if (meet(1, 0x0102, 1, 63) != recorded || has_slots() != recorded)
        exit(4);
    if (slots[7]) // glint does not implement permissions
        exit(5);
}

#define CALL(name, batch)                                                                      \
    static void name(nvtxDomainHandle_t domain, const batch *desc)                             \
    {                                                                                          \
        if (slots[NVTX3EXT_CBID_##name])                                                       \
            ((void (*)(nvtxDomainHandle_t, const batch *))slots[NVTX3EXT_CBID_##name])(domain, \
                                                                                       desc);  \
    }
#define CALL_HEAP(name)                                                                       \
    static void name(nvtxDomainHandle_t domain, nvtxMemHeapHandle_t heap)                     \
    {                                                                                         \
        if (slots[NVTX3EXT_CBID_##name])                                                      \
            ((void (*)(nvtxDomainHandle_t, nvtxMemHeapHandle_t))slots[NVTX3EXT_CBID_##name])( \
                domain, heap);                                                                \
    }
CALL(nvtxMemRegionsRegister, nvtxMemRegionsRegisterBatch_t)
CALL(nvtxMemRegionsResize, nvtxMemRegionsResizeBatch_t)
CALL(nvtxMemRegionsUnregister, nvtxMemRegionsUnregisterBatch_t)
CALL(nvtxMemRegionsName, nvtxMemRegionsNameBatch_t)
CALL_HEAP(nvtxMemHeapUnregister)
CALL_HEAP(nvtxMemHeapReset)

static nvtxMemHeapHandle_t nvtxMemHeapRegister(nvtxDomainHandle_t domain,
                                               const nvtxMemHeapDesc_t *desc)
{
    const intptr_t slot = slots[NVTX3EXT_CBID_nvtxMemHeapRegister];
    return slot ? ((nvtxMemHeapHandle_t(*)(nvtxDomainHandle_t, const nvtxMemHeapDesc_t *))slot)(
                      domain, desc)
                : NULL;
}
#endif

#define HEAD(batch) .extCompatID = NVTX_EXT_COMPATID_MEM, .structSize = sizeof(batch)

static nvtxMemHeapHandle_t heap_at(const char *start, size_t bytes, const char *name)
{
    nvtxMemVirtualRangeDesc_t range = {bytes, start};
    nvtxMemHeapDesc_t heap = {HEAD(heap),
                              .usage = NVTX_MEM_HEAP_USAGE_TYPE_SUB_ALLOCATOR,
                              .type = NVTX_MEM_TYPE_VIRTUAL_ADDRESS,
                              .typeSpecificDescSize = sizeof(range),
                              .typeSpecificDesc = &range,
                              .messageType = NVTX_MESSAGE_TYPE_ASCII,
                              .message = {.ascii = name}};
    return nvtxMemHeapRegister(NULL, &heap);
}

static void region(nvtxMemHeapHandle_t heap, const char *start, size_t bytes)
{
    nvtxMemVirtualRangeDesc_t range = {bytes, start};
    nvtxMemRegionsRegisterBatch_t batch = {HEAD(batch),
                                           .regionType = NVTX_MEM_TYPE_VIRTUAL_ADDRESS,
                                           .heap = heap,
                                           .regionCount = 1,
                                           .regionDescElementSize = sizeof(range),
                                           .regionDescElements = &range};
    nvtxMemRegionsRegister(NULL, &batch);
}

static void resize(const char *start, size_t bytes)
{
    nvtxMemVirtualRangeDesc_t range = {bytes, start};
    nvtxMemRegionsResizeBatch_t batch = {
        HEAD(batch), .regionType = NVTX_MEM_TYPE_VIRTUAL_ADDRESS, .regionDescCount = 1,
        .regionDescElementSize = sizeof(range), .regionDescElements = &range};
    nvtxMemRegionsResize(NULL, &batch);
}

static void unregister(uint32_t type, nvtxMemRegionRef_t one)
{
    nvtxMemRegionsUnregisterBatch_t batch = {HEAD(batch), .refType = type, .refCount = 1,
                                             .refElementSize = sizeof(one), .refElements = &one};
    nvtxMemRegionsUnregister(NULL, &batch);
}

static void name(const char *start, uint32_t type, nvtxMessageValue_t text)
{
    nvtxMemRegionNameDesc_t one = {.regionRefType = NVTX_MEM_REGION_REF_TYPE_POINTER,
                                   .nameType = type,
                                   .region = {.pointer = start},
                                   .name = text};
    nvtxMemRegionsNameBatch_t batch = {HEAD(batch), .regionCount = 1,
                                       .regionElementSize = sizeof(one), .regionElements = &one};
    nvtxMemRegionsName(NULL, &batch);
}

static void name_ascii(const char *start, const char *text)
{
    name(start, NVTX_MESSAGE_TYPE_ASCII, (nvtxMessageValue_t){.ascii = text});
}

int main(void)
{
    static char host[64];
    CUdeviceptr a, b;
    CUcontext context;
#ifndef WITH_VENDOR_HEADERS
    meet_all();
#endif
    region(NULL, host, 64); // before any use of CUDA
    CHECK(cuInit(0));
    CHECK(cuDevicePrimaryCtxRetain(&context, 0));
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuMemAlloc_v2(&a, 1000));
    CHECK(cuMemAlloc_v2(&b, 1000));
    const char *first = (const char *)(uintptr_t)a, *second = (const char *)(uintptr_t)b;

    nvtxMemHeapHandle_t heap = heap_at(first, 1000, "the arena");
    nvtxMemHeapHandle_t inner = heap_at(second + 100, 900, "not all of an object");

    // Registers two regions at once, with elements that are larger than those glint knows.
    struct {
        nvtxMemVirtualRangeDesc_t range;
        size_t more;
    } two[2] = {{{100, first}, 1}, {{200, first + 100}, 2}};
    nvtxMemRegionHandle_t handles[2] = {NULL, NULL};
    nvtxMemRegionsRegisterBatch_t batch = {HEAD(batch),
                                           .regionType = NVTX_MEM_TYPE_VIRTUAL_ADDRESS,
                                           .heap = heap,
                                           .regionCount = 2,
                                           .regionDescElementSize = sizeof(two[0]),
                                           .regionDescElements = two,
                                           .regionHandleElementsOut = handles};
    nvtxMemRegionsRegister(NULL, &batch);
    name_ascii(first, "weights");
    name(first + 100, NVTX_MESSAGE_TYPE_UNICODE,
         (nvtxMessageValue_t){.unicode = L"gr\u00f6\u00dfe \U0001d54a"});
    name_ascii(first + 1, "no region starts here");
    name(first, NVTX_MESSAGE_TYPE_REGISTERED, (nvtxMessageValue_t){.registered = NULL});
    CHECK(cuMemsetD8_v2(a + 99, 0, 1));
    CHECK(cuMemsetD8_v2(a + 100, 0, 1));

    // Invalid requests have no effect.
    region(heap, first + 299, 2);
    region(heap, first + 999, 2);
    region(heap, first + 400, 0);
    region(NULL, host, 64);
    batch.regionType = 0x12; // not an address
    nvtxMemRegionsRegister(NULL, &batch);
    batch.regionType = NVTX_MEM_TYPE_VIRTUAL_ADDRESS;
    batch.regionDescElementSize = 8;
    nvtxMemRegionsRegister(NULL, &batch);

    // The first region shrinks and leaves room; the second can only grow to the object's end.
    resize(first, 50);
    CHECK(cuMemsetD8_v2(a + 50, 0, 1)); // in the object, outside of the regions
    region(NULL, first + 50, 50);
    resize(first + 100, 901);
    resize(first + 100, 900);
    resize(first + 7, 1);
    unregister(NVTX_MEM_REGION_REF_TYPE_POINTER, (nvtxMemRegionRef_t){.pointer = first});
    unregister(NVTX_MEM_REGION_REF_TYPE_POINTER, (nvtxMemRegionRef_t){.pointer = first});
    region(heap, first, 50); // a new region without a name
    resize(first, 40);

    // A region ends with its heap, but not with another heap.
    region(inner, second + 100, 100);
    nvtxMemHeapReset(NULL, heap);
    region(heap, first + 100, 10);
    nvtxMemHeapUnregister(NULL, heap);
    unregister(NVTX_MEM_REGION_REF_TYPE_HANDLE, (nvtxMemRegionRef_t){.handle = handles[1]});
    nvtxMemHeapUnregister(NULL, NULL); // there is no such heap
    nvtxMemHeapReset(NULL, NULL);      // ends the regions without a heap
    CHECK(cuMemFree_v2(b));            // ends the region in it
    CHECK(cuMemFree_v2(a));
    return 0;
}
