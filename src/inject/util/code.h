// SPDX-License-Identifier: Apache-2.0
// Which of the code in an image of device code a device takes.
#ifndef GLINT_INJECT_UTIL_CODE_H
#define GLINT_INJECT_UTIL_CODE_H

#include "fatbin/fatbin.h"

// How well a device of compute capability major.minor takes the code, as the driver chooses: its
// own machine code first, then PTX, the newest. 0: it does not.
unsigned util_code_fitness(const struct fatbin_entry *entry, unsigned major, unsigned minor);

// Whether a piece of PTX is what the device takes of its fatbin, or what the machine code that it
// takes was made of, as far as architectures tell. Code for another one may be other code: a source
// can ask for what it is compiled.
bool util_code_is_taken(const struct fatbin_image *image, const struct fatbin_entry *ptx,
                        unsigned major, unsigned minor);

#endif
