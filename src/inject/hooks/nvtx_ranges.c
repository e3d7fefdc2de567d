// SPDX-License-Identifier: Apache-2.0
// Functions for ranges, domains and registered strings. Handles are names (nvtx_names.h). All
// ranges are recorded, and those of one name in one domain may choose which launches are watched.
// As without a tool, functions return no levels of nesting.
#include "nvtx_ranges.h"

#include <errno.h>

#include "inject/core/presence.h"
#include "inject/probe/range.h"
#include "nvtx_names.h"
#include "nvtx_record.h"
#include "nvtx_text.h"

// --- Names ---------------------------------------------------------------------------------------

struct range_name {
    bool is_wanted;
    const char *text; // never NULL
    char copy[HOOKS_NVTX_TEXT];
};

static void read_name(struct range_name *name, uint32_t type, nvtxMessageValue_t message)
{
    name->is_wanted = false;
    name->text = "";
    if (type == NVTX_MESSAGE_TYPE_REGISTERED) {
        const struct hooks_nvtx_name *registered = (const void *)message.registered;
        if (registered) {
            name->is_wanted = registered->is_wanted;
            name->text = registered->text;
        }
    } else if (hooks_nvtx_text(type, message, name->copy)) {
        name->is_wanted = probe_range_is_name(name->copy);
        name->text = name->copy;
    }
}

static void read_ascii(struct range_name *name, const char *text)
{
    read_name(name, NVTX_MESSAGE_TYPE_ASCII, (nvtxMessageValue_t){.ascii = text});
}

static void read_wide(struct range_name *name, const wchar_t *text)
{
    read_name(name, NVTX_MESSAGE_TYPE_UNICODE, (nvtxMessageValue_t){.unicode = text});
}

static void read_event(struct range_name *name, const nvtxEventAttributes_v2 *event)
{
    if (event && event->size >= sizeof(*event))
        read_name(name, (uint32_t)event->messageType, event->message);
    else
        read_ascii(name, NULL);
}

static nvtxStringHandle_t register_name(const struct range_name *name)
{
    const int error = errno;
    struct hooks_nvtx_name *made = hooks_nvtx_string(name->text, name->is_wanted);
    errno = error;
    return (nvtxStringHandle_t)made;
}

static nvtxStringHandle_t register_ascii(nvtxDomainHandle_t domain, const char *text)
{
    struct range_name name;
    (void)domain;
    read_ascii(&name, text);
    return register_name(&name);
}

static nvtxStringHandle_t register_wide(nvtxDomainHandle_t domain, const wchar_t *text)
{
    struct range_name name;
    (void)domain;
    read_wide(&name, text);
    return register_name(&name);
}

// --- Domains -------------------------------------------------------------------------------------

static nvtxDomainHandle_t create(const struct range_name *name)
{
    const int error = errno;
    struct hooks_nvtx_name *made =
        hooks_nvtx_domain(name->text, *name->text && probe_range_is_domain(name->text));
    errno = error;
    return (nvtxDomainHandle_t)made;
}

static nvtxDomainHandle_t create_ascii(const char *text)
{
    struct range_name name;
    read_ascii(&name, text);
    return create(&name);
}

static nvtxDomainHandle_t create_wide(const wchar_t *text)
{
    struct range_name name;
    read_wide(&name, text);
    return create(&name);
}

static const struct hooks_nvtx_name *domain_of(nvtxDomainHandle_t handle)
{
    return (const void *)handle;
}

static bool is_wanted(nvtxDomainHandle_t domain)
{
    return domain ? domain_of(domain)->is_wanted : probe_range_is_domain(NULL);
}

// --- Ranges --------------------------------------------------------------------------------------

static int push(nvtxDomainHandle_t domain, const struct range_name *name)
{
    const int error = errno;
    hooks_nvtx_record_push(domain_of(domain), name->text);
    if (is_wanted(domain))
        probe_range_push(name->is_wanted);
    else if (name->is_wanted)
        core_presence_add(EVENT_PRESENT_OTHER);
    errno = error;
    return NVTX_NO_PUSH_POP_TRACKING;
}

static nvtxRangeId_t start(nvtxDomainHandle_t domain, const struct range_name *name)
{
    const int error = errno;
    const bool opens = name->is_wanted && is_wanted(domain);
    const nvtxRangeId_t identifier = probe_range_start(opens);
    if (name->is_wanted && !opens)
        core_presence_add(EVENT_PRESENT_OTHER);
    hooks_nvtx_record_start(domain_of(domain), name->text, identifier);
    errno = error;
    return identifier;
}

static int range_push(const nvtxEventAttributes_v2 *event)
{
    struct range_name name;
    read_event(&name, event);
    return push(NULL, &name);
}

static int range_push_ascii(const char *text)
{
    struct range_name name;
    read_ascii(&name, text);
    return push(NULL, &name);
}

static int range_push_wide(const wchar_t *text)
{
    struct range_name name;
    read_wide(&name, text);
    return push(NULL, &name);
}

static int domain_range_push(nvtxDomainHandle_t domain, const nvtxEventAttributes_v2 *event)
{
    struct range_name name;
    read_event(&name, event);
    return push(domain, &name);
}

static int domain_range_pop(nvtxDomainHandle_t domain)
{
    hooks_nvtx_record_pop(domain_of(domain));
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
    struct range_name name;
    read_event(&name, event);
    return start(NULL, &name);
}

static nvtxRangeId_t range_start_ascii(const char *text)
{
    struct range_name name;
    read_ascii(&name, text);
    return start(NULL, &name);
}

static nvtxRangeId_t range_start_wide(const wchar_t *text)
{
    struct range_name name;
    read_wide(&name, text);
    return start(NULL, &name);
}

static nvtxRangeId_t domain_range_start(nvtxDomainHandle_t domain,
                                        const nvtxEventAttributes_v2 *event)
{
    struct range_name name;
    read_event(&name, event);
    return start(domain, &name);
}

static void range_end(nvtxRangeId_t identifier)
{
    if (probe_range_end(identifier))
        hooks_nvtx_record_end(identifier);
}

static void domain_range_end(nvtxDomainHandle_t domain, nvtxRangeId_t identifier)
{
    (void)domain;
    range_end(identifier);
}

// A range with a payload has its name there, if any, in a form that only the program knows. It
// counts because the program may end it by domain_range_pop.
static int push_payload(nvtxDomainHandle_t domain, const void *payloads, size_t count)
{
    struct range_name name;
    (void)payloads, (void)count;
    read_ascii(&name, NULL);
    return push(domain, &name);
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
    if (probe_range_uses_nvtx())
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
    if (module->compatId < OLDEST || module->compatId > NVTX_EXT_PAYLOAD_COMPATID)
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
