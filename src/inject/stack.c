// SPDX-License-Identifier: Apache-2.0
// Call paths: none are taken yet.
#include "stack.h"

uint32_t stack_here(void)
{
    return 0;
}
