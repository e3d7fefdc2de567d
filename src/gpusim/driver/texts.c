// SPDX-License-Identifier: Apache-2.0
// Extracts PTX from device code: opens the image that a program passes, and takes from each
// translation unit in it the text that fits the device best.
#include <stdlib.h>
#include <string.h>

#include "driver.h"
#include "fatbin/fatbin.h"
#include "module.h"
#include "stream.h"

void driver_texts_fini(struct driver_texts *texts)
{
    for (size_t i = 0; i < texts->texts.count; i++) {
        free((char *)texts->texts.items[i].text);
        free((char *)texts->texts.items[i].name);
    }
    base_array_fini(&texts->texts);
}

// Takes ownership of text; copies name.
static CUresult add(struct driver_texts *texts, char *text, size_t length, struct base_str name)
{
    struct sim_ptx *ptx = text ? base_array_push(&texts->texts) : NULL;
    if (!ptx) {
        free(text);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    ptx->text = text;
    ptx->length = length;
    ptx->name = strndup(name.text ? name.text : "", name.length);
    return ptx->name ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult fail(struct base_buf *log, const struct base_error *error)
{
    char text[1000];
    base_error_text(error, text, sizeof text);
    if (log)
        base_buf_puts(log, text);
    driver_say_once("simulated GPU: %s", text);
    switch (error->code) {
    case BASE_NO_MEMORY: return CUDA_ERROR_OUT_OF_MEMORY;
    case BASE_IO: return CUDA_ERROR_FILE_NOT_FOUND;
    default: return CUDA_ERROR_INVALID_IMAGE;
    }
}

// PTX for a specific architecture ("90a") runs only on that one.
static bool runs_on_device(const struct fatbin_entry *ptx, const struct sim_preset *preset)
{
    const unsigned device = preset->major * 10 + preset->minor;
    return ptx->arch <= device && (!ptx->arch_suffix || ptx->arch == device);
}

// Returns the PTX of a translation unit for the newest architecture that is not above the device's,
// or NULL.
static const struct fatbin_entry *choose(const struct fatbin_image *image, size_t fatbin_index,
                                         const struct sim_preset *preset)
{
    const struct fatbin_entry *best = NULL;
    for (size_t i = 0; i < image->entries.count; i++) {
        const struct fatbin_entry *entry = &image->entries.items[i];
        if (entry->fatbin_index != fatbin_index || entry->kind != FATBIN_PTX ||
            entry->from_debug_info)
            continue;
        if (!runs_on_device(entry, preset))
            continue;
        if (!best || entry->arch > best->arch)
            best = entry;
    }
    return best;
}

// Returns the cubin of a translation unit that the device would run.
static const struct fatbin_entry *choose_cubin(const struct fatbin_image *image,
                                               size_t fatbin_index, const struct sim_preset *preset)
{
    const unsigned major = preset->major, device = major * 10 + preset->minor;
    const struct fatbin_entry *best = NULL;
    for (size_t i = 0; i < image->entries.count; i++) {
        const struct fatbin_entry *entry = &image->entries.items[i];
        if (entry->fatbin_index == fatbin_index && entry->kind == FATBIN_CUBIN &&
            entry->arch / 10 == major && entry->arch <= device &&
            (!best || entry->arch > best->arch))
            best = entry;
    }
    return best;
}

// Finds the PTX of a translation unit. Where there is only machine code, that may have a copy of
// the PTX that it was made of.
static bool find_ptx(const struct fatbin_image *image, size_t fatbin_index,
                     const struct sim_preset *preset, struct fatbin_entry *ptx)
{
    const struct fatbin_entry *entry = choose(image, fatbin_index, preset);
    const struct fatbin_entry *cubin = entry ? NULL : choose_cubin(image, fatbin_index, preset);
    if (entry)
        *ptx = *entry;
    return entry || (cubin && fatbin_find_copy(cubin, ptx) && runs_on_device(ptx, preset));
}

static void describe_lack(const struct fatbin_image *image, const struct sim_preset *preset,
                          const char *name, struct base_buf *log)
{
    unsigned device = preset->major * 10 + preset->minor;
    struct base_error error = {0};
    char text[1000] = "";
    if (fatbin_require_ptx(image, &error) != BASE_OK)
        base_error_text(&error, text, sizeof text);
    struct base_buf line = {0};
    base_buf_printf(&line, "%s has no PTX that the simulated %s can run%s%s", name, preset->name,
                    *text ? ": " : "", text);
    base_buf_printf(&line, "; rebuild with nvcc -gencode arch=compute_%u,code=compute_%u", device,
                    device);
    if (line.text) {
        driver_say_once("%s", line.text);
        if (log)
            base_buf_puts(log, line.text);
    }
    base_buf_fini(&line);
}

static CUresult add_image(struct driver_texts *texts, const struct fatbin_image *image,
                          const struct sim_preset *preset, const char *name, struct base_buf *log)
{
    size_t before = texts->texts.count;
    size_t units = image->fatbin_count ? image->fatbin_count : 1;
    for (size_t unit = 0; unit < units; unit++) {
        struct fatbin_entry ptx;
        // The device runtime library, for example, has none for most devices.
        if (!find_ptx(image, unit, preset, &ptx))
            continue;
        struct base_error error = {0};
        char *text;
        size_t length;
        if (fatbin_entry_text(&ptx, &text, &length, &error) != BASE_OK)
            return fail(log, &error);
        struct base_str label = ptx.source_name.length ? ptx.source_name : base_str(name);
        DRIVER_TRY(add(texts, text, length, label));
    }
    if (texts->texts.count > before)
        return CUDA_SUCCESS;
    describe_lack(image, preset, name, log);
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
}

static CUresult add_linked(struct driver_texts *texts, const struct driver_linked *linked)
{
    const char *text = (const char *)(linked->lengths + linked->count);
    for (uint64_t i = 0; i < linked->count; i++) {
        DRIVER_TRY(add(texts, strndup(text, linked->lengths[i]), linked->lengths[i],
                       base_str("linked PTX")));
        text += linked->lengths[i] + 1;
    }
    return CUDA_SUCCESS;
}

CUresult driver_texts_add(struct driver_texts *texts, const struct sim_preset *preset,
                          const void *memory, const char *name, struct base_buf *log)
{
    if (memcmp(memory, DRIVER_LINKED_MAGIC, 4) == 0 &&
        strncmp(memory, DRIVER_LINKED_MAGIC, sizeof(DRIVER_LINKED_MAGIC) - 1) == 0)
        return add_linked(texts, memory);
    struct base_error error = {0};
    struct fatbin_image *image;
    enum base_code code = fatbin_open_memory(memory, &image, &error);
    if (code == BASE_NOT_FOUND) {
        driver_say_once("%s has no device code for the simulated %s: rebuild with PTX, for example "
                        "nvcc -arch=compute_%u%u",
                        name, preset->name, preset->major, preset->minor);
        return CUDA_ERROR_NO_BINARY_FOR_GPU;
    }
    if (code != BASE_OK)
        return fail(log, &error);
    CUresult result = add_image(texts, image, preset, name, log);
    fatbin_close(image);
    return result;
}

CUresult driver_texts_add_file(struct driver_texts *texts, const struct sim_preset *preset,
                               const char *path, struct base_buf *log)
{
    struct base_error error = {0};
    char *bytes;
    size_t length;
    if (base_file_read(path, &bytes, &length, &error) != BASE_OK)
        return error.code == BASE_NO_MEMORY ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_FILE_NOT_FOUND;
    CUresult result;
    if (length > sizeof(struct driver_linked) &&
        memcmp(bytes, DRIVER_LINKED_MAGIC, sizeof(DRIVER_LINKED_MAGIC) - 1) == 0) {
        result = add_linked(texts, (struct driver_linked *)bytes);
    } else {
        struct fatbin_image *image;
        if (fatbin_open_bytes(bytes, length, path, &image, &error) == BASE_OK) {
            result = add_image(texts, image, preset, path, log);
            fatbin_close(image);
        } else {
            result = fail(log, &error);
        }
    }
    free(bytes);
    return result;
}
