// SPDX-License-Identifier: Apache-2.0
// Which code in an image of device code a device runs.
#ifndef GLINT_INJECT_UTIL_CODE_H
#define GLINT_INJECT_UTIL_CODE_H

#include "fatbin/fatbin.h"

// Returns how well the code suits a device of compute capability major.minor, in the order in which
// the driver chooses: its own machine code first, then the newest PTX. 0: it cannot run there.
unsigned util_code_fitness(const struct fatbin_entry *entry, unsigned major, unsigned minor);

// Returns whether the PTX is what the device runs, or what the machine code that it runs was
// compiled from, judging by architectures. PTX for another architecture may be different code,
// since a source can test for it.
bool util_code_is_taken(const struct fatbin_image *image, const struct fatbin_entry *ptx,
                        unsigned major, unsigned minor);

#endif
