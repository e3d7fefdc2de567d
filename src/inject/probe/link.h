// SPDX-License-Identifier: Apache-2.0
// Code that is linked before it is loaded: its PTX is rewritten as it is added. The functions do
// what those of the driver do, for any link, also one that is unknown here.
#ifndef GLINT_INJECT_PROBE_LINK_H
#define GLINT_INJECT_PROBE_LINK_H

#include "module.h"

// The program has created a link, with this result, which is returned.
CUresult probe_link_created(CUresult result, const CUlinkState *handle, unsigned count,
                            const CUjit_option *options, void **values);
CUresult probe_link_add_data(CUlinkState handle, CUjitInputType type, void *data, size_t size,
                             const char *name, unsigned count, CUjit_option *options,
                             void **values);
CUresult probe_link_add_file(CUlinkState handle, CUjitInputType type, const char *path,
                             unsigned count, CUjit_option *options, void **values);
CUresult probe_link_complete(CUlinkState handle, void **image, size_t *size);
CUresult probe_link_destroy(CUlinkState handle);

// If the image came out of a link, adds the texts that went in to the module. False: it did not.
bool probe_link_find(const void *image, struct probe_module *module);

#endif
