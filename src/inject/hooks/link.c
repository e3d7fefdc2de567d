// SPDX-License-Identifier: Apache-2.0
// Hooks of the linker, which exist for probes only and write no records.
#include "inject/probe/link.h"
#include "probed.h"

#define CREATES(symbol)                                                                         \
    PROBED(symbol, (unsigned count, CUjit_option *options, void **values, CUlinkState *link),   \
           (count, options, values, link), true,                                                \
           probe_link_created(REAL(symbol)(count, options, values, link), link, count, options, \
                              values))
CREATES(cuLinkCreate)
CREATES(cuLinkCreate_v2)

#define ADDS_DATA(symbol)                                                                     \
    PROBED(symbol,                                                                            \
           (CUlinkState link, CUjitInputType type, void *data, size_t size, const char *name, \
            unsigned count, CUjit_option *options, void **values),                            \
           (link, type, data, size, name, count, options, values), true,                      \
           probe_link_add_data(link, type, data, size, name, count, options, values))
ADDS_DATA(cuLinkAddData)
ADDS_DATA(cuLinkAddData_v2)

#define ADDS_FILE(symbol)                                                            \
    PROBED(symbol,                                                                   \
           (CUlinkState link, CUjitInputType type, const char *path, unsigned count, \
            CUjit_option *options, void **values),                                   \
           (link, type, path, count, options, values), true,                         \
           probe_link_add_file(link, type, path, count, options, values))
ADDS_FILE(cuLinkAddFile)
ADDS_FILE(cuLinkAddFile_v2)

PROBED(cuLinkComplete, (CUlinkState link, void **image, size_t *size), (link, image, size),
       image != NULL, probe_link_complete(link, image, size))
PROBED(cuLinkDestroy, (CUlinkState link), (link), true, probe_link_destroy(link))
