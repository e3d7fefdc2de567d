// SPDX-License-Identifier: Apache-2.0
// cuLink*: collects PTX to be linked. The resulting image contains the texts unchanged; the machine
// links them when the image is loaded.
#include <stdlib.h>
#include <string.h>

#include "context.h"
#include "driver.h"
#include "module.h"

struct driver_link {
    struct driver_device *device;
    struct driver_texts texts;
    struct driver_linked *image;
};

CUresult cuLinkCreate_v2(unsigned int numOptions, CUjit_option *options, void **optionValues,
                         CUlinkState *stateOut)
{
    DRIVER_BEGIN();
    struct driver_context *context;
    DRIVER_CONTEXT(context);
    (void)options;
    (void)optionValues;
    DRIVER_REJECT(!stateOut, CUDA_ERROR_INVALID_VALUE);
    struct driver_link *link = calloc(1, sizeof *link);
    DRIVER_REJECT(!link, CUDA_ERROR_OUT_OF_MEMORY);
    link->device = context->device;
    *stateOut = (CUlinkState)link;
    return CUDA_SUCCESS;
}

CUresult cuLinkCreate(unsigned int numOptions, CUjit_option *options, void **optionValues,
                      CUlinkState *stateOut)
{
    return cuLinkCreate_v2(numOptions, options, optionValues, stateOut);
}

CUresult cuLinkAddData_v2(CUlinkState state, CUjitInputType type, void *data, size_t size,
                          const char *name, unsigned int numOptions, CUjit_option *options,
                          void **optionValues)
{
    DRIVER_BEGIN();
    (void)numOptions;
    (void)options;
    (void)optionValues;
    struct driver_link *link = (struct driver_link *)state;
    DRIVER_REJECT(!link || !data || !size, CUDA_ERROR_INVALID_VALUE);
    DRIVER_REJECT(type == CU_JIT_INPUT_NVVM, CUDA_ERROR_NOT_SUPPORTED);
    // The data need not end in a NUL.
    char *copy = malloc(size + 1);
    DRIVER_REJECT(!copy, CUDA_ERROR_OUT_OF_MEMORY);
    memcpy(copy, data, size);
    copy[size] = '\0';
    CUresult result = driver_texts_add(&link->texts, link->device->preset, copy,
                                       name ? name : "linked PTX", NULL);
    free(copy);
    return result;
}

CUresult cuLinkAddData(CUlinkState state, CUjitInputType type, void *data, size_t size,
                       const char *name, unsigned int numOptions, CUjit_option *options,
                       void **optionValues)
{
    return cuLinkAddData_v2(state, type, data, size, name, numOptions, options, optionValues);
}

CUresult cuLinkAddFile_v2(CUlinkState state, CUjitInputType type, const char *path,
                          unsigned int numOptions, CUjit_option *options, void **optionValues)
{
    DRIVER_BEGIN();
    (void)numOptions;
    (void)options;
    (void)optionValues;
    struct driver_link *link = (struct driver_link *)state;
    DRIVER_REJECT(!link || !path, CUDA_ERROR_INVALID_VALUE);
    // The device runtime library contains no PTX for this device. The machine implements its
    // functions itself.
    CUresult result = driver_texts_add_file(&link->texts, link->device->preset, path, NULL);
    return type == CU_JIT_INPUT_LIBRARY && result == CUDA_ERROR_NO_BINARY_FOR_GPU ? CUDA_SUCCESS
                                                                                  : result;
}

CUresult cuLinkAddFile(CUlinkState state, CUjitInputType type, const char *path,
                       unsigned int numOptions, CUjit_option *options, void **optionValues)
{
    return cuLinkAddFile_v2(state, type, path, numOptions, options, optionValues);
}

CUresult cuLinkComplete(CUlinkState state, void **cubinOut, size_t *sizeOut)
{
    DRIVER_BEGIN();
    struct driver_link *link = (struct driver_link *)state;
    DRIVER_REJECT(!link || !cubinOut, CUDA_ERROR_INVALID_VALUE);
    size_t count = link->texts.texts.count;
    size_t bytes = sizeof(struct driver_linked) + count * sizeof(uint64_t);
    for (size_t i = 0; i < count; i++)
        bytes += link->texts.texts.items[i].length + 1;
    struct driver_linked *image = calloc(1, bytes + 1);
    DRIVER_REJECT(!image, CUDA_ERROR_OUT_OF_MEMORY);
    memcpy(image->magic, DRIVER_LINKED_MAGIC, sizeof image->magic);
    image->count = count;
    char *text = (char *)(image->lengths + count);
    for (size_t i = 0; i < count; i++) {
        const struct sim_ptx *ptx = &link->texts.texts.items[i];
        image->lengths[i] = ptx->length;
        memcpy(text, ptx->text, ptx->length);
        text += ptx->length + 1;
    }
    // Loads the image once, so that errors are reported here, as by NVIDIA's linker.
    struct driver_module *module;
    CUresult result = driver_module_load(link->device, image, "the linked image", NULL, &module);
    if (result != CUDA_SUCCESS) {
        free(image);
        return result;
    }
    driver_module_free(module);
    free(link->image);
    link->image = image;
    *cubinOut = image;
    if (sizeOut)
        *sizeOut = bytes;
    return CUDA_SUCCESS;
}

CUresult cuLinkDestroy(CUlinkState state)
{
    DRIVER_BEGIN();
    struct driver_link *link = (struct driver_link *)state;
    DRIVER_REJECT(!link, CUDA_ERROR_INVALID_VALUE);
    driver_texts_fini(&link->texts);
    free(link->image);
    free(link);
    return CUDA_SUCCESS;
}
