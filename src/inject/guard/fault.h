// SPDX-License-Identifier: Apache-2.0
// The first touch of a closed page, which raises SIGSEGV.
#ifndef GLINT_INJECT_GUARD_FAULT_H
#define GLINT_INJECT_GUARD_FAULT_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

struct guard_touch;

// The signal handler: opens the pages and records the use, or passes the signal to the program.
void guard_handler(int number, siginfo_t *info, void *context);

// Handles a touch of a page that the pager has moved away, by someone who cannot do so. Records it
// without a thread, and with no more of its call path than the instruction. Only called by a thread
// of the pager.
void guard_answer(const struct guard_touch *touch);

// Returns whether the byte can be read now. Raises no signal.
bool guard_can_be_read(uint64_t address);
// Returns the stack pointer of the code that the signal interrupted.
uint64_t guard_stack_pointer(const void *context);

#endif
