// SPDX-License-Identifier: Apache-2.0
// Functions for ranges, domains and registered strings. glint wants ranges of one name in one
// domain, so a handle says no more than whether it is the one: all other domains share a handle,
// and so do all other strings. As without a tool, functions return no levels of nesting, and no
// identifiers of ranges that are not wanted.
#include "nvtx_ranges.h"

#include <errno.h>

#include "inject/core/presence.h"
#include "inject/probe/range.h"
#include "nvtx_text.h"

// Only their addresses are used, as handles.
static char wanted_domain, other_domain, wanted_string, other_string;

// --- Names ---------------------------------------------------------------------------------------

static bool has_name(uint32_t type, nvtxMessageValue_t message)
{
    char name[HOOKS_NVTX_TEXT];
    if (type == NVTX_MESSAGE_TYPE_REGISTERED)
        return message.registered == &wanted_string;
    return hooks_nvtx_text(type, message, name) && probe_range_is_name(name);
}

static bool has_name_ascii(const char *name)
{
    return has_name(NVTX_MESSAGE_TYPE_ASCII, (nvtxMessageValue_t){.ascii = name});
}

static bool has_name_wide(const wchar_t *name)
{
    return has_name(NVTX_MESSAGE_TYPE_UNICODE, (nvtxMessageValue_t){.unicode = name});
}

static bool has_name_in(const nvtxEventAttributes_v2 *event)
{
    return event && event->size >= sizeof(*event) &&
           has_name((uint32_t)event->messageType, event->message);
}

static nvtxStringHandle_t register_ascii(nvtxDomainHandle_t domain, const char *text)
{
    (void)domain;
    return (nvtxStringHandle_t)(has_name_ascii(text) ? &wanted_string : &other_string);
}

static nvtxStringHandle_t register_wide(nvtxDomainHandle_t domain, const wchar_t *text)
{
    (void)domain;
    return (nvtxStringHandle_t)(has_name_wide(text) ? &wanted_string : &other_string);
}

// --- Domains -------------------------------------------------------------------------------------

static nvtxDomainHandle_t create_ascii(const char *name)
{
    return (nvtxDomainHandle_t)(name && probe_range_is_domain(name) ? &wanted_domain
                                                                    : &other_domain);
}

static nvtxDomainHandle_t create_wide(const wchar_t *wide)
{
    char name[HOOKS_NVTX_TEXT];
    const bool named =
        hooks_nvtx_text(NVTX_MESSAGE_TYPE_UNICODE, (nvtxMessageValue_t){.unicode = wide}, name);
    return create_ascii(named ? name : NULL);
}

static bool is_wanted(nvtxDomainHandle_t domain)
{
    return domain ? domain == (nvtxDomainHandle_t)&wanted_domain : probe_range_is_domain(NULL);
}

// --- Ranges --------------------------------------------------------------------------------------

static int push(nvtxDomainHandle_t domain, bool named)
{
    const int error = errno;
    if (is_wanted(domain))
        probe_range_push(named);
    else if (named)
        core_presence_add(EVENT_PRESENT_OTHER);
    errno = error;
    return NVTX_NO_PUSH_POP_TRACKING;
}

static nvtxRangeId_t start(nvtxDomainHandle_t domain, bool named)
{
    const int error = errno;
    nvtxRangeId_t identifier = 0;
    if (named && is_wanted(domain))
        identifier = probe_range_start();
    else if (named)
        core_presence_add(EVENT_PRESENT_OTHER);
    errno = error;
    return identifier;
}

static int range_push(const nvtxEventAttributes_v2 *event)
{
    return push(NULL, has_name_in(event));
}

static int range_push_ascii(const char *name)
{
    return push(NULL, has_name_ascii(name));
}

static int range_push_wide(const wchar_t *name)
{
    return push(NULL, has_name_wide(name));
}

static int domain_range_push(nvtxDomainHandle_t domain, const nvtxEventAttributes_v2 *event)
{
    return push(domain, has_name_in(event));
}

static int domain_range_pop(nvtxDomainHandle_t domain)
{
    if (is_wanted(domain))
        probe_range_pop();
    return NVTX_NO_PUSH_POP_TRACKING;
}

static int range_pop(void)
{
    return domain_range_pop(NULL);
}

static nvtxRangeId_t range_start(const nvtxEventAttributes_v2 *event)
{
    return start(NULL, has_name_in(event));
}

static nvtxRangeId_t range_start_ascii(const char *name)
{
    return start(NULL, has_name_ascii(name));
}

static nvtxRangeId_t range_start_wide(const wchar_t *name)
{
    return start(NULL, has_name_wide(name));
}

static nvtxRangeId_t domain_range_start(nvtxDomainHandle_t domain,
                                        const nvtxEventAttributes_v2 *event)
{
    return start(domain, has_name_in(event));
}

static void range_end(nvtxRangeId_t identifier)
{
    probe_range_end(identifier);
}

static void domain_range_end(nvtxDomainHandle_t domain, nvtxRangeId_t identifier)
{
    (void)domain;
    probe_range_end(identifier);
}

// A range with a payload has its name there, if any, in a form that only the program knows. It
// counts because the program may end it by domain_range_pop.
static int push_payload(nvtxDomainHandle_t domain, const void *payloads, size_t count)
{
    (void)payloads, (void)count;
    return push(domain, false);
}

static int pop_payload(nvtxDomainHandle_t domain, const void *payloads, size_t count)
{
    (void)payloads, (void)count;
    return domain_range_pop(domain);
}

// --- Joining -------------------------------------------------------------------------------------

#define SLOT(table, name, function) [NVTX_CBID_##table##_##name] = (NvtxFunctionPointer)(function)
static const NvtxFunctionPointer core[NVTX_CBID_CORE_SIZE] = {
    SLOT(CORE, RangeStartEx, range_start),     SLOT(CORE, RangeStartA, range_start_ascii),
    SLOT(CORE, RangeStartW, range_start_wide), SLOT(CORE, RangeEnd, range_end),
    SLOT(CORE, RangePushEx, range_push),       SLOT(CORE, RangePushA, range_push_ascii),
    SLOT(CORE, RangePushW, range_push_wide),   SLOT(CORE, RangePop, range_pop),
};
static const NvtxFunctionPointer core2[NVTX_CBID_CORE2_SIZE] = {
    SLOT(CORE2, DomainRangeStartEx, domain_range_start),
    SLOT(CORE2, DomainRangeEnd, domain_range_end),
    SLOT(CORE2, DomainRangePushEx, domain_range_push),
    SLOT(CORE2, DomainRangePop, domain_range_pop),
    SLOT(CORE2, DomainRegisterStringA, register_ascii),
    SLOT(CORE2, DomainRegisterStringW, register_wide),
    SLOT(CORE2, DomainCreateA, create_ascii),
    SLOT(CORE2, DomainCreateW, create_wide),
};
#undef SLOT

static void fill(const NvtxExportTableCallbacks *callbacks, enum NvtxCallbackModule module,
                 const NvtxFunctionPointer *functions, unsigned count)
{
    NvtxFunctionTable table = NULL;
    unsigned size = 0;
    if (!callbacks->GetModuleFunctionTable(module, &table, &size) || !table)
        return;
    for (unsigned i = 0; i < size && i < count; i++) {
        if (functions[i] && table[i])
            *table[i] = functions[i];
    }
}

void hooks_nvtx_ranges_join(NvtxGetExportTableFunc_t get_export_table)
{
    if (!probe_range_uses_nvtx())
        return;
    core_presence_add(EVENT_PRESENT_NVTX);
    const NvtxExportTableCallbacks *callbacks = get_export_table(NVTX_ETID_CALLBACKS);
    if (!callbacks || callbacks->struct_size < sizeof(*callbacks) ||
        !callbacks->GetModuleFunctionTable)
        return;
    fill(callbacks, NVTX_CB_MODULE_CORE, core, NVTX_CBID_CORE_SIZE);
    fill(callbacks, NVTX_CB_MODULE_CORE2, core2, NVTX_CBID_CORE2_SIZE);
}

int hooks_nvtx_ranges_join_payloads(const nvtxExtModuleInfo_t *module)
{
    enum { OLDEST = 0x0103 }; // it has the same slots
    if (!probe_range_uses_nvtx() || module->compatId < OLDEST ||
        module->compatId > NVTX_EXT_PAYLOAD_COMPATID)
        return 0;
    for (size_t i = 0; i < module->segmentsCount && i < 1; i++) {
        const nvtxExtModuleSegment_t *segment = &module->segments[i];
        if (segment->slotCount <= NVTX3EXT_CBID_nvtxRangePopPayload)
            return 0;
        segment->functionSlots[NVTX3EXT_CBID_nvtxRangePushPayload] = (intptr_t)push_payload;
        segment->functionSlots[NVTX3EXT_CBID_nvtxRangePopPayload] = (intptr_t)pop_payload;
    }
    return 1;
}
