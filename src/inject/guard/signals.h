// SPDX-License-Identifier: Apache-2.0
// Takes SIGSEGV from the program and hides that from it.
#ifndef GLINT_INJECT_GUARD_SIGNALS_H
#define GLINT_INJECT_GUARD_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

// Installs guard's handler. Returns false if another handler replaced guard's, or if pages may be
// protected and SIGSEGV is blocked.
bool guard_take_signal(void);
// Returns whether guard's handler is still installed.
bool guard_has_signal(void);
void guard_signals_forked(void); // in a new child

// Does what the program's handler or disposition says.
void guard_pass_signal(int number, siginfo_t *info, void *context);

// What the program calls, through libglint-sync.so: see struct hooks_inside in hooks/inside.h.
int guard_sigaction(int number, const struct sigaction *action, struct sigaction *old);
bool guard_signal(int number, sighandler_t handler, int flags, sighandler_t *old);
int guard_mask(int how, const sigset_t *set, sigset_t *old,
               int (*next)(int, const sigset_t *, sigset_t *));

#endif
