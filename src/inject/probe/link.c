// SPDX-License-Identifier: Apache-2.0
// Code that is linked before it is loaded (cuLink*). glint rewrites PTX inputs, and recognizes the
// linked image when it is loaded. If the driver cannot link the rewritten inputs, glint links the
// program's. So all inputs are kept until the linker is destroyed.
#include "link.h"

#include <stdlib.h>
#include <string.h>

struct input {
    CUjitInputType type;
    char *bytes; // NULL: it is a file
    size_t length;
    char *name; // or path, of a file
    unsigned option_count;
    CUjit_option *options;
    void **values;
};

struct probe_link {
    CUlinkState again; // links the program's own inputs; NULL: it was not needed
    unsigned option_count;
    CUjit_option *options;
    void **values; // the program's array of option values
    BASE_ARRAY(struct input) inputs;
    struct probe_module made; // the texts that were linked
    bool lost;                // an input could not be kept
};

struct probe_linked { // an image that the linker produced
    struct probe_linked *next;
    struct probe_module made;
    size_t length;
    unsigned char bytes[];
};

// --- Images --------------------------------------------------------------------------------------

// The length of `image` is unknown, so the comparison stops at the first difference.
static bool is_same(const struct probe_linked *linked, const unsigned char *image)
{
    for (size_t i = 0; i < linked->length; i++) {
        if (linked->bytes[i] != image[i])
            return false;
    }
    return true;
}

bool probe_link_find(const void *image, struct probe_module *module)
{
    util_mutex_lock(&probe_state->lock, RANK_PROBE);
    struct probe_linked *linked = probe_state->linked;
    util_mutex_unlock(&probe_state->lock, RANK_PROBE);
    while (linked && !is_same(linked, image)) // entries are never removed
        linked = linked->next;
    for (size_t i = 0; linked && i < linked->made.text_count; i++)
        probe_module_add(module, linked->made.texts[i]);
    return linked != NULL;
}

static void came_out(struct probe_link *link, const void *image, size_t length)
{
    struct probe_module none = {0};
    const bool known = probe_link_find(image, &none);
    free(none.texts);
    struct probe_linked *linked = known ? NULL : calloc(1, sizeof(*linked) + length);
    if (!linked)
        return;
    linked->length = length;
    memcpy(linked->bytes, image, length);
    for (size_t i = 0; i < link->made.text_count; i++)
        probe_module_add(&linked->made, link->made.texts[i]);
    util_mutex_lock(&probe_state->lock, RANK_PROBE);
    linked->next = probe_state->linked;
    probe_state->linked = linked;
    util_mutex_unlock(&probe_state->lock, RANK_PROBE);
}

// --- Inputs --------------------------------------------------------------------------------------

static struct probe_link *find(CUlinkState handle)
{
    util_mutex_lock(&probe_state->lock, RANK_PROBE);
    const uint64_t *place = base_map_get(&probe_state->links, (uint64_t)(uintptr_t)handle);
    struct probe_link *link =
        place ? (struct probe_link *)(uintptr_t)*place : NULL; // NOLINT(performance-no-int-to-ptr)
    util_mutex_unlock(&probe_state->lock, RANK_PROBE);
    return link;
}

static void *copy_of(const void *bytes, size_t length)
{
    char *copy = bytes ? calloc(1, length + 1) : NULL;
    return copy && length ? memcpy(copy, bytes, length) : copy;
}

static void keep(struct probe_link *link, CUjitInputType type, const void *bytes, size_t length,
                 const char *name, unsigned count, const CUjit_option *options, void **values)
{
    struct input *input = base_array_push(&link->inputs);
    if (!input) {
        link->lost = true;
        return;
    }
    input->type = type;
    input->length = length;
    input->bytes = copy_of(bytes, length);
    input->name = name ? copy_of(name, strlen(name)) : NULL;
    input->option_count = count;
    input->options = copy_of(options, count * sizeof(*options));
    input->values = copy_of(values, count * sizeof(*values));
    link->lost |= (bytes && !input->bytes) || (name && !input->name) ||
                  (count && (!input->options || !input->values));
}

// Returns what is to be linked in place of the PTX; NULL: the PTX itself.
static struct probe_text *rewrite(CUjitInputType type, const char *ptx, size_t length)
{
    char reason[300];
    if (type != CU_JIT_INPUT_PTX || !ptx || !length)
        return NULL;
    struct probe_text *text =
        probe_rewrite(ptx, strnlen(ptx, length), 0, 0, reason, sizeof(reason));
    return text && probe_text_has_clones(text) ? text : NULL;
}

static CUresult add_text(struct probe_link *link, CUlinkState handle, struct probe_text *text,
                         const char *name, unsigned count, CUjit_option *options, void **values)
{
    const CUresult result =
        REAL(cuLinkAddData_v2)(handle, CU_JIT_INPUT_PTX, text->module->ptx,
                               text->module->ptx_bytes + 1, name, count, options, values);
    if (result == CUDA_SUCCESS)
        probe_module_add(&link->made, text);
    return result;
}

CUresult probe_link_add_data(CUlinkState handle, CUjitInputType type, void *data, size_t size,
                             const char *name, unsigned count, CUjit_option *options, void **values)
{
    struct probe_link *link = find(handle);
    struct probe_text *text = link ? rewrite(type, data, size) : NULL;
    if (link && data)
        keep(link, type, data, size, name, count, options, values);
    if (text && add_text(link, handle, text, name, count, options, values) == CUDA_SUCCESS)
        return CUDA_SUCCESS;
    return REAL(cuLinkAddData_v2)(handle, type, data, size, name, count, options, values);
}

CUresult probe_link_add_file(CUlinkState handle, CUjitInputType type, const char *path,
                             unsigned count, CUjit_option *options, void **values)
{
    struct probe_link *link = find(handle);
    struct probe_text *text = NULL;
    struct base_error error;
    char *bytes = NULL;
    size_t length = 0;
    if (link && path && type == CU_JIT_INPUT_PTX &&
        base_file_read(path, &bytes, &length, &error) == BASE_OK)
        text = rewrite(type, bytes, length);
    free(bytes);
    if (link && path)
        keep(link, type, NULL, 0, path, count, options, values);
    if (text && add_text(link, handle, text, path, count, options, values) == CUDA_SUCCESS)
        return CUDA_SUCCESS;
    return REAL(cuLinkAddFile_v2)(handle, type, path, count, options, values);
}

// --- Linking -------------------------------------------------------------------------------------

static void link_free(struct probe_link *link)
{
    for (size_t i = 0; i < link->inputs.count; i++) {
        struct input *input = &link->inputs.items[i];
        free(input->bytes);
        free(input->name);
        free(input->options);
        free(input->values);
    }
    base_array_fini(&link->inputs);
    free(link->options);
    free(link->made.texts);
    free(link);
}

CUresult probe_link_created(CUresult result, const CUlinkState *handle, unsigned count,
                            const CUjit_option *options, void **values)
{
    struct probe_link *link = result == CUDA_SUCCESS ? calloc(1, sizeof(*link)) : NULL;
    if (!link)
        return result;
    link->option_count = count;
    link->options = copy_of(options, count * sizeof(*options));
    link->values = values;
    util_mutex_lock(&probe_state->lock, RANK_PROBE);
    uint64_t *place = base_map_put(&probe_state->links, (uint64_t)(uintptr_t)*handle, NULL);
    if (place)
        *place = (uint64_t)(uintptr_t)link;
    util_mutex_unlock(&probe_state->lock, RANK_PROBE);
    if (!place)
        link_free(link);
    return result;
}

static CUresult link_again(struct probe_link *link, void **image, size_t *size)
{
    CUresult result =
        REAL(cuLinkCreate_v2)(link->option_count, link->options, link->values, &link->again);
    if (result != CUDA_SUCCESS)
        link->again = NULL;
    for (size_t i = 0; result == CUDA_SUCCESS && i < link->inputs.count; i++) {
        const struct input *input = &link->inputs.items[i];
        result = input->bytes
                     ? REAL(cuLinkAddData_v2)(link->again, input->type, input->bytes, input->length,
                                              input->name, input->option_count, input->options,
                                              input->values)
                     : REAL(cuLinkAddFile_v2)(link->again, input->type, input->name,
                                              input->option_count, input->options, input->values);
    }
    return result == CUDA_SUCCESS ? REAL(cuLinkComplete)(link->again, image, size) : result;
}

static CUresult link_rewritten(CUlinkState handle, void **image, size_t *size)
{
    return REAL(cuLinkComplete)(handle, image, size);
}

CUresult probe_link_complete(CUlinkState handle, void **image, size_t *size)
{
    struct probe_link *link = find(handle);
    size_t length = 0;
    CUresult result = link_rewritten(handle, image, &length);
    if (link && link->made.text_count && result == CUDA_SUCCESS)
        came_out(link, *image, length);
    else if (link && link->made.text_count && !link->lost && !link->again)
        result = link_again(link, image, &length);
    if (size && result == CUDA_SUCCESS)
        *size = length;
    return result;
}

CUresult probe_link_destroy(CUlinkState handle)
{
    struct probe_link *link = find(handle);
    if (!link)
        return REAL(cuLinkDestroy)(handle);
    util_mutex_lock(&probe_state->lock, RANK_PROBE);
    base_map_remove(&probe_state->links, (uint64_t)(uintptr_t)handle);
    util_mutex_unlock(&probe_state->lock, RANK_PROBE);
    if (link->again)
        REAL(cuLinkDestroy)(link->again);
    link_free(link);
    return REAL(cuLinkDestroy)(handle);
}
