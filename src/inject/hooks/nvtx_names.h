// SPDX-License-Identifier: Apache-2.0
// Names that a program gives to NVTX once and then refers to by handles: domains and strings.
#ifndef GLINT_INJECT_HOOKS_NVTX_NAMES_H
#define GLINT_INJECT_HOOKS_NVTX_NAMES_H

#include <stdbool.h>

struct hooks_nvtx_name {
    struct hooks_nvtx_name *next;
    bool is_wanted; // launches are watched in ranges of this name, or in this domain
    char text[];
};

// Return the name of this text, which stays valid; equal texts have equal names. NULL: there are
// too many, or no memory. is_wanted: what a new name says. Any thread may call.
struct hooks_nvtx_name *hooks_nvtx_domain(const char *text, bool is_wanted);
struct hooks_nvtx_name *hooks_nvtx_string(const char *text, bool is_wanted);

#endif
