// SPDX-License-Identifier: Apache-2.0
// Texts that a program hands to NVTX.
#ifndef GLINT_INJECT_HOOKS_NVTX_TEXT_H
#define GLINT_INJECT_HOOKS_NVTX_TEXT_H

#include <stdbool.h>

#include "cudaabi/cudaabi.h"

enum { HOOKS_NVTX_TEXT = 4096 };

// Gets the text as UTF-8, cut off if it is longer; `type` is an enum nvtxMessageType_t. Returns
// false if there is none or it is empty, and for registered strings, which have only a handle.
bool hooks_nvtx_text(uint32_t type, nvtxMessageValue_t value, char out[HOOKS_NVTX_TEXT]);

#endif
