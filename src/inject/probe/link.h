// SPDX-License-Identifier: Apache-2.0
// Code that is linked before it is loaded: its PTX is rewritten when it is added. The functions
// stand in for those of the driver, also for links that glint does not know.
#ifndef GLINT_INJECT_PROBE_LINK_H
#define GLINT_INJECT_PROBE_LINK_H

#include "module.h"

// Called when the program has created a link, with the driver's result, which it returns.
CUresult probe_link_created(CUresult result, const CUlinkState *handle, unsigned count,
                            const CUjit_option *options, void **values);
CUresult probe_link_add_data(CUlinkState handle, CUjitInputType type, void *data, size_t size,
                             const char *name, unsigned count, CUjit_option *options,
                             void **values);
CUresult probe_link_add_file(CUlinkState handle, CUjitInputType type, const char *path,
                             unsigned count, CUjit_option *options, void **values);
CUresult probe_link_complete(CUlinkState handle, void **image, size_t *size);
CUresult probe_link_destroy(CUlinkState handle);

// If the image was produced by a link, adds the texts that were linked to the module. Otherwise
// returns false.
bool probe_link_find(const void *image, struct probe_module *module);

#endif
