// SPDX-License-Identifier: Apache-2.0
// Synchronous copies that do not wait.
#ifndef GLINT_INJECT_CORRECT_WAIT_COPY_H
#define GLINT_INJECT_CORRECT_WAIT_COPY_H

void correct_copy_start(void); // puts the functions in place, in a new process

#endif
