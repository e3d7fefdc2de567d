// SPDX-License-Identifier: Apache-2.0
// Records ranges of NVTX. Each function keeps errno and returns at once where the process is not
// recorded.
#ifndef GLINT_INJECT_HOOKS_NVTX_RECORD_H
#define GLINT_INJECT_HOOKS_NVTX_RECORD_H

#include <stdint.h>

struct hooks_nvtx_name;

// The thread begins a range, and ends the last one that it has begun in the domain and not ended.
// domain: NULL: the default one. name: "": unknown; such a range is not recorded.
void hooks_nvtx_record_push(const struct hooks_nvtx_name *domain, const char *name);
void hooks_nvtx_record_pop(const struct hooks_nvtx_name *domain);

// A range of the process begins, and ends in any thread. The identifier is that of range.h.
void hooks_nvtx_record_start(const struct hooks_nvtx_name *domain, const char *name,
                             uint64_t identifier);
void hooks_nvtx_record_end(uint64_t identifier);

#endif
