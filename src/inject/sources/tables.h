// SPDX-License-Identifier: Apache-2.0
// Addresses of objects that copies bring to the GPU.
#ifndef GLINT_INJECT_SOURCES_TABLES_H
#define GLINT_INJECT_SOURCES_TABLES_H

#include "inject/core/call.h"

// Searches a copy from the host that has succeeded for addresses, and records the objects that they
// belong to. Does nothing unless kernels may be known by their arguments.
void sources_tables_copied(const struct core_call *call);

#endif
