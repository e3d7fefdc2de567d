// SPDX-License-Identifier: Apache-2.0
// What a corrected program is told about its memory: see ask.c.
#ifndef GLINT_INJECT_CORRECT_MEMORY_ASK_H
#define GLINT_INJECT_CORRECT_MEMORY_ASK_H

void correct_ask_start(void);

#endif
