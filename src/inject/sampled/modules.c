// SPDX-License-Identifier: Apache-2.0
// Images of modules, and second copies of them, which are patched. A module is loaded again when
// the program gets the first of its kernels that has no probes: there the driver may load
// something, too, while a launch must not wait for that. A copy has variables of its own, so
// modules with variables are left alone.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fatbin/fatbin.h"
#include "inject/core/driver.h"
#include "inject/core/kernels.h"
#include "inject/probe/module.h"
#include "inject/util/globals.h"
#include "sampled.h"
#include "state.h"
#include "tools.h"

enum { IMAGE_MOST_BYTES = 64 << 20 }; // of one that glint keeps for the program

static struct sampled_module *find_locked(uint32_t number)
{
    const uint64_t *place = base_map_get(&sampled_state.modules, number);
    return place ? (struct sampled_module *)(uintptr_t)*place : NULL; // NOLINT
}

// --- Images --------------------------------------------------------------------------------------

// Returns a copy with a NUL behind it; NULL: none can be kept.
static unsigned char *keep(const void *image, uint64_t bytes)
{
    unsigned char *kept = bytes && bytes <= IMAGE_MOST_BYTES ? malloc(bytes + 1) : NULL;
    if (!kept)
        return NULL;
    memcpy(kept, image, bytes);
    kept[bytes] = 0;
    return kept;
}

static unsigned char *keep_file(const char *path)
{
    struct stat status;
    unsigned char *kept = NULL;
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return NULL;
    if (fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0 &&
        status.st_size <= IMAGE_MOST_BYTES)
        kept = calloc(1, (size_t)status.st_size + 1);
    if (kept && read(file, kept, (size_t)status.st_size) != status.st_size) {
        free(kept);
        kept = NULL;
    }
    close(file);
    return kept;
}

// Returns the fatbin of a wrapper, or the image itself; NULL: its fatbins must be linked.
static const void *without_wrapper(const void *image)
{
    struct fatbin_wrapper wrapper;
    memcpy(&wrapper.magic, image, sizeof(wrapper.magic));
    if (wrapper.magic != FATBIN_WRAPPER_MAGIC)
        return image;
    memcpy(&wrapper, image, offsetof(struct fatbin_wrapper, linked));
    return wrapper.version == 1 ? wrapper.fatbin : NULL;
}

void sampled_loaded(uint32_t number, const void *image, uint64_t bytes, bool preserved,
                    const char *path)
{
    if (!sampled_state.on || atomic_load(&sampled_state.stopped) || !number)
        return;
    struct sampled_module *module = calloc(1, sizeof(*module));
    if (!module)
        return;
    const void *inner = image && bytes ? without_wrapper(image) : NULL;
    module->owned = !preserved || !inner;
    module->image = !module->owned ? inner : inner ? keep(inner, bytes) : NULL;
    if (!image && path)
        module->image = keep_file(path);
    util_mutex_lock(&sampled_state.lock, RANK_SAMPLED);
    uint64_t *place = module->image ? base_map_put(&sampled_state.modules, number, NULL) : NULL;
    if (place) {
        *place = (uint64_t)(uintptr_t)module;
    } else {
        if (module->owned)
            free((void *)(uintptr_t)module->image);
        free(module);
    }
    util_mutex_unlock(&sampled_state.lock, RANK_SAMPLED);
}

// Returns whether the code that the context's GPU runs has no variables. Code that glint cannot
// read may have some.
static bool has_no_variables(const unsigned char *image, const struct core_context *context)
{
    struct util_globals globals = {0};
    struct fatbin_image *opened;
    struct base_error error;
    int major = 0, minor = 0;
    if (fatbin_open_memory(image, &opened, &error) != BASE_OK)
        return false;
    bool relocatable = false;
    for (size_t i = 0; i < opened->entries.count; i++)
        relocatable |= opened->entries.items[i].relocatable;
    fatbin_close(opened);
    const CUdevice device = context->device ? (CUdevice)context->device - 1 : 0;
    if (relocatable ||
        REAL(cuDeviceGetAttribute)(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device) !=
            CUDA_SUCCESS ||
        REAL(cuDeviceGetAttribute)(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device) !=
            CUDA_SUCCESS)
        return false;
    util_globals_of_image(image, (unsigned)major, (unsigned)minor, &globals);
    const bool none = !globals.count && !globals.truncated;
    util_globals_fini(&globals);
    return none;
}

// --- Copies --------------------------------------------------------------------------------------

// Returns whether the context, which is current, has the patch.
static bool add_patch(struct core_context *context)
{
    for (size_t i = 0; i < sampled_state.patched.count; i++) {
        if (sampled_state.patched.items[i] == context)
            return true;
    }
    const char *failed =
        sampled_library_add(&sampled_state.library, sampled_state.patch, context->handle);
    struct core_context **place = failed ? NULL : base_array_push(&sampled_state.patched);
    if (failed)
        sampled_stop(failed);
    if (place)
        *place = context;
    return place;
}

// Notes once that a module has no copy.
static void note_refused(CUresult result)
{
    char text[160];
    if (atomic_exchange(&sampled_state.refused, true))
        return;
    snprintf(
        text, sizeof(text),
        "some kernels are not sampled: the driver does not load their modules again (error %d)",
        (int)result);
    core_note(EVENT_INFO, text);
}

static CUmodule load(const struct sampled_module *module)
{
    CUmodule made = NULL;
    CUstreamCaptureMode mode;
    const bool relaxed = probe_relax(&mode);
    const CUresult result = REAL(cuModuleLoadData)(&made, module->image);
    if (result == CUDA_SUCCESS) {
        const char *failed = sampled_library_patch(&sampled_state.library, made);
        if (failed) {
            sampled_stop(failed);
            REAL(cuModuleUnload)(made);
            made = NULL;
        }
    } else {
        made = NULL;
        note_refused(result);
    }
    probe_unrelax(relaxed, &mode);
    return made;
}

// Returns the module's copy in the context, which is current; NULL: there is none.
static struct sampled_copy *copy_of(struct sampled_module *module, struct core_context *context)
{
    util_mutex_lock(&sampled_state.lock, RANK_SAMPLED);
    struct sampled_copy *copy = module->copies;
    while (copy && (copy->context != context || atomic_load(&copy->ended)))
        copy = copy->next;
    util_mutex_unlock(&sampled_state.lock, RANK_SAMPLED);
    if (!module->examined)
        module->refused = !has_no_variables(module->image, context);
    module->examined = true;
    if (copy)
        return copy->module ? copy : NULL;
    if (module->refused || !add_patch(context) || !(copy = calloc(1, sizeof(*copy))))
        return NULL;
    copy->context = context;
    copy->module = load(module);
    util_mutex_lock(&sampled_state.lock, RANK_SAMPLED);
    copy->next = module->copies;
    module->copies = copy;
    util_mutex_unlock(&sampled_state.lock, RANK_SAMPLED);
    return copy->module ? copy : NULL;
}

// --- Kernels -------------------------------------------------------------------------------------

struct sampled_kernel *sampled_kernel_in(const struct probe_kernel *kernel,
                                         const struct core_context *context)
{
    struct sampled_kernel *sampled =
        atomic_load(&((struct probe_kernel *)(uintptr_t)kernel)->sampled);
    while (sampled && (sampled->copy->context != context || atomic_load(&sampled->copy->ended)))
        sampled = sampled->next;
    return sampled;
}

// Kernels that wait for others, in ways that their launches do not show.
static bool waits_for_others(const char *name)
{
    static const char *const parts[] = {"nccl", "nvshmem", "mscclpp", "grid_sync", "gridSync"};
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        if (strstr(name, parts[i]))
            return true;
    }
    return false;
}

static void make(struct probe_kernel *kernel, struct core_context *context)
{
    util_mutex_lock(&sampled_state.lock, RANK_SAMPLED);
    struct sampled_module *module = find_locked(kernel->module);
    util_mutex_unlock(&sampled_state.lock, RANK_SAMPLED);
    struct sampled_copy *copy = module ? copy_of(module, context) : NULL;
    CUfunction function;
    if (!copy || sampled_kernel_in(kernel, context) ||
        REAL(cuModuleGetFunction)(&function, copy->module, kernel->name) != CUDA_SUCCESS)
        return;
    struct sampled_kernel *made = calloc(1, sizeof(*made));
    char *name = probe_copy_text(kernel->name);
    if (!made || !name) {
        free(made);
        free(name);
        core_no_memory();
        return;
    }
    made->copy = copy;
    made->function = function;
    made->about = (struct instrument_kernel){
        .name = name,
        .context_bytes = sizeof(struct instrument_context),
        .left_flag = INSTRUMENT_NONE,
        .needs_table = true,
    };
    made->next = atomic_load(&kernel->sampled);
    atomic_store(&kernel->sampled, made);
}

void sampled_prepare(const void *handle, struct core_context *context)
{
    if (!sampled_state.on || atomic_load(&sampled_state.stopped) || !context)
        return;
    struct probe_kernel *kernel = probe_kernel_of(handle);
    if (!kernel || kernel->about || !kernel->is_passed || !kernel->name ||
        waits_for_others(kernel->name) || sampled_kernel_in(kernel, context))
        return;
    const char *conflict = sampled_conflict();
    if (conflict) {
        sampled_stop("another tool follows CUDA in this process now");
        return;
    }
    if (util_mutex_trylock(&sampled_state.loading, RANK_COPIES))
        return; // the kernel may be asked for again
    if (sampled_enter()) {
        make(kernel, context);
        sampled_leave();
    }
    util_mutex_unlock(&sampled_state.loading, RANK_COPIES);
}

// --- Ends ----------------------------------------------------------------------------------------

// A copy of another context cannot be unloaded here, and stays.
void sampled_module_ended(uint32_t number)
{
    util_mutex_lock(&sampled_state.lock, RANK_SAMPLED);
    struct sampled_module *module = find_locked(number);
    base_map_remove(&sampled_state.modules, number);
    util_mutex_unlock(&sampled_state.lock, RANK_SAMPLED);
    const struct core_context *current = module ? core_context_current() : NULL;
    for (struct sampled_copy *copy = module ? module->copies : NULL; copy; copy = copy->next) {
        if (!atomic_exchange(&copy->ended, true) && copy->module && copy->context == current)
            REAL(cuModuleUnload)(copy->module);
    }
    if (module && module->owned)
        free((void *)(uintptr_t)module->image);
    free(module);
}

void sampled_context_gone(struct core_context *context, uint64_t call)
{
    (void)call;
    util_mutex_lock(&sampled_state.lock, RANK_SAMPLED);
    for (size_t i = 0; i < sampled_state.modules.count; i++) {
        const struct base_map_entry *entry = &sampled_state.modules.entries[i];
        const struct sampled_module *module =
            entry->removed ? NULL
                           : (const struct sampled_module *)(uintptr_t)entry->value; // NOLINT
        for (struct sampled_copy *copy = module ? module->copies : NULL; copy; copy = copy->next) {
            if (copy->context == context)
                atomic_store(&copy->ended, true);
        }
    }
    util_mutex_unlock(&sampled_state.lock, RANK_SAMPLED);
    util_mutex_lock(&sampled_state.loading, RANK_COPIES);
    size_t kept = 0;
    for (size_t i = 0; i < sampled_state.patched.count; i++) {
        if (sampled_state.patched.items[i] != context)
            sampled_state.patched.items[kept++] = sampled_state.patched.items[i];
    }
    sampled_state.patched.count = kept;
    util_mutex_unlock(&sampled_state.loading, RANK_COPIES);
}
