// SPDX-License-Identifier: Apache-2.0
// Sources of copies: whether host memory that was copied to an object still holds the same bytes
// when the object is first used (EVENT_COPY_SOURCE). If it does, the program can allocate the
// object and make the copy only then. Also, whether copies bring addresses of objects to the GPU,
// where kernels that are known by their arguments may find them. This layer takes part if probes
// do.
//
//   sources.c  which copies are watched, and which call is the first use
//   tables.c   addresses in copies
//   read.c     reads memory that may be unmapped at any time
#ifndef GLINT_INJECT_SOURCES_SOURCES_H
#define GLINT_INJECT_SOURCES_SOURCES_H

#include "inject/core/layer.h"

extern const struct inject_layer sources_layer;

#endif
