// SPDX-License-Identifier: Apache-2.0
// Kernels and their clones. A clone is looked up by name in the module that the kernel's function
// belongs to in the current context, or in a part that is loaded there. So functions and CUkernels,
// of modules and of libraries, are treated alike. Attributes that a program sets on a kernel are
// set on its clone before its next launch.
#include "kernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fit.h"
#include "inject/core/kernels.h"
#include "inject/core/params.h"
#include "inject/shadow/malloc.h"
#include "parts.h"
#include "range.h"
#include "spare.h"

// --- Kernels -------------------------------------------------------------------------------------

static const struct instrument_kernel *find(const struct probe_module *module, const char *name,
                                            struct probe_text **in)
{
    for (size_t t = 0; t < module->text_count; t++) {
        const struct instrument_module *text = module->texts[t]->module;
        for (uint32_t i = 0; i < text->kernel_count; i++) {
            if (strcmp(text->kernels[i].name, name) != 0)
                continue;
            *in = module->texts[t];
            return &text->kernels[i];
        }
    }
    return NULL;
}

// Returns the kernel's name if the module's text shows that it allocates memory; otherwise NULL.
static const char *find_allocator(const struct probe_module *module, const char *name)
{
    for (size_t t = 0; t < module->text_count; t++) {
        const struct instrument_module *text = module->texts[t]->module;
        for (uint32_t i = 0; i < text->allocator_count; i++) {
            if (strcmp(text->allocators[i], name) == 0)
                return text->allocators[i];
        }
    }
    return NULL;
}

void probe_kernel_unwatched(const struct probe_kernel *kernel, struct core_context *context)
{
    if (kernel->allocates && context)
        shadow_heap_unwatched(context, kernel->allocates);
}

void probe_kernel_note(struct probe_kernel *kernel, const char *why)
{
    char note[400];
    if (atomic_exchange(&kernel->refused, true))
        return;
    snprintf(note, sizeof(note), "kernel %.200s: %s", kernel->about->name, why);
    core_note(EVENT_WARNING, note);
}

void *probe_kernel_make(uint32_t module_number, const char *name)
{
    struct probe_kernel *kernel = calloc(1, sizeof(*kernel));
    const char *reason = "its module was loaded in a way that glint does not see";
    if (!kernel) {
        core_no_memory();
        return NULL;
    }
    atomic_store(&kernel->users, 1);
    atomic_store(&kernel->cache_config, -1);
    atomic_store(&kernel->banks, -1);
    util_mutex_lock(&probe_state->lock, RANK_PROBE);
    const uint64_t *place = base_map_get(&probe_state->modules, module_number);
    const struct probe_module *module =
        place ? (const struct probe_module *)(uintptr_t)*place : NULL; // NOLINT
    const struct instrument_kernel *about = module ? find(module, name, &kernel->text) : NULL;
    kernel->allocates = module ? find_allocator(module, name) : NULL;
    const bool refused =
        about && about->clone && module->is_original && about->part == INSTRUMENT_NONE;
    if (about && about->clone && !refused)
        kernel->about = about;
    if (about && !refused)
        reason = about->reason;
    else if (module && !probe_selects(name))
        reason = "it is not one of the kernels selected for probes";
    else if (module && !probe_wants(name))
        reason = "it is one of the kernels that --no-probes excludes";
    else if (module)
        reason = module->reason[0] ? module->reason : "the PTX of its module does not contain it";
    kernel->reason = reason ? probe_copy_text(reason) : NULL;
    kernel->is_compiled = module && module->is_compiled;
    kernel->module = module_number;
    kernel->name = kernel->about ? NULL : probe_copy_text(name);
    kernel->is_passed = probe_selects(name);
    util_mutex_unlock(&probe_state->lock, RANK_PROBE);
    return kernel;
}

void probe_kernel_hold(struct probe_kernel *kernel)
{
    atomic_fetch_add(&kernel->users, 1);
}

void probe_kernel_drop(struct probe_kernel *kernel)
{
    if (!kernel || atomic_fetch_sub(&kernel->users, 1) != 1)
        return;
    for (struct probe_clone *clone = atomic_load(&kernel->clones); clone;) {
        struct probe_clone *next = clone->next;
        probe_fit_free(clone);
        probe_spare_free(clone);
        free(clone);
        clone = next;
    }
    free((void *)(uintptr_t)kernel->reason);
    free((void *)(uintptr_t)kernel->name);
    free(kernel);
}

static void add_text(struct base_buf *texts, const char *text)
{
    base_buf_add(texts, text ? text : "", (text ? strlen(text) : 0) + 1);
}

static void tell_site(const struct instrument_site *site, uint32_t kernel, uint32_t number)
{
    const struct event_site record = {
        .kernel = kernel,
        .number = number,
        .index = site->index,
        .ptx_line = site->ptx_line,
        .bytes = site->bytes,
        .line = site->line,
        .column = site->column,
        .at_line = site->at_line,
        .at_column = site->at_column,
        .access = site->access,
        .generic = site->generic,
        .type_count = site->type_count,
    };
    struct base_buf texts = {0};
    add_text(&texts, site->function);
    add_text(&texts, site->opcode);
    add_text(&texts, site->type);
    add_text(&texts, site->file);
    add_text(&texts, site->inlined_function);
    add_text(&texts, site->at_file);
    add_text(&texts, site->array);
    if (!texts.failed)
        core_put(EVENT_SITE, &record, sizeof(record), texts.text, texts.length);
    base_buf_fini(&texts);
}

static void tell_arrays(const struct instrument_kernel *about, uint32_t kernel)
{
    char note[500];
    for (uint32_t i = 0; i < about->array_count; i++) {
        const struct event_array record = {
            .kernel = kernel, .number = i + 1, .bytes = about->arrays[i].bytes};
        core_put(EVENT_ARRAY, &record, sizeof(record), about->arrays[i].name,
                 strlen(about->arrays[i].name) + 1);
    }
    if (!about->uncounted || !about->array_count)
        return;
    snprintf(note, sizeof(note),
             "kernel %.200s: loads and stores of shared memory are counted, but "
             "not %.200s",
             about->name, about->uncounted);
    core_note(EVENT_INFO, note);
}

static void tell_unlooked(const struct instrument_kernel *about)
{
    char note[500];
    if (!about->looks || !about->unlooked)
        return;
    snprintf(note, sizeof(note),
             "kernel %.200s: what its blocks load of global memory is counted, but not %.200s",
             about->name, about->unlooked);
    core_note(EVENT_INFO, note);
}

static void tell_untraced(const struct instrument_kernel *about)
{
    char note[500];
    if (!about->untraced)
        return;
    snprintf(note, sizeof(note), "kernel %.200s: its use of caches is unknown, because of %.200s",
             about->name, about->untraced);
    core_note(EVENT_INFO, note);
}

static void tell_probe(uint32_t number, uint32_t facts, const char *reason)
{
    const struct event_probe record = {.kernel = number, .facts = facts};
    core_put(EVENT_PROBE, &record, sizeof(record), reason, reason ? strlen(reason) : 0);
}

void probe_kernel_tell(struct probe_kernel *kernel, uint32_t number)
{
    if (!number || atomic_load_explicit(&kernel->number, memory_order_relaxed) ||
        atomic_exchange(&kernel->number, number))
        return;
    uint32_t facts = kernel->about ? probe_state->facts : 0;
    if (kernel->about && !kernel->about->other_effects)
        facts |= INSTRUMENT_ONLY_MEMORY;
    tell_probe(number, facts, kernel->reason);
    if (!kernel->about)
        return;
    const uint32_t count = kernel->about->site_count;
    for (uint32_t i = 0; i < count; i++)
        tell_site(&kernel->about->sites[i], number, i + 1);
    for (uint32_t i = 0; i < kernel->about->shared_count; i++)
        tell_site(&kernel->about->shared[i], number, count + i + 1);
    tell_arrays(kernel->about, number);
    tell_unlooked(kernel->about);
    tell_untraced(kernel->about);
}

bool probe_kernel_chosen(struct probe_kernel *kernel)
{
    if (!probe_range_watches())
        return false;
    return kernel->about && atomic_fetch_add_explicit(&kernel->launches, 1, memory_order_relaxed) %
                                    probe_state->sample ==
                                0;
}

// --- Clones --------------------------------------------------------------------------------------

// Attributes that a program can set.
static const CUfunction_attribute set_attributes[] = {
    CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
    CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
    CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH,
    CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT,
    CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH,
    CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED,
    CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE,
};

// Returns what the attribute must be for the clone if it is `value` for the kernel.
static int adapt(struct probe_clone *clone, CUfunction_attribute attribute, int value)
{
    if (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
        return value;
    atomic_store(&clone->limit, (uint32_t)value);
    const uint32_t raised = atomic_load(&clone->raised);
    return raised > (uint32_t)value ? (int)raised : value;
}

static void copy_settings(const struct probe_kernel *kernel, struct probe_clone *clone)
{
    const int cache = atomic_load(&kernel->cache_config), banks = atomic_load(&kernel->banks);
    const CUfunction functions[] = {clone->function, clone->light};
    for (size_t i = 0; i < sizeof(set_attributes) / sizeof(set_attributes[0]); i++) {
        int value = 0, other = 0;
        if (REAL(cuFuncGetAttribute)(&value, set_attributes[i], clone->original) != CUDA_SUCCESS ||
            REAL(cuFuncGetAttribute)(&other, set_attributes[i], clone->function) != CUDA_SUCCESS)
            continue;
        value = adapt(clone, set_attributes[i], value);
        for (int k = 0; value != other && k < 2 && functions[k]; k++)
            REAL(cuFuncSetAttribute)(functions[k], set_attributes[i], value);
    }
    for (int k = 0; k < 2 && functions[k]; k++) {
        if (cache >= 0)
            REAL(cuFuncSetCacheConfig)(functions[k], (CUfunc_cache)cache);
        if (banks >= 0)
            REAL(cuFuncSetSharedMemConfig)(functions[k], (CUsharedconfig)banks);
    }
}

// Returns whether the kernel has the parameters that its PTX declares. Drivers before CUDA 12.4 do
// not report them.
static bool has_declared_params(const struct probe_kernel *kernel, const struct probe_clone *clone)
{
    const struct instrument_kernel *about = kernel->about;
    if (!core_driver_find_real(HOOK_cuFuncGetParamInfo))
        return true;
    for (uint32_t i = 0; i < about->param_count; i++) {
        size_t offset, bytes;
        if (REAL(cuFuncGetParamInfo)(clone->original, i, &offset, &bytes) != CUDA_SUCCESS ||
            offset != about->params[i].offset || bytes != about->params[i].bytes)
            return false;
    }
    return true;
}

// Finds the module that holds the clone.
static CUresult find_module(const struct probe_kernel *kernel, const struct probe_clone *clone,
                            CUmodule *module)
{
    const uint32_t part = kernel->about->part;
    return part == INSTRUMENT_NONE ? REAL(cuFuncGetModule)(module, clone->original)
                                   : probe_parts_module(kernel->text, part, clone->context, module);
}

static void find_clone(const struct probe_kernel *kernel, struct probe_clone *clone)
{
    CUmodule module = NULL;
    CUfunction function = NULL;
    if (find_module(kernel, clone, &module) != CUDA_SUCCESS ||
        REAL(cuModuleGetFunction)(&function, module, kernel->about->clone) != CUDA_SUCCESS ||
        !has_declared_params(kernel, clone))
        return;
    for (uint32_t i = 0; i < kernel->about->root_count; i++) {
        const struct instrument_root *root = &kernel->about->roots[i];
        CUdeviceptr address = 0;
        size_t bytes = 0;
        if (root->kind == INSTRUMENT_ROOT_VARIABLE &&
            REAL(cuModuleGetGlobal_v2)(&address, &bytes, module, root->variable) == CUDA_SUCCESS)
            clone->variables[i] = address;
    }
    if (kernel->about->light &&
        REAL(cuModuleGetFunction)(&clone->light, module, kernel->about->light) != CUDA_SUCCESS)
        clone->light = NULL;
    clone->function = function;
}

static struct probe_clone *known_clone(struct probe_kernel *kernel, uint32_t context)
{
    struct probe_clone *clone = atomic_load_explicit(&kernel->clones, memory_order_acquire);
    while (clone && clone->context != context)
        clone = clone->next;
    return clone;
}

static struct probe_clone *new_clone(struct probe_kernel *kernel, const void *handle,
                                     uint32_t context)
{
    const size_t bytes = kernel->about->root_count * sizeof(uint64_t);
    struct probe_clone *made = calloc(1, sizeof(*made) + bytes);
    if (!made) {
        core_no_memory();
        return NULL;
    }
    made->context = context;
    made->original = core_kernel_function(handle);
    made->most_threads = core_kernel_limit(made->original, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    atomic_store(&made->limit, UINT32_MAX);
    atomic_store(&made->settings, UINT32_MAX);
    find_clone(kernel, made);
    util_mutex_lock(&probe_state->lock, RANK_PROBE);
    struct probe_clone *clone =
        known_clone(kernel, context); // another thread may have made it meanwhile
    if (!clone) {
        made->next = atomic_load(&kernel->clones);
        atomic_store_explicit(&kernel->clones, made, memory_order_release);
    }
    util_mutex_unlock(&probe_state->lock, RANK_PROBE);
    if (clone) {
        free(made);
        return clone;
    }
    return made;
}

struct probe_clone *probe_kernel_clone(struct probe_kernel *kernel, const void *handle,
                                       struct core_context *context)
{
    struct probe_clone *clone = known_clone(kernel, context->number);
    const uint32_t settings = atomic_load(&kernel->settings);
    if (!clone) {
        clone = new_clone(kernel, handle, context->number);
        if (clone && clone->function)
            shadow_prepare(context, kernel->about, probe_state->facts);
    }
    if (clone && !clone->function && atomic_load(&kernel->number) &&
        !atomic_exchange(&clone->noted, true))
        tell_probe(
            atomic_load(&kernel->number), 0,
            "the driver does not load its clone with probes, or reports other parameters than "
            "its PTX declares");
    if (!clone || !clone->function)
        return NULL;
    if (atomic_load(&clone->settings) != settings) {
        copy_settings(kernel, clone);
        atomic_store(&clone->settings, settings);
    }
    return clone;
}

void probe_kernel_prepare(const void *handle, struct core_context *context)
{
    struct probe_kernel *kernel = context ? probe_kernel_of(handle) : NULL;
    CUstreamCaptureMode mode;
    if (!kernel || !kernel->about || stack_is_small())
        return;
    const bool relaxed = probe_relax(&mode);
    probe_kernel_clone(kernel, handle, context);
    probe_unrelax(relaxed, &mode);
}

// --- Parameters ----------------------------------------------------------------------------------

static size_t end_of(const struct instrument_kernel *about)
{
    const struct instrument_param *last = about->params + about->param_count - 1;
    return about->param_count ? last->offset + (size_t)last->bytes : 0;
}

// Copies the values to their offsets in the packed parameters. False: some are missing.
static bool pack(const struct instrument_kernel *about, void **pointers, void **extra,
                 unsigned char *packed)
{
    const unsigned char *buffer;
    size_t bytes;
    if (pointers || !about->param_count) {
        for (uint32_t i = 0; i < about->param_count; i++) {
            if (!pointers[i])
                return false;
            memcpy(packed + about->params[i].offset, pointers[i], about->params[i].bytes);
        }
        return true;
    }
    if (!core_params_unpack(extra, &buffer, &bytes) || bytes < end_of(about))
        return false;
    memcpy(packed, buffer, end_of(about));
    return true;
}

struct probe_params *probe_params_make(const struct probe_kernel *kernel,
                                       const struct probe_clone *clone, void **pointers,
                                       void **extra)
{
    const struct instrument_kernel *about = kernel->about;
    const size_t packed_bytes = about->context_offset + (size_t)about->context_bytes;
    const size_t pointer_bytes = (about->param_count + 1) * sizeof(void *);
    const size_t root_bytes = about->root_count * sizeof(uint64_t);
    struct probe_params *made =
        calloc(1, sizeof(*made) + pointer_bytes + 2 * root_bytes + packed_bytes);
    if (!made) {
        core_no_memory();
        return NULL;
    }
    made->pointers = (void **)(made + 1);
    made->given = (uint64_t *)((char *)made->pointers + pointer_bytes);
    made->roots = made->given + about->root_count;
    unsigned char *packed = (unsigned char *)made->roots + root_bytes;
    if (!pack(about, pointers, extra, packed)) {
        free(made);
        return NULL;
    }
    for (uint32_t i = 0; i < about->param_count; i++)
        made->pointers[i] = packed + about->params[i].offset;
    made->values = packed;
    made->context = made->pointers[about->param_count] = packed + about->context_offset;
    for (uint32_t i = 0; i < about->root_count; i++) {
        const struct instrument_root *root = &about->roots[i];
        if (root->kind == INSTRUMENT_ROOT_VARIABLE)
            made->given[i] = clone->variables[i];
        else if (root->offset + sizeof(uint64_t) <= about->context_offset)
            memcpy(&made->given[i], packed + root->offset, sizeof(uint64_t));
    }
    return made;
}

struct probe_kernel *probe_kernel_of(const void *handle)
{
    return core_kernel_kept(handle, probe_kernel_make);
}
