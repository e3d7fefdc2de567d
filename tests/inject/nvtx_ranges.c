// SPDX-License-Identifier: Apache-2.0
// Launches a kernel inside and outside of NVTX ranges, each time on an object of another size.
// Compiled with the vendor's headers (WITH_VENDOR_HEADERS), it works as real programs do. Otherwise
// it contacts the library in the same way as those headers, with our declarations.
//
// nvtx_ranges [ARGUMENT]: own: names another library for NVTX; none: does not use NVTX.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#ifdef WITH_VENDOR_HEADERS
#include <cuda.h>
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>
#else
#include <dlfcn.h>

#include "cudaabi/cudaabi.h"

typedef nvtxEventAttributes_v2 nvtxEventAttributes_t;

// The slots of NVTX for functions, and the tables of pointers to them, of which the first has none.
static NvtxFunctionPointer core[NVTX_CBID_CORE_SIZE], core2[NVTX_CBID_CORE2_SIZE];
static NvtxFunctionPointer *core_table[NVTX_CBID_CORE_SIZE + 1];
static NvtxFunctionPointer *core2_table[NVTX_CBID_CORE2_SIZE + 1];
static intptr_t payload_slots[63];

static int get_table(enum NvtxCallbackModule module, NvtxFunctionTable *table, unsigned *size)
{
    if (module != NVTX_CB_MODULE_CORE && module != NVTX_CB_MODULE_CORE2)
        return 0;
    *table = module == NVTX_CB_MODULE_CORE ? core_table : core2_table;
    *size = module == NVTX_CB_MODULE_CORE ? NVTX_CBID_CORE_SIZE : NVTX_CBID_CORE2_SIZE;
    return 1;
}

static const void *get_export_table(uint32_t number)
{
    static const NvtxExportTableCallbacks callbacks = {sizeof(callbacks), get_table};
    return number == NVTX_ETID_CALLBACKS ? &callbacks : NULL;
}

static void meet_once(void)
{
    const char *path = getenv("NVTX_INJECTION64_PATH");
    void *tool = path ? dlopen(path, RTLD_LAZY) : NULL;
    nvtxExtModuleSegment_t segment = {0, 63, payload_slots};
    nvtxExtModuleInfo_t info = {
        3,    sizeof(info), NVTX_EXT_PAYLOAD_MODULEID, NVTX_EXT_PAYLOAD_COMPATID, 1, &segment,
        NULL, NULL};
    for (int i = 1; i < NVTX_CBID_CORE_SIZE; i++)
        core_table[i] = &core[i];
    for (int i = 1; i < NVTX_CBID_CORE2_SIZE; i++)
        core2_table[i] = &core2[i];
    if (!tool)
        return;
    int (*start)(NvtxGetExportTableFunc_t) =
        (int (*)(NvtxGetExportTableFunc_t))dlsym(tool, "InitializeInjectionNvtx2");
    int (*extend)(nvtxExtModuleInfo_t *) =
        (int (*)(nvtxExtModuleInfo_t *))dlsym(tool, "InitializeInjectionNvtxExtension");
    if (!start || !extend || start(get_export_table) != 1)
        exit(1);
    extend(&info);
}

static void meet(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, meet_once);
}

#define FUNCTION(result, without, name, table, id, parameters, arguments) \
    static result name parameters                                         \
    {                                                                     \
        meet();                                                           \
        const NvtxFunctionPointer slot = table[NVTX_CBID_##id];           \
        return slot ? ((result(*) parameters)slot)arguments : without;    \
    }
#define CORE(result, without, name, parameters, arguments) \
    FUNCTION(result, without, nvtx##name, core, CORE_##name, parameters, arguments)
#define CORE2(result, without, name, parameters, arguments) \
    FUNCTION(result, without, nvtx##name, core2, CORE2_##name, parameters, arguments)
CORE(int, -2, RangePushA, (const char *name), (name))
CORE(int, -2, RangePushW, (const wchar_t *name), (name))
CORE(int, -2, RangePushEx, (const nvtxEventAttributes_t *event), (event))
CORE(int, -2, RangePop, (void), ())
CORE(nvtxRangeId_t, 0, RangeStartA, (const char *name), (name))
CORE(nvtxRangeId_t, 0, RangeStartW, (const wchar_t *name), (name))
CORE(nvtxRangeId_t, 0, RangeStartEx, (const nvtxEventAttributes_t *event), (event))
CORE2(int, -2, DomainRangePushEx, (nvtxDomainHandle_t domain, const nvtxEventAttributes_t *event),
      (domain, event))
CORE2(int, -2, DomainRangePop, (nvtxDomainHandle_t domain), (domain))
CORE2(nvtxRangeId_t, 0, DomainRangeStartEx,
      (nvtxDomainHandle_t domain, const nvtxEventAttributes_t *event), (domain, event))
CORE2(nvtxStringHandle_t, NULL, DomainRegisterStringA,
      (nvtxDomainHandle_t domain, const char *text), (domain, text))
CORE2(nvtxStringHandle_t, NULL, DomainRegisterStringW,
      (nvtxDomainHandle_t domain, const wchar_t *text), (domain, text))
CORE2(nvtxDomainHandle_t, NULL, DomainCreateA, (const char *name), (name))
CORE2(nvtxDomainHandle_t, NULL, DomainCreateW, (const wchar_t *name), (name))

static void nvtxRangeEnd(nvtxRangeId_t range)
{
    meet();
    if (core[NVTX_CBID_CORE_RangeEnd])
        ((void (*)(nvtxRangeId_t))core[NVTX_CBID_CORE_RangeEnd])(range);
}

static void nvtxDomainRangeEnd(nvtxDomainHandle_t domain, nvtxRangeId_t range)
{
    meet();
    if (core2[NVTX_CBID_CORE2_DomainRangeEnd])
        ((void (*)(nvtxDomainHandle_t, nvtxRangeId_t))core2[NVTX_CBID_CORE2_DomainRangeEnd])(domain,
                                                                                             range);
}

static int nvtxRangePushPayload(nvtxDomainHandle_t domain, const void *payloads, size_t count)
{
    meet();
    const intptr_t slot = payload_slots[NVTX3EXT_CBID_nvtxRangePushPayload];
    return slot ? ((int (*)(nvtxDomainHandle_t, const void *, size_t))slot)(domain, payloads, count)
                : -2;
}
#endif

static const char text[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                           ".visible .entry fill(.param .u64 to)\n"
                           "{\n"
                           ".reg .b64 %d1;\n"
                           "ld.param.u64 %d1, [to];\n"
                           "cvta.to.global.u64 %d1, %d1;\n"
                           "st.global.u32 [%d1], 1;\n"
                           "ret;\n"
                           "}\n";

enum { MOST = 32, BYTES = 1000 };
static CUcontext context;
static CUfunction fill;
static CUdeviceptr objects[MOST];

static void check(int bad)
{
    if (bad)
        exit(1);
}

// Launches a kernel on the object of 1000 + number bytes.
static void launch(int number)
{
    void *params[] = {&objects[number]};
    check(cuLaunchKernel(fill, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL) || cuCtxSynchronize());
}

static void *launch_here(void *number)
{
    check(cuCtxSetCurrent(context));
    launch((int)(intptr_t)number);
    return NULL;
}

static void launch_elsewhere(int number)
{
    pthread_t thread;
    check(pthread_create(&thread, NULL, launch_here, (void *)(intptr_t)number) ||
          pthread_join(thread, NULL));
}

static nvtxEventAttributes_t event_of(int type, const void *message)
{
    nvtxEventAttributes_t event = {.version = 3, .size = sizeof(event), .messageType = type};
    memcpy(&event.message, &message, sizeof(message)); // a union of pointers
    return event;
}

// Without a tool, and with glint, there are no levels.
static void level(int got)
{
    check(got != -2);
}

static void pushed(void)
{
    launch(0); // outside
    level(nvtxRangePushA("step"));
    launch(1);
    level(nvtxRangePushA("inner"));
    level(nvtxRangePushA("step"));
    launch(2);
    level(nvtxRangePop());
    level(nvtxRangePop());
    launch(3); // the outer range of the name is open still
    launch_elsewhere(4);
    level(nvtxRangePop());
    launch(5);
    level(nvtxRangePop()); // there is none
    level(nvtxRangePushA("steps"));
    launch(6);
    level(nvtxRangePop());
    const nvtxEventAttributes_t event = event_of(NVTX_MESSAGE_TYPE_ASCII, "step");
    level(nvtxRangePushEx(&event));
    launch(7);
    nvtxRangePushPayload(NULL, NULL, 0);
    level(nvtxRangePop());
    launch(8); // only the range with a payload has ended
    level(nvtxRangePop());
    level(nvtxRangePushW(L"gr\u00f6\u00dfe"));
    launch(9);
    level(nvtxRangePop());
}

static void started(void)
{
    const nvtxRangeId_t first = nvtxRangeStartA("step"), second = nvtxRangeStartW(L"step");
    launch_elsewhere(10);
    nvtxRangeEnd(first);
    nvtxRangeEnd(first); // has no effect
    launch(11);
    nvtxRangeEnd(second);
    launch(12);
    const nvtxEventAttributes_t wide = event_of(NVTX_MESSAGE_TYPE_UNICODE, L"step");
    const nvtxRangeId_t third = nvtxRangeStartEx(&wide);
    level(nvtxRangePop()); // ends ranges that were pushed only
    launch(13);
    nvtxRangeEnd(third);
    nvtxRangeEnd(0);
    nvtxRangeEnd(12345);
    launch(14);
}

static void in_domains(void)
{
    const nvtxDomainHandle_t mine = nvtxDomainCreateA("mine"), again = nvtxDomainCreateW(L"mine"),
                             other = nvtxDomainCreateA("other");
    const nvtxEventAttributes_t plain = event_of(NVTX_MESSAGE_TYPE_ASCII, "step"),
                                kept = event_of(NVTX_MESSAGE_TYPE_REGISTERED,
                                                nvtxDomainRegisterStringA(mine, "step")),
                                wide = event_of(NVTX_MESSAGE_TYPE_REGISTERED,
                                                nvtxDomainRegisterStringW(mine, L"step")),
                                none = event_of(NVTX_MESSAGE_TYPE_REGISTERED,
                                                nvtxDomainRegisterStringA(mine, "no"));
    level(nvtxDomainRangePushEx(mine, &plain));
    level(nvtxDomainRangePop(other)); // of another domain
    level(nvtxRangePop());
    launch(15);
    level(nvtxDomainRangePop(again)); // the same domain
    launch(16);
    level(nvtxDomainRangePushEx(mine, &kept));
    launch(17);
    level(nvtxDomainRangePop(mine));
    level(nvtxDomainRangePushEx(mine, &none));
    launch(18);
    level(nvtxDomainRangePop(mine));
    const nvtxRangeId_t range = nvtxDomainRangeStartEx(again, &wide);
    launch(19);
    nvtxDomainRangeEnd(mine, range);
    level(nvtxDomainRangePushEx(other, &plain));
    launch(20);
    level(nvtxDomainRangePop(other));
    level(nvtxDomainRangePushEx(NULL, &plain)); // the default domain
    launch(21);
    level(nvtxDomainRangePop(NULL));
    level(nvtxRangePushA("a@b"));
    launch(22);
    level(nvtxRangePop());
    level(nvtxRangePushA(NULL));
    level(nvtxRangePushEx(NULL));
    launch(23);
    level(nvtxRangePop());
    level(nvtxRangePop());
}

int main(int argc, char **argv)
{
    CUmodule module;
    if (argc > 1 && strcmp(argv[1], "own") == 0)
        setenv("NVTX_INJECTION64_PATH", "/nowhere/other.so", 1);
    const int uses = argc < 2 || strcmp(argv[1], "none") != 0;
    if (uses)
        nvtxRangePushA("before CUDA");
    check(cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context) ||
          cuModuleLoadData(&module, text) || cuModuleGetFunction(&fill, module, "fill"));
    for (int i = 0; i < MOST; i++)
        check(cuMemAlloc_v2(&objects[i], (size_t)(BYTES + i)));
    launch(24);
    if (uses) {
        nvtxRangePop();
        pushed();
        started();
        in_domains();
    }
    launch(25);
    puts("done");
    return 0;
}
