// SPDX-License-Identifier: Apache-2.0
// Answers faults on pages that are away (pager.h).
#ifndef GLINT_INJECT_GUARD_TOUCHES_H
#define GLINT_INJECT_GUARD_TOUCHES_H

// Codes of SIGSEGV that the pager sends to a thread which has touched a page; si_addr is the
// address. The system and the C library use no such codes.
enum { GUARD_TOUCHED_READ = -7201, GUARD_TOUCHED_WRITE = -7202 };

// Two threads of the pager, which end with the process. The first never waits for a lock; the
// second handles accesses that the touching thread cannot handle itself.
void *guard_touches_hand_on(void *unused);
void *guard_touches_answer(void *unused);

#endif
