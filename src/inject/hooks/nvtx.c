// SPDX-License-Identifier: Apache-2.0
// Memory that a program announces through NVTX: the regions of its own heaps are parts of the
// objects they lie in. nvtx_ranges.c has ranges of time. glint ignores the rest of NVTX, whose
// slots stay empty, so that the program's calls of it do nothing, as without a tool.
//
// The handle of a region or a heap is its address. Heaps matter only as owners of regions, which
// end with their heap.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "inject/core/object_records.h"
#include "inject/core/parts.h"
#include "inject/inject.h"
#include "nvtx_ranges.h"
#include "nvtx_text.h"

static uint64_t key(const void *address)
{
    return (uint64_t)(uintptr_t)address;
}

// Returns the number of the heap, giving it one if it has none: the program may have registered it
// before the process met the recorder. 0: out of memory.
static uint32_t heap_number(nvtxMemHeapHandle_t heap)
{
    bool added = false;
    util_mutex_lock(&core_state.lock, RANK_STATE);
    uint64_t *place = base_map_put(&core_state.heaps, key(heap), &added);
    if (added)
        *place = ++core_state.heaps_made;
    const uint32_t number = place ? (uint32_t)*place : 0;
    util_mutex_unlock(&core_state.lock, RANK_STATE);
    if (!number)
        core_no_memory();
    return number;
}

// --- Names ---------------------------------------------------------------------------------------

// A region that is resized becomes another object of the same name, so the name is kept until the
// region ends.

static void forget_name(uint64_t address)
{
    util_mutex_lock(&core_state.lock, RANK_STATE);
    const uint64_t *place = base_map_get(&core_state.region_names, address);
    if (place) {
        free((void *)(uintptr_t)*place); // NOLINT(performance-no-int-to-ptr)
        base_map_remove(&core_state.region_names, address);
    }
    util_mutex_unlock(&core_state.lock, RANK_STATE);
}

static void keep_name(uint64_t address, const char *name)
{
    forget_name(address);
    const size_t bytes = strlen(name) + 1;
    char *copy = malloc(bytes);
    util_mutex_lock(&core_state.lock, RANK_STATE);
    uint64_t *place = copy ? base_map_put(&core_state.region_names, address, NULL) : NULL;
    if (place) {
        memcpy(copy, name, bytes);
        *place = key(copy);
    } else {
        free(copy);
    }
    util_mutex_unlock(&core_state.lock, RANK_STATE);
}

static void name_again(uint64_t address, uint64_t object)
{
    util_mutex_lock(&core_state.lock, RANK_STATE);
    const uint64_t *place = base_map_get(&core_state.region_names, address);
    if (place)
        core_object_name(object,
                         (const char *)(uintptr_t)*place); // NOLINT(performance-no-int-to-ptr)
    util_mutex_unlock(&core_state.lock, RANK_STATE);
}

// --- Heaps ---------------------------------------------------------------------------------------

// If the heap covers all of an object, the object gets its name.
static void name_heap(const nvtxMemHeapDesc_v1 *heap, const nvtxMemVirtualRangeDesc_v1 *range)
{
    struct core_object object;
    char name[HOOKS_NVTX_TEXT];
    if (core_objects_find(&core_state.objects, OBJECTS_MEMORY, key(range->ptr), &object) &&
        object.start == key(range->ptr) && object.bytes == range->size &&
        hooks_nvtx_text(heap->messageType, heap->message, name))
        core_object_name(object.number, name);
}

static nvtxMemHeapHandle_t heap_register(nvtxDomainHandle_t domain, const nvtxMemHeapDesc_v1 *heap)
{
    (void)domain;
    const int error = errno;
    nvtxMemVirtualRangeDesc_v1 range = {0};
    if (heap && heap->structSize >= sizeof(*heap) && heap->type == NVTX_MEM_TYPE_VIRTUAL_ADDRESS &&
        heap->typeSpecificDesc && heap->typeSpecificDescSize >= sizeof(range)) {
        memcpy(&range, heap->typeSpecificDesc, sizeof(range));
        if (core_is_on())
            name_heap(heap, &range);
    }
    errno = error;
    return (nvtxMemHeapHandle_t)(uintptr_t)range.ptr;
}

// Ends all regions of the heap.
static void empty_heap(nvtxMemHeapHandle_t heap, enum core_hook hook,
                       struct stack_unwind_registers caller)
{
    const uint32_t owner = heap_number(heap);
    struct core_part_call reported;
    struct core_object part;
    uint64_t from = 0;
    core_part_call_begin(&reported, hook, caller);
    while (owner && core_part_end_of(&reported, owner, &from, &part))
        forget_name(part.start);
    core_part_call_end(&reported);
}

static void heap_reset(nvtxDomainHandle_t domain, nvtxMemHeapHandle_t heap)
{
    (void)domain;
    const int error = errno;
    if (core_is_on())
        empty_heap(heap, HOOK_nvtxMemHeapReset, UNWIND_CALLER);
    errno = error;
}

static void heap_unregister(nvtxDomainHandle_t domain, nvtxMemHeapHandle_t heap)
{
    (void)domain;
    const int error = errno;
    if (heap && core_is_on()) { // the heap of the whole process is never unregistered
        empty_heap(heap, HOOK_nvtxMemHeapUnregister, UNWIND_CALLER);
        util_mutex_lock(&core_state.lock, RANK_STATE);
        base_map_remove(&core_state.heaps, key(heap));
        util_mutex_unlock(&core_state.lock, RANK_STATE);
    }
    errno = error;
}

// --- Regions -------------------------------------------------------------------------------------

static nvtxMemVirtualRangeDesc_v1 range_at(const void *elements, size_t element_bytes, size_t index)
{
    nvtxMemVirtualRangeDesc_v1 range;
    memcpy(&range, (const char *)elements + index * element_bytes, sizeof(range));
    return range;
}

static void no_place(void)
{
    if (!atomic_exchange(&core_state.no_place, true))
        core_note(EVENT_INFO, "some memory that the program announced through NVTX is left out: it "
                              "lies outside of CUDA memory, or overlaps an earlier region");
}

static void regions_register(nvtxDomainHandle_t domain, const nvtxMemRegionsRegisterBatch_v1 *batch)
{
    (void)domain;
    const int error = errno;
    if (!batch || batch->structSize < sizeof(*batch) ||
        batch->regionType != NVTX_MEM_TYPE_VIRTUAL_ADDRESS || !batch->regionDescElements ||
        batch->regionDescElementSize < sizeof(nvtxMemVirtualRangeDesc_v1))
        return;
    const bool on = core_is_on();
    const uint32_t owner = on ? heap_number(batch->heap) : 0;
    struct core_part_call reported;
    if (on)
        core_part_call_begin(&reported, HOOK_nvtxMemRegionsRegister, UNWIND_CALLER);
    for (size_t i = 0; i < batch->regionCount; i++) {
        const nvtxMemVirtualRangeDesc_v1 range =
            range_at(batch->regionDescElements, batch->regionDescElementSize, i);
        if (on && core_part_begin(&reported, key(range.ptr), range.size, owner))
            forget_name(key(range.ptr)); // the name of an earlier region there
        else if (on)
            no_place();
        if (batch->regionHandleElementsOut)
            batch->regionHandleElementsOut[i] = (nvtxMemRegionHandle_t)(uintptr_t)range.ptr;
    }
    if (on)
        core_part_call_end(&reported);
    errno = error;
}

static void regions_resize(nvtxDomainHandle_t domain, const nvtxMemRegionsResizeBatch_v1 *batch)
{
    (void)domain;
    const int error = errno;
    if (!batch || batch->structSize < sizeof(*batch) ||
        batch->regionType != NVTX_MEM_TYPE_VIRTUAL_ADDRESS || !batch->regionDescElements ||
        batch->regionDescElementSize < sizeof(nvtxMemVirtualRangeDesc_v1) || !core_is_on())
        return;
    struct core_part_call reported;
    core_part_call_begin(&reported, HOOK_nvtxMemRegionsResize, UNWIND_CALLER);
    for (size_t i = 0; i < batch->regionDescCount; i++) {
        const nvtxMemVirtualRangeDesc_v1 range =
            range_at(batch->regionDescElements, batch->regionDescElementSize, i);
        const uint64_t number = core_part_resize(&reported, key(range.ptr), range.size);
        if (number)
            name_again(key(range.ptr), number);
        else
            no_place();
    }
    core_part_call_end(&reported);
    errno = error;
}

static void regions_unregister(nvtxDomainHandle_t domain,
                               const nvtxMemRegionsUnregisterBatch_v1 *batch)
{
    (void)domain;
    const int error = errno;
    if (!batch || batch->structSize < sizeof(*batch) || !batch->refElements ||
        batch->refElementSize < sizeof(nvtxMemRegionRef_t) || !core_is_on())
        return;
    struct core_part_call reported;
    core_part_call_begin(&reported, HOOK_nvtxMemRegionsUnregister, UNWIND_CALLER);
    for (size_t i = 0; i < batch->refCount; i++) {
        nvtxMemRegionRef_t region; // a pointer, or a handle, which is the same
        memcpy(&region, (const char *)batch->refElements + i * batch->refElementSize,
               sizeof(region));
        if (core_part_end(&reported, key(region.pointer)))
            forget_name(key(region.pointer));
    }
    core_part_call_end(&reported);
    errno = error;
}

static void regions_name(nvtxDomainHandle_t domain, const nvtxMemRegionsNameBatch_v1 *batch)
{
    (void)domain;
    const int error = errno;
    if (!batch || batch->structSize < sizeof(*batch) || !batch->regionElements ||
        batch->regionElementSize < sizeof(nvtxMemRegionNameDesc_v1) || !core_is_on())
        return;
    for (size_t i = 0; i < batch->regionCount; i++) {
        nvtxMemRegionNameDesc_v1 about;
        struct core_object part;
        char name[HOOKS_NVTX_TEXT];
        memcpy(&about, (const char *)batch->regionElements + i * batch->regionElementSize,
               sizeof(about));
        const uint64_t address = key(about.region.pointer);
        if (core_objects_find(&core_state.objects, OBJECTS_PARTS, address, &part) &&
            part.start == address && hooks_nvtx_text(about.nameType, about.name, name)) {
            keep_name(address, name);
            core_object_name(part.number, name);
        }
    }
    errno = error;
}

// --- Functions that NVTX calls -------------------------------------------------------------------

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_export_table)
{
    if (core_is_wanted() && get_export_table)
        hooks_nvtx_ranges_join(get_export_table);
    return 1;
}

int InitializeInjectionNvtxExtension(nvtxExtModuleInfo_t *module)
{
#define SLOT(name, function) [NVTX3EXT_CBID_nvtxMem##name] = (intptr_t)(function)
    static const intptr_t functions[] = {
        SLOT(HeapRegister, heap_register),   SLOT(HeapUnregister, heap_unregister),
        SLOT(HeapReset, heap_reset),         SLOT(RegionsRegister, regions_register),
        SLOT(RegionsResize, regions_resize), SLOT(RegionsUnregister, regions_unregister),
        SLOT(RegionsName, regions_name),
    };
#undef SLOT
    enum { SEGMENT = 1 };
    if (!core_is_wanted() || !module || module->structSize < sizeof(*module))
        return 0;
    if (module->moduleId == NVTX_EXT_PAYLOAD_MODULEID)
        return hooks_nvtx_ranges_join_payloads(module);
    if (module->moduleId != NVTX_EXT_MODULEID_MEM || module->compatId != NVTX_EXT_COMPATID_MEM)
        return 0;
    for (size_t i = 0; i < module->segmentsCount; i++) {
        const nvtxExtModuleSegment_t *segment = &module->segments[i];
        const size_t count = sizeof(functions) / sizeof(functions[0]);
        for (size_t j = 0; segment->segmentId == SEGMENT && j < segment->slotCount && j < count;
             j++)
            segment->functionSlots[j] = functions[j];
    }
    return 1;
}
