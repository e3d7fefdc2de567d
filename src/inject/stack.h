// SPDX-License-Identifier: Apache-2.0
// Call paths of the program, inside the program.
#ifndef GLINT_INJECT_STACK_H
#define GLINT_INJECT_STACK_H

#include <stdint.h>

// Number of the caller's call path, interned and announced (EVENT_STACK) in the ring; 0: none.
uint32_t stack_here(void);

#endif
