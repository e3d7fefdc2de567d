// SPDX-License-Identifier: Apache-2.0
// The PTX of an image of device code, and an image with other PTX in its place.
#ifndef GLINT_INJECT_PROBE_IMAGE_H
#define GLINT_INJECT_PROBE_IMAGE_H

#include "fatbin/fatbin.h"
#include "module.h"

// Returns what must be loaded in the image's place; the module owns it, with the rewritten texts.
// Returns NULL if there is nothing to replace; module->reason is why kernels without clones have
// none. memory, path: where the image is; one of them is NULL.
const void *probe_image_rewrite(struct probe_module *module, const void *memory, const char *path,
                                const struct fatbin_image *image,
                                const struct core_context *context, bool library);
// Returns the device's compute capability, 90 for 9.0; 0: unknown.
unsigned probe_gpu_of(CUdevice device);

#endif
