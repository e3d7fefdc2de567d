// SPDX-License-Identifier: Apache-2.0
// Queries about memory, which a corrected program must find answered as without glint.
#ifndef GLINT_INJECT_CORRECT_MEMORY_ASK_H
#define GLINT_INJECT_CORRECT_MEMORY_ASK_H

void correct_ask_start(void);

#endif
