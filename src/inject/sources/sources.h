// SPDX-License-Identifier: Apache-2.0
// Sources of copies: whether host memory that was copied to an object still holds the same bytes
// when the object is first used (EVENT_COPY_SOURCE). If it does, the program can allocate the
// object and make the copy only then. This layer takes part if probes do.
//
//   sources.c  which copies are watched, and which call is the first use
//   read.c     hashes of memory that may be unmapped at any time
#ifndef GLINT_INJECT_SOURCES_SOURCES_H
#define GLINT_INJECT_SOURCES_SOURCES_H

#include "inject/core/layer.h"

extern const struct inject_layer sources_layer;

#endif
