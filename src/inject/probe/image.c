// SPDX-License-Identifier: Apache-2.0
// Decides which PTX of an image is rewritten, and makes what is loaded in the image's place: the
// text, or, if the driver links several parts, a wrapper like the program's with other parts in it.
//
// Machine code that the device runs and that has a copy of its PTX is loaded as it is, because it
// may have been compiled by another version or with options that nobody knows. Its kernels have
// clones beside it, made of the copy, or of the same text with line numbers, where that is found.
#include "image.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inject/util/code.h"
#include "nearby.h"
#include "parts.h"

enum {
    MOST_TEXT_BYTES = 256 * 1024 * 1024,
    MOST_DEVICES = 32,
};

// --- Images --------------------------------------------------------------------------------------

struct devices { // the devices that will run the code; the first decides which code is best
    unsigned major[MOST_DEVICES], minor[MOST_DEVICES];
    int count;
};

unsigned probe_gpu_of(CUdevice device)
{
    int major = 0, minor = 0;
    if (REAL(cuDeviceGetAttribute)(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device) !=
            CUDA_SUCCESS ||
        REAL(cuDeviceGetAttribute)(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device) !=
            CUDA_SUCCESS)
        return 0;
    return (unsigned)(major * 10 + minor);
}

static void add_device(struct devices *devices, CUdevice device)
{
    const unsigned gpu = devices->count < MOST_DEVICES ? probe_gpu_of(device) : 0;
    if (!gpu)
        return;
    devices->major[devices->count] = gpu / 10;
    devices->minor[devices->count++] = gpu % 10;
}

static struct devices devices_for(const struct core_context *context, bool library)
{
    struct devices devices = {.count = 0};
    const CUdevice own = context && context->device ? (CUdevice)context->device - 1 : 0;
    int count = 0;
    add_device(&devices, own);
    if (library && REAL(cuDeviceGetCount)(&count) == CUDA_SUCCESS) {
        for (CUdevice device = 0; device < count; device++) {
            if (device != own)
                add_device(&devices, device);
        }
    }
    return devices;
}

// Returns 0 if some device cannot run it.
static unsigned fitness(const struct fatbin_image *image, const struct fatbin_entry *entry,
                        const struct devices *devices)
{
    for (int i = 0; i < devices->count; i++) {
        const unsigned major = devices->major[i], minor = devices->minor[i];
        // The simulated GPU runs PTX only, so no machine code takes precedence.
        if (core_state.simulated ? !util_code_fitness(entry, major, minor)
                                 : !util_code_is_taken(image, entry, major, minor))
            return 0;
    }
    return devices->count ? util_code_fitness(entry, devices->major[0], devices->minor[0]) : 0;
}

// Returns the PTX of the fatbin that the devices run; NULL: none, for the module's reason.
static const struct fatbin_entry *best_of(const struct fatbin_image *image, size_t fatbin,
                                          const struct devices *devices,
                                          struct probe_module *module)
{
    const struct fatbin_entry *best = NULL;
    bool any = false;
    for (size_t i = 0; i < image->entries.count; i++) {
        const struct fatbin_entry *entry = &image->entries.items[i];
        if (entry->fatbin_index != fatbin || entry->kind != FATBIN_PTX || entry->from_debug_info)
            continue;
        any = true;
        if (fitness(image, entry, devices) > (best ? fitness(image, best, devices) : 0))
            best = entry;
    }
    if (!best)
        snprintf(module->reason, sizeof(module->reason), "%s",
                 any ? "its PTX is for another architecture than the code that the device runs"
                     : "no PTX");
    return best;
}

// Returns the lowest of their compute capabilities, 90 for 9.0.
static unsigned least_of(const struct devices *devices)
{
    unsigned least = 0;
    for (int i = 0; i < devices->count; i++) {
        const unsigned gpu = devices->major[i] * 10 + devices->minor[i];
        least = !least || gpu < least ? gpu : least;
    }
    return least;
}

static bool is_large(const struct fatbin_entry *entry, struct probe_module *module)
{
    if (entry->full_bytes <= MOST_TEXT_BYTES && entry->payload_bytes <= MOST_TEXT_BYTES)
        return false;
    snprintf(module->reason, sizeof(module->reason), "its PTX is larger than %d MiB",
             MOST_TEXT_BYTES >> 20);
    return true;
}

static struct probe_text *rewrite_entry(const struct fatbin_entry *entry,
                                        const struct devices *devices, unsigned parts,
                                        struct probe_module *module)
{
    struct base_error error = {0};
    struct probe_text *text = NULL;
    char *ptx;
    size_t length;
    if (is_large(entry, module))
        return NULL;
    if (fatbin_entry_text(entry, &ptx, &length, &error) != BASE_OK) {
        base_error_text(&error, module->reason, sizeof(module->reason));
        return NULL;
    }
    text = probe_rewrite(ptx, length, least_of(devices), parts, module->reason,
                         sizeof(module->reason));
    free(ptx);
    return text;
}

static bool holds_code(const struct fatbin_image *image, size_t fatbin)
{
    for (size_t i = 0; i < image->entries.count; i++) {
        if (image->entries.items[i].fatbin_index == fatbin)
            return true;
    }
    return false;
}

// --- Machine code --------------------------------------------------------------------------------

// Returns the machine code that a device runs; NULL: none.
static const struct fatbin_entry *taken_by(const struct fatbin_image *image, size_t fatbin,
                                           const struct devices *devices, int device)
{
    const unsigned major = devices->major[device], minor = devices->minor[device];
    const struct fatbin_entry *best = NULL;
    for (size_t i = 0; i < image->entries.count; i++) {
        const struct fatbin_entry *entry = &image->entries.items[i];
        if (entry->fatbin_index == fatbin && entry->kind == FATBIN_CUBIN &&
            util_code_fitness(entry, major, minor) >
                (best ? util_code_fitness(best, major, minor) : 0))
            best = entry;
    }
    return best;
}

// Finds the copy in the machine code that all devices run. Not in fatbins, where a GPU would have
// to compile the clones: kernels of libraries (FlashAttention, for instance) take minutes, for
// which a program that brings their machine code does not wait natively.
static const struct fatbin_entry *find_copy(const struct fatbin_image *image, size_t fatbin,
                                            const struct devices *devices,
                                            struct fatbin_entry *copy)
{
    const struct fatbin_entry *cubin = devices->count ? taken_by(image, fatbin, devices, 0) : NULL;
    if (!cubin || (image->form != FATBIN_FORM_CUBIN && !core_state.simulated) ||
        !fatbin_find_copy(cubin, copy))
        return NULL;
    for (int i = 0; i < devices->count; i++) {
        if (taken_by(image, fatbin, devices, i) != cubin ||
            !util_code_fitness(copy, devices->major[i], devices->minor[i]))
            return NULL;
    }
    return cubin;
}

static void rewrite_copy(struct probe_module *module, const struct fatbin_image *image,
                         const char *path, size_t fatbin, const struct devices *devices)
{
    struct base_error error = {0};
    struct fatbin_entry copy;
    char *ptx;
    size_t length, nearby_length = 0;
    const struct fatbin_entry *cubin = find_copy(image, fatbin, devices, &copy);
    if (!cubin || is_large(&copy, module))
        return;
    if (fatbin_entry_text(&copy, &ptx, &length, &error) != BASE_OK) {
        base_error_text(&error, module->reason, sizeof(module->reason));
        return;
    }
    char *nearby =
        image->form == FATBIN_FORM_CUBIN
            ? probe_nearby_find(cubin, path, ptx, &probe_state->nearby_ns, &nearby_length)
            : NULL;
    struct probe_text *text =
        probe_rewrite(nearby ? nearby : ptx, nearby ? nearby_length : length, least_of(devices),
                      probe_parts_wanted(), module->reason, sizeof(module->reason));
    free(nearby);
    free(ptx);
    if (!text || !probe_module_add(module, text))
        return;
    module->is_original = module->is_compiled = true;
    snprintf(module->reason, sizeof(module->reason),
             "it uses variables of its module, which is loaded as machine code");
}

// --- One text ------------------------------------------------------------------------------------

static const void *rewrite_one(struct probe_module *module, const struct fatbin_image *image,
                               const char *path, size_t fatbin, const struct devices *devices)
{
    const struct fatbin_entry *best = best_of(image, fatbin, devices, module);
    if (!best) {
        rewrite_copy(module, image, path, fatbin, devices);
        return NULL;
    }
    struct probe_text *text = rewrite_entry(best, devices, probe_parts_wanted(), module);
    return text && probe_module_add(module, text) && probe_text_has_clones(text) ? text->module->ptx
                                                                                 : NULL;
}

// --- Parts that are linked -----------------------------------------------------------------------

// Adds the rewritten part to the buffer. Returns its offset; SIZE_MAX: the part is linked as it is.
static size_t rewrite_part(struct probe_module *module, const struct fatbin_image *image,
                           size_t fatbin, const struct devices *devices, struct base_buf *parts)
{
    const size_t at = parts->length;
    const struct fatbin_entry *best = best_of(image, fatbin, devices, module);
    struct probe_text *text = best ? rewrite_entry(best, devices, 0, module) : NULL;
    if (!text || !probe_module_add(module, text) || !probe_text_has_clones(text))
        return SIZE_MAX;
    fatbin_put_ptx(parts, best, text->module->ptx, text->module->ptx_bytes);
    return at;
}

// Makes one wrapper, a list of `count` parts, and the rewritten ones, in one piece of memory.
// image: the program's, whose fatbins are the wrapper's own and the parts.
static const void *rewrite_parts(struct probe_module *module, const struct fatbin_wrapper *wrapper,
                                 size_t count, const struct fatbin_image *image,
                                 const struct devices *devices)
{
    struct base_buf parts = {0};
    size_t *places = calloc(count + 1, sizeof(*places));
    bool any = false;
    for (size_t i = 0; places && i < count; i++) {
        places[i] = rewrite_part(module, image, i + 1, devices, &parts);
        any |= places[i] != SIZE_MAX;
    }
    const size_t head_bytes = sizeof(*wrapper) + (count + 1) * sizeof(void *);
    char *made = any && !parts.failed ? calloc(1, head_bytes + parts.length) : NULL;
    if (made) {
        const void **linked = (const void **)(void *)(made + sizeof(*wrapper));
        *(struct fatbin_wrapper *)(void *)made = (struct fatbin_wrapper){
            wrapper->magic, wrapper->version, wrapper->fatbin, (const void *const *)linked};
        memcpy(made + head_bytes, parts.text, parts.length);
        for (size_t i = 0; i < count; i++)
            linked[i] = places[i] == SIZE_MAX ? wrapper->linked[i]
                                              : (const void *)(made + head_bytes + places[i]);
        module->image = made;
    }
    free(places);
    base_buf_fini(&parts);
    return made;
}

const void *probe_image_rewrite(struct probe_module *module, const void *memory, const char *path,
                                const struct fatbin_image *image,
                                const struct core_context *context, bool library)
{
    const struct devices devices = devices_for(context, library);
    struct fatbin_wrapper wrapper = {0};
    size_t fatbins = 0, only = 0, count = 0;
    for (size_t i = 0; i < image->fatbin_count || i == 0; i++) {
        if (holds_code(image, i)) {
            fatbins++;
            only = i;
        }
    }
    if (fatbins == 1)
        return rewrite_one(module, image, path, only, &devices);
    if (memory && image->form == FATBIN_FORM_FATBIN)
        memcpy(&wrapper, memory, sizeof(wrapper));
    while (wrapper.magic == FATBIN_WRAPPER_MAGIC && wrapper.version == 2 && wrapper.linked &&
           wrapper.linked[count])
        count++;
    if (count + 1 == image->fatbin_count && !holds_code(image, 0))
        return rewrite_parts(module, &wrapper, count, image, &devices);
    snprintf(module->reason, sizeof(module->reason), "its module is linked when it is loaded");
    return NULL;
}
