// SPDX-License-Identifier: Apache-2.0
// Clones apart from the program's module, in separate texts (instrument/instrument.h). The driver
// compiles one module after the other, but links in as many threads as call it. So each part is
// linked separately, by threads that exist while the program's module is loaded. The result is
// cached, and loaded in each context that launches a clone. If the driver cannot link that way, it
// compiles the part's text when it loads it.
#include "parts.h"

#define XXH_INLINE_ALL
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "cache.h"
#include "image.h"

#include <xxhash.h>

enum { MOST_PARTS = 8 };

struct probe_image {
    void *bytes; // NULL: the driver has not linked it
    uint64_t length;
};

struct probe_images {
    unsigned gpu; // compute capability that they are for: 90 for 9.0
    struct probe_image of[];
};

struct probe_loaded {
    struct probe_loaded *next;
    uint32_t context, part;
    CUmodule module;
};

struct probe_parts {
    struct probe_text *text;
    CUcontext context;
    uint64_t key[2];
    bool cached;
    struct probe_images *images;
    _Atomic uint32_t next; // next part to be linked
    pthread_t threads[MOST_PARTS];
    unsigned thread_count;
};

unsigned probe_parts_wanted(void)
{
    cpu_set_t processors;
    const int count =
        sched_getaffinity(0, sizeof(processors), &processors) == 0 ? CPU_COUNT(&processors) : 1;
    return count < 1 ? 1 : count > MOST_PARTS ? MOST_PARTS : (unsigned)count;
}

// --- Linking -------------------------------------------------------------------------------------

static void link_part(const struct instrument_part *part, struct probe_image *image)
{
    CUlinkState link = NULL;
    void *bytes = NULL;
    size_t length = 0;
    if (REAL(cuLinkCreate_v2)(0, NULL, NULL, &link) != CUDA_SUCCESS)
        return;
    if (REAL(cuLinkAddData_v2)(link, CU_JIT_INPUT_PTX, (void *)(uintptr_t)part->ptx,
                               part->ptx_bytes + 1, "clones", 0, NULL, NULL) == CUDA_SUCCESS &&
        REAL(cuLinkComplete)(link, &bytes, &length) == CUDA_SUCCESS && bytes && length) {
        image->bytes = malloc(length);
        if (image->bytes) {
            memcpy(image->bytes, bytes, length);
            image->length = length;
        }
    }
    REAL(cuLinkDestroy)(link);
}

static void link_parts(struct probe_parts *parts)
{
    const struct instrument_module *module = parts->text->module;
    for (;;) {
        const uint32_t part = atomic_fetch_add(&parts->next, 1);
        if (part >= module->part_count)
            return;
        link_part(&module->parts[part], &parts->images->of[part]);
    }
}

static void *work(void *argument)
{
    struct probe_parts *parts = argument;
    if (REAL(cuCtxPushCurrent_v2)(parts->context) == CUDA_SUCCESS)
        link_parts(parts);
    return NULL;
}

// The threads block all signals, so that the program's handlers never run in them.
static void start_threads(struct probe_parts *parts)
{
    sigset_t all, before;
    sigfillset(&all);
    if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0)
        return;
    while (parts->thread_count < parts->text->module->part_count &&
           parts->thread_count < MOST_PARTS &&
           pthread_create(&parts->threads[parts->thread_count], NULL, work, parts) == 0)
        parts->thread_count++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

// --- Cache ---------------------------------------------------------------------------------------

// The result of linking depends on the driver and the GPU.
static void key_of(const struct probe_text *text, unsigned gpu, uint64_t key[2])
{
    struct {
        uint64_t text[2];
        uint32_t gpu, parts;
        int driver, simulated;
        char what[16];
    } about = {{text->key[0], text->key[1]}, gpu, text->module->part_count, 0, 0, "images"};
    REAL(cuDriverGetVersion)(&about.driver);
    about.simulated = core_state.simulated;
    const XXH128_hash_t hash = XXH3_128bits(&about, sizeof(about));
    key[0] = hash.high64;
    key[1] = hash.low64;
}

// An entry contains the images' lengths, then the images.
static bool read_images(struct probe_parts *parts)
{
    const uint32_t count = parts->text->module->part_count;
    size_t length = 0, at = count * sizeof(uint64_t);
    unsigned char *entry = probe_cache_read(parts->key, &length);
    bool good = entry && length >= at;
    for (uint32_t i = 0; good && i < count; i++) {
        struct probe_image *image = &parts->images->of[i];
        memcpy(&image->length, entry + i * sizeof(uint64_t), sizeof(uint64_t));
        good = image->length <= length - at;
        image->bytes = good ? malloc(image->length + 1) : NULL;
        good = image->bytes != NULL;
        if (good)
            memcpy(image->bytes, entry + at, image->length);
        at += good ? image->length : 0;
    }
    for (uint32_t i = 0; !good && i < count; i++) {
        free(parts->images->of[i].bytes);
        parts->images->of[i] = (struct probe_image){0};
    }
    free(entry);
    return good;
}

static void keep_images(const struct probe_parts *parts)
{
    const uint32_t count = parts->text->module->part_count;
    struct base_buf entry = {0};
    bool whole = true;
    for (uint32_t i = 0; i < count; i++) {
        const struct probe_image *image = &parts->images->of[i];
        whole &= image->bytes != NULL;
        base_buf_add(&entry, (const char *)&image->length, sizeof(image->length));
    }
    for (uint32_t i = 0; whole && i < count; i++)
        base_buf_add(&entry, parts->images->of[i].bytes, parts->images->of[i].length);
    if (whole && !entry.failed)
        probe_cache_write(parts->key, entry.text, entry.length);
    base_buf_fini(&entry);
}

// --- Loading -------------------------------------------------------------------------------------

static unsigned current_gpu(void)
{
    CUdevice device = 0;
    return REAL(cuCtxGetDevice)(&device) == CUDA_SUCCESS ? probe_gpu_of(device) : 0;
}

struct probe_parts *probe_parts_begin(struct probe_text *text)
{
    const uint32_t count = text->module->part_count;
    CUcontext context = NULL;
    if (!count || REAL(cuCtxGetCurrent)(&context) != CUDA_SUCCESS || !context)
        return NULL;
    struct probe_parts *parts = calloc(1, sizeof(*parts));
    if (!parts)
        return NULL;
    parts->text = text;
    parts->context = context;
    if (atomic_load(&text->images))
        return parts;
    parts->images = calloc(1, sizeof(*parts->images) + count * sizeof(parts->images->of[0]));
    if (!parts->images)
        return parts;
    parts->images->gpu = current_gpu();
    key_of(text, parts->images->gpu, parts->key);
    parts->cached = read_images(parts);
    if (!parts->cached)
        start_threads(parts);
    return parts;
}

static void images_free(struct probe_images *images, uint32_t count)
{
    for (uint32_t i = 0; images && i < count; i++)
        free(images->of[i].bytes);
    free(images);
}

static CUmodule known_locked(const struct probe_text *text, uint32_t context, uint32_t part)
{
    const struct probe_loaded *loaded = text->loaded;
    while (loaded && (loaded->context != context || loaded->part != part))
        loaded = loaded->next;
    return loaded ? loaded->module : NULL;
}

static CUresult load(const struct probe_text *text, uint32_t part, CUmodule *module)
{
    const struct probe_images *images = atomic_load(&text->images);
    CUresult result = CUDA_ERROR_NO_BINARY_FOR_GPU;
    if (images && images->of[part].bytes && images->gpu == current_gpu())
        result = REAL(cuModuleLoadData)(module, images->of[part].bytes);
    return result == CUDA_SUCCESS ? result
                                  : REAL(cuModuleLoadData)(module, text->module->parts[part].ptx);
}

CUresult probe_parts_module(struct probe_text *text, uint32_t part, uint32_t context,
                            CUmodule *module)
{
    util_mutex_lock(&probe_state->lock, RANK_PROBE);
    *module = known_locked(text, context, part);
    util_mutex_unlock(&probe_state->lock, RANK_PROBE);
    if (*module)
        return CUDA_SUCCESS;
    struct probe_loaded *made = calloc(1, sizeof(*made));
    const CUresult result = made ? load(text, part, module) : CUDA_ERROR_OUT_OF_MEMORY;
    if (result != CUDA_SUCCESS) {
        free(made);
        return result;
    }
    *made = (struct probe_loaded){NULL, context, part, *module};
    util_mutex_lock(&probe_state->lock, RANK_PROBE);
    const CUmodule other =
        known_locked(text, context, part); // another thread may have loaded it meanwhile
    if (!other) {
        made->next = text->loaded;
        text->loaded = made;
    }
    util_mutex_unlock(&probe_state->lock, RANK_PROBE);
    if (other) {
        REAL(cuModuleUnload)(*module);
        *module = other;
        free(made);
    }
    return CUDA_SUCCESS;
}

void probe_parts_end(struct probe_parts *parts, const struct core_context *context)
{
    if (!parts)
        return;
    struct probe_text *text = parts->text;
    const uint32_t count = text->module->part_count;
    if (parts->images && !parts->cached) {
        link_parts(parts); // links parts that no thread has taken
        for (unsigned i = 0; i < parts->thread_count; i++)
            pthread_join(parts->threads[i], NULL);
        keep_images(parts);
    }
    struct probe_images *none = NULL;
    if (parts->images && !atomic_compare_exchange_strong(&text->images, &none, parts->images))
        images_free(parts->images, count);
    CUmodule module;
    for (uint32_t i = 0; context && i < count; i++)
        probe_parts_module(text, i, context->number, &module);
    free(parts);
}
