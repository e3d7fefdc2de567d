// SPDX-License-Identifier: Apache-2.0
// The function that an address of an image is in, by the image's symbols. libdw looks at all
// symbols for each address; libraries such as PyTorch's have a million. Here they are sorted once.
#ifndef GLINT_RECORD_FUNCTIONS_H
#define GLINT_RECORD_FUNCTIONS_H

#include <stdint.h>

struct Dwfl_Module;
struct record_functions;

// Returns NULL if memory ran out. The module must live as long.
struct record_functions *record_functions_create(struct Dwfl_Module *module);
void record_functions_destroy(struct record_functions *functions);

// Returns the name of the function's symbol, and how far behind its start the address is; NULL:
// unknown. Of several functions, that is the one that begins last; then the shorter one; then the
// one whose symbol binds more strongly; then the first. `type` is that of the symbol (STT_*).
const char *record_functions_find(const struct record_functions *functions, uint64_t address,
                                  uint64_t *offset, unsigned *type);

#endif
