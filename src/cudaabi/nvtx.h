// SPDX-License-Identifier: Apache-2.0
// The parts of NVTX, the interface through which programs annotate themselves, that report ranges
// of time and memory. NVTX is compiled into the program. It loads the library that the environment
// names. It passes a function that returns tables to the library's InitializeInjectionNvtx2, and,
// for each extension, a table of slots to its InitializeInjectionNvtxExtension; the library stores
// its functions there. The declarations are those of NVTX 3, its memory extension 0x0102 and its
// payload extension 0x0104.
#ifndef GLINT_CUDAABI_NVTX_H
#define GLINT_CUDAABI_NVTX_H

#include <stddef.h>
#include <stdint.h>

// --- Tables of functions -------------------------------------------------------------------------

enum NvtxExportTableID {
    NVTX_ETID_CALLBACKS = 1,
};

enum NvtxCallbackModule {
    NVTX_CB_MODULE_CORE = 1,
    NVTX_CB_MODULE_CORE2 = 5,
};

// Indices of functions in the table of NVTX_CB_MODULE_CORE.
enum NvtxCallbackIdCore {
    NVTX_CBID_CORE_RangeStartEx = 4,
    NVTX_CBID_CORE_RangeStartA = 5,
    NVTX_CBID_CORE_RangeStartW = 6,
    NVTX_CBID_CORE_RangeEnd = 7,
    NVTX_CBID_CORE_RangePushEx = 8,
    NVTX_CBID_CORE_RangePushA = 9,
    NVTX_CBID_CORE_RangePushW = 10,
    NVTX_CBID_CORE_RangePop = 11,
    NVTX_CBID_CORE_SIZE = 16,
};

// The same for NVTX_CB_MODULE_CORE2.
enum NvtxCallbackIdCore2 {
    NVTX_CBID_CORE2_DomainRangeStartEx = 2,
    NVTX_CBID_CORE2_DomainRangeEnd = 3,
    NVTX_CBID_CORE2_DomainRangePushEx = 4,
    NVTX_CBID_CORE2_DomainRangePop = 5,
    NVTX_CBID_CORE2_DomainRegisterStringA = 10,
    NVTX_CBID_CORE2_DomainRegisterStringW = 11,
    NVTX_CBID_CORE2_DomainCreateA = 12,
    NVTX_CBID_CORE2_DomainCreateW = 13,
    NVTX_CBID_CORE2_SIZE = 16,
};

typedef void (*NvtxFunctionPointer)(void);
typedef NvtxFunctionPointer **NvtxFunctionTable; // pointers to where the functions are stored

typedef struct NvtxExportTableCallbacks {
    size_t struct_size;
    int (*GetModuleFunctionTable)(enum NvtxCallbackModule, NvtxFunctionTable *, unsigned *);
} NvtxExportTableCallbacks;

typedef const void *(*NvtxGetExportTableFunc_t)(uint32_t);

// --- Messages, domains and ranges ----------------------------------------------------------------

#define NVTX_NO_PUSH_POP_TRACKING (-2)

enum nvtxMessageType_t {
    NVTX_MESSAGE_UNKNOWN = 0,
    NVTX_MESSAGE_TYPE_ASCII = 1,
    NVTX_MESSAGE_TYPE_UNICODE = 2,
    NVTX_MESSAGE_TYPE_REGISTERED = 3,
};

typedef union nvtxMessageValue_t {
    const char *ascii;
    const wchar_t *unicode;
    const void *registered;
} nvtxMessageValue_t;

typedef struct nvtxDomainRegistration_st *nvtxDomainHandle_t; // NULL: the default domain
typedef struct nvtxStringRegistration_st *nvtxStringHandle_t;
typedef uint64_t nvtxRangeId_t;

typedef struct nvtxEventAttributes_v2 {
    uint16_t version;
    uint16_t size; // of the structure
    uint32_t category;
    int32_t colorType;
    uint32_t color;
    int32_t payloadType;
    int32_t reserved0;
    uint64_t payload;
    int32_t messageType; // enum nvtxMessageType_t
    nvtxMessageValue_t message;
} nvtxEventAttributes_v2;

// --- Extensions ----------------------------------------------------------------------------------

typedef struct nvtxExtModuleSegment_t {
    size_t segmentId;
    size_t slotCount;
    intptr_t *functionSlots; // 0: empty; 1: not to be called
} nvtxExtModuleSegment_t;

typedef struct nvtxExtModuleInfo_t {
    uint16_t nvtxVer;
    uint16_t structSize;
    uint16_t moduleId; // identifies the extension
    uint16_t compatId; // version of the extension
    size_t segmentsCount;
    nvtxExtModuleSegment_t *segments;
    intptr_t (*getExportFunction)(uint32_t);
    const void *extInfo;
} nvtxExtModuleInfo_t;

// --- Payloads: of ranges, too --------------------------------------------------------------------

#define NVTX_EXT_PAYLOAD_MODULEID          2
#define NVTX_EXT_PAYLOAD_COMPATID          0x0104
#define NVTX3EXT_CBID_nvtxRangePushPayload 3
#define NVTX3EXT_CBID_nvtxRangePopPayload  4

// --- Memory: heaps, and regions in them ----------------------------------------------------------

#define NVTX_EXT_MODULEID_MEM 1
#define NVTX_EXT_COMPATID_MEM 0x0102

#define NVTX_MEM_HEAP_USAGE_TYPE_SUB_ALLOCATOR 0x1
#define NVTX_MEM_HEAP_USAGE_TYPE_LAYOUT        0x2
#define NVTX_MEM_TYPE_VIRTUAL_ADDRESS          0x1
#define NVTX_MEM_REGION_REF_TYPE_POINTER       0x1
#define NVTX_MEM_REGION_REF_TYPE_HANDLE        0x2

// Indices of the functions' slots in segment 1.
#define NVTX3EXT_CBID_nvtxMemHeapRegister      0
#define NVTX3EXT_CBID_nvtxMemHeapUnregister    1
#define NVTX3EXT_CBID_nvtxMemHeapReset         2
#define NVTX3EXT_CBID_nvtxMemRegionsRegister   3
#define NVTX3EXT_CBID_nvtxMemRegionsResize     4
#define NVTX3EXT_CBID_nvtxMemRegionsUnregister 5
#define NVTX3EXT_CBID_nvtxMemRegionsName       6

typedef struct nvtxMemHeap_v1 *nvtxMemHeapHandle_t; // NULL: all memory of the process
typedef struct nvtxMemRegion_v1 *nvtxMemRegionHandle_t;

typedef union nvtxMemRegionRef_t {
    const void *pointer;
    nvtxMemRegionHandle_t handle;
} nvtxMemRegionRef_t;

typedef struct nvtxMemVirtualRangeDesc_v1 {
    size_t size;
    const void *ptr;
} nvtxMemVirtualRangeDesc_v1;

typedef struct nvtxMemHeapDesc_v1 {
    uint16_t extCompatID;
    uint16_t structSize;
    uint32_t reserved0;
    uint32_t usage;
    uint32_t type;
    size_t typeSpecificDescSize;
    const void *typeSpecificDesc;
    uint32_t category;
    uint32_t messageType;
    nvtxMessageValue_t message;
} nvtxMemHeapDesc_v1;

typedef struct nvtxMemRegionsRegisterBatch_v1 {
    uint16_t extCompatID;
    uint16_t structSize;
    uint32_t regionType;
    nvtxMemHeapHandle_t heap;
    size_t regionCount;
    size_t regionDescElementSize;
    const void *regionDescElements;
    nvtxMemRegionHandle_t *regionHandleElementsOut; // may be NULL
} nvtxMemRegionsRegisterBatch_v1;

typedef struct nvtxMemRegionsResizeBatch_v1 {
    uint16_t extCompatID;
    uint16_t structSize;
    uint32_t regionType;
    size_t regionDescCount;
    size_t regionDescElementSize;
    const void *regionDescElements;
} nvtxMemRegionsResizeBatch_v1;

typedef struct nvtxMemRegionsUnregisterBatch_v1 {
    uint16_t extCompatID;
    uint16_t structSize;
    uint32_t refType;
    size_t refCount;
    size_t refElementSize;
    const nvtxMemRegionRef_t *refElements;
} nvtxMemRegionsUnregisterBatch_v1;

typedef struct nvtxMemRegionNameDesc_v1 {
    uint32_t regionRefType;
    uint32_t nameType;
    nvtxMemRegionRef_t region;
    nvtxMessageValue_t name;
    uint32_t category;
    uint32_t reserved0;
} nvtxMemRegionNameDesc_v1;

typedef struct nvtxMemRegionsNameBatch_v1 {
    uint16_t extCompatID;
    uint16_t structSize;
    uint32_t reserved0;
    size_t regionCount;
    size_t regionElementSize;
    const nvtxMemRegionNameDesc_v1 *regionElements;
    size_t reserved1;
} nvtxMemRegionsNameBatch_v1;

#endif
