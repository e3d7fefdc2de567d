// SPDX-License-Identifier: Apache-2.0
// Clones in separate modules ("parts"), which several threads link.
#ifndef GLINT_INJECT_PROBE_PARTS_H
#define GLINT_INJECT_PROBE_PARTS_H

#include "module.h"

// Returns into how many parts it pays to divide a text on this machine.
unsigned probe_parts_wanted(void);
// Starts linking the text's parts for the current context; NULL: there are none, or no context.
struct probe_parts *probe_parts_begin(struct probe_text *text);
// Waits until all are linked, and loads them in the context.
void probe_parts_end(struct probe_parts *parts, const struct core_context *context);
// Sets *module to a part, loaded in the current context, whose number is `context`.
CUresult probe_parts_module(struct probe_text *text, uint32_t part, uint32_t context,
                            CUmodule *module);

#endif
