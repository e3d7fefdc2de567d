// SPDX-License-Identifier: Apache-2.0
// Modules: the PTX of an image that is about to be loaded is rewritten (image.c decides which) and
// loaded in its place. If that is not possible, the program's image is loaded, and the reason is
// recorded when its kernels are launched.
#include "module.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cache.h"
#include "image.h"
#include "link.h"
#include "maps.h"
#include "parts.h"

enum {
    MOST_REWRITE_BYTES = 1 << 30, // memory used to rewrite a text
};

char *probe_copy_text(const char *text)
{
    const size_t bytes = strlen(text) + 1;
    char *copy = malloc(bytes);
    return copy ? memcpy(copy, text, bytes) : NULL;
}

// --- Texts ---------------------------------------------------------------------------------------

static bool wants(void *user, const char *kernel)
{
    (void)user;
    return probe_wants(kernel);
}

static struct probe_text *known_locked(const uint64_t key[2])
{
    struct probe_text *text = probe_state->texts;
    while (text && (text->key[0] != key[0] || text->key[1] != key[1]))
        text = text->next;
    return text;
}

static struct instrument_module *known_before(const uint64_t key[2])
{
    struct instrument_module *module = NULL;
    struct base_error error = {0};
    size_t length;
    unsigned char *bytes = probe_cache_read(key, &length);
    if (bytes)
        instrument_load(bytes, length, &module, &error);
    free(bytes);
    return module;
}

static void keep(const uint64_t key[2], const struct instrument_module *module)
{
    struct base_buf saved = {0};
    if (instrument_save(module, &saved) && !saved.failed)
        probe_cache_write(key, saved.text, saved.length);
    base_buf_fini(&saved);
}

static struct instrument_module *make(const uint64_t key[2], const char *ptx, size_t length,
                                      unsigned gpu, unsigned parts, bool maps, char *reason,
                                      size_t reason_bytes)
{
    const struct instrument_request request = {.facts = probe_state->facts,
                                               .wants = wants,
                                               .limit_bytes = MOST_REWRITE_BYTES,
                                               .word_ways = probe_state->word_ways,
                                               .parts = parts,
                                               .gpu = gpu,
                                               .lines = core_state.simulated,
                                               .maps = maps};
    struct instrument_module *module = known_before(key);
    struct base_error error = {0};
    if (module)
        return module;
    if (instrument_ptx(ptx, length, &request, &module, &error) != BASE_OK) {
        base_error_text(&error, reason, reason_bytes);
        return NULL;
    }
    keep(key, module);
    return module;
}

struct probe_text *probe_rewrite(const char *ptx, size_t length, unsigned gpu, unsigned parts,
                                 char *reason, size_t reason_bytes)
{
    uint64_t key[2];
    const bool maps = probe_maps_tell(ptx, length);
    probe_cache_key(ptx, length, gpu, parts, maps, key);
    util_mutex_lock(&probe_state->lock, RANK_PROBE);
    struct probe_text *text = known_locked(key);
    util_mutex_unlock(&probe_state->lock, RANK_PROBE);
    if (text)
        return text;
    struct instrument_module *module =
        make(key, ptx, length, gpu, parts, maps, reason, reason_bytes);
    struct probe_text *made = module ? calloc(1, sizeof(*made)) : NULL;
    if (!made) {
        if (module) {
            instrument_destroy(module);
            snprintf(reason, reason_bytes, "no memory");
        }
        return NULL;
    }
    made->module = module;
    memcpy(made->key, key, sizeof(made->key));
    util_mutex_lock(&probe_state->lock, RANK_PROBE);
    text = known_locked(key); // another thread may have added it meanwhile
    if (!text) {
        made->next = probe_state->texts;
        probe_state->texts = text = made;
    }
    util_mutex_unlock(&probe_state->lock, RANK_PROBE);
    if (text != made) {
        instrument_destroy(made->module);
        free(made);
    }
    return text;
}

bool probe_text_has_clones(const struct probe_text *text)
{
    for (uint32_t i = 0; i < text->module->kernel_count; i++) {
        if (text->module->kernels[i].clone && text->module->kernels[i].part == INSTRUMENT_NONE)
            return true;
    }
    return false;
}

bool probe_module_add(struct probe_module *module, struct probe_text *text)
{
    struct probe_text **texts =
        realloc(module->texts, (module->text_count + 1) * sizeof(*module->texts));
    if (!texts)
        return false;
    texts[module->text_count++] = text;
    module->texts = texts;
    return true;
}

// --- Loading -------------------------------------------------------------------------------------

void probe_load_begin(struct probe_load *load, const struct core_call *call, const void *image,
                      const char *path, bool library)
{
    struct base_error error = {0};
    struct fatbin_image *opened = NULL;
    load->module = NULL;
    load->replacement = NULL;
    load->parts = NULL;
    load->context = call->context;
    load->values = NULL;
    load->count = 0;
    if (!probe_state || !(image || path))
        return;
    load->module = calloc(1, sizeof(*load->module));
    if (!load->module) {
        core_no_memory();
        return;
    }
    if (image && probe_link_find(image, load->module))
        return;
    if (stack_is_small()) {
        snprintf(load->module->reason, sizeof(load->module->reason),
                 "its module was loaded by a thread with less than 48 KiB of stack");
        return;
    }
    const enum base_code code = image ? fatbin_open_memory(image, &opened, &error)
                                      : fatbin_open_file(path, &opened, &error);
    if (code != BASE_OK) {
        base_error_text(&error, load->module->reason, sizeof(load->module->reason));
        return;
    }
    // The driver accepts no other files.
    if (opened->form == FATBIN_FORM_PTX || opened->form == FATBIN_FORM_FATBIN ||
        opened->form == FATBIN_FORM_CUBIN)
        load->replacement =
            probe_image_rewrite(load->module, image, path, opened, call->context, library);
    fatbin_close(opened);
    if (load->module->text_count) // with several texts none has parts
        load->parts = probe_parts_begin(load->module->texts[0]);
}

void probe_load_options(struct probe_load *load, void **values, unsigned count)
{
    if (!load->replacement || !values || !count)
        return;
    if (count > PROBE_MOST_OPTIONS) { // more than exist
        load->replacement = NULL;
        return;
    }
    load->values = values;
    load->count = count;
    memcpy(load->saved, values, count * sizeof(*values));
}

void probe_load_refused(struct probe_load *load, CUresult result)
{
    struct probe_module *module = load->module;
    snprintf(module->reason, sizeof(module->reason),
             "the driver refuses the rewritten module (error %d)", (int)result);
    module->is_original = true;
    load->replacement = NULL;
    if (load->values)
        memcpy(load->values, load->saved, load->count * sizeof(*load->saved));
}

static void module_free(struct probe_module *module)
{
    if (module) {
        free(module->texts);
        free(module->image);
    }
    free(module);
}

void probe_load_end(struct probe_load *load, uint32_t number)
{
    if (!load->module)
        return;
    if (!load->module->text_count || load->module->is_original || probe_state->excluded.given)
        atomic_store(&probe_state->passes, true);
    probe_parts_end(load->parts, load->context);
    util_mutex_lock(&probe_state->lock, RANK_PROBE);
    uint64_t *place = number ? base_map_put(&probe_state->modules, number, NULL) : NULL;
    if (place)
        *place = (uint64_t)(uintptr_t)load->module;
    util_mutex_unlock(&probe_state->lock, RANK_PROBE);
    if (!place)
        module_free(load->module);
    load->module = NULL;
}

static struct probe_module *find_locked(uint32_t number)
{
    const uint64_t *place = base_map_get(&probe_state->modules, number);
    return place ? (struct probe_module *)(uintptr_t)*place : NULL; // NOLINT
}

static bool is_clone_of(const struct instrument_module *text, const char *name)
{
    for (uint32_t i = 0; i < text->kernel_count; i++) {
        const struct instrument_kernel *kernel = &text->kernels[i];
        if ((kernel->clone && strcmp(kernel->clone, name) == 0) ||
            (kernel->light && strcmp(kernel->light, name) == 0))
            return true;
    }
    return false;
}

bool probe_module_hides(uint32_t number, const char *kernel)
{
    bool hides = false;
    util_mutex_lock(&probe_state->lock, RANK_PROBE);
    const struct probe_module *module = find_locked(number);
    for (size_t i = 0; module && !hides && i < module->text_count; i++)
        hides = is_clone_of(module->texts[i]->module, kernel);
    util_mutex_unlock(&probe_state->lock, RANK_PROBE);
    return hides;
}

void probe_module_end(uint32_t number)
{
    util_mutex_lock(&probe_state->lock, RANK_PROBE);
    struct probe_module *module = find_locked(number);
    base_map_remove(&probe_state->modules, number);
    util_mutex_unlock(&probe_state->lock, RANK_PROBE);
    module_free(module);
}
