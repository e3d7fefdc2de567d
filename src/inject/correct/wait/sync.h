// SPDX-License-Identifier: Apache-2.0
// Synchronizations that are left out.
#ifndef GLINT_INJECT_CORRECT_WAIT_SYNC_H
#define GLINT_INJECT_CORRECT_WAIT_SYNC_H

void correct_sync_start(void); // puts the functions in place, in a new process

#endif
